"""C source as far as a dump of parameters needs it: definitions, integer expressions, lists, arguments, with lines.

Nothing is executed: expressions are sums, products, shifts of numbers and of names that the text or the caller
defines.
"""

from __future__ import annotations

import ast
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial

LONGEST = 1000
"""Characters of the longest expression that is read."""
DEEPEST = 40
"""How many names may lead to each other, and records may lie inside each other."""
BLANKS = 1000
"""How many blanks may stand before a value."""


class Unreadable(Exception):
    """A piece of text cannot be read; `expected` is what could be, `line` where it stands (0: where it is used)."""

    def __init__(self, message: str, expected: str, line: int = 0) -> None:
        super().__init__(message)
        self.expected = expected
        self.line = line


_COMMENT = re.compile(r"//[^\n]*|/\*|(?<=\S)[ \t]+#[ \t][^\n]*")
_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+(?P<text>[^\n]+)"
    r"|\b(?P<name>[A-Za-z_]\w*)\s*(?P<index>(?:\[[^\[\]\n]*\]\s*)*)(?P<sign>=(?!=)|\{)",
    re.M,
)
_TYPES = r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|size_t|half|\w+_t|__\w+|CU\w+|std::\w+)"
_CAST = re.compile(
    rf"(?<!sizeof)(?<!sizeof )\(\s*(?:const\s+)?{_TYPES}(?:\s+(?:int|long|const))*\s*[*&]*\s*(?:\[\s*\])?\)"
)
_CXX_CAST = re.compile(r"\b(?:static|reinterpret|const)_cast\s*<[^<>]*>")
_SIZEOF = re.compile(r"\bsizeof\s*\(?\s*([\w:]+(?:\s+\w+)*)\s*\)?")
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F']+|[0-9][0-9']*)[uUlLzZ]*\b")
_NO_NUMBER = re.compile(r"\b[0-9]+[A-Za-z_.]")
_DATA = re.compile(r"\.data\(\)|\.begin\(\)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.)\w+)*")
_OFFSET = re.compile(rf"(?P<list>{_NAME.pattern})\s*\+\s*(?P<first>[0-9]{{1,9}})")
_ADDRESS_OF = re.compile(r"&\s*(?P<list>[A-Za-z_]\w*)\s*\[\s*(?P<first>[0-9]{1,9})\s*\]")
_INNER_PAIR = re.compile(r"\b[A-Za-z_]\w*+[\"']?\s*[:=](?![:=])")
_TIMES = re.compile(r"[0-9]+(?:\s+[x\u00d7]\s+[0-9]+)+|[1-9][0-9]*(?:[x\u00d7][1-9][0-9]*)+")
_NOTHING = ("nullptr", "NULL", "None", "0")
_OPEN, _CLOSE = "([{", ")]}"
_BRACKET = re.compile(r"[()\[\]{}]")
_LIST = re.compile(r"(?<![\w\]])\[|[({]")
_STOPS = {ends: re.compile(rf"[()\[\]{{}}{ends}]") for ends in ("", ",", "\n", ";\n", ",\n", ";,\n")}
"""Where a piece may end, or go down into brackets, by the characters that end it."""

SIZES = {
    1: ("char", "uint8_t", "int8_t", "bool", "fp8", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "float_e4m3_t", "float_e5m2_t"),
    2: ("short", "uint16_t", "int16_t", "half", "__half", "half_t", "nv_bfloat16", "__nv_bfloat16", "bfloat16_t"),
    4: ("int", "unsigned", "unsigned int", "float", "uint32_t", "int32_t", "tfloat32_t"),
    8: ("double", "uint64_t", "int64_t", "size_t", "long long", "unsigned long long"),
}
"""Bytes of the types that `sizeof` knows."""

_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.Div: lambda a, b: a // b, ast.FloorDiv: lambda a, b: a // b, ast.Mod: operator.mod,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip


