"""The launch in Python alone does what the launch in machine code does: results, findings and refusals are equal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.assemble.assembler import Cpu
from girih.ir.core import Function, Module
from girih.runtime.compiled.jit import is_exported
from girih.runtime.cpu import kernel as kernel_module
from girih.runtime.cpu import launcher
from girih.runtime.cpu.executor import linked
from girih.runtime.cpu.kernel import CpuKernel
from tests.cases import long
from tests.ops import corpus, vectors
from tests.ops.test_ops import UNCHECKED, UNSEEN
from tests.runtime.cpu_kernels import COUNT, FAILS_AT_SEVEN, SLOW, USES_WORKSPACE, kernel

Grid = tuple[int, int, int]
Arguments = Callable[[], list[object]]
Told = tuple[girih.Finding, ...] | tuple[girih.Diagnostic, ...]

SAMPLE = (
    "add", "alloca", "associated", "atomic_add", "axpby", "barrier", "cooperative_matrix_apply",
    "cooperative_matrix_load", "cooperative_matrix_mul_add", "cooperative_matrix_store_tensor", "div", "expand", "for",
    "fuse", "gemm", "group_id", "load", "parallel", "shl", "size", "store", "subgroup_broadcast", "subgroup_reduce_add",
    "subview", "tensor_copy_load", "tensor_layout_slice",
)  # fmt: skip
"""Instructions with every kind of parameter, and between them every finding that compiled code makes."""

BIG = ("add", "cooperative_matrix_load", "cooperative_matrix_mul_add", "gemm")
"""Of the sample: what takes long to compile, and finds nothing that the others do not."""

ARRAY = "%A: memref<i64x?>"


def plainly(made: CpuKernel) -> CpuKernel:
    """The same machine code, launched in Python alone."""
    return CpuKernel(made.function, made.compiled, plain=True)


@cache
def both(function: Function) -> tuple[CpuKernel, CpuKernel]:
    """A kernel compiled for this machine, with either way of launching it."""
    made = linked(function, Cpu.host(), "bounds")
    return made, plainly(made)


def outcome(made: CpuKernel, grid: Grid, arguments: list[object]) -> tuple[Told, list[object]]:
    """What a launch finds or refuses, nothing where it runs, and the bytes of the arguments behind it."""
    told: Told = ()
    try:
        made.launch(grid, arguments)
    except girih.KernelError as error:
        told = error.findings
    except girih.LaunchError as error:
        told = error.diagnostics
    return told, [contents(value) for value in arguments]


def contents(value: object) -> object:
    held = vectors.unmark(value)
    if isinstance(held, list):
        return [contents(member) for member in held]
    return held.tobytes() if isinstance(held, np.ndarray) else repr(held)


def same(ways: tuple[CpuKernel, CpuKernel], grid: Grid, arguments: Arguments) -> list[str]:
    """The codes of what both ways of launching find or refuse, which is the same, as what they leave in the arrays."""
    fast, plain = (outcome(made, grid, arguments()) for made in ways)
    assert plain == fast
    return [one.code for one in fast[0]]


def vectors_of(mnemonic: str) -> list[tuple[Function, vectors.Launch]]:
    """The run vectors of an instruction with the functions that they launch."""
    file = corpus.read(corpus.FOLDER / mnemonic / "run.tl")
    launches = [vectors.parse_vector(text) for _, text in file.vectors]
    functions = {f.name: f for f in file.module.functions}
    return [(functions[launch.function], launch) for launch in launches]


def arguments_of(function: Function, launch: vectors.Launch) -> Arguments:
    return lambda: vectors.bind(function, launch.arguments)


@pytest.mark.parametrize("mnemonic", [*(name for name in SAMPLE if name not in BIG), *long(BIG)])
def test_run_vectors(mnemonic: str) -> None:
    for function, launch in vectors_of(mnemonic):
        if launch.expected.findings and not launch.expected.findings - UNCHECKED:
            continue  # what memory holds that nobody wrote is not the same twice
        x, y, z = (*launch.grid, 1, 1)[:3]
        found = same(both(function), (x, y, z), arguments_of(function, launch))
        if (mnemonic, function.name) not in UNSEEN:
            assert set(found) == launch.expected.findings - UNCHECKED, launch


def findings_of(mnemonics: Iterable[str]) -> set[str]:
    paths = [corpus.FOLDER / name / "run.tl" for name in mnemonics]
    # Of programs that nothing runs here, the text will do.
    files = [corpus.File(path, path.read_text(encoding="utf-8"), Module(()), ()) for path in paths]
    launches = [vectors.parse_vector(text) for file in files for _, text in file.vectors]
    return {code for launch in launches for code in launch.expected.findings}


def test_the_sample_has_every_finding_of_compiled_code() -> None:
    everywhere = findings_of(path.parent.name for path in corpus.files("run.tl"))
    for sample in (SAMPLE, set(SAMPLE) - set(BIG)):
        assert findings_of(sample) - UNCHECKED == everywhere - UNCHECKED


def seen(type: str) -> Function:
    """A kernel that stores a scalar parameter."""
    return only(f"""
    func @f(%A: memref<{type}x1>, %a: {type}) {{
        %zero = constant 0 : index
        store %a, %A[%zero]
    }}
    """)


def with_an_array(dtype: type[Any], value: object) -> Arguments:
    return lambda: [np.full(1, 3, dtype), value]


def only(text: str) -> Function:
    """The function of a program that has one."""
    (function,) = girih.parse(text).functions
    return function


NUMBERS: tuple[object, ...] = (
    0, -1, 7, 127, 128, 2**31, 2**63 - 1, -(2**63), 2**63, 10**400, True, None, "1",
    0.0, -0.0, 1.1, 65504.0, 65520.0, 3.4e38, 1e39, 1e-7, 1e-42, float("inf"), float("-inf"), float("nan"),
    1.5 - 2j, 1e39j, np.int8(-7), np.uint64(2**63), np.uint16(65535), np.float16(1.5), np.float32(1.1),
    np.float64(1e39), np.complex64(1 + 2j), np.True_, np.zeros(()), ml_dtypes.bfloat16(1.5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        ("i8", np.int8), ("i16", np.int16), ("i32", np.int32), ("i64", np.int64), ("index", np.int64),
        ("bf16", ml_dtypes.bfloat16), ("f16", np.float16), ("f32", np.float32), ("f64", np.float64),
        ("c32", np.complex64), ("c64", np.complex128),
    ],
)  # fmt: skip
def test_scalars(type: str, dtype: type[Any]) -> None:
    ways = both(seen(type))
    told = [same(ways, (1, 1, 1), with_an_array(dtype, value)) for value in NUMBERS]
    assert [] in told
    assert ["bind.type"] in told
    assert ["bind.null"] in told


def test_truth_values() -> None:
    ways = both(
        only("""
    func @f(%A: memref<i32x1>, %b: bool) {
        if %b {
            %one = constant 1 : i32
            %zero = constant 0 : index
            store %one, %A[%zero]
        }
    }
    """)
    )
    told = [same(ways, (1, 1, 1), with_an_array(np.int32, value)) for value in NUMBERS]
    assert told.count([]) == 2


@pytest.mark.parametrize(
    ("parameters", "arguments", "codes"),
    [
        ("%A: memref<f32x4>", lambda: [np.zeros(5, np.float32)], ["bind.shape"]),
        ("%A: memref<f32x4>", lambda: [np.zeros(4)], ["bind.dtype"]),
        ("%A: memref<f32x4>", lambda: [[1.0, 2.0, 3.0, 4.0]], ["bind.type"]),
        ("%A: memref<f32x4>", lambda: [None], []),
        ("%A: memref<f32x4>", lambda: [], ["bind.count"]),
        ("%A: memref<f32x4>, %n: i8", lambda: [np.zeros(5, np.float32), 128], ["bind.shape", "bind.range"]),
        ("%A: memref<f32x?x?>", lambda: [np.zeros((3, 4), np.float32)], ["bind.stride"]),
        ("%A: memref<f32x?>", lambda: [np.zeros(4, np.float32)[::-1]], ["bind.layout"]),
        ("%A: memref<f32x?> {shape_gcd=[4]}", lambda: [np.zeros(6, np.float32)], ["bind.shape_gcd"]),
        ("%A: memref<i8x?>", lambda: [bytearray(7)], []),
        ("%G: group<memref<f32x4>x2>", lambda: [[np.zeros(4, np.float32)]], ["bind.group_size"]),
        ("%G: group<memref<f32x4>x?>", lambda: [[np.zeros(4, np.float32), None]], []),
        ("%G: group<memref<f32x4>x?>", lambda: [None], []),
        ("%G: group<memref<f32x?>x?,offset:?>", lambda: [[np.zeros(4, np.float32)]], ["bind.group_offset"]),
    ],
)
def test_arguments_that_are_wrong_or_nothing(parameters: str, arguments: Arguments, codes: list[str]) -> None:
    assert same(both(only(f"func @f({parameters}) {{}}")), (1, 1, 1), arguments) == codes


def test_arrays_that_are_read_only() -> None:
    def frozen() -> list[object]:
        array = np.zeros(1, np.float32)
        array.flags.writeable = False
        return [array, 1.0]

    assert same(both(seen("f32")), (1, 1, 1), frozen) == ["bind.read_only"]


def group_members() -> list[object]:
    a, b = np.arange(8, dtype=np.float32), np.arange(3, dtype=np.float32)
    return [girih.Group([a, None, b], offset=2), np.zeros(1, np.float32)]


@pytest.mark.parametrize(("grid", "codes"), [((1, 1, 1), []), ((2, 1, 1), ["run.null"]), ((1, 3, 1), [])])
def test_groups(grid: Grid, codes: list[str]) -> None:
    ways = both(
        only("""
    func @f(%G: group<memref<f32x?>x?,offset:?>, %sum: memref<f32x1>) {
        %g = group_id.x : index
        %A = load %G[%g] : memref<f32x?>
        %zero = constant 0 : index
        %a = load %A[%zero] : f32
        store %a, %A[%zero]
        store %a, %sum[%zero]
    }
    """)
    )
    assert same(ways, grid, group_members) == codes


@pytest.mark.parametrize(
    "grid", [(0, 1, 1), (3, 0, 2), (1, 1, 0), (1, 1, 1), (7, 3, 5), (2, 1, 11), (1, 1, 1000), (2**31 - 1,) * 3]
)
def test_grids(grid: Grid) -> None:
    ways = both(
        only("""
    func @f(%A: memref<i64x?x?x?>) {
        %x = group_id.x : index
        %y = group_id.y : index
        %z = group_id.z : index
        %nx = num_groups.x : index
        %ny = num_groups.y : index
        %rows = mul %ny, %z : index
        %row = add %rows, %y : index
        %before = mul %nx, %row : index
        %number = add %before, %x : index
        %element = cast %number : i64
        store %element, %A[%x, %y, %z]
    }
    """)
    )
    sizes = [min(n, 1000) for n in grid] if max(grid) <= 1000 else [1, 1, 1]
    codes = same(ways, grid, lambda: [np.full(sizes, -1, np.int64, order="F")])
    assert codes == (["bind.grid"] if max(grid) > 1000 else [])


@pytest.mark.parametrize("body", [COUNT, FAILS_AT_SEVEN, USES_WORKSPACE])
def test_kernels_of_the_launcher_s_own_tests(body: str) -> None:
    made = kernel(ARRAY, body, workspace_bytes=100, serial_groups=10**6)
    found = same((made, plainly(made)), (4, 3, 5), lambda: [np.zeros(60, np.int64)])
    assert found == (["run.out_of_bounds"] if body is FAILS_AT_SEVEN else [])


@pytest.mark.parametrize("size", [2**50, 2**70])
def test_a_workspace_that_no_machine_has(size: int) -> None:
    made = kernel(ARRAY, COUNT, workspace_bytes=size)
    assert same((made, plainly(made)), (1, 1, 1), lambda: [np.zeros(1, np.int64)]) == ["bind.memory"]


def test_no_launcher_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that does not offer what the launcher calls: programs run all the same."""
    monkeypatch.setattr(kernel_module, "launcher", lambda: None)
    monkeypatch.setattr(kernel_module, "process_pool", pytest.fail)
    program = girih.loads("func @f(%A: memref<f32x4>) { %two = constant 2.0 : f32 axpby %two, %A, %two, %A }")
    data: NDArray[np.float32] = np.ones(4, np.float32)
    program["f"][1](data)
    assert data.tolist() == [4.0] * 4


def test_what_the_launcher_needs_of_a_process() -> None:
    names = launcher.needed(launcher.launcher_text(Cpu.host()))
    assert {"PyTuple_GetItem", "_Py_NoneStruct", "malloc"} <= set(names)
    assert not [name for name in names if name.startswith("llvm.") or not is_exported(name)]
    assert not is_exported("girih_no_such_function")


def test_a_process_that_lacks_a_function_has_no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    text = launcher.launcher_text(Cpu.host())
    more = (
        "declare void @girih_no_such_function()\ndefine void @unused() { call void @girih_no_such_function() ret void }"
    )
    monkeypatch.setattr(launcher, "launcher_text", lambda cpu: text + more)
    assert launcher.launcher.__wrapped__() is None


def test_an_interrupt_comes_between_two_work_groups() -> None:
    made = plainly(kernel(ARRAY, SLOW))
    data = np.zeros(1, np.int64)

    def interrupt() -> None:
        while not data[0]:
            pass
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            made.launch((10**9, 1, 1), (data,))
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
