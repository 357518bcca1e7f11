"""Components of a matrix that are combined with each other, in pairs: those of a row, of a column, of a block, or all.

The matrix goes through shared memory, and each work-item combines, one after the other, the components that go into
those which it holds of the result.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    Matrix,
    Parts,
    components,
    each,
    give_back,
    new_arrays,
    read,
    read_parts,
    write_parts,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position, holder, holders, layout, position
from girih.back.llvm.lower.one_lane.matrix.staging import Convert, Exchange, SharedNumbers
from girih.ir.types import I32, CoopMatrix, Number
from girih.lazy_dataclass import dataclass

Pair = Callable[[Parts, Parts, Position], Parts]
"""The combination of two, for the component at a place of the result."""


@dataclass(frozen=True, slots=True)
class Combination:
    """How the components of a matrix are combined, as numbers of a type into which `convert` brings them.

    The component at a row and column of the `result` is the combination of `count` components, of which `place` says
    where the k-th is.
    """

    number: Number
    convert: Convert
    result: CoopMatrix
    count: int
    place: Callable[[Position, Val], tuple[Val, Val]]
    pair: Pair


def fold(code: OneLaneCode, m: Matrix, how: Combination, end: Callable[[Val, Parts], None]) -> None:
    """Combine components, and `end` each of the result's that the work-item holds: by its number, and what it is."""
    exchange = Exchange(code, m, how.number, how.convert)
    count = components(code, how.result)
    if exchange.whole:
        exchange.each_piece(lambda: each(code, count, lambda k: end(k, _at_once(code, exchange, how, k)), weight=8))
        return
    sums, begun = new_arrays(code, how.number, count), new_arrays(code, I32, count)
    each(code, count, lambda k: write_parts(code, begun, k, (integer(0, "i32"),)))

    def piece(component: Val) -> None:
        before = (*read_parts(code, begun, I32, component), *read_parts(code, sums, how.number, component))
        after = _of_piece(code, exchange, how, component, before)
        write_parts(code, (*begun, *sums), component, after)

    exchange.each_piece(lambda: each(code, count, piece, weight=8))
    each(code, count, lambda k: end(k, read_parts(code, sums, how.number, k)))
    give_back(code, sums, how.number, count)
    give_back(code, begun, I32, count)


def _at_once(code: OneLaneCode, exchange: Exchange, how: Combination, component: Val) -> Parts:
    """A combination of a matrix that is all in shared memory."""
    at = position(code, how.result, component)

    def combined() -> Parts:
        first = exchange.at(*how.place(at, integer(0, "i32")))
        with code.w.loop(1, how.count, 1, first) as loop:
            other = exchange.at(*how.place(at, code.w.convert("trunc", loop.index, "i32")))
            loop.following = how.pair(loop.values, other, at)
        return loop.results

    if at.exists is None:
        return combined()
    return tuple(code.w.either(at.exists, combined, lambda: zero_parts(how.number)))


def _of_piece(code: OneLaneCode, exchange: Exchange, how: Combination, component: Val, before: Parts) -> Parts:
    """A combination after a piece of the matrix: whether it has begun, an i32, and its parts."""
    w, at = code.w, position(code, how.result, component)
    with w.loop(0, how.count, 1, before) as loop:
        row, column = how.place(at, w.convert("trunc", loop.index, "i32"))
        begun, *held = loop.values

        def one(other: Parts, begun: Val = begun, held: Parts = tuple(held)) -> Parts:
            has = w.compare("ne", begun, integer(0, "i32"))
            return (integer(1, "i32"), *w.either(has, lambda: how.pair(held, other, at), lambda: other))

        loop.following = exchange.find(row, column, one, at.exists, otherwise=tuple(loop.values))
    return loop.results


def fold_all(code: OneLaneCode, m: Matrix, pair: Callable[[Parts, Parts], Parts]) -> Parts:
    """The combination of all components: those of each work-item, then of work-items in halves."""
    w, type = code.w, m.type
    held, number = layout(code, type), type.component
    some = min(held.subgroup_size, held.block_rows * held.interleaved_blocks * held.columns)
    own, numbers = holder(code, type), SharedNumbers(code, type, number, holders(code, type))

    def one_by_one() -> Parts:
        with w.loop(1, held.components, 1, read(code, m, integer(0))) as loop:
            exists = position(code, type, loop.index).exists
            other = read(code, m, loop.index)
            if exists is None:
                loop.following = pair(loop.values, other)
            else:
                loop.following = w.either(exists, lambda: pair(loop.values, other), lambda: loop.values)
        return loop.results

    # Those that hold none have nothing to begin with.
    holds = w.compare("ult", own, integer(some, "i32"))
    mine = one_by_one() if some == held.subgroup_size else tuple(
        w.either(holds, one_by_one, lambda: zero_parts(number)))  # fmt: skip
    numbers.begin()
    numbers.put(own, mine)
    numbers.ready()
    with w.loop(0, (some - 1).bit_length(), 1, [integer(some, "i32"), *mine]) as loop:
        left, *before = loop.values
        half = w.binary("lshr", w.add(left, integer(1, "i32")), integer(1, "i32"))
        partner = w.add(own, half)
        kept = tuple(before)
        after = w.either(w.compare("ult", partner, left), lambda: pair(kept, numbers.get(partner)), lambda: kept)
        numbers.begin()
        numbers.put(own, tuple(after))
        numbers.ready()
        loop.following = [half, *after]
    found = numbers.get(integer(0, "i32"))
    numbers.end()
    return found
