"""Copies through tensor maps in random programs: boxes go to local memory, which others read, and on to other tensors.

Barriers stand behind copies, so that it does not matter when they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing import BoundTensorMap, TensorMap
from girih.addressing.tensor_map.element_type import FROM_NUMPY
from girih.addressing.tensor_map.element_type import REDUCTIONS as OPERATIONS
from girih.arguments.tensor_maps import box_shape, image_bytes
from girih.interpreter.machine.numbers import dtype
from girih.ir.core import Dictionary, Entry, Value
from girih.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    AddressSpace,
    MapMode,
    MemRef,
    Number,
    TensorMapType,
    packed_strides,
)
from girih.ops.tile.tensor_map import REDUCTIONS, CopyMode
from tests.fuzz.alone import first_work_group
from tests.fuzz.generate import Argument, Emitter, Generator
from tests.fuzz.tracked import Memory, Reference, Scope

ELEMENTS = (I8, I16, I32, I64, F16, BF16, F32, F64)
INTEGER_MAGNITUDE, MAGNITUDE = 8.0, 2.0
SWIZZLES = {"none": (16, 32, 48), "32B": (16, 32), "64B": (32, 64), "128B": (64, 128)}
"""The bytes of a row of a box with a swizzle."""


def copy(g: Generator, scope: Scope) -> bool:
    """Load a box, and now and then put it into another tensor or combine it with one."""
    if not scope.collective:
        return False
    element = g.pick(ELEMENTS)
    swizzle = g.source.choice(("none", "none", *SWIZZLES))
    rank, im2col = g.source.randint(1, 3), g.chance(0.3)
    make = _im2col(g, element, swizzle) if im2col else _tiled(g, element, swizzle, rank)
    given, source = _parameter(g, element, make)
    mode = CopyMode.IM2COL if im2col else CopyMode.TILED
    local = _local(g, scope, given, element)
    start = _start(g, given, load=True)
    operands = tuple(_number(g, scope, c) for c in start)
    if im2col:
        offsets = tuple(g.source.randint(0, 2) for _ in range(given.rank - 2))
        scope.builder.add(
            "tensor_copy_load_im2col", mode=mode, map=source, coordinates=operands, offsets=offsets, local=local
        )
    else:
        scope.builder.add("tensor_copy_load", mode=mode, map=source, coordinates=operands, local=local)
    _barrier(g, scope)
    if g.chance(0.5):
        _copy_on(g, scope, element, make, local, mode)
    if isinstance(local.type, MemRef) and swizzle == "none":
        magnitude = INTEGER_MAGNITUDE if element.family == "integer" else MAGNITUDE
        memory = Memory(local.name, element, True, magnitude=magnitude, local=True)
        shape = tuple(n or 0 for n in local.type.shape)
        scope.references.append(Reference(local, memory, shape, tuple(s or 0 for s in local.type.strides)))
    return True


def _copy_on(g: Generator, scope: Scope, element: Number, make: dict[str, Any], local: Value, mode: CopyMode) -> None:
    """Store what was loaded, or combine it with integers, in a tensor of its own."""
    inside = dict(make)
    if mode is CopyMode.IM2COL:
        inside |= {"lower_corner": (0,), "upper_corner": (0,)}
    given, target = _parameter(g, element, inside)
    operands = tuple(_number(g, scope, c) for c in _start(g, given, load=False))
    if element in (I32, I64) and g.chance(0.5):
        names = [name for name, types in OPERATIONS.items() if given.dtype in types]
        known = [r for r in REDUCTIONS[element] if r.value in names]
        scope.builder.add(
            "tensor_copy_reduce",
            reduction=g.source.choice(known),
            mode=mode,
            local=local,
            map=target,
            coordinates=operands,
        )
    else:
        with first_work_group(g, scope) as one:
            one.builder.add("tensor_copy_store", mode=mode, local=local, map=target, coordinates=operands)
    _barrier(g, scope)


def _barrier(g: Generator, scope: Scope) -> None:
    scope.builder.add("barrier", global_fence=True, local_fence=True)


def _number(g: Generator, scope: Scope, value: int) -> Value | int:
    return g.constant(scope, INDEX, value).value if g.chance(0.5) else value


def _inner(g: Generator, element: Number, swizzle: str) -> int:
    return g.source.choice(SWIZZLES[swizzle]) // element.size


def _tiled(g: Generator, element: Number, swizzle: str, rank: int) -> dict[str, Any]:
    """The options of a map of a small tensor."""
    box = (max(_inner(g, element, swizzle), 16 // element.size), *(g.source.randint(1, 3) for _ in range(rank - 1)))
    steps = tuple(g.source.randint(1, 2) if g.chance(0.2) else 1 for _ in range(rank))
    sizes = (g.source.randint(1, 24), *(g.source.randint(1, 4) for _ in range(rank - 1)))
    return {"global_dim": sizes, "box_dim": box, "element_strides": steps, "swizzle": swizzle}


def _im2col(g: Generator, element: Number, swizzle: str) -> dict[str, Any]:
    channels = max(_inner(g, element, swizzle), 16 // element.size)
    return {
        "global_dim": (g.source.randint(1, 24), g.source.randint(3, 5), g.source.randint(1, 2)),
        "lower_corner": (g.source.randint(-1, 0),),
        "upper_corner": (g.source.randint(-1, 0),),
        "channels_per_pixel": channels,
        "pixels_per_column": g.source.randint(1, 6),
        "swizzle": swizzle,
    }


def _parameter(g: Generator, element: Number, options: dict[str, Any]) -> tuple[TensorMap, Value]:
    """A new parameter, and the map that it is bound to."""
    sizes = options["global_dim"]
    pitch = -(-sizes[0] * element.size // 16) * 16 // element.size
    strides = [1, pitch]
    for size in sizes[1:-1]:
        strides.append(strides[-1] * size)
    strides = strides[: len(sizes)]
    make = TensorMap.tiled if "box_dim" in options else TensorMap.im2col
    steps = [stride * element.size for stride in strides[1:]]
    given: TensorMap = make(dtype=FROM_NUMPY[dtype(element).name], global_strides=steps, **options)

    def bind(array: NDArray[Any]) -> BoundTensorMap:
        """The map with a copy of the array in rows that are padded, the last one too."""
        rows = np.zeros((*sizes[:0:-1], pitch), array.dtype)
        copy = rows[..., : sizes[0]]
        copy[...] = array.T
        return given.bind(copy)

    held = Memory(f"p{len(g.parameters)}", element, False)
    type = TensorMapType(element, len(sizes), MapMode(given.mode))
    return given, g.parameter(type, Argument(type, held, sizes, tuple(strides), bind=bind))


def _local(g: Generator, scope: Scope, given: TensorMap, element: Number) -> Value:
    """Local memory for a box: in its shape, or as bytes where rows have gaps or chunks change places."""
    repeat = max(128, given.swizzling.repeat)
    if given.swizzle == "none":
        shape = box_shape(given, by_rows=False)
        type = MemRef(element, shape, packed_strides(shape), AddressSpace.LOCAL)
    else:
        type = MemRef(I8, (image_bytes(given, given.rows),), (1,), AddressSpace.LOCAL)
    alignment = g.source.choice([n for n in (128, 256, 512, 1024) if n >= repeat])
    attributes = Dictionary((Entry("alignment", alignment),)) if alignment > 128 or g.chance(0.3) else Dictionary()
    (value,) = scope.builder.add("alloca", type, attributes=attributes)
    return value


def _start(g: Generator, given: TensorMap, *, load: bool) -> tuple[int, ...]:
    """Legal coordinates near the tensor; those of stores lie at 0 or later."""
    step = 128 // given.element.bits
    first = step * g.source.randint(-1 if load else 0, 2)
    if given.mode == "tiled":
        return (first, *(g.source.randint(-1 if load else 0, size) for size in given.global_dim[1:]))
    low, high = given.lower_corner[0], given.global_dim[1] - 1 + given.upper_corner[0]
    return (first, g.source.randint(low, high), g.source.randint(0, given.global_dim[2] - 1))


COPIES: list[tuple[Emitter, float]] = [(copy, 0.5)]
