"""The compilers that can make a module of a source: programs on the path, and the library that slangpy brings.

Each compiles a compute shader with debug information, so that diagnostics about the module point into the source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from girih.front.shaders.bundled import bundled_glslang, compile_bundled

SECONDS = 120
"""The time that a compiler may take."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came of a compilation: the module's bytes, None where there is none, and what the compiler said."""

    data: bytes | None
    messages: str


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler: its name, the endings of what it compiles, whether it is here, and the compilation of a file."""

    name: str
    endings: tuple[str, ...]
    is_here: Callable[[], bool]
    compile: Callable[[str], Compiled]


def _program(name: str, endings: tuple[str, ...], arguments: Callable[[str, str], Sequence[str]]) -> Compiler:
    """A compiler on the path, called with `arguments(source, output)`."""

    def compile(path: str) -> Compiled:
        with tempfile.TemporaryDirectory(prefix="girih-") as folder:
            output = os.path.join(folder, "module.spv")
            try:
                ended = subprocess.run(
                    [name, *arguments(path, output)], capture_output=True, text=True, errors="replace",
                    stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return Compiled(None, f"error: {name} took more than {SECONDS} seconds")
            except OSError as error:
                return Compiled(None, f"error: {name} cannot be run: {error.strerror or error}")
            made = Path(output)
            data = made.read_bytes() if ended.returncode == 0 and made.is_file() else None
            return Compiled(data, ended.stdout + ended.stderr)

    return Compiler(name, endings, lambda: shutil.which(name) is not None, compile)


def _glslang(path: str, output: str) -> list[str]:
    # Not -gVS: glslang 16 then refers to id 0 where a variable is a tensor layout.
    language = ["-D", "-e", "main"] if path.lower().endswith(".hlsl") else []
    return ["-V", *language, "--target-env", "vulkan1.3", "-g", "-S", "comp", _include(path), "-o", output, path]


def _glslc(path: str, output: str) -> list[str]:
    language = ["-x", "hlsl"] if path.lower().endswith(".hlsl") else []
    return [*language, "-g", "-fshader-stage=compute", "--target-env=vulkan1.3", _include(path), "-o", output, path]


def _include(path: str) -> str:
    """The option by which files beside a source are found."""
    return f"-I{os.path.dirname(path) or '.'}"


def _slangc(path: str, output: str) -> list[str]:
    return [path, "-target", "spirv", "-g2", "-stage", "compute", "-entry", "main", "-o", output]


GLSL = (".comp", ".glsl")

COMPILERS = (
    _program("glslang", (*GLSL, ".hlsl"), _glslang),
    _program("glslangValidator", (*GLSL, ".hlsl"), _glslang),
    _program("glslc", (*GLSL, ".hlsl"), _glslc),
    _program("slangc", (".slang", ".hlsl"), _slangc),
    Compiler("slangpy's glslang", GLSL, lambda: bundled_glslang() is not None, lambda path: _bundled(path)),
)
"""The compilers, in the order in which they are tried."""


def _bundled(path: str) -> Compiled:
    return Compiled(*compile_bundled(Path(path).read_bytes(), path))


def compiler_for(path: str) -> Compiler | None:
    """The first compiler that is here for a file; None where there is none."""
    ending = os.path.splitext(path)[1].lower()
    return next((one for one in COMPILERS if ending in one.endings and one.is_here()), None)
