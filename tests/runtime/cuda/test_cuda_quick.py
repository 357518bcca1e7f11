"""Launches in machine code: those that are like earlier ones, and all others, which Python makes."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from io import BytesIO
from types import BuiltinFunctionType, SimpleNamespace
from typing import Any
from weakref import ref

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.runtime.cuda import device, memory, quick
from girih.runtime.cuda.executor import CudaExecutor
from girih.runtime.cuda.kernel import CudaKernel
from girih.runtime.cuda.plans import parameters
from tests.runtime.cuda.arrays import ByDlpack, Exchanged, TorchType, capsule_of, give_table, torch_module
from tests.runtime.cuda.fake import CUresult, FakeDriver
from tests.runtime.cuda.test_cuda_launch import COPY, GROUPS, SCALE, kernel

MANY = """
func @many(%A: memref<f32x?x?>, %x: f32, %y: f64, %n: index, %k: i8, %yes: bool, %none: memref<i32x?>, %B: memref<f64>)
    attributes {work_group_size=[32,1], subgroup_size=32} {
    %zero = constant 0 : index
    %one = constant 1 : index
    store %x, %A[%n,%one]
    %c = cast %k : f32
    store %c, %A[%zero,%zero]
    store %y, %B[]
    if %yes {
        store %c, %A[%one,%one]
    }
}
"""


NARROW = """
func @narrow(%x: bf16, %y: f16, %A: memref<bf16x1>, %B: memref<f16x1>)
    attributes {work_group_size=[32,1], subgroup_size=32} {
    %zero = constant 0 : index
    store %x, %A[%zero]
    store %y, %B[%zero]
}
"""


PRODUCTS = """
func @products(%A: memref<f32x2x2x?>, %B: memref<f32x2x2x?>, %C: memref<f32x2x2x?>) {
    %g = group_id.x : index
    %a = subview %A[0:2,0:2,%g] : memref<f32x2x2>
    %b = subview %B[0:2,0:2,%g] : memref<f32x2x2>
    %c = subview %C[0:2,0:2,%g] : memref<f32x2x2>
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    gemm %one, %a, %b, %zero, %c
}
"""


COMPLEX = """
func @one(%x: c32, %A: memref<c32x1>) attributes {work_group_size=[32,1], subgroup_size=32} {
    %zero = constant 0 : index
    store %x, %A[%zero]
}
"""


class Counted:
    """A driver with one GPU, torch with a table, and how many launches Python has made."""

    def __init__(self, fake: FakeDriver, torch: Any) -> None:
        self.fake, self.torch, self.by_python = fake, torch, 0

    def tensor(self, content: Any, dtype: str = "float32", device: int = 0) -> Exchanged:
        made = Exchanged(self.fake, np.asarray(content, dtype), device)
        made.dtype = TorchType(dtype)  # type: ignore[assignment]
        return made


@pytest.fixture
def counted(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(quick, "LAUNCHES", 2)
    made = Counted(fake, torch)
    launch = CudaKernel.launch

    def counting(self: CudaKernel, *given: Any, **words: Any) -> None:
        made.by_python += 1
        launch(self, *given, **words)

    monkeypatch.setattr(CudaKernel, "launch", counting)
    fake.stack.append(0xC0)
    held = give_table(fake, torch)
    yield made
    del Exchanged.__dlpack_c_exchange_api__, held  # type: ignore[attr-defined]


def content(tensor: Exchanged) -> Any:
    tensor.dtype = np.dtype(tensor.dtype.name)
    return tensor.content


def test_launches_like_earlier_ones_are_made_by_machine_code(counted: Counted) -> None:
    launch = kernel(COPY)
    for number in range(5):
        a, b = counted.tensor(range(number, 32 + number), "int32"), counted.tensor([0] * 32, "int32")
        launch[1 + number](a, b)
        launch.synchronize()
        assert content(b).tolist() == list(range(number, 32 + number))
    assert counted.by_python == 2
    assert [grid for grid, *_ in counted.fake.launches] == [(k, 1, 1) for k in range(1, 6)]


def test_all_kinds_of_arguments(counted: Counted) -> None:
    launch = kernel(MANY)
    for number in range(4):
        a = counted.tensor(np.zeros((3, 2), np.float32, order="F"))
        b = counted.tensor(0.0, "float64")
        launch(a, 0.1 * number, 1e300, 2, -3, number % 2 == 1, None, b)
        launch.synchronize()
        x = float(np.float32(0.1 * number))
        assert content(a).tolist() == [[-3, 0], [0, -3 if number % 2 else 0], [0, x]]
        assert float(content(b)) == 1e300
    assert counted.by_python == 2


@pytest.mark.parametrize("value", [0.1, -2.5, 0.0, 65504.0, 1.00390625, 1.0 + 2.0**-11, 3e4 + 1 / 3, 2.0**-14])
def test_narrow_numbers_are_rounded_to_nearest(counted: Counted, value: float) -> None:
    launch = kernel(NARROW)
    for _ in range(4):
        a, b = counted.tensor([0], "bfloat16"), counted.tensor([0], "float16")
        launch(value, value, a, b)
        launch.synchronize()
        assert content(a)[0] == ml_dtypes.bfloat16(value)
        assert content(b)[0] == np.float16(value)
    assert counted.by_python == 2


@pytest.mark.parametrize("value", [1, 1e-39, 65520.0, float("inf"), 2.0**-15, float("nan")])
def test_narrow_numbers_that_are_unusual_are_left_to_python(counted: Counted, value: float) -> None:
    launch = kernel(NARROW)
    for one in (1.0, 1.0, value):
        a, b = counted.tensor([0], "bfloat16"), counted.tensor([0], "float16")
        with pytest.raises(girih.LaunchError) if one == 65520.0 else nullcontext():
            launch(1.0, one, a, b)
        launch.synchronize()
    assert counted.by_python == 3


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (1, 1),
        (1, 1e39),
        (1, np.float32(2)),
        (2, 1),
        (3, 2**31),
        (3, True),
        (4, 128),
        (4, 5.0),
        (5, 1),
        (5, np.True_),
        (6, 0),
    ],
)
def test_other_numbers_are_left_to_python(counted: Counted, number: int, value: object) -> None:
    """Python takes them or refuses them, as it does where there is no plan."""
    launch, fresh = kernel(MANY), kernel(MANY)

    def arguments() -> list[object]:
        a, b = counted.tensor(np.zeros((3, 2), np.float32, order="F")), counted.tensor(0.0, "float64")
        return [a, 0.5, 1.5, 2, 3, True, None, b]

    def outcome(kernel: girih.Kernel) -> object:
        given = arguments()
        given[number] = value
        try:
            kernel(*given)
            kernel.synchronize()
        except (girih.LaunchError, girih.KernelError) as error:
            return str(error)
        return [content(one).tolist() for one in (given[0], given[7]) if isinstance(one, Exchanged)]

    for _ in range(3):
        launch(*arguments())
    before = counted.by_python
    assert before == 2 and outcome(launch) == outcome(fresh)
    assert counted.by_python == before + 2, "machine code has made none of them"


def test_other_shapes_get_plans_of_their_own(counted: Counted) -> None:
    launch = kernel(SCALE)
    for round in range(3):
        for size in (4, 7):
            data = counted.tensor(np.ones(size, np.float32))
            launch(2.0, data)
            launch.synchronize()
            assert content(data).tolist() == [2.0] * size
        assert counted.by_python == min(2 * (round + 1), 3)
    strided = counted.tensor(np.ones(8, np.float32)[::2])
    launch(2.0, strided)
    assert counted.by_python == 4


@pytest.mark.parametrize("what", ["requires_grad", "negated", "freed", "type", "device", "count", "subclass", "host"])
def test_what_machine_code_does_not_take(counted: Counted, what: str) -> None:
    launch = kernel(SCALE)
    # Of these a negated view may be: the imaginary parts of complex numbers.
    ones = np.ones(8, np.float32)[::2] if what == "negated" else np.ones(4, np.float32)
    for _ in range(3):
        launch(2.0, counted.tensor(ones))
    launches, odd = len(counted.fake.launches), counted.tensor(ones)
    given: list[object] = [2.0, odd]
    if what in ("requires_grad", "negated", "freed"):
        setattr(odd, what, True)
    elif what == "type":
        given[1] = counted.tensor(np.ones(4, np.float64), "float64")
    elif what == "device":
        odd.device = 1
    elif what == "count":
        given.append(1)
    elif what == "host":
        given[1] = np.ones(4, np.float32)
    else:
        odd.__class__ = type("Parameter", (Exchanged,), {"__module__": "torch"})
    if what in ("host", "subclass"):
        launch(*given)
        assert len(counted.fake.launches) == launches + 1
        return
    with pytest.raises(girih.LaunchError):
        launch(*given)
        raise girih.LaunchError([]) if what == "negated" else AssertionError(what)
    launch(2.0, counted.tensor(ones))
    assert counted.by_python == 3, "the odd one"


def test_a_grid_that_cuda_lacks_is_left_to_python(counted: Counted) -> None:
    launch = kernel(SCALE)
    data = counted.tensor(np.ones(4, np.float32))
    for _ in range(3):
        launch(1.0, data)
    launch[2, 0](1.0, data)
    assert len(counted.fake.launches) == 3 and counted.by_python == 3
    launch[1, 1, 70_000](1.0, data)
    assert counted.fake.launches[-1][0] == (70_000, 1, 1) and counted.by_python == 4


def test_arrays_that_overlap_are_left_to_python(counted: Counted) -> None:
    launch = kernel(COPY)
    a, b = (counted.tensor(range(32), "int32") for _ in range(2))
    for _ in range(3):
        launch(a, b)
    modules = len(counted.fake.modules)
    launch(a, a)
    assert len(counted.fake.modules) == modules + 1, "the variant that takes nothing for granted"
    shifted = counted.tensor(range(32), "int32")
    shifted.address = a.address + 4
    launch(a, shifted)
    launch(a, b)
    assert counted.by_python == 4


def test_another_stream_or_context_is_left_to_python(counted: Counted) -> None:
    launch = kernel(SCALE)
    data = counted.tensor(np.ones(4, np.float32))
    for _ in range(3):
        launch(1.0, data)
    counted.torch.chosen.stream = counted.fake.stream()
    for expected in (3, 3):
        launch(1.0, data)
        assert counted.by_python == expected and counted.fake.launches[-1][2] == counted.torch.chosen.stream
    counted.fake.stack.clear()
    launch(1.0, data)
    assert counted.by_python == 4 and counted.fake.stack == []


def test_findings_are_raised_before_a_launch(counted: Counted) -> None:
    broken = COPY.replace("%A[%k]", "%A[%x]").replace("%a = load", "%x = add %k, %k : index\n        %a = load")
    wrong, fine = kernel(broken), kernel(COPY)
    a, b = (counted.tensor(range(64), "int32") for _ in range(2))
    for _ in range(3):
        fine(a, b)
        wrong(a, b)
    assert counted.by_python == 4
    small = counted.tensor(range(32), "int32")
    wrong(small, b)
    counted.fake.cuStreamSynchronize(counted.torch.chosen.stream)
    launches = len(counted.fake.launches)
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        fine(a, b)
    assert len(counted.fake.launches) == launches
    fine(a, b)
    assert len(counted.fake.launches) == launches + 1


def test_a_launch_that_the_driver_refuses_is_told_in_words(counted: Counted) -> None:
    launch = kernel(SCALE)
    data = counted.tensor(np.ones(4, np.float32))
    for _ in range(3):
        launch(1.0, data)
    counted.fake.failing["cuLaunchKernel"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(girih.LaunchError, match=r"run\.cuda_lost"):
        launch(1.0, data)


def test_synchronous_launches_are_made_by_python(counted: Counted) -> None:
    launch = kernel(SCALE)
    data = counted.tensor(np.ones(4, np.float32))
    for _ in range(3):
        launch(1.0, data)
    launch.options(synchronous=True)(2.0, data)
    assert content(data).tolist() == [2, 2, 2, 2]


def test_groups_at_the_same_addresses_are_machine_codes(counted: Counted) -> None:
    launch = kernel(GROUPS)
    first, second = counted.tensor([3], "int32"), counted.tensor([5], "int32")
    for group, expected, by_python in (
        ([first], 3, 1), ([first], 3, 2), ([first], 3, 2), ([second], 5, 3), ([second], 5, 3), ([first], 3, 3),
        ([first, second], 3, 4), ((first,), 3, 5), ([None], 0, 6),
    ):  # fmt: skip
        out = counted.tensor([0, 0], "int32")
        launch(group, out)
        launch.synchronize()
        assert content(out).tolist()[0] == expected
        out.dtype = TorchType("int32")  # type: ignore[assignment]
        assert counted.by_python == by_python, group


def test_a_group_shares_memory_with_what_is_written(counted: Counted) -> None:
    launch = kernel(GROUPS)
    member, out = counted.tensor([3], "int32"), counted.tensor([0], "int32")
    for _ in range(3):
        launch([member], out)
    with pytest.raises(girih.LaunchError, match=r"bind\.overlap"):
        launch([member], member)
    assert counted.by_python == 3


def test_tables_that_machine_code_uses_stay(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = kernel(GROUPS)
    member, out = counted.tensor([3], "int32"), counted.tensor([0], "int32")
    for _ in range(2):
        launch([member], out)
    monkeypatch.setattr(memory, "_MOST_TABLES", -1)
    for number in range(20):
        launch([counted.tensor([number], "int32")], counted.tensor([0], "int32"))
    before = counted.by_python
    launch([member], out)
    launch.synchronize()
    assert counted.by_python == before and content(out).tolist() == [3]


def test_a_group_that_comes_again_is_known_by_itself(counted: Counted) -> None:
    """Its arrays are not looked at any more, however many they are."""
    launch = kernel(GROUPS)
    members = [counted.tensor([number] * 100, "int32") for number in range(100)]
    group = girih.Group(members)
    for number in range(5):
        out = counted.tensor([0] * 100, "int32")
        launch(group, out)
        launch.synchronize()
        assert content(out).tolist() == list(range(100))
        assert counted.by_python == min(number + 1, 2)
    members[0].requires_grad = True
    launch(group, counted.tensor([0] * 100, "int32"))
    assert counted.by_python == 2
    members[0].requires_grad = False
    with pytest.raises(girih.LaunchError, match=r"bind\.overlap"):
        launch(group, members[7])
    assert counted.by_python == 3
    launch(girih.Group(members), counted.tensor([0] * 100, "int32"))
    assert counted.by_python == 4, "another group of the same arrays"


def test_groups_that_end_leave_nothing(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another group may be at the address of one that has ended; tables for it are not kept, nor are its arrays."""
    launch, out = kernel(GROUPS), counted.tensor([0], "int32")
    for number in range(4 * quick.MOST_PLANS):
        member = counted.tensor([number], "int32")
        ends, group = ref(member), girih.Group([member])
        for _ in range(3):
            launch(group, out)
        launch.synchronize()
        del group, member
        gc.collect()
        assert ends() is None
    assert counted.by_python == 2 * 4 * quick.MOST_PLANS
    last = girih.Group([counted.tensor([5], "int32")])
    for _ in range(3):
        launch(last, out)
    launch.synchronize()
    assert content(out).tolist() == [5] and counted.by_python == 2 + 2 * 4 * quick.MOST_PLANS
    tables = device.opened(0).tables
    assert sum(tables.planned.values()) == 1
    monkeypatch.setattr(memory, "_MOST_TABLES", -1)
    launch([counted.tensor([6], "int32")], counted.tensor([0], "int32"))
    assert len(tables.known) == 2


