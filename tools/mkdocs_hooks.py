"""What the documentation needs of mkdocs: programs in colour, file names above them, and a page list for the kernels.

The colours come from editors/girih.tmLanguage.json, so that pages and editors agree.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import pygments.lexers
from pygments.lexer import RegexLexer
from pygments.token import Token

ROOT = Path(__file__).resolve().parent.parent
NAMED_FENCE = re.compile(r"^```([\w+-]+)[ ]+(\S+)[ ]*$", re.M)

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
"""The token of a scope, by how the scope begins."""


def _token(scope: str) -> Any:
    return next(token for begin, token in COLOURS.items() if scope.startswith(begin))


class GirihLexer(RegexLexer):
    """The tensor language for Pygments."""

    name = "Girih"
    flags = re.MULTILINE
    tokens: ClassVar[Any] = {
        "root": [
            (pattern["match"], _token(pattern["name"]))
            for pattern in json.loads((ROOT / "editors" / "girih.tmLanguage.json").read_text(encoding="utf-8"))[
                "patterns"
            ]
        ]
        + [(r"\s+", Token.Text.Whitespace), (r".", Token.Text)]
    }


def on_config(config: Any) -> Any:
    """Make the language known, and enter the pages of kernels, which are written by their own hands."""
    pygments.lexers.LEXERS["GirihLexer"] = (__name__, "Girih", ("tl",), ("*.tl",), ())
    pygments.lexers._lexer_cache["Girih"] = GirihLexer
    pages = sorted((ROOT / "docs" / "kernels").rglob("*.md"), key=lambda path: (path.stem != "index", path.stem))
    if pages:
        listed = [path.relative_to(ROOT / "docs").as_posix() for path in pages]
        before = next(k for k, entry in enumerate(config.nav) if "Reference" in entry)
        config.nav.insert(before, {"Kernels": listed})
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show the name of a file above its text."""
    return NAMED_FENCE.sub(r'```\1 title="\2"', markdown)
