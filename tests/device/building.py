"""Small functions of the device language for tests: their body is built, launched, and what was found is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import girih
from girih.api import Kernel, compile_module
from girih.arguments.brackets import Grid
from girih.diagnostics import Finding
from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Module, RegionKind, Value
from girih.ir.types import I8, I32, INDEX, AddressSpace, GroupType, MemRef, Number, Type
from girih.ops.device import DEVICE_LANGUAGE
from girih.source import Source, Span

BYTES = MemRef.packed(I8, (None,))
BUFFERS = GroupType(BYTES, None)
LANES = 8
"""The subgroup size, and the size of work-groups unless a test asks for more."""


class Body(RegionBuilder):
    """The code of each work-item, in which every instruction has a line of its own."""

    lines: list[str]

    def one(self, mnemonic: str, type: Type, **fields: Any) -> Value:
        """The result of a new instruction that has one."""
        (value,) = self.add(mnemonic, type, **fields)
        return value

    def add(self, mnemonic: str, *types: Type, **fields: Any) -> tuple[Value, ...]:
        """The results of a new instruction, whose place is a line of a text that is only its mnemonic."""
        fields.setdefault("span", _line(mnemonic))
        return super().add(mnemonic, *types, **fields)

    def constant(self, value: float, type: Number = INDEX) -> Value:
        return self.one("constant", type, value=value)

    def lane(self) -> Value:
        """The number of the work-item in its subgroup, as an index."""
        return self.one("cast", INDEX, a=self.one("subgroup_local_id", I32))

    def item(self) -> Value:
        """The number of the work-item in its work-group, as an index."""
        subgroup = self.one("cast", INDEX, a=self.one("subgroup_linear_id", I32))
        return self.plus(self.times(subgroup, LANES), self.lane())

    def times(self, a: Value, factor: int) -> Value:
        return self.one("mul", INDEX, a=a, b=self.constant(factor))

    def plus(self, a: Value, b: Value | int) -> Value:
        return self.one("add", INDEX, a=a, b=self.constant(b) if isinstance(b, int) else b)

    def load(self, memory: Value, offset: Value, *types: Type, alignment: int = 1) -> tuple[Value, ...]:
        return self.add("byte_load", *types, memory=memory, offset=offset, alignment=alignment)

    def store(self, memory: Value, offset: Value, *values: Value, alignment: int = 1) -> None:
        self.add("byte_store", values=values, memory=memory, offset=offset, alignment=alignment)


def _line(text: str) -> Span:
    return Span(Source(text, "x.comp"), 0, len(text))


Code = Callable[..., None]


def built(
    code: Code,
    parameters: Mapping[str, Type],
    local: Mapping[str, int] | None = None,
    *,
    work_group: int = LANES,
) -> Module:
    """A module with the function `main`, whose work-items execute `code(body, **parameters, **local)`.

    `local` are memories of the work-group with their sizes in bytes.
    """
    outer = RegionBuilder(DEVICE_LANGUAGE, RegionKind.COLLECTIVE)
    given = [parameter(name, type) for name, type in parameters.items()]
    values = {p.name: p.value for p in given}
    for name, size in (local or {}).items():
        type = MemRef.packed(I8, (size,), AddressSpace.LOCAL)
        (values[name],) = outer.add("alloca", type, names=[name])
    inner = Body(DEVICE_LANGUAGE, RegionKind.SPMD)
    code(inner, **values)
    outer.add("parallel", body=inner.region())
    sizes = Dictionary((Entry("work_group_size", (work_group, 1)), Entry("subgroup_size", LANES)))
    module = Module((outer.function("main", given, sizes),))
    problems = [d.render() for d in check_module(module)]
    assert not problems, "\n".join(problems)
    return module


def kernel(
    code: Code,
    parameters: Mapping[str, Type],
    local: Mapping[str, int] | None = None,
    *,
    target: str = "interpreter",
    work_group: int = LANES,
) -> Kernel:
    """The function that `built` makes, compiled for a target."""
    return compile_module(built(code, parameters, local, work_group=work_group), target)["main"]


def findings(launched: Kernel, *arguments: object, grid: Grid = 1, **options: Any) -> Sequence[Finding]:
    """What a launch finds; it must find something."""
    with pytest.raises(girih.KernelError) as caught:
        launched.options(**options)[grid](*arguments)
    return caught.value.findings
