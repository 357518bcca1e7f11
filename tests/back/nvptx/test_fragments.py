"""Matrices as fragments against the interpreter: every type and layout, with a model of the instruction `mma`."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.back.llvm.lower.one_lane.matrix import staging
from girih.back.llvm.nvptx.machine.kernel import USUAL
from girih.back.llvm.nvptx.matrix import product as products
from tests.back.harness import Failed, copy_of, same
from tests.back.nvptx.fragment_machine import FragmentKernel, FragmentMachineCode, OldMachineCode
from tests.back.nvptx.fragment_tables import FRAGMENT_TABLES
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.nvptx.ptx_machine.matrix.fragments import Shape, left, right, sums
from tests.back.one_lane.test_matrices import BODIES, EVERYTHING, loop
from tests.cases import every_case, one_in

RANDOM = np.random.default_rng(7)

TYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}


def of(type: str, *shape: int) -> Any:
    """Random whole numbers of a type, the first mode fastest."""
    return np.asfortranarray(RANDOM.integers(-5, 6, shape)).astype(TYPES[type])


def agrees(
    text: str, *arguments: Any, code: type[FragmentMachineCode] = FragmentMachineCode, on_ptx: bool = True
) -> list[Any]:
    """What a kernel does to its arguments, here, as PTX and on the interpreter; all of its matrices are fragments."""
    kernel = girih.loads(text, target="interpreter")["f"]
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    kernel.options(races=False)[1](*expected)
    compiled = FragmentKernel(kernel.ir, code=code)
    assert not compiled.remarks.diagnostics()
    compiled((1, 1, 1), *found)
    for mine, wanted in zip(found, expected, strict=True):
        same(mine, wanted, 1e-5)
    if on_ptx:
        executed = [copy_of(one) for one in arguments]
        PtxMachineKernel(kernel.ir)((1, 1, 1), *executed)
        for mine, wanted in zip(executed, expected, strict=True):
            same(mine, wanted, 1e-5)
    return found


# --- products ----------------------------------------------------------------------------------

GEMM = """
func @f(%A: memref<{a}x?x?>, %B: memref<{b}x?x?>, %C: memref<{c}x?x?>, %D: memref<{r}x?x?>)
    attributes {{subgroup_size=32, work_group_size=[32, 1]{more}}} {{
  parallel {{
    %z = constant 0 : index
    %x = cooperative_matrix_load{ta} %A[%z,%z] : coopmatrix<{a}x{m}x{k},matrix_a>
    %y = cooperative_matrix_load{tb} %B[%z,%z] : coopmatrix<{b}x{k}x{n},matrix_b>
    %w = cooperative_matrix_load %C[%z,%z] : coopmatrix<{c}x{m}x{n},matrix_acc>
    %p = cooperative_matrix_mul_add %x, %y, %w : coopmatrix<{r}x{m}x{n},matrix_acc>
    cooperative_matrix_store %p, %D[%z,%z]
  }}
}}
"""

PRODUCTS = [
    ("f16", "f16", "f32", "f32"),
    ("bf16", "bf16", "f32", "bf16"),
    ("f16", "f16", "f16", "f16"),
    ("bf16", "bf16", "bf16", "f32"),
    ("i8", "i8", "i32", "i32"),
    ("i8", "i8", "i16", "i16"),
    ("i8", "i8", "i64", "i64"),
    ("i8", "i8", "i8", "i32"),
    ("f8e4m3", "f8e5m2", "f32", "f32"),
    ("f8e5m2", "f8e5m2", "f32", "f16"),
    ("f64", "f64", "f64", "f64"),
    ("f32", "f32", "f32", "f32"),
    ("f32", "f32", "f64", "f64"),
    ("i16", "i16", "i16", "i16"),
    ("i32", "i32", "i32", "i64"),
    ("i64", "i64", "i64", "i64"),
    ("f16", "f16", "f64", "f64"),
    ("i8", "i8", "f32", "f32"),
]
"""The types of a, b, c and the result."""

SHAPES = [(32, 32, 32), (64, 16, 64), (32, 8, 16), (32, 24, 48), (32, 5, 7), (32, 1, 1), (32, 9, 33), (64, 40, 12)]
"""Sizes m, n, k: of whole fragments, of some that are padded, and single rows and columns."""


def multiplies(
    types: tuple[str, ...], shape: tuple[int, int, int], code: Any = FragmentMachineCode, more: str = ""
) -> None:
    """Hold a product against the interpreter's, with factors as they are and transposed."""
    (a, b, c, r), (m, n, k) = types, shape
    for turned in ("", ".t"):
        text = GEMM.format(a=a, b=b, c=c, r=r, m=m, n=n, k=k, ta=turned, tb=turned, more=more)
        shapes = ((k, m), (n, k)) if turned else ((m, k), (k, n))
        agrees(text, of(a, *shapes[0]), of(b, *shapes[1]), of(c, m, n), of(r, m, n), code=code)


