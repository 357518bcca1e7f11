"""Functions along an axis against NumPy: softmax, layernorm, rms_norm, scan, topk, cross_entropy; and gelu."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih import functions
from tests.functions import references
from tests.functions.references import DTYPES, TARGETS, drawn, laid_out, near, wide

SHAPES = [(1,), (5,), (3, 70), (70, 3), (33, 40), (4, 5, 6), (2, 65, 3), (1, 1, 9), (3, 1, 4), (2, 3, 4, 5)]
COPIES = pytest.mark.filterwarnings("ignore::girih.functions.CopyWarning")
Along = Callable[..., Any]
LIKE: dict[str, tuple[Along, Along]] = {
    "softmax": (functions.softmax, lambda x, axis: references.softmax(x, axis)),
    "scan": (functions.scan, lambda x, axis: wide(x).cumsum(axis)),
    "rms_norm": (
        lambda x, axis, **more: functions.rms_norm(x, None, axis, eps=1e-3, **more),
        lambda x, axis: references.rms_norm(x, np.ones(x.shape[axis]), axis, 1e-3),
    ),
    "layernorm": (
        lambda x, axis, **more: functions.layernorm(x, axis=axis, eps=1e-3, **more),
        lambda x, axis: references.layernorm(x, np.ones(x.shape[axis]), np.zeros(x.shape[axis]), axis, 1e-3),
    ),
    "gelu": (lambda x, axis, **more: functions.gelu(x, **more), lambda x, axis: references.gelu(x, "none")),
}


@COPIES
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", LIKE)
def test_every_axis_and_order(name: str, shape: tuple[int, ...]) -> None:
    function, reference = LIKE[name]
    x, target = drawn("f32", *shape), TARGETS[(SHAPES.index(shape) + len(name)) % 2]
    for _, one in laid_out(x):
        for axis in (*range(x.ndim), -1):
            y = function(one, axis=axis, target=target)
            near(y, reference(x, axis), "f32" if name != "layernorm" else "f16")


@pytest.mark.parametrize("name", LIKE)
def test_the_result_has_the_order_of_x(name: str) -> None:
    function, _ = LIKE[name]
    x = drawn("f32", 4, 5, 6)
    assert function(x, axis=1).flags.c_contiguous
    assert function(np.asfortranarray(x), axis=1).flags.f_contiguous
    turned = function(x.transpose(1, 0, 2), axis=-1)
    assert turned.transpose(1, 0, 2).flags.c_contiguous


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("name", LIKE)
def test_types(name: str, type_: str, target: str) -> None:
    function, reference = LIKE[name]
    x = drawn(type_, 20, 33)
    for one in (x, np.asfortranarray(x)):
        y = function(one, axis=1, target=target)
        assert y.dtype == x.dtype
        np.testing.assert_allclose(wide(y), reference(x, 1), rtol=references.TOLERANCE[type_] * 4,
                                   atol=references.TOLERANCE[type_] * 4)  # fmt: skip


@COPIES
@pytest.mark.parametrize("name", LIKE)
def test_results_that_are_given(name: str) -> None:
    function, reference = LIKE[name]
    x = drawn("f32", 6, 7, 8)
    for axis in range(3):
        wanted = reference(x, axis)
        for _, one in laid_out(np.zeros_like(x)):
            assert function(x, axis=axis, out=one) is one
            near(one, wanted, "f16")
            assert function(x, axis=axis, out=one) is one
            near(one, wanted, "f16")
        for _, one in laid_out(x):
            same = one.copy(order="K")
            assert function(same, axis=axis, out=same) is same
            near(same, wanted, "f16")
        memory = np.zeros((7, 7, 8), np.float32)
        memory[1:] = x
        near(function(memory[1:], axis=axis, out=memory[:-1]), wanted, "f16")
        near(function(x, axis=axis, out=np.zeros((12, 14, 16), np.float32)[::2, ::2, ::2]), wanted, "f16")


@pytest.mark.parametrize("name", LIKE)
def test_nothing(name: str) -> None:
    function, _ = LIKE[name]
    for shape in ((0,), (3, 0), (0, 3), (2, 0, 4)):
        x = np.zeros(shape, np.float32)
        for axis in range(x.ndim):
            assert function(x, axis=axis).shape == shape
            assert function(x, axis=axis, out=x) is x


@pytest.mark.parametrize("name", LIKE)
def test_other_strides_are_copied_and_that_is_told(name: str) -> None:
    function, reference = LIKE[name]
    spread = np.zeros((8, 10, 12), np.float32)
    x = spread[::2, ::2, ::2]
    x[...] = drawn("f32", 4, 5, 6)
    with pytest.warns(functions.CopyWarning, match=rf"{name}: x is copied"):
        near(function(x, axis=1), reference(x, 1), "f16")
    near(function(x, axis=1), reference(x, 1), "f16")  # It is told once.
    back = drawn("f32", 4, 6)[:, ::-1]
    with pytest.warns(functions.CopyWarning):
        near(function(back, axis=1), reference(back, 1), "f16")


@pytest.mark.parametrize("axis", [0, 1])
def test_weight_and_bias(axis: int) -> None:
    x = drawn("f32", 9, 9)
    weight, bias = drawn("f32", 9, seed=1), drawn("f32", 9, seed=2)
    for one in (x, np.asfortranarray(x)):
        near(functions.layernorm(one, weight, bias, axis), references.layernorm(x, weight, bias, axis, 1e-5), "f16")
        near(functions.layernorm(one, weight, axis=axis), references.layernorm(x, weight, bias * 0, axis, 1e-5), "f16")
        near(functions.rms_norm(one, weight, axis), references.rms_norm(x, weight, axis, 2.0**-23))
    with pytest.warns(functions.CopyWarning, match="rms_norm: weight is copied: its elements lie apart"):
        near(functions.rms_norm(x, np.repeat(weight, 2)[::2], axis), references.rms_norm(x, weight, axis, 2.0**-23))


def test_masks() -> None:
    x = drawn("f32", 4, 40)
    x[1] = -np.inf
    x[2, 3] = -np.inf
    for one in (x, np.asfortranarray(x)):
        y = functions.softmax(one)
        assert np.all(y[1] == 0)
        assert y[2, 3] == 0
        np.testing.assert_allclose(y[[0, 2, 3]].sum(-1), 1, rtol=1e-5)


def test_gelu_by_tanh() -> None:
    x = drawn("f64", 3, 50) * 3
    near(functions.gelu(x, approximate="tanh"), references.gelu(x, "tanh"), "f64")


def test_gelu_of_lines_with_gaps_of_their_own() -> None:
    x, memory = drawn("f32", 2, 3, 8), np.zeros((2, 3, 10), np.float32)
    out = memory[:, :, :8]
    near(functions.gelu(x, out=out), references.gelu(x, "none"))
    near(functions.gelu(out, out=x), references.gelu(references.gelu(drawn("f32", 2, 3, 8), "none"), "none"))
    halves = np.zeros((2, 5, 8), np.float32)[:, :3]
    near(functions.gelu(x, out=halves), references.gelu(x, "none"))
    near(functions.gelu(halves, out=out), references.gelu(references.gelu(x, "none"), "none"))
    assert np.all(memory[:, :, 8:] == 0)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_scans_of_integers_wrap_around(dtype: type[np.signedinteger]) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (5, 300)).astype(dtype)
    for one in (x, np.asfortranarray(x)):
        y = functions.scan(one, 1)
        np.testing.assert_array_equal(y, np.cumsum(x, 1, dtype=dtype))
        assert y.dtype == dtype


@COPIES
@pytest.mark.parametrize("target", TARGETS)
def test_topk(target: str) -> None:
    x = drawn("f32", 6, 50)
    for _, one in laid_out(x):
        values, places = functions.topk(one, 7, target=target)
        order = np.argsort(-x, axis=1, kind="stable")[:, :7]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
        if one.strides[-1] != one.itemsize:
            continue
        given = np.zeros((6, 7), np.float32), np.zeros((6, 7), np.int64)
        made = functions.topk(one, 7, out=given, target=target)
        assert made[0] is given[0] and made[1] is given[1]
        np.testing.assert_array_equal(given[1], order)


def test_topk_along_another_axis() -> None:
    x = drawn("f64", 4, 20, 3)
    with pytest.warns(functions.CopyWarning, match="topk: x is copied: axis 1 is not contiguous"):
        values, places = functions.topk(x, 3, 1)
    np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :3])
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)
    assert functions.topk(np.zeros((0, 5), np.float32), 2)[0].shape == (0, 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("type_", DTYPES)
def test_cross_entropy(type_: str, index: type[np.signedinteger], target: str) -> None:
    logits = drawn(type_, 4, 5, 33)
    targets = np.random.default_rng(1).integers(0, 33, (4, 5)).astype(index)
    targets[2, 1] = -100
    losses = references.cross_entropy(logits, targets, -100)
    found = functions.cross_entropy(logits, targets, reduction="none", target=target)
    assert found.dtype == (np.float64 if type_ == "f64" else np.float32)
    near(found, losses)
    near(functions.cross_entropy(logits, targets, reduction="sum", target=target), np.asarray(losses.sum()))
    near(functions.cross_entropy(logits, targets, target=target), np.asarray(losses.sum() / 19))
    targets[2, 1] = 7
    targets[targets == 3] = 4
    losses = references.cross_entropy(logits, targets, 4)
    out = np.zeros((5, 4), found.dtype).T
    assert functions.cross_entropy(logits, targets, ignore_index=4, reduction="none", out=out, target=target) is out
    near(out, losses)


@pytest.mark.parametrize("classes", [1, 6, 40])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cross_entropy_along_each_axis(axis: int, classes: int) -> None:
    sizes = [4, 35, 3]
    sizes[axis] = classes
    logits = drawn("f32", *sizes)
    targets = np.random.default_rng(1).integers(0, classes, [*sizes[:axis], *sizes[axis + 1 :]])
    targets[1, 1] = -100
    turned = np.moveaxis(logits, axis, -1)
    turned[0, 0, 0] = -np.inf if classes > 1 else 1.0
    wanted = references.cross_entropy(turned, np.where(targets == 0, classes - 1, targets), -100)
    for _, x in laid_out(logits):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = functions.cross_entropy(x, np.where(targets == 0, classes - 1, targets), axis, reduction="none")
        near(found, wanted)
        wrong = targets.copy()
        wrong[2, 2] = classes
        words = rf"targets\[2, 2\] is {classes}; there are {classes} classes"
        with pytest.raises(girih.LaunchError, match=words), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            functions.cross_entropy(x, wrong, axis)


def test_cross_entropy_without_a_number() -> None:
    for classes in (3, 40):
        logits = np.zeros((4, classes), np.float32)
        logits[0], logits[1, 2], logits[2, 1] = -np.inf, np.nan, np.inf
        for x in (logits, np.asfortranarray(logits)):
            losses = functions.cross_entropy(x, np.zeros(4, np.int64), reduction="none")
            assert np.isnan(losses[:3]).all()
            near(losses[3:], np.log([float(classes)]))


def test_cross_entropy_of_what_is_copied() -> None:
    logits, targets = drawn("f32", 4, 33, 5), np.random.default_rng(1).integers(0, 33, (4, 5))
    wanted = references.cross_entropy(logits.swapaxes(1, 2), targets, -100)
    with pytest.warns(functions.CopyWarning, match="cross_entropy: logits is copied"):
        near(functions.cross_entropy(logits[:, ::-1], 32 - targets, 1, reduction="none"), wanted)
    with pytest.warns(functions.CopyWarning, match="cross_entropy: targets is copied"):
        near(
            functions.cross_entropy(logits.swapaxes(1, 2).copy(), np.asfortranarray(targets), reduction="none"), wanted
        )
    assert functions.cross_entropy(np.zeros((0, 3), np.float32), np.zeros(0, int), reduction="none").shape == (0,)


@pytest.mark.parametrize("type_", DTYPES)
def test_the_mean_of_cross_entropy_is_of_the_type_of_losses(type_: str) -> None:
    logits, targets = drawn(type_, 4, 33), np.array([3, -100, 7, 32])
    wanted = np.float64 if type_ == "f64" else np.float32
    mean = functions.cross_entropy(logits, targets)
    assert mean.dtype == wanted
    assert functions.cross_entropy(logits, memoryview(targets)) == mean  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        none = functions.cross_entropy(logits, np.full(4, -100))
    assert np.isnan(none)
    assert none.dtype == wanted
