"""`girih show --format svg|html`: a kernel as a picture that needs nothing else, in the colours the reader prefers.

A row is an instruction: its line in the file, its text, and the values that it defines with their types. Boxes are
regions. Arrows on the left say where execution goes: back to the head of a loop, around a branch that is not taken.
Curves on the right lead from where a value is defined to where it is used; those of a value light up under the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from html import escape
from itertools import zip_longest

from girih.commands.parts.headers import header
from girih.ir.core import Function, Op, Region, Value
from girih.ir.print import show_dictionary
from girih.lazy_dataclass import dataclass

ROW, PAD, MARGIN = 24.0, 7.0, 20.0
CHARACTER = 7.3
"""The width of a character of the fixed-width font, in pixels."""
INDENT = 16.0
LONGEST = 96
"""Longer texts of an instruction are cut."""
REACH = 130.0
"""How far to the right a curve may go."""

_LOOPS = ("for", "foreach", "foreach_tile")
_NAMES = {
    "if": ("then", "else"),
    "cooperative_matrix_apply": ("for each component",),
    "cooperative_matrix_combine": ("for two components, or combinations",),
    "cooperative_matrix_load_tensor": ("for each component",),
    "parallel": ("every work-item",),
}

LIGHT = {
    "paper": "#ffffff", "ink": "#0f172a", "soft": "#64748b", "rule": "#e2e8f0", "use": "#94a3b8", "flow": "#d97706",
    "hot": "#e11d48", "collective": "#eff6ff", "collective-edge": "#93c5fd", "spmd": "#ecfdf5", "spmd-edge": "#6ee7b7",
}  # fmt: skip
DARK = {
    "paper": "#0f172a", "ink": "#f1f5f9", "soft": "#94a3b8", "rule": "#334155", "use": "#64748b", "flow": "#fbbf24",
    "hot": "#fb7185", "collective": "#172a46", "collective-edge": "#3b6aa8", "spmd": "#12312a", "spmd-edge": "#2f8f73",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PictureRow:
    """An instruction, or a line of the function's head, at a height in pixels, with its line in the file."""

    line: int | None
    text: str
    depth: int
    y: float
    defines: tuple[Value, ...]
    uses: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class PictureBox:
    """The box of a region, from top to bottom."""

    kind: str
    title: str
    depth: int
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Jump:
    """An arrow of execution from one height to another, other than to the next row."""

    title: str
    depth: int
    begin: float
    end: float
    apart: float = 0.0
    """How much further to the left than usual."""


@dataclass(slots=True)
class PicturePlan:
    """The rows, boxes and arrows of a kernel, from a height down to `y`."""

    y: float
    rows: list[PictureRow] = field(default_factory=list)
    boxes: list[PictureBox] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)

    def row(
        self, line: int | None, text: str, depth: int, defines: Sequence[Value], uses: Sequence[Value]
    ) -> PictureRow:
        """Add a row."""
        shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        made = PictureRow(line, shown, depth, self.y + ROW / 2, tuple(defines), tuple(dict.fromkeys(uses)))
        self.rows.append(made)
        self.y += ROW
        return made


def planned(function: Function, y: float) -> PicturePlan:
    """The plan of a kernel whose picture begins at height `y`."""
    plan = PicturePlan(y)
    head = [f"func @{function.name}"]
    head += [f"    attributes {show_dictionary(function.attributes)}"] if function.attributes else []
    for number, (text, parameter) in enumerate(zip_longest(head, function.parameters, fillvalue=None)):
        line = None if number else function.span.line
        plan.row(line, text or "", 0, [parameter.value] if parameter else [], ())
    _region(plan, function.body, f"{function.body.kind.value} region", 1)
    return plan


def _region(plan: PicturePlan, region: Region, title: str, depth: int) -> PictureBox:
    top = plan.y
    plan.y += PAD + ROW * 0.7
    for op in region.ops:
        _op(plan, op, depth)
    plan.y += PAD
    box = PictureBox(region.kind.name.lower(), title, depth, top, plan.y)
    plan.boxes.append(box)
    plan.y += PAD / 2
    return box


