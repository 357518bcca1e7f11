"""Undefined values that say where to go, or that are stored where others see them: each is found once, there."""

from __future__ import annotations

import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import BOOL, F32, I32, I64, INDEX, CoopMatrix, MemRef, Number, Use
from tests.device.building import BUFFERS, BYTES, LANES, Body, Code, findings, kernel

PARAMETERS = {"buffers": BUFFERS, "addresses": MemRef.packed(I64, (None,)), "r": BYTES}
TABLE = np.array([0x10000], np.int64)


def chosen(body: Body, value: int, type: Number = INDEX, *, defined: bool) -> Value:
    """A number that work-item 5 leaves undefined; the others have the value times their number."""
    lane = body.lane()
    five = body.constant(5 if not defined else LANES)
    number = body.times(lane, value)
    known = number if type is INDEX else body.one("cast", type, a=number)
    return body.one(
        "select", type, condition=body.one("not_equal", BOOL, a=lane, b=five), a=known, b=body.one("undef", type)
    )


def load(body: Body, r: Value, defined: bool, **_: Value) -> None:
    (word,) = body.load(r, chosen(body, 4, defined=defined), I32)
    body.store(r, body.times(body.lane(), 4), word)


def store(body: Body, r: Value, defined: bool, **_: Value) -> None:
    body.store(r, body.times(body.lane(), 4), chosen(body, 4, I32, defined=defined))


def index(body: Body, r: Value, defined: bool, **_: Value) -> None:
    place = body.one("array_index", INDEX, index=chosen(body, 1, I32, defined=defined), size=LANES, text="w")
    body.store(r, body.plus(body.times(body.lane(), 4), body.times(place, 0)), body.constant(1, I32))


def address(body: Body, buffers: Value, addresses: Value, r: Value, defined: bool) -> None:
    base = body.one("add", I64, a=body.constant(0x10000, I64), b=chosen(body, 4, I64, defined=defined))
    memory, offset = body.add("buffer_at", BYTES, INDEX, address=base, bytes=4, buffers=buffers, addresses=addresses)
    (word,) = body.load(memory, offset, I32, alignment=4)
    body.store(r, body.times(body.lane(), 4), word)


def matrix(body: Body, r: Value, defined: bool, **_: Value) -> None:
    type = CoopMatrix(F32, 2, 4, Use.ACC)
    number = body.constant(1.0, F32) if defined else body.one("undef", F32)
    view = body.one("byte_view", MemRef.packed(F32, (2, 4)), memory=r, offset=body.constant(0))
    zero = body.constant(0)
    made = body.one("cooperative_matrix_construct", type, a=number)
    body.add("cooperative_matrix_store", matrix=made, memory=view, row=zero, column=zero)


@pytest.mark.parametrize(
    ("does", "says", "lane"),
    [
        (load, "`offset` of a load is an undefined value", 5),
        (store, "a store stores an undefined value to %r", 5),
        (index, "`index` of `array_index` is an undefined value", 5),
        (address, "`address` of `buffer_at` is an undefined value", 5),
        (matrix, "`cooperative_matrix_store` stores an undefined value to %r", None),
    ],
)
def test_an_undefined_value_is_found_where_it_matters(does: Code, says: str, lane: int | None) -> None:
    arrays = [np.zeros(64, np.int8)], TABLE, np.zeros(64, np.int8)
    kernel(lambda body, **values: does(body, defined=True, **values), PARAMETERS)(*arrays)
    (found,) = findings(kernel(lambda body, **values: does(body, defined=False, **values), PARAMETERS), *arrays)
    assert (found.code, found.message, found.lane) == ("run.undef", says, lane)


def test_what_nobody_stores_is_not_found() -> None:
    def code(body: Body, r: Value, s: Value) -> None:
        place = body.times(body.lane(), 4)
        (nothing,) = body.add("undef", I32)
        (sum,) = body.add("add", I32, a=nothing, b=nothing)
        # An unwritten number is found where it is read, and no second time where it is stored.
        (word,) = body.load(s, place, I32)
        body.store(r, place, word)
        body.add("mul", I32, a=sum, b=word)

    (found,) = findings(kernel(code, {"r": BYTES}, {"s": 32}), np.zeros(32, np.int8))
    assert (found.code, found.span.text) == ("run.uninitialized", "byte_load")
