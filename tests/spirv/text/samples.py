"""An instruction of every opcode, with every enumerant, and with optional and repeated operands in every number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from girih.spirv import Module
from girih.spirv.binary import Header
from girih.spirv.grammar import ID_KINDS, GrammarEntry, Opcode, OperandKind, OperandSpec, grammar
from girih.spirv.instruction import RawInstruction, words_of

OVERLAY = Path(__file__).resolve().parents[3] / "tools" / "spirv_overlay.json"
TEXT = 'a "quoted" \\ word;\n# of several lines, öäü'
FLOAT_WORD = 0x3FC00000

Words = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """An instruction and the entries of the grammar that it uses."""

    raw: RawInstruction
    used: frozenset[GrammarEntry]


@dataclass
class Samples:
    """The ids that the samples share, and the kinds of operands whose enumerants have all been in one."""

    uint: int = 1
    float: int = 2
    value: int = 3
    sets: dict[str, int] = field(default_factory=dict)
    next_id: int = 4
    seen: set[str] = field(default_factory=set)

    def new_id(self) -> int:
        """An id that no other instruction makes."""
        self.next_id += 1
        return self.next_id - 1

    def declarations(self) -> Iterator[RawInstruction]:
        """The types and the sets of extended instructions."""
        yield RawInstruction(21, (self.uint, 32, 0))
        yield RawInstruction(22, (self.float, 32))
        yield RawInstruction(1, (self.uint, self.value))
        for name in grammar().set_names:
            self.sets[name] = self.new_id()
            suffix = ".5" if name.endswith("Reflection") else ""
            yield RawInstruction(11, (self.sets[name], *words_of(name + suffix)))

    def of(self, spec: Opcode) -> Iterator[Sample]:
        """The samples of an opcode."""
        for words, used in self.sequences(spec.operands):
            yield Sample(RawInstruction(spec.code, words), used | {spec})

    def sequences(self, specs: Sequence[OperandSpec]) -> Iterator[tuple[Words, frozenset[GrammarEntry]]]:
        """Words for operands: each operand in every way, while the others stand as they come first.

        What may be absent is there where an operand behind it is.
        """
        ways = [self.operand(spec) for spec in specs]
        yield joined(choices[0]() for choices in ways)
        for at, choices in enumerate(ways):
            before = [
                others[1 if spec.quantifier == "?" else 0] for spec, others in zip(specs[:at], ways, strict=False)
            ]
            behind = [others[0] for others in ways[at + 1 :]]
            for choice in choices[1:]:
                yield joined(made() for made in (*before, choice, *behind))

    def plain(self, spec: OperandSpec) -> tuple[Words, frozenset[GrammarEntry]]:
        """An operand as it comes first, without a claim to have shown its enumerants."""
        seen = set(self.seen)
        made = self.operand(spec)[0]()
        self.seen = seen
        return made

    def operand(self, spec: OperandSpec) -> list[Choice]:
        """The ways in which an operand may stand."""
        ways = self.kind(spec.kind)
        if spec.quantifier == "?":
            return [lambda: ((), frozenset()), *ways]
        if spec.quantifier == "*":
            return [repeated(ways[0], count) for count in range(4)]
        return ways

    def kind(self, name: str) -> list[Choice]:
        """The ways in which an operand of a kind may stand; all of its enumerants the first time."""
        if name == "IdResult":
            return [lambda: ((self.new_id(),), frozenset())]
        if name == "IdResultType":
            return [self.word(self.float)]
        if name in ID_KINDS:
            return [self.word(self.value)]
        if name == "LiteralContextDependentNumber":
            return [self.word(FLOAT_WORD)]
        if name == "LiteralString":
            return [lambda: (words_of(TEXT), frozenset()), lambda: (words_of(""), frozenset())]
        if name == "LiteralFloat":
            return [self.word(FLOAT_WORD)]
        if name == "LiteralSpecConstantOpInteger":
            return [self.inner(spec) for spec in grammar().opcodes if spec.has_result_type and spec.name not in OUTER]
        if name.startswith("Literal"):
            return [self.word(7)]
        kind = grammar().kinds[name]
        if kind.bases:
            parts = [self.kind(base)[0] for base in kind.bases]
            return [lambda: joined([part() for part in parts])]
        return self.enumerants(kind)

    def enumerants(self, kind: OperandKind) -> list[Choice]:
        """The enumerants of a kind, each with its parameters; of a mask all bits together too."""
        if kind.name in self.seen:
            first = next(iter(kind.by_value.values()))
            return [self.entries([first])]
        self.seen.add(kind.name)
        ways = [self.entries([one]) for one in kind.by_value.values()]
        if kind.category == "BitEnum":
            ways.append(self.entries([one for one in kind.by_value.values() if one.value.bit_count() == 1]))
        for one in kind.by_value.values():
            for words, used in list(self.sequences(one.operands))[1:]:
                ways.append(fixed((one.value, *words), used | {one}))
        return ways

    def entries(self, ones: Sequence[GrammarEntry]) -> Choice:
        """A value, or the bits of a mask, with the parameters of each."""

        def made() -> tuple[Words, frozenset[GrammarEntry]]:
            value = sum(getattr(one, "value", 0) for one in ones)
            parameters = joined(self.plain(spec) for one in ones for spec in one.operands)
            return (value, *parameters[0]), parameters[1] | frozenset(ones)

        return made

    def inner(self, spec: Opcode) -> Choice:
        """The opcode that an OpSpecConstantOp computes, and its operands."""
        operands = [o for o in spec.operands if o.kind not in ("IdResult", "IdResultType")]

        def made() -> tuple[Words, frozenset[GrammarEntry]]:
            words, used = joined(map(self.plain, operands))
            return (spec.code, *words), used | {spec}

        return made

    def word(self, value: int) -> Choice:
        """An operand of one word."""
        return lambda: ((value,), frozenset())

    def extended(self) -> Iterator[Sample]:
        """An instruction of every set of extended instructions."""
        head = grammar().named("OpExtInst")
        for name, set_id in self.sets.items():
            for one in (grammar().extended(name) or {}).values():
                for words, used in self.sequences(one.operands):
                    raw = RawInstruction(head.code, (self.uint, self.new_id(), set_id, one.value, *words))
                    yield Sample(raw, used | {head, one})


Choice = Callable[[], tuple[Words, frozenset[GrammarEntry]]]
OUTER = frozenset({"OpSpecConstantOp", "OpConstant", "OpSpecConstant", "OpExtInst", "OpExtInstWithForwardRefsKHR"})
"""Opcodes that no OpSpecConstantOp computes: their operands go by what stands outside."""


def repeated(way: Choice, count: int) -> Choice:
    """An operand several times."""
    return lambda: joined(way() for _ in range(count))


def fixed(words: Words, used: frozenset[GrammarEntry]) -> Choice:
    """An operand of some words."""
    return lambda: (words, used)


BY_SETS = ("OpExtInstImport", "OpExtInst", "OpExtInstWithForwardRefsKHR")
"""Opcodes whose operands go by the sets that a module imports."""


def joined(parts: Iterable[tuple[Words, frozenset[GrammarEntry]]]) -> tuple[Words, frozenset[GrammarEntry]]:
    """The words of operands one after the other, and all that they use."""
    words: Words = ()
    used: frozenset[GrammarEntry] = frozenset()
    for part, entries in parts:
        words += part
        used |= entries
    return words, used


def samples() -> tuple[list[RawInstruction], list[Sample], int]:
    """The declarations that samples need, the samples, and the bound of ids."""
    maker = Samples()
    declared = list(maker.declarations())
    found = [sample for spec in grammar().opcodes if spec.name not in BY_SETS for sample in maker.of(spec)]
    found += maker.extended()
    return declared, found, maker.next_id


def module_of(instructions: Iterable[RawInstruction], bound: int) -> Module:
    """A module of some instructions, whether they make sense together or not."""
    return Module(Header((1, 6), 8 << 16 | 11, bound, 0), tuple(instructions))


@cache
def newer_than_the_wheel() -> tuple[frozenset[int], frozenset[str]]:
    """The opcodes and the names of enumerants that the overlay adds to the wheel's grammar."""
    overlay = json.loads(OVERLAY.read_text(encoding="utf-8"))
    names = {entry["enumerant"] for entry in overlay["enumerants"]}
    names |= {entry["enumerant"] for kind in overlay["operand_kinds"] for entry in kind["enumerants"]}
    return frozenset(entry["opcode"] for entry in overlay["instructions"]), frozenset(names)
