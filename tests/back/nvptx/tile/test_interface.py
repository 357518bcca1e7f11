"""What a launch must know of a tile program, as it is kept on disk."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from girih.back.llvm.nvptx.machine.kernel import PtxKernel, RecipePlace
from girih.ir.types import BF16
from girih.tile.amounts import Amount, number
from girih.tile.form import MapRecipe

RECIPE = MapRecipe(
    "A", 1, BF16, Amount("mul", (Amount("argument", (0,)), number(3))),
    (Amount("size", (1, 0)), Amount("div", (Amount("size", (1, 1)), number(2)))),
    (number(1), Amount("stride", (1, 1))), (64, 128), 128, True, True, (1, 2),
)  # fmt: skip
KERNEL = PtxKernel("f", "f", "", "sm_90a", 384, 1, 32, 1024, 256, (4,), (), (), (RecipePlace(128, RECIPE),), True)


def test_recipes_are_kept() -> None:
    """A kernel that was kept has its recipes, with all their formulas."""
    assert PtxKernel.from_bytes(KERNEL.to_bytes()) == KERNEL
    assert PtxKernel.from_bytes(replace(KERNEL, recipes=(), persistent=False).to_bytes()).recipes == ()


@pytest.mark.parametrize("broken", [["x"], [128, "A", 1, "bf17"], None])
def test_other_recipes_are_refused(broken: object) -> None:
    """What is no recipe is no kernel."""
    held = json.loads(KERNEL.to_bytes())
    held["recipes"] = [broken]
    with pytest.raises(ValueError, match="no kernel in PTX"):
        PtxKernel.from_bytes(json.dumps(held).encode())
