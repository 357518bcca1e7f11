"""Products with quantised weights, and what makes and reads the blocks, against NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

import girih
from girih import kernels
from girih.back.llvm.assemble.assembler import Cpu
from tests.cases import crossed, long
from tests.kernels.arrays import Array, random

FORMATS = ["q4_0", "q8_0"]
BYTES = {"q4_0": 18, "q8_0": 34}
LARGEST = {"q4_0": 8, "q8_0": 127}


def random_blocks(format: str, rows: int, blocks: int) -> Array:
    """Blocks of random bytes whose scales are random finite numbers."""
    source = np.random.default_rng([rows, blocks])
    held = source.integers(0, 256, (rows, blocks, BYTES[format]), dtype=np.uint8)
    held[..., :2] = source.standard_normal((rows, blocks, 1)).astype(np.float16).view(np.uint8)
    return held.view(np.int8).T


def decoded(blocks: Array, format: str) -> Array:
    """What blocks stand for, one number after the other, as the format's definition says."""
    held = np.ascontiguousarray(blocks.T).view(np.uint8)
    scale = held[..., :2].copy().view(np.float16).astype(np.float32)
    numbers = np.empty((*held.shape[:2], 32), np.int32)
    for k in range(32):
        if format == "q8_0":
            numbers[..., k] = held[..., 2 + k].view(np.int8)
        else:
            numbers[..., k] = (held[..., 2 + k % 16].astype(np.int32) >> 4 * (k // 16) & 15) - 8
    with np.errstate(invalid="ignore"):
        weights: Array = numbers.astype(np.float32) * scale
    return weights.reshape(held.shape[0], held.shape[1] * 32)


def assert_close(found: Array, weights: Array, x: Array) -> None:
    """Sums of products in f32, in any order."""
    exact, wide = weights.astype(np.float64), x.astype(np.float64)
    bound = (weights.shape[1] + 2) * 2.0**-23 * (abs(exact) @ abs(wide))
    assert found.shape == bound.shape
    assert (abs(found - exact @ wide) <= bound).all()


# --- products -------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "type_"), crossed(FORMATS, ["f32", "bf16"]))
def test_gemv(format: str, type_: str) -> None:
    name = f"gemv_{format}"
    kernel = getattr(kernels, name)(type=type_)
    for rows, blocks in [(1, 1), (8, 2), (71, 5), (130, 1), (0, 2), (3, 0)]:
        w, x, y = random_blocks(format, rows, blocks), random(type_, 32 * blocks), np.full(rows, np.nan, np.float32)
        kernel(w, x, girih.uninitialized(y))
        assert_close(y, decoded(w, format), x)


@pytest.mark.parametrize("processor", [None, "cpu:haswell", *long(["cpu:x86-64-v2", "cpu:skylake-avx512"])])
@pytest.mark.parametrize("format", FORMATS)
def test_gemv_of_bytes(format: str, processor: str | None) -> None:
    if processor is not None and (lacking := Cpu.named(processor.removeprefix("cpu:")).missing_on(Cpu.host())):
        pytest.skip(f"this machine lacks {', '.join(lacking)}")
    kernel = getattr(kernels, f"gemv_{format}_q8_0")(target=processor)
    for rows, count in [(1, 1), (16, 3), (71, 5), (130, 1), (0, 2), (3, 0)]:
        w, blocks, y = random_blocks(format, rows, count), random_blocks("q8_0", 1, count), np.zeros(rows, np.float32)
        if rows and count:
            # The lowest byte on both sides, where it would be wrong to turn its sign; and scales at their ends.
            w[2:, 0, 0] = blocks[2:, 0] = -128
            w[:2, :, -1].T.view(np.uint8).view(np.float16)[:] = [1e-7]
        kernel(w, np.asfortranarray(blocks[:, :, 0]), girih.uninitialized(y))
        x = decoded(blocks, "q8_0")[0]
        assert_close(y, decoded(w, format), x)
    # An infinite scale gives infinity or NaN in its row alone.
    w, blocks, y = random_blocks(format, 20, 2), random_blocks("q8_0", 1, 2), np.zeros(20, np.float32)
    w[:2, 1, 3] = [0, 0x7C]
    kernel(w, np.asfortranarray(blocks[:, :, 0]), y)
    assert list(np.flatnonzero(~np.isfinite(y))) == [3]


@pytest.mark.parametrize("format", FORMATS)
def test_gemv_of_bytes_that_do_not_fit(format: str) -> None:
    w, x, y = random_blocks(format, 5, 2), random_blocks("q8_0", 1, 2)[:, :, 0], np.zeros(5, np.float32)
    kernel = getattr(kernels, f"gemv_{format}_q8_0")()
    for arguments, argument in [((w, x[:, :1], y), "x"), ((w, x, y[:4]), "y")]:
        with pytest.raises(girih.KernelError) as found:
            kernel(*(np.asfortranarray(a) for a in arguments))
        finding = found.value.findings[0]
        assert (finding.code, finding.argument) == ("run.expand", argument)


@pytest.mark.parametrize(("format", "type_"), crossed(FORMATS, ["f32", "bf16"]))
def test_gemm(format: str, type_: str) -> None:
    name = f"gemm_{format}"
    kernel = getattr(kernels, name)(type=type_)
    for rows, blocks, columns in [(1, 1, 1), (64, 2, 32), (77, 3, 35), (7, 0, 2), (0, 1, 2)]:
        w, x = random_blocks(format, rows, blocks), random(type_, 32 * blocks, columns)
        c = np.full((rows, columns), np.nan, np.float32, order="F")
        kernel(w, x, girih.uninitialized(c))
        assert_close(c, decoded(w, format), x)


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2])])
def test_products_whatever_an_implementation_chooses(seed: int) -> None:
    for format in FORMATS:
        w, x, y = random_blocks(format, 20, 3), random("f32", 96), np.zeros(20, np.float32)
        girih.load(kernels.path(f"gemv_{format}"))[f"gemv_{format}"].options(choices=girih.Choices(seed))(w, x, y)
        assert_close(y, decoded(w, format), x)
        c = np.zeros((20, 1), np.float32, order="F")
        kernel = girih.load(kernels.path(f"gemm_{format}"))[f"gemm_{format}"]
        kernel.options(choices=girih.Choices(seed))(w, np.asfortranarray(x[:, None]), c)
        assert_close(c, decoded(w, format), x[:, None])


