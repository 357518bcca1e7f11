"""The environment variables that girih reads, and a warning for others whose names look like one.

The environment is looked at when the first program is loaded or a command starts, never at import.
"""

from __future__ import annotations

import os
from functools import cache

from girih.diagnostics import nearest, warn_user

PREFIX = "GIRIH_"

VARIABLES = {
    "GIRIH_TARGET": "the target where none is named, see `girih targets`; `girih run` does not read it",
    "GIRIH_NUM_THREADS": "how many threads a launch uses",
    "GIRIH_CACHE_DIR": "the folder where compiled code is kept",
    "GIRIH_CACHE_SIZE": "how many bytes of it are kept, 0 for none",
    "GIRIH_VULKAN_DRIVER": "the Vulkan driver of the target `vulkan`: a library, or a manifest of one",
    "GIRIH_SYNCHRONOUS": "1: launches on arrays of a GPU are waited for, and findings raised at once",
    "GIRIH_PERF_MAP": "1: the profiler `perf` learns where kernels are in memory",
    "GIRIH_DEBUGGER": "1: the debuggers GDB and LLDB learn where kernels are in memory",
    "GIRIH_LIBXSMM": "the file of libxsmm, for `girih bench`",
    "GIRIH_TRACEBACK": "1: errors of kernels in Python, and internal errors of commands, show their Python tracebacks",
}
"""The meaning of each variable. The pages and `girih --help` show this table."""

OF_TESTS = ("GIRIH_BLESS",)
"""Variables that only the tests read."""


@cache
def warn_of_unknown_variables() -> None:
    """Warn, once in a process, of each `GIRIH_` variable that is set and that nothing reads."""
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in VARIABLES and name not in OF_TESTS:
            warn_user(_unknown(name))


def _unknown(name: str) -> str:
    close = nearest(name.removeprefix(PREFIX), [known.removeprefix(PREFIX) for known in VARIABLES])
    hint = f"did you mean {PREFIX}{close}?" if close else f"there is: {', '.join(VARIABLES)}"
    return f"the environment variable {name} is set, and girih reads no such variable; {hint}"
