"""Binding: every rule with an argument that breaks it, and what happens to the caller's memory."""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.arguments import arrays
from girih.arguments.arrays import BIND_CODES, Bound, BoundGroup, BoundMemRef, Group, ParameterSpec, bind, uninitialized
from girih.arguments.report import ArgumentReport
from girih.arguments.views import address as address_of
from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.ir.types import (
    BF16,
    C32,
    C64,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    ErrorType,
    GroupType,
    MemRef,
    Number,
    Type,
)
from girih.source import NOWHERE, Source, Span

VECTOR = MemRef.packed(F32, (None,))
MATRIX = MemRef.packed(F32, (4, 8))
FREE = MemRef(F32, (None, None), (None, None))


def spec(type: Type, name: str = "A", **promises: Any) -> ParameterSpec:
    return ParameterSpec(name, type, **promises)


def problems(*pairs: tuple[ParameterSpec, object]) -> list[Diagnostic]:
    with pytest.raises(LaunchError) as caught:
        bind([parameter for parameter, _ in pairs], [value for _, value in pairs])
    return list(caught.value.diagnostics)


def problem(type: Type, value: object, **promises: Any) -> Diagnostic:
    found = problems((spec(type, **promises), value))
    assert len(found) == 1, found
    return found[0]


def memref(type: Type, value: object, **promises: Any) -> BoundMemRef:
    bound = bind([spec(type, **promises)], [value]).values[0]
    assert isinstance(bound, BoundMemRef)
    return bound


def group(type: Type, value: object, **promises: Any) -> BoundGroup:
    bound = bind([spec(type, "G", **promises)], [value]).values[0]
    assert isinstance(bound, BoundGroup)
    return bound


def data(bound: Bound, position: int = 0) -> np.ndarray[Any, Any]:
    value = bound.values[position]
    assert isinstance(value, BoundMemRef)
    assert value.elements is not None
    return value.elements.data


def fortran(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype, order="F")


def unaligned(size: int, dtype: Any, past: int, boundary: int) -> np.ndarray[Any, Any]:
    """An array that starts `past` bytes after a multiple of `boundary`."""
    item = np.dtype(dtype).itemsize
    room = np.zeros(size * item + 2 * boundary, np.uint8)
    skip = (past - room.ctypes.data) % boundary
    return room[skip : skip + size * item].view(dtype)


SWAPPED = np.zeros(4, np.dtype(np.float32).newbyteorder())
READ_ONLY = np.zeros(4, np.float32)
READ_ONLY.flags.writeable = False
SHARED = np.zeros(8, np.float32)


class OnDevice:
    def __dlpack__(self, **options: object) -> object:
        raise BufferError("not from here")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


# One argument list that breaks each code and no other: docs/errors.md is generated from the same table.
BROKEN: dict[str, list[tuple[ParameterSpec, object]]] = {
    "bind.type": [(spec(VECTOR), [1.0, 2.0])],
    "bind.null": [(spec(F32), None)],
    "bind.range": [(spec(I8), 128)],
    "bind.device": [(spec(VECTOR), OnDevice())],
    "bind.dtype": [(spec(VECTOR), np.zeros(4))],
    "bind.byte_order": [(spec(VECTOR), SWAPPED)],
    "bind.order": [(spec(VECTOR), np.zeros((2, 2), np.float32))],
    "bind.shape": [(spec(MATRIX), fortran(4, 9))],
    "bind.stride": [(spec(MATRIX), np.zeros((4, 8), np.float32))],
    "bind.layout": [(spec(FREE), np.zeros((4, 8), np.float32))],
    "bind.alignment": [(spec(VECTOR, alignment=64), unaligned(4, np.float32, 4, 64))],
    "bind.shape_gcd": [(spec(VECTOR, shape_gcd=(4,)), np.zeros(6, np.float32))],
    "bind.stride_gcd": [(spec(FREE, stride_gcd=(1, 8)), fortran(4, 8))],
    "bind.read_only": [(spec(VECTOR, written=True), READ_ONLY)],
    "bind.group_size": [(spec(GroupType(VECTOR, 2)), [SHARED])],
    "bind.group_offset": [(spec(GroupType(VECTOR, None, None)), [SHARED])],
    "bind.group_shape": [(spec(GroupType(FREE, None, 1)), [fortran(4, 8)])],
    "bind.group_memory": [(spec(GroupType(MATRIX, None, 1)), [fortran(4, 8)])],
}


