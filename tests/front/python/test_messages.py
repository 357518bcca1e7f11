"""What rules say of texts is said of Python."""

from __future__ import annotations

import re

import pytest

from girih.front.python.translate import read, translate
from girih.front.python.words.messages import in_python, judged_in_python
from girih.ir.check import check_module
from girih.ops.tile import TILE_LANGUAGE
from tests.front.python.printer import Kernel
from tests.front.python.test_round_trip import loaded
from tests.front.python.test_spellings import HEAD
from tools.pages import spellings


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("convert it first: `%x = cast %k : f32`", "convert it first: `gl.f32(k)`"),
        ("cast first: `%wide = cast %a : coopmatrix<f16x8x4,matrix_a>`", "cast first: `gl.cast(a, gl.f16)`"),
        ("put it into `parallel { ... }`, `foreach`", "put it into `with gl.parallel():`, `gl.foreach`"),
        ("a `barrier.global` between them", 'a `gl.barrier("global")` between them'),
        ("a `barrier.global.local`, a `barrier`", 'a `gl.barrier("global", "local")`, a `gl.barrier`'),
        ("scale it with `cooperative_matrix_scale`", "scale it with `alpha * m`"),
        ("`sin` takes a float; found: % has type bool", "`gl.sin` takes a float; found: it has type bool"),
        ("the value of %x is memref<f32x?x4>, not memref<f64,strided<1>>",
         "the value of `x` is gl.Matrix[gl.f32], not gl.Scalar[gl.f64]"),
        ("tensor: memref<bf16x?x?x8,strided<1,?,?>,local>", "tensor: gl.Array[gl.bf16, Literal[3]]"),
        ("found: type(value) is index, element_type(tensor) is f32",
         "found: the type of `value` is index, the element type of `tensor` is f32"),
        ("`cooperative_matrix_load.row_blocked_interleaved` outside %A", "`gl.load_blocked_interleaved` outside `A`"),
        ("`tensor_copy_reduce.add` through %T", "`gl.tensor_copy_reduce` through `T`"),
        ("%A is a view or a parameter, `alpha` is not", "`A` is a view or a parameter, `alpha` is not"),
    ],
)  # fmt: skip
def test_texts_become_python(text: str, python: str) -> None:
    assert in_python(text) == python


def test_no_rule_speaks_of_instructions_by_names_that_python_does_not_have() -> None:
    """Every mnemonic in backticks becomes something else, or is a keyword of both."""
    said = [row.says for rows in TILE_LANGUAGE.rules.values() for row in rows]
    left = {name for words in map(in_python, said) for name in re.findall(r"`(\w+)`", words)}
    assert left & set(TILE_LANGUAGE.ops) <= {"for", "if", "yield", "constant"}


def test_the_checker_speaks_of_python() -> None:
    text = HEAD + "    with gl.parallel():\n        gl.bitcast(k, gl.i64)\n    gl.lifetime_stop(A)\n"
    kernel = read(loaded(Kernel("kernel", text, spellings.specialised(()))))
    module = translate(kernel, spellings.specialised(kernel.parameters))
    found = [(d.code, d.message.partition("found: ")[2], d.hint) for d in judged_in_python(check_module(module))]
    assert found == [
        ("bitcast.size", "bytes(result) is 8, bytes(a) is 4", "i32 is as large as f32"),
        ("lifetime_stop.alloca", "`A` is a view or a parameter", None),
    ]
