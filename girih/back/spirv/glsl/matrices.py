"""Matrices, tensor layouts and views in GLSL (GL_KHR_cooperative_matrix, GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from collections.abc import Mapping

from girih.back.spirv.glsl.module import GlslModule
from girih.back.spirv.glsl.nodes import Effect, Expressed
from girih.back.spirv.glsl.types import word

MATRIX_EXPRESSIONS: Mapping[str, Expressed] = {}
MATRIX_EFFECTS: Mapping[str, Effect] = {}


def type_of(module: GlslModule, type: str) -> str:
    """The type of GLSL for a type of shader code."""
    return word(type)
