"""The tensor maps of a kernel: their places behind the slots, and the engine made ready for copies through them."""

from __future__ import annotations

from dataclasses import replace

from girih.analysis.tensor_maps import copies_of
from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.launch.descriptor import WORDS
from girih.back.llvm.numbers.values import MapHeld
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.machine.copies import BARRIER_BYTES, CopiesUnderWay
from girih.back.llvm.nvptx.machine.kernel import MAP_ALIGNMENT, MAP_BYTES, MapPlace
from girih.ir.core import Function
from girih.ir.types import TensorMapType

_BLOCK = -(-(MAP_BYTES + 8 * WORDS) // MAP_ALIGNMENT) * MAP_ALIGNMENT
"""The bytes of a tensor map behind the slots."""


def alignment(function: Function) -> int:
    """The alignment in bytes of the first parameter of a kernel."""
    return MAP_ALIGNMENT if any(isinstance(p.type, TensorMapType) for p in function.parameters) else 8


def prepare(code: CudaCode, arguments: Val, slots: int) -> dict[int, int]:
    """The offsets of the tensor maps behind so many slots, by the numbers of the parameters.

    The values of these get the addresses of their descriptors there, and the mbarrier is made that loads need.
    """
    found: dict[int, int] = {}
    here = -(-8 * slots // MAP_ALIGNMENT) * MAP_ALIGNMENT
    for number, parameter in enumerate(code.function.parameters):
        if isinstance(parameter.type, TensorMapType):
            held: MapHeld = code.env[parameter.value]
            code.set(parameter.value, replace(held, descriptor=code.w.at(arguments, here + MAP_BYTES)))
            found[number] = here
            here += _BLOCK
    if any(map(code.has_engine_for, copies_of(code.function))):
        barrier = code.w.convert("ptrtoint", code.array("mbarrier", BARRIER_BYTES), "i32")
        code.copies = CopiesUnderWay.begin(code.writer, code.thread, barrier)
    return found


def places_of(code: CudaCode, offsets: dict[int, int]) -> tuple[MapPlace, ...]:
    """What a launch must know of the maps at these offsets, after the kernel was lowered."""
    values = [parameter.value for parameter in code.function.parameters]
    return tuple(MapPlace(number, offset, values[number] in code.encoded) for number, offset in offsets.items())


def parameter_bytes(slots: int, offsets: dict[int, int]) -> int:
    """The bytes of the first parameter of a kernel."""
    return max((offset + _BLOCK for offset in offsets.values()), default=8 * slots)
