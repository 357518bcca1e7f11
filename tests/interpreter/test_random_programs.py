"""Random programs of branches, loops and memory: the machine against one work-item after the other in Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from girih.interpreter.machine.choices import Choices
from tests.interpreter.launching import spmd, zeros

GROUPS, ITEMS, SLOTS = 3, 16, 4
CONSTANTS = {"k1": 1, "k2": 2, "k3": 3, "k7": 7, "big": 2**31 - 5}


@dataclass
class State:
    """One work-item: its values, its slots of memory, and what it added to the sum of its work-group."""

    values: dict[str, int]
    slots: list[int] = field(default_factory=lambda: [0] * SLOTS)
    added: int = 0


Step = Callable[[State], None]


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "max": max, "min": min,
    "xor": lambda a, b: a ^ b, "and": lambda a, b: a & b,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "less_than": lambda a, b: a < b, "equal": lambda a, b: a == b, "greater_than_equal": lambda a, b: a >= b,
}  # fmt: skip


class Writer:
    """Draws a program: its text, and for each instruction what it does to one work-item."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def block(self, scope: list[str], depth: int) -> tuple[list[Step], list[str]]:
        scope = list(scope)
        steps = []
        for _ in range(self.random.randint(1, 4)):
            kinds = [self.arithmetic, self.arithmetic, self.store, self.load, self.atomic]
            if depth < 4:
                kinds += [self.branch, self.loop, self.branch]
            steps.append(self.random.choice(kinds)(scope, depth))
        return steps, scope

    def arithmetic(self, scope: list[str], depth: int) -> Step:
        mnemonic = self.random.choice(sorted(OPERATIONS))
        a, b, result = self.random.choice(scope), self.random.choice(scope), self.name()
        self.lines.append(f"%{result} = {mnemonic} %{a}, %{b} : i32")
        scope.append(result)

        def step(state: State) -> None:
            state.values[result] = wrapped(OPERATIONS[mnemonic](state.values[a], state.values[b]))

        return step

    def store(self, scope: list[str], depth: int) -> Step:
        value, slot = self.random.choice(scope), self.random.randrange(SLOTS)
        self.lines.append(f"store %{value}, %A[%s{slot}, %item, %g]")

        def step(state: State) -> None:
            state.slots[slot] = state.values[value]

        return step

    def load(self, scope: list[str], depth: int) -> Step:
        result, slot = self.name(), self.random.randrange(SLOTS)
        self.lines.append(f"%{result} = load %A[%s{slot}, %item, %g] : i32")
        scope.append(result)

        def step(state: State) -> None:
            state.values[result] = state.slots[slot]

        return step

    def atomic(self, scope: list[str], depth: int) -> Step:
        value = self.random.choice(scope)
        self.lines.append(f"%{self.name()} = atomic_add %{value}, %S[%g] : i32")

        def step(state: State) -> None:
            state.added = wrapped(state.added + state.values[value])

        return step

    def branch(self, scope: list[str], depth: int) -> Step:
        mnemonic = self.random.choice(sorted(COMPARISONS))
        a, b, condition, result = self.random.choice(scope), self.random.choice(scope), self.name(), self.name()
        returns = self.random.random() < 0.7
        self.lines.append(f"%{condition} = {mnemonic} %{a}, %{b} : bool")
        self.lines.append(f"%{result} = if %{condition} -> (i32) {{" if returns else f"if %{condition} {{")
        first = self.region(scope, depth, returns)
        self.lines.append("} else {")
        second = self.region(scope, depth, returns)
        self.lines.append("}")
        if returns:
            scope.append(result)

        def step(state: State) -> None:
            steps, yielded = first if COMPARISONS[mnemonic](state.values[a], state.values[b]) else second
            for one in steps:
                one(state)
            if returns:
                state.values[result] = state.values[yielded]

        return step

    def region(self, scope: list[str], depth: int, returns: bool) -> tuple[list[Step], str]:
        steps, inner = self.block(scope, depth + 1)
        yielded = self.random.choice(inner)
        if returns:
            self.lines.append(f"yield (%{yielded})")
        return steps, yielded

    def loop(self, scope: list[str], depth: int) -> Step:
        begin, end, variable, carried, result = (self.name() for _ in range(5))
        a, b, start = (self.random.choice(scope) for _ in range(3))
        stride = self.random.choice(["k1", "k2", "k3"])
        self.lines.append(f"%{begin} = and %{a}, %k3 : i32")
        self.lines.append(f"%{end} = and %{b}, %k7 : i32")
        self.lines.append(
            f"%{result} = for %{variable}=%{begin},%{end},%{stride} init(%{carried}=%{start}) -> (i32) {{"
        )
        steps, yielded = self.region([*scope, variable, carried], depth, True)
        self.lines.append("}")
        scope += [begin, end, result]

        def step(state: State) -> None:
            values = state.values
            values[begin], values[end], current = values[a] & 3, values[b] & 7, values[start]
            for trip in range(values[begin], values[end], CONSTANTS[stride]):
                values[variable], values[carried] = trip, current
                for one in steps:
                    one(state)
                current = values[yielded]
            values[result] = current

        return step


def prologue() -> str:
    lines = [f"%s{i} = constant {i} : index" for i in range(SLOTS)]
    lines += [f"%{name} = constant {value} : i32" for name, value in CONSTANTS.items()]
    lines += ["%g = group_id.x : index", "%group = cast %g : i32", "%me = cast %item : i32"]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_the_machine_agrees_with_one_work_item_after_the_other(seed: int) -> None:
    writer = Writer(seed)
    steps, _ = writer.block(["me", "group", *CONSTANTS], 0)
    launched = spmd("%A: memref<i32x?x?x?>, %S: memref<i32x?>", prologue() + "\n" + "\n".join(writer.lines))
    a, s = zeros(SLOTS, ITEMS, GROUPS, dtype=np.int32), zeros(GROUPS, dtype=np.int32)
    launched.options(choices=Choices(seed if seed % 2 else None))[GROUPS](a, s)
    sums = [0] * GROUPS
    for group in range(GROUPS):
        for item in range(ITEMS):
            state = State({**CONSTANTS, "me": item, "group": group})
            for step in steps:
                step(state)
            assert a[:, item, group].tolist() == state.slots
            sums[group] = wrapped(sums[group] + state.added)
    assert s.tolist() == sums
