"""Moves and conversions (PTX ISA "mov", "cvt", "cvta", "isspacep")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Registers, Step, held
from tests.back.nvptx.ptx_machine.floats.formats import AWAY, FORMATS, NEAREST, decoded, encoded
from tests.back.nvptx.ptx_machine.instructions.floating import bits_type, flush, relu_of, saturated
from tests.back.nvptx.ptx_machine.memory import WINDOWS
from tests.back.nvptx.ptx_machine.syntax import Vector, Word
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

_INTEGERS = tuple(f"{kind}{bits}" for kind in "us" for bits in (8, 16, 32, 64))
_FLOATS = ("f16", "bf16", "f32", "f64", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2")
_TO_INTEGER: dict[str, Callable[[Array], Array]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")


def moved(draft: Draft) -> Step:
    """mov: of registers, constants, addresses of variables, and of registers packed and taken apart."""
    type = draft.type("pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
    target = draft.operand()
    if not isinstance(target, Vector):
        slot = draft.slot(target, type)
        value = draft.value(type)
        return draft.pure(slot, lambda r: value(r).view(type.held))
    each = type.bits // len(target.parts)
    if each not in UNSIGNED or type.kind == "pred":
        raise draft.unknown(f"{len(target.parts)} parts do not suit .{type.name}")
    kept = [(place, one) for place, one in enumerate(target.parts) if one != Word("_")]
    slots = [draft.slot(one, TYPES[f"b{each}"]) for _, one in kept]
    value = draft.value(bits_type(type))

    def compute(r: Registers) -> list[Array]:
        whole = value(r)
        return [(whole >> whole.dtype.type(each * place)).astype(UNSIGNED[each]) for place, _ in kept]

    return draft.several(slots, compute)


def converted(draft: Draft) -> Step:
    """cvt."""
    if draft.taken("pack"):
        return _packed(draft)
    integer = draft.taken(*_TO_INTEGER)
    rounding = "" if integer else draft.taken(*_ROUNDINGS)
    finite, relu = bool(draft.taken("satfinite")), bool(draft.taken("relu"))
    finite = finite or bool(draft.taken("satfinite"))
    ftz, saturates = bool(draft.taken("ftz")), bool(draft.taken("sat"))
    to = draft.type(*_INTEGERS, *_FLOATS)
    source = draft.type(*_INTEGERS, *_FLOATS)
    slot_operand = draft.operand()
    width = draft.bits_of(slot_operand)
    slot = draft.slot(slot_operand, to, wide=True)
    if to.lanes == 2:
        return _two(draft, slot, to, source, rounding, finite=finite, relu=relu)
    if source.lanes == 2:
        raise draft.unknown(f".{source.name} does not suit .{to.name}")
    if ftz and "f32" not in (to.name, source.name):
        raise draft.unknown(".ftz is for .f32")
    _check_rounding(draft, to, source, rounding, integer)
    of = _one(to, source, rounding or NEAREST, integer, ftz=ftz, saturates=saturates, finite=finite, relu=relu)
    value = draft.value(bits_type(source) if source.kind in "fe" else source, wide=True)
    return draft.pure(slot, lambda r: held(of(value(r)), width))


def _check_rounding(draft: Draft, to: PtxType, source: PtxType, rounding: str, integer: str) -> None:
    floats = (to.kind == "f") + (source.kind == "f")
    narrows = floats == 2 and (FORMATS[to.format].digits < FORMATS[source.format].digits
                               or FORMATS[to.format].least > FORMATS[source.format].least)  # fmt: skip
    needs = narrows or (to.kind == "f" and source.kind != "f")
    if needs and not rounding:
        raise draft.unknown("a rounding is missing")
    if source.kind == "f" and to.kind != "f" and not integer:
        raise draft.unknown("a rounding to integers is missing")
    if rounding and not needs:
        raise draft.unknown(f".{rounding} is not known here")
    if integer and (source.kind != "f" or (to.kind == "f" and to.name != source.name)):
        raise draft.unknown(f".{integer} is not known here")


def _one(
    to: PtxType, source: PtxType, rounding: str, integer: str, *, ftz: bool, saturates: bool, finite: bool, relu: bool
) -> Callable[[Array], Array]:
    """What converts numbers, those of floats as their bits."""
    if to.kind != "f" and source.kind != "f":
        return lambda value: _clipped(value, to) if saturates else _cut(value, to)
    if source.kind != "f":
        return _from_integer(to, rounding, saturates=saturates)
    form = FORMATS[source.format]

    def numbers(bits: Array) -> Array:
        return decoded(flush(bits, form) if ftz and source.name == "f32" else bits, form)

    if to.kind != "f":
        return lambda bits: _to_integer(_TO_INTEGER[integer](numbers(bits)), to, source)
    goal = FORMATS[to.format]

    def between(bits: Array) -> Array:
        values = numbers(bits)
        values = _TO_INTEGER[integer](values) if integer else values
        found = encoded(values, goal, rounding, finite=finite)
        if to.name == "f64":
            found = np.where(np.isnan(values), np.uint64(goal.nan), found)
        found = flush(found, goal) if ftz and to.name == "f32" else found
        found = saturated(found, goal) if saturates else found
        return relu_of(found, goal) if relu else found

    return between


def _cut(value: Array, to: PtxType) -> Array:
    """Integers in a type: higher bits are lost, lower ones kept by the sign of the source."""
    return value.astype(to.array)


def _clipped(value: Array, to: PtxType) -> Array:
    """Integers in a type, those that it lacks the nearest that it has."""
    limits = np.iinfo(to.array)
    own = np.iinfo(value.dtype)
    least, most = max(limits.min, own.min), min(limits.max, own.max)
    return np.clip(value, value.dtype.type(least), value.dtype.type(most)).astype(to.array)


def _from_integer(to: PtxType, rounding: str, *, saturates: bool) -> Callable[[Array], Array]:
    form = FORMATS[to.format]

    def of(value: Array) -> Array:
        if to.name in ("f32", "f64") and rounding == NEAREST:
            found = value.astype(to.array).view(to.held)
        elif to.name == "f64":
            found = _directed(value, rounding).view(np.uint64)
        else:
            found = encoded(_odd(value), form, rounding)
        return saturated(found, form) if saturates else found

    return of


def _odd(value: Array) -> Array:
    """Integers as `float64`, rounded to odd."""
    if value.dtype.itemsize < 8:
        return value.astype(np.float64)
    return np.array([_odd_integer(int(one)) for one in value])


def _odd_integer(value: int) -> float:
    lost = max(abs(value).bit_length() - 53, 0)
    kept = abs(value) >> lost
    if kept << lost != abs(value):
        kept |= 1
    return float((kept << lost) * (-1 if value < 0 else 1))


def _directed(value: Array, rounding: str) -> Array:
    """Integers as `float64`, not rounded to nearest."""
    found = value.astype(np.float64)
    for place, one in enumerate(map(int, value)):
        down = rounding == "rm" or (rounding == "rz" and one > 0)
        near = int(found[place])
        if (near > one) if down else (near < one):
            found[place] = np.nextafter(found[place], -np.inf if down else np.inf)
    return found


def _to_integer(values: Array, to: PtxType, source: PtxType) -> Array:
    """Numbers that are integers in a type: the nearest that it has; NaN is 0, or the highest bit (PTX ISA "cvt")."""
    limits = np.iinfo(to.array)
    nan = np.isnan(values)
    # The largest integer of 64 bits is not among the floats; the next power of two is.
    over, under = values >= float(limits.max), values <= float(limits.min)
    found = np.where(over | under | nan, 0.0, values).astype(to.array)
    found = np.where(over, to.array.type(limits.max), np.where(under, to.array.type(limits.min), found))
    wide = source.name == "f64" or to.bits == 64
    none = to.array.type(limits.min if to.kind == "s" else (limits.max >> 1) + 1) if wide else to.array.type(0)
    return np.where(nan, none, found)


def _two(draft: Draft, slot: int, to: PtxType, source: PtxType, rounding: str, *, finite: bool, relu: bool) -> Step:
    """Two numbers into one register; the first is in the higher half. Or both of one register into another."""
    goal, form = FORMATS[to.format], FORMATS[source.format]
    half = to.bits // 2
    if rounding not in ("rn", "rz") or (goal.bits == 8 and not finite and source.lanes != 2 and form.name == "f32"):
        raise draft.unknown("a rounding, or .satfinite, is missing")
    if source.lanes == 2:
        both = draft.value(bits_type(source))
        each = source.bits // 2

        def parts(r: Registers) -> tuple[Array, Array]:
            bits = both(r)
            return (bits >> bits.dtype.type(each)).astype(UNSIGNED[each]), bits.astype(UNSIGNED[each])
    elif source.name == "f32":
        first, second = draft.value(source), draft.value(source)

        def parts(r: Registers) -> tuple[Array, Array]:
            return first(r).view(np.uint32), second(r).view(np.uint32)
    else:
        raise draft.unknown(f".{source.name} does not suit .{to.name}")

    def compute(r: Registers) -> Array:
        high, low = (encoded(decoded(one, form), goal, rounding, finite=finite) for one in parts(r))
        if relu:
            high, low = relu_of(high, goal), relu_of(low, goal)
        result: Array = (high.astype(UNSIGNED[to.bits]) << UNSIGNED[to.bits].type(half)) | low
        return result

    return draft.pure(slot, compute)


def _packed(draft: Draft) -> Step:
    """cvt.pack: two integers clipped and put before a third."""
    draft.expected("sat")
    to = draft.type("u16", "s16", "u8", "s8")
    draft.type("s32")
    third = draft.taken("b32")
    slot = draft.result(TYPES["b32"])
    a, b = draft.value(TYPES["s32"]), draft.value(TYPES["s32"])
    c = draft.value(TYPES["b32"]) if third else None
    if (to.bits == 8) != bool(third):
        raise draft.unknown("a third operand is for 8 bits")

    def compute(r: Registers) -> Array:
        high, low = (_clipped(one(r), to).view(UNSIGNED[to.bits]).astype(np.uint32) for one in (a, b))
        found = high << np.uint32(to.bits) | low
        return found if c is None else c(r) << np.uint32(16) | found

    return draft.pure(slot, compute)


def address_space(draft: Draft) -> Step:
    """cvta: between addresses of a space and generic ones. 0 is 0 in no window, so that null stays null in global."""
    back = bool(draft.taken("to"))
    draft.taken("param::entry")
    space = draft.expected(
        "global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry"
    )
    type = draft.type("u64", "u32")
    slot, value = draft.result(type), draft.value(type)
    window = np.uint64(WINDOWS.get(space.split("::")[0], 0))
    if not window:
        return draft.pure(slot, lambda r: value(r))
    if type.bits == 32:
        raise draft.unknown("addresses have 64 bits")

    def run(cta: Cta, mask: Mask) -> None:
        found = value(cta.registers)
        found = found - window if back else found + window
        cta.registers[slot] = found if mask.whole else np.where(mask.on, found, cta.registers[slot])

    return draft.step(run)


def is_space(draft: Draft) -> Step:
    """isspacep: whether a generic address is in the window of a space."""
    space = draft.expected("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param")
    slot, value = draft.result(TYPES["pred"]), draft.value(TYPES["u64"])
    window = WINDOWS.get(space.split("::")[0], 0)
    if space == "const":
        raise draft.unknown(".const is not known")
    return draft.pure(slot, lambda r: value(r) >> np.uint64(56) == window >> 56)


__all__ = ["AWAY", "address_space", "converted", "is_space", "moved"]
