"""The modules of tests/data/spirv, as bytes by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from zipfile import ZipFile

DATA = Path(__file__).resolve().parents[2] / "data" / "spirv"


@cache
def files(folder: str, suffix: str = ".spv") -> Mapping[str, bytes]:
    """The files of a set that end so, by their names without the suffix: `layout_000`, `invalid/bad_phi_twin`."""
    with ZipFile(DATA / folder / "modules.zip") as packed:
        names = [name for name in packed.namelist() if name.endswith(suffix)]
        return {name.removesuffix(suffix): packed.read(name) for name in names}
