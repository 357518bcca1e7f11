"""Whether this machine can run kernels on an NVIDIA GPU, asked without girih."""

from __future__ import annotations

from functools import cache
from importlib import import_module


@cache
def missing_for_cuda() -> str:
    """What is missing to launch kernels on an NVIDIA GPU, in words; empty where nothing is."""
    try:
        api = import_module("cuda.bindings.driver")
        (status,) = api.cuInit(0)
    except ImportError:
        return "cuda-bindings is not installed: pip install 'girih[cuda]'"
    except RuntimeError as error:
        return f"NVIDIA's driver does not open: {error}"
    if int(status):
        return f"NVIDIA's driver finds no GPU: {status.name}"
    status, count = api.cuDeviceGetCount()
    return "" if int(status) == 0 and count else "NVIDIA's driver lists no GPU"
