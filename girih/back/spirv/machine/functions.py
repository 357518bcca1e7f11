"""Functions of floating-point numbers as functions of the shader, each written once (`girih.ops.tile.math`)."""

from __future__ import annotations

from girih.back.llvm.lower import math as generic
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import math
from girih.back.llvm.numbers.rounding import round_to
from girih.back.llvm.numbers.values import scalar_type, uniform
from girih.back.spirv.machine.code import VulkanCode
from girih.ir.core import Value
from girih.ir.types import F32, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.math import Math, Power

_NATIVE = {"native_exp": "exp", "native_exp2": "exp2"}
"""Functions that a device's own are good enough for: 3 + 2 |x| ulp (Vulkan, "Precision and Operation of SPIR-V
Instructions") are less than 2^-10 wherever the result is not infinite. It may be 0 where it is subnormal."""

LOWERINGS = Lowerings[VulkanCode]()
"""The lowerings of this file."""


@LOWERINGS.of(*TILE_LANGUAGE.family(Math))
def function(code: VulkanCode, op: Math) -> None:
    """Lower a function of a number to a call; that of a complex number, which gives two, where it stands."""
    type = _number(op.a)
    if type.family == "complex":
        generic.function(code, op)
        return
    name = op.spec.mnemonic
    own = _NATIVE.get(name)
    if own is not None and type.size <= F32.size:
        held = code.recorder.computed(own, code.scalar(op.a).parts, "float")
        code.set(op.result, uniform(type, round_to(code.w, code.features, type, held)))
        return
    held = code.recorder.routine(
        _name(name, type),
        (name, type),
        code.scalar(op.a).parts,
        lambda x: math.function(code.w, code.features, name, type, (x,))[0],
    )
    code.set(op.result, uniform(type, held))


@LOWERINGS.of(Power)
def power(code: VulkanCode, op: Power) -> None:
    """Lower a power to a call."""
    type = _number(op.a)
    held = code.recorder.routine(
        _name("pow", type),
        ("pow", type),
        (code.scalar(op.a).part, code.scalar(op.b).part),
        lambda x, y: math.power(code.w, code.features, type, (x,), (y,))[0],
    )
    code.set(op.result, uniform(type, held))


def _name(name: str, type: Number) -> str:
    return f"girih_{name}_{type}"


def _number(value: Value) -> Number:
    type = scalar_type(value.type)
    if not isinstance(type, Number):
        raise TypeError(f"{type} is no number type")
    return type