DECODE = """
func @decode(%W: memref<i8 x BYTES x ?>, %B: memref<f32 x 32 x ?>)
    attributes {subgroup_size=32, work_group_size=[32, 1]} {
  %zero = constant 0 : index
  %tile = constant 16 : index
  %group = group_id.x : index
  %row = mul %group, %tile : index
  %rows = size %W[1] : index
  parallel {
    %bytes = fuse %W[0, 1] : memref<i8 x ?>
    %l0 = tensor_layout_create : tensor_layout<DIM, constant>
    %l1 = tensor_layout_set_block_size %l0[1, 1, WITHIN] : tensor_layout<DIM, constant>
    %l2 = tensor_layout_set_dimension %l1[%rows, 1, WITHIN] : tensor_layout<DIM, constant>
    %l3 = tensor_layout_slice %l2[%row:16, 0:1, SLICE] : tensor_layout<DIM, constant>
    %turned = tensor_view_create : tensor_view<DIM, false, TURNED>
    %empty = constant 0.0 : coopmatrix<f32x32x16,matrix_acc>
    %m = cooperative_matrix_load_tensor %empty, %bytes[%zero], %l3, %turned REGION : coopmatrix<f32x32x16,matrix_acc>
    cooperative_matrix_store %m, %B[%zero, %row]
  }
}
"""
TENSORS = {
    "q4_0": {"DIM": "4", "WITHIN": "2, 16", "SLICE": "0:2, 0:16", "TURNED": "1, 2, 3, 0"},
    "q8_0": {"DIM": "3", "WITHIN": "32", "SLICE": "0:32", "TURNED": "1, 2, 0"},
}


