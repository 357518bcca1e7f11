"""Tensor maps as arguments: a bound map against its parameter's type, and against the copies that go through it.

A map that is accepted suits every copy of the kernel: what can be wrong with one at run time is only its coordinates.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from girih.addressing.errors import AddressingError, RuleReport
from girih.addressing.tensor_map import operands
from girih.addressing.tensor_map.bound import BoundTensorMap
from girih.addressing.tensor_map.model import TensorMap
from girih.analysis.tensor_maps import MapUse
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.diagnostics import InternalError
from girih.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Number, TensorMapType

ELEMENT_TYPES: dict[Number, tuple[str, ...]] = {
    I8: ("u8", "b4x16", "b4x16_p64", "b6x16_p32", "b6p2x16"),
    I16: ("u16",),
    I32: ("u32", "s32", "b32"),
    I64: ("u64", "s64", "b64"),
    F16: ("f16",),
    BF16: ("bf16",),
    F32: ("f32", "f32_ftz", "tf32", "tf32_ftz"),
    F64: ("f64",),
}
"""The element types of 004 that a number type of the language stands for."""


def accepted_memory(
    type: TensorMapType, value: object, uses: tuple[MapUse, ...], place: ArgumentPlace, report: ArgumentReport
) -> tuple[TensorMap, NDArray[np.uint8]] | None:
    """The map and the bytes of its tensor, if it suits a parameter and all copies through it.

    None after everything that is wrong was reported.
    """
    if not isinstance(value, BoundTensorMap):
        _refuse(type, value, place, report)
        return None
    given = value.tensor_map
    before = len(report.diagnostics)
    _check_type(type, given, place, report)
    written = any(use.stores for use in uses)
    if written and not value.writable:
        hint = "bind memory that may be changed: no broadcast view, no read-only buffer"
        report.add("bind.read_only", place, "the kernel writes to it, but the array is read-only", hint)
    if len(report.diagnostics) == before and not _suits(given, uses):
        for use in uses:
            _check_use(given, use, place, report)
    if len(report.diagnostics) > before:
        return None
    try:
        return given, value.memory(written)
    except AddressingError as error:
        for violation in error.violations:
            report.add("bind.map_memory", place, violation.message, violation.fix)
        return None


@lru_cache(maxsize=64)
def _suits(given: TensorMap, uses: tuple[MapUse, ...]) -> bool:
    """Whether every copy of a kernel can go through a map, which is asked at each launch."""
    report = ArgumentReport()
    for use in uses:
        _check_use(given, use, ArgumentPlace("", 0, use.span), report)
    return not report.diagnostics


def _refuse(type: TensorMapType, value: object, place: ArgumentPlace, report: ArgumentReport) -> None:
    """Report an argument that is no bound map."""
    name = value.__class__.__name__
    if value is None:
        report.add(
            "bind.null",
            place,
            f"{place.declared(type)} takes a bound tensor map; got None",
            "only a memref or a group can be None",
        )
    elif isinstance(value, TensorMap):
        hint = f"pass {place.name}.bind(array), the map with the array that holds its tensor"
        report.add(
            "bind.map",
            place,
            f"{place.declared(type)} takes a tensor map that is bound to its array; got an unbound one",
            hint,
        )
    elif hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
        hint = f"pass girih.addressing.TensorMap.of({place.name}, box).bind({place.name})"
        report.add("bind.map", place, f"{place.declared(type)} takes a bound tensor map; got an array ({name})", hint)
    else:
        hint = "make one with girih.addressing.TensorMap.of(array, box).bind(array)"
        report.add("bind.map", place, f"{place.declared(type)} takes a bound tensor map; got {name}", hint)


def _check_type(type: TensorMapType, given: TensorMap, place: ArgumentPlace, report: ArgumentReport) -> None:
    if given.mode != type.mode.value:
        hint = f"make it with TensorMap.{type.mode.value}, or declare the parameter as {given.mode}"
        report.add(
            "bind.map_mode",
            place,
            f"{place.declared(type)} takes a map in {type.mode.value} mode; got one in {given.mode} mode",
            hint,
        )
    if given.rank != type.rank:
        hint = f"declare the parameter as tensor_map<{type.element},{given.rank},{type.mode.value}>"
        message = (
            f"{place.declared(type)} takes a map of rank {type.rank}; got one of rank {given.rank}, {given.global_dim}"
        )
        report.add("bind.map_rank", place, message, hint)
    known = ELEMENT_TYPES.get(type.element)
    if known is None:
        raise InternalError(f"no tensor map has elements of type {type.element}")
    if given.dtype not in known:
        fitting = next(number for number, names in ELEMENT_TYPES.items() if given.dtype in names)
        hint = f"declare the parameter with {fitting}, or make the map with dtype {known[0]}"
        message = f"{place.declared(type)} takes a map of {', '.join(known)}; got one of {given.dtype}"
        report.add("bind.map_type", place, message, hint)


def _check_use(given: TensorMap, use: MapUse, place: ArgumentPlace, report: ArgumentReport) -> None:
    """Report why a copy of the kernel cannot go through a map, at the place of the copy."""
    rules = RuleReport(use.text)
    rows = 4 if use.mode.by_rows else given.rows
    if use.mode.by_rows:
        operands.check_gather(given, 0, (0, 0, 0, 0), use.stores, rules)
    if use.reduction is not None:
        operands.check_reduction(given, use.reduction, rules)
    if use.stores:
        operands.check_store(given, (), rules)
    else:
        operands.check_load(given, rules)
    operands.check_image_size(given, rows, rules)
    where = f"`{use.text}` cannot go through {place.called}"
    for violation in rules.violations:
        report.add_at("bind.map_copy", use.span, f"{where}: {violation.message} [{violation.rule}]", violation.fix)
    if not rules.violations:
        _check_local(given, use, rows, where, report)


def _check_local(given: TensorMap, use: MapUse, rows: int, where: str, report: ArgumentReport) -> None:
    """Report local memory that is too small, of another shape than the box, or not aligned for the swizzle."""
    size = prod(use.shape) * use.element.size
    needed = image_bytes(given, rows)
    is_bytes = use.element == I8 and len(use.shape) == 1
    if is_bytes and size < needed:
        message = f"{where}: the box takes {needed} bytes, %{use.local} has {size}"
        report.add_at("bind.map_local", use.span, message, f"make it memref<i8x{needed},local>")
    elif not is_bytes:
        _check_shape(given, use, rows, where, report)
    repeat = given.swizzling.repeat
    if use.place.known_modulo(repeat) is None:
        message = (
            f"{where}: its swizzle {given.swizzle} needs the address of %{use.local} modulo {repeat}, "
            f"it is known modulo {use.place.modulus}"
        )
        hint = f"write `alloca {{alignment={repeat}}}`, alignment=1024 suits every swizzle; "
        hint += f"let views begin at constant offsets or multiples of {repeat} bytes"
        report.add_at("bind.map_alignment", use.span, message, hint)


def image_bytes(given: TensorMap, rows: int) -> int:
    """The bytes of shared memory that a box of so many rows takes, to the end of its last line where it is swizzled."""
    size = rows * given.row_pitch
    return -(-size // 128) * 128 if given.swizzle != "none" else size


def _check_shape(given: TensorMap, use: MapUse, rows: int, where: str, report: ArgumentReport) -> None:
    """Report local memory of the map's type that has not the shape of the box, or where the image has gaps."""
    if given.row_bytes != given.row_pitch or given.element.family == "packed":
        why = "leaves gaps between rows" if given.element.family != "packed" else "is of packed elements"
        message = f"{where}: its image {why}, %{use.local} is of shape {use.shape}"
        report.add_at("bind.map_local", use.span, message, f"use bytes, memref<i8x{image_bytes(given, rows)},local>")
        return
    box = box_shape(given, by_rows=use.mode.by_rows)
    if tuple(n for n in use.shape if n > 1) != tuple(n for n in box if n > 1):
        shape = "x".join(map(str, box))
        message = f"{where}: the box is {shape} elements, innermost first, %{use.local} is of shape {use.shape}"
        report.add_at("bind.map_local", use.span, message, f"make it memref<{use.element}x{shape},local>, or bytes")


def box_shape(given: TensorMap, *, by_rows: bool) -> tuple[int, ...]:
    """The elements of a box along each axis of its image, innermost first."""
    inner = given.row_bytes * 8 // given.element.shared_bits
    if by_rows:
        return (inner, 4)
    if given.mode == "im2col":
        return (inner, given.pixels_per_column)
    return (inner, *(given.counts if given.slice_bytes else given.counts[1:]))
