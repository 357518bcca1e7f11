"""The recording of shader code: nodes in blocks, each value once where it repeats, and functions of the shader.

`numbers` and `recorder` extend it by the methods of `girih.back.llvm.emit.writer.Writer`. A method that would write
LLVM's text is a defect here (`InternalError`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from girih.back.llvm.emit.text import ModuleText, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.spirv.code.abilities import Abilities
from girih.back.spirv.code.memory import ShaderMemory, ShaderPlace
from girih.back.spirv.code.nodes import (
    ShaderBlock,
    ShaderCode,
    ShaderNode,
    ShaderRoutine,
)
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

Key = tuple[object, ...]


_OF_SUBGROUP = frozenset(("shuffle", "broadcast", "vote", "group"))
"""Operations that give what other work-items have."""


@dataclass(slots=True)
class _Level:
    """What is known in a block: values by what computes them, and facts."""

    known: dict[Key, Val]
    noted: set[tuple[str, ...]]


def _concerns_others(one: ShaderNode) -> bool:
    """Whether an instruction tells of other work-items, or them: by memory, of matrices too, or in the subgroup."""
    return one.result is None or one.op in _OF_SUBGROUP or any(isinstance(a, ShaderMemory) for a in one.details)


class Recording(Writer):
    """A shader that is being recorded: its tree."""

    def __init__(self, code: ShaderCode, abilities: Abilities) -> None:
        super().__init__(ModuleText({}), "")
        self.code = code
        self.abilities = abilities
        self.span: Span = NOWHERE
        self.contract = False
        """Whether products may be rounded together with the sums that they go into."""
        self._here = code.body
        self._levels = [_Level({}, set())]
        self._places: dict[str, ShaderPlace] = {}
        self._replaced: dict[str, Val] = {}
        self._made: dict[str, ShaderNode] = {}
        self._routines: dict[Key, ShaderRoutine] = {}
        self._values = 0

    # --- recording -----------------------------------------------------------------------

    def fresh(self, type: str) -> Val:
        """A new value of a type, to be defined."""
        self._values += 1
        return Val(f"%v{self._values}", type)

    def node(
        self,
        op: str,
        operands: Sequence[Val],
        type: str | None,
        details: tuple[object, ...] = (),
        *,
        exactly: bool = True,
    ) -> Val:
        """Record an instruction that stays at its place: its result, or for the type None nothing of use."""
        if op == "barrier" and self._waits_already(details):
            return Val("poison", "void")
        result = None if type is None else self.fresh(type)
        made = ShaderNode(op, tuple(operands), result, details, self.span, exactly)
        self._here.statements.append(made)
        if result is None:
            return Val("poison", "void")
        self._made[result.text] = made
        return result

    def _waits_already(self, details: tuple[object, ...]) -> bool:
        """Whether nothing happens between this place and a barrier of the same scope, or the begin of the shader."""
        for one in reversed(self._here.statements):
            if not isinstance(one, ShaderNode):
                return False
            if one.op == "barrier":
                return one.details == details
            if _concerns_others(one):
                return False
        return self._here is self.code.body

    def finish(self) -> None:
        """End the shader: no work-item waits for others at its end."""
        body = self.code.body.statements
        while body and isinstance(body[-1], ShaderNode) and body[-1].op == "barrier":
            body.pop()

    def computed(
        self, op: str, operands: Sequence[Val], type: str, details: tuple[object, ...] = (), *, exactly: bool = True
    ) -> Val:
        """Record an instruction without effects, once where it repeats."""
        key = (op, type, details, exactly, *(one.text for one in operands), *(one.type for one in operands))
        for level in reversed(self._levels):
            known = level.known.get(key)
            if known is not None:
                return known
        made = self.node(op, operands, type, details, exactly=exactly)
        self._levels[-1].known[key] = made
        return made

    def maker(self, value: Val) -> ShaderNode | None:
        """The instruction that gives a value; None for constants, parameters and what control flow gives."""
        return self._made.get(value.text)

    def named(self, value: Val, name: str) -> Val:
        """The value, under a name for readers."""
        if value.text.startswith("%"):
            self.code.names.setdefault(value.text, name)
        return value

    @contextmanager
    def _in(self, block: ShaderBlock) -> Iterator[None]:
        outer, self._here = self._here, block
        self._levels.append(_Level({}, set()))
        yield
        self._levels.pop()
        self._here = outer

    def routine(self, name: str, key: Key, arguments: Sequence[Val], body: Callable[..., Val]) -> Val:
        """The result of a function that is recorded once for each key: `body` of its parameters."""
        made = self._routines.get((name, *key))
        if made is None:
            made = self.function(name, [one.type for one in arguments], body)
            self._routines[(name, *key)] = made
        assert made.result is not None
        return self.computed("call", arguments, made.result.type, (made,))

    def known_routine(self, name: str, *key: object) -> ShaderRoutine | None:
        """The function that `routine` recorded for a key; None where it has not."""
        return self._routines.get((name, *key))

    def function(self, name: str, types: Sequence[str], body: Callable[..., Val | None]) -> ShaderRoutine:
        """A function of the shader, recorded now; it sees its parameters and nothing else."""
        parameters = [self.fresh(type) for type in types]
        made = ShaderRoutine(self._unused(name), parameters)
        outer, self._levels, here, self._here = self._levels, [_Level({}, set())], self._here, made.body
        made.result = body(*parameters)
        self._levels, self._here = outer, here
        self.code.routines.append(made)
        return made

    def _unused(self, name: str) -> str:
        used = {one.name for one in self.code.routines}
        return name if name not in used else next(n for k in range(2, 9999) if (n := f"{name}_{k}") not in used)

    # --- what LLVM's text would be -------------------------------------------------------

    def line(self, text: str) -> None:
        self._no_text(text)

    def label(self, name: str) -> None:
        if name != "entry":
            self._no_text(f"{name}:")

    def effect(self, type: str, text: str) -> Val:
        self._no_text(text)

    def pure(self, type: str, text: str, operands: Sequence[Val], *, stays: bool = False) -> Val:
        self._no_text(text)

    def _no_text(self, text: str) -> NoReturn:
        raise InternalError(f"text of LLVM IR in shader code: {text.strip()}")

    def first_time(self, *facts: str) -> bool:
        """Whether a fact is new at this place."""
        if any(facts in level.noted for level in self._levels):
            return False
        self._levels[-1].noted.add(facts)
        return True
