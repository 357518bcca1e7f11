"""Private arrays of numbers and of matrices, and values that nothing has defined."""

from __future__ import annotations

import numpy as np
import pytest

from girih.ir.build import RegionBuilder
from girih.ir.check import check_module
from girih.ir.core import Module, RegionKind, Value
from girih.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    I32,
    INDEX,
    Boolean,
    CoopMatrix,
    MemRef,
    Number,
    PrivateArrayType,
    Type,
    Use,
)
from girih.ops.device import DEVICE_LANGUAGE
from tests.device.building import BYTES, LANES, Body, Code, findings, kernel

TARGETS = ["interpreter", "cpu"]
MATRIX = CoopMatrix(F32, 8, 8, Use.ACC)


def array_of(b: Body, element: Type, size: int, names: tuple[str, ...] = ()) -> Value:
    assert isinstance(element, Number | Boolean | CoopMatrix)
    (array,) = b.add("private_array", PrivateArrayType(element, size), names=names)
    return array


def put(b: Body, array: Value, index: Value, value: Value) -> None:
    b.add("private_store", value=value, array=array, index=index)


def get(b: Body, array: Value, index: Value, type: Type) -> Value:
    return b.one("private_load", type, array=array, index=index)


@pytest.mark.parametrize("target", TARGETS)
def test_elements_by_constant_and_by_lane(target: str) -> None:
    def code(b: Body, A: Value) -> None:
        lane = b.lane()
        numbers, narrow, flags = array_of(b, I32, LANES), array_of(b, BF16, 2), array_of(b, BOOL, 2)
        for number in range(LANES):
            put(b, numbers, b.constant(number), b.constant(10 * number, I32))
        # Each lane replaces its own element, and reads it by a constant; lane 3 sees what it wrote.
        put(b, numbers, lane, b.one("cast", I32, a=lane))
        put(b, narrow, b.constant(1), b.constant(0.5, BF16))
        odd = b.one("equal", BOOL, a=b.one("and", INDEX, a=lane, b=b.constant(1)), b=b.constant(1))
        put(b, flags, b.constant(0), odd)
        chosen = b.one("select", I32, condition=get(b, flags, b.constant(0), BOOL), a=b.constant(100, I32),
                       b=b.constant(200, I32))  # fmt: skip
        half = b.one("cast", F32, a=get(b, narrow, b.constant(1), BF16))
        third = get(b, numbers, b.constant(3), I32)
        mine = get(b, numbers, lane, I32)
        b.store(A, b.times(lane, 16), third, mine, chosen, b.one("bitcast", I32, a=half), alignment=4)

    found = np.zeros((LANES, 4), np.int32)
    kernel(code, {"A": BYTES}, target=target)(found.view(np.int8).reshape(-1))
    assert found[:, 0].tolist() == [30, 30, 30, 3, 30, 30, 30, 30]
    assert found[:, 1].tolist() == list(range(LANES))
    assert found[:, 2].tolist() == [200, 100] * 4
    assert found[:, 3].view(np.float32).tolist() == [0.5] * LANES


@pytest.mark.parametrize("target", TARGETS)
def test_matrices_by_a_number_that_is_known_at_run_time(target: str) -> None:
    """Sums of matrices are kept in an array, and each iteration of a loop replaces one."""

    def code(b: Body, A: Value) -> None:
        sums = array_of(b, MATRIX, 3)
        for number in range(3):
            put(b, sums, b.constant(number), b.one("constant", MATRIX, value=float(number)))
        carried = Value("k", INDEX)
        iteration = Body(b.language, b.kind)
        more = iteration.one("less_than", BOOL, a=carried, b=iteration.constant(3))
        inside = Body(b.language, b.kind)
        old = get(inside, sums, carried, MATRIX)
        put(inside, sums, carried, inside.one("add", MATRIX, a=old, b=old))
        inside.add("leave", depth=0, values=(inside.plus(carried, 1),))
        iteration.add("branch", condition=more, then=inside.region())
        b.add("loop", carried=(carried,), initial=(b.constant(0),), body=iteration.region())
        last, first = get(b, sums, b.constant(2), MATRIX), get(b, sums, b.constant(1), MATRIX)
        b.add("cooperative_matrix_store", matrix=b.one("add", MATRIX, a=first, b=last), memory=A,
              row=b.constant(0), column=b.constant(0))  # fmt: skip

    found = np.zeros((8, 8), np.float32, order="F")
    kernel(code, {"A": MemRef.packed(F32, (8, 8))}, target=target)(found)
    np.testing.assert_array_equal(found, np.full((8, 8), 6.0))


