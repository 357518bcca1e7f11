"""Which kernels are compiled as tile programs, and what is remarked about it."""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.facts import remarks as words
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.tile.budget import MOST_SHARED_BYTES
from girih.tile.form import TileKernel
from girih.tile.program import NoTileProgram, has_matrices
from girih.tile.recognise import tile_kernel

_KIB = 1024


def chosen_tile_kernel(
    function: Function, architecture: NvidiaArchitecture, variant: CudaVariant, remarks: Remarks, *, checks: bool
) -> TileKernel | None:
    """The tile kernel that a kernel is compiled as; None where it is none, or the variant or architecture has none."""
    if not variant.tile or not architecture.wide_products or not has_matrices(function):
        return None
    if not any(isinstance(op, CooperativeMatrixMulAdd) for op in function.walk()):
        return None  # Matrices without products are flat, or the remark `cuda.matrix` says why they are not.
    try:
        kernel = tile_kernel(function, checks=checks, maps=variant.engine, sent=variant.sent)
    except NoTileProgram as reason:
        remarks.note(words.no_tile_program(reason.reason, reason.hint), reason.span)
        return None
    remarks.note(words.tile_program(_described(kernel)), function.span)
    for one in dict.fromkeys(kernel.slower):
        remarks.note(words.gathered_tile(one.reason, one.hint), one.span)
    for hint, taken, why in _not_followed(kernel):
        remarks.note(words.hint_not_followed(hint, taken, why), function.span)
    return kernel


def _not_followed(kernel: TileKernel) -> Iterator[tuple[str, str, str]]:
    """The hints that a kernel does not follow, what is taken, and why."""
    hints, consumers = kernel.function.hints("hopper"), kernel.consumers.warpgroups
    stages, slots = hints.get("stages"), max((ring.slots for ring in kernel.rings), default=1)
    if isinstance(stages, int) and slots > 1 and stages != slots:
        bytes = sum(ring.slot_bytes for ring in kernel.rings if ring.slots > 1)
        why = f"a stage takes {bytes} of {MOST_SHARED_BYTES} bytes of shared memory"
        why = why if stages > 1 else "one is computed with while the next comes"
        yield f"stages={stages}", f"{slots} are taken", why
    asked = hints.get("consumers")
    if isinstance(asked, int) and asked != consumers:
        why = f"rows of matrices are no multiples of {64 * asked}, or registers do not suffice"
        yield f"consumers={asked}", f"{consumers} are taken", why
    cluster = hints.get("cluster")
    if isinstance(cluster, tuple) and any(size != 1 for size in cluster):
        yield f"cluster={list(cluster)}", "each loads for itself", "work-groups do not share what they load"


def _described(kernel: TileKernel) -> str:
    """What a tile kernel consists of, in words."""
    consumers = kernel.consumers.warpgroups
    parts = [f"{consumers} {'group' if consumers == 1 else 'groups'} of 128 work-items compute"]
    for ring in kernel.rings:
        tiles = " and ".join(f"{tile.component} {tile.lines}x{tile.span}" for tile in ring.tiles)
        parts.append(f"{ring.slots} slots of {-(-ring.slot_bytes // _KIB)} KiB for {tiles}")
    names = dict.fromkeys(f"%{kernel.function.parameters[one.parameter].name}" for one in kernel.maps)
    return "; ".join([*parts, f"maps of {', '.join(names)}" if names else "no maps"])
