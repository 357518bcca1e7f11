"""Write docs/litmus.md: the kernels of tests/interpreter/order, one below the other, in the order in which the page on
the execution model links to them.

A file has the format of the suite of bugs (tests/bugs/reader.py). The page shows its ordered variant; comments say what
the raced variant has in place of a line, and which lines race then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.bugs.reader import Pair, read

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "interpreter" / "order"
PAGE = "docs/litmus.md"

ABOUT = """\
# Litmus tests

<!-- Written by tools/pages/litmus.py from tests/interpreter/order; do not edit. -->

A kernel for each rule of [order in the execution model](execution.md#order). Each has two variants that differ in one
line. As it stands here, no two accesses race. In the other variant, the line that ends in `; or:` is replaced by what
follows there, and a line that ends in `; or left out` is not there; then the lines that end in `; races` race. The
tests run both variants in the interpreter.
"""

_MARKS = re.compile(r"\s*;\s*(?:wrong|finds|other|warning):.*$")


def page() -> str:
    """The text of docs/litmus.md."""
    execution = (ROOT / "docs" / "execution.md").read_text(encoding="utf-8")
    names = dict.fromkeys(re.findall(r"\(litmus\.md#(\w+)\)", execution))
    sections = (line for name in names for line in _section(read(FOLDER / f"{name}.tl")))
    return "\n".join([ABOUT, *sections]).rstrip() + "\n"


def _section(pair: Pair) -> Iterator[str]:
    """The lines about one pair."""
    yield from (f"## {pair.path.stem}", "", pair.says, "", "```tl", f"; run: {pair.vector}")
    races = {line for line, _ in pair.places("finds", "other")}
    lines = pair.right.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("func"))
    for number, line in enumerate(lines[first:], first + 1):
        notes = []
        if number == pair.line:
            replacement = pair.wrong.splitlines()[number - 1].strip()
            notes.append(f"or: {replacement}" if replacement else "or left out")
        if number in races:
            notes.append("races")
        notes += [f"warning: {code}" for line_of_mark, code in pair.places("warning") if line_of_mark == number]
        yield " ; ".join([_MARKS.sub("", line), *notes])
    yield from ("```", "")
