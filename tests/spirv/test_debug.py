"""Debug information: places in source texts of several parts, and the id 0 that glslang writes."""

from __future__ import annotations

from girih.diagnostics import Diagnostic
from girih.spirv import Module, validate
from girih.spirv.frame import completed

LONG_SOURCE = """
%first = OpString "ab<CR>cd<CR><LF><LF>"
%second = OpString "efg"
%third = OpString "hi"
%long = OpExtInst %void %debug DebugSource %debug_name %first
%long_second = OpExtInst %void %debug DebugSourceContinued %second
%long_third = OpExtInst %void %debug DebugSourceContinued %third
"""
"""A source of the lines `ab`, `cd`, an empty one, and `efghi`."""


def judged(text: str) -> list[Diagnostic]:
    return validate(Module.from_text(completed(text).replace("<CR>", "\r").replace("<LF>", "\n")))


def wrong_with(line: int, column: int) -> list[str]:
    at = f"%uint_{line} %uint_{line} %uint_{column} %uint_{column}"
    found = judged(f"{LONG_SOURCE}%x = OpExtInst %void %debug DebugLine %long {at}")
    return [one.message.partition("found: ")[2] for one in found]


def test_lines_count_through_all_parts_of_a_source() -> None:
    assert wrong_with(4, 6) == wrong_with(3, 1) == wrong_with(2, 3) == []
    assert wrong_with(4, 7) == ["column 7 of line 4, which has 5"]
    assert wrong_with(2, 4) == ["column 4 of line 2, which has 2"]
    assert wrong_with(5, 1) == ["line 5 of 4"]


def test_an_id_0_has_a_hint_for_those_who_compile_with_glslang() -> None:
    (found,) = judged("%x = OpExtInst %void %debug DebugTypePointer %0 %uint_7 %uint_0")
    assert found.code == "spirv.OpExtInst.zero"
    assert "-gVS" in (found.hint or "")
