"""Tensor layouts and views: their types, and the instructions that make and change them (000).

Numbers are looked at where constants tell them, through whatever layouts and views an instruction starts from.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.diagnostics import plural
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.model.matrices.tensors import MOST_DIMENSIONS, blocks_of, layout_state, number, numbers
from girih.spirv.rules.matrices.terms import (
    SAW_THE_TYPE_ONLY,
    FindsAt,
    constant_int32,
    first_wrong,
    listed,
    not_int32,
    shown,
    with_article,
)  # fmt: skip
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    Predicate,
    Subject,
    Undetermined,
    instruction_of,
    present,
    satisfies,
    type_of,
)
from girih.spirv.types import Bool, TensorLayout, TensorView
from girih.spirv.values import CONSTANTS, SPEC_CONSTANTS

CLIP = ("clip_row_offset", "clip_row_span", "clip_col_offset", "clip_col_span")
MIRRORED = 4
"""TensorClampMode RepeatMirrored (000 3.X Tensor Clamp Mode)."""


# Types


def _all_int32(*names: str) -> Predicate:
    return FindsAt(f"{listed(names)}: of a 32-bit integer type", lambda s: first_wrong(s, names, not_int32))


def _in_range(name: str, least: int, most: int) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        id = present(subject, name)
        value = subject.facts.integer(id)
        return None if least <= value <= most else shown(subject.facts, id, value)

    return Finds(f"{least} ≤ {listed([name])} ≤ {most}", find)


def _not_bool(subject: Subject[Facts]) -> str | None:
    type = subject.facts.type_of(present(subject, "has_dimensions"))
    return None if isinstance(type, Bool) else f"{with_article(type.words)}"


def _not_constant_bool(subject: Subject[Facts]) -> str | None:
    made = subject.facts.definition(present(subject, "has_dimensions")).name
    return None if made in CONSTANTS or made in SPEC_CONSTANTS else f"the result of {made}"


def _dim(subject: Subject[Facts]) -> int:
    return subject.facts.integer(present(subject, "dim"))


def _entry_outside(subject: Subject[Facts]) -> Fault | None:
    count = len(subject.op.ids("p"))

    def outside(facts: Facts, id: int) -> str | None:
        value = facts.declarations.values.get(id)
        return shown(facts, id, value) if isinstance(value, int) and not 0 <= value < count else None

    return first_wrong(subject, ("p",), outside)


def _repeated(subject: Subject[Facts]) -> str | None:
    values = [subject.facts.integer(id) for id in subject.op.ids("p")]
    return None if len(set(values)) == len(values) else ", ".join(map(str, values))


def _entry_count(subject: Subject[Facts]) -> str | None:
    given = len(subject.op.ids("p"))
    return None if given == _dim(subject) else f"{given} for {plural(_dim(subject), 'dimension')}"


# Instructions


LAYOUTS = (
    "OpTensorLayoutSetBlockSizeNV OpTensorLayoutSetDimensionNV OpTensorLayoutSetStrideNV OpTensorLayoutSliceNV"
    " OpTensorLayoutSetClampValueNV"
)
VIEWS = "OpTensorViewSetDimensionNV OpTensorViewSetStrideNV OpTensorViewSetClipNV"
NUMBERS = {
    "OpTensorLayoutSetBlockSizeNV": ("block_size",),
    "OpTensorLayoutSetDimensionNV": ("dim",),
    "OpTensorLayoutSetStrideNV": ("stride",),
    "OpTensorLayoutSliceNV": ("operands",),
    "OpTensorLayoutSetClampValueNV": ("value",),
    "OpTensorViewSetDimensionNV": ("dim",),
    "OpTensorViewSetStrideNV": ("stride",),
    "OpTensorViewSetClipNV": CLIP,
}
"""The operands of instructions that are numbers."""
ANY_NUMBER = " ".join(dict.fromkeys(name for names in NUMBERS.values() for name in names))

DIVISORS: Mapping[str, tuple[str, slice]] = {
    "OpTensorLayoutSetBlockSizeNV": ("block size", slice(None)),
    "OpTensorLayoutSetDimensionNV": ("dimension", slice(None)),
    "OpTensorLayoutSliceNV": ("span", slice(1, None, 2)),
    "OpTensorViewSetDimensionNV": ("dimension", slice(None)),
}
"""Instructions whose numbers coordinates are divided by: what the numbers are, and which."""


def _numbers_of(subject: Subject[Facts]) -> tuple[str, ...]:
    return NUMBERS[subject.op.name]


def _wrong_count(subject: Subject[Facts]) -> str | None:
    """The number of operands, where it is not one for each dimension, or an offset and a span for each."""
    type = RESULT_TYPE.value(subject)
    if not isinstance(type, TensorLayout | TensorView) or type.dim is None:
        raise Undetermined
    given, each = len(subject.op.ids(_numbers_of(subject)[0])), 2 if subject.op.name == "OpTensorLayoutSliceNV" else 1
    return None if given == each * type.dim else f"{plural(given, 'operand')} for {plural(type.dim, 'dimension')}"


def _no_integer(subject: Subject[Facts]) -> Fault | None:
    return first_wrong(subject, _numbers_of(subject), not_int32)


def _zero(subject: Subject[Facts]) -> Fault | None:
    """The first number that is 0 and divides coordinates."""
    words, which = DIVISORS[subject.op.name]
    name = _numbers_of(subject)[0]
    operands = [operand for operand in instruction_of(subject).operands if operand.name == name]
    for position, operand in enumerate(operands[which]):
        if isinstance(operand.value, int) and number(subject.facts, operand.value) == 0:
            return Fault(f"{words} {position} is {shown(subject.facts, operand.value, 0)}", (operand,))
    return None


def _short_stride(subject: Subject[Facts]) -> Fault | None:
    """The first stride by which parts of a dimension overlap the next inner one."""
    base = layout_state(subject.facts, present(subject, "tensor_layout"))
    strides = numbers(subject.facts, subject.op.ids("stride"))
    if len(strides) != len(base.dimension):
        raise Undetermined
    for outer in range(len(strides) - 1):
        inner = outer + 1
        blocks = blocks_of(base.dimension[inner], base.block_size[inner])
        given, next_stride = strides[outer], strides[inner]
        if blocks is None or given is None or next_stride is None or given >= next_stride * blocks:
            continue
        needed = f"stride {inner} times the blocks of dimension {inner} is {next_stride * blocks}"
        operand = instruction_of(subject).operand("stride", outer)
        return Fault(f"stride {outer} is {given}; {needed}", (operand,) if operand else ())
    return None


def _inner_stride(subject: Subject[Facts]) -> str | None:
    ids = subject.op.ids("stride")
    innermost = number(subject.facts, ids[-1]) if ids else None
    return None if innermost in (1, None) else f"{innermost}"


def _late_block_size(subject: Subject[Facts]) -> str | None:
    base = layout_state(subject.facts, present(subject, "tensor_layout"))
    return "a layout with dimensions, which keeps its strides" if base.has_dimensions else None


def _reset(subject: Subject[Facts]) -> str | None:
    base = layout_state(subject.facts, present(subject, "tensor_layout"))
    if base.has_strides:
        return "a layout with strides, which are replaced"
    if base.span != base.dimension or any(base.offset):
        return "a slice, whose offsets and spans are replaced"
    return None


def _mirror_of_one(subject: Subject[Facts]) -> str | None:
    type = RESULT_TYPE.value(subject)
    if not isinstance(type, TensorLayout) or type.clamp_mode != MIRRORED:
        return None
    sizes = numbers(subject.facts, subject.op.ids("dim"))
    return f"dimension {sizes.index(1)} is 1" if 1 in sizes else None


def _huge(subject: Subject[Facts]) -> str | None:
    sizes = numbers(subject.facts, subject.op.ids("dim"))
    found = next((size for size in sizes if size is not None and size >> 31), None)
    return None if found is None else str(found)


def _clip_overflow(subject: Subject[Facts]) -> str | None:
    values = numbers(subject.facts, (subject.op.id(name) for name in CLIP))
    for words, (offset, span) in (("row", values[:2]), ("column", values[2:])):
        if offset is not None and span is not None and offset + span > 0xFFFFFFFF and offset:
            return f"{words} offset {offset} and span {span}"
    return None


TYPES = "000 OpTypeTensorLayoutNV"
INSTRUCTIONS = "000 3.X Tensor Layout and View Instructions"
SET_DIMENSION, SET_STRIDE = "000 OpTensorLayoutSetDimensionNV", "000 OpTensorLayoutSetStrideNV"
VIEW_TYPE = "000 OpTypeTensorViewNV"

FAMILIES = (
    family(
        "OpTypeTensorLayoutNV OpTypeTensorViewNV",
        rule("dim_type", "dim", _all_int32("dim"), "a 32-bit integer as number of dimensions", TYPES),
        rule(
            "dim", "dim", constant_int32("dim"), "a constant instruction as number of dimensions", TYPES,
            beyond=SAW_THE_TYPE_ONLY,
        ),
        rule("dim_value", "dim", _in_range("dim", 1, MOST_DIMENSIONS), f"1 to {MOST_DIMENSIONS} dimensions", TYPES),
    ),
    family(
        "OpTypeTensorLayoutNV",
        rule("clamp_mode_type", "clamp_mode", _all_int32("clamp_mode"), "a 32-bit integer as clamp mode", TYPES),
        rule(
            "clamp_mode", "clamp_mode", constant_int32("clamp_mode"), "a constant instruction as clamp mode", TYPES,
            beyond=SAW_THE_TYPE_ONLY,
        ),
        rule(
            "clamp_mode_value", "clamp_mode", _in_range("clamp_mode", 0, MIRRORED),
            "a clamp mode: Undefined (0), Constant, ClampToEdge, Repeat or RepeatMirrored (4)", TYPES,
        ),
    ),
    family(
        "OpTypeTensorViewNV",
        rule(
            "has_dimensions_type", "has_dimensions", Finds("Has Dimensions is a boolean", _not_bool),
            "a boolean: whether the view has dimensions of its own", VIEW_TYPE,
        ),
        rule(
            "has_dimensions", "has_dimensions", Finds("Has Dimensions is constant", _not_constant_bool),
            "a constant instruction: whether the view has dimensions of its own", VIEW_TYPE, beyond=SAW_THE_TYPE_ONLY,
        ),
        rule("permutation_type", "p", _all_int32("p"), "32-bit integers as permutation", VIEW_TYPE),
        rule(
            "permutation", "p", constant_int32("p"), "constant instructions as permutation", VIEW_TYPE,
            beyond=SAW_THE_TYPE_ONLY,
        ),
        rule(
            "permutation_range", "p", FindsAt("0 ≤ each of P < Dim", _entry_outside),
            "dimensions of the view as permutation", VIEW_TYPE,
        ),
        rule(
            "permutation_repeats", "p", Finds("P has each dimension once", _repeated),
            "a permutation: each dimension once", VIEW_TYPE,
        ),
        rule(
            "permutation_count", "p dim", Finds("number of P = Dim", _entry_count),
            "an entry of the permutation for each dimension", VIEW_TYPE,
        ),
    ),
    family(
        f"OpCreateTensorLayoutNV {LAYOUTS}",
        rule(
            "result", "result_type",
            satisfies(RESULT_TYPE, "is a tensor layout", lambda type: isinstance(type, TensorLayout)),
            "a tensor layout as result", INSTRUCTIONS,
        ),
    ),
    family(
        f"OpCreateTensorViewNV {VIEWS}",
        rule(
            "result", "result_type",
            satisfies(RESULT_TYPE, "is a tensor view", lambda type: isinstance(type, TensorView)),
            "a tensor view as result", INSTRUCTIONS,
        ),
    ),
    family(
        LAYOUTS,
        rule(
            "base", "tensor_layout", Equal(type_of("tensor_layout"), RESULT_TYPE), "a layout of the result's type",
            INSTRUCTIONS,
        ),
    ),
    family(
        VIEWS,
        rule(
            "base", "tensor_view", Equal(type_of("tensor_view"), RESULT_TYPE), "a view of the result's type",
            INSTRUCTIONS,
        ),
    ),
    family(
        "OpTensorLayoutSetBlockSizeNV OpTensorLayoutSetDimensionNV OpTensorLayoutSetStrideNV OpTensorLayoutSliceNV"
        " OpTensorViewSetDimensionNV OpTensorViewSetStrideNV",
        rule(
            "count", ANY_NUMBER, Finds("number of operands = Dim (a slice: 2 · Dim)", _wrong_count),
            "an operand for each dimension, in a slice an offset and a span", INSTRUCTIONS,
        ),
    ),
    family(
        f"{LAYOUTS} {VIEWS}",
        rule(
            "numbers", ANY_NUMBER, FindsAt("numbers are 32-bit integers", _no_integer), "32-bit integers", INSTRUCTIONS,
        ),
    ),
    family(
        " ".join(DIVISORS),
        rule(
            "positive", ANY_NUMBER, FindsAt("block sizes, dimensions, spans > 0", _zero),
            "a number of at least 1: coordinates are divided by it",
            "001 linearToSpanCoord, spanCoordToTensorCoord, linearToViewCoord",
            beyond="spirv-val does not look at the numbers",
        ),
    ),
    family(
        "OpTensorLayoutSetBlockSizeNV",
        rule(
            "late", "tensor_layout", Finds("the layout has no dimensions yet", _late_block_size),
            "the block size before the dimensions, since it counts for the strides that these imply",
            "001 setTensorLayoutBlockSizeNV", severity="warning",
        ),
    ),
    family(
        "OpTensorLayoutSetDimensionNV",
        rule(
            "mirror", "dim", Finds("with RepeatMirrored, each dimension > 1", _mirror_of_one),
            "dimensions of at least 2 where coordinates are mirrored: those of 1 are divided by 0",
            "000 3.X Tensor Clamp Mode", severity="warning",
        ),
        rule(
            "signed", "dim", Finds("each dimension < 2^31", _huge),
            "dimensions below 2^31, since coordinates are signed", "001 spanCoordToTensorCoord", severity="warning",
        ),
        rule(
            "resets", "tensor_layout", Finds("the layout has neither strides nor a slice", _reset),
            "the dimensions before strides and slices, which they replace", SET_DIMENSION, severity="warning",
        ),
    ),
    family(
        "OpTensorLayoutSetStrideNV",
        rule(
            "overlap", "stride", FindsAt("Stride i ≥ Stride i+1 · ⌈dimension i+1 / block size i+1⌉", _short_stride),
            "strides of at least the next inner one times the blocks of its dimension", SET_STRIDE,
            beyond="spirv-val does not follow layouts to their dimensions",
        ),
        rule(
            "innermost", "stride", Finds("the innermost stride is 1", _inner_stride),
            "1 as innermost stride: with another one an NVIDIA driver has given wrong data", SET_STRIDE,
            severity="warning",
        ),
    ),
    family(
        "OpTensorViewSetClipNV",
        rule(
            "overflow", " ".join(CLIP), Finds("offset + span < 2^32", _clip_overflow),
            "an offset and a span whose sum fits 32 bits: implementations may wrap and clip everything",
            "001 matrixCoordToLinear", severity="warning",
        ),
    ),
)  # fmt: skip
