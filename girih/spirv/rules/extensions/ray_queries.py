"""Rules about ray queries in shaders of any stage: what they are asked with, and the types of their answers."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import words_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    Subject,
    is_32_bit_integer,
    is_bool,
    present,
    satisfies,
    type_of,
)
from girih.spirv.types import Array, Float, Matrix, Opaque, Pointer, Type, Vector
from girih.spirv.values import ALL_CONSTANTS

KHR, POSITIONS = "SPV_KHR_ray_query", "SPV_KHR_ray_tracing_position_fetch"
SPHERES, CLUSTERS = "SPV_NV_linear_swept_spheres", "SPV_NV_cluster_acceleration_structure"

OPACITY, OPACITY_FLAG = "RayTracingOpacityMicromapEXT", "ForceOpacityMicromap2StateEXT"

BEYOND = {POSITIONS: "spirv-val of 2025 does not look at the result"}

GET = "OpRayQueryGetIntersection"
POINTERS = frozenset({
    "OpVariable", "OpFunctionParameter", "OpAccessChain", "OpInBoundsAccessChain", "OpUntypedVariableKHR",
    "OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR",
})  # fmt: skip
"""What a ray query is reached by: a variable or a parameter, or an element of one that is an array."""


def _is_float(type: Type) -> bool:
    return isinstance(type, Float) and type.width == 32 and type.encoding is None


def _is_vector(type: Type, count: int) -> bool:
    return isinstance(type, Vector) and type.count == count and _is_float(type.component)


def _is_transform(type: Type) -> bool:
    return isinstance(type, Matrix) and type.count == 4 and _is_vector(type.column, 3)


def _is_list(type: Type, length: int, *, of_points: bool) -> bool:
    if not isinstance(type, Array) or type.length not in (length, None):
        return False
    return _is_vector(type.element, 3) if of_points else _is_float(type.element)


TYPES = {
    "bool": ("a boolean", is_bool),
    "int": ("a 32-bit integer", is_32_bit_integer),
    "float": ("a 32-bit float", _is_float),
    "pair": ("a vector of 2 32-bit floats", lambda type: _is_vector(type, 2)),
    "point": ("a vector of 3 32-bit floats", lambda type: _is_vector(type, 3)),
    "transform": ("a matrix of 4 columns, each a vector of 3 32-bit floats", _is_transform),
    "two_points": ("an array of 2 vectors of 3 32-bit floats", lambda type: _is_list(type, 2, of_points=True)),
    "three_points": ("an array of 3 vectors of 3 32-bit floats", lambda type: _is_list(type, 3, of_points=True)),
    "two_floats": ("an array of 2 32-bit floats", lambda type: _is_list(type, 2, of_points=False)),
    "accel": ("an acceleration structure",
              lambda type: isinstance(type, Opaque) and type.name == "OpTypeAccelerationStructureKHR"),
}  # fmt: skip
"""Types of operands and results, in words and as tests."""

ANSWERS = (
    ("bool", KHR, "OpRayQueryProceedKHR {}FrontFaceKHR {}CandidateAABBOpaqueKHR"),
    ("bool", SPHERES, "OpRayQueryIsSphereHitNV OpRayQueryIsLSSHitNV"),
    ("int", KHR, "{}TypeKHR {}InstanceCustomIndexKHR {}InstanceIdKHR {}GeometryIndexKHR {}PrimitiveIndexKHR "
                 "{}InstanceShaderBindingTableRecordOffsetKHR OpRayQueryGetRayFlagsKHR"),
    ("int", CLUSTERS, "{}ClusterIdNV"),
    ("float", KHR, "{}TKHR OpRayQueryGetRayTMinKHR"),
    ("float", SPHERES, "{}SphereRadiusNV {}LSSHitValueNV"),
    ("pair", KHR, "{}BarycentricsKHR"),
    ("point", KHR, "{}ObjectRayDirectionKHR {}ObjectRayOriginKHR OpRayQueryGetWorldRayDirectionKHR "
                   "OpRayQueryGetWorldRayOriginKHR"),
    ("point", SPHERES, "{}SpherePositionNV"),
    ("transform", KHR, "{}ObjectToWorldKHR {}WorldToObjectKHR"),
    ("two_points", SPHERES, "{}LSSPositionsNV"),
    ("two_floats", SPHERES, "{}LSSRadiiNV"),
    ("three_points", POSITIONS, "{}TriangleVertexPositionsKHR"),
)  # fmt: skip
"""The instructions that ask a query, by the type of the answer and the extension; `{}` begins their names."""

OF_THE_QUERY = frozenset({
    "OpRayQueryProceedKHR", "OpRayQueryGetIntersectionCandidateAABBOpaqueKHR", "OpRayQueryGetRayFlagsKHR",
    "OpRayQueryGetRayTMinKHR", "OpRayQueryGetWorldRayDirectionKHR", "OpRayQueryGetWorldRayOriginKHR",
})  # fmt: skip
"""Those among them that ask about no intersection."""

DOING = "OpRayQueryInitializeKHR OpRayQueryTerminateKHR OpRayQueryConfirmIntersectionKHR " \
        "OpRayQueryGenerateIntersectionKHR"  # fmt: skip
ASKING = " ".join(names.replace("{}", GET) for _, _, names in ANSWERS)
ASKING_INTERSECTIONS = " ".join(name for name in ASKING.split() if name not in OF_THE_QUERY)


def _no_query(subject: Subject[Facts]) -> str | None:
    """What an operand is that points to no ray query."""
    facts, id = subject.facts, present(subject, "ray_query")
    made, type = facts.definition(id), facts.type_of(id)
    if not isinstance(type, Pointer):
        return type.words
    if made.name not in POINTERS:
        return f"the result of {made.name}"
    pointee = facts.pointee(type) if type.pointee_id else None
    if pointee is None or (isinstance(pointee, Opaque) and pointee.name == "OpTypeRayQueryKHR"):
        return None
    return f"a pointer to {pointee.words}"


def _no_constant(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, present(subject, "intersection")
    made, type = facts.defined_by(id), facts.type_of(id)
    if not is_32_bit_integer(type):
        return type.words
    return None if made in ALL_CONSTANTS else f"the result of {made}"


def _opacity_without_capability(subject: Subject[Facts]) -> str | None:
    flags = subject.facts.integer(present(subject, "ray_flags"))
    if not flags & grammar().kinds["RayFlags"].value(OPACITY_FLAG) or subject.facts.has(OPACITY):
        return None
    return f"{OPACITY_FLAG} without capability {OPACITY}"


def _operand(name: str, kind: str) -> SpirvRow:
    words, test = TYPES[kind]
    return rule(name, name, satisfies(type_of(name), f"is {words}", test), f"{words} as {words_of(name)}", KHR)


def _answer(kind: str, source: str) -> SpirvRow:
    words, test = TYPES[kind]
    holds = satisfies(RESULT_TYPE, f"is {words}", test)
    return rule("result", "result_type", holds, f"{words} as result", source, beyond=BEYOND.get(source))


FAMILIES = (
    family(
        f"{DOING} {ASKING}",
        rule("ray_query", "ray_query", Finds("Ray Query points to a ray query", _no_query),
             "a variable or parameter that is a ray query, or an element of one", KHR),
    ),
    family(
        "OpRayQueryInitializeKHR",
        _operand("accel", "accel"),
        *(_operand(name, "int") for name in ("ray_flags", "cull_mask")),
        rule("opacity", "ray_flags", Finds(f"with {OPACITY_FLAG}: capability {OPACITY}", _opacity_without_capability),
             "the capability that the flag needs", "SPV_EXT_opacity_micromap",
             beyond="spirv-val of 2025 does not look at the flags"),
        *(_operand(name, "point") for name in ("ray_origin", "ray_direction")),
        *(_operand(name, "float") for name in ("ray_t_min", "ray_t_max")),
    ),
    family("OpRayQueryGenerateIntersectionKHR", _operand("hit_t", "float")),
    family(
        ASKING_INTERSECTIONS,
        rule("intersection", "intersection", Finds("Intersection is a constant 32-bit integer", _no_constant),
             "a constant 32-bit integer: 0 for the candidate, 1 for the committed intersection", KHR),
    ),
    *(family(names.replace("{}", GET), _answer(kind, source)) for kind, source, names in ANSWERS),
)  # fmt: skip
