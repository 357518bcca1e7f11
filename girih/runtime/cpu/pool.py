"""The threads that execute work-groups: one pool for the process, in which the thread that launches takes part.

The threads are started by the first launch that is worth it and stay; on Linux each is bound to a CPU of its own.
Between launches they spin for a fifth of a millisecond, less under a quota, which counts that time, and then sleep. If
the CPUs that the calling thread may use change, as many threads as there are CPUs go on. `GIRIH_NUM_THREADS` says how
many threads a launch uses, the calling one included;
otherwise as many as the CPUs that the process may use, by its affinity and the quota of its control group. While one
Python thread uses the pool, launches of others run on their own threads alone. A forked child starts a pool of its own
when it needs one. Elsewhere than on Linux and macOS a launch runs on the calling thread alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil
from pathlib import Path
from threading import Lock

from girih.back.llvm.cpu.machine.abi import WORKSPACE_ALIGNMENT
from girih.back.llvm.lower.launch.record import RECORD_ASKING, STOPPED
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.diagnostics import SettingError

LAYOUT = {
    # Words that different threads write lie in different pairs of cache lines.
    "CLAIM": 0,
    "GENERATION": 128,
    "SLEEPERS": 256,
    "DONE": 384,
    "WAITING": 512,
    "KERNEL": 640,
    "ARGUMENTS": 648,
    "GROUPS": 656,
    "CHUNK": 664,
    "CHUNKS": 672,
    "FROM": 680,
    "WORKSPACE": 688,
    "STRIDE": 696,
    "OPENED": 704,
    "WORKERS": 768,
    "ACTIVE": 776,
    "THREADS": 784,
    "ASKED": 792,
    "SPIN": 800,
    "EPOCH": 808,
    "DELAY": 896,
    "BUSY": 1024,
    "CALLER_CPU": 1028,
    "FREE_CPU": 1032,
    "FORKS": 1040,
    "LOOKED": 1048,
    "MASK": 1152,
    "MUTEX": 1280,
    "CONDITION": 1344,
    "SLOTS": 1408,
    "SLOT_BYTES": 64,
    "SLOT_INDEX": 8,
    "SLOT_THREAD": 16,
    "SLOT_CPU": 20,
}
"""Offsets in the memory of a pool, in bytes; a slot starts with the address of the pool.

A mutex of POSIX threads has at most 64 bytes, a condition variable 48, on Linux and on macOS.
"""

RESULTS = {"FINISHED": 0, "NO_MEMORY": 1, "INTERRUPTED": 2, "NOT_STARTED": 3, "FORKED": 4}
"""The ways in which a launch ends."""

LEARNED_SHIFT, DOUBTFUL_NANOSECONDS = 6, 100_000

NUMBERS = {
    **LAYOUT,
    **RESULTS,
    "RECORD_ARGUMENT": 8 * RECORD_SLOT,
    "WORKSPACE_ALIGNMENT": WORKSPACE_ALIGNMENT,
    "CHECK_NANOSECONDS": 50_000_000,
    "STOPPED": STOPPED,
    "MASK_BYTES": 128,
    "MASK_CPUS": 1024,
    # What other threads cost while they are awake, and what claiming a chunk costs, for each thread that does.
    "AWAKE_NANOSECONDS": 3_000,
    "CLAIM_NANOSECONDS": 64,
    "MOST_DELAY_NANOSECONDS": 100_000,
    "WOKEN_AT_ONCE": 5,
    # Times of work-groups are kept in parts of a nanosecond. Whether a launch is faster on one thread is tried where it
    # takes up to so long: less and less often, at last in each 256th launch.
    "LEARNED_SHIFT": LEARNED_SHIFT,
    "DOUBTFUL_NANOSECONDS": DOUBTFUL_NANOSECONDS,
    "DOUBTFUL_TIME": DOUBTFUL_NANOSECONDS << LEARNED_SHIFT,
    "TRIAL_TURNS": 256,
    "TRIAL_MASK": 255,
    "LARGE_PAGE": 1 << 21,
    "PACE_WORDS": 11,
    "RECORD_ASKING": RECORD_ASKING,
}
"""The numbers that the texts in LLVM IR use by name."""

# Documentation/admin-guide/cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst of Linux: quota and period.
_QUOTA_FILES: Sequence[str] = ("cpu.max",)
_OLD_QUOTA_FILES: Sequence[str] = ("cpu.cfs_quota_us", "cpu.cfs_period_us")

NOT_STARTED = -1
MOST_THREADS = 1024

_MOST_DIGITS = 9
"""Python does not convert thousands of digits."""

SPIN_NANOSECONDS = 200_000
"""How long a thread waits for the next launch before it sleeps."""

LIMITED_SPIN_NANOSECONDS = 10_000
"""The same where a quota counts the time of waiting threads, too."""

FIRST_DELAY = 20_000
"""The nanoseconds until a thread that sleeps is awake, before that has been measured."""


class Pool:
    """The memory of a pool, whose layout is `LAYOUT`; threads are started by `start`.

    With `asked` the number of threads stays what it is whatever CPUs there are. `spin` is how many nanoseconds a thread
    waits for the next launch before it sleeps.
    """

    def __init__(self, threads: int, *, asked: bool = False, spin: int = SPIN_NANOSECONDS) -> None:
        size = LAYOUT["SLOTS"] + LAYOUT["SLOT_BYTES"] * threads
        self._buffer = ctypes.create_string_buffer(size + 128)
        self._lock = Lock()
        self.threads, self.asked, self.spin = threads, asked, spin
        self.address = -(-ctypes.addressof(self._buffer) // 128) * 128
        self._clear()
        os.register_at_fork(after_in_child=self._forget)

    @property
    def workers(self) -> int:
        """The number of threads that were started, `NOT_STARTED` before that."""
        return self._word("WORKERS").value

    def start(self, start: Callable[[int, int], int]) -> int:
        """The number of threads, started by the function `girih_start` unless they run already.

        If the system has no more, fewer than asked for start, which is not an error.
        """
        with self._lock:
            if self.workers == NOT_STARTED:
                self._fill()
                start(self.address, self.threads - 1)
            return self.workers

    def _fill(self) -> None:
        """Say in each slot which thread it is for; the threads' CPUs are chosen by `place` in `cpu_linux.ll`."""
        for number in range(self.threads - 1):
            slot = self.address + LAYOUT["SLOTS"] + number * LAYOUT["SLOT_BYTES"]
            ctypes.c_int64.from_address(slot).value = self.address
            ctypes.c_int64.from_address(slot + LAYOUT["SLOT_INDEX"]).value = number + 1

    def _word(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self.address + LAYOUT[name])

    def _clear(self) -> None:
        ctypes.memset(self.address, 0, LAYOUT["SLOTS"] + LAYOUT["SLOT_BYTES"] * self.threads)
        self._word("WORKERS").value = NOT_STARTED
        self._word("THREADS").value = self.threads
        self._word("ASKED").value = self.asked
        self._word("SPIN").value = self.spin
        self._word("DELAY").value = FIRST_DELAY

    def _forget(self) -> None:
        """Begin anew in a forked child, which has this thread only; workspaces, maybe in use, are left behind.

        This thread may be in the middle of a launch, in a signal handler; `FORKS` tells it of the fork.
        """
        forks = self._word("FORKS").value
        self._lock = Lock()
        self._clear()
        self._word("FORKS").value = forks + 1


