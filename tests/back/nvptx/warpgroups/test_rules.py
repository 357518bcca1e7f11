"""The rules of products, copies and barriers of warps, each in a small kernel that keeps it and in some that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.back.nvptx.ptx_machine import Deadlock, Fault, PtxError
from tests.back.nvptx.ptx_machine.asynchronous import ORDERS
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.snippets import kernel, launch
from tests.back.nvptx.warpgroups.texts import descriptor_bits
from tests.cases import every_case

LEFT, RIGHT = descriptor_bits(1024, 128), descriptor_bits(128)
BEFORE = ".shared .align 1024 .b8 memory[4096]; .shared .align 8 .b64 counter;"
DECLARED = ".reg .f32 %s<8>; .reg .f32 %t<8>; .reg .b32 %a<4>;"
START = f"""mov.u32 %r0, %tid.x; mov.u32 %r1, memory; mad.lo.u32 %r2, %r0, 16, %r1; mov.u32 %r3, 0x3F803F80;
mad.wide.u32 %d0, %r0, 16, %p0; mov.u32 %r9, counter; setp.ne.u32 %q0, %r0, 0; setp.ge.u32 %q1, %r0, 16;
shr.u32 %r4, %r1, 4; cvt.u64.u32 %d1, %r4; add.s64 %d2, %d1, 128;
or.b64 %d1, %d1, {LEFT:#x}; or.b64 %d2, %d2, {RIGHT:#x};
setp.eq.u32 %q2, %r0, %r0; mov.f32 %s0, 0f00000000; mov.f32 %s1, 0f00000000; mov.f32 %s2, 0f00000000;
mov.f32 %s3, 0f00000000;
"""
"""`%d1` and `%d2` are the descriptors of both factors, of 64 x 16 and 8 x 16 numbers, one behind the other."""
FILL = """st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
@!%q1 st.shared.v4.b32 [%r2+2048], {%r3, %r3, %r3, %r3};
"""
SEEN = "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%s0, %s1, %s2, %s3}, %d1, %d2, %q2, 1, 1, 0, 0;\n"
FENCE, COMMIT = "wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n"
WAIT = "wgmma.wait_group.sync.aligned 0;\n"
STORE = "st.global.v4.f32 [%d0], {%s0, %s1, %s2, %s3};\n"
ONCE = START + FILL + SEEN + FENCE + PRODUCT + COMMIT + WAIT + STORE


def found(body: str, threads: int = 128, **options: Any) -> list[float]:
    """The different numbers that a kernel stores."""
    sums = aligned(16 * threads, 16).view(np.float32)
    sums[:] = -1
    launch(kernel(body, 1, before=BEFORE, declared=DECLARED), [sums], threads, **options)
    return sorted({float(one) for one in sums})


def test_a_product() -> None:
    assert found(ONCE) == [16]
    assert found(ONCE, 256) == [16]
    assert all(found(ONCE, seed=seed) == [16] for seed in range(4))


def test_products_of_one_shape_follow_each_other() -> None:
    assert found(ONCE.replace(PRODUCT, 3 * PRODUCT)) == [48]
    assert found(ONCE.replace(COMMIT, COMMIT + FENCE + PRODUCT + COMMIT)) == [32]


def test_moves_are_renaming() -> None:
    """Compilers move sums around while they are computed."""
    there = "".join(f"mov.f32 %t{n}, %s{n};\n" for n in range(4))
    back = "".join(f"mov.b32 %s{n}, %t{n};\n" for n in range(4))
    assert found(ONCE.replace(PRODUCT, PRODUCT + there + back + PRODUCT)) == [32]
    other = STORE.replace("%s", "%t")
    assert found(ONCE.replace(WAIT, there + WAIT).replace(STORE, other)) == [16]
    with pytest.raises(Fault, match="%t0 is touched while wgmma has it"):
        found(ONCE.replace(WAIT, there).replace(STORE, other))


SECOND = FENCE + PRODUCT.replace("%s", "%t") + COMMIT
REGISTERS = PRODUCT.replace("%d1", "{%a0, %a1, %a2, %a3}").replace(", 0, 0;", ", 0;")
ONES = "".join(f"mov.b32 %a{n}, %r3;\nor.b32 %a{n}, %a{n}, 0;\n" for n in range(4))
OTHERS = "{%s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7}"
WRONG = (
    ("sums are read", WAIT, "add.f32 %t0, %s0, %s0;", "%s0 is touched while wgmma has it"),
    ("sums are written", WAIT, f"mov.f32 %s1, 0f00000000;\n{WAIT}", "%s1 is written while wgmma has it"),
    ("the product is in no group", COMMIT, "", "%s0 is touched while wgmma has it"),
    ("the last group is kept", WAIT, WAIT.replace("0;", "1;"), "%s0 is touched while wgmma has it"),
    ("sums were touched", FENCE, FENCE + "add.f32 %s2, %s2, %s2;\n", "%s2, of sums, was touched after the last"),
    ("no fence", FENCE, "", r"there was no wgmma\.fence before the first product"),
    ("no fence between", COMMIT + WAIT, f"{COMMIT}{WAIT}add.f32 %s3, %s3, %s3;\n{PRODUCT}{COMMIT}{WAIT}",
     "%s3, of sums, was touched after the last"),
    ("sums of another shape", COMMIT,
     PRODUCT.replace("{%s0, %s1, %s2, %s3}", OTHERS).replace("n8", "n16") + COMMIT, "%s0 belongs to other sums"),
    ("sums in another order", COMMIT, PRODUCT.replace("%s0, %s1", "%s1, %s0") + COMMIT, "%s1 belongs to other sums"),
    ("a factor that is a sum", PRODUCT, PRODUCT + "mov.b32 %a0, %s0;\n" + REGISTERS, "%a0 is a left factor while"),
    ("a factor that is written", FENCE + PRODUCT + COMMIT,
     f"{ONES}{FENCE}{REGISTERS}{COMMIT}add.u32 %a3, %a3, 1;\n", "%a3 is touched while wgmma has it"),
    ("a factor that was touched", FENCE + PRODUCT, f"{FENCE}{ONES}{REGISTERS}",
     "%a0, of the left factor, was touched after the last"),
    ("threads end", WAIT + STORE, "", "warp 0 ends while wgmma goes on"),
    ("a factor is overwritten", WAIT, f"st.shared.b32 [%r2], %r3;\n{WAIT}",
     "thread 0 writes what wgmma of warpgroup 0 may still read"),
    ("no proxy fence", SEEN, "bar.sync 0;\n",
     r"wgmma of warpgroup 0 reads what thread 0 wrote without a fence\.proxy\.async"),
    ("one thread fences", SEEN, "@!%q0 fence.proxy.async.shared::cta;\nbar.sync 0;\n",
     "reads what thread [1-9]+ wrote"),
    ("no barrier", SEEN, "fence.proxy.async.shared::cta;\n", "reads what thread 0 writes, without having waited"),
    ("a store behind the fence", SEEN, SEEN + "st.shared.b32 [%r2], %r3;\nbar.sync 0;\n", "reads what thread 0 wrote"),
    ("different descriptors", FENCE, "cvt.u64.u32 %d3, %r0; add.s64 %d1, %d1, %d3;\n" + FENCE,
     "different values of a descriptor"),
)  # fmt: skip
"""What is wrong, what is replaced, by what, and what is told."""


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: one[0])
def test_what_is_wrong_with_a_product(wrong: tuple[str, str, str, str]) -> None:
    _, old, new, words = wrong
    assert old in ONCE
    with pytest.raises(Fault, match=words):
        found(ONCE.replace(old, new))


def test_a_fence_behind_the_barrier_does_as_well() -> None:
    assert found(ONCE.replace(SEEN, "bar.sync 0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n")) == [16]


def test_groups_are_waited_for_in_their_order() -> None:
    body = ONCE.replace(WAIT, SECOND + WAIT.replace("0;", "1;")).replace(STORE, STORE + WAIT)
    zeros = "".join(f"mov.f32 %t{n}, %s{n};\n" for n in range(4))
    assert found(body.replace(FENCE, zeros + FENCE, 1)) == [16]
    with pytest.raises(Fault, match="%t0 is touched while wgmma has it"):
        found(body.replace(FENCE, zeros + FENCE, 1).replace(STORE, STORE.replace("%s", "%t")))


def test_who_is_in_a_warpgroup() -> None:
    """Four warps in a row, from one whose number is a multiple of 4 on."""
    late = "setp.lt.u32 %q4, %r0, 32;\n@%q4 bra END;\nsetp.ge.u32 %q4, %r0, 160;\n@%q4 bra END;\n"
    body = ONCE.replace(FENCE, late + FENCE) + "END:\n"
    with pytest.raises(Fault, match="warpgroup 0 has fewer than 128 threads that have not ended"):
        found(body, 256)
    with pytest.raises(Deadlock, match=r"128 threads \(first 32\) wait for warpgroup members at wgmma\.mma_async"):
        found(body + "bar.sync 1, 256;", 256)
    second = "setp.lt.u32 %q4, %r0, 128;\n@%q4 bra END;\n"
    assert found(ONCE.replace(FENCE, second + FENCE) + "END:\n", 256) == [-1, 16]


SMALL = """cp.async.cg.shared.global [%r2], [%d0], 16;
@!%q1 cp.async.cg.shared.global [%r2+2048], [%d0], 16;
"""


def _small(arrival: str, seen: str = SEEN) -> list[float]:
    """A product of factors that `cp.async` brings from the sums; the sums are 1 in bf16, twice."""
    body = ONCE.replace(FILL + SEEN, f"{SMALL}{arrival}\n{seen}")
    sums = aligned(2048, 16).view(np.uint32)
    sums[:] = 0x3F803F80
    launch(kernel(body, 1, before=BEFORE, declared=DECLARED), [sums], 128, copies="late")
    return sorted({float(one) for one in sums.view(np.float32)})


def test_small_copies_are_made_visible_as_stores_are() -> None:
    waited = "cp.async.wait_all;"
    assert _small(waited) == [16]
    with pytest.raises(Fault, match=r"reads what a cp\.async of thread \d+ writes, without having waited"):
        _small("")
    with pytest.raises(Fault, match=r"reads what a cp\.async of thread 0 wrote without a fence\.proxy\.async"):
        _small(f"fence.proxy.async.shared::cta;\n{waited}\nbar.sync 0;\n{waited}", seen="bar.sync 0;\n")


def test_small_copies_arrive_at_an_mbarrier() -> None:
    arrival = """@!%q0 mbarrier.init.shared.b64 [%r9], 128;
    bar.sync 0;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];
    HERE: mbarrier.try_wait.parity.shared.b64 %q5, [%r9], 0;
    @!%q5 bra HERE;"""
    assert _small(arrival) == [16]
    with pytest.raises(Fault, match="without having waited"):
        _small(arrival.replace("HERE:", "").replace("@!%q5 bra HERE;", "").replace("[%r9], 0", "[%r9], 1"))


# --- barriers of some warps ----------------------------------------------------------------------

TURNS = """setp.ge.u32 %q4, %r0, 128;
@%q4 bra SECOND;
{first}
fence.proxy.async.shared::cta;
bar.arrive 1, 256;
bra END;
SECOND: bar.sync 1, 256;
wgmma.fence.sync.aligned;
{product}{commit}{wait}{store}
END:
"""


def turns(text: str = TURNS) -> str:
    return START + text.format(first=FILL, product=PRODUCT, commit=COMMIT, wait=WAIT, store=STORE)


def test_one_role_arrives_and_the_other_waits() -> None:
    assert found(turns(), 256) == [-1, 16]
    assert all(found(turns(), 256, seed=seed) == [-1, 16] for seed in range(4))
    with every_case() as case:
        for old, new, kind, words in (
            ("bar.arrive 1, 256;", "", Deadlock, r"wait for barrier 1 of 256 aligned \(128 wait there, 0 have arrived"),
            ("bar.arrive 1, 256;", "bar.arrive 2, 256;", Deadlock, r"barrier 1 of 256 aligned \(128 wait there"),
            ("SECOND: bar.sync 1, 256;", "SECOND:", Fault, "without having waited for it|wgmma of warpgroup 1"),
            ("bar.arrive 1, 256;", "bar.arrive 1, 256; bar.arrive 1, 256;", PtxError, "barrier 1"),
        ):
            with case(f"{old} {new}"), pytest.raises(kind, match=words):
                found(turns(TURNS.replace(old, new)), 256)


def test_warps_name_barriers_by_a_register() -> None:
    body = """mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 6; add.u32 %r1, %r1, 1; mov.u32 %r2, memory;
    mad.lo.u32 %r3, %r0, 4, %r2; st.shared.b32 [%r3], %r0; bar.sync %r1, 64; xor.b32 %r4, %r0, 32;
    mad.lo.u32 %r4, %r4, 4, %r2; ld.shared.b32 %r5, [%r4]; mad.wide.u32 %d0, %r0, 4, %p0; st.global.b32 [%d0], %r5;"""
    held = np.zeros(256, np.uint32)
    for schedule in ("together", "by_warp", "by_warp_reversed"):
        launch(kernel(body, 1, before=BEFORE), [held], 256, schedule=schedule)
        np.testing.assert_array_equal(held, np.arange(256) ^ 32)
    with pytest.raises(Fault, match="threads of one warp name different barriers"):
        launch(kernel(body.replace("6;", "4;"), 1, before=BEFORE), [held], 256)


# --- registers, clusters, copies -----------------------------------------------------------------


def test_registers_that_cannot_be_moved() -> None:
    bounds = ".maxntid 256 .minnctapersm 1\n{\n.reg .b64 %p<1>"
    with every_case() as case:
        for code, told in (
            ("setmaxnreg.inc.sync.aligned.u32 32;", "a thread has 248 registers already: 32 are no increase"),
            ("setmaxnreg.dec.sync.aligned.u32 256;", "a thread has 248 registers already: 256 are no decrease"),
            ("setmaxnreg.dec.sync.aligned.u32 100;", "a multiple of 8 from 24 to 256 is expected"),
        ):
            with case(code), pytest.raises(PtxError, match=told):
                launch(kernel(code).replace("{\n.reg .b64 %p<1>", bounds), [], 256)
    with pytest.raises(Fault, match="the kernel does not say how many threads, or registers, there are"):
        launch(kernel("setmaxnreg.dec.sync.aligned.u32 32;"), [], 256)


def test_a_cluster_is_one_cta() -> None:
    body = """mov.u32 %r1, memory; mapa.shared::cluster.u32 %r2, %r1, RANK; st.shared::cluster.b32 [%r2], 7;
    ld.shared.b32 %r3, [%r1]; st.global.b32 [%p0], %r3;"""
    held = aligned(4, 4).view(np.uint32)
    launch(kernel(body.replace("RANK", "0"), 1, before=BEFORE), [held], 1)
    assert held[0] == 7
    with pytest.raises(Fault, match="there is one CTA"):
        launch(kernel(body.replace("RANK", "1"), 1, before=BEFORE), [held], 1)


OUT = """mov.u32 %r1, memory; st.shared.v4.b32 [%r1], {%r1, %r1, %r1, %r1};
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%p0], [%r1], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
st.shared.b32 [%r1], 3;
"""


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_copy_has_read_may_be_written(order: str) -> None:
    held = aligned(16, 16).view(np.uint32)
    launch(kernel(OUT, 1, before=BEFORE), [held], 1, copies=order)
    assert (held == held[0]).all() and held[0] != 3
    with pytest.raises(Fault, match="thread 0 writes what a bulk copy of thread 0 may still read"):
        launch(kernel(OUT.replace(".read 0", ".read 1"), 1, before=BEFORE), [held], 1, copies=order)


def test_an_mbarrier_is_not_given_up_while_bytes_are_under_way() -> None:
    body = """mov.u32 %r1, counter; mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16; mbarrier.inval.shared.b64 [%r1];"""
    with pytest.raises(Fault, match="is given up while phase 0 lacks 16 bytes"):
        launch(kernel(body, 0, before=BEFORE), [], 1)
