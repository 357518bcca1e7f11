"""What becomes of tile programs: as golden text, and in which ways it does not depend on how they are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import girih
from girih.ir.core import Function
from girih.kernels import texts
from girih.ops.tile.arith import Constant
from girih.ops.tile.builtin import GroupId
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.tile.budget import MOST_SHARED_BYTES, layout_of
from girih.tile.form import (
    Await,
    Choose,
    Componentwise,
    Compute,
    Copy,
    Deliver,
    Fetch,
    Gather,
    GiveBack,
    Issue,
    Repeat,
    Send,
    Settle,
    Spread,
    Supply,
    TileKernel,
    Verify,
    walk,
)
from girih.tile.program import NoTileProgram
from girih.tile.recognise import tile_kernel
from girih.tile.show import show
from tests.conftest import Golden
from tests.tile.programs import PERMITTED, STORE, attention, batched, function_of, grouped, kernel_of, product, twin

SCALED = """%scaled = cooperative_matrix_scale %alpha, %product : coopmatrix<f32x128x256,matrix_acc,work_group>
        %old = cooperative_matrix_load.both_checked %C[%row, %column] : coopmatrix<bf16x128x256,matrix_acc,work_group>
        %wide = cast %old : coopmatrix<f32x128x256,matrix_acc,work_group>
        %kept = cooperative_matrix_scale %beta, %wide : coopmatrix<f32x128x256,matrix_acc,work_group>
        %sum = add %scaled, %kept : coopmatrix<f32x128x256,matrix_acc,work_group>
        %rounded = cast %sum : coopmatrix<bf16x128x256,matrix_acc,work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%row, %column]"""


def scaled() -> str:
    """C := alpha A B + beta C."""
    return product(epilogue=SCALED).replace("@product(", "@product(%alpha: f32, %beta: f32, ")


def of_library(name: str, **definitions: object) -> Function:
    """A kernel of the library with some definitions."""
    text = texts.path(name).read_text(encoding="utf-8")
    (function,) = girih.parse(text, definitions=definitions).functions
    return function


def reason(text: str) -> str:
    """Why the function of a text is no tile program."""
    with pytest.raises(NoTileProgram) as refused:
        kernel_of(text)
    return refused.value.reason


def test_members_of_groups_are_gathered() -> None:
    """Neighbours stay neighbours, as the type says which they are; only the kernel knows where members lie."""
    kernel = kernel_of(grouped())
    assert not kernel.maps and [tile.by_rows for tile in kernel.rings[0].tiles] == [False, False]
    assert [one.reason for one in kernel.slower] == ["where a member of a group lies, only the kernel knows"] * 2
    turned = grouped().replace("load.both_checked %A[%row, %at]", "load.t.both_checked %A[%at, %row]")
    assert [tile.by_rows for tile in kernel_of(turned).rings[0].tiles] == [True, False]
    both = grouped().replace("%B = load %Bs[%z]", "%B = load %Cs[%z]")
    assert reason(both) == "a factor is loaded from %Cs, which the kernel writes"


# --- golden texts -----------------------------------------------------------------------------


def test_a_product(golden: Golden) -> None:
    golden("tile/product_recognised.txt", show(kernel_of(product())))


def test_a_product_that_is_checked(golden: Golden) -> None:
    golden("tile/product_checked.txt", show(kernel_of(product(checked=""), checks=True)))


def test_a_scaled_product(golden: Golden) -> None:
    golden("tile/product_scaled.txt", show(kernel_of(scaled())))


def test_a_product_in_parts(golden: Golden) -> None:
    text = product(rows=64, columns=64, epilogue=SCALED.replace("128x256", "64x64")).replace(
        "subgroup_size=32", PERMITTED
    )
    function = function_of(text.replace("@product(", "@product(%alpha: f32, %beta: f32, "))
    golden("tile/product_in_parts.txt", show(tile_kernel(function, parts=4, checks=False)))


def test_attention(golden: Golden) -> None:
    golden("tile/attention.txt", show(kernel_of(attention())))


def test_a_product_of_the_library(golden: Golden) -> None:
    kernel = tile_kernel(of_library("gemm_work_group", rows=256, columns=128, depth=64))
    golden("tile/gemm_work_group.txt", show(kernel))


# --- products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_tiles_lie_as_their_memory_does(order: str, transpose_a: bool, transpose_b: bool) -> None:
    kernel = kernel_of(product(order=order, transpose_a=transpose_a, transpose_b=transpose_b))
    (ring,) = kernel.rings
    left, right = ring.tiles
    assert left.by_rows is ((order == "C") is not transpose_a)
    assert right.by_rows is ((order == "C") is not transpose_b)
    assert {left.lines, left.span} == {128, 64}
    assert {right.lines, right.span} == {256, 64}
    assert kernel.staging("staging0").tile.by_rows is (order == "C")
    assert ring.slots == 4
    assert layout_of(kernel).bytes <= MOST_SHARED_BYTES


@pytest.mark.parametrize(("rows", "columns", "consumers"), [(64, 128, 1), (128, 256, 2), (192, 128, 3), (256, 128, 2)])
def test_the_tile_says_how_many_compute(rows: int, columns: int, consumers: int) -> None:
    for items in (32, 128, 512):
        kernel = kernel_of(product(rows=rows, columns=columns, items=items))
        assert kernel.consumers.warpgroups == consumers
        registers = 128 * (kernel.producer.registers + consumers * kernel.consumers.registers)
        assert registers <= 65536


def test_products_run_on_in_the_loop() -> None:
    kernel = kernel_of(product())
    (loop,) = (step for step in walk(kernel.consumers.body) if isinstance(step, Repeat))
    assert [type(step) for step in loop.body] == [Await, Issue, Settle, GiveBack]
    assert loop.body[2:] == (Settle(1), GiveBack("ring0", keep=1))
    behind = kernel.consumers.body[kernel.consumers.body.index(loop) + 1 :]
    assert behind[:2] == (Settle(0), GiveBack("ring0"))


def test_a_tile_that_is_checked_needs_no_check() -> None:
    assert not any(isinstance(step, Verify) for step in walk(kernel_of(product(), checks=True).producer.body))
    verified = [
        step for step in walk(kernel_of(product(checked=""), checks=True).producer.body) if isinstance(step, Verify)
    ]
    assert len(verified) == 2


def test_what_is_added_to_is_loaded_by_who_stores_it() -> None:
    steps = list(walk(kernel_of(scaled()).consumers.body))
    assert sum(isinstance(step, Fetch) for step in steps) == 1
    assert sum(isinstance(step, Send) for step in steps) == 4


def test_products_of_many_pairs_have_maps_with_one_more_dimension() -> None:
    kernel = kernel_of(batched())
    assert [len(one.sizes) for one in kernel.maps] == [3, 3, 3]
    assert [one.box[2] for one in kernel.maps] == [1, 1, 1]
    (supply,) = (step for step in walk(kernel.producer.body) if isinstance(step, Supply))
    assert all(isinstance(copy, Copy) and copy.at[2] is kernel_z(kernel) for copy in supply.copies)


def kernel_z(kernel: TileKernel) -> object:
    """The work-group along z, as the producer computes it."""
    ops = [step.op for step in kernel.producer.body if isinstance(step, Compute)]
    return next(op.result for op in ops if isinstance(op, GroupId) and op.axis == 2)


def test_several_stores_to_an_array_keep_their_order() -> None:
    kernel = kernel_of(product(epilogue=f"{STORE}\n        cooperative_matrix_store %rounded, %C[%row, %column]"))
    assert not kernel.stagings
    assert sum(isinstance(step, Deliver) for step in walk(kernel.consumers.body)) == 2


def test_work_groups_that_share_factors_go_in_groups() -> None:
    assert kernel_of(product()).order.group == 8
    assert kernel_of(attention()).order.group == 1


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ("stages=3", lambda kernel: kernel.rings[0].slots == 3),
        ("group=4", lambda kernel: kernel.order.group == 4),
        ("persistent=false", lambda kernel: not kernel.order.persistent),
        ("consumers=1", lambda kernel: kernel.consumers.warpgroups == 1),
        ("stages=1", lambda kernel: kernel.rings[0].slots == 2),
        ("stages=1000000", lambda kernel: kernel.rings[0].slots == kernel_of(product(columns=128)).rings[0].slots),
        ("consumers=7", lambda kernel: kernel.consumers.warpgroups == 2),
        ("producer_registers=24", lambda kernel: (kernel.producer.registers, kernel.consumers.registers) == (24, 240)),
    ],
)
def test_hints(hint: str, found: Callable[[Any], bool]) -> None:
    text = product(columns=128).replace("work_group_size", f"hopper={{{hint}}}, work_group_size")
    assert found(kernel_of(text))


def _hinted(text: str, hints: str) -> str:
    """The text with hints of its loop over the depth."""
    found, count = re.subn(r"(yield \(%next\)\n *\})", rf"\1 attributes {{{hints}}}", text)
    assert count == 1
    return found


@pytest.mark.parametrize(
    ("hints", "slots"),
    [("stages=3", 3), ("stages=2", 2), ("stages=1", 1), ("pipeline=false", 1), ("stages=4, pipeline=false", 1),
     ("pipeline=true", 8), ("stages=1000000", 13)],
)  # fmt: skip
def test_hints_of_loops(hints: str, slots: int) -> None:
    """A loop has as many slots as it asks for, or the most; iterations that do not overlap wait for their products."""
    kernel = kernel_of(_hinted(product(columns=64, rows=64), hints))
    assert [ring.slots for ring in kernel.rings] == [slots]
    (loop,) = (step for step in kernel.consumers.body if isinstance(step, Repeat))
    waits = [step.pending for step in loop.body if isinstance(step, Settle)]
    assert waits == ([0] if slots == 1 else [1])
    assert ("one at a time" in show(kernel)) is (slots == 1)


def test_hints_of_a_loop_go_before_those_of_the_kernel() -> None:
    text = _hinted(product(columns=128), "stages=2").replace("work_group_size", "hopper={stages=3}, work_group_size")
    assert kernel_of(text).rings[0].slots == 2


def test_each_loop_has_its_own_hints() -> None:
    """Of attention, whose loop has a ring for keys and one for values, beside one that is filled once."""
    text, count = re.subn(
        r"(yield \(%m1, %l1, %o1\)\n *\})", r"\1 attributes {stages=2}", attention(length=64, keys=64)
    )
    assert count == 1
    kernel = kernel_of(text)
    assert [ring.slots for ring in kernel.rings] == [1, 2, 2]


# --- attention --------------------------------------------------------------------------------


def test_rows_that_are_the_same_everywhere_take_few_registers() -> None:
    kernel = tile_kernel(of_library("attention_work_group", queries=128, keys=64, headdim=128))
    spreads = [one.spread for one in kernel.registers]
    assert spreads.count(Spread.ROWS) > 4


ONE_ROW = """%bias = cooperative_matrix_load.both_checked %X[%zero, %column]
                : coopmatrix<f32x1x256,matrix_acc,work_group>
        %squares = cooperative_matrix_apply (%r, %c, %x) = %bias -> coopmatrix<f32x1x256,matrix_acc,work_group> {
            %at = cast %r : f32
            %y = add %x, %at : f32
            yield (%y)
        }
        %sum = cooperative_matrix_apply (%r, %c, %x, %y) = %product, %squares
                -> coopmatrix<f32x128x256,matrix_acc,work_group> {
            %y2 = add %x, %y : f32
            yield (%y2)
        }
        """


def test_a_matrix_of_one_row_is_spread_over_columns() -> None:
    """Also where the number of the row, which is 0, is looked at."""
    text = product(epilogue=ONE_ROW + STORE.replace("%product", "%sum")).replace("%C:", "%X: memref<f32x1x?>, %C:")
    spreads = {one.spread for one in kernel_of(text).registers if one.rows == 1}
    assert spreads == {Spread.COLUMNS}


def test_the_numbers_of_one_row_are_not_combined() -> None:
    total = """%total = cooperative_matrix_combine.row (%x, %y) = %bias -> coopmatrix<f32x1x256,matrix_acc,work_group> {
            %both = add %x, %y : f32
            yield (%both)
        }
        %sum = cooperative_matrix_apply (%r, %c, %x, %y) = %product, %total
                -> coopmatrix<f32x128x256,matrix_acc,work_group> {
            %z = add %x, %y : f32
            yield (%z)
        }
        """
    bias = ONE_ROW.partition("%squares")[0]
    text = product(epilogue=bias + total + STORE.replace("%product", "%sum"))
    assert reason(text.replace("%C:", "%X: memref<f32x1x?>, %C:")) == (
        "the numbers of one row are combined, which are spread over all threads"
    )


def test_the_second_product_runs_while_rows_are_computed() -> None:
    kernel = kernel_of(attention())
    (loop,) = (step for step in walk(kernel.consumers.body) if isinstance(step, Repeat))
    first, second = (k for k, step in enumerate(loop.body) if isinstance(step, Issue))
    waits = [k for k, step in enumerate(loop.body) if isinstance(step, Settle)]
    assert first < second < waits[0] < waits[1]
    assert loop.body[waits[0]] == Settle(1)
    assert waits[1] - waits[0] > 6, "the rows stand between the two waits"


def test_tiles_inside_of_a_mask_do_not_ask_it() -> None:
    kernel = kernel_of(attention())
    (loop,) = (step for step in walk(kernel.consumers.body) if isinstance(step, Repeat))
    (masked,) = (step for step in loop.body if isinstance(step, Choose))
    (whole,), (edge,) = masked.then, masked.otherwise
    assert isinstance(whole, Componentwise) and isinstance(edge, Componentwise)
    assert isinstance(whole.op, CooperativeMatrixApply) and isinstance(edge.op, CooperativeMatrixApply)
    assert [op.spec.mnemonic for op in whole.op.body.ops] == ["mul", "yield"]
    assert len(edge.op.body.ops) == 6


def test_work_groups_that_take_longer_come_first() -> None:
    assert not kernel_of(attention()).order.last_first
    stop = "%stop = min %query, %end : index"
    causal = (
        attention().replace("    parallel {", f"    {stop}\n    parallel {{").replace("%zero, %end,", "%zero, %stop,")
    )
    assert kernel_of(causal).order.last_first


MASK = """%asked = cooperative_matrix_apply (%r, %c, %x) = %product -> coopmatrix<f32x128x256,matrix_acc,work_group> {
            $region
        }
        %rounded = cast %asked : coopmatrix<bf16x128x256,matrix_acc,work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%row, %column]"""


def masked(condition: str) -> TileKernel:
    """A product whose components count where a condition `%h` on row `%r`, column `%c` and `%n` holds."""
    region = f"{condition}\n%none = constant 0.0 : f32\n%y = select %h, %x, %none : f32\nyield (%y)"
    text = product(epilogue=MASK.replace("$region", region))
    scalars = "%n = cast %k : i32\n    %flag = less_than %row, %k : bool"
    return kernel_of(text.replace("    parallel {", f"    {scalars}\n    parallel {{"))


@pytest.mark.parametrize(
    ("condition", "extremes"),
    [
        ("%h = less_than %c, %n : bool", [255]),
        ("%h = greater_than %n, %c : bool", [255]),
        ("%h = greater_than_equal %r, %c : bool", [255, 0]),
        ("%s = sub %r, %c : i32\n%h = less_than_equal %s, %n : bool", [127, 0]),
        ("%g = less_than %r, %n : bool\n%h = and %g, %flag : bool", [127]),
        ("%g = less_than %x, %x : bool\n%f = less_than %r, %n : bool\n%h = or %f, %g : bool", [127]),
        ("%g = not %flag : bool\n%h = or %g, %flag : bool", []),
    ],
)  # fmt: skip
def test_masks_that_a_scalar_implies(condition: str, extremes: list[int]) -> None:
    body = masked(condition).consumers.body
    (choice,) = (step for step in body if isinstance(step, Choose))
    assert choice.then == (), "components stay as they are"
    known = [step.op.value for step in body if isinstance(step, Compute) and isinstance(step.op, Constant)]
    assert [value for value in known[4:] if value is not False] == extremes


@pytest.mark.parametrize(
    "condition",
    [
        "%h = less_than %x, %x : bool",
        "%h = equal %r, %c : bool",
        "%p = mul %r, %c : i32\n%h = less_than %p, %n : bool",
        "%g = less_than %r, %n : bool\n%h = not %g : bool",
        "%b = cast %r : i8\n%m = constant 3 : i8\n%h = less_than %b, %m : bool",
    ],
)
def test_masks_that_every_component_asks(condition: str) -> None:
    assert not any(isinstance(step, Choose) for step in masked(condition).consumers.body)


# --- products of the library with matrices of the work-group ---------------------------------


SCOPED = re.compile(r", matrix_(acc|a|b)>")


def scoped(name: str, **definitions: object) -> TileKernel:
    """A kernel of the library for subgroups, with its matrices held by the work-group."""
    text = SCOPED.sub(r", matrix_\1, work_group>", texts.path(name).read_text(encoding="utf-8"))
    (function,) = girih.parse(text, definitions=definitions).functions
    return tile_kernel(function)


@pytest.mark.parametrize("name", ["gemm", "gemm_epilogue"])
@pytest.mark.parametrize("transpose_a", [False, True])
def test_branches_between_checked_and_unchecked_loads(name: str, transpose_a: bool) -> None:
    kernel = scoped(name, type="bf16", rows=128, columns=128, depth=64, transpose_a=transpose_a)
    (loop,) = (step for step in kernel.producer.body if isinstance(step, Repeat))
    guards = [step for step in loop.body if isinstance(step, Choose)]
    assert [type(step) for guard in guards for step in guard.then] == [Verify, Verify]
    assert sum(isinstance(step, Supply) for step in loop.body) == 1
    assert kernel.rings[0].tile("left").by_rows is transpose_a


def test_columns_that_products_with_ones_repeat() -> None:
    kernel = scoped("attention", type="bf16", queries=128, keys=128, headdim=64, causal=True)
    assert sum(isinstance(step, Issue) for step in walk(kernel.consumers.body)) == 4
    assert kernel.order.last_first


# --- what does not count ------------------------------------------------------------------------


def _numbered(text: str) -> str:
    """A text in which values have numbers in the order of their first appearance."""
    names: dict[str, str] = {}
    return re.sub(r"%(\w+)", lambda found: names.setdefault(found[1], f"%v{len(names)}"), text)


@pytest.mark.parametrize("text", [product(), scaled(), attention()])
def test_names_do_not_count(text: str) -> None:
    renamed = re.sub(r"%(\w+)", lambda found: f"%x{len(found[1])}_{found[1][::-1]}", text)
    renamed = re.sub(r"@\w+", "@other", renamed)

    def shown(one: str) -> str:
        return _numbered(re.sub(r"@\w+", "@name", show(kernel_of(one))))

    assert shown(text) == shown(renamed)


def test_the_order_of_independent_instructions_does_not_count() -> None:
    swapped = product().replace("            %left =", "            %first =", 1)
    lines = product().splitlines()
    left = next(k for k, line in enumerate(lines) if line.strip().startswith("%left ="))
    lines[left], lines[left + 1] = lines[left + 1], lines[left]
    swapped = "\n".join(lines)
    assert _roles(kernel_of(product())) == _roles(kernel_of(swapped))


def _roles(kernel: TileKernel) -> list[str]:
    return [type(step).__name__ for body in (kernel.producer.body, kernel.consumers.body) for step in walk(body)]


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("%empty =", "%lane = subgroup_local_id : i32\n        %empty =", "`subgroup_local_id` tells work-items apart"),
        ("%empty =", "%count = num_subgroups.x : i32\n        %empty =", "asks how many work-items there are"),
        ("%empty =", "barrier\n        %empty =", "`barrier` is neither arithmetic of scalars nor of matrices"),
        ("%empty =", 'print "here"\n        %empty =', "`print` is neither"),
        ("    parallel {", "    parallel {\n    }\n    parallel {", "several regions `parallel`"),
        ("    parallel {", "    %x = alloca : memref<f32x4,local>\n    parallel {", "local memory of its own"),
        ("%A[%row, %at]", "%C[%row, %at]", "a factor is loaded from %C, which the kernel writes"),
        ("    parallel {", "    %x = load %C[%zero, %zero] : bf16\n    parallel {", "a scalar is loaded from %C"),
    ],
)
def test_what_is_no_tile_program(before: str, after: str, why: str) -> None:
    assert why in reason(product().replace(before, after, 1))


def test_rows_that_warpgroups_do_not_have() -> None:
    assert "matrices have 32 rows" in reason(product(rows=32, columns=64))
    assert "matrices have 96 rows" in reason(product(rows=96, columns=64))


def test_tiles_that_are_too_large() -> None:
    assert "matrices take 256 registers of a work-item, of 240" in reason(product(rows=256, columns=256))
    assert "bytes of shared memory" in reason(product(rows=128, columns=256, depth=256))


def test_types_that_are_not_multiplied() -> None:
    assert "do not multiply i16 by i16" in reason(product(type="i16", sum="i16", columns=64, depth=32, epilogue=STORE))
    assert "sums of f16 are f32" in reason(product(type="f16", sum="f16", columns=64, epilogue=STORE))


def test_factors_of_bytes_lie_along_the_depth() -> None:
    kernel = kernel_of(product(type="i8", sum="i32", columns=128, order="C", transpose_b=True))
    assert [tile.by_rows for tile in kernel.rings[0].tiles] == [True, False]


WIDE_STORE = "cooperative_matrix_store.both_checked %product, %C[%row, %column]"


def eight_bit(depth: int) -> str:
    """A product of f8e4m3 with a result of f32."""
    text = product(type="f8e4m3", columns=128, depth=depth, order="C", transpose_b=True, epilogue=WIDE_STORE)
    return text.replace("%C: memref<f8e4m3", "%C: memref<f32")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (product(), "sums of floats keep their order"),
        (product().replace("constant 0.0 :", "constant 1.0 :"), "sums do not begin with zero"),
        (product().replace("constant 0.0 :", "constant -0.0 :"), "sums do not begin with zero"),
        (eight_bit(128), "the loop over the depth does more than add up products"),
        (twin(32), "sums of several shapes are added up"),
        (attention(), "there is no single loop over the depth outside of which nothing is loaded"),
    ],
)
def test_loops_that_are_not_shared_out(text: str, why: str) -> None:
    function = function_of(text)
    with pytest.raises(NoTileProgram, match=why):
        tile_kernel(function, parts=2)
    assert tile_kernel(function).parts is None


def test_sums_of_eight_bit_floats_are_added_up_in_f32() -> None:
    (loop,) = (step for step in walk(kernel_of(eight_bit(128)).consumers.body) if isinstance(step, Repeat))
    assert [type(step) for step in loop.body] == [Await, Issue, Settle, GiveBack, Componentwise]
    (part,) = (one for step in loop.body if isinstance(step, Issue) for one in step.products)
    addition = loop.body[-1]
    assert isinstance(addition, Componentwise) and not part.accumulate
    assert addition.operands == (addition.result, part.sums)
    assert "sums of 256 products of f8e4m3" in reason(eight_bit(256))


def test_tf32_is_used_where_it_is_allowed() -> None:
    text = product(type="f32", columns=128, depth=32, order="C", transpose_b=True)
    kernel = kernel_of(text.replace("attributes {", 'attributes {allow=["tf32"], '))
    assert any(isinstance(step, Supply) for step in walk(kernel.producer.body))
    assert [one.rounded for one in kernel.maps] == [True, True, False]


def test_a_right_factor_that_is_computed() -> None:
    text = product().replace("%right = ", "%loaded = ").replace(
        "            %next =",
        "            %right = add %loaded, %loaded : coopmatrix<bf16x64x256,matrix_b,work_group>\n            %next =",
    )  # fmt: skip
    assert "the right factor of a product is not loaded for it alone" in reason(text)


def test_columns_that_are_combined() -> None:
    epilogue = "%most = cooperative_matrix_reduce_max.column %product : coopmatrix<f32x1x256,matrix_acc,work_group>"
    assert "numbers of different rows are combined" in reason(product(epilogue=epilogue))


def test_tiles_as_wide_as_their_lines() -> None:
    left, right = kernel_of(product(depth=16, order="C")).rings[0].tiles
    assert (left.swizzle, right.swizzle) == (32, 128)


# --- tiles that no map has ------------------------------------------------------------------------


def gathered(kernel: TileKernel) -> list[str]:
    """The names of the tiles that threads of the producer fill."""
    supplies = [step for step in walk(kernel.producer.body) if isinstance(step, Supply)]
    return [copy.tile for step in supplies for copy in step.copies if isinstance(copy, Gather)]


def test_bytes_that_have_to_be_turned() -> None:
    kernel = kernel_of(product(type="i8", sum="i32", columns=128))
    assert gathered(kernel) == ["left"]
    assert [tile.by_rows for tile in kernel.rings[0].tiles] == [True, False]
    assert kernel.gathers
    assert (kernel.producer.registers, kernel.consumers.registers) == (104, 200)
    assert "no neighbours in memory along the depth" in kernel.slower[0].reason


def test_tiles_that_are_too_narrow_for_a_map() -> None:
    kernel = kernel_of(product(rows=64, columns=8, order="C"))
    assert gathered(kernel) == ["right"]
    assert not kernel.rings[0].tile("right").by_rows, "8 neighbours of 16 bits are 16 bytes, and the depth has more"


@pytest.mark.parametrize("text", [product(), attention(), scaled()])
def test_kernels_without_maps(text: str, golden: Golden) -> None:
    kernel = tile_kernel(function_of(text), checks=False, maps=False)
    assert not kernel.maps and not kernel.stagings and not kernel.slower
    assert gathered(kernel) and all(isinstance(step, Gather) for step in _copies(kernel))
    assert sum(isinstance(step, Deliver) for step in walk(kernel.consumers.body)) == 1
    assert [ring.tiles for ring in kernel.rings] == [ring.tiles for ring in kernel_of(text).rings]
    if text == product():
        golden("tile/product_gathered.txt", show(kernel))


def _copies(kernel: TileKernel) -> list[object]:
    return [copy for step in walk(kernel.producer.body) if isinstance(step, Supply) for copy in step.copies]


def test_a_tensor_whose_edge_is_repeated() -> None:
    kernel = tile_kernel(of_library("gemm_work_group", rows=128, columns=128, depth=64))
    assert not kernel.slower
    text = texts.path("gemm_work_group").read_text(encoding="utf-8").replace("<2,constant>", "<2,clamp_to_edge>")
    (function,) = girih.parse(text, definitions={"rows": 128, "columns": 128, "depth": 64}).functions
    kernel = tile_kernel(function)
    assert gathered(kernel) == ["left", "right"]
    assert {one.reason for one in kernel.slower} == {"outside of the tensor is clamp_to_edge"}
    assert len([step for step in walk(kernel.consumers.body) if isinstance(step, Deliver)]) == 1


def test_a_function_without_products() -> None:
    text = product().replace("%next = cooperative_matrix_mul_add %left, %right, %sum", "%next = add %sum, %sum")
    assert "there is no product" in reason(text)


def test_a_kernel_without_parallel() -> None:
    (function,) = girih.parse("func @f(%A: memref<f32x8>) {\n}\n").functions
    with pytest.raises(NoTileProgram, match="does not end with `parallel`"):
        tile_kernel(function)


def test_another_tile_of_what_is_stored() -> None:
    text = scaled().replace("%old = cooperative_matrix_load.both_checked %C[%row, %column]",
                            "%old = cooperative_matrix_load.both_checked %C[%column, %row]")  # fmt: skip
    assert "of which another tile is stored" in reason(text)


def test_functions_are_checked_for_the_tests() -> None:
    with pytest.raises(AssertionError):
        function_of("func @f(%a: f32) { %b = add %a, %c : f32 }")
