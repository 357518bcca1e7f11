"""The machine for PTX: what it refuses to read, how threads part and meet, and what it says of wrong code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.back.nvptx.ptx_machine import (
    BudgetSpent,
    Deadlock,
    Fault,
    PtxError,
    PtxModule,
    PtxSyntaxError,
    UnknownInstruction,
)
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.ptx_machine.schedule import SCHEDULES
from tests.back.nvptx.snippets import HEAD, kernel, launch
from tests.cases import every_case

OWN = "mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 4, %p0;"
"""The thread's number in `%r0`, the address of its element of 4 bytes in `%d0`."""


def words(body: str, threads: int = 64, *, before: str = "", **options: Any) -> list[int]:
    """What threads of a kernel leave in their elements."""
    found = aligned(4 * threads, 16).view(np.uint32)
    launch(kernel(OWN + body, 1, before=before), [found], threads, **options)
    return [int(one) for one in found]


# --- what it reads -------------------------------------------------------------------------------


def test_what_is_not_known_is_an_error_that_names_it() -> None:
    with every_case() as case:
        for code, told in (
            ("frob.u32 %r1, %r2;", "frob.u32: the opcode is not known"),
            ("add.weird.u32 %r1, %r2, %r3;", "found .weird"),
            ("add.f32.extra %r1, %r2, %r3;", "found .f32"),
            ("add.u32 %r1, %r2;", "an operand is missing"),
            ("add.u32 %r1, %r2, %r3, %r4;", "operand 4 is not known"),
            ("add.u32 %r1, %d2, %r3;", "%d2 is .b64, which does not suit .u32"),
            ("add.u32 %r1, %r2, %r99;", "%r99 is not declared"),
            ("mov.u32 %r1, %clock;", "%clock is not declared"),
            ("bra NOWHERE;", "NOWHERE"),
            ("call nobody, ();", "nobody"),
            ("setp.lo.s32 %q0, %r1, %r2;", ".lo does not suit .s32"),
            ("cvt.f32.f64 %r1, %d2;", "a rounding is missing"),
            ("cvt.u32.f32 %r1, %r2;", "a rounding to integers is missing"),
            ("ld.relaxed.global.b32 %r1, [%d1];", "a scope is missing"),
            ("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r1}, {%r1}, {%r1}, {%r1};", "is not known"),
            ("tcgen05.fence::before_thread_sync;", "the opcode is not known"),
            ("wgmma.fence.aligned;", "one of .sync is expected"),
            ("add.u32 %r1, %r2, 0f3F800000;", ""),
        ):
            with case(code):
                if told:
                    with pytest.raises(UnknownInstruction, match=re.escape(told)):
                        PtxModule.parse(kernel(code))
                else:
                    PtxModule.parse(kernel(code))


def test_what_is_no_text_of_a_module_is_an_error_with_its_line() -> None:
    with every_case() as case:
        for text, told in (
            (HEAD + ".tex .u64 t;", "line 4: a variable or a function is expected, found '.tex'"),
            (HEAD + ".global .what x;", "a type is expected, found '.what'"),
            (kernel(".reg .b12 %z;"), "a type of registers is expected, found '.b12'"),
            (kernel("mov.u32 , %r1;"), "an operand is expected, found ','"),
            (kernel("mov.u32 %r1 %r2;"), "',' or ';' is expected, found '%r2'"),
            (kernel("{ mov.u32 %r1, 1;"), "'}' is expected"),
            (".address_size 32\n", "addresses of 64 bits are expected"),
        ):
            with case(told), pytest.raises(PtxSyntaxError, match=re.escape(told)):
                PtxModule.parse(text)


def test_names_in_braces_are_names_of_their_own() -> None:
    """Inline assembly declares registers and labels in braces, the same ones each time."""
    body = """mov.u32 %r1, 5;
    { .reg .b32 t; add.u32 t, %r1, 1; bra L; add.u32 t, t, 100; L: mov.u32 %r1, t; }
    { .reg .b32 t; add.u32 t, %r1, 1; bra L; add.u32 t, t, 100; L: mov.u32 %r1, t; }
    st.global.b32 [%d0], %r1;"""
    assert words(body, 4) == [7] * 4


