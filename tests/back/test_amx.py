"""Products by tiles of AMX, which are a model in memory here: what it computes, and code that is made for tiles."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.amx.model import TilesInMemory
from girih.back.llvm.cpu.amx.tiles import Tiles
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import GENERAL_REGISTERS, ModuleText, Val
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import BF16, F16, I8, Number
from girih.runtime.cpu.executor import assembled
from tests.back.harness import TARGET, Compiled, linked
from tests.back.test_linalg import agrees, gemms, random, wide
from tests.cases import every_case, long

Array = NDArray[Any]

MODEL = replace(TARGET, amx=frozenset((BF16, F16, I8)), amx_in_memory=True)
RNG = np.random.default_rng(5)


# --- the model ---------------------------------------------------------------------------------


def on_tiles(write: Callable[[Tiles], None], *arrays: Array) -> None:
    """Execute operations on tiles; the addresses %p0, %p1, ... are those of arrays."""
    module = ModuleText(GENERAL_REGISTERS)
    listed = ", ".join(f"ptr %p{k}" for k in range(len(arrays)))
    w = Writer(module, f"define void @operations({listed})")
    write(TilesInMemory(w, MODEL))
    w.ret()
    w.finish()
    address = linked(str(module), False).get_function_address("operations")
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(address)(*(a.ctypes.data for a in arrays))


def place(number: int) -> Val:
    return Val(f"%p{number}", "ptr")


def multiplied(factors: Number, first: Array, second: Array, sums: Array) -> Array:
    """The tile that a multiplication leaves."""
    found = sums.copy()

    def write(tiles: Tiles) -> None:
        tiles.configure()
        for tile, number in ((3, 0), (7, 1), (5, 2)):
            tiles.load(tile, place(number), 64)
        tiles.multiply_add(factors, 5, 3, 7)
        tiles.store(5, place(2), 64)
        tiles.release()

    on_tiles(write, first, second, found)
    return found


def flushed(x: Array) -> Array:
    """Numbers, with zeros instead of subnormal ones."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def by_the_manual(first: Array, second: Array, sums: Array, *, flush: bool) -> Array:
    """Intel's description of TDPBF16PS and TDPFP16PS in NumPy, for factors whose products are exact in f32."""
    a, b = first.astype(np.float32), second.astype(np.float32)
    if flush:
        a, b = flushed(a), flushed(b)
    chains = np.zeros((2, 16, 16), np.float32)
    for k, part in product(range(16), range(2)):
        # One rounding: the product is exact in f64, and the sum as well for numbers that are not too far apart.
        exact = a[:, 2 * k + part, None].astype(np.float64) * b[k, part::2].astype(np.float64)
        chains[part] = flushed((chains[part].astype(np.float64) + exact).astype(np.float32))
    return flushed(flushed(sums) + flushed(chains[0] + chains[1]))


@pytest.mark.parametrize("scale", [1.0, 2.0**-62, 2.0**-63.5, 2.0**-126])
def test_the_model_multiplies_as_the_manual_says(scale: float) -> None:
    """With numbers of all sizes: also with subnormal products, sums and factors."""
    for type, dtype in ((BF16, ml_dtypes.bfloat16), (F16, np.float16)):
        spread = scale if type == BF16 else max(scale, 2.0**-15)
        first, second = ((RNG.standard_normal((16, 32)) * spread).astype(dtype) for _ in range(2))
        sums = (RNG.standard_normal((16, 16)) * spread * spread).astype(np.float32)
        with np.errstate(under="ignore"):
            wanted = by_the_manual(first, second, sums, flush=type == BF16)
        np.testing.assert_array_equal(multiplied(type, first, second, sums).view(np.int32), wanted.view(np.int32))


def test_the_model_multiplies_bytes_and_wraps_around() -> None:
    first, second = (RNG.integers(-128, 128, (16, 64)).astype(np.int8) for _ in range(2))
    sums = RNG.integers(-(2**31), 2**31, (16, 16)).astype(np.int32)
    deep = second.reshape(16, 16, 4).transpose(0, 2, 1).reshape(64, 16).astype(np.int64)
    wanted = (first.astype(np.int64) @ deep + sums).astype(np.int32)
    np.testing.assert_array_equal(multiplied(I8, first, second, sums), wanted)


