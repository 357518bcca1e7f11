"""What `make docs` makes of the pages: navigation, colours, captions, changes, docstrings, and what is copied.

The site itself is built after the tests, where every warning is an error (.ci/run).
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from pygments.style import Style
from pygments.token import Token

from docs._ext.colours import Dark, Light
from docs._ext.docstrings import restructured
from docs._ext.pages import KINDS, navigation_below, pages_in_order, prepared, released, short_title, unreleased
from girih.highlighting.lexer import GirihLexer
from tests.test_readme import Block, blocks_of, commands_of

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CONF: dict[str, Any] = runpy.run_path(str(DOCS / "conf.py"))
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
BLOCKS = [block for path in PAGES.values() for block in blocks_of(path.read_text(encoding="utf-8"))]


def below(page: str) -> list[str]:
    """The pages that the navigation has below a page, with those below them."""
    folder = (DOCS / page).parent.relative_to(DOCS)
    names = [name for _, names in navigation_below(page, CONF["girih_navigation"]) for name in names]
    found = [(folder / name).as_posix() for name in names]
    return [page for name in found for page in (name, *below(name))]


def test_the_navigation_names_every_page_once() -> None:
    assert sorted(below("index")) == sorted(PAGES.keys() - {"index"})


def test_pages_come_in_the_order_of_their_index(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n", encoding="utf-8")
    (tmp_path / "index.md").write_text("[d](d.md), [b](b.md#x), [d](d.md)\n", encoding="utf-8")
    assert [path.stem for path in pages_in_order(tmp_path)] == ["d", "b", "a", "c"]


def test_the_navigation_shows_titles_up_to_the_colon(tmp_path: Path) -> None:
    page = tmp_path / "gemm.md"
    page.write_text("<!-- Written. -->\n\n# `gemm`: the product of matrices\n", encoding="utf-8")
    assert short_title(page) == "gemm"


def test_the_language_has_colours() -> None:
    shown = list(GirihLexer().get_tokens("gemm.n.t %a, %A ; text\n"))
    assert (Token.Name.Builtin, "gemm") in shown
    assert (Token.Name.Variable, "%A") in shown
    assert (Token.Comment.Single, "; text") in shown


def test_every_part_of_the_programs_in_the_pages_has_a_colour() -> None:
    lines = {line for block in BLOCKS if block.language == "tl" for line in block.body.splitlines()}
    assert {text for kind, text in GirihLexer().get_tokens("\n".join(lines)) if kind is Token.Text} == set()


def luminance(colour: str) -> float:
    """How light a colour `#rrggbb` is, from 0 to 1, as WCAG 2 defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", [Light, Dark])
def test_every_colour_of_code_can_be_read(style: type[Style]) -> None:
    ground = luminance(style.background_color)
    for colour in {value.split()[-1] for value in style.styles.values() if value}:
        darker, lighter = sorted((ground, luminance(colour)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, colour


def test_the_name_of_a_file_stands_above_it() -> None:
    shown = prepared("start", "```text a.tl\nfunc @f() {}\n```\n```text dump.cu\nx\n```\n```text\ny\n```\n", {})
    assert shown.splitlines() == [
        "```{code-block} tl", ":caption: a.tl", "", "func @f() {}", "```",
        "```{code-block} text", ":caption: dump.cu", "", "x", "```",
        "```text", "y", "```",
    ]  # fmt: skip


def test_every_fragment_is_shown_below_its_kind() -> None:
    fragments = sorted((ROOT / "changelog.d").glob("+*.md"))
    assert {path.suffixes[-2].removeprefix(".") for path in fragments} <= set(KINDS)
    shown = re.sub(r"\n  ", "\n", prepared("changes", PAGES["changes"].read_text(encoding="utf-8"), {}))
    assert [path.name for path in fragments if f"- {path.read_text(encoding='utf-8').strip()}\n" not in shown] == []


def test_changes_without_fragments_and_with_releases(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\nAbout.\n\n## 0.2.0\n\n- More.\n", encoding="utf-8")
    assert unreleased(tmp_path) == "Nothing yet.\n"
    assert released(tmp_path / "CHANGELOG.md") == "\n## 0.2.0\n\n- More.\n"


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("Raises `Error`.", "Raises ``Error``."),
        ("`Error`s of `a\nb`, 2`n`", "``Error``\\ s of ``a b``, 2\\ ``n``"),
        ("- `a_`: x_ * y | z\n- b", "- ``a_``: x\\_ \\* y \\| z\n- b"),
        ("a_p and ``x`y``", "a_p and ``x`y``"),
    ],
)
def test_a_docstring_is_shown_as_it_is_meant(markdown: str, expected: str) -> None:
    assert restructured(markdown) == expected


def copied(block: Block) -> list[str]:
    """What the copy button takes of a block: lines with a prompt, without it; where none has a prompt, everything."""
    assert CONF["copybutton_prompt_is_regexp"]
    prompt = re.compile(f"^({CONF['copybutton_prompt_text']})(.*)")
    lines, continued = [], False
    for line in block.body.splitlines():
        found = prompt.match(line)
        if found or continued:
            lines.append(found[2] if found else line)
            continued = line.endswith(CONF["copybutton_line_continuation_character"])
    return lines or block.body.splitlines()


def test_every_target_sets_up_what_its_commands_need() -> None:
    needs = {"pytest": "develop", "mypy": "develop", "ruff": "develop", "tools": "develop", "tests": "develop",
             "sphinx": "document"}  # fmt: skip
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = {found[1]: (found[2], found[3]) for found in re.finditer(r"^([a-z-]+):(.*)\n((?:\t.*\n)+)", makefile, re.M)}
    ready = {name: set(re.findall(r"ready-to-(\w+)", before)) for name, (before, _) in rules.items()}
    used = {name: set(re.findall(r"\(RUN\) (?:-m )?(\w+)", commands)) for name, (_, commands) in rules.items()}
    assert [(name, word) for name in rules for word in used[name] if needs.get(word, "run") not in ready[name]] == []
    assert "generate" in rules["docs"][0].split("##")[0].split()


def test_of_commands_the_copy_button_takes_no_prompt_and_no_output() -> None:
    consoles = [block for block in BLOCKS if block.language == "console"]
    for block in consoles:
        commands = [re.sub(r"\\\n(?:> )?", "", command) for command, _ in commands_of(block.body)]
        together = re.sub(r"\\\n", "", "\n".join(copied(block)))
        assert together.splitlines() == commands
    assert not CONF["copybutton_copy_empty_lines"]
    assert len(consoles) > 10


def test_of_other_blocks_the_copy_button_takes_everything() -> None:
    assert CONF["copybutton_selector"].startswith("div:not(.highlight-output) ")
    others = [block for block in BLOCKS if block.language not in ("console", "output")]
    assert [block.body for block in others if copied(block) != block.body.splitlines()] == []
