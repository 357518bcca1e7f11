"""Copies of tensors by maps (PTX ISA "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor").

The bytes that move are those of `girih.addressing.TensorMap`, which was measured on an H200. A launch names what the
128 bytes of a map stand for: how a driver encodes one is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from girih.addressing import AddressingError, BoundTensorMap
from girih.addressing.errors import RuleReport
from girih.addressing.tensor_map import operands
from tests.back.nvptx.ptx_machine.asynchronous import Barrier, Groups
from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.mbarriers import counted_by, counting, each
from tests.back.nvptx.ptx_machine.layout import address_of
from tests.back.nvptx.ptx_machine.memory import WINDOWS
from tests.back.nvptx.ptx_machine.order.shadow import UNDER_WAY, Agent
from tests.back.nvptx.ptx_machine.syntax import Address, Operand, Vector
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_RANKS = ("1d", "2d", "3d", "4d", "5d")
_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def tensor_copy(draft: Draft, *, reduces: bool) -> Step:
    """A load, a store or a reduction of a box."""
    rank = int(draft.expected(*_RANKS)[0])
    if draft.taken("global"):
        return _store(draft, rank, reduces=reduces)
    if reduces:
        raise draft.unknown("a reduction is of global memory")
    return _load(draft, rank)


def prefetch(draft: Draft) -> Step:
    """cp.async.bulk.prefetch.tensor: nothing, but for a map that is none."""
    rank = int(draft.expected(*_RANKS)[0])
    draft.expected("L2")
    draft.expected("global")
    mode = draft.taken("tile", "tile::gather4", "im2col") or "tile"
    at, coordinates = _tensor(draft, 5 if mode == "tile::gather4" else rank)
    offsets = _vector(draft, rank - 2, "b16") if mode == "im2col" else []

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        for address, *_ in each(mask, at(r), *(one(r) for one in (*coordinates, *offsets))):
            _map(cta, address)

    return draft.step(run)


def _load(draft: Draft, rank: int) -> Step:
    draft.expected("shared::cluster", "shared::cta")
    draft.expected("global")
    mode = draft.taken("tile", "tile::gather4", "im2col") or "tile"
    draft.expected("mbarrier::complete_tx::bytes")
    many, hint = bool(draft.taken("multicast::cluster")), bool(draft.taken("L2::cache_hint"))
    draft.layout.asynchronous = True
    target = draft.address()
    at, coordinates = _tensor(draft, 5 if mode == "tile::gather4" else rank)
    barrier_address = draft.address()
    offsets = _vector(draft, rank - 2, "s16") if mode == "im2col" else []
    to_whom = draft.value(TYPES["b16"]) if many else None
    if hint:
        draft.value(TYPES["b64"])

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        if to_whom is not None and (mask.chosen(to_whom(r)) != 1).any():
            raise Fault("a copy to other CTAs of a cluster: there is one CTA")
        given = (one(r) for one in (target, at, barrier_address, *coordinates, *offsets))
        for thread, (to, address, place, *where) in zip(map(int, mask.index), each(mask, *given), strict=True):
            bound = _map(cta, address, rank, mode)
            barrier = counting(cta, place, thread)
            start, moved = where[: len(coordinates)], where[len(coordinates) :]
            if cta.asynchronous.order != "at_once":
                _checked(cta, bound, mode, to, start, moved)
            size = _shared_bytes(bound, mode)
            column = counted_by(cta, place)
            cta.memory.write_later(to, size, Agent(column, UNDER_WAY), thread)
            cta.asynchronous.begin(partial(_loaded, cta, (barrier, column), bound, mode, to, start, moved))

    return draft.step(run)


def _shared_bytes(bound: BoundTensorMap, mode: str) -> int:
    """How many bytes of shared memory a copy has."""
    given = bound.tensor_map
    return 4 * given.row_pitch if mode.endswith("4") else given.image_bytes


def _checked(cta: Cta, bound: BoundTensorMap, mode: str, to: int, start: list[int], moved: list[int]) -> None:
    """Raise the `Fault` of a load where it is asked for, not where it is made."""
    try:
        if mode == "tile::gather4":
            report = RuleReport("gather4")
            operands.check_gather(bound.tensor_map, start[0], start[1:], False, report)
            operands.check_load(bound.tensor_map, report)
            report.done()
        else:
            bound.tensor_map.lints(start, moved or None)
    except AddressingError as error:
        raise Fault(f"the copy is refused: {error}") from None


def _loaded(
    cta: Cta,
    counted: tuple[Barrier, int],
    bound: BoundTensorMap,
    mode: str,
    to: int,
    start: list[int],
    moved: list[int],
) -> None:
    """Copy a box into shared memory; an mbarrier, with its column, counts its bytes."""
    barrier, column = counted
    memory = _memory(cta, bound, write=False)
    try:
        if mode == "tile::gather4":
            image = bound.tensor_map.gather4(memory, start[0], start[1:], to)
        else:
            image = bound.tensor_map.load(memory, start, moved or None, to)
    except AddressingError as error:
        raise Fault(f"the copy is refused: {error}") from None
    held = cta.memory.spans("shared", to, len(image), write=True)
    held[image.written] = image.bytes[image.written]
    cta.memory.landed(to, _shared_bytes(bound, mode), Agent(column, barrier.phase + 1))
    barrier.complete(image.transaction_bytes)


def _store(draft: Draft, rank: int, *, reduces: bool) -> Step:
    draft.expected("shared::cta")
    operation = draft.expected(*_REDUCTIONS) if reduces else ""
    modes = ("tile", "im2col_no_offs") if reduces else ("tile", "tile::scatter4", "im2col_no_offs")
    mode = draft.taken(*modes) or "tile"
    draft.expected("bulk_group")
    hint = bool(draft.taken("L2::cache_hint"))
    at, coordinates = _tensor(draft, 5 if mode == "tile::scatter4" else rank)
    source = draft.address()
    draft.layout.asynchronous = True
    if hint:
        draft.value(TYPES["b64"])

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        given = each(mask, at(r), source(r), *(one(r) for one in coordinates))
        for thread, (address, begin, *start) in zip(map(int, mask.index), given, strict=True):
            bound = _map(cta, address, rank, mode)
            room = cta.memory.own["shared"].end - begin
            shared = cta.memory.spans("shared", begin, max(room, 0), write=False)
            size = _shared_bytes(bound, mode)
            read_by_copy(cta, begin, min(size, room), thread)
            memory, taken = _memory(cta, bound, write=True), np.zeros_like(shared)
            act = partial(_stored, bound, mode, operation, taken, memory, begin, start)
            task = cta.asynchronous.begin(act, partial(np.copyto, taken, shared))
            cta.asynchronous.bulk[thread].add(task)

    return draft.step(run)


def read_by_copy(cta: Cta, begin: int, size: int, thread: int) -> Array:
    """Shared memory that a copy reads which a thread starts, of its next group."""
    assert cta.clocks is not None
    groups = cta.asynchronous.bulk.setdefault(thread, Groups())
    groups.asked += 1
    column = cta.clocks.column("bulk", thread, f"a bulk copy of thread {thread}")
    return cta.memory.read_later(begin, size, Agent(column, groups.asked), thread)


def _stored(
    bound: BoundTensorMap, mode: str, operation: str, shared: Array, memory: Array, begin: int, start: list[int]
) -> None:
    given = bound.tensor_map
    try:
        if operation:
            given.reduce(operation, shared, memory, start, begin)
        elif mode == "tile::scatter4":
            given.scatter4(shared, memory, start[0], start[1:], begin)
        else:
            given.store(shared, memory, start, begin)
    except AddressingError as error:
        raise Fault(f"the copy is refused: {error}") from None


# --- operands ------------------------------------------------------------------------------------


def _tensor(draft: Draft, count: int) -> tuple[Reader, list[Reader]]:
    """The address of the map, and the coordinates."""
    operand = draft.operand()
    if not isinstance(operand, Address) or len(operand.coordinates) != count:
        raise draft.unknown(f"a map with {count} coordinates is expected")
    coordinates = [draft.reader(one, TYPES["s32"]) for one in operand.coordinates]
    return draft.address(Address(operand.base, operand.offset)), coordinates


def _vector(draft: Draft, count: int, type: str) -> list[Reader]:
    operand = draft.operand()
    parts: Sequence[Operand] = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} offsets are expected, found {len(parts)}")
    return [draft.reader(one, TYPES[type]) for one in parts]


def _map(cta: Cta, address: int, rank: int | None = None, mode: str = "") -> BoundTensorMap:
    """The map whose 128 bytes are at a generic address."""
    if address % _MAP_ALIGNMENT:
        raise Fault(f"the map at {address:#x} is not at a multiple of {_MAP_ALIGNMENT} bytes")
    window = address & 0xFF << 56
    space = next((name for name, begin in WINDOWS.items() if begin == window), "global")
    held = cta.memory.spans(space, address - window, MAP_BYTES, write=False)
    found = cta.launch.maps.get(held.tobytes())
    if found is None:
        raise Fault(f"the {MAP_BYTES} bytes at {space} address {address - window:#x} are those of no tensor map")
    wanted = "im2col" if mode.startswith("im2col") else "tiled"
    if rank is not None and (found.tensor_map.rank, found.tensor_map.mode) != (rank, wanted):
        raise Fault(f"the map is {found.tensor_map.mode} with {found.tensor_map.rank} dimensions, the copy is not")
    return found


def _memory(cta: Cta, bound: BoundTensorMap, *, write: bool) -> Array:
    """The bytes of the tensor, all of them registered."""
    try:
        held = bound.memory(store=write)
    except AddressingError as error:
        raise Fault(f"the copy is refused: {error}") from None
    if held.size:
        return cta.memory.spans("global", address_of(held), held.size, write=write)
    return np.zeros(0, np.uint8)
