"""A picture as SVG, written without other packages: equal pictures always give equal texts.

Every shape has its colour of the light scheme as an attribute, so that it is right in viewers that know no style
sheets. Where the reader prefers dark pages, a style sheet in the picture changes the colours by class, those of the
ground among them: a picture stands on its own ground and can be read on any page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from girih.draw.page import EDGE, FRAME, RULE, SOFT, Box, FilledCells, Mark, Outlines, Page, Strokes, Words, page_of
from girih.draw.picture import INK, PAPER, Picture

PIXELS = 96.0
"""The pixels of an inch."""
POINT = PIXELS / 72
MIDDLE = 0.36
"""The distance of a text's base line from its middle, at a size of 1."""
FONT = "'DejaVu Sans',Verdana,'Segoe UI',Roboto,Arial,sans-serif"

DARK = {
    INK: "#e6edf3", PAPER: "#141b24", SOFT: "#a3b1c2", EDGE: "#4a5766", RULE: "#c3ced9", FRAME: "#ff8f80",
    "#a6cfee": "#1f5078", "#f7d28b": "#6b4f14", "#96d9c0": "#16594a", "#d5d9de": "#3c4652", "#f0b49a": "#7b3d24",
    "#7a4a7d": "#9b5fa0", "#dcb8dc": "#5a3b66", "#e3e7eb": "#2b3541", "#f1f3f5": "#0c1118", "#fdf7ff": "#fdf7ff",
}  # fmt: skip
"""The colours of the dark scheme by those of the light one."""
HATCH = {"/": "M0 8L8 0M-1 1L1 -1M7 9L9 7", "\\": "M0 0L8 8M-1 7L1 9M7 -1L9 1", "x": "M0 0L8 8M0 8L8 0",
         "+": "M4 0V8M0 4H8", ".": "M2 2h.01M6 6h.01"}  # fmt: skip
"""The path of a hatch on a square of 8 by 8 pixels, by the character that names it in `Look.hatch`."""


def svg(picture: Picture) -> str:
    """The picture as SVG, from `<svg` on."""
    page = page_of(picture)
    width, height = _number(page.width), _number(page.height)
    said = escape(". ".join((picture.title, *picture.facts)))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" class="girih" font-family="{FONT}"><title>{said}</title>'
    )
    ground = f'<rect {_fill(PAPER)} width="{width}" height="{height}"/>'
    return "\n".join([head, _style(page), *_hatches(page), ground, *_shapes(page.marks), "</svg>"]) + "\n"


def _style(page: Page) -> str:
    """The colours of the dark scheme for the classes that the page uses."""
    used = {PAPER, EDGE}
    for mark in page.marks:
        match mark:
            case FilledCells(look, _):
                used.add(look.colour)
            case Strokes() | Words():
                used.add(mark.colour)
    rules = "".join(
        f".girih .f{light[1:]}{{fill:{dark}}}.girih .s{light[1:]}{{stroke:{dark}}}"
        for light, dark in DARK.items()
        if light in used
    )
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"


def _hatches(page: Page) -> Iterator[str]:
    """The patterns of the hatches that the page uses: half transparent lines in the colour of minor words."""
    used = dict.fromkeys(
        mark.look.hatch[:1] for mark in page.marks if isinstance(mark, FilledCells) and mark.look.hatch
    )
    for hatch in used:
        width = 2 if hatch == "." else 0.8
        yield (
            f'<pattern id="girih-hatch-{ord(hatch)}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<path d="{HATCH[hatch]}" {_stroke(SOFT)} stroke-width="{width}" stroke-linecap="round" '
            'stroke-opacity=".5"/></pattern>'
        )


def _shapes(marks: Iterable[Mark]) -> Iterator[str]:
    """The elements of the marks, in order; neighbouring words of one style are a group."""
    for style, group in groupby(marks, key=_style_of_words):
        if style:
            yield f"<g {style}>"
            yield from (_text(mark) for mark in group if isinstance(mark, Words))
            yield "</g>"
            continue
        for mark in group:
            yield from _shape(mark)


def _style_of_words(mark: Mark) -> str:
    if not isinstance(mark, Words):
        return ""
    anchor = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}[mark.align]
    weight = ' font-weight="bold"' * mark.is_bold + ' font-style="italic"' * mark.is_italic
    return f'{_fill(mark.colour)} font-size="{mark.size * POINT:g}"{anchor}{weight}'


def _text(words: Words) -> str:
    return f'<text x="{_number(words.x)}" y="{_number(words.y + MIDDLE * words.size / 72)}">{escape(words.text)}</text>'


def _shape(mark: Mark) -> Iterator[str]:
    match mark:
        case FilledCells(look, boxes):
            yield f'<path {_fill(look.colour)} d="{_ways(boxes)}"/>'
            if look.hatch:
                yield f'<path fill="url(#girih-hatch-{ord(look.hatch[0])})" d="{_ways(boxes)}"/>'
        case Outlines(boxes):
            yield f'<path fill="none" {_stroke(EDGE)} stroke-width=".8" d="{_ways(boxes)}"/>'
        case Strokes(segments, colour, width, is_dashed):
            way = "".join(f"M{_place(*begin)}L{_place(*end)}" for begin, end in segments)
            dashes = ' stroke-dasharray="7 4"' if is_dashed else ""
            style = f'stroke-width="{width * POINT:.2g}" stroke-linecap="square"{dashes}'
            yield f'<path fill="none" {_stroke(colour)} {style} d="{way}"/>'


def _ways(boxes: Iterable[Box]) -> str:
    """The boxes as one path; boxes do not overlap, so that none is a hole."""
    return "".join(
        f"M{_place(x, y)}H{_number(x + wide)}V{_number(y + high)}H{_number(x)}z" for x, y, wide, high in boxes
    )


def _fill(colour: str) -> str:
    return f'class="f{colour[1:]}" fill="{colour}"'


def _stroke(colour: str) -> str:
    return f'class="s{colour[1:]}" stroke="{colour}"'


def _place(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _number(inches: float) -> str:
    """A length in pixels, to a tenth."""
    return f"{inches * PIXELS:.1f}".removesuffix(".0")
