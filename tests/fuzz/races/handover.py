"""Hand-over by release and acquire: patterns that are free of races in every order of execution.

Who reads what others wrote has acquired a value that says so. A flag is odd once it was released; a counter that has
counted everybody was released by everybody.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.ir.types import I32, I64
from girih.ops.tile.memory import Scope
from tests.fuzz.races.kernel import ELEMENTS, Array, Kernel
from tests.fuzz.races.region import Region

RELEASE = ("release", "release", "acquire_release", "sequentially_consistent")
ACQUIRE = ("acquire", "acquire", "acquire_release", "sequentially_consistent")
BOTH = ("acquire_release", "acquire_release", "sequentially_consistent")


@dataclass(slots=True)
class Pattern:
    """A pattern under construction: who takes part, and in which memory they meet."""

    kernel: Kernel
    me: str
    """The name of the number of a work-item: in its work-group, or among those of all."""
    count: int
    """The number of those numbers."""
    across: bool
    """Whether work-groups meet, and not the work-items of each."""
    local: bool
    scope: str = ""

    # --- parts of patterns -----------------------------------------------------------------

    def array(self, size: int, *, flags: bool) -> Array:
        """An array in the memory where they meet; flags are 0 at first."""
        element = self.kernel.source.choice((I32, I64) if flags else ELEMENTS)
        zero = self.kernel.constant(0, str(element)) if flags else None
        groups = 1 if self.across or self.local else self.kernel.grid
        return self.kernel.array(element, size, local=self.local, groups=groups, fill=zero)

    def place(self, array: Array, at: str | int) -> str:
        """An element of an array; atomic instructions want a name for its index."""
        name = at if isinstance(at, str) else self.kernel.constant(at)
        return f"%{array.name}[{name}{', %g' if array.groups > 1 else ''}]"

    def number(self, array: Array, value: int) -> str:
        return self.kernel.constant(value, str(array.element))

    def write(self, array: Array, at: str | int) -> str:
        return f"store {self.kernel.number(array.element)}, {self.place(array, at)}"

    def read(self, array: Array, at: str | int) -> str:
        return f"{self.kernel.name()} = load {self.place(array, at)} : {array.element}"

    def semantics(self, known: tuple[str, ...]) -> str:
        return f"{self.scope}.{self.kernel.source.choice(known)}"

    def participants(self, count: int) -> list[int]:
        """Some work-items, and the scope that covers them; less than `count` where there are not enough."""
        kernel = self.kernel
        chosen = kernel.source.sample(range(self.count), min(count, self.count))
        self.covering(chosen)
        return chosen

    def covering(self, chosen: list[int]) -> None:
        """Draw a scope that contains all of some work-items."""
        kernel = self.kernel
        scopes = [Scope.DEVICE, Scope.CROSS_DEVICE]
        if len({number // kernel.items for number in chosen}) == 1:
            scopes.append(Scope.WORK_GROUP)
            if len({number // kernel.subgroup_size for number in chosen}) == 1:
                scopes.append(Scope.SUBGROUP)
        self.scope = kernel.source.choice(scopes).value

    def only(self, number: int, lines: list[str]) -> list[str]:
        """Lines for one work-item."""
        return self.where("equal", self.me, self.kernel.constant(number), lines)

    def where(self, comparison: str, a: str, b: str, lines: list[str]) -> list[str]:
        test = self.kernel.name()
        return [f"{test} = {comparison} {a}, {b} : bool", f"if {test} {{", *lines, "}"]

    def release(self, flag: Array, at: str | int = 0) -> list[str]:
        """Make an even flag odd."""
        kernel, one, place = self.kernel, self.number(flag, 1), self.place(flag, at)
        if kernel.chance(0.4):
            return [f"{kernel.name()} = atomic_add.{self.semantics(RELEASE)} {one}, {place} : {flag.element}"]
        lines = [f"atomic_store.{self.semantics(RELEASE)} {one}, {place}"]
        if kernel.chance(0.25):
            lines.append(f"atomic_store.{self.scope}.relaxed {self.number(flag, 3)}, {place}")
        return lines

    def acquire(self, flag: Array, lines: list[str], at: str | int = 0) -> list[str]:
        """Lines for whoever sees that the flag is odd."""
        kernel, element, place = self.kernel, flag.element, self.place(flag, at)
        value, rest = kernel.name(), kernel.name()
        first = f"{value} = atomic_load.{self.semantics(ACQUIRE)} {place} : {element}"
        if kernel.chance(0.3):
            zero = self.number(flag, 0)
            first = f"{value} = atomic_add.{self.semantics(ACQUIRE)} {zero}, {place} : {element}"
        test = f"{rest} = rem {value}, {self.number(flag, 2)} : {element}"
        return [first, test, *self.where("equal", rest, self.number(flag, 1), lines)]


# --- patterns ----------------------------------------------------------------------------


def flag(p: Pattern) -> list[str]:
    """One writes and sets a flag; others read once they see it. Another one may change the flag in between."""
    source = p.kernel.source
    size = source.randint(1, 3)
    flags, data = p.array(source.randint(1, 2), flags=True), p.array(size, flags=False)
    which = source.randrange(flags.size)
    writer, *readers = p.participants(source.randint(2, 4))
    other = readers.pop() if len(readers) > 1 and p.kernel.chance(0.5) else None
    written = source.sample(range(size), source.randint(1, size))
    blocks = [p.only(writer, [*(p.write(data, n) for n in written), *p.release(flags, which)])]
    for reader in readers:
        reads = p.acquire(flags, [p.read(data, source.choice(written))], which)
        if p.kernel.chance(0.3):
            zero, twice = p.kernel.constant(0), p.kernel.constant(2)
            reads = [f"for {p.kernel.name()} = {zero}, {twice} {{", *reads, "}"]
        blocks.append(p.only(reader, reads))
    if other is not None:
        two = p.number(flags, 2)
        line = f"{p.kernel.name()} = atomic_add.{p.scope}.relaxed {two}, {p.place(flags, which)} : {flags.element}"
        blocks.append(p.only(other, [line]))
    source.shuffle(blocks)
    return [line for block in blocks for line in block]


def last(p: Pattern) -> list[str]:
    """Each writes and counts itself; whoever is last reads all."""
    kernel = p.kernel
    count = kernel.source.randint(2, min(4, p.count))
    p.covering(list(range(count)))
    counter, data = p.array(1, flags=True), p.array(count, flags=False)
    old, place, one = kernel.name(), p.place(counter, 0), p.number(counter, 1)
    reads = [p.read(data, n) for n in kernel.source.sample(range(count), kernel.source.randint(1, count))]
    if kernel.chance(0.3):
        k = kernel.name()
        reads = [f"for {k} = {kernel.constant(0)}, {kernel.constant(count)} {{", p.read(data, k), "}"]
    element = counter.element
    if kernel.chance(0.6):
        counted = [f"{old} = atomic_add.{p.semantics(BOTH)} {one}, {place} : {element}"]
        full = p.number(counter, count - 1)
    else:
        counted = [f"{kernel.name()} = atomic_add.{p.semantics(RELEASE)} {one}, {place} : {element}",
                   f"{old} = atomic_load.{p.semantics(ACQUIRE)} {place} : {element}"]  # fmt: skip
        full = p.number(counter, count)
    lines = [p.write(data, p.me), *counted, *p.where("equal", old, full, reads)]
    return p.where("less_than", p.me, kernel.constant(count), lines)


def groups(p: Pattern) -> list[str]:
    """All work-items write; behind a barrier one of each work-group counts it; all of the last one read."""
    kernel, g = p.kernel, "%g"
    p.scope = kernel.source.choice((Scope.DEVICE, Scope.CROSS_DEVICE)).value
    counter, data = p.array(1, flags=True), p.array(p.count, flags=False)
    answer = kernel.array(I32, 1, local=True)
    old, test, number, seen = (kernel.name() for _ in range(4))
    chosen = kernel.source.randrange(kernel.items)
    first = kernel.name()
    here = kernel.name()
    counting = [
        f"{old} = atomic_add.{p.semantics(BOTH)} {p.number(counter, 1)}, {p.place(counter, 0)} : {counter.element}",
        f"{test} = equal {old}, {p.number(counter, kernel.grid - 1)} : bool",
        f"{number} = select {test}, {kernel.constant(1, 'i32')}, {kernel.constant(0, 'i32')} : i32",
        f"store {number}, %{answer.name}[0]",
    ]
    lines = [
        f"{first} = mul {g}, {kernel.constant(kernel.items)} : index",
        f"{here} = add {first}, {kernel.constant(chosen)} : index",
        p.write(data, p.me),
        "barrier.global",
        *p.where("equal", p.me, here, counting),
        "barrier.global.local",
        f"{seen} = load %{answer.name}[0] : i32",
        *p.where(
            "equal", seen, kernel.constant(1, "i32"), [p.read(data, kernel.source.randrange(p.count)) for _ in range(2)]
        ),
    ]
    kernel.features.add("barrier")
    return lines


def tickets(p: Pattern) -> list[str]:
    """Each draws a number, writes to that place, and reads what the one before wrote if it sees its flag."""
    kernel = p.kernel
    count = kernel.source.randint(2, min(3, p.count))
    p.covering(list(range(count)))
    ticket, flags, data = p.array(1, flags=True), p.array(count, flags=True), p.array(count, flags=False)
    drawn, mine, before = kernel.name(), kernel.name(), kernel.name()
    reads = [f"{before} = sub {mine}, {kernel.constant(1)} : index", *p.acquire(flags, [p.read(data, before)], before)]
    lines = [
        f"{drawn} = atomic_add.{p.scope}.relaxed {p.number(ticket, 1)}, {p.place(ticket, 0)} : {ticket.element}",
        f"{mine} = cast {drawn} : index",
        p.write(data, mine),
        *p.release(flags, mine),
        *p.where("greater_than", mine, kernel.constant(0), reads),
    ]
    return p.where("less_than", p.me, kernel.constant(count), lines)


def relay(p: Pattern) -> list[str]:
    """One hands over to another, who hands over to a third."""
    source = p.kernel.source
    first, second = p.array(1, flags=True), p.array(1, flags=True)
    data = p.array(2, flags=False)
    writer, *others = p.participants(3)
    if len(others) < 2:
        return flag(p)
    behind = [p.write(data, 1), *p.release(second)] if p.kernel.chance(0.5) else p.release(second)
    reads = (
        [p.read(data, 0), p.read(data, 1)] if len(behind) > 1 and behind[0].startswith("store") else [p.read(data, 0)]
    )
    blocks = [
        p.only(writer, [p.write(data, 0), *p.release(first)]),
        p.only(others[0], p.acquire(first, behind)),
        p.only(others[1], p.acquire(second, reads)),
    ]
    source.shuffle(blocks)
    return [line for block in blocks for line in block]


def hand_over(kernel: Kernel) -> None:
    """A region of work-items with a pattern in it, among other instructions."""
    across = kernel.grid > 1 and kernel.chance(0.6)
    local = not across and kernel.chance(0.5)
    known = [flag, flag, last, tickets, relay]
    if across:
        known += [groups, groups]
    head, ordinal, lane, subgroup = kernel.work_item()
    me, count = ordinal, kernel.items
    if across:
        first, me, count = kernel.name(), kernel.name(), kernel.items * kernel.grid
        head += [f"{first} = mul %g, {kernel.constant(kernel.items)} : index", f"{me} = add {first}, {ordinal} : index"]
    pattern = kernel.source.choice(known)(Pattern(kernel, me, count, across, local))
    region = Region(kernel, kernel.work_items(), ordinal, kernel.items, lane, subgroup, barriers=True)
    region.own()
    for _ in range(kernel.source.randint(0, 2)):
        region.add()
    region.lines += pattern
    for _ in range(kernel.source.randint(0, 2)):
        region.add()
    kernel.lines += [*head, *region.lines, "}"]
    kernel.ledger.barrier(local=True, everywhere=True)
    kernel.features |= {"hand-over", "atomic"}
