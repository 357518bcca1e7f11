"""Where loads and stores of matrices lie in memory, by the meanings of the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from girih.arguments.memory import ElementView
from girih.arguments.views import address
from girih.interpreter.machine.findings import Findings
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.numbers import dtype
from girih.interpreter.machine.values import Array, Mask
from girih.interpreter.tile.coopmatrix import Tile
from girih.interpreter.tile.coopmatrix_tensor import TensorOperand
from girih.ir.core import Op
from girih.ir.types import CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixStore
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor, block_bytes
from girih.tile.simulate.matrices import execute

Loads = CooperativeMatrixLoad | CooperativeMatrixLoadTensor
Stores = CooperativeMatrixStore | CooperativeMatrixStoreTensor


@dataclass(frozen=True, slots=True, eq=False)
class AccessedElements:
    """The elements of a memory that a matrix is loaded from or stored to: arrays of its rows and columns.

    A component takes `unit` bytes of memory from its element on: its own, or those of the block it is decoded from.
    """

    view: ElementView
    flat: Array
    usable: Mask
    unit: int

    def rows(self, own: slice) -> AccessedElements:
        """Those of some rows."""
        return AccessedElements(self.view, self.flat[own], self.usable[own], self.unit)

    @property
    def bytes(self) -> Array:
        """The bytes of usable elements, one after the other, in the memory."""
        size = self.view.data.itemsize
        first = first_byte(self.view) + self.flat[self.usable][:, None] * size
        return np.asarray((first + np.arange(self.unit)).ravel())


def first_byte(view: ElementView) -> int:
    """The byte of the memory that the elements of a view begin with."""
    return address(view.data) - address(view.memory.bytes)


def matrix_of(op: Loads | Stores) -> CoopMatrix:
    """The type of the matrix."""
    type = op.result.type if isinstance(op, CooperativeMatrixLoad | CooperativeMatrixLoadTensor) else op.matrix.type
    assert isinstance(type, CoopMatrix)
    return type


@contextmanager
def finding(machine: Machine, findings: Findings) -> Iterator[None]:
    """A context in which what the machine finds is kept; otherwise it is dropped, as only `Verify` finds something."""
    before, machine.findings = machine.findings, findings
    yield
    machine.findings = before


def accessed(machine: Machine, op: Op) -> AccessedElements:
    """The elements of an access; what is wrong with it is found."""
    assert isinstance(op, Loads | Stores)
    type = matrix_of(op)
    if isinstance(op, CooperativeMatrixLoad | CooperativeMatrixStore):
        tile = Tile(machine, op, type)
        view, (flat, usable) = tile.memref.elements, tile.elements()
        unit = view.data.itemsize
    else:
        store, unit = isinstance(op, CooperativeMatrixStoreTensor), type.component.size
        if isinstance(op, CooperativeMatrixLoadTensor) and isinstance(op.block_type, MemRef):
            unit = block_bytes(op.block_type)
        tensor = TensorOperand(machine, op, type, store=store, unit=unit)
        view, (flat, usable) = tensor.memref.elements, tensor.touched()
    full = (1, 1, *type.shape)
    return AccessedElements(view, np.broadcast_to(flat, full)[0, 0], np.broadcast_to(usable, full)[0, 0], unit)


def loaded(machine: Machine, op: Op) -> Array:
    """The matrix that a load results in."""
    assert isinstance(op, Loads)
    type = matrix_of(op)
    if isinstance(op, CooperativeMatrixLoadTensor):
        machine.env[op.init] = np.zeros((1, 1, *type.shape), dtype(type.component))
    execute(machine, op)
    return np.asarray(np.broadcast_to(machine.array(op.result), (1, 1, *type.shape))[0, 0])
