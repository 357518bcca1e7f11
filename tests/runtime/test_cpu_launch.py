"""Launches of compiled kernels: grids, threads, failures, interrupts, forks, Python's lock."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest

import girih
from girih.arguments import arrays
from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.back.llvm.lower.launch.record import RECORD_BYTES, STOPPED
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.back.llvm.lower.sites import Site
from girih.diagnostics import InternalError
from girih.runtime.compiled import slots
from girih.runtime.compiled.jit import link
from girih.runtime.cpu import entry
from girih.runtime.cpu.executor import linked
from girih.runtime.cpu.kernel import CpuKernel
from tests.cases import long
from tests.runtime.cpu_kernels import (
    COUNT,
    FAILS_AT_SEVEN,
    USES_WORKSPACE,
    WAITS_FOR_FLAG,
    kernel,
    machine_code,
)
from tests.runtime.cpu_processes import output

ARRAY = "%A: memref<i64x?>"

Plain = Callable[[], None]
OfThreads = Callable[[str], None]


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (7, 3, 5), (1, 1, 4097), (100_000, 1, 1)])
@pytest.mark.parametrize("serial_groups", [1, 10, 10**6])
def test_every_work_group_runs_once(grid: tuple[int, int, int], serial_groups: int) -> None:
    x, y, z = grid
    data = np.zeros(x * y * z + 1, np.int64)
    counting = kernel(ARRAY, COUNT, serial_groups=serial_groups)
    for _ in range(5):
        counting.launch(grid, (data,))
    assert (data[:-1] == 5).all()
    assert data[-1] == 0


def test_an_empty_grid_runs_nothing_but_checks_the_arguments() -> None:
    counting = kernel(ARRAY, COUNT)
    data = np.zeros(4, np.int64)
    for grid in [(0, 1, 1), (3, 0, 2), (1, 1, 0)]:
        counting.launch(grid, (data,))
        assert counting._run_bound(grid, (data,)) is None
        with pytest.raises(girih.LaunchError):
            counting.launch(grid, (data.astype(np.int32),))
    assert not data.any()


def test_more_work_groups_than_can_be_counted() -> None:
    most = 2**31 - 1
    with pytest.raises(girih.LaunchError) as caught:
        kernel(ARRAY, COUNT).launch((most, most, most), (np.zeros(1, np.int64),))
    assert [d.code for d in caught.value.diagnostics] == ["bind.grid"]


@pytest.mark.parametrize("size", [8, 4096, 100_000])
def test_each_thread_has_a_workspace(size: int) -> None:
    data = np.full(5000, -1, np.int64)
    kernel(ARRAY, USES_WORKSPACE, workspace_bytes=size).launch((5000, 1, 1), (data,))
    assert (data == np.arange(5000)).all()


@pytest.mark.parametrize("grid", [1, 100])
@pytest.mark.parametrize("size", [2**50, 2**70])
def test_a_workspace_that_no_machine_has(size: int, grid: int) -> None:
    data = np.zeros(100, np.int64)
    with pytest.raises(girih.LaunchError, match="not enough memory") as caught:
        kernel(ARRAY, COUNT, workspace_bytes=size).launch((grid, 1, 1), (data,))
    assert [d.code for d in caught.value.diagnostics] == ["bind.memory"]
    assert not data.any()
    kernel(ARRAY, COUNT).launch((100, 1, 1), (data,))
    assert data.all()


@pytest.mark.parametrize("grid", [(8, 1, 1), (4, 3, 1), (2, 2, 500)])
@pytest.mark.parametrize("serial_groups", [1, 10**6])
def test_a_failure_becomes_a_finding(grid: tuple[int, int, int], serial_groups: int) -> None:
    data = np.zeros(2000, np.int64)
    failing = kernel(ARRAY, FAILS_AT_SEVEN, serial_groups=serial_groups)
    with pytest.raises(girih.KernelError) as caught:
        failing.launch(grid, (data,))
    (finding,) = caught.value.findings
    x, y, _ = grid
    assert finding.work_group == (7 % x, 7 // x % y, 7 // (x * y))
    assert finding == girih.Finding(
        "run.out_of_bounds",
        "a load from %A is out of bounds: index (9, -1) of shape (4, 5)",
        girih.Span(failing.function.span.source, 5, 12),
        "A",
        (9, -1),
        (4, 5),
        finding.work_group,
        2,
        3,
    )
    assert data[7] == 1
    if serial_groups > 1:
        assert not data[8:].any()


def test_what_a_subgroup_does_as_one_has_no_lane() -> None:
    site = Site("run.size", "sizes differ", (0, 4), "A", 2, 0, by_lane=False)
    with pytest.raises(girih.KernelError) as caught:
        kernel(ARRAY, FAILS_AT_SEVEN, sites=(site, site)).launch((8, 1, 1), (np.zeros(8, np.int64),))
    (finding,) = caught.value.findings
    assert (finding.message, finding.index, finding.shape) == ("sizes differ", (9, -1), None)
    assert (finding.subgroup, finding.lane) == (2, None)


def test_a_check_that_is_not_there() -> None:
    with pytest.raises(InternalError, match="check 1"):
        kernel(ARRAY, FAILS_AT_SEVEN, sites=()).launch((8, 1, 1), (np.zeros(8, np.int64),))


def test_other_python_threads_run_meanwhile() -> None:
    """The kernel waits for what only another Python thread can write."""
    waiting = kernel(ARRAY, WAITS_FOR_FLAG)
    data = np.zeros(2, np.int64)
    launching = threading.Thread(target=waiting.launch, args=((1, 1, 1), (data,)))
    launching.start()
    data[0] = 42
    launching.join()
    assert data[1] == 42


@pytest.mark.parametrize("workspace_bytes", [0, 64])
def test_several_python_threads_launch_at_once(workspace_bytes: int) -> None:
    counting = kernel(ARRAY, COUNT, workspace_bytes=workspace_bytes)
    arrays = [np.zeros(n, np.int64) for n in (3, 50, 1000, 20_000)]

    def launch(data: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        for _ in range(50):
            counting.launch((len(data), 1, 1), (data,))

    threads = [threading.Thread(target=launch, args=(data,)) for data in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((data == 50).all() for data in arrays)


def test_launching_while_another_thread_holds_the_pool() -> None:
    waiting, counting = kernel(ARRAY, WAITS_FOR_FLAG), kernel(ARRAY, COUNT, workspace_bytes=64)
    flag, data = np.zeros(2, np.int64), np.zeros(1000, np.int64)
    launching = threading.Thread(target=waiting.launch, args=((1, 1, 1), (flag,)))
    launching.start()
    counting.launch((1000, 1, 1), (data,))
    with pytest.raises(girih.LaunchError):
        kernel(ARRAY, COUNT, workspace_bytes=2**50).launch((1, 1, 1), (data,))
    flag[0] = 1
    launching.join()
    assert data.all()


def test_code_that_needs_what_is_not_there() -> None:
    text = (
        "declare void @girih_no_such_function()\ndefine void @kernel() { call void @girih_no_such_function() ret void }"
    )
    function = girih.parse("func @kernel() {}").functions[0]
    compiled = CompiledKernel("kernel", "kernel", machine_code(text), 0, (), 8, (8, 1))
    with pytest.raises(InternalError, match="this process has no girih_no_such_function\nThis is a defect"):
        CpuKernel(function, compiled)


def filled(data: np.ndarray[tuple[int], np.dtype[np.int64]]) -> slots.Slots:
    """The slots of a kernel with one memref."""
    (parameter,) = girih.parse(f"func @f({ARRAY}) {{}}").functions[0].parameters
    return slots.fill([parameter.type], arrays.accept([arrays.specification(parameter, written=True)], [data]))


def test_a_function_alone_keeps_its_code() -> None:
    data = np.zeros(4, np.int64)
    made = kernel(ARRAY, COUNT)
    call, run = made.call, made._entry.run
    assert call is not None
    del made
    gc.collect()
    assert call((4, 1, 1), data) is None
    del call
    gc.collect()
    held = filled(data)
    assert run((4, 1, 1), held.address) is None
    assert (data == 2).all()


def test_a_compiled_kernel_looks_for_the_end_of_the_launch_before_each_work_group() -> None:
    text = """
    func @f(%A: memref<i64x?>) {
        %g = group_id.x : index
        %one = constant 1 : i64
        store %one, %A[%g]
    }
    """
    function = girih.parse(text).functions[0]
    made = linked(function, Cpu.host(), "off")
    data = np.zeros(10, np.int64)
    held = filled(data)
    record = (ctypes.c_int32 * (RECORD_BYTES // 4))()
    words = (ctypes.c_int64 * 4).from_address(held.address)
    words[0], words[1], words[2], words[RECORD_SLOT] = 10, 1, 1, ctypes.addressof(record)
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    execute = ctypes.CFUNCTYPE(None, *types)(made._linked.addresses[made.compiled.symbol])
    execute(held.address, None, 2, 4)
    assert data.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    record[0] = STOPPED
    execute(held.address, None, 4, 10)
    assert data.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]


# --- whole processes -----------------------------------------------------------------------


def test_without_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where objects do not lie in memory as in the usual builds of CPython."""
    monkeypatch.setattr(entry, "known_layout", lambda: False)
    counting, failing = kernel(ARRAY, COUNT), kernel(ARRAY, FAILS_AT_SEVEN)
    assert counting._entry.call is None
    data = np.zeros(100, np.int64)
    counting.launch((100, 1, 1), (data,))
    assert (data == 1).all()
    with pytest.raises(girih.KernelError):
        failing.launch((100, 1, 1), (data,))
    with pytest.raises(girih.LaunchError):
        counting.launch((1, 1, 1), (data, 1))


