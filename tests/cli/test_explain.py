"""`girih explain`: every code and every instruction has an explanation; unknown ones get the nearest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from girih.commands.address.rules import address_rules
from girih.commands.parts.additions import ADDITIONS, VOCABULARY
from girih.commands.parts.names import name_text
from girih.commands.parts.reference import all_codes
from girih.ir.hints import HINT_NAMES, PERMISSIONS
from girih.ops.tile import TILE_LANGUAGE
from girih.specifications import SPECIFICATIONS, named
from tests.cases import long
from tests.cli.helpers import girih

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_rule() -> None:
    done = girih("explain", "axpby.shape")
    assert done.status == 0
    for line in ("axpby.shape (error)", "  rule    shape(b) = shape(op(a))", '  source  003 "Axpby"', "  blames  a, b"):
        assert line in done.output.splitlines()


def test_an_instruction() -> None:
    lines = girih("explain", "gemv").output.splitlines()
    assert lines[0] == "gemv"
    assert '  syntax  "gemv" [".atomic"] [".n" / ".t"] %alpha "," %a "," %b "," %beta "," %c' in lines
    assert "  region  collective" in lines
    assert any(line.startswith("  c ") and line.endswith("; reads, writes") for line in lines)


@pytest.mark.parametrize("topic", ["axpby", "axpby.shape", "syntax.brace", "func", "run.out_of_bounds", "bind.type"])
def test_layout(topic: str) -> None:
    output = girih("explain", topic).output
    assert output == "\n".join(line.rstrip() for line in output.split("\n"))
    assert "\n\n\n" not in output


def explains(topic: str) -> None:
    done = girih("explain", topic)
    assert (done.status, done.errors) == (0, ""), topic
    assert done.output.startswith(topic)


def test_every_instruction_is_explained() -> None:
    for topic in TILE_LANGUAGE.rules:
        explains(topic)


@pytest.mark.parametrize("first", [0, *long(range(1, 24))])
def test_every_code_is_explained(first: int) -> None:
    for topic in list(all_codes(TILE_LANGUAGE))[first::24]:
        explains(topic)


def test_every_code_of_the_front_end_and_of_binding_is_known() -> None:
    assert {
        "syntax.brace",
        "name.undefined",
        "type.unknown",
        "definition.kind",
        "bind.dtype",
        "run.out_of_bounds",
    } <= set(all_codes(TILE_LANGUAGE))


def test_a_rejected_and_an_accepted_example() -> None:
    output = girih("explain", "syntax.brace").output
    assert "\nrejected\n  func @f() {\n" in output and "; error: syntax.brace" in output


def test_json() -> None:
    found = girih("explain", "axpby.shape", "--format", "json").json
    assert found["code"] == "axpby.shape" and found["rule"] == "shape(b) = shape(op(a))"
    found = girih("explain", "load", "--format", "json").json
    assert found["mnemonic"] == "load"
    assert [field["name"] for field in found["operands"]] == ["tensor", "indices", "result"]
    assert {rule["code"] for rule in found["rules"]} == {f"load.{row.id}" for row in TILE_LANGUAGE.rules["load"]}


def test_a_family() -> None:
    lines = girih("explain", "definition").output.splitlines()
    assert len(lines) == 6 and all(line.startswith("definition.") for line in lines)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("axpby.shap", "did you mean 'axpby.shape'?"),
        ("axbpy", "did you mean 'axpby'?"),
        ("less_then", "did you mean 'less_than'?"),
        ("syntax.brase", "did you mean 'syntax.brace'?"),
        ("AXPBZ", "did you mean 'axpby'?"),
        ("coopMatReduceN", "did you mean 'coopMatReduceNV'?"),
        ("opcooperativematrixreducE", "did you mean 'OpCooperativeMatrixReduceNV'?"),
        ("run.zzzz", "run has no rule 'run.zzzz'; its codes: run."),
        ("zzzzzz", "`girih explain --list` and `--names` list all of them"),
        ("gemm.qqqqqqqqqq", "its codes: gemm.region"),
        ("tensor_map.stride_multipel", "did you mean 'tensor_map.stride_multiple'?"),
        ("map_tile.qqqqqqqqqqqqq", "its codes: map_tile.element_offset, map_tile.map"),
        ("tensor_map.qqqqqqqqqqqqq", "`girih explain tensor_map` lists its codes"),
        ("OpLaod", "did you mean 'OpLoad'?"),
        ("spirv.OpIAdd.opperands", "did you mean 'spirv.OpIAdd.operands'?"),
        ("spirv.oplaod.anything", "did you mean 'OpLoad'?"),
        ("spirv.definition.valeu", "did you mean 'spirv.definition.value'?"),
        ("spirv.text.qqqqqqqqqqqqq", "its rules: lexeme, instruction, opcode"),
        ("spirv.txt", "did you mean 'spirv.text'?"),
        ("spirv.qqqqqqqqqqqqq", "`girih explain spirv` lists the rules of modules"),
    ],
)
def test_unknown_topics(topic: str, hint: str) -> None:
    done = girih("explain", topic)
    assert done.status == 2
    assert hint in done.message
    assert topic in done.message


def test_a_rule_of_an_address_model() -> None:
    done = girih("explain", "tensor_map.stride_multiple")
    assert (done.status, done.errors) == (0, "")
    lines = done.output.splitlines()
    assert lines[0] == "tensor_map.stride_multiple (error)"
    assert {"  source  004 5.5.1, driver", "  guide   docs/addressing/tensor-map.md", "accepted", "rejected"} <= set(
        lines
    )
    assert any(line.startswith("  # global_strides[0] = 72 bytes is not a multiple of 16; pad") for line in lines)


def test_every_rule_of_the_address_models_is_explained() -> None:
    for name, rule in address_rules().items():
        done = girih("explain", name)
        assert (done.status, done.errors) == (0, ""), name
        assert done.output.startswith(f"{name} ({rule['severity']})\n\n  ")
        assert (ROOT / rule["page"]).exists()


def test_every_addition_is_explained_with_its_page() -> None:
    known = {*PERMISSIONS, *HINT_NAMES, "allow", "f8e4m3", "f8e5m2", "grid", "order", "tensor_map"}
    assert {one.name for one in ADDITIONS} == known
    for one in ADDITIONS:
        done = girih("explain", one.name)
        assert (done.status, done.errors) == (0, ""), one.name
        assert f"{one.name} ({one.kind})\n" in done.output and f"  page    {one.section}\n" in done.output, one.name
        page, _, anchor = one.section.partition("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.M)
        assert anchor in {"", *(heading.lower().replace(" ", "-") for heading in headings)}, one.section
    assert "tensor_map.box_dim" in girih("explain", "tensor_map").output
    assert girih("explain", "TF32").output.startswith(".tf32 (")


def test_no_two_rules_share_a_name() -> None:
    assert not set(address_rules()) & {*TILE_LANGUAGE.rules, *TILE_LANGUAGE.ops, *all_codes(TILE_LANGUAGE)}


def test_a_family_of_an_address_model() -> None:
    lines = girih("explain", "swizzle").output.splitlines()
    assert [line.split(":")[0] for line in lines] == ["swizzle.access_bytes", "swizzle.addresses", "swizzle.name"]
    found = girih("explain", "swizzle.name", "--format", "json").json
    assert found["rejected"] == 'Swizzle("96B")'
    assert found["told"].startswith("swizzle = '96B' is no swizzle; choose one of none, 32B")


@pytest.mark.parametrize("topic", ["gemm.k", "tensor_map.boxdim", *long(["tensor_map.box_dim"])])
def test_explanations_load_no_arrays(topic: str) -> None:
    program = (
        "import sys\nfrom girih.cli import main\ntry:\n    main(['explain', sys.argv[1]])\nfinally:\n"
        "    print({name.split('.')[0] for name in sys.modules} & {'numpy', 'ml_dtypes'})"
    )
    done = subprocess.run([sys.executable, "-c", program, topic], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("set()\n")
    assert (done.returncode, "did you mean 'tensor_map.box_dim'?" in done.stderr) == (
        (2, True) if topic.endswith("boxdim") else (0, False)
    )


def test_a_name_of_the_specifications() -> None:
    assert girih("explain", "OpTensorLayoutSliceNV").output.splitlines()[:8] == [
        "OpTensorLayoutSliceNV (instruction)",
        "",
        "  Selects the region (5375): offsets add up, spans are replaced.",
        "",
        "  section 000 SPV_NV_tensor_addressing, 3.X Tensor Layout and View Instructions",
        '  girih   tensor_layout_slice; girih.load("shader.spv"); girih.addressing.TensorLayout.slice',
        "",
        "OpTensorLayoutSliceNV",
    ]
    assert girih("explain", "gl_matrixusea").output.startswith("gl_MatrixUseA (constant)\n")
    assert girih("explain", "Constant").output.startswith("Constant (enumerant)\n")
    assert girih("explain", "CONSTANT").output.startswith("constant\n")
    for asked, name in {"im2col": ".im2col", "tiled": "Tiled mode", "gather4": ".tile::gather4", "U8": ".u8"}.items():
        assert girih("explain", asked).output.startswith(f"{name} ("), asked
    both = girih("explain", "clampmode", "--format", "json").json
    assert [(row["name"], row["specification"]) for row in both] == [
        ("clampMode", "000"), ("ClampMode", "000"), ("ClampMode", "001")
    ]  # fmt: skip


def test_every_name_of_the_specifications_is_explained() -> None:
    listed = girih("explain", "--names", "--format", "json").json
    shown = girih("explain", "--names").output
    assert len(listed) == sum(len(list(one)) for one in VOCABULARY)
    for specification in SPECIFICATIONS:
        for one in specification:
            assert f"  {', '.join(one.names)}: {one.says}\n" in shown
            for name in one.names:
                assert one in named(name)
                text = name_text(TILE_LANGUAGE, one, name)
                assert text.startswith(f"{name} ({one.kind})\n\n  ") and f"\n  section {one.specification} " in text
    both = girih("explain", "--list", "--names")
    assert (both.status, both.message) == (2, "--list and --names are two lists: give one of them")


def test_golden_pages(golden: Callable[[str, str], None]) -> None:
    assert "for" in TILE_LANGUAGE.ops
    golden("cli_explain.txt", girih("explain", "for").output.partition("\naccepted")[0])


def test_a_list_of_everything() -> None:
    listed = girih("explain", "--list", "--format", "json").json
    codes = {row["code"] for row in listed}
    assert {code for code in codes if not code.startswith("spirv.")} == {*all_codes(TILE_LANGUAGE), *address_rules()}
    assert {"spirv.text.opcode", "spirv.module.memory_model", "spirv.instruction.capability"} <= codes
    assert {row["stage"] for row in listed} >= {"Reading a text", "Checking a program", "Running a kernel"}
    shown = girih("explain", "--list").output
    assert all(f"\n  {row['code']}: {row['says']}\n" in shown for row in listed)
    assert all(re.search(rf"\b{mnemonic}\b", shown.split("Instructions")[1]) for mnemonic in TILE_LANGUAGE.ops)
    assert girih("explain").message.startswith("give a code or an instruction")
    both = girih("explain", "--list", "axpby")
    assert (both.status, both.message) == (2, "--list lists everything: leave out axpby, or --list to explain it")


def test_a_rule_of_spirv() -> None:
    for asked in ("spirv.OpIAdd.operands", "OpIAdd.operands", "SPIRV.opiadd.operands"):
        output = girih("explain", asked).output
        assert output.startswith(
            "spirv.OpIAdd.operands (error)\n\n  an integer scalar, vector or cooperative matrix"
        ), asked
        assert "\n  source  SPIR-V 3.42.13\n" in output
        assert "\naccepted\n  ; SPIR-V\n" in output and "\nrejected\n  ; SPIR-V\n" in output
    # A rule that several instructions share is shown with the example of one of them.
    shared = girih("explain", "spirv.OpISub.operands", "--format", "json").json
    assert shared["code"] == "spirv.OpISub.operands" and "= OpIAdd %int" in shared["rejected"]
    assert shared["rejected"] != shared["accepted"]
    everywhere = girih("explain", "spirv.OpLoad.capability", "--format", "json").json
    assert everywhere["code"] == "spirv.OpLoad.capability" and everywhere["accepted"]


def test_an_instruction_of_spirv() -> None:
    output = girih("explain", "OpCooperativeMatrixReduceNV").output
    for line in ("  opcode  5366", "  aliases OpCooperativeMatrixReduceEXT", "  version an extension brings it"):
        assert line in output.splitlines()
    assert "\noperands\n  result_type   IdResultType\n  result        IdResult\n" in output
    names = girih("explain", "OpTensorLayoutSliceNV", "--format", "json").json["names"]
    assert [(one["name"], one["specification"]) for one in names] == [("OpTensorLayoutSliceNV", "000")]
    # What the specifications call so comes first.
    assert output.startswith("OpCooperativeMatrixReduceNV (instruction)\n\n  ")
    assert "\n  operands       IdRef, any number\n" in girih("explain", "OpTensorLayoutSliceNV").output
    described = girih("explain", "opiadd", "--format", "json").json
    assert (described["instruction"], described["opcode"]) == ("OpIAdd", 128)
    assert "spirv.OpIAdd.operands" in {rule["code"] for rule in described["rules"]}


def test_families_of_spirv() -> None:
    text = girih("explain", "spirv.text").output.splitlines()
    assert len(text) > 10 and all(line.startswith("spirv.text.") for line in text)
    module = girih("explain", "spirv.module", "--format", "json").json
    assert {"spirv.module.size", "spirv.module.memory_model"} <= {one["code"] for one in module}
    overview = girih("explain", "spirv").output
    assert overview.startswith("SPIR-V modules\n\n  ")
    assert "\n\nControl flow: " in overview and "\nBefore there is a module\n" in overview
    codes = [one["code"] for one in girih("explain", "spirv", "--format", "json").json]
    assert len(codes) == len(set(codes)) > 200
