"""Measure how launches scale: over threads, down to small grids, and beside another process on the same CPUs.

    python benchmarks/cpu/scaling.py                 all parts
    python benchmarks/cpu/scaling.py small together  some of them

`peak`      multiply-adds in registers: how many times one thread's operations the CPUs do, which bounds all else
`product`   `gemm` in blocks, f32 and f64, against NumPy
`behind`    the same product right behind one of NumPy, whose threads spin on for a while, over the time by itself
`stream`    y := a x + b y, from memory
`small`     grids of 2 to 1024 work-groups of 0.05 to 50 us: the speed-up over one thread, threads awake and asleep
`together`  two processes with all threads each: what both do over what one does alone, and the longest launch

The number of threads is that of the pool: GIRIH_NUM_THREADS, or the CPUs. Nothing is asserted here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np

import girih
from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.bench.cases.products import blocks
from girih.bench.measuring.context import random, text, zeros
from girih.bench.measuring.timing import REST, Call, Effort, interleaved, rest_for
from girih.runtime.cpu.executor import linked
from girih.runtime.cpu.kernel import CpuKernel
from girih.runtime.cpu.pool import process_pool, thread_count
from girih.runtime.cpu.rates import multiply_adds

EFFORT = Effort(0.005, 9)

CHAIN = """
func @chain(%steps: index, %A: memref<f32x?>) {
    %group = group_id.x : index
    %zero = constant 0 : index
    %half = constant 0.5 : f32
    %sum = for %i = %zero, %steps init (%s=%half) -> (f32) {
        %less = mul %s, %half : f32
        %more = add %less, %half : f32
        yield (%more)
    }
    store %sum, %A[%group]
}
"""
"""Work-groups whose time is a parameter, so that the text says nothing about it."""

PEAK = """
define void @kernel(ptr %arguments, ptr %workspace, i64 %first, i64 %last) {
entry:
  br label %group
group:
  %number = phi i64 [ %first, %entry ], [ %next, %group ]
  call void @peak(i64 50000, ptr %workspace)
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, %last
  br i1 %more, label %group, label %out
out:
  ret void
}
"""

ASLEEP = 4e-4
"""Seconds after which the threads of a pool sleep."""


def chain(serial_groups: int | None = None) -> CpuKernel:
    """The kernel `CHAIN`, where asked for with another number of work-groups that stay on the calling thread."""
    made = linked(girih.parse(CHAIN).functions[0], Cpu.host(), "off")
    if serial_groups is None:
        return made
    return CpuKernel(made.function, replace(made.compiled, serial_groups=serial_groups))


def medians(calls: Mapping[str, Call]) -> dict[str, float]:
    """The seconds of each call, called in turns."""
    samples = interleaved(calls, EFFORT, rest=rest_for(thread_count()))
    return {name: samples.median(name) for name in calls}


def peak() -> None:
    """Operations a second of 1 to 64 equal work-groups, over those of one."""
    for type in ("f32", "f64"):
        body, operations = multiply_adds(type, Cpu.host())
        function = girih.parse("func @kernel(%A: memref<i64x?>) {}").functions[0]
        code = assemble(body + PEAK, Cpu.host())
        kernel = CpuKernel(function, CompiledKernel("kernel", "kernel", code, 65536, (), 8, (8, 1), 1))
        memory = np.zeros(16, np.int64)
        counts = [k for k in (1, 2, 4, 8, 12, 16, 32, 64) if k <= 4 * thread_count()]
        took = medians({str(k): partial(kernel.launch, (k, 1, 1), (memory,)) for k in counts})
        ratios = "  ".join(f"{k}: {k * took['1'] / took[str(k)]:.2f}" for k in counts)
        print(f"peak {type}: {50000 * operations / took['1'] / 1e9:.0f} GFLOP/s on one thread; times that for {ratios}")


def product() -> None:
    """GFLOP/s of products in blocks, by the number of work-groups for each thread."""
    for type in ("f32", "f64"):
        program = girih.load(
            text("gemm_block"), target="cpu", definitions={"type": type, "accumulator": type}, checks="off"
        )
        for n in (1024, 2048):
            a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(type, n, n)
            out = np.zeros((n, n), a.dtype, order="F")
            calls: dict[str, Call] = {"numpy": partial(np.matmul, b.T, a.T, out=out.T)}
            for each in (0, 1, 2, 4, 8):
                down, across = blocks(max(1, each * thread_count()))
                high, broad = -(-n // down), -(-n // across)
                name = f"{each} a thread" if each else "one thread"
                calls[name] = partial(program["gemm_block"][down, across], 1.0, a, b, 0.0, c, high, broad)
            rates = "  ".join(f"{name}: {2 * n**3 / took / 1e9:.0f}" for name, took in medians(calls).items())
            print(f"gemm {type} n={n}, GFLOP/s: {rates}")


def behind() -> None:
    """How many times as long a launch takes when the threads of another library have just been used."""
    for n in (512, 1024, 2048):
        launch, other = launches(f"gemm {n}"), launches(f"numpy {n}")
        by_itself, behind_other = [], []
        for _ in range(15):
            by_itself.append(after_a_pause(launch, REST))
            other()
            behind_other.append(after_a_pause(launch, 0.0))
        print(f"gemm f32 n={n} behind NumPy: {median(behind_other) / median(by_itself):.2f} of the time by itself")


def stream() -> None:
    """GB/s of vectors that are far larger than the caches, by the number of work-groups."""
    kernel = girih.load(text("vectors"), target="cpu", checks="off")["axpby_panel"]
    count = 1 << 26
    x, y = np.ones(count, np.float32), np.ones(count, np.float32)
    calls = {
        str(groups): partial(kernel[groups], 0.5, x, 0.5, y, -(-count // groups))
        for groups in (1, thread_count(), 4 * thread_count(), 1024, 16384)
    }
    rates = "  ".join(f"{groups}: {12 * count / took / 1e9:.0f}" for groups, took in medians(calls).items())
    print(f"axpby of {count} f32, GB/s by work-groups: {rates}")


def small() -> None:
    """Speed-ups of small grids over the same on one thread."""
    data = np.zeros(4096, np.float32)
    alone = chain(serial_groups=10**9)
    step = medians({"": partial(alone.launch, (1, 1, 1), (100_000, data))})[""] / 100_000
    for microseconds in (0.05, 0.2, 1.0, 3.0, 10.0, 50.0):
        cells = []
        for groups in (2, 4, 8, 16, 32, 64, 256, 1024):
            if groups * microseconds < 3000:
                kernel, arguments = chain(), (max(1, round(1e-6 * microseconds / step)), data)
                calls = {"one": partial(alone.launch, (groups, 1, 1), arguments),
                         "all": partial(kernel.launch, (groups, 1, 1), arguments)}  # fmt: skip
                awake = interleaved(calls, EFFORT).ratio("one", "all")
                asleep = median(after_a_pause(calls["one"]) / after_a_pause(calls["all"]) for _ in range(15))
                cells.append(f"{groups}: {awake:.2f}/{asleep:.2f}")
        print(f"small, {microseconds} us each, over one thread awake/asleep: {'  '.join(cells)}")


def after_a_pause(call: Call, pause: float = ASLEEP) -> float:
    """The seconds of a call after a pause, in which this thread does not sleep."""
    end = time.perf_counter() + pause
    while (start := time.perf_counter()) < end:
        pass
    call()
    return time.perf_counter() - start


def launches(name: str) -> Call:
    """A launch that processes do beside each other, or what NumPy does."""
    work, _, number = name.partition(" ")
    n = int(number)
    if work == "chain":
        return partial(chain().launch, (64, 1, 1), (n, np.zeros(64, np.float32)))
    a, b, c = random("f32", n, n), random("f32", n, n, seed=1), zeros("f32", n, n)
    if work == "numpy":
        return partial(np.matmul, b.T, a.T, out=c.T)
    down, across = blocks(4 * thread_count())
    kernel = girih.load(text("gemm_block"), target="cpu", checks="off")["gemm_block"]
    return partial(kernel[down, across], 1.0, a, b, 0.0, c, -(-n // down), -(-n // across))


def child(name: str) -> None:
    """For each line of the input: launches for 0.3 s; how many in a second, and the median and the longest of them."""
    call = launches(name)
    call()
    print(flush=True)
    while sys.stdin.readline().strip():
        took: list[float] = []
        end = time.perf_counter() + 0.3
        while (start := time.perf_counter()) < end:
            call()
            took.append(time.perf_counter() - start)
        print(len(took) / 0.3, median(took), max(took), flush=True)


def together() -> None:
    """What two processes do beside each other."""
    for name in ("gemm 256", "gemm 1024", "chain 100", "chain 2000", "numpy 1024"):
        command = [sys.executable, __file__, "--child", name]
        pair = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            for _ in range(2)
        ]
        answers(pair)
        (one,) = asked(pair[:1])
        both = asked(pair)
        for process in pair:
            process.communicate()
        longest = 1e3 * max(row[2] for row in both)
        print(f"{name}: both do {sum(row[0] for row in both) / one[0]:.2f} of one alone; median {1e3 * one[1]:.3f} ms "
              f"alone, {1e3 * both[0][1]:.3f} ms beside, longest {longest:.1f} ms")  # fmt: skip


def asked(processes: Sequence[subprocess.Popen[str]]) -> list[list[float]]:
    """The answers of processes that all measure at once."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
    return answers(processes)


def answers(processes: Sequence[subprocess.Popen[str]]) -> list[list[float]]:
    """A line of numbers of each process."""
    lines = []
    for process in processes:
        assert process.stdout is not None
        lines.append([float(word) for word in process.stdout.readline().split()])
    return lines


PARTS: Mapping[str, Callable[[], None]] = {
    "peak": peak, "product": product, "behind": behind, "stream": stream, "small": small, "together": together,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(options.child)
        return
    print(f"{Cpu.host()}, {process_pool().threads} threads")
    for part in options.part or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
