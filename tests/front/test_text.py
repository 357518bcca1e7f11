"""Tokens, numbers, types and names as text: what is accepted, as what, and which hints the rest gets."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import pytest

from girih import check, parse
from girih.front.text import spelling
from girih.front.text.constant_parser import ATTRIBUTE_NAMES
from girih.ir.types import EIGHT_BIT_FLOATS, NUMBERS, SCALARS
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Comparison


def constant(text: str, type: str = "f64") -> Any:
    op: Any = parse(f"func @f() {{\n%x = constant {text} : {type}\n}}\n").functions[0].body.ops[0]
    return op.value


def parameter(type: str) -> str:
    return str(parse(f"func @f(%a: {type}) {{\n}}\n").functions[0].parameters[0].type)


def codes(text: str) -> list[str]:
    return [d.code for d in check(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("+1.5", 1.5),
        ("-1.5", -1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e-3", -0.0005),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1.e3", 1000.0),
        ("inf", math.inf),
        ("+inf", math.inf),
        ("-inf", -math.inf),
        ("-0.0", -0.0),
        ("0x1.8p3", 12.0),
        ("0X1.8P3", 12.0),
        ("-0x1p-2", -0.25),
        ("0x.8", 0.5),
        ("0x8.", 8.0),
        ("0xAbp0", 171.0),
        ("5e-324", 5e-324),
        ("0x1p-1074", 5e-324),
        ("1e-400", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("0x1.fffffffffffffp1023", 1.7976931348623157e308),
    ],
)
def test_floating_constants(text: str, value: float) -> None:
    assert struct.pack("d", constant(text)) == struct.pack("d", value)


@pytest.mark.parametrize(("text", "sign"), [("nan", 1.0), ("+nan", 1.0), ("-nan", -1.0)])
def test_not_a_number(text: str, sign: float) -> None:
    assert math.isnan(constant(text)) and math.copysign(1.0, constant(text)) == sign


@pytest.mark.parametrize("text", ["1e309", "-1e400", "0x1p1024", "9" * 400 + ".0"])
def test_floating_constants_out_of_range(text: str) -> None:
    assert codes(f"func @f() {{\n%x = constant {text} : f64\n}}\n") == ["syntax.float_range"]


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("+42", 42), ("-42", -42), ("007", 7), ("9223372036854775807", 2**63 - 1)]
)
def test_integer_constants(text: str, value: int) -> None:
    assert constant(text, "i64") == value


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775808", "1" * 100_000])
def test_integer_constants_out_of_range(text: str) -> None:
    (found,) = check(f"func @f() {{\n%x = constant {text} : i64\n}}\n")
    assert found.code == "syntax.integer_range"
    assert text[:30] in found.message or text in found.message
    assert len(found.message) < 120


@pytest.mark.parametrize(
    "text", ["1.0f", "1_000", "0x10", "1e", "Inf", "NaN", "TRUE", "1.2.3", "--1", "[1.0]", "[1.0,]"]
)
def test_what_is_no_constant(text: str) -> None:
    found = codes(f"func @f() {{\n%x = constant {text} : f64\n}}\n")
    assert found in (["syntax.expected"], ["syntax.modifier"])


def test_complex_constants() -> None:
    assert constant("[1.0, -2.5]", "c64") == complex(1.0, -2.5)
    assert constant("[ inf ,0x1p1]", "c64") == complex(math.inf, 2.0)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("memref< f32 x 4 >", "memref<f32x4>"),
        ("memref<f32 x4 x8>", "memref<f32x4x8>"),
        ("memref<f32x4 x8>", "memref<f32x4x8>"),
        ("memref<\n  f32\n  x\n  4\n>", "memref<f32x4>"),
        ("memref<f32 ; the elements\n x 4 ; the rows\n x ?>", "memref<f32x4x?>"),
        ("memref<f32x+4>", "memref<f32x4>"),
        ("memref<f32x0>", "memref<f32x0>"),
        ("memref<f32>", "memref<f32>"),
        ("memref<bf16x?x?,strided<1,?>>", "memref<bf16x?x?>"),
        ("memref<f32x4x4, strided< 1 , 8 > >", "memref<f32x4x4,strided<1,8>>"),
        ("memref<f32x4x4,strided<1,4>>", "memref<f32x4x4>"),
        ("memref<f32,strided<>>", "memref<f32>"),
        ("memref<f32x4,global>", "memref<f32x4>"),
        ("group<memref<f32x4>x8>", "group<memref<f32x4>x8>"),
        ("group< memref<f32x4> x ? , offset : ? >", "group<memref<f32x4>x?,offset:?>"),
        ("group<memref<f32x4>x8,offset:0>", "group<memref<f32x4>x8>"),
        ("tensor_layout< 2 >", "tensor_layout<2>"),
        ("tensor_layout<2,undefined>", "tensor_layout<2>"),
        ("tensor_layout<5 , mirror_repeat>", "tensor_layout<5,mirror_repeat>"),
        ("tensor_view<2>", "tensor_view<2,false,0,1>"),
        ("tensor_view<3,true>", "tensor_view<3,true,0,1,2>"),
        ("tensor_view< 3 , false , 2 , 0 , 1 >", "tensor_view<3,false,2,0,1>"),
        ("coopmatrix<f32x4x4,matrix_a,subgroup>", "coopmatrix<f32x4x4,matrix_a>"),
        ("coopmatrix< f32 x 4 x 4 , matrix_acc , work_group >", "coopmatrix<f32x4x4,matrix_acc,work_group>"),
    ],
)
def test_white_space_and_comments_in_types(text: str, type: str) -> None:
    assert parameter(text) == type


def test_a_type_that_is_read_again_from_its_text_is_the_same() -> None:
    text = "func @f(%a: memref<f32x4x4>, %b: memref<f32x4x4>, %c: memref<f32x4x4,strided<1,5>>) {\n}\n"
    a, b, c = (p.type for p in parse(text).functions[0].parameters)
    assert a == b != c


def test_the_x_between_sizes_of_expand() -> None:
    text = "func @f(%A: memref<f32x8>, %4: index, %c4x2: index) {\n%{0} = expand %A[0->{1}] : memref<f32x?x2>\n}\n"
    for number, sizes in enumerate(["%4 x 2", "%4x2", "%4 x2", "%4\nx\n2"]):
        shown = str(parse(text.replace("{0}", f"r{number}").replace("{1}", sizes)))
        assert "expand %A[0 -> %4 x 2]" in shown
    assert "expand %A[0 -> %c4x2 x 2]" in str(parse(text.replace("{0}", "r").replace("{1}", "%c4x2 x 2")))


def test_no_white_space_at_all() -> None:
    text = "func@f(%A:memref<f32x4>){%0=constant 1:index foreach(%i)=(%0),(%0){%1=load%A[%i]:f32 store%1,%A[%i]}}"
    assert check(text) == []
    assert check(text.replace(" ", "\r\n\t")) == []


def test_names() -> None:
    assert check("func @0(%007: f32) {\n%8 = neg %7 : f32\n%for = neg %8 : f32\n%x = neg %for : f32\n}\n") == []
    assert codes("func @f(%7: f32, %007: f32) {\n}\n") == ["name.redefined"]
    assert codes("func @f(%a_: f32, %_a: f32) {\n}\n") == ["syntax.expected"]


def test_a_byte_order_mark_and_line_ends_of_other_systems() -> None:
    assert check("\N{ZERO WIDTH NO-BREAK SPACE}func @f(%a: f32) {\r\n%b = neg %a : f32 ; comment\r\n}\r\n") == []
    (found,) = check("func @f(%a: f32) {\r\n%b = neg %c : f32\r\n}\r\n")
    assert (found.span.line, found.span.column) == (2, 10)
    assert "%b = neg %c : f32\n" in found.render()


HEAD = "func @f(%i: index, %a: f32, %alpha: f32, %A: memref<f32x4x4>) {\n"


@pytest.mark.parametrize(
    ("instruction", "hint"),
    [
        ("%v = cmp.lt %i, %i : bool", "did you mean `less_than`?"),
        ("%v = cmp.le %i, %i : bool", "did you mean `less_than_equal`?"),
        ("%v = lt %i, %i : bool", "did you mean `less_than`?"),
        ("%v = arith.add %i, %i : index", "it is written %result = add %a, %b : type"),
        ("%v = math.native_exp %a : f32", "it is written %result = native_exp"),
        ("%v = builtin.group_id : index", "it is written %result = group_id"),
        ("%v = less_then %i, %i : bool", "did you mean `less_than`?"),
        ("%v = loda %A[%i,%i] : f32", "did you mean `load`?"),
        ("%v = neg %alhpa : f32", "did you mean %alpha?"),
        ("%v = neg %a : f23", "did you mean `f32`?"),
        ("%v = neg %a : float", "did you mean `f32`?"),
        ("%v = neg %a : real", "the types are i8, i16"),
        ("%v = alloca : memref<u8x4,local>", "did you mean `i8`?"),
        ("%v = add 1, %i : index", "define it before, `%c = constant 1 : ...`"),
        ("%v = add a, %a : f32", "did you mean `%a`?"),
        ("%v = constant 0.0 : coopmatrix<f32x8x8,matrix_c>", "did you mean `matrix_acc`?"),
        ("%v = alloca : memref<f32,4>", "the order is element and shape, strided<...>, address space"),
        ("%v = alloca : memref<f32x4,local,strided<1>>", "the order is element and shape, strided<...>, address space"),
        ("%v = alloca : memref<f32 4>", "a shape is written f32x4x8: `x` before each size"),
        ("add %i, %i : index", "write `%x = add ...`"),
        ("gemm.t.t.t %a, %A, %A, %a, %A", "the modifiers of `gemm` are, in this order: .atomic then .n|.t then .n|.t"),
        ("barrier.locl", "the modifiers of `barrier` are, in this order: .global then .local"),
        ("%v = neg.fast %a : f32", "it has no modifiers"),
        ("%v = constant [1, 2.0] : c32", "write 1.0"),
        ("%v = if %i { }", "give the types of the values: `-> (f32)`"),
        ("%v = tensor_layot_create : tensor_layout<2>", "did you mean `tensor_layout_create`?"),
        ("%v = createTensorLayoutNV : tensor_layout<2>", "did you mean `tensor_layout_create`?"),
        ("%v = OpTensorLayoutSliceNV %a : tensor_layout<2>", "did you mean `tensor_layout_slice`?"),
        ("%v = coopMatReduceNV %a : f32", "did you mean `cooperative_matrix_combine`?"),
        ("%v = tensor_layout_create : tensorlayout<2>", "did you mean `tensor_layout`?"),
        ("%v = tensor_layout_create : tensor_layout<2,clamped_to_edge>", "did you mean `clamp_to_edge`?"),
        ("%v = tensor_layout_create : tensor_layout<2,repeat,2>", "the order is number of dimensions, clamp mode"),
        ("%v = constant 0.0 : coopmatrix<f32x8x8,matrix_acc,workgroup>", "did you mean `work_group`?"),
        ("%v = constant 0.0 : coopmatrix<f32x8x8,4>", "the order is component type and shape, use, scope"),
        ("%v = cooperative_matrix_load.t.row_blocked_interleaved %A[%i], 2 : f32",
         "or .column_blocked_interleaved|.row_blocked_interleaved alone"),
        ("%v = cooperative_matrix_load.row_blocked_interleaved.t %A[%i], 2 : f32",
         ".row_blocked_interleaved|.column_blocked_interleaved is the only modifier here"),
        ("%v = cooperative_matrix_load.row_blocked %A[%i], 2 : f32", "did you mean `.row_blocked_interleaved`?"),
        ("%v = cooperative_matrix_load_blocked_interleaved %A[%i], 2 : f32",
         "it is written %result = cooperative_matrix_load.row_blocked_interleaved %memory[%offset], stride : type"),
        ("%v = cooperative_matrix_load.row_blocked_interleaved %A[%i] : f32",
         "it is written %result = cooperative_matrix_load.row_blocked_interleaved %memory[%offset], stride : type"),
        ("%v = neg %a : f32 decode (%b: memref<i8x4>, %i, %k) { }",
         "`decode` is a part of another instruction: %result = cooperative_matrix_load_tensor"),
        ("%v = cooperative_matrix_load_tensor %a, %A[%i] : f32",
         "%layout [, %view] [decode (%block: type, %coordinates, ...) { ... }] : type"),
        ("%v = cooperative_matrix_combine.row (%p, %q, %r) = %a -> f32 { }",
         "it is written %result = cooperative_matrix_combine.row (%left, %right) = %matrix -> type { ... }"),
        ("%v = inversesqrt %a : f32", "did you mean `rsqrt`?"),
        ("%v = tl.where %i, %a, %a : f32", "did you mean `select`?"),
        ("%v = math.fmaf %a, %a, %a : f32", "did you mean `fma`?"),
        ("%v = Sqrt %a : f32", "mnemonics are written in small letters: `sqrt`"),
        ("%v = gelu %a : f32", "x (1 + erf(x / sqrt(2))) / 2"),
        ("%v = cbrt %a : f32", "`log2`, `div` by 3.0, `exp2`"),
        ("%v = fma %a, %a : f32", "it is written %result = fma %a, %b, %c : type"),
        ("printf(%a)", "`print` writes a line"),
        ("print %a", "it is written print \"...\" [, %values, ...]"),
        ('print "a \\"b\\"", %a', "a string has no escapes"),
        ('print "a" %a', "values stand behind a comma"),
        ('print "a" "b"', "values stand behind a comma"),
        ('print "a", %a : f32', "the instruction before it has no type"),
        ("%v = native_tanh %a : f32", "did you mean `tanh`?"),
        ('for %k=%i,%i { } attributes {hopper={stages=2}}', "hints for hopper are an attribute of the function"),
        ("call @g(%a)", "functions do not call each other"),
        ("return %a", "results are stored in memrefs, with `store`"),
        ("while %i { }", "a loop runs over a range"),
        ("let %v = add %a, %a : f32", "values are not declared"),
        ("int32 v = 3", "convert with `cast`; values are not declared"),
        ("%v = a + %a", "there are no operators between values: write `%v = add %a, %a : f32`"),
        ("%v = %a * 2.0", "`%x = constant 2.0 : f32` before, then write `%v = mul %a, %x : f32`"),
        ("%v = %alpha / 2", "`%x = constant 2.0 : f32` before, then write `%v = div %alpha, %x : f32`"),
        ("%v = %A + %A", "elements are read by `load`"),
        ("%v = %i < %i : bool", "write `%v = less_than %i, %i : bool`"),
        ("%v = %a ** 2", "`%x = constant 2.0 : f32` before, then write `%v = pow %a, %x : f32`"),
        ("%v = %A @ %A", "there are no operators: write `gemm`"),
        ("if %i == %i { }", "write `%c = equal %i, %i : bool`"),
        ("if (%i) { }", "operands stand without parentheses"),
        ("if %i { } else if %i { }", "write `else { if %condition { ... } }`"),
        ("%v = exp(%a) : f32", "operands stand without parentheses"),
        ("%v = -%a", "write `%v = neg %a : f32`"),
        ("%v = 1.5", "write `%v = constant 1.5 : f32`"),
        ("%v = 15 : i64", "write `%v = constant 15 : i64`"),
        ("%v = %a", "a value has one name: write %a where it is used"),
        ("%v = %A[%i, %i]", "write `%v = load %A[%i, %i] : f32`"),
        ("%A[%i, %i] = %a", "write `store %a, %A[%i, %i]`"),
        ("A[%i, %i] = 1.0", "`%x = constant 1.0 : f32` before, then write `store %x, %A[%i, %i]`"),
        ("v = add %a, %a : f32", "names of values begin with `%`: `%v = ...`"),
        ("%v = neg f32 %a", "the type stands at the end: `: f32`"),
        ("%v = neg %a : f32*", "there are no pointers"),
        ("%v = arith.addf %a, %a : f32", "did you mean `add`?"),
        ("%v = broadcast %a : f32", "did you mean `subgroup_broadcast`?"),
        ("/* no */", "a comment begins with `;` and ends with its line"),
        ("%a = %a + %alpha", "write `%a1 = add %a, %alpha : f32`"),
        ("%x = %a * 2.0", "`%x1 = constant 2.0 : f32` before, then write `%x = mul %a, %x1 : f32`"),
        ("%v = %a + %a + %a", "each is an instruction of its own"),
        ("%v = -1 * %a", "each is an instruction of its own"),
        ("%v = %a // %a", "each is an instruction of its own"),
        ("%v = %A[%i, %i] + %a", "elements are read by `load`"),
        ("%v = %A[i, j]", "elements are read by `load`"),
        ("%A[%i, %i] += %a", "`load` the element"),
        ("%A[%i, %i] = %a + %a", "elements are read by `load`"),
        ("%a += %a", "a value does not change"),
        ("%v = %i + %a", "convert with `cast`"),
        ("%v = %i * 2.5", "convert with `cast`"),
        ("%v = %a && %a", "`and` takes no f32"),
        ("%v = !%a", "`not` takes no f32"),
        ("%v = (float)%i", "write `%v = cast %i : f32`"),
        ("%v = %i ? %a : %a", "write `%r = select %condition"),
        ("%v = %a if %i else %a", "or `%r = if %condition"),
        ("__syncthreads();", "`barrier.global.local`"),
        ("%v = __shfl_down_sync(%a, 1)", "`subgroup_broadcast` hands out the value of one work-item"),
        ("atomicrmw %a", "`atomic_add`"),
        ("barrier()", "operands stand without parentheses"),
        ("tl.load %a", "it is written %result = load"),
        ("%v = tl.program_id(0)", "did you mean `group_id`?"),
        ("scf.for %k = %i to %i", "it is written %results = for %variable = %start, %stop"),
        ("%v = memref.alloc()", "did you mean `alloca`?"),
        ("linalg.matmul ins(%A)", "did you mean `gemm`?"),
        ("%v = arith.cmpf olt, %a, %a", "compare with `equal`"),
        ("%v = arith.constant 1.0 : f32", "it is written %result = constant value : type"),
        ("for j in range(n):", "it is written %results = for %variable = %start, %stop"),
        ("%v = ADD %a, %a : f32", "mnemonics are written in small letters: `add`"),
    ],
)  # fmt: skip
def test_hints(instruction: str, hint: str) -> None:
    (found,) = check(HEAD + instruction + "\n}\n")
    assert hint in (found.hint or "")


SIDES = [("%a", "%b"), ("%a", "2"), ("2", "%a"), ("%a", "2.5"), ("1e3", "%a")]


@pytest.mark.parametrize("type", SCALARS)
@pytest.mark.parametrize("operator", spelling.OPERATORS)
def test_a_program_in_a_hint_is_right(operator: str, type: str) -> None:
    """With spaces and without; the names are taken that a hint would choose first."""
    head = f"func @f(%a: {type}, %b: {type}, %x: {type}, %c: {type}) {{\n"
    for left, right in SIDES:
        for space in ("", " "):
            (found,) = check(f"{head}%v = {left}{space}{operator}{space}{right}\n}}\n")
            lines = re.findall(r"`(%[^`]*)`", found.hint or "")
            if lines and not lines[0].startswith(("%r", "%c = add")):
                assert check(head + "\n".join(lines) + "\n}\n") == []
                used = " ".join(lines)
                assert all(side.replace("2.5", "2") in used for side in (left, right)) and "%v = " in used
            else:
                assert found.hint


@pytest.mark.parametrize("type", SCALARS)
def test_the_families_of_operands_are_those_of_the_rules(type: str) -> None:
    family = "bool" if type == "bool" else NUMBERS[type].family
    for mnemonic, families in spelling.OPERAND_FAMILIES.items():
        operands = "%a" if mnemonic in ("neg", "not") else "%a, %a"
        result = "bool" if issubclass(TILE_LANGUAGE.ops[mnemonic], Comparison) else type
        text = f"func @f(%a: {type}) {{\n%v = {mnemonic} {operands} : {result}\n}}\n"
        taken = family in families and NUMBERS.get(type) not in EIGHT_BIT_FLOATS
        assert (check(text) == []) == taken, text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("func.func @f() {\n}\n", "a kernel begins with `func`"),
        ("module {\n}\n", "no module stands around functions"),
        ("__global__ void f() {\n}\n", "a kernel begins with `func`"),
        ("func @f(%v: f16x4) {\n}\n", "memory with a shape is a memref"),
        ("fnc @f() {\n}\n", "did you mean `func`?"),
        ("barrier\n", "instructions stand in the body of a function: func @name() { ... }"),
        ("func f() {\n}\n", "write `@f`"),
        ("func %f() {\n}\n", "write `@f`"),
        ("func @f() {\n}\n}\n", "every `{` before it is closed already"),
        ("// a comment\n", "a comment begins with `;`"),
        ("# a comment\n", "a comment begins with `;`"),
        ("func @f(%\N{LATIN SMALL LETTER E WITH ACUTE}: f32) {\n}\n", "names are ASCII letters, digits and `_`"),
        ("func @f(%a f32) {\n}\n", "a parameter is written `%a: type`"),
        ("func @f(%A: memref<f32x4> {alignmnt=4}) {\n}\n", "did you mean `alignment`?"),
        ("func @f(%A: memref<f32x4> {author=4}) {\n}\n", 'a name of your own is written in quotes: "author"'),
        ("func @f(%G: group<f32x4>) {\n}\n", "group<memref<f32x16>x8>"),
        ("func @f(%G: group<memref<f32x4>>) {\n}\n", "a group has a size"),
        ("func @f(%a: void) {\n}\n", "leave the type out"),
        ("def @f() {\n}\n", "a kernel begins with `func`"),
        ("@f() {\n}\n", "a kernel begins with `func`"),
        ("func @f() -> f32 {\n}\n", "a function returns nothing"),
        ("func @f(A: memref<f32x4>) {\n}\n", "a parameter is written `%A: type`"),
        ("func @f(float %a) {\n}\n", "the type of a parameter stands behind its name: `%a: f32`"),
        ("func @f(%A: f32*) {\n}\n", "memory with a shape is a memref"),
        ("func @f(%A: tensor<f32x4>) {\n}\n", "memory with a shape is a memref"),
        ("func @f(%A: memref<?xf32>) {\n}\n", "the element type stands before the shape"),
        ("func @f(%A: memref<f32xN>) {\n}\n", "`?` is what is known at launch only"),
        ("func @f(%A: memref<f32x4x5,strided<5,1>>) {\n}\n", "swap the modes, memref<f32x5x4>"),
        ("func @f(%A: memref<f32x5x?,strided<?,1>>) {\n}\n", "swap the modes, memref<f32x?x5>"),
        ("func @f(%A: memref<f32x4x4,strided<1,2>>) {\n}\n", "at least the stride before it times the size"),
        ('func @f(%A: memref<f32x4> {"align"=4}) {\n}\n', "written without quotes: alignment=..."),
        ('func @f(%A: memref<f32x4> {"unroll"=4}) {\n}\n', "written without quotes: unroll=..."),
        ('func @f() attributes {"warp_size"=8} {\n}\n', "written without quotes: subgroup_size=..."),
        ('func @f() attributes {allow="tf32"} {\n}\n', 'write allow=["tf32"]'),
        ("func @f() attributes {allow=[tf32]} {\n}\n", 'in quotation marks: "tf32"'),
        ("func @f() attributes {fast_math=true} {\n}\n", "did you mean `allow`?"),
        ("func @f() attributes {stages=2} {\n}\n", "names its machine: hopper={stages=...}"),
        ("func @f() attributes {pipeline=true} {\n}\n", "`pipeline` is an attribute of a `for`"),
        ("func @f() attributes {workgroup_size=[8,1]} {\n}\n", "did you mean `work_group_size`?"),
    ],
)
def test_hints_outside_of_bodies(text: str, hint: str) -> None:
    assert hint in (check(text)[0].hint or "")


@pytest.mark.parametrize("word", ["icmq", "erg", "qround", "dots", "reld", "floo", "colla", "asset", "contain", "bin"])
def test_no_guess_is_far_fetched(word: str) -> None:
    (found,) = check(f"{HEAD}%v = {word} %a : f32\n}}\n")
    assert found.hint is None


def test_hints_name_instructions_that_there_are() -> None:
    tables = {**spelling.FOREIGN_INSTRUCTIONS, **spelling.COMPARISONS}
    assert set(tables.values()) <= set(TILE_LANGUAGE.ops)
    assert not TILE_LANGUAGE.ops.keys() & (tables.keys() | spelling.INSTEAD.keys())
    assert not tables.keys() & spelling.INSTEAD.keys()
    for text in spelling.INSTEAD.values():
        words = {named.split(".")[0].split(" ")[0] for named in re.findall(r"`([a-z][^`]*)`", text)}
        assert words - {"else"} <= set(TILE_LANGUAGE.ops), text
    for mnemonic in spelling.OPERATORS.values():
        assert mnemonic in TILE_LANGUAGE.ops or mnemonic in spelling.INSTEAD or mnemonic in tables
    assert set(spelling.FOREIGN_ATTRIBUTES.values()) <= set(ATTRIBUTE_NAMES)


def test_a_value_of_a_region_that_has_ended() -> None:
    (found,) = check("func @f() {\nparallel {\n%q = constant 1 : i32\n}\n%r = neg %q : i32\n}\n")
    assert [text for _, text in found.labels] == ["not defined here", "%q was defined here, in a region that has ended"]
    assert found.hint == "a region's values are not visible outside: return them with `yield`"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("func @f() {\n\0\n}\n", "found `\\x00`, which has no meaning here"),
        ("func @f() {\n\N{LATIN SMALL LETTER E WITH ACUTE}\n}\n", "found `\N{LATIN SMALL LETTER E WITH ACUTE}`"),
        ('func @f(%a: f32) attributes {"name} {\n}\n', "found a string that does not end on its line"),
        ("func @f(", "found the end of the text"),
        ("func @\ud800() {\n}\n", "expected a function name such as `@f`, found `@`"),
    ],
)
def test_what_was_found_is_quoted(text: str, found: str) -> None:
    assert found in check(text)[0].message
