"""Kernels as SPIR-V modules for Vulkan, run without a device: by girih's own translator of shaders, on arrays.

A kernel of the tensor language is compiled for a profile, the module is judged, read as any shader is, and launched
with buffers as `docs/design/vulkan.md` says. So the whole way out is held against the meaning of the language.

The interpreter of shaders knows races, barriers that not all reach, undefined values and accesses that lie outside a
buffer. A right module has none of these: what is found in one is a defect, `WrongModule`. What the module finds itself,
in its findings record, is `girih.KernelError` as on every target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.api import ShaderKernel
from girih.arguments.arrays import Accepted, GroupClaim, Uninitialized, accept, specifications
from girih.arguments.claims import Claim, clusters
from girih.arguments.memory import strided
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.machine.emitted import EmittedBinding, EmittedKernel
from girih.back.spirv.profiles.profile import Profile
from girih.diagnostics import errors, render_all
from girih.front.spirv.judged import ShaderModule
from girih.ir.core import Dictionary, Entry, Function
from girih.ir.types import GroupType
from girih.runtime.emitted.members import claims_of, group_records, member_block
from girih.runtime.emitted.narrow import suits_narrow
from girih.runtime.emitted.record import RECORD_BYTES, finding_in
from girih.runtime.targets import resolve
from girih.spirv import Module, validate
from girih.spirv.disassemble import disassemble
from tests.spirv import peer

Bytes = NDArray[np.uint8]

PHASE = 128
"""Private memory begins at the address of its original modulo this, in bytes."""

ENVIRONMENT = "vulkan1.3"


class WrongModule(AssertionError):
    """A module that is not valid, or in which the interpreter of shaders finds something, of some `codes`."""

    def __init__(self, message: str, module: Module, codes: frozenset[str] = frozenset()) -> None:
        super().__init__(f"{message}\n{disassemble(module).text}")
        self.codes = codes


class CannotLaunch(Exception):
    """A launch that devices can make and the interpreter cannot, or the other way around."""


class CircleKernel:
    """A kernel of the tensor language on `target`, by way of a module for a profile.

    It takes the narrow module where the arguments of a launch suit that, unless `wide`. Raises `CompileError` for what
    the profile refuses, and `WrongModule`.
    """

    def __init__(
        self,
        function: Function,
        profile: Profile,
        *,
        checks: bool = True,
        wide: bool = False,
        target: str = "interpreter",
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.function, self._profile, self._checks, self._wide = function, profile, checks, wide
        self._target, self._options = target, dict(options or {})
        self._specifications = specifications(function)
        self._modules = {wide: self._module(wide=wide)}

    @property
    def emitted(self) -> EmittedKernel:
        """The module that was asked for, with what a launch must know of it."""
        return self._modules[self._wide].emitted

    def _module(self, *, wide: bool) -> LoadedModule:
        emitted = compile_kernel(self.function, self._profile, checks=self._checks, wide=wide)
        return LoadedModule(emitted, self._target, self._options)

    def __call__(self, grid: tuple[int, int, int], *arguments: object) -> None:
        """Run all work-groups; arrays are changed in place. Raises `KernelError` for what the checks find."""
        accepted = accept(self._specifications, [_unmarked(one) for one in arguments])
        if 0 in grid:
            return
        wide = self._wide or not suits_narrow(self.function, grid, accepted)
        if wide not in self._modules:
            self._modules[wide] = self._module(wide=wide)
        self._modules[wide].launch(grid, accepted)


@dataclass
class LoadedModule:
    """A module that is judged and translated."""

    emitted: EmittedKernel
    target: str = "interpreter"
    options: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def kernel(self) -> ShaderKernel:
        """The kernel that the translator makes of the module, with subgroups of the size that the module asks for."""
        module, resolved = Module.from_bytes(self.emitted.module.to_bytes()), resolve(self.target)
        try:
            translated = ShaderModule(module).translated(self.emitted.entry, resolved.row.limits)
            function = translated.function
            entries = (*function.attributes.entries, Entry("subgroup_size", self._subgroup_size()))
            sized = replace(translated, function=replace(function, attributes=Dictionary(entries)))
            made = ShaderKernel.of_entry_point(sized, resolved.executor(sized.function), resolved)
        except girih.CompileError as error:
            raise WrongModule(str(error), module) from None
        return replace(made, executor=made.executor.with_options(self.options))

    def _subgroup_size(self) -> int:
        """That of the module, or of a work-group which is part of a subgroup. Raises `CannotLaunch` for other parts."""
        size, items = self.emitted.subgroup_size, self.emitted.local_size
        if items % size and (items > size or items.bit_count() > 1):
            raise CannotLaunch(f"work-groups of {items} work-items and subgroups of {size}")
        return min(size, items)

    def launch(self, grid: tuple[int, int, int], accepted: Sequence[Accepted]) -> None:
        """Launch it, and write the results into the caller's arrays."""
        memory = DeviceMemory([claim for item in accepted for claim in claims_of(item)])
        record = np.zeros(RECORD_BYTES, np.uint8)
        members = member_block(self.emitted, accepted)
        bindings: dict[tuple[int, int], object] = {}
        interface = self.kernel.shader.interface
        used = {one.binding for one in interface.resources}
        for one in self.emitted.bindings:
            if one.binding in used:
                bindings[0, one.binding] = self._bound(one, accepted, memory, record, members)
        pushed = members if interface.push_constants else None
        buffers = memory.buffers if interface.has_addresses else None
        try:
            self.kernel[grid](bindings, push_constants=pushed, buffers=buffers)
        except girih.KernelError as error:
            raise WrongModule(str(error), self.emitted.module, frozenset(f.code for f in error.findings)) from None
        memory.write_back()
        finding = finding_in(record.tobytes(), self.emitted)
        if finding is not None:
            raise girih.KernelError([finding])

    def _bound(
        self, one: EmittedBinding, accepted: Sequence[Accepted], memory: DeviceMemory, record: Bytes, members: bytes
    ) -> object:
        """The bytes at a binding."""
        if one.kind == "findings":
            return record
        if one.kind == "parameters":
            return np.frombuffer(members, np.uint8).copy()
        assert one.parameter is not None
        item, type = accepted[one.parameter], self.emitted.function.parameters[one.parameter].type
        if isinstance(item, GroupClaim):
            assert isinstance(type, GroupType)
            records = group_records(type.memref, item, memory.address)
            return np.frombuffer(records or bytes(16), np.uint8).copy()
        assert isinstance(item, Claim)
        return memory.bytes_of(item)


