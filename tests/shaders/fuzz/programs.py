"""Random compute shaders: what they declare, and the arrays that they are launched with."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from tests.shaders.fuzz.expressions import PRELUDE, Expressions, Function, Variable
from tests.shaders.fuzz.statements import Place, Statements
from tests.shaders.fuzz.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    NARROW,
    UINT,
    WIDE,
    Array,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    declared,
    words_of,
)

EXTENSIONS = """#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
"""
BYTES = 8192
"""The bytes of the buffers that are read, and of those that have one record a work-item, at least."""
NOTES = 2


@dataclass(frozen=True)
class Program:
    """A shader, and what it is launched with: arrays of bytes by binding of set 0, and the bytes of push constants."""

    seed: int
    text: str
    grid: tuple[int, int, int]
    buffers: tuple[NDArray[np.uint8], ...]
    push: bytes
    definitions: dict[int, int]
    subgroups: bool
    apart: bool
    """Whether work-items may take push constants at different indices."""


def structs(random: Random, scalars: list[Scalar]) -> tuple[Struct, ...]:
    """Structs, of which later ones have earlier ones as members."""
    made: list[Struct] = []
    for number in range(random.randint(1, 3)):
        members = []
        for place in range(random.randint(1, 4)):
            inner = made if made and random.random() < 0.5 else None
            type: Type = random.choice(made) if inner else leaf(random, scalars)
            for _ in range(random.choice((0, 0, 1, 1, 2))):
                longer = Array(type, random.choice((2, 3, 4)))
                type = longer if words_of(longer) <= 40 else type
            members.append((f"m{place}", type))
        made.append(Struct(f"S{number}", tuple(members)))
    return tuple(made)


def leaf(random: Random, scalars: list[Scalar]) -> Type:
    """A scalar, vector or matrix."""
    way = random.randrange(4)
    scalar = random.choice(scalars)
    if way == 0:
        return Matrix(random.randint(2, 4), random.randint(2, 4))
    if way == 1:
        return Vector(random.choice((INT, UINT, FLOAT)), random.randint(2, 4))
    return Vector(scalar, random.randint(2, 4)) if way == 2 and scalar is not DOUBLE else scalar


def bytes_of(seed: int, count: int) -> NDArray[np.uint8]:
    """Bytes, half of the words of which are floats of few bits."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**32, count // 4, np.uint32)
    floats = (random.integers(-256, 256, count // 4).astype(np.float32) / 4).view(np.uint32)
    small = random.integers(0, 8, count // 4).astype(np.uint32)
    sort = random.integers(0, 4, count // 4)
    return np.where(sort < 2, floats, np.where(sort == 2, small, words)).astype(np.uint32).view(np.uint8).copy()


SIZES = ((8, 1, 1), (32, 1, 1), (4, 2, 3), (5, 1, 1), (1, 1, 1), (16, 2, 2))
"""The work-group sizes."""
SUBGROUPS = ((8, 1, 1), (24, 1, 1), (40, 1, 1))
"""Those where subgroups have eight work-items, on the executors of this package as on those of 256-bit vectors."""


def program(seed: int) -> Program:
    """The shader of a seed."""
    random = Random(seed)
    scalars: list[Scalar] = [INT, UINT, FLOAT]
    integers: list[Scalar] = [INT, UINT]
    for more in (NARROW, WIDE):
        if random.random() < 0.4:
            scalars += more
            integers += more
    doubles = random.random() < 0.15
    if doubles:
        scalars.append(DOUBLE)
    subgroups, shared, atomics = random.random() < 0.35, random.random() < 0.5, random.random() < 0.5
    size = random.choice(SUBGROUPS if subgroups else SIZES)
    items = size[0] * size[1] * size[2]
    grid = random.choice(((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 1, 2)))
    total = items * grid[0] * grid[1] * grid[2]
    made = structs(random, scalars)
    record, given = random.choice(made), random.choice(made)
    types = tuple(types_of(random, scalars, made))
    privates = [Variable(f"g{k}", random.choice(types)) for k in range(random.randint(0, 3))]

    e = Expressions(random, tuple(integers), doubles, apart=random.random() < 0.2)
    s = Statements(e, types, items, atomics, shared, subgroups)
    lines = [EXTENSIONS, f"layout(local_size_x = {size[0]}, local_size_y = {size[1]}, local_size_z = {size[2]}) in;"]
    lines += [structs_text(made), *memory_text(random, record, given, total), *(shared_text(items) if shared else ())]
    lines += [PRELUDE, *(f"{declared(one.type, one.name)};" for one in privates)]
    e.variables = [*variables(given), *privates]
    for number in range(random.randint(0, 3)):
        modes = [random.choice(("in", "in", "out", "inout")) for _ in range(random.randint(0, 3))]
        parameters = tuple((mode, random.choice(types)) for mode in modes)
        function = Function(f"f{number}", random.choice((None, UINT, INT, FLOAT, random.choice(types))), parameters)
        lines += s.function(function)
        e.functions.append(function)
    e.variables = variables(given)
    lines += main(s, privates, record, items)

    buffers = (
        bytes_of(seed, BYTES), np.zeros(total * NOTES * 4, np.uint8), bytes_of(seed + 1, max(BYTES, total * 2048)),
        bytes_of(seed + 2, 48),
    )  # fmt: skip
    push = bytes_of(seed + 3, 40).tobytes()
    definitions = {0: random.randrange(9)} if random.random() < 0.5 else {}
    return Program(seed, "\n".join(lines) + "\n", grid, buffers, push, definitions, subgroups, e.apart)


def variables(given: Struct) -> list[Variable]:
    """What every function may read."""
    return [
        Variable("source.given", given, written=False, raw=True), Variable("source.more", Array(given, 3), False, True),
        Variable("pushed.a", UINT, False), Variable("pushed.c", Vector(INT, 2), False),
        Variable("pushed.m", Matrix(2, 3), False, True), Variable("SPEC", INT, False),
        Variable("gl_GlobalInvocationID", Vector(UINT, 3), False), Variable("lid", UINT, False),
    ]  # fmt: skip


def memory_text(random: Random, record: Struct, given: Struct, total: int) -> list[str]:
    """The declarations of buffers, push constants and constants."""
    rows = random.choice(("", ", row_major"))
    read, written = random.choice(("std430", "std140", "scalar")), random.choice(("std430", "std430", "scalar"))
    source, records = f"layout({read}{rows}, binding = 0)", f"layout({written}{random.choice((rows, ''))}, binding = 2)"
    return [
        "layout(constant_id = 0) const int SPEC = 3;",
        f"{source} readonly buffer Source {{ {given.name} given; {given.name} more[3]; }} source;",
        "layout(std430, binding = 1) buffer Result { uint result[]; };",
        f"{records} buffer Records {{ {record.name} records[{total}]; }};",
        "layout(std430, binding = 3) buffer Counters { uint global_counters[12]; };",
        "layout(push_constant, std430) uniform Pushed",
        "{ uint a; int b; ivec2 c; layout(row_major) mat2x3 m; } pushed;",
    ]


def shared_text(items: int) -> list[str]:
    """The declarations of memory of the work-group."""
    return [
        f"shared uint local_numbers[{items}];",
        f"shared float local_floats[{items}];",
        "shared uint local_counters[12];",
        "struct Inner { float x; int number; };",
        "struct Outer { vec3 v; Inner inner[2]; };",
        f"shared Outer local_structs[{items}];",
    ]


def main(s: Statements, privates: list[Variable], record: Struct, items: int) -> list[str]:
    """The lines of the entry point."""
    e, place = s.expressions, Place(uniform=True)
    s.lines, e.calls, e.fuel = [], 0, 10
    for one in privates:
        s.write(place, f"{one.name} = {e.value(one.type, 1)};")
        e.variables.append(one)
    e.variables.append(Variable("records[at]", record, written=True, raw=True))
    e.calls = 8
    s.body(place, 7)
    returns = e.random.random() < 0.3
    if returns:
        s.write(place, f"if ({e.boolean(2)}) {{ result[at * {NOTES}u] = noted; return; }}")
    zeros = ["    if (lid == 0u) { for (int i = 0; i < 12; ++i) local_counters[i] = 77u; }", "    barrier();"]
    counters = [
        "    barrier();",
        "    put(local_counters[0] + local_counters[1] + local_counters[2] + local_counters[6]);",
    ]
    return [
        "void main() {",
        "    lid = gl_LocalInvocationIndex;",
        "    uint same = pushed.a & 7u;",
        "    uint row = gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z;",
        f"    uint at = (gl_WorkGroupID.x + gl_NumWorkGroups.x * row) * {items}u + lid;",
        *(zeros if s.shared else ()),
        *s.lines,
        *(counters if s.shared and not returns else ()),
        f"    result[at * {NOTES}u] = noted;",
        f"    result[at * {NOTES}u + 1u] = uint(result.length());",
        "}",
    ]


def structs_text(made: tuple[Struct, ...]) -> str:
    """The declarations of structs."""
    return "\n".join(
        f"struct {one.name} {{ {' '.join(f'{declared(type, name)};' for name, type in one.members)} }};" for one in made
    )


def types_of(random: Random, scalars: list[Scalar], made: tuple[Struct, ...]) -> list[Type]:
    """The types of variables."""
    found: list[Type] = [*scalars, INT, UINT, BOOL, *made, Matrix(2, 2), Matrix(3, 4)]
    found += [Vector(random.choice((INT, UINT, FLOAT)), size) for size in (2, 3, 4)]
    for _ in range(4):
        found.append(Array(random.choice(found), random.choice((2, 3, 4))))
    return [type for type in found if words_of(type) <= 40]
