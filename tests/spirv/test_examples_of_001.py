"""The examples of 001, completed to compute shaders: modules without a fault, and faults named in GLSL's words."""

from __future__ import annotations

from pathlib import Path

from girih.diagnostics import Diagnostic
from girih.spirv import Module, validate
from girih.spirv.glsl_names import FUNCTIONS, MISPRINTS
from tests.cases import every_case

FOLDER = Path(__file__).parents[2] / "examples" / "shaders" / "cooperative_matrix_2"
NAMES = ("row_major", "column_major", "patch", "space_to_depth", "decode")


def module(name: str) -> Module:
    return Module.from_bytes((FOLDER / f"{name}.spv").read_bytes(), f"{name}.spv")


def test_every_example_is_accepted() -> None:
    with every_case() as case:
        for name in NAMES:
            with case(name):
                assert validate(module(name), "vulkan1.3") == []


def broken(name: str, old: str, new: str) -> Diagnostic:
    """The only diagnostic about an example of which a part of the text is replaced."""
    text = module(name).to_text()
    assert text.count(old) == 1
    found = validate(Module.from_text(text.replace(old, new)), "vulkan1.3")
    assert [one.severity for one in found] == ["error"]
    return found[0]


def test_faults_have_the_names_of_001() -> None:
    with every_case() as case:
        for name, old, new, code, words in (
            ("row_major", "%uint_100 %uint_70", "%uint_100 %uint_0", "OpTensorLayoutSetDimensionNV.positive",
             "setTensorLayoutDimensionNV, argument 3"),
            ("decode", "DecodeFunc %myDecodeFunc", "DecodeFunc %main ;",
             "OpCooperativeMatrixLoadTensorNV.decode_result", "coopMatLoadTensorNV, argument 5"),
            ("decode", "%uint_1 %uint_32", "%uint_0 %uint_32", "OpTensorLayoutSetBlockSizeNV.positive",
             "setTensorLayoutBlockSizeNV, argument 2"),
        ):  # fmt: skip
            with case(f"{name}: {new}"):
                told = broken(name, old, new)
                assert told.code == f"spirv.{code}"
                assert words in {label for _, label in told.labels}


def test_names_that_001_misprints_lead_to_names_of_functions() -> None:
    known = {function.name for function in FUNCTIONS.values()}
    right = {name for name in MISPRINTS.values() if not name.startswith("gl_")}
    assert right <= known
    assert known.isdisjoint(MISPRINTS)
    assert all(name.endswith("NV") for name in MISPRINTS.values() if name.startswith("gl_"))
