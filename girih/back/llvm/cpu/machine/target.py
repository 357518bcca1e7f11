"""The facts of a CPU that its code depends on: the width of its vectors and the instructions that it has."""

from __future__ import annotations

from dataclasses import dataclass

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.numbers.rounding import Features


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """The facts that decide how code is written; everything else is up to LLVM."""

    vector_bytes: int
    registers: int
    features: Features
    dot_bf16: bool = False
    """Whether there is AVX-512's dot product of bf16 pairs."""

    def lanes_of(self, bytes: int) -> int:
        """The number of elements of `bytes` bytes that fit a vector register."""
        return self.vector_bytes // bytes

    @staticmethod
    def of(cpu: Cpu) -> CpuTarget:
        """The facts of a processor."""
        always = cpu.family == "aarch64"
        return CpuTarget(
            vector_bytes=cpu.vector_bits // 8,
            registers=cpu.vector_registers,
            features=Features(f16=always or cpu.has("f16c"), fma=always or cpu.has("fma")),
            dot_bf16=cpu.has("avx512bf16"),
        )
