"""Copies between tensor maps and local memory (004 5.5): a box of a tensor at a time, made by the work-group as one.

What a copy moves, byte for byte, is what `girih.addressing` says of the map. What depends on the map alone is checked
when the kernel is launched; coordinates that the hardware refuses are findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import gcd

from girih.diagnostics import plural
from girih.ir.core import Op, Slice, Value
from girih.ir.define import Where, modifier, op, operand, operands
from girih.ir.kinds import INDEXES, MEMREF, TENSOR_MAP
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    AddressSpace,
    ErrorType,
    MapMode,
    MemRef,
    TensorMapType,
    packed_strides,
)
from girih.lazy_dataclass import dataclass
from girih.ops.tile.language import TILE
from girih.ops.tile.memory import Alloca, Subview, memref
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.rules.terms import computed, count

MAPS = "004 5.5.1"
TILED = "004 5.5.3"
IM2COL = "004 5.5.4"
GATHER = "004 5.5.3.4"
BOX = "004 5.5.3.1"
REDUCTION = "PTX ISA, cp.reduce.async.bulk.tensor"

ELEMENTS = (I8, I16, I32, I64, F16, BF16, F32, F64)
"""The element types of tensor maps: each stands for those of 004 with its width."""
MOST_RANK, LEAST_IM2COL = 5, 3
IM2COL_OFFSETS = {3: 2**16 - 1, 4: 2**8 - 1, 5: 2**5 - 1}
"""The largest im2col offset by rank (004 5.5.4.1)."""
LINE = 128
"""The bytes of a line of local memory; a box begins at a multiple of them."""


class CopyMode(Enum):
    """The way in which a copy takes a box out of a tensor (004 5.5.2, 5.5.3.4)."""

    TILED = "tiled"
    IM2COL = "im2col"
    GATHER4 = "gather4"
    SCATTER4 = "scatter4"

    @property
    def by_rows(self) -> bool:
        """Whether the copy names four rows of a matrix."""
        return self in (CopyMode.GATHER4, CopyMode.SCATTER4)


class CopyReduction(Enum):
    """The reductions that a copy can make in global memory (PTX ISA, redOp)."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


# `girih.addressing`'s table of reductions, by the type of the language that has the width of the element types.
_BITWISE = (CopyReduction.AND, CopyReduction.OR, CopyReduction.XOR)
_ORDERED = (CopyReduction.ADD, CopyReduction.MIN, CopyReduction.MAX)
REDUCTIONS = {
    I32: tuple(CopyReduction),
    I64: (*_ORDERED, *_BITWISE),
    F16: _ORDERED,
    BF16: _ORDERED,
    F32: (CopyReduction.ADD,),
    F64: (CopyReduction.ADD,),
}
"""The reductions that exist for some element type of a map, by the type that stands for it."""


# --- where a view of local memory begins ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """What is known of an address in local memory before the kernel runs: it is `residue` modulo `modulus` bytes."""

    modulus: int
    residue: int

    def known_modulo(self, bytes: int) -> int | None:
        """The address modulo `bytes`; None where it is not known."""
        return self.residue % bytes if self.modulus % bytes == 0 else None


def local_place(value: Value, definitions: Mapping[Value, Op], constants: Mapping[Value, object]) -> LocalPlace | None:
    """What is known of the address at which a memref of local memory begins; None for what no `alloca` returned.

    It follows from the alignment of the `alloca` and from the offsets of views: a constant offset moves the address,
    any other leaves it known modulo the bytes of the stride.
    """
    views: list[Subview] = []
    op = definitions.get(value)
    while op is not None and not isinstance(op, Alloca):
        if isinstance(op, Subview):
            views.append(op)
        source = next(iter(op.operands), None)
        op = definitions.get(source) if source is not None else None
    if op is None:
        return None
    place = LocalPlace(alignment_of(op), 0)
    for view in reversed(views):
        place = _moved(place, view, constants)
    return place


def alignment_of(op: Alloca) -> int:
    """The alignment in bytes of what an `alloca` returns: the one it asks for, or the default."""
    asked = op.attributes.get("alignment")
    return asked if isinstance(asked, int) and asked > 0 else DEFAULT_LIMITS.alignment


