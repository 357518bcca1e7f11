"""What an expression of a kernel stands for while it is translated."""

from __future__ import annotations

from typing import TypeVar

from girih.ir.core import Index, Value
from girih.ir.types import MemRef, Type
from girih.lazy_dataclass import dataclass
from girih.source import Span

Label = tuple[Span, str]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A value of Python that is known while translating: a number, a string, a type, a function.

    Where `varies`, it is a literal that a loop carries, of a type that is not yet found: the body is read to find it,
    and the value means nothing.
    """

    value: object
    varies: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Runtime:
    """A value of the ir that is not memory; `natural` where it is certainly not negative."""

    value: Value
    natural: bool = False

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A memref as the user sees it: `axes[m]` is the axis of the user that mode m is.

    Tiles of what is `checked` may reach over its edge, where they are 0 and not stored.
    """

    value: Value
    axes: tuple[int, ...]
    checked: bool = False

    @property
    def type(self) -> MemRef:
        assert isinstance(self.value.type, MemRef)
        return self.value.type

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The sizes by axis, None where they are known at run time only."""
        return tuple(self.type.shape[self.axes.index(axis)] for axis in range(self.rank))

    def mode(self, axis: int) -> int:
        """The mode that an axis is."""
        return self.axes.index(axis)

    def in_modes(self, by_axis: tuple[Item, ...]) -> tuple[Item, ...]:
        """What is listed by axis, listed by mode."""
        return tuple(by_axis[axis] for axis in self.axes)


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A name for memory: the axis that each mode is, and the place from which on the name stands for it."""

    name: str
    axes: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A slice of memory that is not yet a subview: for each axis its offset, and its size.

    A size of None is the rest of the axis behind the offset; an axis that is `dropped` has an index and no size.
    """

    memory: Memory
    offsets: tuple[Index, ...]
    sizes: tuple[int | None, ...]
    dropped: tuple[bool, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class MatrixProduct:
    """`a @ b` that is not yet computed, so that `c + a @ b` is one instruction."""

    a: Operand
    b: Operand
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LiteralChoice:
    """One of two literals, chosen at run time, that has no type yet: it takes the one that its place needs."""

    condition: Value
    a: Known | LiteralChoice
    b: Known | LiteralChoice


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A tuple; `places` are those of its items where it was written as one, otherwise empty."""

    items: tuple[Operand, ...]
    places: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Unset:
    """A name that cannot be read here, and why; without a message it is in error already.

    `rule` is the part of the code behind `python.`.
    """

    rule: str = ""
    message: str = ""
    hint: str | None = None
    labels: tuple[Label, ...] = ()


Operand = Known | Runtime | Memory | Part | MatrixProduct | LiteralChoice | Many | Unset
