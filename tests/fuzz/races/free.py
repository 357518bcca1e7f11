"""Random programs that are free of races by construction; the same seed gives the same one.

A program is a list of parts, which the work-group executes one after the other: regions of work-items with barriers,
points, tiles, collective instructions, and hand-over by release and acquire. `kernel.Ledger` says what may stand in
the first ones, `handover.py` has the patterns of the last.
"""

from __future__ import annotations

import random

from girih.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Number
from girih.ops.tile.memory import Scope
from tests.fuzz.races.handover import hand_over
from tests.fuzz.races.kernel import ELEMENTS, Array, Kernel, Launch, Touch, Who
from tests.fuzz.races.ordered import AccessKind, Place
from tests.fuzz.races.region import Region, access

SHAPES = (
    (2, (2, 1)),
    (2, (4, 1)),
    (2, (2, 2)),
    (4, (4, 1)),
    (4, (8, 1)),
    (4, (4, 2)),
    (8, (8, 1)),
    (1, (4, 1)),
    (8, (8, 2)),
)
"""Subgroup sizes and work-group sizes."""

COMPUTED: tuple[Number, ...] = (I8, I16, I32, I64, F16, BF16, F32, F64)
PARTS = {"work-items": 4, "points": 2, "tiles": 1.5, "collective": 1.5, "repeated": 1}


def free_program(seed: int) -> Launch:
    """A program, and how to launch it."""
    source = random.Random(seed)
    handing = source.random() < 0.4
    size, shape = source.choice(SHAPES[:7] if handing else SHAPES)
    kernel = Kernel(source, source.choice((1, 1, 2, 2, 3) if not handing else (1, 2, 2)), size, shape)
    count = source.randint(1, 3)
    place = source.randrange(count) if handing else -1
    if not handing or count > 1:
        _arrays(kernel)
    for part in range(count):
        if part == place:
            hand_over(kernel)
        else:
            PART[source.choices(list(PARTS), list(PARTS.values()))[0]](kernel)
    return kernel.launch(seed)


def _arrays(kernel: Kernel) -> None:
    """A few arrays; those in local memory are filled."""
    source = kernel.source
    for _ in range(source.randint(2, 3)):
        local = kernel.chance(0.5)
        groups = 1 if local or kernel.chance(0.4) else kernel.grid
        size = kernel.items * source.choice((1, 2)) * (kernel.grid if groups == 1 and not local else 1)
        kernel.open.append(kernel.array(source.choice(ELEMENTS), size, local=local, groups=groups))


def _close(kernel: Kernel, region: Region, head: list[str]) -> None:
    """The region with its lines, at the end of which everything is ordered."""
    region.own()
    for _ in range(kernel.source.randint(2, 6)):
        region.add()
    kernel.lines += [*head, *region.lines, "}"]
    kernel.ledger.barrier(local=True, everywhere=True)


def work_items(kernel: Kernel) -> None:
    """`parallel`, in which work-items exchange values behind barriers."""
    head, ordinal, lane, subgroup = kernel.work_item()
    region = Region(kernel, kernel.work_items(), ordinal, kernel.items, lane, subgroup, barriers=True)
    _close(kernel, region, head)


