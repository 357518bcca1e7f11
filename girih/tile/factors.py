"""Loads that are factors of products: which of them go through shared memory, and what is filled together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, If
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixMulAdd
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.program import TileProgram, walk
from girih.tile.spreads import is_outer

FactorLoad = CooperativeMatrixLoad | CooperativeMatrixLoadTensor


@dataclass(slots=True, eq=False)
class FilledTogether:
    """Loads of one region whose first use is the same product: tiles of one slot of a ring."""

    loads: list[FactorLoad] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Factors:
    """The loads that go to shared memory, by what they result in, each with those that are filled together with it."""

    groups: dict[Value, FilledTogether] = field(default_factory=dict)

    def of_region(self, ops: Sequence[Op]) -> Iterator[tuple[FilledTogether, int, int]]:
        """What is filled in a region: each with the places of the first and of the last instruction that uses it."""
        seen: set[int] = set()
        for op in ops:
            group = self.groups.get(op.results[0]) if op.results else None
            if group is None or id(group) in seen:
                continue
            seen.add(id(group))
            values = {load.result for load in group.loads}
            users = [k for k, user in enumerate(ops) if any(not values.isdisjoint(o.operands) for o in walk((user,)))]
            yield group, users[0], users[-1]


def factors_of(program: TileProgram) -> Factors:
    """The factors of a program that go to shared memory."""
    uses: dict[Value, list[tuple[Op, str]]] = {}
    for op in walk(program.body):
        for name in op.spec.operands:
            held = getattr(op, name)
            for value in held if isinstance(held, tuple) else (held,):
                if isinstance(value, Value) and isinstance(value.type, CoopMatrix):
                    uses.setdefault(value, []).append((op, name))
    found = Factors()
    for region in _regions(program.body):
        by_product: dict[Op, FilledTogether] = {}
        for op in region:
            if isinstance(op, FactorLoad) and _is_factor(uses.get(op.result, [])):
                first = _first(region, op.result)
                group = found.groups[op.result] = by_product.setdefault(first, FilledTogether())
                group.loads.append(op)
    return found


def _is_factor(uses: Sequence[tuple[Op, str]]) -> bool:
    return bool(uses) and all(
        isinstance(op, CooperativeMatrixMulAdd) and not is_outer(op) and name in ("a", "b") for op, name in uses
    )


def _first(region: Iterable[Op], value: Value) -> Op:
    return next(op for op in walk(region) if isinstance(op, CooperativeMatrixMulAdd) and value in (op.a, op.b))


def _regions(ops: Sequence[Op]) -> Iterator[Sequence[Op]]:
    yield ops
    for op in ops:
        if isinstance(op, For | If):
            for region in op.regions:
                yield from _regions(region.ops)
