"""PTX as machine code: by nvJitLink where its wheel is there, else by `ptxas` on the path, else by the driver."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from girih.diagnostics import InternalError
from girih.runtime.cuda.driver import CudaFault, call, driver


def assemble(ptx: str, architecture: str) -> bytes:
    """The machine code of a module. Raises `InternalError` where the assembler refuses it."""
    ptxas = shutil.which("ptxas")
    if ptxas is not None:
        return _by_ptxas(ptxas, ptx, architecture)
    return _by_driver(ptx)


@lru_cache(maxsize=1)
def identity() -> str:
    """The assembler and its version, which the key of kept code needs."""
    ptxas = shutil.which("ptxas")
    if ptxas is not None:
        return subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    return f"driver {call('cuDriverGetVersion')}"


def _by_ptxas(ptxas: str, ptx: str, architecture: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx, encoding="utf-8")
        words = [ptxas, f"-arch={architecture}", "-O3", "-lineinfo", os.fspath(source), "-o", os.fspath(made)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise InternalError(f"ptxas refuses the code: {ran.stderr.strip()[:500]}")
        return made.read_bytes()


def _by_driver(ptx: str) -> bytes:
    api = driver()
    room = ctypes.create_string_buffer(8192)
    options = [api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    values: list[Any] = [ctypes.addressof(room), len(room)]
    state = call("cuLinkCreate", len(options), options, values)
    try:
        data = ptx.encode() + b"\0"
        call("cuLinkAddData", state, api.CUjitInputType.CU_JIT_INPUT_PTX, data, len(data), b"kernel", 0, [], [])
        address, size = call("cuLinkComplete", state)
        return ctypes.string_at(int(address), int(size))
    except CudaFault as error:
        raise InternalError(f"the driver refuses the code: {error}; {room.value.decode()[:500]}") from None
    finally:
        call("cuLinkDestroy", state)