def _moved(place: LocalPlace, view: Subview, constants: Mapping[Value, object]) -> LocalPlace:
    type_ = view.tensor.type
    if not isinstance(type_, MemRef):
        return place
    modulus, residue = place.modulus, place.residue
    for part, stride in zip(view.slices, type_.strides, strict=False):
        offset = _known(part, constants)
        if offset == 0:
            continue
        step = type_.element.size * (1 if stride is None else stride)
        if offset is None or stride is None:
            modulus = gcd(modulus, step)
        else:
            residue += offset * step
    return LocalPlace(modulus, residue % modulus)


def _known(part: Slice, constants: Mapping[Value, object]) -> int | None:
    offset = part.offset if isinstance(part.offset, int) else constants.get(part.offset)
    return offset if isinstance(offset, int) and not isinstance(offset, bool) else None


# --- rules that copies share ----------------------------------------------------------------


def _map(s: Subject) -> TensorMapType:
    type_ = s.op.map.type
    if not isinstance(type_, TensorMapType):
        raise Undetermined
    return type_


def _mode_fits(s: Subject) -> bool:
    wanted = MapMode.IM2COL if s.op.mode is CopyMode.IM2COL else MapMode.TILED
    return _map(s).mode is wanted


def _mode_hint(s: Subject) -> str:
    if _map(s).mode is MapMode.TILED:
        return "leave out `.im2col`, or declare the map as im2col"
    if s.op.mode.by_rows:
        return "declare the map as tiled"
    return "write `.im2col`, or declare the map as tiled"


def _wanted_coordinates(s: Subject) -> int:
    return 5 if s.op.mode.by_rows else _map(s).rank


def _coordinates_say(s: Subject) -> str:
    if s.op.mode.by_rows:
        return "give the column and four rows"
    return "give one coordinate for each dimension, innermost first"


def _of_matrix(s: Subject) -> bool:
    return not s.op.mode.by_rows or _map(s).rank == 2


def _rank_hint(s: Subject) -> str:
    return f"declare the map as tensor_map<{_map(s).element},2,tiled>"


def _bytes_hint(s: Subject) -> str:
    return f"use bytes, memref<i8xBYTES,local>, or a memref of {_map(s).element} with the sizes of the box"


def _element_fits(s: Subject) -> bool:
    return memref(s, "local").element in (I8, _map(s).element)


def _has_box_shape(s: Subject) -> bool:
    """Whether the memory is one run of bytes, or a packed memref of the map's type."""
    type_ = memref(s, "local")
    if None in type_.shape or type_.strides != packed_strides(type_.shape):
        return False
    return type_.order == 1 or type_.element == _map(s).element


def _place(s: Subject) -> LocalPlace:
    if isinstance(s.op.local.type, ErrorType):
        raise Undetermined
    place = local_place(s.op.local, s.facts.definitions, s.facts.constants)
    if place is None:
        raise Undetermined
    return place


def _place_came(s: Subject) -> str:
    place = _place(s)
    if place.modulus % LINE == 0:
        return f"it begins {plural(place.residue % LINE, 'byte')} after one"
    return f"its address is known modulo {place.modulus} only"


def _place_hint(s: Subject) -> str:
    if _place(s).modulus % LINE == 0:
        return f"let the view begin at a multiple of {LINE} bytes"
    return f"write `alloca {{alignment={LINE}}}` or leave the alignment out, and keep offsets multiples of {LINE} bytes"


def _not_in_loop(s: Subject) -> bool:
    return not any(parent.spec.mnemonic in ("foreach", "foreach_tile") for parent in s.facts.parents)


def _rows(section: str) -> tuple[Row, ...]:
    needed = computed("number of coordinates that the copy takes", _wanted_coordinates)
    return (
        Row("mode", "map", Holds("the map is in the mode of the copy", _mode_fits,
            lambda s: f"the type is {_map(s)}"),
            "a copy with .im2col goes through an im2col map, any other through a tiled one", section, _mode_hint),
        Row("count", "coordinates map", equal(count("coordinates"), needed),
            "there is one coordinate for each dimension, or a column and four rows", section, _coordinates_say),
        Row("space", "local", Holds("the address space of local is local",
            lambda s: memref(s, "local").space is AddressSpace.LOCAL, lambda s: "the address space is global"),
            "the other side of a copy is local memory", section, "memory in local space comes from `alloca`"),
        Row("element_type", "local map", Holds("element_type(local) is i8 or element_type(map)", _element_fits,
            lambda s: f"the memref is {memref(s, 'local')}, the map {_map(s)}"),
            "local memory is bytes, i8, or of the element type of the map", section, _bytes_hint),
        Row("shape", "local", Holds("local is packed, of static shape, and has order 1 or the map's element type",
            _has_box_shape, lambda s: f"the type is {memref(s, 'local')}"),
            "local memory is one run of bytes or a packed memref of the box, of static shape", section, _bytes_hint),
        Row("alignment", "local", Holds(f"address(local) mod {LINE} = 0 is known",
            lambda s: _place(s).known_modulo(LINE) == 0, _place_came),
            f"local memory begins at a multiple of {LINE} bytes, as alignment and offsets tell", BOX, _place_hint),
        Row("foreach", "", Holds("it is not inside foreach or foreach_tile", _not_in_loop,
            lambda s: "inside the loop, a work-item without a point or tile never comes to it"),
            "a copy is made by the work-group as one, outside foreach and foreach_tile", section,
            "move it out of the loop, or share the work out by hand in `parallel`"),
    )  # fmt: skip


