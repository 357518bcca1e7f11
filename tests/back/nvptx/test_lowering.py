"""What kernels become in PTX, feature by feature: names, sizes, memory, atomic accesses, barriers, variants, lines."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import girih
from girih.back.llvm.nvptx.compile import lower
from girih.back.llvm.nvptx.machine.architecture import ARCHITECTURES, architecture_named, architecture_of
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.diagnostics import CompileError
from girih.ir.core import Function
from tests.back.nvptx.features import FEATURES, count, feature, features, instructions, kernel_of, ptx_of
from tests.cases import every_case


def one(text: str) -> Function:
    """The only function of a text."""
    (function,) = girih.parse(text).functions
    return function


def refusal(text: str, architecture: str = "sm_90a") -> str:
    """Why a kernel is refused."""
    with pytest.raises(CompileError) as raised:
        kernel_of(one(text), architecture=architecture)
    (told,) = raised.value.diagnostics
    assert told.code == "run.target"
    return told.message


# --- names and sizes -----------------------------------------------------------------------


NAMES = (
    ("softmax", "softmax"), ("a_1", "a_1"), ("add", "add"), ("WARP_SZ_", "WARP_SZ_"), ("2d", "kernel2d"),
    ("_x", "kernel_x"), ("PARAMETER_BYTES", "PARAMETER_BYTES"), ("WARP_SZ", "kernelWARP_SZ"),
    ("girih_local", "kernelgirih_local"),
)  # fmt: skip


def test_a_kernel_has_its_name() -> None:
    with every_case() as case:
        for name, entry in NAMES:
            with case(name):
                kernel = kernel_of(replace(one("func @f() {\n}\n"), name=name))
                assert (kernel.name, kernel.entry) == (name, entry)
                assert f".visible .entry {entry}(" in kernel.ptx


@pytest.mark.parametrize("size", [8, 16, 32])
def test_subgroups_are_warps_or_parts_of_them(size: int) -> None:
    kernel = kernel_of(one(f"func @f() attributes {{subgroup_size={size}, work_group_size=[64,2]}} {{\n}}\n"))
    assert (kernel.subgroup_size, kernel.threads) == (size, 128)
    assert ".reqntid 128" in kernel.ptx
    assert not kernel.remarks


def test_larger_subgroups_are_refused() -> None:
    told = refusal("func @f() attributes {subgroup_size=64, work_group_size=[64,1]} {\n}\n")
    assert told == "subgroups of 64 work-items suit @f; those of this target have 32 at most"


def test_open_sizes_are_told() -> None:
    kernel = kernel_of(one("func @f() {\n}\n"))
    assert (kernel.subgroup_size, kernel.threads) == (32, 128)
    assert [remark.code for remark in kernel.remarks] == ["cuda.sizes"]


def test_a_device_has_the_best_architecture_that_it_runs() -> None:
    found = {
        capability: architecture_of(capability) for capability in ((7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 1))
    }
    named = {capability: None if one is None else one.name for capability, one in found.items()}
    assert named == {
        (7, 5): None, (8, 0): "sm_80", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100a", (12, 1): "sm_120",
    }  # fmt: skip


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_is_in_the_header(name: str) -> None:
    architecture, ptx = architecture_named(name), ptx_of("warps", architecture=name)
    assert f".target {name}\n" in ptx
    assert f".version {architecture.ptx // 10}.{architecture.ptx % 10}\n" in ptx


# --- memory --------------------------------------------------------------------------------

LOCAL = """
func @f(%A: memref<f32x?>) attributes {{subgroup_size=32, work_group_size=[32,1]}} {{
    %s = alloca : memref<f32x{count},local>
    %0 = constant 0 : index
    %n = constant {count} : index
    foreach (%i) = (%0), (%n) {{
        %a = load %A[%i] : f32
        store %a, %s[%i]
    }}
    foreach (%i) = (%0), (%n) {{
        %a = load %s[%i] : f32
        store %a, %A[%i]
    }}
}}
"""


@pytest.mark.parametrize(("name", "most"), [("sm_80", 163), ("sm_89", 99), ("sm_90a", 227), ("sm_120", 99)])
def test_local_memory_is_what_an_architecture_has(name: str, most: int) -> None:
    count = most * 1024 // 4
    kernel = kernel_of(one(LOCAL.format(count=count)), architecture=name)
    assert kernel.shared_bytes == 4 * count
    assert ".extern .shared .align 1024 .b8 girih_local[];" in kernel.ptx
    told = refusal(LOCAL.format(count=count + 1), name)
    assert told == f"@f needs {4 * count + 4} bytes of memory for a work-group; {name} has {4 * count}"


def test_a_kernel_without_local_memory_asks_for_none() -> None:
    kernel = kernel_of(feature("rounded"))
    assert kernel.shared_bytes == 0
    assert ".shared" not in kernel.ptx


def test_parameters_are_slots_and_addresses() -> None:
    """Three numbers of the grid, the record, then a memref of one known size and a number."""
    kernel = kernel_of(feature("rounded"))
    assert (kernel.parameter_bytes, kernel.pointers) == (8 * 6, (4,))
    assert ".param .align 8 .b8 rounded_param_0[48]" in kernel.ptx
    assert ".param .u64 .ptr .align 4 rounded_param_1" in kernel.ptx


def test_what_is_read_only_goes_through_the_other_cache() -> None:
    with_both = ptx_of("wide")
    assert count(with_both, r"ld\.global\.nc\.v4\.b32") > 0
    may_share = ptx_of("wide", variant=CudaVariant(disjoint=False))
    assert count(may_share, r"ld\.global\.nc") == 0
    assert count(may_share, r"ld\.global\.v4\.b32") > 0


# --- accesses ------------------------------------------------------------------------------


def test_neighbouring_points_make_wide_accesses() -> None:
    text = """
