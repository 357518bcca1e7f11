"""Kernels of a process that is not emulated, run by one that is: the tests at full speed, their machine code in QEMU.

As a plugin of pytest (`-p tests.aarch64.running`) this module makes a processor of QEMU (`EMULATED_CPU`, a name of
`emulator.CPUS`) the host of the target `cpu`. Kernels are compiled here. For a launch, the memory of the arguments goes
to the emulated process, to the same addresses, where girih's launcher and pool run the kernel; then it comes back.
Around it there is no memory, so that an access that strays to another page ends the emulated process.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from girih.arguments import arrays
from girih.arguments.arrays import Accepted, MapClaim
from girih.arguments.claims import Claim
from girih.back.llvm.assemble import assembler
from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.ir.core import Function
from girih.runtime.compiled import jit, slots
from girih.runtime.compiled.jit import Linked, link
from girih.runtime.compiled.printing import PrintRecords
from girih.runtime.cpu import kernel
from girih.runtime.cpu.entry import KernelEntry
from girih.runtime.cpu.kernel import CpuKernel
from girih.runtime.cpu.launcher import launcher
from girih.runtime.cpu.pool import process_pool
from tests.aarch64.compiling import Stream, received, send
from tests.aarch64.emulator import CPUS, FOLDER, ROOT, command, environment

CPU = "EMULATED_CPU"
"""The variable of the environment with the name of a processor."""

PAGE = 4096
_PROTECTION, _FLAGS = 1 | 2, 0x2 | 0x20 | 0x100000
"""Of mmap: to read and write; private, anonymous, at this address, which must be free (MAP_FIXED_NOREPLACE)."""

Range = tuple[int, int]
"""The first byte of a piece of memory, and the byte behind it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch: the kernel, whose code is known to the other process by its digest, and the memory that it may use."""

    digest: bytes
    compiled: CompiledKernel | None
    grid: tuple[int, int, int]
    slots: int
    memory: Sequence[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a launch returned, and the memory behind it, in the order of the launch."""

    result: object
    memory: Sequence[bytes]


# --- in the emulated process ---------------------------------------------------------------


def run_all() -> None:
    """Run launches from standard input until it ends; first tell which processor this is."""
    with os.fdopen(os.dup(1), "wb") as outcomes:
        _run_all(sys.stdin.buffer, outcomes)


def _run_all(requests: Stream, outcomes: Stream) -> None:
    send(outcomes, Cpu.host())
    entries: dict[bytes, KernelEntry] = {}
    with suppress(EOFError):
        while True:
            request = received(requests)
            assert isinstance(request, Launch)
            if request.compiled is not None:
                entries[request.digest] = _entry(request.compiled)
            send(outcomes, _run(entries[request.digest], request))


def _entry(compiled: CompiledKernel) -> KernelEntry:
    code, made = link(compiled.object, [compiled.symbol]), launcher()
    assert made is not None
    return KernelEntry.make(
        compiled.name,
        [],
        kernel=code.addresses[compiled.symbol],
        code=code,
        pool=process_pool().address,
        workspace_bytes=compiled.workspace_bytes,
        serial_groups=compiled.serial_groups,
        untimed_groups=compiled.untimed_groups,
        addresses=made.address,
    )


def _run(entry: KernelEntry, request: Launch) -> Outcome:
    with ExitStack() as mapped:
        for first, last in _pages((at, at + len(data)) for at, data in request.memory):
            mapped.enter_context(_mapping(first, last))
        for at, data in request.memory:
            ctypes.memmove(at, data, len(data))
        result = entry.run(request.grid, request.slots)
        if result is Ellipsis:
            made = launcher()
            assert made is not None
            process_pool().start(made.start)
            result = entry.run(request.grid, request.slots)
        return Outcome(result, [ctypes.string_at(at, len(data)) for at, data in request.memory])


