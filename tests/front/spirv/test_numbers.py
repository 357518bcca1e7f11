"""Arithmetic, relations, bits and conversions of SPIR-V, each by what the specification says of a few numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from girih.api import compile_module
from girih.diagnostics import KernelError
from girih.ir.core import Module
from tests.cases import every_case
from tests.front.spirv.expressions import Lines, check, floats, holds, integers
from tests.front.spirv.shaders import BUFFERS, translated

NAN, INF = math.nan, math.inf
PAIRS = "%uint_pair = OpTypeStruct %uint %uint\n"


def test_arithmetic() -> None:
    check(
        [
            integers("OpIAdd %uint %u0 %u1", 7, -9, gives=-2),
            integers("OpISub %uint %u0 %u1", 7, 9, gives=-2),
            integers("OpIMul %uint %u0 %u1", 0x10001, 0x10003, gives=0x40003),
            integers("OpUDiv %uint %u0 %u1", -1, 10, gives=429496729),
            integers("OpSDiv %uint %u0 %u1", -7, 2, gives=-3),
            integers("OpUMod %uint %u0 %u1", -1, 10, gives=5),
            integers("OpSRem %uint %u0 %u1", -7, 3, gives=-1),
            integers("OpSMod %uint %u0 %u1", -7, 3, gives=2),
            integers("OpSNegate %uint %u0", 5, gives=-5),
            floats("OpFAdd %float %f0 %f1", 1.5, -0.25, gives=1.25),
            floats("OpFSub %float %f0 %f1", 1.5, -0.25, gives=1.75),
            floats("OpFMul %float %f0 %f1", 1.5, -0.25, gives=-0.375),
            floats("OpFDiv %float %f0 %f1", 1.0, 3.0, gives=1 / 3),
            floats("OpFDiv %float %f0 %f1", 1.0, -0.0, gives=-INF),
            floats("OpFRem %float %f0 %f1", -5.5, 2.0, gives=-1.5),
            floats("OpFMod %float %f0 %f1", -5.5, 2.0, gives=0.5),
            floats("OpFMod %float %f0 %f1", 5.5, -2.0, gives=-0.5),
            floats("OpFMod %float %f0 %f1", 4.0, 2.0, gives=0.0),
            floats("OpFNegate %float %f0", 0.0, gives=-0.0),
            Lines("%r = OpIAddCarry %uint_pair %u0 %u1\n%o0 = OpCompositeExtract %uint %r 0\n"
              "%o1 = OpCompositeExtract %uint %r 1", (-1, 2), (1, 1)),
            Lines("%r = OpISubBorrow %uint_pair %u0 %u1\n%o0 = OpCompositeExtract %uint %r 0\n"
              "%o1 = OpCompositeExtract %uint %r 1", (1, 2), (-1, 1)),
            Lines("%r = OpUMulExtended %uint_pair %u0 %u1\n%o0 = OpCompositeExtract %uint %r 0\n"
              "%o1 = OpCompositeExtract %uint %r 1", (-1, -1), (1, -2)),
            Lines("%r = OpSMulExtended %uint_pair %u0 %u1\n%o0 = OpCompositeExtract %uint %r 0\n"
              "%o1 = OpCompositeExtract %uint %r 1", (-1, 5), (-5, -1)),
        ],
        PAIRS,
    )  # fmt: skip


def test_vectors_and_matrices() -> None:
    pair = "%a = OpCompositeConstruct %v2float %f0 %f1\n%b = OpCompositeConstruct %v2float %f2 %f3\n"
    square = f"{pair}%m = OpCompositeConstruct %mat2v2float %a %b\n"
    both = "%o0 = OpCompositeExtract %float %r 0\n%o1 = OpCompositeExtract %float %r 1"
    four = "".join(f"%o{2 * c + r} = OpCompositeExtract %float %r {c} {r}\n" for c in (0, 1) for r in (0, 1))
    given = (1.0, 2.0, 3.0, 4.0)
    check(
        [
            Lines(f"{pair}%o0 = OpDot %float %a %b", given, (11.0,)),
            Lines(f"{pair}%r = OpVectorTimesScalar %v2float %a %f2\n{both}", given, (3.0, 6.0)),
            Lines(f"{square}%r = OpMatrixTimesScalar %mat2v2float %m %f1\n{four}", given, (2.0, 4.0, 6.0, 8.0)),
            Lines(f"{square}%r = OpVectorTimesMatrix %v2float %a %m\n{both}", given, (5.0, 11.0)),
            Lines(f"{square}%r = OpMatrixTimesVector %v2float %m %a\n{both}", given, (7.0, 10.0)),
            Lines(f"{square}%r = OpMatrixTimesMatrix %mat2v2float %m %m\n{four}", given, (7.0, 10.0, 15.0, 22.0)),
            Lines(f"{pair}%r = OpOuterProduct %mat2v2float %a %b\n{four}", given, (3.0, 6.0, 4.0, 8.0)),
            Lines(f"{square}%r = OpTranspose %mat2v2float %m\n{four}", given, (1.0, 3.0, 2.0, 4.0)),
            Lines(f"{square}%o0 = OpExtInst %float %glsl Determinant %m", given, (-2.0,)),
            Lines(f"{square}%r = OpExtInst %mat2v2float %glsl MatrixInverse %m\n{four}", given, (-2.0, 1.0, 1.5, -0.5)),
        ]
    )


@pytest.mark.parametrize("size", [3, 4])
def test_inverses_of_larger_matrices(size: int) -> None:
    matrix = np.random.default_rng(size).integers(-4, 5, (size, size)).astype(np.float64) + 6 * np.eye(size)
    columns = matrix.T
    lines = [
        f"%c{c} = OpCompositeConstruct %v{size}float " + " ".join(f"%f{size * c + r}" for r in range(size))
        for c in range(size)
    ]
    type = f"%mat{size}v{size}float"
    made = f"%m = OpCompositeConstruct {type} " + " ".join(f"%c{c}" for c in range(size))
    inverse = f"%r = OpExtInst {type} %glsl MatrixInverse %m\n%x = OpMatrixTimesMatrix {type} %r %m"
    parts = [f"%e{c} = OpCompositeExtract %float %x {c} {c}" for c in range(size)]
    whole = "%d = OpExtInst %float %glsl Determinant %m\n%o0 = OpExtInst %float %glsl Round %d"
    # The product of a matrix and its inverse has 1 on the diagonal, but for rounding.
    near = [f"%g{c} = OpFMul %float %e{c} %float_100" for c in range(size)]
    near += [f"%o{c + 1} = OpExtInst %float %glsl Round %g{c}" for c in range(size)]
    text = "\n".join([*lines, made, inverse, *parts, whole, *near])
    given = tuple(map(float, columns.ravel()))
    check([Lines(text, given, (float(round(np.linalg.det(matrix))), *[100.0] * size))])


def test_relations() -> None:
    orders = [
        ("OpSLessThan", (-1, 1), True), ("OpULessThan", (-1, 1), False), ("OpSGreaterThan", (-1, 1), False),
        ("OpUGreaterThan", (-1, 1), True), ("OpSLessThanEqual", (2, 2), True), ("OpULessThanEqual", (-1, 2), False),
        ("OpSGreaterThanEqual", (-1, 2), False), ("OpUGreaterThanEqual", (-1, 2), True), ("OpIEqual", (3, 3), True),
        ("OpINotEqual", (3, 3), False),
    ]  # fmt: skip
    reals = {
        "OpFOrdEqual": (False, True, False, False),
        "OpFUnordEqual": (False, True, False, True),
        "OpFOrdNotEqual": (True, False, True, False),
        "OpFUnordNotEqual": (True, False, True, True),
        "OpFOrdLessThan": (True, False, False, False),
        "OpFUnordLessThan": (True, False, False, True),
        "OpFOrdGreaterThan": (False, False, True, False),
        "OpFUnordGreaterThan": (False, False, True, True),
        "OpFOrdLessThanEqual": (True, True, False, False),
        "OpFUnordLessThanEqual": (True, True, False, True),
        "OpFOrdGreaterThanEqual": (False, True, True, False),
        "OpFUnordGreaterThanEqual": (False, True, True, True),
    }
    given = ((1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (NAN, 1.0))
    logic = {"OpLogicalAnd": 0b1000, "OpLogicalOr": 0b1110, "OpLogicalEqual": 0b1001, "OpLogicalNotEqual": 0b0110}
    truths = "%a = OpINotEqual %bool %u0 %uint_0\n%b = OpINotEqual %bool %u1 %uint_0\n"
    choice = "%c = {} %bool {}\n%o0 = OpSelect %uint %c %uint_1 %uint_0"
    vector = f"{truths}%v = OpCompositeConstruct %v2bool %a %b\n"
    check(
        [
            *(holds(f"{name} %bool %u0 %u1", *pair, gives=truth) for name, pair, truth in orders),
            *(
                holds(f"{name} %bool %f0 %f1", *pair, gives=truth)
                for name, truths in reals.items()
                for pair, truth in zip(given, truths, strict=True)
            ),
            *(
                Lines(truths + choice.format(name, "%a %b"), (x, y), (table >> (2 * x + y) & 1,))
                for name, table in logic.items()
                for x in (0, 1)
                for y in (0, 1)
            ),
            *(Lines(vector + choice.format("OpAny", "%v"), (x, 0), (x,)) for x in (0, 1)),
            *(Lines(vector + choice.format("OpAll", "%v"), (1, x), (x,)) for x in (0, 1)),
            Lines(truths + choice.format("OpLogicalNot", "%a"), (1, 0), (0,)),
            holds("OpIsNan %bool %f0", NAN, gives=True),
            holds("OpIsInf %bool %f0", -INF, gives=True),
            holds("OpIsInf %bool %f0", NAN, gives=False),
        ]
    )


def test_a_condition_chooses_components_or_whole_objects() -> None:
    made = (
        "%a = OpCompositeConstruct %v2uint %u0 %u1\n%b = OpCompositeConstruct %v2uint %u1 %u0\n"
        "%c = OpULessThan %bool %u0 %u1\n%d = OpLogicalNot %bool %c\n%e = OpCompositeConstruct %v2bool %c %d\n"
    )
    parts = "%o0 = OpCompositeExtract %uint %r {} 0\n%o1 = OpCompositeExtract %uint %r {} 1"
    plain = parts.replace("{} ", "")
    arrays = "%g = OpCompositeConstruct %_arr_v2uint_uint_1 %a\n%h = OpCompositeConstruct %_arr_v2uint_uint_1 %b\n"
    check(
        [
            Lines(f"{made}%r = OpSelect %v2uint %e %a %b\n{plain}", (1, 2), (1, 1)),
            Lines(f"{made}%r = OpSelect %v2uint %d %a %b\n{plain}", (1, 2), (2, 1)),
            Lines(f"{made}{arrays}%r = OpSelect %_arr_v2uint_uint_1 %c %g %h\n{parts.format(0, 0)}", (1, 2), (1, 2)),
        ]
    )


def test_bits() -> None:
    check(
        [
            integers("OpShiftLeftLogical %uint %u0 %u1", 0x80000001, 4, gives=0x10),
            integers("OpShiftRightLogical %uint %u0 %u1", 0x80000000, 4, gives=0x08000000),
            integers("OpShiftRightArithmetic %uint %u0 %u1", 0x80000000, 4, gives=0xF8000000),
            integers("OpBitwiseAnd %uint %u0 %u1", 0b1100, 0b1010, gives=0b1000),
            integers("OpBitwiseOr %uint %u0 %u1", 0b1100, 0b1010, gives=0b1110),
            integers("OpBitwiseXor %uint %u0 %u1", 0b1100, 0b1010, gives=0b0110),
            integers("OpNot %uint %u0", 0b1100, gives=-0b1101),
            integers("OpBitReverse %uint %u0", 1, gives=1 << 31),
            integers("OpBitCount %uint %u0", 0xF0F, gives=8),
            integers("OpBitFieldInsert %uint %u0 %u1 %u2 %u3", -1, 0xA, 8, 4, gives=0xFFFFFAFF),
            integers("OpBitFieldUExtract %uint %u0 %u1 %u2", 0xABCD, 4, 8, gives=0xBC),
            integers("OpBitFieldSExtract %uint %u0 %u1 %u2", 0xABCD, 4, 8, gives=0xFFFFFFBC),
            integers("OpExtInst %uint %glsl FindILsb %u0", 0xC0, gives=6),
            integers("OpExtInst %uint %glsl FindUMsb %u0", -1, gives=31),
            integers("OpExtInst %uint %glsl FindSMsb %u0", -1, gives=-1),
            integers("OpExtInst %uint %glsl FindSMsb %u0", -0x41, gives=6),
            integers("OpExtInst %uint %glsl FindSMsb %u0", 0x41, gives=6),
        ]
    )


def test_conversions() -> None:
    doubled = "%d = OpFConvert %double %f0\n"
    check(
        [
            integers("OpConvertFToU %uint %f0", 3e9, gives=3_000_000_000),
            Lines("%r = OpConvertFToS %int %f0\n%o0 = OpBitcast %uint %r", (-2.75,), (-2,)),
            floats("OpConvertUToF %float %u0", -1, gives=2.0**32),
            Lines("%a = OpBitcast %int %u0\n%o0 = OpConvertSToF %float %a", (-7,), (-7.0,)),
            Lines("%a = OpUConvert %uchar %u0\n%o0 = OpUConvert %uint %a", (0x1FF,), (0xFF,)),
            Lines("%a = OpSConvert %char %u0\n%o0 = OpSConvert %uint %a", (0x1FF,), (-1,)),
            Lines("%a = OpUConvert %ulong %u0\n%b = OpBitcast %v2uint %a\n%o0 = OpCompositeExtract %uint %b 0\n"
              "%o1 = OpCompositeExtract %uint %b 1", (-1,), (-1, 0)),
            Lines("%a = OpSConvert %long %u0\n%b = OpBitcast %v2uint %a\n%o0 = OpCompositeExtract %uint %b 0\n"
              "%o1 = OpCompositeExtract %uint %b 1", (-1,), (-1, -1)),
            Lines("%a = OpFConvert %half %f0\n%o0 = OpFConvert %float %a", (1 / 3,), (float(np.float16(1 / 3)),)),
            Lines(f"{doubled}%b = OpFMul %double %d %d\n%o0 = OpFConvert %float %b", (1e30,), (INF,)),
            floats("OpQuantizeToF16 %float %f0", 1.0005, gives=float(np.float16(1.0005))),
            floats("OpQuantizeToF16 %float %f0", -(2.0**-15), gives=-0.0),
            floats("OpQuantizeToF16 %float %f0", 70000.0, gives=INF),
            floats("OpCopyObject %float %f0", 2.5, gives=2.5),
            Lines("%a = OpBitcast %v4uchar %u0\n%b = OpVectorShuffle %v4uchar %a %a 3 2 1 0\n%o0 = OpBitcast %uint %b",
              (0x12345678,), (0x78563412,)),
            Lines("%a = OpBitcast %v2half %u0\n%b = OpCompositeExtract %half %a 1\n%o0 = OpFConvert %float %b",
              (0x3C004000,), (1.0,)),
            Lines("%a = OpCompositeConstruct %v2uint %u0 %u1\n%b = OpBitcast %double %a\n%o0 = OpFConvert %float %b",
              (0, 0x40080000), (3.0,)),
        ]
    )  # fmt: skip


def test_narrow_floats() -> None:
    head = """
