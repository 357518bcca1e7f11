"""Write girih/data/examples.json: for `girih explain`, a short accepted and rejected program for each topic.

They are taken from the tests: `tests/ops/MNEMONIC/ok.tl` and `bad.tl`, and `tests/front/codes/CODE.tl`. Of the
functions that show a topic the shortest is taken. `python tools/generate_examples.py` writes the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "girih" / "data" / "examples.json"

_EXPECTED = re.compile(r";\s*(?:error|warning):\s*([\w., ]+)")
_PSEUDO = {"func", "parameter", "type"}


def functions_of(text: str) -> Iterator[str]:
    """Each function of a text, with the definitions at file level that it uses."""
    definitions: list[str] = []
    lines: list[str] = []
    for line in [*text.splitlines(), "func"]:
        if line.startswith("func") and lines:
            yield _program(definitions, lines)
            lines = []
        if line.startswith("$") and not lines:
            definitions.append(line)
        elif lines or line.startswith("func"):
            lines.append(line)


def _program(definitions: list[str], lines: list[str]) -> str:
    body = "\n".join(lines)
    while lines and (not lines[-1].strip() or lines[-1].startswith((";", "$"))):
        definitions += [lines[-1]] if lines[-1].startswith("$") else []
        lines = lines[:-1]
    used = [line for line in definitions if re.search(re.escape(line.split("=")[0].strip()) + r"\b", body)]
    return "\n".join([*used, *lines]) + "\n"


def codes_in(program: str) -> set[str]:
    """The codes that comments of a program expect."""
    return {code.strip() for found in _EXPECTED.findall(program) for code in found.split(",")}


def shortest(programs: list[str]) -> str:
    """The shortest program; of equally short ones the first in the alphabet."""
    return min(programs, key=lambda program: (len(program), program))


def accepted(folder: Path) -> str | None:
    """A program that uses the instruction of a folder."""
    path = folder / "ok.tl"
    if not path.exists():
        return None
    word = re.compile(rf"^(?!\s*;).*(?<![%$@.\w]){re.escape(folder.name)}(?!\w)", re.M)
    found = [p for p in functions_of(path.read_text(encoding="utf-8")) if folder.name in _PSEUDO or word.search(p)]
    return shortest(found) if found else None


def rejected(folder: Path) -> dict[str, str]:
    """For each code of an instruction a program that is refused with it, with no other code if possible."""
    path = folder / "bad.tl"
    if not path.exists():
        return {}
    by_code: dict[str, list[str]] = {}
    for program in functions_of(path.read_text(encoding="utf-8")):
        for code in codes_in(program):
            by_code.setdefault(code, []).append(program)
    own = {code: programs for code, programs in by_code.items() if code.startswith(folder.name + ".")}
    alone = {code: [p for p in programs if codes_in(p) == {code}] for code, programs in own.items()}
    return {code: shortest(alone[code] or programs) for code, programs in own.items()}


def collect() -> str:
    """The text of the file."""
    found: dict[str, dict[str, str]] = {"accepted": {}, "rejected": {}}
    for folder in sorted(path for path in (ROOT / "tests" / "ops").iterdir() if path.is_dir()):
        program = accepted(folder)
        if program is not None:
            found["accepted"][folder.name] = program
        found["rejected"] |= rejected(folder)
    for path in sorted((ROOT / "tests" / "front" / "codes").glob("*.tl")):
        found["rejected"][path.stem] = path.read_text(encoding="utf-8")
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(collect(), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
