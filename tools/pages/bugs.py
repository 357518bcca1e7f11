"""Write docs/bugs.md from the suite of bugs, `tests/bugs`: what is found of each class, where, and an example of each.

The column on Triton's interpreter comes from benchmarks/results, where a file says what it found and when.
tools/generate_docs.py writes the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from girih.diagnostics import errors
from tests.bugs import launching, reader
from tests.bugs.reader import Pair
from tools.markdown import table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = "docs/bugs.md"

SHOWN = {
    "bounds": "right_neighbour",
    "views": "fused_part",
    "races_local": "lockstep",
    "races_global": "sum_without_atomics",
    "races_points": "transpose_in_place",
    "races_matrices": "accumulator_to_factor",
    "races_copies": "used_in_flight",
    "uninitialised": "counters_of_a_histogram",
    "lifetime": "view_outlives_its_memory",
    "sizes": "product_of_any_size",
    "layouts": "dimensions_swapped",
    "scopes": "last_work_group",
    "promises": "update_of_its_own_panel",
}
"""The example of a class; of the others it is the shortest with a finding."""

ABOUT = """\
# Bugs that are found

<!-- Written by tools/pages/bugs.py from tests/bugs; do not edit. -->

{count} kernels, each as it should be and with one line that a bug replaces. Of the right ones the tests demand that
nothing is said, neither by `girih check` nor in a launch, and of the wrong ones exactly what their files expect, with
the code and the line; of a race, the lines of both accesses. The files stand in `tests/bugs`, a folder for each class,
and [the design of races](design/races.md#the-suite-of-bugs) says how one is written.

| where | what counts as found |
| --- | --- |
| at check | an error or a warning of [`girih check`](commands.md), without arguments |
| `interpreter` | an error, a launch that is refused, or a finding |
| `cpu` | the same, with the default checks; [targets](targets.md#what-is-checked) says what it does elsewhere |
"""

ABOUT_TRITON = """\
Triton's interpreter, `TRITON_INTERPRET=1`, is the nearest relative that runs without a GPU. For it each class is one
program, the same mistake in Triton's words: `benchmarks/language/triton_bugs.py` runs them, here with Triton {triton}
and Python {python} on {date}. It is made for stepping through a kernel; tools that need a GPU, such as
compute-sanitizer, may find what it does not.
"""


def page() -> str:
    """The text of docs/bugs.md."""
    classes = {name: reader.pairs(name) for name in reader.classes()}
    count = sum(map(len, classes.values()))
    triton = _triton()
    lines = [*ABOUT.format(count=count).splitlines(), "", *_table(classes, triton), ""]
    if triton is not None:
        lines += [*ABOUT_TRITON.format(**triton).splitlines(), ""]
        rows = [(f"`{name}`", f"`{one['program']}`", one["what"]) for name, one in triton["classes"].items()]
        rows += [(f"`{name}`", "none", why) for name, why in triton.get("inexpressible", {}).items()]
        lines += [*table(["class", "program", "what Triton's interpreter does"], rows), ""]
    for name, pairs in classes.items():
        lines += [f"## {name}", "", *_example(_shown(name, pairs)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(classes: Mapping[str, Sequence[Pair]], triton: Mapping[str, Any] | None) -> list[str]:
    known = {} if triton is None else triton["classes"]
    rows = []
    for name, pairs in classes.items():
        ways: list[Callable[[Pair], bool]] = [
            lambda pair: pair.found_at_check,
            lambda pair: pair.found_by_interpreter,
            lambda pair: pair.found_by_cpu,
        ]
        counts = [_share(sum(map(way, pairs)), len(pairs)) for way in ways]
        there = {True: "found", False: "not found"}.get(known.get(name, {}).get("found"), "no such program")
        rows.append((f"[`{name}`](#{name})", reader.CLASSES[name], str(len(pairs)), *counts, there))
    heads = ["class", "what goes wrong", "kernels", "at check", "`interpreter`", "`cpu`", "Triton's interpreter"]
    columns = len(heads) - (triton is None)
    return table(heads[:columns], [row[:columns] for row in rows])


def _share(found: int, all: int) -> str:
    return "all" if found == all else str(found) if found else "none"


def _triton() -> Mapping[str, Any] | None:
    """What the newest file says about classes of bugs in Triton's interpreter."""
    for path in sorted(RESULTS.glob("*-triton-interpreter.json"), reverse=True):
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "classes" in found:
            return found
    return None


def _shown(name: str, pairs: Sequence[Pair]) -> Pair:
    """The pair that stands for a class."""
    chosen = [pair for pair in pairs if pair.path.stem == SHOWN.get(name)]
    found = chosen or [pair for pair in pairs if pair.places("finds")] or pairs
    return min(found, key=lambda pair: len(pair.right))


def _example(pair: Pair) -> Iterator[str]:
    """A pair: what goes wrong, the two lines, and what is told."""
    right = pair.right.splitlines()[pair.line - 1].partition("; wrong:")[0].rstrip()
    wrong = pair.wrong.splitlines()[pair.line - 1]
    yield from (f"{pair.says} Line {pair.line} of `tests/bugs/{pair.name}.tl`:", "")
    yield from ("```diff", f"-{right}", *([f"+{wrong}"] if wrong else []), "```", "")
    module, said = launching.wrong(pair)
    found = [*said, *([] if errors(said) else launching.told(pair, module, "interpreter"))]
    yield from ("```text", str(found[0]), "```")
