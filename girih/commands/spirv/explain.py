"""What `girih explain` says of SPIR-V modules: a code, an instruction with its rules, a family of codes, all rules."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from girih.commands.parts.spirv_codes import (
    OWNERS,
    PREFIX,
    chapters_of_codes,
    code_of,
    codes_of_owner,
    described_code,
    explanation,
    opcode_of,
    plain_codes,
)
from girih.diagnostics import nearest, plural
from girih.rules.codes import Code, entry, listed, wrapped
from girih.spirv.grammar import Opcode, grammar
from girih.spirv.rules.row import INSTRUCTION

Explanation = tuple[str, dict[str, Any] | list[Any]]
"""The text of an explanation, and the same as plain values."""


def is_of_spirv(topic: str) -> bool:
    """Whether a topic is one of SPIR-V: `spirv`, a code that begins so, or the name of an instruction."""
    lowered = topic.lower()
    return lowered.partition(".")[0] == "spirv" or topic.startswith("Op") or opcode_of(topic) is not None


def explained_topic(topic: str) -> Explanation:
    """The explanation of a topic. Raises `click.UsageError` for an unknown one, with the nearest known."""
    family, _, rest = topic.partition(".")
    if family.lower() == "spirv":
        topic = PREFIX + rest if rest else ""
    if not topic:
        return _overview()
    known = topic if topic.startswith(PREFIX) else PREFIX + topic
    code = code_of(known)
    if code is not None:
        return _code(code)
    opcode = opcode_of(known.removeprefix(PREFIX))
    if opcode is not None:
        return "\n".join(_instruction_lines(opcode)), _described_instruction(opcode)
    codes = _family(known.removeprefix(PREFIX))
    if not codes:
        _refuse(topic)
    return "\n".join(f"{one.code}: {one.says}" for one in codes), [described_code(one) for one in codes]


def _code(code: Code) -> Explanation:
    described = described_code(code)
    lines = explanation(code)
    for title in ("accepted", "rejected"):
        if described[title]:
            lines += ["", title, textwrap.indent(described[title].rstrip(), "  ")]
    return _page(lines), described


def _overview() -> Explanation:
    """All chapters and families, each with the number of its codes."""
    chapters = chapters_of_codes()
    count = sum(map(len, chapters.values()))
    about = f"""{count} rules that `girih spirv check` holds a module to, by chapter. `girih explain OpIAdd` lists the
        rules of an instruction, `girih explain spirv.OpIAdd.operands` shows one, with a text that it accepts and one
        that it rejects."""
    lines = ["SPIR-V modules", "", *wrapped(about)]
    for title, codes in chapters.items():
        owners = dict.fromkeys(one.owner.removeprefix(PREFIX) for one in codes)
        lines += ["", f"{title}: {plural(len(codes), 'rule')}", *wrapped(", ".join(owners))]
    lines += ["", "Before there is a module", *(line for one in plain_codes().values() for line in listed(one))]
    everything = [*plain_codes().values(), *(one for codes in chapters.values() for one in codes)]
    return _page(lines), _plain(everything)


def _plain(codes: Sequence[Code]) -> list[dict[str, str]]:
    return [{"code": one.code, "severity": one.severity, "says": one.says} for one in codes]


def _family(name: str) -> list[Code]:
    """The codes of a family such as `text`, of the module's rules, or of those of every instruction."""
    plain = [one for code, one in plain_codes().items() if code.startswith(f"{PREFIX}{name}.")]
    return plain + (codes_of_owner(name) if name in OWNERS else [])


def _described_instruction(opcode: Opcode) -> dict[str, Any]:
    """An instruction of the grammar with its operands and rules, as plain values."""
    return {
        "instruction": opcode.name,
        "opcode": opcode.code,
        "aliases": list(opcode.aliases),
        "operands": [f"{one.kind}{one.quantifier} {one.name}" for one in opcode.operands],
        "capabilities": list(opcode.capabilities),
        "extensions": list(opcode.extensions),
        "version": None if opcode.version is None else "{}.{}".format(*opcode.version),
        "rules": _plain(codes_of_owner(opcode.name)),
    }


_QUANTIFIERS = {"?": ", may be absent", "*": ", any number"}


def _instruction_lines(opcode: Opcode) -> list[str]:
    """The lines that explain an instruction of the grammar."""
    told = {
        "opcode": str(opcode.code),
        "aliases": ", ".join(opcode.aliases),
        "needs": " or ".join(opcode.capabilities),
        "enabled": " or ".join(opcode.extensions),
        "version": "an extension brings it" if opcode.version is None else "{}.{}".format(*opcode.version),
    }
    lines = [opcode.name, "", *(line for title, text in told.items() if text for line in entry(title, text))]
    if opcode.operands:
        width = max(len(one.name) for one in opcode.operands)
        operands = ((one, _QUANTIFIERS.get(one.quantifier, "")) for one in opcode.operands)
        lines += ["", "operands", *(f"  {one.name:<{width}}  {one.kind}{often}" for one, often in operands)]
    own, everywhere = codes_of_owner(opcode.name), codes_of_owner(INSTRUCTION)
    if own:
        lines += ["", "rules", *(line for code in own for line in listed(code))]
    return [*lines, "", "rules of every instruction", *wrapped(", ".join(code.id for code in everywhere))]


def _page(lines: Sequence[str]) -> str:
    """The text of lines, with one empty line between paragraphs."""
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip()


def _refuse(topic: str) -> NoReturn:
    name = topic.removeprefix(PREFIX)
    owner, _, id = name.rpartition(".")
    opcode = opcode_of(owner)
    rules = [one for of in ((opcode.name, INSTRUCTION) if opcode else ()) for one in codes_of_owner(of)]
    ids = [one.id for one in rules or _family(owner)]
    families = dict.fromkeys(code.removeprefix(PREFIX).partition(".")[0] for code in plain_codes())
    close = nearest(id, ids) if ids else None
    if close is not None:
        hint = f"did you mean '{PREFIX}{opcode.name if opcode else owner}.{close}'?"
    elif ids:
        hint = f"its rules: {', '.join(ids)}"
    else:
        opcodes = {one.lower(): one for one in grammar().codes}
        near = opcodes.get(nearest((owner or name).lower(), opcodes) or "")
        near = near or nearest(owner or name, [*families, *OWNERS])
        shown = near if near in grammar().codes else f"{PREFIX}{near}"
        hint = f"did you mean {shown!r}?" if near else "`girih explain spirv` lists the rules of modules"
    raise click.UsageError(f"there is no code or instruction of SPIR-V {topic!r}; {hint}")
