"""`girih explain`: a rule in words, its source and examples; an instruction with its syntax, operands and rules; a name
of the specifications with its meaning and girih's spelling.

`--list` names the rules and instructions, `--names` the names of the specifications. Rules of the address models are
explained too, without loading them.
"""

from __future__ import annotations

import re
import textwrap
from itertools import groupby
from operator import itemgetter
from typing import Any, NoReturn

import click

from girih.commands.address.rules import address_rules
from girih.commands.address.rules import explained as address_text
from girih.commands.parts.additions import VOCABULARY, known_as
from girih.commands.parts.names import described_name, name_text
from girih.commands.parts.reference import (
    all_codes,
    codes_of_rules,
    describe_code,
    describe_rules,
    other_codes,
    written_as,
)
from girih.commands.parts.report import print_json
from girih.diagnostics import nearest
from girih.ops.tile import TILE_LANGUAGE as LANGUAGE
from girih.rules.codes import WIDTH, Code, entry, explained, listed, wrapped

MOST_LISTED = 60
"""Codes that an error message lists."""


def explain_topic(topic: str, *, as_json: bool) -> int:
    """Print the explanation of a code, an instruction, a rule of the address models, or a family such as `syntax`."""
    topic = topic.strip().strip("`[]")
    if topic.lower().startswith(("spirv", "op")):
        from girih.commands.spirv.explain import is_of_spirv

        if is_of_spirv(topic):
            return _explain_spirv(topic, as_json=as_json)
    topic = next((mnemonic for mnemonic in LANGUAGE.ops if topic in written_as(LANGUAGE, mnemonic)), topic)
    codes, address = all_codes(LANGUAGE), address_rules()
    family = [describe_code(LANGUAGE, code) for name, code in codes.items() if name.startswith(topic + ".")]
    family += [{"code": name, **rule} for name, rule in address.items() if name.startswith(topic + ".")]
    described: object
    if topic in LANGUAGE.rules:
        text = _instruction(described := describe_rules(LANGUAGE, topic))
    elif topic in codes:
        text = _code(codes[topic], described := describe_code(LANGUAGE, codes[topic]))
    elif topic in address:
        text = address_text(described := address[topic])
    elif family:
        text = _family(described := family)
        text = "\n\n".join([*(name_text(LANGUAGE, one, topic) for one in known_as(topic)), text])
    else:
        rows = known_as(topic)
        if not rows:
            known = [*LANGUAGE.rules, *codes, *address]
            alike = next((name for name in known if name.lower() == topic.lower()), None)
            if alike is not None:
                return explain_topic(alike, as_json=as_json)
            rows = known_as(topic, loosely=True) or _unknown(topic, known)
        text = "\n\n".join(name_text(LANGUAGE, one, topic) for one in rows)
        described = [described_name(LANGUAGE, one) for one in rows]
    if as_json:
        print_json(described)
    else:
        click.echo(text)
    return 0


def _explain_spirv(topic: str, *, as_json: bool) -> int:
    """Print the explanation of a code or an instruction of SPIR-V modules, and what the specifications call so."""
    from girih.commands.spirv.explain import explained_topic

    text, described = explained_topic(topic)
    names = known_as(topic)
    if as_json:
        if isinstance(described, dict) and names:
            described["names"] = [described_name(LANGUAGE, one) for one in names]
        print_json(described)
    else:
        click.echo("\n\n".join([*(name_text(LANGUAGE, one, topic) for one in names), text]))
    return 0


def list_topics(*, as_json: bool) -> int:
    """Print every code with a line each, by the stage that reports it; as JSON: {stage, code, severity, says} each."""
    checked = [code for owner in LANGUAGE.rules for code in codes_of_rules(LANGUAGE, owner)]
    stages = {"Checking a program": checked} | other_codes()
    listed = [(stage, code.code, code.severity, code.says) for stage, codes in stages.items() for code in codes]
    listed += [("Checking an address model", r["rule"], r["severity"], r["says"]) for r in address_rules().values()]
    listed += _listed_of_spirv()
    if as_json:
        print_json([dict(zip(("stage", "code", "severity", "says"), row, strict=True)) for row in listed])
        return 0
    for stage, rows in groupby(listed, key=itemgetter(0)):
        click.echo("\n".join([stage, *(f"  {code}: {says}" for _, code, _, says in rows)]) + "\n")
    click.echo("\n".join(["Instructions", *wrapped(", ".join(LANGUAGE.ops))]))
    click.echo("\n`girih explain --names` lists the names of the specifications and of additions to them.")
    return 0


