"""Corners that only a GPU can show: threads that leave, orders of memory, limits, streams, forks, a lost context."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from threading import Thread
from typing import Any

import numpy as np
import pytest

import girih
from girih.runtime.cuda.code import assembler
from tests.runtime.cuda.test_cuda_hardware import BROKEN, torch
from tests.runtime.cuda.test_cuda_launch import SCALE, kernel

pytestmark = pytest.mark.cuda

# --- threads that leave --------------------------------------------------------------------------

AFTER = {
    "barrier": "barrier.global.local\n%r = add %a, %zero : i32",
    "reduce": "%r = subgroup_reduce_add %a : i32",
    "scan": "%r = subgroup_inclusive_scan_max %a : i32",
    "float": "%f = cast %a : f32\n%g = subgroup_reduce_add %f : f32\n%r = cast %g : i32",
    "broadcast": "%r = subgroup_broadcast %a, %zero : i32",
    "matrix": """%p = cooperative_matrix_load %M[%none,%none] : coopmatrix<f16x32x32,matrix_a>
            %q = cooperative_matrix_load %M[%none,%none] : coopmatrix<f16x32x32,matrix_b>
            %c = cooperative_matrix_load %N[%none,%none] : coopmatrix<f32x32x32,matrix_acc>
            %d = cooperative_matrix_mul_add %p, %q, %c : coopmatrix<f32x32x32,matrix_acc>
            %e = cooperative_matrix_reduce_max.row %d : coopmatrix<f32x32x1,matrix_acc>
            cooperative_matrix_store %d, %N[%none,%none]
            %r = add %a, %zero : i32""",
    "local": """store %a, %L[%own]
            barrier.local
            %r = load %L[%none] : i32""",
}


def leaving(after: str, threads: int, subgroup: int) -> str:
    """Each work-item reads an element, does what follows, and writes; those whose element is not there leave."""
    return f"""func @leaving(%A: memref<i32x?>, %B: memref<i32x?>, %M: memref<f16x32x32>, %N: memref<f32x32x32>,
            %step: index) attributes {{work_group_size=[{threads},1], subgroup_size={subgroup}}} {{
        %L = alloca : memref<i32x{threads},local>
        parallel {{
            %zero = constant 0 : i32
            %none = constant 0 : index
            %lane = subgroup_local_id : i32
            %number = subgroup_linear_id : i32
            %length = subgroup_size : i32
            %first = mul %number, %length : i32
            %k = add %first, %lane : i32
            %own = cast %k : index
            %i = mul %own, %step : index
            %a = load %A[%i] : i32
            {AFTER[after]}
            store %r, %B[%own]
        }}
    }}"""


@pytest.mark.parametrize("threads", [8, 16, 32, 96, 256, 1024])
@pytest.mark.parametrize("after", AFTER)
def test_threads_that_leave_stop_nobody(after: str, threads: int) -> None:
    subgroup = min(threads, 32)
    launch = kernel(leaving(after, threads, subgroup))
    a, b = np.arange(threads, dtype=np.int32), np.zeros(threads, np.int32)
    m, n = (np.zeros((32, 32), type, order="F") for type in (np.float16, np.float32))
    for step in (2, threads, 3):
        with pytest.raises(girih.KernelError) as caught:
            launch[2000](a, b, m, n, step)
        (found,) = caught.value.findings
        at = subgroup * (found.subgroup or 0) + (found.lane or 0)
        assert found.code == "run.out_of_bounds" and found.index == (step * at,) and step * at >= threads
        assert not b.any(), "the arrays of the host are as they were"
    launch(a, b, m, n, 1)
    if after in ("barrier", "matrix", "scan"):
        assert (b == a).all()
    elif after in ("reduce", "float"):
        assert b.tolist() == np.repeat(a.reshape(-1, subgroup).sum(axis=1), subgroup).tolist()
    elif after == "broadcast":
        assert (b == a // subgroup * subgroup).all()
    else:
        assert not b.any()


# --- orders of memory ----------------------------------------------------------------------------


def test_sequentially_consistent_stores_are_seen_by_one_of_two() -> None:
    """Of two groups that each store a number and then load the other's, one sees the other (store buffering)."""
    text = """func @two(%X: memref<i32x?>, %Y: memref<i32x?>, %R: memref<i32x?x?>)
        attributes {work_group_size=[32,1], subgroup_size=32} {
        %g = group_id.x : index
        %two = constant 2 : index
        %pair = div %g, %two : index
        %side = rem %g, %two : index
        %none = constant 0 : index
        %first = equal %side, %none : bool
        parallel {
            %one = constant 1 : i32
            %lane = subgroup_local_id : i32
            %l = cast %lane : index
            %length = constant 32 : index
            %start = mul %pair, %length : index
            %k = add %start, %l : index
            if %first {
                atomic_store.device.sequentially_consistent %one, %X[%k]
                %y = atomic_load.device.sequentially_consistent %Y[%k] : i32
                store %y, %R[%k,%none]
            } else {
                %other = constant 1 : index
                atomic_store.device.sequentially_consistent %one, %Y[%k]
                %x = atomic_load.device.sequentially_consistent %X[%k] : i32
                store %x, %R[%k,%other]
            }
        }
    }"""
    pairs = 4096
    launch = kernel(text)
    for _ in range(5):
        x, y = np.zeros(32 * pairs, np.int32), np.zeros(32 * pairs, np.int32)
        seen = np.full((32 * pairs, 2), -1, np.int32, order="F")
        launch[2 * pairs](x, y, seen)
        assert set(np.unique(seen)) <= {0, 1} and (seen.sum(axis=1) >= 1).all()


