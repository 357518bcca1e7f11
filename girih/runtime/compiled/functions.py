"""Functions in machine code as functions of Python, of CPython's METH_FASTCALL kind."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

# `PyMethodDef` of CPython, Include/methodobject.h: name, function, flags, documentation.
DEFINITION_WORDS = 4
"""The words before those of a description, for each function."""
METH_KEYWORDS = 0x0002
_METH_FASTCALL = 0x0080


def python_functions(
    name: bytes, addresses: Sequence[int], words: Sequence[int], code: object, *more: object, flags: int = 0
) -> list[Any]:
    """Python functions of code at addresses; their `self` is a description in 8-byte words, the code, and `more`.

    `flags` are added to METH_FASTCALL.

    A function refers to its definition as long as it exists, so the definitions lie in `self` too, in front of the
    words: in a bytes object, whose memory neither moves nor goes before the last function.
    """
    words_bytes = 8 * (DEFINITION_WORDS * len(addresses) + len(words))
    memory = bytes(words_bytes + len(name) + 1)
    place = _bytes_address(memory)
    definitions = [word for address in addresses for word in (place + words_bytes, address, _METH_FASTCALL | flags, 0)]
    # Nobody else has seen these bytes yet.
    ctypes.memmove(place, struct.pack(f"={words_bytes // 8}q", *definitions, *words) + name, words_bytes + len(name))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    self = (memory, code, *more)
    return [new(place + 8 * DEFINITION_WORDS * k, self, None) for k in range(len(addresses))]


def _bytes_address(content: bytes) -> int:
    """The address of the contents of a bytes object."""
    find = ctypes.pythonapi.PyBytes_AsString
    find.restype = ctypes.c_void_p
    find.argtypes = (ctypes.py_object,)
    return int(find(content))
