"""Rules about instructions of subgroups: votes, ballots, shuffles, arithmetic, quads, partitions (SPIR-V 3.42.24)."""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.model.facts import Facts
from girih.spirv.rules.concurrency.scopes import EXECUTION_SCOPE, is_scope
from girih.spirv.rules.formats import COMPUTABLE, ENCODING, FORMATS, is_computable
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    IfPresent,
    OnlyWhere,
    Predicate,
    Subject,
    constant,
    enumerant,
    is_bool,
    is_bool_or_vector,
    is_float_or_vector,
    is_integer_or_vector,
    is_unsigned,
    present,
    same,
    satisfies,
    scalar_of,
    type_of,
    words_of,
)  # fmt: skip
from girih.spirv.types import Int, Type, Vector
from girih.spirv.values import CONSTANTS, SPEC_CONSTANTS

_SECTION = "SPIR-V 3.42.24"
_UNCHECKED = "spirv-val does not look at the operands of this instruction"

NUMBER_OR_BOOLEAN = "a scalar or vector of numbers or booleans"


def is_number_or_bool(type: Type) -> bool:
    """Whether a type is a scalar or vector of integers, floats or booleans."""
    return is_integer_or_vector(type) or is_float_or_vector(type) or is_bool_or_vector(type)


def is_unsigned_or_vector(type: Type) -> bool:
    """Whether a type is a scalar or vector of unsigned integers."""
    return is_unsigned(scalar_of(type))


def is_ballot(type: Type) -> bool:
    """Whether a type has a bit for each invocation of a subgroup: a vector of 4 unsigned integers."""
    return isinstance(type, Vector) and type.count == 4 and is_unsigned(type.component)


def result(words: str, test: Callable[[Type], bool], source: str = _SECTION, beyond: str | None = None) -> SpirvRow:
    """The row of the result's type."""
    return rule("result", "result_type", satisfies(RESULT_TYPE, f"is {words}", test), f"{words} as result", source,
                beyond=beyond)  # fmt: skip


def operand(
    name: str, words: str, test: Callable[[Type], bool], source: str = _SECTION, beyond: str | None = None
) -> SpirvRow:
    """The row of an operand's type."""
    return rule(f"{name}_type", name, satisfies(type_of(name), f"is {words}", test), f"{words} as {words_of(name)}",
                source, beyond=beyond)  # fmt: skip


def like_result(name: str, source: str = _SECTION, beyond: str | None = None) -> SpirvRow:
    """The row that an operand has the type of the result."""
    return rule(f"{name}_type", f"{name} result_type", same(type_of(name), RESULT_TYPE),
                f"{words_of(name)} of the type of the result", source, beyond=beyond)  # fmt: skip


def is_constant(name: str) -> Predicate:
    """The predicate that an operand is a constant, of specialisation or not."""

    def other(subject: Subject[Facts]) -> str | None:
        made = subject.facts.definition(present(subject, name)).name
        return None if made in CONSTANTS or made in SPEC_CONSTANTS else f"the result of {made}"

    return Finds(f"{words_of(name)} is a constant", other)


def _constant_before_1_5(name: str) -> SpirvRow:
    return rule(f"{name}_constant", name,
                OnlyWhere("before SPIR-V 1.5", lambda s: s.facts.module.header.version < (1, 5), is_constant(name)),
                f"a constant as {words_of(name)} before SPIR-V 1.5", _SECTION)  # fmt: skip


def _selector(name: str) -> SpirvRow:
    """The row of the operand that says which invocation a value comes from."""
    return operand(name, "an unsigned integer", is_unsigned)


_BOOL = result("a boolean", is_bool)
_PREDICATE = operand("predicate", "a boolean", is_bool)
_BALLOT = "a vector of 4 unsigned integers"
_OF_BALLOT = operand("value", _BALLOT, is_ballot)
_UNSIGNED = result("an unsigned integer", is_unsigned)
_ANY = result(NUMBER_OR_BOOLEAN, is_number_or_bool)
_LIKE_RESULT = like_result("value")
_INVOCATION, _INDEX, _DELTA = (_selector(name) for name in ("invocation_id", "index", "delta"))

_INTEGERS = ["IAdd", "IMul", "SMin", "SMax", "BitwiseAnd", "BitwiseOr", "BitwiseXor"]
_UNSIGNEDS = ["UMin", "UMax"]
_FLOATS = ["FAdd", "FMul", "FMin", "FMax"]
_LOGICAL = ["LogicalAnd", "LogicalOr", "LogicalXor"]


def _group(names: list[str]) -> str:
    return " ".join(f"OpGroupNonUniform{name}" for name in names)


