"""The forms of a text: names and numbers of ids, orders of operands, immediates, headers, and places in it."""

from __future__ import annotations

import pytest

from girih.diagnostics import CompileError
from girih.spirv import Module
from girih.spirv.assemble import assemble
from girih.spirv.binary import Header
from girih.spirv.disassemble import disassemble
from girih.spirv.grammar import grammar
from girih.spirv.instruction import RawInstruction
from tests.cases import every_case
from tests.spirv import peer

PLAIN = """
OpCapability Shader ; a comment, and "what is in it" ; to its end
%main = OpFunction %void
        None %fn %7 = OpLabel OpReturn
OpFunctionEnd
"""


def module(*instructions: tuple[int, ...], bound: int = 100) -> Module:
    """A module of instructions, each an opcode and its words."""
    return Module(Header((1, 5), 0, bound, 0), tuple(RawInstruction(words[0], words[1:]) for words in instructions))


def test_ids_that_are_numbers_keep_them_and_others_get_those_that_are_free() -> None:
    assert [raw.words for raw in Module.from_text(PLAIN).raw] == [(1,), (1, 2, 0, 3), (7,), (), ()]
    assert Module.from_text(PLAIN).header.bound == 8
    again = assemble(PLAIN, preserve_numeric_ids=False)
    assert [raw.words for raw in again.raw] == [(1,), (1, 2, 0, 3), (4,), (), ()]
    for preserve in (False, True):
        data = peer.assemble(PLAIN, preserve_numeric_ids=preserve)
        assert Module.from_bytes(data).raw == assemble(PLAIN, preserve_numeric_ids=preserve).raw


def test_the_comment_before_the_first_instruction_tells_the_header() -> None:
    head = "; SPIR-V\n; Version: 1.3\n; Generator: Google Clspv; 5\n; Bound: 40\n; Schema: 2\n"
    assert Module.from_text(head + PLAIN).header == Header((1, 3), 21 << 16 | 5, 40, 2)
    assert Module.from_text(PLAIN + head).header == Header((1, 6), 0, 8, 0)
    assert assemble(head + PLAIN, version=(1, 4)).header.version == (1, 4)
    assert Module.from_text("; Version: 1.2").header == Header((1, 2), 0, 1, 0)
    odd = "; Version: one\n; Generator: Nobody; 7\n; Bound: -3\n; Schema: 99999999999\n"
    assert Module.from_text(odd + PLAIN).header == Header((1, 6), 0, 8, 0)
    with every_case() as case:
        for tool in (*grammar().generators, 999):
            with case(str(tool)):
                written = Module(Header((1, 6), tool << 16 | 3, 1, 0), ())
                assert written.to_text(friendly_names=False) == peer.disassemble(written.to_bytes(), ("indent",))
                # Two numbers are registered for ARM without a tool: a text tells the first.
                assert Module.from_text(written.to_text()).header.generator >> 16 == (5 if tool == 47 else tool)


def test_operands_may_stand_in_the_order_of_the_words() -> None:
    text = 'OpTypeInt %uint 32 0 OpConstant %uint %five 5 OpName %five "five" OpLoad %uint %x %p Aligned 4'
    assigned = '%uint = OpTypeInt 32 0 %five = OpConstant %uint 5 OpName %five "five" %x = OpLoad %uint %p Aligned 4'
    assert Module.from_text(text) == Module.from_text(assigned)


def test_types_may_stand_behind_what_needs_them() -> None:
    text = "%c = OpConstant %long 5\nOpSwitch %x %d 7 %e\n%x = OpUndef %long\n%long = OpTypeInt 64 0"
    assert [raw.words for raw in Module.from_text(text).raw[:2]] == [(1, 2, 5, 0), (3, 4, 7, 0, 5)]


def test_masks_of_tensor_loads_and_stores_have_several_bits_with_their_parameters_in_order() -> None:
    load = "%r = OpCooperativeMatrixLoadTensorNV %t %p %o %l Aligned|NonPrivatePointer|MakePointerVisible 16 %s"
    load += " DecodeFunc|TensorView %v %f"
    store = "OpCooperativeMatrixStoreTensorNV %p %o %l Volatile|Aligned 8 TensorView %v"
    made = Module.from_text(f"{load}\n{store}")
    assert made.raw[0].words[5:] == (0x32, 16, 6, 3, 7, 8)
    assert made.raw[1].words[3:] == (3, 8, 1, 7)
    assert made.instructions[0].get("DecodeFunc") == 8
    assert Module.from_text(made.to_text(friendly_names=False)) == made
    assert "Volatile|Aligned 8 TensorView %7" in made.to_text()


