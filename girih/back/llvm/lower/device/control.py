"""Blocks, loops and branches that are left from inside (`girih.ops.device.control`).

Where work-items agree, a `leave` is a jump, and the values that it leaves with are those of a phi. A construct that is
*parted* (`girih.analysis.constructs`) is executed under masks instead: who leaves it is noted, with values lane by
lane, and the others continue. A `place to wait` is where code continues for work-items that are not active here: the
end of a side of a branch that not all take, or of a parted construct. When nobody is active any more, the code goes to
the innermost one.

What is noted of parted constructs, their *state*, goes from place to place as values, like results do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from girih.analysis.constructs import Constructs, constructs_of
from girih.back.llvm.emit.text import Val, integer, wide, zero
from girih.back.llvm.emit.writer import Meeting
from girih.back.llvm.lower.access import full_mask
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.control import bind, carriers_of, enter, flat, regroup
from girih.back.llvm.lower.device.trips import inside, most_trips
from girih.back.llvm.lower.lowerings import Carrier, Lowerings
from girih.facts import device, remarks
from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.device.control import Block, Branch, Construct, Leave, Loop, Unreachable

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@dataclass(slots=True, eq=False)
class ConstructCode:
    """A block or loop that is being written. `meeting` is its end, of a loop the end of an iteration.

    Of a parted one, `arrived` are those who have left it, or go on to the next iteration, with `values`, and `ended`
    those who are through with the loop. `like` shows how many values each carrier has.
    """

    op: Construct
    carriers: list[Carrier[Any]]
    like: list[list[Val]]
    meeting: Meeting
    parted: bool
    arrived: Val
    ended: Val
    values: list[Val]

    @property
    def state(self) -> list[Val]:
        """What is noted, as values."""
        return [self.arrived, self.ended, *self.values] if self.parted else []

    def take(self, state: Iterator[Val]) -> None:
        """Note what has come with values."""
        if self.parted:
            self.arrived, self.ended = next(state), next(state)
            self.values = [next(state) for _ in self.values]


@dataclass(slots=True, eq=False)
class SideCode:
    """A side of a branch that not all active work-items take, which is being written, and its end."""

    meeting: Meeting


@dataclass(slots=True, eq=False)
class PassedBlock:
    """A block that is left at its end only, which needs no code of its own."""

    op: Block


# --- where work-items are ----------------------------------------------------------------------


def _nobody(code: KernelCode) -> Val:
    return zero(wide("i1", code.lanes))


def _go_on(code: KernelCode, mask: Val | None) -> None:
    """Continue for the work-items of a mask."""
    everybody = integer(1, wide("i1", code.lanes))
    code.place = replace(code.place, mask=None if mask is None or mask.text == everybody.text else mask)


def _joined(code: KernelCode, a: Val, b: Val) -> Val:
    nobody = _nobody(code).text
    if a.text == nobody or b.text == nobody:
        return b if a.text == nobody else a
    return code.w.binary("or", a, b)


def _state(code: KernelCode, count: int | None = None) -> list[Val]:
    """What is noted of the first `count` constructs around, of all by default."""
    entries = code.constructs if count is None else code.constructs[:count]
    return [held for entry in entries if isinstance(entry, ConstructCode) for held in entry.state]


def _take(code: KernelCode, state: Sequence[Val]) -> None:
    """Note what has come with values of the constructs around."""
    rest = iter(state)
    for entry in code.constructs:
        if isinstance(entry, ConstructCode):
            entry.take(rest)


def _wait(code: KernelCode, unless: Val | None = None) -> None:
    """Go to the innermost place to wait; with a condition, only where that does not hold."""
    for number in reversed(range(len(code.constructs))):
        entry = code.constructs[number]
        if isinstance(entry, SideCode):
            values = [_nobody(code), *_state(code, number)]
        elif isinstance(entry, ConstructCode) and entry.parted:
            values = _state(code, number + 1)
        else:
            continue
        if unless is None:
            code.w.arrive(entry.meeting, values)
        else:
            code.w.arrive_unless(unless, entry.meeting, values)
        return
    if unless is None:
        code.w.unreachable()


def _close(code: KernelCode, op: Op) -> None:
    """Nobody comes to what follows an instruction, whose block has ended."""
    if op in constructs_of(code.function).outermost:
        # What follows belongs to an instruction that knows nothing of this: it is written, and never executed.
        code.w.label(code.w.name("never"))
        carriers = carriers_of(code, op.results)
        bind(code, op.results, carriers, [carrier.blank(code) for carrier in carriers])
    else:
        code.reached = False


def _continue(code: KernelCode, mask: Val | None) -> None:
    """Continue for the work-items of a mask, if there are any."""
    if mask is None:
        _go_on(code, None)
        return
    _wait(code, unless=code.w.any(mask))
    _go_on(code, mask)


@lru_cache(maxsize=4)
def _parted(function: Function, varying: frozenset[Value]) -> frozenset[Construct]:
    return frozenset(constructs_of(function).parted(set(varying)))


def _is_parted(code: KernelCode, op: Construct) -> bool:
    return code.lanes > 1 and op in _parted(code.function, _conditions(code.function) & code.varying)


@lru_cache(maxsize=4)
def _conditions(function: Function) -> frozenset[Value]:
    return frozenset(op.condition for op in function.walk() if isinstance(op, Branch))


# --- blocks ------------------------------------------------------------------------------------


def _is_passed(known: Constructs, op: Block) -> bool:
    """Whether a block is left at its end only, by all who come there."""
    leaves = known.leaves[op]
    return (not leaves and not op.results) or (len(leaves) == 1 and leaves[0] is op.body.terminator)


@LOWERINGS.of(Block)
def block(code: KernelCode, op: Block) -> None:
    """Lower a block: what leaves it goes to its end."""
    known = constructs_of(code.function)
    if _is_passed(known, op):
        _pass_through(code, op)
        return
    w, outer = code.w, code.mask
    entry = _opened(code, op, op.results)
    code.constructs.append(entry)
    with w.inside():
        code.region(op.body)
        if code.reached:
            if entry.parted:
                entry.arrived = _joined(code, entry.arrived, full_mask(code))
            w.arrive(entry.meeting, _state(code))
    code.constructs.pop()
    if not entry.meeting.arrivals:
        _close(code, op)
        return
    code.reached = True
    state = w.behind(entry.meeting)
    count = 0 if entry.parted else len(state) - len(_state(code))
    values = state[:count]
    code.constructs.append(entry)
    _take(code, state[count:])
    code.constructs.pop()
    bind(code, op.results, entry.carriers, regroup(entry.values if entry.parted else values, entry.like))
    if entry.parted and known.reached[op]:
        _continue(code, entry.arrived)
    else:
        _go_on(code, outer)


def _opened(code: KernelCode, op: Construct, values: Sequence[Value]) -> ConstructCode:
    """A construct that nobody has left yet; `values` are what its carriers carry."""
    carriers = carriers_of(code, values)
    like = [carrier.blank(code) for carrier in carriers]
    nobody = _nobody(code)
    return ConstructCode(op, carriers, like, code.w.meeting(), _is_parted(code, op), nobody, nobody, flat(like))


def _pass_through(code: KernelCode, op: Block) -> None:
    code.constructs.append(PassedBlock(op))
    code.region(op.body, outlived=bool(op.results))
    code.constructs.pop()
    last = op.body.terminator
    if not code.reached:
        code.reached = True
        _close(code, op)
    elif isinstance(last, Leave):
        for result, value in zip(op.results, last.values, strict=True):
            code.set(result, code.env[value])


# --- loops -------------------------------------------------------------------------------------


@LOWERINGS.of(Loop)
def loop(code: KernelCode, op: Loop) -> None:
    """Lower a loop: to one of LLVM's, which continues as long as a work-item goes on."""
    first = [code.env[value] for value in op.initial]
    entry = _opened(code, op, op.carried)
    entry.like = enter(code, entry.carriers, first)
    if entry.parted:
        _parted_loop(code, op, entry)
    else:
        _uniform_loop(code, op, entry)


