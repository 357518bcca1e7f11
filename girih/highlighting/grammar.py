"""Which part of a text in the tensor language is what, from the instructions of the language.

A flat TextMate grammar: a pattern is one regular expression with one scope, so that any tokenizer can use it. Editors
read it as editors/girih.tmLanguage.json, which `make generate` writes, and Pygments by `girih.highlighting.lexer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from girih.front.text.constant_parser import ATTRIBUTE_NAMES
from girih.front.text.definitions import OPERATORS
from girih.front.text.type_parser import TYPE_KEYWORDS
from girih.ir.grid import FUNCTIONS
from girih.ir.language import Language
from girih.ir.types import SCALARS, AddressSpace, ClampMode, MapMode, MatrixScope, Use

_NAME = "(?:[A-Za-z][A-Za-z0-9_]*|[0-9]+)"
_BEGIN, _END = r"(?<![%$@.\w])", r"(?!\w)"
_HEX = "[0-9A-Fa-f]"
_FLOATS = (
    rf"0[xX](?:(?:{_HEX}*\.{_HEX}+|{_HEX}+\.)(?:[pP][+-]?[0-9]+)?|{_HEX}+[pP][+-]?[0-9]+)",
    r"(?:[0-9]*\.[0-9]+|[0-9]+\.)(?:[eE][+-]?[0-9]+)?",
    r"[0-9]+[eE][+-]?[0-9]+",
)


def words(spellings: Iterable[str], end: str = _END) -> str:
    """The regular expression for any of the spellings, the longest first."""
    listed = "|".join(re.escape(word) for word in sorted(set(spellings), key=lambda word: (-len(word), word)))
    return f"{_BEGIN}(?:{listed}){end}"


def format_words(language: Language) -> set[str]:
    """The words of instructions besides their mnemonics: `init`, `else` and the like."""
    found: set[str] = set()
    for declared in language.ops.values():
        spec = declared.spec
        found |= {word for word in spec.format if re.fullmatch("[a-z]+", word) and word not in spec.roles}
    return found


def modifiers(language: Language) -> set[str]:
    """The spellings of all modifiers, without the dot."""
    return {choice for declared in language.ops.values() for role in declared.spec.modifiers for choice in role.choices}


def patterns(language: Language) -> list[tuple[str, str]]:
    """Scopes and regular expressions; where two match at the same place, the first counts."""
    control = {name for name, declared in language.ops.items() if declared.__module__.endswith(".control")}
    mnemonics = {declared.spec.word for declared in language.ops.values()}
    kinds = {member.value for kind in (AddressSpace, Use, MatrixScope, ClampMode, MapMode) for member in kind}
    both = "|".join(sorted(kinds & mnemonics))
    modifier = "|".join(sorted(map(re.escape, modifiers(language)), key=lambda word: (-len(word), word)))
    symbols = "".join(re.escape(word) for word in OPERATORS if len(word) == 1)
    return [
        ("comment.line.semicolon", r";.*$"),
        ("string.quoted.double", r'"[\x20-\x21\x23-\x7e]*"'),
        ("variable.other.local", f"%{_NAME}"),
        ("entity.name.function", f"@{_NAME}"),
        ("constant.other.definition", rf"\${_NAME}"),
        ("support.function.calculation", r"!calc\b"),
        ("storage.modifier.instruction", rf"(?<=\w)\.(?:{modifier}){_END}"),
        ("storage.type.function", words(["func"])),
        ("entity.other.attribute-name", words(ATTRIBUTE_NAMES, r"(?=\s*=)")),
        ("constant.language", rf"{_BEGIN}[+-]?(?:true|false|inf|nan){_END}"),
        ("constant.numeric.float", rf"(?<![%$@\w])[+-]?(?:{'|'.join(_FLOATS)})"),
        ("storage.type", words(SCALARS, r"(?![A-Za-wyz0-9_])")),
        ("storage.type.composite", words(TYPE_KEYWORDS)),
        ("storage.modifier.type", words({*kinds - mnemonics, "strided", "offset"}) + rf"|\b(?:{both})(?=\s*>)"),
        ("keyword.control", words(control)),
        ("keyword.other", words({"attributes", *format_words(language)})),
        ("support.function.instruction", words({*mnemonics, *FUNCTIONS} - control)),
        ("keyword.operator.shape", r"(?<=[0-9>?x\s])x(?=[0-9?$\s+])"),
        ("constant.numeric.integer", r"[+-]?[0-9]+"),
        ("keyword.operator", rf"->|<=|[=?:{symbols}]"),
        ("punctuation", r"[{}()\[\]<>,]"),
    ]


def grammar(language: Language) -> str:
    """The text of the grammar as editors read it, in JSON."""
    held = {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Girih",
        "scopeName": "source.girih",
        "fileTypes": ["tl"],
        "patterns": [{"name": f"{scope}.girih", "match": expression} for scope, expression in patterns(language)],
    }
    return json.dumps(held, indent=2, ensure_ascii=False) + "\n"
