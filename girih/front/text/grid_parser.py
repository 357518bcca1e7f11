"""The parser of the `grid` attribute: `grid=[ceil(size(%C, 0), 32), %n + 1]`, expressions of a launch's arguments."""

from __future__ import annotations

from typing import NoReturn

from girih.diagnostics import nearest
from girih.front.text.cursor import kind_of
from girih.front.text.lexer import DEFINITION, FLOAT, INTEGER, LOCAL, WORD
from girih.front.text.type_parser import TypeParser
from girih.ir.core import Value
from girih.ir.grid import FUNCTIONS, GridExpression, GridNumber, GridOperation, GridScalar, GridSize, depth_of
from girih.recursion import NESTING_LIMIT
from girih.source import Span

GRID_WORDS = (*FUNCTIONS, "size")
"""The words that a parenthesis follows."""

_ELSEWHERE = {
    "/": "`floor(a, b)` divides and rounds down, `ceil(a, b)` up",
    "cdiv": "write `ceil(a, b)`, which divides and rounds up",
    "ceil_div": "write `ceil(a, b)`, which divides and rounds up",
    "ceildiv": "write `ceil(a, b)`, which divides and rounds up",
    "div": "write `floor(a, b)`, or `ceil(a, b)` to round up",
    "shape": "write `size(%A, 0)` for the size of the first mode of %A",
    "len": "write `size(%G)` for the number of memrefs of a group, `size(%A, 0)` for the size of a mode",
}
"""What other languages write, and what this one does."""

_OPERAND = "an integer, a parameter such as `%n`, `size(%A, 0)`, or one of ceil, floor, min, max"


class GridParser(TypeParser):
    """The parser's part for the number of work-groups of a launch."""

    def parameter_value(self, name: Span) -> Value:
        """The value of a parameter of a function. Raises `SyntaxFault` where no function is being read."""
        self.fail("name.undefined", f"{name.text} is not defined: there are no parameters here", name)

    def grid(self, depth: int = 0) -> tuple[GridExpression, ...]:
        """The list of a `grid` attribute, also from a definition that holds integers. Raises `SyntaxFault`."""
        lexer = self.lexer
        if lexer.kind == DEFINITION:
            return self._defined_grid()
        self.expect("[", "a grid is a list of one to three expressions: grid=[size(%A, 0)]")
        entries: list[GridExpression] = []
        if not self.at("]"):
            entries.append(self._grid_sum(depth))
            while self.accept(","):
                entries.append(self._grid_sum(depth))
        if not self.at("]"):
            self._no_operator("`,`, `]`, `+`, `-` or `*`")
        self.expect("]")
        return tuple(entries)

    def _defined_grid(self) -> tuple[GridExpression, ...]:
        span = self.lexer.span
        value = self.definition().value
        if not isinstance(value, tuple) or not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            held = kind_of(value)
            self.fail("definition.kind", f"expected an array of integers, `{span.text}` holds {held}", span)
        return tuple(GridNumber(v, span=span) for v in value if isinstance(v, int))

    def _no_operator(self, what: str) -> NoReturn:
        self.expected(what, _ELSEWHERE.get(self.lexer.text))

    def _grid_sum(self, depth: int) -> GridExpression:
        """An expression; `depth` counts the brackets around it."""
        lexer = self.lexer
        start = lexer.start
        left = self._grid_product(depth)
        while (sign := self._grid_sign()) is not None:
            left = self._grid_operation(sign, left, self._grid_product(depth), start)
        return left

    def _grid_sign(self) -> str | None:
        """Take `+` or `-`, also one that the lexer has read as the sign of a number; None where neither stands."""
        lexer = self.lexer
        if lexer.kind in (INTEGER, FLOAT) and lexer.text[0] in "+-":
            lexer.split(1)
        elif not self.at("+") and not self.at("-"):
            return None
        sign = lexer.text
        lexer.advance()
        return sign

    def _grid_product(self, depth: int) -> GridExpression:
        start = self.lexer.start
        left = self._grid_operand(depth)
        while self.accept("*"):
            left = self._grid_operation("*", left, self._grid_operand(depth), start)
        return left

    def _grid_operation(
        self, operation: str, left: GridExpression, right: GridExpression, start: int
    ) -> GridExpression:
        span = self.lexer.since(start)
        if max(depth_of(left), depth_of(right)) >= NESTING_LIMIT:
            self.fail("syntax.nesting", f"operations of a grid nest at most {NESTING_LIMIT} deep", span)
        return GridOperation(operation, left, right, span=span)

    def _grid_operand(self, depth: int) -> GridExpression:
        lexer = self.lexer
        start = lexer.start
        if depth > NESTING_LIMIT:
            self.fail("syntax.nesting", f"brackets of a grid nest at most {NESTING_LIMIT} deep")
        if lexer.kind in (INTEGER, DEFINITION):
            return GridNumber(self.integer(_OPERAND), span=lexer.since(start))
        if lexer.kind == LOCAL:
            parameter = self._parameter_name()
            return GridScalar(parameter, span=lexer.since(start))
        if self.accept("("):
            inner = self._grid_sum(depth + 1)
            if not self.at(")"):
                self._no_operator("`)`, `+`, `-` or `*`")
            self.expect(")")
            return inner
        if lexer.kind == WORD and lexer.text in FUNCTIONS:
            return self._grid_function(depth)
        if self.accept("size"):
            return self._grid_size(start)
        self.expected(_OPERAND, self._grid_hint())

    def _grid_hint(self) -> str | None:
        """The hint for a token that no operand begins with; None without one."""
        lexer = self.lexer
        if lexer.kind == FLOAT:
            return "numbers of a grid are whole"
        if lexer.kind != WORD:
            return None
        if lexer.text in _ELSEWHERE:
            return _ELSEWHERE[lexer.text]
        close = nearest(lexer.text, GRID_WORDS)
        return f"did you mean `{close}`?" if close else f"a parameter is written with `%`: %{lexer.text}"

    def _parameter_name(self) -> Value:
        lexer = self.lexer
        span = lexer.span
        if lexer.kind != LOCAL:
            hint = f"a parameter is written with `%`: %{lexer.text}" if lexer.kind == WORD else None
            self.expected("a parameter such as `%A`", hint)
        lexer.advance()
        return self.parameter_value(span)

    def _grid_function(self, depth: int) -> GridExpression:
        """`ceil(a, b)` and the like."""
        lexer = self.lexer
        start, operation = lexer.start, lexer.text
        lexer.advance()
        self.expect("(")
        left = self._grid_sum(depth + 1)
        if not self.at(","):
            hint = f"{operation} takes two expressions: {operation}(a, b)" if self.at(")") else None
            self.expected("`,`, `+`, `-` or `*`", hint or _ELSEWHERE.get(lexer.text))
        self.expect(",")
        right = self._grid_sum(depth + 1)
        if not self.at(")"):
            hint = f"{operation} takes two expressions: {operation}({operation}(a, b), c)" if self.at(",") else None
            self.expected("`)`, `+`, `-` or `*`", hint or _ELSEWHERE.get(lexer.text))
        self.expect(")")
        return self._grid_operation(operation, left, right, start)

    def _grid_size(self, start: int) -> GridExpression:
        """The rest of `size(%A, mode)` or `size(%G)`."""
        self.expect("(")
        parameter = self._parameter_name()
        mode = self.integer("the number of a mode") if self.accept(",") else None
        self.expect(")")
        return GridSize(parameter, mode, span=self.lexer.since(start))
