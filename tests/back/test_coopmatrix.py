"""Cooperative matrices on the CPU agree with the interpreter."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.back.harness import Compiled, Failed, compare, compiled, copy_of, same
from tests.cases import crossed, long, one_in

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c32": np.complex64, "c64": np.complex128,
}  # fmt: skip
TOLERANCES = {"bf16": 4e-2, "f16": 5e-3, "f32": 1e-4, "f64": 1e-10, "c32": 1e-4, "c64": 1e-10}
SHAPES = [(1, 7), (7, 1), (3, 5), (8, 8), (32, 32), (20, 70), (300, 2)]
ONE = (1, 1, 1)


def numbers(type: str, rows: int, columns: int, seed: int = 0) -> Array:
    """A matrix in Fortran order; integers are small, and none is zero."""
    r = np.random.default_rng(seed)
    if type[0] == "i":
        found = r.integers(1, 6, (rows, columns)) * r.choice([-1, 1], (rows, columns))
    elif type[0] == "c":
        found = r.standard_normal((rows, columns)) + 1j * r.standard_normal((rows, columns))
    else:
        found = r.standard_normal((rows, columns))
    return np.asfortranarray(found.astype(DTYPES[type]))


def kernel(parameters: str, body: str, subgroup_size: int = 8, before: str = "") -> str:
    """A kernel of one subgroup; %z is 0."""
    size = f"subgroup_size={subgroup_size}, work_group_size=[{subgroup_size}, 1]"
    return (
        f"func @f({parameters}) attributes {{{size}}} {{\n%z = constant 0 : index\n{before}\n"
        f"parallel {{\n{body}\n}}\n}}\n"
    )


def matrix(type: str, shape: tuple[int, int], use: str = "acc") -> str:
    """The text of a matrix type."""
    return f"coopmatrix<{type} x {shape[0]} x {shape[1]}, matrix_{use}>"


def memref(name: str, type: str) -> str:
    """The text of a parameter."""
    return f"%{name}: memref<{type} x ? x ?>"


def agree(text: str, *arguments: Any, places: list[tuple[int, int]], type: str = "i32", races: bool = True) -> None:
    """Interpreter and CPU agree for indices %i, %j, which are the last arguments; `races` as for `compare`."""
    import girih

    program = girih.loads(text, target="interpreter")
    wanted = program["f"].options(races=races)
    mine = Compiled(wanted.ir)
    for place in places:
        first, second = ([copy_of(a) for a in arguments] for _ in range(2))
        wanted[ONE](*first, *place)
        mine(ONE, *second, *place)
        for a, b in zip(second, first, strict=True):
            same(a, b, TOLERANCES.get(type, 0.0))


# --- loads and stores --------------------------------------------------------------------------

SWAPPED = {".rows_checked": ".cols_checked", ".cols_checked": ".rows_checked"}


TYPED_WAYS = [("i8", ""), ("f16", ".t"), ("f32", ""), ("f64", ".t"), ("c32", ""), ("i8", ".t"), ("f32", ".t"),
              ("f16", ""), ("f64", ""), ("c32", ".t")]  # fmt: skip


@pytest.mark.parametrize(("shape", "typed"), crossed(SHAPES, TYPED_WAYS, first=4))
def test_checked_loads_and_stores_leave_out_what_is_outside(shape: tuple[int, int], typed: tuple[str, str]) -> None:
    type, transpose = typed
    body = f"""
      %a = cooperative_matrix_load{transpose}.both_checked %A[%i,%j] : {matrix(type, shape)}
      cooperative_matrix_store{transpose} %a, %B[%z,%z]
      %b = cooperative_matrix_load{transpose} %B[%z,%z] : {matrix(type, shape)}
      cooperative_matrix_store{transpose}.both_checked %b, %C[%i,%j]"""
    rows, columns = shape[::-1] if transpose else shape
    text = kernel(f"{memref('A', type)}, {memref('B', type)}, {memref('C', type)}, %i: index, %j: index", body)
    m, n = rows + 3, columns + 2
    a, c = numbers(type, m, n), numbers(type, m, n, 2)
    b = numbers(type, rows, columns, 1)
    places = [(0, 0), (3, 2), (-2, 1), (1, -2), (5, 0), (0, 5), (m, n), (-rows, 0), (4, 3)]
    agree(text, a, b, c, places=places, type=type)


SOME_TYPES = ["i16", "bf16", "f64", "c32", "c64"]
TYPES = [*SOME_TYPES, *long(type for type in DTYPES if type not in SOME_TYPES)]


@pytest.mark.parametrize("type", TYPES)
def test_a_flag_checks_one_mode(type: str) -> None:
    shape = (8, 6)
    lines = []
    for k, (flag, place) in enumerate(
        [("", "%z,%z"), (".rows_checked", "%i,%z"), (".cols_checked", "%z,%j"), (".both_checked", "%i,%j")]
    ):
        for t in ("", ".t"):
            name = f"v{k}{'t' if t else ''}"
            wanted = SWAPPED.get(flag, flag) if t else flag
            lines.append(f"%{name} = cooperative_matrix_load{t}{wanted} %A[{place}] : {matrix(type, shape)}")
            lines.append(f"barrier.global\ncooperative_matrix_store{t}{wanted} %{name}, %B[{place}]")
    text = kernel(f"{memref('A', type)}, {memref('B', type)}, %i: index, %j: index", "\n".join(lines))
    agree(text, numbers(type, 9, 9), numbers(type, 9, 9, 1), places=[(0, 0), (4, 5), (-3, -1)], type=type)


def test_strides_that_are_not_one() -> None:
    body = f"""
      %v = subview %A[1,0:8,0:8] : memref<f32x8x8,strided<2,?>>
      %w = subview %B[0,0:8,0:16] : memref<f32x8x16,strided<2,?>>
      %a = cooperative_matrix_load %v[%z,%z] : {matrix("f32", (8, 4))}
      %b = cooperative_matrix_load.t %v[%z,%z] : {matrix("f32", (4, 8))}
      cooperative_matrix_store.t %a, %w[%z,%z]
      %n = constant 4 : index
      %m = constant 2 : index
      barrier.global
      cooperative_matrix_store %b, %w[%n,%n]
      barrier.global
      cooperative_matrix_store.rows_checked %b, %w[%m,%n]"""
    text = kernel("%A: memref<f32x2x?x?>, %B: memref<f32x2x?x?>", body)
    a, b = (numbers("f32", 16, n, n).reshape(2, 8, n, order="F") for n in (8, 16))
    compare(text, ONE, a, b)


OUTSIDE = [
    ((3, 0), "", [9, 0]),
    ((0, 4), "", [0, 9]),
    ((-1, 0), "", [-1, 0]),
    ((0, -2), ".rows_checked", [0, -2]),
    ((2, 3), ".rows_checked", [2, 9]),
    ((4, 0), ".cols_checked", [9, 0]),
]
"""Where a tile begins, what it checks, and the index that is found."""


@pytest.mark.parametrize(("outside", "transpose"), crossed(OUTSIDE, ["", ".t"]))
def test_a_tile_outside_is_found(outside: tuple[tuple[int, int], str, list[int]], transpose: str) -> None:
    shape = (8, 8)
    place, flag, index = outside
    body = f"%a = cooperative_matrix_load{transpose}{flag} %A[%i,%j] : {matrix('f32', shape)}\n" + (
        "cooperative_matrix_store %a, %A[%z,%z]"
    )
    text = kernel(f"{memref('A', 'f32')}, %i: index, %j: index", body)
    run = compiled(text)
    if transpose:
        place, index = place[::-1], index[::-1]
    with pytest.raises(Failed) as found:
        run(ONE, numbers("f32", 9, 9), *place)
    assert found.value.code == "run.out_of_bounds"
    assert found.value.values[:2] == index
    run(ONE, numbers("f32", 9, 9), 1, 1)


def test_a_memref_without_memory_is_found() -> None:
    text = kernel(memref("A", "f32"), f"%a = cooperative_matrix_load.both_checked %A[%z,%z] : {matrix('f32', (8, 8))}")
    with pytest.raises(Failed) as found:
        compiled(text)(ONE, None)
    assert found.value.code == "run.null"


def test_prefetch_does_nothing() -> None:
    body = "cooperative_matrix_prefetch 0, %A[%z,%z], 8, 8\ncooperative_matrix_prefetch 1, %A[%z,%z], 100, 3"
    compare(kernel(memref("A", "f64"), body), ONE, numbers("f64", 8, 8))


# --- component by component --------------------------------------------------------------------

INTEGER = ["add", "sub", "mul", "div", "rem", "max", "min", "and", "or", "xor"]
FLOATING = ["add", "sub", "mul", "div", "rem", "max", "min"]
COMPLEX = ["add", "sub", "mul", "div"]
FAMILIES = {"i": (INTEGER, ["abs", "neg", "not"]), "c": (COMPLEX, ["neg", "conj"])}


@pytest.mark.parametrize(("type", "shape"), one_in(2, crossed(list(DTYPES), [(1, 7), (3, 5), (300, 3)])))
def test_arithmetic(type: str, shape: tuple[int, int]) -> None:
    two, one = FAMILIES.get("i" if type == "index" else type[0], (FLOATING, ["abs", "neg"]))
    lines = [f"%{n} = cooperative_matrix_load %{n.upper()}[%z,%z] : {matrix(type, shape)}" for n in "ab"]
    lines.append(f"%s = cooperative_matrix_scale %k, %a : {matrix(type, shape)}")
    names = ["s"]
    for name in two:
        lines.append(f"%{name}_ = {name} %a, %b : {matrix(type, shape)}")
        names.append(f"{name}_")
    for name in one:
        lines.append(f"%{name}_ = {name} %a : {matrix(type, shape)}")
        names.append(f"{name}_")
    for k, name in enumerate(names):
        lines.append(f"%at{k} = constant {k * shape[1]} : index")
        lines.append(f"cooperative_matrix_store %{name}, %C[%z,%at{k}]")
    text = kernel(f"{memref('A', type)}, {memref('B', type)}, {memref('C', type)}, %k: {type}", "\n".join(lines))
    a, b, c = numbers(type, *shape), numbers(type, *shape, 1), numbers(type, shape[0], shape[1] * len(names))
    factor = {"i": 3, "c": 1.5 + 2j}.get(type[0], 1.5)
    compare(text, ONE, a, b, c, factor, tolerance=TOLERANCES.get(type, 0.0))


@pytest.mark.parametrize("type", TYPES)
def test_casts_and_parts(type: str) -> None:
    shape = (16, 20)
    lines = [f"%a = cooperative_matrix_load %A[%z,%z] : {matrix(type, shape)}"]
    targets = [t for t in DTYPES if type[0] != "c" or t[0] == "c"]
    for t in targets:
        lines.append(f"%x{t} = cast %a : {matrix(t, shape)}")
        lines.append(f"cooperative_matrix_store %x{t}, %B{t}[%z,%z]")
    parts = ["im", "re", "abs"] if type[0] == "c" else []
    for name in parts:
        part = {"c32": "f32", "c64": "f64"}[type]
        lines.append(f"%p{name} = {name} %a : {matrix(part, shape)}")
        lines.append(f"cooperative_matrix_store %p{name}, %P{name}[%z,%z]")
    given = [memref("A", type), *(memref("B" + t, t) for t in targets)]
    given += [memref("P" + n, {"c32": "f32", "c64": "f64"}[type]) for n in parts]
    arrays = [numbers(type, *shape), *(numbers(t, *shape) for t in targets)]
    arrays += [numbers({"c32": "f32", "c64": "f64"}[type], *shape) for _ in parts]
    compare(kernel(", ".join(given), "\n".join(lines)), ONE, *arrays, tolerance=1e-6)


@pytest.mark.parametrize("operation", ["div", "rem", "shl"])
def test_a_wrong_second_operand_is_found(operation: str) -> None:
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix("i32", (8, 40))}
      %b = cooperative_matrix_load %B[%z,%z] : {matrix("i32", (8, 40))}
      %c = {operation} %a, %b : {matrix("i32", (8, 40))}
      cooperative_matrix_store %c, %A[%z,%z]"""
    text = kernel(f"{memref('A', 'i32')}, {memref('B', 'i32')}", body)
    b = np.abs(numbers("i32", 8, 40))
    compare(text, ONE, numbers("i32", 8, 40), b)
    b[5, 33] = 0 if operation != "shl" else 32
    with pytest.raises(Failed) as found:
        compiled(text)(ONE, numbers("i32", 8, 40), b)
    assert found.value.code == ("run.shift" if operation == "shl" else "run.division_by_zero")


