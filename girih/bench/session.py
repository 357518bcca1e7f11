"""The start of measuring processes and the stream of their events. Imports no NumPy: its BLAS would be set up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from girih.bench.events import Event, MeasuringRequest
from girih.bench.machine import cpu_info
from girih.bench.peers.openblas import ENVIRONMENT, fastest_core

CHILD = ("-m", "girih.bench.child")

_THREADS = ("GIRIH_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def measure(request: MeasuringRequest, child: Sequence[str] = CHILD) -> Iterator[Event]:
    """The events of a request; `child` has Python's arguments for the measuring process.

    The standard set takes two processes: one with one thread, and one with the threads that were asked for, for the
    cases that are about threads. If a process dies, that is a `problem`.
    """
    # A kernel of a file has no peer.
    core = None if request.kind == "own" else fastest_core(cpu_info())
    if request.kind != "standard":
        yield from _process(request, child, core)
        return
    yield from _process(replace(request, threads=1), child, core)
    if request.threads > 1:
        yield from _process(replace(request, many=True), child, core)


def child_environment(threads: int, core: str | None) -> dict[str, str]:
    """The environment of a measuring process."""
    chosen = {} if core is None else {ENVIRONMENT: core}
    # The same girih as here, wherever it is.
    own = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, **{name: str(threads) for name in _THREADS}, **chosen, "PYTHONPATH": path}


def _process(request: MeasuringRequest, child: Sequence[str], core: str | None) -> Iterator[Event]:
    last: Event = {"group": "", "name": "the measuring process"}
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            [sys.executable, *child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env=child_environment(request.threads, core),
        ) as process:  # fmt: skip
            try:
                for event in _said(process, request):
                    last = event if event["event"] == "begin" else last
                    yield event
                status = process.wait()
            finally:
                process.kill()
        if status:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            message = "\n".join([_died(status), *said[-3:]])
            yield {"event": "problem", "group": last["group"], "name": last["name"], "message": message}


def _said(process: subprocess.Popen[str], request: MeasuringRequest) -> Iterator[Event]:
    """The events that a process sends for a request."""
    if process.stdin is None or process.stdout is None:
        raise OSError("a process was started without pipes")
    # One that has ended already is dealt with by its status.
    with suppress(BrokenPipeError), process.stdin as stream:
        stream.write(request.to_text() + "\n")
    for line in process.stdout:
        yield json.loads(line)


def _died(status: int) -> str:
    if status < 0:
        return f"the measuring process was ended by {signal.Signals(-status).name}"
    return f"the measuring process ended with status {status}"
