"""An entry point in the device language, and what a launch must know of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from girih.ir.core import Function
from girih.ir.types import MemRef
from girih.lazy_dataclass import dataclass
from girih.spirv.model.declared.bindings import ShaderInterface


@dataclass(frozen=True, slots=True, eq=False)
class Translated:
    """An entry point as a function of the ir.

    The parameters of `function` are those of `interface`. Without addresses: a buffer, or a group of buffers, for each
    resource, then push constants if there are any. With addresses: one group of all buffers, push constants if there
    are any, then the addresses of the buffers. `local_size` is the size of a work-group in work-items along x, y and z.
    """

    function: Function
    local_size: tuple[int, int, int]
    interface: ShaderInterface

    def local_bytes(self) -> Iterator[int]:
        """The bytes of each variable of a work-group."""
        for op in self.function.body.ops:
            if op.spec.mnemonic == "alloca" and isinstance(op.results[0].type, MemRef):
                type = op.results[0].type
                yield type.element.size * prod(size or 0 for size in type.shape)
