"""What is the same in all work-items of a work-group or subgroup, and what differs between them.

Two questions are answered by one propagation from the instructions that tell work-items apart to what is computed from
their results. `uniformity_of` says what the language promises, whoever executes a kernel. `varying_values` says which
values differ between the lanes of a subgroup where a target deals points and components out in its own way: what is
uniform costs one scalar instruction instead of one per lane.

In both, values are compared between the work-items that execute an instruction together, in the same iterations of the
loops around it. The time is linear in the number of instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cached_property

from girih.ir.core import Function, Op, Region, RegionKind, Value
from girih.ir.types import CoopMatrix, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Constant
from girih.ops.tile.builtin import SubgroupId, SubgroupLinearId, SubgroupLocalId
from girih.ops.tile.control import For, Foreach, ForeachTile, If, Yield
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.ops.tile.memory import AtomicLoad, AtomicUpdate
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast

_LARGEST_FLAT = 2**30

_MOST_REPEATS = 64
"""So many times bodies of loops are gone through again, before it costs less to look up who reads what has risen."""


class Uniformity(IntEnum):
    """Between which work-items a value is the same. A larger one says less."""

    WORK_GROUP = 0
    SUBGROUP = 1
    NONE = 2


class Uniformities:
    """What the language promises of the values of a function."""

    def __init__(self, function: Function, levels: Mapping[Value, Uniformity]) -> None:
        self.function = function
        self._levels = levels

    def of(self, value: Value) -> Uniformity:
        """Between which work-items a value is the same; a matrix is whatever those that hold it hold together."""
        if isinstance(value.type, CoopMatrix):
            return Uniformity.WORK_GROUP if value.type.of_work_group else Uniformity.SUBGROUP
        return self._levels.get(value, Uniformity.WORK_GROUP)

    def worst(self, values: Iterable[Value | int | None]) -> Uniformity:
        """What holds for all of some values."""
        levels = (self.of(v) for v in values if isinstance(v, Value))
        return max(levels, default=Uniformity.WORK_GROUP)

    @property
    def everywhere(self) -> bool:
        """Whether all scalar values are the same in the whole work-group."""
        return not self._levels

    @cached_property
    def _definitions(self) -> Mapping[Value, Op]:
        return {value: op for op in self.function.walk() for value in (*op.results, *op.bindings)}

    def definition(self, value: Value) -> Op | None:
        """The instruction that defines a value, for others or for its own regions; None for a parameter."""
        return self._definitions.get(value)

    def reasons(self, value: Value, wanted: Uniformity) -> list[tuple[Op, Value]]:
        """A shortest path from a value, of which no more than `wanted` is promised, to why: what defines each, and it.

        The last instruction tells work-items apart by itself.
        """
        before: dict[Value, Value | None] = {value: None}
        pending = [value]
        for at in pending:
            op = self._definitions[at]
            causes = [v for v in influences(op, at) if self._levels.get(v, Uniformity.WORK_GROUP) >= wanted]
            if not causes or (tells_apart(op) and not isinstance(op, AtomicLoad)):
                return self._path(before, at)
            for cause in causes:
                if cause not in before:
                    before[cause] = at
                    pending.append(cause)
        return self._path(before, value)

    def _path(self, before: Mapping[Value, Value | None], end: Value) -> list[tuple[Op, Value]]:
        path: list[tuple[Op, Value]] = []
        at: Value | None = end
        while at is not None:
            path.append((self._definitions[at], at))
            at = before[at]
        return path[::-1]


def uniformity_of(function: Function) -> Uniformities:
    """Between which work-items each value of a checked function is the same, as the language promises it."""
    analysis: Promises
    if function.language is TILE_LANGUAGE:
        analysis = Promises(function)
    else:
        from girih.analysis.shader_uniformity import ShaderPromises

        analysis = ShaderPromises(function)
    analysis.run()
    return Uniformities(function, analysis.levels)


def varying_values(function: Function, constants: dict[Value, int], lanes: int) -> set[Value]:
    """The values that differ between the active lanes of a subgroup, where `foreach` is dealt out by `flat_modes`."""
    analysis: Promises
    if function.language is TILE_LANGUAGE:
        analysis = Lanes(function, constants, lanes)
    else:
        from girih.analysis.shader_uniformity import ShaderLanes

        analysis = ShaderLanes(function, constants, lanes)
    analysis.run()
    return {value for value, level in analysis.levels.items() if level is Uniformity.NONE}


def constants_of(function: Function) -> dict[Value, int]:
    """The integer constants of a function."""
    constants: dict[Value, int] = {}
    for op in function.walk():
        if isinstance(op, Constant) and isinstance(op.value, int) and isinstance(op.result.type, Number):
            constants[op.result] = int(op.value)
    return constants


def flat_modes(op: Foreach, constants: dict[Value, int], lanes: int) -> tuple[int, ...]:
    """The static sizes of the leading modes that are dealt out to lanes together, because the first is too short.

    They are empty where the first mode alone is dealt out.
    """
    sizes: list[int] = []
    for start, stop in zip(op.start, op.stop, strict=True):
        if start not in constants or stop not in constants:
            break
        sizes.append(max(0, constants[stop] - constants[start]))
    if len(sizes) < 2 or sizes[0] >= lanes:
        return ()
    total, kept = 1, 0
    for size in sizes:
        if total * max(1, size) > _LARGEST_FLAT:
            break
        total, kept = total * max(1, size), kept + 1
    return tuple(sizes[:kept]) if kept > 1 else ()


# --- what a value depends on -----------------------------------------------------------------

_TELLS_APART: dict[type[Op], Uniformity] = {
    SubgroupLocalId: Uniformity.NONE,
    SubgroupId: Uniformity.SUBGROUP,
    SubgroupLinearId: Uniformity.SUBGROUP,
    CooperativeMatrixExtract: Uniformity.NONE,
    AtomicLoad: Uniformity.NONE,
    Foreach: Uniformity.NONE,
    ForeachTile: Uniformity.SUBGROUP,
    CooperativeMatrixApply: Uniformity.NONE,
    CooperativeMatrixCombine: Uniformity.NONE,
    CooperativeMatrixLoadTensor: Uniformity.NONE,
    **dict.fromkeys(TILE_LANGUAGE.family(AtomicUpdate), Uniformity.NONE),
    **{scan: Uniformity.NONE for (shape, _), scan in OPERATIONS.items() if shape != "reduce"},
}
"""The instructions that give work-items different values, or their regions, whatever their operands are.

