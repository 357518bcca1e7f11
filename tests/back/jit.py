"""Runs pieces of LLVM IR on NumPy arrays, element by element: scalars one at a time, or vectors of some lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import GENERAL_REGISTERS, ModuleText, Val, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.interpreter.machine import numbers
from girih.ir.types import BOOL, PARTS, Boolean, Number

Array = NDArray[np.generic]
Parts = tuple[Val, ...]
Type = Number | Boolean

_HOST = llvm.get_host_cpu_features()
HARDWARE = Features(
    f16=bool(_HOST.get("f16c", True)), fma=bool(_HOST.get("fma", True)), f16_in_vectors=bool(_HOST.get("f16c", False))
)
SOFTWARE = Features(f16=False, fma=False)


@dataclass(frozen=True)
class Piece:
    """What to compute: parts of the operands, of the types `sources`, to parts of the `target`."""

    emit: Callable[[Writer, list[Parts]], Sequence[Val]]
    sources: tuple[Type, ...]
    target: Type


def part_types(type: Type) -> list[Type]:
    """A type for each part."""
    part = PARTS.get(type) if isinstance(type, Number) else None
    return [type] if part is None else [part, part]


def in_memory(type: Type) -> str:
    """The LLVM type of an element."""
    return "i8" if isinstance(type, Boolean) else memory_type(type)


class Machine:
    """Compiles pieces for this processor, or for the plainest one of its kind."""

    def __init__(self, features: Features = HARDWARE, *, plain: bool = False) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.features = features
        self.plain = plain

    def target_machine(self) -> llvm.TargetMachine:
        cpu = "" if self.plain else llvm.get_host_cpu_name()
        flags = "" if self.plain else llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        return target.create_target_machine(cpu=cpu, features=flags, opt=1, jit=True)

    def text(self, pieces: dict[str, Piece], lanes: int) -> str:
        """The module with a function for each piece."""
        module = ModuleText(GENERAL_REGISTERS)
        for name, piece in pieces.items():
            self._write(module, name, piece, lanes)
        return str(module)

    def assembly(self, piece: Piece, lanes: int) -> str:
        """What the processor executes for a piece."""
        parsed = llvm.parse_assembly(self.text({"piece": piece}, lanes))
        return str(self.target_machine().emit_assembly(parsed))

    def compile(self, pieces: dict[str, Piece], lanes: int) -> dict[str, Compiled]:
        """A function of arrays for each piece."""
        parsed = llvm.parse_assembly(self.text(pieces, lanes))
        parsed.verify()
        engine = llvm.create_mcjit_compiler(parsed, self.target_machine())
        engine.finalize_object()
        return {name: Compiled(engine, name, piece, lanes) for name, piece in pieces.items()}

    def _write(self, module: ModuleText, name: str, piece: Piece, lanes: int) -> None:
        inputs = [one for type in piece.sources for one in part_types(type)]
        outputs = part_types(piece.target)
        names = [f"%p{k}" for k in range(len(inputs) + len(outputs))]
        listed = ", ".join(f"ptr {one}" for one in names)
        w = Writer(module, f"define void @piece.{name}(i64 %n, {listed})")
        pointers = [Val(one, "ptr") for one in names]
        with w.loop(0, Val("%n", "i64"), lanes) as loop:
            loaded = [self._load(w, type, p, loop.index, lanes) for type, p in zip(inputs, pointers, strict=False)]
            operands, used = [], 0
            for type in piece.sources:
                count = len(part_types(type))
                operands.append(tuple(loaded[used : used + count]))
                used += count
            results = piece.emit(w, operands)
            for type, pointer, held in zip(outputs, pointers[len(inputs) :], results, strict=True):
                self._store(w, type, pointer, loop.index, held)
        w.ret()
        w.finish()

    def _load(self, w: Writer, type: Type, pointer: Val, index: Val, lanes: int) -> Val:
        place = w.at(pointer, w.mul(index, 1 if type == BOOL else numbers.dtype(type).itemsize))
        held = w.load(wide(in_memory(type), lanes), place, 1)
        if isinstance(type, Boolean):
            return w.convert("trunc", held, "i1")
        return from_memory(w, self.features, type, held)

    def _store(self, w: Writer, type: Type, pointer: Val, index: Val, held: Val) -> None:
        place = w.at(pointer, w.mul(index, numbers.dtype(type).itemsize))
        if isinstance(type, Boolean):
            w.store(w.convert("zext", held, "i8"), place, 1)
            return
        w.store(to_memory(w, self.features, type, held), place, 1)


@dataclass(frozen=True)
class Compiled:
    """A piece as a function of one-dimensional arrays of one length; complex arrays are taken apart."""

    engine: llvm.ExecutionEngine
    name: str
    piece: Piece
    lanes: int

    def __call__(self, *operands: Array) -> Array:
        count = len(operands[0])
        length = -(-count // self.lanes) * self.lanes
        inputs = [_padded(one, length) for operand in operands for one in _parts(operand)]
        outputs = [np.zeros(length, numbers.dtype(type)) for type in part_types(self.piece.target)]
        arrays = [*inputs, *outputs]
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))
        call = prototype(self.engine.get_function_address(f"piece.{self.name}"))
        call(length, *(one.ctypes.data for one in arrays))
        if len(outputs) == 1:
            return outputs[0][:count]
        result = np.empty(count, numbers.dtype(self.piece.target))
        result.real, result.imag = outputs[0][:count], outputs[1][:count]
        return result


def _parts(array: Array) -> list[Array]:
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def _padded(array: Array, length: int) -> Array:
    result = np.zeros(length, array.dtype)
    result[: len(array)] = array
    return result
