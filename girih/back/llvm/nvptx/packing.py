"""Small products of many work-groups, packed: a CTA executes several work-groups, each with threads that suit it.

A kernel whose work-groups do nothing but one small `gemm` each, or one of several alike, has no threads that anybody
could see: no region is executed by single work-items, nothing tells how many there are. So each work-group gets the
threads that its product needs, down to one, and a CTA has as many work-groups as make it large. The order of
work-groups is free. A work-group of at most a warp waits for its own threads only, unless threads of a warp multiply
for several together: then all of the warp stay until its end, and take the same branches.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.lower.code import KernelGeometry
from girih.back.llvm.nvptx.collective.fragments import FragmentProduct
from girih.back.llvm.nvptx.collective.gemm import SmallProduct, fragment_product, small_product
from girih.back.llvm.nvptx.machine.code import WARP, PackedWorkGroups
from girih.ir.core import Function, Region, Value
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select, Unary
from girih.ops.tile.builtin import GroupId, NumGroups
from girih.ops.tile.control import If
from girih.ops.tile.linalg import Gemm
from girih.ops.tile.memory import Associated, Expand, Fuse, Load, Size, Subview

_BEFORE = (
    Binary, Unary, Comparison, Cast, Bitcast, Select, Constant, GroupId, NumGroups,
    Load, Size, Associated, Subview, Expand, Fuse,
)  # fmt: skip
"""What a kernel may have besides its product: what any number of threads computes alike."""

_THREADS = 128
"""The threads of a CTA of several work-groups."""

_MOST_THREADS = 256
"""A product of more tiles is no small one."""

_SHARED_BYTES = 40 * 1024
"""The shared memory of a CTA of several work-groups at most: five of them fill a multiprocessor of 227 KiB."""


def packing_of(function: Function) -> PackedWorkGroups | None:
    """How the work-groups of a kernel are packed; None for other kernels."""
    products = set(_products(function.body))
    product = products.pop() if len(products) == 1 else None
    if product is None:
        return None
    threads = product.threads
    together = isinstance(product, FragmentProduct) and threads < WARP
    if together and not _branches_alike(function):
        threads, together = WARP, False
    if threads > _MOST_THREADS:
        return None
    bytes = product.packed_bytes(threads)
    count = 1 if threads > WARP else max(1, min(_THREADS // threads, _SHARED_BYTES // bytes))
    count = 1 << count.bit_length() - 1
    return PackedWorkGroups(max(count, WARP // threads) if together else count, threads, bytes, together)


def _branches_alike(function: Function) -> bool:
    """Whether all work-groups of a launch take the same branches: no condition depends on which one it is, or on what
    is read, which another one might write."""
    own: set[Value] = set()
    for op in function.walk():
        if isinstance(op, GroupId | Load) or not own.isdisjoint(op.operands):
            own.update(op.results)
            if isinstance(op, If) and op.condition in own:
                return False
    return True


def _products(region: Region) -> Iterator[SmallProduct | FragmentProduct | None]:
    """The products that a region ends with, one or one of several; None for what cannot be packed."""
    *others, last = region.ops or [None]
    if not all(isinstance(op, _BEFORE) for op in others):
        yield None
    elif isinstance(last, Gemm):
        yield fragment_product(last) or small_product(last)
    elif isinstance(last, If) and not last.results and len(last.regions) == 2:
        for branch in last.regions:
            yield from _products(branch)
    else:
        yield None


def packed_geometry(packing: PackedWorkGroups) -> KernelGeometry:
    """The sizes of a packed work-group."""
    return KernelGeometry((packing.threads, 1), min(packing.threads, WARP))
