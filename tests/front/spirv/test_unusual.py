"""What compilers of GLSL do not write, and optimisers and people do: phis in a ring, ways that nobody takes, composites
that are chosen and copied whole, switches of any width, pointers into arrays of arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.cases import every_case
from tests.front.spirv.shaders import BUFFERS, INVOCATION, on_both

SHADER = (
    "{declared}"
    + BUFFERS
    + INVOCATION
    + """
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %number
%x = OpLoad %uint %from
{code}
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to %y
"""
)

SWAPPED = """
OpBranch %head
%head = OpLabel
%a = OpPhi %uint %uint_1 %entry %b %more
%b = OpPhi %uint %uint_2 %entry %c %more
%c = OpPhi %uint %x %entry %a %more
%k = OpPhi %uint %uint_0 %entry %next %more
OpLoopMerge %end %more None
OpBranch %test
%test = OpLabel
%go = OpULessThan %bool %k %x
OpBranchConditional %go %more %end
%more = OpLabel
%next = OpIAdd %uint %k %uint_1
OpBranch %head
%end = OpLabel
%tens = OpIMul %uint %b %uint_100
%hundreds = OpIMul %uint %c %uint_10000
%two = OpIAdd %uint %a %tens
%y = OpIAdd %uint %two %hundreds
"""

ONE_BLOCK = """
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %uint_0 %entry %next %head
%sum = OpPhi %uint %uint_0 %entry %more_sum %head
%more_sum = OpIAdd %uint %sum %k
%next = OpIAdd %uint %k %uint_1
%go = OpULessThan %bool %next %x
OpLoopMerge %end %head None
OpBranchConditional %go %head %end
%end = OpLabel
%y = OpIAdd %uint %more_sum %k
"""

NOBODY_MERGES = """
%large = OpUGreaterThan %bool %x %uint_7
OpSelectionMerge %never None
OpBranchConditional %large %then %else
%then = OpLabel
%to_then = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to_then %uint_1
OpReturn
%else = OpLabel
%to_else = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to_else %x
OpReturn
%never = OpLabel
%y = OpUndef %uint
"""

NOBODY_CONTINUES = """
OpBranch %head
%head = OpLabel
%seen = OpPhi %uint %x %entry %uint_9 %never
OpLoopMerge %end %never None
OpBranch %body
%body = OpLabel
%small = OpULessThan %bool %seen %uint_4
OpSelectionMerge %larger None
OpBranchConditional %small %end %larger
%larger = OpLabel
%more = OpIAdd %uint %seen %uint_5
OpBranch %end
%never = OpLabel
OpBranch %head
%end = OpLabel
%y = OpPhi %uint %uint_50 %body %more %larger
"""

WIDE_SWITCH = """
%wide = OpUConvert %ulong %x
%shifted = OpShiftLeftLogical %ulong %wide %uint_32
OpSelectionMerge %end None
OpSwitch %shifted %other 4294967296 %one 8589934592 %two 12884901888 %two
%one = OpLabel
OpBranch %end
%two = OpLabel
OpBranch %end
%other = OpLabel
OpBranch %end
%end = OpLabel
%y = OpPhi %uint %uint_11 %one %uint_22 %two %uint_0 %other
"""

NARROW_SWITCH = """
%less = OpISub %uint %x %uint_3
%narrow = OpUConvert %ushort %less
OpSelectionMerge %end None
OpSwitch %narrow %end 65535 %one 65533 %one 5 %end
%one = OpLabel
OpBranch %end
%end = OpLabel
%y = OpPhi %uint %uint_7 %entry %uint_1 %one
"""

COMPOSITES = """
%doubled = OpIMul %uint %x %uint_2
%first = OpCompositeConstruct %nested %x %array_123
%row = OpCompositeConstruct %_arr_uint_uint_3 %x %doubled %uint_9
%second = OpCompositeConstruct %nested %doubled %row
%odd = OpBitwiseAnd %uint %x %uint_1
%is_odd = OpINotEqual %bool %odd %uint_0
%chosen = OpSelect %nested %is_odd %first %second
OpStore %held %chosen
OpCopyMemory %other %held
%copied = OpLoad %nested %other
%alike = OpCopyLogical %nested_again %copied
%object = OpCopyObject %nested_again %alike
%element = OpAccessChain %_ptr_Function_uint %other %int_1 %odd
%z = OpLoad %uint %element
%last = OpCompositeExtract %uint %object 1 2
%head_of = OpCompositeExtract %uint %object 0
%inserted = OpCompositeInsert %nested_again %z %object 1 0
%back = OpCompositeExtract %uint %inserted 1 0
%ten = OpIMul %uint %last %uint_10
%sum = OpIAdd %uint %ten %head_of
%hundred = OpIMul %uint %back %uint_1000
%y = OpIAdd %uint %sum %hundred
"""

COMPOSITE_TYPES = """
%nested = OpTypeStruct %uint %_arr_uint_uint_3
%nested_again = OpTypeStruct %uint %_arr_uint_uint_3
%array_123 = OpConstantComposite %_arr_uint_uint_3 %uint_1 %uint_2 %uint_3
%_ptr_Function_nested = OpTypePointer Function %nested
%held = OpVariable %_ptr_Function_nested Function
%other = OpVariable %_ptr_Function_nested Function
"""

INTO_ROWS_TYPES = """
%row = OpTypeArray %uint %uint_3
%rows = OpTypeArray %row %uint_2
%planes = OpTypeArray %rows %uint_2
%_ptr_Function_planes = OpTypePointer Function %planes
%row_0 = OpConstantComposite %row %uint_1 %uint_2 %uint_3
%row_1 = OpConstantComposite %row %uint_4 %uint_5 %uint_6
%rows_0 = OpConstantComposite %rows %row_0 %row_1
%rows_1 = OpConstantComposite %rows %row_1 %row_0
%initial = OpConstantComposite %planes %rows_0 %rows_1
%fn = OpTypeFunction %void %_ptr_Function_planes %uint %uint
%change = OpFunction %void None %fn
%into = OpFunctionParameter %_ptr_Function_planes
%plane = OpFunctionParameter %uint
%by = OpFunctionParameter %uint
%start = OpLabel
%which = OpUMod %uint %by %uint_2
%column = OpUMod %uint %by %uint_3
%place = OpAccessChain %_ptr_Function_uint %into %plane %which %column
%before = OpLoad %uint %place
%none = OpIEqual %bool %by %uint_0
OpSelectionMerge %some None
OpBranchConditional %none %early %some
%early = OpLabel
OpReturn
%some = OpLabel
%after = OpIAdd %uint %before %by
OpStore %place %after
OpReturn
OpFunctionEnd
%nothing = OpFunction %void None %fn_void
%only = OpLabel
OpReturn
OpFunctionEnd
%planes_of = OpVariable %_ptr_Function_planes Function %initial
"""

INTO_ROWS = """
%odd = OpUMod %uint %x %uint_2
%called = OpFunctionCall %void %change %planes_of %odd %x
%nothing_called = OpFunctionCall %void %nothing
%again = OpFunctionCall %void %change %planes_of %uint_1 %uint_1
%half = OpUDiv %uint %x %uint_2
%y_row = OpUMod %uint %half %uint_2
%y_column = OpUMod %uint %x %uint_3
%found = OpAccessChain %_ptr_Function_uint %planes_of %odd %y_row %y_column
%y = OpLoad %uint %found
"""

UNDEFINED_WAY = """
%nothing = OpUndef %uint
OpBranch %head
%head = OpLabel
%first = OpPhi %bool %true %entry %false %more
%held = OpPhi %uint %nothing %entry %next %more
%k = OpPhi %uint %uint_0 %entry %next_k %more
OpLoopMerge %end %more None
OpBranch %body
%body = OpLabel
%next = OpSelect %uint %first %x %held
%done = OpUGreaterThan %bool %k %uint_2
OpBranchConditional %done %end %more
%more = OpLabel
%next_k = OpIAdd %uint %k %uint_1
OpBranch %head
%end = OpLabel
%y = OpIAdd %uint %next %k
"""

RETURNS_TYPES = """
%fn = OpTypeFunction %uint %uint
%search = OpFunction %uint None %fn
%value = OpFunctionParameter %uint
%start = OpLabel
OpBranch %outer
%outer = OpLabel
%i = OpPhi %uint %uint_0 %start %next_i %next_outer
OpLoopMerge %behind %next_outer None
OpBranch %inner
%inner = OpLabel
%j = OpPhi %uint %uint_0 %outer %next_j %next_inner
OpLoopMerge %row_done %next_inner None
OpBranch %look
%look = OpLabel
%product = OpIMul %uint %i %j
%equal = OpIEqual %bool %product %value
OpSelectionMerge %differs None
OpBranchConditional %equal %found %differs
%found = OpLabel
%tens = OpIMul %uint %i %uint_10
%both = OpIAdd %uint %tens %j
OpReturnValue %both
%differs = OpLabel
%beyond = OpUGreaterThan %bool %product %value
OpSelectionMerge %goes_on None
OpBranchConditional %beyond %row_done %goes_on
%goes_on = OpLabel
OpBranch %next_inner
%next_inner = OpLabel
%next_j = OpIAdd %uint %j %uint_1
%in_row = OpULessThan %bool %next_j %uint_5
OpBranchConditional %in_row %inner %row_done
%row_done = OpLabel
OpBranch %next_outer
%next_outer = OpLabel
%next_i = OpIAdd %uint %i %uint_1
%in_rows = OpULessThan %bool %next_i %uint_4
OpBranchConditional %in_rows %outer %behind
%behind = OpLabel
OpReturnValue %uint_99
OpFunctionEnd
"""

RETURNS = """
%one = OpFunctionCall %uint %search %x
%two = OpFunctionCall %uint %search %uint_6
%y = OpIAdd %uint %one %two
"""

GROUP_TYPES = """
%pair = OpTypeStruct %uint %_arr_uint_uint_3
%_arr_pair_uint_2 = OpTypeArray %pair %uint_2
%_ptr_Workgroup__arr_pair_uint_2 = OpTypePointer Workgroup %_arr_pair_uint_2
%_ptr_Workgroup_uint = OpTypePointer Workgroup %uint
%shared = OpVariable %_ptr_Workgroup__arr_pair_uint_2 Workgroup
"""

ATOMICS_IN_STRUCTS = """
%first = OpIEqual %bool %number %uint_0
%half = OpBitwiseAnd %uint %number %uint_1
%counter = OpAccessChain %_ptr_Workgroup_uint %shared %half %int_1 %int_2
OpSelectionMerge %set None
OpBranchConditional %first %sets %set
%sets = OpLabel
%zero_0 = OpAccessChain %_ptr_Workgroup_uint %shared %int_0 %int_1 %int_2
%zero_1 = OpAccessChain %_ptr_Workgroup_uint %shared %int_1 %int_1 %int_2
OpStore %zero_0 %uint_0
OpStore %zero_1 %uint_100
OpBranch %set
%set = OpLabel
OpControlBarrier %uint_2 %uint_2 %uint_264
%before = OpAtomicIAdd %uint %counter %uint_2 %uint_0 %x
OpControlBarrier %uint_2 %uint_2 %uint_264
%y = OpLoad %uint %counter
"""


def _swapped(x: int) -> int:
    a, b, c = 1, 2, x
    for _ in range(x):
        a, b, c = b, c, a
    return a + 100 * b + 10000 * c


def _search(x: int) -> int:
    for i in range(4):
        for j in range(5):
            if i * j == x:
                return 10 * i + j
            if i * j > x:
                break
    return 99


def _composites(x: int) -> int:
    head, row = (x, [1, 2, 3]) if x % 2 else (2 * x, [x, 2 * x, 9])
    return 10 * row[2] + head + 1000 * row[x % 2]


def _into_rows(x: int) -> int:
    planes = np.array([[[1, 2, 3], [4, 5, 6]], [[4, 5, 6], [1, 2, 3]]])
    planes[x % 2, x % 2, x % 3] += x
    planes[1, 1, 1] += 1
    return int(planes[x % 2, x // 2 % 2, x % 3])


CASES: dict[str, tuple[str, str, Callable[[int], int]]] = {
    "phis in a ring": ("", SWAPPED, _swapped),
    "a loop of one block": ("", ONE_BLOCK, lambda x: sum(range(max(x, 1))) + max(x, 1) - 1),
    "a merge block that nobody reaches": ("", NOBODY_MERGES, lambda x: 1 if x > 7 else x),
    "a continue target that nobody reaches": ("", NOBODY_CONTINUES, lambda x: 50 if x < 4 else x + 5),
    "a switch of 64 bits": ("", WIDE_SWITCH, lambda x: {1: 11, 2: 22, 3: 22}.get(x, 0)),
    "a switch of 16 bits": ("", NARROW_SWITCH, lambda x: 1 if x in (0, 2) else 7),
    "composites": (COMPOSITE_TYPES, COMPOSITES, _composites),
    "pointers into rows": (INTO_ROWS_TYPES, INTO_ROWS, _into_rows),
    "an undefined value that is not chosen": ("", UNDEFINED_WAY, lambda x: x + 3),
    "returns inside of loops": (RETURNS_TYPES, RETURNS, lambda x: _search(x) + _search(6)),
    "atomics in structs": (GROUP_TYPES, ATOMICS_IN_STRUCTS, lambda x: 164 if x % 2 else 56),
}  # fmt: skip


def test_shaders_of_unusual_shape_compute_what_they_say() -> None:
    given = np.arange(16, dtype=np.uint32)
    with every_case() as case:
        for name, (declared, code, expected) in CASES.items():
            with case(name):
                for _, output in on_both(SHADER.format(declared=declared, code=code), given, np.zeros(16, np.uint32)):
                    np.testing.assert_array_equal(output, [expected(int(x)) for x in given])
