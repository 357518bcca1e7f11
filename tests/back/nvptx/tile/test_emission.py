"""What tile programs are in PTX: the assembler takes them as they are meant, and golden text shows what they are.

The assembler says when it makes products wait for each other (C7510 and the like), and when registers are too few: in a
tile program both mean that it is slow.
"""

from __future__ import annotations

import re
from itertools import product as every
from pathlib import Path

import pytest

from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.test_golden import as_text, as_written
from tests.back.nvptx.tile.emitted import emitted, emitted_from
from tests.conftest import Golden
from tests.tile.programs import attention, kernel_of, product

LAYOUTS = [
    product(order=order, transpose_a=a, transpose_b=b) for order, a, b in every("FC", (False, True), (False, True))
]
SHAPES = [
    product(rows=256, columns=128),
    product(rows=128, columns=128, type="f16"),
    product(rows=192, columns=160),
    product(rows=64, columns=256),
]
ATTENTION = [attention(), attention(length=64)]


@needs_ptxas
@pytest.mark.parametrize("text", [*LAYOUTS, *SHAPES, *ATTENTION])
def test_products_run_on(text: str, tmp_path: Path) -> None:
    """Nothing is spilled, and no product waits for another one."""
    found = ptxas(emitted_from(text, checks=True).ptx, "sm_90a", tmp_path)
    assert found.problems == ""
    assert found.spilled == 0 and found.stack == 0


@as_written
def test_as_text(golden: Golden) -> None:
    golden("nvptx/tile_product.ptx", as_text(emitted_from(product()).ptx))


def test_a_launch_knows_the_kernel() -> None:
    """What a launch asks for is what the form says."""
    kernel = kernel_of(product())
    made = emitted(kernel)
    assert made.threads == kernel.threads == 384
    assert made.persistent and made.packed == 1
    assert [place.recipe for place in made.recipes] == list(kernel.maps)
    offsets = [place.offset for place in made.recipes]
    assert all(offset % 128 == 0 for offset in offsets)
    assert offsets == sorted(set(offsets)) and made.parameter_bytes == offsets[-1] + 128
    # Grid, record, and for each matrix address, two sizes and a stride.
    assert offsets[0] >= 8 * (4 + 3 * 4)


def test_roles_have_their_registers() -> None:
    """The producer gives registers to the consumers, in one branch each (PTX ISA "setmaxnreg")."""
    ptx = emitted_from(product()).ptx
    assert re.findall(r"setmaxnreg\.(\w+)\.sync\.aligned\.u32 (\d+)", ptx) in (
        [("dec", "40"), ("inc", "232")], [("inc", "232"), ("dec", "40")],
    )  # fmt: skip
    assert ".minnctapersm 1" in ptx and ".reqntid 384" in ptx


def test_nobody_ends_with_a_finding() -> None:
    """A role that ended would leave others waiting."""
    checked = emitted_from(product(checked=""), checks=True)
    assert checked.sites and "exit" not in checked.ptx.replace("func_exit", "")
    assert "exit" not in emitted_from(product()).ptx
