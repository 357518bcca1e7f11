"""The costs of a kernel before and around its work: compiling, starting, finding it in the cache, calling it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.bench.cases.case import MANY, Case
from girih.bench.measuring.context import MeasuringContext, text
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.timing import clock_for, interleaved
from girih.ir.core import Function
from girih.kernels.texts import path
from girih.program import compile_source, read_source
from girih.runtime.cache import Cache, kernel_key
from girih.runtime.cpu.executor import lowered
from girih.runtime.cpu.kernel import CpuKernel
from girih.runtime.cpu.machine import code_identity

_COMPILED: tuple[tuple[str, str, str, dict[str, object]], ...] = (
    ("small kernel", "gemm_batched", "gemm_batched_nn", {"M": 16, "N": 16, "K": 16}),
    ("gemm", "gemm_panel", "gemm_panel", {}),
    ("attention", "attention", "attention", {"headdim": 64}),
)
"""What is compiled: its name in the table, a text, its function and its definitions."""


def function_of(file: Path, name: str, definitions: dict[str, object]) -> Function:
    """A function of a file, parsed and checked. Raises `CompileError`."""
    module, _ = compile_source(read_source(file), definitions)
    found = module.function(name)
    if found is None:
        raise ValueError(f"{file} has no function {name}")
    return found


def milliseconds(call: Callable[[], object], runs: int) -> float:
    """The median processor time of a call, in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return 1e3 * median(times)


def compiling(
    context: MeasuringContext, what: str, file: Path, name: str, definitions: dict[str, object]
) -> list[Measurement]:
    """The rows for LLVM's part of a compilation, and for the parts before it."""
    cpu, checks, runs = Cpu.host(), context.checks[0], 3 if context.quick else 7
    function = function_of(file, name, definitions)
    made = lowered(function, cpu, checks)
    code = assemble(made.text, cpu, made.optimize)
    figures = {
        "ms": milliseconds(lambda: assemble(made.text, cpu, made.optimize), runs),
        "front_ms": milliseconds(lambda: function_of(file, name, definitions), runs),
        "lower_ms": milliseconds(lambda: lowered(function, cpu, checks), runs),
        "ir_lines": float(made.text.count("\n")),
        "code_bytes": float(len(code)),
    }
    note = f"before it: front {figures['front_ms']:.1f} ms, lowering {figures['lower_ms']:.1f} ms"
    return [
        Measurement(
            "compile",
            f"compile {what}, LLVM",
            figures["ms"] / 1e3,
            checks=checks,
            figures=figures,
            note=note,
        )
    ]


_START = """
import json, time
from functools import wraps
spent, inner = {{}}, [0.0]

def timed(name, function):
    # What a part spends in other parts is theirs alone.
    @wraps(function)
    def run(*arguments, **named):
        inner.append(0.0)
        start = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            whole = time.perf_counter() - start
            spent[name] = spent.get(name, 0.0) + 1e3 * (whole - inner.pop())
            inner[-1] += whole
    return run

def imports():
    global girih, loading, assembler, executor, kernel
    import girih
    from girih.api import loading
    from girih.back.llvm.assemble import assembler
    from girih.back.llvm.cpu import compile
    from girih.runtime.cpu import executor, kernel

def work():
    attention = girih.load({path!r}, target="cpu", checks={checks!r})["attention"]
    q, k, v, o = (np.ones((64, 64, 1), np.float32, order="F") for _ in range(4))
    timed("first call", attention[2, 1])(q, k, v, o, 0.125)
    assert abs(o - 1).max() < 1e-4

timed("import numpy", lambda: globals().update(np=__import__("numpy")))()
timed("import girih", imports)()
assembler.llvm = timed("import llvmlite", assembler.llvm)
executor.assemble = timed("LLVM", executor.assemble)
kernel.link = timed("link", kernel.link)
executor.lowered = timed("lower", executor.lowered)
loading.compile_source = timed("parse and check", loading.compile_source)
timed("rest", work)()
print(json.dumps(spent))
"""


def start(context: MeasuringContext) -> list[Measurement]:
    """The rows for a fresh process up to the first result of attention, with an empty and with a full cache of code."""
    script = _START.format(path=str(path("attention")), checks=context.checks[0])
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(1 + (3 if context.quick else 7)):
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o700)
                cold.append(_process(script, folder, bytecode))
                warm.append(_process(script, folder, bytecode))
    # The first process has written Python's bytecode, which an installed package has from the start.
    cold, warm = cold[1:], warm[1:]
    return [
        _start_row("cold process to attention", cold),
        _start_row("the same from the disk cache", warm),
    ]


