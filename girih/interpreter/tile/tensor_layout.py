"""The meaning of tensor layouts and views (`girih.ops.tile.tensor_layout`) as models of `girih.addressing`.

A value is a list of the models that occur, and the number of each work-item's one. Numbers that break a rule of a model
are found where the model is made; the work-item then has none, and an access through it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from girih.addressing import AddressingError, TensorLayout, TensorView
from girih.facts import findings
from girih.interpreter.machine.access import restrict
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, ModelValue
from girih.ir import types
from girih.ir.core import Op, Slice, Value
from girih.ops.tile.tensor_layout import (
    NO_LAYOUT,
    NO_VIEW,
    SetOfLayout,
    SetOfView,
    TensorLayoutCreate,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorViewCreate,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
)

Model = TensorLayout | TensorView

_FIRST = np.zeros((1, 1, 1), np.int64)


@meaning(TensorLayoutCreate)
def create_layout(machine: Machine, op: TensorLayoutCreate) -> None:
    """Give all work-items the same new layout."""
    type = op.result.type
    assert isinstance(type, types.TensorLayoutType)
    machine.set(op.result, ModelValue((TensorLayout(type.dim, type.clamp_mode.value),), _FIRST))


@meaning(TensorViewCreate)
def create_view(machine: Machine, op: TensorViewCreate) -> None:
    """Give all work-items the same new view."""
    type = op.result.type
    assert isinstance(type, types.TensorViewType)
    machine.set(op.result, ModelValue((TensorView(type.dim, type.has_dimensions, type.permutation),), _FIRST))


_SETTERS: dict[type[Op], Callable[[Any, tuple[int, ...]], Model]] = {
    TensorLayoutSetBlockSize: lambda model, numbers: model.set_block_size(*numbers),
    TensorLayoutSetDimension: lambda model, numbers: model.set_dimension(*numbers),
    TensorLayoutSetStride: lambda model, numbers: model.set_stride(*numbers),
    TensorLayoutSetClampValue: lambda model, numbers: model.set_clamp_value(*numbers),
    TensorLayoutSlice: lambda model, numbers: model.slice(*zip(numbers[::2], numbers[1::2], strict=True)),
    TensorViewSetDimension: lambda model, numbers: model.set_dimension(*numbers),
    TensorViewSetStride: lambda model, numbers: model.set_stride(*numbers),
    TensorViewSetClip: lambda model, numbers: model.set_clip(*numbers),
}
"""The functions that give the model after an instruction, from the one before and the numbers in the text's order."""


@meaning(TensorLayoutSetBlockSize, TensorLayoutSetDimension, TensorLayoutSetStride)
def set_of_layout(machine: Machine, op: SetOfLayout) -> None:
    """Replace one number for each dimension of a layout."""
    _set(machine, op, op.layout, op.numbers, op.result)


@meaning(TensorViewSetDimension, TensorViewSetStride)
def set_of_view(machine: Machine, op: SetOfView) -> None:
    """Replace one number for each dimension of a view."""
    _set(machine, op, op.view, op.numbers, op.result)


@meaning(TensorLayoutSetClampValue)
def set_clamp_value(machine: Machine, op: TensorLayoutSetClampValue) -> None:
    """Replace the clamp value of a layout."""
    _set(machine, op, op.layout, (op.value,), op.result)


@meaning(TensorLayoutSlice)
def slice_layout(machine: Machine, op: TensorLayoutSlice) -> None:
    """Move the accessed region of a layout, and replace its span in each dimension."""
    _set(machine, op, op.layout, _parts(op.slices), op.result)


@meaning(TensorViewSetClip)
def set_clip(machine: Machine, op: TensorViewSetClip) -> None:
    """Replace the offset and span of the rows and columns that a view accesses."""
    _set(machine, op, op.view, _parts(op.slices), op.result)


def _parts(slices: Sequence[Slice]) -> tuple[Value | int, ...]:
    return tuple(part for entry in slices for part in (entry.offset, entry.size) if part is not None)


def _set(machine: Machine, op: Op, before: Value, operands: Sequence[Value | int], result: Value) -> None:
    """Make the models after an instruction: one for each combination of a model and numbers that occurs."""
    value: ModelValue = machine.env[before]
    numbers = [np.full((1, 1, 1), n, np.int64) if isinstance(n, int) else machine.array(n) for n in operands]
    cases, which = combinations([value.which, *numbers])
    models: list[Model | None] = []
    for position, case in enumerate(cases):
        model = value.models[case[0]]
        try:
            models.append(None if model is None else _SETTERS[type(op)](model, tuple(case[1:])))
        except AddressingError as error:
            models.append(None)
            bad = restrict(machine, which == position)
            what = NO_LAYOUT if isinstance(result.type, types.TensorLayoutType) else NO_VIEW
            machine.find(findings.no_model(what, [str(v) for v in error.violations]), op, bad)
    machine.set(result, ModelValue(tuple(models), which))


def combinations(arrays: Sequence[Array]) -> tuple[list[list[int]], Array]:
    """The distinct tuples of numbers in arrays that broadcast together, and the number of the tuple at each place."""
    if all(a.size == 1 for a in arrays):
        return [[int(a.flat[0]) for a in arrays]], _FIRST
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    table = np.stack([np.broadcast_to(a, shape).ravel().astype(np.int64) for a in arrays], axis=1)
    tuples, which = np.unique(table, axis=0, return_inverse=True)
    cases: list[list[int]] = tuples.tolist()
    return cases, which.reshape(shape)
