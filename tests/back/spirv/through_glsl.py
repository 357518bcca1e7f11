"""GLSL compiled by a glslang that is installed."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from girih.front.shaders.compilers import COMPILERS, GLSL, Compiler
from girih.source import Source
from girih.spirv import Module


@cache
def compiler() -> Compiler | None:
    """The first compiler of GLSL that is here."""
    return next((one for one in COMPILERS if one.endings == GLSL and one.is_here()), None)


def compiled(text: str) -> Module:
    """The module of a shader. Skips the test where nothing compiles GLSL; fails where the text is refused."""
    found = compiler()
    if found is None:
        pytest.skip("no glslang is installed")
    with tempfile.TemporaryDirectory(prefix="girih-") as folder:
        path = Path(folder) / "kernel.comp"
        path.write_text(text, encoding="utf-8")
        made = found.compile(Source(text, os.fspath(path)))
    assert made.data is not None, f"{made.messages}\n{text}"
    return Module.from_bytes(made.data)
