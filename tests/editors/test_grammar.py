"""editors/girih.tmLanguage.json is what today's language gives, and gives each part of a program its scope."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from girih.highlighting.grammar import grammar
from girih.ir.types import SCALARS
from girih.ops.tile import TILE_LANGUAGE

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "editors" / "girih.tmLanguage.json").read_text(encoding="utf-8")
PATTERNS = [
    (entry["name"].removesuffix(".girih"), re.compile(entry["match"])) for entry in json.loads(TEXT)["patterns"]
]


def scopes(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line with their scopes: the leftmost match, and of those the first pattern, as editors do it."""
    position = 0
    while position < len(line):
        found = [(match.start(), k) for k, (_, p) in enumerate(PATTERNS) if (match := p.search(line, position))]
        if not found:
            return
        scope, pattern = PATTERNS[min(found)[1]]
        match = pattern.search(line, position)
        assert match is not None
        assert match.end() > position, f"{scope} matches nothing at {line[position:]!r}"
        yield match.group(), scope
        position = match.end()


def test_the_grammar_is_up_to_date() -> None:
    assert grammar(TILE_LANGUAGE) == TEXT, "run `make generate`"


SAMPLE = {
    'func @f(%A: memref<f32x4x?,strided<1,?>,local> {alignment=64, "mine"="a ; b"}) {': [
        ("func", "storage.type.function"), ("@f", "entity.name.function"), ("%A", "variable.other.local"),
        ("memref", "storage.type.composite"), ("f32", "storage.type"), ("x", "keyword.operator.shape"),
        ("4", "constant.numeric.integer"), ("strided", "storage.modifier.type"), ("local", "storage.modifier.type"),
        ("alignment", "entity.other.attribute-name"), ('"a ; b"', "string.quoted.double"), ("{", "punctuation"),
    ],
    "  %x = load %A[%i, 3] : f32 ; add": [
        ("load", "support.function.instruction"), (":", "keyword.operator"), ("; add", "comment.line.semicolon"),
    ],
    "gemm.atomic.n.t %alpha, %a, %b, %beta, %c": [
        ("gemm", "support.function.instruction"), (".atomic", "storage.modifier.instruction"),
        (".n", "storage.modifier.instruction"), ("%alpha", "variable.other.local"),
    ],
    "%y = constant -1.5e-3 : f64": [("-1.5e-3", "constant.numeric.float"), ("f64", "storage.type")],
    "%y = constant 0x1.8p3 : f64": [("0x1.8p3", "constant.numeric.float")],
    "%y = constant [-inf, 2.] : c32": [("-inf", "constant.language"), ("2.", "constant.numeric.float")],
    "%y = constant true : bool": [("true", "constant.language"), ("bool", "storage.type")],
    "$n = !calc($m 2 ^ 3 %)": [
        ("$n", "constant.other.definition"), ("!calc", "support.function.calculation"), ("^", "keyword.operator"),
        ("%", "keyword.operator"), ("3", "constant.numeric.integer"),
    ],
    "%t = tensor_layout_create : tensor_layout<2, constant>": [
        ("tensor_layout_create", "support.function.instruction"), ("tensor_layout", "storage.type.composite"),
        ("2", "constant.numeric.integer"), ("constant", "storage.modifier.type"),
    ],
    "%v = tensor_view_create : tensor_view<2,true,1,0>": [
        ("tensor_view", "storage.type.composite"), ("true", "constant.language"),
    ],
    "%c = constant 1 : coopmatrix<i8x4x4,matrix_acc,work_group>": [
        ("constant", "support.function.instruction"), ("work_group", "storage.modifier.type"),
    ],
    "%t, %v decode (%b: memref<i8x18>, %i, %k) {": [("decode", "keyword.other"), ("memref", "storage.type.composite")],
    "%r = cooperative_matrix_combine.2x2 (%x,%y)=%m -> coopmatrix<f32x2x2,matrix_acc> {": [
        ("cooperative_matrix_combine", "support.function.instruction"), (".2x2", "storage.modifier.instruction"),
    ],
    "%n = subgroup_size : i32": [("subgroup_size", "support.function.instruction")],
    "attributes {subgroup_size=16}": [
        ("attributes", "keyword.other"), ("subgroup_size", "entity.other.attribute-name"),
    ],
    "%r = if %c -> (index) {": [("if", "keyword.control"), ("->", "keyword.operator"), ("index", "storage.type")],
    "} else {": [("else", "keyword.other")],
    "%s = for %k = %a, %b init(%c=%d) -> (coopmatrix<f16x8x $n, matrix_acc>) {": [
        ("for", "keyword.control"), ("init", "keyword.other"), ("coopmatrix", "storage.type.composite"),
        ("f16", "storage.type"), ("matrix_acc", "storage.modifier.type"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("line", SAMPLE)
def test_a_line_gets_its_scopes(line: str) -> None:
    found = list(scopes(line))
    assert [wanted for wanted in SAMPLE[line] if wanted not in found] == []


@pytest.mark.parametrize("mnemonic", TILE_LANGUAGE.ops)
def test_every_mnemonic_gets_a_scope(mnemonic: str) -> None:
    word = TILE_LANGUAGE.ops[mnemonic].spec.word
    found = dict(scopes(f"  %r = {word} %a"))
    assert found[word] in ("keyword.control", "support.function.instruction")
    assert f"%{word}" in dict(scopes(f"%{word} = add %a"))


@pytest.mark.parametrize(
    ("mnemonic", "modifier"),
    [(m, spelling) for m, op in TILE_LANGUAGE.ops.items() for role in op.spec.modifiers for spelling in role.choices],
)
def test_every_modifier_gets_its_scope(mnemonic: str, modifier: str) -> None:
    word = TILE_LANGUAGE.ops[mnemonic].spec.word
    assert dict(scopes(f"{word}.{modifier} %a"))["." + modifier] == "storage.modifier.instruction"


@pytest.mark.parametrize("name", SCALARS)
def test_every_type_gets_its_scope(name: str) -> None:
    for line in (f": {name}", f"memref<{name}x4>", f"(%a: {name})"):
        assert dict(scopes(line))[name] == "storage.type"
