"""What a module declares, as text or JSON: for who has a blob and wants to know what it is and how to launch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from girih.commands.parts.report import print_json
from girih.commands.spirv.convert import refuse
from girih.commands.spirv.definitions import values_of
from girih.commands.spirv.files import module_of
from girih.diagnostics import CompileError, plural
from girih.rules.row import Undetermined
from girih.spirv.disassemble import generator_of
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.declared.bindings import block_of
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.parts import member_type
from girih.spirv.specialise import constants_of, with_values
from girih.spirv.types import CooperativeMatrix, Pointer, RuntimeArray, Struct, Type

MOST_OPCODES = 12
"""Instructions that the text lists, the most frequent first."""


def show_info(path: str, definitions: Mapping[str, str], *, as_json: bool) -> int:
    """Print what a file's module declares; 1 if the file is no module."""
    try:
        module = with_values(module_of(path)[0], values_of(definitions))
    except CompileError as error:
        return refuse(path, error.diagnostics)
    described = described_module(Facts(module, ENVIRONMENTS["vulkan1.4"]))
    if as_json:
        print_json(described)
    else:
        click.echo("\n".join(lines_of(described)))
    return 0


def described_module(facts: Facts) -> dict[str, Any]:
    """What a module declares, as plain values."""
    module, names = facts.module, facts.annotations.names
    counts = Counter(one.name for one in module.instructions)
    return {
        "version": "{}.{}".format(*module.header.version),
        "generator": generator_of(module.header.generator),
        "bound": module.header.bound,
        "byte_order": module.byte_order,
        "addressing_model": facts.addressing_model or None,
        "memory_model": facts.memory_model or None,
        "capabilities": sorted(facts.declared_capabilities),
        "extensions": sorted(facts.extensions),
        "sets": sorted(module.sets.values()),
        "entry_points": [_entry_point(facts, entry) for entry in facts.entry_points],
        "resources": [one for instruction in module.instructions if (one := _resource(facts, instruction))],
        "specialisation_constants": [
            {
                "spec_id": one.spec_id,
                "name": one.name or None,
                "type": one.type.words if one.type else None,
                "value": one.default,
            }
            for one in constants_of(module)
        ],
        "matrices": sorted({type.words for type in _types(facts) if isinstance(type, CooperativeMatrix)}),
        "functions": [names.get(function.id) or f"%{function.id}" for function in facts.bodies.functions],
        "instructions": dict(counts.most_common()),
    }


def _types(facts: Facts) -> list[Type]:
    made = (facts.declarations.types.get(one.result) for one in facts.instructions if one.result)
    return [type for type in made if type is not None]


def _entry_point(facts: Facts, entry: EntryPoint) -> dict[str, Any]:
    return {
        "name": entry.name,
        "model": entry.model_name,
        "local_size": local_size(facts, entry),
        "modes": [grammar().kinds["ExecutionMode"].name_of(mode.id("mode")) for mode in entry.modes],
    }


def local_size(facts: Facts, entry: EntryPoint) -> list[int] | None:
    """The size of a work-group of an entry point; None where it is not known.

    A constant decorated as WorkgroupSize outranks the execution mode (Vulkan, WorkgroupSize).
    """
    built_in = grammar().kinds["BuiltIn"].value("WorkgroupSize")
    for id, stated in facts.annotations.by_target.items():
        if any(one.name == "BuiltIn" and one.parameters[:1] == (built_in,) for one in stated):
            value = facts.declarations.values.get(id)
            if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
                return [part for part in value if isinstance(part, int)]
    plain, by_id = entry.mode("LocalSize"), entry.mode("LocalSizeId")
    if plain is not None:
        return list(plain.ids("LocalSize"))
    try:
        return [facts.integer(id) for id in by_id.ids("LocalSizeId")] if by_id else None
    except Undetermined:
        return None


def _resource(facts: Facts, one: Instruction) -> dict[str, Any] | None:
    """A variable that a launch binds: its storage class, set and binding, and what it holds."""
    if one.name != "OpVariable" or facts.function_of(one) is not None:
        return None
    type = facts.declarations.types.get(one.result_type)
    if not isinstance(type, Pointer):
        return None
    storage = grammar().kinds["StorageClass"].name_of(type.storage)
    if storage not in ("StorageBuffer", "Uniform", "PushConstant", "UniformConstant", "Workgroup"):
        return None
    held = facts.declarations.types.get(type.pointee_id)
    notes = facts.annotations
    block = block_of(facts, one) if storage in ("StorageBuffer", "Uniform", "PushConstant") else None
    return {
        "name": notes.names.get(one.result) or notes.names.get(type.pointee_id) or f"%{one.result}",
        "storage_class": storage,
        "set": notes.parameter(one.result, "DescriptorSet"),
        "binding": notes.parameter(one.result, "Binding"),
        "type": held.words if held else None,
        "names": list(block.names) if block else [],
        "read_only": block.read_only if block else None,
        "fixed_bytes": block.fixed_bytes if block else None,
        "element_bytes": block.step if block else None,
        "members": _members(facts, block.struct.id if block else type.pointee_id),
    }


