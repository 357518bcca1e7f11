"""The parameters of an address model: from options, a JSON file or a pasted dump; and how each is written.

A parameter has one name everywhere: `global_dim` in JSON and in `girih.addressing`, `--global-dim` as an option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import click

from girih.commands.address.paste import Problem, read
from girih.commands.parts.calls import TWICE, read_standard_input, refuse_file
from girih.lazy_dataclass import dataclass

LARGEST_TEXT = 8 << 20
"""Bytes of the largest file that is read."""
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip().replace("_", "") if isinstance(value, str) else ""
    if len(text) > 64 or not _INTEGER.fullmatch(text):
        raise ValueError("an integer such as 64 or 0x40")
    return int(text, 16 if "x" in text.lower() else 10)


def _integers(value: object) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError("integers such as 64,32")
    if isinstance(value, str) and not value.strip():
        return ()
    try:
        return tuple(_integer(part) for part in parts)
    except ValueError:
        raise ValueError("integers such as 64,32") from None


def _pairs(value: object) -> tuple[tuple[int, int], ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError("pairs such as 0:16,8:32")
    pairs = [part.split(":") if isinstance(part, str) else part for part in parts]
    try:
        return tuple((_integer(first), _integer(second)) for first, second in pairs)
    except (TypeError, ValueError):
        raise ValueError("pairs such as 0:16,8:32") from None


def _margins(value: object) -> tuple[int | tuple[int, int], ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError("numbers or before:after, such as 1,0:2")
    try:
        return tuple(
            _pairs([part])[0] if isinstance(part, list | tuple) or (isinstance(part, str) and ":" in part)
            else _integer(part)
            for part in parts
        )  # fmt: skip
    except ValueError:
        raise ValueError("numbers or before:after, such as 1,0:2") from None


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a name")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """A kind of parameter; `of` reads one and raises `ValueError` with what was expected."""

    metavar: str
    of: Callable[[object], Any]


KINDS = {
    "integer": ParameterKind("N", _integer),
    "integers": ParameterKind("N,N,...", _integers),
    "pairs": ParameterKind("OFFSET:SPAN,...", _pairs),
    "margins": ParameterKind("N|BEFORE:AFTER,...", _margins),
    "word": ParameterKind("NAME", _word),
    "flag": ParameterKind("", _flag),
}


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """One parameter of a model: its name, its kind, and its help."""

    name: str
    kind: str
    help: str
    is_needed: bool = False

    @property
    def option(self) -> str:
        """The option for the parameter, such as `--global-dim`."""
        return "--" + self.name.replace("_", "-")


def _p(name: str, kind: str, help: str, is_needed: bool = False) -> ModelParameter:
    return ModelParameter(name, kind, help, is_needed)


_DTYPE_TO = _p("dtype", "word", "With --to tensor-map: the element type.")
_MAP_COMMON = (
    _p("dtype", "word", "u8 u16 u32 s32 u64 s64 f16 bf16 f32 f64 f32_ftz tf32 tf32_ftz b32 b64 b4x16 b4x16_p64 "
       "b6x16_p32 b6p2x16.", True),
    _p("global_dim", "integers", "Elements in each dimension, innermost first.", True),
    _p("global_strides", "integers", "Bytes between neighbours in dimensions 1, 2, ...; dense if left out."),
)  # fmt: skip
_MAP_REST = (
    _p("swizzle", "word", "none 32B 64B 128B 128B_atom_32B 128B_atom_32B_flip_8B 128B_atom_64B."),
    _p("global_address", "integer", "Address of the tensor, for its alignment."),
    _p("architecture", "word", "sm_90a if left out."),
)
PARAMETERS: dict[str, tuple[ModelParameter, ...]] = {
    "tensor-layout": (
        _p("dimension", "integers", "Elements in each dimension, outermost first.", True),
        _p("block_size", "integers", "Elements of a block in each dimension."),
        _p("stride", "integers", "Blocks between neighbours in each dimension; dense if left out."),
        _p("slice", "pairs", "The region that is accessed, all of it if left out."),
        _p("clamp_mode", "word", "undefined constant clamp_to_edge repeat mirror_repeat."),
        _p("clamp_value", "integer", "32 bits whose low ones fill."),
        _p("element_offset", "integer", "Elements before the base."),
        _p("rows", "integer", "Rows of the matrix; those of the span if left out."),
        _p("columns", "integer", "Columns of the matrix."),
        _p("permutation", "integers", "A view: the order in which the matrix runs through the dimensions."),
        _p("view_dimension", "integers", "Dimensions of the view in place of the span's."),
        _p("view_stride", "integers", "Strides of the view, in elements of the span."),
        _p("clip", "pairs", "A view that accesses these rows and columns of the matrix only: ROW:ROWS,COLUMN:COLUMNS."),
        _p("store", "flag", "Look at a store instead of a load."),
        _p("quirks", "word", "A driver whose deviations are followed: nvidia-580."),
        _DTYPE_TO,
    ),
    "tensor-map": (
        *_MAP_COMMON,
        _p("box_dim", "integers", "Extent of the box in each dimension (tiled mode)."),
        _p("element_strides", "integers", "Traversal strides, 1 if left out."),
        _p("lower_corner", "integers", "Pixel box, W,H,D, from the first pixel: makes it im2col mode."),
        _p("upper_corner", "integers", "Pixel box, from the last pixel (im2col)."),
        _p("channels_per_pixel", "integer", "Channels of a pixel (im2col)."),
        _p("pixels_per_column", "integer", "Pixels of a column (im2col)."),
        _p("interleave", "word", "none 16B 32B."),
        _p("oob_fill", "word", "zero nan."),
        *_MAP_REST,
        _p("coordinates", "integers", "Where the copy starts, innermost first; the first box if left out."),
        _p("offsets", "integers", "Offsets of the pixels, W,H,D (im2col)."),
        _p("shared_address", "integer", "Where the box begins in shared memory."),
        _p("store", "flag", "Look at a store instead of a load."),
        _p("reduce", "word", "Look at a reduction: add min max inc dec and or xor."),
        _p("gather4", "integers", "Look at a gather of these four rows; --coordinates is the column, 0 if left out."),
        _p("scatter4", "integers", "Look at a scatter to these four rows."),
    ),
    "blocked-interleaved": (
        _p("order", "word", "Order of the blocks: row column.", True),
        _p("rows", "integer", "Rows of the matrix.", True),
        _p("columns", "integer", "Columns of the matrix.", True),
        _p("component_size", "integer", "Bytes of a component: 1 2 4 8.", True),
        _p("stride", "integer", "Blocks that are interleaved.", True),
        _p("revision", "integer", "Revision of the extension: 1 2."),
    ),
    "strided": (
        _p("shape", "integers", "Sizes of the modes.", True),
        _p("strides", "integers", "Elements between neighbours in each mode; packed, mode 0 innermost, if left out."),
        _p("offset", "integer", "Elements before the first."),
        _DTYPE_TO,
    ),
    "convolution": (
        *_MAP_COMMON,
        _p("filter", "integers", "Taps in W,H,D.", True),
        _p("padding", "margins", "Padding in W,H,D, 0 if left out."),
        _p("stride", "integers", "Strides in W,H,D, 1 if left out."),
        _p("dilation", "integers", "Dilations in W,H,D, 1 if left out."),
        _p("channels_per_pixel", "integer", "Channels of a copy.", True),
        _p("pixels_per_column", "integer", "Output pixels of a copy.", True),
        *_MAP_REST,
        _p("first_pixel", "integer", "The output pixel where the copy that is shown starts."),
        _p("channel", "integer", "Its first channel."),
        _p("tap", "integers", "Its tap, W,H,D."),
    ),
}
"""The parameters of every model that `girih address` knows."""


class ParameterError(Exception):
    """An input file cannot be read as parameters; it has every problem, and the name of the file."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        super().__init__(name, problems)
        self.name = name
        self.problems = problems


