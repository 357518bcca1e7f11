"""The arrays of a launch: loaded or made, and laid out as the parameter asks.

An array is copied into a fresh buffer whose strides are those of the parameter's type: packed with the first mode
innermost, or those of `strided<...>`; a stride `?` continues as if packed, rounded up to what `stride_gcd` promises.
The data starts at a multiple of the promised alignment. What does not fit the type is left to the launch to refuse.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import click

from girih.commands.parts.array_specifications import BoxOf, FromFile, Made, Members, PythonNumber, Specification
from girih.commands.parts.calls import refuse_file
from girih.diagnostics import LaunchError
from girih.ir.core import Order, Parameter
from girih.ir.types import GroupType, MemRef, Number, TensorMapType
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

_ALIGNMENT = 128
_LARGEST_BYTES = 2**40


class ArrayInputError(Exception):
    """A file does not contain an array that fits the parameter."""


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The layout that a parameter asks for: its type and its promises."""

    name: str
    type: MemRef
    position: int = 1
    span: Span = NOWHERE
    alignment: int = _ALIGNMENT
    stride_gcd: tuple[int, ...] = ()
    order: Order = "F"

    @staticmethod
    def of(parameter: Parameter, position: int, type: MemRef, order: Order = "F") -> ArrayLayout:
        """The layout that a parameter asks for; `position` counts parameters from 1, `order` is that of axes."""
        given = parameter.attributes.get("alignment")
        alignment = math.lcm(given, _ALIGNMENT) if isinstance(given, int) else _ALIGNMENT
        promised = parameter.attributes.get("stride_gcd")
        divisors = tuple(d for d in promised if isinstance(d, int)) if isinstance(promised, tuple) else ()
        return ArrayLayout(parameter.name, type, position, parameter.span, alignment, divisors, order)

    def turned(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The values of modes in the order of axes; and those of axes in the order of modes."""
        return values[::-1] if self.order == "C" else values

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides, in elements, of an array of a shape, which has an axis for each mode of the type."""
        found: list[int] = []
        packed = 1
        for mode, size in enumerate(self.turned(shape)):
            static = self.type.strides[mode]
            divisor = self.stride_gcd[mode] if mode < len(self.stride_gcd) else 1
            found.append(-(-packed // divisor) * divisor if static is None else static)
            packed = found[-1] * max(size, 1)
        return self.turned(tuple(found))


class ArrayMaker:
    """The maker of the arrays of one launch; `random` ones are drawn one after the other from a seed.

    `order` is that of the axes of arrays that the kernel takes.
    """

    def __init__(self, seed: int, order: Order = "F") -> None:
        import numpy as np

        self.order = order
        self.random = np.random.default_rng(seed)

    def loaded(self, path: str, element: Number) -> Array:
        """The array in a file as it is; `element` is what bytes are that NumPy has no type for."""
        return _load(path, MemRef.packed(element, ()))

    def value(self, parameter: Parameter, position: int, given: Specification) -> object:
        """The Python argument for a parameter, counted from 1.

        Raises `ArrayInputError` for a file with a wrong content, and `LaunchError` for a number that does not fit.
        """
        match parameter.type:
            case MemRef() as type:
                return self._memref(ArrayLayout.of(parameter, position, type, self.order), given)
            case GroupType(memref=memref):
                return self._group(ArrayLayout.of(parameter, position, memref, self.order), given)
            case TensorMapType() as type:
                return self._map(parameter.name, type, given)
            case type:
                return _scalar(parameter.name, type, given)

    def _map(self, name: str, type: TensorMapType, given: Specification) -> object:
        from girih.commands.parts.tensor_maps import bound_map

        def array_of(source: FromFile | Made) -> Array:
            if isinstance(source, FromFile):
                return _load(source.path, MemRef.packed(type.element, ()))
            if source.shape is None:
                message = f"{name}={source.maker}: a tensor map leaves the shape open"
                raise click.UsageError(f"{message}; write it, last axis innermost, as in {source.maker}:f32:16x64")
            return self._made(source.maker, source.element or type.element, source.shape, name)

        return bound_map(name, type, given, array_of)

    def _memref(self, layout: ArrayLayout, given: Specification) -> object:
        match given:
            case None:
                return None
            case FromFile() | Made():
                return self._array(layout, given)
            case BoxOf():
                raise click.UsageError(f"{layout.name}: {layout.type} takes an array, not a tensor map")
            case Members():
                raise click.UsageError(f"{layout.name}: a list is for a group; its type is {layout.type}")
            case _ if layout.type.order == 0:
                return _element(layout, given)
        raise click.UsageError(f"{layout.name}={given}: {layout.type} takes an array, FILE.npy or zeros:f32:4x4")

    def _group(self, layout: ArrayLayout, given: Specification) -> object:
        from girih.arguments.arrays import Group as GroupArgument

        if given is None:
            return None
        if not isinstance(given, Members):
            raise click.UsageError(f"{layout.name}: a group takes a list of arrays, as in {layout.name}=[a.npy,b.npy]")
        shapes = given.shapes is not None
        arrays = [None if item is None else self._array(layout, item, shapes=shapes) for item in given.items]
        return GroupArgument(arrays, given.offset, given.shapes)

    def _array(self, layout: ArrayLayout, given: FromFile | Made, *, shapes: bool = False) -> object:
        """An array; `shapes` says whether it is a member of a group whose memrefs have shapes of their own."""
        from girih.arguments.arrays import uninitialized

        if isinstance(given, FromFile):
            return laid_out(layout, _load(given.path, layout.type))
        shape = given.shape
        if shape is None:
            shape = layout.turned(tuple(size for size in layout.type.shape if size is not None))
            if len(shape) < layout.type.order:
                behind = "; the shapes behind the list are those of the memrefs, not of the arrays" if shapes else ""
                message = f"{layout.name}={given.maker}: its type {layout.type} leaves the shape open{behind}"
                raise click.UsageError(f"{message}; write it, as in {given.maker}:{layout.type.element}:64x64")
        made = laid_out(layout, self._made(given.maker, given.element or layout.type.element, shape, layout.name))
        return uninitialized(made) if given.maker == "uninitialized" else made

    def _made(self, maker: str, element: Number, shape: tuple[int, ...], name: str) -> Array:
        import numpy as np

        count = 1
        for size in shape:
            count *= size
        if count * element.size > _LARGEST_BYTES:
            raise click.UsageError(f"{name}: an array of {count} elements is too large")
        dtype = _dtype(element)
        match maker:
            case "ones":
                return np.ones(shape, dtype)
            case "arange":
                with np.errstate(all="ignore"):
                    return np.arange(count).astype(dtype).reshape(shape, order=self.order)
            case "random":
                return self._random(element, shape).astype(dtype)
            case _:
                return np.zeros(shape, dtype)

    def _random(self, element: Number, shape: tuple[int, ...]) -> Array:
        if element.family == "integer":
            return self.random.integers(0, 100, shape)
        if element.family == "floating":
            return self.random.random(shape)
        return self.random.random(shape) + 1j * self.random.random(shape)


def laid_out(layout: ArrayLayout, array: Array) -> Array:
    """The array with the strides and the alignment that the layout asks for, copied if it has not got them."""
    import numpy as np

    from girih.arguments.memory import strided

    native = array.dtype.newbyteorder("=")
    strides = layout.strides(array.shape) if array.ndim == layout.type.order else None
    if strides is None or any(stride < 1 for stride in strides):
        return np.array(array, native, order=layout.order)
    steps = tuple(stride * native.itemsize for stride in strides)
    if array.dtype == native and array.strides == steps and array.ctypes.data % layout.alignment == 0:
        return array
    extent = 1 + sum((size - 1) * stride for size, stride in zip(array.shape, strides, strict=True) if array.size)
    base = np.zeros(extent * native.itemsize + layout.alignment, np.uint8)
    skip = -base.ctypes.data % layout.alignment
    flat: Array = np.ndarray((extent,), native, buffer=base, offset=skip)
    view = strided(flat, array.shape, steps)
    view[...] = array
    return view


def _dtype(element: Number) -> np.dtype[Any]:
    from girih.arguments.scalars import DTYPES

    return DTYPES[element]


def _load(path: str, type: MemRef) -> Array:
    import numpy as np

    from girih.arguments.layout import is_foreign

    if not path.lower().endswith(".npy"):
        raise click.UsageError(f"{path}: only .npy files are read, one array each")
    try:
        with open(path, "rb") as file:
            found: Any = np.lib.format.read_array(readable(file.read()), allow_pickle=False)
    except OSError as error:
        refuse_file(path, error)
    except (ValueError, EOFError) as error:
        reason = str(error).split("\n")[0]
        raise ArrayInputError(f"{path}: this is no .npy file with an array of numbers ({reason})") from None
    array: Array = found
    wanted = _dtype(type.element)
    if is_foreign(wanted) and array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
        return array.view(wanted)
    return array


def readable(content: bytes) -> io.BytesIO:
    """A .npy file whose header NumPy understands: `np.save` writes `<f1` for float8_e5m2, and cannot read it."""
    head, end, rest = content.partition(b"}")
    return io.BytesIO(head.replace(b"'descr': '<f1'", b"'descr': '|V1'") + end + rest)


def _element(layout: ArrayLayout, number: PythonNumber) -> Array:
    """A 0-d array of a number. Raises `LaunchError` if it does not fit the element type."""
    from girih.arguments.report import ArgumentPlace, ArgumentReport
    from girih.arguments.scalars import bind_scalar

    report = ArgumentReport()
    found = bind_scalar(layout.type.element, number, ArgumentPlace(layout.name, layout.position, layout.span), report)
    if found is None:
        raise LaunchError(report.diagnostics)
    return found.reshape(()).copy()


def _scalar(name: str, type: object, given: Specification) -> PythonNumber | None:
    if isinstance(given, FromFile | Made | Members | BoxOf):
        raise click.UsageError(f"{name}: its type is {type}, so it takes a number, not an array")
    return given
