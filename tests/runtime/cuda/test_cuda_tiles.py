"""Launches of tile programs on a driver made of Python: maps made of arguments, the variant, and the CTAs.

The code of the tile variant is written here by hand, so that only what a launch does is tested: a thread of each CTA
copies boxes of 8 x 4 elements through two maps.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.arguments.arrays import accept, specifications
from girih.back.llvm.nvptx import compile as nvptx
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import GATHERED, LINED, TILE, CudaVariant, DeepProduct, PtxKernel, RecipePlace
from girih.ir.types import F32
from girih.runtime.cuda import quick, recipes
from girih.runtime.cuda import variant as variants
from girih.runtime.cuda.copies import lines
from girih.runtime.cuda.copies.lines import LineCopy
from girih.runtime.cuda.variant import LaunchDepth, SmallerTiles, parts_of_work_groups, shares_of_launch
from girih.tile.amounts import Amount, number
from girih.tile.form import MapRecipe
from tests.runtime.cuda.arrays import Exchanged, TorchType, give_table, torch_module
from tests.runtime.cuda.fake import CUresult, FakeDriver
from tests.runtime.cuda.test_cuda_launch import kernel
from tests.tile.programs import grouped, product

ENCODE = "cuTensorMapEncodeTiled"
COPY_TILES = """
func @tiles(%A: memref<f32x?x?,strided<1,?>>, %B: memref<f32x?x?,strided<1,?>>, %n: index)
        attributes {work_group_size=[128,1], subgroup_size=32, grid=[4, 2]} {
    %zero = constant 0 : index
    %four = constant 4 : index
    %eight = constant 8 : index
    %x = group_id.x : index
    %y = group_id.y : index
    %row = mul %x, %eight : index
    %column = mul %y, %four : index
    %inside = less_than %column, %n : bool
    parallel {
        if %inside {
            %a = cooperative_matrix_load.n %A[%row,%column] : coopmatrix<f32x8x4,matrix_acc,work_group>
            cooperative_matrix_store %a, %B[%row,%column]
        }
    }
}
"""
PTX = """// by hand
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 girih_local[];
.visible .entry tiles(
	.param .align 128 .b8 tiles_param_0[384],
	.param .u64 .ptr .align 4 tiles_param_1,
	.param .u64 .ptr .align 4 tiles_param_2
)
.reqntid 256
{
	.reg .pred 	%p<6>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<12>;
	mov.u32 	%r1, %tid.x;
	setp.ne.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__end;
	mov.b64 	%rd1, tiles_param_0;
	cvta.param.u64 	%rd2, %rd1;
	ld.param.v2.b64 	{%rd3, %rd4}, [tiles_param_0];
	mul.lo.s64 	%rd5, %rd3, %rd4;
	cvt.u32.u64 	%r2, %rd5;
	cvt.u32.u64 	%r3, %rd3;
	mov.b64 	%rd6, girih_local;
	cvt.u32.u64 	%r4, %rd6;
	add.s32 	%r5, %r4, 128;
	add.s64 	%rd7, %rd2, 128;
	add.s64 	%rd8, %rd2, 256;
	mbarrier.init.shared::cta.b64 [%r5], 1;
	fence.proxy.async;
	mov.u32 	%r6, %ctaid.x;
	mov.u32 	%r7, %nctaid.x;
	mov.b32 	%r8, 0;
	mov.b32 	%r9, 128;
$L__next:
	setp.ge.u32 	%p2, %r6, %r2;
	@%p2 bra 	$L__end;
	rem.u32 	%r10, %r6, %r3;
	div.u32 	%r11, %r6, %r3;
	shl.b32 	%r12, %r10, 3;
	shl.b32 	%r13, %r11, 2;
	mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r5], %r9;
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd7, {%r12, %r13}], [%r5];
	mbarrier.arrive.shared::cta.b64 _, [%r5];
$L__wait:
	{ .reg .pred there; mbarrier.try_wait.parity.shared::cta.b64 there, [%r5], %r8; selp.b32 %r14, 0, 1, there; }
	setp.ne.b32 	%p3, %r14, 0;
	@%p3 bra 	$L__wait;
	cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd8, {%r12, %r13}], [%r4];
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
	xor.b32 	%r8, %r8, 1;
	add.s32 	%r6, %r6, %r7;
	bra.uni 	$L__next;