def points(kernel: Kernel) -> None:
    """`foreach` over one or two variables."""
    serial = kernel.names
    rows = kernel.source.choice((1, 2, 3))
    columns = kernel.source.choice((2, 3, kernel.items // rows or 1))
    count, zero = rows * columns, kernel.constant(0)
    ordinal = kernel.name()
    if rows == 1:
        head = [f"foreach ({ordinal}) = ({zero}), ({kernel.constant(count)}) {{"]
    else:
        i, j, moved = kernel.name(), kernel.name(), kernel.name()
        head = [
            f"foreach ({i}, {j}) = ({zero}, {zero}), ({kernel.constant(rows)}, {kernel.constant(columns)}) {{",
            f"{moved} = mul {j}, {kernel.constant(rows)} : index",
            f"{ordinal} = add {i}, {moved} : index",
        ]
    everybody = [
        Who(("point", serial, g, x), Place(g, ("point", serial, x)), x)
        for g in range(kernel.grid)
        for x in range(count)
    ]
    _close(kernel, Region(kernel, everybody, ordinal, count), head)


def tiles(kernel: Kernel) -> None:
    """`foreach_tile` over tiles with an element for each lane."""
    serial, size = kernel.names, kernel.subgroup_size
    tiles_ = kernel.source.randint(1, 3)
    t, n, lane, lane_index, ordinal = (kernel.name() for _ in range(5))
    head = [
        f"foreach_tile ({t}) = ({kernel.constant(0)}), ({kernel.constant(tiles_ * size)}) as ({n}) <= ({size}) {{",
        f"{lane} = subgroup_local_id : i32",
        f"{lane_index} = cast {lane} : index",
        f"{ordinal} = add {t}, {lane_index} : index",
    ]
    everybody = [
        Who(("tile", serial, g, x), Place(g, ("tile", serial, x // size)), x, x % size)
        for g in range(kernel.grid)
        for x in range(tiles_ * size)
    ]
    _close(kernel, Region(kernel, everybody, ordinal, tiles_ * size), head)


def collective(kernel: Kernel) -> None:
    """Collective instructions, and loads and stores of the work-group as one."""
    for _ in range(kernel.source.randint(1, 3)):
        if kernel.chance(0.5):
            _algebra(kernel)
        else:
            region = Region(kernel, kernel.work_groups(), "", 1)
            statement = access(region)
            if statement is not None and statement.enter(kernel.ledger, 0):
                kernel.lines += statement.lines
        kernel.ledger.barrier(local=True, everywhere=True)


def _algebra(kernel: Kernel) -> None:
    """`axpby`, `hadamard` or `cumsum` from one array to another of the same type, or an atomic update."""
    source = kernel.source
    known = [(a, b) for a in kernel.open for b in kernel.open
             if a is not b and (a.element, a.size) == (b.element, b.size) and a.element in COMPUTED]  # fmt: skip
    if not known:
        same = source.choice(kernel.open)
        if same.element not in COMPUTED:
            return
        groups = 1 if kernel.chance(0.5) else kernel.grid
        known = [(same, kernel.array(same.element, same.size, groups=groups))]
    a, b = source.choice(known)
    atomic = kernel.chance(0.4)
    kind = AccessKind.ATOMIC_UPDATE if atomic else AccessKind.WRITE
    touches = [
        Touch(a.touched(who, n), a.local, who, AccessKind.READ) for who in kernel.work_groups() for n in range(a.size)
    ]
    touches += [Touch(b.touched(who, n), b.local, who, kind, Scope.DEVICE)
                for who in kernel.work_groups() for n in range(b.size)]  # fmt: skip
    if not kernel.ledger.take(touches):
        return
    one = kernel.literal("1" if a.element.family == "integer" else "1.0", str(a.element))
    if atomic:
        kernel.features.add("atomic")
    names = [_own_part(kernel, array) for array in (a, b)]
    word = source.choice(("axpby", "hadamard", "cumsum"))
    sources = {"axpby": names[0], "hadamard": f"{names[0]}, {names[0]}", "cumsum": f"{names[0]}, 0"}[word]
    kernel.lines.append(f"{word}{'.atomic' if atomic else ''} {one}, {sources}, {one}, {names[1]}")


def _own_part(kernel: Kernel, array: Array) -> str:
    if array.groups == 1:
        return f"%{array.name}"
    view = kernel.name()
    kernel.lines.append(f"{view} = subview %{array.name}[0:{array.size}, %g] : memref<{array.element}x{array.size}>")
    return view


def repeated(kernel: Kernel) -> None:
    """The same part again and again, in a loop of the work-group."""
    variable, rounds = kernel.name(), kernel.source.randint(2, 3)
    before, kernel.lines = kernel.lines, []
    PART[kernel.source.choice(("work-items", "points", "tiles"))](kernel)
    head = f"for {variable} = {kernel.constant(0)}, {kernel.constant(rounds)} {{"
    kernel.lines = [*before, head, *kernel.lines, "}"]


PART = {"work-items": work_items, "points": points, "tiles": tiles, "collective": collective, "repeated": repeated}
