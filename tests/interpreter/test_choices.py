"""Seeds are refused in words where they are none; a program that depends on a choice shows it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import girih


@pytest.mark.parametrize("seed", ["a", -1, 1.5])
def test_a_seed_is_an_integer_that_is_not_negative(seed: Any) -> None:
    with pytest.raises(ValueError, match="a seed is an integer that is not negative"):
        girih.Choices(seed)


COMBINE = """
func @f(%A: memref<i32x1x4>, %B: memref<i32x1x1>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
  parallel {
    %zero = constant 0 : index
    %a = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<i32x1x4,matrix_acc>
    %b = cooperative_matrix_combine.row (%x, %y) = %a -> coopmatrix<i32x1x1,matrix_acc> {
      %z = sub %x, %y : i32
      yield (%z)
    }
    cooperative_matrix_store %b, %B[%zero, %zero]
  }
}
"""


def test_a_combination_that_is_not_commutative_shows_the_order_and_the_pairs() -> None:
    kernel = girih.loads(COMBINE, target="interpreter")["f"]
    A, B = np.array([[1, 10, 100, 1000]], np.int32, order="F"), np.zeros((1, 1), np.int32)
    seen = set()
    for seed in (None, *range(30)):
        kernel.options(choices=girih.Choices(seed))[1](A, B)
        seen.add(int(B[0, 0]))
    # However four numbers are subtracted from each other, the first one is added and some other is not.
    signs = [s for s in itertools.product((1, -1), repeat=4) if 0 < s.count(-1) < 4]
    assert seen <= {sum(s * n for s, n in zip(one, (1, 10, 100, 1000), strict=True)) for one in signs}
    assert len(seen) > 8


LAYOUT = """
func @f(%A: memref<i32x8>, %B: memref<i32x2x4>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
  parallel {
    %zero = constant 0 : index
    %init = constant 0 : coopmatrix<i32x2x4,matrix_acc>
    %l = tensor_layout_create : tensor_layout<2>
    %m = tensor_layout_set_dimension %l[2, 4] : tensor_layout<2>
    %a = cooperative_matrix_load_tensor %init, %A[%zero], %m : coopmatrix<i32x2x4,matrix_acc>
    cooperative_matrix_store %a, %B[%zero, %zero]
  }
}
"""


def test_work_items_that_go_ahead_of_others_agree_on_a_layout() -> None:
    kernel = girih.loads(LAYOUT, target="interpreter")["f"]
    A = np.arange(8, dtype=np.int32)
    for seed in range(8):
        B = np.zeros((2, 4), np.int32, order="F")
        kernel.options(choices=girih.Choices(seed))[1](A, B)
        assert B.tolist() == A.reshape(2, 4).tolist()


# --- drivers ---------------------------------------------------------------------------------

PAST_THE_SPAN = """
func @f(%A: memref<f32x8>, %B: memref<f32x4x4>) attributes {subgroup_size=16} {
    parallel {
        %zero = constant 0 : index
        %none = constant 7.0 : coopmatrix<f32x4x4,matrix_acc>
        %l0 = tensor_layout_create : tensor_layout<2,constant>
        %l1 = tensor_layout_set_dimension %l0[2, 4] : tensor_layout<2,constant>
        %m = cooperative_matrix_load_tensor %none, %A[%zero], %l1 : coopmatrix<f32x4x4,matrix_acc>
        cooperative_matrix_store %m, %B[%zero, %zero]
    }
}
"""


def test_a_driver_may_be_followed_where_it_differs_from_the_text() -> None:
    """Rows past the end of the span repeat it; NVIDIA's driver fills them."""
    kernel = girih.loads(PAST_THE_SPAN, "interpreter")["f"]
    a = np.arange(1, 9, dtype=np.float32)
    text, driver = (np.zeros((4, 4), np.float32, order="F") for _ in range(2))
    kernel[1](a, text)
    kernel.options(choices=girih.Choices(quirks="nvidia-580"))[1](a, driver)
    np.testing.assert_array_equal(text, np.tile(a.reshape(2, 4), (2, 1)))
    np.testing.assert_array_equal(driver[2:], 0)
    np.testing.assert_array_equal(driver[:2], text[:2])
    with pytest.raises(ValueError, match="quirks are 'nvidia-580', or None; got 'nvidia'"):
        girih.Choices(quirks="nvidia")
    assert repr(girih.Choices(3, quirks="nvidia-580").again()) == "Choices(3, quirks='nvidia-580')"
