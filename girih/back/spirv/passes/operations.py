"""What passes know of operations: which only compute, which keep to the low bits, which name elements of memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderNode, ShaderRoutine

SIGNED = frozenset({"slt", "sle", "sgt", "sge"})
UNSIGNED = frozenset({"ult", "ule", "ugt", "uge"})
INTEGER_COMPARISONS = frozenset({"eq", "ne"}) | SIGNED | UNSIGNED
"""Comparisons of integers. As sign extension keeps the unsigned order, too, all of them may be made before it."""

OF_FLOATS = frozenset({
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "oeq", "one", "olt", "ole", "ogt", "oge", "une", "uno", "ord",
    "fma", "sqrt", "exp", "exp2", "fabs", "floor", "truncate", "rint", "fmax", "fmin", "fptrunc", "fpext",
})  # fmt: skip
"""Operations without an integer operand; comparisons give a condition."""

_INTEGERS = frozenset({
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "select", "trunc", "zext", "sext", "bitcast",
    "umin", "umax", "smin", "smax", "ctpop", "ctlz", "cttz", "bitreverse", "umulh", "sitofp", "uitofp",
})  # fmt: skip
DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})
"""What must not be computed where it was not asked for, unless the divisor is known."""

_TO_INTEGERS = frozenset({"fptosi", "fptoui"})
_READ_ONLY = frozenset({"member", "built_in"})
TOTAL = OF_FLOATS | _INTEGERS | INTEGER_COMPARISONS | _READ_ONLY
"""Operations whose result depends on the operands alone, and that may be computed where nobody asks for them."""

PURE = TOTAL | DIVISIONS | _TO_INTEGERS
"""Operations whose result depends on the operands alone."""

LOW = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl", "select"})
"""Operations of which the low bits of the result depend on the same bits of the operands alone (of `shl`: on small
amounts, of `select`: on the condition)."""

ELEMENTS: Mapping[str, tuple[int, ...]] = {
    "load": (0,), "store": (1,), "atomic": (0,),
    "matrix_load": (0, 1), "matrix_store": (1, 2), "matrix_load_blocked": (0,), "matrix_store_blocked": (1,),
    "matrix_load_tensor": (1,), "matrix_store_tensor": (1,),
}  # fmt: skip
"""The operands that number elements of memory, or count elements between rows."""

IDLE_EFFECTS = frozenset({"atomic", "call", "barrier", "fence"})
"""What must stay though nobody uses its result."""


@lru_cache(maxsize=1024)
def is_pure(op: str) -> bool:
    """Whether the result depends on the operands and details alone; layouts and views are values, too."""
    return op in PURE or op.startswith(("layout_", "view_"))


def has_effects(node: ShaderNode) -> bool:
    """Whether a node must stay though nobody uses its result. All that gives nothing is there for its effects.

    An operation on a matrix stays that calls a routine with effects for each element.
    """
    return node.result is None or node.op in IDLE_EFFECTS or any(map(_acts, node.details))


def _acts(detail: object) -> bool:
    """Whether a detail is a routine with effects."""
    if not isinstance(detail, ShaderRoutine):
        return False
    return any(isinstance(one, ShaderNode) and has_effects(one) for one in detail.body.walk())


def names_elements(node: ShaderNode) -> bool:
    """Whether the places of a memory access are numbers of elements, and not addresses."""
    return reached(node).kind is not MemoryKind.ADDRESS


def reached(node: ShaderNode) -> ShaderMemory:
    """The memory of an access."""
    memory = node.details[0]
    if not isinstance(memory, ShaderMemory):
        raise TypeError(f"the first detail of `{node.op}` is a ShaderMemory, not {memory!r}")
    return memory


def is_name(value: Val) -> bool:
    """Whether a value is defined somewhere, and no constant."""
    return value.text[0] == "%"


def is_integer(type: str) -> bool:
    """Whether a type is that of an integer or a condition."""
    return type[0] == "i"
