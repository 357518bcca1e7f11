"""Where the parts of a tile kernel lie in shared memory, and how many registers its threads need and get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from girih.lazy_dataclass import dataclass
from girih.tile.form import Registers, Ring, Spread, Staging, TileKernel
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Fragment

MOST_SHARED_BYTES = 232448
"""The shared memory of a CTA of sm_90 (CUDA programming guide, "Technical Specifications per Compute Capability")."""

_BARRIER_BYTES = 8


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The places of rings, stagings and barriers, in bytes from the begin of dynamic shared memory.

    `full` and `empty` are those of the first slot of a ring; others follow at distances of 8 bytes.
    """

    rings: Mapping[str, int]
    stagings: Mapping[str, int]
    full: Mapping[str, int]
    empty: Mapping[str, int]
    bytes: int


def shared_layout(rings: Iterable[Ring], stagings: Iterable[Staging], consumers: int) -> SharedLayout:
    """The layout of rings in their order, stagings in theirs, then the barriers of each ring: full, empty."""
    rings = tuple(rings)
    ring_places: dict[str, int] = {}
    staging_places: dict[str, int] = {}
    end = 0
    for ring in rings:
        ring_places[ring.name] = end
        end += ring.slots * ring.slot_bytes
    for staging in stagings:
        staging_places[staging.name] = end
        end += consumers * staging.consumer_bytes
    full: dict[str, int] = {}
    empty: dict[str, int] = {}
    for ring in rings:
        full[ring.name], empty[ring.name] = end, end + _BARRIER_BYTES * ring.slots
        end += 2 * _BARRIER_BYTES * ring.slots
    return SharedLayout(ring_places, staging_places, full, empty, end)


def layout_of(kernel: TileKernel) -> SharedLayout:
    """The layout of a kernel."""
    return shared_layout(kernel.rings, kernel.stagings, kernel.consumers.warpgroups)


def registers_of(held: Registers, consumers: int, fragment: Fragment = PRODUCT_FRAGMENT) -> int:
    """The 32-bit registers that a thread of a consumer needs for a matrix; two components of 16 bits share one."""
    blocks = held.rows // consumers // 64
    components = {
        Spread.TILE: blocks * held.columns // 2,
        Spread.ROWS: fragment.rows.each * blocks,
        Spread.COLUMNS: held.columns // fragment.columns.lanes,
        Spread.ONE: 1,
    }[held.spread]
    return -(-components * held.component.size // 4)


def registers_of_factors(sums: Registers, consumers: int, fragment: Fragment) -> int:
    """The 32-bit registers that a thread needs for factors while it multiplies: what it has, and what comes next."""
    blocks = sums.rows // consumers // 64
    if sums.component.size == 8:
        return 16 * blocks + 2 * 8 + 16
    return 2 * (fragment.rows.each * blocks + sums.columns // fragment.columns.lanes)


SHARES: Mapping[int, tuple[int, int]] = {1: (56, 256), 2: (24, 240), 3: (32, 160)}
"""The registers of a thread of the producer and of a consumer, by the number of consumers (PTX ISA, "setmaxnreg").

A CTA has 65536 of them for all its threads; they are given out in multiples of 8, and a thread may use 255 of 256.
Where threads begin, each has 65536 / threads, rounded down to a multiple of 8; the CTA never has more than all of these
together, and who asks for more waits for ever.
"""


def consumer_share(producer: int, consumers: int) -> int:
    """The registers of a thread of a consumer where one of a single producer's has so many."""
    warpgroups = 1 + consumers
    at_begin = 65536 // (128 * warpgroups) // 8 * 8
    return min(256, (at_begin * warpgroups - producer) // consumers // 8 * 8)


ROOMY_SHARES: Mapping[int, tuple[int, int]] = {1: (128, 256), 2: (88, 208), 3: (56, 152)}
"""The same for checks where matrices leave room: with 72 registers some spill one."""

BUSY_SHARES: Mapping[int, tuple[int, int]] = {1: (128, 256), 2: (72, 216), 3: (56, 152)}
"""The same where the producer's threads gather tiles, or have checks to make: with fewer they would spill."""

GATHERING_SHARES: Mapping[int, tuple[int, int]] = {1: (128, 256), 2: (104, 200), 3: (80, 144)}
"""The same where tiles are gathered and matrices leave the registers for it: with more, more loads are on their way."""

TIGHT_SHARES: Mapping[int, tuple[int, int]] = {1: (128, 256), 2: (40, 232), 3: (40, 152)}
"""The same for checks where matrices need more of the registers."""

DECODING_SHARES: Mapping[tuple[int, int], tuple[int, int]] = {
    (3, 1): (128, 128), (2, 2): (128, 128), (2, 1): (128, 248), (1, 2): (120, 192), (1, 3): (104, 136),
}  # fmt: skip
"""The same where tiles are decoded, by the number of warpgroups of the producer and of consumers, the best first.

Decoding is arithmetic on what comes from far away: many warps compute while others wait. The assembler wants the
registers of a product in what threads begin with: 128 of 512 threads, 168 of 384.
"""

BLOCK_SHARES: Mapping[tuple[int, int], tuple[int, int]] = {
    (4, 1): (96, 96), (3, 1): (128, 128), (2, 2): (128, 128), (2, 1): (128, 248),
}  # fmt: skip
"""The same where the first warpgroup of the producer has blocks brought, and the others decode them from rings.

Nobody waits for memory, so that a thread has one run of blocks at a time.
"""
