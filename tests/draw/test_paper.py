"""Figures, SVG and files: cells and texts that are there, the same bytes every time, and errors that say what to do."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from girih import addressing, draw
from girih.addressing import (
    BlockedInterleaved,
    LayoutTile,
    MapTile,
    Strided,
    Swizzle,
    TensorLayout,
    TensorMap,
    TensorView,
    plan_convolution,
)
from girih.addressing.display import Drawn
from girih.draw.picture import ACCESS_LOOKS, PAPER
from girih.draw.vector import DARK
from tests.cases import one_in
from tests.draw.pictures import picture_of

LAYOUT = TensorLayout(2, "constant").set_dimension(3, 3).slice((-1, 2), (0, 2))
MAP = TensorMap.tiled(dtype="u8", global_dim=(16, 2), global_strides=(16,), box_dim=(16, 2))
MODELS = (
    LAYOUT,
    LayoutTile(LAYOUT, 2, 2),
    TensorView(1, True).set_dimension(3),
    BlockedInterleaved("row", 4, 4, 4, 1),
    Strided((2, 2)),
    MAP,
    MapTile(MAP, (0, -1)),
    MAP.load(np.zeros(32, np.uint8), (0, 0)),
    Swizzle("32B"),
    LAYOUT.access(2, 2),
    plan_convolution(dtype="f32", global_dim=(8, 3, 1), filter=(3,), channels_per_pixel=8, pixels_per_column=2),
)
HATCHED = TensorLayout(2, "clamp_to_edge").set_dimension(2048, 2048).slice((2045, 7), (-4, 7))
NAMES = [type(model).__name__ for model in MODELS]
SHOWN: tuple[Any, ...] = (*MODELS, HATCHED)


@cache
def shown(number: int) -> str:
    """What a notebook shows of a model; drawn once."""
    return str(SHOWN[number]._repr_svg_())


@pytest.mark.parametrize("number", range(len(MODELS)), ids=NAMES)
def test_every_model_shows_itself_in_a_notebook_with_its_title_on_one_line(number: int) -> None:
    assert shown(number).startswith("<svg") and _texts(shown(number))[0] == picture_of(MODELS[number]).title


def test_every_public_class_that_is_a_model_has_a_picture() -> None:
    others = {"AddressingError", "BoundTensorMap", "Kind", "Rule", "Violation"}
    public = {name for name in addressing.__all__ if isinstance(getattr(addressing, name), type)}
    assert public - others == {kind.__name__ for kind in Drawn.__subclasses__()} == set(NAMES)


def test_texts_are_texts_and_say_what_the_picture_says() -> None:
    picture = picture_of(LAYOUT)
    texts = _texts(draw.svg(LAYOUT))
    assert " ".join(texts).startswith(" ".join((picture.title, *picture.facts)))
    axes = [axis for panel in picture.panels for axis in (panel.rows, panel.columns)]
    expected = Counter(text for panel in picture.panels for row in panel.labels for text in row if text)
    expected += Counter(label for axis in axes for label in axis.labels)
    assert Counter(text for text in texts if text in expected) == expected
    assert {"in bounds: 2 elements", "filled: 2 elements", "edge of the tensor"} <= set(texts)


def test_an_svg_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    root = ElementTree.fromstring(draw.svg(LAYOUT))
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert root.get("role") == "img"
    assert title is not None and title.text is not None
    assert title.text.startswith("2 x 2 matrix, load from a tensor layout")


@pytest.mark.parametrize("number", range(len(SHOWN)), ids=[*NAMES, "hatched"])
def test_an_svg_has_every_text_of_the_figure_at_ten_pixels_or_more(number: int) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra girih[draw]")
    found = shown(number)
    assert _texts(found) == [text.get_text() for text in draw.figure(SHOWN[number]).axes[0].texts]
    root = ElementTree.fromstring(found)
    assert min(float(group.get("font-size", "inf")) for group in root.iter()) >= 10
    assert float(root.get("width", "inf")) <= 736


def test_a_long_title_breaks_before_a_bracket_and_not_in_it() -> None:
    tensor_map = TensorMap.tiled(
        dtype="u8", global_dim=(64, 64, 64, 64), global_strides=(64, 4096, 262144), box_dim=(16, 16, 16, 16)
    )
    texts = _texts(draw.svg(tensor_map, coordinates=(100000, 200000, 300000, 400000)))
    assert "(100000, 200000, 300000, 400000)" in texts[1]


def test_every_colour_has_one_of_the_dark_scheme_and_stands_in_the_shape_itself() -> None:
    for number in range(len(SHOWN)):
        text = shown(number)
        light = set(re.findall(r' (?:fill|stroke)="(#\w+)"', text))
        assert light <= set(DARK)
        classes = re.findall(r'class="[fs](\w+)" (?:fill|stroke)="#(\w+)"', text)
        assert classes and all(name == colour for name, colour in classes)
        dark = text.split("@media (prefers-color-scheme:dark)")[1].split("</style>")[0]
        assert [colour for colour in light if f"{colour[1:]}{{" not in dark] == []


def test_cells_are_boxes_that_do_not_overlap_on_a_ground_of_their_own() -> None:
    root = ElementTree.fromstring(draw.svg(Swizzle("128B")))
    ground = root.find("{http://www.w3.org/2000/svg}rect")
    assert ground is not None and (ground.get("width"), ground.get("fill")) == (root.get("width"), PAPER)
    boxes = Counter(
        box
        for path in root.iter("{http://www.w3.org/2000/svg}path")
        if (path.get("fill") or "").startswith("#")
        for box in (path.get("d") or "").split("z")
        if box
    )
    assert boxes and set(boxes.values()) == {1}
    assert all(re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+V[\d.]+H[\d.]+", box) for box in boxes)


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_an_svg_is_the_same_every_time_without_a_date_and_a_version() -> None:
    text = draw.svg(MAP)
    assert text == MAP._repr_svg_()
    assert not re.search(r"<dc:date>|Matplotlib v|20\d\d-\d\d", text)


def test_cells_have_the_colours_of_their_classes() -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra girih[draw]")
    drawn = draw.figure(LAYOUT, panels="tile")
    colours = [collection.get_facecolor() for collection in drawn.axes[0].collections]
    counts = [len(collection.get_paths()) for collection in drawn.axes[0].collections]
    hatches = [collection.get_hatch() for collection in drawn.axes[0].collections]
    expected = [_rgb(ACCESS_LOOKS[code].colour) for code in (0, 1)]
    assert [tuple(np.round(colour[0][:3], 3)) for colour in colours[:2]] == expected
    assert counts[:3] == [2, 2, 4]
    assert hatches[:2] == [None, "////"]


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(round(int(colour[at : at + 2], 16) / 255, 3) for at in (1, 3, 5))


CROWDED = (
    Swizzle("128B_atom_32B_flip_8B"),
    HATCHED,
    TensorMap.tiled(dtype="u8", global_dim=(1024, 4), global_strides=(1024,), box_dim=(32, 4), swizzle="32B"),
)


@pytest.mark.parametrize("model", one_in(3, [*MODELS[:-1], *CROWDED]), ids=lambda model: type(model).__name__)
def test_no_text_meets_another_or_leaves_the_paper(model: Any) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra girih[draw]")
    drawn = draw.figure(model)
    drawn.canvas.draw()
    texts = drawn.axes[0].texts
    corners = np.array([text.get_window_extent().extents for text in texts])
    assert corners.min() >= 0
    assert (corners[:, 2:].max(axis=0) <= drawn.canvas.get_width_height()).all()
    left, bottom, right, top = (corners[:, None, at] for at in range(4))
    meets = (left < corners[:, 2]) & (right > corners[:, 0]) & (bottom < corners[:, 3]) & (top > corners[:, 1])
    np.fill_diagonal(meets, False)
    assert [[texts[at].get_text() for at in pair] for pair in np.argwhere(meets)] == []


def test_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="PNG needs the extra girih[draw]")
    draw.save(MAP, tmp_path / "a.svg")
    draw.save(MAP, str(tmp_path / "a.PNG"), coordinates=(0, -1))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == draw.svg(MAP)
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(draw.DrawingError, match=r"a.pdf: a picture ends in .svg or .png"):
        draw.save(MAP, tmp_path / "a.pdf")
    with pytest.raises(draw.DrawingError, match=r"a.png: the picture cannot be written \(No such file"):
        draw.save(MAP, tmp_path / "nowhere" / "a.png")


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="figures need the extra girih[draw]")
    before = dict(matplotlib.rcParams)
    draw.figure(LAYOUT)
    assert dict(matplotlib.rcParams) == before
