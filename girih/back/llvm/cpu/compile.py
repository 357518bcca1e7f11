"""From a kernel to LLVM IR for the CPU: one function that executes work-groups one after the other.

What comes out is complete: the text, and what the runtime must know to call it (`CompiledKernel`).
"""

from __future__ import annotations

from dataclasses import dataclass

import girih.back.llvm.cpu.collective.linalg
import girih.back.llvm.cpu.matrix.coopmatrix
import girih.back.llvm.cpu.sharing
import girih.back.llvm.cpu.subgroup
import girih.back.llvm.cpu.tensor.coopmatrix_tensor
import girih.back.llvm.lower.arith
import girih.back.llvm.lower.atomics
import girih.back.llvm.lower.builtin
import girih.back.llvm.lower.control
import girih.back.llvm.lower.memory  # noqa: F401  (these fill LOWERINGS)
from girih.analysis.liveness import last_uses
from girih.analysis.sizes import no_subgroup_size, possible_subgroup_sizes, preferred_subgroup_size
from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.cpu.cost import serial_groups, untimed_groups
from girih.back.llvm.cpu.machine.abi import FIRST_PARAMETER, NO_FAILURE, CompiledKernel
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import ModuleText, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import ExecutionPlace, KernelGeometry, Lowering
from girih.back.llvm.numbers.values import GroupHeld, MemRefHeld, Scalar, index, uniform
from girih.diagnostics import CompileError
from girih.ir.core import Function, Parameter
from girih.ir.limits import DeviceLimits
from girih.ir.types import PARTS, Boolean, GroupType, MemRef, Number


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel as LLVM IR; `optimize` where LLVM must split coroutines."""

    kernel: CompiledKernel
    text: str
    optimize: bool


def lower(function: Function, target: CpuTarget, *, checks: bool = True) -> Lowered:
    """Lower a checked function. Raises `CompileError` for what the target refuses."""
    geometry = geometry_of(function)
    module = ModuleText()
    symbol = f"girih.{function.name}"
    debug = DebugInfo(module, function.name, symbol, function.span)
    header = (
        f'define void @"{symbol}"(ptr noalias readonly %arguments, ptr noalias %workspace, i64 %first, i64 %last) '
        f'nounwind "prefer-vector-width"="512" !dbg {debug.subprogram}'
    )
    w = Writer(module, header)
    w.location = debug.at(function.span)
    constants = constants_of(function)
    arguments = Val("%arguments", "ptr")
    grid = (_slot(w, arguments, 0), _slot(w, arguments, 1), _slot(w, arguments, 2))
    record = w.load("ptr", w.at(arguments, 24), 8)
    nowhere = Val("0", "i64")
    lowering = Lowering(
        w=w,
        module=module,
        function=function,
        target=target,
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, geometry.subgroup_size),
        last_uses=last_uses(function),
        checks=checks,
        debug=debug,
        place=ExecutionPlace(lanes=geometry.subgroups * geometry.subgroup_size),
        arguments=arguments,
        workspace=Val("%workspace", "ptr"),
        record=record,
        group=(nowhere, nowhere, nowhere),
        grid=grid,
        linear_group=nowhere,
        leave=lambda: w.line("br label %left"),
    )
    bind_parameters(lowering)
    _work_groups(lowering)
    w.line("br label %left")
    w.label("left")
    w.ret()
    w.finish()
    kernel = CompiledKernel(
        name=function.name,
        symbol=symbol,
        object=b"",
        workspace_bytes=lowering.frame.most,
        sites=tuple(lowering.sites),
        subgroup_size=geometry.subgroup_size,
        work_group_size=geometry.work_group_size,
        serial_groups=serial_groups(function, constants, geometry.subgroup_size),
        untimed_groups=untimed_groups(function, constants, geometry.subgroup_size),
    )
    text = str(module)
    return Lowered(kernel, text, "presplitcoroutine" in text)


def geometry_of(function: Function) -> KernelGeometry:
    """The sizes that a kernel is compiled for. Raises `CompileError` where no subgroup size suits it."""
    possible = possible_subgroup_sizes(function, DeviceLimits())
    if not possible:
        raise CompileError([no_subgroup_size(function, DeviceLimits())])
    size = preferred_subgroup_size(possible)
    return KernelGeometry(function.work_group_size or (size, 1), size)


def _slot(w: Writer, arguments: Val, number: int, type: str = "i64") -> Val:
    return w.load(type, w.at(arguments, 8 * number), 8)


def _work_groups(code: Lowering) -> None:
    """The loop over work-groups, and the kernel's body in it; it ends where another thread has ended the launch."""
    w = code.w
    with w.loop(Val("%first", "i64"), Val("%last", "i64")) as loop:
        state = w.effect("i32", f"load atomic i32, {code.record} monotonic, align 4")
        w.unlikely(w.compare("ne", state, NO_FAILURE), code.leave)
        linear = loop.index
        x = w.pure("i64", f"urem {linear}, {code.grid[0].text}", (linear, code.grid[0]))
        rest = w.pure("i64", f"udiv {linear}, {code.grid[0].text}", (linear, code.grid[0]))
        y = w.pure("i64", f"urem {rest}, {code.grid[1].text}", (rest, code.grid[1]))
        z = w.pure("i64", f"udiv {rest}, {code.grid[1].text}", (rest, code.grid[1]))
        code.group = (x, y, z)
        code.linear_group = linear
        code.region(code.function.body)


