"""Kernels on the CPU target without the runtime: lowered, linked by MCJIT, and called with hand-made arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import BoundTensorMap
from girih.arguments.groups import part_of_member
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.scalars import DTYPES
from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.abi import WORKSPACE_ALIGNMENT, CompiledKernel
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.ir.core import Function
from girih.ir.types import PARTS, Boolean, GroupType, MemRef, Number, TensorMapType
from girih.runtime.compiled.descriptor import descriptor
from girih.source import NOWHERE

Array = NDArray[Any]

HOST = CpuTarget.of(Cpu.host())
TARGET = CpuTarget(64, 32, HOST.features, dot_bf16=HOST.dot_bf16)
"""Vectors of 64 bytes, which LLVM halves where there are none, and only the instructions that this machine has."""


@dataclass
class Failed(Exception):
    """A check of the kernel failed."""

    code: str
    argument: str | None
    values: list[int]
    message: str


class Compiled:
    """A kernel ready to be called."""

    def __init__(self, function: Function, *, checks: bool = True, target: CpuTarget = TARGET) -> None:
        self.function = function
        lowered = lower(function, target, checks=checks)
        self.kernel: CompiledKernel = lowered.kernel
        self._engine = linked(lowered.text, lowered.optimize)
        pointer = ctypes.c_void_p
        address = self._engine.get_function_address(self.kernel.symbol)
        self._call = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64, ctypes.c_int64)(address)

    def prepare(self, grid: tuple[int, int, int], *arguments: Any) -> tuple[Any, Array]:
        """A function without arguments that runs all work-groups on this thread, and its failure record."""
        record = np.zeros(32, np.int64)
        keep: list[Any] = [record]
        packed = packed_arguments(self.function, grid, arguments, record, keep)
        self.workspace = room = np.zeros(self.kernel.workspace_bytes + WORKSPACE_ALIGNMENT, np.uint8)
        workspace = -(-room.ctypes.data // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
        keep += [packed, room]
        call, total, address = self._call, grid[0] * grid[1] * grid[2], packed.ctypes.data

        def go(keep: list[Any] = keep) -> None:
            call(address, workspace, 0, total)

        return go, record

    def __call__(self, grid: tuple[int, int, int], *arguments: Any) -> None:
        """Run all work-groups on this thread."""
        go, record = self.prepare(grid, *arguments)
        go()
        words = record.view(np.int32)
        if words[0]:
            site = self.kernel.sites[int(words[1])]
            count = site.index_count + site.shape_count
            raise Failed(site.code, site.argument, [int(v) for v in record[4 : 4 + count]], site.message)


def packed_arguments(
    function: Function, grid: tuple[int, int, int], arguments: Sequence[Any], record: Array, keep: list[Any]
) -> Array:
    """The slots that a kernel reads; what must live as long as they do is added to `keep`."""
    slots: list[int] = [*grid, record.ctypes.data]
    assert len(slots) == FIRST_PARAMETER
    for parameter, value in zip(function.parameters, arguments, strict=True):
        slots += _slots(parameter.type, value, keep)
    return np.array([s % 2**64 for s in slots], np.uint64)


@lru_cache(maxsize=32)
def linked(text: str, optimize: bool) -> llvm.ExecutionEngine:
    """The code of a text in LLVM IR; tests that compile the same text one after the other share it."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = target_machine()
    if optimize:
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine.emit_object(module)))
    engine.finalize_object()
    return engine


