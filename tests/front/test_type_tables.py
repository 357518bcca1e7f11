"""Which types and regions each instruction takes: the tables of 003, written down once more and tried in full.

The tables stand here in the words of the specification, apart from the rules of `girih.ops`, so that a slip in one of
the two is seen.
"""

from __future__ import annotations

from itertools import product

import pytest

from girih import check
from girih.diagnostics import errors
from girih.ir.types import NUMBERS as TYPES
from girih.ir.types import promotable

FAMILIES = {
    "bool": "boolean",
    **dict.fromkeys(("i8", "i16", "i32", "i64", "index"), "integer"),
    **dict.fromkeys(("f8e4m3", "f8e5m2"), "stored"),
    **dict.fromkeys(("bf16", "f16", "f32", "f64"), "floating"),
    **dict.fromkeys(("c32", "c64"), "complex"),
}
NUMBERS = [name for name in FAMILIES if name != "bool"]
PARTS = {"c32": "f32", "c64": "f64"}
KINDS = {"stored": "floating"}
LITERALS = {"boolean": "true", "integer": "1", "floating": "1.0", "complex": "[1.0, 0.0]"}

NUMBER = "integer floating complex"
REAL = "integer floating"
BITS = "boolean integer"

BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "div"), NUMBER),
    **dict.fromkeys(("rem", "max", "min"), REAL),
    **dict.fromkeys(("shl", "shr"), "integer"),
    **dict.fromkeys(("and", "or", "xor"), BITS),
}
UNARY = {"abs": NUMBER, "neg": NUMBER, "not": BITS, "conj": "complex", "im": "complex", "re": "complex"}
COMPARISONS = {
    **dict.fromkeys(("equal", "not_equal"), NUMBER),
    **dict.fromkeys(("greater_than", "greater_than_equal", "less_than", "less_than_equal"), REAL),
}
FUNCTIONS = {
    native + name: "floating complex" if name in ("exp", "exp2") else "floating"
    for native in ("", "native_")
    for name in ("cos", "sin", "exp", "exp2", "log", "log2")
} | {"sqrt": "floating complex", "tanh": "floating complex", "rsqrt": "floating", "erf": "floating"}
SUBGROUP = {
    f"subgroup_{shape}_{name}": NUMBER if name == "add" else REAL
    for shape in ("exclusive_scan", "inclusive_scan", "reduce")
    for name in ("add", "max", "min")
}

# Row: the type; entries: what it may be promoted to (003 "Scalar types", and index as settled).
PROMOTIONS = {
    "i8": "i8 i16 i32 i64 index bf16 f16 f32 f64 c32 c64",
    "i16": "i16 i32 i64 index f32 f64 c32 c64",
    "i32": "i32 i64 index f64 c64",
    "i64": "i64",
    "index": "index",
    "bf16": "bf16 f32 f64 c32 c64",
    "f16": "f16 f32 f64 c32 c64",
    "f32": "f32 f64 c32 c64",
    "f64": "f64 c64",
    "c32": "c32 c64",
    "c64": "c64",
}


def accepted(parameters: str, body: str, attributes: str = "") -> bool:
    return not errors(check(f"func @f({parameters}) {attributes} {{\n{body}\n}}\n"))


def accepted_in_parallel(parameters: str, body: str) -> bool:
    return accepted(parameters, f"parallel {{\n{body}\n}}")


def matrix(type: str) -> str:
    use = "matrix_a" if FAMILIES[type] == "stored" else "matrix_acc"
    return f"coopmatrix<{type} x 16 x 8, {use}>"


def kind(type: str) -> str:
    return KINDS.get(FAMILIES[type], FAMILIES[type])


def constant(type: str) -> str:
    return f"%a = constant {LITERALS[kind(type)]} : {matrix(type)}\n"


def agree(found: dict[str, bool], expected: dict[str, bool]) -> None:
    assert {name: value for name, value in found.items() if value != expected[name]} == {}


