"""The functions of NVIDIA's driver, by cuda-bindings: one call that raises, and what it raises."""

from __future__ import annotations

import ctypes
import os
from importlib import import_module
from threading import Lock
from typing import Any

PACKAGE = "cuda.bindings.driver"
_VERSION = 12000
"""The version of CUDA whose functions are asked for by their names."""


class NoCudaError(Exception):
    """There is no driver, no GPU, or no cuda-bindings to call the driver; `hint` says what would help."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class ForkedError(NoCudaError):
    """This process was forked from one that used the driver, which does not survive that."""


class CudaFault(Exception):
    """A function of the driver failed; `error` is the driver's name for the reason, such as `CUDA_ERROR_NO_DEVICE`."""

    def __init__(self, function: str, error: str, says: str) -> None:
        super().__init__(f"{function}: {says} ({error})")
        self.function, self.error = function, error


INSTALL = "install it with `pip install girih[cuda]`, or load for target='cpu'"
NO_DRIVER = "install NVIDIA's driver on a machine with one of its GPUs, or load for target='cpu'"
NO_DEVICE = (
    "`nvidia-smi` should list a GPU; in a container the GPU must be passed through, and CUDA_VISIBLE_DEVICES hides "
    "those that it does not list"
)
SPAWN = "start processes that use a GPU by multiprocessing's method 'spawn', or before the GPU is used"

_LOCK = Lock()
_OPENED: dict[int, Any] = {}
"""The functions of the driver by the process that opened it."""


def driver() -> Any:
    """The driver's functions, ready to be called. Raises `NoCudaError`."""
    found = _OPENED.get(os.getpid())
    return _open() if found is None else found


def _open() -> Any:
    with _LOCK:
        found = _OPENED.get(os.getpid())
        if found is not None:
            # Another thread has opened it meanwhile.
            return found
        if _OPENED:
            raise ForkedError("this process was forked from one that had used CUDA, which does not survive that", SPAWN)
        try:
            api = import_module(PACKAGE)
        except ImportError as error:
            raise NoCudaError(f"cuda-bindings cannot be imported: {error}", INSTALL) from None
        try:
            (result,) = api.cuInit(0)
        except RuntimeError as error:
            raise NoCudaError(f"NVIDIA's driver does not open: {error}", NO_DRIVER) from None
        if int(result):
            name = _name(api, result)
            # What the driver says in a process that was forked while another library used it.
            hint = SPAWN if name == "CUDA_ERROR_NOT_INITIALIZED" else NO_DEVICE
            raise NoCudaError(f"NVIDIA's driver finds no GPU: {name}", hint)
        _OPENED[os.getpid()] = api
        return api


def call(name: str, *arguments: Any) -> Any:
    """What a function of the driver gives: nothing, a value, or a tuple of them. Raises `CudaFault`."""
    api = driver()
    result, *values = getattr(api, name)(*arguments)
    if int(result):
        raise _fault(api, name, result)
    return values[0] if len(values) == 1 else tuple(values)


def call_in_c(name: str, *arguments: Any) -> None:
    """Call a function of the driver of CUDA 12.0 or newer with arguments of ctypes. Raises `CudaFault`.

    It is for what cuda-bindings cannot be asked for.
    """
    address, _ = call("cuGetProcAddress", name.encode(), _VERSION, 0)
    if not address:
        raise CudaFault(name, "CUDA_ERROR_NOT_FOUND", "the driver has no such function")
    result = ctypes.CFUNCTYPE(ctypes.c_int)(int(address))(*arguments)
    if result:
        api = driver()
        raise _fault(api, name, api.CUresult(result))


def _fault(api: Any, name: str, result: Any) -> CudaFault:
    _, says = api.cuGetErrorString(result)
    return CudaFault(name, _name(api, result), (says or b"no reason given").decode())


def _name(api: Any, result: Any) -> str:
    _, name = api.cuGetErrorName(result)
    return str((name or b"CUDA_ERROR_UNKNOWN").decode())
