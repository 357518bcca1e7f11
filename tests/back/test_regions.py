"""Bits as another type, transposes, and regions over components of matrices: the CPU agrees with the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from tests.back.harness import TARGET, Failed, compare, run
from tests.back.test_coopmatrix import DTYPES, ONE, TOLERANCES, kernel, matrix, memref, numbers
from tests.cases import crossed, long

Array = NDArray[Any]

# --- bitcast -----------------------------------------------------------------------------------

SIZES = {1: ["i8"], 2: ["i16", "bf16", "f16"], 4: ["i32", "f32"], 8: ["i64", "index", "f64", "c32"], 16: ["c64"]}


def quiet(type: str, count: int) -> Array:
    """Any bits but those of a NaN, which may change on the way."""
    raw = np.random.default_rng(3).integers(0, 256, count * np.dtype(DTYPES[type]).itemsize, dtype=np.uint8)
    found: Array = raw.view(DTYPES[type]).copy()
    found[np.isnan(found)] = 3
    return found


@pytest.mark.parametrize("size", SIZES)
def test_bits_seen_as_another_type_and_back(size: int) -> None:
    types = SIZES[size]
    parameters = ", ".join(f"%{t}_{u}: memref<{u}x41>" for t in types for u in types)
    varying: list[str] = []
    uniform: list[str] = []
    for t in types:
        for lines, name, place in ((varying, "v", "%i"), (uniform, "u", "%z")):
            lines.append(f"%{name}{t} = load %{t}_{t}[{place}] : {t}")
            for u in types:
                lines.append(f"%{name}{t}{u} = bitcast %{name}{t} : {u}\n store %{name}{t}{u}, %{t}_{u}[{place}]")
                lines.append(f"%{name}{t}{u}b = bitcast %{name}{t}{u} : {t}\n store %{name}{t}{u}b, %{t}_{t}[{place}]")
    text = (
        f"func @f({parameters}) {{\n%z = constant 0 : index\n%one = constant 1 : index\n%n = constant 41 : index\n"
        + "\n".join(uniform) + "\nforeach (%i)=(%one),(%n) {\n" + "\n".join(varying) + "\n}\n}\n"
    )  # fmt: skip
    arrays = [quiet(t, 41) if t == u else np.zeros(41, DTYPES[u]) for t in types for u in types]
    before = [a.tobytes() for a in arrays]
    compare(text, ONE, *arrays)
    for k, t in enumerate(types):
        own = before[k * len(types) + k]
        for j in range(len(types)):
            assert arrays[k * len(types) + j].tobytes() == own, t


def test_a_literal_is_seen_as_another_type_when_the_kernel_is_compiled() -> None:
    text = """
    func @f(%A: memref<f16x4>, %B: memref<c32x1>) {
        %z = constant 0 : index
        %h = constant 15360 : i16
        %f = bitcast %h : f16
        store %f, %A[%z]
        %w = constant 4611686019492741120 : i64
        %c = bitcast %w : c32
        store %c, %B[%z]
    }
    """
    a, b = np.zeros(4, np.float16), np.zeros(1, np.complex64)
    run(text, ONE, a, b)
    assert a[0] == 1.0
    assert b[0] == np.complex64(1 + 2j)


def test_a_signaling_nan_stays_a_nan() -> None:
    text = """
    func @f(%A: memref<i16x2>, %B: memref<i32x2>) {
        %z = constant 0 : index
        %a = load %A[%z] : i16
        %f = bitcast %a : f16
        %x = cast %f : f32
        %b = bitcast %x : i32
        store %b, %B[%z]
    }
    """
    b = np.zeros(2, np.int32)
    run(text, ONE, np.array([0x7C01, 0], np.int16), b)
    assert np.isnan(b.view(np.float32)[0])


# --- transpose ---------------------------------------------------------------------------------

TURNED = [(1, 7), (7, 1), (8, 8), (16, 24), (20, 70)]


@pytest.mark.parametrize(
    ("source", "target"), [("i8", "i8"), ("f32", "f32"), ("c32", "c32"), ("f16", "f32"), ("f32", "bf16")]
)
def test_transposes(source: str, target: str) -> None:
    """The last use of a matrix, one that is used again, and one that is computed."""
    parameters, body = [], []
    arrays: list[Array] = []
    for k, (m, n) in enumerate(TURNED):
        acc, right = matrix(source, (m, n)), matrix(target, (n, m), "b")
        parameters += [memref(f"A{k}", source), memref(f"B{k}", target), memref(f"C{k}", target)]
        arrays += [numbers(source, m, n), numbers(target, n, m, 1), numbers(target, n, m, 2)]
        body.append(f"""
        %a{k} = cooperative_matrix_load %A{k}[%z,%z] : {acc}
        %b{k} = cooperative_matrix_transpose %a{k} : {right}
        %d{k} = add %a{k}, %a{k} : {acc}
        %e{k} = cooperative_matrix_transpose %d{k} : {right}
        %f{k} = add %e{k}, %b{k} : {right}
        cooperative_matrix_store %b{k}, %B{k}[%z,%z]
        cooperative_matrix_store %f{k}, %C{k}[%z,%z]""")
    compare(kernel(", ".join(parameters), "".join(body)), ONE, *arrays)


@pytest.mark.parametrize(("type", "shape"), crossed(["f32", "bf16", "c32"], [(8, 8, 8), (64, 32, 48)]))
def test_a_transpose_is_the_factor_of_a_product(type: str, shape: tuple[int, int, int]) -> None:
    """Its source is overwritten afterwards, where it may be in the same place."""
    m, n, k = shape
    total = "f32" if type == "bf16" else type
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix(type, (n, k))}
      %x = cooperative_matrix_load %X[%z,%z] : {matrix(type, (m, k), "a")}
      %c = cooperative_matrix_load %C[%z,%z] : {matrix(total, (m, n))}
      %b = cooperative_matrix_transpose %a : {matrix(type, (k, n), "b")}
      %g = add %a, %a : {matrix(type, (n, k))}
      %d = cooperative_matrix_mul_add %x, %b, %c : {matrix(total, (m, n))}
      %e = cooperative_matrix_transpose %g : {matrix(type, (k, n), "b")}
      %h = cooperative_matrix_mul_add %x, %e, %d : {matrix(total, (m, n))}
      cooperative_matrix_store %h, %C[%z,%z]
      cooperative_matrix_store %g, %D[%z,%z]"""
    text = kernel(f"{memref('A', type)}, {memref('X', type)}, {memref('C', total)}, {memref('D', type)}", body)
    arrays = numbers(type, n, k), numbers(type, m, k, 1), numbers(total, m, n, 2), numbers(type, n, k, 3)
    compare(text, ONE, *arrays, tolerance=TOLERANCES[type])