@pytest.mark.parametrize("count", [1_600, *long([10_000])])
@pytest.mark.parametrize("format", FORMATS)
def test_decoding_is_exact(format: str, count: int) -> None:
    """Blocks of random bytes, scales of every kind among them, through the region of the kernels."""
    regions = [
        found
        for name in (f"gemv_{format}", f"gemm_{format}")
        for found in re.findall(r"decode \(.*?\n +\}(?= : coopmatrix)", kernels.path(name).read_text(), re.S)
    ]
    assert len(regions) == 2
    assert regions[0].split() == regions[1].split()
    text = DECODE.replace("BYTES", str(BYTES[format]))
    for word, value in TENSORS[format].items():
        text = text.replace(word, value)
    held = np.random.default_rng(5).integers(0, 256, (count, BYTES[format]), dtype=np.uint8).view(np.int8)
    out = np.full((32, count), np.nan, np.float32, order="F")
    girih.loads(text.replace("REGION", regions[0]))["decode"][count // 16](held.T, out)
    expected = decoded(held[:, None].T, format).T
    exact = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(out), ~exact)
    np.testing.assert_array_equal(out[exact].view(np.int32), expected[exact].view(np.int32))
    assert exact.mean() > 0.9


# --- what does not fit ----------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_sizes_that_do_not_fit_are_found(format: str) -> None:
    w = random_blocks(format, 5, 2)
    x, y = np.zeros(64, np.float32), np.zeros(5, np.float32)
    gemv = getattr(kernels, f"gemv_{format}")()
    for vectors, argument in [((x[:63], y), "x"), ((np.zeros(96, np.float32), y), "x"), ((x, y[:4]), "y")]:
        with pytest.raises(girih.KernelError) as found:
            gemv(w, *vectors)
        finding = found.value.findings[0]
        assert (finding.code, finding.argument) == ("run.expand", argument)
    gemm = getattr(kernels, f"gemm_{format}")()
    shapes = [((63, 2), (5, 2), "X"), ((64, 2), (4, 2), "C"), ((64, 2), (5, 3), "C")]
    for x_shape, c_shape, argument in shapes:
        with pytest.raises(girih.KernelError) as found:
            gemm(w, random("f32", *x_shape), random("f32", *c_shape))
        finding = found.value.findings[0]
        assert (finding.code, finding.argument) == ("run.expand", argument)


@pytest.mark.parametrize("format", FORMATS)
def test_types_that_do_not_fit_are_refused(format: str) -> None:
    w, x, y = random_blocks(format, 5, 2), np.zeros(64, np.float32), np.zeros(5, np.float32)
    gemv = getattr(kernels, f"gemv_{format}")()
    apart = np.zeros((5, 2, BYTES[format] + 16), np.int8).T[: BYTES[format]]
    odd = np.zeros(w.size + 1, np.int8)[1:].reshape(w.shape[::-1]).T
    wrong: Sequence[tuple[tuple[Array, Array, Array], str]] = [
        ((random_blocks("q8_0" if format == "q4_0" else "q4_0", 5, 2), x, y), "bind.shape"),
        ((apart, x, y), "bind.stride"),
        ((odd, x, y), "bind.alignment"),
        ((w.astype(np.int16), x, y), "bind.dtype"),
        ((w, x.astype(np.float64), y), "bind.dtype"),
        ((w, x, y.astype(ml_dtypes.bfloat16)), "bind.dtype"),
    ]
    for arguments, code in wrong:
        with pytest.raises(girih.LaunchError) as refused:
            gemv(*arguments)
        assert [d.code for d in refused.value.diagnostics] == [code]


