"""Flow of control: phis, loops, switches with fallthrough, several returns, calls, as NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from girih.front.spirv.flow.plan import Choice, Departure, Enclosure, Node, Repetition, plan_of
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from tests.cases import every_case
from tests.front.spirv.shaders import BUFFERS, INVOCATION, module, on_both

SHADER = (
    BUFFERS
    + INVOCATION
    + """
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %number
%x = OpLoad %uint %from
{code}
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to %y
"""
)

PHI = """
%odd = OpBitwiseAnd %uint %x %uint_1
%is_odd = OpINotEqual %bool %odd %uint_0
OpSelectionMerge %joined None
OpBranchConditional %is_odd %then %else
%then = OpLabel
%tripled = OpIMul %uint %x %uint_3
OpBranch %joined
%else = OpLabel
%halved = OpUDiv %uint %x %uint_2
OpBranch %joined
%joined = OpLabel
%y = OpPhi %uint %tripled %then %halved %else
"""

ONE_SIDE_LEAVES = """
%small = OpULessThan %bool %x %uint_5
OpSelectionMerge %rest None
OpBranchConditional %small %then %otherwise
%then = OpLabel
%doubled = OpIMul %uint %x %uint_2
OpBranch %rest
%otherwise = OpLabel
OpReturn
%rest = OpLabel
%y = OpIAdd %uint %doubled %uint_1
"""

LOOP = """
OpBranch %head
%head = OpLabel
%sum = OpPhi %uint %uint_0 %entry %next_sum %more
%k = OpPhi %uint %uint_0 %entry %next_k %more
OpLoopMerge %end %more None
OpBranch %test
%test = OpLabel
%go = OpULessThan %bool %k %x
OpBranchConditional %go %body %end
%body = OpLabel
%is_three = OpIEqual %bool %k %uint_3
OpSelectionMerge %plain None
OpBranchConditional %is_three %more %plain
%plain = OpLabel
%large = OpUGreaterThan %bool %sum %uint_20
OpSelectionMerge %adds None
OpBranchConditional %large %end %adds
%adds = OpLabel
%added = OpIAdd %uint %sum %k
OpBranch %more
%more = OpLabel
%next_sum = OpPhi %uint %sum %body %added %adds
%next_k = OpIAdd %uint %k %uint_1
OpBranch %head
%end = OpLabel
%y = OpPhi %uint %sum %test %sum %plain
"""


SWITCH = """
OpSelectionMerge %end None
OpSwitch %x %other 1 %one 2 %two 4 %two 3 %three
%one = OpLabel
OpBranch %two
%two = OpLabel
%from_two = OpPhi %uint %uint_0 %entry %uint_100 %one
%ten = OpIAdd %uint %from_two %uint_10
OpBranch %end
%three = OpLabel
OpBranch %end
%other = OpLabel
OpBranch %end
%end = OpLabel
%y = OpPhi %uint %ten %two %uint_3 %three %uint_7 %other
"""

CALLED = """
%fn = OpTypeFunction %uint %_ptr_Function_uint %uint
%f = OpFunction %uint None %fn
%pointer = OpFunctionParameter %_ptr_Function_uint
%value = OpFunctionParameter %uint
%start = OpLabel
%before = OpLoad %uint %pointer
%after = OpIAdd %uint %before %value
OpStore %pointer %after
%big = OpUGreaterThan %bool %after %uint_8
OpSelectionMerge %rest_of_f None
OpBranchConditional %big %early %rest_of_f
%early = OpLabel
OpReturnValue %uint_1000
%rest_of_f = OpLabel
%twice = OpIMul %uint %after %uint_2
OpReturnValue %twice
OpFunctionEnd
"""

HELD = "%held = OpVariable %_ptr_Function_uint Function"

CALLS = """
OpStore %held %x
%first = OpFunctionCall %uint %f %held %uint_1
%second = OpFunctionCall %uint %f %held %uint_2
%now = OpLoad %uint %held
%both = OpIAdd %uint %first %second
%y = OpIAdd %uint %both %now
"""

CONSTANT = """
%is = OpIEqual %bool %uint_3 %uint_3
OpSelectionMerge %end None
OpBranchConditional %is %yes %no
%yes = OpLabel
OpBranch %end
%no = OpLabel
%quotient = OpUDiv %uint %x %uint_0
OpBranch %end
%end = OpLabel
%y = OpPhi %uint %uint_5 %yes %quotient %no
"""


def _loop(x: int) -> int:
    total = 0
    for k in range(x):
        if k == 3:
            continue
        if total > 20:
            break
        total += k
    return total


def _called(x: int) -> int:
    first = 1000 if x + 1 > 8 else 2 * (x + 1)
    second = 1000 if x + 3 > 8 else 2 * (x + 3)
    return first + second + x + 3


CASES: dict[str, tuple[str, Callable[[int], int]]] = {
    "a phi": (PHI, lambda x: 3 * x if x % 2 else x // 2),
    "a value of one side": (ONE_SIDE_LEAVES, lambda x: 2 * x + 1 if x < 5 else 0),
    "a loop": (LOOP, _loop),
    "a switch": (SWITCH, lambda x: {1: 110, 2: 10, 3: 3, 4: 10}.get(x, 7)),
    "calls": (CALLS, _called),
    "a decided branch": (CONSTANT, lambda x: 5),
}


def text(code: str) -> str:
    whole = SHADER.format(code=code)
    return CALLED + HELD + whole if "FunctionCall" in code else whole


def test_flow_of_control_is_that_of_the_blocks() -> None:
    given = np.arange(16, dtype=np.uint32)
    with every_case() as case:
        for name, (code, expected) in CASES.items():
            with case(name):
                for _, output in on_both(text(code), given, np.zeros(16, np.uint32)):
                    np.testing.assert_array_equal(output, [expected(int(x)) for x in given])


def _nodes(code: str) -> list[Node]:
    facts = Facts(module(text(code)), ENVIRONMENTS["vulkan1.3"])
    function = next(one for one in facts.bodies.functions if one.id == facts.entry_points[0].function)
    return plan_of(function, lambda id: None).nodes


def test_constructs_stand_only_where_a_branch_needs_one() -> None:
    kinds = [type(node) for node in _nodes(PHI)]
    assert kinds.count(Enclosure) == 1 and Repetition not in kinds
    (early,) = [node for node in _nodes(ONE_SIDE_LEAVES) if isinstance(node, Enclosure)]
    assert isinstance(early.body[-1], Departure)
    assert any(isinstance(node, Choice) for node in early.body)
