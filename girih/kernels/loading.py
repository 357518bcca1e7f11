"""How the functions of the library load a kernel: its text, with definitions that were checked by the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.ir.types import F32, NUMBERS, PARTS
from girih.kernels.table import checked, is_whole
from girih.kernels.texts import path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from girih.api import Kernel, Program
    from girih.ir.core import Order
    from girih.ir.types import Number

ROWS_ON_GPUS = 16
"""The elements of the result that a work-group of `gemv` computes on GPUs, which need many work-groups."""

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
    """What says how work-groups share a product by the collective instruction; None where the product takes tiles.

    It takes them on targets that do not say how many work-groups are to share a product; and for sums that are wider
    than those of the instruction. Raises `ValueError` for a wrong target.
    """
    from girih.api import resolved_target

    groups = resolved_target(target).product_groups()
    return None if groups is None or accumulator not in (type, _SUMMED_IN.get(type)) else {"groups": groups}


def shared_kernel(
    name: str, target: str | None, order: Order, shares: dict[str, object], **definitions: object
) -> Kernel:
    """A product by the collective instruction. Raises `ValueError` for what is not offered."""
    from girih.api import load

    kernel = load(cpu_text(name), target, checked(name, definitions) | shares, order=order)[name]
    # Then the arguments decide nothing, and a launch need not look at them for its grid.
    return kernel[1] if shares["groups"] == 1 else kernel


def cpu_text(name: str) -> Path:
    """The file that takes the place of a kernel's text on a CPU, for kernels that have one."""
    return path(name).parent / "cpu" / f"{name}.tl"


def product_of_work_groups(
    name: str, target: str | None, order: Order, type: str, accumulator: str, **definitions: object
) -> Kernel | None:
    """A product with matrices of the work-group; None on targets where that is not the fastest."""
    known = checked(name, {"type": type, "accumulator": accumulator, **definitions})
    return _in_parts(name, target, order, known, (NUMBERS[type], NUMBERS[accumulator]))


def _in_parts(
    name: str, target: str | None, order: Order, definitions: dict[str, object], numbers: tuple[Number, Number]
) -> Kernel | None:
    """A product of numbers, with sums of others, whose work-groups may be done in parts; None as above.

    Parts are work-groups of the same text with smaller tiles.
    """
    from girih.api import load, resolved_target

    device = resolved_target(target).work_group_tiling
    sizes = None if device is None else device.product_by_work_group(*numbers)
    if device is None or sizes is None:
        return None
    text, whole, rows, columns = gpu_text(name), {**definitions, **sizes}, sizes["rows"], sizes["columns"]
    made = load(text, target, whole, order=order)[name]
    # What the interpreter has is the checked function: it is compiled where a launch needs it.
    smaller = {
        (x, y): load(text, "interpreter", {**whole, "rows": rows // x, "columns": columns // y}, order=order)[name].ir
        for x, y in device.product_parts(*numbers)
    }
    device.divide(made.executor, (rows, columns), smaller)
    return made


def attention_of_work_groups(
    target: str | None, order: Order, type: str, headdim: int, **definitions: object
) -> Kernel | None:
    """Attention with matrices of the work-group; None on targets where that is not the fastest."""
    from girih.api import resolved_target

    known = checked("attention", {"type": type, "headdim": headdim})
    number, length = NUMBERS[str(known["type"])], known["headdim"]
    assert isinstance(length, int)
    device = resolved_target(target).work_group_tiling
    sizes = None if device is None else device.attention_by_work_group(number, length)
    return _of_work_groups("attention", target, order, sizes, type=type, headdim=headdim, **definitions)


def column_kernel(name: str, target: str | None, order: Order, type: str, length: int | None, *, loaded: int) -> Kernel:
    """A kernel that takes a column for each work-group; with the length of columns, one that keeps them in registers.

    That is so on targets which have such a one; a work-group loads so many columns of that length. Raises `ValueError`
    for what is not offered.
    """
    from girih.api import resolved_target

    sums = "f64" if type == "f64" else "f32"
    definitions = checked(name, {"type": type, "accumulator": sums})
    if length is not None and (not is_whole(length) or length < 1):
        raise ValueError(f"{name}: length is {length!r}; it must be a whole number from 1")
    device = resolved_target(target).work_group_tiling
    sizes = None
    if device is not None and length is not None:
        number = NUMBERS[str(definitions["type"])]
        sizes = device.column_by_work_group(number, NUMBERS[sums], loaded, int(length))
    found = _of_work_groups(name, target, order, sizes, **definitions)
    return loaded_kernel(name, target, order, **definitions) if found is None else found


def _of_work_groups(
    name: str, target: str | None, order: Order, sizes: Mapping[str, int] | None, **definitions: object
) -> Kernel | None:
    from girih.api import load

    if sizes is None:
        return None
    return load(gpu_text(name), target, {**checked(name, definitions), **sizes}, order=order)[name]


def kernel_of_rows(name: str, target: str | None, order: Order, **definitions: object) -> Kernel:
    """A product of a matrix and a vector whose text shares rows otherwise among the work-items of NVIDIA's GPUs."""
    from girih.api import load, resolved_target

    if resolved_target(target).work_group_tiling is None:
        return loaded_kernel(name, target, order, **definitions)
    return load(gpu_text(name), target, checked(name, definitions), order=order)[name]


def rows_of_work_group(target: str | None) -> dict[str, int]:
    """The definition of the rows of `gemv` that a work-group computes; none where those of the text suit the target."""
    from girih.api import resolved_target

    return {} if resolved_target(target).work_group_tiling is None else {"rows": ROWS_ON_GPUS}


def widest_product(name: str, target: str | None, order: Order, type: str, **definitions: object) -> Kernel:
    """A product with matrices of the work-group and sums in f32, whose tile suits the target."""
    known = checked(name, {"type": type, **definitions})
    found = _in_parts(name, target, order, known, (NUMBERS[str(known["type"])], F32))
    return loaded_kernel(name, target, order, type=type, **definitions) if found is None else found


def gpu_text(name: str) -> Path:
    """The file that takes the place of a kernel's text on GPUs with tile programs, for kernels that have one."""
    return path(name).parent / "gpu" / f"{name}.tl"


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