def _op(plan: PicturePlan, op: Op, depth: int) -> None:
    mnemonic = op.spec.mnemonic
    defines = [*op.bindings, *(value for value in op.results if value.name)]
    head = plan.row(op.span.line, header(op), depth, defines, list(op.operands))
    names = _NAMES.get(mnemonic, ())
    boxes = []
    for number, region in enumerate(op.regions):
        name = names[number] if number < len(names) else "loop" if mnemonic in _LOOPS else ""
        title = f"{region.kind.value} region" + (f", {name}" if name else "")
        boxes.append(_region(plan, region, title, depth + 1))
    if mnemonic in _LOOPS:
        plan.jumps.append(Jump("again, while there is more to do", depth, boxes[0].bottom - PAD, head.y))
    elif mnemonic == "if":
        other = boxes[1].top + PAD if len(boxes) > 1 else plan.y + PAD
        plan.jumps.append(Jump("if the condition is false", depth, head.y, other))
        if len(boxes) > 1:
            plan.jumps.append(Jump("behind the other branch", depth, boxes[0].bottom - PAD, plan.y + PAD, 5.0))


# --- drawing ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PictureColumns:
    """The places of the columns, in pixels from the left."""

    text: float
    values: float
    curves: float
    end: float

    @staticmethod
    def of(plans: Sequence[PicturePlan]) -> PictureColumns:
        """Columns wide enough for some kernels."""
        rows = [row for plan in plans for row in plan.rows]
        text = MARGIN + 66
        deepest = max((box.depth for plan in plans for box in plan.boxes), default=0)
        widest = max((row.depth * INDENT + len(row.text) * CHARACTER for row in rows), default=0.0)
        values = text + max(widest, deepest * INDENT + 260) + 2 * INDENT
        curves = values + max((len(_defined(row)) for row in rows), default=0) * CHARACTER + INDENT
        return PictureColumns(text, values, curves, curves + REACH + MARGIN)


def _defined(row: PictureRow) -> str:
    return ", ".join(f"%{value.name}: {value.type}" for value in row.defines)


def svg(functions: Sequence[Function], file: str) -> str:
    """Some kernels of a file, one below the other, as an SVG picture."""
    plans: list[PicturePlan] = []
    y = MARGIN
    for function in functions:
        plans.append(planned(function, y))
        y = plans[-1].y + 2 * MARGIN
    columns = PictureColumns.of(plans)
    height = max(y - MARGIN, 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns.end:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {columns.end:.0f} {height:.0f}" role="img">',
        f"<title>{_text(f'Kernels of {file}')}</title>",
        _style(),
        f'<rect class="paper" width="{columns.end:.0f}" height="{height:.0f}"/>',
    ]
    for plan in plans:
        parts += [*_boxes(plan, columns), *_jumps(plan, columns), *_rows(plan, columns), *_curves(plan, columns)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def html(functions: Sequence[Function], file: str) -> str:
    """The picture in a page with an explanation."""
    title = _text(f"Kernels of {file}")
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title>\n'
        "<style>body{font-family:system-ui,sans-serif;margin:2rem}main{overflow-x:auto}</style></head>\n"
        f"<body><h1>{title}</h1>\n<p>A row is an instruction: its line, its text, the values it defines. Boxes are "
        "regions. Arrows on the left: where execution goes, other than down. Curves on the right: from the definition "
        "of a value to its uses; point at one.</p>\n<main>\n"
    )
    return page + svg(functions, file) + "</main></body></html>\n"


def _text(text: str) -> str:
    """A text with the characters escaped that mean something in XML."""
    return escape("".join(c if c.isprintable() else "?" for c in text))


def _style() -> str:
    def colours(scheme: dict[str, str]) -> str:
        fills = "".join(f".{name}{{fill:{scheme[name]}}}" for name in ("paper", "ink", "soft", "flow"))
        boxes = "".join(
            f".{kind}{{fill:{scheme[kind]};stroke:{scheme[kind + '-edge']}}}" for kind in ("collective", "spmd")
        )
        lines = f".jump{{stroke:{scheme['flow']}}}.curve{{stroke:{scheme['use']}}}.rule{{stroke:{scheme['rule']}}}"
        hot = (
            f".value:hover .curve{{stroke:{scheme['hot']}}}.value:hover text,.value:hover .dot{{fill:{scheme['hot']}}}"
        )
        return fills + boxes + lines + f".dot{{fill:{scheme['use']}}}" + hot

    fixed = (
        "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
        ".title{font:12px system-ui,sans-serif}.jump,.curve{fill:none;stroke-width:1.3}"
        ".value:hover .curve{stroke-width:2.2}.head{font-weight:600}"
    )
    return f"<style>{fixed}{colours(LIGHT)}@media (prefers-color-scheme:dark){{{colours(DARK)}}}</style>"


