"""Rules about tensors of Arm: their types, constants, and access to their elements (SPV_ARM_tensors)."""

from __future__ import annotations

from typing import NamedTuple

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Faultless,
    Finds,
    Predicate,
    Subject,
    Undetermined,
    instruction_of,
    is_integer,
    is_scalar,
    names_type,
    present,
    satisfies,
    words_of,
)
from girih.spirv.types import Array, Int, Opaque, Type
from girih.spirv.values import ALL_CONSTANTS

ARM = "SPV_ARM_tensors"
READ, WRITE = "OpTensorReadARM", "OpTensorWriteARM"


class TensorParts(NamedTuple):
    """The parts of a tensor's type: rank and sizes are None where they are absent, not known, or rest on defaults."""

    element: Type
    is_ranked: bool
    rank: int | None
    shape: tuple[int | None, ...] | None


def is_tensor(type: Type) -> bool:
    """Whether a type is an OpTypeTensorARM."""
    return isinstance(type, Opaque) and type.name == "OpTypeTensorARM"


def tensor_parts(facts: Facts, type: Type) -> TensorParts:
    """The parts of a tensor's type. Raises `Undetermined` for what is no tensor."""
    if not isinstance(type, Opaque) or not is_tensor(type):
        raise Undetermined
    one = type.instruction
    rank, shape = one.id("rank"), one.id("shape")
    sizes = facts.declarations.values.get(shape)
    fixed = isinstance(sizes, tuple) and not facts.rests_on_default(shape)
    return TensorParts(
        facts.type(one.id("element_type")), bool(rank), _number(facts, rank),
        tuple(_integer(size) for size in sizes) if isinstance(sizes, tuple) and fixed else None,
    )  # fmt: skip


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(facts: Facts, id: int) -> int | None:
    """The value of an integer constant; None where it is not known, or rests on a default."""
    return None if facts.rests_on_default(id) else _integer(facts.declarations.values.get(id))


def _tensor(subject: Subject[Facts]) -> TensorParts:
    return tensor_parts(subject.facts, subject.facts.type_of(present(subject, "tensor")))


# Types


def _no_constant(name: str) -> Predicate:
    """The predicate that an optional operand is a constant."""

    def find(subject: Subject[Facts]) -> str | None:
        made = subject.facts.defined_by(subject.op.id(name))
        return None if not made or made in ALL_CONSTANTS else f"{words_of(name)} is the result of {made}"

    return Finds(f"{words_of(name)} is a constant", find)


def _rank_of_type(subject: Subject[Facts]) -> str | None:
    facts, rank = subject.facts, present(subject, "rank")
    type = facts.type_of(rank)
    if not isinstance(type, Int):
        return type.words
    return "0" if _number(facts, rank) == 0 else None


def _not_indices(facts: Facts, type: Type, rank: int | None) -> str | None:
    """What is wrong with the type of coordinates or of a shape: an array of as many integers as the rank."""
    if not isinstance(type, Array) or not isinstance(type.element, Int):
        return type.words
    if rank is None or type.length is None or facts.rests_on_default(type.length_id) or type.length == rank:
        return None
    return f"{type.words}, rank {rank}"


