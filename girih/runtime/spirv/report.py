"""The codes of what can be wrong with the launch of a shader, and the list in which it is collected."""

from __future__ import annotations

from dataclasses import field

from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE
from girih.spirv.model.declared.bindings import ShaderResource

SHADER_BIND_CODES: dict[str, str] = {
    "bind.shader_arguments": "a shader takes one dictionary of its buffers, push_constants=... and buffers=...",
    "bind.binding_key": "a buffer is named by a tuple (set, binding), or by a name that one binding has",
    "bind.binding_missing": "every buffer that the shader names must be given",
    "bind.binding_unknown": "a key must name a binding of the shader",
    "bind.buffer": "a buffer is an array, a girih.Buffer or a dictionary of its members, an array of buffers a list",
    "bind.buffer_size": "a buffer must hold its block, and whole elements of the array at its end",
    "bind.buffer_layout": "the bytes of a buffer must lie side by side",
    "bind.buffer_alignment": "a buffer must begin at a multiple of 16 bytes",
    "bind.buffer_read_only": "a buffer that the shader writes must be writeable",
    "bind.buffer_count": "an array of buffers must have as many as the shader declares",
    "bind.member": "a dictionary must have each member of the block, with a value of the member's type",
    "bind.push_constants": "push constants must have the size of their block",
    "bind.addresses": "buffers=... is for shaders that take buffers by address",
    "bind.work_groups": "a shader runs on at least one work-group, and on fewer than 2^32 work-items along each axis",
}
"""What is asked of the launch of a shader, beside what `girih.arguments.report` has."""


@dataclass(slots=True)
class ShaderReport:
    """The diagnostics of one launch."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, message: str, hint: str | None = None) -> None:
        """Record one problem. Raises `InternalError` for a code outside `SHADER_BIND_CODES`."""
        if code not in SHADER_BIND_CODES:
            raise InternalError(f"the launch of a shader has no code {code}")
        self.diagnostics.append(Diagnostic(code, message, NOWHERE, hint=hint))

    def finish(self) -> None:
        """Raise `LaunchError` if anything was recorded."""
        if self.diagnostics:
            raise LaunchError(self.diagnostics)


def place_of(resource: ShaderResource, index: int | None = None) -> str:
    """A resource in words, or a buffer of an array: "set 0, binding 1 (`d`)"."""
    named = f" (`{resource.names[0]}`)" if resource.names else ""
    return f"set {resource.set}, binding {resource.binding}{named}{'' if index is None else f', buffer {index}'}"


def described(resource: ShaderResource) -> str:
    """A resource with its size in words: "set 0, binding 1 (`d`: 64-byte elements)"."""
    sizes = [f"{one.fixed_bytes} bytes" for one in resource.variables if one.step is None]
    heads = [f"{one.fixed_bytes} bytes and " if one.fixed_bytes else "" for one in resource.variables]
    sizes += [
        f"{head}{one.step}-byte elements" for head, one in zip(heads, resource.variables, strict=True) if one.step
    ]
    many = "" if not resource.is_array else f"{resource.count or 'an array of'} buffers of "
    names = f"`{resource.names[0]}`: " if resource.names else ""
    only = ", read-only" if resource.read_only else ""
    return f"set {resource.set}, binding {resource.binding} ({names}{many}{' or '.join(dict.fromkeys(sizes))}{only})"
