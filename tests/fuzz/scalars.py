"""Instructions on scalars, and on cooperative matrices component by component."""

from __future__ import annotations

import math
from dataclasses import replace

from girih.ir.types import (
    BOOL,
    F8E4M3,
    F16,
    F64,
    I32,
    INDEX,
    PARTS,
    Boolean,
    CoopMatrix,
    Number,
    Type,
    Use,
    element_type,
)
from tests.fuzz.generate import CAST, COMPLEX, FLOATING, INTEGERS, NUMBERS, SCALAR_TYPES, STORED, Emitter, Generator
from tests.fuzz.tracked import Alike, Interval, Scope, Tracked, epsilon, number_limit

ARITHMETIC = ("add", "sub", "mul", "div", "rem", "max", "min", "shl", "shr", "and", "or", "xor")
_BITS = ("and", "or", "xor")
_SHIFTS = ("shl", "shr")
_REAL = ("rem", "max", "min")
_SMOOTH = ("add", "sub", "mul", "max", "min")
_DIVISIONS = ("div", "rem")

COMPARISONS = ("equal", "not_equal", "greater_than", "greater_than_equal", "less_than", "less_than_equal")
PERIODIC = ("cos", "sin", "native_cos", "native_sin")
EXPONENTIAL = ("exp", "exp2", "native_exp", "native_exp2")
LOGARITHMIC = ("log", "log2", "native_log", "native_log2")
LARGEST_ARGUMENTS = {"sqrt": 1000.0, "rsqrt": 1000.0, "erf": 1000.0, "tanh": 1.45}
"""How large the arguments of other functions may be; the poles of the complex hyperbolic tangent are at pi / 2 i."""
NATIVE = 2.0**-15
"""How far results of native functions may be apart as looseness, which 64 roundings go into: 2^-10, twice."""

SUBGROUP = tuple(f"subgroup_{form}_{what}" for form in ("exclusive_scan", "inclusive_scan", "reduce")
                 for what in ("add", "max", "min"))  # fmt: skip


def scalar_type(type: Type) -> Number | Boolean:
    """The scalar in a scalar or matrix type."""
    found = element_type(type)
    assert found is not None
    return found


def bounded(type: Type, magnitude: float) -> float:
    """A magnitude, infinite where a value may overflow."""
    return magnitude if magnitude <= number_limit(type) else math.inf


