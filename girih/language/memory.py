"""Memory: local arrays, views, atomic accesses (003 "Alloca", "Subview", "Expand", "Fuse", "Atomic load", ...).

Elements are loaded and stored with brackets: `x = A[i, j]`, `A[i, j] = x`. A slice `A[i : i + 32, :]` is a view, whose
length is a constant; its indices count from its begin and lie within it.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex, TypeVar, overload

from girih.language.arith import Use
from girih.language.types import Array, Block, Group, Number
from girih.language.words import outside, word

E = TypeVar("E", bound=Number)
V = TypeVar("V", bound=Array[Any, Any])

Order = Literal["C", "F"]
"""The order of axes: the last (C) or the first (F) has neighbours in memory, or varies fastest."""

AtomicScope = Literal["cross_device", "device", "work_group", "subgroup"]
"""The work-items between which an access is atomic (003 "Atomic load")."""

Semantics = Literal["relaxed", "acquire", "release", "acquire_release", "sequentially_consistent"]
"""The order of an atomic access and the accesses around it (003 "Atomic load")."""

_Index = SupportsIndex | tuple[SupportsIndex, ...]


@word
def local(
    shape: int | tuple[int, ...],
    dtype: type[E],
    *,
    order: Order = "C",
    strides: tuple[int, ...] | None = None,
    alignment: int | None = None,
) -> Array[E, Any]:
    """An array in the local memory of the work-group, freed at the end of its block (003 "Alloca").

    Sizes are constants. Elements are undefined until they are written. `strides` are in elements, by axis, for memory
    with gaps; `alignment` is that of the first element, in bytes. It stands outside `gl.parallel` and the like.
    """
    outside("gl.local")


@word
def lifetime_stop(array: Array[Any, Any]) -> None:
    """Free an array that `gl.local` returned before the end of its block (003 "Additional instructions")."""
    outside("gl.lifetime_stop")


@word
def associated(x: Array[Any, Any] | Group[Any]) -> bool:
    """Whether an array or group has memory behind it (003 "Associated"): not one that was launched with None."""
    outside("gl.associated")


@word
def subview(
    array: Array[E, Any], offsets: _Index, sizes: SupportsIndex | tuple[SupportsIndex | None, ...] | None
) -> Array[E, Any]:
    """A view of a part: an offset and a size for each axis, where the size None drops the axis (003 "Subview").

    Sizes may be known only at run time, which those of slices may not.
    """
    outside("gl.subview")


@word
def expand(array: Array[E, Any], axis: int, sizes: tuple[SupportsIndex, ...], order: Order = "C") -> Array[E, Any]:
    """A view in which one axis is split into several, whose sizes have its size as product (003 "Expand").

    In order C the last of the new axes varies fastest, as in `numpy.reshape`; in order F the first does.
    """
    outside("gl.expand")


@word
def fuse(array: Array[E, Any], first: int, last: int, order: Order = "C") -> Array[E, Any]:
    """A view in which the axes from `first` to `last` are joined into one; they lie without gaps (003 "Fuse").

    In order C the last of them varies fastest, as in `numpy.reshape`; in order F the first does. The array lies in
    that order, as far as these axes go.
    """
    outside("gl.fuse")


@word
def checked(array: V) -> V:
    """The array, whose tiles may reach over its edge: components outside are 0 when loaded and left out when stored."""
    outside("gl.checked")


@overload
def atomic_load(
    array: Array[E, Any],
    place: _Index,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
) -> E: ...
@overload
def atomic_load(
    array: Array[E, Any],
    place: _Index,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    shape: tuple[int, int],
    use: Use = "matrix_acc",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> Block[E]: ...
@word
def atomic_load(
    array: Array[E, Any],
    place: _Index,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    shape: tuple[int, int] | None = None,
    use: Use = "matrix_acc",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> Any:
    """The element at a place, loaded atomically (003 "Atomic load").

    With a `shape`, the matrix whose first component is at the place, each loaded atomically (003 "Cooperative matrix
    atomic load"); components outside of the array in a direction that is `checked` are 0.
    """
    outside("gl.atomic_load")


@word
def atomic_store(
    array: Array[E, Any],
    place: _Index,
    value: E | Block[E] | complex,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> None:
    """Store a number to the element at a place atomically (003 "Atomic store").

    A matrix is stored to the tile that begins there, each component atomically (003 "Cooperative matrix atomic store").
    """
    outside("gl.atomic_store")


@word
def atomic_add(
    array: Array[E, Any],
    place: _Index,
    value: Any,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> Any:
    """The element at a place before a number is added to it, atomically (003 "Atomic update").

    A matrix is added to the tile that begins there (003 "Cooperative matrix atomic update").
    """
    outside("gl.atomic_add")


@word
def atomic_max(
    array: Array[E, Any],
    place: _Index,
    value: Any,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> Any:
    """The element at a place before it is replaced by a number that is larger, atomically (003 "Atomic update").

    A matrix is compared with the tile that begins there (003 "Cooperative matrix atomic update").
    """
    outside("gl.atomic_max")


@word
def atomic_min(
    array: Array[E, Any],
    place: _Index,
    value: Any,
    *,
    scope: AtomicScope = "work_group",
    semantics: Semantics = "relaxed",
    checked: Literal["rows", "columns", "both"] | None = None,
) -> Any:
    """The element at a place before it is replaced by a number that is smaller, atomically (003 "Atomic update").

    A matrix is compared with the tile that begins there (003 "Cooperative matrix atomic update").
    """
    outside("gl.atomic_min")
