"""Instructions and regions under construction, and the faults of what is translated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from girih.diagnostics import Diagnostic
from girih.front.python.codes import PythonFault, fault
from girih.front.python.operands import (
    Known,
    Label,
    LiteralChoice,
    Many,
    MatrixProduct,
    Memory,
    NamedMemory,
    Operand,
    Part,
    Runtime,
    Unset,
)
from girih.front.python.reading import FunctionSource
from girih.ir.build import RegionBuilder
from girih.ir.core import RegionKind, Value, is_name
from girih.ir.define import Where
from girih.ir.types import ERROR, CoopMatrix, GroupType, TensorLayoutType, TensorViewType, Type, Use
from girih.ops.tile import TILE_LANGUAGE
from girih.recursion import NESTING_LIMIT
from girih.source import Span

MOST_DIAGNOSTICS = 1000
"""Translation ends after as many."""


class KernelEmission:
    """The part of the translator that adds instructions to the region that is open."""

    def __init__(self, text: FunctionSource) -> None:
        self.text = text
        """The function whose statements are translated: the kernel, or a helper."""
        self.diagnostics: list[Diagnostic] = []
        self.builder = RegionBuilder(TILE_LANGUAGE)
        self.constants: list[dict[tuple[object, ...], Value]] = [{}]
        self.depth = 0
        self.named_memory: list[NamedMemory] = []
        """The names of memory that is no parameter, in the order in which they are set."""
        self.defaulted: dict[Value, str] = {}
        """The values of literals that a loop carries and that have a type by default, with their names."""

    # --- instructions ----------------------------------------------------------------------

    def add(
        self,
        mnemonic: str,
        *types: Type,
        span: Span,
        uses: Mapping[str, tuple[Span, ...]] | None = None,
        **fields: Any,
    ) -> tuple[Value, ...]:
        """The results of a new instruction in the region that is open, one for each of `types`.

        Raises `PythonFault` where the instruction does not stand in such a region.
        """
        where = TILE_LANGUAGE.ops[mnemonic].spec.where
        if where is Where.SPMD and self.is_collective:
            self.fail("region", "this is for work-items, and the code around it is the work-group's", span,
                      "put it into `with gl.parallel():`, gl.foreach or gl.foreach_tile")  # fmt: skip
        if where is Where.COLLECTIVE and not self.is_collective:
            hint = "move it out of `gl.parallel`, gl.foreach or gl.foreach_tile"
            if mnemonic in ("foreach", "foreach_tile"):
                hint = "a work-item loops over a range: for j in range(n); or share out all at once: gl.foreach(m, n)"
            self.fail("region", "this is for the work-group as a whole, and the code around it is that of work-items",
                      span, hint)  # fmt: skip
        return self.builder.add(mnemonic, *types, span=span, uses=uses, **fields)

    def constant(self, value: object, type: Type, span: Span) -> Value:
        """The value of a literal, for which an instruction is added unless an earlier one is visible."""
        return self.once((value.__class__, repr(value), type), lambda: self.add(
            "constant", type, span=span, uses={"value": (span,)}, value=value))  # fmt: skip

    def once(self, key: tuple[object, ...], make: Callable[[], tuple[Value, ...]]) -> Value:
        """The value of an instruction that has one result and is the same wherever it stands, by its key."""
        for known in self.constants:
            if key in known:
                return known[key]
        (made,) = make()
        self.constants[-1][key] = made
        return made

    @contextmanager
    def region(self, kind: RegionKind | None = None, *, closed: bool = False) -> Iterator[RegionBuilder]:
        """A builder for a region inside the open one, which is open meanwhile.

        In a `closed` one, constants from outside are made again.
        """
        outer, constants = self.builder, self.constants
        self.builder = outer.inner(kind)
        self.constants = [{}] if closed else [*constants, {}]
        try:
            with self.nested(self.text.whole):
                yield self.builder
        finally:
            self.builder, self.constants = outer, constants

    @property
    def is_collective(self) -> bool:
        """Whether the open region is executed by the work-group together."""
        return self.builder.kind is RegionKind.COLLECTIVE

    # --- faults ----------------------------------------------------------------------------

    def fail(
        self, rule: str, message: str, span: Span, hint: str | None = None, labels: tuple[Label, ...] = ()
    ) -> NoReturn:
        """Raise the fault of a rule, which ends the statement."""
        raise fault(rule, message, span, hint, labels)

    def report(self, found: PythonFault) -> None:
        """Keep what a fault says, unless it was said before."""
        if found.diagnostic is not None and found.diagnostic not in self.diagnostics:
            self.diagnostics.append(found.diagnostic)

    @contextmanager
    def nested(self, span: Span) -> Iterator[None]:
        """One level deeper in expressions, blocks and calls. Raises `PythonFault` beyond the limit."""
        if self.depth >= NESTING_LIMIT:
            self.fail("nesting", f"expressions, blocks and calls nest at most {NESTING_LIMIT} deep", span,
                      "give parts of it a name of their own")  # fmt: skip
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def span(self, node: ast.AST) -> Span:
        """The place of a node of the function that is translated."""
        return self.text.span(node)

    # --- words for operands ----------------------------------------------------------------

    def set(self, operand: Operand, span: Span) -> Operand:
        """An operand that may be read. Raises `PythonFault` for one that is not set."""
        if isinstance(operand, Unset):
            if not operand.message:
                raise PythonFault(None)
            labels = ((span, ""), *operand.labels) if operand.labels else ()
            self.fail(operand.rule, operand.message, span, operand.hint, labels)
        if isinstance(operand, Runtime) and operand.type == ERROR:
            raise PythonFault(None)
        return operand

    def named(self, operand: Operand, name: str) -> None:
        """Give a value of the ir that has no name yet that of Python."""
        if isinstance(operand, Runtime | Memory) and not operand.value.name and is_name(name):
            operand.value.name = name
            if isinstance(operand, Memory):
                self.named_memory.append(NamedMemory(name, operand.axes, operand.value.span))


def described(operand: Operand) -> str:
    """What an operand is, in words that a user knows: with its type."""
    match operand:
        case Known(value):
            return described_value(value)
        case Runtime(value):
            return described_type(value.type)
        case Memory() as memory:
            return described_memory(memory)
        case Part():
            return "a view"
        case MatrixProduct():
            return "a product of matrices"
        case LiteralChoice():
            return "a choice of literals"
        case Many(items):
            return f"a tuple of {len(items)}"
        case _:
            return "a name that is not set"


def described_value(value: object) -> str:
    """What a value of Python is, in words."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | complex):
        if isinstance(value, int) and value.bit_length() >= 128:
            return f"an integer of {value.bit_length()} bits"
        return f"the literal {value!r}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, type):
        return f"the type {value.__name__}"
    name = type(value).__name__
    if name in ("LocalFunction", "builtin_function_or_method"):
        return "a function"
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def described_type(type: Type) -> str:
    """What a value of a type is, in words."""
    if isinstance(type, CoopMatrix):
        use = "" if type.use is Use.ACC else f" with use {type.use.value}"
        return f"a {type.rows} x {type.columns} matrix of {type.component}{use}"
    if isinstance(type, GroupType):
        return "a group"
    if isinstance(type, TensorLayoutType | TensorViewType):
        return "a tensor layout" if isinstance(type, TensorLayoutType) else "a tensor view"
    return str(type)


def described_memory(memory: Memory) -> str:
    """What memory is, in words: an array with its rank and type of elements."""
    element = memory.type.element
    what = {0: "a scalar in memory", 1: "a vector", 2: "a matrix in memory"}.get(memory.rank)
    return f"{what or f'an array of rank {memory.rank}'} of {element}"
