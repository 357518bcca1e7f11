"""The rules of functions, parameters and types, which belong to no instruction (003 "Functions", "Types")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from girih.diagnostics import nearest, plural
from girih.ir.core import Dictionary, Entry, Parameter, Region
from girih.ir.define import Attributes, Expect, attributes_row
from girih.ir.hints import MACHINE_HINTS, PERMISSIONS, Hint
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.predicates import WithinLimit
from girih.ir.print import show_attribute
from girih.ir.surroundings import Subject
from girih.ir.terms import limit
from girih.ir.types import (
    EIGHT_BIT_FLOATS,
    F32,
    AddressSpace,
    CoopMatrix,
    Extent,
    GroupType,
    MemRef,
    Use,
    packed_strides,
)
from girih.ops.tile.language import TILE
from girih.ops.tile.memory import Alloca, LifetimeStop
from girih.ops.tile.stored import STORED
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.rules.terms import computed, show
from girih.source import Span

FUNCTIONS = '003 "Functions"'
PARAMETERS = '003 "Parameter attributes"'
ALIGNMENT = '003 "Alignment attribute"'
GCD = '003 "Greatest common divisor (GCD) attributes"'
STRIDED = '003 "Strided layout"'
MEMREF = '003 "Memref type"'
GROUP = '003 "Group type"'
COOPMATRIX = '003 "Cooperative matrix type"'

# --- func ----------------------------------------------------------------------------------


def _subgroup_size(s: Subject) -> int:
    size = s.op.subgroup_size
    if size is None:
        raise Undetermined
    return int(size)


def _known_sizes(s: Subject) -> tuple[int, ...]:
    """The subgroup sizes of the language, or of the target where the language leaves them to it."""
    sizes: tuple[int, ...] = s.op.language.subgroup_sizes
    return sizes or s.facts.limits.subgroup_sizes


def _work_group_size(s: Subject) -> tuple[int, int]:
    rows, columns = s.op.work_group_size or (0, 0)
    if rows <= 0 or columns <= 0:
        raise Undetermined
    return rows, columns


def _entries(s: Subject) -> bool:
    entries = s.op.attributes.get("work_group_size")
    if not Expect.INTEGERS.accepts(entries):
        raise Undetermined
    return isinstance(entries, tuple) and len(entries) == 2 and all(isinstance(x, int) and x > 0 for x in entries)


def _multiple(s: Subject) -> bool:
    rows, _ = _work_group_size(s)
    size = s.op.subgroup_size
    sizes = _known_sizes(s) if size is None else (size,)
    if size is not None and size not in _known_sizes(s):
        raise Undetermined
    return any(rows % n == 0 for n in sizes)


def _peak(region: Region) -> int:
    """The largest number of bytes that is allocated at a time in a region and the regions inside it."""
    allocated: dict[object, int] = {}
    now = peak = 0
    for op in region.ops:
        if isinstance(op, Alloca) and isinstance(op.result.type, MemRef):
            allocated[op.result] = _bytes(op.result.type)
            now += allocated[op.result]
        elif isinstance(op, LifetimeStop):
            now -= allocated.pop(op.memory, 0)
        peak = max(peak, now, *(now + _peak(inner) for inner in op.regions))
    return peak


def _bytes(type: MemRef) -> int:
    if None in type.shape + type.strides or 0 in type.shape or len(type.strides) != type.order:
        return 0
    last = sum((n - 1) * stride for n, stride in zip(type.shape, type.strides, strict=True) if n and stride)
    return (last + 1) * type.element.size


def _who_has(local_memory_bytes: int) -> str:
    """The words for the owner of a limit of local memory; the default limit belongs to no device in particular."""
    return "a usual device" if local_memory_bytes == DEFAULT_LIMITS.local_memory_bytes else "the target"


_PERMISSIONS = ", ".join(f'"{name}"' for name in PERMISSIONS)


def _allowed(s: Subject) -> tuple[str, ...]:
    allowed = s.op.attributes.get("allow")
    if not isinstance(allowed, tuple) or not Expect.STRINGS.accepts(allowed):
        raise Undetermined
    return tuple(str(name) for name in allowed)


def _unknown_permission(s: Subject) -> str | None:
    return next((name for name in _allowed(s) if name not in PERMISSIONS), None)


def _meant_permission(s: Subject) -> str:
    close = nearest(str(_unknown_permission(s)), PERMISSIONS)
    return f'did you mean "{close}"?' if close else f"permissions are {_PERMISSIONS}"


def _repeated_permission(s: Subject) -> str | None:
    allowed = _allowed(s)
    return next((name for number, name in enumerate(allowed) if name in allowed[:number]), None)


def _given(s: Subject, machine: str) -> Dictionary:
    given = s.op.attributes.get(machine)
    if not isinstance(given, Dictionary):
        raise Undetermined
    return given


def _hint_rows(machine: str) -> tuple[Row, ...]:
    """The rules of the hints for a machine: one for its keys, and one for the values of each."""
    known = MACHINE_HINTS[machine]

    def unknown(s: Subject) -> list[Entry]:
        return [entry for entry in _given(s, machine).entries if not entry.quoted and entry.key not in known]

    keys = Row(machine, "", Holds(f"the hints for {machine} are {', '.join(known)}", lambda s: not unknown(s),
               lambda s: f"`{unknown(s)[0].key}`"),
               f"the hints for {machine} are {', '.join(known)}", ADDED, at=lambda s: unknown(s)[0].span)  # fmt: skip
    return (keys, *(_hint_row(machine, key, hint) for key, hint in known.items()))


def _hint_row(machine: str, key: str, hint: Hint) -> Row:
    def accepted(s: Subject) -> bool:
        entry = _given(s, machine).entry(key)
        return entry is None or hint.accepts(entry.value)

    def came(s: Subject) -> str:
        return show_attribute(_given(s, machine).get(key))

    def place(s: Subject) -> Span | None:
        entry = _given(s, machine).entry(key)
        return entry.span if entry else None

    return Row(f"{machine}_{key}", "", Holds(f"{key} is {hint.words}", accepted, came),
               f"`{key}`, {hint.doc}, is {hint.words}", ADDED, at=place)  # fmt: skip


def _whole_subgroups(s: Subject) -> str:
    """The next work-group size that is made of whole subgroups, of the smallest size that the device has."""
    items, other = _work_group_size(s)
    one = s.op.subgroup_size or min(_known_sizes(s))
    return f"write work_group_size=[{-(-items // one) * one}, {other}]"


ADDED = 'girih "Permissions and hints"'

_KNOWN = Attributes(known={
    "subgroup_size": Expect.INTEGER,
    "work_group_size": Expect.INTEGERS,
    "allow": Expect.STRINGS,
    "grid": Expect.GRID,
    "order": Expect.STRING,
    **dict.fromkeys(MACHINE_HINTS, Expect.DICTIONARY),
})  # fmt: skip

TILE.rules(
    "func",
    attributes_row("attributes", _KNOWN, '003 "Functions" Attributes'),
    Row("subgroup_size", "", Holds("the target has the subgroup size",
        lambda s: _subgroup_size(s) in _known_sizes(s),
        lambda s: f"{_subgroup_size(s)} is not one of {', '.join(map(str, _known_sizes(s)))}"),
        "the subgroup size is one that the target has", FUNCTIONS, needs="subgroup_sizes",
        at=lambda s: s.op.attributes.entry("subgroup_size").span),
    Row("work_group_entries", "", Holds("work_group_size has two positive entries", _entries,
        lambda s: f"it is {show(s.op.attributes.get('work_group_size')).replace('x', ', ')}"),
        "the work-group size has two positive entries", FUNCTIONS,
        at=lambda s: s.op.attributes.entry("work_group_size").span),
    Row("work_group_multiple", "", Holds("work_group_size[0] mod subgroup_size = 0", _multiple,
        lambda s: f"{_work_group_size(s)[0]} is not a multiple of "
                  f"{s.op.subgroup_size or 'any of ' + ', '.join(map(str, _known_sizes(s)))}"),
        "the first entry of the work-group size is a multiple of the subgroup size", FUNCTIONS,
        _whole_subgroups,
        at=lambda s: s.op.attributes.entry("work_group_size").span),
    Row("work_group_items", "", WithinLimit(
        computed("product of work_group_size", lambda s: math.prod(_work_group_size(s))), limit("work_group_items"),
        lambda s, items, most: f"{items} work-items, the target has {most}"),
        "a work-group has no more work-items than the target allows", FUNCTIONS, needs="work_group_items",
        at=lambda s: s.op.attributes.entry("work_group_size").span),
    Row("permission", "", Holds(f"each entry of allow is one of {_PERMISSIONS}",
        lambda s: _unknown_permission(s) is None, lambda s: f'"{_unknown_permission(s)}"', _meant_permission),
        f"allow permits {_PERMISSIONS}", ADDED, at=lambda s: s.op.attributes.entry("allow").span),
    Row("permission_once", "", Holds("no entry of allow is given twice",
        lambda s: _repeated_permission(s) is None, lambda s: f'"{_repeated_permission(s)}" is there again'),
        "allow has each permission once", ADDED, at=lambda s: s.op.attributes.entry("allow").span),
    *(row for machine in MACHINE_HINTS for row in _hint_rows(machine)),
    Row("local_memory", "", WithinLimit(
        computed("local memory", lambda s: _peak(s.op.body)), limit("local_memory_bytes"),
        lambda s, size, most: f"{size} bytes are alive at a time, {_who_has(most)} has {most}", " bytes"),
        "the memory of all `alloca` alive at a time fits the target's local memory", '003 "Alloca"',
        "free memory early with `lifetime_stop`, or make the tiles smaller", "warning", needs="local_memory_bytes"),
)  # fmt: skip

# --- parameters ------------------------------------------------------------------------------

_PROMISES = Attributes(known={"alignment": Expect.INTEGER, "shape_gcd": Expect.INTEGERS, "stride_gcd": Expect.INTEGERS})


def _memory_type(parameter: Parameter) -> MemRef | None:
    match parameter.type:
        case MemRef() as memory:
            return memory
        case GroupType(memref=memory):
            return memory
        case _:
            return None


def _promised(s: Subject) -> MemRef:
    type_ = _memory_type(s.op)
    if type_ is None:
        raise Undetermined
    return type_


def _only_memory(s: Subject) -> bool:
    return _memory_type(s.op) is not None or not any(not e.quoted for e in s.op.attributes.entries)


def _alignment_fits(s: Subject) -> bool:
    alignment = s.op.attributes.get("alignment")
    if not Expect.INTEGER.accepts(alignment):
        raise Undetermined
    return isinstance(alignment, int) and alignment > 0 and alignment % _promised(s).element.size == 0


def _divisors(s: Subject, key: str) -> tuple[int, ...]:
    divisors = s.op.attributes.get(key)
    if not isinstance(divisors, tuple) or not Expect.INTEGERS.accepts(divisors):
        raise Undetermined
    return tuple(x for x in divisors if isinstance(x, int))


def _gcd_rows(key: str, field: str) -> tuple[Row, ...]:
    def extents(s: Subject) -> tuple[Extent, ...]:
        sizes: tuple[Extent, ...] = getattr(_promised(s), field)
        return sizes

    def divides(s: Subject) -> bool:
        pairs = zip(_divisors(s, key), extents(s), strict=False)
        return all(d <= 0 or x is None or x % d == 0 for d, x in pairs)

    def place(s: Subject) -> Span | None:
        entry = s.op.attributes.entry(key)
        return entry.span if entry else None

    what = key.removesuffix("_gcd")
    return (
        Row(f"{key}_length", "", Holds(f"{key} has at most as many entries as there are modes",
            lambda s: len(_divisors(s, key)) <= _promised(s).order,
            lambda s: f"{plural(len(_divisors(s, key)), 'entry', 'entries')}, {plural(_promised(s).order, 'mode')}"),
            f"{key} has no more entries than the memref has modes", GCD, at=place),
        Row(f"{key}_positive", "", Holds(f"each entry of {key} ≥ 1", lambda s: all(d > 0 for d in _divisors(s, key)),
            lambda s: f"it is {show(_divisors(s, key)).replace('x', ', ')}"),
            f"the entries of {key} are positive", GCD, at=place),
        Row(f"{key}_divides", "", Holds(f"each entry of {key} divides a static {what}", divides,
            lambda s: f"the {what} is {show(extents(s)).replace('x', ', ')}"),
            f"the entries of {key} divide what is static", GCD, at=place),
    )  # fmt: skip


TILE.rules(
    "parameter",
    Row("type", "", Holds("a parameter is bool, a number, a memref or a group",
        lambda s: not isinstance(s.op.type, CoopMatrix), lambda s: f"%{s.op.name} has type {s.op.type}"),
        "a parameter is not a cooperative matrix", '003 "Functions" Restrictions',
        "pass a memref and load the matrix from it"),
    Row("space", "", Holds("the address space is global",
        lambda s: (m := _memory_type(s.op)) is None or m.space.value == "global",
        lambda s: f"%{s.op.name} has type {s.op.type}"),
        "a parameter is in global memory", FUNCTIONS, "memory in local space comes from `alloca`"),
    attributes_row("attributes", _PROMISES, PARAMETERS),
    Row("promises", "", Holds("only memrefs and groups have attributes", _only_memory,
        lambda s: f"%{s.op.name} has type {s.op.type}"),
        "only a memref or a group has attributes", PARAMETERS),
    Row("alignment", "", Holds("alignment is a positive multiple of the element size", _alignment_fits,
        lambda s: f"alignment is {s.op.attributes.get('alignment')}, an element has {_promised(s).element.size} bytes"),
        "the alignment is a positive multiple of the element size", ALIGNMENT,
        at=lambda s: s.op.attributes.entry("alignment").span),
    *_gcd_rows("shape_gcd", "shape"),
    *_gcd_rows("stride_gcd", "strides"),
)  # fmt: skip

# --- types -----------------------------------------------------------------------------------


def _memref_of(s: Subject) -> MemRef:
    type_ = s.op.memref if isinstance(s.op, GroupType) else s.op
    if not isinstance(type_, MemRef):
        raise Undetermined
    return type_


def _strides(s: Subject) -> MemRef:
    type_ = _memref_of(s)
    if len(type_.strides) != type_.order:
        raise Undetermined
    return type_


def _positive_strides(s: Subject) -> bool:
    type_ = _strides(s)
    if type_.strides == packed_strides(type_.shape):
        return True
    return all(x is None or x >= 1 for x in type_.strides)


def _ordered(s: Subject) -> bool:
    type_ = _strides(s)
    return type_.strides == packed_strides(type_.shape) or _grow(type_.shape, type_.strides)


def _grow(shape: Sequence[Extent], strides: Sequence[Extent]) -> bool:
    """Whether some numbers in place of each `?` make every stride at least the previous one times its size."""
    least = 1
    for size, below, above in zip(shape, strides, strides[1:], strict=False):
        # A size known only at run time may be 0, and a stride is at least 1.
        least = 1 if size is None else max(1, (least if below is None else below) * size)
        if above is not None and 1 <= above < least:
            return False
    return True


def _transposed(s: Subject) -> str:
    """The hint for strides that decrease, which are often meant for an array in C order."""
    type_ = _strides(s)
    shape, strides = type_.shape[::-1], type_.strides[::-1]
    if type_.space is AddressSpace.LOCAL or not _grow(shape, strides):
        return "each stride is at least the stride before it times the size of that mode"
    turned = MemRef(type_.element, shape, strides, type_.space)
    passed = 'passed as its transpose, A.T, or to a function with order="C" as it is'
    return f"an array A in C order is {passed}: swap the modes, {turned}"


def _group(s: Subject) -> GroupType:
    if not isinstance(s.op, GroupType):
        raise Undetermined
    return s.op


def _matrix(s: Subject) -> CoopMatrix:
    if not isinstance(s.op, CoopMatrix):
        raise Undetermined
    return s.op


def _components(s: Subject) -> int:
    """The number of components of a matrix; undetermined where another rule refuses its shape."""
    rows, columns = _matrix(s).shape
    if rows < 1 or columns < 1:
        raise Undetermined
    return rows * columns


def _accumulates(s: Subject) -> bool:
    return _matrix(s).use is not Use.ACC or _matrix(s).component not in EIGHT_BIT_FLOATS


def _accumulator_hint(s: Subject) -> str:
    matrix = _matrix(s)
    sums = replace(matrix, component=F32)
    return f"accumulate in {sums}, and `cast` it to {replace(matrix, use=Use.A)} where it is stored"


TILE.rules(
    "type",
    Row("shape", "", Holds("no mode has a negative size",
        lambda s: all(n is None or n >= 0 for n in _memref_of(s).shape), lambda s: f"the type is {s.op}"),
        "a mode has a size that is not negative", MEMREF),
    Row("stride_count", "", Holds("there is one stride for each mode",
        lambda s: len(_memref_of(s).strides) == _memref_of(s).order,
        lambda s: f"{plural(len(_memref_of(s).strides), 'stride')}, {plural(_memref_of(s).order, 'mode')}"),
        "there is one stride for each mode", STRIDED),
    Row("stride_positive", "", Holds("each stride ≥ 1",
        _positive_strides, lambda s: f"the type is {s.op}"),
        "strides are positive", STRIDED),
    Row("stride_order", "", Holds("stride[k - 1] * size[k - 1] ≤ stride[k]", _ordered,
        lambda s: f"the type is {s.op}"),
        "strides grow with the mode: the first mode is the innermost one", STRIDED,
        _transposed),
    Row("group_size", "", Holds("group size ≥ 0", lambda s: (n := _group(s).size) is None or n >= 0,
        lambda s: f"the size is {_group(s).size}"),
        "a group has a size that is not negative", GROUP),
    Row("group_offset", "", Holds("group offset ≥ 0", lambda s: (n := _group(s).offset) is None or n >= 0,
        lambda s: f"the offset is {_group(s).offset}"),
        "the offset of a group is not negative", GROUP),
    Row("matrix_shape", "", Holds("rows ≥ 1 and columns ≥ 1",
        lambda s: _matrix(s).rows >= 1 and _matrix(s).columns >= 1, lambda s: f"the type is {s.op}"),
        "a cooperative matrix has at least one row and one column", COOPMATRIX),
    Row("f8", "", Holds("use(matrix) is matrix_a or matrix_b, or its components are neither f8e4m3 nor f8e5m2",
        _accumulates, lambda s: f"the type is {s.op}"),
        "an accumulator does not have components of f8e4m3 or f8e5m2, which nothing is added up in", STORED,
        _accumulator_hint),
    Row("matrix_size", "", WithinLimit(
        computed("rows * columns", _components), limit("matrix_components"),
        lambda s, size, most: f"the type is {s.op}, which has {size} components, more than {most}"),
        "a cooperative matrix has no more components than the target allows", COOPMATRIX,
        "take a smaller matrix, and go through the larger one in a loop", needs="matrix_components"),
)  # fmt: skip
