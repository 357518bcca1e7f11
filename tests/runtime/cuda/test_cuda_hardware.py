"""What only a GPU can show: that the driver takes what the fake one takes, and that kernels run there."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from tests.runtime.cuda.test_cuda_launch import COPY, GROUPS, PLACES, SCALE, kernel
from tests.tile.programs import grouped

pytestmark = pytest.mark.cuda

BROKEN = COPY.replace("%A[%k]", "%A[%x]").replace("%a = load", "%x = add %k, %k : index\n        %a = load")


def torch() -> Any:
    found: Any = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return found


def test_arrays_of_the_host() -> None:
    whole = np.arange(3000, dtype=np.float32)
    kernel(SCALE)(2.0, whole[::3])
    meant = np.arange(3000, dtype=np.float32)
    meant[::3] *= 2
    assert (whole == meant).all()
    memory = np.arange(40, dtype=np.int32)
    kernel(COPY)(memory[:32], memory[4:36])
    assert memory[4] == 0 and memory[36:].tolist() == [36, 37, 38, 39]


def test_groups_nulls_and_empty_ones() -> None:
    out = np.full(4, -1, np.int32)
    members = [np.array([7, 0], np.int32), None, np.array([9], np.int32), np.array([11, 1, 1], np.int32)]
    kernel(GROUPS)(members, out)
    assert out.tolist() == [7, -1, 9, 11]
    kernel(GROUPS)([], np.zeros(0, np.int32))


@pytest.mark.parametrize("grid", [(3, 2, 2), (1, 1, 70_000), (2, 70_000, 1)])
def test_grids(grid: tuple[int, int, int]) -> None:
    out = np.full(grid, -1, np.int32, order="F")
    kernel(PLACES)[grid](out)
    x, y, _ = np.indices(grid, np.int32)
    assert (out == x + grid[0] * y).all()


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = """func @p(%x: f32) attributes {work_group_size=[32,1], subgroup_size=32} {
      %g = group_id.x : index
      print "here", %g, %x
    }"""
    kernel(text)[3](1.5)
    assert capsys.readouterr().out == "(0,0,0): here 0 1.5\n(1,0,0): here 1 1.5\n(2,0,0): here 2 1.5\n"


def test_findings_leave_the_context_usable() -> None:
    a, b = np.arange(40, dtype=np.int32), np.zeros(32, np.int32)
    for _ in range(3):
        with pytest.raises(girih.KernelError) as caught:
            kernel(BROKEN)[1000](a, b)
        (found,) = caught.value.findings
        assert found.code == "run.out_of_bounds" and found.shape == (40,) and found.index == (2 * (found.lane or 0),)
        assert not b.any()
    kernel(COPY)(a, b)
    assert b.tolist() == list(range(32))


def test_memory_that_there_is_not() -> None:
    from girih.runtime.cuda.device import opened
    from girih.runtime.cuda.driver import call

    device = opened(0)
    with device.current():
        free, _ = call("cuMemGetInfo")
    huge = np.empty(int(free) // 4 + 2**28, np.float32)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_memory"):
        kernel(SCALE)(1.0, huge)
    data = np.ones(4, np.float32)
    kernel(SCALE)(2.0, data)
    assert data.tolist() == [2, 2, 2, 2]


# --- torch ---------------------------------------------------------------------------------------


def test_tensors_are_used_as_they_are() -> None:
    t = torch()
    data = t.arange(1000, dtype=t.float32, device="cuda")
    launch = kernel(SCALE)
    with t.cuda.stream(t.cuda.Stream()):
        launch(0.5, data)
        data += 1
    t.cuda.synchronize()
    assert t.equal(data.cpu(), t.arange(1000, dtype=t.float32) * 0.5 + 1)
    launch.synchronize()
    for dtype in (t.bfloat16, t.float8_e4m3fn):
        name = {t.bfloat16: "bf16", t.float8_e4m3fn: "f8e4m3"}[dtype]
        text = f"func @f(%A: memref<{name}x?>) {{ %i = constant 1 : index\n%j = constant 0 : index\n" \
               f"%x = load %A[%i] : {name}\n store %x, %A[%j] }}"  # fmt: skip
        tensor = t.tensor([1.0, 2.0, 3.0], device="cuda").to(dtype)
        kernel(text)(tensor)
        assert tensor.float().tolist() == [2, 2, 3]


def test_findings_of_tensors() -> None:
    t = torch()
    a, b = t.arange(32, dtype=t.int32, device="cuda"), t.zeros(32, dtype=t.int32, device="cuda")
    launch = kernel(BROKEN)
    launch[100](a, b)
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        launch.synchronize()
    launch[100](a, b)
    t.cuda.synchronize()
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        kernel(COPY)(a, b)
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        launch.options(synchronous=True)(a, b)
    assert int((a + 1).sum()) == 32 * 31 // 2 + 32, "torch goes on"


def test_cuda_graphs() -> None:
    t = torch()
    data, out = t.ones(1000, device="cuda"), t.zeros(2, dtype=t.int32, device="cuda")
    members = [t.tensor([k], dtype=t.int32, device="cuda") for k in (5, 6)]
    launch, groups = kernel(SCALE), kernel(GROUPS)
    graph = t.cuda.CUDAGraph()
    with t.cuda.graph(graph):
        launch(2.0, data)
        groups(members, out)
        with pytest.raises(girih.LaunchError, match=r"bind\.cuda_capture"):
            launch(2.0, np.ones(3, np.float32))
    for _ in range(3):
        graph.replay()
    t.cuda.synchronize()
    assert (data == 8).all() and out.tolist() == [5, 6]
    launch.synchronize()


def test_other_threads_launch_while_one_captures() -> None:
    """Nothing that they allocate, load, copy or wait for ends the capture."""
    t = torch()
    data, graph, host = t.ones(1000, device="cuda"), t.cuda.CUDAGraph(), np.ones(100_000, np.float32)
    found: list[object] = []

    def run() -> None:
        with t.cuda.stream(t.cuda.Stream()):
            other = kernel(SCALE.replace("@scale", "@other"))
            other(3.0, host)
            other.options(synchronous=True)(3.0, tensor)
            found.append((host == 3).all() and bool(np.isfinite(host).all()))

    tensor, launch = t.ones(10, device="cuda"), kernel(SCALE)
    launch(1.0, data)
    t.cuda.synchronize()
    with t.cuda.graph(graph):
        launch(2.0, data)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        launch(2.0, data)
    graph.replay()
    t.cuda.synchronize()
    assert found == [True] and (data == 4).all() and (tensor == 3).all()


def test_a_group_of_many_tensors() -> None:
    t = torch()
    count = 1024
    launch, whole = kernel(GROUPS), t.arange(count, dtype=t.int32, device="cuda")
    group, members = girih.Group(whole.split(1)), list(whole.split(1))
    for number in range(40):
        out = t.zeros(count, dtype=t.int32, device="cuda")
        launch(group if number % 2 else members, out)
        assert t.equal(out, whole)
        whole += 1


def _whole(*shape: int) -> Any:
    """A matrix of bf16 whose products are exact."""
    found = np.random.default_rng(shape).integers(-2, 3, shape)
    return np.asfortranarray(found.astype(ml_dtypes.bfloat16))


def _product(a: Any, b: Any) -> Any:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("sizes", [(64, 64, 16384), (72, 128, 12288), (70, 33, 8191), (129, 101, 77)])
def test_products_with_few_tiles(sizes: tuple[int, int, int]) -> None:
    """The depth is shared out, or lines are copied by a kernel, or both; the same result again and again."""
    m, n, k = sizes
    a, b, c = _whole(m, k), _whole(k, n), np.zeros((m, n), ml_dtypes.bfloat16, order="F")
    launch = girih.kernels.gemm_work_group(type="bf16", target="cuda")
    for _ in range(20):
        c[...] = 0
        launch(a, b, c)
        assert np.array_equal(c, _product(a, b))


def test_products_of_groups() -> None:
    sizes = ((72, 33, 130), (5, 7, 64), (300, 200, 100))
    a, b = [_whole(m, k) for m, _, k in sizes], [_whole(k, n) for _, n, k in sizes]
    c = [np.zeros((m, n), ml_dtypes.bfloat16, order="F") for m, n, _ in sizes]
    launch = girih.loads(grouped(), "cuda")["product"]
    launch[5, 4, 3](a, b, c)
    for left, right, found in zip(a, b, c, strict=True):
        assert np.array_equal(found, _product(left, right))
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        launch[1, 1, 4](a, b, c)


def test_tensors_that_are_refused() -> None:
    t = torch()
    with pytest.raises(girih.LaunchError, match=r"bind\.type.*requires a gradient"):
        kernel(SCALE)(1.0, t.ones(3, device="cuda", requires_grad=True))
    with pytest.raises(girih.LaunchError, match=r"bind\.device.*lies on a device"):
        kernel(SCALE, "cpu")(1.0, t.ones(3, device="cuda"))


def test_two_gpus() -> None:
    t = torch()
    if t.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    data = t.ones(8, device="cuda:1")
    kernel(SCALE)(3.0, data)
    kernel(SCALE, "cuda:1")(3.0, data)
    assert data.tolist() == [9.0] * 8
    with pytest.raises(girih.LaunchError, match=r"bind\.device"):
        kernel(SCALE, "cuda:0")(3.0, data)


# --- CuPy and JAX --------------------------------------------------------------------------------


def test_arrays_of_cupy() -> None:
    cupy: Any = pytest.importorskip("cupy")
    data = cupy.arange(100, dtype=cupy.float32)
    with cupy.cuda.Stream(non_blocking=True):
        kernel(SCALE)(2.0, data)
        data += 1
        assert (data.get() == np.arange(100, dtype=np.float32) * 2 + 1).all()
    launch, again = kernel(COPY), cupy.zeros(32, dtype=cupy.int32)
    for number in range(40):
        data = cupy.arange(number, number + 32, dtype=cupy.int32)
        for out in (again, cupy.zeros(32, dtype=cupy.int32)):
            launch(data, out)
            assert (out == data).all()


def test_arrays_of_jax() -> None:
    jax: Any = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    a = jax.numpy.arange(32, dtype=jax.numpy.int32)
    b = np.zeros(32, np.int32)
    kernel(COPY)(a, b)
    assert b.tolist() == list(range(32))
    with pytest.raises(girih.LaunchError, match=r"bind\.read_only"):
        kernel(COPY)(a, a)
    t, launch = torch(), kernel(COPY)
    for number in range(40):
        out = t.zeros(32, dtype=t.int32, device="cuda")
        for given in (a, a + number):
            launch(given, out)
            assert out.tolist() == given.tolist()
    a.delete()
    with pytest.raises(girih.LaunchError, match=r"bind\.type"):
        launch(a, out)