@pytest.mark.parametrize("code", sorted(BROKEN))
def test_each_code_is_provoked(code: str) -> None:
    assert [found.code for found in problems(*BROKEN[code])] == [code]


def test_the_table_of_codes_is_complete() -> None:
    # What a launch as a whole is refused for: test_launch.py, test_grid.py, tests/test_api.py, tests/test_targets.py.
    of_launches = {
        "bind.arguments",
        "bind.grid",
        "bind.grid_division",
        "bind.no_grid",  # of kernels in Python: tests/decorated/test_call_errors.py
        "bind.subgroup_size",
        "bind.memory",
        "bind.overlap",
        "bind.target",
        "bind.fork",
    }
    of_maps = {code for code in BIND_CODES if code.startswith("bind.map")}  # tests/tensor_maps/test_launch.py
    assert set(BIND_CODES) == {"bind.count", *BROKEN} | of_launches | of_maps
    with pytest.raises(InternalError):
        ArgumentReport().add_at("bind.unheard_of", NOWHERE, "")


def test_no_hint_tells_to_copy() -> None:
    for pairs in BROKEN.values():
        for found in problems(*pairs):
            assert "copy" not in (found.message + (found.hint or "")).lower()
            assert found.message.startswith("argument 1, %A")


def test_everything_wrong_is_reported_at_once() -> None:
    found = problems(
        (spec(I8, "x"), 300),
        (spec(MATRIX, "A", written=True, shape_gcd=(4, 2)), np.broadcast_to(np.zeros((), np.float64), (4, 9))),
        (spec(MATRIX, "B", written=True, shape_gcd=(3,)), np.frombuffer(bytes(128), np.float32).reshape(4, 8)),
    )
    assert [(d.message.split(":")[0], d.code) for d in found] == [
        ("argument 1, %x", "bind.range"),
        ("argument 2, %A", "bind.dtype"),
        ("argument 2, %A", "bind.read_only"),
        ("argument 2, %A", "bind.shape"),
        ("argument 2, %A", "bind.layout"),
        ("argument 3, %B", "bind.read_only"),
        ("argument 3, %B", "bind.stride"),
        ("argument 3, %B", "bind.shape_gcd"),
    ]


def test_the_count_names_the_parameters_and_the_first_missing_one() -> None:
    source = Source("func @f(%A: f32, %B: f32) {}")
    first, second = Span(source, 8, 10), Span(source, 17, 19)
    parameters = [ParameterSpec("A", F32, first), ParameterSpec("B", F32, second)]
    with pytest.raises(LaunchError, match="takes 2 arguments, got 1") as caught:
        bind(parameters, [1.0])
    assert caught.value.diagnostics[0].code == "bind.count"
    assert caught.value.diagnostics[0].span == second
    assert caught.value.diagnostics[0].hint == "its parameters: %A: f32, %B: f32"
    with pytest.raises(LaunchError, match="takes 0 arguments, got 1"):
        bind([], [1.0])


def test_arguments_of_a_wrong_count_are_checked_too() -> None:
    with pytest.raises(LaunchError) as caught:
        bind([spec(I8)], [300, 1])
    assert [d.code for d in caught.value.diagnostics] == ["bind.count", "bind.range"]


def test_a_type_that_no_parameter_has_is_our_fault() -> None:
    with pytest.raises(InternalError):
        bind([spec(ErrorType())], [1])


# Memrefs: types


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (I8, np.int8),
        (I16, np.int16),
        (I32, np.int32),
        (I64, np.int64),
        (INDEX, np.int64),
        (BF16, ml_dtypes.bfloat16),
        (F16, np.float16),
        (F32, np.float32),
        (F64, np.float64),
        (C32, np.complex64),
        (C64, np.complex128),
    ],
)
@pytest.mark.parametrize("written", [False, True])
def test_every_element_type_comes_back(element: Number, dtype: Any, written: bool) -> None:
    values = np.arange(12).astype(dtype).reshape(3, 4, order="F")
    bound = bind([spec(MemRef.packed(element, (3, 4)), written=written)], [values])
    assert data(bound).dtype == dtype
    assert data(bound).tolist() == values.ravel(order="F").tolist()
    if written:
        data(bound)[5] = 1
        assert values[2, 1] != data(bound)[5]
        bound.commit()
        assert values[2, 1] == np.ones((), dtype)


