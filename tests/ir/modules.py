"""Hypothesis strategies for modules of a language: any instruction, any nesting, names that clash or are missing.

The modules are well formed, so that their text can be read, but keep no rule of the instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from girih.front.text.constant_parser import ATTRIBUTE_NAMES
from girih.ir.core import Dictionary, Entry, Function, Module, Op, Parameter, Region, RegionKind, Slice, Value
from girih.ir.define import (
    Annotation,
    Attributes,
    Binding,
    Body,
    Integer,
    Literal,
    Modifier,
    Operand,
    Result,
    Role,
    Slices,
    Spec,
    Text,
)
from girih.ir.grid import OPERATIONS, GridExpression, GridNumber, GridOperation, GridScalar, GridSize
from girih.ir.language import Language
from girih.ir.types import (
    BOOL,
    NUMBERS,
    AddressSpace,
    Boolean,
    ClampMode,
    CoopMatrix,
    GroupType,
    MatrixScope,
    MemRef,
    Number,
    TensorLayoutType,
    TensorViewType,
    Type,
    Use,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = st.sampled_from(["", "", "a", "b", "x4", "for", "0", "1", "2", "A", "c4x2"])
EXTENTS = st.none() | st.integers(0, 9)
INTEGERS = st.integers(-(2**63) + 1, 2**63 - 1)
FLOATS = st.floats(allow_nan=False) | st.sampled_from([math.nan, -math.nan])
STRINGS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters='"'), max_size=5)
ELEMENTS = st.sampled_from(list(NUMBERS.values()))


@st.composite
def memrefs(draw: Draw) -> MemRef:
    shape = tuple(draw(st.lists(EXTENTS, max_size=3)))
    space = draw(st.sampled_from(AddressSpace))
    if draw(st.booleans()):
        return MemRef.packed(draw(ELEMENTS), shape, space)
    return MemRef(draw(ELEMENTS), shape, tuple(draw(EXTENTS) for _ in shape), space)


MATRICES = st.builds(
    CoopMatrix, ELEMENTS, st.integers(1, 64), st.integers(1, 64), st.sampled_from(Use), st.sampled_from(MatrixScope)
)
GROUPS = st.builds(GroupType, memrefs(), EXTENTS, EXTENTS)
LAYOUTS = st.builds(TensorLayoutType, st.integers(0, 6), st.sampled_from(ClampMode))
VIEWS = st.builds(TensorViewType, st.integers(0, 9), st.booleans(), st.lists(st.integers(-1, 5), max_size=6).map(tuple))
TYPES: dict[type[Type], st.SearchStrategy[Type]] = {
    Number: ELEMENTS,
    Boolean: st.just(BOOL),
    MemRef: memrefs(),
    GroupType: GROUPS,
    CoopMatrix: MATRICES,
    TensorLayoutType: LAYOUTS,
    TensorViewType: VIEWS,
}


def types_of(language: Language) -> st.SearchStrategy[Type]:
    """The types of a language that have a text."""
    return st.one_of([TYPES[declared] for declared in TYPES if declared in language.types])


@st.composite
def grids(draw: Draw, parameters: Sequence[Value]) -> tuple[GridExpression, ...]:
    """Expressions of a grid over any values; whether their types suit is left to the checker."""
    leaf: st.SearchStrategy[GridExpression] = st.builds(GridNumber, INTEGERS)
    if parameters:
        named = st.sampled_from(list(parameters))
        leaf |= st.builds(GridScalar, named) | st.builds(GridSize, named, st.none() | st.integers(-1, 4))
    operations = st.sampled_from(list(OPERATIONS))
    expression = st.recursive(leaf, lambda inner: st.builds(GridOperation, operations, inner, inner), max_leaves=6)
    return tuple(draw(st.lists(expression, max_size=4)))


@st.composite
def dictionaries(draw: Draw, parameters: Sequence[Value] = ()) -> Dictionary:
    value = st.recursive(
        st.booleans() | INTEGERS | STRINGS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4
    )
    plain = st.tuples(st.sampled_from([name for name in ATTRIBUTE_NAMES if name != "grid"]), value, st.just(False))
    plain |= st.tuples(st.just("grid"), grids(parameters), st.just(False))
    quoted = st.tuples(STRINGS, value, st.just(True))
    found = draw(st.lists(plain | quoted, max_size=3, unique_by=lambda entry: (entry[0], entry[2])))
    return Dictionary(tuple(Entry(key, held, is_quoted) for key, held, is_quoted in found))


CONSTANTS = st.booleans() | INTEGERS | FLOATS | st.builds(complex, FLOATS, FLOATS)


class Maker:
    """Makes the instructions of one function."""

    def __init__(self, draw: Draw, language: Language) -> None:
        self.draw = draw
        self.language = language
        self.types = types_of(language)
        self.visible: list[Value] = []

    def value(self, type: Type) -> Value:
        return Value(self.draw(NAMES), type)

    def seen(self) -> Value:
        found: Value = self.draw(st.sampled_from(self.visible))
        return found

    def region(self, kind: RegionKind, depth: int, bindings: list[Value]) -> Region:
        before = len(self.visible)
        self.visible += bindings
        specs = [o.spec for o in self.language.ops.values() if depth < 3 or not o.spec.regions]
        ops = [self.op(self.draw(st.sampled_from(specs)), kind, depth) for _ in range(self.draw(st.integers(0, 4)))]
        del self.visible[before:]
        return Region(kind, tuple(ops))

    def op(self, spec: Spec, kind: RegionKind, depth: int) -> Op:
        fields: dict[str, Any] = {}
        carried = self.draw(st.integers(0, 2))
        if any(isinstance(role, Annotation) for role in spec.roles.values()) and self.draw(st.booleans()):
            return self.without_region(spec)
        for name, role in spec.roles.items():
            if not isinstance(role, Binding | Body):
                fields[name] = self.field(role, carried if "carried" in spec.roles else 2)
        counts = {b: carried if b == "carried" else 2 if self.is_many(spec.roles[b]) else 1 for b in spec.bindings}
        types = spec.binding_types(fields, counts) if spec.binding_types else {}
        bindings = {b: [self.value(t) for t in types[b]] for b in spec.bindings}
        for b, values in bindings.items():
            fields[b] = tuple(values) if self.is_many(spec.roles[b]) else values[0]
        for role in spec.regions:
            flat = [v for values in bindings.values() for v in values]
            wanted = not role.optional or bool(flat) or self.draw(st.booleans())
            fields[role.name] = self.region(role.kind or kind, depth + 1, flat) if wanted else None
        made = self.language.ops[spec.mnemonic](**fields)
        # The results of `for` and `if` may stay without names; they are then not visible.
        self.visible += [v for v in made.results if v.name or "results" not in spec.results]
        return made

    def without_region(self, spec: Spec) -> Op:
        """An instruction that leaves its region out, and with it what the region defines."""
        fields = {
            name: self.field(role, 2) for name, role in spec.roles.items()
            if not isinstance(role, Annotation | Binding | Body)
        }  # fmt: skip
        made = self.language.ops[spec.mnemonic](**fields)
        self.visible += made.results
        return made

    @staticmethod
    def is_many(role: Role) -> bool:
        return isinstance(role, Binding) and role.many

    def field(self, role: Role, count: int) -> Any:
        draw = self.draw
        match role:
            case Modifier():
                choices = list(role.choices.values())
                return draw(st.sampled_from(choices if role.required else [*choices, role.default]))
            case Operand(many=True):
                return tuple(
                    self.index() if role.literal and draw(st.booleans()) else self.seen() for _ in range(count)
                )
            case Operand():
                return None if role.optional and draw(st.booleans()) else self.seen()
            case Slices():
                return tuple(Slice(self.index_or_value(), draw(st.none()) or self.size()) for _ in range(count))
            case Integer(many=many):
                return (draw(INTEGERS), draw(INTEGERS)) if many else draw(INTEGERS)
            case Literal():
                return draw(CONSTANTS)
            case Attributes():
                return draw(dictionaries())
            case Text():
                return draw(STRINGS)
            case Result(many=many):
                return self.results(count) if many else self.value(draw(self.types))
            case Annotation():
                return draw(self.types)
            case _:
                raise AssertionError(role)

    def results(self, count: int) -> tuple[Value, ...]:
        named = self.draw(st.booleans())
        return tuple(Value("r" if named else "", self.draw(self.types)) for _ in range(count))

    def index(self) -> int:
        found: int = self.draw(st.integers(-3, 1000))
        return found

    def index_or_value(self) -> Value | int:
        return self.index() if self.draw(st.booleans()) else self.seen()

    def size(self) -> Value | int | None:
        return None if self.draw(st.booleans()) else self.index_or_value()


@st.composite
def functions(draw: Draw, language: Language, name: str = "f") -> Function:
    maker = Maker(draw, language)
    types = [draw(maker.types) for _ in range(draw(st.integers(1, 3)))]
    parameters = tuple(Parameter(maker.value(t), draw(dictionaries())) for t in types)
    maker.visible += [p.value for p in parameters]
    attributes = draw(dictionaries([p.value for p in parameters]))
    return Function(name, language, parameters, maker.region(language.body, 0, []), attributes)


@st.composite
def modules(draw: Draw, language: Language) -> Module:
    return Module(tuple(draw(functions(language, f"f{k}")) for k in range(draw(st.integers(0, 2)))))
