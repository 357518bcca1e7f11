"""Kernels as functions of JAX arrays, through `jax.ffi`: under `jax.jit` and `shard_map`, on the CPU and on CUDA.

    axpby = girih.jax.ffi_call(program["axpby"])
    b = axpby(2.0, a, 1.0, b)

Importing this imports JAX, which `pip install 'girih[jax]'` brings along.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("jax") is None:
    raise ModuleNotFoundError("girih.jax needs JAX: pip install 'girih[jax]'", name="jax")

from girih.jax.operators import FfiFunction, ffi_call

__all__ = ["FfiFunction", "ffi_call"]
