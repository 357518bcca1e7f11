"""What Vulkan leaves open about the numbers of shaders: each latitude alone, with and without what takes it away."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.api import compile_module
from girih.interpreter.latitude.bounds import EXACT, FORMULAS
from girih.ir.core import Module
from tests.cases import every_case
from tests.front.spirv.shaders import BUFFERS, INVOCATION, translated

Words = NDArray[np.uint32]
ITEMS = 16

NUMBERS = f"""
{BUFFERS}
{INVOCATION}
%two = OpConstant %uint 2
%first = OpIMul %uint %number %two
%second = OpIAdd %uint %first %uint_1
%p0 = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %first
%p1 = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %second
%u0 = OpLoad %uint %p0
%u1 = OpLoad %uint %p1
%x = OpBitcast %float %u0
%y = OpBitcast %float %u1
%q = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
"""
"""Two floats of each work-item, `%x` and `%y`, their bits as `%u0` and `%u1`; `%q` is where the result goes."""


class Shader:
    """Lines that compute `%r` of `%x` and `%y`, or of their bits, for 16 work-items."""

    def __init__(self, lines: str, *head: str, result: str = "float") -> None:
        bits = "%w = OpCopyObject %uint %r" if result == "uint" else "%w = OpBitcast %uint %r"
        text = "\n".join([NUMBERS, *head, lines, bits, "OpStore %q %w"])
        self.dtype = np.dtype(np.uint32 if result == "uint" else np.float32)
        self.kernel = compile_module(Module((translated(text).function,)), "interpreter")["main"]

    def __call__(self, x: Any, y: Any = 0.0, choices: girih.Choices | None = None) -> NDArray[Any]:
        """What the work-items write for these numbers."""
        given = np.zeros((ITEMS, 2), self.dtype)
        given[:, 0], given[:, 1] = x, y
        written = np.zeros(ITEMS, np.uint32)
        self.kernel.options(choices=choices)[1](given.reshape(-1).view(np.int8), written.view(np.int8))
        return written.view(self.dtype)

    def seeds(self, latitude: str, x: Any, y: Any = 0.0, count: int = 8) -> NDArray[Any]:
        """What they write with some seeds that vary one latitude."""
        return np.stack([self(x, y, girih.Choices(seed, vary=[latitude])) for seed in range(count)])


def numbers(seed: int, low: float, high: float) -> NDArray[np.float32]:
    return np.random.default_rng(seed).uniform(low, high, ITEMS).astype(np.float32)


PRODUCT_AND_SUM = "%m = OpFMul %float %x %x\n%r = OpFAdd %float %m %y"


def test_a_product_goes_unrounded_into_a_sum_unless_it_must_not() -> None:
    x = np.float32(1 + 2.0**-12)
    apart, together = np.float32(2.0**-11), np.float32(2.0**-11 + 2.0**-24)
    plain = Shader(PRODUCT_AND_SUM)
    assert set(plain(x, -1.0)) == {apart}
    assert set(plain(x, -1.0, girih.Choices(contraction="fused"))) == {together}
    assert set(plain.seeds("contraction", x, -1.0).ravel()) == {apart, together}
    assert set(plain.seeds("rounding", 1.5, -1.0).ravel()) == {np.float32(1.25)}
    for kept in ("OpDecorate %m NoContraction", "OpDecorate %r NoContraction"):
        assert set(Shader(PRODUCT_AND_SUM, kept)(x, -1.0, girih.Choices(contraction="fused"))) == {apart}
    difference = Shader("%m = OpFMul %float %x %x\n%r = OpFSub %float %y %m")
    assert set(difference(x, 1.0, girih.Choices(contraction="fused"))) == {-together}


def test_the_fma_of_glsl_may_round_its_product() -> None:
    x = np.float32(1 + 2.0**-12)
    plain, precise = (Shader("%r = OpExtInst %float %glsl Fma %x %x %y", *head) for head in
                      ((), ("OpDecorate %r NoContraction",)))  # fmt: skip
    apart = girih.Choices(contraction="apart")
    assert set(plain(x, -1.0)) == {np.float32(2.0**-11 + 2.0**-24)}
    assert set(plain(x, -1.0, apart)) == {np.float32(2.0**-11)}
    assert set(precise(x, -1.0, apart)) == {np.float32(2.0**-11 + 2.0**-24)}


def test_conversions_there_and_back_may_be_left_out_but_packing_is_an_integer() -> None:
    x = np.float32(1 + 2.0**-20)
    fused = girih.Choices(contraction="fused")
    there_and_back = Shader("%h = OpFConvert %half %x\n%r = OpFConvert %float %h")
    assert set(there_and_back(x)) == {np.float32(1)}
    assert set(there_and_back(x, choices=fused)) == {x}
    assert set(Shader("%h = OpFConvert %half %x\n%r = OpFConvert %float %h", "OpDecorate %r NoContraction")(
        x, choices=fused)) == {np.float32(1)}  # fmt: skip
    packed = Shader(
        "%v = OpCompositeConstruct %v2float %x %x\n%i = OpExtInst %uint %glsl PackHalf2x16 %v\n"
        "%b = OpExtInst %v2float %glsl UnpackHalf2x16 %i\n%r = OpCompositeExtract %float %b 0"
    )
    seen = {value for seed in range(8) for value in packed(x, choices=girih.Choices(seed, subgroup_size=16))}
    assert set(packed(x, choices=fused)) == {np.float32(1)}
    assert seen <= {np.float32(1), np.float32(1 + 2.0**-10)}


def test_relaxed_numbers_have_16_bits_or_more() -> None:
    relaxed = "OpDecorate %r RelaxedPrecision"
    x, half = np.float32(1 + 2.0**-12), girih.Choices(relaxed="half")
    assert set(Shader("%r = OpFAdd %float %x %y", relaxed)(x, 1.0, half)) == {np.float32(2)}
    assert set(Shader("%r = OpFAdd %float %x %y", relaxed)(x, 1.0)) == {np.float32(2 + 2.0**-12)}
    assert set(Shader("%r = OpFAdd %float %x %y")(x, 1.0, half)) == {np.float32(2 + 2.0**-12)}
    assert len(set(Shader("%r = OpFAdd %float %x %y", relaxed).seeds("relaxed", x, 1.0).ravel())) == 2
    unsigned = Shader("%r = OpIAdd %uint %u0 %u1", relaxed, result="uint")
    assert set(unsigned(0x1FFFF, 2)) == {0x20001}
    assert set(unsigned(0x1FFFF, 2, half)) == {1}
    signed = Shader("%i = OpBitcast %int %u0\n%s = OpIAdd %int %i %i\n%r = OpBitcast %uint %s",
                    "OpDecorate %s RelaxedPrecision", result="uint")  # fmt: skip
    assert set(signed(0x6000, 0, half)) == {0xFFFFC000}
    assert set(signed(0x6000, 0)) == {0xC000}


def test_denormals_are_flushed_or_kept_as_the_entry_point_says() -> None:
    small, lines = np.float32(2.0**-127), "%r = OpFMul %float %x %y"
    flush = girih.Choices(denormals="flush")
    plain = Shader(lines)
    assert set(plain(small, 1.0)) == {small}
    assert set(plain(small, 1.0, flush)) == {0.0}
    assert set(plain(2.0**-100, 2.0**-27, flush)) == {0.0}
    assert set(plain.seeds("denormals", small, 1.0).ravel()) == {small, np.float32(0)}
    head = 'OpExtension "SPV_KHR_float_controls"\nOpCapability {0}\nOpExecutionMode %main {0} 32'
    kept, flushed = (Shader(lines, head.format(mode)) for mode in ("DenormPreserve", "DenormFlushToZero"))
    assert set(kept.seeds("denormals", small, 1.0).ravel()) == set(kept(small, 1.0, flush)) == {small}
    assert set(flushed(small, 1.0)) == {0.0}
    # What moves values never flushes them.
    assert set(Shader("%r = OpCopyObject %float %x")(small, 1.0, flush)) == {small}


def test_results_are_rounded_to_either_neighbour_unless_a_mode_says_which() -> None:
    lines = {
        "sum": "%r = OpFAdd %float %x %y",
        "difference": "%r = OpFSub %float %x %y",
        "product": "%r = OpFMul %float %x %y",
        "integer": "%r = OpConvertUToF %float %u0",
    }
    x, y = numbers(1, -3, 3), numbers(2, -2e-3, 1e-3)
    with every_case() as case:
        for name, line in lines.items():
            with case(name):
                shader = Shader(line)
                found = {way: shader(x, y, girih.Choices(rounding=way)).astype(np.float64)
                         for way in ("even", "down", "up", "toward_zero")}  # fmt: skip
                a, b = x.astype(np.float64), y.astype(np.float64)
                whole = x.view(np.uint32).astype(np.float64)
                exact = {"sum": a + b, "difference": a - b, "product": a * b, "integer": whole}[name]
                assert (found["down"] <= exact).all() and (found["up"] >= exact).all()
                inexact = found["even"] != exact
                assert inexact.sum() > 3
                ends = found["down"][inexact].astype(np.float32), found["up"][inexact].astype(np.float32)
                assert (np.nextafter(ends[0], np.float32(np.inf)) == ends[1]).all()
                assert (np.absolute(found["toward_zero"]) <= np.absolute(exact)).all()
                drawn = shader.seeds("rounding", x, y)
                assert ((drawn == found["down"]) | (drawn == found["up"])).all()
                assert len({one.tobytes() for one in drawn}) > 2
    mode = 'OpExtension "SPV_KHR_float_controls"\nOpCapability {0}\nOpExecutionMode %main {0} 32'
    even, zero = (Shader(lines["sum"], mode.format(m)) for m in ("RoundingModeRTE", "RoundingModeRTZ"))
    plain = Shader(lines["sum"])
    assert (even.seeds("rounding", x, y) == plain(x, y)).all()
    assert (zero(x, y) == plain(x, y, girih.Choices(rounding="toward_zero"))).all()
    assert (zero(x, y) != plain(x, y)).any()


def test_a_conversion_to_bfloat16_may_be_truncated() -> None:
    to_bfloat16 = "%b = OpFConvert %bf %x\n%s = OpBitcast %ushort %b\n%r = OpUConvert %uint %s"
    head = ('OpExtension "SPV_KHR_bfloat16"\nOpCapability BFloat16TypeKHR\nOpCapability Int16\n'
            "%bf = OpTypeFloat 16 BFloat16KHR")  # fmt: skip
    shader = Shader(to_bfloat16, head, result="uint")
    bits = numbers(3, -3, 3).view(np.uint32)
    assert (shader(bits, 0, girih.Choices(rounding="toward_zero")) == bits >> 16).all()
    nearest = bits.view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    assert (shader(bits) == nearest).all()


_FUNCTIONS: dict[str, tuple[float, float]] = {
    "Sqrt": (0.1, 9), "InverseSqrt": (0.1, 9), "Exp": (-5, 5), "Exp2": (-5, 5), "Log": (0.1, 9), "Log2": (0.1, 9),
    "Sin": (-3, 3), "Cos": (-3, 3), "Tan": (-1, 1), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atan": (-9, 9),
    "Sinh": (-2, 2), "Cosh": (-2, 2), "Tanh": (-2, 2), "Asinh": (0.1, 5), "Acosh": (1.5, 5), "Atanh": (-0.9, 0.9),
}  # fmt: skip


def ulp(value: Any) -> Any:
    return np.spacing(np.absolute(np.asarray(value)).astype(np.float32)).astype(np.float64)


_BOUNDS: dict[str, Any] = {
    "InverseSqrt": lambda x, v: 2 * ulp(v),
    "Exp": lambda x, v: (3 + 2 * np.absolute(x)) * ulp(v),
    "Exp2": lambda x, v: (3 + 2 * np.absolute(x)) * ulp(v),
    "Log": lambda x, v: np.where((x >= 0.5) & (x <= 2), 2.0**-21, 3 * ulp(v)),
    "Log2": lambda x, v: np.where((x >= 0.5) & (x <= 2), 2.0**-21, 3 * ulp(v)),
    "Sin": lambda x, v: 2.0**-11,
    "Cos": lambda x, v: 2.0**-11,
    "Atan": lambda x, v: 4096 * ulp(v),
    "Sqrt": lambda x, v: 7 * ulp(v),
}
"""The bounds of Vulkan's table; that of a root is inherited, and not more than this."""
_MATH: dict[str, Any] = {
    "InverseSqrt": lambda x: 1 / np.sqrt(x), "Exp": np.exp, "Exp2": np.exp2, "Log": np.log, "Log2": np.log2,
    "Sin": np.sin, "Cos": np.cos, "Atan": np.arctan, "Sqrt": np.sqrt,
}  # fmt: skip


