"""Emitted modules, executed by girih's own translator on the interpreter: the way back of what was emitted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import girih
from girih.arguments.arrays import accept, specifications
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.diagnostics import render_all
from girih.runtime.emitted.members import member_block
from girih.spirv.judge.validate import validate
from tests.spirv import peer


def assert_valid(emitted: EmittedKernel) -> None:
    """Judge a module by girih's rules, and by those of spirv-val where its wheel is installed."""
    wrong = [told for told in validate(emitted.module) if told.severity == "error"]
    assert not wrong, render_all(wrong)
    try:
        accepted, message = peer.validate(emitted.module.to_bytes(), "vulkan1.3")
    except ImportError:
        return
    assert accepted, message


def run_back(emitted: EmittedKernel, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
    """Launch an emitted kernel as a shader; arrays are in Fortran order, and get what the shader wrote."""
    taken = accept(specifications(emitted.function), arguments)
    text = emitted.module.to_text()
    used = set(map(int, re.findall(r" Binding (\d+)", text)))
    bindings: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
    for one in emitted.bindings:
        if one.kind != "memref" or one.parameter is None:
            pytest.skip(f"a binding of kind {one.kind} is not launched here")
        if one.binding in used:
            bindings[0, one.binding] = np.asarray(arguments[one.parameter]).reshape(-1, order="F").copy()
    members = member_block(emitted, taken) if "PushConstant" in text else None
    shader = girih.loads(emitted.module.to_bytes(), target="interpreter")[emitted.entry]
    choices = girih.Choices(subgroup_size=emitted.subgroup_size)
    shader[grid].options(choices=choices)(bindings, push_constants=members)
    for one in emitted.bindings:
        held = bindings.get((0, one.binding))
        if held is not None and one.parameter is not None:
            target = arguments[one.parameter]
            target[...] = held.reshape(target.shape, order="F")
