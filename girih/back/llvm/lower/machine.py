"""The protocol between lowered code and the machine that will execute it, which a target implements.

A lowering writes code for `lanes` work-items at once: as vectors with one element per work-item, or as scalars if
`lanes` is 1. Loads, arithmetic and control flow follow from that number alone. The protocol has the rest, in which
machines differ: how their work-items wait for each other, compare values, share memory, and stop.

Three machines implement it:

    CPU         lanes are vectors with masks, a subgroup is one vector, subgroups that wait are coroutines
    GPU         one lane: a work-item is a thread of its own; barriers, shuffles and votes are instructions
    tests       one lane: a work-item is a coroutine; shuffles are exchange through memory (tests/back/one_lane)

`KernelCode` has the place of the work-group and the size of the grid as values (`group`, `grid`), and `place.subgroup`
is the number of the subgroup; the protocol has the number of a work-item. The module knows how a value is hidden from
LLVM (`ModuleText.registers`, `Writer.opaque`).

The writer tells whether a mask holds in `any` or `all` of the lanes (`Writer.any`, `Writer.all`): these are the
work-items that one piece of code stands for. `agreed` and `met_by_all` ask all work-items of a subgroup or work-group.

In a collective region the work-group acts as one. A machine executes it once, or by every work-item; in the second case
`once` and `in_step` keep up that appearance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.numbers.values import Scalar
from girih.ir.core import Op, Value
from girih.ops.tile.control import For
from girih.ops.tile.memory import Scope


class Executing(ABC):
    """The execution of the work-items of a work-group. Each method writes code at the current place of lowering."""

    __slots__ = ()

    @property
    @abstractmethod
    def features(self) -> Features:
        """The conversions of numbers for which the machine has instructions."""

    @property
    def checks_delay(self) -> bool:
        """Whether what stands behind a check waits for it: no load of a later iteration is under way before it."""
        return False

    @abstractmethod
    def writes_versions(self, loop: Op, *by: Value) -> bool:
        """Whether a loop may become two, with checks and without, of which a branch on some values takes one."""

    def chosen(self, loop: Op, condition: Val) -> Val:
        """The condition on which a version of a loop is taken, where threads that meet in it need the same one."""
        return condition

    def iterations_at_once(self, loop: For) -> tuple[int, int]:
        """How many iterations of a loop are written together: LLVM does not do that where threads meet.

        The second number says how many instructions of each, the first ones, stand before the others of all of them.
        """
        return 1, 0

    # --- where ---------------------------------------------------------------------------

    @abstractmethod
    def work_item(self) -> Scalar:
        """The number of each work-item in its subgroup, an i32."""

    # --- together ------------------------------------------------------------------------

    @abstractmethod
    def barrier(self) -> None:
        """Wait for all work-items of the work-group; their earlier writes are visible after it."""

    @abstractmethod
    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Find (run.divergent) an instruction that only some work-items meet, of the subgroup or `work_group`."""

    @abstractmethod
    def agreed(self, op: Op, name: str, held: Scalar) -> tuple[Val, ...]:
        """The parts of the operand `name`, a value that all active work-items share: of the subgroup in an SPMD region,
        of the work-group in a collective one. If they do not share it, that is a finding (run.not_uniform)."""

    @abstractmethod
    def once(self, body: Callable[[], None], *, apart: bool) -> None:
        """Write code that the work-group executes once in a collective region, such as a store.

        In an SPMD region every work-item executes it, and in a collective one too if `apart`: the places may differ.
        """

    @abstractmethod
    def in_step(self) -> None:
        """In a collective region, make sure that all work-items have executed the code before this place."""

    # --- memory --------------------------------------------------------------------------

    @abstractmethod
    def local(self, size: int, align: int) -> Val:
        """The address of bytes that the work-group shares until the end of the region."""

    @abstractmethod
    def scratch(self, size: int, align: int = 64) -> Val:
        """The address of bytes for the work-items that this code stands for, until the end of the region."""

    @abstractmethod
    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        """LLVM's synchronisation scope for an atomic access: `""` for all threads of the system, None if no other
        thread can interfere, so that no atomic instruction is needed. `local` accesses are to local memory."""

    # --- leaving -------------------------------------------------------------------------

    @abstractmethod
    def ask(self) -> None:
        """Leave the kernel if the launch has been ended, where a loop has taken long; nothing where others end it."""

    @abstractmethod
    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Record the finding of a check, unless there is one already, and end the block: the launch stops.

        `lane` counts the work-items that this code stands for, `values` are those that the site reports, as `i64`.
        """
