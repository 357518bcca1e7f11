"""Shader code as new shader code: the old one stays as it is, statements that do not change are in both.

A `Rewriter` copies the statements of a body; passes say what becomes of nodes, branches and loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderMember,
    ShaderNode,
    ShaderRoutine,
    Statement,
)
from girih.lazy_dataclass import dataclass
from girih.source import Span

Body = tuple[ShaderBlock, Val | None]
"""The statements of a routine and its result; of the shader itself, which gives nothing, with None."""


def bodies(code: ShaderCode) -> Iterator[tuple[ShaderBlock, list[Val], Val | None]]:
    """The bodies of the routines in order, then the shader's own: statements, parameters, result."""
    for one in code.routines:
        yield one.body, one.parameters, one.result
    yield code.body, [], None


def with_bodies(code: ShaderCode, changed: list[Body], members: list[ShaderMember] | None = None) -> ShaderCode:
    """The code with other bodies, in the order of `bodies`; nodes refer to the new routines."""
    routines = {
        id(old): ShaderRoutine(old.name, old.parameters, block, result)
        for old, (block, result) in zip(code.routines, changed[:-1], strict=True)
    }
    body = changed[-1][0]
    if routines:
        for one in routines.values():
            one.body = _referring(one.body, routines)
        body = _referring(body, routines)
    return replace(
        code, routines=list(routines.values()), body=body, members=code.members if members is None else members
    )


def _referring(block: ShaderBlock, routines: dict[int, ShaderRoutine]) -> ShaderBlock:
    """A block whose nodes name the new routines."""

    def detail(one: object) -> object:
        return routines.get(id(one), one)

    return with_details(block, lambda node: tuple(map(detail, node.details)))


def with_details(block: ShaderBlock, details: Callable[[ShaderNode], tuple[object, ...]]) -> ShaderBlock:
    """A block whose nodes have other details; nodes without details stay."""
    rewriter = _Detailing(details=details)
    return rewriter.block(block)


def with_operands(one: ShaderNode, operands: tuple[Val, ...], result: Val | None) -> ShaderNode:
    """A node with other operands and another result."""
    return ShaderNode(one.op, operands, result, one.details, one.span, one.exact)


def defined(one: Statement) -> Iterator[Val]:
    """The values that a statement itself defines, without those in its blocks."""
    match one:
        case ShaderNode():
            if one.result is not None:
                yield one.result
        case BranchStatement():
            yield from (value for value, _, _ in one.results)
        case LoopStatement():
            yield one.index
            yield from (c.value for c in one.carried)
        case RepeatStatement():
            yield from (c.value for c in one.carried)


def first_free_of(code: ShaderCode) -> int:
    """A number from which on no value of the whole shader has a name such as `%v12`."""
    return max(first_free(block, parameters) for block, parameters, _ in bodies(code))


def first_free(block: ShaderBlock, parameters: list[Val]) -> int:
    """A number from which on no value has a name such as `%v12`."""
    highest = -1
    names = [p.text for p in parameters]
    for one in block.walk():
        if isinstance(one, ShaderNode):
            if one.result is not None:
                names.append(one.result.text)
        else:
            names.extend(v.text for v in defined(one))
    for name in names:
        if name[:2] == "%v" and name[2:].isdigit():
            highest = max(highest, int(name[2:]))
    return highest + 1


@dataclass(slots=True)
class Rewriter:
    """The statements of a body, written anew. `names` has what stands for old values that have no code any more."""

    free: int = 0
    names: dict[str, Val] = field(default_factory=dict)
    out: list[Statement] = field(default_factory=list)

    def value(self, a: Val) -> Val:
        """What stands for an old value."""
        return self.names.get(a.text, a) if a.text[0] == "%" else a

    def fresh(self, type: str) -> Val:
        """A new value, not defined yet."""
        self.free += 1
        return Val(f"%v{self.free - 1}", type)

    def write(self, op: str, operands: tuple[Val, ...], result: Val, span: Span, exact: bool = True) -> Val:
        """Write a node without details; its result."""
        self.out.append(ShaderNode(op, operands, result, (), span, exact))
        return result

    def block(self, one: ShaderBlock) -> ShaderBlock:
        """A block, written anew."""
        outer, self.out = self.out, []
        self.statements(one)
        inner, self.out = self.out, outer
        return ShaderBlock(inner)

    def statements(self, one: ShaderBlock) -> None:
        """Write the statements of a block where the rewriter is."""
        for statement in one.statements:
            match statement:
                case ShaderNode():
                    self.node(statement)
                case BranchStatement():
                    self.branch(statement)
                case LoopStatement():
                    self.loop(statement)
                case RepeatStatement():
                    self.repeat(statement)
                case LeaveStatement():
                    self.out.append(statement)

    def node(self, one: ShaderNode) -> None:
        """Write a node with what stands for its operands."""
        operands = tuple(map(self.value, one.operands))
        self.out.append(one if operands == one.operands else with_operands(one, operands, one.result))

    def branch(self, one: BranchStatement) -> None:
        """Write a branch."""
        condition = self.value(one.condition)
        then, otherwise = self.block(one.then), self.block(one.otherwise)
        results = [(v, self.value(a), self.value(b)) for v, a, b in one.results]
        self.out.append(BranchStatement(condition, then, otherwise, results, one.span))

    def loop(self, one: LoopStatement) -> None:
        """Write a loop."""
        start, stop, step = self.value(one.start), self.value(one.stop), self.value(one.step)
        initial = [self.value(c.initial) for c in one.carried]
        body = self.block(one.body)
        carried = self.carried(one.carried, initial)
        self.out.append(LoopStatement(one.index, start, stop, step, carried, body, one.wraps, one.span))

    def repeat(self, one: RepeatStatement) -> None:
        """Write a loop with a condition."""
        initial = [self.value(c.initial) for c in one.carried]
        head = self.block(one.head)
        condition = self.value(one.condition)
        body = self.block(one.body)
        self.out.append(RepeatStatement(self.carried(one.carried, initial), head, condition, body, one.span))

    def carried(self, old: list[CarriedValue], initial: list[Val]) -> list[CarriedValue]:
        """What a loop carries, behind its body."""
        return [CarriedValue(c.value, i, self.value(c.following)) for c, i in zip(old, initial, strict=True)]


@dataclass(slots=True)
class _Detailing(Rewriter):
    details: Callable[[ShaderNode], tuple[object, ...]] = field(kw_only=True)

    def node(self, one: ShaderNode) -> None:
        changed = self.details(one) if one.details else ()
        self.out.append(one if changed == one.details else replace(one, details=changed))
