"""Hints for texts that cannot be read: what the author may have meant, by the tables of `spelling` and by the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from girih.diagnostics import nearest
from girih.front.text.expressions import is_type
from girih.front.text.spelling import (
    COMPARISONS,
    FOREIGN_INSTRUCTIONS,
    FOREIGN_TYPES,
    FUNCTION_WORDS,
    INSTEAD,
    MEMORY_TYPES,
)
from girih.ir.core import Op
from girih.ir.syntax import template

Ops = Mapping[str, type[Op]]

BEGINS_WITH_FUNC = "a kernel begins with `func`: func @name(%A: memref<f32x?>) { ... }"
NO_MODULE = "no module stands around functions: a text is one function after the other, func @name(...) { ... }"
NO_RESULT = "a function returns nothing: results are stored in memrefs, with `store`"
NO_PARENTHESES = "operands stand without parentheses"
NO_TYPE = "the instruction before it has no type at its end"

_ASSIGNED = re.compile(r"[ \t]*=(?!=)[ \t]*(?P<value>[^\s;]+)")


def similar(word: str, mnemonics: Collection[str]) -> str | None:
    """The mnemonic that a word misspells: a few letters differ, or it is only its last part. None if there is none."""
    longer = [m for m in mnemonics if len(word) > 3 and m.endswith("_" + word)]
    if len(longer) == 1:
        return longer[0]
    # The nearest by common letters may still be another word: `call` does not misspell `alloca`.
    mnemonic = nearest(word, mnemonics)
    if mnemonic is None or _distance(word, mnemonic) > 1 + (len(word) > 4):
        return None
    return mnemonic if word[0] == mnemonic[0] or word in mnemonic or mnemonic in word else None


def _distance(a: str, b: str) -> int:
    """The number of letters left out, added, changed, or swapped with their neighbours (Damerau 1964)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        two_before, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[-1] = min(row[-1], two_before[j - 2] + 1)
    return row[-1]


def for_mnemonic(ops: Ops, word: str, following: str) -> str | None:
    """The hint for a word that is not an instruction, None without one; `following` is the rest of its line."""
    if word in ops:
        return f"it is written {template(ops[word].spec)}"
    owner = next((d.spec for d in ops.values() if word in d.spec.format and word not in d.spec.roles), None)
    if owner is not None:
        return f"`{word}` is a part of another instruction: {template(owner)}"
    elsewhere = COMPARISONS.get(word) or FOREIGN_INSTRUCTIONS.get(word.removeprefix("Op"))
    if elsewhere in ops:
        return f"did you mean `{elsewhere}`?"
    if word in INSTEAD:
        return INSTEAD[word]
    if is_type(word):
        return f"convert with `cast`; {INSTEAD['let']}"
    if word != word.lower() and word.lower() in ops:
        return f"mnemonics are written in small letters: `{word.lower()}`"
    close = similar(word, [mnemonic for mnemonic, declared in ops.items() if declared.spec.word == mnemonic])
    if close is not None:
        return f"did you mean `{close}`?"
    assigned = _ASSIGNED.match(following)
    if assigned is not None:
        return f"names of values begin with `%`: `%{word} = ...`"
    return None


def behind_string(text: str, end: int, start: int) -> str | None:
    """The hint for what cannot begin an instruction at `start`, behind a string on its line that ends at `end`."""
    if end == 0 or text[end - 1] != '"' or "\n" in text[end:start]:
        return None
    if text[end - 2] == "\\":
        return "a string has no escapes: it ends at the next quotation mark"
    return 'a string has one text; values stand behind a comma, as in `print "here", %x`'


def for_type(word: str) -> str | None:
    """The hint for a word that is not a type; None without one."""
    if word in FOREIGN_TYPES:
        return f"did you mean `{FOREIGN_TYPES[word]}`?"
    shape = re.search(r"x[0-9x]+$", word)
    shaped = word in MEMORY_TYPES or (shape is not None and is_type(word[: shape.start()]))
    return "memory with a shape is a memref: memref<f32x?x?>" if shaped else None


def for_function(word: str) -> str | None:
    """The hint for a word where a function should begin; None without one."""
    if word in FUNCTION_WORDS:
        return NO_MODULE if word == "module" else BEGINS_WITH_FUNC
    return "did you mean `func`?" if nearest(word, ["func"]) else None
