"""Arguments reach a compiled kernel: every kind of parameter, by the fast way and by the slow one."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

import girih
from girih.arguments import arrays
from girih.ir.types import NUMBERS
from girih.runtime.cpu.entry import slot_count
from girih.runtime.cpu.kernel import CpuKernel
from tests.runtime.cpu_kernels import copies_slots, copies_table, whole

GRID = (1, 1, 1)
OUT = "%OUT: memref<i64x64>"


def f32(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=fi", value, 0))[0])


def f64(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=d", value))[0])


def address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


def fast(kernel: CpuKernel, *arguments: object) -> list[int] | None:
    """What the kernel saw behind its first argument, by the fast way; None where that left it to the slow one."""
    out = np.full(64, -99, np.int64)
    call = kernel._entry.call
    assert call is not None
    return out.tolist() if call(GRID, out, *arguments) is None else None


def slow(kernel: CpuKernel, *arguments: object) -> list[int]:
    out = np.full(64, -99, np.int64)
    assert kernel._run_bound(GRID, (out, *arguments)) is None
    return out.tolist()


@lru_cache(maxsize=64)
def slots(type: str) -> CpuKernel:
    """A kernel whose first argument becomes the slots of the second."""
    parameters = f"{OUT}, %A: {type}"
    count = slot_count(girih.parse(f"func @kernel({parameters}) {{}}").functions[0].parameters[1].type)
    return whole(parameters, copies_slots(count))


@pytest.mark.parametrize(
    ("type", "value", "words"),
    [
        ("bool", True, [1]),
        ("bool", False, [0]),
        ("i8", -128, [-128]),
        ("i16", 32767, [32767]),
        ("i32", -(2**31), [-(2**31)]),
        ("i64", -(2**63), [-(2**63)]),
        ("index", 2**63 - 1, [2**63 - 1]),
        ("f32", 1.1, [f32(1.1)]),
        ("f32", -3, [f32(-3.0)]),
        ("f32", float("-inf"), [f32(float("-inf"))]),
        ("f64", 1.1, [f64(1.1)]),
        ("f64", -1, [f64(-1.0)]),
        ("f16", 1.1, [f32(float(np.float16(1.1)))]),
        ("f16", 65519.99, [f32(65504.0)]),
        ("f16", -0.0, [f32(-0.0)]),
        ("bf16", 1.1, [f32(float(ml_dtypes.bfloat16(1.1)))]),
        ("bf16", 1.00390625, [f32(1.0)]),
        ("bf16", 1.01171875, [f32(1.015625)]),
        ("c32", 1.5 - 2j, [f32(1.5), f32(-2.0)]),
        ("c32", 2, [f32(2.0), f32(0.0)]),
        ("c64", 1.1 - 2.2j, [f64(1.1), f64(-2.2)]),
        ("c64", 0.5, [f64(0.5), f64(0.0)]),
        ("i32", np.int16(-3), [-3]),
        ("i8", np.int64(-128), [-128]),
        ("i64", np.int8(-7), [-7]),
        ("i16", np.uint8(200), [200]),
        ("index", np.uint16(65535), [65535]),
        ("i64", np.uint32(2**32 - 1), [2**32 - 1]),
        ("index", np.uint64(2**63 - 1), [2**63 - 1]),
        ("i32", np.int32(-(2**31)), [-(2**31)]),
        ("f32", np.float32(1.1), [f32(float(np.float32(1.1)))]),
        ("f32", np.float64(1.1), [f32(1.1)]),
        ("f32", np.int64(3), [f32(3.0)]),
        ("f64", np.float32(-0.0), [f64(-0.0)]),
        ("f64", np.int64(2**53 + 1), [f64(2.0**53)]),
        ("bf16", np.float32(1.00390625), [f32(1.0)]),
        ("c32", np.float32(1.5), [f32(1.5), f32(0.0)]),
    ],
)
def test_scalars(type: str, value: Any, words: list[int]) -> None:
    kernel = slots(type)
    found = fast(kernel, value)
    assert found is not None
    assert found[: len(words)] == words
    assert slow(kernel, value)[: len(words)] == words


@pytest.mark.parametrize(
    ("type", "value", "words"),
    [
        ("bool", np.True_, [1]),
        ("f32", np.uint64(2**63), [f32(2.0**63)]),
        ("f32", np.float16(1.5), [f32(1.5)]),
        ("f16", 1e-7, [f32(float(np.float16(1e-7)))]),
        ("bf16", float("inf"), [f32(float("inf"))]),
        ("c64", np.complex64(1 + 2j), [f64(1.0), f64(2.0)]),
        ("f64", np.zeros(()), [f64(0.0)]),
    ],
)
def test_scalars_that_only_the_slow_way_takes(type: str, value: Any, words: list[int]) -> None:
    kernel = slots(type)
    assert fast(kernel, value) is None
    assert slow(kernel, value)[: len(words)] == words


@pytest.mark.parametrize(
    ("type", "value", "code"),
    [
        ("bool", 1, "bind.type"),
        ("i8", 128, "bind.range"),
        ("i64", 2**63, "bind.range"),
        ("i32", 1.0, "bind.type"),
        ("i32", np.float32(1.0), "bind.type"),
        ("i8", np.int16(128), "bind.range"),
        ("i64", np.uint64(2**63), "bind.range"),
        ("f32", np.float64(1e39), "bind.range"),
        ("i32", True, "bind.type"),
        ("f32", 1e39, "bind.range"),
        ("f32", 10**400, "bind.range"),
        ("f32", "1", "bind.type"),
        ("f16", 65520.0, "bind.range"),
        ("bf16", 3.4e38, "bind.range"),
        ("f64", None, "bind.null"),
        ("f64", 1j, "bind.type"),
        ("c32", 1e39j, "bind.range"),
        ("memref<f32x4>", np.zeros(5, np.float32), "bind.shape"),
        ("memref<f32x4>", np.zeros(4), "bind.dtype"),
        ("memref<f32x4>", [1.0, 2.0, 3.0, 4.0], "bind.type"),
        ("memref<f32x?x?>", np.zeros((3, 4), np.float32), "bind.stride"),
        ("memref<f32x?x?,strided<?,?>>", np.zeros((3, 4), np.float32), "bind.layout"),
        ("memref<f32x?>", np.zeros(4, np.float32)[::-1], "bind.layout"),
        ("memref<f32x?>", np.zeros(4, np.float32)[::2], "bind.stride"),
        ("group<memref<f32x4>x2>", [np.zeros(4, np.float32)], "bind.group_size"),
        ("group<memref<f32x4>x?>", [np.zeros(5, np.float32)], "bind.shape"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(type: str, value: Any, code: str) -> None:
    kernel = slots(type)
    assert fast(kernel, value) is None
    out = np.zeros(64, np.int64)
    with pytest.raises(girih.LaunchError) as caught:
        kernel.launch(GRID, (out, value))
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert not out.any()


def test_memrefs() -> None:
    kernel = slots("memref<f64x?x3x?,strided<1,?,?>>")
    array = np.zeros((8, 3, 4), order="F")[:5]
    expected = [address(array), 5, 4, 8, 24]
    assert (fast(kernel, array) or [])[:5] == expected
    assert slow(kernel, array)[:5] == expected


def test_strides_of_modes_with_one_element_are_as_if_packed() -> None:
    kernel = slots("memref<f32x?x?x?>")
    array = as_strided(np.zeros(100, np.float32), (5, 1, 2), (4, -400, 80))
    expected = [address(array), 5, 1, 2, 5, 20]
    assert (fast(kernel, array) or [])[:6] == expected
    assert slow(kernel, array)[:6] == expected


def test_nothing_and_empty_arrays() -> None:
    kernel = slots("memref<f32x?x4>")
    assert slow(kernel, None)[:2] == [0, 0]
    empty = np.zeros((0, 4), np.float32)
    assert slow(kernel, empty)[1] == 0


@pytest.mark.parametrize("order", [0, 1, 4])
def test_orders(order: int) -> None:
    sizes = [2, 3, 4, 5][:order]
    kernel = slots(f"memref<bf16{''.join('x?' for _ in sizes)}>")
    array = np.zeros(sizes, ml_dtypes.bfloat16, order="F")
    strides = [stride // 2 for stride in array.strides[1:]]
    assert (fast(kernel, array) or [])[: 2 * order] == [address(array), *sizes, *strides][: 2 * order]


@pytest.mark.parametrize("element", ["f32", "bf16", "i64"])
def test_an_element_type_is_what_it_says_not_which_object_says_it(element: str) -> None:
    kernel = slots(f"memref<{element}x3>")
    array = np.zeros(3, arrays.DTYPES[NUMBERS[element]])
    big = array.astype(array.dtype.newbyteorder(">")) if element != "bf16" else array
    equal = [
        pickle.loads(pickle.dumps(array)),
        array.view(array.dtype.newbyteorder("=")),
        big.astype(big.dtype.newbyteorder("=")),
        array.view(np.dtype(array.dtype, metadata={"unit": "m"})),
    ]
    for one in equal:
        assert (fast(kernel, one) or [])[:1] == [address(one)]
    for other in (array.view(array.dtype.newbyteorder(">")), array.view(f"V{array.itemsize}")):
        assert other.dtype == array.dtype or fast(kernel, other) is None


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("f32", np.array(1.5, np.float32)),
        ("i64", np.array(3)),
        ("bf16", np.array(2, ml_dtypes.bfloat16)),
        ("memref<i64x3>", np.zeros(3, np.longlong)),
        ("group<memref<f32x3>x?>", girih.Group([np.ones(3, np.float32)])),
        ("group<memref<f32x3>x1>", girih.Group([np.ones(3, np.float32)], 0)),
    ],
)
def test_what_is_made_usual_need_not_be_bound_in_python(
    type: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, out = slots(type), np.full(64, -99, np.int64)
    assert slow(kernel, value)
    monkeypatch.setattr(arrays, "accept", None)
    kernel.launch(GRID, (out, value))
    assert out[0] != -99


@pytest.mark.parametrize("value", [np.timedelta64(5, "ns"), np.array(5, "m8[ns]")])
def test_a_time_is_no_number(value: object) -> None:
    with pytest.raises(girih.LaunchError, match="takes an integer"):
        slots("i64").launch(GRID, (np.zeros(64, np.int64), value))


def test_other_owners_of_memory() -> None:
    kernel = slots("memref<i8x?>")
    held = bytearray(7)
    assert fast(kernel, held) is None
    assert slow(kernel, held)[1] == 7
    marked = girih.uninitialized(held)
    assert slow(kernel, marked)[1] == 7


class Tensor:
    """Something with DLPack, like a tensor of torch."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Tensor, girih.uninitialized, np.asarray, memoryview])
