"""`girih.functions` on arrays of JAX on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih import functions

jax: Any = pytest.importorskip("jax", reason="JAX is not installed: make test-jax")


def test_results_are_arrays_of_jax() -> None:
    x = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    here = jax.device_put(x, jax.devices("cpu")[0])
    for found, wanted in (
        (functions.softmax(here), jax.nn.softmax(x)),
        (functions.matmul(here, here.T), x @ x.T),
        (functions.gelu(here), jax.nn.gelu(x, approximate=False)),
        (functions.topk(here, 3)[0], jax.lax.top_k(x, 3)[0]),
    ):
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-5, atol=1e-5)
    halves = here.astype(jax.numpy.bfloat16)
    assert functions.softmax(halves).dtype == jax.numpy.bfloat16


def test_arrays_of_jax_are_no_place_for_results() -> None:
    x = jax.numpy.ones((2, 3))
    with pytest.raises(girih.LaunchError, match="out must be writeable"):
        functions.softmax(x, out=x)
