"""The pool as on macOS, whose threads wait by a condition variable: what test_cpu_launch.py asks of that of Linux."""

from __future__ import annotations

import pytest

from girih.back.llvm.assemble.assembler import Cpu
from girih.runtime.cpu.launcher import WAITING, launcher_text, needed
from tests.runtime import test_cpu_launch as linux
from tests.runtime import test_cpu_pool as pool
from tests.runtime.cpu_processes import output


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of these tests have this pool."""
    monkeypatch.setenv("WAITING", WAITING["darwin"])


def test_threads_sleep_wake_and_start_anew_in_a_child() -> None:
    text = """
for pause in (0.0, 0.001, 0.02):
    time.sleep(pause)
    check()
child = os.fork()
if child == 0:
    check()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
signal.signal(signal.SIGALRM, lambda number, frame: print("asked"))
signal.setitimer(signal.ITIMER_REAL, 0.02)
data = np.zeros(1, np.int64)
kernel(ARRAY, TAKES_60_MILLISECONDS).launch((5, 1, 1), (data,))
print(pool.process_pool().workers, data[0])
"""
    assert output(text, GIRIH_NUM_THREADS="3").split() == ["asked", "2", "5"]


@pytest.mark.long
@pytest.mark.parametrize(
    "test",
    [
        linux.test_after_a_fork,
        linux.test_a_fork_while_another_thread_launches,
        linux.test_a_finding_ends_the_launch_on_all_threads,
        linux.test_a_fork_in_a_signal_handler_during_a_launch,
        linux.test_a_handler_that_raises_in_the_forked_child,
    ],
)
def test_as_on_linux(test: linux.Plain) -> None:
    test()


@pytest.mark.long
@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize(
    "test",
    [
        pool.test_the_number_of_threads,
        linux.test_an_interrupt_ends_a_launch,
        linux.test_signal_handlers_run_during_a_launch,
        linux.test_an_interrupt_waits_for_the_work_groups_that_run,
    ],
)
def test_as_on_linux_with_threads(test: linux.OfThreads, threads: str) -> None:
    test(threads)


def test_what_macos_does_not_have_is_not_called() -> None:
    for processor in ("x86_64-apple-macosx:haswell", "aarch64-apple-macosx:apple-m1"):
        names = needed(launcher_text(Cpu.named(processor), "darwin"))
        assert {"pthread_cond_wait", "pthread_create"} <= set(names)
        assert not {"syscall", "sched_getcpu", "sched_setaffinity", "gettid"} & set(names)
