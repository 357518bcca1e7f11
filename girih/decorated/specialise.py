"""From the arguments of a call to what the kernel is specialised on, or to everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import index
from typing import TypeVar

import numpy as np

from girih.addressing import BoundTensorMap
from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.layout import is_foreign
from girih.arguments.report import ArgumentPlace, ArgumentReport, WrittenPlace
from girih.arguments.scalars import DTYPES
from girih.arguments.seen import ELEMENTS, SeenArray, seen
from girih.diagnostics import LaunchError, plural
from girih.front.python.facts import (
    ArrayFacts,
    ConstantFacts,
    Facts,
    GroupFacts,
    KernelOptions,
    ScalarFacts,
    Specialisation,
    TensorMapFacts,
)
from girih.front.python.signature import Declared, annotation
from girih.ir.core import Order, WrittenParameter
from girih.ir.types import NUMBERS
from girih.language.types import SCALARS, Number
from girih.lazy_dataclass import dataclass

Axes = tuple[int, ...]
Looked = tuple[ArgumentPlace, SeenArray]

_LARGEST_CONSTANT = 4096
"""The most characters that a string, or entries that a tuple, may have as a constant."""


@dataclass(frozen=True, slots=True)
class Specialised:
    """What a kernel is specialised on for some arguments, and how these become arguments of the variant.

    `order` is that in which arrays go in as they are. `turned` has, by the number of the argument, the axes of arrays
    in other orders as they go in. `device` is the number of the CUDA device that all arrays are on, None for the host.
    """

    specialisation: Specialisation
    order: Order
    turned: tuple[tuple[int, Axes], ...]
    device: int | None


@dataclass(frozen=True, slots=True)
class ArrayPromises:
    """What a definition promises of arrays: sizes by the names of parameters, and the alignment of all in bytes.

    A size is None where a launch decides it, a number, or the name of a constant.
    """

    sizes: Mapping[str, Sequence[int | str | None]]
    alignment: int | None = None


def specialised(
    parameters: Sequence[Declared],
    arguments: Sequence[object],
    options: KernelOptions,
    promises: ArrayPromises,
    *,
    alone: bool,
) -> Specialised:
    """What is known of one argument of each parameter. Raises `LaunchError` with everything that is wrong.

    `alone` says that no target was asked for, so that the arrays decide where the kernel runs: all are on one device.
    """
    report = ArgumentReport()
    reading = _Arguments(parameters, report, promises)
    arrays = reading.look(arguments)
    device = _device(arrays, report) if alone else _any_device(arrays)
    facts = [reading.facts(p, value) for p, value in zip(parameters, arguments, strict=True)]
    if report.diagnostics:
        raise LaunchError(report.diagnostics)
    named = tuple((p.name, fact) for p, fact in zip(parameters, facts, strict=True) if fact is not None)
    orders = {number: _axes(fact) for number, fact in enumerate(facts)}
    order, turned = common_order({number: axes for number, axes in orders.items() if axes is not None})
    return Specialised(Specialisation(named, options), order, turned, device)


def look(
    parameters: Sequence[Declared], arguments: Sequence[object], report: ArgumentReport
) -> tuple[list[Looked], Mapping[TypeVar, str]]:
    """The arrays among the arguments, and what type variables stand for; what is wrong with them is reported."""
    reading = _Arguments(parameters, report, ArrayPromises({}))
    arrays = reading.look(arguments)
    return arrays, {variable: element for variable, (element, _) in reading.variables.items()}


def common_order(orders: Mapping[int, Axes]) -> tuple[Order, tuple[tuple[int, Axes], ...]]:
    """The order in which most arrays go in as they are, and for each other array its axes as they go in."""
    backwards = {number: axes[::-1] for number, axes in orders.items() if axes != tuple(reversed(range(len(axes))))}
    forwards = {number: axes for number, axes in orders.items() if axes != tuple(range(len(axes)))}
    if all(len(axes) < 2 for axes in orders.values()):
        return "F", ()
    return ("C", tuple(backwards.items())) if len(backwards) <= len(forwards) else ("F", tuple(forwards.items()))


def _axes(fact: Facts | None) -> Axes | None:
    match fact:
        case ArrayFacts(order=order) | GroupFacts(member=ArrayFacts(order=order)):
            return order
        case _:
            return None


class _Arguments:
    """The arguments of one call, looked at one after the other."""

    def __init__(self, parameters: Sequence[Declared], report: ArgumentReport, promises: ArrayPromises) -> None:
        self.report = report
        self.promises = promises
        self.constants: dict[str, object] = {}
        self.places: dict[str, ArgumentPlace] = {
            p.name: WrittenPlace.of(WrittenParameter(p.name, k, annotation(p)), p.span, "C")
            for k, p in enumerate(parameters, 1)
        }
        self.parameters = parameters
        self.arrays: dict[str, list[Looked]] = {}
        self.variables: dict[TypeVar, tuple[str, str]] = {}
        """The element type that each type variable stands for, and the parameter that decided it."""

    def look(self, arguments: Sequence[object]) -> list[Looked]:
        """All arrays among the arguments; arrays that have the wrong number of axes or elements are reported."""
        for parameter, value in zip(self.parameters, arguments, strict=True):
            place = self.places[parameter.name]
            if parameter.kind == "constant":
                self.constants[parameter.name] = value
            if parameter.kind == "array":
                self.arrays[parameter.name] = self._looked(parameter, [(place, value)])
            elif parameter.kind == "group":
                self.arrays[parameter.name] = self._looked(parameter, self._members(parameter, value, place))
        for parameter in self.parameters:
            for place, array in self.arrays.get(parameter.name, ()):
                self._check(parameter, place, array)
        return [looked for several in self.arrays.values() for looked in several]

    def _looked(self, parameter: Declared, given: Sequence[tuple[ArgumentPlace, object]]) -> list[Looked]:
        found = []
        for place, value in given:
            if value is None:
                continue
            if isinstance(value, list | tuple | str | bool | int | float | complex | np.generic):
                message = f"{annotation(parameter)} takes an array; got {_kind(value)}"
                hint = "pass an array of NumPy, torch, CuPy or JAX, or an object with the buffer protocol or DLPack"
                self.report.add("bind.type", place, message, hint)
                continue
            array = seen(value, place, self.report)
            if array is not None and self._has_rank(parameter, place, array):
                found.append((place, array))
        return found

    def _members(self, parameter: Declared, value: object, place: ArgumentPlace) -> list[tuple[ArgumentPlace, object]]:
        while isinstance(value, Uninitialized):
            value = value.array
        if isinstance(value, Group):
            value = value.arrays
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            message = f"{annotation(parameter)} takes a list of arrays; got {_kind(value)}"
            self.report.add("bind.type", place, message, f"pass [{parameter.name}], or a girih.Group")
            return []
        return [(place.member(number), member) for number, member in enumerate(value)]

    def _has_rank(self, parameter: Declared, place: ArgumentPlace, array: SeenArray) -> bool:
        wanted, given = parameter.rank or 0, len(array.shape)
        if wanted == given:
            return True
        message = f"{annotation(parameter)} takes an array with {plural(wanted, 'axis', 'axes')}; got {_article(array)}"
        ways = (
            _rank_hint(place.name, array.shape, wanted),
            f"declare {parameter.name}: {annotation(replace(parameter, rank=given))}",
        )
        self.report.add("bind.order", place, message, "; or ".join(filter(None, ways)))
        return False

    def _check(self, parameter: Declared, place: ArgumentPlace, array: SeenArray) -> None:
        """Report an element type that the parameter does not take, and strides that no memory of the language has."""
        flaw = _flaw(array)
        if flaw is not None:
            self.report.add("bind.layout", place, f"{flaw}; got {_article(array)}", _layout_hint(array))
        element = ELEMENTS.get(array.dtype)
        wanted = parameter.element
        if isinstance(wanted, TypeVar):
            self._decide(wanted, place, array, element)
        elif wanted is None and element is None:
            self._refuse_dtype(place, array)
        elif wanted is not None and element != _in_memory(wanted):
            message = f"{annotation(parameter)} takes elements of {_dtype(wanted)}; got {_article(array)}"
            self.report.add("bind.dtype", place, message, _dtype_hint(place.name, wanted, array))

    def _decide(self, variable: TypeVar, place: ArgumentPlace, array: SeenArray, element: str | None) -> None:
        """Let a type variable stand for the element type of an array, or hold that against what it stands for."""
        known = self.variables.get(variable)
        if element is None:
            self._refuse_dtype(place, array)
        elif known is None:
            allowed = _allowed(variable)
            if allowed and element not in allowed:
                message = f"{variable.__name__} is one of {', '.join(allowed)}; got {_article(array)}"
                self.report.add("bind.dtype", place, message, f"allocate it with dtype={_dtype(allowed[0])}")
            else:
                self.variables[variable] = element, place.name
        elif known[0] != element:
            message = f"{variable.__name__} is {known[0]} as of {known[1]}; got {_article(array)}"
            self.report.add("bind.dtype", place, message, f"allocate it with dtype={_dtype(known[0])}")

    def _refuse_dtype(self, place: ArgumentPlace, array: SeenArray) -> None:
        """Report a dtype that is no element type of the language."""
        unsigned = array.dtype.startswith("u") and array.dtype.removeprefix("u") in ELEMENTS
        hint = f"the element types are those of {', '.join(ELEMENTS)}"
        if unsigned:
            hint = f"pass {place.name}.view(np.{array.dtype.removeprefix('u')}), the same memory as signed integers"
        self.report.add("bind.dtype", place, f"no element type is {array.dtype}; got {_article(array)}", hint)

    # --- facts ---------------------------------------------------------------------------

    def facts(self, parameter: Declared, value: object) -> Facts | None:
        """What is known of an argument; None after a problem was reported."""
        place = self.places[parameter.name]
        match parameter.kind:
            case "constant":
                known = self._constant(value, place)
                return None if known is None else ConstantFacts(known[0])
            case "scalar":
                element = self._element(parameter, value)
                return None if element is None else ScalarFacts(element)
            case "tensor_map":
                return self._map(parameter, value, place)
            case "group":
                return self._group(parameter, value)
            case _:
                return self._array(parameter)

    def _array(self, parameter: Declared) -> ArrayFacts | None:
        element = self._element(parameter, None)
        if element is None:
            return None
        rank = parameter.rank or 0
        several = [array for _, array in self.arrays[parameter.name]]
        orders = {array.order for array in several}
        if len(orders) > 1:
            place = self.arrays[parameter.name][0][0]
            message = f"the members of {parameter.name} are in different orders: {' and '.join(map(str, orders))}"
            self.report.add("bind.layout", place, message, "allocate all members with their axes in one order")
            return None
        order = orders.pop() if orders else tuple(reversed(range(rank)))
        unit = all(array.unit for array in several)
        strides = tuple(1 if unit and order and axis == order[0] else None for axis in range(rank))
        sizes = tuple(self._size(size) for size in self.promises.sizes.get(parameter.name, (None,) * rank))
        return ArrayFacts(element, sizes, strides, order, self.promises.alignment)

    def _size(self, size: int | str | None) -> int | None:
        """A promised size: a number, or what a constant of that name is."""
        known = self.constants.get(size) if isinstance(size, str) else size
        return known if isinstance(known, int) else None

    def _group(self, parameter: Declared, value: object) -> GroupFacts | None:
        member = self._array(parameter)
        while isinstance(value, Uninitialized):
            value = value.array
        offset = value.offset if isinstance(value, Group) else 0
        return None if member is None else GroupFacts(member, None, None if offset else 0)

    def _map(self, parameter: Declared, value: object, place: ArgumentPlace) -> TensorMapFacts | None:
        while isinstance(value, Uninitialized):
            value = value.array
        if not isinstance(value, BoundTensorMap):
            hint = "girih.addressing.TensorMap.tiled(...).bind(array) makes one"
            self.report.add(
                "bind.map", place, f"{annotation(parameter)} takes a bound tensor map; got {_kind(value)}", hint
            )
            return None
        element = self._element(parameter, None)
        return None if element is None else TensorMapFacts(element, parameter.rank or 0, parameter.mode)

    def _element(self, parameter: Declared, value: object) -> str | None:
        """The name of a parameter's element type; None where a type variable stands for none because of a problem."""
        wanted = parameter.element
        if wanted is None:
            own = self.arrays.get(parameter.name)
            return ELEMENTS.get(own[0][1].dtype) if own else self._unknown_element(parameter, "its element type")
        if not isinstance(wanted, TypeVar):
            return wanted
        known = self.variables.get(wanted)
        if known is not None:
            return known[0]
        if parameter.kind == "scalar" and not self.report.diagnostics:
            return _type_of_number(value)
        return self._unknown_element(parameter, f"what {wanted.__name__} is")

    def _unknown_element(self, parameter: Declared, what: str) -> str | None:
        """None, which is reported where nothing else was."""
        if not self.report.diagnostics:
            hint = "pass an array in place of None, or give the parameter an element type"
            self.report.add("bind.dtype", self.places[parameter.name], f"no argument says {what}", hint)
        return None

    def _constant(self, value: object, place: ArgumentPlace) -> tuple[object] | None:
        try:
            return (known_constant(value),)
        except ValueError as error:
            self.report.add("bind.type", place, str(error), "pass an array or a number that changes as a parameter "
                            "with its own type")  # fmt: skip
            return None


