"""The golden modules: compiled from shaders of our own, judged by SPIRV-Tools, and run on hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

DATA = Path(__file__).resolve().parent.parent / "data" / "spirv"


def golden_modules(invalid: bool = False) -> Iterator[tuple[str, bytes]]:
    """The binary modules of both sets by name; of the invalid ones and their twins too where these are wanted."""
    for archive in ("spirv_h200", "spirv_plain"):
        with ZipFile(DATA / archive / "modules.zip") as file:
            for name in sorted(file.namelist()):
                if name.endswith(".spv") and (invalid or not name.startswith("invalid/")):
                    yield f"{archive}/{name}", file.read(name)
