"""Matrices of the device that loops carry from one iteration to the next, and that branches give."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, zero
from girih.back.llvm.numbers.values import register
from girih.back.spirv.matrix.code import MatrixCode, component_of, matrix_type_of, matrix_word
from girih.ir.core import Value


class DeviceMatrixCarrier:
    """The way of a matrix of the device: it is one value, which all who hold it have at once."""

    def __init__(self, code: MatrixCode, value: Value) -> None:
        self._type = matrix_type_of(value)

    def enter(self, code: MatrixCode, held: Val) -> list[Val]:
        """The matrix."""
        return [held]

    def join(self, code: MatrixCode, mask: Val, held: Val, before: Sequence[Val] | None) -> list[Val]:
        """The matrix: work-items that hold it take one way."""
        return [held]

    def inside(self, code: MatrixCode, values: Sequence[Val]) -> Val:
        """The matrix."""
        return values[0]

    def blank(self, code: MatrixCode) -> list[Val]:
        """A matrix of zeros, where nobody has one."""
        component = component_of(code, self._type.component, zero(register(self._type.component)))
        return [code.node("matrix_splat", (component,), matrix_word(self._type))]
