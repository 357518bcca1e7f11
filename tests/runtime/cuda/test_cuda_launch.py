"""Launches on arrays of the host: what is copied, what comes back, what is found, and what is refused."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import girih
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.runtime.cuda import driver, variant
from tests.runtime.cuda.conftest import install
from tests.runtime.cuda.fake import CUresult, FakeDriver, FakeGpu

SCALE = """
func @scale(%factor: f32, %A: memref<f32x?,strided<?>>) attributes {work_group_size=[32,1], subgroup_size=32} {
    %zero = constant 0 : index
    %size = size %A[0] : index
    foreach (%i) = (%zero), (%size) {
        %a = load %A[%i] : f32
        %b = mul %factor, %a : f32
        store %b, %A[%i]
    }
}
"""
COPY = """
func @copy(%A: memref<i32x?>, %B: memref<i32x?>) attributes {work_group_size=[32,1], subgroup_size=32} {
    parallel {
        %i = subgroup_local_id : i32
        %k = cast %i : index
        %a = load %A[%k] : i32
        store %a, %B[%k]
    }
}
"""
GROUPS = """
func @first(%G: group<memref<i32x?>x?>, %out: memref<i32x?>) attributes {work_group_size=[32,1], subgroup_size=32} {
    %zero = constant 0 : index
    %n = size %G[0] : index
    foreach (%i) = (%zero), (%n) {
        %m = load %G[%i] : memref<i32x?>
        %there = associated %m : bool
        if %there {
            %x = load %m[%zero] : i32
            store %x, %out[%i]
        }
    }
}
"""
PLACES = """
func @places(%out: memref<i32x?x?x?>) attributes {work_group_size=[32,1], subgroup_size=32} {
    %x = group_id.x : index
    %y = group_id.y : index
    %z = group_id.z : index
    %nx = num_groups.x : index
    %p = mul %y, %nx : index
    %q = add %x, %p : index
    %n = cast %q : i32
    store %n, %out[%x,%y,%z]
}
"""


def kernel(text: str, target: str = "cuda", **words: Any) -> girih.Kernel:
    (found,) = girih.loads(text, target=target, **words).values()
    return found


def test_arrays_are_changed_in_place(fake: FakeDriver) -> None:
    data = np.arange(10, dtype=np.float32)
    kernel(SCALE)(0.5, data)
    assert data.tolist() == [k / 2 for k in range(10)]
    assert fake.allocated.total() < 10**6, "blocks are kept, and used again"


def test_what_lies_between_the_elements_stays(fake: FakeDriver) -> None:
    """The gaps of a strided array come back to nobody: another thread may have changed them meanwhile."""
    whole = np.arange(12, dtype=np.float32)
    launch = kernel(SCALE)

    def meanwhile() -> None:
        whole[1::3] = -1.0

    fake.streams[0].waiting.append(meanwhile)
    launch(2.0, whole[::3])
    assert whole.tolist() == [0, -1, 2, 6, -1, 5, 12, -1, 8, 18, -1, 11]


def test_what_is_only_read_does_not_come_back(fake: FakeDriver) -> None:
    a, b = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    fake.calls.clear()
    launch = kernel(COPY)
    launch(a, b)
    assert b.tolist() == a.tolist()
    assert fake.calls.count("cuMemcpyHtoDAsync") == 2 and fake.calls.count("cuMemcpyDtoHAsync") == 1


def test_arrays_that_overlap_overlap_there(fake: FakeDriver) -> None:
    """They are one region, and the variant that takes nothing for granted runs."""
    memory = np.arange(40, dtype=np.int32)
    launch = kernel(COPY)
    fake.calls.clear()
    launch(memory[:32], memory[4:36])
    assert memory.tolist() == [0, 1, 2, 3, *range(32), 36, 37, 38, 39]
    assert fake.calls.count("cuMemcpyHtoDAsync") == 1
    assert b".nc" not in fake.modules[-1]


def test_groups_are_tables_on_the_device(fake: FakeDriver) -> None:
    out = np.full(4, -1, np.int32)
    members = [np.array([7, 0], np.int32), None, np.array([9], np.int32), np.array([11, 1, 1], np.int32)]
    kernel(GROUPS)(members, out)
    assert out.tolist() == [7, -1, 9, 11]
    kernel(GROUPS)([], np.zeros(0, np.int32))


def test_null_memrefs_and_empty_arrays_are_told_apart(fake: FakeDriver) -> None:
    text = """func @there(%A: memref<i32x?>, %out: memref<i32>) {
      %a = associated %A : bool
      %no = constant 0 : i32
      %yes = constant 1 : i32
      %i = select %a, %yes, %no : i32
      store %i, %out[]
    }"""
    launch = kernel(text)
    found = []
    for array in (None, np.zeros(0, np.int32), np.zeros(1, np.int32)):
        out = np.full((), -1, np.int32)
        launch(array, out)
        found.append(int(out))
    assert found == [0, 1, 1]


def test_after_a_finding_arrays_are_as_they_were(fake: FakeDriver) -> None:
    text = COPY.replace("%A[%k]", "%A[%x]").replace("%a = load", "%x = add %k, %k : index\n        %a = load")
    words = {}
    for target in ("cuda", "interpreter"):
        a, b = np.arange(40, dtype=np.int32), np.zeros(32, np.int32)
        with pytest.raises(girih.KernelError) as caught:
            kernel(text, target)(a, b)
        (words[target],) = caught.value.findings
        assert not b.any()
    found, meant = words["cuda"], words["interpreter"]
    assert (found.code, str(found.span), found.argument) == (meant.code, str(meant.span), meant.argument)
    assert found.shape == meant.shape == (40,)
    assert found.message.split(":")[0] == meant.message.split(":")[0]
    assert found.work_group == (0, 0, 0) and found.subgroup == 0 and found.lane is not None
    assert found.index == (2 * found.lane,) and found.lane >= 20
    # The memory of the launch is given back, and the next one finds nothing.
    b = np.zeros(32, np.int32)
    kernel(COPY)(np.arange(32, dtype=np.int32), b)
    assert b.tolist() == list(range(32))


def test_without_checks_nothing_is_found(fake: FakeDriver) -> None:
    data = np.arange(8, dtype=np.float32)
    launch = kernel(SCALE, checks="off")
    launch(2.0, data)
    assert data[3] == 6.0 and b"girih_$_found" not in fake.modules[-1]


def test_prints_are_written_after_the_launch(fake: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    text = """func @p(%x: f32) attributes {work_group_size=[32,1], subgroup_size=32} {
      %g = group_id.x : index
      print "here", %g, %x
    }"""
    kernel(text)[3](1.5)
    assert capsys.readouterr().out == "(0,0,0): here 0 1.5\n(1,0,0): here 1 1.5\n(2,0,0): here 2 1.5\n"
    broken = text.replace("%x: f32", "%x: f32, %A: memref<i32x2>").replace("    }", "  %v = load %A[%g] : i32\n }")
    with pytest.raises(girih.KernelError):
        kernel(broken)[3](1.5, np.zeros(2, np.int32))
    assert "(0,0,0): here 0 1.5\n" in capsys.readouterr().out


# --- grids ---------------------------------------------------------------------------------------


def test_a_grid_with_a_zero_runs_nothing(fake: FakeDriver) -> None:
    data = np.ones(4, np.float32)
    kernel(SCALE)[3, 0, 2](5.0, data)
    assert data.tolist() == [1, 1, 1, 1] and fake.launches == []


@pytest.mark.parametrize("most", [65535, 2])
def test_grids_that_cuda_lacks_are_counted(fake: FakeDriver, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small limit in place of CUDA's, a small grid takes the way of one of 100,000 work-groups along z."""
    monkeypatch.setattr(variant, "MOST_YZ", most)
    monkeypatch.setattr(variant, "MOST_X", 7 if most == 2 else variant.MOST_X)
    out = np.full((2, 3, 2), -1, np.int32, order="F")
    launch = kernel(PLACES)
    launch[2, 3, 2](out)
    x, y, _ = np.indices(out.shape)
    assert (out == x + 2 * y).all()
    assert fake.launches[-1][0] == ((2, 3, 2) if most == 65535 else (6, 2, 1))


