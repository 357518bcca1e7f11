"""The glslang that slangpy's wheel brings (extra `glsl`), called through its C interface.

The request is Slang's `glslang_CompileRequest_1_2` (shader-slang/slang, source/slang-glslang/slang-glslang.h, MIT).
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_COMPUTE = 6
"""SLANG_STAGE_COMPUTE."""
_LINES = 1
"""Debug information as OpLine, without the source; more would refer to id 0 where a variable is a tensor layout."""
_SPIRV = (1, 6, 0)

_Output = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class _Request(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("source_path", ctypes.c_char_p),
        ("input_begin", ctypes.c_void_p),
        ("input_end", ctypes.c_void_p),
        ("diagnostic", _Output),
        ("diagnostic_data", ctypes.c_void_p),
        ("output", _Output),
        ("output_data", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("action", ctypes.c_uint),
        ("optimization_level", ctypes.c_uint),
        ("debug_info", ctypes.c_uint),
        ("target", ctypes.c_char_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("entry_point", ctypes.c_char_p),
    )


@cache
def bundled_library(pattern: str) -> str | None:
    """The path of the library of slangpy whose name is like a pattern; None where it is not installed."""
    found = find_spec("slangpy")
    folders = list(found.submodule_search_locations or ()) if found else []
    libraries = sorted(Path(folders[0]).glob(pattern)) if folders else []
    return str(libraries[0]) if libraries else None


def bundled_glslang() -> str | None:
    """The path of slangpy's glslang; None where it is not installed."""
    return bundled_library("*slang-glslang*")


def compile_bundled_glslang(data: bytes, path: str) -> tuple[bytes | None, str]:
    """The module of a GLSL source, None where there is none, and what the compiler said."""
    try:
        compile = ctypes.CDLL(bundled_glslang() or "").glslang_compile_1_2
    except (OSError, AttributeError) as error:
        return None, f"error: slangpy's glslang cannot be called: {error}"
    module, messages = bytearray(), bytearray()
    take, tell = _collect(module), _collect(messages)
    text = ctypes.create_string_buffer(data, len(data) + 1)
    begin = ctypes.addressof(text)
    request = _Request(
        ctypes.sizeof(_Request), os.fsencode(path), begin, begin + len(data), tell, None, take, None, _COMPUTE, 0, 0,
        _LINES, None, *_SPIRV, None,
    )  # fmt: skip
    compile.argtypes, compile.restype = (ctypes.POINTER(_Request),), ctypes.c_int
    failed = compile(ctypes.byref(request))
    return (None if failed or not module else bytes(module)), messages.decode("utf-8", "replace")


def _collect(into: bytearray) -> ctypes._FuncPointer:
    def add(data: int | None, size: int, _: object) -> None:
        if data and size:
            into.extend(ctypes.string_at(data, size))

    return _Output(add)
