"""From a tile program to the steps of producer and consumers: every wait right before what needs it.

The steps are those of the program in its order; `girih.tile.schedule` lets products run on afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from girih.analysis.effects import roots_of, written_parameters
from girih.analysis.uniformity import constants_of
from girih.ir.build import RegionBuilder
from girih.ir.core import Op, Region, Value
from girih.ir.types import F32, INDEX, CoopMatrix, MemRef, Number, Use
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Div, Rem, Shl, Shr, Unary
from girih.ops.tile.control import For, If, Yield
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixLoad,
    CooperativeMatrixMulAdd,
    CooperativeMatrixPrefetch,
    CooperativeMatrixScale,
    CooperativeMatrixStore,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor
from girih.ops.tile.math import Math
from girih.ops.tile.memory import Expand, Fuse, Load, Subview
from girih.tile.boxes import boxed, boxed_blocks, gathered, lies_along_rows, same_but_for_names
from girih.tile.factors import FactorLoad, FilledTogether, factors_of
from girih.tile.form import (
    Assign,
    Await,
    CarriedNumber,
    Choose,
    ChosenNumber,
    Combine,
    Componentwise,
    Compute,
    Copy,
    Deliver,
    Fetch,
    Gather,
    GiveBack,
    Issue,
    LoopAdvice,
    MapRecipe,
    Multiply,
    Registers,
    Repeat,
    Ring,
    Settle,
    SharedTile,
    Spread,
    Supply,
    TileFactor,
    TileProduct,
    TileStep,
    Verify,
    block_rings_of,
)
from girih.tile.known import LaunchFacts, Terms
from girih.tile.masks import SplitApply, split
from girih.tile.places import BlocksPlace, PlaceInArgument, blocks_of, box_of, matrix_of, place_of
from girih.tile.products import by_threads, check_products, is_promoted, period_of, takes_both
from girih.tile.program import NoTileProgram, TileProgram
from girih.tile.spreads import is_outer, keeps_what_is_the_same, spreads_of
from girih.tile.stores import Stores

_COMPONENTWISE = (
    Binary, Unary, Cast, Math, CooperativeMatrixConstruct, CooperativeMatrixScale, CooperativeMatrixApply,
)  # fmt: skip
_LOADS = (CooperativeMatrixLoad, CooperativeMatrixLoadTensor)
_STORES = (CooperativeMatrixStore, CooperativeMatrixStoreTensor)


@dataclass(slots=True, eq=False)
class TwoRoles:
    """The steps of both roles, and the parts that they name."""

    maps: list[MapRecipe] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)
    registers: dict[str, Registers] = field(default_factory=dict)
    stores: Stores = field(default_factory=Stores)
    gathered: list[NoTileProgram] = field(default_factory=list)
    """Why tiles are gathered although there may be maps."""
    asked: dict[str, int] = field(default_factory=dict)
    """How many slots loops ask for, by the names of rings: the most where several do."""
    producer: tuple[TileStep, ...] = ()
    consumers: tuple[TileStep, ...] = ()

    @property
    def block_rings(self) -> frozenset[str]:
        """The names of the rings from which tiles are decoded."""
        return block_rings_of(self.producer)

    def map_of(self, wanted: MapRecipe) -> str:
        """The name of a map like another one, which is added where there is none."""
        for one in self.maps:
            if same_but_for_names(one, wanted):
                return one.name
        name = f"map{len(self.maps)}"
        self.maps.append(replace(wanted, name=name))
        return name


def translated(
    program: TileProgram, consumers: int, *, checks: bool, maps: bool, sent: bool, blocks: bool, staging_columns: int
) -> TwoRoles:
    """The steps of a program for some consumers, with or without maps, and rings of blocks that tiles are decoded from.

    With `maps`, results may be `sent` through them.

    Raises `NoTileProgram`.
    """
    made = TwoRoles(stores=Stores(most_columns=staging_columns))
    return _Translation(program, consumers, made, checks=checks, maps=maps, sent=sent, blocks=maps and blocks).made()


@dataclass(slots=True, eq=False)
class _Lists:
    """Steps of the producer and of the consumers, as they are made."""

    producer: list[TileStep] = field(default_factory=list)
    consumers: list[TileStep] = field(default_factory=list)

    def both(self, *steps: TileStep) -> None:
        self.producer += steps
        self.consumers += steps


class _Translation:
    def __init__(
        self, program: TileProgram, consumers: int, out: TwoRoles, *, checks: bool, maps: bool, sent: bool,
        blocks: bool,
    ) -> None:  # fmt: skip
        self.program, self.consumers, self.checks, self.maps = program, consumers, checks, maps
        self.sent, self.blocks = sent, blocks
        self.facts = LaunchFacts(program)
        self.constants = constants_of(program.function)
        check_products(program)
        self.permissions = program.function.permissions
        self.spreads = spreads_of(program)
        self.factors = factors_of(program)
        self.out = out
        self.out.stores.prepare(program, self.facts)
        self.out.stores.period = period_of(program)
        self.roots, self.written = roots_of(program.function), written_parameters(program.function)
        self.names: dict[Value, str] = {}
        self.shared: dict[Value, TileFactor] = {}
        self.loops: list[LoopAdvice | None] = []
        """What the loops around ask for, the innermost last."""
        self.taken: set[str] = set()
        """The rings that regions around have slots of."""

    def made(self) -> TwoRoles:
        lists = _Lists()
        for op in self.program.scalars:
            self._scalar(op, lists)
        self._region(self.program.body, lists)
        self.out.producer, self.out.consumers = tuple(lists.producer), tuple(lists.consumers)
        return self.out

    # --- registers ---

    def _register(self, value: Value) -> str:
        """The name of the registers of a matrix, which are made where there are none."""
        if value not in self.names:
            assert isinstance(value.type, CoopMatrix)
            spread = self.spreads[value]
            self.names[value] = self._new(value.type.component, value.type.shape, spread)
        return self.names[value]

    def _new(self, component: Number, shape: tuple[int, int], spread: Spread) -> str:
        name = f"{spread.value}{len(self.out.registers)}"
        self.out.registers[name] = Registers(name, component, *shape, spread)
        return name

    def _as_tile(self, value: Value, lists: _Lists) -> str:
        """Registers that have all components of a matrix."""
        name = self._register(value)
        held = self.out.registers[name]
        if held.spread is Spread.TILE:
            return name
        whole = self._new(held.component, (held.rows, held.columns), Spread.TILE)
        lists.consumers.append(Assign(whole, name))
        return whole

    # --- regions ---

    def _region(self, ops: Sequence[Op], lists: _Lists) -> None:
        groups = list(self.factors.of_region(ops))
        begin = {first: [g for g, f, _ in groups if f == first] for _, first, _ in groups}
        rings: dict[int, str] = {}
        before = set(self.taken)
        for k, op in enumerate(ops):
            for group in begin.get(k, ()):
                rings[id(group)] = self._supply(group, lists)
            self._op(op, lists)
            for group, _, last in groups:
                if last == k:
                    lists.consumers.append(GiveBack(rings[id(group)]))
        self.taken = before

    def _op(self, op: Op, lists: _Lists) -> None:
        match op:
            case For() | If() if _is_scalar(op):
                self._scalar(op, lists)
            case For():
                self._loop(op, lists)
            case If():
                self._branch(op, lists)
            case Yield() | CooperativeMatrixPrefetch():
                pass
            case _ if any(isinstance(v.type, CoopMatrix) for v in (*op.operands, *op.results)):
                self._matrix(op, lists)
            case _:
                self._scalar(op, lists)

    def _scalar(self, op: Op, lists: _Lists) -> None:
        if self.checks and self._can_fail(op):
            lists.producer.append(Verify(op))
        lists.both(Compute(op))

    def _can_fail(self, op: Op) -> bool:
        """Whether executing scalar instructions can find something wrong."""
        match op:
            case Subview() | Expand() | Fuse() | Load():
                return True
            case Div(b=b) | Rem(b=b) if isinstance(b.type, Number) and b.type.family == "integer":
                return not self.constants.get(b)
            case Shl(b=b) | Shr(b=b) if isinstance(b.type, Number):
                return not 0 <= self.constants.get(b, -1) < 8 * b.type.size
            case For() | If():
                return any(self._can_fail(inner) for region in op.regions for inner in region.walk())
            case _:
                return False

    def _loop(self, op: For, lists: _Lists) -> None:
        inner = _Lists()
        last = op.body.terminator
        yielded = last.values if isinstance(last, Yield) else ()
        for value, initial in zip(op.carried, op.initial, strict=True):
            if isinstance(value.type, CoopMatrix):
                lists.consumers.append(Assign(self._register(value), self._register(initial)))
        self.loops.append(_advice(op))
        self._region(op.body.ops, inner)
        advice = self.loops.pop()
        self._carry(op, yielded, inner)
        numbers = tuple(
            CarriedNumber(value, initial, next_, result)
            for value, initial, next_, result in zip(op.carried, op.initial, yielded, op.results, strict=True)
            if not isinstance(value.type, CoopMatrix)
        )
        for value, result in zip(op.carried, op.results, strict=True):
            if isinstance(value.type, CoopMatrix):
                self.names[result] = self.names[value]
        for into, body in ((lists.producer, inner.producer), (lists.consumers, inner.consumers)):
            into.append(Repeat(op.variable, op.start, op.stop, op.step, numbers, tuple(body), advice))

    def _carry(self, op: For, yielded: Sequence[Value], inner: _Lists) -> None:
        """Assign what an iteration yields to what the next one begins with, all at once."""
        pairs = [
            (v, y) for v, y in zip(op.carried, yielded, strict=True) if isinstance(v.type, CoopMatrix) and v is not y
        ]
        sources = [self._register(y) for _, y in pairs]
        targets = [self._register(v) for v, _ in pairs]
        for k, source in enumerate(sources):
            if source in targets[:k]:
                held = self.out.registers[source]
                sources[k] = self._new(held.component, (held.rows, held.columns), held.spread)
                inner.consumers.append(Assign(sources[k], source))
        inner.consumers += [Assign(target, source) for target, source in zip(targets, sources, strict=True)]

    def _branch(self, op: If, lists: _Lists) -> None:
        regions = (op.then, op.otherwise)
        made: list[_Lists] = []
        for region in regions:
            inner = _Lists()
            if region is not None:
                self._region(region.ops, inner)
                for result, value in zip(op.results, _yielded(region), strict=True):
                    if isinstance(result.type, CoopMatrix):
                        inner.consumers.append(Assign(self._register(result), self._register(value)))
            made.append(inner)
        numbers = tuple(
            ChosenNumber(result, then, otherwise)
            for result, then, otherwise in zip(op.results, _yielded(op.then), _yielded(op.otherwise), strict=True)
            if not isinstance(result.type, CoopMatrix)
        )
        then, otherwise = made
        lists.producer.append(Choose(op.condition, tuple(then.producer), tuple(otherwise.producer), numbers))
        lists.consumers.append(Choose(op.condition, tuple(then.consumers), tuple(otherwise.consumers), numbers))

    # --- copies ---

    def _supply(self, group: FilledTogether, lists: _Lists) -> str:
        """Have a slot filled with the tiles of a group; the name of its ring."""
        tiles: list[SharedTile] = []
        copies: list[Copy | Gather] = []
        offset = 0
        for load in group.loads:
            name = "left" if matrix_of(load).use is Use.A else "right"
            name += "" if all(tile.name != name for tile in tiles) else str(len(tiles))
            tile, copy = self._copy(name, load, lists)
            tiles.append(replace(tile, offset=offset))
            offset += -(-tile.bytes // 1024) * 1024
            copies.append(copy)
        ring = self._ring(tuple(tiles))
        for load, tile in zip(group.loads, tiles, strict=True):
            self.shared[load.result] = TileFactor(ring, tile.name)
        lists.producer.append(Supply(ring, tuple(copies)))
        lists.consumers.append(Await(ring))
        return ring

    def _copy(self, name: str, load: FactorLoad, lists: _Lists) -> tuple[SharedTile, Copy | Gather]:
        """The tile of a load, and what fills it: the copy engine, where a map has the memory as products take it."""
        self._refuse_written(load)
        matrix, place = matrix_of(load), None
        try:
            place = place_of(load, self.facts)
            box = boxed(name, place, matrix, matrix.shape, load.span)
            both = takes_both(matrix.component, self.permissions)
            if not both and box.tile.by_rows != (matrix.use is Use.A):
                what = f"a factor of {matrix.component} has no neighbours in memory along the depth of the product"
                raise NoTileProgram(what, load.span, "store it the other way: the engine cannot turn it")
        except NoTileProgram as reason:
            self._verify(load, place, lists)
            tile = self._gathered(name, matrix, place, load)
            blocks = self._supply_blocks(load, tile, lists) if self.blocks else None
            if blocks is None:
                self.out.gathered.append(reason)
            return tile, Gather(name, load, blocks)
        self._verify(load, place, lists)
        if not self.maps:
            return self._gathered(name, matrix, place, load), Gather(name, load)
        at = tuple(self.sum_of(terms, lists.producer) for terms in box.at)
        map_ = replace(box.map, rounded=matrix.component == F32 and not by_threads(F32, self.permissions))
        return box.tile, Copy(name, self.out.map_of(map_), at, box.pieces)

    def _gathered(self, name: str, matrix: CoopMatrix, place: PlaceInArgument | None, load: FactorLoad) -> SharedTile:
        by_row = lies_along_rows(load, place)
        return gathered(name, matrix, by_row, load.span, both=takes_both(matrix.component, self.permissions))

    def _supply_blocks(self, load: FactorLoad, tile: SharedTile, lists: _Lists) -> TileFactor | None:
        """Have a slot filled with the blocks that a tile is decoded from; None where no map has them."""
        if not isinstance(load, CooperativeMatrixLoadTensor) or not isinstance(load.block_type, MemRef):
            return None
        try:
            place = blocks_of(load, tile, self.facts)
            box = boxed_blocks("blocks", place, tile, load.span)
        except NoTileProgram:
            return None
        steps = lists.producer
        at = (_first_word(place, steps), self.sum_of(box.at[1], steps))
        ring = self._ring((box.tile,))
        steps.append(Supply(ring, (Copy(box.tile.name, self.out.map_of(box.map), at, box.pieces),)))
        return TileFactor(ring, box.tile.name)

    def _verify(self, op: Op, place: PlaceInArgument | None, lists: _Lists) -> None:
        """Check a load or store that must lie inside, or does where a branch of the program says so."""
        if not self.checks:
            return
        if op in self.program.guarded:
            condition, whole = self.program.guarded[op]
            lists.producer.append(Choose(condition, (Verify(whole),), ()))
        elif place is None or not place.bounded:
            lists.producer.append(Verify(op))

    def _ring(self, tiles: tuple[SharedTile, ...]) -> str:
        """The name of a ring for some tiles: one of other regions, if there is one like it.

        It has two slots where a loop fills it whose iterations may overlap, and otherwise one.
        """
        advice = self.loops[-1] if self.loops else None
        asked = None if advice is None else advice.slots
        slots = 2 if self.loops and asked != 1 else 1
        for k, ring in enumerate(self.out.rings):
            if ring.name not in self.taken and ring.tiles == tiles:
                self.out.rings[k] = replace(ring, slots=max(ring.slots, slots))
                break
        else:
            ring = Ring(f"ring{len(self.out.rings)}", slots, tiles)
            self.out.rings.append(ring)
        if asked is not None:
            self.out.asked[ring.name] = max(asked, self.out.asked.get(ring.name, 1))
        self.taken.add(ring.name)
        return ring.name

    def _refuse_written(self, load: FactorLoad) -> None:
        root = self.roots.get(load.memory)
        if root is None or root in self.written:
            name = (root or load.memory).name
            raise NoTileProgram(f"a factor is loaded from %{name}, which the kernel writes", load.span)

    def sum_of(self, terms: Terms, steps: list[TileStep]) -> Value | int:
        """The sum of some terms, which is computed where there are several."""
        known = sum(term for term in terms if isinstance(term, int))
        values = [term for term in terms if isinstance(term, Value)]
        if not values:
            return known
        ops = RegionBuilder(TILE_LANGUAGE)
        found = values[0]
        for value in values[1:]:
            (found,) = ops.add("add", INDEX, a=found, b=value)
        if known:
            (more,) = ops.add("constant", INDEX, value=known)
            (found,) = ops.add("add", INDEX, a=found, b=more)
        steps += map(Compute, ops.ops)
        return found

    # --- matrices ---

    def _matrix(self, op: Op, lists: _Lists) -> None:
        match op:
            case CooperativeMatrixMulAdd() if is_outer(op):
                self._outer(op, lists)
            case CooperativeMatrixMulAdd():
                self._product(op, lists)
            case Constant():
                lists.consumers.append(Componentwise(op, self._register(op.result)))
            case CooperativeMatrixLoad() | CooperativeMatrixLoadTensor():
                if op.result not in self.factors.groups:
                    self._fetch(op, lists)
            case CooperativeMatrixStore() | CooperativeMatrixStoreTensor():
                self._store(op, lists)
            case Reduce() | CooperativeMatrixCombine():
                self._combine(op, op.a if isinstance(op, Reduce) else op.matrix, lists)
            case CooperativeMatrixApply() if (parts := split(op)) is not None:
                self._split(op, parts, lists)
            case _ if isinstance(op, _COMPONENTWISE):
                (result,) = op.results
                matrices = [v for v in op.operands if isinstance(v.type, CoopMatrix)]
                operands = tuple(self._register(v) for v in matrices)
                lists.consumers.append(Componentwise(op, self._register(result), operands))
            case _:
                raise NoTileProgram(f"`{op.spec.word}` has no way with matrices of warpgroups", op.span)

    def _split(self, op: CooperativeMatrixApply, parts: SplitApply, lists: _Lists) -> None:
        """Two ways to compute components: tiles for which a condition holds everywhere do not ask it."""
        result, operands = self._register(op.result), tuple(self._register(v) for v in op.matrices)
        lists.consumers += map(Compute, parts.scalars)
        whole: TileStep = Componentwise(parts.simpler, result, operands)
        if parts.element is not None and self.spreads[op.result] is self.spreads[op.matrices[parts.element]]:
            whole = Assign(result, operands[parts.element])
        lists.consumers.append(Choose(parts.holds, (whole,), (Componentwise(op, result, operands),)))

    def _combine(self, op: Reduce | CooperativeMatrixCombine, source: Value, lists: _Lists) -> None:
        result, same = self._register(op.result), self._register(source)
        if self.spreads[source] in (Spread.ONE, Spread.ROWS) and keeps_what_is_the_same(op):
            lists.consumers.append(Assign(result, same))
        else:
            lists.consumers.append(Combine(op, result, self._as_tile(source, lists)))

    def _fetch(self, op: CooperativeMatrixLoad | CooperativeMatrixLoadTensor, lists: _Lists) -> None:
        place = box_of(op, self.facts)
        self.out.stores.check_fetch(op, place)
        self._verify(op, place, lists)
        lists.consumers.append(Fetch(self._register(op.result), op))

    def _store(self, op: CooperativeMatrixStore | CooperativeMatrixStoreTensor, lists: _Lists) -> None:
        self._verify(op, self.out.stores.places[op], lists)
        source = self._as_tile(op.matrix, lists) if _is_wide(op.matrix) else self._register(op.matrix)
        direct = not self.sent or bool(self.loops) or self.out.stores.is_direct(op)
        sent = None if direct else self.out.stores.sent(self, op, source, lists.consumers)
        if not sent:
            lists.consumers.append(Deliver(source, op))

    def _product(self, op: CooperativeMatrixMulAdd, lists: _Lists) -> None:
        right = self.shared.get(op.b)
        if right is None:
            what = "the right factor of a product is not loaded for it alone, and products take it from shared memory"
            raise NoTileProgram(what, op.span, "let what is computed be the left factor: compute with the transpose")
        left: TileFactor | str | None = self.shared.get(op.a)
        if left is None:
            left = self._as_tile(op.a, lists)
        sums = self._register(op.result)
        start = self._constant_zero(op.c)
        if is_promoted(op) and not start:
            self._promoted(op, sums, left, right, lists)
            return
        if not start:
            lists.consumers.append(Assign(sums, self._register(op.c)))
        product = TileProduct(sums, left, right, not start)
        factors = _component(op.a)
        if factors is None or not by_threads(factors, self.permissions):
            lists.consumers += [Issue((product,)), Settle()]
            return
        if isinstance(left, str):
            what = f"the left factor of a product of {factors} is computed: only shared memory has all of it"
            raise NoTileProgram(what, op.span, "load it from memory that another kernel has written")
        lists.consumers.append(Multiply(product))

    def _promoted(
        self, op: CooperativeMatrixMulAdd, sums: str, left: TileFactor | str, right: TileFactor, lists: _Lists
    ) -> None:
        """A product of 8-bit floats by itself, whose sums have few bits, and its addition to the sums so far in f32."""
        result = op.result.type
        assert isinstance(result, CoopMatrix)
        part = self._new(result.component, result.shape, Spread.TILE)
        addition = RegionBuilder(TILE_LANGUAGE)
        addition.add("add", result, a=op.c, b=Value("part", result))
        lists.consumers += [
            Issue((TileProduct(part, left, right, accumulate=False),)),
            Settle(),
            Componentwise(addition.ops[0], sums, (self._register(op.c), part)),
        ]

    def _outer(self, op: CooperativeMatrixMulAdd, lists: _Lists) -> None:
        """A column by a row: component by component, and nothing but the column where the row has ones."""
        result = self._register(op.result)
        if self._constant(op.b) == 1 and self._constant_zero(op.c) and _component(op.a) == _component(op.result):
            lists.consumers.append(Assign(result, self._register(op.a)))
            return
        operands = tuple(self._register(value) for value in (op.a, op.b, op.c))
        lists.consumers.append(Componentwise(op, result, operands))

    def _constant_zero(self, value: Value) -> bool:
        return self._constant(value) == 0

    def _constant(self, value: Value) -> bool | int | float | complex | None:
        """What all components of a matrix are, where the program says so."""
        match self.facts.definitions.get(value):
            case Constant(value=known):
                return known
            case Cast(a=a):
                return self._constant(a)
            case _:
                return None


def _first_word(place: BlocksPlace, steps: list[TileStep]) -> Value | int:
    """The word that the blocks of a tile begin with, in its line."""
    if isinstance(place.begin, int):
        return place.begin // place.length * place.unit // 4
    ops = RegionBuilder(TILE_LANGUAGE)
    found = place.begin
    for mnemonic, number in (("div", place.length), ("mul", place.unit), ("div", 4)):
        (other,) = ops.add("constant", INDEX, value=number)
        (found,) = ops.add(mnemonic, INDEX, a=found, b=other)
    steps += map(Compute, ops.ops)
    return found


def _advice(op: For) -> LoopAdvice | None:
    """What a loop asks for: a single stage is no overlap."""
    stages, pipeline = op.hints.entry("stages"), op.hints.entry("pipeline")
    overlap = (pipeline is None or pipeline.value is not False) and (stages is None or stages.value != 1)
    if stages is not None and isinstance(stages.value, int):
        return LoopAdvice(stages.value, overlap, stages.span)
    return None if overlap or pipeline is None else LoopAdvice(None, overlap, pipeline.span)


def _is_scalar(op: For | If) -> bool:
    """Whether a loop or branch has nothing to do with matrices."""
    inner = [o for region in op.regions for o in region.walk()]
    values = [v for o in (op, *inner) for v in (*o.operands, *o.results)]
    return not any(isinstance(v.type, CoopMatrix) for v in values)


def _yielded(region: Region | None) -> Sequence[Value]:
    last = region.terminator if region is not None else None
    return last.values if isinstance(last, Yield) else ()


def _component(value: Value) -> Number | None:
    return value.type.component if isinstance(value.type, CoopMatrix) else None


def _is_wide(value: Value) -> bool:
    return isinstance(value.type, CoopMatrix) and value.type.columns > 1 and value.type.rows > 1
