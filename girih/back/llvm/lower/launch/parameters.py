"""The parameters of a kernel as values: read from slots of 8 bytes, as `girih.back.llvm.lower.launch.slots` lists them.

All targets pass arguments in this way.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.back.llvm.numbers.values import GroupHeld, MapHeld, MemRefHeld, Scalar, index, uniform
from girih.ir.core import Parameter
from girih.ir.types import EIGHT_BIT_FLOATS, INDEX, PARTS, Boolean, GroupType, MemRef, Number, TensorMapType, Type

_TOGETHER = 64
"""How many slots are read in a row: LLVM compares all loads of a row with each other."""


def slot(w: Writer, arguments: Val, number: int, type: str = "i64") -> Val:
    """The value in a slot of the arguments."""
    return w.load(type, w.at(arguments, 8 * number), 8)


def slot_count(type: Type) -> int:
    """The number of slots that an argument of a type takes."""
    match type:
        case MemRef():
            return 1 + type.shape.count(None) + type.strides.count(None)
        case GroupType():
            return 1 + (type.size is None)
        case _:
            return 2 if type in PARTS else 1


def bind_parameters(
    code: KernelCode, arguments: Val, between: Callable[[], None] = lambda: None, *, narrow: bool = False
) -> int:
    """The number of the slot after those of the parameters, which get their values, read from slots in memory.

    `between` is called where many slots have been read; it may write what keeps LLVM from looking at all of them. With
    `narrow`, sizes, strides and numbers of index type are known to fit 32 bits.
    """
    slots = _Slots(code.w, arguments, between, narrow=narrow)
    for parameter in code.function.parameters:
        code.set(parameter.value, slots.bind(parameter))
    return slots.next


class _Slots:
    """A reader of the arguments, slot after slot."""

    def __init__(self, w: Writer, arguments: Val, between: Callable[[], None], *, narrow: bool) -> None:
        self._w, self._arguments, self._between, self.next = w, arguments, between, FIRST_PARAMETER
        self._narrow = narrow

    def take(self, type: str = "i64") -> Val:
        """The value in the next slot."""
        number = self.next
        self.next += 1
        if self.next % _TOGETHER == 0:
            self._between()
        return slot(self._w, self._arguments, number, type)

    def extent(self) -> Val:
        """A size, a stride or an index in the next slot."""
        return self._w.convert("sext", self.take("i32"), "i64") if self._narrow else self.take()

    def bind(self, parameter: Parameter) -> Scalar | MemRefHeld | GroupHeld | MapHeld:
        """The value of a parameter, read from the next slots."""
        match parameter.type:
            case MemRef() as type:
                return self._memref(parameter, type)
            case GroupType() as type:
                return self._group(parameter, type)
            case TensorMapType() as type:
                return MapHeld(type, self.take("ptr"), parameter.name)
            case Boolean():
                return uniform(parameter.type, self._w.convert("trunc", self.take(), "i1"))
            case Number() as type:
                return self._number(type)
            case _:
                raise TypeError(f"a parameter of type {parameter.type}")

    def _number(self, type: Number) -> Scalar:
        w = self._w
        if type == INDEX:
            return uniform(type, self.extent())
        if type.family == "integer" or type in EIGHT_BIT_FLOATS:
            return uniform(type, w.convert("trunc", self.take(), f"i{8 * type.size}"))
        part = PARTS.get(type, type)
        register = "double" if part.size == 8 else "float"
        return uniform(type, *(self.take(register) for _ in range(2 if type in PARTS else 1)))

    def _memref(self, parameter: Parameter, type: MemRef) -> MemRefHeld:
        pointer = self.take("ptr")
        shape = tuple(index(self.extent()) if n is None else n for n in type.shape)
        strides = tuple(index(self.extent()) if n is None else n for n in type.strides)
        return MemRefHeld(type, pointer, index(0), shape, strides, parameter.name, promised_alignment(parameter, type))

    def _group(self, parameter: Parameter, type: GroupType) -> GroupHeld:
        table = self.take("ptr")
        size = self.extent() if type.size is None else type.size
        fields = 1 + type.memref.shape.count(None) + type.memref.strides.count(None)
        alignment = promised_alignment(parameter, type.memref)
        return GroupHeld(type.memref, table, size, parameter.name, alignment, record_bytes=8 * fields)


def promised_alignment(parameter: Parameter, type: MemRef) -> int:
    """The alignment in bytes that a parameter promises; NumPy aligns complex numbers as their parts."""
    promised = parameter.attributes.get("alignment")
    return promised if isinstance(promised, int) else PARTS.get(type.element, type.element).size
