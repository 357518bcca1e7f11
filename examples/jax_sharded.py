"""A product whose rows are spread over devices of JAX: each launches girih's kernel on its part, by shard_map.

    python examples/jax_sharded.py [cpu | cuda]

Two devices where there are two, else one; on the CPU XLA makes two of it. It needs JAX, `pip install 'girih[jax]'`.
Exit status 0 means that the product is right.
"""

from __future__ import annotations

import os
import sys
from functools import partial

CHOSEN = "cuda" if "cuda" in sys.argv[1:] else "cpu"
# JAX reads these when it is imported.
os.environ.setdefault("JAX_PLATFORMS", CHOSEN)
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"

import jax  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import girih.jax  # noqa: E402
from girih import kernels  # noqa: E402

# Y = X W, in order C with the factors exchanged.
product = girih.jax.ffi_call(kernels.gemm(order="C"), out={"C": lambda A, B: (B.shape[0], A.shape[1])})


def main() -> int:
    devices = jax.devices()[:2]
    mesh = jax.make_mesh((len(devices),), ("rows",), devices=devices)
    rows, everywhere = PartitionSpec("rows"), PartitionSpec()

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(everywhere, rows), out_specs=rows)
    def sharded(w: jax.Array, x: jax.Array) -> jax.Array:
        made: jax.Array = product(1.0, w, x, 0.0)
        return made

    first, second = jax.random.split(jax.random.key(0))
    x, w = jax.random.normal(first, (102, 64)), jax.random.normal(second, (64, 48))
    y = sharded(jax.device_put(w, NamedSharding(mesh, everywhere)), jax.device_put(x, NamedSharding(mesh, rows)))
    # On a GPU, JAX's own product is in tf32 unless it is asked for more.
    difference = float(abs(y - jax.numpy.matmul(x, w, precision="highest")).max())
    print(
        f"{len(devices)} devices, {[shard.data.shape for shard in y.addressable_shards]}, differs by {difference:.1e}"
    )
    return int(difference > 1e-3)


if __name__ == "__main__":
    sys.exit(main())
