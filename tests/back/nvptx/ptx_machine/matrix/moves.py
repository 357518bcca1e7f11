"""Matrices of 8 x 8 numbers of 16 bits on their way (PTX ISA "ldmatrix", "stmatrix", "movmatrix").

A row lies in 16 bytes; the address of row r of the k-th matrix comes from thread 8 k + r.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.instructions.loads import aligned_vectors
from tests.back.nvptx.ptx_machine.instructions.warps import together
from tests.back.nvptx.ptx_machine.matrix.fragments import SMALL, WARP, gathered, scattered
from tests.back.nvptx.ptx_machine.syntax import Operand, Vector
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

_ALL = np.array([0xFFFFFFFF], np.uint32)
_ROWS, _ROW_BYTES, _WORD = 8, 16, 8


def _form(draft: Draft) -> tuple[int, bool, str]:
    """How many matrices, whether transposed, and the space."""
    draft.expected("sync")
    draft.expected("aligned")
    draft.expected("m8n8")
    count = int(draft.expected("x1", "x2", "x4")[1:])
    turned = bool(draft.taken("trans"))
    space = "shared" if draft.taken("shared", "shared::cta") else "generic"
    draft.expected("b16")
    return count, turned, space


def _parts(draft: Draft, count: int) -> tuple[Operand, ...]:
    operand = draft.operand()
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} registers are expected, found {len(parts)}")
    return parts


def _rows(cta: Cta, mask: Mask, at: Reader, count: int, draft: Draft) -> tuple[Array, Array, Array]:
    """The addresses of rows, the threads that give them, and the warps that take part."""
    if cta.threads % WARP:
        raise draft.unknown("such a move is of whole warps")
    lanes = np.arange(cta.threads) % WARP
    giving = mask.on & (lanes < _ROWS * count)
    warps = np.flatnonzero(mask.on.reshape(-1, WARP).any(1))
    if not mask.on.reshape(-1, WARP)[warps].all():
        cta.launch.undefined.add(draft.instruction.place)
    addresses = np.broadcast_to(at(cta.registers), (cta.threads,))[giving]
    aligned_vectors(addresses, _ROW_BYTES)
    return addresses, np.flatnonzero(giving), warps


def loaded_matrix(draft: Draft) -> Step:
    """ldmatrix."""
    count, turned, space = _form(draft)
    slots = [draft.slot(one, TYPES["b32"]) for one in _parts(draft, count)]
    at = draft.address()

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        addresses, threads, _ = _rows(cta, mask, at, count, draft)
        halves = [cta.memory.load(space, addresses + np.uint64(k * _WORD), _WORD, threads) for k in (0, 1)]
        rows = np.zeros((cta.threads, _ROWS), np.uint16)
        rows[threads] = np.stack(halves, axis=-1).view(np.uint16)
        matrices = rows.reshape(-1, WARP // _ROWS, _ROWS, _ROWS)
        for number, slot in enumerate(slots):
            _write(cta, mask, slot, matrices[:, number].swapaxes(1, 2) if turned else matrices[:, number])

    return together(draft, lambda r: _ALL, act)


def stored_matrix(draft: Draft) -> Step:
    """stmatrix."""
    count, turned, space = _form(draft)
    at = draft.address()
    readers = [draft.reader(one, TYPES["b32"]) for one in _parts(draft, count)]

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        addresses, threads, _ = _rows(cta, mask, at, count, draft)
        rows = np.zeros((cta.threads // WARP, WARP // _ROWS, _ROWS, _ROWS), np.uint16)
        for number, one in enumerate(readers):
            held = _matrices(np.broadcast_to(one(cta.registers), (cta.threads,)))
            rows[:, number] = held.swapaxes(1, 2) if turned else held
        words = rows.reshape(cta.threads, _ROWS).view(np.uint64)[threads]
        for half in (0, 1):
            here = addresses + np.uint64(half * _WORD)
            cta.memory.store(space, here, np.ascontiguousarray(words[:, half]), threads)

    return together(draft, lambda r: _ALL, act)


def turned_matrix(draft: Draft) -> Step:
    """movmatrix: transposed."""
    for name in ("sync", "aligned", "m8n8", "trans", "b16"):
        draft.expected(name)
    slot, value = draft.result(TYPES["b32"]), draft.value(TYPES["b32"])

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        if cta.threads % WARP:
            raise draft.unknown("such a move is of whole warps")
        _write(cta, mask, slot, _matrices(np.broadcast_to(value(cta.registers), (cta.threads,))).swapaxes(1, 2))

    return together(draft, lambda r: _ALL, act)


def _matrices(held: Array) -> Array:
    """Matrices `[warp, row, column]` of what threads hold."""
    parts = np.ascontiguousarray(held).view(np.uint16).reshape(-1, WARP, 1, 2)
    return gathered(SMALL, parts, _ROWS, _ROWS)


def _write(cta: Cta, mask: Mask, slot: int, matrices: Array) -> None:
    held = np.ascontiguousarray(scattered(SMALL, matrices)).reshape(-1, 2).view(np.uint32)[:, 0]
    cta.registers[slot] = held if mask.whole else np.where(mask.on, held, cta.registers[slot])
