"""Operators: what is known is computed as Python does, everything else becomes instructions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from girih.front.python.conversions import Conversions, Literal, literal_of
from girih.front.python.emission import described
from girih.front.python.operands import Known, LiteralChoice, Many, MatrixProduct, Memory, Operand, Part, Runtime
from girih.ir.core import RegionKind, Value
from girih.ir.types import BOOL, F32, I32, INDEX, Boolean, CoopMatrix, MatrixScope, Number, Use, element_type, promote
from girih.source import Span

_INSTRUCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.LShift: "shl", ast.RShift: "shr",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
    ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Not: "not", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
"""How operators are written."""

_FOLDED: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip

_OF_TRUTH = (ast.BitAnd, ast.BitOr, ast.BitXor)
_OF_BITS = (*_OF_TRUTH, ast.LShift, ast.RShift)
"""The operators on bits; the first are for truth values, too."""
_BITS_HINT = "convert it: gl.i32(x); the bits of a float are gl.bitcast(x, gl.i32), and conditions are joined by `and`"

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less_than", ast.LtE: "less_than_equal",
    ast.Gt: "greater_than", ast.GtE: "greater_than_equal",
}  # fmt: skip

_TEXT_HINT = 'strings are not computed with: print("x is", x) shows a text, and values behind it'

_KEEP_NATURAL = frozenset(("add", "mul", "div", "rem", "and", "or", "min", "max", "shr"))
"""The instructions whose result is not negative where both operands are not."""

Spans = tuple[Span, Span]
"""The places of two operands."""

Body = Callable[[Value, Value, tuple[Value, ...]], Operand]
"""What is done with the components of matrices: from row, column and components to a component."""

_MOST_BITS = 4096
"""Integers that are computed while translating have at most as many bits."""


def accumulator(a: Number, b: Number) -> Number:
    """The type in which products of two types are added up where no accumulator says one.

    It is f32 for floats of up to 32 bits, i32 for integers of up to 32 bits, else the type of the products.
    """
    product = promote(a, b) or a
    if product.size > F32.size or product.family == "complex":
        return product
    return F32 if product.family == "floating" else I32


class Arithmetic(Conversions):
    """The translator's part for operators, on operands that are evaluated already."""

    def binary(self, kind: type[ast.operator], a: Operand, b: Operand, spans: Spans, span: Span) -> Operand:
        """The result of an operator. Raises `PythonFault`."""
        a, b = self.set(a, spans[0]), self.set(b, spans[1])
        if kind is ast.MatMult:
            return self._matmul(a, b, spans, span)
        if isinstance(a, LiteralChoice) and isinstance(b, Known):
            return self.chosen(a, lambda one: self.binary(kind, one, b, spans, span))
        if isinstance(b, LiteralChoice) and isinstance(a, Known):
            return self.chosen(b, lambda one: self.binary(kind, a, one, spans, span))
        folded = self._folded(kind, a, b, span)
        if folded is not None:
            return folded
        if kind is ast.Add:
            added = self._multiply_add(a, b, spans, span)
            if added is not None:
                return added
        what = f"`{SYMBOLS[kind]}`"
        self._refuse_parts(what, a, b, spans, span)
        a, b = self.computed(a, spans[0]), self.computed(b, spans[1])
        if self._is_matrix(a) or self._is_matrix(b):
            return Runtime(self._of_matrices(kind, a, b, spans, span))
        first, second = self.same(a, b, spans, what)
        return self._of_numbers(kind, (a, b), (first, second), spans, span)

    def _of_numbers(
        self, kind: type[ast.operator], operands: tuple[Operand, Operand], values: tuple[Value, Value], spans: Spans,
        span: Span,
    ) -> Operand:  # fmt: skip
        """The result of an operator on two numbers of one type."""
        (a, b), (first, second) = operands, values
        natural = self._natural(a, b)
        type = first.type
        integer = isinstance(type, Number) and type.family == "integer"
        if kind in _OF_BITS and not integer:
            self._refuse_bits(kind, Runtime(first), span)
        if kind in (ast.FloorDiv, ast.Mod):
            if not integer:
                self.fail("operator", f"`//` and `%` are for integers, found {described(a)}", span,
                          "divide with `/`; gl.rem(a, b) has the sign of a, Python's `%` that of b")  # fmt: skip
            return self._floored(kind, first, second, (natural, self._natural(b)), spans, span)
        if kind is ast.Pow:
            return self._power(first, second, b, integer, span)
        if kind is ast.Div and integer:
            self.fail("operator", f"`/` divides floats, found {described(a)} and {described(b)}", span,
                      "write `//`, which rounds down, or convert to a float first: gl.f32(...)")  # fmt: skip
        return self.instruction(_INSTRUCTIONS[kind], first, second, spans, span, natural)

    def _refuse_parts(self, what: str, a: Operand, b: Operand, spans: Spans, span: Span) -> None:
        """Refuse a string or a tuple on a side of an operator."""
        for operand, at in zip((a, b), spans, strict=True):
            if isinstance(operand, Many) or (isinstance(operand, Known) and isinstance(operand.value, tuple)):
                self.fail("operator", f"{what} takes numbers or matrices, found {described(operand)}", at,
                          "tuples are written with all their items: (a[0], a[1], b[0])")  # fmt: skip
        if any(isinstance(operand, Known) and isinstance(operand.value, str) for operand in (a, b)):
            self.fail("operator", f"{what} has no meaning for {described(a)} and {described(b)}", span, _TEXT_HINT)

    def _refuse_bits(self, kind: type[ast.operator], a: Runtime, span: Span) -> None:
        """Refuse an operator on bits for what are no integers; for bools some have a meaning."""
        if isinstance(a.type, Boolean) and kind in _OF_TRUTH:
            return
        also = " and bools" if kind in _OF_TRUTH else ""
        self.fail("operator", f"`{SYMBOLS[kind]}` is for integers{also}, found {described(a)}", span, _BITS_HINT)

    def instruction(
        self, mnemonic: str, a: Value, b: Value, spans: Spans, span: Span, natural: bool = False
    ) -> Runtime:
        """The result of an instruction with two operands of one type, which its result has, too."""
        (result,) = self.add(mnemonic, a.type, span=span, uses={"a": (spans[0],), "b": (spans[1],)}, a=a, b=b)
        # What has 64 bits does not overflow by counting elements.
        kept = mnemonic in ("div", "rem", "min", "max", "and", "or", "shr") or a.type == INDEX
        return Runtime(result, natural and kept and mnemonic in _KEEP_NATURAL)

    def chosen(self, choice: LiteralChoice, compute: Callable[[Operand], Operand]) -> Operand:
        """What is computed of each of two literals; truth values have a type, numbers do not yet."""
        a, b = compute(choice.a), compute(choice.b)
        if not isinstance(a, Known | LiteralChoice) or not isinstance(b, Known | LiteralChoice):
            return a
        return self.choice(choice.condition, a, b)

    def choice(self, condition: Value, a: Known | LiteralChoice, b: Known | LiteralChoice) -> Operand:
        """One of two literals. A literal that a loop changes stands for both, while types are found."""
        found = LiteralChoice(condition, a, b)
        if any(isinstance(operand, Known) and operand.varies for operand in (a, b)):
            return Known(self.open_literal(found), varies=True)
        return found

    def _natural(self, *operands: Operand) -> bool:
        def one(operand: Operand) -> bool:
            if isinstance(operand, Runtime):
                return operand.natural
            value = self.literal(operand)
            return isinstance(value, int) and value >= 0 and isinstance(operand, Known) and not operand.varies

        return all(map(one, operands))

    def _is_matrix(self, operand: Operand) -> bool:
        return isinstance(operand, Runtime) and isinstance(operand.type, CoopMatrix)

    # --- what is known ---------------------------------------------------------------------

    def _folded(self, kind: type[ast.AST], a: Operand, b: Operand, span: Span) -> Operand | None:
        """The result for two literals; None if one of the operands is not known."""
        if not isinstance(a, Known) or not isinstance(b, Known):
            return None
        first, second = literal_of(a.value), literal_of(b.value)
        if first is None or second is None:
            if kind in (ast.Eq, ast.NotEq) and not (a.varies or b.varies):
                return Known((a.value == b.value) is (kind is ast.Eq))
            texts = isinstance(a.value, str) or isinstance(b.value, str)
            self.fail("operator", f"`{SYMBOLS[kind]}` has no meaning for {described(a)} and {described(b)}", span,
                      _TEXT_HINT if texts else None)  # fmt: skip
        if a.varies or b.varies:
            return self._unfolded(kind, first, second, span)
        return Known(self._computed_literal(kind, first, second, span))

    def _unfolded(self, kind: type[ast.AST], a: Literal, b: Literal, span: Span) -> Operand:
        """What stands for the result of literals of which a loop changes one, while types are found."""
        if issubclass(kind, ast.cmpop):
            return Runtime(self.constant(True, BOOL, span))
        found = self.chosen_of(a, b)
        return Known(1.0, varies=True) if kind is ast.Div and isinstance(found.value, int) else found

    def chosen_of(self, a: Literal, b: Literal) -> Known:
        """What stands for a literal that is computed of two, of which a loop changes one, while types are found."""
        if isinstance(a, bool) and isinstance(b, bool):
            return Known(True, varies=True)
        families = [family for family in (complex, float) if isinstance(a, family) or isinstance(b, family)]
        return Known(families[0](1) if families else 1, varies=True)

    def _computed_literal(self, kind: type[ast.AST], a: Literal, b: Literal, span: Span) -> object:
        integers = isinstance(a, int) and isinstance(b, int)
        if integers and kind in (ast.Pow, ast.LShift) and self._too_large(kind, int(a.real), int(b.real)):
            self.fail("literal", f"the result has more than {_MOST_BITS} bits", span)
        try:
            result = _FOLDED[kind](a, b)
        except ZeroDivisionError:
            self.fail("literal", "division by zero", span)
        except OverflowError:
            self.fail("literal", "the result is too large for a float", span)
        except (TypeError, ValueError) as error:
            self.fail("operator", f"`{SYMBOLS[kind]}` of {a!r} and {b!r}: {error}", span)
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            self.fail("literal", f"the result has more than {_MOST_BITS} bits", span)
        return result

    def _too_large(self, kind: type[ast.AST], a: int, b: int) -> bool:
        if b < 0 or a in (-1, 0, 1):
            return False
        return (a.bit_length() + b if kind is ast.LShift else a.bit_length() * b) > 2 * _MOST_BITS

    # --- integers --------------------------------------------------------------------------

    def _floored(
        self, kind: type[ast.operator], a: Value, b: Value, facts: tuple[bool, bool], spans: Spans, span: Span
    ) -> Operand:
        """Quotient or remainder that is rounded down, as Python's; `facts`: neither is negative; the divisor is not."""
        natural, positive = facts
        mnemonic = "div" if kind is ast.FloorDiv else "rem"
        if natural:
            return self.instruction(mnemonic, a, b, spans, span, natural=True)
        rest = self.instruction("rem", a, b, spans, span).value
        corrected = self._is_rounded_up(rest, b, positive, span)
        if kind is ast.FloorDiv:
            other = self.instruction("div", a, b, spans, span).value
            (moved,) = self.add("sub", a.type, span=span, a=other, b=self.constant(1, a.type, span))
        else:
            other = rest
            (moved,) = self.add("add", a.type, span=span, a=rest, b=b)
        (result,) = self.add("select", a.type, span=span, condition=corrected, a=moved, b=other)
        return Runtime(result, natural=positive and kind is ast.Mod)

    def _is_rounded_up(self, rest: Value, divisor: Value, positive: bool, span: Span) -> Value:
        """Whether a truncated quotient is above the exact one: the remainder has another sign than the divisor."""
        zero = self.constant(0, rest.type, span)
        (below,) = self.add("less_than", BOOL, span=span, a=rest, b=zero)
        if positive:
            return below
        (some,) = self.add("not_equal", BOOL, span=span, a=rest, b=zero)
        (negative,) = self.add("less_than", BOOL, span=span, a=divisor, b=zero)
        (apart,) = self.add("xor", BOOL, span=span, a=below, b=negative)
        (both,) = self.add("and", BOOL, span=span, a=some, b=apart)
        return both

    def _power(self, a: Value, b: Value, exponent: Operand, integer: bool, span: Span) -> Operand:
        if integer:
            self.fail("operator", f"`**` is for floats, found {a.type}", span, "multiply, or convert first: gl.f32(x)")
        if self.literal(exponent) == 2:
            return self.instruction("mul", a, a, (span, span), span)
        return self.instruction("pow", a, b, (span, span), span)

    # --- matrices --------------------------------------------------------------------------

    def _matmul(self, a: Operand, b: Operand, spans: Spans, span: Span) -> Operand:
        for operand, at in zip((a, b), spans, strict=True):
            if not isinstance(operand, Part | Memory | MatrixProduct) and not self._is_matrix(operand):
                self.fail("operator", f"`@` multiplies matrices, found {described(operand)}", at,
                          "numbers are multiplied with `*`")  # fmt: skip
        return MatrixProduct(a, b, span)

    def product(self, product: MatrixProduct, scope: MatrixScope | None = None) -> Value:
        """A product that is added to zeros, of the type in which products are added up."""
        return self.multiplied(product, None, (product.span, product.span), product.span, scope=scope)

    def multiplied(
        self, product: MatrixProduct, summand: Value | None, spans: Spans, span: Span,
        component: Number | None = None, scope: MatrixScope | None = None,
    ) -> Value:  # fmt: skip
        """A product plus an accumulator, or zeros; `component` is the type of the result where it is another one.

        `spans` are the places of the factors. Raises `PythonFault`.
        """
        scope = scope or self._scope_of(product)
        a, b = self.matrix(product.a, spans[0], Use.A, scope), self.matrix(product.b, spans[1], Use.B, scope)
        assert isinstance(a.type, CoopMatrix) and isinstance(b.type, CoopMatrix)
        if summand is None:
            wanted = component or accumulator(a.type.component, b.type.component)
            type = CoopMatrix(wanted, a.type.rows, b.type.columns, Use.ACC, a.type.scope)
            summand = self.constant(self.fitted(Known(0), type, span), type, span)
        assert isinstance(summand.type, CoopMatrix)
        result = replace(summand.type, component=component or summand.type.component)
        uses = {"a": (spans[0],), "b": (spans[1],)}
        return self.add("cooperative_matrix_mul_add", result, span=span, uses=uses, a=a, b=b, c=summand)[0]

    def _scope_of(self, product: MatrixProduct) -> MatrixScope:
        for operand in (product.a, product.b):
            if isinstance(operand, Runtime) and isinstance(operand.type, CoopMatrix):
                return operand.type.scope
        return MatrixScope.SUBGROUP

    def _multiply_add(self, a: Operand, b: Operand, spans: Spans, span: Span) -> Operand | None:
        """`c + a @ b` as one instruction; None if neither summand is a product that is open."""
        if isinstance(a, MatrixProduct) and not isinstance(b, MatrixProduct):
            a, b, spans = b, a, (spans[1], spans[0])
        if not isinstance(b, MatrixProduct) or isinstance(a, Known):
            return None
        sums = self.matrix(a, spans[0], Use.ACC, self._scope_of(b))
        if not isinstance(sums.type, CoopMatrix):
            return None
        return Runtime(self.multiplied(b, sums, (b.span, b.span), span, scope=sums.type.scope))

    def _of_matrices(self, kind: type[ast.operator], a: Operand, b: Operand, spans: Spans, span: Span) -> Value:
        """The result of an operator with a matrix on one side or on both."""
        if kind in (ast.FloorDiv, ast.Mod) or (kind is ast.Pow and self.literal(b) != 2):
            self.fail("operator", f"`{SYMBOLS[kind]}` has no meaning for matrices", span,
                      "compute each component: gl.apply(lambda x: ..., m)")  # fmt: skip
        if kind is ast.Pow:
            kind, b = ast.Mult, a
        if kind is ast.Mult and not (self._is_matrix(a) and self._is_matrix(b)):
            return self._scaled(a, b, spans, span)
        first, second = self._matrix_like(a, b, spans[0]), self._matrix_like(b, a, spans[1])
        assert isinstance(first.type, CoopMatrix) and isinstance(second.type, CoopMatrix)
        if first.type.shape != second.type.shape and replace(first.type, rows=1, columns=1) == replace(
            second.type, rows=1, columns=1
        ):
            return self._broadcast(_INSTRUCTIONS[kind], first, second, span)
        first, second = self.same(Runtime(first), Runtime(second), spans, f"`{SYMBOLS[kind]}`")
        return self.instruction(_INSTRUCTIONS[kind], first, second, spans, span).value

    def _scaled(self, a: Operand, b: Operand, spans: Spans, span: Span) -> Value:
        if self._is_matrix(a):
            a, b, spans = b, a, (spans[1], spans[0])
        assert isinstance(b, Runtime) and isinstance(b.type, CoopMatrix)
        factor = self.value(a, b.type.component, spans[0])
        (result,) = self.add("cooperative_matrix_scale", b.type, span=span, uses={"a": (spans[0],)},
                             a=factor, matrix=b.value)  # fmt: skip
        return result

    def _matrix_like(self, operand: Operand, other: Operand, span: Span) -> Value:
        """An operand as a matrix: a number becomes one of the other's type that has it in every component."""
        if isinstance(operand, Runtime) and isinstance(operand.type, CoopMatrix):
            return operand.value
        assert isinstance(other, Runtime) and isinstance(other.type, CoopMatrix)
        if isinstance(operand, Known):
            return self.constant(self.fitted(operand, other.type, span), other.type, span)
        number = self.value(operand, other.type.component, span)
        (spread,) = self.add("cooperative_matrix_construct", other.type, span=span, a=number)
        return spread

    def _broadcast(self, mnemonic: str, a: Value, b: Value, span: Span) -> Value:
        """The result of an operator on matrices of which one has a single row or column."""

        def combined(row: Value, column: Value, elements: tuple[Value, ...]) -> Operand:
            first, second = elements
            return Runtime(self.add(mnemonic, first.type, span=span, a=first, b=second)[0])

        return self.applied((a, b), combined, span)

    def spread(self, types: Sequence[CoopMatrix], span: Span) -> CoopMatrix:
        """The type that matrices have together: their sizes agree, or are 1. Raises `PythonFault`."""
        first, *others = types
        rows, columns = first.shape
        for other in others:
            for size, so_far in zip(other.shape, (rows, columns), strict=True):
                if size != so_far and 1 not in (size, so_far):
                    self.fail("types", f"shapes {(rows, columns)} and {other.shape} do not go together", span,
                              "sizes are equal, or one of them is 1")  # fmt: skip
            rows, columns = max(rows, other.rows), max(columns, other.columns)
        return replace(first, rows=rows, columns=columns)

    def applied(
        self, matrices: Sequence[Value], body: Body, span: Span, uses: Mapping[str, tuple[Span, ...]] | None = None
    ) -> Value:
        """The matrix of what a function makes of components; single rows and columns are broadcast.

        `body` adds its instructions, given the row, the column, and the component of each matrix, and returns the
        component. Raises `PythonFault`.
        """
        kinds = [matrix.type for matrix in matrices if isinstance(matrix.type, CoopMatrix)]
        result = self.spread(kinds, span)
        operands = list(matrices)
        if all(kind.shape != result.shape for kind in kinds):
            operands.append(self.constant(self.fitted(Known(0), result, span), result, span))
        row, column = Value("", I32, span), Value("", I32, span)
        elements = tuple(Value("", result.component, span) for _ in operands)
        with self.region(RegionKind.SPMD) as inner:
            component = self.value(body(row, column, elements[: len(matrices)]), result.component, span)
            self.add("yield", span=span, values=(component,))
        (made,) = self.add("cooperative_matrix_apply", result, span=span, uses=uses, row=row, column=column,
                           elements=elements, matrices=tuple(operands), body=inner.region(span))  # fmt: skip
        return made

    # --- signs, truth, comparisons ----------------------------------------------------------

    def unary(self, kind: type[ast.unaryop], a: Operand, at: Span, span: Span) -> Operand:
        """The result of an operator with one operand. Raises `PythonFault`."""
        if kind is ast.Not:
            return self._negated(a, at, span)
        a = self.computed(a, at)
        if isinstance(a, LiteralChoice):
            return self.chosen(a, lambda one: self.unary(kind, one, at, span))
        value = self.literal(a)
        if isinstance(a, Known):
            if value is None or (kind is ast.Invert and not isinstance(value, int)):
                self.fail("operator", f"`{SYMBOLS[kind]}` has no meaning for {described(a)}", span)
            if kind is ast.Invert:
                result: Literal = not value if isinstance(value, bool) else ~int(value.real)
            else:
                result = -value if kind is ast.USub else +value
            return Known(result, a.varies)
        if not isinstance(a, Runtime):
            self.fail("operator", f"`{SYMBOLS[kind]}` has no meaning for {described(a)}", span)
        if kind is ast.UAdd:
            return a
        scalar = element_type(a.type)
        if kind is ast.Invert and isinstance(scalar, Number) and scalar.family != "integer":
            self.fail("operator", f"`~` is for integers and bools, found {described(a)}", span, _BITS_HINT)
        (result_value,) = self.add(
            "neg" if kind is ast.USub else "not", a.type, span=span, uses={"a": (at,)}, a=a.value
        )
        return Runtime(result_value)

    def _negated(self, a: Operand, at: Span, span: Span) -> Operand:
        a = self.truth(a, at)
        if isinstance(a, Known):
            return Known(not a.value)
        assert isinstance(a, Runtime)
        (result,) = self.add("not", BOOL, span=span, uses={"a": (at,)}, a=a.value)
        return Runtime(result)

    def truth(self, operand: Operand, span: Span) -> Operand:
        """An operand as a condition: a truth value that is known, or one of run time. Raises `PythonFault`."""
        operand = self.set(operand, span)
        if isinstance(operand, Known) and not operand.varies:
            value = literal_of(operand.value)
            if value is not None or operand.value is None or isinstance(operand.value, str | tuple):
                return Known(bool(operand.value))
        if isinstance(operand, Runtime) and isinstance(operand.type, Boolean):
            return operand
        if isinstance(operand, Known) and operand.varies:
            return Runtime(self.constant(True, BOOL, span))
        hint = "compare it: `!= 0`" if isinstance(operand, Runtime) and isinstance(operand.type, Number) else None
        if isinstance(operand, Memory | Part):
            hint = "an array has no truth value: compare its elements, or write gl.associated(X)"
        self.fail("condition", f"expected a truth value, found {described(operand)}", span, hint)

    def comparison(self, kind: type[ast.cmpop], a: Operand, b: Operand, spans: Spans, span: Span) -> Operand:
        """Whether two operands compare. Raises `PythonFault`."""
        a, b = self.set(a, spans[0]), self.set(b, spans[1])
        if kind in (ast.In, ast.NotIn):
            if isinstance(b, Memory | Part):
                self.fail("operator", f"`in` looks through a tuple, found {described(b)}", spans[1],
                          "compare in a loop: found = found or X[i] == x")  # fmt: skip
            if isinstance(a, Runtime):
                self.fail("constant", f"what `in` looks for must be known while the kernel is translated, found "
                          f"{described(a)}", spans[0], "write out the comparisons: n == 1 or n == 2")  # fmt: skip
            items = self.known(b, "what `in` looks through", spans[1])
            if not isinstance(items, tuple):
                self.fail("operator", f"`in` looks through a tuple, found {described(b)}", spans[1],
                          "write the items: n in (1, 2)")  # fmt: skip
            wanted = self.known(a, "what `in` looks for", spans[0])
            found = any(type(wanted) is type(item) and wanted == item for item in items)
            return Known(found is (kind is ast.In))
        if kind not in _COMPARISONS:
            self.fail("operator", f"`{SYMBOLS[kind]}` asks for one object of Python, and kernels have numbers", span,
                      "write `==` or `!=`; whether there is memory behind X: gl.associated(X)")  # fmt: skip
        folded = self._folded(kind, a, b, span)
        if folded is not None:
            return folded
        for operand, at in zip((a, b), spans, strict=True):
            if isinstance(operand, Memory | Part | MatrixProduct | Many) or self._is_matrix(operand):
                each = "numbers: X.shape[0] == Y.shape[0]" if isinstance(operand, Many) else "elements: X[i]"
                inside = "" if isinstance(operand, Many) else ", or inside gl.apply"
                self.fail("operator", f"`{SYMBOLS[kind]}` compares numbers, found {described(operand)}", at,
                          f"compare {each}{inside}")  # fmt: skip
        first, second = self.same(a, b, spans, f"`{SYMBOLS[kind]}`")
        if isinstance(first.type, Boolean):
            self.fail("operator", f"`{SYMBOLS[kind]}` compares numbers, found bool", span,
                      "`a != b` is `a ^ b`, and `a == b` is `not (a ^ b)`")  # fmt: skip
        (result,) = self.add(_COMPARISONS[kind], BOOL, span=span, uses={"a": (spans[0],), "b": (spans[1],)},
                             a=first, b=second)  # fmt: skip
        return Runtime(result)
