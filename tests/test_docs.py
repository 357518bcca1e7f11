"""The generated pages and examples that are committed are those that today's tables give."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

from girih import check
from girih.back.llvm.cpu.matrix.states import Matrix
from girih.back.llvm.cpu.table import CPU
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.commands.parts.reference import all_codes, group_of
from girih.commands.parts.spirv_codes import title
from girih.interpreter.machine.machine import MEANINGS
from girih.kernels.table import TABLE
from girih.ops.tile import TILE_LANGUAGE
from girih.spirv.rules.book import chapters

ROOT = Path(__file__).resolve().parent.parent
Command = Callable[..., "subprocess.CompletedProcess[str]"]
STALE = "is out of date; run `make generate`"


def tool(name: str, function: str) -> Callable[..., object]:
    return cast("Callable[..., object]", runpy.run_path(str(ROOT / "tools" / name))[function])


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return cast("Mapping[str, str]", tool("generate_docs.py", "pages")())


def test_the_generated_pages_are_up_to_date(pages: Mapping[str, str]) -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "language").iterdir()}
    assert there == {name for name in pages if name.startswith("docs/language/")}
    stale = [name for name, text in pages.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert stale == [], STALE


@pytest.mark.long
def test_the_examples_are_up_to_date() -> None:
    path = ROOT / "girih" / "data" / "examples.json"
    assert path.read_text(encoding="utf-8") == tool("generate_examples.py", "collect")(), f"{path} {STALE}"


def test_the_tables_of_spirv_are_up_to_date() -> None:
    data = ROOT / "girih" / "data"
    table, notice = cast("tuple[str, str]", tool("generate_spirv_grammar.py", "generated")())
    wanted = {"spirv_grammar.json": table, "spirv_grammar.LICENSE": notice}
    wanted["spirv_examples.json"] = cast("str", tool("generate_spirv_examples.py", "generated")())
    stale = [name for name, text in wanted.items() if (data / name).read_text(encoding="utf-8") != text]
    assert stale == [], STALE


def test_the_pages_of_spirv_have_every_rule(pages: Mapping[str, str]) -> None:
    listed = pages["docs/spirv/rules.md"]
    assert [title(name) for name in chapters() if f"\n## {title(name)}\n" not in listed] == []
    families = [family for of_chapter in chapters().values() for family in of_chapter]
    assert [row.id for family in families for row in family.rows if f"\n| `{row.id}` | {row.says}" not in listed] == []
    peer = pages["docs/spirv/spirv-val.md"]
    assert [f.opcodes[0] for f in families for row in f.rows if row.beyond and f".{row.id}` |" not in peer] == []


def test_a_page_of_a_kernel_shows_its_text_its_picture_and_its_figures(pages: Mapping[str, str]) -> None:
    drawn = cast("Mapping[str, object]", runpy.run_path(str(ROOT / "tools" / "kernel_pictures.py"))["PICTURES"])
    measured = tool("pages/kernels.py", "measured")
    for name in TABLE:
        page = pages[f"docs/kernels/{name}.md"]
        text = (ROOT / "girih" / "kernels" / f"{name}.tl").read_text(encoding="utf-8")
        assert f"```tl\n{text}```\n\n</details>" in page, name
        assert (f"(../pictures/kernels/{name}.svg)" in page) == (name in drawn), name
        tables = list(cast("Iterable[object]", measured(name)))
        assert page.count("| sizes | time |") == len(tables) > 0, name


def test_every_code_and_every_instruction_has_its_place(pages: Mapping[str, str]) -> None:
    assert [
        code for code in all_codes(TILE_LANGUAGE) if f'<a id="{code}"></a>[`{code}`](' not in pages["docs/errors.md"]
    ] == []
    wanted = {mnemonic: f"docs/language/{group_of(TILE_LANGUAGE, mnemonic)}.md" for mnemonic in TILE_LANGUAGE.ops}
    assert [mnemonic for mnemonic, page in wanted.items() if f"\n## {mnemonic}\n" not in pages[page]] == []
    index = pages["docs/language/index.md"]
    listed = [f"]({page.removeprefix('docs/language/')}#{mnemonic})" for mnemonic, page in wanted.items()]
    assert [link for link in listed if link not in index] == []


def test_a_code_leads_to_its_rule(pages: Mapping[str, str]) -> None:
    rules = [f"{mnemonic}.{row.id}" for mnemonic, rows in TILE_LANGUAGE.rules.items() for row in rows]
    led = dict(re.findall(r"<a id=\"([\w.]+)\"></a>\[`\1`\]\((language/\w+\.md)#\1\)", pages["docs/errors.md"]))
    lost = [rule for rule in rules if f'<a id="{rule}"></a>`{rule.split(".")[1]}`' not in pages[f"docs/{led[rule]}"]]
    assert rules and lost == []


@pytest.mark.parametrize("mnemonic", TILE_LANGUAGE.ops)
def test_every_instruction_has_a_meaning_and_an_example_that_the_tests_run(
    mnemonic: str, pages: Mapping[str, str]
) -> None:
    page = pages[f"docs/language/{group_of(TILE_LANGUAGE, mnemonic)}.md"]
    section = page.split(f"\n## {mnemonic}\n")[1].split("\n## ")[0]
    assert TILE_LANGUAGE.ops[mnemonic].spec.doc.splitlines()[0] in section
    example = section.split("**Example**")[1].split("```")[1]
    vector = next(line for line in example.splitlines() if line.startswith("; run: "))
    run = (ROOT / "tests" / "ops" / mnemonic / "run.tl").read_text(encoding="utf-8")
    assert vector in run
    assert example.split(vector)[1].strip().split("(")[0] in run


def test_formulas_are_of_instructions() -> None:
    formulas = runpy.run_path(str(ROOT / "tools" / "formulas.py"))["FORMULAS"]
    assert set(formulas) <= set(TILE_LANGUAGE.ops)


def test_the_pictures_are_up_to_date() -> None:
    drawn = cast("Mapping[str, str]", tool("draw_pictures.py", "pictures")())
    for name, text in drawn.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} {STALE}"
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "pictures").rglob("*.svg")}
    assert there <= set(drawn), "a picture that nothing draws"


COLUMN = 736
"""The width of a page's column of text, in pixels."""


