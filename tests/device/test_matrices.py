"""Cooperative matrices of shaders: products of integers with and without signs, components, functions of components."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.cases import every_case, long
from tests.device.programs import TARGETS, codes, findings, on_both, program

RNG = np.random.default_rng(15)

PRODUCTS = """
func @f(%A: memref<{ab}x4x8>, %B: memref<{ab}x8x4>, %C: memref<{c}x4x4>, %D: memref<{d}x4x128>)
    attributes {{work_group_size=[8,1], subgroup_size=8}} {{
    parallel {{
        %zero = constant 0 : index
        %a = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<{ab}x4x8,matrix_a>
        %b = cooperative_matrix_load %B[%zero, %zero] : coopmatrix<{ab}x8x4,matrix_b>
        %c = cooperative_matrix_load %C[%zero, %zero] : coopmatrix<{c}x4x4,matrix_acc>
        {products}
    }}
}}
"""
PRODUCT = """
        %at{k} = constant {at} : index
        %d{k} = matrix_mul_add{flags} %a, %b, %c : coopmatrix<{d}x4x4,matrix_acc>
        cooperative_matrix_store %d{k}, %D[%zero, %at{k}]
"""
FLAGS = ("unsigned_a", "unsigned_b", "unsigned_c", "unsigned_result", "saturating")


def _numbers(bits: int, shape: tuple[int, int]) -> np.ndarray:
    return RNG.integers(-(1 << bits - 1), 1 << bits - 1, shape).astype(f"i{bits // 8}")


def _wide(a: np.ndarray, *, unsigned: bool) -> np.ndarray:
    return (a.view(f"u{a.itemsize}") if unsigned else a).astype(np.int64)


def _products(ab: str, c: str, d: str, masks: list[tuple[bool, ...]]) -> str:
    products = [
        PRODUCT.format(k=k, at=4 * k, d=d, flags="".join(f".{f}" for f, on in zip(FLAGS, mask, strict=True) if on))
        for k, mask in enumerate(masks)
    ]
    return PRODUCTS.format(ab=ab, c=c, d=d, products="".join(products))


@pytest.mark.parametrize(("ab", "c", "d"), [(8, 32, 32), *long([(8, 16, 32), (16, 32, 16), (8, 32, 8)])])
def test_products_of_integers_with_every_mask_of_signs(ab: int, c: int, d: int) -> None:
    a, b, given = _numbers(ab, (4, 8)), _numbers(ab, (8, 4)), _numbers(c, (4, 4))
    masks = list(product((False, True), repeat=5))
    if (ab, d) == (8, 32):
        masks = masks[::3]
    expected = []
    for mask in masks:
        exact = _wide(a, unsigned=mask[0]) @ _wide(b, unsigned=mask[1]) + _wide(given, unsigned=mask[2])
        low, high = (0, (1 << d) - 1) if mask[3] else (-(1 << d - 1), (1 << d - 1) - 1)
        expected.append((np.clip(exact, low, high) if mask[4] else exact).astype(f"i{d // 8}"))
    text = _products(f"i{ab}", f"i{c}", f"i{d}", masks)
    for _, _, _, found in on_both(text, a, b, given, np.zeros((4, 128), f"i{d // 8}")):
        np.testing.assert_array_equal(found[:, : 4 * len(masks)], np.hstack(expected))


def test_products_of_integers_have_rules() -> None:
    plain, saturating = (False,) * 5, (False,) * 4 + (True,)
    for ab, c, mask, expected in (
        ("f16", "i32", plain, ["matrix_mul_add.integer_a", "matrix_mul_add.integer_b"]),
        ("i32", "i32", saturating, ["matrix_mul_add.saturating"]),
        ("i8", "f32", plain, ["matrix_mul_add.integer_c", "matrix_mul_add.integer_result"]),
    ):
        assert codes(_products(ab, c, c, [mask])) == expected


# --- components ------------------------------------------------------------------------------

# Each work-item doubles the components that it holds, one after the other by numbers that are known at run time.
COMPONENTS = """
func @f(%A: memref<i16x{m}x{n}>, %L: memref<i32x1>, %N: memref<i64x64>)
    attributes {{work_group_size=[{size},1], subgroup_size={sub}}} {{
    parallel {{
        %zero = constant 0 : index
        %m0 = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<i16x{m}x{n},matrix_acc{scope}>
        %count = matrix_length coopmatrix<i16x{m}x{n},matrix_acc{scope}> : i32
        {steps}
        cooperative_matrix_store %m{last}, %A[%zero, %zero]
    }}
}}
"""
STEP = """
        %j{k} = constant {k} : index
        %l{k} = load %N[%j{k}] : i64
        %i{k} = cast %l{k} : index
        %x{k} = matrix_extract %m{k}[%{by}{k}] : i16
        %y{k} = add %x{k}, %x{k} : i16
        %m{next} = matrix_insert %y{k}, %m{k}[%{by}{k}] : coopmatrix<i16x{m}x{n},matrix_acc{scope}>
