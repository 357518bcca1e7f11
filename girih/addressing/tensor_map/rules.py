"""The rules of tensor maps: what the driver refuses to encode, and the checks that name every broken rule at once.

Sources: 004 is the PTX text, `driver` the documentation of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA
13.0), `PTX ISA` the restrictions on tensor copies in its version 9.0, `measured` what an NVIDIA H200 refused or
accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from girih.addressing.errors import I32_HIGH, I32_LOW, AddressingError, Rule, RuleReport, Violation, plural, rule
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, ElementType
from girih.addressing.tensor_map.im2col import corners
from girih.addressing.tensor_map.parameters import (
    OOB_FILLS,
    SLICE_BYTES,
    MapParameters,
    is_integral,
    round_up,
    whole,
    wholes,
)
from girih.addressing.tensor_map.swizzle import MODES

CHOICE = rule("tensor_map.choice", "types, modes and fills have the names of the driver", "004 5.5.1, driver")
ARCHITECTURE = rule("tensor_map.architecture", "tensor maps exist from sm_90 on", "driver")
RANK = rule("tensor_map.rank", "a tensor has 1 to 5 dimensions, 3 to 5 in im2col mode", "004 5.5.1, 5.5.4")
INTERLEAVE_RANK = rule("tensor_map.interleave_rank", "interleave layouts have 3 to 5 dimensions", "driver")
LENGTHS = rule(
    "tensor_map.lengths", "every list has an entry for each dimension that it describes", "004 5.5.3.1, driver"
)
GLOBAL_DIM = rule("tensor_map.global_dim", "every dimension has 1 to 2^32 elements", "driver")
PACKED_DIM = rule(
    "tensor_map.packed_dim", "sub-byte types: dimension 0 is a multiple of 2 (b4x16) or of 128 elements", "driver"
)
STRIDE_RANGE = rule("tensor_map.stride_range", "strides are 0 to 2^40 - 1 bytes", "driver")
STRIDE_MULTIPLE = rule(
    "tensor_map.stride_multiple", "strides are multiples of 16 bytes, some of 32", "004 5.5.1, driver"
)
ADDRESS_RANGE = rule("tensor_map.address_range", "a global address has 64 bits", "driver")
ADDRESS_ALIGNED = rule(
    "tensor_map.address_aligned",
    "the global address is a multiple of 16 bytes, for some maps of 32",
    "004 5.5.3.1, driver",
)
BOX_DIM = rule("tensor_map.box_dim", "every box dimension has 1 to 256 elements", "driver")
INNER_BYTES = rule(
    "tensor_map.inner_bytes",
    "the inner dimension of the box is a multiple of 16 bytes",
    "004 5.5.3.1, driver, measured",
)
PACKED_BOX = rule("tensor_map.packed_box", "padded sub-byte types copy 128 elements a row", "driver")
SWIZZLE_SPAN = rule(
    "tensor_map.swizzle_span", "without interleave a row fits the span of the swizzle", "driver, measured"
)
ELEMENT_STRIDES = rule("tensor_map.element_strides", "traversal strides are 1 to 8", "004 5.5.3.2, driver, measured")
NAN_FILL = rule("tensor_map.nan_fill", "only floating-point types fill with NaN", "004 5.5.3.3, driver, measured")
BLACKWELL_TYPE = rule(
    "tensor_map.type_architecture", "sub-byte types need compute capability 10 or later", "driver, measured"
)
BLACKWELL_SWIZZLE = rule(
    "tensor_map.swizzle_architecture",
    "swizzle atoms other than 16 bytes need compute capability 10",
    "driver, measured",
)
SWIZZLE_TYPE = rule(
    "tensor_map.swizzle_type", "padded sub-byte types know the 128-byte swizzles, without the flip", "driver, PTX ISA"
)
INTERLEAVE_TYPE = rule("tensor_map.interleave_type", "padded sub-byte types have no interleave layout", "driver")
CORNER_RANGE = rule(
    "tensor_map.corner_range", "corners have 16, 8 or 5 bits in 3, 4 and 5 dimensions", "004 5.5.4.1, driver"
)
EMPTY_BOX = rule("tensor_map.empty_box", "the pixel box holds at least one position", "driver, measured")
CHANNELS = rule("tensor_map.channels_per_pixel", "a pixel has 1 to 256 channels", "driver")
PIXELS = rule("tensor_map.pixels_per_column", "a column has 1 to 1024 pixels", "driver")

LINT_TRAVERSAL = rule(
    "tensor_map.traversal_ignored", "the traversal stride of dimension 0 is 1 without interleave", "004 5.5.3.2", "lint"
)
LINT_TRANSACTION = rule(
    "tensor_map.transaction_bytes", "the transaction bytes are the bytes of the box", "measured", "lint"
)
LINT_INTERLEAVE = rule(
    "tensor_map.interleave_swizzle", "the interleave of 32 bytes goes with the swizzle 32B", "driver", "lint"
)
LINT_OVERLAP = rule(
    "tensor_map.overlapping_rows", "rows do not overlap, so that stores have one meaning", "004 5.5.1", "lint"
)
LINT_SHARED = rule("tensor_map.shared_size", "the box fits the shared memory of one block", "driver", "lint")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The tensor copies of one architecture; `capability` is its major number, `shared_bytes` are those of a block."""

    capability: int
    gather: bool
    scatter: bool
    shared_bytes: int = 227 * 1024


