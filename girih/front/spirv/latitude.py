"""What decorations and execution modes say about numbers, kept beside the function for those who vary them."""

from __future__ import annotations

from collections.abc import Sequence

from girih.ir.core import NumberLatitude, Value
from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.types import CooperativeMatrix, Float, Int, Matrix, Type, Vector

ALLOW_CONTRACT = 0x10000
"""The bit of FPFastMathMode that lets operations be contracted (SPIR-V 3.15)."""

_MODES = {
    "DenormPreserve": ("denormals", "preserve"),
    "DenormFlushToZero": ("denormals", "flush"),
    "RoundingModeRTE": ("rounding", "even"),
    "RoundingModeRTZ": ("rounding", "toward_zero"),
}


class LatitudeNotes:
    """What is noted of the results of instructions while they are translated, one instruction of SPIR-V at a time."""

    def __init__(self, facts: Facts, entry: EntryPoint) -> None:
        self._facts = facts
        self._entry = entry
        self._contracted = _fast_by_default(facts, entry)
        self._sets: dict[str, set[Value]] = {"relaxed": set(), "unsigned": set(), "precise": set(), "rounded": set()}
        self._now: tuple[set[Value], ...] = ()

    def enter(self, one: Instruction) -> None:
        """Say which instruction the next results belong to."""
        self._now = tuple(self._sets[name] for name in self._said(one)) if self._speaks(one) else ()

    def note(self, results: Sequence[Value]) -> None:
        """Note the results of an instruction of the ir."""
        for kept in self._now:
            kept.update(results)

    def latitude(self) -> NumberLatitude:
        """What was noted, with the execution modes of the entry point."""
        modes: dict[str, dict[int, str]] = {"denormals": {}, "rounding": {}}
        kept = {name: frozenset(values) for name, values in self._sets.items()}
        for one in self._entry.modes:
            known = _MODES.get(_mode_of(one))
            if known is not None:
                modes[known[0]][_bytes_of(one)] = known[1]
        special = frozenset(_bytes_of(one) for one in self._entry.modes if _mode_of(one) == "SignedZeroInfNanPreserve")
        return NumberLatitude(
            kept["relaxed"],
            kept["unsigned"],
            kept["precise"],
            kept["rounded"],
            denormals=modes["denormals"],
            rounding=modes["rounding"],
            special=special,
        )

    def _speaks(self, one: Instruction) -> bool:
        decorated = one.result in self._facts.annotations.by_target
        return bool(one.result) and (decorated or bool(self._contracted) or one.name == "OpFmaKHR")

    def _said(self, one: Instruction) -> list[str]:
        annotations, found = self._facts.annotations, []
        type = _component(self._facts, one)
        if annotations.has(one.result, "RelaxedPrecision"):
            found.append("relaxed")
            if isinstance(type, Int) and not type.signed:
                found.append("unsigned")
        fast = annotations.parameter(one.result, "FPFastMathMode")
        if fast is None and isinstance(type, Float):
            fast = self._contracted.get(type.width)
        together = fast is None or fast & ALLOW_CONTRACT
        # A product and a sum that are one instruction are rounded once, wherever they stand.
        if annotations.has(one.result, "NoContraction") or not together or one.name == "OpFmaKHR":
            found.append("precise")
        if annotations.has(one.result, "FPRoundingMode"):
            found.append("rounded")
        return found


def _mode_of(one: Instruction) -> str:
    """The name of the execution mode that an instruction declares."""
    return grammar().kinds["ExecutionMode"].name_of(one.id("mode"))


def _parameters(one: Instruction) -> list[int]:
    found = one.get("parameters")
    return [value for value in found if isinstance(value, int)] if isinstance(found, tuple) else []


def _bytes_of(one: Instruction) -> int:
    """The bytes of the floats that an execution mode is about."""
    return _parameters(one)[0] // 8


def _fast_by_default(facts: Facts, entry: EntryPoint) -> dict[int, int]:
    """The FPFastMathDefault of floats of each width that has one."""
    found: dict[int, int] = {}
    for one in entry.modes:
        if _mode_of(one) == "FPFastMathDefault":
            target, mask = _parameters(one)
            type = facts.type(target)
            if isinstance(type, Float):
                found[type.width] = facts.integer(mask)
    return found


def _component(facts: Facts, one: Instruction) -> Type | None:
    """The type of the components of a result; None where it has no type."""
    try:
        type = facts.type(one.result_type)
    except Undetermined:
        return None
    while isinstance(type, Vector | Matrix | CooperativeMatrix):
        type = type.column if isinstance(type, Matrix) else type.component
    return type
