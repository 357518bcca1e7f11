"""Arrays in the memory of a CUDA device: tensors of torch, arrays of CuPy and of JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

from girih.arguments.devices import PlacedArray
from girih.functions.host import DTYPE_OF, ELEMENT_OF, viewer
from girih.functions.layouts import AxisView, inverse_of, packed_steps
from girih.lazy_dataclass import dataclass

_TORCH = {
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64", "c32": "complex64", "c64": "complex128",
}  # fmt: skip
"""Torch's types by number types."""
_ELEMENT_OF_TORCH = {f"torch.{name}": element for element, name in _TORCH.items()}


def _padded(matrix: Any, multiple: int, steps: Sequence[int], empty: Callable[[Any], Any]) -> Any:
    rows, columns = matrix.shape
    if steps[1] == 1 or columns == 1:
        return empty((rows, -(-columns // multiple) * multiple))[:, :columns]
    return empty((columns, -(-rows // multiple) * multiple))[:, :rows].T


@dataclass(frozen=True, slots=True)
class DeviceArrays:
    """What is the same for the arrays of all libraries on a CUDA device, by its number."""

    number: int
    KIND: ClassVar[str]
    """Such an array in words."""
    is_synchronous: ClassVar[bool] = False

    @property
    def target(self) -> str:
        """The target of launches on such arrays."""
        return f"cuda:{self.number}"

    @property
    def place(self) -> str:
        """The place of such an array in words."""
        return f"on {self.target}, as {self.KIND}"

    def shown(self, array: Any) -> str:
        """The type of the elements in words."""
        return str(array.dtype)


@dataclass(frozen=True, slots=True)
class ChangingArrays(DeviceArrays):
    """The same for arrays that may be changed, and whose methods give views: those of torch and of CuPy."""

    def turned(self, array: Any) -> Any:
        """The transpose of a matrix."""
        return array.T

    def part(self, array: Any, index: tuple[int, ...]) -> Any:
        """A matrix of a batch, by its place in front."""
        return array[index]

    def add_along(self, array: Any, values: Any, axis: int) -> None:
        """Add a vector to an array along an axis."""
        array += values.reshape([-1 if own == axis else 1 for own in range(array.ndim)])

    def is_writeable(self, array: Any) -> bool:
        """Whether an array may be changed."""
        return True


@dataclass(frozen=True, slots=True)
class TorchTensors(ChangingArrays):
    """Tensors of torch on a CUDA device, by its number."""

    KIND: ClassVar[str] = "a tensor of torch"

    @property
    def _torch(self) -> Any:
        return sys.modules["torch"]

    def element(self, array: Any) -> str | None:
        """The number type of the elements; None for another type."""
        return _ELEMENT_OF_TORCH.get(str(array.dtype))

    def steps(self, array: Any) -> tuple[int, ...]:
        """The strides in elements."""
        return tuple(array.stride())

    def viewer(self, view: AxisView, shape: Sequence[int]) -> Callable[[Any], Any]:
        """What makes a view of a tensor of a shape."""
        axes, sizes = view.axes, view.shape
        changes = sizes != tuple(shape[axis] for axis in axes)
        if view.is_permuted:
            return lambda t: t.permute(axes).view(sizes)
        return (lambda t: t.view(sizes)) if changes else (lambda t: t)

    def empty(self, shape: Sequence[int], element: str, order: Sequence[int]) -> Any:
        """A tensor without contents and without gaps, whose axes are in an order in memory, outermost first."""
        torch = self._torch
        sizes, dtype = [shape[axis] for axis in order], getattr(torch, _TORCH[element])
        return torch.empty(sizes, dtype=dtype, device=self.target).permute(inverse_of(order))

    def maker(self, shape: Sequence[int], element: str, order: Sequence[int]) -> Callable[[], Any]:
        """What makes tensors as `empty` does."""
        torch, inverse = self._torch, inverse_of(order)
        sizes = [shape[axis] for axis in order]
        make = partial(torch.empty, sizes, dtype=getattr(torch, _TORCH[element]), device=self.target)
        return make if inverse == sorted(inverse) else lambda: make().permute(inverse)

    def filled(self, shape: Sequence[int], element: str, value: float) -> Any:
        """A tensor of one number."""
        torch = self._torch
        return torch.full(tuple(shape), value, dtype=getattr(torch, _TORCH[element]), device=self.target)

    def assign(self, target: Any, source: Any) -> None:
        """Copy elements, cast to the type of the target."""
        target.copy_(source)

    def copied(self, array: Any, order: Sequence[int]) -> Any:
        """A copy without gaps, whose axes are in an order in memory."""
        turned = array.permute(tuple(order))
        return (
            self._torch.empty_like(turned, memory_format=self._torch.contiguous_format)
            .copy_(turned)
            .permute(inverse_of(order))
        )

    def padded(self, matrix: Any, multiple: int) -> Any:
        """A matrix without contents like another one, whose rows, or columns, begin at a multiple of elements."""
        return _padded(matrix, multiple, tuple(matrix.stride()), matrix.new_empty)

    def shares(self, a: Any, b: Any) -> bool:
        """Whether two tensors may share memory."""
        return bool(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())

    def is_same(self, a: Any, b: Any) -> bool:
        """Whether two tensors are the same memory in the same layout."""
        return a is b or (a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride())


@dataclass(frozen=True, slots=True)
class CupyArrays(ChangingArrays):
    """Arrays of CuPy on a device, by its number."""

    KIND: ClassVar[str] = "an array of CuPy"

    @property
    def _cupy(self) -> Any:
        return sys.modules["cupy"]

    def element(self, array: Any) -> str | None:
        """The number type of the elements; None for another type."""
        return ELEMENT_OF.get(array.dtype)

    def steps(self, array: Any) -> tuple[int, ...]:
        """The strides in elements."""
        return tuple(step // array.itemsize for step in array.strides)

    def viewer(self, view: AxisView, shape: Sequence[int]) -> Callable[[Any], Any]:
        """What makes a view of an array of a shape."""
        return viewer(view, shape)

    def empty(self, shape: Sequence[int], element: str, order: Sequence[int]) -> Any:
        """An array without contents and without gaps, whose axes are in an order in memory, outermost first."""
        made = self._cupy.empty([shape[axis] for axis in order], DTYPE_OF[element])
        return made.transpose(inverse_of(order))

    def filled(self, shape: Sequence[int], element: str, value: float) -> Any:
        """An array of one number."""
        return self._cupy.full(shape, value, DTYPE_OF[element])

    def assign(self, target: Any, source: Any) -> None:
        """Copy elements, cast to the type of the target."""
        target[...] = source

    def copied(self, array: Any, order: Sequence[int]) -> Any:
        """A copy without gaps, whose axes are in an order in memory."""
        return array.transpose(order).copy("C").transpose(inverse_of(order))

    def padded(self, matrix: Any, multiple: int) -> Any:
        """A matrix without contents like another one, whose rows, or columns, begin at a multiple of elements."""
        return _padded(matrix, multiple, self.steps(matrix), lambda sizes: self._cupy.empty(sizes, matrix.dtype))

    def shares(self, a: Any, b: Any) -> bool:
        """Whether two arrays may share memory."""
        return bool(self._cupy.may_share_memory(a, b))

    def is_same(self, a: Any, b: Any) -> bool:
        """Whether two arrays are the same memory in the same layout."""
        return a is b or (a.data.ptr == b.data.ptr and a.shape == b.shape and a.strides == b.strides)


@dataclass(frozen=True, slots=True, eq=False)
class OwnedPlace(PlacedArray):
    """Memory of a device, and the array that keeps it."""

    owner: Any


@dataclass(slots=True, eq=False)
class OwnedMemory:
    """The memory of an array of JAX on a device, and the array, which keeps it."""

    owner: Any
    placed: OwnedPlace
    order: tuple[int, ...]
    """The axes as they lie in the memory of `owner`, whose axes come in that order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.placed.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.placed.shape)

    @property
    def dtype(self) -> Any:
        """NumPy's type of the elements."""
        return self.placed.dtype


def _view(old: OwnedPlace, axes: Sequence[int], shape: Sequence[int]) -> OwnedPlace:
    """The memory with its axes in another order, then of another shape, packed where that is not the same."""
    sizes, strides = tuple(old.shape[a] for a in axes), tuple(old.strides[a] for a in axes)
    if tuple(shape) != sizes:
        strides = _packed(shape, old.dtype)
    return OwnedPlace(old.address, tuple(shape), strides, old.dtype, old.device, old.stream, old.owner)


def _packed(shape: Sequence[int], dtype: Any) -> tuple[int, ...]:
    """The strides of an array in order C, in bytes."""
    return tuple(dtype.itemsize * step for step in packed_steps(shape, range(len(shape))))


def _placed(array: OwnedMemory | OwnedPlace) -> OwnedPlace:
    return array.placed if isinstance(array, OwnedMemory) else array


@dataclass(frozen=True, slots=True)
class JaxArrays(DeviceArrays):
    """Arrays of JAX on a CUDA device, by its number. They never change, so results are new ones.

    A launch waits for them, and is waited for.
    """

    KIND: ClassVar[str] = "an array of JAX"
    is_synchronous: ClassVar[bool] = True

    @property
    def _jax(self) -> Any:
        return sys.modules["jax"]

    def taken(self, array: Any) -> OwnedMemory:
        """The memory of an array, whose elements are there."""
        return self._memory(array, tuple(array.shape), DTYPE_OF[ELEMENT_OF[array.dtype]])

    def _memory(self, array: Any, shape: tuple[int, ...], dtype: Any) -> OwnedMemory:
        array.block_until_ready()
        address = int(array.unsafe_buffer_pointer()) if prod(shape) else 0
        placed = OwnedPlace(address, shape, _packed(shape, dtype), dtype, self.number, 0, array)
        return OwnedMemory(array, placed, tuple(range(len(shape))))

    def handed(self, array: OwnedMemory) -> Any:
        """The array that a memory is of, with its axes as they are counted."""
        # Without 64 bits, JAX gets the low words of integers.
        owner = array.owner if array.owner.ndim == array.ndim else array.owner[..., 0]
        inverse = inverse_of(array.order)
        return owner if inverse == sorted(inverse) else self._jax.numpy.transpose(owner, inverse)

    def element(self, array: OwnedMemory) -> str | None:
        """The number type of the elements."""
        return ELEMENT_OF.get(array.dtype)

    def steps(self, array: OwnedMemory) -> tuple[int, ...]:
        """The strides in elements."""
        return tuple(step // array.dtype.itemsize for step in array.placed.strides)

    def viewer(self, view: AxisView, shape: Sequence[int]) -> Callable[[OwnedMemory | OwnedPlace], OwnedPlace]:
        """What makes a view of an array of a shape."""
        return lambda array: _view(_placed(array), view.axes, view.shape)

    def turned(self, array: OwnedMemory | OwnedPlace) -> OwnedPlace:
        """The transpose of a matrix."""
        old = _placed(array)
        return _view(old, (1, 0), old.shape[::-1])

    def empty(self, shape: Sequence[int], element: str, order: Sequence[int]) -> OwnedMemory:
        """A new array, whose axes are in an order in memory, outermost first."""
        sizes, dtype = tuple(shape[axis] for axis in order), DTYPE_OF[element]
        if element == "i64" and not self._jax.config.jax_enable_x64:
            words = self._there(self._jax.numpy.empty((*sizes, 2), DTYPE_OF["i32"]))
            return self._turned(self._memory(words, sizes, dtype), order)
        return self._turned(self._memory(self._there(self._jax.numpy.empty(sizes, dtype)), sizes, dtype), order)

    def _there(self, array: Any) -> Any:
        return self._jax.device_put(array, self._jax.devices("cuda")[self.number])

    def filled(self, shape: Sequence[int], element: str, value: float) -> OwnedMemory:
        """An array of one number."""
        return self.taken(self._there(self._jax.numpy.full(tuple(shape), value, DTYPE_OF[element])))

    def assign(self, target: OwnedMemory, source: OwnedMemory) -> None:
        """Let a result be the elements of another one, cast to its type: arrays of JAX do not change themselves."""
        self._replace(target, self.handed(source).astype(target.dtype))

    def _replace(self, target: OwnedMemory, array: Any) -> None:
        made = self.taken(array)
        target.owner, target.placed, target.order = made.owner, made.placed, made.order

    def copied(self, array: OwnedMemory, order: Sequence[int]) -> OwnedMemory:
        """A copy whose axes are in an order in memory."""
        return self._turned(self.taken(self._jax.numpy.transpose(self.handed(array), tuple(order))), order)

    def _turned(self, packed: OwnedMemory, order: Sequence[int]) -> OwnedMemory:
        inverse = inverse_of(order)
        placed = _view(packed.placed, inverse, [packed.shape[axis] for axis in inverse])
        return OwnedMemory(packed.owner, placed, tuple(order))

    def part(self, array: OwnedMemory | OwnedPlace, index: tuple[int, ...]) -> OwnedPlace:
        """A matrix of a batch, by its place in front."""
        old, count = _placed(array), len(index)
        offset = sum(step * at for step, at in zip(old.strides[:count], index, strict=True))
        sizes, strides = old.shape[count:], old.strides[count:]
        return OwnedPlace(old.address + offset, sizes, strides, old.dtype, old.device, old.stream, old.owner)

    def add_along(self, array: OwnedMemory, values: OwnedMemory, axis: int) -> None:
        """Add a vector to a result along an axis."""
        sizes = [-1 if own == axis else 1 for own in range(array.ndim)]
        self._replace(array, self.handed(array) + self.handed(values).reshape(sizes))

    def shares(self, a: OwnedMemory, b: OwnedMemory) -> bool:
        """Whether two arrays may share memory."""
        return a.placed.address == b.placed.address

    def is_same(self, a: OwnedMemory, b: OwnedMemory) -> bool:
        """Whether two arrays are the same memory in the same layout."""
        return a.placed.address == b.placed.address

    def is_writeable(self, array: OwnedMemory) -> bool:
        """Whether an array may be changed: those of JAX may not."""
        return False
