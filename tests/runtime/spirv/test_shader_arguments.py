"""What the launch of a shader is given becomes the arguments of its function, or is refused with all that is wrong."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.api import ShaderKernel
from girih.arguments.arrays import Uninitialized
from girih.front.spirv.translated import Translated
from girih.ir.build import RegionBuilder, parameter
from girih.ir.core import Dictionary, Entry, RegionKind
from girih.ir.types import I8, I32, I64, INDEX, GroupType, MemRef
from girih.ops.device import DEVICE_LANGUAGE
from girih.runtime.spirv.arguments import ShaderCall
from girih.runtime.spirv.buffer import Buffer
from girih.runtime.spirv.report import SHADER_BIND_CODES
from girih.runtime.targets import resolve
from girih.spirv.model.declared.bindings import interface_of
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.module import Module
from tests.cases import every_case

BYTES = MemRef.packed(I8, (None,))
HEAD = """
OpCapability Shader
OpCapability Int64
{capabilities}
OpExtension "SPV_KHR_storage_buffer_storage_class"
OpMemoryModel {model} GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 4 1 1
OpName %a "a"
OpName %In "In"
OpName %b "b"
OpName %Out "Out"
OpName %table "table"
OpMemberName %In 0 "scale"
OpMemberName %In 1 "place"
OpMemberName %In 2 "turn"
OpMemberName %In 3 "values"
OpMemberName %Pair 0 "key"
OpMemberName %Pair 1 "of"
OpMemberName %P 0 "n"
OpMemberName %P 1 "alpha"
OpMemberName %P 2 "where"
OpDecorate %In Block
OpMemberDecorate %In 0 Offset 0
OpMemberDecorate %In 1 Offset 16
OpMemberDecorate %In 2 Offset 32
OpMemberDecorate %In 2 RowMajor
OpMemberDecorate %In 2 MatrixStride 16
OpMemberDecorate %In 3 Offset 64
OpMemberDecorate %In 0 NonWritable
OpMemberDecorate %In 1 NonWritable
OpMemberDecorate %In 2 NonWritable
OpMemberDecorate %In 3 NonWritable
OpMemberDecorate %Pair 0 Offset 0
OpMemberDecorate %Pair 1 Offset 4
OpDecorate %pairs ArrayStride 12
OpDecorate %twos ArrayStride 4
OpDecorate %floats ArrayStride 4
OpDecorate %Out Block
OpMemberDecorate %Out 0 Offset 0
OpDecorate %P Block
OpMemberDecorate %P 0 Offset 0
OpMemberDecorate %P 1 Offset 4
OpMemberDecorate %P 2 Offset 8
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 0
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 1
OpDecorate %table DescriptorSet 1
OpDecorate %table Binding 0
OpDecorate %idle DescriptorSet 3
OpDecorate %idle Binding 3
%void = OpTypeVoid
%fn = OpTypeFunction %void
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%v3float = OpTypeVector %float 3
%v2float = OpTypeVector %float 2
%mat3v2float = OpTypeMatrix %v2float 3
%two = OpConstant %uint 2
%twos = OpTypeArray %int %two
%Pair = OpTypeStruct %uint %twos
%pairs = OpTypeRuntimeArray %Pair
%floats = OpTypeRuntimeArray %float
%In = OpTypeStruct %float %v3float %mat3v2float %pairs
%Out = OpTypeStruct %floats
%P = OpTypeStruct %int %float %ulong
%several = OpTypeArray %Out %two
%_In = OpTypePointer StorageBuffer %In
%_Out = OpTypePointer StorageBuffer %Out
%_several = OpTypePointer StorageBuffer %several
%_P = OpTypePointer PushConstant %P
%a = OpVariable %_In StorageBuffer
%b = OpVariable %_Out StorageBuffer
%idle = OpVariable %_Out StorageBuffer
%table = OpVariable %_several StorageBuffer
%push = OpVariable %_P PushConstant
%main = OpFunction %void None %fn
%1 = OpLabel
%2 = OpCopyObject %_In %a
%3 = OpCopyObject %_Out %b
%4 = OpCopyObject %_several %table
%5 = OpCopyObject %_P %push
OpReturn
OpFunctionEnd
"""


@cache
def translated(addresses: bool = False) -> Translated:
    """An entry point that copies four numbers from `a` to `b`, each work-item one, as a hand translates it."""
    capabilities = "OpCapability PhysicalStorageBufferAddresses" if addresses else ""
    text = HEAD.format(capabilities=capabilities, model="PhysicalStorageBuffer64" if addresses else "Logical")
    facts = Facts(Module.from_text(text), ENVIRONMENTS["vulkan1.4"])
    push = parameter("push", BYTES)
    group = parameter("buffers", GroupType(BYTES, None))
    parameters = [group, push, parameter("addresses", MemRef.packed(I64, (None,)))]
    if not addresses:
        parameters = [parameter("a", BYTES), parameter("b", BYTES), parameter("table", group.type), push]
    body = RegionBuilder(DEVICE_LANGUAGE)
    items = body.inner(RegionKind.SPMD)
    first, second = parameters[0].value, parameters[1].value
    if addresses:
        first, second = (items.add("load", BYTES, tensor=group.value, indices=(k,))[0] for k in range(2))
    (number,) = items.add("subgroup_local_id", I32)
    (four,) = items.add("constant", I32, value=4)
    (bytes_before,) = items.add("mul", I32, a=number, b=four)
    (offset,) = items.add("cast", INDEX, a=bytes_before)
    (value,) = items.add("byte_load", I32, memory=first, offset=offset, alignment=4)
    items.add("byte_store", values=(value,), memory=second, offset=offset, alignment=4)
    body.add("parallel", body=items.region())
    attributes = Dictionary((Entry("work_group_size", (4, 1)),))
    return Translated(
        body.function("main", parameters, attributes), (4, 1, 1), interface_of(facts, facts.entry_points[0])
    )


def call(*arguments: object, addresses: bool = False, grid: tuple[int, int, int] = (1, 1, 1), **named: object) -> Any:
    return ShaderCall(translated(addresses)).arguments(arguments, named, grid)


def buffers(**other: object) -> dict[object, object]:
    floats = np.zeros(4, np.float32)
    given: dict[object, object] = {"a": np.zeros(76, np.uint8), "b": floats, "table": [floats.copy(), floats.copy()]}
    return given | other


PUSH = bytes(16)


def test_arrays_are_their_bytes_in_place() -> None:
    matrix = np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3, 1).T
    a, b = np.zeros(88, np.uint8), np.zeros((2, 3), np.float64)
    first, second, table, push = call({(0, 0): a, (0, 1): b, (1, 0): [matrix[0], bytearray(4)], (3, 3): b}, PUSH)
    assert [one.dtype for one in (first, second, push, *table)] == [np.dtype(np.int8)] * 5
    assert (first.size, second.size, push.size, [one.size for one in table]) == (88, 48, 16, [12, 4])
    assert np.shares_memory(second, b) and np.shares_memory(table[0], matrix)
    assert table[0].tobytes() == np.arange(6, dtype=ml_dtypes.bfloat16).tobytes()
    marked = call(buffers(b=girih.uninitialized(b), table=girih.uninitialized([b, b])), push_constants=PUSH)
    assert isinstance(marked[1], Uninitialized) and all(isinstance(one, Uninitialized) for one in marked[2])


def test_members_are_laid_out_by_their_decorations() -> None:
    values = {
        "scale": 0.5, "place": [1, 2, 3], "turn": [[1, 2, 3], [4, 5, 6]],
        "values": [{"key": 7, "of": (8, -9)}, {"key": 10, "of": np.array([11, 12])}],
    }  # fmt: skip
    table = Buffer(np.zeros(4, np.float32))
    first, _, _, push = call(buffers(a=values), push_constants={"n": -5, "alpha": 0.5, "where": table})
    numbers = first.view(np.float32)
    assert first.size == 64 + 2 * 12
    assert numbers[[0, 4, 5, 6, 8, 9, 10, 12, 13, 14]].tolist() == [0.5, 1, 2, 3, 1, 2, 3, 4, 5, 6]
    assert first.view(np.int32)[16:].tolist() == [7, 8, -9, 10, 11, 12]
    assert push.tobytes() == struct.pack("<ifQ", -5, 0.5, table.address)
    structured = np.array([(7, (8, -9))], [("key", "u4"), ("of", "i4", 2)])
    assert call(buffers(a=values | {"values": structured}), PUSH)[0].view(np.int32)[16:].tolist() == [7, 8, -9]


def test_every_buffer_has_its_address() -> None:
    shown, far = Buffer(np.zeros(4, np.float32)), Buffer(girih.uninitialized(np.zeros(2)))
    assert shown.address % 65536 == 0 and far.address >= shown.address + 16 + 65536
    given = buffers(b=shown)
    group, push, addresses = call(given, PUSH, [far, shown], addresses=True)
    assert len(group) == 5 and push.size == 16 and addresses.dtype == np.int64
    assert group[1] is not shown.array and np.shares_memory(group[1], shown.array)
    assert addresses[1] == shown.address and addresses[4] == far.address and len(set(addresses.tolist())) == 5
    assert isinstance(group[4], Uninitialized)
    shown.array[:] = 3
    assert shown.read().tolist() == [3] * 4 and not np.shares_memory(shown.read(), shown.array)
    with pytest.raises(TypeError, match=r"girih.Buffer takes an array of NumPy; got list"):
        Buffer([1.0])
    with pytest.raises(ValueError, match="there is no target 'gpu'"):
        Buffer(np.zeros(1), "gpu")


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "missing": (
        lambda: call({"a": np.zeros(76, np.uint8)}, PUSH),
        "bind.binding_missing",
        "expected: a buffer for set 0, binding 1 (`b`: 4-byte elements); found: none",
    ),
    "unknown": (
        lambda: call(buffers() | {(0, 9): np.zeros(4)}, PUSH),
        "bind.binding_unknown",
        "the shader has no buffer at set 0, binding 9",
    ),
    "misspelled": (
        lambda: call({"aa": np.zeros(1)}, PUSH),
        "bind.binding_unknown",
        "no buffer is called 'aa'; did you",
    ),
    "twice": (
        lambda: call(buffers() | {(0, 0): np.zeros(16)}, PUSH),
        "bind.binding_unknown",
        "is given twice: as 'a'",
    ),
    "two of a name": (
        lambda: call({"Out": np.zeros(4)}, PUSH),
        "bind.binding_key",
        "'Out' is the name of set 0, binding 1 (`b`) and set 1, binding 0 (`table`)",
    ),
    "a number": (
        lambda: call({0: np.zeros(4)}, PUSH),
        "bind.binding_key",
        "expected: (set, binding), or a name; found: 0",
    ),
    "too small": (
        lambda: call(buffers(a=np.zeros(63, np.uint8)), PUSH),
        "bind.buffer_size",
        "set 0, binding 0 (`a`): expected: at least 64 bytes; found: 63 bytes",
    ),
    "odd": (
        lambda: call(buffers(b=np.zeros(7, np.uint8)), PUSH),
        "bind.buffer_size",
        "expected: whole elements of 4 bytes; found: 7 bytes, 3 more than whole elements",
    ),
    "read-only": (
        lambda: call(buffers(b=read_only(np.zeros(4))), PUSH),
        "bind.buffer_read_only",
        "set 0, binding 1 (`b`): the shader writes to it, but the array is read-only",
    ),
    "gaps": (
        lambda: call(buffers(b=np.zeros(8, np.float32)[::2]), PUSH),
        "bind.buffer_layout",
        "expected: bytes that lie side by side; found: a float32 array of shape (4,) with strides of (8,) bytes",
    ),
    "misaligned": (
        lambda: call(buffers(b=np.zeros(8, np.float32)[1:]), PUSH),
        "bind.buffer_alignment",
        "expected: a first byte at a multiple of 16 bytes; found: 4 bytes behind one",
    ),
    "no buffer": (lambda: call(buffers(b=1.5), PUSH), "bind.buffer", "expected: a buffer; found: float"),
    "objects": (lambda: call(buffers(b=np.array([None])), PUSH), "bind.buffer", "found: an array of Python objects"),
    "no list": (
        lambda: call(buffers(table=np.zeros(4)), PUSH),
        "bind.buffer",
        "expected: a list of buffers; found: ndarray",
    ),
    "too many": (
        lambda: call(buffers(table=[b"", b"", b""]), PUSH),
        "bind.buffer_count",
        "expected: 2 buffers; found: 3",
    ),
    "dictionary that is written": (
        lambda: call(buffers(b={"x": [1]}), PUSH),
        "bind.buffer_read_only",
        "the shader writes to it, and a dictionary would not show what it wrote",
    ),
    "no push constants": (
        lambda: call(buffers()),
        "bind.push_constants",
        "expected: push constants, 16 bytes (n, alpha, where); found: none",
    ),
    "short push constants": (lambda: call(buffers(), bytes(12)), "bind.push_constants", "found: 12 bytes"),
    "no bytes": (lambda: call(buffers(), 5), "bind.push_constants", "as push constants; found: int"),
    "no grid": (lambda: call(buffers(), PUSH, grid=(0, 1, 1)), "bind.work_groups", "at least one work-group"),
    "huge grid": (
        lambda: call(buffers(), PUSH, grid=(2**30, 1, 1)),
        "bind.work_groups",
        "found: 1073741824 work-groups of 4 work-items along x",
    ),
    "addresses": (
        lambda: call(buffers(), PUSH, [Buffer(np.zeros(1))]),
        "bind.addresses",
        "the shader takes no buffers by address",
    ),
    "addresses of arrays": (
        lambda: call(buffers(), PUSH, [np.zeros(1)], addresses=True),
        "bind.addresses",
        "buffers: expected: a list of girih.Buffer; found: other values in it",
    ),
    "no dictionary": (
        lambda: call(np.zeros(4)),
        "bind.shader_arguments",
        "expected: a dictionary of buffers; found: ndarray",
    ),
    "an argument": (lambda: call({}, grids=4), "bind.shader_arguments", "a shader has no argument 'grids'"),
    "member": (
        lambda: call(buffers(), {"n": 2**31, "alpha": "x", "were": 0, "where": -1}),
        "bind.member",
        "push constants: were: expected: one of the members `n`, `alpha`, `where`; found: 'were'",
    ),
    "members of members": (
        lambda: call(buffers(a={"scale": 1, "place": [1, 2], "turn": 0, "values": [{"key": 1.5, "of": [1, 2]}]}), PUSH),
        "bind.member",
        "set 0, binding 0 (`a`): place: expected: an array of shape (3,), each a 32-bit float; found: an array of",
    ),
}  # fmt: skip


def test_what_is_wrong_is_told_before_anything_runs() -> None:
    with every_case() as case:
        for name, (launch, code, says) in REFUSED.items():
            with case(name):
                with pytest.raises(girih.LaunchError) as refused:
                    launch()
                assert refused.value.diagnostics[0].code == code
                assert says in refused.value.diagnostics[0].message
    assert {code for _, code, _ in REFUSED.values()} == set(SHADER_BIND_CODES)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(girih.LaunchError) as refused:
        call(buffers(a=np.zeros(1), b=0), {"n": 2**31, "alpha": "x", "where": -1})
    assert [one.message for one in refused.value.diagnostics] == [
        "set 0, binding 0 (`a`): expected: at least 64 bytes; found: 8 bytes",
        "set 0, binding 1 (`b`): expected: a buffer; found: int",
        "push constants: n: expected: 32-bit signed integer, from -2147483648 to 2147483647; found: 2147483648",
        "push constants: alpha: expected: one 32-bit float; found: 'x'",
        "push constants: where: expected: 64-bit unsigned integer, from 0 to 18446744073709551615; found: -1",
    ]


@pytest.mark.parametrize("addresses", [False, True])
def test_it_runs_and_changes_arrays_in_place(addresses: bool) -> None:
    target = resolve("interpreter")
    made = translated(addresses)
    kernel = ShaderKernel.of_entry_point(made, target.executor(made.function), target)
    assert repr(kernel).startswith(
        "<girih kernel @main(set 0, binding 0 (`a`: 64 bytes and 12-byte elements, read-only);"
    )
    again = pickle.loads(pickle.dumps(kernel[1]))
    for one in (kernel[1, 1, 1], again):
        written = np.zeros(4, np.int32)
        given = buffers(a=np.arange(19, dtype=np.int32), b=girih.uninitialized(written))
        one(given, push_constants=PUSH)
        assert written.tolist() == [0, 1, 2, 3]
    launch = kernel.options(max_steps=1000).bind(given, PUSH)
    assert list(launch.arguments) == ["bindings", "push_constants", "buffers"]
    launch.run()
    with pytest.raises(girih.KernelError) as found:
        kernel(buffers(b=np.zeros(3, np.int32)), push_constants=PUSH)
    assert found.value.findings[0].code == "run.out_of_bounds"


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_buffers_with_addresses_may_be_one_memory_or_read_only(target: str) -> None:
    row, made = resolve(target), translated(addresses=True)
    kernel = ShaderKernel.of_entry_point(made, row.executor(made.function), row)
    fixed, written = np.arange(19, dtype=np.int32), np.zeros(4, np.int32)
    fixed.flags.writeable = False
    kernel(buffers(a=fixed, b=written), push_constants=PUSH)
    assert written.tolist() == [0, 1, 2, 3]
    both = np.arange(19, dtype=np.int32)
    named = girih.Buffer(both)
    for one in (both, named):
        kernel(buffers(a=one, b=one), push_constants=PUSH, buffers=[named])
    assert both.tolist() == list(range(19))
    with pytest.raises(girih.KernelError) as short:
        kernel(buffers(b=np.zeros(3, np.int32)), push_constants=PUSH)
    assert (short.value.findings[0].argument, "%buffers" in short.value.findings[0].message) == ("b", False)
    with pytest.raises(girih.LaunchError) as refused:
        kernel(buffers(a=girih.Buffer(fixed)), push_constants=PUSH)
    assert [one.code for one in refused.value.diagnostics] == ["bind.buffer_read_only"]


def test_names_of_buffers_with_addresses() -> None:
    far, idle, shown = (girih.Buffer(np.zeros(76, np.uint8)) for _ in range(3))
    made = ShaderCall(translated(addresses=True))
    given = buffers(a=shown) | {(0, 9): idle}
    names = made.member_names((given, PUSH, [shown, far]), {})
    assert names == ["a", "b", "table[0]", "table[1]", "buffers[1]", "binding (0, 9)"]
    group = made.arguments((given, PUSH, [shown, far]), {}, (1, 1, 1))[0]
    assert isinstance(group, list) and len(group) == len(names)
