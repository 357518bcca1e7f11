"""Functions on arrays of drawn shapes and strides: results are right, and no element outside of them is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from girih import functions
from tests.functions import references
from tests.functions.references import wide

ROUNDS = 25
Generator = np.random.Generator


def laid(random: Generator, shape: Sequence[int], *, filled: bool) -> tuple[Any, Any]:
    """An array with its axes in any order, with steps, gaps and turned axes; and the memory that it lies in."""
    order = random.permutation(len(shape))
    steps = [int(random.choice([1, 1, 1, 2])) for _ in shape]
    memory = np.full([shape[a] * steps[a] + int(random.choice([0, 0, 2])) for a in order], np.nan, np.float32)
    if not shape:
        return memory, memory
    array = memory[tuple(slice(0, shape[a] * steps[a], steps[a]) for a in order)].transpose(np.argsort(order))
    for axis in range(len(shape)):
        array = np.flip(array, axis) if random.random() < 0.08 else array
    if filled:
        array[...] = random.standard_normal(shape)
    return array, memory


def held(random: Generator, call: Callable[..., Any], wanted: Any) -> None:
    """A result that is new, and one that is given, which is written twice."""
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(wide(call(out=None)), wanted, rtol=2e-4, atol=2e-4)
    out, memory = laid(random, wanted.shape, filled=False)
    for _ in range(2):
        assert call(out=out) is out
        np.testing.assert_allclose(wide(out), wanted, rtol=2e-4, atol=2e-4)
        out[...] = np.nan
        assert np.all(np.isnan(memory))


def product(random: Generator) -> None:
    batch = [int(size) for size in random.integers(1, 4, random.integers(0, 4))]
    m, k, n = (int(size) for size in random.integers(1, 9, 3))
    shapes = []
    for matrix in ([m, k], [k, n]):
        sizes = [size if random.random() < 0.7 else 1 for size in batch][int(random.integers(0, len(batch) + 1)) :]
        shapes.append([k] if random.random() < 0.1 else [*sizes, *matrix])
    (a, _), (b, _) = (laid(random, shape, filled=True) for shape in shapes)
    held(random, lambda out: functions.matmul(a, b, out=out), wide(a) @ wide(b))


def along_an_axis(random: Generator) -> None:
    shape = [int(size) for size in random.integers(1, 7, random.integers(1, 5))]
    x, _ = laid(random, shape, filled=True)
    axis = int(random.integers(-len(shape), len(shape)))
    ones = np.ones(x.shape[axis])
    held(random, lambda out: functions.softmax(x, axis, out=out), references.softmax(x, axis))
    held(random, lambda out: functions.layernorm(x, axis=axis, eps=0.1, out=out),
         references.layernorm(x, ones, 0 * ones, axis, 0.1))  # fmt: skip
    held(random, lambda out: functions.rms_norm(x, axis=axis, eps=0.1, out=out),
         references.rms_norm(x, ones, axis, 0.1))  # fmt: skip
    held(random, lambda out: functions.scan(x, axis, out=out), np.cumsum(wide(x), axis))
    held(random, lambda out: functions.gelu(x, out=out), references.gelu(x, "none"))
    targets = random.integers(0, x.shape[axis], np.delete(shape, axis)).astype(np.int64)
    held(random, lambda out: functions.cross_entropy(x, targets, axis, reduction="none", out=out),
         references.cross_entropy(np.moveaxis(x, axis, -1), targets, -100))  # fmt: skip
    k = int(random.integers(1, x.shape[axis] + 1))
    places = np.take(np.argsort(-x, axis, kind="stable"), range(k), axis)
    values, _ = laid(random, places.shape, filled=False)
    indices = np.zeros(places.shape[::-1], np.int64).T
    functions.topk(x, k, axis, out=(values, indices))
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis))


def tensors(random: Generator) -> None:
    batch = [int(size) for size in random.integers(1, 3, random.integers(0, 2))]
    q, _ = laid(random, [*batch, 2 * int(random.integers(1, 3)), int(random.integers(1, 6)), 8], filled=True)
    (k, _), (v, _) = (laid(random, [*batch, 2, 5, 8], filled=True) for _ in range(2))
    wanted = references.attention(q, k, v, causal=False, scale=8**-0.5)
    held(random, lambda out: functions.attention(q, k, v, out=out), wanted)
    x, _ = laid(random, [int(random.integers(1, 3)), int(random.integers(1, 4)), 5, 6], filled=True)
    weight, _ = laid(random, [3, x.shape[1], 2, 3], filled=True)
    wanted = references.conv2d(x, weight, None, 1, 1, 1)
    held(random, lambda out: functions.conv2d(x, weight, padding=1, out=out), wanted)


@pytest.mark.filterwarnings("ignore::girih.functions.CopyWarning")
@pytest.mark.parametrize("case", [product, along_an_axis, tensors])
def test_drawn_layouts(case: Callable[[Generator], None]) -> None:
    for seed in range(ROUNDS):
        case(np.random.default_rng(seed))
