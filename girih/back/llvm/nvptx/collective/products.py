"""Products of factors in shared memory: the sums of a thread's tile, and how they reach the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers, Parts, ScaledTarget
from girih.back.llvm.numbers.values import register
from girih.back.llvm.nvptx.collective.pieces import ACCESS, in_two_ways, is_aligned, result_piece, store_piece, suits
from girih.back.llvm.nvptx.collective.tiles import DealtLines, FactorLayout, ProductTiling
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

_AT_ONCE = 512
"""How many products a thread computes in a row before a loop begins anew."""

_UNROLLED = 1024
"""So many products of a thread are written without a loop."""


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """A factor in shared memory, and the pieces of its lines that a thread has."""

    layout: FactorLayout
    lines: DealtLines
    place: Val
    first: Val
    """The number of the thread's first piece."""

    def pieces(self, code: CudaCode) -> list[tuple[Val, Val | None]]:
        """The first line of each piece, and whether it is one of the factor (None: it always is)."""
        w, lines = code.w, self.lines
        found: list[tuple[Val, Val | None]] = []
        for number in range(lines.pieces):
            piece = w.add(self.first, number * lines.threads)
            sure = lines.is_even or (number + 1) * lines.threads <= lines.all
            inside = None if sure else w.compare("slt", piece, lines.all)
            found.append((w.mul(piece, lines.piece), inside))
        return found

    def places(self, code: CudaCode) -> list[Val]:
        """The addresses of the pieces at the begin of the depth; one that is none is another one's."""
        w, layout = code.w, self.layout
        step = (layout.pitch if layout.along_depth else 1) * layout.size
        last = layout.lines - self.lines.piece
        return [
            w.at(self.place, w.mul(line if inside is None else w.smaller(line, last), step))
            for line, inside in self.pieces(code)
        ]

    def read(self, code: CudaCode, type: str, places: Sequence[Val], begin: int, count: int) -> list[list[Val]]:
        """The numbers of the thread's lines, by step of the depth, from `begin` on."""
        w, layout = code.w, self.layout
        found: list[list[Val]] = [[] for _ in range(count)]
        many = layout.step if layout.along_depth else self.lines.piece
        align = min(ACCESS, many * layout.size)
        for place in places:
            for here in range(0, count, layout.step):
                offset = (begin + here) * (1 if layout.along_depth else layout.pitch) * layout.size
                held = w.load(wide(type, many), w.at(place, offset), align)
                for number in range(many):
                    at = here + number if layout.along_depth else here
                    found[at].append(w.extract(held, number))
        return found


def depth_at_once(left: FactorLayout, right: FactorLayout, sums: int) -> int | None:
    """The steps of the depth of which a loop computes the products at once, for so many sums; None without a loop."""
    if left.depth * sums <= _UNROLLED:
        return None
    chunk = max(left.step, right.step)
    while left.depth % (2 * chunk) == 0 and 2 * chunk * sums <= _AT_ONCE:
        chunk *= 2
    return chunk


def tile_sums(
    code: CudaCode, numbers: CollectiveNumbers, left: SharedFactor, right: SharedFactor, sums: Sequence[Val],
    steps: tuple[int, int] | None = None,
) -> Sequence[Val]:  # fmt: skip
    """The sums of a tile, column by column, with the products of two factors added: of all, or of some steps of their
    depth."""
    w, (begin, end) = code.w, steps or (0, left.layout.depth)
    type = register(numbers.compute)
    step = max(left.layout.step, right.layout.step)
    places = left.places(code), right.places(code)

    def added(places: tuple[Sequence[Val], Sequence[Val]], chunk: int, held: Sequence[Val]) -> list[Val]:
        following = list(held)
        for begin in range(0, chunk, step):
            rows = left.read(code, type, places[0], begin, step)
            columns = right.read(code, type, places[1], begin, step)
            for a, b in zip(rows, columns, strict=True):
                pairs = [(x, y) for y in b for x in a]
                following = [
                    numbers.accumulate((x,), (y,), (one,))[0] for (x, y), one in zip(pairs, following, strict=True)
                ]
        return following

    chunk = depth_at_once(left.layout, right.layout, len(sums))
    if chunk is None:
        return added(places, end, sums)
    with w.loop(begin, end, chunk, tuple(sums)) as loop:
        moved = tuple(
            [w.at(place, w.mul(loop.index, (1 if one.layout.along_depth else one.layout.pitch) * one.layout.size))
             for place in held]
            for one, held in zip((left, right), places, strict=True)
        )  # fmt: skip
        loop.following = added((moved[0], moved[1]), chunk, loop.values)
    return loop.results


def no_sums(numbers: CollectiveNumbers, tiling: ProductTiling) -> list[Val]:
    """The sums of a tile before anything is added."""
    return list(numbers.zero) * tiling.sums


@dataclass(frozen=True, slots=True)
class TilePiece:
    """Sums for neighbours along a column of the target: the index of the first one, and whether they are of it."""

    row: Val
    column: Val
    inside: Val | None
    sums: Parts


def tile_pieces(code: CudaCode, left: SharedFactor, right: SharedFactor, sums: Sequence[Val]) -> list[TilePiece]:
    """The sums of a tile by the elements of the target that they are for."""
    found: list[TilePiece] = []
    many = left.lines.piece
    rest = iter(sums)
    for first, column_inside in right.pieces(code):
        for number in range(right.lines.piece):
            column = code.w.add(first, number)
            for row, row_inside in left.pieces(code):
                own = tuple(next(rest) for _ in range(many))
                found.append(TilePiece(row, column, code.w.both(row_inside, column_inside), own))
    return found


def write_tile(code: CudaCode, target: ScaledTarget, pieces: Sequence[TilePiece], count: int) -> None:
    """Bring the sums of a tile, in pieces of `count` neighbours along a column, to the target."""

    def each(write: Callable[[TilePiece], None]) -> Callable[[], None]:
        def written() -> None:
            for piece in pieces:
                if piece.inside is None:
                    write(piece)
                    continue
                with code.w.when(piece.inside):
                    write(piece)

        return written

    in_two_ways(
        code,
        aligned_target(code, target, count),
        each(lambda piece: write_together(code, target, piece)),
        each(lambda piece: write_apart(code, target, piece)),
    )


def aligned_target(code: CudaCode, target: ScaledTarget, count: int) -> Val | None:
    """Whether pieces of `count` neighbours along columns of the target are written at once; None if never."""
    view = target.view
    if count == 1 or target.atomic or view.strides[0] != 1 or not suits(view):
        return None
    return is_aligned(code, view, count)


def write_together(code: CudaCode, target: ScaledTarget, piece: TilePiece) -> None:
    """Write a piece at once."""
    place = target.view.address(code.w, piece.row, piece.column)
    count = len(piece.sums)
    store_piece(target, result_piece(target, code.w.join(piece.sums), place, count), place, count)


def write_apart(code: CudaCode, target: ScaledTarget, piece: TilePiece) -> None:
    """Write a piece element by element."""
    for number, sum in enumerate(piece.sums):
        target.write((sum,), code.w.add(piece.row, integer(number)), piece.column)
