"""All that rules ask of a module, worked out when it is first asked for.

What is not known raises `Undetermined`: the row that asked says nothing then, since another row says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.annotations import Annotations, annotations_of
from girih.spirv.model.environment import BLOCK_LAYOUTS, Environment
from girih.spirv.model.functions import Block, Bodies, Function, bodies_of, called_from
from girih.spirv.module import Module
from girih.spirv.types import Pointer, Type, Value
from girih.spirv.values import Declarations, declarations_of

Made = TypeVar("Made")


class Use(NamedTuple):
    """A use of an id: the instruction, and the operand that refers to it."""

    instruction: Instruction
    operand: Operand


@dataclass(frozen=True, slots=True, eq=False)
class EntryPoint:
    """An entry point with its execution modes; `model` is an ExecutionModel, `function` the id of its function."""

    instruction: Instruction
    model: int
    function: int
    name: str
    interface: tuple[int, ...]
    modes: tuple[Instruction, ...]

    @property
    def model_name(self) -> str:
        """The name of the execution model, such as `GLCompute`."""
        return grammar().kinds["ExecutionModel"].name_of(self.model)

    def mode(self, name: str) -> Instruction | None:
        """The execution mode of a name, such as `LocalSize`; None where it is not declared."""
        wanted = grammar().kinds["ExecutionMode"].value(name)
        return next((one for one in self.modes if one.id("mode") == wanted), None)


class Facts:
    """A module under judgement, in an environment; `block_layout` is one of `BLOCK_LAYOUTS`.

    `given` are the specialisation constants whose values were chosen, the others keep their defaults.
    Ids that are asked for: `type` is the type that an id declares, `type_of` that of a value, `value` a constant's.
    """

    def __init__(
        self,
        module: Module,
        environment: Environment,
        block_layout: str = BLOCK_LAYOUTS[0],
        given: frozenset[int] = frozenset(),
    ) -> None:
        self.module = module
        self.environment = environment
        self.block_layout = block_layout
        self._given = given
        self._memo: dict[Callable[..., object], object] = {}

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The instructions of the module, in order."""
        return self.module.instructions

    @property
    def is_vulkan(self) -> bool:
        """Whether the environment is one of Vulkan."""
        return self.environment.vulkan is not None

    def once(self, work: Callable[[Facts], Made]) -> Made:
        """What a function works out of these facts; it is called once, whoever asks."""
        if work not in self._memo:
            self._memo[work] = work(self)
        return cast(Made, self._memo[work])

    # Ids

    def definition(self, id: int) -> Instruction:
        """The instruction that makes an id. Raises `Undetermined` where none does."""
        found = self.module.definitions.get(id)
        if found is None or found.malformed is not None:
            raise Undetermined
        return found

    def defined_by(self, id: int) -> str:
        """The name of the instruction that makes an id; empty where none does."""
        found = self.module.definitions.get(id)
        return found.name if found else ""

    def called(self, id: int) -> str:
        """The name of an id for a message, as the text has it to which diagnostics point: `%done`, `%int_1`, `%12`."""
        made = self.module.definitions.get(id)
        result = made.operand("result") if made else None
        if made is None or result is None:
            return f"%{id}"
        span = self.module.shown.operand_span(made.index, result.word)
        return span.source.text[span.start : span.end]

    @cached_property
    def declarations(self) -> Declarations:
        """Types and constants."""
        return declarations_of(self.instructions)

    def type(self, id: int) -> Type:
        """The type that an id declares. Raises `Undetermined` where it declares none."""
        found = self.declarations.types.get(id)
        if found is None:
            raise Undetermined
        return found

    def type_of(self, id: int) -> Type:
        """The type of a value. Raises `Undetermined` where the id has none."""
        return self.type(self.definition(id).result_type)

    def pointee(self, pointer: Type) -> Type:
        """The type that a pointer points to. Raises `Undetermined` for what is no pointer to a known type."""
        if not isinstance(pointer, Pointer):
            raise Undetermined
        return self.type(pointer.pointee_id)

    def value(self, id: int) -> Value:
        """The value of a constant; a specialisation constant has the value given, else its default.

        Raises `Undetermined` where it is not known.
        """
        found = self.declarations.values.get(id)
        if found is None:
            raise Undetermined
        return found

    def integer(self, id: int) -> int:
        """The value of an integer constant. Raises `Undetermined` where it is not known, or no integer."""
        found = self.value(id)
        if isinstance(found, bool) or not isinstance(found, int):
            raise Undetermined
        return found

    def is_specialised(self, id: int) -> bool:
        """Whether the value of a constant rests on specialisation constants."""
        return id in self.declarations.assumed

    def rests_on_default(self, id: int) -> bool:
        """Whether the value of a constant rests on a specialisation constant that keeps its default."""
        return not self.declarations.assumed.get(id, frozenset()) <= self._given

    @cached_property
    def uses(self) -> Mapping[int, Sequence[Use]]:
        """The uses of each id, in order, those by types and annotations included."""
        made: dict[int, list[Use]] = {}
        for one in self.instructions:
            for operand in one.references:
                if isinstance(operand.value, int):
                    made.setdefault(operand.value, []).append(Use(one, operand))
        return made

    # The module as a whole

    @cached_property
    def declared_capabilities(self) -> frozenset[str]:
        """The capabilities that the module declares, by their first names."""
        kind = grammar().kinds["Capability"]
        named = (one for one in self.instructions if one.name == "OpCapability" and not one.malformed)
        return frozenset(kind.name_of(one.id("capability")) for one in named)

    @cached_property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that the module has: those that it declares, and all that these imply."""
        kind, found, waiting = grammar().kinds["Capability"], set(), list(self.declared_capabilities)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                one = kind.by_name.get(name)
                waiting += [kind.by_name[implied].name for implied in (one.capabilities if one else ())]
        return frozenset(found)

    def has(self, capability: str) -> bool:
        """Whether the module has a capability, declared or implied, under any of its names."""
        one = grammar().kinds["Capability"].by_name.get(capability)
        return (one.name if one else capability) in self.capabilities

    @cached_property
    def addressing_model(self) -> str:
        """The name of the addressing model, such as `Logical`; empty where the module declares none."""
        return self._model("addressing_model", "AddressingModel")

    @cached_property
    def memory_model(self) -> str:
        """The name of the memory model, such as `GLSL450`; empty where the module declares none."""
        return self._model("memory_model", "MemoryModel")

    def _model(self, operand: str, kind: str) -> str:
        stated = next((one for one in self.instructions if one.name == "OpMemoryModel" and not one.malformed), None)
        return grammar().kinds[kind].name_of(stated.id(operand)) if stated else ""

    @cached_property
    def extensions(self) -> frozenset[str]:
        """The extensions that the module names."""
        return frozenset(one.text("name") for one in self.instructions if one.name == "OpExtension")

    @cached_property
    def annotations(self) -> Annotations:
        """Decorations and names."""
        return annotations_of(self.instructions)

    @cached_property
    def entry_points(self) -> tuple[EntryPoint, ...]:
        """The entry points, in order."""
        modes: dict[int, list[Instruction]] = {}
        for one in self.instructions:
            if one.name in ("OpExecutionMode", "OpExecutionModeId") and not one.malformed:
                modes.setdefault(one.id("entry_point"), []).append(one)
        return tuple(
            EntryPoint(
                one, one.id("execution_model"), one.id("entry_point"), one.text("name"), one.ids("interface"),
                tuple(modes.get(one.id("entry_point"), ())),
            )
            for one in self.instructions
            if one.name == "OpEntryPoint" and not one.malformed
        )  # fmt: skip

    # Functions

    @cached_property
    def bodies(self) -> Bodies:
        """The functions of the module, and where each instruction stands."""
        return bodies_of(self.instructions)

    def function_of(self, one: Instruction) -> Function | None:
        """The function in which an instruction stands; None outside of functions."""
        return self.bodies.function_at.get(one.index)

    def block_of(self, one: Instruction) -> Block | None:
        """The block in which an instruction stands; None outside of blocks."""
        return self.bodies.block_at.get(one.index)

    def models_of(self, one: Instruction) -> frozenset[str]:
        """The execution models of the entry points from which an instruction can be reached by calls."""
        function = self.function_of(one)
        return self._models.get(function.id, frozenset()) if function else frozenset()

    @cached_property
    def _models(self) -> Mapping[int, frozenset[str]]:
        made: dict[int, set[str]] = {}
        for entry in self.entry_points:
            for id in called_from(entry.function, self.bodies.functions):
                made.setdefault(id, set()).add(entry.model_name)
        return {id: frozenset(models) for id, models in made.items()}
