"""Shader code, executed on NumPy arrays, one work-item after the other: what the passes are measured by.

Integers are Python's, as signed; floats are NumPy's of their type. Code without matrices; as a work-item is alone, it
is the only one of its subgroup, and barriers are nothing. What would be undefined, and a place outside of memory, is an
AssertionError: the code must not come to it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
    ShaderRoutine,
    Statement,
)
from girih.back.spirv.code.types import is_float, size_of

FLOATS = {"half": np.float16, "float": np.float32, "double": np.float64, "bfloat": ml_dtypes.bfloat16}
COUNTERS = {"half": "<h", "float": "<i", "double": "<q", "bfloat": "<h"}

MOST_ITERATIONS = 10_000


class LeftShader(Exception):
    """The work-item left the shader."""


def wrap(value: int, type: str) -> int:
    """A number cut to a type."""
    if type == "i1":
        return value & 1
    half = 1 << bits(type) - 1
    return (value + half) % (2 * half) - half


def unsigned(value: int, type: str) -> int:
    """A number of a type, taken as unsigned."""
    return value % (1 << bits(type))


def truncated(a: int, b: int) -> int:
    """A quotient, rounded towards zero."""
    assert b != 0, "division by zero"
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """What such a quotient leaves."""
    return a - truncated(a, b) * b


def quotient(a: int, b: int, type: str) -> int:
    """A quotient that the type has."""
    result = truncated(a, b)
    assert wrap(result, type) == result, "the quotient is larger than its type"
    return result


def amount(b: int, type: str) -> int:
    """An amount of bits to shift by."""
    assert 0 <= b < bits(type), f"a shift of {type} by {b}"
    return b


def divisor(b: int, type: str) -> int:
    """A number to divide by, as unsigned."""
    assert b, "division by zero"
    return unsigned(b, type)


SIGNED: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "sdiv": quotient,
    "srem": lambda a, b, t: quotient(a, b, t) * 0 + remainder(a, b),
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "shl": lambda a, b, t: a << amount(b, t),
    "ashr": lambda a, b, t: a >> amount(b, t),
    "lshr": lambda a, b, t: unsigned(a, t) >> amount(b, t),
    "udiv": lambda a, b, t: unsigned(a, t) // divisor(b, t),
    "urem": lambda a, b, t: unsigned(a, t) % divisor(b, t),
    "smin": lambda a, b, _: min(a, b),
    "smax": lambda a, b, _: max(a, b),
    "umin": lambda a, b, t: min(unsigned(a, t), unsigned(b, t)),
    "umax": lambda a, b, t: max(unsigned(a, t), unsigned(b, t)),
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
ORDERED: dict[str, Callable[[float, float], bool]] = {
    "oeq": lambda a, b: a == b,
    "one": lambda a, b: a != b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
}
REALS: dict[str, Callable[..., np.floating]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fneg": np.negative,
    "fabs": np.abs,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "minnum": np.fmin,
    "maxnum": np.fmax,
}


def bit_pattern(value: object, type: str) -> int:
    """The bits of a value as a signed integer."""
    if is_float(type):
        return int.from_bytes(FLOATS[type](value).tobytes(), "little", signed=True)
    assert isinstance(value, int)
    return value


def from_bits(pattern: int, type: str) -> object:
    """The value of a type that has some bits."""
    if not is_float(type):
        return wrap(pattern, type)
    data = unsigned(pattern, f"i{bits(type)}").to_bytes(size_of(type), "little")
    return np.frombuffer(data, FLOATS[type])[0]


@dataclass
class Evaluation:
    """A work-group that is executed: what its parameters and its memory are.

    `memory` has the bytes of buffers and of shared and private memory by name, and of addresses under `address`.
    """

    code: ShaderCode
    members: Mapping[str, int | float]
    built_ins: Mapping[tuple[str, int], int]
    memory: dict[str, bytearray]
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """What integers were said to be, by their names; whatever is something else fails."""
    nodes: int = 0
    values: dict[str, object] = field(default_factory=dict)

    def run(self) -> None:
        """Execute the body for the work-item that the built-ins name."""
        self.values = {}
        with np.errstate(all="ignore"), suppress(LeftShader):
            self.block(self.code.body)

    def of(self, value: Val) -> object:
        """The value of an operand."""
        if value.text[0] == "%":
            return self.values[value.text]
        if is_float(value.type):
            return FLOATS[value.type](struct.unpack(">d", bytes.fromhex(value.text[2:]))[0])
        number = value.literal
        assert number is not None, value
        return number

    def number(self, value: Val) -> int:
        """The value of an integer operand."""
        result = self.of(value)
        assert isinstance(result, int), value
        return result

    def real(self, value: Val) -> float:
        """The value of a floating-point operand."""
        result = self.of(value)
        assert not isinstance(result, int), value
        return float(np.asarray(result, np.float64))

    def define(self, value: Val, result: object) -> None:
        """Give a value what it is."""
        if value.text in self.bounds and isinstance(result, int):
            low, high = self.bounds[value.text]
            assert low <= result <= high, f"{value} is {result}, and was said to be from {low} to {high}"
        self.values[value.text] = result

    # --- structure -----------------------------------------------------------------------

    def block(self, block: ShaderBlock) -> None:
        """Execute statements."""
        for one in block.statements:
            self.statement(one)

    def statement(self, one: Statement) -> None:
        """Execute a statement."""
        match one:
            case ShaderNode():
                result = self.node(one)
                if one.result is not None:
                    self.define(one.result, result)
            case BranchStatement():
                holds = self.number(one.condition)
                self.block(one.then if holds else one.otherwise)
                chosen = [(value, self.of(a if holds else b)) for value, a, b in one.results]
                for value, result in chosen:
                    self.define(value, result)
            case LoopStatement():
                self.loop(one)
            case RepeatStatement():
                self.enter(one.carried)
                for _ in range(MOST_ITERATIONS):
                    self.block(one.head)
                    if not self.number(one.condition):
                        return
                    self.block(one.body)
                    self.again(one.carried)
                raise AssertionError("too many iterations")
            case LeaveStatement():
                raise LeftShader

    def loop(self, one: LoopStatement) -> None:
        """Execute a loop over a range."""
        index, stop, step = self.number(one.start), self.number(one.stop), self.number(one.step)
        assert step > 0
        self.enter(one.carried)
        for _ in range(MOST_ITERATIONS):
            if index >= stop:
                return
            self.define(one.index, index)
            self.block(one.body)
            self.again(one.carried)
            index += step
            if index != wrap(index, one.index.type):
                assert one.wraps, "the sum overflows in a loop that does not wrap"
                return
        raise AssertionError("too many iterations")

    def enter(self, carried: list[CarriedValue]) -> None:
        """Give carried values what they are at first."""
        for value, result in [(c.value, self.of(c.initial)) for c in carried]:
            self.define(value, result)

    def again(self, carried: list[CarriedValue]) -> None:
        """Give carried values what they are in the next iteration."""
        for value, result in [(c.value, self.of(c.following)) for c in carried]:
            self.define(value, result)

    # --- nodes ---------------------------------------------------------------------------

    def node(self, one: ShaderNode) -> object:
        """The result of a node."""
        self.nodes += 1
        op, type = one.op, one.result.type if one.result is not None else ""
        for operand in one.operands:
            if operand.text[0] == "%" and operand.type[0] == "i":
                assert self.number(operand) == wrap(self.number(operand), operand.type), f"{op} of {operand}"
        if op in SIGNED:
            a, b = map(self.number, one.operands)
            assert {o.type for o in one.operands} == {type}, op
            return wrap(SIGNED[op](a, b, type), type)
        source = one.operands[0].type if one.operands else ""
        if op in ("eq", "ne") or (op[:1] in ("s", "u") and op[1:] in COMPARISONS):
            assert one.operands[1].type == source, op
            a, b = map(self.number, one.operands)
            if op[0] == "u":
                a, b = unsigned(a, source), unsigned(b, source)
            return int(COMPARISONS[op.lstrip("su") if op not in ("eq", "ne") else op](a, b))
        if op in REALS:
            return FLOATS[type](REALS[op](*map(self.of, one.operands)))
        if op in ("load", "store", "atomic"):
            return self.access(one, type)
        if op in ("sitofp", "uitofp", "fptosi", "fpext", "fptrunc", "bitcast", "trunc", "zext", "sext"):
            return self.converted(one, op, source, type)
        return self.other(one, op, type)

    def converted(self, one: ShaderNode, op: str, source: str, type: str) -> object:
        """A number of another type."""
        match op:
            case "trunc" | "zext" | "sext":
                a = self.number(one.operands[0])
                assert (bits(type) < bits(source)) == (op == "trunc") and source != type, (op, source, type)
                a = -a if op == "sext" and source == "i1" else unsigned(a, source) if op == "zext" else a
                return wrap(a, type)
            case "sitofp":
                return FLOATS[type](self.number(one.operands[0]))
            case "uitofp":
                return FLOATS[type](unsigned(self.number(one.operands[0]), source))
            case "fptosi":
                return quotient(int(self.real(one.operands[0])), 1, type)
            case "fpext" | "fptrunc":
                return FLOATS[type](self.of(one.operands[0]))
            case _:
                assert bits(source) == bits(type)
                return from_bits(bit_pattern(self.of(one.operands[0]), source), type)

    def other(self, one: ShaderNode, op: str, type: str) -> object:
        """The result of a node that is no arithmetic."""
        match op:
            case "oeq" | "olt" | "ole" | "ogt" | "oge" | "one":
                a, b = map(self.real, one.operands)
                return int(a == a and b == b and ORDERED[op](a, b))
            case "select":
                assert one.operands[1].type == one.operands[2].type == type
                return self.of(one.operands[1 if self.number(one.operands[0]) else 2])
            case "ctpop":
                return unsigned(self.number(one.operands[0]), type).bit_count()
            case "member":
                value = self.members[str(one.details[0])]
                assert type == next(m.type for m in self.code.members if m.name == one.details[0])
                return FLOATS[type](value) if is_float(type) else wrap(int(value), type)
            case "built_in":
                name, axis = one.details
                return self.built_ins[str(name), int(str(axis))]
            case "call":
                return self.call(one)
            case "shuffle" | "broadcast" | "vote" | "group":
                return self.of(one.operands[0])
            case "barrier" | "fence":
                return None
            case _:
                raise AssertionError(f"no meaning of {op}")

    def call(self, one: ShaderNode) -> object:
        """The result of a routine, which sees its parameters only."""
        routine = one.details[0]
        assert isinstance(routine, ShaderRoutine) and routine in self.code.routines
        outer = self.values
        arguments = [self.of(a) for a in one.operands]
        assert [a.type for a in one.operands] == [p.type for p in routine.parameters]
        self.values = {p.text: a for p, a in zip(routine.parameters, arguments, strict=True)}
        self.block(routine.body)
        result = None if routine.result is None else self.of(routine.result)
        self.values = outer
        return result

    def access(self, one: ShaderNode, type: str) -> object:
        """What an access of memory gives."""
        memory, element = one.details[:2]
        assert isinstance(memory, ShaderMemory) and isinstance(element, str)
        assert element in memory.types, f"{memory.name} is not declared to be seen as {element}"
        size = size_of(element)
        place = self.number(one.operands[1 if one.op == "store" else 0])
        is_address = memory.kind is MemoryKind.ADDRESS
        if is_address:
            assert one.operands[1 if one.op == "store" else 0].type == "i64", "an address has 64 bits"
        start = place if is_address else place * size
        held = self.memory[memory.name]
        assert 0 <= start <= len(held) - size, f"{one.op} outside of {memory.name}: {place}"
        before = from_bits(int.from_bytes(held[start : start + size], "little", signed=True), element)
        if one.op == "load":
            assert type == element
            return before
        if one.op == "store":
            assert one.operands[0].type == element
            after = self.of(one.operands[0])
        else:
            assert one.details[2] == "add" and isinstance(before, int)
            after = wrap(before + self.number(one.operands[1]), element)
        held[start : start + size] = unsigned(bit_pattern(after, element), f"i{8 * size}").to_bytes(size, "little")
        return before if one.op == "atomic" else None
