"""Memrefs and groups: allocation, access, views, and atomics (003 "Alloca", "Load", "Store", "Subview", ...)."""

from __future__ import annotations

import math
from enum import Enum

from girih.ir.core import Dictionary, Op, Slice, Value
from girih.ir.define import (
    Expect,
    Where,
    attributes,
    family,
    integer,
    modifier,
    node,
    op,
    operand,
    operands,
    result,
    slices,
)
from girih.ir.kinds import BOOLEAN, INDEXES, MEMREF, MEMREF_OR_GROUP, NUMBER, NUMBER_OR_MEMREF
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.predicates import WithinLimit, equal
from girih.ir.surroundings import Subject
from girih.ir.terms import element, limit, order, type_of
from girih.ir.types import INDEX, AddressSpace, ErrorType, Extent, GroupType, MemRef
from girih.ops.tile.language import TILE
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Holds, Satisfies
from girih.rules.row import Row, Undetermined
from girih.rules.terms import computed, count, show

ALLOCA = '003 "Alloca"'
LOAD = '003 "Load"'
STORE = '003 "Store"'
SUBVIEW = '003 "Subview"'
EXPAND = '003 "Expand"'
FUSE = '003 "Fuse"'
SIZE = '003 "Size"'
ASSOCIATED = '003 "Associated"'
ATOMIC_LOAD = '003 "Atomic load"'
ATOMIC_STORE = '003 "Atomic store"'
ATOMIC_UPDATE = '003 "Atomic update"'


class Scope(Enum):
    """The work-items between which an access is atomic (003 "Atomic load")."""

    CROSS_DEVICE = "cross_device"
    DEVICE = "device"
    WORK_GROUP = "work_group"
    SUBGROUP = "subgroup"


