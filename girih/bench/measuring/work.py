"""One piece of work: checked against NumPy's result, then timed in turns with its peers and the machine's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from girih.bench.measuring import gpu
from girih.bench.measuring.context import Array, MeasuringContext, wide
from girih.bench.measuring.peak import Meter, bandwidth, peak
from girih.bench.measuring.rows import CHECKS, OF_BANDWIDTH, OF_PEAK, Measurement, Versus
from girih.bench.measuring.timing import Call, Samples, interleaved

OURS = "girih"
OTHER = "girih, other checks"
PEAK, STREAM = "peak", "stream"

TOLERANCES = {
    "f8e4m3": 2.0**-3, "f8e5m2": 2.0**-2, "f16": 2.0**-8, "bf16": 2.0**-5, "f32": 1e-4, "f64": 1e-10, "c32": 1e-4,
    "c64": 1e-10,
}  # fmt: skip
"""The largest difference from the interpreter's result, relative to the largest element; integers are exact."""


class WrongResultError(Exception):
    """The result of a kernel or a peer differs from NumPy's."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another implementation; `result` gives its result after a call, None if that is not checked.

    `slack` is added to the bound on the error, for a peer that rounds its result further.
    """

    call: Call
    result: Callable[[], Array] | None = None
    slack: Array | float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work to time.

    `calls` are the launches by mode of checks; all write `output`, whose content is `before` before each. The result is
    right if no element is further from `expected` than `bound`. `type` names the peak that counts, and `streams`
    says that the data comes from memory, so that its bandwidth counts.
    """

    calls: Mapping[str, Call]
    output: Array
    expected: Array
    bound: Array | float
    before: Array | None = None
    peers: Mapping[str, Peer] = field(default_factory=dict)
    flops: float | None = None
    bytes: float | None = None
    type: str | None = None
    streams: bool = False


def measure(context: MeasuringContext, group: str, name: str, work: Work, note: str = "") -> Measurement:
    """The row of a piece of work, which is checked and timed. Raises `WrongResultError`, and what launches raise."""
    for checks, call in work.calls.items():
        verify(work, gpu.whole(call), f"girih with checks {checks}")
    peers = {key: peer for key, peer in work.peers.items() if key in context.peers}
    for key, peer in peers.items():
        if peer.result is not None:
            peer.call()
            compare(peer.result(), work.expected, work.bound + peer.slack, key)
    main, *others = work.calls
    functions: dict[str, Call] = {OURS: work.calls[main], **{key: peer.call for key, peer in peers.items()}}
    if others:
        functions[OTHER] = work.calls[others[0]]
    meters = meters_for(context, work)
    functions |= {key: meter.call for key, meter in meters.items()}
    samples = interleaved(functions, context.effort, context.clock, context.rest)
    return Measurement(
        group=group,
        name=name,
        seconds=samples.median(OURS),
        threads=context.threads,
        checks=main,
        flops=work.flops,
        bytes=work.bytes,
        type=work.type,
        against={key: Versus(samples.median(key), samples.ratio(key, OURS)) for key in peers},
        figures=_figures(work, samples, meters, context.threads),
        note=note,
    )


def meters_for(context: MeasuringContext, work: Work) -> dict[str, Meter]:
    """The limits that work is held against: on a GPU the bandwidth alone, as its caches are larger than much work."""
    meters: dict[str, Meter] = {}
    if context.is_gpu:
        return {STREAM: gpu.bandwidth(gpu.device_of_target(context.target))} if work.bytes is not None else {}
    if work.type is not None and work.flops is not None:
        meters[PEAK] = peak(work.type)
    if work.streams and work.bytes is not None:
        meters[STREAM] = bandwidth()
    return meters


def _figures(work: Work, samples: Samples, meters: Mapping[str, Meter], threads: int) -> dict[str, float]:
    main, *others = work.calls
    figures: dict[str, float] = {}
    if PEAK in meters and work.flops:
        figures[OF_PEAK] = work.flops / meters[PEAK].amount / threads * samples.ratio(PEAK, OURS)
    if STREAM in meters and work.bytes:
        figures[OF_BANDWIDTH] = work.bytes / meters[STREAM].amount * samples.ratio(STREAM, OURS)
    if others:
        figures[CHECKS] = samples.ratio(OTHER, OURS) if main == "off" else samples.ratio(OURS, OTHER)
    return figures


def verify(work: Work, call: Call, who: str) -> None:
    """Launch once with the initial content and compare the result with the expected one. Raises `WrongResultError`."""
    work.output[...] = np.nan if work.before is None and work.output.dtype.kind not in "iu" else _or_zero(work.before)
    call()
    compare(work.output, work.expected, work.bound, who)


def _or_zero(before: Array | None) -> Any:
    return 0 if before is None else before


def compare(result: Array, expected: Array, bound: Array | float, who: str, reference: str = "NumPy") -> None:
    """Compare a result with the expected one. Raises `WrongResultError` with the element that is furthest off."""
    if result.shape != expected.shape:
        raise WrongResultError(f"{who} gives the shape {result.shape}, {reference} {expected.shape}")
    if not result.size:
        return
    error = np.abs(wide(result) - wide(expected))
    excess = np.where(np.isnan(error), np.inf, error - bound)
    worst = np.unravel_index(int(excess.argmax()), excess.shape)
    if excess[worst] > 0:
        allowed = np.broadcast_to(bound, expected.shape)[worst]
        raise WrongResultError(
            f"{who} gives {result[worst]} at {tuple(map(int, worst))}, {reference} {expected[worst]}; "
            f"at most {allowed:.2g} apart would be right"
        )
