"""The sizes that a kernel is compiled for, where it leaves them open."""

from __future__ import annotations

from girih.analysis.sizes import no_subgroup_size, possible_subgroup_sizes
from girih.back.llvm.lower.code import KernelGeometry
from girih.back.llvm.nvptx.machine.code import WARP
from girih.diagnostics import CompileError, Diagnostic
from girih.facts.findings import NOT_ON_TARGET
from girih.facts.remarks import Remarks
from girih.facts.remarks import sizes as open_sizes
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits

SUBGROUPS = 4
"""How many subgroups a work-group has that the kernel leaves open."""


def geometry_for(function: Function, limits: DeviceLimits, remarks: Remarks) -> KernelGeometry:
    """The sizes of a kernel: those that it names, else subgroups of a warp, and `SUBGROUPS` of them.

    Raises `CompileError` where no subgroup of at most a warp suits it.
    """
    possible = possible_subgroup_sizes(function, limits)
    if not possible:
        raise CompileError([no_subgroup_size(function, limits)])
    suitable = [size for size in possible if size <= WARP]
    if not suitable:
        wanted = ", ".join(map(str, possible))
        message = f"subgroups of {wanted} work-items suit @{function.name}; those of this target have {WARP} at most"
        hint = "a kernel that names no subgroup size takes the device's"
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, function.span, hint=hint)])
    size = max(suitable)
    shape = function.work_group_size or (size * SUBGROUPS, 1)
    if function.work_group_size is None or function.subgroup_size is None:
        remarks.note(open_sizes(size, shape), function.span)
    return KernelGeometry(shape, size)
