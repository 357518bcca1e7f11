"""Random programs that the checker accepts and that give the same result whatever an implementation may choose.

Programs are built instruction by instruction over all that exist. They are free of races: a work-item writes elements
of its own, or one writes for all, or all write the same value atomically, or the update is atomic, commutes, and its
old value is not used. Numbers that may differ between executions flow only where the difference stays bounded, and
never into a decision.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from girih.arguments.memory import strided
from girih.interpreter.machine.numbers import dtype
from girih.ir.build import RegionBuilder
from girih.ir.core import Dictionary, Entry, Module, Parameter, Slice, Value
from girih.ir.types import (
    BF16,
    BOOL,
    C32,
    C64,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    Boolean,
    Extent,
    GroupType,
    MemRef,
    Number,
    Type,
    packed_strides,
)
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.memory import Semantics
from tests.fuzz.tracked import (
    Alike,
    GroupReference,
    Interval,
    Memory,
    Reference,
    Scope,
    Tracked,
    epsilon,
    of_work_group,
)

INTEGERS = (I8, I16, I32, I64, INDEX)
FLOATING = (BF16, F16, F32, F64)
COMPLEX = (C32, C64)
NUMBERS: tuple[Number, ...] = (*INTEGERS, *FLOATING, *COMPLEX)
STORED: tuple[Number, ...] = (F8E4M3, F8E5M2)
CAST: tuple[Number, ...] = (*NUMBERS, *STORED)
SCALAR_TYPES: tuple[Number | Boolean, ...] = (*NUMBERS, BOOL)
ELEMENTS: tuple[Number, ...] = (I8, I16, I32, I64, BF16, F16, F32, F32, F64, C32, C64, INDEX)
MOVED: tuple[Number, ...] = (*ELEMENTS, *STORED)
"""The elements of memory that is only loaded and stored."""

INPUT_MAGNITUDE = 2.0
_PERMITTING = 0.2
"""How many programs permit something."""
_RELEASING = (Semantics.RELAXED, Semantics.RELEASE)
_ACQUIRING = (Semantics.RELAXED, Semantics.ACQUIRE)
"""What most programs have of: where one releases and one acquires, the search for races follows who knows of whom."""
TF32 = 2.0**-15
"""How far products of f32 may be apart as looseness, which 64 roundings go into: two factors, each within 2^-11."""
SIZES = (1, 2, 3, 4, 5, 7, 8, 16)

Array = NDArray[Any]
Chosen = TypeVar("Chosen", bound=Number | Boolean)
Emitter = Callable[["Generator", Scope], bool]


@dataclass(frozen=True, slots=True)
class Argument:
    """How the argument of a parameter is made."""

    type: Type
    memory: Memory | None = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    members: int = 0
    scalar: bool | int | float | complex | None = None
    bind: Callable[[Array], object] | None = None
    """What makes a tensor map of the array."""

    def array(self, source: np.random.Generator) -> Any:
        """The argument, the same for the same source."""
        if self.scalar is not None:
            return self.scalar
        if self.members:
            return [self._one(source) for _ in range(self.members)]
        made = self._one(source)
        return made if self.bind is None else self.bind(made)

    def _one(self, source: np.random.Generator) -> Array:
        assert self.memory is not None
        element = self.memory.element
        length = (
            1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if 0 not in self.shape else 1
        )
        data: Array = source.integers(-8, 9, length)
        if element.family != "integer":
            data = source.uniform(-1.0, 1.0, length) * (1.0 if element.family == "complex" else INPUT_MAGNITUDE)
        if element.family == "complex":
            data = data + 1j * source.uniform(-1.0, 1.0, length)
        data = data.astype(dtype(element))
        steps = tuple(s * data.itemsize for s in self.strides)
        return strided(data, self.shape, steps)


@dataclass(slots=True)
class Program:
    """A module of one function `f`, and how to launch it."""

    module: Module
    seed: int
    grid: tuple[int, int, int]
    arguments: list[Argument]
    uses_fixed_sizes: bool = False

    def arrays(self) -> list[Any]:
        """Fresh arguments."""
        source = np.random.default_rng(self.seed)
        return [argument.array(source) for argument in self.arguments]


@dataclass(slots=True)
class Generator:
    """A program under construction; what its instructions need is added to the parameters."""

    source: random.Random
    parameters: list[Parameter] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    prelude: RegionBuilder = field(default_factory=lambda: RegionBuilder(TILE_LANGUAGE))
    outer: Scope = field(default_factory=lambda: Scope(RegionBuilder(TILE_LANGUAGE)))
    grid: int = 1
    group_number: Tracked | None = None
    subgroup_size: int | None = None
    work_group_size: tuple[int, int] | None = None
    scopes: list[Scope] = field(default_factory=list)
    palette: frozenset[Number | Boolean] = frozenset((BOOL, *CAST))
    permissions: tuple[str, ...] = ()
    semantics: tuple[Semantics, ...] = (Semantics.RELAXED,)
    """The semantics of atomic accesses."""
    left_out: frozenset[Emitter] = frozenset()
    """What the programs are to be without."""

    # --- chance ----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def pick(self, types: Sequence[Chosen]) -> Chosen:
        """One of a few types, mostly one that the program uses a lot, so that results become operands."""
        familiar = [t for t in types if t in self.palette]
        return self.source.choice(familiar if familiar and self.chance(0.85) else types)

    def size(self) -> int:
        return self.source.choice(SIZES)

    @property
    def fixed(self) -> bool:
        """Whether the program says how many work-items there are."""
        return self.subgroup_size is not None and self.work_group_size is not None

    @property
    def work_items(self) -> int:
        rows, columns = self.work_group_size or (1, 1)
        return rows * columns

    @property
    def subgroups(self) -> int:
        return self.work_items // (self.subgroup_size or 1)

    # --- instructions ----------------------------------------------------------------------

    def number(
        self,
        scope: Scope,
        mnemonic: str,
        type: Type,
        /,
        *sources: Tracked,
        interval: Interval | None = None,
        magnitude: float = float("inf"),
        looseness: float = 0.0,
        alike: Alike | None = None,
        keep: bool = True,
        **fields: Any,
    ) -> Tracked:
        """Add an instruction with one result, which is as much alike as its sources."""
        (value,) = scope.builder.add(mnemonic, type, **fields)
        least = min((s.alike for s in sources), default=Alike.WORK_GROUP) if alike is None else alike
        found = Tracked(value, interval, magnitude, looseness, Alike.WORK_GROUP if of_work_group(type) else least)
        if keep:
            (scope.numbers if isinstance(type, Number | Boolean) else scope.matrices).append(found)
        return found

    def constant(self, scope: Scope, type: Type, value: bool | int | float | complex) -> Tracked:
        """A constant of a type, of the literal kind that it asks for."""
        interval = (value, value) if isinstance(value, int) and not isinstance(value, bool) else None
        # Unlike abs, hypot does not fail where the magnitude of a complex number is infinite.
        size = math.hypot(value.real, value.imag)
        made = self.number(scope, "constant", type, value=value, interval=interval, magnitude=size, keep=False)
        found = replace(made, constant=value)
        if isinstance(type, Number | Boolean):
            scope.numbers.append(found)
        return found

    def literal(self, type: Number | Boolean, least: int = -4, most: int = 4) -> bool | int | float | complex:
        """A small literal for a type."""
        drawn = self.source.randint(least, most)
        if isinstance(type, Boolean):
            return self.chance(0.5)
        if type.family == "integer":
            return drawn
        if type.family == "floating":
            return drawn / 2
        return complex(drawn / 2, self.source.randint(-2, 2) / 2)

    def fresh(self, scope: Scope, type: Number | Boolean) -> Tracked:
        """A new value of a scalar type: a constant or a parameter."""
        if scope.closed or self.chance(0.7):
            return self.constant(scope, type, self.literal(type))
        value = self.literal(type)
        interval = (value, value) if isinstance(value, int) and not isinstance(value, bool) else None
        found = Tracked(self.parameter(type, Argument(type, scalar=value)), interval, abs(value))
        self.everywhere(lambda s: s.numbers.append(found))
        return found

    def everywhere(self, change: Callable[[Scope], object]) -> None:
        """Make something visible in all regions under construction."""
        for scope in self.scopes:
            change(scope)

    def scalar(self, scope: Scope, type: Number | Boolean, test: Callable[[Tracked], bool] = lambda t: True) -> Tracked:
        """A visible value of a type that passes a test, or a constant; constants pass every test there is."""
        known = [t for t in scope.numbers if t.type == type and test(t)]
        if known and self.chance(0.9):
            computed = [t for t in known if t.constant is None]
            return self.source.choice(computed[-8:] if computed and self.chance(0.85) else known)
        return (
            self.fresh(scope, type)
            if not known and self.chance(0.5)
            else self.constant(scope, type, self.literal(type))
        )

    def index(self, scope: Scope, size: int, least: Alike = Alike.NOBODY) -> Tracked:
        """An index inside a mode of a size, which must not be 0."""
        known = [
            t for t in scope.numbers
            if t.type == INDEX and t.interval and t.interval[0] >= 0 and t.interval[1] < size and t.alike >= least
        ]  # fmt: skip
        if known and self.chance(0.8):
            return self.source.choice(known)
        return self.constant(scope, INDEX, self.source.randrange(size))

    def exactly(self, scope: Scope, type: Number, value: int) -> Tracked:
        """A value that is known to be a number."""
        known = [t for t in scope.numbers if t.type == type and t.interval == (value, value)]
        return self.source.choice(known) if known and self.chance(0.7) else self.constant(scope, type, value)

    # --- parameters ------------------------------------------------------------------------

    def parameter(self, type: Type, argument: Argument, attributes: Dictionary | None = None) -> Value:
        """A new parameter of the function."""
        value = Value(f"p{len(self.parameters)}", type)
        self.parameters.append(Parameter(value, attributes or Dictionary()))
        self.arguments.append(argument)
        return value

    def layout(
        self, shape: tuple[int, ...], sizes: tuple[Extent, ...] | None = None
    ) -> tuple[tuple[Extent, ...], tuple[int, ...], tuple[Extent, ...]]:
        """How a type may say a shape: mode sizes, strides as they are, strides as the type says."""
        if sizes is None:
            sizes = tuple(None if self.chance(0.25) else n for n in shape)
        strides: list[int] = []
        step = 1 if self.chance(0.7) else self.source.randint(1, 2)
        padded = self.chance(0.2)
        for n in shape:
            strides.append(step)
            step = step * max(n, 1) + (self.source.randint(0, 3) if padded else 0)
        actual = tuple(strides)
        packed = packed_strides(sizes)
        if all(p in (None, a) for p, a in zip(packed, actual, strict=True)) and actual == _packed(shape):
            return sizes, actual, packed
        said = tuple(None if self.chance(0.3) else a for a in actual)
        return sizes, _told(shape, actual, said), said

    def memory(
        self, element: Number, shape: tuple[int, ...], *, writable: bool, sizes: tuple[Extent, ...] | None = None
    ) -> Reference:
        """A new parameter, visible everywhere; a part for each work-group where it is written by several.

        `sizes` is the shape as the type has to say it.
        """
        shared = writable and self.grid > 1
        whole = (*shape, self.grid) if shared else shape
        said, strides, steps = self.layout(whole, None if shared else sizes)
        type = MemRef(element, said, steps)
        held = Memory(f"p{len(self.parameters)}", element, writable, magnitude=INPUT_MAGNITUDE)
        promises = self._promises(element, whole, said)
        value = self.parameter(type, Argument(type, held, whole, strides), promises)
        reference = Reference(value, held, whole, strides)
        if shared:
            reference = self._own_part(reference, sizes or shape)
        self.everywhere(lambda s: s.references.append(reference))
        return reference

    def _promises(self, element: Number, shape: tuple[int, ...], sizes: tuple[Extent, ...]) -> Dictionary:
        if not self.chance(0.1) or not shape or 0 in shape:
            return Dictionary()
        entries = (
            Entry("alignment", element.size),
            Entry("shape_gcd", tuple(1 if n is None else n for n in sizes[:1])),
        )
        return Dictionary(entries[: self.source.randint(1, 2)])

    def _own_part(self, whole: Reference, sizes: tuple[Extent, ...]) -> Reference:
        """The part of a work-group: the last mode is the number of the work-group."""
        shape = whole.shape[:-1]
        said = [self.prelude.add("constant", INDEX, value=n)[0] if size is None else n
                for n, size in zip(shape, sizes, strict=True)]  # fmt: skip
        slices = (*(Slice(0, n) for n in said), Slice(self.number_of_group().value))
        type = MemRef(whole.type.element, sizes, whole.type.strides[:-1])
        (value,) = self.prelude.add("subview", type, tensor=whole.value, slices=slices)
        return Reference(value, whole.memory, shape, whole.strides[:-1])

    def number_of_group(self) -> Tracked:
        """The number of the work-group in the grid."""
        if self.group_number is None:
            (number,) = self.prelude.add("group_id", INDEX, axis=0)
            self.group_number = Tracked(number, (0, self.grid - 1))
        return self.group_number

    def fitting(
        self,
        scope: Scope,
        element: Number,
        shape: tuple[int, ...],
        sizes: tuple[Extent, ...],
        *,
        write: bool = False,
        apart: tuple[Memory, ...] = (),
    ) -> Reference:
        """Memory of a shape that its type says in a given way, behind none of the memories `apart`."""

        def fits(r: Reference) -> bool:
            same = r.memory.element == element and r.shape == shape and r.type.shape == sizes
            return same and r.memory not in apart and (scope.may_write if write else scope.may_read)(r.memory)

        known = [r for r in scope.references if fits(r)]
        new = not known or self.chance(0.2)
        found = self.memory(element, shape, writable=write, sizes=sizes) if new else self.source.choice(known)
        (scope.writes if write else scope.reads)(found.memory)
        return found

    def group(self, element: Number, shape: tuple[int, ...]) -> GroupReference:
        """A new group of inputs."""
        sizes, strides, said = self.layout(shape)
        count = self.source.randint(1, 3)
        type = GroupType(MemRef(element, sizes, said), None if self.chance(0.3) else count)
        held = Memory(f"p{len(self.parameters)}", element, False, magnitude=INPUT_MAGNITUDE)
        value = self.parameter(type, Argument(type, held, shape, strides, members=count))
        reference = GroupReference(value, held, count, shape, strides)
        self.everywhere(lambda s: s.groups.append(reference))
        return reference

    # --- memory that fits ------------------------------------------------------------------

    def readable(
        self, scope: Scope, test: Callable[[Reference], bool], element: Number, shape: tuple[int, ...]
    ) -> Reference:
        """Memory to read that passes a test; a new parameter if there is none."""
        known = [r for r in scope.references if scope.may_read(r.memory) and test(r)]
        found = (
            self.source.choice(known) if known and self.chance(0.75) else self.memory(element, shape, writable=False)
        )
        scope.reads(found.memory)
        return found

    def writable(
        self, scope: Scope, test: Callable[[Reference], bool], element: Number, shape: tuple[int, ...]
    ) -> Reference:
        """Memory to write that passes a test; a new parameter if there is none."""
        known = [r for r in scope.references if scope.may_write(r.memory) and test(r) and 0 not in r.strides]
        found = self.source.choice(known) if known and self.chance(0.75) else self.memory(element, shape, writable=True)
        scope.writes(found.memory)
        return found

    # --- programs --------------------------------------------------------------------------

    def fill(self, scope: Scope, emitters: list[tuple[Emitter, float]], count: int) -> None:
        """Add instructions to a region."""
        self.scopes.append(scope)
        functions, weights = zip(*(row for row in emitters if row[0] not in self.left_out), strict=True)
        for _ in range(count):
            for _ in range(4):
                if self.source.choices(functions, weights)[0](self, scope):
                    break
        self.scopes.pop()

    def attributes(self) -> Dictionary:
        """The attributes of the function."""
        entries: list[Entry] = []
        if self.subgroup_size is not None:
            entries.append(Entry("subgroup_size", self.subgroup_size))
        if self.work_group_size is not None:
            entries.append(Entry("work_group_size", self.work_group_size))
        if self.permissions:
            entries.append(Entry("allow", self.permissions))
            entries.append(Entry("hopper", Dictionary((Entry("stages", len(self.permissions)),))))
        return Dictionary(tuple(entries))

    def choose(self) -> None:
        """The sizes that the function asks for, and the types that it uses most."""
        self.palette = frozenset((BOOL, I32, INDEX, *self.source.sample(CAST, 3)))
        form = self.source.random()
        if form < 0.6:
            self.subgroup_size = self.source.choice((8, 16, 32, 64))
        if form < 0.5:
            size = self.subgroup_size or 8
            self.work_group_size = (size * self.source.randint(1, 2), self.source.randint(1, 2))
        elif form > 0.9:
            self.work_group_size = (64 * self.source.randint(1, 2), self.source.randint(1, 2))
        if self.chance(0.3):
            self.grid = self.source.randint(2, 4)
        # Drawn apart, from what was drawn: programs without permissions are those that they were.
        apart = random.Random(f"{sorted(map(str, self.palette))} {form}")
        if apart.random() < _PERMITTING:
            self.permissions = apart.choice((("contract",), ("tf32",), ("contract", "tf32")))
        self.semantics = apart.choices((_RELEASING, _ACQUIRING, tuple(Semantics)), (4, 4, 1))[0]

    def looseness_of_sum(self, type: Number | Boolean) -> float:
        """The looseness that a sum gets where products in it need not be rounded."""
        return epsilon(type) if "contract" in self.permissions else 0.0

    def looseness_of_product(self, type: Number | None) -> float:
        """The looseness that a product of matrices or vectors gets where its factors may be rounded."""
        return TF32 if type == F32 and "tf32" in self.permissions else 0.0


def _told(shape: tuple[int, ...], strides: tuple[int, ...], said: tuple[Extent, ...]) -> tuple[int, ...]:
    """Strides as a launch knows them: a mode of one element has none, so its `?` is as if packed."""
    found: list[int] = []
    packed = 1
    for n, stride, static in zip(shape, strides, said, strict=True):
        found.append(packed if n <= 1 and static is None else stride)
        packed = found[-1] * max(n, 1)
    return tuple(found)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(s if s is not None else 0 for s in packed_strides(shape))


def looseness_of(type: Type, *sources: float) -> float:
    """The looseness of a result that was rounded in a type, from loose sources or in an order of its own."""
    return max(epsilon(type), *sources) if epsilon(type) else 0.0
