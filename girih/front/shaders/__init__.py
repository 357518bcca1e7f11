"""Modules of SPIR-V from sources in GLSL, Slang and HLSL, by compilers that are installed.

`compile_shader` is loaded when it is first used: what asks for the kind of a file by its name waits for no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.front.shaders.compile import compile_shader

__all__ = ["compile_shader"]


def __getattr__(name: str) -> object:
    if name == "compile_shader":
        from girih.front.shaders.compile import compile_shader

        return compile_shader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
