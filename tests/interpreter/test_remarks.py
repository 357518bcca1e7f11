"""What a launch leaves to be remarked: arguments that the kernel writes, but not everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih

TEXT = """func @axpby(%A: memref<f32x?x?,strided<1,?>>, %B: memref<f32x?x?,strided<1,?>>) {
    %x = group_id.x : index
    %c4 = constant 4 : index
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %first = mul %x, %c4 : index
    %columns = size %A[1] : index
    %a = subview %A[%first:4, 0:%columns] : memref<f32x4x?,strided<1,?>>
    %b = subview %B[%first:4, 0:%columns] : memref<f32x4x?,strided<1,?>>
    axpby %one, %a, %zero, %b
}
func @members(%G: group<memref<f32x?>x?>) {
    %x = group_id.x : index
    %m = load %G[%x] : memref<f32x?>
    %one = constant 1.0 : f32
    %zero = constant 0 : index
    store %one, %m[0]
}
func @atomic(%S: memref<i32>, %T: memref<i32x2>) {
    parallel {
        %one = constant 1 : i32
        %k = constant 1 : index
        %old = atomic_add %one, %S[] : i32
        atomic_store %one, %T[%k]
    }
}
func @matrix(%C: memref<f32x?x?>, %D: memref<f32x?x8>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    %c0 = constant 0 : index
    %one = constant 1.0 : f32
    parallel {
        %m = constant 1.0 : coopmatrix<f32x8x8,matrix_acc>
        cooperative_matrix_store.both_checked %m, %C[%c0,%c0]
        cooperative_matrix_store %m, %D[%c0,%c0]
    }
}
"""


def remarks(kernel: girih.Kernel, *arguments: Any) -> list[tuple[str, str]]:
    kernel(*arguments)
    assert all((remark.code, remark.severity) == ("run.untouched", "remark") for remark in kernel.remarks)
    return [(remark.span.text[:2], remark.message) for remark in kernel.remarks]


def test_what_no_work_group_wrote_is_remarked() -> None:
    program = girih.loads(TEXT, "interpreter")
    a: Any = np.ones((10, 6), np.float32, order="F")
    b: Any = np.zeros((10, 6), np.float32, order="F")
    kernel: Any = program["axpby"]
    assert kernel.remarks == ()
    said = "no work-group wrote 12 of 60 elements of %B, the first at index (8, 0) of shape (10, 6)"
    assert remarks(kernel[2], a, b) == [("%B", said)]
    assert kernel.remarks == kernel[2].remarks
    assert "2 x 1 x 1 work-groups are too few" in str(kernel.remarks[0])
    # Gaps between elements are nobody's, whether or not the array is marked; a second launch begins anew.
    assert remarks(kernel[2], a[:8], b[:8]) == remarks(kernel[2], a[:8], girih.uninitialized(b[:8])) == []
    assert remarks(kernel[0], a[:8, :0], b[:8, :0]) == []
    said = "no work-group wrote 36 of 60 elements of %B, the first at index (4, 0) of shape (10, 6)"
    assert remarks(kernel[1], a, b) == [("%B", said)]
    with pytest.raises(girih.KernelError):
        kernel[3](a, b)
    assert kernel.remarks == ()

    members = [np.zeros(n, np.float32) for n in (3, 1, 2, 0, 4)]
    said = "no work-group wrote 2 of 3 elements of %G[0], the first at index (1) of shape (3)"
    assert remarks(program["members"][3], members) == [("%G", f"{said}; likewise in 2 other arrays of the group")]
    assert remarks(program["members"][1], [members[1], None]) == []

    scalar, pair = np.zeros((), np.int32), np.zeros(2, np.int32)
    said = "no work-group wrote 1 of 2 elements of %T, the first at index (0) of shape (2)"
    assert remarks(program["atomic"], scalar, pair) == [("%T", said)]
    assert next(m for _, m in remarks(program["atomic"][0], scalar, pair)) == "no work-group wrote its element of %S"

    c, d = np.zeros((7, 9), np.float32, order="F"), np.zeros((9, 8), np.float32, order="F")
    assert remarks(program["matrix"], c, d) == [
        ("%C", "no work-group wrote 7 of 63 elements of %C, the first at index (0, 8) of shape (7, 9)"),
        ("%D", "no work-group wrote 8 of 72 elements of %D, the first at index (8, 0) of shape (9, 8)"),
    ]
    assert remarks(girih.loads(TEXT, "cpu")["atomic"], scalar, pair) == []