def test_mode_i_is_axis_i() -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4, order="F")
    bound = memref(MemRef.packed(F32, (2, None, 4)), values)
    assert (bound.shape, bound.strides) == ((2, 3, 4), (1, 2, 6))
    assert bound.elements is not None
    assert bound.elements.name == "A"
    assert bound.elements.data[1 + 2 * 2 + 3 * 6] == values[1, 2, 3]


def test_none_is_an_unassociated_memref() -> None:
    bound = memref(MemRef.packed(F32, (4, None, 2)), None)
    assert bound.elements is None
    assert (bound.shape, bound.strides) == ((4, 0, 2), (1, 4, 4))
    assert memref(VECTOR, uninitialized(None)).elements is None


def test_order_0_takes_a_0d_array() -> None:
    scalar = np.array(3, np.float32)
    bound = bind([spec(MemRef.packed(F32, ()), written=True)], [scalar])
    data(bound)[0] = 4
    assert scalar == 3
    bound.commit()
    assert scalar == 4


@pytest.mark.parametrize("value", [1.0, 2, True, 1j, np.float32(1)])
def test_a_number_for_a_memref_would_lose_the_result(value: object) -> None:
    found = problem(MemRef.packed(F32, ()), value)
    assert found.code == "bind.type"
    assert "would be lost" in found.message
    assert "0-d array" in (found.hint or "")


def test_masked_and_object_arrays_are_refused() -> None:
    assert problem(VECTOR, np.ma.zeros(3, np.float32)).code == "bind.type"
    assert problem(VECTOR, np.zeros(3, object)).code == "bind.dtype"
    assert problem(VECTOR, np.zeros(3, "S0")).code == "bind.dtype"
    assert problem(VECTOR, np.zeros(3, [("x", np.float32)])).code == "bind.dtype"


def test_subclasses_are_taken_as_arrays() -> None:
    class Tagged(np.ndarray[Any, Any]):
        pass

    tagged = np.zeros(3, np.float32).view(Tagged)
    bound = bind([spec(VECTOR, written=True)], [tagged])
    data(bound)[:] = 2
    bound.commit()
    assert tagged.tolist() == [2, 2, 2]


def test_dtype_hints() -> None:
    assert problem(VECTOR, np.zeros(3)).hint == "allocate it with dtype=np.float32"
    assert problem(MemRef.packed(BF16, (3,)), np.zeros(3)).hint == "allocate it with dtype=ml_dtypes.bfloat16"
    signed = problem(MemRef.packed(I8, (3,)), np.zeros(3, np.uint8))
    assert signed.hint == "pass A.view(np.int8), the same memory as signed integers"
    assert "got float64 array of shape (3,), strides (1,)" in problem(VECTOR, np.zeros(3)).message


def test_what_numpy_reads_from_a_file_without_its_dtype_can_be_viewed(tmp_path: Path) -> None:
    for number, dtype in ((BF16, ml_dtypes.bfloat16), (F8E4M3, ml_dtypes.float8_e4m3fn)):
        np.save(tmp_path / "a.npy", np.zeros(3, dtype))
        found = problem(MemRef.packed(number, (3,)), np.load(tmp_path / "a.npy"))
        name = f"ml_dtypes.{np.dtype(dtype).name}"
        assert found.hint == f"a .npy file forgets this dtype: pass A.view({name}), the same memory"


def test_floats_of_eight_bits_are_not_confused() -> None:
    taken = MemRef.packed(F8E4M3, (3,))
    for dtype, difference in (
        (ml_dtypes.float8_e4m3fnuz, "bias 8, one NaN, no infinity, no -0, so the same bits are other numbers"),
        (ml_dtypes.float8_e4m3b11fnuz, "bias 11"),
        (ml_dtypes.float8_e5m2, "5 exponent bits"),
    ):
        found = problem(taken, np.zeros(3, dtype))
        assert found.code == "bind.dtype" and difference in found.message
        assert found.hint == "allocate it with dtype=ml_dtypes.float8_e4m3fn"
    for signed in (np.uint8, np.int8):
        hint = problem(taken, np.zeros(3, signed)).hint
        assert hint == "if its bytes are such numbers, pass A.view(ml_dtypes.float8_e4m3fn), the same memory"
    bytes_taken = problem(MemRef.packed(I8, (3,)), np.zeros(3, ml_dtypes.float8_e5m2)).hint
    assert bytes_taken == "if its bytes are such numbers, pass A.view(np.int8), the same memory"