@dataclass(slots=True)
class Given:
    """The parameters of one call by name, and notes about their origin."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def gathered(
    model: str, options: Mapping[str, object], file: str | None, paste: str | None, symbols: Mapping[str, str]
) -> Given:
    """The parameters of a model: those of a dump, replaced by those of a JSON file, replaced by options.

    Raises `ParameterError` for files without such parameters, `click.ClickException` for files that cannot be read, and
    `click.UsageError` for wrong options and for a missing parameter.
    """
    if file == "-" and paste == "-":
        raise click.UsageError(TWICE)
    given = Given()
    if paste is not None:
        found = read(_text(paste), symbols)
        if found.problems:
            raise ParameterError(_shown(paste), found.problems)
        given.values |= found.parameters
        given.notes += found.notes
    if file is not None:
        given.values |= _from_json(model, _text(file), _shown(file))
    for parameter in PARAMETERS[model]:
        value = options.get(parameter.name)
        if value is not None and value is not False:
            given.values[parameter.name] = _of_option(parameter, value)
    missing = [one.option for one in PARAMETERS[model] if one.is_needed and one.name not in given.values]
    if missing:
        raise click.UsageError(f"missing: {', '.join(missing)} (or the same in --from FILE)")
    return given


def _of_option(parameter: ModelParameter, value: object) -> object:
    try:
        return KINDS[parameter.kind].of(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: expected {error}", param_hint=parameter.option) from None


def _from_json(model: str, text: str, name: str) -> dict[str, object]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParameterError(name, [Problem(error.lineno, error.msg, 'JSON such as {"rows": 4}')]) from None
    except (RecursionError, ValueError):
        problem = Problem(0, "the JSON is nested too deeply, or a number too long", "an object of numbers and lists")
        raise ParameterError(name, [problem]) from None
    content = content.get("parameters", content) if isinstance(content, dict) else content
    if not isinstance(content, dict):
        raise ParameterError(
            name, [Problem(0, f"it holds a {type(content).__name__}", 'an object such as {"rows": 4}')]
        )
    known = {parameter.name: parameter for parameter in PARAMETERS[model]}
    problems, values = [], {}
    for key, value in content.items():
        if key not in known:
            problems.append(Problem(_line_of(text, key), f"{key!r} is not a parameter", f"one of {', '.join(known)}"))
            continue
        try:
            values[key] = KINDS[known[key].kind].of(value) if value is not None else None
        except ValueError as error:
            problems.append(Problem(_line_of(text, key), f"{key} = {json.dumps(value)[:60]}", str(error)))
    if problems:
        raise ParameterError(name, problems)
    return {key: value for key, value in values.items() if value is not None}


def _line_of(text: str, key: str) -> int:
    place = text.find(json.dumps(key))
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _shown(path: str) -> str:
    return "<stdin>" if path == "-" else click.format_filename(path)


def _text(path: str) -> str:
    """The text of a file, of standard input for `-`."""
    try:
        if path == "-":
            data = read_standard_input(LARGEST_TEXT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LARGEST_TEXT + 1)
    except (OSError, ValueError) as error:
        refuse_file(path, error)
    if len(data) > LARGEST_TEXT:
        raise ParameterError(_shown(path), [Problem(0, "the file has more than 8 MiB", "the parameters of one model")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ParameterError(_shown(path), [Problem(line, "the file is not UTF-8", "text")]) from None
