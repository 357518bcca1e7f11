"""The buffers and push constants of `girih run` on a shader: `SET:BINDING=VALUE` as arrays, `--push` as bytes.

A wrong call raises `click.UsageError`; a file that cannot be read `click.ClickException`, and one without an array
`ArrayInputError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from girih.commands.parts.array_specifications import MAKERS
from girih.commands.parts.arrays import ArrayInputError, readable
from girih.commands.parts.calls import refuse_file, unknown
from girih.lazy_dataclass import dataclass
from girih.spirv.model.declared.bindings import ShaderInterface, ShaderResource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

LARGEST_BYTES = 2**40

_PLACE = re.compile(r"([0-9]{1,9}):([0-9]{1,9})", re.ASCII)
_SHAPE = re.compile(r"[0-9]{1,15}(?:x[0-9]{1,15})*", re.ASCII)
_SIGNLESS = {"u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
RAW = (".bin", ".raw")
"""The endings of files that are the bytes of a buffer, and nothing else."""


@dataclass(frozen=True, slots=True)
class BufferText:
    """What a call says of one buffer, before any array is made: its key for a launch, and its value as written."""

    key: tuple[int, int] | str
    shown: str
    value: str


def buffer_texts(texts: Sequence[str], what: str = "") -> list[BufferText]:
    """The parts of `SET:BINDING=VALUE` or `NAME=VALUE`; `what` is the option that they are given to."""
    found: list[BufferText] = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise click.UsageError(f"{what}{text!r} is not SET:BINDING=VALUE, for instance 0:1=a.npy")
        if name in [one.shown for one in found]:
            raise click.UsageError(f"{what}{name} is given twice")
        found.append(BufferText(key_of(name), name, value))
    return found


def key_of(name: str) -> tuple[int, int] | str:
    """The key of a launch for `0:1`, or for a name."""
    place = _PLACE.fullmatch(name)
    return (int(place[1]), int(place[2])) if place else name


def resource_of(interface: ShaderInterface, one: BufferText) -> ShaderResource:
    """The resource that is meant. Raises `click.UsageError` where there is none, or several have the name."""
    found = [
        resource
        for resource in interface.resources
        if one.key == (resource.set, resource.binding) or one.key in resource.names
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = " and ".join(f"{resource.set}:{resource.binding}" for resource in found)
        raise click.UsageError(f"{one.shown} is the name of {places}: write one of these")
    known = [f"{resource.set}:{resource.binding}" for resource in interface.resources]
    unknown("buffer", one.shown, [*known, *(name for resource in interface.resources for name in resource.names)])


class BufferMaker:
    """The maker of the buffers of one launch; `random` ones are drawn one after the other from a seed."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._random = np.random.default_rng(seed)

    def value(self, one: BufferText, resource: ShaderResource) -> object:
        """The argument of a launch for a buffer, or a list for an array of buffers."""
        text = one.value
        if text.startswith("[") and text.endswith("]"):
            inner = text[1:-1].strip()
            return [self._array(one, part.strip(), resource) for part in inner.split(",")] if inner else []
        return self._array(one, text, resource)

    def _array(self, one: BufferText, text: str, resource: ShaderResource) -> object:
        maker = text.split(":")[0]
        if maker in MAKERS:
            return self._made(one, text, resource)
        if text.lower().endswith((".npy", *RAW)):
            return array_in(text)
        listed = ", ".join(MAKERS)
        expected = f"FILE.npy, FILE.bin, [A,B,...], or {listed} as in zeros:f32:64"
        raise click.UsageError(f"{one.shown}={text}: expected: {expected}")

    def _made(self, one: BufferText, text: str, resource: ShaderResource) -> object:
        import numpy as np

        maker, *rest = text.split(":")
        if len(rest) == 1 or len(rest) > 2:
            raise click.UsageError(f"{one.shown}={text}: expected: {maker}, or as in {maker}:f32:64x64")
        if not rest and any(view.step for view in resource.variables):
            message = "the block ends with an array whose size is open"
            raise click.UsageError(f"{one.shown}={text}: {message}; write it, as in {maker}:f32:64")
        dtype = dtype_of(rest[0], one) if rest else np.dtype(np.uint8)
        if rest and not _SHAPE.fullmatch(rest[1]):
            raise click.UsageError(f"{one.shown}={text}: the shape {rest[1]!r} is not written as in 64x64")
        shape = tuple(map(int, rest[1].split("x"))) if rest else (resource.fixed_bytes,)
        count = 1
        for size in shape:
            count *= size
        if count * dtype.itemsize > LARGEST_BYTES:
            raise click.UsageError(f"{one.shown}={text}: an array of {count} elements is too large")
        made = self._filled(maker, dtype, shape, count)
        if maker == "uninitialized":
            from girih.arguments.arrays import uninitialized

            return uninitialized(made)
        return made

    def _filled(self, maker: str, dtype: np.dtype[Any], shape: tuple[int, ...], count: int) -> Array:
        import numpy as np

        match maker:
            case "ones":
                return np.ones(shape, dtype)
            case "arange":
                with np.errstate(all="ignore"):
                    return np.arange(count).astype(dtype).reshape(shape)
            case "random" if dtype.kind in "iu":
                return self._random.integers(0, 100, shape).astype(dtype)
            case "random":
                return self._random.random(shape).astype(dtype)
            case _:
                return np.zeros(shape, dtype)


