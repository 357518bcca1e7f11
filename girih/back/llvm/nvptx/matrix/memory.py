"""Loads and stores of fragments (`girih.ops.tile.coopmatrix`): straight between memory and the registers of `mma`.

Where neighbours in memory are neighbours of a thread, they are moved together, up to 16 bytes at a time. That needs a
tile that is all there, and lines that begin at multiples of what is moved: where only a launch knows, the code asks,
and has both ways. Else each component is moved by itself, and what lies outside is left out.

`ldmatrix` is not used: it deals out rows of 16 bytes to four threads each. Here each thread has 16 bytes of its own,
which it loads from shared memory as fast, and from any memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from girih.back.llvm.emit.text import Operand, Val, integer, wide
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import blocked, memory
from girih.back.llvm.lower.one_lane.matrix.held import matrix_type
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.memory import (
    PrivateWindow,
    checked_window,
    filled,
    load_parts,
    store_parts,
    taken,
)
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.fragments import (
    Fragments,
    fragments,
    from_raw,
    in_layout,
    layout_of,
    packed,
    register_type,
)
from girih.back.llvm.nvptx.matrix.layout import DealtMode, FragmentLayout
from girih.ir.core import Op
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixAtomicAdd,
    CooperativeMatrixAtomicMax,
    CooperativeMatrixAtomicMin,
    CooperativeMatrixAtomicStore,
    CooperativeMatrixLoad,
    CooperativeMatrixStore,
)
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixStoreBlockedInterleaved

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""

_WIDEST = 16
"""The bytes that a thread moves at most at once."""


@dataclass(frozen=True, slots=True)
class WideTile:
    """A tile whose components a thread moves `many` at once: neighbours along the mode of groups, or of threads."""

    code: FragmentCode
    type: CoopMatrix
    window: PrivateWindow
    along_groups: bool
    many: int

    @property
    def layout(self) -> FragmentLayout:
        """Which components a thread has."""
        return layout_of(self.code, self.type)

    @property
    def bytes(self) -> int:
        """The bytes that are moved at once, at multiples of that."""
        return self.many * self.type.component.size

    @property
    def other_step(self) -> Operand:
        """The bytes from one line of neighbours to the next."""
        return self.window.steps[0 if self.along_groups == self.layout.turned else 1]

    def suitable(self) -> Val:
        """Whether the tile may be accessed so."""
        code, w = self.code, self.code.w
        lines = self.layout.threads if self.along_groups else self.layout.groups
        place: Operand = code.aligned_offset(self.window.pointer)
        if not lines.shared:
            place = w.binary("or", place, self.other_step)
        aligned = w.compare("eq", w.binary("and", place, self.bytes - 1), 0)
        suitable = w.both(aligned, self.window.whole)
        return integer(1, "i1") if suitable is None else suitable

    def pieces(self) -> list[tuple[Val, list[int]]]:
        """The addresses of what the thread moves at once, and the numbers of its components."""
        layout, w = self.layout, self.code.w
        begin = w.at(w.at(self.window.pointer, self._first(layout.groups)), self._first(layout.threads))
        near, far = (layout.groups, layout.threads) if self.along_groups else (layout.threads, layout.groups)
        found = []
        row, place, step = begin, 0, _here(self.code, self.other_step)
        for line in range(far.count):
            # From line to line: the distances of all lines, in front of a loop, would take registers from others.
            row = w.at(row, w.mul(far.begin(line) - place, step))
            place = far.begin(line)
            for first in range(0, near.count, self.many):
                address = w.at(row, near.begin(first) * self.type.component.size)
                numbers = range(first, first + self.many)
                width = layout.threads.count
                held = [k * width + line if self.along_groups else line * width + k for k in numbers]
                found.append((address, held))
        return found

    def _first(self, mode: DealtMode) -> Val:
        """The bytes from the begin of the tile to the first component of the thread."""
        w = self.code.w
        step = self.window.steps[(mode is self.layout.groups) == self.layout.turned]
        return w.mul(w.convert("zext", mode.first(self.code), "i64"), step)


def wide_access(code: FragmentCode, type: CoopMatrix, window: PrivateWindow) -> WideTile | None:
    """How components are moved that are neighbours; None where none are, or where the tile is padded."""
    layout, size = layout_of(code, type), type.component.size
    for along_groups, mode in ((False, layout.threads), (True, layout.groups)):
        step = window.steps[along_groups == layout.turned]
        near = step == size or (isinstance(step, Val) and step.literal == size)
        padded = any(not one.shared and one.padded != one.extent for one in (layout.groups, layout.threads))
        if near and not padded and mode.chunk > 1:
            return WideTile(code, type, window, along_groups, min(mode.chunk, _WIDEST // size))
    return None


def chosen(
    code: FragmentCode, suitable: Val, whole: Callable[[], list[Val]], single: Callable[[], list[Val]]
) -> list[Val]:
    """What the code for `suitable` tiles gives, or that for all others, whose registers go on."""
    if suitable.literal is not None:
        return whole() if suitable.literal else single()
    return code.w.either(suitable, whole, single, rare=True)


@contextmanager
def apart(code: FragmentCode, window: PrivateWindow) -> Iterator[PrivateWindow]:
    """A context for code that goes component by component, and the window for it.

    Nothing of its many addresses is computed in front of loops, where it would take registers of other code.
    """
    lane = code.lane
    code.lane = code.here(lane)
    yield replace(window, steps=(_here(code, window.steps[0]), _here(code, window.steps[1])))
    code.lane = lane


def _here(code: FragmentCode, step: Operand) -> Operand:
    return code.here(step) if isinstance(step, Val) and step.literal is None else step


@LOWERINGS.of(CooperativeMatrixLoad)
def load(code: FragmentCode, op: CooperativeMatrixLoad) -> None:
    """The tile of a memref; what a check leaves out is zero."""
    type = matrix_type(op.result)
    window = checked_window(code, op, op.memory, (op.row, op.column), type)
    access = wide_access(code, type, window)

    def single() -> list[Val]:
        with apart(code, window) as here:
            held = filled(
                code,
                op.result,
                lambda at: here.wanted(code, at),
                lambda at, _: load_parts(code, type.component, here.address(code, at)),
            )
        assert isinstance(held, Fragments)
        return list(held.registers)

    if access is None:
        code.set(op.result, in_layout(code, type, single()))
        return
    registers = chosen(code, access.suitable(), partial(loaded_wide, access), single)
    code.set(op.result, in_layout(code, type, registers))


def loaded_wide(access: WideTile) -> list[Val]:
    """The registers of a tile, loaded many components at a time."""
    code, w, type = access.code, access.code.w, access.type
    if not access.along_groups:
        word, each = register_type(type, access.layout), packed(type.component, access.layout)
        found: list[Val] = []
        for address, numbers in access.pieces():
            held = w.load(wide(word, len(numbers) // each), address, access.bytes)
            found += [w.extract(held, k) for k in range(len(numbers) // each)]
        return found
    raw: dict[int, Val] = {}
    for address, numbers in access.pieces():
        held = w.load(wide(memory_type(type.component), len(numbers)), address, access.bytes)
        raw |= {number: w.extract(held, k) for k, number in enumerate(numbers)}
    return list(from_raw(code, type, [raw[number] for number in range(len(raw))]).registers)


def written(code: FragmentCode, op: Op, rule: Callable[[FragmentCode, Any], None]) -> None:
    """Lower an instruction that writes a matrix to memory.

    Where several warps hold the same components one of them writes, behind what the others have read there, and before
    what they read there next: for all that may be done by one work-item.
    """
    matrices = [value for value in op.operands if isinstance(value.type, CoopMatrix)]
    before = {value: code.env[value] for value in matrices}
    for value in matrices:
        code.set(value, fragments(code, value))
    repeated = any(matrix_type(v).of_work_group and layout_of(code, matrix_type(v)).repeated for v in matrices)
    if repeated:
        code.barrier()
    rule(code, op)
    if repeated:
        code.barrier()
    code.env.update(before)


def _store(code: FragmentCode, op: CooperativeMatrixStore) -> None:
    """Write the matrix to the tile of a memref."""
    m = fragments(code, op.matrix)
    type = m.type
    window = checked_window(code, op, op.memory, (op.row, op.column), type)
    access = wide_access(code, type, window)

    def single() -> list[Val]:
        with apart(code, window) as here:

            def put(at: Position, component: Val) -> None:
                store_parts(code, type.component, here.address(code, at), m.read(code, component))

            taken(code, m, lambda at: here.wanted(code, at), put)
        return []

    if access is None:
        single()
        return
    chosen(code, access.suitable(), partial(stored_wide, access, m), single)


def stored_wide(access: WideTile, m: Fragments) -> list[Val]:
    """Store a tile many components at a time, each by one of the threads that hold it; nothing to hand on."""
    code, w, each = access.code, access.code.w, m.packed

    def put() -> None:
        for address, numbers in access.pieces():
            if not access.along_groups:
                held = w.join([m.registers[number // each] for number in numbers[::each]])
            else:
                held = w.join([m.raw(code, number) for number in numbers])
            w.store(held, address, access.bytes)

    owned = m.layout.owned(code)
    if owned is None:
        put()
    else:
        with w.when(owned):
            put()
    return []


def _write_in_turn(op: type[Op], rule: Callable[[FragmentCode, Any], None]) -> None:
    LOWERINGS.of(op)(lambda code, op: written(code, op, rule))


_write_in_turn(CooperativeMatrixStore, _store)
_write_in_turn(CooperativeMatrixStoreBlockedInterleaved, blocked.store)
_write_in_turn(CooperativeMatrixAtomicStore, memory.atomic_store)
for _update in (CooperativeMatrixAtomicAdd, CooperativeMatrixAtomicMax, CooperativeMatrixAtomicMin):
    _write_in_turn(_update, memory.atomic_update)

ELEMENTS: Lowerings[Any] = Lowerings[Any]().joined(memory.LOWERINGS, blocked.LOWERINGS).replaced(LOWERINGS)
"""All accesses to memory: atomic ones go component by component, as everywhere."""
