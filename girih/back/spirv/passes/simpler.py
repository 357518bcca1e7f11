"""What a node without effects gives, where its operands say so: another value, or a simpler operation.

Rules look at constants, at the nodes that operands come from, and at the intervals of operands where the node stands.
No rule writes code: a `Simpler` says which operation to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from girih.back.llvm.emit.folding import FOLDS, neutral
from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.code.types import is_opaque
from girih.back.spirv.passes import intervals
from girih.back.spirv.passes.intervals import Interval, limits, within
from girih.back.spirv.passes.operations import DIVISIONS, INTEGER_COMPARISONS, is_integer
from girih.lazy_dataclass import dataclass

_INVERSE = {"eq": "ne", "slt": "sge", "sgt": "sle", "ult": "uge", "ugt": "ule"}
_INVERSE |= {second: first for first, second in _INVERSE.items()}
_REFLEXIVE = frozenset({"eq", "sle", "sge", "ule", "uge"})
_ASSOCIATIVE = frozenset({"add", "mul", "and", "or", "xor"})
_SHIFTS_AS_DIVISIONS = frozenset({"ashr", "lshr"})
_MOST_PARTS = 5
"""So deep a sum is looked into for a common factor."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that is to be written."""

    op: str
    operands: tuple[Val, ...]


Simplified = Val | Operation | None
"""A value that there is, an operation to write instead, or None where nothing is simpler."""