def test_immediates_stand_for_any_word() -> None:
    with pytest.raises(CompileError, match="an opcode of the grammar"):
        Module.from_text("OpCapability !1 %2 = !0x00010000")
    text = '%r = OpLoad !9 %p !2 16 "abc" -1 1.5 OpReturn !0x00020011 1 OpUnknown(60000, 3) %p !0x7'
    raw = Module.from_text("%9 = OpTypeBool " + text).raw
    assert raw[1:] == (
        RawInstruction(61, (9, 1, 2, 2, 16, 0x636261, 0xFFFFFFFF, 0x3FC00000)),
        RawInstruction(253, ()),
        RawInstruction(17, (1,)),
        RawInstruction(60000, (2, 7)),
    )
    other = "%9 = OpTypeBool %r = OpLoad !9 %p !2 16 OpReturn !0x00020011 1"
    assert Module.from_bytes(peer.assemble(other, preserve_numeric_ids=True)).raw == Module.from_text(other).raw


BROKEN = {
    "an unknown opcode": (60000, 1, 2),
    "no operands": (61,),
    "a missing operand": (61, 1, 2),
    "surplus words": (253, 5),
    "an unknown value": (17, 0x7777),
    "an unknown bit, and what follows": (61, 1, 2, 3, 0x80000002, 16, 5),
    "an unknown value of a parameter": (71, 1, 11, 0x7777),
    "a string without an end": (5, 1, 0x61616161, 0x61616161),
    "no string at all": (5, 1),
    "a string with words behind its end": (5, 1, 0x00616161, 0x61),
    "a string with bytes behind its end": (5, 1, 0x61006161),
    "a string that is not UTF-8": (5, 1, 0x00FF61FE),
    "an unknown opcode in OpSpecConstantOp": (52, 1, 2, 60000, 4),
    "a number of no type": (43, 77, 2, 5),
    "a number that its type does not have": (43, 91, 2, 0x10005),
    "a number of more words than its type": (43, 91, 3, 1, 0),
    "a switch on nothing": (251, 77, 2, 5, 6),
    "half a pair": (245, 1, 2, 3),
    "an instruction of an unknown set": (12, 1, 2, 77, 5, 6, 7),
    "an empty mask without a name": (5366, 1, 2, 3, 0, 4),
    "ids that are zero": (61, 0, 0, 0),
}


def test_words_that_the_grammar_does_not_know_are_given_back() -> None:
    with every_case() as case:
        for name, words in BROKEN.items():
            with case(name):
                broken = module((21, 91, 16, 0), (61, 91, 92, 93), words, (253,))
                text = broken.to_text(friendly_names=False)
                assert Module.from_text(text) == broken
                if name != "an instruction of an unknown set":
                    again = peer.assemble(text, preserve_numeric_ids=True)
                    assert Module.from_bytes(again).raw == broken.raw
                assert [raw.opcode for raw in Module.from_text(broken.to_text()).raw] == [21, 61, words[0], 253]


def test_places_are_those_of_instructions_and_operands() -> None:
    text = """; Version: 1.6
%long = OpTypeInt 64 0
%c = OpConstant %long   12345678901 ; twelve
OpEntryPoint GLCompute %main "a ; b" %c
OpTypeFloat %float !32
OpUnknown(60000, 4) !1 %c !3
%l = OpLoad !1 !2
OpDecorate %c Offset 4
"""
    made = Module.from_text(text, "places.spvasm")
    listing = made.listing
    assert listing is not None
    assert listing.text == text
    assert [listing.span(i).text.split()[0] for i in range(7)] == [
        *("%long", "%c", "OpEntryPoint", "OpTypeFloat", "OpUnknown(60000,", "%l", "OpDecorate"),
    ]
    assert str(listing.span(1)) == "places.spvasm:3:1"
    assert listing.span(1).text == "%c = OpConstant %long   12345678901"
    words = {
        0: ["OpTypeInt", "%long", "64", "0", "%long = OpTypeInt 64 0"],
        1: ["OpConstant", "%long", "%c", "12345678901", "12345678901"],
        2: ["OpEntryPoint", "GLCompute", "%main", '"a ; b"', '"a ; b"', "%c"],
        3: ["OpTypeFloat", "%float", "!32"],
        4: ["OpUnknown", "!1", "%c", "!3"],
        5: ["OpLoad", "!1", "%l", "!2"],
        6: ["OpDecorate", "%c", "Offset", "4"],
    }
    for index, texts in words.items():
        assert [listing.operand_span(index, word).text for word in range(-1, len(texts) - 1)] == texts
    written = disassemble(made)
    assert written.source.name == "places.spvasm"
    assert written.operand_span(1, 2).text == "12345678901"
    assert written.span(0).text == "%ulong = OpTypeInt 64 0"
    assert [written.operand_span(2, word).text for word in (0, 1, 2, 4)] == [
        "GLCompute",
        "%3",
        '"a ; b"',
        "%ulong_12345678901",
    ]
