"""The program while it is made canonical: instructions with a place of their own, and computations that float.

An instruction has a place if it touches memory, needs several work-items at once, ends a region or has regions.
All others only compute values from values; they float until `place` says where they stand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from typing import Any

from girih.ir.core import Op, RegionKind, Slice, Value
from girih.ir.define import Where
from girih.ir.types import CoopMatrix, MemRef, PrivateArrayType
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

_PLACES = ("span", "uses")


@dataclass(slots=True, eq=False)
class Block:
    """A region: its instructions that have a place, in order; `owner` is the instruction that it belongs to."""

    kind: RegionKind
    owner: Item | None
    span: Span = NOWHERE
    items: list[Item] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """The number of regions around this one."""
        return 0 if self.owner is None else self.owner.block.depth + 1

    @property
    def around(self) -> Block | None:
        """The region around this one; None for a body."""
        return None if self.owner is None else self.owner.block

    @property
    def tangled(self) -> Item | None:
        """The innermost instruction around that several work-items execute at once, whose regions see little."""
        block: Block | None = self
        while block is not None and block.owner is not None:
            if block.owner.op.spec.tangled:
                return block.owner
            block = block.around
        return None

    @property
    def shared_out(self) -> Block | None:
        """The outermost region around, or this one, that work-items execute each for itself."""
        block: Block | None = self
        found = None
        while block is not None:
            found = block if block.kind is RegionKind.SPMD else found
            block = block.around
        return found


@dataclass(slots=True, eq=False)
class Item:
    """An instruction that has a place, on values of the new program; its regions are `blocks`, by name."""

    op: Op
    block: Block
    blocks: dict[str, Block] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Floating:
    """An instruction that only computes; `home` is the innermost tangled instruction around it, None for a constant."""

    op: Op
    home: Item | None
    place: Block | None = None


def floats(op: Op) -> bool:
    """Whether an instruction only computes values from values."""
    spec = op.spec
    apart = spec.terminator or spec.tangled or spec.exchanges or spec.reads or spec.writes
    if apart or spec.where is Where.COLLECTIVE or op.regions or not spec.results:
        return False
    return not (any(map(_in_memory, op.results)) and not any(map(_in_memory, op.operands)))


def _in_memory(value: Value) -> bool:
    return isinstance(value.type, MemRef | PrivateArrayType)


def of_spmd(op: Op) -> bool:
    """Whether an instruction can only stand where each work-item executes for itself."""
    return op.spec.where is Where.SPMD or any(isinstance(v.type, CoopMatrix) for v in op.results)


def key_of(op: Op) -> tuple[object, ...]:
    """What two instructions have in common that compute the same."""
    held = (getattr(op, f.name) for f in fields(op) if f.name not in _PLACES and f.name not in op.spec.results)
    return (op.spec.mnemonic, *map(_comparable, held), *(v.type for v in op.results))


def _comparable(value: object) -> object:
    """A field as something that differs wherever its meaning does: -0.0 is not 0.0, and true is not 1."""
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    if isinstance(value, float | complex):
        number = complex(value)
        return type(value), struct.pack("dd", number.real, number.imag)
    return type(value), value


def mapped(op: Op, values: Mapping[Value, Value]) -> dict[str, Any]:
    """The operands of an instruction, by name, with each value replaced by the one that stands for it."""
    return {name: _mapped(getattr(op, name), values) for name in op.spec.operands}


def _mapped(held: Any, values: Mapping[Value, Value]) -> Any:
    match held:
        case Value():
            return values[held]
        case tuple():
            return tuple(_mapped(entry, values) for entry in held)
        case Slice():
            return Slice(_mapped(held.offset, values), _mapped(held.size, values))
        case _:
            return held


def defined(op: Op, names: tuple[str, ...], values: dict[Value, Value]) -> dict[str, Any]:
    """New values without names for some of the fields of an instruction, which `values` then has."""

    def fresh(value: Value) -> Value:
        values[value] = made = Value("", value.type, value.span)
        return made

    made: dict[str, Any] = {}
    for name in names:
        held = getattr(op, name)
        made[name] = tuple(map(fresh, held)) if isinstance(held, tuple) else held and fresh(held)
    return made


def without(op: Op, kept: Mapping[str, list[int]]) -> Op:
    """The instruction with only some entries of its lists, by name."""
    shorter: dict[str, Any] = {name: tuple(getattr(op, name)[k] for k in numbers) for name, numbers in kept.items()}
    return replace(op, uses={name: spans for name, spans in op.uses.items() if name not in kept}, **shorter)


def walk(block: Block) -> Iterator[Item]:
    """All instructions of a region that have a place, outer before inner, in order."""
    stack = list(reversed(block.items))
    while stack:
        item = stack.pop()
        yield item
        for inner in reversed(item.blocks.values()):
            stack.extend(reversed(inner.items))
