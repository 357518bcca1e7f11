"""Instructions of a module: their words as they stand, and the operands that the grammar reads in them.

Reading never fails as a whole: an instruction whose words do not fit the grammar has `malformed`, which says where and
why, and the operands before that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from itertools import repeat
from typing import NamedTuple, Protocol

from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import ID_KINDS, GrammarEntry, Opcode, OperandSpec, PlainOperands, bits_of, grammar

OperandValue = int | str | tuple[int, ...]


class RawInstruction(NamedTuple):
    """An instruction as words: the opcode, and the words after the first one."""

    opcode: int
    words: tuple[int, ...]


class Operand(NamedTuple):
    """An operand of an instruction: the grammar's name and kind, its value, and where it stands.

    `value` is a word for ids, literals and enumerants, a text for strings, the words of a number whose type the
    context tells (`LiteralContextDependentNumber`). `word` counts the words after the first, `size` is their number.
    """

    name: str
    kind: str
    value: OperandValue
    word: int
    size: int

    @property
    def is_id(self) -> bool:
        """Whether the operand refers to an id."""
        return self.kind in ID_KINDS


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why the words of an instruction cannot be read: the rule that is broken, the word, and what stands there."""

    rule: str
    word: int
    expected: str
    found: str


class ReadingContext(Protocol):
    """What the reading of an instruction asks of its module."""

    def set_name(self, set_id: int) -> str | None:
        """The name of an imported set of extended instructions."""

    def literal_words(self, selector: int) -> int:
        """The number of words of a literal of the type of an id: 2 for integers of 64 bits, else 1."""


@dataclass(slots=True, eq=False)
class Instruction:
    """An instruction of a module, read by the grammar. `index` counts the module's instructions from 0.

    Operands are asked for by the grammar's names in snake case: `get("pointer")`. A repeated operand is a tuple, of
    pairs where the grammar has pairs. The parameters of an enumerant or of a bit of a mask go by its name:
    `get("Aligned")`, `get("Offset")`; a tuple where there are several. Of a mask and a value enumerant `get` has the
    number. `result` and `result_type` are 0 where there is none.
    """

    index: int
    opcode: int
    words: tuple[int, ...]
    spec: Opcode | None
    operands: tuple[Operand, ...] = ()
    malformed: Malformed | None = None
    result: int = 0
    result_type: int = 0
    name: str = field(init=False)
    """The first name of the opcode, such as `OpLoad`; `Op60000` where the grammar knows none."""
    _fields: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.spec.name if self.spec else f"Op{self.opcode}"

    def __repr__(self) -> str:
        return f"<{self.index}: {self.name} {' '.join(map(str, self.words))}>"

    def get(self, name: str) -> object:
        """The value of an operand by name, or None where it is absent."""
        return self._fields.get(name)

    def id(self, name: str) -> int:
        """The id of an operand, 0 where it is absent."""
        value = self._fields.get(name)
        return value if isinstance(value, int) else 0

    def ids(self, name: str) -> tuple[int, ...]:
        """The ids (or words) of a repeated operand, of pairs one after the other."""
        return tuple(o.value for o in self.operands if o.name == name and isinstance(o.value, int))

    def text(self, name: str) -> str:
        """The string of an operand, empty where it is absent."""
        value = self._fields.get(name)
        return value if isinstance(value, str) else ""

    def operand(self, name: str, position: int = 0) -> Operand | None:
        """The operand of a name; of a repeated one that at `position`. None where it is absent."""
        named = [operand for operand in self.operands if operand.name == name]
        return named[position] if position < len(named) else None

    @property
    def computed(self) -> Instruction | None:
        """The instruction that an OpSpecConstantOp computes: the same operands, under another name. None for others."""
        if self.name != "OpSpecConstantOp" or self.malformed is not None:
            return None
        opcode = self.id("opcode")
        return replace(self, opcode=opcode, spec=grammar().opcode(opcode))

    @property
    def references(self) -> Iterable[Operand]:
        """The operands that refer to ids, the result type included, in order."""
        return (operand for operand in self.operands if operand.kind in ID_KINDS)


