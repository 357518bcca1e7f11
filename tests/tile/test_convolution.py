"""Convolutions as tile programs: boxes of several dimensions, whose lines wind through an image."""

from __future__ import annotations

import pytest

from girih.tile.boxes import MOST_IN_BOX
from girih.tile.form import Copy, Steps, Supply, walk
from girih.tile.recognise import tile_kernel
from girih.tile.show import show
from tests.tile.convolutions import arguments, convolution
from tests.tile.programs import function_of, kernel_of
from tests.tile.test_simulate import same_as_interpreter


@pytest.mark.parametrize("pixels_left", [True, False])
def test_pixels_are_one_box(pixels_left: bool) -> None:
    """A copy brings a window of an image; the tap is in its coordinates, and what lies outside is zero."""
    kernel = kernel_of(convolution(down=4, across=32, pixels_left=pixels_left))
    assert not kernel.slower and not kernel.gathers
    assert any(one.parameter == 2 and one.stored for one in kernel.maps), "results are stored by boxes, too"
    pixels = next(one for one in kernel.maps if one.parameter == 0)
    assert pixels.box == (64, 32, 4, 1) and pixels.swizzle == 128
    (supply,) = [step for step in walk(kernel.producer.body) if isinstance(step, Supply)]
    assert all(isinstance(copy, Copy) and len(copy.pieces) == 1 for copy in supply.copies)


@pytest.mark.parametrize("pixels_left", [True, False])
def test_every_other_pixel_is_one_box_with_steps(pixels_left: bool) -> None:
    """The window of a convolution with a stride, which a view takes out of a slice."""
    kernel = kernel_of(convolution(down=4, across=32, pixels_left=pixels_left, stride=2))
    assert not kernel.slower and not kernel.gathers
    pixels = next(one for one in kernel.maps if one.parameter == 0)
    assert (pixels.box, pixels.steps, pixels.counts) == ((64, 63, 7, 1), (1, 2, 2, 1), (64, 32, 4, 1))
    assert "box 64 x 63 x 7 x 1 in steps of 1 x 2 x 2 x 1" in show(kernel)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"4096, 128, 1]": "4096, 64, 1]"}, ""),
        ({"4096, 128, 1]": "2048, 128, 1]"}, ""),
        ({"4096, 128, 1]": "4096, 192, 1]"}, "the tensor view takes no box of elements out of its slice"),
        ({"4096, 128, 1]": "4096, 96, 1]"}, "the tensor view takes no box of elements out of its slice"),
        ({"4096, 128, 1]": "0, 128, 1]"}, "the tensor view takes no box of elements out of its slice"),
        ({"%y:8, %x:32": "%y:8, %x:%step"}, ""),
        ({"%y:8, %x:32": "%y:8, %x:%width"}, "the program does not say the numbers of a tensor view"),
    ],
)
def test_what_a_view_takes(change: dict[str, str], why: str) -> None:
    """A box with steps where nothing is carried from one dimension of the slice to the next; else it is gathered."""
    text = convolution(down=4, across=16, stride=2)
    for before, after in change.items():
        assert before in text
        text = text.replace(before, after)
    kernel = kernel_of(text)
    assert [one.reason for one in kernel.slower] == ([why] if why else [])
    assert kernel.gathers is bool(why)


def test_steps_that_no_map_has() -> None:
    kernel = kernel_of(convolution(down=8, across=8, stride=9))
    assert [one.reason for one in kernel.slower] == ["elements of the tile are 9 apart along a dimension of the tensor"]


def test_boxes_that_are_too_long() -> None:
    """Along one dimension a tile is several boxes; through several it is one, or gathered."""
    (supply,) = [step for step in walk(_producer(1, 2 * MOST_IN_BOX)) if isinstance(step, Supply)]
    assert [len(copy.pieces) for copy in supply.copies if isinstance(copy, Copy)] == [2, 1]
    kernel = kernel_of(convolution(down=2, across=288))
    assert kernel.gathers
    assert [one.reason for one in kernel.slower] == ["a box has 288 elements along a dimension, of 256"]


def _producer(down: int, across: int) -> Steps:
    return kernel_of(convolution(down=down, across=across)).producer.body


@pytest.mark.parametrize(
    ("taps", "dilation", "pad", "stride", "pixels_left"),
    [(3, 1, 1, 1, True), (2, 2, 1, 1, False), (1, 1, 0, 1, True), (3, 1, 1, 2, True), (2, 3, 2, 3, False)],
)
def test_as_the_interpreter(taps: int, dilation: int, pad: int, stride: int, pixels_left: bool) -> None:
    function = function_of(convolution(dilation=dilation, pad=pad, pixels_left=pixels_left, stride=stride))
    given = arguments((72, 20 * stride, 9 * stride, 2), taps, dilation=dilation, pad=pad, stride=stride)
    q, p = given[2].shape[1:3]
    same_as_interpreter(function, tile_kernel(function), (-(-q // 16) * -(-p // 8), 2, 1), given, seeds=1)
