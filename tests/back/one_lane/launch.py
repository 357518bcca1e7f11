"""Launches on the one-lane machine: work-items run in turn, each until it waits, and on when all have come."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from girih.back.llvm.lower.sites import Site
from girih.ir.core import Function
from tests.back.harness import HOST, Failed, packed_arguments, target_machine
from tests.back.one_lane.machine import TOGETHER, WIDEST, Lowered, lower


class Stuck(Exception):
    """Work-items wait for different instructions, in code without checks."""


@lru_cache(maxsize=32)
def linked(text: str) -> llvm.ExecutionEngine:
    """The code of a text, made in a hurry; of LLVM's passes only those run that split coroutines."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = target_machine(opt=0)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@dataclass
class Entries:
    """The functions of a kernel."""

    begin: Any
    resume: Any
    done: Any
    destroy: Any

    @staticmethod
    def of(engine: llvm.ExecutionEngine, symbol: str) -> Entries:
        """Those of linked code."""
        begins = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        acts = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        asks = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
        address = engine.get_function_address
        return Entries(
            begins(address(symbol)), acts(address("resume")), asks(address("done")), acts(address("destroy"))
        )


class OneLaneKernel:
    """A kernel ready to be called. Raises `Failed` for what a check finds."""

    def __init__(self, function: Function, *, checks: bool = True) -> None:
        self.function, self.checks = function, checks
        self.lowered = self._lowered()
        self._engine = linked(self.lowered.text)
        self._entries = Entries.of(self._engine, self.lowered.symbol)

    def _lowered(self) -> Lowered:
        return lower(self.function, HOST.features, checks=self.checks)

    def __call__(self, grid: tuple[int, int, int], *arguments: Any) -> None:
        """Run all work-groups on this thread."""
        record = np.zeros(32, np.int64)
        keep: list[Any] = [record]
        packed = packed_arguments(self.function, grid, arguments, record, keep)
        for number in range(grid[0] * grid[1] * grid[2]):
            place = (number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1])
            group = _WorkGroup(self.lowered, self._entries, packed, record, (*place, number), self.checks)
            group.run()
            if record[0]:
                raise _failure(self.lowered.sites[int(record.view(np.int32)[1])], record)


def _failure(site: Site, record: NDArray[np.int64]) -> Failed:
    count = site.index_count + site.shape_count
    return Failed(site.code, site.argument, [int(v) for v in record[4 : 4 + count]], site.message)


@dataclass
class _WorkGroup:
    """The work-items of a work-group while they are executed."""

    lowered: Lowered
    entries: Entries
    arguments: NDArray[np.uint64]
    record: NDArray[np.int64]
    place: tuple[int, int, int, int]
    checks: bool
    handles: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Execute them until all are through, or one has found something."""
        geometry = self.lowered.geometry
        threads, size = geometry.subgroups * geometry.subgroup_size, geometry.subgroup_size
        local = _aligned(self.lowered.local_bytes)
        exchange = np.zeros(threads * WIDEST, np.uint8)
        self.waiting = np.zeros(threads, np.int64)
        shared = [_aligned(size) for size in self.lowered.shared_bytes]
        memory: tuple[NDArray[Any], ...] = (self.arguments, local, exchange, self.waiting, *shared)
        context = np.array([*(one.ctypes.data for one in memory), *self.place], np.int64)
        self.handles = [self.entries.begin(context.ctypes.data, thread) for thread in range(threads)]
        self.subgroups = [range(first, first + size) for first in range(0, threads, size)]
        turn = 1
        while not self.record[0] and not all(map(self.entries.done, self.handles)):
            for thread in self._ready()[::turn]:
                self.entries.resume(self.handles[thread])
            turn = -turn
        for handle in self.handles:
            self.entries.destroy(handle)

    def _ready(self) -> list[int]:
        """The work-items of subgroups that wait for themselves; where there are none, all of the work-group."""
        waits = [set(map(int, self.waiting[subgroup.start : subgroup.stop])) for subgroup in self.subgroups]
        alone = [subgroup for subgroup, some in zip(self.subgroups, waits, strict=True) if min(some) % 2 == 0]
        meeting = max(waits, key=len) if alone else set[int]().union(*waits)
        if len(meeting) > 1:
            self._diverged(meeting)
            return []
        return [thread for subgroup in alone or self.subgroups for thread in subgroup]

    def _diverged(self, waits: set[int]) -> None:
        """Record that some wait for an instruction to which others do not come."""
        site = max(waits) >> 1
        if not self.checks or site == TOGETHER:
            raise Stuck(f"{self.place}: {sorted(waits)}")
        words = self.record.view(np.int32)
        words[0], words[1] = 2, site
        self.record[1:4] = (self.place[3], -1, -1)


def _aligned(size: int) -> NDArray[np.uint8]:
    """Bytes at an address that suits local memory, of nothing in particular."""
    room = np.full(size + 1024, 0xA5, np.uint8)
    begin = -room.ctypes.data % 1024
    return room[begin : begin + size]
