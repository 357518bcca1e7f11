"""Write docs/errors.md and docs/language/ from the tables of the checker, so that they are never out of date; the pages
that tools/pages/ makes, on the coverage of the specifications, on the suite of bugs, of litmus tests, on profiles of
devices and on the rules of SPIR-V; and the generated parts of the pages of kernels (tools/pages/kernels.py) and of the
page on speed (tools/speed_pictures.py).

`make generate` calls it, after tools/generate_examples.py; a test holds that the committed pages are what it writes.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from girih.arguments.layout import dtype_name
from girih.arguments.scalars import DTYPES
from girih.commands.parts.reference import (
    PSEUDO,
    codes_of_rules,
    describe_rules,
    examples,
    fields_of,
    group_of,
    other_codes,
    spelling_of,
)
from girih.ir.floats import FORMATS
from girih.ir.syntax import syntax
from girih.ir.types import NUMBERS, PARTS, SCALARS, Boolean, Number, promotable
from girih.ops.tile import TILE_LANGUAGE as LANGUAGE
from girih.rules.codes import Code
from tools.markdown import table
from tools.pages import bugs, coverage, kernels, litmus, profiles, spellings, spirv
from tools.speed_pictures import pages as speed_page

ROOT = Path(__file__).resolve().parent.parent

TITLES = {
    "arith": "Arithmetic, comparison, conversion and constants",
    "math": "Mathematical functions",
    "memory": "Memory",
    "control": "Loops, branches, regions, barriers and prints",
    "linalg": "Collective linear algebra",
    "coopmatrix": "Cooperative matrices",
    "coopmatrix_regions": "Functions of components of cooperative matrices",
    "tensor_layout": "Tensor layouts and views",
    "coopmatrix_tensor": "Cooperative matrices through tensor layouts, and in blocks",
    "tensor_map": "Copies through tensor maps",
    "subgroup": "Subgroup operations",
    "builtin": "Where a work-item is",
}
"""The families of instructions, each with a page of the language reference, in order."""

FUNCTIONS = "functions"
"""The page of functions, parameters and types, which have rules without being instructions."""
FUNCTIONS_TITLE = "Functions, parameters and types"

SHORT = 600
"""The number of characters below which an example is short."""

WRITTEN = "<!-- Written by tools/generate_docs.py from the tables of the checker; do not edit. -->"

ABOUT_CODES = """\
The codes of errors, warnings and findings, and what each of them means. `girih explain CODE` shows the same with
examples. An *error* refuses a program or a launch, a *warning* does not. A *finding* is made while a kernel runs: the
interpreter collects findings and leaves arrays as they were before the launch, compiled code stops at the first;
[targets](targets.md) says what each finds. A [*remark*](remarks.md) says what a target made of a kernel.

The code of an instruction leads to its rule in [the language reference](language/index.md), in words and as it is
checked, with its source and example programs. The other codes are explained here, with a program that breaks the rule.
`girih explain` also knows the rules of address models, such as `tensor_map.box_dim`; [every rule](addressing/rules.md)
lists them. Codes of SPIR-V modules begin with `spirv.`: they have [a page of their own](spirv/rules.md).
"""

ABOUT_THE_LANGUAGE = """\
Every instruction of the tensor language: how it is written, its operands, its restrictions, a program that uses it and
one that is refused. Each family of instructions has a page. `girih explain gemm` shows the same in a terminal.

## How to read a page

- **Syntax** is in the notation of specification 003: quoted text stands for itself, brackets enclose what may be left
  out, `/` separates choices, `*( )` may be repeated; `%a` is a local value that the reference calls `a`.
- A *collective* instruction is executed by the whole work-group, an *SPMD* one by each work-item for itself; a *mixed*
  one stands in both kinds of region. [The execution model](../execution.md) explains them.
- In **restrictions**, a ⪯ b says that type a promotes to type b. The message about a broken rule has its code: the name
  of the instruction, a dot, and the name of the rule, such as `gemm.k`. [All codes](../errors.md) are on one page.
- In formulas, indices count from 0, op(a) is a or its transpose, and a_p is the value of work-item p in a subgroup of
  S.
- The comments of an **example**, `; run: f(x=1) == x=2`, say what it is called with and what the arrays hold then; the
  tests run all of them. In a **rejected** program, `; error: code` marks the wrong line.

## Families

"""


def anchor(title: str) -> str:
    """The anchor that Markdown renderers give a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def errors_page() -> str:
    """The text of docs/errors.md."""
    lines = ["# Every code", "", WRITTEN, "", *ABOUT_CODES.splitlines(), ""]
    stages = other_codes()
    titles = [*stages, FUNCTIONS_TITLE, "Instructions"]
    lines += [f"- [{title}](#{anchor(title)})" for title in titles] + [""]
    for stage, codes in stages.items():
        lines += [f"## {stage}", ""]
        rows = [(_marked(c, f"#{_example_id(c)}"), c.severity, c.says) for c in codes]
        lines += [*table(["code", "severity", "rule"], rows), ""]
        for code in codes:
            lines += _told(code)
    owners = {FUNCTIONS_TITLE: list(PSEUDO), "Instructions": sorted(LANGUAGE.ops)}
    for title, names in owners.items():
        lines += [f"## {title}", "", *_codes_by_owner(names), ""]
    return "\n".join(lines).rstrip() + "\n"


