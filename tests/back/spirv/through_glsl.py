"""GLSL compiled by a glslang that is installed, and kernels that go through it (`circle`)."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from girih.back.spirv.glsl.write import write_glsl
from girih.back.spirv.machine.compile import compile_kernel, recorded_kernel
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.back.spirv.profiles.profile import Profile
from girih.front.shaders.compilers import COMPILERS, GLSL, Compiler
from girih.ir.core import Function
from girih.source import Source
from girih.spirv import Module
from tests.back.spirv.circle import CircleKernel, LoadedModule, assert_valid


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


def through_glsl(function: Function, profile: Profile, *, checks: bool = False, wide: bool = False) -> EmittedKernel:
    """A kernel whose module glslang makes, judged. Raises `CompileError` for what the profile refuses."""
    emitted = compile_kernel(function, profile, checks=checks, wide=wide)
    recorded = recorded_kernel(function, profile, checks=checks, wide=wide)
    made = replace(emitted, module=compiled(write_glsl(recorded.code, profile)), entry="main")
    assert_valid(made)
    return made


class GlslKernel(CircleKernel):
    """A kernel that goes through GLSL on its way to a module."""

    def _module(self, *, wide: bool) -> LoadedModule:
        emitted = through_glsl(self.function, self._profile, checks=self._checks, wide=wide)
        return LoadedModule(emitted, self._target, self._options)