def test_pictures_can_be_read_in_the_column_of_a_page_and_on_dark_pages() -> None:
    for path in (ROOT / "docs" / "pictures").rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        sizes = [float(size) for size in re.findall(r"(?:font-size[:=]\"?|font:)([\d.]+)", text)]
        width = re.search(r'<svg [^>]*width="([\d.]+)"', text)
        assert width, path
        assert min(sizes) * min(1, COLUMN / float(width[1])) >= 10, f"{path}: words of less than 10 pixels"
        assert "@media (prefers-color-scheme:dark)" in text, path


def test_a_picture_on_a_page_leads_to_itself_in_full_size() -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
    shown = [(path, found) for path, text in pages.items() for found in re.findall(r"\[?!\[[^\]]*\]\([^)]*\)\S*", text)]
    bare = [f"{path}: {found}" for path, found in shown if not re.fullmatch(r"\[!\[.*\]\((.*)\)\]\(\1\)", found)]
    assert shown and bare == []


def test_the_picture_of_a_matrix_shows_all_of_its_states() -> None:
    drawn: Sequence[tuple[str, ...]] = runpy.run_path(str(ROOT / "tools" / "draw_pictures.py"))["MATRIX_STATES"]
    assert {state.__name__ for state in Matrix.__subclasses__()} == {name for name, *_ in drawn}


def test_every_function_of_the_launcher_is_explained() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "girih" / "runtime" / "cpu").glob("*.ll")]
    functions = {name for text in texts for name in re.findall(r"^define [^@]*@(\w+)\(", text, re.MULTILINE)}
    page = (ROOT / "docs" / "design" / "launching.md").read_text(encoding="utf-8")
    assert sorted(name for name in functions if f"`{name}`" not in page) == []


PATH = re.compile(r"\b(?:girih|tests|tools|benchmarks|docs)/[\w/.-]*\.(?:py|ll|tl|json|md|svg)\b")
"""A file of the repository, named with its folders; words in capitals stand for any name."""

