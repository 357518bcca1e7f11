"""How programs and kernels look in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from girih.markup import folded, line, table


class _AProgram(Protocol):
    @property
    def target(self) -> str: ...
    def values(self) -> Iterable[_AKernel]: ...


class _AKernel(Protocol):
    @property
    def ir(self) -> object: ...
    @property
    def signature(self) -> str: ...


class ShownProgram:
    """A program, shown as the table of its kernels with its text below."""

    __slots__ = ()

    def _repr_html_(self: _AProgram) -> str:
        rows = [(kernel.signature,) for kernel in self.values()]
        return table((f"kernels on {self.target}",), rows) + folded("program", str(self))


class ShownKernel:
    """A kernel, shown as its signature, grid, target and options, with its text below."""

    __slots__ = ()

    def _repr_html_(self: _AKernel) -> str:
        return line(repr(self)[1:-1]) + folded("program", str(self.ir))
