"""The writer of functions for NVPTX: LLVM's instructions, but for those that its code generator gets wrong."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.nvptx.machine.remainder import remainder
from girih.back.llvm.numbers.turns import angle_without_turns


class NvptxWriter(Writer):
    """A function for NVPTX that is being written."""

    def binary(self, opcode: str, a: Operand, b: Operand) -> Val:
        """The result of an instruction with two operands of one type.

        The remainder of floats is a function of the module: LLVM's quotient is rounded, and its remainders are wrong.
        """
        if opcode == "frem":
            return remainder(self, self.value(a), self.value(b))
        return Writer.binary(self, opcode, a, b)

    def far_angle(self, name: str, unit: int, known: int, x: Val) -> tuple[Val, Val] | None:
        """The angle of x units without whole turns, computed here: a GPU has no C library."""
        return angle_without_turns(self, name, unit, known, x)
