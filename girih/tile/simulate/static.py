"""What can be said of a form without running it: names, shapes, types, budgets, what is written before it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from girih.ir.core import Value
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, F32, F64, I8, I32, CoopMatrix, Number
from girih.ops.tile.coopmatrix import Reduce
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixCombine
from girih.tile.budget import MOST_SHARED_BYTES, layout_of
from girih.tile.form import (
    Assign,
    Await,
    Choose,
    Combine,
    Componentwise,
    Deliver,
    Fetch,
    Gather,
    GiveBack,
    Issue,
    MapRecipe,
    Multiply,
    Offer,
    Reclaim,
    Repeat,
    Send,
    SharedTile,
    Spread,
    Stage,
    Steps,
    Supply,
    TileFactor,
    TileKernel,
    TileProduct,
    TileStep,
    Unite,
    walk,
)
from girih.tile.registers import most_alive, reads, writes
from girih.tile.show import StepWords
from girih.tile.simulate.copies import box_bytes
from girih.tile.simulate.faults import ScheduleFault
from girih.tile.simulate.matrices import matrices_of
from girih.tile.simulate.memory import shape_of

_REGISTERS = 65536
"""The registers of a multiprocessor (CUDA programming guide, "Technical Specifications per Compute Capability")."""
_MOST_OF_THREAD = 255


def check_form(kernel: TileKernel) -> None:
    """Check what holds for every launch. Raises `ScheduleFault`."""
    _names(kernel)
    _budgets(kernel)
    for ring in kernel.rings:
        for tile in ring.tiles:
            _tile(tile)
    for staging in kernel.stagings:
        _tile(staging.tile)
    words = StepWords(kernel)
    for step in (*walk(kernel.producer.body), *walk(kernel.consumers.body)):
        try:
            _step(kernel, step)
        except ScheduleFault as fault:
            raise ScheduleFault(fault.rule, fault.what, words.of(step)) from None
        except StopIteration:
            raise ScheduleFault("form", "it names a part that the kernel has not", words.of(step)) from None
    _Assigned(words).steps(kernel.consumers.body, frozenset())
    peak = most_alive(
        kernel.consumers.body,
        {held.name: held for held in kernel.registers},
        kernel.consumers.warpgroups,
        kernel.fragment,
    )
    most = min(kernel.consumers.registers, _MOST_OF_THREAD)
    if peak > most:
        raise ScheduleFault("registers", f"matrices take {peak} registers of a thread, which has {most}")


def _names(kernel: TileKernel) -> None:
    parts: Sequence[tuple[str, Iterable[str]]] = (
        ("map", (one.name for one in kernel.maps)),
        ("ring", (one.name for one in kernel.rings)),
        ("staging", (one.name for one in kernel.stagings)),
        ("matrix in registers", (one.name for one in kernel.registers)),
        *((f"tile of {ring.name}", (tile.name for tile in ring.tiles)) for ring in kernel.rings),
    )
    for kind, names in parts:
        known: set[str] = set()
        for name in names:
            if name in known:
                raise ScheduleFault("form", f"two have the name {name}, a {kind} each")
            known.add(name)


def _budgets(kernel: TileKernel) -> None:
    needed = layout_of(kernel).bytes
    if needed > MOST_SHARED_BYTES:
        raise ScheduleFault("shared", f"{needed} bytes of shared memory are needed, there are {MOST_SHARED_BYTES}")
    for ring in kernel.rings:
        ends = sorted((tile.offset, tile.offset + tile.bytes, tile.name) for tile in ring.tiles)
        for (_, end, name), (begin, _, other) in pairwise(ends):
            if begin < end:
                raise ScheduleFault("shared", f"{name} and {other} of {ring.name} share bytes")
    crews = (("producer", kernel.producer), ("consumers", kernel.consumers))
    for name, crew in crews:
        if crew.registers % 8 or not 24 <= crew.registers <= 256:
            raise ScheduleFault("registers", f"the {name} ask for {crew.registers} registers: no multiple of 8 to 256")
    asked = sum(128 * crew.warpgroups * crew.registers for _, crew in crews)
    if asked > _REGISTERS:
        raise ScheduleFault("registers", f"all threads together ask for {asked} registers, there are {_REGISTERS}")
    begun = _REGISTERS // kernel.threads // 8 * 8
    if kernel.producer.registers > begun:
        raise ScheduleFault(
            "registers", f"the producer has {begun} registers when it begins, and cannot give back to "
            f"{kernel.producer.registers}"
        )  # fmt: skip
    for held in kernel.registers:
        rows = 64 * kernel.consumers.warpgroups
        if held.spread in (Spread.TILE, Spread.ROWS) and held.rows % rows:
            raise ScheduleFault("form", f"{held.name} has {held.rows} rows, not a multiple of {rows}")
        period = kernel.fragment.columns.period
        if held.spread is Spread.TILE and held.columns % period:
            raise ScheduleFault("form", f"{held.name} has {held.columns} columns, not a multiple of {period}")


def _tile(tile: SharedTile) -> None:
    if tile.swizzle not in (0, 32, 64, 128):
        raise ScheduleFault("form", f"{tile.name}: there is no swizzle of {tile.swizzle} bytes")
    if tile.lines % 8 or tile.span % tile.panel or tile.offset % 1024:
        raise ScheduleFault(
            "form",
            f"{tile.name}: {tile.lines} lines are no multiple of 8, the span {tile.span} is none of {tile.panel}, "
            f"or the offset {tile.offset} none of 1024",
        )


# --- steps ----------------------------------------------------------------------------------------


def _step(kernel: TileKernel, step: TileStep) -> None:
    match step:
        case Supply():
            _supply(kernel, step)
        case Await(ring) | GiveBack(ring):
            kernel.ring(ring)
        case Issue(products):
            for product in products:
                _product(kernel, product)
        case Multiply(product):
            _multiplied(kernel, product)
        case Reclaim(staging):
            kernel.staging(staging)
        case Stage(staging, source):
            _same("components", kernel.staging(staging).tile.component, kernel.held(source).component)
        case Offer(sums) | Unite(sums):
            if kernel.parts is None or any(kernel.held(name).spread is not Spread.TILE for name in sums):
                raise ScheduleFault("form", "sums of a kernel without parts of the depth, or no sums")
        case Send(staging, map):
            tile, recipe = kernel.staging(staging).tile, kernel.map(map)
            _boxes(tile, recipe, len(step.at), [piece.moved for piece in step.pieces])
            _same("dimensions", len(step.apart), len(recipe.box))
        case _:
            _matrix_step(kernel, step)


def _matrix_step(kernel: TileKernel, step: TileStep) -> None:
    match step:
        case Componentwise():
            _componentwise(kernel, step)
        case Combine(op, result, source):
            reduced = isinstance(op, Reduce) and op.along_row
            if not reduced and not (isinstance(op, CooperativeMatrixCombine) and op.along is Combined.ROW):
                raise ScheduleFault("form", "only components of a row can be combined")
            _matrix(kernel, source, matrices_of(op)[0])
            _matrix(kernel, result, op.results[0])
        case Assign(result, source):
            _assign(kernel, result, source)
        case Fetch(result, op):
            _matrix(kernel, result, op.results[0])
        case Deliver(source, op):
            _matrix(kernel, source, matrices_of(op)[0])


def _same(what: str, one: object, other: object) -> None:
    if one != other:
        raise ScheduleFault("form", f"{what} differ: {one} and {other}")


def _boxes(tile: SharedTile, recipe: MapRecipe, rank: int, moved: Sequence[tuple[int, ...]]) -> None:
    _same(f"components of {tile.name} and its map", tile.component, recipe.component)
    _same(f"swizzles of {tile.name} and its map", tile.swizzle, recipe.swizzle)
    for dimensions in (rank, *map(len, moved)):
        _same(f"dimensions of {recipe.name} and of coordinates", len(recipe.box), dimensions)


def _supply(kernel: TileKernel, step: Supply) -> None:
    ring = kernel.ring(step.ring)
    if sorted(copy.tile for copy in step.copies) != sorted(tile.name for tile in ring.tiles):
        raise ScheduleFault("bytes", f"the copies fill {[copy.tile for copy in step.copies]}, not each tile once")
    for copy in step.copies:
        if isinstance(copy, Gather):
            if copy.blocks is not None:
                _factor(kernel, copy.blocks)
            tile, type = ring.tile(copy.tile), copy.op.results[0].type
            assert isinstance(type, CoopMatrix)
            _same(
                f"the tile {tile.name} and its matrix", (tile.component, shape_of(tile)), (type.component, type.shape)
            )
            continue
        tile, recipe = ring.tile(copy.tile), kernel.map(copy.map)
        _boxes(tile, recipe, len(copy.at), [piece.moved for piece in copy.pieces])
        brought = len(copy.pieces) * box_bytes(recipe)
        if brought != tile.bytes:
            raise ScheduleFault("bytes", f"the copies of {copy.tile} bring {brought} bytes, expected are {tile.bytes}")


def _product(kernel: TileKernel, product: TileProduct) -> None:
    sums = kernel.held(product.sums)
    right = _factor(kernel, product.right)
    if isinstance(product.left, str):
        held = kernel.held(product.left)
        left = held.component, (held.rows, held.columns)
        _same("spreads of a left factor and a tile", held.spread, Spread.TILE)
        if held.component not in (BF16, F16):
            raise ScheduleFault("form", f"{product.left} of {held.component} cannot be a left factor in registers")
    else:
        left = _factor(kernel, product.left)
    (rows, depth), (deep, columns) = left[1], right[1]
    _same("the depths of the factors", depth, deep)
    _same("the shapes of sums and product", (sums.rows, sums.columns), (rows, columns))
    _same("the spreads of sums and a tile", sums.spread, Spread.TILE)
    component = left[0]
    if component != right[0] and not {component, right[0]} <= set(EIGHT_BIT_FLOATS):
        raise ScheduleFault("form", f"there is no product of {component} and {right[0]}")
    if depth * component.size % 32 or columns > 256:
        raise ScheduleFault("form", f"no products of depth {depth} and {columns} columns: 32 bytes, and up to 256")
    if sums.component not in _SUMS.get(component, (F32,)):
        raise ScheduleFault("form", f"sums of {component} are not of {sums.component}")


def _multiplied(kernel: TileKernel, product: TileProduct) -> None:
    """Check a product that threads compute."""
    sums = kernel.held(product.sums)
    if isinstance(product.left, str):
        raise ScheduleFault("form", f"{product.left} is in registers, of which a thread has its components only")
    left, right = _factor(kernel, product.left), _factor(kernel, product.right)
    (rows, depth), (deep, columns) = left[1], right[1]
    _same("the depths of the factors", depth, deep)
    _same("the shapes of sums and product", (sums.rows, sums.columns), (rows, columns))
    _same("the spreads of sums and a tile", sums.spread, Spread.TILE)
    _same("the types of the factors", left[0], right[0])
    _same("the types of sums and factors", sums.component, left[0])
    if left[0] not in (F32, F64, I32):
        raise ScheduleFault("form", f"threads do not multiply {left[0]}")
    for factor in (product.left, product.right):
        tile = kernel.ring(factor.ring).tile(factor.tile)
        _same(f"the bytes of a line of {tile.name}", tile.pitch, 128)


_SUMS: dict[Number, tuple[Number, ...]] = {F16: (F16, F32), I8: (I32,)}
"""The types of sums by those of factors, where they are not f32 (PTX ISA, "wgmma.mma_async")."""


def _factor(kernel: TileKernel, factor: TileFactor) -> tuple[Number, tuple[int, int]]:
    ring = kernel.ring(factor.ring)
    if not 0 <= factor.behind < ring.slots:
        raise ScheduleFault("form", f"{factor.ring} has no slot {factor.behind} behind the last one")
    tile = ring.tile(factor.tile)
    return tile.component, shape_of(tile)


def _componentwise(kernel: TileKernel, step: Componentwise) -> None:
    values = matrices_of(step.op)
    _same("the numbers of matrices", len(step.operands), len(values))
    for name, value in zip(step.operands, values, strict=True):
        _matrix(kernel, name, value)
    _matrix(kernel, step.result, step.op.results[0])
    if len(set(zip(step.operands, values, strict=True))) != len(set(values)):
        raise ScheduleFault("form", "one matrix of the instruction is in two registers")


def _matrix(kernel: TileKernel, name: str, value: Value) -> None:
    """Check that registers can hold a matrix of an instruction."""
    held, type = kernel.held(name), value.type
    assert isinstance(type, CoopMatrix)
    _same(f"components of {name} and its matrix", held.component, type.component)
    if held.spread in (Spread.TILE, Spread.ROWS) and type.rows != held.rows:
        raise ScheduleFault("form", f"{name} has {held.rows} rows, its matrix {type.rows}")
    if held.spread in (Spread.TILE, Spread.COLUMNS) and type.columns != held.columns:
        raise ScheduleFault("form", f"{name} has {held.columns} columns, its matrix {type.columns}")


_WIDER = {
    Spread.TILE: set(Spread),
    Spread.ROWS: {Spread.ROWS, Spread.ONE},
    Spread.COLUMNS: {Spread.COLUMNS, Spread.ONE},
    Spread.ONE: {Spread.ONE},
}
"""What may be assigned to registers by their spread."""


def _assign(kernel: TileKernel, result: str, source: str) -> None:
    target, given = kernel.held(result), kernel.held(source)
    _same("components", target.component, given.component)
    if given.spread not in _WIDER[target.spread]:
        raise ScheduleFault("form", f"{source} ({given.spread.value}) cannot be {result} ({target.spread.value})")


# --- what is written before it is read --------------------------------------------------------------


def _first_reads(step: TileStep) -> frozenset[str]:
    """The registers that a step reads before it writes them."""
    if not isinstance(step, Issue):
        return reads(step)
    found = {product.left for product in step.products if isinstance(product.left, str)}
    begun: set[str] = set()
    for product in step.products:
        if product.accumulate and product.sums not in begun:
            found.add(product.sums)
        begun.add(product.sums)
    return frozenset(found)


class _Assigned:
    """Follows which registers are written on every way."""

    def __init__(self, words: StepWords) -> None:
        self.words = words

    def steps(self, steps: Steps, before: frozenset[str]) -> frozenset[str]:
        """The registers that are written behind some steps. Raises `ScheduleFault` for reads of others."""
        known = before
        for step in steps:
            match step:
                case Repeat():
                    self.steps(step.body, known)
                case Choose():
                    known = self.steps(step.then, known) & self.steps(step.otherwise, known)
                case _:
                    for name in _first_reads(step):
                        if name not in known:
                            what = f"{name} is not written before on every way"
                            raise ScheduleFault("unwritten", what, self.words.of(step))
                    known = known | writes(step)
        return known
