"""Kernels compiled to PTX and launched on the machine that executes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from girih.addressing import BoundTensorMap
from girih.addressing.tensor_map.bound import address_of
from girih.addressing.tensor_map.rules import is_encodable
from girih.analysis.prints import prints_of
from girih.back.llvm.lower.launch.parameters import slot_count
from girih.back.llvm.lower.launch.record import RECORD_BYTES
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import MAP_BYTES, USUAL, CudaVariant, PtxKernel
from girih.ir.core import Function
from girih.ir.types import INDEX, GroupType, MemRef
from girih.runtime.compiled.descriptor import descriptor
from girih.runtime.compiled.printing import PrintRecords
from tests.back.harness import Array, Failed, packed_arguments
from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule

ARCHITECTURE = "sm_90a"
_MOST = 2**31

MULTIPROCESSORS = 2
"""Those of a device, so many as to see that persistent CTAs execute several work-groups."""


@dataclass
class PtxMachineKernel:
    """A kernel ready to be called, in the variants that launches ask for. Raises `Failed` for what a check finds."""

    function: Function
    checks: bool = True
    architecture: str = ARCHITECTURE
    copies: str = "at_once"
    """When asynchronous copies are made, one of `asynchronous.ORDERS`."""
    _made: dict[CudaVariant, tuple[PtxKernel, PtxModule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.variant(USUAL)

    def variant(self, variant: CudaVariant) -> tuple[PtxKernel, PtxModule]:
        """The code of a variant, and the module of its PTX."""
        if variant not in self._made:
            architecture = architecture_named(self.architecture)
            kernel = compile_kernel(self.function, architecture, checks=self.checks, variant=variant)
            self._made[variant] = kernel, PtxModule.parse(kernel.ptx)
        return self._made[variant]

    def variant_remarks(self, variant: CudaVariant = USUAL) -> list[str]:
        """The codes of the remarks on a variant."""
        return [one.code for one in self.variant(variant)[0].remarks]

    def __call__(
        self, grid: tuple[int, int, int], *arguments: Any, schedule: str = "together", seed: int | None = None
    ) -> LaunchRecord:
        """Execute all work-groups, their threads by a schedule, or in an order that a seed draws.

        What is undefined is an error, but behind a finding.
        """
        record = np.zeros(RECORD_BYTES // 8, np.int64)
        keep: list[Any] = [record]
        packed = packed_arguments(self.function, grid, arguments, record, keep)
        disjoint = not any(np.may_share_memory(a, b) for k, a in enumerate(keep) for b in keep[:k])
        engine = all(
            is_encodable(one.tensor_map, self.architecture) for one in arguments if isinstance(one, BoundTensorMap)
        )
        narrow = _fits(self.function, packed)
        kernel, module = self.variant(CudaVariant(narrow=narrow, disjoint=disjoint, engine=engine))
        printed = PrintRecords(self.function) if prints_of(self.function).sites else None
        if printed is not None:
            printed.words[:] = 0
            keep.append(printed.words)
            packed = np.append(packed, np.uint64(printed.address))
        given, maps = self._parameters(kernel, packed, arguments)
        done = module.launch(
            kernel.entry,
            kernel.ctas(grid, MULTIPROCESSORS),
            kernel.threads,
            given,
            kernel.shared_bytes,
            memory=keep,
            maps=maps,
            copies=self.copies,
            schedule=schedule,
            seed=seed,
        )
        if printed is not None:
            printed.lines(grid).write()
        if record[0]:
            site = kernel.sites[int(record.view(np.int32)[1])]
            count = site.index_count + site.shape_count
            raise Failed(site.code, site.argument, [int(v) for v in record[4 : 4 + count]], site.message)
        assert not done.undefined
        return done

    def _parameters(
        self, kernel: PtxKernel, packed: Array, arguments: Sequence[Any]
    ) -> tuple[Array, dict[bytes, BoundTensorMap]]:
        """The bytes of the parameters, and what the bytes of maps among them stand for."""
        first = np.zeros(kernel.parameter_bytes, np.uint8)
        slots = packed.view(np.uint8)
        assert kernel.maps or len(slots) == len(first)
        first[: len(slots)] = slots
        maps = {}
        for place in kernel.maps:
            bound: BoundTensorMap = arguments[place.parameter]
            described = descriptor(bound.tensor_map, address_of(bound.array)).view(np.uint8)
            first[place.offset + MAP_BYTES :][: len(described)] = described
            if place.encoded:
                stands_for = np.full(MAP_BYTES, 0xE0 + place.parameter, np.uint8)
                first[place.offset :][:MAP_BYTES] = stands_for
                maps[stands_for.tobytes()] = bound
        return np.concatenate([first, packed[list(kernel.pointers)].view(np.uint8)]), maps


def _fits(function: Function, packed: Array) -> bool:
    """Whether sizes, strides and numbers of index type fit 32 bits."""
    here = FIRST_PARAMETER
    extents: list[int] = []
    for parameter in function.parameters:
        count = slot_count(parameter.type)
        own = packed[here : here + count].view(np.int64).tolist()
        if isinstance(parameter.type, MemRef | GroupType):
            extents += own[1:]
        elif parameter.type == INDEX:
            extents += own
        here += count
    return all(-_MOST <= one < _MOST for one in extents)