$L__end:
	ret;
}
"""


def _recipe(name: str, parameter: int, *, stored: bool) -> MapRecipe:
    return MapRecipe(
        name, parameter, F32, number(0), (Amount("size", (parameter, 0)), Amount("argument", (2,))),
        (number(1), Amount("stride", (parameter, 1))), (8, 4), 0, stored,
    )  # fmt: skip


TILES = PtxKernel(
    "tiles", "tiles", PTX, "sm_90a", 256, 1, 32, 192, 384, (4, 8), (), (),
    (RecipePlace(128, _recipe("A", 0, stored=False)), RecipePlace(256, _recipe("B", 1, stored=True))), persistent=True,
)  # fmt: skip


@pytest.fixture
def asked(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[CudaVariant]:
    """The variants that were compiled, of which that of a tile program is the one above; none was before."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    found: list[CudaVariant] = []
    as_it_is = nvptx.compile_kernel

    def compiled(function: Any, architecture: Any, *, variant: CudaVariant, **words: Any) -> PtxKernel:
        found.append(variant)
        if variant == TILE:
            return TILES
        return as_it_is(function, architecture, variant=variant, **words)

    monkeypatch.setattr(nvptx, "compile_kernel", compiled)
    return found


def numbers(rows: int = 32, columns: int = 8) -> Any:
    return np.asfortranarray(np.arange(1.0, 1 + rows * columns, dtype=np.float32).reshape(rows, columns))


