"""Tensor copies as PTX: by the engine of the device or computed, under way together, and where work-items have left."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.addressing import BoundTensorMap, TensorMap
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.ops.tile.tensor_map import TensorCopy
from tests.back.harness import Failed
from tests.back.nvptx.ptx_machine.asynchronous import ORDERS
from tests.back.nvptx.tensor_copies import function_of, kernel_of, machine
from tests.back.one_lane.launch import OneLaneKernel
from tests.cases import every_case, long
from tests.ops import corpus
from tests.tensor_maps import golden, random_copies
from tests.tensor_maps.golden import Launch

ARCHITECTURES = ("sm_90a", "sm_80", "sm_100a")


def bound(rows: int = 32, box: tuple[int, int] = (8, 4), **options: Any) -> BoundTensorMap:
    """A matrix of f32 with 16 columns, and boxes of it."""
    array = np.arange(rows * 16, dtype=np.float32).reshape(rows, 16)
    return TensorMap.of(array, box, **options).bind(array)


# --- what an H200 did ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "copies", "step"),
    [("sm_90a", "late", 60), ("sm_80", "late", 300), *long([(a, o, 1) for a in ARCHITECTURES for o in ORDERS[1:]])],
)
def test_copies_that_succeeded(architecture: str, copies: str, step: int) -> None:
    make = machine(architecture, copies)
    with every_case() as case:
        for one in golden.cases("ok")[::step]:
            with case(f"{one['id']} {one['tag']}"):
                golden.check(make, one)


def test_random_copies_of_a_kind() -> None:
    with every_case() as case:
        for kind in random_copies.KINDS:
            with case(kind):
                random_copies.compare(machine("sm_100a", "late"), kind, 1)


@pytest.mark.long
@pytest.mark.parametrize("kind", random_copies.KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_random_copies(architecture: str, kind: str) -> None:
    random_copies.compare(machine(architecture, "reversed"), kind, 20, seed=3)


@pytest.mark.parametrize("step", [40, *long([1])])
def test_copies_that_threads_compute_on_this_processor(step: int) -> None:
    made: dict[str, OneLaneKernel] = {}

    def make(text: str) -> Launch:
        if text not in made:
            made[text] = OneLaneKernel(function_of(text))
        one = made[text]
        return lambda *arguments: one((1, 1, 1), *arguments)

    with every_case() as case:
        for one in golden.cases("ok")[::step]:
            with case(f"{one['id']} {one['tag']}"):
                golden.check(make, one)


@pytest.mark.parametrize(("architecture", "step"), [("sm_90a", 8), ("sm_80", 30), *long([("sm_90a", 1), ("sm_80", 1)])])
def test_illegal_instructions_are_findings_also_without_checks(architecture: str, step: int) -> None:
    with every_case() as case:
        for one in golden.cases("illegal_instruction")[::step]:
            for checks in (True, False):

                def make(text: str, checks: bool = checks) -> Launch:
                    kernel = kernel_of(text, architecture, checks=checks)
                    return lambda *arguments: kernel((1, 1, 1), *arguments)

                with case(f"{one['id']} {one['tag']}"), pytest.raises(Failed) as caught:
                    golden.check(make, one)
                assert caught.value.code == "run.tensor_copy"


# --- copies under way ----------------------------------------------------------------------------

SEVERAL = """
func @several(%A: tensor_map<f32,2,tiled>, %B: tensor_map<f32,2,tiled>, %C: tensor_map<f32,2,tiled>,
              %O: memref<f32x8x4x2>) attributes {work_group_size=[64,1], subgroup_size=32} {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %a = alloca : memref<f32x8x4,local>
    %b = alloca : memref<f32x8x4,local>
    %begin = constant 0 : index
    %end = constant 3 : index
    %rows = constant 4 : index
    for %k = %begin, %end {
        %row = mul %k, %rows : index
        tensor_copy_load %A[8,%row], %a
        tensor_copy_load %B[0,%row], %b
        barrier.local
        tensor_copy_reduce.add %a, %C[0,%row]
        tensor_copy_store %b, %C[8,%row]
        barrier
    }
    %x = subview %O[0:8,0:4,0] : memref<f32x8x4>
    %y = subview %O[0:8,0:4,1] : memref<f32x8x4>
    axpby %one, %a, %zero, %x
    axpby %one, %b, %zero, %y
}
"""


@pytest.mark.parametrize("copies", ORDERS)
def test_copies_are_under_way_together(copies: str) -> None:
    """Two loads are counted on one mbarrier, phase after phase; a store and a sum are one group."""
    one, maps, out = kernel_of(SEVERAL, "sm_90a", copies), (bound(), bound(), bound()), np.zeros((8, 4, 2), "f4", "F")
    done = one((1, 1, 1), *maps, out)
    assert done.executed["mbarrier.expect_tx.relaxed.cta.shared::cta.b64"] == 6
    assert done.executed["mbarrier.arrive.shared::cta.b64"] == 3
    assert done.executed["cp.async.bulk.commit_group"] == 3
    meant = np.arange(512, dtype=np.float32).reshape(32, 16)
    assert np.array_equal(out[:, :, 0].T, meant[8:12, 8:]) and np.array_equal(out[:, :, 1].T, meant[8:12, :8])
    total = meant.copy()
    total[:12, :8] += meant[:12, 8:]
    total[:12, 8:] = meant[:12, :8]
    assert np.array_equal(maps[2].array, total)


SPMD = """
func @spmd(%A: tensor_map<f32,2,tiled>, %C: tensor_map<f32,2,tiled>, %I: memref<f32x?>)
        attributes {work_group_size=[64,1], subgroup_size=32} {
    %a = alloca : memref<f32x8x4,local>
    %flat = fuse %a[0,1] : memref<f32x32,local>
    parallel {
        %begin = constant 0 : index
        %end = constant 4 : index
        %rows = constant 4 : index
        %lanes = constant 32 : index
        %lane = subgroup_local_id : i32
        %subgroup = subgroup_linear_id : i32
        %l = cast %lane : index
        %s = cast %subgroup : index
        %before = mul %s, %lanes : index
        %t = add %before, %l : index
        for %k = %begin, %end {
            %row = mul %k, %rows : index
            tensor_copy_load %A[0,%row], %a
            %given = load %I[%t] : f32
            barrier.local
            %first = equal %s, %begin : bool
            if %first {
                %old = load %flat[%l] : f32
                %new = add %old, %given : f32
                store %new, %flat[%l]
            }
            barrier.local
            tensor_copy_store %a, %C[8,%row]
            barrier.global.local
        }
    }
}
"""


@pytest.mark.parametrize("copies", ORDERS)
@pytest.mark.parametrize("checks", [True, False])
def test_copies_by_work_items(copies: str, checks: bool) -> None:
    one, a, c = kernel_of(SPMD, "sm_90a", copies, checks=checks), bound(), bound()
    one((1, 1, 1), a, c, np.arange(64, dtype=np.float32))
    meant = np.arange(512, dtype=np.float32).reshape(32, 16)
    expected = meant.copy()
    expected[:16, 8:] = meant[:16, :8] + np.tile(np.arange(32, dtype=np.float32).reshape(4, 8), (4, 1))
    assert np.array_equal(c.array, expected)


@pytest.mark.parametrize("copies", ORDERS)
@pytest.mark.parametrize("size", [0, 1, 33, 63])
def test_who_leaves_waits_for_its_copies_and_nobody_waits_for_it(copies: str, size: int) -> None:
    """Work-items beyond the array leave with a finding while a load is under way, work-item 0 among them or not."""
    with pytest.raises(Failed) as caught:
        kernel_of(SPMD, "sm_90a", copies)((1, 1, 1), bound(), bound(), np.zeros(size, np.float32))
    assert caught.value.code == "run.out_of_bounds"


@pytest.mark.parametrize("copies", ORDERS)
def test_a_refused_copy_leaves_none_under_way(copies: str) -> None:
    text = SEVERAL.replace("%B[0,%row]", "%B[1,%row]")
    with pytest.raises(Failed) as caught:
        kernel_of(text, "sm_90a", copies)((1, 1, 1), bound(), bound(), bound(), np.zeros((8, 4, 2), "f4", "F"))
    assert caught.value.code == "run.tensor_copy"


# --- what is made by the engine ------------------------------------------------------------------

GATHERED = """
func @rows(%A: tensor_map<f32,2,tiled>, %O: memref<f32x8x4>) attributes {work_group_size=[32,1], subgroup_size=32} {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %a = alloca {alignment=1024} : memref<i8x512,local>
    tensor_copy_load.gather4 %A[8,3,0,40,7], %a
    barrier.local
    tensor_copy_store.scatter4 %a, %A[0,9,11,50,10]
}
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("swizzle", ["none", "128B_atom_32B"])
def test_rows_by_number(architecture: str, swizzle: str) -> None:
    """Four rows are gathered and scattered by the engine of Blackwell, and computed elsewhere."""
    given = bound(box=(8, 1), architecture="sm_100a", swizzle=swizzle)
    kernel_of(GATHERED, architecture, "late")((1, 1, 1), given, np.zeros((8, 4), "f4", "F"))
    expected = np.arange(512, dtype=np.float32).reshape(32, 16)
    expected[9, :8], expected[11, :8], expected[10, :8] = expected[3, 8:], expected[0, 8:], expected[7, 8:]
    assert np.array_equal(given.array, expected)


