"""Tensor layouts and views as far as constants tell them: the state that 000 gives each value of such a type.

Every number of a state is known or None. What a phi, a selection, a parameter or a load of a variable gives is known
where all that it may be agree. One pass over the functions, callers first, finds all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.fold import result_of
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Function
from girih.spirv.model.matrices.stored import stored_before
from girih.spirv.types import Int, TensorLayout, TensorView, Type

Known = int | None
Sizes = tuple[Known, ...]

MOST_DIMENSIONS = 5
"""The dimensions of a layout or view are at most so many (000 OpTypeTensorLayoutNV)."""
WHOLE_CLIP = 0xFFFFFFFF
"""The span of a clip region that clips nothing (000 OpCreateTensorViewNV)."""
DEEPEST_NUMBER = 32
"""Numbers that are computed in more steps than this are not looked for."""


@dataclass(frozen=True, slots=True)
class LayoutState:
    """The state of a tensor layout (000 3.X). `has_dimensions` and `has_strides` tell what has been set."""

    block_size: Sizes
    dimension: Sizes
    stride: Sizes
    offset: Sizes
    span: Sizes
    has_dimensions: bool | None = False
    has_strides: bool | None = False


@dataclass(frozen=True, slots=True)
class ViewState:
    """The state of a tensor view (000 3.X): row offset, row span, column offset and column span are its `clip`."""

    dimension: Sizes
    stride: Sizes
    clip: Sizes = (0, WHOLE_CLIP, 0, WHOLE_CLIP)


State = LayoutState | ViewState


def tensor_states(facts: Facts) -> Mapping[int, State]:
    """The states of layouts and views, by id. What has no entry is not known."""
    if not facts.has("TensorAddressingNV"):
        return {}
    made = _States(facts)
    for function in _callers_first(facts):
        for parameter in function.parameters:
            made.take(parameter)
        for block in function.blocks:
            for one in block.body:
                made.take(one)
    return made.known


def layout_state(facts: Facts, id: int) -> LayoutState:
    """The state of a tensor layout. Raises `Undetermined` where it is not known."""
    found = facts.once(tensor_states).get(id)
    if not isinstance(found, LayoutState):
        raise Undetermined
    return found


def view_state(facts: Facts, id: int) -> ViewState:
    """The state of a tensor view. Raises `Undetermined` where it is not known."""
    found = facts.once(tensor_states).get(id)
    if not isinstance(found, ViewState):
        raise Undetermined
    return found


def number(facts: Facts, id: int, *, signed: bool = False) -> Known:
    """A 32-bit number as the addressing reads it, unsigned unless asked for; None where it is not known."""
    found = _number(facts, id, DEEPEST_NUMBER)
    if found is None:
        return None
    bits = found & 0xFFFFFFFF
    return bits - (1 << 32) if signed and bits >> 31 else bits


def numbers(facts: Facts, ids: Iterable[int]) -> Sizes:
    """The unsigned 32-bit numbers of operands."""
    return tuple(number(facts, id) for id in ids)


def blocks_of(size: Known, block: Known) -> Known:
    """The blocks that a dimension has, the last one included where it is not full; None where that is not known."""
    return None if size is None or not block else -(-size // block)


def packed_strides(dimension: Sizes, block_size: Sizes) -> Sizes:
    """The strides of a layout whose blocks follow one another (000 OpTensorLayoutSetDimensionNV)."""
    made: list[Known] = [1]
    for size, block in zip(reversed(dimension[1:]), reversed(block_size[1:]), strict=True):
        count, inner = blocks_of(size, block), made[-1]
        made.append(None if count is None or inner is None else inner * count & 0xFFFFFFFF)
    return tuple(reversed(made))


# The pass over the functions


class _States:
    """The states found so far."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.known: dict[int, State] = {}

    def take(self, one: Instruction) -> None:
        """Find the state of what an instruction makes, if it is a layout or view."""
        if one.malformed is not None or not one.result_type:
            return
        type = self.facts.declarations.types.get(one.result_type)
        if isinstance(type, TensorLayout | TensorView):
            made = self._state(one, type)
            if made is not None:
                self.known[one.result] = made

    def _state(self, one: Instruction, type: TensorLayout | TensorView) -> State | None:
        setting = _SETTINGS.get(one.name)
        if setting is not None:
            base = self.known.get(one.id("tensor_layout") or one.id("tensor_view"))
            base = base or unknown(type)
            return setting(self.facts, one, base) if base is not None else None
        if one.name in ("OpCreateTensorLayoutNV", "OpCreateTensorViewNV"):
            return created(type)
        return self._joined(_choices(self.facts, one))

    def _joined(self, ids: Sequence[int] | None) -> State | None:
        states = [self.known.get(id) for id in ids or ()]
        found = states[0] if states else None
        for other in states[1:]:
            found = joined(found, other)
        return found


