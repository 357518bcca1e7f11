"""Rules of instructions that only some execution models have, and of hints (SPIR-V 3.42.16, 3.42.19, 3.42.24)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.spirv.model.declared.interfaces import entry_points_that_reach
from girih.spirv.model.facts import Facts
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    Subject,
    is_bool,
    is_bool_or_vector,
    is_float_or_vector,
    is_integer_or_vector,
    satisfies,
    type_of,
    width_of,
)  # fmt: skip
from girih.spirv.types import Type

DERIVATIVES = (
    "OpDPdx OpDPdy OpFwidth OpDPdxFine OpDPdyFine OpFwidthFine OpDPdxCoarse OpDPdyCoarse OpFwidthCoarse"
)  # fmt: skip
VERTICES = "OpEmitVertex OpEndPrimitive OpEmitStreamVertex OpEndStreamPrimitive"
INTERLOCKS = "OpBeginInvocationInterlockEXT OpEndInvocationInterlockEXT"
HELPERS = "OpDemoteToHelperInvocation OpIsHelperInvocationEXT"

MODELS: Mapping[str, str] = {
    **dict.fromkeys(DERIVATIVES.split(), "Fragment GLCompute MeshEXT TaskEXT"),
    **dict.fromkeys(VERTICES.split(), "Geometry"),
    **dict.fromkeys((INTERLOCKS + " " + HELPERS).split(), "Fragment"),
}
"""Instructions with the execution models that have them."""

DERIVATIVE_MODES = ("DerivativeGroupQuadsKHR", "DerivativeGroupLinearKHR")
INTERLOCK_MODES = tuple(
    f"{what}Interlock{how}EXT" for what in ("Pixel", "Sample", "ShadingRate") for how in ("Ordered", "Unordered")
)


def _foreign(subject: Subject[Facts]) -> str | None:
    """The execution models that reach an instruction and do not have it."""
    wrong = subject.facts.models_of(subject.op) - set(MODELS[subject.op.name].split())
    return ", ".join(sorted(wrong)) or None


def _model(source: str, says: str) -> SpirvRow:
    return rule("model", "", Finds("only execution models that have the instruction reach it", _foreign), says, source)


def _without(modes: tuple[str, ...], models: str, extension: str | None) -> Callable[[Subject[Facts]], str | None]:
    """The search for entry points of some execution models that reach an instruction and have none of some modes."""

    def find(subject: Subject[Facts]) -> str | None:
        if extension is not None and extension not in subject.facts.extensions:
            return None
        for entry in entry_points_that_reach(subject.facts, subject.op):
            if entry.model_name in models.split() and not any(map(entry.mode, modes)):
                return f"entry point {entry.name!r} without one"
        return None

    return find


def _width(subject: Subject[Facts]) -> str | None:
    half = "SPV_AMD_gpu_shader_half_float" in subject.facts.extensions
    width = width_of(RESULT_TYPE.value(subject))
    return None if width == 32 or (half and width == 16) else f"{width} bits"


def _is_expected(type: Type) -> bool:
    return is_bool_or_vector(type) or is_integer_or_vector(type)


_EXPECT = "SPV_KHR_expect_assume"

FAMILIES = (
    family(
        DERIVATIVES,
        rule("result", "result_type", satisfies(RESULT_TYPE, "is a float scalar or vector", is_float_or_vector),
             "a floating-point scalar or vector as result", "SPIR-V 3.42.16"),
        rule("width", "result_type", Finds("the components have 32 bits", _width), "components of 32 bits",
             "SPIR-V 3.42.16"),
        rule("operand", "p", Equal(type_of("p"), RESULT_TYPE), "an operand of the type of the result",
             "SPIR-V 3.42.16"),
        _model("SPIR-V 3.42.16", "Fragment, GLCompute, MeshEXT and TaskEXT alone as execution models that reach it"),
        rule("mode", "", Finds("entry points of work-groups say which invocations are beside each other",
                               _without(DERIVATIVE_MODES, "GLCompute MeshEXT TaskEXT",
                                        "SPV_KHR_compute_shader_derivatives")),
             "DerivativeGroupQuadsKHR or DerivativeGroupLinearKHR on the entry points of work-groups that reach it",
             "SPV_KHR_compute_shader_derivatives"),
    ),
    family(VERTICES, _model("SPIR-V 3.42.19", "Geometry alone as execution model that reaches it")),
    family(
        INTERLOCKS,
        _model("SPV_EXT_fragment_shader_interlock", "Fragment alone as execution model that reaches it"),
        rule("mode", "", Finds("entry points have a mode of interlock", _without(INTERLOCK_MODES, "Fragment", None)),
             "a mode of interlock on the entry points that reach it", "SPV_EXT_fragment_shader_interlock"),
    ),
    family(HELPERS, _model("SPV_EXT_demote_to_helper_invocation", "Fragment alone as execution model that reaches it")),
    family(
        "OpIsHelperInvocationEXT",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is a boolean", is_bool), "a boolean as result",
             "SPV_EXT_demote_to_helper_invocation"),
    ),
    family(
        "OpAssumeTrueKHR",
        rule("condition", "condition", satisfies(type_of("condition"), "is a boolean", is_bool), "a boolean",
             _EXPECT),
    ),
    family(
        "OpExpectKHR",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is of integers or booleans", _is_expected),
             "an integer or boolean, scalar or vector, as result", _EXPECT),
        rule("operand", "value", Equal(type_of("value"), RESULT_TYPE), "a value of the type of the result", _EXPECT),
        rule("expected", "expected_value", Equal(type_of("expected_value"), RESULT_TYPE),
             "an expected value of the type of the result", _EXPECT),
    ),
)  # fmt: skip
