"""Tile programs executed by the machine for PTX: every thread, copy and product, as the code that LLVM makes says."""

from __future__ import annotations

from typing import Any

import numpy as np

from girih.addressing import BoundTensorMap
from girih.arguments.arrays import accept, specifications
from girih.back.llvm.lower.launch.record import RECORD_BYTES
from girih.back.llvm.nvptx.machine.kernel import MAP_BYTES, PtxKernel
from girih.ir.core import Function
from girih.runtime.cuda.recipes import made_maps
from tests.back.harness import Array, Failed, packed_arguments
from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule

MULTIPROCESSORS = 2
"""Those of a device, so many as to see that a CTA executes several work-groups."""


def execute(
    function: Function, kernel: PtxKernel, grid: tuple[int, int, int], *arguments: Any,
    copies: str = "at_once", seed: int | None = None,
) -> LaunchRecord:  # fmt: skip
    """Execute a tile program. Raises `Failed` for what a check finds, and the machine's `Fault` and `Deadlock`."""
    record = np.zeros(RECORD_BYTES // 8, np.int64)
    keep: list[Any] = [record]
    slots = packed_arguments(function, grid, arguments, record, keep)
    first = np.zeros(kernel.parameter_bytes, np.uint8)
    first[: slots.nbytes] = slots.view(np.uint8)
    maps = {}
    accepted = accept(specifications(function), arguments)
    for number, made in enumerate(made_maps(kernel, accepted)):
        stands_for = np.full(MAP_BYTES, 0xA0 + number, np.uint8)
        first[made.offset :][:MAP_BYTES] = stands_for
        array: Array = arguments[made.parameter]
        maps[stands_for.tobytes()] = BoundTensorMap(made.tensor_map, array)
    given = np.concatenate([first, slots[list(kernel.pointers)].view(np.uint8)])
    done = PtxModule.parse(kernel.ptx).launch(
        kernel.entry, kernel.ctas(grid, MULTIPROCESSORS), kernel.threads, given, kernel.shared_bytes, memory=keep,
        maps=maps, copies=copies, seed=seed,
    )  # fmt: skip
    if record[0]:
        site = kernel.sites[int(record.view(np.int32)[1])]
        count = site.index_count + site.shape_count
        raise Failed(site.code, site.argument, [int(v) for v in record[4 : 4 + count]], site.message)
    return done
