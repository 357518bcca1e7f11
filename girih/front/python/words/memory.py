"""Local arrays, views, and atomic accesses (`girih.ops.tile.memory`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girih.diagnostics import plural
from girih.front.python.calls import Calls as Translator
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.conversions import checks
from girih.front.python.operands import Memory, Operand, Part, Runtime
from girih.front.python.words.coopmatrix import checked, place_of_matrix
from girih.front.python.words.support import (
    NOTHING,
    USES,
    chosen,
    element,
    integer,
    is_absent,
    items,
    one,
    sizes,
    uses,
)
from girih.front.python.words.table import lowers
from girih.ir.core import EMPTY, Dictionary, Entry, Index, Slice, Value
from girih.ir.types import BOOL, AddressSpace, CoopMatrix, Extent, GroupType, MemRef, Number, packed_strides
from girih.ops.tile.memory import SCOPES, SEMANTICS
from girih.source import Span

ORDERS = {"C": "C", "F": "F"}


def _in_order(count: int, order: str) -> tuple[int, ...]:
    """The axes by mode, for memory of so many axes."""
    axes = tuple(range(count))
    return axes if order == "F" else axes[::-1]


@lowers("local")
def local(call: Call) -> Operand:
    """Local memory, whose axes lie in the order that the call asks for."""
    t, shape = call.translator, sizes(call, "shape")
    component = element(call, "dtype")
    if not isinstance(component, Number):
        raise fault("arguments", "memory holds numbers: use gl.i8 for truth values", call.span_of("dtype"))
    axes = _in_order(len(shape), chosen(call, "order", ORDERS))
    by_mode = tuple(shape[axis] for axis in axes)
    strides: tuple[Extent, ...] = packed_strides(by_mode)
    if not is_absent(call["strides"]):
        by_axis = sizes(call, "strides", len(shape))
        strides = tuple(by_axis[axis] for axis in axes)
    attributes = EMPTY
    if not is_absent(call["alignment"]):
        span = call.span_of("alignment")
        attributes = Dictionary((Entry("alignment", integer(call, "alignment"), span=span),), span)
    type = MemRef(component, by_mode, strides, AddressSpace.LOCAL)
    (value,) = t.add("alloca", type, span=call.span, attributes=attributes)
    return Memory(value, axes)


@lowers("lifetime_stop")
def lifetime_stop(call: Call) -> Operand:
    """Free local memory."""
    memory = call.translator.memory(call["array"], call.span_of("array"))
    call.translator.add("lifetime_stop", span=call.span, uses=uses(call, memory="array"), memory=memory.value)
    return NOTHING


@lowers("associated")
def associated(call: Call) -> Operand:
    """Whether there is memory behind an array or group."""
    t, operand = call.translator, call["x"]
    is_group = isinstance(operand, Runtime) and isinstance(operand.value.type, GroupType)
    value = operand.value if is_group and isinstance(operand, Runtime) else t.memory(operand, call.span_of("x")).value
    return one(t.add("associated", BOOL, span=call.span, uses=uses(call, tensor="x"), tensor=value))


# --- views ------------------------------------------------------------------------------------


def renumbered(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Axes in the same order, numbered from 0 without gaps."""
    ranks = {axis: rank for rank, axis in enumerate(sorted(axes))}
    return tuple(ranks[axis] for axis in axes)


def _by_axis(call: Call, parameter: str, memory: Memory) -> tuple[Operand, ...]:
    given = items(call[parameter])
    if len(given) != memory.rank:
        axes = plural(memory.rank, "axis", "axes")
        message = f"`{parameter}` has {plural(len(given), 'entry', 'entries')}, the array has {axes}"
        raise fault("arguments", message, call.span_of(parameter), "give one for each axis")
    return given


@lowers("subview")
def subview(call: Call) -> Operand:
    """A view of a part; an axis whose size is None is dropped."""
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    offsets = [t.position(o, call.span_of("offsets")) for o in _by_axis(call, "offsets", memory)]
    extents = [None if is_absent(s) else t.position(s, call.span_of("sizes")) for s in _by_axis(call, "sizes", memory)]
    return part_of_memory(t, memory, offsets, extents, call.span)


