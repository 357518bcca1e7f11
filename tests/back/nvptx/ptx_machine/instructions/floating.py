"""Arithmetic of floats (PTX ISA "Floating Point Instructions", "Half Precision Floating Point Instructions").

Approximations are the numbers nearest to the exact results, which the documented errors allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Registers, Step
from tests.back.nvptx.ptx_machine.floats.arithmetic import least_or_most, operate
from tests.back.nvptx.ptx_machine.floats.formats import FORMATS, NEAREST, Format, decoded, encoded, flushed
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

ROUNDINGS = ("rn", "rz", "rm", "rp")
SCALARS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2")
Operation = Callable[[Sequence[Array]], Array]


def bits_type(type: PtxType) -> PtxType:
    """The bits of a type, as which its operands are read."""
    return TYPES[f"b{type.bits}"]


def lanes(type: PtxType, operands: Sequence[Array], operation: Operation) -> Array:
    """An operation on each of the numbers that lie in registers, on their bits."""
    if type.lanes == 1:
        return operation(operands)
    each = type.bits // type.lanes
    parts = [
        operation([(one >> one.dtype.type(each * lane)).astype(UNSIGNED[each]) for one in operands])
        for lane in range(type.lanes)
    ]
    result: Array = parts[0].astype(type.held) | parts[1].astype(type.held) << type.held.type(each)
    return result


def _float_build(draft: Draft, count: int, type: PtxType, operation: Operation) -> Step:
    slot = draft.result(bits_type(type))
    readers = [draft.value(_read_as(type)) for _ in range(count)]
    bits = type.held

    def compute(r: Registers) -> Array:
        return lanes(type, [one(r).view(bits) for one in readers], operation)

    return draft.pure(slot, compute)


def _read_as(type: PtxType) -> PtxType:
    """What constants among the operands are: floats where PTX writes them as such."""
    return type if type.name in ("f32", "f64") else bits_type(type)


def arithmetic(name: str, count: int) -> Callable[[Draft], Step]:
    """add, sub, mul, fma: with rounding, `.ftz`, `.sat` and `.relu`."""

    def build(draft: Draft) -> Step:
        rounding = draft.taken(*ROUNDINGS) or NEAREST
        ftz, saturates, relu = bool(draft.taken("ftz")), bool(draft.taken("sat")), bool(draft.taken("relu"))
        draft.taken("oob")
        type = draft.type(*SCALARS)
        form = FORMATS[type.format]
        if name == "fma" and draft.instruction.opcode == draft.name:
            raise draft.unknown("a rounding is missing")
        if (type.bits != 32 or type.name != "f32") and rounding != NEAREST and type.name != "f64":
            raise draft.unknown(f".{rounding} is not for .{type.name}")
        if ftz and type.format not in ("f32", "f16"):
            raise draft.unknown(f".ftz is not for .{type.name}")
        if saturates and type.format not in ("f32", "f16"):
            raise draft.unknown(f".sat is not for .{type.name}")

        def operation(operands: Sequence[Array]) -> Array:
            given = [flush(one, form) for one in operands] if ftz else operands
            found = operate(name, form, rounding, given)
            found = flush(found, form) if ftz else found
            found = saturated(found, form) if saturates else found
            return relu_of(found, form) if relu else found

        return _float_build(draft, count, type, operation)

    return build


def flush(bits: Array, form: Format) -> Array:
    """Bits of floats with zeros for subnormal ones."""
    if form.name == "f32":
        return flushed(bits.view(np.float32)).view(np.uint32)
    sign = bits.dtype.type(1 << form.bits - 1)
    return np.where(bits & ~sign < bits.dtype.type(1 << form.digits - 1), bits & sign, bits)


def saturated(bits: Array, form: Format) -> Array:
    """Floats between 0 and 1; NaN becomes 0."""
    values = decoded(bits, form)
    return encoded(np.where(np.isnan(values) | (values <= 0), 0.0, np.minimum(values, 1.0)), form)


def relu_of(bits: Array, form: Format) -> Array:
    """Floats that are not negative; NaN stays."""
    assert form.infinity is not None
    sign = bits.dtype.type(1 << form.bits - 1)
    nan = (bits & ~sign) > form.infinity
    return np.where(nan, bits.dtype.type(form.nan), np.where(bits & sign != 0, bits.dtype.type(0), bits))


def quotient(draft: Draft) -> Step:
    """div of floats: `.rn`, and `.approx` and `.full`."""
    return _rounded_or_near(draft, "div", 2, ("approx", "full"))


def root(draft: Draft) -> Step:
    """sqrt."""
    return _rounded_or_near(draft, "sqrt", 1, ("approx",))


def reciprocal(draft: Draft) -> Step:
    """rcp."""
    return _rounded_or_near(draft, "rcp", 1, ("approx",))


def _rounded_or_near(draft: Draft, name: str, count: int, near: Sequence[str]) -> Step:
    way = draft.expected(*ROUNDINGS, *near)
    rounding = way if way in ROUNDINGS else NEAREST
    ftz = bool(draft.taken("ftz"))
    type = draft.type("f32", "f64")
    if type.name == "f64" and (way not in ROUNDINGS and not (name == "rcp" and ftz)):
        raise draft.unknown(f".{way} is not for .f64")
    form = FORMATS[type.format]

    def operation(operands: Sequence[Array]) -> Array:
        if not ftz:
            return operate(name, form, rounding, operands)
        found = operate(name, form, rounding, [flush(one, form) for one in operands])
        return flush(found, form)

    return _float_build(draft, count, type, operation)


def approximation(of: Callable[[Array], Array]) -> Callable[[Draft], Step]:
    """ex2, lg2, sin, cos, tanh, rsqrt: `.approx`."""

    def build(draft: Draft) -> Step:
        draft.expected("approx")
        ftz = bool(draft.taken("ftz"))
        type = draft.type("f32", *(("f64",) if draft.name == "rsqrt" else ()),
                          *(("f16", "f16x2", "bf16", "bf16x2") if draft.name in ("ex2", "tanh") else ()))  # fmt: skip
        form = FORMATS[type.format]

        def operation(operands: Sequence[Array]) -> Array:
            bits = flush(operands[0], form) if ftz and form.name == "f32" else operands[0]
            found = encoded(of(decoded(bits, form)), form)
            return flush(found, form) if ftz and form.name == "f32" else found

        return _float_build(draft, 1, type, operation)

    return build


def reciprocal_root(value: Array) -> Array:
    return 1.0 / np.sqrt(value)


def limits(draft: Draft) -> Step:
    """min and max of floats."""
    ftz, keeps = bool(draft.taken("ftz")), bool(draft.taken("NaN"))
    crossed = bool(draft.taken("xorsign"))
    if crossed:
        draft.expected("abs")
    type = draft.type(*SCALARS[:-1])
    form = FORMATS[type.format]
    count = draft.left - 1

    def operation(operands: Sequence[Array]) -> Array:
        given = [flush(one, form) for one in operands] if ftz else list(operands)
        sign = given[0].dtype.type(1 << form.bits - 1)
        if crossed:
            turned = (given[0] ^ given[1]) & sign
            result: Array = least_or_most(draft.name, form, *(one & ~sign for one in given), keeps_nan=keeps) | turned
            return result
        found = given[0]
        for other in given[1:]:
            found = least_or_most(draft.name, form, found, other, keeps_nan=keeps)
        return found

    return _float_build(draft, count, type, operation)


def signs(draft: Draft) -> Step:
    """abs and neg: the sign alone changes."""
    ftz = bool(draft.taken("ftz"))
    type = draft.type(*SCALARS[:-1])
    form = FORMATS[type.format]

    def operation(operands: Sequence[Array]) -> Array:
        (bits,) = operands
        bits = flush(bits, form) if ftz else bits
        sign = bits.dtype.type(1 << form.bits - 1)
        result: Array = bits & ~sign if draft.name == "abs" else bits ^ sign
        return result

    return _float_build(draft, 1, type, operation)


def signed_as(draft: Draft) -> Step:
    """copysign: the second operand with the sign of the first."""
    type = draft.type("f32", "f64")
    sign = type.held.type(1 << type.bits - 1)
    return _float_build(draft, 2, type, lambda given: (given[0] & sign) | (given[1] & ~sign))


def tested(draft: Draft) -> Step:
    """testp."""
    test = draft.expected("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    type = draft.type("f32", "f64")
    slot, value = draft.result(TYPES["pred"]), draft.value(type)
    least = type.array.type(2.0 ** FORMATS[type.format].least)
    of: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= least),
        "subnormal": lambda a: (np.abs(a) < least) & (a != 0),
    }
    return draft.pure(slot, lambda r: of[test](value(r)))
