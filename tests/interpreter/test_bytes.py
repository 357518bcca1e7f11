"""Arguments of different types over the same bytes, one of them marked: what was written is followed byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.interpreter.launching import Array, findings, kernel, spmd, zeros

SHARED = "%A: memref<f32x?>, %B: memref<i8x?>"
BYTE = "%byte = constant 64 : i8\n"


def test_bytes_of_an_element_that_was_written() -> None:
    a = zeros(2)
    body = "store %one, %A[%c1]\n%x = load %B[%c6] : i8\n%c7 = add %c6, %c1 : index\n%y = load %B[%c7] : i8\n"
    launched = kernel(SHARED, f"%c6 = constant 6 : index\n{body}%z = add %x, %y : i8\nstore %z, %B[%c6]")
    launched(girih.uninitialized(a), a.view(np.int8))
    # 0x3F800000: the two upper bytes are -128 and 63, and their sum -65.
    assert a.view(np.int8)[6] == -65


def test_an_element_of_which_one_byte_was_written() -> None:
    a = zeros(2)
    launched = kernel(SHARED, f"{BYTE}store %byte, %B[%c2]\n%x = load %A[%c0] : f32")
    (found,) = findings(launched, girih.uninitialized(a), a.view(np.int8))
    assert (found.code, found.argument, found.index) == ("run.uninitialized", "A", (0,))
    assert found.message == "`load` of %A before it is written: index (0) of shape (2)"
    assert a.tolist() == [0, 0]


def test_an_element_whose_bytes_were_written_one_by_one() -> None:
    a = zeros(2)
    body = f"{BYTE}for %i=%c0,%c4 {{\nstore %byte, %B[%i]\n}}\n%x = load %A[%c0] : f32\nstore %x, %A[%c1]"
    kernel(SHARED, body)(girih.uninitialized(a), a.view(np.int8))
    assert a.view(np.int32).tolist() == [0x40404040] * 2


def test_arrays_at_an_odd_distance() -> None:
    room = np.zeros(16, np.int8)
    a, b = room[4:12].view(np.float32), room[3:10]
    launched = kernel(SHARED, f"{BYTE}store %byte, %B[%c0]\nstore %one, %A[%c0]\n%x = load %B[%c4] : i8")
    launched(girih.uninitialized(a), b)
    assert (room[3], a[0]) == (64, 1)
    (found,) = findings(kernel(SHARED, "store %one, %A[%c0]\n%c5 = add %c4, %c1 : index\n%x = load %B[%c5] : i8"),
                        girih.uninitialized(a), b)  # fmt: skip
    assert (found.argument, found.index) == ("B", (5,))


@pytest.mark.parametrize("other", ["f64", "c32", "i16"])
def test_tiles_over_what_was_partly_written(other: str) -> None:
    """A tile of one type is read where every byte was written through another."""
    room = np.zeros((32, 4), np.int8, order="F")
    dtype = {"f64": np.float64, "c32": np.complex64, "i16": np.int16}[other]
    wide: Array = room.reshape(-1, order="F").view(dtype).reshape(-1, 4, order="F")
    rows = wide.shape[0]
    tile = f"coopmatrix<{other}x{rows}x4,matrix_acc>"
    parameters = f"%B: memref<i8x32x4>, %W: memref<{other}x{rows}x4>"
    bytes_ = (
        "%m = constant 1 : coopmatrix<i8x32x4,matrix_acc>\ncooperative_matrix_store %m, %B[%c0, %c0]\nbarrier.global\n"
    )
    load = f"%t = cooperative_matrix_load %W[%c0, %c0] : {tile}"
    attributes = "attributes {subgroup_size=16, work_group_size=[16, 1]}"
    spmd(parameters, bytes_ + load, attributes)(girih.uninitialized(room), wide)
    assert (room == 1).all()
    (found,) = findings(spmd(parameters, load, attributes), girih.uninitialized(room), wide)
    assert (found.code, found.index) == ("run.uninitialized", (0, 0))


def test_tensors_in_memory_of_another_type() -> None:
    """Components of 2 bytes are stored to a memref of bytes, and components of 8 read where all were written."""
    stores = """%m = constant 1 : coopmatrix<i16x4x4,matrix_acc>
        %t = tensor_layout_create : tensor_layout<1>
        %s = tensor_layout_set_dimension %t[20] : tensor_layout<1>
        %l = tensor_layout_slice %s[0:16] : tensor_layout<1>
        cooperative_matrix_store_tensor %m, %A[%c0], %l
        barrier.global
        %i = constant 0 : coopmatrix<i64x1x4,matrix_acc>
        %u = tensor_layout_set_dimension %t[NUMBER] : tensor_layout<1>
        %v = tensor_layout_slice %u[FIRST:4] : tensor_layout<1>
        %r = cooperative_matrix_load_tensor %i, %B[%c0], %v : coopmatrix<i64x1x4,matrix_acc>
        cooperative_matrix_store_tensor %r, %C[%c0], %v"""
    parameters = "%A: memref<i8x?>, %B: memref<f32x?>, %C: memref<i32x?>"
    attributes = "attributes {subgroup_size=16, work_group_size=[16, 1]}"
    room, target = np.zeros(48, np.int8), np.zeros(12, np.int32)
    launch = spmd(parameters, stores.replace("NUMBER", "5").replace("FIRST", "0"), attributes)
    launch(girih.uninitialized(room), room.view(np.float32), target)
    assert target.view(np.int64).tolist() == [0x0001000100010001] * 4 + [0] * 2
    room[:] = 0
    launch = spmd(parameters, stores.replace("NUMBER", "5").replace("FIRST", "1"), attributes)
    (found,) = findings(launch, girih.uninitialized(room), room.view(np.float32), target)
    assert (found.code, found.argument) == ("run.uninitialized", "B")
    assert not room.any()


def test_local_memory_with_gaps() -> None:
    """What lies between the elements of local memory counts neither as read nor as missing."""
    body = ("%m = alloca : memref<f32x3x3,strided<1,5>,local>\naxpby %one, %A, %zero, %m\n"
            "axpby %one, %m, %zero, %A\naxpby %one, %m, %one, %A")  # fmt: skip
    a = np.asfortranarray(np.arange(9, dtype=np.float32).reshape(3, 3))
    kernel("%A: memref<f32x3x3>", body)(a)
    assert a.tolist() == (2 * np.arange(9).reshape(3, 3)).tolist()
    reads = kernel("%A: memref<f32x3x3>", body.replace("axpby %one, %A, %zero, %m\n", ""))
    assert {f.argument for f in findings(reads, a)} == {"m"}
