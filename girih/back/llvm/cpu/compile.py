"""The compilation of a kernel to LLVM IR for the CPU: one function that executes work-groups one after the other.

The result is complete: the text, and the facts that the runtime needs to call it (`CompiledKernel`).
"""

from __future__ import annotations

from girih.analysis.prints import prints_of
from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.cpu.amx.tiles import note_use, tiles_of, uses_tiles
from girih.back.llvm.cpu.cost import may_not_end, serial_groups, untimed_groups
from girih.back.llvm.cpu.machine.abi import WORKSPACE_ALIGNMENT, CompiledKernel
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.machine.own_stack import enter_on_own_stack, stack_bytes
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.cpu.table import CPU
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import GENERAL_REGISTERS, ModuleText, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import ExecutionPlace, geometry_of
from girih.back.llvm.lower.launch.parameters import bind_parameters, slot
from girih.back.llvm.lower.launch.record import NO_FAILURE
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.back.llvm.lower.lowerings import Lowerings, refuse_unknown
from girih.diagnostics import Diagnostic
from girih.facts import remarks
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel as LLVM IR; with `optimize`, LLVM must split its coroutines."""

    kernel: CompiledKernel
    text: str
    optimize: bool
    remarks: tuple[Diagnostic, ...] = ()


def lower(
    function: Function,
    target: CpuTarget,
    *,
    checks: bool = True,
    limits: DeviceLimits = DEFAULT_LIMITS,
    lines: bool = False,
) -> Lowered:
    """The LLVM IR of a checked function; with `lines`, instructions say which line of the program they come from.

    Raises `CompileError` for instructions that the target refuses.
    """
    lowerings = _lowerings(function)
    refuse_unknown(function, lowerings, "cpu")
    geometry = geometry_of(function, limits)
    module = ModuleText(GENERAL_REGISTERS)
    symbol = f"girih.{function.name}"
    debug = DebugInfo(module, function.name, symbol, function.span, lines=lines)
    w = Writer(module, _header(symbol, debug))
    w.location = debug.at(function.span)
    constants = constants_of(function)
    arguments = Val("%arguments", "ptr")
    grid = (slot(w, arguments, 0), slot(w, arguments, 1), slot(w, arguments, 2))
    record = slot(w, arguments, RECORD_SLOT, "ptr")
    nowhere = Val("0", "i64")
    code = CpuCode(
        w=w,
        module=module,
        function=function,
        lowerings=lowerings,
        target=target,
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, geometry.subgroup_size),
        checks=checks,
        debug=debug,
        place=ExecutionPlace(lanes=geometry.subgroups * geometry.subgroup_size),
        arguments=arguments,
        workspace=Val("%workspace", "ptr"),
        record=record,
        group=(nowhere, nowhere, nowhere),
        grid=grid,
        linear_group=nowhere,
        exit=lambda: w.jump("left"),
        reconfigure=_reconfigure,
        remarks=Remarks("cpu"),
    )
    after = bind_parameters(code, arguments, between=lambda: w.fence("acq_rel", "singlethread"))
    if prints_of(function).sites:
        code.prints, code.print_step = slot(w, arguments, after, "ptr"), code.take(8)
    _work_groups(code)
    w.jump("left")
    w.label("left")
    if uses_tiles(module):
        tiles = tiles_of(w, target)
        tiles.release()
        with w.at_entry():
            tiles.configure()
    w.ret()
    w.finish()
    workspace_bytes = _with_stack(code, symbol, debug)
    kernel = CompiledKernel(
        name=function.name,
        symbol=symbol,
        object=b"",
        workspace_bytes=workspace_bytes,
        sites=tuple(code.sites),
        subgroup_size=geometry.subgroup_size,
        work_group_size=geometry.work_group_size,
        serial_groups=serial_groups(function, constants, geometry.subgroup_size),
        untimed_groups=0 if may_not_end(function) else untimed_groups(function, constants, geometry.subgroup_size),
    )
    text = str(module)
    return Lowered(kernel, text, "presplitcoroutine" in text, code.remarks.diagnostics())


def _reconfigure(code: CpuCode) -> None:
    """Configure tiles again where the kernel may use them: a kernel that a handler has launched has released them."""
    if code.target.amx:
        note_use(code.module)
        tiles_of(code.w, code.target).configure()


def _lowerings(function: Function) -> Lowerings[CpuCode]:
    """The lowerings of the language of a function; those of the device language are loaded when they are needed."""
    if function.language.name != "device":
        return CPU
    from girih.back.llvm.cpu.device_table import CPU_DEVICE

    return CPU_DEVICE


def _header(symbol: str, debug: DebugInfo, linkage: str = "") -> str:
    """The first line of the definition of a function that executes work-groups."""
    return (
        f'define {linkage}void @"{symbol}"'
        "(ptr noalias readonly %arguments, ptr noalias %workspace, i64 %first, i64 %last) "
        f'nounwind "prefer-vector-width"="512"{debug.attached}'
    )


def _with_stack(code: CpuCode, symbol: str, debug: DebugInfo) -> int:
    """The bytes of the workspace of a kernel, whose text is complete, with those of its own stack if it gets one."""
    module, used = code.module, code.frame.most
    stack = stack_bytes(module)
    if stack == 0:
        return used
    code.remarks.note(remarks.stack(stack), code.function.span)
    body = f"{symbol}.body"
    inner = _header(body, debug, "internal ")
    module.functions[-1] = module.functions[-1].replace(_header(symbol, debug), inner, 1)
    end = -(-used // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT + stack
    enter_on_own_stack(module, symbol, body, end)
    return end


def _work_groups(code: CpuCode) -> None:
    """Write the loop over work-groups around the kernel's body; it ends if another thread has ended the launch."""
    w = code.w
    with w.loop(Val("%first", "i64"), Val("%last", "i64")) as loop:
        state = w.atomic_load("i32", code.record, 4)
        w.unlikely(w.compare("ne", state, NO_FAILURE), code.exit)
        linear = loop.index
        x = w.binary("urem", linear, code.grid[0])
        rest = w.binary("udiv", linear, code.grid[0])
        y = w.binary("urem", rest, code.grid[1])
        z = w.binary("udiv", rest, code.grid[1])
        code.group = (x, y, z)
        code.linear_group = linear
        if code.print_step is not None:
            w.store(integer(0), code.print_step, 8)
        code.body()
