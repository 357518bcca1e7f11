"""The limits of the machine: multiply-adds a second by type, and bytes a second from memory.

The peak of a type is a loop of independent fused multiply-adds on whole vector registers, with no access to memory. The
bandwidth is that of y := x + y on vectors far larger than the caches: two vectors are read and one is written, and
nothing else is moved. Both are timed beside what is held against them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from girih.back.llvm.assemble.assembler import Cpu
from girih.bench.measuring.timing import Call
from girih.bench.peers.native import Native
from girih.runtime.cpu.rates import multiply_adds

STEPS = 2000
STREAM_ELEMENTS = 1 << 24
"""Elements of f32 in each vector that is streamed: 64 MiB."""


@dataclass(frozen=True, slots=True)
class Meter:
    """A loop that measures a limit of the machine; a call does `amount` operations, or moves as many bytes."""

    call: Call
    amount: float


@lru_cache(maxsize=4)
def peak(type: str) -> Meter:
    """The meter of multiply-adds of a type on one thread."""
    text, operations = multiply_adds(type, Cpu.host())
    native = Native.of(text, "peak")
    memory = np.zeros(4096, np.uint8)
    call = partial(_run_peak, native, native.function("peak", "ip"), memory)
    return Meter(call, operations * STEPS)


def _run_peak(
    _native: Native, function: Callable[..., None], memory: np.ndarray[tuple[int], np.dtype[np.uint8]]
) -> None:
    function(STEPS, memory.ctypes.data)


_STREAM = """
define void @stream(i64 %bytes, ptr noalias %x, ptr noalias %y) "prefer-vector-width"="512" {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %p = getelementptr i8, ptr %x, i64 %i
  %q = getelementptr i8, ptr %y, i64 %i
  %a = load {vector}, ptr %p, align 4
  %b = load {vector}, ptr %q, align 4
  %s = fadd {vector} %a, %b
  store {vector} %s, ptr %q, align 4
  %next = add i64 %i, {step}
  %more = icmp slt i64 %next, %bytes
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


@lru_cache(maxsize=1)
def bandwidth(elements: int = STREAM_ELEMENTS) -> Meter:
    """The meter of bytes that one thread moves from and to memory."""
    step = Cpu.host().vector_bits // 8
    native = Native.of(_STREAM.format(vector=f"<{step // 4} x float>", step=step), "stream")
    # Zeros that were never written all lie in one page.
    x, y = np.ones(elements, np.float32), np.ones(elements, np.float32)
    function = native.function("stream", "ipp")

    def call(held: Native = native) -> None:
        function(x.nbytes, x.ctypes.data, y.ctypes.data)

    return Meter(call, 3.0 * x.nbytes)