def test_a_group_that_comes_once_has_no_plan(counted: Counted) -> None:
    launch = kernel(GROUPS)
    for number in range(3 * quick.MOST_PLANS):
        launch(girih.Group([counted.tensor([number], "int32")]), counted.tensor([0], "int32"))
    assert not launch.executor._kernel.quick._plans  # type: ignore[attr-defined]


def test_groups_of_the_host_are_left_to_python(counted: Counted) -> None:
    launch, group = kernel(GROUPS), girih.Group([np.array([4], np.int32)])
    for number in range(4):
        out = np.zeros(1, np.int32)
        launch(group, out)
        assert out.tolist() == [4] and counted.by_python == number + 1


@pytest.mark.parametrize("short", [True, False])
def test_complex_numbers(counted: Counted, short: bool) -> None:
    type, dtype = ("c32", np.complex64) if short else ("c64", np.complex128)
    launch = kernel(COMPLEX.replace("c32", type))
    for number in (1 + 2j, -0.1 + 1e30j, 0.3 - 0.7j, -1e-3 + 0j):
        out = counted.tensor([0], np.dtype(dtype).name)
        launch(number, out)
        launch.synchronize()
        assert content(out).tolist() == [complex(dtype(number))]
    assert counted.by_python == 2
    out = counted.tensor([0], np.dtype(dtype).name)
    if short:
        with pytest.raises(girih.LaunchError, match=r"bind\.range"):
            launch(complex(0, 1e300), out)
        assert counted.by_python == 3
    launch(2.0, out)
    assert counted.by_python == (4 if short else 3), "no complex number"


