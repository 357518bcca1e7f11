"""What is chosen from columns: the largest elements, and the cross entropy of a class."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.table import FLOATING, INTEGER
from tests.cases import crossed, every_case, long
from tests.kernels.arrays import DTYPES, EPSILON, Array, random, wide, zeros

SHAPES = [(1, 1), (7, 3), (31, 1), (33, 2), (200, 2), (1025, 2)]
COUNTS = [1, 5, 32, 33, 70]
SUMMED = {"f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64"}


def top_k(a: Array, type_: str, k: int, choices: girih.Choices | None = None) -> tuple[Array, Array]:
    """What the kernel finds, where nothing stood before."""
    columns = a.shape[1]
    v, i = np.full((k, columns), 3, a.dtype, order="F"), np.full((k, columns), 7, np.int64, order="F")
    kernel = kernels.top_k(type=type_, k=k).options(choices=choices)
    fresh = (lambda array: array) if choices is None else girih.uninitialized
    kernel(a, fresh(v), fresh(i))
    return v, i


def largest(a: Array, type_: str, k: int) -> tuple[Array, Array]:
    """The same by a stable sort of each column without what is no number."""
    lowest = np.iinfo(a.dtype).min if type_ in INTEGER else -np.inf
    v, i = np.full((k, a.shape[1]), lowest, a.dtype), np.full((k, a.shape[1]), -1, np.int64)
    for j, column in enumerate(wide(a).T):
        order = [p for p in np.argsort(-column, kind="stable") if column[p] == column[p]][:k]
        v[: len(order), j], i[: len(order), j] = a[order, j], order
    return v, i


@pytest.mark.parametrize(("shape", "k", "type_"), [
    *(pytest.param((33, 2), 5, type_) for type_ in ("i8", "bf16", "f64")),
    *(pytest.param((200, 2), k, "f32") for k in (1, 33)),
    pytest.param((1025, 2), 32, "i32"),
    pytest.param((7, 3), 32, "f16"),
    *long((shape, k, type_) for shape in SHAPES for k in COUNTS for type_ in (*INTEGER, *FLOATING)),
])  # fmt: skip
def test_top_k(shape: tuple[int, int], k: int, type_: str) -> None:
    a = random(type_, *shape)
    for found, expected in zip(top_k(a, type_, k), largest(a, type_, k), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_top_k_of_awkward_columns() -> None:
    """Sorted ones, equal ones, infinities, and what is no number; a column without elements."""
    n = 300
    columns = {
        "rising": np.arange(n),
        "falling": -np.arange(n),
        "equal": np.zeros(n),
        "few values": np.arange(n) % 3,
        "-inf": np.full(n, -np.inf),
        "inf": np.where(np.arange(n) % 7, np.inf, 1.0),
        "nan": np.full(n, np.nan),
        "nan but three": np.where(np.arange(n) % 100 == 50, np.arange(n), np.nan),
        "nan here and there": np.where(np.arange(n) % 2, np.nan, np.arange(n)),
        "zeros of both signs": np.where(np.arange(n) % 2, 0.0, -0.0),
    }
    a = np.asfortranarray(np.stack(list(columns.values()), axis=1).astype(np.float32))
    (v, i), (wanted_v, wanted_i) = top_k(a, "f32", 40), largest(a, "f32", 40)
    with every_case() as case:
        for j, name in enumerate(columns):
            with case(name):
                np.testing.assert_array_equal(i[:, j], wanted_i[:, j])
                np.testing.assert_array_equal(v[:, j], wanted_v[:, j])
    v, i = top_k(zeros("f32", 0, 2), "f32", 3)
    assert (v == -np.inf).all()
    assert (i == -1).all()


def test_top_k_of_the_smallest_integers() -> None:
    a = np.full((70, 1), -128, np.int8, order="F")
    v, i = top_k(a, "i8", 72)
    assert i[:, 0].tolist() == [*range(70), -1, -1]
    assert (v == -128).all()


@pytest.mark.parametrize("k", [0, 1025, True])
def test_counts_that_are_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"top_k: k is {k}; it must be a whole number from 1 to 1024"):
        kernels.top_k(k=k)


def test_many_are_looked_for(target: str) -> None:
    k = 1024 if target == "cpu" else 150
    a = random("f64", k + 76, 1)
    v, _ = top_k(a, "f64", k)
    np.testing.assert_array_equal(v[:, 0], np.sort(a[:, 0])[::-1][:k])


def classes(shape: tuple[int, int], index: str) -> Array:
    return np.random.default_rng(shape).integers(0, shape[0], shape[1]).astype(DTYPES[index])


def entropy(a: Array, classes: Array) -> Array:
    """The cross entropy of each column in double precision."""
    x = wide(a) - wide(a).max(axis=0)
    return np.asarray(np.log(np.exp(x).sum(axis=0)) - x[classes, np.arange(len(classes))])


@pytest.mark.parametrize(("shape", "type_"), crossed(SHAPES, FLOATING))
def test_cross_entropy(shape: tuple[int, int], type_: str) -> None:
    a, index = random(type_, *shape), "i32" if type_ in ("f16", "f64") else "i64"
    a[:] *= np.asarray(4, a.dtype)
    chosen, summed = classes(shape, index), SUMMED[type_]
    loss, scale, g = zeros(summed, shape[1]) + 7, random(summed, shape[1]), random(type_, *shape)
    entropies, gradient = kernels.cross_entropy(type=type_, index=index)
    grid = kernels.grid_for("cross_entropy", shape[1])
    entropies[grid](a, chosen, loss)
    expected = entropy(a, chosen)
    # The distances to the maximum are below forty, and their exponentials as far off as the distances were rounded.
    bound = (shape[0] + 80) * EPSILON[summed]
    np.testing.assert_allclose(loss, expected, rtol=bound, atol=bound)
    gradient[grid](a, chosen, scale, g)
    weights = np.exp(wide(a) - wide(a).max(axis=0))
    weights /= weights.sum(axis=0)
    weights[chosen, np.arange(shape[1])] -= 1
    tolerance = EPSILON[type_] + bound
    np.testing.assert_allclose(wide(g), wide(scale) * weights, rtol=tolerance, atol=3 * bound + 2.0**-24)
    gradient[grid](a, chosen, scale, a)
    np.testing.assert_array_equal(a, g)


def test_classes_that_are_ignored() -> None:
    a, scale = random("f32", 40, 3), np.ones(3, np.float32)
    a[:, 1] = np.nan
    for kind, ignored in (("i64", -100), ("i32", 3)):
        loss, g, chosen = np.full(3, 7, np.float32), np.full_like(a, 7), np.array([1, ignored, 2], DTYPES[kind])
        entropies, gradient = kernels.cross_entropy(index=kind, ignore_index=ignored)
        entropies[3](a, chosen, loss)
        gradient[3](a, chosen, scale, g)
        np.testing.assert_allclose(loss, [entropy(a[:, :1], chosen[:1])[0], 0, entropy(a[:, 2:], chosen[2:])[0]], 1e-5)
        assert not g[:, 1].any()
        assert abs(g[:, [0, 2]].sum(axis=0)).max() < 1e-5


def test_large_logits_and_no_numbers() -> None:
    a = np.array([[3e38, -1e38, -np.inf, np.nan, np.inf], [3e38, -3e38, -np.inf, 1, 0]], np.float32, order="F")
    loss, chosen = np.zeros(5, np.float32), np.array([0, 0, 0, 1, 1])
    kernels.cross_entropy()[0][5](a, chosen, loss)
    np.testing.assert_allclose(loss, [np.log(2), 0, np.nan, np.nan, np.nan], rtol=1e-6)


@pytest.mark.parametrize("wrong", [40, -1, 2**40])
def test_a_class_that_there_is_not_is_found(wrong: int) -> None:
    a, loss = random("f32", 40, 2), np.zeros(2, np.float32)
    entropies, gradient = kernels.cross_entropy()
    chosen = np.array([3, wrong])
    for kernel, others in ((entropies, (loss,)), (gradient, (loss, np.zeros_like(a)))):
        with pytest.raises(girih.KernelError) as caught:
            kernel[2](a, chosen, *others)
        (finding,) = caught.value.findings
        assert (finding.code, finding.argument) == ("run.out_of_bounds", "A")


@pytest.mark.interpreter
@pytest.mark.parametrize(("seed", "columns"), [(1, 2), *long([(1, 9), (2, 9), (3, 9)])])
def test_whatever_an_implementation_chooses(seed: int, columns: int) -> None:
    choices, a = girih.Choices(seed), random("f32", 137, columns)
    for found, expected in zip(top_k(a, "f32", 9, choices), largest(a, "f32", 9), strict=True):
        np.testing.assert_array_equal(found, expected)
    loss, chosen = np.full(columns, np.nan, np.float32), classes((137, columns), "i64")
    kernels.cross_entropy()[0].options(choices=choices)[columns](a, chosen, girih.uninitialized(loss))
    np.testing.assert_allclose(loss, entropy(a, chosen), rtol=1e-5)
