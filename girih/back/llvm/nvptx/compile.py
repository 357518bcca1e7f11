"""From a kernel to LLVM IR for NVPTX, and on to PTX (docs/design/cuda.md)."""

from __future__ import annotations

from dataclasses import replace

from girih.analysis.prints import prints_of
from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import ModuleText, Val, integer
from girih.back.llvm.lower.code import ExecutionPlace
from girih.back.llvm.lower.launch.parameters import bind_parameters, slot
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.back.llvm.lower.lowerings import refuse_unknown
from girih.back.llvm.nvptx.assemble import ptx_of
from girih.back.llvm.nvptx.machine.again import gone_over_again
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.changing import changing_parameters
from girih.back.llvm.nvptx.machine.code import CudaCode, array_begin
from girih.back.llvm.nvptx.machine.kernel import USUAL, CudaVariant, PtxKernel
from girih.back.llvm.nvptx.machine.names import entry_name
from girih.back.llvm.nvptx.machine.pointers import declared_pointer, pointer_slots, take_pointers
from girih.back.llvm.nvptx.machine.sizes import geometry_for
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.back.llvm.nvptx.matrix.table import with_matrices
from girih.back.llvm.nvptx.packing import packed_geometry, packing_of
from girih.back.llvm.nvptx.place import place_of
from girih.back.llvm.nvptx.table import BUT_MATRICES, CUDA
from girih.back.llvm.nvptx.tensor_map import places
from girih.back.llvm.nvptx.tile.choice import chosen_tile_kernel
from girih.back.llvm.nvptx.tile.kernel import lower_tile
from girih.diagnostics import CompileError, Diagnostic, GirihError, InternalError
from girih.facts.findings import NOT_ON_TARGET
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.lazy_dataclass import dataclass
from girih.recursion import recursion_room

_ARRAY_ALIGNMENT = 128

FEW_PARAMETER_BYTES, MOST_PARAMETER_BYTES = 4352, 32764
"""The bytes of parameters that kernels may have up to PTX 8.0, and from then on (PTX ISA ".entry")."""
MANY_PARAMETERS = 81
"""The version of PTX that has more of them, 81 for 8.1; older drivers do not take it, so that others are in theirs."""


@dataclass(frozen=True, slots=True)
class LoweredForCuda:
    """A kernel as LLVM IR; `kernel` lacks the PTX."""

    kernel: PtxKernel
    text: str


def compile_kernel(
    function: Function, architecture: NvidiaArchitecture, *, checks: bool = True,
    limits: DeviceLimits = DEFAULT_LIMITS, variant: CudaVariant = USUAL,
) -> PtxKernel:  # fmt: skip
    """A checked kernel as PTX. Raises `CompileError` for what devices of an architecture cannot do."""
    made = lower(function, architecture, checks=checks, limits=limits, variant=variant)
    if made.kernel.all_parameter_bytes > FEW_PARAMETER_BYTES:
        architecture = replace(architecture, ptx=max(architecture.ptx, MANY_PARAMETERS))
    return replace(made.kernel, ptx=ptx_of(made.text, architecture))


def lower(
    function: Function, architecture: NvidiaArchitecture, *, checks: bool = True,
    limits: DeviceLimits = DEFAULT_LIMITS, variant: CudaVariant = USUAL,
) -> LoweredForCuda:  # fmt: skip
    """The LLVM IR of a checked kernel. Raises `CompileError`, and `InternalError` for a defect of girih."""
    try:
        with recursion_room():
            return _lowered(function, architecture, variant, checks=checks, limits=limits)
    except (GirihError, MemoryError):
        raise
    except Exception as error:
        what = f"the code generator failed in @{function.name}: {type(error).__name__}: {error}"
        raise InternalError(what) from error