What a work-item loads atomically may have changed when another one does so; in a collective region all load as one.
"""

_AGREES: tuple[type[Op], ...] = (
    SubgroupBroadcast,
    *(reduction for (shape, _), reduction in OPERATIONS.items() if shape == "reduce"),
)
"""The instructions that give all work-items of a subgroup the same value."""

_Components = CooperativeMatrixApply | CooperativeMatrixCombine | CooperativeMatrixLoadTensor


def tells_apart(op: Op) -> bool:
    """Whether an instruction gives work-items different values whatever its operands are."""
    return type(op) in _TELLS_APART


def bounds(op: For) -> list[Value]:
    """The operands that say how often a loop is executed."""
    return [v for v in (op.start, op.stop, op.step) if v is not None]


def yielded_values(region: Region | None) -> tuple[Value, ...]:
    """What a region yields."""
    last = region.terminator if region is not None else None
    return last.values if isinstance(last, Yield) else ()


def influences(op: Op, value: Value) -> Iterator[Value]:
    """The values that one of an instruction's results, or bindings, is computed from, and that decide which it is."""
    if isinstance(op, If):
        number = op.results.index(value)
        yield op.condition
        yield from (values[number] for r in op.regions if len(values := yielded_values(r)) > number)
    elif isinstance(op, For) and value is op.variable:
        yield from (v for v in (op.start, op.step) if v is not None)
    elif isinstance(op, For):
        carried = value in op.carried
        number = (op.carried if carried else op.results).index(value)
        yield from () if carried else bounds(op)
        yield op.initial[number]
        yield from yielded_values(op.body)[number : number + 1]
    else:
        yield from op.operands


# --- propagation -----------------------------------------------------------------------------

