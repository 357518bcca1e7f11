"""What makes a function a word of kernels: it has a signature and a meaning in kernels, and raises elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

Callee = TypeVar("Callee", bound=Callable[..., object])

WORD = "__girih_word__"
"""The attribute of a word that holds its name; that of a method has the class in front, `TensorLayout.slice`."""


class OutsideKernelError(TypeError):
    """A word of kernels was called, or a value of a kernel computed with, by Python itself."""


def word(function: Callee) -> Callee:
    """The decorator of words: translators know a function by the attribute that it sets."""
    setattr(function, WORD, function.__qualname__)
    return function


def outside(what: str) -> NoReturn:
    """Raise the error for a word, or something else of kernels, that Python executes itself."""
    raise OutsideKernelError(
        f"{what} has a meaning in kernels only: a function with `@girih.kernel`, or one that a kernel calls"
    )