def _interval(mnemonic: str, type: Type, a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return None
    found: list[int]
    match mnemonic:
        case "add":
            found = [a[0] + b[0], a[1] + b[1]]
        case "sub":
            found = [a[0] - b[1], a[1] - b[0]]
        case "mul":
            found = sorted(x * y for x in a for y in b)
        case "max":
            found = [max(a[0], b[0]), max(a[1], b[1])]
        case "min":
            found = [min(a[0], b[0]), min(a[1], b[1])]
        case _:
            return None
    bits = 8 * type.size - 1 if isinstance(type, Number) else 0
    return (found[0], found[-1]) if -(2**bits) < found[0] and found[-1] < 2**bits else None


def binary_magnitude(mnemonic: str, type: Type, a: Tracked, b: Tracked) -> float:
    """A bound of the result of a binary operation."""
    match mnemonic:
        case "add" | "sub":
            return bounded(type, a.magnitude + b.magnitude)
        case "mul":
            return bounded(type, a.magnitude * b.magnitude) if a.magnitude and b.magnitude else 0.0
        case "max" | "min":
            return max(a.magnitude, b.magnitude)
        case "rem":
            return a.magnitude
        case _:
            return math.inf


def allowed_types(mnemonic: str) -> tuple[Number | Boolean, ...]:
    """The scalar types that a binary operation takes."""
    if mnemonic in _BITS:
        return (*INTEGERS, BOOL)
    if mnemonic in _SHIFTS:
        return INTEGERS
    return (*INTEGERS, *FLOATING) if mnemonic in _REAL else NUMBERS


def _second(g: Generator, scope: Scope, mnemonic: str, type: Number | Boolean) -> Tracked:
    if isinstance(type, Boolean) or type.family != "integer":
        return g.scalar(scope, type)
    if mnemonic in _SHIFTS:
        found = g.scalar(scope, type, lambda t: t.interval is not None and 0 <= t.interval[0] <= t.interval[1] < 8)
        fits = found.interval is not None and 0 <= found.interval[0] <= found.interval[1] < 8
        return found if fits else g.constant(scope, type, g.source.randint(0, 7))
    if mnemonic in _DIVISIONS:
        found = g.scalar(scope, type, lambda t: t.interval is not None and t.interval[0] > 0)
        fits = found.interval is not None and found.interval[0] > 0
        return found if fits else g.constant(scope, type, g.source.choice((-3, -1, 1, 2, 5)))
    return g.scalar(scope, type)


def binary(g: Generator, scope: Scope) -> bool:
    """A binary operation on scalars or matrices."""
    mnemonic = g.source.choice(ARITHMETIC)
    matrices = [m for m in scope.matrices if scalar_type(m.type) in allowed_types(mnemonic)]
    if matrices and not scope.inside_apply and g.chance(0.4) and mnemonic not in (*_SHIFTS, *_DIVISIONS):
        a = g.source.choice(matrices)
        return combine(g, scope, mnemonic, a, g.source.choice([m for m in matrices if m.type == a.type]))
    type = g.pick(allowed_types(mnemonic))
    a = g.scalar(scope, type)
    return combine(g, scope, mnemonic, a, _second(g, scope, mnemonic, type))


def combine(g: Generator, scope: Scope, mnemonic: str, a: Tracked, b: Tracked) -> bool:
    """Add a binary operation if its result is as well known as it must be."""
    type = scalar_type(a.type)
    magnitude = binary_magnitude(mnemonic, type, a, b)
    looseness = max(a.looseness, b.looseness)
    if type in COMPLEX and mnemonic in ("mul", "div"):
        looseness = max(looseness, epsilon(type))
    if mnemonic in ("add", "sub"):
        looseness = max(looseness, g.looseness_of_sum(type))
    keep = not looseness or (mnemonic in _SMOOTH and math.isfinite(magnitude))
    interval = _interval(mnemonic, type, a.interval, b.interval)
    g.number(scope, mnemonic, a.type, a, b, a=a.value, b=b.value, interval=interval,
             magnitude=magnitude, looseness=looseness, keep=keep)  # fmt: skip
    return True


def unary(g: Generator, scope: Scope) -> bool:
    """A unary operation on scalars or matrices."""
    mnemonic = g.source.choice(("abs", "neg", "not", "conj", "im", "re"))
    table: dict[str, tuple[Number | Boolean, ...]] = {"not": (*INTEGERS, BOOL), "abs": NUMBERS, "neg": NUMBERS}
    types = table.get(mnemonic, COMPLEX)
    matrices = [m for m in scope.matrices if scalar_type(m.type) in types]
    a = g.source.choice(matrices) if matrices and g.chance(0.4) else g.scalar(scope, g.pick(types))
    type = scalar_type(a.type)
    part = PARTS[type] if isinstance(type, Number) and type in PARTS and mnemonic in ("abs", "im", "re") else type
    result: Type = part
    if isinstance(a.type, CoopMatrix) and isinstance(part, Number):
        result = replace(a.type, component=part)
    looseness = max(a.looseness, epsilon(type)) if mnemonic == "abs" and type in COMPLEX else a.looseness
    g.number(scope, mnemonic, result, a, a=a.value, magnitude=a.magnitude, looseness=looseness)
    return True


def comparison(g: Generator, scope: Scope) -> bool:
    """A comparison of numbers that are the same in every execution."""
    mnemonic = g.source.choice(COMPARISONS)
    types = NUMBERS if mnemonic in ("equal", "not_equal") else (*INTEGERS, *FLOATING)
    type = g.pick(types)
    a, b = (g.scalar(scope, type, lambda t: t.exact) for _ in range(2))
    g.number(scope, mnemonic, BOOL, a, b, a=a.value, b=b.value)
    return True


def cast(g: Generator, scope: Scope) -> bool:
    """A cast of a number or a matrix."""
    matrices = scope.matrices
    if matrices and g.chance(0.4):
        return _cast_matrix(g, scope, g.source.choice(matrices))
    a = g.scalar(scope, g.pick(CAST))
    target = g.pick(COMPLEX if a.type in COMPLEX else CAST)
    return convert(g, scope, a, target, target)


def _cast_matrix(g: Generator, scope: Scope, a: Tracked) -> bool:
    assert isinstance(a.type, CoopMatrix)
    component = g.pick(COMPLEX if a.type.component in COMPLEX else CAST)
    use = g.source.choice(uses_of(component)) if a.type.use is Use.ACC else a.type.use
    return convert(g, scope, a, replace(a.type, component=component, use=use), component)


def uses_of(component: Number) -> tuple[Use, ...]:
    """The uses of matrices that have such components."""
    return (Use.A, Use.B) if component in STORED else tuple(Use)


def convert(g: Generator, scope: Scope, a: Tracked, result: Type, target: Number) -> bool:
    """Add a cast if its result is as well known as it must be."""
    source = scalar_type(a.type)
    assert isinstance(source, Number)
    magnitude = a.magnitude
    if source.family == "integer":
        magnitude = 2.0 ** (8 * source.size)
    if target.family == "integer":
        known = source.family == "integer" and a.interval is not None
        bits = 8 * target.size - 1
        fits = known and a.interval is not None and -(2**bits) < a.interval[0] and a.interval[1] < 2**bits
        g.number(scope, "cast", result, a, a=a.value, interval=a.interval if fits else None, keep=a.exact)
        return True
    if target in STORED and not a.exact:
        # Below that, what is rounded off is no longer small beside the number.
        magnitude = max(magnitude, 1.0)
    magnitude = bounded(target, magnitude)
    looseness = max(a.looseness, epsilon(target)) if not a.exact else 0.0
    g.number(scope, "cast", result, a, a=a.value, magnitude=magnitude, looseness=looseness,
             keep=not looseness or math.isfinite(magnitude))  # fmt: skip
    return True


def bitcast(g: Generator, scope: Scope) -> bool:
    """The bits of a number as another type; of what is computed in a floating type, zeros and NaN may differ."""
    source = g.pick(CAST)
    target = g.source.choice([t for t in CAST if t.size == source.size])
    a = g.scalar(scope, source, lambda t: t.exact)
    same = source == target or source.family == target.family == "integer"
    keep = a.exact and (source.family == "integer" or (a.constant is not None and math.isfinite(a.magnitude)))
    g.number(scope, "bitcast", target, a, a=a.value, interval=a.interval if same else None,
             magnitude=a.magnitude if same else math.inf, keep=keep)  # fmt: skip
    return True


def some_constant(g: Generator, scope: Scope) -> bool:
    """A constant, also one of the odd ones."""
    type = g.pick((*SCALAR_TYPES, *STORED))
    value = g.literal(type)
    if isinstance(type, Number) and g.chance(0.2):
        odd = g.source.choice((math.inf, -math.inf, math.nan, -0.0, 1e-45, 1 / 3))
        if type == F8E4M3 and math.isinf(odd):
            odd = 448.0
        largest = 2 ** (8 * type.size - 1) - 1
        value = {
            "integer": g.source.choice((largest, -largest)),
            "floating": odd,
            "complex": complex(odd, 1.0),
        }[type.family]
    found = g.constant(scope, type, value)
    if isinstance(value, float | complex) and not math.isfinite(abs(value)):
        scope.numbers[-1] = replace(found, magnitude=math.inf)
    return True


def function(g: Generator, scope: Scope) -> bool:
    """A mathematical function; implementations may differ in the last places, but not in those of a real root."""
    mnemonic = g.source.choice((*PERIODIC, *EXPONENTIAL, *LOGARITHMIC, *LARGEST_ARGUMENTS))
    type = g.pick((*FLOATING, *COMPLEX) if mnemonic in (*EXPONENTIAL, "sqrt", "tanh") else FLOATING)
    largest = 4.0 if mnemonic in EXPONENTIAL else LARGEST_ARGUMENTS.get(mnemonic, 1000.0)
    a = g.scalar(scope, type, lambda t: t.exact and t.magnitude <= largest)
    keep = a.exact and a.magnitude <= largest
    looseness = max(8 * epsilon(type), NATIVE if mnemonic.startswith("native") else 0.0)
    if mnemonic == "sqrt" and type in FLOATING:
        looseness = 0.0
    g.number(scope, mnemonic, type, a, a=a.value, magnitude=_largest_value(mnemonic, type), looseness=looseness,
             keep=keep)  # fmt: skip
    return True


def _largest_value(mnemonic: str, type: Number) -> float:
    """A bound of a function of arguments that are not too large."""
    if mnemonic == "rsqrt":
        # Of the smallest number of the type.
        return {F16: 2.0**12, F64: 2.0**537}.get(type, 2.0**75)
    if mnemonic == "tanh" and type in COMPLEX:
        return 16.0
    bounds = {"sqrt": 32.0, "tanh": 1.0, "erf": 1.0}
    table = {**dict.fromkeys(EXPONENTIAL, 64.0), **dict.fromkeys(LOGARITHMIC, 2000.0), **bounds}
    return table.get(mnemonic, 1.0)


def power(g: Generator, scope: Scope) -> bool:
    """A power of a known number, or by a known exponent."""
    type = g.pick(FLOATING)
    near = g.scalar(scope, type, lambda t: t.exact and t.magnitude <= 4.0)
    if g.chance(0.5):
        a, b = g.constant(scope, type, g.source.choice((0.5, 1.0, 1.5, 2.0, 3.0))), near
    else:
        a, b = near, g.constant(scope, type, g.source.choice((0.0, 0.5, 1.0, 2.0, 3.0)))
    g.number(scope, "pow", type, a, b, a=a.value, b=b.value, magnitude=81.0, looseness=8 * epsilon(type),
             keep=near.exact and near.magnitude <= 4.0)  # fmt: skip
    return True


def fused(g: Generator, scope: Scope) -> bool:
    """A product and a sum that are rounded once, which every executor does to the last bit."""
    type = g.pick(FLOATING)
    a, b, c = (g.scalar(scope, type) for _ in range(3))
    product = a.magnitude * b.magnitude if a.magnitude and b.magnitude else 0.0
    magnitude = bounded(type, product + c.magnitude)
    looseness = max(v.looseness for v in (a, b, c))
    g.number(scope, "fma", type, a, b, c, a=a.value, b=b.value, c=c.value, magnitude=magnitude, looseness=looseness,
             keep=not looseness or math.isfinite(magnitude))  # fmt: skip
    return True


def select(g: Generator, scope: Scope) -> bool:
    """A choice between two scalars."""
    type = g.pick((*SCALAR_TYPES, *STORED))
    condition = g.scalar(scope, BOOL, lambda t: t.exact)
    a, b = (g.scalar(scope, type) for _ in range(2))
    interval = None
    if a.interval is not None and b.interval is not None:
        interval = min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1])
    magnitude, looseness = max(a.magnitude, b.magnitude), max(a.looseness, b.looseness)
    g.number(scope, "select", type, condition, a, b, condition=condition.value, a=a.value, b=b.value,
             interval=interval, magnitude=magnitude, looseness=looseness,
             keep=condition.exact and (not looseness or math.isfinite(magnitude)))  # fmt: skip
    return True


