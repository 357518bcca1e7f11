"""Random nests of blocks, loops and branches that are left from inside, and what they do, one work-item at a time.

A nest is made of statements, from which a function of the probe language is built, and which `outcome` executes for a
single work-item as a Python program would: what executors make of masks, it does not know of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Function, Module, Op, Region, RegionKind, Value
from girih.ir.types import BOOL, I32, INDEX, MemRef, PrivateArrayType, Type
from girih.ops.device.control import Block, Branch, Leave, Loop
from girih.ops.tile.arith import Constant
from tests.device.probe import PROBE

LANES = 8
SIZE = 4
"""The elements of the private array."""


@dataclass
class Nest:
    """A nest that is being made: constructs around the place, and the values that are visible there."""

    random: Random
    builder: RegionBuilder
    values: list[Value]
    array: Value
    memory: Value
    place: Value
    constructs: list[AroundPlace] = field(default_factory=list)
    budget: int = 30

    def inside(self, *more: Value) -> Nest:
        """A nest in a new region of the place, which sees some more values."""
        return Nest(
            self.random,
            self.builder.inner(),
            [*self.values, *more],
            self.array,
            self.memory,
            self.place,
            list(self.constructs),
            self.budget,
        )

    def one(self, mnemonic: str, type: Type, **fields: Any) -> Value:
        (value,) = self.builder.add(mnemonic, type, **fields)
        return value

    def constant(self, value: int) -> Value:
        return self.one("constant", I32, value=value)

    def some(self) -> Value:
        """A value that is visible."""
        return self.random.choice(self.values[-6:] if self.random.random() < 0.6 else self.values)


@dataclass
class AroundPlace:
    """A construct around a place: how many values it is left with, and the counter of a loop that goes first."""

    count: int
    counter: Value | None = None


def function(seed: int) -> Function:
    """The function of a random nest: `f(A, u)` with an element of A for each work-item, and a number u for all."""
    random = Random(seed)
    memory, shared = parameter("A", MemRef.packed(I32, (None,))), parameter("u", I32)
    outer = RegionBuilder(PROBE, RegionKind.COLLECTIVE)
    body = RegionBuilder(PROBE, RegionKind.SPMD)
    (lane,) = body.add("subgroup_local_id", I32)
    (place,) = body.add("cast", INDEX, a=lane)
    (array,) = body.add("private_array", PrivateArrayType(I32, SIZE))
    nest = Nest(random, body, [lane, shared.value], array, memory.value, place)
    nest.values += [nest.constant(n) for n in (0, 1, 3)]
    for number in range(SIZE):
        body.add("private_store", value=nest.some(), array=array, index=nest.one("constant", INDEX, value=number))
    while nest.budget > 0:
        statement(nest)
    outer.add("parallel", body=body.region())
    sizes = Dictionary((Entry("work_group_size", (LANES, 1)), Entry("subgroup_size", LANES)))
    made = outer.function("f", [memory, shared], sizes)
    assert check_module(Module((made,))) == []
    return made


# --- making ------------------------------------------------------------------------------------


def statement(nest: Nest) -> None:
    """Add a statement that comes to its end, or may."""
    nest.budget -= 1
    random, deep = nest.random, len(nest.constructs) >= 5
    kinds = [compute, compute, observe, touch] if deep or nest.budget <= 0 else [
        compute, observe, touch, branch, branch, block, block, loop,
    ]  # fmt: skip
    random.choice(kinds)(nest)


def compute(nest: Nest) -> None:
    mnemonic = nest.random.choice(["add", "sub", "mul", "and", "xor", "min"])
    nest.values.append(nest.one(mnemonic, I32, a=nest.some(), b=nest.some()))


def observe(nest: Nest) -> None:
    """Fold a value into the element of the work-item."""
    old = nest.one("load", I32, tensor=nest.memory, indices=(nest.place,))
    thrice = nest.one("mul", I32, a=old, b=nest.constant(3))
    nest.builder.add("store", value=nest.one("add", I32, a=thrice, b=nest.some()), tensor=nest.memory,
                     indices=(nest.place,))  # fmt: skip


def touch(nest: Nest) -> None:
    """Load from the private array, or store to it."""
    if nest.random.random() < 0.4:
        index = nest.one("constant", INDEX, value=nest.random.randrange(SIZE))
    else:
        index = nest.one("cast", INDEX, a=nest.one("and", I32, a=nest.some(), b=nest.constant(SIZE - 1)))
    if nest.random.random() < 0.5:
        nest.values.append(nest.one("private_load", I32, array=nest.array, index=index))
    else:
        nest.builder.add("private_store", value=nest.some(), array=nest.array, index=index)


def condition(nest: Nest) -> Value:
    """A condition on a value, which may be the same for all or not."""
    low = nest.one("and", I32, a=nest.some(), b=nest.constant(nest.random.choice([1, 3, 7])))
    mnemonic = nest.random.choice(["less_than", "greater_than", "equal", "not_equal"])
    return nest.one(mnemonic, BOOL, a=low, b=nest.constant(nest.random.randrange(4)))


def branch(nest: Nest) -> None:
    sides: dict[str, Any] = {}
    decides = condition(nest)
    for name in ("then", "otherwise")[: nest.random.choice([1, 2, 2])]:
        sides[name] = region(nest, nest.inside(), leaves=nest.random.random() < 0.4)
    nest.builder.add("branch", condition=decides, **sides)


def block(nest: Nest) -> None:
    count = nest.random.choice([0, 1, 2])
    inner = nest.inside()
    inner.constructs.append(AroundPlace(count))
    body = region(nest, inner, leaves=count > 0 or nest.random.random() < 0.3, to=0 if count else None)
    nest.values += nest.builder.add("block", *[I32] * count, body=body)


def loop(nest: Nest) -> None:
    """A loop of at most 3 more iterations than a number, which differs or not, has in its last bit."""
    count = nest.random.choice([0, 1, 2])
    carried = tuple(Value("", I32) for _ in range(1 + count))
    initial = (nest.constant(0), *(nest.some() for _ in range(count)))
    most = nest.one("and", I32, a=nest.some(), b=nest.constant(1))
    limit = nest.one("add", I32, a=most, b=nest.constant(nest.random.randrange(3)))
    inner = nest.inside(*carried)
    following = inner.one("add", I32, a=carried[0], b=inner.constant(1))
    inner.constructs.append(AroundPlace(count, following))
    goes_on = inner.one("less_than", BOOL, a=carried[0], b=limit)
    if nest.random.random() < 0.5 and len(inner.constructs) > 1:
        out = inner.inside()
        leave(out, nest.random.randrange(1, len(inner.constructs)))
        inner.builder.add("branch", condition=inner.one("not", BOOL, a=goes_on), then=out.builder.region())
        body = region(nest, inner, leaves=True, to=0)
    else:
        body_of_iteration = region(nest, inner.inside(), leaves=True, to=0)
        inner.builder.add("branch", condition=goes_on, then=body_of_iteration)
        body = inner.builder.region()
    nest.builder.add("loop", carried=carried, initial=initial, body=body)


def region(nest: Nest, inner: Nest, *, leaves: bool, to: int | None = None) -> Region:
    """The region of some statements, at whose end a construct is left: the `to`-th around it, or any."""
    for _ in range(nest.random.randrange(1, 5)):
        statement(inner)
    if leaves and inner.constructs:
        often = to is not None and nest.random.random() < 0.7
        leave(inner, to if often and to is not None else nest.random.randrange(len(inner.constructs)))
    nest.budget = inner.budget
    return inner.builder.region()


def leave(nest: Nest, depth: int) -> None:
    target = nest.constructs[-1 - depth]
    values = [nest.some() for _ in range(target.count)]
    if target.counter is not None:
        values.insert(0, target.counter)
    nest.builder.add("leave", depth=depth, values=tuple(values))


# --- one work-item at a time -------------------------------------------------------------------


class _Left(Exception):
    """A construct is left, `depth` constructs around the one that is asked."""

    def __init__(self, depth: int, values: list[int]) -> None:
        self.depth = depth
        self.values = values


def _wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


_NUMBERS: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "less_than": lambda a, b: a < b,
    "greater_than": lambda a, b: a > b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}


class WorkItem:
    """A work-item that executes a function alone."""

    def __init__(self, function: Function, lane: int, element: int, shared: int) -> None:
        self._lane = lane
        self.element = element
        self._array = [0] * SIZE
        self._env: dict[Value, int] = {function.parameters[1].value: shared}
        (parallel,) = function.body.ops
        self._region(parallel.regions[0])

    def _of(self, values: Sequence[Value]) -> list[int]:
        return [self._env[value] for value in values]

    def _region(self, region: Region) -> None:
        for op in region.ops:
            self._op(op)

    def _op(self, op: Op) -> None:
        match op:
            case Branch():
                side = op.then if self._env[op.condition] else op.otherwise
                if side is not None:
                    self._region(side)
            case Block():
                self._env.update(zip(op.results, self._left(op.body) or [], strict=False))
            case Loop():
                carried: list[int] | None = self._of(op.initial)
                while carried is not None:
                    self._env.update(zip(op.carried, carried, strict=True))
                    carried = self._left(op.body)
            case Leave():
                raise _Left(op.depth, self._of(op.values))
            case _:
                self._compute(op)

    def _left(self, region: Region) -> list[int] | None:
        """What the construct of a region is left with; None where its end is reached."""
        try:
            self._region(region)
        except _Left as left:
            if left.depth:
                raise _Left(left.depth - 1, left.values) from None
            return left.values
        return None

    def _compute(self, op: Op) -> None:
        mnemonic, operands = op.spec.mnemonic, [self._env.get(value, 0) for value in op.operands]
        results = op.results
        if mnemonic in _NUMBERS:
            self._env[results[0]] = _wrapped(int(_NUMBERS[mnemonic](*operands)))
        elif isinstance(op, Constant):
            self._env[op.result] = int(op.value.real)
        elif mnemonic == "store":
            self.element = operands[0]
        elif mnemonic == "private_store":
            self._array[operands[2]] = operands[0]
        elif mnemonic != "private_array":
            known = {"subgroup_local_id": self._lane, "load": self.element, "not": not operands[0] if operands else 0}
            loaded = self._array[operands[1]] if mnemonic == "private_load" else operands[0] if operands else 0
            self._env[results[0]] = int(known.get(mnemonic, loaded))


def outcome(function: Function, elements: np.ndarray, shared: int) -> list[int]:
    """What the elements are after each work-item has executed the function."""
    return [WorkItem(function, lane, int(elements[lane]), shared).element for lane in range(LANES)]
