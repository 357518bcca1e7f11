"""The meaning of functions of angles and hyperbolas (`girih.ops.device.functions`).

They are computed in f64 and rounded once, as those of the tensor language are.
"""

from __future__ import annotations

import numpy as np

from girih.interpreter.device.numeric import number_type
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.ir.types import F64
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.functions import ArcTangent2, SingleFunction

_FUNCTIONS = {
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}


@meaning(*DEVICE_LANGUAGE.family(SingleFunction))
def function(machine: Machine, op: SingleFunction) -> None:
    """Compute a function of one number."""
    type = number_type(op.a)
    wide = numbers.cast(machine.array(op.a), type, F64)
    machine.set(op.result, numbers.cast(_FUNCTIONS[op.spec.mnemonic](wide), F64, type))


@meaning(ArcTangent2)
def arc_tangent(machine: Machine, op: ArcTangent2) -> None:
    """Compute the angle of a point."""
    type = number_type(op.y)
    y, x = (numbers.cast(machine.array(value), type, F64) for value in (op.y, op.x))
    machine.set(op.result, numbers.cast(np.arctan2(y, x), F64, type))
