"""Atomic accesses (PTX ISA "atom", "red"): threads come one after the other, by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.floats.arithmetic import least_or_most, operate
from tests.back.nvptx.ptx_machine.floats.formats import FORMATS, NEAREST
from tests.back.nvptx.ptx_machine.instructions.control import SCOPES
from tests.back.nvptx.ptx_machine.instructions.floating import bits_type, lanes
from tests.back.nvptx.ptx_machine.instructions.loads import aligned_vectors, space_of
from tests.back.nvptx.ptx_machine.syntax import Vector, Word
from tests.back.nvptx.ptx_machine.types import TYPES, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

Operation = Callable[[Array, Array], Array]
"""What is written, of what was there and what a thread brings; both as the type is computed with, or bits of floats."""

_INTEGERS: dict[str, Operation] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new + old * 0,
    "inc": lambda old, new: np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - old.dtype.type(1)),
}
_FORMS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "min": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "max": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "cas": ("b16", "b32", "b64"),
}
"""The types of each operation (PTX ISA "atom"). Vectors are of floats, from sm_90 on."""


def atomic(draft: Draft) -> Step:
    """atom and red."""
    returns = draft.name == "atom"
    draft.taken("relaxed", "acquire", "release", "acq_rel")
    draft.taken(*SCOPES)
    space = space_of(draft)
    if space not in ("generic", "global", "shared"):
        raise draft.unknown(f".{space} is not known")
    name = draft.expected(*(_FORMS if returns else [one for one in _FORMS if one not in ("exch", "cas")]))
    no_flush = bool(draft.taken("noftz"))
    count = int((draft.taken("v2", "v4", "v8") or "v1")[1:])
    type = draft.type(*_FORMS[name])
    if no_flush != (type.format in ("f16", "bf16")) or (count > 1 and type.kind != "f"):
        raise draft.unknown("the form is not known: .noftz is for 16 bits, vectors are of floats")
    slots = _targets(draft, type, count) if returns else []
    at = draft.address()
    values = _values(draft, type, count)
    other = draft.value(bits_type(type)) if name == "cas" else None
    size = type.bytes

    def run(cta: Cta, mask: Mask) -> None:
        registers = cta.registers
        addresses, threads = mask.chosen(at(registers)), mask.index
        if count > 1:
            aligned_vectors(addresses, size * count)
        brought = [mask.chosen(one(registers)) for one in values]
        swapped = None if other is None else mask.chosen(other(registers))
        for place, one in enumerate(brought):
            here = addresses + np.uint64(size * place)
            old = _in_turn(cta, space, here, threads, type, name, one, swapped)
            if slots and slots[place] >= 0:
                registers[slots[place]] = mask.spread(old, registers[slots[place]])

    return draft.step(run)


def _targets(draft: Draft, type: PtxType, count: int) -> list[int]:
    operand = draft.operand()
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} registers are expected, found {len(parts)}")
    return [-1 if one == Word("_") else draft.slot(one, bits_type(type)) for one in parts]


def _values(draft: Draft, type: PtxType, count: int) -> list[Reader]:
    operand = draft.operand()
    parts = operand.parts if isinstance(operand, Vector) and count > 1 else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} values are expected, found {len(parts)}")
    read = type if type.name in ("f32", "f64") else TYPES[f"b{type.bits}"]
    bits = type.held
    readers = [draft.reader(one, read) for one in parts]
    return [_as_bits(one, bits) for one in readers]


def _as_bits(read: Reader, bits: np.dtype[Any]) -> Reader:
    return lambda r: read(r).view(bits)


def _in_turn(
    cta: Cta, space: str, addresses: Array, threads: Array, type: PtxType, name: str, new: Array, swapped: Array | None
) -> Array:
    """What was in memory before each thread; those of one address come one after the other."""
    old = np.zeros(len(addresses), type.held)
    left = np.arange(len(addresses))
    while len(left):
        if swapped is not None:
            held = cta.memory.load(space, addresses[left], type.bytes, threads[left], words=True)
            if not (held == new[left]).any():
                old[left] = held
                break
        _, first = np.unique(addresses[left], return_index=True)
        now = left[np.sort(first)]
        held = cta.memory.load(space, addresses[now], type.bytes, threads[now], words=name == "cas")
        old[now] = held
        if swapped is not None:
            found = np.where(held == new[now], swapped[now], held)
        else:
            found = combined(name, type, held, new[now])
        cta.memory.store(space, addresses[now], found, threads[now], words=name == "cas")
        left = np.setdiff1d(left, now, assume_unique=True)
    return old


def combined(name: str, type: PtxType, old: Array, new: Array) -> Array:
    """The bits that an operation leaves in memory."""
    if type.kind != "f":
        return _INTEGERS[name](old.view(type.array), new.view(type.array)).view(type.held)
    form = FORMATS[type.format]
    if name == "add":
        return lanes(type, [old, new], lambda given: operate("add", form, NEAREST, given))
    return lanes(type, [old, new], lambda given: least_or_most(name, form, *given, keeps_nan=False))
