"""Codes of diagnostics about SPIR-V modules: their rows, their sources, and a text that each accepts and rejects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from girih.front.shaders.compile import COMPILE_CODES
from girih.front.spirv.codes import TRANSLATION_CODES
from girih.front.spirv.judged import ENTRY_POINT_CODES
from girih.rules.codes import Code, codes_of, entry, explained, wrapped
from girih.spirv.assemble import TEXT_CODES
from girih.spirv.binary import BINARY_CODES
from girih.spirv.examples import Example, packed
from girih.spirv.grammar import Opcode, grammar
from girih.spirv.rules.book import chapters, rows
from girih.spirv.rules.row import INSTRUCTION, MODULE, SpirvRow
from girih.spirv.specialise import DEFINITION_CODES

PREFIX = "spirv."

_TITLES = {"grammar": "Words, ids and declarations", "flow": "Control flow", "glsl450": "GLSL.std.450"}
"""The headings of chapters whose modules have names that are not words."""


def plain_codes() -> dict[str, Code]:
    """The codes that are not about rules of instructions: of bytes, texts, definitions, and compilers."""
    tables: tuple[Mapping[str, str], ...] = (
        BINARY_CODES, TEXT_CODES, DEFINITION_CODES, COMPILE_CODES, ENTRY_POINT_CODES, TRANSLATION_CODES,
    )  # fmt: skip
    said = {code: says for table in tables for code, says in table.items()}
    return {c: Code(c, "warning" if c.endswith(".warning") else "error", says) for c, says in said.items()}


def codes_of_owner(owner: str) -> list[Code]:
    """The codes of an instruction's own rules, of the module's, or of those that every instruction has."""
    return codes_of(PREFIX + owner, rows().get(owner, ()))


def opcode_of(name: str) -> Opcode | None:
    """The instruction of a name, in whichever case; None for an unknown one."""
    known = grammar().codes
    if name in known:
        return grammar().named(name)
    alike = next((one for one in known if one.lower() == name.lower()), None)
    return grammar().named(alike) if alike else None


def row_of(code: str) -> tuple[str, SpirvRow] | None:
    """The owner and the row of a code `spirv.Opcode.rule`; None for an unknown one."""
    owner, _, id = code.removeprefix(PREFIX).rpartition(".")
    opcode = opcode_of(owner)
    own = opcode.name if opcode else owner
    for where in (own, INSTRUCTION) if opcode else (own,):
        for row in rows().get(where, ()):
            if row.id == id:
                return own, row
    return None


def code_of(code: str) -> Code | None:
    """What a code says; None for an unknown one."""
    found = row_of(code)
    if found is None:
        return plain_codes().get(code)
    owner, row = found
    return codes_of(PREFIX + owner, [row])[0]


def example_of(code: str) -> Example | None:
    """The example of a code's row, which may be of another instruction that shares it; None where there is none."""
    found = row_of(code)
    if found is None:
        return None
    return packed().get(code.removeprefix(PREFIX)) or _examples_of_rows().get(found[1])


@cache
def _examples_of_rows() -> Mapping[SpirvRow, Example]:
    """An example of each row that has one."""
    of_codes = ((row_of(PREFIX + name), one) for name, one in packed().items())
    return {found[1]: one for found, one in of_codes if found is not None}


def chapters_of_codes() -> dict[str, list[Code]]:
    """Every rule once, under the first of the instructions that share it, by chapter."""
    listed: dict[str, list[Code]] = {}
    seen: set[SpirvRow] = set()
    for chapter, families in chapters().items():
        for family in families:
            own = [row for row in family.rows if row not in seen]
            seen.update(own)
            listed.setdefault(title(chapter), []).extend(codes_of(PREFIX + family.opcodes[0], own))
    return listed


def title(chapter: str) -> str:
    """The heading of a chapter of rules: `Values: types` for `values.types`."""
    return _TITLES.get(chapter) or chapter.replace(".", ": ").replace("_", " ").capitalize()


def described_code(code: Code) -> dict[str, Any]:
    """A code with its example as plain values, as `girih explain --format json` shows it."""
    example, found = example_of(code.code), row_of(code.code)
    row = found[1] if found else None
    return {
        "code": code.code,
        "severity": code.severity,
        "says": code.says,
        "rule": code.rule,
        "blames": code.blames,
        "source": code.source,
        "environment": "vulkan" if row is not None and row.vulkan else None,
        "spirv_val": row.beyond if row is not None else None,
        "accepted": example.module(example.accepted) if example else None,
        "rejected": example.module(example.rejected) if example else None,
    }


def explanation(code: Code) -> list[str]:
    """The lines that explain a code, without its example."""
    found = row_of(code.code)
    lines = explained(code)
    if found is not None:
        if found[1].vulkan:
            lines += entry("where", "in environments of Vulkan")
        if found[1].beyond:
            lines += ["", *wrapped(f"spirv-val accepts what this rule rejects: {found[1].beyond}")]
    return lines


OWNERS = (MODULE, INSTRUCTION)
"""What has rules without being an instruction."""
