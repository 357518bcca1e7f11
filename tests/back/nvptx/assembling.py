"""PTX assembled by `ptxas`, where it is on the path, and what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PTXAS = shutil.which("ptxas")

needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas, of NVIDIA's CUDA toolkit, is not on the path")


@dataclass(frozen=True, slots=True)
class AssembledPtx:
    """What the assembler made of a module: its exit status and its words."""

    status: int
    log: str

    @property
    def spilled(self) -> int:
        """The bytes that are stored and loaded because registers were too few."""
        return sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", self.log)))

    @property
    def stack(self) -> int:
        """The bytes of memory of its own that a thread has."""
        return max(map(int, re.findall(r"(\d+) bytes stack frame", self.log)), default=0)

    @property
    def warnings(self) -> list[str]:
        """The lines that warn, C7510 and the like among them: asynchronous products that wait for each other."""
        return [line for line in self.log.splitlines() if re.search(r"\bwarning\b|\(C75\d\d\)", line)]

    @property
    def problems(self) -> str:
        """An error, or warnings, in words; empty where there are none."""
        return self.log[-600:] if self.status else "\n".join(self.warnings)


def ptxas(text: str, architecture: str, folder: Path) -> AssembledPtx:
    """A module assembled for an architecture."""
    assert PTXAS is not None
    source = folder / "kernel.ptx"
    source.write_text(text, encoding="utf-8")
    words = [PTXAS, "-v", f"-arch={architecture}", str(source), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return AssembledPtx(done.returncode, done.stderr + done.stdout)