def _process(script: str, folder: str, bytecode: str) -> dict[str, float]:
    """The milliseconds of a fresh process and its parts; `bytecode` is where it keeps that of Python's files."""
    environment = {**os.environ, "GIRIH_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    whole = 1e3 * (time.perf_counter() - begin)
    if done.returncode:
        raise RuntimeError(f"a fresh process failed: {done.stderr.strip().splitlines()[-1:]}")
    marks: dict[str, float] = json.loads(done.stdout)
    return {"ms": whole, "python": whole - sum(marks.values()), **marks}


def _start_row(name: str, runs: Sequence[dict[str, float]]) -> Measurement:
    figures = {key: median(run.get(key, 0.0) for run in runs) for key in runs[0]}
    split = ", ".join(f"{key} {value:.0f}" for key, value in figures.items() if key != "ms" and value >= 1)
    return Measurement("start", name, figures["ms"] / 1e3, figures=figures, note=split)


def from_cache(context: MeasuringContext) -> list[Measurement]:
    """The row for loading a kernel from a file of the cache, in a process that has compiled before."""
    cpu, checks = Cpu.host(), context.checks[0]
    function = function_of(path("attention"), "attention", {"headdim": 64})
    made = lowered(function, cpu, checks)
    compiled = replace(made.kernel, object=assemble(made.text, cpu, made.optimize))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        cache = Cache(Path(folder))
        key = kernel_key(function, checks, code_identity(function, cpu))
        cache.put(key, compiled.to_bytes())
        CpuKernel(function, compiled)
        held: list[CpuKernel] = []
        figures = {
            "ms": milliseconds(lambda: _cached(function, cache, checks, cpu, held), 5 if context.quick else 51),
            "key_ms": milliseconds(lambda: kernel_key(function, checks, code_identity(function, cpu)), 9),
            "read_ms": milliseconds(lambda: cache.get(key), 9),
            "link_ms": milliseconds(lambda: held.append(CpuKernel(function, compiled)), 9),
        }
    note = ", ".join(f"{name.removesuffix('_ms')} {figures[name]:.2f} ms" for name in ("key_ms", "read_ms", "link_ms"))
    return [
        Measurement(
            "cache",
            "disk cache to callable, attention",
            figures["ms"] / 1e3,
            checks=checks,
            figures=figures,
            note=note,
        )
    ]


def _cached(function: Function, cache: Cache, checks: str, cpu: Cpu, held: list[CpuKernel]) -> None:
    kept = cache.get(kernel_key(function, checks, code_identity(function, cpu)))
    if kept is None:
        raise RuntimeError("the cache has lost what was put into it")
    held.append(CpuKernel(function, CompiledKernel.from_bytes(kept)))


def call(context: MeasuringContext) -> list[Measurement]:
    """The row for a call, with four arrays and four numbers, of a kernel that does nothing."""
    arrays: list[Any] = [np.zeros(4, np.float32), np.zeros(4, np.float32), *(np.zeros((4, 4), np.float32, "F"),) * 2]
    arguments = (0.5, 1.5, 3, 4, *arrays)
    calls = context.calls(text("calls"), "eight", 1, arguments)
    name = "call, 4 arrays and 4 scalars"
    scalars = (np.float32(0.5), np.float32(1.5), np.int32(3), np.int64(4))
    typed = context.calls(text("calls"), "eight", 1, (*scalars, *arrays))
    checks = context.checks[0]
    kernel = context.program(text("calls"), checks, {})["eight"]
    return [
        _call_row(context, name, calls, "kernel[1] made before"),
        _call_row(context, f"{name} of NumPy", typed, "kernel[1] made before"),
        _call_row(context, f"{name}, with kernel[1]", {checks: lambda: kernel[1](*arguments)},
                  "a Python function around it"),
    ]  # fmt: skip


def empty_grid(context: MeasuringContext) -> list[Measurement]:
    """The row for a grid with one work-group for each thread, which do nothing."""
    calls = context.calls(text("calls"), "nothing", context.threads, ())
    return [_call_row(context, f"empty grid, {context.threads} threads", calls)]


def _call_row(
    context: MeasuringContext, name: str, calls: dict[str, Callable[[], object]], note: str = ""
) -> Measurement:
    main = next(iter(calls))
    seconds = interleaved({"girih": calls[main]}, context.effort, clock_for(context.threads)).median("girih")
    return Measurement("calls", name, seconds, context.threads, main, figures={"us": 1e6 * seconds}, note=note)


def cases() -> Iterator[Case]:
    """The cases of compiling, starting, loading and calling."""
    for what, file, name, definitions in _COMPILED:
        place = text(file) if file == "gemm_panel" else path(file)
        yield Case("compile", f"compile {what}", partial(compiling, what=what, file=place, name=name,
                                                         definitions=definitions))  # fmt: skip
    yield Case("start", "cold process to attention", start)
    yield Case("cache", "disk cache to callable", from_cache)
    yield Case("calls", "call", call)
    yield Case("calls", "empty grid", empty_grid, MANY)
