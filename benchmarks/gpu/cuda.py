"""Kernels on an NVIDIA GPU by target `cuda`, against PyTorch, cuBLAS, CuPy and the copy bandwidth of the same run.

    python -m benchmarks.gpu.cuda                    every problem below, in a few minutes
    python -m benchmarks.gpu.cuda --quick            small sizes, to see that everything runs
    python -m benchmarks.gpu.cuda --only batched     only problems with that word in their name; also `launch`, `cache`
    python -m benchmarks.gpu.cuda --save [--to FILE] also write benchmarks/results/DATE-cuda.json, or another file

Everything is timed in one process between CUDA events, in turns: ours with checks and without, the peers, and a copy.
A ratio is the median over the rounds of neighbours in time. Goals in GB/s are scaled by the copy bandwidth. Then come
what a launch costs beyond `cuLaunchKernel`, and the way from a cached cubin to a kernel that has run. The exit status
is 1 where a result was wrong, and 2 without a GPU, PyTorch or cuda-bindings.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import girih
from benchmarks.gpu.cuda_problems import COPY, PROBLEMS, QUICK, CudaProblem, Tensors
from girih.bench.machine import environment

RESULTS = Path(__file__).resolve().parent.parent / "results"
ROUNDS = 9
"""How often each function has its turn."""

TURN_SECONDS = 0.02
"""How long a turn is about."""

OURS, UNCHECKED, COPIED = "girih", "girih, checks off", "copy"

Turn = Callable[[int], object]


def torch_on_cuda() -> Any | None:
    """PyTorch where it has a GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def in_turns(
    torch: Any, functions: Mapping[str, Turn], sets: int, rounds: int = ROUNDS, seconds: float = TURN_SECONDS
) -> dict[str, list[float]]:
    """The seconds of a call of each function, by round; calls go round the sets, and rounds begin with another one.

    A turn takes about `seconds`.
    """

    def timed(call: Turn, count: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for number in range(count):
            call(number % sets)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / count

    counts = {}
    for name, call in functions.items():
        timed(call, sets)
        counts[name] = max(sets, min(1000, int(seconds / max(timed(call, sets), 1e-9)) // sets * sets))
    order = list(functions)
    found: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            found[name].append(timed(functions[name], counts[name]))
        order.append(order.pop(0))
    return found


def ratio(times: Mapping[str, Sequence[float]], name: str, over: str) -> float:
    """The median over the rounds of the time of one function over that of another."""
    return median(a / b for a, b in zip(times[name], times[over], strict=True))


def loaded(problem: CudaProblem, checks: str) -> girih.Program:
    """The kernels of a problem."""
    if isinstance(problem.text, Path):
        return girih.load(problem.text, "cuda", problem.definitions, order="C", checks=checks)
    return girih.loads(problem.text, "cuda", problem.definitions, order="C", checks=checks)


def launcher(problem: CudaProblem, checks: str, sets: Sequence[Tensors]) -> Turn:
    """What launches the kernels of a problem on a set."""
    program = loaded(problem, checks)
    prepared = [
        [(program[name], arguments(tensors)) for name, arguments in problem.launches] for tensors in sets
    ]  # fmt: skip

    def launch(number: int) -> None:
        for kernel, arguments in prepared[number]:
            kernel(*arguments)

    return launch


def error_of(torch: Any, problem: CudaProblem, launch: Turn, tensors: Tensors) -> float:
    """How far the result of a launch on the first set is from what is expected, as a part of how far it may be."""
    expected = problem.expected(torch, tensors)
    expected = expected.double() if expected.is_floating_point() else expected.clone()
    launch(0)
    torch.cuda.synchronize()
    difference = float((problem.result(tensors).to(expected.dtype) - expected).abs().max())
    bound = problem.bound * float(expected.abs().max())
    return difference / bound if bound else float("inf") if difference else 0.0


def measured(torch: Any, problem: CudaProblem) -> dict[str, Any]:
    """The row of a problem."""
    sets = [problem.tensors(torch, number) for number in range(problem.sets)]
    ways = {OURS: launcher(problem, "bounds", sets), UNCHECKED: launcher(problem, "off", sets)}
    errors = {name: error_of(torch, problem, launch, sets[0]) for name, launch in ways.items()}
    row: dict[str, Any] = {"name": problem.name, "bytes": problem.bytes, "sets": problem.sets, "errors": errors}
    if not all(error <= 1 for error in errors.values()):
        row["refused"] = f"wrong: {max(errors.values()):.3g} times as far from what is expected as it may be"
        return row
    half = torch.empty(int(problem.bytes) // 8, device="cuda")
    sources = [torch.empty_like(half) for _ in sets]
    peers = problem.peers(torch, sets)
    functions: dict[str, Turn] = {**ways, **peers, COPIED: lambda k: half.copy_(sources[k])}
    times = in_turns(torch, functions, problem.sets)
    rates = {name: problem.bytes / median(one) / 1e9 for name, one in times.items()}
    row |= {
        "GB/s": rates,
        "of copy": ratio(times, COPIED, OURS),
        "checks": ratio(times, UNCHECKED, OURS),
        "ratios": {name: ratio(times, name, OURS) for name in peers},
        "verdict": verdict(problem, rates, {name: ratio(times, name, OURS) for name in (*peers, COPIED)}),
    }
    return row


def verdict(problem: CudaProblem, rates: Mapping[str, float], ratios: Mapping[str, float]) -> str:
    """What the better of both modes reached: `short`, `first` or `world class`.

    A goal that is a ratio holds for the fastest peer, or for the copy where that is nearer.
    """
    if problem.of_peer:
        peers = [value for name, value in ratios.items() if name != COPIED]
        value = max(min(peers, default=0.0), ratios[COPIED]) * max(rates[OURS], rates[UNCHECKED]) / rates[OURS]
        goals = problem.goals
    else:
        value = max(rates[OURS], rates[UNCHECKED])
        goals = (problem.goals[0] * rates[COPIED] / COPY, problem.goals[1] * rates[COPIED] / COPY)
    return "short" if value < goals[0] else "world class" if value >= goals[1] else "first"


# --- launches ------------------------------------------------------------------------------

SMALL = """
func @small(%x: f32, %A: memref<f32x?>, %B: memref<f32x?>, %C: memref<f32x?>)
    attributes {subgroup_size=32, work_group_size=[32,1], grid=[1]} {
}
"""

LOOP = """
define double @loop(ptr %launch, ptr %function, ptr %parameters, i32 %count) {
entry:
  br label %next
next:
  %k = phi i32 [ 0, %entry ], [ %more, %next ]
  %failed = call i32 %launch(ptr %function, i32 1, i32 1, i32 1, i32 32, i32 1, i32 1, i32 0, ptr null,
                             ptr %parameters, ptr null)
  %more = add i32 %k, 1
  %again = icmp slt i32 %more, %count
  br i1 %again, label %next, label %end
end:
  ret double 0.0
}
"""

EMPTY_PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry empty(.param .align 8 .b8 a[128], .param .u64 b, .param .u64 c, .param .u64 d) { ret; }
\0"""

GROUP = """
func @members(%x: c32, %A: group<memref<f32x?>x?>) attributes {subgroup_size=32, work_group_size=[32,1], grid=[1]} {
}
"""

AT_ONCE = 200
"""The launches between two waits: more than the driver queues would be waited for."""


def bare_launch() -> Callable[[], object]:
    """What launches an empty kernel so often by `cuLaunchKernel`, in machine code."""
    import llvmlite.binding as llvm
    from cuda.bindings import driver

    _, module = driver.cuModuleLoadData(EMPTY_PTX)
    _, function = driver.cuModuleGetFunction(module, b"empty")
    held = [ctypes.create_string_buffer(128), *(ctypes.c_uint64(0) for _ in range(3))]
    parameters = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in held))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(LOOP), machine)
    engine.finalize_object()
    pointer = ctypes.c_void_p
    loop = ctypes.CFUNCTYPE(ctypes.c_double, pointer, pointer, pointer, ctypes.c_int)(
        engine.get_function_address("loop")
    )
    launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, pointer)
    kept = (engine, held, parameters, module)

    def call() -> object:
        return loop(launch, int(function), ctypes.addressof(kept[2]), AT_ONCE)

    return call


def _tensors(torch: Any) -> list[object]:
    return [1.0, *(torch.zeros(8, device="cuda") for _ in range(3))]


def _list(torch: Any) -> list[object]:
    return [1j, [torch.zeros(8, device="cuda") for _ in range(3)]]


def _group(torch: Any) -> list[object]:
    return [1j, girih.Group([torch.zeros(8, device="cuda") for _ in range(1024)])]


def _of_cupy(torch: Any) -> list[object]:
    cupy = import_module("cupy")
    return [1.0, *(cupy.zeros(8, "float32") for _ in range(3))]


def _of_jax(torch: Any) -> list[object]:
    jax = import_module("jax.numpy")
    return [1.0, *(jax.zeros(8, "float32") for _ in range(3))]


LAUNCHED: Mapping[str, tuple[str, Callable[[Any], list[object]], int]] = {
    "a launch, 3 tensors and a number": (SMALL, _tensors, 1),
    "a launch, a list of 3 tensors and a complex number": (GROUP, _list, 1),
    "a launch, a group of 1024 tensors and a complex number": (GROUP, _group, 1),
    "a launch, 3 arrays of CuPy and a number": (SMALL, _of_cupy, 1),
    "a launch, 3 arrays of CuPy, others each time": (SMALL, _of_cupy, 64),
    "a launch, 3 arrays of JAX and a number": (SMALL, _of_jax, 1),
    "a launch, 3 arrays of JAX, others each time": (SMALL, _of_jax, 64),
}
"""The launches that are timed, by name: a program of one kernel, its arguments, how many sets of which take turns."""

FROM_CACHE = "from the cache"


def launch_overhead(torch: Any, name: str) -> dict[str, Any]:
    """What a launch from Python costs beyond `cuLaunchKernel` alone, in microseconds of this thread."""
    text, make, count = LAUNCHED[name]
    try:
        sets = [make(torch) for _ in range(count)]
    except ImportError as error:
        return {"name": name, "refused": str(error)}
    (kernel,) = girih.loads(text, "cuda").values()
    tensor = torch.zeros(8, device="cuda")

    def ours() -> None:
        for arguments in islice(cycle(sets), AT_ONCE):
            kernel(*arguments)

    def of_torch() -> None:
        for _ in range(AT_ONCE):
            tensor.add_(1.0)

    found: dict[str, list[float]] = {"girih": [], "cuLaunchKernel": [], "torch add_": []}
    calls = {"girih": ours, "cuLaunchKernel": bare_launch(), "torch add_": of_torch}
    for turn in range(ROUNDS + 2):
        for way, call in calls.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            found[way].append((time.perf_counter() - begin) / AT_ONCE * 1e6)
            torch.cuda.synchronize()
        if turn == 1:
            found = {way: [] for way in found}
    times = {way: median(one) for way, one in found.items()}
    beyond = median(a - b for a, b in zip(found["girih"], found["cuLaunchKernel"], strict=True))
    reached = "short" if beyond > 1.5 else "world class" if beyond <= 0.3 else "first"
    return {"name": name, "us": times, "beyond": beyond, "verdict": reached}


def from_cache(torch: Any) -> dict[str, Any]:
    """The milliseconds from a text whose machine code is cached to a kernel that has run, in this process."""
    tensors = [torch.zeros(8, device="cuda") for _ in range(3)]
    girih.loads(SMALL, "cuda")["small"](1.0, *tensors)
    loads, firsts = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        kernel = girih.loads(SMALL, "cuda")["small"]
        loads.append((time.perf_counter() - begin) * 1e3)
        begin = time.perf_counter()
        kernel(1.0, *tensors)
        torch.cuda.synchronize()
        firsts.append((time.perf_counter() - begin) * 1e3)
    whole = median(map(sum, zip(loads, firsts, strict=True)))
    reached = "short" if whole > 2 else "world class" if whole <= 0.5 else "first"
    return {
        "name": FROM_CACHE,
        "ms": {"loads": median(loads), "first launch": median(firsts)},
        "verdict": reached,
    }


# --- the table -----------------------------------------------------------------------------


def show(row: Mapping[str, Any]) -> None:
    """Print a row."""
    if "refused" in row:
        print(f"{row['name']:32} {row['refused']}", flush=True)
        return
    if "GB/s" not in row:
        figures = ", ".join(f"{name} {value:.2f}" for name, value in (row.get("us") or row["ms"]).items())
        unit, beyond = ("us", f"; beyond {row['beyond']:.2f} us") if "us" in row else ("ms", "")
        print(f"{row['name']:32} {figures} {unit}{beyond}: {row['verdict']}", flush=True)
        return
    rates = ", ".join(f"{name} {value:.0f}" for name, value in row["GB/s"].items())
    ratios = "".join(f"; {value:.2f} x {name}" for name, value in row["ratios"].items())
    print(f"{row['name']:32} GB/s: {rates}{ratios}; checks {row['checks']:.2f}: {row['verdict']}", flush=True)


def rows(torch: Any, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows that are asked for, one after another."""
    for problem in QUICK if arguments.quick else PROBLEMS:
        if arguments.only in problem.name:
            try:
                yield measured(torch, problem)
            except (girih.CompileError, girih.LaunchError, girih.KernelError) as error:
                yield {"name": problem.name, "refused": " ".join(str(error).split())[:300]}
            torch.cuda.empty_cache()
    for name in LAUNCHED:
        if arguments.only in name:
            yield launch_overhead(torch, name)
    if arguments.only in FROM_CACHE:
        yield from_cache(torch)


def machine(torch: Any) -> dict[str, Any]:
    """The environment, with the device and its driver."""
    from cuda.bindings import driver

    _, version = driver.cuDriverGetVersion()
    name = torch.cuda.get_device_name()
    return {**environment(1), "device": name, "cuda_driver": version, "cuda": torch.version.cuda}


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The arguments of every script that measures kernels on an NVIDIA GPU."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a word of the names of problems")
    parser.add_argument("--commit", help="the commit, where the files have no history beside them")
    parser.add_argument("--save", action="store_true", help="write the figures")
    parser.add_argument("--to", type=Path, help="the file for the figures")
    return parser


def begun(arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]] | None:
    """PyTorch, without gradients, and the environment, which is printed; None, said on stderr, without a GPU."""
    torch = torch_on_cuda()
    if torch is None:
        print("not measured: PyTorch with a GPU is what kernels are compared with", file=sys.stderr)
        return None
    torch.set_grad_enabled(False)
    where = machine(torch)
    where["commit"] = arguments.commit or where["commit"]
    print(f"{where['device']}, girih {where['commit']}, torch {where['torch']}", flush=True)
    return torch, where


def kept_rows(
    found: Iterable[dict[str, Any]], show: Callable[[dict[str, Any]], None], where: Mapping[str, Any],
    arguments: argparse.Namespace, name: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows, shown and, where the arguments ask for it, written one after another; `name` ends that of the file."""
    target = arguments.to or RESULTS / f"{where['date']}-{name}.json"
    kept: list[dict[str, Any]] = []
    for row in found:
        kept.append(row)
        show(row)
        if arguments.save or arguments.to:
            target.write_text(json.dumps({"environment": where, "rows": kept}, indent=1) + "\n", encoding="utf-8")
    return kept


def status_of(rows: Iterable[Mapping[str, Any]]) -> int:
    """The exit status: 1 where a result was wrong."""
    return 1 if any(str(row.get("refused", "")).startswith("wrong") for row in rows) else 0


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    arguments = parser.parse_args(words)
    begin = begun(arguments)
    if begin is None:
        return 2
    torch, where = begin
    return status_of(kept_rows(rows(torch, arguments), show, where, arguments, "cuda"))


if __name__ == "__main__":
    sys.exit(main())
