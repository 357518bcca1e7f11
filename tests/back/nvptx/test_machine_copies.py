"""Copies that go on beside the threads, made at once, late, and in another order than they were asked for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from girih.addressing.tensor_map.code_ptx import instruction_of
from tests.addressing import random_tensor_maps as maps
from tests.addressing.test_tensor_map_device import copies
from tests.back.nvptx.ptx_machine import Deadlock, Fault, PtxModule
from tests.back.nvptx.ptx_machine.asynchronous import ORDERS
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.snippets import descriptor, kernel, launch, packed
from tests.cases import every_case, one_in

TENSOR_COPIES = list(copies())


@pytest.mark.parametrize("first", one_in(10, range(30)))
def test_the_kernels_of_tensor_maps_move_the_bytes_of_the_model(first: int) -> None:
    """What `TensorMap.code` writes, executed."""
    with every_case() as case:
        for number in range(first, len(TENSOR_COPIES), 30):
            given, copy, start, offsets = TENSOR_COPIES[number]
            with case(f"{given}, {copy} at {start}, {offsets}"):
                for order in ORDERS:
                    _moves_the_bytes(given, copy, start, offsets, order)


def _moves_the_bytes(given: Any, copy: str, start: list[int], offsets: list[int], order: str) -> None:
    random = np.random.default_rng(1)
    memory, instruction = maps.memory_of(random, given), instruction_of(given, copy)
    expected, box = memory.copy(), maps.NOISE[: instruction.shared_bytes].copy()
    held = aligned(len(memory), 128)
    held[:] = memory
    module = PtxModule.parse(given.code("ptx", copy))
    (entry,) = module.entries
    numbers = [np.int32(one).tobytes() for one in start] + [np.uint16(one % 65536).tobytes() for one in offsets]
    given_bytes = packed(module, entry, [descriptor(0), *numbers, np.uint64(box.ctypes.data).tobytes()])
    wanted = box.copy()
    module.launch(
        entry, (1, 1, 1), 64, given_bytes, instruction.shared_bytes, [held, box],
        maps={descriptor(0): given.bind(held)}, copies=order,
    )  # fmt: skip
    if copy == "load":
        image = given.load(memory, start, offsets or None, 1024)
        assert (box[: len(image)][image.written] == image.bytes[image.written]).all()
    elif copy == "store":
        given.store(wanted, expected, start, 1024)
    else:
        given.reduce("add", wanted, expected, start, 1024)
    np.testing.assert_array_equal(held, expected)


SMALL = """
mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 16, %p0; mad.wide.u32 %d1, %r0, 16, %p1;
mov.u32 %r1, memory; mad.lo.u32 %r1, %r0, 16, %r1;
cp.async.cg.shared.global [%r1], [%d0], 16;
cp.async.commit_group;
cp.async.ca.shared.global [%r1+512], [%d0], 16, 4;
cp.async.commit_group;
cp.async.wait_group 1;
ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];
st.global.v4.b32 [%d1], {%r2, %r3, %r4, %r5};
cp.async.wait_all;
ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1+512];
st.global.v4.b32 [%d1+512], {%r2, %r3, %r4, %r5};
"""
MEMORY = ".shared .align 128 .b8 memory[1024]; .shared .align 8 .b64 barrier;"


@pytest.mark.parametrize("order", ORDERS)
def test_small_copies_come_when_their_group_is_waited_for(order: str) -> None:
    source, found = np.arange(128, dtype=np.uint32), np.zeros(256, np.uint32)
    launch(kernel(SMALL, 2, before=MEMORY), [source, found], copies=order)
    np.testing.assert_array_equal(found[:128], source)
    np.testing.assert_array_equal(found[128:], np.where(np.arange(128) % 4, 0, source))


@pytest.mark.parametrize("order", ORDERS)
def test_who_does_not_wait_is_told(order: str) -> None:
    source, found = np.arange(128, dtype=np.uint32), np.zeros(256, np.uint32)
    text = kernel(SMALL.replace("wait_group 1", "wait_group 2"), 2, before=MEMORY)
    with pytest.raises(Fault, match=r"reads what a cp\.async of thread 0 writes, without having waited for it"):
        launch(text, [source, found], copies=order)


BULK = """
mov.u32 %r0, %tid.x; mov.u32 %r1, memory; mov.u32 %r2, barrier; setp.ne.u32 %q0, %r0, 0;
@%q0 bra READY;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.proxy.async.shared::cta;
READY: bar.sync 0;
@%q0 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%p0], 128, [%r2];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%p0+128], 128, [%r2];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q1, [%r2], 0;
@!%q1 bra WAIT;
mad.lo.u32 %r3, %r0, 4, %r1;
ld.shared.b32 %r4, [%r3]; add.u32 %r4, %r4, 1; st.shared.b32 [%r3], %r4;
FENCE
bar.sync 0;
@%q0 bra END;
cp.async.bulk.global.shared::cta.bulk_group [%p1], [%r1], 256;
cp.async.bulk.commit_group;
WAITED
END:
"""
FENCE, WAITED = "fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group.read 0;"


def _bulk(text: str, order: str) -> tuple[Any, Any]:
    source, found = aligned(256, 16).view(np.uint32), aligned(256, 16).view(np.uint32)
    source[:] = np.arange(64)
    whole = text.replace("FENCE", FENCE).replace("WAITED", WAITED)
    launch(kernel(whole, 2, before=MEMORY), [source, found], 64, copies=order)
    return source, found


@pytest.mark.parametrize("order", ORDERS)
def test_bulk_copies_are_counted_by_an_mbarrier(order: str) -> None:
    source, found = _bulk(BULK, order)
    np.testing.assert_array_equal(found, source + 1)


@pytest.mark.parametrize("order", ORDERS)
def test_a_loop_may_ask_whether_a_phase_is_over(order: str) -> None:
    source, found = _bulk(BULK.replace("try_wait", "test_wait"), order)
    np.testing.assert_array_equal(found, source + 1)


def test_wrong_copies_are_told() -> None:
    wrong = (
        ("too many bytes are expected", "], 256;\ncp", "], 272;\ncp", Deadlock, "wait for mbarrier phase"),
        ("too few", "], 256;\ncp", "], 128;\ncp", Fault, "without having waited for it"),
        ("not 16 bytes", "128, [%r2];\ncp", "120, [%r2];\ncp", Fault, "multiples of 16"),
        ("no mbarrier", "mbarrier.init.shared::cta.b64 [%r2], 1;", "", Fault, "there is no mbarrier"),
        ("written over", "READY: bar.sync 0;", "READY: bar.sync 0; st.shared.b64 [%r2], %d0;", Fault, "written over"),
        ("no fence for the mbarrier", "fence.proxy.async.shared::cta;\nREADY", "READY", Fault, "not visible to copies"),
        ("no fence", "FENCE", "", Fault, "without a fence.proxy.async"),
        ("no wait", "WAITED", "", Fault, "before it has waited for its bulk copies"),
        ("outside", "[%p0+128], 128", "[%p0+128], 144", Fault, "of which not all are there"),
    )  # fmt: skip
    with every_case() as case:
        for name, old, new, kind, words in wrong:
            with case(name):
                assert old in BULK
                with pytest.raises(kind, match=words):
                    _bulk(BULK.replace(old, new, 1), "late")


def test_bytes_that_nobody_expects_are_told() -> None:
    """The second half lands when the phase is over: nobody may read it, nor end before it lands."""
    few = BULK.replace("], 256;\ncp", "], 128;\ncp")
    nobody = few[: few.index("mad.lo")] + "END:"
    with pytest.raises(Fault, match="expects fewer bytes than came"):
        _bulk(nobody, "at_once")
    with pytest.raises(Fault, match="ends while copies into its shared memory are under way"):
        _bulk(nobody, "late")


def test_phases_of_an_mbarrier() -> None:
    """Two arrivals end a phase; a state tells which phase it is of."""
    body = """
    mov.u32 %r0, barrier; mbarrier.init.shared.b64 [%r0], 2;
    mbarrier.test_wait.parity.shared.b64 %q0, [%r0], 1; selp.b32 %r1, 1, 0, %q0;
    mbarrier.arrive.shared.b64 %d0, [%r0];
    mbarrier.test_wait.shared.b64 %q0, [%r0], %d0; selp.b32 %r2, 1, 0, %q0;
    mbarrier.pending_count.b64 %r5, %d0;
    mbarrier.arrive.shared.b64 %d1, [%r0];
    mbarrier.test_wait.shared.b64 %q0, [%r0], %d0; selp.b32 %r3, 1, 0, %q0;
    mbarrier.test_wait.parity.shared.b64 %q0, [%r0], 0; selp.b32 %r4, 1, 0, %q0;
    st.global.v4.b32 [%p0], {%r1, %r2, %r3, %r4}; st.global.b32 [%p0+16], %r5;
    mbarrier.inval.shared.b64 [%r0];"""
    found = aligned(32, 16).view(np.uint32)
    launch(kernel(body, 1, before=MEMORY), [found], 1)
    assert found[:5].tolist() == [1, 0, 1, 1, 2]


def test_too_many_arrivals_are_told() -> None:
    body = """mov.u32 %r0, barrier; mbarrier.init.shared.b64 [%r0], 2; mbarrier.arrive.shared.b64 _, [%r0], 3;"""
    with pytest.raises(Fault, match=re.escape("3 arrivals at an mbarrier that waits for 2")):
        launch(kernel(body, 0, before=MEMORY), [], 1)
