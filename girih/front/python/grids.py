"""The grid of a kernel: from a lambda of its parameters to expressions of sizes and integers."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

from girih.front.python.codes import PythonFault, fault
from girih.front.python.conversions import literal_of
from girih.front.python.operands import Known, Memory, Operand, Runtime
from girih.front.python.reading import FunctionSource
from girih.front.python.scopes import outside_name
from girih.ir.grid import GridExpression, GridNumber, GridOperation, GridScalar, GridSize
from girih.ir.types import GroupType, Number
from girih.language.words import WORD
from girih.source import Span

_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "floor"}

HINT = "a grid is made of X.shape[k], integers, + - * //, min, max and gl.cdiv"


class Grid:
    """The reader of the expressions of a grid; `operands` are the kernel's parameters."""

    def __init__(self, text: FunctionSource, operands: Mapping[str, Operand]) -> None:
        self.text = text
        given = text.node.args
        self.own = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        self.parameters = operands
        # Other names are looked up around the lambda, as Python does, though the kernel may have a parameter of them.
        self.operands = {name: operands[name] for name in self.own if name in operands}

    def entries(self) -> tuple[GridExpression, ...]:
        """One expression for each axis. Raises `PythonFault`."""
        node = self.text.node
        body: ast.expr | None
        if isinstance(node, ast.Lambda):
            body = node.body
        else:
            first = node.body[1:] if ast.get_docstring(node) is not None else node.body
            body = first[0].value if len(first) == 1 and isinstance(first[0], ast.Return) else None
        if body is None:
            raise fault("grid", "a grid is a lambda, or a function of a single `return`, that gives numbers",
                        self.text.whole, HINT)  # fmt: skip
        if node.args.vararg or node.args.kwarg:
            raise fault("grid", "a grid has parameters of the kernel, by their names", self.text.whole, HINT)
        for name in self.own:
            if name not in self.parameters:
                raise fault("grid", f"the kernel has no parameter `{name}`", self.text.whole,
                            f"its parameters are {', '.join(self.parameters)}")  # fmt: skip
        items = body.elts if isinstance(body, ast.Tuple) else [body]
        if not 1 <= len(items) <= 3:
            raise fault("grid", f"a grid has one to three numbers, found {len(items)}", self.text.span(body),
                        "work-groups lie along x, y and z; numbers that are left out are 1")  # fmt: skip
        return tuple(self.number(item) for item in items)

    def number(self, node: ast.expr) -> GridExpression:
        """An expression of a grid. Raises `PythonFault`."""
        span = self.text.span(node)
        try:
            return self._number(node, span)
        except ValueError as error:
            raise fault("grid", str(error), span) from None

    def _number(self, node: ast.expr, span: Span) -> GridExpression:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return GridNumber(value, span=span)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                a, b = self.number(left), self.number(right)
                return GridOperation(_OPERATORS[type(op)], a, b, span=span)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(operand, span)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=place):
                return self._size(name, place, span)
            case ast.Call(func=func, args=arguments, keywords=[]):
                return self._call(func, arguments, span)
            case ast.Name(id=name):
                return self._named(name, span)
            case ast.Attribute():
                return self._outside(node, span)
            case _:
                raise self._refused(node, span)

    def _refused(self, node: ast.expr, span: Span) -> PythonFault:
        return fault("grid", f"`{ast.unparse(node)}` does not stand in a grid", span, HINT)

    def _negative(self, operand: ast.expr, span: Span) -> GridExpression:
        # -(-a // b) is how Python writes a quotient that is rounded up.
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.FloorDiv):
            left = operand.left
            if isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.USub):
                return GridOperation("ceil", self.number(left.operand), self.number(operand.right), span=span)
        inner = self.number(operand)
        if isinstance(inner, GridNumber):
            return GridNumber(-inner.value, span=span)
        return GridOperation("-", GridNumber(0, span=span), inner, span=span)

    def _size(self, name: str, place: ast.expr, span: Span) -> GridExpression:
        operand = self.operands.get(name)
        axis = self.number(place)
        if not isinstance(operand, Memory) or not isinstance(axis, GridNumber):
            raise self._no_size(name, span)
        if not -operand.rank <= axis.value < operand.rank:
            raise fault("grid", f"`{name}` has {operand.rank} axes, found number {axis.value}", span)
        return GridSize(operand.value, operand.mode(axis.value % operand.rank), span=span)

    def _no_size(self, name: str, span: Span) -> PythonFault:
        """What is wrong with `name.shape[...]` that is no size of an array."""
        if name not in self.operands and name in self.parameters:
            names = ", ".join((*self.own, name))
            return fault("grid", f"`{name}` is no parameter of the grid", span, f"write lambda {names}: ...")
        return fault("grid", f"`{name}` is no array, or the axis is no number", span, HINT)

    def _named(self, name: str, span: Span) -> GridExpression:
        operand = self.operands.get(name)
        if operand is None:
            found = outside_name(self.text, name)
            operand = Known(found[0]) if found else None
        if operand is None and name in self.parameters:
            names = ", ".join((*self.own, name))
            raise fault("grid", f"`{name}` is no parameter of the grid", span, f"write lambda {names}: ...")
        if isinstance(operand, Known):
            value = literal_of(operand.value)
            if isinstance(value, int) and not isinstance(value, bool):
                return GridNumber(value, span=span)
        if isinstance(operand, Runtime) and isinstance(operand.type, Number) and operand.type.family == "integer":
            return GridScalar(operand.value, span=span)
        raise fault("grid", f"`{name}` is no integer", span, HINT)

    def _outside(self, node: ast.Attribute, span: Span) -> GridExpression:
        if isinstance(node.value, ast.Name) and node.value.id not in self.own:
            found = outside_name(self.text, node.value.id)
            value = literal_of(getattr(found[0], node.attr, None)) if found else None
            if isinstance(value, int) and not isinstance(value, bool):
                return GridNumber(value, span=span)
        raise self._refused(node, span)

    def _call(self, func: ast.expr, arguments: list[ast.expr], span: Span) -> GridExpression:
        function = self._function(func)
        if function is builtins.len and len(arguments) == 1 and isinstance(arguments[0], ast.Name):
            operand = self.operands.get(arguments[0].id)
            if isinstance(operand, Runtime) and isinstance(operand.type, GroupType):
                return GridSize(operand.value, span=span)
            return self._size(arguments[0].id, ast.copy_location(ast.Constant(0), func), span)
        numbers = [self.number(a) for a in arguments]
        word = getattr(function, WORD, None)
        if word == "cdiv" and len(numbers) == 2:
            return GridOperation("ceil", numbers[0], numbers[1], span=span)
        if function in (builtins.min, builtins.max) and len(numbers) >= 2:
            found = numbers[0]
            for other in numbers[1:]:
                found = GridOperation("min" if function is builtins.min else "max", found, other, span=span)
            return found
        raise self._refused(func, span)

    def _function(self, node: ast.expr) -> object:
        if isinstance(node, ast.Name):
            found = outside_name(self.text, node.id)
            return found[0] if found else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = outside_name(self.text, node.value.id)
            return getattr(found[0], node.attr, None) if found else None
        return None
