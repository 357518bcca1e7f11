"""Binding: the arguments of a launch, checked against the parameters, as values that an executor works on.

Every argument is checked against its parameter's type and promises, and everything that is wrong with any of them is
reported in one `LaunchError`. A launch works on private memory (`arguments.claims`): the caller's arrays change in
`Bound.commit`, and only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from girih.analysis.effects import written_parameters
from girih.analysis.tensor_maps import MapUse, map_uses
from girih.arguments.bound import BoundGroup, BoundMap, BoundMemRef
from girih.arguments.claims import Claim, allocate, commit
from girih.arguments.groups import Group, Shape, group_offset, group_shapes, part_of_member
from girih.arguments.layout import claim_array, null_claim
from girih.arguments.names import wrong_count
from girih.arguments.report import BIND_CODES, ArgumentPlace, ArgumentReport, DeviceReach, WrittenPlace, numbers
from girih.arguments.scalars import DTYPES, bind_scalar
from girih.arguments.sharing import refuse_shared_members
from girih.diagnostics import InternalError, LaunchError, plural
from girih.ir.core import Function, Order, Parameter, WrittenParameter
from girih.ir.types import Boolean, GroupType, MemRef, Number, TensorMapType, Type
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

if TYPE_CHECKING:
    from girih.addressing import TensorMap

__all__ = [
    "BIND_CODES",
    "DTYPES",
    "Accepted",
    "Bound",
    "BoundGroup",
    "BoundMemRef",
    "Group",
    "GroupClaim",
    "MapClaim",
    "ParameterSpec",
    "Uninitialized",
    "accept",
    "bind",
    "claims_of",
    "specification",
    "specifications",
    "uninitialized",
]


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """A parameter as binding sees it: its type, its promises, what the kernel does with it, its order of axes.

    `alignment` is in bytes; `shape_gcd` and `stride_gcd` may be shorter than the order (003 "Attributes" of memrefs;
    on a group they hold for every member). `order_in_text` tells an order that the text says from one of the program.
    Members of a group may be one memory if it is `aliased`. `parameter` is that of a kernel that is no text.
    """

    name: str
    type: Type
    span: Span = NOWHERE
    alignment: int | None = None
    shape_gcd: tuple[int, ...] = ()
    stride_gcd: tuple[int, ...] = ()
    written: bool = False
    uses: tuple[MapUse, ...] = ()
    order: Order = "F"
    order_in_text: bool = False
    aliased: bool = False
    parameter: WrittenParameter | None = None

    def place(self, position: int) -> ArgumentPlace:
        """The place of the argument, whose number counts from 1."""
        if self.parameter is not None:
            return WrittenPlace.of(self.parameter, self.span, self.order)
        return ArgumentPlace(self.name, position, self.span, self.order, self.order_in_text)


@dataclass(frozen=True, slots=True)
class Uninitialized:
    """An array, or a list of arrays, whose contents must not be read before they are written."""

    array: object


def uninitialized(array: object) -> Uninitialized:
    """An argument that marks an array, or a list of arrays, as not to be read before it is written.

    `array` is what the launch would take without the mark. The interpreter stops a kernel that reads an unwritten
    element with the finding `run.uninitialized`; compiled code ignores the mark. The mark counts for all arguments that
    share the memory; elements that the kernel does not write keep their values.
    """
    return Uninitialized(array)


@dataclass(slots=True)
class Bound:
    """The arguments of a launch, one per parameter: a scalar of shape (1, 1, 1), a memref, a group, a tensor map."""

    values: list[NDArray[Any] | BoundMemRef | BoundGroup | BoundMap]
    claims: list[Claim] = field(default_factory=list, repr=False)

    def commit(self) -> None:
        """Write the results into the caller's arrays, those of written parameters only."""
        commit(self.claims)


@dataclass(slots=True)
class GroupClaim:
    """A group that was accepted but has no memory yet."""

    members: list[Claim]
    null: bool
    size: int

    def bound(self) -> BoundGroup:
        return BoundGroup(tuple(claim.bound() for claim in self.members), self.null, self.size)


@dataclass(slots=True)
class MapClaim:
    """A tensor map that was accepted; `claim` asks for the bytes of its tensor."""

    tensor_map: TensorMap
    claim: Claim

    def bound(self) -> BoundMap:
        assert self.claim.elements is not None
        return BoundMap(self.tensor_map, self.claim.elements)


Accepted = NDArray[Any] | Claim | GroupClaim | MapClaim
"""An argument that suits its parameter: a scalar of shape (1, 1, 1), a memref, a group or a tensor map."""


def specifications(function: Function) -> list[ParameterSpec]:
    """The specifications of a kernel's parameters."""
    written, uses = written_parameters(function), map_uses(function)
    said = function.attributes.entry("order")
    in_text = said is not None and bool(said.span.text)
    return [
        replace(
            specification(p, written=p.value in written, uses=uses.get(p.value, ())),
            order=function.order,
            order_in_text=in_text,
            aliased=function.language.name == "device",
            parameter=None if function.reader is None else function.reader.parameter(p.name),
        )
        for p in function.parameters
    ]


