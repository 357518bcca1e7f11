"""Examples of rules: the accepted and the rejected text of each row, as `girih explain` shows them.

`girih/data/spirv_examples.json` is packed from tests/spirv/rules by tools/generate_spirv_examples.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from girih.lazy_dataclass import dataclass
from girih.spirv.frame import completed

_HEAD = re.compile(r";;\s*(.*?)\s*$")
_TIMES = re.compile(r"(\S+) \N{MULTIPLICATION SIGN}(\d+)")


@dataclass(frozen=True, slots=True)
class Example:
    """An accepted and a rejected text for a rule, `code` without `spirv.`, such as `OpIAdd.result`.

    `environment` and `layout` (one of `BLOCK_LAYOUTS`) are what they are judged for, `version` that of their header.
    Texts are completed to modules unless they are `whole`. `also` are codes of further rules that the rejected text
    breaks.
    """

    code: str
    accepted: str
    rejected: str
    environment: str = "vulkan1.4"
    version: str = "1.6"
    whole: bool = False
    also: tuple[str, ...] = ()
    line: int = 0
    layout: str = "scalar"

    def module(self, text: str) -> str:
        """The module of one of the two texts, as text; an operand with a times sign and a number stands for so many."""
        written = _TIMES.sub(lambda match: " ".join([match[1]] * int(match[2])), text)
        return written if self.whole else completed(written, version=self.version)


def examples_in(text: str) -> Iterator[Example]:
    """The examples of a file. Raises `ValueError` for a head that says nothing known."""
    told: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    part = ""
    start = 0
    for number, line in enumerate([*text.splitlines(), ";; end.end"], 1):
        head = _HEAD.match(line)
        if head is None:
            if part:
                lines[part].append(line)
            continue
        word, _, rest = head[1].partition(":")
        if word in ("accepted", "rejected"):
            part = word
            lines[part] = []
        elif word in ("environment", "version", "also", "layout"):
            told[word] = rest.strip()
        elif word == "whole":
            told[word] = word
        elif re.fullmatch(r"\w+\.\w+", word):
            if lines:
                yield _example(told, lines, start)
            told, lines, part, start = {"code": word}, {}, "", number
        else:
            known = "a code, accepted, rejected, environment, version, layout, also or whole"
            raise ValueError(f"line {number}: expected: {known}; found: {line!r}")


def _example(told: Mapping[str, str], lines: Mapping[str, list[str]], start: int) -> Example:
    if set(lines) != {"accepted", "rejected"}:
        raise ValueError(f"line {start}: {told['code']} needs an accepted and a rejected text")
    accepted, rejected = ("\n".join(lines[part]).strip("\n") for part in ("accepted", "rejected"))
    also = tuple(told.get("also", "").replace(",", " ").split())
    environment, version = told.get("environment", "vulkan1.4"), told.get("version", "1.6")
    layout = told.get("layout", "scalar")
    return Example(told["code"], accepted, rejected, environment, version, "whole" in told, also, start, layout)


@cache
def packed() -> Mapping[str, Example]:
    """The packed examples by code."""
    table = json.loads((files("girih") / "data" / "spirv_examples.json").read_text(encoding="utf-8"))
    return {row["code"]: Example(**{**row, "also": tuple(row.get("also", ()))}) for row in table}
