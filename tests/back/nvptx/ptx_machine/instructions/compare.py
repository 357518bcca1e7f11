"""Comparison and selection (PTX ISA "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Registers, Step
from tests.back.nvptx.ptx_machine.floats.formats import FORMATS, decoded, flushed
from tests.back.nvptx.ptx_machine.instructions.floating import bits_type
from tests.back.nvptx.ptx_machine.syntax import Pair, Word
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

Comparison = Callable[[Array, Array], Array]

_ORDERED: dict[str, Comparison] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLOAT_NAMES = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_LOGIC: dict[str, Comparison] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_INTEGER_TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
_FLOAT_TYPES = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")


def compared(name: str, type: PtxType) -> Comparison:
    """A comparison of numbers. With NaN, ordered ones are false but `ne`, which is as `neu` would not be: see below."""
    if type.kind != "f":
        return _ORDERED[_UNSIGNED_NAMES.get(name, name)]
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name.endswith("u") and name != "num":
        plain = _ORDERED[name[:-1]]
        return lambda a, b: plain(a, b) | np.isnan(a) | np.isnan(b)
    if name == "ne":
        return lambda a, b: np.not_equal(a, b) & ~(np.isnan(a) | np.isnan(b))
    return _ORDERED[name]


def _comparison(draft: Draft) -> tuple[str, str, bool]:
    """The names of the comparison and of what joins it with a predicate; whether floats are flushed."""
    names = (*_ORDERED, *_UNSIGNED_NAMES, *_FLOAT_NAMES)
    return draft.expected(*names), draft.taken(*_LOGIC), bool(draft.taken("ftz"))


def _numbers(draft: Draft, type: PtxType, ftz: bool, lane: int = 0) -> Callable[[Reader], Reader]:
    """How an operand is read as numbers that NumPy compares."""
    if type.name not in ("f16", "bf16", "f16x2", "bf16x2"):
        if not ftz:
            return lambda read: read
        return lambda read: lambda r: flushed(read(r))
    form = FORMATS[type.format]

    def numbers(read: Reader) -> Reader:
        def of(r: Registers) -> Array:
            bits = read(r)
            narrow = (bits >> bits.dtype.type(16 * lane)).astype(np.uint16) if type.lanes == 2 else bits
            return decoded(narrow, form)

        return of

    return numbers


def _check(draft: Draft, name: str, type: PtxType, ftz: bool) -> None:
    wrong = (
        (type.kind != "f" and name in _FLOAT_NAMES)
        or (type.kind != "u" and name in _UNSIGNED_NAMES)
        or (type.kind == "b" and name not in ("eq", "ne"))
        or (ftz and type.format not in ("f32", "f16"))
    )
    if wrong:
        raise draft.unknown(f".{name} does not suit .{type.name}")


def predicates(draft: Draft) -> Step:
    """setp."""
    name, logic, ftz = _comparison(draft)
    type = draft.type(*_INTEGER_TYPES, *_FLOAT_TYPES)
    _check(draft, name, type, ftz)
    target = draft.operand()
    both = (target.first, target.second) if isinstance(target, Pair) else (target,)
    slots = [-1 if one == Word("_") else draft.slot(one, TYPES["pred"]) for one in both]
    read_as = bits_type(type) if type.format in ("f16", "bf16") else type
    a, b = draft.value(read_as), draft.value(read_as)
    joined = draft.predicate() if logic else None
    of = compared(name, type)
    first, second = (_numbers(draft, type, ftz, lane) for lane in (0, 1))

    def compute(r: Registers) -> list[Array]:
        found = of(first(a)(r), first(b)(r))
        other = of(second(a)(r), second(b)(r)) if type.lanes == 2 else ~found
        if joined is not None:
            found, other = (_LOGIC[logic](one, joined(r)) for one in (found, other))
        return [found, other]

    if len(slots) == 1 and type.lanes == 1 and joined is None:
        x, y = first(a), first(b)
        return draft.pure(slots[0], lambda r: of(x(r), y(r)))
    kept = [place for place, slot in enumerate(slots) if slot >= 0]
    return draft.several([slots[k] for k in kept], lambda r: [one for k, one in enumerate(compute(r)) if k in kept])


def numbers_of_comparison(draft: Draft) -> Step:
    """set: all ones or 1.0 where the comparison holds."""
    name, logic, ftz = _comparison(draft)
    result = draft.type("u32", "s32", "f32")
    type = draft.type(*_INTEGER_TYPES, "f32", "f64")
    _check(draft, name, type, ftz)
    slot = draft.result(result)
    numbers = _numbers(draft, type, ftz)
    a, b = numbers(draft.value(type)), numbers(draft.value(type))
    joined = draft.predicate() if logic else None
    of = compared(name, type)
    true = np.uint32(0x3F800000 if result.kind == "f" else 0xFFFFFFFF)

    def compute(r: Registers) -> Array:
        found = of(a(r), b(r))
        found = found if joined is None else _LOGIC[logic](found, joined(r))
        return np.where(found, true, np.uint32(0))

    return draft.pure(slot, compute)


def selected(draft: Draft) -> Step:
    """selp."""
    type = draft.type(*_INTEGER_TYPES, "f32", "f64", "f16", "bf16")
    slot = draft.result(type)
    a, b = draft.value(type), draft.value(type)
    says = draft.predicate()
    held = type.held
    return draft.pure(slot, lambda r: np.where(says(r), a(r).view(held), b(r).view(held)))


def by_sign(draft: Draft) -> Step:
    """slct: one or the other, by the sign of a third."""
    ftz = bool(draft.taken("ftz"))
    type = draft.type(*_INTEGER_TYPES, "f32", "f64")
    sign = draft.type("s32", "f32")
    if ftz and sign.kind != "f":
        raise draft.unknown(".ftz is for .f32")
    slot = draft.result(type)
    a, b, c = draft.value(type), draft.value(type), draft.value(sign)
    held = type.held
    return draft.pure(slot, lambda r: np.where(c(r) >= 0, a(r).view(held), b(r).view(held)))


def logical(
    operation: Callable[..., Array], inverted: Callable[[Array], Array] | None = None
) -> Callable[[Draft], Step]:
    """and, or, xor, not: of bits and of predicates."""

    def build(draft: Draft) -> Step:
        type = draft.type("b16", "b32", "b64", "pred")
        slot = draft.result(type)
        if inverted is not None:
            only = draft.value(type)
            return draft.pure(slot, lambda r: inverted(only(r)))
        a, b = draft.value(type), draft.value(type)
        return draft.pure(slot, lambda r: operation(a(r), b(r)))

    return build


def is_zero(draft: Draft) -> Step:
    """cnot: 1 for 0, 0 for all else."""
    type = draft.type("b16", "b32", "b64")
    slot, value = draft.result(type), draft.value(type)
    return draft.pure(slot, lambda r: (value(r) == 0).astype(UNSIGNED[type.bits]))
