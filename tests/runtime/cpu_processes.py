"""Processes of their own, for what happens once in a process or ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = """
import ctypes, os, signal, sys, threading, time
import numpy as np
import girih
from tests.runtime.cpu_kernels import (
    COUNT, FAILS_AT_SEVEN, FAILS_WHEN_TWO_HAVE_BEGUN, SLOW, TAKES_60_MILLISECONDS, kernel,
)
from girih.runtime.cpu import launcher, pool
ARRAY = "%A: memref<i64x?>"
if "WAITING" in os.environ:
    launcher.WAITING["linux"] = os.environ["WAITING"]
counting = kernel(ARRAY, COUNT, workspace_bytes=64)
def check(times=3, size=5000):
    data = np.zeros(size, np.int64)
    for _ in range(times):
        counting.launch((size, 1, 1), (data,))
    assert (data == times).all()
"""


@contextmanager
def process(text: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs `SCRIPT` and a text; a variable `WAITING` takes the place of a row of `launcher.WAITING`."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **variables}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT + text],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        yield running


def output(text: str, **variables: str) -> str:
    """What such a process prints. It may take a minute, or as many seconds as a variable says, as in an emulator."""
    with process(text, **variables) as running:
        found, _ = running.communicate(timeout=float(os.environ.get("SECONDS_OF_TESTS", "60")))
    assert running.returncode == 0, found
    return found.strip()
