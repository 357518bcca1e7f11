"""Operands as values of the ir: literals take the type that they need, everything else has it."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from girih.front.python.emission import KernelEmission, described, described_type
from girih.front.python.operands import Known, LiteralChoice, Many, MatrixProduct, Memory, Operand, Part, Runtime
from girih.ir.core import Slice, Value
from girih.ir.types import (
    BOOL,
    C32,
    F32,
    INDEX,
    SCALARS,
    Boolean,
    CoopMatrix,
    Extent,
    GroupType,
    MatrixScope,
    MemRef,
    Number,
    Type,
    Use,
    element_type,
)
from girih.language.foreign import INSTEAD
from girih.language.types import Number as WordNumber
from girih.ops.tile.coopmatrix import Checked
from girih.source import Span

Literal = bool | int | float | complex


def literal_of(value: object) -> Literal | None:
    """The number or truth value that a value of Python is; None if it is neither."""
    if isinstance(value, bool | int | float | complex):
        return value
    if type(value).__name__ == "bool":  # NumPy's
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return complex(value) if isinstance(value, numbers.Complex) else None


def scalar_type(value: object) -> Number | Boolean | None:
    """The type of the ir that a type of `girih.language` stands for; None for other values, Python's types included."""
    if isinstance(value, type) and issubclass(value, WordNumber):
        return SCALARS.get("bool" if value.__name__ == "bool_" else value.__name__)
    return None


_TYPES_OF_PYTHON = {"float": "gl.f32 or gl.f64", "int": "gl.i32, gl.i64 or gl.index", "complex": "gl.c32 or gl.c64",
                    "bool": "gl.bool_"}  # fmt: skip


def element_hint(value: object) -> str | None:
    """What to write in place of something that was taken for an element type: a dtype, a type of Python, a name."""
    name = value if isinstance(value, str) else str(getattr(value, "name", getattr(value, "__name__", "")))
    if name in _TYPES_OF_PYTHON:
        return f"say how large: {_TYPES_OF_PYTHON[name]}" if name != "bool" else "write gl.bool_"
    if name in SCALARS:
        return f"write gl.{name}"
    if name in INSTEAD and INSTEAD[name].startswith("gl."):
        return f"write {INSTEAD[name]}"
    if isinstance(value, int):
        return "sizes are one argument, a tuple: (m, n)"
    return None


def literal_hint(value: Literal, type: Number | Boolean) -> str | None:
    """What to write in place of a literal that is none of a type."""
    family = type.family if isinstance(type, Number) else "bool"
    if isinstance(value, complex):
        return "complex numbers have the types gl.c32 and gl.c64; a real one is written without j"
    if family == "integer" and isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2**63
        return f"write {int(value)}" if whole else f"convert it: gl.{type}({value!r}) drops the fraction"
    return None


