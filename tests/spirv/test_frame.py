"""A few lines become a module: sections in order, what names say declared before it is used."""

from __future__ import annotations

from girih.spirv import Module, validate
from girih.spirv.frame import completed
from girih.spirv.lines import SourceLines
from girih.spirv.vocabulary import TERMINATORS


def test_names_are_declared_before_they_are_used() -> None:
    text = completed("%buffer = OpVariable %_ptr_Private_v4half Private\n%x = OpLoad %v4half %buffer")
    order = ["OpCapability Float16", "%half =", "%v4half =", "%_ptr_Private_v4half =", "%buffer =", "%main =", "%x ="]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert text.count("OpTypeFloat 16") == 1


def test_constants_say_their_values() -> None:
    text = completed("%x = OpFAdd %float %float_n0_5 %float_2\n%y = OpIAdd %int %int_n7 %int_7")
    for line in ("OpConstant %float -0.5", "OpConstant %float 2", "OpConstant %int -7", "OpConstant %int 7"):
        assert line in text


def test_what_stands_there_is_not_added_again() -> None:
    text = completed(
        "OpCapability Kernel\nOpCapability Linkage\nOpMemoryModel Logical OpenCL\n"
        "%main = OpFunction %void None %fn_void\n%l = OpLabel\nOpReturn\nOpFunctionEnd"
    )
    assert "Shader" not in text
    assert text.count("OpMemoryModel") == text.count("OpFunctionEnd") == 1


def test_a_completed_text_is_a_valid_module() -> None:
    assert validate(Module.from_text(completed("%x = OpIAdd %int %int_1 %int_2"))) == []


def test_every_terminator_ends_the_body() -> None:
    for terminator in TERMINATORS - {"OpBranch", "OpBranchConditional", "OpSwitch", "OpReturnValue"}:
        assert "OpReturn\n" not in completed(f"{terminator} %uint_1").replace(f"{terminator} ", ""), terminator
    assert "OpReturn\n" in completed("%x = OpIAdd %uint %uint_1 %uint_1")


def test_a_line_of_source_holds_to_the_end_of_its_block() -> None:
    source = '%file = OpString "rays.glsl"\nOpSource GLSL 460 %file "void main() {}"'
    blocks = "%first = OpLabel\nOpLine %file 1 1\nOpTerminateRayKHR\n%second = OpLabel\nOpReturn"
    module = Module.from_text(completed(f"{source}\n{blocks}"))
    lines = SourceLines(module)
    told = {one.name for one in module.instructions if lines.of(one.index) is not None}
    assert told == {"OpTerminateRayKHR"}
