"""Shaders in assembly, completed as examples are (`girih.spirv.frame`), translated and run on both executors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from girih.api import compile_module
from girih.diagnostics import errors
from girih.front.spirv.translate import translate
from girih.front.spirv.translated import Translated
from girih.ir.check import check_module
from girih.ir.core import Module as IrModule
from girih.spirv.frame import completed
from girih.spirv.judge.validate import validate
from girih.spirv.module import Module

Array = NDArray[np.generic]

TARGETS = ("interpreter", "cpu")

BUFFERS = """
OpDecorate %input_block Block
OpMemberDecorate %input_block 0 Offset 0
OpDecorate %output_block Block
OpMemberDecorate %output_block 0 Offset 0
OpDecorate %input Binding 0
OpDecorate %input DescriptorSet 0
OpDecorate %output Binding 1
OpDecorate %output DescriptorSet 0
OpDecorate %_runtimearr_uint ArrayStride 4
OpName %input "input"
OpName %output "output"
%input_block = OpTypeStruct %_runtimearr_uint
%output_block = OpTypeStruct %_runtimearr_uint
%_ptr_StorageBuffer_input_block = OpTypePointer StorageBuffer %input_block
%_ptr_StorageBuffer_output_block = OpTypePointer StorageBuffer %output_block
%input = OpVariable %_ptr_StorageBuffer_input_block StorageBuffer
%output = OpVariable %_ptr_StorageBuffer_output_block StorageBuffer
"""
"""Two buffers of unsigned integers."""


INVOCATION = """
OpExecutionMode %main LocalSize 16 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
%_ptr_Input_uint = OpTypePointer Input %uint
%index = OpVariable %_ptr_Input_uint Input
%number = OpLoad %uint %index
"""
"""The number of each of 16 work-items, `%number`."""


def module(text: str) -> Module:
    """The module of some lines, which no rule speaks against."""
    made = Module.from_text(completed(text))
    problems = [str(d) for d in errors(validate(made, "vulkan1.3"))]
    assert problems == [], "\n".join(problems)
    return made


def translated(text: str) -> Translated:
    """The entry point `main` of some lines, as a function in which nothing is wrong."""
    made = translate(module(text).specialise({}), "main")
    problems = [str(d) for d in check_module(IrModule((made.function,)))]
    assert problems == [], "\n".join(problems)
    return made


def on_both(text: str, *arrays: Array, grid: int = 1) -> Iterator[list[Array]]:
    """The arrays as the shader leaves them, run by the interpreter, then compiled with checks."""
    made = translated(text)
    for target in TARGETS:
        held = [np.array(array) for array in arrays]
        compile_module(IrModule((made.function,)), target)["main"][grid](*(one.view(np.int8) for one in held))
        yield held