def created(type: TensorLayout | TensorView) -> State | None:
    """The state of a new layout or view; None where the number of its dimensions is not known."""
    if type.dim is None or not 0 < type.dim <= MOST_DIMENSIONS:
        return None
    zeros = (0,) * type.dim
    return (
        LayoutState((1,) * type.dim, zeros, zeros, zeros, zeros)
        if isinstance(type, TensorLayout)
        else ViewState(zeros, zeros)
    )


def unknown(type: TensorLayout | TensorView) -> State | None:
    """The state of a layout or view of which nothing is known; None where not even the number of its dimensions is."""
    if type.dim is None or not 0 < type.dim <= MOST_DIMENSIONS:
        return None
    nothing = (None,) * type.dim
    return (
        LayoutState(nothing, nothing, nothing, nothing, nothing, None, None)
        if isinstance(type, TensorLayout)
        else ViewState(nothing, nothing, (None,) * 4)
    )


def joined(left: State | None, right: State | None) -> State | None:
    """What two states have in common."""
    if isinstance(left, LayoutState) and isinstance(right, LayoutState) and _fits(right.dimension, left):
        return LayoutState(
            _common(left.block_size, right.block_size), _common(left.dimension, right.dimension),
            _common(left.stride, right.stride), _common(left.offset, right.offset), _common(left.span, right.span),
            left.has_dimensions if left.has_dimensions == right.has_dimensions else None,
            left.has_strides if left.has_strides == right.has_strides else None,
        )  # fmt: skip
    if isinstance(left, ViewState) and isinstance(right, ViewState) and _fits(right.dimension, left):
        return ViewState(
            _common(left.dimension, right.dimension), _common(left.stride, right.stride),
            _common(left.clip, right.clip),
        )  # fmt: skip
    return None


def _common(left: Sizes, right: Sizes) -> Sizes:
    return tuple(a if a == b else None for a, b in zip(left, right, strict=True))


Setting = Callable[[Facts, Instruction, State], State | None]


def _set_block_size(facts: Facts, one: Instruction, base: State) -> State | None:
    sizes = numbers(facts, one.ids("block_size"))
    return replace(base, block_size=sizes) if isinstance(base, LayoutState) and _fits(sizes, base) else None


def _set_dimension(facts: Facts, one: Instruction, base: State) -> State | None:
    sizes = numbers(facts, one.ids("dim"))
    if not _fits(sizes, base):
        return None
    if isinstance(base, ViewState):
        return replace(base, dimension=sizes, stride=packed_strides(sizes, (1,) * len(sizes)))
    return replace(
        base, dimension=sizes, span=sizes, offset=(0,) * len(sizes), stride=packed_strides(sizes, base.block_size),
        has_dimensions=True, has_strides=False,
    )  # fmt: skip


def _set_stride(facts: Facts, one: Instruction, base: State) -> State | None:
    sizes = numbers(facts, one.ids("stride"))
    if not _fits(sizes, base):
        return None
    return (
        replace(base, stride=sizes, has_strides=True) if isinstance(base, LayoutState) else replace(base, stride=sizes)
    )


def _slice(facts: Facts, one: Instruction, base: State) -> State | None:
    ids = one.ids("operands")
    offsets = tuple(number(facts, id, signed=True) for id in ids[::2])
    if not isinstance(base, LayoutState) or not _fits(offsets, base) or len(ids) % 2:
        return None
    added = (None if a is None or b is None else a + b for a, b in zip(base.offset, offsets, strict=True))
    return replace(base, offset=tuple(added), span=numbers(facts, ids[1::2]))


