"""What README.md and docs/ show is run, in order, and gives the output that stands there.

In a document
- a fenced block ``python`` is executed; all blocks of a document share one namespace. A block ``output`` right after it
  is what it prints;
- a fenced block ``text NAME`` (any language, then a file name) is written into the working folder;
- in ``console`` and ``sh`` blocks every line `$ girih ...` or `$ python ...` is run, and the lines below it, up to the
  next `$` or the end of the block, are its output. With no such lines anything may be printed; the exit status must
  then be 0. Other lines with `$`, such as installing, are not run.
A line `...` in expected output stands for any lines, `...` inside a line for any characters.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
Command = Callable[..., "subprocess.CompletedProcess[str]"]

FENCE = re.compile(r"^```(?P<language>[\w+-]+)(?:[ ]+(?P<name>\S+))?[ ]*\n(?P<body>.*?)^```[ ]*$", re.M | re.S)
RUN_GIRIH = [sys.executable, "-c", "from girih.cli import main; main()"]
PROGRAMS = {"girih": RUN_GIRIH, "python": [sys.executable]}


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    line: int
    language: str
    name: str | None
    body: str


def blocks_of(text: str) -> list[Block]:
    return [
        Block(text.count("\n", 0, found.start()) + 1, found["language"], found["name"], found["body"])
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


def run_console(block: Block, folder: Path, run_command: Command) -> list[str]:
    complaints = []
    for command, shown in commands_of(block.body):
        program, *arguments = shlex.split(command, comments=True)
        if program not in PROGRAMS:
            continue
        done = run_command(*PROGRAMS[program], *arguments, cwd=folder)
        if not (matches(shown, done.stdout) if shown else done.returncode == 0):
            complaints.append(f"line {block.line}: $ {command}\nexit status {done.returncode}\n{done.stdout}")
    return complaints


def run_python(block: Block, document: Path, namespace: dict[str, object]) -> str:
    printed = io.StringIO()
    # Empty lines in front, so that a traceback names the line of the document.
    code = compile("\n" * block.line + block.body, str(document), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def run_document(document: Path, folder: Path, run_command: Command) -> list[str]:
    """Everything in a document whose output is not what stands there."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    complaints: list[str] = []
    printed = ""
    for block in blocks_of(document.read_text(encoding="utf-8")):
        if block.name:
            (folder / block.name).write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            printed = run_python(block, document, namespace)
        elif block.language == "output" and not matches(block.body, printed):
            complaints.append(f"line {block.line}: the block above prints\n{printed}")
        elif block.language in ("console", "sh"):
            complaints += run_console(block, folder, run_command)
    return complaints


def documents() -> list[Path]:
    written = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in written if FENCE.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_shows_what_happens(
    document: Path, tmp_path: Path, run_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    complaints = run_document(document, tmp_path, run_command)
    assert not complaints, "\n\n".join(complaints)


def test_the_readme_shows_python_and_commands() -> None:
    languages = {block.language for block in blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert {"python", "output", "console"} <= languages


@pytest.mark.parametrize("document", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    links = set(re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose))
    assert links
    assert sorted(link for link in links if not (ROOT / link).exists()) == []


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
    assert [complaint.splitlines()[0] for complaint in complaints] == [
        "line 5: the block above prints",
        "line 13: $ python six.py",
        "line 13: $ python missing.py",
    ]