def _lowered(
    function: Function, architecture: NvidiaArchitecture, variant: CudaVariant, *, checks: bool, limits: DeviceLimits
) -> LoweredForCuda:
    refuse_unknown(function, CUDA, "cuda")
    remarks = Remarks("cuda")
    tile = chosen_tile_kernel(function, architecture, variant, remarks, checks=checks)
    if tile is not None:
        made, text = lower_tile(tile, architecture, BUT_MATRICES, remarks, checks=checks, parts=variant.parts)
        _refuse_too_large(function, made, architecture)
        return LoweredForCuda(made, text)
    geometry = geometry_for(function, limits, remarks)
    subgroup_size, threads = geometry.subgroup_size, geometry.subgroups * geometry.subgroup_size
    packing = None if variant.linear else packing_of(function)
    if packing is not None:
        geometry, threads = packed_geometry(packing), packing.count * packing.threads
    entry = entry_name(function)
    module = ModuleText({})
    debug = DebugInfo(module, function.name, entry, function.span, directives=True)
    pointers, changing = pointer_slots(function), changing_parameters(function)
    listed = [
        declared_pointer(function.parameters[number], number, changing, disjoint=variant.disjoint)
        for number in pointers.values()
    ]
    by_value = f'ptr byval([{_LENGTH} x i8]) align {places.alignment(function)} "nvvm.grid_constant" %arguments'
    header = (
        f"define ptx_kernel void @{entry}({', '.join([by_value, *listed])}) "
        f'nounwind "nvvm.reqntid"="{threads}"{_residents(function)}{debug.attached}'
    )
    w = NvptxWriter(module, header)
    w.location = debug.at(function.span)
    arguments = Val("%arguments", "ptr")
    grid = slot(w, arguments, 0), slot(w, arguments, 1), slot(w, arguments, 2)
    here = place_of(w, grid, geometry, packing, linear=variant.linear)
    constants = constants_of(function)
    lowerings, own_matrices = with_matrices(function, geometry, BUT_MATRICES, remarks)
    code = CudaCode(
        w=w,
        writer=w,
        module=module,
        function=function,
        lowerings=lowerings,
        own_matrices=own_matrices,
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, geometry.subgroup_size),
        checks=checks,
        debug=debug,
        place=ExecutionPlace(lanes=1),
        group=here.group,
        grid=grid,
        remarks=remarks,
        thread=here.thread,
        subgroup=here.subgroup,
        lane=here.lane,
        arguments_apart=variant.disjoint,
        architecture=architecture,
        has_engine=architecture.copies and variant.engine,
        record=slot(w, arguments, RECORD_SLOT, "ptr"),
        packing=packing,
        slot=here.slot,
        beyond=here.beyond,
    )
    slots = bind_parameters(code, arguments, narrow=variant.narrow)
    take_pointers(code, pointers.values(), changing if variant.disjoint else set())
    if prints_of(function).sites:
        code.prints, code.print_step = slot(w, arguments, slots, "ptr"), w.alloca("i64", 1)
        w.store(integer(0), code.print_step, 8)
        slots += 1
    maps = places.prepare(code, arguments, slots)
    w.together()
    code.body()
    w.end()
    shared = _lay_out(code)
    size = places.parameter_bytes(slots, maps)
    kernel = PtxKernel(
        name=function.name,
        entry=entry,
        ptx="",
        architecture=architecture.name,
        threads=threads,
        packed=1 if packing is None else packing.count,
        subgroup_size=subgroup_size,
        shared_bytes=shared,
        parameter_bytes=size,
        pointers=tuple(pointers),
        again=gone_over_again(function),
        maps=places.places_of(code, maps),
        sites=tuple(code.sites),
        remarks=remarks.diagnostics(),
    )
    _refuse_too_large(function, kernel, architecture)
    return LoweredForCuda(kernel, str(module).replace(_LENGTH, str(size), 1))


def _residents(function: Function) -> str:
    """The attribute that has the assembler leave room for as many work-groups as the kernel's hint says."""
    wanted = function.hints("hopper").get("resident")
    return "" if wanted is None else f' "nvvm.minctasm"="{wanted}"'


def _refuse_too_large(function: Function, kernel: PtxKernel, architecture: NvidiaArchitecture) -> None:
    """Raise `CompileError` for a kernel with more local memory or parameters than a device has room for."""
    messages = []
    if kernel.shared_bytes > architecture.shared_bytes:
        messages.append(
            f"@{function.name} needs {kernel.shared_bytes} bytes of memory for a work-group; "
            f"{architecture.name} has {architecture.shared_bytes}"
        )
    if kernel.all_parameter_bytes > MOST_PARAMETER_BYTES:
        messages.append(
            f"the parameters of @{function.name} are {kernel.all_parameter_bytes} bytes; a kernel has room for "
            f"{MOST_PARAMETER_BYTES}: pass arrays as a group, or numbers as an array"
        )
    if messages:
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, function.span) for message in messages])


_LENGTH = "<parameter bytes>"
"""What stands in the text for the number of the parameter's bytes until that is known; no name of a kernel has it."""


def _lay_out(code: CudaCode) -> int:
    """The bytes of shared memory of a kernel: local memory, then the arrays, whose places go into the module."""
    end = code.frame.most
    for name, size in code.arrays.items():
        begin = -(-end // _ARRAY_ALIGNMENT) * _ARRAY_ALIGNMENT
        symbol = array_begin(name)
        code.module.globals[symbol] = f"@{symbol} = internal unnamed_addr constant i64 {begin}"
        end = begin + size
    if end:
        code.module.globals["girih_local"] = "@girih_local = external addrspace(3) global [0 x i8], align 1024"
    return end
