"""The syntax that the reference shows for an instruction."""

from __future__ import annotations

import pytest

from girih.ir.syntax import syntax
from girih.ops.tile import TILE_LANGUAGE

EXPECTED = {
    "barrier": '"barrier" [".global"] [".local"]',
    "axpby": '"axpby" [".atomic"] [".n" / ".t"] %alpha "," %a "," %beta "," %b',
    "group_id": '%result "=" "group_id" (".x" / ".y" / ".z") ":" type',
    "constant": '%result "=" "constant" constant ":" type',
    "alloca": '%result "=" "alloca" [dictionary-attribute] ":" type',
    "size": '%result "=" "size" %tensor "[" integer "]" ":" type',
    "expand": '%result "=" "expand" %tensor "[" integer "->" (%sizes / integer) *("x" (%sizes / integer)) "]" ":" type',
    "subview": '%result "=" "subview" %tensor "[" [(%offset / integer) [":" (%size / integer)] '
    '*("," (%offset / integer) [":" (%size / integer)])] "]" ":" type',
    "if": '[%results *("," %results) "="] "if" %condition ["->" "(" type *("," type) ")"] region ["else" region]',
    "for": '[%results *("," %results) "="] "for" %variable "=" %start "," %stop ["," %step] '
    '["init" "(" %carried "=" %initial *("," %carried "=" %initial) ")" "->" "(" type *("," type) ")"] region '
    '["attributes" dictionary-attribute]',
    "foreach": '"foreach" "(" %variables *("," %variables) ")" "=" "(" [%start *("," %start)] ")" "," '
    '"(" [%stop *("," %stop)] ")" region',
    "tensor_layout_slice": '%result "=" "tensor_layout_slice" %layout "[" [(%offset / integer) [":" (%size / integer)] '
    '*("," (%offset / integer) [":" (%size / integer)])] "]" ":" type',
    "tensor_view_set_stride": '%result "=" "tensor_view_set_stride" %view "[" [(%numbers / integer) '
    '*("," (%numbers / integer))] "]" ":" type',
    "cooperative_matrix_combine": '%result "=" "cooperative_matrix_combine" (".row" / ".column" / ".all" / ".2x2") '
    '"(" %left "," %right ")" "=" %matrix "->" type region',
    "cooperative_matrix_load_tensor": '%result "=" "cooperative_matrix_load_tensor" %init "," %memory "[" %offset "]" '
    '"," %layout ["," %view] ["decode" "(" %block ":" type "," %coordinates *("," %coordinates) ")" region] ":" type',
    "cooperative_matrix_load_blocked_interleaved": '%result "=" "cooperative_matrix_load" '
    '(".row_blocked_interleaved" / ".column_blocked_interleaved") %memory "[" %offset "]" "," integer ":" type',
    "yield": '"yield" "(" [%values *("," %values)] ")"',
}


@pytest.mark.parametrize("mnemonic", sorted(EXPECTED))
def test_syntax(mnemonic: str) -> None:
    assert syntax(TILE_LANGUAGE.ops[mnemonic].spec) == EXPECTED[mnemonic]


@pytest.mark.parametrize("mnemonic", sorted(TILE_LANGUAGE.ops))
def test_every_instruction_has_a_balanced_syntax(mnemonic: str) -> None:
    found = syntax(TILE_LANGUAGE.ops[mnemonic].spec)
    outside = " ".join(found.split('"')[::2])
    assert f'"{TILE_LANGUAGE.ops[mnemonic].spec.word}"' in found
    for opening, closing in ("[]", "()"):
        assert outside.count(opening) == outside.count(closing)
