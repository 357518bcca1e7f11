"""Write docs/errors.md and docs/language.md from the tables of the checker, so that they are never out of date.

`make docs` calls it, after tools/generate_examples.py; a test holds that the committed pages are what it writes.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path

import girih.ops
from girih.commands.reference import (
    GROUPS,
    PSEUDO,
    Code,
    codes_of_rules,
    examples,
    fields_of,
    group_of,
    other_codes,
)
from girih.ir.define import OPS
from girih.ir.syntax import syntax

ROOT = Path(__file__).resolve().parent.parent

TITLES = {
    "arith": "Arithmetic, comparison, conversion and constants",
    "math": "Mathematical functions",
    "memory": "Memory",
    "control": "Loops, branches, regions and barriers",
    "linalg": "Collective linear algebra",
    "coopmatrix": "Cooperative matrices",
    "subgroup": "Subgroup operations",
    "builtin": "Where a work-item is",
}
"""The headings of the language reference, in order."""

WRITTEN = "<!-- Written by tools/generate_docs.py from the tables of the checker; do not edit. -->"

ABOUT_CODES = """\
What a program, a launch or a run can be told. `girih explain CODE` shows the same with examples. An *error* refuses
a program or a launch, a *warning* does not; a *finding* stops a run, and the arrays are as before the launch.
"""

ABOUT_THE_LANGUAGE = """\
Every instruction of the tensor language: how it is written, its operands and its restrictions. Syntax is in the
notation of specification 003: quoted text stands for itself, brackets enclose what may be left out, `/` separates
choices, `*( )` may be repeated; `%a` is a local value that the reference calls `a`. A *collective* instruction is
executed by the whole work-group, an *SPMD* one by each work-item for itself, a *mixed* one stands in both kinds of
region. In restrictions, a ⪯ b says that type a promotes to type b.
"""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def anchor(title: str) -> str:
    """The anchor that Markdown renderers give a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def errors_page() -> str:
    """docs/errors.md."""
    lines = ["# Every code", "", WRITTEN, "", *ABOUT_CODES.splitlines(), ""]
    for stage, codes in other_codes().items():
        lines += [f"## {stage}", ""]
        rows = [(f"`{c.code}`", c.severity, c.says) for c in codes]
        lines += [*table(["code", "severity", "rule"], rows), ""]
    for pseudo, doc in PSEUDO.items():
        lines += [f"## `{pseudo}`", "", doc, "", *_rules(codes_of_rules(pseudo)), ""]
    lines += ["## Instructions", ""]
    instructions = [row for mnemonic in sorted(OPS) for row in _rule_rows(codes_of_rules(mnemonic))]
    return "\n".join([*lines, *table(["code", "severity", "rule", "source"], instructions)]) + "\n"


def _rule_rows(codes: Sequence[Code]) -> list[tuple[str, str, str, str]]:
    return [(f"`{c.code}`", c.severity, _says(c), c.source or "") for c in codes]


def _says(code: Code) -> str:
    needs = f" (depends on the target: {code.needs})" if code.needs else ""
    return code.says + needs


def _rules(codes: Sequence[Code]) -> list[str]:
    return table(["code", "severity", "rule", "source"], _rule_rows(codes))


def language_page() -> str:
    """docs/language.md."""
    groups = {group: sorted(m for m in OPS if group_of(m) == group) for group in TITLES}
    lines = ["# The language", "", WRITTEN, "", *ABOUT_THE_LANGUAGE.splitlines(), ""]
    for group, mnemonics in groups.items():
        links = ", ".join(f"[`{m}`](#{anchor(m)})" for m in mnemonics)
        lines += [f"- [{TITLES[group]}](#{anchor(TITLES[group])}): {links}"]
    lines += [f"- [Functions, parameters and types](#{anchor('Functions, parameters and types')})", ""]
    for group, mnemonics in groups.items():
        lines += [f"## {TITLES[group]}", ""]
        for mnemonic in mnemonics:
            lines += _instruction(mnemonic)
    lines += ["## Functions, parameters and types", ""]
    for pseudo, doc in PSEUDO.items():
        lines += [f"### {pseudo}", "", doc, "", *_restrictions(codes_of_rules(pseudo)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _instruction(mnemonic: str) -> list[str]:
    spec = OPS[mnemonic].spec
    lines = [f"### {mnemonic}", "", spec.doc, "", f"{spec.where.value}, {spec.section}", ""]
    lines += ["```text", syntax(spec), "```", ""]
    fields = fields_of(spec)
    if fields:
        rows = [(" ".join(f"`{n}`" for n in f.name.split()), f.kind, f.doc, f.access) for f in fields]
        lines += [*table(["operand", "what stands there", "meaning", "memory"], rows), ""]
    rules = codes_of_rules(mnemonic)
    lines += [*_restrictions(rules), ""] if rules else []
    program = examples()["accepted"].get(mnemonic)
    return [*lines, "```text", program.rstrip(), "```", ""] if program else lines


def _restrictions(codes: Sequence[Code]) -> list[str]:
    rows = [(f"`{c.code.split('.')[1]}`", _says(c), f"`{c.rule}`", c.source or "") for c in codes]
    return table(["rule", "restriction", "as checked", "source"], rows)


def pages() -> dict[str, str]:
    """The text of every generated page by its path in the repository."""
    assert set(TITLES) <= set(GROUPS) <= set(girih.ops.__all__)
    return {"docs/errors.md": errors_page(), "docs/language.md": language_page()}


if __name__ == "__main__":
    runpy.run_path(str(ROOT / "tools" / "generate_examples.py"), run_name="__main__")
    (ROOT / "docs").mkdir(exist_ok=True)
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
