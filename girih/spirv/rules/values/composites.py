"""Rules of instructions that make composites and take them apart (SPIR-V 3.42.12)."""

from __future__ import annotations

from dataclasses import replace

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.model.parts import element_of, member_type
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Faulting,
    Finds,
    Holds,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    declared_type,
    instruction_of,
    is_scalar,
    present,
    type_of,
)
from girih.spirv.rules.values.constants import COMPOSITE, Constituents, count_words, known_count, replicated_type
from girih.spirv.rules.values.operands import (
    INTEGER,
    NEWER,
    VECTOR,
    AcceptedTypes,
    id_of,
    label_of,
    operands_are,
    operands_equal,
    operands_of,
    result_is,
)
from girih.spirv.rules.values.products import component, equal
from girih.spirv.types import Array, CooperativeMatrix, Matrix, Opaque, RuntimeArray, Struct, Type, Vector
from girih.spirv.values import component_type

SOURCE = "SPIR-V 3.42.12"
MOST_INDEXES = 255
INDEX = operands_are(INTEGER, SOURCE, "index", id="index")
VECTOR_RESULT = result_is(VECTOR, SOURCE)


VECTOR_1, VECTOR_2 = type_of("vector_1"), type_of("vector_2")
UNDEFINED_COMPONENT = 0xFFFFFFFF


# Vectors


def _component_count(subject: Subject[Facts]) -> bool:
    return len(subject.op.ids("components")) == known_count(subject.facts, RESULT_TYPE.value(subject))


def _component_words(subject: Subject[Facts]) -> str:
    return f"{len(subject.op.ids('components'))} components for {RESULT_TYPE.value(subject)}"


@dataclass(frozen=True, slots=True, eq=False)
class ComponentsExist(Faulting):
    """The predicate that components of a shuffle are undefined or count into both vectors."""

    @property
    def text(self) -> str:
        return "each component 0xFFFFFFFF or less than the components of both vectors together"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        facts = subject.facts
        total = known_count(facts, VECTOR_1.value(subject)) + known_count(facts, VECTOR_2.value(subject))
        for operand in instruction_of(subject).operands:
            if operand.name == "components" and total <= id_of(operand) != UNDEFINED_COMPONENT:
                return Fault(f"component {operand.value} of {total}", (operand,))
        return None


VECTORS = (
    family(
        "OpVectorExtractDynamic",
        result_is(AcceptedTypes("a scalar", is_scalar), SOURCE),
        operands_are(VECTOR, SOURCE, "vector", id="vector"),
        equal("component_type", "vector", component(type_of("vector")), RESULT_TYPE,
              "components of the type of the result", SOURCE),
        INDEX,
    ),
    family(
        "OpVectorInsertDynamic",
        VECTOR_RESULT,
        operands_equal(SOURCE, "vector", id="vector"),
        equal("component", "component", type_of("component"), component(RESULT_TYPE),
              "a Component of the component type of the result", SOURCE),
        INDEX,
    ),
    family(
        "OpVectorShuffle",
        VECTOR_RESULT,
        operands_are(VECTOR, SOURCE, "vector_1", "vector_2"),
        equal("component_type", "vector_1", component(VECTOR_1), component(RESULT_TYPE),
              "components of the type of the result's", SOURCE),
        equal("component_type_2", "vector_2", component(VECTOR_2), component(RESULT_TYPE),
              "components of the type of the result's", SOURCE),
        rule("count", "components", Holds("as many components as in Result Type", _component_count, _component_words),
             "as many components as the result has", SOURCE),
        rule("components", "components", ComponentsExist(),
             "components that one of the vectors has, or 0xFFFFFFFF for an undefined one", SOURCE),
    ),
)  # fmt: skip


# Construction


def _vector_count(subject: Subject[Facts]) -> bool:
    """Whether constituents have as many components together as a vector, of others whether they are as many."""
    type, facts = RESULT_TYPE.value(subject), subject.facts
    if not isinstance(type, Vector):
        return len(subject.op.ids("constituents")) == known_count(facts, type)
    given = (facts.type_of(id) for id in subject.op.ids("constituents"))
    return sum(known_count(facts, one) if isinstance(one, Vector) else 1 for one in given) == known_count(facts, type)


def _at_least_two(subject: Subject[Facts]) -> str | None:
    type, given = RESULT_TYPE.value(subject), len(subject.op.ids("constituents"))
    is_short = isinstance(type, Vector) and not type.cooperative and given < 2
    return f"{given} constituents" if is_short and not subject.facts.has("LongVectorEXT") else None


@dataclass(frozen=True, slots=True, eq=False)
class ConstructedOf(Constituents):
    """As `Constituents`, but a vector may be made of vectors of its components too."""

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        type = RESULT_TYPE.value(subject)
        if not isinstance(type, Vector):
            return Constituents.fault(self, subject)
        for operand in operands_of(subject, (self.name,)):
            came = subject.facts.type_of(id_of(operand))
            if (came.component if isinstance(came, Vector) else came) is not type.component:
                label = label_of(subject, operand)
                return Fault(f"the type of {label} is {came}, Result Type is {type}", (operand,))
        return None


