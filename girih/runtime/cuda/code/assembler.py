"""PTX as machine code: by nvJitLink where its wheel is there, else by `ptxas` on the path, else by the driver.

All three are one assembler in versions of their own: where one refuses, as one does that is too old to know the
architecture, the next one is asked. Lines of the program are kept for profilers and debuggers.

nvJitLink takes each module for a part of a program. In such a part `setmaxnreg` is ignored, and products of warpgroups
wait for each other (C7504, C7509). So a tile program is assembled `whole`: by `ptxas` on the path or of a wheel, else
by the driver, and by nvJitLink last.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.code import nvjitlink, ptxas
from girih.runtime.cuda.driver import CudaFault, call, driver

NO_ASSEMBLER = "install nvJitLink with `pip install nvidia-nvjitlink`, or put ptxas of NVIDIA's toolkit on the path"

MOST_LOG = 16 * 1024
"""The bytes of a log of the driver that are kept."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """Machine code, and what the assembler says of it."""

    cubin: bytes
    log: str


class AssemblyError(Exception):
    """An assembler refuses a module; the message is its log."""


class Assembler(Protocol):
    """A way from PTX to machine code."""

    @property
    def identity(self) -> str:
        """The assembler and its version, as the key of kept code needs them."""

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        """The machine code of a module. Raises `AssemblyError`."""


def assemblers(*, for_device: bool = False, whole: bool = False) -> Iterator[Assembler]:
    """The assemblers that are there, the preferred one first; others are preferred for what is assembled `whole`.

    The driver has one for the thread's current device, which is there where code is `for_device`.
    """
    library = nvjitlink.library_file()
    linkers = [] if library is None else [NvJitLink(library)]
    if not whole:
        yield from linkers
    yield from map(Ptxas, ptxas.commands(wheels=whole))
    if for_device:
        yield DriverAssembler(int(call("cuDriverGetVersion")))
    if whole:
        yield from linkers


def assemble(ptx: str, architecture: str, asked: Iterator[Assembler]) -> Assembled | None:
    """The machine code of a module by the first assembler that makes it; None where there is no assembler.

    Raises `InternalError` with what they say where all of them refuse it.
    """
    refusals: list[str] = []
    for assembler in asked:
        try:
            return assembler.assemble(ptx, architecture)
        except AssemblyError as error:
            refusals.append(f"{assembler.identity}: {error}")
    if refusals:
        raise InternalError(f"no assembler takes the code for {architecture}\n" + "\n".join(refusals))
    return None


@dataclass(frozen=True, slots=True)
class NvJitLink:
    """NVIDIA's assembler as a library, by its file."""

    library: Path

    @property
    def identity(self) -> str:
        return f"nvJitLink {_file_identity(self.library)}"

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        options = [f"-arch={architecture}", "-O3", "-lineinfo", "-Xptxas=-v"]
        try:
            return Assembled(*nvjitlink.linked(self.library, ptx, options))
        except nvjitlink.NvJitLinkError as error:
            raise AssemblyError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Ptxas:
    """NVIDIA's assembler as a command, by its file."""

    command: str

    @property
    def identity(self) -> str:
        return f"ptxas {_file_identity(Path(self.command))}"

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
            source.write_text(ptx, encoding="utf-8")
            words = [self.command, f"-arch={architecture}", "-O3", "-lineinfo", "-v", os.fspath(source)]
            try:
                ran = subprocess.run([*words, "-o", os.fspath(made)], capture_output=True, text=True, check=False)
                log = (ran.stderr + ran.stdout).strip()
                if ran.returncode:
                    raise AssemblyError(log or f"it ends with status {ran.returncode}")
                return Assembled(made.read_bytes(), log)
            except OSError as error:
                raise AssemblyError(f"it cannot be run: {error}") from None


@dataclass(frozen=True, slots=True)
class DriverAssembler:
    """The assembler in NVIDIA's driver, by the version of CUDA that it has.

    It assembles for the thread's current device, or for the first one where no device is current.
    """

    version: int

    @property
    def identity(self) -> str:
        return f"driver {self.version}"

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        with _any_context():
            return self._assemble(ptx)

    def _assemble(self, ptx: str) -> Assembled:
        api = driver()
        # Of options cuda-bindings takes buffers for text as bytes, not as addresses.
        errors, says = bytearray(MOST_LOG), bytearray(MOST_LOG)
        options = {
            api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER: errors,
            api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: MOST_LOG,
            api.CUjit_option.CU_JIT_INFO_LOG_BUFFER: says,
            api.CUjit_option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: MOST_LOG,
            api.CUjit_option.CU_JIT_LOG_VERBOSE: 1,
            api.CUjit_option.CU_JIT_GENERATE_LINE_INFO: 1,
        }
        state: Any = None
        try:
            state = call("cuLinkCreate", len(options), list(options), list(options.values()))
            data = ptx.encode() + b"\0"
            call("cuLinkAddData", state, api.CUjitInputType.CU_JIT_INPUT_PTX, data, len(data), b"kernel", 0, [], [])
            address, size = call("cuLinkComplete", state)
            return Assembled(ctypes.string_at(int(address), int(size)), _text(says))
        except CudaFault as error:
            raise AssemblyError(f"{error}; {_text(errors)}") from None
        finally:
            if state is not None:
                call("cuLinkDestroy", state)


@contextmanager
def _any_context() -> Iterator[None]:
    """A context in which the thread has a current device: remarks ask for code outside of launches."""
    try:
        pushed = not int(call("cuCtxGetCurrent"))
        if pushed:
            # It stays retained, as launches need it too.
            call("cuCtxPushCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", 0)))
    except CudaFault as error:
        raise AssemblyError(str(error)) from None
    try:
        yield
    finally:
        if pushed:
            call("cuCtxPopCurrent")


def _text(log: bytearray) -> str:
    return log.partition(b"\0")[0].decode(errors="replace")


def _file_identity(file: Path) -> str:
    """A file and what tells its version: starting it, or loading it, to ask takes far longer."""
    status = file.stat()
    return f"{file}:{status.st_size}:{status.st_mtime_ns}"
