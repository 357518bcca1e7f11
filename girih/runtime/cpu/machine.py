"""This machine as a target: the description of its processor, and the instructions that the system permits.

The table of `girih.back.llvm.cpu.machine.description` is completed by what the system says of caches. What neither
knows is measured, once, and kept in the cache of compiled code.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from girih.back.llvm.assemble.assembler import Cpu, llvm_version
from girih.back.llvm.cpu.machine.description import MachineDescription, described
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.ir.core import Function

__all__ = ["amx_permitted", "code_identity", "description_of", "facts_of", "host_description", "target_of"]

_PRODUCTS = frozenset(("gemm", "cooperative_matrix_mul_add", "matrix_mul_add"))
"""The instructions, of both languages, that AMX can be used for."""

# Documentation/arch/x86/xstate.rst of Linux.
_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18


def target_of(function: Function, cpu: Cpu) -> CpuTarget:
    """The facts that decide how a function's code is written for a processor.

    AMX is among them where the processor has it and the function has products of matrices. This machine's system is
    asked for permission then, once in a process; where it refuses, code for this machine does without AMX.
    """
    return facts_of(cpu, amx=any(op.spec.mnemonic in _PRODUCTS for op in function.walk()))


def facts_of(cpu: Cpu, *, amx: bool = True) -> CpuTarget:
    """The facts of a processor: with AMX if that is wanted, and there, and, on this machine, permitted."""
    amx = amx and cpu.has("amx-tile") and (cpu != Cpu.host() or amx_permitted())
    return CpuTarget.of(cpu, description_of(cpu), amx=amx)


def description_of(cpu: Cpu) -> MachineDescription:
    """The description of a processor: completed by what the system says, if it is this machine's."""
    return host_description() if cpu == Cpu.host() else described(cpu.name)


def code_identity(function: Function, cpu: Cpu) -> str:
    """A text of all, beyond the function itself, that decides what its code for a processor looks like."""
    return f"{cpu.identity}:{target_of(function, cpu).identity}"


@lru_cache(maxsize=1)
def amx_permitted() -> bool:
    """Whether Linux lets this process use the tiles of AMX, for which it asks; threads and children inherit that."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        return int(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)) == 0
    except (AttributeError, OSError):
        return False


@lru_cache(maxsize=1)
def host_description() -> MachineDescription:
    """The description of this machine's processor."""
    cpu = Cpu.host()
    found = with_caches(described(cpu.name), Path("/sys/devices/system/cpu/cpu0/cache"))
    if cpu.has("avx512bf16") and not found.dot_bf16:
        found = replace(found, dot_bf16=_kept_rate(cpu))
    return found


_PLAUSIBLE = {1: (8 << 10, 1 << 20), 2: (64 << 10, 64 << 20), 3: (256 << 10, 256 << 20)}
"""The sizes that caches may have, by level: others are what a hypervisor made up."""


def with_caches(table: MachineDescription, folder: Path) -> MachineDescription:
    """A description with the sizes of caches that Linux lists in a folder; shared ones are shared out to CPUs.

    Two threads of a core are two CPUs, since a launch has a thread for each.

    Sizes that are missing or cannot be true are those of the table.
    """
    sizes = {1: table.l1_bytes, 2: table.l2_bytes, 3: table.l3_bytes}
    for entry in sorted(folder.glob("index*")):
        level, kind, size, sharing = (_word(entry / name) for name in ("level", "type", "size", "shared_cpu_list"))
        if kind == "Instruction" or level not in ("1", "2", "3"):
            continue
        least, most = _PLAUSIBLE[int(level)]
        share = _bytes(size) // max(_count(sharing), 1)
        if least <= share <= most:
            sizes[int(level)] = share
    return replace(table, l1_bytes=sizes[1], l2_bytes=sizes[2], l3_bytes=sizes[3])


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _bytes(size: str) -> int:
    """The bytes of a size such as `48K`; 0 where it is none."""
    number, unit = size[:-1], size[-1:]
    return int(number) << {"K": 10, "M": 20}[unit] if number.isdecimal() and unit in ("K", "M") else 0


def _count(sharing: str) -> int:
    """The number of CPUs in a list such as `0-3,8-11`; 0 where it is none."""
    found = 0
    for part in sharing.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found += int(last) - int(first) + 1 if last.isdecimal() else 1
    return found


def _kept_rate(cpu: Cpu) -> float:
    """The rate of dot products of bf16, measured now or before."""
    from girih.runtime.cache import Cache, digest
    from girih.runtime.cpu.rates import dot_bf16_rate

    cache, key = Cache.standard(), digest("rate of dot products", cpu.identity, platform.node(), llvm_version())
    kept = cache.get(key)
    if kept is not None and len(kept) == 8:
        return float(struct.unpack("=d", kept)[0])
    # Rounded, so that code does not depend on noise.
    rate = round(dot_bf16_rate(cpu), 1)
    cache.put(key, struct.pack("=d", rate))
    return rate
