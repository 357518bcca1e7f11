"""Hints for expressions of other languages that stand where an instruction should: `%c = %a + %b`, `A[%i] = %x`.

A hint holds a program only where it says all of what the author wrote, with types that are right as far as they are
known; any other hint is in words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from girih.front.text.spelling import FOREIGN_INSTRUCTIONS, FOREIGN_TYPES, INSTEAD, OPERAND_FAMILIES, OPERATORS
from girih.ir.core import Op, Value
from girih.ir.types import EIGHT_BIT_FLOATS, ERROR, SCALARS, Boolean, CoopMatrix, Number, Type, element_type

Ops = Mapping[str, type[Op]]

EACH_ITS_OWN = "there are no operators: each is an instruction of its own, such as `%c = add %a, %b : f32`"
ELEMENTS = "elements are read by `load` and written by `store`, with values or integers as indices: %A[%i, 0]"
UPDATE = "`load` the element, compute the new one, then `store` it"
NEW_NAME = "a value does not change: give the result of the instruction a new name"
SCALE = "multiply a matrix by a scalar with `cooperative_matrix_scale`"
CHOICE = (
    "write `%r = select %condition, %a, %b : f32`, or `%r = if %condition -> (f32) { yield (%a) } else { yield (%b) }` "
    "where a side must not be computed"
)
CONVERT = "the operands of an instruction have one type: convert with `cast`"

_END = r"[ \t\r]*(?=[;{}\n]|$)"
_NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?(?![\w.])"
_VALUE = rf"(?:%\w+|[A-Za-z]\w*|{_NUMBER})"
_TYPED = r"(?:[ \t]*:[ \t]*(?P<type>\w+))?"
_INDEX = r"[ \t]*(?:%\w+|[0-9]+)[ \t]*"
_SIGNS = "|".join(re.escape(sign) for sign in sorted(OPERATORS, key=len, reverse=True))
_BETWEEN = re.compile(
    rf"(?P<left>{_VALUE})[ \t]*(?P<operator>{_SIGNS})[ \t]*(?P<right>{_VALUE}){_TYPED}{_END}", re.ASCII
)
_BEFORE = re.compile(rf"(?P<operator>[-!~])[ \t]*(?P<value>%\w+){_TYPED}{_END}", re.ASCII)
_CAST = re.compile(rf"\([ \t]*(?P<type>\w+)[ \t]*\)[ \t]*(?P<value>%\w+){_END}", re.ASCII)
_LITERAL = re.compile(rf"(?P<literal>[-+]?{_NUMBER}){_TYPED}{_END}", re.ASCII)
_ALONE = re.compile(rf"(?P<value>%\w+){_TYPED}{_END}", re.ASCII)
_ELEMENT = re.compile(r"%?(?P<name>\w+)[ \t]*\[", re.ASCII)
_LOADED = re.compile(rf"%?\w+[ \t]*(?P<index>\[{_INDEX}(?:,{_INDEX})*\]){_END}", re.ASCII)
_STORED = re.compile(
    rf"%?\w+[ \t]*(?P<index>\[{_INDEX}(?:,{_INDEX})*\])[ \t]*=[ \t]*(?P<value>%\w+|[-+]?{_NUMBER}){_END}", re.ASCII
)
_UPDATED = re.compile(r"%?\w+[ \t]*(?P<index>\[[^\]\n]*\])?[ \t]*(?:[-+*/%&|^]|<<|>>|\*\*|//)=(?!=)", re.ASCII)
_SELECTED = re.compile(r"[^;\n?]*(?:\?[^;\n]*:|\bif\b[^;\n]*\belse\b)")
_NAME = re.compile(r"%\w+", re.ASCII)
_OPERATOR = re.compile(r"[-+*/%&|^<>!~@]|==")
_COMPARING = ("equal", "not_equal", "less_than", "less_than_equal", "greater_than", "greater_than_equal")
_SIGNED = {"-": "neg", "!": "not", "~": "not"}


def for_statement(ops: Ops, visible: Mapping[str, Value], text: str, results: Collection[str]) -> str | None:
    """The hint for an expression, `text`, in place of an instruction, None without one; `results` stand before `=`."""
    operation = for_operator(ops, visible, text, results)
    if operation is not None:
        return operation
    word = re.match(r"\w*", text)
    if text[:1] not in ("%", "(", "-", "!", "~") and word is not None and word[0] not in visible:
        return _single(visible, text, results) if results and text[:1].isdigit() else None
    updated = _UPDATED.match(text)
    if updated is not None:
        return UPDATE if updated["index"] else NEW_NAME
    if _SELECTED.match(text):
        return CHOICE
    if _ELEMENT.match(text):
        return _element(visible, text, results)
    return _single(visible, text, results) if results else None


def for_operator(ops: Ops, visible: Mapping[str, Value], text: str, results: Collection[str] = ()) -> str | None:
    """The hint for an operator between two values; None if `text` is another expression."""
    match = _BETWEEN.match(text)
    if match is None:
        return None
    operands = match.group("left", "right")
    literal = next((x for x in operands if x[0].isdigit()), None)
    values = [x.lstrip("%") for x in operands if not x[0].isdigit()]
    if not values or not all("%" + name in operands or name in visible for name in values):
        return None
    mnemonic = OPERATORS[match["operator"]]
    if mnemonic not in ops:
        elsewhere = FOREIGN_INSTRUCTIONS.get(mnemonic)
        return INSTEAD.get(mnemonic) or f"there are no operators: write `{elsewhere}`"
    types = _types(visible, values, None if mnemonic in _COMPARING else match["type"])
    refused = _refusal(mnemonic, types)
    if refused is not None:
        return f"there are no operators between values, and {refused}"
    type_ = types[0] if types else None
    constant = _fresh("x", visible, results)
    shown = ", ".join(f"%{constant}" if x is literal else "%" + x.lstrip("%") for x in operands)
    kind = "bool" if mnemonic in _COMPARING else _named(type_)
    written = f"write `{_target(visible, results)}{mnemonic} {shown} : {kind}`"
    if literal is not None:
        written_as = _literal_of(literal, type_)
        if written_as is None:
            return f"there are no operators between values, and {CONVERT}"
        written = f"`%{constant} = constant {written_as} : {_named(type_)}` before, then {written}"
    return f"there are no operators between values: {written}"


def _types(visible: Mapping[str, Value], names: Collection[str], written: str | None) -> list[Type]:
    """The different types of those values that are known, and the type that is written behind them."""
    types = [visible[name].type for name in names if name in visible and visible[name].type is not ERROR]
    return list(dict.fromkeys([*types, *([SCALARS[written]] if written in SCALARS else [])]))


def _refusal(mnemonic: str, types: Collection[Type]) -> str | None:
    """Why an instruction does not take operands of some types; None if it does."""
    if any(not isinstance(type_, Number | Boolean | CoopMatrix) for type_ in types):
        return ELEMENTS
    if len(types) > 1:
        return SCALE if any(isinstance(type_, CoopMatrix) for type_ in types) else CONVERT
    for type_ in types:
        component = element_type(type_)
        if component in EIGHT_BIT_FLOATS:
            return f"`{mnemonic}` takes no {type_}: `cast` it to f16 or f32 first"
        family = component.family if isinstance(component, Number) else "bool"
        if family not in OPERAND_FAMILIES[mnemonic] or (mnemonic in _COMPARING and isinstance(type_, CoopMatrix)):
            return f"`{mnemonic}` takes no {type_}: see `girih explain {mnemonic}`"
    return None


def _single(visible: Mapping[str, Value], text: str, results: Collection[str]) -> str | None:
    """The hint for a literal, or a value with a sign or a type before it, or alone; in words for what has operators."""
    target = _target(visible, results)
    number = _LITERAL.match(text)
    if number is not None:
        kind = number["type"] or ("i32" if number["literal"].lstrip("+-").isdigit() else "f32")
        literal = _literal_of(number["literal"], SCALARS.get(kind))
        return None if literal is None else f"write `{target}constant {literal} : {kind}`"
    signed = _BEFORE.match(text)
    if signed is not None:
        types = _types(visible, [signed["value"][1:]], signed["type"])
        mnemonic = _SIGNED[signed["operator"]]
        refused = _refusal(mnemonic, types)
        return refused or f"write `{target}{mnemonic} {signed['value']} : {_named(types[0] if types else None)}`"
    cast = _CAST.match(text)
    if cast is not None and is_type(cast["type"]):
        return f"write `{target}cast {cast['value']} : {FOREIGN_TYPES.get(cast['type'], cast['type'])}`"
    alone = _ALONE.match(text)
    if alone is not None:
        return f"a value has one name: write {alone['value']} where it is used"
    return EACH_ITS_OWN if _OPERATOR.search(_NAME.sub("", text.partition(";")[0])) else None


def _element(visible: Mapping[str, Value], text: str, results: Collection[str]) -> str:
    """The hint for an element in brackets, which is loaded or stored."""
    name = re.sub(r"%?(\w+).*", r"\1", text.partition("[")[0].strip())
    component = element_type(visible[name].type) if name in visible else None
    loaded, stored = _LOADED.match(text), _STORED.match(text)
    if results and loaded is not None:
        return f"write `{_target(visible, results)}load %{name}{loaded['index']} : {_named(component)}`"
    if results or stored is None:
        return ELEMENTS
    if stored["value"].startswith("%"):
        return f"write `store {stored['value']}, %{name}{stored['index']}`"
    literal = _literal_of(stored["value"], component)
    constant = _fresh("x", visible, results)
    store = f"write `store %{constant}, %{name}{stored['index']}`"
    return (
        ELEMENTS
        if literal is None
        else f"`%{constant} = constant {literal} : {_named(component)}` before, then {store}"
    )


def _target(visible: Mapping[str, Value], results: Collection[str]) -> str:
    """The result with `=`, by a name that is free where the author gave none or one that is taken."""
    return "".join(f"%{_fresh(name, visible, ())} = " for name in results or ("c",))


def _fresh(name: str, visible: Mapping[str, Value], results: Collection[str]) -> str:
    """A name that no visible value and no result has: `name`, or that with a number."""
    tried, number = name, 1
    while tried in visible or tried in results:
        tried, number = f"{name}{number}", number + 1
    return tried


def _named(type_: Type | None) -> str:
    """A type as it is written; for an unknown one, the word `type`."""
    return "type" if type_ is None else str(type_)


def _literal_of(literal: str, type_: Type | None) -> str | None:
    """A literal in the form that a constant of a type takes; None if it takes none of this kind."""
    component = None if type_ is None else element_type(type_)
    whole = literal.lstrip("+-").isdigit()
    if component is None:
        return literal
    if isinstance(component, Boolean) or (component.family == "integer" and not whole):
        return None
    pointed = f"{literal}.0" if whole else literal
    return {"integer": literal, "floating": pointed, "complex": f"[{pointed}, 0.0]"}[component.family]


def is_type(word: str) -> bool:
    """Whether a word is a type, in this language or in another one."""
    return word in SCALARS or word in FOREIGN_TYPES