"""


def _components(m: int, n: int, size: int, sub: int, scope: str, count: int, by: str) -> str:
    steps = "".join(STEP.format(k=k, next=k + 1, by=by, m=m, n=n, scope=scope) for k in range(count))
    return COMPONENTS.format(m=m, n=n, size=size, sub=sub, scope=scope, steps=steps, last=count)


@pytest.mark.parametrize("by", ["i", "j"])
def test_each_component_has_one_work_item_that_holds_it(by: str) -> None:
    with every_case() as case:
        for m, n, size, sub, scope, count in (
            (8, 8, 16, 16, "", 4),
            (12, 6, 8, 8, "", 9),
            (8, 8, 32, 8, ",work_group", 2),
            (1, 32, 8, 8, "", 4),
        ):
            with case(f"{m}x{n} among {size} of {sub}{scope}"):
                a = RNG.integers(-99, 99, (m, n)).astype(np.int16)
                text = _components(m, n, size, sub, scope, count, by)
                for found, *_ in on_both(text, a, np.zeros(1, np.int32), np.arange(64)):
                    np.testing.assert_array_equal(found, 2 * a)


def test_a_component_that_nobody_holds_is_found() -> None:
    a = np.zeros((8, 8), np.int16)
    for target in TARGETS:
        text = _components(8, 8, 16, 16, "", 1, "i")
        (finding, *_) = findings(text, target, a, np.zeros(1, np.int32), np.full(64, 4))
        assert (finding.code, finding.index, finding.shape) == ("run.out_of_bounds", (4,), (4,))


# --- functions of components -----------------------------------------------------------------

APPLY = """
func @f(%A: memref<i8x8x8>, %B: memref<f32x8x8>, %C: memref<f32x8x8>, %L: memref<f32x4>)
    attributes {work_group_size=[16,1], subgroup_size=16} {
    parallel {
        %zero = constant 0 : index
        %half = load %L[1] : f32
        %a = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<i8x8x8,matrix_acc>
        %b = cooperative_matrix_load %B[%zero, %zero] : coopmatrix<f32x8x8,matrix_a>
        %c = cooperative_matrix_apply (%row, %column, %x, %y) = %a, %b -> coopmatrix<f32x8x8,matrix_b> {
            %i = cast %x : f32
            %s = add %i, %y : f32
            %k = load %L[2] : f32
            %t = mul %s, %k : f32
            %u = add %t, %half : f32
            yield (%u)
        }
        %bits = bitcast %c : coopmatrix<i32x8x8,matrix_b>
        %again = bitcast %bits : coopmatrix<f32x8x8,matrix_b>
        cooperative_matrix_store %again, %C[%zero, %zero]
    }
}
"""


def test_a_function_of_components_may_have_operands_of_several_types_and_see_memory() -> None:
    a = RNG.integers(-99, 99, (8, 8)).astype(np.int8)
    b = RNG.integers(-99, 99, (8, 8)).astype(np.float32)
    constants = np.array([9, 0.5, 3, 9], np.float32)
    for _, _, found, _ in on_both(APPLY, a, b, np.zeros_like(b), constants):
        np.testing.assert_array_equal(found, (a + b) * 3 + 0.5)


COMBINE = """
func @f(%A: memref<f32x8x8>, %L: memref<f32x16>)
    attributes {work_group_size=[16,1], subgroup_size=16} {
    parallel {
        %zero = constant 0 : index
        %i = subgroup_local_id : i32
        %k = cast %i : index
        %varying = load %L[%k] : f32
        %a = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<f32x8x8,matrix_acc>
        %c = cooperative_matrix_combine.row (%x, %y) = %a -> coopmatrix<f32x8x8,matrix_acc> {
            %s = max %x, %y : f32
            %t = max %s, %OUTER : f32
            yield (%t)
        }
        cooperative_matrix_store %c, %A[%zero, %zero]
    }
}
"""


def test_what_a_combining_function_sees_is_the_same_in_all_work_items() -> None:
    a = RNG.integers(-99, 99, (8, 8)).astype(np.float32)
    same = np.full(16, 50, np.float32)
    expected = np.broadcast_to(np.maximum(a.max(axis=1), 50)[:, None], (8, 8))
    text = COMBINE.replace("%OUTER", "%varying")
    for found, _ in on_both(text, a, same):
        np.testing.assert_array_equal(found, expected)
    for target in TARGETS:
        assert [f.code for f in findings(text, target, a, np.arange(16, dtype=np.float32))] == ["run.not_uniform"]


# --- decoding --------------------------------------------------------------------------------

DECODE = """
func @f(%B: memref<i8x?>, %S: memref<f32x4>, %C: memref<f32x16x8>)
    attributes {work_group_size=[16,1], subgroup_size=16} {
    parallel {
        %zero = constant 0 : index
        %one = constant 1 : index
        %four = constant 4 : index
        %scale = load %S[%one] : f32
        %other = load %S[%zero] : f32
        %none = constant 7.0 : coopmatrix<f32x16x8,matrix_acc>
        %l0 = tensor_layout_create : tensor_layout<2,constant>
        %l1 = tensor_layout_set_block_size %l0[1, 4] : tensor_layout<2,constant>
        %l2 = tensor_layout_set_dimension %l1[16, 8] : tensor_layout<2,constant>
        %m = cooperative_matrix_load_tensor %none, %B[%zero], %l2 decode (%block: memref<i8x8>, %b0, %b1, %w0, %w1) {
            %d = byte_load %block[%zero], 4 : f32
            %at = add %four, %w1 : index
            %q = byte_load %block[%at], 1 : i8
            %x = cast %q : f32
            %y = mul %x, %d : f32
            %z = mul %y, %scale : f32
            yield (%z)
        } : coopmatrix<f32x16x8,matrix_acc>
        matrix_check_decode %m, %B[%zero], %l2 decode (%both: memref<i8x8>, %c0, %c1, %v0, %v1) {
            %e = byte_load %both[%zero], 4 : f32
            %from = add %four, %v1 : index
            %q0, %q1 = byte_load %both[%from], 2 : i8, i8
            %x0 = cast %q0 : f32
            %x1 = cast %q1 : f32
            %y0 = mul %x0, %e : f32
            %y1 = mul %x1, %e : f32
            %z0 = mul %y0, %scale : f32
            %z1 = mul %y1, %SECOND : f32
            yield (%z0, %z1)
        }
        cooperative_matrix_store %m, %C[%zero, %zero]
    }
}
"""


def _quantized() -> tuple[np.ndarray, np.ndarray]:
    """Blocks of a scale and four integers, and the 16 x 8 numbers that they are."""
    scales = RNG.integers(1, 9, (16, 2)).astype(np.float32)
    numbers = RNG.integers(-9, 9, (16, 2, 4)).astype(np.int8)
    blocks = np.concatenate([scales[..., None].view(np.int8).reshape(16, 2, 4), numbers], axis=2)
    return blocks.reshape(-1), (numbers * scales[..., None]).reshape(16, 8)


def test_two_ways_of_decoding_that_agree() -> None:
    blocks, numbers = _quantized()
    for _, _, found in on_both(
        DECODE.replace("%SECOND", "%scale"), blocks, np.full(4, 3, np.float32), np.zeros((16, 8), np.float32)
    ):
        np.testing.assert_array_equal(found, 3 * numbers)


def test_a_second_way_of_decoding_that_gives_something_else_is_found() -> None:
    blocks, _ = _quantized()
    blocks[4:8] = 0, 0, 0, 5
    scales = np.array([2, 3, 9, 9], np.float32)
    arguments = blocks, scales, np.zeros((16, 8), np.float32)
    (finding,) = findings(DECODE.replace("%SECOND", "%other"), "interpreter", *arguments)
    first = float(blocks[:4].view(np.float32)[0]) * 5
    words = f"DecodeVectorFunc gives {2 * first} where DecodeFunc gives {3 * first}"
    assert (finding.code, finding.message) == ("run.decode", f"{words}: component (0, 3) of (16, 8)")
    assert findings(DECODE.replace("%SECOND", "%other"), "cpu", *arguments) == []
    # Functions that round otherwise are both right, and the shader's result is that of either: a warning.
    kernel = program(DECODE.replace("%SECOND", "%other"), "interpreter")["f"]
    kernel[1](blocks, np.array([3 + 2**-21, 3, 9, 9], np.float32), np.zeros((16, 8), np.float32, order="F"))
    assert [(d.code, d.severity) for d in kernel.remarks] == [("run.decode", "warning")]


def test_blocks_without_a_size_are_the_tensor_from_its_beginning_on() -> None:
    """As runtime arrays of shaders are; such a function works out by itself where its number lies."""
    text = """
