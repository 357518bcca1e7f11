"""What explains the numbers of a driver, and whether the result of a launch is determined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.api import Kernel, ShaderKernel, shader_program
from girih.front.spirv.judged import ShaderModule
from girih.runtime.targets import resolve
from girih.spirv.frame import completed
from girih.spirv.module import Module
from tests.cases import every_case
from tests.front.spirv.test_latitude import ITEMS, NUMBERS, numbers

Array = NDArray[Any]
X, Y = numbers(1, 1, 2), numbers(2, 1, 2)
BFLOAT16 = ('OpExtension "SPV_KHR_bfloat16"\nOpCapability BFloat16TypeKHR\nOpCapability Int16\n'
            "%bf = OpTypeFloat 16 BFloat16KHR")  # fmt: skip
TO_BFLOAT16 = "%b = OpFConvert %bf %x\n%s = OpBitcast %ushort %b\n%w = OpUConvert %uint %s"
AS_BITS = "\n%w = OpBitcast %uint %r"


def shader(lines: str, *head: str, target: str = "interpreter") -> Kernel:
    module = Module.from_text(completed("\n".join([NUMBERS, *head, lines, "OpStore %q %w"])))
    kernel = shader_program(ShaderModule(module), resolve(target))["main"]
    assert isinstance(kernel, ShaderKernel)
    return kernel


def explored(kernel: Kernel, theirs: Array) -> tuple[str, girih.Exploration]:
    """The verdict on what a driver wrote for X and Y."""
    given, written = np.stack([X, Y], axis=1).copy(), np.full(ITEMS, 7, np.uint32)
    launch = kernel.bind({(0, 0): given, (0, 1): written})
    found = girih.explore(launch, {(0, 1): theirs}, seeds=3)
    assert (written == 7).all() and (given[:, 0] == X).all()
    return found.buffers[0, 1].verdict, found


def test_a_driver_is_explained_by_what_is_open() -> None:
    quotient = shader("%r = OpFDiv %float %x %y" + AS_BITS)
    product_and_sum = shader("%m = OpFMul %float %x %x\n%r = OpFAdd %float %m %y" + AS_BITS)
    packed = shader(
        "%v = OpCompositeConstruct %v2float %x %y\n%i = OpExtInst %uint %glsl PackHalf2x16 %v\n"
        "%u = OpExtInst %v2float %glsl UnpackHalf2x16 %i\n%r = OpCompositeExtract %float %u 0" + AS_BITS
    )
    wide = X.astype(np.float64)
    together = (wide * wide + Y).astype(np.float32)
    off = np.nextafter(X / Y, np.float32(9))
    twice = np.where(np.arange(ITEMS) % 2, off, together)
    both = shader(
        "%m = OpFMul %float %x %x\n%a = OpFAdd %float %m %y\n%d = OpFDiv %float %x %y\n"
        "%k = OpBitwiseAnd %uint %number %uint_1\n%c = OpIEqual %bool %k %uint_1\n"
        "%r = OpSelect %float %c %d %a" + AS_BITS
    )
    with every_case() as case:
        for name, kernel, theirs, verdict in (
            ("equal", quotient, X / Y, "depends on ulps"),
            ("truncated", shader(TO_BFLOAT16, BFLOAT16), X.view(np.uint32) >> 16,
             'covered by rounding (rounding of sums, products and conversions to either neighbour): '
             'rounding="toward_zero" gives the same'),
            ("fused", product_and_sum, together, "covered by contraction (operations computed together, or GLSL's fma "
                                                 'apart): contraction="fused" gives the same'),
            ("ulps", quotient, off, "covered by ulps (errors of division and functions): what differs lies between "
                                    "what is allowed"),
            ("far", quotient, X / Y + np.float32(0.01),
             "covered by nothing: 16 of the 16 differing elements: a bug of the driver, or a race"),
            ("left out", packed, X,
             "covered by nothing: 16 of the 16 differing elements: a bug of the driver, or a race"),
        ):  # fmt: skip
            with case(name):
                assert explored(kernel, theirs)[0] == verdict
        with case("several"):
            _, found = explored(both, twice)
            assert set(found.buffers[0, 1].covered_by) == {"contraction", "ulps"}
        with case("compiled"):
            compiled = shader("%m = OpFMul %float %x %x\n%r = OpFAdd %float %m %y" + AS_BITS, target="cpu")
            assert 'contraction="fused" gives the same' in explored(compiled, together)[0]


ATOMIC = """
func @last(%A: memref<index>) {
    %group = group_id.x : index
    atomic_store.device %group, %A[]
}
func @first(%A: memref<index>) {
    %group = constant 0 : index
    atomic_store.device %group, %A[]
}
"""


def test_a_result_is_determined_or_depends_on_an_order() -> None:
    program = girih.loads(ATOMIC, target="interpreter")
    A = np.full((), 5, np.int64)
    last, first = (girih.explore(program[name][100].bind(A)) for name in ("last", "first"))
    assert int(A) == 5
    assert (last.determined, str(last)) == (False, "A: depends on order")
    assert (first.determined, str(first)) == (True, "A: determined")
    with pytest.raises(KeyError, match="B is no array of the launch; there are A"):
        girih.explore(program["last"][1].bind(A), {"B": A})
    with pytest.raises(ValueError, match="to A has another size; expected: 8 bytes; found: 4"):
        girih.explore(program["last"][1].bind(A), {"A": np.zeros((), np.int32)})