@pytest.mark.parametrize("mnemonic", BINARY)
def test_binary_arithmetic(mnemonic: str) -> None:
    allowed = {t: f in BINARY[mnemonic].split() for t, f in FAMILIES.items()}
    agree({t: accepted(f"%a: {t}", f"%r = {mnemonic} %a, %a : {t}") for t in FAMILIES}, allowed)
    matrices = {t: f"{constant(t)}%r = {mnemonic} %a, %a : {matrix(t)}" for t in NUMBERS}
    agree({t: accepted_in_parallel("", text) for t, text in matrices.items()}, allowed)


@pytest.mark.parametrize("mnemonic", UNARY)
def test_unary_arithmetic(mnemonic: str) -> None:
    allowed = {t: f in UNARY[mnemonic].split() for t, f in FAMILIES.items()}
    parts = PARTS if mnemonic in ("abs", "im", "re") else {}
    results = {t: parts.get(t, t) for t in FAMILIES}
    agree({t: accepted(f"%a: {t}", f"%r = {mnemonic} %a : {r}") for t, r in results.items()}, allowed)
    matrices = {t: f"{constant(t)}%r = {mnemonic} %a : {matrix(results[t])}" for t in NUMBERS}
    agree({t: accepted_in_parallel("", text) for t, text in matrices.items()}, allowed)
    for t, part in parts.items():
        assert not accepted(f"%a: {t}", f"%r = {mnemonic} %a : {t}"), (t, part)


@pytest.mark.parametrize("mnemonic", COMPARISONS)
def test_comparisons(mnemonic: str) -> None:
    allowed = {t: f in COMPARISONS[mnemonic].split() for t, f in FAMILIES.items()}
    agree({t: accepted(f"%a: {t}", f"%r = {mnemonic} %a, %a : bool") for t in FAMILIES}, allowed)
    assert not accepted_in_parallel("", f"{constant('f32')}%r = {mnemonic} %a, %a : bool")


@pytest.mark.parametrize("mnemonic", FUNCTIONS)
def test_mathematical_functions(mnemonic: str) -> None:
    allowed = {t: f in FUNCTIONS[mnemonic].split() for t, f in FAMILIES.items()}
    agree({t: accepted(f"%a: {t}", f"%r = {mnemonic} %a : {t}") for t in FAMILIES}, allowed)


@pytest.mark.parametrize("mnemonic", SUBGROUP)
def test_subgroup_operations(mnemonic: str) -> None:
    allowed = {t: f in SUBGROUP[mnemonic].split() for t, f in FAMILIES.items()}
    agree({t: accepted_in_parallel(f"%a: {t}", f"%r = {mnemonic} %a : {t}") for t in FAMILIES}, allowed)


def test_broadcast() -> None:
    def found(value: str, lane: str) -> bool:
        return accepted_in_parallel(f"%a: {value}, %k: {lane}", f"%r = subgroup_broadcast %a, %k : {value}")

    agree({t: found(t, "i32") for t in FAMILIES}, {t: t != "bool" for t in FAMILIES})
    agree({t: found("f32", t) for t in FAMILIES}, {t: t == "i32" for t in FAMILIES})


@pytest.mark.parametrize("source", FAMILIES)
def test_casts(source: str) -> None:
    def allowed(target: str) -> bool:
        complex_to_real = FAMILIES[source] == "complex" and FAMILIES[target] != "complex"
        return "bool" not in (source, target) and not complex_to_real

    agree(
        {t: accepted(f"%a: {source}", f"%r = cast %a : {t}") for t in FAMILIES},
        {t: allowed(t) for t in FAMILIES},
    )


@pytest.mark.parametrize(("source", "target"), [*product(("matrix_a", "matrix_b", "matrix_acc"), repeat=2)])
def test_casts_of_use(source: str, target: str) -> None:
    body = f"%m = constant 1.0 : coopmatrix<f32x16x16,{source}>\n%r = cast %m : coopmatrix<f16x16x16,{target}>"
    assert accepted_in_parallel("", body) == (source == target or source == "matrix_acc")


@pytest.mark.parametrize("type", FAMILIES)
def test_kinds_of_constants(type: str) -> None:
    found = {name: accepted("", f"%c = constant {text} : {type}") for name, text in LITERALS.items()}
    agree(found, {name: name == kind(type) for name in LITERALS})


