"""Random expressions of GLSL without undefined behaviour, whose floats are exact.

Floats that variables hold are multiples of 1/4 from -64 to 64; an expression knows how many bits it may need in front
of the point and behind it, and is brought back (`norm`) where these become too many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.shaders.fuzz.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    UINT,
    Array,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    declared,
    words_of,
)

PRELUDE = """uint noted = 1u;
uint lid = 0u;
void put(uint x) { noted = noted * 31u + x; }
float norm(float x) { return clamp(trunc(x * 4.0) * 0.25, -64.0, 64.0); }
double norm(double x) { return clamp(trunc(x * 4.0lf) * 0.25lf, -64.0lf, 64.0lf); }
vec2 norm(vec2 x) { return clamp(trunc(x * 4.0) * 0.25, -64.0, 64.0); }
vec3 norm(vec3 x) { return clamp(trunc(x * 4.0) * 0.25, -64.0, 64.0); }
vec4 norm(vec4 x) { return clamp(trunc(x * 4.0) * 0.25, -64.0, 64.0); }
float safe(float x) { return abs(x) < 100000.0 ? norm(x) : 1.0; }
double safe(double x) { return abs(x) < 100000.0lf ? norm(x) : 1.0lf; }
"""
BITS = 22
"""The bits that floats may have in front of the point and behind it together."""


@dataclass(frozen=True)
class Variable:
    """What an expression may name; `raw` has any bits, `written` says whether it can be assigned."""

    name: str
    type: Type
    written: bool = True
    raw: bool = False


@dataclass(frozen=True)
class Function:
    """A function: the modes and types of its parameters, and what it returns."""

    name: str
    result: Type | None
    parameters: tuple[tuple[str, Type], ...]


@dataclass(frozen=True)
class Number:
    """A float expression: its text, and its bits in front of the point and behind it."""

    text: str
    front: int
    behind: int


@dataclass
class Expressions:
    """What makes expressions, of the variables that are in sight and the functions before."""

    random: Random
    integers: tuple[Scalar, ...] = (INT, UINT)
    doubles: bool = False
    variables: list[Variable] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    calls: int = 0
    """How many more calls the function that is being written may make."""
    fuel: int = 0
    """How many more operations the statement that is being written may have."""
    apart: bool = False
    """Whether work-items may take push constants at different indices, which some drivers get wrong."""
    indices: int = 0
    """How many indices are being written, one in the other."""

    def pick(self, *ways: Callable[[], str]) -> str:
        """What one of some ways makes."""
        return self.random.choice(ways)()

    def burn(self, depth: int) -> int:
        """The depth that is left: none when the statement has all its operations."""
        self.fuel -= 1
        return depth if self.fuel > 0 else 0

    # --- places ------------------------------------------------------------------------------
    def index(self, length: int, same: bool = False) -> str:
        """An index of an array or vector, inside of it, which may have to be the same for all work-items."""
        if self.random.random() < 0.5 or self.indices >= 2:
            return str(self.random.randrange(length))
        if same:
            return f"pushed.a % {length}u"
        self.indices += 1
        inner = self.integer(UINT, 1)
        self.indices -= 1
        return f"({inner}) % {length}u" if length & (length - 1) else f"({inner}) & {length - 1}u"

    def place(self, written: bool = False) -> tuple[str, Type, bool] | None:
        """A place of a variable: its text, a scalar or vector type, and whether its bits are any."""
        chosen = [v for v in self.variables if v.written or not written]
        if not chosen:
            return None
        one = self.random.choice(chosen)
        text, type = self.inside(one.name, one.type)
        return text, type, one.raw

    def inside(self, text: str, type: Type, wanted: Type | None = None) -> tuple[str, Type]:
        """A scalar or vector inside of what a text names, or the first that has the type."""
        same = text.startswith("pushed") and not self.apart
        while type != wanted:
            match type:
                case Array(element, length):
                    text, type = f"{text}[{self.index(length, same)}]", element
                case Struct(_, members):
                    name, type = self.random.choice(members)
                    text = f"{text}.{name}"
                case Matrix(columns, rows):
                    text, type = f"{text}[{self.index(columns, same)}]", Vector(FLOAT, rows)
                case Vector(scalar, size) if self.random.random() < 0.6:
                    if self.random.random() < 0.6:
                        return f"{text}.{'xyzw'[self.random.randrange(size)]}", scalar
                    return f"{text}[{self.index(size, same)}]", scalar
                case _:
                    break
        return text, type

    def leaf(self, type: Scalar) -> str:
        """A scalar of a variable, converted."""
        found = self.place()
        if found is None:
            return self.literal(type)
        text, came, raw = found
        if isinstance(came, Vector):
            text, came = f"{text}.{'xyzw'[self.random.randrange(came.size)]}", came.scalar
        assert isinstance(came, Scalar)
        if raw and came.kind == "f":
            text = f"safe({text})"
        return converted(text, came, type)

    def literal(self, type: Scalar) -> str:
        """A constant."""
        r = self.random
        match type.kind:
            case "b":
                return r.choice(("true", "false"))
            case "f":
                text = f"{r.choice((0.25, 0.5, 1.0, 1.5, 2.0, -3.0, 7.75, -0.75))}"
                return f"{text}lf" if type is DOUBLE else text
        number = r.choice((0, 1, 2, 3, 5, 7, 11, 64, 100, 255, 0x7FFFFFFF, r.getrandbits(31)))
        return f"{type}({number & 2 ** min(31, type.bits - 1) - 1}{'u' if type.kind == 'u' else ''})"

    # --- scalars -----------------------------------------------------------------------------
    def scalar(self, type: Scalar, depth: int) -> str:
        """An expression of a scalar type; floats as variables hold them."""
        match type.kind:
            case "b":
                return self.boolean(depth)
            case "f":
                return self.normal(type, depth)
        return self.integer(type, depth)

    def integer(self, type: Scalar, depth: int) -> str:
        """An integer."""
        r, depth = self.random, self.burn(depth)
        if depth <= 0:
            return self.leaf(type) if r.random() < 0.75 else self.literal(type)
        a, b = (self.integer(type, depth - 1 - r.randrange(2)) for _ in range(2))
        if r.random() < 0.35:
            return f"({a} {r.choice('+-*&|^')} {b})"
        if r.random() < 0.5:
            return r.choice((
                f"({a} {r.choice(('<<', '>>'))} ({self.integer(UINT, depth - 2)} & {type.bits - 1}u))",
                f"({a} {r.choice('/%') if type.kind == 'u' else '/'} (({b} & {type}(15)) + {type}(1)))",
                f"{r.choice(('min', 'max'))}({a}, {b})", f"(-({a}) ^ ~({b}))", f"clamp({a}, {type}(3), {type}(77))",
            ))  # fmt: skip
        return self.pick(
            lambda: f"({self.boolean(depth - 1)} ? {a} : {b})",
            lambda: self.bits(type, depth),
            lambda: f"{type}({self.integer(r.choice(self.integers), depth - 1)})",
            lambda: converted(f"{self.vector(Vector(UINT, 3), depth - 1)}.{r.choice('xyz')}", UINT, type),
            lambda: converted(self.normal(FLOAT, depth - 1), FLOAT, type),
            lambda: self.call(type, depth) or self.leaf(type),
        )

    def bits(self, type: Scalar, depth: int) -> str:
        """A function of bits, of 32 bits."""
        r = self.random
        at, count = r.randrange(33), 0
        count = r.randrange(33 - at)
        sign = INT if r.random() < 0.5 else UINT
        x, y = self.integer(sign, depth - 1), self.integer(sign, depth - 2)
        text = r.choice((
            f"bitCount({x})", f"findLSB({x})", f"findMSB({x})", f"bitfieldReverse({x})",
            f"bitfieldExtract({x}, {at}, {count})", f"bitfieldInsert({x}, {y}, {at}, {count})", f"abs(int({x}))",
            f"sign(int({x}))", f"floatBitsToInt({self.normal(FLOAT, depth - 1)} + 0.125)",
            f"packUnorm4x8(unpackUnorm4x8(uint({x})))",
        ))  # fmt: skip
        return f"{type}({text})"

    def boolean(self, depth: int) -> str:
        """A bool."""
        r, depth = self.random, self.burn(depth)
        if depth <= 0:
            return self.leaf(BOOL)
        numbers = r.choice(self.integers)
        size, sort = r.choice((2, 3, 4)), r.choice((INT, UINT))
        sign = r.choice(("<", ">", "<=", ">=", "==", "!="))
        return self.pick(
            lambda: f"({self.integer(numbers, depth - 1)} {sign} {self.integer(numbers, depth - 1)})",
            lambda: f"({self.normal(FLOAT, depth - 1)} {sign} {self.normal(FLOAT, depth - 1)})",
            lambda: f"({self.boolean(depth - 1)} {r.choice(('&&', '||', '^^'))} {self.boolean(depth - 1)})",
            lambda: f"!({self.boolean(depth - 1)})",
            lambda: (
                f"{r.choice(('any', 'all'))}({r.choice(('lessThan', 'equal', 'greaterThanEqual'))}"
                f"({self.vector(Vector(sort, size), depth - 1)}, {self.vector(Vector(sort, size), depth - 1)}))"
            ),
            self.comparison,
        )

    def comparison(self) -> str:
        """A comparison of two arrays or structs."""
        r = self.random
        whole = [v for v in self.variables if isinstance(v.type, (Array, Struct)) and not v.raw]
        same = [v for v in whole if words_of(v.type) < 20]
        pairs = [(v, w) for v in same for w in same if v.type == w.type]
        if not pairs:
            return self.leaf(BOOL)
        one, other = r.choice(pairs)
        return f"({one.name} {r.choice(('==', '!='))} {other.name})"

    # --- floats ------------------------------------------------------------------------------
    def normal(self, type: Scalar, depth: int) -> str:
        """A float as variables hold them."""
        if type is DOUBLE:
            return f"double({self.normal(FLOAT, depth)})" if depth <= 0 else self.double(depth)
        return normal(self.float(1, depth))

    def double(self, depth: int) -> str:
        """A double as variables hold them."""
        a, b = (self.normal(DOUBLE, depth - 1 - self.random.randrange(2)) for _ in range(2))
        return self.random.choice((
            f"norm({a} {self.random.choice('+-*')} {b})", f"norm(floor({a}))", f"min({a}, {b})", self.leaf(DOUBLE),
        ))  # fmt: skip

    def float(self, size: int, depth: int) -> Number:
        """A float or a vector of some."""
        r, depth = self.random, self.burn(depth)
        word = "float" if size == 1 else f"vec{size}"
        if depth <= 0:
            if size == 1:
                return Number(self.leaf(FLOAT) if r.random() < 0.8 else self.literal(FLOAT), 7, 2)
            return Number(f"{word}({', '.join(self.leaf(FLOAT) for _ in range(r.choice((1, size))))})", 7, 2)
        a, b = self.float(size, depth - 1), self.float(size, depth - 1 - r.randrange(2))
        front, behind = max(a.front, b.front), max(a.behind, b.behind)
        return r.choice((
            summed(f"({{}} {r.choice('+-')} {{}})", a, b),
            multiplied("({} * {})", a, b),
            Number(f"{r.choice(('floor', 'ceil', 'trunc', 'roundEven'))}({a.text})", a.front + 1, 0),
            Number(f"{r.choice(('abs', '-'))}({a.text})", a.front, a.behind),
            Number(f"{r.choice(('min', 'max'))}({a.text}, {b.text})", front, behind),
            Number(f"({self.boolean(depth - 1)} ? {a.text} : {b.text})", front, behind),
            Number(f"fract({a.text})", 1, a.behind),
            Number(f"mix({brought(a).text}, {brought(b).text}, {r.choice((0.0, 0.5, 1.0, 0.25))})", 9, 5),
            Number(f"({brought(a).text} / {r.choice((2.0, 0.5, 4.0))})", 8, 4),
            Number(f"{word}({self.integer(INT, depth - 1)} & 63)", 6, 0),
            self.product(size, depth, a),
        ))  # fmt: skip

    def product(self, size: int, depth: int, a: Number) -> Number:
        """A product of a matrix and a vector, a dot product, or components in another order; of a scalar a call."""
        r = self.random
        if size == 1:
            called = self.call(FLOAT, depth)
            return Number(called, 7, 2) if called is not None else a
        way = r.randrange(4)
        if way == 0:
            return Number(f"({self.matrix(size, depth)} * {normal(a)})", 12, 2)
        if way == 1:
            return Number(f"({normal(a)} * {self.matrix(size, depth)})", 12, 2)
        other = r.choice((2, 3, 4))
        c, d = self.float(other, depth - 1), self.float(other, depth - 2)
        if way == 2:
            dotted = multiplied("dot({}, {})", c, d)
            return Number(f"vec{size}({dotted.text})", dotted.front + 2, dotted.behind)
        letters = "".join(r.choice("xyzw"[:other]) for _ in range(size))
        return Number(f"({c.text}).{letters}", c.front, c.behind)

    def matrix(self, size: int, depth: int) -> str:
        """A square matrix of small whole numbers."""
        r = self.random
        numbers = [
            str(float(r.randrange(-3, 4))) if r.random() < 0.7 else f"float({self.integer(INT, depth - 2)} & 3)"
            for _ in range(size * size)
        ]
        text = f"mat{size}({', '.join(numbers)})"
        return f"transpose({text})" if r.random() < 0.3 else text

    # --- vectors and the rest ----------------------------------------------------------------
    def vector(self, type: Vector, depth: int) -> str:
        """A vector; floats as variables hold them."""
        r, depth = self.random, self.burn(depth)
        if type.scalar is FLOAT:
            return normal(self.float(type.size, depth))
        if type.scalar.kind not in "iu" or depth <= 0 or type.scalar.bits != 32:
            parts = [self.scalar(type.scalar, depth - 1) for _ in range(type.size)]
            return f"{type}({', '.join(parts)})"
        a, b = self.vector(type, depth - 1), self.vector(type, depth - 2)
        scalar = type.scalar
        return r.choice((
            f"({a} {r.choice('+-*&|^')} {b})", f"({a} {r.choice('+*&|^')} {self.integer(scalar, depth - 1)})",
            f"min({a}, {b})", f"({self.boolean(depth - 1)} ? {a} : {b})", f"({a} >> ({b} & {scalar}(31)))",
            f"{type}({', '.join(self.integer(scalar, depth - 1) for _ in range(type.size))})",
            f"({a}).{''.join(r.choice('xyzw'[:type.size]) for _ in range(type.size))}", f"bitCount({a}) + {b}" if
            scalar is INT else f"({a} / ({b} | 1u))", f"~({a})",
        ))  # fmt: skip

    def value(self, type: Type, depth: int) -> str:
        """An expression of any type."""
        r = self.random
        same = [v for v in self.variables if v.type == type and not v.raw]
        if isinstance(type, (Array, Struct, Matrix)) and same and r.random() < 0.6:
            return r.choice(same).name
        match type:
            case Scalar():
                return self.scalar(type, depth)
            case Vector():
                return self.vector(type, depth)
            case Matrix(columns, rows):
                return f"{type}({', '.join(self.vector(Vector(FLOAT, rows), depth - 2) for _ in range(columns))})"
            case Array(element, length):
                parts = [self.value(element, depth - 2) for _ in range(length)]
                return f"{declared(type, '')}({', '.join(parts)})".replace(" [", "[")
            case Struct(name, members):
                return f"{name}({', '.join(self.value(member, depth - 2) for _, member in members)})"

    def call(self, type: Type | None, depth: int) -> str | None:
        """A call of a function with this result, if there is one that can be called here."""
        fitting = [f for f in self.functions if f.result == type]
        if not fitting or self.calls <= 0:
            return None
        self.calls -= 1
        one = self.random.choice(fitting)
        arguments = []
        for mode, wanted in one.parameters:
            if mode == "in":
                arguments.append(self.value(wanted, min(depth - 1, 1)))
                continue
            name = self.written_place(wanted)
            if name is None:
                return None
            arguments.append(name)
        return f"{one.name}({', '.join(arguments)})"

    def written_place(self, type: Type) -> str | None:
        """A place of exactly this type that can be assigned."""
        chosen = [v for v in self.variables if v.written]
        self.random.shuffle(chosen)
        for one in chosen:
            for _ in range(3):
                text, came = self.inside(one.name, one.type, type)
                if came == type:
                    return text
        return None


def converted(text: str, came: Scalar, type: Scalar) -> str:
    """A scalar as another type, where that is defined."""
    if came == type:
        return text
    if came.kind == "f" and type.kind == "u":
        return f"{type}(abs({text}))"
    if type.kind == "f" and came.kind in "iu":
        return f"{type}({text} & {came}(31))"
    return f"{type}({text})"


def brought(number: Number) -> Number:
    """A float with few bits."""
    return number if number.front <= 7 and number.behind <= 2 else Number(f"norm({number.text})", 7, 2)


def normal(number: Number) -> str:
    """The text of a float as variables hold them; `norm` also bounds it."""
    return number.text if (number.front, number.behind) in {(7, 2), (6, 0)} else f"norm({number.text})"


def summed(form: str, a: Number, b: Number) -> Number:
    """A sum or difference."""
    if max(a.front, b.front) + 1 + max(a.behind, b.behind) > BITS:
        a, b = brought(a), brought(b)
    return Number(form.format(a.text, b.text), max(a.front, b.front) + 1, max(a.behind, b.behind))


def multiplied(form: str, a: Number, b: Number) -> Number:
    """A product, or a sum of up to four."""
    if a.front + b.front + a.behind + b.behind + 2 > BITS:
        a, b = brought(a), brought(b)
    return Number(form.format(a.text, b.text), a.front + b.front, a.behind + b.behind)
