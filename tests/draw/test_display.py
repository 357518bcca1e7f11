"""Notebooks: models show themselves, and never fail; without a picture there is the text."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

from girih import draw
from girih.addressing import Strided, Swizzle, TensorLayout, TensorMap, TensorView
from girih.draw.models import picture
from girih.draw.options import PAPER_LIMITS


def test_a_model_without_a_picture_shows_its_text() -> None:
    assert TensorView(2)._repr_svg_() is None
    assert TensorLayout(2)._repr_svg_() is None


def test_a_notebook_and_svg_need_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "import_module", _missing)
    assert Strided((2, 2))._repr_svg_() == draw.svg(Strided((2, 2)))
    with pytest.raises(draw.DrawingError, match=r"figures and PNG need matplotlib .*; pip install 'girih\[draw\]'"):
        draw.figure(Strided((2, 2)))


def _missing(name: str) -> Any:
    raise ImportError(f"No module named {name!r}")


def test_addressing_loads_no_pictures_by_itself() -> None:
    program = (
        "import sys, girih.addressing as addressing\n"
        "addressing.TensorLayout(2).set_dimension(2, 2).access(2, 2)\n"
        "print([name for name in sys.modules if name.startswith(('girih.draw', 'matplotlib'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_models_stay_the_values_that_they_were() -> None:
    swizzle: Any = Swizzle("64B")
    assert not hasattr(swizzle, "__dict__")
    assert copy.copy(swizzle) == swizzle == pickle.loads(pickle.dumps(swizzle))
    assert repr(Strided((2,))) == "Strided(shape=(2,), strides=(1,), offset=0)"
    with pytest.raises(AttributeError):
        swizzle.name = "32B"


MAP = TensorMap.tiled(dtype="u8", global_dim=(16, 2), global_strides=(16,), box_dim=(16, 2))


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (3, {}, "a int has no picture; draw one of TensorLayout"),
        (MAP, {"colour": "red"}, "there is no option 'colour'; choose among rows, columns"),
        (MAP, {"rows": 4}, "rows says nothing about a TensorMap; it takes coordinates, offsets"),
        (Swizzle(), {"window": ((0, 1), (0, 1))}, "window says nothing about a Swizzle; it takes row_bytes"),
        (MAP, {"memory_columns": 0}, "memory_columns = 0 is less than 1"),
        (MAP, {"memory_columns": 1.5}, "memory_columns = 1.5 is no integer"),
        (MAP, {"coordinates": 4}, "coordinates = 4 is no sequence of integers"),
        (MAP, {"panels": ("tile", "shard")}, "there is no panel 'shard' of this model; choose among tile, tensor"),
        (MAP, {"panels": 3}, "panels = 3: name them in a tuple"),
        (MAP, {"window": 3}, r"window = 3: window is \(\(row, rows\), \(column, columns\)\)"),
        (MAP, {"window": ((0, 1), (0, 1, 2))}, "window is"),
        (MAP, {"window": ((0, 65), (0, 1))}, "has 1 to 64 rows"),
        (MAP, {"window": ((-1, 2), (0, 1))}, "begins at 0 or later"),
        (Strided((4, 4)), {"window": ((3, 2), (0, 4))}, "rows 3 to 4 of a tile that has 4 rows; end at row 3"),
        (TensorLayout(2).set_dimension(2, 2), {"view": 1}, "view = 1 is no TensorView"),
    ],
)
def test_a_wrong_call_is_told_what_to_do(model: object, options: dict[str, Any], says: str) -> None:
    with pytest.raises(draw.DrawingError, match=says):
        picture(model, options, PAPER_LIMITS)


def test_each_option_has_one_public_description() -> None:
    assert [name for name in draw.__all__ if name.endswith("Options")] == ["DrawOptions"]
    words = inspect.getdoc(draw.DrawOptions) or ""
    assert [name for name in draw.DrawOptions.__annotations__ if f"`{name}`" not in words] == []
