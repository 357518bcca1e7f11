"""Operations on the active work-items of a subgroup, as operations on vectors (`girih.ops.device.subgroup`).

A lane that is not active has an element all the same: where others combine what it has, that is replaced by what
changes nothing; where others ask for it, the result is undefined, and is whatever stands there. So is the result for a
work-item that does not exist, which is never looked up outside of the vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.folding import lane_values
from girih.back.llvm.emit.text import (
    Operand,
    Val,
    bits,
    constant_vector,
    floating,
    integer,
    lanes,
    scalar,
    stored_type,
    wide,
    zero,
)
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.values import Scalar, register, uniform
from girih.ir.core import Op, Value
from girih.ir.types import BOOL, I32, Boolean, Number
from girih.ops.device.subgroup import (
    WORDS,
    ActiveAll,
    ActiveAllEqual,
    ActiveAny,
    ActiveBallot,
    ActiveBroadcast,
    ActiveBroadcastFirst,
    ActiveCombination,
    ActiveElect,
    ActivePartition,
    ActiveQuadBroadcast,
    ActiveReduce,
    ActiveRotate,
    ActiveScan,
    ActiveShuffle,
    BallotBit,
    BallotCount,
    BallotFind,
    InverseBallot,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

_WORD = 32


def _vector(code: CpuCode, value: Value) -> Val:
    """The elements of a value, one for each lane."""
    (part,) = code.vector(code.scalar(value))
    return part


def _mask_word(code: CpuCode, mask: Val) -> Val:
    """A mask as an integer with a bit for each lane."""
    return mask if lanes(mask.type) == 1 else code.w.convert("bitcast", mask, f"i{lanes(mask.type)}")


def _lanes_of(code: CpuCode, word: Val) -> Val:
    """The mask whose lanes are the bits of an integer."""
    return word if code.lanes == 1 else code.w.convert("bitcast", word, wide("i1", code.lanes))


def _active(code: CpuCode, condition: Val) -> Val:
    """A condition for each lane, false for those that are not active."""
    return code.w.both(condition, code.mask) or condition


# --- votes -----------------------------------------------------------------------------------


@LOWERINGS.of(ActiveElect)
def elect(code: CpuCode, op: ActiveElect) -> None:
    """Lower the choice of the active lane with the lowest number."""
    w = code.w
    if code.mask is None:
        first = integer(1, "i1") if code.lanes == 1 else constant_vector([1] + [0] * (code.lanes - 1), "i1")
    else:
        word = _mask_word(code, code.mask)
        first = _lanes_of(code, w.binary("and", word, w.sub(zero(word.type), word)))
    code.set(op.result, uniform(BOOL, first))


@LOWERINGS.of(ActiveAll)
def all_(code: CpuCode, op: ActiveAll) -> None:
    """Lower the question whether a condition holds for all active lanes."""
    held = code.scalar(op.a)
    if not held.uniform:
        missed = _active(code, code.w.negated(_vector(code, op.a)))
        held = uniform(BOOL, code.w.negated(code.w.any(missed)))
    code.set(op.result, held)


@LOWERINGS.of(ActiveAny)
def any_(code: CpuCode, op: ActiveAny) -> None:
    """Lower the question whether a condition holds for some active lane."""
    held = code.scalar(op.a)
    if not held.uniform:
        held = uniform(BOOL, code.w.any(_active(code, _vector(code, op.a))))
    code.set(op.result, held)


@LOWERINGS.of(ActiveAllEqual)
def all_equal(code: CpuCode, op: ActiveAllEqual) -> None:
    """Lower the comparison of all active lanes with the first of them."""
    w, held = code.w, code.scalar(op.a)
    (first,) = code.one(held)
    one = held.parts[0] if held.uniform else _vector(code, op.a)
    same = arith.compare(w, "equal", held.type, (one,), (w.splat(first, lanes(one.type)),))
    missed = w.negated(same)
    missed = missed if lanes(missed.type) == 1 else _active(code, missed)
    code.set(op.result, uniform(BOOL, w.negated(w.any(missed))))


# --- ballots ---------------------------------------------------------------------------------


def _words_of(code: CpuCode, held: Val) -> list[Val]:
    """The ballot of a condition for each lane: numbers that all lanes share."""
    w, word = code.w, _mask_word(code, held)
    width = bits(word.type)
    if width <= _WORD:
        return [w.convert("zext", word, "i32"), *(integer(0, "i32") for _ in range(WORDS - 1))]
    moved = [w.binary("lshr", word, integer(_WORD * k, word.type)) for k in range(width // _WORD)]
    words = [w.convert("trunc", held, "i32") for held in moved]
    return [*words, *(integer(0, "i32") for _ in range(WORDS - len(words)))]


@LOWERINGS.of(ActiveBallot)
def ballot(code: CpuCode, op: ActiveBallot) -> None:
    """Lower the collection of a condition of the active lanes."""
    words = _words_of(code, _active(code, _vector(code, op.a)))
    for result, word in zip(op.results, words, strict=True):
        code.set(result, uniform(I32, word))


def _used(code: CpuCode, words: Sequence[Value]) -> Sequence[Value]:
    """The words of a ballot that have bits of the subgroup."""
    return words[: -(-code.lanes // _WORD)]


def _own_bits(code: CpuCode, word: Val) -> Val:
    """The bits of a word of a ballot that belong to work-items of the subgroup."""
    if code.lanes >= _WORD:
        return word
    return code.w.binary("and", word, integer((1 << code.lanes) - 1, word.type))


@LOWERINGS.of(InverseBallot)
def inverse_ballot(code: CpuCode, op: InverseBallot) -> None:
    """Lower the bit of each lane in a ballot that all share."""
    w = code.w
    held = [code.agreed(op, "ballot", code.scalar(word))[0] for word in _used(code, op.ballot)]
    if code.lanes <= _WORD:
        whole = w.convert("trunc", held[0], f"i{code.lanes}")
    else:
        type = f"i{code.lanes}"
        whole = w.convert("zext", held[0], type)
        for number, word in enumerate(held[1:], 1):
            moved = w.binary("shl", w.convert("zext", word, type), integer(_WORD * number, type))
            whole = w.binary("or", whole, moved)
    code.set(op.result, uniform(BOOL, _lanes_of(code, whole)))


@LOWERINGS.of(BallotBit)
def ballot_bit(code: CpuCode, op: BallotBit) -> None:
    """Lower a bit of a ballot."""
    w = code.w
    number, *words = code.together(_number(code, op.number), *(code.scalar(word) for word in _used(code, op.ballot)))
    position, chosen = _wrapped(code, number[0]), words[0][0]
    for count, word in enumerate(words[1:], 1):
        beyond = w.compare("uge", position, integer(_WORD * count, position.type))
        chosen = w.select(beyond, word[0], chosen)
    bit = w.binary("lshr", chosen, w.binary("and", position, integer(_WORD - 1, position.type)))
    code.set(op.result, uniform(BOOL, w.convert("trunc", bit, "i1")))


def _number(code: CpuCode, value: Value) -> Scalar:
    """An integer as i32; what does not fit is no number of a work-item, and its result undefined."""
    held = code.scalar(value)
    if held.type == I32:
        return held
    (part,) = held.parts if held.linear is None else code.vector(held)
    return uniform(I32, code.w.convert("trunc" if bits(part.type) > 32 else "zext", part, "i32"))


def _wrapped(code: CpuCode, number: Val) -> Val:
    """A number of a lane that exists."""
    return code.w.binary("and", number, integer(code.lanes - 1, number.type))


@LOWERINGS.of(BallotCount)
def ballot_count(code: CpuCode, op: BallotCount) -> None:
    """Lower the number of bits of a ballot, of all lanes or of those below."""
    w = code.w
    scans = op.among != "reduce" and code.lanes > 1
    total: Val | None = None
    for number, value in enumerate(_used(code, op.ballot)):
        (word,) = code.vector(code.scalar(value)) if scans else code.together(code.scalar(value))[0]
        if scans:
            word = w.binary("and", word, _below(code, number, own=op.among == "inclusive"))
        else:
            word = _own_bits(code, word) if op.among != "exclusive" else zero(word.type)
        count = w.overloaded("ctpop", word)
        total = count if total is None else w.add(total, count)
    assert total is not None
    code.set(op.result, uniform(I32, total))


def _below(code: CpuCode, number: int, *, own: bool) -> Val:
    """Word `number` of the ballots with the bits of the lanes below each lane, and its own."""
    masks = [((2 << lane) - 1 if own else (1 << lane) - 1) >> _WORD * number for lane in range(code.lanes)]
    return constant_vector([mask & 2**_WORD - 1 for mask in masks], "i32")


@LOWERINGS.of(BallotFind)
def ballot_find(code: CpuCode, op: BallotFind) -> None:
    """Lower the lowest or highest bit that is set."""
    w = code.w
    held = code.together(*(code.scalar(word) for word in _used(code, op.ballot)))
    numbered = list(enumerate(_own_bits(code, word) for (word,) in held))
    found: Val | None = None
    for number, word in numbered[::-1] if op.end == "lowest" else numbered:
        name = "cttz" if op.end == "lowest" else "ctlz"
        called = f"llvm.{name}.{'v' + str(lanes(word.type)) if lanes(word.type) > 1 else ''}i32"
        count = w.intrinsic(called, word.type, word, integer(0, "i1"))
        count = count if op.end == "lowest" else w.sub(integer(_WORD - 1, word.type), count)
        place = w.add(count, integer(_WORD * number, word.type))
        found = place if found is None else w.select(w.compare("ne", word, zero(word.type)), place, found)
    assert found is not None
    code.set(op.result, uniform(I32, found))


# --- values of others ------------------------------------------------------------------------


def _picked(code: CpuCode, op: Op, value: Value, positions: Callable[[int], int]) -> None:
    """Set the result to the elements at positions that are known for each lane; those outside are any."""
    known = [positions(lane) for lane in range(code.lanes)]
    picks = [position if 0 <= position < code.lanes else lane for lane, position in enumerate(known)]
    code.set(op.results[0], uniform(code.scalar(value).type, code.w.shuffle(_vector(code, value), None, picks)))


def _looked_up(code: CpuCode, op: Op, value: Value, positions: Val) -> None:
    """Set the result to the elements at positions that lie inside, one for each lane, by way of memory."""
    w, held, count = code.w, _vector(code, value), code.lanes
    element = stored_type(scalar(held.type))
    size = bits(element) // 8
    table = code.scratch(count * size)
    w.store(w.convert("zext", held, element) if element != scalar(held.type) else held, table, size)
    pointers = w.at(table, w.mul(w.convert("zext", positions, "i64"), integer(size, wide("i64", count))))
    type = wide(element, count)
    found = w.gather(type, w.splat(pointers, count), integer(1, wide("i1", count)), size, zero(type))
    found = w.convert("trunc", found, scalar(held.type)) if element != scalar(held.type) else found
    code.set(op.results[0], uniform(code.scalar(value).type, found))


def _same_everywhere(code: CpuCode, op: Op, value: Value) -> bool:
    """Whether all lanes have one value, which is then that of any of them: the result is set."""
    held = code.scalar(value)
    if held.uniform or code.lanes == 1:
        code.set(op.results[0], held)
        return True
    return False


def _own(code: CpuCode) -> Val:
    return code.w.iota(code.lanes, "i32")


@LOWERINGS.of(ActiveBroadcast)
def broadcast(code: CpuCode, op: ActiveBroadcast) -> None:
    """Lower the element of one lane for all."""
    (lane,) = code.agreed(op, "lane", _number(code, op.lane))
    if not _same_everywhere(code, op, op.a):
        _from_lane(code, op, op.a, _wrapped(code, lane))


@LOWERINGS.of(ActiveBroadcastFirst)
def broadcast_first(code: CpuCode, op: ActiveBroadcastFirst) -> None:
    """Lower the element of the first active lane for all."""
    if not _same_everywhere(code, op, op.a):
        _from_lane(code, op, op.a, code.first_lane())


def _from_lane(code: CpuCode, op: Op, value: Value, lane: Operand) -> None:
    element = code.w.extract(_vector(code, value), lane)
    code.set(op.results[0], uniform(code.scalar(value).type, element))


_SOURCES: dict[str, Callable[[int, int], int]] = {
    "at": lambda own, number: number,
    "xor": lambda own, number: own ^ number,
    "up": lambda own, number: own - number,
    "down": lambda own, number: own + number,
}
_OPCODES = {"xor": "xor", "up": "sub", "down": "add"}


@LOWERINGS.of(ActiveShuffle)
def shuffle(code: CpuCode, op: ActiveShuffle) -> None:
    """Lower the elements of other lanes: a shuffle where it is known which, else a look-up."""
    if _same_everywhere(code, op, op.a):
        return
    w, number = code.w, _number(code, op.number)
    known = _known_lanes(code, number)
    if known is not None:
        # Without a sign, a negative number lies outside, as one does that is too large.
        source = _SOURCES[op.by]
        _picked(code, op, op.a, lambda lane: source(lane, known[lane]) if 0 <= known[lane] < code.lanes else lane)
    elif op.by == "at" and number.uniform:
        _from_lane(code, op, op.a, _wrapped(code, number.part))
    else:
        (each,) = code.vector(number)
        moved = each if op.by == "at" else w.binary(_OPCODES[op.by], _own(code), each)
        _looked_up(code, op, op.a, _wrapped(code, moved))


def _known_lanes(code: CpuCode, held: Scalar) -> Sequence[int] | None:
    """The numbers that a value has in the lanes; None where they are not known."""
    linear = held.linear
    if linear is not None:
        first = linear.base.literal
        return None if first is None else [first + lane * linear.stride for lane in range(code.lanes)]
    if held.uniform:
        return None if held.part.literal is None else [held.part.literal] * code.lanes
    return lane_values(held.part)


@LOWERINGS.of(ActiveRotate)
def rotate(code: CpuCode, op: ActiveRotate) -> None:
    """Lower the elements of lanes further around in each cluster."""
    w, cluster = code.w, _cluster(code, op, op.cluster)
    (delta,) = code.agreed(op, "delta", _number(code, op.delta))
    if _same_everywhere(code, op, op.a):
        return
    distance = delta.literal
    if distance is not None:
        _picked(code, op, op.a, lambda lane: lane & -cluster | lane + distance & cluster - 1)
        return
    own = _own(code)
    around = w.binary("and", w.add(own, w.splat(delta, code.lanes)), integer(cluster - 1, own.type))
    _looked_up(code, op, op.a, w.binary("or", w.binary("and", own, integer(-cluster, own.type)), around))


@LOWERINGS.of(ActiveQuadBroadcast)
def quad_broadcast(code: CpuCode, op: ActiveQuadBroadcast) -> None:
    """Lower the elements of one lane of each quad."""
    w = code.w
    (number,) = code.agreed(op, "number", _number(code, op.number))
    if _same_everywhere(code, op, op.a):
        return
    known = number.literal
    if known is not None:
        _picked(code, op, op.a, lambda lane: lane & -4 | known & 3)
        return
    own = _own(code)
    chosen = w.binary("and", w.splat(number, code.lanes), integer(3, own.type))
    _looked_up(code, op, op.a, _wrapped(code, w.binary("or", w.binary("and", own, integer(-4, own.type)), chosen)))


def _cluster(code: CpuCode, op: Op, cluster: int) -> int:
    """The size of the clusters of an instruction; one that is larger than the subgroup is found."""
    return min(cluster, code.lanes) or code.lanes


# --- combinations ----------------------------------------------------------------------------

_INTRINSICS = {"signed_min": "smin", "signed_max": "smax", "unsigned_min": "umin", "unsigned_max": "umax"}


def _combined(code: CpuCode, op: ActiveCombination, a: Val, b: Val) -> Val:
    """The combination of two numbers, or vectors of them."""
    name = _INTRINSICS.get(op.operator)
    if name is not None:
        return code.w.overloaded(name, a, b)
    (found,) = arith.binary(code.w, code.features, op.operator, _type(op), (a,), (b,))
    return found


def _type(op: ActiveCombination) -> Number | Boolean:
    type = op.a.type
    assert isinstance(type, Number | Boolean)
    return type


def _identity(op: ActiveCombination, count: int) -> Val:
    """The value from which a scan starts (SPIR-V 3.52.24), in every lane."""
    type = _type(op)
    vector = wide(register(type), count)
    if isinstance(type, Boolean):
        return integer(int(op.operator == "and"), vector)
    if type.family == "floating":
        infinity = float("inf")
        return floating({"add": 0.0, "mul": 1.0, "min": infinity, "max": -infinity}[op.operator], vector)
    least = -(1 << 8 * type.size - 1)
    values = {"mul": 1, "and": -1, "signed_min": -least - 1, "signed_max": least, "unsigned_min": -1}
    return integer(values.get(op.operator, 0), vector)


def _nothing(op: ActiveCombination, count: int) -> Val:
    """The value that changes no other, to the last bit: -0.0 for sums, NaN for the minimum of floats."""
    type = _type(op)
    if isinstance(type, Number) and type.family == "floating" and op.operator != "mul":
        return floating(-0.0 if op.operator == "add" else float("nan"), wide(register(type), count))
    return _identity(op, count)


def _contributions(code: CpuCode, op: ActiveCombination) -> Val:
    """The elements of the active lanes, and for others what changes nothing."""
    held = _vector(code, op.a)
    return held if code.mask is None else code.w.select(code.mask, held, _nothing(op, code.lanes))


@LOWERINGS.of(ActiveReduce)
def reduce(code: CpuCode, op: ActiveReduce) -> None:
    """Lower a reduction: halves with halves; in clusters, each lane with one further away."""
    w, type = code.w, _type(op)
    if op.partition:
        code.set(op.result, uniform(type, _in_order(code, op, None)))
        return
    cluster = _cluster(code, op, op.cluster)
    held = _contributions(code, op)
    if cluster == code.lanes:
        while lanes(held.type) > 1:
            half = lanes(held.type) // 2
            held = _combined(code, op, w.part(held, 0, half), w.part(held, half, half))
    distance = cluster // 2 if cluster < code.lanes else 0
    while distance:
        moved = w.shuffle(held, None, [lane ^ distance for lane in range(code.lanes)])
        held = _combined(code, op, held, moved)
        distance //= 2
    code.set(op.result, uniform(type, held))


@LOWERINGS.of(ActiveScan)
def scan(code: CpuCode, op: ActiveScan) -> None:
    """Lower a scan: each lane with the one below, then with the combination of two below, and so on."""
    w, type, count = code.w, _type(op), code.lanes
    if op.partition:
        code.set(op.result, uniform(type, _in_order(code, op, op.among)))
        return
    if count == 1:
        code.set(op.result, code.scalar(op.a) if op.among == "inclusive" else uniform(type, _identity(op, 1)))
        return
    held, distance = _contributions(code, op), 1
    while distance < count:
        picks = [lane - distance if lane >= distance else count + lane for lane in range(count)]
        held = _combined(code, op, w.shuffle(held, _nothing(op, count), picks), held)
        distance *= 2
    if op.among == "exclusive":
        start = _identity(op, count)
        held = w.shuffle(held, start, [count, *range(count - 1)])
        if code.mask is not None:
            first = w.convert("trunc", w.value(code.first_lane()), "i32")
            begins = w.compare("ule", _own(code), w.splat(first, count))
            held = w.select(begins, start, held)
    code.set(op.result, uniform(type, held))


# --- partitions ------------------------------------------------------------------------------


@LOWERINGS.of(ActivePartition)
def partition(code: CpuCode, op: ActivePartition) -> None:
    """Lower the active lanes with the same value, one lane after the other."""
    w, held = code.w, _vector(code, op.a)
    type = code.scalar(op.a).type
    words = [zero(wide("i32", code.lanes)) for _ in range(WORDS)]
    for lane in range(code.lanes):
        element = w.splat(w.extract(held, lane), code.lanes)
        same = _and_active(code, arith.compare(w, "equal", type, (held,), (element,)), lane)
        bit = integer(1 << lane % _WORD, words[0].type)
        number = lane // _WORD
        words[number] = w.binary("or", words[number], w.select(same, bit, zero(bit.type)))
    for result, word in zip(op.results, words, strict=True):
        code.set(result, uniform(I32, word))


def _and_active(code: CpuCode, condition: Val, lane: int) -> Val:
    """A condition for each lane, which holds only if one lane is active."""
    if code.mask is None:
        return condition
    return code.w.binary("and", condition, code.w.splat(code.w.extract(code.mask, lane), code.lanes))


def _in_order(code: CpuCode, op: ActiveCombination, among: str | None) -> Val:
    """The combination of the elements of each lane's part of the partition, in the order of their numbers."""
    w, count = code.w, code.lanes
    held = _vector(code, op.a)
    words = [_vector(code, word) for word in _used(code, op.partition)]
    total, some = _nothing(op, count), zero(wide("i1", count))
    for lane in range(count):
        word = words[lane // _WORD]
        bit = w.binary("and", word, integer(1 << lane % _WORD, word.type))
        member = _and_active(code, w.compare("ne", bit, zero(bit.type)), lane)
        if among is not None:
            later = [int(own >= lane if among == "inclusive" else own > lane) for own in range(count)]
            member = w.binary("and", member, constant_vector(later, "i1") if count > 1 else integer(later[0], "i1"))
        element = w.splat(w.extract(held, lane), count)
        total = w.select(member, _combined(code, op, total, element), total)
        some = w.binary("or", some, member)
    return w.select(some, total, _identity(op, count))
