"""What opcodes and enumerants need of a module: capabilities, versions, extensions (SPIR-V 3.1, 2.18 and the grammar).

A fault stands at the instruction and blames the operand, where an enumerant or a bit of a mask is at fault; its
parameters stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from girih.spirv.grammar import GrammarEntry, OperandKind, bits_of, grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.vocabulary import STORED_16

CAPABILITY, VERSION, LAST_VERSION, EXTENSION = "capability", "version", "last_version", "extension"
RESERVED_OPCODE = "reserved"

MENTIONED_BUILT_INS = frozenset({"PointSize", "ClipDistance", "CullDistance"})
"""Built-ins whose mention needs no capability, only their use (as spirv-val and Vulkan drivers have it)."""

BALLOT_OPCODES = frozenset(f"OpGroup{operation}NonUniformAMD" for operation in (
    "IAdd", "FAdd", "FMin", "UMin", "SMin", "FMax", "UMax", "SMax",
))  # fmt: skip
"""Instructions that SPV_AMD_shader_ballot brings without a capability."""

RESERVED = frozenset(f"OpImageSparseSampleProj{kind}Lod" for kind in ("Implicit", "Explicit", "DrefImplicit",
                                                                     "DrefExplicit"))  # fmt: skip
"""Instructions that have a number and a capability and may not be used (SPIR-V 3.42.10)."""


class Lack(NamedTuple):
    """What a module lacks of the needs of an entry: the rule that it breaks, what came, and the fix."""

    rule: str
    came: str
    hint: str | None


def requirements(facts: Facts) -> FaultList:
    """All that instructions need and the module does not have."""
    return _Search(facts).faults()


class _Search:
    """One pass over a module; the answer for an opcode or an enumerant is worked out once."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._version = facts.module.header.version
        self._opcodes: dict[int, Lack | None] = {}
        self._enumerants: dict[tuple[str, int], Lack | None] = {}

    def faults(self) -> FaultList:
        made = FaultList()
        for one in self._facts.instructions:
            if one.malformed is not None or one.spec is None:
                continue
            lack = self._of_opcode(one)
            if lack is not None:
                made.add(lack.rule, one.index, Fault(f"{one.name}, {lack.came}", (), lack.hint))
            for operand in one.operands:
                for lack in self._of_operand(one, operand):
                    made.add(lack.rule, one.index, Fault(lack.came, (operand,), lack.hint))
        return made

    def _of_opcode(self, one: Instruction) -> Lack | None:
        if one.opcode not in self._opcodes:
            assert one.spec is not None
            needs: GrammarEntry = one.spec
            if one.name in BALLOT_OPCODES and "SPV_AMD_shader_ballot" in self._facts.extensions:
                needs = replace(needs, capabilities=())
            self._opcodes[one.opcode] = self._capability(needs) or self._opcode_version(one.spec)
        return self._opcodes[one.opcode]

    def _opcode_version(self, spec: GrammarEntry) -> Lack | None:
        """What the module lacks in version; an opcode with a capability comes with it, whatever the version."""
        if spec.name in RESERVED or (spec.version is None and not spec.capabilities and not spec.extensions):
            return Lack(RESERVED_OPCODE, "which no version has", None)
        # OpTerminateInvocation has a capability that is older than the instruction.
        if spec.capabilities and spec.name != "OpTerminateInvocation":
            return self._too_late(spec)
        return self._too_late(spec) or self._too_early(spec)

    def _of_operand(self, one: Instruction, operand: Operand) -> Iterator[Lack]:
        value, kind = operand.value, grammar().kinds.get(operand.kind)
        if not isinstance(value, int) or kind is None or kind.category not in ("ValueEnum", "BitEnum"):
            return
        for single in bits_of(value) if kind.category == "BitEnum" else (value,):
            key = (kind.name if kind.name != "Capability" else f"{kind.name} of {one.name}", single)
            if key not in self._enumerants:
                self._enumerants[key] = self._of_enumerant(kind, single)
            lack = self._enumerants[key]
            if lack is not None:
                yield lack

    def _of_enumerant(self, kind: OperandKind, value: int) -> Lack | None:
        known = kind.by_value.get(value)
        if known is None:
            return None
        needs = self._excepted(kind, known)
        lack = None if kind.name == "Capability" else self._capability(needs)
        lack = lack or self._too_late(needs) or self._too_early(needs)
        return lack._replace(came=f"{needs.name}, {lack.came}") if lack else None

    def _excepted(self, kind: OperandKind, needs: GrammarEntry) -> GrammarEntry:
        """What an enumerant needs where the grammar is not all that counts."""
        none: tuple[str, ...] = ()
        match kind.name, needs.name:
            case "BuiltIn", name if name in MENTIONED_BUILT_INS:
                return replace(needs, capabilities=none, extensions=none, version=(1, 0))
            case ("FPRoundingMode", _) | ("Decoration", "FPRoundingMode") if self._rounds_freely():
                return replace(needs, capabilities=none, extensions=none, version=(1, 0))
            case "Decoration", "FPRoundingMode":
                return replace(needs, capabilities=STORED_16[:4] if self._facts.is_vulkan else none)
            case "GroupOperation", "Reduce" | "InclusiveScan" | "ExclusiveScan" if self._scans_freely():
                return replace(needs, capabilities=none)
        return needs

    def _rounds_freely(self) -> bool:
        return any(map(self._facts.has, STORED_16))

    def _scans_freely(self) -> bool:
        return self._facts.has("Kernel") or "SPV_AMD_shader_ballot" in self._facts.extensions

    def _capability(self, needs: GrammarEntry) -> Lack | None:
        wanted = [name for name in needs.capabilities if self._is_known(name)]
        if not wanted or any(map(self._facts.has, wanted)):
            return None
        return Lack(CAPABILITY, f"which needs {any_of(wanted)}", f"declare it: OpCapability {wanted[0]}")

    def _is_known(self, capability: str) -> bool:
        """Whether the environment knows a capability at all: by its version, an extension or another capability."""
        one = grammar().kinds["Capability"].by_name[capability]
        last = self._facts.environment.spirv
        in_core = one.version is not None and one.version <= last and (one.last_version or last) >= last
        return in_core or bool(one.extensions) or bool(one.capabilities)

    def _too_late(self, needs: GrammarEntry) -> Lack | None:
        if needs.last_version is None or needs.last_version >= self._version:
            return None
        return Lack(LAST_VERSION, f"which version {version_text(needs.last_version)} has last", None)

    def _too_early(self, needs: GrammarEntry) -> Lack | None:
        if needs.version is not None and needs.version <= self._version:
            return None
        if not self._facts.extensions.isdisjoint(needs.extensions):
            return None
        since = f"version {version_text(needs.version)}" if needs.version else ""
        if not needs.extensions:
            return Lack(VERSION, f"which {since} has first", f"declare {since} in the header") if since else None
        brings = any_of(needs.extensions)
        hint = f'declare it: OpExtension "{needs.extensions[0]}"'
        return Lack(EXTENSION, f"which needs {f'{since} or ' if since else ''}{brings}", hint)


def any_of(names: Sequence[str]) -> str:
    """Names of which one suffices, in words."""
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"


def version_text(version: tuple[int, int]) -> str:
    """A version of SPIR-V as it is written: `1.6`."""
    return "{}.{}".format(*version)
