"""The machine that is measured on, in words and numbers. Imports no NumPy, but names its BLAS if it is loaded."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def cpu_info() -> str:
    """The system's description of its processors; empty if it has none."""
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def cpu_name() -> str:
    """The processor's name."""
    names = [line.split(":")[1].strip() for line in cpu_info().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def usable_cpus() -> int:
    """The number of CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def load() -> float:
    """The average number of processes that were running or ready to in the last minute; 0 if it is not known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def commit() -> str | None:
    """The commit of the checkout that girih runs from, with `-dirty` if files differ; None for an installed girih."""
    root = Path(__file__).parent.parent.parent
    if not (root / ".git").exists():
        return None
    words = ("git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*")
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def environment(threads: int) -> dict[str, Any]:
    """The processor, versions and the kernels of OpenBLAS, for a process with `threads` threads."""
    from girih import __version__
    from girih.back.llvm.assemble.assembler import Cpu, llvm_version
    from girih.bench.peers import libxsmm, openblas
    from girih.runtime.cpu.machine import amx_permitted, host_description

    host = Cpu.host()
    library = libxsmm.find()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": cpu_name(),
        "llvm_cpu": str(host),
        "vector_bits": host.vector_bits,
        "description": str(host_description()),
        "amx": host.has("amx-tile") and amx_permitted(),
        "cpus": usable_cpus(),
        "threads": threads,
        "load": load(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "girih": __version__,
        "commit": commit(),
        "llvm": llvm_version(),
        "numpy": _version("numpy"),
        "openblas_kernels": openblas.core_name(),
        "torch": _version("torch"),
        "libxsmm": None if library is None else library.name,
    }


def _version(name: str) -> str | None:
    module = sys.modules.get(name)
    return None if module is None else str(getattr(module, "__version__", None))