func @f(%A: memref<{type}x?{layout}>, %B: memref<{type}x?>) attributes {{subgroup_size=32, work_group_size=[32,1]}} {{
    %0 = constant 0 : index
    %n = size %A[0] : index
    foreach (%i) = (%0), (%n) {{
        %a = load %A[%i] : {type}
        store %a, %B[%i]
    }}
}}
"""
    wide = {"i8": r"st\.global\.v4\.b32", "f16": r"st\.global\.v4\.b32", "f32": r"st\.global\.v4\.b32",
            "f64": r"st\.global\.v2\.b64", "c32": r"st\.global\.v[24]\.b(64|32)"}  # fmt: skip
    with every_case() as case:
        for type, pattern in wide.items():
            with case(type):
                ptx = kernel_of(one(text.format(type=type, layout=""))).ptx
                assert count(ptx, pattern) > 0
                apart = kernel_of(one(text.format(type=type, layout=",strided<2>"))).ptx
                assert count(apart, r"ld\.global\.(nc\.)?v[24]\.b32") == 0


def test_scopes_of_atomic_accesses() -> None:
    ptx = ptx_of("scopes")
    assert count(ptx, r"atom\.relaxed\.sys\.add\.u32") == 1
    assert count(ptx, r"atom\.global\.add\.u32") == 2, "LLVM writes no scope, which is .gpu (PTX ISA 'atom')"


def test_atomic_sums_and_exchanges() -> None:
    ptx = ptx_of("floats")
    assert count(ptx, r"atom\.global\.add\.f32") == 1
    assert count(ptx, r"atom\.(relaxed\.)?(gpu\.)?global\.(relaxed\.)?cas\.b32") == 1


def test_releases_and_acquires_are_kept() -> None:
    ptx = ptx_of("handed_over")
    memory = [
        i.split(" ")[0].rstrip(";")
        for i in instructions(ptx)
        if re.match(r"(ld|st)\.(relaxed|acquire|release)|fence", i)
    ]
    assert memory == [
        "fence.acq_rel.gpu", "st.relaxed.gpu.global.b32", "ld.relaxed.gpu.global.b32", "fence.acq_rel.gpu",
        "st.relaxed.gpu.global.b32",
    ]  # fmt: skip


ONE_ORDER = """
func @f(%A: memref<i32x2>, %x: i32) attributes {subgroup_size=32, work_group_size=[32,1]} {
    %0 = constant 0 : index
    %1 = constant 1 : index
    parallel {
        atomic_store.device.sequentially_consistent %x, %A[%0]
        %a = atomic_load.device.sequentially_consistent %A[%1] : i32
        atomic_store %a, %A[%0]
    }
}
"""


def test_a_load_in_the_one_order_does_not_pass_a_store() -> None:
    """Of two threads that each store a flag and load the other one's, one sees the flag: a fence is in between."""
    memory = [i.split(" ")[0].rstrip(";") for i in instructions(kernel_of(one(ONE_ORDER)).ptx)]
    memory = [i for i in memory if re.match(r"(ld|st)\.relaxed|fence", i)]
    assert memory == [
        "fence.sc.gpu", "st.relaxed.gpu.global.b32", "fence.sc.gpu", "ld.relaxed.gpu.global.b32", "fence.sc.gpu",
        "st.relaxed.cta.global.b32",
    ]  # fmt: skip


