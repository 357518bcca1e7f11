"""Loading and storing matrices through a tensor layout and a view (001 8.X), checked before anything is written.

The base is `element_offset` elements from the start of the buffer, which is read in the order of its memory; from there
on layouts count components of the matrix, whatever the elements of the buffer are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import girih.addressing.tensor_rules as rules
from girih.addressing.access import Access, Kind
from girih.addressing.buffers import (
    AnyArray,
    check_base,
    check_buffer,
    check_matrix,
    check_native,
    check_room,
    check_room_in_bytes,
    component_of_bits,
    in_memory_order,
)
from girih.addressing.errors import AddressingError, RuleReport, plural, rule, what_it_is
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView

Decode = Callable[[AnyArray, AnyArray, AnyArray], AnyArray]
"""A function `decode(blocks, block_coord, coord_in_block)`; the first axis of all three runs over elements."""

UNDEFINED = rule(
    "load_store.undefined",
    "with clamp mode undefined nothing outside the layout is loaded or stored",
    "000 3.X Tensor Clamp Mode",
)
DECODED = rule(
    "load_store.decoded",
    "decode gives one component per element, of a type that the matrix's component type takes",
    "001 8.X decodeFunc",
)


def load_tensor(
    matrix: AnyArray,
    buffer: AnyArray,
    element_offset: int,
    layout: TensorLayout,
    view: TensorView | None = None,
    decode: Decode | None = None,
    *,
    quirks: str | None = None,
) -> AnyArray:
    """The matrix `[rows, columns]` after a load (001 8.X coopMatLoadTensorNV).

    `matrix` gives its shape, its component type, and the elements that the load skips.

    Without `decode`, `element_offset` counts elements of `buffer`, which may be of any type, and the layout counts
    components of the matrix's type, in the bytes from there on. With `decode`, `buffer` is indexed by block along its
    first axis, `element_offset` counts blocks, and for the K elements that have a block,
    `decode(blocks [K, ...], block_coord [K, dim], coord_in_block [K, dim])` returns K components, which are rounded to
    the matrix's type. Elements outside with clamp mode "constant" get the clamp value and are not decoded.

    Raises `AddressingError` for arrays, offsets, layouts and views that break a rule of 000 or 001, all rules at once:
    among them a base that is not a multiple of 16 bytes, a buffer that is too small, and undefined accesses.
    """
    plan = _plan("load_tensor", matrix, buffer, element_offset, layout, view, quirks, decode=decode)
    access, taken = plan.access, plan.access.element >= 0
    values = plan.memory[access.element[taken] + plan.offset]
    if decode is not None:
        values = _decoded(decode, values, access, taken, matrix)
    result = matrix.copy()
    result[access.is_kind(Kind.FILLED)] = component_of_bits(access.fill, matrix.dtype)
    result[taken] = values
    return result


def store_tensor(
    matrix: AnyArray,
    buffer: AnyArray,
    element_offset: int,
    layout: TensorLayout,
    view: TensorView | None = None,
    *,
    quirks: str | None = None,
) -> None:
    """Store the matrix `[rows, columns]` into `buffer`, which changes in place (001 8.X coopMatStoreTensorNV).

    `element_offset` counts elements of the buffer, which may be of any type, and the layout counts components of the
    matrix's type, in the bytes from there on. Elements outside the layout are dropped unless the
    clamp mode is "undefined". Where several elements of the matrix fall on one memory element, one of them is stored.
    Raises `AddressingError` before anything is written, for arrays, offsets, layouts and views that break a rule of 000
    or 001, all rules at once, and for a read-only buffer.
    """
    plan = _plan("store_tensor", matrix, buffer, element_offset, layout, view, quirks, store=True)
    taken = plan.access.element >= 0
    plan.memory[plan.access.element[taken] + plan.offset] = matrix[taken]


@dataclass(frozen=True)
class _TransferPlan:
    """A load or store that breaks no rule: the buffer by element or block, the base in it, and what is touched."""

    memory: AnyArray
    offset: int
    access: Access


def _plan(
    what: str,
    matrix: AnyArray,
    buffer: AnyArray,
    element_offset: int,
    layout: TensorLayout,
    view: TensorView | None,
    quirks: str | None,
    *,
    store: bool = False,
    decode: object = None,
) -> _TransferPlan:
    """The checked plan of a load or store. Raises one `AddressingError` with everything that is wrong."""
    report = RuleReport(what)
    good = [
        _check_models(report, layout, view),
        check_matrix(report, matrix),
        check_buffer(report, buffer, store),
    ]
    if decode is not None and not callable(decode):
        report.add(DECODED, f"decode is {what_it_is(decode)}", "pass a function, or None")
    native = not good[2] or decode is not None or check_native(report, buffer)
    memory = np.zeros(0) if not good[2] else buffer if decode is not None else in_memory_order(buffer)
    unit = "block" if decode is not None else "element"
    size = memory[:1].nbytes if len(memory) else 16
    offset = check_base(report, element_offset, size, f"{unit}s")
    try:
        rows, columns = matrix.shape if good[1] else (1, 1)
        access = layout.access(rows, columns, view, store, quirks=quirks) if good[0] and good[1] else None
    except AddressingError as error:
        report.violations += error.violations
        access = None
    if access is not None:
        _check_defined(report, access)
        if good[2] and (decode is not None or memory.dtype == matrix.dtype):
            check_room(report, access, offset, len(memory), unit)
        elif good[2] and native:
            check_room_in_bytes(report, access, offset, memory, matrix.itemsize)
    if access is None:
        raise AddressingError(what, report.violations)
    report.done()
    if decode is None and memory.dtype != matrix.dtype:
        raw = memory.view(np.uint8)[offset * memory.itemsize :]
        memory, offset = raw[: len(raw) // matrix.itemsize * matrix.itemsize].view(matrix.dtype), 0
    return _TransferPlan(memory, offset, access)


def _check_models(report: RuleReport, layout: object, view: object) -> bool:
    if not isinstance(layout, TensorLayout):
        report.add(rules.LAYOUT_TYPE, f"the layout is {what_it_is(layout)}", "pass a TensorLayout")
    if view is not None and not isinstance(view, TensorView):
        report.add(rules.VIEW_TYPE, f"the view is {what_it_is(view)}", "pass a TensorView, or None")
    return not report.violations


def _check_defined(report: RuleReport, access: Access) -> None:
    outside = np.argwhere(access.is_kind(Kind.UNDEFINED))
    if len(outside):
        report.add(
            UNDEFINED,
            f"{plural(len(outside), 'element', ('lies', 'lie'))} outside the layout, the first at "
            f"{outside[0].tolist()} of the matrix",
            'give the layout a clamp mode such as "constant", or slice inside it',
        )


def _decoded(decode: Decode, blocks: AnyArray, access: Access, taken: AnyArray, matrix: AnyArray) -> AnyArray:
    """The components that `decode` returns, in the matrix's type."""
    coordinates = [array[taken].astype(np.int64) for array in (access.block, access.within) if array is not None]
    values = np.asarray(decode(blocks, coordinates[0], coordinates[1]))
    report = RuleReport("load_tensor")
    if values.shape != (len(blocks),):
        report.add(
            DECODED,
            f"decode returned an array of shape {list(values.shape)} for {plural(len(blocks), 'element')}",
            f"return an array of shape [{len(blocks)}]",
        )
    if not _converts(values.dtype, matrix.dtype):
        message = f"decode returned components of {values.dtype} for a matrix of {matrix.dtype}"
        report.add(DECODED, message, f"return {matrix.dtype}, or what it takes: no floats for integers")
    report.done()
    return values.astype(matrix.dtype)


def _converts(source: np.dtype[np.generic], target: np.dtype[np.generic]) -> bool:
    """Whether numbers become components without changing from floats to integers or from numbers to something else."""
    floats = "fV"
    return (
        source == target
        or (source.kind in "biuf" and (target.kind in floats or source.kind in "biu"))
        or (source.kind == "V" and target.kind in floats and source.fields is None and source.type is not np.void)
    )
