"""Kernels of the tensor language on a driver: arguments, findings, run vectors."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.ir.limits import DEFAULT_LIMITS
from girih.runtime.vulkan.compiled import chosen_profile, compiled
from girih.runtime.vulkan.driver.constants import DEVICE_TYPES
from girih.runtime.vulkan.executor import VulkanExecutor, VulkanKernel
from girih.runtime.vulkan.launch import ONCE
from girih.runtime.vulkan.opened import current_device
from tests.cases import every_case, long
from tests.ops import corpus, vectors

pytestmark = pytest.mark.vulkan

TEXT = """func @add(%a: f32, %A: memref<f32x?,strided<?>>, %B: memref<f32x?,strided<?>>) {
  %zero = constant 0 : index
  %n = size %A[0] : index
  foreach (%i) = (%zero), (%n) {
    %x = load %A[%i] : f32
    %y = add %a, %x : f32
    store %y, %B[%i]
  }
}
func @sums(%G: group<memref<f32x?>x?>, %S: memref<f32x?>) {
  %zero = constant 0 : index
  %n = size %S[0] : index
  foreach (%i) = (%zero), (%n) {
    %M = load %G[%i] : memref<f32x?>
    %x = load %M[%i] : f32
    store %x, %S[%i]
    store %x, %M[0]
  }
}
func @first(%A: memref<i32x?>, %n: index) {
  %x = load %A[%n] : i32
  %one = constant 1 : i32
  %y = add %x, %one : i32
  store %y, %A[0]
}
"""


@cache
def program(checks: str = "bounds") -> girih.Program:
    return girih.loads(TEXT, "vulkan", checks=checks)


def floats(count: int) -> Any:
    return np.arange(count, dtype=np.float32)


def test_arrays_bind_as_on_other_targets() -> None:
    """Whole ones, strided ones with what lies between their elements, the same one twice, none at all."""
    add = program()["add"]
    a, b = floats(100), floats(100)
    add[1](0.5, a, b)
    assert (b == a + 0.5).all() and (a == floats(100)).all()
    wide, out = floats(64), floats(64)
    add[1](1.0, wide[:63:3], out[1::3])
    expected = floats(64)
    expected[1::3] = wide[:63:3] + 1
    np.testing.assert_array_equal(out, expected)
    shared = floats(32)
    add[1](2.0, shared, shared)
    assert (shared == floats(32) + 2).all()
    parts = floats(64)
    add[1](3.0, parts[:48], parts[16:])
    assert parts.shape == (64,) and (parts[:16] == floats(16)).all(), "the parts overlap in one buffer of the device"
    empty = floats(0)
    add[1](1.0, empty, empty)
    add[0](1.0, a, b)
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype"):
        add[1](1.0, a.astype(np.float64), b)
    with pytest.raises(
        girih.LaunchError, match=r"%B begins 4 bytes into memory that another argument shares"
    ) as caught:
        add[1](1.0, parts[:20], parts[1:21])
    assert caught.value.diagnostics[0].code == "bind.vulkan_overlap"
    read_only = floats(20)
    read_only.flags.writeable = False
    add[1](1.0, read_only[1:11], b[:10])
    assert (b[:10] == floats(11)[1:] + 1).all()


def test_groups_are_addresses() -> None:
    sums = program()["sums"]
    members, out = [floats(4) + 10 * k for k in range(3)], np.zeros(3, np.float32)
    sums[1](members, out)
    assert out.tolist() == [0, 11, 22]
    assert [member[0] for member in members] == [0, 11, 22]


def test_a_finding_leaves_the_arrays_as_they_were() -> None:
    first = program()["first"]
    array = np.arange(4, dtype=np.int32)
    with pytest.raises(girih.KernelError) as caught:
        first[3](array, 4)
    (found,) = caught.value.findings
    assert (found.code, found.index, found.shape, found.span.line) == ("run.out_of_bounds", (4,), (4,), 21)
    assert found.work_group in {(0, 0, 0), (1, 0, 0), (2, 0, 0)}
    assert array.tolist() == [0, 1, 2, 3]
    first(array, 3)
    assert array.tolist() == [4, 1, 2, 3]
    unchecked = program("off")["first"]
    unchecked(array, 2)
    assert array.tolist() == [3, 1, 2, 3]


def test_a_launch_beyond_narrow_indices_takes_the_wide_module() -> None:
    function = program()["first"].ir
    asked: list[bool] = []

    def compile(wide: bool, even: bool) -> EmittedKernel:
        asked.append(wide)
        return compiled(function, chosen_profile(""), DEFAULT_LIMITS, checks=True, wide=wide, even=even)

    kernel = VulkanKernel(function, compile, robust=True, variants=False)
    array = np.arange(4, dtype=np.int32)
    kernel.launch((1, 1, 1), (array, 1), ONCE)
    with pytest.raises(girih.KernelError) as caught:
        kernel.launch((1, 1, 1), (array, 2**40), ONCE)
    assert asked == [False, True] and caught.value.findings[0].index == (2**40,)
    assert array.tolist() == [2, 1, 2, 3]


PRODUCT = """
func @product(%A: memref<f16x?x?>, %B: memref<f16x?x?>, %C: memref<f32x?x?>) {
    %one = constant 1.0 : f32
    %nothing = constant 0.0 : f32
    gemm %one, %A, %B, %nothing, %C
}
"""


def test_even_sizes_and_strides_take_a_module_of_their_own() -> None:
    function = girih.parse(PRODUCT).functions[0]
    asked: list[bool] = []

    def compile(wide: bool, even: bool) -> EmittedKernel:
        asked.append(even)
        return compiled(function, chosen_profile(""), DEFAULT_LIMITS, checks=True, wide=wide, even=even)

    kernel = VulkanKernel(function, compile, robust=True, variants=True)
    for size, even in ((16, True), (12, False)):
        a, b = (np.asfortranarray(np.random.default_rng(size).random((size, size)), np.float16) for _ in range(2))
        c = np.zeros((size, size), np.float32, order="F")
        kernel.launch((1, 1, 1), (a, b, c), ONCE)
        assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5)
        assert even in asked


def test_a_kernel_survives_a_pickle_and_has_the_options_of_launches() -> None:
    add = pickle.loads(pickle.dumps(program()["add"]))
    a, b = floats(8), floats(8)
    add.options(timeout=30)[1](1.0, a, b)
    assert (b == a + 1).all()
    again = add.options(repeat=3)
    again[1](1.0, b, b)
    assert (b == a + 4).all()
    assert isinstance(again.executor, VulkanExecutor)
    assert len(again.executor.times) in (0, 3) and all(0 < one < 60 for one in again.executor.times)
    for wrong, words in ((0, "repeat is at least 1; got 0"), (True, "repeat is an integer; got True")):
        with pytest.raises((TypeError, ValueError), match=words):
            add.options(repeat=wrong)
    assert isinstance(add.executor, VulkanExecutor)
    assert add.executor.subgroup_size == current_device("").physical.value(
        "VkPhysicalDeviceVulkan11Properties", "subgroupSize"
    )


def test_a_module_of_another_profile_runs_where_the_device_has_what_it_needs() -> None:
    device = current_device("").physical
    kernel = girih.loads(TEXT, "vulkan:nvidia-hopper")["first"]
    array = np.arange(4, dtype=np.int32)
    if device.value("VkPhysicalDeviceVulkan11Properties", "subgroupSize") == 32:
        kernel(array, 3)
        assert array[0] == 4
        return
    with pytest.raises(girih.LaunchError, match="is compiled for subgroups of 32 work-items, and") as caught:
        kernel(array, 3)
    told = caught.value.diagnostics[-1]
    assert told.code == "bind.vulkan_limit" and told.hint is not None and "target='vulkan'" in told.hint


# --- run vectors ------------------------------------------------------------------------------------

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget"))
"""What compiled code does not find; see docs/targets.md."""
MEETINGS = frozenset(("run.divergent",))
"""What threads of a device cannot find of each other: who misses a barrier."""


SUBNORMAL = frozenset((("fma", "f32"), ("sqrt", "f32")))
"""Functions whose vectors have subnormal numbers."""
STORED_TWICE = frozenset(("cooperative_matrix_store_tensor", name) for name in ("aliasing", "span", "blocks"))
"""Functions that store several components to one element, which compiled code does not find."""


@cache
def differing() -> frozenset[tuple[str, str]]:
    """Functions whose vectors this device does not meet, by the file's folder and the name."""
    device = current_device("").physical
    keeps = device.value("VkPhysicalDeviceVulkan12Properties", "shaderDenormPreserveFloat32", 0)
    cpu = device.kind == DEVICE_TYPES[4]
    return STORED_TWICE if keeps or cpu else STORED_TWICE | SUBNORMAL