# --- blocks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("type_", "format"), crossed(["f64", "f32", "f16", "bf16"], FORMATS))
def test_weights_are_rounded_to_nearest(format: str, type_: str) -> None:
    weights = random(type_, 40, 96)
    blocks = kernels.quantize(weights, format)
    assert blocks.dtype == np.int8
    assert blocks.shape == (BYTES[format], 3, 40)
    assert blocks.flags.f_contiguous
    found = kernels.dequantize(blocks, format)
    np.testing.assert_array_equal(found, decoded(blocks, format))
    wide = weights.astype(np.float64).reshape(40, 3, 32)
    largest = abs(wide).max(axis=2, keepdims=True)
    step = largest / LARGEST[format]
    # Half a step; in 4 bits a whole one at the end that has one number less; and the rounding of the scale to f16.
    reach = step * (1.0 if format == "q4_0" else 0.5) + largest * 2.0**-10
    assert (abs(found.reshape(wide.shape) - wide) <= reach).all()
    inside = abs(wide) < 6.5 * step if format == "q4_0" else np.ones(wide.shape, bool)
    assert (abs(found.reshape(wide.shape) - wide) <= 0.5 * step + largest * 2.0**-10)[inside].all()


def test_blocks_by_hand() -> None:
    weights = np.zeros((1, 32))
    weights[0, [0, 1, 16, 17, 31]] = -8, 7, 1, 0.5, -0.5
    (four,) = kernels.quantize(weights, "q4_0").T[0].view(np.uint8)
    # The scale is 1; bytes are filled from the low half, which 8 in both halves leaves at 0; halves go up.
    assert four[:2].view(np.float16)[0] == 1
    assert four[2:].tolist() == [0x90, 0x9F, *[0x88] * 14]
    (eight,) = kernels.quantize(weights * 127 / 8, "q8_0").T[0]
    assert eight[:2].view(np.float16)[0] == 1
    assert eight[2:].tolist() == [-127, 111, *[0] * 14, 16, 8, *[0] * 13, -8]


def test_blocks_of_zeros_and_of_whole_numbers() -> None:
    for format in FORMATS:
        assert not kernels.dequantize(kernels.quantize(np.zeros((2, 64)), format), format).any()
        assert kernels.quantize(np.zeros((0, 64), np.int8), format).shape == (BYTES[format], 2, 0)
        assert kernels.quantize(np.zeros((3, 0)), format).shape == (BYTES[format], 0, 3)
    whole = np.arange(-8, 8).repeat(2).reshape(1, 32)
    np.testing.assert_array_equal(kernels.dequantize(kernels.quantize(whole, "q4_0"), "q4_0"), whole)


@pytest.mark.interpreter
@pytest.mark.parametrize(
    ("weights", "format", "words"),
    [
        (np.zeros((2, 32)), "q5_0", "there is no format 'q5_0'; it must be one of q4_0, q8_0"),
        (np.zeros(32), "q4_0", r"weights are a matrix M x K; found 1 dimensions, \(32,\)"),
        (np.zeros((2, 33)), "q8_0", "K must be a multiple of 32.*found 33 columns: append 31 columns of zeros"),
        (np.full((1, 32), np.nan), "q4_0", "weights are finite numbers of f32; found infinity or NaN"),
        (np.full((1, 32), 1e39), "q4_0", "weights are finite numbers of f32; found infinity or NaN"),
        (np.full((1, 32), 1e7), "q8_0", "up to 65504; the largest weight is 1e.07: scale the weights"),
        (np.zeros((1, 32), complex), "q4_0", "weights are real numbers; found the type complex128"),
        (np.zeros((1, 32), bool), "q4_0", "weights are real numbers; found the type bool"),
        (np.full((1, 32), "a"), "q4_0", "weights are real numbers; found the type <U1"),
    ],
)
def test_what_cannot_be_quantized(weights: Array, format: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.quantize(weights, format)


@pytest.mark.interpreter
@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (np.zeros((18, 2, 3), np.int16), r"blocks are an array 18 x K / 32 x M of int8; found int16 \(18, 2, 3\)"),
        (np.zeros((18, 2), np.int8), r"found int8 \(18, 2\)"),
        (np.zeros((34, 2, 3), np.int8), "a block of q4_0 has 18 bytes; found 34 in the first dimension"),
    ],
)
def test_what_are_no_blocks(blocks: Array, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.dequantize(blocks, "q4_0")
