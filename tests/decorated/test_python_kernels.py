"""Kernels in Python as they are called: variants, memory orders, constants, grids, results, options."""

from __future__ import annotations

import copy
import itertools
import pickle
import types
import warnings
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
import girih.language as gl
from girih.front.python.facts import ArrayFacts, ConstantFacts
from girih.runtime.cpu import executor

E = TypeVar("E", gl.f32, gl.f64, gl.i32)


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 64), out={"Y": "X"})
def axpby(a: gl.f32, X: gl.Vector[gl.f32], b: gl.f32, Y: gl.Vector[gl.f32]) -> None:
    first = gl.group_id(0) * 64
    for i in gl.foreach(64):
        if first + i < X.shape[0]:
            Y[first + i] = a * X[first + i] + b * Y[first + i]


@girih.kernel
def subtract(X: gl.Matrix[E], Y: gl.Matrix[E], Z: gl.Matrix[E], times: gl.constant = 1) -> None:
    """Z = times (X - Y)."""
    for i, j in gl.foreach(X.shape[0], X.shape[1]):
        Z[i, j] = times * (X[i, j] - Y[i, j])


def fresh(kernel: girih.PythonKernel) -> girih.PythonKernel:
    """The kernel without the variants that other tests made."""
    return girih.kernel(kernel.function)


def _filled(shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    return (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype(dtype)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_kernel_is_called_with_arrays(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_TARGET", target)
    X, Y = _filled((200,)), np.ones(200, np.float32)
    kernel = girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 64))(axpby.function)
    kernel(2.0, X, 3.0, Y)
    assert np.array_equal(Y, 2 * X + 3)
    kernel(1.0, b=0.0, Y=Y, X=X)
    assert np.array_equal(Y, X)
    (variant,) = kernel.variants.values()
    assert variant.kernel.target == target
    assert kernel.grid_for(2.0, X, 3.0, Y) == (4, 1, 1)
    kernel[1](1.0, X, 1.0, Y)
    assert np.array_equal(Y[:64], 2 * X[:64])
    assert np.array_equal(Y[64:], X[64:])


def in_order(values: NDArray[Any], order: str) -> NDArray[Any]:
    """The values in memory of an order: C, F, every second column, every second row of order F."""
    if order in "CF":
        return np.array(values, order="C" if order == "C" else "F")
    wide = np.zeros((2 * values.shape[0], 2 * values.shape[1]), values.dtype, order="C" if order == "c" else "F")
    wide[: values.shape[0], ::2] = values
    view = wide[: values.shape[0], ::2]
    view[...] = values
    return view


@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0)])
def test_arrays_are_used_in_the_order_that_they_have(shape: tuple[int, int]) -> None:
    X, Y = _filled(shape), np.ones(shape, np.float32)
    for orders in itertools.product("CFcf", repeat=3):
        x, y, z = (in_order(value, order) for value, order in zip((X, Y, 0 * X), orders, strict=True))
        for _ in range(2):
            z[...] = 0
            subtract(x, y, z)
            assert np.array_equal(z, X - Y), orders


def test_three_axes_in_any_order() -> None:
    @girih.kernel
    def double(X: gl.Array[gl.f32, Literal[3]], Y: gl.Array[gl.f32, Literal[3]]) -> None:
        for i, j, k in gl.foreach(X.shape[0], X.shape[1], X.shape[2]):
            Y[i, j, k] = 2.0 * X[i, j, k]

    X = _filled((2, 3, 4))
    for axes in itertools.permutations(range(3)):
        memory = np.zeros(tuple(X.shape[axis] for axis in axes), np.float32)
        Y = memory.transpose(tuple(np.argsort(axes)))
        double(X, Y)
        assert np.array_equal(Y, 2 * X)
    facts = [key.specialisation.parameters[1][1] for key in double.variants]
    assert {f.order for f in facts if isinstance(f, ArrayFacts)} == set(itertools.permutations(range(3)))


