"""`girih show --format svg|html`: pictures of kernels that stand alone and show every line, value and use."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from girih import kernels
from tests.cli.helpers import AXPBY, girih, write

LOOP = """func @loop(%A: memref<f32x?>, %c: bool) attributes {"a<b"="&"} {
    %zero = constant 0 : index
    %n = size %A[0] : index
    parallel {
        for %i = %zero, %n {
            %x = load %A[%i] : f32
            %y = if %c -> (f32) {
                yield (%x)
            } else {
                %z = neg %x : f32
                yield (%z)
            }
            store %y, %A[%i]
        }
    }
}
"""
SVG = "{http://www.w3.org/2000/svg}"


def drawn(folder: Path, text: str, *arguments: str) -> ElementTree.Element:
    done = girih("show", write(folder, text), "--format", "svg", *arguments)
    assert done.status == 0, done.errors
    return ElementTree.fromstring(done.output)


def texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]


def test_lines_values_and_regions_are_shown(tmp_path: Path) -> None:
    shown = texts(drawn(tmp_path, LOOP))
    assert {"func @loop", '    attributes {"a<b"="&"}'} <= set(shown)
    assert "%x = load %A[%i] : f32" in shown
    assert {"%x: f32", "%n: index", "%A: memref<f32x?>"} <= set(shown)
    assert {"collective region", "SPMD region, every work-item", "SPMD region, loop", "SPMD region, then",
            "SPMD region, else"} <= set(shown)  # fmt: skip
    lines = [text for text in shown if text.isdigit()]
    assert lines == ["1", "2", "3", "4", "5", "6", "7", "8", "10", "11", "13"]


def test_every_use_has_a_curve_from_its_definition(tmp_path: Path) -> None:
    picture = drawn(tmp_path, LOOP)
    curves = {
        title.text: len(group.findall(f"{SVG}path"))
        for group in picture.iter(f"{SVG}g")
        if group.get("class") == "value" and (title := group.find(f"{SVG}title")) is not None
    }
    assert curves["%x: f32, used in line 8, 10"] == 2
    assert curves["%A: memref<f32x?>, used in line 3, 6, 13"] == 3
    assert curves["%i: index, used in line 6, 13"] == 2


def test_control_flow_has_arrows(tmp_path: Path) -> None:
    titles = [element.text for element in drawn(tmp_path, LOOP).iter(f"{SVG}title")]
    assert titles.count("again, while there is more to do") == 1
    assert titles.count("if the condition is false") == 1
    assert titles.count("behind the other branch") == 1


def test_boxes_lie_in_each_other(tmp_path: Path) -> None:
    boxes = [
        (float(rect.get("x", 0)), float(rect.get("y", 0)), float(rect.get("width", 0)), float(rect.get("height", 0)))
        for rect in drawn(tmp_path, LOOP).iter(f"{SVG}rect")
        if rect.get("class") != "paper"
    ]
    outer = boxes[0]
    assert len(boxes) == 5
    assert all(outer[0] <= x and x + width <= outer[0] + outer[2] for x, _, width, _ in boxes)
    assert all(outer[1] <= y and y + height <= outer[1] + outer[3] for _, y, _, height in boxes)


def test_one_kernel_can_be_chosen(tmp_path: Path) -> None:
    both = AXPBY + "func @other() {\n}\n"
    assert len([t for t in texts(drawn(tmp_path, both)) if t.startswith("func @")]) == 2
    assert [t for t in texts(drawn(tmp_path, both, "other")) if t.startswith("func @")] == ["func @other"]
    assert texts(drawn(tmp_path, "")) == []


def test_a_page_holds_the_picture(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = girih("show", write(tmp_path, LOOP), "--format", "html", "-o", target)
    assert (done.status, done.output) == (0, "")
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("format", ["svg", "html"])
def test_a_wrong_program_is_not_drawn(format: str, tmp_path: Path) -> None:
    done = girih("show", write(tmp_path, AXPBY.replace("%beta,", "%bet,")), "--format", format)
    assert (done.status, done.output) == (1, "")
    assert "error[name.undefined]" in done.errors


def test_deep_nesting_is_drawn(tmp_path: Path) -> None:
    depth = 200
    text = "func @f(%c: bool) {\n" + "if %c {\n" * depth + "}\n" * depth + "}\n"
    assert len(list(drawn(tmp_path, text).iter(f"{SVG}rect"))) == depth + 2


@pytest.mark.parametrize("name", kernels.names())
def test_every_kernel_is_drawn(name: str) -> None:
    done = girih("show", kernels.path(name), "--format", "svg")
    assert done.status == 0
    assert ElementTree.fromstring(done.output).tag == f"{SVG}svg"
