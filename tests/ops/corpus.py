"""The corpus `tests/ops/<mnemonic>/`, read as text: nothing here runs a kernel or imports NumPy.

- `ok.tl`: programs that are accepted.
- `bad.tl`: rejected programs; a guilty line ends with `; error: code[, code]` or `; warning: code[, code]`.
- `run.tl`: functions and vectors that every executor reproduces (`tests/ops/vectors.py` says how they are read):

      ; run: f(alpha=2.0, A=[1.0, 2.0]) == A=[2.0, 4.0]
      ; run: f[4, 2](A=zeros(8)) == A=[...]               the grid in brackets, 1 where it is left out
      ; run: f(A=[0.1]) ~ A=[0.3]                         within 4 ulp; `ulp=` or `relative=` before the arrays
      ; run: f(A=[1.0], i=7) finds run.out_of_bounds      exactly these findings, and no array changes

  A vector goes on in the comment lines below it until its brackets are closed and its right side is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from girih.diagnostics import Diagnostic
from girih.ir.core import Module
from girih.ops.tile import TILE_LANGUAGE
from girih.program import analyze
from girih.source import Source

FOLDER = Path(__file__).resolve().parent

MNEMONICS = tuple(TILE_LANGUAGE.ops)
PSEUDO_MNEMONICS = tuple(name for name in TILE_LANGUAGE.rules if name not in TILE_LANGUAGE.ops)
"""What has rules but is no instruction: functions, parameters, types."""

Problem = tuple[int, str, str]
"""A line, "error" or "warning", and a code."""

Vector = tuple[int, str]
"""The line that a run vector starts at, and its text behind `; run:`."""

_MARK = re.compile(r";\s*(error|warning):\s*([\w.]+(?:\s*,\s*[\w.]+)*)")
_RUN = re.compile(r";\s*run:\s*(.*)")
_RIGHT_SIDE = re.compile(r"\)\s*(==|~|finds)\s+\S")
_FUNCTION = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class File:
    """A file of the corpus, parsed and checked."""

    path: Path
    text: str
    module: Module
    diagnostics: tuple[Diagnostic, ...]

    @property
    def problems(self) -> list[Problem]:
        """What the checker says."""
        return sorted((d.span.line, d.severity, d.code) for d in self.diagnostics)

    @property
    def marked(self) -> list[Problem]:
        """What the marks at the ends of the lines say."""
        return sorted(_marks(self.text))

    @property
    def vectors(self) -> list[Vector]:
        """The run vectors."""
        return list(vectors_of(self.text))


def folders() -> list[Path]:
    """The folders of the corpus."""
    return sorted(path for path in FOLDER.iterdir() if path.is_dir() and any(path.glob("*.tl")))


def files(name: str) -> list[Path]:
    """All files of a name, such as `ok.tl`."""
    return [path for folder in folders() if (path := folder / name).exists()]


@cache
def read(path: Path) -> File:
    """A file of the corpus."""
    text = path.read_text(encoding="utf-8")
    module, diagnostics = analyze(Source(text, str(path.relative_to(FOLDER))))
    return File(path, text, module, tuple(diagnostics))


@cache
def functions_run(path: Path) -> set[str]:
    """The names of the functions that a vector of a file runs, read from its text alone."""
    return {_function(text) for _, text in vectors_of(path.read_text(encoding="utf-8"))}


@cache
def functions_that_find(path: Path) -> set[str]:
    """Those of which a vector finds something."""
    every = vectors_of(path.read_text(encoding="utf-8"))
    return {_function(text) for _, text in every if (side := _RIGHT_SIDE.search(text)) and side[1] == "finds"}


def _function(vector: str) -> str:
    match = _FUNCTION.match(vector)
    return match.group() if match else ""


def _marks(text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        for severity, codes in _MARK.findall(line):
            yield from ((number, severity, code.strip()) for code in codes.split(","))


def vectors_of(text: str, *, bare: bool = False) -> Iterator[Vector]:
    """The run vectors of a text; `bare` ones may end with their arguments. Raises ValueError for one without an end."""
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        match = _RUN.match(line)
        if match is None:
            continue
        found = match.group(1).rstrip()
        while not _finished(found, bare=bare):
            _, more = next(lines, (0, ""))
            if not more.startswith(";"):
                raise ValueError(f"line {number}: the vector has no end: {found}")
            found += " " + more.strip("; ")
        yield number, found.strip()


def _finished(text: str, *, bare: bool) -> bool:
    opened = sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
    ended = _RIGHT_SIDE.search(text) is not None or (bare and text.endswith(")"))
    return opened == 0 and ended and not text.endswith(",")


def rule_codes() -> set[str]:
    """The code of every rule of the specification."""
    return {f"{mnemonic}.{row.id}" for mnemonic, rows in TILE_LANGUAGE.rules.items() for row in rows}


def marked_codes(folder: Path) -> set[str]:
    """The codes that the rejected programs of a folder show, read from their marks alone."""
    path = folder / "bad.tl"
    return {code for _, _, code in _marks(path.read_text(encoding="utf-8"))} if path.exists() else set()


def summary() -> str:
    """How many rule ids have a rejected line, in one line of text."""
    rules = rule_codes()
    shown = rules & {code for folder in folders() for code in marked_codes(folder)}
    percent = 100 * len(shown) // len(rules)
    return f"rule ids: {len(shown)} of {len(rules)} rejected lines ({percent} %)"
