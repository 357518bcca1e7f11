"""Arrays for results: of the shape that a rule gives, in the library, on the device, in the order of the arguments."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, TypeVar

import numpy as np

from girih.arguments.arrays import Uninitialized
from girih.arguments.devices import CUDA, device_of
from girih.arguments.scalars import DTYPES
from girih.arguments.seen import ELEMENTS, SeenArray
from girih.diagnostics import nearest
from girih.front.python.signature import Declared, shown
from girih.ir.types import NUMBERS

Rule = str | Callable[..., object] | Sequence[int]
"""What gives the shape of a result: the name of an array of the same shape, a function of parameters, or sizes."""


def checked_rules(rules: Mapping[str, Rule] | str | None, parameters: Sequence[Declared]) -> dict[str, Rule]:
    """The rules for results by name. Raises `ValueError` for a name or a rule that does not suit the parameters."""
    if rules is None:
        return {}
    names = [p.name for p in parameters]
    given: dict[str, Rule] = {rules: ""} if isinstance(rules, str) else dict(rules)
    for name, rule in given.items():
        found = next((p for p in parameters if p.name == name), None)
        if found is None or found.kind != "array":
            why = f"which is {shown(found)}" if found else f"but the parameters are {', '.join(names)}"
            raise ValueError(f"out names {name!r}, {why}; a result is a parameter that is an array")
        if isinstance(rule, str) and rule not in names:
            close = nearest(rule, names) if rule else next((p.name for p in parameters if p.kind == "array"), None)
            hint = f"out={{{name!r}: {close or 'X'!r}}} is the shape of that array, or give a function of parameters"
            raise ValueError(f"the shape of {name} is not said; {hint}")
        if callable(rule):
            unknown = [word for word in inspect.signature(rule).parameters if word not in names or word in given]
            if unknown:
                raise ValueError(f"the shape of {name} asks for {', '.join(unknown)}, but the arguments are "
                                 f"{', '.join(n for n in names if n not in given)}")  # fmt: skip
    return given


def shape_of(rule: Rule, arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape that a rule gives for arguments by name. Raises `TypeError` for what is none."""
    if isinstance(rule, str):
        return tuple(map(index, _bare(arguments[rule]).shape))
    if callable(rule):
        wanted = inspect.signature(rule).parameters
        given: Any = rule(**{name: _bare(arguments[name]) for name in wanted})
    else:
        given = rule
    return tuple(map(index, given)) if isinstance(given, tuple | list) else (index(given),)


def _bare(value: Any) -> Any:
    while isinstance(value, Uninitialized):
        value = value.array
    return value


def element_of(parameter: Declared, variables: Mapping[TypeVar, str], like: SeenArray) -> str:
    """The element type of a result: its own, that of its type variable, and otherwise that of the first array."""
    if isinstance(parameter.element, str):
        return parameter.element
    known = None if parameter.element is None else variables.get(parameter.element)
    return known or ELEMENTS.get(like.dtype, "f32")


def allocated(shape: tuple[int, ...], element: str, like: Any, order: Sequence[int]) -> Any:
    """An array of a shape, in the library and on the device of another one; `order` lists axes as those of that are.

    Raises `TypeError` for a library whose arrays never change, and for one of a device that nobody here knows.
    """
    like = _bare(like)
    axes = _order_for(len(shape), order)
    sizes = tuple(shape[axis] for axis in reversed(axes))
    back = tuple(int(k) for k in np.argsort(tuple(reversed(axes))))
    dtype = DTYPES[NUMBERS[element]]
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        made = torch.empty(sizes, dtype=getattr(torch, dtype.name), device=like.device)
        return made.permute(*back) if back else made
    module = type(like).__module__.partition(".")[0]
    if module == "cupy":
        with like.device:
            return sys.modules["cupy"].empty(sizes, dtype).transpose(back)
    if module in ("jax", "jaxlib"):
        raise TypeError(
            "arrays of JAX never change, so that none can be a result; girih.jax makes an operator of a kernel"
        )
    device = device_of(like)
    if device is not None and device[0] == CUDA:
        name = type(like).__name__
        raise TypeError(
            f"{name} lies on a CUDA device, where only torch and CuPy are asked for new arrays; allocate the result "
            "with the library that it is of"
        )
    return np.empty(sizes, dtype).transpose(back)


def _order_for(rank: int, order: Sequence[int]) -> tuple[int, ...]:
    """The order of axes for a rank: F where the example is in order F, else C."""
    forwards = len(order) > 1 and tuple(order) == tuple(range(len(order)))
    return tuple(range(rank)) if forwards else tuple(reversed(range(rank)))