_ASKING = (1024, 64)
"""After how many iterations a loop asks whether the launch goes on: an innermost one, and one with others in it."""


def _asks_after(code: KernelCode, op: Loop) -> int:
    """After how many iterations a loop asks, a power of two; 0 for one that certainly has no more."""
    often = _ASKING[any(isinstance(inner, Loop) for inner in inside(op.body))]
    trips = most_trips(op, constructs_of(code.function), code.constants)
    return 0 if trips is not None and trips <= often else often


def _ask(code: KernelCode, often: int, count: Val) -> Val:
    """Ask in some iterations whether the launch goes on: the number of the next one."""
    w = code.w
    last = w.compare("eq", w.binary("and", count, integer(often - 1, "i32")), integer(often - 1, "i32"))
    w.unlikely(last, code.ask, returns=True)
    return w.add(count, integer(1, "i32"))


def _uniform_loop(code: KernelCode, op: Loop, entry: ConstructCode) -> None:
    """Write a loop in which all who are active in an iteration go the same way."""
    w, outer = code.w, code.mask
    through, often = w.meeting(), _asks_after(code, op)
    counts = [integer(0, "i32")] if often else []
    with w.repetition([*counts, *flat(entry.like)], through) as repetition:
        values = repetition.values[len(counts) :]
        counts = [_ask(code, often, count) for count in repetition.values[: len(counts)]]
        bind(code, op.carried, entry.carriers, regroup(values, entry.like))
        code.constructs.append(entry)
        code.region(op.body)
        code.constructs.pop()
        if code.reached:
            w.arrive(through, _state(code))
        if entry.meeting.arrivals:
            repetition.following = [*counts, *w.behind(entry.meeting)[: len(values)]]
            repetition.again = integer(1, "i1")
    if not through.arrivals:
        code.reached = True
        _close(code, op)
        return
    code.reached = True
    _take(code, w.behind(through))
    _go_on(code, outer)


