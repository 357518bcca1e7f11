"""One entry point of a module as a function of the device language."""

from __future__ import annotations

from girih.diagnostics import CompileError, nearest
from girih.front.spirv.emission import Emission
from girih.front.spirv.instructions.chains import BEST_ALIGNMENT
from girih.front.spirv.instructions.memory import begin_variable
from girih.front.spirv.parameters import ParameterList
from girih.front.spirv.pointers import BuiltInPointer, BytePointer
from girih.front.spirv.refusals import TRANSLATION_CODES, refusals, refused
from girih.front.spirv.translated import Translated
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import OWN, Variables, reached_functions
from girih.ir.build import RegionBuilder
from girih.ir.core import Dictionary, Entry, RegionKind, is_name
from girih.ir.types import I8, AddressSpace, MemRef
from girih.ops.device import DEVICE_LANGUAGE
from girih.recursion import recursion_room
from girih.source import Source, Span
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.judge.places import Places
from girih.spirv.lines import SourceLines
from girih.spirv.model.declared.bindings import ShaderInterface, interface_of
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.module import Module
from girih.spirv.types import Pointer, Type

__all__ = ["TRANSLATION_CODES", "translate"]


def translate(module: Module, entry: str) -> Translated:
    """An entry point of a valid module without specialisation constants, by name, as a function of the device language.

    Raises `CompileError` with all that girih does not execute: another execution model, images, instructions that have
    no translation.
    """
    facts = Facts(module, ENVIRONMENTS["vulkan1.4"])
    with recursion_room():
        return _EntryTranslation(facts, _entry_point(facts, entry)).translated()


def _entry_point(facts: Facts, name: str) -> EntryPoint:
    """The compute shader of a name. Raises `CompileError`."""
    nowhere = Span(Source("", facts.module.name), 0, 0)
    known = [one for one in facts.entry_points if one.name == name]
    compute = [one for one in known if one.model_name == "GLCompute"]
    if compute:
        return compute[0]
    if known:
        expected, found = "an entry point of execution model GLCompute", f"{name}, of {known[0].model_name}"
        raise CompileError([refused("model", expected, found, Places(facts.module).of(known[0].instruction))])
    names = [one.name for one in facts.entry_points]
    close = nearest(name, names)
    hint = f"did you mean {close!r}?" if close else f"entry points of the module: {', '.join(names) or 'none'}"
    raise CompileError([refused("entry_point", "an entry point of the module", repr(name), nowhere, hint)])


class _EntryTranslation:
    """The translation of one entry point from its declaration to the function."""

    def __init__(self, facts: Facts, entry: EntryPoint) -> None:
        self.facts = facts
        self.entry = entry
        self._places = Places(facts.module)
        self._lines = SourceLines(facts.module)

    def translated(self) -> Translated:
        """The function with its interface. Raises `CompileError`."""
        local_size = self._local_size()
        functions = reached_functions(self.facts, self.entry.function)
        found = refusals(self.facts, functions, self.place)
        if found:
            raise CompileError(found)
        interface = interface_of(self.facts, self.entry)
        parameters = ParameterList(interface)
        head = RegionBuilder(DEVICE_LANGUAGE, RegionKind.SPMD)
        t = Translation(self.facts, Variables(self.facts, functions), local_size, head)
        t.emission = Emission(t)
        body = RegionBuilder(DEVICE_LANGUAGE)
        code = RegionBuilder(DEVICE_LANGUAGE, RegionKind.SPMD)
        with t.inside(code):
            self._declare(t, interface, parameters, body)
            t.emission.body(self.entry.function, {}, 0)
        head.ops += code.ops
        span = self.place(self.facts.definition(self.entry.function))
        body.add("parallel", body=head.region(span), span=span)
        size = local_size[0] * local_size[1] * local_size[2]
        attributes = Dictionary((Entry("work_group_size", (size, 1)),))
        name = self.entry.name if is_name(self.entry.name) else "main"
        function = body.function(name, parameters.listed, attributes, span=span)
        return Translated(function, local_size, interface)

    def place(self, one: Instruction) -> Span:
        """The place of an instruction in its source, else in the text of the module."""
        return self._lines.of(one.index) or self._places.of(one)

    def _local_size(self) -> tuple[int, int, int]:
        """The size of a work-group. Raises `CompileError` where nothing tells it."""
        sizes = self._object_size() or self._mode_size()
        if sizes is None:
            expected = "the execution mode LocalSize or LocalSizeId, or a constant with the built-in WorkgroupSize"
            span = self._places.of(self.entry.instruction)
            raise CompileError([refused("local_size", expected, "none of them", span)])
        x, y, z = sizes
        return x, y, z

    def _object_size(self) -> list[int] | None:
        """The components of the constant that is the built-in WorkgroupSize, which goes before execution modes."""
        for one in self.facts.instructions:
            if one.name == "OpConstantComposite" and built_in_of(self.facts, one.result) == "WorkgroupSize":
                return [self.facts.integer(id) for id in one.ids("constituents")]
        return None

    def _mode_size(self) -> list[int] | None:
        mode = self.entry.mode("LocalSizeId") or self.entry.mode("LocalSize")
        values = [o.value for o in mode.operands[2:] if isinstance(o.value, int)] if mode else []
        if not mode or len(values) != 3:
            return None
        return [self.facts.integer(id) for id in values] if mode.name == "OpExecutionModeId" else values

    def _declare(self, t: Translation, interface: ShaderInterface, given: ParameterList, body: RegionBuilder) -> None:
        """Say what the variables of the module point to, and give those of the work-item their first values."""
        facts = self.facts
        if given.addresses is not None and given.group is not None:
            t.buffers = given.group.value, given.addresses.value
        for one in facts.instructions:
            if one.name == "OpFunction":
                break
            if one.name != "OpVariable":
                continue
            type = facts.type(one.result_type)
            assert isinstance(type, Pointer)
            storage, pointee = type.storage_class, facts.pointee(type)
            t.span = self.place(one)
            if storage in OWN:
                begin_variable(t, one)
            elif storage == "Input":
                t.give_pointer(one.result, BuiltInPointer(pointee, built_in_of(facts, one.result)))
            elif one.result in interface.resource_of:
                memory = given.memory_of(t, interface.resource_of[one.result])
                t.give_pointer(one.result, BytePointer(pointee, storage, memory, t.index(0), BEST_ALIGNMENT))
            elif interface.push_constants is not None and storage == "PushConstant":
                assert given.push is not None
                t.give_pointer(one.result, BytePointer(pointee, storage, given.push.value, t.index(0), BEST_ALIGNMENT))
            elif storage == "Workgroup":
                self._work_group(t, one, pointee, body)

    def _work_group(self, t: Translation, one: Instruction, pointee: Type, body: RegionBuilder) -> None:
        size = max(t.natural.size(pointee), 1)
        local = MemRef.packed(I8, (size,), AddressSpace.LOCAL)
        attributes = Dictionary((Entry("alignment", BEST_ALIGNMENT),))
        name = self.facts.annotations.names.get(one.result, "")
        names = [name] if is_name(name) else []
        (memory,) = body.add("alloca", local, attributes=attributes, names=names, span=t.span)
        pointer = BytePointer(pointee, "Workgroup", memory, t.index(0), BEST_ALIGNMENT)
        t.give_pointer(one.result, pointer)


def built_in_of(facts: Facts, id: int) -> str:
    """The name of the built-in that an id is; empty where it is none."""
    number = facts.annotations.parameter(id, "BuiltIn")
    return "" if number is None else grammar().kinds["BuiltIn"].name_of(number)
