"""The pool of threads: how many there are, where they run, and which grids are worth them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import girih
from girih.runtime.cpu import pool
from tests.cases import long
from tests.runtime.cpu_kernels import COUNT, FAILS_AT_SEVEN, kernel
from tests.runtime.cpu_processes import output

ARRAY = "%A: memref<i64x?>"


def word(name: str) -> int:
    """A word of this process's pool."""
    return ctypes.c_int32.from_address(pool.process_pool().address + pool.LAYOUT[name]).value


@pytest.mark.parametrize("threads", ["5", *long(["1", "2"])])
def test_the_number_of_threads(threads: str) -> None:
    text = "check(); print(pool.process_pool().workers, len(os.listdir('/proc/self/task')) - 1)"
    others = str(int(threads) - 1)
    assert output(text, GIRIH_NUM_THREADS=threads, OPENBLAS_NUM_THREADS="1") == f"{others} {others}"


def test_a_wrong_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("0", "-3", "many", "99999", "2.5", "9" * 5000):
        monkeypatch.setenv("GIRIH_NUM_THREADS", wrong)
        with pytest.raises(ValueError, match="GIRIH_NUM_THREADS is a number of threads from 1 to 1024"):
            pool.thread_count()


FOLLOWS = """
own = pool.process_pool()
def words(name):
    return own._word(name).value
def masks():
    tasks = [int(task) for task in os.listdir('/proc/self/task') if int(task) != os.getpid()]
    return [os.sched_getaffinity(task) for task in tasks]
def until(met):
    # A thread binds itself when it first runs, and the CPUs are looked at every 50 ms.
    end = time.monotonic() + 30
    while not met():
        assert time.monotonic() < end, (masks(), words('ACTIVE'))
        check(1, 200_000)
def apart():
    # None shares a CPU with another, or with the thread that launched.
    bound = [mask for mask in masks() if len(mask) == 1]
    caller = ctypes.c_int32.from_address(own.address + pool.LAYOUT['CALLER_CPU']).value
    each = {cpu for mask in bound for cpu in mask}
    return len(each) == len(bound) == min(2, len(every) - 1) and caller not in each
check()
every = os.sched_getaffinity(0)
until(apart)
assert words('ACTIVE') == 2
os.sched_setaffinity(0, {min(every)})
until(lambda: masks() == [{min(every)}] * 2)
assert words('ACTIVE') == 2
own._word('ASKED').value = 0
os.sched_setaffinity(0, every)
until(lambda: apart() and words('ACTIVE') == min(2, len(every) - 1))
os.sched_setaffinity(0, {max(every)})
until(lambda: words('ACTIVE') == 0)
os.sched_setaffinity(0, every)
until(lambda: apart() and words('ACTIVE') == min(2, len(every) - 1))
"""


def test_threads_follow_the_cpus_that_the_caller_may_use() -> None:
    """Each has a CPU of its own; where there are too few, as many as asked for share them, or only some have work."""
    output(FOLLOWS, GIRIH_NUM_THREADS="3", OPENBLAS_NUM_THREADS="1")


TURNS = (
    COUNT
    + """
  %turns_at = getelementptr i64, ptr %data, i64 64
  %turns = load i64, ptr %turns_at
  br label %look
look:
  %turn = phi i64 [ 0, %work ], [ %following, %look ]
  %following = add i64 %turn, 1
  store volatile i64 %following, ptr %workspace
  %over = icmp uge i64 %following, %turns
  br i1 %over, label %done, label %look
done:
"""
)
"""data[number] += 1, in a time that data[64] gives."""


def test_grids_that_were_short_stay_on_the_calling_thread() -> None:
    data = np.zeros(65, np.int64)
    taking, failing = kernel(ARRAY, TURNS, workspace_bytes=64), kernel(ARRAY, FAILS_AT_SEVEN)
    before = -1
    while word("GENERATION") != before:
        before = word("GENERATION")
        taking.launch((8, 1, 1), (data,))
        assert data[0] < 10_000
    launches = data[0]
    # What is long after all goes to all threads, from the work-group on that has been reached.
    data[64] = 5_000_000
    taking.launch((8, 1, 1), (data,))
    assert (data[:8] == launches + 1).all()
    assert word("GENERATION") == before + (pool.process_pool().workers > 0)
    data[:] = 0
    for _ in range(100):
        failing.launch((7, 1, 1), (data,))
    with pytest.raises(girih.KernelError):
        failing.launch((9, 1, 1), (data,))
    assert (data[:8] == [*[101] * 7, 1]).all()


# --- quotas --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"}, 3.0),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, None),
        (
            {
                "proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/x\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/not/here\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_the_quota_of_a_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], quota: float | None
) -> None:
    monkeypatch.setattr(pool, "usable_cpus", lambda: range(2))
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert pool._quota(tmp_path) == quota
    # Where time is counted, threads wait for less of it.
    assert (pool.spin_time(tmp_path) < pool.SPIN_NANOSECONDS) == (quota is not None and quota < 2)