@pytest.mark.parametrize("source", PROMOTIONS)
def test_promotion(source: str) -> None:
    allowed = {t: t in PROMOTIONS[source].split() for t in NUMBERS}

    def axpby(target: str) -> bool:
        parameters = f"%a: {source}, %b: {target}, %A: memref<{source} x 4>, %B: memref<{target} x 4>"
        return accepted(parameters, "axpby %a, %A, %b, %B")

    agree({t: axpby(t) for t in NUMBERS}, allowed)


def test_promotion_of_what_is_stored_only() -> None:
    """No instruction asks for it but by refusing: the relation itself is looked at."""
    wider = ("bf16", "f16", "f32", "f64", "c32", "c64")
    for source in (t for t in NUMBERS if FAMILIES[t] == "stored"):
        for target in NUMBERS:
            assert promotable(TYPES[source], TYPES[target]) == (target == source or target in wider), (source, target)
            assert promotable(TYPES[target], TYPES[source]) == (target == source), (source, target)


@pytest.mark.parametrize("first", PROMOTIONS)
def test_products_promote_one_operand_to_the_other(first: str) -> None:
    def larger(second: str) -> str:
        return second if second in PROMOTIONS[first].split() else first

    def gemm(second: str) -> bool:
        wide = larger(second)
        parameters = f"%A: memref<{first} x 4x8>, %B: memref<{second} x 8x5>, %C: memref<{wide} x 4x5>, %a: {wide}"
        return accepted(parameters, "gemm %a, %A, %B, %a, %C")

    comparable = {t: t in PROMOTIONS[first].split() or first in PROMOTIONS.get(t, "").split() for t in NUMBERS}
    agree({t: gemm(t) for t in NUMBERS}, comparable)


# --- where an instruction may stand (003 "Execution model") -------------------------------------

PARAMETERS = "%a: f32, %A: memref<f32x4x4>, %v: memref<f32x4>, %s: memref<f32>, %c: bool, %i: index, %k: i32"
TILE = "coopmatrix<f32x32x8,matrix_acc>"
M = f"%m = constant 1.0 : {TILE}\n"

COLLECTIVE = [
    "axpby %a, %A, %a, %A",
    "cumsum %a, %A, 0, %a, %A",
    "gemm %a, %A, %A, %a, %A",
    "gemv %a, %A, %v, %a, %v",
    "ger %a, %v, %v, %a, %A",
    "hadamard %a, %v, %v, %a, %v",
    "sum %a, %A, %a, %v",
    "%0 = alloca : memref<f32x4,local>",
    "foreach (%n) = (%i), (%i) { }",
    "foreach_tile (%n) = (%i), (%i) as (%t) <= (64) { }",
    "parallel { }",
]
SPMD = [
    *(f"%0 = {name} : i32" for name in ("subgroup_id.x", "subgroup_id.y", "subgroup_linear_id", "subgroup_local_id")),
    "%0 = subgroup_broadcast %a, %k : f32",
    *(f"%0 = {name} %a : f32" for name in SUBGROUP),
    f"%0 = cooperative_matrix_construct %a : {TILE}",
    f"%0 = cooperative_matrix_load %A[%i, %i] : {TILE}",
    f"%0 = cooperative_matrix_atomic_load %A[%i, %i] : {TILE}",
    f"{M}cooperative_matrix_store %m, %A[%i, %i]",
    f"{M}cooperative_matrix_atomic_store %m, %A[%i, %i]",
    f"{M}%0 = cooperative_matrix_atomic_add %m, %A[%i, %i] : {TILE}",
    f"{M}%0 = cooperative_matrix_scale %a, %m : {TILE}",
    f"{M}%0 = cooperative_matrix_reduce_add.row %m : coopmatrix<f32x32x1,matrix_acc>",
    f"{M}%0 = cooperative_matrix_extract %m[0] : f32",
    f"{M}%0 = cooperative_matrix_insert %a, %m[0] : {TILE}",
    f"{M}%0 = cooperative_matrix_apply (%r, %q, %x) = %m -> {TILE} {{ yield (%x) }}",
    "cooperative_matrix_prefetch 0, %A[%i, %i], 4, 4",
    f"{M}%x = constant 1.0 : coopmatrix<f32x32x4,matrix_a>\n%y = constant 1.0 : coopmatrix<f32x4x8,matrix_b>\n"
    f"%0 = cooperative_matrix_mul_add %x, %y, %m : {TILE}",
]
MIXED = [
    *(f"barrier{fences}" for fences in ("", ".global", ".local", ".global.local")),
    *(f"%0 = {name} : index" for name in ("group_id.x", "group_id.y", "num_groups.z")),
    *(f"%0 = {name} : i32" for name in ("num_subgroups.x", "num_subgroups.z", "subgroup_size")),
    "%0 = constant 1 : i32",
    "%0 = add %a, %a : f32",
    "%0 = neg %a : f32",
    "%0 = less_than %a, %a : bool",
    "%0 = cast %a : f64",
    "%0 = exp %a : f32",
    "%0 = load %s[] : f32",
    "store %a, %s[]",
    "%0 = atomic_load %s[] : f32",
    "atomic_store %a, %s[]",
    "%0 = atomic_add %a, %s[] : f32",
    "%0 = size %A[0] : index",
    "%0 = associated %A : bool",
    "%0 = subview %A[0:2, 0:2] : memref<f32x2x2,strided<1,4>>",
    "%0 = expand %v[0 -> 2x2] : memref<f32x2x2>",
    "%0 = fuse %A[0, 1] : memref<f32x16>",
    "if %c { }",
    "for %n = %i, %i { }",
]
IN_COLLECTIVE = ["{}", "if %c {{ {} }}", "if %c {{ }} else {{ {} }}", "for %f = %i, %i {{ {} }}"]
IN_SPMD = [
    *("parallel {{ " + region + " }}" for region in IN_COLLECTIVE),
    "foreach (%z) = (%i), (%i) {{ {} }}",
    "foreach_tile (%z) = (%i), (%i) as (%w) <= (64) {{ {} }}",
]