@pytest.mark.parametrize("persistent", [True, False])
def test_a_launch_makes_the_maps(
    fake: FakeDriver, asked: list[CudaVariant], persistent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their sizes, strides and addresses are those of the arguments; persistent CTAs are the device's, in a row."""
    monkeypatch.setitem(globals(), "TILES", replace(TILES, persistent=persistent))
    fake.gpus[0].multiprocessors = 3
    a, b = numbers(), np.zeros((40, 8), np.float32, order="F")[:32]
    launch = kernel(COPY_TILES)
    launch(a, b, 8)
    assert np.array_equal(a, b)
    assert [grid for grid, *_ in fake.launches] == [(3 if persistent else 8, 1, 1)]
    assert asked == [CudaVariant(tile=True)]
    first, second = fake.maps.values()
    assert (first.tensor_map.global_dim, first.tensor_map.global_strides) == ((32, 8), (128,))
    assert (second.tensor_map.global_dim, second.tensor_map.global_strides) == ((32, 8), (160,))
    assert first.tensor_map.box_dim == second.tensor_map.box_dim == (8, 4)
    assert list(launch.tensor_maps(a, b, 8)) == ["A", "B"]
    assert launch.tensor_maps(a, b, n=8)["B"].global_strides == (160,)


def test_maps_have_the_names_of_parameters(asked: list[CudaVariant], monkeypatch: pytest.MonkeyPatch) -> None:
    """Further maps of a parameter have a number; the order is that of the recipes."""
    twice = replace(TILES, recipes=(*TILES.recipes, replace(TILES.recipes[0], offset=384)), parameter_bytes=512)
    monkeypatch.setitem(globals(), "TILES", twice)
    found = kernel(COPY_TILES).tensor_maps(numbers(), numbers(), 8)
    assert list(found) == ["A", "B", "A_2"] and found["A"] == found["A_2"]


def test_integers_are_part_of_a_map(fake: FakeDriver, asked: list[CudaVariant]) -> None:
    a, b = numbers(), np.zeros((32, 8), np.float32, order="F")
    kernel(COPY_TILES)(a, b, 4)
    assert np.array_equal(a[:, :4], b[:, :4]) and not b[:, 4:].any() and asked == [CudaVariant(tile=True)]


@pytest.mark.parametrize(
    ("what", "says"),
    [("base", "multiple of 16"), ("stride", "multiple"), ("lines", "no multiple of 16"), ("size", "of no elements"),
     ("beyond", "covers elements 0 to"), ("overlap", "")],
)  # fmt: skip
def test_other_launches_take_the_other_variant(
    fake: FakeDriver, asked: list[CudaVariant], what: str, says: str
) -> None:
    room = np.zeros(32 * 10 + 1, np.float32)
    a, b, n = numbers(), np.zeros((32, 8), np.float32, order="F"), 8
    if what == "base":
        a = np.ndarray((32, 8), np.float32, room.data, 4, (4, 128))
        a[...] = numbers()
    elif what == "stride":
        a = np.ndarray((32, 8), np.float32, room.data, 0, (4, 132))
        a[...] = numbers()
    elif what == "lines":
        b = np.ndarray((31, 8), np.float32, room.data, 0, (4, 128))
    elif what == "size":
        n = 0
    elif what == "beyond":
        n = 9
    else:
        b = a
    expected = a.copy()
    launch = kernel(COPY_TILES)
    if what == "lines":
        with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
            launch(a, b, n)
    else:
        launch(a, b, n)
        assert np.array_equal(expected[:, :n], b[:, :n])
    others = [CudaVariant(disjoint=False)] if what == "overlap" else [LINED, GATHERED]
    assert asked == [TILE, *others] and not fake.maps
    assert launch.tensor_maps(a, b, n) == {}
    if says:
        accepted = accept(specifications(launch.ir), (a, b, n))
        with pytest.raises(recipes.IllegalMapError, match=says):
            recipes.made_maps(TILES, accepted)


def test_kernels_without_such_matrices_are_no_tile_programs(fake: FakeDriver, asked: list[CudaVariant]) -> None:
    launch = kernel(COPY_TILES.replace("work_group>", "subgroup>"))
    a, b = numbers(), np.zeros((32, 8), np.float32, order="F")
    launch(a, b, 8)
    assert asked == [CudaVariant()] and launch.tensor_maps(a, b, 8) == {}


def test_an_older_architecture_has_no_tile_programs(asked: list[CudaVariant]) -> None:
    kernel_ = girih.loads(COPY_TILES, "cuda:sm_80")["tiles"]
    assert asked == [CudaVariant()] and kernel_.tensor_maps(numbers(), numbers(), 8) == {}
    assert girih.loads(COPY_TILES, "cpu")["tiles"].tensor_maps(numbers(), numbers(), 8) == {}


def test_wrong_arguments_have_no_maps(asked: list[CudaVariant]) -> None:
    launch = kernel(COPY_TILES)
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype"):
        launch.tensor_maps(np.zeros((8, 8)), numbers(), 8)
    with pytest.raises(girih.LaunchError):
        launch.tensor_maps(numbers())


@pytest.fixture
def torch(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Torch with a table of functions, on the device."""
    made = torch_module(fake, fake.stream())
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.setattr(quick, "LAUNCHES", 2)
    fake.stack.append(0xC0)
    held = give_table(fake, made)
    yield made
    del Exchanged.__dlpack_c_exchange_api__, held  # type: ignore[attr-defined]


def on_device(fake: FakeDriver, content: Any) -> Exchanged:
    made = Exchanged(fake, content, 0)
    made.dtype = TorchType("float32")  # type: ignore[assignment]
    return made


def content(tensor: Exchanged) -> Any:
    tensor.dtype = np.dtype("float32")
    return tensor.content


@pytest.mark.parametrize("persistent", [True, False])
def test_machine_code_moves_the_maps(
    fake: FakeDriver, asked: list[CudaVariant], torch: Any, persistent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later launches have the maps of a plan with other addresses; nothing is encoded again."""
    monkeypatch.setitem(globals(), "TILES", replace(TILES, persistent=persistent))
    fake.gpus[0].multiprocessors = 3
    launch = kernel(COPY_TILES)
    encoded = []
    for round in range(5):
        a, b = on_device(fake, numbers() + round), on_device(fake, np.zeros((32, 8), np.float32, order="F"))
        launch[4, 2](a, b, 8)
        launch.synchronize()
        assert np.array_equal(content(b), numbers() + round)
        encoded.append(fake.calls.count(ENCODE))
    assert encoded == [2, 4, 4, 4, 4] and fake.calls.count("cuMemAlloc") == 0
    assert {grid for grid, *_ in fake.launches} == {(3 if persistent else 8, 1, 1)}
    # Another number makes another map, which Python makes.
    a, b = on_device(fake, numbers()), on_device(fake, np.zeros((32, 8), np.float32, order="F"))
    launch[4, 2](a, b, 4)
    launch.synchronize()
    assert not content(b)[:, 4:].any() and fake.calls.count(ENCODE) == 6
    # Memory that is not aligned has none.
    odd = on_device(fake, np.zeros(257, np.float32))
    odd.shape, odd.strides, odd.address = (32, 8), (4, 128), odd.address + 4
    out = on_device(fake, np.zeros((32, 8), np.float32, order="F"))
    launch[4, 2](odd, out, 8)
    assert fake.calls.count(ENCODE) == 6 and asked[-1] == GATHERED


def test_a_graph_has_the_maps(fake: FakeDriver, asked: list[CudaVariant], torch: Any) -> None:
    """A launch that is captured allocates nothing, and its maps stay those of the arrays that it had."""
    launch = kernel(COPY_TILES)
    a, b = on_device(fake, numbers()), on_device(fake, np.zeros((32, 8), np.float32, order="F"))
    for _ in range(3):
        launch(a, b, 8)
    launch.synchronize()
    other = on_device(fake, np.zeros((32, 8), np.float32, order="F"))
    stream = torch.chosen.stream
    fake.begin_capture(stream)
    launch(a, other, 8)
    replay = fake.end_capture(stream)
    assert not content(other).any()
    replay()
    fake.cuStreamSynchronize(stream)
    assert np.array_equal(content(other), numbers())


def test_launches_without_legal_maps_gather_tiles() -> None:
    """A product of matrices whose rows begin anywhere is the same program, without maps."""
    function = girih.parse(product(rows=64, columns=64)).functions[0]
    architecture = architecture_named("sm_90a")
    made = {one: compile_kernel(function, architecture, variant=one) for one in (TILE, LINED, GATHERED)}
    assert [len(one.recipes) for one in made.values()] == [3, 2, 0]
    assert all(one.is_tile_program and one.persistent for one in made.values())
    assert all("wgmma.mma_async" in one.ptx for one in made.values())
    assert ["cp.async.bulk.tensor" in one.ptx for one in made.values()] == [True, True, False]
    assert PtxKernel.from_bytes(made[GATHERED].to_bytes()).is_tile_program


PRODUCT = {"type": "bf16", "result": "bf16", "rows": 64, "columns": 64, "depth": 64, "items": 128}


@pytest.mark.parametrize("size", [64, 72, 60])
def test_a_product_is_a_tile_program_with_and_without_maps(fake: FakeDriver, size: int, repository: Path) -> None:
    """A library's kernel, compiled and launched: matrices whose columns begin anywhere have no maps."""
    launch = girih.load(repository / "girih/kernels/gemm_work_group.tl", "cuda:sm_90a", PRODUCT)["gemm_work_group"]
    rng = np.random.default_rng(1)
    a, b = (np.asfortranarray(rng.integers(-3, 4, (size, size)).astype(ml_dtypes.bfloat16)) for _ in range(2))
    c = np.zeros_like(a)
    launch(a, b, c)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(c, expected)
    assert bool(fake.maps) == bool(launch.tensor_maps(a, b, c)) == (size % 8 == 0)
    groups = (-(-size // 64)) ** 2
    assert "wgmma" in fake.modules[-1].decode() and fake.launches[-1][0] == (groups, 1, 1)


GEMM = {"type": "bf16", "rows": 64, "columns": 64, "depth": 64, "items": 128}


def odd_product(repository: Path, size: int = 60) -> tuple[Any, tuple[Any, ...], Any]:
    """A product of matrices whose columns begin anywhere, its arguments, and what it is."""
    launch = girih.load(repository / "girih/kernels/gpu/gemm.tl", "cuda:sm_90a", GEMM)["gemm"]
    rng = np.random.default_rng(1)
    a, b = (np.asfortranarray(rng.integers(-3, 4, (size, size)).astype(ml_dtypes.bfloat16)) for _ in range(2))
    c = np.zeros((size, size), np.float32, order="F")
    return launch, (1.0, a, b, 0.0, c), a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(("size", "copies", "maps"), [(61, 2, 2), (72, 0, 3)])
def test_lines_that_begin_anywhere_are_copied(
    fake: FakeDriver, repository: Path, size: int, copies: int, maps: int
) -> None:
    """Factors are copied to where maps have their lines; the result is stored by those who compute it."""
    launch, arguments, expected = odd_product(repository, size)
    launch(*arguments)
    assert np.array_equal(arguments[-1], expected)
    assert len(fake.maps) == len(launch.tensor_maps(*arguments)) == maps
    asked = ("cuMemAllocFromPoolAsync", "cuMemFreeAsync")
    assert [fake.calls.count(name) for name in asked] == [min(copies, 1)] * 2
    # One launch copies all lines, and one multiplies.
    assert len(fake.launches) == 1 + min(copies, 1) and fake.calls.count("cuMemcpy2DAsync") == 0
    assert {one.tensor_map.global_strides[0] % 16 for one in fake.maps.values()} == {0}


def test_a_graph_copies_lines_each_time(
    fake: FakeDriver, torch: Any, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvptx, "compile_kernel", compile_kernel)
    launch, (alpha, first, second, beta, c), expected = odd_product(repository)
    a, b, out = (on_device(fake, one) for one in (first, second, c))
    for one in (a, b):
        one.dtype = TorchType("bfloat16")  # type: ignore[assignment]
    launch(alpha, a, b, beta, out)
    launch.synchronize()
    stream = torch.chosen.stream
    fake.begin_capture(stream)
    launch(alpha, a, b, beta, out)
    replay = fake.end_capture(stream)
    for factor in (2, 3):
        other = (first * factor).astype(first.dtype).tobytes("F")
        ctypes.memmove(a.address, other, len(other))
        replay()
        fake.cuStreamSynchronize(stream)
        assert np.array_equal(content(out), factor * expected)


@pytest.mark.parametrize("error", ["CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED"])
def test_without_memory_for_copies_tiles_are_gathered(fake: FakeDriver, repository: Path, error: str) -> None:
    launch, arguments, expected = odd_product(repository)
    failing = "cuMemPoolCreate" if error.endswith("SUPPORTED") else "cuMemAllocFromPoolAsync"
    fake.failing[failing] = fake.CUresult[error]
    launch(*arguments)
    assert np.array_equal(arguments[-1], expected) and not fake.maps and fake.calls.count("cuMemcpy2DAsync") == 0


def test_another_fault_of_the_pool_is_said(fake: FakeDriver, repository: Path) -> None:
    launch, arguments, _ = odd_product(repository)
    fake.failing["cuMemAllocFromPoolAsync"] = fake.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(girih.LaunchError, match="cuMemAllocFromPoolAsync"):
        launch(*arguments)
    assert not arguments[-1].any()


def test_images_of_lines_are_copied(fake: FakeDriver) -> None:
    """A batch of matrices is an image of lines each; lines that overlap, or dimensions more than three, are not."""
    function = girih.parse(COPY_TILES).functions[0]
    sizes, strides = (tuple(map(number, one)) for one in ((5, 3, 2), (1, 7, 28)))
    recipe = replace(_recipe("A", 0, stored=False), sizes=sizes, strides=strides, box=(4, 3, 1))
    program = replace(TILES, recipes=(RecipePlace(128, recipe),))
    accepted = accept(specifications(function), (numbers(), numbers(), 8))
    (made,) = recipes.made_maps(program, accepted, copied=True)
    assert made.copy == LineCopy(0, 20, 3, 2, 28, 4) and made.copy.bytes == 128 * 6
    assert made.tensor_map.global_dim == (5, 3, 2) and made.tensor_map.global_strides == (128, 384)
    for other in ((1, 3, 28), (1, 7, 20), (1, 7, 14)):
        wrong = replace(recipe, strides=tuple(map(number, other)))
        with pytest.raises(recipes.IllegalMapError, match="overlap, or are not in images"):
            recipes.made_maps(replace(TILES, recipes=(RecipePlace(128, wrong),)), accepted, copied=True)
    more = replace(recipe, sizes=(number(1),) * 4, strides=tuple(map(number, (1, 1, 3, 3))), box=(1, 1, 1, 1))
    more = replace(more, sizes=(number(1), number(2), number(2), number(1)))
    with pytest.raises(recipes.IllegalMapError, match="4 dimensions"):
        recipes.made_maps(replace(TILES, recipes=(RecipePlace(128, more),)), accepted, copied=True)
    source, target = (fake.allocate(size, 0) for size in (56 * 4, made.copy.bytes))
    content, copied = (
        np.ctypeslib.as_array((ctypes.c_float * count).from_address(place))
        for place, count in ((source, 56), (target, 2 * 3 * 32))
    )
    content[:] = np.arange(56)
    fake.stack.append(0xC0)
    for ask in (made.copy.ask, lambda *places: lines.ask_for_copies(0, places[2], [(made.copy, *places[:2])])):
        copied[:] = 0
        ask(source, target, 0)
        fake.cuStreamSynchronize(0)
        assert np.array_equal(copied.reshape(2, 3, 32)[:, :, :5], content.reshape(2, 4, 7)[:, :3, :5])


def test_lines_of_any_width_from_any_byte(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six copies, by two launches, or by the driver: where they are too large, or it does not assemble PTX."""
    fake.stack.append(0xC0)
    source = np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
    there = fake.allocate(4096, 0)
    ctypes.memmove(there, source.tobytes(), 4096)
    ways = [LineCopy(5, 1, 7, 1, 19, 7), LineCopy(16, 16, 3, 1, 16, 3), LineCopy(31, 33, 5, 1, 47, 5),
            LineCopy(0, 150, 4, 2, 151, 5), LineCopy(2, 128, 2, 3, 130, 2), LineCopy(7, 257, 1, 1, 300, 1)]  # fmt: skip
    for most in (2**28, 20, 0):
        monkeypatch.setattr(lines, "_MOST_PIECES", most)
        if most == 0:
            monkeypatch.setattr(lines, "_COPIERS", {})
            fake.failing["cuModuleLoadData"] = CUresult.CUDA_ERROR_INVALID_PTX
        targets = [fake.allocate(one.bytes, 0) for one in ways]
        lines.ask_for_copies(0, 0, [(one, there, target) for one, target in zip(ways, targets, strict=True)])
        fake.cuStreamSynchronize(0)
        for one, target in zip(ways, targets, strict=True):
            found = np.frombuffer(ctypes.string_at(target, one.bytes), np.uint8)
            found = found.reshape(one.count, one.lines, one.target_pitch)[:, :, : one.width]
            begins = [
                [one.begin + (k * one.between + n) * one.pitch for n in range(one.lines)] for k in range(one.count)
            ]
            assert np.array_equal(found, [[source[at : at + one.width] for at in image] for image in begins])
    assert len(fake.launches) == 3
    assert [fake.calls.count(f"cuMemcpy{n}DAsync") for n in (2, 3)] == [4, 8]


@pytest.mark.parametrize(
    ("hint", "taken"),
    [
        ("stages=1", "2 are taken"), ("stages=40", "a stage takes 16384 of 232448 bytes"),
        ("consumers=5", "1 are taken"), ("cluster=[2, 1]", "each loads for itself"),
        ("stages=2", None), ("cluster=[1, 1]", None), ("group=3", None),
    ],
)  # fmt: skip
def test_hints_that_cannot_be_followed_are_remarked(hint: str, taken: str | None, repository: Path) -> None:
    text = (repository / "girih/kernels/gemm_work_group.tl").read_text(encoding="utf-8")
    text = text.replace("attributes {", f"attributes {{hopper={{{hint}}}, ", 1)
    remarks = girih.loads(text, "cuda:sm_90a", PRODUCT)["gemm_work_group"].remarks
    found = [one.message for one in remarks if one.code == "cuda.hint"]
    assert len(found) == (taken is not None)
    assert all(f"`{hint}` cannot" in one and (taken or "") in one for one in found)


def test_matrices_of_groups_are_one_launch(fake: FakeDriver) -> None:
    """Products of different sizes, by one tile program without maps."""
    launch = girih.loads(grouped(), "cuda:sm_90a")["product"]
    source, sizes = np.random.default_rng(1), ((72, 33, 130), (5, 7, 64))
    bf16 = ml_dtypes.bfloat16
    a, b = (
        [np.asfortranarray(source.integers(-3, 4, (one[p], one[q])).astype(bf16)) for one in sizes]
        for p, q in ((0, 2), (2, 1))
    )
    c = [np.zeros((m, n), bf16, order="F") for m, n, _ in sizes]
    launch[2, 1, 2](a, b, c)
    for left, right, found in zip(a, b, c, strict=True):
        assert np.array_equal(found, (left.astype(np.float32) @ right.astype(np.float32)).astype(bf16))
    assert "wgmma" in fake.modules[-1].decode() and fake.launches[-1][0] == (4, 1, 1) and not fake.maps
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        launch[1, 1, 3](a, b, c)


# --- work-groups in parts -------------------------------------------------------------------------


PARTS = ((1, 2), (2, 2), (2, 4))


@pytest.mark.parametrize(
    ("sizes", "gathered", "expected"),
    [
        ((4096, 4096), False, (1, 1)), ((2048, 2048), False, (1, 1)), ((8192, 1024), False, (1, 1)),
        ((1024, 1024), False, (2, 2)), ((1000, 1032), False, (1, 2)), ((512, 512), False, (2, 4)),
        ((65, 1266), True, (2, 4)), ((4411, 1173), True, (1, 1)),
    ],
)  # fmt: skip
def test_how_a_launch_is_cut(sizes: tuple[int, int], gathered: bool, expected: tuple[int, int]) -> None:
    """As was measured: products of 2048 fill 132 multiprocessors with large tiles, those of 1024 do not."""
    function = girih.parse(COPY_TILES).functions[0]

    def groups(tile: tuple[int, int]) -> int:
        return -(-sizes[0] // tile[0]) * -(-sizes[1] // tile[1])

    smaller = [SmallerTiles(function, (x, y), (128 // x, 256 // y)) for x, y in PARTS]
    known = [(one, groups(one.tile)) for one in smaller]
    assert parts_of_work_groups(groups((128, 256)), (128, 256), known, 132, gathered=gathered) == expected


@pytest.mark.parametrize("odd", [False, True])
def test_a_small_product_has_small_tiles(fake: FakeDriver, odd: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """So has one whose lines are copied to where maps have them, and a kernel that was pickled."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    fake.gpus[0].multiprocessors = 132
    m, n, k = (65, 63, 33) if odd else (72, 64, 32)
    bf16 = ml_dtypes.bfloat16
    source = np.random.default_rng(1)
    a, b = (np.asfortranarray(source.integers(-4, 5, shape).astype(bf16)) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), bf16, order="F")
    kernel_ = girih.kernels.gemm_work_group(type="bf16", target="cuda")
    kernel_(a, b, c)
    assert np.array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(bf16))
    # Lines are copied by a launch of its own.
    assert [grid for grid, *_ in fake.launches][int(odd) :] == [(8, 1, 1)]
    assert fake.maps
    again = pickle.loads(pickle.dumps(kernel_))
    c[...] = 0
    again(a, b, c)
    assert c.any() and fake.launches[-1][0] == (8, 1, 1) and len(fake.launches) == 2 * (1 + odd)


# --- parts of the depth ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((4096, 4096, 4096), ((1, 1), 1)), ((1024, 1024, 1024), ((2, 2), 1)), ((512, 512, 4096), ((2, 4), 1)),
        ((83, 102, 3278), ((2, 4), 1)), ((4096, 64, 14336), ((2, 4), 2)), ((64, 64, 65536), ((2, 4), 16)),
        ((128, 2048, 16384), ((2, 2), 4)), ((256, 256, 12288), ((2, 4), 8)),
    ],
)  # fmt: skip
def test_how_a_launch_shares_out_the_depth(sizes: tuple[int, int, int], expected: tuple[tuple[int, int], int]) -> None:
    """Deep products with few tiles, one of which has to go a long way; what is short stays whole."""
    function, tile = girih.parse(COPY_TILES).functions[0], (128, 256)

    def groups(tile: tuple[int, int]) -> int:
        return -(-sizes[0] // tile[0]) * -(-sizes[1] // tile[1])

    smaller = [SmallerTiles(function, (x, y), (128 // x, 256 // y)) for x, y in PARTS]
    known = [(one, groups(one.tile)) for one in smaller]
    parts = parts_of_work_groups(groups(tile), tile, known, 132, gathered=False)
    depth = LaunchDepth.of(DeepProduct(number(0), 128, *tile, 2), -(-sizes[2] // 64))
    listed = {one.parts: (count, one.tile) for one, count in known}
    assert shares_of_launch(groups(tile), listed, parts, depth, 132) == expected


@pytest.fixture
def sharing(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU with many multiprocessors, on which parts of the depth cost nothing."""
    monkeypatch.setattr(nvptx, "compile_kernel", compile_kernel)
    monkeypatch.setattr(variants, "_UNITED", 0.0)
    monkeypatch.setattr(variants, "_BYTES_IN_MICROSECOND", 1e9)
    fake.gpus[0].multiprocessors = 132


def deep_product(repository: Path, columns: int = 64) -> tuple[Any, tuple[Any, Any, Any], Any]:
    """A product whose depth is shared out in two parts, its matrices, and what it is."""
    launch = girih.load(repository / "girih/kernels/gpu/gemm.tl", "cuda:sm_90a", GEMM)["gemm"]
    source = np.random.default_rng(1)
    bf16 = ml_dtypes.bfloat16
    a, b = (np.asfortranarray(source.integers(-3, 4, one).astype(bf16)) for one in ((64, 512), (512, columns)))
    c = np.zeros((64, columns), np.float32, order="F")
    return launch, (a, b, c), a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(("columns", "copies"), [(64, 0), (63, 0)])
def test_a_deep_product_is_shared_out(
    fake: FakeDriver, sharing: None, repository: Path, columns: int, copies: int
) -> None:
    """As a kernel of a user's text is: on arrays of the host, one launch after the other."""
    launch, (a, b, c), expected = deep_product(repository, columns)
    for _ in range(2):
        c[...] = 0
        launch(1.0, a, b, 0.0, c)
        assert np.array_equal(c, expected)
    assert [grid for grid, *_ in fake.launches] == [(2, 1, 1)] * 2
    assert fake.calls.count("cuMemcpy2DAsync") == copies and fake.calls.count("cuMemsetD8Async") == 1


def test_a_graph_has_sums_of_its_own(fake: FakeDriver, sharing: None, torch: Any, repository: Path) -> None:
    """A stream has memory for its launches, by Python and by machine code; what is captured takes its own."""
    launch, (a, b, c), expected = deep_product(repository)
    first, second, out = (on_device(fake, one) for one in (a, b, c))
    first.dtype = second.dtype = TorchType("bfloat16")  # type: ignore[assignment]
    stream = torch.chosen.stream
    for _ in range(5):
        launch(2.0, first, second, 0.0, out)
        launch.synchronize()
        assert np.array_equal(content(out), 2 * expected)
        out.dtype = TorchType("float32")  # type: ignore[assignment]
    known = fake.calls.count("cuTensorMapReplaceAddress")
    assert known and fake.calls.count("cuMemAllocFromPoolAsync") == 0
    fake.begin_capture(stream)
    launch(1.0, first, second, 0.0, out)
    replay = fake.end_capture(stream)
    assert fake.calls.count("cuMemAllocFromPoolAsync") == fake.calls.count("cuMemFreeAsync") == 1
    for factor in (2, 3):
        other = (a * factor).astype(a.dtype).tobytes("F")
        ctypes.memmove(first.address, other, len(other))
        replay()
        launch(1.0, first, second, 1.0, out)
        fake.cuStreamSynchronize(stream)
        assert np.array_equal(content(out), 2 * factor * expected)
        out.dtype = TorchType("float32")  # type: ignore[assignment]
    # A larger grid has more sums than there is memory for, as far as a plan knows.
    by_python = fake.calls.count(ENCODE)
    launch[3, 1](1.0, first, second, 0.0, out)
    fake.cuStreamSynchronize(stream)
    assert np.array_equal(content(out), 3 * expected) and fake.launches[-1][0] == (6, 1, 1)
    assert fake.calls.count(ENCODE) == by_python + 3


def test_without_memory_for_sums_the_depth_stays_whole(
    fake: FakeDriver, sharing: None, torch: Any, repository: Path
) -> None:
    launch, (a, b, c), expected = deep_product(repository)
    first, second, out = (on_device(fake, one) for one in (a, b, c))
    first.dtype = second.dtype = TorchType("bfloat16")  # type: ignore[assignment]
    fake.failing["cuMemAlloc"] = fake.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    launch(1.0, first, second, 0.0, out)
    launch.synchronize()
    assert np.array_equal(content(out), expected) and fake.launches[-1][0] == (1, 1, 1) and fake.maps
