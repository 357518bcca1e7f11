"""The registers that `wgmma` has while it goes on, and who touches them too early (PTX ISA "wgmma.mma_async").

A product has its sums and the fragment of its left factor until `wgmma.wait_group` has waited for its group; meanwhile
only another product of the same shape may add to the same sums. Before the first product, and after any other access of
these registers, `wgmma.fence` comes.

A move from one register to another is a renaming, as compilers write it around loops and inline assembly and assemblers
take it away: what is said of the one register is said of the other after it, and constants are moved in at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.back.nvptx.ptx_machine.build import Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.layout import Layout
from tests.back.nvptx.ptx_machine.masks import Mask
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.syntax import Address, Listed, Negated, Operand, Pair, Sum, Vector, Word
from tests.back.nvptx.ptx_machine.types import Array

_FACTOR = -1
"""What stands for the place in the sums where a register has a part of the left factor."""


@dataclass(slots=True)
class InFlight:
    """What is known of the registers that are watched, by warps: arrays `[warp, register]`."""

    places: dict[int, int]
    """The place of each register that is watched, by its slot."""
    names: list[str]
    group: Array
    """The group of the product that has a register, 0 for none."""
    chain: Array
    """The product that began the sums in a register."""
    part: Array
    """Which part of the sums of which shape it is; `_FACTOR` for a left factor."""
    touched: Array
    """How many fences there had been when something else touched it; -1: nothing has."""
    open: Array
    """The group that products join, of each warp."""
    waited: Array
    """The last group that was waited for, of each warp."""
    fences: Array
    products: int = 0
    """How many products there were."""

    @staticmethod
    def of(threads: int, places: dict[int, int], names: dict[int, str]) -> InFlight:
        warps = -(-threads // WARP)
        shape = (warps, len(places))
        ordered = sorted(places, key=lambda slot: places[slot])
        zeros = (np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        opened, waited, fences = (np.full(warps, one) for one in (1, 0, 0))
        words = [names[one] for one in ordered]
        return InFlight(places, words, *zeros, np.full(shape, -1), opened, waited, fences)

    def touch(self, mask: Mask, registers: Array) -> None:
        """Something that is no product reads or writes registers."""
        warps = mask.warps
        rows = np.ix_(warps, registers)
        self._free(warps, registers, rows, "is touched")
        self.touched[rows] = self.fences[warps, None]

    def move(self, mask: Mask, to: int, source: int) -> None:
        """A register is moved to another one; `source` is -1 for a constant."""
        warps = mask.warps
        held = self.group[warps, to] > self.waited[warps]
        if source < 0:
            if held.any():
                self._told("is written", to)
            self.group[warps, to], self.touched[warps, to] = 0, -1
            return
        if held.any() and (held & (self.chain[warps, to] != self.chain[warps, source])).any():
            self._told("is written", to)
        for one in (self.group, self.chain, self.part, self.touched):
            one[warps, to] = one[warps, source]

    def begin(self, warps: Array, sums: Array, factor: Array, shape: int) -> None:
        """A product of a warpgroup begins, with the registers of its sums and of its left factor."""
        for one, what in ((sums, "sums"), (factor, "the left factor")):
            early = self.touched[np.ix_(warps, one)] >= self.fences[warps, None]
            if early.any():
                name = self.names[int(one[np.flatnonzero(early.any(0))[0]])]
                raise Fault(f"{name}, of {what}, was touched after the last wgmma.fence")
        if (self.fences[warps] == 0).any():
            raise Fault("there was no wgmma.fence before the first product")
        parts = shape * 1024 + np.arange(len(sums))
        held = self.group[np.ix_(warps, sums)] > self.waited[warps, None]
        wrong = held & (self.part[np.ix_(warps, sums)] != parts)
        if wrong.any():
            self._told("belongs to other sums, or to a factor,", int(sums[np.flatnonzero(wrong.any(0))[0]]))
        rows = np.ix_(warps, factor)
        wrong = (self.group[rows] > self.waited[warps, None]) & (self.part[rows] != _FACTOR)
        if wrong.any():
            self._told("is a left factor", int(factor[np.flatnonzero(wrong.any(0))[0]]))
        self.products += 1
        now = self.open[warps, None]
        fresh = ~held
        rows = np.ix_(warps, sums)
        self.chain[rows] = np.where(fresh, self.products, self.chain[rows])
        self.group[rows], self.part[rows] = now, parts
        rows = np.ix_(warps, factor)
        self.group[rows], self.part[rows], self.chain[rows] = now, _FACTOR, self.products

    def fence(self, mask: Mask) -> None:
        self.fences[mask.warps] += 1

    def commit(self, mask: Mask) -> None:
        self.open[mask.warps] += 1

    def wait(self, mask: Mask, kept: int) -> None:
        """Wait for all groups but the last ones, `kept` of them."""
        warps = mask.warps
        self.waited[warps] = np.maximum(self.waited[warps], self.open[warps] - 1 - kept)

    def ended(self, on: Array) -> None:
        """Threads end."""
        for warp in np.unique(np.flatnonzero(on) // WARP):
            if (self.group[warp] > self.waited[warp]).any():
                raise Fault(f"warp {warp} ends while wgmma goes on: its groups were not waited for")

    def _free(self, warps: Array, registers: Array, rows: tuple[Array, ...], does: str) -> None:
        held = self.group[rows] > self.waited[warps, None]
        if held.any():
            self._told(does, int(registers[np.flatnonzero(held.any(0))[0]]))

    def _told(self, does: str, register: int) -> None:
        raise Fault(f"{self.names[register]} {does} while wgmma has it: no wgmma.wait_group has waited for its group")


# --- which registers are watched -----------------------------------------------------------------


def watch_registers(steps: Sequence[Step], layout: Layout) -> dict[int, int]:
    """Make the instructions of a module that touch registers of `wgmma` say so. The places of these, by their slots."""
    if not layout.product_slots:
        return {}
    moves = {id(step): found for step in steps if (found := _move(step, layout)) is not None}
    beside: dict[int, set[int]] = {}
    for to, source in moves.values():
        if source >= 0:
            beside.setdefault(to, set()).add(source)
            beside.setdefault(source, set()).add(to)
    watched, left = set(layout.product_slots), list(layout.product_slots)
    while left:
        for one in beside.get(left.pop(), ()):
            if one not in watched:
                watched.add(one)
                left.append(one)
    places = {slot: place for place, slot in enumerate(sorted(watched))}
    for step in steps:
        if not step.instruction.opcode.startswith("wgmma"):
            _watch(step, moves.get(id(step)), layout, places)
    return places


def _watch(step: Step, move: tuple[int, int] | None, layout: Layout, places: dict[int, int]) -> None:
    if move is not None:
        to, source = move
        if to in places:
            step.watched = (places[to], places.get(source, -1))
        return
    touched = sorted({places[one] for one in _slots(step, layout, step.instruction.operands) if one in places})
    if touched:
        step.touches = np.array(touched)


def _move(step: Step, layout: Layout) -> tuple[int, int] | None:
    """The registers of a move; -1 for a source that is no register."""
    one = step.instruction
    if not one.opcode.startswith("mov.") or len(one.operands) != 2:
        return None
    to = _slot(step, layout, one.operands[0])
    if to < 0 or isinstance(one.operands[1], Vector):
        return None
    return to, _slot(step, layout, one.operands[1])


def _slot(step: Step, layout: Layout, operand: Operand) -> int:
    if not isinstance(operand, Word):
        return -1
    found = layout.register(step.instruction.scope, operand.name)
    return -1 if found is None else found.slot


def _slots(step: Step, layout: Layout, operands: Sequence[Operand]) -> set[int]:
    """The registers of operands."""
    found: set[int] = set()
    for one in operands:
        match one:
            case Word():
                found.add(_slot(step, layout, one))
            case Vector(parts=parts) | Listed(parts=parts):
                found |= _slots(step, layout, parts)
            case Pair(first=first, second=second):
                found |= _slots(step, layout, (first, second))
            case Negated(of=word) | Sum(base=word):
                found.add(_slot(step, layout, word))
            case Address(base=base, coordinates=coordinates):
                found |= _slots(step, layout, (*coordinates, *([] if base is None else [base])))
            case _:
                pass
    return found - {-1}