_HOPPER = Architecture(9, False, False)
_BLACKWELL = Architecture(10, True, True)
_BASELINE = Architecture(10, True, False)
_RTX = Architecture(12, True, False, 99 * 1024)

# PTX ISA 9.0, target notes of cp.async.bulk.tensor: a load counts as supported where the form to shared memory of the
# block is. Shared memory: CUDA programming guide, technical specifications per capability.
ARCHITECTURES: dict[str, Architecture] = {
    "sm_90": _HOPPER,
    "sm_90a": _HOPPER,
    **dict.fromkeys(("sm_100", "sm_101", "sm_103", "sm_110"), _BASELINE),
    **dict.fromkeys((f"sm_{number}{kind}" for number in (100, 101, 103, 110) for kind in "af"), _BLACKWELL),
    **dict.fromkeys(("sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"), _RTX),
}
"""Every architecture with tensor copies by its name."""

CORNERS = {3: (-(2**15), 2**15 - 1), 4: (-128, 127), 5: (-16, 15)}
"""The range of pixel box corners by rank (004 5.5.4.1)."""

_PADDED_SWIZZLES = {
    "b4x16_p64": ("none", "128B", "128B_atom_32B"),
    "b6x16_p32": ("none", "128B", "128B_atom_32B"),
    "b6p2x16": ("none", "128B", "128B_atom_32B", "128B_atom_64B"),
}
_CHOICES: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("dtype", ELEMENT_TYPES),
    ("interleave", SLICE_BYTES),
    ("swizzle", MODES),
    ("oob_fill", dict.fromkeys(OOB_FILLS)),
)
_LISTS: tuple[tuple[str, Rule, int, int], ...] = (
    ("global_dim", GLOBAL_DIM, 1, 2**32),
    ("global_strides", STRIDE_RANGE, 0, 2**40 - 1),
    ("box_dim", BOX_DIM, 1, 256),
    ("element_strides", ELEMENT_STRIDES, 1, 8),
    ("lower_corner", CORNER_RANGE, I32_LOW, I32_HIGH),
    ("upper_corner", CORNER_RANGE, I32_LOW, I32_HIGH),
)
_SCALARS: tuple[tuple[str, Rule, int, int], ...] = (
    ("channels_per_pixel", CHANNELS, 1, 256),
    ("pixels_per_column", PIXELS, 1, 1024),
    ("global_address", ADDRESS_RANGE, 0, 2**64 - 1),
)
_LENGTH_FIXES = {
    "global_strides": "give one for each dimension from 1 on, in bytes; dimension 0 is contiguous",
    "lower_corner": "give one for each of W, H and D that there is",
    "upper_corner": "give one for each of W, H and D that there is",
}
UNUSED = {
    "tiled": ("lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column"),
    "im2col": ("box_dim",),
}
"""The parameters of the other mode."""


