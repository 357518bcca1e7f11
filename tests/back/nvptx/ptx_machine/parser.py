"""From the text of a module to its syntax. Whatever is not known is an error; nothing is skipped but sections.

Sections are those of debuggers (`.section`), which say nothing of what is executed.
"""

from __future__ import annotations

import re
import struct

from tests.back.nvptx.ptx_machine.errors import PtxSyntaxError
from tests.back.nvptx.ptx_machine.syntax import (
    Address,
    Constant,
    Decimal,
    Function,
    Instruction,
    Listed,
    Negated,
    Operand,
    Pair,
    Register,
    Scope,
    Sum,
    Syntax,
    Variable,
    Vector,
    Word,
)
from tests.back.nvptx.ptx_machine.types import TYPES

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(
    r'\n|"[^"\n]*"'
    r"|0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?"
    r"|[%$A-Za-z_.](?:[\w$.]|::)*|\S"
)
_SPACES = ("global", "shared", "const", "local", "param")
_LINKING = (".visible", ".extern", ".weak", ".common")
_SIZES = (".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxclusterrank", ".reqnctapercluster")
_LINES = (".version", ".target", ".address_size", ".file", ".loc")
_MARKS = (".noreturn", ".explicitcluster", ".blocksareclusters")


def parse(text: str) -> Syntax:
    """The syntax of a module. Raises `PtxSyntaxError`."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        plain = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
        self.tokens: list[str] = []
        self.lines: list[int] = []
        line = 1
        for token in _TOKEN.findall(plain):
            if token == "\n":
                line += 1
            else:
                self.tokens.append(token)
                self.lines.append(line)
        self.tokens.append("")
        self.lines.append(line)
        self.at = 0
        self.syntax = Syntax()
        self.source: tuple[int, int] | None = None
        self.function = ""

    # --- tokens --------------------------------------------------------------------------

    @property
    def token(self) -> str:
        return self.tokens[self.at]

    def next(self) -> str:
        found = self.tokens[self.at]
        self.at += 1
        return found

    def taken(self, token: str) -> bool:
        """Whether the next token is this one, which is passed then."""
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.taken(token):
            raise self.wrong(f"{token!r} is expected")

    def wrong(self, what: str) -> PtxSyntaxError:
        return PtxSyntaxError(f"line {self.lines[self.at]}: {what}, found {self.token or 'the end'!r}")

    def rest_of_line(self) -> list[str]:
        """The tokens up to the end of the line that the last one is in."""
        line, begin = self.lines[self.at - 1], self.at
        while self.token and self.lines[self.at] == line:
            self.at += 1
        return self.tokens[begin : self.at]

    def integer(self) -> int:
        negative = self.taken("-")
        token = self.token
        if not token[:1].isdigit():
            raise self.wrong("an integer is expected")
        self.at += 1
        value = int(token.rstrip("U"), 0)
        return -value if negative else value

    # --- a module ------------------------------------------------------------------------

    def module(self) -> Syntax:
        while self.token:
            if not self.directive():
                self.declaration()
        for one in self.syntax.code:
            if one.source is not None and one.source[0].isdigit():
                name = self.syntax.files.get(int(one.source[0]), one.source[0])
                one.source = (name, one.source[1])
        return self.syntax

    def directive(self) -> bool:
        """Whether the next thing is a directive that stands anywhere, which is passed then."""
        name = self.token
        if name in _LINES:
            self.at += 1
            self.line_directive(name, self.rest_of_line())
        elif name == ".section":
            self.skip_to("{")
            self.skip_to("}")
        elif name == ".pragma":
            self.skip_to(";")
        else:
            return False
        return True

    def line_directive(self, name: str, rest: list[str]) -> None:
        """A directive that ends with its line."""
        match name:
            case ".target":
                self.syntax.target = rest[0]
            case ".version":
                self.syntax.version = rest[0]
            case ".file":
                self.syntax.files[int(rest[0])] = rest[1].strip('"')
            case ".loc":
                # LLVM writes line 0 for code that is of no line in particular.
                if int(rest[1]):
                    self.source = (int(rest[0]), int(rest[1]))
            case _:
                if rest != ["64"]:
                    raise self.wrong("addresses of 64 bits are expected")

    def skip_to(self, token: str) -> None:
        """Pass all tokens up to one, and that."""
        while self.next() != token:
            if not self.token:
                raise self.wrong(f"{token!r} is expected")

    def declaration(self) -> None:
        while self.token in _LINKING:
            self.at += 1
        if self.token in (".entry", ".func"):
            self.a_function(self.next() == ".entry")
        elif self.token[1:] in _SPACES:
            one = self.variable()
            self.syntax.variables[one.name] = one
            self.expect(";")
        else:
            raise self.wrong("a variable or a function is expected")

    def variable(self) -> Variable:
        """A variable, from its space on, without what ends it."""
        space = self.next()[1:]
        align, lanes, type, pointer = 0, 1, "", False
        while self.token.startswith("."):
            word = self.next()[1:]
            if word == "ptr":
                pointer = True
            elif word == "align":
                # Behind `.ptr` it is that of what the parameter points to.
                given = self.integer()
                align = align if pointer else given
            elif word in ("v2", "v4"):
                lanes = int(word[1])
            elif word in TYPES and word != "pred":
                type = word
            elif word not in _SPACES:
                self.at -= 1
                raise self.wrong("a type is expected")
        if not type:
            raise self.wrong("a type is expected")
        name = self.next()
        count = 1
        while self.taken("["):
            count *= 0 if self.token == "]" else self.integer()
            self.expect("]")
        values: tuple[Operand, ...] = ()
        if self.taken("="):
            values = self.values()
        size = TYPES[type].bytes * lanes
        return Variable(name, space, type, size, count, align or size, values)

    def values(self) -> tuple[Operand, ...]:
        """What a variable holds at first; braces in braces are laid in a row."""
        if not self.taken("{"):
            return (self.operand(),)
        found: list[Operand] = []
        while not self.taken("}"):
            found += self.values()
            self.taken(",")
        return tuple(found)

    # --- functions -----------------------------------------------------------------------

    def a_function(self, is_entry: bool) -> None:
        results = self.parameters() if self.token == "(" else ()
        name = self.next()
        parameters = self.parameters() if self.token == "(" else ()
        one = Function(name, is_entry, parameters, results)
        while self.token.startswith("."):
            word = self.next()
            if word in _SIZES:
                sizes = [self.integer()]
                while self.taken(","):
                    sizes.append(self.integer())
                one.directives[word[1:]] = tuple(sizes)
            elif word not in _MARKS:
                self.at -= 1
                raise self.wrong("a directive of a function is expected")
        if self.taken(";"):
            self.syntax.functions.setdefault(name, one)
            return
        self.expect("{")
        self.function, one.first, self.source = name, len(self.syntax.code), None
        self.syntax.functions[name] = one
        scope = Scope(variables={v.name: v for v in (*parameters, *results)})
        self.body(scope)
        end = self.instruction_at("ret", (), None, scope)
        self.syntax.code.append(end)

    def parameters(self) -> tuple[Variable, ...]:
        self.expect("(")
        found = []
        while not self.taken(")"):
            if self.token == ".reg":
                raise self.wrong("parameters in memory are expected")
            found.append(self.variable())
            self.taken(",")
        return tuple(found)

    def body(self, scope: Scope) -> None:
        """What stands in braces, up to the closing one."""
        while not self.taken("}"):
            if not self.token:
                raise self.wrong("'}' is expected")
            if self.taken("{"):
                self.body(Scope(scope))
            elif self.token == ".reg":
                self.at += 1
                self.registers(scope)
            elif self.token[1:] in _SPACES and self.token[0] == ".":
                one = self.variable()
                scope.variables[one.name] = one
                if one.space not in ("param", "local"):
                    self.syntax.variables[one.name] = one
                self.expect(";")
            elif self.tokens[self.at + 1] == ":":
                scope.labels[self.next()] = len(self.syntax.code)
                self.at += 1
            elif not self.directive() and not self.taken(";"):
                self.instruction(scope)

    def registers(self, scope: Scope) -> None:
        type = self.next()[1:]
        if type not in TYPES:
            self.at -= 1
            raise self.wrong("a type of registers is expected")
        while not self.taken(";"):
            name = self.next()
            if self.taken("<"):
                scope.families[name] = (type, self.integer())
                self.expect(">")
            else:
                self.register(scope, name, type)
            self.taken(",")

    def register(self, scope: Scope, name: str, type: str) -> Register:
        one = Register(name, type, len(self.syntax.registers))
        scope.registers[name] = one
        self.syntax.registers.append(one)
        return one

    # --- instructions --------------------------------------------------------------------

    def instruction(self, scope: Scope) -> None:
        guard: Word | Negated | None = None
        if self.taken("@"):
            negated = self.taken("!")
            word = Word(self.next())
            guard = Negated(word) if negated else word
        opcode = self.token
        if not opcode[:1].isalpha():
            raise self.wrong("an instruction is expected")
        line = self.lines[self.at]
        self.at += 1
        operands: list[Operand] = []
        while not self.taken(";"):
            operands.append(self.operand())
            if not self.taken(",") and self.token != ";":
                raise self.wrong("',' or ';' is expected")
        one = self.instruction_at(opcode, tuple(operands), guard, scope)
        one.line = line
        self.syntax.code.append(one)

    def instruction_at(
        self, opcode: str, operands: tuple[Operand, ...], guard: Word | Negated | None, scope: Scope
    ) -> Instruction:
        source = None if self.source is None else (str(self.source[0]), self.source[1])
        return Instruction(opcode, operands, guard, scope, self.function, self.lines[self.at], source)

    def operand(self) -> Operand:
        first = self.simple()
        if self.taken("|"):
            return Pair(first, self.simple())
        if isinstance(first, Word) and self.token in "+-" and self.token:
            self.taken("+")
            return Sum(first, self.integer())
        return first

    def simple(self) -> Operand:
        if self.taken("{"):
            return Vector(self.until("}"))
        if self.taken("("):
            return Listed(self.until(")"))
        if self.taken("["):
            return self.address()
        if self.taken("!"):
            return Negated(Word(self.next()))
        if self.token == "-" or self.token[:1].isdigit():
            return self.number()
        if not re.match(r"[%$A-Za-z_]", self.token):
            raise self.wrong("an operand is expected")
        return Word(self.next())

    def until(self, end: str) -> tuple[Operand, ...]:
        found = []
        while not self.taken(end):
            found.append(self.operand())
            self.taken(",")
        return tuple(found)

    def address(self) -> Address:
        base = None if self.token[:1].isdigit() or self.token == "-" else Word(self.next())
        offset = 0
        if base is None:
            offset = self.integer()
        while self.token in ("+", "-"):
            if not self.taken("+") and self.token != "-":
                raise self.wrong("an offset is expected")
            offset += self.integer()
        coordinates: tuple[Operand, ...] = ()
        if self.taken(","):
            self.expect("{")
            coordinates = self.until("}")
        self.expect("]")
        return Address(base, offset, coordinates)

    def number(self) -> Constant | Decimal:
        negative = self.taken("-")
        token = self.next()
        lead = token[:2].lower()
        if lead in ("0f", "0d"):
            bits = 32 if lead == "0f" else 64
            value = int(token[2:], 16)
            return Constant(value ^ (1 << bits - 1) if negative else value, bits)
        if "." in token:
            return Decimal(-float(token) if negative else float(token))
        self.at -= 1
        whole = self.integer()
        return Constant(-whole if negative else whole)


def float_bits(value: float, bits: int) -> int:
    """The bits of a float of 32 or 64 bits."""
    return int.from_bytes(struct.pack("<f" if bits == 32 else "<d", value), "little")