def default_type(value: Literal) -> Number | Boolean:
    """The type of a literal where nothing decides."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INDEX
    return F32 if isinstance(value, float) else C32


class Conversions(KernelEmission, ABC):
    """The translator's part for values: numbers, indices, memory, matrices.

    The parts of the translator build on one another; what one leaves to a later one is abstract.
    """

    # --- numbers ---------------------------------------------------------------------------

    def literal(self, operand: Operand) -> Literal | None:
        """The number or truth value that an operand is while translating; None if it is none."""
        return literal_of(operand.value) if isinstance(operand, Known) else None

    def value(self, operand: Operand, type: Type, span: Span) -> Value:
        """An operand as a value of a type: a literal becomes a constant, everything else must have the type.

        Raises `PythonFault`.
        """
        if isinstance(operand, Part | Memory) and isinstance(type, Number | Boolean):
            self.fail("types", f"expected {described_type(type)}, found {described(operand)}", span,
                      "pick out one element, with an index for each axis")  # fmt: skip
        operand = self.computed(operand, span)
        if isinstance(operand, Known):
            return self.constant(self.fitted(operand, type, span), type, span)
        if isinstance(operand, LiteralChoice):
            return self._selected(operand, type, span)
        if isinstance(operand, Runtime) and operand.type == type:
            return operand.value
        found = described(operand)
        hint = self._value_hint(operand, type, span)
        self.fail("types", f"expected {described_type(type)}, found {found}", span, hint, self.origin(operand, span))

    def _value_hint(self, operand: Operand, type: Type, span: Span) -> str | None:
        """What makes an operand, of another type or of none, a value of a type."""
        if isinstance(operand, Many):
            return "pick out one item: t[0]"
        if not isinstance(operand, Runtime):
            return None
        if isinstance(operand.type, GroupType):
            return "pick out a member, then its element: A[i][j]"
        if isinstance(operand.type, CoopMatrix):
            return "a tile is stored to a tile: X[i:i + 16, j:j + 16] = m" if isinstance(type, Number) else None
        if isinstance(type, Number):
            return f"convert it: gl.{type}({span.text})"
        return "compare it: `!= 0`" if isinstance(type, Boolean) else None

    def _selected(self, choice: LiteralChoice, type: Type, span: Span) -> Value:
        """A choice of literals as a value of a type."""
        scalar = element_type(type)
        if scalar is None or isinstance(type, MemRef):
            self.fail("types", f"expected {described_type(type)}, found a number", span)
        a, b = self.value(choice.a, scalar, span), self.value(choice.b, scalar, span)
        (chosen,) = self.add("select", scalar, span=span, condition=choice.condition, a=a, b=b)
        if isinstance(type, CoopMatrix):
            (chosen,) = self.add("cooperative_matrix_construct", type, span=span, a=chosen)
        return chosen

    def open_literal(self, operand: Operand) -> Literal | None:
        """A literal that has the type by default of an operand that has none yet; None for an operand that has one."""
        if isinstance(operand, LiteralChoice):
            first, second = self.open_literal(operand.a), self.open_literal(operand.b)
            return second if isinstance(first, int) and not isinstance(second, int) else first
        return self.literal(operand)

    def origin(self, operand: Operand, span: Span) -> tuple[tuple[Span, str], ...]:
        """Labels for the place of a fault and for the place where its operand got its type."""
        if isinstance(operand, Runtime) and operand.value.span.source is span.source:
            made = operand.value.span
            if made.end <= span.start or span.end <= made.start:
                return ((span, f"this is {described(operand)}"), (made, "which comes from here"))
        return ()

    def fitted(self, operand: Known, type: Type, span: Span) -> Literal:
        """The literal of a type's own kind that a number of Python is. Raises `PythonFault` if it does not fit."""
        value = literal_of(operand.value)
        scalar = element_type(type)
        if value is None or scalar is None or isinstance(type, MemRef):
            self.fail("types", f"expected {described_type(type)}, found {described(operand)}", span,
                      known_hint(operand))  # fmt: skip
        family = "bool" if isinstance(scalar, Boolean) else scalar.family
        if isinstance(value, bool) or family == "bool":
            if isinstance(value, bool) and family == "bool":
                return value
            hint = (
                "a truth value is True or False"
                if family == "bool"
                else f"write `1 if ... else 0`, or gl.{scalar}(...)"
            )
            self.fail("literal", f"expected {scalar}, found {described(operand)}", span, hint)
        try:
            if family == "integer" and isinstance(value, int):
                return value
            if family == "floating" and isinstance(value, int | float):
                return float(value)
            if family == "complex":
                return complex(value)
        except OverflowError:
            self.fail("literal", f"{described(operand)} does not fit {scalar}", span, "write a smaller number")
        self.fail("literal", f"expected {described_type(scalar)}, found {described(operand)}", span,
                  literal_hint(value, scalar))  # fmt: skip

    def materialised(self, operand: Operand, span: Span) -> Runtime:
        """An operand as a value of the ir that is no memory; a literal gets the type that it has by default."""
        operand = self.computed(operand, span)
        if isinstance(operand, Runtime):
            return operand
        value = self.open_literal(operand)
        if value is None:
            self.fail("types", f"expected a number, found {described(operand)}", span, known_hint(operand))
        natural = isinstance(operand, Known) and isinstance(value, int) and value >= 0
        return Runtime(self.value(operand, default_type(value), span), natural)

    def computed(self, operand: Operand, span: Span) -> Operand:
        """An operand that is no view and no product that is still open: these become matrices."""
        operand = self.set(operand, span)
        if isinstance(operand, MatrixProduct):
            return Runtime(self.product(operand))
        if isinstance(operand, Part | Memory):
            return Runtime(self.matrix(operand, span))
        return operand

    def same(self, a: Operand, b: Operand, spans: tuple[Span, Span], what: str) -> tuple[Value, Value]:
        """Two operands as values of one type; a literal takes the type of the other. Raises `PythonFault`."""
        a, b = self.computed(a, spans[0]), self.computed(b, spans[1])
        self._refuse_mixed(a, b, spans, what)
        if isinstance(a, Known | LiteralChoice) and isinstance(b, Runtime):
            return self.value(a, b.type, spans[0]), b.value
        if isinstance(b, Known | LiteralChoice) and isinstance(a, Runtime):
            return a.value, self.value(b, a.type, spans[1])
        if isinstance(a, Known | LiteralChoice) and isinstance(b, Known | LiteralChoice):
            first, second = self.open_literal(a), self.open_literal(b)
            wider = first if isinstance(second, int) and not isinstance(first, int) else second
            if wider is not None:
                type = default_type(wider)
                return self.value(a, type, spans[0]), self.value(b, type, spans[1])
        if not isinstance(a, Runtime) or not isinstance(b, Runtime):
            guilty, at = (a, spans[0]) if not isinstance(a, Runtime | Known | LiteralChoice) else (b, spans[1])
            self.fail("operator", f"{what} takes numbers or matrices, found {described(guilty)}", at)
        if a.type != b.type:
            self._differ(a, b, spans, what)
        return a.value, b.value

    def _refuse_mixed(self, a: Operand, b: Operand, spans: tuple[Span, Span], what: str) -> None:
        """Refuse a float literal beside an integer: most often a float is meant."""
        for literal, other, at in ((a, b, spans[1]), (b, a, spans[0])):
            value = self.open_literal(literal)
            scalar = other.type if isinstance(other, Runtime) else None
            if isinstance(value, float) and isinstance(scalar, Number) and scalar.family == "integer":
                whole = Span(spans[0].source, spans[0].start, max(spans[0].end, spans[1].end))
                instead = f", or write {int(value)}" if value.is_integer() and abs(value) < 2**63 else ""
                self.fail("types", f"{what} takes two of one type, found {described(a)} and {described(b)}", whole,
                          f"convert the integer: gl.f32({at.text}){instead}")  # fmt: skip

    def _differ(self, a: Runtime, b: Runtime, spans: tuple[Span, Span], what: str) -> None:
        first, second = element_type(a.type), element_type(b.type)
        hint = None
        if isinstance(a.type, Number | Boolean) and isinstance(b.type, Number | Boolean):
            wide, narrow = (a, spans[1]) if _rank(a.type) >= _rank(b.type) else (b, spans[0])
            hint = f"convert one of them: gl.{_word(wide.type)}({narrow.text})"
            for one, other in ((a, b), (b, a)):
                if one.value in self.defaulted:
                    name = self.defaulted[one.value]
                    hint = f"a loop carries the literal `{name}`, and nothing in it says its type: begin with "
                    hint += f"{name} = gl.{_word(other.type)}(...)"
        elif isinstance(first, Number) and isinstance(second, Number) and first != second:
            hint = f"convert one of them: gl.cast(..., gl.{first})"
        elif isinstance(a.type, CoopMatrix) and isinstance(b.type, CoopMatrix) and a.type.use is not b.type.use:
            hint = 'load it once more as it is needed here: gl.load(X[...], "matrix_acc")'
        labels = (*_label(a, spans[0]), *_label(b, spans[1]))
        whole = Span(spans[0].source, spans[0].start, max(spans[0].end, spans[1].end))
        self.fail(
            "types", f"{what} takes two of one type, found {described(a)} and {described(b)}", whole, hint, labels
        )

    def known(self, operand: Operand, what: str, span: Span) -> object:
        """What an operand is while translating. Raises `PythonFault`, which says `what` must be known."""
        operand = self.set(operand, span)
        if isinstance(operand, Known) and not operand.varies:
            return operand.value
        if isinstance(operand, Many):
            return tuple(self.known(item, what, span) for item in operand.items)
        if isinstance(operand, Known):
            self.fail("constant", f"{what} must be known while the kernel is translated; a loop changes it", span)
        self.fail("constant", f"{what} must be known while the kernel is translated, found {described(operand)}", span,
                  "make it a parameter with the annotation gl.constant, or a number")  # fmt: skip

    def known_integer(self, operand: Operand, what: str, span: Span) -> int:
        """The integer that an operand is while translating. Raises `PythonFault`."""
        value = literal_of(self.known(operand, what, span))
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.fail("constant", f"{what} must be an integer, found {described(operand)}", span)

    def index(self, operand: Operand, span: Span, what: str = "an index") -> Value:
        """An operand as a value of index type. Raises `PythonFault`, also for a literal below 0."""
        value = self.literal(operand)
        if isinstance(value, int) and not isinstance(value, bool) and value < 0:
            self.fail("index", f"{what} counts from 0, found {value}", span,
                      "count from the end with the size: X.shape[0] - 1")  # fmt: skip
        return self.value(operand, INDEX, span)

    def position(self, operand: Operand, span: Span, what: str = "an index") -> Value | int:
        """An operand as a value of index type, or as a literal where it is one. Raises `PythonFault`."""
        value = self.literal(operand)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0 and not _varies(operand):
            return value
        return self.index(operand, span, what)

    # --- memory ----------------------------------------------------------------------------

    def memory(self, operand: Operand, span: Span) -> Memory:
        """An operand as memory; a slice becomes a subview. Raises `PythonFault`."""
        operand = self.set(operand, span)
        if isinstance(operand, Memory):
            return operand
        if isinstance(operand, Part):
            return self.subview(operand)
        self.fail("types", f"expected an array or a view, found {described(operand)}", span)

    def subview(self, part: Part) -> Memory:
        """The view of a slice, for which an instruction is added."""
        memory = part.memory
        sizes: list[Value | int | None] = []
        extents: list[Extent] = []
        for axis, size in enumerate(part.sizes):
            if part.dropped[axis]:
                sizes.append(None)
                extents.append(None)
                continue
            written, extent = self._rest(part, axis) if size is None else (size, size)
            sizes.append(written)
            extents.append(extent)
        whole = all(
            o == 0 and not d and e is not None and e == s
            for o, d, e, s in zip(part.offsets, part.dropped, extents, memory.sizes, strict=True)
        )
        if whole:
            return memory
        slices = tuple(Slice(part.offsets[axis], sizes[axis]) for axis in memory.axes)
        kept = [axis for axis in memory.axes if not part.dropped[axis]]
        type = MemRef(
            memory.type.element,
            tuple(extents[axis] for axis in kept),
            tuple(memory.type.strides[memory.mode(axis)] for axis in kept),
            memory.type.space,
        )
        (view,) = self.add("subview", type, span=part.span, tensor=memory.value, slices=slices)
        names = sorted(kept)
        return Memory(view, tuple(names.index(axis) for axis in kept), memory.checked)

    def _rest(self, part: Part, axis: int) -> tuple[Value | int, Extent]:
        """The size of what lies behind the offset of an axis: as it is written, and in the type."""
        size, offset = part.memory.sizes[axis], part.offsets[axis]
        if size is not None and isinstance(offset, int):
            return max(size - offset, 0), max(size - offset, 0)
        whole = self.size(part.memory, axis, part.span)
        if offset == 0:
            return whole, None
        given = self.constant(offset, INDEX, part.span) if isinstance(offset, int) else offset
        (rest,) = self.add("sub", INDEX, span=part.span, a=whole, b=given)
        return rest, None

    def size(self, memory: Memory, axis: int, span: Span) -> Value:
        """The size of an axis, as a value."""
        known = memory.sizes[axis]
        if known is not None:
            return self.constant(known, INDEX, span)
        return self.once(("size", memory.value, memory.mode(axis)), lambda: self.add(
            "size", INDEX, span=span, tensor=memory.value, mode=memory.mode(axis)))  # fmt: skip

    # --- matrices --------------------------------------------------------------------------

    def part(self, operand: Memory | Part, span: Span) -> Part:
        """Memory as a slice, of all of it if it is none."""
        if isinstance(operand, Part):
            return operand
        rank = operand.rank
        return Part(operand, (0,) * rank, operand.sizes, (False,) * rank, span)

    def matrix(self, operand: Operand, span: Span, use: Use | None = None, scope: MatrixScope | None = None) -> Value:
        """An operand as a matrix of a use and scope; a view of constant sizes is loaded, here.

        An accumulator becomes a factor by a cast, which changes no number. Raises `PythonFault`.
        """
        operand = self.set(operand, span)
        if isinstance(operand, MatrixProduct):
            operand = Runtime(self.product(operand, scope))
        if isinstance(operand, Part | Memory):
            return self.loaded(self.part(operand, span), span, use or Use.ACC, scope or MatrixScope.SUBGROUP)
        if not isinstance(operand, Runtime) or not isinstance(operand.type, CoopMatrix):
            self.fail("types", f"expected a matrix, or a view of one, found {described(operand)}", span,
                      "gl.full(shape, value, dtype) is a tile of one number in all components")  # fmt: skip
        type = operand.type
        if use is None or type.use is use:
            return operand.value
        if type.use is not Use.ACC:
            self.fail("types", f"expected a matrix with use {use.value}, found use {type.use.value}", span,
                      "load the view once more where it has the other use", self.origin(operand, span))  # fmt: skip
        (turned,) = self.add("cast", replace(type, use=use), span=span, a=operand.value)
        return turned

    def loaded(self, part: Part, span: Span, use: Use, scope: MatrixScope, check: Checked | None = None) -> Value:
        """The matrix of a tile; `check` is the direction in which it may reach over the edge. Raises `PythonFault`."""
        if self.is_collective:
            count = part.dropped.count(False)
            points = ", ".join("ijklm"[:count]) or "i"
            sizes = "*X.shape" if count > 1 else "X.shape[0]"
            loop = f"loop over its elements: for {points} in gl.foreach({sizes}): ... X[{points}]"
            tiles = "; or put tiles of constant size into `with gl.parallel():`, or call a collective such as gl.gemm"
            self.fail("view", "a view is loaded as a matrix by work-items, and this code is the work-group's", span,
                      loop + (tiles if count == 2 else ""))  # fmt: skip
        place, (rows, columns), memory = self.tile(part, span, "loaded as a matrix")
        type = CoopMatrix(memory.type.element, rows, columns, use, scope)
        (tile,) = self.add("cooperative_matrix_load", type, span=span, uses={"memory": (part.span,)},
                           checked=check or checks(memory), **place)  # fmt: skip
        return tile

    def tile(self, part: Part, span: Span, what: str) -> tuple[dict[str, Any], tuple[int, int], Memory]:
        """The fields of an access to a tile, its rows and columns, and the memory that it lies in.

        `what` is done with it. Where the memory lies transposed, so does the tile. Raises `PythonFault`.
        """
        memory = part.memory
        kept = [axis for axis in range(memory.rank) if not part.dropped[axis]]
        if len(kept) != 2:
            self.fail("view", f"a view with 2 axes is {what}; this one has {len(kept)}", span,
                      _axes_hint(memory.rank, len(kept)))  # fmt: skip
        rows, columns = (part.sizes[axis] for axis in kept)
        if rows is None or columns is None:
            self.fail("view", f"a view that is {what} has constant sizes", span,
                      "write the length of each slice: X[i:i + 32, k:k + 32]")  # fmt: skip
        if len(kept) < memory.rank:
            memory, first, second = self._plane(part, kept)
        else:
            first, second = (self._offset(part, axis) for axis in kept)
        row, column = memory.in_modes((first, second))
        place = {"memory": memory.value, "row": row, "column": column, "transpose": memory.axes == (1, 0)}
        return place, (rows, columns), memory

    def _offset(self, part: Part, axis: int) -> Value:
        offset = part.offsets[axis]
        return self.constant(offset, INDEX, part.span) if isinstance(offset, int) else offset

    def _plane(self, part: Part, kept: list[int]) -> tuple[Memory, Value, Value]:
        """The whole plane that a slice of memory with more than two axes lies in, and the place of the slice there."""
        rank = part.memory.rank
        offsets = tuple(0 if axis in kept else part.offsets[axis] for axis in range(rank))
        whole = Part(part.memory, offsets, tuple(part.memory.sizes), part.dropped, part.span)
        plane = self.subview(whole)
        first, second = (self._offset(part, axis) for axis in kept)
        return plane, first, second

    @abstractmethod
    def product(self, product: MatrixProduct, scope: MatrixScope | None = None) -> Value:
        """A product that is added to zeros."""


