"""The drawn shapes of products and attention on a GPU: which they are, and how ratios are summed up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.gpu import shapes


def test_the_shapes_are_those_of_the_seed() -> None:
    sizes, lengths = shapes.drawn()
    assert len(sizes) == 30 and len(lengths) == 10
    assert sizes[0] == (65, 1266, 7579) and lengths[0] == 25
    assert all(64 <= size < 8192 for shape in sizes for size in shape)
    assert all(17 <= length < 9000 for length in lengths)


def test_the_distribution_counts_only_what_was_measured() -> None:
    rows = [{"name": "product a", "ratio": ratio} for ratio in (0.25, 0.75, 1.0, 2.0)]
    kept: list[dict[str, Any]] = [*rows, {"name": "product b", "refused": "no"}, {"name": "attention", "ratio": 9.0}]
    found = shapes.summary(kept, "product")
    assert found["shapes"] == 4 and found["least"] == 0.25 and found["most"] == 2.0
    assert found["median"] == pytest.approx(0.875)
    assert found["geometric mean"] == pytest.approx((0.25 * 0.75 * 2.0) ** 0.25)
    assert (found["below 0.5"], found["below 0.8"], found["below 1.0"]) == (1, 2, 2)
    assert shapes.summary([], "product") == {}


def test_without_a_gpu_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shapes, "torch_on_cuda", lambda: None)
    assert shapes.main([]) == 2
    assert "not measured" in capsys.readouterr().err


def test_a_wrong_result_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"name": "product 64 x 64 x 64", "us": 3.0, "peer us": 4.0, "ratio": 1.25, "error": 1.5}
    shapes.show(row)
    assert "WRONG" in capsys.readouterr().out
    shapes.show(row | {"error": 0.5})
    assert "right" in capsys.readouterr().out