def test_products_of_two_types() -> None:
    """By `mma` where each number becomes one of the wider type in the thread that has it."""
    for types in (("i8", "f16", "f32", "f32"), ("bf16", "i8", "f32", "f32"), ("f32", "bf16", "f32", "f32")):
        multiplies(types, (32, 16, 32))


@pytest.mark.parametrize(("types", "shape"), one_in(9, product(PRODUCTS, SHAPES)))
def test_products(types: tuple[str, str, str, str], shape: tuple[int, int, int]) -> None:
    multiplies(types, shape)


def test_products_of_f64_on_devices_with_small_fragments() -> None:
    with every_case() as case:
        for shape in SHAPES[:6]:
            with case(str(shape)):
                multiplies(("f64",) * 4, shape, OldMachineCode)


def test_products_of_f8_on_devices_without() -> None:
    multiplies(("f8e4m3", "f8e4m3", "f32", "f32"), (32, 8, 32), OldMachineCode)


def test_tf32_where_it_is_permitted() -> None:
    multiplies(("f32",) * 4, (32, 16, 24), more=', allow=["tf32"]')
    text = GEMM.format(a="f32", b="f32", c="f32", r="f32", m=32, n=8, k=8, ta="", tb="", more=', allow=["tf32"]')
    exact = GEMM.format(a="f32", b="f32", c="f32", r="f32", m=32, n=8, k=8, ta="", tb="", more="")
    a, b = np.full((32, 8), 1 + 2**-11, np.float32, order="F"), np.ones((8, 8), np.float32, order="F")
    for source, wanted in ((text, 8 + 8 * 2**-10), (exact, 8 + 8 * 2**-11)):
        d = np.zeros((32, 8), np.float32, order="F")
        kernel = FragmentKernel(girih.loads(source, target="interpreter")["f"].ir)
        kernel((1, 1, 1), a, b, np.zeros_like(d), d)
        assert (d == wanted).all()


def test_numbers_behind_the_depth_are_not_added() -> None:
    """Factors whose padding is no number, as `log` makes it of zeros."""
    text = """
    func @f(%A: memref<f32x32x5>, %B: memref<f32x5x8>, %C: memref<f32x32x8>)
        attributes {subgroup_size=32, work_group_size=[32, 1]} {
      parallel {
        %z = constant 0 : index
        %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x32x5,matrix_a>
        %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<f32x5x8,matrix_b>
        %x = cast %a : coopmatrix<f16x32x5,matrix_a>
        %y = cast %b : coopmatrix<f16x5x8,matrix_b>
        %p = div %x, %x : coopmatrix<f16x32x5,matrix_a>
        %q = div %y, %y : coopmatrix<f16x5x8,matrix_b>
        %n = constant 0.0 : coopmatrix<f32x32x8,matrix_acc>
        %c = cooperative_matrix_mul_add %p, %q, %n : coopmatrix<f32x32x8,matrix_acc>
        cooperative_matrix_store %c, %C[%z,%z]
      }
    }"""
    a, b = np.full((32, 5), 3, np.float32, order="F"), np.full((5, 8), 7, np.float32, order="F")
    _, _, c = agrees(text, a, b, np.zeros((32, 8), np.float32, order="F"))
    assert (c == 5).all()


# --- everything else ---------------------------------------------------------------------------

MATRICES = [("i8", (32, 6, 4)), ("f32", (64, 7, 9)), ("i32", (32, 24, 5)), ("f32", (32, 16, 8)), ("i16", (32, 32, 3))]
ROOM = [16 * 1024, 600, 3000]
"""The bytes that a work-group may share."""