def test_strides_of_floats_of_eight_bits() -> None:
    """NumPy cannot make the array interface of float8_e5m2, so that hints and views go another way."""
    padded = MemRef(F8E5M2, (4, 3), (1, 6))
    hint = problem(padded, np.zeros((4, 3), ml_dtypes.float8_e5m2)).hint or ""
    expression = hint.partition("allocate it with ")[2].partition(", or ")[0]
    made = eval(expression, {"np": np, "ml_dtypes": ml_dtypes})
    made[...] = np.arange(12).reshape(4, 3)
    bound = bind([spec(padded, written=True)], [made])
    (held,) = bound.values
    assert (
        isinstance(held, BoundMemRef)
        and held.elements is not None
        and held.elements.data.dtype == ml_dtypes.float8_e5m2
    )
    bound.commit()
    assert made.astype(int).tolist() == np.arange(12).reshape(4, 3).astype(ml_dtypes.float8_e5m2).astype(int).tolist()


def test_order_is_named() -> None:
    found = problem(MemRef.packed(F32, (3, 4)), np.zeros(12, np.float32))
    assert "has 2 modes, so it takes an array with 2 axes" in found.message
    assert "has 1 mode, so it takes an array with 1 axis;" in problem(VECTOR, np.zeros((), np.float32)).message
    assert "0-d" in (problem(MemRef.packed(F32, ()), np.zeros(1, np.float32)).hint or "")
    assert found.hint is None
    column, free = np.zeros(12, np.float32), MemRef.packed(F32, (None, None))
    assert (problem(free, column).hint or "").startswith("pass A[..., None], whose last mode has size 1")
    assert memref(free, column[..., None]).shape == (12, 1)
    many = fortran(12, 5)
    assert (problem(VECTOR, many).hint or "").startswith("pass A[..., 0], or another part")
    assert memref(VECTOR, many[..., 0]).shape == (12,)
    assert problem(VECTOR, np.zeros((12, 5), np.float32)).hint is None


def test_shape_is_named_and_a_transpose_recognized() -> None:
    found = problem(MATRIX, fortran(5, 8))
    assert "takes shape (4, 8)" in found.message
    assert "mode 0 must be 4, not 5" in found.message
    assert "A.T has that shape" in (problem(MATRIX, fortran(8, 4)).hint or "")
    wrong_twice = problems((spec(MATRIX), np.zeros((5, 8), np.float32)))
    assert [d.code for d in wrong_twice] == ["bind.shape", "bind.stride"]


# Memrefs: strides


def test_c_order_is_explained() -> None:
    found = problem(MATRIX, np.zeros((4, 8), np.float32), written=True)
    assert "takes strides (1, 4) in elements; got float32 array of shape (4, 8), strides (8, 1)" in found.message
    assert found.hint == (
        'allocate it with np.empty((4, 8), np.float32, order="F"), or pass A.T to a kernel written for the transpose'
    )


def test_a_step_is_explained() -> None:
    found = problem(VECTOR, np.zeros(8, np.float32)[::2])
    assert found.code == "bind.stride"
    assert (found.hint or "").endswith("or declare the parameter with strided<2>")


@pytest.mark.parametrize(
    ("type", "wrong", "expression", "same"),
    [
        (MemRef(F32, (None,), (2,)), np.zeros(5, np.float32),
         "np.empty(9, np.float32)[::2]", lambda: np.empty(9, np.float32)[::2]),
        (MemRef(F32, (4, None), (1, 8)), np.zeros((4, 5), np.float32),
         "np.lib.stride_tricks.as_strided(np.empty(36, np.float32), (4, 5), (4, 32))",
         lambda: as_strided(np.empty(36, np.float32), (4, 5), (4, 32))),
        (MemRef(F32, (4, None), (1, None)), np.zeros((4, 5), np.float32),
         'np.empty((4, 5), np.float32, order="F")', lambda: np.empty((4, 5), np.float32, order="F")),
    ],
)  # fmt: skip
def test_the_array_that_a_hint_allocates_is_taken(
    type: MemRef, wrong: NDArray[Any], expression: str, same: Callable[[], NDArray[Any]]
) -> None:
    assert (problem(type, wrong).hint or "").startswith(f"allocate it with {expression}, or ")
    assert memref(type, same()).shape == wrong.shape


