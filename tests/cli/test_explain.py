"""`girih explain`: every code and every instruction has an explanation; unknown ones get the nearest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from girih.commands.reference import all_codes
from girih.ir.define import OPS, RULES
from tests.cli.helpers import girih


def test_a_rule() -> None:
    done = girih("explain", "axpby.shape")
    assert done.status == 0
    for line in ("axpby.shape (error)", "  rule    shape(b) = shape(op(a))", '  source  003 "Axpby"', "  blames  a, b"):
        assert line in done.output.splitlines()


def test_an_instruction() -> None:
    lines = girih("explain", "gemv").output.splitlines()
    assert lines[0] == "gemv"
    assert '  syntax  "gemv" [".atomic"] [".n" / ".t"] %alpha "," %a "," %b "," %beta "," %c' in lines
    assert "  region  collective" in lines
    assert any(line.startswith("  c ") and line.endswith("; reads, writes") for line in lines)


@pytest.mark.parametrize("topic", ["axpby", "axpby.shape", "syntax.brace", "func", "run.out_of_bounds", "bind.type"])
def test_layout(topic: str) -> None:
    output = girih("explain", topic).output
    assert output == "\n".join(line.rstrip() for line in output.split("\n"))
    assert "\n\n\n" not in output


def test_every_topic_is_explained() -> None:
    for topic in [*RULES, *all_codes()]:
        done = girih("explain", topic)
        assert (done.status, done.errors) == (0, ""), topic
        assert done.output.startswith(topic)


def test_every_code_of_the_front_end_and_of_binding_is_known() -> None:
    assert {
        "syntax.brace",
        "name.undefined",
        "type.unknown",
        "definition.kind",
        "bind.dtype",
        "run.out_of_bounds",
    } <= set(all_codes())


def test_a_rejected_and_an_accepted_example() -> None:
    output = girih("explain", "syntax.brace").output
    assert "\nrejected\n  func @f() {\n" in output and "; error: syntax.brace" in output


def test_json() -> None:
    found = girih("explain", "axpby.shape", "--format", "json").json
    assert found["code"] == "axpby.shape" and found["rule"] == "shape(b) = shape(op(a))"
    found = girih("explain", "load", "--format", "json").json
    assert found["mnemonic"] == "load"
    assert [field["name"] for field in found["operands"]] == ["tensor", "indices", "result"]
    assert {rule["code"] for rule in found["rules"]} == {f"load.{row.id}" for row in RULES["load"]}


def test_a_family() -> None:
    lines = girih("explain", "definition").output.splitlines()
    assert len(lines) == 6 and all(line.startswith("definition.") for line in lines)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("axpby.shap", "did you mean 'axpby.shape'?"),
        ("axbpy", "did you mean 'axpby'?"),
        ("less_then", "did you mean 'less_than'?"),
        ("syntax.brase", "did you mean 'syntax.brace'?"),
        ("zzzzzz", "docs/errors.md lists all codes, docs/language.md all instructions"),
        ("gemm.qqqqqqqqqq", "its codes: gemm.region"),
    ],
)
def test_unknown_topics(topic: str, hint: str) -> None:
    done = girih("explain", topic)
    assert done.status == 2
    assert hint in done.message
    assert topic in done.message


def test_golden_pages(golden: Callable[[str, str], None]) -> None:
    assert "for" in OPS
    golden("cli_explain.txt", girih("explain", "for").output.partition("\naccepted")[0])
