"""A network of two linear layers that is trained with girih: products forward and backward are its kernels.

    python examples/torch_layer.py [cpu | cuda] [--compile]

It needs PyTorch, `pip install 'girih[torch]'`. Exit status 0 means that the gradients are those of PyTorch's own layers
and that training has made the error small.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

import girih.torch
from girih import kernels

# In order C mode 0 of a memref is the last axis of its tensor, so that a product takes its factors exchanged:
# the transpose of Y = X W^T, out x rows, is W X^T. Sizes in comments are those of the tensors.
linear = girih.torch.custom_op(  # W: out x in, X: rows x in
    kernels.gemm(transpose_a=True, order="C"),
    "girih_examples::linear",
    out={"C": lambda A, B: (B.shape[0], A.shape[0])},
)
input_gradient = girih.torch.custom_op(  # W: out x in, gradient: rows x out
    kernels.gemm(order="C"),
    "girih_examples::linear_input_gradient",
    out={"C": lambda A, B: (B.shape[0], A.shape[1])},
)
weight_gradient = girih.torch.custom_op(  # X: rows x in, gradient: rows x out
    kernels.gemm(transpose_b=True, order="C"),
    "girih_examples::linear_weight_gradient",
    out={"C": lambda A, B: (B.shape[1], A.shape[1])},
)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep what the gradient needs."""
    _, weight, x, _ = inputs
    ctx.save_for_backward(weight, x)


def gradients(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """One gradient for each argument of `linear`: alpha, A, B and beta."""
    weight, x = ctx.saved_tensors
    gradient = gradient.contiguous()
    of_weight = weight_gradient(1.0, x, gradient, 0.0) if ctx.needs_input_grad[1] else None
    of_input = input_gradient(1.0, weight, gradient, 0.0) if ctx.needs_input_grad[2] else None
    return None, of_weight, of_input, None


linear.register_autograd(gradients, setup_context=keep)


class Linear(torch.nn.Module):
    """x W^T by girih."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)

    def forward(self, x: Any) -> Any:
        return linear(1.0, self.weight, x, 0.0)


def largest_difference(layer: Any, x: Any) -> float:
    """How far gradients are from those of PyTorch's own product."""
    found = []
    for product in (layer, lambda x: torch.nn.functional.linear(x, layer.weight)):
        given = x.clone().requires_grad_()
        layer.zero_grad()
        product(given).sin().sum().backward()
        found.append((layer.weight.grad, given.grad))
    return max(float((a - b).abs().max()) for a, b in zip(*found, strict=True))


def main(device: str, *, compiled: bool) -> int:
    torch.manual_seed(0)
    model: Any = torch.nn.Sequential(Linear(8, 64), torch.nn.Tanh(), Linear(64, 1)).to(device)
    x = torch.randn(256, 8, device=device)
    wanted = x[:, :1] * x[:, 1:2]
    difference = largest_difference(model[0], x)
    print(f"gradients differ from PyTorch's by {difference:.1e}")

    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(200):
        loss = (run(x) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    print(f"the error falls from {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps on {device}")
    return int(difference > 1e-3 or losses[-1] > losses[0] / 4)


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main("cuda" if "cuda" in words else "cpu", compiled="--compile" in words))
