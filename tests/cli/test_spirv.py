"""`girih spirv` and `girih check` on modules: what each command prints, and what it says of what is no module."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from threading import Thread

import pytest

from girih.spirv import Module
from girih.spirv.frame import completed
from tests.cases import every_case
from tests.cli.helpers import girih, write

SHADERS = Path(__file__).resolve().parent.parent.parent / "examples" / "shaders"

NO_MODULE = """\
OpCapability Shader
%x = OpFoo
OpMemoryModel Logical GLSL450 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(SHADERS / "tile.spv", tmp_path)
    write(tmp_path, NO_MODULE, "bad.spvasm")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_info_says_what_a_launch_needs(folder: Path) -> None:
    lines = girih("spirv", "info", "tile.spv", "-D", "PITCH=128").output.splitlines()
    for line in (
        "entry point main: GLCompute, local size 32x1x1",
        "StorageBuffer set 0, binding 0: Source, a struct of 1 member, elements of 2 bytes, read-only, also called a",
        "specialisation constant 1 COLUMNS: 32-bit unsigned integer, 100",
        "specialisation constant 2 PITCH: 32-bit unsigned integer, 128",
        "uses cooperative matrix of 16-bit floats, 16x16, MatrixAccumulatorKHR",
        "addresses and memory: Logical, Vulkan",
    ):
        assert line in lines
    told = girih("spirv", "info", "tile.spv", "--format", "json").json
    (entry,) = told["entry_points"]
    assert entry == {"name": "main", "model": "GLCompute", "local_size": [32, 1, 1], "modes": ["LocalSize"]}
    buffers = [(one["set"], one["binding"], one["members"][0]["stride"]) for one in told["resources"]]
    assert buffers == [(0, 0, 2), (0, 1, 2)]
    assert (told["addressing_model"], told["memory_model"]) == ("Logical", "Vulkan")


def test_text_and_bytes_are_made_of_each_other(folder: Path) -> None:
    module = Module.from_bytes((folder / "tile.spv").read_bytes())
    assert girih("spirv", "dis", "tile.spv").output == module.to_text()
    plain = girih("spirv", "dis", "tile.spv", "--raw-id", "--no-indent", "--no-header", "-o", "plain.spvasm")
    assert (plain.status, plain.output) == (0, "")
    text = (folder / "plain.spvasm").read_text(encoding="utf-8")
    assert text == module.to_text(friendly_names=False, indent=False, header=False)
    assert girih("spirv", "as", "plain.spvasm").status == 0
    assert Module.from_bytes((folder / "plain.spv").read_bytes()).to_text(header=False) == module.to_text(header=False)
    # Standard input has no ending: its first bytes tell what it is.
    bytes_and_text = ((folder / "tile.spv").read_bytes(), text.encode())
    printed = {girih("spirv", "dis", "-", "--no-header", stdin=data).output for data in bytes_and_text}
    assert printed == {module.to_text(header=False)}


def test_modules_of_the_other_byte_order_are_read(folder: Path) -> None:
    data = (folder / "tile.spv").read_bytes()
    words = struct.unpack(f"<{len(data) // 4}I", data)
    (folder / "swapped.spv").write_bytes(struct.pack(f">{len(words)}I", *words))
    assert girih("spirv", "dis", "swapped.spv").output == girih("spirv", "dis", "tile.spv").output
    assert girih("spirv", "info", "swapped.spv", "--format", "json").json["byte_order"] == "big"


def test_specialise_writes_a_module_without_specialisation_constants(folder: Path) -> None:
    shown = girih("spirv", "specialise", "tile.spv", "-D", "PITCH=0x80", "-D", "0=128").output
    assert "OpSpec" not in shown and "SpecId" not in shown
    assert girih("spirv", "specialise", "tile.spv", "-D", "2=128", "-D", "ROWS=128", "-o", "made.spv").status == 0
    assert Module.from_bytes((folder / "made.spv").read_bytes()).to_text() == shown
    assert girih("spirv", "specialise", "tile.spv", "-D", "2=128", "-D", "0=128", "-o", "made.spvasm").status == 0
    assert (folder / "made.spvasm").read_text(encoding="utf-8") == shown