@pytest.mark.parametrize("target", TARGETS)
def test_factors_are_what_they_were_when_they_were_loaded(target: str) -> None:
    """An array changes between a load and its product; what another one holds is stored, too."""
    left, right, total = (CoopMatrix(type, 8, 8, use) for type, use in ((F16, Use.A), (F16, Use.B), (F32, Use.ACC)))

    def code(b: Body, A: Value, B: Value, C: Value, D: Value) -> None:
        def tile(type: CoopMatrix, memory: Value, *, turned: bool) -> Value:
            place = {"memory": memory, "row": b.constant(0), "column": b.constant(0)}
            return b.one("cooperative_matrix_load", type, **place, transpose=turned)

        def keep(matrix: Value, memory: Value, column: int) -> None:
            b.add("cooperative_matrix_store", matrix=matrix, memory=memory, row=b.constant(0),
                  column=b.constant(column))  # fmt: skip

        def times(a: Value, c: Value) -> Value:
            return b.one("cooperative_matrix_mul_add", total, a=a, b=second, c=c)

        straight, turned, second = tile(left, A, turned=False), tile(left, A, turned=True), tile(right, B, turned=True)
        nothing = b.one("constant", total, value=0.0)
        factors, other = array_of(b, left, 2), array_of(b, left, 1)
        put(b, factors, b.constant(1), straight)
        put(b, other, b.constant(0), straight)
        before = get(b, factors, b.constant(1), left)
        put(b, factors, b.constant(1), turned)
        products = [times(before, nothing), times(get(b, factors, b.constant(1), left), nothing)]
        both = get(b, other, b.constant(0), left)
        keep(times(both, products[1]), C, 16)
        for number, matrix in enumerate(products):
            keep(matrix, C, 8 * number)
        keep(both, D, 0)

    a, b = (np.random.default_rng(seed).integers(-4, 5, (8, 8)).astype(np.float16, order="F") for seed in (1, 2))
    c, d = np.zeros((8, 24), np.float32, order="F"), np.zeros((8, 8), np.float16, order="F")
    tiles = {name: MemRef.packed(F16, (8, 8)) for name in "ABD"}
    shapes = {"A": tiles["A"], "B": tiles["B"], "C": MemRef.packed(F32, (8, 24)), "D": tiles["D"]}
    kernel(code, shapes, target=target)(a, b, c, d)
    first, second = (factor.astype(np.float32) @ b.T for factor in (a, a.T))
    np.testing.assert_array_equal(c, np.hstack([first, second, first + second]))
    np.testing.assert_array_equal(d, a)


@pytest.mark.parametrize("target", TARGETS)
def test_work_items_store_their_components(target: str) -> None:
    """Only the odd lanes, each of which holds a row, replace a matrix of an array."""

    def code(b: Body, A: Value) -> None:
        kept = array_of(b, MATRIX, 2)
        put(b, kept, b.constant(1), b.one("constant", MATRIX, value=1.0))
        odd = b.one("equal", BOOL, a=b.one("and", INDEX, a=b.lane(), b=b.constant(1)), b=b.constant(1))
        inside = Body(b.language, b.kind)
        put(inside, kept, b.constant(1), b.one("constant", MATRIX, value=2.0))
        b.add("branch", condition=odd, then=inside.region())
        b.add("cooperative_matrix_store", matrix=get(b, kept, b.constant(1), MATRIX), memory=A,
              row=b.constant(0), column=b.constant(0))  # fmt: skip

    found = np.zeros((8, 8), np.float32, order="F")
    kernel(code, {"A": MemRef.packed(F32, (8, 8))}, target=target)(found)
    np.testing.assert_array_equal(found, np.tile([[1.0], [2.0]], (4, 8)))


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_outside_is_found(target: str) -> None:
    def code(b: Body, A: Value) -> None:
        array = array_of(b, I32, 4, ("table",))
        put(b, array, b.lane(), b.constant(1, I32))

    first = findings(kernel(code, {"A": BYTES}, target=target), np.zeros(4, np.int8))[0]
    assert (first.code, first.lane, first.index, first.shape) == ("run.out_of_bounds", 4, (4,), (4,))
    assert "%table" in first.message


