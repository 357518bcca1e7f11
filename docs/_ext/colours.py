"""The colours of code in the pages, light and dark; a test holds that each can be read on its ground."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.style import Style
from pygments.token import Token

_USES = {
    "comment": (Token.Comment,),
    "instruction": (Token.Name.Builtin, Token.Keyword, Token.Generic.Prompt),
    "type": (Token.Keyword.Type, Token.Name.Class, Token.Name.Exception, Token.Name.Decorator),
    "name": (Token.Name.Variable, Token.Name.Attribute, Token.Name.Constant, Token.Name.Tag),
    "function": (Token.Name.Function, Token.Keyword.Pseudo),
    "number": (Token.Literal.Number, Token.Keyword.Constant),
    "string": (Token.Literal.String,),
    "quiet": (Token.Operator, Token.Generic.Output),
}
"""The tokens of each colour, by its use."""


def _styles(**colours: str) -> dict[Any, str]:
    chosen = {token: colours[use] for use, tokens in _USES.items() for token in tokens}
    return {Token: colours["text"], **chosen, Token.Comment: f"italic {colours['comment']}"}


class Light(Style):
    """Dark colours on light grey."""

    background_color = "#f6f8fa"
    styles: ClassVar[dict[Any, str]] = _styles(
        text="#1f2328", comment="#57606a", instruction="#0b5c66", type="#8a3d00", name="#1f4fa3",
        function="#6a2fb0", number="#8a1f6a", string="#1a6b2f", quiet="#4b535d",
    )  # fmt: skip


class Dark(Style):
    """Light colours on dark grey."""

    background_color = "#1d2128"
    styles: ClassVar[dict[Any, str]] = _styles(
        text="#e6e9ef", comment="#9aa4b2", instruction="#6cc5d0", type="#f0b673", name="#8fb8ff",
        function="#c9a7ff", number="#f29bd0", string="#8fd694", quiet="#b9c1cc",
    )  # fmt: skip