def test_infinities_and_nan_go_through() -> None:
    first, second = np.zeros((2, 16, 32), ml_dtypes.bfloat16)
    first[0, 0], first[1, 1], second[0, 2] = np.inf, np.nan, 1.0
    found = multiplied(BF16, first, second, np.zeros((16, 16), np.float32))
    assert np.isnan(found[0, [0, 2]]).all() and found[0, 1] == np.inf and np.isnan(found[1]).all()
    assert not found[2:].any()


def test_a_tile_without_configuration_is_all_ones() -> None:
    """So that a product would be NaN or -1, where a processor would end the process."""
    before, after = (np.zeros((16, 16), np.int32) for _ in range(2))

    def write(tiles: Tiles) -> None:
        tiles.load(0, place(0), 64)
        tiles.store(0, place(0), 64)
        tiles.configure()
        tiles.release()
        tiles.zero(1)
        tiles.store(1, place(1), 64)

    on_tiles(write, before, after)
    assert (before == -1).all() and (after == -1).all()


def test_tiles_move_with_strides() -> None:
    source, goal = np.arange(16 * 40, dtype=np.int32).reshape(16, 40), np.zeros((16, 24), np.int32)

    def write(tiles: Tiles) -> None:
        tiles.configure()
        tiles.load(6, place(0), 160)
        tiles.store(6, place(1), 96)
        tiles.zero(6)
        tiles.release()

    on_tiles(write, source, goal)
    np.testing.assert_array_equal(goal[:, :16], source[:, :16])
    assert not goal[:, 16:].any()


# --- products of memrefs -----------------------------------------------------------------------

TYPES = [
    ("bf16", "bf16", "f32"), ("i8", "i8", "i32"), ("f16", "f16", "f16"), ("bf16", "bf16", "bf16"), ("i8", "i8", "i8"),
    ("f16", "f16", "f32"),
]  # fmt: skip
SIZES = [(33, 41, 70), (64, 96, 128), (8, 300, 31), (100, 9, 133), (150, 40, 17), (15, 17, 300), (49, 64, 65)]
FACTORS = [(2, 3), (1, 0), (1, 1)]

SMALL_CACHES = replace(MODEL, machine=replace(MODEL.machine, l2_bytes=16 << 10, l3_bytes=32 << 10))
"""For blocks that are so small that products of a short time have several in each direction."""


def tiled(text: str) -> Any:
    """The function of a text that has nothing but products by tiles."""
    function = girih.loads(text, target="interpreter")["f"].ir
    assert "girih.amx.product" in lower(function, MODEL).text
    return function


def check(
    size: tuple[int, int, int], types: tuple[str, str, str], factors: tuple[int, int], dynamic: bool, target: CpuTarget
) -> None:
    """Products in all four ways."""
    (m, n, k), (alpha, beta) = size, factors
    a, b = random(types[0], m, k), random(types[1], k, n)
    targets = [random(types[2], m, n) for _ in range(4)]
    wanted = [alpha * (wide(a) @ wide(b)) + beta * wide(c) for c in targets]
    kernel = Compiled(tiled(gemms(m, n, k, types, dynamic)), target=target)
    kernel((1, 1, 1), alpha, beta, a, np.asfortranarray(a.T), b, np.asfortranarray(b.T), *targets)
    for found, expected in zip(targets, wanted, strict=True):
        agrees(found, expected, k)


def test_products() -> None:
    check((70, 75, 140), ("bf16", "bf16", "f32"), (1, 3), True, SMALL_CACHES)


@pytest.mark.parametrize(("types", "dynamic", "target"), long(product(TYPES, (False, True), (MODEL, SMALL_CACHES))))
def test_products_of_every_type_and_size(types: tuple[str, str, str], dynamic: bool, target: CpuTarget) -> None:
    with every_case() as case:
        for number, size in enumerate(SIZES):
            factors = FACTORS[(number + dynamic) % len(FACTORS)]
            with case(f"{size} {factors}"):
                check(size, types, factors, dynamic, target)


