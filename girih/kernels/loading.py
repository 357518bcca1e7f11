"""How the functions of the library load a kernel: its text, with definitions that were checked by the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
