"""The form of a kernel that is a tile program: what is copied when, where matrices are, and who does what.

A `TileKernel` is a value. Its parts are named, and steps say names: rings (shared memory that the copy engine fills, in
turn), stagings (shared memory that it empties), registers (matrices that consumers hold) and maps. Scalars are values
of the ir; `Compute` has the instruction that defines one. Every thread of a role computes the scalars that its steps
use, so that nothing but tiles goes from one role to another. docs/design/tile.md says what each step means.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from girih.ir.core import Function, Op, Value
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.source import Span
from girih.tile.amounts import Amount
from girih.tile.program import SlowerWay
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Fragment

# --- maps and shared memory ---------------------------------------------------------------

Coordinate = Value | int
"""A coordinate of a box: a scalar, or a number that is known. In elements; innermost dimension first in lists."""


@dataclass(frozen=True, slots=True)
class MapRecipe:
    """A tensor map that the host encodes at a launch, from the argument of the memref parameter number `parameter`.

    The tensor begins `offset` elements after the array does. Lists are innermost dimension first; strides are in
    elements, of all dimensions: that of the first must come out as 1. A size of 0 or less is an empty tensor. `box` is
    in elements, its first size times the component's is at most `swizzle` bytes where that is not 0.
    What lies outside is 0 on loading, and left out on storing. For a map that is `stored` through, the first size is a
    multiple of 16 bytes besides: the engine would write up to the next one (measured). What is `rounded`, of f32,
    becomes tf32 on its way. Of a box comes every element whose place in it is a multiple of `steps` along each
    dimension, of all without steps (004 5.5.3.2, "traversal strides").
    """

    name: str
    parameter: int
    component: Number
    offset: Amount
    sizes: tuple[Amount, ...]
    strides: tuple[Amount, ...]
    box: tuple[int, ...]
    swizzle: int
    stored: bool = False
    rounded: bool = False
    steps: tuple[int, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """How many elements of a box come along each dimension."""
        return tuple(-(-n // step) for n, step in zip(self.box, self.steps or (1,) * len(self.box), strict=True))


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A matrix in shared memory: `lines` of `span` neighbouring components, `offset` bytes into a slot.

    It consists of panels, one behind the other, each of all lines and as many neighbours as `swizzle` bytes hold (0,
    32, 64 or 128; with 0 all of them). `by_rows` says that a line is a row of the matrix, otherwise it is a column.
    Lines are a multiple of 8, the span one of `panel`, the offset one of 1024.
    """

    name: str
    component: Number
    lines: int
    span: int
    by_rows: bool
    swizzle: int
    offset: int = 0

    @property
    def panel(self) -> int:
        """The number of neighbours that a panel has of each line."""
        return self.swizzle // self.component.size if self.swizzle else self.span

    @property
    def pitch(self) -> int:
        """The bytes from one line of a panel to the next."""
        return self.panel * self.component.size

    @property
    def panel_bytes(self) -> int:
        """The bytes from one panel to the next."""
        return self.lines * self.pitch

    @property
    def bytes(self) -> int:
        """The bytes of all panels."""
        return self.lines * self.span * self.component.size

    def place(self, line: int, neighbour: int) -> int:
        """The byte of a component, from the begin of the tile, which is a multiple of 1024.

        Swizzles exchange the 16 bytes of a line by the number of the line (004 5.5.6; PTX ISA, "Swizzling modes").
        """
        panel, within = divmod(neighbour, self.panel)
        at = panel * self.panel_bytes + line * self.pitch + within * self.component.size
        return at ^ (at >> 3 & _SWIZZLED_BITS[self.swizzle])


_SWIZZLED_BITS = {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}


