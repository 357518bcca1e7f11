"""Collective linear algebra on CUDA: sizes that fill 16 bytes and that do not, wide accesses, packed work-groups."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import CudaVariant, PtxKernel
from girih.ir.core import Function
from girih.kernels import path
from girih.program import parse
from tests.back.harness import Array, Failed
from tests.back.nvptx.launch import PtxMachineKernel
from tests.cases import every_case

TYPES: dict[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip

HALF_ULP = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
"""The relative error of a number that is rounded once."""


def function(text: str) -> Function:
    return parse(text).functions[0]


def compiled(text: str, variant: CudaVariant | None = None) -> PtxKernel:
    return compile_kernel(function(text), architecture_named("sm_90a"), variant=variant or CudaVariant())


def one(type: str, value: int) -> str:
    return str(value) if type[0] == "i" else f"{value}.0"


def numbers(rng: np.random.Generator, shape: tuple[int, ...], type: str) -> Array:
    """Small numbers, column-major."""
    held = rng.integers(-4, 5, shape) if type[0] == "i" else rng.standard_normal(shape)
    return np.asfortranarray(held.astype(TYPES[type]))


def exact(held: Array) -> Array:
    return held.astype(np.int64 if held.dtype.kind == "i" else np.float64)


def assert_close(found: Array, wanted: Array, size: Array | float, type: str, terms: int) -> None:
    """Integers are equal; floats differ by the rounding of each of `terms` steps of at most `size`, and of the result.

    Sums are computed in the type, those of f16 and bf16 in f32, so that the bound is that of any order of summands
    (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2).
    """
    if type[0] == "i":
        assert (exact(found) == wanted.astype(TYPES[type])).all()
        return
    step = HALF_ULP["f32" if type in ("f16", "bf16") else type]
    bound = 1.01 * (terms * step * size + HALF_ULP[type] * np.abs(wanted)) + 1e-30
    assert (np.abs(exact(found) - wanted) <= bound).all()


# --- gemm --------------------------------------------------------------------------------------


def batched(m: int, n: int, k: int, type: str, result: str, modifiers: str, beta: int) -> str:
    """A kernel of one product for each work-group."""
    turned = modifiers.split(".")
    a = f"{k}x{m}" if turned[0] == "t" else f"{m}x{k}"
    b = f"{n}x{k}" if turned[1] == "t" else f"{k}x{n}"
    views = {"a": (a, type), "b": (b, type), "c": (f"{m}x{n}", result)}
    parameters = ", ".join(f"%{name.upper()}: memref<{t}x{shape}x?>" for name, (shape, t) in views.items())
    lines = [
        f"    %{name} = subview %{name.upper()}[0:{shape.replace('x', ',0:')},%g] : memref<{t}x{shape}>"
        for name, (shape, t) in views.items()
    ]
    return "\n".join([
        f"func @batched({parameters}) {{",
        "    %g = group_id.x : index",
        *lines,
        f"    %alpha = constant {one(type, 2)} : {type}",
        f"    %beta = constant {one(result, beta)} : {result}",
        f"    gemm.{modifiers} %alpha, %a, %b, %beta, %c",
        "}",
    ])  # fmt: skip


def check_batched(
    sizes: tuple[int, int, int], type: str, result: str, modifiers: str, beta: int, batch: int = 3
) -> PtxMachineKernel:
    m, n, k = sizes
    rng = np.random.default_rng(k)
    left, right = ((k, m) if modifiers[0] == "t" else (m, k)), ((n, k) if modifiers[2] == "t" else (k, n))
    a, b, c = (numbers(rng, (*shape, batch), t) for shape, t in ((left, type), (right, type), ((m, n), result)))
    before = exact(c)
    kernel = PtxMachineKernel(function(batched(m, n, k, type, result, modifiers, beta)))
    kernel((batch, 1, 1), a, b, c)
    x, y = (np.moveaxis(exact(held), 2, 0) for held in (a, b))
    x, y = x.swapaxes(1, 2) if modifiers[0] == "t" else x, y.swapaxes(1, 2) if modifiers[2] == "t" else y
    wanted = np.moveaxis(2 * x @ y, 0, 2) + beta * before
    size = np.moveaxis(2 * abs(x) @ abs(y), 0, 2) + abs(beta * before)
    assert_close(c, wanted, size, result, k + 3)
    return kernel


SIZES = [(8, 8, 8), (16, 16, 16), (5, 7, 3), (9, 9, 9), (20, 12, 6), (1, 1, 1), (1, 17, 2), (32, 8, 40)]


@pytest.mark.parametrize("modifiers", ["n.n", "n.t", "t.n", "t.t"])
def test_small_products_of_many_work_groups(modifiers: str) -> None:
    with every_case() as case:
        for number, sizes in enumerate(SIZES):
            with case(str(sizes)):
                check_batched(sizes, "f32", "f32", modifiers, number % 3)


@pytest.mark.parametrize("modifiers", ["n.n", "n.t", "t.n", "t.t"])
def test_factors_with_gaps_between_their_elements(modifiers: str) -> None:
    """No mode has neighbours, also where the lines of the one begin where those of the other would without gaps."""
    shapes = {"a": (2, 16) if modifiers[0] == "t" else (16, 2), "b": (8, 2) if modifiers[2] == "t" else (2, 8)}
    with every_case() as case:
        for first, second in product(((2, 4), (2, 32), (3, 2), (4, 16)), ((2, 16), (2, 4), (2, 8), (2, 2))):
            rng = np.random.default_rng(1)
            held, types = [], []
            for (rows, columns), (step, far) in zip(shapes.values(), (first, second), strict=True):
                memory = np.zeros(step * rows + far * columns + 99, np.int32)
                view = as_strided(memory, (rows, columns), (4 * step, 4 * far))
                held.append(view)
                types.append(f"memref<i32x{rows}x{columns},strided<{step},{far}>>")
                view[...] = rng.integers(-9, 9, view.shape)
            text = f"""func @f(%a: i32, %A: {types[0]}, %B: {types[1]}, %C: memref<i32x16x8>)
                attributes {{subgroup_size=32, work_group_size=[64, 1]}} {{
                %b = constant 0 : i32
                gemm.{modifiers} %a, %A, %B, %b, %C
            }}"""
            with case(f"{first} {second}"):
                found = np.zeros((16, 8), np.int32, order="F")
                PtxMachineKernel(function(text))((1, 1, 1), 1, *held, found)
                x, y = (one.T if word == "t" else one for one, word in zip(held, modifiers.split("."), strict=True))
                assert (found == x @ y).all()


@pytest.mark.parametrize(
    ("type", "result"),
    [("i8", "i8"), ("i8", "i32"), ("i16", "i16"), ("i32", "i32"), ("i64", "i64"), ("f64", "f64"), ("f32", "f64"),
     ("f16", "f16"), ("f16", "f32"), ("bf16", "bf16"), ("bf16", "f32")],
)  # fmt: skip
def test_small_products_of_types(type: str, result: str) -> None:
    with every_case() as case:
        for modifiers in ("n.n", "t.t"):
            for sizes in ((8, 8, 8), (12, 20, 6)):
                with case(f"{modifiers} {sizes}"):
                    check_batched(sizes, type, result, modifiers, 2)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(32, 32, 32), (56, 56, 9), (64, 64, 64), (33, 31, 29)])
def test_larger_products_of_many_work_groups(sizes: tuple[int, int, int]) -> None:
    with every_case() as case:
        for type in ("f32", "bf16"):
            with case(type):
                check_batched(sizes, type, type, "n.n", 0, 2)


@pytest.mark.parametrize(
    ("sizes", "packed", "threads"), [((8, 8, 8), 32, 4), ((16, 16, 16), 8, 16), ((32, 32, 32), 4, 32)]
)
def test_work_groups_are_packed(sizes: tuple[int, int, int], packed: int, threads: int) -> None:
    """Work-groups wait for their own threads, and the last CTA has work-groups beyond the grid."""
    kernel = compiled(batched(*sizes, "f32", "f32", "n.n", 0))
    assert (kernel.packed, kernel.threads) == (packed, packed * threads)
    assert kernel.ctas((packed + 1, 2, 3), 1) == (2, 2, 3)
    assert "bar.warp.sync" in kernel.ptx
    assert not re.search(r"\bbar(rier)?\.(cta\.)?sync", kernel.ptx)


def test_products_of_the_library_are_packed() -> None:
    """One of two products that are alike; the memory of the second factor has gaps between matrices, and may between
    columns, of which one test has none: then odd columns are copied 16 bytes at a time."""
    definitions = {"type": "f32", "M": 8, "N": 12, "K": 9}
    module = parse(path("gemm_batched").read_text(encoding="utf-8"), definitions=definitions)
    chosen = module.function("gemm_batched_nn")
    assert chosen is not None
    kernel = PtxMachineKernel(chosen)
    packed = kernel.variant(CudaVariant())[0].packed
    assert packed > 1
    rng = np.random.default_rng(0)
    with every_case() as case:
        for gap in (0, 3):
            for beta in (0.0, 0.5):
                with case(f"{gap} {beta}"):
                    a, c = numbers(rng, (8, 9, 5), "f32"), numbers(rng, (8, 12, 5), "f32")
                    b = numbers(rng, (9 + gap, 12, 5), "f32")[:9]
                    before = exact(c)
                    kernel((5, 1, 1), np.float32(2), a, b, np.float32(beta), c)
                    x, y = (np.moveaxis(exact(held), 2, 0) for held in (a, b))
                    wanted = np.moveaxis(2 * x @ y, 0, 2) + beta * before
                    size = np.moveaxis(2 * abs(x) @ abs(y), 0, 2) + abs(beta * before)
                    assert_close(c, wanted, size, "f32", 12)


def test_operands_in_arguments_that_are_apart_are_not_compared() -> None:
    """A launch whose arguments share memory takes the variant with the check, and is told what it finds."""
    text = batched(4, 4, 4, "f32", "f32", "n.n", 0)
    kernel = PtxMachineKernel(function(text))
    usual, other = (kernel.variant(CudaVariant(disjoint=disjoint))[0] for disjoint in (True, False))
    assert len(other.sites) == len(usual.sites) + 2
    memory = np.zeros(48, np.float32)
    a, b, c = (np.ndarray((4, 4, 1), np.float32, memory, 4 * first, order="F") for first in (0, 16, 31))
    with pytest.raises(Failed, match="shares elements with `b`"):
        kernel((1, 1, 1), a, b, c)


def test_a_counted_grid_is_not_packed() -> None:
    text = batched(8, 8, 8, "f32", "f32", "n.n", 0)
    assert compiled(text, CudaVariant(narrow=False)).packed == 1


@pytest.mark.parametrize(
    "line", ["    barrier", "    %n = num_subgroups.x : i32", "    %t = alloca : memref<f32x8,local>"]
)
def test_what_tells_how_many_threads_there_are_is_not_packed(line: str) -> None:
    text = batched(8, 8, 8, "f32", "f32", "n.n", 0).replace("    gemm", f"{line}\n    gemm")
    assert compiled(text).packed == 1


def test_a_finding_of_a_packed_work_group_names_it() -> None:
    text = batched(8, 8, 8, "f32", "f32", "n.n", 0)
    rng = np.random.default_rng(0)
    a, b = (numbers(rng, (8, 8, count), "f32") for count in (40, 37))
    kernel = PtxMachineKernel(function(text))
    with pytest.raises(Failed) as raised:
        kernel((40, 1, 1), a, b, numbers(rng, (8, 8, 40), "f32"))
    assert raised.value.code == "run.subview"
    assert set(raised.value.values) & {37, 38, 39}


@pytest.mark.parametrize("size", [8, 16, 32])
@pytest.mark.parametrize("type", ["f32", "bf16"])
def test_packed_products_access_16_bytes(size: int, type: str) -> None:
    ptx = compiled(batched(size, size, size, type, type, "n.n", 0)).ptx
    assert re.search(r"ld\.global(\.nc)?\.v4\.b32|cp\.async\.cg\.shared\.global .*, 16;", ptx)
    assert "ld.shared.v4.b32" in ptx
    assert "st.global.v4.b32" in ptx


def large(type: str, modifiers: str, result: str, extents: str, threads: int) -> str:
    return f"""func @large(%A: memref<{type}x{extents}>, %B: memref<{type}x{extents}>, %C: memref<{result}>)
        attributes {{work_group_size=[{threads},1], subgroup_size={min(threads, 32)}}} {{
        %alpha = constant {one(type, 2)} : {type}
        %beta = constant {one(type, 1)} : {type}
        gemm.{modifiers} %alpha, %A, %B, %beta, %C
    }}"""


def check_large(
    sizes: tuple[int, int, int], type: str, modifiers: str, threads: int = 128, *, rows: bool = False
) -> None:
    """A product of sizes that only the launch knows; of a target whose rows have the neighbours, if asked for."""
    m, n, k = sizes
    rng = np.random.default_rng(m)
    a = numbers(rng, (k, m) if modifiers[0] == "t" else (m, k), type)
    b = numbers(rng, (n, k) if modifiers[2] == "t" else (k, n), type)
    c = numbers(rng, (n, m), type).T if rows else numbers(rng, (m, n), type)
    before = exact(c)
    result = f"{type}x?x?,strided<?,1>" if rows else f"{type}x?x?"
    PtxMachineKernel(function(large(type, modifiers, result, "?x?", threads)))((1, 1, 1), a, b, c)
    x, y = (exact(a).T if modifiers[0] == "t" else exact(a)), (exact(b).T if modifiers[2] == "t" else exact(b))
    assert_close(c, 2 * x @ y + before, 2 * abs(x) @ abs(y) + abs(before), type, k + 3)


@pytest.mark.parametrize("modifiers", ["n.n", "n.t", "t.n", "t.t"])
def test_products_of_sizes_that_the_launch_tells(modifiers: str) -> None:
    """Blocks inside of the matrices, at their edges, of aligned columns and others; several of them."""
    with every_case() as case:
        for sizes in ((64, 64, 32), (68, 65, 20), (3, 5, 40), (130, 9, 7)):
            with case(str(sizes)):
                check_large(sizes, "f32", modifiers)


@pytest.mark.parametrize("threads", [8, 32, 64, 96, 256])
def test_products_by_any_number_of_threads(threads: int) -> None:
    check_large((70, 67, 18), "f32", "n.n", threads)


@pytest.mark.parametrize("type", ["i8", "i32", "i64", "f16", "bf16", "f64"])
def test_large_products_of_types(type: str) -> None:
    with every_case() as case:
        for modifiers in ("n.n", "t.t"):
            with case(modifiers):
                check_large((66, 64, 24), type, modifiers)


def test_a_target_with_neighbours_in_rows() -> None:
    with every_case() as case:
        for modifiers in ("n.n", "t.n"):
            with case(modifiers):
                check_large((65, 72, 20), "f32", modifiers, rows=True)


def test_a_product_of_no_depth_scales_the_target() -> None:
    check_large((5, 6, 0), "f32", "n.n")


def test_a_large_product_says_that_one_multiprocessor_computes_it() -> None:
    remarks = compiled(large("f32", "n.n", "f32x?x?", "?x?", 128)).remarks
    assert [one.code for one in remarks] == ["cuda.gemm"]
    small = batched(8, 8, 8, "f32", "f32", "n.n", 0)
    assert "cuda.gemm" not in [one.code for one in compiled(small).remarks]


def test_collectives_share_what_memory_a_device_has() -> None:
    """Copies of factors, parts of sums and local memory, each of which fits, also fit together."""
    text = """func @both(%A: memref<f32x112x64>, %B: memref<f32x64x112>, %C: memref<f32x112x112>,
            %D: memref<f16x2048x4>, %e: memref<f16x2048>, %f: memref<f32x4096>)
            attributes {work_group_size=[1024,1], subgroup_size=32} {
        %one = constant 1.0 : f32
        %half = constant 0.5 : f16
        %local = alloca : memref<f32x4096,local>
        %zero = constant 0.0 : f32
        axpby.n %one, %f, %zero, %local
        gemm.n.n %one, %A, %B, %one, %C
        sum.n %half, %D, %half, %e
        axpby.n %one, %local, %zero, %f
    }"""
    kernel = PtxMachineKernel(function(text), architecture="sm_86")
    rng = np.random.default_rng(0)
    a, b, c = (numbers(rng, shape, "f32") for shape in ((112, 64), (64, 112), (112, 112)))
    d, e = numbers(rng, (2048, 4), "f16"), numbers(rng, (2048,), "f16")
    product, sums, size = (
        exact(a) @ exact(b) + exact(c),
        (exact(d).sum(axis=1) + exact(e)) / 2,
        abs(exact(d)).sum(axis=1),
    )
    bound = abs(exact(a)) @ abs(exact(b)) + abs(exact(c))
    kernel((1, 1, 1), a, b, c, d, e, numbers(rng, (4096,), "f32"))
    assert_close(c, product, bound, "f32", 67)
    assert_close(e, sums, size + abs(exact(e)) + 1, "f16", 7)


# --- element by element ------------------------------------------------------------------------

SHAPES = [((1000,), "?"), ((7,), "7"), ((64, 48), "64x48"), ((64, 48), "?x?"), ((37, 50), "?x?"), ((200, 5), "200x5")]


@pytest.mark.parametrize("type", ["i8", "f16", "bf16", "f32", "f64"])
def test_axpby_and_hadamard(type: str) -> None:
    with every_case() as case:
        for shape, extents in SHAPES:
            with case(extents):
                check_pointwise(type, shape, extents)


def check_pointwise(type: str, shape: tuple[int, ...], extents: str) -> None:
    rng = np.random.default_rng(shape[0])
    a, b, c = (numbers(rng, shape, type) for _ in range(3))
    old = exact(b), exact(c)
    memref = f"memref<{type}x{extents}>"
    text = f"""func @pointwise(%A: {memref}, %B: {memref}, %C: {memref}) {{
        %two = constant {one(type, 2)} : {type}
        %one = constant {one(type, 1)} : {type}
        axpby %two, %A, %one, %B
        hadamard %two, %A, %B, %one, %C
    }}"""
    PtxMachineKernel(function(text))((1, 1, 1), a, b, c)
    assert_close(b, 2 * exact(a) + old[0], 2 * abs(exact(a)) + abs(old[0]), type, 2)
    product = 2 * exact(a) * exact(b)
    assert_close(c, product + old[1], abs(product) + abs(old[1]), type, 3)


@pytest.mark.parametrize("type", ["i8", "bf16", "f32"])
def test_ger(type: str) -> None:
    with every_case() as case:
        for shape in ((64, 48), (37, 5), (3, 70), (256, 2)):
            with case(str(shape)):
                rng = np.random.default_rng(shape[0])
                a, b, c = numbers(rng, shape[:1], type), numbers(rng, shape[1:], type), numbers(rng, shape, type)
                old = exact(c)
                text = f"""func @outer(%A: memref<{type}x?>, %B: memref<{type}x?>, %C: memref<{type}x?x?>) {{
                    %one = constant {one(type, 1)} : {type}
                    ger %one, %A, %B, %one, %C
                }}"""
                PtxMachineKernel(function(text))((1, 1, 1), a, b, c)
                product = np.outer(exact(a), exact(b))
                assert_close(c, product + old, abs(product) + abs(old), type, 2)


def test_one_memory_as_operand_and_result() -> None:
    """A vector that is added to itself, in pieces that are read before any of them is written."""
    text = """func @doubled(%A: memref<f32x4096>) {
        %one = constant 1.0 : f32
        axpby %one, %A, %one, %A
    }"""
    held = np.arange(4096, dtype=np.float32)
    PtxMachineKernel(function(text))((1, 1, 1), held)
    assert (held == 2 * np.arange(4096)).all()


# --- sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["i8", "i64", "bf16", "f32", "f64"])
def test_sums_of_vectors(type: str) -> None:
    with every_case() as case:
        for length in (3, 100, 4099, 8192):
            with case(str(length)):
                rng = np.random.default_rng(length)
                a, b = numbers(rng, (length,), type), numbers(rng, (), type)
                old = exact(b)
                text = f"""func @total(%A: memref<{type}x?>, %B: memref<{type}>) {{
                    %one = constant {one(type, 1)} : {type}
                    sum %one, %A, %one, %B
                }}"""
                PtxMachineKernel(function(text))((1, 1, 1), a, b)
                assert_close(b, exact(a).sum() + old, abs(exact(a)).sum() + abs(old), type, length + 2)


def rows_of(type: str, shape: tuple[int, int], extents: str, modifier: str) -> None:
    """Sums of rows and products with a vector, of a matrix or its transpose."""
    rng = np.random.default_rng(shape[0])
    a = numbers(rng, shape, type)
    lines = exact(a).T if modifier == "t" else exact(a)
    x, y, z = (
        numbers(rng, lines.shape[1:], type),
        numbers(rng, lines.shape[:1], type),
        numbers(rng, lines.shape[:1], type),
    )
    vector = f"memref<{type}x?>"
    text = f"""func @rows(%A: memref<{type}x{extents}>, %x: {vector}, %y: {vector}, %z: {vector}) {{
        %one = constant {one(type, 1)} : {type}
        %zero = constant {one(type, 0)} : {type}
        sum.{modifier} %one, %A, %zero, %y
        gemv.{modifier} %one, %A, %x, %zero, %z
    }}"""
    PtxMachineKernel(function(text))((1, 1, 1), a, x, y, z)
    assert_close(y, lines.sum(1), abs(lines).sum(1), type, lines.shape[1] + 2)
    assert_close(z, lines @ exact(x), abs(lines) @ abs(exact(x)), type, lines.shape[1] + 2)


@pytest.mark.parametrize("modifier", ["n", "t"])
@pytest.mark.parametrize("type", ["i8", "bf16", "f32"])
def test_sums_of_rows(type: str, modifier: str) -> None:
    with every_case() as case:
        for shape, extents in (
            ((64, 48), "?x?"), ((16, 200), "16x200"), ((37, 21), "?x?"), ((1024, 3), "?x?"), ((640, 2), "640x2"),
            ((0, 5), "?x?"), ((5, 0), "?x?"),
        ):  # fmt: skip
            with case(f"{shape} {extents}"):
                rows_of(type, shape, extents, modifier)


@pytest.mark.parametrize("type", ["i8", "i32", "bf16", "f32", "f64"])
def test_running_sums(type: str) -> None:
    with every_case() as case:
        for shape, mode, extents in (
            ((700,), 0, "?"), ((64, 40), 0, "?x?"), ((37, 9), 0, "?x?"), ((64, 41), 1, "?x?"), ((37, 9), 1, "?x?"),
            ((16, 6, 5), 1, "16x6x5"), ((8, 3, 70), 2, "?x?x?"), ((4, 0), 0, "?x?"),
        ):  # fmt: skip
            with case(f"{shape} {mode}"):
                rng = np.random.default_rng(shape[0])
                a, b = numbers(rng, shape, type), numbers(rng, shape, type)
                old = exact(b)
                text = f"""func @running(%A: memref<{type}x{extents}>, %B: memref<{type}x{extents}>) {{
                    %one = constant {one(type, 1)} : {type}
                    cumsum %one, %A, {mode}, %one, %B
                }}"""
                PtxMachineKernel(function(text))((1, 1, 1), a, b)
                size = abs(exact(a)).cumsum(mode) + abs(old)
                assert_close(b, exact(a).cumsum(mode) + old, size, type, shape[mode] + 2)
