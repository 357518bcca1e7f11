"""The flow of control: plans of functions become `block`, `loop`, `branch` and `leave`, and calls become code.

A `block` has as results, and a `loop` carries, the slots that change inside and are needed where its branches lead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from girih.diagnostics import CompileError, Diagnostic
from girih.front.spirv.codes import refused
from girih.front.spirv.flow.plan import (
    FALSE,
    RETURN,
    Choice,
    Departure,
    Edge,
    Enclosure,
    Enter,
    Nest,
    Node,
    Repetition,
    Stop,
    Straight,
)
from girih.front.spirv.handlers import FUNCTIONS, HANDLERS
from girih.front.spirv.liveness import Arguments, Live, Liveness
from girih.front.spirv.pointers import Pointer, VariablePointer
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import Reached, pairs_of
from girih.ir.build import RegionBuilder
from girih.ir.core import Region, Value
from girih.ir.types import BOOL, Number
from girih.lazy_dataclass import dataclass
from girih.recursion import NESTING_LIMIT
from girih.source import Span
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.judge.places import Places
from girih.spirv.lines import SourceLines
from girih.spirv.model.extended import is_extended, set_of
from girih.spirv.model.facts import Facts
from girih.spirv.types import Pointer as PointerType

SILENT = frozenset({
    "OpLabel", "OpLine", "OpNoLine", "OpNop", "OpPhi", "OpSelectionMerge", "OpLoopMerge",
})  # fmt: skip
"""Instructions that the plan has taken up, or that mean nothing."""


DEEPEST = NESTING_LIMIT - 2
"""Regions within each other in the code of a work-item, which stands in `parallel` in a function."""


def too_deep(span: Span) -> Diagnostic:
    """The diagnostic about constructs and calls that nest too deep."""
    expected = f"constructs and calls that nest at most {DEEPEST} deep"
    return refused("nesting", expected, "deeper ones", span, "call functions from fewer nested ifs and loops")


@dataclass(frozen=True, slots=True)
class Destination:
    """A construct that can be left: its depth, and the slots whose values go along."""

    depth: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inlined:
    """A function while its body is emitted: what is known of it, and which slots are needed where."""

    reached: Reached
    live: Live


class Emission:
    """What emits the plans of functions. Depth of recursion is that of constructs and calls within each other."""

    def __init__(self, t: Translation) -> None:
        self.t = t
        self.liveness = Liveness(t.variables)
        self._places = Places(t.facts.module)
        self._lines = SourceLines(t.facts.module)
        self._destinations: dict[tuple[int, int], Destination] = {}
        self._depth = 0
        self._calls: list[Inlined] = []
        self._last: Span | None = None
        self._level = 0

    # --- functions -----------------------------------------------------------------------------

    def body(self, function: int, arguments: Mapping[int, Sequence[Value] | Pointer], at_end: int) -> tuple[Value, ...]:
        """What a function returns, its code emitted here. `at_end` are the slots that are needed behind it."""
        t = self.t
        reached = t.variables.functions[function]
        binding = self._bind(reached, arguments)
        live = self.liveness.of(function, binding, at_end)
        known, t.known = t.known, reached.known
        self._calls.append(Inlined(reached, live))
        self._emit(reached.plan.nodes)
        self._calls.pop()
        t.known = known
        return tuple(map(t.slot, t.variables.slots.get(function, ())))

    def _bind(self, reached: Reached, arguments: Mapping[int, Sequence[Value] | Pointer]) -> Arguments:
        """Give the parameters what they are; the slots that they point to."""
        t, made = self.t, []
        for parameter in reached.function.parameters:
            given, slot = arguments[parameter.result], None
            if isinstance(given, Pointer):
                t.give_pointer(parameter.result, given)
                if isinstance(given, VariablePointer) and isinstance(given.leaf, int):
                    slots = t.variables.slots.get(given.variable.result)
                    slot = None if slots is None else slots.start + given.leaf
            else:
                t.give_id(parameter.result, given)
            made.append(slot)
        return tuple(made)

    def call(self, one: Instruction) -> None:
        """Emit the code of the function that an OpFunctionCall calls."""
        t, function = self.t, one.id("function")
        span = t.span
        parameters = t.variables.functions[function].function.parameters
        given = {p.result: self._given(id) for p, id in zip(parameters, one.ids("arguments"), strict=True)}
        results = self.body(function, given, self._needed_behind(one))
        t.span = span
        t.notes.enter(one)
        if isinstance(t.facts.type(one.result_type), PointerType):
            t.give_pointer(one.result, t.pointer(function))
        elif results:
            t.give(one, results)

    @property
    def _here(self) -> Inlined:
        return self._calls[-1]

    def _needed_behind(self, call: Instruction) -> int:
        """The slots that a call may change and that are needed behind it."""
        return self._here.live.behind_calls[call.index]

    def _given(self, id: int) -> Sequence[Value] | Pointer:
        return self.t.pointer(id) if isinstance(self.t.type_of(id), PointerType) else self.t.leaves(id)

    def region_of(self, function: int, arguments: Mapping[int, Sequence[Value] | Pointer]) -> tuple[Region, Span]:
        """The body of a function as a region that ends with a `yield` of what it returns."""
        t = self.t
        span = t.span
        with t.inside(t.builder.inner()) as inner:
            results = self.body(function, arguments, 0)
            t.span = span
            t.emit("yield", values=results)
        return inner.region(span), span

    # --- plans ---------------------------------------------------------------------------------

    @contextmanager
    def _region(self) -> Iterator[RegionBuilder]:
        """A region inside the one here. Raises `CompileError` where regions nest too deep."""
        self._level += 1
        if self._level > DEEPEST:
            raise CompileError([too_deep(self.t.span)])
        with self.t.inside(self.t.builder.inner()) as inner:
            yield inner
        self._level -= 1

    def _emit(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Straight():
                    self._straight(node.block)
                case Enter():
                    self._follow(node)
                case Departure():
                    self._depart(node)
                case Choice():
                    self._choose(node)
                case Enclosure():
                    self._enclose(node)
                case Repetition():
                    self._repeat(node)
                case Stop():
                    self._at_end_of(node.block)
                    self.t.emit("unreachable", text="OpUnreachable")

    def _straight(self, block: int) -> None:
        reached, t = self._here.reached, self.t
        for one in reached.blocks[block].body[:-1]:
            if one.name in SILENT or one.result in reached.known:
                continue
            t.span = self.place(one)
            t.notes.enter(one)
            if one.result in reached.unread:
                t.give(one, [t.undefined(type) for type in t.leaf_types(one)])
            elif one.name == "OpFunctionCall":
                self.call(one)
            elif is_extended(one):
                self._extended(one)
            else:
                HANDLERS[one.name](t, one)

    def _extended(self, one: Instruction) -> None:
        name = extended_name(self.t.facts, one)
        handler = FUNCTIONS.get(name)
        if handler is not None:
            handler(self.t, one)

    def place(self, one: Instruction) -> Span:
        """The place of an instruction in the source that debug information names, else in the text of the module.

        What has no place of its own, as branches that compilers add, has that of what was translated before it.
        """
        found = self._lines.of(one.index)
        if found is None and self._last is not None:
            found = self._last
        self._last = found
        return found or self._places.of(one)

    def _at_end_of(self, block: int) -> Instruction:
        """The instruction that ends a block, which is being translated from here on."""
        end = self._here.reached.blocks[block].body[-1]
        self.t.span = self.place(end)
        self.t.notes.enter(end)
        return end

    def _follow(self, edge: Edge) -> None:
        """Give phis, and what the function returns, the values that they have behind a branch."""
        reached = self._here.reached
        end = self._at_end_of(edge.source)
        if edge.target == RETURN:
            if end.name == "OpReturnValue":
                self._assign([(reached.function.id, self._given(end.id("value")))])
            return
        label = reached.blocks[edge.source].id
        given = [
            (phi.result, self._given(value))
            for phi in reached.phis.get(edge.target, ())
            for value, source in pairs_of(phi)
            if source == label
        ]
        self._assign(given)

    def _assign(self, given: Sequence[tuple[int, Sequence[Value] | Pointer]]) -> None:
        """Give ids, which have slots, what they are behind a branch, all at once."""
        for id, value in given:
            if isinstance(value, Pointer):
                self.t.choose_pointer(id, value)
            else:
                self.t.give_id(id, value)

    def _depart(self, edge: Edge) -> None:
        self._follow(edge)
        goal = self._destinations[self._here.reached.function.id, edge.target]
        self.t.emit("leave", depth=self._depth - goal.depth, values=tuple(map(self.t.slot, goal.slots)))

    def _choose(self, choice: Choice) -> None:
        t = self.t
        end = self._at_end_of(choice.block)
        if end.name == "OpSwitch":
            condition = self._matches(t.leaf(end.id("selector")), choice.literals)
        else:
            condition = t.leaf(end.id("condition"))
            if choice.literals == FALSE:
                condition = t.one("not", BOOL, a=condition)
        span = t.span
        with self._region() as inner:
            self._emit(choice.body)
        t.span = span
        t.emit("branch", condition=condition, then=inner.region(span))

    def _matches(self, selector: Value, literals: Sequence[int]) -> Value:
        """Whether a selector is one of some literals."""
        t, type = self.t, selector.type
        assert isinstance(type, Number)
        first, *rest = (t.one("equal", BOOL, a=selector, b=t.constant(literal, type)) for literal in literals)
        for other in rest:
            first = t.one("or", BOOL, a=first, b=other)
        return first

    def _slots_of(self, nest: Nest) -> tuple[int, ...]:
        """The slots that some code changes, and that are needed where branches to its target lead."""
        live = self._here.live
        return bits_of(live.changed_in(nest) & live.needed_at(nest.target))

    def _enclose(self, nest: Enclosure) -> None:
        t, slots = self.t, self._slots_of(nest)
        span = t.span
        self._depth += 1
        self._destinations[self._here.reached.function.id, nest.target] = Destination(self._depth, slots)
        with self._region() as inner:
            self._emit(nest.body)
        self._depth -= 1
        t.span = span
        results = t.emit("block", *(t.variables.types[slot] for slot in slots), body=inner.region(span))
        t.slots.update(zip(slots, results, strict=True))

    def _repeat(self, nest: Repetition) -> None:
        t, slots = self.t, self._slots_of(nest)
        merge = self._here.reached.blocks[nest.target].body[-2]
        span = t.span = self._lines.of(merge.index) or t.span
        initial = tuple(map(t.slot, slots))
        carried = tuple(Value("", value.type, span) for value in initial)
        self._depth += 1
        self._destinations[self._here.reached.function.id, nest.target] = Destination(self._depth, slots)
        with self._region() as inner:
            t.slots.update(zip(slots, carried, strict=True))
            self._emit(nest.body)
        self._depth -= 1
        t.span = span
        t.emit("loop", carried=carried, initial=initial, body=inner.region(span))


def extended_name(facts: Facts, one: Instruction) -> tuple[str, str]:
    """The names of an extended instruction: of its set and of itself, empty where the grammar knows none."""
    name = set_of(facts.module, one)
    known = grammar().extended(name) or {}
    entry = known.get(one.id("instruction"))
    return name, entry.name if entry else ""


def bits_of(mask: int) -> tuple[int, ...]:
    """The numbers of the bits of a set, in order."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)