def _listed_of_spirv() -> list[tuple[str, str, str, str]]:
    """The codes of SPIR-V modules; a rule stands under the first of the instructions that share it."""
    from girih.commands.parts.spirv_codes import chapters_of_codes, plain_codes

    stages = {"Reading a SPIR-V module": list(plain_codes().values())}
    stages |= {f"Checking a SPIR-V module: {title}": codes for title, codes in chapters_of_codes().items()}
    return [(stage, code.code, code.severity, code.says) for stage, codes in stages.items() for code in codes]


def list_names(*, as_json: bool) -> int:
    """Print every name of the specifications with a line each, by section; as JSON: what `explain` says of each."""
    if as_json:
        print_json([described_name(LANGUAGE, one) for specification in VOCABULARY for one in specification])
        return 0
    for specification in VOCABULARY:
        for section in specification.sections:
            if section.names:
                click.echo(f"{specification.number} {section.title}")
                click.echo("\n".join(f"  {', '.join(one.names)}: {one.says}" for one in section.names) + "\n")
    return 0


def _unknown(topic: str, codes: list[str]) -> NoReturn:
    known = [*codes, *(name for specification in VOCABULARY for one in specification for name in one.names)]
    owner = topic.split(".")[0]
    own = [name for name in known if name.startswith(owner + ".")] if "." in topic else []
    pool = own or known
    # Codes of one owner are compared without it: `run.race` and `run.target` have no letters of a rule in common.
    rules = {name.removeprefix(owner + "."): name for name in own}
    close = rules.get(nearest(topic.partition(".")[2], rules) or "")
    if not own:
        lowered = {name.lower(): name for name in reversed(known)}
        close = lowered.get(nearest(topic.lower(), lowered) or "") or nearest(topic.split(".")[-1], known)
    if close is None and pool is not known:
        listed = (
            f"its codes: {', '.join(pool)}" if len(pool) <= MOST_LISTED else f"`girih explain {owner}` lists its codes"
        )
        raise click.UsageError(f"{owner} has no rule {topic!r}; {listed}")
    hint = f"did you mean {close!r}?" if close else "`girih explain --list` and `--names` list all of them"
    raise click.UsageError(f"there is no code, instruction or name {topic!r}; {hint}")


def _code(code: Code, d: dict[str, Any]) -> str:
    return _page([*explained(code), *_examples(d)])


def _instruction(d: dict[str, Any]) -> str:
    lines = [f"{d['mnemonic']}", "", *wrapped(d["doc"]), ""]
    for title in ("region", "source", "syntax"):
        if title in d:
            lines += entry(title, d[title])
    if d.get("operands"):
        lines += ["", "operands"]
        width = max(len(field["name"]) for field in d["operands"] if len(field["name"]) < 30)
        for field in d["operands"]:
            told = "; ".join(part for part in (field["kind"], field["doc"], field["access"]) if part)
            name = field["name"]
            if len(name) > width:
                lines += textwrap.wrap(name, WIDTH, initial_indent="  ", subsequent_indent="  ")
                name = ""
            lines += textwrap.wrap(told, WIDTH, initial_indent=f"  {name:<{width}}  ",
                                   subsequent_indent=" " * (width + 4))  # fmt: skip
    lines += ["", "rules"]
    lines += [line for code in codes_of_rules(LANGUAGE, d["mnemonic"]) for line in listed(code)]
    return _page([*lines, *_examples(d)])


def _family(codes: list[dict[str, Any]]) -> str:
    return "\n".join(f"{d['code']}: {d['says']}" for d in codes)


def _page(lines: list[str]) -> str:
    """The text of lines, with one empty line between paragraphs."""
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip()


def _examples(d: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for title in ("accepted", "rejected", "remarked", "shader"):
        if d.get(title):
            lines += ["", title, textwrap.indent(d[title].rstrip(), "  ")]
    return lines
