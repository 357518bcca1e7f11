"""Swizzles: where bytes go, and the bank conflicts of reads of rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from girih.addressing.tensor_map.swizzle import MODES, Swizzle
from tests.addressing.brute_force_tensor_map import swizzled

LANES = np.arange(32)


@pytest.mark.parametrize("name", MODES)
def test_a_swizzle_is_that_of_the_words(name: str) -> None:
    addresses = np.arange(4096)
    assert Swizzle(name).apply(addresses).tolist() == [swizzled(name, int(address)) for address in addresses]


@pytest.mark.parametrize("name", MODES)
def test_a_swizzle_is_its_own_inverse_and_repeats(name: str) -> None:
    swizzle, addresses = Swizzle(name), np.arange(4096).reshape(8, -1)
    assert np.array_equal(swizzle.apply(swizzle.apply(addresses)), addresses)
    assert np.array_equal(swizzle.apply(addresses + swizzle.repeat), swizzle.apply(addresses) + swizzle.repeat)


@pytest.mark.parametrize(("name", "repeat"), [("none", 1), ("32B", 256), ("64B", 512), ("128B", 1024)])
def test_the_pattern_repeats_after(name: str, repeat: int) -> None:
    assert Swizzle(name).repeat == repeat


def test_the_flip_exchanges_halves_of_16_bytes_in_odd_lines() -> None:
    found = Swizzle("128B_atom_32B_flip_8B").apply([0, 8, 128, 136])
    assert found.tolist() == [0, 8, 128 + 32 + 8, 128 + 32]


@pytest.mark.parametrize("name", ["none", "128B"])
def test_a_row_is_free_of_conflicts(name: str) -> None:
    found = Swizzle(name).conflicts(LANES * 4)
    assert found.transactions.tolist() == [1]
    assert found.extra == 0


def test_a_column_of_128_byte_rows_conflicts_unless_it_is_swizzled() -> None:
    column = np.arange(8) * 128
    assert Swizzle().conflicts(column, access_bytes=16).transactions.tolist() == [8]
    assert Swizzle("128B").conflicts(column, access_bytes=16).transactions.tolist() == [1]


def test_lanes_that_share_a_word_do_not_conflict() -> None:
    assert Swizzle().conflicts(np.zeros(32, np.int64)).transactions.tolist() == [1]
    assert Swizzle().conflicts(LANES, access_bytes=1).transactions.tolist() == [1]


def test_every_row_is_one_access() -> None:
    found = Swizzle().conflicts(np.stack([LANES * 4, LANES * 8, LANES * 128]))
    assert found.transactions.tolist() == [1, 2, 32]
    assert found.extra == 1 + 31
    assert found.per_bank.shape == (3, 32)
    assert found.per_bank[2].tolist() == [32, *[0] * 31]


def test_wide_accesses_take_several_passes() -> None:
    found = Swizzle().conflicts(LANES * 16, access_bytes=16)
    assert (found.ideal, found.transactions.tolist(), found.extra) == (4, [4], 0)


def phases_in_words(swizzle: Swizzle, addresses: list[int], size: int) -> int:
    """The passes of one access, lane by lane: 32 lanes at once up to 4 bytes, 16 with 8 bytes, 8 with 16."""
    lanes = {8: 16, 16: 8}.get(size, 32)
    passes = 0
    for start in range(0, len(addresses), lanes):
        banks: dict[int, set[int]] = {}
        for address in addresses[start : start + lanes]:
            for byte in range(address, address + size):
                word = swizzled(swizzle.name, byte) // 4
                banks.setdefault(word % 32, set()).add(word)
        passes += max(len(words) for words in banks.values())
    return passes


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("name", ["none", "64B", "128B"])
def test_an_access_is_served_in_phases(name: str, size: int) -> None:
    generator = np.random.default_rng(size)
    rows = generator.integers(0, 2048 // size, (20, 32)) * size
    found = Swizzle(name).conflicts(rows, size)
    assert found.transactions.tolist() == [phases_in_words(Swizzle(name), row, size) for row in rows.tolist()]


def test_lanes_of_different_phases_do_not_conflict() -> None:
    quarter = np.arange(8) * 16
    found = Swizzle().conflicts(np.concatenate([quarter + 1024 * phase for phase in range(4)]), access_bytes=16)
    assert (found.transactions.tolist(), found.ideal, found.per_bank.max()) == ([4], 4, 4)
    halves = np.concatenate([np.arange(16) * 8, 4096 + np.arange(16) * 8])
    assert Swizzle().conflicts(halves, access_bytes=8).transactions.tolist() == [2]
    crossed = np.stack([np.arange(16) * 8, 4096 + np.arange(16) * 8]).T.reshape(-1)
    found = Swizzle().conflicts(crossed, access_bytes=8)
    assert (found.transactions.tolist(), found.extra) == ([4], 2)
