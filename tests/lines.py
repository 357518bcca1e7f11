"""Which lines of girih the tests reach, noted by the lines themselves.

Python 3.11 offers coverage only a trace function, with which girih takes twice the time. So the modules of girih are
imported with a note in front of each statement: an assignment of True to a global of the module whose name is the
number of the line. In the end coverage is given the numbers, and reports as always.

What is noted is what coverage would see, but for the `case`s of a `match`: noted are those that are taken, and those
above them.
"""

from __future__ import annotations

import ast
import fcntl
import gc
import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Names = dict[str, object]


class LineNotes(MetaPathFinder):
    """Finds the modules of a package, which then note their lines. `sys.meta_path.insert(0, notes)` sets it to work."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._modules: list[tuple[str, Names]] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as Python finds it, with another loader; None for other packages."""
        if fullname.partition(".")[0] != self._package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self._modules)
        return spec

    def reached(self) -> dict[str, set[int]]:
        """The lines that were reached, by the path of the file."""
        lines: dict[str, set[int]] = {}
        for path, names in self._modules:
            noted = (name for name, value in list(names.items()) if value is True and name[:1].isdigit())
            lines.setdefault(path, set()).update(int(line) for name in noted for line in name.split())
        return lines


class _Loader(SourceFileLoader):
    """Loads a module with its notes, and adds its names to a list."""

    def __init__(self, name: str, path: str, modules: list[tuple[str, Names]]) -> None:
        super().__init__(name, path)
        self._modules = modules

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module."""
        self._modules.append((self.path, vars(module)))
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        """The code with notes, compiled now or before."""
        code = self._kept()
        if code is None:
            # Of the processes that share the tests one compiles a module.
            with open(self.path, "rb") as source:
                fcntl.flock(source, fcntl.LOCK_EX)
                code = self._kept() or self._compiled(source.read())
        return code

    def _place(self) -> Path:
        path = Path(self.path)
        return path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}-lines.pyc"

    def _head(self) -> bytes:
        """What kept code starts with if it is of this file, and was made by this one."""
        states = (os.stat(path) for path in (self.path, __file__))
        listed = " ".join(f"{state.st_mtime_ns} {state.st_size}" for state in states)
        return f"{listed} {sys.version!r}\n".encode()

    def _kept(self) -> CodeType | None:
        try:
            data = self._place().read_bytes()
        except OSError:
            return None
        head = self._head()
        code: CodeType | None = marshal.loads(memoryview(data)[len(head) :]) if data.startswith(head) else None
        return code

    def _compiled(self, source: bytes) -> CodeType:
        # A tree is many objects without cycles: looking for cycles takes longer than making it.
        collecting = gc.isenabled()
        gc.disable()
        try:
            code = compile(noting(ast.parse(source, self.path)), self.path, "exec", dont_inherit=True)
        finally:
            if collecting:
                gc.enable()
        if not sys.dont_write_bytecode:
            place = self._place()
            place.parent.mkdir(exist_ok=True)
            whole = place.with_suffix(f".{os.getpid()}")
            whole.write_bytes(self._head() + marshal.dumps(code))
            whole.replace(place)
        return code


def noting(tree: ast.Module) -> ast.Module:
    """The module with a note in front of each statement. The tree itself is changed."""
    start = _first_code(tree.body)
    imports = [statement.lineno for statement in tree.body[:start] if isinstance(statement, ast.ImportFrom)]
    listed: set[str] = set()
    names: set[str] = set()
    notes = [_note(tree.body[0], imports, names)] if imports else []
    tree.body[start:] = [*notes, *_noted(tree.body[start:], names, listed)]
    listed |= names
    if listed:
        # The names are there from the start, so that the first note of a line moves no other name of the module.
        stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in sorted(listed)]
        first = ast.Assign(stored, ast.Constant(False), lineno=1, col_offset=0)
        tree.body.insert(start, ast.fix_missing_locations(first))
    return tree


def _noted(body: Iterable[ast.stmt], names: set[str], listed: set[str]) -> list[ast.stmt]:
    """Statements, those inside them too, with their notes.

    The names of the notes are added to `names`, and those of functions and classes inside, which have their own, to
    `listed`.
    """
    result: list[ast.stmt] = []
    for statement in body:
        if not isinstance(statement, ast.Global | ast.Nonlocal):
            decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
            result.append(_note(statement, [*(one.lineno for one in decorators), statement.lineno], names))
        if isinstance(statement, DEFINITIONS):
            _note_definition(statement, listed)
        else:
            _note_inside(statement, names, listed)
        result.append(statement)
    return result


def _note_definition(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, listed: set[str]) -> None:
    start = _first_code(definition.body)
    names: set[str] = set()
    inner = _noted(definition.body[start:], names, listed)
    if names:
        inner.insert(0, ast.copy_location(ast.Global(sorted(names)), definition))
    definition.body[start:] = inner
    listed |= names


def _note_inside(statement: ast.stmt, names: set[str], listed: set[str]) -> None:
    for field in ("body", "orelse", "finalbody"):
        if getattr(statement, field, None):
            setattr(statement, field, _noted(getattr(statement, field), names, listed))
    for handler in getattr(statement, "handlers", ()):
        _note_handler(handler, names, listed)
    passed: list[int] = []
    for case in getattr(statement, "cases", ()):
        passed.append(case.pattern.lineno)
        case.body = [_note(case.body[0], passed, names), *_noted(case.body, names, listed)]


def _note_handler(handler: ast.ExceptHandler, names: set[str], listed: set[str]) -> None:
    """Note the line of a handler when an exception is held against its type: `except (note := True) and type`."""
    first = handler.body[0]
    handler.body = _noted(handler.body, names, listed)
    if handler.type is None:
        handler.body.insert(0, _note(first, [handler.lineno], names))
        return
    place = handler.type
    names.add(str(handler.lineno))
    name = ast.copy_location(ast.Name(str(handler.lineno), ast.Store()), place)
    note = ast.NamedExpr(name, ast.copy_location(ast.Constant(True), place))
    handler.type = ast.copy_location(ast.BoolOp(ast.And(), [ast.copy_location(note, place), place]), place)


def _note(place: ast.stmt, lines: Iterable[int], names: set[str]) -> ast.stmt:
    """The note that lines are reached. Its name, which is added to `names`, lists them all, so that it is one store."""
    name = " ".join(map(str, lines))
    names.add(name)
    stored, true = ast.Name(name, ast.Store()), ast.Constant(True)
    note = ast.Assign([stored], true)
    for node in (stored, true, note):
        node.lineno, node.end_lineno = place.lineno, place.end_lineno
        node.col_offset, node.end_col_offset = place.col_offset, place.end_col_offset
    return note


def _first_code(body: Sequence[ast.stmt]) -> int:
    """The place of the first statement behind the docstring and the imports from `__future__`."""
    match body:
        case [ast.Expr(ast.Constant(str())), *_]:
            start = 1
        case _:
            start = 0
    for statement in body[start:]:
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        start += 1
    return start
