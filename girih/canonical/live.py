"""What a program needs: instructions with effects, and everything that these are computed from."""

from __future__ import annotations

from collections.abc import Mapping

from girih.canonical.form import Block, Floating, Item, walk, without
from girih.ir.core import Op, Value
from girih.ops.tile.control import For, If


def without_dead(body: Block, floating: Mapping[Value, Floating]) -> list[Floating]:
    """Take out what no effect needs, and give back the computations that are left, operands before users."""
    live = _LiveValues(floating)
    live.find(body)
    live.sweep(body)
    return list(dict.fromkeys(node for node in floating.values() if node.op in live.ops))


class _LiveValues:
    """The values and instructions that are needed, found by going from effects to what they use."""

    def __init__(self, floating: Mapping[Value, Floating]) -> None:
        self.floating = floating
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.home: dict[Value, tuple[Item, str, int]] = {}
        """The instruction with a place that defines a value, the field, and its number there."""

    def find(self, body: Block) -> None:
        """Mark everything that is needed."""
        items = list(walk(body))
        for item in items:
            for name in (*item.op.spec.results, *item.op.spec.bindings):
                held = getattr(item.op, name)
                for number, value in enumerate(held if isinstance(held, tuple) else (held,)):
                    if value is not None:
                        self.home[value] = item, name, number
        for item in items:
            if _has_effect(item.op):
                self._need_item(item)

    def _need_item(self, item: Item) -> None:
        """Mark an instruction that is executed, with all around it; of what is carried or chosen only what is used."""
        above: Item | None = item
        while above is not None and above.op not in self.ops:
            self.ops.add(above.op)
            if not isinstance(above.op, For | If):
                self._need(list(above.op.operands))
                self._need([v for block in above.blocks.values() for v in _ends(block)])
            elif isinstance(above.op, For):
                self._need([v for v in (above.op.start, above.op.stop, above.op.step) if v is not None])
            else:
                self._need([above.op.condition])
            above = above.block.owner

    def _need(self, values: list[Value]) -> None:
        stack = values
        while stack:
            value = stack.pop()
            if value in self.values:
                continue
            self.values.add(value)
            node = self.floating.get(value)
            if node is not None:
                self.ops.add(node.op)
                stack += node.op.operands
            elif value in self.home:
                stack += self._behind(*self.home[value])

    def _behind(self, item: Item, name: str, number: int) -> list[Value]:
        """The values that a result or an argument of a region is made of."""
        self._need_item(item)
        carries = isinstance(item.op, For) and name in ("results", "carried")
        if not carries and not (isinstance(item.op, If) and name == "results"):
            return []
        behind = [_ends(block)[number] for block in item.blocks.values()]
        if isinstance(item.op, For):
            behind += [item.op.initial[number], item.op.carried[number], item.op.results[number]]
        return behind

    def sweep(self, block: Block) -> None:
        """Take out what is not marked."""
        kept: list[Item] = []
        for item in block.items:
            if item.op.spec.terminator:
                kept.append(item)
            elif item.op in self.ops:
                self._shorten(item)
                for inner in item.blocks.values():
                    self.sweep(inner)
                kept.append(item)
        block.items = kept

    def _shorten(self, item: Item) -> None:
        """Take out what a loop carries, or a branch chooses, and nobody uses."""
        if not isinstance(item.op, For | If):
            return
        used = [number for number, value in enumerate(item.op.results) if value in self.values]
        if len(used) == len(item.op.results):
            return
        names = ("initial", "carried", "results") if isinstance(item.op, For) else ("results",)
        item.op = without(item.op, dict.fromkeys(names, used))
        for block in item.blocks.values():
            end = block.items[-1]
            if used:
                end.op = without(end.op, {"values": used})
            else:
                block.items.pop()


def _ends(block: Block) -> list[Value]:
    """The values that a region yields."""
    last = block.items[-1].op if block.items else None
    return list(last.operands) if last is not None and last.spec.terminator else []


def _has_effect(op: Op) -> bool:
    """Whether an instruction does more than to compute its results; what stands in its regions does not count."""
    spec = op.spec
    if spec.terminator:
        return False
    return spec.reads or spec.writes or not (spec.results or op.regions)
