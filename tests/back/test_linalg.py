"""Collective linear algebra on the CPU target, held against NumPy and the interpreter."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.features import Features
from tests.back.harness import HOST, TARGET, Compiled, Failed, compare, compiled
from tests.cases import crossed, long, one_in

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64, "bf16": ml_dtypes.bfloat16,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "c32": np.complex64, "c64": np.complex128,
}  # fmt: skip
EPSILON = {np.dtype(DTYPES[t]): e for t, e in (("bf16", 2.0**-8), ("f16", 2.0**-10), ("f64", 1e-15), ("c64", 1e-15))}
RNG = np.random.default_rng(11)

ELEMENTWISE = [
    ("f32", "f32"), ("f64", "f64"), ("bf16", "bf16"), ("f16", "f32"), ("c32", "c32"), ("f32", "c64"), ("i8", "i8"),
    ("i16", "i32"), ("i64", "i64"),
]  # fmt: skip
PRODUCTS = [
    ("f32", "f32", "f32"), ("f64", "f64", "f64"), ("bf16", "bf16", "f32"), ("bf16", "bf16", "bf16"),
    ("f16", "f16", "f16"), ("c32", "c32", "c32"), ("f32", "c32", "c64"), ("i8", "i8", "i8"), ("i8", "i16", "i64"),
    ("i32", "i32", "i32"), ("bf16", "i8", "f32"), ("f32", "f64", "f64"), ("index", "index", "index"),
]  # fmt: skip


def random(type: str, *shape: int) -> Array:
    """Random numbers; integers that are small enough for sums to be told apart."""
    dtype = np.dtype(DTYPES[type])
    if dtype.kind == "i":
        return np.asfortranarray(RNG.integers(-9, 10, shape).astype(dtype))
    values = RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if dtype.kind == "c" else 0)
    return np.asfortranarray(values.astype(dtype))


def wide(a: Array) -> Array:
    """The same numbers in the largest type of their kind."""
    return a.astype({"c": np.complex128, "i": np.int64}.get(a.dtype.kind, np.float64))


def agrees(found: Array, wanted: Array, terms: int = 1) -> None:
    """Equal for integers, which wrap around; otherwise near, for sums of so many terms."""
    if found.dtype.kind == "i":
        np.testing.assert_array_equal(found, wanted.astype(found.dtype))
        return
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    error = np.abs(wide(found) - wanted).max(initial=0.0)
    assert error <= 4 * EPSILON.get(found.dtype, 1e-7) * scale * max(1, terms) ** 0.5


def memref(type: str, *shape: int, dynamic: bool) -> str:
    return f"memref<{'x'.join([type, *('?' if dynamic else str(n) for n in shape)])}>"


# --- products of matrices ----------------------------------------------------------------------


def gemms(m: int, n: int, k: int, types: tuple[str, str, str], dynamic: bool, suffix: str = "") -> str:
    """A kernel that multiplies in all four ways, each into a matrix of its own."""
    a, b, c = types
    shapes: dict[str, tuple[Any, ...]] = {"A": (a, m, k), "AT": (a, k, m), "B": (b, k, n), "BT": (b, n, k)}
    shapes |= {f"C{number}": (c, m, n) for number in range(4)}
    listed = ", ".join(f"%{name}: {memref(*shape, dynamic=dynamic)}" for name, shape in shapes.items())
    ways = [f"gemm{suffix}.{'nt'[s]}.{'nt'[t]} %alpha, %A{'T' * s}, %B{'T' * t}, %beta, %C{2 * s + t}"
            for s, t in product((0, 1), repeat=2)]  # fmt: skip
    body = "\n".join(ways)
    return f"func @f(%alpha: {a}, %beta: {c}, {listed}) {{\n{body}\n}}"


def check_gemm(m: int, n: int, k: int, types: tuple[str, str, str], dynamic: bool) -> None:
    a, b = random(types[0], m, k), random(types[1], k, n)
    targets = [random(types[2], m, n) for _ in range(4)]
    wanted = [2 * (wide(a) @ wide(b)) + 3 * wide(c) for c in targets]
    kernel = compiled(gemms(m, n, k, types, dynamic))
    kernel((1, 1, 1), 2, 3, a, np.asfortranarray(a.T), b, np.asfortranarray(b.T), *targets)
    for found, expected in zip(targets, wanted, strict=True):
        agrees(found, expected, k)


@pytest.mark.parametrize(
    ("vector_bytes", "size", "sums"),
    [(16, (37, 41, 784), "i32"), (32, (33, 18, 19), "i32"), (32, (40, 9, 50), "i8"), (64, (70, 30, 1603), "i32"),
     (64, (37, 41, 30), "i8")],
)  # fmt: skip
def test_pairs_of_bytes(vector_bytes: int, size: tuple[int, int, int], sums: str) -> None:
    if vector_bytes > HOST.vector_bytes or not HOST.adds_pairs:
        pytest.skip("this processor has no such vectors")
    target = replace(TARGET, vector_bytes=vector_bytes, registers=32 if vector_bytes == 64 else 16, adds_pairs=True)
    (function,) = girih.parse(gemms(*size, ("i8", "i8", sums), dynamic=True)).functions
    m, n, k = size
    a, b = (np.asfortranarray(np.full(shape, -128, np.int8)) for shape in ((m, k), (k, n)))
    # Two products of the least numbers have a sum that 16 bits lack.
    a[1:, ::3], b[::2, 1:] = random("i8", *a[1:, ::3].shape), random("i8", *b[::2, 1:].shape)
    targets = [random(sums, m, n) for _ in range(4)]
    wanted = [(2 * (a.astype(np.int32) @ b.astype(np.int32)) + 3 * c).astype(DTYPES[sums]) for c in targets]
    assert "pmadd" in lower(function, target).text
    Compiled(function, target=target)((1, 1, 1), 2, 3, a, np.asfortranarray(a.T), b, np.asfortranarray(b.T), *targets)
    for found, expected in zip(targets, wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


SHALLOW_OR_DEEP = [((33, 18, 19), False), ((37, 41, 783), False), ((37, 41, 1603), True)]
"""Sizes of products, and whether they show at launch only."""


@pytest.mark.parametrize(("types", "sized"), one_in(3, crossed(PRODUCTS, SHALLOW_OR_DEEP, first=2)))
def test_gemm_of_every_type(types: tuple[str, str, str], sized: tuple[tuple[int, int, int], bool]) -> None:
    size, dynamic = sized
    check_gemm(*size, types, dynamic)


SIZES = [
    (9, 7, 5), (0, 3, 2), (3, 2, 0), (131, 140, 500), (1, 1, 1), (8, 8, 8), (13, 13, 13), (56, 56, 9), (64, 64, 64),
    (100, 130, 70), (2, 0, 2), (270, 15, 17),
]  # fmt: skip


@pytest.mark.parametrize("size", [*SIZES[:4], *long([(size,) for size in SIZES[4:]])], ids=str)
def test_gemm_of_known_sizes(size: tuple[int, int, int]) -> None:
    check_gemm(*size, ("f32", "f32", "f32"), dynamic=False)


def test_gemm_of_unknown_sizes() -> None:
    kernel = compiled(gemms(1, 1, 1, ("f64", "f64", "f64"), dynamic=True))
    for m, n, k in [*SIZES, (300, 777, 400)]:
        a, b = random("f64", m, k), random("f64", k, n)
        targets = [random("f64", m, n) for _ in range(4)]
        wanted = [2 * (a @ b) + 3 * c for c in targets]
        kernel((1, 1, 1), 2, 3, a, np.asfortranarray(a.T), b, np.asfortranarray(b.T), *targets)
        for found, expected in zip(targets, wanted, strict=True):
            agrees(found, expected, k)


LINES = [(1, 50, 9000), (50, 1, 70), (1, 1, 5), (200, 1, 33), (1, 3, 0)]


@pytest.mark.parametrize(("size", "typed"), crossed(LINES, [("f64", False), ("f32", True), ("c32", False)]), ids=str)
def test_gemm_of_one_row_or_column(size: tuple[int, int, int], typed: tuple[str, bool]) -> None:
    type, dynamic = typed
    check_gemm(*size, (type, type, type), dynamic)


@pytest.mark.parametrize(("columns", "dynamic"), one_in(4, crossed(range(15, 26), [True, True, False, True, True])))
def test_gemm_of_columns_that_remain(columns: int, dynamic: bool) -> None:
    check_gemm(53 if dynamic else 24, columns, 20 if dynamic else 24, ("f32", "f32", "f32"), dynamic)


@pytest.mark.parametrize(("rows", "known"), crossed([3, 31, 63, 64, 65, 130], [False, True]))
def test_gemv_of_few_and_many_rows(rows: int, known: bool) -> None:
    shapes = (rows, 21) if known else ("?", "?")
    types = f"%A: memref<f32x{shapes[0]}x{shapes[1]}>, %x: memref<f32x{shapes[1]}>, %y: memref<f32x{shapes[0]}>"
    kernel = compiled(f"func @f(%alpha: f32, {types}) {{ gemv.n %alpha, %A, %x, %alpha, %y }}")
    a, x, y = random("f32", rows, 21), random("f32", 21), random("f32", rows)
    expected = 3 * (wide(a) @ wide(x) + wide(y))
    kernel((1, 1, 1), 3, a, x, y)
    agrees(y, expected, 21)


@pytest.mark.parametrize("step", [1, 2])
def test_vectors_whose_stride_shows_at_launch(step: int) -> None:
    types = ", ".join(f"%{name}: memref<f32x?,strided<?>>" for name in "xyz")
    body = "hadamard %one, %x, %y, %one, %z axpby %one, %x, %one, %y"
    x, y, z = (random("f32", 333)[::step] for _ in range(3))
    wanted = wide(x) * wide(y) + wide(z), wide(x) + wide(y)
    compiled(f"func @f(%one: f32, {types}) {{ {body} }}")((1, 1, 1), 1, x, y, z)
    agrees(z, wanted[0])
    agrees(y, wanted[1])


@pytest.mark.parametrize("size", [(7, 9, 5), (150, 40, 90)], ids=str)
def test_gemm_of_any_strides(size: tuple[int, int, int]) -> None:
    m, n, k = size
    type = "memref<f32x?x?,strided<?,?>>"
    kernel = compiled(f"func @f(%one: f32, %A: {type}, %B: {type}, %C: {type}) {{ gemm.t.n %one, %A, %B, %one, %C }}")
    a, b, c = random("f32", 2 * k, 3 * m)[::2, ::3], random("f32", 3 * k, n)[::3], random("f32", 2 * m, n)[::2]
    expected = a.T @ b + c
    kernel((1, 1, 1), 1, a, b, c)
    agrees(c, wide(expected), k)


ATOMIC = [*product(["f32", "c32"], [(9, 7, 5), (130, 110, 90)]), ("f16", (3, 5, 7)), ("i8", (70, 50, 40))]


@pytest.mark.parametrize(("typed", "beta"), crossed(ATOMIC, [0, 1]))
def test_atomic_gemm(typed: tuple[str, tuple[int, int, int]], beta: int) -> None:
    type, (m, n, k) = typed
    value = {"c": f"[{beta}.0,0.0]", "i": str(beta)}.get(type[0], f"{beta}.0")
    a, b, c = random(type, m, k), random(type, k, n), random(type, m, n)
    shapes = ", ".join(f"%{x}: {memref(type, *y.shape, dynamic=False)}" for x, y in zip("ABC", (a, b, c), strict=True))
    body = f"%beta = constant {value} : {type}\ngemm.atomic %alpha, %A, %B, %beta, %C"
    expected = 2 * (wide(a) @ wide(b)) + beta * wide(c)
    compiled(f"func @f(%alpha: {type}, {shapes}) {{ {body} }}")((1, 1, 1), 2, a, b, c)
    agrees(c, expected, k)


def test_a_constant_beta_of_zero_does_not_read_the_target() -> None:
    body = "\n".join(f"{op} %one, %A, %A, %zero, %C" for op in ("gemm", "hadamard", "gemm.t.n"))
    text = f"func @f(%one: f32, %A: memref<f32x5x5>, %C: memref<f32x5x5>) {{ %zero = constant 0.0 : f32\n{body} }}"
    a, c = random("f32", 5, 5), np.full((5, 5), np.nan, np.float32, order="F")
    compiled(text)((1, 1, 1), 1, a, c)
    agrees(c, wide(a.T @ a), 5)


# --- everything else ---------------------------------------------------------------------------

SHAPES = [(1, 1), (7, 5), (33, 9), (200, 13), (0, 3), (3, 0)]


def elementwise(m: int, n: int, source: str, target: str, dynamic: bool) -> str:
    """A kernel with every other instruction, each with a target of its own."""
    shapes: dict[str, tuple[Any, ...]] = {
        "A": (source, m, n), "T": (source, n, m), "x": (source, m), "y": (source, n),
        **{f"M{k}": (target, m, n) for k in range(6)}, **{f"V{k}": (target, m) for k in range(5)},
        "s": (target,),
    }  # fmt: skip
    listed = ", ".join(f"%{name}: {memref(*shape, dynamic=dynamic)}" for name, shape in shapes.items())
    body = """
  axpby %alpha, %A, %beta, %M0
  axpby.t %alpha, %T, %beta, %M1
  cumsum %alpha, %A, 0, %beta, %M2
  cumsum %alpha, %A, 1, %beta, %M3
  hadamard %alpha, %A, %A, %beta, %M4
  ger %alpha, %x, %y, %beta, %M5
  sum %alpha, %A, %beta, %V0
  sum.t %alpha, %T, %beta, %V1
  gemv %alpha, %A, %y, %beta, %V2
  gemv.t %alpha, %T, %y, %beta, %V3
  hadamard %alpha, %x, %x, %beta, %V4
  sum %alpha, %x, %beta, %s
