"""Calls: words of the language, conversions, a few functions of Python, and the user's own, which are inlined."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn, TypeVar

from girih.diagnostics import nearest, plural
from girih.front.python.codes import PythonFault
from girih.front.python.conversions import known_hint, literal_of, scalar_type
from girih.front.python.emission import described
from girih.front.python.operands import Known, LiteralChoice, Many, Memory, Operand, Part, Runtime
from girih.front.python.reading import FunctionNode, FunctionSource, read_function
from girih.front.python.refusals import MEANINGFUL, refused_callee, shown_signature, word_for
from girih.front.python.scopes import RESULT, FunctionScope, LocalFunction
from girih.front.python.subscripts import Subscripts, method_hint
from girih.ir.types import (
    INDEX,
    PARTS,
    Boolean,
    CoopMatrix,
    GroupType,
    Number,
    TensorLayoutType,
    TensorViewType,
    Type,
)
from girih.language.tensor_layout import TensorLayout, TensorView
from girih.language.words import WORD
from girih.lazy_dataclass import dataclass
from girih.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class WordCall:
    """The call of a word: `call["x"]` is the operand for its parameter x, `call.span_of("x")` its place."""

    name: str
    span: Span
    translator: Calls
    arguments: Mapping[str, Operand]
    places: Mapping[str, Span]

    def __getitem__(self, parameter: str) -> Operand:
        return self.arguments[parameter]

    def span_of(self, parameter: str) -> Span:
        """The place of an argument; that of the call for one that was left out."""
        return self.places.get(parameter, self.span)

    def spans_of_items(self, parameter: str, count: int) -> tuple[Span, ...]:
        """The places where the items of an argument were written; its own for all where that is not known."""
        operand = self.arguments[parameter]
        found = operand.places if isinstance(operand, Many) else ()
        return found if len(found) == count else (self.span_of(parameter),) * count

    def given(self, parameter: str) -> bool:
        """Whether an argument was written."""
        return parameter in self.places


Lowering = Callable[[WordCall], Operand]
"""What a word means: it adds instructions through `call.translator`, and gives the result; `Known(None)` for none."""

_CONVERSIONS = (builtins.int, builtins.float, builtins.bool, builtins.complex)

_MEANINGFUL = (*_CONVERSIONS, builtins.tuple, *(getattr(builtins, name) for name in MEANINGFUL))
"""The functions of Python that have a meaning for some arguments."""

METHODS: dict[type[Type], type] = {TensorLayoutType: TensorLayout, TensorViewType: TensorView}
"""The types of values that have methods, and the classes whose words these are."""


class Calls(Subscripts):
    """The translator's part for calls."""

    def __init__(self, text: FunctionSource, words: Mapping[str, Lowering]) -> None:
        super().__init__(text)
        self.words = words
        self.active: list[tuple[object, str, Span]] = []
        """The helpers that are being inlined: their definitions, names, and where they were called."""
        self.texts: dict[types.FunctionType, FunctionSource] = {}
        self.signatures: dict[object, inspect.Signature] = {}
        self.type_variables: dict[TypeVar, type] = {}

    # --- calls -----------------------------------------------------------------------------

    def _on_call(self, node: ast.Call) -> Operand:
        span = self.span(node)
        method = self._method(node)
        if method is not None:
            return method
        callee = self.expression(node.func)
        if not isinstance(callee, Known):
            self.fail("call", f"{described(callee)} cannot be called", self.span(node.func),
                      f"`{ast.unparse(node.func)}` is a value here: give it a name that no function has")  # fmt: skip
        function = callee.value
        if isinstance(function, TypeVar):
            function = self.type_variables.get(function, function)
        scalar = scalar_type(function)
        if scalar is not None:
            return self._converted(scalar, node, span)
        name = getattr(function, WORD, None)
        if not isinstance(name, str) and not self._has_meaning(function):
            refused = refused_callee(function, ast.unparse(node.func))
            if refused is not None:
                self.fail("call", refused[0], self.span(node.func), refused[1])
        operands, keywords = self._arguments(node)
        if isinstance(name, str):
            return self._word(function, name, operands, keywords, span)
        if isinstance(function, LocalFunction | types.FunctionType):
            values = [operand for operand, _ in operands]
            return self.inline(function, values, span, {k: v for k, (v, _) in keywords.items()})
        return self._python(function, operands, keywords, node, span)

    def _has_meaning(self, function: object) -> bool:
        """Whether a function of Python has a meaning in kernels, for some arguments."""
        if isinstance(function, types.BuiltinFunctionType) and function.__module__ == "math":
            return True
        return any(function is one for one in _MEANINGFUL)

    def _method(self, node: ast.Call) -> Operand | None:
        """The call of a method of a value of the ir, such as `layout.slice(...)`; None for any other call."""
        if not isinstance(node.func, ast.Attribute) or self._is_plain_name(node.func.value):
            return None
        if node.func.attr == "dtype":
            return None
        owner = self.set(self.expression(node.func.value), self.span(node.func.value))
        owner_class = METHODS.get(type(owner.type)) if isinstance(owner, Runtime) else None
        function = getattr(owner_class, node.func.attr, None)
        if owner_class is None or function is None:
            close = nearest(node.func.attr, [n for n in dir(owner_class) if n[0] != "_"]) if owner_class else None
            hint = f"did you mean `{close}`?" if close else method_hint(owner, node.func.attr)
            self.fail("call", f"{described(owner)} has no method `{node.func.attr}`", self.span(node.func), hint)
        operands, keywords = self._arguments(node)
        here = (owner, self.span(node.func.value))
        return self._word(function, getattr(function, WORD), [here, *operands], keywords, self.span(node))

    def _is_plain_name(self, node: ast.expr) -> bool:
        """Whether what stands in front of a dot is known: a module or a class."""
        return isinstance(self.known_only(node), Known)

    def _arguments(self, node: ast.Call) -> tuple[list[Argument], dict[str, Argument]]:
        operands = [(self.set(operand, span), span) for operand, span in self.spread_out(node.args)]
        keywords: dict[str, Argument] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fail("arguments", "`**` has no meaning in a kernel", self.span(keyword), "write the names")
            found = self.set(self.expression(keyword.value), self.span(keyword.value))
            keywords[keyword.arg] = found, self.span(keyword.value)
        return operands, keywords

    def spread_out(self, nodes: Sequence[ast.expr]) -> Iterator[Argument]:
        """What expressions stand for, one after the other, with `*` before tuples that are taken apart."""
        for node in nodes:
            span = self.span(node)
            if not isinstance(node, ast.Starred):
                yield self.expression(node), span
                continue
            found = self.set(self.expression(node.value), span)
            if isinstance(found, Known) and isinstance(found.value, tuple):
                found = Many(tuple(Known(item) for item in found.value))
            if not isinstance(found, Many):
                self.fail("arguments", f"`*` takes a tuple apart, found {described(found)}", span)
            yield from ((item, span) for item in found.items)

    def _word(
        self, function: object, name: str, operands: list[Argument], keywords: dict[str, Argument], span: Span
    ) -> Operand:
        lowering = self.words.get(name)
        if lowering is None:
            self.fail("word", f"gl.{name} does not stand here", span, STATEMENT_WORDS.get(name))
        bound = self._bound(function, f"gl.{name}", operands, keywords, span)
        arguments: dict[str, Operand] = {}
        places: dict[str, Span] = {}
        for parameter, held in bound.items():
            if isinstance(held, list):
                arguments[parameter] = Many(tuple(operand for operand, _ in held), tuple(place for _, place in held))
                if held:
                    places[parameter] = Span(span.source, held[0][1].start, held[-1][1].end)
            elif isinstance(held, tuple):
                arguments[parameter], places[parameter] = held
            else:
                arguments[parameter] = held
        return lowering(WordCall(name, span, self, arguments, places))

    def _bound(
        self, function: object, name: str, operands: list[Argument], keywords: dict[str, Argument], span: Span
    ) -> dict[str, Argument | list[Argument] | Known]:
        """The arguments of a call by parameter; those that are left out are what Python says."""
        signature = self.signatures.get(function)
        if signature is None:
            assert callable(function)
            signature = self.signatures[function] = inspect.signature(function)
        try:
            bound = signature.bind(*operands, **keywords)
        except TypeError as error:
            unknown = next((k for k in keywords if k not in signature.parameters), None)
            close = nearest(unknown, signature.parameters) if unknown else None
            hint = f"did you mean `{close}`?" if close else f"it is {name}{shown_signature(signature)}"
            self.fail("arguments", f"{name}: {error}", span, hint)
        found: dict[str, Argument | list[Argument] | Known] = {}
        for parameter in signature.parameters.values():
            if parameter.name not in bound.arguments:
                found[parameter.name] = [] if parameter.kind is parameter.VAR_POSITIONAL else Known(parameter.default)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                found[parameter.name] = list(bound.arguments[parameter.name])
            else:
                found[parameter.name] = bound.arguments[parameter.name]
        return found

    # --- conversions -----------------------------------------------------------------------

    def _converted(self, type: Number | Boolean, node: ast.Call, span: Span) -> Operand:
        """A number in another type: `gl.f32(x)`."""
        if len(node.args) != 1 or node.keywords:
            self.fail("arguments", f"a conversion takes one number, found {len(node.args) + len(node.keywords)}", span,
                      f"write {ast.unparse(node.func)}(x)")  # fmt: skip
        at = self.span(node.args[0])
        return self.cast(self.number(node.args[0]), type, at, span)

    def cast(self, operand: Operand, type: Number | Boolean, at: Span, span: Span) -> Operand:
        """A number, or each component of a matrix, in another type. Raises `PythonFault`."""
        operand = self.computed(operand, at)
        if isinstance(operand, LiteralChoice):
            operand = self.chosen(operand, lambda one: self._each_literal(one, type, at))
            return Runtime(self.value(operand, type, at))
        value = self.literal(operand)
        if isinstance(operand, Known) and value is not None:
            return Runtime(self.constant(self._literal_in(operand, type, at), type, span), _is_natural(value))
        if not isinstance(operand, Runtime):
            self.fail("types", f"expected a number, found {described(operand)}", at, known_hint(operand))
        target: Type = type
        if isinstance(operand.type, CoopMatrix) and isinstance(type, Number):
            target = replace(operand.type, component=type)
        if operand.type == target:
            return operand
        if isinstance(type, Boolean):
            self.fail("types", f"expected bool, found {described(operand)}", at, "compare it: `!= 0`")
        if isinstance(operand.type, Boolean):
            one, zero = (self.constant(self.fitted(Known(n), type, span), type, span) for n in (1, 0))
            (chosen,) = self.add("select", type, span=span, condition=operand.value, a=one, b=zero)
            return Runtime(chosen, natural=True)
        (made,) = self.add("cast", target, span=span, uses={"a": (at,)}, a=operand.value)
        return Runtime(made, operand.natural and isinstance(type, Number) and type.size >= _size(operand.type))

    def _each_literal(self, operand: Operand, type: Number | Boolean, at: Span) -> Operand:
        if isinstance(operand, LiteralChoice):
            return self.chosen(operand, lambda one: self._each_literal(one, type, at))
        assert isinstance(operand, Known)
        return Known(self._literal_in(operand, type, at), operand.varies)

    def _literal_in(self, operand: Known, type: Number | Boolean, at: Span) -> object:
        """The literal that a conversion of a literal gives: floats lose their fraction, as Python's int does."""
        value = literal_of(operand.value)
        if isinstance(value, bool) and isinstance(type, Number):
            operand = Known(int(value), operand.varies)
        elif isinstance(value, float) and isinstance(type, Number) and type.family == "integer":
            if not math.isfinite(value):
                self.fail("literal", f"{value} is not an integer", at)
            operand = Known(int(value), operand.varies)
        return self.fitted(operand, type, at)

    # --- functions of Python ----------------------------------------------------------------

    def _python(
        self, function: object, operands: list[Argument], keywords: dict[str, Argument], node: ast.Call, span: Span
    ) -> Operand:
        if keywords and function is not builtins.print:
            self.fail("arguments", f"`{ast.unparse(node.func)}` takes no keywords in a kernel", span,
                      "give the numbers by position")  # fmt: skip
        if function in (builtins.min, builtins.max):
            return self._least(function is builtins.min, operands, span)
        if function is builtins.abs and len(operands) == 1:
            return self._absolute(*operands[0], span)
        if function is builtins.len and len(operands) == 1:
            return self._length_of(*operands[0], span)
        if function is builtins.print and "print" in self.words:
            return self._printed(operands, keywords, span)
        if function in _CONVERSIONS and len(operands) == 1 and self._is_literal(operands[0][0]):
            return self._python_conversion(function, operands[0], span)
        if function is builtins.tuple and len(operands) == 1 and isinstance(operands[0][0], Many):
            return operands[0][0]
        if isinstance(function, types.BuiltinFunctionType) and function.__module__ == "math":
            return self._math(function, operands, span)
        written = ast.unparse(node.func)
        if function in (builtins.abs, builtins.len):
            self.fail("arguments", f"`{written}` takes one argument, found {len(operands)}", span)
        refused = refused_callee(function, written)
        assert refused is not None
        self.fail("call", refused[0], self.span(node.func), refused[1])

    def _least(self, smallest: bool, operands: list[Argument], span: Span) -> Operand:
        """Python's `min` and `max` of two and more numbers."""
        word = "min" if smallest else "max"
        if len(operands) == 1 and isinstance(operands[0][0], Many):
            operands = [(item, operands[0][1]) for item in operands[0][0].items]
        if len(operands) < 2:
            hint = f"compare in a loop: m = {word}(m, X[i])"
            several = bool(operands) and isinstance(operands[0][0], Memory | Part)
            self.fail("arguments", f"`{word}` takes two numbers or more, found {len(operands)}", span,
                      hint if several else f"write {word}(a, b)")  # fmt: skip
        result, at = operands[0]
        for other, place in operands[1:]:
            first, second = self.literal(result), self.literal(other)
            if first is not None and second is not None and _varying(result, other):
                result = self.chosen_of(first, second)
                continue
            if first is not None and second is not None:
                if isinstance(first, complex) or isinstance(second, complex):
                    self.fail("operator", f"`{word}` takes numbers that have an order", span)
                result = Known(min(first, second) if smallest else max(first, second))
                continue
            natural = self._natural(result, other)
            a, b = self.same(result, other, (at, place), f"`{word}`")
            result, at = self.instruction(word, a, b, (at, place), span, natural), span
        return result

    def _absolute(self, operand: Operand, at: Span, span: Span) -> Operand:
        operand = self.computed(operand, at)
        value = self.literal(operand)
        if isinstance(operand, Known) and value is not None:
            return Known(abs(value), operand.varies)
        number = self.materialised(operand, at)
        type = number.type
        result: Type = PARTS.get(type, type) if isinstance(type, Number) else type
        if isinstance(type, CoopMatrix):
            result = replace(type, component=PARTS.get(type.component, type.component))
        (made,) = self.add("abs", result, span=span, uses={"a": (at,)}, a=number.value)
        return Runtime(made)

    def _length_of(self, operand: Operand, at: Span, span: Span) -> Operand:
        if isinstance(operand, Many):
            return Known(len(operand.items))
        if isinstance(operand, Known) and isinstance(operand.value, tuple | str):
            return Known(len(operand.value))
        if isinstance(operand, Runtime) and isinstance(operand.type, GroupType):
            (size,) = self.add("size", INDEX, span=span, tensor=operand.value, mode=0)
            return Runtime(size, natural=True)
        if isinstance(operand, Memory | Part) and self._rank_of(operand, at) > 0:
            return self.extent(operand, 0, span)
        self.fail("operator", f"{described(operand)} has no length", at, "arrays, groups and tuples have one")

    def _is_literal(self, operand: Operand) -> bool:
        """Whether an operand is a literal, or a string that may stand for one: `float("inf")`."""
        text = isinstance(operand, Known) and isinstance(operand.value, str)
        return text or (self.literal(operand) is not None and not _varying(operand))

    def _python_conversion(self, function: object, argument: Argument, span: Span) -> Operand:
        """Python's own conversion of a literal, whose result is a literal."""
        operand, at = argument
        assert isinstance(operand, Known) and isinstance(function, type)
        try:
            return Known(function(operand.value))
        except (ArithmeticError, ValueError, TypeError) as error:
            self.fail("literal", f"{function.__name__}: {error}", at)

    def _printed(self, operands: list[Argument], keywords: dict[str, Argument], span: Span) -> Operand:
        if keywords:
            self.fail("arguments", "`print` takes no keywords in a kernel", span,
                      "leave them out: values stand behind one another, each print on a line")  # fmt: skip
        arguments: dict[str, Operand] = {"values": Many(tuple(o for o, _ in operands))}
        return self.words["print"](WordCall("print", span, self, arguments, {"values": span}))

    def _math(self, function: types.BuiltinFunctionType, operands: list[Argument], span: Span) -> Operand:
        """A function of `math` of literals, computed as Python does."""
        values = [self.literal(operand) for operand, _ in operands]
        if any(value is None for value in values) or _varying(*(o for o, _ in operands)):
            hint = word_for(function.__name__) or "gl has the functions of kernels: gl.exp, gl.sqrt and the like"
            self.fail("call", f"math.{function.__name__} computes while the kernel is translated: it takes literals",
                      span, hint)  # fmt: skip
        try:
            result = function(*values)
        except (ArithmeticError, ValueError, TypeError) as error:
            self.fail("literal", f"math.{function.__name__}: {error}", span)
        if isinstance(result, int) and result.bit_length() > 4096:
            self.fail("literal", "the result has more than 4096 bits", span)
        return Known(result)

    # --- the user's own --------------------------------------------------------------------

    def inline(
        self,
        function: LocalFunction | types.FunctionType,
        operands: Sequence[Operand],
        span: Span,
        keywords: Mapping[str, Operand] | None = None,
    ) -> Operand:
        """The result of a function of the user, whose body is translated here, or of a word. Raises `PythonFault`."""
        word = getattr(function, WORD, None)
        if isinstance(word, str):
            return self._word(function, word, [(operand, span) for operand in operands], {}, span)
        text, node, outer = self._definition(function, span)
        name = function.__name__
        earlier = next((at for known, _, at in self.active if known is node), None)
        if earlier is not None or function is self.kernel_text.function:
            self.fail("recursion", f"`{name}` calls itself", span, "write a loop", ((span, "called again"),))
        scope = FunctionScope(text, node, outer)
        self._bind_helper(scope, function, node, operands, keywords or {}, span)
        before = len(self.diagnostics)
        with self.nested(span), self._inside(scope, node, name, span):
            if isinstance(node, ast.Lambda):
                result = self.expression(node.body)
            else:
                self.block(node.body)
                result = scope.names.get(RESULT, Known(None))
        if len(self.diagnostics) > before:
            raise PythonFault(None)
        return self.set(result, span)

    kernel_text: FunctionSource

    def _definition(
        self, function: LocalFunction | types.FunctionType, span: Span
    ) -> tuple[FunctionSource, FunctionNode, FunctionScope | None]:
        if isinstance(function, LocalFunction):
            return function.scope.text, function.node, function.scope
        known = self.texts.get(function)
        if known is None:
            try:
                known = self.texts[function] = read_function(function)
            except PythonFault as found:
                assert found.diagnostic is not None
                raise PythonFault(replace(found.diagnostic, span=span)) from None
        return known, known.node, None

    def _bind_helper(
        self,
        scope: FunctionScope,
        function: LocalFunction | types.FunctionType,
        node: FunctionNode,
        operands: Sequence[Operand],
        keywords: Mapping[str, Operand],
        span: Span,
    ) -> None:
        """Give the parameters of a helper what the call has for them."""
        given = node.args
        name = function.__name__

        def wrong(message: str) -> NoReturn:
            head = _head(scope.text, node)
            apart = span.source is not head.source or head.end < span.start or head.start > span.end
            labels = ((span, ""), (head, f"`{name}` is defined here")) if apart else ()
            self.fail("arguments", message, span, f"it is {name}({ast.unparse(given)})", labels)

        if given.vararg or given.kwarg:
            wrong(f"`{name}` takes `*` or `**`, which has no meaning in a kernel")
        positional = [a.arg for a in (*given.posonlyargs, *given.args)]
        every = [*positional, *(a.arg for a in given.kwonlyargs)]
        if len(operands) > len(positional):
            wrong(f"`{name}` takes {plural(len(positional), 'argument')}, found {len(operands)}")
        names = dict(zip(positional, operands, strict=False))
        for keyword, operand in keywords.items():
            if keyword not in every or keyword in names:
                what = "is given twice" if keyword in names else "is not one of its parameters"
                wrong(f"`{name}`: `{keyword}` {what}")
            names[keyword] = operand
        missing = [parameter for parameter in every if parameter not in names]
        defaults = self._defaults(function, node)
        for parameter in missing:
            if parameter not in defaults:
                wrong(f"`{name}` lacks an argument for `{parameter}`")
            names[parameter] = defaults[parameter]
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            names[argument.arg] = self._annotated(names[argument.arg], argument.annotation, scope, span)
        scope.names.update(names)

    def _defaults(self, function: LocalFunction | types.FunctionType, node: FunctionNode) -> dict[str, Operand]:
        if isinstance(function, LocalFunction):
            return dict(function.defaults)
        positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        values = function.__defaults__ or ()
        found = dict(zip(positional[len(positional) - len(values) :], values, strict=False))
        return {k: Known(v) for k, v in (found | (function.__kwdefaults__ or {})).items()}

    def _annotated(self, operand: Operand, annotation: ast.expr | None, scope: FunctionScope, span: Span) -> Operand:
        """An argument of a helper as its annotation has it, where that is a scalar type."""
        if annotation is None or not isinstance(annotation, ast.Name | ast.Attribute):
            return operand
        with self._looking(scope):
            found = self.known_only(annotation)
        type = scalar_type(self.resolved(found.value)) if isinstance(found, Known) else None
        if type is None:
            return operand
        operand = self.computed(operand, span)
        if isinstance(operand, Runtime) and operand.type == type:
            return operand
        return Runtime(self.value(operand, type, span))

    def resolved(self, value: object) -> object:
        """A type, for a type variable of the kernel; other values as they are."""
        return self.type_variables.get(value, value) if isinstance(value, TypeVar) else value

    @contextmanager
    def _looking(self, scope: FunctionScope) -> Iterator[None]:
        """Names and places are those of another function meanwhile."""
        outer, text = self.scope, self.text
        self.scope, self.text = scope, scope.text
        try:
            yield
        finally:
            self.scope, self.text = outer, text

    @contextmanager
    def _inside(self, scope: FunctionScope, node: FunctionNode, name: str, span: Span) -> Iterator[None]:
        """A helper is translated meanwhile."""
        self.active.append((node, name, span))
        try:
            with self._looking(scope):
                yield
        except PythonFault as found:
            raise called_from(found, name, span) from None
        finally:
            self.active.pop()

    def report(self, found: PythonFault) -> None:
        """Keep what a fault says, with the calls of helpers that lead to it."""
        for _, name, span in reversed(self.active):
            found = called_from(found, name, span)
        super().report(found)

    @abstractmethod
    def block(self, body: Sequence[ast.stmt]) -> None:
        """Translate statements."""


