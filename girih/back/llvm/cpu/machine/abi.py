"""The interface between a compiled kernel and the code that launches it.

A kernel is a C function `void SYMBOL(ptr arguments, ptr workspace, i64 first, i64 last)`. It executes the work-groups
`first` to `last - 1` one after the other; work-group (x, y, z) of a grid (X, Y, Z) has the number x + y*X + z*X*Y.

`workspace` belongs to the calling thread alone: `workspace_bytes` bytes, aligned to `WORKSPACE_ALIGNMENT`; it may be
any address if the kernel needs no bytes.

`arguments` are slots as `girih.back.llvm.lower.launch.slots` lists them; one of them is the address of the failure
record (`girih.back.llvm.lower.launch.record`). A kernel looks at its state before each work-group, and returns where it
is not `NO_FAILURE`; who launched it stores `STOPPED` there to end it. Loops that may take long ask a function in the
record whether they are to end it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from girih.back.llvm.lower.sites import Site
from girih.ir.limits import DEFAULT_LIMITS
from girih.lazy_dataclass import dataclass

WORKSPACE_ALIGNMENT = DEFAULT_LIMITS.local_alignment
"""Local memory is a piece of the workspace, and may be aligned as the language allows."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """The machine code of a kernel and the facts that a launch needs.

    `object` is a relocatable object file that defines `symbol`. A launch of at most `serial_groups` work-groups is not
    worth waking other threads; one of at most `untimed_groups` is over before anyone could ask for its end; it is 0
    if one may never be over.
    """

    name: str
    symbol: str
    object: bytes = field(repr=False)
    workspace_bytes: int
    sites: tuple[Site, ...]
    subgroup_size: int
    work_group_size: tuple[int, int]
    serial_groups: int = 1
    untimed_groups: int = 1

    def to_bytes(self) -> bytes:
        """The kernel as bytes: the length of a JSON header in 8 bytes, the header, then the object."""
        header = {name: getattr(self, name) for name in _PLAIN}
        header["sites"] = [site.plain() for site in self.sites]
        text = json.dumps(header, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text + self.object

    @staticmethod
    def from_bytes(data: bytes) -> CompiledKernel:
        """The kernel that `to_bytes` wrote. Raises `ValueError` for other bytes."""
        length = int.from_bytes(data[:8], "little")
        try:
            header: Mapping[str, Any] = json.loads(data[8 : 8 + length])
            rows, columns = header["work_group_size"]
            return CompiledKernel(
                str(header["name"]),
                str(header["symbol"]),
                data[8 + length :],
                int(header["workspace_bytes"]),
                tuple(Site.of_plain(held) for held in header["sites"]),
                int(header["subgroup_size"]),
                (int(rows), int(columns)),
                int(header["serial_groups"]),
                int(header["untimed_groups"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"these bytes hold no compiled kernel: {error}") from None


_PLAIN = ("name", "symbol", "workspace_bytes", "subgroup_size", "work_group_size", "serial_groups", "untimed_groups")
