"""A module from its text, in the syntax of spirv-as.

An instruction is `%result = OpCode %type operands`, or `OpCode %type %result operands` in the order of the words. Ids
are names; those that are numbers keep their numbers, the others get the numbers that are free. `!5` is the word 5 in
the place of any operand, and after one ids, strings and numbers are taken as they are; `OpUnknown(4711, 3)` is an
instruction by opcode and number of words. The comment before the first instruction that the disassembler writes tells
version, generator, bound and schema.

Further than spirv-as: a mask of memory access that must stand (tensor loads and stores) may have several bits, all
names of an enumerant are known, types may stand after the constants that need them, and every mistake is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from girih.diagnostics import SHOWN, CompileError, Diagnostic, nearest
from girih.source import Source, Span
from girih.spirv.binary import Header
from girih.spirv.disassemble import SWITCH, generator_number
from girih.spirv.grammar import ID_KINDS, Opcode, OperandSpec, bits_of, grammar
from girih.spirv.instruction import RawInstruction, words_of
from girih.spirv.listing import UNKNOWN, Lexeme, Listing, begins_instruction, lexemes
from girih.spirv.literals import FLOAT, SIGNED, UNSIGNED, NotANumber, NumberType, integer, number_words, unquoted
from girih.spirv.module import Module

TEXT_CODES = {
    "spirv.text.lexeme": "a string ends with a quote; commas and parentheses stand only in OpUnknown(opcode, words)",
    "spirv.text.instruction": "an instruction begins with an opcode, with `%result = ` or with an immediate `!word`",
    "spirv.text.opcode": "an opcode is one of the grammar's names",
    "spirv.text.result": "an opcode that makes a result has `%result = ` before it, and no other has",
    "spirv.text.missing": "an instruction has all operands that the grammar demands",
    "spirv.text.surplus": "an instruction has no operands after those that the grammar knows",
    "spirv.text.id": "an id is a % and letters, digits and underscores",
    "spirv.text.enumerant": "a value or a bit of a mask is one of the grammar's names",
    "spirv.text.number": "a number is one of its type",
    "spirv.text.type": "a number that is written without a type has that of an integer or float",
    "spirv.text.string": "a string stands in quotes, and has no character that UTF-8 cannot write",
    "spirv.text.extended": "an extended instruction is one of its set",
    "spirv.text.immediate": "an immediate is a ! and a number of 32 bits",
    "spirv.text.word_count": "an instruction given by its first word has as many words as that says, at most 65535",
    "spirv.text.bound": "ids are smaller than 4294967295",
}
"""What is wrong with a text that is not a module."""

DEFAULT_VERSION = (1, 6)
LARGEST_ID = 0xFFFFFFFE
MOST_WORDS = 0xFFFF
TYPE_NAMES = ("OpTypeInt", "OpTypeFloat")
LONGEST_HINT = 80
"""Characters of the longest word that is compared with the known ones."""

LONE = {
    '"': "a quote that ends the string",
    "\\": "a character after the backslash",
    "(": f"a parenthesis only behind {UNKNOWN}",
    ")": f"a parenthesis only behind {UNKNOWN}",
    ",": f"blanks between operands, a comma only in {UNKNOWN}(opcode, words)",
}
"""What is expected where a word of the text is a lone character."""

_NUMERIC_ID = re.compile(r"%(0|[1-9]\d{0,99})", re.ASCII)
_ID = re.compile(r"%[A-Za-z0-9_]+")
_HEADER_LINE = re.compile(r"^; (Version|Generator|Bound|Schema): (.*?)\r?$", re.MULTILINE)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})", re.ASCII)


def assemble(
    text: str, name: str = "<text>", *, version: tuple[int, int] | None = None, preserve_numeric_ids: bool = True
) -> Module:
    """The module of a text.

    `version` is that of the module; without one the text's comment tells it, and 1.6 stands where there is none. With
    `preserve_numeric_ids` an id such as `%7` has the number 7, else all ids are numbered as they appear.
    Raises `CompileError` with all that is wrong, one diagnostic an instruction at least.
    """
    source = Source(text, name)
    words = list(lexemes(text))
    return _Assembler(source, words, preserve_numeric_ids).module(version)


class _Refusal(Exception):
    """What is wrong with a word of an instruction: rule, words of the text, expected, found, hint."""


class _Statement(NamedTuple):
    """An instruction in the text: its result, its opcode and its operands, as words."""

    result: Lexeme | None
    head: Lexeme
    operands: Sequence[Lexeme]

    @property
    def place(self) -> tuple[int, int]:
        """The range of code points from the first word to the last."""
        return (self.result or self.head).start, (self.operands[-1] if self.operands else self.head).end


class _Assembler:
    """What the instructions of a text share: ids, types of numbers, imported sets, and what is wrong so far."""

    def __init__(self, source: Source, words: list[Lexeme], preserve_numeric_ids: bool) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.words = words
        self.statements = list(self._statements(words))
        self.ids: dict[str, int] = {}
        if preserve_numeric_ids:
            self.ids = {w.text: int(w.text[1:]) for w in words if w.text[0] == "%" and _NUMERIC_ID.fullmatch(w.text)}
        self.taken = set(self.ids.values())
        self.next_id = 1
        self.wide: set[int] = set()

    def module(self, version: tuple[int, int] | None) -> Module:
        """The module of the text."""
        raw: list[RawInstruction] = []
        places: list[tuple[int, int]] = []
        for first in self.statements:
            statement: _Statement | None = first
            while statement is not None:
                encoder = _Encoder(self, statement, len(raw))
                try:
                    raw.append(encoder.instruction())
                    places.append(encoder.statement.place)
                except _Refusal as wrong:
                    self.refuse(*wrong.args)
                statement = encoder.following
        most = max(self.taken, default=0)
        if most > LARGEST_ID:
            largest = next(word for word in self.words if self.ids.get(word.text, 0) > LARGEST_ID)
            self.refuse("bound", largest, f"an id of at most {LARGEST_ID}", largest.text)
        if self.diagnostics:
            raise CompileError(sorted(self.diagnostics, key=lambda one: one.span.start))
        listing = Listing(self.source, places, frozenset(self.wide))
        return Module(self._header(version, most + 1), tuple(raw), "little", self.source.name, listing)

    def refuse(self, rule: str, where: Lexeme, expected: str, found: str, hint: str | None = None) -> None:
        """Note what is wrong at a word of the text."""
        if len(found) > LONGEST_HINT:
            found = f"{found[:LONGEST_HINT]}..."
        span = Span(self.source, where.start, where.end)
        self.diagnostics.append(
            Diagnostic(f"spirv.text.{rule}", f"expected: {expected}; found: {found}", span, hint=hint)
        )

    def nearest(self, word: str, known: Iterable[str]) -> str | None:
        """A hint at the known word that is nearest, for as many mistakes as are shown."""
        if len(self.diagnostics) >= SHOWN or len(word) > LONGEST_HINT:
            return None
        close = nearest(word, known)
        return f"did you mean {close}?" if close else None

    def id(self, word: Lexeme) -> int:
        """The number of an id."""
        known = self.ids.get(word.text)
        if known is not None:
            return known
        if not _ID.fullmatch(word.text):
            self.refuse("id", word, "an id, such as %5 or %name", word.text, _id_hint(word.text))
            return 0
        while self.next_id in self.taken:
            self.next_id += 1
        self.ids[word.text] = self.next_id
        self.taken.add(self.next_id)
        return self.next_id

    def _statements(self, words: list[Lexeme]) -> Iterator[_Statement]:
        heads = [at for at in range(len(words)) if self._is_head(at)]
        first = heads[0] if heads else len(words)
        yield from self._before(words[:first])
        for at, end in pairwise([*heads, len(words)]):
            result = words[at] if words[at].text[0] == "%" else None
            opcode = at + 2 if result else at
            if opcode >= end:
                self.refuse("instruction", words[end - 1], "an opcode after the =", "the end of the instruction")
            else:
                yield _Statement(result, words[opcode], words[opcode + 1 : end])

    def _is_head(self, at: int) -> bool:
        """Whether an instruction begins at a word: an opcode without a result, or a result with a `=` behind."""
        word = self.words[at].text
        if word[0] == "%":
            return at + 1 < len(self.words) and self.words[at + 1].text == "="
        return begins_instruction(word) and not (at and self.words[at - 1].text == "=")

    def _before(self, words: list[Lexeme]) -> Iterator[_Statement]:
        """What stands before the first opcode: nothing, or an instruction that begins with an immediate."""
        if words and words[0].text[0] == "!":
            yield _Statement(None, words[0], words[1:])
        elif words:
            expected = "an opcode, such as OpCapability, or %result ="
            self.refuse("instruction", words[0], expected, words[0].text, self.nearest(words[0].text, grammar().codes))

    @cached_property
    def numbers(self) -> Mapping[str, NumberType]:
        """The types of numbers that the text declares, by id."""
        declared: dict[str, NumberType] = {}
        for _, head, operands in self._named(TYPE_NAMES):
            name, *rest = operands
            kind = _number_type(head.text, [word.text for word in rest])
            if kind is not None:
                declared.setdefault(name.text, kind)
        return declared

    @cached_property
    def sets(self) -> Mapping[str, str]:
        """The names of the imported sets of extended instructions, by id."""
        imports = (operands for _, _, operands in self._named(("OpExtInstImport",)) if len(operands) > 1)
        return {name.text: unquoted(text.text) or "" for name, text, *_ in imports}

    @cached_property
    def value_types(self) -> Mapping[str, str]:
        """The types of the values of the text, by id."""
        typed: dict[str, str] = {}
        codes = grammar().codes
        for result, head, operands in self.statements:
            code = codes.get(head.text)
            spec = grammar().opcode(code) if code is not None else None
            if spec is not None and spec.has_result_type and len(operands) + bool(result) > 1:
                typed[(result or operands[1]).text] = operands[0].text
        return typed

    def _named(self, names: Sequence[str]) -> Iterator[_Statement]:
        """The instructions of some names without a result type, with the result as the first operand."""
        for result, head, operands in self.statements:
            if head.text in names and (result or operands):
                yield _Statement(None, head, [result, *operands] if result else operands)

    def _header(self, version: tuple[int, int] | None, bound: int) -> Header:
        """The header as the comment before the first instruction tells it, with a bound above all ids."""
        before = self.source.text[: self.words[0].start if self.words else None]
        told = dict(_HEADER_LINE.findall(before))
        written = _VERSION.fullmatch(told.get("Version", ""))
        if version is None:
            version = (int(written[1]) & 0xFF, int(written[2]) & 0xFF) if written else DEFAULT_VERSION
        generator = generator_number(told.get("Generator", "")) or 0
        return Header(version, generator, max(bound, _word(told.get("Bound"))), _word(told.get("Schema")))


class _Encoder:
    """The words of an instruction, made from those of the text one after the other.

    `following` is what is left when it is an instruction that begins with an immediate. `is_free` is whether an
    immediate has stood in the place of an operand: what comes after it goes by its own form, not by the grammar.
    """

    def __init__(self, shared: _Assembler, statement: _Statement, index: int) -> None:
        self.shared = shared
        self.statement = statement
        self.result, self.head, self.operands = statement
        self.index = index
        self.at = 0
        self.out: list[int] = []
        self.spec: Opcode | None = None
        self.is_free = False
        self.following: _Statement | None = None

    def instruction(self) -> RawInstruction:
        """The instruction as words."""
        name = self.head.text
        if name[0] == "!" and not self.result:
            return self._from_first_word()
        if name == UNKNOWN:
            return self._unknown()
        code = grammar().codes.get(name)
        self.spec = spec = grammar().opcode(code) if code is not None else None
        if spec is None:
            hint = self.shared.nearest(name, grammar().codes)
            raise _Refusal("opcode", self.head, "an opcode of the grammar", name, hint)
        if self.result and not spec.has_result:
            hint = f"{name} makes no result: leave out {self.result.text} ="
            raise _Refusal("result", self.result, f"{name} without a result", f"{self.result.text} =", hint)
        self.entry(spec.operands)
        if self.at < len(self.operands):
            word = self.operands[self.at]
            if word.text in LONE:
                raise _Refusal("lexeme", word, LONE[word.text], word.text)
            if word.text[0] != "!":
                raise _Refusal("surplus", word, f"no more operands of {name}", word.text)
            self.following = _Statement(None, word, self.operands[self.at + 1 :])
            self.statement = self.statement._replace(operands=self.operands[: self.at])
        return self._made(spec.code)

    def _made(self, opcode: int) -> RawInstruction:
        if len(self.out) >= MOST_WORDS:
            raise _Refusal("word_count", self.head, f"at most {MOST_WORDS} words", str(len(self.out) + 1))
        return RawInstruction(opcode, tuple(self.out))

    def _from_first_word(self) -> RawInstruction:
        """An instruction whose first word is given: its opcode and its number of words."""
        first = self.immediate(self.head)
        self.rest()
        if first >> 16 != len(self.out) + 1:
            expected = f"{first >> 16} words, as {self.head.text} says"
            raise _Refusal("word_count", self.head, expected, str(len(self.out) + 1))
        return self._made(first & 0xFFFF)

    def _unknown(self) -> RawInstruction:
        """An instruction given by its opcode and its number of words."""
        if self.result:
            hint = "name the result where its word stands, among the operands"
            raise _Refusal("result", self.result, f"{UNKNOWN} without a result", f"{self.result.text} =", hint)
        texts = [word.text for word in self.operands[:5]]
        opcode, count = (integer(texts[at]) if len(texts) == 5 else None for at in (1, 3))
        if opcode is None or count is None or texts[::2] != ["(", ",", ")"] or not 0 <= opcode <= 0xFFFF:
            found = " ".join((UNKNOWN, *texts))
            raise _Refusal("lexeme", self.head, f"{UNKNOWN}(opcode, words) with an opcode of 16 bits", found)
        self.at = 5
        self.rest()
        if count != len(self.out) + 1:
            raise _Refusal("word_count", self.operands[3], f"{len(self.out) + 1}, the number of words", texts[3])
        return self._made(opcode)

    def entry(self, specs: Iterable[OperandSpec]) -> None:
        """Operands as the grammar declares them."""
        for kind, name, quantifier in specs:
            if self.is_free:
                return
            if quantifier == "*":
                kinds = grammar().kinds[kind].bases or (kind,)
                while self.at < len(self.operands) and not self.is_free:
                    for base in kinds:
                        if not self.is_free:
                            self.operand(base, name)
            elif quantifier != "?" or self.at < len(self.operands):
                self.operand(kind, name)

    def operand(self, kind: str, name: str) -> None:
        """An operand of a kind."""
        if kind == "IdResult":
            self.out.append(self.shared.id(self.result or self.take(name)))
            return
        word = self.take(name)
        text = word.text
        if text[0] == "!":
            self.at -= 1
            self.rest()
        elif kind in ID_KINDS:
            self.out.append(self.shared.id(word))
        elif kind == "LiteralInteger":
            kind_of_case = self.number_type(word) if self.is_switch else UNSIGNED
            self.number(word, kind_of_case)
        elif kind == "LiteralContextDependentNumber":
            self.number(word, self.number_type(word))
        elif kind == "LiteralFloat":
            self.number(word, FLOAT)
        elif kind == "LiteralString":
            self.string(word)
        elif kind == "LiteralExtInstInteger":
            self.extended(word)
        elif kind == "LiteralSpecConstantOpInteger":
            self.inner(word)
        else:
            self.enumerant(kind, word)

    def take(self, name: str) -> Lexeme:
        """The next word of the text, for the operand of a name."""
        if self.at < len(self.operands):
            word = self.operands[self.at]
            if word.text in LONE:
                raise _Refusal("lexeme", word, LONE[word.text], word.text)
            self.at += 1
            return word
        where = self.operands[-1] if self.operands else self.head
        hint = None
        if self.spec and self.spec.has_result and not self.result:
            hint = f"{self.head.text} makes a result: %name = {self.head.text} ..."
        rule = "result" if name == "result" else "missing"
        raise _Refusal(rule, where, f"the operand {name} of {self.head.text}", "the end of the instruction", hint)

    @property
    def is_switch(self) -> bool:
        """Whether the literals have the type of a selector."""
        return self.spec is not None and self.spec.code == SWITCH

    def number_type(self, word: Lexeme) -> NumberType:
        """The type of a constant's number, or of a case of a switch."""
        first = self.operands[0].text
        declared = self.shared.value_types.get(first, "") if self.is_switch else first
        kind = self.shared.numbers.get(declared)
        if kind is not None and not (self.is_switch and kind.kind == "float"):
            return kind
        what = "a selector whose type is" if self.is_switch else "a result type that is"
        hint = "!word gives a word as it is" if declared not in self.shared.numbers else None
        raise _Refusal(
            "type", word, f"{what} declared by OpTypeInt{'' if self.is_switch else ' or OpTypeFloat'}", first, hint
        )

    def number(self, word: Lexeme, kind: NumberType) -> None:
        """A number of a type."""
        text = word.text
        try:
            words = number_words(text, kind)
        except NotANumber as wrong:
            self.shared.refuse("number", word, str(wrong), text)
            words = (0,) * kind.words
        if len(words) > 1:
            self.shared.wide.add(self.index)
        self.out += words

    def string(self, word: Lexeme) -> None:
        """A string in quotes."""
        text = unquoted(word.text)
        if text is None:
            self.shared.refuse("string", word, "a string in quotes", word.text)
            return
        try:
            words = words_of(text)
        except UnicodeEncodeError:
            self.shared.refuse("string", word, "a string that UTF-8 can write", ascii(text))
            return
        if "\0" in text:
            self.shared.refuse("string", word, "a string without a zero character, which would end it", ascii(text))
        self.out += words

    def inner(self, word: Lexeme) -> None:
        """The opcode that an OpSpecConstantOp computes, by its name without `Op`, and its operands."""
        code = grammar().codes.get(f"Op{word.text}")
        spec = grammar().opcode(code) if code is not None else None
        if spec is None or not spec.has_result_type:
            names = [name.removeprefix("Op") for name in grammar().codes]
            hint = self.shared.nearest(word.text.removeprefix("Op"), names)
            raise _Refusal("opcode", word, "an opcode with a result, without Op", word.text, hint)
        self.out.append(spec.code)
        self.entry(operand for operand in spec.operands if operand.kind not in ("IdResult", "IdResultType"))

    def extended(self, word: Lexeme) -> None:
        """An extended instruction of the set that stands before it, by name, or by number where none is known."""
        name = self.shared.sets.get(self.operands[self.at - 2].text, "")
        known = grammar().extended(name) or {}
        named = {called: entry for entry in known.values() for called in entry.names}
        number = integer(word.text)
        entry = named.get(word.text) or (known.get(number) if number is not None else None)
        if entry is None and (number is None or not 0 <= number <= 0xFFFFFFFF):
            what = f"an instruction of {name}" if known else "the number of an instruction of a set that is not known"
            raise _Refusal("extended", word, what, word.text, self.shared.nearest(word.text, named))
        self.out.append(entry.value if entry else number or 0)
        self.entry(entry.operands if entry else ())
        self.entry((OperandSpec("IdRef", "operands", "*"),))

    def enumerant(self, kind: str, word: Lexeme) -> None:
        """A value by its name, or a mask of bits by theirs, and the parameters of each."""
        known = grammar().kinds[kind]
        value = 0
        start = word.start
        for name in word.text.split("|") if known.category == "BitEnum" else (word.text,):
            one = known.by_name.get(name)
            if one is None:
                hint = self.shared.nearest(name, known.by_name)
                part = Lexeme(name or word.text, start if name else word.start)
                what = f"bits of {kind}" if known.category == "BitEnum" else f"a value of {kind}"
                raise _Refusal("enumerant", part, what, name or word.text, hint)
            value |= one.value
            start += len(name) + 1
        self.out.append(value)
        bits = bits_of(value) if known.category == "BitEnum" else (value,)
        for bit in bits:
            if bit in known.by_value:
                self.entry(known.by_value[bit].operands)

    def rest(self) -> None:
        """What is left, by its own form: immediates, ids, strings, and numbers of 32 bits."""
        self.is_free = True
        while self.at < len(self.operands):
            word = self.take("")
            first = word.text[0]
            if first == "!":
                self.out.append(self.immediate(word))
            elif first == "%":
                self.out.append(self.shared.id(word))
            elif first == '"':
                self.string(word)
            elif first in "+-.0123456789":
                self.number(word, FLOAT if "." in word.text else SIGNED if first == "-" else UNSIGNED)
            else:
                expected = "an immediate, an id, a string or a number, as after every immediate"
                raise _Refusal("immediate", word, expected, word.text)
            if self.result and self.spec and len(self.out) == int(self.spec.has_result_type):
                self.out.append(self.shared.id(self.result))

    def immediate(self, word: Lexeme) -> int:
        """The word that an immediate says."""
        value = integer(word.text[1:])
        if value is None or not 0 <= value <= 0xFFFFFFFF:
            self.shared.refuse("immediate", word, "a ! and a number of 32 bits", word.text)
            return 0
        return value


def _number_type(opcode: str, operands: Sequence[str]) -> NumberType | None:
    """The type of numbers that an OpTypeInt or OpTypeFloat declares with its operands after the result."""
    values = [integer(text.removeprefix("!")) for text in operands[:2]]
    width = values[0] if values else None
    if width is None or width < 0:
        return None
    if opcode == "OpTypeInt":
        return NumberType("signed" if values[1] else "unsigned", width) if len(values) == 2 else None
    if len(operands) == 1:
        return NumberType("float", width)
    encodings = grammar().kinds["FPEncoding"]
    known = encodings.by_name.get(operands[1]) or encodings.by_value.get(values[1] if values[1] is not None else -1)
    return NumberType("float", width, known.name if known else operands[1])


def _id_hint(text: str) -> str | None:
    if "=" in text:
        return "blanks stand around the ="
    bare = re.sub(r"[^A-Za-z0-9_]", "_", text.lstrip("%"))
    return f"did you mean %{bare}?" if bare and len(bare) <= LONGEST_HINT else None


def _word(text: str | None) -> int:
    """A number of a header line; 0 where there is none."""
    value = integer(text) if text else None
    return value if value is not None and 0 <= value <= 0xFFFFFFFF else 0
