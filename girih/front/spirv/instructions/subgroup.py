"""The translation of operations on the active work-items of a subgroup (SPIR-V 3.52.24), leaf by leaf."""

from __future__ import annotations

from typing import Any

from girih.front.spirv.handlers import translates
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BOOL, I32
from girih.ops.device.subgroup import WORDS
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction

BALLOT = (I32,) * WORDS


def _each(t: Translation, one: Instruction, mnemonic: str, **fields: Any) -> None:
    """Translate into an instruction for each leaf of the value."""
    t.give(one, [t.one(mnemonic, leaf.type, a=leaf, **fields) for leaf in t.leaves(one.id("value"))])


# --- votes -----------------------------------------------------------------------------------


@translates("OpGroupNonUniformElect")
def elect(t: Translation, one: Instruction) -> None:
    """The choice of one work-item."""
    t.give(one, t.emit("active_elect", BOOL))


_VOTES = {
    "OpGroupNonUniformAll": "active_all",
    "OpGroupNonUniformAny": "active_any",
    "OpSubgroupAllKHR": "active_all",
    "OpSubgroupAnyKHR": "active_any",
    "OpSubgroupAllEqualKHR": "active_all_equal",
}


@translates(*_VOTES)
def vote(t: Translation, one: Instruction) -> None:
    """A condition of all or any work-items, or whether they have the same."""
    t.give(one, t.emit(_VOTES[one.name], BOOL, a=t.leaf(one.id("predicate"))))


@translates("OpGroupNonUniformQuadAllKHR", "OpGroupNonUniformQuadAnyKHR")
def quad_vote(t: Translation, one: Instruction) -> None:
    """A condition of all or any work-items of a quad, which is a cluster of four."""
    operator = "and" if one.name == "OpGroupNonUniformQuadAllKHR" else "or"
    t.give(one, t.emit("active_reduce", BOOL, operator=operator, a=t.leaf(one.id("predicate")), cluster=4))


@translates("OpGroupNonUniformAllEqual")
def all_equal(t: Translation, one: Instruction) -> None:
    """Whether all have one value: in each leaf."""
    equal = [t.one("active_all_equal", BOOL, a=leaf) for leaf in t.leaves(one.id("value"))]
    result = equal[0]
    for other in equal[1:]:
        result = t.one("and", BOOL, a=result, b=other)
    t.give(one, [result])


# --- ballots ---------------------------------------------------------------------------------


@translates("OpGroupNonUniformBallot", "OpSubgroupBallotKHR")
def ballot(t: Translation, one: Instruction) -> None:
    """The work-items for which a condition holds."""
    t.give(one, t.emit("active_ballot", *BALLOT, a=t.leaf(one.id("predicate"))))


@translates("OpGroupNonUniformInverseBallot")
def inverse_ballot(t: Translation, one: Instruction) -> None:
    """The work-item's own bit."""
    t.give(one, t.emit("inverse_ballot", BOOL, ballot=t.leaves(one.id("value"))))


@translates("OpGroupNonUniformBallotBitExtract")
def ballot_bit(t: Translation, one: Instruction) -> None:
    """The bit with some number."""
    t.give(one, t.emit("ballot_bit", BOOL, ballot=t.leaves(one.id("value")), number=t.leaf(one.id("index"))))


@translates("OpGroupNonUniformBallotBitCount")
def ballot_count(t: Translation, one: Instruction) -> None:
    """The number of bits, as an integer of some width."""
    among = {"Reduce": "reduce", "InclusiveScan": "inclusive", "ExclusiveScan": "exclusive"}[_operation(one)]
    _give_number(t, one, t.one("ballot_count", I32, among=among, ballot=t.leaves(one.id("value"))))


@translates("OpGroupNonUniformBallotFindLSB", "OpGroupNonUniformBallotFindMSB")
def ballot_find(t: Translation, one: Instruction) -> None:
    """The number of the first or last bit that is set."""
    end = "lowest" if one.name == "OpGroupNonUniformBallotFindLSB" else "highest"
    _give_number(t, one, t.one("ballot_find", I32, end=end, ballot=t.leaves(one.id("value"))))


def _give_number(t: Translation, one: Instruction, number: Value) -> None:
    """Give a number that is not negative and at most 128 as an integer of the result's width."""
    (type,) = t.leaf_types(one)
    t.give(one, [number if type == I32 else t.one("cast", type, a=number)])