APART = """
func @f(%A: memref<bf16x?x?, strided<?,?>>, %B: memref<bf16x?x?, strided<?,?>>, %C: memref<bf16x?x?, strided<?,?>>) {
    %one = constant 1.0 : bf16
    %half = constant 0.5 : bf16
    gemm %one, %A, %B, %half, %C
}
"""


def test_factors_without_neighbours() -> None:
    """Every other row and column of larger matrices; the depth has several blocks, whose sums are held."""
    a, b, c = (random("bf16", *shape)[::2, ::2] for shape in ((80, 600), (600, 70), (80, 70)))
    wanted = wide(a) @ wide(b) + wide(c) / 2
    Compiled(tiled(APART), target=SMALL_CACHES)((1, 1, 1), a, b, c)
    agrees(c, wanted, 300)


def test_atomic_products() -> None:
    a, b, c = random("i8", 40, 50), random("i8", 50, 45), random("i32", 40, 45)
    text = """
    func @f(%A: memref<i8x40x50>, %B: memref<i8x50x45>, %C: memref<i32x40x45>) {
        %two = constant 2 : i8
        %one = constant 1 : i32
        gemm.atomic %two, %A, %B, %one, %C
    }
    """
    wanted = c + 2 * (wide(a) @ wide(b))
    Compiled(tiled(text), target=MODEL)((1, 1, 1), a, b, c)
    agrees(c, wanted)


def test_zeros_beyond_the_depth_meet_no_nan() -> None:
    """Neither what follows a factor in memory nor what an earlier product has left is multiplied by the other one."""
    a, b = np.full((40, 64), np.nan, ml_dtypes.bfloat16, "F"), np.full((64, 40), np.nan, ml_dtypes.bfloat16, "F")
    a[:, :41], b[:41] = 1.0, 1.0
    text = """
    func @f(%A: memref<bf16x40x64>, %B: memref<bf16x64x40>, %N: memref<f32x40x40>, %C: memref<f32x40x40>) {
        %one = constant 1.0 : bf16
        %zero = constant 0.0 : f32
        gemm %one, %A, %B, %zero, %N
        %a = subview %A[0:40, 0:41] : memref<bf16x40x41,strided<1,40>>
        %b = subview %B[0:41, 0:40] : memref<bf16x41x40,strided<1,64>>
        gemm %one, %a, %b, %zero, %C
    }
    """
    spoilt, found = (np.zeros((40, 40), np.float32, "F") for _ in range(2))
    Compiled(tiled(text), target=MODEL)((1, 1, 1), a, b, spoilt, found)
    assert np.isnan(spoilt).all() and (found == 41).all()


# --- products of cooperative matrices ----------------------------------------------------------

COOPERATIVE = """
func @f(%A: memref<{a}x?x?>, %B: memref<{a}x?x?>, %C: memref<{c}x?x?>, %D: memref<{c}x?x?>) attributes
        {{subgroup_size=16, work_group_size=[16, 1]}} {{
    %z = constant 0 : index
    %two = constant 2 : index
    %one = constant 1 : index
    parallel {{
        %a = cooperative_matrix_load{ta} %A[%z, %z] : coopmatrix<{a}x{m}x{k},matrix_a>
        %c = cooperative_matrix_load %C[%z, %z] : coopmatrix<{c}x{m}x{n},matrix_acc>
        %sum = for %i = %z, %two, %one init (%before=%c) -> (coopmatrix<{c}x{m}x{n},matrix_acc>) {{
            %b = cooperative_matrix_load{tb} %B[%z, %z] : coopmatrix<{a}x{k}x{n},matrix_b>
            %next = cooperative_matrix_mul_add %a, %b, %before : coopmatrix<{c}x{m}x{n},matrix_acc>
            yield (%next)
        }}
        cooperative_matrix_store %sum, %D[%z, %z]
    }}
}}
"""
"""D := 2 A B + C: the first factor is the same in both rounds of a loop, the second one is loaded in each."""

SHAPES = [(48, 16, 40), (16, 32, 64), (80, 144, 96), (32, 32, 33), (128, 48, 16)]