@pytest.mark.parametrize(("operation", "second"), [("div", -1), ("rem", 7), ("shl", 31), ("shr", 0)])
def test_a_constant_second_operand_is_not_looked_at(operation: str, second: int) -> None:
    """The wrong ones are errors of the program."""
    body = f"""
      %b = constant {second} : {matrix("i32", (8, 40))}
      for %i = %z, %n {{
        %a = cooperative_matrix_load %A[%z,%z] : {matrix("i32", (8, 40))}
        %c = {operation} %a, %b : {matrix("i32", (8, 40))}
        cooperative_matrix_store %c, %A[%z,%z]
      }}"""
    text = kernel(f"{memref('A', 'i32')}, %n: index", body)
    compare(text, ONE, numbers("i32", 8, 40), 2)
    assert not {"run.shift", "run.division_by_zero"} & {site.code for site in compiled(text).kernel.sites}


@pytest.mark.parametrize("shape", [(3, 5), (32, 32), (300, 2), *long([((1, 7),), ((7, 1),), ((8, 8),), ((20, 70),)])])
def test_apply(shape: tuple[int, int]) -> None:
    type = matrix("f32", shape)
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %lane = subgroup_local_id : i32
      %b = cooperative_matrix_apply (%i,%j,%x)=%a -> {type} {{
        %three = constant 3 : i32
        %t = mul %i, %three : i32
        %s = add %t, %j : i32
        %mine = subgroup_local_id : i32
        %u = add %s, %mine : i32
        %v = cast %u : f32
        %late = greater_than %j, %three : bool
        %even = less_than %i, %j : bool
        %p = if %late -> (f32) {{ %w = add %x, %v : f32  yield (%w) }} else {{ yield (%x) }}
        %q = if %even -> (f32) {{ %w = mul %p, %v : f32  yield (%w) }} else {{ yield (%p) }}
        yield (%q)
      }}
      %c = cooperative_matrix_apply (%i,%j,%x)=%b -> {type} {{
        %e = neg %x : f32
        yield (%e)
      }}
      cooperative_matrix_store %c, %B[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}", body)
    compare(text, ONE, numbers("f32", *shape), numbers("f32", *shape, 1))