def test_what_was_written_before_a_release_is_seen_after_an_acquire() -> None:
    text = """func @message(%flag: memref<i32x?>, %data: memref<i64x?>, %R: memref<i64x?>)
        attributes {work_group_size=[32,1], subgroup_size=32} {
        %g = group_id.x : index
        %two = constant 2 : index
        %pair = div %g, %two : index
        %side = rem %g, %two : index
        %none = constant 0 : index
        %first = equal %side, %none : bool
        parallel {
            %lane = subgroup_local_id : i32
            %l = cast %lane : index
            %length = constant 32 : index
            %start = mul %pair, %length : index
            %k = add %start, %l : index
            if %first {
                %one = constant 1 : i32
                %x = constant 77 : i64
                store %x, %data[%k]
                atomic_store.device.release %one, %flag[%k]
            } else {
                %f = atomic_load.device.acquire %flag[%k] : i32
                %d = load %data[%k] : i64
                %zero = constant 0 : i32
                %unset = equal %f, %zero : bool
                %minus = constant -1 : i64
                %found = select %unset, %minus, %d : i64
                store %found, %R[%k]
            }
        }
    }"""
    pairs = 4096
    for _ in range(5):
        flag, data, found = (np.zeros(32 * pairs, type) for type in (np.int32, np.int64, np.int64))
        kernel(text)[2 * pairs](flag, data, found)
        assert set(np.unique(found)) <= {-1, 77}


# --- limits --------------------------------------------------------------------------------------


def local(elements: int) -> str:
    return f"""func @turn(%A: memref<i32x{elements}>, %B: memref<i32x{elements}>)
        attributes {{work_group_size=[128,1], subgroup_size=32}} {{
        %L = alloca : memref<i32x{elements},local>
        %zero = constant 0 : index
        %one = constant 1 : i32
        %none = constant 0 : i32
        %n = constant {elements} : index
        %last = constant {elements - 1} : index
        axpby.n %one, %A, %none, %L
        foreach (%i) = (%zero), (%n) {{
            %j = sub %last, %i : index
            %x = load %L[%j] : i32
            store %x, %B[%i]
        }}
    }}"""


