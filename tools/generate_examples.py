"""Write girih/data/examples.json: for `girih explain`, a short accepted and rejected program for each topic.

They are taken from the tests: `tests/ops/MNEMONIC/ok.tl`, `bad.tl` and `run.tl`, `tests/front/codes/CODE.tl`, and for
remarks `tests/back/remarks/CODE.tl`, which has one function that gets the remark and one that does not. The
shader for a code of a run is one of `tests/shaders`, with its fault.
Of the functions that show a topic the shortest is taken, without what it does not need, laid out as `girih fmt` does.
`python tools/generate_examples.py` writes the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import girih
from girih.commands.parts.reference import spelling_of
from girih.front.text.format import format_source
from girih.ir.language import PSEUDO_MNEMONICS
from girih.ops.tile import TILE_LANGUAGE
from girih.source import Source

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "girih" / "data" / "examples.json"

_EXPECTED = re.compile(r";\s*(?:error|warning):\s*([\w., ]+)")
_NAME = re.compile(r"func\s*@(\w+)")
_BEHIND_EMPTY = re.compile(r"\{\n( *\}) (; error: .*)")
_SHADER_FINDS = re.compile(r"^// finding: (\w+)$", re.M)
_GIVEN = re.compile(r"// (?:\d+:\d+|grid|push|spec|address)(?: fault)?: ")
_FINDS = re.compile(r"^(; run: (\w+).* finds (run\.\w+))$", re.M)


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


def shortest(programs: Sequence[str]) -> str:
    """The shortest program; of equally short ones the first in the alphabet."""
    return min(programs, key=lambda program: (len(program), program))


# Making programs smaller.


def reduced(program: str, keeps: Callable[[str], bool]) -> str:
    """The program without the lines, regions and parameters that `keeps` does not need."""
    found = False
    while not found:
        found = True
        for smaller in (*_without_lines(program), *_without_parameters(program)):
            if len(smaller) < len(program) and keeps(smaller):
                program, found = smaller, False
                break
    tidy = re.sub(r"\(\s+\) \{", "() {", program)
    return re.sub(r"[ \t]+(; (?:error|warning): )", r" \1", tidy)


def _without_lines(program: str) -> Iterator[str]:
    """The program without one of its regions, one of its lines, or the braces around a region."""
    lines = program.splitlines(keepends=True)
    blocks = [(k, end) for k in range(len(lines)) if (end := _end_of_block(lines, k)) is not None]
    for begin, end in blocks:
        yield "".join(lines[:begin] + lines[end + 1 :])
    for k, line in enumerate(lines):
        if not line.startswith("func") and line.strip() != "}":
            yield "".join(lines[:k] + lines[k + 1 :])
    for begin, end in blocks:
        inner = [line.removeprefix("    ") for line in lines[begin + 1 : end]]
        yield "".join(lines[:begin] + inner + lines[end + 1 :])


def _end_of_block(lines: Sequence[str], begin: int) -> int | None:
    """The line that closes the region which a line opens; None for a line that opens none, and for functions."""
    if lines[begin].startswith("func"):
        return None
    depth = 0
    for k in range(begin, len(lines)):
        code = lines[k].split(";")[0]
        depth += code.count("{") - code.count("}")
        if depth <= 0:
            return k if k > begin else None
    return None


def _without_parameters(program: str) -> Iterator[str]:
    """The program without one of its parameters."""
    head, bracket, rest = program.partition("(")
    listed, closing, body = rest.partition(") {") if ") {" in rest.split("\n")[0] else rest.partition(") attributes")
    parts = re.split(r"(?<=,)[ ]*(?:;[^\n]*)?\s*(?=%)", listed)
    for k in range(len(parts)):
        yield head + bracket + " ".join(parts[:k] + parts[k + 1 :]).rstrip(", ") + closing + body


def accepted(folder: Path) -> str | None:
    """A small program that uses the instruction of a folder."""
    path = folder / "ok.tl"
    if not path.exists():
        return None
    word = re.compile(rf"^(?!\s*;).*(?<![%$@.\w]){spelling_of(TILE_LANGUAGE, folder.name)}(?!\w)", re.M)

    def keeps(program: str) -> bool:
        return word.search(program) is not None and not girih.check(program)

    found = list(functions_of(path.read_text(encoding="utf-8")))
    if folder.name in PSEUDO_MNEMONICS:
        return shortest(found) if found else None
    using = [program for program in found if keeps(program)]
    return reduced(shortest(using), keeps) if using else None


def rejected(folder: Path) -> dict[str, str]:
    """For each code of an instruction a small program that is refused with it, with no other code if possible."""
    path = folder / "bad.tl"
    if not path.exists():
        return {}
    by_code: dict[str, list[str]] = {}
    for program in functions_of(path.read_text(encoding="utf-8")):
        for code in codes_in(program):
            if code.startswith(folder.name + "."):
                by_code.setdefault(code, []).append(program)
    return {code: _smallest(programs, code) for code, programs in by_code.items()}


def _only_first(program: str, code: str) -> str:
    """The program without its guilty lines, but for the first with the code."""
    kept: list[str] = []
    shown = False
    for line in program.splitlines(keepends=True):
        guilty = codes_in(line)
        first = code in guilty and not shown
        shown = shown or first
        if not guilty or first or re.search("[{}]", line.split(";")[0]):
            kept.append(line)
    return "".join(kept)


def _smallest(programs: Sequence[str], code: str) -> str:
    """The smallest program that is refused with the code, and with no code that its comments do not announce."""
    program = shortest(programs)

    def keeps(smaller: str) -> bool:
        told = [(d.span.line, d.code) for d in girih.check(smaller)]
        return any(found == code for _, found in told) and sorted(told) == announced(smaller)

    start = _only_first(program, code)
    return reduced(start if keeps(start) else program, keeps)


def announced(program: str) -> list[tuple[int, str]]:
    """The codes that comments of a program expect, with their lines."""
    return sorted((number, code) for number, line in enumerate(program.splitlines(), 1) for code in codes_in(line))


def found_by_running() -> dict[str, str]:
    """For each code of a run the shortest program that ends with it and no other, below the call that ends so."""
    by_code: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests" / "ops").glob("*/run.tl")):
        text = path.read_text(encoding="utf-8")
        programs = {_NAME.findall(program)[0]: program for program in functions_of(text)}
        for call, name, code in _FINDS.findall(text):
            if name in programs:
                by_code.setdefault(code, []).append(f"{call}\n{programs[name]}")
    return {code: shortest(programs) for code, programs in by_code.items()}


def found_in_shaders() -> dict[str, str]:
    """For each code of a run the shortest shader with a fault that ends so, the faulty lines marked.

    Comments at its head say what it is given.
    """
    by_code: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests" / "shaders").rglob("*.comp")):
        text = path.read_text(encoding="utf-8")
        codes = _SHADER_FINDS.findall(text)
        if len(codes) == 1 and "// here" in text:
            by_code.setdefault(f"run.{codes[0]}", []).append(_with_its_fault(text, f"run.{codes[0]}"))
    return {code: shortest(programs) for code, programs in by_code.items()}


def _with_its_fault(text: str, code: str) -> str:
    """A shader as it is compiled with its fault, without what every shader has at its head."""
    given = [line for line in text.splitlines() if _GIVEN.match(line)]
    faulty = [line.replace(" fault:", ":", 1) for line in given if " fault:" in line]
    names = {line.split(": ")[0] for line in faulty}
    head = [*faulty, *(line for line in given if " fault:" not in line and line.split(": ")[0] not in names)]
    lines: list[str] = []
    keeping = True
    for line in text.splitlines():
        if (condition := re.match(r"#(ifdef|ifndef) FAULT|#(else|endif)\b", line)) is not None:
            keeping = {"ifdef": True, "ifndef": False, "else": not keeping, "endif": True}[condition[1] or condition[2]]
        elif keeping and not line.startswith(("#version", "#extension", "// ")):
            lines.append(re.sub(r"// here.*", f"// finds {code}", line))
    told = sorted(line for line in head if line not in ("// grid: 1", "// address: none"))
    return "\n".join([*told, *lines]).strip("\n") + "\n"


def laid_out(program: str) -> str:
    """The program as `girih fmt` lays it out; as it is where its errors keep the formatter from reading it."""
    text, _ = format_source(Source(program), TILE_LANGUAGE)
    return _BEHIND_EMPTY.sub(r"{ \2\n\1", text)  # the comment stays on the guilty line


def collect() -> str:
    """The text of the file."""
    found: dict[str, dict[str, str]] = {"accepted": {}, "rejected": {}, "remarked": {}}
    for folder in sorted(path for path in (ROOT / "tests" / "ops").iterdir() if path.is_dir()):
        program = accepted(folder)
        if program is not None:
            found["accepted"][folder.name] = program
        found["rejected"] |= rejected(folder)
    found["rejected"] |= found_by_running()
    for path in sorted((ROOT / "tests" / "front" / "codes").glob("*.tl")):
        found["rejected"][path.stem] = path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests" / "back" / "remarks").glob("*.tl")):
        found["remarked"][path.stem] = path.read_text(encoding="utf-8")
    for programs in found.values():
        programs.update({topic: laid_out(program) for topic, program in programs.items()})
    found["shader"] = found_in_shaders()
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(collect(), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