class Semantics(Enum):
    """The order of an atomic access and the accesses around it (003 "Atomic load")."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQUIRE_RELEASE = "acquire_release"
    SEQUENTIALLY_CONSISTENT = "sequentially_consistent"


SCOPES = {s.value: s for s in Scope}
SEMANTICS = {s.value: s for s in Semantics}


def memref(s: Subject, name: str) -> MemRef:
    """The memref type of an operand or result; undetermined for any other type, and for a memref in error itself."""
    type_ = getattr(s.op, name).type
    if not isinstance(type_, MemRef) or len(type_.strides) != type_.order:
        raise Undetermined
    return type_


@op(TILE, "alloca", Where.COLLECTIVE, ALLOCA, "<< attributes >> : result")
class Alloca(Op):
    """Local memory of the work-group, freed at the end of the region. Its elements are undefined until written."""

    attributes: Dictionary = attributes({"alignment": Expect.INTEGER}, "alignment: of the first element, in bytes")
    result: Value = result(MEMREF, "the memory")


def _alignment(s: Subject) -> int:
    alignment = s.op.attributes.get("alignment")
    if not isinstance(alignment, int) or isinstance(alignment, bool):
        raise Undetermined
    return alignment


def _alignment_fits(s: Subject) -> bool:
    alignment = _alignment(s)
    return alignment > 0 and alignment % memref(s, "result").element.size == 0


def _alignment_told(s: Subject, alignment: int, most: int) -> str:
    whose = "local memory is" if most == DEFAULT_LIMITS.local_alignment else "the target's is"
    return f"alignment is {alignment}, {whose} aligned to at most {most}"


TILE.rules(
    Alloca,
    Row("static", "result", Holds("shape and strides have no `?`",
        lambda s: None not in memref(s, "result").shape + memref(s, "result").strides,
        lambda s: f"the type is {s.op.result.type}"),
        "the size is known at compile time", ALLOCA),
    Row("positive", "result", Holds("no mode has size 0", lambda s: 0 not in memref(s, "result").shape,
        lambda s: f"the type is {s.op.result.type}"),
        "allocated memory is not empty", ALLOCA),
    Row("space", "result", Holds("the address space is local",
        lambda s: memref(s, "result").space is AddressSpace.LOCAL, lambda s: "the address space is global"),
        "allocated memory is local", ALLOCA, lambda s: f"write {str(s.op.result.type)[:-1]},local>"),
    Row("alignment", "attributes", Holds("alignment is a positive multiple of the element size", _alignment_fits,
        lambda s: f"alignment is {_alignment(s)}, an element has {memref(s, 'result').element.size} bytes"),
        "the alignment is a positive multiple of the element size", ALLOCA),
    Row("alignment_limit", "attributes",
        WithinLimit(computed("alignment", _alignment), limit("local_alignment"), _alignment_told),
        "the alignment is not larger than what local memory allows", ALLOCA, needs="local_alignment"),
)  # fmt: skip


@op(TILE, "lifetime_stop", Where.COLLECTIVE, '003 "Additional instructions"', "memory")
class LifetimeStop(Op):
    """Free the memory of an `alloca` before the end of its region."""

    memory: Value = operand(MEMREF, "what an alloca returned")


def _from_alloca(s: Subject) -> bool:
    if isinstance(s.op.memory.type, ErrorType):
        raise Undetermined
    return isinstance(s.facts.definitions.get(s.op.memory), Alloca)


TILE.rules(
    LifetimeStop,
    Row("alloca", "memory", Holds("memory is the result of an alloca", _from_alloca,
        lambda s: f"%{s.op.memory.name} is a view or a parameter"),
        "what is freed is memory that an `alloca` returned", '003 "Additional instructions"'),
)  # fmt: skip


def _expected_indices(s: Subject) -> int:
    type_ = s.op.tensor.type
    if isinstance(type_, GroupType):
        return 1
    return memref(s, "tensor").order


def _literals_in_bounds(s: Subject) -> bool:
    type_ = s.op.tensor.type
    shape: tuple[Extent, ...] = (type_.size,) if isinstance(type_, GroupType) else memref(s, "tensor").shape
    pairs = zip(s.op.indices, shape, strict=False)
    return all(not isinstance(i, int) or (i >= 0 and (n is None or i < n)) for i, n in pairs)


def _index_rows(section: str, *, literal: bool = False) -> tuple[Row, ...]:
    needed = computed("number of modes", _expected_indices)
    rows = [Row("count", "tensor indices", equal(count("indices"), needed),
                "there is one index for each mode, and one for a group", section)]  # fmt: skip
    if literal:
        rows.append(Row("bounds", "indices", Holds("a literal index is in bounds", _literals_in_bounds,
                        lambda s: f"the type is {s.op.tensor.type}"),
                        "a literal index is inside the shape", section, severity="warning"))  # fmt: skip
    return tuple(rows)


def _value_row(section: str) -> Row:
    return Row("type", "value tensor", equal(type_of("value"), element("tensor")),
               "the value has the element type of the memref", section, _cast_hint)  # fmt: skip


def _cast_hint(s: Subject) -> str | None:
    return f"convert it first: `%x = cast %{s.op.value.name} : {memref(s, 'tensor').element}`"


@op(TILE, "load", Where.MIXED, LOAD, "tensor [ indices ] : result")
class Load(Op):
    """Load an element of a memref, or a memref of a group."""

    tensor: Value = operand(MEMREF_OR_GROUP, "memref or group", reads=True)
    indices: tuple[Value | int, ...] = operands(INDEXES, "one index for each mode, one for a group", literal=True)
    result: Value = result(NUMBER_OR_MEMREF, "the element, or the memref of a group")


def _loaded(s: Subject) -> object:
    type_ = s.op.tensor.type
    return type_.memref if isinstance(type_, GroupType) else memref(s, "tensor").element


TILE.rules(
    Load,
    *_index_rows(LOAD, literal=True),
    Row("result_type", "result tensor", equal(type_of("result"), computed("the type of an element", _loaded)),
        "the result has the element type of the memref, or the memref type of the group", LOAD),
)  # fmt: skip


@op(TILE, "store", Where.MIXED, STORE, "value , tensor [ indices ]")
class Store(Op):
    """Store a number to an element of a memref. In a collective region every work-item stores the same number."""

    value: Value = operand(NUMBER, "what is written")
    tensor: Value = operand(MEMREF, "where to", writes=True)
    indices: tuple[Value | int, ...] = operands(INDEXES, "one index for each mode", literal=True)


TILE.rules(Store, *_index_rows(STORE, literal=True), _value_row(STORE))


@op(TILE, "atomic_load", Where.MIXED, ATOMIC_LOAD, "tensor [ indices ] : result")
class AtomicLoad(Op):
    """Load an element of a memref atomically; the parts of a complex number may come from different stores."""

    scope: Scope = modifier(SCOPES, Scope.WORK_GROUP, doc="the work-items between which the access is atomic")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="memory order")
    tensor: Value = operand(MEMREF, "memref", reads=True)
    indices: tuple[Value | int, ...] = operands(INDEXES, "one index for each mode")
    result: Value = result(NUMBER, "the element")


TILE.rules(
    AtomicLoad,
    computes_row("atomic_load", "tensor"),
    *_index_rows(ATOMIC_LOAD),
    Row("result_type", "result tensor", equal(type_of("result"), element("tensor")),
        "the result has the element type of the memref", ATOMIC_LOAD),
)  # fmt: skip


@op(TILE, "atomic_store", Where.MIXED, ATOMIC_STORE, "value , tensor [ indices ]")
class AtomicStore(Op):
    """Store a number to an element of a memref atomically; a complex number part by part."""

    scope: Scope = modifier(SCOPES, Scope.WORK_GROUP, doc="the work-items between which the access is atomic")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="memory order")
    value: Value = operand(NUMBER, "what is written")
    tensor: Value = operand(MEMREF, "where to", writes=True)
    indices: tuple[Value | int, ...] = operands(INDEXES, "one index for each mode")


TILE.rules(
    AtomicStore, computes_row("atomic_store", "value", "tensor"), *_index_rows(ATOMIC_STORE), _value_row(ATOMIC_STORE)
)


@node
class AtomicUpdate(Op):
    """The base of the atomic updates of an element of a memref."""

    scope: Scope = modifier(SCOPES, Scope.WORK_GROUP, doc="the work-items between which the access is atomic")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="memory order")
    value: Value = operand(NUMBER, "second operand of the update")
    tensor: Value = operand(MEMREF, "where to", reads=True, writes=True)
    indices: tuple[Value | int, ...] = operands(INDEXES, "one index for each mode")
    result: Value = result(NUMBER, "the element before the update")


def _once(s: Subject) -> bool:
    return s.facts.kind.value != "collective"


_ORDERED = Satisfies(element("value"), "is an integer or floating type", lambda t: t.family != "complex")


def _atomic_update(mnemonic: str, doc: str, *more: Row) -> type[AtomicUpdate]:
    declared = family(
        TILE, AtomicUpdate, mnemonic, doc, Where.MIXED, ATOMIC_UPDATE, "value , tensor [ indices ] : result"
    )
    TILE.rules(
        declared,
        computes_row(mnemonic, "value", "tensor"),
        *_index_rows(ATOMIC_UPDATE),
        _value_row(ATOMIC_UPDATE),
        Row("result_type", "result tensor", equal(type_of("result"), element("tensor")),
            "the result has the element type of the memref", ATOMIC_UPDATE),
        *more,
        Row("collective", "", Holds("it stands in an SPMD region", _once,
            lambda s: "in a collective region every work-item updates once"),
            "an atomic update stands in an SPMD region", ATOMIC_UPDATE,
            "put it into `parallel` and let one work-item do it, if once per work-group is meant", severity="warning"),
    )  # fmt: skip
    return declared


_NO_COMPLEX = Row(
    "ordered",
    "value",
    _ORDERED,
    "the value is of an integer or floating type: complex numbers have no order",
    ATOMIC_UPDATE,
)
AtomicAdd = _atomic_update(
    "atomic_add", "Add a number to an element of a memref atomically; a complex number part by part."
)
AtomicMin = _atomic_update(
    "atomic_min", "Replace an element of a memref by a number if that is smaller, atomically.", _NO_COMPLEX
)
AtomicMax = _atomic_update(
    "atomic_max", "Replace an element of a memref by a number if that is larger, atomically.", _NO_COMPLEX
)


@op(TILE, "associated", Where.MIXED, ASSOCIATED, "tensor : result")
class Associated(Op):
    """Whether a memref or group has memory behind it."""

    tensor: Value = operand(MEMREF_OR_GROUP, "memref or group")
    result: Value = result(BOOLEAN, "false where the base address is null")


@op(TILE, "size", Where.MIXED, SIZE, "tensor [ mode ] : result")
class Size(Op):
    """The size of a mode of a memref, or the number of memrefs in a group."""

    tensor: Value = operand(MEMREF_OR_GROUP, "memref or group")
    mode: int = integer("the mode, counted from 0; 0 for a group")
    result: Value = result(INDEXES, "its size")


def _mode_exists(s: Subject) -> bool:
    return bool(0 <= s.op.mode < _expected_indices(s))


TILE.rules(
    Size,
    Row("mode", "mode tensor", Holds("0 ≤ mode < order(tensor)", _mode_exists,
        lambda s: f"mode is {s.op.mode}, there are {_expected_indices(s)}"),
        "the mode exists; modes are counted from 0", SIZE),
)  # fmt: skip


# --- views: what the result's type must be ----------------------------------------------


def _same_memory(section: str) -> tuple[Row, ...]:
    space = computed("address space of result", lambda s: memref(s, "result").space.value)
    of_tensor = computed("address space of tensor", lambda s: memref(s, "tensor").space.value)
    return (
        Row("element_type", "result tensor", equal(element("result"), element("tensor")),
            "a view has the element type of what it shows", section),
        Row("space", "result tensor", equal(space, of_tensor), "a view stays in its address space", section),
    )  # fmt: skip


def _strides_follow(result: tuple[Extent, ...], expected: tuple[Extent, ...]) -> bool:
    """Whether each stride of a result is the expected one, or `?`."""
    return len(result) == len(expected) and all(r is None or r == e for r, e in zip(result, expected, strict=True))


@op(TILE, "subview", Where.MIXED, SUBVIEW, "tensor [ slices ] : result")
class Subview(Op):
    """A view of a part of a memref. Each mode is cut to `offset : size`; a mode given by an offset alone is dropped."""

    tensor: Value = operand(MEMREF, "memref")
    slices: tuple[Slice, ...] = slices("offset and size for each mode")
    result: Value = result(MEMREF, "the part")


def _subview_slices(s: Subject) -> tuple[Slice, ...]:
    if len(s.op.slices) != memref(s, "tensor").order:
        raise Undetermined
    return tuple(s.op.slices)


def subview_shape(s: Subject) -> tuple[Extent, ...]:
    """The shape of the result of a `subview`: a size for each slice that has one."""
    kept = (x for x in _subview_slices(s) if not x.drops_mode)
    return tuple(x.size if isinstance(x.size, int) else None for x in kept)


def subview_strides(s: Subject) -> tuple[Extent, ...]:
    """The strides of the result of a `subview`: those of the modes that are kept."""
    pairs = zip(_subview_slices(s), memref(s, "tensor").strides, strict=True)
    return tuple(stride for x, stride in pairs if not x.drops_mode)


def _subview_type(s: Subject) -> MemRef:
    """The most precise type that the result of a `subview` may have."""
    tensor = memref(s, "tensor")
    return MemRef(tensor.element, subview_shape(s), subview_strides(s), tensor.space)


def _slice_values(s: Subject) -> list[Value]:
    return [v for x in s.op.slices for v in (x.offset, x.size) if isinstance(v, Value)]


def _slices_are_index(s: Subject) -> bool:
    return all(v.type == INDEX or isinstance(v.type, ErrorType) for v in _slice_values(s))


def _slices_not_negative(s: Subject) -> bool:
    return all(v >= 0 for x in s.op.slices for v in (x.offset, x.size) if isinstance(v, int))


def _negative_slices(s: Subject) -> str:
    return ", ".join(str(v) for x in s.op.slices for v in (x.offset, x.size) if isinstance(v, int) and v < 0)


def _slices_in_bounds(s: Subject) -> bool:
    def fits(x: Slice, n: Extent) -> bool:
        if n is None or not isinstance(x.offset, int):
            return True
        size = x.size if isinstance(x.size, int) else 1
        return x.offset + max(size, 1) <= n

    return all(map(fits, _subview_slices(s), memref(s, "tensor").shape))


TILE.rules(
    Subview,
    Row("count", "tensor slices", equal(count("slices"), order("tensor")), "there is one slice for each mode", SUBVIEW),
    Row("slices", "slices", Holds("offsets and sizes are of index type or literals", _slices_are_index,
        lambda s: ", ".join(f"%{v.name} has type {v.type}" for v in _slice_values(s) if v.type != INDEX)),
        "offsets and sizes are of index type or literals", SUBVIEW),
    Row("negative", "slices", Holds("offset ≥ 0 and size ≥ 0", _slices_not_negative, _negative_slices),
        "a literal offset or size is not negative", SUBVIEW),
    Row("bounds", "slices tensor", Holds("literal slices are inside the shape", _slices_in_bounds,
        lambda s: f"the shape is {show(memref(s, 'tensor').shape)}"),
        "a literal slice is inside the shape", SUBVIEW, severity="warning"),
    *_same_memory(SUBVIEW),
    Row("shape", "result", equal(computed("shape(result)", lambda s: memref(s, "result").shape),
        computed("the shape of the slices", subview_shape)),
        "the result has one mode for each slice with a size: the literal size, or `?`", SUBVIEW),
    Row("stride", "result", Holds("each stride is the tensor's or `?`",
        lambda s: len(subview_shape(s)) != memref(s, "result").order
        or _strides_follow(memref(s, "result").strides, subview_strides(s)),
        lambda s: f"strided<{show(memref(s, 'result').strides).replace('x', ',')}> "
                  f"for strided<{show(subview_strides(s)).replace('x', ',')}>"),
        "a view keeps the strides, or says `?`", SUBVIEW,
        lambda s: f"write {_subview_type(s)}"),
)  # fmt: skip


@op(TILE, "expand", Where.MIXED, EXPAND, "tensor [ mode -> sizes ] : result")
class Expand(Op):
    """A view of a memref in which one mode is split into several, the first of them innermost."""

    tensor: Value = operand(MEMREF, "memref")
    mode: int = integer("the mode, counted from 0")
    sizes: tuple[Value | int, ...] = operands(INDEXES, "sizes of the new modes", literal=True, separator="x")
    result: Value = result(MEMREF, "the view")


def _expanded_mode(s: Subject) -> int:
    if not 0 <= s.op.mode < memref(s, "tensor").order:
        raise Undetermined
    return int(s.op.mode)


def expand_shape(s: Subject) -> tuple[Extent, ...]:
    """The shape of the result of an `expand`: the new sizes stand in place of the mode's."""
    mode, shape = _expanded_mode(s), memref(s, "tensor").shape
    return (*shape[:mode], *(x if isinstance(x, int) else None for x in s.op.sizes), *shape[mode + 1 :])


