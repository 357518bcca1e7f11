"""Atomic accesses to bytes: what becomes of numbers that many work-items replace, and what races with what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import F16, F32, F64, I32, I64, Number
from girih.ops.device.atomics import FLOAT_OPERATORS, INTEGER_OPERATORS
from girih.ops.tile.memory import Scope
from tests.cases import every_case
from tests.device.building import BYTES, LANES, Body, findings, kernel

DTYPES: dict[Number, Any] = {I32: np.int32, I64: np.int64, F16: np.float16, F32: np.float32, F64: np.float64}
BUFFERS = {"a": BYTES, "m": BYTES, "r": BYTES}
WORK_GROUP = 4 * LANES
"""More work-items than are served in rounds."""


def combined(operator: str, dtype: Any, a: Any, b: Any) -> Any:
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    with np.errstate(all="ignore"):
        match operator:
            case "add":
                return a + b
            case "and":
                return a & b
            case "or":
                return a | b
            case "xor":
                return a ^ b
            case "exchange":
                return b
            case "signed_min" | "min":
                return min(a, b)
            case "signed_max" | "max":
                return max(a, b)
            case _:
                pick = min if operator == "unsigned_min" else max
                return pick(a, b, key=lambda number: int(number.view(unsigned)))


def updates(type: Number, operators: tuple[str, ...], scope: Scope) -> Any:
    """Code in which each work-item updates one number for each operator, and stores what it was before."""

    def code(body: Body, a: Value, m: Value, r: Value) -> None:
        item, size = body.item(), type.size
        (value,) = body.load(a, body.times(item, size), type)
        for number, operator in enumerate(operators):
            place = {"memory": m, "offset": body.constant(number * size), "alignment": size, "scope": scope}
            old = body.one("byte_atomic_update", type, operator=operator, value=value, **place)
            body.store(r, body.plus(body.times(item, size), number * size * WORK_GROUP), old)

    return code


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_each_gets_what_was_there_before(target: str) -> None:
    random = np.random.default_rng(1)
    with every_case() as case:
        for type, dtype in DTYPES.items():
            with case(str(type)):
                operators = FLOAT_OPERATORS if type.family == "floating" else INTEGER_OPERATORS
                scope = Scope.WORK_GROUP if type in (I32, F32) else Scope.DEVICE
                most = 9 if type.family == "floating" else 2**31 - 1
                a = random.integers(-most, most, WORK_GROUP).astype(dtype)
                m = random.integers(-9, 9, len(operators)).astype(dtype)
                r = np.zeros(WORK_GROUP * len(operators), dtype)
                wanted, before = m.copy(), np.zeros((len(operators), WORK_GROUP), dtype)
                for number, operator in enumerate(operators):
                    for item in range(WORK_GROUP):
                        before[number, item] = wanted[number]
                        wanted[number] = combined(operator, dtype, wanted[number], a[item])
                code = updates(type, operators, scope)
                launched = kernel(code, BUFFERS, target=target, work_group=WORK_GROUP)
                if target == "interpreter":
                    # The other orders in which races are looked for take their time.
                    launched = launched.options(races=False)
                launched(a.view(np.int8), m.view(np.int8), r.view(np.int8))
                np.testing.assert_array_equal(m, wanted)
                np.testing.assert_array_equal(r.reshape(before.shape), before)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_compare_exchange_load_and_store(target: str) -> None:
    """Each work-item raises the number by one if it finds its own: all do, in their order. Then one stores another."""

    def code(body: Body, a: Value, m: Value, r: Value) -> None:
        item = body.item()
        own = body.one("cast", I32, a=item)
        place = {"memory": m, "offset": body.constant(4), "alignment": 4}
        following = body.one("cast", I32, a=body.plus(item, 1))
        old = body.one("byte_atomic_compare_exchange", I32, value=following, comparator=own, **place)
        now = body.one("byte_atomic_load", I32, **place)
        apart = {"memory": m, "offset": body.plus(body.times(item, 4), 8), "alignment": 4}
        body.add("byte_atomic_store", value=now, **apart)
        body.store(r, body.times(item, 4), old)

    m, r = np.array([7, 0, *range(WORK_GROUP)], np.int32), np.zeros(WORK_GROUP, np.int32)
    launched = kernel(code, BUFFERS, target=target, work_group=WORK_GROUP)
    launched(np.zeros(4, np.int8), m.view(np.int8), r.view(np.int8))
    np.testing.assert_array_equal(r, np.arange(WORK_GROUP))
    assert m[:2].tolist() == [7, WORK_GROUP]
    assert set(m[2:].tolist()) <= set(range(LANES, WORK_GROUP + 1))


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_an_update_outside(target: str) -> None:
    def code(body: Body, a: Value, m: Value, r: Value) -> None:
        value = body.constant(1, I32)
        body.add("byte_atomic_update", I32, operator="add", value=value, memory=m, offset=body.constant(8), alignment=4)

    launched = kernel(code, BUFFERS, target=target)
    (found,) = findings(launched, *(np.zeros(8, np.int8) for _ in BUFFERS))
    assert found.message == "an atomic update outside its memory: bytes 8 to 11 of %m, which has 8"
    assert found.code == "run.out_of_bounds"


def test_a_plain_access_races_with_an_atomic_one() -> None:
    def code(body: Body, a: Value, m: Value, r: Value) -> None:
        place = {"memory": m, "offset": body.constant(0)}
        body.add("byte_atomic_update", I32, operator="add", value=body.constant(1, I32), alignment=4, **place)
        body.store(r, body.times(body.lane(), 4), *body.add("byte_load", I32, alignment=4, **place))

    (found,) = findings(kernel(code, BUFFERS), *(np.zeros(32, np.int8) for _ in BUFFERS))
    assert (found.code, found.kind) == ("run.race", "read")
    assert found.other is not None and found.other.kind == "atomic update"
