"""Modules, functions, regions, operations and values: the immutable program that every part of girih works on.

A `Value` is compared by identity; an `Op` is a frozen dataclass whose class says what it is (`girih.ir.define`).
Equality of modules (`==`) is structural: names and spans do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic, Finding
    from girih.ir.define import Spec
    from girih.ir.language import Language


STRING_CHARACTERS = r"[\x20-\x21\x23-\x7e]*"
"""The characters of a string, as a pattern: there are no escapes, so that none is a quotation mark or ends the line."""

STRING_WORDS = "printable ASCII characters without quotation marks"


def is_string(text: object) -> bool:
    """Whether something is a text that may stand between quotation marks."""
    return isinstance(text, str) and re.fullmatch(STRING_CHARACTERS, text) is not None


def is_name(text: object) -> bool:
    """Whether something is a text that may be the name of a function or of a value (003 "Identifier")."""
    return isinstance(text, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*|[0-9]+", text) is not None


def canonical_name(name: str) -> str:
    """The name of a value as it is kept: a number loses its leading zeros (`%007` is `%7`)."""
    return (name.lstrip("0") or "0") if name.isdigit() else name


class RegionKind(Enum):
    """The ways in which a region is executed (003 "Execution model")."""

    COLLECTIVE = "collective"
    SPMD = "SPMD"

    @property
    def with_article(self) -> str:
        """The kind with its article, as before the word "region"."""
        return ("an " if self is RegionKind.SPMD else "a ") + self.value


class Value:
    """A local value: its name without `%`, its type, and where it is defined."""

    __slots__ = ("name", "span", "type")

    def __init__(self, name: str, type: Type, span: Span = NOWHERE) -> None:
        self.name = name
        self.type = type
        self.span = span

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


Index = Value | int
"""An index operand: a value of index type, or a literal."""


@dataclass(frozen=True, slots=True)
class Slice:
    """`offset : size` of a subview; without a size (or with the literal 0) the mode is dropped (003 "Subview")."""

    offset: Index
    size: Index | None = None

    @property
    def drops_mode(self) -> bool:
        return self.size is None or (isinstance(self.size, int) and self.size == 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """`key = value` of a dictionary attribute; `quoted` where the key is a string, which girih does not interpret."""

    key: str
    value: bool | int | str | tuple[object, ...] | Dictionary
    quoted: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dictionary attribute (003 "Attributes")."""

    entries: tuple[Entry, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def entry(self, key: str) -> Entry | None:
        """The entry of an unquoted key; None if the key is absent."""
        return next((e for e in self.entries if e.key == key and not e.quoted), None)

    def get(self, key: str) -> bool | int | str | tuple[object, ...] | Dictionary | None:
        """The value of an unquoted key; None if the key is absent."""
        entry = self.entry(key)
        return entry.value if entry else None


EMPTY = Dictionary()


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A list of instructions and the way in which it is executed."""

    kind: RegionKind
    ops: tuple[Op, ...]
    span: Span = NOWHERE

    @property
    def terminator(self) -> Op | None:
        """The last instruction; None in an empty region."""
        return self.ops[-1] if self.ops else None

    def walk(self) -> Iterator[Op]:
        """All instructions, outer before inner, in program order."""
        stack = list(reversed(self.ops))
        while stack:
            op = stack.pop()
            yield op
            for region in reversed(op.regions):
                stack.extend(reversed(region.ops))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Op:
    """The base of all instructions; subclasses are made by `girih.ir.define.op`."""

    spec: ClassVar[Spec]

    span: Span = field(default=NOWHERE, kw_only=True)
    uses: Mapping[str, tuple[Span, ...]] = field(default_factory=dict, kw_only=True)

    def __repr__(self) -> str:
        defined = ", ".join(f"%{v.name}" for v in self.results)
        return f"<{defined + ' = ' if defined else ''}{self.spec.mnemonic} at {self.span}>"

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that the instruction defines for the instructions after it."""
        return tuple(self._values(self.spec.results))

    @property
    def operands(self) -> Iterator[Value]:
        """The values that the instruction reads, in the order of its fields; literals are left out."""
        return self._values(self.spec.operands)

    @property
    def bindings(self) -> Iterator[Value]:
        """The values that the instruction defines for its own regions."""
        return self._values(self.spec.bindings)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions that the instruction has; those that were left out are missing."""
        if not self.spec.regions:
            return ()
        return tuple(r for f in self.spec.regions if (r := getattr(self, f.name)) is not None)

    def _values(self, names: tuple[str, ...]) -> Iterator[Value]:
        for name in names:
            field = getattr(self, name)
            if isinstance(field, Value):
                yield field
            elif isinstance(field, tuple):
                yield from _flatten(field)


def _flatten(held: tuple[object, ...]) -> Iterator[Value]:
    for item in held:
        if isinstance(item, Value):
            yield item
        elif isinstance(item, Slice):
            yield from _flatten((item.offset, item.size))


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of a function and its promises (003 "Parameter attributes")."""

    value: Value
    attributes: Dictionary = EMPTY

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def span(self) -> Span:
        return self.value.span


Order = Literal["C", "F"]
"""An order of the axes of arrays: in order F mode 0 is the first axis, in order C it is the last."""

ORDERS: tuple[Order, ...] = ("C", "F")


@dataclass(frozen=True, slots=True, eq=False)
class NumberLatitude:
    """What Vulkan leaves open about the numbers of a shader (Vulkan "Precision and Operation of SPIR-V Instructions").

    Instructions have one meaning, which rounds once; only what varies them reads this (`girih.Choices`).
    In the sets are results of instructions; `denormals`, `rounding` and `special` are execution modes of the entry
    point (SPIR-V 3.6), by the bytes of the floats that they are about.
    """

    relaxed: frozenset[Value] = frozenset()
    """Computed with 16 bits or more (RelaxedPrecision, SPIR-V 2.15)."""

    unsigned: frozenset[Value] = frozenset()
    """Integers of `relaxed` that are extended without a sign."""

    precise: frozenset[Value] = frozenset()
    """Not computed together with others (NoContraction, FPFastMathMode without AllowContract)."""

    rounded: frozenset[Value] = frozenset()
    """Conversions whose rounding is given (FPRoundingMode)."""

    denormals: Mapping[int, str] = field(default_factory=dict)
    """`preserve` (DenormPreserve) or `flush` (DenormFlushToZero)."""

    rounding: Mapping[int, str] = field(default_factory=dict)
    """`even` (RoundingModeRTE) or `toward_zero` (RoundingModeRTZ)."""

    special: frozenset[int] = frozenset()
    """Those whose zeros have a sign, and that may be infinite and NaN (SignedZeroInfNanPreserve)."""


@dataclass(frozen=True, slots=True)
class WrittenParameter:
    """A parameter as it was written in another language than that of texts.

    `position` counts all parameters from 1, also those that the function of the ir has not got. `annotation` says what
    it takes, `member` what each array of a group is; `axes[m]` is the axis of the caller's array that mode m is.
    """

    name: str
    position: int
    annotation: str
    member: str = ""
    axes: tuple[int, ...] = ()


class Reader(Protocol):
    """How a function is spoken of to who wrote it in another language than that of texts."""

    def parameter(self, name: str) -> WrittenParameter:
        """The parameter of a name."""

    def finding(self, finding: Finding) -> Finding:
        """What a run has found, in that language, with indices in the order of the axes that it has."""

    def diagnostic(self, diagnostic: Diagnostic) -> Diagnostic:
        """What is said of the function, in that language."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function:
    """A kernel in one language (003 "Functions"); `str(function)` is its canonical text."""

    name: str
    language: Language
    parameters: tuple[Parameter, ...]
    body: Region
    attributes: Dictionary = EMPTY
    span: Span = NOWHERE
    latitude: NumberLatitude | None = None
    """What is open about the numbers, beside what instructions say; it has no text."""
    reader: Reader | None = None
    """How the function is spoken of to who wrote it, where that was not as a text of its language."""

    def __str__(self) -> str:
        from girih.ir.print import print_function

        return print_function(self)

    def __repr__(self) -> str:
        return f"<function @{self.name} at {self.span}>"

    @property
    def called(self) -> str:
        """The name as who wrote the function knows it: `@f` in texts."""
        return f"@{self.name}" if self.reader is None else self.name

    @property
    def order(self) -> Order:
        """The order of the axes of arrays that are arguments, F unless the attributes ask for C."""
        return "C" if self.attributes.get("order") == "C" else "F"

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size that the attributes ask for, in work-items; None if they do not."""
        size = self.attributes.get("subgroup_size")
        return size if isinstance(size, int) and not isinstance(size, bool) else None

    @property
    def work_group_size(self) -> tuple[int, int] | None:
        """The work-group size that the attributes ask for, in work-items along x and y; None if they do not."""
        size = self.attributes.get("work_group_size")
        if not isinstance(size, tuple) or len(size) != 2:
            return None
        rows, columns = size
        if isinstance(rows, bool) or isinstance(columns, bool):
            return None
        return (rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None

    @property
    def permissions(self) -> frozenset[str]:
        """What the attributes permit: names of `girih.ir.hints.PERMISSIONS`."""
        allowed = self.attributes.get("allow")
        return frozenset(p for p in allowed if isinstance(p, str)) if isinstance(allowed, tuple) else frozenset()

    def hints(self, machine: str) -> Mapping[str, object]:
        """The hints of the attributes for a machine, by key (`girih.ir.hints.MACHINE_HINTS`); {} without any."""
        given = self.attributes.get(machine)
        return {e.key: e.value for e in given.entries if not e.quoted} if isinstance(given, Dictionary) else {}

    def walk(self) -> Iterator[Op]:
        """All instructions, outer before inner, in program order."""
        return self.body.walk()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Module:
    """A file of kernels; `str(module)` is its canonical text."""

    functions: tuple[Function, ...]

    def __str__(self) -> str:
        from girih.ir.print import print_module

        return print_module(self)

    def __repr__(self) -> str:
        return f"<module of {', '.join('@' + f.name for f in self.functions) or 'no functions'}>"

    def __eq__(self, other: object) -> bool:
        from girih.ir.compare import same_module

        return same_module(self, other) if isinstance(other, Module) else NotImplemented

    __hash__ = object.__hash__

    def function(self, name: str) -> Function | None:
        """The function of a name, which is given without `@`; None if there is no such function."""
        return next((f for f in self.functions if f.name == name), None)
