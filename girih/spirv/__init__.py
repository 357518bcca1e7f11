"""SPIR-V modules as they are: read, written, printed, assembled, specialised, and judged by rules.

`Module` is a module, `validate` says what is wrong with one. Nothing here knows the tensor language.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.spirv.judge.validate import validate
    from girih.spirv.module import Module

_HOMES = {"Module": "girih.spirv.module", "validate": "girih.spirv.judge.validate"}

__all__ = ["Module", "validate"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
