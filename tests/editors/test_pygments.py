"""The lexer that the package registers with Pygments."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

from pygments.token import Token

from girih.highlighting.lexer import COLOURS, GirihLexer
from girih.kernels import texts

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_package_registers_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["girih"].partition(":")
    assert getattr(import_module(module), name) is GirihLexer
    assert GirihLexer.filenames == ["*.tl"]
    assert "tl" in GirihLexer.aliases


def test_every_character_of_a_kernel_is_kept_and_known() -> None:
    text = texts.path("gemm").read_text(encoding="utf-8")
    tokens = list(GirihLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert not any(kind is Token.Error for kind, _ in tokens)
    plain = {value for kind, value in tokens if kind is Token.Text}
    assert plain == set() or all(value.isalpha() for value in plain)
    assert {kind for kind, _ in tokens} <= {*COLOURS.values(), Token.Text, Token.Text.Whitespace}
