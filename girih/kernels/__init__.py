"""Ready-made kernels, as texts in the tensor language.

`girih.load(girih.kernels.path("attention"), definitions={"headdim": 128})` loads one.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def names() -> list[str]:
    """The names of all kernels."""
    found = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(".tl") for name in found if name.endswith(".tl"))


def path(name: str) -> Path:
    """The file of a kernel. Raises `KeyError` for a name that is not in `names()`."""
    if name not in names():
        raise KeyError(f"there is no kernel {name!r}; there are {', '.join(names())}")
    return Path(str(files(__name__).joinpath(f"{name}.tl")))
