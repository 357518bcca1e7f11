"""Launches on a device of OpenCL, of modules that are written by hand."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from girih.arguments.arrays import accept, specifications
from girih.back.llvm.lower.sites import Site
from girih.back.spirv.machine.emitted import EmittedBinding, EmittedKernel, EmittedMember
from girih.diagnostics import LaunchError
from girih.program import parse
from girih.runtime.opencl.api import OpenClError
from girih.runtime.opencl.launch import OpenClKernel
from girih.runtime.opencl.memory import place
from girih.runtime.opencl.program import OpenClProgram
from girih.runtime.opencl.report import refuse
from girih.runtime.opencl.session import OpenClSession
from girih.source import NOWHERE
from girih.spirv.module import Module

# c = alpha * (the shifted a) + b for 16 work-items a group; 1 in the first word of the record where alpha is negative.
TEXT = """
; Version: 1.2
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main "scaled" %ids
OpExecutionMode %main LocalSize 16 1 1
OpExecutionMode %main ContractionOff
OpDecorate %ids BuiltIn GlobalInvocationId
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f32 = OpTypeFloat 32
%bool = OpTypeBool
%v3 = OpTypeVector %u64 3
%p_ids = OpTypePointer Input %v3
%gf = OpTypePointer CrossWorkgroup %f32
%gu = OpTypePointer CrossWorkgroup %u32
%gl = OpTypePointer CrossWorkgroup %u64
%ids = OpVariable %p_ids Input
%zero = OpConstant %f32 0
%two = OpConstant %u32 2
%n1 = OpConstant %u64 1
%n2 = OpConstant %u64 2
%fn = OpTypeFunction %void %gf %gl %gu %f32 %u64
%main = OpFunction %void None %fn
%a = OpFunctionParameter %gf
%g = OpFunctionParameter %gl
%findings = OpFunctionParameter %gu
%alpha = OpFunctionParameter %f32
%stride = OpFunctionParameter %u64
%entry = OpLabel
%id3 = OpLoad %v3 %ids
%i = OpCompositeExtract %u64 %id3 0
%at = OpIMul %u64 %i %stride
%pa = OpInBoundsPtrAccessChain %gf %a %at
%x = OpLoad %f32 %pa Aligned 4
%pg = OpInBoundsPtrAccessChain %gl %g %n2
%address = OpLoad %u64 %pg Aligned 8
%b = OpConvertUToPtr %gf %address
%pb = OpInBoundsPtrAccessChain %gf %b %i
%y = OpLoad %f32 %pb Aligned 4
%product = OpFMul %f32 %alpha %x
%z = OpFAdd %f32 %product %y
OpStore %pa %z Aligned 4
%bad = OpFOrdLessThan %bool %alpha %zero
OpSelectionMerge %end None
OpBranchConditional %bad %found %end
%found = OpLabel
OpStore %findings %two Aligned 4
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
"""

KERNEL = """
func @scaled(%alpha: f32, %a: memref<f32x?,strided<?>>, %g: group<memref<f32x?>x2>) {
    %0 = constant 0.0 : f32
    %1 = constant 0 : index
    store %0, %a[%1]
}
"""


@pytest.fixture(scope="module")
def emitted() -> EmittedKernel:
    module = parse(KERNEL)
    function = module.functions[0]
    return EmittedKernel(
        function,
        Module.from_text(TEXT),
        "scaled",
        local_size=16,
        subgroup_size=16,
        shared_bytes=0,
        wide=False,
        bindings=(EmittedBinding(0, "memref", 1), EmittedBinding(1, "group", 2), EmittedBinding(2, "findings")),
        members=(EmittedMember("alpha", "float", 0, 0, "value"), EmittedMember("stride", "i64", 8, 1, "stride")),
        member_bytes=16,
        members_in_buffer=False,
        sites=(Site("run.bounds", "what is wrong", (1, 5)),),
    )


def test_a_kernel_runs_on_strided_arrays_groups_and_scalars(session: OpenClSession, emitted: EmittedKernel) -> None:
    whole = np.arange(96, dtype=np.float32)
    a = whole[1::3]
    first, second = np.full(32, 7, np.float32), np.arange(32, dtype=np.float32) * 100
    expected = 2 * a + second
    kept = whole.copy()
    kernel = OpenClKernel(session, emitted)
    accepted = accept(specifications(emitted.function), [2.0, a, [first, second]])
    assert kernel.launch((0, 1, 1), accepted) is None
    assert (whole == kept).all()
    assert kernel.launch((2, 1, 1), accepted) is None
    assert (a == expected).all()
    kept[1::3] = expected
    assert (whole == kept).all() and (first == 7).all()


def test_arrays_stay_as_they_were_after_a_finding(session: OpenClSession, emitted: EmittedKernel) -> None:
    a, b = np.arange(32, dtype=np.float32), np.ones(32, np.float32)
    accepted = accept(specifications(emitted.function), [-1.0, a, [b, b.copy()]])
    found = OpenClKernel(session, emitted).launch((2, 1, 1), accepted)
    assert found is not None
    assert (found.code, found.message, found.work_group) == ("run.bounds", "what is wrong", (0, 0, 0))
    assert (a == np.arange(32)).all()


def test_nothing_is_left_behind_by_launches(session: OpenClSession, emitted: EmittedKernel) -> None:
    a, b = np.zeros(16, np.float32), np.ones(32, np.float32)
    kernel = OpenClKernel(session, emitted)
    for number in range(50):
        accepted = accept(specifications(emitted.function), [1.0, a, [b, b.copy()]])
        assert kernel.launch((1, 1, 1), accepted) is None
        assert (a == number + 1).all()
    types = [one.type for one in emitted.function.parameters]
    placed = place(session, types, accepted)
    assert struct.unpack("<4q", placed.tables[0].get_bytes(32))[1::2] == (32, 32)
    memories = [*(one.memory for one in placed.arrays), *placed.tables]
    assert len(memories) == 4
    placed.free()
    assert not any(one.address for one in memories)


def test_what_the_driver_does_not_take_is_told(session: OpenClSession, emitted: EmittedKernel) -> None:
    with pytest.raises(OpenClError, match="find the kernel other: the module has no kernel of this name"):
        OpenClProgram(session, emitted.module.to_bytes(), "other")
    with pytest.raises(OpenClError) as refused:
        OpenClProgram(session, b"no module at all", "scaled")
    with pytest.raises(LaunchError, match="OpenCL failed to read the module") as told:
        refuse(refused.value, "bind.opencl_module", NOWHERE)
    assert told.value.diagnostics[0].code == "bind.opencl_module"
    odd = replace(emitted, local_size=24)
    accepted = accept(specifications(odd.function), [1.0, np.zeros(32, np.float32), [np.zeros(32, np.float32)] * 2])
    with pytest.raises(OpenClError, match="work-group of another size"):
        OpenClKernel(session, odd).launch((1, 1, 1), accepted)
    with pytest.raises(OpenClError, match="not enough memory") as full:
        session.allocate(2**50)
    with pytest.raises(LaunchError) as told:
        refuse(full.value, "bind.opencl_launch", NOWHERE)
    assert told.value.diagnostics[0].code == "bind.memory"
