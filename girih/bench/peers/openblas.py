"""The OpenBLAS inside NumPy: the kernels that it runs, and its functions that NumPy does not offer.

`OPENBLAS_CORETYPE` chooses the kernels and is read once, when NumPy is imported: `fastest_core` tries those that suit
the processor in processes of their own.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

ENVIRONMENT = "OPENBLAS_CORETYPE"

# What OpenBLAS calls its kernels, driver/others/dynamic.c, and the features of /proc/cpuinfo that they need.
_CORES = {"SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "Haswell": {"avx2", "fma"}}

_TRIAL = """
import time
import numpy as np
a, b, x, y = (np.ones((512, 512), t) for t in ("f4", "f4", "f8", "f8"))
best = 1e9
for _ in range(9):
    start = time.thread_time()
    a @ b
    x @ y
    best = min(best, time.thread_time() - start)
print(best)
"""


def fastest_core(cpu_info: str) -> str | None:
    """The name of the kernels that multiply fastest on this machine; None for those that OpenBLAS chooses itself.

    A choice in the environment is kept. `cpu_info` is the text of /proc/cpuinfo.
    """
    if ENVIRONMENT in os.environ:
        return None
    flags = re.search(r"^flags\s*:(.*)$", cpu_info, re.M)
    features = set(flags[1].split()) if flags else set()
    candidates: list[str | None] = [None, *(core for core, needed in _CORES.items() if needed <= features)]
    if len(candidates) == 1:
        return None
    seconds = {core: min(_trial(core), _trial(core)) for core in candidates}
    best = min(candidates, key=lambda core: seconds[core])
    # OpenBLAS's own choice is often right: only kernels that are clearly faster replace it.
    return best if seconds[best] < 0.95 * seconds[None] else None


def _trial(core: str | None) -> float:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if core is not None:
        environment[ENVIRONMENT] = core
    done = subprocess.run([sys.executable, "-c", _TRIAL], env=environment, capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else float("inf")


@lru_cache(maxsize=1)
def _library() -> tuple[Any, str, str] | None:
    """The library that NumPy has loaded, and the prefix and suffix of its names; None for another BLAS."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                if hasattr(library, f"{prefix}cblas_sgemm{suffix}"):
                    return library, prefix, suffix
    return None


def _candidates() -> Iterator[Path]:
    import numpy

    folder = Path(numpy.__file__).parent
    for place in (folder.parent / "numpy.libs", folder / ".libs", folder / ".dylibs"):
        yield from sorted(place.glob("*openblas*"))
    maps = Path("/proc/self/maps")
    if maps.exists():
        yield from sorted({Path(p) for p in re.findall(r"/\S*openblas\S*", maps.read_text())})


def core_name() -> str | None:
    """The name of the kernels in use, such as `SkylakeX`; None if NumPy has another BLAS."""
    found = _library()
    if found is None:
        return None
    library, prefix, suffix = found
    name = getattr(library, f"{prefix}openblas_get_corename{suffix}", None)
    if name is None:
        return None
    name.restype = ctypes.c_char_p
    return str(name().decode())


def axpby() -> Callable[[float, Any, float, Any], None] | None:
    """The function y := alpha x + beta y on packed vectors of f32; None if NumPy has another BLAS."""
    found = _library()
    if found is None:
        return None
    library, prefix, suffix = found
    function = getattr(library, f"{prefix}cblas_saxpby{suffix}", None)
    if function is None:
        return None
    whole = ctypes.c_int64 if suffix == "64_" else ctypes.c_int
    function.restype = None
    function.argtypes = (whole, ctypes.c_float, ctypes.c_void_p, whole, ctypes.c_float, ctypes.c_void_p, whole)

    def call(alpha: float, x: Any, beta: float, y: Any) -> None:
        function(len(x), alpha, x.ctypes.data, 1, beta, y.ctypes.data, 1)

    return call
