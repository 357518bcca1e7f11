"""Every rule of layouts, views, loads and stores, blocked layouts, memrefs: kept once, broken once."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex

import ml_dtypes
import numpy as np
import pytest

from girih import addressing
from girih.addressing import (
    RULES,
    Access,
    AddressingError,
    BlockedInterleaved,
    Kind,
    MapTile,
    Strided,
    TensorLayout,
    TensorMap,
    TensorView,
    Violation,
    convert,
    load_tensor,
    store_tensor,
)
from girih.addressing.errors import rule

ROOT = Path(__file__).resolve().parent.parent.parent
MODELS = (
    "operand",
    "quirks",
    "tensor_layout",
    "tensor_view",
    "matrix",
    "load_store",
    "blocked_interleaved",
    "strided",
    "convert",
    "map_tile",
    "access",
)
SOURCE = re.compile(r"00[0-4] |girih$|SPV_ARM_cooperative_matrix_layouts revision 2$")

ANY: Any = None
"""For arguments of the wrong type."""
NOTHING = "Nothing"
WORD: Any = "2"
NUMBER: Any = 2.0
TRIPLE: Any = (0, 4, 1)
LIST: Any = [0.0]
NAN: Any = float("nan")


def row_of_bytes() -> TensorMap:
    return TensorMap.tiled(dtype="u8", global_dim=(64,), global_strides=(), box_dim=(32,))


def plain(*dimension: SupportsIndex) -> TensorLayout:
    return TensorLayout(len(dimension)).set_dimension(*dimension)


def f32(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def read_only() -> Any:
    return np.frombuffer(b"0123456789abcdef", np.float32)


def own(*dimension: int) -> TensorView:
    return TensorView(len(dimension), True).set_dimension(*dimension)


def blocked(**changes: Any) -> BlockedInterleaved:
    given: dict[str, Any] = {"order": "row", "rows": 8, "columns": 16, "component_size": 2, "stride": 2}
    return BlockedInterleaved(**(given | changes))


def decoded(result: Any) -> Any:
    return load_tensor(f32(4, 4), f32(16, 2), 0, plain(4, 4), None, lambda blocks, block, within: result)


@dataclass(frozen=True)
class Example:
    """`good` keeps the rule, every one of `bad` breaks it; each raises or returns lints."""

    rule: str
    good: Callable[[], object]
    bad: tuple[Callable[[], object], ...]


def example(rule: str, good: Callable[[], object], *bad: Callable[[], object]) -> Example:
    return Example(rule, good, bad)


EXAMPLES = (
    example("convert.model", lambda: convert(plain(4), "strided"), lambda: convert(ANY, "strided")),
    example(
        "convert.component_size",
        lambda: convert(blocked(), "blocked_interleaved", component_size=2),
        lambda: convert(blocked(), "blocked_interleaved", component_size=16),
    ),
    example(
        "convert.dtype",
        lambda: convert(plain(4, 16), "tensor_map", dtype="f16"),
        lambda: convert(plain(4, 16), "tensor_map"),
        lambda: convert(plain(4, 16), "tensor_map", dtype="half"),
        lambda: convert(blocked(), "tensor_map", dtype="f64"),
    ),
    example(
        "convert.global_address",
        lambda: convert(plain(4, 16), "tensor_map", dtype="f16", global_address=32),
        lambda: convert(plain(4, 16), "tensor_map", dtype="f16", global_address=-32),
    ),
    example("map_tile.map", lambda: MapTile(row_of_bytes(), (0,)), lambda: MapTile(ANY, (0,))),
    example(
        "map_tile.element_offset",
        lambda: MapTile(row_of_bytes(), (0,), None, 16),
        lambda: MapTile(row_of_bytes(), (0,), None, -16),
    ),
    example("convert.target", lambda: convert(plain(4), "strided"), lambda: convert(plain(4), "bytes")),
    example(
        "convert.equivalent",
        lambda: convert(plain(4, 16), "blocked_interleaved"),
        lambda: convert(plain(5, 16), "blocked_interleaved"),
    ),
    example("operand.integer", lambda: plain(4, np.int16(4)), lambda: plain(4, NUMBER), lambda: plain(NAN)),
    example("operand.sequence", lambda: Strided((4,)), lambda: Strided(ANY), lambda: TensorView(2, False, WORD)),
    example(
        "quirks.name",
        lambda: plain(4).access(1, 4, quirks="nvidia-580"),
        lambda: plain(4).access(1, 4, quirks="mesa"),
    ),
    example("tensor_layout.dim", lambda: TensorLayout(5), lambda: TensorLayout(0), lambda: TensorLayout(6)),
    example("tensor_layout.clamp_mode", lambda: TensorLayout(1, "repeat"), lambda: TensorLayout(1, WORD)),
    example("tensor_layout.type", lambda: plain(1), lambda: load_tensor(f32(1, 1), f32(4), 0, ANY)),
    example(
        "tensor_layout.operand_count",
        lambda: plain(4, 4).set_stride(4, 1),
        lambda: TensorLayout(2).set_dimension(4),
        lambda: plain(4, 4).set_block_size(1, 1, 1),
        lambda: plain(4, 4).set_stride(),
        lambda: plain(4, 4).slice((0, 4)),
    ),
    example(
        "tensor_layout.slice_pair",
        lambda: plain(4).slice((0, 4)),
        lambda: plain(4).slice(ANY),
        lambda: plain(4).slice(TRIPLE),
    ),
    example(
        "tensor_layout.block_size",
        lambda: TensorLayout(1).set_block_size(2**32 - 1),
        lambda: TensorLayout(1).set_block_size(0),
        lambda: TensorLayout(1).set_block_size(2**32),
    ),
    example(
        "tensor_layout.dimension", lambda: plain(2**32 - 1), lambda: plain(0), lambda: plain(-1), lambda: plain(2**32)
    ),
    example(
        "tensor_layout.implicit_stride",
        lambda: plain(9, 2**16, 2**16 - 1),
        lambda: plain(9, 2**16, 2**16),
        lambda: plain(1, 2**31, 2**31, 2**31),
    ),
    example("tensor_layout.stride", lambda: plain(4).set_stride(0), lambda: plain(4).set_stride(-1)),
    example(
        "tensor_layout.stride_order",
        lambda: plain(4, 6).set_stride(6, 1),
        lambda: plain(4, 6).set_stride(5, 1),
        lambda: TensorLayout(2).set_block_size(1, 4).set_dimension(4, 6).set_stride(1, 1),
    ),
    example(
        "tensor_layout.offset",
        lambda: plain(4).slice((-(2**31), 1)),
        lambda: plain(4).slice((2**31, 1)),
        lambda: plain(4).slice((2**30, 1)).slice((2**30, 1)),
    ),
    example(
        "tensor_layout.span",
        lambda: plain(4).slice((0, 2**32 - 1)),
        lambda: plain(4).slice((0, 0)),
        lambda: plain(4).slice((0, -4)),
        lambda: plain(4).slice((0, 2**32)),
    ),
    example(
        "tensor_layout.clamp_value",
        lambda: plain(4).set_clamp_value(-1),
        lambda: plain(4).set_clamp_value(2**32),
        lambda: plain(4).set_clamp_value(-(2**31) - 1),
    ),
    example(
        "tensor_layout.no_dimension",
        lambda: plain(4).access(1, 4),
        lambda: TensorLayout(1).access(1, 4),
        lambda: TensorLayout(1).slice((0, 4)).access(1, 4),
    ),
    example(
        "tensor_layout.index_overflow",
        lambda: plain(2, 1).set_stride(2**32 - 1, 1).access(2, 1),
        lambda: plain(3, 1).set_stride(2**32 - 1, 1).access(3, 1),
        lambda: plain(2**31 - 1, 1).set_stride(2**32 - 1, 1).slice((2**31 - 2, 1), (0, 1)).access(1, 1),
    ),
    example(
        "tensor_layout.partial_block",
        lambda: TensorLayout(2).set_block_size(1, 4).set_dimension(4, 6).set_stride(2, 1).lints(),
        lambda: TensorLayout(2).set_block_size(1, 4).set_dimension(4, 6).lints(),
    ),
    example(
        "tensor_layout.mirror_of_one",
        lambda: TensorLayout(1, "mirror_repeat").set_dimension(1).lints(),
        lambda: TensorLayout(1, "mirror_repeat").set_dimension(1).slice((0, 2)).lints(),
    ),
    example("tensor_layout.inner_stride", lambda: plain(4, 4).lints(), lambda: plain(4, 4).set_stride(8, 2).lints()),
    example(
        "tensor_layout.block_size_late",
        lambda: TensorLayout(1).set_block_size(2).set_dimension(4).lints(),
        lambda: plain(4).set_block_size(2).lints(),
    ),
    example("tensor_layout.matrix_over_span", lambda: plain(4, 4).lints(4, 4), lambda: plain(4, 4).lints(5, 4)),
    example(
        "tensor_layout.stores_alias",
        lambda: plain(4, 4).lints(4, 4, store=True),
        lambda: plain(4, 4).lints(5, 4, store=True),
        lambda: plain(4, 4).lints(4, 4, own(4, 4).set_stride(4, 0), True),
    ),
    example(
        "tensor_layout.out_of_bounds",
        lambda: plain(4, 4).lints(4, 4),
        lambda: plain(4, 4).slice((1, 4), (0, 4)).lints(4, 4),
    ),
    example("tensor_view.dim", lambda: TensorView(5), lambda: TensorView(0), lambda: TensorView(6)),
    example(
        "tensor_view.type",
        lambda: plain(4).access(1, 4, None),
        lambda: plain(4).access(1, 4, WORD),
        lambda: load_tensor(f32(1, 4), f32(4), 0, plain(4), WORD),
    ),
    example("tensor_view.has_dimensions", lambda: TensorView(1, False), lambda: TensorView(1, WORD)),
    example(
        "tensor_view.permutation",
        lambda: TensorView(3, False, (2, 0, 1)),
        lambda: TensorView(3, False, (2, 0, 0)),
        lambda: TensorView(3, False, (0, 1)),
        lambda: TensorView(2, False, (1, 2)),
    ),
    example(
        "tensor_view.operand_count",
        lambda: own(2, 2).set_stride(2, 1),
        lambda: own(2, 2).set_stride(1),
        lambda: TensorView(2, True).set_dimension(1),
    ),
    example("tensor_view.dimension", lambda: own(2**32 - 1), lambda: own(0), lambda: own(2**32)),
    example("tensor_view.implicit_stride", lambda: own(9, 2**31), lambda: own(9, 2**31, 2)),
    example("tensor_view.stride", lambda: own(4).set_stride(2**32 - 1), lambda: own(4).set_stride(-1)),
    example(
        "tensor_view.clip",
        lambda: own(4).set_clip(0, 2**32 - 1, 0, 4),
        lambda: own(4).set_clip(-1, 4, 0, 4),
        lambda: own(4).set_clip(0, 4, 0, 2**32),
    ),
    example(
        "tensor_view.no_dimension",
        lambda: plain(4).access(1, 4, own(4)),
        lambda: plain(4).access(1, 4, TensorView(1, True)),
    ),
    example(
        "tensor_view.layout_dim",
        lambda: plain(4, 4).access(4, 4, TensorView(2)),
        lambda: plain(4, 4).access(4, 4, TensorView(1)),
        lambda: plain(4, 4).access(4, 4, TensorView(3)),
    ),
    example(
        "tensor_view.clip_wrap",
        lambda: TensorView(1).set_clip(1, 2**32 - 2, 0, 4).lints(),
        lambda: TensorView(1).set_clip(1, 2**32 - 1, 0, 4).lints(),
        lambda: plain(4).lints(view=TensorView(1).set_clip(0, 4, 1, 2**32 - 1)),
    ),
    example(
        "tensor_view.clip_empty",
        lambda: TensorView(1).set_clip(0, 1, 0, 1).lints(),
        lambda: TensorView(1).set_clip(0, 0, 0, 1).lints(),
    ),
    example("tensor_view.dimension_ignored", lambda: own(4).lints(), lambda: TensorView(1).set_dimension(4).lints()),
    example(
        "tensor_view.index_wrap",
        lambda: plain(4).lints(1, 4, own(4)),
        lambda: plain(4).lints(1, 4, own(4).set_stride(2**32 - 1)),
    ),
    example(
        "matrix.shape",
        lambda: plain(4).access(1, 4),
        lambda: plain(4).access(0, 4),
        lambda: plain(4).access(4, -4),
        lambda: plain(4).access(2**32, 1),
    ),
    example(
        "load_store.matrix",
        lambda: load_tensor(f32(1, 4), f32(4), 0, plain(4)),
        lambda: load_tensor(LIST, f32(4), 0, plain(4)),
        lambda: load_tensor(f32(4), f32(4), 0, plain(4)),
        lambda: load_tensor(f32(0, 4), f32(4), 0, plain(4)),
        lambda: blocked().store(np.zeros(128, np.int16), np.zeros((8, 8), np.int16)),
        lambda: Strided((4,)).store(f32(4), f32(5)),
        lambda: Strided.of(WORD),
    ),
    example(
        "load_store.component",
        lambda: load_tensor(np.zeros((1, 4), ml_dtypes.bfloat16), np.zeros(4, ml_dtypes.bfloat16), 0, plain(4)),
        lambda: load_tensor(np.zeros((1, 4), complex), np.zeros(4, complex), 0, plain(4)),
        lambda: load_tensor(np.zeros((1, 4), bool), np.zeros(4, bool), 0, plain(4)),
        lambda: load_tensor(np.zeros((1, 4), ">f4"), np.zeros(4, ">f4"), 0, plain(4)),
        lambda: load_tensor(np.zeros((1, 4), object), np.zeros(4, object), 0, plain(4)),
        lambda: load_tensor(np.zeros((1, 4), "V4"), np.zeros(4, "V4"), 0, plain(4)),
        lambda: Strided((4,)).load(np.zeros(4, "U4")),
    ),
    example(
        "load_store.buffer",
        lambda: load_tensor(f32(1, 4), f32(2, 2), 0, plain(4)),
        lambda: load_tensor(f32(1, 4), LIST, 0, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(8)[::2], 0, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(), 0, plain(4)),
        lambda: Strided((4,)).load(np.zeros(4, object)),
        lambda: blocked().load(np.zeros(256, np.int16)[::2]),
    ),
    example(
        "load_store.component_type",
        lambda: Strided((4,)).store(f32(4), f32(4)),
        lambda: blocked().store(np.zeros(128, np.int16), np.zeros((8, 16), np.uint16)),
        lambda: Strided((4,)).store(np.zeros(4), f32(4)),
    ),
    example(
        "load_store.read_only",
        lambda: load_tensor(f32(1, 4), read_only(), 0, plain(4)),
        lambda: store_tensor(f32(1, 4), read_only(), 0, plain(4)),
        lambda: Strided((4,)).store(read_only(), f32(4)),
    ),
    example(
        "load_store.element_offset",
        lambda: load_tensor(f32(1, 4), f32(8), 4, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(8), -4, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(8), 2**63, plain(4)),
    ),
    example(
        "load_store.alignment",
        lambda: load_tensor(f32(1, 4), f32(8), 4, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(8), 2, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(8, 2), 1, plain(4), decode=lambda blocks, block, within: blocks[:, 0]),
    ),
    example(
        "load_store.buffer_too_small",
        lambda: store_tensor(f32(1, 4), f32(8), 4, plain(4)),
        lambda: store_tensor(f32(1, 4), f32(8), 8, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(3), 0, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(3, 4), 0, plain(4), decode=lambda blocks, block, within: blocks[:, 0]),
        lambda: blocked().load(np.zeros(127, np.int16)),
        lambda: Strided((4,), (2,)).load(f32(6)),
    ),
    example(
        "load_store.undefined",
        lambda: load_tensor(f32(1, 4), f32(4), 0, plain(4)),
        lambda: load_tensor(f32(1, 4), f32(4), 0, plain(4).slice((1, 4))),
        lambda: store_tensor(f32(1, 4), f32(4), 0, plain(4).slice((-1, 4))),
    ),
    example(
        "load_store.decoded",
        lambda: decoded(np.zeros(16)),
        lambda: decoded(np.zeros(15)),
        lambda: decoded(1.0),
        lambda: decoded(np.zeros(16, complex)),
        lambda: load_tensor(np.zeros((1, 4), int), f32(4, 4), 0, plain(4), None, lambda one, two, three: one[:, 0]),
    ),
    example("blocked_interleaved.order", lambda: blocked(order="column"), lambda: blocked(order="diagonal")),
    example(
        "blocked_interleaved.component_size",
        lambda: blocked(component_size=8),
        lambda: blocked(component_size=3),
        lambda: blocked(component_size=0),
        lambda: blocked().load(f32(128)),
    ),
    example("blocked_interleaved.rows", lambda: blocked(rows=4), lambda: blocked(rows=6), lambda: blocked(rows=0)),
    example(
        "blocked_interleaved.columns",
        lambda: blocked(columns=48),
        lambda: blocked(columns=20),
        lambda: blocked(columns=-16),
    ),
    example("blocked_interleaved.row_group", lambda: blocked(columns=32), lambda: blocked(columns=24)),
    example(
        "blocked_interleaved.column_group",
        lambda: blocked(order="column", rows=16),
        lambda: blocked(order="column", rows=12),
    ),
    example(
        "blocked_interleaved.stride", lambda: blocked(stride=1), lambda: blocked(stride=0), lambda: blocked(stride=-1)
    ),
    example(
        "blocked_interleaved.stride_revision_2",
        lambda: blocked(stride=3, columns=24),
        lambda: blocked(stride=3, columns=24, revision=2),
    ),
    example(
        "blocked_interleaved.stride_later", lambda: blocked().lints(), lambda: blocked(stride=3, columns=24).lints()
    ),
    example("blocked_interleaved.revision", lambda: blocked(revision=2), lambda: blocked(revision=3)),
    example("strided.shape", lambda: Strided((4,)), lambda: Strided((0,)), lambda: Strided((2**62, 2**62), (0, 0))),
    example(
        "strided.stride",
        lambda: Strided.of(f32(4, 4).T),
        lambda: Strided((4,), (-1,)),
        lambda: Strided.of(f32(4)[::-1]),
    ),
    example(
        "strided.operand_count",
        lambda: Strided((4, 4), (1, 4)),
        lambda: Strided((4, 4), (1,)),
        lambda: Strided((4, 4)).subview((0, 4)),
        lambda: Strided((4,)).subview(ANY),
    ),
    example("strided.offset", lambda: Strided((4,), None, 3), lambda: Strided((4,), None, -3)),
    example("strided.index_overflow", lambda: Strided((2,), (2**62,)), lambda: Strided((4,), (2**62,))),
    example("strided.inside", lambda: Strided((4,)).subview((1, 3)), lambda: Strided((4,)).subview((1, 4))),
    example(
        "access.elements",
        lambda: Strided((2**62,), (0,)).subview((0, 4)).access(),
        lambda: Strided((2**29,)).access(),
        lambda: plain(4).access(2**17, 2**17),
        lambda: blocked(rows=2**20, columns=2**20).access(),
    ),
    example("strided.stores_alias", lambda: Strided((4, 4)).lints(), lambda: Strided((4, 4), (1, 3)).lints()),
)


def broken(use: Callable[[], object]) -> set[str]:
    """The ids of the rules that a use breaks, lints included."""
    try:
        result = use()
    except AddressingError as error:
        assert all(one.rule in RULES and one.message and one.fix for one in error.violations)
        return {one.rule for one in error.violations}
    lints = result if isinstance(result, tuple) else ()
    return {one.rule for one in lints if isinstance(one, Violation)}


def of_models(identifiers: Iterable[str]) -> set[str]:
    return {identifier for identifier in identifiers if identifier.split(".")[0] in MODELS}


def test_every_rule_has_an_example() -> None:
    assert of_models(RULES) == {one.rule for one in EXAMPLES}


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: one.rule)
def test_a_rule_is_kept_and_broken(one: Example) -> None:
    assert one.bad
    assert one.rule not in broken(one.good)
    if RULES[one.rule].severity == "error":
        assert broken(one.good) == set()
    for bad in one.bad:
        assert one.rule in broken(bad)


@pytest.mark.parametrize("identifier", sorted(of_models(RULES)))
def test_a_rule_says_something_and_cites_its_source(identifier: str) -> None:
    one = RULES[identifier]
    assert one.id == identifier
    assert one.says
    assert SOURCE.match(one.source), one.source


def test_kinds_of_an_access_and_elements_stored_twice() -> None:
    access = Access(np.array([[0, 3], [3, -1]]), np.array([[0, 2], [0, 1]], np.uint8))
    assert access.counts() == {"in_bounds": 2, "filled": 1, "clamped": 1}
    assert access.words.tolist() == [["in_bounds", "clamped"], ["in_bounds", "filled"]]
    assert access.aliased().tolist() == [3]
    assert access.is_kind(Kind.FILLED, Kind.CLAMPED).tolist() == [[False, True], [False, True]]


def test_the_models_import_alone_and_need_only_numpy() -> None:
    program = (
        "import sys, girih.addressing as a; others = {'ml_dtypes', 'llvmlite', 'girih.ir', 'girih.diagnostics'};"
        "assert not others & set(sys.modules), others & set(sys.modules);"
        "assert all(getattr(a, name) is not None for name in a.__all__) and dir(a) == sorted(a.__all__)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        getattr(addressing, NOTHING)


def test_an_id_is_given_once() -> None:
    with pytest.raises(KeyError, match=r"matrix\.shape"):
        rule("matrix.shape", "again", "girih")
