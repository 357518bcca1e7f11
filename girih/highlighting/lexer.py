"""The tensor language for Pygments, from the grammar that editors read, so that pages and editors agree."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Token

from girih.highlighting.grammar import patterns
from girih.ops.tile import TILE_LANGUAGE

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
    """The lexer of the tensor language; text that the grammar does not know is plain.

    Pygments finds it by the aliases `girih` and `tl`, and by the ending `.tl` of files.
    """

    name = "Girih"
    aliases: ClassVar[Any] = ["girih", "tl"]
    filenames: ClassVar[Any] = ["*.tl"]
    flags = re.MULTILINE
    tokens: ClassVar[Any] = {
        "root": [
            *((expression, _token(scope)) for scope, expression in patterns(TILE_LANGUAGE)),
            (r"\s+", Token.Text.Whitespace),
            (r".", Token.Text),
        ]
    }
