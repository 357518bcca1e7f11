"""Expressions: names, literals, operators, elements and slices, attributes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from enum import Enum

from girih.diagnostics import nearest
from girih.front.python.arithmetic import Arithmetic
from girih.front.python.conversions import default_type, literal_of
from girih.front.python.emission import described
from girih.front.python.operands import Known, LiteralChoice, Many, MatrixProduct, Operand, Runtime
from girih.front.python.reading import FunctionNode
from girih.front.python.refusals import refused_capture, word_for
from girih.front.python.scopes import FunctionScope, LocalFunction
from girih.ir.build import RegionBuilder
from girih.ir.core import Op
from girih.ir.types import BOOL, Boolean, Number, Type
from girih.language.words import WORD
from girih.source import Span

REFUSED_EXPRESSIONS: dict[type[ast.expr], tuple[str, str]] = {
    ast.Dict: ("a dictionary", "use names of their own, or a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.List: ("a list", "use a tuple; memory of the work-group is gl.local(shape, type)"),
    ast.ListComp: ("a comprehension", "write a `for` loop"),
    ast.SetComp: ("a comprehension", "write a `for` loop"),
    ast.DictComp: ("a comprehension", "write a `for` loop"),
    ast.GeneratorExp: ("a generator", "write a `for` loop"),
    ast.Yield: ("`yield`", "kernels store their results: Y[i] = ..."),
    ast.YieldFrom: ("`yield from`", "kernels store their results: Y[i] = ..."),
    ast.Await: ("`await`", "kernels run at once; wait for others with gl.barrier()"),
    ast.JoinedStr: ("a formatted string", "gl.print takes a text, and values behind it"),
    ast.FormattedValue: ("a formatted string", "gl.print takes a text, and values behind it"),
    ast.NamedExpr: ("`:=`", "set the name in a line of its own"),
    ast.Starred: ("`*`", "write the items one by one"),
}
"""The expressions that the language does not have: what they are, and what to write."""


class Expressions(Arithmetic):
    """The translator's part for expressions."""

    scope: FunctionScope

    def expression(self, node: ast.expr) -> Operand:
        """What an expression stands for. Raises `PythonFault`."""
        with self.nested(self.span(node)):
            method: Callable[[ast.expr], Operand] | None = getattr(self, f"_on_{type(node).__name__.lower()}", None)
            if method is None:
                what, instead = REFUSED_EXPRESSIONS.get(type(node), (f"`{type(node).__name__}`", ""))
                self.fail("expression", f"{what} has no meaning in a kernel", self.span(node), instead or None)
            return method(node)

    def number(self, node: ast.expr) -> Operand:
        """What an expression stands for, computed where it is a product or a view."""
        return self.computed(self.expression(node), self.span(node))

    # --- names and literals ----------------------------------------------------------------

    def _on_constant(self, node: ast.Constant) -> Operand:
        if node.value is ... or isinstance(node.value, bytes):
            hint = "write `:` for each axis" if node.value is ... else "bytes are elements of an array of gl.i8"
            self.fail("expression", f"{ast.unparse(node)} has no meaning in a kernel", self.span(node), hint)
        return Known(node.value)

    def _on_name(self, node: ast.Name) -> Operand:
        span = self.span(node)
        found = self.scope.lookup(node.id)
        if found is None:
            close = nearest(node.id, self.scope.known_names())
            word = f"did you mean `{close}`?" if close else word_for(node.id)
            self.fail("name", f"there is no `{node.id}`", span, word or
                      f"set it before, make it a parameter, or set it outside: {node.id} = ...")  # fmt: skip
        found = self.set(found, span)
        if isinstance(found, Known):
            self._capturable(found.value, node.id, span)
        return found

    def _capturable(self, value: object, name: str, span: Span) -> None:
        """Refuse values from outside that have no meaning in a kernel."""
        fine = (
            value is None
            or literal_of(value) is not None
            or isinstance(value, str | type | tuple | Enum | LocalFunction)
            or inspect.ismodule(value)
            or callable(value)
            or hasattr(value, WORD)
            or type(value).__module__ == "typing"
        )
        if not fine:
            message, hint = refused_capture(value, name)
            self.fail("capture", message, span, hint)

    def _on_tuple(self, node: ast.Tuple) -> Operand:
        return Many(tuple(self.expression(item) for item in node.elts), tuple(map(self.span, node.elts)))

    def _on_lambda(self, node: ast.Lambda) -> Operand:
        return self.local_function(node)

    def local_function(self, node: FunctionNode) -> Known:
        """A function that is defined in the kernel; its defaults are those of this place."""
        given = node.args
        positional = [a.arg for a in (*given.posonlyargs, *given.args)]
        listed = dict(zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=False))
        listed |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
        defaults = {name: self.set(self.expression(default), self.span(default)) for name, default in listed.items()}
        return Known(LocalFunction(node, self.scope, defaults))

    # --- operators -------------------------------------------------------------------------

    def _on_binop(self, node: ast.BinOp) -> Operand:
        a, b = self.expression(node.left), self.expression(node.right)
        return self.binary(type(node.op), a, b, (self.span(node.left), self.span(node.right)), self.span(node))

    def _on_unaryop(self, node: ast.UnaryOp) -> Operand:
        return self.unary(type(node.op), self.expression(node.operand), self.span(node.operand), self.span(node))

    def _on_compare(self, node: ast.Compare) -> Operand:
        first = self.expression(node.left)
        return self._compared(node, first, self.span(node.left), 0)

    def _compared(self, node: ast.Compare, left: Operand, at: Span, position: int) -> Operand:
        """The comparison of a chain from a position on; what is behind is computed only where it decides."""
        other = node.comparators[position]
        right, span = self.expression(other), self.span(node)
        last = position + 1 == len(node.ops)
        if isinstance(right, MatrixProduct):
            right = self.computed(right, self.span(other))
        held = self.comparison(type(node.ops[position]), left, right, (at, self.span(other)), span)
        if last:
            return held
        return self._both(held, lambda: self._compared(node, right, self.span(other), position + 1), span)

    def _on_boolop(self, node: ast.BoolOp) -> Operand:
        return self._decided(node, 0)

    def _decided(self, node: ast.BoolOp, position: int) -> Operand:
        """The operands of `and` or `or` from a position on."""
        value = node.values[position]
        held = self.truth(self.expression(value), self.span(value))
        if position + 1 == len(node.values):
            return held
        join = self._both if isinstance(node.op, ast.And) else self._either
        return join(held, lambda: self._decided(node, position + 1), self.span(node))

    def _both(self, held: Operand, follow: Callable[[], Operand], span: Span) -> Operand:
        if isinstance(held, Known):
            return follow() if held.value else held
        return self._joined("and", held, follow, span)

    def _either(self, held: Operand, follow: Callable[[], Operand], span: Span) -> Operand:
        if isinstance(held, Known):
            return held if held.value else follow()
        return self._joined("or", held, follow, span)

    def _joined(self, mnemonic: str, held: Operand, follow: Callable[[], Operand], span: Span) -> Operand:
        """`and` or `or`: what follows is computed in a branch if it reads or writes, else beforehand."""
        assert isinstance(held, Runtime)
        with self.region() as inner:
            right = self.truth(follow(), span)
            if not is_free(inner):
                self.add("yield", span=span, values=(self.value(right, BOOL, span),))
            known = dict(self.constants[-1])
        if isinstance(right, Known):
            return right if right.value is (mnemonic == "or") else held
        if is_free(inner):
            self.builder.ops.extend(inner.ops)
            self.constants[-1].update(known)
            (both,) = self.add(mnemonic, BOOL, span=span, a=held.value, b=self.value(right, BOOL, span))
            return Runtime(both)
        with self.region() as other:
            self.add("yield", span=span, values=(self.constant(mnemonic == "or", BOOL, span),))
        branches = (inner, other) if mnemonic == "and" else (other, inner)
        (chosen,) = self.add("if", BOOL, span=span, condition=held.value, then=branches[0].region(span),
                             otherwise=branches[1].region(span))  # fmt: skip
        return Runtime(chosen)

    def _on_ifexp(self, node: ast.IfExp) -> Operand:
        span = self.span(node)
        held = self.truth(self.expression(node.test), self.span(node.test))
        if isinstance(held, Known):
            return self.expression(node.body if held.value else node.orelse)
        assert isinstance(held, Runtime)
        places = self.span(node.body), self.span(node.orelse)
        with self.region() as then:
            first = self.number(node.body)
            first_known = dict(self.constants[-1])
        with self.region() as otherwise:
            second = self.number(node.orelse)
            second_known = dict(self.constants[-1])
        type = self.common_type(first, second, places, span)
        if type is None:
            return first
        if (
            isinstance(first, Known | LiteralChoice)
            and isinstance(second, Known | LiteralChoice)
            and is_free(then)
            and is_free(otherwise)
            and not isinstance(type, Boolean)
        ):
            self.builder.ops.extend((*then.ops, *otherwise.ops))
            return self.choice(held.value, first, second)
        if isinstance(type, Number | Boolean) and is_free(then) and is_free(otherwise):
            self.builder.ops.extend((*then.ops, *otherwise.ops))
            self.constants[-1].update(first_known)
            self.constants[-1].update(second_known)
            a, b = self.value(first, type, places[0]), self.value(second, type, places[1])
            (chosen,) = self.add("select", type, span=span, condition=held.value, a=a, b=b)
            return Runtime(chosen, self._natural(first, second))
        for builder, operand, at in ((then, first, places[0]), (otherwise, second, places[1])):
            with self.reopened(builder):
                self.add("yield", span=at, values=(self.value(operand, type, at),))
        (chosen,) = self.add("if", type, span=span, condition=held.value, then=then.region(places[0]),
                             otherwise=otherwise.region(places[1]))  # fmt: skip
        return Runtime(chosen)

    def common_type(self, a: Operand, b: Operand, places: tuple[Span, Span], span: Span) -> Type | None:
        """The type that two ways give to one value; None where both are the same literal. Raises `PythonFault`."""
        for operand, at in zip((a, b), places, strict=True):
            if not isinstance(operand, Runtime) and self.open_literal(operand) is None:
                self.fail("two_types", f"what is chosen at run time is a number, a bool or a matrix, found "
                          f"{described(operand)}", at)  # fmt: skip
        if isinstance(a, Runtime) and isinstance(b, Runtime) and a.type != b.type:
            labels = ((places[0], f"here it is {described(a)}"), (places[1], f"here it is {described(b)}"))
            self.fail("two_types", f"both ways give one type, found {described(a)} and {described(b)}", span,
                      "convert one of them", labels)  # fmt: skip
        for operand in (a, b):
            if isinstance(operand, Runtime):
                return operand.type
        first, second = self.open_literal(a), self.open_literal(b)
        assert first is not None and second is not None
        if isinstance(a, Known) and isinstance(b, Known) and same_literal(first, second):
            return None
        if isinstance(first, bool) is not isinstance(second, bool):
            self.fail("two_types", f"both ways give one type, found {described(a)} and {described(b)}", span)
        return default_type(second if isinstance(first, int) and not isinstance(second, int) else first)

    def reopened(self, builder: RegionBuilder) -> _Reopened:
        """The region of a builder, open again, to end it."""
        return _Reopened(self, builder)


