"""The compiler of Slang that slangpy's wheel brings (extra `glsl`), called through its C interface.

The functions are those of slang.h that take a command line (shader-slang/slang, include/slang-deprecated.h, MIT).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from girih.front.shaders.bundled_glslang import bundled_library

_FUNCTIONS: tuple[tuple[str, type | None, tuple[Any, ...]], ...] = (
    ("spCreateSession", ctypes.c_void_p, (ctypes.c_char_p,)),
    ("spCreateCompileRequest", ctypes.c_void_p, (ctypes.c_void_p,)),
    ("spDestroyCompileRequest", None, (ctypes.c_void_p,)),
    (
        "spProcessCommandLineArguments",
        ctypes.c_int,
        (ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int),
    ),
    ("spCompile", ctypes.c_int, (ctypes.c_void_p,)),
    ("spGetDiagnosticOutput", ctypes.c_char_p, (ctypes.c_void_p,)),
    ("spGetTargetCodeBlob", ctypes.c_int, (ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))),
)
_RELEASE, _POINTER, _SIZE = 2, 3, 4
"""The places of ISlangBlob's functions in its table."""


def bundled_slang() -> str | None:
    """The path of slangpy's compiler of Slang; None where it is not installed."""
    return bundled_library("*slang-compiler*")


@cache
def _session() -> tuple[ctypes.CDLL, int]:
    """The library, and a session of it, which takes half a second. Raises `OSError` where it cannot be used."""
    library = ctypes.CDLL(bundled_slang() or "")
    try:
        for name, result, arguments in _FUNCTIONS:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise OSError(str(error)) from None
    session = library.spCreateSession(None)
    if not session:
        raise OSError("it makes no session")
    return library, session


def compile_bundled_slang(arguments: Sequence[str]) -> tuple[bytes | None, str]:
    """The module that slangc's arguments ask for, None where there is none, and what the compiler said."""
    try:
        library, session = _session()
    except OSError as error:
        return None, f"error: slangpy's compiler of Slang cannot be called: {error}"
    request = library.spCreateCompileRequest(session)
    try:
        words = (ctypes.c_char_p * len(arguments))(*(one.encode("utf-8", "surrogateescape") for one in arguments))
        failed = library.spProcessCommandLineArguments(request, words, len(arguments)) < 0
        failed = failed or library.spCompile(request) < 0
        messages = (library.spGetDiagnosticOutput(request) or b"").decode("utf-8", "replace")
        blob = ctypes.c_void_p()
        if failed or library.spGetTargetCodeBlob(request, 0, ctypes.byref(blob)) < 0 or not blob.value:
            return None, messages
        return _bytes_of(blob), messages
    finally:
        library.spDestroyCompileRequest(request)


def _bytes_of(blob: ctypes.c_void_p) -> bytes:
    """The contents of an ISlangBlob, which is released."""
    table = ctypes.cast(ctypes.cast(blob, ctypes.POINTER(ctypes.c_void_p))[0] or 0, ctypes.POINTER(ctypes.c_void_p))

    def method(place: int, result: Any) -> Callable[[ctypes.c_void_p], Any]:
        return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(table[place] or 0)

    data = ctypes.string_at(method(_POINTER, ctypes.c_void_p)(blob), method(_SIZE, ctypes.c_size_t)(blob))
    method(_RELEASE, ctypes.c_uint32)(blob)
    return data
