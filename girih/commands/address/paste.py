"""The reader of pasted dumps of a CUDA tensor map: C source of the encoding call, or lines `name = value`.

It gives the parameters of `girih address tensor-map`. A line that it cannot read is reported, with what was expected
there. Names may be those of the CUDA driver; values may be its enumerations or their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from girih.addressing.errors import plural
from girih.addressing.tensor_map.driver import CALLS, ENUMERATIONS, LISTS, NUMBERS, driver_name
from girih.commands.address.c_source import LONGEST, CSource, Unreadable
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """A piece that could not be read: the line, counted from 1 (0: no line), what came, and what was expected."""

    line: int
    message: str
    expected: str

    def render(self, name: str) -> str:
        """The problem as text in the form of a diagnostic; `name` is that of the dump."""
        place = f"{name}:{self.line}" if self.line else name
        return f"error: {place}: {self.message}\n  hint: expected {self.expected}"

    def to_json(self) -> dict[str, object]:
        """The problem as plain values."""
        return {"line": self.line or None, "message": self.message, "expected": self.expected}


@dataclass(slots=True)
class Pasted:
    """The parameters of a dump, notes about lines that were passed over, and problems."""

    parameters: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    """Where each parameter stands."""

    def wrong(self, line: int, message: str, expected: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line, message, expected))


# Other spellings in use: NumPy's and torch's names of types, the bytes of a swizzle, the fills of this package.
_ALSO = {
    "dtype": {"INT8": "u8", "BOOL": "u8", "INT16": "u16", "HALF": "f16", "FLOAT": "f32", "DOUBLE": "f64",
              "FLOAT8_E4M3FN": "u8", "FLOAT8_E5M2": "u8", "B32": "b32", "B64": "b64", "B6P2X16": "b6p2x16"},
    "interleave": {},
    "swizzle": {"32": "32B", "64": "64B", "128": "128B"},
    "oob_fill": {"ZERO": "zero", "ZEROS": "zero", "NAN": "nan"},
}  # fmt: skip
_IGNORED = ("l2_promotion", "tensor_map")

# Names in dumps, without case and underscores: those of the driver, of CUTLASS, and of this package.
_KEYS = {
    "tensordatatype": "dtype", "datatype": "dtype", "dtype": "dtype", "format": "dtype", "elementtype": "dtype",
    "tensorrank": "rank", "rank": "rank", "dim": "rank", "ndim": "rank",
    "globaladdress": "global_address", "gmemaddress": "global_address",
    "globaldim": "global_dim", "globaldims": "global_dim", "gmemprobshape": "global_dim",
    "globalstride": "global_strides", "globalstrides": "global_strides", "gmemprobstride": "global_strides",
    "boxdim": "box_dim", "boxdims": "box_dim", "boxsize": "box_dim", "smemboxshape": "box_dim",
    "elementstride": "element_strides", "elementstrides": "element_strides", "smemboxstride": "element_strides",
    "pixelboxlowercorner": "lower_corner", "lowercorner": "lower_corner",
    "pixelboxuppercorner": "upper_corner", "uppercorner": "upper_corner",
    "channelsperpixel": "channels_per_pixel", "pixelspercolumn": "pixels_per_column",
    "interleave": "interleave", "swizzle": "swizzle", "swizzlemode": "swizzle", "smemswizzle": "swizzle",
    "l2promotion": "l2_promotion", "oobfill": "oob_fill", "floatoobfill": "oob_fill",
    "tensormap": "tensor_map", "tmadescaddr": "tensor_map",
}  # fmt: skip
_LONG_KEYS = tuple(key for key in _KEYS if len(key) > 5)

_NO_LETTER = re.compile(r"[\s_\"']")
_WORD = re.compile(r"\w+")
_CALL = re.compile(r"cuTensorMapEncode(Tiled|Im2colWide|Im2col)\w{0,64}+\s*\)?\s*\(")
_PAIR = re.compile(
    r"^[{\s(]*(?P<name>[\w\s*:<>,.&\"']*?[\"']?)\s*(?:\[[^\]]*\]\s*)?(?:=|:(?!:))\s*(?P<value>.+)$", re.S
)
_SIDE_BY_SIDE = re.compile(
    r"(?P<name>[A-Za-z_]\w*)\s*(?:\[\w*\]\s*)?[=:](?!:)\s*"
    r"(?P<value>(?:[\[({][^\])}]*[\])}]|(?=[^\s,;|]))(?:::|[^\s,;|\[({=:])*)(?=[\s,;|]|$)"
)
_COLUMN = re.compile(r"^\s*(?P<name>\w+)\s+(?P<value>\S.*)$", re.S)


def read(text: str, symbols: Mapping[str, str]) -> Pasted:
    """The parameters in a dump; `symbols` are values for names that it does not define."""
    source, found = CSource(text, symbols), Pasted()
    calls = list(_CALL.finditer(source.text))
    if calls:
        _read_call(source, calls, found)
    else:
        _read_lines(source, found)
    if not found.problems:
        _complete(found)
    return found


# --- the call ---------------------------------------------------------------------------------


def _read_call(source: CSource, calls: Sequence[re.Match[str]], found: Pasted) -> None:
    call = calls[0]
    line = source.line(call.start())
    if len(calls) > 1:
        found.notes.append(f"there are {len(calls)} calls; this is the first, in line {line}")
    names = CALLS.get(call[1])
    if names is None:
        found.wrong(line, f"cuTensorMapEncode{call[1]} is another mode", "cuTensorMapEncodeTiled or -Im2col")
        return
    source.define_until(call.start())
    arguments = source.arguments(call.end())
    if arguments is None:
        found.wrong(line, f"the call of cuTensorMapEncode{call[1]} has no end", "a closing parenthesis")
        return
    if len(arguments) == len(names) - 1 and _is_type(source, arguments[0][0]):
        names = names[1:]  # Python returns the map.
    if len(arguments) != len(names):
        wanted = ", ".join(driver_name(name) for name in names)
        found.wrong(line, f"the call has {plural(len(arguments), 'argument')}", f"{len(names)}: {wanted}")
        return
    for name, (text, place) in zip(names, arguments, strict=True):
        _take(source, found, name, text, source.line(place))


def _is_type(source: CSource, text: str) -> bool:
    """Whether an argument is an element type."""
    try:
        return bool(_word(source, "dtype", text))
    except Unreadable:
        return False


def _take(source: CSource, found: Pasted, name: str, text: str, line: int) -> None:
    """Read one parameter, and note its value or a problem."""
    if name in _IGNORED:
        return
    try:
        value = _value(source, name, text)
    except Unreadable as problem:
        found.wrong(problem.line or line, f"{driver_name(name)}: {problem}", problem.expected)
        return
    if value is None:
        found.notes.append("the global address is not a number here; its alignment is not checked")
        return
    found.parameters[name], found.lines[name] = value, line
    if value == "b6x16_p32" and "b6x16" not in text.lower():
        found.notes.append(
            "the driver has one name for two types: 16U6_ALIGN16B is taken to be b6x16_p32, which loads; "
            "for stores give --dtype b6p2x16"
        )


def _value(source: CSource, name: str, text: str) -> object:
    if name in LISTS:
        return source.integers(text)
    if name in NUMBERS:
        return source.integer(text)
    if name == "global_address":
        return source.address(text)
    return _word(source, name, text)


def _word(source: CSource, name: str, text: str) -> str:
    """The package's name of an enumeration's value, which may be given as its name in CUDA or as its number."""
    prefix, words = ENUMERATIONS[name].prefix, ENUMERATIONS[name].words
    text = source.resolved(text)
    known = {**words, **{value.upper(): value for value in words.values()}, **_ALSO[name]}
    scoped = re.search(r"CU_TENSOR_MAP_\w+", text)
    key = (scoped[0] if scoped else re.split(r"::|\.", text)[-1]).strip(" \t\"'<>()").upper()
    for start in (prefix, prefix.removeprefix("CU_TENSOR_MAP_"), "OOB_FILL_"):
        key = key.removeprefix(start)
    numbered = list(words.values())
    if re.fullmatch(r"[0-9]{1,3}", key) and int(key) < len(numbered):
        return numbered[int(key)]
    if key not in known:
        names = ", ".join(prefix + word for word in words)
        raise Unreadable(f"{text!r} is unknown", f"one of {names}, or a number from 0 to {len(words) - 1}")
    return known[key]


# --- lines -------------------------------------------------------------------------------------


def _read_lines(source: CSource, found: Pasted) -> None:
    source.define_until(len(source.text))
    for pair, text, line in _pairs(source):
        name = _parameter(pair[0]) if pair else None
        if pair is None or name is None:
            if pair is not None and not source.is_definition(pair[0]):
                found.notes.append(f"line {line} was passed over: {' '.join(text.split())[:60]!r} is not a parameter")
            continue
        if name in found.parameters and name != "rank":
            message = f"{driver_name(name)} stands in line {found.lines[name]} already"
            found.wrong(line, message, "the parameters of one tensor map")
            continue
        _take(source, found, name, pair[1], line)


def _pairs(source: CSource) -> Iterator[tuple[tuple[str, str] | None, str, int]]:
    """Every logical line with its name and value; a line with several parameters side by side comes several times."""
    for text, line in source.statements():
        matches = [one for one in _SIDE_BY_SIDE.finditer(text[:LONGEST]) if _parameter(one["name"])]
        gaps = [text[first.end() : second.start()] for first, second in pairwise(matches)]
        if len(matches) > 1 and len(text) <= LONGEST and not any(gap.strip(" ,;|") for gap in gaps):
            yield from (((one["name"], one["value"]), one[0], line) for one in matches)
            text = text[matches[-1].end() :].strip(" ,;|")
        if text:
            yield _pair(text), text, line


def _pair(text: str) -> tuple[str, str] | None:
    """The name and the value of `type name[2] = value`, `name: value` or `name   value`; None for other lines."""
    if len(text) > LONGEST:
        return None
    match = _PAIR.match(text) or _COLUMN.match(text)
    return (match["name"].strip(), match["value"].strip()) if match else None


def _parameter(name: str) -> str | None:
    """The parameter that a name stands for, by all of it, its last word, or the end of that; None if there is none."""
    plain = _NO_LETTER.sub("", name).lower()
    last = _NO_LETTER.sub("", (_WORD.findall(name) or [""])[-1]).lower()
    if plain in _KEYS or last in _KEYS:
        return _KEYS.get(plain, _KEYS.get(last))
    # One call that looks at all keys: a long text may have a name every few characters.
    if not last.endswith(_LONG_KEYS):
        return None
    return _KEYS[max((key for key in _LONG_KEYS if last.endswith(key)), key=len)]


# --- what follows from the rest -----------------------------------------------------------------


def _complete(found: Pasted) -> None:
    """Check that all needed parameters are present, and cut lists to the rank."""
    given = found.parameters
    is_im2col = "lower_corner" in given or "upper_corner" in given
    names = CALLS["Im2col" if is_im2col else "Tiled"]
    rank = given.get("rank", len(given.get("global_dim", ())))
    for name in names:
        if name in given or name in (*_IGNORED, "rank", "global_address", "element_strides", *ENUMERATIONS):
            continue
        if name != "global_strides" or rank != 1:
            example = "64, 32" if name in LISTS else "64"
            found.wrong(0, f"nothing says {driver_name(name)}", f"a line such as {driver_name(name)} = {example}")
    if "dtype" not in given:
        found.wrong(0, "nothing says tensorDataType", "a line such as dataType = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16")
    if found.problems:
        return
    _cut(found, rank)
    given.pop("rank", None)


def _cut(found: Pasted, rank: int) -> None:
    """Cut lists to the length that the rank asks for; CUTLASS writes the stride of dimension 0 before the others."""
    given = found.parameters
    strides = given.get("global_strides", ())
    if len(strides) >= rank and strides[0] in (1, 2, 4, 8) and (rank == 1 or strides[0] < 16):
        found.notes.append(f"globalStrides begins with {strides[0]}, the stride of dimension 0, which is left out")
        given["global_strides"] = strides[1:]
    lengths = {"global_dim": rank, "global_strides": rank - 1, "box_dim": rank, "element_strides": rank,
               "lower_corner": rank - 2, "upper_corner": rank - 2}  # fmt: skip
    for name, length in lengths.items():
        if name in given and len(given[name]) < length:
            message = f"{driver_name(name)} has {plural(len(given[name]), 'number')}, rank {rank} needs {length}"
            found.wrong(found.lines.get(name, 0), message, plural(length, "number"))
        elif name in given:
            surplus = [number for number in given[name][length:] if number not in (0, 1)]
            if surplus:
                words = ", ".join(str(number) for number in surplus)
                numbers = f"{plural(len(given[name]), 'number')}, rank {rank} takes {length}"
                found.notes.append(f"{driver_name(name)} has {numbers}: {words} is left out")
            given[name] = given[name][:length]
    given.setdefault("global_strides", ())