def test_variants_are_kept_by_what_they_are_specialised_on() -> None:
    X, subtract = _filled((3, 4)), fresh(globals()["subtract"])
    for dtype in (np.float32, np.float64, np.int32):
        x, z = X.astype(dtype), np.zeros((3, 4), dtype)
        subtract(x, x, z)
        subtract(x, x, z, times=2)
        subtract(x[:2], x[:2], z[:2], 2)
    assert len(subtract.variants) == 6
    texts = [variant.text for variant in subtract.variants.values()]
    assert len(set(texts)) == 6
    for key, variant in subtract.variants.items():
        assert subtract.variants[key] is variant
        assert girih.loads(variant.text)["subtract"].ir.order == variant.ir.order == "C"
        assert str(variant.ir) == variant.text


def test_equal_constants_of_other_types_are_other_constants() -> None:
    @girih.kernel
    def fill(Y: gl.Vector[E], n: gl.constant) -> None:
        for i in gl.foreach(4):
            Y[i] = n

    Y = np.zeros(4, np.float32)
    for value, kinds in ((1, 1), (1.0, 2), (1, 2), (2, 3)):
        fill(Y, value)
        assert np.array_equal(Y, [value] * 4)
        assert len(fill.variants) == kinds
    with pytest.raises(girih.CompileError):
        fill(Y.astype(np.int32), 1.5)
    with pytest.raises(girih.CompileError):
        fill(Y, True)


def test_zeros_with_and_without_a_sign_are_two_constants() -> None:
    @girih.kernel
    def fill(Y: gl.Vector[gl.f32], n: gl.constant) -> None:
        for i in gl.foreach(1):
            Y[i] = n

    @girih.kernel
    def first(Y: gl.Vector[gl.f32], n: gl.constant) -> None:
        for i in gl.foreach(1):
            Y[i] = n[0]

    Y = np.ones(1, np.float32)
    for value in (0.0, -0.0, 0.0):
        fill(Y, value)
        assert np.signbit(Y[0]) == np.signbit(value)
    for entries in ((-0.0, 1), (0.0, True), (0.0, 1)):
        first(Y, entries)
        assert np.signbit(Y[0]) == np.signbit(entries[0])
    assert (len(fill.variants), len(first.variants)) == (2, 3)


def test_machine_code_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("GIRIH_CACHE_SIZE", raising=False)
    tmp_path.chmod(0o700)
    X = _filled((3, 4))
    Z = np.zeros_like(X)
    fresh(subtract).on("cpu")(X, -X, Z)
    assert len(list(tmp_path.glob("*.code"))) >= 1

    def refuse(*given: object) -> None:
        raise AssertionError("it was compiled again")

    monkeypatch.setattr(executor, "compiled", refuse)
    fresh(subtract).on("cpu")(X, -X, Z)
    assert np.array_equal(Z, 2 * X)


def test_what_a_kernel_reads_from_outside_may_change() -> None:
    factor = 2.0

    def helper(x: gl.f32) -> gl.f32:
        return x * factor

    @girih.kernel
    def scale(X: gl.Vector[gl.f32]) -> None:
        for i in gl.foreach(X.shape[0]):
            X[i] = helper(X[i])

    X = np.ones(3, np.float32)
    scale(X)
    scale(X)
    assert list(X) == [4, 4, 4]
    factor = 3.0
    scale(X)
    assert list(X) == [12, 12, 12]
    assert len(scale.variants) == 2
    factor = 2.0
    scale(X)
    assert len(scale.variants) == 2


def test_attributes_of_classes_and_modules_may_change() -> None:
    class Inner:
        step = 1.0

    class Sizes:
        inner = Inner

    class Derived(Sizes):
        pass

    module, package = types.ModuleType("one_module"), types.ModuleType("one_package")
    vars(module)["offset"] = 10.0
    vars(package)["module"] = module

    @girih.kernel
    def add(X: gl.Vector[gl.f32]) -> None:
        X[0] = Derived.inner.step + package.module.offset

    X = np.zeros(1, np.float32)
    add(X)
    add(X)
    assert X[0] == 11
    Inner.step = 2.0
    add(X)
    assert X[0] == 12
    vars(module)["offset"] = 20.0
    add(X)
    assert X[0] == 22


