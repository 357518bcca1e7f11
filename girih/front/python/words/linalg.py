"""Collective linear algebra on memory (`girih.ops.tile.linalg`).

The user's arrays may lie in memory in any order; where the modes of a matrix are its axes in reverse, the memref is
its transpose. What the instruction must transpose follows from that, so that no word does.
"""

from __future__ import annotations

from typing import Any

from girih.diagnostics import Diagnostic
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import PythonFault, fault
from girih.front.python.emission import described
from girih.front.python.operands import Memory, Operand
from girih.front.python.words.support import NOTHING, flag, integer, number, number_of, uses
from girih.front.python.words.table import lowers
from girih.ir.types import MemRef, Number, Type, promote
from girih.source import Span

SWAPPED = (1, 0)


def _memory(call: Call, parameter: str, *ranks: int) -> Memory:
    """The memory that a parameter has, of one of some ranks; without any, of whatever rank."""
    memory = call.translator.memory(call[parameter], call.span_of(parameter))
    _of_rank(call, parameter, memory, ranks, call.span_of(parameter))
    return memory


_RANKS = {0: "an array without axes", 1: "a vector", 2: "a matrix"}


def _of_rank(call: Call, parameter: str, memory: Memory, ranks: tuple[int, ...], span: Span) -> None:
    if ranks and memory.rank not in ranks:
        wanted = " or ".join(_RANKS[rank] for rank in ranks)
        hint = "take a view with fewer axes: X[k, :]"
        if memory.rank < max(ranks):
            hint = "gl.expand(x, 0, (x.shape[0], 1)) is a view with one column; gl.gemv takes a matrix and a vector"
        raise fault("types", f"`{parameter}` of `gl.{call.name}` is {wanted}, found {described(memory)}", span, hint)


Side = tuple[str, Memory, int]
"""A parameter, its memory, and an axis of it."""


def _fit(call: Call, *pairs: tuple[Side, Side]) -> None:
    """Refuse arrays whose sizes differ, or of which one is constant and the other known at run time only."""
    for (first, a, i), (second, b, j) in pairs:
        size, other = a.sizes[i], b.sizes[j]
        if size == other:
            continue
        hint = None
        if size is None or other is None:
            hint = "slice both to constant lengths, such as X[0:32, :], or neither"
        message = f"{_has(first, a, i)}, {_has(second, b, j)}, and they are to be as many"
        labels = tuple((call.span_of(name), "") for name in (first, second))
        raise PythonFault(Diagnostic("python.types", message, call.span_of(second), labels=labels, hint=hint))


def _has(parameter: str, memory: Memory, axis: int) -> str:
    what = (
        "elements"
        if memory.rank == 1
        else ("rows", "columns")[axis]
        if memory.rank == 2
        else f"elements on axis {axis}"
    )
    size = memory.sizes[axis]
    if size is None:
        return f"the number of {what} of `{parameter}` is known at run time only"
    return f"`{parameter}` has {size} {what}"


def _alike(call: Call, first: str, a: Memory, second: str, b: Memory) -> None:
    """Refuse arrays of different shapes."""
    if a.rank != b.rank:
        message = f"`{first}` has {a.rank} axes, `{second}` has {b.rank}"
        raise fault("types", message, call.span_of(second), "they have one shape")
    _fit(call, *(((first, a, axis), (second, b, axis)) for axis in range(a.rank)))


def element_of(memory: Memory) -> Number:
    """The element type of memory."""
    type = memory.value.type
    assert isinstance(type, MemRef)
    return type.element


def _scale(call: Call, parameter: str, *memories: Memory) -> Any:
    """A factor; a literal takes the type to which the elements of all memories promote."""
    type: Type = element_of(memories[0])
    for memory in memories[1:]:
        both = promote(element_of(memories[0]), element_of(memory))
        type = both if both is not None else type
    return number(call, parameter, type)


def _add(call: Call, fields: dict[str, str], **values: Any) -> Operand:
    """Add the collective instruction; `fields` are the parameters that its operands come from."""
    call.translator.add(call.name, span=call.span, uses=uses(call, **fields), atomic=flag(call, "atomic"), **values)
    return NOTHING


def _same_order(call: Call, *parameters: str) -> list[Memory]:
    """Memories whose axes lie in one order, which an instruction that goes through them together needs."""
    memories = [_memory(call, parameter) for parameter in parameters]
    for memory, parameter in zip(memories[1:], parameters[1:], strict=True):
        _alike(call, parameters[0], memories[0], parameter, memory)
    for memory, parameter in zip(memories[1:], parameters[1:], strict=True):
        if memory.axes != memories[0].axes:
            message = f"`{parameters[0]}` and `{parameter}` lie in memory in different orders"
            hint = f"pass arrays of one order to `gl.{call.name}`, or compute it with `gl.foreach`"
            raise fault("order", message, call.span_of(parameter), hint)
    return memories


