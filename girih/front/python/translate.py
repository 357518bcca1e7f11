"""From a function of Python to a module of the tensor language.

`read` finds the text and the parameters of a kernel, `translate` makes a module of it for what is known of its
arguments. Both raise `CompileError` with every error that was found, at its place in the Python file, and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from girih.diagnostics import CompileError, Diagnostic
from girih.front.python.codes import PythonFault, fault
from girih.front.python.conversions import literal_of, scalar_type
from girih.front.python.facts import (
    ArrayFacts,
    ConstantFacts,
    Facts,
    GroupFacts,
    KernelOptions,
    ScalarFacts,
    Specialisation,
    TensorMapFacts,
)
from girih.front.python.grids import Grid
from girih.front.python.operands import Known, Memory, Operand, Runtime
from girih.front.python.reading import FunctionSource, read_function
from girih.front.python.scopes import RESULT, FunctionScope
from girih.front.python.signature import Declared, declared_parameters
from girih.front.python.statements import Statements
from girih.front.python.words import WORDS
from girih.front.python.words.reader import PythonReader
from girih.ir.build import parameter
from girih.ir.core import EMPTY, Dictionary, Entry, Module, Parameter, Value
from girih.ir.types import NUMBERS, SCALARS, GroupType, MapMode, MemRef, TensorMapType, Type
from girih.language.types import SCALARS as WORDS_FOR_SCALARS
from girih.recursion import recursion_room
from girih.source import NOWHERE, Span


class KernelDefinition:
    """A kernel as it is written: its name, its parameters, its text."""

    def __init__(self, text: FunctionSource, parameters: tuple[Declared, ...]) -> None:
        self.text = text
        self.parameters = parameters

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.text.name

    @property
    def span(self) -> Span:
        """The place of the function's head."""
        return self.text.whole


def read(function: object) -> KernelDefinition:
    """A kernel as it is written. Raises `CompileError` where its text cannot be had, or a parameter says no type."""
    try:
        text = read_function(function)
        return KernelDefinition(text, declared_parameters(text))
    except PythonFault as found:
        raise CompileError([found.diagnostic or _unknown()]) from None


def translate(kernel: KernelDefinition, specialisation: Specialisation) -> Module:
    """The module with one function, for what is known of the arguments. Raises `CompileError`."""
    translator = Translator(kernel, specialisation)
    with recursion_room():
        try:
            module = translator.module()
        except PythonFault as found:
            translator.report(found)
        except RecursionError:
            translator.report(fault("nesting", "the kernel nests too deep", kernel.span))
    if translator.diagnostics:
        raise CompileError(sorted(translator.diagnostics, key=lambda d: (d.span.file, d.span.start, d.span.end)))
    return module


def _unknown() -> Diagnostic:
    return Diagnostic("python.function", "the kernel is in error", NOWHERE)


