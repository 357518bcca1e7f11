"""Loads and stores (PTX ISA "ld", "ld.global.nc", "ldu", "st")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step, held
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import SCOPES
from tests.back.nvptx.ptx_machine.instructions.floating import bits_type
from tests.back.nvptx.ptx_machine.syntax import Address, Operand, Vector, Word
from tests.back.nvptx.ptx_machine.types import TYPES, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

_TYPES = (*(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), "f32", "f64")
_SPACES = (
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "param::entry",
    "param::func",
    "const",
)
_LEVELS = tuple(f"{level}::{what}" for level in ("L1", "L2") for what in
                ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"))  # fmt: skip


def memory_modifiers(draft: Draft) -> tuple[str, str]:
    """The order and the scope of an access, of which nothing is left out; its space is taken next."""
    order = draft.taken("weak", "volatile", "relaxed", "acquire", "release")
    scope = draft.taken(*SCOPES) if order in ("relaxed", "acquire", "release") else ""
    if order in ("relaxed", "acquire", "release") and not scope:
        raise draft.unknown("a scope is missing")
    return order, scope


def space_of(draft: Draft) -> str:
    """The space of an access; `generic` where none is named."""
    return (draft.taken(*_SPACES) or "generic").split("::")[0]


def _cached(draft: Draft, *operators: str) -> bool:
    """Whether a load is `.nc`; what is said of caches means nothing here."""
    draft.taken(*operators)
    constant = bool(draft.taken("nc"))
    draft.taken(*_LEVELS)
    draft.taken(*_LEVELS)
    if draft.taken("L2::cache_hint"):
        raise draft.unknown(".L2::cache_hint is not known")
    draft.taken("L2::64B", "L2::128B", "L2::256B")
    return constant


def loaded(draft: Draft) -> Step:
    """ld, ldu."""
    order, _ = memory_modifiers(draft)
    space = space_of(draft)
    constant = _cached(draft, "ca", "cg", "cs", "lu", "cv")
    count = int((draft.taken("v2", "v4", "v8") or "v1")[1:])
    type = draft.type(*_TYPES)
    if order == "release" or (constant and (space != "global" or order)):
        raise draft.unknown("such a load is not known")
    targets = _parts(draft, draft.operand(), count)
    kept = [(place, one) for place, one in enumerate(targets) if one != Word("_")]
    slots = [(place, draft.slot(one, bits_type(type), wide=True), draft.bits_of(one)) for place, one in kept]
    address = draft.operand()
    if isinstance(address, Address) and space == "param" and _of_call(draft, address):
        return _from_call(draft, address, type, slots)
    at = draft.address(address)
    size = type.bytes
    if constant:
        draft.layout.watches = True

    def run(cta: Cta, mask: Mask) -> None:
        addresses = at(cta.registers)
        one = addresses.size == 1 and mask.whole and space != "local"
        if not one:
            addresses = mask.chosen(addresses)
        threads = mask.index
        if count > 1:
            aligned_vectors(addresses, size * count)
        for place, slot, bits in slots:
            values = cta.memory.load(space, addresses + np.uint64(size * place), size, threads, words=count == 1)
            if constant:
                cta.memory.read_constant(addresses + np.uint64(size * place), size)
            found = held(values.view(type.array), bits)
            cta.registers[slot] = found if one else mask.spread(found, cta.registers[slot])

    return draft.step(run)


def aligned_vectors(addresses: Array, size: int) -> None:
    """Raise `Fault` where a vector does not lie at a multiple of its size."""
    wrong = addresses & np.uint64(size - 1) != 0
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise Fault(f"a vector of {size} bytes at {int(addresses[first]):#x} is not aligned", first)


def _parts(draft: Draft, operand: Operand, count: int) -> tuple[Operand, ...]:
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} registers are expected, found {len(parts)}")
    return parts


def _of_call(draft: Draft, address: Address) -> bool:
    """Whether an address is that of a parameter of a call."""
    if address.base is None or draft.layout.register(draft.instruction.scope, address.base.name) is not None:
        return False
    return draft.place(address.base.name).address is None


def _call_bytes(draft: Draft, address: Address, size: int) -> int:
    """The number of a parameter of a call of which bytes are read or written, all of them there."""
    assert address.base is not None
    place = draft.place(address.base.name)
    if address.offset < 0 or address.offset + size > place.variable.bytes:
        raise draft.unknown(f"{size} bytes at {address.offset} are not in {address.base.name}")
    return place.number


def _from_call(draft: Draft, address: Address, type: PtxType, slots: list[tuple[int, int, int]]) -> Step:
    size = type.bytes
    number = _call_bytes(draft, address, size * (1 + max((place for place, _, _ in slots), default=0)))

    def run(cta: Cta, mask: Mask) -> None:
        rows = cta.calls[number]
        for place, slot, bits in slots:
            begin = address.offset + size * place
            values = np.ascontiguousarray(rows[:, begin : begin + size]).view(type.array)[:, 0]
            found = held(values, bits)
            cta.registers[slot] = found if mask.whole else np.where(mask.on, found, cta.registers[slot])

    return draft.step(run)


def stored(draft: Draft) -> Step:
    """st."""
    order, _ = memory_modifiers(draft)
    space = space_of(draft)
    if _cached(draft, "wb", "cg", "cs", "wt") or order == "acquire" or space == "const":
        raise draft.unknown("such a store is not known")
    count = int((draft.taken("v2", "v4", "v8") or "v1")[1:])
    type = draft.type(*_TYPES)
    address = draft.operand()
    values = [_value(draft, one, type) for one in _parts(draft, draft.operand(), count)]
    if isinstance(address, Address) and space == "param" and _of_call(draft, address):
        return _to_call(draft, address, type, values)
    if space == "param":
        raise draft.unknown("parameters of a kernel are not written")
    at = draft.address(address)
    size, bits = type.bytes, type.held

    def run(cta: Cta, mask: Mask) -> None:
        registers = cta.registers
        addresses, threads = mask.chosen(at(registers)), mask.index
        if count > 1:
            aligned_vectors(addresses, size * count)
        for place, one in enumerate(values):
            chosen = mask.chosen(one(registers).view(bits))
            cta.memory.store(space, addresses + np.uint64(size * place), chosen, threads)

    return draft.step(run)


def _value(draft: Draft, operand: Operand, type: PtxType) -> Reader:
    return draft.reader(operand, type if type.kind == "f" else TYPES[f"b{type.bits}"], wide=True)


def _to_call(draft: Draft, address: Address, type: PtxType, values: list[Reader]) -> Step:
    size = type.bytes
    number = _call_bytes(draft, address, size * len(values))

    def run(cta: Cta, mask: Mask) -> None:
        rows = cta.calls[number]
        for place, one in enumerate(values):
            begin = address.offset + size * place
            held_bytes = np.broadcast_to(one(cta.registers).view(type.held), (cta.threads,)).copy()
            found = held_bytes.view(np.uint8).reshape(cta.threads, size)
            if mask.whole:
                rows[:, begin : begin + size] = found
            else:
                rows[mask.on, begin : begin + size] = found[mask.on]

    return draft.step(run)
