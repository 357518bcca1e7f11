"""docs/coverage.md: what the table of names of the specifications says exists, and nothing is without its words."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from girih import addressing
from girih.ops.tile import TILE_LANGUAGE
from girih.specifications import SPECIFICATIONS
from tools.pages.coverage import PAGE, evidence_of, missing_names, state_of

ROOT = Path(__file__).resolve().parent.parent
NAMES = [name for specification in SPECIFICATIONS for name in specification]

LEAST = {"000": 61, "001": 87, "002": 16, "003": 227, "004": 54}
"""The rows of each specification when every name of its text had one; a name does not go from a finished text."""


def test_instructions_that_are_named_exist_or_are_settled() -> None:
    settled = (ROOT / "docs" / "design" / "additions.md").read_text(encoding="utf-8")
    missing = {op for name in NAMES for op in name.ops if op not in TILE_LANGUAGE.rules}
    assert {op for op in missing if not re.search(rf"\b{op}\b", settled)} == set()


def test_functions_that_are_named_are_public() -> None:
    for name in NAMES:
        for public in name.python:
            owner, *members = public.split(".")
            assert owner in addressing.__all__, (name.name, public)
            found = getattr(addressing, owner)
            fields = getattr(found, "__dataclass_fields__", {})
            assert all(member in fields or hasattr(found, member) for member in members), (name.name, public)


def test_a_row_has_its_words_and_stands_once() -> None:
    for name in NAMES:
        assert name.says and name.says[-1] == "." and name.kind and name.section, name.name
        assert name.ops or name.python or name.spelling or name.planned or name.because, name.name
    places = Counter((one.specification, one.section, spelling) for one in NAMES for spelling in one.names)
    assert [place for place, count in places.items() if count > 1] == []
    assert Counter(name.specification for name in NAMES) >= Counter(LEAST)


def test_what_girih_has_is_tested() -> None:
    for name in NAMES:
        tests = evidence_of(name)
        assert tests or state_of(name) != "in girih", (name.specification, name.name)
        assert all((ROOT / test).exists() for test in tests), name.name


def test_a_name_without_a_row_is_found_in_a_text() -> None:
    there = 'OpTensorViewSetClipNV, gl_MatrixUseA, .b4x16_p64, .tile::gather4; matrix-use = "matrix_a" load(x)'
    assert missing_names(there) == []
    absent = 'OpTensorViewSetRoundNV gl_MatrixUseC .b5x16 .tile::gather5\nmatrix-scope = "matrix_d" viewToLinear(t)'
    expected = "OpTensorViewSetRoundNV gl_MatrixUseC .b5x16 .tile::gather5 matrix-scope matrix_d viewToLinear"
    assert missing_names(absent) == sorted(expected.split())


def test_every_instruction_of_a_specification_is_in_the_table() -> None:
    named = {op for name in NAMES for op in name.ops}
    own = {op for op, declared in TILE_LANGUAGE.ops.items() if re.match(r"00[0-4] ", declared.spec.section)}
    assert own and own - named == set()


def test_the_page_has_every_name_and_every_instruction() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    for specification in SPECIFICATIONS:
        text = page.split(f"\n## {specification.number} ")[1].split("\n## ")[0]
        for section in specification.sections:
            assert f"\n### {section.title}\n" in text
            part = text.split(f"\n### {section.title}\n")[1].split("\n### ")[0]
            assert all(f"`{spelling}`" in part for name in section.names for spelling in name.names)
    assert all(f'<a id="op-{op}"></a>' in page for op in TILE_LANGUAGE.rules)
