"""Copies between tensor maps and local memory (`girih.ops.tile.tensor_map`)."""

from __future__ import annotations

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Operand, Runtime
from girih.front.python.words.support import NOTHING, chosen, is_absent, items, uses
from girih.front.python.words.table import lowers
from girih.front.python.words.tensor_layout import signed
from girih.ir.core import Index, Value
from girih.ir.types import MapMode, TensorMapType
from girih.ops.tile.tensor_map import CopyMode, CopyReduction

_REDUCTIONS = {reduction.value: reduction for reduction in CopyReduction}


def _map(call: Call) -> tuple[Value, TensorMapType]:
    operand = call["map"]
    if isinstance(operand, Runtime) and isinstance(operand.value.type, TensorMapType):
        return operand.value, operand.value.type
    raise fault("types", "`map` is a tensor map, a parameter of the kernel", call.span_of("map"))


def _coordinates(call: Call, parameter: str) -> tuple[Index, ...]:
    t, span = call.translator, call.span_of(parameter)
    return tuple(signed(t, part, span) for part in items(call[parameter]))


def _mode(call: Call, type: TensorMapType, *more: CopyMode) -> CopyMode:
    """The mode of a copy: that of the map, unless the call names one."""
    of_map = CopyMode.IM2COL if type.mode is MapMode.IM2COL else CopyMode.TILED
    if is_absent(call["mode"]):
        return of_map
    return chosen(call, "mode", {m.value: m for m in (CopyMode.TILED, CopyMode.IM2COL, *more)})


def _local(call: Call) -> Value:
    return call.translator.memory(call["array"], call.span_of("array")).value


@lowers("tensor_copy_load")
def load(call: Call) -> Operand:
    """Copy a box to local memory."""
    t, (map, type) = call.translator, _map(call)
    mode = _mode(call, type, CopyMode.GATHER4)
    places = uses(call, map="map", coordinates="coordinates", local="array")
    if mode is CopyMode.IM2COL:
        if is_absent(call["offsets"]):
            raise fault("arguments", "a copy through an im2col map has `offsets`", call.span, "offsets=(w, h)")
        t.add("tensor_copy_load_im2col", span=call.span, uses=places, mode=mode, map=map,
              coordinates=_coordinates(call, "coordinates"), offsets=_coordinates(call, "offsets"),
              local=_local(call))  # fmt: skip
        return NOTHING
    if not is_absent(call["offsets"]):
        raise fault("arguments", "`offsets` are for im2col maps", call.span_of("offsets"), "leave them out")
    t.add("tensor_copy_load", span=call.span, uses=places, mode=mode, map=map,
          coordinates=_coordinates(call, "coordinates"), local=_local(call))  # fmt: skip
    return NOTHING


@lowers("tensor_copy_store")
def store(call: Call) -> Operand:
    """Copy a box from local memory."""
    map, type = _map(call)
    call.translator.add("tensor_copy_store", span=call.span,
                        uses=uses(call, map="map", coordinates="coordinates", local="array"),
                        mode=_mode(call, type, CopyMode.SCATTER4), local=_local(call), map=map,
                        coordinates=_coordinates(call, "coordinates"))  # fmt: skip
    return NOTHING


@lowers("tensor_copy_reduce")
def reduce(call: Call) -> Operand:
    """Combine a box with local memory."""
    map, type = _map(call)
    mode = _mode(call, type)
    call.translator.add("tensor_copy_reduce", span=call.span,
                        uses=uses(call, map="map", coordinates="coordinates", local="array"),
                        reduction=chosen(call, "reduction", _REDUCTIONS), mode=mode, local=_local(call), map=map,
                        coordinates=_coordinates(call, "coordinates"))  # fmt: skip
    return NOTHING