def test_variables_begin_with_what_the_text_says() -> None:
    before = """.global .align 4 .u32 table[4] = {7, 0x10, 3};
    .global .align 8 .u64 where = table;
    .const .f32 half = 0f3F000000;
    .global .align 4 .b8 bytes[4] = {1, 2, 3, 255};"""
    body = """mov.u64 %d1, table; and.b32 %r1, %r0, 3; mad.wide.u32 %d1, %r1, 4, %d1; ld.global.u32 %r2, [%d1];
    ld.global.u64 %d2, [where]; ld.global.u32 %r3, [%d2+4]; add.u32 %r2, %r2, %r3;
    ld.const.b32 %r4, [half]; shr.u32 %r4, %r4, 24; add.u32 %r2, %r2, %r4;
    ld.global.u32 %r5, [bytes]; shr.u32 %r5, %r5, 24; add.u32 %r2, %r2, %r5; st.global.b32 [%d0], %r2;"""
    assert words(body, 4, before=before) == [one + 0x10 + 0x3F + 0xFF for one in (7, 0x10, 3, 0)]


# --- how threads part and meet -------------------------------------------------------------------


def test_threads_part_and_meet() -> None:
    """A loop of as many rounds as the thread's number, with a branch in it; behind it all shuffle together."""
    body = """mov.u32 %r1, 0; mov.u32 %r2, 0;
    LOOP: setp.ge.u32 %q0, %r1, %r0; @%q0 bra DONE;
    and.b32 %r3, %r1, 1; setp.eq.u32 %q1, %r3, 1; @%q1 bra ODD;
    add.u32 %r2, %r2, 10; bra NEXT;
    ODD: add.u32 %r2, %r2, 1;
    NEXT: add.u32 %r1, %r1, 1; bra LOOP;
    DONE: shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;
    st.global.b32 [%d0], %r4;"""
    plain = [(n + 1) // 2 * 10 + n // 2 for n in range(64)]
    assert words(body) == [plain[n ^ 1] for n in range(64)]


def test_a_predicate_says_who_executes() -> None:
    body = """setp.lt.u32 %q0, %r0, 3; mov.u32 %r1, 1; @%q0 mov.u32 %r1, 2; @!%q0 add.u32 %r1, %r1, 10;
    st.global.b32 [%d0], %r1; setp.eq.u32 %q1, %r0, 2; @%q1 exit; @!%q0 st.global.b32 [%d0], 5;"""
    assert words(body, 5) == [2, 2, 2, 5, 5]


def test_functions_take_and_give() -> None:
    """A function is called from two places by some of the threads, and calls another one."""
    before = """.func (.param .b32 out) twice(.param .b32 in) {
    .reg .b32 %a; ld.param.b32 %a, [in]; add.u32 %a, %a, %a; st.param.b32 [out], %a; ret; }
    .func (.param .align 8 .b8 pair[8]) both(.param .b32 in) {
    .reg .b32 %a, %b; .param .b32 given; .param .b32 got; ld.param.b32 %a, [in]; st.param.b32 [given], %a;
    call.uni (got), twice, (given); ld.param.b32 %b, [got]; st.param.v2.b32 [pair], {%a, %b}; ret; }"""
    body = """setp.lt.u32 %q0, %r0, 2; @%q0 bra FEW;
    { .param .b32 x; .param .align 8 .b8 y[8]; st.param.b32 [x], %r0; call.uni (y), both, (x);
      ld.param.v2.b32 {%r1, %r2}, [y]; }
    add.u32 %r3, %r1, %r2; bra END;
    FEW: { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), twice, (x); ld.param.b32 %r3, [y]; }
    END: st.global.b32 [%d0], %r3;"""
    assert words(body, 5, before=before) == [0, 2, 6, 9, 12]


def test_a_barrier_waits_for_all_that_have_not_ended() -> None:
    """Each thread reads what the next one wrote; some have ended before."""
    body = """mov.u32 %r1, memory; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.b32 [%r2], %r0;
    setp.ge.u32 %q0, %r0, 60; @%q0 exit;
    bar.sync 0; ld.shared.b32 %r3, [%r2+4]; st.global.b32 [%d0], %r3;"""
    assert words(body, before=".shared .align 4 .b8 memory[256];") == [*range(1, 61), *[0xA5A5A5A5] * 4]


def test_a_barrier_combines_predicates() -> None:
    """What some threads say all are told, once for each time; others must not come to the barrier otherwise."""
    body = """setp.eq.u32 %q0, %r0, 40; bar.red.or.pred %q1, 1, 64, %q0; selp.b32 %r2, 1, 0, %q1;
    setp.ne.u32 %q0, %r0, 40; bar.red.and.pred %q1, 1, 64, %q0; selp.b32 %r3, 2, 0, %q1;
    bar.red.or.pred %q1, 1, 64, %q1; selp.b32 %r1, 4, 0, %q1;
    add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r1; st.global.b32 [%d0], %r2;"""
    assert words(body) == [1] * 64
    mixed = """setp.lt.u32 %q0, %r0, 32; @%q0 bra FIRST; bar.sync 1, 64; bra END;
    FIRST: bar.red.or.pred %q1, 1, 64, %q0; END: st.global.b32 [%d0], %r0;"""
    with pytest.raises(PtxError, match="some threads come to a barrier that combines predicates"):
        words(mixed)


def test_a_barrier_that_lacks_is_seen_by_another_schedule() -> None:
    """Each thread reads what a neighbour of its warp wrote, or of another warp."""
    memory = ".shared .align 4 .b8 memory[256];"
    body = """mov.u32 %r1, memory; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.b32 [%r2], %r0; BARRIER
    xor.b32 %r3, %r0, DISTANCE; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.b32 %r4, [%r3]; st.global.b32 [%d0], %r4;"""
    with every_case() as case:
        for schedule in SCHEDULES:
            for barrier, distance in (
                ("bar.sync 0;", 32),
                ("bar.sync 0;", 1),
                ("bar.warp.sync -1;", 1),
                ("", 1),
                ("", 32),
            ):
                with case(f"{schedule}, {barrier or 'no barrier'}, {distance}"):
                    text = body.replace("BARRIER", barrier).replace("DISTANCE", str(distance))
                    found = words(text, before=memory, schedule=schedule)
                    seen = not barrier and ("thread" in schedule or ("warp" in schedule and distance == 32))
                    assert (found == [n ^ distance for n in range(64)]) != seen


def test_dynamic_shared_memory_lies_behind_the_rest() -> None:
    before = ".shared .align 4 .b8 fixed[20]; .extern .shared .align 128 .b8 dynamic[];"
    body = "mov.u32 %r1, dynamic; mov.u32 %r2, fixed; sub.u32 %r3, %r1, %r2; st.global.b32 [%d0], %r3;"
    assert words(body, 1, before=before, shared=64) == [128]
    with pytest.raises(Fault, match="shared"):
        words("mov.u32 %r1, dynamic; st.shared.b32 [%r1+64], %r0;", 1, before=before, shared=64)


def test_what_a_warp_does_together() -> None:
    with every_case() as case:
        for code, of in (
            ("shfl.sync.up.b32 %r1, %r0, 2, 0, -1;", lambda n: n if n % 32 < 2 else n - 2),
            ("shfl.sync.down.b32 %r1, %r0, 3, 31, -1;", lambda n: n if n % 32 > 28 else n + 3),
            ("shfl.sync.idx.b32 %r1, %r0, 5, 6175, -1;", lambda n: n // 8 * 8 + 5),
            ("shfl.sync.up.b32 %r1, %r0, 1, 6144, -1;", lambda n: n if n % 8 == 0 else n - 1),
            ("shfl.sync.idx.b32 %r2|%q0, %r0, 40, 31, -1; selp.b32 %r1, %r2, 99, %q0;", lambda n: n // 32 * 32 + 8),
            ("setp.lt.u32 %q0, %r0, 35; vote.sync.ballot.b32 %r1, %q0, -1;", lambda n: 0xFFFFFFFF if n < 32 else 7),
            ("setp.lt.u32 %q0, %r0, 35; vote.sync.all.pred %q1, %q0, -1; selp.b32 %r1, 1, 0, %q1;",
             lambda n: int(n < 32)),
            ("setp.eq.u32 %q0, %r0, 35; vote.sync.any.pred %q1, %q0, -1; selp.b32 %r1, 1, 0, %q1;",
             lambda n: int(n >= 32)),
            ("and.b32 %r2, %r0, 3; match.any.sync.b32 %r1, %r2, -1;", lambda n: 0x11111111 << n % 4),
            ("redux.sync.add.u32 %r1, %r0, -1;", lambda n: 496 + 1024 * (n // 32)),
            ("elect.sync _|%q0, -1; selp.b32 %r1, 1, 0, %q0;", lambda n: int(n % 32 == 0)),
            ("activemask.b32 %r1;", lambda n: 0xFFFFFFFF),
        ):  # fmt: skip
            with case(code):
                assert words(code + "st.global.b32 [%d0], %r1;") == [of(n) for n in range(64)]


def test_parts_of_a_warp_do_different_things() -> None:
    """Segments of 8 threads, each with its own mask, are in different branches."""
    body = """and.b32 %r1, %r0, 24; shl.b32 %r2, 255, %r1; and.b32 %r3, %r0, 8; setp.eq.u32 %q0, %r3, 8; @%q0 bra ODD;
    shfl.sync.bfly.b32 %r4, %r0, 1, 6175, %r2; bra END;
    ODD: shfl.sync.bfly.b32 %r4, %r0, 2, 6175, %r2;
    END: st.global.b32 [%d0], %r4;"""
    assert words(body) == [n ^ (2 if n & 8 else 1) for n in range(64)]


def test_atomic_accesses_come_one_after_the_other() -> None:
    body = """mov.u32 %r1, counter; atom.shared.add.u32 %r2, [%r1], 1; bar.sync 0; ld.shared.b32 %r3, [%r1];
    mad.lo.u32 %r4, %r3, 1000, %r2; st.global.b32 [%d0], %r4;"""
    start = "setp.eq.u32 %q0, %r0, 0; @%q0 st.shared.b32 [counter], 0; bar.sync 0;"
    found = words(start + body, before=".shared .align 4 .b32 counter;")
    assert sorted(found) == [64000 + n for n in range(64)]


def test_a_lock_is_given_on() -> None:
    """One thread after the other gets a lock for which the others ask in a loop."""
    body = """mov.u32 %r1, lock; setp.eq.u32 %q0, %r0, 0; @%q0 st.shared.v2.b32 [lock], {0, 0}; bar.sync 0;
    AGAIN: atom.shared.cas.b32 %r2, [%r1], 0, 1; setp.ne.u32 %q1, %r2, 0; @%q1 bra AGAIN;
    ld.volatile.shared.b32 %r3, [%r1+4]; add.u32 %r3, %r3, 1; st.volatile.shared.b32 [%r1+4], %r3;
    atom.shared.exch.b32 %r4, [%r1], 0; st.global.b32 [%d0], %r3;"""
    found = words(body, 33, before=".shared .align 8 .b8 lock[8];")
    assert sorted(found) == list(range(1, 34))


def test_scopes_are_noted() -> None:
    found = aligned(16, 16).view(np.uint32)
    text = kernel("atom.relaxed.sys.global.add.u32 %r1, [%p0], 1; fence.acq_rel.cta;", 1)
    assert launch(text, [found], 1).scopes == {"sys", "cta"}
    assert launch(kernel("st.global.b32 [%p0], 1;", 1), [found], 1).scopes == set()


# --- what is wrong -------------------------------------------------------------------------------


def test_accesses_of_what_is_not_there() -> None:
    memory = ".shared .align 8 .b8 memory[64];"
    with every_case() as case:
        for code, told in (
            ("ld.global.b32 %r1, [%p0+16];", "not registered"),
            ("ld.global.b32 %r1, [%p0+-4];", "not registered"),
            ("setp.eq.u32 %q0, %r0, 3; @%q0 ld.global.b32 %r1, [%p0+2];", "not aligned (thread 3 of CTA (0, 0, 0)"),
            ("ld.global.v2.b32 {%r1, %r2}, [%p0+4];", "a vector of 8 bytes"),
            ("st.global.b64 [%p0+12], %d1;", "not"),
            ("mov.u32 %r1, memory; ld.shared.b32 %r2, [%r1+64];", "shared address"),
            ("mov.u64 %d1, memory; ld.b32 %r2, [%d1];", "global address"),
            ("mov.u64 %d1, f_param_0; ld.b64 %d2, [%d1];", "global address"),
            ("mov.u64 %d1, 0; ld.global.b32 %r1, [%d1];", "0x0"),
            ("trap;", "traps"),
        ):
            with case(code), pytest.raises(Fault, match=re.escape(told)):
                found = aligned(16, 16)
                launch(kernel("mov.u32 %r0, %tid.x;" + code, 1, before=memory), [found], 4)


def test_generic_addresses_know_their_space() -> None:
    body = """mov.u64 %d1, memory; cvta.shared.u64 %d2, %d1; st.b32 [%d2], 77; ld.shared.b32 %r1, [memory];
    isspacep.shared %q0, %d2; isspacep.global %q1, %d2; selp.b32 %r2, 100, 0, %q0; selp.b32 %r3, 1000, 0, %q1;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; cvta.to.shared.u64 %d3, %d2; ld.shared.b32 %r2, [%d3];
    add.u32 %r1, %r1, %r2; st.global.b32 [%d0], %r1;"""
    assert words(body, 1, before=".shared .align 8 .b8 memory[64];") == [254]


def test_parameters_are_read_by_generic_addresses_too() -> None:
    body = "mov.u64 %d1, f_param_0; cvta.param.u64 %d1, %d1; ld.b64 %d2, [%d1]; st.global.b32 [%d2], 3;"
    assert words(body, 1) == [3]


def test_each_thread_has_its_own_local_memory() -> None:
    body = """{ .local .align 8 .b8 depot[16]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1;
    st.local.b32 [%d1+4], %r0; bar.sync 0; ld.b32 %r1, [%d2+4]; st.global.b32 [%d0], %r1; }"""
    assert words(body, 8) == list(range(8))


def test_what_is_read_as_constant_may_not_be_written() -> None:
    body = "ld.global.nc.b32 %r1, [%d0]; add.u32 %r1, %r1, 1; WRITE"
    assert words(body.replace("WRITE", ""), 4)
    with pytest.raises(Fault, match=re.escape("read by ld.global.nc and written by the same launch")):
        words(body.replace("WRITE", "st.global.b32 [%d0], %r1;"), 4)


def test_an_array_that_may_not_be_written() -> None:
    found = aligned(16, 16)
    found.flags.writeable = False
    with pytest.raises(Fault, match="array 0 may not be written"):
        launch(kernel("st.global.b32 [%p0], 1;", 1), [found], 1)


def test_who_waits_for_ever_is_told() -> None:
    with every_case() as case:
        for code, told in (
            ("setp.lt.u32 %q0, %r0, 8; @%q0 bra SOME; bar.warp.sync -1; bra END; SOME: bar.warp.sync -1; END:",
             "24 threads (first 8) wait for warp members at bar.warp.sync"),
            ("setp.lt.u32 %q0, %r0, 8; @%q0 bra END; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; END: bar.sync 0;",
             "8 threads (first 0) wait for barrier 0"),
            ("bar.sync 1, 64;", "32 threads (first 0) wait for barrier 1 of 64"),
        ):  # fmt: skip
            with case(code), pytest.raises(Deadlock, match=re.escape(told)):
                words(code, 32)


def test_wrong_masks_are_told() -> None:
    with every_case() as case:
        for code, told in (
            ("shfl.sync.idx.b32 %r1, %r0, 0, 31, 15;", "not among the members"),
            ("shl.b32 %r2, 1, %r0; or.b32 %r2, %r2, 1; bar.warp.sync %r2;", "name different members"),
            ("setp.lt.u32 %q0, %r0, 8; @%q0 bra SOME; bar.sync 0; bra END; SOME: bar.sync 0; END:",
             "other threads of warp 0 wait for the same barrier"),
        ):  # fmt: skip
            with case(code), pytest.raises(Fault, match=re.escape(told)):
                words(code, 32)


def test_what_is_read_of_a_thread_that_has_ended_is_noted() -> None:
    found = aligned(128, 16).view(np.uint32)
    code = "setp.eq.u32 %q0, %r0, 3; @%q0 exit; shfl.sync.bfly.b32 %r1, %r0, LANE, 31, -1; st.global.b32 [%d0], %r1;"
    record = launch(kernel(OWN + code.replace("LANE", "1"), 1), [found], 32)
    assert len(record.undefined) == 1
    assert found[2] == 0xA5A5A5A5
    assert found[4] == 5
    assert not launch(kernel(OWN + code.replace("LANE", "0"), 1), [found], 32).undefined


def test_a_loop_without_an_end_spends_the_budget() -> None:
    with pytest.raises(BudgetSpent, match="line"):
        words("LOOP: bra LOOP;", 4, budget=10_000)


def test_launches_that_a_driver_refuses() -> None:
    module = PtxModule.parse(kernel("", 1).replace("{", ".reqntid 32 {", 1))
    with every_case() as case:
        for arguments, told in (
            (("g", (1, 1, 1), 32, bytes(8)), "there is no kernel g; there are f"),
            (("f", (1, 1, 1), 64, bytes(8)), "f is for (32,) threads"),
            (("f", (1, 1, 1), 32, bytes(4)), "f has 8 bytes of parameters, found 4"),
            (("f", (1, 1, 1), 32, bytes(8), 300_000), "bytes of shared memory"),
        ):
            with case(told), pytest.raises(PtxError, match=re.escape(told)):
                module.launch(*arguments)
    with pytest.raises(PtxError, match="at most 1024 threads"):
        launch(kernel(""), [], 2048)


def test_a_fault_names_the_line_of_the_source() -> None:
    body = ".loc 1 17 3\nmov.u64 %d1, 8;\nst.global.b32 [%d1], 1;"
    text = kernel(body).replace(".visible", '.file 1 "some.tl"\n.visible')
    with pytest.raises(Fault, match=re.escape("st.global.b32: 4 bytes at global address 0x8")) as raised:
        launch(text, [], 1)
    assert "some.tl:17" in str(raised.value)
