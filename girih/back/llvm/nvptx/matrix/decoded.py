"""Loads of fragments whose components a region decodes from blocks (003 "Cooperative matrix load tensor", `decode`).

A tile that lies inside of its tensor is decoded without a question for each component, so that components of one block
share what they read. Tiles at an edge are decoded by a loop: less code, for what is rare.

A factor of a product that is computed number by number, and is used by nothing else, is `DecodedFragments`: the
product decodes it straight into the shared memory from which it reads, and no register holds the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from girih.analysis.effects import writes
from girih.back.llvm.emit.text import Val, integer, stored_bytes
from girih.back.llvm.lower.one_lane.matrix import tensor as component_wise
from girih.back.llvm.lower.one_lane.matrix.held import (
    EqualComponents,
    Parts,
    matrix,
    matrix_type,
    release,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside
from girih.back.llvm.lower.one_lane.matrix.tensor import PrivateTensorTile, loaded, shared_tensor, unit_of
from girih.back.llvm.lower.tiles.checks import check, is_legal
from girih.back.llvm.numbers.rounding import to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.matrix.choice import factor_types, multiply_instructions
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.fragments import Fragments, from_raw, in_layout, in_registers, layout_of
from girih.back.llvm.nvptx.matrix.layout import FragmentLayout
from girih.back.llvm.nvptx.matrix.memory import chosen
from girih.ir.core import Function, Region
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor

_FEW = 16
"""So many components are decoded each with its own question: that is hardly more code, and no obstacle in a loop."""


@dataclass(frozen=True, slots=True)
class DecodedFragments:
    """A matrix that is decoded where it is used: what the load of its components needs."""

    tensor: PrivateTensorTile
    before: EqualComponents

    @property
    def type(self) -> CoopMatrix:
        """The matrix."""
        return self.tensor.type

    @property
    def layout(self) -> FragmentLayout:
        """Which components a thread has."""
        return layout_of(self.tensor.code, self.type)

    @property
    def inside(self) -> Val:
        """Whether the whole tile is inside of the tensor."""
        return integer(0, "i1") if self.tensor.clips else self.tensor.inside

    def component(self, at: Position, *, inside: bool) -> Parts:
        """The component at a place."""
        return loaded(self.tensor, self.before, at, integer(0), inside=inside)

    def in_registers(self, code: FragmentCode) -> Fragments:
        """The matrix in registers."""
        whole, some = partial(self.unquestioned, code), partial(self.by_loop, code)
        return in_layout(code, self.type, chosen(code, self.inside, whole, some))

    def unquestioned(self, code: FragmentCode) -> list[Val]:
        """The registers where the whole tile is inside of the tensor."""
        positions = (self.layout.position(code, number) for number in range(self.layout.components))
        return list(in_registers(code, self.type, [self.component(at, inside=True) for at in positions]).registers)

    def questioned(self, code: FragmentCode) -> list[Val]:
        """The registers, of each component of which it is asked whether it is inside of the tensor."""
        positions = (self.layout.position(code, number) for number in range(self.layout.components))
        return list(in_registers(code, self.type, [self.component(at, inside=False) for at in positions]).registers)

    def by_loop(self, code: FragmentCode) -> list[Val]:
        """The registers, by way of an array of the thread."""
        w, one = code.w, memory_type(self.type.component)
        count, across, size = self.layout.components, self.layout.threads.count, stored_bytes(one)
        room = code.private(one, count)
        with w.loop(0, self.layout.groups.count) as outer, w.loop(0, across) as inner:
            numbers = (w.convert("trunc", loop.index, "i32") for loop in (outer, inner))
            (part,) = self.component(self.layout.position_of(code, *numbers), inside=False)
            place = w.add(w.mul(outer.index, across), inner.index)
            held = to_memory(w, code.features, self.type.component, part)
            w.store(held, w.at(room, w.mul(place, size)), size)
        raw = [w.load(one, w.at(room, number * size), size) for number in range(count)]
        return list(from_raw(code, self.type, raw).registers)


def load(code: FragmentCode, op: CooperativeMatrixLoadTensor) -> None:
    """The tile of a tensor that is decoded; where components of another matrix may stay, one by one."""
    before = matrix(code, op.init)
    few = layout_of(code, matrix_type(op.result)).components <= _FEW
    if few or not isinstance(before, EqualComponents):
        component_wise.load(code, op)
        return
    tensor = shared_tensor(code, op, matrix_type(op.result), unit_of(op))
    if not is_legal(tensor):
        release(code, op)
        code.set(op.result, EqualComponents(tensor.type, zero_parts(tensor.type.component)))
        return
    check(tensor)
    decoded = DecodedFragments(tensor, before)
    if _is_decoded_by_product(code, op):
        code.set(op.result, decoded)
    else:
        with agreed_outside(code, op, tensor.type):
            code.set(op.result, decoded.in_registers(code))
    release(code, op)


def _is_decoded_by_product(code: FragmentCode, op: CooperativeMatrixLoadTensor) -> bool:
    """Whether the only use is a product number by number, before which nothing writes to memory."""
    readers = [one for one in code.function.walk() if op.result in one.operands]
    if len(readers) != 1 or not isinstance(readers[0], CooperativeMatrixMulAdd) or readers[0].c is op.result:
        return False
    product = readers[0]
    own = 0 if product.a is op.result else 1
    if product.a is product.b or factor_types(product)[own] != matrix_type(op.result):
        return False
    if 1 in matrix_type(op.result).shape or multiply_instructions(code.function, product, code.capability):
        return False
    for region in _regions(code.function):
        numbers = {id(one): number for number, one in enumerate(region.ops)}
        if id(op) in numbers and id(product) in numbers:
            return not any(map(writes, region.ops[numbers[id(op)] : numbers[id(product)]]))
    return False


def _regions(function: Function) -> Iterator[Region]:
    yield function.body
    for op in function.walk():
        yield from op.regions
