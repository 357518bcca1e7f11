"""The suite of bugs, read as text: `tests/bugs/CLASS/NAME.tl` is a right kernel with one line that a bug replaces.

Nothing here runs a kernel or imports NumPy. The format is that of docs/design/races.md:

    ; What goes wrong, in a sentence.
    ; run: kernel[2](A=zeros(32))                the vectors of tests/ops/corpus.py; the right side may be left out
    func @kernel(%A: memref<f32x32>) {
        barrier.local ; wrong: barrier           the line of the wrong twin; nothing where the line is left out
        %y = load %s[%j] : f32 ; finds: run.race

Marks at the end of a line say what is told of that line in the wrong twin; the right twin is told nothing. A line may
have several marks, and a mark several codes, with commas between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.ops.corpus import vectors_of

FOLDER = Path(__file__).resolve().parent

CLASSES = {
    "bounds": "an index outside a memref, a group, a subgroup or a tensor",
    "views": "a view that is not inside its memref, or whose modes do not fit",
    "races_local": "work-items of a work-group that race in local memory",
    "races_global": "work-items or work-groups that race in global memory",
    "races_points": "points of `foreach`, or tiles of `foreach_tile`, that race",
    "races_matrices": "matrices whose components race in memory",
    "races_copies": "tensor copies that race with those who use what they move",
    "uninitialised": "memory that is read before it is written",
    "lifetime": "local memory that is used after its lifetime has ended",
    "divergence": "an instruction for all work-items that some do not come to",
    "uniformity": "an operand that must be the same for all work-items and differs",
    "sizes": "operands, arguments or numbers whose sizes do not fit each other",
    "layouts": "tensor layouts, views, maps and strides that do not describe the tensor",
    "scopes": "atomics of too small a scope, and data handed over without release and acquire",
    "promises": "what a kernel promises about its arguments and breaks, or its caller does",
}
"""The classes of bugs, each a folder, and what goes wrong in them."""

KINDS = ("finds", "finds cpu", "other", "refuses", "error", "warning")
"""What a mark tells: a finding of the interpreter, a finding of compiled code, the line of a race's other access, why
both refuse the launch, and what `girih.check` says."""

_MARKS = re.compile(r";\s*(wrong|finds cpu|finds|other|refuses|error|warning):([^;]*)")

Place = tuple[int, str]
"""A line and a code."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A code that the wrong twin is told at a line, of one of `KINDS`."""

    kind: str
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A right kernel and its wrong twin, which differ in one line.

    `says` is what goes wrong, `vector` the launch of both, `line` the number of the line that differs. The text of the
    wrong twin has no marks. Where the caller is wrong, that line is the launch, and `wrong_vector` differs.
    """

    path: Path
    says: str
    vector: str
    right: str
    wrong: str
    line: int
    marks: tuple[Mark, ...]
    wrong_vector: str

    @property
    def name(self) -> str:
        """The class and the name of the file, as in `bounds/halo`."""
        return f"{self.path.parent.name}/{self.path.stem}"

    def places(self, *kinds: str) -> set[Place]:
        """The lines and codes of all marks of some kinds."""
        return {(mark.line, mark.code) for mark in self.marks if mark.kind in kinds}

    @property
    def found_at_check(self) -> bool:
        """Whether `girih.check` says something about the wrong twin."""
        return bool(self.places("error", "warning"))

    @property
    def found_by_interpreter(self) -> bool:
        """Whether the wrong twin does not pass in the interpreter."""
        return bool(self.places("error", "refuses", "finds"))

    @property
    def found_by_cpu(self) -> bool:
        """Whether the wrong twin does not pass when it is compiled for the CPU."""
        return bool(self.places("error", "refuses", "finds cpu"))


def pairs(name: str) -> Sequence[Pair]:
    """The pairs of a class, by name."""
    return [read(path) for path in sorted((FOLDER / name).glob("*.tl"))]


def classes() -> list[str]:
    """The folders with pairs, in the order of `CLASSES`; what has no name there comes last."""
    there = sorted(path.name for path in FOLDER.iterdir() if any(path.glob("*.tl")))
    known = list(CLASSES)
    return sorted(there, key=lambda name: known.index(name) if name in CLASSES else len(known))


@cache
def read(path: Path) -> Pair:
    """A pair. Raises ValueError where its file is not written as docs/design/races.md says."""
    return pair_of(path.read_text(encoding="utf-8"), path)


def pair_of(text: str, path: Path) -> Pair:
    """The pair that a text holds. Raises ValueError where it is not written as docs/design/races.md says."""
    wrong: list[tuple[int, str]] = []
    marks: list[Mark] = []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        for kind, value in _MARKS.findall(line):
            if kind == "wrong":
                wrong.append((number, value.strip()))
            else:
                marks += [Mark(kind, number, code.strip()) for code in value.split(",")]
    vectors = [vector for _, vector in vectors_of(_unmarked(lines), bare=True)]
    says = _says(lines)
    if len(wrong) != 1 or len(vectors) != 1 or not says.endswith("."):
        raise ValueError(f"{path}: expected a sentence, one `; run:` and one `; wrong:`")
    if re.search(r"^;\s*(==|~)", text, re.M):
        raise ValueError(f"{path}: what a launch gives begins on the line where its arguments end")
    ((guilty, replacement),) = wrong
    before = lines[guilty - 1]
    indent = before[: len(before) - len(before.lstrip())]
    if replacement.startswith("run:"):
        replacement = f"; {replacement}"
    changed = [*lines[: guilty - 1], indent + replacement if replacement else "", *lines[guilty:]]
    wrong_text = _unmarked(changed)
    if all(mark.kind == "other" for mark in marks) or not all(mark.code for mark in marks):
        raise ValueError(f"{path}: expected a mark that says what the wrong twin is told, with its code")
    wrong_vectors = [vector for _, vector in vectors_of(wrong_text, bare=True)]
    if len(wrong_vectors) != 1:
        raise ValueError(f"{path}: expected one `; run:` in the wrong twin")
    return Pair(path, says, vectors[0], text, wrong_text, guilty, tuple(marks), wrong_vectors[0])


def _unmarked(lines: Sequence[str]) -> str:
    return "\n".join(_MARKS.sub("", line).rstrip() for line in lines) + "\n"


def _says(lines: Sequence[str]) -> str:
    """The sentences at the head of a file."""
    words = []
    for line in lines:
        if not line.startswith(";") or re.match(r";\s*run:", line):
            break
        words.append(line.removeprefix(";").strip())
    return " ".join(words)
