"""Modules of SPIR-V from sources in GLSL, Slang and HLSL, by compilers that are installed."""

from girih.front.shaders.compile import compile_shader

__all__ = ["compile_shader"]