OpCapability BFloat16TypeKHR
OpCapability BFloat16DotProductKHR
OpCapability Float8EXT
OpCapability Float4EXT
OpCapability BitcastExtractEXT
OpExtension "SPV_KHR_bfloat16"
OpExtension "SPV_EXT_float8"
OpExtension "SPV_EXT_ocp_microscaling_types"
OpDecorate %saturated SaturatedToLargestFloat8NormalConversionEXT
%bfloat = OpTypeFloat 16 BFloat16KHR
%v2bfloat = OpTypeVector %bfloat 2
%e4m3 = OpTypeFloat 8 Float8E4M3EXT
%e5m2 = OpTypeFloat 8 Float8E5M2EXT
%e2m1 = OpTypeFloat 4 Float4E2M1EXT
%v2e2m1 = OpTypeVector %e2m1 2
"""
    back = "\n%o0 = OpFConvert %float %a"
    check(
        [
            Lines(f"%a = OpFConvert %bfloat %f0{back}", (1.01171875,), (1.015625,)),
            Lines("%a = OpBitcast %v2bfloat %u0\n%d = OpDot %bfloat %a %a\n%o0 = OpFConvert %float %d",
                  (0x40403F80,), (10.0,)),
            Lines(f"%a = OpFConvert %e4m3 %f0{back}", (17.5,), (18.0,)),
            Lines(f"%a = OpFConvert %e4m3 %f0{back}", (500.0,), (NAN,)),
            Lines(f"%a = OpFConvert %e5m2 %f0{back}", (-1e6,), (-INF,)),
            Lines("%saturated = OpFConvert %e4m3 %f0\n%o0 = OpFConvert %float %saturated", (500.0,), (448.0,)),
            Lines("%b = OpBitcast %v4uchar %u0\n%c = OpVectorShuffle %v2uchar %b %b 0 2\n"
                  "%d = OpBitcastExtractEXT %v2e2m1 %c %uint_4\n%e = OpFConvert %v2half %d\n"
                  "%g = OpFConvert %v2float %e\n%o0 = OpCompositeExtract %float %g 0\n"
                  "%o1 = OpCompositeExtract %float %g 1", (0x00F51234,), (1.5, -6.0)),
        ],
        head,
    )  # fmt: skip


def test_mixed_dot_products() -> None:
    head = """