def test_the_grid_of_a_finding_is_the_launchs(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant, "MOST_YZ", 2)
    with pytest.raises(girih.KernelError) as caught:
        kernel(PLACES)[2, 3, 2](np.zeros((2, 3, 1), np.int32, order="F"))
    (found,) = caught.value.findings
    assert found.work_group is not None and found.work_group[2] == 1 and found.index == found.work_group


def test_more_work_groups_than_can_be_counted(fake: FakeDriver) -> None:
    most = 2**31 - 1
    assert variant.hardware_grid((most, 65535, 65535), CudaVariant()) == (most, 65535, 65535)
    assert variant.hardware_grid((2**16, 2**16, 2), CudaVariant(narrow=False)) == (-(-(2**33) // 5), 5, 1)
    assert 0 in (variant.hardware_grid((0, 70_000, 1), CudaVariant(narrow=False)) or ())
    kernel(SCALE)[0, 70_000, 1](1.0, np.ones(1, np.float32))
    assert not fake.launches, "nothing runs"
    with pytest.raises(girih.LaunchError, match=r"bind\.grid.*more work-groups than CUDA can count"):
        kernel(SCALE)[most, most, 1](1.0, np.ones(1, np.float32))


def test_sizes_beyond_32_bits_take_the_wide_variant(fake: FakeDriver) -> None:
    """A stride that no element shows may be any number."""
    text = "func @f(%n: index, %A: memref<i64>) { %k = cast %n : i64\n store %k, %A[] }"
    launch = kernel(text)
    for number in (5, -(2**31) + 1, 2**31, 2**40):
        out = np.zeros((), np.int64)
        launch(number, out)
        assert int(out) == number
    assert len(fake.modules) == 2, "one for each variant"


@pytest.mark.parametrize(("count", "version"), [(500, "8.0"), (600, "8.1")])
def test_many_parameters(fake: FakeDriver, count: int, version: str) -> None:
    listed = ", ".join(f"%a{k}: i32" for k in range(count))
    text = f"func @f({listed}, %A: memref<i32>) {{ store %a{count - 1}, %A[] }}"
    out = np.zeros((), np.int32)
    kernel(text)(*range(count), out)
    assert int(out) == count - 1 and f".version {version}\n" in kernel(text, "cuda:sm_80").ptx


def test_more_parameters_than_there_is_room_for() -> None:
    listed = ", ".join(f"%a{k}: i32" for k in range(4100))
    with pytest.raises(girih.CompileError, match=r"run\.target.*parameters of @f are 32832 bytes; .* room for 32764"):
        kernel(f"func @f({listed}) {{}}", "cuda:sm_90a")


# --- what is wrong with arguments ------------------------------------------------------------------


def test_wrong_arguments_are_refused_as_everywhere(fake: FakeDriver) -> None:
    words = {}
    for target in ("cuda", "interpreter"):
        with pytest.raises(girih.LaunchError) as caught:
            kernel(SCALE, target)(1.0, np.zeros(3))
        words[target] = str(caught.value)
    assert words["cuda"] == words["interpreter"] and "bind.dtype" in words["cuda"]
    assert fake.launches == []


def test_an_interrupt_comes_after_all_results(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(4, dtype=np.float32)
    launch = kernel(SCALE)
    seen: list[str] = []

    def interrupted(*given: Any) -> Any:
        seen.append("copied")
        if len(seen) == 1:
            raise KeyboardInterrupt
        return FakeDriver.cuMemcpyDtoHAsync(fake, *given)

    monkeypatch.setattr(fake, "cuMemcpyDtoHAsync", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        launch(2.0, data)
    assert data.tolist() == [0, 2, 4, 6] and len(seen) == 2


# --- devices ---------------------------------------------------------------------------------------


def test_a_target_names_its_device(two: FakeDriver) -> None:
    data = np.ones(4, np.float32)
    kernel(SCALE, "cuda:1")(3.0, data)
    assert data.tolist() == [3, 3, 3, 3]
    assert {home for home in two.homes.values() if home >= 0} == {1}
    assert two.stack == [], "the thread's current device is as it was"
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_device.*there is no GPU cuda:2; there is cuda:0, cuda:1"):
        kernel(SCALE, "cuda:2")(3.0, data)


def test_the_current_device_of_the_thread_is_taken(two: FakeDriver) -> None:
    two.stack.append(0xC1)
    kernel(SCALE)(3.0, np.ones(4, np.float32))
    assert {home for home in two.homes.values() if home >= 0} == {1}
    assert two.stack == [0xC1]


def test_code_for_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(FakeDriver(FakeGpu("an A100", (8, 0))), monkeypatch)
    data = np.ones(4, np.float32)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_architecture.*capability 8\.0; the code is for sm_90a"):
        kernel(SCALE, "cuda:sm_90a")(2.0, data)
    kernel(SCALE, "cuda:sm_80")(2.0, data)
    kernel(SCALE)(2.0, data)
    assert data.tolist() == [4, 4, 4, 4]


def test_a_gpu_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(FakeDriver(FakeGpu("a V100", (7, 0))), monkeypatch)
    launch = kernel(SCALE)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_architecture.*7\.0; code is for sm_80 and newer"):
        launch(2.0, np.ones(4, np.float32))


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (FakeGpu(threads=16, registers=255), "32 work-items of 255 registers each; .* has registers for 16"),
        (FakeGpu(shared_bytes=1000), "needs 4096 bytes of local memory; .* has 1000"),
    ],
)
def test_work_groups_that_are_too_large(gpu: FakeGpu, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func @f() attributes {work_group_size=[32,1], subgroup_size=32} {
      %m = alloca : memref<f32x1024,local>
      %one = constant 1.0 : f32
      %i = constant 3 : index
      store %one, %m[%i]
      %x = load %m[%i] : f32
    }"""
    install(FakeDriver(gpu), monkeypatch)
    with pytest.raises(girih.LaunchError, match=rf"bind\.cuda_resources.*{words}"):
        kernel(text)()


# --- failures --------------------------------------------------------------------------------------


def test_without_a_driver_kernels_load_and_do_not_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(FakeDriver(), monkeypatch)
    fake.failing["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    launch = kernel(SCALE)
    assert ".target sm_90a" in launch.ptx
    words = r"bind\.cuda_driver.*finds no GPU: CUDA_ERROR_NO_DEVICE(.|\n)*nvidia-smi"
    with pytest.raises(girih.LaunchError, match=words):
        launch(1.0, np.ones(1, np.float32))


def test_without_cuda_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    install(FakeDriver(), monkeypatch)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    words = r"bind\.cuda_driver.*cannot be imported(.|\n)*pip install girih\[cuda\]"
    with pytest.raises(girih.LaunchError, match=words):
        kernel(SCALE)(1.0, np.ones(1, np.float32))


def test_memory_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(FakeDriver(FakeGpu(memory_bytes=100_000)), monkeypatch)
    launch = kernel(SCALE)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_memory.*too little memory(.|\n)*nvidia-smi"):
        launch(1.0, np.ones(10**6, np.float32))
    data = np.ones(4000, np.float32)
    launch(2.0, data)
    # Blocks that are kept make room for a larger one.
    large = np.ones(12_000, np.float32)
    launch(2.0, large)
    assert data[-1] == large[-1] == 2.0 and fake.calls.count("cuMemFree")


def test_what_was_copied_before_a_fault_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks are given back, so that nothing may be under way that writes there."""
    fake = install(FakeDriver(FakeGpu(memory_bytes=60_000)), monkeypatch)
    # Arrays are copied in the order of their addresses: the one that there is room for lies first.
    memory = np.ones(102_000, np.int32)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_memory"):
        kernel(COPY)(memory[:1000], memory[2000:])
    assert fake.calls.count("cuMemcpyHtoDAsync") == 1
    assert not any(stream.waiting for stream in fake.streams.values())


def test_a_kernel_that_breaks_the_context(fake: FakeDriver) -> None:
    data = np.ones(4, np.float32)
    launch = kernel(SCALE)
    launch(1.0, data)
    fake.lost = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    for _ in range(2):
        with pytest.raises(girih.LaunchError, match=r"run\.cuda_lost.*the context is lost(.|\n)*begin a new process"):
            launch(2.0, data)
    assert data.tolist() == [1, 1, 1, 1]


def test_anything_else_that_the_driver_refuses(fake: FakeDriver) -> None:
    launch = kernel(SCALE)
    fake.failing["cuLaunchKernel"] = CUresult.CUDA_ERROR_INVALID_HANDLE
    words = r"run\.cuda_refused.*@scale: cuLaunchKernel: .*CUDA_ERROR_INVALID_HANDLE"
    with pytest.raises(girih.LaunchError, match=words):
        launch(2.0, np.ones(4, np.float32))
    fake.failing["cuLaunchKernel"] = CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_resources.*@scale"):
        launch(2.0, np.ones(4, np.float32))


def test_a_forked_child_launches_nothing(fake: FakeDriver) -> None:
    data = np.ones(4, np.float32)
    launch = kernel(SCALE)
    launch(2.0, data)
    child = os.fork()
    if not child:
        status = 1
        try:
            launch(2.0, data)
        except girih.LaunchError as error:
            status = 0 if error.diagnostics[0].code == "bind.cuda_fork" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    launch(2.0, data)
    assert data.tolist() == [4, 4, 4, 4]


def test_threads_may_open_the_driver_at_once(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    class Contended:
        """A lock that is taken when another thread, which had it first, has opened the driver."""

        def __enter__(self) -> None:
            driver._OPENED[os.getpid()] = fake

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(driver, "_LOCK", Contended())
    assert driver.driver() is fake


def test_options_are_checked(fake: FakeDriver) -> None:
    launch = kernel(SCALE)
    data = np.ones(2, np.float32)
    launch.options(synchronous=True)(3.0, data)
    assert data.tolist() == [3, 3]
    with pytest.raises(TypeError, match="synchronous is True or False; got 1"):
        launch.options(synchronous=1)