def known_constant(value: object) -> object:
    """A value of `gl.constant` as it is kept: a number, truth value, string, element type, or a tuple of these.

    Raises `ValueError` for anything else.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and len(value) <= _LARGEST_CONSTANT:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float | complex):
        return value
    if isinstance(value, tuple | list) and len(value) <= _LARGEST_CONSTANT:
        return tuple(map(known_constant, value))
    if isinstance(value, type) and issubclass(value, Number):
        return value
    if value is None or callable(value):
        return value
    found = _kind(value)
    raise ValueError(
        f"a constant is a number, a truth value, a string, an element type or a tuple of these; got {found}"
    )


def _type_of_number(value: object) -> str:
    """The type of a number that nothing else decides."""
    if isinstance(value, np.generic):
        return ELEMENTS.get(str(value.dtype), "f32")
    if isinstance(value, bool):
        return "bool"
    return "index" if isinstance(value, int) else "c32" if isinstance(value, complex) else "f32"


def _device(arrays: Sequence[Looked], report: ArgumentReport) -> int | None:
    """The device of all arrays; arrays on different ones are reported."""
    devices: dict[int | None, str] = {}
    for place, array in arrays:
        devices.setdefault(array.device, place.name)
        if len(devices) > 1:
            (first, name), (other, _) = list(devices.items())[:2]
            message = f"it is on {_device_name(other)}, and {name} is on {_device_name(first)}"
            hint = "move all arrays to one device"
            if None in devices:
                hint += f"; with target={_target_name(first, other)!r} those of the host are copied there and back"
            report.add("bind.device", place, message, hint)
            break
    return next(iter(devices), None)


def _any_device(arrays: Sequence[Looked]) -> int | None:
    return next((array.device for _, array in arrays if array.device is not None), None)


def _device_name(number: int | None) -> str:
    return "the host" if number is None else f"cuda:{number}"


def _target_name(*numbers: int | None) -> str:
    return f"cuda:{max(number for number in numbers if number is not None)}" if any(numbers) else "cuda"


def _in_memory(element: str) -> str:
    return "i64" if element == "index" else element


def _allowed(variable: TypeVar) -> list[str]:
    """The names of the element types that a type variable is constrained to; none where it may be any."""
    names = {type: name for name, type in SCALARS.items()}
    return [names[type] for type in variable.__constraints__ if type in names]


def _dtype(element: str) -> str:
    """A dtype as Python code names it."""
    dtype = DTYPES[NUMBERS[element]] if element in NUMBERS else np.dtype(np.bool_)
    return f"{'ml_dtypes' if is_foreign(dtype) else 'np'}.{dtype.name}"


def _article(array: SeenArray) -> str:
    return f"{'an' if array.dtype[0] in 'aeio' else 'a'} {array}"


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of {type(value).__name__}"


def _dtype_hint(name: str, wanted: str, array: SeenArray) -> str:
    expected = DTYPES[NUMBERS[wanted]]
    if array.dtype == f"u{expected.name}":
        return f"pass {name}.view({_dtype(wanted)}), the same memory as signed integers"
    if array.dtype.startswith((">", "<")):
        return f"allocate it with dtype={_dtype(wanted)}, in the byte order of this machine"
    return f"allocate it with dtype={_dtype(wanted)}"


def _rank_hint(name: str, shape: Sequence[int], wanted: int) -> str | None:
    """A view of the array with the axes that are wanted, in words."""
    if wanted == len(shape) + 1:
        return f"pass {name}[None], which has one axis more"
    if wanted == 0:
        return f"pass an array without axes, such as np.zeros((), dtype), or {name}[0, ...]"
    if wanted == len(shape) - 1 and shape and shape[0]:
        return f"pass {name}[0], or another part with one axis less"
    if wanted == 1 and 0 not in shape:
        return f"pass {name}.reshape(-1), if it is contiguous: then it is the same memory"
    return None


def _flaw(array: SeenArray) -> str | None:
    """What makes the strides of an array none of the language's (003 "Strided layout"), in words."""
    for axis in array.significant:
        stride = array.strides[axis]
        if stride is None:
            return f"axis {axis} has a stride that is no whole number of elements"
        if stride == 0:
            return f"axis {axis} has stride 0: all of its elements are the same one (a broadcast view)"
        if stride < 0:
            return f"axis {axis} runs backwards"
    axes = [axis for axis in array.order if axis in array.significant]
    for inner, outer in pairwise(axes):
        step, next_step = index(array.strides[inner] or 0), index(array.strides[outer] or 0)
        if step * array.shape[inner] > next_step:
            return f"elements along axis {inner}, of size {array.shape[inner]}, reach into the next of axis {outer}"
    return None


def _layout_hint(array: SeenArray) -> str:
    return f"a kernel uses memory as it is: allocate an array of shape {array.shape}, and fill it from this one"
