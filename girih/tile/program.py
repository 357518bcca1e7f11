"""What a tile program is: a function in which nothing tells work-items apart, and matrices belong to the work-group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from girih.analysis.effects import roots_of, written_parameters
from girih.analysis.uniformity import uniformity_of
from girih.ir.core import Function, Op, Region, Slice, Value
from girih.ir.types import CoopMatrix, GroupType
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import And, Constant, Not, Or
from girih.ops.tile.builtin import NumSubgroups, SubgroupId, SubgroupLinearId, SubgroupLocalId, SubgroupSize
from girih.ops.tile.control import Barrier, For, If, Parallel, Print, Yield
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixExtract,
    CooperativeMatrixInsert,
    CooperativeMatrixLoad,
    CooperativeMatrixPrefetch,
    MatrixLoad,
)
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.memory import Alloca, Load
from girih.source import Span


@dataclass(frozen=True, slots=True)
class SlowerWay:
    """Why a part of a program does not go the fastest way, at which place, and what would help."""

    reason: str
    span: Span
    hint: str


class NoTileProgram(Exception):
    """A kernel is no tile program, or one that the passes cannot take further: why, where, and what would help."""

    def __init__(self, reason: str, span: Span, hint: str = "") -> None:
        super().__init__(reason)
        self.reason, self.span, self.hint = reason, span, hint


@dataclass(frozen=True, slots=True, eq=False)
class TileProgram:
    """A tile program: scalars of the work-group, then instructions on scalars and matrices.

    Branches that are known are resolved: what they result in is replaced by what it is. A branch between two loads of
    the same tile, of which one is checked, is that one; `guarded` has the other, and the condition for it.
    """

    function: Function
    scalars: tuple[Op, ...]
    body: tuple[Op, ...]
    guarded: Mapping[Op, tuple[Value, MatrixLoad]]

    def walk(self) -> Iterator[Op]:
        """All instructions outside of regions that compute components, outer before inner, in program order."""
        yield from walk((*self.scalars, *self.body))


def walk(ops: Iterable[Op]) -> Iterator[Op]:
    """Some instructions and those in their loops and branches, outer before inner, in program order."""
    for op in ops:
        yield op
        if isinstance(op, For | If):
            for region in op.regions:
                yield from walk(region.ops)


def has_matrices(function: Function) -> bool:
    """Whether a function has matrices of the work-group, so that it is worth asking whether it is a tile program."""
    return function.language is TILE_LANGUAGE and any(
        isinstance(value.type, CoopMatrix) and value.type.of_work_group
        for op in function.walk()
        for value in op.results
    )


def tile_program(function: Function) -> TileProgram:
    """The tile program that a checked function is. Raises `NoTileProgram`."""
    *before, last = function.body.ops or (None,)
    if not isinstance(last, Parallel):
        where = function.span if last is None else last.span
        raise NoTileProgram(
            "the function does not end with `parallel`", where, "compute matrices in one `parallel`, last"
        )
    resolved = _Resolved()
    scalars, body = resolved.region(before), resolved.region(last.body.ops)
    program = TileProgram(function, tuple(scalars), tuple(body), resolved.guarded)
    _check(program)
    return program


# --- branches that are known --------------------------------------------------------------------


class _Resolved:
    """Instructions without branches on constants, and what has taken the place of their results."""

    def __init__(self) -> None:
        self.known: dict[Value, bool] = {}
        self.same: dict[Value, Value] = {}
        self.guarded: dict[Op, tuple[Value, MatrixLoad]] = {}

    def region(self, ops: Iterable[Op]) -> list[Op]:
        """The instructions of a region, those of a branch that is known in its place."""
        found: list[Op] = []
        for op in ops:
            made = rewritten(op, self.same, self)
            if isinstance(made, If) and made.condition in self.known:
                found += self._branch(made)
            else:
                one = self._one_load(made) or made
                self._note(one)
                found.append(one)
        return found

    def _one_load(self, op: Op) -> MatrixLoad | None:
        """The checked load that a branch is, whose other way is the same without checks."""
        if not isinstance(op, If) or len(op.results) != 1 or op.otherwise is None:
            return None
        loads = [_only_load(op.then), _only_load(op.otherwise)]
        whole, edge = sorted(loads, key=lambda load: load is not None and load.checked.rows + load.checked.columns)
        if whole is None or edge is None or not _same_tile(whole, edge) or whole is not loads[0]:
            return None
        found = replace(edge, result=op.results[0])
        self.guarded[found] = op.condition, whole
        return found

    def _branch(self, op: If) -> list[Op]:
        chosen = op.then if self.known[op.condition] else op.otherwise
        ops = list(chosen.ops) if chosen is not None else []
        if ops and isinstance(last := ops[-1], Yield):
            self.same.update(zip(op.results, last.values, strict=True))
            ops.pop()
        return ops

    def _note(self, op: Op) -> None:
        match op:
            case Constant(value=bool() as value):
                self.known[op.result] = value
            case Not(a=a) if a in self.known:
                self.known[op.result] = not self.known[a]
            case And(a=a, b=b) if False in (self.known.get(a), self.known.get(b)):
                self.known[op.result] = False
            case Or(a=a, b=b) if True in (self.known.get(a), self.known.get(b)):
                self.known[op.result] = True
            case And(a=a, b=b) | Or(a=a, b=b) if a in self.known and b in self.known:
                self.known[op.result] = self.known[a]


def _only_load(region: Region) -> CooperativeMatrixLoad | None:
    """The load of a region that does nothing but load a matrix and yield it."""
    match region.ops:
        case (CooperativeMatrixLoad() as load, Yield(values=(value,))) if value is load.result:
            return load
        case _:
            return None


def _same_tile(a: MatrixLoad, b: MatrixLoad) -> bool:
    return (a.memory, a.row, a.column, a.transpose) == (b.memory, b.row, b.column, b.transpose)


def rewritten(op: Op, same: Mapping[Value, Value], resolved: _Resolved | None = None) -> Op:
    """An instruction that reads other values in the place of some; with `resolved`, its regions are resolved too."""
    changed: dict[str, Any] = {}
    for name in op.spec.operands:
        before = getattr(op, name)
        after = _with(before, same)
        if after is not before and after != before:
            changed[name] = after
    for name in (field.name for field in op.spec.regions):
        region = getattr(op, name)
        if region is not None:
            ops = resolved.region(region.ops) if resolved else [rewritten(inner, same) for inner in region.ops]
            if any(a is not b for a, b in zip(ops, region.ops, strict=False)) or len(ops) != len(region.ops):
                changed[name] = replace(region, ops=tuple(ops))
    return replace(op, **changed) if changed else op


def _with(held: Any, same: Mapping[Value, Value]) -> Any:
    match held:
        case Value():
            return same.get(held, held)
        case Slice(offset, size):
            return Slice(_with(offset, same), _with(size, same))
        case tuple():
            return tuple(_with(one, same) for one in held)
        case _:
            return held


# --- what a tile program may have ---------------------------------------------------------------

_TOLD_APART = (SubgroupId, SubgroupLinearId, SubgroupLocalId, CooperativeMatrixExtract, CooperativeMatrixInsert)
_OF_THREADS = (NumSubgroups, SubgroupSize)


def _check(program: TileProgram) -> None:
    """Raise `NoTileProgram` for what a tile program has not."""
    function = program.function
    for op in program.walk():
        _check_kind(op)
    uniformities = uniformity_of(function)
    outside = {value for op in program.walk() for value in op.results}
    for op in program.walk():
        for value in (*op.operands, *op.results):
            if value in outside and uniformities.of(value) != 0:
                raise NoTileProgram(f"%{value.name} differs between work-items", op.span)
    _check_memory(program)


def _check_kind(op: Op) -> None:
    if isinstance(op, _TOLD_APART):
        raise NoTileProgram(f"`{op.spec.word}` tells work-items apart", op.span)
    if isinstance(op, _OF_THREADS):
        raise NoTileProgram(f"`{op.spec.word}` asks how many work-items there are", op.span)
    matrices = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, CoopMatrix)]
    if any(not matrix.of_work_group for matrix in matrices):
        raise NoTileProgram("a matrix is of subgroup scope", op.span, "hold all matrices by the work-group")
    if isinstance(op, Alloca):
        raise NoTileProgram("the kernel has local memory of its own", op.span)
    if isinstance(op, CooperativeMatrixPrefetch | For | If | Yield) or matrices:
        return
    if isinstance(op, Barrier | Print) or op.spec.tangled or op.spec.writes:
        raise NoTileProgram(f"`{op.spec.word}` is neither arithmetic of scalars nor of matrices", op.span)
    if isinstance(op, Parallel):
        raise NoTileProgram("there are several regions `parallel`", op.span, "put all of it into one")
    if op.regions and not isinstance(op, For | If):
        raise NoTileProgram(f"`{op.spec.word}` shares work out to work-items", op.span)


def _check_memory(program: TileProgram) -> None:
    """Scalars are read from memory that the kernel does not write, in regions of components too."""
    function = program.function
    written, roots = written_parameters(function), roots_of(function)
    for op in function.walk():
        # A group is a table of addresses and sizes, which nobody writes: its members are written.
        if isinstance(op, Load) and not isinstance(op.tensor.type, GroupType) and roots.get(op.tensor) in written:
            raise NoTileProgram(f"a scalar is loaded from %{op.tensor.name}, whose memory the kernel writes", op.span)


def reads_row(op: CooperativeMatrixApply) -> bool:
    """Whether the region of an `apply` looks at the row of a component."""
    return _uses(op.body, op.row)


def reads_column(op: CooperativeMatrixApply) -> bool:
    """Whether the region of an `apply` looks at the column of a component."""
    return _uses(op.body, op.column)


def _uses(region: Region, value: Value) -> bool:
    return any(value in op.operands for op in region.walk())


COMPONENTS = (CooperativeMatrixApply, CooperativeMatrixCombine)
"""The instructions whose regions compute components."""
