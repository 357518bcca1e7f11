"""Work-items that have left, in modules for OpenCL with checks.

OpenCL leaves undefined what a barrier does that a work-item of the work-group never comes to, and drivers for
processors then go on behind it with what was never computed. So a work-item that leaves does not return: it is marked,
and goes on with every barrier. What it stores goes to a few bytes behind the findings record, from where it loads, too;
loops with a condition end for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.back.spirv.binary.assembly import Assembly, enumerant
from girih.back.spirv.binary.opencl_memory import OpenClMemory
from girih.back.spirv.binary.statements import Rule, StatementWriter
from girih.back.spirv.code.nodes import LeaveStatement, ShaderRoutine, Statement


class LeavingWriter(StatementWriter):
    """A kernel that is being written whose work-items stay when they leave, if its memory has a findings record."""

    def __init__(
        self,
        a: Assembly,
        memory: OpenClMemory,
        rules: Mapping[str, Rule],
        types: Callable[[str], int],
        names: Mapping[str, str],
    ) -> None:
        super().__init__(a, memory, rules, types, names)
        self._kept = memory
        self._begun = False

    def statement(self, one: Statement) -> None:
        """Write a statement; the first one follows the mark, which is not set yet."""
        if not self._begun and self._kept.has_record:
            self._begun = True
            self._kept.left = self.local("i8")
            self._mark(0)
        if isinstance(one, LeaveStatement) and self._kept.left:
            self._mark(1)
            return
        super().statement(one)

    def routine(self, routine: ShaderRoutine) -> int:
        """The id of a routine, which knows nothing of the mark."""
        left, self._kept.left = self._kept.left, 0
        begun, self._begun = self._begun, True
        known = super().routine(routine)
        self._kept.left, self._begun = left, begun
        return known

    def goes_on(self, condition: int) -> int:
        """The condition of a loop for a work-item that may have left."""
        if not self._kept.left:
            return condition
        truth = self.a.type("i1")
        stays = self.a.result("OpLogicalNot", truth, self._kept.has_left())
        return self.a.result("OpLogicalAnd", truth, condition, stays)

    def _mark(self, value: int) -> None:
        aligned = (enumerant("MemoryAccess", "Aligned"), 1)
        self.a.emit("OpStore", self._kept.left, self.a.integer(value, 8), *aligned)
