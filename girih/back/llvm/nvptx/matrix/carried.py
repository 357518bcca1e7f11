"""Fragments that loops carry from one iteration to the next, and that branches give: their registers, as phis."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, zero
from girih.back.llvm.lower.one_lane.matrix.carried import check_way
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, matrix_type
from girih.back.llvm.lower.one_lane.matrix.uses import lives_of
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.fragments import (
    Fragments,
    equal_fragments,
    in_layout,
    layout_of,
    packed,
    register_type,
)
from girih.ir.core import Value


class FragmentCarrier:
    """The way of a matrix around a loop, or out of a branch, which all threads that hold it go together."""

    def __init__(self, code: FragmentCode, value: Value) -> None:
        self._type = matrix_type(value)
        check_way(code, lives_of(code.function).definers[value], value)

    def enter(self, code: FragmentCode, held: Fragments | EqualComponents) -> list[Val]:
        """The registers."""
        if isinstance(held, EqualComponents):
            held = equal_fragments(code, held.type, held.parts)
        return list(held.registers)

    def join(
        self, code: FragmentCode, mask: Val, held: Fragments | EqualComponents, before: Sequence[Val] | None
    ) -> list[Val]:
        """The registers: threads that hold a matrix take one way."""
        return self.enter(code, held)

    def inside(self, code: FragmentCode, values: Sequence[Val]) -> Fragments:
        """The matrix in the registers."""
        return in_layout(code, self._type, values)

    def blank(self, code: FragmentCode) -> list[Val]:
        """Zeros, where nobody has a matrix."""
        layout = layout_of(code, self._type)
        count = layout.components // packed(self._type.component, layout)
        return [zero(register_type(self._type, layout))] * count
