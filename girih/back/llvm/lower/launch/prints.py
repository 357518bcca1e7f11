"""The records of prints, the same for all targets; who launched the kernel makes lines of them when it has ended.

Memory for prints begins with a header of `PRINT_HEADER_BYTES`, whose first word counts the records that were asked for;
the first `MOST_LINES` of them follow, each of the bytes of the longest (`girih.analysis.prints`). Threads write in any
order: a record tells its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from girih.analysis.prints import HEADER_WORDS, MOST_LINES, KernelPrints, PrintSite
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.slots import PRINT_HEADER_BYTES


def new_record(w: Writer, memory: Val, prints: KernelPrints) -> Val:
    """The address of a new record in the memory for prints; null where there is no room for one more."""
    name = "girih.print"
    if name not in w.module.helpers:
        w.module.helpers.add(name)
        _define(w.__class__(w.module, f"define internal ptr @{name}(ptr %prints) noinline cold nounwind"), prints)
    return w.effect("ptr", f"call ptr @{name}({memory})")


@contextmanager
def printed_record(w: Writer, memory: Val, prints: KernelPrints) -> Iterator[Val]:
    """A context for code that fills a new record, whose address it gets; it is executed if there is room for one."""
    place = new_record(w, memory, prints)
    with w.when(w.compare("ne", w.convert("ptrtoint", place, "i64"), 0)):
        yield place


def write_header(w: Writer, place: Val, site: PrintSite, where: Sequence[Val]) -> None:
    """Write the first words of a record; `where` are work-group, step, subgroup and lane, as `i64`."""
    header = (integer(site.number), *where)
    assert len(header) == HEADER_WORDS
    for number, word in enumerate(header):
        w.store(word, w.at(place, 8 * number), 8)


def record_word(w: Writer, part: Val, unsigned: bool) -> Val:
    """A part of a number in 8 bytes: an integer extended by its sign, the bits of an f64, or of an f32 with zeros."""
    if part.type == "double":
        return w.convert("bitcast", part, "i64")
    if part.type == "float":
        return w.convert("zext", w.convert("bitcast", part, "i32"), "i64")
    return w.convert("zext" if unsigned else "sext", part, "i64")


def _define(w: Writer, prints: KernelPrints) -> None:
    memory = Val("%prints", "ptr")
    number = w.atomic_update("add", memory, integer(1), 8)
    place = w.at(memory, w.add(w.mul(number, 8 * prints.record_words), PRINT_HEADER_BYTES))
    w.ret(w.select(w.compare("ult", number, MOST_LINES), place, Val("null", "ptr")))
    w.finish()
