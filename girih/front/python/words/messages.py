"""What the checker says of a kernel in Python, in the words of Python: its rules speak of texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import girih.language
from girih.diagnostics import Diagnostic
from girih.language.foreign import INSTEAD
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.memory import Scope

_SPELLED = {
    "parallel": "with gl.parallel():", "for": "for", "if": "if", "yield": "yield", "constant": "constant",
    "size": "X.shape", "load": "load", "store": "store", "and": "&", "or": "|", "xor": "^", "not": "~",
    "div": "/", "max": "gl.maximum", "min": "gl.minimum", "sum": "gl.sum",
}  # fmt: skip
"""Instructions whose word is another one, or none."""


def _number(match: re.Match[str]) -> str:
    return f"`gl.{match[2]}({match[1]})`"


def _matrix(match: re.Match[str]) -> str:
    return f"`gl.cast({match[1]}, gl.{match[2]})`"


def _barrier(match: re.Match[str]) -> str:
    memory = [f'"{name}"' for name in match[1].split(".") if name]
    return f"`gl.barrier({', '.join(memory)})`"


def _atomic(match: re.Match[str]) -> str:
    return f'`gl.{match[1].removeprefix("cooperative_matrix_")}(..., scope="{match[2]}")`'


_CONDITIONS = {
    "group_id": "gl.group_id(0) == 0",
    "subgroup_linear_id": "gl.subgroup_linear_id() == 0",
    "subgroup_local_id": "gl.subgroup_local_id() == 0",
}
"""What one work-group, subgroup or work-item asks that does something alone."""


def _alone(match: re.Match[str]) -> str:
    return f"`if {' and '.join(_CONDITIONS[name] for name in match.groups() if name)}:`"


def _instruction(match: re.Match[str]) -> str:
    name = match[1]
    if name not in TILE_LANGUAGE.ops:
        return match[0]
    short = name.removeprefix("cooperative_matrix_")
    if short != name and hasattr(girih.language, short):
        return f"`gl.{short}`"
    word = _SPELLED.get(name) or (f"gl.{name}" if hasattr(girih.language, name) else INSTEAD.get(name, name))
    return f"`{word}`"


def _array(match: re.Match[str]) -> str:
    rank = match[2].count("x")
    kind = ("Scalar", "Vector", "Matrix")[rank] if rank < 3 else "Array"
    return f"gl.{kind}[gl.{match[1]}{f', Literal[{rank}]' if rank > 2 else ''}]"


_ALONE = "|".join(_CONDITIONS)
_SCOPES = "|".join(scope.value for scope in Scope)

_REWRITTEN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"`%\w+ = cast %(\w+) : (\w+)`"), _number),
    (re.compile(r"`%\w+ = cast %(\w+) : coopmatrix<(\w+?)x[^`]*`"), _matrix),
    (re.compile(r"`parallel \{ \.\.\. \}`"), "`with gl.parallel():`"),
    (re.compile(r"`barrier((?:\.\w+)+)`"), _barrier),
    (re.compile(rf"`((?:cooperative_matrix_)?atomic_\w+)\.({_SCOPES})`"), _atomic),
    (re.compile(r"`(\w+)\.atomic`"), r"`gl.\1(..., atomic=True)`"),
    (re.compile(rf"of scope `\.({_SCOPES})`"), r'with `scope="\1"`'),
    (re.compile(rf"`\.({_SCOPES})`"), r'`scope="\1"`'),
    (re.compile(rf"an `if` that `({_ALONE})`(?: and `({_ALONE})`)? (?:is|are) 0"), _alone),
    (re.compile(r"`cooperative_matrix_(?:load|store)\.\w+_checked` of %(\w+)"), r"`gl.checked(\1)[...]`"),
    (re.compile(r"`(tensor_copy_(?:load|store|reduce))\.[\w.]+`"), r"`gl.\1`"),
    (re.compile(r"`cooperative_matrix_(load|store)\.\w+_blocked_interleaved`"), r"`gl.\1_blocked_interleaved`"),
    (re.compile(r"`cooperative_matrix_(atomic_\w+)\.\w+_checked` of %\w+"), r'`gl.\1(..., checked="both")`'),
    (re.compile(r"memref<([a-z]+\d*(?:e\dm\d)?)((?:x[\d?]+)*)(?:,[^<>]*(?:<[^>]*>)?[^<>]*)?>"), _array),
    (re.compile(r"\bcoopmatrix<(\w+?)x(\d+)x(\d+),(\w+)[^>]*>"), r"a \2 x \3 matrix of \1 with use \4"),
    (re.compile(r"\belement_type\((\w+)\)"), r"the element type of `\1`"),
    (re.compile(r"\btype\((\w+)\)"), r"the type of `\1`"),
    (re.compile(r"\bwork_group_size=\[(\d+), (\d+)\]"), r"work_group_size=(\1, \2)"),
    (re.compile(r"\bmemref\b"), "array"),
    (re.compile(r"`(\w+)`"), _instruction),
    (re.compile(r"%(\w+)"), r"`\1`"),
    (re.compile(r"%(?!\w)"), "it"),
)
"""What texts write, and what stands for it; in this order."""


def in_python(text: str) -> str:
    """A message or a hint about texts as one about Python."""
    for pattern, replacement in _REWRITTEN:
        text = pattern.sub(replacement, text)
    return text


def judged_in_python(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What the checker says of a kernel in Python, in its words.

    Types of results follow from operands in Python: where an operand is wrong, its result is not reported again.
    """
    every = list(problems)
    guilty = [p for p in every if p.severity == "error" and not _is_about_result(p)]
    return [_told(p) for p in every if not (_is_about_result(p) and any(_follows(p, other) for other in guilty))]


def _follows(result: Diagnostic, operand: Diagnostic) -> bool:
    """Whether what is wrong with a result is so because of an operand of the same instruction."""
    whole, part = result.span, operand.span
    inside = whole.source is part.source and whole.start <= part.start and part.end <= whole.end
    return inside and _owner(result) == _owner(operand)


def _owner(problem: Diagnostic) -> str:
    return problem.code.partition(".")[0]


def _is_about_result(problem: Diagnostic) -> bool:
    return problem.code.partition(".")[2] in ("result", "result_type")


def _told(problem: Diagnostic) -> Diagnostic:
    if problem.code.startswith("python."):
        return problem
    labels = tuple((span, in_python(words)) for span, words in problem.labels)
    hint = in_python(problem.hint) if problem.hint else None
    return replace(problem, message=in_python(problem.message), labels=labels, hint=hint)
