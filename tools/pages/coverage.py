"""Write docs/coverage.md: every name of specifications 000 to 004, what girih has for it, its tests, or why nothing.

The names are those of girih.specifications; rules, targets and tests are looked up, so that the page says what there
is. `make generate` calls it through tools/generate_docs.py. With the texts of the specifications,
`python tools/pages/coverage.py FILE...` says which of their names have no row.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from girih.back.llvm.cpu.table import CPU
from girih.commands.address.rules import address_rules
from girih.commands.parts.reference import PSEUDO, codes_of_rules, group_of
from girih.interpreter.machine.machine import MEANINGS
from girih.ops.tile import TILE_LANGUAGE as LANGUAGE
from girih.specifications import SPECIFICATIONS
from girih.specifications.name import SPIRV, Specification, SpecificationName
from tools.markdown import table

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/coverage.md"
MOST_TESTS = 3
"""Files of tests that a row names."""

ABOUT = """\
# Coverage of the specifications

<!-- Written by tools/pages/coverage.py from girih.specifications; do not edit. -->

Every section, instruction, enumerant, function, constant, type, state and pseudo-code function of the five
specifications, with what girih has for it and where that is tested, or the reason why it has nothing.
`girih explain NAME` says what a name means; `girih explain --names` lists all of them.