VISITS: dict[type[Op], str] = {
    **dict.fromkeys(_TELLS_APART, "source"),
    **dict.fromkeys(_AGREES, "agreement"),
    SubgroupId: "subgroup_id",
    AtomicLoad: "atomic_load",
    Foreach: "points",
    ForeachTile: "tiles",
    CooperativeMatrixApply: "components",
    CooperativeMatrixCombine: "components",
    CooperativeMatrixLoadTensor: "components",
    For: "loop",
    If: "branch",
}
"""The method of `Promises` that visits an instruction; `derived` visits all others."""


class Promises:
    """The levels of the values of a function that are not the same in the whole work-group, as they are found."""

    visits: Mapping[type[Op], str] = VISITS

    def __init__(self, function: Function) -> None:
        self.function = function
        self.levels: dict[Value, Uniformity] = {}
        self.risen: list[Value] = []
        """What rose after instructions that read it had been visited."""
        self.following = False
        self.repeats = 0
        self.kind = function.body.kind
        self.along_x, self.along_y = subgroups_known(function)
        alone = self.along_x == self.along_y == 1
        self.same = Uniformity.SUBGROUP if alone else Uniformity.WORK_GROUP
        """What is the same in the whole work-group, because it has no other subgroups."""

    def run(self) -> None:
        """Go through the function in its order, a few loops several times; then follow what others carry back."""
        self.region(self.function.body)
        if not self.risen:
            return
        self.following = True
        readers = _readers(self.function)
        while self.risen:
            for op in readers.get(self.risen.pop(), ()):
                self.visit(op)

    def region(self, region: Region) -> None:
        """Visit the instructions of a region; those with regions before these and, if these make results, after."""
        levels, outer, visits = self.levels, self.kind, self.visits
        self.kind = region.kind
        for op in region.ops:
            visit = visits.get(op.__class__)
            if visit is not None:
                getattr(self, visit)(op)
            elif levels and op.spec.results:
                self.derived(op)
            if op.spec.regions:
                for inner in op.regions:
                    self.region(inner)
                if visit is not None:
                    self.after_regions(op)
        self.kind = outer

    def after_regions(self, op: Op) -> None:
        """Visit an `if` or `for` again, whose regions are known now."""
        if isinstance(op, For):
            self.repeat(op, op.carried, op.body)
        elif isinstance(op, If):
            self.visit(op)

    def repeat(self, op: Op, carried: tuple[Value, ...], body: Region) -> None:
        """Visit a loop whose body is known, and its body again, as long as what it carries rises by that."""
        while risen := self._rise(op, carried):
            if self.repeats == _MOST_REPEATS:
                self.risen += risen
                break
            self.repeats += 1
            self.region(body)

    def _rise(self, op: Op, carried: tuple[Value, ...]) -> list[Value]:
        """Visit a loop whose body is known; which of the values that it carries rise by that."""
        before = [self.levels.get(value) for value in carried]
        self.visit(op)
        return [v for v, level in zip(carried, before, strict=True) if self.levels.get(v) is not level]

    def visit(self, op: Op) -> None:
        """Raise the levels of an instruction's results and bindings to what follows from its operands."""
        getattr(self, self.visits.get(op.__class__, "derived"))(op)

    def of(self, values: Iterable[Value]) -> Uniformity:
        """The largest level of some values."""
        worst, levels = Uniformity.WORK_GROUP, self.levels
        for value in values:
            level = levels.get(value)
            if level is not None and level > worst:
                worst = level
        return worst

    def raised(self, values: Iterable[Value], level: Uniformity) -> None:
        """Raise the levels of values."""
        for value in values:
            self.rise(value, level)

    def rise(self, value: Value, level: Uniformity) -> None:
        """Raise the level of a value. A matrix has none: those that hold it hold it together."""
        if level <= self.same or level <= self.levels.get(value, Uniformity.WORK_GROUP):
            return
        if not isinstance(value.type, CoopMatrix):
            self.levels[value] = level
            if self.following:
                self.risen.append(value)

    # --- instructions ---

    def derived(self, op: Op) -> None:
        # Most instructions are visited here, and have single operands: these are looked at without a generator.
        worst, levels = Uniformity.WORK_GROUP, self.levels
        for name in op.spec.operands:
            operand = getattr(op, name)
            level = levels.get(operand) if operand.__class__ is Value else self.of(op.operands)
            if level is not None and level > worst:
                worst = level
        if worst is not Uniformity.WORK_GROUP:
            self.raised(op.results, worst)

    def source(self, op: Op) -> None:
        self.raised(op.results, _TELLS_APART[op.__class__])

    def agreement(self, op: Op) -> None:
        # From what the whole work-group puts in, all subgroups get the same.
        self.raised(op.results, min(Uniformity.SUBGROUP, self.of(op.operands)))

    def subgroup_id(self, op: SubgroupId) -> None:
        if (self.along_x, self.along_y, 1)[op.axis] != 1:
            self.source(op)

    def atomic_load(self, op: AtomicLoad) -> None:
        # In a collective region the work-group loads as one.
        if self.kind is RegionKind.SPMD:
            self.source(op)
        else:
            self.derived(op)

    def points(self, op: Foreach) -> None:
        self.raised(op.variables, Uniformity.NONE)

    def tiles(self, op: ForeachTile) -> None:
        self.raised((*op.variables, *op.sizes), Uniformity.SUBGROUP)

    def components(self, op: _Components) -> None:
        self.raised(op.bindings, Uniformity.NONE)

    def loop(self, op: For) -> None:
        if not self.levels:
            return
        self.rise(op.variable, self.of((op.start,) if op.step is None else (op.start, op.step)))
        trips = self.of(bounds(op))
        yields, results = yielded_values(op.body), op.results
        for number, (carried, initial) in enumerate(zip(op.carried, op.initial, strict=True)):
            level = self.of((initial, *yields[number : number + 1]))
            self.rise(carried, max(level, self.while_others_wait(trips)))
            self.rise(results[number], max(level, trips))

    def while_others_wait(self, trips: Uniformity) -> Uniformity:
        """The level of what a loop carries that work-items leave at different times, if `trips` is that of its bounds.

        Between those that go on it is the same.
        """
        return Uniformity.WORK_GROUP

    def branch(self, op: If) -> None:
        if not self.levels or not op.results:
            return
        condition = self.of((op.condition,))
        yields = [yielded_values(region) for region in op.regions]
        for number, result in enumerate(op.results):
            level = self.of(values[number] for values in yields if len(values) > number)
            self.rise(result, max(condition, level))


