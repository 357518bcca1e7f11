"""Functions and modules in canonical form."""

from __future__ import annotations

from dataclasses import replace

from girih.canonical.fold import folded
from girih.canonical.form import Block, Floating, Item, defined, floats, key_of, mapped, of_spmd
from girih.canonical.live import without_dead
from girih.canonical.place import placed
from girih.canonical.spelling import spelled
from girih.ir.core import Function, Module, Op, Region, Value
from girih.ir.surroundings import Constant as Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Constant
from girih.ops.tile.control import If
from girih.recursion import recursion_room


def canonical_module(module: Module) -> Module:
    """The module with each function in canonical form.

    Raises `ValueError` for a function in another language than the tensor language.
    """
    return Module(tuple(map(canonical_function, module.functions)))


def canonical_function(function: Function) -> Function:
    """The function in canonical form; its parameters and attributes stay as they are.

    Raises `ValueError` for a function in another language than the tensor language.
    """
    if function.language is not TILE_LANGUAGE:
        raise ValueError(f"@{function.name} is in the {function.language.name} language; only programs in the tensor "
                         "language have a canonical form")  # fmt: skip
    with recursion_room():
        reader = _FunctionReader(function)
        body = reader.block(function.body, None)
        nodes = without_dead(body, reader.floating)
        return replace(function, body=placed(body, nodes, reader.floating))


class _FunctionReader:
    """Reads a function, instruction by instruction; `values` has what stands for each value that is defined so far."""

    def __init__(self, function: Function) -> None:
        self.values: dict[Value, Value] = {p.value: p.value for p in function.parameters}
        self.floating: dict[Value, Floating] = {}
        self.known: dict[Value, Number] = {}
        self._merged: dict[tuple[object, ...], Floating] = {}

    def block(self, region: Region, owner: Item | None) -> Block:
        """A region with those of its instructions that have a place."""
        block = Block(region.kind, owner, region.span)
        self._read(region, block)
        return block

    def _read(self, region: Region, block: Block) -> None:
        for op in region.ops:
            if isinstance(op, If) and (chosen := self.known.get(self.values[op.condition])) is not None:
                self._branch(op, op.then if chosen else op.otherwise, block)
            elif op.spec.terminator and not tuple(op.operands):
                continue
            elif floats(op):
                self._compute(op, block)
            else:
                self._stand(op, block)

    def _branch(self, op: If, region: Region | None, block: Block) -> None:
        """Read the branch that is always taken in place of the whole."""
        if region is None:
            return
        self._read(region, block)
        if op.results:
            end = block.items.pop().op
            self.values.update(zip(op.results, end.operands, strict=True))

    def _stand(self, op: Op, block: Block) -> None:
        """Read an instruction that has a place."""
        operands = spelled(op, mapped(op, self.values), self.known)
        item = Item(op, block)
        bindings = defined(op, op.spec.bindings, self.values)
        item.op = replace(op, **operands, **bindings)
        for role in op.spec.regions:
            region = getattr(op, role.name)
            if region is not None:
                item.blocks[role.name] = self.block(region, item)
        item.op = replace(item.op, **defined(op, op.spec.results, self.values))
        block.items.append(item)

    def _compute(self, op: Op, block: Block) -> None:
        """Read an instruction that only computes: as the one that computed the same, or what it is known to be."""
        moved = replace(op, **spelled(op, mapped(op, self.values), self.known))
        known = folded(moved, self.known)
        if isinstance(known, Value):
            self.values[op.results[0]] = known
            return
        if known is not None:
            moved = Constant(value=known, result=moved.results[0], span=op.span)
        constant = moved.spec.constant is not None
        home = None if constant else block.tangled
        key = (key_of(moved), home, block.shared_out if of_spmd(moved) else None)
        node = self._merged.get(key)
        if node is None:
            fresh: dict[Value, Value] = {}
            node = Floating(replace(moved, **defined(moved, moved.spec.results, fresh)), home)
            self._merged[key] = node
            self.floating.update((result, node) for result in node.op.results)
            if isinstance(node.op, Constant):
                self.known[node.op.result] = node.op.value
        self.values.update(zip(op.results, node.op.results, strict=True))
