"""SPIR-V as bytes (SPIR-V 2.3): five words of header, then instructions of one word or more, in either byte order.

What cannot be cut into instructions is refused with diagnostics; everything else is a module, right or wrong, and
`girih.spirv.validate` says what is wrong with it.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from typing import Literal, NamedTuple

from girih.diagnostics import CompileError, Diagnostic, plural
from girih.source import Source, Span
from girih.spirv.instruction import RawInstruction

MAGIC = 0x07230203
SWAPPED_MAGIC = 0x03022307
HEADER_WORDS = 5
LARGEST_MODULE = 64 * 2**20
"""Bytes of the largest module that is read."""

ByteOrder = Literal["little", "big"]

BINARY_CODES = {
    "spirv.module.size": "a module is whole words of four bytes, at least five and at most 64 MiB",
    "spirv.module.magic": "a module begins with the magic number 0x07230203, in either byte order",
    "spirv.module.word_count": "an instruction's word count is at least 1 and ends within the module",
}
"""What is wrong with bytes that are not a module at all."""


class Header(NamedTuple):
    """The header of a module: version, generator's number, bound of ids, reserved word."""

    version: tuple[int, int]
    generator: int
    bound: int
    schema: int


def read_module(data: bytes, name: str) -> tuple[Header, tuple[RawInstruction, ...], ByteOrder]:
    """The header and the instructions of a binary module. Raises `CompileError` where bytes are not a module."""
    if len(data) > LARGEST_MODULE or len(data) % 4 or len(data) < 4 * HEADER_WORDS:
        raise _refused(name, "size", "expected: whole words, 20 bytes to 64 MiB", f"{len(data)} bytes")
    order: ByteOrder = "little" if data[0] == MAGIC & 0xFF else "big"
    words = array("I")
    words.frombytes(data)
    if order != sys.byteorder:
        words.byteswap()
    if words[0] != MAGIC:
        first = struct.unpack("<I", data[:4])[0]
        hint = "this looks like a text: girih.spirv.Module.from_text reads one" if data[:16].isascii() else None
        raise _refused(name, "magic", f"expected: the magic number {MAGIC:#010x}", f"{first:#010x}", hint)
    version = (words[1] >> 16 & 0xFF, words[1] >> 8 & 0xFF)
    instructions = []
    at, end = HEADER_WORDS, len(words)
    listed = words.tolist()
    while at < end:
        count = listed[at] >> 16
        if not count or at + count > end:
            place = f"word {at}: {plural(count, 'word')} of opcode {listed[at] & 0xFFFF}; left: {end - at}"
            raise _refused(name, "word_count", "expected: a word count of at least 1 within the module", place)
        instructions.append(RawInstruction(listed[at] & 0xFFFF, tuple(listed[at + 1 : at + count])))
        at += count
    return Header(version, listed[2], listed[3], listed[4]), tuple(instructions), order


def write_module(header: Header, instructions: Sequence[RawInstruction], order: ByteOrder) -> bytes:
    """The bytes of a module."""
    words = array("I", (MAGIC, header.version[0] << 16 | header.version[1] << 8, *header[1:]))
    for opcode, operands in instructions:
        words.append((len(operands) + 1) << 16 | opcode)
        words.extend(operands)
    if order != sys.byteorder:
        words.byteswap()
    return words.tobytes()


def _refused(name: str, rule: str, expected: str, found: str, hint: str | None = None) -> CompileError:
    nowhere = Span(Source("", name), 0, 0)
    return CompileError([Diagnostic(f"spirv.module.{rule}", f"{expected}; found: {found}", nowhere, hint=hint)])
