"""Kernels of an emulated process, compiled by a process that is not emulated.

LLVM and girih's own compiler are tens of times slower under emulation, and their results do not depend on the machine
that they run on: `serve` compiles for the processor that it is told, at full speed. As a plugin of pytest
(`-p tests.aarch64.compiling`) this module makes the process of the tests ask the server that `COMPILER_OF_TESTS`
names. What the server refuses the process compiles itself, so that it sees the same errors as without.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from threading import Thread
from typing import Protocol

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.diagnostics import GirihError
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.runtime.cpu import executor

PLACE = "COMPILER_OF_TESTS"
"""The variable of the environment that has the path of the server's socket."""

PYTHON = "EMULATED_PYTHON"
"""The variable that has the path of a program that is Python in the emulator."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to compile."""

    function: Function
    cpu: Cpu
    checks: str
    limits: DeviceLimits

    def compiled(self) -> bytes | None:
        """The kernel as bytes; None for one that is refused."""
        try:
            return executor.compiled(self.function, self.cpu, self.checks, self.limits).to_bytes()
        except GirihError:
            return None


class _Handler(StreamRequestHandler):
    def handle(self) -> None:
        request = received(self.rfile)
        assert isinstance(request, Request)
        send(self.wfile, request.compiled())


@contextmanager
def serve(place: Path) -> Iterator[None]:
    """Compile for whoever asks at the socket of a path, until the block ends."""
    place.unlink(missing_ok=True)
    with ThreadingUnixStreamServer(str(place), _Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            place.unlink(missing_ok=True)


class Stream(Protocol):
    """A file or socket of bytes."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, or fewer at the end."""
        ...

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        ...

    def flush(self) -> None:
        """Let go of what was written."""
        ...


def send(file: Stream, value: object) -> None:
    """Write a value for `received`."""
    data = pickle.dumps(value)
    file.write(len(data).to_bytes(8, "little") + data)
    file.flush()


def received(file: Stream) -> object:
    """The next value. Raises `EOFError` where there is none."""
    length = file.read(8)
    if not length:
        raise EOFError
    return pickle.loads(file.read(int.from_bytes(length, "little")))


def asked(place: str, request: Request) -> bytes | None:
    """The kernel as the server compiles it; None for one that it refuses."""
    with socket(AF_UNIX, SOCK_STREAM) as connection:
        connection.connect(place)
        with connection.makefile("rwb") as file:
            send(file, request)
            kept = received(file)
    assert kept is None or isinstance(kept, bytes)
    return kept


def pytest_configure() -> None:
    """Ask the server from now on; Python's interpreter is, for tests that start processes, an emulated one."""
    ask(os.environ[PLACE])
    sys.executable = os.environ[PYTHON]


def ask(place: str) -> None:
    """Have the server at a socket's path compile the kernels of this process."""
    compiled_here = executor.compiled

    def compiled(function: Function, cpu: Cpu, checks: str, limits: DeviceLimits) -> CompiledKernel:
        kept = asked(place, Request(function, cpu, checks, limits))
        return compiled_here(function, cpu, checks, limits) if kept is None else CompiledKernel.from_bytes(kept)

    vars(executor)["compiled"] = compiled