def dtype_of(word: str, one: BufferText) -> np.dtype[Any]:
    """The dtype of a type's word: those of the language without complex ones, and u8, u16, u32, u64."""
    import numpy as np

    from girih.arguments.scalars import DTYPES
    from girih.ir.types import NUMBERS

    known = {name: DTYPES[type] for name, type in NUMBERS.items() if type.family != "complex" and name != "index"}
    known |= {name: np.dtype(unsigned) for name, unsigned in _SIGNLESS.items()}
    if word not in known:
        raise click.UsageError(f"{one.shown}={one.value}: there is no type {word!r}; there is: {', '.join(known)}")
    return known[word]


def array_in(path: str) -> Array:
    """The array in a .npy file; of a raw file its bytes."""
    import numpy as np

    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        refuse_file(path, error)
    if path.lower().endswith(RAW):
        return np.frombuffer(content, np.uint8).copy()
    try:
        found: Array = np.lib.format.read_array(readable(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        reason = str(error).split("\n")[0]
        raise ArrayInputError(f"{path}: this is no .npy file with an array of numbers ({reason})") from None
    return np.ascontiguousarray(found)


def push_constants(text: str | None, interface: ShaderInterface) -> bytes | Mapping[str, object] | None:
    """The push constants of `--push`: bytes for `i32:5,f32:0.5`, a dictionary of members for `n=5,alpha=0.5`."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    named = ["=" in part for part in parts]
    if all(named):
        return {name.strip(): _member(value) for name, _, value in (part.partition("=") for part in parts)}
    if any(named):
        raise click.UsageError(f"--push {text}: names for all values, or types for all")
    return b"".join(map(_typed, parts))


def _member(text: str) -> object:
    """The value of a member: a number, or the components of a vector or array as in `1:2:3`."""
    parts = text.split(":")
    numbers = [_number(part, "NAME=VALUE, the components of a vector as in v=1:2:3") for part in parts]
    return numbers if len(numbers) > 1 else numbers[0]


def _typed(part: str) -> bytes:
    """The bytes of `i32:5`, or of the hexadecimal digits of `hex:05000000`."""
    import numpy as np

    word, colon, text = part.partition(":")
    known = "values with types side by side, as in i32:5,f32:0.5, or bytes as in hex:05000000"
    if word == "hex" and re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text):
        return bytes.fromhex(text)
    if not colon:
        raise click.UsageError(f"--push {part}: expected: {known}")
    dtype = dtype_of(word, BufferText("", "--push", part))
    number = _number(text, known)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if not isinstance(number, int) or not bounds.min <= number <= bounds.max:
            raise click.UsageError(f"--push {part}: expected: an integer from {bounds.min} to {bounds.max}")
    return np.array(number).astype(dtype).tobytes()


def _number(text: str, expected: str) -> int | float:
    try:
        return int(text, 16 if "0x" in text.lower() and "." not in text and "p" not in text.lower() else 10)
    except ValueError:
        pass
    try:
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        raise click.UsageError(f"--push: expected: {expected}; found: {text!r}") from None
