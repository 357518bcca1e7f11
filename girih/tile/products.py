"""The products of matrices that consumers compute: types, sizes, and which layouts in shared memory they take.

Products of f16, bf16, of 8 bits and, where a kernel permits it, of f32 rounded to tf32 are instructions of a warpgroup.
Threads multiply others themselves: f64 by instructions of a warp, whose sums are spread alike, and f32 and i32 by one
multiplication and addition after the other.

A product whose loop over the depth adds to nothing but zero can be shared out: each of some CTAs goes through a part of
the depth, and the last one that is done adds up the sums of all, in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import copysign

from girih.ir.build import RegionBuilder
from girih.ir.core import Op, Value
from girih.ir.types import BF16, BOOL, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, INDEX, CoopMatrix, Number, Use
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Cast, Constant
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.source import Span
from girih.tile.amounts import Amount, combined, number
from girih.tile.form import (
    Assign,
    Await,
    Choose,
    Componentwise,
    Compute,
    Copy,
    DepthParts,
    GiveBack,
    Issue,
    Offer,
    Repeat,
    Ring,
    Settle,
    Steps,
    Supply,
    TileKernel,
    TileProduct,
    TileStep,
    Unite,
    walk,
)
from girih.tile.program import NoTileProgram, TileProgram
from girih.tile.spreads import is_outer
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Dealt, Fragment

_EIGHT_BIT = (F8E4M3, F8E5M2)
_LINE = 128
"""The bytes of a line of a factor that threads read by themselves, over which the widest swizzle goes."""
_LINES_HINT = "rows are a multiple of 64, columns and the depth of {}"
_HINT = "rows are a multiple of 64, columns of 8, and the depth of 32 bytes"


def sums_of(left: Number, right: Number, permissions: frozenset[str]) -> Number | None:
    """The type of sums of products of two types; None where no instruction has them (PTX ISA, "wgmma.mma_async")."""
    if left == right and left in (F16, BF16):
        return F32
    if left in _EIGHT_BIT and right in _EIGHT_BIT:
        return F32
    if left == right == I8:
        return I32
    if left == right and by_threads(left, permissions):
        return left
    return F32 if left == right == F32 and "tf32" in permissions else None


def by_threads(factors: Number, permissions: frozenset[str]) -> bool:
    """Whether threads multiply factors of a type themselves, which no instruction of a warpgroup takes as they are."""
    return factors in (F64, I32) or (factors == F32 and "tf32" not in permissions)


def check_product(op: CooperativeMatrixMulAdd, permissions: frozenset[str]) -> None:
    """Raise `NoTileProgram` for a product of types or sizes that no instruction of warpgroups has."""
    a, b, c, d = (v.type for v in (op.a, op.b, op.c, op.result))
    assert isinstance(a, CoopMatrix) and isinstance(b, CoopMatrix)
    assert isinstance(c, CoopMatrix) and isinstance(d, CoopMatrix)
    sums = sums_of(a.component, b.component, permissions)
    if sums is None:
        raise NoTileProgram(f"warpgroups do not multiply {a.component} by {b.component}", op.span)
    if not c.component == d.component == sums:
        raise NoTileProgram(f"sums of {a.component} are {sums}, not {c.component} and {d.component}", op.span)
    alone = by_threads(a.component, permissions)
    if alone and (a.rows % 64 or b.columns * a.component.size % _LINE or a.columns * a.component.size % _LINE):
        raise NoTileProgram(f"a product of {a.rows}x{a.columns} by {b.rows}x{b.columns} is no whole number of lines",
                            op.span, _LINES_HINT.format(_LINE // a.component.size))  # fmt: skip
    if a.rows % 64 or b.columns % 8 or a.columns * a.component.size % 32:
        raise NoTileProgram(f"a product of {a.rows}x{a.columns} by {b.rows}x{b.columns} is no whole number of steps",
                            op.span, _HINT)  # fmt: skip
    if a.component in _EIGHT_BIT and a.columns > MOST_PROMOTED:
        what = f"sums of {a.columns} products of {a.component} at a time would have few bits"
        raise NoTileProgram(what, op.span, f"take up to {MOST_PROMOTED} summands at a time")


MOST_PROMOTED = 128
"""The depth up to which products of 8-bit floats are summed by the instruction: further sums are in f32.

