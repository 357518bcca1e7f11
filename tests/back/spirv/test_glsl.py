"""Shader code as GLSL: what is written, and that its module means the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import girih
from girih.back.llvm.emit.text import Val, floating, integer
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderMember,
    ShaderNode,
    Statement,
)
from girih.back.spirv.glsl.names import Names
from girih.back.spirv.glsl.types import float_constant, integer_constant
from girih.back.spirv.glsl.write import write_glsl
from girih.back.spirv.machine.compile import recorded_kernel
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.table import profile_named
from girih.diagnostics import InternalError
from girih.kernels import texts
from girih.spirv import validate
from tests.back.spirv.matrices import KERNELS
from tests.back.spirv.through_glsl import compiled
from tests.cases import every_case

FLOATS = ShaderMemory(MemoryKind.BUFFER, "A", binding=0, written=True)
INTEGERS = ShaderMemory(MemoryKind.BUFFER, "B", binding=1, written=True)


class Code:
    """Shader code that is written by hand: `code("add", "i32", a, b)` gives the value."""

    def __init__(self, **words: str) -> None:
        self.shader = ShaderCode("f", 1, 32, [FLOATS, INTEGERS])
        self.here = self.shader.body
        self.count = 0
        self.words = words

    def fresh(self, type: str) -> Val:
        self.count += 1
        return Val(f"%v{self.count}", type)

    def __call__(self, op: str, type: str, *operands: Val, details: Sequence[object] = (), exact: bool = True) -> Val:
        result = self.fresh(type) if type else None
        self.here.statements.append(ShaderNode(op, operands, result, tuple(details), exact=exact))
        return result or Val("", "")

    def add(self, one: Statement) -> None:
        self.here.statements.append(one)

    def load(self, memory: ShaderMemory, type: str, place: Val | int) -> Val:
        return self("load", type, self.place(place), details=(memory, type))

    def store(self, memory: ShaderMemory, value: Val, place: Val | int) -> None:
        self("store", "", value, self.place(place), details=(memory, value.type))

    @staticmethod
    def place(place: Val | int) -> Val:
        return place if isinstance(place, Val) else integer(place, "i32")

    def inside(self, write: Callable[[], None]) -> ShaderBlock:
        outer, self.here = self.here, ShaderBlock()
        write()
        block, self.here = self.here, outer
        return block

    @property
    def text(self) -> str:
        return write_glsl(self.shader)

    @property
    def body(self) -> list[str]:
        """The lines of the main function."""
        lines = self.text.splitlines()
        return [line[4:] for line in lines[lines.index("void main() {") + 1 : -1]]


def run(code: Code, floats: Sequence[float] = (), integers: Sequence[int] = ()) -> tuple[list[float], list[int]]:
    """What the shader leaves in its buffers, on the interpreter."""
    module = compiled(code.text)
    assert validate(module, "vulkan1.3") == []
    a, b = np.array(floats or [0], np.float32), np.array(integers or [0], np.int32)
    bound = {(0, 0): a, (0, 1): b}
    kernel = girih.loads(module.to_bytes(), "interpreter")["main"]
    kernel[(1, 1, 1)]({key: value for key, value in bound.items() if f"binding = {key[1]}" in code.text})
    return a.tolist(), b.tolist()


def test_values_that_are_used_once_are_parts_of_expressions() -> None:
    code = Code()
    a, b = code.load(FLOATS, "float", 0), code.load(FLOATS, "float", 1)
    total = code("fadd", "float", a, b)
    product = code("fmul", "float", total, floating(0.1, "float"), exact=False)
    code.store(FLOATS, product, 2)
    assert code.body == ["A[2] = (A[0] + A[1]) * 0.1;"]
    assert "#extension" not in code.text and "#pragma" not in code.text


def test_a_load_stays_before_a_store_that_may_change_what_it_loads() -> None:
    code = Code()
    old = code.load(FLOATS, "float", 0)
    code.store(FLOATS, floating(2.0, "float"), 0)
    code.store(FLOATS, old, 1)
    assert code.body == ["float v1 = A[0];", "A[0] = 2.0;", "A[1] = v1;"]
    assert run(code, [7, 0]) == ([2, 7], [0])


def test_sums_and_products_that_must_not_be_combined_are_precise() -> None:
    code = Code()
    product = code("fmul", "float", code.load(FLOATS, "float", 0), code.load(FLOATS, "float", 1))
    total = code("fadd", "float", product, code.load(FLOATS, "float", 2))
    bits = code("bitcast", "i32", total)
    code.store(INTEGERS, bits, 0)
    assert code.body == ["B[0] = floatBitsToInt(A[0] * A[1] + A[2]);"]
    assert "{ precise int B[]; }" in code.text
    listing = compiled(code.text).to_text(header=False)
    assert listing.count("NoContraction") == 2


def test_integers_have_the_sign_that_operations_ask_for() -> None:
    code = Code()
    x = code.load(INTEGERS, "i32", 0)
    half = code("lshr", "i32", x, integer(1, "i32"))
    quotient = code("udiv", "i32", half, integer(3, "i32"))
    code.store(INTEGERS, code("sub", "i32", integer(0, "i32"), code("ashr", "i32", quotient, integer(2, "i32"))), 1)
    below = code("ult", "i1", code.load(INTEGERS, "i32", 1), integer(-2, "i32"))
    code.store(INTEGERS, code("zext", "i32", code("xor", "i1", below, integer(1, "i1"))), 2)
    assert code.body == [
        "B[1] = -(int((uint(B[0]) >> 1) / 3u) >> 2);",
        "B[2] = int(uint(B[1]) >= 4294967294u);",
    ]
    shifted = -((2**32 - 7 >> 1) // 3 >> 2)
    assert run(code, integers=[-7, 0, 5]) == ([0], [-7, shifted, 0])


def test_a_remainder_has_the_sign_of_the_dividend() -> None:
    code = Code()
    code.store(INTEGERS, code("srem", "i32", code.load(INTEGERS, "i32", 0), integer(4, "i32")), 1)
    assert code.body == ["B[1] = signed_remainder(B[0], 4);"]
    assert run(code, integers=[-7, 0]) == ([0], [-7, -3])


def swapping(code: Code) -> None:
    """Three rounds in which two values change places and one grows."""
    a, b, k = code.fresh("i32"), code.fresh("i32"), code.fresh("i32")
    body = code.inside(lambda: None)
    outer, code.here = code.here, body
    grown = code("add", "i32", a, k)
    code.here = outer
    first, second = code.load(INTEGERS, "i32", 0), code.load(INTEGERS, "i32", 1)
    carried = [CarriedValue(a, first, b), CarriedValue(b, second, grown)]
    code.add(LoopStatement(k, integer(0, "i32"), integer(3, "i32"), integer(1, "i32"), carried, body, wraps=False))
    code.store(INTEGERS, a, 0)
    code.store(INTEGERS, b, 1)


def test_values_of_iterations_are_assigned_at_once() -> None:
    code = Code()
    swapping(code)
    assert code.body == [
        "int v1 = B[0];",
        "int v2 = B[1];",
        "for (int i = 0; i < 3; i++) {",
        "    int v3 = v2;",
        "    v2 = v1 + i;",
        "    v1 = v3;",
        "}",
        "B[0] = v1;",
        "B[1] = v2;",
    ]
    a, b = 10, 20
    for k in range(3):
        a, b = b, a + k
    assert run(code, integers=[10, 20]) == ([0], [a, b])


def test_a_loop_ends_where_its_index_would_wrap() -> None:
    code = Code()
    count, index = code.fresh("i32"), code.fresh("i32")
    body = code.inside(lambda: None)
    outer, code.here = code.here, body
    more = code("add", "i32", count, integer(1, "i32"))
    code.here = outer
    start, step = code.load(INTEGERS, "i32", 0), code.load(INTEGERS, "i32", 1)
    carried = [CarriedValue(count, integer(0, "i32"), more)]
    code.add(LoopStatement(index, start, integer(2**31 - 1, "i32"), step, carried, body, wraps=True))
    code.store(INTEGERS, count, 0)
    assert run(code, integers=[2**31 - 8, 5]) == ([0], [2, 5])


def test_repetitions_branches_and_ends() -> None:
    code = Code()
    x = code.load(INTEGERS, "i32", 0)
    value = code.fresh("i32")
    repeat = RepeatStatement(carried=[CarriedValue(value, x, value)])
    outer, code.here = code.here, repeat.head
    repeat.condition = code("sgt", "i1", value, integer(9, "i32"))
    code.here = repeat.body
    smaller = code("sub", "i32", value, integer(4, "i32"))
    repeat.carried[0].following = smaller
    code.here = outer
    code.add(repeat)
    odd = code("trunc", "i1", value)
    code.add(BranchStatement(odd, ShaderBlock([LeaveStatement()])))
    chosen = code.fresh("i32")
    few = code("slt", "i1", value, integer(7, "i32"))
    code.add(BranchStatement(few, results=[(chosen, integer(1, "i32"), value)]))
    code.store(INTEGERS, chosen, 1)
    assert code.body == [
        "int v1 = B[0];",
        "while (v1 > 9) {",
        "    v1 -= 4;",
        "}",
        "if ((v1 & 1) != 0) {",
        "    return;",
        "}",
        "B[1] = v1 < 7 ? 1 : v1;",
    ]
    assert [run(code, integers=[start, 0])[1][1] for start in (22, 12, 4, 13)] == [1 if 22 % 4 + 4 < 7 else 0, 8, 1, 0]


def test_constants_are_the_shortest_texts_that_are_exact() -> None:
    numbers = {
        ("float", 0.1): "0.1", ("float", 1e-45): "1e-45", ("float", 16777216.0): "16777216.0", ("float", -0.0): "-0.0",
        ("float", float("inf")): "1.0 / 0.0", ("double", 0.1): "0.1lf", ("double", 1e300): "1e+300lf",
        ("half", 0.0999755859375): "float16_t(0.0999755859375)", ("float", 3e10): "3e+10",
    }  # fmt: skip
    with every_case() as case:
        for (type, value), text in numbers.items():
            with case(text):
                assert float_constant(value, type).text == text
        for whole, type, text in (
            (-1, "int", "-1"), (-1, "uint", "4294967295u"), (-(2**31), "int", "0x80000000"), (5, "int8_t", "int8_t(5)"),
            (2**40, "int64_t", "1099511627776l"), (-(2**63), "int64_t", "0x8000000000000000l"),
        ):  # fmt: skip
            with case(text):
                assert integer_constant(whole, type).text == text
    code = Code()
    for place, number in enumerate((0.1, -0.0, float("inf"), 1e-45, 3.4e38)):
        code.store(FLOATS, floating(number, "float"), place)
    found, _ = run(code, [0] * 5)
    assert np.array(found, np.float32).tobytes() == np.array([0.1, -0.0, np.inf, 1e-45, 3.4e38], np.float32).tobytes()


def test_names_are_legal_and_given_once() -> None:
    names = Names()
    taken = [names.take(wanted) for wanted in ("A", "A", "buffer", "gl_x", "a__b", "3d", "é", "subgroupAdd", "v1")]
    assert taken == ["A", "A2", "buffer_", "v_gl_x", "a_b", "v_3d", "v_", "subgroupAdd_", "v1"]
    assert names.fresh() == "v2"


def test_members_have_their_offsets_and_names() -> None:
    code = Code()
    code.shader.members = [ShaderMember("sample", "float", 0), ShaderMember("n", "i64", 16)]
    code.store(FLOATS, code("member", "float", details=("sample",)), 0)
    assert "    float sample_;\n    layout(offset = 16) int64_t n;\n" in code.text
    code.shader.parameters_at = 7
    assert "layout(set = 0, binding = 7, std430) readonly buffer Parameters {" in code.text
    assert validate(compiled(code.text), "vulkan1.3") == []


def test_what_glsl_has_no_form_for_is_a_defect() -> None:
    code = Code()
    code.store(FLOATS, code("unheard_of", "float", floating(1.0, "float")), 0)
    with pytest.raises(InternalError, match="`unheard_of`"):
        write_glsl(code.shader)


@pytest.mark.parametrize("name", ["softmax", "histogram", "transpose"])
def test_golden_texts(name: str, golden: Callable[[str, str], None]) -> None:
    function = girih.parse(texts.path(name).read_text(encoding="utf-8")).functions[0]
    golden(f"glsl_{name}.comp", write_glsl(recorded_kernel(function, profile_named("nvidia-hopper")).code))


def test_matrices_of_the_device(golden: Callable[[str, str], None]) -> None:
    function = girih.parse(KERNELS).function("clamped")
    assert function is not None
    golden("glsl_clamped.comp", write_glsl(recorded_kernel(function, HOPPER).code, HOPPER))


def test_integers_that_are_compared_and_chosen_are_min_and_max() -> None:
    code = Code()
    x, y = code.load(INTEGERS, "i32", 0), code.load(INTEGERS, "i32", 1)
    code.store(INTEGERS, code("select", "i32", code("slt", "i1", x, y), x, y), 2)
    a, b = code.load(FLOATS, "float", 0), code.load(FLOATS, "float", 1)
    code.store(FLOATS, code("select", "float", code("olt", "i1", a, b), a, b), 2)
    assert code.body[2] == "B[2] = min(v1, v2);"
    assert code.body[-1] == "A[2] = v3 < v4 ? v3 : v4;", "of numbers that are none, GLSL may give either"


def test_functions_may_use_the_same_names_but_none_of_the_shader() -> None:
    shader = Names()
    shader.take("A")
    first, second = Names(shader), Names(shader)
    assert [first.take("row"), second.take("row"), second.take("A"), second.take("row")] == ["row", "row", "A2", "row2"]
    assert shader.take("row") == "row3", "what is declared later is seen in functions, too"


def test_matrices_of_64_bits_are_refused() -> None:
    code = Code()
    code("matrix_splat", "matrix double 16x16 matrix_acc subgroup", floating(1.0, "double"))
    with pytest.raises(girih.CompileError, match="GLSL has no cooperative matrices of f64"):
        write_glsl(code.shader)
