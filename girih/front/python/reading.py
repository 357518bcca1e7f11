"""The text and the syntax tree of a function, with the place in its file of every node.

The text comes from `linecache`, which knows files, modules and cells of notebooks. Columns of the syntax tree count
bytes, those of a `Span` code points; a function that is indented is read within a block, so that columns stay as they
are in the file.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from girih.diagnostics import CompileError, Diagnostic
from girih.front.python.codes import PythonFault, fault
from girih.source import NOWHERE, Source, Span

FunctionNode = ast.FunctionDef | ast.Lambda


class FunctionSource:
    """A function of Python with its syntax tree: `node` is its definition, `span` gives the place of a node."""

    def __init__(self, function: types.FunctionType, node: FunctionNode, source: Source, shift: int) -> None:
        self.function = function
        self.node = node
        self.source = source
        self._shift = shift
        self._lines: dict[int, tuple[int, bytes | None]] = {}

    def of_decorator(self, function: object) -> FunctionSource | None:
        """The text of a lambda that stands in a decorator of this function; None for any other function."""
        if not isinstance(function, types.FunctionType) or not isinstance(self.node, ast.FunctionDef):
            return None
        code = function.__code__
        if code.co_name != "<lambda>" or code.co_filename != self.source.name:
            return None
        lambdas = [n for d in self.node.decorator_list for n in ast.walk(d) if isinstance(n, ast.Lambda)]
        here = _lambdas_of(function, lambdas, self._shift)
        return FunctionSource(function, here[0], self.source, self._shift) if len(here) == 1 else None

    @property
    def name(self) -> str:
        """The name of the function; that of a lambda is `<lambda>`."""
        return self.function.__name__

    def span(self, node: ast.AST) -> Span:
        """The place of a node in the file."""
        line, column = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
        last, end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", 0)
        if line is None or last is None:
            return self.whole
        return Span(self.source, self._offset(line, column), self._offset(last, end or 0))

    def _offset(self, line: int, column: int) -> int:
        known = self._lines.get(line)
        if known is None:
            known = self._lines[line] = self._line(line + self._shift)
        start, text = known
        return start + (column if text is None else len(text[:column].decode("utf-8", "ignore")))

    def _line(self, number: int) -> tuple[int, bytes | None]:
        """Where a line begins, and its bytes, where these are not its code points."""
        try:
            text = self.source.line(number)
            return self.source.start_of(number), None if text.isascii() else text.encode()
        except IndexError:
            return len(self.source.text), b""

    @cached_property
    def whole(self) -> Span:
        """The place of the function's head: `def` with the name, or the lambda."""
        node = self.node
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.Lambda):
            return Span(self.source, start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0))
        return Span(self.source, start, start + len("def ") + len(node.name))

    @cached_property
    def body(self) -> Span:
        """The place of the statements of the function."""
        node = self.node
        if isinstance(node, ast.Lambda):
            return self.span(node.body)
        return Span(self.source, self.span(node.body[0]).start, self.span(node.body[-1]).end)


WRAPPED = "whose work a kernel would not do"


def is_wrapped(function: object) -> bool:
    """Whether a function is what a decorator such as `functools.wraps` or `lru_cache` has put around another."""
    return hasattr(function, "__wrapped__") and type(function) in (types.FunctionType, type(lru_cache(_name)))


def is_kernel(function: object) -> bool:
    """Whether something is a kernel, in Python or of a text."""
    kind = type(function)
    return kind.__module__.startswith("girih.") and any(base.__name__.endswith("Kernel") for base in kind.__mro__)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", function))


def read_function(function: object) -> FunctionSource:
    """The text of a function. Raises `PythonFault` where it is none, or its text cannot be had."""
    if is_wrapped(function):
        raise fault("function", f"{_name(function)} is wrapped by another decorator, {WRAPPED}", NOWHERE,
                    "leave that decorator out; above @girih.kernel it is called with each launch")  # fmt: skip
    if is_kernel(function):
        raise fault("function", f"{_name(function)} is a kernel already", NOWHERE,
                    "give all options to one @girih.kernel; another one takes its `.function`")  # fmt: skip
    plain = inspect.unwrap(function) if callable(function) else function
    if not isinstance(plain, types.FunctionType):
        raise fault("function", f"expected a function defined with `def`, found {_kind(function)}", NOWHERE,
                    "write @girih.kernel above `def`, or pass the function itself")  # fmt: skip
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise fault("function", f"expected a function defined with `def`, found `async def {plain.__name__}`", NOWHERE,
                    "write `def`: a kernel runs at once")  # fmt: skip
    code = plain.__code__
    lines = linecache.getlines(code.co_filename, plain.__globals__)
    if not lines or code.co_firstlineno > len(lines):
        raise _no_source(plain)
    source = Source("".join(lines), code.co_filename)
    try:
        tree, shift = _tree(lines, code.co_firstlineno, whole=code.co_name == "<lambda>")
    except (SyntaxError, ValueError):
        raise _no_source(plain, changed=True) from None
    except (RecursionError, MemoryError):
        raise fault("nesting", f"the function {plain.__name__} nests too deep to be read", NOWHERE) from None
    node = _node_of(plain, tree, shift)
    if node is None:
        raise _no_source(plain, changed=True)
    return FunctionSource(plain, node, source, shift)


