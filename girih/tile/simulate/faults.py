"""What a schedule can do wrong: the rules that the simulator holds it to, and the fault that names the broken one."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "form": "names, shapes and types of the parts of a form fit each other",
    "registers": "the registers of all threads fit the multiprocessor, and matrices those of a consumer",
    "shared": "rings, stagings and barriers fit the shared memory of a CTA",
    "value": "a role computes a scalar before it uses it",
    "deadlock": "every wait ends",
    "phase": "a wait ends with the phase that it is meant for",
    "bytes": "the copies of a slot bring the bytes that its barrier expects",
    "filled": "a consumer finds each byte of a slot filled",
    "held": "products read slots that the consumer has",
    "reused": "a slot is given back when the products that read it are settled, and not overwritten before",
    "kept": "slots that were awaited are given back when a work-group ends",
    "balance": "a ring is supplied as often as each consumer awaits it",
    "unsettled": "registers of a product are not touched before it is settled",
    "running": "products are settled when a work-group ends",
    "unwritten": "registers are written before they are read",
    "spread": "a matrix has equal numbers where its registers have one for them",
    "reclaimed": "a staging is written when no store reads it any more",
    "staged": "a store sends what was staged since the staging was reclaimed",
    "parts": "sums of parts of the depth are added up when all were offered, each once",
    "turn": "a turn is passed by who has it, once",
    "copy": "a copy has operands that the copy engine takes",
    "order": "an access to memory comes after what the program does there before",
}
"""The rules by their names. Where a page says more: docs/design/tile.md, "What must hold"."""


class ScheduleFault(Exception):
    """A schedule that breaks a rule: which one, what happened, and where: the role, the work-group, the step."""

    def __init__(self, rule: str, what: str, where: str = "") -> None:
        self.rule, self.what, self.where = rule, what, where
        super().__init__(f"{where}: {what}" if where else what)

    @property
    def expected(self) -> str:
        """The rule in words."""
        return RULES[self.rule]
