"""The codes of what can go wrong with a launch on a GPU by NVIDIA's driver, and faults of the driver as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.runtime.cuda.driver import CudaFault, ForkedError, NoCudaError
from girih.source import NOWHERE, Span

CUDA_CODES: dict[str, str] = {
    "bind.cuda_driver": "a launch needs cuda-bindings, NVIDIA's driver, and a GPU that the driver finds",
    "bind.cuda_device": "the GPU that a target names by its number must be there",
    "bind.cuda_architecture": "the GPU must have the architecture that code is for: the named one, or sm_80 or newer",
    "bind.cuda_assembler": "an assembler must be there: nvJitLink, ptxas, or the one in the driver",
    "bind.cuda_resources": "threads, registers and local memory of a work-group must be those that the GPU has",
    "bind.cuda_memory": "the memory of the GPU must hold what a launch needs, copies of arrays of the host above all",
    "bind.cuda_freed": "the memory of an array must be the device's still",
    "bind.cuda_capture": "a launch that is captured in a CUDA graph copies nothing and waits for nothing",
    "bind.cuda_fork": "a process that was forked from one that used CUDA launches nothing",
    "run.cuda_lost": "a kernel must not break the context of the process on its GPU",
    "run.cuda_refused": "the driver must do what it is asked for",
}
"""What is asked of a launch on a GPU by NVIDIA's driver."""

# The CUDA driver API, "CUresult": errors after which nothing can be done with a context.
STICKY = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ILLEGAL_ADDRESS", "LAUNCH_FAILED", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE",
        "INVALID_PC", "HARDWARE_STACK_ERROR", "ASSERT", "LAUNCH_TIMEOUT", "ECC_UNCORRECTABLE", "CONTAINED",
        "TENSOR_MEMORY_LEAK", "CONTEXT_IS_DESTROYED", "EXTERNAL_DEVICE", "NVLINK_UNCORRECTABLE",
        "MPS_CLIENT_TERMINATED",
    )
)  # fmt: skip
_LOST = (
    "all that this process has on the GPU is lost, also what other libraries have there: begin a new process; "
    "target='interpreter' and NVIDIA's compute-sanitizer say which access is to blame"
)
_RESOURCES = ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")
_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
_CAPTURE = "CUDA_ERROR_STREAM_CAPTURE"


def refuse(code: str, message: str, hint: str | None = None, span: Span = NOWHERE) -> NoReturn:
    """Raise `LaunchError` with one diagnostic, `InternalError` for a code outside `CUDA_CODES`."""
    if code not in CUDA_CODES:
        raise InternalError(f"a launch on CUDA has no code {code}")
    # What the driver said is in the words.
    raise LaunchError([Diagnostic(code, message, span, hint=hint)]) from None


@contextmanager
def faults_in_words(name: str, span: Span = NOWHERE) -> Iterator[None]:
    """Faults of the driver in the launch of a kernel become `LaunchError`."""
    try:
        yield
    except NoCudaError as error:
        refuse("bind.cuda_fork" if isinstance(error, ForkedError) else "bind.cuda_driver", str(error), error.hint, span)
    except CudaFault as fault:
        _refuse_fault(fault, name, span)


def _refuse_fault(fault: CudaFault, name: str, span: Span) -> NoReturn:
    if fault.error in STICKY:
        message = f"the context is lost: {name}, or an earlier kernel of any library, has broken it: {fault}"
        refuse("run.cuda_lost", message, _LOST, span)
    if fault.error == _MEMORY:
        hint = "pass smaller arrays, or free what this process and others hold: `nvidia-smi` lists them"
        refuse("bind.cuda_memory", f"the GPU has too little memory for the launch of {name}: {fault}", hint, span)
    if fault.error in _RESOURCES:
        hint = "a smaller work_group_size, or less local memory, needs less; `kernel.remarks` says what it takes"
        refuse("bind.cuda_resources", f"the GPU has too little for a work-group of {name}: {fault}", hint, span)
    if fault.error.startswith(_CAPTURE):
        refuse("bind.cuda_capture", f"a CUDA graph cannot have this launch of {name}: {fault}", CAPTURE_HINT, span)
    refuse("run.cuda_refused", f"the driver refuses to run {name}: {fault}", None, span)


CAPTURE_HINT = "capture launches on arrays of the device only, after a first launch outside of the capture"
DEFAULT_STREAM_HINT = "while another stream is captured, launch on one that is not the default stream"