def _parted_loop(code: KernelCode, op: Loop, entry: ConstructCode) -> None:
    """Write a loop that work-items leave at different times, or in which they go on at different places."""
    w, outer, known = code.w, code.mask, constructs_of(code.function)
    code.remarks.note(remarks.divergent())
    through, often = w.meeting(), _asks_after(code, op)
    counts = [integer(0, "i32")] if often else []
    around = [one for one in code.constructs if isinstance(one, ConstructCode) and one.op in known.reached[op]]
    head = [*counts, full_mask(code), _nobody(code), *flat(entry.like), *(held for one in around for held in one.state)]
    blank = entry.values
    with w.repetition(head, through) as repetition:
        counts = [_ask(code, often, count) for count in repetition.values[: len(counts)]]
        going, entry.ended, *rest = repetition.values[len(counts) :]
        carried, noted = rest[: len(blank)], iter(rest[len(blank) :])
        for one in around:
            one.take(noted)
        _go_on(code, going)
        bind(code, op.carried, entry.carriers, regroup(carried, entry.like))
        code.constructs.append(entry)
        code.region(op.body)
        comes_through = code.reached
        if code.reached:
            entry.ended = _joined(code, entry.ended, full_mask(code))
            w.arrive(entry.meeting, _state(code))
        if entry.meeting.arrivals:
            _take(code, w.behind(entry.meeting))
            repetition.again = w.any(entry.arrived)
            repetition.following = [*counts, *entry.state, *(held for one in around for held in one.state)]
        code.constructs.pop()
    if not through.arrivals:
        code.reached = True
        _close(code, op)
        return
    code.reached = True
    w.behind(through)
    if not known.reached[op]:
        _go_on(code, outer)
    elif comes_through:
        _continue(code, entry.ended)
    else:
        _wait(code)
        _close(code, op)


# --- branches ----------------------------------------------------------------------------------


@LOWERINGS.of(Branch)
def branch(code: KernelCode, op: Branch) -> None:
    """Lower a branch: to one of LLVM's if the work-items agree, otherwise to both sides under masks."""
    condition = code.scalar(op.condition)
    if condition.uniform:
        _uniform_branch(code, op, condition.part)
    elif op.condition not in code.varying:
        _uniform_branch(code, op, code.one(condition)[0])
    else:
        _masked_branch(code, op, code.vector(condition)[0])