def _axes_hint(rank: int, kept: int) -> str:
    """What to write in place of a view that is no matrix, by its axes and those of its memory."""
    if kept == 1 and rank > 1:
        return "keep a second axis: X[i:i + 1, :]"
    if kept == 1:
        return "gl.expand(v, 0, (1, n)) is a row of n, which has two axes; or index an element: v[i]"
    return "index an element"


def known_hint(operand: Operand) -> str | None:
    """What to write in place of a value of Python that is no number."""
    if not isinstance(operand, Known):
        return None
    value = operand.value
    if value is None:
        return "a function gives None where it ends without `return` of a value"
    if isinstance(value, str):
        return "a number is written without quotation marks; strings stand in print, and are compared with constants"
    if isinstance(value, type):
        return "a type is called to convert: gl.f32(x)"
    return "a function is called with its arguments: f(x)" if callable(value) else None


def checks(memory: Memory) -> Checked:
    """The modifier of loads and stores of tiles of some memory."""
    return Checked.BOTH if memory.checked else Checked.NONE


def _varies(operand: Operand) -> bool:
    return isinstance(operand, Known) and operand.varies


def _rank(type: Type) -> tuple[int, int]:
    """A rank of scalar types: the one of two to convert to has the higher."""
    if not isinstance(type, Number):
        return (0, 0)
    return ("integer", "floating", "complex").index(type.family) + 1, type.size


def _word(type: Type) -> str:
    return "bool_" if isinstance(type, Boolean) else str(type)


def _label(operand: Runtime, span: Span) -> tuple[tuple[Span, str], ...]:
    name = f"this is {described(operand)}"
    made = operand.value.span
    apart = made.source is span.source and (made.end <= span.start or span.end <= made.start)
    if apart and made.start < made.end:
        return ((span, name), (made, f"{described(operand)} comes from here"))
    return ((span, name),)