def expand_strides(s: Subject) -> tuple[Extent, ...]:
    """The strides of the result of an `expand`: those of the new modes stand in place of the mode's."""
    mode, strides = _expanded_mode(s), memref(s, "tensor").strides
    new: list[Extent] = []
    stride = strides[mode]
    for size in s.op.sizes:
        new.append(stride)
        stride = stride * size if stride is not None and isinstance(size, int) else None
    return (*strides[:mode], *new, *strides[mode + 1 :])


def _product_fits(s: Subject) -> bool:
    size = memref(s, "tensor").shape[_expanded_mode(s)]
    if size is None or not all(isinstance(x, int) for x in s.op.sizes) or min(s.op.sizes, default=1) < 1:
        raise Undetermined
    return bool(math.prod(s.op.sizes) == size)


TILE.rules(
    Expand,
    Row("mode", "mode tensor", Holds("0 ≤ mode < order(tensor)",
        lambda s: 0 <= s.op.mode < memref(s, "tensor").order,
        lambda s: f"mode is {s.op.mode}, order(tensor) is {memref(s, 'tensor').order}"),
        "the mode exists; modes are counted from 0", EXPAND),
    Row("positive", "sizes", Holds("each literal size ≥ 1",
        lambda s: all(x >= 1 for x in s.op.sizes if isinstance(x, int)),
        lambda s: ", ".join(str(x) for x in s.op.sizes if isinstance(x, int) and x < 1)),
        "a new mode is not empty", EXPAND),
    Row("count", "sizes", Holds("there are at least two new modes", lambda s: len(s.op.sizes) >= 2,
        lambda s: f"there is {len(s.op.sizes)}"),
        "a mode is expanded into two or more", EXPAND),
    Row("product", "mode sizes", Holds("the product of the sizes is the mode's size", _product_fits,
        lambda s: f"{show(s.op.sizes)} is {math.prod(s.op.sizes)}, "
                  f"the mode has {memref(s, 'tensor').shape[s.op.mode]}"),
        "the product of the new sizes equals the size of the mode", EXPAND),
    *_same_memory(EXPAND),
    Row("shape", "result", equal(computed("shape(result)", lambda s: memref(s, "result").shape),
        computed("the expanded shape", expand_shape)),
        "the result has the new sizes in place of the mode, `?` for a value", EXPAND),
    Row("stride", "result", Holds("each stride is as computed, or `?`",
        lambda s: len(expand_shape(s)) != memref(s, "result").order
        or _strides_follow(memref(s, "result").strides, expand_strides(s)),
        lambda s: f"strided<{show(memref(s, 'result').strides).replace('x', ',')}> "
                  f"for strided<{show(expand_strides(s)).replace('x', ',')}>"),
        "the new modes have the strides that their sizes give, or `?`", EXPAND),
)  # fmt: skip