@dataclass(slots=True)
class Simpler:
    """The rules. `nodes` are those that values come from, by name; `interval` gives that of a value."""

    interval: Callable[[Val], Interval]
    nodes: dict[str, ShaderNode] = field(default_factory=dict)

    def of(self, op: str, operands: tuple[Val, ...], type: str, known: tuple[Interval, ...]) -> Simplified:
        """What is simpler than an operation; `known` are the intervals of its operands where it stands."""
        if op == "select":
            return self._select(*operands)
        if op in INTEGER_COMPARISONS:
            return self._comparison(op, operands[0], operands[1], known)
        if op in ("trunc", "zext", "sext", "bitcast"):
            return self._conversion(op, operands[0], type)
        if op == "fneg":
            inner = self._source(operands[0], "fneg")
            return inner.operands[0] if inner is not None else None
        if len(operands) != 2 or not is_integer(type):
            return None
        same = _of_two(op, *operands, known)
        if same is not None:
            return same
        if op in DIVISIONS or op in _SHIFTS_AS_DIVISIONS:
            return self._divided(op, *operands, known)
        return self._associated(op, *operands)

    def _source(self, value: Val, *ops: str) -> ShaderNode | None:
        """The node that a value comes from, if it is of some operation."""
        node = self.nodes.get(value.text)
        return node if node is not None and node.op in ops else None

    def _select(self, condition: Val, a: Val, b: Val) -> Simplified:
        if condition.literal is not None:
            return a if condition.literal else b
        if a.text == b.text:
            return a
        inverse = self._inverted(condition)
        if inverse is not None and not is_opaque(a.type):
            return Operation("select", (inverse, b, a))
        if a.type != "i1" or a.literal is None or b.literal is None:
            return None
        return condition if a.literal else Operation("xor", (condition, integer(1, "i1")))

    def _inverted(self, condition: Val) -> Val | None:
        """The condition that another says is not so."""
        node = self._source(condition, "xor")
        return node.operands[0] if node is not None and node.operands[1].literal == 1 else None

    def _comparison(self, op: str, a: Val, b: Val, known: tuple[Interval, ...]) -> Simplified:
        decided = intervals.compared(op, known[0], known[1], a.type)
        if decided[0] == decided[1]:
            return integer(decided[0], "i1")
        y = b.literal
        if a.text == b.text:
            return integer(op in _REFLEXIVE, "i1")
        moved = self._moved(op, a, b)
        if moved is not None:
            return moved
        if y is None or op not in ("eq", "ne"):
            return None
        if a.type == "i1":
            return a if (op == "eq") == bool(y) else Operation("xor", (a, integer(1, "i1")))
        condition = self._source(a, "zext")
        if condition is None or condition.operands[0].type != "i1" or y not in (0, 1):
            return None
        held = condition.operands[0]
        return held if (op == "eq") == bool(y) else Operation("xor", (held, integer(1, "i1")))

    def _moved(self, op: str, a: Val, b: Val) -> Operation | None:
        """The comparison of a sum with a part of it: of the other part with 0, if no higher bits were cut."""
        node = self._source(a, "add")
        if node is None or op[0] == "u" or b.literal is not None or not self._is_exact(node):
            return None
        first, second = node.operands
        if b.text not in (first.text, second.text):
            return None
        return Operation(op, (second if b.text == first.text else first, integer(0, a.type)))

    def _conversion(self, op: str, a: Val, type: str) -> Simplified:
        if a.type == type:
            return a
        if a.literal is not None and op != "bitcast":
            return integer(intervals.converted(op, (a.literal, a.literal), a.type, type)[0], type)
        node = self._source(a, "trunc", "zext", "sext", "bitcast")
        if node is None:
            return None
        source = node.operands[0]
        match op, node.op:
            case ("bitcast", "bitcast") | ("sext", "sext") | ("zext", "zext") | ("trunc", "trunc"):
                return source if source.type == type else Operation(op, (source,))
            case "sext", "zext":
                return Operation("zext", (source,))
            case "trunc", "zext" | "sext":
                if source.type == type:
                    return source
                return Operation("trunc" if bits(source.type) > bits(type) else node.op, (source,))
            case "sext" | "zext", "trunc":
                held = limits(a.type) if op == "sext" else (0, (1 << bits(a.type)) - 1)
                return source if source.type == type and within(self.interval(source), held) else None
            case _:
                return None

    def _associated(self, op: str, a: Val, b: Val) -> Simplified:
        """Two constants of a chain become one; a comparison that is inverted is the opposite one."""
        node = self.nodes.get(a.text)
        if node is None or b.literal is None:
            return None
        if op == "xor" and b.type == "i1":
            opposite = _INVERSE.get(node.op) if node.operands and is_integer(node.operands[0].type) else None
            if opposite is not None:
                return Operation(opposite, node.operands)
        if op in _ASSOCIATIVE and node.op == op and node.operands[1].literal is not None:
            return Operation(op, (node.operands[0], integer(FOLDS[op](node.operands[1].literal, b.literal), a.type)))
        return None

    # --- quotients -----------------------------------------------------------------------

    def _divided(self, op: str, a: Val, b: Val, known: tuple[Interval, ...]) -> Simplified:
        """A quotient or remainder by a constant: none where that is a factor, else bits where it is a power of two."""
        by = b.literal
        if by is None or by <= 0:
            return _unsigned_division(op, a, b, known)
        if op in _SHIFTS_AS_DIVISIONS:
            by = 1 << by if by < bits(a.type) - 1 else 0
        positive = known[0][0] >= 0
        if by > 1 and (positive or op in ("sdiv", "srem", "ashr")) and self._divides(by, a, _MOST_PARTS):
            return integer(0, a.type) if op in ("srem", "urem") else Operation("quotient", (a, integer(by, a.type)))
        if op in _SHIFTS_AS_DIVISIONS or by & by - 1 or not (positive or op[0] == "u"):
            return _unsigned_division(op, a, b, known)
        if op in ("srem", "urem"):
            return Operation("and", (a, integer(by - 1, a.type)))
        return Operation("lshr", (a, integer(by.bit_length() - 1, a.type)))

    def _divides(self, by: int, a: Val, depth: int) -> bool:
        """Whether a number is a multiple of another for certain."""
        if a.literal is not None:
            return a.literal % by == 0
        node = self._source(a, "add", "sub", "mul", "shl")
        if node is None or not depth or not self._is_exact(node):
            return False
        first, second = node.operands
        match node.op:
            case "add" | "sub":
                return self._divides(by, first, depth - 1) and self._divides(by, second, depth - 1)
            case "mul":
                return second.literal is not None and second.literal % by == 0
            case _:
                return second.literal is not None and (1 << second.literal) % by == 0

    def _is_exact(self, node: ShaderNode) -> bool:
        """Whether the result of a node is that of mathematics, as no higher bits are cut."""
        a, b = node.operands
        result = intervals.unbounded(node.op, self.interval(a), self.interval(b), a.type)
        return result is not None and within(result, limits(a.type))

    def factor_out(self, by: int, a: Val, write: Callable[[str, Val, Val], Val]) -> Val:
        """The quotient of a number by one that it is a multiple of; `write` writes operations."""
        if a.literal is not None:
            return integer(a.literal // by, a.type)
        node = self.nodes[a.text]
        first, second = node.operands
        if node.op in ("add", "sub"):
            return write(node.op, self.factor_out(by, first, write), self.factor_out(by, second, write))
        factor = second.literal
        if factor is None:
            raise ValueError(f"{a} is no multiple of {by}")
        whole = factor if node.op == "mul" else 1 << factor
        return write("mul", first, integer(whole // by, a.type))


def _of_two(op: str, a: Val, b: Val, known: tuple[Interval, ...]) -> Val | None:
    """The result of an operation of which one operand decides."""
    x, y = a.literal, b.literal
    if op in FOLDS and x is not None and y is not None:
        return integer(FOLDS[op](x, y), a.type)
    same = neutral(op, a, b, x, y)
    if same is not None:
        return same
    if a.text == b.text:
        if op in ("sub", "xor"):
            return integer(0, a.type)
        return a if op in ("and", "or", "smin", "smax", "umin", "umax") else None
    if y == 0 and op in ("shl", "lshr", "ashr"):
        return a
    if y == 1 and op in ("sdiv", "udiv") and a.type != "i1":
        return a
    return _smaller_or_larger(op, a, b, known)


def _smaller_or_larger(op: str, a: Val, b: Val, known: tuple[Interval, ...]) -> Val | None:
    if op[1:] not in ("min", "max") or (op[0] == "u" and min(known[0][0], known[1][0]) < 0):
        return None
    if known[0][1] <= known[1][0]:
        return a if op[1:] == "min" else b
    return (b if op[1:] == "min" else a) if known[1][1] <= known[0][0] else None


def _unsigned_division(op: str, a: Val, b: Val, known: tuple[Interval, ...]) -> Operation | None:
    """Division without signs, which is less work."""
    if op in ("sdiv", "srem") and known[0][0] >= 0 and known[1][0] >= 0:
        return Operation("u" + op[1:], (a, b))
    return None
