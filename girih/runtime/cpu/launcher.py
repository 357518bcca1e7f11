"""The code that launches kernels, compiled once for the processor and linked once per process.

Its texts in LLVM IR are beside this file; the differences between systems are filled in here.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from string import Template

from girih.back.llvm.assemble.assembler import Cpu, assemble, llvm_version
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.runtime.cache import Cache, digest
from girih.runtime.compiled.jit import Linked, is_exported, keep_forever, link
from girih.runtime.compiled.narrow_floats import rounding_text
from girih.runtime.cpu import entry, looks, pool

SYMBOLS = ("girih_start", "girih_run", "girih_call", "girih_look")

# The table of system calls of Linux: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
_SYSTEM_CALLS = {
    "x86_64": {"FUTEX": 202, "GETTID": 186},
    "aarch64": {"FUTEX": 98, "GETTID": 178},
}
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
# CLOCK_MONOTONIC and SIG_SETMASK: include/uapi/linux/time.h, asm-generic/signal-defs.h; time.h, sys/signal.h of macOS.
_SYSTEMS = {"linux": {"CLOCK": 1, "SET_MASK": 2}, "darwin": {"CLOCK": 6, "SET_MASK": 3}}
# MADV_HUGEPAGE: include/uapi/asm-generic/mman-common.h of Linux.
_HUGE_PAGES = 14

WAITING = {"linux": "cpu_linux.ll", "darwin": "cpu_posix.ll"}
"""By system, the text that says how the threads of a pool wait. On others there is no pool."""

_EXTERNAL = r"(?m)^(?:declare [^@]*)?@([\w.]+)(?:\(| = external )"
"""A line that declares a function, or a variable, of another library."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """The linked code: the addresses of the functions that Python calls, and the function that starts threads."""

    linked: Linked
    start: Callable[[int, int], int]

    def address(self, symbol: str) -> int:
        """The address of a function of `SYMBOLS`."""
        return self.linked.addresses[symbol]


@lru_cache(maxsize=1)
def launcher() -> Launcher | None:
    """The code for this process, from the disk cache if that has it.

    None where the process does not offer the functions that the code calls, as a Python that does not export its own.
    """
    cpu = Cpu.host()
    text = launcher_text(cpu)
    try:
        linked = _linked(text, cpu)
    except InternalError:
        if _offered(text):
            raise
        return None
    keep_forever(linked)
    start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(linked.addresses["girih_start"])
    return Launcher(linked, start)


def _linked(text: str, cpu: Cpu) -> Linked:
    """The code of a text, compiled now or before. Raises `InternalError` where it cannot be linked."""
    cache = Cache.standard()
    key = digest("launcher", text, cpu.identity, llvm_version())
    kept = cache.get(key)
    if kept is not None:
        try:
            return link(kept, SYMBOLS)
        except InternalError as error:
            if not _offered(text):
                raise
            cache.drop(key, error.message)
    # The text is written as it should be executed: passes would take twice as long as the rest and gain nothing.
    code = assemble(text, cpu)
    cache.put(key, code)
    return link(code, SYMBOLS)


def _offered(text: str) -> bool:
    """Whether the process has all functions and variables that a module in LLVM IR takes from it."""
    return all(map(is_exported, needed(text)))


def needed(text: str) -> list[str]:
    """The functions and variables that a module in LLVM IR takes from the process."""
    return [name for name in re.findall(_EXTERNAL, text) if not name.startswith("llvm.")]


def launcher_text(cpu: Cpu, platform: str = sys.platform) -> str:
    """The module in LLVM IR for a processor and an operating system (`sys.platform`)."""
    declaration, pause = _PAUSES[cpu.family]
    numbers = {
        **pool.NUMBERS,
        **entry.NUMBERS,
        **looks.LOOK_NUMBERS,
        **_SYSTEM_CALLS[cpu.family],
        "HUGE_PAGES": _HUGE_PAGES,
        **_SYSTEMS.get(platform, _SYSTEMS["linux"]),
        "PAUSE_DECLARATION": declaration,
        "PAUSE": pause,
    }
    waiting = WAITING.get(platform)
    pool_texts = ["cpu_threads.ll", waiting] if waiting else ["cpu_alone.ll"]
    texts = ["cpu_serial.ll", *pool_texts, "cpu_entry.ll", "cpu_looks.ll"]
    folder = Path(__file__).parent
    whole = "\n".join((folder / name).read_text(encoding="utf-8") for name in texts)
    return _declared_once(Template(whole).substitute(numbers) + "\n" + rounding_text())


def _declared_once(text: str) -> str:
    """The text with each declaration once; every part has its own, so that it can be read alone."""
    seen: set[str] = set()
    kept = []
    for line in text.splitlines():
        if (line.startswith("declare ") or " = external " in line) and line in seen:
            continue
        seen.add(line)
        kept.append(line)
    return "\n".join(kept) + "\n"
