"""Buffers that are reached by their addresses, and by their numbers in the group of all buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.ir.core import Value
from girih.ir.types import F32, I32, I64, INDEX, MemRef
from tests.device.building import BUFFERS, BYTES, LANES, Body, Code, findings, kernel

ADDRESSES = MemRef.packed(I64, (None,))
PARAMETERS = {"buffers": BUFFERS, "addresses": ADDRESSES, "push": BYTES}
TABLE = np.array([0x10000, 0x30000, 0x20000], np.int64)


def through(shift: int = 0, width: int = 4, alignment: int = 4) -> Code:
    """Code in which each work-item reads a word at the pushed address, and writes it to buffer 2."""

    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        (base,) = body.load(push, body.constant(0), I64)
        step = body.one("cast", I64, a=body.plus(body.times(body.lane(), 4), shift))
        address = body.one("add", I64, a=base, b=step)
        memory, offset = body.add(
            "buffer_at", BYTES, INDEX, address=address, bytes=width, buffers=buffers, addresses=addresses,
            names=["there", ""],
        )  # fmt: skip
        (word,) = body.load(memory, offset, I32, alignment=alignment)
        result = body.one("load", BYTES, tensor=buffers, indices=(2,))
        body.store(result, body.times(body.lane(), 4), word)

    return code


def launched(code: Code, address: int, sizes: Sequence[int] = (37, 64, 32)) -> list[NDArray[np.int8]]:
    arrays = [np.arange(size, dtype=np.int8) for size in sizes]
    kernel(code, PARAMETERS)(arrays, TABLE[: len(sizes)], np.array([address], np.int64).view(np.int8))
    return arrays


def wrong(code: Code, address: int, arrays: Sequence[NDArray[np.int8] | None]) -> tuple[str, str, tuple[int, ...]]:
    pushed = np.array([address], np.uint64).view(np.int8)
    found = findings(kernel(code, PARAMETERS), list(arrays), TABLE[: len(arrays)], pushed)[0]
    return found.code, found.message, found.index or ()


def test_what_an_address_points_to() -> None:
    for shift in (0, 4, 32):
        arrays = launched(through(), 0x30000 + shift)
        assert arrays[2].tolist() == list(range(shift, shift + 32))
    # The first buffer has 37 bytes: the last whole words at any byte are those up to byte 36.
    arrays = launched(through(5, alignment=1), 0x10000)
    assert arrays[2].tolist() == list(range(5, 37))


BYTES_OF = [np.zeros(size, np.int8) for size in (37, 64, 32)]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (0x10000 + 37, "in no buffer: address 0x10025, 0 bytes behind the end of %buffers[0], which has 37"),
        (0x10000 + 53, "in no buffer: address 0x10035, 16 bytes behind the end of %buffers[0], which has 37"),
        (0x2FFFF, "in no buffer: address 0x2ffff, 1 bytes before the beginning of %buffers[1], which has 64"),
        (1, "in no buffer: address 0x1, 65535 bytes before the beginning of %buffers[0], which has 37"),
        (2**64 - 64, f"in no buffer: address {2**64 - 64:#x}, {2**64 - 64 - 0x30040} bytes behind the end of "
                     "%buffers[1], which has 64"),
        (0x10022, "over the end of a buffer: address 0x10022, 3 bytes before the end of %buffers[0], which has 37"),
    ],
)  # fmt: skip
def test_an_address_of_no_buffer(address: int, says: str) -> None:
    code, message, index = wrong(through(alignment=1), address, BYTES_OF)
    assert (code, message) == ("run.address", f"an access to 4 bytes {says}")
    assert index == (address,)


def test_a_null_address_and_no_buffers() -> None:
    code, message, _ = wrong(through(alignment=1), 0, BYTES_OF)
    assert (code, message) == ("run.address", "an access to 4 bytes at a null address")
    # A buffer without memory has no address.
    code, message, _ = wrong(through(alignment=1), 0x10000, [None, None, np.zeros(32, np.int8)])
    assert (code, message) == (
        "run.address",
        "an access to 4 bytes in no buffer: address 0x10000, 65536 bytes before the beginning of %buffers[2], "
        "which has 32",
    )


def test_alignment_is_that_of_the_address() -> None:
    code, message, _ = wrong(through(4, alignment=16), 0x30000, BYTES_OF)
    assert (code, message) == (
        "run.misaligned",
        "a load of %buffers[1] is less aligned than it promises, to 16 bytes: byte 4 of 64",
    )


def test_members_are_named_by_their_numbers() -> None:
    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        one = body.one("load", BYTES, tensor=buffers, indices=(1,))
        body.store(one, body.plus(body.times(body.lane(), 4), 36), *body.load(one, body.times(body.lane(), 4), I32))

    arrays = [np.zeros(64, np.int8) for _ in range(2)]
    (found,) = findings(kernel(code, PARAMETERS), arrays, TABLE[:2], np.zeros(8, np.int8))
    assert (found.argument, found.index, found.shape) == ("buffers[1]", (64,), (64,))
    assert found.message == "a store outside its memory: bytes 64 to 67 of %buffers[1], which has 64"


def test_what_is_written_by_address_is_read_by_number() -> None:
    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        mine = body.times(body.lane(), 4)
        address = body.one("add", I64, a=body.constant(0x20000, I64), b=body.one("cast", I64, a=mine))
        memory, offset = body.add(
            "buffer_at", BYTES, INDEX, address=address, bytes=4, buffers=buffers, addresses=addresses
        )
        body.store(memory, offset, body.one("cast", F32, a=body.one("subgroup_local_id", I32)))
        bound = body.one("load", BYTES, tensor=buffers, indices=(2,))
        (back,) = body.load(bound, mine, F32)
        body.store(bound, body.plus(mine, 4 * LANES), back)

    assert launched(code, 0, (8, 8, 64))[2].view(np.float32).tolist() == [float(k) for k in range(LANES)] * 2


def test_a_race_between_an_address_and_a_binding() -> None:
    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        (base,) = body.load(push, body.constant(0), I64)
        memory, offset = body.add(
            "buffer_at", BYTES, INDEX, address=base, bytes=1, buffers=buffers, addresses=addresses
        )
        lane = body.lane()
        (first,) = body.load(memory, offset, I32)
        bound = body.one("load", BYTES, tensor=buffers, indices=(1,))
        body.store(bound, body.times(lane, 4), first)

    arrays = [np.zeros(64, np.int8) for _ in range(2)]
    run = kernel(code, PARAMETERS)
    run(arrays, TABLE[:2], np.array([0x10000], np.int64).view(np.int8))
    found = findings(run, arrays, TABLE[:2], np.array([0x30008], np.int64).view(np.int8))
    assert [(f.code, f.argument, f.index, f.span.text) for f in found] == [
        ("run.race", "buffers[1]", (8,), "byte_store")
    ]
    message, other = found[0].message, found[0].render()
    assert message == "a store of %buffers[1] races with a load of another work-item: byte 8 of 64"
    assert "the other: read of %buffers[1] at byte 8, work-group (0, 0, 0), subgroup 0, lane 7" in other