OpCapability DotProductFloat16AccFloat32VALVE
OpCapability DotProductFloat16AccFloat16VALVE
OpExtension "SPV_VALVE_mixed_float_dot_product"
"""
    halves = "%a = OpBitcast %v2half %u0\n%b = OpBitcast %v2half %u1\n"
    check(
        [
            Lines(f"{halves}%o0 = OpFDot2MixAcc32VALVE %float %a %b %f2", (0x40003C00, 0x44004200, 0.5), (11.5,)),
            Lines(f"{halves}%c = OpFConvert %half %f2\n%d = OpFDot2MixAcc16VALVE %half %a %b %c\n"
                  "%o0 = OpFConvert %float %d", (0x40003C00, 0x44004200, 0.5), (11.5,)),
        ],
        head,
    )  # fmt: skip


def test_integer_dot_products() -> None:
    capabilities = (
        "OpCapability DotProduct\nOpCapability DotProductInputAll\nOpCapability DotProductInput4x8BitPacked\n"
        'OpExtension "SPV_KHR_integer_dot_product"\n'
    )
    pair = "%a = OpBitcast %v4char %u0\n%b = OpBitcast %v4char %u1\n"
    given = (0x80FF0102, 0x7F02FE03)
    signed = -128 * 127 - 2 - 2 + 6
    unsigned = 128 * 127 + 255 * 2 + 254 + 6
    mixed = -128 * 127 - 2 + 254 + 6
    packed = "PackedVectorFormat4x8Bit"
    check(
        [
            Lines(f"{pair}%o0 = OpSDot %uint %a %b", given, (signed,)),
            Lines(f"%o0 = OpSDot %uint %u0 %u1 {packed}", given, (signed,)),
            Lines(f"%o0 = OpUDot %uint %u0 %u1 {packed}", given, (unsigned,)),
            Lines(f"%o0 = OpSUDot %uint %u0 %u1 {packed}", given, (mixed,)),
            Lines(f"%o0 = OpSDotAccSat %uint %u0 %u1 %u2 {packed}", (*given, -(2**31) + 1), (-(2**31),)),
            Lines(f"%o0 = OpUDotAccSat %uint %u0 %u1 %u2 {packed}", (*given, -5), (-1,)),
            Lines(f"%o0 = OpSUDotAccSat %uint %u0 %u1 %u2 {packed}", (*given, 1000), (mixed + 1000,)),
        ],
        capabilities,
    )


def test_undefined_operations_are_found_where_they_stand() -> None:
    faults = {
        "OpUDiv %uint %a %b": (4, 0),
        "OpSRem %uint %a %b": (1 << 31, (1 << 32) - 1),
        "OpShiftLeftLogical %uint %a %b": (1, 32),
        "OpBitFieldUExtract %uint %a %b %b": (1, 17),
    }
    chain = "OpAccessChain %_ptr_StorageBuffer_uint"
    with every_case() as case:
        for expression, given in faults.items():
            with case(expression):
                text = (
                    f"{BUFFERS}\n%p = {chain} %input %int_0 %int_0\n%q = {chain} %input %int_0 %int_1\n"
                    f"%a = OpLoad %uint %p\n%b = OpLoad %uint %q\n%r = {expression}\n"
                    f"%s = {chain} %output %int_0 %int_0\nOpStore %s %r"
                )
                function = translated(text).function
                for target in ("interpreter", "cpu"):
                    kernel = compile_module(Module((function,)), target)[function.name]
                    with pytest.raises(KernelError) as error:
                        kernel[1](np.array(given, np.uint32).view(np.int8), np.zeros(4, np.int8))
                    assert [finding.code for finding in error.value.findings] == ["run.undefined_operation"]
