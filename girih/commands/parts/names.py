"""A name of the specifications as `girih explain` shows it: its meaning, where it is defined, and girih's spelling."""

from __future__ import annotations

from girih.commands.parts.additions import ADDITIONS, VOCABULARY
from girih.ir.language import Language
from girih.rules.codes import entry, wrapped
from girih.specifications.name import SpecificationName

_TITLES = {one.number: one.title for one in VOCABULARY}


def name_text(language: Language, name: SpecificationName, asked: str) -> str:
    """The text of `girih explain` for a name; `asked` is one of its spellings, or means one."""
    called = asked if asked in name.names else name.meant(asked) or name.name
    others = [one for one in name.names if one != called]
    place = f"{name.specification} {_TITLES[name.specification]}, {name.section}"
    told = {
        **({"page": name.section} if name.specification == ADDITIONS.number else {"section": place}),
        "also": ", ".join(others),
        "girih": "; ".join(_spellings(language, name)),
        "planned": ", ".join(_planned(language, name)),
        "because": name.because,
    }
    lines = [f"{called} ({name.kind})", "", *wrapped(name.says), ""]
    return "\n".join([*lines, *(line for title, text in told.items() if text for line in entry(title, text))])


def described_name(language: Language, name: SpecificationName) -> dict[str, object]:
    """The same as plain values."""
    return {
        "name": name.name,
        "also": list(name.also),
        "kind": name.kind,
        "specification": name.specification,
        "section": name.section,
        "says": name.says,
        "instructions": [op for op in name.ops if op in language.rules],
        "functions": [f"girih.addressing.{one}" for one in name.python],
        "spelling": name.spelling.strip("`") or None,
        "planned": _planned(language, name),
        "because": name.because or None,
    }


def _spellings(language: Language, name: SpecificationName) -> list[str]:
    """The instructions, the form in a program, the functions."""
    ops = [op for op in name.ops if op in language.rules]
    return [
        *ops,
        *([name.spelling.strip("`")] if name.spelling else []),
        *(f"girih.addressing.{p}" for p in name.python),
    ]


def _planned(language: Language, name: SpecificationName) -> list[str]:
    """What will have the name: instructions that are not there yet, and targets or front ends."""
    return [*(op for op in name.ops if op not in language.rules), *filter(None, [name.planned])]
