"""What README.md and docs/ show is run, in order, and gives the output that stands there.

In a document
- a fenced block ``python`` is executed; all blocks of a document share one namespace. A block ``output`` right after it
  is what it prints. From the first block with a kernel in Python on, they are as if pasted into a file `example.py`;
- a fenced block ``text NAME`` (any language, then a file name) is written into the working folder;
- a fenced block ``tl`` is a program: it is accepted, but for lines that end in `; error: CODE` or `; warning: CODE`;
- in ``console`` and ``sh`` blocks every line `$ girih ...` or `$ python ...` is run, and the lines below it, up to the
  next `$` or the end of the block, are its output. With no such lines anything may be printed; the exit status must
  then be 0. Other lines with `$`, such as installing, are not run.
Blocks that launch on the target `vulkan`, and the output below them, are left out where no Vulkan driver opens, and
those that use PyTorch or JAX where these are not installed; the page then counts as skipped, once all else of it was
found to be right.
A line `...` in expected output stands for any lines, `...` inside a line for any characters. With GIRIH_BLESS=1 output
that differs is rewritten in the document instead (`make bless`): read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from girih import Source, check
from girih.cli import main
from girih.front.text.format import format_source
from girih.ops.tile import TILE_LANGUAGE
from girih.runtime.vulkan.opened import can_launch

ROOT = Path(__file__).resolve().parent.parent
Command = Callable[..., "subprocess.CompletedProcess[str]"]

FENCE = re.compile(r"^```(?P<language>[\w+-]+)(?:[ ]+(?P<name>\S+))?[ ]*\n(?P<body>.*?)^```[ ]*$", re.M | re.S)
EXPECTED = re.compile(r";[ ]*(?:error|warning):[ ]*(.+)$")
NEEDS = {
    "a Vulkan driver": re.compile(r"""(?:--target |--against |["'])vulkan(?![:\w])"""),
    "torch": re.compile(r"\btorch(?![a-z])"),
    "jax": re.compile(r"\bjax(?![a-z])"),
}
"""What blocks need that may be missing, by the words in which they show it."""
STRING = re.compile(r'"""\n(func @.*?)"""', re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    line: int
    start: int
    language: str
    name: str | None
    body: str


def blocks_of(text: str) -> list[Block]:
    return [
        Block(
            text.count("\n", 0, found.start()) + 1, found.start("body"), found["language"], found["name"], found["body"]
        )
        for found in FENCE.finditer(text)
    ]


def commands_of(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            continued, _, shown = shown.partition("\n")
            command = command[:-1] + continued.removeprefix("> ")
        yield command, shown.rstrip("\n")


def matches(shown: str, printed: str) -> bool:
    """Whether printed text is what is shown, where `...` is a wildcard; space at line ends does not count."""
    wanted = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
    came = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    lines = re.sub(r"^\.\.\.$\n?", "\0", wanted, flags=re.M)
    pattern = re.escape(lines).replace("\0", r"(?:.*\n)*?(?:.*\Z)?").replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, came) is not None


@dataclass(frozen=True)
class Complaint:
    """What is not as a document says; `printed`, if any, is what its block should show in place of `shown`."""

    block: Block
    says: str
    shown: str = ""
    printed: str | None = None

    def __str__(self) -> str:
        return f"line {self.block.line}: {self.says}"


def run_girih(arguments: list[str], folder: Path) -> tuple[int, str]:
    """The exit status of the command and what it prints, where there is no terminal."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, arguments, env={"NO_COLOR": "1", "COLUMNS": "120"}, prog_name="girih")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def run_console(block: Block, folder: Path, run_command: Command) -> list[Complaint]:
    complaints = []
    for command, shown in commands_of(block.body):
        program, *arguments = shlex.split(command, comments=True)
        if program == "girih":
            status, printed = run_girih(arguments, folder)
        elif program == "python":
            done = run_command(sys.executable, *arguments, cwd=folder)
            status, printed = done.returncode, done.stdout
        else:
            continue
        if not (matches(shown, printed) if shown else status == 0):
            says = f"$ {command}\nexit status {status}\n{printed}"
            complaints.append(Complaint(block, says, shown, printed if shown else None))
    return complaints


def check_program(block: Block) -> list[Complaint]:
    """What a program is told, against what its lines announce."""
    announced = []
    for number, line in enumerate(block.body.splitlines(), 1):
        found = EXPECTED.search(line)
        announced += [(number, code.strip()) for code in found[1].split(",")] if found else []
    told = [(d.span.line, d.code) for d in check(block.body)]
    if sorted(told) == sorted(announced):
        return []
    return [Complaint(block, f"the program is told {told}, its lines announce {announced}")]


EXAMPLE = "example.py"
"""The file that readers of a page with kernels in Python have pasted its blocks into, one behind the other."""


def run_python(block: Block, document: Path, namespace: dict[str, object]) -> str:
    printed = io.StringIO()
    # Empty lines in front, so that a traceback names the line of the document.
    lines, name = ["\n"] * block.line, str(document)
    if "@girih.kernel" in block.body or EXAMPLE in namespace:
        # Kernels are read from their text.
        name, lines = EXAMPLE, namespace.setdefault(EXAMPLE, [])  # type: ignore[assignment]
    code = compile("".join("\n" for _ in lines) + block.body, name, "exec")
    if name == EXAMPLE:
        lines += block.body.splitlines(keepends=True)
        linecache.cache[EXAMPLE] = (sum(map(len, lines)), None, list(lines), EXAMPLE)
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def needs_of(block: Block) -> set[str]:
    """What a block needs of `NEEDS`."""
    if block.language not in ("console", "python") or block.name:
        return set()
    return {need for need, words in NEEDS.items() if words.search(block.body)}


def is_missing(need: str) -> bool:
    """Whether this machine lacks what a block needs."""
    return not can_launch() if need == "a Vulkan driver" else find_spec(need) is None


def run_document(document: Path, folder: Path, run_command: Command, missing: Collection[str] = ()) -> list[Complaint]:
    """Everything in a document whose output is not what stands there; of what needs nothing that is `missing`."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    complaints: list[Complaint] = []
    printed: str | None = ""
    for block in blocks_of(document.read_text(encoding="utf-8")):
        if not needs_of(block).isdisjoint(missing) or (block.language == "output" and printed is None):
            printed = None
            continue
        if block.name:
            (folder / block.name).write_text(block.body, encoding="utf-8")
        if block.language == "tl":
            complaints += check_program(block)
        elif block.language == "python" and not block.name:
            printed = run_python(block, document, namespace)
        elif block.language == "output" and printed is not None and not matches(block.body, printed):
            complaints.append(Complaint(block, f"the block above prints\n{printed}", block.body, printed))
        elif block.language in ("console", "sh"):
            complaints += run_console(block, folder, run_command)
    return complaints


def bless(document: Path, complaints: list[Complaint]) -> None:
    """Write what was printed into the document, in place of what it shows."""
    text = document.read_text(encoding="utf-8")
    bodies: dict[Block, str] = {}
    for complaint in complaints:
        if complaint.printed is not None:
            body = bodies.get(complaint.block, complaint.block.body)
            bodies[complaint.block] = body.replace(complaint.shown, complaint.printed.rstrip("\n"), 1)
    for block in sorted(bodies, key=lambda block: block.start, reverse=True):
        end = block.start + len(block.body)
        text = text[: block.start] + bodies[block].rstrip("\n") + "\n" + text[end:]
    document.write_text(text, encoding="utf-8")


def written() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def documents() -> list[Path]:
    return [path for path in written() if FENCE.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_shows_what_happens(
    document: Path, tmp_path: Path, run_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # pages name these files as in a clone
    needs = [need for block in blocks_of(document.read_text(encoding="utf-8")) for need in needs_of(block)]
    missing = {need for need in needs if is_missing(need)}
    complaints = run_document(document, tmp_path, run_command, missing)
    if os.environ.get("GIRIH_BLESS") == "1":
        bless(document, complaints)
        complaints = [complaint for complaint in complaints if complaint.printed is None]
    assert not complaints, "\n\n".join(map(str, complaints))
    if missing:
        left_out = sum(need in missing for need in needs)
        pytest.skip(f"this machine lacks {' and '.join(sorted(missing))}: blocks that were left out: {left_out}")


def programs_of(document: Path) -> Iterator[tuple[str, str]]:
    """The programs in a document with their places, those in strings of Python too.

    Not that which the page lays out before the reader's eyes.
    """
    text = document.read_text(encoding="utf-8")
    for block in blocks_of(text):
        program = block.language == "tl" or (block.name or "").endswith(".tl")
        if program and f"girih fmt --diff {block.name}" not in text:
            yield f"{document.relative_to(ROOT)}:{block.line}", block.body
        for quoted in STRING.findall(block.body) if block.language == "python" else ():
            yield f"{document.relative_to(ROOT)}:{block.line}", quoted


def test_programs_are_laid_out_as_the_formatter_does() -> None:
    """In what people wrote; what is generated went through the formatter."""
    by_hand = [path for path in written() if "<!-- Written by tools/" not in path.read_text(encoding="utf-8")]
    programs = [program for document in by_hand for program in programs_of(document)]
    assert len(programs) > 10
    assert [at for at, text in programs if text != format_source(Source(text), TILE_LANGUAGE)[0]] == []


def test_the_readme_shows_python_and_commands() -> None:
    languages = {block.language for block in blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert {"python", "output", "console"} <= languages


@cache
def anchors_of(document: Path) -> set[str]:
    """The places in a document that a link can name: headings and `id`s."""
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#{1,6} +(.*?)(?: *\{#([\w.-]+)\})? *$", prose, re.M)
    slugs = {given or re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title, given in headings}
    return slugs | set(re.findall(r'id="([^"]+)"', prose))


def broken_links(document: Path) -> list[str]:
    """The links of a document that lead to no file, or to no place in it."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text(encoding="utf-8")))
    broken = []
    for link in sorted(set(re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose))):
        name, _, place = link.partition("#")
        target = document.parent / name if name else document
        is_page = target.exists() and target.suffix == ".md"
        known = anchors_of(target) if place and is_page else {place}
        if not target.exists() or place not in known:
            broken.append(link)
    return broken


@pytest.mark.parametrize("document", written(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(document) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text('# A title\n<a id="rule.a"></a>\n', encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("# Top\n[a](other.md#a-title) [b](other.md#rule.a) [c](other.md#b) [d](no.md) [e](#top)\n")
    assert broken_links(page) == ["no.md", "other.md#b"]


@pytest.mark.parametrize(
    ("shown", "printed", "verdict"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("a\n...\nd", "a\nb\nc\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("took ... s", "took 1.5 s", True),
        ("took ... s", "took 1.5\ns", False),
        ("", "a\n", False),
    ],
)
def test_output_is_compared(shown: str, printed: str, verdict: bool) -> None:
    assert matches(shown, printed) is verdict


def test_a_wrong_output_is_noticed(tmp_path: Path, run_command: Command) -> None:
    document = tmp_path / "wrong.md"
    document.write_text(
        "```python\nprint(6 * 7)\n```\n\n```output\n41\n```\n\n"
        "```text six.py\nprint(6)\n```\n\n"
        "```console\n$ python six.py\n6\n$ python six.py\n7\n$ python missing.py\n$ make demo\n```\n",
        encoding="utf-8",
    )
    complaints = run_document(document, tmp_path, run_command)
    assert [str(complaint).splitlines()[0] for complaint in complaints] == [
        "line 5: the block above prints",
        "line 13: $ python six.py",
        "line 13: $ python missing.py",
    ]


def test_what_needs_a_driver_is_left_out_where_there_is_none(tmp_path: Path, run_command: Command) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        '```python\nprint("vulkan")\n```\n```output\nlaunched\n```\n'
        "```python\nprint(1)\n```\n```output\n2\n```\n"
        "```console\n$ girih run a.tl --against vulkan\nequal\n$ girih targets vulkan:minimal\n```\n",
        encoding="utf-8",
    )
    without = run_document(document, tmp_path, run_command, {"a Vulkan driver"})
    assert [complaint.block.line for complaint in without] == [10]
    assert [complaint.block.line for complaint in run_document(document, tmp_path, run_command)] == [4, 10, 13]


def test_what_needs_a_library_is_left_out_where_it_is_missing(tmp_path: Path, run_command: Command) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "```python\nimport jax\n```\n```output\na\n```\n```console\n$ python jax_example.py\n```\n"
        "```python\nprint('ajax')\n```\n```output\nb\n```\n```text jax.py\n```\n",
        encoding="utf-8",
    )
    assert [needs_of(block) for block in blocks_of(document.read_text())] == [
        {"jax"},
        set(),
        {"jax"},
        set(),
        set(),
        set(),
    ]
    assert [complaint.block.line for complaint in run_document(document, tmp_path, run_command, {"jax"})] == [13]
    assert is_missing("jax") == (find_spec("jax") is None)


def test_a_wrong_program_is_noticed(tmp_path: Path, run_command: Command) -> None:
    document = tmp_path / "wrong.md"
    program = "func @f(%a: f64, %b: f32, %A: memref<f32x4>) {\n  axpby %a, %A, %b, %A\n}\n"
    announced = program.replace("b, %A\n", "b, %A ; error: axpby.alpha_type\n")
    document.write_text(f"```tl\n{announced}```\n```tl\n{program}```\n", encoding="utf-8")
    complaints = run_document(document, tmp_path, run_command)
    assert [complaint.block.line for complaint in complaints] == [6]


def test_blessing_writes_what_is_printed(tmp_path: Path, run_command: Command) -> None:
    document = tmp_path / "old.md"
    document.write_text(
        "```python\nprint(42)\n```\n```output\n41\n```\n"
        "```text a.py\nprint(1)\n```\n```console\n$ python a.py\n2\n```\n",
        encoding="utf-8",
    )
    bless(document, run_document(document, tmp_path, run_command))
    assert run_document(document, tmp_path, run_command) == []
    assert "\n42\n" in document.read_text(encoding="utf-8")
