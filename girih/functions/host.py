"""Arrays in the memory of the host: NumPy's, and those of other libraries as arrays of NumPy over the same memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.arguments.scalars import DTYPES
from girih.functions.layouts import AxisView, inverse_of
from girih.ir.types import NUMBERS

Array = NDArray[Any]

DTYPE_OF = {name: DTYPES[number] for name, number in NUMBERS.items() if name != "index"}
"""NumPy's type by the name of a number type."""
ELEMENT_OF = {dtype: name for name, dtype in DTYPE_OF.items()}


class HostArrays:
    """What a function does with arrays of the host, which are all arrays of NumPy here."""

    target: str | None = None
    """The target of launches on such arrays; None for the default one."""
    place = "in the memory of the host"
    is_synchronous = False
    """Whether launches must be asked to be waited for; on the host they are, anyway."""

    def element(self, array: Array) -> str | None:
        """The number type of the elements; None for another type, or for another order of bytes."""
        return ELEMENT_OF.get(array.dtype) if array.dtype.isnative else None

    def shown(self, array: Array) -> str:
        """The type of the elements in words."""
        return str(array.dtype)

    def steps(self, array: Array) -> tuple[int, ...]:
        """The strides in elements; an element that lies askew counts as one that overlaps."""
        size = array.itemsize
        return tuple(step // size if step % size == 0 else 0 for step in array.strides)

    def viewer(self, view: AxisView, shape: Sequence[int]) -> Callable[[Array], Array]:
        """What makes a view of an array of a shape."""
        return viewer(view, shape)

    def turned(self, array: Array) -> Array:
        """The transpose of a matrix."""
        return array.T

    def empty(self, shape: Sequence[int], element: str, order: Sequence[int]) -> Array:
        """An array without contents and without gaps, whose axes are in an order in memory, outermost first."""
        return maker(shape, element, order)()

    def filled(self, shape: Sequence[int], element: str, value: float) -> Array:
        """An array of one number."""
        return np.full(shape, value, DTYPE_OF[element])

    def assign(self, target: Array, source: Array) -> None:
        """Copy elements, cast to the type of the target."""
        target[...] = source

    def copied(self, array: Array, order: Sequence[int]) -> Array:
        """A copy without gaps, whose axes are in an order in memory."""
        made = np.empty([array.shape[axis] for axis in order], array.dtype)
        made[...] = array.transpose(order)
        turned: Array = made.transpose(inverse_of(order))
        return turned

    def shares(self, a: Array, b: Array) -> bool:
        """Whether two arrays may share memory."""
        return np.may_share_memory(a, b)

    def is_same(self, a: Array, b: Array) -> bool:
        """Whether two arrays are the same memory in the same layout."""
        return a is b or (a.ctypes.data == b.ctypes.data and a.shape == b.shape and a.strides == b.strides)

    def part(self, array: Array, index: tuple[int, ...]) -> Array:
        """A matrix of a batch, by its place in front."""
        found: Array = array[index]
        return found

    def add_along(self, array: Array, values: Array, axis: int) -> None:
        """Add a vector to an array along an axis."""
        array += values.reshape([-1 if own == axis else 1 for own in range(array.ndim)])

    def is_writeable(self, array: Array) -> bool:
        """Whether an array may be changed."""
        return bool(array.flags.writeable)


HOST = HostArrays()


def viewer(view: AxisView, shape: Sequence[int]) -> Callable[[Any], Any]:
    """What makes a view of an array with NumPy's methods: CuPy's arrays have them, too."""
    axes, sizes = view.axes, view.shape
    changes = sizes != tuple(shape[axis] for axis in axes)
    if view.is_permuted and changes:
        return lambda array: array.transpose(axes).reshape(sizes)
    if view.is_permuted:
        return lambda array: array.transpose(axes)
    if changes:
        return lambda array: array.reshape(sizes)
    return lambda array: array


def maker(shape: Sequence[int], element: str, order: Sequence[int]) -> Callable[[], Array]:
    """What makes arrays without contents and without gaps, whose axes are in an order in memory, outermost first."""
    dtype, inverse = DTYPE_OF[element], inverse_of(order)
    sizes = tuple(shape[axis] for axis in order)
    if inverse == sorted(inverse):
        return partial(np.empty, sizes, dtype)
    if inverse == sorted(inverse, reverse=True):
        return partial(np.empty, tuple(shape), dtype, "F")
    return lambda: np.empty(sizes, dtype).transpose(inverse)


def of_torch(tensor: Any) -> Array:
    """An array over the memory of a tensor of torch on the host. Raises what torch raises where there is none."""
    torch: Any = sys.modules["torch"]
    if tensor.dtype is torch.bfloat16:
        found: Array = tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        found = tensor.numpy()
    return found


def to_torch(array: Array) -> Any:
    """A tensor of torch over the memory of an array."""
    torch: Any = sys.modules["torch"]
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_jax(array: Array) -> Any:
    """An array of JAX with the elements of an array, over its memory where JAX takes it."""
    jax: Any = sys.modules["jax"]
    return jax.numpy.asarray(array)
