"""Collective linear algebra on memory (003 "Collective instructions").

The work-group computes them together: they stand outside `gl.parallel`, `gl.foreach` and `gl.foreach_tile`. Arrays may
lie in memory in any order; `X.T` is the transpose. Factors are numbers whose type promotes to that of the elements; a
`beta` of the literal 0 never reads the result. With `atomic=True` the result is updated atomically, element by element,
and `beta` is the literal 0 or 1. The result shares no memory with the operands.
"""

from __future__ import annotations

from typing import Any

from girih.language.types import Array, Number
from girih.language.words import outside, word

_Factor = Number | complex


@word
def axpby(alpha: _Factor, a: Array[Any, Any], beta: _Factor, b: Array[Any, Any], *, atomic: bool = False) -> None:
    """b := alpha a + beta b, of scalars, vectors or matrices of one shape (003 "Axpby")."""
    outside("gl.axpby")


@word
def cumsum(
    alpha: _Factor, a: Array[Any, Any], axis: int, beta: _Factor, b: Array[Any, Any], *, atomic: bool = False
) -> None:
    """b := alpha (sums of a's elements along `axis` up to each) + beta b, of one shape (003 "Cumulative sum")."""
    outside("gl.cumsum")


@word
def gemm(
    alpha: _Factor, a: Array[Any, Any], b: Array[Any, Any], beta: _Factor, c: Array[Any, Any], *, atomic: bool = False
) -> None:
    """c := alpha a b + beta c, where a is M x K, b is K x N and c is M x N (003 "GEMM")."""
    outside("gl.gemm")


@word
def gemv(
    alpha: _Factor, a: Array[Any, Any], b: Array[Any, Any], beta: _Factor, c: Array[Any, Any], *, atomic: bool = False
) -> None:
    """c := alpha a b + beta c, where a is M x K, b has K elements and c has M (003 "GEMV")."""
    outside("gl.gemv")


@word
def ger(
    alpha: _Factor, a: Array[Any, Any], b: Array[Any, Any], beta: _Factor, c: Array[Any, Any], *, atomic: bool = False
) -> None:
    """c[i, j] := alpha a[i] b[j] + beta c[i, j], where a has M elements, b has N and c is M x N (003 "GER")."""
    outside("gl.ger")


@word
def hadamard(
    alpha: _Factor, a: Array[Any, Any], b: Array[Any, Any], beta: _Factor, c: Array[Any, Any], *, atomic: bool = False
) -> None:
    """c := alpha a * b + beta c, element by element, of vectors or matrices of one shape (003 "Hadamard product").

    Matrices lie in memory in one order.
    """
    outside("gl.hadamard")
