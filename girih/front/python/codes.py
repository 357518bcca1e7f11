"""All codes of kernels in Python, with their meanings, and the fault that ends a statement."""

from __future__ import annotations

from girih.diagnostics import Diagnostic
from girih.source import Span

PYTHON_CODES: dict[str, str] = {
    "python.source": "the text of a kernel can be read: it stands in a file, a module or a cell of a notebook",
    "python.import": "a file of Python that a command is given can be imported",
    "python.function": "a kernel is a function that is defined with `def`, with annotated parameters by name",
    "python.annotation": "an annotation is a type of girih.language",
    "python.statement": "the statement is one that the language has",
    "python.expression": "the expression is one that the language has",
    "python.word": "a name of girih.language has a meaning in kernels",
    "python.call": "what is called is a word, a type, a function of Python with a meaning here, or the user's own",
    "python.arguments": "a call has the arguments that the function takes",
    "python.recursion": "no function calls itself, directly or through others",
    "python.nesting": "expressions, blocks and calls nest at most 256 deep",
    "python.name": "a name is one of the function, or of a module or function around it",
    "python.unset": "a name is set on every way to the place where it is read",
    "python.types": "both sides of an operator have one type; conversions are written",
    "python.two_types": "a name has one type wherever ways through the program meet",
    "python.literal": "a literal fits the type that its place needs",
    "python.constant": "what decides the program is known while it is translated",
    "python.operator": "the operator has a meaning for its operands",
    "python.condition": "a condition is a truth value: a bool, or a comparison of numbers",
    "python.index": "there is an index or a slice for each axis at most, and none is negative",
    "python.slice": "the length of a slice is a constant, and its step is 1",
    "python.attribute": "values have the attributes `shape`, `ndim`, `dtype` and `T`",
    "python.view": "a view is not a number or a matrix: its elements are read and set through indices",
    "python.region": "what the work-group does as a whole stands outside of regions, what work-items do inside",
    "python.order": "arrays lie in memory in an order that the word can go through",
    "python.assignment": "what is assigned to is a name, a tuple of names, or elements of an array",
    "python.loop": "a loop goes through a range, a tuple, `gl.foreach`, `gl.foreach_tile` or `gl.unroll`",
    "python.carried": "what a loop hands on from one iteration to the next is a number, a bool or a matrix",
    "python.points": "the points of a `foreach` have no order: none reads what another one sets",
    "python.return": "`return` ends a function, `continue` an iteration, on all ways of a branch; none leaves a region",
    "python.capture": "what a kernel reads from outside is a number, a string, a type, a tuple, a function or a module",
    "python.grid": "the grid of a kernel is a lambda of its parameters: sizes, integers, + - * //, min, max, gl.cdiv",
    "python.specialisation": "what a kernel is translated for has facts for each of its parameters",
}
"""The meaning of every code, as a rule."""


class PythonFault(Exception):
    """What is wrong with a statement, whose translation ends; without a diagnostic it was said before."""

    def __init__(self, diagnostic: Diagnostic | None) -> None:
        super().__init__(diagnostic.message if diagnostic else "")
        self.diagnostic = diagnostic


def fault(
    rule: str, message: str, span: Span, hint: str | None = None, labels: tuple[tuple[Span, str], ...] = ()
) -> PythonFault:
    """The fault of a rule, the part of its code behind `python.`."""
    return PythonFault(Diagnostic(f"python.{rule}", message, span, labels=labels, hint=hint))
