"""What Triton's interpreter says of wrong kernels: one for each class of tests/bugs that Triton can express.

    pip install torch triton        (optional: nothing else in girih needs them)
    python -m benchmarks.language.triton_bugs [--machine WORDS] [--save]

Each kernel of `triton_bugs_texts.py` runs in a process of its own, because what it does to memory may end that. Found
means that the launch raises an error. A launch that passes is said to give right or wrong results, compared with those
of the right kernel. The table of docs/bugs.md shows the figures that are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 300
"""Seconds after which a kernel counts as one that never ends."""

INEXPRESSIBLE = {"lifetime": "memory of a program is not allocated and freed by name"}
"""The classes of tests/bugs of which Triton has no kernels, and why."""


def launch(name: str) -> None:
    """Run the wrong kernel of a class in this process, and print what came of it."""
    from benchmarks.language.triton_bugs_texts import LAUNCHES

    try:
        right = LAUNCHES[name][1]()
    except Exception as error:
        cause = error.__cause__ or error
        answer = {"found": True, "what": f"{type(cause).__name__}: {cause}".splitlines()[0]}
    else:
        answer = {"found": False, "what": f"passes; the results are {'right' if right else 'wrong'}"}
    print(json.dumps(answer))


def tried(name: str) -> dict[str, Any]:
    """What comes of the wrong kernel of a class, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.language.triton_bugs", "--launch", name]
    try:
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"found": False, "what": f"does not end in {LIMIT} s"}
    if process.returncode < 0:
        return {"found": False, "what": f"the process ends with {signal.Signals(-process.returncode).name}"}
    if process.returncode > 0:
        sys.exit(f"{name} did not run:\n{process.stderr}")
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Run the kernels, print what came of them, and keep it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default=platform.processor() or platform.machine(), help="words for the machine")
    parser.add_argument("--save", action="store_true", help="write what came of them to benchmarks/results/")
    parser.add_argument("--launch", metavar="CLASS", help="run one kernel in this process")
    arguments = parser.parse_args()
    os.environ["TRITON_INTERPRET"] = "1"
    if arguments.launch is not None:
        launch(arguments.launch)
        return
    try:
        found = {"date": date.today().isoformat(), "triton": version("triton"), "python": platform.python_version()}
        from benchmarks.language.triton_bugs_texts import LAUNCHES
    except (ImportError, PackageNotFoundError) as error:
        sys.exit(f"this comparison needs torch and triton: {error}")
    classes = {name: {"program": program, **tried(name)} for name, (program, _) in LAUNCHES.items()}
    for name, row in classes.items():
        print(f"{name:15} {row['program']:25} {'found' if row['found'] else '-':6} {row['what']}")
    if arguments.save:
        kept = {**found, "machine": arguments.machine, "classes": classes, "inexpressible": INEXPRESSIBLE}
        path = ROOT / "benchmarks" / "results" / f"{found['date']}-triton-interpreter.json"
        path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
