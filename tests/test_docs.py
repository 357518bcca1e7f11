"""The generated pages and examples that are committed are those that today's tables give."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from girih import check
from girih.commands.reference import GROUPS, all_codes, group_of
from girih.ir.define import OPS, RULES

ROOT = Path(__file__).resolve().parent.parent
STALE = "is out of date; run `make docs`"


def tool(name: str, function: str) -> Callable[..., object]:
    return cast("Callable[..., object]", runpy.run_path(str(ROOT / "tools" / name))[function])


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return cast("Mapping[str, str]", tool("generate_docs.py", "pages")())


@pytest.mark.parametrize("name", ["docs/errors.md", "docs/language.md"])
def test_a_page_is_up_to_date(name: str, pages: Mapping[str, str]) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages[name], f"{name} {STALE}"


def test_the_examples_are_up_to_date() -> None:
    path = ROOT / "girih" / "data" / "examples.json"
    assert path.read_text(encoding="utf-8") == tool("generate_examples.py", "collect")(), f"{path} {STALE}"


def test_every_code_and_every_instruction_has_its_place(pages: Mapping[str, str]) -> None:
    assert [code for code in all_codes() if f"| `{code}` |" not in pages["docs/errors.md"]] == []
    assert [mnemonic for mnemonic in OPS if f"\n### {mnemonic}\n" not in pages["docs/language.md"]] == []
    assert {group_of(mnemonic) for mnemonic in OPS} <= set(GROUPS)


def test_examples_are_what_they_say() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    refused = [name for name, text in known["accepted"].items() if any(d.severity == "error" for d in check(text))]
    assert refused == []
    read = {code: text for code, text in known["rejected"].items() if not code.startswith("run.")}
    wrong = [code for code, text in read.items() if code not in {d.code for d in check(text)}]
    assert wrong == []


def test_every_rule_has_its_examples() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    rules = {f"{mnemonic}.{row.id}" for mnemonic, rows in RULES.items() for row in rows}
    assert sorted(set(RULES) - set(known["accepted"])) == []
    assert sorted(rules - set(known["rejected"])) == []


def test_the_examples_name_only_what_exists() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    assert set(known["accepted"]) <= set(RULES)
    assert set(known["rejected"]) <= set(all_codes())