def check_cooperative(shape: tuple[int, int, int], types: tuple[str, str], turned: tuple[str, str]) -> None:
    (m, n, k), (factors, sums), (ta, tb) = shape, types, turned
    text = COOPERATIVE.format(a=factors, c=sums, m=m, n=n, k=k, ta=ta, tb=tb)
    a, b, c, found = random(factors, m, k), random(factors, k, n), random(sums, m, n), random(sums, m, n)
    kernel = Compiled(tiled(text), target=MODEL)
    kernel((1, 1, 1), np.asfortranarray(a.T) if ta else a, np.asfortranarray(b.T) if tb else b, c, found)
    agrees(found, 2 * (wide(a) @ wide(b)) + wide(c), 2 * k)


WAYS = [("", ""), ("", ".t"), (".t", ""), (".t", ".t")]
SOME_SHAPES = [(SHAPES[0], ("bf16", "f32"), WAYS[1]), (SHAPES[1], ("i8", "i32"), WAYS[2])]


def test_cooperative_products() -> None:
    with every_case() as case:
        for shape, types, ways in SOME_SHAPES:
            with case(f"{shape} {types} {ways}"):
                check_cooperative(shape, types, ways)


@pytest.mark.parametrize(("shape", "ways"), long(product(SHAPES, WAYS)))
def test_cooperative_products_of_every_type(shape: tuple[int, int, int], ways: tuple[str, str]) -> None:
    with every_case() as case:
        for types in (("bf16", "f32"), ("bf16", "bf16"), ("f16", "f32"), ("f16", "f16"), ("i8", "i32")):
            with case(f"{types}"):
                check_cooperative(shape, types, ways)


def test_attention_goes_by_tiles() -> None:
    """Products that wait in a loop, whose accumulators are kept, with keys that remain."""
    definitions = {"headdim": 32, "type": "bf16", "queries": 64, "keys": 32}
    function = girih.load(kernels.path("attention"), target="interpreter", definitions=definitions)["attention"].ir
    q, k, v = (random("bf16", 32, length, 1) for length in (33, 70, 70))
    found = np.zeros_like(q)
    Compiled(function, target=MODEL)((2, 1, 1), q, k, v, found, 0.2)
    scores = np.exp(wide(q[..., 0]).T @ wide(k[..., 0]) * 0.2)
    wanted = wide(v[..., 0]) @ (scores / scores.sum(1, keepdims=True)).T
    np.testing.assert_allclose(wide(found[..., 0]), wanted, rtol=0, atol=3e-2)
    assert "cvtne2ps2bf16" in lower(function, RAPIDS).text


COMPUTED = """
func @f(%A: memref<f32x?x?>, %B: memref<{t}x?x?>, %C: memref<f32x?x?>) attributes
        {{subgroup_size=16, work_group_size=[16, 1]}} {{
    %z = constant 0 : index
    parallel {{
        %a = cooperative_matrix_load %A[%z, %z] : coopmatrix<f32x{m}x{k},matrix_a>
        %b = cooperative_matrix_load %B[%z, %z] : coopmatrix<{t}x{k}x{n},matrix_b>
        %none = constant 0.0 : coopmatrix<f32x{m}x{n},matrix_acc>
        %twice = add %a, %a : coopmatrix<f32x{m}x{k},matrix_a>
        %narrow = cast %twice : coopmatrix<{t}x{m}x{k},matrix_a>
        %first = cooperative_matrix_mul_add %narrow, %b, %none : coopmatrix<f32x{m}x{n},matrix_acc>
        {again}
        cooperative_matrix_store %sum, %C[%z, %z]
    }}
}}
"""
"""C := A' B, or twice that, where A' is 2 A, rounded."""

AGAIN = {
    1: "%sum = add %first, %none : coopmatrix<f32x{m}x{n},matrix_acc>",
    2: "%sum = cooperative_matrix_mul_add %narrow, %b, %first : coopmatrix<f32x{m}x{n},matrix_acc>",
}


