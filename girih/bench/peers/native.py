"""Small functions in LLVM IR as functions of Python, for the loops of the measuring itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.runtime.compiled.jit import Linked, link


@dataclass(frozen=True, slots=True, eq=False)
class Native:
    """Compiled functions that return nothing; their code lives as long as the object."""

    linked: Linked

    @staticmethod
    def of(text: str, *names: str) -> Native:
        """The functions of a module in LLVM IR, compiled for this processor."""
        return Native(link(assemble(text, Cpu.host()), names))

    def function(self, name: str, parameters: str) -> Callable[..., None]:
        """The function of a name; `parameters` has `p` for a pointer and `i` for an i64. Calls release the GIL."""
        kinds: dict[str, Any] = {"p": ctypes.c_void_p, "i": ctypes.c_int64}
        prototype = ctypes.CFUNCTYPE(None, *(kinds[letter] for letter in parameters))
        called: Callable[..., None] = prototype(self.linked.addresses[name])
        return called
