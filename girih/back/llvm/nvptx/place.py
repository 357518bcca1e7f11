"""The place of a thread: its work-group in the grid, and its numbers there (docs/design/cuda.md, "Threads")."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.code import KernelGeometry
from girih.back.llvm.nvptx.machine.code import WARP, PackedWorkGroups
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.lazy_dataclass import dataclass

Grid = tuple[Val, Val, Val]


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """The place of a thread; `slot` is the number of its work-group among those that a CTA executes side by side.

    `beyond` says whether that is none of the grid, where threads of such ones go on.
    """

    group: Grid
    thread: Val
    subgroup: Val
    lane: Val
    slot: Operand = 0
    beyond: Val | None = None


def place_of(
    w: NvptxWriter, grid: Grid, geometry: KernelGeometry, packing: PackedWorkGroups | None, *, linear: bool
) -> ThreadPlace:
    """The place of a thread in a grid of work-groups, which are counted if it is `linear`."""
    x, y, z = _counted(w, grid) if linear else _hardware_group(w)
    thread, place = _special(w, "tid.x"), w.value(0)
    beyond = None
    if packing is not None:
        x, thread, place, beyond = _packed(w, packing, x, grid[0], thread)
    lane, subgroup = _place(w, thread, geometry)
    return ThreadPlace((x, y, z), thread, subgroup, lane, place, beyond)


def _hardware_group(w: NvptxWriter) -> Grid:
    return _special(w, "ctaid.x"), _special(w, "ctaid.y"), _special(w, "ctaid.z")


def _leave(w: NvptxWriter) -> None:
    """End the thread."""
    w.module.declare("llvm.nvvm.exit", "void", ())
    w.run("llvm.nvvm.exit")
    w.unreachable()


def _special(w: NvptxWriter, name: str) -> Val:
    """A special register as an index."""
    held = w.intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", "i32")
    return w.convert("zext", held, "i64")


def _counted(w: NvptxWriter, grid: Grid) -> Grid:
    """The place of a work-group by its number, x first; those behind the last one of the grid end at once.

    The number is spread over x and y of CUDA's grid, of which there may be a few too many.
    """
    x, y, z = grid
    number = w.add(_special(w, "ctaid.x"), w.mul(_special(w, "nctaid.x"), _special(w, "ctaid.y")))
    w.unlikely(w.compare("uge", number, w.mul(w.mul(x, y), z)), lambda: _leave(w))
    line = w.binary("udiv", number, x)
    return w.binary("urem", number, x), w.binary("urem", line, y), w.binary("udiv", line, y)


def _place(w: NvptxWriter, thread: Val, geometry: KernelGeometry) -> tuple[Val, Val]:
    """The lane of a thread, an i32, and the number of its subgroup, an i64."""
    size = geometry.subgroup_size
    lane = w.convert("trunc", w.binary("and", thread, integer(size - 1)), "i32")
    return lane, w.binary("lshr", thread, integer(size.bit_length() - 1))


def _packed(
    w: NvptxWriter, packing: PackedWorkGroups, group: Val, groups: Val, thread: Val
) -> tuple[Val, Val, Val, Val | None]:
    """The place along x of a packed work-group, the number of a thread in it, and the number of it among the packed.

    Threads whose work-group is beyond the grid end at once: nobody waits for them. Where threads of a warp compute
    together they take the place of the last work-group; the last result is whether they do.
    """
    if packing.together:
        w.members = integer(-1, "i32")
    elif packing.threads <= WARP:
        first = w.convert("trunc", w.binary("and", thread, integer(WARP - packing.threads)), "i32")
        w.members = w.binary("shl", integer((1 << packing.threads) - 1, "i32"), first)
    if packing.count == 1:
        return group, thread, w.value(0), None
    place = w.binary("lshr", thread, integer(packing.threads.bit_length() - 1))
    group = w.add(w.mul(group, packing.count), place)
    own = w.binary("and", thread, integer(packing.threads - 1))
    beyond = w.compare("sge", group, groups)
    if packing.together:
        return w.smaller(group, w.sub(groups, 1)), own, place, beyond
    w.unlikely(beyond, lambda: _leave(w))
    return group, own, place, None
