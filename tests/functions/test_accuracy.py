"""The errors that docstrings promise, on awkward numbers and layouts, against NumPy in f64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from girih import functions
from tests.functions import references
from tests.functions.references import DTYPES, Array, drawn, wide

EPS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
SHAPES = [(5, 7), (3, 1), (2, 300)]
pytestmark = [
    pytest.mark.filterwarnings("ignore::girih.functions.CopyWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def awkward(type_: str, shape: tuple[int, int]) -> Iterator[tuple[str, Array]]:
    """Numbers of a type by what is awkward about them."""
    base = np.random.default_rng([*shape]).standard_normal(shape)
    info: Any = ml_dtypes.finfo
    limits = info(DTYPES[type_])
    marked = {name: base.copy() for name in ("-inf", "a row of -inf", "inf", "nan")}
    marked["-inf"][0, 0] = marked["a row of -inf"][0] = -np.inf
    marked["inf"][0, -1], marked["nan"][0, shape[1] // 2] = np.inf, np.nan
    largest = float(limits.max) ** 0.5 / 64 / np.abs(base).max()
    for name, numbers in {
        "usual": base, "large": base * 100, "far from 0": base + 1000, "equal": np.full(shape, 3.0),
        "zeros": np.zeros(shape), "squares are large": base * largest, "tiny": base * float(limits.tiny), **marked,
    }.items():  # fmt: skip
        yield name, numbers.astype(DTYPES[type_])


def layouts(x: Array) -> Iterator[Array]:
    yield np.ascontiguousarray(x)
    yield np.asfortranarray(x)
    yield x[::-1, ::-1].copy()[::-1, ::-1]
    apart = np.zeros((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    apart[::2, ::3] = x
    yield apart[::2, ::3]


def sums(type_: str) -> float:
    """The eps of the type of sums."""
    return EPS["f64" if type_ == "f64" else "f32"]


def type_of(x: Array) -> str:
    return next(name for name, dtype in DTYPES.items() if x.dtype == dtype)


def softmax(x: Array) -> tuple[Any, Any]:
    below = wide(x) - wide(x).max(-1, keepdims=True)
    e = np.where(np.all(wide(x) == -np.inf, -1, keepdims=True), 0, np.exp(below))
    total = e.sum(-1, keepdims=True)
    result = np.where(total == 0, 0, e / np.where(total == 0, 1, total))
    error = 16 + np.where(np.isfinite(below), -below, 0) + x.shape[-1] / 2
    # Exponentials of columns side by side are rounded to the type of x in between.
    between = 0.5 * EPS[type_of(x)] / sums(type_of(x)) if x.itemsize == 2 else 0
    return result, result * (error + between)


def layernorm(x: Array) -> tuple[Any, Any]:
    ones, zeros = np.ones(x.shape[-1]), np.zeros(x.shape[-1])
    deviation = np.sqrt(wide(x).var(-1, keepdims=True) + 1e-5)
    error = (16 + x.shape[-1] / 2) * np.maximum(np.abs(wide(x)).max(-1, keepdims=True) / deviation, 1)
    return references.layernorm(x, ones, zeros, -1, 1e-5), np.broadcast_to(error, x.shape)


def rms_norm(x: Array) -> tuple[Any, Any]:
    result = references.rms_norm(x, np.ones(x.shape[-1]), -1, 1e-5)
    return result, (16 + x.shape[-1] / 2) * np.abs(result)


def scan(x: Array) -> tuple[Any, Any]:
    return wide(x).cumsum(-1), np.arange(x.shape[-1]) / 2 * np.abs(wide(x)).cumsum(-1)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], tuple[Any, Any]]]] = {
    "softmax": (functions.softmax, softmax),
    "layernorm": (functions.layernorm, layernorm),
    "rms_norm": (lambda x: functions.rms_norm(x, eps=1e-5), rms_norm),
    "scan": (functions.scan, scan),
    "gelu": (functions.gelu, lambda x: (references.gelu(x, "none"), 2 * np.abs(wide(x)))),
    "gelu by tanh": (
        lambda x: functions.gelu(x, approximate="tanh"),
        lambda x: (references.gelu(x, "tanh"), 2 * np.abs(wide(x))),
    ),
}


def held(found: Any, wanted: Any, error: Any, type_: str, what: str) -> None:
    """A result is the wanted one, up to an error in units of the type of sums, and rounded to its own type.

    Numbers below the normal ones of the type may become 0.
    """
    rounded = wanted.astype(DTYPES[type_]).astype(np.float64)
    assert np.array_equal(np.isnan(wide(found)), np.isnan(rounded)), what
    assert np.array_equal(np.isinf(wide(found)), np.isinf(rounded)), what
    is_number = np.isfinite(rounded)
    info: Any = ml_dtypes.finfo
    most = error * sums(type_) + np.abs(wanted) * EPS[type_] / 2 + float(info(DTYPES[type_]).tiny)
    assert np.all(np.abs(wide(found) - wanted)[is_number] <= most[is_number]), what


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_like_x(name: str, type_: str) -> None:
    function, reference = FUNCTIONS[name]
    for shape in SHAPES:
        for numbers, x in awkward(type_, shape):
            wanted, error = reference(x)
            for number, view in enumerate(layouts(x)):
                held(function(view), wanted, error, type_, f"{shape} {numbers} {number}")


@pytest.mark.parametrize("type_", DTYPES)
def test_cross_entropy(type_: str) -> None:
    for shape in SHAPES:
        targets = np.random.default_rng(0).integers(0, shape[1], shape[0])
        for numbers, x in awkward(type_, shape):
            wanted = references.cross_entropy(x, targets, -100)
            error = (8 + shape[1] / 2) * np.maximum(1, np.abs(wanted))
            for number, view in enumerate(layouts(x)):
                found = functions.cross_entropy(view, targets, reduction="none")
                held(found, wanted, error, "f64" if type_ == "f64" else "f32", f"{shape} {numbers} {number}")


@pytest.mark.parametrize("type_", DTYPES)
def test_topk(type_: str) -> None:
    for shape in SHAPES:
        for numbers, x in awkward(type_, shape):
            for k in {1, min(3, shape[1]), min(shape[1], 64)}:
                keys = np.where(np.isnan(wide(x)), -np.inf, wide(x))
                behind = np.lexsort((np.arange(shape[1]) * np.ones(shape), np.isnan(wide(x)), -keys))[:, :k]
                is_number = ~np.isnan(np.take_along_axis(wide(x), behind, -1))
                for view in layouts(x):
                    values, indices = functions.topk(view, k)
                    assert np.array_equal(wide(values), np.take_along_axis(keys, behind, -1)), numbers
                    assert np.array_equal(indices, np.where(is_number, behind, -1)), numbers


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool, type_: str) -> None:
    for queries, keys, factor in [(1, 1, 1), (5, 9, 1), (40, 50, 20), (200, 130, 3)]:
        q, k, v = drawn(type_, 2, queries, 16), drawn(type_, 2, keys, 16, seed=1), drawn(type_, 2, keys, 16, seed=2)
        q = (q * factor).astype(q.dtype)
        wanted = references.attention(q, k, v, causal=causal, scale=0.25)
        largest = 0.25 * (np.abs(wide(q)) @ np.abs(wide(k)).swapaxes(-1, -2)).max()
        error = (16 + 16 * largest + keys / 2) * sums(type_) + 2 * (EPS[type_] if type_ != "f32" else 0)
        for turn in (np.ascontiguousarray, np.asfortranarray, lambda a: a[:, ::-1].copy()[:, ::-1]):
            found = functions.attention(turn(q), turn(k), turn(v), causal=causal, scale=0.25)
            assert np.abs(wide(found) - wanted).max() <= error * np.abs(wide(v)).max()


def test_attention_to_keys_of_minus_inf() -> None:
    q, k, v = np.ones((1, 3, 4), np.float32), np.zeros((1, 5, 4), np.float32), drawn("f32", 1, 5, 4)
    k[0, 2] = -np.inf
    for causal in (False, True):
        wanted = references.attention(q, k, v, causal=causal, scale=1.0)
        np.testing.assert_allclose(functions.attention(q, k, v, causal=causal, scale=1.0), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("type_", DTYPES)
def test_matmul(type_: str) -> None:
    for rows, depth, columns in [(5, 7, 3), (1, 300, 1), (20, 90, 40)]:
        for numbers, a in awkward(type_, (rows, depth)):
            if numbers == "tiny" and type_ == "bf16":
                continue  # Instructions for bf16 take numbers below the normal ones for 0.
            b = drawn(type_, depth, columns)
            with np.errstate(all="ignore"):
                wanted = wide(a) @ wide(b)
                error = (1 + depth / 2) * (np.abs(wide(a)) @ np.abs(wide(b)))
            for left, right in zip(layouts(a), layouts(b), strict=True):
                held(functions.matmul(left, right), wanted, error, type_, f"{(rows, depth, columns)} {numbers}")


def test_nothing_is_warned_about_by_numpy() -> None:
    x = np.full((3, 4), np.nan, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function, _ in FUNCTIONS.values():
            function(x)
        functions.cross_entropy(x, np.full(3, -100))