def test_a_type_that_no_array_of_the_shape_suits_is_told() -> None:
    never = "has strides that the type takes; leave them open with strided<?,?>"
    for strides, value in [((None, 1), np.zeros((2, 3), np.float32)), ((4, 3), fortran(2, 2)), ((1, 1), fortran(2, 2))]:
        found = problem(MemRef(F32, (None, None), strides), value)
        assert (found.hint or "").startswith(f"no array of shape {value.shape} {never}"), found
    assert memref(MemRef(F32, (None, None), (None, None)), fortran(2, 2)).strides == (1, 2)


def test_static_and_dynamic_strides() -> None:
    wide = fortran(8, 5)
    part = wide[:4]
    assert memref(MemRef(F32, (4, 5), (1, 8)), part).strides == (1, 8)
    assert memref(MemRef(F32, (4, 5), (1, None)), part).strides == (1, 8)
    assert memref(MemRef(F32, (None,), (None,)), wide[0]).strides == (8,)
    assert problem(MemRef(F32, (4, 5), (1, 6)), part).code == "bind.stride"


def test_the_stride_of_a_mode_of_size_1_is_ignored() -> None:
    odd = as_strided(np.zeros(12, np.float32), (4, 1, 3), (4, -400, 16))
    assert memref(MemRef.packed(F32, (4, 1, 3)), odd).strides == (1, 4, 4)
    assert memref(MemRef(F32, (None, None, None), (1, None, None)), odd).strides == (1, 4, 4)
    assert memref(MemRef(F32, (4, 1, 3), (1, 7, None)), odd).strides == (1, 7, 4)
    assert memref(FREE, np.zeros((1, 8), np.float32)).strides == (1, 1)


@pytest.mark.parametrize("written", [False, True])
def test_empty_arrays_have_no_strides_to_check(written: bool) -> None:
    empty = np.zeros((4, 0, 3), np.float32)[::-1]
    bound = bind([spec(MemRef.packed(F32, (None, None, 3)), written=written)], [empty])
    value = bound.values[0]
    assert isinstance(value, BoundMemRef)
    assert (value.shape, value.strides) == ((4, 0, 3), (1, 4, 4))
    assert data(bound).shape == (0,)
    bound.commit()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(4, np.float32)[::-1], "mode 0 runs backwards"),
        (np.broadcast_to(np.float32(1), (4,)), "mode 0 has stride 0"),
        (np.zeros(4, [("x", np.float32), ("y", np.int8)])["x"], "a stride of 5 bytes, not a whole number of elements"),
        (
            as_strided(np.zeros(12, np.float32), (4, 3), (4, 8)),
            "mode 0 has stride 1 times size 4, more than the stride 2",
        ),
    ],
)
def test_strides_that_no_type_has(value: np.ndarray[Any, Any], words: str) -> None:
    type = MemRef(F32, (None,) * value.ndim, (None,) * value.ndim)
    found = problem(type, value)
    assert found.code == "bind.layout"
    assert words in found.message
    assert 'order="F"' in (found.hint or "")


def test_fields_of_whole_elements_are_fine() -> None:
    records = np.zeros(4, [("x", np.float32), ("y", np.float32)])
    assert memref(MemRef(F32, (None,), (None,)), records["y"]).strides == (2,)


# Promises


def test_alignment_names_the_remainder() -> None:
    found = problem(VECTOR, unaligned(4, np.float32, 12, 64), alignment=64)
    assert "12 bytes after a multiple of the promised alignment=64" in found.message
    assert memref(VECTOR, unaligned(4, np.float32, 0, 64), alignment=64).elements is not None
    assert memref(VECTOR, np.zeros(0, np.float32), alignment=1 << 40).elements is not None


def test_elements_must_be_aligned_by_themselves() -> None:
    found = problem(VECTOR, unaligned(4, np.float32, 2, 64))
    assert found.code == "bind.alignment"
    assert "a multiple of 4 bytes" in found.message


