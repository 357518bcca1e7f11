"""The texts that take the place of others on GPUs with tile programs: the same numbers, and tile programs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.ir.core import Function
from girih.ir.types import CoopMatrix
from girih.kernels.loading import gpu_text
from girih.ops.tile.arith import Constant
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.form import Issue, Settle, walk
from girih.tile.recognise import tile_kernel
from girih.tile.simulate.launch import simulate
from tests.back.nvptx.launch import PtxMachineKernel
from tests.kernels.test_quantized import assert_close, decoded, random_blocks

BF16 = np.dtype(ml_dtypes.bfloat16)
SMALL = {"rows": 64, "columns": 64, "depth": 32}
TARGETS = ["interpreter", "cpu"]


def numbers(*shape: int, seed: int = 0) -> NDArray[Any]:
    """Small whole numbers of bf16, of which sums of products are exact in f32."""
    return np.asfortranarray(np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(BF16))


def function(name: str, **definitions: object) -> Function:
    """A text with some definitions."""
    (found,) = girih.parse(gpu_text(name).read_text(encoding="utf-8"), definitions=definitions).functions
    return found


def wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float64)


@pytest.mark.parametrize("where", TARGETS)
@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_product(where: str, beta: float, transpose_a: bool, transpose_b: bool) -> None:
    m, n, k = 70, 130, 50
    a, b = numbers(*((k, m) if transpose_a else (m, k))), numbers(*((n, k) if transpose_b else (k, n)), seed=1)
    c = np.asfortranarray(numbers(m, n, seed=2).astype(np.float32))
    left, right = (wide(one.T if turned else one) for one, turned in ((a, transpose_a), (b, transpose_b)))
    expected = 3 * (left @ right) + beta * c
    definitions = {**SMALL, "transpose_a": transpose_a, "transpose_b": transpose_b}
    girih.load(gpu_text("gemm"), where, definitions)["gemm"](3.0, a, b, beta, c)
    assert (c == expected).all()
    mixed = np.zeros((m, n), np.float32, order="F")
    if not transpose_a and not transpose_b:
        girih.load(gpu_text("gemm_mixed"), where, SMALL)["gemm_mixed"](a, b, mixed)
        assert (mixed == left @ right).all()
        narrow = np.zeros((m, n), BF16, order="F")
        girih.load(gpu_text("gemm_work_group"), where, SMALL)["gemm_work_group"](a, b, narrow)
        assert (narrow == (left @ right).astype(BF16)).all()


def test_a_product_in_the_simulator() -> None:
    kernel = tile_kernel(function("gemm", **SMALL, transpose_a=True))
    a, b, c = numbers(56, 72), numbers(56, 136), np.ones((72, 136), np.float32, order="F")
    expected = 2 * (wide(a.T) @ wide(b)) + 5
    simulate(kernel, (2, 3, 1), (2.0, a, b, 5.0, c))
    assert (c == expected).all()


@pytest.mark.parametrize("where", [*TARGETS, "simulator"])
@pytest.mark.parametrize("bias", [None, "bias_of_rows", "bias_of_columns"])
@pytest.mark.parametrize("residual", [False, True])
def test_a_product_with_what_follows(where: str, bias: str | None, residual: bool) -> None:
    m, n, k = 72, 136, 56
    a, b, r, c = numbers(m, k), numbers(k, n, seed=1), numbers(m, n, seed=2), numbers(m, n, seed=3)
    offsets = np.arange(m if bias == "bias_of_rows" else n, dtype=np.float32) - 20
    expected = wide(a) @ wide(b)
    if bias is not None:
        expected += offsets[:, None] if bias == "bias_of_rows" else offsets
    expected = np.maximum(expected, 0) + (wide(r) if residual else 0)
    definitions: dict[str, object] = {**SMALL, "relu": True, "residual": residual}
    if bias is not None:
        definitions[bias] = True
    given = (a, b, offsets, r, c)
    if where == "simulator":
        simulate(tile_kernel(function("gemm_epilogue", **definitions)), (2, 3, 1), given)
    else:
        girih.load(gpu_text("gemm_epilogue"), where, definitions)["gemm_epilogue"](*given)
    assert (c == expected.astype(np.float32).astype(BF16)).all()


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def reference(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], causal: bool, scale: float = 0.125) -> NDArray[Any]:
    """Attention of arrays of length x places x heads, of which two share a head of keys."""
    found = np.zeros(q.shape)
    for head in range(q.shape[2]):
        scores = scale * wide(q[..., head]).T @ wide(k[..., head // 2])
        if causal:
            scores[np.arange(scores.shape[0])[:, None] < np.arange(scores.shape[1])] = -np.inf
        found[..., head] = (softmax(scores) @ wide(v[..., head // 2]).T).T
    return found


def attention(places: int, keys: int) -> list[Any]:
    rng = np.random.default_rng(7)
    made = [rng.standard_normal((64, n, h)).astype(BF16) for n, h in ((places, 4), (keys, 2), (keys, 2))]
    return [*map(np.asfortranarray, made), np.zeros((64, places, 4), BF16, order="F"), 0.125]


@pytest.mark.parametrize("where", [*TARGETS, "simulator"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("fast", [False, True])
def test_attention(where: str, causal: bool, fast: bool) -> None:
    definitions = {"headdim": 64, "causal": causal, "fast": fast, "queries": 64, "keys": 64}
    given = attention(70, 90)
    if where == "simulator":
        simulate(tile_kernel(function("attention", **definitions)), (2, 4, 1), given)
    else:
        girih.load(gpu_text("attention"), where, definitions)["attention"](*given)
    expected = reference(given[0], given[1], given[2], causal)
    assert np.abs(wide(given[3]) - expected).max() < 0.03


@pytest.mark.parametrize("where", [*TARGETS, "simulator"])
@pytest.mark.parametrize("scale", [-0.5, 0.0, 3.0])
def test_attention_with_any_scale(where: str, scale: float) -> None:
    """The largest weight may belong to the smallest score; masked keys count for nothing with a scale of 0, too."""
    definitions = {"headdim": 64, "causal": True, "queries": 64, "keys": 64}
    given = [*attention(70, 90)[:4], scale]
    if where == "simulator":
        simulate(tile_kernel(function("attention", **definitions)), (2, 4, 1), given)
    else:
        girih.load(gpu_text("attention"), where, definitions)["attention"](*given)
    expected = reference(given[0], given[1], given[2], True, scale)
    assert np.abs(wide(given[3]) - expected).max() < 0.03


@pytest.mark.parametrize("headdim", [16, 48, 64, 80, 96, 128, 160, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_any_length_is_a_tile_program(headdim: int, causal: bool) -> None:
    loaded = kernels.attention(headdim=headdim, type="bf16", causal=causal, fast=True, target="cuda:sm_90a")
    steps = list(walk(tile_kernel(loaded.ir).consumers.body))
    assert sum(isinstance(step, Issue) for step in steps) == 4, (
        "the first and the last product stand outside of the loop"
    )
    assert Settle(1) in steps


@pytest.mark.parametrize("where", [*TARGETS, "machine"])
@pytest.mark.parametrize("bytes_of_x", [False, True])
@pytest.mark.parametrize("format", ["q4_0", "q8_0"])
def test_vectors_times_quantised_weights(where: str, format: str, bytes_of_x: bool) -> None:
    """Rows beyond the last whole work-group, and work-groups that take several rows each."""
    name = f"gemv_{format}{'_q8_0' if bytes_of_x else ''}"
    kernel = girih.load(gpu_text(name), "cpu" if where == "machine" else where)[name]
    for rows, blocks, grid in [(1, 1, 1), (21, 9, 3), (21, 9, 1), (8, 2, 4)]:
        w, y = random_blocks(format, rows, blocks), np.full(rows, np.nan, np.float32)
        held = random_blocks("q8_0", 1, blocks)
        x = decoded(held, "q8_0")[0]
        given = (w, np.asfortranarray(held[:, :, 0]) if bytes_of_x else x, y)
        if where == "machine":
            PtxMachineKernel(kernel.ir)((grid, 1, 1), *map(_aligned, given))
        else:
            kernel[grid](*given)
        assert_close(y, decoded(w, format), x)


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """The array, where it begins at a multiple of 16 bytes, as a copy otherwise."""
    if not array.ctypes.data % 16 or (array.dtype == np.float32 and array.ndim == 1 and np.isnan(array).all()):
        return array
    room = np.zeros(array.nbytes + 16, np.uint8)
    begin = -room.ctypes.data % 16
    found = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape, order="F")
    found[...] = array
    return found


def test_work_items_load_neighbours_of_a_block_at_once() -> None:
    """That blocks begin at even bytes follows from what is promised of strides."""
    kernel = girih.load(gpu_text("gemv_q4_0"), "cuda:sm_90a")["gemv_q4_0"]
    assert "ld.global.nc.v2.b8" in kernel.ptx
    assert "ld.global.nc.v4.b32" in kernel.ptx


def test_gpus_load_them() -> None:
    def source(kernel: girih.Kernel) -> str:
        return str(kernel.ir.span.source.name)

    new, old = "cuda:sm_90a", "cuda:sm_80"
    for type_ in ("f16", "bf16"):
        assert source(kernels.gemm(type=type_, target=new)) == str(gpu_text("gemm"))
        assert source(kernels.gemm_mixed(type=type_, target=new)) == str(gpu_text("gemm_mixed"))
        assert source(kernels.gemm_work_group(type=type_, target=new)) == str(gpu_text("gemm_work_group"))
        with_bias = kernels.gemm_epilogue(type=type_, bias="rows", activation="gelu", target=new)
        assert source(with_bias) == str(gpu_text("gemm_epilogue"))
        assert source(kernels.attention(type=type_, headdim=64, target=new)) == str(gpu_text("attention"))
        assert source(kernels.gemm(type=type_, target=old)) == str(kernels.path("gemm"))
    for kernel in (
        kernels.gemm(type="f32", target=new), kernels.gemm(type="bf16", accumulator="bf16", target=new),
        kernels.gemm(type="bf16", depth=32, target=new),
    ):  # fmt: skip
        assert source(kernel) == str(kernels.path("gemm"))
    for name in ("gemv_q4_0", "gemv_q8_0", "gemv_q4_0_q8_0", "gemv_q8_0_q8_0"):
        made = getattr(kernels, name)
        assert source(made(target=old)) == source(made(target=new)) == str(gpu_text(name))
        assert source(made(target="cpu")) == str(kernels.path(name))
    for target, rows in ((old, 16), (new, 16), ("cpu", 512)):
        walked = kernels.gemv(target=target).ir.walk()
        assert rows in [op.value for op in walked if isinstance(op, Constant)], "a GPU needs many work-groups"
    assert source(kernels.attention(type="f16", headdim=24, target=new)) == str(kernels.path("attention"))
    assert source(kernels.attention(type="f16", headdim=64, keys=64, target=new)) == str(kernels.path("attention"))


def test_products_of_work_groups_have_tiles_that_suit_the_device() -> None:
    def tile(target: str, columns: int | None = None) -> list[tuple[int, int]]:
        loaded = kernels.gemm_work_group(type="bf16", target=target, columns=columns)
        loads = CooperativeMatrixLoad | CooperativeMatrixLoadTensor
        factors = (op.result.type for op in loaded.ir.walk() if isinstance(op, loads))
        return sorted({factor.shape for factor in factors if isinstance(factor, CoopMatrix)})

    assert tile("cuda:sm_90a") == [(64, 256), (128, 64)]
    assert tile("cuda:sm_90a", columns=64) == [(32, 128), (64, 32)], "who asks for a size gets the text's others"
    assert tile("interpreter") == [(32, 128), (128, 32)]


def test_sizes_that_are_not_offered_are_refused() -> None:
    with pytest.raises(ValueError, match="headdim is 0"):
        kernels.attention(headdim=0, type="bf16", target="cuda:sm_90a")
    with pytest.raises(ValueError, match="type is 'f15'"):
        kernels.attention(headdim=64, type="f15", target="cuda:sm_90a")