The instructions of the tensor language that the tables name stand [at the end](#instructions), with their rules, tests
and targets; `func`, `parameter` and `type` there are what has rules without being an instruction. *Planned* says what
will have a name that has nothing yet, or something more.

"""


# --- names in a text ---------------------------------------------------------------------------

PATTERNS = (
    r"\bOp[A-Z]\w+",  # instructions of SPIR-V
    r"\b(?:gl_|GL_|SPV_)\w+",  # constants of GLSL, extensions
    r"\b\w+(?:NV|KHR|ARM|EXT)\b",  # what an extension adds
    r"(?<!\w)\.(?:[a-z]{1,2}\d\w*|\w+::\w+(?:\.\w+)*)",  # types, state spaces and modes of PTX
    r"^[a-z][\w-]+(?= *=/?)",  # rules of a grammar
    r"(?<=\")\.?[a-z]\w+(?=\")",  # words in quotes in a grammar
    r"\b[a-z]+(?:[A-Z]\w*)?(?=\()",  # functions
)
NOT_NAMES = {"clip", "discard", "lceil", "s", "sizeof", "tie", "tuple"}
"""Words before a parenthesis that name nothing: of C++, of formulas, of the prose."""


def missing_names(text: str) -> list[str]:
    """The names in the text of a specification that have no row."""
    known = {spelling for specification in SPECIFICATIONS for name in specification for spelling in name.names}
    found = {name for pattern in PATTERNS for name in re.findall(pattern, text, re.M)}
    return sorted(found - known - NOT_NAMES)


# --- tests -------------------------------------------------------------------------------------


@cache
def texts() -> Mapping[str, str]:
    """The tests by path: files of Python, and programs."""
    paths = [path for ending in ("py", "tl") for path in (ROOT / "tests").rglob(f"*.{ending}")]
    named = sorted((path.relative_to(ROOT).as_posix(), path) for path in paths)
    return {name: path.read_text(encoding="utf-8") for name, path in named}


def evidence_of(name: SpecificationName) -> list[str]:
    """Tests of a name: folders of its instructions, files that use its functions, programs with its spelling."""
    found = [f"tests/ops/{op}/" for op in name.ops if op in LANGUAGE.rules]
    for public in name.python:
        found += _using(*public.split("."))
    if name.spelling == SPIRV:
        found += [test for one in name.names for test in _modules(one)]
    elif name.spelling and not found:
        found += _spelling(name.spelling.strip("`"))
    if name.kind == "grammar" and not found:
        found = ["tests/front/"]
    return list(dict.fromkeys(found))[:MOST_TESTS]


@cache
def _using(owner: str, *members: str) -> list[str]:
    """Tests of the address models that speak of a class or function and, as an attribute or keyword, of its member."""
    pattern = "|".join(rf"\.{one}\b|\b{one}=|\"{one}\"" for one in members)
    return [name for name, text in texts().items() if name.startswith("tests/addressing/test_")
            and re.search(rf"\b{owner}\b", text) and re.search(pattern, text)]  # fmt: skip


@cache
def _modules(name: str) -> list[str]:
    """Tests of modules and shaders that have a name."""
    folders = ("tests/spirv/", "tests/front/", "tests/shaders/", "tests/back/spirv/", "tests/runtime/")
    word = re.compile(rf"\b{re.escape(name)}\b")
    return [path for path, text in texts().items() if path.startswith(folders) and word.search(text)]


@cache
def _spelling(spelling: str) -> list[str]:
    """Programs of the tests that contain a spelling; those about remarks, bugs or order are left out."""
    plain = re.escape(spelling) + (r"\b" if spelling[-1].isalnum() else "")
    programs = {name: text for name, text in texts().items() if name.endswith(".tl")}
    about = (name for name in programs if not re.search(r"/(remarks|bugs|order)/", name))
    return [name for name in about if re.search(plain, programs[name])]


# --- the page ----------------------------------------------------------------------------------


def page() -> str:
    """The text of docs/coverage.md."""
    import_module("girih.interpreter.run")  # this fills MEANINGS
    lines = ABOUT.splitlines() + table(
        ["specification", "sections", "names", "in girih", "planned only", "none, with a reason"],
        [_counted(one) for one in SPECIFICATIONS],
    )
    for one in SPECIFICATIONS:
        lines += ["", f"## {one.number} {one.title}"]
        for section in one.sections:
            lines += ["", f"### {section.title}", "", section.says]
            if section.names:
                heads = ["name", "kind", "in girih", "planned, or why not", "tests"]
                lines += ["", *table(heads, [_row(name) for name in section.names])]
    return "\n".join([*lines, "", *_instructions()]).rstrip() + "\n"


def state_of(name: SpecificationName) -> str:
    """Whether girih has a name, will have it, or has a reason not to."""
    if any(op in LANGUAGE.rules for op in name.ops) or name.python or name.spelling or name.kind == "grammar":
        return "in girih"
    return "planned" if name.planned or name.ops else "none"


def _counted(one: Specification) -> list[str]:
    states = Counter(state_of(name) for name in one)
    numbers = [len(one.sections), sum(states.values()), states["in girih"], states["planned"], states["none"]]
    return [f"{one.number} {one.title}", *map(str, numbers)]


def _row(name: SpecificationName) -> list[str]:
    there = [f"[`{op}`](#op-{op})" for op in name.ops if op in LANGUAGE.rules]
    there += [f"`{public}`" for public in name.python] + ([name.spelling] if name.spelling else [])
    there += [
        f"rule [`{rule}`](addressing/rules.md)" for public in name.python for rule in _rules_of(*public.split("."))
    ]
    missing = [f"`{op}`" for op in name.ops if op not in LANGUAGE.rules]
    later = [f"planned: {', '.join([*missing, *filter(None, [name.planned])])}"] if missing or name.planned else []
    words = ", ".join(f"`{one}`" for one in name.names)
    tests = ", ".join(f"`{test}`" for test in evidence_of(name))
    return [words, name.kind, ", ".join(there), "; ".join([*later, *filter(None, [name.because])]), tests]


def _rules_of(owner: str, *members: str) -> list[str]:
    """The rules of an address model whose ids begin with the name of a member."""
    model = re.sub(r"(?<!^)(?=[A-Z])", "_", owner).lower()
    return [rule for member in members for rule in address_rules() if rule.startswith(f"{model}.{member}")]


def _instructions() -> list[str]:
    """The instructions with their rules, tests and targets; those that no specification names are marked."""
    named = {op for one in SPECIFICATIONS for name in one for op in name.ops}
    rows = [_instruction(op, op in named) for op in sorted(LANGUAGE.rules)]
    heads = ["instruction", "source", "rules", "tests", "targets"]
    words = "NVIDIA GPUs by PTX are a planned target of all of them."
    return ["## Instructions", "", words, "", *table(heads, rows)]


def _instruction(op: str, is_named: bool) -> list[str]:
    rules = ", ".join(f"`{code.id}`" for code in codes_of_rules(LANGUAGE, op))
    tests = f"`tests/ops/{op}/`"
    if op in PSEUDO:
        return [f'<a id="op-{op}"></a>[`{op}`](language/functions.md#{op})', "003", rules, tests, "the checker"]
    declared = LANGUAGE.ops[op]
    link = f'<a id="op-{op}"></a>[`{op}`](language/{group_of(LANGUAGE, op)}.md#{op})'
    targets = ["interpreter"] * (declared in MEANINGS) + ["cpu"] * bool(CPU.rules(declared))
    source = declared.spec.section if is_named else f"{declared.spec.section}: girih's own"
    return [link, source, rules, tests, ", ".join(targets)]


if __name__ == "__main__":
    absent = {path: missing_names(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]}
    print("\n".join(f"{path}: {', '.join(names) or 'every name has a row'}" for path, names in absent.items()))
    sys.exit(any(absent.values()))
