"""Products of warpgroups (PTX ISA "Asynchronous Warpgroup Level Matrix Instructions").

A product is computed when it begins: what may not change until it is waited for is found by who changes it
(`in_flight`, `order.shadow`). Sums are rounded once for each product; hardware keeps fewer digits of those of e4m3 and
e5m2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.instructions.roles import WARPGROUP, whole_warpgroups
from tests.back.nvptx.ptx_machine.instructions.warps import together
from tests.back.nvptx.ptx_machine.matrix.descriptors import PIECE, Descriptor
from tests.back.nvptx.ptx_machine.matrix.fragments import Shape, gathered, left
from tests.back.nvptx.ptx_machine.matrix.products import bits_of, numbers
from tests.back.nvptx.ptx_machine.order.clocks import Clocks
from tests.back.nvptx.ptx_machine.order.shadow import Agent
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.syntax import Constant, Operand, Vector
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

_WARPS, _ROWS = 4, 64
_EIGHT = ("e4m3", "e5m2")
_INTEGERS = ("s8", "u8")
_DEPTH_BYTES = 32
_ALL = np.array([0xFFFFFFFF], np.uint32)

FORMS: dict[str, tuple[str, ...]] = {
    "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"),
    "s8": ("s32",), "u8": ("s32",),
}  # fmt: skip
"""The types of sums by that of the left factor."""
INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
"""How many columns products of integers have."""


@dataclass(frozen=True, slots=True)
class _Factor:
    """How a factor is read: `rows` x `depth` numbers of a type."""

    type: PtxType
    rows: int
    depth: int
    turned: bool
    descriptor: Reader | None = None
    registers: tuple[Reader, ...] = ()


def warpgroup(draft: Draft) -> Step:
    """wgmma."""
    draft.layout.asynchronous = True
    what = draft.expected("mma_async", "fence", "commit_group", "wait_group")
    draft.expected("sync")
    draft.expected("aligned")
    if what == "mma_async":
        return _product(draft)
    kept = 0
    if what == "wait_group":
        operand = draft.operand()
        if not isinstance(operand, Constant):
            raise draft.unknown("the number of groups is a constant")
        kept = operand.value

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        if cta.products is None:
            return
        if what == "fence":
            cta.products.fence(mask)
        elif what == "commit_group":
            cta.products.commit(mask)
        else:
            cta.products.wait(mask, kept)
            for warp in mask.warps:
                lanes = np.arange(warp * WARP, min((warp + 1) * WARP, cta.threads))
                _clocks(cta).learn(lanes, _column(cta, int(warp) // _WARPS), int(cta.products.waited[warp]))

    return together(draft, lambda r: _ALL, act)


@dataclass(frozen=True, slots=True)
class _Product:
    """A product: where its sums are, what they add, and the shape by which they are told from others."""

    a: _Factor
    b: _Factor
    total: PtxType
    sums: tuple[int, ...]
    """The slots of the registers of sums."""
    left: tuple[int, ...]
    """Those of the left factor, if it is in registers."""
    scale: Reader
    signs: tuple[int, int]
    clips: bool

    @property
    def shape(self) -> int:
        return self.b.rows * 8 + ("f16", "f32", "s32").index(self.total.name)

    def multiply(self, cta: Cta, group: int) -> None:
        """Compute the sums of a warpgroup."""
        begin = group * WARPGROUP
        assert cta.products is not None
        places = cta.products.places
        sums, factor = (np.array([places[slot] for slot in part], np.int64) for part in (self.sums, self.left))
        cta.products.begin(np.arange(group * _WARPS, (group + 1) * _WARPS), sums, factor, self.shape)
        adds = bool(_same(cta, self.scale, begin, "scale-d"))
        a, b = _numbers(cta, self.a, group) * self.signs[0], _numbers(cta, self.b, group) * self.signs[1]
        # Integers are exact in `float64`, in which products are faster.
        found = np.matmul(a.astype(np.float64), b.T.astype(np.float64))
        if self.total.kind == "s":
            found = found.astype(np.int64)
        if adds:
            found = found + _sums(cta, self.sums, begin, self.total, self.b.rows)
        _write(cta, self.sums, begin, bits_of(found, self.total, clips=self.clips), self.total)


def _product(draft: Draft) -> Step:
    product = _taken_apart(draft)
    waits = "warpgroup members at wgmma.mma_async"

    def go(cta: Cta, group: Group) -> bool:
        ready = whole_warpgroups(cta, group.mask.on)
        if not ready.any():
            group.waits = waits
            return False
        all_ready = bool((ready == group.mask.on).all())
        if not all_ready:
            cta.parted(group, group.mask.on & ~ready, group.at, waits)
        for number in np.unique(np.flatnonzero(ready) // WARPGROUP):
            product.multiply(cta, int(number))
        group.at += 1
        return not cta.apart(group) and all_ready

    step = parted(draft.control(go))
    step.meets = True
    return step


def _taken_apart(draft: Draft) -> _Product:
    """The operands of a product."""
    shape = Shape.of(draft.expected(*(f"m64n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32))))
    clips = bool(draft.taken("satfinite"))
    total = draft.type("f16", "f32", "s32")
    a_type, b_type = draft.type(*FORMS), draft.type(*FORMS)
    _check_form(draft, shape, total, a_type, b_type, clips=clips)
    sums = _parts(draft, draft.operand(), shape.columns // (2 if total.bits == 32 else 4))
    slots = [draft.slot(one, TYPES["f32" if total.name == "f32" else "b32"]) for one in sums]
    given = draft.operand()
    held = _parts(draft, given, 4) if isinstance(given, Vector) else ()
    a_slots = [draft.slot(one, TYPES["b32"]) for one in held]
    a_read = None if held else draft.reader(given, TYPES["b64"])
    b_read, scale = draft.value(TYPES["b64"]), draft.predicate()
    signs = (1, 1) if a_type.name in _INTEGERS else (_constant(draft, -1, 1), _constant(draft, -1, 1))
    turns = [0, 0]
    if a_type.bits == 16:
        turns = [0 if held else _constant(draft, 0, 1), _constant(draft, 0, 1)]
    registers = tuple(draft.reader(one, TYPES["b32"]) for one in held)
    a = _Factor(a_type, _ROWS, shape.depth, bool(turns[0]), a_read, registers)
    b = _Factor(b_type, shape.columns, shape.depth, bool(turns[1]), b_read)
    draft.layout.product_slots |= {*slots, *a_slots}
    return _Product(a, b, total, tuple(slots), tuple(a_slots), scale, signs, clips)


def _check_form(draft: Draft, shape: Shape, total: PtxType, a: PtxType, b: PtxType, *, clips: bool) -> None:
    mixed = {a.name, b.name} <= {*_EIGHT} or {a.name, b.name} <= {*_INTEGERS}
    right = total.name in FORMS[a.name] and (a == b or mixed) and shape.depth * a.bytes == _DEPTH_BYTES
    if a.name in _INTEGERS:
        right = right and shape.columns in INTEGER_COLUMNS
    elif clips:
        right = False
    if not right:
        raise draft.unknown("such a product is not known")


def _parts(draft: Draft, operand: Operand, count: int) -> tuple[Operand, ...]:
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise draft.unknown(f"{count} registers are expected, found {len(parts)}")
    return parts


def _constant(draft: Draft, *allowed: int) -> int:
    operand = draft.operand()
    if not isinstance(operand, Constant) or operand.value not in allowed:
        raise draft.unknown(f"one of {allowed} is expected, found {operand}")
    return operand.value


# --- factors -------------------------------------------------------------------------------------


def _same(cta: Cta, read: Reader, begin: int, what: str) -> int:
    """What all threads of a warpgroup have."""
    values = np.broadcast_to(read(cta.registers), (cta.threads,))[begin : begin + WARPGROUP]
    if (values != values[0]).any():
        raise Fault(f"the threads of the warpgroup at thread {begin} have different values of {what}")
    return int(values[0])


def _numbers(cta: Cta, factor: _Factor, group: int) -> Array:
    """The numbers of a factor: `[row, place along the depth]`."""
    begin = group * WARPGROUP
    bits = _from_registers(cta, factor, begin) if factor.descriptor is None else _from_memory(cta, factor, group)
    return numbers(bits, factor.type)


def _from_registers(cta: Cta, factor: _Factor, begin: int) -> Array:
    whole = [np.broadcast_to(one(cta.registers), (cta.threads,))[begin : begin + WARPGROUP] for one in factor.registers]
    stacked = np.stack(whole, axis=-1).reshape(_WARPS, WARP, len(whole), 1)
    packed = 32 // factor.type.bits
    steps = np.arange(packed, dtype=np.uint32) * np.uint32(factor.type.bits % 32)
    held = (stacked >> steps).astype(UNSIGNED[factor.type.bits])
    rows = _ROWS // _WARPS
    fragment = left(Shape(rows, 8, factor.depth), packed)
    return gathered(fragment, held, rows, factor.depth).reshape(_ROWS, factor.depth)


def _from_memory(cta: Cta, factor: _Factor, group: int) -> Array:
    assert factor.descriptor is not None
    described = Descriptor.of(_same(cta, factor.descriptor, group * WARPGROUP, "a descriptor"))
    depth = factor.depth if factor.turned else factor.depth * factor.type.bytes
    addresses = described.pieces(factor.rows, depth, turned=factor.turned)
    region = cta.memory.own["shared"]
    low, high = int(addresses.min()), int(addresses.max()) + PIECE
    if low < region.begin or high > region.end:
        raise Fault(f"shared addresses {low:#x} to {high:#x} of a factor are not all there")
    words = ((addresses - region.begin) // 4)[..., None] + np.arange(PIECE // 4)
    if region.shadow is not None:
        assert cta.products is not None
        agent = Agent(_column(cta, group), int(cta.products.open[group * _WARPS]))
        region.shadow.agent_read(words.reshape(-1), agent, np.arange(group * WARPGROUP, (group + 1) * WARPGROUP))
    held = region.view(4)[1][words]
    bits = np.ascontiguousarray(held).view(UNSIGNED[factor.type.bits])
    if factor.turned:
        return bits.swapaxes(1, 2).reshape(factor.rows, factor.depth)
    return bits.reshape(factor.rows, factor.depth)


def _clocks(cta: Cta) -> Clocks:
    assert cta.clocks is not None
    return cta.clocks


def _column(cta: Cta, group: int) -> int:
    return _clocks(cta).column("wgmma", group, f"wgmma of warpgroup {group}")


# --- sums ----------------------------------------------------------------------------------------


@cache
def _places(columns: int, packed: int) -> tuple[Array, Array]:
    """The row and the column of each sum: `[thread, register, number in the register]`."""
    thread, register, number = np.meshgrid(
        np.arange(WARPGROUP), np.arange(columns // (2 * packed)), np.arange(packed), indexing="ij"
    )
    place = register * packed + number
    rows = thread // WARP * 16 + thread % WARP // 4 + place // 2 % 2 * 8
    return rows, place // 4 * 8 + thread % 4 * 2 + place % 2


def _sums(cta: Cta, slots: tuple[int, ...], begin: int, type: PtxType, columns: int) -> Array:
    """The sums that a warpgroup has: `[row, column]`."""
    whole = np.stack([_of_warpgroup(cta, slot, begin) for slot in slots], 1)
    packed = 32 // type.bits
    bits = whole[..., None] if packed == 1 else whole.view(np.uint16).reshape(WARPGROUP, len(slots), 2)
    rows, places = _places(columns, packed)
    found = np.zeros((_ROWS, columns), np.int64 if type.kind == "s" else np.float64)
    found[rows, places] = numbers(np.ascontiguousarray(bits), type)
    return found


def _of_warpgroup(cta: Cta, slot: int, begin: int) -> Array:
    return cta.full(slot)[begin : begin + WARPGROUP]


def _write(cta: Cta, slots: tuple[int, ...], begin: int, bits: Array, type: PtxType) -> None:
    packed = 32 // type.bits
    rows, columns = _places(bits.shape[1], packed)
    held = bits[rows, columns]
    whole = held[..., 0] if packed == 1 else np.ascontiguousarray(held).view(np.uint32)[..., 0]
    values = np.ascontiguousarray(whole.T)
    for slot, value in zip(slots, values, strict=True):
        if cta.threads == WARPGROUP:
            cta.registers[slot] = value
            continue
        found = cta.full(slot).copy()
        found[begin : begin + WARPGROUP] = value
        cta.registers[slot] = found
