"""How the arguments of a call look, in machine code: the key by which a function of arrays finds its plan.

`look(arguments, options, out, target)` gives bytes: equal for calls whose arrays have the same number types, sizes,
strides and writeability, and whose options have the same types and values; True, 1 and 1.0 are three options. It gives
None where Python is to decide: for other arrays than NumPy's, other objects than None and plain bool, int, float and
short str as options, and an `out` that may share memory with an argument without being the first one. The code is
cpu_looks.ll.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from girih.arguments.arrays import DTYPES
from girih.runtime.compiled.functions import DEFINITION_WORDS, python_functions
from girih.runtime.cpu.entry import known_layout

__all__ = ["Look", "looker"]

Look = Callable[[tuple[Any, ...], tuple[Any, ...], Any, str | None], bytes | None]

# numpy/core/include/numpy/ndarraytypes.h, `struct _PyArray_Descr`: `elsize`, in NumPy 2 and in NumPy 1.26. Its low
# four bytes are read.
_ITEM_SIZES = (40, 32)


@lru_cache(maxsize=1)
def looker() -> Look | None:
    """The function `look` of this process; None where objects do not lie in memory as in the usual builds of CPython,
    or where the process does not offer the functions that machine code calls."""
    from girih.runtime.cpu.launcher import launcher

    code, item_size = launcher(), _item_size()
    if code is None or item_size is None or not known_layout():
        return None
    words = [id(np.ndarray), item_size]
    (made,) = python_functions(b"look", [code.address("girih_look")], words, code.linked)
    found: Look = made
    return found


def _item_size() -> int | None:
    """The place of an element's size in the type of elements; None where it is not known."""
    for offset in _ITEM_SIZES:
        if all(_word(dtype, offset) == dtype.itemsize for dtype in DTYPES.values()):
            return offset
    return None


def _word(dtype: np.dtype[Any], offset: int) -> int:
    return ctypes.c_int32.from_address(id(dtype) + offset).value


LOOK_NUMBERS = {
    **{name: 1 + k for k, name in enumerate(("T_NONE", "T_TRUE", "T_FALSE", "T_INT", "T_FLOAT", "T_TEXT"))},
    "L_ARRAY": 8 * DEFINITION_WORDS,
    "L_ITEM_SIZE": 8 * DEFINITION_WORDS + 8,
    "LOOK_WORDS": 128,
    "LOOK_TEXT_BYTES": 64,
    "LOOK_OPTION_WORDS": 2 + 64 // 8,
}
"""The numbers that cpu_looks.ll uses by name: first words of objects, offsets in a description, and limits."""
