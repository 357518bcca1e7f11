"""The files of `ptxas`, NVIDIA's assembler as a command: on the path, or in wheels that bring it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

_WHEELS = (("nvidia", ("cu*/bin/ptxas", "cuda_nvcc/bin/ptxas")), ("triton", ("backends/nvidia/bin/ptxas",)))
"""Packages that have the command, and where: `nvidia-cuda-nvcc` is in the first one."""


@lru_cache(maxsize=1)
def in_wheels() -> tuple[str, ...]:
    """The commands that wheels bring, those of the newest toolkit first."""
    return tuple(str(file) for package, patterns in _WHEELS for file in _files(package, patterns))


def _files(package: str, patterns: tuple[str, ...]) -> Iterator[Path]:
    found = find_spec(package)
    for place in () if found is None else found.submodule_search_locations or ():
        for pattern in patterns:
            yield from sorted((file for file in Path(place).glob(pattern) if os.access(file, os.X_OK)), reverse=True)


def commands(*, wheels: bool) -> Iterator[str]:
    """The command on the path, and with `wheels` those that wheels bring."""
    here = shutil.which("ptxas")
    if here is not None:
        yield here
    if wheels:
        yield from in_wheels()