def part_of_memory(
    t: Translator, memory: Memory, offsets: list[Index], extents: list[Index | None], span: Span
) -> Memory:
    """The `subview` of some offsets and sizes by axis; without a size an axis is dropped, as with the size 0."""
    slices = tuple(Slice(offsets[axis], extents[axis]) for axis in memory.axes)
    kept = [mode for mode, part in enumerate(slices) if not part.drops_mode]
    shape = tuple(size if isinstance(size := slices[mode].size, int) else None for mode in kept)
    strides = tuple(memory.type.strides[mode] for mode in kept)
    type = replace(memory.type, shape=shape, strides=strides)
    (value,) = t.add("subview", type, span=span, uses={"tensor": (span,)}, tensor=memory.value, slices=slices)
    return Memory(value, renumbered(tuple(memory.axes[mode] for mode in kept)), memory.checked)


@lowers("expand")
def expand(call: Call) -> Operand:
    """A view in which one axis is several; the first mode of the instruction varies fastest."""
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    axis = _axis(call, "axis", memory)
    by_axis = [t.position(size, call.span_of("sizes")) for size in items(call["sizes"])]
    new = [axis + k for k in range(len(by_axis))]
    if chosen(call, "order", ORDERS) == "C":
        by_axis.reverse()
        new.reverse()
    mode, type = memory.mode(axis), memory.type
    shape = tuple(size if isinstance(size, int) else None for size in by_axis)
    strides: list[Extent] = []
    stride = type.strides[mode]
    for size in shape:
        strides.append(stride)
        stride = None if stride is None or size is None else stride * size
    wide = replace(
        type,
        shape=(*type.shape[:mode], *shape, *type.shape[mode + 1 :]),
        strides=(*type.strides[:mode], *strides, *type.strides[mode + 1 :]),
    )
    (value,) = t.add("expand", wide, span=call.span, uses=uses(call, tensor="array", sizes="sizes"),
                     tensor=memory.value, mode=mode, sizes=tuple(by_axis))  # fmt: skip
    moved = [[a + len(by_axis) - 1 if a > axis else a] for a in memory.axes]
    moved[mode] = new
    return Memory(value, tuple(a for part in moved for a in part), memory.checked)


def _axis(call: Call, parameter: str, memory: Memory) -> int:
    axis = integer(call, parameter)
    if not 0 <= axis < memory.rank:
        message = f"the array has {plural(memory.rank, 'axis', 'axes')}, counted from 0; `{parameter}` is {axis}"
        raise fault("arguments", message, call.span_of(parameter))
    return axis


@lowers("fuse")
def fuse(call: Call) -> Operand:
    """A view in which neighbouring axes are one; they must be neighbouring modes too, in the order asked for."""
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    first, last = _axis(call, "first", memory), _axis(call, "last", memory)
    wanted = tuple(range(first, last + 1))
    order = chosen(call, "order", ORDERS)
    if order == "C":
        wanted = wanted[::-1]
    begin = memory.mode(wanted[0]) if wanted else 0
    end = begin + len(wanted) - 1
    if len(wanted) < 2 or memory.axes[begin : end + 1] != wanted:
        message = f"axes {first} to {last} do not lie in memory in order {order}, one behind the other"
        hint = f'the array lies in another order: write order="{"F" if order == "C" else "C"}" if that is meant'
        raise fault("order", message, call.span_of("array"), hint if len(wanted) > 1 else "`first` is less than `last`")
    type = memory.type
    fused = type.shape[begin : end + 1]
    size: Extent = 1
    for extent in fused:
        size = None if size is None or extent is None else size * extent
    joined = replace(
        type,
        shape=(*type.shape[:begin], size, *type.shape[end + 1 :]),
        strides=(*type.strides[: begin + 1], *type.strides[end + 1 :]),
    )
    (value,) = t.add("fuse", joined, span=call.span, uses=uses(call, tensor="array"), tensor=memory.value,
                     first=begin, last=end)  # fmt: skip
    axes = tuple(axis for axis in memory.axes if axis == wanted[0] or axis not in wanted)
    return Memory(value, renumbered(axes), memory.checked)