def _operation(one: Instruction) -> str:
    """The group operation of an instruction, by name (SPIR-V 3.28)."""
    return grammar().kinds["GroupOperation"].name_of(one.id("operation")) or ""


# --- values of others ------------------------------------------------------------------------


@translates("OpGroupNonUniformBroadcast")
def broadcast(t: Translation, one: Instruction) -> None:
    """The value of a work-item that all name alike."""
    _each(t, one, "active_broadcast", lane=t.leaf(one.id("invocation_id")))


@translates("OpSubgroupReadInvocationKHR")
def read_invocation(t: Translation, one: Instruction) -> None:
    """The value of a work-item that all name alike."""
    _each(t, one, "active_broadcast", lane=t.leaf(one.id("index")))


@translates("OpGroupNonUniformBroadcastFirst", "OpSubgroupFirstInvocationKHR")
def broadcast_first(t: Translation, one: Instruction) -> None:
    """The value of the first active work-item."""
    _each(t, one, "active_broadcast_first")


_SHUFFLES = {
    "OpGroupNonUniformShuffle": ("at", "invocation_id"),
    "OpGroupNonUniformShuffleXor": ("xor", "mask"),
    "OpGroupNonUniformShuffleUp": ("up", "delta"),
    "OpGroupNonUniformShuffleDown": ("down", "delta"),
}


@translates(*_SHUFFLES)
def shuffle(t: Translation, one: Instruction) -> None:
    """The value of another work-item."""
    by, operand = _SHUFFLES[one.name]
    _each(t, one, "active_shuffle", by=by, number=t.leaf(one.id(operand)))


@translates("OpGroupNonUniformRotateKHR")
def rotate(t: Translation, one: Instruction) -> None:
    """The value of a work-item further around."""
    _each(t, one, "active_rotate", delta=t.leaf(one.id("delta")), cluster=_cluster(t, one))


@translates("OpGroupNonUniformQuadBroadcast")
def quad_broadcast(t: Translation, one: Instruction) -> None:
    """The value of a work-item of the quad."""
    _each(t, one, "active_quad_broadcast", number=t.leaf(one.id("index")))


@translates("OpGroupNonUniformQuadSwap")
def quad_swap(t: Translation, one: Instruction) -> None:
    """The value of the work-item beside, below or across: directions 0, 1 and 2 change the number by 1, 2 and 3."""
    number = t.constant(t.integer(one.id("direction")) + 1, I32)
    _each(t, one, "active_shuffle", by="xor", number=number)


def _cluster(t: Translation, one: Instruction) -> int:
    id = one.id("cluster_size")
    return t.integer(id) if id else 0


# --- combinations ----------------------------------------------------------------------------

_OPERATORS = {
    "IAdd": "add",
    "FAdd": "add",
    "IMul": "mul",
    "FMul": "mul",
    "SMin": "signed_min",
    "UMin": "unsigned_min",
    "FMin": "min",
    "SMax": "signed_max",
    "UMax": "unsigned_max",
    "FMax": "max",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
    "LogicalAnd": "and",
    "LogicalOr": "or",
    "LogicalXor": "xor",
}
_COMBINATIONS = {f"OpGroupNonUniform{name}": operator for name, operator in _OPERATORS.items()}


@translates(*_COMBINATIONS)
def combination(t: Translation, one: Instruction) -> None:
    """A reduction or scan of all, of clusters, or of the parts of a partition."""
    operation = _operation(one)
    fields: dict[str, Any] = {"operator": _COMBINATIONS[one.name]}
    if operation.startswith("Partitioned"):
        fields["partition"] = t.leaves(one.id("cluster_size"))
    if "Reduce" in operation:
        cluster = _cluster(t, one) if operation == "ClusteredReduce" else 0
        _each(t, one, "active_reduce", cluster=cluster, **fields)
    else:
        _each(t, one, "active_scan", among="inclusive" if "Inclusive" in operation else "exclusive", **fields)


@translates("OpGroupNonUniformPartitionNV")
def partition(t: Translation, one: Instruction) -> None:
    """The work-items with the same value: those that have the same in each leaf."""
    ballots = [t.emit("active_partition", *BALLOT, a=leaf) for leaf in t.leaves(one.id("value"))]
    words = ballots[0]
    for others in ballots[1:]:
        words = tuple(t.one("and", I32, a=a, b=b) for a, b in zip(words, others, strict=True))
    t.give(one, words)