# --- combine -----------------------------------------------------------------------------------

SUM = "%s = add %x, %y : {type}"
LARGEST = """
    %c = greater_than %x, %y : bool
    %s = if %c -> ({type}) {{ yield (%x) }} else {{ yield (%y) }}"""
LONG = """
    %one = constant 1 : i32
    %n = constant 3 : i32
    %m = max %y, %x : {type}
    %s = for %k=%one,%n init (%g=%m) -> ({type}) {{
        %h = max %g, %x : {type}
        yield (%h)
    }}"""


def shapes_after(along: str, m: int, n: int) -> list[tuple[int, int]]:
    """The shapes of results that are tried."""
    if along == "2x2":
        return [(m // 2, n // 2)] if m % 2 == 0 and n % 2 == 0 else []
    return {"row": [(m, 1), (m, 40)], "column": [(1, n), (40, n)], "all": [(1, 9), (64, 33)]}[along]


@pytest.mark.parametrize(
    ("type", "function", "shape"),
    [
        *(("f32", SUM, shape) for shape in [(1, 7), (2, 10), (8, 8), (20, 70)]),
        *(("i8", LARGEST, shape) for shape in [(7, 1), (300, 2)]),
        ("bf16", LONG, (34, 6)),
        ("c64", SUM, (20, 18)),
        *long(("f32", SUM, shape) for shape in [(7, 1), (300, 4), (1, 300)]),
        *long(("i8", LARGEST, shape) for shape in [(1, 7), (6, 10)]),
        *long([("bf16", LONG, (8, 8)), ("c64", SUM, (5, 1))]),
    ],
)
def test_combinations(type: str, function: str, shape: tuple[int, int]) -> None:
    """Of a matrix that is used again, in all directions."""
    m, n = shape
    source = matrix(type, shape)
    parameters, arrays = [memref("A", type), memref("B", type)], [numbers(type, m, n), numbers(type, m, n, 1)]
    body = f"""
      %l = cooperative_matrix_load %A[%z,%z] : {source}
      %a = neg %l : {source}"""
    wanted = [(along, after) for along in ("row", "column", "all", "2x2") for after in shapes_after(along, m, n)]
    for k, (along, after) in enumerate(wanted):
        body += f"""
      %r{k} = cooperative_matrix_combine.{along} (%x,%y)=%a -> {matrix(type, after)} {{
        {function.format(type=type)}
        yield (%s)
      }}
      %d{k} = sub %r{k}, %r{k} : {matrix(type, after)}
      %e{k} = add %d{k}, %r{k} : {matrix(type, after)}
      cooperative_matrix_store %e{k}, %C{k}[%z,%z]"""
        parameters.append(memref(f"C{k}", type))
        arrays.append(numbers(type, *after, seed=k))
    body += f"""
      %b = add %a, %l : {source}
      cooperative_matrix_store %b, %B[%z,%z]"""
    tolerance = 8 * TOLERANCES[type] if function is SUM else 0.0
    compare(kernel(", ".join(parameters), body), ONE, *arrays, tolerance=tolerance)


def test_code_of_a_combination_does_not_grow_with_the_matrix() -> None:
    def code(columns: int) -> int:
        source = matrix("f32", (64, columns))
        body = f"""
          %a = cooperative_matrix_load %A[%z,%z] : {source}
          %r = cooperative_matrix_combine.row (%x,%y)=%a -> {source} {{
            {LONG.format(type="f32")}
            yield (%s)
          }}
          %q = cooperative_matrix_combine.column (%x,%y)=%r -> {source} {{
            {LONG.format(type="f32")}
            yield (%s)
          }}
          cooperative_matrix_store %q, %A[%z,%z]"""
        program = girih.loads(kernel(memref("A", "f32"), body), target="interpreter")
        return len(lower(program["f"].ir, TARGET).text)

    assert code(512) < 1.1 * code(32)


def test_what_a_region_finds_stops_the_launch() -> None:
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {matrix("i32", (8, 8))}
      %r = cooperative_matrix_combine.all (%x,%y)=%a -> {matrix("i32", (8, 8))} {{
        %q = div %x, %y : i32
        yield (%q)
      }}
      cooperative_matrix_store %r, %A[%z,%z]"""
    with pytest.raises(Failed, match=r"run\.division_by_zero"):
        run(kernel(memref("A", "i32"), body), ONE, np.zeros((8, 8), np.int32, order="F"))


# --- apply -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "shape"), crossed(["f32", "i16", "c32", "f16"], [(1, 12), (8, 4), (16, 16), (72, 90)])
)
def test_functions_of_several_matrices(type: str, shape: tuple[int, int]) -> None:
    """Matrices that are loaded, constant, put off, used twice, and not used any more."""
    held = matrix(type, shape)
    one = {"c": "[1.0, 0.5]", "i": "3"}.get(type[0], "1.5")
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held}
      %b = cooperative_matrix_load %B[%z,%z] : {held}
      %k = constant {one} : {held}
      %w = sub %a, %b : {held}
      %p = cooperative_matrix_apply (%i,%j,%x,%y,%v)=%a,%w,%k -> {held} {{
        %s = add %x, %y : {type}
        %t = sub %s, %v : {type}
        %n = cast %j : {type}
        %u = add %t, %n : {type}
        yield (%u)
      }}
      %q = cooperative_matrix_apply (%i,%j,%x,%y)=%p,%p -> {held} {{
        %s = add %x, %y : {type}
        yield (%s)
      }}
      %r = cooperative_matrix_apply (%i,%j,%x,%y,%v)=%q,%b,%q -> {held} {{
        %s = sub %x, %y : {type}
        %t = sub %s, %v : {type}
        yield (%t)
      }}
      cooperative_matrix_store %r, %A[%z,%z]
      cooperative_matrix_store %q, %B[%z,%z]"""
    arrays = numbers(type, *shape), numbers(type, *shape, seed=1)
    compare(
        kernel(f"{memref('A', type)}, {memref('B', type)}", body), ONE, *arrays, tolerance=TOLERANCES.get(type, 0.0)
    )


@pytest.mark.parametrize(
    ("type", "shape"),
    crossed(["f32", "bf16", "i64", "c32"], [(8, 4), (1, 300), (500, 1), (72, 90), (2100, 3), (3, 2100)]),
)
def test_rows_and_columns_stand_for_matrices(type: str, shape: tuple[int, int]) -> None:
    """Rows and columns that are loaded, computed, constant, sums, used again, and written over afterwards."""
    rows, columns = shape
    held, row, column = (matrix(type, at) for at in (shape, (1, columns), (rows, 1)))
    one = {"c": "[1.0, 0.5]", "i": "3"}.get(type[0], "1.5")
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held}
      %r = cooperative_matrix_load %R[%z,%z] : {row}
      %c = cooperative_matrix_load %C[%z,%z] : {column}
      %k = constant {one} : {row}
      %d = add %c, %c : {column}
      %sum = cooperative_matrix_combine.column (%x,%y)=%a -> {row} {{
        %both = add %x, %y : {type}
        yield (%both)
      }}
      %p = cooperative_matrix_apply (%i,%j,%x,%y,%v,%w)=%r,%a,%d,%k -> {held} {{
        %s = sub %y, %x : {type}
        %t = sub %s, %v : {type}
        %u = add %t, %w : {type}
        yield (%u)
      }}
      %n = neg %d : {column}
      %m = neg %r : {row}
      %q = cooperative_matrix_apply (%i,%j,%x,%y,%v,%w)=%p,%n,%m,%sum -> {held} {{
        %e = sub %x, %y : {type}
        %f = sub %e, %v : {type}
        %g = add %f, %w : {type}
        yield (%g)
      }}
      %o = cooperative_matrix_apply (%i,%j,%x,%y)=%r,%p -> {held} {{
        %e = sub %x, %y : {type}
        yield (%e)
      }}
      cooperative_matrix_store %q, %A[%z,%z]
      cooperative_matrix_store %m, %R[%z,%z]
      cooperative_matrix_store %n, %C[%z,%z]
      cooperative_matrix_store %o, %B[%z,%z]"""
    arrays = [numbers(type, *at, seed=k) for k, at in enumerate((shape, (1, columns), (rows, 1), shape))]
    compare(
        kernel(", ".join(memref(name, type) for name in "ARCB"), body), ONE, *arrays,
        tolerance=30 * TOLERANCES.get(type, 0.0),
    )  # fmt: skip


def test_a_row_of_a_function_that_writes() -> None:
    """The work-group's first subgroup calls it; and a row of the result, component by component."""
    for size, scope in (("[8, 1]", ""), ("[16, 1]", ", work_group")):
        for rows in (1, 40):
            held, row, column = (matrix("f32", at).replace(">", scope + ">") for at in ((rows, 33), (1, 33), (rows, 1)))
            body = f"""
              %a = cooperative_matrix_load %A[%z,%z] : {held}
              %r = cooperative_matrix_load %A[%z,%z] : {row}
              %c = cooperative_matrix_load %A[%z,%z] : {column}
              %p = cooperative_matrix_apply (%i,%j,%x,%y,%v)=%a,%r,%c -> {held} {{
                %row = cast %i : index
                %column = cast %j : index
                %s = add %x, %y : f32
                %t = sub %s, %v : f32
                store %t, %B[%row,%column]
                yield (%t)
              }}
              barrier.global
              cooperative_matrix_store %p, %A[%z,%z]"""
            text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}", body)
            text = text.replace("work_group_size=[8, 1]", f"work_group_size={size}")
            compare(text, ONE, numbers("f32", rows, 33), numbers("f32", rows, 33, 1))