Argument = tuple[Operand, Span]

STATEMENT_WORDS = {
    "foreach": "it stands in a loop: for i, j in gl.foreach(m, n)",
    "foreach_tile": "it stands in a loop: for (i, j), (m, n) in gl.foreach_tile(...)",
    "range": "it stands in a loop: for k in gl.range(n, unroll=4)",
    "unroll": "it stands in a loop: for k in gl.unroll(range(4))",
    "parallel": "it stands behind `with`: with gl.parallel():",
}
"""The words that are part of a statement."""


def called_from(found: PythonFault, name: str, span: Span) -> PythonFault:
    """A fault with a label for the call of the function that it is in."""
    if found.diagnostic is None:
        return found
    labels = found.diagnostic.labels or ((found.diagnostic.span, ""),)
    return PythonFault(replace(found.diagnostic, labels=(*labels, (span, f"`{name}` is called here"))))


def _head(text: FunctionSource, node: FunctionNode) -> Span:
    """The place of the first line of a function."""
    span = text.span(node)
    end = span.source.text.find("\n", span.start, span.end)
    return span if end < 0 else Span(span.source, span.start, end)


def _varying(*operands: Operand) -> bool:
    return any(isinstance(o, Known) and o.varies for o in operands)


def _is_natural(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _size(type: Type) -> int:
    return type.size if isinstance(type, Number) else 1
