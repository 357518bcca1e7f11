"""What the checker tells: carets under the guilty operands, where they are defined, hints, no consequential errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from girih import check
from girih.commands.parts.reference import all_codes
from girih.diagnostics import render_all
from girih.ir.limits import DeviceLimits
from girih.ops.tile import TILE_LANGUAGE
from girih.program import analyze
from girih.source import Source

Golden = Callable[[str, str], None]

TEXTS = {
    "shape": """func @f(%alpha: f32, %A: memref<f32x4>, %B: memref<f32x5>) {
    axpby %alpha, %A, %alpha, %B
}
""",
    "defined_above": """func @f(%alpha: f32, %A: memref<f32x4x4>) {
    %long = subview %A[0:2, 0:4] : memref<f32x2x4,strided<1,4>>

    gemm %alpha, %A, %long, %alpha, %A
}
""",
    "alpha": """func @f(%alpha: f32, %A: memref<f16x4x4>, %C: memref<f32x4x4>) {
    gemm %alpha, %A, %A, %alpha, %C
}
""",
    "dynamic": """func @f(%alpha: f32, %A: memref<f32x?>, %B: memref<f32x5>) {
    axpby %alpha, %A, %alpha, %B
}
""",
    "several_rows": """func @f(%alpha: f64, %A: memref<f32x4x5>, %C: memref<f16x4x4>) {
    gemm %alpha, %A, %A, %alpha, %C
}
""",
    "region": """func @f(%alpha: f32, %A: memref<f32x4>) {
    parallel {
        axpby %alpha, %A, %alpha, %A
        %a = alloca : memref<f32x4,local>
    }
    %lane = subgroup_local_id : i32
}
""",
    "yield": """func @f(%c: bool, %a: f32) {
    %x = if %c -> (f32, index) {
        yield (%a)
    } else {
    }
}
""",
    "wide_characters": """func @f(%a: f32) {
    ; \N{CJK UNIFIED IDEOGRAPH-65E5}\N{CJK UNIFIED IDEOGRAPH-672C}
\t%b = add %a, %missing : f32 ; \N{CJK UNIFIED IDEOGRAPH-65E5}
}
""",
    "types": """func @f(%A: memref<f32x4x4,strided<4,1>>, %m: coopmatrix<f32x8x8,matrix_a>)
        attributes {subgroup_size=12} {
    %B = alloca : memref<f32x4,local,strided<1>>
    %D = alloca : memref<f32x?>
}
""",
    "warning": """func @f(%a: f32, %A: memref<f32x4>, %i: index) {
    %x = load %A[4] : f32
    foreach (%j)=(%i),(%i) {
        barrier
    }
}
""",
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_diagnostics_as_they_are_shown(name: str, golden: Golden) -> None:
    golden(f"check_{name}.txt", render_all(check(TEXTS[name], "kernel.tl")) + "\n")


def told(text: str) -> list[tuple[int, str]]:
    return [(d.span.line, d.code) for d in check(text)]


def test_an_operand_in_error_causes_no_more() -> None:
    text = """func @f(%a: f32, %b: f64, %A: memref<f32x4>, %i: index) {
    %c = foo %a : f32
    %d = add %c, %b : f64
    %e = mul %c, %missing : f32
    axpby %c, %A, %e, %A
    store %c, %A[%i]
    %g = if %c -> (f32) {
        yield (%c)
    } else {
        yield (%e)
    }
    %h = neg %g : f32
}
"""
    assert told(text) == [(2, "syntax.mnemonic"), (4, "name.undefined")]


def test_every_failed_row_is_reported_unless_its_operand_is_in_error_already() -> None:
    (region, alpha) = check("func @f(%A: memref<f32x4>, %a: f32) {\nparallel {\naxpby %A, %A, %a, %A\n}\n}\n")
    assert [region.code, alpha.code] == ["axpby.region", "axpby.alpha"]


def test_labels_name_where_operands_are_defined() -> None:
    (found,) = check(TEXTS["defined_above"])
    assert [(span.line, text) for span, text in found.labels][-1] == (2, "%long defined here")
    assert [text for span, text in found.labels if span.line == 4] == [
        "a: memref<f32x4x4>",
        "b: memref<f32x2x4,strided<1,4>>",
    ]


def test_definitions_on_the_same_line_get_no_label() -> None:
    (found,) = check("func @f(%a: f32, %b: f64) { %c = add %a, %b : f32 }")
    assert [text for _, text in found.labels] == ["a: f32", "b: f64"]


def test_as_json() -> None:
    (found,) = check(TEXTS["shape"], "kernel.tl")
    shown = found.to_json()
    assert shown == {
        "code": "axpby.shape",
        "severity": "error",
        "message": found.message,
        "file": "kernel.tl",
        "line": 2,
        "column": 19,
        "end_line": 2,
        "end_column": 21,
        "labels": shown["labels"],
        "hint": None,
    }


def test_columns_count_code_points() -> None:
    found = check('func @f(%A: memref<f32x4> {"n"="x"}, %a: f32) {\n\t%b = add %a, %c : f32\n}\n')[-1]
    assert (found.span.line, found.span.column) == (2, 15)


def test_many_diagnostics_are_counted() -> None:
    text = "func @f(%a: f32, %b: f64) {\n" + "".join(f"%c{k} = add %a, %b : f32\n" for k in range(250)) + "}\n"
    shown = render_all(check(text))
    assert shown.count("error[add.same]") == 100
    assert shown.endswith("\n\n... and 150 more")


def test_very_long_lines_are_cut() -> None:
    text = "func @f(%a: f32) { " + "%x = neg %a : f32 " * 1 + " " * 5000 + "%y = neg %missing : f32 }"
    shown = check(text)[0].render()
    assert max(map(len, shown.splitlines())) < 600
    line, carets = shown.splitlines()[2:4]
    assert line[carets.index("^") :].startswith("%missing")


LIMITED = """func @f() attributes {work_group_size=[64,2]} {
    %a = alloca {alignment=2048} : memref<f32x32x1024,local>
    %m = constant 0.0 : coopmatrix<f32x2048x1024,matrix_acc>
}
"""


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (
            DeviceLimits(),
            {
                "func.local_memory": "131072 bytes are alive at a time, a usual device has 65536",
                "alloca.alignment_limit": "alignment is 2048, local memory is aligned to at most 1024",
                "type.matrix_size": "which has 2097152 components, more than 1048576",
            },
        ),
        (
            DeviceLimits((16,), 64, 4096, 64, 4096, 512),
            {
                "func.work_group_items": "128 work-items, the target has 64",
                "func.local_memory": "131072 bytes are alive at a time, the target has 4096",
                "alloca.alignment_limit": "alignment is 2048, the target's is aligned to at most 512",
                "type.matrix_size": "which has 2097152 components, more than 4096",
            },
        ),
    ],
)
def test_messages_give_the_limit_in_force(limits: DeviceLimits, found: dict[str, str]) -> None:
    told = {d.code: d.message for d in analyze(Source(LIMITED), None, limits)[1]}
    assert set(told) == set(found)
    for code, words in found.items():
        assert told[code].endswith(words)


def test_written_rules_have_the_limits_of_no_target() -> None:
    written = {code.code: code.rule for code in all_codes(TILE_LANGUAGE).values() if code.needs}
    assert written["alloca.alignment_limit"] == "alignment ≤ 1024"
    assert written["func.local_memory"] == "local memory ≤ 65536 bytes"
