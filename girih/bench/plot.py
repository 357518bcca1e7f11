"""The roofline picture: how fast each kernel is under the limits of the machine, and against its peers.

It needs matplotlib, the extra `girih[draw]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from girih.bench.measuring.rows import Measurement
from girih.bench.report import TITLES, Results

INK, FAINT, GRID = "#22272e", "#8a929c", "#e6e9ed"
GROUP_COLOURS = ("#0f766e", "#b45309", "#4338ca", "#be123c", "#0369a1", "#65a30d", "#7e22ce", "#a16207", "#475569")
PEERS = {"numpy": ("o", "NumPy"), "torch": ("D", "torch"), "libxsmm": ("s", "libxsmm")}
LOWEST = 6.5
"""Height of the picture in inches."""

ENDINGS = (".svg", ".png", ".pdf")
ROOFS = {"bf16": "#7e22ce", "f32": "#0f766e", "f64": "#b45309"}

_SETTINGS = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "girih",
}


class PictureError(Exception):
    """The picture cannot be drawn or written; the message says why."""


def pyplot() -> Any:
    """The module `matplotlib.pyplot`, for use without a screen. Raises `PictureError` if it is missing."""
    try:
        import_module("matplotlib").use("Agg")
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise PictureError(
            f"a picture needs matplotlib ({error}); install it with `pip install 'girih[draw]'`"
        ) from None


def ready(path: Path) -> None:
    """Check that a picture can be drawn, before anything is measured. Raises `PictureError`."""
    if path.suffix.lower() not in ENDINGS:
        raise PictureError(f"a picture ends in {', '.join(ENDINGS)}")
    pyplot()


def draw(results: Results, path: Path) -> None:
    """Write the picture in the format that the file's suffix names. Raises `PictureError`."""
    plt = pyplot()
    placed = [row for row in results.rows if row.gflops and row.bytes]
    compared = [row for row in results.rows if row.against and row.seconds is not None]
    if not placed and not compared:
        raise PictureError("there is nothing to draw: no row has a rate or a peer")
    colours = _colours([*placed, *compared])
    with plt.rc_context(_SETTINGS):
        # The roof keeps its shape, however long the list beside it is.
        height = max(LOWEST, 1.2 + 0.19 * len(compared))
        figure = plt.figure(figsize=(14, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.1)
        spare = max(height - LOWEST, 0.01)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), height_ratios=(LOWEST, spare))
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
        _roofline(left, results.machine, placed, colours)
        _ratios(right, compared, colours)
        named = results.environment
        figure.suptitle(f"girih {named.get('girih', '')} on {named.get('cpu', '')}   {named.get('date', '')}",
                        x=0.01, ha="left", fontsize=13, fontweight="bold")  # fmt: skip
        try:
            figure.savefig(path, format=path.suffix.lstrip(".").lower(), metadata=_metadata(path))
        except (OSError, ValueError) as error:
            raise PictureError(f"{path}: {error}") from None
        finally:
            plt.close(figure)


def _metadata(path: Path) -> dict[str, None] | None:
    """The metadata of the picture: an SVG has no date, so that the same rows give the same file."""
    return {"Date": None} if path.suffix.lower() == ".svg" else None


def _colours(rows: Sequence[Measurement]) -> dict[str, str]:
    groups = list(dict.fromkeys(row.group for row in rows))
    return {group: GROUP_COLOURS[number % len(GROUP_COLOURS)] for number, group in enumerate(groups)}


def intensity(row: Measurement) -> float:
    """The operations of a row for each byte that must be moved."""
    return (row.flops or 0.0) / (row.bytes or 1.0)


def _roofline(axes: Any, machine: Mapping[str, Any], rows: Sequence[Measurement], colours: Mapping[str, str]) -> None:
    axes.set_title("Under the roof", loc="left", fontweight="bold", pad=12)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=10)
    axes.grid(True, which="major", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("operations for each byte of the arguments")
    axes.set_ylabel("10$^9$ operations a second")
    intensities = [intensity(row) for row in rows] or [1.0]
    low, high = min(0.125, min(intensities) / 2), max(256.0, max(intensities) * 2)
    bandwidth = float(machine["gigabytes_per_second"])
    top = max(float(value) for value in machine["gflops"].values())
    axes.plot([low, top / bandwidth], [bandwidth * low, top], color=FAINT, linewidth=1.4)
    for type, colour in ROOFS.items():
        peak = float(machine["gflops"][type])
        axes.plot([peak / bandwidth, high], [peak, peak], color=colour, linewidth=1.4, alpha=0.8)
        axes.annotate(f"{type} {peak:.0f}", (high, peak), xytext=(-2, 3), textcoords="offset points", ha="right",
                      color=colour, fontsize=8)  # fmt: skip
    axes.annotate(f"memory {bandwidth:.0f} GB/s; above it: in a cache", (low, top), xytext=(6, 3),
                  textcoords="offset points", color=FAINT, fontsize=8)  # fmt: skip
    for group, colour in colours.items():
        mine = [row for row in rows if row.group == group]
        if mine:
            axes.scatter([intensity(row) for row in mine], [row.gflops for row in mine], s=34, color=colour, alpha=0.85,
                         edgecolor="white", linewidth=0.6, zorder=3, label=TITLES.get(group, group))  # fmt: skip
    lowest = min([row.gflops or top for row in rows], default=top)
    axes.set_xlim(low, high)
    axes.set_ylim(min(lowest, bandwidth * low) / 1.5, top * 1.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"1/{1 / value:g}" if value < 1 else f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor=GRID, fontsize=8)


def _ratios(axes: Any, rows: Sequence[Measurement], colours: Mapping[str, str]) -> None:
    axes.set_title("Times as fast as the peer", loc="left", fontweight="bold", pad=12)
    axes.set_xscale("log", base=2)
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axvline(1.0, color=INK, linewidth=1.0)
    for peer, (marker, label) in PEERS.items():
        mine = [(number, row) for number, row in enumerate(rows) if peer in row.against]
        if mine:
            axes.scatter([row.against[peer].ratio for _, row in mine], [number for number, _ in mine], marker=marker,
                         s=26, color=[colours[row.group] for _, row in mine], edgecolor="white", linewidth=0.5,
                         zorder=3)  # fmt: skip
            axes.scatter([], [], marker=marker, s=26, color=FAINT, label=label)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(colours[row.group])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    ratios = [peer.ratio for row in rows for peer in row.against.values()] or [1.0]
    axes.set_xlim(min(0.5, min(ratios) / 1.3), max(2.0, max(ratios) * 1.3))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if rows:
        axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor=GRID, fontsize=8)