QUOTED = re.compile(r"`([\w/-]*\w\.(?:py|ll)|(?:girih|tests)/[\w/]*)`")
"""A file that may be named without its first folders, or a folder."""


PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")
"""What stands for any name in a path, as in tests/ops/MNEMONIC/ok.tl."""


def repository() -> list[Path]:
    """The files that people write."""
    folders = ("girih", "tests", "tools", "benchmarks", "examples", "docs", "changelog.d")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return [path for path in [*found, *ROOT.glob("*.md")] if path.is_file()]


def test_files_that_are_named_exist() -> None:
    texts = [path for path in repository() if path.suffix in (".py", ".ll", ".tl", ".md")]
    missing = [
        f"{text.relative_to(ROOT)}: {name}"
        for text in texts
        for name in PATH.findall(text.read_text(encoding="utf-8"))
        if not PLACEHOLDER.search(name) and not (ROOT / name).exists()
    ]
    assert missing == []


def test_files_and_folders_that_the_design_pages_quote_exist() -> None:
    known = [f"/{path.relative_to(ROOT)}" for path in repository()]
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in [*(ROOT / "docs" / "design").glob("*.md"), ROOT / "CONTRIBUTING.md"]
        for name in QUOTED.findall(page.read_text(encoding="utf-8"))
        if not PLACEHOLDER.search(name)
        and not any(path.endswith(f"/{name}") or f"/{name.rstrip('/')}/" in path for path in known)
    ]
    assert missing == []


def test_contributors_are_told_what_every_room_is_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "girih").glob("*/*") if path.parent.name != "__pycache__"}
    assert sorted(room for room in rooms if f"`girih/{room}" not in page) == []


def test_the_page_on_instructions_says_where_each_one_stands() -> None:
    import_module("girih.interpreter.run")  # this fills the registry
    page = (ROOT / "docs" / "design" / "instruction.md").read_text(encoding="utf-8")
    told = [re.findall(r"`([\w/]+)\.py`", line) for line in page.splitlines() if line.startswith("| `")]
    rooms: dict[str, set[str]] = {row[0]: set(row[1:]) for row in told}
    wanted: dict[str, set[str]] = {}
    for op in TILE_LANGUAGE.ops.values():
        lowered = [*CPU.rules(op), *ONE_LANE.rules(op)]
        modules = [rule.__module__.removeprefix("girih.back.llvm.").replace(".", "/") for rule in lowered]
        meant = MEANINGS[op].__module__.rpartition(".")[2]
        wanted.setdefault(op.__module__.rpartition(".")[2], set()).update([meant, *modules])
    assert rooms == wanted


def test_examples_are_what_they_say() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    refused = [name for name, text in known["accepted"].items() if any(d.severity == "error" for d in check(text))]
    assert refused == []
    read = {code: text for code, text in known["rejected"].items() if not code.startswith("run.")}
    wrong = [code for code, text in read.items() if code not in {d.code for d in check(text)}]
    assert wrong == []


def test_what_is_found_in_shaders_has_a_shader() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))["shader"]
    assert known == tool("generate_examples.py", "found_in_shaders")(), STALE
    assert {"run.address", "run.undef", "run.undefined_operation", "run.uninitialized"} <= set(known)
    for code, text in known.items():
        assert f"// finds {code}" in text and "FAULT" not in text


def test_every_rule_has_its_examples() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    rules = {f"{mnemonic}.{row.id}" for mnemonic, rows in TILE_LANGUAGE.rules.items() for row in rows}
    assert sorted(set(TILE_LANGUAGE.rules) - set(known["accepted"])) == []
    assert sorted(rules - set(known["rejected"])) == []


def test_the_examples_name_only_what_exists() -> None:
    known = json.loads((ROOT / "girih" / "data" / "examples.json").read_text(encoding="utf-8"))
    assert set(known["accepted"]) <= set(TILE_LANGUAGE.rules)
    assert set(known["rejected"]) <= set(all_codes(TILE_LANGUAGE))