@pytest.mark.parametrize("shape", [(1, 7), (8, 4), (32, 40)])
def test_apply_may_load_and_store(shape: tuple[int, int]) -> None:
    type = matrix("i64", shape)
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %b = cooperative_matrix_apply (%i,%j,%x)=%a -> {type} {{
        %r = cast %i : index
        %s = cast %j : index
        %y = load %B[%r,%s] : i64
        store %x, %B[%r,%s]
        yield (%y)
      }}
      %c = cooperative_matrix_apply (%i,%j,%x)=%a -> {type} {{
        %r = cast %i : index
        %s = cast %j : index
        %y = load %B[%r,%s] : i64
        yield (%y)
      }}
      cooperative_matrix_store %b, %A[%z,%z]
      %d = add %c, %b : {type}
      cooperative_matrix_store %d, %C[%z,%z]"""
    text = kernel(f"{memref('A', 'i64')}, {memref('B', 'i64')}, {memref('C', 'i64')}", body)
    compare(text, ONE, numbers("i64", *shape), numbers("i64", *shape, 1), numbers("i64", *shape, 2))


def test_constants_construct_and_chains() -> None:
    type = matrix("f32", (32, 32))
    body = f"""
      %one = constant 1.0 : {type}
      %k = construct_me
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %b = add %a, %k : {type}
      %c = mul %b, %a : {type}
      %d = mul %c, %b : {type}
      %e = sub %d, %one : {type}
      cooperative_matrix_store %b, %A[%z,%z]
      cooperative_matrix_store %e, %B[%z,%z]
      %f = mul %e, %c : {type}
      %g = mul %k, %one : {type}
      %h = add %f, %g : {type}
      cooperative_matrix_store %h, %C[%z,%z]""".replace("construct_me", f"cooperative_matrix_construct %x : {type}")
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}, {memref('C', 'f32')}, %x: f32", body)
    compare(text, ONE, *(numbers("f32", 32, 32, k) for k in range(3)), 0.75, tolerance=1e-5)


def test_a_load_is_not_put_off_beyond_a_store() -> None:
    type = matrix("f32", (32, 32))
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix("f32", (32, 32), "a")}
      %b = cooperative_matrix_load %B[%z,%z] : {matrix("f32", (32, 32), "b")}
      %x = cooperative_matrix_load %A[%z,%z] : {type}
      %y = neg %x : {type}
      cooperative_matrix_store %x, %B[%z,%z]
      %n = constant 1 : index
      cooperative_matrix_store %y, %A[%n,%n]
      %c = cooperative_matrix_mul_add %a, %b, %x : {type}
      cooperative_matrix_store %c, %C[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}, {memref('C', 'f32')}", body)
    compare(text, ONE, *(numbers("f32", 33, 33, k) for k in range(3)), tolerance=1e-4, races=False)


# --- products and reductions -------------------------------------------------------------------

PRODUCTS = [
    ("f32", "f32", "f32", "f32"), ("f64", "f64", "f64", "f64"), ("bf16", "bf16", "f32", "f32"),
    ("bf16", "bf16", "bf16", "bf16"), ("f16", "f32", "f32", "f16"), ("i8", "i8", "i32", "i32"),
    ("i16", "i32", "i32", "i64"), ("c32", "c32", "c32", "c32"), ("f32", "c64", "c64", "c64"),
    ("i8", "i8", "i8", "i8"),
]  # fmt: skip
MORE_PRODUCTS = [
    ("f32", "f32", "f32", "f64"), ("f32", "f64", "f64", "f64"), ("f16", "f16", "f16", "f16"),
    ("i64", "i64", "i64", "i64"), ("i8", "f32", "f32", "f32"),
    ("i32", "i32", "i32", "f64"), ("f32", "f32", "c32", "c32"), ("i8", "i8", "f32", "f32"),
]  # fmt: skip
SIZES = [(8, 8, 8), (32, 32, 32), (64, 33, 9)]


@pytest.mark.parametrize(
    ("types", "sizes"), [*one_in(2, crossed(PRODUCTS, SIZES, first=2)), *long(product(MORE_PRODUCTS, SIZES))]
)
def test_products(types: tuple[str, str, str, str], sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    ta, tb, tc, td = types
    lines = []
    for number, (x, y) in enumerate([("", ""), (".t", ""), ("", ".t"), (".t.both_checked", ".t.both_checked")]):
        a, b = "AT" if x else "A", "BT" if y else "B"
        at = "%i,%j" if "checked" in x else "%z,%z"
        lines += [
            f"%a{number} = cooperative_matrix_load{x} %{a}[{at}] : {matrix(ta, (m, k), 'a')}",
            f"%b{number} = cooperative_matrix_load{y} %{b}[{at}] : {matrix(tb, (k, n), 'b')}",
            f"%c{number} = cooperative_matrix_load %C[%z,%z] : {matrix(tc, (m, n))}",
            f"%d{number} = cooperative_matrix_mul_add %a{number}, %b{number}, %c{number} : {matrix(td, (m, n))}",
            f"%at{number} = constant {number * n} : index",
            f"cooperative_matrix_store %d{number}, %D[%z,%at{number}]",
        ]
    given = {"A": ta, "AT": ta, "B": tb, "BT": tb, "C": tc, "D": td}
    text = kernel(", ".join(memref(*p) for p in given.items()) + ", %i: index, %j: index", "\n".join(lines))
    shapes = [(m, k), (k, m), (k, n), (n, k), (m, n), (m, 4 * n)]
    arrays = [numbers(t, *s, seed) for seed, (t, s) in enumerate(zip(given.values(), shapes, strict=True))]
    rough = "bf16" if "bf16" in types else next((t for t in types if t in ("f16", "c32", "f32")), td)
    agree(text, *arrays, places=[(0, 0), (2, -1)], type=rough)


@pytest.mark.parametrize(
    ("type", "shape"),
    one_in(2, crossed(list(DTYPES), [(8, 1), (8, 5), (32, 32), (304, 7), (16, 100)], first=1)),
)
def test_reductions(type: str, shape: tuple[int, int]) -> None:
    lines = [f"%a = cooperative_matrix_load %A[%z,%z] : {matrix(type, shape)}"]
    for name in ["add"] if type[0] == "c" else ["add", "max", "min"]:
        lines += [
            f"%r{name} = cooperative_matrix_reduce_{name}.row %a : {matrix(type, (shape[0], 1))}",
            f"%c{name} = cooperative_matrix_reduce_{name}.column %a : {matrix(type, (1, shape[1]))}",
            f"%at{name} = constant {['add', 'max', 'min'].index(name)} : index",
            f"cooperative_matrix_store %r{name}, %R[%z,%at{name}]",
            f"cooperative_matrix_store %c{name}, %C[%at{name},%z]",
        ]
    text = kernel(f"{memref('A', type)}, {memref('R', type)}, {memref('C', type)}", "\n".join(lines))
    a = numbers(type, *shape)
    if type in ("f32", "f16", "f64", "bf16") and shape[1] > 4:
        a[3, :] = np.nan
        a[1, 2] = np.nan
    arrays = (a, numbers(type, shape[0], 3), numbers(type, 3, shape[1]))
    compare(text, ONE, *arrays, tolerance=10 * TOLERANCES.get(type, 0.0))


# --- loops and branches ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 4), (32, 32)])
def test_matrices_go_through_loops(shape: tuple[int, int]) -> None:
    type = matrix("f32", shape)
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %b = cooperative_matrix_load %B[%z,%z] : {type}
      %n = constant 5 : index
      %x, %y, %w = for %i = %z, %n init (%p=%a, %q=%b, %r=%a) -> ({type}, {type}, {type}) {{
        %s = add %p, %q : {type}
        %t = sub %p, %q : {type}
        %u = mul %r, %s : {type}
        %v = add %u, %s : {type}
        yield (%q, %s, %v)
      }}
      %k, %l = for %i = %z, %n init (%p=%x, %q=%y) -> ({type}, {type}) {{
        yield (%q, %p)
      }}
      %m = for %i = %z, %n init (%p=%w) -> ({type}) {{
        %o = for %j = %z, %i init (%q=%p) -> ({type}) {{
          %h = mul %q, %b : {type}
          yield (%h)
        }}
        %g = add %o, %p : {type}
        yield (%g)
      }}
      %e = add %k, %l : {type}
      %f = add %e, %m : {type}
      cooperative_matrix_store %f, %A[%z,%z]
      cooperative_matrix_store %k, %B[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}", body)
    compare(text, ONE, numbers("f32", *shape), numbers("f32", *shape, 1), tolerance=1e-3)


@pytest.mark.parametrize(("use", "shape"), crossed(["acc", "a", "b"], [(8, 4), (32, 32)]))
def test_matrices_come_out_of_branches(use: str, shape: tuple[int, int]) -> None:
    type = matrix("f32", shape, use)
    body = f"""
      %first = greater_than %i, %z : bool
      %second = greater_than %j, %z : bool
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %b = if %first -> ({type}) {{
        %c = if %second -> ({type}) {{
          %d = cooperative_matrix_load %B[%z,%z] : {type}
          yield (%d)
        }} else {{
          %d = cooperative_matrix_load.both_checked %B[%i,%z] : {type}
          %e = neg %d : {type}
          yield (%e)
        }}
        yield (%c)
      }} else {{
        yield (%a)
      }}
      %f = add %a, %b : {type}
      cooperative_matrix_store %f, %B[%z,%z]
      cooperative_matrix_store %b, %A[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}, %i: index, %j: index", body)
    arrays = numbers("f32", *shape), numbers("f32", *shape, 1)
    agree(text, *arrays, places=[(0, 0), (1, 0), (1, 1), (5, 0)], races=False)