The instruction keeps fewer bits of a sum than f32 has (CUTLASS, "fp8_accumulation"; not said in the PTX ISA).
"""


def is_promoted(op: CooperativeMatrixMulAdd) -> bool:
    """Whether a product is added to the sums so far by other instructions."""
    return isinstance(op.a.type, CoopMatrix) and op.a.type.component in _EIGHT_BIT


def takes_both(factors: Number, permissions: frozenset[str]) -> bool:
    """Whether products take factors of a type with neighbours along any mode, and not along the depth only."""
    return factors in (F16, BF16) or by_threads(factors, permissions)


def check_products(program: TileProgram) -> None:
    """Raise `NoTileProgram` for a program of which not all products have instructions of one kind."""
    permissions, products = program.function.permissions, _products(program)
    for product in products:
        check_product(product, permissions)
    types = {type.component for op in products if isinstance(type := op.a.type, CoopMatrix)}
    if len(types) > 1 and any(by_threads(one, permissions) for one in types):
        names = " and ".join(sorted(one.name for one in types))
        raise NoTileProgram(f"products of {names} leave sums at different places in registers", products[-1].span)
    period = period_of(program)
    if period == PRODUCT_FRAGMENT.columns.period:
        return
    for op in program.walk():
        for value in op.results:
            type = value.type
            if isinstance(type, CoopMatrix) and type.use is Use.ACC and type.columns > 1 and type.columns % period:
                what = f"a matrix has {type.columns} columns, of which threads share {period} at a time"
                raise NoTileProgram(what, op.span, f"columns should be a multiple of {period}")


def _products(program: TileProgram) -> list[CooperativeMatrixMulAdd]:
    return [op for op in program.walk() if isinstance(op, CooperativeMatrixMulAdd) and not is_outer(op)]


def period_of(program: TileProgram) -> int:
    """The columns that threads share in the same way again and again (`Fragment`)."""
    for op in _products(program):
        factors = op.a.type.component if isinstance(op.a.type, CoopMatrix) else None
        if factors in (F32, I32) and by_threads(factors, program.function.permissions):
            return _TILED[0].period
    return PRODUCT_FRAGMENT.columns.period


_TILED = (Dealt(8, 4, adjacent=True), Dealt(8, 4, adjacent=False))
_TILED_ROWS = (Dealt(4, 4, adjacent=True), Dealt(4, 4, adjacent=False))


def fragment_of(products: Sequence[TileProduct], rings: Iterable[Ring], span: Span) -> Fragment:
    """How threads share the sums of products that they multiply themselves.

    Of f32 and i32 a thread has four neighbours where these are neighbours in shared memory, so that it loads them at
    once. Where neighbours there are along the depth, lanes have rows or columns side by side: the swizzle puts the same
    place of eight lines into different banks. Raises `NoTileProgram` for products whose factors lie in different ways.
    """
    tiles = {(ring.name, tile.name): tile for ring in rings for tile in ring.tiles}
    found: set[Fragment] = set()
    for product in products:
        assert not isinstance(product.left, str)
        left, right = (tiles[factor.ring, factor.tile] for factor in (product.left, product.right))
        tiled = Fragment(_TILED_ROWS[left.by_rows], _TILED[not right.by_rows])
        found.add(PRODUCT_FRAGMENT if left.component == F64 else tiled)
    if len(found) > 1:
        raise NoTileProgram("products have factors whose neighbours in memory are along different modes", span)
    return next(iter(found), PRODUCT_FRAGMENT)


# --- parts of the depth ----------------------------------------------------------------------------


REASSOCIATE = "reassociate"
"""The permission to add up sums of floats in parts; of integers the sum is the same (`girih.ir.hints.PERMISSIONS`)."""


@dataclass(frozen=True, slots=True, eq=False)
class DepthLoop:
    """The loop of a tile kernel that goes through the depth, and may be shared out.

    It is step `producing` of the producer and step `consuming` of the consumers, whose steps from `end` on do not
    concern rings or products. `sums` are the registers that it adds to.
    """

    producing: int
    consuming: int
    end: int
    sums: tuple[str, ...]


def depth_loop(kernel: TileKernel) -> DepthLoop:
    """The loop of a kernel whose iterations may be shared out. Raises `NoTileProgram`, with the reason why none is."""
    span = kernel.function.span
    consuming, loop = _only_loop(kernel.consumers.body, Issue, span)
    producing, supplying = _only_loop(kernel.producer.body, Supply, span)
    products = [one for step in walk((loop,)) if isinstance(step, Issue) for one in step.products]
    sums = tuple(dict.fromkeys(one.sums for one in products))
    steps = walk(loop.body)
    if loop.carried or not all(isinstance(step, Compute | Await | GiveBack | Issue | Settle) for step in steps):
        raise NoTileProgram("the loop over the depth does more than add up products", span)
    if supplying.carried or loop.variable.type != INDEX or any(isinstance(one.left, str) for one in products):
        raise NoTileProgram("the loop over the depth hands on more than sums", span)
    if not all(one.accumulate for one in products) or not set(sums) <= _zeros(kernel.consumers.body[:consuming]):
        raise NoTileProgram("sums do not begin with zero", span, "add what they are to begin with behind the loop")
    if len({(kernel.held(name).rows, kernel.held(name).columns) for name in sums}) > 1:
        raise NoTileProgram("sums of several shapes are added up in the loop over the depth", span)
    components = {kernel.held(name).component for name in sums}
    if not components <= {F32, I32}:
        raise NoTileProgram("sums are not of f32 or i32", span)
    if F32 in components and REASSOCIATE not in kernel.function.permissions:
        raise NoTileProgram("sums of floats keep their order", span, f'permit it by allow=["{REASSOCIATE}"]')
    end = consuming + 1
    body = kernel.consumers.body
    while end < len(body) and isinstance(body[end], Settle | GiveBack):
        end += 1
    return DepthLoop(producing, consuming, end, sums)


def _only_loop(body: Steps, kind: type[Issue] | type[Supply], span: Span) -> tuple[int, Repeat]:
    """The only step of a body that has to do with rings, which is a loop with steps of a kind, and its place."""
    rings = (Issue, Supply, Await)
    found = [k for k, step in enumerate(body) if any(isinstance(one, rings) for one in walk((step,)))]
    loop = body[found[0]] if len(found) == 1 else None
    if not isinstance(loop, Repeat) or not any(isinstance(step, kind) for step in loop.body):
        raise NoTileProgram("there is no single loop over the depth outside of which nothing is loaded", span)
    return found[0], loop


def _zeros(steps: Steps) -> frozenset[str]:
    """The registers that are zero behind some steps, for certain."""
    zeros: set[str] = set()
    for step in walk(steps):
        match step:
            case Componentwise(op=Constant(value=value), result=result) if _is_zero(value):
                zeros.add(result)
            case Componentwise(op=Cast(), result=result, operands=(source,)) if source in zeros:
                zeros.add(result)
            case Assign(result=result, source=source) if source in zeros:
                zeros.add(result)
            case Componentwise(result=result) | Assign(result=result):
                zeros.discard(result)
            case Compute():
                pass
            case _:
                return frozenset()
    return frozenset(zeros)


def _is_zero(value: object) -> bool:
    """Whether a constant is zero, of floats the positive one: the sum of nothing."""
    return isinstance(value, int | float) and value == 0 and copysign(1, value) > 0


def in_depth_parts(kernel: TileKernel, count: int) -> TileKernel:
    """The kernel whose work-groups are executed in so many parts of their depth. Raises `NoTileProgram`."""
    loop, part, last = depth_loop(kernel), Value("part", INDEX), Value("last", BOOL)
    producing, consuming = list(kernel.producer.body), list(kernel.consumers.body)
    producing[loop.producing : loop.producing + 1] = _part_of(producing[loop.producing], part, count)
    rest, waits = tuple(consuming[loop.end :]), consuming[loop.consuming + 1 : loop.end]
    consuming[loop.consuming :] = [
        *_part_of(consuming[loop.consuming], part, count), *waits,
        Offer(loop.sums, last), Choose(last, (Unite(loop.sums), *rest), ()),
    ]  # fmt: skip
    return replace(
        kernel,
        producer=replace(kernel.producer, body=tuple(producing)),
        consumers=replace(kernel.consumers, body=tuple(consuming)),
        parts=DepthParts(count, part),
    )


def _part_of(step: TileStep, part: Value, count: int) -> list[TileStep]:
    """A loop over the depth as one over a part of it: each has as many iterations, the last ones fewer or none."""
    assert isinstance(step, Repeat)
    ops = RegionBuilder(TILE_LANGUAGE)

    def literal(value: int) -> Value:
        (found,) = ops.add("constant", INDEX, value=value)
        return found

    def of(mnemonic: str, a: Value, b: Value) -> Value:
        (found,) = ops.add(mnemonic, INDEX, a=a, b=b)
        return found

    one = literal(1)
    distance = of("max", one if step.step is None else step.step, one)
    length = of("max", of("sub", step.stop, step.start), literal(0))
    trips = of("div", of("add", length, of("sub", distance, one)), distance)
    each = of("mul", of("div", of("add", trips, literal(count - 1)), literal(count)), distance)
    begin = of("add", step.start, of("mul", part, each))
    end = of("min", step.stop, of("add", begin, each))
    return [*map(Compute, ops.ops), replace(step, start=begin, stop=end)]


def iterations_of(kernel: TileKernel) -> Amount | None:
    """How often the loop over the depth is gone through, as far as the arrays go; None where no map tells."""
    body = kernel.producer.body
    _, loop = _only_loop(body, Supply, kernel.function.span)
    definitions = {value: step.op for step in walk(body) if isinstance(step, Compute) for value in step.op.results}
    distance = 1 if loop.step is None else _literal(loop.step, definitions)
    copies = [copy for step in walk(loop.body) if isinstance(step, Supply) for copy in step.copies]
    for copy in copies:
        if isinstance(copy, Copy) and loop.variable in copy.at and distance:
            size = kernel.map(copy.map).sizes[copy.at.index(loop.variable)]
            return combined("div", combined("add", size, number(distance - 1)), number(distance))
    return None


def _literal(value: Value, definitions: Mapping[Value, Op]) -> int | None:
    op = definitions.get(value)
    return op.value if isinstance(op, Constant) and isinstance(op.value, int) else None
