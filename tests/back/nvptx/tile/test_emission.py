"""What tile programs are in PTX: the assembler takes them as they are meant, and golden text shows what they are.

The assembler says when it makes products wait for each other (C7510 and the like), and when registers are too few: in a
tile program both mean that it is slow.
"""

from __future__ import annotations

import re
from itertools import product as every
from pathlib import Path

import pytest

from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import GATHERED, TILE, CudaVariant
from girih.back.llvm.nvptx.tile.choice import chosen_tile_kernel
from girih.facts.remarks import Remarks
from girih.tile.budget import ROOMY_SHARES
from girih.tile.recognise import tile_kernel
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.test_golden import as_text, as_written
from tests.back.nvptx.tile.emitted import HOPPER, added, emitted, emitted_from, of_bytes, of_tf32
from tests.conftest import Golden
from tests.tile.programs import STORE, attention, function_of, kernel_of, product
from tests.tile.test_recognise import of_library

LAYOUTS = [
    product(order=order, transpose_a=a, transpose_b=b) for order, a, b in every("FC", (False, True), (False, True))
]
SHAPES = [
    product(rows=256, columns=128),
    product(rows=128, columns=128, type="f16"),
    product(rows=192, columns=160),
    product(rows=64, columns=256),
]
OTHERS = [added(), of_bytes(), of_tf32(), of_tf32(columns=128)]
ATTENTION = [attention(), attention(length=64)]


@needs_ptxas
@pytest.mark.parametrize("text", [*LAYOUTS, *SHAPES, *OTHERS, *ATTENTION])
def test_products_run_on(text: str, tmp_path: Path) -> None:
    """Nothing is spilled, and no product waits for another one."""
    found = ptxas(emitted_from(text, checks=True).ptx, "sm_90a", tmp_path)
    assert found.problems == ""
    assert found.spilled == 0 and found.stack == 0


@as_written
def test_as_text(golden: Golden) -> None:
    golden("nvptx/tile_product.ptx", as_text(emitted_from(product()).ptx))


def test_a_launch_knows_the_kernel() -> None:
    """What a launch asks for is what the form says."""
    kernel = kernel_of(product())
    made = emitted(kernel)
    assert made.threads == kernel.threads == 384
    assert made.persistent and made.packed == 1
    assert [place.recipe for place in made.recipes] == list(kernel.maps)
    offsets = [place.offset for place in made.recipes]
    assert all(offset % 128 == 0 for offset in offsets)
    assert offsets == sorted(set(offsets)) and made.parameter_bytes == offsets[-1] + 128
    # Grid, record, and for each matrix address, two sizes and a stride.
    assert offsets[0] >= 8 * (4 + 3 * 4)


def test_roles_have_their_registers() -> None:
    """The producer gives registers to the consumers, in one branch each (PTX ISA "setmaxnreg")."""
    ptx = emitted_from(product()).ptx
    assert re.findall(r"setmaxnreg\.(\w+)\.sync\.aligned\.u32 (\d+)", ptx) in (
        [("dec", "24"), ("inc", "240")], [("inc", "240"), ("dec", "24")],
    )  # fmt: skip
    assert ".minnctapersm 1" in ptx and ".reqntid 384" in ptx


@pytest.mark.parametrize("text", [product(checked=""), attention()])
def test_there_are_no_calls(text: str) -> None:
    """In code with calls nvJitLink ignores `setmaxnreg`, and products wait for each other (C7504, C7509)."""
    made = emitted_from(text, checks=True)
    assert made.sites and not re.search(r"\bcall\b|\.func\b", made.ptx)


def test_nobody_ends_with_a_finding() -> None:
    """A role that ended would leave others waiting."""
    checked = emitted_from(product(checked=""), checks=True)
    assert checked.sites and "exit" not in checked.ptx.replace("func_exit", "")
    assert "exit" not in emitted_from(product()).ptx


def test_a_kernel_is_compiled_as_a_tile_program() -> None:
    """With its variant, where the architecture has products of warpgroups; what it consists of is remarked."""
    function = function_of(product())
    made = compile_kernel(function, HOPPER, variant=TILE)
    assert made.recipes and "wgmma.mma_async" in made.ptx
    (remark,) = [one for one in made.remarks if one.code == "cuda.pipeline"]
    for words in ("2 groups of 128", "4 slots of 48 KiB", "maps of %A, %B, %C"):
        assert words in remark.message
    for architecture, variant in ((HOPPER, CudaVariant()), (architecture_named("sm_90"), TILE)):
        other = compile_kernel(function, architecture, variant=variant)
        assert not other.recipes and "wgmma" not in other.ptx
        assert {one.code for one in other.remarks}.isdisjoint({"cuda.pipeline", "cuda.tile"})


