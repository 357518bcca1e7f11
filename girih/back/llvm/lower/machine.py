"""What lowered code asks of the machine that will execute it: the protocol that a target implements.

A lowering writes code for `lanes` work-items at once: as vectors with one element per work-item, or, where `lanes` is
1, as scalars. Loads, arithmetic and control flow follow from that number alone. What does not is asked here, and is a
machine's own: how its work-items wait for each other, compare values, share memory, and stop.

Three machines are meant by it:

    CPU         lanes are vectors with masks, a subgroup is one vector, subgroups that wait are coroutines
    GPU         one lane: a work-item is a thread of its own; barriers, shuffles and votes are instructions
    tests       one lane: a work-item is a coroutine; shuffles are exchange through memory (tests/back/one_lane)

Where a work-group is and how many there are, `KernelCode` holds as values (`group`, `grid`), and `place.subgroup` is
the number of the subgroup; what is asked is the number of a work-item. How a value is hidden from LLVM, the module is
told when it is made (`ModuleText.registers`, `Writer.opaque`).

Whether a mask holds in `any` or `all` of the lanes is asked of the writer (`Writer.any`, `Writer.all`): it is about the
work-items that one piece of code stands for. Questions to all work-items of a subgroup or work-group are `agreed` and
`met_by_all`.

In a collective region the work-group acts as one. A machine executes it once, or by every work-item; in the second case
`once` and `in_step` keep up that appearance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.numbers.rounding import Features
from girih.back.llvm.numbers.values import Scalar
from girih.ir.core import Op
from girih.ops.tile.memory import Scope


class Executing(ABC):
    """How the work-items of a work-group are executed. Each method writes code at the place where lowering stands."""

    __slots__ = ()

    @property
    @abstractmethod
    def features(self) -> Features:
        """Which conversions of numbers are instructions."""

    # --- where ---------------------------------------------------------------------------

    @abstractmethod
    def work_item(self) -> Scalar:
        """The number of each work-item in its subgroup, an i32."""

    # --- together ------------------------------------------------------------------------

    @abstractmethod
    def barrier(self) -> None:
        """Wait for all work-items of the work-group; what they wrote before is visible behind it."""

    @abstractmethod
    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Find (run.divergent) an instruction that only some work-items meet, of the subgroup or `work_group`."""

    @abstractmethod
    def agreed(self, op: Op, name: str, held: Scalar) -> tuple[Val, ...]:
        """The parts of the operand `name`, one value that all active work-items share; a finding (run.not_uniform)
        where they do not: of the subgroup in an SPMD region, of the work-group in a collective one."""

    @abstractmethod
    def once(self, body: Callable[[], None], *, apart: bool) -> None:
        """Do what the work-group does once in a collective region, such as a store; in an SPMD region, just do it.

        `apart` where the work-items do it at places that may differ: then each does it.
        """

    @abstractmethod
    def in_step(self) -> None:
        """In a collective region, all work-items have done what stands before."""

    # --- memory --------------------------------------------------------------------------

    @abstractmethod
    def local(self, size: int, align: int) -> Val:
        """The address of bytes that the work-group shares until the end of the region."""

    @abstractmethod
    def scratch(self, size: int, align: int = 64) -> Val:
        """The address of bytes for the work-items that this code stands for, until the end of the region."""

    @abstractmethod
    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        """LLVM's synchronisation scope for an atomic access: `""` for all threads of the system, None where no atomic
        instruction is needed, since no other thread can meet the access. `local`: it is to local memory."""

    # --- leaving -------------------------------------------------------------------------

    @abstractmethod
    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Record the finding of a check, unless there is one already, and end the block: the launch stops.

        `lane` counts the work-items that this code stands for, `values` are what the site tells, as `i64`.
        """