@op(TILE, "fuse", Where.MIXED, FUSE, "tensor [ first , last ] : result")
class Fuse(Op):
    """A view of a memref in which neighbouring modes are joined into one; they must lie without gaps in memory."""

    tensor: Value = operand(MEMREF, "memref")
    first: int = integer("first fused mode, counted from 0")
    last: int = integer("last fused mode")
    result: Value = result(MEMREF, "the view")


def _fused_modes(s: Subject) -> tuple[int, int]:
    if not 0 <= s.op.first < s.op.last < memref(s, "tensor").order:
        raise Undetermined
    return s.op.first, s.op.last


def fuse_shape(s: Subject) -> tuple[Extent, ...]:
    """The shape of the result of a `fuse`: the product of their sizes stands in place of the fused modes'."""
    (first, last), shape = _fused_modes(s), memref(s, "tensor").shape
    sizes = shape[first : last + 1]
    fused = None if None in sizes else math.prod(x for x in sizes if x is not None)
    return (*shape[:first], fused, *shape[last + 1 :])


def fuse_strides(s: Subject) -> tuple[Extent, ...]:
    """The strides of the result of a `fuse`: of the fused modes, only that of the first stays."""
    (first, last), strides = _fused_modes(s), memref(s, "tensor").strides
    return (*strides[: first + 1], *strides[last + 1 :])


