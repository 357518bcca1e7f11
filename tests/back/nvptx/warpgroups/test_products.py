"""Products of warpgroups against NumPy: every type, both factors in every layout that a descriptor has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from girih.addressing import TensorMap
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.ptx_machine import Fault, PtxModule, UnknownInstruction
from tests.back.nvptx.ptx_machine.matrix.warpgroups import FORMS, INTEGER_COLUMNS
from tests.back.nvptx.snippets import kernel
from tests.back.nvptx.warpgroups.texts import Image, descriptor_bits, multiply, product_text
from tests.cases import every_case

Array = NDArray[Any]
ROWS = 64

ELEMENTS: dict[str, type[np.generic]] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "s8": np.int8, "u8": np.uint8,
    "s32": np.int32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
MAPS = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "s8": "u8", "u8": "u8", "e4m3": "u8", "e5m2": "u8"}
"""The types of tensor maps that bring numbers of a type."""


def random_numbers(type: str, *shape: int) -> Array:
    random = np.random.default_rng(len(type) + sum(shape))
    if type[0] in "su":
        limits: np.iinfo[Any] = np.iinfo(np.dtype(ELEMENTS[type]))
        low, high = max(limits.min, -(1 << 20)), min(limits.max, 1 << 20)
        return random.integers(low, high, shape, endpoint=True).astype(ELEMENTS[type])
    held = random.normal(size=shape).astype(ELEMENTS[type])
    return held if type != "tf32" else (held.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def depth_of(type: str) -> int:
    return 32 // np.dtype(ELEMENTS[type]).itemsize


# --- factors in memory ---------------------------------------------------------------------------


def contiguous(numbers: Array, type: str, span: int, at: int = 0) -> Image:
    """A factor, `[row, place along the depth]`, that is contiguous along the depth.

    With a swizzle it lies as a tensor copy of rows of `span` bytes puts it, whose model was measured; the depth of a
    product is a part of a row: the one that begins `at` 32 bytes times that.
    """
    size = numbers.itemsize
    if not span:
        return _cores(numbers, turned=False)
    wide = random_numbers(type, len(numbers), span // size).astype(numbers.dtype)
    wide[:, at * depth_of(type) :][:, : depth_of(type)] = numbers
    return Image(_copied(wide, type, span), descriptor_bits(0, 8 * span, span), 32 * at)


def _copied(matrix: Array, type: str, span: int) -> Array:
    """What a tensor copy of a matrix writes, at an address that is a multiple of 1024."""
    rows, columns = matrix.shape
    given = TensorMap.tiled(
        dtype=MAPS[type], global_dim=[columns, rows], global_strides=[columns * matrix.itemsize],
        box_dim=[columns, rows], swizzle=f"{span}B",
    )  # fmt: skip
    held = np.ascontiguousarray(matrix).view(np.uint8).reshape(-1)
    image: Array = np.array(given.load(held, [0, 0], None, 1024).bytes)
    return image


def turned(numbers: Array, type: str, span: int) -> Image:
    """A factor, `[row, place along the depth]`, that is contiguous along the rows, in blocks of `span` bytes."""
    if not span:
        return _cores(numbers, turned=True)
    wide = span // numbers.itemsize
    count = -(-len(numbers) // wide)
    padded = np.zeros((count * wide, numbers.shape[1]), numbers.dtype)
    padded[: len(numbers)] = numbers
    blocks = [_copied(np.ascontiguousarray(one.T), type, span) for one in padded.reshape(count, wide, -1)]
    return Image(np.concatenate(blocks), descriptor_bits(len(blocks[0]), 8 * span, span))


def _cores(numbers: Array, *, turned: bool) -> Image:
    """A factor as core matrices of 8 x 16 bytes, one behind the other, with a gap between: no swizzle."""
    lines = numbers.T if turned else numbers
    each = 16 // numbers.itemsize
    groups, pieces = lines.shape[0] // 8, lines.shape[1] // each
    held = np.zeros((pieces, groups, 8 * 16 + 16), np.uint8)
    for piece in range(pieces):
        for group in range(groups):
            core = np.ascontiguousarray(lines[8 * group :][:8, each * piece :][:, :each])
            held[piece, group, :128] = core.view(np.uint8).reshape(-1)
    between_groups, between_pieces = 144, 144 * groups
    leading, stride = (between_groups, between_pieces) if turned else (between_pieces, between_groups)
    return Image(held.reshape(-1), descriptor_bits(leading, stride))


# --- what registers hold -------------------------------------------------------------------------


def sums_to_registers(sums: Array) -> Array:
    """What each thread has of sums (PTX ISA "Register Fragments": accumulator of wgmma.mma_async.m64nNk16)."""
    found = np.zeros((128, sums.size // 128), sums.dtype)
    for thread in range(128):
        for i in range(found.shape[1]):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
            found[thread, i] = sums[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2]
    return found.view(np.uint32)


def left_to_registers(left: Array) -> Array:
    """What each thread has of a left factor: four registers (PTX ISA "Register Fragments for wgmma": A)."""
    each = 4 // left.itemsize
    found = np.zeros((128, 4, each), left.dtype)
    for thread in range(128):
        for register in range(4):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register % 2)
            begin = each * (thread % 4) + 4 * each * (register // 2)
            found[thread, register] = left[row, begin : begin + each]
    return found.reshape(128, -1).view(np.uint32)


# --- products ------------------------------------------------------------------------------------


def forms() -> list[tuple[str, str, str]]:
    """The types of both factors and of sums."""
    kinds = [("f16",), ("bf16",), ("tf32",), ("e4m3", "e5m2"), ("s8", "u8")]
    return [(a, b, c) for kind in kinds for a in kind for b in kind for c in FORMS[a]]


def check(
    form: tuple[str, str, str], columns: int, a: Image | None, b: Image, left: Array, right: Array, *,
    tail: str = "", adds: bool = True, scale: int = 1, clips: bool = False,
) -> str:  # fmt: skip
    """Multiply on the machine and in NumPy. The text."""
    a_type, b_type, c_type = form
    before = random_numbers(c_type, ROWS, columns)
    clip = ".satfinite" if clips else ""
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth_of(a_type)}{clip}.{c_type}.{a_type}.{b_type}"
    held = sums_to_registers(before)
    text = product_text(name, held.shape[1], 4 if a is None else a, b, tail, adds=adds, float32=c_type == "f32")
    multiply(text, [one.bytes for one in (a, b) if one is not None], held, None if a else left_to_registers(left))
    wide = np.int64 if c_type == "s32" else np.float64
    wanted = scale * (left.astype(wide) @ right.astype(wide).T) + (before.astype(wide) if adds else 0)
    if clips:
        wanted = np.clip(wanted, -(1 << 31), (1 << 31) - 1)
    np.testing.assert_array_equal(held, sums_to_registers(wanted.astype(ELEMENTS[c_type])))
    return text


def tail_of(type: str, *turns: int, a_scale: int = 1, b_scale: int = 1) -> str:
    """The constants behind the operands of a product."""
    if type in ("s8", "u8"):
        return ""
    return f", {a_scale}, {b_scale}" + ("".join(f", {one}" for one in turns) if type in ("f16", "bf16") else "")


@pytest.mark.parametrize("form", forms(), ids="-".join)
def test_products_of_every_type(form: tuple[str, str, str]) -> None:
    """The left factor from memory and from registers; sums that are added to, and not."""
    a_type, b_type, _ = form
    left, right = random_numbers(a_type, ROWS, depth_of(a_type)), random_numbers(b_type, 24, depth_of(b_type))
    with every_case() as case:
        for span in (0, 32, 64, 128):
            for adds in (True, False):
                with case(f"{span}, {adds}"):
                    a, b = contiguous(left, a_type, span, span // 64), contiguous(right, b_type, span)
                    check(form, 24, a, b, left, right, tail=tail_of(a_type, 0, 0), adds=adds)
                    check(form, 24, None, b, left, right, tail=tail_of(a_type, 0), adds=adds)


def test_every_number_of_columns() -> None:
    with every_case() as case:
        for columns in range(8, 257, 8):
            with case(str(columns)):
                left, right = random_numbers("bf16", ROWS, 16), random_numbers("bf16", columns, 16)
                a, b = contiguous(left, "bf16", 64), contiguous(right, "bf16", 32)
                check(("bf16", "bf16", "f32"), columns, a, b, left, right, tail=tail_of("bf16", 0, 0))
                if columns in INTEGER_COLUMNS:
                    left, right = random_numbers("u8", ROWS, 32), random_numbers("s8", columns, 32)
                    a, b = contiguous(left, "u8", 64, 1), contiguous(right, "s8", 0)
                    check(("u8", "s8", "s32"), columns, a, b, left, right)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_factors_that_are_contiguous_along_the_rows(type: str) -> None:
    """Both factors in both orders, with each swizzle; 96 columns are no whole number of blocks of 128 bytes."""
    left, right = random_numbers(type, ROWS, 16), random_numbers(type, 96, 16)
    with every_case() as case:
        for span in (0, 32, 64, 128):
            for order in ("tn", "nt", "tt"):
                with case(f"{span}, {order}"):
                    a, b = (
                        turned(one, type, span) if letter == "t" else contiguous(one, type, span)
                        for one, letter in zip((left, right), order, strict=True)
                    )
                    tail = tail_of(type, *(int(letter == "t") for letter in order))
                    check((type, type, "f32"), 96, a, b, left, right, tail=tail)


def test_signs_of_factors_and_sums_that_are_too_large() -> None:
    left, right = random_numbers("f16", ROWS, 16), random_numbers("f16", 8, 16)
    a, b = contiguous(left, "f16", 32), contiguous(right, "f16", 32)
    tail = tail_of("f16", 0, 0, a_scale=-1)
    check(("f16", "f16", "f32"), 8, a, b, left, right, tail=tail, scale=-1)
    ones = np.full((ROWS, 32), 127, np.int8)
    a, b = contiguous(ones, "s8", 0), contiguous(ones[:8], "s8", 0)
    sums = np.full((128, 4), 0x7FFFFFF0, np.uint32)
    for clip, wanted in ((".satfinite", 0x7FFFFFFF), ("", 0x7FFFFFF0 + 32 * 127 * 127)):
        held = sums.copy()
        text = product_text(f"wgmma.mma_async.sync.aligned.m64n8k32{clip}.s32.s8.s8", 4, a, b, float32=False)
        multiply(text, [a.bytes, b.bytes], held)
        assert (held == np.uint32(wanted)).all()


def test_a_pattern_that_does_not_begin_at_a_multiple_of_its_size() -> None:
    """The base offset moves the pattern of a swizzle by lines of 128 bytes."""
    left, right = random_numbers("bf16", ROWS, 16), random_numbers("bf16", 8, 16)
    a, b = contiguous(left, "bf16", 128), contiguous(right, "bf16", 128)
    moved = Image(np.concatenate([np.zeros(256, np.uint8), b.bytes]), b.bits | 2 << 49, 256)
    check(("bf16", "bf16", "f32"), 8, a, moved, left, right, tail=tail_of("bf16", 0, 0))
    wrong = Image(moved.bytes, b.bits, 256)
    with pytest.raises(AssertionError):
        check(("bf16", "bf16", "f32"), 8, a, wrong, left, right, tail=tail_of("bf16", 0, 0))


def test_another_swizzle_than_that_of_the_copy_gives_other_numbers() -> None:
    left, right = random_numbers("bf16", ROWS, 16), random_numbers("bf16", 8, 16)
    a, b = contiguous(left, "bf16", 128), contiguous(right, "bf16", 128)
    with every_case() as case:
        for name, bits in (
            ("32 bytes", descriptor_bits(0, 1024, 32)),
            ("64 bytes", descriptor_bits(0, 1024, 64)),
            ("none", descriptor_bits(16, 1024)),
            ("another stride", descriptor_bits(0, 512, 128)),
        ):
            with case(name), pytest.raises(AssertionError):
                check(("bf16", "bf16", "f32"), 8, Image(a.bytes, bits), b, left, right, tail=tail_of("bf16", 0, 0))


def test_descriptors_that_mean_nothing() -> None:
    left = random_numbers("bf16", ROWS, 16)
    a, b = contiguous(left, "bf16", 128), contiguous(left[:8], "bf16", 128)
    with every_case() as case:
        for bits, told in ((a.bits | 1 << 46, "bits that mean nothing"), (a.bits | 0x3FFF << 32, "are not all there")):
            with case(told), pytest.raises(Fault, match=told):
                check(("bf16", "bf16", "f32"), 8, Image(a.bytes, bits), b, left, left[:8], tail=tail_of("bf16", 0, 0))


def test_forms_that_there_are_not() -> None:
    name = "wgmma.mma_async.sync.aligned"
    with every_case() as case:
        for code in (
            f"{name}.m64n8k8.f32.bf16.bf16 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1, 1, 1, 0, 0;",
            f"{name}.m64n40k32.s32.s8.s8 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1;",
            f"{name}.m64n8k16.f32.bf16.f16 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1, 1, 1, 0, 0;",
            f"{name}.m64n8k8.f32.tf32.tf32 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1, 1, 1, 0, 0;",
            f"{name}.m64n8k16.f16.f16.f16 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1, 1, 1, 0, 0;",
            f"{name}.m64n8k16.f32.bf16.bf16 {{%r0, %r1, %r2, %r3}}, %d0, %d1, 1, 2, 1, 0, 0;",
        ):
            with case(code), pytest.raises(UnknownInstruction):
                PtxModule.parse(kernel(code))


@needs_ptxas
def test_the_texts_are_those_of_an_assembler(tmp_path: Path) -> None:
    with every_case() as case:
        for form in forms():
            with case("-".join(form)):
                a_type, b_type, _ = form
                left, right = (
                    random_numbers(a_type, ROWS, depth_of(a_type)),
                    random_numbers(b_type, 32, depth_of(b_type)),
                )
                a, b = contiguous(left, a_type, 32), contiguous(right, b_type, 32)
                for one, tail in ((a, tail_of(a_type, 0, 0)), (None, tail_of(a_type, 0))):
                    text = check(form, 32, one, b, left, right, tail=tail)
                    assert not ptxas(text, "sm_90a", tmp_path).problems
