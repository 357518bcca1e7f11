"""The machine code of a kernel as text, by a disassembler of NVIDIA's, whichever is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.diagnostics import CompileError, Diagnostic
from girih.runtime.cuda.code.assembler import NO_ASSEMBLER, assemblers
from girih.runtime.cuda.code.kept import machine_code
from girih.source import Span

COMMANDS = {"nvdisasm": ("--print-code", "--print-line-info"), "cuobjdump": ("--dump-sass",)}
"""The disassemblers by name, the preferred one first, and the options with which they show code."""

NO_DISASSEMBLER = (
    "install one with `pip install nvidia-cuda-nvdisasm`, or put `nvdisasm` or `cuobjdump` of NVIDIA's toolkit on the "
    "path"
)


def can_show() -> bool:
    """Whether there is an assembler, and a disassembler."""
    return next(assemblers(), None) is not None and next(_disassemblers(), None) is not None


def sass_of(kernel: PtxKernel, span: Span) -> str:
    """The machine code of a kernel as text. Raises `CompileError` where no assembler or disassembler is there."""
    code = machine_code(kernel)
    if code is None:
        raise _missing("no assembler is there that makes machine code of PTX", NO_ASSEMBLER, span)
    command = next(_disassemblers(), None)
    if command is None:
        raise _missing("no disassembler is there that shows machine code", NO_DISASSEMBLER, span)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{kernel.entry}.cubin"
        file.write_bytes(code.cubin)
        ran = subprocess.run([*command, os.fspath(file)], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise _missing(f"{command[0]} does not show the code: {ran.stderr.strip()[:500]}", NO_DISASSEMBLER, span)
    return ran.stdout


def _disassemblers() -> Iterator[list[str]]:
    """The disassemblers on the path and in wheels, with their options."""
    found = find_spec("nvidia")
    places = () if found is None else tuple(found.submodule_search_locations or ())
    for name, options in COMMANDS.items():
        file = shutil.which(name)
        files = [file] if file else [os.fspath(one) for place in places for one in Path(place).glob(f"cu*/bin/{name}")]
        yield from ([one, *options] for one in files)


def _missing(message: str, hint: str, span: Span) -> CompileError:
    return CompileError([Diagnostic("run.emit", message, span, hint=hint)])
