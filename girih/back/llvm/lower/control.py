"""Loops, branches and barriers (`girih.ops.tile.control`).

If the work-items of a subgroup agree, a branch or loop becomes one of LLVM's. If they do not, both sides of a branch
are executed under masks, and a loop continues while some work-item does. A loop over lane, lane + L, ... runs without a
mask until the last round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from girih.back.llvm.emit.text import Val, integer, lanes, poison, wide
from girih.back.llvm.lower.code import Held, KernelCode
from girih.back.llvm.lower.lowerings import Carrier, Lowerings
from girih.back.llvm.lower.versions import decide
from girih.back.llvm.numbers.values import Linear, Scalar, parts_of, scalar_type, uniform
from girih.facts import findings, remarks
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.types import BOOL, Boolean, CoopMatrix, Number
from girih.ops.tile.arith import Binary, Cast, Comparison, Constant, Unary
from girih.ops.tile.control import Barrier, For, Foreach, If, Yield

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""

_SIMPLE = 12
"""Instructions of a branch that is not worth branching for."""

DUPLICATED = 150
"""Loops of at most so many instructions are written twice: without a mask, and with one for the last round."""


class ScalarCarrier:
    """The carrier of a scalar: one phi per part, with as many lanes as the value needs at any place."""

    def __init__(self, code: KernelCode, value: Value) -> None:
        self._type = scalar_type(value.type)
        self._count = code.lanes if value in code.varying else 1

    def enter(self, code: KernelCode, held: Scalar) -> list[Val]:
        return list(parts_of(code.w, held, self._count)) if self._count > 1 else list(code.one(held))

    def join(self, code: KernelCode, mask: Val, held: Scalar, before: Sequence[Val] | None) -> list[Val]:
        new = self.enter(code, held)
        if before is None or self._count == 1:
            return new
        return [code.w.select(mask, a, b) for a, b in zip(new, before, strict=True)]

    def inside(self, code: KernelCode, values: Sequence[Val]) -> Scalar:
        return uniform(self._type, *values)

    def blank(self, code: KernelCode) -> list[Val]:
        return list(code.zero(self._type, self._count))


LOWERINGS.carry(ScalarCarrier, Number, Boolean)


def carriers_of(code: KernelCode, values: Sequence[Value]) -> list[Carrier[Any]]:
    """The carrier of each of some values."""
    return [code.lowerings.carrier(code, v) for v in values]


def enter(code: KernelCode, carriers: Sequence[Carrier[Any]], held: Sequence[Held]) -> list[list[Val]]:
    """The values for the phis of several carriers."""
    return [carrier.enter(code, one) for carrier, one in zip(carriers, held, strict=True)]


def regroup(flat: Sequence[Val], like: Sequence[Sequence[Val]]) -> list[Sequence[Val]]:
    """The values of each carrier, from those of all carriers in a row."""
    groups, begin = [], 0
    for one in like:
        groups.append(flat[begin : begin + len(one)])
        begin += len(one)
    return groups


def flat(groups: Sequence[Sequence[Val]]) -> list[Val]:
    """The values of all carriers in a row."""
    return [v for group in groups for v in group]


def bind(
    code: KernelCode, values: Sequence[Value], carriers: Sequence[Carrier[Any]], groups: Sequence[Sequence[Val]]
) -> None:
    """Set values of the program to what their carriers have brought."""
    for value, carrier, group in zip(values, carriers, groups, strict=True):
        code.set(value, carrier.inside(code, group))


def yielded(code: KernelCode, region: Region) -> list[Held]:
    """The values that the `yield` of a region gave; empty without one."""
    last = region.terminator
    return [code.env[v] for v in last.values] if isinstance(last, Yield) else []


@LOWERINGS.of(Yield)
def yield_(code: KernelCode, op: Yield) -> None:
    """Do nothing: the instruction that the region belongs to reads the values."""


@LOWERINGS.of(Barrier)
def barrier(code: KernelCode, op: Barrier) -> None:
    """Lower a barrier, which all work-items of the work-group must meet."""
    code.met_by_all(op, work_group=True)
    code.barrier()


# --- if ----------------------------------------------------------------------------------------


@LOWERINGS.of(If)
def if_(code: KernelCode, op: If) -> None:
    """Lower an `if`: to a branch if the work-items agree, otherwise to both sides under masks."""
    condition = code.scalar(op.condition)
    if code.place.kind is RegionKind.COLLECTIVE:
        _branch(code, op, code.agreed(op, "condition", condition)[0])
        return
    if condition.uniform:
        _branch(code, op, condition.part)
        return
    if any(isinstance(v.type, CoopMatrix) for v in op.results):
        code.agreed(op, "condition", condition)
    _masked_branch(code, op, code.vector(condition)[0])


def _branch(code: KernelCode, op: If, condition: Val) -> None:
    carriers = carriers_of(code, op.results)
    known = condition.literal
    if known is not None:
        region = op.then if known else op.otherwise
        if region is not None:
            code.region(region, outlived=bool(op.results))
            for value, held in zip(op.results, yielded(code, region), strict=False):
                code.set(value, held)
        return
    like: list[list[list[Val]]] = []

    def side(region: Region | None) -> list[Val]:
        if region is None:
            return []
        code.region(region)
        like.append(enter(code, carriers, yielded(code, region)))
        return flat(like[-1])

    merged = code.w.either(condition, lambda: side(op.then), lambda: side(op.otherwise))
    bind(code, op.results, carriers, regroup(merged, like[0]))


def _masked_branch(code: KernelCode, op: If, condition: Val) -> None:
    w = code.w
    carriers = carriers_of(code, op.results)
    if op.otherwise is not None and _is_simple(op.then) and _is_simple(op.otherwise):
        like, first = _both(code, op.then, carriers)
        _, second = _both(code, op.otherwise, carriers)
    else:
        there = w.both(condition, code.mask) or condition
        first, like = _under(code, there, op.then, carriers, None)
        if op.otherwise is None:
            return
        elsewhere = w.both(w.negated(condition), code.mask) or condition
        second, _ = _under(code, elsewhere, op.otherwise, carriers, first)
    merged = [
        w.select(condition, a, b) if lanes(a.type) == lanes(condition.type) else b
        for a, b in zip(first, second, strict=True)
    ]
    bind(code, op.results, carriers, regroup(merged, like))


def _is_simple(region: Region) -> bool:
    """Whether a region is short and without effects, so that all work-items may compute it, needed or not."""
    return len(region.ops) <= _SIMPLE and all(_computes(op) for op in region.ops)


def _computes(op: Op) -> bool:
    if any(isinstance(v.type, CoopMatrix) for v in op.operands):
        return False
    if isinstance(op, Binary) and op.spec.mnemonic in ("div", "rem", "shl", "shr"):
        return isinstance(op.a.type, Number) and op.a.type.family == "floating"
    return isinstance(op, Binary | Unary | Comparison | Cast | Constant | Yield)


def _both(code: KernelCode, region: Region, carriers: Sequence[Carrier[Any]]) -> tuple[list[list[Val]], list[Val]]:
    """The values of a region that is computed whether its condition holds or not."""
    code.region(region)
    groups = enter(code, carriers, yielded(code, region))
    return groups, flat(groups)


def _under(
    code: KernelCode, mask: Val, region: Region, carriers: Sequence[Carrier[Any]], otherwise: list[Val] | None
) -> tuple[list[Val], list[list[Val]]]:
    """The values of a region that is executed under a mask, if that holds for any lane; any values otherwise."""
    like: list[list[list[Val]]] = []

    def inside() -> list[Val]:
        with code.at(mask=mask):
            code.region(region)
            like.append(enter(code, carriers, yielded(code, region)))
        return flat(like[-1])

    def outside() -> list[Val]:
        # A matrix, which is not one value per lane, comes from the side that some work-item took.
        values = flat(like[-1])
        if otherwise is None:
            return [poison(v.type) for v in values]
        return [o if lanes(v.type) != code.lanes else poison(v.type) for v, o in zip(values, otherwise, strict=True)]

    return code.w.either(code.w.any(mask), inside, outside), like[0]


# --- for ---------------------------------------------------------------------------------------


def in_versions(code: KernelCode, op: For | Foreach, write: Callable[[], None]) -> None:
    """Write a loop, as `write` does it: twice, where checks are decided in front of it."""
    decided = decide(code, op)
    if decided is None:
        write()
        return
    certain = code.place.inside | decided.certain
    if not decided.indices:
        with code.at(inside=certain):
            write()
        return
    carriers = carriers_of(code, op.results)
    like: list[list[list[Val]]] = []

    def version() -> list[Val]:
        used = code.frame.used
        write()
        like.append(enter(code, carriers, [code.env[value] for value in op.results]))
        code.frame.used = used
        return flat(like[-1])

    def fast() -> list[Val]:
        for pointer in decided.present:
            code.w.first_time("null", pointer)
        with code.at(inside=certain | decided.indices, versioned=True):
            return version()

    def careful() -> list[Val]:
        decided.again()
        with code.at(inside=certain, doubtful=frozenset(decided.indices), versioned=True):
            return version()

    merged = code.w.either(code.chosen(op, decided.condition(code.w)), fast, careful, rare=True)
    bind(code, op.results, carriers, regroup(merged, like[0]))


@LOWERINGS.of(For)
def for_(code: KernelCode, op: For) -> None:
    """Lower a `for`: to a loop with one counter if the work-items agree on it, otherwise to one under a mask."""
    in_versions(code, op, lambda: _for(code, op))


def _for(code: KernelCode, op: For) -> None:
    start, stop = code.scalar(op.start), code.scalar(op.stop)
    step = None if op.step is None else code.scalar(op.step)
    if code.place.kind is RegionKind.COLLECTIVE:
        shared = None if step is None else code.agreed(op, "step", step)[0]
        _counted(code, op, code.agreed(op, "start", start)[0], code.agreed(op, "stop", stop)[0], shared)
        return
    if start.uniform and stop.uniform and (step is None or step.uniform):
        _counted(code, op, start.part, stop.part, None if step is None else step.part)
        return
    carriers = carriers_of(code, op.carried)
    linear = _evenly(code, op, start, stop, step)
    groups = _carry_in(code, op, carriers)
    if linear is None or (code.place.careful and not linear.exact):
        results = _varying(code, op, carriers, groups, start, stop, step)
    elif linear.exact:
        results = _linear(code, op, carriers, groups, linear, stop.part, step)
    else:
        # Sums of indices wrap around only at the end of all numbers.
        reach = (code.lanes - 1) * linear.stride
        safe = code.w.compare("sle", linear.base, integer(2**63 - 1 - reach))
        results = code.w.either(
            safe,
            lambda: _linear(code, op, carriers, groups, linear, stop.part, step),
            lambda: _varying(code, op, carriers, groups, start, stop, step),
        )
    bind(code, op.results, carriers, regroup(results, groups))


def _evenly(code: KernelCode, op: For, start: Scalar, stop: Scalar, step: Scalar | None) -> Linear | None:
    """The first counter of a loop that grows evenly from lane to lane and is worth writing twice; None otherwise."""
    linear = start.linear
    uniform_ends = stop.uniform and (step is None or step.uniform)
    if linear is None or not uniform_ends or code.mask is not None or not 0 <= linear.stride < 2**31:
        return None
    size = region_size(op.body)
    if linear.exact:
        return linear if size <= DUPLICATED else None
    wide = number_type(op.variable).size == 8
    matrices = any(isinstance(v.type, CoopMatrix) for v in op.carried)
    return linear if wide and not matrices and 2 * size <= DUPLICATED else None


def region_size(region: Region) -> int:
    """The number of instructions of a region, inner ones included; those in loops, written twice, count more."""
    total = 0
    for op in region.ops:
        inner = sum(region_size(r) for r in op.regions)
        total += 1 + (2 * inner if isinstance(op, For | Foreach) else inner)
    return total


def wide_integer(code: KernelCode, held: Val) -> Val:
    """An integer as `i64`."""
    return code.w.convert("sext", held, "i64")


def _positive_step(code: KernelCode, op: For, stop: Val, start: Val, step: Val) -> tuple[Val, Val]:
    """The end and the step of a loop; a step that is not positive is found, and the loop does not run."""
    w = code.w
    if step.literal is not None and step.literal > 0:
        return stop, step
    bad = w.compare("sle", step, integer(0, step.type))
    code.check(op, bad, findings.step(), argument=op.step.name if op.step else None)
    return w.select(bad, start, stop), w.larger(step, integer(1, step.type))


def _carry_in(code: KernelCode, op: For, carriers: Sequence[Carrier[Any]]) -> list[list[Val]]:
    return enter(code, carriers, [code.env[v] for v in op.initial])


def _counted(code: KernelCode, op: For, start: Val, stop: Val, step: Val | None) -> None:
    """Write a loop with one counter, of 64 bits, for all work-items."""
    w = code.w
    narrow = start.type
    used = code.frame.used
    carriers = carriers_of(code, op.carried)
    first, end = wide_integer(code, start), wide_integer(code, stop)
    distance: Val = integer(1) if step is None else wide_integer(code, step)
    end, distance = _positive_step(code, op, end, first, distance)
    groups = _carry_in(code, op, carriers)
    overflows = narrow == "i64" and distance.literal != 1
    bound = bound_of(code.scalar(op.start), end)

    def count(index: Val) -> None:
        counter = w.convert("trunc", index, narrow)
        code.set(op.variable, Scalar(number_type(op.variable), (counter,), below=bound))

    def iteration(values: Sequence[Val], body: Region) -> list[Val]:
        bind(code, op.carried, carriers, regroup(values, groups))
        code.region(body)
        return flat(enter(code, carriers, yielded(code, op.body))) if op.carried else []

    first, entering = _several(code, op, (first, end, distance), flat(groups), count, iteration)
    with w.loop(first, end, distance, entering, saturate=overflows) as loop:
        w.advise(op.hints.get("unroll"))
        count(loop.index)
        loop.following = iteration(loop.values, op.body)
    bind(code, op.results, carriers, regroup(loop.results, groups))
    if not any(isinstance(v.type, CoopMatrix) for v in op.results):
        code.frame.used = used


def _several(
    code: KernelCode,
    op: For,
    counted: tuple[Val, Val, Val],
    entering: list[Val],
    count: Callable[[Val], None],
    iteration: Callable[[Sequence[Val], Region], list[Val]],
) -> tuple[Val, list[Val]]:
    """Write a loop of several iterations each, where the machine wants that: the counter behind it, and the values.

    What stands first in the body is written for all of them, then what is left.
    """
    w, (first, end, distance) = code.w, counted
    at_once, early = code.iterations_at_once(op)
    steps = (distance.literal or 0) * at_once
    if at_once == 1 or steps <= 0:
        return first, entering
    # What is below the end by so many steps has as many successors.
    trips = w.binary("udiv", w.sub(end, first), integer(steps))
    trips = w.select(w.compare("slt", first, end), trips, integer(0))
    beginning, rest = (Region(op.body.kind, ops) for ops in (op.body.ops[:early], op.body.ops[early:]))
    made = [op.variable, *(value for one in beginning.ops for value in one.results)]
    with w.loop(0, trips, 1, entering) as loop:
        values, begin = list(loop.values), w.add(first, w.mul(loop.index, steps))
        found: list[dict[Value, Held]] = []
        for number in range(at_once):
            count(w.add(begin, w.mul(distance, number)))
            code.region(beginning)
            found.append({value: code.env[value] for value in made})
        for one in found:
            code.env.update(one)
            values = iteration(values, rest)
        loop.following = values
    return w.add(first, w.mul(trips, steps)), list(loop.results)


def bound_of(start: Scalar, stop: Val) -> Val | None:
    """The bound of a counter that begins with a number that is not negative."""
    base = start.linear.base if start.linear is not None else start.part
    positive = start.linear is None or start.linear.stride >= 0
    known = (base.literal is not None and base.literal >= 0) or (start.below is not None)
    return stop if known and positive else None


def number_type(value: Value) -> Number:
    """The type of a value that is a number. Raises `TypeError` for any other type."""
    if not isinstance(value.type, Number):
        raise TypeError(f"%{value.name} is not a number")
    return value.type


def _linear(
    code: KernelCode,
    op: For,
    carriers: Sequence[Carrier[Any]],
    groups: list[list[Val]],
    start: Linear,
    stop: Val,
    step: Scalar | None,
) -> list[Val]:
    """The last carried values of a loop in which lane p goes over base + p * stride, + step, ...

    It runs without a mask while all lanes are in it, then with one; where code should be short, always with one.
    """
    w = code.w
    type = number_type(op.variable)
    narrow = stop.type
    base, end = wide_integer(code, start.base), wide_integer(code, stop)
    distance: Val = integer(1) if step is None else wide_integer(code, step.part)
    end, distance = _positive_step(code, op, end, base, distance)
    bound = bound_of(code.scalar(op.start), end)
    rest, results = base, tuple(flat(groups))
    if not code.place.careful:
        whole_end = w.intrinsic("llvm.ssub.sat.i64", "i64", end, integer((code.lanes - 1) * start.stride))
        with w.loop(base, whole_end, distance, flat(groups), saturate=True) as loop:
            linear = Linear(w.convert("trunc", loop.index, narrow), start.stride, exact=True)
            code.set(op.variable, Scalar(type, (), linear, bound))
            bind(code, op.carried, carriers, regroup(loop.values, groups))
            code.region(op.body)
            loop.following = flat(enter(code, carriers, yielded(code, op.body))) if op.carried else []
        rest, results = Val(loop.index.text, loop.index.type, w.level), loop.results

    def active(counter: Val) -> Val:
        # By distance: what a lane adds to the counter may pass the largest number.
        steps = w.iota(code.lanes, "i64", start.stride)
        near = w.compare("ult", steps, w.splat(w.sub(end, counter), code.lanes))
        return w.binary("and", near, w.splat(w.compare("slt", counter, end), code.lanes))

    def body(values: tuple[Val, ...]) -> list[Val]:
        counter, *carried = values
        linear = Linear(w.convert("trunc", counter, narrow), start.stride, exact=True)
        variable = Scalar(type, (), linear, bound)
        following = _masked_iteration(code, op, active(counter), variable, carriers, groups, carried)
        moved = w.saturated(counter, distance)
        return [moved, *following]

    return list(w.repeat([rest, *results], lambda values: w.any(active(values[0])), body)[1:])


def _masked_iteration(
    code: KernelCode,
    op: For,
    mask: Val,
    variable: Scalar,
    carriers: Sequence[Carrier[Any]],
    groups: Sequence[Sequence[Val]],
    carried: Sequence[Val],
) -> list[Val]:
    """The carried values after one iteration under a mask; in the other lanes they stay."""
    w = code.w
    if any(isinstance(v.type, CoopMatrix) for v in op.carried):
        # A subgroup holds a matrix together: its work-items cannot continue with different ones.
        code.agreed(op, "condition", uniform(BOOL, mask))
    code.set(op.variable, variable)
    with code.at(mask=mask):
        bind(code, op.carried, carriers, regroup(carried, groups))
        code.region(op.body)
        following = flat(enter(code, carriers, yielded(code, op.body))) if op.carried else []
    return [
        w.select(mask, new, old) if lanes(new.type) == lanes(mask.type) else new
        for new, old in zip(following, carried, strict=True)
    ]


def _varying(
    code: KernelCode,
    op: For,
    carriers: Sequence[Carrier[Any]],
    groups: list[list[Val]],
    start: Scalar,
    stop: Scalar,
    step: Scalar | None,
) -> list[Val]:
    """The last carried values of a loop that work-items leave at different times."""
    w = code.w
    code.remarks.note(remarks.divergent())
    type = number_type(op.variable)
    shared = start.uniform and (step is None or step.uniform)
    width = 1 if shared else code.lanes
    first = parts_of(w, start, width)[0]
    distance = integer(1, first.type) if step is None else parts_of(w, step, width)[0]
    end = code.vector(stop)[0]
    one = integer(1, distance.type)
    known = step is None or (step.uniform and (step.part.literal or 0) > 0)
    stopped = integer(0, wide("i1", code.lanes)) if known else _stopped(code, op, distance)
    distance = distance if known else w.larger(distance, one)
    going = w.both(w.compare("slt", w.splat(first, code.lanes), end), code.mask)
    assert going is not None
    going = w.binary("and", going, w.negated(stopped)) if not known else going

    def body(values: tuple[Val, ...]) -> list[Val]:
        mask, trip, *carried = values
        following = _masked_iteration(code, op, mask, uniform(type, trip), carriers, groups, carried)
        moved = w.add(trip, distance)
        more = w.binary("and", w.compare("slt", w.splat(moved, code.lanes), end),
                        w.splat(w.compare("sgt", moved, trip), code.lanes))  # fmt: skip
        return [w.binary("and", mask, more), moved, *following]

    return list(w.repeat([going, first, *flat(groups)], lambda values: w.any(values[0]), body)[2:])


def _stopped(code: KernelCode, op: For, step: Val) -> Val:
    """The mask of work-items whose step is not positive; they are found, and their loop does not run."""
    w = code.w
    bad = w.splat(w.compare("sle", step, integer(0, step.type)), code.lanes)
    code.check(op, bad, findings.step(), argument=op.step.name if op.step else None)
    return bad
