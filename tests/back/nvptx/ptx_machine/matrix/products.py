"""Products of fragments (PTX ISA "mma").

Products of floats are added up in `float64` and rounded once, which the ISA allows: it says neither order nor roundings
of the sums. f64 is added by `fma`, from the first component of the depth to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.floats.exact import fma
from tests.back.nvptx.ptx_machine.floats.formats import FORMATS, decoded, encoded
from tests.back.nvptx.ptx_machine.instructions.warps import together
from tests.back.nvptx.ptx_machine.matrix.fragments import (
    WARP,
    Fragment,
    Shape,
    gathered,
    left,
    right,
    scattered,
    sums,
)
from tests.back.nvptx.ptx_machine.syntax import Operand, Vector
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.build import Registers
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

_EIGHT = ("e4m3", "e5m2")

FORMS: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "m16n8k16": ((("f16",), ("f16", "f32")), (("bf16",), ("f32",)), (("s8", "u8"), ("s32",)), (("f64",), ("f64",)),
                 (_EIGHT, ("f16", "f32"))),
    "m16n8k8": ((("f16",), ("f16", "f32")), (("bf16", "tf32"), ("f32",)), (("f64",), ("f64",))),
    "m16n8k4": ((("tf32",), ("f32",)), (("f64",), ("f64",))),
    "m16n8k32": ((("s8", "u8"), ("s32",)), (_EIGHT, ("f16", "f32"))),
    "m8n8k16": ((("s8", "u8"), ("s32",)),),
    "m8n8k4": ((("f64",), ("f64",)),),
}  # fmt: skip
"""The types of factors and those of sums of each shape. m8n8k4 of f16 is not here: its fragments are others."""

_ELEMENTS = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32", *_EIGHT)
_ALL = np.array([0xFFFFFFFF], np.uint32)


def product(draft: Draft) -> Step:
    """mma.sync."""
    draft.expected("sync")
    draft.expected("aligned")
    name = draft.expected(*FORMS)
    draft.expected("row")
    draft.expected("col")
    clips = bool(draft.taken("satfinite"))
    draft.taken("kind::f8f6f4")
    result, a_type, b_type, c_type = (draft.type(*_ELEMENTS) for _ in range(4))
    if result != c_type or not any(
        a_type.name in factors and b_type.name in factors and c_type.name in totals for factors, totals in FORMS[name]
    ):
        raise draft.unknown("such a product is not known")
    if a_type.kind == "f" and a_type != b_type and not {a_type.name, b_type.name} <= {*_EIGHT}:
        raise draft.unknown("factors are of one type")
    shape = Shape.of(name)
    fragments = (left(shape, _packed(a_type)), right(shape, _packed(b_type)), sums(shape, _sums_packed(c_type)))
    slots = _slots(draft, fragments[2], c_type)
    readers = [_readers(draft, one, type) for one, type in zip(fragments, (a_type, b_type, c_type), strict=True)]
    sizes = ((shape.rows, shape.depth), (shape.depth, shape.columns), (shape.rows, shape.columns))

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        warps = _whole_warps(cta, mask, draft)
        a, b, c = (
            gathered(fragment, numbers(_held(cta, some, warps, type), type), *size)
            for fragment, some, type, size in zip(fragments, readers, (a_type, b_type, c_type), sizes, strict=True)
        )
        found = bits_of(_multiplied(a, b, c, c_type), c_type, clips=clips)
        _write(cta, mask, slots, scattered(fragments[2], found), warps, c_type)

    return together(draft, lambda r: _ALL, act)


def _packed(type: PtxType) -> int:
    return 1 if type.bits == 64 else 32 // type.bits


def _sums_packed(type: PtxType) -> int:
    return 2 if type.bits == 16 else 1


def _register(type: PtxType) -> PtxType:
    return TYPES["b64" if type.bits == 64 else "b32"]


def _parts(draft: Draft, fragment: Fragment) -> tuple[Operand, ...]:
    operand = draft.operand()
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != fragment.registers:
        raise draft.unknown(f"{fragment.registers} registers are expected, found {len(parts)}")
    return parts


def _slots(draft: Draft, fragment: Fragment, type: PtxType) -> list[int]:
    return [draft.slot(one, _register(type)) for one in _parts(draft, fragment)]


def _readers(draft: Draft, fragment: Fragment, type: PtxType) -> list[Reader]:
    read_as = type if type.name in ("f32", "f64") else _register(type)
    return [draft.reader(one, read_as) for one in _parts(draft, fragment)]


def _whole_warps(cta: Cta, mask: Mask, draft: Draft) -> int:
    """How many warps there are; threads that have ended leave what is computed undefined."""
    if cta.threads % WARP:
        raise draft.unknown("a product is of whole warps")
    whole = mask.on.reshape(-1, WARP)
    if (whole.any(1) != whole.all(1)).any():
        cta.launch.undefined.add(draft.instruction.place)
    return cta.threads // WARP


def _held(cta: Cta, readers: list[Reader], warps: int, type: PtxType) -> Array:
    """The numbers of all threads as their bits: `[warp, lane, register, number]`."""
    registers: Registers = cta.registers
    whole = [np.broadcast_to(one(registers), (cta.threads,)) for one in readers]
    stacked = np.stack(whole, axis=-1).view(UNSIGNED[64 if type.bits == 64 else 32]).reshape(warps, WARP, -1, 1)
    if type.bits >= 32:
        return stacked
    steps = np.arange(32 // type.bits, dtype=np.uint32) * np.uint32(type.bits)
    result: Array = (stacked >> steps).astype(UNSIGNED[type.bits])
    return result


def numbers(bits: Array, type: PtxType) -> Array:
    """Numbers of bits: floats as `float64`, integers as `int64`. What tf32 has below its digits is not looked at."""
    if type.kind in "su":
        return bits.view(type.array).astype(np.int64)
    if type.name == "tf32":
        bits = bits & np.uint32(0xFFFFE000)
    return decoded(bits, FORMATS[type.format])


def _multiplied(a: Array, b: Array, c: Array, total: PtxType) -> Array:
    """a b + c, of numbers."""
    if total.name != "f64":
        found: Array = np.matmul(a, b) + c
        return found
    found = c
    for k in range(a.shape[2]):
        x, y = np.broadcast_arrays(a[:, :, k, None], b[:, None, k, :])
        found = fma(x.reshape(-1), y.reshape(-1), found.reshape(-1)).reshape(c.shape)
    return found


def bits_of(values: Array, type: PtxType, *, clips: bool) -> Array:
    """The bits of sums; with `clips`, integers that are too large become the largest."""
    if type.kind == "f":
        return encoded(values, FORMATS[type.format])
    if clips:
        values = np.clip(values, -(1 << 31), (1 << 31) - 1)
    return (values & 0xFFFFFFFF).astype(np.uint32)


def _write(cta: Cta, mask: Mask, slots: list[int], held: Array, warps: int, type: PtxType) -> None:
    if held.shape[3] == 2:
        held = held[..., :1].astype(np.uint32) | held[..., 1:].astype(np.uint32) << np.uint32(16)
    for number, slot in enumerate(slots):
        value = held[:, :, number, 0].reshape(-1)
        cta.registers[slot] = value if mask.whole else np.where(mask.on, value, cta.registers[slot])
