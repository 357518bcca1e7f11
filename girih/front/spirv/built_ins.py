"""The translation of built-in variables (SPIR-V 3.21): where a work-item stands, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BOOL, I32, INDEX
from girih.ops.device.subgroup import WORDS

AXES = range(3)
Component = Callable[[Translation, int], Value]
"""What makes a component of a built-in."""


def _group(mnemonic: str) -> Component:
    def component(t: Translation, axis: int) -> Value:
        return t.one("cast", I32, a=t.one(mnemonic, INDEX, axis=axis))

    return component


def _invocation(mnemonic: str) -> Component:
    def component(t: Translation, axis: int) -> Value:
        return t.one(mnemonic, I32, axis=axis, sizes=t.local_size)

    return component


def _size(t: Translation, axis: int) -> Value:
    return t.constant(t.local_size[axis], I32)


def _number(mnemonic: str) -> Component:
    return lambda t, _: t.one(mnemonic, I32)


def _zero(t: Translation, axis: int) -> Value:
    return t.constant(0, I32)


VECTORS: dict[str, Component] = {
    "WorkgroupId": _group("group_id"),
    "NumWorkgroups": _group("num_groups"),
    "WorkgroupSize": _size,
    "LocalInvocationId": _invocation("local_id"),
    "GlobalInvocationId": _invocation("global_id"),
}
"""The built-ins of three components, along x, y and z."""

NUMBERS: dict[str, Component] = {
    "LocalInvocationIndex": _number("local_index"),
    "SubgroupId": _number("subgroup_linear_id"),
    "NumSubgroups": lambda t, _: t.one("num_subgroups", I32, axis=0),
    "SubgroupSize": _number("subgroup_size"),
    "SubgroupLocalInvocationId": _number("subgroup_local_id"),
    "DeviceIndex": _zero,
    "ViewIndex": _zero,
}
"""The built-ins that are one number. There is one device and one view."""

MASKS = {
    "SubgroupEqMask": "equal",
    "SubgroupGeMask": "greater_equal",
    "SubgroupGtMask": "greater",
    "SubgroupLeMask": "less_equal",
    "SubgroupLtMask": "less",
}
"""The built-ins that are ballots."""

NAMES = frozenset((*VECTORS, *NUMBERS, *MASKS))
"""The built-ins of compute shaders that can be loaded; others are refused before anything runs."""


def built_in(t: Translation, name: str, component: int | Value | None = None) -> Sequence[Value]:
    """The leaves of a built-in, or of one of its components; a value as its number is of index type.

    Raises `KeyError` for a built-in that compute shaders do not have.
    """
    if name in NUMBERS:
        return (NUMBERS[name](t, 0),)
    if isinstance(component, int) and name in VECTORS:
        return (VECTORS[name](t, component),)
    if name in MASKS:
        leaves: Sequence[Value] = t.emit("subgroup_mask", *(I32,) * WORDS, relation=MASKS[name])
    else:
        make = VECTORS[name]
        leaves = [make(t, axis) for axis in AXES]
    if component is None:
        return leaves
    if isinstance(component, int):
        return (leaves[component],)
    return (_chosen(t, leaves, component),)


def _chosen(t: Translation, leaves: Sequence[Value], number: Value) -> Value:
    """The leaf with a number that is known only at run time; the first for one that there is not."""
    chosen = leaves[0]
    for at, leaf in enumerate(leaves[1:], 1):
        here = t.one("equal", BOOL, a=number, b=t.index(at))
        chosen = t.one("select", leaf.type, condition=here, a=leaf, b=chosen)
    return chosen
