"""The parameters of a translated function, and which of them a resource is (`Translated`)."""

from __future__ import annotations

from girih.front.spirv.translation import BUFFER, Translation
from girih.ir.build import parameter
from girih.ir.core import Parameter, Value, is_name
from girih.ir.types import I64, GroupType, MemRef
from girih.spirv.model.declared.bindings import ShaderInterface, ShaderResource

GROUP = GroupType(BUFFER, None)
"""The type of an array of buffers."""


class ParameterList:
    """The parameters of the function, in order, and which of them a resource is."""

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

    def memory_of(self, t: Translation, one: ShaderResource) -> Value:
        """The memory of a resource that is one buffer."""
        if self.group is None:
            return self._of[one].value
        at = self._interface.resources.index(one)
        return t.ahead("load", BUFFER, tensor=self.group.value, indices=(at,))
