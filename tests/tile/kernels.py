"""Tile kernels that are written by hand, for tests of what prints, runs and emits them."""

from __future__ import annotations

from dataclasses import replace

from girih.ir.build import RegionBuilder, parameter
from girih.ir.core import RegionKind, Value
from girih.ir.types import BF16, F32, INDEX, CoopMatrix, MatrixScope, MemRef, Number, Use
from girih.ops.tile import TILE_LANGUAGE
from girih.tile.amounts import Amount, number
from girih.tile.form import (
    Await,
    BoxPiece,
    Componentwise,
    Compute,
    Copy,
    GiveBack,
    Issue,
    MapRecipe,
    Reclaim,
    Registers,
    Repeat,
    Ring,
    Send,
    Settle,
    SharedTile,
    Stage,
    Staging,
    Supply,
    TileFactor,
    TileKernel,
    TileProduct,
    TileStep,
    WarpgroupRole,
    WorkOrder,
)

ROWS, COLUMNS, DEPTH = 128, 256, 64


def _pieces(tile: SharedTile) -> tuple[BoxPiece, ...]:
    count = tile.span // tile.panel
    return tuple(BoxPiece(k * tile.panel_bytes, (k * tile.panel, 0)) for k in range(count))


def _moved(pieces: tuple[BoxPiece, ...], by: int) -> tuple[BoxPiece, ...]:
    return tuple(BoxPiece(one.offset, (one.moved[0] + by, *one.moved[1:])) for one in pieces)


def _map(name: str, parameter: int, component: Number, lines: int) -> MapRecipe:
    """A map of a matrix whose mode 0 has neighbours, with boxes of 64 of them by so many lines."""
    sizes = (Amount("size", (parameter, 0)), Amount("size", (parameter, 1)))
    strides = (Amount("stride", (parameter, 0)), Amount("stride", (parameter, 1)))
    return MapRecipe(name, parameter, component, number(0), sizes, strides, (64, lines), 128)


def product(slots: int = 4) -> TileKernel:
    """C^T := B^T A^T of bf16, for A of M x K, B of K x N and C of M x N: a tile of 128 columns and 256 rows of C."""
    matrix = MemRef.packed(BF16, (None, None))
    a, b, c = (parameter(name, matrix) for name in "ABC")
    ops = RegionBuilder(TILE_LANGUAGE)

    def constant(value: int) -> Value:
        return ops.add("constant", INDEX, value=value)[0]

    zero, rows, columns, step = constant(0), constant(ROWS), constant(COLUMNS), constant(DEPTH)
    (i,) = ops.add("group_id", INDEX, axis=0)
    (j,) = ops.add("group_id", INDEX, axis=1)
    (row,) = ops.add("mul", INDEX, a=i, b=columns)
    (column,) = ops.add("mul", INDEX, a=j, b=rows)
    (depth,) = ops.add("size", INDEX, tensor=a.value, mode=1)
    scalars = tuple(ops.ops)
    sums = CoopMatrix(F32, ROWS, COLUMNS, Use.ACC, MatrixScope.WORK_GROUP)
    inside = RegionBuilder(TILE_LANGUAGE, RegionKind.SPMD)
    (empty,) = inside.add("constant", sums, value=0.0)
    (rounded,) = inside.add("cast", replace(sums, component=BF16), a=empty)
    clear, rounding = inside.ops
    inside.add("cooperative_matrix_store", matrix=rounded, memory=c.value, row=column, column=row, transpose=True)
    ops.add("parallel", body=inside.region())

    left = SharedTile("b", BF16, ROWS, DEPTH, by_rows=True, swizzle=128)
    right = SharedTile("a", BF16, DEPTH, COLUMNS, by_rows=True, swizzle=128, offset=left.bytes)
    out = SharedTile("out", BF16, 64, COLUMNS // 2, by_rows=True, swizzle=128)
    at = Value("at", INDEX)
    supply = Supply(
        "factors",
        (Copy("b", "b", (at, column), _pieces(left)), Copy("a", "a", (row, at), _pieces(right))),
    )
    producer = (*map(Compute, scalars), Repeat(at, zero, depth, step, (), (supply,)))
    multiply = TileProduct("sums", TileFactor("factors", "b"), TileFactor("factors", "a"))
    body: tuple[TileStep, ...] = (Await("factors"), Issue((multiply,)), Settle(1), GiveBack("factors", keep=1))
    consumer = (
        *map(Compute, scalars),
        Componentwise(clear, "sums"),
        Repeat(Value("at", INDEX), zero, depth, step, (), body),
        Settle(),
        GiveBack("factors"),
        Componentwise(rounding, "rounded", ("sums",)),
        Reclaim("out"),
        Stage("out", "rounded"),
        Send("out", "c", (row, column), _pieces(out), (0, 64)),
        Reclaim("out"),
        Stage("out", "rounded", column=COLUMNS // 2),
        Send("out", "c", (row, column), _moved(_pieces(out), COLUMNS // 2), (0, 64)),
    )
    return TileKernel(
        function=ops.function("product", (a, b, c)),
        maps=(_map("b", 1, BF16, ROWS), _map("a", 0, BF16, DEPTH), _map("c", 2, BF16, 64)),
        rings=(Ring("factors", slots, (left, right)),),
        stagings=(Staging("out", out),),
        registers=(Registers("sums", F32, ROWS, COLUMNS), Registers("rounded", BF16, ROWS, COLUMNS)),
        order=WorkOrder(group=8),
        producer=WarpgroupRole(1, 40, producer),
        consumers=WarpgroupRole(2, 232, consumer),
    )
