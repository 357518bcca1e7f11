"""Features and properties by Vulkan's names: which there are, how they are asked for, what a device answers.

The table is girih/data/vulkan_features.json, which tools/generate_vulkan.py writes from Khronos' registry.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Mapping
from ctypes import Structure, addressof
from functools import cache
from pathlib import Path
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver.structures import TypedStructure

_TABLE = Path(__file__).parents[3] / "data" / "vulkan_features.json"

CORE = "VkPhysicalDeviceFeatures"
"""The structure of the features of Vulkan 1.0."""

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StructureRow:
    """A structure of features or properties: its type, who has it, its members.

    `version` is the version of Vulkan from which on every device has it, `extensions` those that bring it before;
    `within` is the structure of a version of Vulkan that has all its members.
    """

    name: str
    type: int
    version: Version | None
    extensions: tuple[str, ...]
    members: Mapping[str, str]
    within: str | None

    def made(self) -> TypedStructure:
        """The structure in memory, all zeros."""
        return _class_of(self.name)()


@dataclass(frozen=True)
class FeatureTable:
    """What there is: structures of features and of properties, and what capabilities and extensions of SPIR-V need.

    A need is a list of ways, one of which is enough: `version`, `extension`, `struct` with `feature`, or `property`
    with `member` and `value`, each as Vulkan names it; `requires` are the versions and extensions that have the
    feature.
    """

    core: tuple[str, ...]
    features: Mapping[str, StructureRow]
    properties: Mapping[str, StructureRow]
    capabilities: Mapping[str, tuple[Mapping[str, Any], ...]]
    extensions: Mapping[str, tuple[Mapping[str, Any], ...]]

    def home(self, structure: str, version: Version) -> str:
        """The structure by which a device of a version of Vulkan has the features of another one."""
        row = self.features.get(structure)
        outer = self.features[row.within] if row is not None and row.within else None
        return outer.name if outer is not None and outer.version and outer.version <= version else structure


@cache
def feature_table() -> FeatureTable:
    """The table."""
    data = json.loads(_TABLE.read_text("utf-8"))
    rows = {kind: {name: _row(name, one) for name, one in data[kind].items()} for kind in ("features", "properties")}
    return FeatureTable(
        tuple(data["core"]),
        rows["features"],
        rows["properties"],
        {name: tuple(ways) for name, ways in data["capabilities"].items()},
        {name: tuple(ways) for name, ways in data["extensions"].items()},
    )


def _row(name: str, data: Mapping[str, Any]) -> StructureRow:
    version = None if data["version"] is None else tuple(map(int, data["version"].split(".")))
    assert version is None or len(version) == 2
    return StructureRow(name, data["type"], version, tuple(data["extensions"]), data["members"], data["within"])


@cache
def _class_of(name: str) -> type[TypedStructure]:
    """The class of a structure of features or properties."""
    table = feature_table()
    row = table.features.get(name) or table.properties[name]
    fields = [(member, _type_of(type)) for member, type in row.members.items()]
    return type(name, (TypedStructure,), {"S_TYPE": row.type, "_fields_": (*TypedStructure.HEAD, *fields)})


def _type_of(text: str) -> Any:
    element, times, count = text.partition(" * ")
    base = getattr(ctypes, f"c_{element}")
    return base * int(count) if times else base


def chain(structures: Iterable[TypedStructure]) -> int | None:
    """The address of the first of some structures, each of which has the address of the next; None for none."""
    following: int | None = None
    for one in reversed(list(structures)):
        one.pNext = following
        following = addressof(one)
    return following


def values_of(structure: Structure, members: Iterable[str]) -> dict[str, Any]:
    """The values of members, arrays of bytes as `bytes`, texts as `str`."""
    return {member: _plain(getattr(structure, member)) for member in members}


def _plain(value: Any) -> Any:
    if isinstance(value, ctypes.Array):
        return bytes(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
