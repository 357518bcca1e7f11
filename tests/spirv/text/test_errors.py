"""What is wrong with a text is told: all of it, where, what was expected, what came, and the nearest known name."""

from __future__ import annotations

import random
import re

import pytest

from girih.diagnostics import CompileError, Diagnostic
from girih.spirv import Module
from girih.spirv.assemble import TEXT_CODES
from tests.cases import every_case, long
from tests.spirv.text.archives import files

TYPES = """
%uint = OpTypeInt 32 0
%short = OpTypeInt 16 1
%float = OpTypeFloat 32
%half = OpTypeFloat 16
%bool = OpTypeBool
%glsl = OpExtInstImport "GLSL.std.450"
"""

CASES = r"""
OpName %uint [["]abc
lexeme: expected: a quote that ends the string; found: "

OpName %uint[[,] "abc"
lexeme: expected: blanks between operands, a comma only in OpUnknown(opcode, words); found: ,

[[OpUnknown](5)
lexeme: expected: OpUnknown(opcode, words) with an opcode of 16 bits; found: OpUnknown ( 5 )

%x [[=]
instruction: expected: an opcode after the =; found: the end of the instruction

[[OpCapabilty] Shader
opcode: expected: an opcode of the grammar; found: OpCapabilty
hint: did you mean OpCapability?

%x = [[Nop]
opcode: expected: an opcode of the grammar; found: Nop
hint: did you mean OpNop?

%x = OpSpecConstantOp %uint [[Iadd] %a %b
opcode: expected: an opcode with a result, without Op; found: Iadd
hint: did you mean IAdd?

[[%x] = OpCapability Shader
result: expected: OpCapability without a result; found: %x =
hint: OpCapability makes no result: leave out %x =

[[%x] = OpUnknown(5, 1)
result: expected: OpUnknown without a result; found: %x =
hint: name the result where its word stands, among the operands

OpLoad %float [[%p]
missing: expected: the operand pointer of OpLoad; found: the end of the instruction
hint: OpLoad makes a result: %name = OpLoad ...

[[OpCapability]
missing: expected: the operand capability of OpCapability; found: the end of the instruction

%x = OpPhi %float [[%a] OpNop
missing: expected: the operand incoming of OpPhi; found: the end of the instruction

OpCapability Shader [[Kernel]
surplus: expected: no more operands of OpCapability; found: Kernel

OpName [[uint] "u"
id: expected: an id, such as %5 or %name; found: uint
hint: did you mean %uint?

OpName [[%u-int] "u"
id: expected: an id, such as %5 or %name; found: %u-int
hint: did you mean %u_int?

OpBranch [[%x=OpLabel]
id: expected: an id, such as %5 or %name; found: %x=OpLabel
hint: blanks stand around the =

OpCapability [[Shadr]
enumerant: expected: a value of Capability; found: Shadr
hint: did you mean Shader?

%x = OpLoad %float %p Volatile|[[Alined]
enumerant: expected: bits of MemoryAccess; found: Alined
hint: did you mean Aligned?

OpDecorate %x BuiltIn [[Positon]
enumerant: expected: a value of BuiltIn; found: Positon
hint: did you mean Position?

%x = OpConstant %uint [[-1]
number: expected: an unsigned integer of 32 bits, which is not negative; found: -1

%x = OpConstant %uint [[4294967296]
number: expected: an unsigned integer of 32 bits, 0 to 4294967295; found: 4294967296

%x = OpConstant %short [[40000]
number: expected: a signed integer of 16 bits, -32768 to 32767; found: 40000

%x = OpConstant %half [[70000]
number: expected: a float of 16 bits, within 65504; found: 70000

%x = OpConstant %float [[1.5f]
number: expected: a float of 32 bits, such as 1.5 or 0x1.8p+0; found: 1.5f

OpSource GLSL [[4.5]
number: expected: an unsigned integer of 32 bits; found: 4.5

%x = OpConstant %bool [[1]
type: expected: a result type that is declared by OpTypeInt or OpTypeFloat; found: %bool
hint: !word gives a word as it is

OpSwitch %uint %a [[1] %b
type: expected: a selector whose type is declared by OpTypeInt; found: %uint
hint: !word gives a word as it is

OpName %uint [[name]
string: expected: a string in quotes; found: name

%x = OpExtInst %float %glsl [[Sqr] %y
extended: expected: an instruction of GLSL.std.450; found: Sqr
hint: did you mean Sqrt?

%x = OpExtInst %float %other [[Sqrt] %y
extended: expected: the number of an instruction of a set that is not known; found: Sqrt

OpCapability [[!x]
immediate: expected: a ! and a number of 32 bits; found: !x

OpCapability [[!4294967296]
immediate: expected: a ! and a number of 32 bits; found: !4294967296

OpExecutionMode !1 [[LocalSize]
immediate: expected: an immediate, an id, a string or a number, as after every immediate; found: LocalSize

OpUnknown(60000, [[2]) !1 !2
word_count: expected: 3, the number of words; found: 2

OpNop [[!0x00020000]
word_count: expected: 2 words, as !0x00020000 says; found: 1

OpName [[%4294967295] "far"
bound: expected: an id of at most 4294967294; found: %4294967295
""".strip().split("\n\n")
"""Texts in which `[[...]` is what is wrong, with the rule, the message and the hint."""


