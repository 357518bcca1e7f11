"""The operands of a tensor copy where each work-item is a thread: numbers that all threads of the work-group share."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.launch.descriptor import FIRST_OFFSET, NO_OPERAND
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.numbers.values import MapHeld
from girih.ir.core import Value
from girih.lazy_dataclass import dataclass
from girih.ops.tile.tensor_map import TensorCopy, TensorCopyLoadIm2col


@dataclass(slots=True)
class CopyOperands:
    """The operands of a copy: the map, coordinates and offsets as i64, and the address of its local memory."""

    held: MapHeld
    coordinates: list[Val]
    offsets: list[Val]
    local: Val

    @staticmethod
    def of(code: OneLaneCode, op: TensorCopy) -> CopyOperands:
        """Those of an instruction, which all threads execute. What differs among them is a finding."""
        memref = code.memref(op.local)
        given = op.offsets if isinstance(op, TensorCopyLoadIm2col) else ()
        coordinates = [_shared(code, op, "coordinates", c) for c in op.coordinates]
        offsets = [_shared(code, op, "offsets", c) for c in given]
        (first,) = code.agreed(op, "local", memref.offset)
        local = code.w.at(memref.pointer, code.w.mul(first, memref.element.size))
        return CopyOperands(code.env[op.map], coordinates, offsets, local)

    def chosen(self, code: OneLaneCode, number: Val) -> Val:
        """A coordinate or an offset by its position, as descriptors count them; 0 where there is none."""
        w = code.w
        numbered = [*enumerate(self.coordinates), *enumerate(self.offsets, FIRST_OFFSET)]
        found = integer(0)
        for position, value in numbered:
            if position < NO_OPERAND:
                found = w.select(w.compare("eq", number, integer(position)), value, found)
        return found


def _shared(code: OneLaneCode, op: TensorCopy, name: str, value: Value | int) -> Val:
    """An operand that is the same in all threads: a number of the text, or a value that they agree on."""
    held = code.index(value)
    return held.part if isinstance(value, int) else code.agreed(op, name, held)[0]
