"""The products that go into sums, which a kernel may permit to be rounded together (`girih.ir.hints.PERMISSIONS`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import Number, element_type
from girih.ops.tile.arith import Binary
from girih.ops.tile.coopmatrix import CooperativeMatrixScale
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor

_FUNCTIONS = CooperativeMatrixApply | CooperativeMatrixCombine | CooperativeMatrixLoadTensor
"""Instructions whose regions are functions, which get values from outside but not what these were computed from."""


@lru_cache(maxsize=64)
def products_in_sums(function: Function) -> Mapping[Op, tuple[tuple[str, Op], ...]]:
    """For each `add` and `sub` of floating or complex numbers the operands that are products: names and instructions.

    A product stands in the same region, or in one around it that the sum's region is not a function in.
    """
    products: dict[Value, tuple[Op, object]] = {}
    found: dict[Op, tuple[tuple[str, Op], ...]] = {}
    pending: list[tuple[Region, object]] = [(function.body, function)]
    while pending:
        region, owner = pending.pop()
        for op in region.ops:
            pending += [(inner, op if isinstance(op, _FUNCTIONS) else owner) for inner in op.regions]
            if _is_product(op):
                products.update((value, (op, owner)) for value in op.results)
            elif isinstance(op, Binary) and op.spec.mnemonic in ("add", "sub"):
                pairs = ((name, products.get(value)) for name, value in (("a", op.a), ("b", op.b)))
                terms = tuple((name, known[0]) for name, known in pairs if known is not None and known[1] is owner)
                if terms:
                    found[op] = terms
    return found


def _is_product(op: Op) -> bool:
    if isinstance(op, CooperativeMatrixScale) or (isinstance(op, Binary) and op.spec.mnemonic == "mul"):
        type = element_type(op.result.type)
    else:
        return False
    return isinstance(type, Number) and type.family != "integer"