@pytest.mark.parametrize(
    ("instruction", "collective", "spmd"),
    [(i, c, s) for group, c, s in ((COLLECTIVE, True, False), (SPMD, False, True), (MIXED, True, True)) for i in group],
)
def test_where_an_instruction_may_stand(instruction: str, collective: bool, spmd: bool) -> None:
    def found(place: str) -> bool:
        return accepted(PARAMETERS, place.format(instruction), "attributes {subgroup_size=32}")

    agree({place: found(place) for place in IN_COLLECTIVE}, dict.fromkeys(IN_COLLECTIVE, collective))
    agree({place: found(place) for place in IN_SPMD}, dict.fromkeys(IN_SPMD, spmd))


# --- scope and semantics of atomics (003 "Atomic load") --------------------------------------------

SCOPES = ("cross_device", "device", "work_group", "subgroup")
SEMANTICS = ("relaxed", "acquire", "release", "acquire_release", "sequentially_consistent")
ATOMICS = [
    "%0 = atomic_load{} %s[] : f32",
    "atomic_store{} %a, %s[]",
    "%0 = atomic_max{} %a, %s[] : f32",
    f"%0 = cooperative_matrix_atomic_load.t.rows_checked{{}} %A[%i, %i] : {TILE}",
    f"{M}cooperative_matrix_atomic_store{{}} %m, %A[%i, %i]",
    f"{M}%0 = cooperative_matrix_atomic_min.both_checked{{}} %m, %A[%i, %i] : {TILE}",
]


@pytest.mark.parametrize("instruction", ATOMICS)
def test_scope_comes_before_semantics(instruction: str) -> None:
    def found(modifiers: str) -> bool:
        return accepted_in_parallel(PARAMETERS, instruction.format(modifiers))

    right = [*(f".{x}" for x in (*SCOPES, *SEMANTICS)), *(f".{a}.{b}" for a, b in product(SCOPES, SEMANTICS))]
    wrong = [*(f".{b}.{a}" for a, b in product(SCOPES, SEMANTICS)), ".device.device", ".relaxed.relaxed", ".workgroup"]
    agree({m: found(m) for m in (*right, *wrong)}, {**dict.fromkeys(right, True), **dict.fromkeys(wrong, False)})
