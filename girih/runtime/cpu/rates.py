"""The rates of multiply-adds: loops of independent ones on whole vector registers, with no access to memory."""

from __future__ import annotations

import ctypes
from time import perf_counter

from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled.jit import link

__all__ = ["dot_bf16_rate", "multiply_adds"]

_UNROLLED = 4
_STEPS = 2000
_REPEATS = 12
"""Of loops of some 0.1 ms each: both kinds take a few milliseconds together."""


@dataclass(frozen=True, slots=True)
class _MultiplyAdd:
    """A multiply-add on a vector register: its declaration, its call, and the operations of one instruction."""

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


def _multiply_add(type: str, cpu: Cpu) -> _MultiplyAdd:
    """The multiply-add of a type; bf16 without an instruction of its own is computed in f32."""
    if type == "bf16" and cpu.has("avx512bf16"):
        return _MultiplyAdd("<16 x float>", "<32 x bfloat>", "@llvm.x86.avx512bf16.dpbf16ps.512", False, 64)
    bits = 64 if type == "f64" else 32
    lanes = cpu.vector_bits // bits
    vector = f"<{lanes} x {'double' if bits == 64 else 'float'}>"
    return _MultiplyAdd(vector, vector, f"@llvm.fma.v{lanes}f{bits}", True, 2 * lanes)


def multiply_adds(type: str, cpu: Cpu) -> tuple[str, int]:
    """The loop `peak(steps, memory)` in LLVM IR on numbers of a type (f32, f64, bf16), and the operations of a step."""
    multiply = _multiply_add(type, cpu)
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
    lines += [f"  %a{j}.0 = phi {vector} [zeroinitializer, %entry], [%a{j}.{_UNROLLED}, %loop]" for j in range(chains)]
    lines += [multiply.written(f"%a{j}.{u + 1}", f"%a{j}.{u}") for u in range(_UNROLLED) for j in range(chains)]
    lines += [
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %steps",
        "  br i1 %more, label %loop, label %end",
        "end:",
    ]
    for j in range(chains):
        lines += [f"  %p{j} = getelementptr i8, ptr %memory, i64 {64 * (j + 2)}",
                  f"  store {vector} %a{j}.{_UNROLLED}, ptr %p{j}, align 4"]  # fmt: skip
    return "\n".join([*lines, "  ret void", "}"]), multiply.operations * chains * _UNROLLED


def dot_bf16_rate(cpu: Cpu) -> float:
    """Operations a second of dot products of bf16 on this machine, as a multiple of those of f32."""
    memory = ctypes.create_string_buffer(64 * 32)
    seconds: dict[str, float] = {}
    for type in ("f32", "bf16"):
        text, operations = multiply_adds(type, cpu)
        code = link(assemble(text, cpu), ["peak"])
        call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(code.addresses["peak"])
        best = float("inf")
        for _ in range(_REPEATS):
            start = perf_counter()
            call(_STEPS, ctypes.addressof(memory))
            best = min(best, perf_counter() - start)
        seconds[type] = best / operations
    return seconds["f32"] / seconds["bf16"]
