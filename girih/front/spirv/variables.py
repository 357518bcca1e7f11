"""Variables of work-items, and what else the translation follows from block to block, in slots of one leaf each.

Variables of storage class Function and Private whose every index is a constant have a slot for each leaf; the others
are arrays. Results that other blocks use have slots as well, and so have phis and what functions return.
Calls are inlined, and nothing calls itself: an id stands for one thing at a time, and its slots for one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from girih.front.spirv.flow.folding import folded_values
from girih.front.spirv.flow.plan import Decided, Plan, plan_of
from girih.front.spirv.flow.unread import unread_loads
from girih.front.spirv.leaves import leaves
from girih.ir.types import I64, INDEX
from girih.ir.types import Type as IrType
from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Block, Function, called_by
from girih.spirv.model.parts import member_type
from girih.spirv.types import Array, CooperativeMatrix, Matrix, Pointer, Struct, Type, Value, Vector, Void

OWN = frozenset({"Function", "Private"})
"""Storage classes of variables that each work-item has for itself (SPIR-V 3.7)."""

CHAINS = frozenset({"OpAccessChain", "OpInBoundsAccessChain"})
"""Instructions that select a part of what a pointer points to."""

BYTE_STORAGE = frozenset({"StorageBuffer", "Uniform", "PushConstant", "Workgroup"})
"""Storage classes of memory that is bytes, in which a pointer is an offset."""


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A part of a variable, or of what a parameter points to: the first of its leaves, and their number.

    `computed` says that the first leaf is known only at run time; then `first` means nothing. `inside` says that the
    place is a component of the matrix that is the leaf.
    """

    root: int
    first: int
    count: int
    computed: bool = False
    inside: bool = False


