"""`girih.facts.overlap.first_shared` as code: a function in LLVM IR, which is written where it is needed.

It is hardly ever called, so it keeps the general registers: code around a call does not differ from code without it.
LLVM compiles it without its passes, which take most of the time of a function that is not worth it.
What it needs to know of two boxes it finds in a table, and so does who reports what it found.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.lazy_dataclass import dataclass

_NAME = "girih.first_shared"
_ROW = 32
"""The table has a row for each mode: size and step of the first box, size and step of the other one.

A step is the number of bytes from one slice to the next. A box with fewer modes has size 1 in the other rows. Before
all rows stand the sizes of the elements of both.
"""


@dataclass(frozen=True, slots=True)
class OverlapTable:
    """The table of two boxes in memory, with room for it from `address` on."""

    address: Val
    box: View
    other: View

    @staticmethod
    def bytes(box: View, other: View) -> int:
        """The room that a table needs."""
        return 16 + _ROW * max(len(box.shape), len(other.shape))

    @property
    def rows(self) -> int:
        return max(len(self.box.shape), len(self.other.shape))

    def fill(self, w: Writer) -> None:
        """Write the table."""
        for place, view in ((0, self.box), (8, self.other)):
            w.store(integer(view.element.size), w.at(self.address, place), 8)
            for row in range(self.rows):
                known = row < len(view.shape)
                size = view.shape[row] if known else 1
                step = w.mul(view.strides[row], view.element.size) if known else 0
                start = 16 + _ROW * row + 2 * place
                w.store(w.value(size), w.at(self.address, start), 8)
                w.store(w.value(step), w.at(self.address, start + 8), 8)

    def first_shared(self, w: Writer, distance: Val) -> Val:
        """The number of bytes from the begin of the first box to the first one that is in both; -1 for none."""
        _write_routine(w.module)
        return _call(w, self.address, distance, self.rows, self.rows)

    def same_steps(self, w: Writer) -> Val:
        """Whether the two boxes, of one shape, have the same steps where these matter."""
        same = integer(1, "i1")
        for row in range(self.rows):
            size, step, _, other = _row(w, self.address, row)
            alike = w.binary("or", w.compare("sle", size, 1), w.compare("eq", step, other))
            same = w.binary("and", same, alike)
        return same

    def index_and_shape(self, w: Writer, byte: Val) -> tuple[list[Val], list[Val]]:
        """The index in the first box of the element that has a byte, and its shape."""
        place: list[Val] = []
        shape: list[Val] = []
        for number in reversed(range(len(self.box.shape))):
            size, step, _, _ = _row(w, self.address, number)
            # The step of a mode of size 1 may be any.
            position = w.select(w.compare("sgt", size, 1), w.binary("sdiv", byte, w.larger(step, 1)), integer(0))
            byte = w.sub(byte, w.mul(position, step))
            place.append(position)
            shape.append(size)
        return place[::-1], shape[::-1]


def _row(w: Writer, table: Val, number: Operand) -> list[Val]:
    start = w.at(table, w.add(w.mul(number, _ROW), 16))
    return [w.load("i64", w.at(start, 8 * k), 8) for k in range(4)]


def _call(w: Writer, *operands: Operand) -> Val:
    listed = ", ".join(str(w.value(operand)) for operand in operands)
    return w.effect("i64", f"call preserve_mostcc i64 @{_NAME}({listed})")


def _write_routine(module: ModuleText) -> None:
    """Write the function, if the module does not have it: of the table, the distance, and how many modes are left."""
    if _NAME in module.helpers:
        return
    module.helpers.add(_NAME)
    w = Writer(
        module,
        f"define internal preserve_mostcc i64 @{_NAME}(ptr readonly %table, i64 %distance, i64 %modes, "
        "i64 %other.modes) noinline optnone nounwind cold",
    )
    table, distance = Val("%table", "ptr"), Val("%distance", "i64")
    nothing = integer(0)
    counts = [Val("%modes", "i64"), Val("%other.modes", "i64")]
    spans = [w.load("i64", w.at(table, place), 8) for place in (0, 8)]
    # For each box: its span, and the size, step and number of the last mode that has several slices.
    with w.loop(0, w.larger(*counts), carried=(integer(0, "i1"), *spans, *[nothing] * 6)) as loop:
        empty, held = loop.values[0], loop.values[1:]
        row = _row(w, table, loop.index)
        longer: list[Val] = []
        following: list[Val] = []
        for number, count in enumerate(counts):
            size = w.select(w.compare("slt", loop.index, count), row[2 * number], integer(1))
            behind, step = w.sub(size, 1), row[2 * number + 1]
            several = w.compare("sgt", behind, 0)
            span, (last, last_step, place) = held[number], held[2 + 3 * number : 5 + 3 * number]
            longer.append(w.add(span, w.mul(behind, step)))
            following += [
                w.select(several, behind, last),
                w.select(several, step, last_step),
                w.select(several, loop.index, place),
            ]
            empty = w.binary("or", empty, w.compare("slt", behind, 0))
        loop.following = (empty, *longer, *following)
    _write_slices(w, table, distance, counts, loop.results)


def _write_slices(w: Writer, table: Val, distance: Val, counts: list[Val], found: tuple[Val, ...]) -> None:
    """Write what follows from the last modes: the slices of one box or of both, in pairs, that may meet."""
    none, nothing = integer(-1), integer(0)
    empty, spans, modes = found[0], found[1:3], (found[3:6], found[6:9])
    apart = w.binary("or", w.compare("sge", distance, spans[0]), w.compare("sle", w.add(distance, spans[1]), 0))
    w.unlikely(w.binary("or", apart, empty), lambda: w.ret(none))
    step = w.larger(modes[0][1], modes[1][1])
    w.unlikely(w.compare("eq", step, 0), lambda: w.ret(w.larger(distance, 0)))
    behind, inner, left = [], [], []
    for count, span, (after, mine, place) in zip(counts, spans, modes, strict=True):
        cut = w.compare("eq", mine, step)
        behind.append(w.select(cut, after, nothing))
        inner.append(w.sub(span, w.mul(behind[-1], step)))
        left.append(w.select(cut, place, count))
    least = w.sub(0, _floor(w, w.sub(w.add(distance, inner[1]), 1), step))
    most = _floor(w, w.sub(w.sub(inner[0], 1), distance), step)
    first, last = w.larger(w.sub(0, behind[0]), least), w.smaller(behind[1], most)
    with w.loop(first, w.add(last, 1), carried=(none,)) as loop:
        (best,) = loop.values
        byte = _call(w, table, w.add(distance, w.mul(loop.index, step)), *left)
        moved = w.add(byte, w.mul(w.larger(w.sub(0, loop.index), 0), step))
        shared = w.select(w.compare("slt", byte, 0), none, moved)
        # Seen as a number without a sign, -1 is larger than any other.
        loop.following = (w.select(w.compare("ult", shared, best), shared, best),)
    w.ret(loop.results[0])
    w.finish()


def _floor(w: Writer, a: Val, b: Val) -> Val:
    """The quotient of two integers, rounded down; the second is positive."""
    quotient = w.binary("sdiv", a, b)
    rest = w.sub(a, w.mul(quotient, b))
    return w.add(quotient, w.convert("sext", w.compare("slt", rest, 0), "i64"))
