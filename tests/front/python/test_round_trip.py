"""Programs of the tensor language, printed as kernels in Python and translated back, are the same programs.

Every instruction, with its modifiers, and every type has a Python spelling: `tests/front/python/printer.py` writes it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import girih
from girih.front.python.translate import read, translate
from girih.ir.core import Function, Op, Region
from girih.ops.tile import TILE_LANGUAGE
from tests.cases import every_case, long
from tests.front.python.alike import alike
from tests.front.python.printer import WRITERS, Kernel, python_of
from tests.fuzz.programs import program

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def loaded(kernel: Kernel) -> Callable[..., object]:
    """The function of a kernel's text, which can be read back."""
    name = f"<{kernel.name}>"
    linecache.cache[name] = (len(kernel.text), None, kernel.text.splitlines(keepends=True), name)
    space: dict[str, Callable[..., object]] = {}
    exec(compile(kernel.text, name, "exec"), space)
    return space[kernel.name]


def holds(functions: Iterable[Function]) -> None:
    """Each function is the same when it has been through Python."""
    with every_case() as case:
        for function in functions:
            with case(function.name):
                kernel = python_of(function)
                module = translate(read(loaded(kernel)), kernel.specialisation)
                assert alike(module.functions[0]) == alike(function), kernel.text


@cache
def functions_of(mnemonic: str) -> tuple[Function, ...]:
    """The functions that the run vectors of an instruction run."""
    text = (ROOT / "tests" / "ops" / mnemonic / "run.tl").read_text(encoding="utf-8")
    return girih.parse(text).functions


def with_instruction(mnemonic: str) -> Function:
    """A function with an instruction."""
    return next(f for f in functions_of(mnemonic) if any(op.spec.mnemonic == mnemonic for op in f.walk()))


def test_every_instruction_is_spelled() -> None:
    assert set(WRITERS) == set(TILE_LANGUAGE.ops)
    holds(map(with_instruction, TILE_LANGUAGE.ops))


def test_every_modifier_is_spelled() -> None:
    """Each value of each modifier stands in a function that is the same when it has been through Python."""
    chosen: dict[Function, None] = {}
    for mnemonic, declared in TILE_LANGUAGE.ops.items():
        for role in declared.spec.modifiers:
            for value in dict.fromkeys(role.choices.values()):
                chosen[_with_modifier(mnemonic, role.name, value)] = None
    holds(chosen)


def _with_modifier(mnemonic: str, name: str, value: object) -> Function:
    """A function with an instruction that has a modifier: one that is run, or one that is changed for it."""
    ops = [(f, op) for f in functions_of(mnemonic) for op in f.walk() if op.spec.mnemonic == mnemonic]
    for function, op in ops:
        if getattr(op, name) == value:
            return function
    function, op = ops[0]
    changed: dict[str, Any] = {name: value}
    return replace(function, body=_with(function.body, op, replace(op, **changed)))


def _with(region: Region, old: Op, new: Op) -> Region:
    """A region with another instruction in place of one."""
    return replace(region, ops=tuple(new if op is old else _inside(op, old, new) for op in region.ops))


def _inside(op: Op, old: Op, new: Op) -> Op:
    held = {role.name: getattr(op, role.name) for role in op.spec.regions}
    regions: dict[str, Any] = {name: _with(region, old, new) for name, region in held.items() if region is not None}
    return replace(op, **regions) if regions else op


@pytest.mark.parametrize("mnemonic", long(TILE_LANGUAGE.ops))
def test_every_run_vector_goes_through_python(mnemonic: str) -> None:
    holds(functions_of(mnemonic))


@pytest.mark.parametrize("path", long(sorted((ROOT / "girih" / "kernels").glob("*.tl"))), ids=lambda path: path.stem)
def test_the_library_goes_through_python(path: Path) -> None:
    holds(girih.parse(path.read_text(encoding="utf-8")).functions)


@pytest.mark.parametrize("block", [0, *long(range(1, 20))])
def test_random_programs_go_through_python(block: int) -> None:
    holds(function for seed in range(12 * block, 12 * (block + 1)) for function in program(seed).module.functions)
