"""The canonical form: what is one in it, what differs, and that it computes what the program computed."""

from __future__ import annotations

from pathlib import Path

import pytest

import girih
from girih.canonical import canonical_module
from girih.diagnostics import errors
from girih.ir.build import RegionBuilder
from girih.ir.core import Module
from girih.ops.device import DEVICE_LANGUAGE
from tests.cases import every_case, long
from tests.fuzz.programs import difference, outcome, program
from tests.ops.corpus import vectors_of

ROOT = Path(__file__).resolve().parent.parent.parent


def canonical(text: str) -> Module:
    return canonical_module(girih.parse(text))


def body(text: str) -> list[str]:
    """The lines of the canonical form of a function's body."""
    return [line.strip() for line in str(canonical(text)).splitlines()[1:-1]]


def test_order_and_names_do_not_matter() -> None:
    a = """
    func @f(%A: memref<f32x?>, %x: f32) {
        %zero = constant 0 : index
        %unused = constant 7.0 : f32
        %two = constant 2.0 : f32
        %n = size %A[0] : index
        parallel {
            %y = mul %two, %x : f32
            for %i = %zero, %n {
                store %y, %A[%i]
            }
        }
    }
    """
    b = """
    func @f(%A: memref<f32x?>, %x: f32) {
        parallel {
            %0 = constant 0 : index
            %length = size %A[0] : index
            for %k = %0, %length {
                %c = constant 2.0 : f32
                %again = constant 2.0 : f32
                %product = mul %c, %x : f32
                %never = mul %again, %x : f32
                store %product, %A[%k]
            }
        }
    }
    """
    assert girih.parse(a) != girih.parse(b)
    assert canonical(a) == canonical(b)
    assert str(canonical(a)) == str(canonical(b))
    assert canonical(a.replace("constant 2.0", "constant 3.0")) != canonical(b)
    assert canonical(a.replace("mul %two, %x", "mul %x, %two")) != canonical(b)


def test_constants_that_only_look_equal_stay_apart() -> None:
    assert body("""
    func @f(%A: memref<f32x4>, %B: memref<f64x4>) {
        %i = constant 0 : index
        %a = constant 0.0 : f32
        %b = constant -0.0 : f32
        %c = constant 0.0 : f64
        store %a, %A[%i]
        store %b, %A[%i]
        store %c, %B[%i]
    }
    """) == [
        "%0 = constant 0.0 : f32",
        "store %0, %A[0]",
        "%1 = constant -0.0 : f32",
        "store %1, %A[0]",
        "%2 = constant 0.0 : f64",
        "store %2, %B[0]",
    ]


def test_constant_conditions_choose_their_branch() -> None:
    text = """
    func @f(%A: memref<f32x4>, %x: f32) {
        %fast = constant false : bool
        %slow = not %fast : bool
        %both = and %slow, %fast : bool
        %i = constant 0 : i8
        %k = cast %i : index
        %y = if %slow -> (f32) {
            %double = add %x, %x : f32
            yield (%double)
        } else {
            yield (%x)
        }
        if %both {
            store %x, %A[%k]
        }
        %z = select %slow, %y, %x : f32
        store %z, %A[%k]
    }
    """
    assert body(text) == ["%0 = add %x, %x : f32", "store %0, %A[0]"]


@pytest.mark.parametrize(
    ("given", "cast", "kept"),
    [
        ("0 : i8", "f16", "0.0 : f16"),
        ("2049 : i32", "f16", None),
        ("300 : i32", "i8", None),
        ("-3 : i8", "i64", "-3 : i64"),
        ("0.1 : f64", "f32", None),
        ("inf : f32", "f64", "inf : f64"),
        ("inf : f32", "f8e4m3", None),
        ("nan : f32", "f64", None),
        ("1.5 : f32", "i32", None),
        ("2.5 : f32", "c64", "[2.5, 0.0] : c64"),
        ("[0.0, -1.0] : c32", "c64", "[0.0, -1.0] : c64"),
    ],
)
def test_casts_of_constants_are_constants_where_the_number_stays(given: str, cast: str, kept: str | None) -> None:
    lines = body(f"""
    func @f(%A: memref<{cast}>) {{
        %a = constant {given}
        %b = cast %a : {cast}
        store %b, %A[]
    }}
    """)
    assert lines == ([f"%0 = constant {given}", f"%1 = cast %0 : {cast}", "store %1, %A[]"] if kept is None
                     else [f"%0 = constant {kept}", "store %0, %A[]"])  # fmt: skip


def test_what_a_loop_carries_for_nobody_is_gone() -> None:
    text = """
    func @f(%A: memref<f32x4>, %x: f32, %n: index) {
        %0 = constant 0 : index
        %a, %b = for %i = %0, %n init (%s=%x, %t=%x) -> (f32, f32) {
            %u = add %s, %x : f32
            %v = mul %t, %x : f32
            yield (%u, %v)
        }
        %l = less_than %0, %n : bool
        %c = if %l -> (f32) {
            yield (%a)
        } else {
            yield (%b)
        }
        store %b, %A[%0]
    }
    """
    assert body(text) == [
        "%0 = constant 0 : index",
        "%3 = for %1 = %0, %n init (%2=%x) -> (f32) {",
        "%3 = mul %2, %x : f32",
        "yield (%3)",
        "}",
        "store %3, %A[0]",
    ]


