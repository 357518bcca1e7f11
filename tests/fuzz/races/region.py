"""Random instructions of a region: indices, accesses through views, branches, loops with barriers, matrices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from girih.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Number
from girih.ops.tile.memory import Scope
from tests.fuzz.races.kernel import Array, Computed, Kernel, Ledger, Touch, Who
from tests.fuzz.races.ordered import AccessKind, Place

WIDE = (Scope.DEVICE, Scope.CROSS_DEVICE)
MATRIX_ELEMENTS = (I8, I16, I32, I64, F16, BF16, F32, F64)


@dataclass(slots=True)
class Statement:
    """Some lines, and what they access in an iteration of the loop around; or a barrier with these fences."""

    lines: list[str]
    touches: Callable[[int], list[Touch]] = lambda iteration: []
    local_fence: bool = False
    global_fence: bool = False
    defines: tuple[tuple[str, str], ...] = ()
    """Type and name of the values that it defines."""

    def enter(self, ledger: Ledger, iteration: int) -> bool:
        """Make it happen; False, and nothing, where it conflicts."""
        if not ledger.take(self.touches(iteration)):
            return False
        ledger.barrier(local=self.local_fence, everywhere=self.global_fence)
        return True


@dataclass(slots=True)
class Index:
    """An index: the lines that compute it, its name or number, and what it is."""

    lines: list[str]
    name: str
    number: Computed


@dataclass(slots=True)
class Region:
    """A region under construction: who executes it, and the names of their numbers."""

    kernel: Kernel
    everybody: list[Who]
    ordinal: str
    """The name of the number of a work-item or point in its work-group; "" in a collective region."""
    count: int
    """The number of those numbers."""
    lane: str = ""
    subgroup: str = ""
    iteration: str = ""
    """The name of the variable of the loop around."""
    barriers: bool = False
    owned: dict[str, Index] = field(default_factory=dict)
    """For each array, an index that no other work-item of the group has."""
    values: dict[str, list[str]] = field(default_factory=dict)
    """The names of visible values by type."""
    lines: list[str] = field(default_factory=list)

    # --- what stands in the region ---------------------------------------------------------

    def add(self) -> None:
        """Add a random statement, with a barrier before it where that is needed and drawn; or nothing."""
        kernel = self.kernel
        if not kernel.open:
            return
        if self.barriers and kernel.chance(0.2):
            loop(self)
            return
        if self.barriers and kernel.chance(0.12):
            self._enter(barrier(kernel))
            return
        statement = matrix(self) if self._has_matrices and kernel.chance(0.2) else guarded(self)
        if statement is None or self._enter(statement) or not self.barriers or kernel.chance(0.3):
            return
        fence, ledger = barrier(kernel, both=True), kernel.ledger.copy()
        if fence.enter(ledger, 0) and statement.enter(ledger, 0):
            self._enter(fence)
            self._enter(statement)

    @property
    def _has_matrices(self) -> bool:
        """Whether matrices of a subgroup are used here: where a subgroup is one work-item, it holds all components."""
        return self.barriers and self.kernel.subgroup_size > 1

    def own(self) -> None:
        """Give each work-item an element of its own in the arrays that are large enough."""
        for array in self.kernel.open:
            found = _own(self, array.size) if self.kernel.chance(0.7) else _table(self, array.size)
            if found is not None:
                self.lines += found.lines
                self.owned[array.name] = replace(found, lines=[])

    def _enter(self, statement: Statement) -> bool:
        if not statement.enter(self.kernel.ledger, 0):
            return False
        self.lines += statement.lines
        self.has(statement)
        return True

    def value(self, element: Number) -> str:
        """A value to store."""
        known = self.values.get(str(element), [])
        if known and self.kernel.chance(0.6):
            return self.kernel.source.choice(known)
        return self.kernel.number(element)

    def has(self, statement: Statement) -> None:
        """Make visible what a statement defines."""
        for type, name in statement.defines:
            self.values.setdefault(type, []).append(name)

    def inner(self, **changes: object) -> Region:
        """The region of a branch or loop in this one, which sees its values."""
        values = {type: list(names) for type, names in self.values.items()}
        return replace(self, values=values, lines=[], **changes)  # type: ignore[arg-type]


def barrier(kernel: Kernel, *, both: bool = False) -> Statement:
    """A barrier with random fences, mostly with one at least."""
    local = both or kernel.chance(0.6)
    everywhere = both or kernel.chance(0.6)
    if local or everywhere:
        kernel.features.add("barrier")
    text = "barrier" + ".global" * everywhere + ".local" * local
    return Statement([text], local_fence=local, global_fence=everywhere)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "mul": operator.mul,
    "rem": operator.mod,
    "div": operator.floordiv,
    "xor": operator.xor,
}
"""Instructions on indices that are not negative."""

# --- indices -----------------------------------------------------------------------------


def index(region: Region, size: int, *, own: bool = False) -> Index:
    """An index below `size`; `own` asks for one that each work-item has for itself, if there are enough."""
    source = region.kernel.source
    ways: list[Callable[[Region, int], Index | None]] = [_own, _own, _table]
    if not own or not region.ordinal:
        ways += [_constant, _neighbour, _coarse, _flipped, _of_place]
    if region.iteration:
        ways += [_moving, _buffer, _moving, _buffer]
    for _ in range(4):
        found = source.choice(ways)(region, size)
        if found is not None:
            return found
    return _fixed(region, source.randrange(size))


def _fixed(region: Region, value: int) -> Index:
    return Index([], region.kernel.constant(value), lambda who, k: value)


def _constant(region: Region, size: int) -> Index:
    return _fixed(region, region.kernel.source.randrange(size))


def binary(region: Region, mnemonic: str, a: Index, b: Index) -> Index:
    """An index that an instruction computes of two others."""
    name = region.kernel.name()
    compute = OPERATORS[mnemonic]
    lines = [*a.lines, *b.lines, f"{name} = {mnemonic} {a.name}, {b.name} : index"]
    return Index(lines, name, lambda who, k: compute(a.number(who, k), b.number(who, k)))


def _ordinal(region: Region) -> Index:
    return Index([], region.ordinal, lambda who, k: who.ordinal)


def _everywhere(region: Region) -> Index:
    """The number of a work-item among those of all work-groups."""
    group = Index([], "%g", lambda who, k: who.place.group)
    first = binary(region, "mul", group, _fixed(region, region.count))
    return binary(region, "add", first, _ordinal(region))


def _own(region: Region, size: int) -> Index | None:
    if not region.ordinal or size < region.count:
        return None
    kernel = region.kernel
    whole = kernel.grid > 1 and size >= region.count * kernel.grid
    step = kernel.source.choice([n for n in range(1, size + 1) if math.gcd(n, size) == 1])
    base = _everywhere(region) if whole else _ordinal(region)
    if step == 1 and kernel.chance(0.7):
        return base
    scaled = binary(region, "mul", base, _fixed(region, step))
    moved = binary(region, "add", scaled, _fixed(region, kernel.source.randrange(size)))
    return binary(region, "rem", moved, _fixed(region, size))


def _table(region: Region, size: int) -> Index | None:
    if not region.ordinal or size < region.count:
        return None
    kernel = region.kernel
    numbers = list(range(size))
    kernel.source.shuffle(numbers)
    name, table = kernel.name(), kernel.table(numbers)
    at = _ordinal(region)
    return Index([f"{name} = load %{table}[{at.name}] : index"], name, lambda who, k: numbers[who.ordinal])


def _neighbour(region: Region, size: int) -> Index | None:
    if not region.ordinal:
        return None
    moved = binary(region, "add", _ordinal(region), _constant(region, size))
    return binary(region, "rem", moved, _fixed(region, size))


def _coarse(region: Region, size: int) -> Index | None:
    if not region.ordinal:
        return None
    how = binary(region, region.kernel.source.choice(("div", "rem")), _ordinal(region), _fixed(region, 2))
    return binary(region, "rem", how, _fixed(region, size))


def _flipped(region: Region, size: int) -> Index | None:
    if not region.ordinal:
        return None
    return binary(region, "rem", binary(region, "xor", _ordinal(region), _constant(region, size)), _fixed(region, size))


def _of_place(region: Region, size: int) -> Index | None:
    """The lane or the subgroup."""
    if not region.subgroup:
        return None
    if region.kernel.chance(0.5):
        at = Index([], region.lane, lambda who, k: who.lane)
    else:
        at = Index([], region.subgroup, lambda who, k: who.subgroup)
    return binary(region, "rem", at, _fixed(region, size))


def _moving(region: Region, size: int) -> Index | None:
    if not region.ordinal:
        return None
    k = Index([], region.iteration, lambda who, k: k)
    moved = binary(region, "add", _ordinal(region), binary(region, "mul", k, _constant(region, size)))
    return binary(region, "rem", moved, _fixed(region, size))


def _buffer(region: Region, size: int) -> Index | None:
    """A place in the half of an array that an iteration uses: its own, or the one of the next iteration."""
    half = size // 2
    inside = _own(region, half) if half else None
    if inside is None or (region.kernel.grid > 1 and half >= region.count * region.kernel.grid):
        return None
    k = Index([], region.iteration, lambda who, k: k)
    which = binary(region, "rem", binary(region, "add", k, _fixed(region, region.kernel.source.randint(0, 1))),
                   _fixed(region, 2))  # fmt: skip
    return binary(region, "add", binary(region, "mul", which, _fixed(region, half)), inside)


# --- accesses ----------------------------------------------------------------------------


def through(region: Region, array: Array, at: Index) -> tuple[list[str], str]:
    """Lines, and what stands for an element of an array: `%A[%i]`, or the same through a view."""
    kernel, name = region.kernel, f"%{array.name}"
    element, space = array.element, array.space
    parted = array.groups > 1
    behind = ", %g" if parted else ""
    view = kernel.name()
    match kernel.source.choice(("plain", "plain", "part", "one", "scalar", "expand", "fuse")):
        case "part" if parted:
            whole = f"{view} = subview {name}[0:{array.size}, %g] : memref<{element}x{array.size}>"
            return [*at.lines, whole], f"{view}[{at.name}]"
        case "one":
            part = f"{view} = subview {name}[{at.name}:1{behind}] : memref<{element}x1{space}>"
            return [*at.lines, part], f"{view}[{kernel.constant(0)}]"
        case "scalar":
            part = f"{view} = subview {name}[{at.name}{behind}] : memref<{element}{space}>"
            return [*at.lines, part], f"{view}[]"
        case "expand" if array.size % 2 == 0:
            two, half = _fixed(region, 2), array.size // 2
            row, column = binary(region, "rem", at, two), binary(region, "div", replace(at, lines=[]), two)
            parts = f"x{array.groups}" if parted else ""
            whole = f"{view} = expand {name}[0 -> 2 x {half}] : memref<{element}x2x{half}{parts}{space}>"
            return [*row.lines, *column.lines, whole], f"{view}[{row.name}, {column.name}{behind}]"
        case "fuse" if parted:
            group = Index([], "%g", lambda who, k: who.place.group)
            moved = binary(region, "add", at, binary(region, "mul", group, _fixed(region, array.size)))
            whole = f"{view} = fuse {name}[0, 1] : memref<{element}x{array.size * array.groups}>"
            return [*moved.lines, whole], f"{view}[{moved.name}]"
    return at.lines, f"{name}[{at.name}{behind}]"


Members = Callable[[Who], bool]
"""Who is in a branch."""


def access(region: Region, members: Members = lambda who: True) -> Statement | None:
    """A load, a store, or an atomic access by those who are in a branch."""
    kernel = region.kernel
    array = kernel.source.choice(kernel.open)
    what = kernel.source.choice(("load", "load", "store", "store", "update", "update", "atomic_load", "atomic_store"))
    kind = {"load": AccessKind.READ, "store": AccessKind.WRITE, "update": AccessKind.ATOMIC_UPDATE,
            "atomic_load": AccessKind.ATOMIC_READ, "atomic_store": AccessKind.ATOMIC_WRITE}[what]  # fmt: skip
    if not region.ordinal and kind is AccessKind.ATOMIC_UPDATE:
        return None
    at = region.owned.get(array.name)
    if at is None or kernel.chance(0.4):
        at = index(region, array.size, own=kind is AccessKind.WRITE and kernel.chance(0.8))
    scope = kernel.source.choice(tuple(Scope))
    whos = [who for who in region.everybody if members(who)]

    def touches(iteration: int) -> list[Touch]:
        return [Touch(array.touched(w, at.number(w, iteration)), array.local, w, kind, scope) for w in whos]

    if kind.atomic:
        kernel.features.add("atomic")
        trial = Ledger()
        if not trial.take(touches(0)) or (array.groups == 1 and kernel.grid > 1 and not array.local):
            scope = kernel.source.choice(WIDE if not array.local else (Scope.WORK_GROUP, *WIDE))
    lines, place = through(region, array, at)
    result = kernel.name()
    if what == "update":
        what = "atomic_add" if array.element.family == "complex" else kernel.source.choice(
            ("atomic_add", "atomic_min", "atomic_max"))  # fmt: skip
    word = f"{what}.{scope.value}" if kind.atomic else what
    match kind:
        case AccessKind.READ | AccessKind.ATOMIC_READ:
            line = f"{result} = {word} {place} : {array.element}"
        case AccessKind.ATOMIC_UPDATE:
            line = f"{result} = {word} {region.value(array.element)}, {place} : {array.element}"
        case _:
            line = f"{word} {region.value(array.element)}, {place}"
    returns = kind not in (AccessKind.WRITE, AccessKind.ATOMIC_WRITE)
    return Statement([*lines, line], touches, defines=((str(array.element), result),) if returns else ())


# --- branches and loops ------------------------------------------------------------------


def guarded(region: Region) -> Statement | None:
    """An access, or a branch with a few of them in one or both arms."""
    kernel = region.kernel
    if not region.ordinal or kernel.chance(0.75):
        return access(region)
    test, members = _condition(region)
    lines = [*test.lines, f"if {test.name} {{"]
    arms = [(region.inner(), members)]
    if kernel.chance(0.4):
        arms.append((region.inner(), lambda who: not members(who)))
    found: list[Statement] = []
    for number_, (arm, who) in enumerate(arms):
        lines += ["} else {"] if number_ else []
        for _ in range(kernel.source.randint(1, 2)):
            statement = access(arm, who)
            if statement is not None and Ledger().take(_joined([*found, statement])(0)):
                found.append(statement)
                lines += statement.lines
                arm.has(statement)
    return Statement([*lines, "}"], _joined(found)) if found else None


def _joined(statements: Sequence[Statement]) -> Callable[[int], list[Touch]]:
    return lambda iteration: [touch for statement in statements for touch in statement.touches(iteration)]


def _condition(region: Region) -> tuple[Index, Members]:
    """A condition on the number, the lane or the subgroup, and for whom it holds."""
    kernel, name = region.kernel, region.kernel.name()
    way = kernel.source.choice(("less", "even", "one") if not region.subgroup else ("less", "even", "one", "subgroup"))
    ordinal = _ordinal(region)
    if way == "even":
        rest = binary(region, "rem", ordinal, _fixed(region, 2))
        lines = [*rest.lines, f"{name} = equal {rest.name}, {kernel.constant(0)} : bool"]
        return Index(lines, name, rest.number), lambda who: who.ordinal % 2 == 0
    if way == "subgroup":
        chosen = kernel.source.randrange(kernel.subgroups)
        line = f"{name} = equal {region.subgroup}, {kernel.constant(chosen)} : bool"
        return Index([line], name, ordinal.number), lambda who: who.subgroup == chosen
    least = kernel.source.randint(0, region.count - 1)
    if way == "one":
        line = f"{name} = equal {region.ordinal}, {kernel.constant(least)} : bool"
        return Index([line], name, ordinal.number), lambda who: who.ordinal == least
    line = f"{name} = less_than {region.ordinal}, {kernel.constant(least)} : bool"
    return Index([line], name, ordinal.number), lambda who: who.ordinal < least


def loop(region: Region) -> None:
    """A loop whose iterations exchange values behind barriers."""
    kernel = region.kernel
    variable, rounds = kernel.name(), kernel.source.randint(2, 3)
    inside = region.inner(iteration=variable)
    drawn = [barrier(kernel) if kernel.chance(0.3) else guarded(inside) for _ in range(kernel.source.randint(2, 4))]
    statements = [statement for statement in drawn if statement is not None]
    for _ in range(8):
        ledger = kernel.ledger.copy()
        failed = next(
            (n for k in range(rounds) for n, statement in enumerate(statements) if not statement.enter(ledger, k)), None
        )
        if failed is None:
            break
        before = statements[failed - 1]
        if kernel.chance(0.7) and not (before.local_fence and before.global_fence):
            statements.insert(failed, barrier(kernel, both=True))
        else:
            del statements[failed]
    if failed is not None or not statements:
        return
    kernel.ledger = ledger
    begin, end = kernel.constant(0), kernel.constant(rounds)
    body = [line for statement in statements for line in statement.lines]
    region.lines += [f"for {variable} = {begin}, {end} {{", *body, "}"]


# --- matrices ----------------------------------------------------------------------------


def matrix(region: Region) -> Statement | None:
    """A matrix that each subgroup loads or stores: a tile of its own, or one for all."""
    kernel = region.kernel
    rows = kernel.subgroup_size
    known = [a for a in kernel.open if a.element in MATRIX_ELEMENTS and a.size % rows == 0]
    if not known:
        return None
    array = kernel.source.choice(known)
    columns = array.size // rows
    width = kernel.source.choice([n for n in range(1, columns + 1) if columns % n == 0])
    use = kernel.source.choice(("matrix_acc", "matrix_acc", "matrix_a"))
    type = f"coopmatrix<{array.element}x{rows}x{width},{use}>"
    apart = width * kernel.subgroups <= columns and kernel.chance(0.8)
    left = _fixed(region, width * kernel.source.randrange(columns // width))
    if apart:
        at = Index([], region.subgroup, lambda who, k: who.subgroup)
        left = binary(region, "mul", at, _fixed(region, width))
    store = kernel.chance(0.5)
    kind = AccessKind.WRITE if store else AccessKind.READ
    holders = [who for who in region.everybody if who.lane == 0]

    def touches(iteration: int) -> list[Touch]:
        found = []
        for holder in holders:
            group, subgroup = holder.place
            for row in range(rows):
                for column in range(width):
                    who = Who(("component", group, subgroup, type, row, column), Place(group, subgroup), 0)
                    element = array.touched(who, row + rows * (left.number(holder, iteration) + column))
                    found.append(Touch(element, array.local, who, kind))
        return found

    kernel.features.add("matrix")
    lines, name = _as_matrix(region, array, rows, columns)
    zero = kernel.constant(0)
    if store:
        held = region.values.get(type) or [kernel.literal(_zero(array.element), type)]
        line = f"cooperative_matrix_store {kernel.source.choice(held)}, {name}[{zero}, {left.name}]"
        return Statement([*lines, *left.lines, line], touches)
    result = kernel.name()
    line = f"{result} = cooperative_matrix_load {name}[{zero}, {left.name}] : {type}"
    more = []
    if use == "matrix_a" and kernel.chance(0.5):
        factor = kernel.literal(_zero(array.element), f"coopmatrix<{array.element}x{width}x1,matrix_b>")
        acc = f"coopmatrix<{array.element}x{rows}x1,matrix_acc>"
        more = [f"{kernel.name()} = cooperative_matrix_mul_add {result}, {factor}, "
                f"{kernel.literal(_zero(array.element), acc)} : {acc}"]  # fmt: skip
    return Statement([*lines, *left.lines, line, *more], touches, defines=((type, result),))


def _as_matrix(region: Region, array: Array, rows: int, columns: int) -> tuple[list[str], str]:
    """Lines, and the name of a view of an array, or of the part of a work-group, as a matrix."""
    part, view = region.kernel.name(), region.kernel.name()
    lines, name = [], f"%{array.name}"
    if array.groups > 1:
        lines = [f"{part} = subview {name}[0:{array.size}, %g] : memref<{array.element}x{array.size}>"]
        name = part
    type = f"memref<{array.element}x{rows}x{columns}{array.space}>"
    return [*lines, f"{view} = expand {name}[0 -> {rows} x {columns}] : {type}"], view


def _zero(element: Number) -> str:
    return "0" if element.family == "integer" else "0.0"