@pytest.mark.parametrize("transpose", ["", ".t"])
def test_factors_that_branches_find_in_memory(transpose: str) -> None:
    a, b = matrix("f32", (16, 16), "a"), matrix("f32", (16, 16), "b")
    found = []
    for name, type in (("a", a), ("b", b)):
        found.append(f"""
          %{name} = if %first -> ({type}) {{
            %x = cooperative_matrix_load{transpose} %{name.upper()}[%z,%z] : {type}
            yield (%x)
          }} else {{
            %y = if %second -> ({type}) {{
              %x = cooperative_matrix_load{transpose}.both_checked %{name.upper()}[%i,%j] : {type}
              yield (%x)
            }} else {{
              %x = cooperative_matrix_load{transpose} %C[%z,%z] : {type}
              cooperative_matrix_store %x, %{name.upper()}[%z,%z]
              yield (%x)
            }}
            yield (%y)
          }}""")
    body = f"""
      %one = constant 1 : index
      %first = greater_than %i, %one : bool
      %second = greater_than %j, %z : bool
      %c = constant 0.0 : {matrix("f32", (16, 16))}
      {"".join(found)}
      %d = cooperative_matrix_mul_add %a, %b, %c : {matrix("f32", (16, 16))}
      cooperative_matrix_store %d, %C[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}, {memref('C', 'f32')}, %i: index, %j: index", body)
    arrays = [numbers("f32", 16, 16, k) for k in range(3)]
    agree(text, *arrays, places=[(2, 0), (0, 1), (1, 3), (-1, 1), (0, 0)], type="f32", races=False)


# --- single components and atomic accesses -----------------------------------------------------


HELD = [(8, 4), (4, 6), (3, 5), (1, 20), (16, 6), (32, 40)]


@pytest.mark.parametrize(("shape", "typed"), crossed(HELD, [("f32", "acc"), ("i8", "b"), ("c32", "a")]))
def test_extract_and_insert(shape: tuple[int, int], typed: tuple[str, str]) -> None:
    type, use = typed
    from girih.ir.types import NUMBERS, CoopMatrix, Use
    from girih.ops.tile.coopmatrix_layout import layout_of

    uses = {"acc": Use.ACC, "a": Use.A, "b": Use.B}
    layout = layout_of(CoopMatrix(NUMBERS[type], *shape, uses[use]), 8)
    assert layout is not None
    lines = [f"%m0 = cooperative_matrix_load %A[%z,%z] : {matrix(type, shape, use)}", "%p = subgroup_local_id : i32"]
    lines.append("%lane = cast %p : index")
    for v in range(min(layout.components, 12)):
        lines += [
            f"%x{v} = cooperative_matrix_extract %m0[{v}] : {type}",
            f"%at{v} = constant {v} : index",
            f"store %x{v}, %B[%lane,%at{v}]",
        ]
    for v in range(min(layout.components, 4)):
        lines += [
            f"%y{v} = add %x{v}, %x{layout.components // 2 if layout.components < 12 else 5} : {type}",
            f"%m{v + 1} = cooperative_matrix_insert %y{v}, %m{v}[{v}] : {matrix(type, shape, use)}",
        ]
    lines.append(f"cooperative_matrix_store %m{min(layout.components, 4)}, %A[%z,%z]")
    text = kernel(f"{memref('A', type)}, {memref('B', type)}", "\n".join(lines))
    compare(text, ONE, numbers(type, *shape), numbers(type, 8, 12))


@pytest.mark.parametrize(("type", "scope"), one_in(3, crossed(list(DTYPES), ["", ".device"])))
def test_atomic_accesses(type: str, scope: str) -> None:
    shape = (8, 6)
    kind = matrix(type, shape)
    flag = ".both_checked"
    lines = [f"%a = cooperative_matrix_atomic_load{flag}{scope} %A[%i,%j] : {kind}"]
    for k, name in enumerate(["add"] if type[0] == "c" else ["add", "max", "min"]):
        lines += [
            f"%o{name} = cooperative_matrix_atomic_{name}{flag}{scope} %a, %B[%j,%i] : {kind}",
            f"%n{name} = cooperative_matrix_atomic_{name}.t{flag}{scope} %a, %B[%j,%i] : {kind}",
            f"%at{name} = constant {12 * k} : index",
            f"%bt{name} = constant {12 * k + 6} : index",
            f"cooperative_matrix_store %o{name}, %D[%z,%at{name}]",
            f"cooperative_matrix_store %n{name}, %D[%z,%bt{name}]",
        ]
    lines.append(f"cooperative_matrix_atomic_store{flag}{scope} %a, %C[%i,%i]")
    given = ", ".join(memref(n, type) for n in "ABCD")
    text = kernel(f"{given}, %i: index, %j: index", "\n".join(lines))
    arrays = [numbers(type, 9, 9), numbers(type, 10, 10, 1), numbers(type, 10, 10, 2), numbers(type, 8, 36, 3)]
    agree(text, *arrays, places=[(0, 0), (2, -1), (-3, 4)], type=type)


def test_atomics_on_local_memory() -> None:
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix("f32", (8, 8))}
      cooperative_matrix_store %a, %L[%z,%z]
      %o = cooperative_matrix_atomic_add %a, %L[%z,%z] : {matrix("f32", (8, 8))}
      %b = cooperative_matrix_atomic_load %L[%z,%z] : {matrix("f32", (8, 8))}
      %c = add %o, %b : {matrix("f32", (8, 8))}
      cooperative_matrix_store %c, %A[%z,%z]"""
    text = kernel(memref("A", "f32"), body, before="%L = alloca : memref<f32x8x8,local>")
    compare(text, ONE, numbers("f32", 8, 8))


