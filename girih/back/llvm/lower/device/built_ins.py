"""The place of a work-item in three dimensions (`girih.ops.device.built_ins`).

The lanes of a subgroup follow each other along x. Where the sizes let them, a number is the same in all lanes, or grows
by one from lane to lane, so that accesses to memory are those of neighbours.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, constant_vector, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Linear, Scalar, spread, uniform
from girih.ir.types import I32
from girih.ops.device.built_ins import GlobalId, InvocationId, LocalId, LocalIndex, SubgroupMask

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


def _subgroup(code: KernelCode) -> Val:
    return code.w.convert("trunc", code.w.value(code.place.subgroup), "i32")


def _plus(code: KernelCode, base: Val, held: Scalar) -> Scalar:
    """The sum of a number that lanes share, a multiple of their number, and one that grows below that number."""
    w = code.w
    if held.linear is not None:
        return Scalar(I32, (), Linear(w.add(base, held.linear.base), held.linear.stride, exact=True))
    return uniform(I32, w.add(w.splat(base, code.lanes) if not held.uniform else base, held.part))


def _times(code: KernelCode, number: Val, factor: int) -> Val:
    return code.w.mul(number, integer(factor, number.type))


def _within(held: Scalar, size: int) -> Scalar:
    """A number that is known to be below a size."""
    return Scalar(held.type, held.parts, held.linear, integer(size))


@LOWERINGS.of(LocalIndex)
def local_index(code: KernelCode, op: LocalIndex) -> None:
    """Lower the number of the work-item in its work-group."""
    size = code.geometry.subgroup_size
    held = _plus(code, _times(code, _subgroup(code), size), code.work_item())
    code.set(op.result, _within(held, size * code.geometry.subgroups))


@LOWERINGS.of(LocalId)
def local_id(code: KernelCode, op: LocalId) -> None:
    """Lower the number of the work-item along an axis of its work-group."""
    code.set(op.result, _within(_local(code, op), op.sizes[op.axis]))


@LOWERINGS.of(GlobalId)
def global_id(code: KernelCode, op: GlobalId) -> None:
    """Lower the number of the work-item along an axis of the grid."""
    group = code.w.convert("trunc", code.group[op.axis], "i32")
    code.set(op.result, _plus(code, _times(code, group, op.sizes[op.axis]), _local(code, op)))


def _local(code: KernelCode, op: InvocationId) -> Scalar:
    """The number along an axis: that of the work-item, divided by the sizes before, modulo the size along it."""
    w, lanes = code.w, code.geometry.subgroup_size
    x, y, _ = op.sizes
    step, size = (1, x, x * y)[op.axis], op.sizes[op.axis]
    whole = step * size == lanes * code.geometry.subgroups

    def modulo(number: Val) -> Val:
        return number if whole else w.binary("urem", number, integer(size, number.type))

    if size == 1:
        return uniform(I32, integer(0, "i32"))
    if step % lanes == 0:
        divisor = integer(step // lanes, "i32")
        return uniform(I32, modulo(w.binary("udiv", _subgroup(code), divisor)))
    item = code.work_item()
    if lanes % step == 0:
        turns = lanes // step
        mine = _divided(code, item, step)
        if size % turns == 0:
            return _plus(code, modulo(_times(code, _subgroup(code), turns)), mine)
        if turns % size == 0:
            return _divided(code, item, step, size)
    index = _plus(code, _times(code, _subgroup(code), lanes), item)
    number = index.part if index.linear is None else spread(w, index.linear, code.lanes)
    return uniform(I32, modulo(w.binary("udiv", number, integer(step, number.type))))


def _divided(code: KernelCode, item: Scalar, step: int, size: int | None = None) -> Scalar:
    """The number of the work-item in its subgroup, divided by a step, modulo a size."""
    linear = item.linear
    if linear is not None and linear.base.literal == 0 and linear.stride == 1 and code.lanes > 1:
        if step == 1 and size is None:
            return item
        numbers = [lane // step % (size or code.lanes) for lane in range(code.lanes)]
        return uniform(I32, constant_vector(numbers, "i32"))
    w = code.w
    number = item.part if linear is None else linear.base
    number = w.binary("udiv", number, integer(step, "i32"))
    return uniform(I32, number if size is None else w.binary("urem", number, integer(size, "i32")))


@LOWERINGS.of(SubgroupMask)
def subgroup_mask(code: KernelCode, op: SubgroupMask) -> None:
    """Lower a mask of work-items by their numbers: words that are known for each lane, or looked up by the lane."""
    lanes = code.geometry.subgroup_size
    masks = [mask_of(op.relation, lane, lanes) for lane in range(lanes)]
    for number, result in enumerate(op.results):
        words = [_signed(mask >> 32 * number & 2**32 - 1) for mask in masks]
        code.set(result, uniform(I32, _known(code, words)))


def mask_of(relation: str, lane: int, lanes: int) -> int:
    """The bits of the work-items whose numbers compare so with one's own."""
    everybody, own = (1 << lanes) - 1, 1 << lane
    less = own - 1
    return {
        "equal": own,
        "greater": everybody & ~less & ~own,
        "greater_equal": everybody & ~less,
        "less": less,
        "less_equal": less | own,
    }[relation]


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


def _known(code: KernelCode, words: list[int]) -> Val:
    """The number that each lane knows: a constant vector; with one lane, what is chosen by the work-item's number."""
    if len(set(words)) == 1:
        return integer(words[0], "i32")
    if code.lanes > 1:
        return constant_vector(words, "i32")
    w, item = code.w, code.work_item().part
    chosen = integer(words[0], "i32")
    for number, word in enumerate(words[1:], 1):
        chosen = w.select(w.compare("eq", item, integer(number, "i32")), integer(word, "i32"), chosen)
    return chosen
