"""From LLVM IR to PTX by LLVM's own passes and its code generator for NVPTX."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from girih.back.llvm.assemble.assembler import LLVM, all_targets, llvm
from girih.back.llvm.nvptx.intrinsics import refusal
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.diagnostics import InternalError

TRIPLE = "nvptx64-nvidia-cuda"
_OPTIMIZER_LEVEL = 2
_CODE_GENERATION_LEVEL = 3


def ptx_of(text: str, architecture: NvidiaArchitecture) -> str:
    """The PTX of a module in LLVM IR. Raises `InternalError` if LLVM refuses the text."""
    with LLVM:
        machine = _target_machine(architecture.name, architecture.ptx)
        try:
            module = llvm().parse_assembly(text, context=llvm().create_context())
            module.triple = TRIPLE
            module.data_layout = str(machine.target_data)
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"LLVM refuses the code: {str(error).strip()}") from None
        refuse_intrinsics(module, architecture)
        options = llvm().create_pipeline_tuning_options(speed_level=_OPTIMIZER_LEVEL)
        options.loop_vectorization = options.slp_vectorization = False
        builder = llvm().create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        refuse_intrinsics(module, architecture)
        try:
            return str(machine.emit_assembly(module))
        except RuntimeError as error:
            what = f"LLVM cannot generate code for {architecture.name}: {str(error).strip()}"
            raise InternalError(what) from None


@lru_cache(maxsize=16)
def _target_machine(name: str, ptx: int) -> Any:
    all_targets()
    target = llvm().Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=name, features=f"+ptx{ptx}", opt=_CODE_GENERATION_LEVEL)


def refuse_intrinsics(module: Any, architecture: NvidiaArchitecture) -> None:
    """Raise `InternalError` for an intrinsic outside the table: one unknown to the code generator ends the process."""
    for function in module.functions:
        name = str(function.name)
        if function.is_declaration:
            problem = refusal(name)
            if problem:
                raise InternalError(f"the code for {architecture.name} calls {name}, {problem}")