def test_after_a_fork() -> None:
    text = """
check()
for _ in range(3):
    child = os.fork()
    if child == 0:
        check()
        grandchild = os.fork()
        if grandchild == 0:
            check()
            os._exit(7)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    check()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    output(text, GIRIH_NUM_THREADS="3")


def test_a_fork_while_another_thread_launches() -> None:
    text = """
slow = kernel(ARRAY, SLOW)
check()
thread = threading.Thread(target=slow.launch, args=((2000, 1, 1), (np.zeros(1, np.int64),)))
thread.start()
child = os.fork()
if child == 0:
    check()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
thread.join()
"""
    output(text, GIRIH_NUM_THREADS="2")


def test_forks_while_other_threads_compile() -> None:
    text = """
enough = threading.Event()
def compile(name):
    girih.loads(f"func @{name}() {{ %c = constant 1 : i32 }}")
def compile_until_told():
    while not enough.is_set():
        compile("mine")
# A module that another thread is importing stays locked in the child: that is Python's.
compile("first")
thread = threading.Thread(target=compile_until_told)
thread.start()
for _ in range(4):
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        compile("child")
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(thread.is_alive())
enough.set()
thread.join()
"""
    assert output(text, GIRIH_CACHE_SIZE="0") == "True"


@pytest.mark.parametrize("threads", ["3", *long(["1"])])
def test_an_interrupt_ends_a_launch(threads: str) -> None:
    text = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
data = np.zeros(1, np.int64)
def interrupt():
    while not data[0]:
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    kernel(ARRAY, SLOW).launch((10**9, 1, 1), (data,))
except KeyboardInterrupt:
    check()
    print("interrupted")
"""
    assert output(text, GIRIH_NUM_THREADS=threads) == "interrupted"


