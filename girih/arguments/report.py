"""The codes of everything that can be wrong with the arguments of a launch, and the list of what is wrong.

Every code that binding uses is in `BIND_CODES`; `ArgumentReport.add` refuses any other. Nothing here needs NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TypeVar

from girih.diagnostics import Diagnostic, InternalError
from girih.ir.core import Order, WrittenParameter
from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.source import Span

BIND_CODES: dict[str, str] = {
    "bind.count": "as many arguments as parameters must be given",
    "bind.arguments": "each parameter must get one argument, by position or by its own name",
    "bind.type": "the argument must be of the kind that the parameter takes: a number, an array, or a list of arrays",
    "bind.null": "only a memref or a group can be None; a scalar needs a value",
    "bind.range": "the number must fit the scalar type",
    "bind.device": "the array must lie in host memory, or on the device of the launch",
    "bind.dtype": "the element type of the array must be exactly the element type of the memref",
    "bind.byte_order": "the elements must be in the byte order of this machine",
    "bind.order": "the array must have as many axes as the memref has modes",
    "bind.shape": "the size of an axis must equal the size that the type of the memref gives its mode",
    "bind.stride": "the stride of an axis must equal the stride that the type of the memref gives its mode",
    "bind.layout": "strides must be positive whole elements, and an axis must not start before the previous one ends",
    "bind.alignment": "the data must start at a multiple of the promised alignment, and of the element's own",
    "bind.shape_gcd": "mode sizes must be multiples of what shape_gcd promises",
    "bind.stride_gcd": "strides must be multiples of what stride_gcd promises",
    "bind.read_only": "an array that the kernel writes must be writeable",
    "bind.group_size": "a group must have as many members as its type says",
    "bind.group_offset": "the offset of a group must be given where its type has `?`, and equal its type elsewhere",
    "bind.group_shape": "the shapes of a group must suit its type; with an offset they must be known",
    "bind.group_memory": "a member of a group with an offset or shapes must hold its memref, from the offset on",
    "bind.overlap": "a member of a group may share memory with no other argument if the kernel writes to that memory",
    "bind.map": "a tensor map parameter takes a `girih.addressing.TensorMap` that is bound to its array",
    "bind.map_mode": "the mode of a tensor map, tiled or im2col, must be that of the parameter's type",
    "bind.map_rank": "the rank of a tensor map must be that of the parameter's type",
    "bind.map_type": "the element type of a tensor map must be one that the parameter's type stands for",
    "bind.map_memory": "the array of a tensor map must hold every byte that stores may touch",
    "bind.map_copy": "every copy of the kernel must exist for the tensor map that it goes through",
    "bind.map_local": "local memory must hold the box of the tensor map, as bytes or in its shape",
    "bind.map_alignment": "the address of local memory must be known as the swizzle of the tensor map needs it",
    "bind.grid": "a grid has one to three sizes between 0 and 2^31 - 1",
    "bind.no_grid": "a kernel in Python that asks for the number of its work-group is launched on a grid",
    "bind.grid_division": "the grid of a kernel must not divide by zero for the arguments of a launch",
    "bind.subgroup_size": "there must be a subgroup size that suits all instructions of the kernel",
    "bind.memory": "the launch must find the memory that it needs",
    "bind.fork": "a signal handler that forks during a launch ends that launch in the child",
    "bind.target": "compiled code runs where the processor has what it was compiled for",
}
"""Every code of a `LaunchError` diagnostic, and the rule that was broken."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class ArgumentPlace:
    """The place of an argument: its number from 1, and its name without `%`; a member of a group is `G[3]`.

    `order` is that of its axes: messages speak of modes, and of axes where these differ. Where the kernel's text says
    it, `order_in_text`, the order of the program does not count.
    """

    name: str
    position: int
    span: Span
    order: Order = "F"
    order_in_text: bool = False

    def member(self, index: int) -> ArgumentPlace:
        """The place of one member of a group argument."""
        name = f"{self.name}[{index}]"
        return ArgumentPlace(name, self.position, self.span, self.order, self.order_in_text)

    def turned(self, values: Sequence[Entry]) -> tuple[Entry, ...]:
        """The values of modes in the order of axes; and those of axes in the order of modes."""
        return tuple(reversed(values)) if self.order == "C" else tuple(values)

    def mode(self, number: int, modes: int) -> str:
        """One of some modes in words, with its axis where that has another number."""
        axis = modes - 1 - number if self.order == "C" else number
        return f"mode {number}" if axis == number else f"mode {number} (axis {axis})"

    def by_axis(self, values: Sequence[Entry]) -> tuple[Entry, ...]:
        """The values of modes in the order of the axes of the array that was given, for messages."""
        return self.turned(values)

    @property
    def called(self) -> str:
        """The name as who wrote the kernel knows it."""
        return f"%{self.name}"

    def declared(self, type: Type) -> str:
        """What the parameter, or a member of it, was declared as; `type` is its type."""
        return str(type)

    @property
    def convention(self) -> str:
        """The axis that a mode is, in words."""
        return 'with order="C", mode 0 is the last axis' if self.order == "C" else "mode i is axis i"

    @property
    def open_sizes(self) -> str:
        """What lets the sizes of an array vary, in words."""
        return f"{self.convention}; declare a mode as `?` where its size may vary"

    def open_strides(self, strides: Sequence[int | None]) -> str | None:
        """The type with these strides, None where one may vary, for a parameter that can say them."""
        listed = ",".join("?" if stride is None else str(stride) for stride in strides)
        return f"strided<{listed}>"

    @property
    def other_order(self) -> str | None:
        """What makes all arrays be taken in the order that this one is not, in words."""
        other = 'order="F"' if self.order == "C" else 'order="C"'
        if self.order_in_text:
            return f"with the attribute {other} the kernel takes all arrays so"
        return f"with {other} the program takes all arrays so"

    def __str__(self) -> str:
        return f"argument {self.position}, {self.called}"


