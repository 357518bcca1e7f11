"""Schedules that are broken on purpose: the simulator finds each, and says which rule, who, and at which step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from girih.interpreter.machine import numbers
from girih.ir.types import F16, GroupType
from girih.tile.form import (
    Assign,
    Await,
    BoxPiece,
    Choose,
    Combine,
    Componentwise,
    Compute,
    Copy,
    Deliver,
    Fetch,
    GiveBack,
    Issue,
    Offer,
    PassTurn,
    Reclaim,
    Registers,
    Repeat,
    Send,
    Settle,
    Spread,
    Stage,
    Supply,
    TakeTurn,
    TileFactor,
    TileKernel,
    TileProduct,
    TileStep,
    walk,
)
from girih.tile.recognise import tile_kernel
from girih.tile.simulate.engine import interleavings
from girih.tile.simulate.faults import RULES, ScheduleFault
from girih.tile.simulate.launch import simulate
from tests.cases import every_case
from tests.tile.edits import Change, consuming, copying, instead, moved_up, producing, twice, without
from tests.tile.programs import PERMITTED, attention, function_of, grouped, product
from tests.tile.test_recognise import SCALED
from tests.tile.test_simulate import blank, normal, whole

Made = Callable[[], TileKernel]
BROKEN: list[tuple[Made, str, str]] = []


def broken(rule: str, words: str) -> Callable[[Made], Made]:
    """The decorator of a kernel that breaks a rule, which is told with words that a pattern matches."""

    def enter(made: Made) -> Made:
        BROKEN.append((made, rule, words))
        return made

    return enter


# --- what is right --------------------------------------------------------------------------------


def products() -> TileKernel:
    """C := A B by two consumers, from a ring of two slots."""
    kernel = tile_kernel(function_of(product(rows=128, columns=64, depth=32)))
    return replace(kernel, rings=(replace(kernel.rings[0], slots=2),))


def attending() -> TileKernel:
    """Attention by two consumers in turn."""
    return tile_kernel(function_of(attention(length=64, keys=32)))


def scaled() -> TileKernel:
    """C := alpha A B + beta C by two consumers."""
    text = product(rows=128, columns=64, depth=32, epilogue=SCALED.replace("x256", "x64"))
    return tile_kernel(function_of(text.replace("@product(", "@product(%alpha: f32, %beta: f32, ")))


def simulated(kernel: TileKernel, interleaving: Any) -> None:
    """Launch one of the kernels on three work-groups, which one CTA executes."""
    name, parameters = kernel.function.name, len(kernel.function.parameters)
    if isinstance(kernel.function.parameters[0].type, GroupType):
        sizes = ((384, 64, 160), (100, 33, 40))
        groups = [whole(m, k) for m, n, k in sizes], [whole(k, n) for m, n, k in sizes]
        simulate(kernel, (3, 1, 2), (*groups, [blank(m, n) for m, n, _ in sizes]), interleaving, ctas=1)
        return
    dtype = numbers.dtype(kernel.maps[0].component)
    factors = whole(384, 160, dtype=dtype), whole(160, 64, dtype=dtype)
    if name == "attention":
        q, k, v = (normal(64, n, 3, seed=n) for n in (128, 96, 96))
        simulate(kernel, (1, 3, 1), (q, k, v, blank(64, 128, 3), np.float32(1)), interleaving, ctas=1)
    elif parameters == 3:
        simulate(kernel, (3, 1, 1), (*factors, blank(384, 64, dtype=dtype)), interleaving, ctas=1)
    else:
        simulate(kernel, (3, 1, 1), (np.float32(1), np.float32(1), *factors, whole(384, 64)), interleaving, ctas=1)


@pytest.mark.parametrize(
    "kernel", [products, attending, scaled, lambda: in_parts(), lambda: of_groups(), lambda: stored_by_consumers()]
)
def test_what_is_right_is_accepted(kernel: Made) -> None:
    for interleaving in interleavings(3):
        simulated(kernel(), interleaving)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_other_schedules_that_are_right(slots: int) -> None:
    """Fewer slots, a wait in each iteration, more waits than needed, turns where none are needed."""
    kernel = products()
    changes = (
        instead(Settle | GiveBack, at_once),
        instead(Issue, lambda step: (TakeTurn(), step, PassTurn())),
        twice(Reclaim),
    )
    for change in changes:
        kernel = consuming(kernel, change)
        kernel = replace(kernel, rings=(replace(kernel.rings[0], slots=slots),))
        for interleaving in interleavings(2):
            simulated(kernel, interleaving)


def at_once(step: Settle | GiveBack) -> Sequence[TileStep]:
    """All groups are waited for, all slots given back."""
    return (Settle() if isinstance(step, Settle) else GiveBack(step.ring),)


# --- rings ----------------------------------------------------------------------------------------


def loops(make: Callable[[Repeat], Sequence[TileStep]]) -> Change:
    """Others in the place of loops."""
    return instead(Repeat, make)


@broken("balance", r"goes through [45] slots of ring0, but .* through [45]")
def a_slot_too_few_is_supplied() -> TileKernel:
    def later(step: Repeat) -> Sequence[TileStep]:
        assert step.step is not None
        return (replace(step, start=step.step),)

    return producing(products(), loops(later))


@broken("balance", r"goes through [56] slots of ring0, but")
def a_slot_too_many_is_supplied() -> TileKernel:
    def longer(step: Repeat) -> Sequence[TileStep]:
        return step, replace(step, start=step.start, stop=step.step or step.stop)

    return producing(products(), loops(longer))


@broken("deadlock", r"consumer 0 waits until a slot of ring0 is full \(`full` of slot 0 of ring0 lacks 1 of 1 arrivals")
def nothing_is_supplied() -> TileKernel:
    return producing(products(), lambda step: () if isinstance(step, Repeat) else (step,))


@broken("deadlock", r"the producer waits until a slot of ring0 is empty .*; consumer 1 waits until a slot of ring0")
def no_slot_is_given_back() -> TileKernel:
    return consuming(products(), without(GiveBack))


@broken("deadlock", r"the producer waits until a slot of ring0 is empty")
def one_slot_is_kept_for_the_next_product() -> TileKernel:
    kernel = products()
    return replace(kernel, rings=(replace(kernel.rings[0], slots=1),))


@broken("deadlock", r"the producer waits until a slot of ring2 is empty .*; consumer 1 waits until a slot of ring1")
def rings_are_supplied_in_another_order() -> TileKernel:
    def second_first(step: Repeat) -> Sequence[TileStep]:
        first, second = (k for k, one in enumerate(step.body) if isinstance(one, Supply))
        body = list(step.body)
        body[first], body[second] = body[second], body[first]
        return (replace(step, body=tuple(body)),)

    kernel = producing(attending(), loops(second_first))
    return replace(kernel, rings=tuple(replace(ring, slots=1) for ring in kernel.rings))


@broken("kept", r"consumer [01], work-group \(0, 0, 0\): 1 slots of ring0 are not given back at the end")
def the_last_slot_is_kept() -> TileKernel:
    return consuming(products(), without(GiveBack, number=1))


@broken("reused", r"at = 0, give back ring0: a slot of ring0 is given back, which a product that is not settled reads")
def the_slot_of_a_product_that_runs_is_given_back() -> TileKernel:
    return consuming(products(), instead(GiveBack, lambda step: (GiveBack(step.ring),), number=0))


@broken("reused", r"give back ring0, keeping 1: a slot")
def a_slot_is_given_back_before_the_wait() -> TileKernel:
    return consuming(products(), moved_up(GiveBack))


@broken("held", r"at = 0, issue: a product reads the slot of ring0 while 0 slots are held")
def a_slot_is_read_before_it_is_awaited() -> TileKernel:
    return consuming(products(), moved_up(Issue))


@broken("held", r"a product reads the slot of ring0 1 behind the last one while 1 slots are held")
def a_slot_is_read_that_was_never_awaited() -> TileKernel:
    def behind(step: Issue) -> Sequence[TileStep]:
        (one,) = step.products
        assert isinstance(one.left, TileFactor)
        return (Issue((replace(one, left=replace(one.left, behind=1)),)),)

    return consuming(products(), instead(Issue, behind))


# --- copies ---------------------------------------------------------------------------------------


@broken("bytes", r"supply ring0: the copies of left bring 4096 bytes, expected are 8192")
def a_box_is_left_out() -> TileKernel:
    return producing(products(), copying(lambda one: replace(one, pieces=one.pieces[1:])))


@broken("bytes", r"supply ring0: the copies fill \['left'\], not each tile once")
def a_tile_is_left_out() -> TileKernel:
    return producing(products(), instead(Supply, lambda step: (replace(step, copies=step.copies[:1]),)))


@broken("filled", r"await ring0: 4096 of 8192 bytes of left were not brought by a copy")
def boxes_go_to_one_place() -> TileKernel:
    def in_one_place(copy: Copy) -> Copy:
        return replace(copy, pieces=tuple(replace(one, offset=0) for one in copy.pieces))

    return producing(products(), copying(in_one_place))


@broken("copy", r"(?s)supply ring0: the copy of left: a copy by map0: .*not a multiple of 16")
def a_box_begins_between_16_bytes() -> TileKernel:
    def moved(copy: Copy) -> Copy:
        pieces = (BoxPiece(one.offset, (one.moved[0] + 4, *one.moved[1:])) for one in copy.pieces)
        return replace(copy, pieces=tuple(pieces))

    return producing(products(), copying(moved))


@broken("copy", r"send staging0 .*: a store by out0")
def a_store_begins_before_the_tensor() -> TileKernel:
    def moved(step: Send) -> Sequence[TileStep]:
        pieces = (BoxPiece(one.offset, (one.moved[0] - 512, *one.moved[1:])) for one in step.pieces)
        return (replace(step, pieces=tuple(pieces)),)

    return consuming(products(), instead(Send, moved))


# --- registers ------------------------------------------------------------------------------------


@broken("unsettled", r"tile\d+ := tile\d+ by .* = cast .*: tile\d+ are the sums of a product that is not settled")
def sums_are_read_while_products_run() -> TileKernel:
    def late(step: TileStep) -> Sequence[TileStep]:
        if step == Settle() or (isinstance(step, GiveBack) and not step.keep):
            return ()
        return (step, Settle(), GiveBack("ring0")) if isinstance(step, Componentwise) and step.operands else (step,)

    return consuming(products(), late)


def second_wait_behind(kernel: TileKernel, kind: type[TileStep]) -> TileKernel:
    """Attention whose second product is waited for behind the last step of a kind in the loop."""

    def later(step: Repeat) -> Sequence[TileStep]:
        waits = (Settle(), GiveBack("ring2"))
        body = [one for one in step.body if one not in waits]
        last = max(k for k, one in enumerate(body) if isinstance(one, kind))
        return (replace(step, body=(*body[: last + 1], *waits, *body[last + 1 :])),)

    return consuming(kernel, loops(later))


@broken("unsettled", r"tile\d+ := .*: tile\d+ are the sums of a product that is not settled")
def sums_are_scaled_while_their_product_runs() -> TileKernel:
    return second_wait_behind(attending(), Componentwise)


@broken("unsettled", r"tile\d+ := .* by .*cast.*: tile\d+ is the left factor of a product that is not settled")
def a_left_factor_is_made_while_the_one_before_is_read() -> TileKernel:
    """Weights are rounded at once, before the second product, which reads those before, is waited for."""
    kernel = attending()
    (left,) = {one.left for step in walk(kernel.consumers.body) if isinstance(step, Issue) for one in step.products
               if isinstance(one.left, str)}  # fmt: skip

    def sooner(step: Repeat) -> Sequence[TileStep]:
        rounding = next(one for one in step.body if isinstance(one, Componentwise) and one.result == left)
        body = [one for one in step.body if one is not rounding]
        at = body.index(Settle())
        return (replace(step, body=(*body[:at], rounding, *body[at:])),)

    return consuming(kernel, loops(sooner))


@broken("unsettled", r"issue: x is a left factor and the sums of products that run together")
def a_left_factor_is_the_sums_of_its_own_group() -> TileKernel:
    kernel = tile_kernel(function_of(product(type="f16", rows=128, columns=64, depth=64)))
    left, right = TileFactor("ring0", "left"), TileFactor("ring0", "right")
    first = TileProduct("x", left, right, accumulate=False)
    second = TileProduct("y", "x", right, accumulate=False)

    def chained(step: Repeat) -> Sequence[TileStep]:
        body = (Await("ring0"), Issue((first,)), Settle(), Issue((first, second)), Settle(), GiveBack("ring0"))
        return (replace(step, body=body),)

    registers = tuple(Registers(name, F16, 128, 64) for name in "xy")
    return replace(consuming(kernel, loops(chained)), registers=(*kernel.registers, *registers))


@broken("running", r"consumer [01], work-group \(0, 0, 0\): 1 groups of products are not settled at the end")
def products_run_at_the_end() -> TileKernel:
    kernel = products()
    (loop,) = (step for step in kernel.consumers.body if isinstance(step, Repeat))
    end = kernel.consumers.body.index(loop) + 1
    return replace(kernel, consumers=replace(kernel.consumers, body=kernel.consumers.body[:end]))


@broken("unwritten", r"issue: tile\d+ is not written before on every way")
def sums_are_not_cleared() -> TileKernel:
    return consuming(products(), without(Assign))


@broken("unwritten", r"is not written before on every way")
def what_only_a_loop_writes_is_read_behind_it() -> TileKernel:
    return consuming(attending(), without(Assign, number=1))


@broken("spread", r"tile\d+ := .*: tile\d+ keeps one number of several that differ \(one\)")
def numbers_that_differ_are_kept_as_one() -> TileKernel:
    kernel = scaled()
    (name,) = {step.result for step in walk(kernel.consumers.body) if isinstance(step, Fetch)}
    registers = (replace(one, spread=Spread.ONE) if one.name == name else one for one in kernel.registers)
    return replace(kernel, registers=tuple(registers))


# --- stagings, stores, loads ----------------------------------------------------------------------


@broken("reclaimed", r"stage staging0 .*: staging0 is written, of which a store may still be read")
def a_staging_is_written_while_a_store_reads_it() -> TileKernel:
    return consuming(products(), instead(Send, lambda step: (step, stage_of(products()), step)))


def stage_of(kernel: TileKernel) -> Stage:
    """The first `Stage` of a kernel."""
    return next(step for step in walk(kernel.consumers.body) if isinstance(step, Stage))


@broken("reclaimed", r"consumer [01], work-group \(0, 0, 0\), stage staging0")
def a_staging_is_never_reclaimed() -> TileKernel:
    return consuming(products(), without(Reclaim))


@broken("staged", r"send staging0 .*: staging0 is sent, but not all of it was staged since it was reclaimed")
def nothing_is_staged() -> TileKernel:
    return consuming(products(), without(Stage))


@broken("order", r"send staging0 .*: a store writes byte \d+ of C, which the work-group stored without a wait between")
def a_tile_is_sent_twice() -> TileKernel:
    return consuming(products(), twice(Send))


@broken("order", r"memory by .*: a load reads byte \d+ of C, which the work-group stored without a wait between")
def what_was_stored_is_loaded() -> TileKernel:
    kernel = scaled()
    (fetch,) = (step for step in walk(kernel.consumers.body) if isinstance(step, Fetch))
    return consuming(kernel, instead(Send, lambda step: (step, fetch)))


# --- turns ----------------------------------------------------------------------------------------


@broken("turn", r"take turn: consumer 0 takes a turn while it has one")
def a_turn_is_not_passed() -> TileKernel:
    return consuming(attending(), without(PassTurn))


@broken("turn", r"consumer 0, work-group \(0, 0, 0\): a turn is not passed at the end")
def the_last_turn_is_not_passed() -> TileKernel:
    kernel = tile_kernel(function_of(product(rows=128, columns=64, depth=32)))
    body = (TakeTurn(), *kernel.consumers.body)
    return replace(kernel, consumers=replace(kernel.consumers, body=body))


@broken("turn", r"pass turn: consumer [01] passes a turn that it has not")
def a_turn_is_passed_twice() -> TileKernel:
    return consuming(attending(), twice(PassTurn))


@broken("turn", r"pass turn: consumer [01] passes a turn that it has not")
def a_turn_is_passed_that_nobody_took() -> TileKernel:
    return consuming(attending(), without(TakeTurn))


# --- budgets and scalars --------------------------------------------------------------------------


@broken("shared", r"\d+ bytes of shared memory are needed, there are 232448")
def slots_take_too_much() -> TileKernel:
    return replace(products(), rings=(replace(products().rings[0], slots=64),))


@broken("shared", r"right and left of ring0 share bytes")
def tiles_of_a_slot_overlap() -> TileKernel:
    (ring,) = products().rings
    return replace(products(), rings=(replace(ring, tiles=tuple(replace(one, offset=0) for one in ring.tiles)),))


def with_registers(producer: int, consumers: int) -> TileKernel:
    kernel = products()
    return replace(
        kernel,
        producer=replace(kernel.producer, registers=producer),
        consumers=replace(kernel.consumers, registers=consumers),
    )


@broken("registers", r"all threads together ask for 70656 registers, there are 65536")
def threads_take_too_much() -> TileKernel:
    return with_registers(40, 256)


@broken("registers", r"the producer ask for 41 registers")
def registers_are_given_in_eights() -> TileKernel:
    return with_registers(41, 232)


@broken("registers", r"the producer has 168 registers when it begins, and cannot give back to 176")
def a_producer_gives_registers_back() -> TileKernel:
    return with_registers(176, 160)


@broken("registers", r"matrices take \d+ registers of a thread, which has 24")
def matrices_take_too_much() -> TileKernel:
    return with_registers(24, 24)


def without_op(word: str) -> Change:
    """Nothing in the place of scalars that an instruction computes."""
    return instead(Compute, lambda step: () if step.op.spec.word.startswith(word) else (step,))


@broken("value", r"the producer, work-group \(0, 0, 0\), .*: %i is not computed by this role before")
def a_scalar_is_not_computed() -> TileKernel:
    return producing(products(), without_op("group_id"))


@broken("value", r"consumer 0, work-group \(0, 0, 0\): %k is not computed by this role before")
def a_bound_is_not_computed() -> TileKernel:
    return consuming(products(), without_op("size"))


# --- parts of the depth ---------------------------------------------------------------------------


def in_parts() -> TileKernel:
    """C := A B in three parts of the depth."""
    text = product(rows=128, columns=64, depth=32).replace("subgroup_size=32", PERMITTED)
    return tile_kernel(function_of(text), parts=3)


@broken("parts", r"consumer [01], work-group \(0, 0, 0\), part 0, unite tile1: the sums of 1 parts are there, of 3")
def sums_are_united_by_the_first() -> TileKernel:
    return consuming(in_parts(), instead(Choose, lambda step: step.then))


@broken("parts", r"the sums of part 0 are offered a second time")
def sums_are_offered_twice() -> TileKernel:
    return consuming(in_parts(), twice(Offer))


@broken("unsettled", r"offer tile1: tile1 are the sums of a product that is not settled")
def sums_are_offered_while_products_run() -> TileKernel:
    kernel = in_parts()
    body = list(kernel.consumers.body)
    offer = next(k for k, one in enumerate(body) if isinstance(one, Offer))
    body.insert(body.index(Settle()), body.pop(offer))
    return replace(kernel, consumers=replace(kernel.consumers, body=tuple(body)))


@broken("value", r"%last is not computed by this role before")
def nobody_offers() -> TileKernel:
    return consuming(in_parts(), without(Offer))


@broken("balance", r"goes through \d+ slots of ring0")
def consumers_go_through_the_whole_depth() -> TileKernel:
    whole_loop = next(step for step in walk(products().consumers.body) if isinstance(step, Repeat))
    kernel = in_parts()
    bounds = {value.name: value for step in walk(kernel.consumers.body) if isinstance(step, Compute)
              for value in step.op.results}  # fmt: skip
    start, stop = (bounds[value.name] for value in (whole_loop.start, whole_loop.stop))
    return consuming(kernel, loops(lambda step: (replace(step, start=start, stop=stop),)))


@broken("unwritten", r"tile\d+ is not written before on every way")
def sums_of_a_part_do_not_begin_with_zero() -> TileKernel:
    return consuming(in_parts(), without(Assign))


@broken("form", r"sums of a kernel without parts of the depth, or no sums")
def sums_are_offered_for_nobody() -> TileKernel:
    return replace(in_parts(), parts=None)


# --- members of groups, and stores without maps ---------------------------------------------------


def of_groups() -> TileKernel:
    """C := A B of the matrices of groups, whose tiles threads of the producer gather."""
    kernel = tile_kernel(function_of(grouped(rows=128, columns=64, depth=32)))
    return replace(kernel, rings=(replace(kernel.rings[0], slots=2),))


def stored_by_consumers() -> TileKernel:
    """C := A B with maps of the factors, which may be those of copied lines, and none of the result."""
    return tile_kernel(function_of(product(rows=128, columns=64, depth=32)), sent=False)


@broken("bytes", r"supply ring0: the copies fill \['left'\], not each tile once")
def a_tile_is_not_gathered() -> TileKernel:
    return producing(of_groups(), instead(Supply, lambda step: (replace(step, copies=step.copies[:1]),)))


@broken("bytes", r"supply ring0: the copies fill .*, not each tile once")
def a_tile_is_gathered_twice() -> TileKernel:
    return producing(of_groups(), instead(Supply, lambda step: (replace(step, copies=step.copies * 2),)))


@broken("value", r"the producer, work-group \(0, 0, 0\), .*is not computed by this role before")
def a_member_is_not_loaded() -> TileKernel:
    return producing(of_groups(), without_op("load"))


@broken("reused", r"give back ring0, keeping 1: a slot")
def a_gathered_slot_is_given_back_before_the_wait() -> TileKernel:
    return consuming(of_groups(), moved_up(GiveBack))


@broken("deadlock", r"the producer waits until a slot of ring0 is empty")
def no_gathered_slot_is_given_back() -> TileKernel:
    return consuming(of_groups(), without(GiveBack))


@broken("unsettled", r"tile\d+ are the sums of a product that is not settled")
def sums_are_stored_without_a_wait() -> TileKernel:
    def late(step: TileStep) -> Sequence[TileStep]:
        if step == Settle() or (isinstance(step, GiveBack) and not step.keep):
            return ()
        return (step, Settle(), GiveBack("ring0")) if isinstance(step, Deliver) else (step,)

    return consuming(stored_by_consumers(), late)


@broken("unwritten", r"tile\d+ is not written before on every way")
def what_is_stored_is_not_rounded() -> TileKernel:
    return consuming(stored_by_consumers(), instead(Componentwise, lambda step: (step,) if not step.operands else ()))


@broken("copy", r"(?s)supply ring0: the copy of left: a copy by map0: .*not a multiple of 16")
def a_box_of_copied_lines_begins_between_16_bytes() -> TileKernel:
    def moved(copy: Copy) -> Copy:
        pieces = (BoxPiece(one.offset, (one.moved[0] + 4, *one.moved[1:])) for one in copy.pieces)
        return replace(copy, pieces=tuple(pieces))

    return producing(stored_by_consumers(), copying(moved))


# --- parts that do not fit ------------------------------------------------------------------------


@broken("form", r"await ring9: it names a part that the kernel has not")
def a_ring_is_unknown() -> TileKernel:
    return consuming(products(), instead(Await, lambda step: (Await("ring9"),)))


@broken("form", r"two have the name map0, a map each")
def two_maps_have_one_name() -> TileKernel:
    return replace(products(), maps=tuple(replace(one, name="map0") for one in products().maps))


@broken("form", r"issue: the depths of the factors differ: 32 and 128")
def factors_do_not_fit() -> TileKernel:
    def turned(step: Issue) -> Sequence[TileStep]:
        (one,) = step.products
        return (Issue((replace(one, right=TileFactor("ring0", "left")),)),)

    return consuming(products(), instead(Issue, turned))


@broken("form", r"await ring0: this is no step of a producer")
def a_producer_awaits() -> TileKernel:
    return producing(products(), instead(Supply, lambda step: (Await("ring0"),)))


@broken("form", r"supply ring0: this is no step of a consumer")
def a_consumer_supplies() -> TileKernel:
    (supply,) = (step for step in walk(products().producer.body) if isinstance(step, Supply))
    return consuming(products(), instead(Await, lambda step: (supply,)))


@broken("form", r"swizzles of left and its map differ: 128 and 64")
def a_map_has_another_swizzle() -> TileKernel:
    return replace(products(), maps=tuple(replace(one, swizzle=64) for one in products().maps))


@broken("form", r"ring0 has no slot 2 behind the last one")
def a_slot_is_too_far_behind() -> TileKernel:
    def behind(step: Issue) -> Sequence[TileStep]:
        (one,) = step.products
        return (Issue((replace(one, right=replace(one.right, behind=2)),)),)

    return consuming(products(), instead(Issue, behind))


@broken("form", r"only components of a row can be combined")
def columns_are_combined() -> TileKernel:
    kernel = attending()

    def other_way(step: Combine) -> Sequence[TileStep]:
        return (replace(step, op=replace(step.op, along_row=False)),)  # type: ignore[call-arg]

    return consuming(kernel, instead(Combine, other_way))


@broken("form", r"tile\d+ \(tile\) cannot be one\d+ \(one\)")
def a_tile_is_assigned_to_one_number() -> TileKernel:
    return consuming(products(), instead(Assign, lambda step: (step, Assign(step.source, step.result))))


# --- all of them ----------------------------------------------------------------------------------


def test_all_are_found() -> None:
    with every_case() as case:
        for made, rule, words in BROKEN:
            with case(made.__name__.replace("_", " ")):
                kernel = made()
                for interleaving in interleavings(2):
                    with pytest.raises(ScheduleFault, match=words) as fault:
                        simulated(kernel, interleaving)
                    assert fault.value.rule == rule


def test_there_is_a_schedule_for_each_rule() -> None:
    assert {rule for _, rule, _ in BROKEN} | {"phase"} == set(RULES)
    assert len(BROKEN) > 60
