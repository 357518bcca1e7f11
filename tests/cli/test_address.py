"""`girih address`: the check, the numbers, the picture of every model; parameters as options and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from girih.commands.address.parameters import PARAMETERS
from tests.cli.helpers import Done, girih

LAYOUT = ("tensor-layout", "--dimension", "6,8", "--slice", "4:4,-2:6", "--clamp-mode", "constant")
MAP = ("tensor-map", "--dtype", "f16", "--global-dim", "64,100", "--global-strides", "128", "--box-dim", "64,8")
BLOCKED = ("blocked-interleaved", "--order", "row", "--rows", "8", "--columns", "16", "--component-size", "2",
           "--stride", "2")  # fmt: skip
STRIDED = ("strided", "--shape", "3,4", "--strides", "4,1")
CONVOLUTION = ("convolution", "--dtype", "f16", "--global-dim", "16,5,4,2", "--filter", "3,3", "--padding", "1,1:0",
               "--channels-per-pixel", "16", "--pixels-per-column", "8")  # fmt: skip
ALL = (LAYOUT, MAP, BLOCKED, STRIDED, CONVOLUTION)


def address(*arguments: str | Path, stdin: bytes | None = None) -> Done:
    return girih("address", *arguments, stdin=stdin)


def found(*arguments: str | Path, stdin: bytes | None = None) -> Any:
    return address(*arguments, "--json", stdin=stdin).json


def test_a_layout_in_words() -> None:
    done = address(*LAYOUT, "--clamp-value", "0x3c00")
    assert done.status == 0
    lines = done.output.splitlines()
    assert lines[0] == "tensor layout: no errors"
    for line in (
        "  tile                    4 x 6",
        "  in bounds               8",
        "  filled                  16, with 0x3c00",
    ):
        assert line in lines
    assert lines[lines.index("elements") + 1 :][:3] == [
        "   F  F 32 33 34 35",
        "   F  F 40 41 42 43",
        "   F  F  F  F  F  F",
    ]
    assert "4 x 6 matrix, load from a tensor layout, constant clamp mode" in lines


FOUR = ("tensor-map", "--dtype", "u16", "--global-dim", "24,6", "--global-strides", "48", "--box-dim", "8,1",
        "--architecture", "sm_100a", "--coordinates", "8")  # fmt: skip


@pytest.mark.parametrize(("option", "kind"), [("--gather4", "filled"), ("--scatter4", "discarded")])
def test_four_rows(option: str, kind: str) -> None:
    answer = found(*FOUR, option, "5,0,2,9")
    assert answer["legal"] and answer["kinds"] == {"in_bounds": 24, kind: 8}
    assert [row[0] for row in answer["elements"]] == [5 * 24 + 8, 8, 2 * 24 + 8, -1]
    numbers = answer["numbers"]
    assert (numbers["rows"], numbers["image_bytes"], numbers["transaction_bytes"]) == ([5, 0, 2, 9], 64, 64)
    assert "memory: rows of 24 elements" in address(*FOUR, option, "5,0,2,3").output
    same = found(*FOUR, option, "0,1,2,3", "--to", "strided")["equivalent"]
    assert same["parameters"] == {"shape": [4, 8], "strides": [24, 1], "offset": 8}


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        (("--gather4", "1,2,3"), ["tensor_map.gather_rows"]),
        (("--scatter4", "1,2,3,-4"), ["tensor_map.negative_start"]),
        (("--gather4", "1,2,3,4", "--coordinates", "8,1"), ["tensor_map.coordinate_count"]),
        (("--gather4", "1,2,3,4", "--scatter4", "1,2,3,4"), ["tensor_map.gather_mode"]),
        (("--gather4", "1,2,3,4", "--store"), ["tensor_map.gather_mode"]),
        (("--gather4", "1,2,3,4", "--reduce", "add"), ["tensor_map.gather_mode"]),
        (("--reduce", "add", "--coordinates", "8,0"), ["tensor_map.reduction_type"]),
        (("--reduce", "sum", "--coordinates", "8,0"), ["tensor_map.reduction"]),
    ],
)
def test_other_instructions_that_are_refused(arguments: tuple[str, ...], rules: list[str]) -> None:
    done = address(*FOUR, *arguments, "--json")
    assert done.status == 1
    assert [one["rule"] for one in done.json["violations"]] == rules


def test_a_reduction_is_a_store() -> None:
    answer = found(*FOUR, "--dtype", "u32", "--global-strides", "96", "--coordinates", "16,5", "--reduce", "inc")
    stored = found(*FOUR, "--dtype", "u32", "--global-strides", "96", "--coordinates", "16,5", "--store")
    assert answer["numbers"] == stored["numbers"] | {"reduction": "inc"}
    assert answer["elements"] == stored["elements"]


def test_a_map_as_code() -> None:
    for copy in ((), ("--store",), ("--reduce", "add")):
        done = address(*MAP, *copy, "--as", "ptx")
        assert (done.status, done.errors) == (0, "")
        assert done.output.startswith("// Tensor map of f16") and done.output.endswith("ret;\n}\n")
    assert "reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {%c0, %c1}]" in done.output
    four = address(*FOUR, "--gather4", "5,0,2,9", "--as", "c")
    assert "[box], [map, {column, row0, row1, row2, row3}], [mbarrier];" in four.output
    assert found(*FOUR, "--scatter4", "5,0,2,9", "--as", "c")["code"].count("scatter4.bulk_group") == 2
    refused = address(*MAP, "--gather4", "5,0,2,9", "--as", "ptx")
    assert (refused.status, refused.output) == (1, "") and "error[tensor_map.gather_box]" in refused.errors
    doubtful = address(*MAP, "--element-strides", "1,2", "--as", "python")
    assert doubtful.status == 0 and doubtful.output.startswith("# Tensor map")
    assert "warning[tensor_map.transaction_bytes]" in doubtful.errors
    assert found(*MAP, "--box-dim", "64,300", "--as", "c")["code"] is None


def test_a_map_in_words() -> None:
    done = address(*MAP, "--swizzle", "128B", "--coordinates", "0,96", "--no-picture")
    assert done.status == 0
    for line in (
        "tensor map, tiled mode: no errors",
        "  transaction bytes       1024",
        "  reads in shared memory  16 bytes of each of 8 rows: 1 pass over the banks, at best 1; 8 without the swizzle",
        "  filled                  256, with 0x0",
    ):
        assert line in done.output.splitlines()
    assert "Tensor map" not in done.output


@pytest.mark.parametrize("call", ALL, ids=lambda call: call[0])
def test_every_model_has_numbers_json_and_a_picture(call: tuple[str, ...]) -> None:
    text, answer = address(*call), found(*call)
    assert text.status == 0 and "no errors" in text.output
    assert len(text.output.splitlines()) > 20
    assert answer["legal"] and answer["violations"] == [] and sum(answer["kinds"].values()) > 0
    assert answer["model"] == call[0] and answer["numbers"]["tile"]


@pytest.mark.parametrize("call", ALL, ids=lambda call: call[0])
def test_what_json_says_can_be_read_again(call: tuple[str, ...], tmp_path: Path) -> None:
    first = address(*call, "--json")
    path = tmp_path / "answer.json"
    path.write_text(first.output, encoding="utf-8")
    again = address(call[0], "--from", path, "--format", "json")
    assert (again.status, again.json) == (0, first.json)
    assert address(call[0], "--from", "-", "--json", stdin=first.output.encode()).json == first.json


def test_options_replace_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shape": [2, 2], "offset": "0x10"}), encoding="utf-8")
    assert found("strided", "--from", path)["elements"] == [[16, 18], [17, 19]]
    assert found("strided", "--from", path, "--shape", "2", "--offset", "1")["elements"] == [1, 2]


def test_every_violation_with_its_words_fix_and_source() -> None:
    done = address("tensor-map", "--dtype", "f16", "--global-dim", "3466,100", "--box-dim", "60,300")
    assert done.status == 1
    assert "\n".join(done.output.splitlines()[:3]) == (
        "error[tensor_map.box_dim]: box_dim[1] = 300 is outside 1 .. 256\n"
        "  hint: choose box_dim[1] in that range\n"
        "  source: driver"
    )
    assert "tensor map, tiled mode: 3 errors\nnote: global_strides are taken to be dense: 6932\n" in done.output
    answer = found("tensor-map", "--dtype", "f16", "--global-dim", "3466,100", "--box-dim", "60,300")
    assert not answer["legal"] and answer["kinds"] is None
    assert [one["rule"] for one in answer["violations"]] == [
        "tensor_map.box_dim", "tensor_map.stride_multiple", "tensor_map.inner_bytes",
    ]  # fmt: skip
    assert set(answer["violations"][0]) == {"rule", "message", "fix", "source", "severity"}


def test_every_wrong_step_of_a_layout_is_told_at_once() -> None:
    call = ("--dimension", "6,8", "--block-size", "0,1", "--stride", "4,1", "--slice", "0:0,0:1", "--clip", "0:4")
    answer = found("tensor-layout", *call, "--clamp-value", "0x1ffffffff", "--element-offset", "-1")
    assert [one["rule"] for one in answer["violations"]] == [
        "tensor_layout.block_size", "tensor_layout.stride_order", "tensor_layout.span", "tensor_layout.clamp_value",
        "tensor_view.operand_count", "load_store.element_offset",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (("tensor-layout", "--dimension", "1,1,1,1,1,1"), "tensor_layout.dim"),
        ((*LAYOUT, "--clamp-mode", "wrap"), "tensor_layout.clamp_mode"),
        ((*LAYOUT, "--permutation", "0,0"), "tensor_view.permutation"),
        ((*LAYOUT, "--quirks", "mesa"), "quirks.name"),
        ((*MAP, "--coordinates", "1,0"), "tensor_map.coordinate_aligned"),
        ((*MAP, "--coordinates", "-8,0", "--store"), "tensor_map.negative_start"),
        ((*MAP, "--shared-address", "8"), "tensor_map.shared_aligned"),
        ((*MAP, "--architecture", "sm_80"), "tensor_map.architecture"),
        (("tensor-map", "--dtype", "half", "--global-dim", "64,64", "--box-dim", "64,8"), "tensor_map.choice"),
        (("tensor-map", "--dtype", "u8", "--global-dim", "64,64"), "tensor_map.lengths"),
        (("tensor-map", "--dtype", "u8", "--global-dim", "64,8,8", "--lower-corner", "0"), "tensor_map.lengths"),
        ((*BLOCKED, "--rows", "7"), "blocked_interleaved.rows"),
        ((*STRIDED, "--strides", "-4,1"), "strided.stride"),
        ((*CONVOLUTION, "--filter", "9,9"), "convolution.empty_output"),
        ((*CONVOLUTION, "--tap", "3,0"), "convolution.tap"),
    ],
)
def test_a_broken_rule_is_status_1(call: tuple[str, ...], rule: str) -> None:
    done = address(*call, "--json")
    assert done.status == 1
    assert rule in [one["rule"] for one in done.json["violations"]]


def test_lints_are_warnings() -> None:
    done = address("tensor-layout", "--dimension", "4,4", "--rows", "8", "--columns", "4", "--store", "--no-picture")
    assert done.status == 0
    assert "warning[tensor_layout.matrix_over_span]: the matrix has 8 x 4 = 32 elements" in done.output
    assert "tensor layout: no errors, 2 warnings" in done.output
    assert found(*MAP, "--shared-address", "16")["violations"][0]["rule"] == "tensor_map.shared_line"


def test_views_of_a_layout() -> None:
    answer = found("tensor-layout", "--dimension", "2,3", "--permutation", "1,0", "--rows", "3", "--columns", "2")
    assert answer["elements"] == [[0, 3], [1, 4], [2, 5]]
    answer = found("tensor-layout", "--dimension", "4,4", "--view-dimension", "2,2", "--view-stride", "8,2",
                   "--rows", "2", "--columns", "2", "--clip", "0:1,0:2")  # fmt: skip
    assert answer["elements"] == [[0, 2], [-1, -1]]
    assert answer["element_kinds"][1] == ["skipped", "skipped"]


def test_im2col_and_convolution() -> None:
    answer = found(*CONVOLUTION, "--first-pixel", "5", "--tap", "1,1")
    assert answer["numbers"]["output"] == [5, 3]
    assert answer["numbers"]["offsets_of_the_copy"] == [1, 1]
    given = answer["numbers"]["tensor_map"] | {"coordinates": answer["numbers"]["coordinates"], "offsets": [1, 1]}
    assert found("tensor-map", "--from", "-", stdin=json.dumps(given).encode())["elements"] == answer["elements"]


def test_large_tiles_are_checked_and_not_counted() -> None:
    done = address("tensor-layout", "--dimension", "65536,65536", "--no-picture")
    assert done.status == 0
    assert "note: the tile has 4294967296 elements; those of more than 2^20 are not worked out" in done.output
    assert found("strided", "--shape", "4096,4096")["elements"] is None


def test_conversions() -> None:
    done = address(*MAP, "--coordinates", "0,96", "--to", "tensor-layout", "--no-picture")
    assert done.status == 0
    assert "the same as tensor-layout, element by element\n  dimension               100, 64\n" in done.output
    layout = found(*MAP, "--coordinates", "0,96", "--to", "tensor-layout")["equivalent"]
    again = found(
        "tensor-layout", "--from", "-", "--to", "tensor-map", "--dtype", "f16", stdin=json.dumps(layout).encode()
    )
    assert again["equivalent"]["parameters"] == {
        "dtype": "f16", "global_dim": [64, 100], "global_strides": [128], "box_dim": [64, 8],
        "element_strides": [1, 1], "coordinates": [0, 96],
    }  # fmt: skip
    assert found(*STRIDED, "--to", "strided")["equivalent"]["parameters"]["shape"] == [3, 4]
    assert found("strided", "--shape", "8,8", "--strides", "8,1", "--to", "blocked-interleaved")["equivalent"] == {
        "model": "blocked-interleaved",
        "parameters": {
            "order": "row",
            "rows": 8,
            "columns": 8,
            "component_size": 2,
            "stride": 1,
            "revision": 1,
        },
        "violations": [],
    }


def test_no_equivalent_is_status_1_and_says_why() -> None:
    done = address(*MAP, "--swizzle", "128B", "--to", "strided", "--no-picture")
    assert done.status == 1
    assert "tensor map, tiled mode: no errors" in done.output
    assert "no strided says the same\nerror[convert.equivalent]: swizzle 128B exchanges chunks" in done.output
    answer = found(*MAP, "--swizzle", "128B", "--to", "strided")
    assert answer["legal"] and answer["equivalent"]["parameters"] is None
    assert [one["rule"] for one in answer["equivalent"]["violations"]] == ["convert.equivalent"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_drawing_saves_a_picture(ending: str, tmp_path: Path) -> None:
    if ending == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"tile.{ending}"
    done = address(*STRIDED, "--draw", path)
    assert done.status == 0 and f"saved the picture to {path}" in done.output
    assert path.read_bytes()[:4] in (b"<svg", b"\x89PNG")
    assert address(*STRIDED, "--json", "--draw", path).json["legal"]


def test_nothing_is_drawn_of_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "tile.svg"
    assert address(*STRIDED, "--strides", "-1,1", "--draw", path).status == 1
    assert not path.exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("tensor-map", "--dtype", "f16"), "missing: --global-dim (or the same in --from FILE)"),
        ((*STRIDED, "--shape", "3,x"), "--shape: '3,x': expected integers such as 64,32"),
        ((*LAYOUT, "--slice", "3"), "--slice: '3': expected pairs such as 0:16,8:32"),
        ((*LAYOUT, "--rows", "1.5"), "--rows: '1.5': expected an integer such as 64 or 0x40"),
        ((*CONVOLUTION, "--padding", "1:2:3,0"), "--padding: '1:2:3,0': expected numbers or before:after"),
        ((*STRIDED, "--draw", "tile.gif"), "--draw: tile.gif: a picture ends in .svg or .png"),
        ((*MAP, "-D", "7=1"), "'7=1' is not NAME=NUMBER"),
        (("tensor-map", "--from", "-", "--paste", "-"), "standard input, `-`, can be read once only"),
    ],
)
def test_wrong_calls_are_status_2(call: tuple[str, ...], message: str) -> None:
    done = address(*call)
    assert done.status == 2
    assert message in done.message


@pytest.mark.parametrize(
    ("text", "line", "message", "expected"),
    [
        ('{"shape": [4,\n 4}', 2, "Expecting ',' delimiter", "JSON such as"),
        ('[4, 4]', 0, "it holds a list", "an object such as"),
        ('{"shape": [4],\n "stride": [1]}', 2, "'stride' is not a parameter", "one of shape, strides, offset, dtype"),
        ('{"shape": 4}', 1, "shape = 4", "integers such as 64,32"),
        ('{"shape": [1.5]}', 1, "shape = [1.5]", "integers such as 64,32"),
        ('{"shape": [4], "offset": true}', 1, "offset = true", "an integer such as 64 or 0x40"),
        ("[" * 100_000, 0, "the JSON is nested too deeply", "an object of numbers and lists"),
        ('{"offset": 1' + "0" * 5000 + "}", 0, "the JSON is nested too deeply, or a number too long", "an object of"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(text: str, line: int, message: str, expected: str) -> None:
    done = address("strided", "--from", "-", stdin=text.encode())
    assert done.status == 1
    place = f"<stdin>:{line}" if line else "<stdin>"
    assert done.output.startswith(f"error: {place}: {message}")
    assert f"  hint: expected {expected}" in done.output and done.output.endswith("<stdin>: 1 error\n")
    (problem,) = found("strided", "--from", "-", stdin=text.encode())["problems"]
    assert problem["message"].startswith(message) and problem["line"] == (line or None)


def test_a_file_that_is_no_text_or_too_large(tmp_path: Path) -> None:
    done = address("strided", "--from", "-", stdin=b'{"shape":\n\xff')
    assert (done.status, done.output.splitlines()[0]) == (1, "error: <stdin>:2: the file is not UTF-8")
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (1 + (8 << 20)))
    assert "the file has more than 8 MiB" in address("strided", "--from", path).output


def test_help_names_every_parameter() -> None:
    for model, parameters in PARAMETERS.items():
        done = address(model, "--help")
        assert done.status == 0
        assert all(one.option in done.output and one.help for one in parameters)
    assert all(model in address("--help").output for model in PARAMETERS)


def test_the_command_alone_loads_no_models(run_command: Callable[..., Any]) -> None:
    program = "import sys, girih.cli; print({'numpy', 'girih.addressing', 'girih.draw'} & set(sys.modules))"
    assert run_command(sys.executable, "-c", program).stdout.splitlines()[-1] == "set()"
