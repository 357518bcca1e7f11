"""A second language, for tests: three instructions of its own, two of the tensor language, and a type of its own.

Work-items execute the bodies of its functions. `constant` is shared with looser rules: `constant 2 : f32` is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from girih.back.llvm.cpu import compile
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.table import CPU
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.values import scalar_type, uniform
from girih.interpreter.machine.machine import Machine, meaning
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.define import Where, body, op, operand, operands, result, results
from girih.ir.kinds import NUMBER, TypeKind
from girih.ir.language import LanguageBuilder
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import MemRef, Number, Type
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Constant
from girih.ops.tile.memory import Store
from girih.rules.predicates import Holds, at_least
from girih.rules.row import Row
from girih.rules.terms import held

SECTION = "the page about tiny"


@dataclass(frozen=True, slots=True)
class Celsius(Type):
    """A temperature, which has no text that could be read."""

    def __str__(self) -> str:
        return "celsius"


QUANTITY = TypeKind("a number or a temperature", lambda t: isinstance(t, Number | Celsius))
TINY_BUILDER = LanguageBuilder("tiny", (Number, MemRef, Celsius), body=RegionKind.SPMD)


@op(TINY_BUILDER, "twice", Where.SPMD, SECTION, "a : result")
class Twice(Op):
    """A quantity added to itself."""

    a: Value = operand(QUANTITY, "the quantity")
    result: Value = result(QUANTITY, "two of it")


TINY_BUILDER.rules(
    Twice, Row("result_type", "result a", equal(type_of("result"), type_of("a")), "twice keeps the type", SECTION)
)


@op(TINY_BUILDER, "leave", Where.SPMD, SECTION, "( values )", terminator=True)
class Leave(Op):
    """Leave the block around it, with values."""

    values: tuple[Value, ...] = operands(NUMBER, "what the block returns")


@op(TINY_BUILDER, "block", Where.SPMD, SECTION, "body -> ( results )")
class Block(Op):
    """Instructions that are left with values."""

    body: Region = body(doc="what is done")
    results: tuple[Value, ...] = results(NUMBER, "the values")


def _left_with(s: Subject) -> bool:
    last = s.op.body.terminator
    return isinstance(last, Leave) and [v.type for v in last.values] == [v.type for v in s.op.results]


TINY_BUILDER.rules(
    Leave, Row("parent", "", Holds("it ends a block", lambda s: isinstance(s.facts.parent, Block) and s.facts.last),
               "a leave ends a block", SECTION),
)  # fmt: skip
TINY_BUILDER.rules(Block, Row("leave", "", Holds("a leave with the results ends it", _left_with),
                              "a block is left with its results", SECTION))  # fmt: skip
TINY_BUILDER.share(TILE_LANGUAGE, Store, "type", "parameter")
TINY_BUILDER.share(
    TILE_LANGUAGE, Constant, without=["literal"],
    rows=[Row("least", "value", at_least(held("value"), -100), "constants are not very cold", SECTION)],
)  # fmt: skip
TINY = TINY_BUILDER.finish("tests.ir.tiny.TINY")


@meaning(Twice)
def twice(machine: Machine, op: Twice) -> None:
    """The sum, computed by the interpreter."""
    a = machine.array(op.a)
    machine.set(op.result, a + a)


@meaning(Leave)
def leave(machine: Machine, op: Leave) -> None:
    """Nothing happens here: the block reads the values behind it."""


@meaning(Block)
def block(machine: Machine, op: Block) -> None:
    """The body, then what it was left with."""
    machine.region(op.body)
    for value, left in zip(op.results, _leave_of(op).values, strict=True):
        machine.set(value, machine.array(left))


def _leave_of(op: Block) -> Leave:
    last = op.body.terminator
    assert isinstance(last, Leave)
    return last


LOWERINGS = Lowerings[CpuCode]()


@LOWERINGS.of(Twice)
def lower_twice(code: CpuCode, op: Twice) -> None:
    """The sum, in machine code."""
    (a,) = code.together(code.scalar(op.a))
    type = scalar_type(op.a.type)
    code.set(op.result, uniform(type, *arith.binary(code.w, code.features, "add", type, a, a)))


@LOWERINGS.of(Leave)
def lower_leave(code: CpuCode, op: Leave) -> None:
    """Nothing, as in the interpreter."""


@LOWERINGS.of(Block)
def lower_block(code: CpuCode, op: Block) -> None:
    """The body, then what it was left with."""
    code.region(op.body)
    for value, left in zip(op.results, _leave_of(op).values, strict=True):
        code.set(value, code.scalar(left))


@contextmanager
def cpu_knows_it() -> Iterator[None]:
    """While the lowerings of the CPU are joined by those of the tiny language."""
    with patch.object(compile, "CPU", CPU.joined(LOWERINGS)):
        yield