def builtin(g: Generator, scope: Scope) -> bool:
    """Where a work-item is; what the program leaves open is not used."""
    mnemonic = g.source.choice(("group_id", "num_groups", "num_subgroups", "subgroup_size", "subgroup_id",
                                "subgroup_linear_id", "subgroup_local_id"))  # fmt: skip
    if mnemonic.startswith("subgroup_") and mnemonic != "subgroup_size" and scope.collective:
        mnemonic = "num_groups"
    axis = g.source.randrange(3)
    size = g.subgroup_size or 1
    rows, columns = g.work_group_size or (size, 1)
    along = (rows // size, columns, 1)[axis]
    table: dict[str, tuple[Number, Interval, Alike]] = {
        "group_id": (INDEX, (0, g.grid - 1 if axis == 0 else 0), Alike.WORK_GROUP),
        "num_groups": (INDEX, (g.grid if axis == 0 else 1,) * 2, Alike.WORK_GROUP),
        "num_subgroups": (I32, (along, along), Alike.WORK_GROUP),
        "subgroup_size": (I32, (size, size), Alike.WORK_GROUP),
        "subgroup_id": (I32, (0, along - 1), Alike.SUBGROUP),
        "subgroup_linear_id": (I32, (0, g.subgroups - 1), Alike.SUBGROUP),
        "subgroup_local_id": (I32, (0, size - 1), Alike.NOBODY),
    }
    type, interval, alike = table[mnemonic]
    local = mnemonic.startswith("subgroup_") and mnemonic != "subgroup_size"
    # Which work-item gets a point, and which subgroup a tile or a component, is open.
    open_here = scope.inside_apply or scope.inside_foreach or (scope.inside_tiles and mnemonic != "subgroup_local_id")
    keep = type is INDEX or (g.fixed and not (local and open_here))
    fields = {} if mnemonic in ("subgroup_size", "subgroup_linear_id", "subgroup_local_id") else {"axis": axis}
    g.number(scope, mnemonic, type, interval=interval, alike=alike, keep=keep, **fields)
    return True


def subgroup(g: Generator, scope: Scope) -> bool:
    """A scan, a reduction or a broadcast, where all work-items of a subgroup come by."""
    if scope.collective or not scope.together or scope.inside_apply or scope.inside_foreach:
        return False
    if g.chance(0.25):
        return _broadcast(g, scope)
    mnemonic = g.source.choice(SUBGROUP)
    adds = mnemonic.endswith("add")
    type = g.pick(NUMBERS if adds else (*INTEGERS, *FLOATING))
    a = g.scalar(scope, type)
    size = g.subgroup_size or 64
    magnitude = bounded(type, a.magnitude * size) if adds else a.magnitude
    if "exclusive" in mnemonic and not adds and type in FLOATING:
        magnitude = math.inf
    looseness = max(a.looseness, epsilon(type)) if adds else a.looseness
    keep = g.fixed and (not looseness or math.isfinite(magnitude))
    alike = Alike.NOBODY if "scan" in mnemonic else max(Alike.SUBGROUP, a.alike)
    g.number(scope, mnemonic, type, a, a=a.value, magnitude=magnitude, looseness=looseness, alike=alike, keep=keep)
    return True


def _broadcast(g: Generator, scope: Scope) -> bool:
    a = g.scalar(scope, g.pick(CAST))
    size = g.subgroup_size or 8
    first = g.constant(scope, I32, g.source.randrange(size))
    known = [t for t in scope.numbers if t.type == I32 and t.alike >= Alike.SUBGROUP and t.interval
             and t.interval[0] >= 0 and t.interval[1] < size]  # fmt: skip
    lane = g.source.choice(known) if known else first
    alike = Alike.WORK_GROUP if min(a.alike, lane.alike) is Alike.WORK_GROUP else Alike.SUBGROUP
    keep = g.fixed or a.alike is not Alike.NOBODY
    g.number(scope, "subgroup_broadcast", a.type, a=a.value, lane=lane.value, magnitude=a.magnitude,
             looseness=a.looseness, interval=a.interval, alike=alike, keep=keep)  # fmt: skip
    return True


SCALARS: list[tuple[Emitter, float]] = [
    (binary, 5), (unary, 2), (comparison, 1.5), (cast, 2.5), (bitcast, 0.7), (some_constant, 1), (function, 2),
    (power, 0.4), (fused, 0.6), (select, 0.8), (builtin, 1),
]  # fmt: skip
