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

UNROLLED = 4
STEPS = 2000
STREAM_ELEMENTS = 1 << 24
"""Elements of f32 in each vector that is streamed: 64 MiB."""


@dataclass(frozen=True, slots=True)
class Meter:
    """A loop that measures a limit of the machine; a call does `amount` operations, or moves as many bytes."""

    call: Call
    amount: float


@dataclass(frozen=True, slots=True)
class _Multiply:
    """A multiply-add on a vector register: its declaration, its call, and the operations of one lane."""

    accumulator: str
    factor: str
    function: str
    factors_first: bool
    operations: int

    def declaration(self) -> str:
        return f"declare {self.accumulator} {self.function}({', '.join(self._types())})"

    def _types(self) -> tuple[str, str, str]:
        if self.factors_first:
            return self.factor, self.factor, self.accumulator
        return self.accumulator, self.factor, self.factor

    def written(self, result: str, accumulator: str) -> str:
        values = ("%x", "%y", accumulator) if self.factors_first else (accumulator, "%x", "%y")
        listed = ", ".join(f"{type} {value}" for type, value in zip(self._types(), values, strict=True))
        return f"  {result} = call {self.accumulator} {self.function}({listed})"


def _multiply(type: str, cpu: Cpu) -> _Multiply:
    """The multiply-add of a type; bf16 without an instruction of its own is computed in f32."""
    if type == "bf16" and cpu.has("avx512bf16"):
        return _Multiply("<16 x float>", "<32 x bfloat>", "@llvm.x86.avx512bf16.dpbf16ps.512", False, 64)
    bits = 64 if type == "f64" else 32
    lanes = cpu.vector_bits // bits
    vector = f"<{lanes} x {'double' if bits == 64 else 'float'}>"
    return _Multiply(vector, vector, f"@llvm.fma.v{lanes}f{bits}", True, 2 * lanes)


def peak_text(type: str, cpu: Cpu) -> tuple[str, int]:
    """The loop `peak(steps, memory)` in LLVM IR, and the operations of one step."""
    multiply = _multiply(type, cpu)
    # Enough chains to hide the latency of two units, but not so many that a register is spilled.
    chains = 24 if cpu.vector_registers == 32 else 10
    vector = multiply.accumulator
    lines = [
        multiply.declaration(),
        'define void @peak(i64 %steps, ptr %memory) "prefer-vector-width"="512" {',
        "entry:",
        f"  %x = load {multiply.factor}, ptr %memory, align 4",
        "  %second = getelementptr i8, ptr %memory, i64 64",
        f"  %y = load {multiply.factor}, ptr %second, align 4",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [0, %entry], [%next, %loop]",
    ]
    lines += [f"  %a{j}.0 = phi {vector} [zeroinitializer, %entry], [%a{j}.{UNROLLED}, %loop]" for j in range(chains)]
    lines += [multiply.written(f"%a{j}.{u + 1}", f"%a{j}.{u}") for u in range(UNROLLED) for j in range(chains)]
    lines += [
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %steps",
        "  br i1 %more, label %loop, label %end",
        "end:",
    ]
    for j in range(chains):
        lines += [f"  %p{j} = getelementptr i8, ptr %memory, i64 {64 * (j + 2)}",
                  f"  store {vector} %a{j}.{UNROLLED}, ptr %p{j}, align 4"]  # fmt: skip
    return "\n".join([*lines, "  ret void", "}"]), multiply.operations * chains * UNROLLED


@lru_cache(maxsize=4)
def peak(type: str) -> Meter:
    """The meter of multiply-adds of a type on one thread."""
    text, operations = peak_text(type, Cpu.host())
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