def _shape_type(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    type = facts.type_of(present(subject, "shape"))
    return _not_indices(facts, type, _number(facts, present(subject, "rank")))


def _no_size(subject: Subject[Facts]) -> str | None:
    shape = present(subject, "shape")
    sizes = subject.facts.value(shape)
    if not isinstance(sizes, tuple) or 0 not in sizes or subject.facts.rests_on_default(shape):
        return None
    return f"size {sizes.index(0)} is 0"


# Constants


def _other_count(subject: Subject[Facts]) -> str | None:
    parts = tensor_parts(subject.facts, RESULT_TYPE.value(subject))
    count = len(subject.op.ids("constituents"))
    wanted = parts.shape[0] if parts.shape else None
    return None if wanted is None or wanted == count else f"{count}, the outermost size is {wanted}"


def _other_constituent(subject: Subject[Facts]) -> Fault | None:
    facts = subject.facts
    whole = tensor_parts(facts, RESULT_TYPE.value(subject))
    for operand in (one for one in instruction_of(subject).operands if one.name == "constituents"):
        if isinstance(operand.value, int):
            type = facts.type_of(operand.value)
            came = _not_part(facts, whole, type)
            if came is not None:
                return Fault(f"{facts.called(operand.value)} is {came}", (operand,))
    return None


def _not_part(facts: Facts, whole: TensorParts, type: Type) -> str | None:
    """What is wrong with the type of a constituent: an element, or a tensor of one dimension less."""
    if whole.rank is None:
        return None
    if whole.rank == 1:
        return None if type is whole.element else type.words
    if not is_tensor(type):
        return type.words
    part = tensor_parts(facts, type)
    if part.element is not whole.element:
        return f"a tensor of elements that are {part.element.words}s"
    if part.rank is not None and part.rank != whole.rank - 1:
        return f"a tensor of rank {part.rank}, in one of rank {whole.rank}"
    if part.shape is None or whole.shape is None:
        return None
    differs = any(None not in pair and pair[0] != pair[1] for pair in zip(part.shape, whole.shape[1:], strict=False))
    return f"a tensor of shape {_shown(part.shape)}, in one of shape {_shown(whole.shape)}" if differs else None


def _shown(shape: tuple[int | None, ...]) -> str:
    return "x".join("?" if size is None else str(size) for size in shape)


# Access


def _no_ranked_tensor(subject: Subject[Facts]) -> str | None:
    type = subject.facts.type_of(present(subject, "tensor"))
    if not is_tensor(type):
        return type.words
    return None if tensor_parts(subject.facts, type).is_ranked else "a tensor without a rank"


def _no_element(type: Type, tensor: TensorParts) -> str | None:
    """What is wrong with the type of what is read or written: an element, or an array of them."""
    part = type.element if isinstance(type, Array) else type
    if not is_scalar(part):
        return type.words
    return None if part is tensor.element else f"{type.words}; the elements are {tensor.element.words}s"


def _read_type(subject: Subject[Facts]) -> str | None:
    return _no_element(RESULT_TYPE.value(subject), _tensor(subject))


def _written_type(subject: Subject[Facts]) -> str | None:
    return _no_element(subject.facts.type_of(present(subject, "object")), _tensor(subject))


def _coordinates(subject: Subject[Facts]) -> str | None:
    return _not_indices(subject.facts, subject.facts.type_of(present(subject, "coordinates")), _tensor(subject).rank)


def _has(subject: Subject[Facts], name: str) -> bool:
    mask = instruction_of(subject).id("tensor_operands")
    return bool(mask & grammar().kinds["TensorOperands"].value(name))


def _not_allowed(*names: str) -> SpirvRow:
    def find(subject: Subject[Facts]) -> str | None:
        return next((name for name in names if _has(subject, name)), None)

    return rule("operands", "tensor_operands", Finds(f"no {' or '.join(names)}", find),
                f"operands without {' and '.join(names)}", ARM)  # fmt: skip


def _needs_non_private(name: str) -> SpirvRow:
    def find(subject: Subject[Facts]) -> str | None:
        return f"{name} alone" if _has(subject, name) and not _has(subject, "NonPrivateElementARM") else None

    return rule("non_private", "tensor_operands", Finds(f"with {name}: NonPrivateElementARM", find),
                f"NonPrivateElementARM beside {name}", ARM)  # fmt: skip


def _other_value(subject: Subject[Facts]) -> str | None:
    found = subject.facts.type_of(present(subject, "OutOfBoundsValueARM"))
    element = _tensor(subject).element
    return None if found is element else f"{found.words}; the elements are {element.words}s"


def _no_dimension(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, present(subject, "dimension")
    type, made = facts.type_of(id), facts.defined_by(id)
    if not isinstance(type, Int):
        return type.words
    return None if made in ALL_CONSTANTS else f"the result of {made}"


def _beyond_rank(subject: Subject[Facts]) -> str | None:
    dimension, rank = _number(subject.facts, present(subject, "dimension")), _tensor(subject).rank
    return None if dimension is None or rank is None or dimension < rank else f"{dimension}, the rank is {rank}"


ELEMENTS = "an element of the tensor, or an array of them"

FAMILIES = (
    family(
        "OpTypeTensorARM",
        rule("element", "element_type", names_type("element_type", "is a scalar", is_scalar),
             "a scalar type as element", ARM),
        rule("rank_constant", "rank", _no_constant("rank"), "a constant as rank", ARM),
        rule("rank", "rank", Finds("Rank is an integer above 0", _rank_of_type), "an integer above 0 as rank", ARM),
        rule("shape_constant", "shape", _no_constant("shape"), "a constant as shape", ARM),
        rule("shape", "shape rank", Finds("Shape is an array of as many integers as Rank says", _shape_type),
             "an array of as many integers as the rank says", ARM),
        rule("sizes", "shape", Finds("no size is 0", _no_size), "sizes above 0", ARM),
    ),
    family(
        "OpConstantComposite OpSpecConstantComposite",
        rule("tensor_count", "constituents", Finds("of a tensor: as many as its outermost size", _other_count),
             "as many constituents as the outermost size of the tensor", ARM),
        rule("tensor_parts", "constituents",
             Faultless("of a tensor: elements, or tensors of one dimension less", _other_constituent),
             "elements for a tensor of rank 1, else tensors of its inner shape", ARM),
    ),
    family(
        f"{READ} {WRITE} OpTensorQuerySizeARM",
        rule("tensor", "tensor", Finds("Tensor is a tensor with a rank", _no_ranked_tensor),
             "a tensor whose type has a rank", ARM),
    ),
    family(
        f"{READ} {WRITE}",
        rule("coordinates", "coordinates", Finds("an array of as many integers as the rank says", _coordinates),
             "an array of as many integers as the tensor has dimensions", ARM),
    ),
    family(
        READ,
        rule("result", "result_type", Finds(f"Result Type is that of {ELEMENTS}", _read_type),
             f"the type of {ELEMENTS} as result", ARM),
        _not_allowed("MakeElementAvailableARM"),
        _needs_non_private("MakeElementVisibleARM"),
        rule("outside", "OutOfBoundsValueARM", Finds("the value outside is an element", _other_value),
             "a value of the tensor's element type for what is out of bounds", ARM),
    ),
    family(
        WRITE,
        rule("object", "object", Finds(f"Object is {ELEMENTS}", _written_type), ELEMENTS, ARM),
        _not_allowed("OutOfBoundsValueARM", "MakeElementVisibleARM"),
        _needs_non_private("MakeElementAvailableARM"),
    ),
    family(
        "OpTensorQuerySizeARM",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is an integer", is_integer), "an integer as result", ARM),
        rule("dimension", "dimension", Finds("Dimension is a constant integer", _no_dimension),
             "a constant integer as dimension", ARM),
        rule("dimension_value", "dimension", Finds("Dimension < rank of Tensor", _beyond_rank),
             "a dimension that the tensor has: they count from 0", ARM),
    ),
)  # fmt: skip
