"""Which kernels are compiled as tile programs, and what is remarked about it."""

from __future__ import annotations

from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.facts import remarks as words
from girih.facts.remarks import Remarks
from girih.ir.core import Function
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
    try:
        kernel = tile_kernel(function, checks=checks, maps=variant.engine)
    except NoTileProgram as reason:
        remarks.note(words.no_tile_program(reason.reason, reason.hint), reason.span)
        return None
    remarks.note(words.tile_program(_described(kernel)), function.span)
    for one in dict.fromkeys(kernel.slower):
        remarks.note(words.gathered_tile(one.reason, one.hint), one.span)
    return kernel


def _described(kernel: TileKernel) -> str:
    """What a tile kernel consists of, in words."""
    consumers = kernel.consumers.warpgroups
    parts = [f"{consumers} {'group' if consumers == 1 else 'groups'} of 128 work-items compute"]
    for ring in kernel.rings:
        tiles = " and ".join(f"{tile.component} {tile.lines}x{tile.span}" for tile in ring.tiles)
        parts.append(f"{ring.slots} slots of {-(-ring.slot_bytes // _KIB)} KiB for {tiles}")
    names = dict.fromkeys(f"%{kernel.function.parameters[one.parameter].name}" for one in kernel.maps)
    return "; ".join([*parts, f"maps of {', '.join(names)}" if names else "no maps"])
