"""Decorations and names of a module, by the ids (and members) that they are about (SPIR-V 3.42.3, 3.42.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Decoration:
    """A decoration of an id, or of a member of a struct: its value and name, its parameters, where it stands."""

    value: int
    parameters: tuple[object, ...]
    member: int | None
    instruction: Instruction

    @property
    def name(self) -> str:
        """The name of the decoration, such as `Offset`."""
        return grammar().kinds["Decoration"].name_of(self.value)


@dataclass
class Annotations:
    """All decorations by the id that they are about, groups resolved; names by id."""

    by_target: dict[int, list[Decoration]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)

    def of(self, target: int, name: str | None = None, member: int | None = None) -> Iterator[Decoration]:
        """The decorations of an id that are not about members, or those of one of its members; all, or of a name."""
        wanted = None if name is None else grammar().kinds["Decoration"].value(name)
        for one in self.by_target.get(target, ()):
            if one.member == member and wanted in (None, one.value):
                yield one

    def has(self, target: int, name: str, member: int | None = None) -> bool:
        """Whether an id, or a member of it, has a decoration."""
        return any(self.of(target, name, member))

    def parameter(self, target: int, name: str, member: int | None = None) -> int | None:
        """The number that a decoration such as Offset has; None where there is none."""
        for one in self.of(target, name, member):
            if one.parameters and isinstance(one.parameters[0], int):
                return one.parameters[0]
        return None


def annotations_of(instructions: Iterable[Instruction]) -> Annotations:
    """The decorations and names that instructions state."""
    made = Annotations()
    grouped: list[Instruction] = []
    for one in instructions:
        if one.malformed is not None:
            continue
        match one.name:
            case "OpName":
                made.names.setdefault(one.id("target"), one.text("name"))
            case "OpMemberName":
                made.member_names.setdefault((one.id("type"), one.id("member")), one.text("name"))
            case "OpDecorate" | "OpDecorateId" | "OpDecorateString":
                made.by_target.setdefault(one.id("target"), []).append(_decoration(one, None))
            case "OpMemberDecorate" | "OpMemberDecorateString" | "OpMemberDecorateIdEXT":
                target = one.id("structure_type") or one.id("struct_type")
                made.by_target.setdefault(target, []).append(_decoration(one, one.id("member")))
            case "OpGroupDecorate" | "OpGroupMemberDecorate":
                grouped.append(one)
    for one in grouped:
        _apply_group(made.by_target, one)
    return made


def _decoration(one: Instruction, member: int | None) -> Decoration:
    parameters = one.get("parameters")
    return Decoration(one.id("decoration"), parameters if isinstance(parameters, tuple) else (), member, one)


def _apply_group(by_target: dict[int, list[Decoration]], one: Instruction) -> None:
    group: Mapping[int, list[Decoration]] = by_target
    stated = list(group.get(one.id("decoration_group"), ()))
    targets = one.get("targets")
    for target in targets if isinstance(targets, tuple) else ():
        id, member = target if isinstance(target, tuple) else (target, None)
        by_target.setdefault(id, []).extend(
            Decoration(known.value, known.parameters, member, known.instruction) for known in stated
        )