# --- together ------------------------------------------------------------------------------


def test_barriers_without_anything_between_them_are_left_out() -> None:
    assert count(ptx_of("met_once"), r"bar\.sync|barrier") == 1
    assert count(ptx_of("reversed"), r"bar\.sync|barrier") == 1
    last = [i for i in instructions(ptx_of("met_once")) if i.startswith(("bar", "ret"))]
    assert last[-1].startswith("ret") and len(last) == 2


def test_work_items_alone_need_no_barrier() -> None:
    for name in ("rounded", "wide", "warps", "segments"):
        assert count(ptx_of(name), r"bar\.sync|barrier") == 0, name


def test_shuffles_name_their_members() -> None:
    whole = ptx_of("warps")
    assert count(whole, r"redux\.sync\.add\.s32") == 1
    assert all(i.endswith(", -1;") for i in instructions(whole) if i.startswith("shfl"))
    parts = [i for i in instructions(ptx_of("segments")) if i.startswith("shfl")]
    # PTX ISA "shfl.sync": of segments of 8 lanes, the bits of a lane's number that stay are 24.
    assert parts and all(f", {24 << 8 | 31}, %r" in i for i in parts)


# --- checks --------------------------------------------------------------------------------


def test_who_finds_something_ends_and_nobody_traps() -> None:
    ptx = ptx_of("found", checks=True)
    assert len(re.findall(r"call\.uni girih_\$_found\S*, \([^)]*\);\s*} // callseq \d+\s+exit;", ptx)) == 2
    assert count(ptx, r"trap") == 0
    assert count(ptx, r"atom\.relaxed\.sys\.cas\.b32") == 1, "one thread claims the record"
    assert count(ptx_of("found"), r"exit;") == 0


def test_bounds_of_a_loop_are_looked_at_in_front_of_it() -> None:
    """The loop over all points has a version without checks: within it no thread ends."""
    ptx = ptx_of("wide", checks=True)
    wide = [i for i in instructions(ptx) if re.match(r"(ld|st)\.global\S*\.v4", i)]
    assert wide
    assert count(ptx, r"exit;") >= 1


# --- variants and lines --------------------------------------------------------------------


def test_the_wide_variant_computes_places_from_numbers() -> None:
    usual, wide = ptx_of("places"), ptx_of("places", variant=CudaVariant(narrow=False))
    assert count(usual, r"mov\.u32 %r\d+, %ctaid\.[yz]") == 2
    assert count(usual, r"(div|rem)\.") == 0
    assert count(wide, r"(div|rem)\.[us]64") > 0
    assert count(usual, r"ld\.param\.s32") > 0, "sizes and strides fit 32 bits"
    assert count(wide, r"ld\.param\.s32") == 0


def test_line_information_names_the_lines_of_the_text() -> None:
    lines = FEATURES.read_text(encoding="utf-8").splitlines()
    with every_case() as case:
        for function in features().functions:
            with case(function.name):
                ptx = kernel_of(function).ptx
                assert '.file\t1 "features.tl"' in ptx
                first = function.span.line
                end = next(number for number in range(first, len(lines)) if lines[number] == "}") + 1
                found = {int(line) for line in re.findall(r"\.loc\s+1 (\d+)", ptx)} - {0}
                assert found and all(first <= line <= end for line in found)
    stored = next(n for n, line in enumerate(lines, 1) if "store %s, %A[%i]" in line)
    after = ptx_of("rounded").partition(f".loc\t1 {stored} ")[2]
    assert instructions(after)[0].startswith("st.global")


def test_products_and_sums_are_rounded_each() -> None:
    ptx = ptx_of("rounded")
    assert count(ptx, r"mul\.rn\.f32") == count(ptx, r"add\.rn\.f32") == 1
    assert count(ptx, r"fma") == 0
    assert count(ptx_of("complexes"), r"fma") == 0
    assert all(".ftz" not in i for name in ("rounded", "sines", "complexes") for i in instructions(ptx_of(name)))


def test_the_text_of_llvm_is_not_what_a_gpu_lacks() -> None:
    text = lower(feature("remainder"), architecture_named("sm_90a")).text
    assert "frem" not in text
    assert "@girih.remainder.f32" in text