def test_gcds_name_mode_and_number() -> None:
    wide = fortran(6, 5)[:4]
    assert "mode 1 has size 5, no multiple of 2" in problem(FREE, wide, shape_gcd=(4, 2)).message
    assert "mode 1 has stride 6, no multiple of 4" in problem(FREE, wide, stride_gcd=(1, 4)).message
    assert memref(FREE, wide, shape_gcd=(4,), stride_gcd=(1, 6)).shape == (4, 5)
    assert memref(FREE, fortran(4, 1), stride_gcd=(1, 64)).shape == (4, 1)


# Other kinds of arrays


def test_buffers_are_written_in_place() -> None:
    floats, raw = array.array("f", [1, 2, 3]), bytearray(4)
    bound = bind([spec(VECTOR, written=True), spec(MemRef.packed(I8, (4,)), "B", written=True)], [floats, raw])
    data(bound, 0)[:] = [4, 5, 6]
    data(bound, 1)[:] = -1
    assert floats.tolist() == [1, 2, 3]
    bound.commit()
    assert floats.tolist() == [4, 5, 6]
    assert raw == b"\xff" * 4


def test_buffers_can_be_read_only() -> None:
    bytes_type = MemRef.packed(I8, (3,))
    assert data(bind([spec(bytes_type)], [b"abc"])).tolist() == [97, 98, 99]
    assert problem(bytes_type, b"abc", written=True).code == "bind.read_only"
    assert problem(bytes_type, memoryview(b"abc"), written=True).code == "bind.read_only"


class Exporter:
    """A DLPack exporter like those of tensor libraries; `versioned` as they became in version 1.0."""

    def __init__(self, values: np.ndarray[Any, Any], versioned: bool = True) -> None:
        self.values, self.versioned = values, versioned

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**(options if self.versioned else {}))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class Tensor(Exporter):
    """An exporter that has `__array__` too."""

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def view(self, dtype: Any) -> Tensor:
        return Tensor(self.values.view(dtype), self.versioned)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.values


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_shares_memory(versioned: bool) -> None:
    values = np.zeros(3, np.float32)
    bound = bind([spec(VECTOR, written=True)], [Tensor(values, versioned)])
    data(bound)[:] = 7
    bound.commit()
    assert values.tolist() == [7, 7, 7]


def test_dlpack_without_array_is_read() -> None:
    assert data(bind([spec(VECTOR)], [Exporter(np.arange(3, dtype=np.float32), versioned=False)])).tolist() == [0, 1, 2]


def test_dlpack_of_read_only_memory_is_not_written() -> None:
    assert problem(VECTOR, Tensor(READ_ONLY), written=True).code in {"bind.read_only", "bind.type"}


def test_dlpack_failures_and_devices_are_told_in_words() -> None:
    class Broken(OnDevice):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert "Broken does not give access to its memory: not from here" in problem(VECTOR, Broken()).message
    found = problem(MemRef.packed(F8E5M2, (3,)), Exporter(np.zeros(3, ml_dtypes.float8_e5m2)))
    assert "Exporter does not share floats of eight bits with NumPy" in found.message and found.hint is not None
    assert "pass np.from_dlpack(B).view(ml_dtypes.float8_e5m2), where B is A.view(np.uint8)" in found.hint
    found = problem(VECTOR, OnDevice())
    assert (found.code, "OnDevice lies on a device" in found.message) == ("bind.device", True)


def test_bf16_tensors_of_torch_share_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = ModuleType("torch")
    torch.Tensor, torch.bfloat16, torch.int16 = Tensor, np.dtype(ml_dtypes.bfloat16), np.int16
    monkeypatch.setitem(sys.modules, "torch", torch)
    values = np.zeros(3, ml_dtypes.bfloat16)
    bound = bind([spec(MemRef.packed(BF16, (3,)), written=True)], [Tensor(values)])
    data(bound)[:] = 1.5
    bound.commit()
    assert values.tolist() == [1.5] * 3


def test_what_only_gives_an_array_is_input_only() -> None:
    values = np.ones(3, ml_dtypes.bfloat16)
    type = MemRef.packed(BF16, (3,))
    assert data(bind([spec(type)], [Tensor(values)])).tolist() == [1, 1, 1]
    assert problem(type, Tensor(values), written=True).code == "bind.read_only"
    assert values.flags.writeable