def test_functions_are_off_by_their_bounds_and_not_more() -> None:
    with every_case() as case:
        for name, (least, most) in _FUNCTIONS.items():
            with case(name):
                shader = Shader(f"%r = OpExtInst %float %glsl {name} %x")
                x = numbers(4, least, most)
                near = shader(x)
                low, high = (shader(x, choices=girih.Choices(ulps=way)) for way in ("low", "high"))
                drawn = shader.seeds("ulps", x, count=6)
                assert (low <= near).all() and (near <= high).all() and (low < high).all()
                assert ((low <= drawn) & (drawn <= high)).all()
                assert len({one.tobytes() for one in drawn}) > 2
                if name in _BOUNDS:
                    wide = x.astype(np.float64)
                    exact = _MATH[name](wide)
                    bound = _BOUNDS[name](wide, exact) + 1e-12 * np.absolute(exact)
                    assert (np.absolute(low - exact) <= bound).all() and (np.absolute(high - exact) <= bound).all()
                    assert (high - low >= 0.8 * bound).all()


def test_a_quotient_is_off_by_two_and_a_half_ulps() -> None:
    shader = Shader("%r = OpFDiv %float %x %y")
    x, y = numbers(5, 1, 2), numbers(6, 1, 2)
    exact = x.astype(np.float64) / y
    for way, sign in (("low", -1), ("high", 1)):
        off = sign * (shader(x, y, girih.Choices(ulps=way)) - exact) / ulp(exact)
        assert (off <= 2.5).all() and (off > 1.4).all()
    assert (shader.seeds("ulps", 0.0, y) == 0).all()
    assert np.isinf(shader.seeds("ulps", x, 0.0)).all()
    power = Shader("%r = OpExtInst %float %glsl Pow %x %y")
    low, high = (power(x, 3.0, girih.Choices(ulps=way)) for way in ("low", "high"))
    assert (low < x**3).all() and (high > x**3).all() and (high - low < 100 * ulp(x**3)).all()


