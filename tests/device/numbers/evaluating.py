"""Instructions of the device language applied to arrays, on one target: one kernel for all of them, an element a lane.

(quotient,) = evaluate("cpu", Applied("unsigned_div", (a, b), (I32,)))[0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.api import compile_module
from girih.interpreter.machine.numbers import DTYPES
from girih.ir.build import RegionBuilder, parameter
from girih.ir.core import Dictionary, Entry, Module, RegionKind
from girih.ir.language import LanguageBuilder
from girih.ir.types import BOOL, I8, I32, INDEX, Boolean, MemRef, Number
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.tile import TILE_LANGUAGE

Array = NDArray[Any]
TARGETS = ("interpreter", "cpu")
LANES = 16

_BUILDER = LanguageBuilder(DEVICE_LANGUAGE.name, DEVICE_LANGUAGE.types)
_BUILDER.share(DEVICE_LANGUAGE, *DEVICE_LANGUAGE.ops.values(), "func", "parameter", "type")
_BUILDER.share(TILE_LANGUAGE, TILE_LANGUAGE.ops["store"])
NUMBERS = _BUILDER.finish("tests.device.numbers.evaluating.NUMBERS")
"""The device language, and the tensor language's `store`."""

_TYPES = {dtype: type for type, dtype in DTYPES.items() if type != INDEX}


@dataclass(frozen=True, eq=False)
class Applied:
    """An instruction, the arrays of its operands in order, and the types of its results."""

    mnemonic: str
    operands: tuple[Array, ...]
    results: tuple[Number | Boolean, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


def evaluate(target: str, *applied: Applied) -> list[tuple[Array, ...]]:
    """The results of each instruction for all elements of its operands, of which all have one number."""
    count = len(applied[0].operands[0])
    groups = -(-count // LANES)
    arrays: dict[int, Array] = {}
    for one in applied:
        arrays.update((id(a), a) for a in one.operands)
    inputs = {key: parameter(f"in{k}", _packed(a)) for k, (key, a) in enumerate(arrays.items())}
    outputs = [
        [parameter(f"out{n}_{k}", MemRef.packed(_stored(type), (None,))) for k, type in enumerate(one.results)]
        for n, one in enumerate(applied)
    ]
    body = RegionBuilder(NUMBERS, RegionKind.COLLECTIVE)
    inner = body.inner(RegionKind.SPMD)
    (group,) = inner.add("group_id", INDEX, axis=0)
    (lane,) = inner.add("subgroup_local_id", I32)
    (wide,) = inner.add("cast", INDEX, a=lane)
    (lanes,) = inner.add("constant", INDEX, value=LANES)
    (first,) = inner.add("mul", INDEX, a=group, b=lanes)
    (index,) = inner.add("add", INDEX, a=first, b=wide)
    one_byte, no_byte = (inner.add("constant", I8, value=value)[0] for value in (1, 0))
    loaded = {
        key: inner.add("load", _TYPES[arrays[key].dtype], tensor=one.value, indices=(index,))[0]
        for key, one in inputs.items()
    }
    for one, places in zip(applied, outputs, strict=True):
        roles = DEVICE_LANGUAGE.ops[one.mnemonic].spec.operands
        fields: dict[str, Any] = {name: loaded[id(a)] for name, a in zip(roles, one.operands, strict=True)}
        found = inner.add(one.mnemonic, *one.results, **fields, **one.fields)
        for value, place in zip(found, places, strict=True):
            if isinstance(value.type, Boolean):
                (value,) = inner.add("select", I8, condition=value, a=one_byte, b=no_byte)
            inner.add("store", value=value, tensor=place.value, indices=(index,))
    body.add("parallel", body=inner.region())
    attributes = Dictionary((Entry("work_group_size", (LANES, 1)), Entry("subgroup_size", LANES)))
    parameters = [*inputs.values(), *(place for places in outputs for place in places)]
    kernel = compile_module(Module((body.function("f", parameters, attributes),)), target)["f"]
    given = [np.resize(a, groups * LANES) for a in arrays.values()]
    made = [[np.zeros(groups * LANES, DTYPES[_stored(type)]) for type in one.results] for one in applied]
    kernel[groups](*given, *(a for some in made for a in some))
    return [tuple(a[:count] for a in some) for some in made]


def _packed(a: Array) -> MemRef:
    return MemRef.packed(_stored(_TYPES[a.dtype]), (None,))


def _stored(type: Number | Boolean) -> Number:
    return I8 if isinstance(type, Boolean) else type


__all__ = ["BOOL", "LANES", "NUMBERS", "TARGETS", "Applied", "evaluate"]