_RANK = Row("rank", "map", Holds("with .gather4 and .scatter4: rank(map) = 2", _of_matrix,
    lambda s: f"the type is {_map(s)}"),
    "four rows are those of a matrix: the map has rank 2", GATHER, _rank_hint)  # fmt: skip


# --- loads ----------------------------------------------------------------------------------


@op(TILE, "tensor_copy_load", Where.MIXED, TILED, "map [ coordinates ] , local", tangled=True, by_work_group=True)
class TensorCopyLoad(Op):
    """Copy a box of a tensor to local memory, or with `.gather4` four rows of a matrix.

    It is made once for the work-group, which reaches it as one. The box is in local memory after the next barrier, or
    the next collective instruction that is no tensor copy. Elements outside the tensor are filled.
    """

    mode: CopyMode = modifier(
        {"gather4": CopyMode.GATHER4}, CopyMode.TILED, doc="four rows of a matrix: a column, and the four row numbers"
    )
    map: Value = operand(TENSOR_MAP, "the tensor and the box", reads=True)
    coordinates: tuple[Value | int, ...] = operands(
        INDEXES, "where the box begins in each dimension, in elements, innermost first", literal=True, shared=True
    )
    local: Value = operand(MEMREF, "local memory that gets the box", writes=True)


TILE.rules(TensorCopyLoad, _RANK, *_rows(TILED))


@op(
    TILE,
    "tensor_copy_load_im2col",
    Where.MIXED,
    IM2COL,
    "map [ coordinates ] , [ offsets ] , local",
    tangled=True,
    by_work_group=True,
    word="tensor_copy_load",
)
class TensorCopyLoadIm2col(Op):
    """Copy a column of pixels to local memory: the pixels that a tap of a convolution reads, one below the other.

    It is made once for the work-group, which reaches it as one. The column is in local memory after the next barrier,
    or the next collective instruction that is no tensor copy. Pixels outside the tensor are filled.
    """

    mode: CopyMode = modifier({"im2col": CopyMode.IM2COL}, required=True, doc="a column of pixels")
    map: Value = operand(TENSOR_MAP, "the tensor, the pixel box and the column", reads=True)
    coordinates: tuple[Value | int, ...] = operands(
        INDEXES, "channel, filter base in W, H, D, and image, in elements, innermost first", literal=True, shared=True
    )
    offsets: tuple[Value | int, ...] = operands(
        INDEXES, "offsets from the filter base in W, H, D", literal=True, shared=True
    )
    local: Value = operand(MEMREF, "local memory that gets the column", writes=True)


TILE.rules(
    TensorCopyLoadIm2col,
    *_rows(IM2COL),
    Row("offsets_count", "offsets map",
        equal(count("offsets"), computed("rank(map) - 2", lambda s: _map(s).rank - 2)),
        "there is one offset for each of W, H and D", "004 5.5.4.1"),
)  # fmt: skip

# --- stores and reductions ------------------------------------------------------------------