class _Reopened:
    """A region that is open again while its `yield` is added."""

    def __init__(self, owner: Expressions, builder: RegionBuilder) -> None:
        self.owner, self.builder = owner, builder

    def __enter__(self) -> None:
        self.outer, self.known = self.owner.builder, self.owner.constants
        self.owner.builder, self.owner.constants = self.builder, [*self.known, {}]

    def __exit__(self, *_: object) -> None:
        self.owner.builder, self.owner.constants = self.outer, self.known


def same_literal(a: object, b: object) -> bool:
    """Whether two literals are one: 1 is not 1.0, and 0.0 is not -0.0."""
    return type(a) is type(b) and repr(a) == repr(b)


def is_free(builder: RegionBuilder) -> bool:
    """Whether the instructions of a region may be executed for nothing: none reads, writes, waits or can fail."""
    return all(
        not op.spec.reads
        and not op.spec.writes
        and not op.regions
        and not op.spec.tangled
        and not (op.spec.mnemonic in ("div", "rem") and _is_integer(op))
        and op.spec.mnemonic not in ("alloca", "lifetime_stop")
        and not op.spec.terminator
        for op in builder.ops
    )


def _is_integer(op: Op) -> bool:
    return any(isinstance(v.type, Number) and v.type.family == "integer" for v in op.results)
