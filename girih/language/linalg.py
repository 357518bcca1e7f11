"""Collective linear algebra on memory (003 "Collective instructions")."""

from __future__ import annotations

from typing import Any

from girih.language.types import Array, Number
from girih.language.words import outside, word


@word
def axpby(
    alpha: Number | complex,
    a: Array[Any, Any],
    beta: Number | complex,
    b: Array[Any, Any],
    *,
    transpose: bool = False,
    atomic: bool = False,
) -> None:
    """b := alpha op(a) + beta b, for scalars, vectors and matrices; op(a) is a, or its transpose (003 "Axpby")."""
    outside("gl.axpby")
