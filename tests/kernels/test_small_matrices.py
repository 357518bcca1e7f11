"""Small matrices in batches against NumPy in f64: residuals in units of rounding, pivots, and matrices without any."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import girih
from girih import kernels
from tests.cases import crossed, every_case, long
from tests.kernels.arrays import DTYPES, EPSILON, Array, random, wide, zeros

SIZES = [*crossed([3, 8, 17], ["f32", "f64"]), *long(product([1, 2, 7, 9, 16, 33, 64], ["f32", "f64"]))]
COUNT = 5


def norms(matrices: Array) -> Array:
    """The largest sum of magnitudes in a row, of each matrix of n x n x matrices."""
    return np.asarray(abs(wide(matrices)).sum(axis=1).max(axis=0))


def products(a: Array, b: Array) -> Array:
    """The products of matrices of n x n x matrices in double precision."""
    return np.asarray(np.einsum("ikm,kjm->ijm", wide(a), wide(b)))


def inverse(a: Array, out: Array | None = None) -> tuple[Array, list[int]]:
    """The inverses that the kernel computes, and what it says of each matrix."""
    type_ = {np.float32: "f32", np.float64: "f64"}[a.dtype.type]
    b, info = np.full_like(a, 7) if out is None else out, np.full(a.shape[2], 7, np.int32)
    kernels.inverse(n=a.shape[0], type=type_)(a, b, info)
    return b, info.tolist()


@pytest.mark.parametrize(("n", "type_"), SIZES)
def test_inverse(n: int, type_: str) -> None:
    a = random(type_, n, n, COUNT)
    a[:, :, 1] *= 1000
    b, info = inverse(a)
    # A B differs from the unit matrix by the condition of A, a growth factor that is below n here, and n roundings.
    bound = 8 * n * EPSILON[type_] * norms(a) * norms(b) * max(1, n / 8)
    assert (abs(products(a, b) - np.eye(n)[:, :, None]) <= bound).all()
    assert info == [0] * COUNT
    same, _ = inverse(a, out=a)
    assert same is a
    np.testing.assert_array_equal(a, b)


def test_matrices_that_need_their_rows_swapped() -> None:
    """Permutations, exactly; a zero on the diagonal is no reason to fail."""
    with every_case() as case:
        for n in (2, 5, 8, 11):
            with case(f"n={n}"):
                order = np.random.default_rng(n).permutation(n)
                a = np.asfortranarray(np.eye(n, dtype=np.float32)[:, order, None] * np.float32(4))
                b, info = inverse(a)
                np.testing.assert_array_equal(b[:, :, 0], a[:, :, 0].T / 16)
                assert info == [0]


def test_singular_matrices_are_named_by_column() -> None:
    """Of five matrices four are singular; the fifth is inverted all the same."""
    n = 6
    a = random("f64", n, n, COUNT)
    a[:, 0, 0] = 0
    a[:, 3, 1] = 0
    a[:, :, 2] = 0
    a[:, 5, 3] = 0
    b, info = inverse(a)
    assert info == [1, 4, 1, 6, 0]
    assert not np.isfinite(b[:, :, :4]).all(axis=(0, 1)).any()
    np.testing.assert_allclose(b[:, :, 4], np.linalg.inv(a[:, :, 4]), rtol=1e-9)


def test_no_number_in_a_matrix_stays_in_that_matrix() -> None:
    a = random("f32", 9, 9, 3)
    a[4, 2, 1] = np.nan
    b, info = inverse(a)
    assert np.isnan(b[:, :, 1]).any()
    assert np.isfinite(b[:, :, [0, 2]]).all()
    assert info == [0, 0, 0]


def factors(a: Array) -> tuple[Array, Array]:
    """The factors and swaps of a matrix, computed column by column in its type with the first largest pivot."""
    f, n = a.astype(np.float64), len(a)
    swaps = np.zeros(n, np.int32)
    for k in range(n):
        swaps[k] = k + abs(f[k:, k]).argmax()
        f[[k, swaps[k]]] = f[[swaps[k], k]]
        if f[k, k]:
            f[k + 1 :, k] /= f[k, k]
            f[k + 1 :, k + 1 :] -= np.outer(f[k + 1 :, k], f[k, k + 1 :])
    return f, swaps


def swapped(a: Array, swaps: Array) -> Array:
    """The rows of a matrix after the swaps."""
    a = a.copy()
    for k, p in enumerate(swaps):
        a[[k, p]] = a[[p, k]]
    return a


def lu(a: Array, *, transpose: bool = False, out: Array | None = None) -> tuple[Array, Array, list[int]]:
    """The factors that the kernel computes, its swaps, and what it says of each matrix."""
    type_ = {np.float32: "f32", np.float64: "f64"}[a.dtype.type]
    n, count = a.shape[0], a.shape[2]
    f = np.full_like(a, 7) if out is None else out
    swaps, info = np.full((n, count), 7, np.int32, order="F"), np.full(count, 7, np.int32)
    kernels.lu(n=n, type=type_, transpose=transpose)(a, f, swaps, info)
    return f, swaps, info.tolist()


@pytest.mark.parametrize(("n", "type_"), SIZES)
def test_lu(n: int, type_: str) -> None:
    a = random(type_, n, n, COUNT)
    f, swaps, info = lu(a)
    assert info == [0] * COUNT
    # NumPy takes triangles of the last two modes, so that lower and upper change places.
    lower, upper = np.triu(wide(f).T, 1).T + np.eye(n)[:, :, None], np.tril(wide(f).T).T
    assert (abs(lower) <= 1).all(), "the largest candidate is the pivot"
    for m in range(COUNT):
        expected = swapped(a[:, :, m], swaps[:, m])
        bound = 4 * n * EPSILON[type_] * (abs(lower[:, :, m]) @ abs(upper[:, :, m]))
        assert (abs(lower[:, :, m] @ upper[:, :, m] - expected) <= bound).all()
    in_rows, same_swaps, _ = lu(np.asfortranarray(a.swapaxes(0, 1)), transpose=True)
    np.testing.assert_array_equal(in_rows, f.swapaxes(0, 1))
    np.testing.assert_array_equal(same_swaps, swaps)
    np.testing.assert_array_equal(lu(a, out=a)[0], f)


def test_the_largest_matrices(target: str) -> None:
    n = 64 if target == "cpu" else 34
    a = random("f32", n, n, 1)
    b, info = inverse(a)
    assert info == [0]
    assert (abs(products(a, b)[:, :, 0] - np.eye(n)) <= 8 * n * EPSILON["f32"] * norms(a) * norms(b)).all()


def test_lu_of_small_integers_takes_the_first_of_equal_pivots() -> None:
    source = np.random.default_rng(5)
    a = np.asfortranarray(2.0 ** source.integers(-1, 2, (5, 5, 40)) * source.choice([-1, 1], (5, 5, 40)))
    f, swaps, info = lu(a)
    for m in range(40):
        expected, order = factors(a[:, :, m])
        if np.diagonal(expected)[:-1].all():
            np.testing.assert_array_equal(swaps[:, m], order)
            np.testing.assert_allclose(f[:, :, m], expected, atol=1e-12)
    assert 0 in info


def test_lu_of_singular_matrices_is_a_factorization() -> None:
    """A pivot of zero leaves zeros below it, and its number, as LAPACK does."""
    a = zeros("f64", 4, 4, 3)
    a[:, :, 1] = np.outer([1, 2, 4, -2], [1, 3, 5, 7])
    a[:, :, 2] = [[0, 2, 1, 3], [0, 4, 1, 1], [0, 1, 0, 5], [0, 1, 9, 1]]
    f, swaps, info = lu(a)
    assert info == [1, 2, 1]
    assert not f[:, :, 0].any()
    for m in range(3):
        lower, upper = np.tril(f[:, :, m], -1) + np.eye(4), np.triu(f[:, :, m])
        np.testing.assert_allclose(lower @ upper, swapped(a[:, :, m], swaps[:, m]), atol=1e-12)


@pytest.mark.parametrize("name", ["cholesky", "inverse", "lu"])
def test_more_rows_than_a_subgroup_has_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: n is 65; it must be a whole number from 1 to 64"):
        getattr(kernels, name)(n=65)
    for n in (65, 72, 128):
        with pytest.raises(girih.CompileError):
            girih.load(kernels.path(name), definitions={"n": n})


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_whatever_an_implementation_chooses(seed: int) -> None:
    """Outputs are only written, so that what stood there may be anything; fused products change the last bits."""
    choices = girih.Choices(seed)
    a = random("f64", 5, 5, 9)
    b, swaps, info = np.full_like(a, np.nan), np.zeros((5, 9), np.int32, order="F"), np.zeros(9, np.int32)
    fresh = girih.uninitialized
    kernels.inverse(n=5, type="f64").options(choices=choices)[9](a, fresh(b), fresh(info))
    assert (abs(products(a, b) - np.eye(5)[:, :, None]) < 1e-11).all()
    for n in (5, 9):
        symmetric = positive("f64", n, 9)
        factor = np.full_like(symmetric, np.nan)
        kernels.cholesky(n=n, type="f64").options(choices=choices)[9](symmetric, fresh(factor), fresh(info))
        np.testing.assert_allclose(factor.T, np.linalg.cholesky(symmetric.T).swapaxes(1, 2), rtol=1e-9, atol=1e-12)
    kernels.lu(n=5, type="f64").options(choices=choices)[9](a, fresh(b), fresh(swaps), fresh(info))
    for m in range(9):
        expected, order = factors(a[:, :, m])
        np.testing.assert_allclose(b[:, :, m], expected, rtol=1e-10)
        np.testing.assert_array_equal(swaps[:, m], order)


def test_no_matrices() -> None:
    assert inverse(zeros("f32", 3, 3, 0))[1] == lu(zeros("f32", 3, 3, 0))[2] == cholesky(zeros("f32", 3, 3, 0))[1] == []


def positive(type_: str, n: int, count: int) -> Array:
    """Symmetric matrices of which some, with the unit matrix added, are far from singular."""
    a = wide(random("f64", n, n, count))
    return np.asfortranarray((products(a, a.swapaxes(0, 1)) + np.eye(n)[:, :, None]).astype(DTYPES[type_]))


def cholesky(a: Array, *, upper: bool = False, out: Array | None = None) -> tuple[Array, list[int]]:
    """The factors that the kernel computes, and what it says of each matrix."""
    type_ = {np.float32: "f32", np.float64: "f64"}[a.dtype.type]
    factor, info = np.full_like(a, 7) if out is None else out, np.full(a.shape[2], 7, np.int32)
    kernels.cholesky(n=a.shape[0], type=type_, upper=upper)(a, factor, info)
    return factor, info.tolist()


@pytest.mark.parametrize(("n", "type_"), SIZES)
def test_cholesky(n: int, type_: str) -> None:
    """As many matrices as work-items and one more; the other triangle is never read, and in the factor is zero."""
    count = 33 if n <= 8 else COUNT
    a = positive(type_, n, count)
    lower = np.arange(n)[:, None, None] >= np.arange(n)[:, None]
    given = np.where(lower, a, np.asarray(np.nan, a.dtype)).astype(a.dtype, order="F")
    factor, info = cholesky(given)
    assert info == [0] * count
    assert not factor[~np.broadcast_to(lower, a.shape)].any()
    bound = 2 * n * EPSILON[type_] * products(abs(factor), abs(factor).swapaxes(0, 1))
    assert (abs(products(factor, factor.swapaxes(0, 1)) - wide(a)) <= bound).all()
    turned = np.asfortranarray(given.swapaxes(0, 1))
    np.testing.assert_array_equal(cholesky(turned, upper=True)[0], factor.swapaxes(0, 1))
    np.testing.assert_array_equal(cholesky(given, out=given)[0], factor)


def test_matrices_that_are_not_positive_definite() -> None:
    """The first pivot that is not positive is named, whatever the way it fails, and other matrices are not affected."""
    with every_case() as case:
        for n in (5, 9):
            with case(f"n={n}"):
                a = positive("f64", n, 6)
                a[0, 0, 0] = 0
                a[2, 2, 1] = -1
                a[4, 4, 2] = np.nan
                a[1, 0, 3] = np.nan
                a[3, :3, 4] = a[3, 3, 4] = 0
                factor, info = cholesky(a)
                assert info == [1, 3, 5, 2, 4, 0]
                for m, bad in enumerate(info[:5]):
                    assert np.isfinite(factor[:2, : bad - 1, m]).all() or m == 3
                    assert np.isnan(np.tril(factor[:, :, m])[bad - 1 :, bad - 1 :].diagonal()).all()
                np.testing.assert_allclose(factor[:, :, 5], np.linalg.cholesky(a[:, :, 5]), rtol=1e-12, atol=1e-12)