func @f(%B: memref<i8x?>, %C: memref<i8x8x8>) attributes {work_group_size=[16,1], subgroup_size=16} {
    parallel {
        %zero = constant 0 : index
        %eight = constant 8 : index
        %none = constant 7 : coopmatrix<i8x8x8,matrix_acc>
        %l0 = tensor_layout_create : tensor_layout<2>
        %l1 = tensor_layout_set_dimension %l0[8, 8] : tensor_layout<2>
        %l2 = tensor_layout_set_stride %l1[1000, 1] : tensor_layout<2>
        %m = cooperative_matrix_load_tensor %none, %B[%zero], %l2 decode (%block: memref<i8x0>, %b0, %b1, %w0, %w1) {
            %row = mul %b0, %eight : index
            %at = add %row, %b1 : index
            %q = byte_load %B[%at], 1 : i8
            yield (%q)
        } : coopmatrix<i8x8x8,matrix_acc>
        cooperative_matrix_store %m, %C[%zero, %zero]
    }
}
"""
    given = RNG.integers(-99, 99, 64).astype(np.int8)
    for _, found in on_both(text, given, np.zeros((8, 8), np.int8)):
        np.testing.assert_array_equal(found, given.reshape(8, 8))


# --- work-items that part --------------------------------------------------------------------

# What work-items hold of a matrix is theirs: some leave with what it was, others with other numbers.
PARTED = """
func @f(%A: memref<f32x{m}x{n}>) attributes {{work_group_size=[8,1], subgroup_size=8}} {{
    parallel {{
        %zero = constant 0 : index
        %one = constant 1 : index
        %low = constant 0.0 : f32
        %two = constant 2.0 : {type}
        %count = constant {count} : index
        %start = cooperative_matrix_load %A[%zero, %zero] : {type}
        %end = block -> ({type}) {{
            loop init (%i = %zero, %m = %start) {{
                %through = greater_than_equal %i, %count : bool
                branch %through {{ leave 1 (%m) }}
                %next = add %i, %one : index
                %x = matrix_extract %m[%i] : f32
                %negative = less_than %x, %low : bool
                branch %negative {{ leave 0 (%next, %m) }}
                %y = add %x, %x : f32
                %new = matrix_insert %y, %m[%i] : {type}
                {last}
                leave 0 (%next, %{name})
            }}
            unreachable "the loop has no end"
        }}
        cooperative_matrix_store %end, %A[%zero, %zero]
    }}
}}
"""


@pytest.mark.parametrize(("m", "n"), [(8, 8), *long([(8, 128), (4, 6)])])
def test_work_items_leave_with_their_components(m: int, n: int) -> None:
    a = RNG.integers(-9, 9, (m, n)).astype(np.float32)
    lane, component = (np.arange(n)[None, :] * m + np.arange(m)[:, None]) % 8, np.arange(m * n).reshape(n, m).T // 8
    type, count = f"coopmatrix<f32x{m}x{n},matrix_acc>", m * n // 8
    for last, name in (("", "new"), (f"%all = mul %new, %two : {type}", "all")):
        expected = a.copy()
        for k in range(count):
            leaving = [bool(np.any(expected[(component == k) & (lane == one)] < 0)) for one in range(8)]
            stays = ~np.array(leaving)[lane]
            expected = np.where((component == k) & stays, 2 * expected, expected)
            if last:
                expected = np.where(stays, 2 * expected, expected)
        text = PARTED.format(m=m, n=n, type=type, count=count, last=last, name=name)
        for (found,) in on_both(text, a):
            np.testing.assert_array_equal(found, expected)


def test_a_whole_subgroup_leaves_with_its_components_of_a_matrix_of_the_work_group() -> None:
    a = RNG.integers(1, 9, (8, 8)).astype(np.float32)
    a[:, 3] = -1
    type = "coopmatrix<f32x8x8,matrix_acc,work_group>"
    text = PARTED.format(m=8, n=8, type=type, count=4, last="", name="new").replace("[8,1]", "[16,1]")
    for (found,) in on_both(text, a):
        np.testing.assert_array_equal(found, np.where(a < 0, a, 2 * a))
