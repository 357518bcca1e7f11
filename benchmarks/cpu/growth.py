"""Compile time and peak memory against the number of instructions: is either more than linear?

Texts of 100 to 10,000 instructions are made: straight-line scalar code with loads and stores, the same code in every
lane of a subgroup, and loops one after the other. Each is checked, lowered and compiled; the row says the time of every
part for an instruction, and the figure `growth`, which is that time over the one of the smallest text: 1 is linear.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.bench.cases.case import Case
from girih.bench.measuring.context import MeasuringContext
from girih.bench.measuring.rows import Measurement
from girih.program import compile_source, source_of_text
from girih.runtime.cpu.executor import lowered

COUNTS = (100, 300, 1000, 3000, 10_000)
LONGEST = 5.0
"""Seconds of a compilation after which larger texts are left out."""

STEP = """    %a{n} = load %A[{place}] : f32
    %b{n} = mul %a{n}, %x : f32
    %c{n} = add %b{n}, %a{n} : f32
    store %c{n}, %A[{place}]
"""
LOOP = """    for %i{n} = %zero, %end {{
      %a{n} = load %A[%i{n}] : f32
      %b{n} = mul %a{n}, %x : f32
      %c{n} = add %b{n}, %a{n} : f32
      store %c{n}, %A[%i{n}]
    }}
"""
KERNEL = """func @f(%x: f32, %end: index, %A: memref<f32x?>){attributes} {{
    %zero = constant 0 : index
{body}}}
"""
LANES = """  parallel {{
    %lane = subgroup_local_id : i32
    %first = cast %lane : index
{body}  }}
"""


def straight(instructions: int) -> str:
    """Scalar code without loops; every load reads another element."""
    body = "".join(STEP.format(n=n, place=n) for n in range(instructions // 4))
    return KERNEL.format(attributes="", body=body)


def lanes(instructions: int) -> str:
    """The same code in every lane of a subgroup."""
    body = "".join(STEP.format(n=n, place="%first") for n in range(instructions // 4))
    return KERNEL.format(attributes=" attributes {subgroup_size=16, work_group_size=[16, 1]}",
                         body=LANES.format(body=body))  # fmt: skip


def loops(instructions: int) -> str:
    """Loops one after the other, of four instructions each."""
    return KERNEL.format(attributes="", body="".join(LOOP.format(n=n) for n in range(instructions // 5)))


MAKERS: dict[str, Callable[[int], str]] = {"straight-line": straight, "in lanes": lanes, "loops": loops}

MEMORY = """
import re
from pathlib import Path
from benchmarks.cpu.growth import MAKERS, parts

def peak():
    # Not ru_maxrss: a child starts with the peak of the process that it was made by.
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

parts(MAKERS[{kind!r}](100), {checks!r})
before = peak()
parts(MAKERS[{kind!r}]({instructions}), {checks!r})
print(before, peak())
"""


def parts(text: str, checks: str) -> dict[str, float]:
    """Milliseconds on the processor for every part of a compilation."""
    marks = [time.thread_time()]
    module, _ = compile_source(source_of_text(text, "made.tl"), {})
    marks.append(time.thread_time())
    made = lowered(module.functions[0], Cpu.host(), checks)
    marks.append(time.thread_time())
    assemble(made.text, Cpu.host(), made.optimize)
    marks.append(time.thread_time())
    names = ("front_ms", "lower_ms", "llvm_ms")
    return {name: 1e3 * (after - before) for name, before, after in zip(names, marks, marks[1:], strict=False)}


def measured(context: MeasuringContext, kind: str) -> list[Measurement]:
    """One row for each size."""
    rows: list[Measurement] = []
    checks = context.checks[0]
    first: float | None = None
    for instructions in COUNTS[:3] if context.quick else COUNTS:
        if rows and (rows[-1].seconds or 0.0) > LONGEST:
            left_out = f"left out: {rows[-1].name} took {rows[-1].seconds:.0f} s"
            rows.append(Measurement("growth", f"{instructions:,} instructions, {kind}", checks=checks, note=left_out))
            break
        text = MAKERS[kind](instructions)
        runs = [parts(text, checks)]
        runs += [parts(text, checks) for _ in range(2) if sum(runs[0].values()) < 1000]
        found = {name: median(run[name] for run in runs) for name in runs[0]}
        whole = sum(found.values())
        first = whole / instructions if first is None else first
        figures = {**found, "us_per_instruction": 1e3 * whole / instructions, "growth": whole / instructions / first,
                   **(_memory(kind, instructions, checks) if whole < 1e3 * LONGEST else {})}  # fmt: skip
        rows.append(
            Measurement(
                "growth",
                f"{instructions:,} instructions, {kind}",
                whole / 1e3,
                checks=checks,
                figures=figures,
                note=_note(figures),
            )
        )
    return rows


def _memory(kind: str, instructions: int, checks: str) -> dict[str, float]:
    """Peak megabytes of a process that compiles, and what of it came with the text; on Linux only."""
    if not Path("/proc/self/status").exists():
        return {}
    script = MEMORY.format(kind=kind, instructions=instructions, checks=checks)
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root)
    found = re.fullmatch(r"(\d+) (\d+)\s*", done.stdout)
    if found is None:
        return {}
    before, after = (int(number) / 1024 for number in found.groups())
    return {"peak_mb": after, "added_mb": after - before}


def _note(figures: dict[str, float]) -> str:
    said: Sequence[str] = [
        f"front {figures['front_ms']:.1f}, lowering {figures['lower_ms']:.1f}, LLVM {figures['llvm_ms']:.1f} ms",
        f"{figures['us_per_instruction']:.0f} \N{MICRO SIGN}s an instruction, {figures['growth']:.2f} of the smallest",
    ]
    memory = [f"peak {figures['peak_mb']:.0f} MB, {figures['added_mb']:.0f} more"] if "peak_mb" in figures else []
    return "; ".join([*said, *memory])


def growth() -> Iterator[Case]:
    """A case for each kind of text."""
    for kind in MAKERS:
        yield Case("growth", f"compile {kind}", partial(measured, kind=kind))