class Translator(Statements):
    """The translator of one kernel for one specialisation."""

    def __init__(self, kernel: KernelDefinition, specialisation: Specialisation) -> None:
        super().__init__(kernel.text, WORDS)
        self.kernel = kernel
        self.kernel_text = kernel.text
        self.specialisation = specialisation
        self.carried_types = {}
        self.members: dict[Value, tuple[int, ...]] = {}
        self.parameters: list[Parameter] = []

    def module(self) -> Module:
        """The module. Raises `PythonFault`; what is wrong with statements is in `diagnostics`."""
        node = self.text.node
        assert isinstance(node, ast.FunctionDef)
        self.scope = FunctionScope(self.text, node)
        self._bind()
        operands = {p.name: self.scope.names[p.name] for p in self.kernel.parameters}
        self.block(node.body)
        result = self.scope.names[RESULT]
        given = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        if given and not (isinstance(result, Known) and result.value is None) and not self.diagnostics:
            self.fail(
                "return", "a kernel returns nothing", self.span(given[0]), "store results to an array: Y[i] = ..."
            )
        attributes = self._attributes(self.specialisation.options, operands)
        name = self.kernel.name
        function = self.builder.function(name, self.parameters, attributes, span=self.kernel.span)
        reader = PythonReader.of(self.kernel.parameters, self.specialisation.parameters, self.named_memory)
        return Module((replace(function, body=self.builder.region(self.text.body), reader=reader),))

    # --- parameters ------------------------------------------------------------------------

    def _bind(self) -> None:
        facts = dict(self.specialisation.parameters)
        for declared in self.kernel.parameters:
            if declared.name not in facts:
                self.fail("specialisation", f"nothing is known of `{declared.name}`", declared.span)
            self.scope.names[declared.name] = self._parameter(declared, facts[declared.name])

    def _parameter(self, declared: Declared, facts: Facts) -> Operand:
        if isinstance(facts, ConstantFacts) and declared.kind == "constant":
            return Known(facts.value)
        if isinstance(facts, ScalarFacts) and declared.kind == "scalar":
            return Runtime(self._added(declared, SCALARS[self._element_of(declared, facts.element)]))
        if isinstance(facts, ArrayFacts) and declared.kind == "array":
            return Memory(self._added(declared, self._memref(declared, facts), facts.alignment), facts.order)
        if isinstance(facts, GroupFacts) and declared.kind == "group":
            type = GroupType(self._memref(declared, facts.member), facts.size, facts.offset)
            group = self._added(declared, type)
            self.members[group] = facts.member.order
            return Runtime(group)
        if isinstance(facts, TensorMapFacts) and declared.kind == "tensor_map" and facts.mode == declared.mode:
            element = NUMBERS[self._element_of(declared, facts.element)]
            return Runtime(self._added(declared, TensorMapType(element, facts.rank, MapMode(facts.mode))))
        self.fail("specialisation", f"`{declared.name}` is declared as {declared.kind}, found {type_name(facts)}",
                  declared.span)  # fmt: skip

    def _added(self, declared: Declared, type: Type, alignment: int | None = None) -> Value:
        attributes = Dictionary((Entry("alignment", alignment),)) if alignment is not None else EMPTY
        made = parameter(declared.name, type, attributes, span=declared.span)
        self.parameters.append(made)
        return made.value

    def _memref(self, declared: Declared, facts: ArrayFacts) -> MemRef:
        rank = len(facts.sizes)
        if declared.rank != rank or sorted(facts.order) != list(range(rank)) or len(facts.strides) != rank:
            self.fail("specialisation", f"`{declared.name}` has rank {declared.rank}, found {rank}", declared.span)
        element = NUMBERS[self._element_of(declared, facts.element)]
        sizes, strides = ([by[axis] for axis in facts.order] for by in (facts.sizes, facts.strides))
        return MemRef(element, tuple(sizes), tuple(strides))

    def _element_of(self, declared: Declared, element: str) -> str:
        """The name of an element type that the declaration allows; a type variable gets its value."""
        if isinstance(declared.element, TypeVar):
            known = self.type_variables.setdefault(declared.element, WORDS_FOR_SCALARS[element])
            if scalar_type(known) != SCALARS[element]:
                self.fail("specialisation", f"`{declared.name}` has elements of {element}, and {declared.element} is "
                          f"{known.__name__}", declared.span)  # fmt: skip
        elif declared.element not in (None, element):
            self.fail("specialisation", f"`{declared.name}` has elements of {declared.element}, found {element}",
                      declared.span)  # fmt: skip
        return element

    def axes_of_members(self, group: Value) -> tuple[int, ...]:
        """The axes of the modes of a group's members."""
        return self.members[group]

    # --- attributes ------------------------------------------------------------------------

    def _attributes(self, options: KernelOptions, operands: Mapping[str, Operand]) -> Dictionary:
        entries: list[Entry] = []
        span = self.kernel.span
        if options.subgroup_size is not None:
            entries.append(Entry("subgroup_size", options.subgroup_size, span=span))
        if options.work_group_size is not None:
            entries.append(Entry("work_group_size", tuple(options.work_group_size), span=span))
        if options.allow:
            entries.append(Entry("allow", tuple(options.allow), span=span))
        for machine, hints in options.hints:
            inner = tuple(Entry(key, _plain(value), span=span) for key, value in hints)
            entries.append(Entry(machine, Dictionary(inner, span), span=span))
        if options.grid is not None:
            text = self.text.of_decorator(options.grid) or read_function(options.grid)
            entries.append(Entry("grid", Grid(text, operands).entries(), span=span))
        return Dictionary(tuple(entries), span)


def _plain(value: object) -> bool | int | str | tuple[object, ...]:
    """A value of a hint as the language has it."""
    if isinstance(value, list | tuple):
        return tuple(value)
    found = literal_of(value)
    return found if isinstance(found, bool | int) else str(value)


def type_name(facts: Facts) -> str:
    """What facts are about, in words."""
    return {ScalarFacts: "a number", ArrayFacts: "an array", GroupFacts: "a list of arrays",
            TensorMapFacts: "a tensor map", ConstantFacts: "a constant"}[type(facts)]  # fmt: skip
