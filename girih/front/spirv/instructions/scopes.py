"""Scopes and memory semantics of SPIR-V (3.25, 3.27), which are constants, as those of the ir."""

from __future__ import annotations

from girih.front.spirv.translation import Translation
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Scope, Semantics

INVOCATION = 4
"""The scope of a single work-item, in which nothing needs an order."""

_SCOPES = {
    0: Scope.CROSS_DEVICE,
    1: Scope.DEVICE,
    2: Scope.WORK_GROUP,
    3: Scope.SUBGROUP,
    INVOCATION: Scope.SUBGROUP,
    5: Scope.DEVICE,
}
"""Scope by its number. A queue family is the device; there is no smaller scope than the subgroup."""

_ORDERS = (
    (0x10, Semantics.SEQUENTIALLY_CONSISTENT),
    (0x8, Semantics.ACQUIRE_RELEASE),
    (0x2 | 0x4, Semantics.ACQUIRE_RELEASE),
    (0x4, Semantics.RELEASE),
    (0x2, Semantics.ACQUIRE),
)
_GLOBAL = 0x40 | 0x200
"""UniformMemory and CrossWorkgroupMemory: buffers, and what addresses point to."""

_LOCAL = 0x100
"""WorkgroupMemory."""


@dataclass(frozen=True, slots=True)
class MemoryFields:
    """What the memory operands of an instruction are in the ir: fields of barriers and atomic accesses."""

    scope: Scope
    semantics: Semantics
    global_fence: bool
    local_fence: bool

    def fields(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "scope": self.scope,
            "semantics": self.semantics,
            "global_fence": self.global_fence,
            "local_fence": self.local_fence,
        }


def memory_fields(t: Translation, scope: int, *semantics: int) -> MemoryFields:
    """The fields for the ids of a scope and of semantics; of several, as of a comparison, all that they order."""
    bits = 0
    for id in semantics:
        bits |= t.integer(id)
    number = t.integer(scope)
    order = next((order for mask, order in _ORDERS if bits & mask == mask), Semantics.RELAXED)
    if number == INVOCATION:
        order = Semantics.RELAXED
    ordered = order is not Semantics.RELAXED
    return MemoryFields(_SCOPES[number], order, ordered and bool(bits & _GLOBAL), ordered and bool(bits & _LOCAL))
