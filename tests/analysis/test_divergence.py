"""Instructions that some work-items miss, as the checker finds them, against what the interpreter finds."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import girih
from girih.api import compile_module
from girih.program import analyze
from girih.source import Source
from tests.cases import every_case, long

KERNELS = Path(girih.__file__).resolve().parent / "kernels"
ONE = "subgroup_size=8, work_group_size=[8, 1]"
FOUR = "subgroup_size=8, work_group_size=[16, 2]"
PARAMETERS = "%A: memref<i32x?>, %M: memref<f32x?x?>, %G: group<memref<i32x?>x?>, %n: i32, %b: bool, %k: index"

BEGIN = """
%zero = constant 0 : i32
%one = constant 1 : i32
%four = constant 4 : i32
%eight = constant 8 : i32
%many = constant 64 : i32
%lane = subgroup_local_id : i32
%sub = subgroup_linear_id : i32
%row = subgroup_id.y : i32
%i = cast %lane : index
%low = less_than %lane, %four : bool
"""

# What stands in `parallel` for each number of subgroups; `all` is a barrier, `some` a subgroup operation.
ALL, SOME = "barrier.local", "%r = subgroup_reduce_add %one : i32"
CASES = [
    # Conditions that are the same, unknown or not.
    (f"if %b {{ {ALL} }}", FOUR, []),
    (f"%c = less_than %lane, %many : bool if %c {{ {ALL} }}", FOUR, []),
    (f"%c = equal %lane, %many : bool if %c {{ {ALL} }}", FOUR, []),
    (f"%d = sub %lane, %lane : i32 %c = equal %d, %n : bool if %c {{ {ALL} }}", FOUR, []),
    (f"%t = add %lane, %n : i32 %d = sub %t, %lane : i32 %c = equal %d, %one : bool if %c {{ {SOME} }}", FOUR, []),
    (f"%x = load %A[%k] : i32 %c = equal %x, %n : bool if %c {{ {ALL} }}", FOUR, []),
    (f"%x = subgroup_reduce_add %n : i32 %c = equal %x, %n : bool if %c {{ {ALL} }}", FOUR, []),
    # Lanes.
    (f"if %low {{ {ALL} }}", ONE, ["error"]),
    (f"if %low {{ {SOME} }}", None, ["error"]),
    (f"if %low {{ {ALL} }} else {{ {ALL} }}", None, ["error", "error"]),
    (f"%c = and %low, %b : bool if %c {{ {ALL} }}", None, ["error"]),
    (f"%c = or %low, %b : bool if %c {{ {ALL} }}", None, ["warning"]),
    (f"%c = or %low, %b : bool if %c {{ }} else {{ {ALL} }}", None, ["error"]),
    (f"%c = xor %low, %b : bool if %c {{ {ALL} }}", None, ["error"]),
    (f"%c = equal %lane, %n : bool if %c {{ {ALL} }}", None, ["error"]),
    (f"%c = not_equal %lane, %n : bool if %c {{ {ALL} }}", None, ["warning"]),
    (f"%c = not_equal %lane, %n : bool if %c {{ }} else {{ {ALL} }}", None, ["error"]),
    (f"%c = less_than %lane, %n : bool if %c {{ {ALL} }}", None, ["warning"]),
    (f"if %b {{ if %low {{ {ALL} }} }}", None, ["error"]),
    (f"if %low {{ if %b {{ {ALL} }} }}", None, ["error"]),
    (f"%s = select %low, %one, %zero : i32 %c = equal %s, %one : bool if %c {{ {ALL} }}", None, ["error"]),
    (f"%m = min %lane, %four : i32 %c = equal %m, %four : bool if %c {{ {ALL} }}", None, ["error"]),
    (f"%x = load %A[%i] : i32 %c = equal %x, %n : bool if %c {{ {ALL} }}", None, ["warning"]),
    (f"%x = atomic_add %one, %A[%k] : i32 %c = equal %x, %n : bool if %c {{ {SOME} }}", None, ["warning"]),
    (f"%x = atomic_load %A[%k] : i32 %c = equal %x, %n : bool if %c {{ {SOME} }}", None, ["warning"]),
    (f"%x = subgroup_inclusive_scan_add %n : i32 %c = equal %x, %n : bool if %c {{ {SOME} }}", None, ["warning"]),
    # Subgroups: as one they may stay away from what is theirs, but not from a barrier.
    (f"%c = equal %sub, %zero : bool if %c {{ {SOME} }}", FOUR, []),
    (f"%c = equal %sub, %zero : bool if %c {{ {ALL} }}", FOUR, ["error"]),
    (f"%c = equal %sub, %zero : bool if %c {{ {ALL} }}", ONE, []),
    (f"%c = equal %sub, %zero : bool if %c {{ {ALL} }}", None, ["warning"]),
    (f"%c = equal %row, %zero : bool if %c {{ {ALL} }}", "subgroup_size=8, work_group_size=[16, 1]", []),
    (f"%x = subgroup_broadcast %n, %zero : i32 %c = equal %x, %zero : bool if %c {{ {ALL} }}", FOUR, []),
    (f"%x = subgroup_reduce_max %sub : i32 %c = equal %x, %zero : bool if %c {{ {ALL} }}", FOUR, ["warning"]),
    (f"%s = mul %sub, %eight : i32 %j = add %s, %lane : i32 %t = constant 20 : i32 %c = less_than %j, %t : bool "
     f"if %c {{ {SOME} }}", FOUR, ["error"]),
    # Loops.
    (f"for %j=%zero,%n {{ {ALL} }}", None, []),
    (f"for %j=%zero,%lane {{ {ALL} }}", None, ["error"]),
    (f"for %j=%lane,%n {{ {ALL} }}", None, ["error"]),
    (f"for %j=%lane,%n,%many {{ {ALL} }}", None, ["warning"]),
    (f"for %j=%lane,%many,%many {{ {ALL} }}", None, []),
    (f"for %j=%zero,%sub {{ {SOME} }}", FOUR, []),
    (f"for %j=%zero,%sub {{ {ALL} }}", FOUR, ["error"]),
    (f"for %j=%zero,%lane {{ if %b {{ {ALL} }} }}", None, ["error"]),
    (f"%u = add %lane, %one : i32 for %j=%zero,%u {{ if %b {{ {ALL} }} }}", None, ["warning"]),
    (f"for %j=%zero,%n {{ %c = equal %lane, %j : bool if %c {{ {ALL} }} }}", None, ["error"]),
    (f"for %j=%one,%eight {{ %c = less_than %lane, %j : bool if %c {{ {ALL} }} }}", ONE, ["error"]),
    (f"for %j=%zero,%n {{ %c = less_than %lane, %j : bool if %c {{ {ALL} }} }}", None, ["warning"]),
    (f"%h = for %j=%zero,%four init(%s=%four) -> (i32) {{ %c = less_than %lane, %s : bool if %c {{ {ALL} }} "
     "%t = shr %s, %one : i32 yield (%t) }", ONE, ["error"]),
    (f"%h = for %j=%zero,%four init(%s=%zero) -> (i32) {{ %c = equal %s, %zero : bool if %c {{ {ALL} }} "
     "%t = add %s, %lane : i32 yield (%t) }", ONE, ["error"]),
    (f"%h = for %j=%zero,%n init(%s=%zero) -> (i32) {{ %c = equal %s, %n : bool if %c {{ {ALL} }} "
     "%t = add %s, %lane : i32 yield (%t) }", None, ["warning"]),
    # What is wrong is said once, and not of what nobody comes to.
    (f"if %low {{ if %low {{ {ALL} }} }}", None, ["error"]),
    (f"%never = constant false : bool %c = and %low, %never : bool if %c {{ {ALL} }}", None, []),
    (f"%high = not %low : bool if %low {{ if %high {{ {ALL} }} }}", None, []),
]  # fmt: skip


def kernel(body: str, attributes: str | None) -> str:
    """A kernel with a body, of sizes that its attributes give."""
    given = f" attributes {{{attributes}}}" if attributes else ""
    return f"func @f({PARAMETERS}){given} {{\n{body}\n}}"


def told(text: str) -> list[tuple[str, str]]:
    """The severities and codes of a text about work-items that part, or do not agree."""
    diagnostics = girih.check(text)
    return [(d.severity, d.code) for d in diagnostics]


def test_what_some_work_items_miss() -> None:
    with every_case() as case:
        for body, attributes, expected in CASES:
            with case(f"{attributes}: {body}"):
                codes = told(kernel(f"parallel {{ {BEGIN} {body} }}", attributes))
                assert [severity for severity, _ in codes] == expected
                assert {code.rpartition(".")[2] for _, code in codes} <= {"divergent"}


SHARED = [
    (f"foreach (%p)=(%zero),(%ten) {{ {SOME} }}", None, ["error"]),
    (f"foreach (%p)=(%zero),(%ten) {{ {ALL} }}", ONE, ["error"]),
    (f"foreach (%p)=(%zero),(%sixteen) {{ {SOME} }}", ONE, ["warning"]),
    ("foreach (%p)=(%zero),(%zero) { barrier }", ONE, []),
    (f"foreach (%p,%q)=(%zero,%zero),(%ten,%k) {{ {SOME} }}", ONE, ["warning"]),
    (f"foreach_tile (%p)=(%zero),(%k) as (%s)<=(16) {{ {SOME} }}", FOUR, []),
    ("foreach_tile (%p)=(%zero),(%k) as (%s)<=(16) { barrier }", FOUR, ["warning"]),
    ("foreach_tile (%p)=(%zero),(%ten) as (%s)<=(8) { barrier }", FOUR, ["error"]),
    ("foreach_tile (%p)=(%zero),(%k) as (%s)<=(16) { barrier }", ONE, []),
    ("for %j=%zero,%k { barrier }", None, []),
    ("%x = atomic_add %one, %A[%k] : i32 %c = equal %x, %n : bool if %c { foreach (%p)=(%zero),(%k) { barrier } }",
     None, ["warning", "warning", "warning"]),
    ("%x = atomic_add %one, %A[%k] : i32 %c = equal %x, %n : bool if %c { parallel { barrier } }",
     None, ["warning", "warning"]),
    ("%x = atomic_load %A[%k] : i32 %c = equal %x, %n : bool if %c { parallel { barrier } }", None, []),
]  # fmt: skip


def test_what_is_shared_out() -> None:
    begin = (
        "%zero = constant 0 : index %ten = constant 10 : index %sixteen = constant 16 : index %one = constant 1 : i32"
    )
    with every_case() as case:
        for body, attributes, expected in SHARED:
            with case(f"{attributes}: {body}"):
                assert [severity for severity, _ in told(kernel(f"{begin} {body}", attributes))] == expected


def test_labels_lead_back_to_what_tells_work_items_apart() -> None:
    body = """parallel {
        %zero = constant 0 : i32
        %lane = subgroup_local_id : i32
        %i = cast %lane : index
        %x = load %A[%i] : i32
        %y = if %b -> (i32) { yield (%x) } else { yield (%zero) }
        %positive = greater_than %y, %zero : bool
        if %positive {
            barrier.local
        }
    }"""
    (found,) = girih.check(kernel(body, None))
    assert (found.code, found.severity) == ("barrier.divergent", "warning")
    assert [(span.text, words) for span, words in found.labels] == [
        ("barrier.local", ""),
        ("%positive", "this condition differs between the work-items of the work-group"),
        ("%x = load %A[%i] : i32", "loaded from a place that depends on %i"),
        ("%lane = subgroup_local_id : i32", "each work-item of a subgroup has another number"),
    ]
    assert found.hint is not None and "move it out of the `if`" in found.hint


def test_a_function_in_error_and_its_neighbours() -> None:
    wrong = "func @g() { parallel { %lane = subgroup_local_id : i32 for %i=%lane,%none { barrier } } }\n"
    right = kernel(f"parallel {{ {BEGIN} if %low {{ {ALL} }} }}", None)
    assert [code for _, code in told(wrong + right)] == ["name.undefined", "barrier.divergent"]


def test_no_kernel_of_the_library_is_accused() -> None:
    texts = sorted(KERNELS.glob("*.tl"))
    assert len(texts) > 30
    with every_case() as case:
        for path in texts:
            with case(path.name):
                assert girih.check(path.read_text(encoding="utf-8"), path.name) == []


def test_long_chains_and_deep_nesting_take_linear_time() -> None:
    links = "\n".join(f"%v{i + 1} = add %v{i}, %lane : i32" for i in range(800))
    results, carried = (", ".join(f"%{name}{i}{end}" for i in range(100)) for name, end in (("r", ""), ("c", "=%zero")))
    values = ", ".join(["%lane", *(f"%c{i}" for i in range(99))])
    loop = f"{results} = for %j=%zero,%n init({carried}) -> ({', '.join(['i32'] * 100)}) {{ yield ({values}) }}"
    last = f"%c = equal %v800, %r99 : bool if %c {{ {ALL} }}"
    body = f"parallel {{ {BEGIN} %v0 = add %n, %zero : i32 {links} {loop} {last} }}"
    assert told(kernel(body, None)) == [("warning", "barrier.divergent")]
    deep = "".join(f"for %j{i}=%zero,%many {{ " for i in range(60)) + f"if %low {{ {ALL} }}" + "}" * 60
    assert told(kernel(f"parallel {{ {BEGIN} {deep} }}", None)) == [("warning", "barrier.divergent")]


# --- against the interpreter -----------------------------------------------------------------


class Conditions:
    """Random conditions and bounds over the numbers of lane and subgroup, arguments, constants and loop variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.known = ["%lane", "%sub", "%lane", "%n", "%m", "%one", "%four", "%eight", "%zero"]
        self.lines: list[str] = []
        self.count = 0

    def value(self, text: str, type: str = "i32") -> str:
        """The name of a new value."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text} : {type}")
        return f"%v{self.count}"

    def number(self, depth: int = 2) -> str:
        """An integer."""
        pick = self.random.random()
        if depth == 0 or pick < 0.4:
            return self.random.choice(self.known)
        if pick < 0.5:
            return self.value(f"select {self.condition(depth - 1)}, {self.number(depth - 1)}, {self.number(depth - 1)}")
        if pick < 0.6:
            return self.value(f"{self.random.choice(['div', 'rem', 'shr'])} {self.number(depth - 1)}, %four")
        word = self.random.choice(["add", "sub", "mul", "min", "max", "add", "and", "xor"])
        return self.value(f"{word} {self.number(depth - 1)}, {self.number(depth - 1)}")

    def condition(self, depth: int = 2) -> str:
        """A condition."""
        pick = self.random.random()
        if depth and pick < 0.3:
            word = self.random.choice(["and", "or", "xor"])
            return self.value(f"{word} {self.condition(depth - 1)}, {self.condition(depth - 1)}", "bool")
        if depth and pick < 0.4:
            return self.value(f"not {self.condition(depth - 1)}", "bool")
        if pick < 0.45:
            return "%b"
        word = self.random.choice(["equal", "not_equal", "less_than", "less_than_equal", "greater_than"])
        return self.value(f"{word} {self.number(depth)}, {self.number(depth)}", "bool")

    def around(self, inside: str, depth: int) -> str:
        """Branches and loops around an instruction."""
        if depth == 0:
            return inside
        if self.random.random() < 0.4:
            start, stop = self.number(1), self.value(f"min {self.number()}, %eight")
            step = self.random.choice(["", ", %one", ", %four"])
            opening, end = f"for %j{depth}={start},{stop}{step} {{", "}"
            self.known.append(f"%j{depth}")
        else:
            opening, end = f"if {self.condition()} {{", "}"
            if self.random.random() < 0.3:
                opening, end = opening + " } else {", "}"
        lines, self.lines = self.lines, []
        return "\n".join([*lines, opening, self.around(inside, depth - 1), end])


@pytest.mark.parametrize("first", [0, *long(range(60, 1800, 60))])
def test_what_is_certain_is_found_in_every_launch_that_comes_there(first: int) -> None:
    """And what is not said is found in none. Each program runs with several arguments."""
    counts = {"error": 0, "warning": 0, "nothing": 0, "found": 0}
    for seed in range(first, first + 60):
        choose = random.Random(seed)
        inside = f"{choose.choice([ALL, SOME])} %old = atomic_add %one, %A[%k] : i32"
        body = Conditions(seed).around(inside, choose.randint(1, 3))
        sizes = choose.choice([ONE, FOUR, "subgroup_size=8, work_group_size=[8, 2]", "subgroup_size=16"])
        parameters = "%A: memref<i32x1>, %n: i32, %m: i32, %b: bool, %k: index"
        text = f"func @f({parameters}) attributes {{{sizes}}} {{ parallel {{ {BEGIN} {body} }} }}"
        told = girih.check(text)
        assert all(d.code.endswith(".divergent") for d in told), text
        worst = "error" if any(d.severity == "error" for d in told) else "warning" if told else "nothing"
        counts[worst] += 1
        module, _ = analyze(Source(text, "f.tl"))
        launched = compile_module(module, "interpreter")["f"]
        for n, m, b in [(0, 1, True), (3, 8, False), (20, 7, True), (choose.randint(-9, 40), -2, False)]:
            A = np.zeros(1, np.int32)
            try:
                launched(A, n, m, b, 0)
                found = False
            except girih.KernelError as error:
                found = any(f.code == "run.divergent" for f in error.findings)
            counts["found"] += found
            assert not (found and worst == "nothing"), text
            assert found or worst != "error" or not A[0], text
    assert min(counts.values()) > 3, counts
