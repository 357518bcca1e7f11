"""Matrices of the device: valid modules that compute what the kernels mean, and reasons for those that are not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih import kernels
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.machine.compile import compile_kernel, recorded_kernel
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.back.spirv.matrix.multiples import Multiples
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.lavapipe import LAVAPIPE
from girih.diagnostics import CompileError
from girih.ir.core import Function
from girih.ir.types import MemRef
from girih.kernels import quantize
from girih.program import parse
from tests.back.spirv.circle import assert_valid, run_back
from tests.back.spirv.matrices import EVERY_SHAPE, KERNELS, SUBGROUP
from tests.cases import every_case, long, one_in
from tests.kernels.arrays import random, zeros
from tests.ops import corpus, vectors

DTYPES = {"f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32}
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "edges": {"a": (37, 13), "b": (11, 13), "c": (37, 11)},
    "half": {"c": (29, 15)},
    "clamped": {"a": (640,)},
}
"""Shapes of arguments whose types leave them open."""


def function_of(text: str, name: str) -> Function:
    function = parse(text).function(name)
    assert function is not None
    return function


def arguments_of(function: Function, seed: int = 0) -> list[Any]:
    """Small whole numbers, with which all sums are exact."""
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for parameter in function.parameters:
        type = parameter.type
        if not isinstance(type, MemRef):
            made.append(5)
            continue
        sizes = SIZES.get(function.name, {}).get(parameter.name) or tuple(size or 0 for size in type.shape)
        numbers = rng.integers(-4, 5, sizes)
        made.append(np.asfortranarray(numbers.astype(DTYPES[type.element.name])))
    return made


@pytest.mark.parametrize("name", [function.name for function in parse(KERNELS).functions])
def test_kernels_on_hopper_have_its_matrices_and_mean_the_same(name: str) -> None:
    function = function_of(KERNELS, name)
    emitted = compile_kernel(function, HOPPER)
    assert_valid(emitted)
    assert [told.message for told in emitted.remarks if told.code == "vulkan.matrix"] == []
    expected, found = arguments_of(function), arguments_of(function)
    girih.loads(KERNELS, target="interpreter")[name][1](*expected)
    run_back(emitted, (1, 1, 1), found)
    for wanted, came in zip(expected, found, strict=True):
        assert np.array_equal(wanted, came)


def test_a_barrier_stays_behind_a_matrix_that_is_loaded() -> None:
    text = f"""
    func @hand_over(%a: memref<f16x16x16>, %b: memref<f16x16x16>) {SUBGROUP} {{
        %zero = constant 0 : index
        %shared = alloca : memref<f16x16x16,local>
        parallel {{
            %x = cooperative_matrix_load %a[%zero,%zero] : coopmatrix<f16x16x16,matrix_acc>
            cooperative_matrix_store %x, %shared[%zero,%zero]
            barrier.local
            %y = cooperative_matrix_load %shared[%zero,%zero] : coopmatrix<f16x16x16,matrix_acc>
            barrier.local
            %z = cooperative_matrix_load %b[%zero,%zero] : coopmatrix<f16x16x16,matrix_acc>
            cooperative_matrix_store %z, %shared[%zero,%zero]
            cooperative_matrix_store %y, %b[%zero,%zero]
        }}
    }}
    """
    code = recorded_kernel(function_of(text, "hand_over"), HOPPER).code
    ops = [node.op for node in code.body.walk() if isinstance(node, ShaderNode)]
    met = [op for op in ops if op in ("barrier", "matrix_load", "matrix_store")]
    assert met[2:5] == ["barrier", "matrix_load", "barrier"]


def test_a_tile_at_a_known_place_is_one_instruction() -> None:
    code = recorded_kernel(function_of(KERNELS, "product"), HOPPER).code
    ops = [node.op for node in code.body.walk() if hasattr(node, "op")]
    assert ops.count("matrix_store") == 1
    assert "matrix_mul_add" in ops
    code = recorded_kernel(function_of(KERNELS, "edges"), HOPPER).code
    assert {"load_element", "store_element"} <= {one.name.rstrip("_0123456789") for one in code.routines}


def test_f16_is_rounded_before_a_conversion_that_a_driver_may_take_away() -> None:
    def rounds(name: str) -> bool:
        routines = recorded_kernel(function_of(KERNELS, name), HOPPER).code.routines
        return any(one.name.startswith("round_f16") for one in routines)

    # What is only multiplied and stored goes through no conversion back.
    assert rounds("half")
    assert not rounds("rows")


# --- run vectors -------------------------------------------------------------------------------

SUITS = ("cooperative_matrix", "tensor_layout", "tensor_view")
FILES = [path for path in corpus.files("run.tl") if path.parent.name.startswith(SUITS)]


@cache
def emitted_for_every_shape(path: Path, name: str) -> EmittedKernel | None:
    """The kernel on a device with every shape, judged; None where matrices of it are not the device's."""
    function = corpus.read(path).module.function(name)
    assert function is not None
    try:
        emitted = compile_kernel(function, EVERY_SHAPE, wide=True)
    except CompileError:
        return None
    assert_valid(emitted)
    return None if any(told.code == "vulkan.matrix" for told in emitted.remarks) else emitted


