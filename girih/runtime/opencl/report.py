"""The codes of what OpenCL cannot do, and errors of its functions as diagnostics."""

from __future__ import annotations

from typing import NoReturn

from girih.diagnostics import Diagnostic, LaunchError
from girih.runtime.opencl.api import WANT_OF_MEMORY, OpenClError
from girih.source import NOWHERE, Span

OPENCL_CODES = {
    "bind.opencl_driver": "a device of OpenCL is there whose driver takes SPIR-V and subgroup sizes",
    "bind.opencl_module": "the driver of OpenCL builds the module of the kernel",
    "bind.opencl_launch": "the driver of OpenCL runs the kernel to its end",
}
"""What holds where a code is not told."""

INSTALL = "install a driver, for processors: pip install intel-opencl-rt intel-cmplr-lib-rt"


def no_device(flaws: list[str], hint: str, span: Span = NOWHERE) -> Diagnostic:
    """The diagnostic for a machine without a device that is able; `flaws` say why those that are there are not."""
    there = "; ".join(flaws) if flaws else "no driver is installed"
    return Diagnostic("bind.opencl_driver", f"no device of OpenCL can run kernels: {there}", span, hint=hint)


def refuse(error: OpenClError, code: str, span: Span) -> NoReturn:
    """Raise `LaunchError` for a call of OpenCL that failed; want of memory has its own code."""
    hint = f"the driver says: {error.log}" if error.log else None
    told = "bind.memory" if error.status in WANT_OF_MEMORY and code != "bind.opencl_module" else code
    raise LaunchError([Diagnostic(told, str(error), span, hint=hint)]) from error
