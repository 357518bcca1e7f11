"""How the functions of the library load a kernel: its text, with definitions that were checked by the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.ir.types import NUMBERS, PARTS
from girih.kernels.table import checked
from girih.kernels.texts import path

if TYPE_CHECKING:
    from girih.api import Kernel, Program
    from girih.ir.core import Order

CPU_GEMM = path("gemm").parent / "cpu" / "gemm.tl"
"""The text of `gemm` that takes the place of tiles."""

_SUMMED_IN = {"f16": "f32", "bf16": "f32"}
"""The types in which the instruction `gemm` sums products of narrow types."""


def loaded_program(name: str, target: str | None, order: Order, definitions: dict[str, object]) -> Program:
    """The text of a kernel with some definitions. Raises `ValueError` for what is not offered."""
    from girih.api import load

    return load(path(name), target, checked(name, definitions), order=order)


def loaded_kernel(name: str, target: str | None, order: Order, **definitions: object) -> Kernel:
    """The function of a text that has the name of the kernel. Raises `ValueError` for what is not offered."""
    return loaded_program(name, target, order, definitions)[name]


def shares(target: str | None, type: str, accumulator: str) -> dict[str, object] | None:
    """The definitions of `gemm` by the collective instruction, `cpu/gemm.tl`; None where the product takes tiles.

    It takes them on targets that do not say how many work-groups are to share a product; and for sums that are wider
    than those of the instruction. Raises `ValueError` for a wrong target.
    """
    from girih.api import resolved_target

    groups = resolved_target(target).product_groups()
    if groups is None or accumulator not in (type, _SUMMED_IN.get(type)):
        return None
    return {"groups": groups, "narrow": type != accumulator}


def shared_gemm(order: Order, target: str | None, shares: dict[str, object], **definitions: object) -> Kernel:
    """`gemm` by the collective instruction. Raises `ValueError` for what is not offered."""
    from girih.api import load

    kernel = load(CPU_GEMM, target, checked("gemm", definitions) | shares, order=order)["gemm"]
    # Then the arguments decide nothing, and a launch need not look at them for its grid.
    return kernel[1] if shares["groups"] == 1 else kernel


def given(**sizes: int | None) -> dict[str, int]:
    """The sizes that are not left out."""
    return {name: size for name, size in sizes.items() if size is not None}


def tile_for(
    target: str | None, type: str, accumulator: str, rows: int | None, columns: int | None, depth: int | None
) -> dict[str, int]:
    """The definitions of the tile of a product: the sizes that are given, and for the others what suits the target.

    Where all tiles suit it, and for complex sums, those of the text are left. Raises `ValueError` for a wrong target.
    """
    from girih.api import resolved_target

    number = NUMBERS[accumulator]
    found = None if number in PARTS else resolved_target(target).product_tile(NUMBERS[type], number)
    suitable = {} if found is None else dict(zip(("rows", "columns", "depth"), found, strict=True))
    return suitable | given(rows=rows, columns=columns, depth=depth)


def attention_tile_for(target: str | None, type: str, queries: int | None, keys: int | None) -> dict[str, int]:
    """The definitions of the tile of attention: the sizes that are given, and for the others what suits the target.

    Raises `ValueError` for a wrong type or target.
    """
    from girih.api import resolved_target

    number = NUMBERS[str(checked("attention", {"type": type})["type"])]
    found = resolved_target(target).attention_tile(number)
    suitable = {} if found is None else dict(zip(("queries", "keys"), found, strict=True))
    return suitable | given(queries=queries, keys=keys)
