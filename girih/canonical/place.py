"""Where computations stand: in the innermost region that is around all of their uses, in front of the first of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from girih.canonical.form import Block, Floating, Item, walk
from girih.ir.core import Op, Region, Value


def placed(body: Block, nodes: Sequence[Floating], floating: Mapping[Value, Floating]) -> Region:
    """The region of a body, with the computations that it needs; these are given operands before users."""
    _choose(body, nodes, floating)
    return _region(body, floating)


def _choose(body: Block, nodes: Sequence[Floating], floating: Mapping[Value, Floating]) -> None:
    """Give each computation its region."""
    for item in walk(body):
        _use(item.op.operands, item.block, floating)
    for node in reversed(nodes):
        assert node.place is not None, "what nobody uses is gone"
        _use(node.op.operands, node.place, floating)


def _use(values: Iterable[Value], block: Block, floating: Mapping[Value, Floating]) -> None:
    """Let computations stand where this use, and those before, can see them."""
    for value in values:
        node = floating.get(value)
        if node is not None:
            seen = _outside(block, node)
            node.place = seen if node.place is None else _common(node.place, seen)


def _outside(block: Block, node: Floating) -> Block:
    """The innermost region around a use, or that of the use, that a computation may move into.

    Regions of instructions that several work-items execute at once see little, so only constants move there.
    """
    if node.op.spec.constant is not None:
        return block
    while (tangled := block.tangled) is not node.home:
        assert tangled is not None, "a region's values are used inside of it"
        block = tangled.block
    return block


def _common(a: Block, b: Block) -> Block:
    """The innermost region around both."""
    while a.depth > b.depth:
        a = _around(a)
    while b.depth > a.depth:
        b = _around(b)
    while a is not b:
        a, b = _around(a), _around(b)
    return a


def _around(block: Block) -> Block:
    assert block.around is not None
    return block.around


def _region(block: Block, floating: Mapping[Value, Floating]) -> Region:
    ops: list[Op] = []
    there: set[Floating] = set()
    for item in block.items:
        op = _finished(item, floating)
        needed = [*op.operands, *(v for region in op.regions for inner in region.walk() for v in inner.operands)]
        for value in needed:
            _demand(value, block, floating, there, ops)
        ops.append(op)
    return Region(block.kind, tuple(ops), block.span)


def _finished(item: Item, floating: Mapping[Value, Floating]) -> Op:
    """The instruction with its regions."""
    if not item.blocks:
        return item.op
    regions: dict[str, Any] = {name: _region(block, floating) for name, block in item.blocks.items()}
    return replace(item.op, **regions)


def _demand(
    value: Value, block: Block, floating: Mapping[Value, Floating], there: set[Floating], ops: list[Op]
) -> None:
    """Write the computation of a value that stands in this region, with what it needs here in front of it."""
    stack = [value]
    while stack:
        node = floating.get(stack[-1])
        if node is None or node.place is not block or node in there:
            stack.pop()
            continue
        open = [v for v in node.op.operands if _missing(v, block, floating, there)]
        if open:
            stack.append(open[0])
            continue
        there.add(node)
        ops.append(node.op)
        stack.pop()


def _missing(value: Value, block: Block, floating: Mapping[Value, Floating], there: set[Floating]) -> bool:
    node = floating.get(value)
    return node is not None and node.place is block and node not in there
