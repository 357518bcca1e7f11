"""Findings in the words of a shader: invocations by gl_LocalInvocationID, bytes by the members that lie there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from girih.diagnostics import Finding, MemoryAccess
from girih.front.spirv.layout import ByteLayout
from girih.front.spirv.translated import Translated
from girih.rules.row import Undetermined
from girih.spirv.model.declared.bindings import ShaderInterface
from girih.spirv.model.declared.resources import storage_of
from girih.spirv.model.memory.layout import MatrixLayout
from girih.spirv.model.parts import data_type_of
from girih.spirv.types import Matrix, Struct, Type, Vector

_COMPONENTS = "xyzw"

Ids = tuple[int, int, int]


_MEMBER = re.compile(r"\bbuffers\[(\d+)\]")


def in_the_shader(
    translated: Translated, finding: Finding, subgroup_size: int | None, members: Sequence[str] = ()
) -> Finding:
    """The finding with the invocation that it names by subgroup and lane, and the member at the byte that it names.

    `members` are the names of the buffers of a shader that takes addresses, which executors number.
    """
    if members:
        finding = _named(finding, members)
    other = finding.other
    if other is not None:
        other = replace(other, invocation=_invocation(translated, other, subgroup_size))
    member = _member_at(translated.interface, finding)
    message = finding.message if member is None else f"{finding.message}, {member}"
    invocation = _invocation(translated, finding, subgroup_size)
    return replace(finding, message=message, other=other, invocation=invocation)


def _named(finding: Finding, members: Sequence[str]) -> Finding:
    """The finding with names of buffers instead of their numbers."""

    def name(found: re.Match[str]) -> str:
        number = int(found.group(1))
        return members[number] if number < len(members) else found.group(0)

    argument = None if finding.argument is None else _MEMBER.sub(name, finding.argument)
    return replace(finding, message=_MEMBER.sub(name, finding.message), argument=argument)


def _invocation(translated: Translated, who: Finding | MemoryAccess, subgroup_size: int | None) -> Ids | None:
    """The place of a work-item in its work-group; None where it is not one work-item."""
    if who.subgroup is None or who.lane is None or subgroup_size is None:
        return None
    number = who.subgroup * subgroup_size + who.lane
    x, y, _ = translated.local_size
    return number % x, number // x % y, number // (x * y)


def _member_at(interface: ShaderInterface, finding: Finding) -> str | None:
    """What lies at the byte that a finding is about, as GLSL writes it; None where that is not known."""
    if finding.index is None or len(finding.index) != 1 or " byte" not in finding.message or finding.argument is None:
        return None
    facts = interface.facts
    for id, natural in _variables(interface, finding.argument):
        try:
            layout = ByteLayout(facts, natural=natural)
            type = data_type_of(facts, id)
            name = "" if isinstance(type, Struct) and not natural else finding.argument
            found = _path(interface, layout, type, finding.index[0], name)
        except (Undetermined, IndexError):
            continue
        if found:
            return f"`{found}`"
    return None


def _variables(interface: ShaderInterface, name: str) -> Iterable[tuple[int, bool]]:
    """The variables that a memory of a name is, and whether nothing is decorated in them."""
    for resource in interface.resources:
        if not resource.is_array and name in resource.names:
            yield from ((one.id, False) for one in resource.variables)
    for one in interface.facts.instructions:
        called = interface.facts.annotations.names.get(one.result)
        if one.name == "OpVariable" and called == name and storage_of(one) == "Workgroup":
            yield one.result, True


def _path(interface: ShaderInterface, layout: ByteLayout, type: Type, byte: int, name: str) -> str | None:
    """The way to the number in which a byte of a type lies; None for a byte of padding, or behind the end."""
    matrix: MatrixLayout | None = None
    while True:
        match type:
            case Struct():
                step = _member(interface, layout, type, byte)
                if step is None:
                    return None
                called, byte, type, matrix = step
                name = f"{name}.{called}" if name else called
                continue
            case Vector() | Matrix():
                pass
            case _:
                try:
                    layout.element(type)
                except Undetermined:
                    return name or None
        element, count = layout.element(type)
        stride = layout.stride(type, matrix)
        number = byte // stride
        if isinstance(type, Matrix) and matrix is not None and matrix.row_major:
            number, inner = byte % matrix.stride // stride, byte // matrix.stride
            return f"{name}[{number}][{inner}]"
        if number < 0 or (count is not None and number >= count):
            return None
        plain = isinstance(type, Vector) and number < len(_COMPONENTS)
        name += f".{_COMPONENTS[number]}" if plain else f"[{number}]"
        byte, type = byte - number * stride, element


def _member(
    interface: ShaderInterface, layout: ByteLayout, struct: Struct, byte: int
) -> tuple[str, int, Type, MatrixLayout | None] | None:
    """The name of the member at a byte of a struct, the byte in it, its type, and how its matrices lie."""
    placed = [(number, layout.member(struct, number)) for number in range(len(struct.members))]
    before = [(one.offset, number, one) for number, one in placed if one.offset <= byte]
    if not before:
        return None
    _, number, member = max(before, key=lambda one: one[:2])
    name = interface.facts.annotations.member_names.get((struct.id, number)) or f"member{number}"
    return name, byte - member.offset, member.type, member.matrix
