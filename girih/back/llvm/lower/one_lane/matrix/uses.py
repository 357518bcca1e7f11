"""Where matrices of a function are used for the last time, so that what comes next may take their place."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Yield


@dataclass(slots=True)
class MatrixLives:
    """The instructions that define matrices, and those that read one for the last time, in the same region.

    A matrix that an instruction's regions read, or hand on to code around them, has no such reader.
    """

    definers: dict[Value, Op] = field(default_factory=dict)
    last: dict[Value, Op] = field(default_factory=dict)


@lru_cache(maxsize=4)
def lives_of(function: Function) -> MatrixLives:
    """The lives of a function's matrices."""
    lives = MatrixLives()
    kept: set[Value] = set()
    _enter(lives, kept, function.body, ())
    for value in kept:
        lives.last.pop(value, None)
    return lives


def _enter(lives: MatrixLives, kept: set[Value], region: Region, bindings: tuple[Value, ...]) -> set[Value]:
    """Add a region; gives the matrices from outside that it reads."""
    own, outer = {value for value in bindings if isinstance(value.type, CoopMatrix)}, set[Value]()
    for op in region.ops:
        read = {value for value in op.operands if isinstance(value.type, CoopMatrix)}
        inner = set[Value]()
        for nested in op.regions:
            inner |= _enter(lives, kept, nested, tuple(op.bindings))
        kept |= inner
        for value in read | inner:
            if value in own:
                lives.last[value] = op
            else:
                outer.add(value)
        if isinstance(op, Yield):
            kept |= read
        for value in (*op.results, *op.bindings):
            if isinstance(value.type, CoopMatrix):
                lives.definers[value] = op
        own.update(value for value in op.results if isinstance(value.type, CoopMatrix))
    return outer
