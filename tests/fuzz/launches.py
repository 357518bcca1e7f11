"""Accepted texts, however odd, launched with arguments made from the types of their parameters.

Nothing but a launch that ends well, a `LaunchError`, or a `KernelError` with findings may come of it.
"""

from __future__ import annotations

import random
import traceback
from typing import Any, cast

import numpy as np

import girih
from girih.arguments.memory import strided
from girih.diagnostics import errors
from girih.facts.findings import RUN_CODES
from girih.interpreter.machine.numbers import dtype
from girih.ir.types import Boolean, GroupType, MemRef, Number, Type
from tests.fuzz.mutate import mutated, programs, tokens
from tests.fuzz.programs import program
from tests.fuzz.properties import Violation, checked

STEPS = 2_000
LARGEST = 2**20
"""Elements of an argument; programs that ask for more are not launched."""


class TooLarge(Exception):
    """An argument that is too large to make."""


def _memory(type: MemRef, source: random.Random, before: int = 0) -> tuple[Any, list[int], tuple[int, ...]]:
    """The memory of a memref with so many elements before it, its strides in bytes, and its shape."""
    shape = tuple(source.choice((0, 1, 3, 8)) if n is None else n for n in type.shape)
    strides: list[int] = []
    packed = 1
    for n, stride in zip(shape, type.strides, strict=True):
        strides.append(packed if stride is None else stride)
        packed = strides[-1] * max(n, 1)
    length = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 1
    if max(before + length, *strides, *shape, 0) > LARGEST:
        raise TooLarge
    flat = (np.arange(before + length) % 7 - 3).astype(dtype(type.element))
    return flat, [s * flat.itemsize for s in strides], shape


def _array(type: MemRef, source: random.Random) -> Any:
    flat, strides, shape = _memory(type, source)
    return strided(flat, shape, strides)


def _group(type: GroupType, source: random.Random) -> Any:
    count = 2 if type.size is None else min(type.size, 100)
    offset = source.choice((0, 3)) if type.offset is None else type.offset
    if not offset:
        arrays = [_array(type.memref, source) for _ in range(count)]
        return arrays if type.offset == 0 else girih.Group(arrays, 0)
    members = [_memory(type.memref, source, offset) for _ in range(count)]
    return girih.Group([flat for flat, _, _ in members], offset, [shape for _, _, shape in members])


def argument(type: Type, source: random.Random) -> Any:
    """An argument for a parameter of a type; raises `TooLarge`."""
    match type:
        case Boolean():
            return source.random() < 0.5
        case Number():
            return source.choice((-1, 0, 1, 2, 7)) if type.family == "integer" else source.choice((-1.5, 0.0, 2.0))
        case MemRef():
            return None if source.random() < 0.03 else _array(type, source)
        case GroupType():
            return _group(type, source)
        case _:
            raise TooLarge


def _turned(type: Type, value: Any) -> Any:
    """An argument as a kernel takes it whose arrays have their axes in the other order."""
    match type, value:
        case MemRef(), np.ndarray():
            return value.T
        case GroupType(memref=memref), girih.Group(arrays, offset, shapes):
            turned = None if shapes is None else [tuple(reversed(cast(Any, shape))) for shape in shapes]
            return girih.Group([_turned(memref, array) for array in arrays], offset, turned)
        case GroupType(memref=memref), list():
            return [_turned(memref, array) for array in value]
        case _:
            return value


def _memories(value: Any) -> list[bytes]:
    """The contents of the arrays of an argument, in the order of modes in order F."""
    arrays = value.arrays if isinstance(value, girih.Group) else value if isinstance(value, list) else [value]
    return [array.tobytes() for array in arrays if isinstance(array, np.ndarray)]


def _launch(kernel: girih.Kernel, source: random.Random, text: str) -> str:
    """How a launch ended; now and then it is repeated with arrays in the other order, which changes nothing."""
    if source.random() >= 0.1:
        return _ended(kernel, [p.type for p in kernel.ir.parameters], source, text, turned=False)[0]
    state = source.getstate()
    types = [p.type for p in kernel.ir.parameters]
    first = _ended(kernel, types, source, text, turned=False)
    source.setstate(state)
    second = _ended(girih.loads(text, kernel.target, order="C")[kernel.name], types, source, text, turned=True)
    if first != second:
        raise Violation("order", f"in order C: {first[0]} and {second[0]}, or other results", text)
    return first[0]


def _ended(
    kernel: girih.Kernel, types: list[Type], source: random.Random, text: str, *, turned: bool
) -> tuple[str, list[list[bytes]]]:
    """How a launch ended, and the contents of arrays after it."""
    try:
        arguments = [argument(type, source) for type in types]
    except TooLarge:
        return "not launched", []
    passed = [_turned(type, value) for type, value in zip(types, arguments, strict=True)] if turned else arguments
    end = _end(kernel, passed, source, text)
    return end, [_memories(value) for value in arguments]


def _end(kernel: girih.Kernel, arguments: list[Any], source: random.Random, text: str) -> str:
    choices = girih.Choices(source.randrange(100)) if source.random() < 0.5 else None
    try:
        kernel.options(choices=choices, max_steps=STEPS)[source.choice((1, (2, 1, 1), (1, 2, 2), 0))](*arguments)
    except girih.LaunchError:
        return "refused"
    except girih.KernelError as error:
        if not all(f.code in RUN_CODES and f.render() for f in error.findings):
            raise Violation("run", f"findings that nobody knows: {error.findings}", text) from None
        return "findings"
    except Exception:
        raise Violation("launch", traceback.format_exc(limit=-6), text) from None
    return "fine"


def kernels_of(text: str, target: str) -> dict[str, girih.Kernel]:
    """The kernels of a text, in its order; none where it is not accepted."""
    if errors(checked(text)):
        return {}
    loaded = girih.loads(text, target=target)
    return {f.name: loaded[f.name] for f in girih.parse(text).functions}


def launched(text: str, seed: int) -> list[str]:
    """How the launches of the functions of an accepted text end; raises `Violation`."""
    kernels = kernels_of(text, "interpreter")
    return [_launch(kernel, random.Random(seed), text) for kernel in kernels.values()]


def odd_text(seed: int) -> str:
    """A program of the corpus or a generated one, with something done to it."""
    source = random.Random(seed)
    text = source.choice(programs()) if source.random() < 0.6 else str(program(seed, 6).module)
    return mutated(source, text) if tokens(text) else text