def test_what_is_launched_with_changes(wrap: Callable[[NDArray[Any]], object]) -> None:
    kernel = whole(f"{OUT}, %n: f32", copies_slots(1))
    out = np.zeros(64, np.int64)
    kernel.launch(GRID, (wrap(out), np.float32(1.5)))
    assert out[0] == f32(1.5)


def test_groups_of_tensors() -> None:
    kernel = whole(f"{OUT}, %G: group<memref<f32x?x2>x?>", copies_table(6))
    a, b = (np.zeros((n, 2), np.float32, order="F") for n in (3, 5))
    out = np.zeros(64, np.int64)
    kernel.launch(GRID, (out, girih.uninitialized((Tensor(a), b))))
    assert out[:6].tolist() == [address(a), 3, 3, address(b), 5, 5]


def test_groups() -> None:
    kernel = whole(f"{OUT}, %G: group<memref<f32x?x2>x?>", copies_table(6))
    a, b = (np.zeros((n, 2), np.float32, order="F") for n in (3, 5))
    expected = [address(a), 3, 3, address(b), 5, 5]
    assert (fast(kernel, [a, b]) or [])[:6] == expected
    assert (fast(kernel, (a, b)) or [])[:6] == expected
    assert slow(kernel, [a, b])[:6] == expected
    assert fast(kernel, [a, None]) is None
    assert slow(kernel, [a, None])[3:5] == [0, 0]


