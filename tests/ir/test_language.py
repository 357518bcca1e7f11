"""A language is a value: a second one is checked, printed, read, interpreted and compiled by what serves the first."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from girih.api import compile_module
from girih.diagnostics import Diagnostic, errors
from girih.front.text.format import format_source
from girih.front.text.parser import parse_text
from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Module, Op, RegionKind, Value
from girih.ir.define import Where, op, operand
from girih.ir.kinds import NUMBER
from girih.ir.language import Language, LanguageBuilder
from girih.ir.syntax import syntax
from girih.ir.types import BOOL, F32, I32, INDEX, MemRef, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Constant, Unary
from girih.ops.tile.memory import Store
from girih.rules.predicates import Holds
from girih.rules.row import Row
from girih.source import Source, Span
from tests.ir.modules import modules
from tests.ir.tiny import TINY, Celsius, Twice, cpu_knows_it

TEXT = """func @f(%A: memref<f32x2>, %a: f32) {
    %b = block {
        %two = constant 2 : f32
        %c = twice %a : f32
        store %two, %A[0]
        leave (%c)
    } -> (f32)
    %d = twice %b : f32
    store %d, %A[1]
}
"""


def read(text: str, language: Language = TINY) -> tuple[Module, list[Diagnostic]]:
    return parse_text(Source(text, "f.tiny"), language)


def codes(text: str, language: Language = TINY) -> list[str]:
    module, problems = read(text, language)
    return [d.code for d in [*problems, *check_module(module)]]


def body(*lines: str) -> str:
    return "func @f(%A: memref<f32x2>, %a: f32, %i: i32) {\n" + "\n".join(lines) + "\n}\n"


# --- checked ---------------------------------------------------------------------------------


def test_its_own_program_is_right() -> None:
    assert codes(TEXT) == []


def test_its_own_rules_are_checked() -> None:
    assert codes(body("%b = twice %a : i32")) == ["twice.result_type"]
    assert codes(body("leave (%a)")) == ["leave.parent"]
    assert codes(body("%b = block {", "} -> (f32)")) == ["block.leave"]
    assert codes(body("%b = block {", "leave (%i)", "} -> (f32)")) == ["block.leave"]


def test_it_has_no_other_instructions_and_types() -> None:
    assert codes(body("%b = add %a, %a : f32")) == ["syntax.mnemonic"]
    assert codes("func @f(%c: coopmatrix<f32x8x8,matrix_a>) {\n}\n") == ["type.unknown"]
    assert codes("func @f(%c: bool) {\n}\n") == ["type.unknown"]
    (fault,) = read("func @f(%c: bool) {\n}\n")[1]
    assert fault.hint == "the types are " + ", ".join(
        ["i8", "i16", "i32", "i64", "index", "f8e4m3", "f8e5m2", "bf16", "f16", "f32", "f64", "c32", "c64", "memref"]
    )


def test_a_shared_instruction_keeps_its_other_rules() -> None:
    assert codes(body("store %i, %A[0]")) == codes(body("store %i, %A[0]"), TILE_LANGUAGE) == ["store.type"]
    negative = "func @f(%A: memref<f32x4,strided<-1>>) {\n}\n"
    assert codes(negative) == codes(negative, TILE_LANGUAGE) == ["type.stride_positive"]


def test_a_relaxed_rule_accepts_what_the_other_language_rejects() -> None:
    loose = body("%b = constant 2 : f32", "store %b, %A[0]")
    assert codes(loose) == []
    assert codes(loose, TILE_LANGUAGE) == ["constant.literal"]


def test_a_rule_that_is_added_holds_in_this_language_only() -> None:
    cold = body("%b = constant -300 : i32")
    assert codes(cold) == ["constant.least"]
    assert codes(cold, TILE_LANGUAGE) == []


def test_the_same_instructions_in_two_languages_are_two_programs() -> None:
    text = body("store %a, %A[0]")
    (function,) = read(text)[0].functions
    moved = Module((replace(function, language=TILE_LANGUAGE),))
    assert moved != Module((function,))
    assert moved == Module((replace(function, language=TILE_LANGUAGE),))


def in_language(text: str, language: Language) -> list[tuple[str, str]]:
    """What is told of a function of the tile language as one of another: codes and first words."""
    (function,) = read(text, TILE_LANGUAGE)[0].functions
    return [(d.code, d.span.text.split()[0]) for d in check_module(Module((replace(function, language=language),)))]


def test_instructions_of_another_language_are_told_of() -> None:
    text = "func @f(%A: memref<f32x2>, %c: bool) {\nparallel {\n%x = load %A[0] : f32\nstore %x, %A[5]\n}\n}\n"
    assert in_language(text, TILE_LANGUAGE) == [("store.bounds", "5")]
    assert in_language(text, TINY) == [
        ("type.language", "%c:"),
        ("name.instruction", "parallel"),
        ("name.instruction", "%x"),
        ("store.bounds", "5"),
    ]


def test_an_instruction_with_the_mnemonic_of_another_is_told_of() -> None:
    a = parameter("a", F32)
    other = LanguageBuilder("other", (Number,))
    other.rules("func", Row("none", "", Holds("a name", lambda s: bool(s.op.name)), "it has a name", "here"))

    @op(other, "twice", Where.SPMD, "here", "a")
    class OtherTwice(Op):
        """An instruction of the same name."""

        a: Value = operand(NUMBER, "a number")

    language = other.finish("nowhere.OTHER")
    body = RegionBuilder(TINY, RegionKind.COLLECTIVE)
    body.add("twice", F32, a=a.value)
    (found,) = check_module(Module((replace(body.function("f", [a]), language=language),)))
    assert (found.code, found.message) == ("name.instruction", "`twice` is not an instruction of the language other")
    assert language.ops["twice"] is OtherTwice


def test_types_of_another_language_are_told_of_wherever_values_are_defined() -> None:
    hot, start, stop = parameter("hot", Celsius()), parameter("start", INDEX), parameter("stop", INDEX)
    body = RegionBuilder(TILE_LANGUAGE)
    variable = Value("i", Celsius())
    body.add("for", variable=variable, start=start.value, stop=stop.value, body=body.inner().region())
    found = check_module(Module((body.function("f", [hot, start, stop]),)))
    assert [d.code for d in found if d.code == "type.language"] == ["type.language"] * 2
    assert {d.message for d in found if d.code == "type.language"} == {"celsius is not a type of the language tile"}


# --- printed and read ------------------------------------------------------------------------


def test_what_is_printed_reads_back() -> None:
    module, _ = read(TEXT)
    assert str(module) == TEXT
    assert read(str(module))[0] == module
    assert format_source(Source(TEXT), TINY) == (TEXT, [])


@settings(max_examples=12)
@given(modules(TINY))
def test_a_made_module_reads_back(module: Module) -> None:
    again, problems = read(str(module))
    assert again == module
    assert errors(problems) == []


def test_its_syntax_follows() -> None:
    assert syntax(TINY.ops["twice"].spec) == '%result "=" "twice" %a ":" type'
    assert syntax(TINY.ops["leave"].spec) == '"leave" "(" [%values *("," %values)] ")"'


def test_a_type_of_its_own_is_built_checked_and_printed() -> None:
    degrees = parameter("t", Celsius())
    builder = RegionBuilder(TINY)
    builder.add("twice", Celsius(), a=degrees.value, names=["u"])
    module = Module((builder.function("f", [degrees]),))
    assert check_module(module) == []
    assert str(module) == "func @f(%t: celsius) {\n    %u = twice %t : celsius\n}\n"
    with pytest.raises(TypeError, match="the language tile has no type celsius"):
        RegionBuilder(TILE_LANGUAGE).add("constant", Celsius(), value=1)


# --- built -----------------------------------------------------------------------------------


def test_what_is_built_points_to_its_source() -> None:
    source = Source("twice a\nfor all\n", "f.py")
    here, operand, loop = Span(source, 0, 7), Span(source, 6, 7), Span(source, 8, 15)
    a = parameter("a", F32, span=operand)
    builder = RegionBuilder(TINY)
    builder.add("twice", I32, a=a.value, names=["b"], span=here, uses={"a": (operand,)})
    (found,) = check_module(Module((builder.function("f", [a], span=loop),)))
    assert found.code == "twice.result_type"
    assert (found.span.file, found.span.line, found.span.column) == ("f.py", 1, 7)


def test_a_region_is_of_the_kind_of_bodies_unless_another_is_asked_for() -> None:
    assert RegionBuilder(TINY).region().kind is RegionKind.SPMD
    assert RegionBuilder(TILE_LANGUAGE).region().kind is RegionKind.COLLECTIVE
    assert RegionBuilder(TILE_LANGUAGE, RegionKind.SPMD).inner().kind is RegionKind.SPMD


# --- executed --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_program_runs(target: str) -> None:
    with cpu_knows_it():
        kernel = compile_module(read(TEXT)[0], target)["f"]
        array = np.zeros(2, np.float32)
        kernel(array, 1.5)
    np.testing.assert_array_equal(array, [2.0, 6.0])


# --- put together ----------------------------------------------------------------------------

ROW = Row("never", "", Holds("never", lambda s: False), "this never holds", "tests")


def empty(*types: type[Number]) -> LanguageBuilder:
    return LanguageBuilder("empty", types)


def test_a_finished_language_is_closed() -> None:
    builder = empty(Number)
    language = builder.finish("nowhere")
    with pytest.raises(ValueError, match="the language empty: it is finished"):
        builder.rules("func", ROW)
    with pytest.raises(ValueError, match="the language empty: it is finished"):
        builder.share(TILE_LANGUAGE, Store)
    assert not any(hasattr(held, "__setitem__") for held in (language.ops, language.words, language.rules))
    assert dict(language.rules) == {"func": (), "parameter": (), "type": ()}


def test_only_what_the_other_language_has_is_shared() -> None:
    builder = empty()
    with pytest.raises(ValueError, match="tile has no `twice` to share"):
        builder.share(TILE_LANGUAGE, Twice)
    with pytest.raises(ValueError, match=r"tile has no rule constant\.loudness"):
        builder.share(TILE_LANGUAGE, Constant, without=["literal", "loudness"])
    with pytest.raises(ValueError, match="rules of `constant`, which is not declared"):
        builder.rules(Constant, ROW)
    builder.share(TILE_LANGUAGE, Constant)
    with pytest.raises(ValueError, match="`constant` is declared twice"):
        builder.share(TILE_LANGUAGE, Constant)
    with pytest.raises(ValueError, match=r"rule constant\.literal is declared twice"):
        builder.rules(Constant, replace(ROW, id="literal"))


def test_instructions_that_share_a_word_need_the_one_of_that_name() -> None:
    shared = next(iter(TILE_LANGUAGE.words.values()))[0]
    builder = empty()
    builder.share(TILE_LANGUAGE, TILE_LANGUAGE.ops[shared.mnemonic])
    with pytest.raises(ValueError, match=f"instructions share the word `{shared.word}`, which is none"):
        builder.finish("nowhere")


def test_the_members_of_a_family() -> None:
    members = [declared.spec.mnemonic for declared in TILE_LANGUAGE.family(Unary)]
    assert members == ["abs", "neg", "not", "conj", "im", "re"]
    assert TINY.family(Unary) == ()


def test_a_language_is_one_value_in_a_process() -> None:
    assert pickle.loads(pickle.dumps(TINY)) is copy.deepcopy(TINY) is TINY
    assert repr(TINY) == "<language tiny: 5 instructions>"
    assert TINY.has_type(MemRef.packed(F32, ())) and not TINY.has_type(BOOL)
