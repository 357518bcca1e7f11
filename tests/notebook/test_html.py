"""What notebooks show: all text is escaped, nothing sets the colour of text but badges, which set both colours."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from typing import Any

import numpy as np

import girih
import girih.language as gl
from girih.exploration import BufferExploration
from girih.markup import BADGES

TEXT = """
func @f(%A: memref<f32x?>) {
    %i = constant 7 : index
    %a = load %A[%i] : f32
    store %a, %A[%i]
}
"""


@girih.kernel
def smaller(A: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(4):
        if A[i] < 1.0:
            A[i] = 1.0


class Texts(HTMLParser):
    """The texts of a page; every element that is opened has to be closed, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(value: Any) -> str:
    page: str = value._repr_html_()
    for style in re.findall(r'style="([^"]*)"', page):
        assert ("color:#fff" in style) == ("background:" in style)
    return Texts(page).text


def test_a_diagnostic_is_shown_as_in_a_terminal() -> None:
    [problem] = girih.check("func @f(%A: memref<f32x?>) {\n    %a = constant 1.0 : f32\n    store %a, %A[%i]\n}\n")
    assert shown(problem).replace("] ", "]: ") == problem.render()
    assert "memref<" not in girih.check("func @f(%A: memref<f32x?x) {\n}\n")[0]._repr_html_()


def test_findings_have_badges_of_their_severity() -> None:
    kernel = girih.loads(TEXT, target="interpreter")["f"]
    try:
        kernel(np.ones(3, np.float32))
    except girih.KernelError as error:
        finding = error.findings[0]
    assert finding.render().splitlines()[-1] in shown(finding)
    assert BADGES["finding"] in finding._repr_html_()


def test_programs_and_kernels_show_their_text() -> None:
    program = girih.loads(TEXT)
    assert str(program) in shown(program)
    assert escape("memref<f32x?>") in program._repr_html_()
    assert program["f"].signature in shown(program["f"])
    assert str(program["f"].ir) in shown(program["f"])


def test_a_kernel_in_python_shows_its_function_and_variants() -> None:
    before = shown(smaller)
    assert "def smaller(A: gl.Vector[gl.f32]) -> None:" in before
    assert "class Texts" not in before
    variant = smaller.variant(np.zeros(4, np.float32))
    assert variant.text in shown(variant)
    assert variant.text in shown(smaller)


def test_an_exploration_is_a_table() -> None:
    explored = girih.Exploration({"<A>": BufferExploration("<A>", ())}, (girih.Choices(seed=3),))
    assert "determined" in shown(explored)
    assert "<A>" in shown(explored)
    assert "Choices(3)" in shown(explored)


def test_badges_are_read_on_their_backgrounds() -> None:
    for colour in BADGES.values():
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 4.5