def checked(given: MapParameters) -> dict[str, Any]:
    """The parameters as plain integers and tuples of them.

    Raises one `AddressingError` with every rule of this module that is broken. Rules that depend on an unknown name or
    on a value that is not an integer are not checked, nor is a pixel box whose corners have the wrong length.
    """
    report = RuleReport(f"TensorMap.{given.mode}")
    if given.mode not in _MODE_CHECKS:
        report.add(CHOICE, f"mode = {given.mode!r} is unknown", f"choose one of {', '.join(_MODE_CHECKS)}")
        report.done()
    values = _numbers(given, report)
    plain = MapParameters(**values)
    named, sized = _names(plain, given, report), _lengths(plain, report)
    if named and is_integral(report) and plain.global_dim and (plain.mode == "im2col" or plain.box_dim):
        for check in (*_CHECKS, *(_MODE_CHECKS[plain.mode] if sized else ())):
            check(plain, report)
    report.done()
    return values


def _numbers(given: MapParameters, report: RuleReport) -> dict[str, Any]:
    """Every field, numbers as `int`, names as `str`; notes numbers that are not integers or are out of range."""
    values: dict[str, Any] = {name: getattr(given, name) for name in MapParameters.__dataclass_fields__}
    used = [name for name in values if name not in UNUSED[given.mode]]
    for name in ("dtype", "interleave", "swizzle", "oob_fill", "architecture"):
        values[name] = values[name] if isinstance(values[name], str) else repr(values[name])
    for name, broken, low, high in _LISTS:
        if name in used:
            values[name] = wholes(report, name, values[name], low, high, broken)
    for name, broken, low, high in _SCALARS:
        if name in used:
            values[name] = whole(report, name, values[name], low, high, broken)
    return values


def _names(given: MapParameters, came: MapParameters, report: RuleReport) -> bool:
    """Whether every name exists; `came` holds the values that were given for the names, which need not be texts."""
    before = len(report.violations)
    for field, choices in _CHOICES:
        if getattr(given, field) not in choices:
            report.add(CHOICE, f"{field} = {getattr(came, field)!r} is unknown", f"choose one of {', '.join(choices)}")
    if given.architecture not in ARCHITECTURES:
        message = f"architecture = {came.architecture!r} is no architecture with tensor copies"
        report.add(ARCHITECTURE, message, f"choose one of {', '.join(ARCHITECTURES)}")
    return len(report.violations) == before


def _lengths(given: MapParameters, report: RuleReport) -> bool:
    """Whether there is a legal number of dimensions and every list has as many entries as it needs."""
    before = len(report.violations)
    lowest = 3 if given.mode == "im2col" else 1
    if not lowest <= given.rank <= 5:
        fix = "join neighbours, or make one map for each slice" if given.rank > 5 else "add dimensions of size 1"
        count = plural(given.rank, "dimension")
        report.add(RANK, f"global_dim has {count}, {given.mode} mode takes {lowest} to 5", fix)
        return False
    if given.interleave in ("16B", "32B") and given.rank < 3:
        message = f"interleave {given.interleave} needs 3 dimensions or more, global_dim has {given.rank}"
        report.add(INTERLEAVE_RANK, message, "use W, channel slices and N at least")
    wanted = {"global_strides": given.rank - 1, "element_strides": given.rank}
    corner = given.rank - 2
    modes = {"tiled": {"box_dim": given.rank}, "im2col": {"lower_corner": corner, "upper_corner": corner}}
    for field, length in {**wanted, **modes[given.mode]}.items():
        entries = len(getattr(given, field))
        if entries != length:
            count = plural(given.rank, "dimension", ("needs", "need"))
            message = f"{field} has {entries} {'entry' if entries == 1 else 'entries'}, {count} {length}"
            report.add(LENGTHS, message, _LENGTH_FIXES.get(field, "give one for each dimension, innermost first"))
    return len(report.violations) == before