def test_variants_are_bounded_and_that_is_said() -> None:
    @girih.kernel(most_variants=3)
    def fill(Y: gl.Vector[gl.f32], n: gl.constant) -> None:
        for i in gl.foreach(1):
            Y[i] = n

    Y = np.zeros(1, np.float32)
    for n in range(3):
        fill(Y, n)
    fill(Y, 0)
    with pytest.warns(girih.VariantWarning, match="fill has more than 3 variants"):
        fill(Y, 3)
    constants = [dict(key.specialisation.parameters)["n"] for key in fill.variants]
    assert constants == [ConstantFacts(2), ConstantFacts(0), ConstantFacts(3)], (
        "the one that was used last longest ago is gone"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fill(Y, 4)
    assert Y[0] == 4
    with pytest.raises(ValueError, match="most_variants is 0; it must be 1 or more"):
        girih.kernel(most_variants=0)(fill.function)


def test_results_are_allocated() -> None:
    X = _filled((10,))
    Y = axpby.out(1.0, X, 2.0)
    assert (Y.shape, Y.dtype) == ((10,), np.float32)

    @girih.kernel(out={"Z": lambda X, Y: (X.shape[0], Y.shape[1]), "S": (3,)})
    def product(X: gl.Matrix[E], Y: gl.Matrix[E], Z: gl.Matrix[E], S: gl.Vector[gl.i64]) -> None:
        gl.gemm(1.0, X, Y, 0.0, Z)

    A, B = np.zeros((3, 4)), np.zeros((4, 5))
    Z, S = product.out(A, Y=B)
    assert (Z.shape, Z.dtype, Z.flags.c_contiguous) == ((3, 5), np.float64, True)
    assert (S.shape, S.dtype) == ((3,), np.int64)
    Z, _ = product.out(np.asfortranarray(A), B)
    assert Z.flags.f_contiguous
    with pytest.raises(girih.LaunchError, match=r"there is no argument for Y: gl\.Matrix"):
        product.out(A)
    with pytest.raises(girih.LaunchError, match="the kernel has no parameter 'Z'"):
        product.out(A, B, Z=Z)
    with pytest.raises(TypeError, match="names no results"):
        subtract.out(A, A)


def test_results_have_the_order_of_what_they_are_like() -> None:
    @girih.kernel(out={"Z": lambda x, Y: (x.shape[0], Y.shape[1]), "L": "Y"})
    def outer(x: gl.Vector[gl.f32], X: gl.Matrix[gl.f32], Y: gl.Matrix[gl.f32], Z: gl.Matrix[gl.f32],
              L: gl.Matrix[gl.f32]) -> None:  # fmt: skip
        Z[0, 0] = x[0] * X[0, 0] * Y[0, 0] + L[0, 0]

    x, C = np.zeros(3, np.float32), np.zeros((4, 5), np.float32)
    F = np.asfortranarray(C)
    for X, Y in ((C, F), (F, C)):
        Z, L = outer.out(x, X, Y)
        assert (Z.shape, L.shape) == ((3, 5), (4, 5))
        assert Z.flags.f_contiguous == X.flags.f_contiguous
        assert L.flags.f_contiguous == Y.flags.f_contiguous


def test_definitions_are_defaults_of_constants() -> None:
    @girih.kernel(definitions={"n": 5})
    def fill(Y: gl.Vector[gl.f32], n: gl.constant, m: gl.constant = 1) -> None:
        for i in gl.foreach(1):
            Y[i] = n * m

    Y = np.zeros(1, np.float32)
    for kernel, value in ((fill, 5), (fill.define(m=2), 10), (fill.define(m=2).define(n=7), 14)):
        kernel(Y)
        assert Y[0] == value
    fill(Y, 6)
    assert Y[0] == 6
    with pytest.raises(ValueError, match="fill has no constant 'k'; its constants are n, m"):
        fill.define(k=1)


def test_options_and_bound_launches() -> None:
    X = np.zeros(4, np.float32)

    @girih.kernel(target="interpreter")
    def racing(X: gl.Vector[gl.f32], value: gl.f32) -> None:
        for i in gl.foreach(4):
            X[0] = value + gl.f32(i)

    with pytest.raises(girih.KernelError) as caught:
        racing(X, 1.0)
    (finding,) = caught.value.findings
    assert finding.code == "run.race"
    assert finding.span.source.name == __file__
    assert "X[0] = value + gl.f32(i)" in finding.render()
    racing.options(races=False)(X, 1.0)
    assert 1.0 <= X[0] <= 4.0
    with pytest.raises(TypeError, match="interpreter"):
        racing.options(timeout=1.0)
    Y = np.ones(200, np.float32)
    launch = axpby.bind(2.0, _filled((200,)), 1.0, Y)
    launch.run()
    assert launch.grid == (4, 1, 1)
    assert np.array_equal(Y, 2 * _filled((200,)) + 1)


def test_forms_of_variants() -> None:
    variant = axpby.variant(1.0, _filled((8,)), 1.0, _filled((8,)))
    assert variant.ptx.count(".entry") == 1
    assert ".target sm_90a" in variant.ptx
    assert variant.spirv[:4] == b"\x03\x02\x23\x07"
    assert repr(variant).startswith("<variant @axpby(%a: f32, %X: memref<f32x?>,")
    assert f'"{__file__}"' in variant.ptx or __file__.rpartition("/")[2] in variant.ptx
    cuda = girih.kernel(target="cuda:sm_80")(axpby.function)
    assert ".target sm_80" in cuda.variant(1.0, _filled((8,)), 1.0, _filled((8,))).ptx
    assert isinstance(variant.remarks, tuple)


def test_kernels_say_what_they_are() -> None:
    assert subtract.signature == "subtract(X: gl.Matrix[E], Y: gl.Matrix[E], Z: gl.Matrix[E], times: gl.constant = 1)"
    typed = subtract.define(times=gl.f32)
    assert typed.signature.endswith("times: gl.constant = gl.f32)")
    assert repr(axpby[3]) == f"<girih kernel {axpby.signature} on 3 x 1 x 1 work-groups>"
    assert subtract.name == "subtract"
    assert subtract.__doc__ == "Z = times (X - Y)."
    assert repr(fresh(subtract).variants) == "<variants of subtract: none yet>"


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(axpby)) is axpby
    on_grid = pickle.loads(pickle.dumps(axpby[2]))
    assert on_grid.grid == (2, 1, 1)
    assert on_grid.variants is axpby.variants


