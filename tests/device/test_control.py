"""Blocks, loops and branches that are left from inside: their rules, and what they do on every executor."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from girih.analysis.constructs import constructs_of
from girih.analysis.uniformity import constants_of
from girih.api import compile_module
from girih.back.llvm.lower.device.trips import most_trips
from girih.diagnostics import KernelError
from girih.front.text.parser import parse_text
from girih.interpreter.machine.choices import GoingAhead
from girih.ir.check import check_module
from girih.ops.device.control import Loop
from girih.source import Source
from tests.cases import long
from tests.device.probe import PROBE, kernel

TARGETS = ["interpreter", "cpu"]

START = """
    %lane = subgroup_local_id : i32
    %i = cast %lane : index
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %three = constant 3 : i32
"""


def codes(body: str) -> list[str]:
    """The codes of what is wrong with the body of a `parallel`."""
    text = f"func @f(%A: memref<i32x?>, %c: bool, %n: i32, %x: f32) {{\nparallel {{\n{body}\n}}\n}}\n"
    module, problems = parse_text(Source(text, "f.tl"), PROBE)
    return [d.code for d in [*problems, *check_module(module)]]


def test_rules_accept_what_is_left_as_it_should_be() -> None:
    fine = """
        %a, %b = block -> (i32, f32) {
            loop init (%k = %n) {
                branch %c { leave 1 (%k, %x) } else { leave 0 (%n) }
            }
            unreachable "nobody falls off"
        }
        %d = block -> (i32) { branch %c { leave 0 (%n) } else { unreachable "never" } }
        %e = block -> (i32) { block { leave 1 (%n) } }
        %f = block -> (i32) { loop { leave 1 (%n) } }
        block { branch %c { leave 0 () } }
    """
    assert codes(fine) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("leave 0 ()", "leave.depth"),
        ("block { leave 1 () }", "leave.depth"),
        ("branch %c { leave 0 () }", "leave.depth"),
        ("block { leave 0 (%n) }", "leave.types"),
        ("%a = block -> (i32) { leave 0 (%x) }", "leave.types"),
        ("loop init (%k = %n) { leave 0 (%k, %k) }", "leave.types"),
        ("block { leave 0 ()\n%z = add %n, %n : i32 }", "leave.last"),
        ('block { unreachable "no"\n%z = add %n, %n : i32 }', "unreachable.last"),
        ("%a = block -> (i32) { }", "block.end"),
        ("%a = block -> (i32) { branch %c { leave 0 (%n) } }", "block.end"),
        ("%a = block -> (i32) { block { branch %c { leave 0 () }\nleave 1 (%n) } }", "block.end"),
        ("%a = block -> (i32) { loop { branch %c { leave 0 () } } }", "block.end"),
    ],
)
def test_rules_reject(body: str, code: str) -> None:
    assert codes(body) == [code]


def run(target: str, body: str, *, attributes: str = "work_group_size=[8,1]", grid: int = 1) -> list[int]:
    """What a body stores to `%A`, an element for each of 8 lanes, which is -1 before."""
    array = np.full(8, -1, np.int32)
    program = compile_module(kernel(START + body, attributes=attributes), target)
    program["f"][grid](array)
    return list(map(int, array))


BODIES = {
    # Each lane leaves the loop after as many iterations as its number says.
    "sum": ("""
        %r = block -> (i32) {
            loop init (%k = %lane, %n = %zero) {
                %end = less_than_equal %k, %zero : bool
                branch %end { leave 1 (%n) }
                %k2 = sub %k, %one : i32
                %n2 = add %n, %k : i32
                leave 0 (%k2, %n2)
            }
            unreachable "the loop has no end"
        }
        store %r, %A[%i]
    """, [0, 1, 3, 6, 10, 15, 21, 28]),
    # An early return, which only some lanes make, skips the store.
    "return": ("""
        block {
            %some = greater_than %lane, %three : bool
            branch %some { leave 0 () }
            store %lane, %A[%i]
        }
        %low = less_than %lane, %one : bool
        branch %low { store %three, %A[%i] }
    """, [3, 1, 2, 3, -1, -1, -1, -1]),
    # A switch whose cases 0 and 1 fall through to the next one.
    "switch": ("""
        %r = block -> (i32) {
            %x = block -> (i32) {
                %y = block -> (i32) {
                    %is0 = equal %lane, %zero : bool
                    branch %is0 { leave 0 (%one) }
                    %is1 = equal %lane, %one : bool
                    branch %is1 { leave 1 (%three) }
                    leave 2 (%lane)
                }
                %sum = add %y, %three : i32
                leave 0 (%sum)
            }
            %more = add %x, %x : i32
            leave 0 (%more)
        }
        store %r, %A[%i]
    """, [8, 6, 2, 3, 4, 5, 6, 7]),
    # A loop that all leave at its end, at different times: what is behind it is executed by all again.
    "end": ("""
        %seen = block -> (i32) {
            loop init (%k = %zero) {
                store %k, %A[%i]
                %k2 = add %k, %one : i32
                %more = less_than %k, %lane : bool
                branch %more { leave 0 (%k2) }
            }
            leave 0 (%three)
        }
        %old = load %A[%i] : i32
        %new = add %old, %seen : i32
        store %new, %A[%i]
    """, [3, 4, 5, 6, 7, 8, 9, 10]),
    # A uniform loop with a `continue`, in a block that lanes leave from inside of both.
    "nested": ("""
        %r = block -> (i32) {
            loop init (%k = %zero, %n = %zero) {
                %done = equal %k, %three : bool
                branch %done { leave 1 (%n) }
                %k2 = add %k, %one : i32
                block {
                    %even = and %lane, %one : i32
                    %is = equal %even, %zero : bool
                    branch %is { leave 0 () }
                    loop init (%m = %zero) {
                        %over = greater_than %m, %lane : bool
                        branch %over { leave 3 (%lane) }
                        %m2 = add %m, %three : i32
                        branch %done { leave 1 () }
                        leave 0 (%m2)
                    }
                }
                %n2 = add %n, %lane : i32
                leave 0 (%k2, %n2)
            }
            unreachable "the loop has no end"
        }
        store %r, %A[%i]
    """, [0, 1, 6, 3, 12, 5, 18, 7]),
    # Nobody comes to what is behind the inner block.
    "all leave": ("""
        %r = block -> (i32) {
            %x = block -> (i32) {
                %low = less_than %lane, %three : bool
                branch %low { leave 1 (%one) } else { leave 1 (%lane) }
            }
            store %x, %A[%i]
            leave 0 (%x)
        }
        store %r, %A[%i]
    """, [1, 1, 1, 3, 4, 5, 6, 7]),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_what_work_items_leave_with(target: str) -> None:
    got = {name: run(target, body) for name, (body, _) in BODIES.items()}
    assert got == {name: wanted for name, (_, wanted) in BODIES.items()}


def test_orders_of_execution_give_the_same() -> None:
    for name, (body, wanted) in BODIES.items():
        array = np.full(8, -1, np.int32)
        kernel_ = compile_module(kernel(START + body), "interpreter")["f"]
        kernel_.options(choices=GoingAhead(1, backwards=True))(array)
        assert list(array) == wanted, name


@pytest.mark.parametrize("target", TARGETS)
def test_a_place_that_is_reached(target: str) -> None:
    body = START + """
        block {
            %some = greater_than %lane, %three : bool
            branch %some { unreachable "default of the switch" }
            store %lane, %A[%i]
        }
    """  # fmt: skip
    with pytest.raises(KernelError) as raised:
        compile_module(kernel(body), target)["f"](np.zeros(8, np.int32))
    (finding,) = raised.value.findings
    assert finding.code == "run.undefined_operation"
    assert "default of the switch" in finding.message
    assert (finding.lane, finding.span.line) == (4, 12)


def test_an_endless_loop_spends_the_budget() -> None:
    body = "%zero = constant 0 : i32\nloop { leave 0 () }"
    with pytest.raises(KernelError) as raised:
        compile_module(kernel(body), "interpreter")["f"].options(max_steps=1000)(np.zeros(8, np.int32))
    (finding,) = raised.value.findings
    assert (finding.code, finding.span.line, finding.span.text[:4]) == ("run.budget", 4, "loop")


PRODUCTS = """
    %o = constant 0 : index
    %n = constant 32 : index
    %eight = constant 8 : index
    %none = constant 0.0 : coopmatrix<f32x32x32,matrix_acc>
    %r = block -> (coopmatrix<f32x32x32,matrix_acc>) {
        loop init (%k = %o, %sum = %none) {
            HEAD
            %a = cooperative_matrix_load %A[%o, %k] : coopmatrix<f32x32x8,matrix_a>
            %b = cooperative_matrix_load %A[%k, %o] : coopmatrix<f32x8x32,matrix_b>
            %next = cooperative_matrix_mul_add %a, %b, %sum : coopmatrix<f32x32x32,matrix_acc>
            %k2 = add %k, %eight : index
            TAIL
            leave 0 (%k2, %next)
        }
        unreachable "the loop has no end"
    }
    cooperative_matrix_store %r, %C[%o, %o]