@pytest.mark.parametrize("path", long(corpus.files("run.tl")))
def test_run_vectors(path: Path) -> None:
    """Every function that the device can execute; a refusal has a reason."""
    executors: dict[str, VulkanExecutor | None] = {}
    with every_case() as case:
        for line, text in corpus.read(path).vectors:
            launch = vectors.parse_vector(text)
            if launch.function not in executors:
                executors[launch.function] = _executor(path, launch.function)
            executor = executors[launch.function]
            if executor is None or launch.expected.findings & MEETINGS:
                continue
            if (path.parent.name, launch.function) not in differing():
                with case(f"line {line}"):
                    _run(path, executor, launch)


def _executor(path: Path, name: str) -> VulkanExecutor | None:
    function = corpus.read(path).module.function(name)
    assert function is not None
    try:
        return VulkanExecutor(function, "", "bounds", DEFAULT_LIMITS)
    except girih.CompileError as refused:
        assert {told.code for told in refused.diagnostics} == {"run.target"}
        return None


def _run(path: Path, executor: VulkanExecutor, launch: vectors.Launch) -> None:
    function = corpus.read(path).module.function(launch.function)
    assert function is not None
    marked = vectors.bind(function, launch.arguments)
    arguments = [value if hasattr(value, "offset") else vectors.unmark(value) for value in marked]
    x, y, z = (*launch.grid, 1, 1)[:3]
    wrong = launch.expected.findings - UNCHECKED
    if wrong:
        with pytest.raises(girih.KernelError) as caught:
            executor.call((x, y, z), *arguments)
        assert {found.code for found in caught.value.findings} == wrong
        return
    executor.call((x, y, z), *arguments)
    vectors.assert_results(function, marked, launch)
