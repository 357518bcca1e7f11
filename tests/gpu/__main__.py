"""Tests on an NVIDIA GPU: `python -m tests.gpu`, or `make test-gpu`; a few minutes on 16 cores and an H200.

    python -m tests.gpu --part vectors --part kernels   some parts; `--list` says which there are
    python -m tests.gpu --count 2000                    other numbers of random programs
    python -m tests.gpu --part random --case 7000000012 one case
    python -m tests.gpu --save [--to FILE]              also write benchmarks/results/DATE-gpu-tests.json, or FILE
    python -m tests.gpu --target cpu --every 40         the same on another target, one case in 40

Cases run in several processes, which are watched (`watch.py`). A file that was written for the same commit, device and
driver keeps the parts that do not run again, so that what was interrupted goes on part by part. The exit status is 1 if
a case was wrong, and 2 where there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from tests.gpu.outcomes import Outcome, counted, shown
from tests.gpu.parts import COUNT, PARTS
from tests.gpu.presence import missing_for_cuda
from tests.gpu.watch import ROOT, Watched

RESULTS = ROOT / "benchmarks" / "results"
SHOWN = 8
"""How many wrong cases of a part are printed; the file has all."""


def environment(target: str, commit: str | None) -> dict[str, Any]:
    """The machine, the device and the versions."""
    import girih
    from girih.bench import machine

    found = {
        "date": datetime.now(UTC).date().isoformat(),
        "target": target,
        "commit": commit or machine.commit(),
        "girih": girih.__version__,
        "python": sys.version.split()[0],
        "cpus": machine.usable_cpus(),
    }
    return {**found, **(device() if target.startswith("cuda") else {"device": machine.cpu_name()})}


def device() -> dict[str, Any]:
    """The GPU and its driver."""
    driver = import_module("cuda.bindings.driver")
    _, handle = driver.cuDeviceGet(0)
    _, name = driver.cuDeviceGetName(256, handle)
    _, number = driver.cuDriverGetVersion()
    kernel = Path("/proc/driver/nvidia/version")
    words = kernel.read_text(encoding="utf-8").split("\n")[0] if kernel.exists() else ""
    found = [word for word in words.split() if word.count(".") >= 1 and word[0].isdigit()]
    return {
        "device": name.split(b"\0")[0].decode(),
        "driver": found[0] if found else None,
        "cuda": f"{number // 1000}.{number % 1000 // 10}",
        "cuda_bindings": version_of("cuda-bindings"),
    }


def run_part(name: str, options: argparse.Namespace, cache: str) -> dict[str, Any]:
    """The counts of a part that was run, printed as they come; `cache` is the folder for compiled code."""
    part = PARTS[name]
    cases = options.case or part.names(options.count)[:: options.every]
    wrong: list[Outcome] = []

    def told(outcome: Outcome) -> None:
        if not outcome.is_fine:
            wrong.append(outcome)
            if len(wrong) <= SHOWN:
                print(
                    f"  {outcome.became}: {outcome.case}\n    {outcome.why[-800:]}".replace("\n", "\n    "), flush=True
                )

    begin = time.monotonic()
    variables = {"GIRIH_NUM_THREADS": "1", "GIRIH_CACHE_DIR": cache}
    watched = Watched(["-m", "tests.gpu.worker", name, options.target], part.seconds, variables)
    found = counted(watched.run(cases, options.jobs, told), time.monotonic() - begin)
    print(shown(name, found), flush=True)
    return found


def kept(path: Path, where: dict[str, Any]) -> dict[str, Any]:
    """The parts that a file has of the same commit, device and driver; none where it is of others, or is not there."""
    if not path.exists():
        return {}
    before = json.loads(path.read_text(encoding="utf-8"))
    same = all(before["environment"].get(key) == where.get(key) for key in ("commit", "target", "device", "driver"))
    return dict(before["parts"]) if same else {}


def main(words: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for; 1 if a case was wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="a part; without it, all of them")
    parser.add_argument("--list", action="store_true", help="say which parts there are")
    parser.add_argument("--jobs", type=int, default=0, help="how many processes; without it, one for each CPU")
    parser.add_argument("--count", type=int, default=COUNT, help="how many random programs")
    parser.add_argument("--every", type=int, default=1, help="one case in so many")
    parser.add_argument("--case", action="append", help="a case by its name, of one part")
    parser.add_argument("--target", default="cuda", help="the target that is tested")
    parser.add_argument("--commit", help="the commit, where the files have no history beside them")
    parser.add_argument("--save", action="store_true", help="write what was found")
    parser.add_argument("--to", type=Path, help="the file for it")
    options = parser.parse_args(words)
    if options.list:
        for name, part in PARTS.items():
            print(f"{name:10} {part.says}")
        return 0
    if options.case and len(options.part or ()) != 1:
        parser.error("--case needs one --part")
    missing = missing_for_cuda() if options.target.startswith("cuda") else ""
    if missing:
        print(f"not tested on a GPU: {missing}", file=sys.stderr)
        return 2
    from girih.bench.machine import usable_cpus

    options.jobs = options.jobs or usable_cpus()
    where = environment(options.target, options.commit)
    path = options.to or RESULTS / f"{where['date']}-gpu-tests.json"
    found = kept(path, where) if options.save or options.to else {}
    print(f"{where['device']}, girih {where['commit']}, {options.jobs} processes", flush=True)
    ran = options.part or list(PARTS)
    with tempfile.TemporaryDirectory() as cache:
        for name in ran:
            found[name] = run_part(name, options, cache)
            if options.save or options.to:
                # After each part: what interrupts the rest costs the rest only.
                path.write_text(json.dumps({"environment": where, "parts": found}, indent=1) + "\n", encoding="utf-8")
    return 1 if any(found[name]["rows"] for name in ran) else 0


if __name__ == "__main__":
    sys.exit(main())