class _Versioned(ByDlpack):
    """An array of a library that exports DLPack with versions."""


class _Older(ByDlpack):
    """One that says no strides, as those of arrays whose elements lie together may."""

    strided = False


_Versioned.__module__ = "cupy"
_Older.__module__ = "jax"


@pytest.mark.parametrize("kind", [_Versioned, _Older])
def test_arrays_that_export_dlpack(counted: Counted, kind: type[ByDlpack], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their stream is that of their library, and the arrays are told it."""
    stream = SimpleNamespace(ptr=counted.fake.stream())
    cupy = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda number: stream))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    launch = kernel(COPY)
    expected = stream.ptr if kind is _Versioned else counted.torch.chosen.stream
    for number in range(5):
        a = kind(counted.fake, np.arange(number, 32 + number, dtype=np.int32))
        b = counted_out(counted, kind)
        launch(a, b)
        launch.synchronize()
        assert b.content.tolist() == list(range(number, 32 + number)) and set(a.streams) == {expected}
    assert counted.by_python == 2
    assert {where for *_, where in counted.fake.launches} == {expected}
    odd = kind(counted.fake, np.zeros(40, np.int32))
    launch(odd, counted_out(counted, kind))
    assert counted.by_python == 3, "another size"
    with pytest.raises(girih.LaunchError):
        launch(kind(counted.fake, np.zeros(32, np.int32), deleted=True), b)
    if kind is _Versioned:
        with pytest.raises(girih.LaunchError, match="read"):
            launch(a, kind(counted.fake, np.zeros(32, np.int32), read_only=True))
        stream.ptr = counted.fake.stream()
        launch(a, b)
        assert counted.fake.launches[-1][2] == stream.ptr
        assert counted.by_python == 6


def test_an_array_of_cupy_is_known_again(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """It exports nothing then; with another shape it is another array."""
    stream = SimpleNamespace(ptr=counted.fake.stream())
    cupy = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda number: stream))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    launch = kernel(COPY)
    a, b = _Versioned(counted.fake, np.arange(32, dtype=np.int32)), counted_out(counted, _Versioned)
    for _ in range(2):
        launch(a, b)
    exports = len(a.streams)
    launch(a, b)
    launch.synchronize()
    assert counted.by_python == 2 and len(a.streams) == exports and b.content.tolist() == list(range(32))
    launch(a, counted_out(counted, _Versioned))
    assert counted.by_python == 2 and len(a.streams) == exports
    a.shape = (16,)
    launch(a, b)
    assert counted.by_python == 3 and len(a.streams) > exports
    identity = id(b)
    assert identity in weakly_kept(launch) and 0 not in weakly_kept(launch)
    del b
    gc.collect()
    assert identity not in weakly_kept(launch) and 0 in weakly_kept(launch)


@pytest.mark.parametrize("told", [0, 1])
def test_cupy_tells_its_stream_in_c(counted: Counted, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of CuPy's modules is called where it tells what CuPy tells Python, as it does not if `told` is 1."""
    handle, python = counted.fake.stream(), list[int]()

    def current(number: int) -> SimpleNamespace:
        python.append(number)
        return SimpleNamespace(ptr=handle)

    function = ctypes.PYFUNCTYPE(ctypes.c_ssize_t)(lambda: handle + told)
    exported = {
        "get_current_stream_ptr": capsule_of(ctypes.cast(function, ctypes.c_void_p).value or 0, b"intptr_t (void)")
    }
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(get_current_stream=current)))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.stream", SimpleNamespace(__pyx_capi__=exported))
    launch, before = kernel(COPY), 0
    a, b = _Versioned(counted.fake, np.arange(32, dtype=np.int32)), counted_out(counted, _Versioned)
    for number in range(6):
        before = len(python)
        launch(a, b)
        assert number < 2 or len(python) - before == told
    assert counted.by_python == 2 and {where for *_, where in counted.fake.launches} == {handle}
    handle = counted.fake.stream()
    launch(a, b)
    assert counted.by_python == 3 and counted.fake.launches[-1][2] == handle


