"""The words of findings have one author: no executor has any of its own, and all executors say the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import girih
from girih.facts import accumulators, findings
from girih.facts.findings import RUN_CODES, FindingWords
from girih.ir.types import BF16, C64, F16, F32, F64, I8, I32, Number
from tests.interpreter.launching import findings as found_by
from tests.interpreter.test_findings import CASES

ROOT = Path(__file__).resolve().parents[2] / "girih"
EXECUTORS = sorted([*(ROOT / "interpreter").rglob("*.py"), *(ROOT / "back").rglob("*.py")])

ONLY_INTERPRETED = {"run.uninitialized", "run.lifetime"}
"""What compiled code does not look for."""


COMPILED = sorted(
    name for name, case in CASES.items()
    if case.code not in ONLY_INTERPRETED and name != "several components at one place"
)  # fmt: skip


def said_in(path: Path) -> list[str]:
    """The codes of findings that stand in a file."""
    texts = (
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    )
    return [text for text in texts if isinstance(text, str) and text.startswith("run.")]


def test_no_executor_has_words_of_its_own() -> None:
    assert {path.name: said_in(path) for path in EXECUTORS if said_in(path)} == {}
    assert set(said_in(ROOT / "facts" / "findings.py")) == set(RUN_CODES)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_says_what_the_interpreter_says(name: str) -> None:
    case = CASES[name]
    first = found_by(case.kernel(), *case.arguments(), grid=case.grid)[0]
    compiled = girih.loads(first.span.source.text, target="cpu")["f"]
    (found,) = found_by(compiled, *case.arguments(), grid=case.grid)
    assert (found.code, found.argument, found.span.line) == (first.code, first.argument, first.span.line)
    assert found.hint == first.hint
    if case.code == "run.size":
        # Where it names all operands and their shapes, compiled code knows those that differ.
        assert (first.message, found.message) == (
            "`axpby`: op(a) and b differ in shape, 4 and 5; %A is 4, %B is 5",
            "`axpby`: op(a) and b differ in shape: (4) and (5)",
        )
    else:
        assert found.message == first.message


def test_the_place_of_a_finding_in_words() -> None:
    assert FindingWords("run.null", "what").at((1, 2), (3,)) == "what: index (1, 2) of shape (3)"
    assert findings.wrong_sizes(0, "A").at((3, 4), (16,)).endswith("mode 0 of %A: 3 x 4 = 12, where the mode has 16")
    assert findings.stride_too_large("what", 0, 2, "mend it", "001").at((65536, 65537), (2**32 + 65536,)) == (
        "what: stride[0] would be 65536 * 65537 = 4295032832, over 2^32-1 = 4294967295; mend it [001]"
    )


@pytest.mark.parametrize(
    ("c", "result", "sums"),
    [(F16, F16, F32), (BF16, F32, F32), (F32, F64, F64), (F64, F32, F64), (I8, I32, I32), (F32, C64, F32)],
    ids=str,
)
def test_the_type_of_the_sums_of_a_product(c: Number, result: Number, sums: Number) -> None:
    assert accumulators.product_accumulator(c, result) == sums
