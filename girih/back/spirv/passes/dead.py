"""Dead code: what has no effect, and whose results nobody uses, is left out.

That is nodes, results of branches, values that loops carry, branches and loops over a range in which nothing is left,
routines that nobody calls, and what is stored in memory of the shader's own that is never read. A loop with a condition
stays: whether it ends is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
    ShaderRoutine,
    Statement,
    blocks_of,
)
from girih.back.spirv.passes.operations import has_effects, is_name
from girih.back.spirv.passes.rewriting import Body, bodies, with_bodies
from girih.lazy_dataclass import dataclass

_OWN = (MemoryKind.PRIVATE, MemoryKind.SHARED)


def without_dead_code(code: ShaderCode) -> ShaderCode:
    """The code without what nobody uses."""
    unread = _unread(code)
    kept: list[Body] = []
    for block, _, result in bodies(code):
        live = _Live(unread)
        live.enter(block, None)
        live.settle(() if result is None else (result,))
        kept.append((live.swept(block), result))
    return _without_routines(with_bodies(code, kept))


def _unread(code: ShaderCode) -> set[int]:
    """The memories of the shader's own that nothing reads, by their `id`."""
    own = {id(memory) for memory in code.memories if memory.kind in _OWN}
    if not own:
        return own
    for block, _, _ in bodies(code):
        for one in block.walk():
            if isinstance(one, ShaderNode) and one.op != "store":
                own.difference_update(id(a) for a in one.details if isinstance(a, ShaderMemory))
    return own


def _without_routines(code: ShaderCode) -> ShaderCode:
    """The code without routines that nobody calls; a routine calls only those that were made before it."""
    if not code.routines:
        return code
    called = {id(a) for one in code.body.walk() if isinstance(one, ShaderNode) for a in one.details}
    kept: list[ShaderRoutine] = []
    for routine in reversed(code.routines):
        if id(routine) in called:
            kept.append(routine)
            called |= {id(a) for one in routine.body.walk() if isinstance(one, ShaderNode) for a in one.details}
    return replace(code, routines=kept[::-1])


@dataclass(slots=True)
class _Live:
    """What is used of a body: names of values, and statements by their `id`."""

    unread: set[int]
    names: set[str] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)
    _parents: dict[int, Statement | None] = field(default_factory=dict)
    _sources: dict[str, tuple[Statement, tuple[Val, ...]]] = field(default_factory=dict)
    """Of each value the statement that defines it, and the values that it is one of."""
    _roots: list[Statement] = field(default_factory=list)
    _open: list[Val] = field(default_factory=list)

    def enter(self, block: ShaderBlock, parent: Statement | None) -> None:
        """Read a block: where values come from, and what has effects."""
        for one in block.statements:
            self._parents[id(one)] = parent
            match one:
                case ShaderNode():
                    if one.result is not None:
                        self._sources[one.result.text] = one, ()
                    if has_effects(one) and not (one.op == "store" and id(one.details[0]) in self.unread):
                        self._roots.append(one)
                    continue
                case BranchStatement():
                    self._sources.update((v.text, (one, (a, b))) for v, a, b in one.results)
                case LoopStatement():
                    self._sources[one.index.text] = one, ()
                    self._carry(one, one.carried)
                case RepeatStatement():
                    self._roots.append(one)
                    self._carry(one, one.carried)
                case LeaveStatement():
                    self._roots.append(one)
            for inner in blocks_of(one):
                self.enter(inner, one)

    def _carry(self, one: Statement, carried: list[CarriedValue]) -> None:
        self._sources.update((c.value.text, (one, (c.initial, c.following))) for c in carried)

    def settle(self, results: Iterable[Val]) -> None:
        """Find all that effects and results need."""
        for one in self._roots:
            self._need(one)
        self._open.extend(results)
        while self._open:
            value = self._open.pop()
            if not is_name(value) or value.text in self.names:
                continue
            self.names.add(value.text)
            source = self._sources.get(value.text)
            if source is not None:
                self._need(source[0])
                self._open.extend(source[1])

    def _need(self, one: Statement | None) -> None:
        """Keep a statement, and those around it."""
        while one is not None and id(one) not in self.statements:
            self.statements.add(id(one))
            match one:
                case ShaderNode():
                    self._open.extend(one.operands)
                case BranchStatement() | RepeatStatement():
                    self._open.append(one.condition)
                case LoopStatement():
                    self._open += (one.start, one.stop, one.step)
            one = self._parents[id(one)]

    # --- what is left --------------------------------------------------------------------

    def swept(self, block: ShaderBlock) -> ShaderBlock:
        """A block with what is used of it."""
        return ShaderBlock([self._left(one) for one in block.statements if id(one) in self.statements])

    def _left(self, one: Statement) -> Statement:
        match one:
            case BranchStatement():
                results = [r for r in one.results if r[0].text in self.names]
                return replace(one, then=self.swept(one.then), otherwise=self.swept(one.otherwise), results=results)
            case LoopStatement():
                return replace(one, body=self.swept(one.body), carried=self._used(one.carried))
            case RepeatStatement():
                head, body = self.swept(one.head), self.swept(one.body)
                return replace(one, head=head, body=body, carried=self._used(one.carried))
            case _:
                return one

    def _used(self, carried: list[CarriedValue]) -> list[CarriedValue]:
        return [c for c in carried if c.value.text in self.names]
