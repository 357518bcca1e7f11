"""Loads and stores of cooperative matrices through tensor layouts and views (001, SPV_NV_cooperative_matrix2)."""

from __future__ import annotations

import math

from girih.diagnostics import plural
from girih.rules.row import Undetermined
from girih.spirv.model.facts import Facts
from girih.spirv.model.matrices.pointers import misalignment
from girih.spirv.model.matrices.tensors import Sizes, layout_state, view_state
from girih.spirv.rules.matrices.access import IN_MATRIX_MEMORY, INTO_ARRAY, STORAGE_VUID, matrix_operand, pointer_row
from girih.spirv.rules.matrices.functions import function_row, reach_rows
from girih.spirv.rules.matrices.terms import (
    DECODE_VECTOR,
    NEWER,
    function_type,
    is_matrix,
    known,
    matrix_named,
    parameter,
    returns_component,
    type_named,
    with_article,
)  # fmt: skip
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Equal, Finds, Predicate, Subject, Term, present, satisfies, words_of
from girih.spirv.types import Array, Int, Pointer, TensorLayout, TensorView, Vector

LOAD, STORE = "OpCooperativeMatrixLoadTensorNV", "OpCooperativeMatrixStoreTensorNV"
BASE_ALIGNMENT = 16
"""The bytes to which the base of a tensor is aligned (001 Issues (1))."""
VECTOR_LENGTHS = (2, 4, 8)
"""The components that a decode-vector function may return (SPV_NV_cooperative_matrix_decode_vector)."""

NO_NUMBERS = "spirv-val does not follow layouts and views to their numbers"


# Operands


def _typed(name: str, words: str, wanted: type[TensorLayout] | type[TensorView]) -> Predicate:
    return satisfies(
        Term(f"the type of {words_of(name)}", lambda s: type_named(s, name)), f"is a {words}",
        lambda type: isinstance(type, wanted),
    )  # fmt: skip


def _misaligned(subject: Subject[Facts]) -> str | None:
    beyond = misalignment(subject.facts, present(subject, "pointer"), BASE_ALIGNMENT)
    return f"{beyond} bytes after a multiple of {BASE_ALIGNMENT}" if beyond else None


def _view_of_other_dimensions(subject: Subject[Facts]) -> str | None:
    layout, view = type_named(subject, "tensor_layout"), type_named(subject, "TensorView")
    if not isinstance(layout, TensorLayout) or not isinstance(view, TensorView) or view.has_dimensions is not False:
        raise Undetermined
    given, wanted = known(view.dim), known(layout.dim)
    return None if given == wanted else f"a view of {plural(given, 'dimension')} without its own, a layout of {wanted}"


def _own_dimensions(subject: Subject[Facts]) -> bool:
    """Whether an access has a view that brings its own dimensions."""
    if subject.op.get("TensorView") is None:
        return False
    view = type_named(subject, "TensorView")
    if not isinstance(view, TensorView) or view.has_dimensions is None:
        raise Undetermined
    return view.has_dimensions


# Numbers


def _no_dimensions(subject: Subject[Facts]) -> str | None:
    state = layout_state(subject.facts, present(subject, "tensor_layout"))
    return "a layout whose dimensions are not set, and 0" if state.has_dimensions is False else None


def _no_view_dimensions(subject: Subject[Facts]) -> str | None:
    if not _own_dimensions(subject):
        return None
    sizes = view_state(subject.facts, present(subject, "TensorView")).dimension
    return "a view whose dimensions are not set, and 0" if 0 in sizes else None


def _blocks_in_store(subject: Subject[Facts]) -> str | None:
    sizes = layout_state(subject.facts, present(subject, "tensor_layout")).block_size
    found = next((position for position, size in enumerate(sizes) if size is not None and size > 1), None)
    return None if found is None else f"block size {found} is {sizes[found]}"


