"""Private arrays of numbers, and `undef`, for any number of lanes (`girih.ops.device.private`).

An array lies in memory of those who execute the code: the elements of all lanes side by side, index after index, or one
element for all lanes where these never differ. What was not written has any value.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer, lanes, wide, zero
from girih.back.llvm.lower.access import first_outside, full_mask, outside
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.addresses import vector
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, scalar_type, uniform
from girih.facts import device
from girih.ir.types import I8, PARTS, Boolean, Number, PrivateArrayType
from girih.lazy_dataclass import dataclass
from girih.ops.device.private import PrivateArray, PrivateLoad, PrivateStore, Undef

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class PrivateHeld:
    """A private array of numbers: the address of its first element, and the lanes that have elements of their own."""

    type: PrivateArrayType
    pointer: Val
    width: int

    @property
    def part(self) -> Number:
        """The type of what an element consists of in memory."""
        element = self.type.element
        assert isinstance(element, Number | Boolean)
        return I8 if isinstance(element, Boolean) else PARTS.get(element, element)

    @property
    def parts(self) -> int:
        """The number of parts of an element, which lie in arrays one behind the other."""
        return 2 if self.type.element in PARTS else 1

    @property
    def stride(self) -> int:
        """The bytes from one index to the next."""
        return self.width * self.part.size

    @property
    def plane(self) -> int:
        """The bytes of one part of all elements."""
        return self.stride * self.type.size

    @property
    def alignment(self) -> int:
        """What all places of an index are a multiple of, in bytes."""
        return min(_ALIGNMENT, self.stride & -self.stride)


def new_array(code: KernelCode, op: PrivateArray) -> None:
    """Take memory for an array of numbers."""
    type = op.result.type
    assert isinstance(type, PrivateArrayType)
    width = code.lanes if op.result in code.varying else 1
    held = PrivateHeld(type, integer(0), width)
    code.set(op.result, PrivateHeld(type, code.scratch(held.parts * held.plane), width))


def checked_index(code: KernelCode, op: PrivateLoad | PrivateStore, size: int) -> Scalar:
    """The index of an access to an array of `size` elements, after its check."""
    index = code.scalar(op.index)
    bad = outside(code, index, size)
    if bad is not None:
        several = lanes(bad.type) > 1 or index.uniform
        first = None if several else lambda: first_outside(code, (size,), (index,))
        words, name = device.outside_private_array(op.array.name), op.array.name or None
        code.check(op, bad, words, argument=name, index=(index,), shape=(size,), exactly=first)
    if index.uniform or op.index in code.varying:
        return index
    return uniform(scalar_type(op.index.type), *code.one(index))


@LOWERINGS.of(PrivateLoad)
def private_load(code: KernelCode, op: PrivateLoad) -> None:
    """Lower the load of an element: a vector where the index is the same in all lanes, else a gather."""
    held: PrivateHeld = code.env[op.array]
    index, w = checked_index(code, op, held.type.size), code.w
    type = scalar_type(op.result.type)
    stored = wide(memory_type(held.part), code.lanes if not index.uniform else held.width)
    loaded: list[Val] = []
    for number in range(held.parts):
        pointer = w.at(held.pointer, number * held.plane)
        if index.uniform:
            loaded.append(w.load(stored, w.at(pointer, w.mul(index.part, held.stride)), held.alignment))
        else:
            pointers = _places(code, held, pointer, index)
            loaded.append(w.gather(stored, pointers, full_mask(code), held.part.size, zero(stored)))
    code.set(op.result, uniform(type, *(_from_array(code, type, held, part) for part in loaded)))


def store_number(code: KernelCode, op: PrivateStore) -> None:
    """Lower the store of a number: a vector where the index is the same in all lanes, else a scatter."""
    held: PrivateHeld = code.env[op.array]
    index, w = checked_index(code, op, held.type.size), code.w
    value = code.scalar(op.value)
    parts = code.one(value) if held.width == 1 else code.vector(value)
    for number, part in enumerate(parts):
        stored = _to_array(code, held, part)
        pointer = w.at(held.pointer, number * held.plane)
        if not index.uniform:
            w.scatter(stored, _places(code, held, pointer, index), full_mask(code), held.part.size)
            continue
        at = w.at(pointer, w.mul(index.part, held.stride))
        if code.mask is not None and held.width > 1:
            stored = w.select(code.mask, stored, w.load(stored.type, at, held.alignment))
        w.store(stored, at, held.alignment)


def _places(code: KernelCode, held: PrivateHeld, pointer: Val, index: Scalar) -> Val:
    """The address of each lane's element; an array that all lanes share has one for all."""
    w = code.w
    offsets = w.mul(vector(w, index, code.lanes), integer(held.stride, wide("i64", code.lanes)))
    if held.width > 1:
        offsets = w.add(offsets, w.iota(code.lanes, "i64", held.part.size))
    return w.at(pointer, offsets)


def _to_array(code: KernelCode, held: PrivateHeld, part: Val) -> Val:
    if isinstance(held.type.element, Boolean):
        return code.w.convert("zext", part, wide("i8", lanes(part.type)))
    return to_memory(code.w, code.features, held.part, part)


def _from_array(code: KernelCode, type: Number | Boolean, held: PrivateHeld, part: Val) -> Val:
    if isinstance(type, Boolean):
        return code.w.compare("ne", part, zero(part.type))
    return from_memory(code.w, code.features, held.part, part)


@LOWERINGS.of(Undef)
def undef(code: KernelCode, op: Undef) -> None:
    """Lower an undefined number: to 0, as in the interpreter."""
    type = scalar_type(op.result.type)
    code.set(op.result, uniform(type, *code.zero(type, 1)))
