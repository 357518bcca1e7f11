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
    found = with_caches(described(cpu.name), Path("/sys/devices/system/cpu"))
    if cpu.has("avx512bf16") and not found.dot_bf16:
        found = replace(found, dot_bf16=_kept_rate(cpu))
    return found


_PLAUSIBLE = {1: (8 << 10, 1 << 20), 2: (64 << 10, 64 << 20), 3: (256 << 10, 256 << 20)}
"""The sizes that caches may have, by level: others are what a hypervisor made up."""


_MOST_THREADS = 8
"""The threads that a core may have; POWER has eight. Of more, a hypervisor says that they are all of one core."""

_MOST_CPUS = 1 << 16


def with_caches(table: MachineDescription, system: Path) -> MachineDescription:
    """A description with the sizes of caches that Linux lists for its first CPU; shared ones are shared out to cores.

    `system` is the folder with a folder for each CPU. Threads of one core are several CPUs, but one core: what they
    share with nobody else is the core's own. CPUs of which it is not said, or cannot be true, are cores of their own.

    Sizes that are missing or cannot be true are those of the table, and so are those of caches that the first CPU is
    not among the users of.
    """
    sizes = {1: table.l1_bytes, 2: table.l2_bytes, 3: table.l3_bytes}
    for entry in sorted((system / "cpu0" / "cache").glob("index*")):
        level, kind, size, sharing = (_word(entry / name) for name in ("level", "type", "size", "shared_cpu_list"))
        users = _cpus(sharing)
        if kind == "Instruction" or level not in ("1", "2", "3") or 0 not in users:
            continue
        least, most = _PLAUSIBLE[int(level)]
        share = _bytes(size) // len({_core(system, cpu) for cpu in users})
        if least <= share <= most:
            sizes[int(level)] = share
    return replace(table, l1_bytes=sizes[1], l2_bytes=sizes[2], l3_bytes=sizes[3])


def _core(system: Path, cpu: int) -> int:
    """The core of a CPU: the number of its first thread."""
    threads = _cpus(_word(system / f"cpu{cpu}" / "topology" / "thread_siblings_list"))
    return min(threads) if cpu in threads and len(threads) <= _MOST_THREADS else cpu


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _bytes(size: str) -> int:
    """The bytes of a size such as `48K`; 0 where it is none."""
    number, unit = size[:-1], size[-1:]
    return int(number) << {"K": 10, "M": 20}[unit] if number.isdecimal() and unit in ("K", "M") else 0


def _cpus(listed: str) -> frozenset[int]:
    """The CPUs in a list such as `0-3,8-11`; none where it is not one."""
    found: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        ends = (first, last or first)
        if not all(end.isdecimal() and len(end) < 6 and int(end) < _MOST_CPUS for end in ends):
            return frozenset()
        found.update(range(int(ends[0]), int(ends[1]) + 1))
    return frozenset(found)


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
