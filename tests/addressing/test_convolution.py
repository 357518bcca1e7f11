"""Convolutions as im2col copies, against the direct gather and against a convolution with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from girih.addressing import AddressingError
from girih.addressing.tensor_map.convolution import plan_convolution


@pytest.mark.parametrize("seed", range(40))
def test_every_copy_is_the_direct_gather(seed: int) -> None:
    random = np.random.default_rng(seed)
    spatial = int(random.integers(1, 4))
    plan = plan_convolution(
        dtype=str(random.choice(["f16", "f32", "u8"])),
        global_dim=[int(random.integers(1, 40)), *random.integers(5, 9, spatial).tolist(), 2],
        filter=random.integers(1, 4, spatial).tolist(),
        padding=[tuple(random.integers(0, 3, 2).tolist()) for _ in range(spatial)],
        stride=random.integers(1, 4, spatial).tolist(),
        dilation=random.integers(1, 3, spatial).tolist(),
        channels_per_pixel=16,
        pixels_per_column=int(random.integers(1, 40)),
    )
    assert plan.verify()


def test_copies_and_a_matrix_multiplication_are_a_convolution() -> None:
    random = np.random.default_rng(0)
    batch, height, width, channels, filters = 2, 5, 6, 16, 4
    images = random.integers(-4, 5, (batch, height, width, channels)).astype(np.float32)
    weights = random.integers(-4, 5, (3, 3, channels, filters)).astype(np.float32)
    plan = plan_convolution(
        dtype="f32",
        global_dim=(channels, width, height, batch),
        filter=(3, 3),
        padding=(1, 1),
        stride=(2, 2),
        channels_per_pixel=8,
        pixels_per_column=7,
    )
    memory = images.reshape(-1).view(np.uint8)
    result = np.zeros((plan.pixels + 7, filters), np.float32)
    for copy in plan.copies():
        column = plan.load(memory, copy).bytes.view(np.float32).reshape(7, 8)
        block = weights[copy.tap[1], copy.tap[0], copy.channel : copy.channel + 8]
        result[copy.first_pixel : copy.first_pixel + 7] += column @ block
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = np.zeros((batch, *plan.output[::-1], filters), np.float32)
    for row, column in np.ndindex(*plan.output[::-1]):
        window = padded[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        expected[:, row, column] = np.einsum("nyxc,yxcf->nf", window, weights)
    assert np.array_equal(result[: plan.pixels], expected.reshape(-1, filters))


def test_the_map_says_padding_stride_and_dilation() -> None:
    plan = plan_convolution(
        dtype="f16",
        global_dim=(64, 14, 9, 64),
        filter=(3, 5),
        padding=(1, (2, 0)),
        stride=(2, 1),
        dilation=(2, 1),
        channels_per_pixel=64,
        pixels_per_column=128,
        swizzle="128B",
    )
    given = plan.tensor_map
    assert (given.lower_corner, given.upper_corner) == ((-1, -2), (1 - 4, 0 - 4))
    assert given.element_strides == (1, 2, 1, 1)
    assert plan.output == (6, 7)
    assert plan.offsets((2, 4)) == (4, 4)
    assert plan.coordinates(6 * 7 + 6 + 1, channel=8) == (8, 1, -1, 1)
    assert len(plan.taps) == 15 and plan.taps[:2] == ((0, 0), (1, 0))


def test_a_wrong_map_is_found() -> None:
    plan = plan_convolution(dtype="u8", global_dim=(16, 6, 2), filter=(3,), channels_per_pixel=16, pixels_per_column=4)
    copy = next(plan.copies())
    assert plan.verify([copy])
    object.__setattr__(plan, "padding", ((1, 1),))
    assert not plan.verify([copy])


def test_rules_of_the_map_are_rules_of_the_plan() -> None:
    with pytest.raises(AddressingError) as caught:
        plan_convolution(dtype="f16", global_dim=(3, 6, 2), filter=(3,), channels_per_pixel=3, pixels_per_column=9999)
    found = [one.rule for one in caught.value.violations]
    assert found == ["tensor_map.pixels_per_column", "tensor_map.inner_bytes"]
    assert str(caught.value).startswith("plan_convolution:")
