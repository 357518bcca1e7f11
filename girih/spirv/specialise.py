"""Specialisation (SPIR-V 2.12): values for specialisation constants, and modules in which nothing is left of them.

`with_values` writes values where the defaults stood. `specialised` also makes every specialisation constant a constant,
as an implementation does when it compiles: results of OpSpecConstantOp are computed, and the size of a work-group that
LocalSizeId or a WorkgroupSize object names has numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace

from girih.diagnostics import CompileError, Diagnostic, nearest
from girih.lazy_dataclass import dataclass
from girih.source import Source, Span
from girih.spirv.fold import rounded
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, RawInstruction
from girih.spirv.module import Module
from girih.spirv.types import Bool, Float, Int, Type, Value
from girih.spirv.values import component_type, declarations_of

DEFINITION_CODES = {
    "spirv.definition.unknown": "a definition names a specialisation constant of the module, by SpecId or by OpName",
    "spirv.definition.twice": "a specialisation constant has one definition",
    "spirv.definition.ambiguous": "a name that a definition uses belongs to one specialisation constant",
    "spirv.definition.value": "the value of a definition is one that the constant's type has",
}
"""What is wrong with values for specialisation constants."""


@dataclass(frozen=True, slots=True)
class SpecialisationConstant:
    """A specialisation constant that can be given a value: its id, SpecId, name (empty for none), type and default."""

    id: int
    spec_id: int
    name: str
    type: Type | None
    default: Value | None
    index: int


def constants_of(module: Module) -> tuple[SpecialisationConstant, ...]:
    """The specialisation constants of a module with a SpecId, in the order of their declarations."""
    numbers, names = _spec_ids(module), _names(module)
    declarations = declarations_of(module.instructions)
    return tuple(
        SpecialisationConstant(
            one.result, numbers[one.result], names.get(one.result, ""), declarations.types.get(one.result_type),
            declarations.values.get(one.result), one.index,
        )
        for one in module.instructions
        if one.name in _SETTABLE and one.result in numbers
    )  # fmt: skip


_SETTABLE = frozenset({"OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse"})


def _spec_ids(module: Module) -> Mapping[int, int]:
    kind = grammar().kinds["Decoration"].value("SpecId")
    stated = (one for one in module.instructions if one.name == "OpDecorate" and one.id("decoration") == kind)
    return {one.id("target"): one.id("SpecId") for one in stated if one.malformed is None}


def _names(module: Module) -> Mapping[int, str]:
    return {one.id("target"): one.text("name") for one in module.instructions if one.name == "OpName"}


def with_values(module: Module, definitions: Mapping[int | str, object]) -> Module:
    """The module with other defaults. Raises `CompileError` with all that is wrong with the definitions.

    A definition is of all constants with the same SpecId: compilers declare one for the size of a work-group and
    another for gl_WorkGroupSize.
    """
    known = constants_of(module)
    problems: list[Diagnostic] = []
    given: dict[int, tuple[object, RawInstruction]] = {}
    for name, value in definitions.items():
        try:
            constant = _constant_of(name, known, module.name)
            if constant.id in given:
                first = _shown(given[constant.id][0])
                raise _BadDefinition(
                    "twice", f"one definition of {_shown(name)}", f"{_shown(name)} and {first}", module.name
                )
            for one in _alike(constant, known):
                given[one.id] = (name, _with_value(one, value, _shown(name), module))
        except _BadDefinition as refused:
            problems.append(refused.diagnostic)
    if problems:
        raise CompileError(problems)
    at = {constant.index: given[constant.id][1] for constant in known if constant.id in given}
    return replace(module, raw=tuple(at.get(index, raw) for index, raw in enumerate(module.raw)))


def ids_defined(module: Module, definitions: Mapping[int | str, object]) -> frozenset[int]:
    """The ids of the specialisation constants that definitions are about, which `with_values` has taken."""
    known = constants_of(module)
    return frozenset(one.id for name in definitions for one in _alike(_constant_of(name, known, module.name), known))


def _alike(constant: SpecialisationConstant, known: Iterable[SpecialisationConstant]) -> list[SpecialisationConstant]:
    """The constants with the SpecId of one, which have its value too."""
    return [one for one in known if one.spec_id == constant.spec_id]


class _BadDefinition(Exception):
    """A definition that is refused."""

    def __init__(self, rule: str, expected: str, found: str, name: str, hint: str | None = None) -> None:
        super().__init__(expected)
        nowhere = Span(Source("", name), 0, 0)
        self.diagnostic = Diagnostic(
            f"spirv.definition.{rule}", f"expected: {expected}; found: {found}", nowhere, hint=hint
        )


def _shown(name: object) -> str:
    return f"SpecId {name}" if isinstance(name, int) else repr(name)


def _constant_of(name: int | str, known: Iterable[SpecialisationConstant], module: str) -> SpecialisationConstant:
    """The constant that a SpecId or a name means. Raises `_BadDefinition` where there is none, or several."""
    listed = list(known)
    if isinstance(name, str):
        found = [one for one in listed if one.name == name.removeprefix("%")]
    else:
        found = [one for one in listed if one.spec_id == name and not isinstance(name, bool)]
    if len({one.id for one in found}) == 1 or (found and not isinstance(name, str)):
        return found[0]
    if found:
        ids = ", ".join(str(one.spec_id) for one in found)
        hint = f"they have SpecId {ids}: name one of these"
        raise _BadDefinition(
            "ambiguous", "the name of one specialisation constant", f"{len(found)} named {name}", module, hint
        )
    words = [f"{one.spec_id}" + (f" ({one.name})" if one.name else "") for one in listed]
    told = ", ".join(list(dict.fromkeys(words))[:20])
    close = nearest(name, [one.name for one in listed if one.name]) if isinstance(name, str) else None
    hint = f"did you mean {close!r}?" if close else f"SpecIds of the module: {told or 'none'}"
    raise _BadDefinition("unknown", "a SpecId or the name of a specialisation constant", _shown(name), module, hint)


def _with_value(constant: SpecialisationConstant, value: object, name: str, module: Module) -> RawInstruction:
    """The declaration of a constant with another value. Raises `_BadDefinition` for one that its type does not have."""
    type = constant.type
    number = value.item() if hasattr(value, "item") else value
    if isinstance(type, Bool) and (isinstance(number, bool) or number in (0, 1)):
        opcode = grammar().codes["OpSpecConstantTrue" if number else "OpSpecConstantFalse"]
        return RawInstruction(opcode, module.raw[constant.index].words)
    bits = bits_of_number(number, type) if type and not isinstance(number, bool) else None
    if bits is None:
        words = type.words if type else "a number"
        raise _BadDefinition("value", f"{words} for {name}{_range(type)}", repr(value), module.name)
    raw = module.raw[constant.index]
    return RawInstruction(raw.opcode, (*raw.words[:2], *bits))


def _range(type: Type | None) -> str:
    if not isinstance(type, Int):
        return ""
    least = -(1 << type.width - 1) if type.signed else 0
    return f", from {least} to {least + (1 << type.width) - 1}"


def bits_of_number(number: object, type: Type) -> tuple[int, ...] | None:
    """The words of a literal of a type; None where the type does not have the number."""
    if isinstance(type, Int):
        if not isinstance(number, int):
            return None
        least = -(1 << type.width - 1) if type.signed else 0
        if not least <= number < least + (1 << type.width):
            return None
        bits = number & (1 << max(type.width, 32)) - 1
        return (bits & 0xFFFFFFFF,) if type.width <= 32 else (bits & 0xFFFFFFFF, bits >> 32)
    if isinstance(type, Float) and type.encoding is None and isinstance(number, int | float):
        value = rounded(float(number), type.width)
        formats = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
        if value is None:
            return None
        as_float, as_bits = formats[type.width]
        bits = struct.unpack(as_bits, struct.pack(as_float, value))[0]
        return (bits & 0xFFFFFFFF,) if type.width <= 32 else (bits & 0xFFFFFFFF, bits >> 32)
    return None


def specialised(module: Module, definitions: Mapping[int | str, object]) -> Module:
    """The module as it is compiled: no specialisation constant is left, those without a definition have their default.

    What has no value, such as a division by zero, stays an OpSpecConstantOp. Raises `CompileError` with all that is
    wrong with the definitions.
    """
    set_up = with_values(module, definitions)
    return _Frozen(set_up).module()


_PLAIN = {
    "OpSpecConstantTrue": "OpConstantTrue", "OpSpecConstantFalse": "OpConstantFalse", "OpSpecConstant": "OpConstant",
    "OpSpecConstantComposite": "OpConstantComposite",
    "OpSpecConstantCompositeReplicateEXT": "OpConstantCompositeReplicateEXT",
}  # fmt: skip


class _Frozen:
    """A module whose specialisation constants become constants."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._declarations = declarations_of(module.instructions)
        self._bound = module.header.bound
        self._made: dict[tuple[int, str], int] = {}
        self._raw: list[RawInstruction] = []
        self._open: set[int] = set()

    def module(self) -> Module:
        """The module."""
        spec_id = grammar().kinds["Decoration"].value("SpecId")
        for one in self._module.instructions:
            raw = self._module.raw[one.index]
            if one.name == "OpSpecConstantOp":
                self._operation(one, raw)
            elif one.name in _PLAIN and self._open.isdisjoint(raw.words[2:]):
                self._raw.append(RawInstruction(grammar().codes[_PLAIN[one.name]], raw.words))
            elif one.name in _PLAIN:  # A constituent stays a specialisation constant, and so does the composite.
                self._open.add(one.result)
                self._raw.append(raw)
            elif one.name != "OpDecorate" or one.id("decoration") != spec_id or one.malformed is not None:
                self._raw.append(raw)
        header = self._module.header._replace(bound=self._bound)
        return replace(self._module, header=header, raw=tuple(self._raw), listing=None)

    def _operation(self, one: Instruction, raw: RawInstruction) -> None:
        type, value = self._declarations.types.get(one.result_type), self._declarations.values.get(one.result)
        made = None if type is None or value is None else self._constant(one.result, type, value)
        if made is None:
            self._open.add(one.result)
        self._raw.append(made or raw)

    def _constant(self, id: int, type: Type, value: Value) -> RawInstruction | None:
        """The declaration of a constant of a value, after those of its parts; None where a part has no value."""
        codes = grammar().codes
        if isinstance(type, Bool):
            return RawInstruction(codes["OpConstantTrue" if value else "OpConstantFalse"], (type.id, id))
        if not isinstance(value, tuple):
            bits = bits_of_number(value, type)
            return None if bits is None else RawInstruction(codes["OpConstant"], (type.id, id, *bits))
        parts = []
        for index, part in enumerate(value):
            of = component_type(type, index)
            made = None if of is None or part is None else self._part(of, part)
            if made is None:
                return None
            parts.append(made)
        return RawInstruction(codes["OpConstantComposite"], (type.id, id, *parts))

    def _part(self, type: Type, value: Value) -> int | None:
        """The id of a constant that is a part of another, declared where there is none yet."""
        key = (type.id, repr(value))  # Two zeros of different sign are equal, and NaN is not.
        if key not in self._made:
            id, self._bound = self._bound, self._bound + 1
            made = self._constant(id, type, value)
            if made is None:
                return None
            self._raw.append(made)
            self._made[key] = id
        return self._made[key]