def test_a_function_of_two_matrices_that_writes() -> None:
    held = matrix("f32", (40, 33))
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held}
      %b = add %a, %a : {held}
      %p = cooperative_matrix_apply (%i,%j,%x,%y)=%a,%b -> {held} {{
        %row = cast %i : index
        %column = cast %j : index
        %s = add %x, %y : f32
        store %s, %B[%row,%column]
        yield (%s)
      }}
      cooperative_matrix_store %p, %A[%z,%z]"""
    text = kernel(f"{memref('A', 'f32')}, {memref('B', 'f32')}", body)
    compare(text, ONE, numbers("f32", 40, 33), numbers("f32", 40, 33, 1))


# --- places that are used again ----------------------------------------------------------------


def test_a_matrix_that_is_still_needed_is_not_written_over() -> None:
    """One that was copied for a transpose, and one that a step needs which another step needs twice."""
    held = matrix("i64", (64, 64))
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held}
      %b = cooperative_matrix_load %B[%z,%z] : {held}
      %s = sub %a, %b : {held}
      %d = add %s, %s : {held}
      %r = cooperative_matrix_reduce_max.row %s : {matrix("i64", (64, 1))}
      %m = cooperative_matrix_reduce_min.row %a : {matrix("i64", (64, 1))}
      cooperative_matrix_store %r, %C[%z,%z]
      cooperative_matrix_store %m, %C[%z,%o]
      %t = cooperative_matrix_transpose %b : {matrix("i64", (64, 64), "b")}
      %x = cast %a : {matrix("i64", (64, 64), "a")}
      %p = cooperative_matrix_mul_add %x, %t, %b : {held}
      %q = sub %a, %b : {held}
      cooperative_matrix_store %p, %A[%z,%z]
      cooperative_matrix_store %q, %B[%z,%z]"""
    parameters = ", ".join(memref(name, "i64") for name in "ABC")
    arrays = numbers("i64", 64, 64), numbers("i64", 64, 64, 1), numbers("i64", 64, 2, 2)
    compare(kernel(parameters, body, before="%o = constant 1 : index"), ONE, *arrays)