def undefined(code: Code) -> list[tuple[str, str | None, int | None, int]]:
    """What is found in a function with a buffer of 64 bytes: codes, instructions, first lanes, and how often."""
    found = findings(kernel(code, {"A": BYTES}), np.zeros(64, np.int8))
    return [(f.code, f.span.text, f.lane, f.count) for f in found]


def test_undefined_values_are_handed_on_to_where_they_decide() -> None:
    def stored(b: Body, A: Value) -> None:
        sum = b.one("add", I32, a=b.one("undef", I32), b=b.constant(1, I32))
        b.store(A, b.times(b.lane(), 4), sum, alignment=4)

    def decides(b: Body, A: Value) -> None:
        unknown = b.one("less_than", BOOL, a=b.one("undef", I32), b=b.constant(1, I32))
        b.add("branch", condition=unknown, then=b.inner().region())

    def index(b: Body, A: Value) -> None:
        get(b, array_of(b, I32, 4), b.one("undef", INDEX), I32)

    def unwritten(b: Body, A: Value) -> None:
        """Only lanes 5, 6 and 7 read an element that they have not written."""
        array, lane = array_of(b, I32, 9), b.lane()
        put(b, array, lane, b.constant(1, I32))
        least = b.one("min", INDEX, a=lane, b=b.constant(4))
        b.store(A, b.times(lane, 4), get(b, array, least, I32), alignment=4)

    assert undefined(stored) == [("run.undef", "byte_store", 0, 8)]
    assert undefined(decides) == [("run.undef", "branch", 0, 8)]
    assert undefined(index) == [("run.undef", "private_load", 0, 8)]
    assert undefined(unwritten) == [("run.undef", "byte_store", 5, 3)]


def test_undefined_values_that_are_not_chosen_are_no_mistake() -> None:
    def code(b: Body, A: Value) -> None:
        lane, unknown = b.lane(), b.one("undef", I32)
        low = b.one("less_than", BOOL, a=lane, b=b.constant(4))
        # Left with by lanes 4 to 7, which then choose something else.
        side, inner = Body(b.language, b.kind), Body(b.language, b.kind)
        side.add("leave", depth=0, values=(unknown,))
        inner.add("branch", condition=low, otherwise=side.region(), then=Body(b.language, b.kind).region())
        inner.add("leave", depth=0, values=(inner.one("constant", I32, value=7),))
        (left,) = b.add("block", I32, body=inner.region())
        b.store(A, b.times(lane, 4), b.one("select", I32, condition=low, a=left, b=b.constant(9, I32)), alignment=4)

    found = np.zeros(LANES, np.int32)
    kernel(code, {"A": BYTES})(found.view(np.int8))
    assert found.tolist() == [7] * 4 + [9] * 4


def test_rules() -> None:
    def wrong(code: Code) -> list[str]:
        outer, inner = RegionBuilder(DEVICE_LANGUAGE, RegionKind.COLLECTIVE), Body(DEVICE_LANGUAGE, RegionKind.SPMD)
        code(inner)
        outer.add("parallel", body=inner.region())
        return [d.code for d in check_module(Module((outer.function("f", []),)))]

    def load(b: Body) -> None:
        get(b, array_of(b, I32, 4), b.constant(0), F32)

    def store(b: Body) -> None:
        put(b, array_of(b, I32, 4), b.constant(0), b.constant(1.0, F32))

    def empty(b: Body) -> None:
        array_of(b, I32, 0)

    assert wrong(load) == ["private_load.type"]
    assert wrong(store) == ["private_store.type"]
    assert wrong(empty) == ["private_array.size"]
