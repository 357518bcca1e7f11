"""The measuring process: a request on standard input, events on standard output (see `events`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TextIO

from girih.bench.cases import columns, costs, functions, products
from girih.bench.cases.case import MANY, Case
from girih.bench.events import Event, MeasuringRequest
from girih.bench.machine import environment, load
from girih.bench.measuring import gpu
from girih.bench.measuring.context import MeasuringContext, MissingPeerError, find_peers
from girih.bench.measuring.peak import bandwidth, peak
from girih.bench.measuring.rows import MeasuredSummary, Measurement
from girih.bench.measuring.timing import clock_for, interleaved
from girih.bench.measuring.work import WrongResultError
from girih.diagnostics import CompileError, GirihError, KernelError, LaunchError
from girih.runtime.cuda.driver import CudaFault, NoCudaError

SUMMARIES = (
    MeasuredSummary(products.CACHED, "libxsmm"),
    MeasuredSummary(products.STREAMED, "numpy"),
)


def standard() -> Iterator[Case]:
    """The cases of the standard set, in order."""
    yield from products.cases()
    yield from columns.cases()
    yield from functions.cases()
    yield from costs.cases()


def groups() -> list[str]:
    """The groups of the standard set, in order."""
    return list(dict.fromkeys(case.group for case in standard()))


def cases_of(request: MeasuringRequest) -> list[Case]:
    """The cases that a request is about."""
    if request.kind == "library":
        from girih.bench.cases.library import KERNELS

        return [Case("library", request.name, lambda context: KERNELS[request.name](context, request.type))]
    threads = MANY if request.many else 1
    return [
        case for case in standard() if case.threads == threads and (not request.groups or case.group in request.groups)
    ]


def serve(
    request: MeasuringRequest, cases: Iterable[Case], summaries: Sequence[MeasuredSummary] = SUMMARIES
) -> Iterator[Event]:
    """The events of measuring some cases, each sent as it happens."""
    try:
        # A kernel of a file has no peer, and importing one may take seconds.
        without = request.kind == "own" or gpu.is_gpu(request.target)
        peers = {} if without else find_peers(request.against, request.threads)
    except MissingPeerError as error:
        yield refused(2, str(error))
        return
    context = MeasuringContext(request.checks, request.threads, request.quick, peers, target=request.target)
    try:
        described = {"gpu": gpu.described(gpu.device_of_target(request.target))} if context.is_gpu else {}
        measured_limits = limits(context)
    except (NoCudaError, CudaFault, LaunchError) as error:
        hint = f"\n  hint: {error.hint}" if isinstance(error, NoCudaError) else ""
        yield refused(1, f"error: {request.target}: {error}{hint}")
        return
    said = {**environment(request.threads), **described}
    yield {"event": "environment", "environment": said, "machine": measured_limits}
    for group, members in groupby(cases, key=lambda case: case.group):
        rows: list[Measurement] = []
        for case in members:
            yield {"event": "begin", "group": group, "name": case.name}
            try:
                measured = [replace(row, load=load()) for row in case.run(context)]
            except (WrongResultError, GirihError, RuntimeError, MemoryError) as error:
                yield {"event": "problem", "group": group, "name": case.name, "message": in_words(error)}
            else:
                rows += measured
                yield from ({"event": "row", "row": row.to_json()} for row in measured)
        for summary in summaries:
            yield from ({"event": "row", "row": row.to_json()} for row in summary.rows(rows))
    yield {"event": "end"}


def limits(context: MeasuringContext) -> dict[str, object]:
    """The peaks of one thread and the bandwidth of the machine, or of copies on a GPU, as plain values."""
    if context.is_gpu:
        meter = gpu.bandwidth(gpu.device_of_target(context.target))
        copied = interleaved({"copy": meter.call}, context.effort, context.clock)
        return {"gflops": {}, "gigabytes_per_second": meter.amount / copied.median("copy") / 1e9}
    meters = {type: peak(type) for type in ("f32", "f64", "bf16")}
    stream = bandwidth()
    samples = interleaved({**{type: m.call for type, m in meters.items()}, "stream": stream.call}, context.effort,
                          clock_for(1))  # fmt: skip
    return {
        "gflops": {type: meter.amount / samples.median(type) / 1e9 for type, meter in meters.items()},
        "gigabytes_per_second": stream.amount / samples.median("stream") / 1e9,
    }


def refused(status: int, message: str) -> Event:
    """The event that nothing can be measured, with the exit status and why."""
    return {"event": "refused", "status": status, "message": message}


def in_words(error: Exception) -> str:
    """The words for an error, with the lines of the program that it is about."""
    if isinstance(error, CompileError | LaunchError):
        return "\n".join(item.render() for item in error.diagnostics[:3])
    if isinstance(error, KernelError):
        return "\n".join(item.render() for item in error.findings[:3])
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    return str(error)


def send(events: Iterable[Event], stream: TextIO) -> None:
    """Write events to a stream, one line of JSON each."""
    for event in events:
        stream.write(json.dumps(event) + "\n")
        stream.flush()


def own_output() -> TextIO:
    """Standard output, for events alone: after this call, the prints of libraries go to standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def main() -> None:
    """Serve the request on standard input."""
    stream = own_output()
    request = MeasuringRequest.from_text(sys.stdin.readline())
    send(serve(request, cases_of(request)), stream)


if __name__ == "__main__":
    main()