def _adjacent(s: Subject) -> bool:
    (first, last), tensor = _fused_modes(s), memref(s, "tensor")
    for k in range(first, last):
        stride, size, following = tensor.strides[k], tensor.shape[k], tensor.strides[k + 1]
        if stride is not None and size is not None and following is not None and stride * size != following:
            return False
    return True


TILE.rules(
    Fuse,
    Row("modes", "first last tensor", Holds("0 ≤ first < last < order(tensor)",
        lambda s: 0 <= s.op.first < s.op.last < memref(s, "tensor").order,
        lambda s: f"first is {s.op.first}, last is {s.op.last}, order(tensor) is {memref(s, 'tensor').order}"),
        "the modes exist and the first comes before the last", FUSE),
    Row("adjacent", "tensor first last", Holds("stride[k] * size[k] = stride[k + 1]", _adjacent,
        lambda s: f"the type is {s.op.tensor.type}"),
        "fused modes lie without gaps in memory", FUSE),
    *_same_memory(FUSE),
    Row("shape", "result", equal(computed("shape(result)", lambda s: memref(s, "result").shape),
        computed("the fused shape", fuse_shape)),
        "the fused mode has the product of the sizes, `?` if one is `?`", FUSE),
    Row("stride", "result", Holds("each stride is the tensor's or `?`",
        lambda s: len(fuse_shape(s)) != memref(s, "result").order
        or _strides_follow(memref(s, "result").strides, fuse_strides(s)),
        lambda s: f"strided<{show(memref(s, 'result').strides).replace('x', ',')}> "
                  f"for strided<{show(fuse_strides(s)).replace('x', ',')}>"),
        "a view keeps the strides, or says `?`", FUSE),
)  # fmt: skip