class CSource:
    """A text without its comments, and the definitions of its names."""

    def __init__(self, text: str, symbols: Mapping[str, str]) -> None:
        self.text = _without_comments(text)
        self.symbols = symbols
        self._behind = _behind(self.text)
        self._newlines = [found.start() for found in re.finditer("\n", self.text)]
        self._starts: dict[str, tuple[int, str]] = {}
        self.entries: dict[str, dict[int, int]] = {}
        self._numbers: dict[str, int] = {}
        self._arrays: dict[str, list[int]] = {}

    def line(self, place: int) -> int:
        """The line of a character, counted from 1."""
        return bisect_left(self._newlines, place) + 1

    def is_definition(self, name: str) -> bool:
        """Whether the line that begins with `name` only defines a name."""
        words = re.findall(r"\w+", name)
        return len(words) > 1 or "#" in name or bool(words and words[-1] in self._starts and len(words[-1]) < 3)

    # --- structure

    def span(self, start: int, ends: str) -> int:
        """The end of the piece that begins at `start`: one of `ends` outside of brackets, or the end of the text."""
        stops = _STOPS[ends]
        while stop := stops.search(self.text, start):
            if stop[0] not in _OPEN:
                return stop.start()
            start = self._behind[stop.start()]
        return len(self.text)

    def arguments(self, start: int) -> list[tuple[str, int]] | None:
        """The arguments of a call from behind its parenthesis, each with its place; None if the call does not end."""
        found = []
        while True:
            end = self.span(start, ",")
            if end == len(self.text):
                return None
            piece = self.text[start:end]
            if piece.strip() or self.text[end] == ",":
                found.append((piece.strip(), start + len(piece) - len(piece.lstrip())))
            if self.text[end] != ",":
                return found
            start = end + 1

    def statements(self) -> Iterator[tuple[str, int]]:
        """The logical lines, those of a record one by one, each with the number of its first line."""
        start = 0
        while start < len(self.text):
            end = self.span(start, ";\n")
            yield from self._pieces(start, end)
            start = end + 1

    def _pieces(self, start: int, end: int, depth: int = 0) -> Iterator[tuple[str, int]]:
        """A piece of text, or the `name: value` pairs in its first brackets."""
        text = self.text[start:end]
        bracket = re.search(r"[{(]", text)
        first = start + bracket.end() if bracket else end
        inner_end = self.span(first, "") if bracket else end
        if depth < DEEPEST and _INNER_PAIR.search(self.text, first, inner_end):
            held: tuple[int, int] | None = None
            while first < inner_end:
                stop = min(self.span(first, ",\n"), inner_end)
                if held is None or _INNER_PAIR.search(self.text[first:stop]):
                    if held is not None:
                        yield from self._pieces(*held, depth + 1)
                    held = (first, stop)
                else:
                    held = (held[0], stop)
                first = stop + 1
            if held is not None:
                yield from self._pieces(*held, depth + 1)
        elif text.strip(" \t\r\n,"):
            yield " ".join(text.split()).rstrip(","), self.line(start + len(text) - len(text.lstrip()))

    def define_until(self, end: int) -> None:
        """Note the definitions of names up to a place; the last definition of a name counts."""
        for match in _DEFINITION.finditer(self.text, 0, end):
            if match["macro"]:
                self._starts[match["macro"]] = (match.start("text"), "\n")
                continue
            start = match.start("sign") if match["sign"] == "{" else match.end()
            start += len(self.text[start : start + BLANKS]) - len(self.text[start : start + BLANKS].lstrip())
            is_list = self.text[start : start + 1] == "{"
            number = re.fullmatch(r"\[\s*([0-9]{1,3})\s*\]\s*", match["index"])
            if number and not is_list:
                self.entries.setdefault(match["name"], {})[int(number[1])] = start
            else:
                self._starts[match["name"]] = (start, "" if is_list else ";,\n")

    def defined(self, name: str) -> tuple[str, int] | None:
        """The text that a name stands for, and where that begins; None if the text does not define it."""
        if name not in self._starts:
            return None
        start, ends = self._starts[name]
        if not ends:
            return self.text[start : self.span(start + 1, "") + 1], start
        return self.text[start : self.span(start, ends)].strip(), start

    # --- values

    def resolved(self, text: str, depth: int = 0) -> str:
        """A text without casts; a single name is replaced by its definition. A text too long to be one is unchanged."""
        if len(text) > LONGEST:
            return text
        text = _CXX_CAST.sub("", _CAST.sub("", text)).strip()
        while text.startswith("(") and text.endswith(")"):
            text = text[1:-1].strip()
        if text in self.symbols:
            return self.symbols[text]
        known = self.defined(text) if depth < DEEPEST else None
        return text if known is None else self.resolved(known[0], depth + 1)

    def integer(self, text: str, depth: int = 0) -> int:
        """The value of an integer expression. Raises `Unreadable`."""
        cleaned = _CXX_CAST.sub("", _CAST.sub("", text)).strip()
        if len(cleaned) <= LONGEST:
            cleaned = _SIZEOF.sub(self._size, cleaned)
            cleaned = _NUMBER.sub(_plain_number, cleaned).replace("::", ".")
        if not cleaned or len(cleaned) > LONGEST or _NO_NUMBER.search(cleaned):
            raise Unreadable(f"{text.strip()[:40]!r} is not an integer", "an integer")
        try:
            tree = ast.parse(cleaned, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unreadable(
                f"{text.strip()[:60]!r} is not an integer expression", "numbers, names, + - * / % << >>"
            ) from None
        return self._evaluated(tree, depth)

    def _size(self, match: re.Match[str]) -> str:
        name = match[1].split("::")[-1].strip()
        for size, names in SIZES.items():
            if name in names:
                return str(size)
        raise Unreadable(f"the size of {name} is not known", "a type such as __half, or the number of its bytes")

    def _evaluated(self, node: ast.AST, depth: int) -> int:
        match node:
            case ast.Constant(value=int() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._evaluated(operand, depth)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                first, second = self._evaluated(left, depth), self._evaluated(right, depth)
                if isinstance(sign, ast.Div | ast.FloorDiv | ast.Mod) and second == 0:
                    raise Unreadable("there is a division by zero", "another divisor")
                if isinstance(sign, ast.LShift | ast.RShift) and not 0 <= second < 64:
                    raise Unreadable(f"there is a shift by {second}", "a shift by 0 to 63")
                result = _OPERATORS[type(sign)](first, second)
                if abs(result) >= 2**64:
                    raise Unreadable(f"{ast.unparse(node)[:40]!r} does not fit in 64 bits", "a number below 2^64")
                return result
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=index):
                return self._element(name, self._evaluated(index, depth), depth)
            case ast.Call(args=[argument], keywords=[]):
                return self._evaluated(argument, depth)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._named(name, depth)
        raise Unreadable(f"{ast.unparse(node)!r} is not an integer expression", "numbers, names, + - * / % << >>")

    def _named(self, name: str, depth: int) -> int:
        if depth >= DEEPEST:
            raise Unreadable(f"{name} leads to itself", "names that end in numbers")
        if name in self.symbols:
            return self.integer(self.symbols[name], depth + 1)
        known = self.defined(name)
        if known is None:
            raise Unreadable(f"{name} is not defined", f"a definition `{name} = ...` above, or -D {name}=NUMBER")
        text, place = known
        if name not in self._numbers:
            self._numbers[name] = self._at(place, lambda: [self.integer(text, depth + 1)])[0]
        return self._numbers[name]

    def _element(self, name: str, index: int, depth: int) -> int:
        """Entry `index` of an array; while the array is being read, only earlier entries exist."""
        if depth >= DEEPEST:
            raise Unreadable(f"{name} leads to itself", "names that end in numbers")
        values = self._arrays[name] if name in self._arrays else self._array(name, depth + 1)
        if not 0 <= index < len(values):
            expected = f"an index below {len(values)}, or " if values else ""
            raise Unreadable(f"{name}[{index}] is not set", f"{expected}{name}[{index}] = ... before it is used")
        return values[index]

    def address(self, text: str) -> int | None:
        """The value of an address; None for a pointer whose value the text does not define."""
        try:
            return self.integer(self.resolved(text))
        except Unreadable:
            return None

    def integers(self, text: str, depth: int = 0) -> tuple[int, ...]:
        """The integers of a list: in braces or brackets, or an array by name or address. Raises `Unreadable`."""
        text = _DATA.sub("", _CXX_CAST.sub("", _CAST.sub("", text))).strip()
        for pattern in (_ADDRESS_OF, _OFFSET):
            shifted = pattern.fullmatch(text)
            if shifted:
                return self.integers(shifted["list"], depth + 1)[int(shifted["first"]) :]
        if text in _NOTHING:
            return ()
        if _NAME.fullmatch(text) and depth < DEEPEST:
            return self._array(text, depth)
        inner = _inner(text)
        held = text if inner is None else inner
        if _TIMES.fullmatch(held.strip()):
            held = re.sub(r"[x\u00d7]", ",", held)
        if inner is None and "," not in held and re.fullmatch(r"[\w\s']+", held):
            held = ",".join(held.split())
        return tuple(self.integer(part, depth) for part in _split(held) if part.strip())

    def _array(self, name: str, depth: int) -> tuple[int, ...]:
        """The entries of the array of a name, computed once; entries may use those before them."""
        name = re.split(r"::|\.", name)[-1]
        if name not in self._arrays:
            self._arrays[name] = []
            try:
                self._fill(name, self._arrays[name], depth)
            except Unreadable:
                del self._arrays[name]
                raise
        return tuple(self._arrays[name])

    def _fill(self, name: str, values: list[int], depth: int) -> None:
        """Append the entries of an array to `values`, one after the other."""
        entries, known = self.entries.get(name, {}), self.defined(name)
        if known is not None:
            text, place = known
            values += self._at(place, lambda: list(self.integers(text, depth + 1)))
        elif not entries:
            expected = f"an array `{name}[] = {{...}}` above, or the numbers"
            raise Unreadable(f"{name} is not defined", expected)
        for index, place in sorted(entries.items()):
            text = self.text[place : self.span(place, ";,\n")]
            if index > len(values):
                raise Unreadable(f"{name}[{len(values)}] is not set", f"{name}[{len(values)}] = ...", self.line(place))
            values[index : index + 1] = self._at(place, partial(self._entry, text, depth))

    def _entry(self, text: str, depth: int) -> list[int]:
        return [self.integer(text, depth + 1)]

    def _at(self, place: int, make: Callable[[], list[int]]) -> list[int]:
        """The result of `make`; a problem in it gets the line of this place if it has none."""
        try:
            return make()
        except Unreadable as problem:
            raise Unreadable(str(problem), problem.expected, problem.line or self.line(place)) from None


def _plain_number(match: re.Match[str]) -> str:
    """A literal of C as a decimal number, without suffix and separators."""
    digits = match[1].replace("'", "")
    return str(int(digits, 16 if digits[:2].lower() == "0x" else 10))


def _split(text: str) -> list[str]:
    """The parts between commas that stand outside of brackets."""
    parts, start, depth = [], 0, 0
    for match in _STOPS[","].finditer(text):
        depth += (match[0] in _OPEN) - (match[0] in _CLOSE)
        if match[0] == "," and depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _without_comments(text: str) -> str:
    """The text with blanks in place of comments; one that has no end is none."""
    parts, start = [], 0
    last = text.rfind("*/")
    while found := _COMMENT.search(text, start):
        begin, end = found.span()
        if found[0] == "/*" and begin + 2 <= last:
            end = text.index("*/", end) + 2
        elif found[0] == "/*":
            parts.append(text[start:end])
            start = end
            continue
        parts += [text[start:begin], re.sub(r"[^\n]", " ", text[begin:end])]
        start = end
    return "".join([*parts, text[start:]])


def _inner(text: str) -> str | None:
    """The text between the first bracket that is closed and the last of its kind; None if there is none."""
    last = {opened: text.rfind(closed) for opened, closed in zip(_OPEN, _CLOSE, strict=True)}
    for match in _LIST.finditer(text):
        if match.start() < last[match[0]]:
            return text[match.end() : last[match[0]]]
    return None


def _behind(text: str) -> dict[int, int]:
    """For each opening bracket the place behind the one that closes it, or the end of the text; any kind closes any."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0] in _OPEN:
            opened.append(bracket.start())
        elif opened:
            ends[opened.pop()] = bracket.end()
    return ends | dict.fromkeys(opened, len(text))
