"""What compilers print, as it was recorded, becomes diagnostics that point into the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders import compile as compiling
from girih.front.shaders.compilers import Compiled, Compiler
from girih.front.shaders.messages import messages_in
from tests.cases import every_case

SHADER = """\
#version 460
#extension GL_GOOGLE_include_directive : require
#include "parts/half.glsl"
layout(local_size_x = 32) in;
layout(binding = 0) buffer Target { float b[]; };
void main() {
    b[gl_GlobalInvocationID.x] = vlaue;
    int a = 1
}
"""
HALF = "float halved(float x) {\n    return 0.5 * y;\n}\n"
KERNEL = """\
RWStructuredBuffer<float> b;
float twice(float x) { return 2 * x; }
[shader("compute")]
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    b[id.x] = twice(1, 2);
    int unused = 1.5;
}
"""

GLSLANG_16 = """\
wrong.comp
ERROR: ./parts/half.glsl:2: 'y' : undeclared identifier\x20
WARNING: wrong.comp:2: '#extension' : extension not supported: GL_NV_nothing
ERROR: wrong.comp:7: 'vlaue' : undeclared identifier\x20
ERROR: wrong.comp:9: '' :  syntax error, unexpected RIGHT_BRACE, expecting COMMA or SEMICOLON
ERROR: wrong.comp:9: '' : compilation terminated\x20
ERROR: 4 compilation errors.  No code generated.


ERROR: Linking compute stage: Missing entry point: Each stage requires one entry point

SPIR-V is not generated for failed compile or link
"""
GLSLC_2023 = """\
parts/half.glsl:2: error: 'y' : undeclared identifier
wrong.comp:7: error: 'vlaue' : undeclared identifier
wrong.comp:2: warning: '#extension' : extension not supported: GL_NV_nothing
2 errors generated.
"""
SLANG_2026 = """\
error[E39999]: too many arguments to call
 --> wrong.slang:6:20
  |
6 | b[id.x] = twice(1, 2);
  |                ^ too many arguments to call (got 2, expected 1)
--'
note[E40011]: candidate: func twice(float) -> float
 --> wrong.slang:2:7
  |
2 | float twice(float x) { return 2 * x; }
  |       ^^^^^
--'
warning[E30081]: implicit conversion not recommended
 --> wrong.slang:7:18
  |
7 | int unused = 1.5;
  |              ^^^ implicit conversion from 'float' to 'int' is not recommended
--'
"""
SLANG_2024 = """\
wrong.slang(6): error 39999: too many arguments to call (got 2, expected 1)
    b[id.x] = twice(1, 2);
                   ^
wrong.slang(7): warning 30081: implicit conversion from 'float' to 'int' is not recommended
"""

NO_ENTRY = "Linking compute stage: Missing entry point: Each stage requires one entry point"

EXPECTED = {
    ("wrong.comp", GLSLANG_16): [
        ("error", "'y' : undeclared identifier", "parts/half.glsl:2:18", "y"),
        ("warning", "'#extension' : extension not supported: GL_NV_nothing", "wrong.comp:2:1", "#extension"),
        ("error", "'vlaue' : undeclared identifier", "wrong.comp:7:34", "vlaue"),
        ("error", "syntax error, unexpected RIGHT_BRACE, expecting COMMA or SEMICOLON", "wrong.comp:9:1", "}"),
    ],
    ("wrong.comp", GLSLC_2023): [
        ("error", "'y' : undeclared identifier", "parts/half.glsl:2:18", "y"),
        ("error", "'vlaue' : undeclared identifier", "wrong.comp:7:34", "vlaue"),
        ("warning", "'#extension' : extension not supported: GL_NV_nothing", "wrong.comp:2:1", "#extension"),
    ],
    ("wrong.slang", SLANG_2026): [
        ("error", "too many arguments to call", "wrong.slang:6:20", "("),
        ("warning", "implicit conversion not recommended", "wrong.slang:7:18", "1.5"),
    ],
    ("wrong.slang", SLANG_2024): [
        ("error", "too many arguments to call (got 2, expected 1)", "wrong.slang:6:5", "b[id.x] = twice(1, 2);"),
        ("warning", "implicit conversion from 'float' to 'int' is not recommended",
         "wrong.slang:7:5", "int unused = 1.5;"),
    ],
    ("wrong.comp", f"ERROR: {NO_ENTRY}\n"): [("error", NO_ENTRY, "wrong.comp:1:1", "")],
    ("wrong.comp", "wrong.comp:99: error: beyond the last line\n"): [
        ("error", "beyond the last line", "wrong.comp:1:1", "")
    ],
    ("wrong.comp", "It fell over.\nwith two lines\n"): [
        ("error", "a compiler: It fell over.\nwith two lines", "wrong.comp:1:1", "")
    ],
    ("wrong.comp", ""): [("error", "a compiler: it ended without a module and without a word", "wrong.comp:1:1", "")],
}  # fmt: skip


def said(name: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> list[Diagnostic]:
    """The diagnostics of a source whose compiler prints a text and makes nothing."""
    fake = Compiler("a compiler", (".comp", ".slang"), lambda: True, lambda source: Compiled(None, printed))
    monkeypatch.setattr(compiling, "compiler_for", lambda path: fake)
    with pytest.raises(CompileError) as refused:
        compiling.compile_shader(name, Path(name).read_bytes())
    return list(refused.value.diagnostics)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for name, text in {"wrong.comp": SHADER, "parts/half.glsl": HALF, "wrong.slang": KERNEL}.items():
        Path(name).write_text(text, encoding="utf-8")


def test_messages_point_into_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    with every_case() as case:
        for (name, printed), expected in EXPECTED.items():
            with case(printed[:40]):
                found = said(name, printed, monkeypatch)
                assert [(one.severity, one.message, str(one.span), one.span.text) for one in found] == expected
                assert {one.code for one in found} <= set(compiling.COMPILE_CODES)


def test_what_stands_below_a_message_becomes_its_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    error, warning = said("wrong.slang", SLANG_2026, monkeypatch)
    assert [(str(span), span.text, text) for span, text in error.labels] == [
        ("wrong.slang:6:20", "(", "too many arguments to call (got 2, expected 1)"),
        ("wrong.slang:2:7", "twice", "candidate: func twice(float) -> float"),
    ]
    assert [text for _, text in warning.labels] == ["implicit conversion from 'float' to 'int' is not recommended"]


def test_a_name_that_001_misprints_gets_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("wrong.comp").write_text(
        "#version 460\nlayout_ = setTensorLayoutDimensions(layout_, 4, 4);\n", encoding="utf-8"
    )
    printed = "ERROR: wrong.comp:2: 'setTensorLayoutDimensions' : no matching overloaded function found\n"
    (error,) = said("wrong.comp", printed, monkeypatch)
    assert error.span.text == "setTensorLayoutDimensions"
    assert error.hint == "the text of 001 misprints this name: write setTensorLayoutDimensionNV"


def test_text_that_is_no_message_is_none() -> None:
    assert messages_in("wrong.comp\n\nSPIR-V is not generated for failed compile or link\n2 errors generated.\n") == []
    # A note before any message explains nothing.
    (note,) = messages_in("note: something\n")
    assert note.text == "something"
