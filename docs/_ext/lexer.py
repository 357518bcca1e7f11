"""The tensor language for Pygments, coloured by editors/girih.tmLanguage.json, so that pages and editors agree."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Token

GRAMMAR = Path(__file__).resolve().parent.parent.parent / "editors" / "girih.tmLanguage.json"

COLOURS = {
    "comment": Token.Comment.Single,
    "string": Token.Literal.String,
    "variable": Token.Name.Variable,
    "entity.name": Token.Name.Function,
    "entity.other": Token.Name.Attribute,
    "constant.other": Token.Name.Constant,
    "constant.language": Token.Keyword.Constant,
    "constant.numeric": Token.Literal.Number,
    "storage.type": Token.Keyword.Type,
    "storage.modifier": Token.Keyword.Pseudo,
    "keyword.operator": Token.Operator,
    "keyword": Token.Keyword,
    "support": Token.Name.Builtin,
    "punctuation": Token.Punctuation,
}
"""The token of a scope, by the beginning of the scope's name."""


def _token(scope: str) -> Any:
    return next(token for begin, token in COLOURS.items() if scope.startswith(begin))


class GirihLexer(RegexLexer):
    """The lexer of the tensor language; text that the grammar does not know is plain."""

    name = "Girih"
    flags = re.MULTILINE
    tokens: ClassVar[Any] = {
        "root": [
            *((p["match"], _token(p["name"])) for p in json.loads(GRAMMAR.read_text(encoding="utf-8"))["patterns"]),
            (r"\s+", Token.Text.Whitespace),
            (r".", Token.Text),
        ]
    }