def test_a_matrix_that_a_loop_begins_with_is_read_behind_it() -> None:
    held = matrix("i64", (64, 64))
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held}
      %b = cooperative_matrix_load %B[%z,%z] : {held}
      %s = sub %a, %b : {held}
      %q = add %s, %a : {held}
      %r = for %i=%z,%n init (%m=%s) -> ({held}) {{
        %l = cooperative_matrix_load %A[%z,%z] : {held}
        cooperative_matrix_store %b, %C[%z,%z]
        %p = mul %m, %l : {held}
        %k = add %p, %l : {held}
        yield (%k)
      }}
      cooperative_matrix_store %r, %A[%z,%z]
      cooperative_matrix_store %q, %B[%z,%z]"""
    parameters = ", ".join(memref(name, "i64") for name in "ABC")
    arrays = [numbers("i64", 64, 64, seed) for seed in range(3)]
    compare(kernel(parameters, body, before="%n = constant 3 : index"), ONE, *arrays)


# --- findings ----------------------------------------------------------------------------------

HEAD = """func @f(%I: memref<i32x?x?>, %W: memref<i32x?>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
parallel {
%z = constant 0 : index
%m = cooperative_matrix_load %I[%z, %z] : TYPE
"""
APPLY = """%r = cooperative_matrix_apply (%i, %j, %x)=%m -> TYPE {
%q = div %x, %x : i32
yield (%q)
}
"""
COMBINE = """%r = cooperative_matrix_combine.ALONG (%x, %y)=%m -> TYPE {
%p = mul %x, %y : i32
%q = div %p, %p : i32
yield (%q)
}
"""
DECODE = """%t = tensor_layout_create : tensor_layout<1>
%b = tensor_layout_set_block_size %t[4] : tensor_layout<1>
%d = tensor_layout_set_dimension %b[64] : tensor_layout<1>
%s = tensor_layout_slice %d[0:64] : tensor_layout<1>
%r = cooperative_matrix_load_tensor %m, %W[%z], %s decode (%block: memref<i32x1>, %i, %k) {
%n = load %block[0] : i32
%q = div %n, %n : i32
yield (%q)
} : TYPE
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("type", ["i32x8x8,matrix_acc", "i32x8x8,matrix_acc,work_group", "i32x1x64,matrix_acc"])
def test_a_finding_in_a_region_names_the_row_and_column(type: str, target: str) -> None:
    rows, columns = (1, 64) if "x1x" in type else (8, 8)
    row, column = (0, 53) if rows == 1 else (6, 5)
    matrix, words = np.ones((rows, columns), np.int32, order="F"), np.ones(16, np.int32)
    matrix[row, column] = 0
    words[(row * columns + column) // 4] = 0
    for body, component in ((APPLY, (row, column)), (DECODE, (row, column // 4 * 4))):
        text = (HEAD + body + "cooperative_matrix_store %r, %I[%z, %z]\n}\n}\n").replace("TYPE", f"coopmatrix<{type}>")
        with pytest.raises(girih.KernelError) as caught:
            girih.loads(text, target=target)["f"](matrix.copy("F"), words)
        (found,) = caught.value.findings
        assert (found.code, found.component, found.lane) == ("run.division_by_zero", component, None)
        assert found.to_json()["component"] == component
        assert found.subgroup == 0
        assert f"component ({component[0]}, {component[1]})" in str(found)


COMBINED = [
    ("row", "8x12,matrix_acc", "8x1,matrix_acc", lambda row, column: (row, 0)),
    ("column", "8x8,matrix_acc", "8x8,matrix_acc", lambda row, column: (0, column)),
    ("all", "1x24,matrix_acc", "1x1,matrix_acc", lambda row, column: (0, 0)),
    ("2x2", "8x8,matrix_acc", "4x4,matrix_acc", lambda row, column: (row // 2, column // 2)),
]
MORE_COMBINED = [
    ("row", "8x8,matrix_acc", "8x8,matrix_acc", lambda row, column: (row, 0)),
    ("row", "192x8,matrix_acc", "192x1,matrix_acc", lambda row, column: (row, 0)),
    ("row", "1x64,matrix_acc", "1x1,matrix_acc", lambda row, column: (0, 0)),
    ("row", "8x8,matrix_acc,work_group", "8x8,matrix_acc,work_group", lambda row, column: (row, 0)),
    ("column", "200x7,matrix_acc", "1x7,matrix_acc", lambda row, column: (0, column)),
    ("all", "16x12,matrix_acc", "3x5,matrix_acc", lambda row, column: (0, 0)),
    ("2x2", "2x12,matrix_acc", "1x6,matrix_acc", lambda row, column: (0, column // 2)),
    ("2x2", "192x4,matrix_acc", "96x2,matrix_acc", lambda row, column: (row // 2, column // 2)),
    ("2x2", "64x64,matrix_acc", "32x32,matrix_acc", lambda row, column: (row // 2, column // 2)),
]
"""What is combined, shape and use of the matrix and of the result, and where a component goes."""


@pytest.mark.parametrize(("along", "type", "result", "place"), COMBINED + long(MORE_COMBINED))
def test_a_finding_in_a_combination_names_its_place_in_the_result(
    along: str, type: str, result: str, place: Callable[[int, int], tuple[int, int]]
) -> None:
    rows, columns = map(int, type.split(",")[0].split("x"))
    body = COMBINE.replace("ALONG", along).replace("TYPE", f"coopmatrix<i32x{result}>")
    text = HEAD.replace("TYPE", f"coopmatrix<i32x{type}>") + body
    text += "barrier.global\ncooperative_matrix_store %r, %I[%z, %z]\n}\n}\n"
    programs = [girih.loads(text, target=target)["f"] for target in ("interpreter", "cpu")]
    for row, column in ((rows - 1, columns - 1), (0, columns // 2), (rows // 2, 0)):
        matrix = np.ones((rows, columns), np.int32, order="F")
        matrix[row, column] = 0
        for program in programs:
            with pytest.raises(girih.KernelError) as caught:
                program(matrix.copy("F"), np.ones(1, np.int32))
            (found,) = caught.value.findings
            assert (found.code, found.component) == ("run.division_by_zero", place(row, column))
            assert (found.subgroup, found.lane) == (0, None)