@dataclass(frozen=True, slots=True)
class Ring:
    """Shared memory in which slots are filled by the producer and emptied by the consumers, in turn.

    A slot begins at a multiple of 1024 bytes and has room for all `tiles`, which are filled together. It has two
    mbarriers: `full` completes when the bytes of its copies have come, `empty` when all consumers have given it back.
    """

    name: str
    slots: int
    tiles: tuple[SharedTile, ...]

    @property
    def slot_bytes(self) -> int:
        """The bytes from one slot to the next."""
        return max((-(-(tile.offset + tile.bytes) // 1024) * 1024 for tile in self.tiles), default=0)

    def tile(self, name: str) -> SharedTile:
        """The tile of a name."""
        return next(tile for tile in self.tiles if tile.name == name)


@dataclass(frozen=True, slots=True)
class Staging:
    """Shared memory through which registers are stored: each consumer has `tile` for itself, at multiples of 1024."""

    name: str
    tile: SharedTile

    @property
    def consumer_bytes(self) -> int:
        """The bytes from the part of one consumer to that of the next."""
        return -(-self.tile.bytes // 1024) * 1024


# --- registers ----------------------------------------------------------------------------


class Spread(Enum):
    """How a matrix is spread over the 128 threads of a consumer, which has whole rows of it.

    A consumer's rows come in blocks of 64. With `TILE` a thread has its components of the kernel's `Fragment`. With
    `ROWS` all columns are the same: a thread has one number for each of the rows of a block that it has in `TILE`. With
    `COLUMNS` all rows are the same: it has one for each column that it has in `TILE`. With `ONE` all components are the
    same number.
    """

    TILE = "tile"
    ROWS = "rows"
    COLUMNS = "columns"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Registers:
    """A matrix that the consumers hold; consumer c has rows c R .. c R + R - 1, where R is rows / consumers."""

    name: str
    component: Number
    rows: int
    columns: int
    spread: Spread = Spread.TILE


# --- steps of all roles -------------------------------------------------------------------


class TileStep:
    """The base of the steps of a role."""

    __slots__ = ()


Steps = tuple[TileStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Compute(TileStep):
    """Execute an instruction on scalars or memrefs; each thread of the role does so. It writes no memory."""

    op: Op


@dataclass(frozen=True, slots=True, eq=False)
class CarriedNumber:
    """A scalar that a loop carries: `value` in an iteration, `result` behind the loop."""

    value: Value
    initial: Value
    next: Value
    result: Value


@dataclass(frozen=True, slots=True)
class LoopAdvice:
    """What a `for` of the program asks for by hints: so many slots of the rings that its iterations are supplied from.

    `stages` is None where it does not say. Iterations that do not `overlap` have one slot, and wait for their products.
    """

    stages: int | None
    overlap: bool
    span: Span

    @property
    def slots(self) -> int | None:
        """How many slots are asked for."""
        return self.stages if self.overlap else 1


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(TileStep):
    """Execute the body for start, start + step, ... below stop (003 "For"); the step is 1 if left out."""

    variable: Value
    start: Value
    stop: Value
    step: Value | None
    carried: tuple[CarriedNumber, ...]
    body: Steps
    advice: LoopAdvice | None = None

    @property
    def overlaps(self) -> bool:
        """Whether products may run on from one iteration to the next."""
        return self.advice is None or self.advice.overlap


@dataclass(frozen=True, slots=True, eq=False)
class ChosenNumber:
    """A scalar that a branch results in: one of two."""

    result: Value
    then: Value
    otherwise: Value


@dataclass(frozen=True, slots=True, eq=False)
class Choose(TileStep):
    """Execute one of two lists of steps; all threads of all roles choose the same (003 "If")."""

    condition: Value
    then: Steps
    otherwise: Steps
    results: tuple[ChosenNumber, ...] = ()


# --- steps of the producer ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoxPiece:
    """One copy of a box: the bytes from the begin of the tile, and what is added to the coordinates."""

    offset: int
    moved: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A tile that is filled through a map: one copy of a box for each piece, with the coordinates `at` moved."""

    tile: str
    map: str
    at: tuple[Coordinate, ...]
    pieces: tuple[BoxPiece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """A tile that the threads of the producer fill with what a load of the ir loads, at addresses that they compute.

    That is for memory that no map describes. Checks are left out, as everywhere; what the load leaves out is 0.
    A load that decodes may find its `blocks` in a ring of their own, of which the `Supply` before filled a slot.
    """

    tile: str
    op: Op
    blocks: TileFactor | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Supply(TileStep):
    """Wait until the next slot of a ring is empty, and have all its tiles filled."""

    ring: str
    copies: tuple[Copy | Gather, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Verify(TileStep):
    """Check that the tile of a load or store lies in its memory, as the language demands; otherwise note a finding.

    Nobody ends because of it: the copy engine and checked stores leave out what lies outside. It is there only where
    checks are asked for, and executed by one thread, so that others do not have a scalar that it computes.
    """

    op: Op


# --- steps of the consumers ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Await(TileStep):
    """Wait until the next slot of a ring is full; from then on the consumer has it."""

    ring: str


@dataclass(frozen=True, slots=True)
class GiveBack(TileStep):
    """Give the oldest slot of a ring that the consumer has back to the producer, if it has more than `keep`."""

    ring: str
    keep: int = 0


@dataclass(frozen=True, slots=True)
class TileFactor:
    """A factor in shared memory: a tile of the slot that was awaited `behind` slots before the last one.

    Of a left factor a consumer takes the rows of its registers.
    """

    ring: str
    tile: str
    behind: int = 0


@dataclass(frozen=True, slots=True)
class TileProduct:
    """sums := [sums +] left right. A left factor may be in registers, of 16-bit components spread as a tile."""

    sums: str
    left: TileFactor | str
    right: TileFactor
    accumulate: bool = True


@dataclass(frozen=True, slots=True)
class Issue(TileStep):
    """Start products, which run on by themselves, as one group.

    Until a `Settle` has seen to the group, nobody reads or writes its sums and left registers, but for further products
    into the same sums, and no slot that it reads is given back.
    """

    products: tuple[TileProduct, ...]


@dataclass(frozen=True, slots=True)
class Multiply(TileStep):
    """Multiply two factors in shared memory by the threads themselves: the product is in its sums behind the step."""

    product: TileProduct


@dataclass(frozen=True, slots=True)
class Settle(TileStep):
    """Wait until no more than the last `pending` groups of products run."""

    pending: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Componentwise(TileStep):
    """Compute a matrix component by component, as an instruction of the ir does with matrices.

    The instruction is arithmetic, a cast, a constant, a construction, `scale` or `apply`; `operands` are its matrices
    in its order. Operands with fewer numbers than the result stand for what they repeat (`Spread`). An operand may be
    the result.
    """

    op: Op
    result: str
    operands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Combine(TileStep):
    """Combine the components of each row (the result is spread as `ROWS`), as a `reduce` or `combine` does."""

    op: Op
    result: str
    source: str


@dataclass(frozen=True, slots=True)
class Assign(TileStep):
    """result := source, spread alike, or the source with fewer numbers."""

    result: str
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class Fetch(TileStep):
    """Load a matrix from memory straight into registers, each thread its components, as a load of the ir does."""

    result: str
    op: Op


@dataclass(frozen=True, slots=True, eq=False)
class Deliver(TileStep):
    """Store a matrix from registers straight to memory, each thread its components, as a store of the ir does."""

    source: str
    op: Op


@dataclass(frozen=True, slots=True, eq=False)
class Offer(TileStep):
    """Leave sums of this part of the depth where other CTAs find them; `last`, a bool, is whether all parts are there.

    Of the consumers with the same rows in all parts of a work-group one alone is the last one: which, is not known.
    """

    sums: tuple[str, ...]
    last: Value


@dataclass(frozen=True, slots=True)
class Unite(TileStep):
    """Set sums to those of all parts of the depth, added up in the order of the parts; all were offered before."""

    sums: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reclaim(TileStep):
    """Wait until the consumer's part of a staging was read by all stores from it, so that it may be written."""

    staging: str


@dataclass(frozen=True, slots=True)
class Stage(TileStep):
    """Write the consumer's rows of a matrix to its part of a staging: from row `row` of its rows on, and `column` on.

    Behind it the copy engine sees what all threads of the consumer wrote.
    """

    staging: str
    source: str
    row: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Send(TileStep):
    """Start to store the consumer's part of a staging through a map: one box for each piece, the coordinates moved.

    For consumer c, c times `apart` is added to the coordinates.
    """

    staging: str
    map: str
    at: tuple[Coordinate, ...]
    pieces: tuple[BoxPiece, ...]
    apart: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakeTurn(TileStep):
    """Wait until it is this consumer's turn; the first turn is that of consumer 0."""


@dataclass(frozen=True, slots=True)
class PassTurn(TileStep):
    """Let the next consumer have its turn; after the last one comes consumer 0."""


# --- roles and the kernel -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WarpgroupRole:
    """Warpgroups of 128 threads that have the same role: what they do in each work-group, with how many registers."""

    warpgroups: int
    registers: int
    body: Steps


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """In which order CTAs execute work-groups.

    With `persistent` there are as many CTAs as run at a time, and CTA c executes the work-groups c, c + CTAs, ... of
    the order; otherwise CTA c executes work-group c. In the order, `group` work-groups along x are gone through for
    each y before the next `group`; y changes more slowly than x in a group, z slowest. With `last_first` x goes
    downwards: work-groups with a larger x take longer.
    """

    persistent: bool = True
    group: int = 1
    last_first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class DepthParts:
    """A work-group that is executed once for each of some parts of its depth: `number`, from 0 on, is that of the part.

    Work-group t of the order and part p are number t `count` + p of what CTAs execute.
    """

    count: int
    number: Value


@dataclass(frozen=True, slots=True, eq=False)
class TileKernel:
    """A tile program as roles that work on rings of tiles.

    The threads are the producer's, then those of the consumers one after the other. Each role goes through its body
    once for each work-group of its CTA; rings, their slots and turns go on from one work-group to the next.
    """

    function: Function
    maps: tuple[MapRecipe, ...]
    rings: tuple[Ring, ...]
    stagings: tuple[Staging, ...]
    registers: tuple[Registers, ...]
    order: WorkOrder
    producer: WarpgroupRole
    consumers: WarpgroupRole
    slower: tuple[SlowerWay, ...] = ()
    parts: DepthParts | None = None
    fragment: Fragment = PRODUCT_FRAGMENT

    @property
    def threads(self) -> int:
        """The threads of a CTA."""
        return 128 * (self.producer.warpgroups + self.consumers.warpgroups)

    @property
    def gathers(self) -> bool:
        """Whether all threads of the producer execute its steps, as some tiles are gathered; otherwise one of them."""
        return bool(self.gathered_rings)

    @property
    def block_rings(self) -> frozenset[str]:
        """The names of the rings from which tiles are decoded: the producer's first warpgroup fills, others read."""
        return block_rings_of(self.producer.body)

    @property
    def gathered_rings(self) -> frozenset[str]:
        """The names of the rings in which some tiles are gathered."""
        return frozenset(step.ring for step in walk(self.producer.body) if isinstance(step, Supply) and gathers(step))

    def map(self, name: str) -> MapRecipe:
        """The map of a name."""
        return next(one for one in self.maps if one.name == name)

    def ring(self, name: str) -> Ring:
        """The ring of a name."""
        return next(one for one in self.rings if one.name == name)

    def staging(self, name: str) -> Staging:
        """The staging of a name."""
        return next(one for one in self.stagings if one.name == name)

    def held(self, name: str) -> Registers:
        """The registers of a name."""
        return next(one for one in self.registers if one.name == name)


def gathers(step: TileStep) -> bool:
    """Whether a step fills a tile by the threads of the producer."""
    return isinstance(step, Supply) and any(isinstance(copy, Gather) for copy in step.copies)


def block_rings_of(steps: Steps) -> frozenset[str]:
    """The names of the rings from which steps of a producer decode tiles."""
    supplies = [step for step in walk(steps) if isinstance(step, Supply)]
    found = (copy.blocks for step in supplies for copy in step.copies if isinstance(copy, Gather))
    return frozenset(blocks.ring for blocks in found if blocks is not None)


def walk(steps: Steps) -> Iterator[TileStep]:
    """All steps, outer before inner, in their order."""
    for step in steps:
        yield step
        match step:
            case Repeat():
                yield from walk(step.body)
            case Choose():
                yield from walk(step.then)
                yield from walk(step.otherwise)
