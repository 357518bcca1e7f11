"""The text of one function of LLVM IR: lines in blocks, and where an instruction goes.

An instruction without effects is written once where it repeats, and in front of the outermost loop in which its
operands do not change. The instructions themselves are in `instructions`, `memory` and `writer`, each on top of the
one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from girih.back.llvm.emit.text import ModuleText, Val, value_bytes

Lines = list["str | Lines"]


@dataclass(slots=True)
class _Scope:
    """Values and facts known at a place."""

    known: dict[tuple[str, ...], Val] = field(default_factory=dict)
    noted: set[tuple[str, ...]] = field(default_factory=set)


_HOISTED = 96
"""How many instructions are written in front of a loop at most."""


class FunctionText:
    """A function in the making."""

    def __init__(self, module: ModuleText, header: str) -> None:
        """`header` is the line of the definition, up to and without the opening brace."""
        self.module = module
        self.location = ""
        self._header = header
        self._lines: Lines = []
        self._out = self._lines
        self._cold: Lines = []
        self._number = 0
        self._length = self._bytes = 0
        self._block = "entry"
        self._scopes = [_Scope()]
        self._preheaders: list[tuple[Lines, _Scope]] = []
        self._floor = 0
        self._ones: Val | None = None
        self._weights: dict[str, str] = {}
        self.label("entry")
        self._entry: Lines = []
        self._out.append(self._entry)

    # --- writing -------------------------------------------------------------------------

    @property
    def level(self) -> int:
        """How many loops are open."""
        return len(self._preheaders)

    @property
    def length(self) -> int:
        """About how long the function is: its blocks, and its values by the vector registers that they take."""
        return self._length

    def name(self, prefix: str = "v") -> str:
        """A fresh name without its sigil."""
        self._number += 1
        return f"{prefix}{self._number}"

    def label(self, name: str) -> None:
        """Begin a block."""
        self._out.append(f"{name}:")
        self._block = name
        self._length += 1

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self._out.append(f"  {text}{self.location}")

    def effect(self, type: str, text: str) -> Val:
        """An instruction with a result that stays where it is: a load, a call that does something."""
        held = Val(f"%{self.name()}", type, self.level)
        self._out.append(f"  {held.text} = {text}{self.location}")
        self._count(type)
        return held

    def pure(self, type: str, text: str, operands: Sequence[Val], *, stays: bool = False) -> Val:
        """An instruction whose result depends on its operands only; `stays` where it costs nothing next to its use."""
        key = (type, text)
        for scope in reversed(self._scopes):
            found = scope.known.get(key)
            if found is not None:
                return found
        level = self.level if stays else max(self._outermost(operands), self._floor)
        held = Val(f"%{self.name()}", type, level)
        line = f"  {held.text} = {text}{self.location}"
        if level < self.level:
            before, scope = self._preheaders[level]
            before.append(line)
        else:
            scope = self._scopes[-1]
            self._out.append(line)
        self._count(type)
        scope.known[key] = held
        return held

    def _count(self, type: str) -> None:
        bytes = value_bytes(type)
        self._length += max(1, bytes // 64)
        self._bytes += bytes

    def ret(self, held: Val | None = None) -> None:
        """End the block and the function."""
        self.line(f"ret {held}" if held else "ret void")

    def jump(self, label: str) -> None:
        """End the block by going on at another."""
        self.line(f"br label %{label}")

    def unreachable(self) -> None:
        """End a block that is never left."""
        self.line("unreachable")

    def _outermost(self, operands: Sequence[Val]) -> int:
        """The depth of the loop in front of which an instruction goes: registers are few, so not all of them."""
        level = max((o.level for o in operands), default=0)
        while level < self.level and len(self._preheaders[level][0]) >= _HOISTED:
            level += 1
        return level

    def first_time(self, *facts: str) -> bool:
        """Whether a fact is new here: it was not noted in code that is always executed before."""
        if any(facts in scope.noted for scope in self._scopes):
            return False
        self._scopes[-1].noted.add(facts)
        return True

    def finish(self) -> None:
        """Add the function to the module."""
        body: list[str] = []
        _flatten(self._lines, body)
        _flatten(self._cold, body)
        self.module.functions.append(f"{self._header} {{\n" + "\n".join(body) + "\n}")
        self.module.value_bytes.append(self._bytes)

    # --- places --------------------------------------------------------------------------

    @contextmanager
    def _open(self) -> Iterator[tuple[str, str]]:
        """A preheader and the block that begins a loop: their names."""
        before, head = self._block, self.name("loop")
        hoisted: Lines = []
        self._out.append(hoisted)
        self.jump(head)
        self._preheaders.append((hoisted, self._scopes[-1]))
        self._scopes.append(_Scope())
        self.label(head)
        yield before, head
        self._scopes.pop()
        self._preheaders.pop()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self._scopes.append(_Scope())
        yield
        self._scopes.pop()

    @contextmanager
    def _away(self) -> Iterator[None]:
        """Code that lies behind the function's, and stays in the loops around it."""
        here, floor = self._out, self._floor
        self._out, self._floor = [], self.level
        yield
        self._cold.append(self._out)
        self._out, self._floor = here, floor


def _flatten(lines: Lines, into: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            into.append(line)
        else:
            _flatten(line, into)