def target_machine(opt: int = 1) -> llvm.TargetMachine:
    """LLVM's code generator for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=opt,
        codemodel="jitdefault",
        jit=True,
    )


def _slots(type: Any, value: Any, keep: list[Any]) -> list[int]:
    match type:
        case MemRef():
            return _memref(type, value, keep)
        case GroupType():
            return _group(type, value, keep)
        case Boolean():
            return [int(value)]
        case Number():
            return _number(type, value)
        case TensorMapType():
            return _map(value, keep)
    raise TypeError(type)


def _map(value: BoundTensorMap, keep: list[Any]) -> list[int]:
    memory = value.memory(value.writable)
    described = descriptor(value.tensor_map, memory.ctypes.data)
    keep += [memory, described]
    return [described.ctypes.data]


def _number(type: Number, value: Any) -> list[int]:
    if type.family == "integer":
        return [int(value)]
    if type.size == 1:
        return [int(DTYPES[type].type(value).view(np.uint8))]
    parts = (complex(value).real, complex(value).imag) if type in PARTS else (float(value),)
    wide = PARTS.get(type, type).size == 8
    packed: list[Any] = [np.float64(p).view(np.int64) if wide else np.float32(p).view(np.int32) for p in parts]
    return [int(p) for p in packed]


def _memref(type: MemRef, value: Array | None, keep: list[Any]) -> list[int]:
    if value is None:
        return [0, *(0 for n in (*type.shape, *type.strides) if n is None)]
    keep.append(value)
    shape = [value.shape[k] for k, n in enumerate(type.shape) if n is None]
    strides = [value.strides[k] // value.itemsize for k, n in enumerate(type.strides) if n is None]
    return [value.ctypes.data, *shape, *strides]


def _group(type: GroupType, value: Any, keep: list[Any]) -> list[int]:
    offset = type.offset or 0
    if isinstance(value, girih.Group):
        value, offset = value.arrays, value.offset or 0
    size = [] if type.size is not None else [0 if value is None else len(value)]
    if value is None:
        return [0, *size]
    rows = [_memref(type.memref, _behind(offset, type.memref, member), keep) for member in value]
    table = np.array(rows, np.int64)
    keep.append(table)
    return [table.ctypes.data, *size]


def _behind(offset: int, type: MemRef, member: Array | None) -> Array | None:
    """The memref of a member of a group."""
    if member is None or not offset:
        return member
    report = ArgumentReport()
    memref = part_of_member(type, member, offset, None, ArgumentPlace("member", 1, NOWHERE), report)
    assert memref is not None, report.diagnostics
    return memref


def compiled(text: str, name: str | None = None, *, checks: bool = True, **definitions: object) -> Compiled:
    """A function of a text, lowered and linked."""
    program = girih.loads(text, target="interpreter", definitions=definitions)
    kernel = program[name or next(iter(program))]
    return Compiled(kernel.ir, checks=checks)


def run(text: str, grid: tuple[int, int, int], *arguments: Any, name: str | None = None, checks: bool = True) -> None:
    """Compile for this CPU and run."""
    compiled(text, name, checks=checks)(grid, *arguments)


def compare(
    text: str,
    grid: tuple[int, int, int],
    *arguments: Any,
    name: str | None = None,
    tolerance: float = 0.0,
    races: bool = True,
) -> None:
    """Run the interpreter on copies and the CPU on the arrays, and hold them against each other.

    Without `races`, a kernel may race where the CPU keeps to the order of the text, which is what such a test is about.
    """
    program = girih.loads(text, target="interpreter")
    kernel = program[name or next(iter(program))]
    copies = [copy_of(a) for a in arguments]
    kernel[grid].options(races=races)(*copies)
    Compiled(kernel.ir)(grid, *arguments)
    for mine, wanted in zip(arguments, copies, strict=True):
        same(mine, wanted, tolerance)


def copy_of(value: Any) -> Any:
    """Arrays and lists of them copied in their layout."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    return [copy_of(v) for v in value] if isinstance(value, list) else value


def same(mine: Any, wanted: Any, tolerance: float) -> None:
    """Equal, or near enough for floats."""
    if isinstance(mine, BoundTensorMap):
        same(mine.array, wanted.array, tolerance)
    elif isinstance(mine, list):
        for a, b in zip(mine, wanted, strict=True):
            same(a, b, tolerance)
    elif isinstance(mine, np.ndarray) and mine.dtype.kind in "iub":
        np.testing.assert_array_equal(mine, wanted)
    elif isinstance(mine, np.ndarray):
        kind = np.complex128 if mine.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(mine.astype(kind), wanted.astype(kind), rtol=tolerance, atol=tolerance)
