"""A kernel as a SPIR-V module, and what a launch must know of it (docs/design/vulkan.md, "The interface")."""

from __future__ import annotations

from typing import Literal

from girih.back.llvm.lower.sites import Site
from girih.diagnostics import Diagnostic
from girih.ir.core import Function
from girih.lazy_dataclass import dataclass
from girih.spirv.module import Module

BindingKind = Literal["memref", "group", "parameters", "findings"]
MemberKind = Literal["value", "size", "stride", "associated", "address"]


@dataclass(frozen=True, slots=True)
class EmittedBinding:
    """A storage buffer of set 0. `parameter` counts the function's parameters; None for `parameters` and `findings`."""

    binding: int
    kind: BindingKind
    parameter: int | None = None
    written: bool = True


@dataclass(frozen=True, slots=True)
class EmittedMember:
    """A member of the push constants, or of the parameter buffer.

    `type` is i32, i64, float or double, little-endian at `offset` bytes. `what` is `value` (`part` 0, or 1 for an
    imaginary part), `size` or `stride` of mode `part`, in elements, the `size` of a group with `part` 0,
    `associated`, or the `address` that the caller's array has, for comparing it with those of others.
    """

    name: str
    type: str
    offset: int
    parameter: int
    what: MemberKind
    part: int = 0


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel as a valid module with the entry point `entry`; `wide` says that indices have 64 bits everywhere.

    `sites` are the checks by their number in the findings record (`girih.back.spirv.machine.record`).
    """

    function: Function
    module: Module
    entry: str
    local_size: int
    subgroup_size: int
    shared_bytes: int
    wide: bool
    bindings: tuple[EmittedBinding, ...]
    members: tuple[EmittedMember, ...]
    member_bytes: int
    members_in_buffer: bool
    sites: tuple[Site, ...]
    remarks: tuple[Diagnostic, ...] = ()