def specification(parameter: Parameter, *, written: bool, uses: tuple[MapUse, ...] = ()) -> ParameterSpec:
    """The specification of a kernel's parameter, with the promises of its attributes."""
    alignment = parameter.attributes.get("alignment")
    return ParameterSpec(
        parameter.name,
        parameter.type,
        parameter.span,
        alignment if isinstance(alignment, int) else None,
        _integers(parameter, "shape_gcd"),
        _integers(parameter, "stride_gcd"),
        written,
        uses,
    )


def _integers(parameter: Parameter, key: str) -> tuple[int, ...]:
    value = parameter.attributes.get(key)
    return tuple(x for x in value if isinstance(x, int)) if isinstance(value, tuple) else ()


def bind(parameters: Sequence[ParameterSpec], arguments: Sequence[object]) -> Bound:
    """The arguments of a launch, checked against the parameters (003 "Types"), in private memory.

    Mode i of a memref is axis i of its array, in order C counted from the last one. Raises `LaunchError` with
    everything that is wrong; `BIND_CODES` lists the codes.
    """
    accepted = accept(parameters, arguments)
    claims = [claim for item in accepted for claim in claims_of(item)]
    allocate(claims)
    return Bound([_value(item) for item in accepted], claims)


def accept(
    parameters: Sequence[ParameterSpec], arguments: Sequence[object], reach: DeviceReach | None = None
) -> list[Accepted]:
    """The arguments of a launch, checked against the parameters (003 "Types"), in the caller's memory.

    Nothing is copied, and marks of `uninitialized` do not count. A launch on a device, `reach`, takes arrays there,
    too. Raises `LaunchError` with everything that is wrong.
    """
    report = ArgumentReport(reach=reach)
    accepted = _accept_all(parameters, arguments, report)
    groups = [item for item in accepted if isinstance(item, GroupClaim)]
    if groups and not report.diagnostics:
        pairs = zip(parameters, accepted, strict=True)
        claims = [claim for spec, item in pairs for claim in _memories(spec, item)]
        refuse_shared_members(claims, [claim for group in groups for claim in group.members], report)
    if report.diagnostics:
        raise LaunchError(report.diagnostics)
    return accepted


def _accept_all(
    parameters: Sequence[ParameterSpec], arguments: Sequence[object], report: ArgumentReport
) -> list[Accepted]:
    """The arguments that suit their parameters; everything that is wrong with the others is reported."""
    if len(parameters) != len(arguments):
        report.diagnostics.append(wrong_count(parameters, len(arguments)))
    pairs = enumerate(zip(parameters, arguments, strict=False), 1)
    accepted = [_accept(spec, value, spec.place(number), report) for number, (spec, value) in pairs]
    return [item for item in accepted if item is not None]


def claims_of(item: Accepted) -> Sequence[Claim]:
    """The arrays of an argument that need memory: one for a memref, those of the members for a group."""
    if isinstance(item, GroupClaim):
        return item.members
    if isinstance(item, MapClaim):
        return (item.claim,)
    return (item,) if isinstance(item, Claim) else ()


def _memories(spec: ParameterSpec, item: Accepted) -> Sequence[Claim]:
    """The arrays of an argument that must be memories of their own: of members that may be one memory, the first."""
    claims = claims_of(item)
    if not spec.aliased or not isinstance(item, GroupClaim):
        return claims
    first: dict[tuple[object, ...], Claim] = {}
    for claim in claims:
        first.setdefault((claim.start, claim.shape, claim.strides) if claim.extent else (claim,), claim)
    return list(first.values())


def _value(item: Accepted) -> NDArray[Any] | BoundMemRef | BoundGroup | BoundMap:
    return item.bound() if isinstance(item, Claim | GroupClaim | MapClaim) else item


def _accept(spec: ParameterSpec, value: object, place: ArgumentPlace, report: ArgumentReport) -> Accepted | None:
    match spec.type:
        case Boolean() | Number():
            return bind_scalar(spec.type, value, place, report)
        case MemRef():
            return _accept_memref(spec, spec.type, value, place, report)
        case GroupType():
            return _accept_group(spec, spec.type, value, place, report)
        case TensorMapType():
            return _accept_map(spec, spec.type, value, place, report)
        case _:
            raise InternalError(f"a parameter of type {spec.type} cannot be bound")


def _accept_memref(
    spec: ParameterSpec, type: MemRef, value: object, place: ArgumentPlace, report: ArgumentReport,
    right: Claim | None = None,
) -> Claim | None:  # fmt: skip
    value, marked = _unwrap(value, False)
    if value is None:
        return null_claim(type, place)
    claim = claim_array(type, value, place, report, written=spec.written, right=right)
    if claim is None:
        return None
    claim.uninitialized = marked
    _check_promises(spec, claim, report)
    return claim


