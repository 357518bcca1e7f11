"""What functions of arrays refuse: a diagnostic with the function, the argument, what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih import functions as typed
from girih.arguments.arrays import BIND_CODES

functions: Any = typed
"""The functions without their types: wrong arguments are what is tested."""

X = np.ones((4, 6), np.float32)
WIDE = X.astype(np.float64)
READ_ONLY = np.ones((4, 6), np.float32)
READ_ONLY.flags.writeable = False
T = np.zeros(4, np.int64)
Q = np.ones((2, 8, 16), np.float32)
IMAGE, TAPS = np.ones((1, 3, 8, 8), np.float32), np.ones((2, 3, 3, 3), np.float32)


class Unusual:
    """An object that can be neither compared, hashed nor shown."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __repr__(self) -> str:
        raise RuntimeError("shown")


REFUSED: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: functions.matmul(X, X), "bind.shape", r"a has shape \(4, 6\) and b has shape \(4, 6\): axis 1 of a, 6, "),
    (lambda: functions.matmul(X, X), "bind.shape", r"hint: pass the transpose of b, b.T"),
    (lambda: functions.matmul(X, X[:, 0]), "bind.shape", r"hint: pass the transpose of a|axis 1 of a, 6, and axis 0"),
    (lambda: functions.matmul(X, WIDE.T), "bind.dtype", r"a has elements of float32, b of float64"),
    (lambda: functions.matmul(X, np.float32(3) * np.ones((), np.float32)), "bind.shape|bind.type", "b"),
    (lambda: functions.matmul(np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32)), "bind.shape",
     r"the sizes in front of the matrices, \(2,\) and \(3,\)"),
    (lambda: functions.matmul(X.astype(np.uint8), X.T), "bind.dtype", "a has elements of uint8"),
    (lambda: functions.matmul(X.astype(">f4"), X.T), "bind.dtype", "a has elements of >f4"),
    (lambda: functions.matmul(X, None), "bind.null", "b is None"),
    (lambda: functions.matmul([[1.0]], X), "bind.type", "a must be an array; got list"),
    (lambda: functions.matmul(X, 3.0), "bind.type", "b must be an array; got float"),
    (lambda: functions.matmul(X, X.T, out=np.zeros((4, 5), np.float32)), "bind.shape", r"the result has \(4, 4\)"),
    (lambda: functions.matmul(X, X.T, out=np.zeros((4, 4))), "bind.dtype", "out has elements of float64"),
    (lambda: functions.softmax(X, out=READ_ONLY), "bind.read_only", "out must be writeable"),
    (lambda: functions.softmax(np.ma.masked_less(X, 2)), "bind.type", r"x is a masked array.*\n.*x\.data"),
    (lambda: functions.softmax(X, out=np.ma.masked_less(X, 2)), "bind.type", "out is a masked array"),
    (lambda: functions.softmax(X, 2), "bind.range", "axis is 2; x has 2 axes: it must be from -2 to 1"),
    (lambda: functions.softmax(X, -3), "bind.range", "axis is -3"),
    (lambda: functions.softmax(X, 1.5), "bind.type", "axis must be an integer; got 1.5"),
    (lambda: functions.softmax(X, [1]), "bind.type", r"axis must be an integer; got \[1\]"),
    (lambda: functions.softmax(np.float32(1) * np.ones(()), 0), "bind.range|bind.type", "axis|x must be"),
    (lambda: functions.softmax(T), "bind.dtype", "float16, bfloat16, float32 or float64"),
    (lambda: functions.softmax(X, out=X[0]), "bind.shape", r"out has shape \(6,\)"),
    (lambda: functions.matmul(X[0], X[0], out=np.float32(0)), "bind.type", "out must be an array; got float32"),
    (lambda: functions.softmax(X, out=[X]), "bind.type", "out must be an array; got list"),
    (lambda: functions.layernorm(X, X[0, :5]), "bind.shape", r"weight has shape \(5,\); the axis of x has 6"),
    (lambda: functions.layernorm(X, X[0], WIDE[0]), "bind.dtype", "bias has elements of float64, x of float32"),
    (lambda: functions.layernorm(X, eps=-1.0), "bind.range", "eps is -1.0"),
    (lambda: functions.layernorm(X, eps=float("nan")), "bind.range", "eps is nan"),
    (lambda: functions.rms_norm(X, eps="1"), "bind.type", "eps must be a number or None; got '1'"),
    (lambda: functions.gelu(X, approximate="fast"), "bind.range", "it must be 'none' or 'tanh'"),
    (lambda: functions.topk(X, 7), "bind.range", "k is 7; axis 1 of x has 6 elements: it must be from 1 to 6"),
    (lambda: functions.topk(X, 0), "bind.range", "k is 0"),
    (lambda: functions.topk(X, 2.0), "bind.type", "k must be an integer"),
    (lambda: functions.topk(X, 2, out=X), "bind.type", r"out must be 2 arrays: \(values, indices\)"),
    (lambda: functions.topk(X, 2, out=(X[:, :2], X[:, :2])), "bind.dtype", "indices has elements of float32"),
    (lambda: functions.scan(X.astype(np.complex64)), "bind.dtype", "complex64"),
    (lambda: functions.cross_entropy(X, T[:3]), "bind.shape", r"targets has shape \(3,\); logits has \(4, 6\)"),
    (lambda: functions.cross_entropy(X, X[:, 0]), "bind.dtype", "targets has elements of float32"),
    (lambda: functions.cross_entropy(X, T + 6), "bind.range", r"targets\[0\] is 6; there are 6 classes"),
    (lambda: functions.cross_entropy(X, T - 1), "bind.range", r"targets\[0\] is -1"),
    (lambda: functions.cross_entropy(X[:, :0], T), "bind.shape", "there is no class"),
    (lambda: functions.cross_entropy(X, T, reduction="max"), "bind.range", "reduction is 'max'"),
    (lambda: functions.cross_entropy(X, T, out=X[:, 0]), "bind.arguments", "reduction is 'mean'"),
    (lambda: functions.cross_entropy(X, T, ignore_index=2**40), "bind.range", "ignore_index"),
    (lambda: functions.attention(Q, Q, Q[:, :3]), "bind.shape",
     r"k has shape \(2, 8, 16\) and v has shape \(2, 3, 16\)"),
    (lambda: functions.attention(Q, Q[..., :8], Q[..., :8]), "bind.shape", "headdim"),
    (lambda: functions.attention(Q, Q[0], Q[0]), "bind.shape", "as many axes"),
    (lambda: functions.attention(np.ones((3, 8, 16), np.float32), Q, Q), "bind.shape", "q has 3 heads and k has 2"),
    (lambda: functions.attention(Q[0, 0], Q, Q), "bind.shape", "at least two axes"),
    (lambda: functions.attention(*[Q.astype(np.float64)] * 3), "bind.dtype", "float16, bfloat16 or float32"),
    (lambda: functions.attention(Q, Q, Q, scale=float("inf")), "bind.range", "scale is inf"),
    (lambda: functions.attention(Q, Q, Q, scale="x"), "bind.type", "scale must be a number"),
    (lambda: functions.attention(Q, Q, Q, causal=2), "bind.type", "causal must be True or False"),
    (lambda: functions.conv2d(IMAGE[0], TAPS), "bind.shape", "x has shape .* four axes"),
    (lambda: functions.conv2d(IMAGE, TAPS[:, :2]), "bind.shape", "axis 1, the channels"),
    (lambda: functions.conv2d(IMAGE, TAPS, dilation=4), "bind.shape", "no filter fits into the image"),
    (lambda: functions.conv2d(IMAGE, TAPS, X[0]), "bind.shape", r"bias has shape \(6,\); there are 2 filters"),
    (lambda: functions.conv2d(IMAGE, TAPS, stride=0), "bind.range", "stride is 0"),
    (lambda: functions.conv2d(IMAGE, TAPS, stride=(1, 1)), "bind.type", "stride must be an integer"),
    (lambda: functions.conv2d(IMAGE, TAPS, padding=-1), "bind.range", "padding is -1"),
    (lambda: functions.conv2d(IMAGE, TAPS, padding="full"), "bind.range", "padding is 'full'"),
    (lambda: functions.conv2d(IMAGE, TAPS, padding="same", stride=2), "bind.range", "it needs stride 1"),
    (lambda: functions.topk(X, 2, out=(READ_ONLY[:, :2], np.zeros((4, 2), np.int64))), "bind.read_only", "values must"),
    (lambda: functions.layernorm(X, eps=10**400), "bind.range", "eps is 1000.*; it must be finite"),
    (lambda: functions.gelu(X, approximate=np.array(["none", "tanh"])), "bind.type", "'none' or 'tanh'; got array"),
    (lambda: functions.cross_entropy(X, T, reduction=["mean"]), "bind.type", "reduction must be 'none', 'mean' or"),
    (lambda: functions.softmax(X, target=[]), "bind.type", r"target must be the name of a target, or None; got \[\]"),
    (lambda: functions.matmul(X, X.T, target=7), "bind.type", "target must be the name of a target"),
    (lambda: functions.scan(X, Unusual()), "bind.type", "axis must be an integer; got <Unusual instance"),
    (lambda: functions.conv2d(IMAGE[:, :0], TAPS[:, :0]), "bind.shape", "nothing to sum up"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refusals(place: int) -> None:
    call, code, words = REFUSED[place]
    for _ in range(2):  # Nothing that was refused is taken the second time.
        with pytest.raises(girih.LaunchError, match=words) as caught:
            call()
        (found,) = caught.value.diagnostics
        assert found.code in code.split("|")
        assert found.code in BIND_CODES


EQUAL_OPTIONS: list[tuple[Callable[[Any], Any], str, Any, list[Any]]] = [
    (lambda value: functions.softmax(X, axis=value), "axis", 1, [True, 1.0, np.float64(1), np.True_]),
    (lambda value: functions.scan(X, axis=value), "axis", 0, [False, 0.0, -0.0]),
    (lambda value: functions.layernorm(X, eps=value), "eps", 1.0, [True, 1 + 0j]),
    (lambda value: functions.rms_norm(X, eps=value), "eps", 1.0, [True]),
    (lambda value: functions.topk(X, k=value), "k", 2, [2.0, np.float32(2)]),
    (lambda value: functions.topk(X, k=value), "k", 1, [True]),
    (lambda value: functions.cross_entropy(X, T, ignore_index=value), "ignore_index", 1, [True, 1.0]),
    (lambda value: functions.attention(Q, Q, Q, causal=value), "causal", True, [1, 1.0]),
    (lambda value: functions.attention(Q, Q, Q, fast=value), "fast", False, [0, 0.0]),
    (lambda value: functions.attention(Q, Q, Q, scale=value), "scale", 1.0, [True]),
    (lambda value: functions.conv2d(IMAGE, TAPS, stride=value), "stride", 1, [True, 1.0]),
    (lambda value: functions.conv2d(IMAGE, TAPS, padding=value), "padding", 0, [False, 0.0]),
    (lambda value: functions.conv2d(IMAGE, TAPS, dilation=value), "dilation", 1, [True, 1.0]),
]


@pytest.mark.parametrize("place", range(len(EQUAL_OPTIONS)))
def test_what_equals_an_option_that_was_taken(place: int) -> None:
    call, name, good, others = EQUAL_OPTIONS[place]
    for _ in range(2):
        call(good)
    for other in others:
        with pytest.raises(girih.LaunchError, match=f"{name} must be .*; got ") as caught:
            call(other)
        assert [found.code for found in caught.value.diagnostics] == ["bind.type"]


def test_numbers_of_numpy_are_options() -> None:
    for _ in range(2):
        assert np.array_equal(functions.softmax(X, np.int8(0)), functions.softmax(X, 0))
        assert np.array_equal(functions.topk(X, np.uint16(3))[1], functions.topk(X, 3)[1])
        assert np.array_equal(functions.layernorm(X, eps=np.float32(0.5)), functions.layernorm(X, eps=0.5))
        assert np.array_equal(functions.attention(Q, Q, Q, causal=np.True_), functions.attention(Q, Q, Q, causal=True))


def test_an_unknown_target() -> None:
    with pytest.raises(ValueError, match="gpu"):
        functions.softmax(X, target="gpu")
