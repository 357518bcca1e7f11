"""The parameters of a translated function, and what variables point to that a launch binds (`Translated`)."""

from __future__ import annotations

from girih.front.spirv.pointers import BEST_ALIGNMENT, BytePointer, DescriptorsPointer, Pointer
from girih.front.spirv.translation import BUFFER, Translation
from girih.ir.build import parameter
from girih.ir.core import Parameter, is_name
from girih.ir.types import I64, GroupType, MemRef
from girih.spirv.grammar import grammar
from girih.spirv.model.declared.bindings import ShaderInterface, ShaderResource
from girih.spirv.model.facts import Facts
from girih.spirv.types import Type

GROUP = GroupType(BUFFER, None)
"""The type of an array of buffers."""


class ParameterList:
    """The parameters of the function, in order."""

    def __init__(self, interface: ShaderInterface) -> None:
        self._interface = interface
        self._taken: set[str] = set()
        self.listed: list[Parameter] = []
        self.group: Parameter | None = None
        self.addresses: Parameter | None = None
        self.push: Parameter | None = None
        self._of: dict[ShaderResource, Parameter] = {}
        if interface.has_addresses:
            self.group = self._add("buffers", GROUP)
        else:
            for one in interface.resources:
                self._of[one] = self._add(self._name(one), GROUP if one.is_array else BUFFER)
        if interface.push_constants is not None:
            self.push = self._add("push", BUFFER)
        if interface.has_addresses:
            self.addresses = self._add("addresses", MemRef.packed(I64, (None,)))

    def _add(self, name: str, type: MemRef | GroupType) -> Parameter:
        free, number = name, 1
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        self.listed.append(parameter(free, type))
        return self.listed[-1]

    def _name(self, one: ShaderResource) -> str:
        first = one.variables[0]
        named = [name for name in (first.name, first.block_name) if is_name(name)]
        return named[0] if named else f"buffer_{one.set}_{one.binding}"

    def pointer_to(self, t: Translation, one: ShaderResource, pointee: Type, storage: str) -> Pointer:
        """The pointer that a variable of a resource is: to a buffer, or to an array of buffers."""
        if one.is_array:
            group = self.group or self._of[one]
            first = self._number_of(one) if self.group else 0
            return DescriptorsPointer(pointee, storage, group.value, first)
        if self.group is None:
            memory = self._of[one].value
        else:
            memory = t.ahead("load", BUFFER, tensor=self.group.value, indices=(self._number_of(one),))
        return BytePointer(pointee, storage, memory, t.index(0), BEST_ALIGNMENT)

    def _number_of(self, wanted: ShaderResource) -> int:
        """The number of a resource's first buffer among all; one behind an array without a size has none."""
        number = 0
        for one in self._interface.resources:
            if one is wanted:
                return number
            number += (one.count or 0) if one.is_array else 1
        raise AssertionError(f"binding {wanted.binding}")


def built_in_of(facts: Facts, id: int) -> str:
    """The name of the built-in that an id is; empty where it is none."""
    number = facts.annotations.parameter(id, "BuiltIn")
    return "" if number is None else grammar().kinds["BuiltIn"].name_of(number)