"""
EXIT = "%end = greater_than_equal KEY, %n : bool\nbranch %end { leave 1 (%sum) }"


@pytest.mark.parametrize("target", TARGETS)
def test_a_sum_of_products_is_left_with(target: str) -> None:
    """A sum that lies in memory is what it was where the loop is left, before the product or behind it."""
    matrix = np.asfortranarray(np.arange(1024).reshape(32, 32) % 7, dtype=np.float32)
    for head, tail, steps in ((EXIT.replace("KEY", "%k"), "", 4), ("", EXIT.replace("KEY", "%k2"), 3)):
        body = PRODUCTS.replace("HEAD", head).replace("TAIL", tail)
        found = np.zeros((32, 32), np.float32, order="F")
        parameters = "%A: memref<f32x32x32>, %C: memref<f32x32x32>"
        compile_module(kernel(body, parameters), target)["f"](matrix, found)
        np.testing.assert_array_equal(found, matrix[:, : 8 * steps] @ matrix[: 8 * steps])


@pytest.mark.parametrize("target", TARGETS)
def test_subgroups_meet_at_barriers_in_a_loop(target: str) -> None:
    body = START + """
        %s = subgroup_id.x : i32
        %eight = constant 8 : i32
        %base = mul %s, %eight : i32
        %me = add %base, %lane : i32
        %mine = cast %me : index
        %other = sub %eight, %base : i32
        %you = add %other, %lane : i32
        %yours = cast %you : index
        block {
            loop init (%k = %zero) {
                %done = equal %k, %three : bool
                branch %done { leave 1 () }
                %x = load %A[%yours] : i32
                barrier.global
                %y = add %x, %one : i32
                store %y, %A[%mine]
                barrier.global
                %k2 = add %k, %one : i32
                leave 0 (%k2)
            }
        }
    """  # fmt: skip
    array = np.arange(16, dtype=np.int32)
    compile_module(kernel(body, attributes="work_group_size=[16,1]"), target)["f"](array)
    assert array.tolist() == [number + 3 for number in [*range(8, 16), *range(8)]]


# --- loops that never end --------------------------------------------------------------------

ENDLESS = "%lane = subgroup_local_id : i32\n"
SAME = "loop { leave 0 () }"
PARTED = "loop { %never = less_than %lane, %lane : bool\nbranch %never { leave 0 () }\nleave 0 () }"
NESTED = """
    %zero = constant 0 : i32
    loop { loop init (%k = %zero) {
        %same = equal %k, %lane : bool
        branch %same { leave 1 () }
        leave 0 (%lane)
    } }
