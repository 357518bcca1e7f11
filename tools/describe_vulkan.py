"""Print the profile of this machine's Vulkan driver as JSON, as the tables of `girih/back/spirv/profiles` have it.

    python tools/describe_vulkan.py [NAME]

With the name of a profile it prints how the driver differs from that table, and ends with 1 where it does. The
environment variable GIRIH_VULKAN_DRIVER names a driver other than the first that opens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from girih.back.spirv.profiles.profile import Profile
from girih.back.spirv.profiles.table import profile_named
from girih.runtime.vulkan.opened import current_driver
from girih.runtime.vulkan.profile import profile_of

NAMES = ("name", "says", "source")
"""What a table says in its own words."""


def described(profile: Profile) -> dict[str, object]:
    """A profile as plain values: features in alphabetical order, shapes in the driver's."""
    plain = asdict(profile)
    plain["features"] = sorted(profile.features)
    return plain


def differences(told: Profile, table: Profile) -> list[str]:
    """What a driver has otherwise than a table: a line for each value, feature and shape."""
    here, there = described(told), described(table)
    lines = [
        f"{name}: {here[name]} and not {there[name]}"
        for name in here
        if name not in (*NAMES, "features", "matrices") and here[name] != there[name]
    ]
    for words, has, wants in (("feature", told.features, table.features),
                              ("shape", set(told.matrices), set(table.matrices))):  # fmt: skip
        lines += [f"one more {words}: {one}" for one in sorted(map(str, set(has) - set(wants)))]
        lines += [f"no {words}: {one}" for one in sorted(map(str, set(wants) - set(has)))]
    return lines


def main(arguments: Sequence[str]) -> int:
    """Print the profile, or the differences to a named one; the number is the exit status."""
    told = profile_of(current_driver().best)
    if not arguments:
        print(json.dumps(described(told), indent=2))
        return 0
    lines = differences(told, profile_named(arguments[0]))
    print("\n".join(lines) or f"{told.says} is as the profile {arguments[0]} says")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
