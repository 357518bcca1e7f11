"""`girih address tensor-map --paste`: dumps of tensor map parameters as people have them, and what cannot be read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from girih.addressing.tensor_map.driver import TYPES
from girih.commands.address.c_source import CSource, Unreadable
from girih.commands.address.paste import Pasted, read
from tests.cli.helpers import girih

CALL = """\
constexpr int M = 4096, K = 2'048;  // sizes
#define BK 64
uint64_t globalDim[2] = {K, M};
const cuuint64_t globalStrides[1] = {static_cast<cuuint64_t>(K) * sizeof(__nv_bfloat16)};
uint32_t boxDim[] = {BK, 1u << 7};
std::array<uint32_t, 2> elementStrides{1, 1};
CUresult result = cuTensorMapEncodeTiled(
    &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)pointer,
    globalDim, globalStrides, boxDim, elementStrides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
    CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
"""
TABLE = """\
TMA Desc Addr:   0x7ffe3a0
format         9
dim            3
gmem_address   0x7f8b0000
globalDim      (4096,4096,1,1,1)
globalStrides  (2,8192,0,0,0)
boxDim         (64,128,1,1,1)
elementStrides (1,1,1,1,1)
interleave     0
swizzle        3
l2Promotion    2
oobFill        0
Error: Failed to initialize the TMA descriptor 1
"""
GENERATED = """\
\tCUtensorMapDataType A_desc_type= (CUtensorMapDataType)9;
\tcuuint32_t A_desc_tensorRank= 2;
\tvoid *A_desc_globalAddress= A;
\tcuuint64_t A_desc_globalDim[2]= {3072,16};
\tcuuint64_t A_desc_globalStride[2]= {2,6144};
\tcuuint32_t A_desc_boxDim[2]= {64,16};
\tcuuint32_t A_desc_elementStrides[2]= {1,1};
\tCUtensorMapSwizzle A_desc_swizzle= (CUtensorMapSwizzle)3;
\tCUresult r = WRAPPER(cuTensorMapEncodeTiled)(
    &A_desc, A_desc_type, A_desc_tensorRank, A_desc_globalAddress, A_desc_globalDim, A_desc_globalStride + 1,
    A_desc_boxDim, A_desc_elementStrides, (CUtensorMapInterleave)0, A_desc_swizzle, l2, (CUtensorMapFloatOOBfill)1);
"""
RECORD = """\
descriptor: CUtensorMap {
    globalAddress: 0x7f8a4000,
    globalDim: [2048, 2048, 1],
    globalStrides: [4096, 8388608],  // bytes
    boxDim: [64, 64, 1],
    dataType: torch.bfloat16,
    swizzle: CU_TENSOR_MAP_SWIZZLE_64B,
    oobFill: CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
}
"""
DICTIONARY = (
    "{'global_dim': [64, 32], 'box_dim': (16, 8), 'global_strides': [128], 'dtype': 'float16', "
    "'swizzle': <CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B: 1>}"
)
LINES = """\
globalDim = 64, 32
boxDim: 16 8
globalStrides = {
    128}
dataType: HALF
elementStrides[2] = {1,
   2};
swizzle: 32
"""
IM2COL = """\
int lower[] = {-1, -1}; int upper[] = {-1, -1};
uint64_t dim[5];
dim[0] = 16; dim[1] = 8;
dim[2] = 8; dim[3] = 2;
uint64_t strides[] = {32, 256, 2048};
uint32_t steps[] = {1, 1, 1, 1};
cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, nullptr, dim, &strides[0], lower, upper, 16, 64,
    steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, 0, 0);
