"""`order="C"`: mode 0 is the last axis, so that NumPy's arrays bind as they are; every message says so truthfully."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import girih
from girih.api import compile_module
from girih.ir.core import ORDERS, Order
from girih.runtime.cache import kernel_key

F32 = np.float32
TARGETS = ("interpreter", "cpu")
TEXT = """func @copy(%A: memref<f32x?x?x?>, %B: memref<f32x?x?x?>) attributes {grid=[size(%A, 0), size(%A, 1)]} {
    %i = group_id.x : index
    %j = group_id.y : index
    %zero = constant 0 : index
    %n = size %A[2] : index
    foreach (%k) = (%zero), (%n) {
        %a = load %A[%i,%j,%k] : f32
        store %a, %B[%i,%j,%k]
    }
}
func @add_one(%G: group<memref<f32x?x?>x?>, %i: index, %j: index) attributes {grid=[size(%G)]} {
    %g = group_id.x : index
    %A = load %G[%g] : memref<f32x?x?>
    %one = constant 1.0 : f32
    %a = load %A[%i,%j] : f32
    %b = add %a, %one : f32
    store %b, %A[%i,%j]
}
func @element(%A: memref<f32x?x?>, %i: index, %j: index) {
    %one = constant 1.0 : f32
    store %one, %A[%i,%j]
}
func @point(%s: memref<f32>) {
    %one = constant 1.0 : f32
    store %one, %s[]
}
func @fortran(%A: memref<f32x?x?>) attributes {order="F"} {
}
"""


@cache
def in_order_c(target: str) -> girih.Program:
    return girih.loads(TEXT, target, order="C")


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_numpy_bind_as_they_are(target: str) -> None:
    program = in_order_c(target)
    copy = program["copy"]
    a = np.arange(24, dtype=F32).reshape(2, 3, 4)
    b = np.zeros_like(a)
    assert copy.grid_for(a, b) == copy.grid_for(girih.uninitialized(a), memoryview(cast(Any, b))) == (4, 3, 1)
    copy(a, b)
    assert (a == b).all()
    # Gaps behind rows, modes of one element, and arrays without elements; other objects over memory.
    wide = np.zeros((2, 3, 9), F32)
    copy(a, wide[:, :, :4])
    assert (wide[:, :, :4] == a).all()
    copy(a[:1, :, :1], wide[1:, :, 8:])
    assert (wide[1, :, 8] == a[0, :, 0]).all()
    assert not wide[0, :, 4:].any()
    copy(np.zeros((0, 3, 4), F32), np.zeros((0, 3, 4), F32))
    copy(None, None)
    b[...] = 0
    copy(memoryview(cast(Any, a)), girih.uninitialized(b))
    assert (a == b).all()

    members = [np.zeros((2, 3), F32), np.zeros((3, 2), F32)]
    program["add_one"](members, 1, 0)
    assert [m.tolist() for m in members] == [[[0, 1, 0], [0, 0, 0]], [[0, 1], [0, 0], [0, 0]]]
    point = np.zeros((), F32)
    program["point"](point)
    assert point == 1
    program["fortran"](np.zeros((2, 3), F32, order="F"))
    assert copy.signature.endswith('%B: memref<f32x?x?x?>) attributes {order="C"}')
    assert program["fortran"].signature == "@fortran(%A: memref<f32x?x?>)"
    again = pickle.loads(pickle.dumps(copy))
    again(a[::-1].copy(), b)
    assert (b == a[::-1]).all()


def test_shapes_of_groups_are_those_of_arrays() -> None:
    member = TEXT[TEXT.index("func @add_one") : TEXT.index("func @element")]
    text = member.replace("memref<f32x?x?>x?>", "memref<f32x?x?>x?,offset:?>")
    for target in TARGETS:
        kernel = girih.loads(text, target, order="C")["add_one"]
        flat, matrix = np.zeros(20, F32), np.zeros((4, 5), F32)
        # Two rows of three, from the second element on: packed, and with the strides of the array.
        kernel(girih.Group([flat, matrix], 1, [(2, 3), (2, 3)]), 2, 1)
        assert flat.nonzero()[0].tolist() == [1 + 3 + 2]
        assert [axis.tolist() for axis in matrix.nonzero()] == [[1], [3]]
        with pytest.raises(girih.LaunchError) as caught:
            kernel(girih.Group([flat], 1, [(2, 3, 4)]), 2, 1)
        assert "last axis, also in shapes" in str(caught.value)
        with pytest.raises(girih.LaunchError, match=r"of shape \(3, 8\) reaches over 24 elements"):
            kernel(girih.Group([flat], 0, [(3, 8)]), 2, 1)


def test_the_order_is_said_once() -> None:
    said = TEXT.replace("func @point(%s: memref<f32>)", 'func @point(%s: memref<f32>) attributes {order="C"}')
    module = girih.loads(TEXT, "interpreter", order="C").ir
    assert [f.order for f in module.functions] == ["C", "C", "C", "C", "F"]
    assert [f.order for f in girih.parse(said).functions] == ["F", "F", "F", "C", "F"]
    assert girih.parse(str(module)) == module
    built = compile_module(girih.parse(TEXT), "interpreter", order="C")
    assert built.ir == module
    # Code is the same in both orders, and is compiled once.
    for f, g in zip(girih.parse(TEXT).functions, module.functions, strict=True):
        assert kernel_key(f, "bounds", "x") == kernel_key(g, "bounds", "x")
    for wrong in ("c", "A", None):
        with pytest.raises(ValueError, match="it must be 'C', whose last axis is mode 0, or 'F'"):
            girih.loads(TEXT, "interpreter", order=cast(Any, wrong))


STRIDES = "func @f(%A: memref<f32x4x8>) {\n}\nfunc @g(%A: memref<f32x?x?,strided<1,?>> {shape_gcd=[4]}) {\n}\n"


def test_messages_hold_in_both_orders() -> None:
    """Of each refusal: code, what is said of modes, and what the hint says; the call that a hint names works."""
    kernels = {order: girih.loads(STRIDES, "interpreter", order=order) for order in ORDERS}
    other = 'T if {} is meant; with order="{}" the program takes all arrays so'
    axes = np.lib.stride_tricks.as_strided(np.zeros(20, F32), (4, 4), (4, 4))
    cases: list[tuple[Order, str, Any, str, str, str]] = [
        ("F", "f", np.zeros((4, 8), F32), "bind.stride", "mode 0 must have stride 1, not 8",
         'np.empty((4, 8), np.float32, order="F"), or pass A.T to a kernel written for the transpose'),
        ("C", "f", np.zeros((8, 4), F32, order="F"), "bind.stride", "mode 0 (axis 1) must have stride 1, not 8",
         "np.empty((8, 4), np.float32), or pass A.T to a kernel written for the transpose"),
        ("F", "f", np.zeros((8, 4), F32), "bind.shape", "mode 0 must be 4, not 8", other.format("that", "C")),
        ("C", "f", np.zeros((4, 8), F32, order="F"), "bind.shape", "takes shape (8, 4); got float32 array of shape "
         "(4, 8), strides (1, 4): mode 0 (axis 1) must be 4, not 8, mode 1", other.format("that", "F")),
        ("C", "f", np.zeros((4, 8), F32), "bind.shape", "mode 1 (axis 0) must be 8", "allocate the array transposed"),
        ("F", "g", np.zeros((8, 8), F32), "bind.stride", "takes strides (1, ?)", other.format("the transpose", "C")),
        ("C", "g", np.zeros((8, 8), F32, order="F"), "bind.stride", "takes strides (?, 1)",
         other.format("the transpose", "F")),
        ("C", "f", np.zeros((8, 4), F32)[::-1], "bind.layout", "mode 1 (axis 0) runs backwards", "np.empty((8, 4), np"),
        ("C", "f", np.broadcast_to(np.zeros(4, F32), (8, 4)), "bind.layout", "mode 1 (axis 0) has stride 0", "(8, 4)"),
        ("C", "g", axes, "bind.layout", "mode 0 (axis 1) has stride 1 times size 4, more than the stride 1 of mode 1 "
         "(axis 0)", "np.empty((4, 4), np.float32)"),
        ("C", "g", np.zeros((4, 6), F32), "bind.shape_gcd", "is broken by shape (4, 6): mode 0 (axis 1) has size 6",
         "promise less"),
        ("C", "g", np.zeros(8, F32), "bind.order", "takes an array with 2 axes", "pass A[None], whose last mode"),
        ("C", "g", np.zeros((1, 8, 8), F32), "bind.order", "takes an array with 2 axes", "pass A[0], or another part"),
    ]  # fmt: skip
    for order, name, array, code, says, hints in cases:
        with pytest.raises(girih.LaunchError) as caught:
            kernels[order][name](array)
        found = caught.value.diagnostics[0]
        assert found.code == code
        assert says in found.message, found
        assert hints in str(found.hint), found
        if "[None]" in str(found.hint):
            assert not refusals(kernels[order][name], array[None])
        if "the program takes" in str(found.hint):
            assert not refusals(kernels[order][name], array.T)
            assert not refusals(kernels["C" if order == "F" else "F"][name], array)


def test_the_order_of_the_text_is_changed_in_the_text() -> None:
    plain = girih.loads("func @f(%A: memref<f32x?x?>) {}", "interpreter", order="C")["f"]
    for kernel in (plain, pickle.loads(pickle.dumps(plain))):
        (found,) = refusals(kernel, np.zeros((3, 4), F32, order="F"))
        assert 'with order="F" the program takes all arrays so' in str(found.hint)
    for order, told in [("C", "F"), ("F", "C")]:
        text = f'func @f(%A: memref<f32x?x?>) attributes {{order="{order}"}} {{}}'
        array = np.zeros((3, 4), F32, order=cast(Any, told))
        for load in ORDERS:
            (found,) = refusals(girih.loads(text, "interpreter", order=load)["f"], array)
            assert f'with the attribute order="{told}" the kernel takes all arrays so' in str(found.hint)
            again = girih.loads(text.replace(f'"{order}"', f'"{told}"'), "interpreter", order=load)
            assert not refusals(again["f"], array)


def refusals(kernel: girih.Kernel, array: object) -> tuple[girih.Diagnostic, ...]:
    try:
        kernel(array)
    except girih.LaunchError as error:
        return error.diagnostics
    return ()


def test_findings_and_remarks_say_which_element_of_the_array() -> None:
    said = []
    for target in TARGETS:
        program = in_order_c(target)
        with pytest.raises(girih.KernelError) as caught:
            program["element"](np.zeros((4, 7), F32), 2, 5)
        said.append(caught.value.findings[0].message)
        assert caught.value.findings[0].index == (2, 5)
        with pytest.raises(girih.KernelError) as caught:
            program["add_one"]([np.zeros((4, 7), F32)], 9, 3)
        said.append(caught.value.findings[0].message)
    assert said[:2] == said[2:]
    assert said[0].endswith("outside %A: index (2, 5) of shape (7, 4), element [5, 2] of the array")
    assert said[1].endswith("outside %G: index (9, 3) of shape (7, 4), element [3, 9] of the array")
    kernel = in_order_c("interpreter")["element"]
    kernel(np.zeros((4, 7), F32), 0, 0)
    assert "first at index (1, 0) of shape (7, 4), element [0, 1] of the array" in kernel.remarks[0].message