@pytest.mark.parametrize("bytes", [48 * 1024, 48 * 1024 + 4, 100_000, 200 * 1024, 226 * 1024])
def test_local_memory_up_to_what_a_device_has(bytes: int) -> None:
    a = np.arange(bytes // 4, dtype=np.int32)
    b = np.zeros_like(a)
    try:
        kernel(local(a.size))(a, b)
    except (girih.CompileError, girih.LaunchError) as error:
        pytest.skip(f"this device has less: {error}")
    assert (b == a[::-1]).all()


def test_more_local_memory_than_a_device_has() -> None:
    elements = 60_000
    with pytest.raises((girih.CompileError, girih.LaunchError), match=r"needs 240000 bytes of memory for a work-group"):
        kernel(local(elements))(np.zeros(elements, np.int32), np.zeros(elements, np.int32))


@pytest.mark.parametrize("count", [100, 500, 1000])
def test_many_parameters(count: int) -> None:
    """More bytes of parameters than 4096, which need a driver for CUDA 12.1 or newer."""
    names = ", ".join(f"%x{k}: i64" for k in range(count))
    sums = "\n".join(f"%s{k + 1} = add %s{k}, %x{k} : i64" for k in range(count))
    text = f"func @many(%R: memref<i64>, {names}) {{ %s0 = constant 0 : i64\n{sums}\nstore %s{count}, %R[] }}"
    found = np.zeros((), np.int64)
    kernel(text)(found, *range(count))
    assert found == count * (count - 1) // 2


# --- assemblers, threads, processes --------------------------------------------------------------


def test_every_assembler_makes_code_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    there = list(assembler.assemblers(for_device=True))
    assert there, "the driver is one"
    monkeypatch.setenv("GIRIH_CACHE_SIZE", "0")
    for one in there:
        monkeypatch.setattr(assembler, "assemblers", lambda one=one, **_: iter([one]))
        data = np.arange(100, dtype=np.float32)
        kernel(SCALE)(2.0, data)
        assert (data == 2 * np.arange(100)).all(), one.identity


def test_threads_with_their_own_streams() -> None:
    t = torch()
    launch, broken, wrong = kernel(SCALE), kernel(BROKEN), []

    def work(number: int) -> None:
        data, out = t.ones(1000 + number, device="cuda"), t.zeros(32, dtype=t.int32, device="cuda")
        t.cuda.synchronize()
        with t.cuda.stream(t.cuda.Stream()):
            for _ in range(20):
                launch(2.0, data)
                launch(0.5, data)
            launch(3.0, data)
            if number % 2:
                broken(t.arange(32, dtype=t.int32, device="cuda"), out)
            t.cuda.current_stream().synchronize()
            try:
                launch(1.0, data)
                found = False
            except girih.KernelError:
                found = True
        if not (data == 3).all() or found != bool(number % 2):
            wrong.append((number, found, data[:3].tolist()))

    threads = [Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_finding_of_a_replayed_graph() -> None:
    t = torch()
    a, b = t.arange(40, dtype=t.int32, device="cuda"), t.zeros(32, dtype=t.int32, device="cuda")
    launch = kernel(BROKEN)
    with pytest.raises(girih.KernelError):
        launch.options(synchronous=True)(a, b)
    graph = t.cuda.CUDAGraph()
    with t.cuda.graph(graph):
        launch(a, b)
    for _ in range(2):
        graph.replay()
        t.cuda.synchronize()
        with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
            launch.synchronize()


def test_the_quick_path_follows_changed_tensors() -> None:
    """Views, other types, gradients and conjugates between two launches that look alike."""
    t = torch()
    launch = kernel(SCALE)
    data = t.ones(64, device="cuda")
    for view in (data, data[::2], data[1:], data[5:5], data):
        launch(2.0, view)
    t.cuda.synchronize()
    meant = np.ones(64, np.float32)
    for view in (meant, meant[::2], meant[1:], meant):
        view *= 2
    assert data.tolist() == meant.tolist()
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype"):
        launch(2.0, data.double())
    with pytest.raises(girih.LaunchError, match=r"bind\.type.*requires a gradient"):
        launch(2.0, data.clone().requires_grad_())
    with pytest.raises(girih.LaunchError):
        launch(2.0, data.reshape(8, 8))
    with pytest.raises(girih.LaunchError):
        launch(2.0, t.complex(data, data).conj().imag)
    other = t.ones(64, device="cuda")
    with t.no_grad():
        launch(2.0, other)
    assert (other == 2).all()


def test_managed_memory_of_cupy() -> None:
    cupy: Any = pytest.importorskip("cupy")
    data = cupy.ndarray((100,), cupy.float32, cupy.cuda.malloc_managed(400))
    data[:] = cupy.arange(100, dtype=cupy.float32)
    kernel(SCALE)(2.0, data)
    assert data.get().tolist() == [2.0 * k for k in range(100)]


def script(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", textwrap.dedent(text)]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment}
    )


HEAD = f"""
import os, sys, numpy as np, girih
from tests.runtime.cuda.test_cuda_launch import SCALE, kernel
BROKEN = {BROKEN!r}
"""


def test_a_fork_after_a_launch_is_refused_in_words() -> None:
    done = script(
        HEAD
        + """
x = np.ones(4, np.float32)
kernel(SCALE)(2.0, x)
if os.fork() == 0:
    try:
        kernel(SCALE)(2.0, x)
    except girih.LaunchError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
kernel(SCALE)(2.0, x)
print(x.tolist())
"""
    )
    assert "bind.cuda_fork" in done.stdout and "[4.0, 4.0, 4.0, 4.0]" in done.stdout, done.stdout + done.stderr


def test_a_finding_that_nobody_asked_for_is_a_warning_at_the_end() -> None:
    torch()
    done = script(
        HEAD
        + """
import torch
a, b = torch.arange(32, dtype=torch.int32, device="cuda"), torch.zeros(32, dtype=torch.int32, device="cuda")
kernel(BROKEN)(a, b)
"""
    )
    assert done.returncode == 0 and "CudaFindingWarning" in done.stderr, done.stdout + done.stderr
    assert "run.out_of_bounds" in done.stderr


def test_a_lost_context_is_told_in_words() -> None:
    done = script(
        HEAD
        + """
text = BROKEN.replace("add %k, %k", "shl %k, %far").replace("parallel {", "parallel { %far = constant 38 : index")
for attempt in range(2):
    try:
        kernel(text, checks="off")(np.zeros(32, np.int32), np.zeros(32, np.int32))
    except (girih.LaunchError, girih.KernelError) as error:
        print(error)
"""
    )
    assert done.stdout.count("run.cuda_lost") >= 1 and "Traceback" not in done.stderr, done.stdout + done.stderr