def read(index: int, raw: RawInstruction, context: ReadingContext) -> Instruction:
    """An instruction read by the grammar."""
    spec = grammar().opcode(raw.opcode)
    made = Instruction(index, raw.opcode, raw.words, spec)
    if spec is None:
        made.malformed = Malformed("opcode", -1, "an opcode of the grammar", str(raw.opcode))
        return made
    if spec.plain is not None and _read_plain(made, spec.plain):
        return made
    reader = _Reader(made, context)
    try:
        reader.entry(spec.operands)
        if reader.at < len(raw.words):
            surplus = len(raw.words) - reader.at
            raise _Wrong(
                "surplus",
                reader.at,
                "the end of the instruction",
                f"{surplus} more {'word' if surplus == 1 else 'words'}",
            )
    except _Wrong as wrong:
        made.malformed = Malformed(*wrong.args)
    made.operands = tuple(reader.operands)
    return made


def _read_plain(made: Instruction, plain: PlainOperands) -> bool:
    """Read an instruction whose operands are one word each, as most are; False where these words have others."""
    words = made.words
    count, known, repeated = len(words), len(plain.names), plain.repeated
    if count < plain.required or (count > known and repeated is None):
        return False
    made.operands = tuple(map(Operand, plain.names, plain.kinds, words, range(count), repeat(1)))
    made._fields = dict(zip(plain.names, words, strict=False))
    if repeated is not None and count >= known:
        made.operands += tuple(Operand(repeated.name, repeated.kind, words[at], at, 1) for at in range(known, count))
        made._fields[repeated.name] = words[known:]
    for kind, word in zip(plain.kinds[:2], words, strict=False):
        if kind == "IdResult":
            made.result = word
        elif kind == "IdResultType":
            made.result_type = word
    return True


class _Wrong(Exception):
    """Words that do not fit: rule, word, expected, found."""


