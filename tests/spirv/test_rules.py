"""Every rule of SPIR-V has an accepted and a rejected text, and spirv-val judges both as it should."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from girih.diagnostics import Diagnostic
from girih.spirv import Module, validate
from girih.spirv.examples import Example, examples_in
from girih.spirv.grammar import grammar
from girih.spirv.rules.book import families, rows
from girih.spirv.rules.row import INSTRUCTION, SpirvRow
from tests.cases import every_case
from tests.spirv import peer

TEXTS = Path(__file__).parent / "rules"
CHAPTERS = sorted(path.relative_to(TEXTS).as_posix() for path in TEXTS.rglob("*.spvasm"))


@cache
def examples(chapter: str) -> tuple[Example, ...]:
    return tuple(examples_in((TEXTS / chapter).read_text(encoding="utf-8")))


def row_of(code: str) -> SpirvRow:
    """The row of a code; of a rule that every instruction has, whichever instruction the code names."""
    owner, _, id = code.partition(".")
    if owner in grammar().codes:
        owner = grammar().named(owner).name
    listed = (*rows().get(owner, ()), *rows()[INSTRUCTION])
    return next(row for row in listed if row.id == id)


def all_rows() -> Iterator[tuple[str, SpirvRow]]:
    for one in families():
        yield from ((f"{one.opcodes[0]}.{row.id}", row) for row in one.rows)


def test_every_row_has_an_example() -> None:
    shown = {row_of(one.code) for chapter in CHAPTERS for one in examples(chapter)}
    assert [code for code, row in all_rows() if row not in shown] == []


def test_an_instruction_has_each_rule_once() -> None:
    everywhere = {row.id for row in rows()[INSTRUCTION]}
    with every_case() as case:
        for owner, listed in rows().items():
            with case(owner):
                ids = [row.id for row in listed]
                assert sorted(ids) == sorted(set(ids))
                assert owner == INSTRUCTION or everywhere.isdisjoint(ids)


def codes(found: list[Diagnostic]) -> set[str]:
    return {one.code for one in found}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_accepted_text_is_right_and_the_rejected_one_breaks_its_rule(chapter: str) -> None:
    with every_case() as case:
        for one in examples(chapter):
            with case(f"{chapter}:{one.line}: {one.code}"):
                accepted, verdict = judged(one.module(one.accepted), one.environment, one.layout)
                assert accepted == []
                expected = {f"spirv.{code}" for code in (one.code, *one.also)}
                rejected, peers = judged(one.module(one.rejected), one.environment, one.layout)
                assert codes(rejected) == expected
                agrees(one, verdict, peers)


@cache
def judged(text: str, environment: str, layout: str) -> tuple[list[Diagnostic], tuple[bool, str]]:
    """The diagnostics of a text, and spirv-val's verdict; many examples share their accepted text."""
    module = Module.from_text(text, "example")
    options = {"scalar": ["scalar-block-layout"], "relaxed": ["relax-block-layout"]}.get(layout, [])
    verdict = peer.validate(module.to_bytes(), environment.replace("universal", "spv"), options)
    return validate(module, environment, block_layout=layout), verdict


def agrees(one: Example, accepted: tuple[bool, str], rejected: tuple[bool, str]) -> None:
    """Hold that spirv-val has the same verdict on both texts, or that the row says why not."""
    row = row_of(one.code)
    (right, message), (wrong, _) = accepted, rejected
    if row.beyond is None and row.severity == "error":
        assert right, f"spirv-val rejects the accepted text: {message}"
        assert not wrong, "spirv-val accepts the rejected text, and the row does not say why"
    elif row.beyond is not None:
        assert wrong or not right, "spirv-val judges both texts as we do: the row needs no `beyond`"