def _check_dimensions(given: MapParameters, report: RuleReport) -> None:
    element, size = given.element, given.global_dim[0]
    multiple = _packed_multiple(element)
    if size % multiple:
        message = f"global_dim[0] = {size} is not a multiple of {multiple} (type {element.name})"
        report.add(PACKED_DIM, message, f"pad dimension 0 to {round_up(size, multiple)} elements")


def _packed_multiple(element: ElementType) -> int:
    if element.family != "packed":
        return 1
    return 128 if element.is_padded else 2


def alignment(given: MapParameters) -> tuple[int, str]:
    """The number of bytes that address and strides are multiples of, and the reason in words."""
    if given.interleave == "32B":
        return 32, " (interleave 32B)"
    if given.element.is_padded:
        return 32, f" (type {given.dtype})"
    return 16, ""


def _check_strides(given: MapParameters, report: RuleReport) -> None:
    multiple, why = alignment(given)
    for position, stride in enumerate(given.global_strides):
        if stride % multiple:
            padded = round_up(stride, multiple)
            what = "the row" if position == 0 else f"dimension {position}"
            message = f"global_strides[{position}] = {stride} bytes is not a multiple of {multiple}{why}"
            report.add(STRIDE_MULTIPLE, message, f"pad {what} to {given.element.count_in(padded)}")
    if given.global_address % multiple:
        message = f"global_address = {given.global_address:#x} is not a multiple of {multiple}{why}"
        report.add(ADDRESS_ALIGNED, message, f"move the tensor to a multiple of {multiple} bytes")


def _check_inner(given: MapParameters, report: RuleReport) -> None:
    element, count = given.element, given.inner_elements
    name = "box_dim[0]" if given.mode == "tiled" else "channels_per_pixel"
    bits = count * element.bits
    if element.is_padded and count != 128:
        report.add(PACKED_BOX, f"{name} = {count}, a row of {element.name} has 128 elements", f"set {name} to 128")
    elif bits % 128:
        step = 128 // element.bits
        message = f"{name} = {count} is {bits / 8:g} bytes of {element.name}, not a multiple of 16"
        report.add(INNER_BYTES, message, f"choose a multiple of {step} elements, {round_up(count, step)} say")
    span = given.swizzling.span
    if span and not given.slice_bytes and given.row_bytes > span:
        most = span * 8 // element.shared_bits
        message = f"{name} = {count} is {given.row_bytes} bytes, wider than the {span} of swizzle {given.swizzle}"
        report.add(SWIZZLE_SPAN, message, f"copy at most {most} elements a row, in several copies")


def _check_fill(given: MapParameters, report: RuleReport) -> None:
    if given.oob_fill == "nan" and not given.element.is_float:
        report.add(
            NAN_FILL,
            f"oob_fill is nan, but {given.dtype} has no NaN",
            "fill with zero, or choose a floating-point type",
        )


def _check_architecture(given: MapParameters, report: RuleReport) -> None:
    if ARCHITECTURES[given.architecture].capability >= 10:
        return
    if given.element.family == "packed":
        message = f"{given.architecture} has no type {given.dtype}"
        report.add(BLACKWELL_TYPE, message, "use sm_100a or later, or copy packed bytes as u8")
    if MODES[given.swizzle].blackwell:
        message = f"{given.architecture} has no swizzle {given.swizzle}"
        report.add(BLACKWELL_SWIZZLE, message, "use sm_100a or later, or one of the swizzles 32B, 64B and 128B")


def _check_packed(given: MapParameters, report: RuleReport) -> None:
    if not given.element.is_padded:
        return
    swizzles = _PADDED_SWIZZLES[given.dtype]
    if given.swizzle not in swizzles:
        message = f"swizzle {given.swizzle} does not go with type {given.dtype}"
        report.add(SWIZZLE_TYPE, message, f"choose one of {', '.join(swizzles)}")
    if given.slice_bytes:
        report.add(
            INTERLEAVE_TYPE, f"interleave {given.interleave} does not go with type {given.dtype}", "use interleave none"
        )


