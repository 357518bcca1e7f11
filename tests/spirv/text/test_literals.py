"""Numbers as text: the words that spirv-as makes of them, and the text that spirv-dis makes of the words."""

from __future__ import annotations

import random
import struct

import pytest

from girih.spirv import Module
from girih.spirv.literals import FORMATS, NotANumber, NumberType, number_text, number_words, quoted, unquoted
from tests.cases import every_case
from tests.spirv import peer

TYPES = {
    "%u8 = OpTypeInt 8 0": NumberType("unsigned", 8),
    "%i8 = OpTypeInt 8 1": NumberType("signed", 8),
    "%i16 = OpTypeInt 16 1": NumberType("signed", 16),
    "%u32 = OpTypeInt 32 0": NumberType("unsigned", 32),
    "%i32 = OpTypeInt 32 1": NumberType("signed", 32),
    "%u64 = OpTypeInt 64 0": NumberType("unsigned", 64),
    "%i64 = OpTypeInt 64 1": NumberType("signed", 64),
    "%f16 = OpTypeFloat 16": NumberType("float", 16),
    "%f32 = OpTypeFloat 32": NumberType("float", 32),
    "%f64 = OpTypeFloat 64": NumberType("float", 64),
    "%bf16 = OpTypeFloat 16 BFloat16KHR": NumberType("float", 16, "BFloat16KHR"),
    "%e4m3 = OpTypeFloat 8 Float8E4M3EXT": NumberType("float", 8, "Float8E4M3EXT"),
    "%e5m2 = OpTypeFloat 8 Float8E5M2EXT": NumberType("float", 8, "Float8E5M2EXT"),
}

NUMBERS = """
0 -0 +5 010 08 - -1 127 128 -128 -129 255 256 0x7f 0x80 -0x80 0xff 0xFFFF 32768 -32769 2147483648 4294967295 4294967296
-2147483649 0xffffffff 0x100000000 9223372036854775808 18446744073709551615 18446744073709551616
1. .5 1.5 -1.5 1e5 1E-5 1e 1e39 -1e39 1e309 1e-46 3.4028235e38 65504 65519.9 448 449 0.1 16777217 1.5f inf nan
0x1p+0 -0x1.8p+3 +0x1p0 0x1.8p 0x1 0x.8p1 0X1p1 0x1p-149 0x1.8p-150 0x1.fffffffp0 0x1p+128 0x1.8p+128 0x1p+300
0x1p-24 0x1.8p+16 0x1.cp+8 0x1.ep+8 0x0p+0 0x00.0p5 1_000 1,5 ٣
"""

WRONG_IN_THE_PEER = """
256 0x1p+300 0x1p+128 0x1.8p+128 0x1.8p+16
"""
"""Numbers that SPIRV-Tools misreads as E4M3 floats: 256 as 448, and what is too large as 256."""


def test_numbers_are_the_words_that_spirv_as_makes() -> None:
    with every_case() as case:
        for declaration, kind in TYPES.items():
            for text in NUMBERS.split():
                if kind.encoding == "Float8E4M3EXT" and text in WRONG_IN_THE_PEER.split():
                    continue
                with case(f"{text} as {kind}"):
                    source = f"{declaration}\n%x = OpConstant {declaration.split()[0]} {text}"
                    try:
                        words = struct.unpack(f"<{kind.words}I", peer.assemble(source)[-4 * kind.words :])
                    except peer.PeerError:
                        with pytest.raises(NotANumber):
                            number_words(text, kind)
                    else:
                        assert number_words(text, kind) == words


def test_words_are_the_numbers_that_spirv_dis_writes_and_give_them_back() -> None:
    chosen = random.Random(14)
    lines = list(TYPES)
    for declaration, kind in TYPES.items():
        mask = (1 << kind.width) - 1
        for _ in range(1 << 8 if kind.width == 8 else 60):
            bits = chosen.getrandbits(kind.width) if kind.width > 8 else len(lines) & 0xFF
            bits &= chosen.choice((mask, mask, mask >> 8 or mask))
            if kind.kind == "signed" and bits >> kind.width - 1:
                bits |= -1 << kind.width
            words = (bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF)[: kind.words]
            text = number_text(words, kind)
            assert text is not None
            assert number_words(text, kind) == words
            lines.append(
                f"%x{len(lines)} = OpConstant {declaration.split()[0]} {' '.join(f'!{word}' for word in words)}"
            )
    module = Module.from_text("\n".join(lines))
    assert module.to_text(friendly_names=False) == peer.disassemble(module.to_bytes(), ("indent",))
    assert module.to_text() == peer.disassemble(module.to_bytes())


def test_formats_that_the_peer_lacks_give_back_all_their_words() -> None:
    with every_case() as case:
        for encoding, width in (*(key for key in FORMATS if key[1] <= 8), ("MXInt8EXT", 8)):
            kind = NumberType("float", width, encoding)
            with case(encoding):
                texts = [number_text((bits,), kind) for bits in range(1 << width)]
                words = [number_words(text, kind)[0] for text in texts if text is not None]
                assert words == list(range(1 << width))
    assert number_text((0x100,), NumberType("float", 8, "Float8E5M2EXT")) is None
    assert number_text((0x3F,), NumberType("float", 8, "Float8UnsignedE8M0EXT")) == "0x1p-64"
    assert number_text((0x40,), NumberType("float", 8, "MXInt8EXT")) == "0x1p+0"
    with pytest.raises(NotANumber, match="a power of two"):
        number_words("3", NumberType("float", 8, "Float8UnsignedE8M0EXT"))


def test_strings_keep_every_character() -> None:
    for text in ("", 'a "b" \\ c', "\\", "two\nlines", "öä\udc80"):
        assert unquoted(quoted(text)) == text
    assert unquoted(r'"\a\\\""') == 'a\\"'
    assert unquoted("plain") is None