def test_wrong_definitions(folder: Path) -> None:
    wrong_calls = {
        "ROWS=x": "the value of ROWS: expected: a number, true or false; found: 'x'",
        "ROWS": "'ROWS' is not NAME=VALUE",
        "=3": "'=3' is not NAME=VALUE",
    }
    wrong_values = {
        "9=1": "expected: a SpecId or the name of a specialisation constant; found: SpecId 9",
        "ROWZ=1": "hint: did you mean 'ROWS'?",
        "ROWS=1.5": "expected: 32-bit unsigned integer for 'ROWS', from 0 to 4294967295; found: 1.5",
        "0=-1": "from 0 to 4294967295; found: -1",
        "0=true": "found: True",
    }
    with every_case() as case:
        for verb in ("info", "check", "specialise"):
            for text, message in wrong_calls.items():
                with case(f"{verb} {text}"):
                    done = girih("spirv", verb, "tile.spv", "-D", text)
                    assert (done.status, done.message) == (2, f"Invalid value for -D: {message}")
            for text, message in wrong_values.items():
                with case(f"{verb} {text}"):
                    done = girih("spirv", verb, "tile.spv", "-D", text)
                    assert done.status == 1
                    assert message in done.output + done.errors
        with case("twice"):
            assert (
                girih("check", "tile.spv", "-D", "0=1", "-D", "0=2").message == "Invalid value for -D: 0 is given twice"
            )


def test_what_is_no_module(folder: Path) -> None:
    data = (folder / "tile.spv").read_bytes()
    broken = {
        "empty.spv": (b"", "expected: whole words, 20 bytes to 64 MiB; found: 0 bytes"),
        "short.spv": (data[:200], "word 49: 3 words of opcode 14; left: 1"),
        "text.spv": (b"hello", "expected: an opcode, such as OpCapability, or %result =; found: hello"),
        "bad.spvasm": (NO_MODULE.encode(), "hint: did you mean OpFMod?"),
    }
    with every_case() as case:
        for name, (contents, message) in broken.items():
            (folder / name).write_bytes(contents)
            for verb in ("info", "dis", "specialise", "check"):
                with case(f"{verb} {name}"):
                    done = girih("spirv", verb, name)
                    assert done.status == 1
                    assert message in (done.output if verb == "check" else done.errors)
                    assert verb == "check" or done.output == ""
    assert [path.name for path in folder.glob(".girih-*")] == []
    assert girih("spirv", "as", "bad.spvasm").status == 1
    assert not (folder / "bad.spv").exists()


def test_check_takes_modules_by_their_endings(folder: Path) -> None:
    write(folder, completed("OpReturn"), "fine.spvasm")
    done = girih("check", "fine.spvasm", "bad.spvasm")
    assert done.status == 1
    assert done.output.startswith("fine.spvasm: no errors\nerror[spirv.text.opcode]")
    assert done.output.endswith("bad.spvasm: 2 errors\n")
    assert girih("spirv", "check", "fine.spvasm", "bad.spvasm").output == done.output


def test_notes_and_logs_have_the_line_of_the_source_and_the_texts_of_the_rule(folder: Path) -> None:
    code = "spirv.OpTensorLayoutSetStrideNV.overlap"
    done = girih("check", "tile.spv", "--format", "github")
    assert done.status == 1
    (note,) = done.output.splitlines()
    assert note.startswith(
        f"::error file=tile.comp,line=20,endLine=20,title={code},col=5,endColumn=57::expected: strides"
    )
    run = girih("check", "tile.spv", "--format", "sarif").json["runs"][0]
    (rule,), (result,) = run["tool"]["driver"]["rules"], run["results"]
    assert (rule["id"], result["ruleId"], result["level"]) == (code, code, "error")
    for heading in (
        "**Source**: 000 OpTensorLayoutSetStrideNV",
        "**Accepted**:\n\n```text\n",
        "**Rejected**:\n\n```text\n",
    ):
        assert heading in rule["help"]["markdown"]
    places = [result["locations"][0], *result["relatedLocations"]]
    named = [one["physicalLocation"]["artifactLocation"]["uri"] for one in places]
    assert named[0] == "tile.comp" and named[-1] == "tile.spv"
    assert places[0]["physicalLocation"]["region"]["startLine"] == 20
    told = girih("check", "tile.spv", "--format", "json").json[0]
    assert (told["file"], told["line"], told["column"]) == ("tile.comp", 20, 5)


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are POSIX's")
def test_what_is_no_regular_file_is_written_to_and_stays(folder: Path) -> None:
    os.mkfifo("pipe")
    came: list[str] = []
    reader = Thread(target=lambda: came.append(Path("pipe").read_text(encoding="utf-8")), daemon=True)
    reader.start()
    assert girih("spirv", "dis", "tile.spv", "-o", "pipe").status == 0
    reader.join(10)
    assert came == [girih("spirv", "dis", "tile.spv").output]
    assert Path("pipe").is_fifo()
    Path("link.spvasm").symlink_to("led.spvasm")
    assert girih("spirv", "dis", "tile.spv", "-o", "link.spvasm").status == 0
    assert Path("link.spvasm").is_symlink() and Path("led.spvasm").read_text(encoding="utf-8") == came[0]
