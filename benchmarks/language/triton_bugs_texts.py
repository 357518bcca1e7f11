"""One wrong kernel in Triton for each class of tests/bugs that Triton can express; importing this needs triton.

Each says how a right kernel differs. Its launch in `LAUNCHES` says whether the results are those of the right kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def double_past_the_end(a: Any, b: Any, size: tl.constexpr) -> None:
    """B = 2 A, without the mask that keeps the last program inside of the arrays."""
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(b + i, 2 * tl.load(a + i))


@triton.jit
def box_of_a_longer_tensor(a: Any, b: Any, length: tl.constexpr, size: tl.constexpr) -> None:
    """The sum of A by boxes, through a descriptor whose tensor is longer than A."""
    tensor = tl.make_tensor_descriptor(a, shape=[length], strides=[1], block_shape=[size])
    total = tl.zeros((size,), tl.float32)
    for first in range(0, length, size):
        total += tensor.load([first])
    tl.store(b, tl.sum(total, axis=0))


@triton.jit
def reverse_without_barrier(a: Any, scratch: Any, b: Any, size: tl.constexpr) -> None:
    """B = A reversed through a scratch, without tl.debug_barrier between the store and the load."""
    i = tl.arange(0, size)
    tl.store(scratch + i, tl.load(a + i))
    tl.store(b + i, tl.load(scratch + size - 1 - i))


@triton.jit
def total_without_atomics(a: Any, total: Any, size: tl.constexpr) -> None:
    """The sum of A over all programs, without tl.atomic_add."""
    i = tl.program_id(0) * size + tl.arange(0, size)
    part = tl.sum(tl.load(a + i), axis=0)
    tl.store(total, tl.load(total) + part)


@triton.jit
def upsample_divided(a: Any, b: Any, size: tl.constexpr) -> None:
    """Element i of A goes to element 2 i of B, and here to i / 2: two elements of a block are stored to one."""
    i = tl.arange(0, size)
    tl.store(b + i // 2, tl.load(a + i))


@triton.jit
def square_of_stored_tile(a: Any, scratch: Any, b: Any, size: tl.constexpr) -> None:
    """B = A^T A, of which A^T is loaded from where A was stored, without tl.debug_barrier between the two."""
    i = tl.arange(0, size)
    tile = tl.load(a + i[:, None] * size + i[None, :])
    tl.store(scratch + i[:, None] * size + i[None, :], tile)
    turned = tl.load(scratch + i[None, :] * size + i[:, None])
    tl.store(b + i[:, None] * size + i[None, :], tl.dot(turned, tile))


@triton.jit
def overlapping_boxes(b: Any, size: tl.constexpr) -> None:
    """Each program stores a box through a descriptor; the boxes begin half a box apart instead of a whole one."""
    box = tl.zeros((size,), tl.float32) + tl.program_id(0) + 1
    b.store([tl.program_id(0) * (size // 2)], box)


@triton.jit
def add_to_unwritten(a: Any, total: Any, size: tl.constexpr) -> None:
    """Adds A to a total that nobody has set to zero."""
    i = tl.arange(0, size)
    tl.store(total + i, tl.load(total + i) + tl.load(a + i))


@triton.jit
def barrier_for_some(a: Any, b: Any, size: tl.constexpr) -> None:
    """A barrier that those elements come to that are positive; the right kernel has it for all."""
    i = tl.arange(0, size)
    x = tl.load(a + i)
    if x > 0:
        tl.debug_barrier()
    tl.store(b + i, x)


@triton.jit
def coordinate_of_each(a: Any, b: Any, size: tl.constexpr) -> None:
    """A box whose coordinate is a block of numbers instead of one number."""
    i = tl.arange(0, size)
    tl.store(b + i, a.load([i]))


@triton.jit
def product_of_other_sizes(a: Any, b: Any, c: Any, rows: tl.constexpr, depth: tl.constexpr) -> None:
    """A product of matrices whose inner sizes differ."""
    i, k = tl.arange(0, rows), tl.arange(0, depth)
    x = tl.load(a + i[:, None] * depth + k[None, :])
    y = tl.load(b + i[:, None] * rows + i[None, :])
    tl.store(c + i[:, None] * rows + i[None, :], tl.dot(x, y))


@triton.jit
def copy_with_strides(a: Any, b: Any, stride: Any, rows: tl.constexpr, columns: tl.constexpr) -> None:
    """B = A, with a stride for the rows of A that the launch takes from the other mode."""
    i, j = tl.arange(0, rows), tl.arange(0, columns)
    tl.store(b + i[:, None] * columns + j[None, :], tl.load(a + i[:, None] * stride + j[None, :]))


@triton.jit
def last_program_relaxed(
    a: Any, parts: Any, count: Any, total: Any, programs: tl.constexpr, size: tl.constexpr
) -> None:
    """The last program adds up the parts of all; its ticket is relaxed where it must acquire and release."""
    p = tl.program_id(0)
    tl.store(parts + p, tl.sum(tl.load(a + p * size + tl.arange(0, size)), axis=0))
    ticket = tl.atomic_add(count, 1, sem="relaxed")
    if ticket == programs - 1:
        tl.store(total, tl.sum(tl.load(parts + tl.arange(0, programs)), axis=0))


@triton.jit
def assumed_multiple(a: Any, b: Any, length: Any, size: tl.constexpr) -> None:
    """B = 2 A, with the promise that the length is a multiple of the block, which it is not."""
    tl.assume(length % size == 0)
    first = tl.multiple_of(tl.program_id(0) * length // tl.num_programs(0), size)
    i = first + tl.arange(0, size)
    tl.store(b + i, 2 * tl.load(a + i, mask=i < length), mask=i < length)


def _bounds() -> bool:
    memory = torch.zeros(48)
    double_past_the_end[(3,)](torch.ones(48)[:40], memory[:40], 16)
    return bool((memory[:40] == 2).all() and (memory[40:] == 0).all())


def _views() -> bool:
    total = torch.zeros(1)
    box_of_a_longer_tensor[(1,)](torch.ones(48)[:40], total, 48, 16)
    return bool(total.item() == 40)


def _races_local() -> bool:
    a, b = torch.arange(32.0), torch.zeros(32)
    reverse_without_barrier[(1,)](a, torch.zeros(32), b, 32)
    return bool(torch.equal(b, a.flip(0)))


def _races_global() -> bool:
    total = torch.zeros(1)
    total_without_atomics[(4,)](torch.ones(64), total, 16)
    return bool(total.item() == 64)


def _races_points() -> bool:
    a, b = torch.arange(16.0), torch.zeros(32)
    upsample_divided[(1,)](a, b, 16)
    return bool(torch.equal(b[::2], a))


def _races_matrices() -> bool:
    a, b = torch.arange(256.0).reshape(16, 16), torch.zeros(16, 16)
    square_of_stored_tile[(1,)](a, torch.zeros(16, 16), b, 16)
    return bool(torch.equal(b, a.T @ a))


def _races_copies() -> bool:
    b = torch.zeros(32)
    overlapping_boxes[(2,)](TensorDescriptor.from_tensor(b, [16]), 16)
    return bool(torch.equal(b, torch.tensor([1.0] * 16 + [2.0] * 16)))


def _uninitialised() -> bool:
    torch.use_deterministic_algorithms(True)  # What torch.empty returns is then filled with NaN.
    a, total = torch.ones(16), torch.empty(16)
    add_to_unwritten[(1,)](a, total, 16)
    return bool(torch.equal(total, a))


def _divergence() -> bool:
    a, b = torch.arange(16.0) - 8, torch.zeros(16)
    barrier_for_some[(1,)](a, b, 16)
    return bool(torch.equal(a, b))


def _uniformity() -> bool:
    a, b = torch.arange(16.0), torch.zeros(16)
    coordinate_of_each[(1,)](TensorDescriptor.from_tensor(a, [16]), b, 16)
    return bool(torch.equal(a, b))


def _sizes() -> bool:
    c = torch.zeros(16, 16)
    product_of_other_sizes[(1,)](torch.ones(16, 32), torch.ones(16, 16), c, 16, 32)
    return bool((c == 16).all())


def _layouts() -> bool:
    a, b = torch.arange(128.0).reshape(8, 16), torch.zeros(8, 16)
    copy_with_strides[(1,)](a, b, a.stride(1), 8, 16)
    return bool(torch.equal(a, b))


def _scopes() -> bool:
    total = torch.zeros(1)
    parts, count = torch.zeros(4), torch.zeros(1, dtype=torch.int32)
    last_program_relaxed[(4,)](torch.ones(64), parts, count, total, 4, 16)
    return bool(total.item() == 64)


def _promises() -> bool:
    b = torch.zeros(40)
    assumed_multiple[(3,)](torch.ones(40), b, 40, 16)
    return bool((b == 2).all())


LAUNCHES: dict[str, tuple[str, Callable[[], bool]]] = {
    "bounds": ("double_past_the_end", _bounds),
    "views": ("box_of_a_longer_tensor", _views),
    "races_local": ("reverse_without_barrier", _races_local),
    "races_global": ("total_without_atomics", _races_global),
    "races_points": ("upsample_divided", _races_points),
    "races_matrices": ("square_of_stored_tile", _races_matrices),
    "races_copies": ("overlapping_boxes", _races_copies),
    "uninitialised": ("add_to_unwritten", _uninitialised),
    "divergence": ("barrier_for_some", _divergence),
    "uniformity": ("coordinate_of_each", _uniformity),
    "sizes": ("product_of_other_sizes", _sizes),
    "layouts": ("copy_with_strides", _layouts),
    "scopes": ("last_program_relaxed", _scopes),
    "promises": ("assumed_multiple", _promises),
}
"""The name of the wrong kernel of each class, and its launch."""