def _left(columns: PictureColumns, depth: int) -> float:
    return columns.text + depth * INDENT


def _boxes(plan: PicturePlan, columns: PictureColumns) -> Iterator[str]:
    for box in sorted(plan.boxes, key=lambda box: box.depth):
        left = _left(columns, box.depth) - INDENT / 2
        width = columns.values - INDENT - left - (box.depth - 1) * 3
        yield (
            f'<rect class="{box.kind}" x="{left:.1f}" y="{box.top:.1f}" width="{width:.1f}" '
            f'height="{box.bottom - box.top:.1f}" rx="5"/>'
        )
        yield f'<text class="title soft" x="{left + INDENT / 2:.1f}" y="{box.top + 14:.1f}">{box.title}</text>'


def _jumps(plan: PicturePlan, columns: PictureColumns) -> Iterator[str]:
    for jump in plan.jumps:
        right = _left(columns, jump.depth) - 3
        left = right - 8 - jump.apart
        yield (
            f'<g><title>{jump.title}</title><path class="jump" d="M{right:.1f},{jump.begin:.1f} H{left:.1f} '
            f'V{jump.end:.1f} H{right - 3:.1f}"/><polygon class="flow" points="{right + 2:.1f},{jump.end:.1f} '
            f'{right - 5:.1f},{jump.end - 3.5:.1f} {right - 5:.1f},{jump.end + 3.5:.1f}"/></g>'
        )


def _rows(plan: PicturePlan, columns: PictureColumns) -> Iterator[str]:
    for row in plan.rows:
        base = row.y + 4
        look = "ink head" if row.depth == 0 else "ink"
        if row.line is not None:
            yield f'<text class="soft" x="{MARGIN + 24:.1f}" y="{base:.1f}" text-anchor="end">{row.line}</text>'
        yield (
            f'<text class="{look}" x="{_left(columns, row.depth):.1f}" y="{base:.1f}" '
            f'xml:space="preserve">{_text(row.text)}</text>'
        )


def _curves(plan: PicturePlan, columns: PictureColumns) -> Iterator[str]:
    """The marks of the values, and the curves from each to its uses."""
    uses: dict[Value, list[PictureRow]] = {}
    for row in plan.rows:
        for value in row.uses:
            uses.setdefault(value, []).append(row)
    for row in plan.rows:
        left = columns.values
        for number, value in enumerate(row.defines):
            label = f"%{value.name}: {value.type}" + (", " if number + 1 < len(row.defines) else "")
            yield from _value(value, label, left, row, uses.get(value, []), columns)
            left += len(label) * CHARACTER


def _value(
    value: Value, label: str, left: float, row: PictureRow, users: Sequence[PictureRow], columns: PictureColumns
) -> Iterator[str]:
    lines = ", ".join(str(user.line) for user in users) or "never"
    yield f'<g class="value"><title>{_text(f"%{value.name}: {value.type}, used in line {lines}")}</title>'
    yield f'<text class="soft" x="{left:.1f}" y="{row.y + 4:.1f}" xml:space="preserve">{_text(label)}</text>'
    for user in users:
        reach = columns.curves + min(REACH, 18 + abs(user.y - row.y) * 0.45) * 1.3
        start = columns.curves - INDENT / 2
        yield (
            f'<path class="curve" d="M{start:.1f},{row.y:.1f} C{reach:.1f},{row.y:.1f} {reach:.1f},{user.y:.1f} '
            f'{start + 6:.1f},{user.y:.1f}"/><polygon class="dot" points="{start:.1f},{user.y:.1f} '
            f'{start + 7:.1f},{user.y - 3.5:.1f} {start + 7:.1f},{user.y + 3.5:.1f}"/>'
        )
    yield "</g>"