def bind_parameters(code: Lowering) -> None:
    """The parameters as values, read from the arguments."""
    slots = _Slots(code)
    for parameter in code.function.parameters:
        code.set(parameter.value, slots.bind(parameter))


class _Slots:
    """The arguments, slot after slot."""

    def __init__(self, code: Lowering) -> None:
        self._l = code
        self._next = FIRST_PARAMETER

    def take(self, type: str = "i64") -> Val:
        """The next slot."""
        number = self._next
        self._next += 1
        return _slot(self._l.w, self._l.arguments, number, type)

    def bind(self, parameter: Parameter) -> Scalar | MemRefHeld | GroupHeld:
        """A parameter's value."""
        match parameter.type:
            case MemRef() as type:
                return self._memref(parameter, type)
            case GroupType() as type:
                return self._group(parameter, type)
            case Boolean():
                return uniform(parameter.type, self._l.w.convert("trunc", self.take(), "i1"))
            case Number() as type:
                return self._number(type)
            case _:
                raise TypeError(f"a parameter of type {parameter.type}")

    def _number(self, type: Number) -> Scalar:
        w = self._l.w
        if type.family == "integer":
            return uniform(type, w.convert("trunc", self.take(), f"i{8 * type.size}"))
        part = PARTS.get(type, type)
        register = "double" if part.size == 8 else "float"
        return uniform(type, *(self.take(register) for _ in range(2 if type in PARTS else 1)))

    def _memref(self, parameter: Parameter, type: MemRef) -> MemRefHeld:
        pointer = self.take("ptr")
        shape = tuple(index(self.take()) if n is None else n for n in type.shape)
        strides = tuple(index(self.take()) if n is None else n for n in type.strides)
        return MemRefHeld(type, pointer, index(0), shape, strides, parameter.name, _alignment(parameter, type))

    def _group(self, parameter: Parameter, type: GroupType) -> GroupHeld:
        table = self.take("ptr")
        size = self.take() if type.size is None else type.size
        fields = 2 + type.memref.shape.count(None) + type.memref.strides.count(None)
        moved = type.offset != 0
        return GroupHeld(
            type.memref, table, size, parameter.name, _alignment(parameter, type.memref), moved, record_bytes=8 * fields
        )


def _alignment(parameter: Parameter, type: MemRef) -> int:
    """What the parameter promises of its address, in bytes; NumPy aligns complex numbers as their parts."""
    promised = parameter.attributes.get("alignment")
    return promised if isinstance(promised, int) else PARTS.get(type.element, type.element).size
