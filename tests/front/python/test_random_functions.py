"""Whatever function of Python it is: a module that the checker takes, or diagnostics at places in it; nothing else."""

from __future__ import annotations

import pytest

from girih.diagnostics import CompileError
from girih.front.python.codes import PYTHON_CODES
from girih.front.python.facts import ArrayFacts, ConstantFacts, GroupFacts, ScalarFacts, Specialisation
from girih.front.python.translate import read, translate
from girih.ir.check import check_module
from girih.program import check
from tests.front.python.random_functions import Functions, function_of

VECTOR = ArrayFacts("f32", (None,), (1,), (0,))
KNOWN = Specialisation((
    ("X", ArrayFacts("f32", (None, 64), (None, 1), (1, 0))), ("Y", VECTOR), ("A", GroupFacts(VECTOR)),
    ("n", ScalarFacts("index")), ("x", ScalarFacts("f32")), ("size", ConstantFacts(8)),
))  # fmt: skip


def judged(seed: int) -> bool:
    """Whether a random function is a kernel; a failure says the seed."""
    text = Functions(seed).text()
    kernel = read(function_of(text, f"<random {seed}>"))
    try:
        module = translate(kernel, KNOWN)
    except CompileError as error:
        assert error.diagnostics
        for found in error.diagnostics:
            assert found.code in PYTHON_CODES, (seed, found)
            assert found.span.source.text == text, (seed, found)
            assert found.render()
        return False
    problems = check_module(module)
    assert all(p.span.source.text == text for p in problems), (seed, problems)
    if not problems:
        assert [d for d in check(str(module)) if d.severity == "error"] == [], (seed, text)
    return True


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.long)])
def test_random_functions(first: int) -> None:
    count = 300 if first == 0 else 6000
    kernels = sum(judged(seed) for seed in range(first, first + count))
    assert kernels > count // 200
