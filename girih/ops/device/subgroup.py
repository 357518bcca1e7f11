"""Operations on the active work-items of a subgroup (SPIR-V 3.52.24 "Non-Uniform Instructions").

Active are the work-items that execute the instruction together: in a branch, those for which its condition holds.
A *ballot* is four numbers of 32 bits with a bit for each work-item, that of work-item 0 the lowest of the first.
"""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, integer, modifier, node, op, operand, operands, result, results
from girih.ir.kinds import BOOLEAN, INTEGER, SCALAR, exactly
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import BOOL, I32, Boolean, Number
from girih.ops.device.language import DEVICE
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined

NON_UNIFORM = "SPIR-V 3.52.24"
WORDS = 4
"""The numbers of a ballot, of 32 bits each."""

MOST_LANES = 32 * WORDS


def _same(section: str) -> Row:
    return Row(
        "result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", section
    )


def _has_words(name: str) -> Holds:
    return Holds(f"`{name}` has {WORDS} numbers", lambda s: len(getattr(s.op, name)) == WORDS)


def _ballot(name: str, section: str) -> Row:
    return Row("words", name, _has_words(name), f"a ballot is {WORDS} numbers of 32 bits", section)


# --- votes -----------------------------------------------------------------------------------


@op(DEVICE, "active_elect", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformElect", ": result", exchanges=True)
class ActiveElect(Op):
    """Whether the work-item is the active one with the lowest number."""

    result: Value = result(exactly(BOOL), "true for one of them")


@node
class ActiveVote(Op):
    """The base of votes, whose result is the same for all who take part."""

    a: Value = operand(BOOLEAN, "what the work-item says")
    result: Value = result(exactly(BOOL), "the outcome")


@op(DEVICE, "active_all", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformAll", "a : result", exchanges=True)
class ActiveAll(ActiveVote):
    """Whether a condition holds for all active work-items."""


@op(DEVICE, "active_any", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformAny", "a : result", exchanges=True)
class ActiveAny(ActiveVote):
    """Whether a condition holds for some active work-item."""


@op(DEVICE, "active_all_equal", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformAllEqual", "a : result", exchanges=True)
class ActiveAllEqual(Op):
    """Whether all active work-items have one value; NaN equals nothing."""

    a: Value = operand(SCALAR, "the value")
    result: Value = result(exactly(BOOL), "the outcome")


# --- ballots ---------------------------------------------------------------------------------


@op(DEVICE, "active_ballot", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformBallot", "a : results", exchanges=True)
class ActiveBallot(Op):
    """The active work-items for which a condition holds, as a ballot."""

    a: Value = operand(BOOLEAN, "the condition")
    results: tuple[Value, ...] = results(exactly(I32), "the ballot")


@op(DEVICE, "inverse_ballot", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformInverseBallot", "( ballot ) : result",
    exchanges=True)  # fmt: skip
class InverseBallot(Op):
    """The work-item's own bit of a ballot that all active work-items have alike."""

    ballot: tuple[Value, ...] = operands(exactly(I32), "the ballot", shared=True)
    result: Value = result(exactly(BOOL), "the bit")


@op(
    DEVICE,
    "ballot_bit",
    Where.SPMD,
    f"{NON_UNIFORM} OpGroupNonUniformBallotBitExtract",
    "( ballot ) [ number ] : result",
)
class BallotBit(Op):
    """A bit of a ballot. It is undefined for a number, without a sign, that is not below subgroup_size."""

    ballot: tuple[Value, ...] = operands(exactly(I32), "the ballot")
    number: Value = operand(INTEGER, "the number of a work-item")
    result: Value = result(exactly(BOOL), "the bit")


COUNTED = ("reduce", "inclusive", "exclusive")
"""Which work-items an operation combines: all, those up to one's own number, those before it."""


@op(DEVICE, "ballot_count", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformBallotBitCount", "( ballot ) : result")
class BallotCount(Op):
    """How many bits of a ballot are set: of all work-items of the subgroup, those up to one's own, or those before."""

    among: str = modifier({name: name for name in COUNTED}, required=True, doc="whose bits are counted")
    ballot: tuple[Value, ...] = operands(exactly(I32), "the ballot")
    result: Value = result(exactly(I32), "the number of bits")


@op(DEVICE, "ballot_find", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformBallotFindLSB", "( ballot ) : result")
class BallotFind(Op):
    """The lowest or highest number of a work-item of the subgroup whose bit is set; undefined where none is."""

    end: str = modifier({"lowest": "lowest", "highest": "highest"}, required=True, doc="which of the numbers")
    ballot: tuple[Value, ...] = operands(exactly(I32), "the ballot")
    result: Value = result(exactly(I32), "the number")


for _declared in (InverseBallot, BallotBit, BallotCount, BallotFind):
    DEVICE.rules(_declared, _ballot("ballot", NON_UNIFORM))
DEVICE.rules(ActiveBallot, _ballot("results", NON_UNIFORM))


# --- values of others ------------------------------------------------------------------------


@op(DEVICE, "active_broadcast", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformBroadcast", "a , lane : result",
    exchanges=True)  # fmt: skip
class ActiveBroadcast(Op):
    """The value of one work-item for all active ones; undefined if that one is not active, or does not exist."""

    a: Value = operand(SCALAR, "the value")
    lane: Value = operand(INTEGER, "the number of that work-item, without a sign; the same for all", shared=True)
    result: Value = result(SCALAR, "that work-item's value")


@op(DEVICE, "active_broadcast_first", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformBroadcastFirst", "a : result",
    exchanges=True)  # fmt: skip
class ActiveBroadcastFirst(Op):
    """The value of the active work-item with the lowest number, for all active ones."""

    a: Value = operand(SCALAR, "the value")
    result: Value = result(SCALAR, "that work-item's value")


@op(DEVICE, "active_shuffle", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformShuffle", "a , number : result",
    exchanges=True)  # fmt: skip
class ActiveShuffle(Op):
    """The value of another work-item; undefined if that one is not active, or does not exist.

    Its number is the operand (`.at`), one's own number with the bits of the operand changed (`.xor`), or the operand
    below (`.up`) or above (`.down`) one's own. The operand has no sign.
    """

    by: str = modifier({name: name for name in ("at", "xor", "up", "down")}, required=True, doc="whose value it is")
    a: Value = operand(SCALAR, "the value")
    number: Value = operand(INTEGER, "the number of the work-item, or how far it is away")
    result: Value = result(SCALAR, "that work-item's value")


@op(DEVICE, "active_rotate", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformRotateKHR", "a , delta , cluster : result",
    exchanges=True)  # fmt: skip
class ActiveRotate(Op):
    """The value of the work-item whose number is `delta` above one's own, counted around in the cluster.

    It is undefined if that work-item is not active. Clusters follow each other from work-item 0 on.
    """

    a: Value = operand(SCALAR, "the value")
    delta: Value = operand(INTEGER, "how far the work-item is away, without a sign; the same for all", shared=True)
    cluster: int = integer("how many work-items a cluster has, a power of two; 0 for all of the subgroup")
    result: Value = result(SCALAR, "that work-item's value")


@op(DEVICE, "active_quad_broadcast", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformQuadBroadcast", "a , number : result",
    exchanges=True)  # fmt: skip
class ActiveQuadBroadcast(Op):
    """The value of one of the four work-items of one's own quad: work-items 0 to 3, 4 to 7 and so on.

    It is undefined if that one is not active, or the number is not below 4.
    """

    a: Value = operand(SCALAR, "the value")
    number: Value = operand(INTEGER, "the number in the quad, without a sign; the same for all", shared=True)
    result: Value = result(SCALAR, "that work-item's value")


for _moving in (ActiveBroadcast, ActiveBroadcastFirst, ActiveShuffle, ActiveRotate, ActiveQuadBroadcast):
    DEVICE.rules(_moving, _same(NON_UNIFORM))


# --- combinations ----------------------------------------------------------------------------

_FLOATS = ("add", "mul", "min", "max")
_INTEGERS = ("add", "mul", "signed_min", "signed_max", "unsigned_min", "unsigned_max", "and", "or", "xor")
_BOOLEANS = ("and", "or", "xor")
OPERATORS = tuple(dict.fromkeys((*_INTEGERS, *_FLOATS)))
"""What combines values. The minimum and maximum of floats prefer a number to NaN."""


def operators_of(type: Number | Boolean) -> tuple[str, ...]:
    """The operators that combine values of a type."""
    if isinstance(type, Boolean):
        return _BOOLEANS
    return {"integer": _INTEGERS, "floating": _FLOATS}.get(type.family, ())


def _fits(subject: Subject) -> bool:
    type = subject.op.a.type
    if not isinstance(type, Number | Boolean):
        raise Undetermined
    return subject.op.operator in operators_of(type)


def _is_cluster(subject: Subject) -> bool:
    cluster: int = subject.op.cluster
    return 0 <= cluster <= MOST_LANES and cluster & (cluster - 1) == 0


def _is_partition(subject: Subject) -> bool:
    return len(subject.op.partition) in (0, WORDS)


_OPERATOR = Row("operator", "a", Holds("the operator combines values of the type of `a`", _fits),
                "the operator is one of the type of `a`", NON_UNIFORM)  # fmt: skip
_CLUSTER = Row("cluster", "cluster", Holds("`cluster` is a power of two up to 128, or 0", _is_cluster),
               "a cluster has a power of two of work-items", NON_UNIFORM)  # fmt: skip
_PARTITION = Row("words", "partition", Holds(f"a partition is {WORDS} numbers", _is_partition),
                 "the partition is a ballot", "SPV_NV_shader_subgroup_partitioned")  # fmt: skip


@node
class ActiveCombination(Op):
    """The base of reductions and scans over active work-items.

    Numbers are combined in a tree: first with those half the subgroup, or cluster, away, then a quarter of it, and so
    on; in scans first with the neighbour, then with those twice as far. Each step rounds in the type. In a partition
    each work-item names, as a ballot, those it combines with, which name the same; they are combined in their order.
    """

    operator: str = modifier({name: name for name in OPERATORS}, required=True, doc="what combines two values")
    a: Value = operand(SCALAR, "each work-item's value")
    partition: tuple[Value, ...] = operands(exactly(I32), "the work-items that are combined, none for all")
    result: Value = result(SCALAR, "the combination")


@op(DEVICE, "active_reduce", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformIAdd",
    "a , cluster << , ( partition ) >> : result", exchanges=True)  # fmt: skip
class ActiveReduce(ActiveCombination):
    """The combination of the values of all active work-items of the subgroup, or of one's own cluster."""

    cluster: int = integer("how many work-items a cluster has, a power of two; 0 for all of the subgroup")


@op(DEVICE, "active_scan", Where.SPMD, f"{NON_UNIFORM} OpGroupNonUniformIAdd", "a << , ( partition ) >> : result",
    exchanges=True)  # fmt: skip
class ActiveScan(ActiveCombination):
    """The combination of the values of the active work-items up to this one, or before it.

    Where there is none before it, that is the value which changes no other: 0 for `add`, -inf for `max` of floats.
    """

    among: str = modifier({name: name for name in COUNTED[1:]}, required=True, doc="whether one's own value counts")


@op(DEVICE, "active_partition", Where.SPMD, "SPV_NV_shader_subgroup_partitioned OpGroupNonUniformPartitionEXT",
    "a : results", exchanges=True)  # fmt: skip
class ActivePartition(Op):
    """The active work-items that have the same value as this one, as a ballot."""

    a: Value = operand(SCALAR, "the value")
    results: tuple[Value, ...] = results(exactly(I32), "the ballot")


for _combination in (ActiveReduce, ActiveScan):
    DEVICE.rules(_combination, _OPERATOR, _PARTITION, _same(NON_UNIFORM))
DEVICE.rules(ActiveReduce, _CLUSTER)
DEVICE.rules(ActiveRotate, _CLUSTER)
DEVICE.rules(ActivePartition, _ballot("results", NON_UNIFORM))
