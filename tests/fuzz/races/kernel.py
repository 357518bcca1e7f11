"""A kernel under construction: its text, its arrays, and a ledger of who touched which element since when.

The ledger is what makes a program free of races by construction: an instruction whose accesses conflict with what
stands in it is left out, or a barrier goes before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from girih.interpreter.machine.numbers import dtype
from girih.ir.limits import DeviceLimits
from girih.ir.types import BF16, C32, C64, F16, F32, F64, I8, I16, I32, I64, INDEX, Number
from girih.ops.tile.memory import Scope
from tests.fuzz.races.ordered import AccessKind, Place, covers

ELEMENTS: tuple[Number, ...] = (I8, I16, I32, I64, F16, BF16, F32, F64, C32, C64)
"""Element types of 1, 2, 4, 8 and 16 bytes."""

LIMITS = DeviceLimits(subgroup_sizes=(1, 2, 4, 8, 16))
"""A device with subgroups that are small enough to try all orders."""


class Who(NamedTuple):
    """Somebody who accesses memory: a work-item, point, tile and work-item, component, or a work-group as one."""

    name: Hashable
    place: Place
    ordinal: int
    lane: int = 0
    subgroup: int = 0


Computed = Callable[[Who, int], int]
"""A number that depends on who computes it and on the iteration of the loop around."""


@dataclass(frozen=True, slots=True)
class Array:
    """Memory of `size` elements: one for all, or one for each work-group, in the last mode if it is global."""

    name: str
    element: Number
    size: int
    local: bool
    groups: int
    """The number of parts; 1 for memory that all work-groups share."""

    def touched(self, who: Who, index: int) -> tuple[str, int, int]:
        """What tells an element from all others."""
        return self.name, who.place.group if self.groups > 1 or self.local else 0, index

    @property
    def space(self) -> str:
        return ",local" if self.local else ""

    @property
    def type(self) -> str:
        parts = f"x{self.groups}" if self.groups > 1 else ""
        return f"memref<{self.element}x{self.size}{parts}{self.space}>"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size, self.groups) if self.groups > 1 else (self.size,)


class Touch(NamedTuple):
    """An access to an element."""

    element: tuple[str, int, int]
    local: bool
    who: Who
    kind: AccessKind
    scope: Scope = Scope.SUBGROUP


class Ledger:
    """Who touched which element, and how many barriers with a fence of that memory there were before."""

    def __init__(self) -> None:
        self.touches: dict[tuple[str, int, int], list[tuple[Touch, int]]] = {}
        self.barriers = [0, 0]

    def copy(self) -> Ledger:
        """A ledger in which to try what comes next."""
        made = Ledger()
        made.touches = {element: list(touches) for element, touches in self.touches.items()}
        made.barriers = list(self.barriers)
        return made

    def barrier(self, *, local: bool, everywhere: bool) -> None:
        """A barrier of all work-groups, with a fence of local and of global memory."""
        self.barriers[0] += local
        self.barriers[1] += everywhere

    def take(self, touches: Sequence[Touch]) -> bool:
        """Enter accesses that are unordered among each other, unless they conflict; whether they were entered."""
        here: dict[tuple[str, int, int], list[Touch]] = {}
        for touch in touches:
            together = here.setdefault(touch.element, [])
            if not self._free(touch) or any(self._conflict(touch, other) for other in together):
                return False
            together.append(touch)
        for touch in touches:
            self.touches.setdefault(touch.element, []).append((touch, self.barriers[not touch.local]))
        return True

    def _free(self, touch: Touch) -> bool:
        now = self.barriers[not touch.local]
        return not any(
            self._conflict(touch, other) and (other.who.place.group != touch.who.place.group or then == now)
            for other, then in self.touches.get(touch.element, ())
        )

    @staticmethod
    def _conflict(a: Touch, b: Touch) -> bool:
        if a.who.name == b.who.name or not (a.kind.writes or b.kind.writes):
            return False
        together = covers(a.scope, a.who.place, b.who.place) and covers(b.scope, b.who.place, a.who.place)
        return not (a.kind.atomic and b.kind.atomic and together)


@dataclass(slots=True)
class Launch:
    """A program, the sizes of its launch, and what is in it."""

    text: str
    grid: tuple[int, int, int]
    shapes: dict[str, tuple[Number, tuple[int, ...]]]
    tables: dict[str, NDArray[Any]]
    features: frozenset[str]
    seed: int

    def arguments(self) -> dict[str, NDArray[Any]]:
        """Fresh arrays: zeros, and tables of indices."""
        found = {}
        for name, (element, shape) in self.shapes.items():
            zeros: NDArray[Any] = np.zeros(shape, dtype(element), order="F")
            found[name] = self.tables[name].copy() if name in self.tables else zeros
        return found


@dataclass(slots=True)
class Kernel:
    """The text and arrays so far, and the sizes of the launch."""

    source: random.Random
    grid: int
    subgroup_size: int
    work_group_size: tuple[int, int]
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    open: list[Array] = field(default_factory=list)
    """The arrays that any instruction may access, as far as the ledger allows."""
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    constants: dict[tuple[str, str], str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    features: set[str] = field(default_factory=set)
    names: int = 0

    # --- chance ----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    # --- sizes -----------------------------------------------------------------------------

    @property
    def items(self) -> int:
        """Work-items in a work-group."""
        return prod(self.work_group_size)

    @property
    def subgroups(self) -> int:
        return self.items // self.subgroup_size

    def work_items(self) -> list[Who]:
        """All work-items of all work-groups, numbered in each."""
        return [
            Who(("item", g, w), Place(g, w // self.subgroup_size), w, w % self.subgroup_size, w // self.subgroup_size)
            for g in range(self.grid)
            for w in range(self.items)
        ]

    def work_groups(self) -> list[Who]:
        return [Who(("group", g), Place(g, "group"), 0) for g in range(self.grid)]

    # --- text ------------------------------------------------------------------------------

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def constant(self, value: int, type: str = "index") -> str:
        """The name of a constant of an integer type."""
        return self.literal(str(value), type)

    def literal(self, text: str, type: str) -> str:
        """The name of a constant, which stands at the begin of the function."""
        return self.constants.setdefault((text, type), f"%c{len(self.constants)}")

    def array(
        self, element: Number, size: int, *, local: bool = False, groups: int = 1, fill: str | None = None
    ) -> Array:
        """A new array; one in local memory is filled with a number, that of the constant `fill` if there is one."""
        made = Array(f"A{len(self.arrays)}", element, size, local, groups)
        self.arrays.append(made)
        if local:
            i = self.name()
            self.lines += [
                f"%{made.name} = alloca : {made.type}",
                f"foreach ({i}) = ({self.constant(0)}), ({self.constant(size)}) {{",
                f"store {fill or self.number(element)}, %{made.name}[{i}]",
                "}",
            ]
        return made

    def number(self, element: Number) -> str:
        """The name of a constant of any number type."""
        drawn = self.source.randint(0, 3)
        text = {"integer": f"{drawn}", "floating": f"{drawn}.0", "complex": f"[{drawn}.0, 1.0]"}[element.family]
        return self.literal(text, str(element))

    def work_item(self) -> tuple[list[str], str, str, str]:
        """Lines at the begin of `parallel`, and the names of number, lane and subgroup of a work-item, as indices."""
        lane, linear, first, ordinal, lane_index, subgroup = (self.name() for _ in range(6))
        lines = [
            "parallel {",
            f"{lane} = subgroup_local_id : i32",
            f"{linear} = subgroup_linear_id : i32",
            f"{lane_index} = cast {lane} : index",
            f"{subgroup} = cast {linear} : index",
            f"{first} = mul {subgroup}, {self.constant(self.subgroup_size)} : index",
            f"{ordinal} = add {first}, {lane_index} : index",
        ]
        return lines, ordinal, lane_index, subgroup

    def table(self, numbers: Iterable[int]) -> str:
        """The name of a new parameter of indices that nobody writes."""
        made = f"T{len(self.tables)}"
        self.tables[made] = np.array(list(numbers), np.int64)
        return made

    def launch(self, seed: int) -> Launch:
        """The program that was built."""
        shapes = {a.name: (a.element, a.shape) for a in self.arrays if not a.local}
        shapes |= {name: (INDEX, table.shape) for name, table in self.tables.items()}
        types = {a.name: a.type for a in self.arrays if not a.local}
        types |= {name: f"memref<indexx{table.size}>" for name, table in self.tables.items()}
        parameters = ", ".join(f"%{name}: {types[name]}" for name in shapes)
        rows, columns = self.work_group_size
        head = [
            f"func @f({parameters}) attributes "
            f"{{subgroup_size={self.subgroup_size}, work_group_size=[{rows}, {columns}]}} {{",
            *(f"{name} = constant {value} : {type}" for (value, type), name in self.constants.items()),
            "%g = group_id.x : index",
        ]
        text = "\n".join(_indented([*head, *self.lines, "}"])) + "\n"
        return Launch(text, (self.grid, 1, 1), shapes, self.tables, frozenset(self.features), seed)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    depth = 0
    for line in lines:
        depth -= line.startswith("}")
        yield "    " * depth + line
        depth += line.endswith("{")