def launches_of(path: Path) -> Iterator[tuple[int, vectors.Launch]]:
    for line, text in corpus.read(path).vectors:
        launch = vectors.parse_vector(text)
        if not launch.expected.findings:
            yield line, launch


@pytest.mark.parametrize("path", one_in(10, FILES), ids=lambda path: path.parent.name)
def test_run_vectors_on_a_device_with_every_shape(path: Path) -> None:
    with every_case() as case:
        for line, launch in launches_of(path):
            with case(f"line {line}"):
                emitted = emitted_for_every_shape(path, launch.function)
                if emitted is not None:
                    run_launch(emitted, launch)


def run_launch(emitted: EmittedKernel, launch: vectors.Launch) -> None:
    """Run a vector, and hold that what it says comes out."""
    if any(one.kind == "group" for one in emitted.bindings):
        return
    marked = vectors.bind(emitted.function, launch.arguments)
    arguments = [value if hasattr(value, "offset") else vectors.unmark(value) for value in marked]
    x, y, z = (*launch.grid, 1, 1)[:3]
    run_back(emitted, (x, y, z), arguments)
    vectors.assert_results(emitted.function, marked, launch)


# --- what is not the device's ------------------------------------------------------------------

SMALL = f"""
func @small(%a: memref<f32x32x8>, %b: memref<f32x32x8>) {SUBGROUP} {{
    parallel {{
        %zero = constant 0 : index
        %x = cooperative_matrix_load %a[%zero,%zero] : coopmatrix<f32x32x8,matrix_acc>
        cooperative_matrix_store %x, %b[%zero,%zero]
    }}
}}
"""


def test_matrices_that_are_not_listed_are_told_with_what_is() -> None:
    (told,) = [
        one for one in compile_kernel(function_of(SMALL, "small"), HOPPER).remarks if one.code == "vulkan.matrix"
    ]
    assert "nvidia-hopper has no coopmatrix<f32x32x8,matrix_acc>" in told.message
    assert "multiples of 16x16x16 f16 into f32" in told.message
    # Where there are no matrices at all, other shapes would not help.
    open_sizes = SMALL.replace(SUBGROUP, "")
    assert [one.code for one in compile_kernel(function_of(open_sizes, "small"), LAVAPIPE).remarks] == ["vulkan.sizes"]


# --- what places are multiples of --------------------------------------------------------------