_ARITHMETIC = _group([*_INTEGERS, *_UNSIGNEDS, *_FLOATS, *_LOGICAL])
_VOTES = _group(["All", "Any"])
_SELECTING = _group(["Broadcast", "Shuffle", "ShuffleXor", "ShuffleUp", "ShuffleDown", "QuadBroadcast", "QuadSwap"])
_FINDING = _group(["BallotFindLSB", "BallotFindMSB"])
_ONLY_SUBGROUPS = " ".join((
    _group(["Elect", "AllEqual", "BroadcastFirst", "Ballot", "InverseBallot", "BallotBitExtract", "BallotBitCount"]),
    _VOTES, _SELECTING, _FINDING, _ARITHMETIC,
))  # fmt: skip

_OPERATION = enumerant("operation", "GroupOperation")
_SCANS = ("Reduce", "InclusiveScan", "ExclusiveScan")


def _is_partitioned(subject: Subject[Facts]) -> bool:
    return str(_OPERATION.value(subject)).startswith("Partitioned")


def _takes_fifth(subject: Subject[Facts]) -> bool:
    return _is_partitioned(subject) or _OPERATION.value(subject) == "ClusteredReduce"


def _given(name: str) -> Predicate:
    return Finds(f"{words_of(name)} is given", lambda s: "none" if s.op.get(name) is None else None)


def _not_partitioned(words: str, predicate: Predicate) -> Predicate:
    return IfPresent("cluster_size", OnlyWhere(words, lambda s: not _is_partitioned(s), predicate))


_POWER = satisfies(constant("cluster_size"), "is a power of 2", lambda size: size > 0 and size & (size - 1) == 0)


_OPERANDS_OF_ARITHMETIC = (
    _LIKE_RESULT,
    rule("cluster_size", "operation",
         OnlyWhere("where Operation is ClusteredReduce or of partitions", _takes_fifth, _given("cluster_size")),
         "the size of clusters, or the ballot of partitions, that Operation needs", _SECTION),
    rule("partition", "cluster_size",
         IfPresent("cluster_size",
               OnlyWhere("where Operation is of partitions", _is_partitioned,
                     satisfies(type_of("cluster_size"), "is a vector of 4 integers",
                               lambda type: isinstance(type, Vector) and type.count == 4
                               and isinstance(type.component, Int)))),
         "a vector of 4 integers as ballot of partitions", "SPV_NV_shader_subgroup_partitioned"),
    rule("cluster_size_type", "cluster_size",
         _not_partitioned("where Operation is not of partitions",
                          satisfies(type_of("cluster_size"), "is an unsigned integer", is_unsigned)),
         "an unsigned integer as Cluster Size", _SECTION),
    rule("cluster_size_constant", "cluster_size",
         _not_partitioned("where Operation is not of partitions", is_constant("cluster_size")),
         "a constant as Cluster Size", _SECTION),
)  # fmt: skip

