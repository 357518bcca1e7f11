"""Kernels as operators of PyTorch: on tensors of the CPU and of CUDA, under `torch.compile`, with gradients.

    axpby = girih.torch.custom_op(program["axpby"], "mylib::axpby")
    axpby(2.0, a, 1.0, b)

Importing this imports torch, which `pip install 'girih[torch]'` brings along.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError("girih.torch needs PyTorch: pip install 'girih[torch]'", name="torch")

from girih.torch.operators import TorchOperator, custom_op

__all__ = ["TorchOperator", "custom_op"]