def test_a_quotient_of_doubles_is_as_precise_as_one_of_singles() -> None:
    shader = Shader(
        "%a = OpFConvert %double %x\n%b = OpFConvert %double %y\n%d = OpFDiv %double %a %b\n%r = OpFConvert %float %d",
        "OpCapability Float64",
    )
    x = numbers(5, 1, 2)
    low, high = (shader(x, 3.0, girih.Choices(ulps=way)) for way in ("low", "high"))
    assert (low < high).all() and (high - low <= 6 * ulp(x / 3)).all()


def test_zeros_have_a_sign_only_where_that_is_preserved() -> None:
    lines = "%r = OpFMul %float %x %y"
    mode = 'OpExtension "SPV_KHR_float_controls"\nOpCapability {0}\nOpExecutionMode %main {0} 32'
    negative = girih.Choices(zeros="negative")
    assert np.signbit(Shader(lines)(0.0, 1.0, negative)).all()
    assert not np.signbit(Shader(lines, mode.format("SignedZeroInfNanPreserve"))(0.0, 1.0, negative)).any()
    assert len(set(np.signbit(Shader(lines).seeds("zeros", 0.0, 1.0)).ravel())) == 2


def test_sums_over_a_subgroup_have_an_order() -> None:
    shader = Shader("%r = OpGroupNonUniformFAdd %float %uint_3 Reduce %x",
                    "OpCapability GroupNonUniform\nOpCapability GroupNonUniformArithmetic")  # fmt: skip
    x = numbers(7, -1e3, 1e3)
    ways = {way: shader(x, choices=girih.Choices(subgroup_sums=way, subgroup_size=16)) for way in ("tree", "sequence")}
    total = np.float32(0)
    for number in x:
        total = np.float32(total + number)
    assert set(ways["sequence"]) == {total}
    assert (ways["tree"] == shader(x, choices=girih.Choices(subgroup_size=16))).all()
    assert ways["tree"][0] != total and math.isclose(ways["tree"][0], total, rel_tol=1e-4)
    # Four subgroups of four have sums of their own.
    quarters = shader(x, choices=girih.Choices(subgroup_size=4))
    assert len(set(quarters)) == 4
    with pytest.raises(girih.LaunchError, match="expected: a subgroup size that suits the kernel; found: 32"):
        shader(x, choices=girih.Choices(subgroup_size=32))


