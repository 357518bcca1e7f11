"""What to do about what a run finds, in words of texts; a reader of another language puts them into that.

There is advice where it is true of every program in which an instruction is found guilty. Races have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from girih.analysis.reasons import way_out
from girih.analysis.suspicions import Turn
from girih.analysis.uniformity import Uniformity, uniformity_of
from girih.diagnostics import Finding
from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, GroupType, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.control import For, Foreach, ForeachTile, If
from girih.ops.tile.coopmatrix import AtomicAccess, CooperativeMatrixLoad, CooperativeMatrixStore
from girih.ops.tile.memory import Alloca, AtomicLoad, AtomicStore, AtomicUpdate, Load, Store, Subview
from girih.ops.tile.subgroup import SubgroupBroadcast


@dataclass(frozen=True, slots=True)
class Guilty:
    """A finding, the function that it is about, and an instruction at its place."""

    function: Function
    finding: Finding
    op: Op

    @property
    def index(self) -> Sequence[int]:
        """The index of the finding; nothing where it has none."""
        return self.finding.index or ()

    @property
    def shape(self) -> Sequence[int]:
        """The shape of the finding; nothing where it has none."""
        return self.finding.shape or ()


def advice(function: Function, finding: Finding) -> str | None:
    """What to do about a finding; None where nothing is true of all programs in which it is found."""
    say = _ADVICE.get(finding.code)
    if say is None or function.language is not TILE_LANGUAGE:
        return None
    here = (op for op in function.walk() if op.span == finding.span)
    said = (say(Guilty(function, finding, op)) for op in here)
    return next((words for words in said if words is not None), None)


# Memory.


def _outside(guilty: Guilty) -> str | None:
    op = guilty.op
    match op:
        case Load() | Store() | AtomicLoad() | AtomicStore() | AtomicUpdate():
            return _beyond(guilty, op.tensor)
        case CooperativeMatrixLoad() | CooperativeMatrixStore() | AtomicAccess():
            memory = op.memory  # type: ignore[union-attr]
            return _tile_beyond(guilty, op, memory)
        case SubgroupBroadcast():
            return f"the work-items of a subgroup have the numbers 0 to {guilty.shape[0] - 1}"
        case _:
            return None


def _beyond(guilty: Guilty, tensor: Value) -> str | None:
    """The words for an index of one element, or of a member of a group."""
    modes = zip(guilty.index, guilty.shape, strict=False)
    mode = next((k for k, (index, size) in enumerate(modes) if not 0 <= index < size), None)
    if mode is None:
        return None
    named = _is_of(guilty, tensor)
    size = f"`size %{tensor.name}[{mode}]`" if named else str(guilty.shape[mode])
    if guilty.index[mode] < 0:
        if not named:
            return "an index does not count from the end: let an `if` keep it from being negative"
        return f"an index does not count from the end: take it from {size}, or let an `if` keep it from being negative"
    return f"let an `if` keep the index below {size}"


def _is_of(guilty: Guilty, tensor: Value) -> bool:
    """Whether the index and the shape of the finding are those of a memref or group that has a name."""
    order = tensor.type.order if isinstance(tensor.type, MemRef) else isinstance(tensor.type, GroupType)
    return tensor.name == guilty.finding.argument and len(guilty.index) == len(guilty.shape) == int(order)


def _tile_beyond(guilty: Guilty, op: Op, memory: Value) -> str | None:
    """The words for a tile that reaches over an edge."""
    if min(guilty.index, default=0) < 0 or not _is_of(guilty, memory):
        return None
    effect = "0 when loaded" if op.results else "left out"
    if op.results and op.spec.writes:
        effect = "left out, and 0 in the result"
    return f"where a tile reaches over the edge write `{op.spec.mnemonic}.both_checked` of %{memory.name}: " + (
        f"what is outside is {effect}"
    )


def _unwritten(guilty: Guilty) -> str:
    name = guilty.finding.argument
    is_local = any(isinstance(op, Alloca) and op.result.name == name for op in guilty.function.walk())
    beta = getattr(guilty.op, "beta", None)
    target = getattr(guilty.op, "c", None) or getattr(guilty.op, "b", None)
    if isinstance(beta, Value) and isinstance(target, Value) and target.name == name:
        return f"write to %{name} before, or let beta be a constant 0, which does not read it"
    if is_local:
        return f"local memory begins without values: write those of %{name} first"
    return f"write the elements of %{name} first, or pass an array that has values"


def _without_memory(guilty: Guilty) -> str:
    return "pass an array in place of None, or ask `associated` first"


def _after_its_end(guilty: Guilty) -> str:
    return "put `lifetime_stop` behind the last use"


def _undefined(guilty: Guilty) -> str:
    return "give the layout another clamp mode, such as constant"


def _shared(guilty: Guilty) -> str | None:
    target = getattr(guilty.op, "c", None) or getattr(guilty.op, "b", None)
    if not hasattr(guilty.op, "beta") or not isinstance(target, Value):
        return None
    return "write to other memory, such as that of `alloca`, and copy it with `axpby`"


# Views.


def _wrong_slice(guilty: Guilty) -> str | None:
    op = guilty.op
    if not isinstance(op, Subview) or len(guilty.index) != 2 or len(guilty.shape) != 1:
        return None
    (offset, size), (whole,) = guilty.index, guilty.shape
    if offset < 0:
        return "an offset does not count from the end: let it be 0 or more"
    if size <= 0 or offset >= whole:
        what = "size is more than 0" if size <= 0 else f"offset is less than {whole}"
        return f"do this in an `if` that the {what}"
    return f"from {offset} on, {whole - offset} are left: use `subview` with the `min` of the size and what is left"


def _with_a_gap(guilty: Guilty) -> str:
    return "only modes that lie without a gap are fused: pass an array that is packed, or copy it to one with `axpby`"


# Numbers and control.


def _zero(guilty: Guilty) -> str | None:
    """The words for a division of numbers; the components of a matrix have no `if` of their own."""
    if any(isinstance(result.type, CoopMatrix) for result in guilty.op.results):
        return None
    if not guilty.op.spec.mnemonic.startswith(("div", "rem")):
        return None
    return "divide in an `if` that the divisor is not 0, or choose another divisor there, with `select`"


def _not_forwards(guilty: Guilty) -> str:
    return "a step is 1 or more; to count down, subtract the variable of the loop from the last number"


def _apart(guilty: Guilty) -> str | None:
    """What to do where work-items part, at the outermost place around the instruction where they may."""
    uniformities = uniformity_of(guilty.function)
    enough = Uniformity.WORK_GROUP if "work-group" in guilty.finding.message else Uniformity.SUBGROUP
    turns = _turns(guilty.function.body, guilty.op)
    guilty_turn = next((turn for turn in turns if turn.uniformity(uniformities) > enough), None)
    return None if guilty_turn is None else way_out(guilty_turn)


def _turns(region: Region, op: Op) -> Iterator[Turn]:
    """The places where work-items may part on the way to an instruction, outer before inner."""
    ways = ((outer, part) for outer in region.ops for part in outer.regions if any(op is one for one in part.walk()))
    for outer, part in ways:
        if isinstance(outer, If | For | Foreach | ForeachTile):
            yield Turn(outer, part)
        yield from _turns(part, op)


def _differs(guilty: Guilty) -> str:
    if "work-group" in guilty.finding.message:
        return "compute it from what all of them share"
    return "compute it from what all share, or take that of one work-item with `subgroup_broadcast`"


_ADVICE: Mapping[str, Callable[[Guilty], str | None]] = {
    "run.out_of_bounds": _outside,
    "run.uninitialized": _unwritten,
    "run.null": _without_memory,
    "run.lifetime": _after_its_end,
    "run.undefined": _undefined,
    "run.aliasing": _shared,
    "run.subview": _wrong_slice,
    "run.fuse": _with_a_gap,
    "run.division_by_zero": _zero,
    "run.step": _not_forwards,
    "run.divergent": _apart,
    "run.not_uniform": _differs,
}