def test_a_pickled_kernel_keeps_its_target_and_constants() -> None:
    changed = subtract.on("interpreter").define(times=3)
    again = pickle.loads(pickle.dumps(changed))
    assert again.target == "interpreter"
    X, Z = _filled((3, 4)), np.zeros((3, 4), np.float32)
    again(X, -X, Z)
    assert np.array_equal(Z, 6 * X)
    assert copy.copy(changed) is changed
    assert copy.deepcopy([changed]) == [changed]


def test_a_kernel_inside_a_function_is_not_pickled() -> None:
    @girih.kernel
    def inner(X: gl.Vector[gl.f32]) -> None:
        X[0] = 1.0

    with pytest.raises(pickle.PicklingError, match="inner cannot be pickled: no module has a name for it"):
        pickle.dumps(inner)
    assert copy.deepcopy(inner) is inner


def test_a_kernel_is_not_decorated_again() -> None:
    with pytest.raises(girih.CompileError, match="subtract is a kernel already") as raised:
        girih.kernel(grid=lambda X: 4)(subtract)
    assert "give all options to one @girih.kernel" in str(raised.value)
    girih.kernel(grid=lambda X: 4)(subtract.function)


def test_a_kernel_calls_no_other_one() -> None:
    @girih.kernel
    def twice(X: gl.Matrix[gl.f32], Y: gl.Matrix[gl.f32], Z: gl.Matrix[gl.f32]) -> None:
        subtract(X, Y, Z, 2)

    @girih.kernel
    def on_a_grid(X: gl.Matrix[gl.f32], Y: gl.Matrix[gl.f32], Z: gl.Matrix[gl.f32]) -> None:
        subtract[4](X, Y, Z, 2)

    X = _filled((3, 4))
    for kernel in (twice, on_a_grid):
        with pytest.raises(girih.CompileError, match="`subtract` is a kernel, and a kernel calls no other") as raised:
            kernel(X, -X, X.copy())
        assert raised.value.diagnostics[0].span.text == "subtract"
