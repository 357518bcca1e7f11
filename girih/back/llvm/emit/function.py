"""The text of one function of LLVM IR: lines in blocks, and the place of each instruction.

An instruction without effects that repeats is written once, before the outermost loop in which its operands do not
change. The instructions themselves are in `instructions`, `memory` and `writer`, each of which extends the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from girih.back.llvm.emit.text import ModuleText, Val, value_bytes
from girih.lazy_dataclass import dataclass

Lines = list["str | Lines"]


@dataclass(slots=True)
class _Scope:
    """A place where more is known than around it: the instructions that are written in it, and the facts."""

    written: list[tuple[str, str]] = field(default_factory=list)
    noted: set[tuple[str, ...]] = field(default_factory=set)


_HOISTED = 96
"""How many instructions are written in front of a loop at most."""


class FunctionText:
    """A function that is being written."""

    def __init__(self, module: ModuleText, header: str) -> None:
        """An empty function; `header` is the line of its definition without the opening brace."""
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
        self._known: dict[tuple[str, str], Val] = {}
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
        """The number of loops around the current place."""
        return len(self._preheaders)

    @property
    def length(self) -> int:
        """An estimate of the function's length: its blocks, and its values by the vector registers that they take."""
        return self._length

    def name(self, prefix: str = "v") -> str:
        """A fresh name, without `%`."""
        self._number += 1
        return f"{prefix}{self._number}"

    def label(self, name: str) -> None:
        """Begin a block."""
        self._out.append(f"{name}:")
        self._block = name
        self._length += 1

    @property
    def block(self) -> str:
        """The label of the block that is being written."""
        return self._block

    def line(self, text: str) -> None:
        """Write an instruction without a result."""
        self._out.append(f"  {text}{self.location}")

    def effect(self, type: str, text: str) -> Val:
        """The result of an instruction that stays at its place: of a load, or a call with effects."""
        held = Val(f"%{self.name()}", type, self.level)
        self._out.append(f"  {held.text} = {text}{self.location}")
        self._count(type)
        return held

    def pure(self, type: str, text: str, operands: Sequence[Val], *, stays: bool = False) -> Val:
        """The result of an instruction that depends on its operands only; with `stays` it is not moved out of loops."""
        key = (type, text)
        found = self._known.get(key)
        if found is not None:
            return found
        here = len(self._preheaders)
        level = here if stays else self._outermost(operands)
        held = Val(f"%{self.name()}", type, level)
        line = f"  {held.text} = {text}{self.location}"
        if level < here:
            before, scope = self._preheaders[level]
            before.append(line)
        else:
            scope = self._scopes[-1]
            self._out.append(line)
        self._count(type)
        self._known[key] = held
        scope.written.append(key)
        return held

    def _count(self, type: str) -> None:
        bytes = value_bytes(type)
        self._length += max(1, bytes // 64)
        self._bytes += bytes

    def ret(self, held: Val | None = None) -> None:
        """End the block and the function."""
        self.line(f"ret {held}" if held else "ret void")

    def jump(self, label: str) -> None:
        """End the block and continue at another one."""
        self.line(f"br label %{label}")

    def unreachable(self) -> None:
        """End a block whose end is never reached."""
        self.line("unreachable")

    def _outermost(self, operands: Sequence[Val]) -> int:
        """The depth of the loop before which an instruction is written. Registers are few, so not all are moved."""
        level, here = 0, len(self._preheaders)
        for operand in operands:
            if operand.level > level:
                level = operand.level
        while level < here and len(self._preheaders[level][0]) >= _HOISTED:
            level += 1
        return level if level > self._floor else self._floor

    def first_time(self, *facts: str) -> bool:
        """Whether a fact is new at this place: no code that is always executed before has noted it."""
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
        """A loop: the labels of the block before it, and of the block that begins it."""
        before, head = self._block, self.name("loop")
        hoisted: Lines = []
        self._out.append(hoisted)
        self.jump(head)
        self._preheaders.append((hoisted, self._scopes[-1]))
        self._scopes.append(_Scope())
        self.label(head)
        yield before, head
        self._leave()
        self._preheaders.pop()

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """A context for code without branches that is executed before everything else that was written."""
        here, scopes, outside, known = self._out, self._scopes, self._preheaders, self._known
        self._out, self._scopes, self._preheaders, self._known = self._entry, [_Scope()], [], {}
        yield
        self._out, self._scopes, self._preheaders, self._known = here, scopes, outside, known

    @contextmanager
    def before_loop(self) -> Iterator[None]:
        """A context for code without branches that is executed before the innermost loop around this place."""
        here, scopes = self._out, self._scopes
        before = self._preheaders.pop()
        known = next(number for number, scope in enumerate(scopes) if scope is before[1])
        inside = scopes[known + 1 :]
        hidden = [(scope, {key: self._known.pop(key) for key in scope.written}) for scope in inside]
        self._out, self._scopes = before[0], scopes[: known + 1]
        yield
        self._out, self._scopes = here, scopes
        self._preheaders.append(before)
        for scope, values in hidden:
            # What is written before the loop now is known in it as well, in place of the same instruction there.
            scope.written[:] = [key for key in scope.written if key not in self._known]
            self._known.update((key, values[key]) for key in scope.written)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self._scopes.append(_Scope())
        yield
        self._leave()

    def _leave(self) -> None:
        """End the innermost scope: what was written in it is not known behind it."""
        for key in self._scopes.pop().written:
            del self._known[key]

    @contextmanager
    def _away(self) -> Iterator[None]:
        """A context for code that is laid out after the rest of the function, and stays in the loops around it."""
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
