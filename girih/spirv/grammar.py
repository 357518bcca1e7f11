"""The grammar of SPIR-V as values: instructions, operand kinds with their enumerants, sets of extended instructions.

The table (girih/data/spirv_grammar.json) is generated from Khronos' machine-readable grammar and an overlay of newer
entries by tools/generate_spirv_grammar.py. It is read at the first use; an entry is taken apart when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import takewhile
from pkgutil import get_data
from typing import Any, Literal, NamedTuple

from girih.lazy_dataclass import dataclass

Quantifier = Literal["", "?", "*"]

ID_KINDS = frozenset({"IdRef", "IdScope", "IdMemorySemantics", "IdResultType"})
"""The kinds of operands that refer to ids."""

ONE_WORD_KINDS = ID_KINDS | {"IdResult", "LiteralInteger"}
"""The kinds whose operands are one word that says nothing of what follows."""


class OperandSpec(NamedTuple):
    """An operand as the grammar declares it: its kind, its name in snake case, and how often it may stand.

    `?` is an operand that may be absent, `*` one that may stand any number of times.
    """

    kind: str
    name: str
    quantifier: Quantifier


class PlainOperands(NamedTuple):
    """The operands that an instruction begins with, each one word that decides nothing of what follows.

    Of these the first `required` must stand. What comes behind them is optional, or `repeated`, one word each time.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    required: int
    repeated: OperandSpec | None


@dataclass(frozen=True)
class GrammarEntry:
    """What an instruction or an enumerant needs of a module, and its names.

    `aliases` are further names of the same number. Of `capabilities` one suffices. `version` is the first version of
    SPIR-V that has the entry without an extension; None where only an extension brings it.
    """

    name: str
    operands: tuple[OperandSpec, ...]
    aliases: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    version: tuple[int, int] | None = (1, 0)
    last_version: tuple[int, int] | None = None
    provisional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the entry; the first is the one that is printed."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Opcode(GrammarEntry):
    """An instruction of the grammar: its number, and the class that the specification lists it under."""

    code: int = 0
    family: str = ""

    @cached_property
    def has_result_type(self) -> bool:
        """Whether the first operand is the type of the result."""
        return any(operand.kind == "IdResultType" for operand in self.operands)

    @cached_property
    def has_result(self) -> bool:
        """Whether the instruction makes a new id."""
        return any(operand.kind == "IdResult" for operand in self.operands)

    @cached_property
    def plain(self) -> PlainOperands | None:
        """The operands of an instruction whose operands are mostly one word each; None for any other."""
        specs = tuple(takewhile(lambda o: o.kind in ONE_WORD_KINDS and o.quantifier != "*", self.operands))
        rest = self.operands[len(specs) :]
        repeats = len(rest) == 1 and rest[0].quantifier == "*" and rest[0].kind in ONE_WORD_KINDS
        if not repeats and any(operand.quantifier != "?" for operand in rest):
            return None
        return PlainOperands(
            names=tuple(operand.name for operand in specs),
            kinds=tuple(operand.kind for operand in specs),
            required=sum(not operand.quantifier for operand in specs),
            repeated=rest[0] if repeats else None,
        )


@dataclass(frozen=True)
class Enumerant(GrammarEntry):
    """A value of an operand kind, or an extended instruction of a set; `operands` are its parameters."""

    value: int = 0


class OperandKind:
    """An operand kind: `ValueEnum` and `BitEnum` have enumerants, `Composite` is a sequence of other kinds."""

    def __init__(self, name: str, category: str, rows: list[Any]) -> None:
        self.name = name
        self.category = category
        self.bases: tuple[str, ...] = tuple(rows) if category == "Composite" else ()
        self._rows = [] if category == "Composite" else rows

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    @cached_property
    def by_value(self) -> Mapping[int, Enumerant]:
        """The enumerants by their values."""
        return {row[0]: _enumerant(row) for row in self._rows}

    @cached_property
    def by_name(self) -> Mapping[str, Enumerant]:
        """The enumerants by all their names."""
        return {name: one for one in self.by_value.values() for name in one.names}

    def name_of(self, value: int) -> str:
        """The name of a value, or of a mask: its bits' names joined by `|`; numbers where the grammar knows none."""
        known = self.by_value.get(value)
        if known is not None:
            return known.name
        if self.category != "BitEnum":
            return str(value)
        return "|".join(self.by_value[bit].name if bit in self.by_value else hex(bit) for bit in bits_of(value))

    def value(self, name: str) -> int:
        """The value of a name. Raises `KeyError` for an unknown one."""
        return self.by_name[name].value


