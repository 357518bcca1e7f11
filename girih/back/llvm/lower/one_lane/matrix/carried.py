"""Matrices that loops carry from one iteration to the next, and that branches give."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Matrix,
    adopted,
    components,
    copy,
    matrix_type,
    new_arrays,
)
from girih.back.llvm.lower.one_lane.matrix.uses import lives_of
from girih.back.llvm.numbers.values import index
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import For, If, Yield


class PrivateMatrixCarrier:
    """The way of a matrix around a loop, or out of a branch: arrays that are its own, into which each one is copied.

    What a loop begins with leaves its arrays to it if nobody reads it afterwards, and what is computed in place of the
    matrix of an iteration is the next one without a copy.
    """

    def __init__(self, code: OneLaneCode, value: Value) -> None:
        self._value, self._type = value, matrix_type(value)
        self._op = lives_of(code.function).definers[value]
        self._arrays: tuple[Val, ...] | None = None
        self._looping = False
        check_way(code, self._op, value)

    @property
    def _number(self) -> int:
        """The place of the matrix among the values of the loop or branch."""
        return (self._op.carried if isinstance(self._op, For) else self._op.results).index(self._value)

    def enter(self, code: OneLaneCode, held: Matrix) -> list[Val]:
        """No values for phis: the matrix is brought into the arrays."""
        if self._arrays is None:
            initial = self._op.initial[self._number] if isinstance(self._op, For) else None
            own = None if initial is None else adopted(code, self._op, initial, held)
            if own is not None:
                self._arrays = own
                return []
            self._arrays = new_arrays(code, self._type.component, components(code, self._type))
        if not isinstance(held, ComponentArrays) or held.arrays != self._arrays:
            if isinstance(self._op, For) and self._looping:
                self._make_way(code, self._op)
            copy(code, held, self._arrays)
        return []

    def _make_way(self, code: OneLaneCode, op: For) -> None:
        """Move other matrices of the next iteration that lie in these arrays, such as those that change places."""
        last = op.body.terminator
        assert isinstance(last, Yield)
        for value in last.values[self._number + 1 :]:
            held = code.env[value]
            if isinstance(held, ComponentArrays) and held.arrays == self._arrays:
                moved = new_arrays(code, held.type.component, components(code, held.type))
                copy(code, held, moved)
                held.arrays = moved

    def join(self, code: OneLaneCode, mask: Val, held: Matrix, before: Sequence[Val] | None) -> list[Val]:
        """No values for phis: each work-item has its own way."""
        return self.enter(code, held)

    def inside(self, code: OneLaneCode, values: Sequence[Val]) -> Matrix:
        """The matrix that is in the arrays: at the begin of each iteration, and behind the loop or branch."""
        assert self._arrays is not None
        op, owner = self._op, self._value
        if isinstance(op, For) and self._looping:
            owner = op.results[self._number]
        self._looping = True
        return ComponentArrays(self._type, self._arrays, owner, carried=True)

    def blank(self, code: OneLaneCode) -> list[Val]:
        """No values for phis."""
        return []


def check_way(code: OneLaneCode, op: Op, value: Value) -> None:
    """Find a loop or branch that hands on a matrix, and in which work-items go ways of their own."""
    if isinstance(op, For) and value is next(v for v in op.carried if isinstance(v.type, CoopMatrix)):
        _check_rounds(code, op)
    if isinstance(op, If) and op.condition in code.varying:
        code.agreed(op, "condition", code.scalar(op.condition))


def _check_rounds(code: OneLaneCode, op: For) -> None:
    """Find a loop that some work-items leave before others: they cannot go on with different matrices."""
    if not code.checks or not code.varies(op.start, op.stop, *(() if op.step is None else (op.step,))):
        return
    w = code.w
    ends = [w.convert("sext", code.scalar(value).part, "i64") for value in (op.start, op.stop)]
    step = w.larger(integer(1) if op.step is None else w.convert("sext", code.scalar(op.step).part, "i64"), 1)
    # A difference beyond 64 bits is more rounds than any loop makes.
    rounds = w.binary("udiv", w.add(w.sub(ends[1], ends[0]), w.sub(step, 1)), step)
    some = w.compare("slt", ends[0], ends[1])
    code.agreed(op, "condition", index(w.select(some, rounds, integer(0))))