def _tree(lines: list[str], first: int, *, whole: bool) -> tuple[ast.Module, int]:
    """The syntax tree of a function's lines, or of the whole file, and what is added to its line numbers."""
    if whole:
        # A lambda may begin in the middle of a statement.
        return _parsed("".join(lines)), 0
    rest = lines[first - 1 :]
    indented = rest[0][:1] in (" ", "\t")
    head, shift = ("if 1:\n", first - 2) if indented else ("", first - 1)
    for end in islice(_possible_ends(rest), _MOST_ENDS):
        try:
            return ast.parse(head + "".join(rest[:end])), shift
        except SyntaxError:
            continue
    return ast.parse(head + "".join(inspect.getblock(rest))), shift


_MOST_ENDS = 8
"""So many ends of a function are tried before its lines are split into tokens, which takes longer than to parse it."""


def _possible_ends(lines: Sequence[str]) -> Iterator[int]:
    """Where a function that begins with the first line may end: before lines that are indented no more than its head.

    Such a line may also stand in a text of several lines, or in brackets; what is before it is no whole function then.
    """
    head = len(lines[0]) - len(lines[0].lstrip())
    in_body = False
    for number, line in enumerate(lines):
        bare = line.lstrip()
        if not bare or bare[0] == "#":
            continue
        if len(line) - len(bare) > head:
            continue
        if in_body:
            yield number
        in_body = in_body or bare.startswith(("def ", "async "))
    yield len(lines)


@lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module:
    """The syntax tree of a whole file, which its lambdas share."""
    return ast.parse(text)


def _node_of(function: types.FunctionType, tree: ast.Module, shift: int) -> FunctionNode | None:
    """The definition of a function in the tree of its block; None where it is not there: the file was changed."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_name == "<lambda>":
        lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _parameters(n) == names]
        here = lambdas if len(lambdas) == 1 else _lambdas_of(function, lambdas, shift)
        return here[0] if len(here) == 1 else None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _parameters(node) == names:
            return node
    return None


def _lambdas_of(function: types.FunctionType, lambdas: Iterable[ast.Lambda], shift: int) -> list[ast.Lambda]:
    """The lambdas among some that stand where the code of a function does."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    # Where a code begins, an instruction of no width stands at the start of the line.
    first = next((p for p in code.co_positions() if p[0] is not None and None is not p[2] != p[3]), None)
    return [n for n in lambdas if first is not None and _parameters(n) == names and _contains(n.body, first, shift)]


def _contains(node: ast.expr, place: tuple[int | None, int | None, int | None, int | None], shift: int) -> bool:
    line, _, column, _ = place
    last = node.end_lineno or node.lineno
    if line is None or column is None or not node.lineno + shift <= line <= last + shift:
        return False
    after = line > node.lineno + shift or column >= node.col_offset
    return after and (line < last + shift or column < (node.end_col_offset or 0))


def _parameters(node: FunctionNode) -> tuple[str, ...]:
    given = node.args
    return tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _no_source(function: types.FunctionType, *, changed: bool = False) -> PythonFault:
    code = function.__code__
    where = f"{code.co_filename}, line {code.co_firstlineno}"
    if changed:
        return fault(
            "source",
            f"the text of {function.__name__} is not at {where} any more: the file was changed",
            NOWHERE,
            "import the module again, or start anew",
        )
    return fault(
        "source",
        f"a kernel is read from its text, and that of {function.__name__} cannot be had: it was defined at {where}",
        NOWHERE,
        "put the function into a file, a module or a cell of a notebook; `exec` and Python's plain prompt keep no text",
    )


def _kind(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a value of {type(value).__name__}"


def raise_fault(found: PythonFault) -> None:
    """Raise what a fault says as a `CompileError`."""
    diagnostic = found.diagnostic or Diagnostic("python.statement", "the kernel is in error", NOWHERE)
    raise CompileError([diagnostic])
