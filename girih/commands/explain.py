"""`girih explain`: a rule in words, its source and examples; an instruction with its syntax, operands and rules.

Rules of the address models are explained too, without loading them.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, NoReturn

import click

from girih.commands.address.rules import address_rules, explained
from girih.commands.parts.reference import all_codes, describe_code, describe_rules, written_as
from girih.commands.parts.report import print_json
from girih.front.text.spelling import nearest
from girih.ir.define import OPS, RULES

WIDTH = 100
MOST_LISTED = 60
"""Codes that an error message lists."""


def explain_topic(topic: str, *, as_json: bool) -> int:
    """Print what is known of a code, an instruction, a rule of the address models, or a family such as `syntax`."""
    topic = topic.strip().strip("`[]")
    topic = next((mnemonic for mnemonic in OPS if topic in written_as(mnemonic)), topic)
    codes, address = all_codes(), address_rules()
    family = [describe_code(code) for name, code in codes.items() if name.startswith(topic + ".")]
    family += [{"code": name, **rule} for name, rule in address.items() if name.startswith(topic + ".")]
    described: object
    if topic in RULES:
        text = _instruction(described := describe_rules(topic))
    elif topic in codes:
        text = _code(described := describe_code(codes[topic]))
    elif topic in address:
        text = explained(described := address[topic])
    elif family:
        text = _family(described := family)
    else:
        _unknown(topic, [*RULES, *codes, *address])
    if as_json:
        print_json(described)
    else:
        click.echo(text)
    return 0


def _unknown(topic: str, known: list[str]) -> NoReturn:
    owner = topic.split(".")[0]
    own = [name for name in known if name.startswith(owner + ".")] if "." in topic else []
    pool = own or known
    close = nearest(topic, pool) or nearest(topic.split(".")[-1], known)
    if close is None and pool is not known:
        listed = (
            f"its codes: {', '.join(pool)}" if len(pool) <= MOST_LISTED else f"`girih explain {owner}` lists its codes"
        )
        raise click.UsageError(f"{owner} has no rule {topic!r}; {listed}")
    hint = f"did you mean {close!r}?" if close else "docs/errors.md lists all codes, docs/language.md all instructions"
    raise click.UsageError(f"there is no code or instruction {topic!r}; {hint}")


def _code(d: dict[str, Any]) -> str:
    lines = [f"{d['code']} ({d['severity']})", "", *_wrapped(d["says"]), ""]
    for title in ("rule", "blames", "source", "needs"):
        if d[title]:
            lines += _entry(title, d[title])
    return _page([*lines, *_examples(d)])


def _instruction(d: dict[str, Any]) -> str:
    lines = [f"{d['mnemonic']}", "", *_wrapped(d["doc"]), ""]
    for title in ("region", "source", "syntax"):
        if title in d:
            lines += _entry(title, d[title])
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
    for rule in d["rules"]:
        severity = "" if rule["severity"] == "error" else f" ({rule['severity']})"
        lines += textwrap.wrap(f"{rule['code']}{severity}: {rule['says']}", WIDTH, initial_indent="  ",
                               subsequent_indent="      ")  # fmt: skip
    return _page([*lines, *_examples(d)])


def _family(found: list[dict[str, Any]]) -> str:
    return "\n".join(f"{d['code']}: {d['says']}" for d in found)


def _page(lines: list[str]) -> str:
    """The lines as text, with one empty line between paragraphs."""
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="  ", subsequent_indent="  ")


def _entry(title: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {title:<8}", subsequent_indent=" " * 10,
                         break_long_words=False)  # fmt: skip


def _examples(d: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for title in ("accepted", "rejected"):
        if d[title]:
            lines += ["", title, textwrap.indent(d[title].rstrip(), "  ")]
    return lines