FAMILIES = (
    family(f"{_ONLY_SUBGROUPS} OpGroupNonUniformRotateKHR", *EXECUTION_SCOPE),
    family(_ONLY_SUBGROUPS,
           rule("execution_subgroup", "execution", is_scope("execution", ("Subgroup",)), "Subgroup as Execution",
                _SECTION)),
    family("OpGroupNonUniformRotateKHR",
           rule("execution_group", "execution", is_scope("execution", ("Workgroup", "Subgroup")),
                "Workgroup or Subgroup as Execution", "SPV_KHR_subgroup_rotate"),
           rule("execution_rotate", "execution",
                OnlyWhere("since Vulkan 1.1", lambda s: s.facts.environment.vulkan != (1, 0),
                      is_scope("execution", ("Subgroup",))),
                "Subgroup as Execution", "VUID-StandaloneSpirv-None-04642", vulkan=True)),
    family(f"{_group(['Elect', 'AllEqual', 'InverseBallot', 'BallotBitExtract'])} {_VOTES}", _BOOL),
    family(f"{_VOTES} OpGroupNonUniformBallot", _PREDICATE),
    family("OpGroupNonUniformAllEqual",
           operand("value", NUMBER_OR_BOOLEAN, is_number_or_bool),
           rule("encoding", "value",
                satisfies(type_of("value"), "is of a format to compute with", is_computable), COMPUTABLE, FORMATS)),
    family(f"{_SELECTING} OpGroupNonUniformBroadcastFirst OpGroupNonUniformRotateKHR", _ANY, ENCODING, _LIKE_RESULT),
    family(_group(["Broadcast", "Shuffle"]), _INVOCATION),
    family("OpGroupNonUniformBroadcast", _constant_before_1_5("invocation_id")),
    family("OpGroupNonUniformShuffleXor", _selector("mask")),
    family(f"{_group(['ShuffleUp', 'ShuffleDown'])} OpGroupNonUniformRotateKHR", _DELTA),
    family(_group(["QuadBroadcast", "BallotBitExtract"]), _INDEX),
    family("OpGroupNonUniformQuadBroadcast", _constant_before_1_5("index")),
    family("OpGroupNonUniformQuadSwap", _selector("direction"),
           rule("direction_constant", "direction", is_constant("direction"), "a constant as Direction", _SECTION)),
    family("OpGroupNonUniformBallot", result(_BALLOT, is_ballot)),
    family(f"{_group(['InverseBallot', 'BallotBitExtract', 'BallotBitCount'])} {_FINDING}", _OF_BALLOT),
    family(f"OpGroupNonUniformBallotBitCount {_FINDING}", _UNSIGNED),
    family("OpGroupNonUniformBallotBitCount",
           rule("operation_vulkan", "operation", satisfies(_OPERATION, "is Reduce or a scan", _SCANS.__contains__),
                "Reduce, InclusiveScan or ExclusiveScan as Operation", "VUID-StandaloneSpirv-None-04685",
                vulkan=True)),
    family(_group(_INTEGERS), result("a scalar or vector of integers", is_integer_or_vector)),
    family(_group(_UNSIGNEDS), result("a scalar or vector of unsigned integers", is_unsigned_or_vector)),
    family(_group(_FLOATS), result("a scalar or vector of floats", is_float_or_vector), ENCODING),
    family(_group(_LOGICAL), result("a scalar or vector of booleans", is_bool_or_vector)),
    family(_ARITHMETIC, *_OPERANDS_OF_ARITHMETIC),
    family("OpGroupNonUniformRotateKHR",
           rule("cluster_size_type", "cluster_size",
                IfPresent("cluster_size", satisfies(type_of("cluster_size"), "is an unsigned integer", is_unsigned)),
                "an unsigned integer as Cluster Size", "SPV_KHR_subgroup_rotate"),
           rule("cluster_size_constant", "cluster_size", IfPresent("cluster_size", is_constant("cluster_size")),
                "a constant as Cluster Size", "SPV_KHR_subgroup_rotate"),
           rule("cluster_size_power", "cluster_size", IfPresent("cluster_size", _POWER),
                "a power of 2 as Cluster Size; the result is undefined otherwise", "SPV_KHR_subgroup_rotate")),
    family(_ARITHMETIC,
           rule("cluster_size_power", "cluster_size", _not_partitioned("where Operation is not of partitions", _POWER),
                "a power of 2 as Cluster Size; the result is undefined otherwise", _SECTION, severity="warning")),
    # What spirv-val lets pass.
    family("OpGroupNonUniformQuadAllKHR OpGroupNonUniformQuadAnyKHR",
           result("a boolean", is_bool, "SPV_KHR_quad_control", _UNCHECKED),
           operand("predicate", "a boolean", is_bool, "SPV_KHR_quad_control", _UNCHECKED)),
    family("OpGroupNonUniformPartitionNV",
           result(_BALLOT, is_ballot, "SPV_NV_shader_subgroup_partitioned", _UNCHECKED),
           operand("value", NUMBER_OR_BOOLEAN, is_number_or_bool, "SPV_NV_shader_subgroup_partitioned", _UNCHECKED)),
    family("OpSubgroupAllKHR OpSubgroupAnyKHR OpSubgroupAllEqualKHR",
           result("a boolean", is_bool, "SPV_KHR_subgroup_vote", _UNCHECKED),
           operand("predicate", "a boolean", is_bool, "SPV_KHR_subgroup_vote", _UNCHECKED)),
    family("OpSubgroupBallotKHR",
           result(_BALLOT, is_ballot, "SPV_KHR_shader_ballot", _UNCHECKED),
           operand("predicate", "a boolean", is_bool, "SPV_KHR_shader_ballot", _UNCHECKED)),
    family("OpSubgroupFirstInvocationKHR OpSubgroupReadInvocationKHR",
           result(NUMBER_OR_BOOLEAN, is_number_or_bool, "SPV_KHR_shader_ballot", _UNCHECKED),
           like_result("value", "SPV_KHR_shader_ballot", _UNCHECKED)),
    family("OpSubgroupReadInvocationKHR",
           operand("index", "a 32-bit integer", lambda type: isinstance(type, Int) and type.width == 32,
                   "SPV_KHR_shader_ballot", _UNCHECKED)),
)  # fmt: skip