@pytest.mark.parametrize("variant", [TILE, GATHERED])
def test_checks_and_stores_through_layouts_are_code_of_roles(variant: CudaVariant) -> None:
    """Both stand in a kernel of the library."""
    made = compile_kernel(of_library("gemm_work_group", rows=128, columns=128, depth=32), HOPPER, variant=variant)
    assert made.is_tile_program
    assert "wgmma" in made.ptx
    assert "cuda.tile" not in {one.code for one in made.remarks}


def test_why_a_kernel_is_no_tile_program() -> None:
    """The kernel is compiled without one, and a remark has the reason."""
    made = compile_kernel(function_of(product(rows=96)), HOPPER, variant=TILE)
    (remark,) = [one for one in made.remarks if one.code == "cuda.tile"]
    assert "96 rows" in remark.message and remark.hint
    assert not made.recipes and "wgmma" not in made.ptx


YIELD = "yield (%next)\n        }"
OTHER_LOOP = """
        %other = for %at = %zero, %k, %step init (%sum=%product) -> (coopmatrix<f32x64x64,matrix_acc,work_group>) {
            %left = cooperative_matrix_load.both_checked %A[%row, %at] : coopmatrix<bf16x64x64,matrix_a,work_group>
            %right = cooperative_matrix_load.both_checked %B[%at, %column] : coopmatrix<bf16x64x64,matrix_b,work_group>
            %another = cooperative_matrix_mul_add %left, %right, %sum : coopmatrix<f32x64x64,matrix_acc,work_group>
            yield (%another)
        } attributes {stages=6}
        %rounded = cast %other : coopmatrix<bf16x64x64,matrix_acc,work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%row, %column]"""
NO_TILES = """
        %some = for %n = %zero, %step init (%m=%row) -> (index) {
            %more = add %m, %n : index
            yield (%more)
        } attributes {stages=3}
        %rounded = cast %product : coopmatrix<bf16x64x64,matrix_acc,work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%some, %column]"""


@pytest.mark.parametrize(
    ("hints", "epilogue", "rows", "says"),
    [
        ("stages=3", STORE, 64, ""),
        ("stages=1", STORE, 64, ""),
        ("pipeline=false", STORE, 64, ""),
        ("stages=1, pipeline=false", STORE, 64, ""),
        ("stages=40", STORE, 64, "a stage takes 16384 of 232448 bytes of shared memory; 13 are taken"),
        ("stages=4, pipeline=false", STORE, 64, "`pipeline=false` says that iterations do not overlap; one is taken"),
        ("stages=2", OTHER_LOOP, 64, "`stages=2` cannot be followed: another loop uses the same"),
        ("pipeline=false", OTHER_LOOP, 64, "`pipeline=false` cannot be followed: another loop uses the same"),
        ("pipeline=true", NO_TILES, 64, "the loop itself loads no tile that a product takes; iterations follow one"),
        ("stages=3", STORE, 32, "the kernel is no tile program, whose copies run by themselves"),
        ("pipeline=false", STORE, 32, ""),
    ],
)
def test_hints_of_loops_that_cannot_be_followed_are_remarked(hints: str, epilogue: str, rows: int, says: str) -> None:
    """At the hint, with the numbers and what is taken."""
    text = product(rows=rows, columns=64, epilogue=epilogue).replace(YIELD, f"{YIELD} attributes {{{hints}}}")
    remarks = Remarks("cuda")
    kernel = chosen_tile_kernel(function_of(text), HOPPER, TILE, remarks, checks=False)
    assert (kernel is None) is (rows == 32)
    told = [one for one in remarks.diagnostics() if one.code == "cuda.hint"]
    assert [says in one.message for one in told] == [True] * bool(says)
    assert all(text[one.span.start : one.span.end].startswith(("stages=", "pipeline=")) for one in told)


@needs_ptxas
def test_checks_of_a_product_have_registers(tmp_path: Path) -> None:
    """Where the matrices of consumers leave them; gemm_work_group's checks spilled one register with fewer."""
    kernel = tile_kernel(of_library("gemm_work_group", rows=128, columns=256, depth=64), checks=True)
    assert (kernel.producer.registers, kernel.consumers.registers) == ROOMY_SHARES[2]
    found = ptxas(emitted(kernel, checks=True).ptx, "sm_90a", tmp_path)
    assert found.problems == "" and found.spilled == found.stack == 0
