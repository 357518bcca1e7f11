"""Buffers by their addresses in compiled code, which finds what the interpreter finds, also of lanes apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from girih.api import Kernel
from girih.diagnostics import KernelError
from girih.ir.core import Value
from girih.ir.types import I8, I16, I32, I64, INDEX, MemRef
from tests.cases import every_case
from tests.device.building import BUFFERS, BYTES, Body, Code, kernel

PARAMETERS = {"buffers": BUFFERS, "addresses": MemRef.packed(I64, (None,)), "push": BYTES}
TABLE = np.array([0x10000, 0x30000, 0x20000], np.int64)
SIZES = (37, 64, 32)
FIRST, SECOND, RESULT = TABLE.tolist()


def of_neighbours(shift: int, alignment: int) -> Code:
    """Code in which lanes read neighbouring words from the pushed address on, and write them to buffer 2."""

    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        (base,) = body.load(push, body.constant(0), I64)
        step = body.one("cast", I64, a=body.plus(body.times(body.lane(), 4), shift))
        _read(body, buffers, addresses, body.one("add", I64, a=base, b=step), alignment)

    return code


def of_each(alignment: int, *, elsewhere: bool) -> Code:
    """Code in which each lane reads a word at an address of its own, and perhaps writes a byte behind its first."""

    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        (address,) = body.load(push, body.times(body.lane(), 8), I64)
        memory, offset = _read(body, buffers, addresses, address, alignment)
        if elsewhere:
            body.store(memory, body.plus(offset, 1), body.constant(1, I8))

    return code


def of_one(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
    """Code in which all lanes read one word."""
    (address,) = body.load(push, body.constant(0), I64)
    _read(body, buffers, addresses, address, 2)


def _read(body: Body, buffers: Value, addresses: Value, address: Value, alignment: int) -> tuple[Value, ...]:
    memory, offset = body.add("buffer_at", BYTES, INDEX, address=address, bytes=4, buffers=buffers, addresses=addresses)
    (word,) = body.load(memory, offset, I32, alignment=alignment)
    body.store(body.one("load", BYTES, tensor=buffers, indices=(2,)), body.times(body.lane(), 4), word)
    return memory, offset


def outcome(launched: Kernel, pushed: Sequence[int], sizes: Sequence[int | None]) -> object:
    """What the buffers have after a launch, or the first thing that is wrong."""
    arrays = [None if size is None else np.arange(size, dtype=np.int8) for size in sizes]
    try:
        launched(arrays, TABLE[: len(sizes)], np.array(pushed, np.uint64).view(np.int8))
    except KernelError as error:
        found = error.findings[0]
        return found.code, found.message, found.index, found.shape, found.argument, found.lane
    return [None if array is None else array.tolist() for array in arrays]


def alike(code: Code, cases: Mapping[str, Sequence[int]], sizes: Sequence[int | None] = SIZES) -> list[object]:
    """The outcomes in the interpreter, which are those of compiled code."""
    kernels = [kernel(code, PARAMETERS, target=target) for target in ("interpreter", "cpu")]
    expected = []
    with every_case() as case:
        for name, pushed in cases.items():
            with case(name):
                interpreted, compiled = (outcome(one, pushed, sizes) for one in kernels)
                assert interpreted == compiled
                expected.append(interpreted)
    return expected


def test_neighbours_at_an_address() -> None:
    cases = {
        "inside": [SECOND], "further": [SECOND + 32], "behind": [FIRST + 37], "far behind": [FIRST + 53],
        "before": [SECOND - 1], "near null": [1], "at the end of all": [2**64 - 64], "over the end": [FIRST + 34],
        "null": [0], "from one to nowhere": [SECOND + 40],
    }  # fmt: skip
    outcomes = alike(of_neighbours(0, 1), cases)
    assert [one[0] for one in outcomes if isinstance(one, tuple)] == ["run.address"] * 8
    alike(of_neighbours(4, 16), {"misaligned": [SECOND]})
    alike(of_neighbours(0, 4), {"misaligned": [SECOND + 3]})
    alike(of_neighbours(0, 1), {"a missing buffer": [FIRST]}, (None, None, 32))
    (none,) = alike(of_neighbours(0, 1), {"no buffers": [FIRST]}, ())
    assert none == (
        "run.address", "an access to 4 bytes in no buffer, of which there are none: address 0x10000",
        (0x10000,), (0,), None, 0,
    )  # fmt: skip
    alike(of_one, {"inside": [SECOND + 6], "at an odd byte": [SECOND + 7], "outside": [SECOND + 61]})


def test_lanes_at_several_addresses() -> None:
    several = [FIRST, SECOND, FIRST + 4, SECOND + 8, FIRST + 16, SECOND + 60, FIRST + 32, SECOND + 4]
    cases = {
        "in several buffers": several,
        "in one buffer": [SECOND + 4 * k for k in (3, 1, 2, 7, 6, 5, 4, 0)],
        "one over the end": [*several[:5], SECOND + 61, *several[6:]],
        "one at null": [*several[:4], 0, *several[5:]],
        "the first one outside": [FIRST + 100, *several[1:]],
        "one misaligned": [*several[:6], FIRST + 30, several[7]],
    }
    for elsewhere in (False, True):
        for alignment in (1, 4):
            found = alike(of_each(alignment, elsewhere=elsewhere), cases)
            assert [isinstance(one, tuple) for one in found] == [False, False, True, True, True, alignment == 4]


def test_members_by_number() -> None:
    def code(body: Body, buffers: Value, addresses: Value, push: Value) -> None:
        mine = body.times(body.lane(), 2)
        (number, at) = body.load(push, body.times(body.lane(), 8), I32, I32)
        varying = body.one("load", BYTES, tensor=buffers, indices=(body.one("cast", INDEX, a=number),))
        (word,) = body.load(varying, body.one("cast", INDEX, a=at), I16)
        body.store(body.one("load", BYTES, tensor=buffers, indices=(2,)), mine, word)

    pairs = [(0, 3), (1, 8), (1, 62), (0, 0), (0, 35), (1, 1), (1, 2), (0, 4)]
    cases = {
        "inside": pairs,
        "outside the smaller one": [*pairs[:5], (0, 36), *pairs[6:]],
        "no member": [*pairs[:7], (3, 0)],
        "before it": [*pairs[:2], (1, -2), *pairs[3:]],
    }
    numbers = {name: np.array(given, np.int32).view(np.uint64).ravel().tolist() for name, given in cases.items()}
    inside, smaller, no_member, before = alike(code, numbers)
    assert isinstance(inside, list)
    assert smaller == (
        "run.out_of_bounds", "a load outside its memory: bytes 36 to 37 of %buffers[0], which has 37",
        (36,), (37,), "buffers[0]", 5,
    )  # fmt: skip
    assert isinstance(no_member, tuple)
    assert isinstance(before, tuple)
    assert (no_member[4], before[4]) == ("buffers", "buffers[1]")
