"""What a launch knows of the values of a tile program, and which part of an argument each memref shows."""

from __future__ import annotations

from functools import reduce

from girih.ir.core import Op, Value
from girih.ir.types import I64, INDEX, GroupType, MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Add, Binary, Cast, Constant, Div, Max, Min, Mul, Rem, Sub
from girih.ops.tile.memory import Expand, Fuse, Load, Size, Subview
from girih.tile.amounts import Amount, combined, number
from girih.tile.program import NoTileProgram, TileProgram
from girih.tile.program import walk as walk_ops

_MNEMONICS: dict[type[Op], str] = {
    Add: "add", Sub: "sub", Mul: "mul", Div: "div", Rem: "rem", Min: "min", Max: "max",
}  # fmt: skip

Terms = tuple[Value | int, ...]
"""A coordinate as terms that are to be added up."""


@dataclass(frozen=True, slots=True)
class ViewMode:
    """A mode of a view: its size and stride in elements, and what is added to its indices.

    Where something is added, the mode may end before the array does: `size` is then that of the array's own mode.
    """

    size: Amount
    stride: Amount
    shift: Terms = ()


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The part of the argument of a parameter that a memref shows: from element `offset` on, along its modes.

    `fixed` are modes of the array that are not the view's, with the index that it has there.
    """

    parameter: int
    offset: Amount
    modes: tuple[ViewMode, ...]
    fixed: tuple[tuple[ViewMode, Value], ...] = ()


class LaunchFacts:
    """The values that are the same for all work-groups of a launch, as formulas, and the views of memory."""

    def __init__(self, program: TileProgram) -> None:
        self.numbers = {parameter.value: k for k, parameter in enumerate(program.function.parameters)}
        self.definitions = {value: op for op in walk_ops((*program.scalars, *program.body)) for value in op.results}
        self._amounts: dict[Value, Amount | None] = {}

    def amount(self, value: Value | int) -> Amount | None:
        """The formula of an integer; None where it is not the same for all work-groups, or not known to be exact."""
        if isinstance(value, int):
            return number(value)
        if value not in self._amounts:
            self._amounts[value] = self._of(value)
        return self._amounts[value]

    def literal(self, value: Value | int) -> int | None:
        """An integer that is known without a launch."""
        amount = self.amount(value)
        return None if amount is None else amount.literal

    def _of(self, value: Value) -> Amount | None:
        if value in self.numbers:
            is_integer = isinstance(value.type, Number) and value.type.family == "integer"
            return Amount("argument", (self.numbers[value],)) if is_integer else None
        match self.definitions.get(value):
            case Constant(value=int() as known) if not isinstance(known, bool):
                return number(known)
            case Size() as op:
                return self._size(op)
            case Cast(a=a) if isinstance(a.type, Number) and _is_wider(value.type, a.type):
                return self.amount(a)
            case Binary() as op if type(op) in _MNEMONICS and value.type in (INDEX, I64):
                left, right = self.amount(op.a), self.amount(op.b)
                return None if left is None or right is None else combined(_MNEMONICS[type(op)], left, right)
            case _:
                return None

    def _size(self, op: Size) -> Amount | None:
        if isinstance(op.tensor.type, GroupType):
            return None
        try:
            mode = self.view(op.tensor, op).modes[op.mode]
        except NoTileProgram:
            return None
        return None if mode.shift else mode.size

    # --- views ---

    def view(self, memory: Value, user: Op) -> MemoryView:
        """The view that a memref is. Raises `NoTileProgram`."""
        if memory in self.numbers:
            return self._whole(self.numbers[memory], memory.type)
        match self.definitions.get(memory):
            case Subview() as op:
                return self._subview(op)
            case Expand() as op:
                return self._expanded(op)
            case Fuse() as op:
                return self._fused(op)
            case Load():
                hint = "matrices of one size in an array of three modes have one map"
                raise NoTileProgram("where a member of a group lies, only the kernel knows", user.span, hint)
            case _:
                raise NoTileProgram(f"the launch does not know which array %{memory.name} is", user.span)

    def _whole(self, parameter: int, type: object) -> MemoryView:
        assert isinstance(type, MemRef)
        modes = tuple(
            ViewMode(
                Amount("size", (parameter, k)) if size is None else number(size),
                Amount("stride", (parameter, k)) if stride is None else number(stride),
            )
            for k, (size, stride) in enumerate(zip(type.shape, type.strides, strict=True))
        )
        return MemoryView(parameter, number(0), modes)

    def _subview(self, op: Subview) -> MemoryView:
        source = self.view(op.tensor, op)
        offset, modes, fixed = source.offset, list[ViewMode](), list(source.fixed)
        for part, mode in zip(op.slices, source.modes, strict=True):
            begin = self.amount(part.offset)
            if part.drops_mode:
                if begin is None or mode.shift:
                    index = part.offset
                    if mode.shift or not isinstance(index, Value):
                        raise NoTileProgram(
                            "a view of a view begins at two places that the launch does not know", op.span
                        )
                    fixed.append((mode, index))
                else:
                    offset = combined("add", offset, combined("mul", begin, mode.stride))
                continue
            assert part.size is not None
            size = self.amount(part.size)
            if begin is None or mode.shift:
                modes.append(ViewMode(mode.size, mode.stride, (*mode.shift, part.offset)))
            elif size is None:
                raise NoTileProgram("a part of an array has a size that the launch does not know", op.span)
            else:
                offset = combined("add", offset, combined("mul", begin, mode.stride))
                modes.append(ViewMode(size, mode.stride))
        return MemoryView(source.parameter, offset, tuple(modes), tuple(fixed))

    def _expanded(self, op: Expand) -> MemoryView:
        source = self.view(op.tensor, op)
        mode = source.modes[op.mode]
        sizes = [self.amount(size) for size in op.sizes]
        if mode.shift or None in sizes:
            raise NoTileProgram("a mode is split into sizes that the launch does not know", op.span)
        new, stride = [], mode.stride
        for size in sizes:
            assert size is not None
            new.append(ViewMode(size, stride))
            stride = combined("mul", stride, size)
        modes = (*source.modes[: op.mode], *new, *source.modes[op.mode + 1 :])
        return MemoryView(source.parameter, source.offset, modes, source.fixed)

    def _fused(self, op: Fuse) -> MemoryView:
        source = self.view(op.tensor, op)
        fused = source.modes[op.first : op.last + 1]
        if any(mode.shift for mode in fused):
            raise NoTileProgram("modes are joined that begin where the launch does not know", op.span)
        size = reduce(lambda a, b: combined("mul", a, b), (mode.size for mode in fused))
        modes = (*source.modes[: op.first], ViewMode(size, fused[0].stride), *source.modes[op.last + 1 :])
        return MemoryView(source.parameter, source.offset, modes, source.fixed)


def _is_wider(type: object, than: Number) -> bool:
    return isinstance(type, Number) and type.family == "integer" and than.family == "integer" and type.size >= than.size