"""


def parameters(text: str, **symbols: str) -> dict[str, Any]:
    found = read(text, symbols)
    assert found.problems == []
    return found.parameters


def problems(text: str, **symbols: str) -> list[tuple[int, str, str]]:
    return [(one.line, one.message, one.expected) for one in read(text, symbols).problems]


def test_a_call_with_the_arrays_above_it() -> None:
    assert parameters(CALL) == {
        "dtype": "bf16", "global_dim": (2048, 4096), "global_strides": (4096,), "box_dim": (64, 128),
        "element_strides": (1, 1), "interleave": "none", "swizzle": "128B", "oob_fill": "zero",
    }  # fmt: skip
    assert read(CALL, {}).notes == ["the global address is not a number here; its alignment is not checked"]


def test_the_table_that_cutlass_prints() -> None:
    assert parameters(TABLE) == {
        "dtype": "bf16", "global_address": 0x7F8B0000, "global_dim": (4096, 4096, 1), "global_strides": (8192, 0),
        "box_dim": (64, 128, 1), "element_strides": (1, 1, 1), "interleave": "none", "swizzle": "128B",
        "oob_fill": "zero",
    }  # fmt: skip
    assert read(TABLE, {}).notes == [
        "line 13 was passed over: 'Error: Failed to initialize the TMA descriptor 1' is not a parameter",
        "globalStrides begins with 2, the stride of dimension 0, which is left out",
    ]


def test_generated_source() -> None:
    found = parameters(GENERATED)
    assert (found["dtype"], found["global_dim"], found["global_strides"]) == ("bf16", (3072, 16), (6144,))
    assert (found["swizzle"], found["oob_fill"]) == ("128B", "nan")


def test_records_dictionaries_and_lines() -> None:
    assert parameters(RECORD) == {
        "global_address": 0x7F8A4000, "global_dim": (2048, 2048, 1), "global_strides": (4096, 8388608),
        "box_dim": (64, 64, 1), "dtype": "bf16", "swizzle": "64B", "oob_fill": "nan",
    }  # fmt: skip
    common = {"global_dim": (64, 32), "box_dim": (16, 8), "global_strides": (128,), "dtype": "f16", "swizzle": "32B"}
    assert parameters(DICTIONARY) == common
    assert parameters(LINES) == common | {"element_strides": (1, 2)}


def test_im2col() -> None:
    assert parameters(IM2COL) == {
        "dtype": "f16", "global_dim": (16, 8, 8, 2), "global_strides": (32, 256, 2048),
        "lower_corner": (-1, -1), "upper_corner": (-1, -1), "channels_per_pixel": 16, "pixels_per_column": 64,
        "element_strides": (1, 1, 1, 1), "interleave": "none", "swizzle": "32B", "oob_fill": "zero",
    }  # fmt: skip


@pytest.mark.parametrize(("number", "name"), list(enumerate(TYPES)))
def test_every_type_by_number_and_by_name(number: int, name: str) -> None:
    for word in (str(number), name, f"CU_TENSOR_MAP_DATA_TYPE_{name}", TYPES[name]):
        assert parameters(LINES.replace("HALF", word))["dtype"] == TYPES[name]


def test_a_name_of_two_types_is_told_which_was_taken() -> None:
    for word, notes in (("CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B", 1), ("15", 1), ("b6x16_p32", 0), ("b6p2x16", 0)):
        found = read(LINES.replace("HALF", word), {})
        assert found.parameters["dtype"] == ("b6p2x16" if word == "b6p2x16" else "b6x16_p32")
        assert len([note for note in found.notes if "taken to be b6x16_p32" in note]) == notes
    assert read(LINES, {}).notes == []


def test_names_that_the_dump_does_not_define() -> None:
    text = CALL.replace("constexpr int M = 4096, K = 2'048;", "")
    assert parameters(text, M="1 << 12", K="2048")["global_dim"] == (2048, 4096)
    line = "a definition `K = ...` above, or -D K=NUMBER"
    assert problems(text) == [
        (3, "globalDim: K is not defined", line),
        (4, "globalStrides: K is not defined", line),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "expected"),
    [
        ("BFLOAT16", "BFLOAT", 8, "tensorDataType: 'CU_TENSOR_MAP_DATA_TYPE_BFLOAT' is unknown", "one of CU_TENSOR"),
        ("SWIZZLE_128B", "SWIZZLE_256B", 10, "swizzle: 'CU_TENSOR_MAP_SWIZZLE_256B' is unknown", "one of CU_"),
        ("boxDim[]", "other[]", 9, "boxDim: boxDim is not defined", "an array `boxDim[] = {...}` above, or"),
        ("1u << 7", "BK +", 5, "boxDim: 'BK +' is not an integer expression", "numbers, names, + - * / % << >>"),
        ("1u << 7", "1 / 0", 5, "boxDim: there is a division by zero", "another divisor"),
        ("sizeof(__nv_bfloat16)", "sizeof(T)", 4, "globalStrides: the size of T is not known", "a type such as __half"),
        ("BK 64", "BK BK + 1", 2, "boxDim: BK leads to itself", "names that end in numbers"),
        ("{K, M}", "{K}", 9, "globalDim has 1 number, rank 2 needs 2", "2 numbers"),
        ("elementStrides.data(),", "", 7, "the call has 11 arguments", "12: tensorMap, tensorDataType, tensorRank"),
        ("FILL_NONE);", "FILL_NONE", 7, "the call of cuTensorMapEncodeTiled has no end", "a closing parenthesis"),
        ("EncodeTiled", "EncodeIm2colWide", 7, "cuTensorMapEncodeIm2colWide is another mode", "cuTensorMapEncodeTiled"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(old: str, new: str, line: int, message: str, expected: str) -> None:
    assert old in CALL
    first, *_ = problems(CALL.replace(old, new))
    assert first[:2] == (line, message)
    assert first[2].startswith(expected)


def test_what_is_missing() -> None:
    assert problems("globalDim = 64, 32\n") == [
        (0, "nothing says globalStrides", "a line such as globalStrides = 64, 32"),
        (0, "nothing says boxDim", "a line such as boxDim = 64, 32"),
        (0, "nothing says tensorDataType", "a line such as dataType = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16"),
    ]
    assert parameters("dtype = u8\nglobalDim = 64\nboxDim = 32\n")["global_strides"] == ()
    assert problems(LINES + "globalDim = 1, 2\n") == [
        (9, "globalDim stands in line 1 already", "the parameters of one tensor map")
    ]


def test_the_first_of_several_calls() -> None:
    assert read(CALL + CALL, {}).notes[0] == "there are 2 calls; this is the first, in line 7"


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 * (3 + 4) - 1", 13), ("0x10u", 16), ("7 / 2", 3), ("-5 % 3", 1), ("1'000ull", 1000), ("(uint64_t)3 << 2", 12),
     ("sizeof(half) * 4", 8), ("Traits::kTile * 2", 16), ("uint32_t(9)", 9)],
)  # fmt: skip
def test_expressions(text: str, value: int) -> None:
    assert CSource("", {"kTile": "8"}).integer(text) == value


@pytest.mark.parametrize(
    "text", ["", "__import__('os')", "a.b(1, 2)", "1 if 2 else 3", "(" * 900, "9" * 2000, "1 << -1"]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        CSource("", {}).integer(text)


def test_the_command() -> None:
    done = girih("address", "tensor-map", "--paste", "-", "--no-picture", stdin=CALL.encode())
    assert done.status == 0
    assert "tensor map, tiled mode: no errors" in done.output and "  transaction bytes       16384" in done.output
    replaced = girih("address", "tensor-map", "--paste", "-", "--box-dim", "64,64", "--json", stdin=CALL.encode())
    assert replaced.json["numbers"]["transaction_bytes"] == 8192
    given = girih(
        "address",
        "tensor-map",
        "--paste",
        "-",
        "-D",
        "K=6932",
        "--json",
        stdin=CALL.replace("K = 2'048", "J = 1").encode(),
    )
    assert given.status == 1
    assert [one["rule"] for one in given.json["violations"]] == ["tensor_map.stride_multiple"]


def test_the_command_says_where_a_dump_is_wrong() -> None:
    done = girih("address", "tensor-map", "--paste", "-", stdin=CALL.replace("{K, M}", "{N, M}").encode())
    assert done.status == 1
    assert done.output == (
        "error: <stdin>:3: globalDim: N is not defined\n"
        "  hint: expected a definition `N = ...` above, or -D N=NUMBER\n"
        "<stdin>: 1 error\n"
    )


def test_notes_are_kept() -> None:
    found = Pasted()
    found.wrong(3, "a", "b")
    assert found.problems[0].render("x.cu") == "error: x.cu:3: a\n  hint: expected b"


STRIDES = "{static_cast<cuuint64_t>(K) * sizeof(__nv_bfloat16)}"


@pytest.mark.parametrize(
    "text",
    [
        CALL.replace(STRIDES, "{globalDim[0] * sizeof(half)}"),
        CALL.replace(STRIDES, "{}; globalStrides[0] = sizeof(half); globalStrides[0] = globalDim[0] * 2"),
        CALL.replace("{BK, 1u << 7}", "{BK, 2 * BK}"),
        CALL.replace("globalDim[2] = {K, M}", "sizes[] = {M, K}; uint64_t globalDim[] = {sizes[1], sizes[0]}"),
    ],
)
def test_entries_of_arrays_are_numbers(text: str) -> None:
    assert text != CALL and parameters(text) == parameters(CALL)


def test_a_list_of_entries_needs_no_brackets() -> None:
    text = "int sizes[] = {32, 64};\n" + LINES.replace("64, 32", "sizes[1], sizes[0]", 1)
    assert parameters(text) == parameters(LINES)


def test_a_surplus_entry_is_told_unless_it_is_padding() -> None:
    found = read(CALL.replace("{BK, 1u << 7}", "{BK, 1u << 7, 64}"), {})
    assert found.parameters["box_dim"] == (64, 128)
    assert found.notes[-1] == "boxDim has 3 numbers, rank 2 takes 2: 64 is left out"
    assert not [note for note in read(TABLE, {}).notes if "rank" in note]


@pytest.mark.parametrize(
    "text",
    [
        "CUtensorMap: dtype=FLOAT16 rank=2 globalDim=[64, 8] globalStrides=[128] boxDim=[32, 4] swizzle=64B",
        "dtype: FLOAT16, globalDim: (64, 8), globalStrides: (128), boxDim: (32, 4), swizzle: CUx::SWIZZLE_64B",
        "dtype = f16; globalDim[2] = {64, 8}, globalStrides[1] = {128}; boxDim = 32 x 4\nswizzle=(CUtensorMapSwizzle)2",
    ],
)
def test_parameters_side_by_side_in_one_line(text: str) -> None:
    assert parameters(text) == {
        "dtype": "f16", "global_dim": (64, 8), "global_strides": (128,), "box_dim": (32, 4), "swizzle": "64B",
    }  # fmt: skip


PYTHON = """\
columns = 1024
dims = [cuda.cuuint64_t(columns), cuda.cuuint64_t(512)]  # innermost first
box = (64, 64)
error, tensor_map = cuda.cuTensorMapEncodeTiled(
    cuda.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, tensor.data_ptr(), dims,
    [cuda.cuuint64_t(columns * 2)], box, [cuda.cuuint32_t(1), cuda.cuuint32_t(1)],
    cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
    cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
    cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
"""


def test_the_call_of_python_has_no_map_among_its_arguments() -> None:
    assert parameters(PYTHON) == {
        "dtype": "f16", "global_dim": (1024, 512), "global_strides": (2048,), "box_dim": (64, 64),
        "element_strides": (1, 1), "interleave": "none", "swizzle": "128B", "oob_fill": "zero",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("new", "message", "expected"),
    [
        ("1 << (1 << 40)", "boxDim: there is a shift by 1099511627776", "a shift by 0 to 63"),
        ("M << 62", "boxDim: 'M << 62' does not fit in 64 bits", "a number below 2^64"),
        ("globalDim[2]", "boxDim: globalDim[2] is not set", "an index below 2, or globalDim[2] = ... before"),
        ("boxDim[1]", "boxDim: boxDim[1] is not set", "boxDim[1] = ... before it is used"),
    ],
)
def test_numbers_that_are_none(new: str, message: str, expected: str) -> None:
    (found,) = problems(CALL.replace("1u << 7", new))
    assert found[:2] == (5, message) and found[2].startswith(expected)


def test_names_that_double_are_read_once() -> None:
    names = "".join(f"#define N{number} N{number + 1} + N{number + 1}\n" for number in range(38))
    assert parameters(f"{names}#define N38 1\n{LINES.replace('64, 32', 'N10, 32')}")["global_dim"][0] == 1 << 28


def lines_executed(text: str) -> int:
    """How many lines of Python reading a text takes: a measure of work that is the same on every machine."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read(text, {})
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", ["a=(", "a={b={", "(a=", "[", "((", "{a:1,", "a=1;", "a=1\n"])
def test_hostile_nesting_takes_a_few_steps_a_character(pattern: str) -> None:
    length = 1200
    assert lines_executed(pattern * (length // len(pattern))) < 24 * length


@pytest.mark.parametrize(
    "argument", ["1" * 5000, "0x" + "f" * 5000, "dims + " + "1" * 5000, "&dims[" + "1" * 5000 + "]"]
)
def test_endless_digits_are_told(argument: str) -> None:
    call = "cuTensorMapEncodeTiled(&m, {}, 2, p, {}, s, d, d, 0, 0, 0, 0);"
    for place in (0, 1):
        given = ["0", "d"]
        given[place] = argument
        found = read("uint64_t d[2] = {1, 2};\nuint64_t s[1] = {16};\nint dims[1] = {1};\n" + call.format(*given), {})
        assert [problem.line for problem in found.problems] == [4]


def test_large_lists_of_one_kind_of_character_are_told() -> None:
    """Each of these took time that grew with the square of its length."""
    for text in (
        "[" * 10_000,
        "globalDim = {" + "1x" * 10_000,
        "1" * 30_000,
        " " * 10_000 + "x",
        "/* " * 5000,
        "a [" * 5000,
    ):
        assert read(f"n = {text}\nfunction(", {}).parameters == {}
        call = "cuTensorMapEncodeTiled(&m, 0, 2, p, n, n, n, n, 0, 0, 0, 0);"
        assert read(f"uint64_t n[2] = {{{text}}};\n{call}", {}).problems


def test_comments_are_passed_over() -> None:
    text = "a = 1 /* 2, */ + /*/ 3 */ 4; // 5 */ 6\nb = 7 # 8\nc = 9 /* 10\nd = 11 // 12"
    found = CSource(text, {}).text
    assert found.split() == ["a", "=", "1", "+", "4;", "b", "=", "7", "c", "=", "9", "/*", "10", "d", "=", "11"]
    assert len(found) == len(text) and found.count("\n") == 3
