"""Which components of the operands of `mma` each thread holds, transcribed from the PTX ISA.

Source: PTX ISA 8.5, "Warp Level Matrix Multiply-Accumulate Instructions", the sections "Matrix Fragments for
mma.m8n8k4 with .f64 floating point type", "... mma.m16n8k4", "... m16n8k8", "... m16n8k16 with floating point type" and
"with .f64", and "... mma.m16n8k32". There `groupID` is lane / 4 and `threadID_in_group` lane % 4; components are
numbered from 0 in the order of registers, of the low bits first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer

Place = Callable[[int, int, int], tuple[int, int]]
"""The row and column of a component, by the group, the thread in it, and the component's number."""


@dataclass(frozen=True)
class FragmentTable:
    """The places of the components of a, b and c, for an instruction of `rows` rows, 8 columns and a depth."""

    rows: int
    depth: int
    a: Place
    b: Place
    c: Place

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """How many components of each operand a thread holds."""
        return self.rows * self.depth // 32, 8 * self.depth // 32, self.rows * 8 // 32

    def held(self, operand: str) -> dict[tuple[int, int], tuple[int, int]]:
        """The lane and the number of the component at each row and column of an operand."""
        place, count = getattr(self, operand), self.counts["abc".index(operand)]
        return {place(lane // 4, lane % 4, i): (lane, i) for lane in range(32) for i in range(count)}

    # --- for code: rows and columns that depend on the lane -------------------------------------

    def holder_of_a(self, w: Writer, lane: Val, index: int, k: int) -> tuple[Val, int]:
        """The lane, and the number there, of component (row of the sum `index`, k) of the left factor."""
        return self._holder(w, lane, "a", lambda n: (self.c(n // 4, n % 4, index)[0], k))

    def holder_of_b(self, w: Writer, lane: Val, index: int, k: int) -> tuple[Val, int]:
        """The lane, and the number there, of component (k, column of the sum `index`) of the right factor."""
        return self._holder(w, lane, "b", lambda n: (k, self.c(n // 4, n % 4, index)[1]))

    def _holder(self, w: Writer, lane: Val, operand: str, wanted: Callable[[int], tuple[int, int]]) -> tuple[Val, int]:
        held = self.held(operand)
        found = [held[wanted(number)] for number in range(32)]
        (component,) = {i for _, i in found}
        # The lane of the holder is linear in the bits of the lane of the sum.
        first, steps = found[0][0], [found[1 << bit][0] - found[0][0] for bit in range(5)]
        for number, (holder, _) in enumerate(found):
            assert holder == first + sum(step * (number >> bit & 1) for bit, step in enumerate(steps))
        holder_lane = integer(first, "i32")
        for bit, step in enumerate(steps):
            own = w.binary("and", w.binary("lshr", lane, integer(bit, "i32")), integer(1, "i32"))
            holder_lane = w.add(holder_lane, w.mul(own, integer(step, "i32")))
        return holder_lane, component


def _c(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), 2 * t + (i & 1)


M16N8K16 = FragmentTable(
    16,
    16,
    lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, 2 * t + (i & 1) + (8 if i >= 4 else 0)),
    lambda g, t, i: (2 * t + (i & 1) + (8 if i >= 2 else 0), g),
    _c,
)
M16N8K32 = FragmentTable(
    16,
    32,
    lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, 4 * t + (i & 3) + (16 if i >= 8 else 0)),
    lambda g, t, i: (4 * t + (i & 3) + (16 if i >= 4 else 0), g),
    _c,
)
M16N8K8_TF32 = FragmentTable(
    16,
    8,
    lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
    lambda g, t, i: (t if i == 0 else t + 4, g),
    _c,
)
M16N8K16_F64 = FragmentTable(
    16, 16, lambda g, t, i: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t), lambda g, t, i: (i * 4 + t, g), _c
)
M16N8K8_F64 = FragmentTable(
    16, 8, lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
    lambda g, t, i: (t if i == 0 else t + 4, g), _c,
)  # fmt: skip
M16N8K4_F64 = FragmentTable(16, 4, lambda g, t, i: (g if i == 0 else g + 8, t), lambda g, t, i: (t, g), _c)
M8N8K4_F64 = FragmentTable(8, 4, lambda g, t, i: (g, t), lambda g, t, i: (t, g), lambda g, t, i: (g, 2 * t + (i & 1)))

_F8 = ("e4m3", "e5m2")
FRAGMENT_TABLES = {
    ("m16n8k16", "f32.f16.f16.f32"): M16N8K16,
    ("m16n8k16", "f32.bf16.bf16.f32"): M16N8K16,
    ("m16n8k32", "s32.s8.s8.s32"): M16N8K32,
    **{("m16n8k32", f"f32.{a}.{b}.f32"): M16N8K32 for a in _F8 for b in _F8},
    ("m16n8k8", "f32.tf32.tf32.f32"): M16N8K8_TF32,
    ("m16n8k16", "f64.f64.f64.f64"): M16N8K16_F64,
    ("m16n8k8", "f64.f64.f64.f64"): M16N8K8_F64,
    ("m16n8k4", "f64.f64.f64.f64"): M16N8K4_F64,
    ("m8n8k4", "f64.f64.f64.f64"): M8N8K4_F64,
}
"""The tables by the shape and the types of an instruction."""
