"""The judge tells all that is wrong with a module, each mistake once."""

from __future__ import annotations

import pytest

from girih.spirv import Module, validate
from girih.spirv.frame import completed


def told(text: str, environment: str = "vulkan1.4") -> list[tuple[str, list[str]]]:
    """The codes of what is wrong with a completed text, with the text at each label."""
    found = validate(Module.from_text(completed(text), "<test>"), environment)
    return [(one.code, [span.source.text[span.start : span.end] for span, _ in one.labels]) for one in found]


def test_a_diagnostic_points_at_each_operand_at_fault() -> None:
    wrong = [("spirv.OpIAdd.undefined", ["%first", "%second"])]
    assert told("%sum = OpIAdd %int %first %second") == wrong


def test_an_operand_is_blamed_once_and_the_others_are_still_looked_at() -> None:
    assert told("%sum = OpIAdd %int %nothing %float_1") == [
        ("spirv.OpIAdd.undefined", ["%nothing"]),
        ("spirv.OpIAdd.operands", ["%float_1"]),
    ]


def test_what_follows_from_a_mistake_is_no_mistake() -> None:
    assert [code for code, _ in told("%sum = OpIAdd %int %nothing %int_1\n%twice = OpIAdd %int %sum %sum")] == [
        "spirv.OpIAdd.undefined"
    ]


def test_instructions_are_told_in_their_order_after_the_header() -> None:
    text = "OpCapability Pipes\n%sum = OpIAdd %int %nothing %int_1\n%odd = OpGroupNonUniformElect %bool %uint_3"
    codes = ["spirv.OpCapability.vulkan", "spirv.OpIAdd.undefined", "spirv.OpGroupNonUniformElect.capability"]
    assert [code for code, _ in told(text)] == codes
    module = Module.from_text(completed(text), "<test>")
    first = validate(module, "universal1.5")[0]
    assert first.code == "spirv.module.target_version"


def test_rules_of_vulkan_are_vulkans() -> None:
    text = "OpCapability Linkage"
    assert told(text) == [("spirv.OpCapability.vulkan", ["Linkage"])]
    assert told(text, "universal1.6") == []


def test_an_environment_may_have_the_name_that_spirv_val_gives_it() -> None:
    text = completed("%x = OpIAdd %int %int_1 %float_2")
    module = Module.from_text(text)
    assert validate(module, "spv1.6") == validate(module, "universal1.6") != []
    with pytest.raises(ValueError, match="expected one of universal1"):
        validate(module, "spv1.9")