@dataclass(slots=True, eq=False)
class Reached:
    """A function that the entry point reaches: its plan, the blocks in it, and what is known of its results."""

    function: Function
    plan: Plan
    known: Mapping[int, int]
    blocks: Sequence[Block] = ()
    phis: Mapping[int, tuple[Instruction, ...]] = field(default_factory=dict)
    """The phis of blocks that have some, by number of block."""
    unread: frozenset[int] = frozenset()
    """The results of loads that nobody reads (`girih.front.spirv.flow.unread`)."""

    def __post_init__(self) -> None:
        self.blocks = self.function.blocks
        self.phis = {
            at: found
            for at in self.plan.order
            if (found := tuple(one for one in self.blocks[at].body if one.name == "OpPhi"))
        }

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The instructions in blocks that can be reached."""
        for at in self.plan.order:
            yield from self.blocks[at].body


def reached_functions(facts: Facts, entry: int) -> dict[int, Reached]:
    """The functions that an entry point reaches, by id, in the order in which they are met."""
    by_id = {function.id: function for function in facts.bodies.functions}
    found: dict[int, Reached] = {}
    waiting = [entry]
    while waiting:
        function = by_id[waiting.pop()]
        if function.id in found:
            continue
        known = folded_values(facts, function)
        plan = plan_of(function, _decided(known, facts.declarations.values))
        reached = found[function.id] = Reached(function, plan, known)
        instructions = tuple(reached.instructions)
        reached.unread = unread_loads(facts, instructions)
        waiting += [id for one in instructions for id in called_by(one)]
    return found


def _decided(known: Mapping[int, int], constants: Mapping[int, Value]) -> Decided:
    """What decides branches in a function, where that is known."""

    def decided(id: int) -> int | None:
        value = known.get(id, constants.get(id))
        return value if isinstance(value, int) else None

    return decided


class Variables:
    """The slots of an entry point, and the places that pointers of work-items point to."""

    def __init__(self, facts: Facts, functions: Mapping[int, Reached]) -> None:
        self.facts = facts
        self.functions = functions
        self.places: dict[int, OwnPlace] = {}
        """What pointers into variables of work-items point to, by id."""
        self.arrays: set[int] = set()
        """Variables, and parameters that point to some, that have an index which is known only at run time."""
        self.slots: dict[int, range] = {}
        """The slots of variables and results, by id; those of what a function returns have the function's id."""
        self.types: list[IrType] = []
        """The type of each slot."""
        for one in facts.instructions:
            if one.name == "OpFunction":
                break
            if one.name == "OpVariable" and _is_own(facts.type(one.result_type)):
                self._root(one)
        self._passed: list[tuple[int, int]] = []
        for reached in functions.values():
            self._find_places(reached)
        self._spread_arrays()
        for id, place in self.places.items():
            if place.root == id and id not in self.arrays and facts.defined_by(id) == "OpVariable":
                self._give(id, leaves(self.pointee(id)))
        for reached in functions.values():
            self._give_results(reached)

    def pointee(self, pointer: int) -> Type:
        """The type that a pointer, by id, points to."""
        return self.facts.pointee(self.facts.type_of(pointer))

    def mask(self, id: int) -> int:
        """The slots of an id as a set of bits; 0 for what has none."""
        slots = self.slots.get(id)
        return 0 if slots is None else mask_of(slots.start, len(slots))

    def masks(self, ids: Iterable[int]) -> int:
        """The slots of several ids as a set of bits."""
        found = 0
        for id in ids:
            found |= self.mask(id)
        return found

    # --- places ------------------------------------------------------------------------------

    def _root(self, one: Instruction) -> None:
        self.places[one.result] = OwnPlace(one.result, 0, len(leaves(self.pointee(one.result))))

    def _find_places(self, reached: Reached) -> None:
        facts = self.facts
        for parameter in reached.function.parameters:
            if _is_own(facts.type(parameter.result_type)):
                self._root(parameter)
        for one in reached.instructions:
            if one.name == "OpVariable":
                self._root(one)
            elif one.name in CHAINS and one.id("base") in self.places:
                self.places[one.result] = self._part(reached, self.places[one.id("base")], one)
            elif one.name == "OpCopyObject" and one.id("operand") in self.places:
                self.places[one.result] = self.places[one.id("operand")]
        for one in reached.instructions:
            if one.name == "OpFunctionCall":
                self._pass(one)
        for place in [self.places[o.result] for o in reached.instructions if o.result in self.places]:
            if place.computed:
                self.arrays.add(place.root)

    def _pass(self, call: Instruction) -> None:
        callee = self.functions[call.id("function")].function
        for argument, parameter in zip(call.ids("arguments"), callee.parameters, strict=True):
            if argument in self.places:
                self._passed.append((parameter.result, self.places[argument].root))

    def _spread_arrays(self) -> None:
        """A variable is an array where a function that has a pointer to it computes an index."""
        grown = True
        while grown:
            grown = False
            for parameter, root in self._passed:
                if parameter in self.arrays and root not in self.arrays:
                    self.arrays.add(root)
                    grown = True

    def _part(self, reached: Reached, base: OwnPlace, one: Instruction) -> OwnPlace:
        type, first, computed = self.pointee(one.id("base")), base.first, base.computed
        for id in one.ids("indexes"):
            if isinstance(type, CooperativeMatrix):
                return OwnPlace(base.root, first, 1, computed, inside=True)
            index = self.integer(reached, id)
            part = part_of(self.facts, type, 0 if index is None else index)
            if index is None or part is None:
                computed = True
                part = part or part_of(self.facts, type, 0)
            assert part is not None
            first += part[0]
            type = part[1]
        return OwnPlace(base.root, first, len(leaves(type)), computed)

    def integer(self, reached: Reached, id: int) -> int | None:
        """An index that is known before anything runs; None for one that is not."""
        value = reached.known.get(id, self.facts.declarations.values.get(id))
        return value if isinstance(value, int) else None

    # --- slots -------------------------------------------------------------------------------

    def _give(self, id: int, types: Sequence[IrType]) -> None:
        self.slots[id] = range(len(self.types), len(self.types) + len(types))
        self.types += types

    def _give_results(self, reached: Reached) -> None:
        """Give slots to results that other blocks use, to phis, and to what the function returns."""
        home = {one.result: at for at in reached.plan.order for one in reached.blocks[at].body if one.result}
        for at in reached.plan.order:
            for one in reached.blocks[at].body:
                if one.name == "OpPhi":
                    self._follow(one.result)
                    for value, label in pairs_of(one):
                        source = reached.plan.number[label]
                        if home.get(value, source) != source:
                            self._follow(value)
                    continue
                for operand in one.operands:
                    if operand.is_id and isinstance(operand.value, int) and home.get(operand.value, at) != at:
                        self._follow(operand.value)
        returned = self.facts.type(reached.function.declaration.result_type)
        if not isinstance(returned, Void):
            self._give(reached.function.id, self._types(returned))

    def _follow(self, id: int) -> None:
        made = self.facts.definition(id)
        if id in self.slots or not made.result_type or made.name in ("OpVariable", "OpFunctionParameter", "OpLabel"):
            return
        type = self.facts.type(made.result_type)
        if not isinstance(type, Void):
            self._give(id, self._types(type))

    def _types(self, type: Type) -> tuple[IrType, ...]:
        """The types of the slots of a value.

        Of a pointer what is computed of it: an address; an offset and the number of a buffer in an array of buffers;
        a leaf and the number of a component of a matrix.
        """
        if not isinstance(type, Pointer):
            return leaves(type)
        return (I64,) if type.storage_class == "PhysicalStorageBuffer" else (INDEX, INDEX)


def pairs_of(phi: Instruction) -> Iterator[tuple[int, int]]:
    """The values of an OpPhi with the labels of the blocks that they come from."""
    words = phi.words[2:]
    return zip(words[::2], words[1::2], strict=True)


def mask_of(first: int, count: int) -> int:
    """The bits of some slots, one after the other."""
    return ((1 << count) - 1) << first


def part_of(facts: Facts, type: Type, index: int) -> tuple[int, Type] | None:
    """The first leaf and the type of a part of a composite; None where there is no part of that index."""
    match type:
        case Struct():
            before = sum(len(leaves(member_type(facts, type, at))) for at in range(index))
            return before, member_type(facts, type, index)
        case Array():
            element, count = type.element, type.length
        case Vector():
            element, count = type.component, type.count
        case Matrix():
            element, count = type.column, type.count
        case _:
            raise AssertionError(f"an index into {type}")
    if count is None or not 0 <= index < count:
        return None
    return index * len(leaves(element)), element


def _is_own(type: Type) -> bool:
    return isinstance(type, Pointer) and type.storage_class in OWN
