"""Write docs/spirv/profiles.md: what each profile of devices has, and which instructions no device executes.

From the tables of `girih.back.spirv.profiles` and of the lowerings. tools/generate_docs.py writes the page.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.opencl import OPENCL_PROFILES
from girih.back.spirv.profiles.profile import MatrixShape, Profile
from girih.back.spirv.profiles.table import PROFILES
from girih.commands.parts.reference import group_of
from girih.ops.tile import TILE_LANGUAGE
from tools.markdown import table

PAGE = "docs/spirv/profiles.md"

ABOUT = """\
# Profiles

<!-- Written by tools/pages/profiles.py from girih/back/spirv/profiles; do not edit. -->

A profile is a device, or a kind of them, as a table: what [a kernel that is compiled for it](vulkan.md) may use.
`vulkan` and `opencl` without a profile are the device of this machine, whose driver says the same of itself:
`girih targets vulkan` and `girih targets opencl` show it.
"""

FEATURES_ABOUT = """\
## Features

A kernel that needs a feature which its profile lacks is refused: [`run.target`](../errors.md#run.target) names all that
are missing. Where a profile lacks what a row calls *rounded right*, *rounds once* or *on demand*, nothing is refused:
other instructions compute the same, or [the page on Vulkan](vulkan.md#how-exact-numbers-are) says what differs.
What is there *on demand* is asked for in modules for Vulkan only.
"""

MATRICES_ABOUT = """\
## Matrices

Products of rows x columns x depth that devices have, by the types of factors and sums. Matrices of all other shapes and
types are arrays of each work-item, which a [remark](../remarks.md) says. In a profile that is not here all are.
"""

REFUSED_ABOUT = """\
## Instructions that no device executes
"""


def profiles() -> dict[str, Profile]:
    """All profiles by the names that targets have."""
    of_vulkan = {f"vulkan:{name}": one for name, one in PROFILES.items()}
    return of_vulkan | {f"opencl:{name}": one for name, one in OPENCL_PROFILES.items()}


def page() -> str:
    """The text of the page."""
    known = profiles()
    lines = [*ABOUT.splitlines(), ""]
    heads = ["target", "devices", "subgroups", "work-items of a work-group", "bytes of shared memory",
             "bytes of parameters at once", "source"]  # fmt: skip
    lines += [*table(heads, [_sizes(name, one) for name, one in known.items()]), "", *FEATURES_ABOUT.splitlines(), ""]
    rows = [
        (f"`{one.name}`", one.says, *("yes" if profile.has(one.name) else "" for profile in known.values()))
        for one in FEATURES.values()
    ]
    lines += [*table(["feature", "what it permits", *(f"`{name}`" for name in known)], rows), ""]
    lines += [*MATRICES_ABOUT.splitlines(), ""]
    shapes = [(f"`{name}`", *row) for name, profile in known.items() for row in _shapes(profile)]
    lines += [*table(["target", "held by", "sizes", "factors to sums"], shapes), "", *REFUSED_ABOUT.splitlines(), ""]
    lines += table(["instruction", "why"], _refused())
    return "\n".join(lines) + "\n"


def _sizes(name: str, one: Profile) -> tuple[str, ...]:
    least, most = one.least_subgroup_size, one.most_subgroup_size
    subgroups = str(least) if least == most else f"{least} to {most}, {one.subgroup_size} where nobody asks"
    limits = map(str, (one.work_group_items, one.shared_bytes, one.push_bytes))
    return f"`{name}`", one.says, subgroups, *limits, one.source


def _shapes(profile: Profile) -> Iterator[tuple[str, str, str]]:
    """The shapes of a profile: a row for the types that have the same ones."""
    by_types: dict[tuple[str, str], list[str]] = {}
    for one in profile.matrices:
        by_types.setdefault((_holders(one), f"{one.a} to {one.result}"), []).append(_size(one))
    rows: dict[tuple[str, str], list[str]] = {}
    for (holders, types), sizes in by_types.items():
        rows.setdefault((holders, ", ".join(sizes)), []).append(types)
    yield from ((holders, sizes, ", ".join(types)) for (holders, sizes), types in rows.items())


def _holders(one: MatrixShape) -> str:
    if one.scope == "subgroup":
        return "a subgroup"
    return f"a work-group of {' or '.join(map(str, one.work_items))}"


def _size(one: MatrixShape) -> str:
    return f"{'multiples of ' if one.flexible else ''}{one.m} x {one.n} x {one.k}"


def _refused() -> list[tuple[str, str]]:
    reasons = {name: ONE_LANE.reason_against(op) for name, op in TILE_LANGUAGE.ops.items()}
    return [
        (f"[`{name}`](../language/{group_of(TILE_LANGUAGE, name)}.md#{name})", reason)
        for name, reason in sorted(reasons.items())
        if reason is not None
    ]