def bits_of(mask: int) -> Iterator[int]:
    """The single bits of a mask, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest
        mask ^= lowest


class Grammar:
    """The grammar: `opcodes`, `kinds` by name, and sets of extended instructions by the name of their import.

    `generators` has the names of the programs that write modules, by the numbers registered for them.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.source: tuple[str, ...] = tuple(table["source"])
        self.generators = {int(number): name for number, name in table["generators"].items()}
        self._rows = {row[0]: row for row in table["instructions"]}
        self._opcodes: dict[int, Opcode] = {}
        self.kinds = {name: OperandKind(name, *row) for name, row in table["kinds"].items()}
        self._sets = table["sets"]
        self._extended: dict[str, Mapping[int, Enumerant]] = {}

    def opcode(self, code: int) -> Opcode | None:
        """The instruction of a number; None where the grammar knows none."""
        known = self._opcodes.get(code)
        if known is None and code in self._rows:
            _, name, operands, family, needs = self._rows[code]
            known = Opcode(name, operand_specs(operands), **_needs(needs), code=code, family=family)
            self._opcodes[code] = known
        return known

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The numbers of instructions by all their names, such as `OpLoad`."""
        return {name: row[0] for row in self._rows.values() for name in (row[1], *row[4].get("aliases", ()))}

    @property
    def opcodes(self) -> Iterator[Opcode]:
        """All instructions, by number."""
        return (known for code in self._rows if (known := self.opcode(code)) is not None)

    def named(self, name: str) -> Opcode:
        """The instruction of a name. Raises `KeyError` for an unknown one."""
        found = self.opcode(self.codes[name])
        assert found is not None
        return found

    @property
    def set_names(self) -> tuple[str, ...]:
        """The names under which sets of extended instructions are imported."""
        return tuple(self._sets)

    def extended(self, name: str) -> Mapping[int, Enumerant] | None:
        """The extended instructions of a set by number; None for an unknown set.

        A set without meaning for the module may have its version behind its name: `NonSemantic.ClspvReflection.5`.
        """
        if name not in self._sets and name.startswith("NonSemantic."):
            name = name.rpartition(".")[0]
        if name not in self._sets:
            return None
        if name not in self._extended:
            self._extended[name] = {row[0]: _enumerant(row) for row in self._sets[name]}
        return self._extended[name]


def _enumerant(row: list[Any]) -> Enumerant:
    value, name, operands, needs = row
    return Enumerant(name, operand_specs(operands), **_needs(needs), value=value)


def operand_specs(text: str) -> tuple[OperandSpec, ...]:
    """The operands of a row of the table: `kind name`, with `?` or `*` after the kind, separated by semicolons."""
    specs = []
    for part in text.split(";") if text else ():
        kind, _, name = part.partition(" ")
        quantifier: Quantifier = "?" if kind.endswith("?") else "*" if kind.endswith("*") else ""
        specs.append(OperandSpec(kind.rstrip("?*"), name, quantifier))
    return tuple(specs)


def _needs(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "aliases": tuple(row.get("aliases", ())),
        "capabilities": tuple(row.get("capabilities", ())),
        "extensions": tuple(row.get("extensions", ())),
        "version": _version(row.get("version", "1.0")),
        "last_version": _version(row.get("last_version", "None")),
        "provisional": row.get("provisional", False),
    }


def _version(text: str) -> tuple[int, int] | None:
    if text == "None":
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


@cache
def grammar() -> Grammar:
    """The grammar, read once."""
    # importlib.resources would load tempfile, zipfile and others, which costs more than the grammar itself.
    table = get_data("girih", "data/spirv_grammar.json")
    assert table is not None, "the package has its grammar"
    return Grammar(json.loads(table))