def _codes_by_owner(names: Sequence[str]) -> list[str]:
    """A table of the codes of instructions, or of functions, parameters and types."""
    codes = {name: codes_of_rules(LANGUAGE, name) for name in names}
    rows = [(f"`{name}`", ", ".join(_marked(code, rule_of(code)) for code in codes[name])) for name in names]
    return table(["of", "codes"], [row for row in rows if row[1]])


def _marked(code: Code, link: str) -> str:
    """A code as an anchor that links lead to, and itself a link."""
    return f'<a id="{code.code}"></a>[`{code.code}`]({link})'


def _example_id(code: Code) -> str:
    return code.code if _program(code) is None else f"{code.code}.example"


def _program(code: Code) -> str | None:
    """The program that a code is shown with; None for a code that is shown with none."""
    known = examples()
    shown = (known[kind].get(code.code) for kind in ("rejected", "remarked", "shader"))
    return next(filter(None, shown), None)


def _told(code: Code) -> list[str]:
    """The section of a program that is told a code."""
    program = _program(code)
    if program is None:
        return []
    return [f'<a id="{_example_id(code)}"></a>', f"[`{code.code}`](#{code.code}): {code.says}", "",
            *_fenced("text", program)]  # fmt: skip


def _fenced(language: str, program: str) -> list[str]:
    """The lines of a program in a fence; none for a program that cannot be shown."""
    shown = program.rstrip("\n")
    if not shown.isprintable() and any(not c.isprintable() and c not in "\n\t" for c in shown):
        return ["A program with characters that cannot be shown.", ""]
    return [f"```{language}", shown, "```", ""]


def rule_of(code: Code) -> str:
    """The link to the rule of a code, relative to docs/."""
    page = FUNCTIONS if code.owner in PSEUDO else group_of(LANGUAGE, code.owner)
    return f"language/{page}.md#{code.code}"


def _says(code: Code) -> str:
    warns = "*warning:* " if code.severity == "warning" else ""
    needs = f" (depends on the target: {code.needs})" if code.needs else ""
    return warns + code.says + needs


def language_pages() -> dict[str, str]:
    """The index of the language reference, and its page for every family, by path in the repository."""
    index = ["# The language", "", WRITTEN, "", *ABOUT_THE_LANGUAGE.rstrip().splitlines(), ""]
    found = {}
    for group, title in TITLES.items():
        mnemonics = sorted(m for m in LANGUAGE.ops if group_of(LANGUAGE, m) == group)
        links = ", ".join(f"[`{m}`]({group}.md#{anchor(m)})" for m in mnemonics)
        index += [f"- [{title}]({group}.md): {links}"]
        found[f"docs/language/{group}.md"] = _page(title, mnemonics, [_instruction(m) for m in mnemonics])
    links = ", ".join(f"[`{pseudo}`]({FUNCTIONS}.md#{pseudo})" for pseudo in PSEUDO)
    index += [f"- [{FUNCTIONS_TITLE}]({FUNCTIONS}.md): {links}"]
    index += ["- [Both spellings](python.md): every instruction as a text and as Python, and the words of Python"]
    found[spellings.PAGE] = spellings.page(TITLES)
    found[f"docs/language/{FUNCTIONS}.md"] = _page(FUNCTIONS_TITLE, list(PSEUDO), [_pseudo(p) for p in PSEUDO])
    return {"docs/language/index.md": "\n".join(index) + "\n", **found}


def _page(title: str, names: Sequence[str], sections: Iterable[Sequence[str]]) -> str:
    """The page of a family: a list of its names, then section after section."""
    links = ", ".join(f"[`{name}`](#{anchor(name)})" for name in names)
    head = [f"# {title}", "", WRITTEN, "", f"{links}. [How to read this page](index.md#how-to-read-a-page).", ""]
    return "\n".join([*head, *(line for section in sections for line in section)]).rstrip() + "\n"


def _pseudo(name: str) -> list[str]:
    """The section of functions, parameters or types, which have rules without being instructions."""
    restrictions = _restrictions(codes_of_rules(LANGUAGE, name))
    more = _scalar_types() if name == "type" else []
    return [f"## {name}", "", PSEUDO[name], "", *more, *restrictions, "", *_programs(name)]


def _scalar_types() -> list[str]:
    """The table of the scalar types, with what each promotes to, and what it leaves to say."""
    rows = []
    for name, type in SCALARS.items():
        wider = [to for to in NUMBERS.values() if isinstance(type, Number) and type != to and promotable(type, to)]
        size, promotes = DTYPES[type].itemsize, " ".join(f"`{to}`" for to in wider)
        rows.append((f"`{name}`", str(size), _values_of(type), f"`{dtype_name(DTYPES[type])}`", promotes))
    return [*table(["scalar type", "bytes", "values", "NumPy", "promotes to"], rows), "", *EIGHT_BITS.split("\n"), ""]