@pytest.mark.parametrize(("matrices", "room"), one_in(4, product(MATRICES, ROOM)))
def test_everything_in_pieces_of_any_size(matrices: Any, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, (m, k, n) = matrices
    for module in (staging, products):
        monkeypatch.setattr(module, "MOST_SHARED", room)
    text = EVERYTHING.format(t=name, m=m, k=k, n=n, items=64, scope="").replace("subgroup_size=8", "subgroup_size=32")
    shapes = ((m, k), (k, n), (m, n), (n, m), (m, 1), (1, n), (m, n), (m, n))
    agrees(text, *(of(name, *shape) for shape in shapes), on_ptx=room == ROOM[0])


def test_what_loops_hand_on() -> None:
    with every_case() as case:
        for name, body in BODIES.items():
            with case(name):
                text = loop(body).replace(
                    "subgroup_size=8, work_group_size=[8, 1]", "subgroup_size=32, work_group_size=[32, 1]"
                )
                agrees(text, of("i32", 8, 4), of("i32", 8, 4), 3)


WINDOW = """
func @f(%A: memref<{t}x?x?>, %B: memref<{t}x?x?>, %i: index, %j: index)
    attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
  parallel {{
    %a = cooperative_matrix_load{turn}.both_checked %A[%i,%j] : coopmatrix<{t}x{m}x{n},{use}>
    cooperative_matrix_store{turn}.both_checked %a, %B[%i,%j]
  }}
}}
"""


@pytest.mark.parametrize("type", ["f16", "i8", "f64"])
@pytest.mark.parametrize("use", ["matrix_a", "matrix_b", "matrix_acc"])
def test_tiles_at_any_place(type: str, use: str) -> None:
    """Aligned and not, inside and at the edges: what is moved many at a time, and what is not."""
    with every_case() as case:
        for (i, j), turn, rows in product(((0, 0), (16, 8), (1, 0), (48, 3), (-5, 40)), ("", ".t"), (80, 77)):
            with case(f"{i}, {j} of {rows} rows {turn}"):
                text = WINDOW.format(t=type, m=32, n=32, use=use, turn=turn)
                agrees(text, of(type, rows, 72), of(type, rows, 72), i, j, on_ptx=not turn and rows == 80)


BOTH = """
func @f(%A: memref<f32x8x8>, %B: memref<c32x8x8>, %n: index)
    attributes {subgroup_size=32, work_group_size=[64, 1]} {
  parallel {
    %z = constant 0 : index
    %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x8x8,matrix_acc>
    %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<c32x8x8,matrix_acc>
    %g = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x8x8,matrix_acc,work_group>
    %p, %q, %h = for %k = %z, %n init (%x=%a, %y=%b, %w=%g)
        -> (coopmatrix<f32x8x8,matrix_acc>, coopmatrix<c32x8x8,matrix_acc>, coopmatrix<f32x8x8,matrix_acc,work_group>) {
      %s = add %x, %a : coopmatrix<f32x8x8,matrix_acc>
      %t = mul %y, %b : coopmatrix<c32x8x8,matrix_acc>
      %u = sub %w, %g : coopmatrix<f32x8x8,matrix_acc,work_group>
      yield (%s, %t, %u)
    }
    barrier.global
    cooperative_matrix_store %q, %B[%z,%z]
    cooperative_matrix_store %p, %A[%z,%z]
    barrier.global
    cooperative_matrix_store %h, %A[%z,%z]
  }
}
"""


def test_fragments_and_arrays_in_one_kernel() -> None:
    """A loop hands on matrices of every kind."""
    kernel = girih.loads(BOTH, target="interpreter")["f"]
    given = of("f32", 8, 8), of("f32", 8, 8).astype(np.complex64)
    wanted, found, executed = ([copy_of(one) for one in given] for _ in range(3))
    kernel.options(races=False)[1](*wanted, 3)
    compiled = FragmentKernel(kernel.ir)
    compiled((1, 1, 1), *found, 3)
    PtxMachineKernel(kernel.ir)((1, 1, 1), *executed, 3)
    for mine in (found, executed):
        same(mine[0], wanted[0], 1e-5)
        same(mine[1], wanted[1], 1e-4)
    assert {one.code for one in compiled.remarks.diagnostics()} == {"cuda.flat", "cuda.matrix"}


COMPONENTS = """
func @f(%A: memref<{t}x{m}x{n}>, %P: memref<{t}x32>) attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
  parallel {{
    %z = constant 0 : index
    %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<{t}x{m}x{n},{use}>
    %x = cooperative_matrix_extract %a[{k}] : {t}
    %l = subgroup_local_id : i32
    %i = cast %l : index
    store %x, %P[%i]
    %y = load %P[%i] : {t}
    %s = add %y, %x : {t}
    %b = cooperative_matrix_insert %s, %a[{k}] : coopmatrix<{t}x{m}x{n},{use}>
    cooperative_matrix_store %b, %A[%z,%z]
  }}
}}
"""


def test_components_by_their_number() -> None:
    """`cooperative_matrix_extract` and `..._insert` number components as 003 does; a remark says what that costs."""
    with every_case() as case:
        for type, (m, n), use, k in (
            ("f16", (32, 8), "matrix_a", 5),
            ("i8", (64, 4), "matrix_b", 7),
            ("f32", (8, 6), "matrix_acc", 1),
        ):
            with case(f"{type} {use}"):
                kernel = girih.loads(COMPONENTS.format(t=type, m=m, n=n, use=use, k=k), target="interpreter")["f"]
                given = of(type, m, n), of(type, 32)
                wanted, found = [copy_of(one) for one in given], [copy_of(one) for one in given]
                kernel.options(races=False)[1](*wanted)
                compiled = FragmentKernel(kernel.ir)
                compiled((1, 1, 1), *found)
                same(found[0], wanted[0], 0)
                same(found[1], wanted[1], 0)
                assert {one.code for one in compiled.remarks.diagnostics()} == {"cuda.components"}


REASONS = {
    "fragments are held by subgroups of 32 work-items, not of 16": ("f32x8x8,matrix_acc", 16),
    "coopmatrix<c32x8x8,matrix_acc,work_group> is complex": ("c32x8x8,matrix_acc,work_group", 32),
    "coopmatrix<c32x8x8,matrix_acc> is complex": ("c32x8x8,matrix_acc", 32),
    "coopmatrix<f64x128x64,matrix_acc> takes 512 registers of a work-item; 256 are the most": (
        "f64x128x64,matrix_acc",
        32,
    ),
}


def test_why_matrices_are_arrays() -> None:
    for reason, (type, size) in REASONS.items():
        text = f"""func @f(%x: {type[:3]}) attributes {{subgroup_size={size}, work_group_size=[{size}, 1]}} {{
          parallel {{ %a = cooperative_matrix_construct %x : coopmatrix<{type}> }}
        }}"""
        (remark,) = FragmentKernel(girih.loads(text, target="interpreter")["f"].ir).remarks.diagnostics()
        assert remark.code == "cuda.matrix"
        assert remark.message == f"matrices are arrays of each work-item, which is slow: {reason}"


# --- the tables --------------------------------------------------------------------------------


def test_tables_have_every_component_once() -> None:
    for table in set(FRAGMENT_TABLES.values()):
        sizes = {"a": (table.rows, table.depth), "b": (table.depth, 8), "c": (table.rows, 8)}
        for operand, (rows, columns) in sizes.items():
            assert set(table.held(operand)) == {(i, j) for i in range(rows) for j in range(columns)}


def test_tables_are_those_of_the_machine_that_executes_ptx() -> None:
    """Both were transcribed from the PTX ISA, component by component here, by the bits of places there."""
    for (name, types), table in FRAGMENT_TABLES.items():
        neighbours = 1 if types.split(".")[1] in ("f64", "tf32") else 2 if name == "m16n8k16" else 4
        shape = Shape.of(name)
        theirs = {"a": left(shape, neighbours), "b": right(shape, neighbours), "c": sums(shape, 1)}
        for operand, fragment in theirs.items():
            for (row, column), (lane, number) in table.held(operand).items():
                place = lane, number // fragment.packed, number % fragment.packed
                assert (fragment.rows[place], fragment.columns[place]) == (row, column)


def test_products_by_the_tables() -> None:
    """A model in NumPy: registers that the tables fill hold the factors, and their sums are the product."""
    for table in set(FRAGMENT_TABLES.values()):
        a, b = of("i64", table.rows, table.depth), of("i64", table.depth, 8)
        left, right, wanted = (table.held(operand) for operand in "abc")
        registers = np.zeros((2, 32, 64), np.int64)
        for (row, column), (lane, number) in left.items():
            registers[0, lane, number] = a[row, column]
        for (row, column), (lane, number) in right.items():
            registers[1, lane, number] = b[row, column]
        sums = np.zeros((32, 4), np.int64)
        for (row, column), (lane, number) in wanted.items():
            for k in range(table.depth):
                sums[lane, number] += registers[(0, *left[row, k])] * registers[(1, *right[k, column])]
            assert sums[lane, number] == (a @ b)[row, column]


LOOP = """
func @f(%A: memref<f32x?x?>, %B: memref<f32x?x?>, %steps: index)
        attributes {{subgroup_size={lanes}, work_group_size=[{lanes},1]}} {{
    %zero = constant 0 : index
    %four = constant 4 : index
    parallel {{
        for %i = %zero, %steps, %four {{
            %m = cooperative_matrix_load %A[%zero, %i] : coopmatrix<f32x16x4,matrix_acc>
            cooperative_matrix_store %m, %B[%zero, %i]
        }}
    }}
}}
"""


@pytest.mark.parametrize("lanes", [16, 32])
def test_tiles_in_loops_are_checked_in_front_of_them(lanes: int) -> None:
    """A loop is written twice, and what is outside is found by the careful one, after what comes before it."""
    kernel = PtxMachineKernel(girih.loads(LOOP.format(lanes=lanes), target="interpreter")["f"].ir)
    unchecked = PtxMachineKernel(kernel.function, checks=False)
    loads = [one.variant(USUAL)[0].ptx.count("ld.global") for one in (kernel, unchecked)]
    assert loads[0] > loads[1]
    a = np.asfortranarray(np.arange(16 * 12, dtype=np.float32).reshape(16, 12))
    b = np.zeros((16, 12), np.float32, order="F")
    kernel((1, 1, 1), a, b, 12)
    same(b, a, 0.0)
    b[...] = 0
    with pytest.raises(Failed) as found:
        kernel((1, 1, 1), a, b, 16)
    assert found.value.argument == "A"
    same(b, a, 0.0)
