"""The syntax of an instruction, in the notation of 003.

Quoted text stands for itself, brackets enclose what may be left out, `/` separates choices, `*( )` may be repeated.
`%a` is a local value that the reference calls `a`.
"""

from __future__ import annotations

from girih.ir.define import (
    Annotation,
    Attributes,
    Binding,
    Body,
    Integer,
    Literal,
    Modifier,
    Operand,
    Result,
    Role,
    Slices,
    Spec,
    Text,
)
from girih.ir.print import join_words


def syntax(spec: Spec) -> str:
    """The grammar of an instruction: results, mnemonic, modifiers, operands, types (003 "Instructions")."""
    words = [f'"{spec.word}"', *map(_modifier, spec.modifiers), *_words(spec, 0, len(spec.format))]
    return " ".join([*_assignment(spec), *words])


def template(spec: Spec) -> str:
    """A pattern of an instruction: names for operands, `...` for lists, brackets around what may be left out."""
    choices = f".{next(iter(spec.modifiers[0].choices))}" if spec.modifiers and spec.modifiers[0].required else ""
    result = f"%{spec.results[0]} = " if spec.results else ""
    return result + join_words([spec.word + choices, *_shapes(spec, 0, len(spec.format))])


def _shapes(spec: Spec, begin: int, end: int) -> list[str]:
    parts: list[str] = []
    position = begin
    while position < end:
        word = spec.format[position]
        if word == "<<":
            close = spec.format.index(">>", position)
            parts.append("[" + join_words(_shapes(spec, position + 1, close)) + "]")
            position = close + 1
            continue
        if word == ":" and isinstance(spec.roles.get(spec.format[position + 1]), Annotation):
            parts[-1] += word
        else:
            parts.append(_shape(spec, word))
        position += 1
    return parts


def _shape(spec: Spec, word: str) -> str:
    role = spec.roles.get(word)
    match role:
        case None if "=" in word[1:-1]:
            return "=".join(f"%{name}" for name in word.split("=")) + ", ..."
        case Result() | Annotation():
            return "type"
        case Operand(many=True, separator="x"):
            return f"%{word} x ..."
        case Operand(many=True) | Binding(many=True):
            return f"%{word}, ..."
        case Operand() | Binding():
            return f"%{word}"
        case Slices():
            return "%offset:%size, ..."
        case Body():
            return "{ ... }"
        case Attributes():
            return "{...}"
        case Text():
            return '"..."'
        case _:
            return word


def _assignment(spec: Spec) -> list[str]:
    if not spec.results:
        return []
    name = spec.results[0]
    role = spec.roles[name]
    many = isinstance(role, Result) and role.many
    return [f'[{_list(f"%{name}", ",")} "="]'] if many else [f"%{name}", '"="']


def _modifier(role: Modifier) -> str:
    choices = " / ".join(f'".{spelling}"' for spelling in role.choices)
    if not role.required:
        return f"[{choices}]"
    return f"({choices})" if len(role.choices) > 1 else choices


def _words(spec: Spec, begin: int, end: int) -> list[str]:
    parts: list[str] = []
    position = begin
    while position < end:
        word = spec.format[position]
        if word == "<<":
            close = spec.format.index(">>", position)
            parts.append("[" + " ".join(_words(spec, position + 1, close)) + "]")
            position = close + 1
            continue
        parts.append(_word(spec, word))
        position += 1
    return parts


def _word(spec: Spec, word: str) -> str:
    role = spec.roles.get(word)
    if role is not None:
        return _role(word, role)
    if "=" in word[1:-1]:
        pair = ' "=" '.join(f"%{name}" for name in word.split("="))
        return _list(pair, ",")
    return f'"{word}"'


def _role(name: str, role: Role) -> str:
    match role:
        case Result(many=many):
            return _list("type", ",") if many else "type"
        case Operand(many=True):
            item = f"(%{name} / integer)" if role.literal else f"%{name}"
            return _list(item, role.separator, least=1 if role.separator == "x" else 0)
        case Operand() | Binding(many=False):
            return f"%{name}"
        case Binding():
            return _list(f"%{name}", ",")
        case Slices():
            return _list('(%offset / integer) [":" (%size / integer)]', ",", least=0)
        case Integer(many=many):
            return _list("integer", ",") if many else "integer"
        case Literal():
            return "constant"
        case Annotation():
            return "type"
        case Attributes():
            return "dictionary-attribute"
        case Text():
            return "string"
        case Body():
            return "region"
        case _:
            return name


def _list(item: str, separator: str, least: int = 1) -> str:
    text = f'{item} *("{separator}" {item})'
    return text if least else f"[{text}]"
