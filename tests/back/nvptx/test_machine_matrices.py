"""The machine's matrices: fragments against the tables of the PTX ISA, products against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.back.nvptx.ptx_machine.matrix.fragments import Shape, left, right, sums
from tests.back.nvptx.ptx_machine.matrix.products import FORMS
from tests.back.nvptx.snippets import kernel, launch
from tests.cases import every_case

Array = NDArray[Any]

ELEMENTS: dict[str, type[np.generic]] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64,
    "s8": np.int8, "u8": np.uint8, "s32": np.int32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def test_fragments_are_those_of_the_tables() -> None:
    """A few components of each table (PTX ISA "Matrix Fragments for mma.m16n8k16 with floating point type")."""
    for shape, packed, lane, register, number, where in (
        ("m16n8k16", 2, 5, 0, 1, (1, 3)),
        ("m16n8k16", 2, 5, 1, 0, (9, 2)),
        ("m16n8k16", 2, 5, 2, 0, (1, 10)),
        ("m16n8k16", 2, 31, 3, 1, (15, 15)),
        ("m16n8k32", 4, 6, 2, 3, (1, 27)),
        ("m16n8k8", 1, 6, 3, 0, (9, 6)),
        ("m16n8k16", 1, 6, 5, 0, (9, 10)),
        ("m8n8k4", 1, 6, 0, 0, (1, 2)),
    ):
        fragment = left(Shape.of(shape), packed)
        assert (fragment.rows[lane, register, number], fragment.columns[lane, register, number]) == where
    for shape, packed, lane, register, number, where in (
        ("m16n8k16", 2, 5, 1, 1, (11, 1)),
        ("m16n8k32", 4, 30, 1, 2, (26, 7)),
        ("m16n8k16", 1, 6, 3, 0, (14, 1)),
    ):
        fragment = right(Shape.of(shape), packed)
        assert (fragment.rows[lane, register, number], fragment.columns[lane, register, number]) == where
    for shape, packed, lane, register, number, where in (
        ("m16n8k16", 1, 6, 1, 0, (1, 5)),
        ("m16n8k16", 1, 6, 2, 0, (9, 4)),
        ("m16n8k16", 2, 6, 1, 1, (9, 5)),
        ("m8n8k4", 1, 6, 1, 0, (1, 5)),
    ):
        fragment = sums(Shape.of(shape), packed)
        assert (fragment.rows[lane, register, number], fragment.columns[lane, register, number]) == where


def test_every_component_is_held_once() -> None:
    for name, forms in FORMS.items():
        shape = Shape.of(name)
        for factors, _ in forms:
            packed = {"f64": 1, "tf32": 1, "f16": 2, "bf16": 2}.get(factors[0], 4)
            for fragment, size in (
                (left(shape, packed), shape.rows * shape.depth),
                (right(shape, packed), shape.depth * shape.columns),
                (sums(shape, 1), shape.rows * shape.columns),
            ):
                places = set(zip(fragment.rows.ravel().tolist(), fragment.columns.ravel().tolist(), strict=True))
                assert len(places) == fragment.rows.size == size


def _products() -> list[tuple[str, str, str, str]]:
    return [
        (shape, a, b, c)
        for shape, forms in FORMS.items()
        for factors, totals in forms
        for a in factors
        for b in factors
        for c in totals
        if a == b or a[0] in "sue"
    ]


def _random(type: str, *shape: int) -> Array:
    random = np.random.default_rng(len(type) + sum(shape))
    if ELEMENTS[type] in (np.int8, np.uint8, np.int32):
        limits: np.iinfo[Any] = np.iinfo(np.dtype(ELEMENTS[type]))
        return random.integers(limits.min, limits.max, shape, endpoint=True).astype(ELEMENTS[type])
    held = random.normal(size=shape).astype(ELEMENTS[type])
    return held if type != "tf32" else (held.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("form", _products(), ids="-".join)
def test_products_are_those_of_matrices(form: tuple[str, str, str, str]) -> None:
    name, a_type, b_type, c_type = form
    shape = Shape.of(name)
    a, b = _random(a_type, 2, shape.rows, shape.depth), _random(b_type, 2, shape.depth, shape.columns)
    c = _random(c_type, 2, shape.rows, shape.columns)
    packed = 1 if a_type == "f64" else 4 // np.dtype(ELEMENTS[a_type]).itemsize
    fragments = (left(shape, packed), right(shape, packed), sums(shape, 2 if c_type == "f16" else 1))
    held = [
        np.ascontiguousarray(one[:, of.rows, of.columns]).view(np.uint64 if a_type == "f64" else np.uint32)
        for one, of in zip((a, b, c), fragments, strict=True)
    ]
    found = np.zeros_like(held[2])
    kind, size, letter = ("b64", 8, "d") if a_type == "f64" else ("b32", 4, "r")
    lines, names, place = ["mov.u32 %r60, %tid.x;"], [], 10
    for k, one in enumerate(held):
        count = one.shape[2]
        lines.append(f"mad.wide.u32 %d60, %r60, {size * count}, %p{k};")
        registers = [f"%{letter}{place + n}" for n in range(count)]
        lines += [f"ld.global.{kind} {register}, [%d60+{size * n}];" for n, register in enumerate(registers)]
        names.append("{" + ", ".join(registers) + "}")
        place += count
    count = held[2].shape[2]
    results = [f"%{letter}{n}" for n in range(count)]
    opcode = f"mma.sync.aligned.{name}.row.col.{c_type}.{a_type}.{b_type}.{c_type}"
    lines.append(f"{opcode} {{{', '.join(results)}}}, {', '.join(names)};")
    lines.append(f"mad.wide.u32 %d60, %r60, {size * count}, %p3;")
    lines += [f"st.global.{kind} [%d60+{size * n}], {register};" for n, register in enumerate(results)]
    launch(kernel("\n".join(lines), 4), [*held, found], 64)
    wide = np.int64 if c_type == "s32" else np.float64
    wanted = (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(ELEMENTS[c_type])
    wanted = wanted[:, fragments[2].rows, fragments[2].columns]
    # f64 is rounded in every step, in another order than NumPy's.
    told = found.view(ELEMENTS[c_type]).reshape(wanted.shape)
    np.testing.assert_allclose(told, wanted, rtol=1e-12 if c_type == "f64" else 0, atol=1e-14 if c_type == "f64" else 0)


def test_matrices_move_between_shared_memory_and_registers() -> None:
    """Four 8 x 8 matrices are stored as they are or transposed, and loaded so."""
    rows = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    with every_case() as case:
        for stored in ("", ".trans"):
            for loaded in ("", ".trans"):
                with case(f"stmatrix{stored}, ldmatrix{loaded}"):
                    held = np.ascontiguousarray(rows.reshape(4, 32, 2).swapaxes(0, 1))
                    found = np.zeros_like(held)
                    body = f"""
                    mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 16, %p0; mad.wide.u32 %d1, %r0, 16, %p1;
                    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%d0];
                    mov.u32 %r9, memory; mad.lo.u32 %r9, %r0, 16, %r9;
                    stmatrix.sync.aligned.m8n8.x4{stored}.shared.b16 [%r9], {{%r1, %r2, %r3, %r4}};
                    bar.warp.sync -1;
                    ldmatrix.sync.aligned.m8n8.x4{loaded}.shared.b16 {{%r5, %r6, %r7, %r8}}, [%r9];
                    st.global.v4.b32 [%d1], {{%r5, %r6, %r7, %r8}};"""
                    launch(kernel(body, 2, before=".shared .align 16 .b8 memory[512];"), [held, found])
                    wanted = rows if stored == loaded else rows.swapaxes(1, 2)
                    np.testing.assert_array_equal(found.swapaxes(0, 1).reshape(4, 8, 8), wanted)


def test_a_matrix_is_transposed_in_registers() -> None:
    rows = np.arange(64, dtype=np.uint16).reshape(8, 8)
    held, found = rows.reshape(32, 2).view(np.uint32).copy(), np.zeros((32, 1), np.uint32)
    body = """mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 4, %p0; mad.wide.u32 %d1, %r0, 4, %p1;
    ld.global.b32 %r1, [%d0]; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.b32 [%d1], %r2;"""
    launch(kernel(body, 2), [held, found])
    np.testing.assert_array_equal(found.view(np.uint16).reshape(8, 8), rows.T)