# Groups


def test_groups_of_different_sizes() -> None:
    members = [np.zeros(3, np.float32), None, np.zeros(5, np.float32)]
    bound = group(GroupType(VECTOR, None), members)
    assert (bound.size, bound.null) == (3, False)
    assert [member.shape for member in bound.members] == [(3,), (0,), (5,)]
    assert bound.members[1].elements is None
    assert bound.members[2].elements is not None
    assert bound.members[2].elements.name == "G[2]"


def test_group_null() -> None:
    bound = group(GroupType(VECTOR, 3, 2), None)
    assert (bound.null, bound.members, bound.size) == (True, (), 3)
    assert group(GroupType(VECTOR, None, None), None).size == 0


def test_group_members_are_named_in_problems() -> None:
    found = problems((spec(GroupType(VECTOR, 3), "G"), [SHARED, np.zeros(3), np.zeros((2, 2), np.float32), SHARED]))
    assert [(d.code, d.message.split(":")[0]) for d in found] == [
        ("bind.group_size", "argument 1, %G"),
        ("bind.dtype", "argument 1, %G[1]"),
        ("bind.order", "argument 1, %G[2]"),
    ]


def test_a_group_takes_a_list() -> None:
    found = problem(GroupType(VECTOR, None), np.zeros(3, np.float32))
    assert (found.code, found.hint) == ("bind.type", "pass [A] for one array")
    assert problem(GroupType(VECTOR, None), 3).code == "bind.type"
    one: Any = SHARED
    assert problem(GroupType(VECTOR, None), Group(one)).code == "bind.type"
    assert group(GroupType(VECTOR, 2), (SHARED, SHARED)).size == 2


@pytest.mark.parametrize(
    ("declared", "given", "offset"),
    [(0, None, 0), (3, None, 3), (3, 3, 3), (None, 2, 2), (None, np.int32(2), 2), (0, 0, 0)],
)
def test_group_offsets(declared: int | None, given: int | None, offset: int) -> None:
    bound = group(GroupType(VECTOR, None, declared), Group([SHARED], given))
    assert bound.members[0].shape == (8 - offset,)
    assert bound.members[0].elements is not None
    assert address_of(bound.members[0].elements.data) == address_of(SHARED) + 4 * offset


@pytest.mark.parametrize(("declared", "given"), [(None, None), (3, 2), (None, -1), (None, True), (None, 1.0)])
def test_group_offsets_that_are_refused(declared: int | None, given: Any) -> None:
    assert problem(GroupType(VECTOR, None, declared), Group([SHARED], given)).code == "bind.group_offset"


def test_promises_hold_for_every_member_after_the_offset() -> None:
    aligned = unaligned(10, np.float32, 0, 64)
    type = GroupType(VECTOR, None, 2)
    assert "8 bytes after" in problem(type, [aligned], alignment=16).message
    assert group(type, [aligned], alignment=8).size == 1
    found = problems((spec(type, "G", shape_gcd=(4,)), [aligned, aligned[:5], aligned[:8]]))
    assert [d.message.split(":")[0] for d in found] == ["argument 1, %G[1]", "argument 1, %G[2]"]


def test_groups_are_written_in_place() -> None:
    values = np.zeros(4, np.float32)
    bound = bind([spec(GroupType(VECTOR, 2), "G", written=True)], [[values[:2], values[2:]]])
    members = bound.values[0]
    assert isinstance(members, BoundGroup)
    assert members.members[1].elements is not None
    members.members[1].elements.data[0] = 8
    bound.commit()
    assert values.tolist() == [0, 0, 8, 0]


@pytest.mark.parametrize(
    "mark", [lambda a, b: uninitialized([a, b]), lambda a, b: Group([uninitialized(a), uninitialized(b)])]
)
def test_uninitialized_members(mark: Any) -> None:
    bound = group(GroupType(VECTOR, 2), mark(np.zeros(2, np.float32), np.zeros(3, np.float32)), written=True)
    for member in bound.members:
        assert member.elements is not None
        assert member.elements.marks is not None
        assert not member.elements.marks.any()


def test_public_names_exist() -> None:
    assert all(hasattr(arrays, name) for name in arrays.__all__)
