"""The functions of NVIDIA's driver, by cuda-bindings: one call that raises, and what it raises."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any


class NoCudaError(Exception):
    """There is no driver, or no cuda-bindings to call it; `hint` says what would help."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class CudaFault(Exception):
    """A function of the driver failed; `error` is the driver's name for the reason, such as `CUDA_ERROR_NO_DEVICE`."""

    def __init__(self, function: str, error: str, says: str) -> None:
        super().__init__(f"{function}: {says} ({error})")
        self.function, self.error = function, error


INSTALL = "install it with `pip install girih[cuda]`, or load for target='cpu'"


@lru_cache(maxsize=1)
def driver() -> Any:
    """The driver's functions, ready to be called. Raises `NoCudaError`."""
    try:
        api = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise NoCudaError(f"cuda-bindings cannot be imported: {error}", INSTALL) from None
    try:
        (result,) = api.cuInit(0)
    except RuntimeError as error:
        hint = "install NVIDIA's driver on a machine with one of its GPUs, or load for target='cpu'"
        raise NoCudaError(f"NVIDIA's driver does not open: {error}", hint) from None
    if int(result):
        hint = "`nvidia-smi` should list a GPU; in a container the GPU must be passed through"
        raise NoCudaError(f"NVIDIA's driver finds no GPU: {_name(api, result)}", hint)
    return api


def call(name: str, *arguments: Any) -> Any:
    """What a function of the driver gives: nothing, a value, or a tuple of them. Raises `CudaFault`."""
    api = driver()
    result, *values = getattr(api, name)(*arguments)
    if int(result):
        raise fault(name, result)
    return values[0] if len(values) == 1 else tuple(values)


def fault(name: str, result: Any) -> CudaFault:
    """The failure of a function that gave a result other than 0."""
    api = driver()
    _, says = api.cuGetErrorString(result)
    return CudaFault(name, _name(api, result), (says or b"no reason given").decode())


def _name(api: Any, result: Any) -> str:
    _, name = api.cuGetErrorName(result)
    return str((name or b"CUDA_ERROR_UNKNOWN").decode())