class Lanes(Promises):
    """The levels where lanes are the elements of a vector: what differs between them is `Uniformity.NONE`.

    Points and components are dealt out to lanes in a known way; one atomic load serves all of them; and what a loop
    carries keeps the lanes that have left it.
    """

    def __init__(self, function: Function, constants: dict[Value, int], lanes: int) -> None:
        super().__init__(function)
        self.constants = constants
        self.lanes = lanes

    def atomic_load(self, op: AtomicLoad) -> None:
        self.derived(op)

    def points(self, op: Foreach) -> None:
        flat = flat_modes(op, self.constants, self.lanes)
        self.raised(op.variables[: max(1, len(flat))], Uniformity.NONE)

    def components(self, op: _Components) -> None:
        # The lanes are those of a line, in `apply` a column.
        column = op.column if isinstance(op, CooperativeMatrixApply) else None
        self.raised((v for v in op.bindings if v is not column), Uniformity.NONE)

    def while_others_wait(self, trips: Uniformity) -> Uniformity:
        return trips


def subgroups_known(function: Function) -> tuple[int | None, int | None]:
    """The numbers of subgroups of a work-group along x and y, where the attributes of a function fix them."""
    size, lanes = function.work_group_size, function.subgroup_size
    if size is None:
        return None, None
    return (size[0] // lanes if lanes else None), size[1]


def _readers(function: Function) -> dict[Value, list[Op]]:
    """The instructions that read each value; what a `yield` reads is read by the instruction around."""
    readers: dict[Value, list[Op]] = {}
    pending: list[tuple[Region, Op | None]] = [(function.body, None)]
    while pending:
        region, owner = pending.pop()
        for op in region.ops:
            reader = owner if isinstance(op, Yield) and owner is not None else op
            for value in op.operands:
                readers.setdefault(value, []).append(reader)
            pending += [(inner, op) for inner in op.regions]
    return readers
