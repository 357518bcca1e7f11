"""`girih check --format github` and `sarif`: what other programs read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from girih.commands.parts.reference import all_codes
from girih.ops.tile import TILE_LANGUAGE
from tests.cli.helpers import AXPBY, girih, write

WRONG = """func @axpby(%alpha: f32, %A: memref<f32x4>, %B: memref<f32x5>) {
    axpby %alpha, %A, %alpha, %B
    %x = load %A[7] : f32
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sarif_of(name: str) -> tuple[int, Any]:
    done = girih("check", "--format", "sarif", name)
    return done.status, done.json


def test_github_gets_one_line_per_diagnostic(folder: Path) -> None:
    write(folder, WRONG)
    done = girih("check", "--format", "github", "kernel.tl")
    lines = done.output.splitlines()
    assert done.status == 1
    assert len(lines) == len(girih("check", "--format", "json", "kernel.tl").json)
    assert lines[0].startswith(
        "::error file=kernel.tl,line=2,endLine=2,title=axpby.shape,col=19,endColumn=20::expected: b has the shape"
    )
    assert "%0A" in lines[0]


def test_github_gets_its_special_characters_escaped(folder: Path) -> None:
    name = "odd, name: 100%.tl"
    (folder / name).write_text("func @f() { %a = add %b, %b : f32 }", encoding="utf-8")
    output = girih("check", "--format", "github", name).output
    assert "file=odd%2C name%3A 100%25.tl,line=1," in output
    assert "::%25b is not defined" in output


def test_without_errors_there_is_nothing_to_say(folder: Path) -> None:
    write(folder, AXPBY)
    assert girih("check", "--format", "github", "kernel.tl").output == ""
    status, log = sarif_of("kernel.tl")
    assert (status, log["runs"][0]["results"], log["runs"][0]["tool"]["driver"]["rules"]) == (0, [], [])


def test_the_structure_of_sarif(folder: Path) -> None:
    write(folder, WRONG)
    status, log = sarif_of("kernel.tl")
    assert status == 1
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    run = log["runs"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({result["ruleId"] for result in run["results"]})
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
        assert result["message"]["text"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            place = location["physicalLocation"]
            assert place["artifactLocation"]["uri"] == "kernel.tl"
            region = place["region"]
            assert 1 <= region["startLine"] <= region["endLine"]
            assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def test_sarif_places_a_result_where_the_text_form_does(folder: Path) -> None:
    write(folder, WRONG)
    _, log = sarif_of("kernel.tl")
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = WRONG.splitlines()[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "%A"


def test_sarif_explains_the_rules(folder: Path) -> None:
    write(folder, WRONG)
    _, log = sarif_of("kernel.tl")
    rule = next(r for r in log["runs"][0]["tool"]["driver"]["rules"] if r["id"] == "axpby.shape")
    assert rule["shortDescription"]["text"] == all_codes(TILE_LANGUAGE)["axpby.shape"].says
    assert rule["defaultConfiguration"] == {"level": "error"}
    for part in ("Rule", "As checked", "Source", "Accepted", "Rejected", '003 "Axpby"', "; error: axpby.shape"):
        assert part in rule["help"]["text"]
        assert part in rule["help"]["markdown"]


def test_sarif_names_files_by_uri(folder: Path) -> None:
    (folder / "a b.tl").write_text("func", encoding="utf-8")
    for name, wanted in (("a b.tl", "a%20b.tl"), (str(folder / "a b.tl"), (folder / "a b.tl").as_uri())):
        _, log = sarif_of(name)
        place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == wanted


def test_every_code_can_be_a_rule() -> None:
    from girih.commands.parts.exchange_formats import sarif
    from girih.diagnostics import Diagnostic
    from girih.source import NOWHERE

    codes = all_codes(TILE_LANGUAGE)
    log: Any = sarif([Diagnostic(code, "said", NOWHERE) for code in codes])
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == set(codes)
    assert all(rule["help"]["text"].startswith("Rule: ") for rule in rules)


def test_no_numpy_is_needed(folder: Path, run_command: Any) -> None:
    write(folder, WRONG)
    code = (
        "import sys; from girih.commands.check import check_files; check_files(['kernel.tl'], {}, 'sarif');"
        "print('NUMPY' if 'numpy' in sys.modules else 'NONE')"
    )
    assert run_command(sys.executable, "-c", code, cwd=folder).stdout.splitlines()[-1] == "NONE"
