"""Every instruction has a Python spelling that examples/spellings.py shows, and every word has a meaning."""

from __future__ import annotations

import inspect
import random
import re

import pytest

import girih.language as gl
from girih.diagnostics import CompileError
from girih.front.python.calls import STATEMENT_WORDS
from girih.front.python.translate import read, translate
from girih.front.python.words import WORDS
from girih.ir.check import check_module
from girih.ir.core import Module
from girih.language.foreign import INSTEAD
from girih.language.words import WORD
from girih.ops.tile import TILE_LANGUAGE
from tests.cases import every_case, long
from tests.front.python.printer import Kernel
from tests.front.python.test_round_trip import loaded
from tools.pages import spellings


def test_every_instruction_stands_in_an_example() -> None:
    shown = spellings.spellings()
    assert set(shown) == set(TILE_LANGUAGE.ops)
    with every_case() as case:
        for mnemonic, (text, python) in shown.items():
            with case(mnemonic):
                assert TILE_LANGUAGE.ops[mnemonic].spec.word in text
                assert python


def test_the_examples_are_accepted_without_a_warning() -> None:
    assert [d.render() for d in check_module(Module(spellings.functions()))] == []


def test_every_word_has_a_meaning() -> None:
    words = spellings.words()
    assert set(words) == set(WORDS) | set(STATEMENT_WORDS)
    assert set(WORDS).isdisjoint(STATEMENT_WORDS)


def test_words_say_what_they_return_and_raise_outside_of_kernels() -> None:
    with every_case() as case:
        for name, word in spellings.words().items():
            with case(name):
                assert getattr(word, WORD) == name
                assert inspect.getdoc(word)
                required = [p for p in inspect.signature(word).parameters.values() if p.default is p.empty]
                positional = [None for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
                named = {p.name: None for p in required if p.kind is p.KEYWORD_ONLY}
                with pytest.raises(gl.OutsideKernelError, match=name) as raised:
                    word(*positional, **named)
                assert "in kernels only" in str(raised.value)


def test_names_of_others_are_answered_with_words() -> None:
    names, every = set(INSTEAD), {*gl.__all__, *gl.NAMED_AS_BUILTINS}
    assert names.isdisjoint(every)
    assert set(TILE_LANGUAGE.ops) - every <= names
    for name in re.findall(r"gl\.(\w+)", " ".join(INSTEAD.values())):
        assert hasattr(gl, name), name


def test_a_name_that_the_language_does_not_have() -> None:
    text = HEAD + "    gl.program_id(0)\n    gl.grop_id(0)\n    gl.cooperative_matrix_scale(x, x)\n"
    kernel = read(loaded(Kernel("kernel", text, spellings.specialised(()))))
    with pytest.raises(CompileError) as raised:
        translate(kernel, spellings.specialised(kernel.parameters))
    assert [(d.code, d.hint) for d in raised.value.diagnostics] == [
        ("python.name", "write gl.group_id(axis)"),
        ("python.name", "did you mean `group_id`?"),
        ("python.name", "write alpha * m"),
    ]


OPERANDS = (
    "A", "X", "I", "G", "T", "x", "n", "b", "k", "m", "t", "v", "A[0, 0]", "A[0:4, 0:4]", "A[n:, :]", "X[0:8]",
    "A.T", "m.T", "1", "-1", "0.5", "1j", "True", "None", "'global'", "'matrix_a'", "'row'", "()", "(1, 2)", "(n, n)",
    "(4, 4)", "gl.f32", "gl.bool_", "gl", "gl.exp", "lambda a: a", "lambda a, b: a + b", "helper", "1 << 70",
    "m @ m", "gl.zeros", "1e999",
)  # fmt: skip

HEAD = """\
import girih.language as gl
from typing import Literal


def helper(a, b):
    return a


def kernel(A: gl.Matrix[gl.f32], X: gl.Vector[gl.f32], I: gl.Vector[gl.i8], G: gl.Group[gl.Matrix[gl.f32]],
           T: gl.TensorMap[gl.f32, Literal[2]], x: gl.f32, n: gl.index, b: gl.bool_, k: gl.i32) -> None:
"""


def calls(seed: int, count: int) -> list[str]:
    """Calls of words with operands that mostly have no meaning there."""
    drawn = random.Random(seed)
    names = sorted(WORDS)
    found = []
    for _ in range(count):
        name = drawn.choice(names)
        parameters = [p for p in inspect.signature(spellings.words()[name]).parameters.values() if p.name != "self"]
        arguments = []
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL:
                arguments += [drawn.choice(OPERANDS) for _ in range(drawn.randrange(4))]
            elif p.default is p.empty or drawn.random() < 0.3:
                keyword = p.kind is p.KEYWORD_ONLY or any("=" in a for a in arguments)
                arguments.append((f"{p.name}=" if keyword else "") + drawn.choice(OPERANDS))
        owner, _, method = name.rpartition(".")
        called = {"TensorLayout": "t.", "TensorView": "v.", "": "gl."}[owner] + method
        found.append(f"{called}({', '.join(arguments)})")
    return found


@pytest.mark.parametrize("seed", [0, *long(range(1, 40))])
def test_no_call_of_a_word_crashes(seed: int) -> None:
    """Words in work-items, and of the whole work-group, are accepted, or refused with a diagnostic each."""
    inside = ["with gl.parallel():", "    m = gl.zeros((4, 4), gl.f32)", "    t = gl.tensor_layout(2)",
              "    v = gl.tensor_view(2)", *(f"    {call}" for call in calls(seed, 300))]  # fmt: skip
    outside = [call for call in calls(-1 - seed, 200) if "m" not in call.split("(")[1] and call[0] not in "tv"]
    body = "\n".join("    " + line for line in [*inside, *outside])
    function = loaded(Kernel("kernel", HEAD + body + "\n", spellings.specialised(())))
    kernel = read(function)
    with pytest.raises(CompileError) as raised:
        translate(kernel, spellings.specialised(kernel.parameters))
    every = raised.value.diagnostics
    assert len(every) > 100
    with every_case() as case:
        for diagnostic in every:
            with case(diagnostic.render()):
                assert diagnostic.code.startswith("python.")
                assert diagnostic.span.text
