"""Names for the ids of a module: after OpName, else after what they are (`float`, `v4float`, `uint_4`), else numbers.

The names are those that SPIRV-Tools gives, so that a text is the same whoever wrote it. No two ids have one name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, string_of
from girih.spirv.literals import NumberType, number_text, number_type
from girih.spirv.module import Module

LONGEST_NAME = 256
"""Bytes of the longest OpName that an id is called by."""

# SPIRV-Tools 2025.5, source/name_mapper.cpp: the names of built-in variables, by the grammar's.
GLSL_NAMES = frozenset((
    "Position", "PointSize", "ClipDistance", "CullDistance", "VertexId", "InstanceId", "PrimitiveId", "InvocationId",
    "Layer", "ViewportIndex", "TessLevelOuter", "TessLevelInner", "TessCoord", "PatchVertices", "FragCoord",
    "PointCoord", "FrontFacing", "SampleId", "SamplePosition", "SampleMask", "FragDepth", "HelperInvocation",
    "NumWorkgroups", "WorkgroupSize", "WorkgroupId", "LocalInvocationId", "GlobalInvocationId", "LocalInvocationIndex",
    "VertexIndex", "InstanceIndex", "BaseInstance",
))  # fmt: skip
"""Built-in variables that are named as in GLSL: `gl_WorkGroupID` for WorkgroupId."""

PLAIN_NAMES = frozenset((
    "WorkDim", "GlobalSize", "EnqueuedWorkgroupSize", "GlobalOffset", "GlobalLinearId", "SubgroupSize",
    "SubgroupMaxSize", "NumSubgroups", "NumEnqueuedSubgroups", "SubgroupId", "SubgroupLocalInvocationId",
    "SubgroupEqMask", "SubgroupGeMask", "SubgroupGtMask", "SubgroupLeMask", "SubgroupLtMask",
))  # fmt: skip
"""Built-in variables that are named as the grammar does; the masks with KHR behind."""

INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
FLOATS = {16: "half", 32: "float", 64: "double"}
ENCODINGS = {
    "BFloat16KHR": "bfloat16", "Float8E4M3EXT": "fp8e4m3", "Float8E5M2EXT": "fp8e5m2", "Float6E2M3EXT": "fp6e2m3",
    "Float6E3M2EXT": "fp6e3m2", "Float4E2M1EXT": "fp4e2m1", "Float8UnsignedE8M0EXT": "fp8e8m0",
    "MXInt8EXT": "mxint8",
}  # fmt: skip
"""Types of numbers by width and by encoding."""


class _Names:
    """One pass over the instructions of a module."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.used: set[str] = set()
        self.numbers: dict[int, NumberType] = {}

    def of(self, number: int) -> str:
        """The name of an id so far."""
        return self.names.get(number, str(number))

    def save(self, number: int, suggested: str) -> None:
        """Call an id by a name, or by one with a number behind where the name is taken."""
        if number in self.names:
            return
        base = name = cleaned(suggested) if _size(suggested) <= LONGEST_NAME else str(number)
        count = 0
        while name in self.used:
            name = f"{base}_{count}"
            count += 1
        self.used.add(name)
        self.names[number] = name


def friendly_names(module: Module) -> Mapping[int, str]:
    """The names of the ids that a module defines or names, without the `%` before them."""
    names = _Names()
    for instruction in module.instructions:
        suggest = None if instruction.malformed else SUGGESTIONS.get(instruction.name)
        if suggest is not None:
            name = suggest(names, instruction)
            if name is not None:
                names.save(instruction.result or instruction.words[0], name)
        elif instruction.result and instruction.result not in names.names:
            names.save(instruction.result, str(instruction.result))
    return names.names


def cleaned(name: str) -> str:
    """A name with an underscore for each byte that is no letter, digit or underscore; `_` for an empty one."""
    if name.isascii():
        return re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    data = name.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else "_" for byte in data)


def _size(name: str) -> int:
    return len(name) if name.isascii() else len(name.encode("utf-8", "surrogateescape"))


def _built_in(_: _Names, instruction: Instruction) -> str | None:
    number = instruction.get("BuiltIn")
    name = grammar().kinds["BuiltIn"].name_of(number) if isinstance(number, int) else ""
    if name in GLSL_NAMES:
        return "gl_" + re.sub("Id$", "ID", name).replace("Workgroup", "WorkGroup")
    if name in PLAIN_NAMES:
        return f"{name}KHR" if name.endswith("Mask") else name
    return None


def _number(names: _Names, instruction: Instruction) -> str:
    kind = number_type(instruction.opcode, instruction.words)
    assert kind is not None
    names.numbers[instruction.result] = kind
    if kind.kind == "float":
        return ENCODINGS.get(kind.encoding) or FLOATS.get(kind.width) or f"fp{kind.width}"
    root = INTEGERS.get(kind.width)
    sign = "u" if kind.kind == "unsigned" else "" if root else "i"
    return sign + (root or str(kind.width))


def _constant(names: _Names, instruction: Instruction) -> str:
    kind = names.numbers.get(instruction.result_type)
    value = number_text(instruction.words[2:], kind) if kind else None
    if value is None:
        return str(instruction.result)
    return f"{names.of(instruction.result_type)}_{value.replace('-', 'n')}"


def _enumerant(kind: str, value: int) -> str:
    return grammar().kinds[kind].name_of(value)


SUGGESTIONS: Mapping[str, Callable[[_Names, Instruction], str | None]] = {
    "OpName": lambda _, i: i.text("name"),
    "OpDecorate": _built_in,
    "OpTypeVoid": lambda _, i: "void",
    "OpTypeBool": lambda _, i: "bool",
    "OpTypeInt": _number,
    "OpTypeFloat": _number,
    "OpTypeVector": lambda names, i: f"v{i.words[2]}{names.of(i.words[1])}",
    "OpTypeMatrix": lambda names, i: f"mat{i.words[2]}{names.of(i.words[1])}",
    "OpTypeArray": lambda names, i: f"_arr_{names.of(i.words[1])}_{names.of(i.words[2])}",
    "OpTypeRuntimeArray": lambda names, i: f"_runtimearr_{names.of(i.words[1])}",
    "OpTypeNodePayloadArrayAMDX": lambda names, i: f"_payloadarr_{names.of(i.words[1])}",
    "OpTypeStruct": lambda _, i: f"_struct_{i.result}",
    "OpTypeOpaque": lambda _, i: f"Opaque_{cleaned(string_of(i.words[1:]))}",
    "OpTypePointer": lambda names, i: f"_ptr_{_enumerant('StorageClass', i.words[1])}_{names.of(i.words[2])}",
    "OpTypeUntypedPointerKHR": lambda _, i: f"_ptr_{_enumerant('StorageClass', i.words[1])}",
    "OpTypePipe": lambda _, i: f"Pipe{_enumerant('AccessQualifier', i.words[1])}",
    "OpTypeEvent": lambda _, i: "Event",
    "OpTypeDeviceEvent": lambda _, i: "DeviceEvent",
    "OpTypeReserveId": lambda _, i: "ReserveId",
    "OpTypeQueue": lambda _, i: "Queue",
    "OpTypePipeStorage": lambda _, i: "PipeStorage",
    "OpTypeNamedBarrier": lambda _, i: "NamedBarrier",
    "OpConstant": _constant,
    "OpConstantTrue": lambda _, i: "true",
    "OpConstantFalse": lambda _, i: "false",
}
"""What names the ids, by opcode: SPIRV-Tools 2025.5, source/name_mapper.cpp. Other results are called by number."""
