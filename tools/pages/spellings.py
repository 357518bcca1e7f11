"""Write docs/language/python.md: every instruction as it is written in a text and in Python, and every word.

The Python comes from examples/spellings.py, a line of which makes the instruction; the text is what it becomes.
"""

from __future__ import annotations

import inspect
import re
import runpy
import types
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import girih.language
from girih.commands.parts.reference import group_of
from girih.front.python.facts import (
    ArrayFacts,
    Facts,
    GroupFacts,
    ScalarFacts,
    Specialisation,
    TensorMapFacts,
)
from girih.front.python.signature import Declared
from girih.front.python.translate import read, translate
from girih.ir.core import Function, Op
from girih.ir.print import InstructionPrinter
from girih.language.types import SCALARS
from girih.language.words import WORD
from girih.ops.tile import TILE_LANGUAGE as LANGUAGE
from tools.markdown import table

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "spellings.py"
PAGE = "docs/language/python.md"

ABOUT = """\
# Both spellings: texts and Python

<!-- Written by tools/pages/spellings.py from examples/spellings.py and girih.language; do not edit. -->

Every instruction of the language, as a text has it and as a kernel in Python has it. `gl` is `girih.language`. The
Python is a line of `examples/spellings.py`, the text what it becomes for arrays whose first axis has its elements side
by side; where the last one has, matrices are loaded and multiplied transposed.

[The words](#words) of Python are listed below, with what each returns. [The design](../design/python.md) says what
statements and operators mean.
"""

WORDS = """\
## Words

All functions of `girih.language`, by the subject of its files. Arguments behind `*` are given by name. Behind `->`
stands the type of the number that a word gives, where it is always the same; `gl.index(x)` and the like convert it.
"""


def page(titles: dict[str, str]) -> str:
    """The text of docs/language/python.md; `titles` are those of the families of instructions."""
    lines = ABOUT.splitlines()
    spelled = spellings()
    for group, title in titles.items():
        mnemonics = sorted(m for m in LANGUAGE.ops if group_of(LANGUAGE, m) == group)
        rows = [(f"[`{m}`]({group}.md#{m})", f"`{spelled[m][0]}`", f"`{spelled[m][1]}`") for m in mnemonics]
        lines += ["", f"## {title}", "", *table(["instruction", "text", "Python"], rows)]
    return "\n".join([*lines, "", *WORDS.splitlines(), "", *_words()]).rstrip() + "\n"


def kernels() -> dict[str, Callable[..., None]]:
    """The functions of the examples, by name."""
    space = runpy.run_path(str(EXAMPLES))
    return {name: f for name, f in space.items() if isinstance(f, types.FunctionType)}


def specialised(parameters: tuple[Declared, ...]) -> Specialisation:
    """What is known of arguments where only their types are: arrays whose first axis is dense."""
    return Specialisation(tuple((p.name, _facts(p)) for p in parameters))


def _facts(parameter: Declared) -> Facts:
    element, rank = str(parameter.element), parameter.rank or 0
    array = ArrayFacts(element, (None,) * rank, (1, *[None] * (rank - 1))[:rank], tuple(range(rank)))
    match parameter.kind:
        case "array":
            return array
        case "group":
            return GroupFacts(array)
        case "tensor_map":
            return TensorMapFacts(element, rank, parameter.mode)
        case _:
            return ScalarFacts(element)


@cache
def functions() -> tuple[Function, ...]:
    """The examples in the language."""
    found: list[Function] = []
    for kernel in map(read, kernels().values()):
        found += translate(kernel, specialised(kernel.parameters)).functions
    return tuple(found)


def spellings() -> dict[str, tuple[str, str]]:
    """The text and the Python of each instruction, by mnemonic.

    It is taken from the kernel of its family, from a line that makes few instructions.
    """
    found: dict[str, tuple[tuple[bool, int], str, str]] = {}
    for function in functions():
        printer = InstructionPrinter()
        for parameter in function.parameters:
            printer.define(parameter.value)
        printed = list(_printed(function.body.ops, printer))
        busy = Counter(op.span.line for op, _ in printed)
        for op, text in printed:
            mnemonic = op.spec.mnemonic
            worth = (group_of(LANGUAGE, mnemonic) != function.name, busy[op.span.line])
            if mnemonic not in found or worth < found[mnemonic][0]:
                found[mnemonic] = worth, text, _python(op)
    return {mnemonic: (text, python) for mnemonic, (_, text, python) in found.items()}


def _printed(ops: tuple[Op, ...], printer: InstructionPrinter) -> Iterator[tuple[Op, str]]:
    """Each instruction with its text; of one with regions the head, and what is behind the first."""
    for op in ops:
        inside: list[tuple[Op, str]] = []
        if op.regions:
            for value in op.bindings:
                printer.define(value)
            for region in op.regions:
                inside += _printed(region.ops, printer)
        yield op, _head(printer.text(op), op)
        yield from inside


def _head(text: str, op: Op) -> str:
    if not op.regions:
        return text
    head = text.split("{\n")[0] + "{ ... }"
    return head + (" else { ... }" if op.spec.mnemonic == "if" and len(op.regions) > 1 else "")


def _python(op: Op) -> str:
    """The statement of Python that made an instruction; of a long one the expression, in one line."""
    span = op.span
    if span.text.count("\n"):
        return re.sub(r"([(\[]) | (?=[)\]])|,(?= [)\]])", r"\1", " ".join(span.text.split()))
    return span.source.line(span.line).strip()


# --- words ------------------------------------------------------------------------------------


def _words() -> Iterator[str]:
    modules = sorted({word.__module__ for word in words().values()})
    for name in modules:
        module = inspect.getmodule(next(w for w in words().values() if w.__module__ == name))
        yield f"### {name.rpartition('.')[2]}"
        yield ""
        yield from inspect.cleandoc(module.__doc__ or "").splitlines() if module else ()
        yield ""
        rows = [(f"`{_call(full, word)}`", " ".join((inspect.getdoc(word) or "").split()))
                for full, word in words().items() if word.__module__ == name]  # fmt: skip
        yield from table(["word", "meaning"], rows)
        yield ""


@cache
def words() -> dict[str, Callable[..., object]]:
    """The words, by name; methods with the class in front."""
    found: dict[str, Callable[..., object]] = {}
    for name in sorted((*girih.language.__all__, *girih.language.NAMED_AS_BUILTINS)):
        value = getattr(girih.language, name)
        if hasattr(value, WORD):
            found[name] = value
        elif isinstance(value, type):
            found |= {f"{name}.{k}": v for k, v in sorted(vars(value).items()) if hasattr(v, WORD)}
    return found


def _call(name: str, word: Callable[..., object]) -> str:
    """The call of a word, with the names of its parameters and their defaults, and the type of number that it gives."""
    parameters = [p for p in inspect.signature(word).parameters.values() if p.name != "self"]
    shown: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in shown and not any(s.startswith("*") for s in shown):
            shown.append("*")
        text = f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name
        shown.append(text if p.default is p.empty else f"{text}={p.default!r}")
    prefix = "" if "." in name else "gl."
    gives = str(word.__annotations__.get("return"))
    return f"{prefix}{name}({', '.join(shown)})" + (f" -> {gives}" if gives in SCALARS else "")
