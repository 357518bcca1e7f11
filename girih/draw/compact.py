"""The SVG that matplotlib writes in fewer characters, a tenth where there are hatches: the same picture and texts.

Hatches are hundreds of strokes and dots each, cells are polygons: boxes become `M H V H z`, neighbouring paths of one
style one path, neighbouring texts of one style a group, dots of hatches points with round ends. Nothing in a picture is
clipped, and nothing refers to a group.
"""

from __future__ import annotations

import re
from itertools import groupby

UNUSED = re.compile(
    r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<clipPath.*?</defs>|</?g\b[^>]*>|<!--.*?-->"
    r'| clip-path="[^"]*"| transform="rotate\(-?0 [^"]*"',
    re.S,
)
"""What matplotlib writes and these pictures do not need."""
NUMBER = r"(-?[\d.]+)"
DOT = re.compile(rf"M {NUMBER} {NUMBER} (?:C [-\d. ]+)+z ?")
BOX = re.compile(rf"M {NUMBER} {NUMBER} L {NUMBER} \2 L \3 {NUMBER} L \1 \4 (?:L \1 \2 )?z ?")
PATH = re.compile(r'<path d="(?P<way>[^"]*)" (?P<style>style="[^"]*")/>')
TEXT = re.compile(r'<text (?P<style>style="[^"]*")(?P<rest> [^>]*>[^<]*</text>)')


def compact(svg: str) -> str:
    """The same picture in fewer characters: boxes short, paths of one style joined, dots of hatches as round ends."""
    text = re.sub(r"\s*\n\s*", " ", UNUSED.sub("", svg)).strip()
    lines = [_shorter(line) for line in re.sub(r"> +<", ">\n<", text).split("\n")]
    joined: list[str] = []
    for style, group in groupby(lines, key=_style_of):
        neighbours = list(group)
        joined += _joined(style, neighbours) if style else neighbours
    return "".join(f"{line}\n" for line in joined if line)


def _style_of(line: str) -> str:
    found = PATH.fullmatch(line) or TEXT.fullmatch(line)
    return found["style"] if found else ""


def _joined(style: str, lines: list[str]) -> list[str]:
    """Neighbouring paths or texts that share their style."""
    if lines[0].startswith("<path"):
        ways = "".join(PATH.sub(r"\g<way>", line) for line in lines)
        return [f'<path d="{ways}" {style}/>']
    return [f"<g {style}>", *(TEXT.sub(r"<text\g<rest>", line) for line in lines), "</g>"]


def _shorter(line: str) -> str:
    """One path with boxes as `M H V H z`; a path of dots as points with round ends."""
    dotted = DOT.search(line) is not None
    line = BOX.sub(r"M\1 \2H\3V\4H\1z", line)
    if dotted:
        line = DOT.sub(r"M\1 \2h0", line).replace(
            "stroke-width: 0.6; stroke-linecap: butt", "stroke-width: 1.2; stroke-linecap: round"
        )
    return line