"""


def interrupted(_: int, __: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("body", "grid"), [(PARTED, 1), *long([(SAME, 1), (NESTED, 1), (SAME, 1000)])])
def test_a_launch_ends_inside_of_a_loop(body: str, grid: int) -> None:
    before = signal.signal(signal.SIGALRM, interrupted)
    launched = compile_module(kernel(ENDLESS + body), "cpu")["f"][grid]
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        launched(np.zeros(8, np.int32))
    signal.signal(signal.SIGALRM, before)


def test_loops_between_constants_have_so_many_iterations() -> None:
    count = """
        %zero = constant 0 : i32
        %three = constant 3 : i32
        %ten = constant 10 : i32
        block {
            loop init (%k = %zero, %other = %n) {
                HEAD
                branch %done { leave 1 () }
                %next = add %k, %three : i32
                %more = add %other, %three : i32
                leave 0 (%next, %more)
            }
        }
    """
    for head, trips in (
        ("%done = greater_than_equal %k, %ten : bool", 4),
        ("%going = less_than %k, %ten : bool\n%done = not %going : bool", 4),
        ("%done = greater_than_equal %other, %ten : bool", None),
        ("%done = greater_than_equal %k, %n : bool", None),
        ("%done = less_than %k, %ten : bool", None),
    ):
        function = kernel(count.replace("HEAD", head), "%n: i32").functions[0]
        (loop,) = (op for op in function.walk() if isinstance(op, Loop))
        assert most_trips(loop, constructs_of(function), constants_of(function)) == trips
