"""The facts of a CPU that its code depends on: its vectors, the instructions that it has, and what is fast on it."""

from __future__ import annotations

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.machine.description import GENERIC, MachineDescription, described
from girih.back.llvm.emit.features import Features
from girih.ir.types import BF16, F16, I8, Number
from girih.lazy_dataclass import dataclass

_AMX: dict[str, Number] = {"amx-bf16": BF16, "amx-int8": I8, "amx-fp16": F16}
"""The types whose products a feature of AMX computes."""


@dataclass(frozen=True, slots=True)
class DotOfBytes:
    """An instruction that adds the products of four bytes to each lane of i32."""

    vector_bytes: int
    """The size of its longest vectors."""
    signed: bool
    """Whether the bytes of both factors are signed; otherwise those of one are unsigned."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """The facts that decide how code is written; everything else is up to LLVM."""

    vector_bytes: int
    registers: int
    features: Features
    dot_bf16: bool = False
    """Whether AVX-512's dot product of bf16 pairs is there, and worth using."""
    rounds_bf16: bool = False
    """Whether an instruction rounds floats to bf16, though subnormal ones to zero."""
    dot_of_bytes: DotOfBytes | None = None
    """The instruction for products of four bytes, where there is one."""
    adds_pairs: bool = False
    """Whether an instruction multiplies numbers of 16 bits and adds the products of neighbours."""
    machine: MachineDescription = GENERIC
    amx: frozenset[Number] = frozenset()
    """The types of factors that AMX multiplies."""
    exchanges_16_bytes: bool = False
    """Whether an atomic compare-and-exchange may be of 16 bytes."""
    amx_in_memory: bool = False
    """Whether tiles of AMX are a model in memory: for tests where there are none."""

    def lanes_of(self, bytes: int) -> int:
        """The number of elements of `bytes` bytes that fit a vector register."""
        return self.vector_bytes // bytes

    @staticmethod
    def of(cpu: Cpu, machine: MachineDescription | None = None, *, amx: bool = False) -> CpuTarget:
        """The facts of a processor, with a description other than that of its name, and AMX if that is permitted."""
        always = cpu.family == "aarch64"
        machine = machine or described(cpu.name)
        f16c = cpu.has("f16c")
        return CpuTarget(
            vector_bytes=cpu.vector_bits // 8,
            registers=cpu.vector_registers,
            features=Features(f16=always or f16c, fma=always or cpu.has("fma"), f16_in_vectors=f16c),
            dot_bf16=cpu.has("avx512bf16") and machine.dot_bf16 >= 1.0,
            rounds_bf16=cpu.has("avx512bf16"),
            dot_of_bytes=_dot_of_bytes(cpu),
            adds_pairs=_adds_pairs(cpu),
            machine=machine,
            exchanges_16_bytes=cpu.has("cx16"),
            amx=frozenset(type for feature, type in _AMX.items() if amx and cpu.has(feature)),
        )

    @property
    def identity(self) -> str:
        """A text of what code depends on beyond the processor's own identity."""
        return f"{self.machine.identity}:{','.join(sorted(map(str, self.amx)))}:{self.amx_in_memory}"


def _adds_pairs(cpu: Cpu) -> bool:
    needed = {512: "avx512bw", 256: "avx2"}.get(cpu.vector_bits)
    return cpu.family == "x86_64" and (needed is None or cpu.has(needed))


def _dot_of_bytes(cpu: Cpu) -> DotOfBytes | None:
    if cpu.family == "aarch64":
        return DotOfBytes(cpu.vector_bits // 8, signed=True) if cpu.has("dotprod") else None
    if cpu.has("avx512vnni"):
        return DotOfBytes(cpu.vector_bits // 8, signed=False)
    return DotOfBytes(32, signed=False) if cpu.has("avxvnni") else None
