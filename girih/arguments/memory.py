"""Memory as bytes, with marks for each byte that was written, seen as elements of any type.

Views of different types, at any byte, show the same bytes and the same marks: what is written through one of them is
read through all others, and an element counts as written where all its bytes are. A view costs what an array costs: the
marks of an element are looked at as one number as wide as the element, and not at all once all bytes were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.lazy_dataclass import dataclass

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_PAIR = np.dtype([("low", np.uint64), ("high", np.uint64)])
_MARKS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)} | {16: _PAIR}
"""The type of an element's marks by its size in bytes: a number, or two, as wide as the element."""

_WHOLE: dict[int, Any] = {size: np.ones(size, np.bool_).view(wide).reshape(()) for size, wide in _MARKS.items()}
"""The mark of an element whose bytes were all written."""


def strided(array: Array, shape: Sequence[int], steps: Sequence[int], *, writeable: bool = True) -> Array:
    """The memory of an array from its first element on in another shape; `steps` are in bytes, nothing is checked."""
    # NumPy refuses to do it with dtypes such as float8_e5m2, whose name is none of its own.
    plain = array.view(np.uint8) if array.itemsize == 1 else array
    # An array of a device stays one: its elements must not be taken for the host's.
    return as_strided(plain, shape, steps, subok=True, writeable=writeable).view(array.dtype)


