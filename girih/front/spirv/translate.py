"""One entry point of a module as a function of the device language."""

from __future__ import annotations

from dataclasses import replace

from girih.diagnostics import CompileError, nearest
from girih.front.spirv import instructions
from girih.front.spirv.built_ins import NAMES as BUILT_INS
from girih.front.spirv.codes import TRANSLATION_CODES, refused
from girih.front.spirv.emission import Emission, too_deep
from girih.front.spirv.entry.module_variables import declare_variables
from girih.front.spirv.entry.parameters import ParameterList, built_in_of
from girih.front.spirv.entry.refusals import recursion, refused_instructions, refused_types, refused_variables
from girih.front.spirv.latitude import LatitudeNotes
from girih.front.spirv.translated import Translated
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import Variables, reached_functions
from girih.ir.build import RegionBuilder
from girih.ir.core import Dictionary, Entry, RegionKind, is_name
from girih.ops.device import DEVICE_LANGUAGE
from girih.recursion import recursion_room
from girih.rules.row import Undetermined
from girih.source import Source, Span
from girih.spirv.instruction import Instruction
from girih.spirv.judge.places import Places
from girih.spirv.lines import SourceLines
from girih.spirv.model.declared.bindings import interface_of
from girih.spirv.model.declared.interfaces import used_by_entry_points
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.functions import Function
from girih.spirv.module import Module

__all__ = ["TRANSLATION_CODES", "instructions", "translate"]


def translate(module: Module, entry: str) -> Translated:
    """An entry point of a valid module without specialisation constants, by name, as a function of the device language.

    Raises `CompileError` with all that girih does not execute: another execution model, images, instructions that have
    no translation.
    """
    facts = Facts(module, ENVIRONMENTS["vulkan1.4"])
    with recursion_room():
        made = _EntryTranslation(facts, _entry_point(facts, entry))
        try:
            return made.translated()
        except RecursionError as error:
            raise CompileError([too_deep(made.place(made.entry.instruction))]) from error


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
        circle = recursion(self.facts, self._function(), self.place)
        if circle:
            raise CompileError(circle)
        functions = reached_functions(self.facts, self.entry.function)
        interface = interface_of(self.facts, self.entry)
        used = self._variables()
        found = [
            *refused_instructions(self.facts, functions, self.place),
            *refused_types(self.facts, functions, self.place),
            *refused_variables(interface, used, BUILT_INS, self.place),
        ]
        if found:
            raise CompileError(found)
        parameters = ParameterList(interface)
        head = RegionBuilder(DEVICE_LANGUAGE, RegionKind.SPMD)
        notes = LatitudeNotes(self.facts, self.entry)
        t = Translation(self.facts, Variables(self.facts, functions), local_size, head, notes)
        t.emission = Emission(t)
        body = RegionBuilder(DEVICE_LANGUAGE)
        code = RegionBuilder(DEVICE_LANGUAGE, RegionKind.SPMD)
        with t.inside(code):
            declare_variables(t, used, interface, parameters, body)
            try:
                t.emission.body(self.entry.function, {}, 0)
            except Undetermined as error:
                expected = "an instruction whose types, constants and pointers are known before the shader runs"
                raise CompileError([refused("form", expected, "one for which they are not", t.span)]) from error
        head.ops += code.ops
        span = self.place(self.facts.definition(self.entry.function))
        body.add("parallel", body=head.region(span), span=span)
        size = local_size[0] * local_size[1] * local_size[2]
        attributes = Dictionary((Entry("work_group_size", (size, 1)),))
        name = self.entry.name if is_name(self.entry.name) else "main"
        function = body.function(name, parameters.listed, attributes, span=span)
        return Translated(replace(function, latitude=notes.latitude()), local_size, interface)

    def place(self, one: Instruction) -> Span:
        """The place of an instruction in its source, else in the text of the module."""
        return self._lines.of(one.index) or self._places.of(one)

    def _function(self) -> Function:
        return next(one for one in self.facts.bodies.functions if one.id == self.entry.function)

    def _variables(self) -> list[Instruction]:
        """The variables outside of functions that the entry point uses."""
        ids = self.facts.once(used_by_entry_points).get(self.entry.function, frozenset())
        return [one for one in self.facts.instructions if one.result in ids]

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