def assert_valid(emitted: EmittedKernel) -> None:
    """Hold that a module is valid for Vulkan 1.3: for girih, and for spirv-val where its wheel is installed."""
    wrong = errors(validate(emitted.module, ENVIRONMENT))
    if wrong:
        raise WrongModule(render_all(wrong), emitted.module)
    try:
        valid, message = peer.validate(emitted.module.to_bytes(), ENVIRONMENT, ("scalar-block-layout",))
    except ImportError:
        return
    if not valid:
        raise WrongModule(f"spirv-val: {message}", emitted.module)


def run_back(emitted: EmittedKernel, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
    """Launch an emitted kernel as a shader of the interpreter; arrays get what the shader wrote."""
    LoadedModule(emitted).launch(grid, accept(specifications(emitted.function), arguments))


class DeviceMemory:
    """The memory of a launch as a device has it: private copies, shared where the caller's arrays share theirs."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = claims
        self._at: dict[int, tuple[Bytes, girih.Buffer, int]] = {}
        self.buffers: list[girih.Buffer] = []
        for cluster in clusters(claims):
            alone = len(cluster.claims) == 1
            phase = 0 if alone else cluster.start % PHASE
            size = -(-(phase + cluster.end - cluster.start) // 4) * 4
            room = np.zeros(size + PHASE, np.uint8)
            content = room[-room.ctypes.data % PHASE :][:size]
            buffer = girih.Buffer(content)
            self.buffers.append(buffer)
            for claim in cluster.claims:
                offset = phase + claim.start - cluster.start
                self._at[id(claim)] = content, buffer, offset
                assert claim.array is not None
                self._elements(claim)[...] = claim.array

    def _elements(self, claim: Claim) -> NDArray[Any]:
        """The elements of an array in its copy."""
        content, _, offset = self._at[id(claim)]
        flat = content[offset : offset + claim.extent * claim.dtype.itemsize].view(claim.dtype)
        return strided(flat, claim.shape, [stride * claim.dtype.itemsize for stride in claim.strides])

    def bytes_of(self, claim: Claim) -> Bytes:
        """The bytes of an array from its first element on, whole words of 4 bytes. Raises `CannotLaunch`."""
        if id(claim) not in self._at:
            return np.zeros(16, np.uint8)
        content, _, offset = self._at[id(claim)]
        if content[offset:].ctypes.data % 16:
            raise CannotLaunch("arguments overlap in memory as no buffers of a device can")
        return content[offset : offset + -(-claim.extent * claim.dtype.itemsize // 4) * 4]

    def address(self, claim: Claim) -> int:
        """The address of an array on the device, 0 for none."""
        if claim.array is None:
            return 0
        if id(claim) not in self._at:
            return self._empty.address
        _, buffer, offset = self._at[id(claim)]
        return buffer.address + offset

    @cached_property
    def _empty(self) -> girih.Buffer:
        """What arrays without elements have as their memory."""
        made = girih.Buffer(np.zeros(16, np.uint8))
        self.buffers.append(made)
        return made

    def write_back(self) -> None:
        """Write the elements of written arrays into the caller's."""
        for claim in self._claims:
            if claim.written and id(claim) in self._at:
                assert claim.array is not None
                np.copyto(claim.array, self._elements(claim))


def _unmarked(value: object) -> object:
    """An argument without marks of uninitialized memory: a device has none."""
    while isinstance(value, Uninitialized):
        value = value.array
    return value
