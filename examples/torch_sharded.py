"""A product whose rows are spread over devices: each process launches girih's kernel on its part of a DTensor.

    python examples/torch_sharded.py [cpu | cuda]

Two processes, each with a GPU of its own where there are two, otherwise one GPU and one process; on the CPU two
processes that talk by gloo. It needs PyTorch, `pip install 'girih[torch]'`. Exit status 0 means that every process has
the right product.
"""

from __future__ import annotations

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import local_map

import girih.torch
from girih import kernels

# Y = X W, in order C with the factors exchanged.
product = girih.torch.custom_op(
    kernels.gemm(order="C"), "girih_examples::product", out={"C": lambda A, B: (B.shape[0], A.shape[1])}
)


def of_rows(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The product of all of W with some rows of X."""
    made: torch.Tensor = product(1.0, w, x, 0.0)
    return made


def work(rank: int, count: int, device: str, port: int) -> None:
    """What each process does."""
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(count)}
    if device == "cuda":
        torch.cuda.set_device(rank)
    mesh = init_device_mesh(device, (count,))
    torch.manual_seed(0)
    x, w = torch.randn(102, 64), torch.randn(64, 48)
    rows = distribute_tensor(x.to(device), mesh, [Shard(0)])
    weight = distribute_tensor(w.to(device), mesh, [Replicate()])

    sharded = local_map(of_rows, out_placements=[Shard(0)], in_placements=([Replicate()], [Shard(0)]), device_mesh=mesh)
    y = sharded(weight, rows)
    difference = float((y.full_tensor().cpu() - x @ w).abs().max())
    print(f"process {rank}: {y.to_local().shape[0]} of {y.shape[0]} rows, the product differs by {difference:.1e}")
    dist.destroy_process_group()
    if difference > 1e-3:
        sys.exit(1)


def free_port() -> int:
    """A port on which no other process listens."""
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return int(listening.getsockname()[1])


if __name__ == "__main__":
    chosen = "cuda" if "cuda" in sys.argv[1:] else "cpu"
    number = min(torch.cuda.device_count(), 2) if chosen == "cuda" else 2
    processes.spawn(work, (number, chosen, free_port()), nprocs=number)
