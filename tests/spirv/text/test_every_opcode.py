"""Text of every opcode, enumerant and number of operands: it says the words, and is the text of SPIRV-Tools."""

from __future__ import annotations

from functools import cache

import pytest

from girih.spirv import Module
from girih.spirv.grammar import Opcode, grammar
from girih.spirv.instruction import Instruction, RawInstruction, read
from tests.spirv import peer
from tests.spirv.text.samples import Sample, module_of, newer_than_the_wheel, samples

SPEC_CONSTANT_OP = grammar().codes["OpSpecConstantOp"]
INNER = ("OpIAdd", "OpSelect", "OpAccessChain", "OpVectorShuffle", "OpCompositeExtract", "OpCooperativeMatrixLengthKHR")
"""Some opcodes that SPIRV-Tools computes in an OpSpecConstantOp."""

OLDER_IN_THE_PEER = ("InitModeALTERA", "OpHitObjectRecordFromQueryEXT")
"""What SPIRV-Tools 2025.5 reads otherwise: a parameter not at all, a later operand as one too many."""

drawn = cache(samples)


def all_samples() -> Module:
    """A module of all samples."""
    declared, found, bound = drawn()
    return module_of([*declared, *(sample.raw for sample in found)], bound)


def test_every_opcode_and_enumerant_is_among_the_samples() -> None:
    assert [instruction for instruction in all_samples().instructions if instruction.malformed] == []
    used = {entry for sample in drawn()[1] for entry in sample.used}
    names = {entry.name for entry in used}
    assert {spec.name for spec in grammar().opcodes} - names == {"OpExtInstImport", "OpExtInstWithForwardRefsKHR"}
    operands = {operand.kind for entry in used for operand in entry.operands}
    kinds = {base for kind in operands & grammar().kinds.keys() for base in (kind, *grammar().kinds[kind].bases)}
    assert [
        one.name for kind in kinds for one in grammar().kinds[kind].by_value.values() if one.name not in names
    ] == []
    assert len(kinds) > 50


def test_operands_read_in_one_step_are_those_of_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    module = all_samples()
    raw = [
        RawInstruction(opcode, words)
        for opcode, whole in dict(module.raw).items()
        for words in (*(whole[:count] for count in range(len(whole) + 1)), (*whole, 3))
    ]
    at_once = [state_of(read(0, one, module)) for one in raw]
    monkeypatch.setattr(Opcode, "plain", property(lambda _: None))
    assert at_once == [state_of(read(0, one, module)) for one in raw]


def state_of(one: Instruction) -> tuple[object, ...]:
    """All that the reading of an instruction told."""
    named = [one.get(operand.name) for operand in one.operands]
    rest = [one.get(spec.name) for spec in one.spec.operands] if one.spec else []
    return one.operands, one.malformed, one.result, one.result_type, named, rest


def test_every_text_gives_back_its_words() -> None:
    module = all_samples()
    again = Module.from_text(module.to_text(friendly_names=False))
    assert again == module
    assert again.to_bytes() == module.to_bytes()


def is_known_to_the_peer(sample: Sample) -> bool:
    """Whether the wheel's tools read an instruction."""
    opcodes, newer = newer_than_the_wheel()
    names = {entry.name for entry in sample.used}
    if names & newer or sample.raw.opcode in opcodes:
        return False
    if sample.raw.opcode == SPEC_CONSTANT_OP:
        return not names.isdisjoint(INNER)
    return names.isdisjoint(OLDER_IN_THE_PEER)


def test_texts_are_those_of_the_peer_and_read_as_it_reads_them() -> None:
    declared, found, bound = drawn()
    module = module_of([*declared, *(sample.raw for sample in found if is_known_to_the_peer(sample))], bound)
    assert len(module.raw) > 2500
    data = module.to_bytes()
    assert module.to_text() == peer.disassemble(data)
    text = module.to_text(friendly_names=False)
    assert text == peer.disassemble(data, ("indent",))
    assert Module.from_bytes(peer.assemble(text, preserve_numeric_ids=True)).raw == module.raw


def test_further_names_of_opcodes_and_enumerants_are_read() -> None:
    declared, found, bound = drawn()
    opcodes = {sample.raw.opcode: sample.raw for sample in found}
    raw = [opcodes[spec.code] for spec in grammar().opcodes for _ in spec.aliases if spec.code in opcodes]
    lines = module_of([*declared, *raw], bound).to_text(friendly_names=False, indent=False).splitlines()[-len(raw) :]
    aliases = [(spec.name, alias) for spec in grammar().opcodes for alias in spec.aliases if spec.code in opcodes]
    assert len(aliases) > 20
    other = [line.replace(name, alias) for line, (name, alias) in zip(lines, aliases, strict=True)]
    assert [one for one, line in zip(other, lines, strict=True) if one == line] == []
    capabilities = [
        (one.value, f"OpCapability {alias}")
        for one in grammar().kinds["Capability"].by_value.values()
        for alias in one.aliases
    ]
    before = module_of(declared, bound).to_text(friendly_names=False)
    module = Module.from_text("\n".join([before, *other, *(line for _, line in capabilities)]))
    assert module.raw[len(declared) :] == (*raw, *(RawInstruction(17, (value,)) for value, _ in capabilities))