def test_several_subgroups_have_a_matrix_each() -> None:
    body = f"""
      %p = subgroup_id.x : i32
      %q = cast %p : index
      %n = constant 8 : index
      %at = mul %q, %n : index
      %a = cooperative_matrix_load %A[%z,%at] : {matrix("f32", (8, 8))}
      %b = cooperative_matrix_scale %k, %a : {matrix("f32", (8, 8))}
      cooperative_matrix_store %b, %A[%z,%at]"""
    text = kernel(f"{memref('A', 'f32')}, %k: f32", body).replace("[8, 1]", "[32, 1]")
    compare(text, ONE, numbers("f32", 8, 32), 2.5)


def test_values_that_differ_between_work_items_are_found() -> None:
    body = f"""
      %p = subgroup_local_id : i32
      %lane = cast %p : index
      %x = mul %lane, %n : index
      %a = cooperative_matrix_load %A[%x,%z] : {matrix("f32", (8, 8))}
      cooperative_matrix_store %a, %A[%z,%z]"""
    with pytest.raises(Failed) as found:
        compiled(kernel(f"{memref('A', 'f32')}, %n: index", body))(ONE, numbers("f32", 32, 8), 1)
    assert found.value.code == "run.not_uniform"


def test_a_branch_that_is_known_beforehand_keeps_its_matrices() -> None:
    type = matrix("f32", (32, 32))
    body = f"""
      %true = constant true : bool
      %a = cooperative_matrix_load %A[%z,%z] : {type}
      %b = if %true -> ({type}) {{
        %c = cooperative_matrix_load %B[%z,%z] : {type}
        %d = if %true -> ({type}) {{
          %n = constant 3 : index
          %g = for %i = %z, %n init (%h=%c) -> ({type}) {{
            %o = add %h, %a : {type}
            yield (%o)
          }}
          yield (%g)
        }} else {{
          yield (%a)
        }}
        yield (%d)
      }} else {{
        yield (%a)
      }}
      %e = if %true -> ({type}) {{
        %c = cooperative_matrix_load %A[%z,%z] : {type}
        yield (%c)
      }} else {{
        yield (%a)
      }}
      cooperative_matrix_store %a, %B[%z,%z]
      %f = mul %b, %e : {type}
      cooperative_matrix_store %f, %A[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}", body)
    compare(text, ONE, numbers("f32", 32, 32), numbers("f32", 32, 32, 1), tolerance=1e-5)


@pytest.mark.parametrize(("type", "sums"), [("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16")])
def test_a_factor_may_be_the_summand_too(type: str, sums: str) -> None:
    shape = (32, 32)
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix(type, shape)}
      %b = add %a, %a : {matrix(type, shape)}
      %c = cast %b : {matrix(sums, shape)}
      %x = cast %b : {matrix(type, shape, "a")}
      %y = cast %b : {matrix(type, shape, "b")}
      %d = cooperative_matrix_mul_add %x, %y, %c : {matrix(sums, shape)}
      cooperative_matrix_store %d, %B[%z,%z]"""
    text = kernel(f"{memref('A', type)}, {memref('B', sums)}", body)
    arrays = numbers(type, *shape), numbers(sums, *shape, 1)
    compare(text, ONE, *arrays, tolerance=1.0 if sums == "bf16" else 1e-3)