@lowers("gemm")
def gemm(call: Call) -> Operand:
    """c := alpha a b + beta c; where c lies transposed, its transpose is the product of the transposes."""
    a, b, c = (_memory(call, parameter, 2) for parameter in "abc")
    _fit(call, (("a", a, 1), ("b", b, 0)), (("a", a, 0), ("c", c, 0)), (("b", b, 1), ("c", c, 1)))
    alpha, beta = _scale(call, "alpha", a, b), _scale(call, "beta", c)
    turned_a, turned_b = a.axes == SWAPPED, b.axes == SWAPPED
    if c.axes == SWAPPED:
        fields = {"alpha": "alpha", "a": "b", "b": "a", "beta": "beta", "c": "c"}
        return _add(call, fields, transpose_a=not turned_b, transpose_b=not turned_a, alpha=alpha, a=b.value,
                    b=a.value, beta=beta, c=c.value)  # fmt: skip
    fields = {name: name for name in ("alpha", "a", "b", "beta", "c")}
    return _add(call, fields, transpose_a=turned_a, transpose_b=turned_b, alpha=alpha, a=a.value, b=b.value, beta=beta,
                c=c.value)  # fmt: skip


@lowers("gemv")
def gemv(call: Call) -> Operand:
    """c := alpha a b + beta c, of a matrix a and vectors."""
    a, b, c = _memory(call, "a", 2), _memory(call, "b", 1), _memory(call, "c", 1)
    _fit(call, (("a", a, 1), ("b", b, 0)), (("a", a, 0), ("c", c, 0)))
    fields = {name: name for name in ("alpha", "a", "b", "beta", "c")}
    return _add(call, fields, transpose=a.axes == SWAPPED, alpha=_scale(call, "alpha", a, b), a=a.value, b=b.value,
                beta=_scale(call, "beta", c), c=c.value)  # fmt: skip


@lowers("ger")
def ger(call: Call) -> Operand:
    """c := alpha a b^T + beta c, of vectors a and b; where c lies transposed, a and b change places."""
    a, b, c = _memory(call, "a", 1), _memory(call, "b", 1), _memory(call, "c", 2)
    _fit(call, (("a", a, 0), ("c", c, 0)), (("b", b, 0), ("c", c, 1)))
    alpha, beta = _scale(call, "alpha", a, b), _scale(call, "beta", c)
    first, second = ("b", "a") if c.axes == SWAPPED else ("a", "b")
    fields = {"alpha": "alpha", "a": first, "b": second, "beta": "beta", "c": "c"}
    if c.axes == SWAPPED:
        a, b = b, a
    return _add(call, fields, alpha=alpha, a=a.value, b=b.value, beta=beta, c=c.value)


@lowers("hadamard")
def hadamard(call: Call) -> Operand:
    """c := alpha a * b + beta c, entry by entry."""
    a, b, c = _same_order(call, "a", "b", "c")
    fields = {name: name for name in ("alpha", "a", "b", "beta", "c")}
    return _add(call, fields, alpha=_scale(call, "alpha", a, b), a=a.value, b=b.value, beta=_scale(call, "beta", c),
                c=c.value)  # fmt: skip


@lowers("axpby")
def axpby(call: Call) -> Operand:
    """b := alpha a + beta b; the instruction transposes where the two lie in different orders."""
    a, b = _memory(call, "a", 0, 1, 2), _memory(call, "b", 0, 1, 2)
    _alike(call, "a", a, "b", b)
    fields = {name: name for name in ("alpha", "a", "beta", "b")}
    return _add(call, fields, transpose=len(a.axes) == 2 and a.axes != b.axes, alpha=_scale(call, "alpha", a),
                a=a.value, beta=_scale(call, "beta", b), b=b.value)  # fmt: skip


@lowers("cumsum")
def cumsum(call: Call) -> Operand:
    """b := alpha (cumulative sum of a along an axis) + beta b."""
    a, b = _same_order(call, "a", "b")
    axis = integer(call, "axis")
    if axis not in a.axes:
        message = f"`a` has {len(a.axes)} axes, counted from 0; `axis` is {axis}"
        raise fault("arguments", message, call.span_of("axis"))
    fields = {"alpha": "alpha", "a": "a", "mode": "axis", "beta": "beta", "b": "b"}
    return _add(call, fields, alpha=_scale(call, "alpha", a), a=a.value, mode=a.axes.index(axis),
                beta=_scale(call, "beta", b), b=b.value)  # fmt: skip


def sum_of_memory(call: Call, *operands: Operand) -> Operand:
    """b := alpha (sums of the rows of a) + beta b; the operands are alpha, a, beta and b."""
    t, span = call.translator, call.span_of("operands")
    alpha, a, beta, b = operands
    source, target = t.memory(a, span), t.memory(b, span)
    _of_rank(call, "a", source, (1, 2), span)
    _of_rank(call, "b", target, (source.rank - 1,), span)
    if source.rank == 2:
        _fit(call, (("a", source, 0), ("b", target, 0)))
    t.add("sum", span=call.span, atomic=flag(call, "atomic"), transpose=source.axes == SWAPPED,
          alpha=number_of(t, alpha, span, element_of(source)), a=source.value,
          beta=number_of(t, beta, span, element_of(target)), b=target.value)  # fmt: skip
    return NOTHING
