"""The rules of tensor copy instructions: coordinates, offsets, shared addresses, buffers; checked before a byte moves.

Sources as in `girih.addressing.tensor_map.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from girih.addressing.errors import I32_HIGH, I32_LOW, U32, RuleReport, Violation, plural, rule, what_it_is
from girih.addressing.tensor_map.copies import ADDRESS_LIMIT, STORE_GRANULE
from girih.addressing.tensor_map.element_type import REDUCTIONS
from girih.addressing.tensor_map.im2col import corners
from girih.addressing.tensor_map.parameters import MapParameters, is_integral, round_up, whole, wholes
from girih.addressing.tensor_map.rules import ARCHITECTURES
from girih.addressing.tensor_map.swizzle import LINE

COORDINATE_COUNT = rule("tensor_map.coordinate_count", "there is one coordinate for each dimension", "004 5.5.3.1")
COORDINATE_RANGE = rule("tensor_map.coordinate_range", "coordinates are signed 32-bit integers", "PTX ISA")
COORDINATE_ALIGNED = rule(
    "tensor_map.coordinate_aligned", "the box starts at a multiple of 16 bytes of dimension 0", "004 5.5.3.1, measured"
)
PACKED_COORDINATE = rule(
    "tensor_map.packed_coordinate", "padded sub-byte types start at a multiple of 128 elements", "PTX ISA"
)
OFFSET_MODE = rule("tensor_map.offset_mode", "only im2col loads take offsets", "004 5.5.4.1, PTX ISA")
OFFSET_COUNT = rule("tensor_map.offset_count", "there is one offset for each of W, H and D", "004 5.5.4.1")
OFFSET_RANGE = rule("tensor_map.offset_range", "offsets have 16, 8 or 5 bits in 3, 4 and 5 dimensions", "004 5.5.4.1")
BASE_IN_BOX = rule("tensor_map.base_in_box", "the filter base lies in the pixel box", "004 5.5.4.1, measured")
NEGATIVE_START = rule("tensor_map.negative_start", "stores and reductions start at 0 or later", "measured, PTX ISA")
STORE_BOX = rule("tensor_map.store_box", "the pixel box of a store stays inside the tensor", "PTX ISA")
LOAD_TYPE = rule("tensor_map.load_type", "b6p2x16 is stored only", "004 5.5.1.1.1")
STORE_TYPE = rule("tensor_map.store_type", "b4x16_p64 and b6x16_p32 are loaded only", "004 5.5.1.1.1, PTX ISA")
STORE_SWIZZLE = rule("tensor_map.store_swizzle", "the swizzle with the 8-byte flip is for loads", "PTX ISA")
REDUCTION = rule("tensor_map.reduction", "there are eight reductions", "PTX ISA")
REDUCTION_TYPE = rule("tensor_map.reduction_type", "each reduction exists for some element types", "measured, PTX ISA")
GATHER_MODE = rule("tensor_map.gather_mode", "gather4 and scatter4 take a tiled map of 2 dimensions", "004 5.5.3.4")
GATHER_BOX = rule("tensor_map.gather_box", "gather4 and scatter4 take a box of one row", "004 5.5.3.4.1")
GATHER_INTERLEAVE = rule(
    "tensor_map.gather_interleave", "gather4 and scatter4 take no interleave layout", "004 5.5.3.4"
)
GATHER_ROWS = rule("tensor_map.gather_rows", "gather4 and scatter4 take four rows", "004 5.5.3.4")
GATHER_ARCHITECTURE = rule("tensor_map.gather_architecture", "gather4 and scatter4 came with Blackwell", "PTX ISA")
SHARED_RANGE = rule("tensor_map.shared_range", "a shared address is an unsigned 32-bit integer", "PTX ISA")
SHARED_ALIGNED = rule(
    "tensor_map.shared_aligned", "a box starts at a multiple of 16 bytes, a swizzled one of 128", "004 5.5.3.1, driver"
)
IMAGE_SIZE = rule("tensor_map.image_size", "a box takes at most 256 KiB of shared memory", "girih")
SHARED_BUFFER = rule("tensor_map.shared_buffer", "shared memory is a one-dimensional uint8 array", "girih")
SHARED_SIZE = rule("tensor_map.shared_length", "shared memory holds the whole box", "girih")
MEMORY_BUFFER = rule("tensor_map.memory_buffer", "global memory is a one-dimensional uint8 array", "girih")
MEMORY_SIZE = rule("tensor_map.memory_length", "global memory holds every byte that is touched", "girih")
MEMORY_WRITABLE = rule("tensor_map.memory_writable", "stores need writable memory", "girih")

LINT_SHARED_ALIGNED = rule(
    "tensor_map.shared_line",
    "a box starts at a multiple of 128 bytes of shared memory",
    "CUDA programming guide",
    "lint",
)
LINT_PHASE = rule(
    "tensor_map.swizzle_phase",
    "a swizzled box starts where the pattern of the swizzle starts",
    "measured, driver",
    "lint",
)
LINT_PADDING = rule("tensor_map.row_padding", "a store changes nothing behind the end of a row", "measured", "lint")

OFFSET_LIMITS = {3: 2**16 - 1, 4: 2**8 - 1, 5: 2**5 - 1}
"""The largest im2col offset by rank (004 5.5.4.1)."""
IMAGE_LIMIT = 256 * 1024
"""A number of bytes that exceeds the shared memory of any block."""


def check_coordinates(given: MapParameters, coordinates: object, report: RuleReport) -> tuple[int, ...]:
    """The coordinates as integers, one for each dimension; notes the rules of loads and stores that they break."""
    values = wholes(report, "coordinates", coordinates, I32_LOW, I32_HIGH, COORDINATE_RANGE)
    if len(values) != given.rank:
        count = plural(len(values), "coordinate", ("is", "are"))
        message = f"{count} given, the map has {plural(given.rank, 'dimension')}"
        report.add(COORDINATE_COUNT, message, "give one for each dimension, innermost first")
        return (0,) * given.rank
    check_start(given, "coordinates[0]", values[0], report)
    if given.mode == "im2col" and is_integral(report):
        _check_base(given, values, report)
    return values


def check_start(given: MapParameters, name: str, start: int, report: RuleReport) -> None:
    """Note a dimension 0 that does not start at a multiple of 16 bytes, or with interleave at a whole slice."""
    element = given.element
    if given.slice_bytes:
        return
    if element.is_padded:
        if start % 128:
            message = f"{name} = {start} is not a multiple of 128 (type {element.name})"
            report.add(PACKED_COORDINATE, message, f"start at {start // 128 * 128}")
        return
    step = 128 // element.bits
    if start % step:
        message = f"{name} = {start} is {start * element.bits / 8:g} bytes of {element.name}, not a multiple of 16"
        report.add(COORDINATE_ALIGNED, message, f"start at a multiple of {step} elements, {start // step * step} say")


def start_multiple(given: MapParameters) -> int:
    """The number of elements of dimension 0 of which the start of a box is a multiple; 1 with interleave."""
    if given.slice_bytes:
        return 1
    return 128 if given.element.is_padded else max(1, 128 // given.element.bits)


def _check_base(given: MapParameters, values: Sequence[int], report: RuleReport) -> None:
    spatial = given.spatial
    box = corners(given.global_dim[spatial], given.lower_corner, given.upper_corner)
    for position, (dimension, (low, high)) in enumerate(zip(range(spatial.start, spatial.stop), box, strict=True)):
        if not low <= values[dimension] <= high:
            where = f"the pixel box, {'WHD'[position]} {low} .. {high}"
            message = f"coordinates[{dimension}] = {values[dimension]} lies outside {where}"
            report.add(BASE_IN_BOX, message, "start inside the box; offsets move the pixels that are read")


def check_offsets(given: MapParameters, offsets: object, report: RuleReport) -> tuple[int, ...]:
    """The im2col offsets of a load in W, H, D order, zeros for None; empty in tiled mode. Notes illegal ones."""
    wanted = given.rank - 2 if given.mode == "im2col" else 0
    if offsets is None:
        return (0,) * wanted
    if given.mode == "tiled":
        report.add(
            OFFSET_MODE, f"offsets = {offsets!r} in tiled mode", "pass None; coordinates say where the box starts"
        )
        return ()
    limit = OFFSET_LIMITS[given.rank]
    values = wholes(report, "offsets", offsets, 0, limit, OFFSET_RANGE)
    if len(values) != wanted:
        count = plural(len(values), "offset", ("is", "are"))
        message = f"{count} given, a map of {plural(given.rank, 'dimension')} takes {wanted}"
        report.add(OFFSET_COUNT, message, f"give one for each of {', '.join('WHD'[:wanted])}")
        return (0,) * wanted
    return values


def check_store(
    given: MapParameters, coordinates: Sequence[int], report: RuleReport, names: Sequence[str] | None = None
) -> None:
    """Note the rules of stores and reductions that are broken, on start, pixel box, type and swizzle.

    `names` are those of the coordinates.
    """
    for position, value in enumerate(coordinates):
        name = names[position] if names else f"coordinates[{position}]"
        if value < 0:
            report.add(
                NEGATIVE_START,
                f"{name} = {value} is negative",
                "start at 0 or later; only loads may begin outside",
            )
    for position, (low, high) in enumerate(zip(given.lower_corner, given.upper_corner, strict=True)):
        if low < 0 or high > 0:
            message = f"the pixel box leaves the tensor: in {'WHD'[position]} its corners are {low} and {high}"
            report.add(STORE_BOX, message, "use a lower corner of 0 or more and an upper corner of 0 or less")
    if given.element.direction == "load":
        other = "b6p2x16" if given.dtype == "b6x16_p32" else "b4x16"
        report.add(STORE_TYPE, f"{given.dtype} is loaded only", f"store {other}")
    if given.swizzle == "128B_atom_32B_flip_8B":
        report.add(STORE_SWIZZLE, f"swizzle {given.swizzle} is for loads only", "use 128B_atom_32B")


def check_load(given: MapParameters, report: RuleReport) -> None:
    """Note an element type without loads."""
    if given.element.direction == "store":
        report.add(LOAD_TYPE, f"{given.dtype} is stored only", "load b6x16_p32")


def check_reduction(given: MapParameters, operation: object, report: RuleReport) -> None:
    """Note a reduction that does not exist, or not for the element type."""
    if not isinstance(operation, str) or operation not in REDUCTIONS:
        report.add(REDUCTION, f"{operation!r} is no reduction", f"choose one of {', '.join(REDUCTIONS)}")
    elif given.dtype not in REDUCTIONS[operation]:
        types = ", ".join(REDUCTIONS[operation])
        report.add(REDUCTION_TYPE, f"there is no {operation} of {given.dtype}", f"{operation} exists for {types}")


SCATTERED = ("column", "rows[0]", "rows[1]", "rows[2]", "rows[3]")
"""The operands of a scatter4 in words."""


def check_gather(
    given: MapParameters, column: object, rows: object, scatter: bool, report: RuleReport
) -> tuple[int, ...]:
    """The column and the four rows of a gather4 or scatter4 as integers (004 5.5.3.4); notes illegal ones."""
    if given.mode != "tiled" or given.rank != 2:
        report.add(
            GATHER_MODE,
            f"the map is in {given.mode} mode and has {plural(given.rank, 'dimension')}",
            "use a tiled map of a matrix, 2 dimensions",
        )
    elif given.box_dim[1] != 1:
        fix = f"use the box ({given.box_dim[0]}, 1)"
        report.add(GATHER_BOX, f"box_dim[1] = {given.box_dim[1]}, but rows are taken one by one", fix)
    if given.slice_bytes:
        report.add(GATHER_INTERLEAVE, f"the map has interleave {given.interleave}", "use interleave none")
    architecture = ARCHITECTURES[given.architecture]
    if not (architecture.scatter if scatter else architecture.gather):
        what = "scatter4" if scatter else "gather4"
        report.add(GATHER_ARCHITECTURE, f"{given.architecture} has no {what}", "use sm_100a or sm_110a, which have it")
    start = whole(report, "column", column, I32_LOW, I32_HIGH, COORDINATE_RANGE)
    values = wholes(report, "rows", rows, I32_LOW, I32_HIGH, COORDINATE_RANGE)
    if len(values) != 4:
        report.add(
            GATHER_ROWS,
            f"{plural(len(values), 'row', ('is', 'are'))} given",
            "give four, and repeat one where fewer are needed",
        )
        values = (0, 0, 0, 0)
    check_start(given, "column", start, report)
    return (start, *values)


def check_shared_address(given: MapParameters, rows: int, shared_address: object, report: RuleReport) -> int:
    """The shared address as an integer; notes one that is not aligned, and a box larger than any shared memory."""
    address = whole(report, "shared_address", shared_address, 0, U32, SHARED_RANGE)
    multiple = LINE if given.swizzle != "none" else 16
    if address % multiple:
        why = f" (swizzle {given.swizzle})" if given.swizzle != "none" else ""
        message = f"shared_address = {address} is not a multiple of {multiple}{why}"
        report.add(SHARED_ALIGNED, message, f"start at {address // multiple * multiple}")
    check_image_size(given, rows, report)
    return address


def check_image_size(given: MapParameters, rows: int, report: RuleReport) -> None:
    """Note a box of `rows` rows that is larger than any shared memory."""
    size = rows * given.row_pitch
    if size > IMAGE_LIMIT:
        report.add(IMAGE_SIZE, f"the box takes {size} bytes of shared memory, over {IMAGE_LIMIT}", "copy a smaller box")


def address_lints(given: MapParameters, address: int) -> tuple[Violation, ...]:
    """The violations of severity `lint` by a shared address: what is legal and probably not meant."""
    report = RuleReport("shared_address")
    repeat = given.swizzling.repeat
    if address % LINE:
        report.add(
            LINT_SHARED_ALIGNED, f"shared_address = {address} is not a multiple of {LINE}", f"align it to {LINE} bytes"
        )
    elif address % repeat:
        message = (
            f"shared_address = {address} starts in line {address % repeat // LINE} of {repeat // LINE} of the swizzle"
        )
        report.add(LINT_PHASE, message, f"align it to {repeat} bytes, or count rows from there")
    return tuple(report.violations)


def padding_lints(given: MapParameters, start: int) -> tuple[Violation, ...]:
    """The lint for bytes past the end of dimension 0 that a store from `start` on overwrites; or none."""
    report = RuleReport("coordinates")
    end = given.element.bytes_of(start + given.inner_elements)
    last = min(end, round_up(given.row_extent, STORE_GRANULE))
    if not given.slice_bytes and last > given.row_extent:
        message = f"a store overwrites {last - given.row_extent} bytes behind the {given.row_extent} of every row"
        report.add(LINT_PADDING, message, "keep nothing in the padding of rows, or make rows a multiple of 16 bytes")
    return tuple(report.violations)


def is_bytes(value: object) -> bool:
    """Whether a value is a one-dimensional `uint8` array."""
    return isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.ndim}-d array of {value.dtype}"
    return what_it_is(value)


def check_memory(memory: object, store: bool, report: RuleReport) -> None:
    """Note a global memory that is not a byte array, or not writable by a store."""
    if not is_bytes(memory):
        report.add(MEMORY_BUFFER, f"memory is {_described(memory)}", "pass array.reshape(-1).view('u1')")
    elif isinstance(memory, np.ndarray) and store and not memory.flags.writeable:
        report.add(MEMORY_WRITABLE, "memory is read-only", "pass a writable array")


def check_buffers(shared: object, memory: object, report: RuleReport) -> None:
    """Note a shared or global memory that is not a byte array, and a global one that is not writable."""
    if not is_bytes(shared):
        report.add(
            SHARED_BUFFER, f"shared is {_described(shared)}", "pass image.bytes, or array.reshape(-1).view('u1')"
        )
    check_memory(memory, True, report)


def check_shared_size(needed: int, shared: NDArray[np.uint8], report: RuleReport) -> None:
    """Note a shared memory of fewer than `needed` bytes."""
    if shared.size < needed:
        report.add(
            SHARED_SIZE, f"shared has {plural(shared.size, 'byte')}, the box takes {needed}", f"pass {needed} bytes"
        )


def check_reach(touched: NDArray[np.int64] | int, memory: NDArray[np.uint8], report: RuleReport) -> None:
    """Note bytes past the end of `memory`; `touched` holds the offsets of all, or is a bound of them past 64 bits."""
    last = touched if isinstance(touched, int) else int(touched.max(initial=-1))
    if last >= memory.size:
        size = f"{last + 1}" if last < ADDRESS_LIMIT else "more than 2^59"
        fix = f"pass {size} bytes" if last < ADDRESS_LIMIT else "copy another box, or make the strides smaller"
        report.add(MEMORY_SIZE, f"memory has {plural(memory.size, 'byte')}, the copy needs {size}", fix)