"""
    return f"func @f(%alpha: {source}, %beta: {target}, {listed}) {{{body}}}"


@pytest.mark.parametrize(("types", "dynamic"), one_in(3, crossed(ELEMENTWISE, [False, True])))
def test_everything_but_gemm(types: tuple[str, str], dynamic: bool) -> None:
    source, target = types
    kernel = compiled(elementwise(1, 1, source, target, dynamic)) if dynamic else None
    for m, n in [*SHAPES, (2100, 3)] if dynamic else SHAPES[2:3]:
        a, x, y = random(source, m, n), random(source, m), random(source, n)
        results = [random(target, m, n) for _ in range(6)] + [random(target, m) for _ in range(5)] + [random(target)]
        p, u, v = wide(a), wide(x), wide(y)
        computed = [p, p, np.cumsum(p, 0), np.cumsum(p, 1), p * p, np.outer(u, v), p.sum(1), p.sum(1), p @ v, p @ v]
        wanted = [2 * w + 3 * wide(r) for w, r in zip([*computed, u * u, u.sum()], results, strict=True)]
        run = kernel or compiled(elementwise(m, n, source, target, dynamic))
        run((1, 1, 1), 2, 3, a, np.asfortranarray(a.T), x, y, *results)
        for found, expected in zip(results, wanted, strict=True):
            agrees(found, np.asarray(expected), m + n)


def test_any_strides() -> None:
    vector = "memref<f32x?,strided<?>>"
    types = f"%A: memref<f32x?x?,strided<?,?>>, %x: {vector}, %y: {vector}, %z: {vector}"
    body = """gemv.t %one, %A, %x, %one, %y
  sum %one, %A, %one, %x
  axpby %one, %y, %one, %y
  cumsum %one, %y, 0, %one, %z"""
    a, x, y = random("f32", 20, 26)[::2, ::2], random("f32", 20)[::2], random("f32", 39)[::3]
    z = random("f32", 26)[::2]
    sums = 2 * (wide(a).T @ wide(x) + wide(y))
    rows, before = wide(x) + wide(a).sum(1), wide(z)
    compiled(f"func @f(%one: f32, {types}) {{ {body} }}")((1, 1, 1), 1, a, x, y, z)
    agrees(x, rows, 13)
    agrees(y, sums, 13)
    agrees(z, before + np.cumsum(sums), 23)


def test_running_sums_of_three_modes() -> None:
    type = "memref<f32x?x?x?>"
    body = "\n".join(f"cumsum %one, %A, {mode}, %one, %B{mode}" for mode in range(3))
    a, targets = random("f32", 19, 5, 4), [random("f32", 19, 5, 4) for _ in range(3)]
    wanted = [np.cumsum(wide(a), mode) + wide(b) for mode, b in enumerate(targets)]
    parameters = ", ".join(f"%B{mode}: {type}" for mode in range(3))
    compiled(f"func @f(%one: f32, %A: {type}, {parameters}) {{ {body} }}")((1, 1, 1), 1, a, *targets)
    for found, expected in zip(targets, wanted, strict=True):
        agrees(found, expected, 19)


@pytest.mark.parametrize("type", ["f32", "f16", "c64", "i8", *long(["f64", "bf16", "i64"])])
def test_atomic_updates(type: str) -> None:
    """In global memory one by one, in local memory plainly; both lose nothing."""
    one, zero = {"c": ("[1.0,0.0]", "[0.0,0.0]"), "i": ("1", "0")}.get(type[0], ("1.0", "0.0"))
    vector = f"memref<{type}x37>"
    body = f"""
  %one = constant {one} : {type}
  %zero = constant {zero} : {type}
  %m = alloca : memref<{type}x37,local>
  axpby.atomic %one, %A, %zero, %m
  axpby.atomic %one, %A, %one, %m
  axpby.atomic %one, %m, %one, %B
  hadamard.atomic %one, %A, %A, %zero, %C
  sum.atomic %one, %A, %one, %s"""
    a, b, c, s = random(type, 37), random(type, 37), random(type, 37), random(type)
    sums, products, total = wide(b) + 6 * wide(a), wide(a) * wide(a), wide(s) + 3 * wide(a).sum()
    parameters = f"%A: {vector}, %B: {vector}, %C: {vector}, %s: memref<{type}>"
    compiled(f"func @f({parameters}) {{{body}\n}}")((3, 1, 1), a, b, c, s)
    agrees(b, sums, 9)
    agrees(c, products)
    agrees(s, np.asarray(total), 100)


def test_a_source_that_is_the_target() -> None:
    a = random("f32", 71)
    expected = 5 * wide(a)
    compiled("func @f(%a: f32, %b: f32, %A: memref<f32x?>) { axpby %a, %A, %b, %A }")((1, 1, 1), 2, 3, a)
    agrees(a, expected)


@pytest.mark.parametrize("type", ["i8", *long(["i16", "i64"])])
def test_integers_wrap_around_as_in_the_interpreter(type: str) -> None:
    limits = np.iinfo(DTYPES[type])

    def full(*shape: int) -> Array:
        return np.asfortranarray(RNG.integers(limits.min, limits.max, shape, DTYPES[type], endpoint=True))

    square, column = f"memref<{type}x19x19>", f"memref<{type}x19>"
    body = """gemm.t.n %a, %A, %B, %b, %C
  gemv %a, %A, %x, %b, %y
  axpby %a, %A, %b, %B
  cumsum %a, %B, 1, %b, %A
  hadamard %b, %A, %B, %a, %C"""
    parameters = f"%A: {square}, %B: {square}, %C: {square}, %x: {column}, %y: {column}"
    text = f"func @f(%a: {type}, %b: {type}, {parameters}) {{ {body} }}"
    arrays = full(19, 19), full(19, 19), full(19, 19), full(19), full(19)
    compare(text, (1, 1, 1), int(full(1)[0]), int(full(1)[0]), *arrays)


def test_without_masks_and_with_few_registers() -> None:
    """Code for other processors differs: remainders go by smaller vectors."""
    target = CpuTarget(32, 16, Features(f16=True, fma=True))
    program = girih.loads(gemms(37, 19, 21, ("f32", "f32", "f32"), dynamic=False), target="interpreter")
    a, b = random("f32", 37, 21), random("f32", 21, 19)
    targets = [random("f32", 37, 19) for _ in range(4)]
    wanted = [2 * (wide(a) @ wide(b)) + 3 * wide(c) for c in targets]
    kernel = Compiled(program["f"].ir, target=target)
    kernel((1, 1, 1), 2, 3, a, np.asfortranarray(a.T), b, np.asfortranarray(b.T), *targets)
    for found, expected in zip(targets, wanted, strict=True):
        agrees(found, expected, 21)


def test_everything_without_masks() -> None:
    target = CpuTarget(16, 32, Features(f16=True, fma=True))
    program = girih.loads(elementwise(1, 1, "bf16", "f32", dynamic=True), target="interpreter")
    products = girih.loads(gemms(1, 1, 1, ("f32", "f32", "f32"), dynamic=True), target="interpreter")
    a, b, c = random("f32", 37, 21), random("f32", 21, 19), random("f32", 37, 19)
    expected = 2 * (wide(a) @ wide(b)) + 3 * wide(c)
    targets = [c.copy(order="F") for _ in range(4)]
    turned = np.asfortranarray(a.T), b, np.asfortranarray(b.T)
    Compiled(products["f"].ir, target=target)((1, 1, 1), 2, 3, a, *turned, *targets)
    for found in targets:
        agrees(found, expected, 21)
    m, n = 41, 6
    x = random("bf16", m, n)
    results = [random("f32", m, n) for _ in range(6)] + [random("f32", m) for _ in range(5)] + [random("f32")]
    wanted = 2 * np.cumsum(wide(x), 0) + 3 * wide(results[2])
    kernel = Compiled(program["f"].ir, target=target)
    kernel((1, 1, 1), 2, 3, x, np.asfortranarray(x.T), random("bf16", m), random("bf16", n), *results)
    agrees(results[2], wanted, m)


# --- findings ----------------------------------------------------------------------------------

GEMM = """func @f(%a: f32, %A: memref<f32x?x?>, %B: memref<f32x?x?>, %C: memref<f32x?x?>) {
  gemm %a, %A, %B, %a, %C
}"""


def finding(text: str, *arguments: Any) -> Failed:
    with pytest.raises(Failed) as caught:
        compiled(text)((1, 1, 1), *arguments)
    return caught.value


def test_sizes_that_differ() -> None:
    found = finding(GEMM, 1, random("f32", 3, 4), random("f32", 5, 6), random("f32", 3, 6))
    assert (found.code, found.argument, found.values) == ("run.size", "C", [4, 5])
    assert found.message == "`gemm`: columns of op1(a) and rows of op2(b) differ"
    found = finding(GEMM, 1, random("f32", 3, 4), random("f32", 4, 6), random("f32", 3, 7))
    assert (found.message, found.values) == ("`gemm`: op1(a) op2(b) and c differ in shape", [3, 6, 3, 7])


def test_memory_that_is_not_there() -> None:
    found = finding(GEMM, 1, random("f32", 3, 4), None, random("f32", 3, 7))
    assert (found.code, found.argument) == ("run.null", "B")


def test_a_member_of_a_group_with_an_offset() -> None:
    text = """func @f(%a: f32, %A: group<memref<f32x2>x?,offset:2>, %B: memref<f32x2>) {
  %first = constant 0 : index
  %x = load %A[%first] : memref<f32x2>
  axpby %a, %x, %a, %B
}"""
    member, target = random("f32", 5), random("f32", 2)
    expected = wide(target) + wide(member[2:4])
    compiled(text)((1, 1, 1), 1, [member], target)
    agrees(target, expected)
