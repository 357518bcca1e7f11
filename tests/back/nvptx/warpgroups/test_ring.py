"""A ring of copies and products by warps with roles: right in every order of things, and told what is wrong with it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.ptx_machine import Deadlock, Fault
from tests.back.nvptx.ptx_machine.asynchronous import ORDERS
from tests.back.nvptx.warpgroups.ring import Ring
from tests.cases import every_case

SMALL = Ring()
LARGE = Ring(columns=128, slots=4)


@pytest.mark.parametrize("order", ORDERS)
def test_a_product_of_matrices(order: str) -> None:
    for ring, steps in ((SMALL, 1), (SMALL, 7), (LARGE, 6), (Ring(consumers=1, slots=2, consumer_registers=248), 3)):
        found, wanted, record = ring.launch(ring.text(), steps, copies=order)
        np.testing.assert_array_equal(found, wanted)
        assert record.executed[f"wgmma.mma_async.sync.aligned.m64n{ring.columns}k16.f32.bf16.bf16"] >= 4 * steps


@pytest.mark.parametrize("seed", range(12))
def test_a_product_in_any_order_of_warps_and_copies(seed: int) -> None:
    found, wanted, _ = SMALL.launch(SMALL.text(), 5, seed=seed)
    np.testing.assert_array_equal(found, wanted)


def test_a_seed_draws_the_same_order_again() -> None:
    first, again, other = (SMALL.launch(SMALL.text(), 5, seed=seed)[2].instructions for seed in (1, 1, 2))
    assert first == again != other


WRONG = (
    ("no fence for the registers of products", "wgmma.fence.sync.aligned;", "", Fault, r"there was no wgmma\.fence"),
    ("the last group is not waited for", "wgmma.wait_group.sync.aligned 0;", "", Fault, "touched while wgmma has it"),
    ("slots are given up too early", "wait_group.sync.aligned 1;", "wait_group.sync.aligned 2;", Fault,
     "is written by a copy counted by the mbarrier at 0x16[0-9a-f]* while wgmma of warpgroup [12] may still read it"),
    ("products are in no group", "wgmma.commit_group.sync.aligned;", "", Fault, "while wgmma of warpgroup [12] may"),
    ("consumers wait for the wrong phase", "STEP: ", "STEP: xor.b32 %r10, %r7, 1;", Fault,
     "writes, without having waited for it|may still read it"),
    ("the phase is none", "[%r8], %r7;", "[%r8], 5;", Fault, "the parity of a phase is 0 or 1, found 5"),
    ("the producer waits for the wrong phase", "xor.b32 %r10, %r7, 1;", "mov.b32 %r10, %r7;", Deadlock,
     r"1 threads .* wait for mbarrier phase \(mbarrier at .*, asked for 0; phase 0 lacks 2 of 2 arrivals\)"),
    ("too few bytes are expected", "_, [%r9], 24576;", "_, [%r9], 16384;", Fault,
     "reads what a copy counted by the mbarrier at 0x[0-9a-f]+ writes, without having waited for it"),
    ("too many bytes are expected", "_, [%r9], 24576;", "_, [%r9], 24592;", Deadlock, "phase 0 lacks 16 bytes"),
    ("one consumer is enough to free a slot", "[%r4+0], 2;", "[%r4+0], 1;", Fault, "may still read it|arrivals at"),
    ("three consumers are to free a slot", "[%r4+0], 2;", "[%r4+0], 3;", Deadlock, "lacks 1 of 3 arrivals"),
    ("nobody waits for the mbarriers to begin", "BEGUN: bar.sync 0;", "BEGUN:", Fault,
     "before it can know that thread 0 has initialised it|there is no mbarrier at"),
    ("copies do not see the mbarriers", "fence.mbarrier_init.release.cluster;", "", Fault, "is not visible to copies"),
    ("the copy does not see what was stored", "fence.proxy.async.shared::cta;", "", Fault,
     r"wrote without a fence\.proxy\.async after that"),
    ("the copy comes before the others have stored", "bar.sync %r27, 128;", "", Fault,
     "without having waited for it|writes what a bulk copy of thread"),
    ("a named barrier for more than come", "bar.sync %r27, 128;", "bar.sync 1, 384;", Deadlock,
     r"wait for barrier 1 of 384 aligned \(256 wait there, 0 have arrived\)"),
    ("the result is not waited for", "cp.async.bulk.wait_group 0;", "", Fault, "before it has waited for its bulk"),
    ("more registers than there are", "inc.sync.aligned.u32 232", "inc.sync.aligned.u32 240", Deadlock,
     "wait for registers: 240 a thread, of which the CTA has 7168 left"),
    ("no registers are given back", "setmaxnreg.dec.sync.aligned.u32 40;", "", Deadlock,
     "wait for registers: 232 a thread, of which the CTA has 0 left"),
    ("half a warpgroup multiplies", "wgmma.fence.sync.aligned;", "@%q6 bra END;\nwgmma.fence.sync.aligned;", Fault,
     "has fewer than 128 threads that have not ended"),
)  # fmt: skip
"""What is wrong, what is replaced, by what, and what is told. In another order of things it may be something else."""


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: one[0])
def test_what_is_wrong_is_told(wrong: tuple[str, str, str, type[Exception], str]) -> None:
    name, old, new, kind, words = wrong
    text = SMALL.text().replace("setp.eq.u32 %q7", "setp.gt.u32 %q6, %r0, 160; setp.eq.u32 %q7")
    assert old in text
    broken = text.replace(old, new)
    if name == "consumers wait for the wrong phase":
        broken = broken.replace("[%r8], %r7;", "[%r8], %r10;")
    told = []
    with every_case() as case:
        for copies, seed in (("at_once", None), ("late", None), *(("", seed) for seed in range(4))):
            with case(f"{copies}, {seed}"), pytest.raises((Fault, Deadlock)) as raised:
                SMALL.launch(broken, 7, copies=copies, seed=seed)
            told.append(raised.value)
    assert any(isinstance(one, kind) and re.search(words, str(one)) for one in told), told


@pytest.mark.parametrize("name", ["FREE", "FULL"])
def test_a_wait_may_end_too_early(name: str) -> None:
    """Who asks once, and not in a loop, is told in some order of things: a wait ends after a time in any case."""
    text = SMALL.text()
    once = re.sub(rf"\n@!%q3 bra {name};", "", text)
    assert once != text
    told = 0
    for seed in range(12):
        try:
            SMALL.launch(once, 7, seed=seed)
        except (Fault, Deadlock):
            told += 1
    assert told >= 3


def test_other_numbers_are_seen() -> None:
    """What is no breach of a rule: another swizzle, another slot."""
    text = SMALL.text()
    with every_case() as case:
        for old, new in (
            ("0x4000004000000000", "0x8000004000000000"),
            ("add.s64 %d5, %d3, 2;", "add.s64 %d5, %d3, 4;"),
        ):
            with case(old):
                assert old in text
                found, wanted, _ = SMALL.launch(text.replace(old, new), 5)
                assert (found != wanted).any()


@needs_ptxas
def test_an_assembler_takes_the_text_without_a_warning(tmp_path: Path) -> None:
    for ring in (SMALL, LARGE, Ring(columns=256, slots=2)):
        assert not ptxas(ring.text(), "sm_90a", tmp_path).problems
