"""How the functions of the library load a kernel: its text, with definitions that were checked by the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.ir.types import NUMBERS, PARTS
from girih.kernels.table import checked
from girih.kernels.texts import path

if TYPE_CHECKING:
    from girih.api import Kernel, Program
    from girih.ir.core import Order


def loaded_program(name: str, target: str | None, order: Order, definitions: dict[str, object]) -> Program:
    """The text of a kernel with some definitions. Raises `ValueError` for what is not offered."""
    from girih.api import load

    return load(path(name), target, checked(name, definitions), order=order)


def loaded_kernel(name: str, target: str | None, order: Order, **definitions: object) -> Kernel:
    """The function of a text that has the name of the kernel. Raises `ValueError` for what is not offered."""
    return loaded_program(name, target, order, definitions)[name]


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