def test_the_size_of_a_group_and_none() -> None:
    kernel = whole(f"{OUT}, %G: group<memref<f32x4>x?>, %n: i64", copies_slots(3))
    members = [np.zeros(4, np.float32)] * 3
    assert (fast(kernel, members, 7) or [])[1:3] == [3, 7]
    assert slow(kernel, members, 7)[1:3] == [3, 7]
    assert slow(kernel, None, 7)[:3] == [0, 0, 7]


def test_moved_groups() -> None:
    kernel = whole(f"{OUT}, %G: group<memref<f32x?>x?,offset:?>", copies_table(6))
    a, b = np.zeros(8, np.float32), np.zeros(4, np.float32)
    group = girih.Group([a, None, b], offset=3)
    assert fast(kernel, group) is None
    assert slow(kernel, group)[:6] == [address(a) + 12, 5, 0, 0, address(b) + 12, 1]


def test_promises() -> None:
    kernel = whole(f"{OUT}, %A: memref<f32x?x?> {{alignment=64, shape_gcd=[4], stride_gcd=[1,8]}}", copies_slots(4))
    room = np.zeros(1000, np.float32)
    skip = (-address(room) % 64) // 4
    good = as_strided(room[skip:], (8, 3), (4, 64))
    assert fast(kernel, good) == slow(kernel, good)
    for bad, code in [
        (as_strided(room[skip + 1 :], (8, 3), (4, 64)), "bind.alignment"),
        (as_strided(room[skip:], (6, 3), (4, 64)), "bind.shape_gcd"),
        (as_strided(room[skip:], (8, 3), (4, 48)), "bind.stride_gcd"),
    ]:
        assert fast(kernel, bad) is None
        with pytest.raises(girih.LaunchError) as caught:
            kernel.launch(GRID, (np.zeros(64, np.int64), bad))
        assert [d.code for d in caught.value.diagnostics] == [code]


