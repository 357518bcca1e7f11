"""What is asked of values before a shader is written: where they are used, and which arithmetic stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.nodes import (
    BranchStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderNode,
    blocks_of,
)

_ARITHMETIC = frozenset({"fadd", "fsub", "fmul"})
_OF_MATRICES = frozenset({"matrix_binary", "matrix_scale"})
_UNSIGNED = frozenset({"udiv", "urem", "ult", "ule", "ugt", "uge", "umin", "umax", "zext", "uitofp"})
_MOVES = frozenset({"select", "fneg", "fabs", "fmax", "fmin", "fpext", "fptrunc"})
"""What gives on one of its operands, changed so little that a compiler may still combine what made it."""


class Uses:
    """The uses of the values of a block and all in it.

    `once` has the values that one statement uses, which stands in the same block as what gives them. `combined` has
    the results of exact sums and products of which an operand is one itself: to compute them otherwise would change
    their value, so that they end in a variable that is `precise`. `precise` has these and what only moves them.
    `clipped` are the tensor views that leave out some elements of a matrix.
    """

    def __init__(self, body: ShaderBlock, result: Val | None = None) -> None:
        """Count the uses in the body of the shader, or of a routine that returns `result`."""
        self._counted: Counter[str] = Counter()
        self._places: dict[str, ShaderBlock] = {}
        self._makers: dict[str, ShaderBlock] = {}
        self._flows: list[tuple[str, tuple[Val, ...]]] = []
        self._arithmetic: dict[str, ShaderNode] = {}
        self._fused: set[str] = set()
        self.clipped: set[str] = set()
        self._unsigned: Counter[str] = Counter()
        self._block(body)
        if result is not None:
            self._used(body, result)
        self.once = frozenset(
            name for name, count in self._counted.items() if count == 1 and self._places[name] is self._makers.get(name)
        )
        sums = self._reached({*self._arithmetic, *self._fused})
        self.combined = frozenset(
            name
            for name, node in self._arithmetic.items()
            if node.exact and any(operand.text in sums for operand in node.operands)
        )
        self.precise = frozenset(self._reached(set(self.combined)))

    def count(self, value: Val) -> int:
        """How many times a value is used."""
        return self._counted[value.text]

    def needed(self, node: ShaderNode) -> tuple[Val, ...]:
        """The operands that a node makes use of.

        A load through a layout keeps nothing of the matrix that it is given, unless a view leaves elements out.
        """
        if node.op != "matrix_load_tensor" or (len(node.operands) > 3 and node.operands[3].text in self.clipped):
            return node.operands
        return node.operands[1:]

    def is_unsigned(self, value: Val) -> bool:
        """Whether most of what uses a value takes it as a number without a sign."""
        return 2 * self._unsigned[value.text] > self._counted[value.text]

    def _used(self, block: ShaderBlock, *values: Val) -> None:
        for value in values:
            self._counted[value.text] += 1
            self._places[value.text] = block

    def _block(self, block: ShaderBlock) -> None:
        for one in block.statements:
            match one:
                case ShaderNode():
                    self._used(block, *self.needed(one))
                    self._unsigned.update(operand.text for operand in _without_sign(one))
                    self._node(block, one)
                case BranchStatement():
                    self._used(block, one.condition)
                    for value, yes, no in one.results:
                        self._used(one.then, yes)
                        self._used(one.otherwise, no)
                        self._makers[value.text] = block
                        self._flows.append((value.text, (yes, no)))
                case LoopStatement():
                    self._used(block, one.start, one.stop, one.step)
                    self._carried(block, one)
                case RepeatStatement():
                    self._used(one.head, one.condition)
                    self._carried(block, one)
                case _:
                    pass
            for inner in blocks_of(one):
                self._block(inner)

    def _node(self, block: ShaderBlock, node: ShaderNode) -> None:
        if node.result is None:
            return
        self._makers[node.result.text] = block
        if node.op == "view_set_clip" or (node.op.startswith("view_set") and node.operands[0].text in self.clipped):
            self.clipped.add(node.result.text)
        if (node.details[0] if node.op in _OF_MATRICES else node.op) in _ARITHMETIC:
            self._arithmetic[node.result.text] = node
        elif node.op == "fma":
            self._fused.add(node.result.text)
        elif node.op in _MOVES:
            self._flows.append((node.result.text, node.operands))

    def _carried(self, block: ShaderBlock, loop: LoopStatement | RepeatStatement) -> None:
        for one in loop.carried:
            self._used(block, one.initial)
            self._used(loop.body, one.following)
            self._flows.append((one.value.text, (one.initial, one.following)))

    def _reached(self, names: set[str]) -> set[str]:
        """Names with those of all values that the named ones are moved to."""
        growing = True
        while growing:
            growing = False
            for target, sources in self._flows:
                if target not in names and any(source.text in names for source in sources):
                    names.add(target)
                    growing = True
        return names


def _without_sign(node: ShaderNode) -> tuple[Val, ...]:
    """The operands that a node takes as numbers without a sign."""
    if node.op in ("shuffle", "broadcast"):
        return node.operands[1:]
    return node.operands[:1] if node.op == "lshr" else node.operands if node.op in _UNSIGNED else ()


def nodes_of(block: ShaderBlock) -> Iterator[ShaderNode]:
    """All instructions of a block and of those in it, in order."""
    for one in block.walk():
        if isinstance(one, ShaderNode):
            yield one
