"""The parser of types (003 "Types"); white space is free between all tokens, also around `x`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NoReturn, TypeVar

from girih.diagnostics import nearest
from girih.front.text import hints
from girih.front.text.cursor import Cursor, kind_of
from girih.front.text.definitions import LARGEST
from girih.front.text.lexer import DEFINITION, INTEGER, WORD
from girih.ir.language import Language
from girih.ir.types import (
    NUMBERS,
    SCALARS,
    AddressSpace,
    ClampMode,
    CoopMatrix,
    Extent,
    GroupType,
    MapMode,
    MatrixScope,
    MemRef,
    Number,
    TensorLayoutType,
    TensorMapType,
    TensorViewType,
    Type,
    Use,
    packed_strides,
)
from girih.source import Source

_COMPOSITES: dict[str, type[Type]] = {
    "memref": MemRef,
    "group": GroupType,
    "coopmatrix": CoopMatrix,
    "tensor_layout": TensorLayoutType,
    "tensor_view": TensorViewType,
    "tensor_map": TensorMapType,
}
TYPE_KEYWORDS = tuple(_COMPOSITES)
"""The words that types with angle brackets begin with."""

_ELEMENT = re.compile("|".join(sorted(SCALARS, key=len, reverse=True)))
_PLAIN = re.compile(
    r"(?:memref|group|coopmatrix|tensor_layout|tensor_view|tensor_map)<[^;$<>{}]*(?:<[^;$<>{}]*(?:<[^;$<>{}]*>)?[^;$<>{}]*>)?[^;$<>{}]*>"
)
_STATIC_SIZES = re.compile(r"(?:x[0-9]{1,18})+", re.ASCII)
_MATRIX_ORDER = "the order is component type and shape, use, scope"
_MAP_ORDER = "the order is element type, rank, mode: tensor_map<f16,2,tiled>"
_ORDER = "the order is element and shape, strided<...>, address space"
_CACHE_LIMIT = 10_000

Choice = TypeVar("Choice", bound=Enum)


class TypeParser(Cursor):
    """The parser's part for the types of a language; a type that was read before is looked up by its text."""

    def __init__(self, source: Source, language: Language) -> None:
        super().__init__(source)
        self.language = language
        self.types = language.types
        self.known_types: dict[str, Type] = {}

    def type(self) -> Type:
        """A type, also from a definition. Raises `SyntaxFault`."""
        lexer = self.lexer
        scalar = SCALARS.get(lexer.text)
        if scalar is not None and lexer.kind == WORD and type(scalar) in self.types:
            lexer.advance()
            return scalar
        if lexer.kind == DEFINITION:
            span = lexer.span
            value = self.definition().value
            if not isinstance(value, Type):
                self.fail("definition.kind", f"expected a type, `{span.text}` holds {kind_of(value)}", span)
            return value
        if lexer.kind != WORD or _COMPOSITES.get(lexer.text) not in self.types:
            self._no_type()
        plain = _PLAIN.match(lexer.string, lexer.start)
        text = plain.group() if plain else None
        if text is not None and text in self.known_types:
            lexer.jump(lexer.start + len(text))
            return self.known_types[text]
        start = lexer.start
        type_ = self._composite()
        if (
            text is not None
            and lexer.string[start : lexer.previous_end] == text
            and len(self.known_types) < _CACHE_LIMIT
        ):
            self.known_types[text] = type_
        return type_

    def _no_type(self) -> NoReturn:
        lexer = self.lexer
        if lexer.kind != WORD:
            self.expected("a type")
        if lexer.text == "void":
            self.fail("type.void", "no value has type void", hint="leave the type out")
        scalars = [word for word, scalar in SCALARS.items() if type(scalar) in self.types]
        known = (*scalars, *(word for word, declared in _COMPOSITES.items() if declared in self.types))
        hint = hints.for_type(lexer.text)
        if hint is None:
            close = nearest(lexer.text, known)
            hint = f"did you mean `{close}`?" if close else "the types are " + ", ".join(known)
        self.fail("type.unknown", f"there is no type `{lexer.text}`", hint=hint)

    def _composite(self) -> Type:
        lexer = self.lexer
        keyword = lexer.text
        lexer.advance()
        self.expect("<")
        match keyword:
            case "memref":
                return self._memref()
            case "group":
                return self._group()
            case "tensor_layout":
                return self._tensor_layout()
            case "tensor_view":
                return self._tensor_view()
            case "tensor_map":
                return self._tensor_map()
            case _:
                return self._coopmatrix()

    def element(self) -> Number:
        """The element type before a shape; `f32x4` is one word, of which only `f32` is taken. Raises `SyntaxFault`."""
        lexer = self.lexer
        span = lexer.span
        if lexer.kind == DEFINITION:
            value = self.definition().value
            if not isinstance(value, Number):
                self.fail("type.element", f"expected a number type, `{span.text}` holds something else", span)
            return value
        if lexer.kind != WORD:
            first = "the element type stands before the shape: memref<f32x4x8>"
            self.expected("a number type", first if lexer.kind == INTEGER or self.at("?") else None)
        match = _ELEMENT.match(lexer.text)
        rest = lexer.text[match.end() :] if match else ""
        if match is None or (rest and rest[0] != "x"):
            hint = hints.for_type(lexer.text.split("x")[0]) or "the number types are " + ", ".join(NUMBERS)
            self.fail("type.element", f"expected a number type, found `{lexer.text}`", hint=hint)
        if match.group() not in NUMBERS:
            self.fail("type.element", "bool is not an element type", hint="use i8 and compare with 0")
        if rest:
            lexer.split(match.end())
        lexer.advance()
        return NUMBERS[match.group()]

    def extent(self, what: str) -> Extent:
        """An integer, or None for `?`. Raises `SyntaxFault`, which says that `what` was expected."""
        if self.accept("?"):
            return None
        lexer = self.lexer
        if lexer.kind not in (INTEGER, DEFINITION):
            unknown = "`?` is what is known at launch only; a `$name` is defined before, or when the program is loaded"
            self.expected(f"{what}: an integer or `?`", unknown if lexer.kind == WORD or self.at("*") else None)
        return self.integer(what)

    def _memref(self) -> MemRef:
        element = self.element()
        shape = self._shape()
        strides: tuple[Extent, ...] | None = None
        space = AddressSpace.GLOBAL
        if self.accept(","):
            if self.accept("strided"):
                strides = self._strides()
                if self.accept(","):
                    space = self._space()
            else:
                space = self._space()
        self.expect(">", _ORDER if self.at(",") else "a shape is written f32x4x8: `x` before each size")
        return MemRef(element, tuple(shape), packed_strides(shape) if strides is None else strides, space)

    def _shape(self) -> list[Extent]:
        start = self.lexer.start
        shape: list[Extent] = []
        elements = 1
        while self.at_x():
            sizes = self._static_sizes()
            if not sizes:
                self.expect("x")
                sizes = [self.extent("a mode size")]
            shape += sizes
            for size in sizes:
                elements *= max(1, size or 1)
                if elements > LARGEST:
                    self.fail("type.size", "the static modes have more than 2^63 - 1 elements", self.lexer.since(start))
        return shape

    def _static_sizes(self) -> list[Extent]:
        """The sizes in a word such as `x4x8`, read at once; empty if the word is anything else."""
        word = self.lexer.text
        if not _STATIC_SIZES.fullmatch(word):
            return []
        self.lexer.advance()
        return [int(size) for size in word.split("x")[1:]]

    def _strides(self) -> tuple[Extent, ...]:
        self.expect("<")
        strides: list[Extent] = []
        if not self.at(">"):
            strides.append(self.extent("a stride"))
            while self.accept(","):
                strides.append(self.extent("a stride"))
        self.expect(">")
        return tuple(strides)

    def _space(self) -> AddressSpace:
        for space in AddressSpace:
            if self.accept(space.value):
                return space
        self.expected("`global` or `local`", _ORDER)

    def _group(self) -> GroupType:
        lexer = self.lexer
        span = lexer.span
        if lexer.kind == WORD and lexer.text != "memref":
            self.fail("type.group", f"a group holds memrefs, found `{lexer.text}`", span, "group<memref<f32x16>x8>")
        memref = self.type()
        if not isinstance(memref, MemRef):
            self.fail("type.group", f"a group holds memrefs, `{span.text}` is {memref}", span)
        self.expect("x", "a group has a size: group<memref<f32x16>x8> or x?")
        size = self.extent("a group size")
        offset: Extent = 0
        if self.accept(","):
            self.expect("offset")
            self.expect(":")
            offset = self.extent("an offset")
        self.expect(">")
        return GroupType(memref, size, offset)

    def _coopmatrix(self) -> CoopMatrix:
        component = self.element()
        self.expect("x")
        rows = self.integer("the number of rows")
        self.expect("x")
        columns = self.integer("the number of columns")
        self.expect(",")
        use = self._one_of(Use, "matrix_a, matrix_b or matrix_acc", _MATRIX_ORDER)
        scope = MatrixScope.SUBGROUP
        if self.accept(","):
            scope = self._one_of(MatrixScope, "the scope, subgroup or work_group")
        self.expect(">", _MATRIX_ORDER if self.at(",") else None)
        return CoopMatrix(component, rows, columns, use, scope)

    def _tensor_layout(self) -> TensorLayoutType:
        dim = self.integer("the number of dimensions")
        mode = ClampMode.UNDEFINED
        if self.accept(","):
            mode = self._one_of(ClampMode, f"a clamp mode, one of {', '.join(m.value for m in ClampMode)}")
        self.expect(">", "the order is number of dimensions, clamp mode" if self.at(",") else None)
        return TensorLayoutType(dim, mode)

    def _tensor_view(self) -> TensorViewType:
        dim = self.integer("the number of dimensions")
        has_dimensions = False
        permutation: list[int] = []
        if self.accept(","):
            has_dimensions = self.accept("true")
            if not has_dimensions and not self.accept("false"):
                self.expected("true or false: whether the view has dimensions of its own")
            while self.accept(","):
                permutation.append(self.integer("a dimension's number"))
        self.expect(">")
        return TensorViewType(dim, has_dimensions, tuple(permutation))

    def _tensor_map(self) -> TensorMapType:
        element = self.element()
        self.expect(",", _MAP_ORDER)
        rank = self.integer("the number of dimensions")
        self.expect(",", _MAP_ORDER)
        mode = self._one_of(MapMode, "a mode, tiled or im2col", _MAP_ORDER)
        self.expect(">", _MAP_ORDER if self.at(",") else None)
        return TensorMapType(element, rank, mode)

    def _one_of(self, choices: Iterable[Choice], what: str, hint: str | None = None) -> Choice:
        """The member of an enumeration that a word stands for. Raises `SyntaxFault`: `what` was expected."""
        for choice in choices:
            if self.accept(str(choice.value)):
                return choice
        close = nearest(self.lexer.text, [str(c.value) for c in choices])
        self.expected(what, f"did you mean `{close}`?" if close else hint)
