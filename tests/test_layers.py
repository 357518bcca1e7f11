"""Imports run one way: which room of girih may import which, and which packages, is the table below."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "girih").rglob("*.py"))


@dataclass(frozen=True)
class Room:
    """What a module or package of girih, and all below it, may import besides itself and the standard library."""

    girih: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


WORDS = ("source", "diagnostics", "recursion")
LANGUAGE = (*WORDS, "ir", "ops")
ARRAYS = ("numpy", "ml_dtypes")
ANY = ("*",)

ROOMS = {
    "source": Room(),
    "diagnostics": Room(("source",)),
    "recursion": Room(),
    "addressing": Room((), ARRAYS),
    "draw": Room(("addressing",), ("numpy", "matplotlib")),
    "ir": Room(WORDS),
    "ops": Room((*WORDS, "ir")),
    "front": Room(LANGUAGE),
    "program": Room((*LANGUAGE, "front")),
    "passes": Room(LANGUAGE),
    "interpreter": Room((*LANGUAGE, "passes", "addressing"), ARRAYS),
    "back": Room((*LANGUAGE, "passes", "addressing"), ("llvmlite",)),
    "runtime": Room((*LANGUAGE, "passes", "addressing", "interpreter", "back"), ARRAYS),
    "api": Room((*WORDS, "ir", "program", "interpreter", "runtime")),
    "kernels": Room(("api",), ("numpy",)),
    "bench": Room(ANY, ARRAYS),
    "commands": Room(ANY, ("click", "rich", *ARRAYS)),
    "cli": Room(ANY, ("click", "rich", *ARRAYS)),
    "__main__": Room(("cli",)),
    "__init__": Room(ANY),
}
"""The rooms of girih, by the first part of a module's name."""


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "girih").with_suffix("").parts[0]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported anywhere in a file, functions and TYPE_CHECKING blocks included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; write the full name"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_allowed(name: str, own: str, room: Room) -> bool:
    top, _, rest = name.partition(".")
    if top != "girih":
        return top in sys.stdlib_module_names or top in room.packages
    target = rest.split(".")[0]
    return target == own or room.girih == ANY or target in room.girih


def violations(tree: ast.AST, own: str) -> list[str]:
    room = ROOMS[own]
    return [
        f"line {line}: girih.{own} may not import {name}; it may import "
        f"{', '.join((*room.girih, *room.packages)) or 'the standard library only'}"
        for line, name in imported(tree)
        if not is_allowed(name, own, room)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    own = room_of(path)
    assert own in ROOMS, f"girih.{own} has no row in ROOMS: say there what it may import"
    assert violations(ast.parse(path.read_text(encoding="utf-8")), own) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("ir", "import numpy"),
        ("ir", "from girih.ops import linalg"),
        ("ir", "from girih import front"),
        ("ops", "def f():\n    import numpy as np"),
        ("ops", "from girih.front.text import parser"),
        ("front", "import click"),
        ("front", "from girih.interpreter.machine import run"),
        ("addressing", "from girih.ir import types"),
        ("interpreter", "from girih.front.text.parser import parse"),
        ("runtime", "import rich.progress"),
        ("kernels", "from girih import runtime"),
    ],
)
def test_the_table_refuses(room: str, line: str) -> None:
    assert len(violations(ast.parse(line), room)) == 1


def test_rooms_import_in_one_direction() -> None:
    """The table itself has no cycle: every room comes after the rooms that it imports."""
    above: set[str] = set()
    for name, room in ROOMS.items():
        if room.girih != ANY:
            assert set(room.girih) <= above, f"girih.{name} may import a room that stands below it in ROOMS"
        above.add(name)


BY_NAME = {"addressing/display.py": ("girih.draw",)}
"""Modules that are loaded by name against the table, and the files that may; each says why."""


def named(tree: ast.AST) -> Iterator[str]:
    """The modules of girih whose names are passed to `import_module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield from (name for name in names if name.split(".")[0] == "girih")


def test_a_name_is_no_way_around_the_table() -> None:
    around: dict[str, tuple[str, ...]] = {}
    for path in FILES:
        own, file = room_of(path), path.relative_to(ROOT / "girih").as_posix()
        for name in named(ast.parse(path.read_text(encoding="utf-8"))):
            if not is_allowed(name, own, ROOMS[own]):
                around[file] = (*around.get(file, ()), name)
    assert around == BY_NAME


def test_the_package_itself_is_lazy() -> None:
    """At its top level `girih/__init__.py` imports the standard library only, type checkers aside."""
    tree = ast.parse((ROOT / "girih" / "__init__.py").read_text(encoding="utf-8"))
    at_import = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [name for node in at_import for _, name in imported(node)]
    assert [name for name in names if name.split(".")[0] not in sys.stdlib_module_names] == []
