"""How much memory the search for races takes, and how much there is."""

from __future__ import annotations

from math import gcd
from pathlib import Path

from girih.analysis.accesses import Place, accesses_of
from girih.interpreter.machine.values import GroupValue, MapValue, MemRefValue
from girih.interpreter.races.shadow import LARGEST_GRANULE
from girih.interpreter.run import Execution
from girih.ir.core import Value
from girih.ir.types import MemRef, Number

_STAMP = 8
"""The bytes of a stamp."""

_FREE = Path("/proc/meminfo")
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)
"""The files of Linux that tell how much memory is free, and how much a control group may take and takes."""


def shadow_bytes(run: Execution) -> int:
    """The bytes of the stamps of all elements of arguments that a launch may write, were all of them accessed.

    One stamp is counted for what is only written, and a second one where the kernel reads it, too. Those of further
    readers and of atomic accesses, and local memory, are left out: few launches have them for all elements, and one
    that could run must not be refused.
    """
    read, written = set(), set()
    units: dict[Value, int] = {}
    for place in accesses_of(run.function).places:
        if place.kind != "write":
            read.add(place.root)
        if place.writes:
            written.add(place.root)
        if run.function.language.counts_bytes:
            units[place.root] = gcd(units.get(place.root, LARGEST_GRANULE), _unit(place))
    total = 0
    for parameter, value in zip(run.function.parameters, run.arguments, strict=True):
        if parameter.value in written:
            granules = _granules(value) // units.get(parameter.value, 1)
            total += granules * _STAMP * (2 if parameter.value in read else 1)
    return total


def _unit(place: Place) -> int:
    """The bytes of the largest granule that an access to memory which is bytes leaves whole."""
    alignment = getattr(place.op, "alignment", None)
    if isinstance(alignment, int):
        numbers = getattr(place.op, "values", None) or place.op.results or (getattr(place.op, "value", None),)
        sizes = [value.type.size if isinstance(value.type, Number) else 1 for value in numbers if value is not None]
        return gcd(alignment, sum(sizes))
    type = getattr(place.op, place.operand).type
    return type.element.size if isinstance(type, MemRef) else 1


def _granules(value: object) -> int:
    """The elements of an array or of all members of a group, the bytes of a tensor."""
    match value:
        case MemRefValue(elements) | GroupValue(elements):
            return int(elements.data.size)
        case MapValue(_, memory):
            return int(memory.bytes.size)
        case _:
            return 0


def memory_left() -> int | None:
    """The bytes that this process may still take; None where the system does not tell."""
    left = [number for number in (_free(), *(_under(*files) for files in _LIMITS)) if number is not None]
    return min(left) if left else None


def _free() -> int | None:
    """The bytes that the system has left."""
    for line in _text(_FREE).splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return None


def _under(limit: Path, taken: Path) -> int | None:
    """The bytes that a control group has left, by the files of its limit and of what it takes."""
    most, now = _text(limit).strip(), _text(taken).strip()
    return max(0, int(most) - int(now)) if most.isdigit() and now.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def in_bytes(count: int) -> str:
    """A number of bytes in words."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