def _elements(subject: Subject[Facts]) -> int:
    """The elements of the matrix that an access touches: all, or those in the view's clip region."""
    matrix = matrix_named(subject, matrix_operand(subject))
    rows, columns = known(matrix.rows), known(matrix.columns)
    if subject.op.get("TensorView") is None:
        return rows * columns
    clip = view_state(subject.facts, present(subject, "TensorView")).clip
    row_offset, row_span, column_offset, column_span = (known(value) for value in clip)
    kept = max(min(row_span, rows - row_offset), 0)
    return kept * min(columns, column_span) if column_offset < columns else 0


def _product(sizes: Sizes) -> int:
    return math.prod(known(size) for size in sizes)


def _too_many_elements(subject: Subject[Facts]) -> str | None:
    elements = _elements(subject)
    span = _product(layout_state(subject.facts, present(subject, "tensor_layout")).span)
    if _own_dimensions(subject):
        span = min(span, _product(view_state(subject.facts, present(subject, "TensorView")).dimension))
    return f"{elements} elements of the matrix, {span} of the region" if elements > span > 0 else None


def _zero_stride(subject: Subject[Facts]) -> str | None:
    state = layout_state(subject.facts, present(subject, "tensor_layout"))
    for position, (stride, span) in enumerate(zip(state.stride, state.span, strict=True)):
        if stride == 0 and span is not None and span > 1:
            return f"stride {position} is 0"
    return None


def _implied_stride(subject: Subject[Facts]) -> str | None:
    """The first dimension whose last block is not full and counts for a stride that was not set."""
    state = layout_state(subject.facts, present(subject, "tensor_layout"))
    if state.has_strides is not False:
        return None
    for position in range(1, len(state.dimension)):
        size, block = state.dimension[position], state.block_size[position]
        if size is not None and block and size % block:
            return f"dimension {position} is {size}, in blocks of {block}"
    return None


# Decode functions


def _parameter_count(name: str) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        count = len(function_type(subject, name).parameters)
        return None if count == 3 else f"a function of {plural(count, 'parameter')}"

    return Finds(f"{name} has three parameters", find)


def _first_parameter(name: str) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        found = parameter(subject, name, 0)
        physical = isinstance(found, Pointer) and found.storage_class == "PhysicalStorageBuffer"
        return None if physical else f"{with_article(found.words)}"

    return Finds(f"the first parameter of {name} is a pointer in PhysicalStorageBuffer", find)


def _coordinates(name: str) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        for position in (1, 2):
            found = parameter(subject, name, position)
            if not isinstance(found, Array):
                return f"parameter {position + 1} is {with_article(found.words)}"
            element = found.element
            if not isinstance(element, Int) or element.width != 32 or element.signed:
                return f"parameter {position + 1} is {with_article(found.words)}"
        return None

    return Finds(f"parameters 2 and 3 of {name} are arrays of 32-bit unsigned integers", find)


def _coordinate_count(name: str) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        layout = type_named(subject, "tensor_layout")
        if not isinstance(layout, TensorLayout):
            raise Undetermined
        for position in (1, 2):
            found = parameter(subject, name, position)
            if not isinstance(found, Array):
                continue
            given, wanted = known(found.length), known(layout.dim)
            if given != wanted:
                coordinates, dimensions = plural(given, "coordinate"), plural(wanted, "dimension")
                return f"parameter {position + 1} has {coordinates}, the layout {dimensions}"
        return None

    return Finds(f"coordinates of {name} = dimensions of the layout", find)


def _decode_rows(name: str, prefix: str, source: str, newer: str | None) -> tuple[SpirvRow, ...]:
    """The rows that both kinds of decode functions have; `newer` says why spirv-val may know none of them."""
    return (
        rule(
            f"{prefix}parameters", name, _parameter_count(name),
            "a function of three parameters: the block, its coordinates, those inside it", source,
            beyond=newer or "spirv-val does not count the parameters",
        ),
        rule(
            f"{prefix}pointer", name, _first_parameter(name),
            "a pointer in PhysicalStorageBuffer as first parameter", source, beyond=newer,
        ),
        rule(
            f"{prefix}coordinates", name, _coordinates(name),
            "arrays of 32-bit unsigned integers as second and third parameter", source,
            beyond=newer or "spirv-val asks for arrays and does not look at their elements",
        ),
        rule(
            f"{prefix}shape", name, _coordinate_count(name),
            "as many coordinates as the layout has dimensions", source, beyond=newer,
        ),
        *reach_rows(name, prefix),
    )  # fmt: skip