def _pages(ranges: Iterable[Range]) -> Iterator[Range]:
    """Whole pages that have all these ranges, joined where they meet."""
    begin = end = 0
    for first, last in sorted((first // PAGE * PAGE, -(-last // PAGE) * PAGE) for first, last in ranges):
        if first > end:
            if end:
                yield begin, end
            begin = first
        end = max(end, last)
    if end:
        yield begin, end


@contextmanager
def _mapping(first: int, last: int) -> Iterator[None]:
    """Memory at these addresses, which are free."""
    c = ctypes.CDLL(None, use_errno=True)
    c.mmap.restype = ctypes.c_void_p
    c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    got = c.mmap(first, last - first, _PROTECTION, _FLAGS, -1, 0)
    if got != first:
        raise MemoryError(f"the emulated process has no room at {first:#x}: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        c.munmap(first, last - first)


# --- in the process of the tests -----------------------------------------------------------


class Emulated:
    """The emulated process on a processor of `CPUS`; another one after a kernel has ended it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start()

    def _start(self) -> None:
        variables = environment(GIRIH_NUM_THREADS="2", GIRIH_CACHE_DIR=str(FOLDER / "cache"))
        words = command(CPUS[self._name], "-c", "from tests.aarch64 import running; running.run_all()")
        process = subprocess.Popen(words, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._sent: set[bytes] = set()
        cpu = received(self._from)
        assert isinstance(cpu, Cpu)
        self.cpu = cpu

    def run(self, compiled: CompiledKernel, grid: tuple[int, int, int], place: int, ranges: Sequence[Range]) -> object:
        """What a launch with slots at an address returns; the memory of the ranges is as it is behind the launch."""
        digest = sha256(compiled.to_bytes()).digest()
        memory = [(first, ctypes.string_at(first, last - first)) for first, last in ranges]
        try:
            send(self._to, Launch(digest, None if digest in self._sent else compiled, grid, place, memory))
            outcome = received(self._from)
        except (EOFError, BrokenPipeError):
            status = self._process.wait()
            self._start()
            raise AssertionError(f"@{compiled.name} has ended the emulated process, whose status is {status}") from None
        assert isinstance(outcome, Outcome)
        self._sent.add(digest)
        for (first, before), after in zip(memory, outcome.memory, strict=True):
            if before != after:
                ctypes.memmove(first, after, len(after))
        return outcome.result


def ranges_of(accepted: Sequence[Accepted], filled: slots.Slots, prints: Mapping[int, int]) -> list[Range]:
    """The memory that a kernel may use: slots, tables, arrays, and what it prints."""
    words = filled.words
    found = [(filled.address, filled.address + words.nbytes)]
    tables = [table for item in filled.held if isinstance(item, slots.HostMemory) for table in item.tables]
    found += [(ctypes.addressof(table), ctypes.addressof(table) + ctypes.sizeof(table)) for table in tables]
    claims: list[Claim] = []
    for argument in accepted:
        if isinstance(argument, Claim):
            claims.append(argument)
        elif isinstance(argument, MapClaim):
            claims.append(argument.claim)
        elif not isinstance(argument, np.ndarray):
            claims += argument.members
    found += [(claim.start, claim.end) for claim in claims if claim.end > claim.start]
    found += [(at, at + size) for at, size in prints.items()]
    return found


def pytest_configure() -> None:
    """From now on the target `cpu` is the emulated processor."""
    other = Emulated(os.environ[CPU])
    sizes: dict[int, int] = {}

    def linked(object: bytes, symbols: Iterable[str]) -> Linked:
        return Elsewhere(dict.fromkeys(symbols, 0), -1)

    def printed(function: Function) -> PrintRecords:
        records = PrintRecords(function)
        sizes[records.address] = records.size
        return records

    def run_bound(self: CpuKernel, grid: tuple[int, int, int], arguments: Sequence[object], *prints: int) -> object:
        accepted = arrays.accept(self._specs, arguments)
        filled = slots.fill(self._types, accepted, prints)
        ranges = ranges_of(accepted, filled, {at: sizes[at] for at in prints})
        return other.run(self.compiled, grid, filled.address, ranges)

    for module, names in (
        (assembler, {"_host": lambda: other.cpu}),
        (jit, {"link": linked}),
        (kernel, {"link": linked, "launcher": lambda: None, "PrintRecords": printed}),
    ):
        vars(module).update(names)
    # Where Python binds the arguments it knows their memory.
    type.__setattr__(CpuKernel, "_run_bound", run_bound)


class Elsewhere(Linked):
    """Code that another process has."""

    def __del__(self, *_: Any) -> None:
        """Nothing is unloaded here."""