def _uniform_branch(code: KernelCode, op: Branch, condition: Val) -> None:
    w = code.w
    if condition.literal is not None:
        region = op.then if condition.literal else op.otherwise
        if region is not None:
            code.region(region)
            if not code.reached:
                code.reached = True
                _close(code, op)
        return
    mask, state, meeting = code.mask, _state(code), w.meeting()
    for label, region in zip(w.ways(condition), (op.then, op.otherwise), strict=True):
        w.label(label)
        _take(code, state)
        _go_on(code, mask)
        if region is not None:
            with w.inside():
                code.region(region)
        if code.reached:
            w.arrive(meeting, [full_mask(code), *_state(code)])
        code.reached = True
    if not meeting.arrivals:
        _close(code, op)
        return
    merged, *state = w.behind(meeting)
    _take(code, state)
    _go_on(code, mask if mask is not None and merged.text == mask.text else merged)


def _masked_branch(code: KernelCode, op: Branch, condition: Val) -> None:
    w, outer = code.w, code.mask
    there = w.both(condition, outer) or condition
    elsewhere = w.both(w.negated(condition), outer) or condition
    behind = _side(code, op.then, there)
    others = elsewhere if op.otherwise is None else _side(code, op.otherwise, elsewhere)
    if behind is there and others is elsewhere:
        _go_on(code, outer)
        return
    rest = _joined(code, behind, others)
    if rest.text == _nobody(code).text:
        _wait(code)
        _close(code, op)
        return
    _continue(code, rest)


def _side(code: KernelCode, region: Region, mask: Val) -> Val:
    """The work-items that come to the end of a region, which those of a mask execute, if there are any.

    It is the mask itself where all come there.
    """
    w = code.w
    _go_on(code, mask)
    (first, *more) = region.ops or (None,)
    if isinstance(first, Leave) and not more and not _matrices(first):
        _note(code, first, _target(code, first)[0])
        return _nobody(code)
    side = SideCode(w.meeting())
    w.arrive_unless(w.any(mask), side.meeting, [mask, *_state(code)])
    code.constructs.append(side)
    with w.inside():
        code.region(region)
    code.constructs.pop()
    passes = code.reached
    if passes:
        w.arrive(side.meeting, [full_mask(code), *_state(code)])
    code.reached = True
    merged, *state = w.behind(side.meeting)
    _take(code, state)
    if not passes:
        return _nobody(code)
    return mask if merged.text == mask.text else merged


# --- leaving -----------------------------------------------------------------------------------


def _target(code: KernelCode, op: Leave) -> tuple[ConstructCode | PassedBlock, int]:
    """What is left, and its number among those around."""
    constructs = [(one, k) for k, one in enumerate(code.constructs) if not isinstance(one, SideCode)]
    target, number = constructs[-1 - op.depth]
    return target, number


def _matrices(op: Leave) -> list[CoopMatrix]:
    return [value.type for value in op.values if isinstance(value.type, CoopMatrix)]


def _note(code: KernelCode, op: Leave, target: ConstructCode | PassedBlock) -> None:
    """Note that the active work-items leave a parted construct, and with what."""
    assert isinstance(target, ConstructCode)
    mask = full_mask(code)
    values = [code.env[value] for value in op.values]
    first = target.arrived.text == _nobody(code).text
    known = zip(target.carriers, values, regroup(target.values, target.like), strict=True)
    target.values = flat([carrier.join(code, mask, held, None if first else old) for carrier, held, old in known])
    target.arrived = _joined(code, target.arrived, mask)


@LOWERINGS.of(Leave)
def leave(code: KernelCode, op: Leave) -> None:
    """Lower a `leave`: go to the end of the construct, or note it there and go where others wait."""
    if any(matrix.of_work_group for matrix in _matrices(op)):
        code.met_by_all(op, work_group=True)
    target, number = _target(code, op)
    if isinstance(target, PassedBlock):
        return
    if target.parted:
        _note(code, op, target)
        _wait(code)
    else:
        values = [code.env[value] for value in op.values]
        code.w.arrive(target.meeting, [*flat(enter(code, target.carriers, values)), *_state(code, number)])
    code.reached = False


@LOWERINGS.of(Unreachable)
def unreachable(code: KernelCode, op: Unreachable) -> None:
    """Lower a place that is never reached: where it is, that is found."""
    code.check(op, integer(1, "i1"), device.reached(op.text))
    code.w.unreachable()
    _close(code, op)