def test_what_is_written_must_be_writeable() -> None:
    lines = [
        "func @kernel(%A: memref<f32x4>, %B: memref<f32x4>) {",
        "%o = constant 1.0 : f32",
        "axpby %o, %A, %o, %B",
        "}",
    ]
    function = girih.parse("\n".join(lines)).functions[0]
    compiled = whole("%A: memref<f32x4>", copies_slots(0)).compiled
    kernel = CpuKernel(function, compiled)
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    a.flags.writeable = False
    call = kernel._entry.call
    assert call is not None
    assert call((0, 1, 1), a, b) is None
    assert call((0, 1, 1), b, a) is NotImplemented
    with pytest.raises(girih.LaunchError, match="read-only"):
        kernel.launch((1, 1, 1), (b, a))


def test_the_number_of_arguments() -> None:
    kernel = slots("f32")
    with pytest.raises(girih.LaunchError, match="takes 2 arguments, got 1"):
        kernel.launch(GRID, (np.zeros(64, np.int64),))


TYPES = [
    "memref<f32x?x?>",
    "memref<f32x4x?>",
    "memref<f32x?x?,strided<?,?>>",
    "memref<f32x?x2,strided<1,8>>",
    "memref<f32x4x2>",
]


@given(
    st.sampled_from(TYPES),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(-2, 12), st.integers(-2, 24)),
    st.integers(0, 3),
)
def test_the_fast_way_takes_nothing_that_the_slow_way_refuses(
    type: str, shape: tuple[int, int], strides: tuple[int, int], skip: int
) -> None:
    kernel = slots(type)
    room = np.zeros(400, np.float32).view(np.int8)[200 + skip :]
    array = np.ndarray(shape, np.float32, buffer=room, offset=200, strides=(4 * strides[0], 4 * strides[1]))
    found = fast(kernel, array)
    try:
        expected = slow(kernel, array)
    except girih.LaunchError:
        assert found is None
    else:
        assert found == expected