def elements_of(flat: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """The entries of an array's elements out of a row with one entry for each element of a memory.

    Strides count elements.
    """
    # A stride that leads to no second element may be larger than NumPy takes.
    steps = [stride * flat.itemsize if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]
    return strided(flat, shape, steps)


def bytes_of(flags: Mask, shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> Mask:
    """The flags of an array's elements, of `size` bytes each, out of a row with a flag for each byte of a memory.

    Strides count elements.
    """
    return elements_of(flags, (*shape, size), (*(stride * size for stride in strides), 1))


@dataclass(slots=True, eq=False)
class ByteMarks:
    """A flag for each byte of a memory, which is set when the byte is written.

    `complete` says that all are known to be set, which stays so until some are `forget`-ed.
    """

    flags: Mask
    complete: bool = False
    _until_counted: int = 0

    def count(self, marked: int) -> None:
        """Note that `marked` flags were set, some of them perhaps again."""
        self._until_counted -= marked
        if self._until_counted <= 0:
            size = self.flags.size
            missing = size - int(np.count_nonzero(self.flags))
            self.complete = not missing
            # Counted before that, some would still be missing; and counting must cost less than marking.
            self._until_counted = max(missing, size // 8)

    def forget(self, places: Array) -> None:
        """Remove flags."""
        self.flags[places] = False
        self.complete = False
        self._until_counted = 0


@dataclass(slots=True, eq=False, init=False)
class Memory:
    """A run of bytes: those of an array from its first to its last element, or those of an allocation.

    `bytes` has one dimension; it is read-only where the kernel does not write. `marks` is None where everything may be
    read; otherwise it says of each byte whether it was written, perhaps before the launch. `touched` is None where
    nobody asks; otherwise it says whether the kernel has written the byte. Arrays that share memory share all of these.
    `shadow` belongs to whoever follows the accesses to the memory, None where nobody does.
    """

    bytes: NDArray[np.uint8]
    name: str
    readable: ByteMarks | None
    written: ByteMarks | None
    shadow: object
    _views: WeakValueDictionary[tuple[np.dtype[Any], int], ElementView] = field(repr=False)

    def __init__(self, bytes: NDArray[np.uint8], marks: Mask | None, name: str, touched: Mask | None = None) -> None:
        self.bytes, self.name = bytes, name
        self.readable = None if marks is None else ByteMarks(marks)
        self.written = None if touched is None else ByteMarks(touched)
        self.shadow = None
        self._views = WeakValueDictionary()

    def view(self, dtype: np.dtype[Any], first: int = 0) -> ElementView:
        """The memory as elements of a type, the first of which begins at byte `first`; views in use are shared."""
        key = (dtype, first)
        known = self._views.get(key)
        if known is None:
            known = self._views[key] = self._viewed(dtype, first)
        return known

    def at_every_byte(self, dtype: np.dtype[Any]) -> ElementView:
        """The memory as elements of a type that overlap: element k begins at byte k, as unaligned accesses need."""
        size = dtype.itemsize
        count = max(0, self.bytes.size - size + 1)
        whole = slice(0, self.bytes.size // size * size)

        def spread(bytes: Array, wide: np.dtype[Any]) -> Array:
            elements = bytes[whole].view(wide)
            return strided(elements, (count,), (1,), writeable=bytes.flags.writeable)

        marks, touched = (
            None if kept is None else spread(kept.flags, _MARKS[size]) for kept in (self.readable, self.written)
        )
        return ElementView(self, spread(self.bytes, dtype), marks, touched, _WHOLE[size])

    def mark_bytes(self, places: Array) -> None:
        """Note that bytes, picked by their numbers, were written."""
        for kept in (self.readable, self.written):
            if kept is not None and not kept.complete:
                kept.flags[places] = True
                kept.count(places.size)

    def unwritten_bytes(self, places: Array) -> Mask | None:
        """The mask of bytes, picked by their numbers, that were never written; None where all are known to be."""
        if self.readable is None or self.readable.complete:
            return None
        missing: Mask = ~self.readable.flags[places]
        return missing

    def forget(self, places: Array) -> None:
        """Note that what lies in some bytes is undefined from now on, where it is known what was written."""
        if self.readable is not None and places.size:
            self.readable.forget(places)

    def _viewed(self, dtype: np.dtype[Any], first: int) -> ElementView:
        size = dtype.itemsize
        part = slice(first, first + max(0, self.bytes.size - first) // size * size)

        def wide(marks: ByteMarks | None) -> Array | None:
            return None if marks is None else marks.flags[part].view(_MARKS[size])

        data = self.bytes[part].view(dtype)
        return ElementView(self, data, wide(self.readable), wide(self.written), _WHOLE[size])


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ElementView:
    """A memory as elements of one type, counted from its first.

    `data` has one entry for each whole element, and so have `marks` and `touched`, where the memory has them: an
    element was written where its mark is `whole`.
    """

    memory: Memory
    data: Array
    marks: Array | None
    touched: Array | None
    whole: Any

    @property
    def name(self) -> str:
        return self.memory.name

    @property
    def followed(self) -> Array | None:
        """The marks, as long as some byte may be unwritten; None after that."""
        marks = self.memory.readable
        return None if marks is None or marks.complete else self.marks

    def mark(self, places: Any) -> None:
        """Note that elements, picked by an index into `data`, were written."""
        for kept, marks in self._unfinished():
            marks[places] = self.whole
            kept.count(np.size(places) * marks.itemsize)

    def mark_windows(self, window: Callable[[Array], Array], places: Any, count: int) -> None:
        """Note that `count` elements were written, picked by an index into what `window` makes of such as `data`."""
        for kept, marks in self._unfinished():
            window(marks)[places] = self.whole
            kept.count(count * marks.itemsize)

    def mark_bytes(self, places: Array) -> None:
        """Note that bytes, picked by an index into those of `data`, were written."""
        for kept, marks in self._unfinished():
            marks.view(np.bool_)[places] = True
            kept.count(places.size)

    def _unfinished(self) -> Iterator[tuple[ByteMarks, Array]]:
        """The marks of which some may be missing."""
        memory = self.memory
        for kept, marks in ((memory.readable, self.marks), (memory.written, self.touched)):
            if kept is not None and marks is not None and not kept.complete:
                yield kept, marks

    def unwritten(self, places: Any) -> Mask | None:
        """The mask of elements with unwritten bytes among those that an index into `data` picks; None for none."""
        marks = self.followed
        return None if marks is None else self.incomplete(marks[places])

    def incomplete(self, marks: Array) -> Mask | None:
        """A mask of the marks of elements that are not whole; None where all are."""
        # Most often all are, which the bytes tell faster.
        if marks.flags.c_contiguous and marks.ndim and marks.view(np.bool_).all():
            return None
        missing: Mask = marks != self.whole
        return missing if missing.any() else None