def _accept_map(
    spec: ParameterSpec, type: TensorMapType, value: object, place: ArgumentPlace, report: ArgumentReport
) -> MapClaim | None:
    # The address models are imported by kernels that need them only.
    from girih.arguments.tensor_maps import accepted_memory

    value, marked = _unwrap(value, False)
    accepted = accepted_memory(type, value, spec.uses, place, report)
    if accepted is None:
        return None
    given, memory = accepted
    return MapClaim(given, Claim(place, memory.dtype, memory, memory.shape, (1,), spec.written, marked))


def _unwrap(value: object, marked: bool) -> tuple[object, bool]:
    while isinstance(value, Uninitialized):
        value, marked = value.array, True
    return value, marked


def _accept_group(
    spec: ParameterSpec, type: GroupType, value: object, place: ArgumentPlace, report: ArgumentReport
) -> GroupClaim | None:
    value, marked = _unwrap(value, False)
    if value is None:
        return GroupClaim([], True, type.size or 0)
    offset: int | None = None
    shapes: object = None
    if isinstance(value, Group):
        offset, shapes = value.offset, value.shapes
        value, marked = _unwrap(value.arrays, marked)
    if not isinstance(value, list | tuple):
        hint = f"pass [{place.name}] for one array" if isinstance(value, np.ndarray) else None
        report.add(
            "bind.type", place, f"{place.declared(type)} takes a list of arrays; got {value.__class__.__name__}", hint
        )
        return None
    if type.size is not None and len(value) != type.size:
        report.add(
            "bind.group_size", place, f"{place.declared(type)} takes {plural(type.size, 'array')}; got {len(value)}"
        )
    moved = group_offset(type, offset, place, report)
    said = group_shapes(type, shapes, len(value), place, report)
    if moved is None or said is None:
        return None
    members: list[Claim] = []
    right: Claim | None = None
    for number, (member, shape) in enumerate(zip(value, said, strict=True)):
        problems = len(report.diagnostics)
        claim = _accept_member(
            spec, type.memref, member, moved, shape, place.member(number), report, marked=marked, right=right
        )
        if claim is not None:
            members.append(claim)
            right = claim if len(report.diagnostics) == problems else right
    return GroupClaim(members, False, len(value))


def _accept_member(
    spec: ParameterSpec,
    type: MemRef,
    value: object,
    offset: int,
    shape: Shape | None,
    place: ArgumentPlace,
    report: ArgumentReport,
    *,
    marked: bool,
    right: Claim | None,
) -> Claim | None:
    """The memref in a member of a group: the whole member without an offset and a shape; `right` is another's."""
    value, marked = _unwrap(value, marked)
    if value is not None and (offset or shape is not None):
        right = None
        part = part_of_member(type, value, offset, shape, place, report)
        if part is None:
            return None
        value = part.T if place.order == "C" else part
    return _accept_memref(spec, type, Uninitialized(value) if marked else value, place, report, right)


def _check_promises(spec: ParameterSpec, claim: Claim, report: ArgumentReport) -> None:
    """Report broken promises on alignment and divisors (003 "Alignment attribute", "Greatest common divisor")."""
    if claim.array is None or not claim.extent:
        return
    remainder = claim.start % (spec.alignment or 1)
    if remainder:
        message = f"its data starts {remainder} bytes after a multiple of the promised alignment={spec.alignment}"
        hint = f"let the array start at a multiple of {spec.alignment} bytes in its buffer, or promise less"
        report.add("bind.alignment", claim.place, message, hint)
    sizes = [
        f"{claim.place.mode(i, len(claim.shape))} has size {size}, no multiple of {divisor}"
        for i, (size, divisor) in enumerate(zip(claim.shape, spec.shape_gcd, strict=False))
        if size % divisor
    ]
    if sizes:
        shape = numbers(claim.place.by_axis(claim.shape))
        message = f"shape_gcd={list(spec.shape_gcd)} is broken by shape {shape}: {', '.join(sizes)}"
        report.add("bind.shape_gcd", claim.place, message, "pass sizes that keep the promise, or promise less")
    strides = [
        f"{claim.place.mode(i, len(claim.shape))} has stride {stride}, no multiple of {divisor}"
        for i, (stride, divisor) in enumerate(zip(claim.strides, spec.stride_gcd, strict=False))
        if stride % divisor and claim.shape[i] > 1
    ]
    if strides:
        message = (
            f"stride_gcd={list(spec.stride_gcd)} is broken by strides {numbers(claim.place.by_axis(claim.strides))}"
        )
        hint = "allocate the array with strides that keep the promise, or promise less"
        report.add("bind.stride_gcd", claim.place, f"{message}: {', '.join(strides)}", hint)