PLACES = """
func @places(%A: memref<f16x?x?x48> {stride_gcd=[1, 8, 24], shape_gcd=[4]}, %g: group<memref<f32x?>x?> {alignment=32},
             %n: index) {
    %c0 = constant 0 : index
    %c24 = constant 24 : index
    %six = constant 6 : index
    %twelve = mul %n, %c24 : index
    %more = add %twelve, %six : index
    %rows = size %A[0] : index
    %less = less_than %n, %six : bool
    %some = if %less -> (index) {
        yield (%twelve)
    } else {
        yield (%rows)
    }
    %a = subview %A[%twelve:%rows, %six:%c24, %n] : memref<f16x?x?, strided<1, ?>>
    %b = expand %A[2 -> 4 x %n x 2] : memref<f16x?x?x4x?x2, strided<1, ?, ?, ?, ?>>
    %m = load %g[%n] : memref<f32x?>
    for %k = %c24, %n, %six {
        %d = subview %A[%k:%c24, %c0:%c24, %c0] : memref<f16x?x?, strided<1, ?>>
    }
}
"""


def test_multiples_of_places_follow_from_promises_and_constants() -> None:
    function = parse(PLACES).function("places")
    assert function is not None
    multiples = Multiples(function)
    by_name = {value.name: value for op in function.walk() for value in op.results}
    assert [multiples.of(by_name[name]) for name in ("twelve", "more", "rows", "some")] == [8, 2, 4, 4]
    found = {name: multiples.memref(by_name[name]) for name in ("a", "b", "m", "d")}
    assert (found["a"].begin, found["a"].shape, found["a"].strides) == (16, (4, 8), (1, 8))
    assert found["b"].strides == (1, 8, 8, 32, 32)
    assert found["m"].begin == 32
    assert found["d"].begin == 4
    assert Multiples(function, even=16).memref(by_name["a"]).strides == (1, 16)


# --- the library -------------------------------------------------------------------------------

HALVES: dict[str, tuple[dict[str, object], tuple[int, int, int], list[Any]]] = {
    "gemm_work_group": (
        {"rows": 32, "columns": 32, "depth": 16, "items": 128},
        (2, 2, 1),
        [random("f16", 40, 24), random("f16", 24, 35), zeros("f16", 40, 35)],
    ),
    "gemm_q4_0_work_group": (
        {"rows": 32, "columns": 32, "depth": 32, "items": 128},
        (2, 2, 1),
        [quantize(random("f32", 40, 64), "q4_0"), random("f16", 64, 35), zeros("f32", 40, 35)],
    ),
    "gemm_q8_0_work_group": (
        {"rows": 32, "columns": 32, "depth": 32, "items": 128},
        (2, 2, 1),
        [quantize(random("f32", 40, 64), "q8_0"), random("f16", 64, 35), zeros("f32", 40, 35)],
    ),
    "attention_work_group": (
        {"headdim": 16, "queries": 32, "keys": 32, "items": 128, "causal": True},
        (2, 1, 1),
        [random("f16", 16, 40, 1), random("f16", 16, 70, 1), random("f16", 16, 70, 1), zeros("f16", 16, 40, 1), 0.25],
    ),
}
"""Sizes of tiles that Hopper lists, grids and arguments."""


@pytest.mark.parametrize(
    "name", ["gemm_work_group", *long(["gemm_q4_0_work_group", "gemm_q8_0_work_group", "attention_work_group"])]
)
def test_kernels_of_the_library_have_matrices_of_the_work_group(name: str) -> None:
    definitions, grid, arguments = HALVES[name]
    loaded = girih.load(kernels.path(name), "interpreter", definitions)[name]
    emitted = compile_kernel(loaded.ir, HOPPER)
    assert_valid(emitted)
    assert [told.message for told in emitted.remarks if told.code == "vulkan.matrix"] == []
    expected, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
    loaded[grid](*expected)
    run_back(emitted, grid, found)
    for wanted, came in zip(expected, found, strict=True):
        np.testing.assert_allclose(came, wanted, rtol=2e-2, atol=2e-3)


def test_modules_with_layouts_declare_tensor_addressing() -> None:
    kernel = kernels.gemm_work_group(target="vulkan:nvidia-hopper")
    text = girih.spirv.Module.from_bytes(kernel.spirv).to_text()
    assert "OpCapability TensorAddressingNV" in text and "OpCapability CooperativeMatrixTensorAddressingNV" in text
