"""Matrices through tensor layouts and views on the CPU: the interpreter's results and findings, and the code."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from tests.back.harness import TARGET, Compiled, Failed, compiled, copy_of
from tests.cases import crossed

Array = NDArray[Any]

ONE = (1, 1, 1)
MODES = ("undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat")
DTYPES: dict[str, Any] = {
    "i8": np.int8, "i32": np.int32, "i64": np.int64, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "c32": np.complex64, "c64": np.complex128,
}  # fmt: skip


def aligned(values: Array) -> Array:
    """A copy at a multiple of 64 bytes."""
    room = np.zeros(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    found: Array = room[start : start + values.nbytes].view(values.dtype)
    found[:] = values
    return found


def numbers(type: str, count: int) -> Array:
    """Different numbers."""
    return aligned((np.arange(count) % 119 - 59).astype(DTYPES[type]))


def tile(type: str, rows: int, columns: int, value: int = 0) -> Array:
    """A matrix of one number."""
    return np.full((rows, columns), value, DTYPES[type], order="F")


def layout(mode: str, *steps: str, dim: int = 2) -> str:
    """Instructions that make the layout %t from `set_dimension %[...]` and the like."""
    type = f"tensor_layout<{dim}>" if mode == "undefined" else f"tensor_layout<{dim},{mode}>"
    lines = [f"%l0 = tensor_layout_create : {type}"]
    for number, step in enumerate(steps):
        word, rest = step.split(" ", 1)
        result = "%t" if number == len(steps) - 1 else f"%l{number + 1}"
        lines.append(f"{result} = tensor_layout_{word} %l{number}{rest} : {type}")
    return "\n".join(lines)


def view(type: str, *steps: str) -> str:
    """Instructions that make the view %v."""
    lines = [f"{'%v' if not steps else '%v0'} = tensor_view_create : tensor_view<{type}>"]
    for number, step in enumerate(steps):
        word, rest = step.split(" ", 1)
        result = "%v" if number == len(steps) - 1 else f"%v{number + 1}"
        lines.append(f"{result} = tensor_view_{word} %v{number}{rest} : tensor_view<{type}>")
    return "\n".join(lines)


def kernel(type: str, shape: tuple[int, int], body: str, parameters: str = "") -> str:
    """A kernel of one subgroup on the memref %A and the matrices %I and %B; %z is 0, $m the type of the matrices."""
    more = f", {parameters}" if parameters else ""
    memrefs = f"%A: memref<{type}x?>, %I: memref<{type}x?x?>, %B: memref<{type}x?x?>{more}"
    matrix = f"coopmatrix<{type}x{shape[0]}x{shape[1]},matrix_acc>"
    return (
        f"func @f({memrefs}) attributes{{subgroup_size=8,work_group_size=[8,1]}} {{\n%z = constant 0 : index\n"
        f"parallel {{\n{body}\n}}\n}}\n"
    ).replace("$m", matrix)


LOAD = """%init = cooperative_matrix_load %I[%z,%z] : $m
%x = cooperative_matrix_load_tensor %init, %A[%z], %t{view} : $m
cooperative_matrix_store %x, %B[%z,%z]"""
STORE = """%init = cooperative_matrix_load %I[%z,%z] : $m
cooperative_matrix_store_tensor %init, %A[%z], %t{view}"""


def agree(text: str, *arguments: Any) -> None:
    """Interpreter and CPU, with and without checks, leave the same bits in all arrays."""
    program = girih.loads(text, target="interpreter")
    wanted = [held(a) for a in arguments]
    program["f"][ONE](*wanted)
    for checks in (True, False):
        mine = [held(a) for a in arguments]
        Compiled(program["f"].ir, checks=checks)(ONE, *mine)
        for a, b in zip(mine, wanted, strict=True):
            if isinstance(a, np.ndarray):
                assert a.tobytes("F") == b.tobytes("F"), f"{a}\n{b}"


def held(value: Any) -> Any:
    """A copy of an argument."""
    return aligned(value) if isinstance(value, np.ndarray) and value.ndim == 1 else copy_of(value)


def finding(text: str, *arguments: Any) -> Failed:
    """What the CPU finds, which the interpreter finds as well."""
    program = girih.loads(text, target="interpreter")
    with pytest.raises(girih.KernelError) as wanted:
        program["f"][ONE](*[held(a) for a in arguments])
    with pytest.raises(Failed) as mine:
        Compiled(program["f"].ir)(ONE, *[held(a) for a in arguments])
    same = next(f for f in wanted.value.findings if f.code == mine.value.code)
    if same.index is not None:
        assert mine.value.values == [*same.index, *(same.shape or ())]
    return mine.value


# --- loads and stores --------------------------------------------------------------------------

INSIDE = ("set_dimension [9,20]", "slice [1:6,2:8]")
BEYOND = ("set_dimension [5,7]", "set_clamp_value , %fill", "slice [3:6,-3:8]")
FILL = "%fill = constant 1078530011 : i32\n"
TURNED = view("2,false,1,0")


@pytest.mark.parametrize(("type", "way"), crossed(list(DTYPES), list(product((INSIDE, BEYOND), (LOAD, STORE)))))
def test_components_of_every_type(type: str, way: tuple[tuple[str, ...], str]) -> None:
    steps, body = way
    text = FILL + layout("constant", *steps) + "\n" + body.format(view="")
    agree(kernel(type, (6, 8), text), numbers(type, 180), tile(type, 6, 8, 3), tile(type, 6, 8))


@pytest.mark.parametrize(
    ("element", "type"), crossed(list(DTYPES), ["i8", "f32", "c64", "bf16", "i64", "c32", "f16", "f64", "i32"])
)
def test_components_in_memory_of_any_type(element: str, type: str) -> None:
    """The layout counts components from the byte of the offset on, up to the last byte of the memref."""
    memory = aligned(np.arange(304) % 120).astype(np.uint8).view(DTYPES[element])
    first, columns = 48 // memory.itemsize, 128 // np.dtype(DTYPES[type]).itemsize
    steps = layout("constant", f"set_dimension [3,{columns}]", f"slice [%i:2,0:{columns}]")
    arrays = memory, tile(type, 2, columns, 3), tile(type, 2, columns)
    for way in (LOAD, STORE):
        body = f"{steps}\n{way}".replace("%A[%z]", "%A[%o]").format(view="")
        text = kernel(type, (2, columns), body, "%o: index, %i: index").replace(
            f"%A: memref<{type}", f"%A: memref<{element}"
        )
        agree(text, *arrays, first, 0)
        outside = finding(text, *arrays, first, 1)
        assert (outside.code, outside.argument) == ("run.out_of_bounds", "A")
        assert outside.values == [len(memory), len(memory)]
        assert element == "c64" or finding(text, *arrays, first - 1, 0).code == "run.misaligned"


@pytest.mark.parametrize(("shape", "mode"), crossed([(1, 9), (9, 1), (3, 5), (16, 40)], MODES[1:]))
def test_every_clamp_mode_outside(mode: str, shape: tuple[int, int]) -> None:
    steps = ("set_dimension [%m,%n]", "set_clamp_value , %fill", f"slice [%i:{shape[0]},%j:{shape[1]}]")
    text = kernel("i32", shape, FILL + layout(mode, *steps) + "\n" + LOAD.format(view=""),
                  "%m: index, %n: index, %i: index, %j: index")  # fmt: skip
    program = girih.loads(text, target="interpreter")
    mine = Compiled(program["f"].ir)
    arrays = numbers("i32", 400), tile("i32", *shape, 5), tile("i32", *shape)
    for place in ((5, 7, 0, 0), (5, 7, 3, -3), (1, 1, -2, 4), (16, 23, -1, -1), (9, 9, -(2**31), 2**31 - 1)):
        first, second = ([held(a) for a in arrays] for _ in range(2))
        program["f"][ONE](*first, *place)
        mine(ONE, *second, *place)
        np.testing.assert_array_equal(second[2], first[2], str(place))


VIEWS = {
    "turned": (layout("constant", "set_dimension [11,13]", "slice [2:8,3:6]"), TURNED),
    "three dimensions": (
        layout("constant", "set_dimension [3,5,7]", "slice [1:2,0:3,-1:8]", dim=3), view("3,false,2,0,1")
    ),
    "repeated rows": (layout("undefined", "set_dimension [8]", dim=1),
                      view("2,true,0,1", "set_dimension [6,8]", "set_stride [0,1]")),
    "strides that wrap": (layout("repeat", "set_dimension [5,5]"),
                          view("2,true,0,1", "set_dimension [6,8]", "set_stride [4294967295,7]")),
    "clip": (layout("constant", "set_dimension [6,8]"), view("2,false,0,1", "set_clip [1:3,2:4294967295]")),
    "clip that changes with the launch": (
        layout("clamp_to_edge", "set_dimension [4,4]", "slice [1:6,1:8]"), view("2,false,0,1", "set_clip [%n:3,%n:5]")
    ),
    "larger than the region": (layout("constant", "set_dimension [9,9]", "slice [0:3,0:5]"), TURNED),
    "sizes of the launch": (layout("mirror_repeat", "set_dimension [4,5]", "slice [%n:6,0:%n]"), TURNED),
    "strides": (layout("constant", "set_dimension [6,8]", "set_stride [40,3]"), view("2,false,0,1")),
    "blocks": (layout("constant", "set_block_size [2,3]", "set_dimension [7,8]"), view("2,false,0,1")),
    "blocks set late": (layout("constant", "set_dimension [7,8]", "set_block_size [2,3]"), view("2,false,0,1")),
    "blocks of the launch": (layout("constant", "set_block_size [1,%n]", "set_dimension [%n,9]"), view("2,false,0,1")),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_strides_and_blocks(name: str) -> None:
    made, seen = VIEWS[name]
    body = LOAD.format(view=", %v")
    agree(kernel("i32", (6, 8), f"{made}\n{seen}\n{body}", "%n: index"), numbers("i32", 400), tile("i32", 6, 8, 5),
          tile("i32", 6, 8), 2)  # fmt: skip


def test_a_matrix_that_the_work_group_holds() -> None:
    text = kernel("f32", (16, 8), layout("constant", "set_dimension [13,9]") + "\n" + LOAD.format(view=""))
    text = text.replace("matrix_acc>", "matrix_acc,work_group>").replace(
        "work_group_size=[8,1]", "work_group_size=[16,1]"
    )
    agree(text, numbers("f32", 200), tile("f32", 16, 8), tile("f32", 16, 8))


# --- findings ----------------------------------------------------------------------------------

SLICED = kernel("f32", (2, 4), layout("undefined", "set_dimension [%m,8]", "slice [%i:2,%j:4]") + "\n"
                + LOAD.format(view=""), "%m: index, %i: index, %j: index")  # fmt: skip


@pytest.mark.parametrize(
    ("place", "code", "values"),
    [
        ((4, 3, 0), "run.undefined", [1, 0, 2, 4]),
        ((4, 0, 5), "run.undefined", [0, 3, 2, 4]),
        ((8, 4, 0), "run.out_of_bounds", [32, 32]),
        ((0, 0, 0), "run.tensor_layout", [0, 2**32 - 1]),
        ((4, 2**31, 0), "run.tensor_layout", [2**31, 2**31 - 1]),
    ],
)
def test_what_is_wrong_with_a_load(place: tuple[int, ...], code: str, values: list[int]) -> None:
    found = finding(SLICED, numbers("f32", 32), tile("f32", 2, 4), tile("f32", 2, 4), *place)
    assert (found.code, found.values) == (code, values)


def test_a_tensor_that_reaches_beyond_its_memory_where_nobody_looks_is_fine() -> None:
    agree(SLICED, numbers("f32", 32), tile("f32", 2, 4), tile("f32", 2, 4), 100, 1, 3)


def test_a_base_that_is_not_aligned() -> None:
    text = SLICED.replace("%A[%z]", "%A[%m]")
    found = finding(text, numbers("f32", 64), tile("f32", 2, 4), tile("f32", 2, 4), 3, 0, 0)
    assert found.code == "run.misaligned"


def test_indices_past_32_bits() -> None:
    steps = ("set_dimension [2,3]", "set_stride [%n,1]")
    text = kernel("i32", (2, 3), layout("undefined", *steps) + "\n" + LOAD.format(view=""), "%n: index")
    found = finding(text, numbers("i32", 12), tile("i32", 2, 3), tile("i32", 2, 3), 2**32 - 1)
    assert (found.code, found.values[:2]) == ("run.tensor_layout", [1, 1])


def test_no_dimensions_and_strides_out_of_order() -> None:
    for steps in (("set_clamp_value , %fill",), ("set_dimension [%n,5]", "set_stride [%n,1]")):
        text = kernel("i32", (2, 3), FILL + layout("undefined", *steps) + "\n" + LOAD.format(view=""), "%n: index")
        assert finding(text, numbers("i32", 12), tile("i32", 2, 3), tile("i32", 2, 3), 2).code == "run.tensor_layout"


def test_block_sizes_of_zero_do_not_end_the_process() -> None:
    made = layout("constant", "set_block_size [1,%n]", "set_dimension [%n,9]")
    text = kernel("i32", (2, 3), made + "\n" + LOAD.format(view=""), "%n: index")
    compiled(text, checks=False)(ONE, numbers("i32", 100), tile("i32", 2, 3), tile("i32", 2, 3), 0)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("set_dimension [%n,%m]",), "dimension[1] = 0 is outside 1 .. 4294967295; choose dimension[1] in that range"),
        (("set_block_size [2,2]", "set_dimension [%n,7]", "set_stride [%n,3]"),
         "stride[0] = 5 is less than stride[1] * ceiling(dimension[1] / block_size[1]) = 3 * ceiling(7 / 2) = 12; "
         "make stride[0] at least 12, or order dimensions by stride and permute in a view"),
        (("set_dimension [8,8]", "slice [2147483647:2,0:4]", "slice [%n:2,0:4]"),
         "offset[0] = 2147483647 + 5 = 2147483652 is no signed 32-bit integer; slice the tensor once, from its origin"),
        (("set_clamp_value , %fill",),
         "the dimensions of the layout were never set: they are (0, 0); call set_dimension, and slice after it"),
        (("set_dimension [2,3]", "set_stride [4294967295,%n]"),
         "element [1, 1] has an index beyond 2^32-1 with strides (4294967295, 5); "
         "move the base (element_offset) near the region and make the layout smaller"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_numbers_of_a_layout_in_words(target: str, steps: tuple[str, ...], words: str) -> None:
    made = FILL + layout("undefined", *steps)
    text = kernel("i32", (2, 3), made + "\n" + LOAD.format(view=""), "%n: index, %m: index")
    with pytest.raises(girih.KernelError) as found:
        girih.loads(text, target=target)["f"](numbers("i32", 64), tile("i32", 2, 3), tile("i32", 2, 3), 5, 0)
    first = next(f for f in found.value.findings if f.code == "run.tensor_layout")
    assert first.message.startswith(f"numbers that a tensor layout cannot have: {words} [00")


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_strides_that_32_bits_do_not_hold_in_words(target: str) -> None:
    text = kernel("i32", (2, 3), layout("undefined", "set_dimension [2,%n,%n]", dim=3), "%n: index")
    with pytest.raises(girih.KernelError) as found:
        girih.loads(text, target=target)["f"](numbers("i32", 64), tile("i32", 2, 3), tile("i32", 2, 3), 65536)
    assert "stride[0] would be 65536 * 65536 = 4294967296, over 2^32-1 = 4294967295; " in str(found.value)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((32, 5), "the sizes do not make mode 0 of %A: 32 x 5 = 160, where the mode has 150"),
        ((-30, -5), "the sizes do not make mode 0 of %A: -30 x -5, with a negative size, where the mode has 150"),
        ((2**62 + 2, 4), f"the sizes do not make mode 0 of %A: {2**62 + 2} x 4 = {2**64 + 8}, where the mode has 150"),
    ],
)
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_sizes_that_do_not_make_a_mode(target: str, sizes: tuple[int, int], words: str) -> None:
    text = "func @f(%A: memref<f32x?>, %m: index, %n: index) {\n%e = expand %A[0 -> %m x %n] : memref<f32x?x?>\n}"
    with pytest.raises(girih.KernelError) as found:
        girih.loads(text, target=target)["f"](np.zeros(150, np.float32), *sizes)
    assert found.value.findings[0].message == words


def test_sizes_of_a_mode_without_checks() -> None:
    text = """func @f(%A: memref<f32x?>, %m: index, %n: index, %B: memref<f32>) {
        %one = constant 1 : index
        %e = expand %A[0 -> %m x %n] : memref<f32x?x?>
        %x = load %e[%one, %one] : f32
        store %x, %B[]
    }"""
    found = np.zeros((), np.float32)
    compiled(text, checks=False)(ONE, np.arange(6, dtype=np.float32), 2, 3, found)
    assert found == 3


# --- decoding ----------------------------------------------------------------------------------

Q4 = """decode (%b: memref<i8x18>, %row, %block, %in_row, %p) {
    %low = load %b[0] : i8
    %high = load %b[1] : i8
    %low_wide = cast %low : i16
    %high_wide = cast %high : i16
    %eight = constant 8 : i16
    %bits_of_low = constant 255 : i16
    %l = and %low_wide, %bits_of_low : i16
    %h = shl %high_wide, %eight : i16
    %bits = or %l, %h : i16
    %half = bitcast %bits : f16
    %scale = cast %half : f32
    %sixteen = constant 16 : index
    %two = constant 2 : index
    %four = constant 4 : index
    %p0 = rem %p, %sixteen : index
    %p2 = add %p0, %two : index
    %upper = div %p, %sixteen : index
    %pair = load %b[%p2] : i8
    %up = mul %upper, %four : index
    %shift = cast %up : i8
    %shifted = shr %pair, %shift : i8
    %fifteen = constant 15 : i8
    %q = and %shifted, %fifteen : i8
    %middle = constant 8 : i8
    %centred = sub %q, %middle : i8
    %number = cast %centred : f32
    %weight = mul %number, %scale : f32
    yield (%weight)
}"""


def decoding(shape: tuple[int, int], mode: str, seen: str) -> str:
    """A kernel that decodes a tile of a tensor of %n rows of 96 weights from row %i and weight %j on."""
    rows, weights = shape[::-1] if seen else shape
    steps = ("set_block_size [1,32]", "set_dimension [%n,96]", f"slice [%i:{rows},%j:{weights}]")
    body = LOAD.format(view=f"{', %v' if seen else ''}\n{Q4}")
    text = kernel("f32", shape, f"{layout(mode, *steps)}\n{seen}\n{body}", "%n: index, %i: index, %j: index")
    return text.replace("%A: memref<f32x?>", "%A: memref<i8x?>")


def blocks(rows: int) -> Array:
    """Blocks of Q4_0, 3 for each row."""
    r = np.random.default_rng(0)
    found = r.integers(0, 256, (rows * 3, 18), dtype=np.uint8)
    found[:, :2] = r.standard_normal((rows * 3, 1)).astype(np.float16).view(np.uint8)
    return aligned(found.reshape(-1).view(np.int8))


@pytest.mark.parametrize(
    ("shape", "seen"), crossed([(32, 8), (64, 4), (8, 96), (32, 64), (1, 32), (24, 5), (96, 96)], ["", TURNED])
)
def test_decoding(shape: tuple[int, int], seen: str) -> None:
    text = decoding(shape, "constant", seen)
    program = girih.loads(text, target="interpreter")
    mine, unchecked = (Compiled(program["f"].ir, checks=checks) for checks in (True, False))
    arrays = blocks(10), tile("f32", *shape, 7), tile("f32", *shape)
    for place in ((10, 0, 0), (10, 2, 32), (10, 3, 7), (10, 8, 64), (10, -1, -32)):
        first, second, third = ([held(a) for a in arrays] for _ in range(3))
        program["f"][ONE](*first, *place)
        mine(ONE, *second, *place)
        unchecked(ONE, *third, *place)
        np.testing.assert_array_equal(second[2], first[2], str(place))
        np.testing.assert_array_equal(third[2], first[2], str(place))


def test_decoding_beyond_the_memory() -> None:
    text = decoding((8, 32), "undefined", "")
    found = finding(text, blocks(10)[:-20], tile("f32", 8, 32), tile("f32", 8, 32), 10, 2, 64)
    assert (found.code, found.values) == ("run.out_of_bounds", [29 * 18, 30 * 18 - 20])


# --- code --------------------------------------------------------------------------------------


def ir(text: str, *, checks: bool = False) -> str:
    """The code of a kernel."""
    program = girih.loads(text, target="interpreter")
    return lower(program["f"].ir, TARGET, checks=checks).text


def test_a_tile_whose_rows_or_columns_lie_side_by_side_is_loaded_by_vectors() -> None:
    made = layout("undefined", "set_dimension [64,64]", "slice [%n:32,%n:64]")
    for text in (
        kernel("f32", (64, 32), f"{made}\n{TURNED}\n{LOAD.format(view=', %v')}", "%n: index"),
        kernel("f32", (64, 32), f"{made}\n{TURNED}\n{STORE.format(view=', %v')}", "%n: index"),
        kernel("f32", (32, 64), f"{made}\n{LOAD.format(view='')}", "%n: index"),
    ):
        found = ir(text)
        assert "gather" not in found
        assert "scatter" not in found
        assert re.search(r"load <(8|16|32|64) x float>", found)
    with_checks = ir(kernel("f32", (32, 64), f"{made}\n{LOAD.format(view='')}", "%n: index"), checks=True)
    assert "gather" not in with_checks


def test_where_a_tile_may_be_partly_outside_there_is_one_branch() -> None:
    for mode, elsewhere in (("clamp_to_edge", "masked.gather"), ("constant", "masked.load")):
        made = layout(mode, "set_dimension [64,64]", "slice [%n:32,%n:64]")
        found = ir(kernel("f32", (64, 32), f"{made}\n{TURNED}\n{LOAD.format(view=', %v')}", "%n: index"))
        assert set(re.findall(r"= call <\d+ x float> @llvm.(masked.\w+)", found)) == {elsewhere}
        assert re.search(r"load <(16|32|64) x float>", found)


def test_a_block_is_decoded_as_a_whole() -> None:
    found = ir(decoding((32, 4), "undefined", TURNED))
    fast, anywhere = found.split("entry:")[1].split("\nelse", 1)
    assert "gather" not in fast
    assert "gather" in anywhere
    # Two runs of 16 weights for each of four blocks: bytes as vectors, the scale for all of a run.
    assert fast.count("load <16 x i8>") == len(re.findall(r"fpext (half|<8 x half>)", fast)) == 8
