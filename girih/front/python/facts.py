"""What a kernel is specialised on: what is known of its arguments, and the options of its decorator.

All are frozen and hashable, so that a `Specialisation` is the key of a variant.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ScalarFacts:
    """An argument that is a number: the name of its type, such as `f32` or `bool`."""

    element: str


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """An argument that is an array.

    `sizes` and `strides` (in elements) are by axis, None where only a launch knows them. `order` lists the axes from
    the one whose elements lie closest together. `alignment` is that of the first element, in bytes, where it is
    promised.
    """

    element: str
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    order: tuple[int, ...]
    alignment: int | None = None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """An argument that is a list of arrays: what holds for each, how many there are, where they begin in elements."""

    member: ArrayFacts
    size: int | None = None
    offset: int | None = 0


@dataclass(frozen=True, slots=True)
class TensorMapFacts:
    """An argument that is a tensor map; `mode` is `tiled` or `im2col`."""

    element: str
    rank: int
    mode: str = "tiled"


@dataclass(frozen=True, slots=True)
class ConstantFacts:
    """An argument that is known while the kernel is translated."""

    value: object


Facts = ScalarFacts | ArrayFacts | GroupFacts | TensorMapFacts | ConstantFacts


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """What the decorator was given besides the function.

    `grid` is a function of parameters of the kernel; `hints` are `(("hopper", (("stages", 4),)),)`.
    """

    grid: Callable[..., object] | None = None
    subgroup_size: int | None = None
    work_group_size: tuple[int, ...] | None = None
    allow: tuple[str, ...] = ()
    hints: tuple[tuple[str, tuple[tuple[str, object], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Specialisation:
    """What is known of each argument, by the parameter's name, in the order of the parameters; and the options."""

    parameters: tuple[tuple[str, Facts], ...]
    options: KernelOptions = KernelOptions()
