"""A kernel that is launched on GPUs: compiled for each when a launch needs it, bound to arguments, run, and judged."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from math import prod
from threading import Lock
from typing import TYPE_CHECKING

from girih.analysis.prints import prints_of
from girih.arguments import arrays
from girih.arguments.arrays import Accepted, MapClaim, claims_of
from girih.arguments.claims import Claim
from girih.arguments.grid import grid_of_shapes
from girih.arguments.report import DeviceReach
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.kernel import GATHERED, LINED, TILE, USUAL, CudaVariant, PtxKernel, usual_variant
from girih.diagnostics import Diagnostic, KernelError, LaunchError
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled import slots
from girih.runtime.compiled.printing import PrintRecords
from girih.runtime.cuda.architectures import architecture_on
from girih.runtime.cuda.code.assembler import NO_ASSEMBLER
from girih.runtime.cuda.code.kept import CompiledFor, machine_code, ptx_kernel
from girih.runtime.cuda.copies.lines import CopyOf, NoRoomError, copied_lines
from girih.runtime.cuda.crowd import shared_bytes_of
from girih.runtime.cuda.depth import has_room, keeps_sums, sums_of_parts
from girih.runtime.cuda.device import CudaDevice, LoadedKernel
from girih.runtime.cuda.driver import call
from girih.runtime.cuda.memory import FailureRecord, relaxed_capture
from girih.runtime.cuda.place import LaunchPlace, place_of
from girih.runtime.cuda.quick import PlannedLaunch, QuickCalls
from girih.runtime.cuda.regions import CopiedMemory, ResidentMemory
from girih.runtime.cuda.report import CAPTURE_HINT, DEFAULT_STREAM_HINT, faults_in_words, refuse
from girih.runtime.cuda.streams import KernelRecord, is_capturing, streams_with
from girih.runtime.cuda.variant import (
    MOST_X,
    Grid,
    LaunchDepth,
    SmallerTiles,
    hardware_grid,
    parts_of_work_groups,
    shares_of_launch,
    variant_of,
)

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.runtime.cuda.tensor_maps import MadeMap


@dataclass(slots=True, eq=False)
class _Call:
    """A launch whose kernel is on the device and whose arguments suit it."""

    place: LaunchPlace
    loaded: LoadedKernel
    grid: Grid
    asked: Grid
    accepted: Sequence[Accepted]
    given: Sequence[object]
    variant: CudaVariant
    made: Sequence[MadeMap] = ()

    @property
    def copies(self) -> bool:
        """Whether lines of arrays are copied for the launch."""
        return any(one.copy is not None for one in self.made)

    @property
    def work_groups(self) -> int:
        """What CTAs execute, parts of their depth taken together."""
        return prod(self.grid) * prod(self.loaded.kernel.parts)

    @property
    def shared_bytes(self) -> int:
        """The shared memory of each CTA that is asked for."""
        return shared_bytes_of(self.loaded.kernel, self.place.device, self.grid, self.accepted)

    def launch(
        self, record: FailureRecord, memory: slots.SlotMemory, types: Sequence[Type], prints: int = 0
    ) -> slots.Slots:
        """The slots with which the driver was asked for the launch. Raises `CudaFault`."""
        kernel = self.loaded.kernel
        with ExitStack() as stack:
            after = (prints,) if prints else ()
            if kernel.depth_parts > 1:
                after = (stack.enter_context(sums_of_parts(self.place.stream, kernel, self.work_groups)),)
            filled = slots.fill(types, self.accepted, after, memory)
            filled.words[:4] = [*self.grid, record.device]
            if kernel.maps or self.made:
                from girih.runtime.cuda.tensor_maps import with_maps

                copies = stack.enter_context(self._copies(memory)) if self.copies else {}
                filled.words = with_maps(kernel, filled.words, self.accepted, memory.array, self.made, copies)
            self._ask(filled)
        return filled

    def _copies(self, memory: slots.SlotMemory) -> AbstractContextManager[Mapping[CopyOf, int]]:
        """Copies of lines of arrays, while the stream is asked for the launch."""
        wanted = {}
        for one in self.made:
            item = self.accepted[one.parameter]
            assert isinstance(item, Claim), "maps are made of arrays"
            if one.copy is not None:
                wanted[one.parameter, one.copy] = memory.array(item)
        return copied_lines(self.place.device.number, self.place.stream.handle, wanted)

    def _ask(self, filled: slots.Slots) -> None:
        kernel = self.loaded.kernel
        assert filled.words.nbytes == kernel.parameter_bytes, "the kernel has the slots that are filled"
        begin = filled.address
        listed = [begin, *(begin + 8 * number for number in kernel.pointers)]
        parameters = (ctypes.c_void_p * len(listed))(*listed)
        ctas = kernel.ctas(self.asked, self.place.device.multiprocessors)
        call("cuLaunchKernel", self.loaded.handle, *ctas, kernel.threads, 1, 1, self.shared_bytes,
             self.place.stream.handle, ctypes.addressof(parameters), 0)  # fmt: skip


class CudaKernel:
    """A kernel on GPUs of this machine, by what is behind the colon of its target.

    That is the number of a GPU, an architecture, or nothing; without a number it is launched on the GPU of its arrays,
    or else on the calling thread's.
    """

    def __init__(self, function: Function, name: str, checks: str, limits: DeviceLimits) -> None:
        self.function = function
        self.number = int(name) if name.isdecimal() else None
        self._name, self._checks, self._limits = name, checks, limits
        self._specs = arrays.specifications(function)
        self._types = [p.type for p in function.parameters]
        self._prints = bool(prints_of(function).sites)
        self._kernels: dict[tuple[str, CudaVariant], PtxKernel] = {}
        self._loaded: dict[tuple[CudaDevice, CudaVariant], LoadedKernel] = {}
        self._lock = Lock()
        self.tile: tuple[int, int] = (1, 1)
        self.smaller: tuple[SmallerTiles, ...] = ()
        """Kernels with smaller tiles for launches with few work-groups, and the tile of this one."""
        self.quick = QuickCalls(function, self._specs)
        """Launches that machine code makes, like those that were made here."""

    @property
    def subgroup_size(self) -> int:
        """The subgroup size of launches."""
        return next(iter(self._kernels.values())).subgroup_size

    def compiled(self, architecture: NvidiaArchitecture, variant: CudaVariant = USUAL) -> PtxKernel:
        """The kernel in PTX for an architecture. Raises `CompileError`."""
        key = (architecture.name, variant)
        found = self._kernels.get(key)
        if found is None:
            wanted = CompiledFor(architecture, self._checks, self._limits)
            found = self._kernels[key] = ptx_kernel(self._function_of(variant), wanted, variant)
            if variant == TILE and not found.is_tile_program:
                self._kernels[architecture.name, USUAL] = found
        return found

    def _function_of(self, variant: CudaVariant) -> Function:
        return next((one.function for one in self.smaller if one.parts == variant.parts), self.function)

    def first(self, architecture: NvidiaArchitecture) -> PtxKernel:
        """The kernel as nearly all launches have it. Raises `CompileError`."""
        return self.compiled(architecture, usual_variant(self.function, architecture))

    def tensor_maps(
        self, architecture: NvidiaArchitecture, arguments: Sequence[object], reach: DeviceReach | None
    ) -> Mapping[str, TensorMap]:
        """The maps that a launch with some arguments makes; none where it needs none, or has none.

        Each has the name of its parameter, further ones of a parameter with a number behind it: `A`, `A_2`.
        Raises `LaunchError` for wrong arguments.
        """
        accepted = arrays.accept(self._specs, arguments, reach)
        _, made = self._as_tiles(architecture, (1, 1, 1), variant_of(self.function, (1, 1, 1), accepted), accepted)
        found: dict[str, TensorMap] = {}
        for one in made:
            name, count = self._specs[one.parameter].name, 1
            while (key := name if count == 1 else f"{name}_{count}") in found:
                count += 1
            found[key] = one.tensor_map
        return found

    def launch(self, grid: Grid, arguments: Sequence[object], *, synchronous: bool) -> None:
        """Run the kernel on a grid, where a size may be 0: then nothing runs.

        With arrays of the host, with prints, and where it is asked to be `synchronous` it is waited for, and after a
        finding arrays of the host are as they were. Raises `LaunchError` for wrong arguments and where the device or
        its driver cannot run it, and `KernelError` for what this launch or earlier ones on the same stream have found.
        """
        span = self.function.span
        with faults_in_words(self.function.called, span), relaxed_capture():
            place = place_of(self.number, arguments, span)
            with place.device.current():
                accepted = arrays.accept(self._specs, arguments, place.reach)
                variant, made = self._suited(place.device, grid, accepted)
                asked = hardware_grid(grid, variant)
                if asked is None:
                    message = f"a grid of {grid} has more work-groups than CUDA can count, 2^47"
                    raise LaunchError([Diagnostic("bind.grid", message, span)])
                self._refuse_freed(place, accepted)
                if 0 in grid:
                    return
                place.stream.raise_found(self.function.called)
                for other in place.after:
                    place.stream.follow(other)
                one = _Call(place, self._on(place.device, variant), grid, asked, accepted, arguments, variant, made)
                try:
                    self._run(one, synchronous=synchronous)
                except NoRoomError:
                    self._run(self._without_room(one), synchronous=synchronous)

    def synchronize(self) -> None:
        """Wait for all launches of this kernel, and raise `KernelError` for what was found on their streams."""
        with faults_in_words(self.function.called, self.function.span), relaxed_capture():
            mine = set(self._loaded.values())
            streams = streams_with(lambda loaded: loaded in mine)
            for stream in streams:
                with stream.device.current():
                    stream.wait()
            found = [finding for one in streams for finding in one.take_found()]
            if found:
                raise KernelError(found)

    def _suited(
        self, device: CudaDevice, grid: Grid, accepted: Sequence[Accepted]
    ) -> tuple[CudaVariant, Sequence[MadeMap]]:
        """The variant for a launch on a device, with the maps that it makes if it is that of a tile program.

        Without the engine that copies boxes it is where the device does not know all tensor maps.
        """
        variant = variant_of(self.function, grid, accepted)
        architecture = architecture_on(device, self._name, self.function.span)
        if any(isinstance(item, MapClaim) for item in accepted):
            from girih.runtime.cuda.tensor_maps import are_encodable

            engine = not architecture.copies or are_encodable(accepted, architecture.name)
            return replace(variant, engine=engine), ()
        found, made = self._as_tiles(architecture, grid, variant, accepted)
        return self._in_parts(device, grid, found, accepted) or (found, made)

    def _without_room(self, one: _Call) -> _Call:
        """A launch like another one, but without memory of its own on the device."""
        variant = GATHERED
        made: Sequence[MadeMap] = ()
        if one.variant.depth_parts > 1 and not one.copies:
            from girih.runtime.cuda.recipes import made_maps

            variant = replace(one.variant, depth_parts=1)
            made = made_maps(self._on(one.place.device, variant).kernel, one.accepted)
        return replace(one, loaded=self._on(one.place.device, variant), variant=variant, made=made)

    def _in_parts(
        self, device: CudaDevice, grid: Grid, variant: CudaVariant, accepted: Sequence[Accepted]
    ) -> tuple[CudaVariant, Sequence[MadeMap]] | None:
        """The variant with smaller tiles, or with parts of their depth, and its maps; None where there is no better.

        That is where a launch of a tile program has too few work-groups.
        """
        if not variant.tile or 0 in grid:
            return None
        architecture = architecture_on(device, self._name, self.function.span)
        deep = self.compiled(architecture, TILE).deep
        if not self.smaller and deep is None:
            return None
        counts = [grid_of_shapes(one.function, accepted) for one in self.smaller]
        known = [(one, prod(count)) for one, count in zip(self.smaller, counts, strict=True) if count is not None]
        gathered = not variant.engine
        parts = parts_of_work_groups(prod(grid), self.tile, known, device.multiprocessors, gathered=gathered)
        depth_parts = 1
        if deep is not None and variant.engine:
            from girih.runtime.cuda.recipes import AcceptedNumbers

            depth = LaunchDepth.of(deep, deep.iterations.of(AcceptedNumbers(accepted)))
            listed = {one.parts: (count, one.tile) for one, count in known}
            parts, depth_parts = shares_of_launch(prod(grid), listed, parts, depth, device.multiprocessors)
        of_each = prod(parts) * depth_parts
        if of_each == 1 or prod(grid) * of_each > MOST_X:
            return None
        cut = replace(variant, parts=parts, depth_parts=depth_parts)
        kernel = self.compiled(architecture, cut)
        if not kernel.is_tile_program or not has_room(kernel, prod(grid) * prod(parts), device):
            return None
        from girih.runtime.cuda.recipes import IllegalMapError, made_maps

        try:
            return cut, made_maps(kernel, accepted, copied=not variant.sent)
        except IllegalMapError:
            return None

    def _as_tiles(
        self, architecture: NvidiaArchitecture, grid: Grid, variant: CudaVariant, accepted: Sequence[Accepted]
    ) -> tuple[CudaVariant, Sequence[MadeMap]]:
        """A variant, or that of a tile program: with its maps where all of them are legal, or without any.

        Between the two is what stores without maps, and copies lines of arrays to where a map has them.
        """
        if variant != USUAL or prod(grid) > MOST_X or usual_variant(self.function, architecture) != TILE:
            return variant, ()
        kernel = self.compiled(architecture, TILE)
        if not kernel.is_tile_program:
            return variant, ()
        from girih.runtime.cuda.recipes import IllegalMapError, made_maps

        try:
            return TILE, made_maps(kernel, accepted)
        except IllegalMapError:
            pass
        kernel = self.compiled(architecture, LINED)
        if not kernel.is_tile_program:
            return GATHERED, ()
        try:
            return LINED, made_maps(kernel, accepted, copied=True)
        except IllegalMapError:
            return GATHERED, ()

    def _on(self, device: CudaDevice, variant: CudaVariant) -> LoadedKernel:
        """The kernel on a device, loaded now or before; the device is the thread's current one."""
        key = (device, variant)
        found = self._loaded.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._loaded:
                kernel = self.compiled(architecture_on(device, self._name, self.function.span), variant)
                code = machine_code(kernel, for_device=True)
                if code is None:
                    what = f"there is no assembler for the code of {self.function.called}"
                    refuse("bind.cuda_assembler", what, NO_ASSEMBLER, self.function.span)
                self._loaded[key] = device.load(kernel, code, self.function.span)
            return self._loaded[key]

    def _run(self, one: _Call, *, synchronous: bool) -> None:
        claims = [claim for item in one.accepted for claim in claims_of(item) if claim.array is not None]
        copied = any(claim.extent and not claim.on_device for claim in claims)
        stream = one.place.stream
        if not (copied or self._prints or synchronous or not one.place.has_arrays):
            record = stream.record_of(one.loaded, self.function)
            filled = one.launch(record, ResidentMemory(stream), self._types)
            usual = replace(one.variant, parts=(1, 1), depth_parts=1) in (USUAL, TILE, LINED, GATHERED)
            once = one.variant.depth_parts > 1 and not keeps_sums(stream)
            if usual and not one.copies and not once:
                self.quick.note(
                    PlannedLaunch(stream, one.loaded, one.shared_bytes, filled.words, one.accepted, one.given, one.made)
                )
            return
        if is_capturing(stream.handle):
            why = "copies arrays of the host" if copied else "prints" if self._prints else "is waited for"
            what = f"a CUDA graph cannot have this launch of {self.function.called}: it {why}"
            hint = CAPTURE_HINT if stream.handle else f"{CAPTURE_HINT}; {DEFAULT_STREAM_HINT}"
            refuse("bind.cuda_capture", what, hint, self.function.span)
        record = one.place.device.records.take()
        memory = CopiedMemory(stream, claims)
        try:
            self._run_and_wait(one, record, memory)
        finally:
            memory.release()
            one.place.device.records.give(record)

    def _run_and_wait(self, one: _Call, record: FailureRecord, memory: CopiedMemory) -> None:
        stream = one.place.stream
        printed = PrintRecords(self.function) if self._prints else None
        prints = 0
        if printed is not None:
            prints = memory.take(printed.size)
            call("cuMemsetD8Async", prints, 0, 8, stream.handle)
        try:
            memory.upload()
            one.launch(record, memory, self._types, prints)
        finally:
            # Also after a fault: what was asked for until then still uses the memory.
            stream.wait()
        if printed is not None:
            for size in (8, None):
                call("cuMemcpyDtoHAsync", printed.address, prints, size or printed.written, stream.handle)
                stream.wait()
        found = None if record.is_empty else KernelError([KernelRecord(record, one.loaded, self.function).finding()])
        if found is not None:
            if printed is not None:
                printed.lines(one.grid).write_behind(found)
            raise found
        memory.download()
        if printed is not None:
            printed.lines(one.grid).write()

    def _refuse_freed(self, place: LaunchPlace, accepted: Sequence[Accepted]) -> None:
        """Refuse arrays whose memory is no longer the device's."""
        for claim in (claim for item in accepted for claim in claims_of(item)):
            if claim.on_device and claim.extent and not place.device.has(claim.start):
                message = f"{claim.place}: the memory at its address is not the device's, or was freed"
                refuse(
                    "bind.cuda_freed", message, "keep the array until the launch has been asked for", claim.place.span
                )