@lowers("checked")
def checked_memory(call: Call) -> Operand:
    """Memory whose tiles may reach over its edge."""
    operand = call["array"]
    if isinstance(operand, Part):
        return replace(operand, memory=replace(operand.memory, checked=True))
    return replace(call.translator.memory(operand, call.span_of("array")), checked=True)


# --- atomic accesses --------------------------------------------------------------------------


def _order_of_access(call: Call) -> dict[str, Any]:
    return {"scope": chosen(call, "scope", SCOPES), "semantics": chosen(call, "semantics", SEMANTICS)}


def _place(call: Call, memory: Memory) -> tuple[Value, ...]:
    """The indices of an element by mode."""
    t, given = call.translator, items(call["place"])
    if len(given) != memory.rank:
        message = (
            f"`place` has {plural(len(given), 'index', 'indices')}, the array has {plural(memory.rank, 'axis', 'axes')}"
        )
        raise fault("arguments", message, call.span_of("place"), "give an index for each axis")
    places = call.spans_of_items("place", len(given))
    return memory.in_modes(tuple(map(t.index, given, places)))


@lowers("atomic_load")
def atomic_load(call: Call) -> Operand:
    """The element at a place, or the matrix of a tile that begins there."""
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    order = _order_of_access(call)
    if is_absent(call["shape"]):
        places = uses(call, tensor="array", indices="place")
        indices = _place(call, memory)
        return one(t.add("atomic_load", memory.type.element, span=call.span, uses=places, tensor=memory.value,
                         indices=indices, **order))  # fmt: skip
    rows, columns = sizes(call, "shape", 2)
    type = CoopMatrix(memory.type.element, rows, columns, chosen(call, "use", USES))
    place = place_of_matrix(memory, _place(call, memory), call.span_of("array"))
    check = checked(call) or checks(memory)
    return one(t.add("cooperative_matrix_atomic_load", type, span=call.span, uses=uses(call, memory="array"),
                     checked=check, **place, **order))  # fmt: skip


def _written(call: Call, memory: Memory) -> tuple[Value, bool]:
    """What an atomic access writes, and whether it is a matrix."""
    operand = call["value"]
    if isinstance(operand, Runtime) and isinstance(operand.value.type, CoopMatrix):
        return operand.value, True
    return call.translator.value(operand, memory.type.element, call.span_of("value")), False


def _write(call: Call, mnemonic: str, returns: bool) -> Operand:
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    value, is_matrix = _written(call, memory)
    order = _order_of_access(call)
    if is_matrix:
        place = place_of_matrix(memory, _place(call, memory), call.span_of("array"))
        check = checked(call) or checks(memory)
        types = (value.type,) if returns else ()
        results = t.add(f"cooperative_matrix_{mnemonic}", *types, span=call.span,
                        uses=uses(call, memory="array", matrix="value"), matrix=value, checked=check, **place,
                        **order)  # fmt: skip
    else:
        types = (memory.type.element,) if returns else ()
        results = t.add(mnemonic, *types, span=call.span,
                        uses=uses(call, tensor="array", value="value", indices="place"), value=value,
                        tensor=memory.value, indices=_place(call, memory), **order)  # fmt: skip
    return one(results) if returns else NOTHING


@lowers("atomic_store")
def atomic_store(call: Call) -> Operand:
    """Store a number, or a matrix, atomically."""
    return _write(call, "atomic_store", returns=False)


@lowers("atomic_add", "atomic_max", "atomic_min")
def atomic_update(call: Call) -> Operand:
    """The number or the matrix before an update."""
    return _write(call, call.name, returns=True)
