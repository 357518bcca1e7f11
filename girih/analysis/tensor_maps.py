"""The tensor copies of a kernel as a launch sees them: what each asks of the map that it goes through."""

from __future__ import annotations

from functools import lru_cache

from girih.analysis.uniformity import constants_of
from girih.ir.core import Function, Value
from girih.ir.types import MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.tensor_map import (
    CopyMode,
    LocalPlace,
    TensorCopy,
    TensorCopyReduce,
    TensorCopyStore,
    copy_text,
    local_place,
)
from girih.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class MapUse:
    """One tensor copy of a kernel: how it is written, its place, and its local memory. Each is only itself.

    `reduction` is None but for reductions; `element` and `shape` are those of local memory `local`, whose address is
    known as `place` says.
    """

    text: str
    span: Span
    mode: CopyMode
    stores: bool
    reduction: str | None
    local: str
    element: Number
    shape: tuple[int, ...]
    place: LocalPlace


@lru_cache(maxsize=64)
def copies_of(function: Function) -> tuple[TensorCopy, ...]:
    """The tensor copies of a checked kernel, in program order."""
    return tuple(op for op in function.walk() if isinstance(op, TensorCopy))


def map_uses(function: Function) -> dict[Value, tuple[MapUse, ...]]:
    """The copies through each tensor map of a checked kernel."""
    copies = copies_of(function)
    if not copies:
        return {}
    definitions = {value: op for op in function.walk() for value in op.results}
    constants = constants_of(function)
    uses: dict[Value, tuple[MapUse, ...]] = {}
    for op in copies:
        place = local_place(op.local, definitions, constants)
        assert isinstance(op.local.type, MemRef) and place is not None
        use = MapUse(
            copy_text(op),
            op.span,
            op.mode,
            isinstance(op, TensorCopyStore | TensorCopyReduce),
            op.reduction.value if isinstance(op, TensorCopyReduce) else None,
            op.local.name,
            op.local.type.element,
            tuple(n or 0 for n in op.local.type.shape),
            place,
        )
        uses[op.map] = (*uses.get(op.map, ()), use)
    return uses
