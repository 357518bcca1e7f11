"""The compilers that can make a module of a source: programs on the path, and the library that slangpy brings.

Each compiles a compute shader with debug information, so that diagnostics about the module point into the source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from girih.front.shaders.bundled_glslang import bundled_glslang, compile_bundled_glslang
from girih.front.shaders.bundled_slang import bundled_slang, compile_bundled_slang
from girih.front.shaders.includes import with_includes
from girih.lazy_dataclass import dataclass
from girih.source import Source

SECONDS = 120
"""The time that a compiler may take."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came of a compilation: the module's bytes, None where there is none, and what the compiler said.

    `included` are the files that were compiled with the source, where the compiler did not read them itself.
    """

    data: bytes | None
    messages: str
    included: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler: its name, the endings of what it compiles, whether it is here, and the compilation of a source."""

    name: str
    endings: tuple[str, ...]
    is_here: Callable[[], bool]
    compile: Callable[[Source], Compiled]


def _program(name: str, endings: tuple[str, ...], arguments: Callable[[Source, str], Sequence[str]]) -> Compiler:
    """A compiler on the path, called with `arguments(source, output)`."""

    def compile(source: Source) -> Compiled:
        with tempfile.TemporaryDirectory(prefix="girih-") as folder:
            output = os.path.join(folder, "module.spv")
            try:
                ended = subprocess.run(
                    [name, *arguments(source, output)], capture_output=True, text=True, errors="replace",
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


def _glslang(source: Source, output: str) -> list[str]:
    # Not -gVS: glslang 16 then refers to id 0 where a variable is a tensor layout.
    return ["-V", "--target-env", "vulkan1.3", "-g", "-S", "comp", _include(source), "-o", output, _file(source)]


def _glslc(source: Source, output: str) -> list[str]:
    return ["-g", "-fshader-stage=compute", "--target-env=vulkan1.3", _include(source), "-o", output, _file(source)]


def _include(source: Source) -> str:
    """The option by which files beside a source are found."""
    return f"-I{os.path.dirname(source.name) or '.'}"


def _file(source: Source) -> str:
    """The file of a source as an argument that is no option."""
    return os.path.join(".", source.name) if source.name.startswith("-") else source.name


def _slangc(source: Source, output: str) -> list[str]:
    return [*_slang(source), "-o", output]


def _slang(source: Source) -> list[str]:
    """The arguments for Slang: all entry points that the source marks, else `main`."""
    entry = [] if "[shader(" in source.text else ["-stage", "compute", "-entry", "main"]
    return [_file(source), "-target", "spirv", "-g2", *entry]


def _bundled_glslang(source: Source) -> Compiled:
    text, included = with_includes(source)
    return Compiled(*compile_bundled_glslang(text.encode("utf-8"), source.name), included)


def _bundled_slang(source: Source) -> Compiled:
    return Compiled(*compile_bundled_slang(_slang(source)))


GLSL = (".comp", ".glsl")
SLANG = (".slang", ".hlsl")
"""The endings of sources by language. Slang takes HLSL; glslang and glslc make modules of it that are not valid."""

COMPILERS = (
    _program("glslang", GLSL, _glslang),
    _program("glslangValidator", GLSL, _glslang),
    _program("glslc", GLSL, _glslc),
    _program("slangc", SLANG, _slangc),
    Compiler("glslang of slangpy", GLSL, lambda: bundled_glslang() is not None, _bundled_glslang),
    Compiler("Slang of slangpy", SLANG, lambda: bundled_slang() is not None, _bundled_slang),
)
"""The compilers, in the order in which they are tried."""


def compiler_for(path: str) -> Compiler | None:
    """The first compiler that is here for a file; None where there is none."""
    ending = os.path.splitext(path)[1].lower()
    return next((one for one in COMPILERS if ending in one.endings and one.is_here()), None)