@lru_cache(maxsize=1)
def process_pool() -> Pool:
    """The pool of this process. Raises `SettingError` for a `GIRIH_NUM_THREADS` that is not a number of threads."""
    from girih.runtime.compiled.jit import keep_forever

    asked = bool(os.environ.get("GIRIH_NUM_THREADS", "").strip())
    pool = Pool(thread_count(), asked=asked, spin=spin_time(Path("/")))
    keep_forever(pool)
    return pool


def thread_count() -> int:
    """The threads of a launch, as a number. Raises `SettingError` for a `GIRIH_NUM_THREADS` that is not one."""
    asked = os.environ.get("GIRIH_NUM_THREADS", "").strip()
    if asked:
        if not asked.isdecimal() or len(asked) > _MOST_DIGITS or not 1 <= int(asked) <= MOST_THREADS:
            raise SettingError(f"GIRIH_NUM_THREADS is a number of threads from 1 to {MOST_THREADS}; it is {asked!r}")
        return int(asked)
    cpus, quota = len(usable_cpus()), _quota(Path("/"))
    return max(1, min(cpus, MOST_THREADS, cpus if quota is None else ceil(quota)))


def spin_time(root: Path) -> int:
    """The nanoseconds for which a thread waits for the next launch before it sleeps, by the quota in a root folder."""
    quota = _quota(root)
    return SPIN_NANOSECONDS if quota is None or quota >= len(usable_cpus()) else LIMITED_SPIN_NANOSECONDS


def usable_cpus() -> Sequence[int]:
    """The CPUs that the process may run on."""
    if sys.platform == "linux":
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def _quota(root: Path) -> float | None:
    """The CPU time per time that the control groups allow the process, in CPUs; None for no limit."""
    quotas: list[float] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            base, names = root / "sys/fs/cgroup", _QUOTA_FILES
        elif "cpu" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/cpu", _OLD_QUOTA_FILES
        else:
            continue
        place = base / path.strip("/")
        # A group is bounded by those around it too; inside a container its own path may not be there.
        folders = [place, *(p for p in place.parents if p.is_relative_to(base))]
        quotas += [limit for folder in folders if (limit := _limit(folder, names)) is not None]
    return min(quotas, default=None)


def _limit(folder: Path, names: Sequence[str]) -> float | None:
    words = " ".join(_read(folder / name) for name in names).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None
    quota, period = map(int, words)
    return quota / period if quota > 0 and period > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