def check_computed(type: str, shape: tuple[int, int, int], times: int) -> None:
    (m, n, k) = shape
    again = AGAIN[times].format(m=m, n=n)
    a, b, found = random("f32", m, k), random(type, k, n), random("f32", m, n)
    a[3, 5] = np.nan
    Compiled(tiled(COMPUTED.format(t=type, m=m, n=n, k=k, again=again)), target=MODEL)((1, 1, 1), a, b, found)
    narrow = (2 * a).astype(b.dtype)
    assert np.isnan(found[3]).all()
    rest = np.arange(m) != 3
    agrees(np.asfortranarray(found[rest]), times * (wide(narrow) @ wide(b))[rest], times * k)


def test_computed_factors_go_straight_into_panels() -> None:
    check_computed("bf16", (48, 16, 64), 1)
    check_computed("bf16", (80, 32, 32), 2)


@pytest.mark.parametrize("shape", long((shape,) for shape in (*SHAPES, (320, 16, 32), (16, 16, 96))))
def test_computed_factors_of_every_shape(shape: tuple[int, int, int]) -> None:
    with every_case() as case:
        for type in ("bf16", "f16"):
            for times in AGAIN:
                with case(f"{type} {times}"):
                    check_computed(type, shape, times)


def test_a_kernel_releases_tiles_whichever_way_it_ends() -> None:
    """Where a check fails, it goes to the same end."""
    text = lower(
        girih.loads(COOPERATIVE.format(a="bf16", c="f32", m=16, n=16, k=32, ta="", tb=""))["f"].ir, RAPIDS
    ).text
    kernel = text[text.index('define void @"girih.f"') :]
    begin, end = kernel.split("left:")
    assert "ldtilecfg" in begin.split("label")[0] and "br label %left" in begin and "ret " not in begin
    assert end.index("tilerelease") < end.index("ret void")


# --- code for processors -----------------------------------------------------------------------

RAPIDS = CpuTarget.of(Cpu.named("x86_64-linux-gnu:sapphirerapids"), amx=True)

PRODUCT = """
func @f(%A: memref<{a}x64x64>, %B: memref<{b}x64x64>, %C: memref<{c}x64x64>) {{
    %one = constant {one} : {a}
    %zero = constant {zero} : {c}
    gemm %one, %A, %B, %zero, %C
}}
"""


def gemm_of(a: str, b: str, c: str) -> Any:
    numbers = {"one": "1" if a == "i8" else "1.0", "zero": "0" if c[0] == "i" else "0.0"}
    return girih.loads(PRODUCT.format(a=a, b=b, c=c, **numbers), target="interpreter")["f"].ir


def test_assembly_has_the_instructions() -> None:
    wanted = {
        "bf16": ("sapphirerapids", "tdpbf16ps"),
        "i8": ("emeraldrapids", "tdpbssd"),
        "f16": ("graniterapids", "tdpfp16ps"),
    }
    for type, (name, instruction) in wanted.items():
        function = gemm_of(type, type, "i32" if type == "i8" else "f32")
        text = assembled(function, Cpu.named(f"x86_64-linux-gnu:{name}"), "off")
        begin = text.index("girih.f:")
        assert "ldtilecfg" in text[begin:] and "tilerelease" in text[begin:]
        assert text[:begin].count("tilestored") == 4 and text[:begin].count(instruction) == 4
    assert "tdp" not in assembled(gemm_of("f16", "f16", "f32"), Cpu.named("x86_64-linux-gnu:sapphirerapids"), "off")


def test_remarks_say_what_goes_by_tiles_and_what_does_not() -> None:
    expected = {
        (
            "bf16",
            "bf16",
            "f32",
        ): "by tiles of AMX, which add up in an order of their own and take subnormal f32 and bf16 as zeros",
        ("i8", "i8", "i8"): "the product goes by tiles of AMX",
        ("f16", "f16", "f32"): "without tiles of AMX: factors are f16 and f16, and sums f32",
        ("i8", "i8", "i64"): "without tiles of AMX: factors are i8 and i8, and sums i64",
    }
    for types, words in expected.items():
        (remark,) = lower(gemm_of(*types), RAPIDS).remarks
        assert remark.message.endswith(words) and remark.hint
    assert lower(gemm_of("f32", "f32", "f32"), RAPIDS).remarks == ()
    assert lower(gemm_of("bf16", "bf16", "f32"), TARGET).remarks == ()