def _check_pixel_box(given: MapParameters, report: RuleReport) -> None:
    low, high = CORNERS[given.rank]
    before = len(report.violations)
    for field in ("lower_corner", "upper_corner"):
        for position, value in enumerate(getattr(given, field)):
            if not low <= value <= high:
                message = f"{field}[{position}] = {value} is outside {low} .. {high} in {given.rank} dimensions"
                report.add(CORNER_RANGE, message, "choose a smaller padding or dilation")
    if len(report.violations) > before:
        return
    sizes = given.global_dim[given.spatial]
    for position, (first, last) in enumerate(corners(sizes, given.lower_corner, given.upper_corner)):
        if last < first:
            message = f"{'WHD'[position]} has {sizes[position]} pixels and runs from {first} to {last}"
            report.add(EMPTY_BOX, message, f"raise upper_corner[{position}] to {first - sizes[position] + 1} or more")


_Check = Callable[[MapParameters, RuleReport], None]
_CHECKS: tuple[_Check, ...] = (
    _check_dimensions,
    _check_strides,
    _check_inner,
    _check_fill,
    _check_architecture,
    _check_packed,
)
_MODE_CHECKS: dict[str, tuple[_Check, ...]] = {"tiled": (), "im2col": (_check_pixel_box,)}


@lru_cache(maxsize=256)
def is_encodable(given: MapParameters, architecture: str) -> bool:
    """Whether a map, legal for its own architecture, is legal for another one."""
    if architecture not in ARCHITECTURES:
        return False
    try:
        checked(replace(given, architecture=architecture))
    except AddressingError:
        return False
    return True


def lints(given: MapParameters) -> tuple[Violation, ...]:
    """The violations of severity `lint` by a map: what is legal and probably not meant."""
    report = RuleReport(f"TensorMap.{given.mode}")
    for lint in (_lint_traversal, _lint_transaction, _lint_interleave, _lint_overlap, _lint_shared):
        lint(given, report)
    return tuple(report.violations)


def _lint_traversal(given: MapParameters, report: RuleReport) -> None:
    if given.element_strides[0] != 1 and not given.slice_bytes:
        message = f"element_strides[0] = {given.element_strides[0]} is ignored without interleave"
        report.add(LINT_TRAVERSAL, message, "write 1")


def _lint_transaction(given: MapParameters, report: RuleReport) -> None:
    box = given.box_dim if given.mode == "tiled" else (given.channels_per_pixel, given.pixels_per_column)
    size = prod(box) * given.element.bits // 8
    if size != given.transaction_bytes:
        extents = " x ".join(map(str, box))
        message = f"a load adds {given.transaction_bytes} bytes to its barrier, the box of {extents} has {size}"
        report.add(LINT_TRANSACTION, message, f"expect {given.transaction_bytes} bytes")


def _lint_interleave(given: MapParameters, report: RuleReport) -> None:
    if given.interleave == "32B" and given.swizzle != "32B":
        message = f"interleave 32B comes with swizzle {given.swizzle}, which an H200 accepts"
        report.add(LINT_INTERLEAVE, message, "choose swizzle 32B")


def _lint_overlap(given: MapParameters, report: RuleReport) -> None:
    sizes = [given.slice_bytes * given.global_dim[0] if given.slice_bytes else given.row_extent, *given.global_strides]
    order = sorted(range(1, given.rank), key=lambda dimension: given.strides[dimension])
    needed = sizes[0]
    for dimension in order:
        stride = given.strides[dimension]
        if stride < needed and given.global_dim[dimension] > 1:
            message = (
                f"rows overlap: global_strides[{dimension - 1}] = {stride} bytes, the dimensions within take {needed}"
            )
            report.add(LINT_OVERLAP, message, "use the map for loads only: which of several stores wins is not defined")
            return
        needed = max(needed, stride * given.global_dim[dimension])


def _lint_shared(given: MapParameters, report: RuleReport) -> None:
    limit = ARCHITECTURES[given.architecture].shared_bytes
    if given.image_bytes > limit:
        message = (
            f"the box takes {given.image_bytes} bytes, a block on {given.architecture} has {limit} of shared memory"
        )
        report.add(LINT_SHARED, message, "copy a smaller box")
