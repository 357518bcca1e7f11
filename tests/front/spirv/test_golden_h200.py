"""Shaders with tensor layouts, views and matrices give what an NVIDIA H200 wrote, byte for byte.

Where the driver differs from the text, the interpreter follows it when it is asked to. Where the text leaves the result
open, both results are legal ones.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

import girih
from tests.cases import long

DATA = Path(__file__).resolve().parents[2] / "data" / "spirv" / "spirv_h200"
ROWS: dict[str, dict[str, Any]] = {row["id"]: row for row in json.loads((DATA / "index.json").read_text())}
FEW = {
    "interpreter": ("layout_006", "layout_265", "operation_080", "operation_097", "operation_110"),
    "cpu": ("layout_162", "operation_110"),
}
"""The cases that `make test` takes: a layout, decoding, a combination, functions of components, conversions."""

Array = np.ndarray[Any, Any]


@cache
def arrays() -> Any:
    """The buffers before and after as bytes, by case."""
    return np.load(DATA / "arrays.npz")


def written(case: str, target: str) -> Array:
    """The buffer that a shader writes, as the target leaves it."""
    row = ROWS[case]
    with ZipFile(DATA / "modules.zip") as file:
        kernel = girih.loads(file.read(f"{case}.spv"), target)["main"]
    if row.get("hardware_follows_text") is False:
        kernel = kernel.options(choices=girih.Choices(quirks="nvidia-580"))
    source: Array = arrays()[f"{case}.src"].copy()
    result: Array = arrays()[f"{case}.dst"].copy()
    kernel[tuple(row["workgroups"])]({(0, 0): source, (0, 1): result})
    return result


def legal(case: str, result: Array) -> bool:
    """Whether each component of a result is one of those that are combined, of a square matrix: in its row or column.

    A function that gives one of its operands gives any of them, depending on the order.
    """
    row = ROWS[case]
    bits = {"f32": np.uint32, "f16": np.uint16}[row["component"]]
    given = arrays()[f"{case}.src"].view(bits)
    matrix = given.reshape(-1, int(given.size**0.5))
    found = result.view(bits).reshape([int(n) for n in row["note"].split("x")])
    sets = {"Row": matrix[:, None], "Column": matrix.T[None], "RowAndColumn": given.reshape(1, 1, -1)}
    return bool((found[..., None] == sets[row["kind"].rpartition("_")[2]]).any(axis=-1).all())


def _cases() -> list[Any]:
    """The pairs of target and case; those that follow the driver where it errs are for the interpreter alone."""
    pairs = [(target, case) for target in FEW for case in ROWS]
    pairs = [(t, c) for t, c in pairs if t == "interpreter" or ROWS[c].get("hardware_follows_text") is not False]
    return [p for p in pairs if p[1] in FEW[p[0]]] + long(p for p in pairs if p[1] not in FEW[p[0]])


@pytest.mark.parametrize(("target", "case"), _cases())
def test_what_the_hardware_wrote(target: str, case: str) -> None:
    result, hardware = written(case, target), arrays()[f"{case}.hw"]
    if ROWS[case].get("implementation_dependent"):
        assert legal(case, hardware)
        assert legal(case, result)
    else:
        np.testing.assert_array_equal(result, hardware)