def weakly_kept(launch: girih.Kernel) -> list[int]:
    """The addresses of arrays that the plans of a kernel know again."""
    place = parameters._EXPORTER.index("E_ARRAY")
    plans = launch.executor._kernel.quick._plans.values()  # type: ignore[attr-defined]
    told = [one for plan in plans for one in plan.held[7]]
    return [int(one[place]) for one in told if isinstance(one, ctypes.Array) and one._type_ is ctypes.c_int64]


class _OfJax(ByDlpack):
    """An array of JAX, which a function exports faster than its method."""

    strided = False
    by_function = 0

    def is_deleted(self) -> bool:
        return self.deleted


_OfJax.__module__ = "jaxlib._jax"


@pytest.mark.parametrize("kind", ["same", "another"])
def test_arrays_of_jax(counted: Counted, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(array: _OfJax, stream: int) -> object:
        _OfJax.by_function += 1
        if kind == "another":
            return _OfJax(counted.fake, np.zeros(array.shape, np.int32)).__dlpack__(stream)
        return array.__dlpack__(stream)

    monkeypatch.setattr(_OfJax, "by_function", 0)
    monkeypatch.setitem(sys.modules, "jaxlib._jax", SimpleNamespace(buffer_to_dlpack_managed_tensor=export))
    launch, b = kernel(COPY), ByDlpack(counted.fake, np.zeros(32, np.int32))
    given = [_OfJax(counted.fake, np.arange(k, 32 + k, dtype=np.int32)) for k in range(4)]
    for number, a in enumerate((*given, given[1])):
        exported = _OfJax.by_function
        launch(a, b)
        launch.synchronize()
        assert b.content.tolist() == a.content.tolist()
        if number in (2, 3):
            assert (_OfJax.by_function > exported) == (kind == "same")
    assert counted.by_python == 2 and exported == _OfJax.by_function, "the array of the plan exports nothing"
    given[1].deleted = True
    with pytest.raises(girih.LaunchError, match="deleted"):
        launch(given[1], b)


def counted_out(counted: Counted, kind: type[ByDlpack]) -> ByDlpack:
    """Zeros that a launch may write; arrays of JAX are never written."""
    written = ByDlpack if kind is _Older else kind
    return written(counted.fake, np.zeros(32, np.int32))


def test_a_property_in_c_is_asked_directly(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "GRADIENT", "closed")
    launch = kernel(SCALE)

    class InC(Exchanged, BytesIO):
        """A tensor that tells by a property in C whether it asks for a gradient."""

        def __init__(self, *given: Any) -> None:
            BytesIO.__init__(self)
            Exchanged.__init__(self, *given)

    InC.__module__ = "torch"

    def made() -> InC:
        one = InC(counted.fake, np.ones(4, np.float32), 0)
        one.dtype = TorchType("float32")  # type: ignore[assignment]
        return one

    for _ in range(4):
        launch(2.0, made())
    assert counted.by_python == 2 and parameters._getter(InC)[0]
    closed = made()
    closed.close()
    launch(2.0, closed)
    assert counted.by_python == 3


def test_a_table_of_another_version_is_not_used(counted: Counted) -> None:
    held = give_table(counted.fake, counted.torch, major=2)
    launch = kernel(SCALE)
    data = counted.tensor(np.ones(4, np.float32))
    for _ in range(4):
        launch(1.0, data)
    assert counted.by_python == 4 and held


def test_many_plans_are_enough(counted: Counted) -> None:
    launch = kernel(SCALE)
    for size in range(1, 2 * quick.MOST_PLANS):
        launch(1.0, counted.tensor(np.ones(size, np.float32)))
    python = counted.by_python
    launch(1.0, counted.tensor(np.ones(2 * quick.MOST_PLANS - 1, np.float32)))
    assert counted.by_python == python + 1


def test_too_many_kernels_on_a_stream_are_looked_at_by_python(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    from girih.runtime.cuda import streams

    monkeypatch.setattr(streams, "MOST_WATCHED", 1)
    launch, data = kernel(SCALE), counted.tensor(np.ones(4, np.float32))
    for _ in range(3):
        launch(1.0, data)
    assert counted.by_python == 2
    kernel(COPY)(counted.tensor([0] * 32, "int32"), counted.tensor([0] * 32, "int32"))
    launch(1.0, data)
    assert counted.by_python == 4


def test_packed_work_groups_are_fewer_ctas(counted: Counted) -> None:
    """128 products of one thread each are a CTA: CUDA is asked for as many of these as it takes, the last not full."""
    launch = kernel(PRODUCTS)
    for groups in (1, 130, 256, 257):
        a = np.asfortranarray(np.arange(4 * groups).reshape(2, 2, groups) % 5)
        tensors = [counted.tensor(held) for held in (a, a, np.zeros_like(a))]
        launch[groups](*tensors)
        launch.synchronize()
        assert (content(tensors[2]) == np.einsum("mkg,kng->mng", a, a)).all()
    assert [grid for grid, *_ in counted.fake.launches] == [(1, 1, 1), (2, 1, 1), (2, 1, 1), (3, 1, 1)]


OWN_GRID = """
func @fill(%x: i32, %n: index, %A: memref<i32x?>)
        attributes {work_group_size=[32,1], subgroup_size=32, grid=[GRID]} {
    %g = group_id.x : index
    %size = size %A[0] : index
    %inside = less_than %g, %size : bool
    if %inside {
        store %x, %A[%g]
    }
}
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """The grids of the launches that went through the executor, thus through Python."""
    found: list[tuple[int, int, int]] = []
    as_it_is = CudaExecutor._call

    def noting(self: CudaExecutor, grid: tuple[int, int, int], *arguments: object) -> object:
        found.append(grid)
        return as_it_is(self, grid, *arguments)

    monkeypatch.setattr(CudaExecutor, "_call", noting)
    return found


@pytest.mark.parametrize(("grid", "alone"), [("size(%A, 0)", True), ("3", True), ("%n", False), ("min(%n, 3)", False)])
def test_a_kernel_is_machine_code(counted: Counted, calls: list[Any], grid: str, alone: bool) -> None:
    """Its own grid is known for arrays of a shape, unless it depends on numbers; those Python looks at."""
    launch = kernel(OWN_GRID.replace("GRID", grid))
    for number in range(6):
        data = counted.tensor([0, 0, 0], "int32")
        launch(number, 3, data)
        launch.synchronize()
        assert content(data).tolist() == [number] * 3
    assert counted.by_python == 2 and len(calls) == (2 if alone else 6)
    assert {one for one, *_ in counted.fake.launches} == {(3, 1, 1)}
    assert isinstance(launch._entry, BuiltinFunctionType)


def test_a_kernel_on_a_grid_is_machine_code(counted: Counted, calls: list[Any]) -> None:
    launch = kernel(OWN_GRID.replace("GRID", "1"))
    for number in range(6):
        data = counted.tensor([0, 0, 0], "int32")
        launch[2](number, 3, data)
        launch.synchronize()
        assert content(data).tolist() == [number, number, 0]
    assert calls == [(2, 1, 1)] * 2 and counted.by_python == 2
    # Another grid is another kernel, which learns of the machine code when it is called.
    for _ in range(3):
        launch[3](7, 3, counted.tensor([0, 0, 0], "int32"))
    assert calls == [*[(2, 1, 1)] * 2, (3, 1, 1)] and counted.by_python == 2
    assert counted.fake.launches[-1][0] == (3, 1, 1)


def test_what_a_kernel_in_machine_code_leaves_to_python(counted: Counted, calls: list[Any]) -> None:
    """Names, wrong arguments, other shapes; options make another kernel."""
    launch = kernel(OWN_GRID.replace("GRID", "size(%A, 0)"))
    for number in range(3):
        launch(number, 3, counted.tensor([0, 0, 0], "int32"))
    before, data = len(calls), counted.tensor([0, 0, 0], "int32")
    launch(9, A=data, n=3)
    launch.synchronize()
    assert content(data).tolist() == [9] * 3 and len(calls) == before + 1
    with pytest.raises(girih.LaunchError, match=r"bind\.count"):
        launch(1)
    with pytest.raises(girih.LaunchError, match=r"bind\.arguments"):
        launch(1, 2, B=data)
    with pytest.raises(girih.LaunchError, match=r"bind\.range"):
        launch(2**40, 3, counted.tensor([0, 0, 0], "int32"))
    longer = counted.tensor([0] * 5, "int32")
    launch(4, 3, longer)
    launch.synchronize()
    assert content(longer).tolist() == [4] * 5
    empty = counted.tensor([], "int32")
    launch(4, 3, empty)
    waited = counted.tensor([0, 0, 0], "int32")
    launch.options(synchronous=True)(6, 3, waited)
    assert content(waited).tolist() == [6] * 3
    copied = pickle.loads(pickle.dumps(launch))
    copied(8, 3, waited_for := counted.tensor([0, 0, 0], "int32"))
    copied.synchronize()
    assert content(waited_for).tolist() == [8] * 3
