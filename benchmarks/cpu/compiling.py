"""How long the library takes to become machine code for the processor of this machine.

    python -m benchmarks.cpu.compiling            every kernel, with checks and without
    python -m benchmarks.cpu.compiling attention  only kernels with that word in their name
    python -m benchmarks.cpu.compiling --save     also write benchmarks/results/DATE-compiling.json

The figures are processor times, the least of several turns, in milliseconds: `text` is parsing and checking, `lower`
the way from checked functions to LLVM IR, which has `lines`, and `llvm` the time of LLVM, which makes `bytes`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from girih import kernels
from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.back.llvm.cpu.compile import Lowered
from girih.bench.machine import environment
from girih.ir.core import Function
from girih.program import parse
from girih.runtime.cpu.executor import lowered

RESULTS = Path(__file__).resolve().parent.parent / "results"
TURNS = 5


def least(call: Callable[[], object]) -> float:
    """The milliseconds of the fastest of several calls."""
    times = []
    for _ in range(TURNS):
        begin = time.thread_time()
        call()
        times.append(time.thread_time() - begin)
    return 1e3 * min(times)


def _lowered(functions: Sequence[Function], cpu: Cpu, checks: str) -> list[Lowered]:
    return [lowered(function, cpu, checks) for function in functions]


def _assembled(made: Sequence[Lowered], cpu: Cpu) -> list[bytes]:
    return [assemble(one.text, cpu, one.optimize) for one in made]


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a kernel, one for each mode of checks: all functions of its text."""
    text = kernels.path(name).read_text(encoding="utf-8")
    functions: Sequence[Function] = parse(text).functions
    cpu = Cpu.host()
    for checks in ("bounds", "off"):
        made = _lowered(functions, cpu, checks)
        code = _assembled(made, cpu)
        yield {
            "kernel": name,
            "checks": checks,
            "text": least(partial(parse, text)),
            "lower": least(partial(_lowered, functions, cpu, checks)),
            "llvm": least(partial(_assembled, made, cpu)),
            "lines": sum(one.text.count("\n") for one in made),
            "bytes": sum(map(len, code)),
        }


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", default="", help="a word of the names of kernels")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/DATE-compiling.json")
    arguments = parser.parse_args(words)
    rows: list[dict[str, Any]] = []
    for name in (name for name in kernels.names() if arguments.word in name):
        for row in rows_of(name):
            rows.append(row)
            figures = "  ".join(f"{key} {row[key]:7.1f}" for key in ("text", "lower", "llvm"))
            print(f"{name:22} {row['checks']:6}  {figures}  lines {row['lines']:5}  bytes {row['bytes']:6}", flush=True)
    if arguments.save:
        machine = environment(1)
        path = RESULTS / f"{machine['date']}-compiling.json"
        path.write_text(json.dumps({"environment": machine, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
