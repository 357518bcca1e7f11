"""The rules of order on the page about the execution model, each with its litmus tests, which the interpreter passes.

`order/NAME.tl` is a kernel in the format of the suite of bugs: as it stands its accesses are ordered, and with one line
replaced two of them race.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import girih
from girih.diagnostics import Finding
from tests.bugs.reader import Pair, Place, read
from tests.cases import every_case
from tests.ops import vectors

FOLDER = Path(__file__).resolve().parent / "order"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "execution.md"
PAIRS = {path.stem: read(path) for path in sorted(FOLDER.glob("*.tl"))}
RACE = "run.race"


def rules() -> Iterator[tuple[str, Sequence[str]]]:
    """The rows of the tables below "Order" without their heads, each with the litmus tests that it names."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Order\n")[1].split("\n## ")[0]
    for table in re.findall(r"(?:^\|.*\n)+", section, re.M):
        for row in table.splitlines()[2:]:
            yield row, re.findall(r"\[(\w+)\]\(litmus\.md#\1\)", row)


def test_every_rule_of_the_page_has_litmus_tests_and_every_litmus_test_a_rule() -> None:
    rows = list(rules())
    assert len(rows) > 40
    assert [row for row, names in rows if not names] == []
    assert {name for _, names in rows for name in names} == set(PAIRS)


def found(pair: Pair, text: str, seed: int | None) -> Sequence[Finding]:
    """What a launch of a variant finds; the ordered one gives what the file says it gives."""
    launch = vectors.parse_vector(pair.vector)
    kernel = girih.loads(text, "interpreter", filename=f"{pair.path.stem}.tl")[launch.function]
    arguments = vectors.bind(kernel.ir, launch.arguments)
    try:
        kernel.options(choices=girih.Choices(seed))[launch.grid](*arguments)
    except girih.KernelError as error:
        return error.findings
    if text == pair.right:
        vectors.assert_results(kernel.ir, arguments, launch)
    return ()


def accesses(findings: Sequence[Finding]) -> set[Place]:
    """The places of both accesses of each race, and of other findings."""
    others = [(finding.other.span.line, finding.code) for finding in findings if finding.other is not None]
    return {(finding.span.line, finding.code) for finding in findings} | set(others)


def test_litmus_tests() -> None:
    with every_case() as case:
        for name, pair in PAIRS.items():
            with case(name):
                assert found(pair, pair.right, None) == ()
                raced = found(pair, pair.wrong, None)
                assert accesses(raced) == pair.places("finds", "other"), "\n\n".join(map(str, raced))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 11))
def test_litmus_tests_with_other_choices(seed: int) -> None:
    """In another order of execution the ordered variants have no races either, and the others those that are marked."""
    with every_case() as case:
        for name, pair in PAIRS.items():
            with case(name):
                assert found(pair, pair.right, seed) == ()
                races = [finding for finding in found(pair, pair.wrong, seed) if finding.code == RACE]
                assert races and accesses(races) <= pair.places("finds", "other")