def test_a_seed_gives_the_same_numbers_each_time_and_says_what_it_is() -> None:
    shader = Shader("%e = OpExtInst %float %glsl Exp %x\n%r = OpFDiv %float %e %y")
    x = numbers(8, -3, 3)
    first = [shader(x, 3.0, girih.Choices(seed)) for seed in (1, 2)]
    again = [shader(x, 3.0, girih.Choices(seed).again()) for seed in (1, 2)]
    assert first[0].tobytes() == again[0].tobytes() != first[1].tobytes()
    chosen = girih.Choices(3, vary=["ulps"], rounding="up", subgroup_size=8)
    assert repr(chosen.again()) == "Choices(3, vary=('ulps',), subgroup_size=8, rounding='up')"
    with every_case() as case:
        for error, message, wrong in (
            (TypeError, "Choices has no keyword 'speed'; latitudes are contraction", {"speed": "high"}),
            (ValueError, "rounding is 'even' or 'toward_zero' or 'down' or 'up' or 'each'; got 1", {"rounding": 1}),
            (ValueError, "vary is a list of some of order, subgroup_size, contraction", {"seed": 1, "vary": ["all"]}),
            (ValueError, "give a seed as well", {"vary": ["ulps"]}),
            (ValueError, "a subgroup size is a number of work-items, or None; got 0", {"subgroup_size": 0}),
        ):
            with case(message), pytest.raises(error, match=message):
                girih.Choices(**wrong)


def test_every_function_with_a_bound_has_an_exact_one() -> None:
    assert FORMULAS.keys() == EXACT.keys()
