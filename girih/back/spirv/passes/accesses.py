"""Accesses of memory as the type that is computed with, and what memories are seen as in the end.

A float that is loaded as an integer and then only taken for a float is loaded as one, and stored as one, if that does
not make its memory one of more types. Memories then know the types of the accesses that are left, and those of the
shader's own that nobody reaches are gone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
)
from girih.back.spirv.passes.operations import is_name, reached
from girih.back.spirv.passes.rewriting import Body, Rewriter, bodies, first_free_of, with_bodies
from girih.lazy_dataclass import dataclass

_PAIRS = {"i16": "half", "i32": "float", "i64": "double", "half": "i16", "float": "i32", "double": "i64"}
"""Types of the same bits as which memory may be seen."""

_OWN = (MemoryKind.PRIVATE, MemoryKind.SHARED)
_Access = tuple[int, str]
"""A memory, by its `id`, and the type as which it is seen."""


def with_direct_accesses(code: ShaderCode) -> ShaderCode:
    """The code with accesses of the types that are computed with; its memories are new."""
    accesses = _Accesses()
    for block, _, result in bodies(code):
        accesses.read(block, result)
    memories = _Memories(code, accesses)
    changed: list[Body] = []
    free = first_free_of(code)
    for block, _, result in bodies(code):
        direct = _Direct(free, accesses=accesses, memories=memories)
        new = direct.block(block)
        free = direct.free
        changed.append((new, None if result is None else direct.value(result)))
    return replace(with_bodies(code, changed), memories=memories.kept())


@dataclass(slots=True)
class _Accesses:
    """What accesses there are, and which of them might be of the other type of the same bits."""

    counted: Counter[_Access] = field(default_factory=Counter)
    direct: Counter[_Access] = field(default_factory=Counter)
    """How many accesses of a type might be of the other."""
    loads: dict[str, ShaderNode] = field(default_factory=dict)
    stores: set[int] = field(default_factory=set)
    bits_of: dict[str, ShaderNode] = field(default_factory=dict)
    """The `bitcast` that gives a value, by the value's name."""
    _uses: Counter[str] = field(default_factory=Counter)
    _casts: Counter[str] = field(default_factory=Counter)

    def read(self, block: ShaderBlock, result: Val | None) -> None:
        """Read a body, whose values have names of their own."""
        self.loads, self._uses, self._casts = {}, Counter(), Counter()
        if result is not None:
            self._uses[result.text] += 1
        for one in block.walk():
            match one:
                case ShaderNode():
                    self._node(one)
                case BranchStatement():
                    self._used(one.condition, *(v for _, a, b in one.results for v in (a, b)))
                case LoopStatement():
                    self._used(one.start, one.stop, one.step)
                    self._used(*(v for c in one.carried for v in (c.initial, c.following)))
                case RepeatStatement():
                    self._used(one.condition, *(v for c in one.carried for v in (c.initial, c.following)))
        for name, load in self.loads.items():
            if self._casts[name] and self._casts[name] == self._uses[name]:
                self.stores.add(id(load))
                self.direct[id(load.details[0]), str(load.details[1])] += 1

    def _used(self, *values: Val) -> None:
        self._uses.update(v.text for v in values if is_name(v))

    def _node(self, one: ShaderNode) -> None:
        self._used(*one.operands)
        result = one.result
        if one.op == "bitcast" and result is not None:
            self.bits_of[result.text] = one
            source = one.operands[0]
            if _PAIRS.get(source.type) == result.type:
                self._casts[source.text] += 1
        if not one.details or not isinstance(one.details[0], ShaderMemory):
            return
        access = id(one.details[0]), str(one.details[1])
        self.counted[access] += 1
        if one.op == "load" and result is not None:
            self.loads[result.text] = one
        elif one.op == "store":
            cast = self.bits_of.get(one.operands[0].text)
            if cast is not None and _PAIRS.get(access[1]) == cast.operands[0].type:
                self.stores.add(id(one))
                self.direct[access] += 1

    def turns(self, one: ShaderNode) -> bool:
        """Whether an access is to be of the other type."""
        memory, type = reached(one), str(one.details[1])
        if id(one) not in self.stores:
            return False
        access, other = (id(memory), type), (id(memory), _PAIRS[type])
        every = self.direct[access] == self.counted[access]
        stays = self.counted[other] > self.direct[other]
        return every or (stays and memory.kind is MemoryKind.BUFFER)


@dataclass(slots=True)
class _Memories:
    """The new memories, with what accesses see them as."""

    code: ShaderCode
    accesses: _Accesses
    _new: dict[int, ShaderMemory] = field(default_factory=dict)

    def seen(self, one: ShaderNode, type: str) -> ShaderMemory:
        """The new memory of an access, as a type."""
        old = reached(one)
        new = self._new.get(id(old))
        if new is None:
            new = self._new[id(old)] = replace(old, types={}, written=False, atomic=False)
        new.types[type] = None
        new.written |= one.op in ("store", "atomic") or one.op.startswith("matrix_store")
        new.atomic |= one.op == "atomic"
        return new

    def kept(self) -> list[ShaderMemory]:
        """The memories of the shader: those that are reached, and buffers, which are its interface."""
        for old in self.code.memories:
            new = self._new.get(id(old))
            if new is None and old.kind not in _OWN:
                self._new[id(old)] = replace(old, types={}, written=False, atomic=False)
            elif new is not None and old.element and old.element not in new.types and len(new.types) == 1:
                new.element = next(iter(new.types))
        return [self._new[id(old)] for old in self.code.memories if id(old) in self._new]


@dataclass(slots=True)
class _Direct(Rewriter):
    """A body, written anew."""

    accesses: _Accesses = field(kw_only=True)
    memories: _Memories = field(kw_only=True)

    def node(self, one: ShaderNode) -> None:
        """Write a node; of an access perhaps as another type."""
        if one.op == "bitcast" and one.result is not None:
            source = self.value(one.operands[0])
            if source.type == one.result.type:
                self.names[one.result.text] = source
                return
        if not one.details or not isinstance(one.details[0], ShaderMemory):
            Rewriter.node(self, one)
            return
        type, operands, result = str(one.details[1]), tuple(map(self.value, one.operands)), one.result
        if self.accesses.turns(one):
            type = _PAIRS[type]
            if result is not None:
                result = self.names[result.text] = Val(result.text, type)
            else:
                cast = self.accesses.bits_of[one.operands[0].text]
                value = self.value(cast.operands[0])
                if value.type != type:
                    # It comes from a load that is of the other type now, too.
                    value = self.write("bitcast", (value,), self.fresh(type), one.span)
                operands = (value, *operands[1:])
        memory = self.memories.seen(one, type)
        self.out.append(replace(one, operands=operands, result=result, details=(memory, type, *one.details[2:])))
