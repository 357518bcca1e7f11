"""`Picture`: an SVG of boxes, lines and words on a panel of its own, which follows the reader's colour scheme."""

from __future__ import annotations

from html import escape

LIGHT = {
    "panel": "#f8fafc", "edge": "#cbd5e1", "ink": "#0f172a", "soft": "#475569", "off": "#e2e8f0",
    "blue": "#3b82f6", "green": "#10b981", "amber": "#f59e0b", "rose": "#f43f5e", "violet": "#8b5cf6",
    "bluish": "#dbeafe", "greenish": "#d1fae5", "amberish": "#fef3c7", "violetish": "#ede9fe",
}  # fmt: skip
DARK = {
    "panel": "#111827", "edge": "#374151", "ink": "#f1f5f9", "soft": "#a3b1c6", "off": "#1f2937",
    "blue": "#60a5fa", "green": "#34d399", "amber": "#fbbf24", "rose": "#fb7185", "violet": "#a78bfa",
    "bluish": "#1e3a5f", "greenish": "#134e40", "amberish": "#4a3a12", "violetish": "#3b2f63",
}  # fmt: skip
"""The colours of both schemes by their use."""


def style() -> str:
    """The style sheet: every colour is a fill `f-NAME` and a stroke `s-NAME`."""

    def rules(scheme: dict[str, str]) -> str:
        return "".join(f".f-{name}{{fill:{c}}}.s-{name}{{stroke:{c}}}" for name, c in scheme.items())

    fonts = (
        "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:14px}"
        ".mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px}"
        ".small{font-size:12px}.bold{font-weight:600}"
    )
    return f"<style>{fonts}{rules(LIGHT)}@media (prefers-color-scheme:dark){{{rules(DARK)}}}</style>"


class Picture:
    """An SVG picture on a panel of its own; lengths in pixels, y points down."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []
        self.box(0.5, 0.5, width - 1, height - 1, "panel", "edge", radius=10)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "", radius: float = 4
    ) -> None:
        """Add a rectangle."""
        outline = f" s-{stroke}" if stroke else ""
        self.parts.append(
            f'<rect class="f-{fill}{outline}" x="{x:g}" y="{y:g}" '
            f'width="{width:g}" height="{height:g}" rx="{radius:g}"/>'
        )

    def text(self, x: float, y: float, words: str, colour: str = "ink", look: str = "", anchor: str = "start") -> None:
        """Add a line of text, its base line at y."""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(
            f'<text class="f-{colour} {look}" x="{x:g}" y="{y:g}"{place} xml:space="preserve">{escape(words)}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = "soft", dash: str = "") -> None:
        """Add a straight line."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line class="s-{colour}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke-width="1.5"{dashes}/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = "soft") -> None:
        """Add a horizontal or vertical line with a head at its end."""
        self.line(x1, y1, x2, y2, colour)
        along, across = (1 if x2 > x1 else -1 if x2 < x1 else 0), (1 if y2 > y1 else -1 if y2 < y1 else 0)
        left = f"{x2 - 7 * along + 4 * across:g},{y2 - 7 * across + 4 * along:g}"
        right = f"{x2 - 7 * along - 4 * across:g},{y2 - 7 * across - 4 * along:g}"
        self.parts.append(f'<polygon class="f-{colour}" points="{x2:g},{y2:g} {left} {right}"/>')

    def dot(self, x: float, y: float, colour: str, shape: str = "circle") -> None:
        """Add a mark of a plot: a circle, a diamond or a square."""
        edge = 's-panel" stroke-width="1'
        if shape == "circle":
            self.parts.append(f'<circle class="f-{colour} {edge}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        elif shape == "square":
            place = f'x="{x - 4.5:.1f}" y="{y - 4.5:.1f}"'
            self.parts.append(f'<rect class="f-{colour} {edge}" {place} width="9" height="9"/>')
        else:
            points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in ((0, -6), (6, 0), (0, 6), (-6, 0)))
            self.parts.append(f'<polygon class="f-{colour} {edge}" points="{points}"/>')

    def svg(self) -> str:
        """The text of the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img"><title>{escape(self.title)}</title>'
        )
        return "\n".join([head, style(), *self.parts, "</svg>"]) + "\n"