@dataclass(frozen=True, slots=True)
class WrittenPlace(ArgumentPlace):
    """The place of an argument whose parameter was not written as a text: it is spoken of as it was."""

    written: WrittenParameter = field(kw_only=True)

    @staticmethod
    def of(written: WrittenParameter, span: Span, order: Order) -> WrittenPlace:
        """The place of the argument for a parameter."""
        return WrittenPlace(written.name, written.position, span, order, written=written)

    def member(self, index: int) -> WrittenPlace:
        name = f"{self.name}[{index}]"
        written = replace(self.written, annotation=self.written.member or self.written.annotation)
        return WrittenPlace(name, self.position, self.span, self.order, self.order_in_text, written=written)

    def by_axis(self, values: Sequence[Entry]) -> tuple[Entry, ...]:
        axes = self.written.axes
        if len(axes) != len(values):
            return self.turned(values)
        return tuple(values[axes.index(axis)] for axis in range(len(values)))

    def mode(self, number: int, modes: int) -> str:
        axes = self.written.axes
        return f"axis {axes[number] if len(axes) == modes else number}"

    @property
    def called(self) -> str:
        return self.name

    def declared(self, type: Type) -> str:
        return self.written.annotation

    @property
    def open_sizes(self) -> str:
        return "`sizes` of the decorator promises that: None stands there for a size that may vary"

    def open_strides(self, strides: Sequence[int | None]) -> str | None:
        return None

    @property
    def other_order(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class DeviceReach:
    """The device whose arrays a launch takes as they are: its number among CUDA's, its name, and the launch's stream.

    `stream` is the handle of the stream, 0 for the default one: exporters are told, so that their own work comes first.
    """

    number: int
    name: str
    stream: int = 0


@dataclass(slots=True)
class ArgumentReport:
    """The diagnostics of one launch, in the order of its arguments; `reach` is the device that it is on, if it is."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    reach: DeviceReach | None = None

    def add(self, code: str, place: ArgumentPlace, message: str, hint: str | None = None) -> None:
        """Record one problem of one argument. Raises `InternalError` for a code outside `BIND_CODES`."""
        self.add_at(code, place.span, f"{place}: {message}", hint)

    def add_at(self, code: str, span: Span, message: str, hint: str | None = None) -> None:
        """Record one problem at a place of the program. Raises `InternalError` for a code outside `BIND_CODES`."""
        if code not in BIND_CODES:
            raise InternalError(f"binding has no code {code}")
        self.diagnostics.append(Diagnostic(code, message, span, hint=hint))


def numbers(values: Iterable[int | None]) -> str:
    """The sizes or strides in words, as Python writes a tuple; None is `?`."""
    shown = ["?" if value is None else str(value) for value in values]
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"
