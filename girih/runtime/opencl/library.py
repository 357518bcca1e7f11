"""Where OpenCL is found on this machine: the loader, and Intel's runtime for processors as pip installs it.

The loader is the system's `libOpenCL`, which knows the drivers that are installed. The package `intel-opencl-rt` puts a
runtime into the folder of the interpreter and tells no loader of it, so it is opened itself.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from pathlib import Path

from girih.runtime.opencl.api import Api

_LOADERS = {"win32": ("OpenCL.dll",), "darwin": ()}
_OTHERWISE = ("libOpenCL.so.1", "libOpenCL.so")

INTEL = "libintelocl.so"
_INTEL_NEEDS = ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so")
"""What Intel's runtime needs and, as pip installs it, looks for in the system's folders only; `intel-cmplr-lib-rt`."""


@lru_cache(maxsize=1)
def libraries() -> tuple[Api, ...]:
    """The libraries with OpenCL's functions, the loader first; none where there is none."""
    found = []
    for name in _LOADERS.get(sys.platform, _OTHERWISE):
        api = _opened(name)
        if api is not None:
            found.append(api)
            break
    intel = _intel(Path(sys.prefix) / "lib")
    return (*found, *([intel] if intel is not None else []))


def _opened(name: str) -> Api | None:
    try:
        return Api(ctypes.CDLL(name))
    except OSError:
        return None


def _intel(folder: Path) -> Api | None:
    """Intel's runtime in a folder; None where it is not there, or lacks what it needs."""
    if not (folder / INTEL).exists():
        return None
    for name in _INTEL_NEEDS:
        if (folder / name).exists():
            ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    return _opened(str(folder / INTEL))