def diagnostics(text: str) -> list[Diagnostic]:
    """What is wrong with a text."""
    with pytest.raises(CompileError) as raised:
        Module.from_text(text, "case.spvasm")
    return list(raised.value.diagnostics)


def test_each_mistake_is_told_where_it_is() -> None:
    told = set()
    with every_case() as case:
        for text in CASES:
            marked, message, *hint = text.splitlines()
            before, rest = marked.split("[[", 1)
            wrong, after = rest.split("]", 1)
            with case(marked):
                (one,) = diagnostics(TYPES + before + wrong + after)
                assert f"{one.code.removeprefix('spirv.text.')}: {one.message}" == message
                assert (one.span.start, one.span.text) == (len(TYPES + before), wrong)
                assert one.hint == (hint[0].removeprefix("hint: ") if hint else None)
                told.add(one.code)
    assert told == TEXT_CODES.keys()


def test_all_mistakes_are_told_in_the_order_of_the_text() -> None:
    text = 'OpCapability Shadr\nOpFoo %1\n%x = OpConstant %y 5\nOpName u v\nOpName %z "w" w\n'
    assert [(d.code, d.span.line) for d in diagnostics(text)] == [
        ("spirv.text.enumerant", 1),
        ("spirv.text.opcode", 2),
        ("spirv.text.type", 3),
        ("spirv.text.id", 4),
        ("spirv.text.string", 4),
        ("spirv.text.surplus", 5),
    ]
    assert [d.code for d in diagnostics("words before %x = OpNop\n" + 'OpName %x "\ud800"\nOpName %x "a\0b"')] == [
        "spirv.text.instruction",
        "spirv.text.result",
        "spirv.text.string",
        "spirv.text.string",
    ]


PIECES = [
    *TYPES.split(),
    "!5",
    "!0x00010000",
    "OpSwitch",
    "OpUnknown(3, 2)",
    "OpLoad",
    "|",
    '"',
    "\\",
    "%",
    "=",
    "1e999999",
]
PIECES += ["Aligned|Volatile", "4", "-1", "0x1p9999999", ";", ",", "(", "\n", "\0", "é", "%99999999999", "OpExtInst"]


@pytest.mark.parametrize(("seed", "count"), [(1, 150), *long((seed, 3000) for seed in (2, 3))])
def test_a_mutated_text_is_a_module_or_told_to_be_none(seed: int, count: int) -> None:
    chosen = random.Random(seed)
    texts = [text.decode() for text in files("spirv_plain", ".spvasm").values()]
    outcomes = {True: 0, False: 0}
    for _ in range(count):
        text = mutated(chosen.choice(texts), chosen)
        try:
            module = Module.from_text(text)
        except CompileError as wrong:
            assert all(one.code in TEXT_CODES and one.span.end <= len(text) for one in wrong.diagnostics)
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        assert Module.from_text(module.to_text(friendly_names=False)).raw == module.raw
        assert module.listing is not None
        for instruction in module.instructions:
            for operand in instruction.operands:
                assert module.listing.operand_span(instruction.index, operand.word).text
    assert min(outcomes.values()) > count // 10


def mutated(text: str, chosen: random.Random) -> str:
    """A text with words or characters taken away, doubled, exchanged, put in, or in the place of such of their form."""
    parts = re.findall(r"\s+|\S+", text) if chosen.random() < 0.8 else list(text)
    for _ in range(chosen.choice((1, 1, 1, 2, 4))):
        at, other = chosen.randrange(len(parts)), chosen.randrange(len(parts))
        match chosen.randrange(8):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[other])
            case 2:
                parts[at], parts[other] = parts[other], parts[at]
            case 3:
                parts[at] = chosen.choice(PIECES)
            case _:
                parts[at] = chosen.choice([part for part in parts if part[0] == parts[at][0]])
    return "".join(parts)