class _Reader:
    """One pass over the words of an instruction."""

    def __init__(self, made: Instruction, context: ReadingContext) -> None:
        self.made = made
        self.words = made.words
        self.context = context
        self.at = 0
        self.operands: list[Operand] = []
        self.fields = made._fields

    def entry(self, specs: Iterable[OperandSpec]) -> None:
        """Read operands as the grammar declares them."""
        words = self.words
        for spec in specs:
            if spec.quantifier == "*":
                self._repeated(spec)
            elif spec.quantifier == "?" and self.at >= len(words):
                return
            else:
                self.fields[spec.name] = self._operand(spec.kind, spec.name)

    def _repeated(self, spec: OperandSpec) -> None:
        kinds = grammar().kinds[spec.kind].bases
        values: list[object] = []
        while self.at < len(self.words):
            if kinds:
                values.append(tuple(self._operand(kind, spec.name) for kind in kinds))
            else:
                values.append(self._operand(spec.kind, spec.name))
        self.fields[spec.name] = tuple(values)

    def _operand(self, kind: str, name: str) -> OperandValue:
        if kind == "LiteralString":
            return self._string(name)
        if kind in ("LiteralContextDependentNumber", "LiteralInteger") and self._is_wide(kind):
            return self._number(kind, name)
        value = self._word(name)
        self.operands.append(Operand(name, kind, value, self.at - 1, 1))
        if kind in ("IdRef", "LiteralInteger"):
            return value
        if kind == "IdResult":
            self.made.result = value
        elif kind == "IdResultType":
            self.made.result_type = value
        elif kind == "LiteralSpecConstantOpInteger":
            self._inner(value)
        elif kind == "LiteralExtInstInteger":
            self._extended(value)
        else:
            self._enumerated(kind, value)
        return value

    def _word(self, name: str) -> int:
        if self.at >= len(self.words):
            raise _Wrong("missing", self.at, f"the operand {name}", "the end of the instruction")
        self.at += 1
        return self.words[self.at - 1]

    def _string(self, name: str) -> str:
        start = self.at
        for end in range(start, len(self.words)):
            if has_zero_byte(self.words[end]):
                break
        else:
            raise _Wrong("string", start, "a string that ends with a zero byte", "the end of the instruction")
        self.at = end + 1
        text = string_of(self.words[start : self.at])
        self.operands.append(Operand(name, "LiteralString", text, start, self.at - start))
        return text

    def _is_wide(self, kind: str) -> bool:
        """Whether a literal has a number of words that the grammar does not tell."""
        return kind == "LiteralContextDependentNumber" or self.made.name == "OpSwitch"

    def _number(self, kind: str, name: str) -> OperandValue:
        """The words of a number: all that is left for a constant, as many as the selector's type has for a case."""
        start = self.at
        if kind == "LiteralInteger":
            count = self.context.literal_words(self.made.id("selector"))
        else:
            count = max(len(self.words) - start, 1)
        for _ in range(count):
            self._word(name)
        words = self.words[start : self.at]
        self.operands.append(Operand(name, kind, words, start, count))
        return words

    def _inner(self, opcode: int) -> None:
        """The operands of the instruction that an OpSpecConstantOp computes."""
        spec = grammar().opcode(opcode)
        if spec is None:
            raise _Wrong("opcode", self.at - 1, "an opcode of the grammar", str(opcode))
        self.entry(o for o in spec.operands if o.kind not in ("IdResult", "IdResultType"))

    def _extended(self, number: int) -> None:
        """The operands of an extended instruction; of an unknown set or instruction they are ids."""
        known = grammar().extended(self.context.set_name(self.made.id("set")) or "")
        one = known.get(number) if known else None
        if one is not None:
            self.entry(one.operands)
        while self.at < len(self.words):
            value = self._word("operands")
            self.operands.append(Operand("operands", "IdRef", value, self.at - 1, 1))

    def _enumerated(self, kind: str, value: int) -> None:
        known = grammar().kinds.get(kind)
        if known is None:
            return
        if known.category == "ValueEnum":
            one = known.by_value.get(value)
            if one is None:
                raise _Wrong("enumerant", self.at - 1, f"a value of {kind}", str(value))
            if one.operands:
                before = len(self.operands)
                self._parameters(one)
                self.fields["parameters"] = tuple(o.value for o in self.operands[before:])
        elif known.category == "BitEnum":
            mask = self.at - 1
            for bit in bits_of(value):
                one = known.by_value.get(bit)
                if one is None:
                    raise _Wrong("enumerant", mask, f"bits of {kind}", hex(bit))
                if one.operands:
                    self._parameters(one)

    def _parameters(self, one: GrammarEntry) -> None:
        """Parameters of an enumerant; their names are the enumerant's, so that they can be asked for by it."""
        before = len(self.operands)
        for spec in one.operands:
            named = spec._replace(name=one.name)
            if spec.quantifier == "*":
                self._repeated(named)
            elif spec.quantifier != "?" or self.at < len(self.words):
                self._operand(spec.kind, one.name)
        values = tuple(operand.value for operand in self.operands[before:])
        told: Mapping[str, object] = {one.name: values[0] if len(one.operands) == 1 and len(values) == 1 else values}
        self.fields.update(told)


def has_zero_byte(word: int) -> bool:
    """Whether one of the four bytes of a word is zero, which ends a string."""
    return not (word & 0xFF and word & 0xFF00 and word & 0xFF0000 and word & 0xFF000000)


def string_of(words: Iterable[int]) -> str:
    """The text of words; bytes that are not UTF-8 become lone surrogates, so that `words_of` gives them back."""
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data[: data.index(0)].decode("utf-8", "surrogateescape")


def words_of(text: str) -> tuple[int, ...]:
    """The words of a string: UTF-8, a zero byte, zeros up to a whole word."""
    data = text.encode("utf-8", "surrogateescape") + b"\0"
    data += b"\0" * (-len(data) % 4)
    return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))