CONSTRUCTIONS = (
    family(
        "OpCompositeConstruct",
        result_is(COMPOSITE, SOURCE),
        rule("several", "constituents", Finds("a vector has at least two constituents", _at_least_two),
             "at least two constituents of a vector", SOURCE),
        rule("constituents", "constituents", ConstructedOf(),
             "constituents of the types of the parts; of a vector scalars or vectors of its components", SOURCE),
        rule("count", "constituents", Holds("constituents fill the composite", _vector_count, count_words),
             "a constituent for each part; for a vector as many components as it has; one for a cooperative matrix",
             SOURCE),
    ),
    family(
        "OpCompositeConstructReplicateEXT",
        replace(result_is(COMPOSITE, "SPV_EXT_replicated_composites"), beyond=NEWER),
        rule("value_type", "value", Finds("each part has the type of Value", replicated_type),
             "a Value of the type of each part", "SPV_EXT_replicated_composites", beyond=NEWER),
    ),
)  # fmt: skip


# Parts by constant indexes


def _indexes(subject: Subject[Facts]) -> list[Operand]:
    return [operand for operand in instruction_of(subject).operands if operand.name == "indexes"]


def _count_if_known(facts: Facts, type: Type) -> int | None:
    try:
        return known_count(facts, type)
    except Undetermined:
        return None


def _part(facts: Facts, type: Type, index: int) -> Type | str:
    """The part of a composite at an index, or the words for why there is none."""
    match type:
        case Vector() | Matrix() | Array():
            part, count = component_type(type, 0), _count_if_known(facts, type)
            assert part is not None
            return part if count is None or index < count else f"index {index} into {type}"
        case Struct():
            return member_type(facts, type, index) if index < len(type.members) else f"index {index} into {type}"
        case RuntimeArray() | CooperativeMatrix():
            return element_of(type) or type
        case Opaque() if type.name == "OpTypeNodePayloadArrayAMDX":
            raise Undetermined
    return f"index {index} into {type}"


@dataclass(frozen=True, slots=True, eq=False)
class IndexesExist(Faulting):
    """The predicate that each index counts into the composite that the indexes before it reach."""

    @property
    def text(self) -> str:
        return "each index counts the parts of what the indexes before it reach"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        found = _reached(subject)
        return found if isinstance(found, Fault) else None


def _reached(subject: Subject[Facts]) -> Type | Fault:
    """The type of the part that indexes reach, or what is wrong with one of them."""
    type = subject.facts.type_of(present(subject, "composite"))
    for operand in _indexes(subject):
        part = _part(subject.facts, type, id_of(operand))
        if isinstance(part, str):
            return Fault(part, (operand,))
        type = part
    return type


def _reached_type(subject: Subject[Facts]) -> Type:
    found = _reached(subject)
    if isinstance(found, Fault):
        raise Undetermined
    return found


REACHED = Term("the type that the indexes reach", _reached_type)
INDEX_COUNT = rule(
    "index_count",
    "indexes",
    Satisfies(Term("number of indexes", lambda s: len(_indexes(s))), "from 1 to 255", lambda n: 1 <= n <= MOST_INDEXES),
    "at least one index, and at most 255",
    SOURCE,
)
INDEXES = rule("indexes", "indexes", IndexesExist(), "indexes that count the parts of the composite", SOURCE)

PARTS = (
    family(
        "OpCompositeExtract",
        INDEX_COUNT,
        INDEXES,
        equal("result", "result_type", RESULT_TYPE, REACHED, "the type of the part that is extracted", SOURCE),
    ),
    family(
        "OpCompositeInsert",
        operands_equal(SOURCE, "composite", id="composite"),
        INDEX_COUNT,
        INDEXES,
        equal("object", "object", type_of("object"), REACHED, "an Object of the type of the part it replaces", SOURCE),
    ),
)


# Copies


def _match(facts: Facts, left: Type, right: Type) -> bool:
    """Whether two types match logically (SPIR-V 3.42.12 OpCopyLogical)."""
    waiting, seen = [(left, right)], set()
    while waiting:
        one, other = waiting.pop()
        if one is other or (one.id, other.id) in seen:
            continue
        seen.add((one.id, other.id))
        match one, other:
            case Array(), Array() if one.length_id == other.length_id:
                waiting.append((one.element, other.element))
            case Struct(), Struct() if len(one.members) == len(other.members):
                members = range(len(one.members))
                waiting += [(member_type(facts, one, at), member_type(facts, other, at)) for at in members]
            case _:
                return False
    return True


def _copies_logically(subject: Subject[Facts]) -> str | None:
    result, operand = RESULT_TYPE.value(subject), type_of("operand").value(subject)
    if result is operand:
        return "one type, which OpCopyObject copies"
    return (
        None if _match(subject.facts, result, operand) else f"Result Type is {result}, the type of Operand is {operand}"
    )


def _other_message(subject: Subject[Facts]) -> str | None:
    wanted, found = declared_type("message_type").value(subject), type_of("message").value(subject)
    return None if _match(subject.facts, wanted, found) else f"Message is {found}, Message Type is {wanted}"


COPIES = (
    family(
        "OpAbortKHR",
        rule("message", "message", Finds("Message matches Message Type", _other_message),
             "a message of the type that is named, or of one that matches it", "SPV_KHR_abort", beyond=NEWER),
    ),
    family("OpCopyObject", operands_equal(SOURCE, "operand", id="operand")),
    family(
        "OpCopyLogical",
        rule("operand", "operand", Finds("two types that match logically", _copies_logically),
             "another type than that of the result, which matches it: arrays of one length and structs, and what "
             "is in them", SOURCE),
    ),
)  # fmt: skip

FAMILIES = (*VECTORS, *CONSTRUCTIONS, *PARTS, *COPIES)
