"""Launches on arrays of a GPU: without copies, on their stream, without waiting; and what is found there later."""

from __future__ import annotations

import sys
import threading
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.arguments import devices
from girih.runtime.cuda import streams
from tests.runtime.cuda.arrays import ByDlpack, ByInterface, GpuMemory, Tensor, TorchType, torch_module
from tests.runtime.cuda.fake import CUresult, FakeDriver
from tests.runtime.cuda.test_cuda_launch import COPY, GROUPS, SCALE, kernel

BROKEN = COPY.replace("%A[%k]", "%A[%x]").replace("%a = load", "%x = add %k, %k : index\n        %a = load")
NOT_IN_A_GRAPH = {"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuStreamSynchronize", "cuCtxSynchronize",
                  "cuModuleLoadData", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemsetD8Async"}  # fmt: skip


def numbers(fake: FakeDriver, count: int = 32, kind: type[GpuMemory] = ByDlpack, **words: Any) -> Any:
    return kind(fake, np.arange(count, dtype=np.int32), **words)


@pytest.mark.parametrize("versioned", [True, False])
def test_arrays_with_dlpack_are_used_as_they_are(fake: FakeDriver, versioned: bool) -> None:
    a, b = numbers(fake, versioned=versioned), ByDlpack(fake, np.zeros(32, np.int32), versioned=versioned)
    launch = kernel(COPY)
    launch(a, b)
    assert not b.content.any(), "the call has not waited"
    assert not {"cuMemcpyHtoDAsync", "cuStreamSynchronize"} & set(fake.calls)
    launch.synchronize()
    assert b.content.tolist() == list(range(32))
    assert a.streams == [1], "DLPack's number of the default stream"


def test_arrays_with_an_interface_are_used_as_they_are(fake: FakeDriver) -> None:
    data = ByInterface(fake, np.arange(8, dtype=np.float32))
    launch = kernel(SCALE)
    launch(0.5, data)
    launch.synchronize()
    assert data.content.tolist() == [k / 2 for k in range(8)]


def test_work_on_the_stream_that_an_interface_names_comes_first(fake: FakeDriver) -> None:
    data, stream = ByInterface(fake, np.ones(4, np.float32)), fake.stream()
    data.stream = stream
    launch, three = kernel(SCALE), np.full(4, 3, np.float32)
    fake.cuMemcpyHtoDAsync(data.address, int(three.ctypes.data), three.nbytes, stream)
    launch(2.0, data)
    assert fake.launches[-1][2] == 0 and "cuStreamSynchronize" not in fake.calls, "the call has not waited"
    launch.synchronize()
    assert data.content.tolist() == [6, 6, 6, 6] and not fake.events
    data.stream = 0
    fake.calls.clear()
    launch(2.0, data)
    assert not {"cuEventCreate", "cuStreamWaitEvent"} & set(fake.calls), "it is the stream of the launch"


def test_a_graph_has_no_work_of_another_stream(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    data = ByInterface(fake, np.ones(4, np.float32))
    data.stream = fake.stream()
    fake.begin_capture(torch.chosen.stream)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_capture"):
        kernel(SCALE)(2.0, data)
    fake.end_capture(torch.chosen.stream)
    assert fake.launches == [] and not fake.events


@pytest.mark.parametrize("order", ["C", "F"])
def test_strides_and_orders(fake: FakeDriver, order: Any) -> None:
    text = """func @f(%A: memref<f32x?x?>) attributes {work_group_size=[32,1], subgroup_size=32} {
      %i = constant 1 : index
      %j = constant 2 : index
      %x = constant 7.0 : f32
      store %x, %A[%i,%j]
    }"""
    launch = kernel(text, order=order)
    data = ByDlpack(fake, np.zeros((3, 4), np.float32, order=order))
    launch(data)
    launch.synchronize()
    assert data.content[(2, 1) if order == "C" else (1, 2)] == 7.0
    with pytest.raises(girih.LaunchError, match=r"bind\.(stride|layout)"):
        launch(ByDlpack(fake, np.zeros((3, 4), np.float32, order="F" if order == "C" else "C")))


@pytest.mark.parametrize("type", ["bf16", "f8e4m3", "f8e5m2", "f16", "f64", "c32", "i8", "i64"])
def test_types(fake: FakeDriver, type: str) -> None:
    dtype: Any = {
        "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
        "f16": np.float16, "f64": np.float64, "c32": np.complex64, "i8": np.int8, "i64": np.int64,
    }[type]  # fmt: skip
    text = f"func @f(%A: memref<{type}x?>) {{ %i = constant 1 : index %j = constant 0 : index\n" \
           f"%x = load %A[%i] : {type}\n store %x, %A[%j] }}"  # fmt: skip
    launch = kernel(text.replace("index %j", "index\n%j"))
    data = ByDlpack(fake, np.array([1, 2, 3]).astype(dtype))
    launch(data)
    launch.synchronize()
    assert data.content.astype(complex).tolist() == [2, 2, 3]
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype"):
        launch(ByDlpack(fake, np.zeros(3, np.uint16)))


def test_groups_of_arrays_of_the_device_have_a_table_that_stays(fake: FakeDriver) -> None:
    members = [numbers(fake, 2), None, ByDlpack(fake, np.array([9], np.int32))]
    out = ByDlpack(fake, np.full(3, -1, np.int32))
    launch = kernel(GROUPS)
    launch(members, out)
    launch.synchronize()
    assert out.content.tolist() == [0, -1, 9]
    fake.calls.clear()
    launch(members, out)
    assert not NOT_IN_A_GRAPH & set(fake.calls), "the table is known"


def test_members_behind_an_offset(fake: FakeDriver) -> None:
    """Where each memref begins in its member follows from descriptions, without a look at the memory."""
    text = GROUPS.replace("x?>, %out", "x?,offset:?>, %out")
    out = ByDlpack(fake, np.full(2, -1, np.int32))
    launch = kernel(text)
    launch(girih.Group([numbers(fake, 8), ByDlpack(fake, np.arange(20, 30, dtype=np.int32))], offset=3), out)
    launch.synchronize()
    assert out.content.tolist() == [3, 23]
    with pytest.raises(girih.LaunchError, match=r"bind\.group_memory"):
        launch(girih.Group([numbers(fake, 2), numbers(fake, 9)], offset=3), out)


def test_host_and_device_together_are_waited_for(fake: FakeDriver) -> None:
    a, b = numbers(fake), np.zeros(32, np.int32)
    kernel(COPY)(a, b)
    assert b.tolist() == list(range(32))
    assert fake.calls.count("cuMemcpyHtoDAsync") == 1


def test_empty_and_null_ones(fake: FakeDriver) -> None:
    text = """func @there(%A: memref<i32x?>, %out: memref<i32>) {
      %a = associated %A : bool
      %no = constant 0 : i32
      %yes = constant 1 : i32
      %i = select %a, %yes, %no : i32
      store %i, %out[]
    }"""
    launch, found = kernel(text), []
    for array in (None, ByDlpack(fake, np.zeros(0, np.int32)), numbers(fake, 1)):
        out = ByDlpack(fake, np.full((), -1, np.int32))
        launch(array, out)
        launch.synchronize()
        found.append(int(out.content))
    assert found == [0, 1, 1]


def test_the_grid_of_its_own_reads_sizes_of_the_device(fake: FakeDriver) -> None:
    launch = kernel(COPY.replace("subgroup_size=32}", "subgroup_size=32, grid=[size(%B, 0)]}"))
    a, b = numbers(fake, 40), ByDlpack(fake, np.zeros(33, np.int32))
    launch(a, b)
    assert fake.launches[-1][0] == (33, 1, 1) == launch.grid_for(a, b)


# --- streams and devices -----------------------------------------------------------------------


def test_tensors_of_torch_are_on_its_current_stream(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    a, b = (Tensor(fake, np.full(32, k, np.int32)) for k in (5, 0))
    a.dtype = b.dtype = TorchType("int32")  # type: ignore[assignment]
    launch = kernel(COPY)
    launch(a, b)
    torch.chosen.stream = fake.stream()
    launch(a, b)
    (_, _, first), (_, _, second) = fake.launches
    assert first != second == torch.chosen.stream
    launch.synchronize()
    b.dtype = np.dtype(np.int32)
    assert (b.content == 5).all()


@pytest.mark.parametrize(
    ("name", "numpy"),
    [("bfloat16", ml_dtypes.bfloat16), ("float8_e4m3fn", ml_dtypes.float8_e4m3fn), ("bool", np.bool_),
     ("complex64", np.complex64)],
)  # fmt: skip
def test_types_of_torch(fake: FakeDriver, name: str, numpy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from girih.arguments.devices import _torch_dtype

    assert _torch_dtype(TorchType(name)) == np.dtype(numpy)


@pytest.mark.parametrize(
    ("flaw", "words"),
    [
        ("requires_grad", r"bind\.type.*requires a gradient.*\.detach\(\)"),
        ("conjugated", r"bind\.type.*conjugated.*resolve_conj"),
        ("freed", r"bind\.type.*it has no memory, perhaps no longer"),
    ],
)
def test_tensors_that_no_kernel_can_take(
    fake: FakeDriver, flaw: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_module(fake))
    data = Tensor(fake, np.zeros(4, np.float32))
    data.dtype = TorchType("float32")  # type: ignore[assignment]
    setattr(data, flaw, True)
    with pytest.raises(girih.LaunchError, match=words):
        kernel(SCALE)(1.0, data)


def test_arrays_of_cupy_are_on_its_current_stream(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = fake.stream()
    cupy: Any = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(get_current_stream=lambda number: SimpleNamespace(ptr=stream))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    of_cupy = type("ndarray", (ByDlpack,), {"__module__": "cupy"})
    data = of_cupy(fake, np.ones(4, np.float32))
    kernel(SCALE)(2.0, data)
    assert fake.launches[-1][2] == stream and data.streams == [stream]
    kernel(SCALE)(2.0, ByDlpack(fake, np.ones(4, np.float32)))
    assert fake.launches[-1][2] == 0


def test_arrays_of_jax_never_change(fake: FakeDriver) -> None:
    of_jax = type("ArrayImpl", (ByDlpack,), {"__module__": "jaxlib._jax"})
    a, b = (of_jax(fake, np.ones(32, np.int32), versioned=False) for _ in range(2))
    with pytest.raises(girih.LaunchError, match=r"bind\.read_only.*%B: the kernel writes to it"):
        kernel(COPY)(a, b)


def test_read_only_arrays_are_not_written(fake: FakeDriver) -> None:
    with pytest.raises(girih.LaunchError, match=r"bind\.read_only"):
        kernel(COPY)(numbers(fake), numbers(fake, read_only=True))
    kernel(COPY)(numbers(fake, read_only=True), numbers(fake))


def test_the_launch_goes_where_the_arrays_are(two: FakeDriver) -> None:
    a, b = numbers(two, device=1), numbers(two, device=1)
    launch = kernel(COPY)
    launch(a, b)
    launch.synchronize()
    assert len(two.modules) == 1
    with pytest.raises(girih.LaunchError) as caught:
        kernel(COPY, "cuda:0")(a, numbers(two))
    (told,) = caught.value.diagnostics
    assert told.code == "bind.device" and "lies on cuda:1; the launch is on cuda:0" in told.message
    assert told.hint == "move the array to cuda:0, or load the program for target='cuda:1'"
    with pytest.raises(girih.LaunchError, match=r"bind\.device.*%B: ByDlpack lies on cuda:1; the launch is on cuda:0"):
        launch(numbers(two), b)


def test_the_host_alone_does_not_reach_them(fake: FakeDriver) -> None:
    for target in ("cpu", "interpreter"):
        with pytest.raises(girih.LaunchError, match=r"bind\.device.*lies on a device"):
            kernel(COPY, target)(numbers(fake), numbers(fake))


def test_arrays_that_are_gone(fake: FakeDriver) -> None:
    with pytest.raises(girih.LaunchError, match=r"bind\.type.*access to its memory: the array has been deleted"):
        kernel(COPY)(numbers(fake, deleted=True), numbers(fake))
    freed, other = numbers(fake), numbers(fake)
    fake.free(freed.address)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_freed.*argument 1, %A: the memory at its address is not"):
        kernel(COPY)(freed, other)
    assert fake.launches == []


# --- findings ----------------------------------------------------------------------------------


def test_a_finding_is_raised_at_the_next_launch_on_its_stream(fake: FakeDriver) -> None:
    a, b = numbers(fake), numbers(fake)
    launch, other = kernel(BROKEN), kernel(SCALE)
    launch[3](a, b)
    fake.cuStreamSynchronize(0)
    data = ByDlpack(fake, np.ones(4, np.float32))
    with pytest.raises(girih.KernelError) as caught:
        other(2.0, data)
    (found,) = caught.value.findings
    assert caught.value.__notes__ == ["An earlier launch on this stream has left this; @scale was not launched."]
    assert found.code == "run.out_of_bounds" and found.argument == "A" and found.shape == (32,)
    assert found.span.line == 7 and found.work_group == (0, 0, 0)
    other(2.0, data)
    other.synchronize()
    assert data.content.tolist() == [2, 2, 2, 2], "the launch that raised did not run, the next one did"
    launch.synchronize()


def test_findings_wait_for_their_own_stream(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    broken, fine = kernel(BROKEN), kernel(COPY)
    first = torch.chosen.stream
    broken(numbers(fake), numbers(fake))
    fake.cuStreamSynchronize(first)
    torch.chosen.stream = fake.stream()
    fine(numbers(fake), numbers(fake))
    torch.chosen.stream = first
    with pytest.raises(girih.KernelError):
        fine(numbers(fake), numbers(fake))


def test_synchronize_raises_what_was_found(fake: FakeDriver) -> None:
    launch = kernel(BROKEN)
    launch[2, 2](numbers(fake), numbers(fake))
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        launch.synchronize()
    launch.synchronize()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_synchronous_launches_raise_at_once(fake: FakeDriver, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "environment":
        monkeypatch.setenv("GIRIH_SYNCHRONOUS", "1")
    launch = kernel(BROKEN)
    if how == "option":
        launch = launch.options(synchronous=True)
    with pytest.raises(girih.KernelError):
        launch(numbers(fake), numbers(fake))
    launch.options(synchronous=False)(numbers(fake), numbers(fake))


def test_what_nobody_asked_for_is_a_warning_at_the_end(fake: FakeDriver) -> None:
    kernel(BROKEN)(numbers(fake), numbers(fake))
    with pytest.warns(streams.CudaFindingWarning, match=r"(?s)1 finding that nobody looked at.*run\.out_of_bounds"):
        streams._warn_of_unseen()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streams._warn_of_unseen()
    # A driver that is gone already says nothing.
    kernel(BROKEN)(numbers(fake), numbers(fake))
    fake.cuCtxPushCurrent(0xC0)
    fake.cuStreamSynchronize(0)
    fake.lost = CUresult.CUDA_ERROR_LAUNCH_FAILED
    with pytest.warns(streams.CudaFindingWarning):
        streams._warn_of_unseen()


def test_a_launch_that_waits_has_a_record_of_its_own(fake: FakeDriver) -> None:
    launch = kernel(BROKEN)
    data = np.zeros(32, np.int32)
    for _ in range(3):
        with pytest.raises(girih.KernelError):
            launch(np.arange(32, dtype=np.int32), data)
    kernel(COPY)(numbers(fake), numbers(fake))


def test_threads_launch_at_once(fake: FakeDriver) -> None:
    launch, failures = kernel(SCALE), []

    def work(number: int) -> None:
        try:
            data = np.full(8, number, np.float32)
            for _ in range(3):
                launch(2.0, data)
            assert (data == 8 * number).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(fake.modules) == 1, "it is loaded once"


# --- CUDA graphs -------------------------------------------------------------------------------


def test_a_graph_has_launches_on_arrays_of_the_device(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    stream = torch.chosen.stream
    data = ByDlpack(fake, np.ones(4, np.float32))
    members, out = [numbers(fake, 1)], numbers(fake, 1)
    launch, groups = kernel(SCALE), kernel(GROUPS)
    launch(2.0, data)
    groups(members, out)
    fake.cuStreamSynchronize(stream)
    fake.begin_capture(stream)
    fake.calls.clear()
    launch(2.0, data)
    groups(members, out)
    assert not NOT_IN_A_GRAPH & set(fake.calls)
    graph = fake.end_capture(stream)
    assert data.content.tolist() == [2, 2, 2, 2]
    for _ in range(2):
        graph()
    launch.synchronize()
    assert data.content.tolist() == [8, 8, 8, 8]


def test_a_first_launch_may_be_captured(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is allocated then is none of the graph's, and the thread says so."""
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    members, out = [numbers(fake, 1)], ByDlpack(fake, np.full(1, -1, np.int32))
    fake.begin_capture(torch.chosen.stream)
    launch = kernel(GROUPS)
    launch(members, out)
    fake.end_capture(torch.chosen.stream)()
    launch.synchronize()
    assert out.content.tolist() == [0]


@pytest.mark.parametrize(
    ("what", "words"),
    [("host", "copies arrays of the host"), ("synchronous", "is waited for"), ("print", "prints")],
)
def test_a_graph_has_no_launch_that_waits(fake: FakeDriver, what: str, words: str) -> None:
    data = np.ones(4, np.float32) if what == "host" else ByDlpack(fake, np.ones(4, np.float32))
    text = SCALE.replace("    %zero", '    print "here"\n    %zero') if what == "print" else SCALE
    launch = kernel(text).options(synchronous=True) if what == "synchronous" else kernel(text)
    # The default stream waits for the one that is captured.
    for stream in (fake.stream(), 0):
        fake.begin_capture(stream)
        with pytest.raises(girih.LaunchError, match=rf"bind\.cuda_capture.*{words}"):
            launch(2.0, data)
        fake.end_capture(stream)


def test_waiting_during_a_capture_is_refused(fake: FakeDriver) -> None:
    launch = kernel(SCALE)
    launch(2.0, ByDlpack(fake, np.ones(4, np.float32)))
    fake.begin_capture(0)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_capture"):
        launch.synchronize()


def test_other_threads_launch_while_one_captures(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the driver's usual mode a capture forbids all threads to allocate, unless they say that they know."""
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    fake.begin_capture(torch.chosen.stream)
    torch.chosen.stream = fake.stream()
    host, device = np.ones(4, np.float32), ByDlpack(fake, np.ones(4, np.float32))
    groups, out = kernel(GROUPS), ByDlpack(fake, np.full(1, -1, np.int32))
    found: list[object] = []

    def run() -> None:
        fake.stack.append(0xC0)
        launch = kernel(SCALE)
        launch(2.0, host)
        launch.options(synchronous=True)(3.0, device)
        groups([numbers(fake, 1)], out)
        groups.synchronize()
        found.extend([host.tolist(), device.content.tolist(), out.content.tolist()])

    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found == [[2] * 4, [3] * 4, [0]]
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_capture(.|\n)*not the default stream"):
        torch.chosen.stream = 0
        kernel(SCALE)(2.0, host)


def test_managed_memory_is_the_devices(fake: FakeDriver) -> None:
    """It is not copied, and the launch is not waited for."""
    data = ByDlpack(fake, np.ones(4, np.float32), kind=devices.MANAGED)
    launch = kernel(SCALE)
    launch(2.0, data)
    assert data.content.tolist() == [1] * 4 and "cuMemcpyHtoDAsync" not in fake.calls
    launch.synchronize()
    assert data.content.tolist() == [2] * 4


def test_findings_of_a_graph_are_told(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    a, b, launch = numbers(fake), numbers(fake), kernel(BROKEN)
    fake.begin_capture(torch.chosen.stream)
    launch(a, b)
    graph = fake.end_capture(torch.chosen.stream)
    for _ in range(2):
        graph()
        with pytest.raises(girih.KernelError):
            launch.synchronize()