@pytest.mark.parametrize("threads", ["1", *long(["3"])])
def test_signal_handlers_run_during_a_launch(threads: str) -> None:
    text = """
data, seen = np.zeros(1, np.int64), []
def handle(number, frame):
    seen.append(number)
    if len(seen) == 3:
        raise LookupError("enough")
def send():
    for count in range(3):
        while not data[0] or len(seen) < count:
            pass
        os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGUSR1, handle)
threading.Thread(target=send).start()
try:
    kernel(ARRAY, SLOW).launch((10**9, 1, 1), (data,))
except LookupError as error:
    print(error)
"""
    assert output(text, GIRIH_NUM_THREADS=threads) == "enough"


def test_a_finding_ends_the_launch_on_all_threads() -> None:
    text = """
check()
data = np.zeros(1, np.int64)
try:
    kernel(ARRAY, FAILS_WHEN_TWO_HAVE_BEGUN).launch((4096, 1, 1), (data,))
except girih.KernelError:
    print(data[0])
"""
    assert output(text, GIRIH_NUM_THREADS="2") == "2"


SIGNALLED = """
check()
data, seen = np.zeros(1, np.int64), []
slow = kernel(ARRAY, TAKES_60_MILLISECONDS)
def send():
    while not data[0]:
        time.sleep(0.001)
    seen.append(data[0])
    os.kill(os.getpid(), signal.SIGALRM)
threading.Thread(target=send).start()
"""
"""A signal comes when the first work-group of `slow` has begun."""


@pytest.mark.parametrize("threads", ["2", *long(["1"])])
def test_an_interrupt_waits_for_the_work_groups_that_run(threads: str) -> None:
    text = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    slow.launch((4096, 1, 1), (data,))
except KeyboardInterrupt:
    # One more for each thread; some where the machine is busy, but no chunks of them.
    assert data[0] <= seen[0] + 8, (data, seen)
    check()
    print("interrupted")
"""
    assert output(SIGNALLED + text, GIRIH_NUM_THREADS=threads) == "interrupted"


FORKS = f"""
children = []
def fork(number, frame):
    children.append(os.fork())
{SIGNALLED.replace("threading.Thread", "signal.signal(signal.SIGALRM, fork); threading.Thread")}
try:
    slow.launch((12, 1, 1), (data,))
    code = ""
except girih.LaunchError as error:
    code = error.diagnostics[0].code
if not children[0]:
    check()
    print("child", code or data[0], flush=True)
    os._exit(0)