def _members(facts: Facts, struct: int) -> list[dict[str, Any]]:
    """The members of a struct with their names, offsets and types."""
    type = facts.declarations.types.get(struct)
    members = (
        [_member_type(facts, type, number) for number in range(len(type.members))] if isinstance(type, Struct) else []
    )
    return [
        {
            "name": facts.annotations.member_names.get((struct, number)),
            "offset": facts.annotations.parameter(struct, "Offset", number),
            "stride": facts.annotations.parameter(member.id, "ArrayStride") if member else None,
            "type": member.words if member else None,
            "unsized": isinstance(member, RuntimeArray),
        }
        for number, member in enumerate(members)
    ]


def _member_type(facts: Facts, struct: Struct, number: int) -> Type | None:
    try:
        return member_type(facts, struct, number)
    except Undetermined:
        return None


def lines_of(described: Mapping[str, Any]) -> list[str]:
    """What a module declares as lines of text."""
    lines = [f"SPIR-V {described['version']}, {described['generator']}, ids below {described['bound']}"]
    models = [described[name] for name in ("addressing_model", "memory_model") if described[name]]
    lines += [f"addresses and memory: {', '.join(models)}"] if models else []
    for entry in described["entry_points"]:
        size = "x".join(map(str, entry["local_size"])) if entry["local_size"] else "not known"
        lines.append(f"entry point {entry['name']}: {entry['model']}, local size {size}")
        lines += [f"  mode {mode}" for mode in entry["modes"] if not mode.startswith("LocalSize")]
    for one in described["resources"]:
        place = "" if one["binding"] is None else f" set {one['set'] or 0}, binding {one['binding']}"
        article = "an" if one["type"].startswith(("array", "8-bit")) else "a"
        lines.append(f"{one['storage_class']}{place}: {one['name']}, {article} {one['type']}{_taken(one)}")
        lines += [_member_line(member) for member in one["members"]]
    named = [(one, f" {one['name']}" if one["name"] else "") for one in described["specialisation_constants"]]
    # Compilers declare the size of a work-group twice under one SpecId.
    lines += dict.fromkeys(f"specialisation constant {one['spec_id']}{name}: {one['type']}, {one['value']}"
                           for one, name in named)  # fmt: skip
    lines += [f"uses {matrix}" for matrix in described["matrices"]]
    lines.append("capabilities: " + ", ".join(described["capabilities"]))
    if described["extensions"]:
        lines.append("extensions: " + ", ".join(described["extensions"]))
    listed = list(described["instructions"].items())
    often = ", ".join(f"{name} {count}" for name, count in listed[:MOST_OPCODES])
    more = f", and {plural(len(listed) - MOST_OPCODES, 'other opcode')}" if len(listed) > MOST_OPCODES else ""
    lines.append(f"{plural(sum(described['instructions'].values()), 'instruction')}: {often}{more}")
    return lines


def _taken(one: Mapping[str, Any]) -> str:
    """What a launch gives for a variable, in words: its bytes, and the names by which it may be called."""
    if one["fixed_bytes"] is None:
        return ""
    sizes = [f"{one['fixed_bytes']} bytes"] if one["fixed_bytes"] or not one["element_bytes"] else []
    sizes += [f"elements of {one['element_bytes']} bytes"] if one["element_bytes"] else []
    only = ", read-only" if one["read_only"] and one["storage_class"] == "StorageBuffer" else ""
    others = [name for name in one["names"] if name != one["name"]]
    called = f", also called {', '.join(others)}" if others and one["binding"] is not None else ""
    return f", {' and '.join(sizes)}{only}{called}"


def _member_line(member: Mapping[str, Any]) -> str:
    offset = "" if member["offset"] is None else f"{member['offset']:>6}  "
    stride = "" if member["stride"] is None else f", {member['stride']} bytes apart"
    return f"  {offset}{member['name'] or '?'}: {member['type']}{stride}"
