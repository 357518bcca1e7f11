"""All rules of SPIR-V: the rows of each instruction, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from girih.spirv.grammar import grammar
from girih.spirv.rules.row import INSTRUCTION, MODULE, Family, SpirvRow

CHAPTERS = (
    "grammar",
    "declarations.entry_points",
    "declarations.modes",
    "declarations.annotations",
    "declarations.built_ins",
    "values.types",
    "values.constants",
    "values.composites",
    "values.arithmetic",
    "values.products",
    "values.bits",
    "values.logic",
    "values.conversions",
    "flow",
    "stages",
    "dot_products",
    "glsl450",
    "debug",
    "concurrency.atomics",
    "concurrency.barriers",
    "concurrency.subgroups",
    "concurrency.groups",
    "matrices.declared",
    "matrices.memory",
    "matrices.blocked",
    "matrices.product",
    "matrices.tensors",
    "matrices.tensor_memory",
    "matrices.changes",
    "matrices.qcom",
    "matrices.first_nv",
    "functions",
    "extensions.ray_queries",
    "extensions.tensors",
    "extensions.graphs",
    "extensions.cooperative_vectors",
    "extensions.predicated",
    "extensions.modes",
    "memory.variables",
    "memory.layout",
    "memory.logical",
    "memory.access",
    "memory.operands",
    "memory.chains",
)
"""The modules below this room that have `FAMILIES`, in the order in which their rows are tried."""


@cache
def chapters() -> Mapping[str, tuple[Family, ...]]:
    """The families by chapter."""
    return {name: tuple(import_module(f"girih.spirv.rules.{name}").FAMILIES) for name in CHAPTERS}


def families() -> Iterator[Family]:
    """The families of all chapters."""
    return (family for listed in chapters().values() for family in listed)


@cache
def rows() -> Mapping[str, tuple[SpirvRow, ...]]:
    """The rows by the first name of their instruction, and by `module` and `instruction`."""
    made: dict[str, list[SpirvRow]] = {}
    for one in families():
        for name in one.opcodes:
            owner = name if name in (MODULE, INSTRUCTION) else grammar().named(name).name
            made.setdefault(owner, []).extend(one.rows)
    return {owner: tuple(listed) for owner, listed in made.items()}


@cache
def rows_outside_vulkan() -> Mapping[str, tuple[SpirvRow, ...]]:
    """The rows that hold in every environment, by instruction as in `rows`."""
    return {owner: tuple(row for row in listed if not row.vulkan) for owner, listed in rows().items()}