assert os.waitpid(children[0], 0)[1] == 0
check()
print("parent", code or data[0])
"""


def test_a_fork_in_a_signal_handler_during_a_launch() -> None:
    """The child has lost its other threads and what they had begun; the parent does not notice."""
    assert output(FORKS, GIRIH_NUM_THREADS="2").split() == ["child", "bind.fork", "parent", "12"]


def test_a_fork_in_a_signal_handler_on_a_single_thread() -> None:
    assert output(FORKS, GIRIH_NUM_THREADS="1").split() == ["child", "12", "parent", "12"]


def test_a_handler_that_raises_in_the_forked_child() -> None:
    text = FORKS.replace("children.append(os.fork())", """
    children.append(os.fork())
    if not children[0]:
        raise girih.LaunchError([girih.Diagnostic("mine", "", girih.Span.nowhere())])
""".strip()).replace("girih.Span.nowhere()", "NOWHERE")  # fmt: skip
    text = "from girih.source import NOWHERE" + text
    assert output(text, GIRIH_NUM_THREADS="2").split() == ["child", "mine", "parent", "12"]


LOADS_AND_DROPS = """
def use(name):
    text = f"func @{name}(%A: memref<i64x?>) {{}}"
    for _ in range(60):
        girih.loads(text)[name][2](np.zeros(3, np.int64))
threads = [threading.Thread(target=use, args=(f"kernel{k}",)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine")
"""


@pytest.mark.parametrize("allocator", ["debug", *long(["default"])])
def test_threads_that_load_launch_and_drop_kernels(allocator: str) -> None:
    assert output(LOADS_AND_DROPS, GIRIH_NUM_THREADS="2", PYTHONMALLOC=allocator) == "fine"


def test_kernels_in_cycles_go_when_garbage_is_collected() -> None:
    """Their code is unloaded then, which may be in the middle of compiling another kernel, in any thread."""
    held = "        made = girih.loads(text)[name]\n        held = [made, np.zeros(3, np.int64)]\n"
    held += "        held.append(held)\n"
    text = LOADS_AND_DROPS.replace(
        "        girih.loads(text)[name][2](np.zeros(3, np.int64))\n", held + "        made(held[1])\n"
    )
    assert text != LOADS_AND_DROPS
    text = "import gc\ngc.set_threshold(50)" + text
    assert output(text, GIRIH_NUM_THREADS="2", PYTHONMALLOC="debug") == "fine"


def test_a_kernel_that_nobody_has_is_gone_at_once() -> None:
    """No kernel refers to itself, so that its code does not wait for the collector of garbage."""
    text = """
import gc
from girih.runtime.compiled import jit
gc.disable()
program = girih.loads("func @f(%A: memref<i64x?>) {}")
program["f"][2](np.zeros(3, np.int64))
before = len(jit._KEPT)
del program
print(before - len(jit._KEPT))
"""
    assert int(output(text)) >= 1


def test_the_definition_of_a_function_lives_as_long_as_the_function() -> None:
    """PyCFunctionObject refers to its PyMethodDef, whose flags are the word at 16, until it has gone."""
    text = """
import ctypes, gc
made = kernel(ARRAY, COUNT)
call = made.call
definition = ctypes.c_void_p.from_address(id(call) + 16).value
flags = ctypes.c_int64.from_address(definition + 16)
before = flags.value
del made
gc.collect()
print(before == flags.value == 0x80)
"""
    assert output(text, PYTHONMALLOC="debug") == "True"


def test_kernels_are_seen_by_profilers_and_debuggers() -> None:
    text = """
check()
name = f"/tmp/perf-{os.getpid()}.map"
lines = [line.split() for line in open(name)]
os.unlink(name)
found = {line[2]: (int(line[0], 16), int(line[1], 16)) for line in lines}
address, size = found["kernel"]
assert address == counting._linked.addresses["kernel"] and 16 < size < 4096, found
assert "girih_call" in found
"""
    output(text, GIRIH_PERF_MAP="1", GIRIH_DEBUGGER="1")


def test_many_kernels_come_and_go() -> None:
    data = np.zeros(4, np.int64)
    for _ in range(200):
        kernel(ARRAY, COUNT).launch((4, 1, 1), (data,))
    assert (data == 200).all()


class MemoryInformation(ctypes.Structure):
    """`struct mallinfo2` of malloc.h of glibc: ten sizes; the eighth, `uordblks`, is what is in use."""

    _fields_ = (("sizes", ctypes.c_size_t * 10),)


def test_nothing_stays_of_code_that_was_unloaded() -> None:
    tell = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if tell is None:
        pytest.skip("only the C library of GNU tells how much memory is in use")
    tell.restype = MemoryInformation
    code = kernel(ARRAY, COUNT).compiled.object
    link(code, ["kernel"])
    gc.collect()
    before = tell().sizes[7]
    for _ in range(320):
        link(code, ["kernel"])
    assert tell().sizes[7] - before < 320 * 1024