@op(TILE, "tensor_copy_store", Where.MIXED, TILED, "local , map [ coordinates ]", tangled=True, by_work_group=True)
class TensorCopyStore(Op):
    """Copy a box from local memory to a tensor, or with `.scatter4` four rows of a matrix.

    It is made once for the work-group, which reaches it as one. The tensor holds the box after the next barrier, or
    the next collective instruction that is no tensor copy. What lies outside the tensor is dropped, but for padding of
    rows up to the next 16 bytes, which is overwritten.
    """

    mode: CopyMode = modifier(
        {"im2col": CopyMode.IM2COL, "scatter4": CopyMode.SCATTER4},
        CopyMode.TILED,
        doc="a column of pixels, or four rows of a matrix: a column, and the four row numbers",
    )
    local: Value = operand(MEMREF, "local memory that holds the box", reads=True)
    map: Value = operand(TENSOR_MAP, "the tensor and the box", writes=True)
    coordinates: tuple[Value | int, ...] = operands(
        INDEXES, "where the box begins in each dimension, in elements, innermost first", literal=True, shared=True
    )


TILE.rules(TensorCopyStore, _RANK, *_rows(TILED))


@op(TILE, "tensor_copy_reduce", Where.MIXED, TILED, "local , map [ coordinates ]", tangled=True, by_work_group=True)
class TensorCopyReduce(Op):
    """Combine each element of a tensor that lies in a box with the element of local memory, atomically.

    It is made once for the work-group, which reaches it as one. The tensor holds the results after the next barrier,
    or the next collective instruction that is no tensor copy. Elements are clipped as by a store.
    """

    reduction: CopyReduction = modifier({r.value: r for r in CopyReduction}, required=True, doc="the combination")
    mode: CopyMode = modifier({"im2col": CopyMode.IM2COL}, CopyMode.TILED, doc="a column of pixels")
    local: Value = operand(MEMREF, "local memory that holds the box", reads=True)
    map: Value = operand(TENSOR_MAP, "the tensor and the box", reads=True, writes=True)
    coordinates: tuple[Value | int, ...] = operands(
        INDEXES, "where the box begins in each dimension, in elements, innermost first", literal=True, shared=True
    )


def _reduction_exists(s: Subject) -> bool:
    return s.op.reduction in REDUCTIONS.get(_map(s).element, ())


def _reduction_hint(s: Subject) -> str:
    wanted: CopyReduction = s.op.reduction
    types = ", ".join(str(t) for t, known in REDUCTIONS.items() if wanted in known)
    return f"{wanted.value} exists for {types}"


TILE.rules(
    TensorCopyReduce,
    *_rows(TILED),
    Row("reduction", "reduction map", Holds("the reduction exists for element_type(map)", _reduction_exists,
        lambda s: f"`{s.op.reduction.value}` of {_map(s).element}"),
        "the reduction exists for elements of this type", REDUCTION, _reduction_hint),
)  # fmt: skip


TensorCopy = TensorCopyLoad | TensorCopyLoadIm2col | TensorCopyStore | TensorCopyReduce
"""The copies between a tensor map and local memory."""


def copy_text(op: TensorCopy) -> str:
    """A copy as it is written: its word and modifiers."""
    words = [op.spec.word]
    if isinstance(op, TensorCopyReduce):
        words.append(op.reduction.value)
    if op.mode is not CopyMode.TILED:
        words.append(op.mode.value)
    return ".".join(words)


# --- types ----------------------------------------------------------------------------------


def _map_type(s: Subject) -> TensorMapType:
    if not isinstance(s.op, TensorMapType):
        raise Undetermined
    return s.op


def _rank_fits(s: Subject) -> bool:
    type_ = _map_type(s)
    return (LEAST_IM2COL if type_.mode is MapMode.IM2COL else 1) <= type_.rank <= MOST_RANK


def _element_hint(s: Subject) -> str:
    element = _map_type(s).element
    same = next((known for known in ELEMENTS if known.size == element.size), None)
    every = ", ".join(map(str, ELEMENTS))
    return f"use one of {every}" + (f": {same} has the width of {element}" if same is not None else "")


TILE.rules(
    "type",
    Row("map_rank", "", Holds(f"1 ≤ rank ≤ {MOST_RANK}, from {LEAST_IM2COL} with im2col", _rank_fits,
        lambda s: f"the type is {s.op}"),
        f"a tensor map has 1 to {MOST_RANK} dimensions, {LEAST_IM2COL} to {MOST_RANK} in im2col mode", "004 5.5.1"),
    Row("map_element", "", Holds(f"the element type is one of {', '.join(map(str, ELEMENTS))}",
        lambda s: _map_type(s).element in ELEMENTS, lambda s: f"the type is {s.op}"),
        "the elements of a tensor map are of a type that has the width of one of 004", MAPS, _element_hint),
)  # fmt: skip