EIGHT_BITS = """\
A type promotes to another one if all its values are exact there.

`f8e4m3` and `f8e5m2` are the floats of eight bits of OCP OFP8. They are in memrefs, groups, parameters, constants, and
matrices of use `matrix_a` and `matrix_b`; they are loaded and stored, `cast`, `bitcast`, and multiplied by
`cooperative_matrix_mul_add`, two of either type, with an accumulator of `f32`. Arithmetic, comparisons, functions, sums
over a subgroup, atomics and the collective linear algebra refuse them: cast to `f16` or `f32` first, and back at the
end. A cast to them rounds to nearest even and then saturates, infinities too; NaN stays NaN. A constant that is too
large is an error, and so is an infinity of `f8e4m3`, which has none."""


def _values_of(type: Number | Boolean) -> str:
    """The values of a scalar type, in words."""
    if isinstance(type, Boolean):
        return "true and false"
    if type.family == "integer":
        return f"integers of {8 * type.size} bits"
    part = PARTS.get(type, type)
    format = FORMATS[part]
    infinity = "" if format.infinite else ", no infinity"
    words = f"{format.precision} significant bits, up to {format.largest:.5g}{infinity}"
    return words if part is type else f"real and imaginary part of {part}"


def _instruction(mnemonic: str) -> list[str]:
    """The section of an instruction."""
    spec = LANGUAGE.ops[mnemonic].spec
    lines = [f"## {mnemonic}", "", *_paragraphs(spec.doc), ""]
    formula = _formulas().get(mnemonic)
    lines += ["```text", *formula.split("; "), "```", ""] if formula else []
    lines += [f"*{spec.where.value} instruction, {spec.section}*", "", "**Syntax**", ""]
    lines += ["```text", syntax(spec), "```", ""]
    fields = fields_of(spec)
    if fields:
        rows = [(" ".join(f"`{n}`" for n in f.name.split()), f.kind, f.doc, f.access) for f in fields]
        lines += ["**Operands**", "", *table(["operand", "what stands there", "meaning", "memory"], rows), ""]
    rules = codes_of_rules(LANGUAGE, mnemonic)
    lines += ["**Restrictions**", "", *_restrictions(rules), ""] if rules else []
    return [*lines, *_programs(mnemonic)]


def _paragraphs(doc: str) -> list[str]:
    return [line.strip() for line in doc.splitlines()]


def _programs(mnemonic: str) -> list[str]:
    """An example that runs, or at least is accepted, and one that is rejected."""
    shown = example_that_runs(mnemonic) or examples()["accepted"].get(mnemonic)
    lines = ["**Example**", "", *_fenced("tl", shown)] if shown else []
    rejected = describe_rules(LANGUAGE, mnemonic)["rejected"]
    return [*lines, "**Rejected**", "", *_fenced("tl", str(rejected))] if rejected else lines


@cache
def example_that_runs(mnemonic: str) -> str | None:
    """The first function of an instruction's run.tl that is short and has a vector of one line, else the shortest."""
    path = ROOT / "tests" / "ops" / mnemonic / "run.tl"
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    vectors: dict[str, str] = {}
    for vector in re.findall(r"^; run: .*(?:==|~).*$", text, re.M):
        vectors.setdefault(re.findall(r"\w+", vector)[1], vector)
    examples = _generator("generate_examples.py")
    word = re.compile(rf"(?<![%$@.\w]){spelling_of(LANGUAGE, mnemonic)}(?!\w)")
    found = []
    for program in examples["functions_of"](text):
        name = re.findall(r"^func\s*@(\w+)", program, re.M)[0]
        if name in vectors and word.search(program):
            found.append(f"{vectors[name]}\n{program}")
    shown = next((program for program in found if len(program) < SHORT), min(found, key=len, default=None))
    return None if shown is None else str(examples["laid_out"](shown))


@cache
def _generator(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / name))


def _formulas() -> dict[str, str]:
    found: dict[str, str] = _generator("formulas.py")["FORMULAS"]
    return found


def _restrictions(codes: Sequence[Code]) -> list[str]:
    rows = [(_rule(c), _says(c), f"`{c.rule}`", c.source or "") for c in codes]
    return table(["rule", "restriction", "as checked", "source"], rows)


def _rule(code: Code) -> str:
    return f'<a id="{code.code}"></a>`{code.id}`'


def pages() -> dict[str, str]:
    """The text of every generated page by its path in the repository."""
    groups = {group_of(LANGUAGE, mnemonic) for mnemonic in LANGUAGE.ops}
    assert groups == set(TITLES), "every instruction stands under a heading"
    found = {"docs/errors.md": errors_page(), coverage.PAGE: coverage.page(), bugs.PAGE: bugs.page()}
    found |= {litmus.PAGE: litmus.page(), profiles.PAGE: profiles.page(), **spirv.pages()}
    return {**found, **language_pages(), **kernels.pages(), **speed_page()}


if __name__ == "__main__":
    runpy.run_path(str(ROOT / "tools" / "generate_examples.py"), run_name="__main__")
    (ROOT / "docs" / "language").mkdir(exist_ok=True)
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
