"""A module of PTX as its text has it: variables, functions, instructions and operands (PTX ISA "Syntax")."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """A name: of a register, a special register, a variable, a function or a label."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number: an integer, or the bits of a float of `bits` bits."""

    value: int
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Decimal:
    """A float that is written in decimals."""

    value: float


@dataclass(frozen=True, slots=True)
class Negated:
    """A predicate that is taken the other way round."""

    of: Word


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results, as in `%r1|%p1`."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Sum:
    """A name plus bytes, outside of brackets."""

    base: Word
    offset: int


@dataclass(frozen=True, slots=True)
class Address:
    """An address in brackets; `coordinates` are those of a tensor copy."""

    base: Word | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """Operands in parentheses, as calls have them."""

    parts: tuple[Operand, ...]


Operand = Word | Constant | Decimal | Negated | Vector | Pair | Sum | Address | Listed


@dataclass(slots=True)
class Variable:
    """A variable of a state space: `count` elements of `size` bytes, 0 for an array whose size the launch says."""

    name: str
    space: str
    type: str
    size: int
    count: int
    align: int
    values: tuple[Operand, ...] = ()

    @property
    def bytes(self) -> int:
        return self.size * self.count


@dataclass(slots=True)
class Register:
    """A register of a scope of a function, with its place among all of the module."""

    name: str
    type: str
    slot: int


@dataclass(slots=True)
class Scope:
    """The names that are declared between two braces, and where these stand."""

    outer: Scope | None = None
    registers: dict[str, Register] = field(default_factory=dict)
    families: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Registers by the beginning of their names, as in `.reg .b32 %r<8>`: the type and how many."""
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Instruction:
    """An instruction of a function. `line` is the line of the PTX, `source` what `.loc` says."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Word | Negated | None
    scope: Scope
    function: str
    line: int
    source: tuple[str, int] | None = None

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        source = "" if self.source is None else f", {self.source[0]}:{self.source[1]}"
        return f"line {self.line} of {self.function}{source}"


@dataclass(slots=True)
class Function:
    """A function: `first` is the place of its first instruction among all of the module."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    first: int = -1
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Syntax:
    """A module."""

    target: str = ""
    version: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
