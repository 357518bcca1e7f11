"""What lowerings of fragments ask of the code of a thread beyond what all threads have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.nvptx.matrix.instructions import (
    MultiplyInstruction,
    assembled,
    multiplied,
    register_kind,
    rounded_to_tf32,
)


class FragmentCode(OneLaneCode):
    """The code of a thread of a warp that multiplies fragments."""

    __slots__ = ()

    @property
    @abstractmethod
    def capability(self) -> tuple[int, int]:
        """The compute capability of the devices that execute the code."""

    def here(self, a: Val) -> Val:
        """The same value, with which LLVM computes nothing in front of this place."""
        return assembled(self.w, "", (f"={register_kind(a.type)}", "0"), (a.type,), (a,), "sideeffect ")[0]

    def as_tf32(self, a: Val) -> Val:
        """A `float` rounded to tf32, as a register of a factor."""
        return rounded_to_tf32(self.w, a)

    def multiplied(
        self, instruction: MultiplyInstruction, a: Sequence[Val], b: Sequence[Val], c: Sequence[Val]
    ) -> list[Val]:
        """The registers of the sums of a product of fragments with those of `c`, each in the order of PTX."""
        return multiplied(self.w, instruction, a, b, c)