def _returned(subject: Subject[Facts]) -> Vector:
    found = function_type(subject, "DecodeVectorFunc").returned
    if not isinstance(found, Vector):
        raise Undetermined
    return found


def _other_vector(subject: Subject[Facts]) -> str | None:
    found = function_type(subject, "DecodeVectorFunc").returned
    wanted = matrix_named(subject, "result").component
    if isinstance(found, Vector) and found.component is wanted:
        return None
    return f"{with_article(found.words)}; the components are {wanted.words}s"


def _vector_alone(subject: Subject[Facts]) -> str | None:
    given, scalar = subject.op.get("DecodeVectorFunc"), subject.op.get("DecodeFunc")
    return "DecodeVectorFunc alone" if given is not None and scalar is None else None


def _vector_length(subject: Subject[Facts]) -> str | None:
    count = known(_returned(subject).count)
    return None if count in VECTOR_LENGTHS else plural(count, "component")


def _vector_over_block(subject: Subject[Facts]) -> str | None:
    count = known(_returned(subject).count)
    innermost = known(layout_state(subject.facts, present(subject, "tensor_layout")).block_size[-1])
    return f"{count} components for blocks of {innermost}" if innermost % count else None


def _decodes(subject: Subject[Facts]) -> bool:
    return subject.op.get("DecodeFunc") is not None or subject.op.get("DecodeVectorFunc") is not None


def _not_a_buffer(subject: Subject[Facts]) -> str | None:
    pointer = type_named(subject, "pointer")
    if not _decodes(subject) or not isinstance(pointer, Pointer):
        return None
    return None if pointer.storage_class in ("StorageBuffer", "PhysicalStorageBuffer") else with_article(pointer.words)


def _decoding_store(subject: Subject[Facts]) -> str | None:
    return "a decode function" if _decodes(subject) else None


LOAD_SOURCE, STORE_SOURCE, DECODE = "001 coopMatLoadTensorNV", "001 coopMatStoreTensorNV", "001 decodeFunc"

_SHARED = (
    pointer_row(untyped=False),
    rule(
        "storage_class", "pointer", IN_MATRIX_MEMORY,
        "a pointer in Workgroup, StorageBuffer or PhysicalStorageBuffer", STORAGE_VUID,
    ),
    INTO_ARRAY,
    rule(
        "tensor_layout", "tensor_layout", _typed("tensor_layout", "tensor layout", TensorLayout),
        "a tensor layout", LOAD_SOURCE,
    ),
    rule("tensor_view", "TensorView", _typed("TensorView", "tensor view", TensorView), "a tensor view", LOAD_SOURCE),
    rule(
        "base_alignment", "pointer", Finds("Pointer is a multiple of 16 bytes", _misaligned),
        "a base that is aligned to 16 bytes", "001 Issues (1)",
        beyond="spirv-val does not look at the address",
    ),
    rule(
        "view_dimensions", "TensorView",
        Finds("a view without dimensions has those of the layout", _view_of_other_dimensions),
        "a view of the layout's dimensions, or one that has its own", "001 linearToViewCoord",
        beyond="spirv-val does not compare the types of layout and view",
    ),
    rule(
        "unset", "tensor_layout", Finds("dimensions of the layout have been set", _no_dimensions),
        "a layout whose dimensions have been set: coordinates are divided by them", "001 linearToSpanCoord",
        severity="warning",
    ),
    rule(
        "view_unset", "TensorView",
        Finds("dimensions of a view that has its own have been set", _no_view_dimensions),
        "a view whose own dimensions have been set: coordinates are divided by them", "001 linearToViewCoord",
        severity="warning",
    ),
    rule(
        "implied_strides", "tensor_layout",
        Finds("where strides are implied, dimensions are multiples of block sizes", _implied_stride),
        "strides that are set where the last block is not full: some drivers imply other ones",
        "000 OpTensorLayoutSetDimensionNV", severity="warning",
        hint="set them with setTensorLayoutStrideNV, rounding the number of blocks up",
    ),
)  # fmt: skip
"""The rows that loads and stores share."""