def _set_clip(facts: Facts, one: Instruction, base: State) -> State | None:
    names = ("clip_row_offset", "clip_row_span", "clip_col_offset", "clip_col_span")
    clip = numbers(facts, (one.id(name) for name in names))
    return replace(base, clip=clip) if isinstance(base, ViewState) else None


def _fits(sizes: Sizes, base: State) -> bool:
    return len(sizes) == len(base.dimension)


_SETTINGS: Mapping[str, Setting] = {
    "OpTensorLayoutSetBlockSizeNV": _set_block_size,
    "OpTensorLayoutSetDimensionNV": _set_dimension,
    "OpTensorLayoutSetStrideNV": _set_stride,
    "OpTensorLayoutSliceNV": _slice,
    "OpTensorLayoutSetClampValueNV": lambda facts, one, base: base,
    "OpTensorViewSetDimensionNV": _set_dimension,
    "OpTensorViewSetStrideNV": _set_stride,
    "OpTensorViewSetClipNV": _set_clip,
}


# What a value may be


def _choices(facts: Facts, one: Instruction) -> Sequence[int] | None:
    """The values one of which an instruction gives unchanged; None where it makes a value, or not all are known."""
    match one.name:
        case "OpLoad":
            return stored_before(facts, one)
        case "OpCopyObject":
            return (one.id("operand"),)
        case "OpSelect":
            return (one.id("object_1"), one.id("object_2"))
        case "OpPhi":
            return one.ids("incoming")[::2]
        case "OpFunctionParameter":
            return _arguments(facts, one)
    return None


def _arguments(facts: Facts, parameter: Instruction) -> Sequence[int] | None:
    """The arguments of all calls for a parameter; None where the function is also called in another way."""
    function = facts.function_of(parameter)
    if function is None or parameter not in function.parameters:
        return None
    position, found = function.parameters.index(parameter), []
    for use in facts.uses.get(function.id, ()):
        if use.instruction.name in ("OpName", "OpDecorate"):
            continue
        arguments = use.instruction.ids("arguments")
        if use.instruction.name != "OpFunctionCall" or position >= len(arguments):
            return None
        found.append(arguments[position])
    return found


def _number(facts: Facts, id: int, depth: int) -> Known:
    known = facts.declarations.values.get(id)
    if known is not None:
        return known if isinstance(known, int) and not isinstance(known, bool) else None
    found = facts.once(_found_numbers)
    if id not in found:
        found[id] = None  # what rests on itself is not known
        found[id] = _computed(facts, id, depth)
    return found[id]


def _found_numbers(facts: Facts) -> dict[int, Known]:
    return {}


def _computed(facts: Facts, id: int, depth: int) -> Known:
    """The number that an instruction of a function makes; None where it is not known."""
    one = facts.module.definitions.get(id)
    if one is None or one.malformed is not None or not depth or facts.function_of(one) is None:
        return None
    choices = _choices(facts, one)
    if choices is not None:
        values = {_number(facts, choice, depth - 1) for choice in choices}
        return values.pop() if len(values) == 1 else None
    type = _type_of(facts, id)
    if not isinstance(type, Int):
        return None
    result = result_of(one.name, one, type, lambda i: _number(facts, i, depth - 1), lambda i: _type_of(facts, i))
    return result if isinstance(result, int) and not isinstance(result, bool) else None


def _type_of(facts: Facts, id: int) -> Type | None:
    one = facts.module.definitions.get(id)
    return facts.declarations.types.get(one.result_type) if one else None


def _callers_first(facts: Facts) -> Iterable[Function]:
    """The functions, each after all that call it, but where they call one another in a circle."""
    by_id = {function.id: function for function in facts.bodies.functions}
    calls = {
        function.id: [one.id("function") for block in function.blocks for one in block.body
                      if one.name == "OpFunctionCall" and one.id("function") in by_id]
        for function in by_id.values()
    }  # fmt: skip
    open_calls = dict.fromkeys(by_id, 0)
    for called in calls.values():
        for id in called:
            open_calls[id] += 1
    waiting = [id for id, count in open_calls.items() if not count]
    done: dict[int, None] = {}
    while waiting:
        caller = waiting.pop()
        done[caller] = None
        for id in calls[caller]:
            open_calls[id] -= 1
            if not open_calls[id]:
                waiting.append(id)
    return [by_id[id] for id in (*done, *(id for id in by_id if id not in done))]
