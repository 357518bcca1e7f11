"""The picture: the same rows give the same file; without matplotlib it is said what to install."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from girih.bench import plot
from girih.bench.measuring.rows import Measurement, Versus
from girih.bench.report import Results

MACHINE = {"gflops": {"f32": 110.0, "f64": 55.0, "bf16": 220.0}, "gigabytes_per_second": 40.0}


def results(*rows: Measurement) -> Results:
    return Results({"girih": "0.1", "cpu": "A CPU", "date": "2026-01-01"}, MACHINE, list(rows))


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(plot, "import_module", missing)
    with pytest.raises(plot.PictureError, match=r"pip install 'girih\[draw\]'"):
        plot.pyplot()


def test_what_cannot_be_written_is_said_before(tmp_path: Path) -> None:
    with pytest.raises(plot.PictureError, match=r"ends in .svg, .png, .pdf"):
        plot.ready(tmp_path / "a.tiff")


def test_intensity() -> None:
    assert plot.intensity(Measurement("gemm", "n", 1.0, flops=8.0, bytes=2.0)) == 4.0


def test_the_picture_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra girih[draw]")
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    rows = [Measurement("gemm", "gemm n=512", 0.01, flops=1e9, bytes=1e6, against={"numpy": Versus(0.01, 1.1)}),
            Measurement("rows", "softmax", 0.01, bytes=1e6, against={"torch": Versus(0.01, 2.0)})]  # fmt: skip
    for name in ("a.svg", "b.svg"):
        plot.draw(results(*rows), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "softmax" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    with pytest.raises(plot.PictureError, match="nothing to draw"):
        plot.draw(results(), tmp_path / "c.svg")
    with pytest.raises(plot.PictureError, match="Is a directory"):
        plot.draw(results(*rows), folder)
    assert import_module("matplotlib.pyplot").get_fignums() == []