def test_memory_and_what_is_executed_together_stays_in_order() -> None:
    text = """
    func @f(%A: memref<f32x4>) {
        %local = alloca : memref<f32x4,local>
        %other = alloca : memref<f32x4,local>
        %third = alloca : memref<f32x4,local>
        parallel {
            %i = constant 0 : index
            %a = load %A[%i] : f32
            %b = load %A[%i] : f32
            barrier.local
            store %a, %local[%i]
            store %b, %other[%i]
            %c = load %A[%i] : f32
        }
    }
    """
    assert body(text) == [
        "%0 = alloca : memref<f32x4,local>",
        "%1 = alloca : memref<f32x4,local>",
        "parallel {",
        "%2 = load %A[0] : f32",
        "%3 = load %A[0] : f32",
        "barrier.local",
        "store %2, %0[0]",
        "store %3, %1[0]",
        "%4 = load %A[0] : f32",
        "}",
    ]


def test_what_can_be_written_in_two_ways_is_written_in_one() -> None:
    head = "func @f(%A: memref<f32x4x?>, %B: memref<f32x4>, %x: f32, %k: index, %b: bool) {"
    a = (
        head
        + """
        %one = constant 1 : index
        %n = size %A[0] : index
        %v = subview %A[%one:2, %k:0] : memref<f32x2>
        store %x, %v[%one]
        store %x, %A[%one, %k]
        if %b {
            store %x, %B[%one]
            yield ()
        }
        axpby.t %x, %B, %x, %B
        for %i = %one, %n { store %x, %B[%i] }
    }
    """
    )
    b = (
        head
        + """
        %v = subview %A[1:2, %k] : memref<f32x2>
        store %x, %v[1]
        store %x, %A[1, %k]
        if %b { store %x, %B[1] }
        axpby %x, %B, %x, %B
        %one = constant 1 : index
        %four = constant 4 : index
        for %i = %one, %four { store %x, %B[%i] }
    }
    """
    )
    assert canonical(a) == canonical(b)
    assert canonical(a.replace("%one:2", "%one:3").replace("memref<f32x2>", "memref<f32x3>")) != canonical(b)
    holds(girih.parse(a))


def test_a_branch_that_is_always_taken_may_yield_nothing() -> None:
    assert body("""
    func @f(%A: memref<f32>, %x: f32) {
        %true = constant true : bool
        if %true {
            store %x, %A[]
            yield ()
        }
    }
    """) == ["store %x, %A[]"]


def test_computations_stay_out_of_regions_that_see_little() -> None:
    text = """
    func @f(%A: memref<f32x?x?>) {
        parallel {
            %i = constant 0 : index
            %n = size %A[0] : index
            %r = cast %n : i32
            %three = constant 3 : i32
            %m = cooperative_matrix_load %A[%i, %i] : coopmatrix<f32x8x8,matrix_acc>
            %x = cooperative_matrix_apply (%row, %column, %e) = %m -> coopmatrix<f32x8x8,matrix_acc> {
                %k = add %row, %three : i32
                %inside = less_than %k, %r : bool
                %z = select %inside, %e, %e : f32
                yield (%z)
            }
            cooperative_matrix_store %x, %A[%i, %i]
        }
    }
    """
    lines = body(text)
    apply = next(k for k, line in enumerate(lines) if "_apply" in line)
    assert "size %A[0]" in lines[apply - 2]
    assert "cast" in lines[apply - 1]
    assert "constant 3 : i32" in lines[apply + 1]


def test_long_chains_need_no_room_on_the_stack() -> None:
    steps = "\n".join(f"%s{k + 1} = add %s{k}, %x : f32" for k in range(5000))
    lines = body(f"func @f(%A: memref<f32>, %x: f32) {{\n%s0 = add %x, %x : f32\n{steps}\nstore %s5000, %A[]\n}}\n")
    assert lines[-2:] == ["%5000 = add %4999, %x : f32", "store %5000, %A[]"]


def test_kernels_of_the_library_keep_their_meaning() -> None:
    with every_case() as case:
        for path in sorted((ROOT / "girih" / "kernels").rglob("*.tl")):
            with case(path.name):
                holds(girih.parse(path.read_text(encoding="utf-8")))


def test_run_vectors_are_accepted_in_canonical_form() -> None:
    with every_case() as case:
        for path in sorted((ROOT / "tests" / "ops").glob("*/run.tl")):
            with case(path.parent.name):
                text = path.read_text(encoding="utf-8")
                assert any(vectors_of(text))
                holds(girih.parse(text))


@pytest.mark.parametrize("block", [0, *long(range(1, 20))])
def test_random_programs_compute_the_same_in_canonical_form(block: int) -> None:
    changed = 0
    for seed in range(24 * block, 24 * (block + 1)):
        built = program(seed)
        form = holds(built.module)
        changed += form != built.module
        (before, found), (after, found_after) = outcome(str(built.module), built), outcome(str(form), built)
        assert found == found_after, f"seed {seed}"
        assert found or difference(built, before, after) is None, f"seed {seed}"
    assert changed > 12, "most programs are written in another order"


def holds(module: Module) -> Module:
    """The canonical form of a module, which is accepted, is its own canonical form, and prints as itself."""
    form = canonical_module(module)
    text = str(form)
    wrong = errors(girih.check(text))
    assert not wrong, wrong[0].render()
    assert girih.parse(text) == form
    assert str(canonical_module(form)) == text
    return form


def test_other_languages_have_none() -> None:
    function = RegionBuilder(DEVICE_LANGUAGE).function("main", [])
    with pytest.raises(ValueError, match="@main is in the device language"):
        canonical_module(Module((function,)))