FAMILIES = (
    family(
        LOAD,
        rule("result", "result_type", is_matrix("result"), "a cooperative matrix as result", LOAD_SOURCE),
        rule(
            "object", "object result_type",
            Equal(Term("the type of Object", lambda s: type_named(s, "object")),
                  Term("Result Type", lambda s: type_named(s, "result"))),
            "an object of the result's type", LOAD_SOURCE,
        ),
        *_SHARED,
        function_row("DecodeFunc", "decode_", DECODE),
        rule(
            "decode_storage", "pointer", Finds("with DecodeFunc, Pointer is in a buffer", _not_a_buffer),
            "a pointer in StorageBuffer or PhysicalStorageBuffer for a decode function", DECODE,
            beyond="spirv-val does not tie the storage class to the decode function",
        ),
        rule(
            "decode_result", "DecodeFunc", returns_component("DecodeFunc", "result"),
            "a function that returns the component type", DECODE,
        ),
        *_decode_rows("DecodeFunc", "decode_", DECODE, None),
        rule(
            "vector_alone", "DecodeVectorFunc", Finds("DecodeVectorFunc beside DecodeFunc", _vector_alone),
            "DecodeFunc besides: the implementation may call either", DECODE_VECTOR, beyond=NEWER,
        ),
        function_row("DecodeVectorFunc", "vector_", DECODE_VECTOR, NEWER),
        rule(
            "vector_result", "DecodeVectorFunc",
            Finds("DecodeVectorFunc returns a vector of components", _other_vector),
            "a function that returns a vector of the component type", DECODE_VECTOR, beyond=NEWER,
        ),
        rule(
            "vector_length", "DecodeVectorFunc", Finds("2, 4 or 8 components", _vector_length),
            "a function that returns 2, 4 or 8 components", DECODE_VECTOR, beyond=NEWER,
        ),
        *_decode_rows("DecodeVectorFunc", "vector_", DECODE_VECTOR, NEWER),
        rule(
            "vector_block", "DecodeVectorFunc", Finds("innermost block size mod components = 0", _vector_over_block),
            "an innermost block size that is a multiple of the components that are decoded at once", DECODE_VECTOR,
            severity="warning",
        ),
        rule(
            "repeats", "tensor_layout", Finds("elements ≤ elements of the region", _too_many_elements),
            "a matrix that fits the region: what lies past it is read from its beginning, or differently",
            "001 linearToSpanCoord", severity="warning",
        ),
    ),
    family(
        STORE,
        rule("object", "object", is_matrix("object"), "a cooperative matrix as object", STORE_SOURCE),
        *_SHARED,
        rule(
            "decode", "DecodeFunc DecodeVectorFunc", Finds("no DecodeFunc, no DecodeVectorFunc", _decoding_store),
            "no decode function: only loads decode", STORE_SOURCE,
        ),
        rule(
            "blocks", "tensor_layout", Finds("block sizes = 1", _blocks_in_store),
            "blocks of one element: all elements of a larger one would be stored to the same place",
            "SPV_NV_cooperative_matrix2 3.X", beyond=NO_NUMBERS,
        ),
        rule(
            "repeats", "tensor_layout", Finds("elements ≤ elements of the region", _too_many_elements),
            "a matrix that fits the region: what lies past it is stored over its beginning",
            "001 linearToSpanCoord", severity="warning",
        ),
        rule(
            "overlap", "tensor_layout", Finds("strides > 0", _zero_stride),
            "strides that keep elements apart: some are stored to the same place", "001 tensorCoordToLinear",
            severity="warning",
        ),
    ),
)  # fmt: skip
