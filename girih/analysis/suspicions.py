"""Instructions that several work-items execute together, where uniformity does not promise that all come, or agree.

Most programs have none. What becomes of those of others is for `girih.analysis.divergence` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from girih.analysis.uniformity import Uniformities, Uniformity, bounds
from girih.ir.core import Op, Region, Value
from girih.ir.types import CoopMatrix, MatrixScope
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, Foreach, ForeachTile, If, Print


@dataclass(frozen=True, slots=True)
class Turn:
    """A region on the way to an instruction, and the `if`, `for`, `foreach` or `foreach_tile` that it belongs to."""

    op: If | For | Foreach | ForeachTile
    region: Region

    def uniformity(self, uniformities: Uniformities) -> Uniformity:
        """Between which work-items it is the same whether, and how often, they take it."""
        match self.op:
            case If():
                return uniformities.of(self.op.condition)
            case For():
                return uniformities.worst(bounds(self.op))
            case Foreach():
                return Uniformity.NONE
            case ForeachTile():
                return uniformities.worst(self.op.variables)


Path = tuple[Turn, ...]
"""The turns from the function's body to an instruction."""

SharedOperand = tuple[str, int, Value]
"""An operand that is the same for all who come: its field, its number in that, and the value."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """An instruction to which not all may come, or, where there are `operands`, to which all come with others.

    `path` leads to it from the body of the function, or of the last instruction on the way that is suspicious itself.
    """

    op: Op
    path: Path
    who: MatrixScope
    operands: tuple[SharedOperand, ...] = ()


def needed(who: MatrixScope) -> Uniformity:
    """Between whom what decides is the same, for all of a group to come."""
    return Uniformity.WORK_GROUP if who is MatrixScope.WORK_GROUP else Uniformity.SUBGROUP


def together(op: Op) -> MatrixScope | None:
    """Who must come to an instruction: the work-items of a subgroup, those of the work-group, or None."""
    if op.spec.by_work_group:
        return MatrixScope.WORK_GROUP
    scope = _scope((*op.operands, *op.results))
    # A print without matrices is everybody's own.
    return scope if isinstance(op, Print) or scope is not None else MatrixScope.SUBGROUP


def _scope(values: Iterable[Value]) -> MatrixScope | None:
    """Who holds the matrices among some values; None without any."""
    scopes = [v.type.scope for v in values if isinstance(v.type, CoopMatrix)]
    return MatrixScope.WORK_GROUP if MatrixScope.WORK_GROUP in scopes else next(iter(scopes), None)


def suspicions_of(uniformities: Uniformities) -> list[Suspicion]:
    """The suspicious instructions of a function without errors, in its order."""
    if uniformities.everywhere:
        return []
    return list(_in_region(uniformities.function.body, (), Uniformity.WORK_GROUP, uniformities))


def _in_region(region: Region, path: Path, parted: Uniformity, uniformities: Uniformities) -> Iterator[Suspicion]:
    """The suspicions in a region at the end of a path, which work-items take together as far as `parted` says."""
    for op in region.ops:
        spec = op.spec
        found = None
        if spec.tangled or spec.by_work_group:
            found = _about(op, path, parted, uniformities)
        elif spec.shared and op.results:
            found = _about_operands(op, _scope(op.results), path, parted, uniformities)
        if found is not None:
            yield found
        if not spec.regions or spec.tangled:
            continue
        if found is not None and spec.by_work_group:
            # The way to it is in doubt; in its own regions all begin together again.
            yield from _in_regions_of(op, (), Uniformity.WORK_GROUP, uniformities)
        else:
            yield from _in_regions_of(op, path, parted, uniformities)


def _in_regions_of(op: Op, path: Path, parted: Uniformity, uniformities: Uniformities) -> Iterator[Suspicion]:
    for inner in op.regions:
        if isinstance(op, If | For | Foreach | ForeachTile):
            turn = Turn(op, inner)
            yield from _in_region(inner, (*path, turn), max(parted, turn.uniformity(uniformities)), uniformities)
        else:
            yield from _in_region(inner, path, parted, uniformities)


def _about(op: Op, path: Path, parted: Uniformity, uniformities: Uniformities) -> Suspicion | None:
    who = together(op)
    if who is not None and parted > needed(who):
        return Suspicion(op, path, who)
    return _about_operands(op, who, path, parted, uniformities) if op.spec.shared else None


def _about_operands(
    op: Op, who: MatrixScope | None, path: Path, parted: Uniformity, uniformities: Uniformities
) -> Suspicion | None:
    if who is None or parted > needed(who):
        return None
    differing: list[SharedOperand] = []
    for name in op.spec.shared:
        operand = getattr(op, name)
        for number, value in enumerate(operand if isinstance(operand, tuple) else (operand,)):
            if isinstance(value, Value) and uniformities.of(value) > needed(who):
                differing.append((name, number, value))
    return Suspicion(op, path, who, tuple(differing)) if differing else None