def test_the_architecture_decides_who_copies() -> None:
    function = function_of(GATHERED)
    for architecture, engine, made in [
        ("sm_80", True, False), ("sm_90a", True, False), ("sm_100a", True, True), ("sm_100a", False, False),
        ("sm_100", True, False), ("sm_120a", True, False),
    ]:  # fmt: skip
        kernel = compile_kernel(function, architecture_named(architecture), variant=CudaVariant(engine=engine))
        assert ("tile::gather4" in kernel.ptx and "tile::scatter4" in kernel.ptx) is made, architecture
        assert [one.encoded for one in kernel.maps] == [made]
    several = function_of(SEVERAL)
    for architecture in ("sm_90", "sm_90a", "sm_100", "sm_120"):
        kernel = compile_kernel(several, architecture_named(architecture))
        assert [one.encoded for one in kernel.maps] == [True] * 3
        assert kernel.ptx.count("cp.async.bulk.tensor.2d") == 3, architecture
    assert "cp.async" not in compile_kernel(several, architecture_named("sm_80")).ptx


def test_many_maps_need_a_newer_version() -> None:
    """Nine maps are more parameters than a kernel has before PTX 8.1."""
    count = 9
    maps = ", ".join(f"%m{k}: tensor_map<f32,2,tiled>" for k in range(count))
    places = "".join(f"    %b{k} = alloca : memref<f32x8x4,local>\n" for k in range(count))
    loads = "".join(f"    tensor_copy_load %m{k}[0,{k}], %b{k}\n" for k in range(count))
    stores = "".join(f"    tensor_copy_store %b{k}, %m{k}[8,{k}]\n" for k in range(count))
    attributes = "attributes {work_group_size=[32,1], subgroup_size=32}"
    text = f"func @many({maps}) {attributes} {{\n{places}{loads}    barrier.local\n{stores}}}"
    kernel, given = kernel_of(text, "sm_90a"), [bound() for _ in range(count)]
    kernel((1, 1, 1), *given)
    for k, one in enumerate(given):
        meant = np.arange(512, dtype=np.float32).reshape(32, 16)
        meant[k : k + 4, 8:] = meant[k : k + 4, :8]
        assert np.array_equal(one.array, meant)
    assert ".version 8.1" in compile_kernel(kernel.function, architecture_named("sm_80")).ptx


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas, of the CUDA toolkit, is not on the path")
@pytest.mark.long
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_kernels_are_assembled(architecture: str, tmp_path: Path) -> None:
    """Every kernel of the corpus with tensor copies, without spills."""
    with every_case() as case:
        for path in (*corpus.files("run.tl"), *corpus.files("ok.tl")):
            for function in corpus.read(path).module.functions:
                if not any(isinstance(op, TensorCopy) for op in function.walk()):
                    continue
                with case(f"{path.parent.name} {function.name}"):
                    kernel = compile_kernel(function, architecture_named(architecture))
                    (tmp_path / "kernel.ptx").write_text(kernel.ptx)
                    command = ["ptxas", f"-arch={architecture}", "-v", "-o", "kernel.cubin", "kernel.ptx"]
                    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
                    assert done.returncode == 0, done.stderr
                    assert " 0 bytes spill stores" in done.stderr


def test_the_interpreter_says_the_same_of_these_programs() -> None:
    maps, out = (bound(), bound(), bound()), np.zeros((8, 4, 2), "f4", "F")
    girih.loads(SEVERAL, "interpreter")["several"](*maps, out)
    again, found = (bound(), bound(), bound()), np.zeros((8, 4, 2), "f4", "F")
    kernel_of(SEVERAL, "sm_90a")((1, 1, 1), *again, found)
    assert np.array_equal(out, found) and np.array_equal(maps[2].array, again[2].array)
    a, c = bound(), bound()
    girih.loads(SPMD, "interpreter")["spmd"](a, c, np.arange(64, dtype=np.float32))
    b, d = bound(), bound()
    kernel_of(SPMD, "sm_90a")((1, 1, 1), b, d, np.arange(64, dtype=np.float32))
    assert np.array_equal(c.array, d.array)
