"""Hints for texts that cannot be read: what the author may have meant, by the tables of `spelling` and by the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from girih.diagnostics import nearest
from girih.front.text.spelling import (
    COMPARISONS,
    FOREIGN_INSTRUCTIONS,
    FOREIGN_TYPES,
    FUNCTION_WORDS,
    INSTEAD,
    MEMORY_TYPES,
    OPERATORS,
)
from girih.ir.core import Op, Value
from girih.ir.syntax import template
from girih.ir.types import SCALARS

Ops = Mapping[str, type[Op]]

BEGINS_WITH_FUNC = "a kernel begins with `func`: func @name(%A: memref<f32x?>) { ... }"
NO_RESULT = "a function returns nothing: results are stored in memrefs, with `store`"
NO_PARENTHESES = "operands stand without parentheses"

_BETWEEN = re.compile(
    r"(?P<left>%?\w+)[ \t]*(?P<operator>[-+*/%&|^<>=!@]+)[ \t]*(?P<right>%?[\w.]+)[ \t]*(?::[ \t]*(?P<type>\w+))?",
    re.ASCII,
)
_ELEMENT = re.compile(r"%?(?P<name>\w+)[ \t]*(?P<index>\[[^\]\n]*\])", re.ASCII)
_ASSIGNED = re.compile(r"[ \t]*=(?!=)[ \t]*(?P<value>[^\s;]+)")
_TYPE = re.compile(r"[ \t]*:[ \t]*(\w+)", re.ASCII)
_LITERAL = re.compile(r"[-+]?[0-9][\w.]*", re.ASCII)
_COMPARING = ("equal", "not_equal", "less_than", "less_than_equal", "greater_than", "greater_than_equal")


def similar(word: str, mnemonics: Collection[str]) -> str | None:
    """The mnemonic that a word misspells: a few letters differ, or it is only its last part. None if there is none."""
    longer = [m for m in mnemonics if len(word) > 3 and m.endswith("_" + word)]
    if len(longer) == 1:
        return longer[0]
    # The nearest by common letters may still be another word: `call` does not misspell `alloca`.
    mnemonic = nearest(word, mnemonics)
    if mnemonic is None or _distance(word, mnemonic) > 1 + (len(word) > 4) + (len(word) > 8):
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
    close = similar(word, [mnemonic for mnemonic, declared in ops.items() if declared.spec.word == mnemonic])
    if close is not None:
        return f"did you mean `{close}`?"
    assigned = _ASSIGNED.match(following)
    if assigned is not None:
        return f"names of values begin with `%`: `%{word} = ...`"
    return None


def for_statement(ops: Ops, visible: Mapping[str, Value], text: str, results: Collection[str]) -> str | None:
    """The hint for an expression, `text`, in place of an instruction, None without one; `results` stand before `=`."""
    result = "".join(f"%{name} = " for name in results)
    operation = for_operator(ops, visible, text, result)
    if operation is not None:
        return operation
    element = _ELEMENT.match(text)
    if element is not None and (text.startswith("%") or element["name"] in visible):
        return _element(element, text, result)
    if not results:
        return None
    literal = _LITERAL.match(text)
    if literal is not None:
        kind = "f32" if "." in literal.group() else "i32"
        return f"write `{result}constant {literal.group()} : {_type_after(text, literal.end()) or kind}`"
    if text.startswith("-") and text[1:].lstrip().startswith("%"):
        return f"write `{result}neg {_first_word(text[1:])} : type`"
    if text.startswith("%"):
        return f"a value has one name: write {_first_word(text)} where it is used"
    return None


def for_operator(ops: Ops, visible: Mapping[str, Value], text: str, result: str = "") -> str | None:
    """The hint for an operator between two values; None if `text` does not begin with such an expression."""
    match = _BETWEEN.match(text)
    if match is None or match["operator"] not in OPERATORS:
        return None
    if not all(x[0] == "%" or x in visible or _LITERAL.fullmatch(x) for x in match.group("left", "right")):
        return None
    mnemonic = OPERATORS[match["operator"]]
    if mnemonic not in ops:
        elsewhere = FOREIGN_INSTRUCTIONS.get(mnemonic)
        return INSTEAD.get(mnemonic) or f"there are no operators: write `{elsewhere}`"
    operands = match.group("left", "right")
    literal = next((x for x in operands if _LITERAL.fullmatch(x)), None)
    kind = match["type"] or _scalar(visible, operands)
    shown = ", ".join("%x" if x == literal else "%" + x.lstrip("%") for x in operands)
    written = f"write `{result or '%c = '}{mnemonic} {shown} : {'bool' if mnemonic in _COMPARING else kind}`"
    if literal is not None:
        written = f"`%x = constant {_of_kind(literal, kind)} : {kind}` before, then {written}"
    return f"there are no operators between values: {written}"


def _scalar(visible: Mapping[str, Value], names: Collection[str]) -> str:
    """The type of the first of some values that is a scalar; if none is, the word `type`."""
    values = (visible.get(name.lstrip("%")) for name in names)
    return next((str(v.type) for v in values if v is not None and str(v.type) in SCALARS), "type")


def _of_kind(literal: str, kind: str) -> str:
    """A literal in the form that a constant of a type takes; for floats, with a point."""
    return f"{literal}.0" if literal.lstrip("+-").isdigit() and "f" in kind else literal


def _element(match: re.Match[str], text: str, result: str) -> str | None:
    """The hint for an element in brackets, which is loaded or stored; None if it is neither."""
    place = f"%{match['name']}{match['index']}"
    if result:
        return f"write `{result}load {place} : type`"
    assigned = _ASSIGNED.match(text, match.end())
    if assigned is None:
        return None
    value = assigned["value"]
    return f"write `store {value if value.startswith('%') else '%x'}, {place}`"


def _first_word(text: str) -> str:
    return re.split(r"[\s,:;]", text.lstrip(), maxsplit=1)[0]


def _type_after(text: str, position: int) -> str | None:
    match = _TYPE.match(text, position)
    return match.group(1) if match else None


def for_type(word: str) -> str | None:
    """The hint for a word that is not a type; None without one."""
    if word in FOREIGN_TYPES:
        return f"did you mean `{FOREIGN_TYPES[word]}`?"
    return "memory with a shape is a memref: memref<f32x?x?>" if word in MEMORY_TYPES else None


def is_type(word: str) -> bool:
    """Whether a word is a type, in this language or in another one."""
    return word in SCALARS or word in FOREIGN_TYPES


def for_function(word: str) -> str | None:
    """The hint for a word where a function should begin; None without one."""
    if word in FUNCTION_WORDS:
        return BEGINS_WITH_FUNC
    return "did you mean `func`?" if nearest(word, ["func"]) else None
