"""Errors of kernels in Python without the frames of girih that found what is wrong: it is in the user's lines."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from girih.diagnostics import GirihError

Given = ParamSpec("Given")
Result = TypeVar("Result")
Error = TypeVar("Error", bound=BaseException)


def without_frames(error: Error) -> Error:
    """The error, to be raised by the function that the user called; with its frames if `GIRIH_TRACEBACK` is set."""
    return error if os.environ.get("GIRIH_TRACEBACK") else error.with_traceback(None)


def for_users(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, from which errors of girih come without the frames that found them."""

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except GirihError as error:
            raise without_frames(error) from None

    return called
