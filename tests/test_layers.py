"""Imports run one way: which room of girih may import which, and which packages, is the table below."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.cases import every_case

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "girih").rglob("*.py"))


@dataclass(frozen=True)
class Room:
    """What a module or package of girih, and all below it, may import besides itself and the standard library."""

    girih: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


WORDS = ("source", "diagnostics", "recursion")
LANGUAGE = (*WORDS, "rules", "ir", "ops")
KNOWN = (*LANGUAGE, "analysis", "facts")
LOWER = (
    "back.llvm.emit",
    "back.llvm.numbers",
    "back.llvm.lower.*",
    "back.llvm.lower.launch",
    "back.llvm.lower.collective",
    "back.llvm.lower.tiles",
    "back.llvm.lower.tensor_map",
    "back.llvm.lower.device",
)
THREADS = (
    "back.llvm.emit",
    "back.llvm.numbers",
    "back.llvm.lower.*",
    "back.llvm.lower.collective",
    "back.llvm.lower.tiles",
)
ARRAYS = ("numpy", "ml_dtypes")
ANY = ("*",)
EVERYWHERE = "lazy_dataclass"
"""A room that all may import, as they may the standard library."""

ROOMS = {
    "source": Room(),
    "markup": Room(),
    "diagnostics": Room(("source", "markup")),
    "recursion": Room(),
    EVERYWHERE: Room(),
    "environment": Room(("diagnostics",)),
    "rules": Room(("source", "diagnostics")),
    "specifications": Room(),
    # Address models: the face loads what it names, the models stand below it.
    "addressing.*": Room((), ARRAYS),
    "addressing.tensor_map": Room(("addressing.*",), ARRAYS),
    "addressing.convert": Room(("addressing.*", "addressing.tensor_map"), ARRAYS),
    "addressing": Room(("addressing.*", "addressing.tensor_map", "addressing.convert"), ARRAYS),
    "draw": Room(("addressing",), ("numpy", "matplotlib")),
    "ir": Room((*WORDS, "rules")),
    "ops.tile": Room((*WORDS, "rules", "ir")),
    "ops.device": Room((*WORDS, "rules", "ir", "ops.tile")),
    "ops": Room(),
    "analysis": Room(LANGUAGE),
    "facts": Room((*LANGUAGE, "analysis")),
    "canonical": Room(LANGUAGE),
    # SPIR-V: modules as they are, which rows of rules judge; the face loads what it names.
    "spirv.*": Room(WORDS),
    "spirv.model.*": Room((*WORDS, "rules", "spirv.*")),
    "spirv.model.grammar": Room((*WORDS, "rules", "spirv.*", "spirv.model.*")),
    "spirv.model.matrices": Room((*WORDS, "rules", "spirv.*", "spirv.model.*")),
    "spirv.model.memory": Room((*WORDS, "rules", "spirv.*", "spirv.model.*")),
    "spirv.model.declared": Room((*WORDS, "rules", "spirv.*", "spirv.model.*", "spirv.model.memory")),
    "spirv.model": Room(),
    "spirv.rules.*": Room((*WORDS, "rules", "spirv.*", "spirv.model")),
    "spirv.rules.declarations": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules.concurrency": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules.matrices": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules.values": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules.memory": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules.extensions": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules.*")),
    "spirv.rules": Room(),
    "spirv.judge": Room((*WORDS, "rules", "spirv.*", "spirv.model", "spirv.rules")),
    "spirv": Room((*WORDS, "spirv.*", "spirv.judge")),
    "front.text": Room((*WORDS, "ir")),
    "front.shaders": Room((*WORDS, "spirv")),
    "front.spirv.flow": Room(("rules", "spirv")),
    "front.spirv.*": Room((*LANGUAGE, "spirv", "front.spirv.flow")),
    "front.spirv.instructions.*": Room((*LANGUAGE, "spirv", "front.spirv.*")),
    "front.spirv.instructions.numbers": Room((*LANGUAGE, "spirv", "front.spirv.*", "front.spirv.instructions.*")),
    "front.spirv.instructions": Room(("front.spirv.instructions.*", "front.spirv.instructions.numbers")),
    "front.spirv.entry": Room((*LANGUAGE, "spirv", "front.spirv.flow", "front.spirv.*")),
    "front.spirv.translate": Room(
        (*LANGUAGE, "spirv", "front.spirv.*", "front.spirv.instructions", "front.spirv.entry")
    ),
    "front.spirv.judged": Room((*LANGUAGE, "spirv", "front.spirv.*", "front.spirv.translate")),
    "front.spirv": Room(),
    # Kernels in Python: the words stand above what they are written with, and what translates above them.
    "language": Room(),
    "front.python.*": Room((*LANGUAGE, "language")),
    "front.python.words": Room((*LANGUAGE, "language", "front.python.*")),
    "front.python.translate": Room((*LANGUAGE, "language", "front.python.*", "front.python.words")),
    "front.python": Room(),
    "front": Room(),
    "whole_files": Room(),
    "program": Room((*LANGUAGE, "analysis", "front")),
    "highlighting": Room((*LANGUAGE, "front"), ("pygments",)),
    "arguments": Room((*LANGUAGE, "analysis", "addressing"), ARRAYS),
    "tuned": Room((*WORDS, "language", "whole_files", "addressing", "arguments"), ARRAYS),
    "shown": Room(("markup",)),
    "interpreter.races": Room((*KNOWN, "arguments"), ARRAYS),
    "interpreter.machine": Room((*KNOWN, "addressing", "arguments", "interpreter.races"), ARRAYS),
    "interpreter.tile": Room((*KNOWN, "addressing", "arguments", "interpreter.races", "interpreter.machine"), ARRAYS),
    "interpreter.device": Room(
        (*KNOWN, "addressing", "arguments", "interpreter.races", "interpreter.machine", "interpreter.tile"), ARRAYS
    ),
    "interpreter.latitude": Room(
        (*KNOWN, "addressing", "arguments", "interpreter.races", "interpreter.machine", "interpreter.tile"), ARRAYS
    ),
    "interpreter": Room((*KNOWN, "addressing", "arguments", "interpreter"), ARRAYS),
    # Tile programs: the form and its passes; what runs a form in NumPy stands above them.
    "tile.threads": Room(),
    "tile.*": Room((*KNOWN, "addressing", "tile.threads")),
    "tile.simulate": Room((*KNOWN, "addressing", "arguments", "interpreter", "tile"), ARRAYS),
    "tile": Room(),
    # LLVM: the text of its IR; LLVM itself; numbers as values of LLVM; instructions for any number of lanes; the CPU.
    "back.llvm.emit": Room(("source",)),
    "back.llvm.assemble": Room(("diagnostics",), ("llvmlite",)),
    "back.llvm.numbers": Room(("ir", "facts", "back.llvm.emit")),
    "back.llvm.numbers.device": Room(("ir", "back.llvm.emit", "back.llvm.numbers")),
    "back.llvm.ranges": Room((*KNOWN, "back.llvm.emit")),
    "back.llvm.lower.*": Room((*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.ranges")),
    "back.llvm.lower.launch": Room((*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.lower.*")),
    "back.llvm.lower.collective": Room((*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.lower.*")),
    "back.llvm.lower.tiles": Room(
        (*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.ranges", "back.llvm.lower.*")
    ),
    "back.llvm.lower.tensor_map": Room(
        (*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.lower.*", "back.llvm.lower.launch")
    ),
    "back.llvm.lower.one_lane.*": Room((*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.lower.*")),
    "back.llvm.lower.one_lane.linalg": Room((*KNOWN, *THREADS, "back.llvm.lower.one_lane.*")),
    "back.llvm.lower.one_lane.matrix": Room((*KNOWN, *THREADS, "back.llvm.lower.one_lane.*")),
    "back.llvm.lower.one_lane.tensor_map": Room(
        (
            *KNOWN,
            *THREADS,
            "back.llvm.lower.launch",
            "back.llvm.lower.tensor_map",
            "back.llvm.lower.one_lane.*",
        )
    ),
    "back.llvm.lower.one_lane.table": Room(
        (*KNOWN, *THREADS, "back.llvm.lower.one_lane.*", "back.llvm.lower.one_lane.linalg")
    ),
    "back.llvm.lower.device": Room((*KNOWN, "back.llvm.emit", "back.llvm.numbers", "back.llvm.lower.*")),
    "back.llvm.lower.one_lane": Room(),
    "back.llvm.lower": Room(),
    "back.llvm.cpu.machine": Room((*KNOWN, *LOWER, "back.llvm.assemble")),
    "back.llvm.cpu.amx": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine")),
    "back.llvm.cpu.dots": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine")),
    "back.llvm.cpu.collective": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine", "back.llvm.cpu.amx")),
    "back.llvm.cpu.matrix": Room(
        (
            *KNOWN,
            *LOWER,
            "back.llvm.cpu.machine",
            "back.llvm.cpu.amx",
            "back.llvm.cpu.dots",
            "back.llvm.cpu.collective",
            "back.llvm.ranges",
        )
    ),
    "back.llvm.cpu.tensor": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine", "back.llvm.cpu.matrix")),
    "back.llvm.cpu.tensor_map": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine")),
    "back.llvm.cpu.device": Room((*KNOWN, *LOWER, "back.llvm.cpu.machine", "back.llvm.cpu.matrix")),
    "back.llvm.cpu": Room((*KNOWN, "back.llvm")),
    "back.llvm.nvptx.flat": Room((*KNOWN, *LOWER, "back.llvm.lower.one_lane")),
    "back.llvm.nvptx.matrix": Room((*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.llvm.nvptx.flat")),
    "back.llvm.nvptx.machine": Room((*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.llvm.nvptx.matrix", "tile.*")),
    "back.llvm.nvptx.tensor_map": Room(
        (
            *KNOWN,
            *LOWER,
            "addressing",
            "back.llvm.lower.one_lane",
            "back.llvm.nvptx.machine",
            "back.llvm.nvptx.matrix",
        )
    ),
    "back.llvm.nvptx.collective": Room(
        (*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.llvm.nvptx.machine", "back.llvm.nvptx.matrix")
    ),
    "back.llvm.nvptx.tile": Room(
        (*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.llvm.nvptx.machine", "tile.*", "tile.threads")
    ),
    "back.llvm.nvptx": Room(
        (*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.llvm.assemble", "back.llvm.nvptx", "tile.*"), ("llvmlite",)
    ),
    # SPIR-V: shader code is recorded through the lowerings for one lane, and written as a module or as GLSL.
    "back.spirv.code": Room((*WORDS, "back.llvm.emit")),
    "back.spirv.passes": Room(("source", "back.llvm.emit", "back.spirv.code")),
    "back.spirv.profiles": Room((*WORDS, "ir")),
    "back.spirv.matrix": Room((*KNOWN, *LOWER, "back.llvm.lower.one_lane", "back.spirv.code", "back.spirv.profiles")),
    "back.spirv.collective": Room(
        (
            *KNOWN,
            *LOWER,
            "back.llvm.lower.one_lane",
            "back.spirv.code",
            "back.spirv.matrix",
            "back.spirv.profiles",
        )
    ),
    "back.spirv.binary": Room(
        (*WORDS, "facts", "spirv", "back.llvm.emit", "back.spirv.code", "back.spirv.matrix", "back.spirv.profiles")
    ),
    "back.spirv.glsl": Room(
        (
            *WORDS,
            "facts",
            "spirv",
            "back.llvm.emit",
            "back.spirv.code",
            "back.spirv.matrix",
            "back.spirv.passes",
            "back.spirv.profiles",
        )
    ),
    "back.spirv.machine": Room((*KNOWN, *LOWER, "back.llvm.lower.one_lane", "spirv", "back.spirv")),
    "back.spirv": Room(),
    "back": Room(),
    "runtime.device": Room(("diagnostics", "ir", "spirv", "addressing", "arguments")),
    "runtime.cache": Room(("source", "diagnostics", "ir", "analysis", "back.llvm.assemble")),
    "runtime.compiled": Room((*KNOWN, "addressing", "arguments", "back.llvm.assemble", "back.llvm.lower"), ARRAYS),
    "runtime.cpu": Room(
        (*KNOWN, "addressing", "arguments", "back.llvm", "runtime.cache", "runtime.compiled", "runtime.device"), ARRAYS
    ),
    "runtime.emitted": Room((*KNOWN, "arguments", "back.llvm.lower", "back.spirv.machine"), ARRAYS),
    "runtime.cuda.driver": Room(),
    "runtime.cuda.code": Room((*KNOWN, "back.llvm", "runtime.cache", "runtime.cuda.driver")),
    "runtime.cuda.plans": Room((*KNOWN, "arguments", "back.llvm.lower", "runtime.compiled"), ARRAYS),
    "runtime.cuda.copies": Room(("lazy_dataclass", "runtime.cuda.driver")),
    "runtime.cuda.tensor_maps": Room(
        (
            *KNOWN,
            "addressing",
            "arguments",
            "back.llvm",
            "runtime.compiled",
            "runtime.cuda.driver",
            "runtime.cuda.copies",
        ),
        ARRAYS,
    ),
    "runtime.cuda.recipes": Room(
        (*KNOWN, "addressing", "arguments", "back.llvm", "runtime.cuda.copies", "runtime.cuda.tensor_maps", "tile.*"),
        ARRAYS,
    ),
    "runtime.cuda": Room(
        (
            *KNOWN,
            "addressing",
            "arguments",
            "back.llvm",
            "runtime.cache",
            "runtime.compiled",
            "runtime.cuda.driver",
            "runtime.cuda.copies",
            "runtime.cuda.code",
            "runtime.cuda.plans",
            "runtime.cuda.recipes",
            "runtime.cuda.tensor_maps",
            "runtime.device",
        ),
        ARRAYS,
    ),
    "runtime.opencl": Room(
        (*KNOWN, "arguments", "back.llvm", "back.spirv", "spirv", "runtime.cache", "runtime.device", "runtime.emitted"),
        ARRAYS,
    ),
    "runtime.vulkan.driver": Room(),
    "runtime.vulkan": Room(
        (
            *KNOWN,
            "arguments",
            "back.llvm",
            "back.spirv",
            "spirv",
            "runtime.cache",
            "runtime.device",
            "runtime.emitted",
            "runtime.vulkan.driver",
        ),
        ARRAYS,
    ),
    "runtime": Room(
        (
            *KNOWN,
            "arguments",
            "interpreter",
            "back",
            "runtime.device",
            "runtime.cache",
            "runtime.compiled",
            "runtime.cpu",
            "runtime.cuda",
            "runtime.emitted",
            "runtime.opencl",
            "runtime.vulkan",
        ),
        ARRAYS,
    ),
    "runtime.spirv": Room((*KNOWN, "arguments", "front.spirv", "spirv", "runtime"), ARRAYS),
    "api": Room(
        (
            *WORDS,
            *("shown", "environment", "ir", "program", "front", "addressing", "arguments", "interpreter"),
            *("runtime", "tuned"),
        )
    ),
    "notebook": Room(("diagnostics", "api")),
    "decorated": Room(
        (
            *WORDS,
            "markup",
            "tuned",
            "ir",
            "language",
            "front.python",
            "program",
            "addressing",
            "arguments",
            "runtime",
            "api",
        ),
        ARRAYS,
    ),
    "exploration": Room(("diagnostics", "markup", "api", "interpreter", "runtime"), ARRAYS),
    "kernels": Room(("api", "ir"), ("numpy",)),
    "functions": Room((*WORDS, "ir", "arguments", "api", "kernels", "runtime.cpu"), ARRAYS),
    # Kernels as operators of other libraries, which nothing else imports.
    "operators": Room((*WORDS, "ir", "arguments", "api")),
    "torch": Room((*WORDS, "ir", "arguments", "api", "operators"), ("torch",)),
    "jax": Room((*WORDS, "ir", "arguments", "api", "operators"), (*ARRAYS, "jax")),
    "bench.peers": Room((*LANGUAGE, "back", "runtime"), ARRAYS),
    "bench.measuring": Room((*LANGUAGE, "bench.peers", "back", "runtime", "arguments", "api"), ARRAYS),
    "bench.cases": Room(
        (*LANGUAGE, "addressing", "bench.measuring", "bench.peers", "back", "runtime", "api", "program", "kernels"),
        ARRAYS,
    ),
    "bench": Room(ANY, ARRAYS),
    "commands.parts": Room(ANY, ("click", "rich", *ARRAYS)),
    "commands.address": Room(("addressing", "draw", "commands.parts"), ("click", "rich", *ARRAYS)),
    "commands.spirv": Room((*WORDS, "rules", "spirv", "front.shaders", "commands.parts"), ("click",)),
    "commands.python": Room(ANY, ("click", *ARRAYS)),
    "commands.shader": Room(ANY, ("click", *ARRAYS)),
    "commands": Room(ANY, ("click", "rich", *ARRAYS)),
    "tuning": Room(ANY, ARRAYS),
    "cli": Room(ANY, ("click", "rich", *ARRAYS)),
    "__main__": Room(("cli",)),
    "__init__": Room(ANY),
}
"""The rooms of girih by the names of their folders; the longest name that a module begins with is its room's.

What a room may import is named the same way, with all that stands below. `room.*` is the files of a room without its
sub-rooms, where these know them; the room's own name then stands for its face, `__init__`.
"""


def module_of(path: Path) -> str:
    """The name of a module without `girih.`, with `.__init__` where it is the face of a room."""
    return ".".join(path.relative_to(ROOT / "girih").with_suffix("").parts)


MODULES = {module_of(path) for path in FILES}


def room_of(module: str) -> str:
    """The name of the room of a module; an unknown first part stands for itself."""
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        inner = len(parts) == count + 1 and parts[-1] != "__init__"
        if inner and f"{name}.*" in ROOMS:
            return f"{name}.*"
        if name in ROOMS:
            return name
    return parts[0]


def resolved(name: str) -> str:
    """The module that an import means: `ir.core.Op` is in `ir.core`, `analysis` in its face."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        known = ".".join(parts[:count])
        if known in MODULES:
            return known
        if f"{known}.__init__" in MODULES:
            return f"{known}.__init__"
    return name


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it, at any depth. Most nodes of a file are in expressions, which have none."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported anywhere in a file, functions and TYPE_CHECKING blocks included."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; write the full name"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_allowed(name: str, own: str, room: Room) -> bool:
    top, _, rest = name.partition(".")
    if top != "girih":
        return top in sys.stdlib_module_names or top in room.packages
    if room.girih == ANY:
        return True
    target = resolved(rest)
    home = room_of(target)
    above = home.removesuffix(".*").split(".")
    outer = {".".join(above[:count]) for count in range(1, len(above) + 1)}
    return home in (own, EVERYWHERE) or home in room.girih or not outer.isdisjoint(room.girih)


def violations(imports: Iterable[tuple[int, str]], own: str) -> list[str]:
    room = ROOMS[own]
    return [
        f"line {line}: girih.{own} may not import {name}; it may import "
        f"{', '.join((*room.girih, *room.packages)) or 'the standard library only'}"
        for line, name in imports
        if not is_allowed(name, own, room)
    ]


@dataclass(frozen=True, slots=True)
class Outline:
    """What the tests look at of a file: what it imports, with the lines, and the names of its classes."""

    imports: tuple[tuple[int, str], ...]
    classes: tuple[str, ...]


@cache
def outline_of(path: Path) -> Outline:
    # The tree itself is not kept: trees of all files are a million objects, and the garbage collector visits each.
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return Outline(
        tuple(imported(tree)), tuple(node.name for node in statements(tree) if isinstance(node, ast.ClassDef))
    )


def test_a_file_imports_only_what_its_room_may() -> None:
    with every_case() as case:
        for path in FILES:
            with case(path.relative_to(ROOT).as_posix()):
                own = room_of(module_of(path))
                assert own in ROOMS, f"girih.{own} has no row in ROOMS: say there what it may import"
                assert violations(outline_of(path).imports, own) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("ir", "import numpy"),
        ("ir", "from girih.ops import linalg"),
        ("ir", "from girih import front"),
        ("ops", "def f():\n    import numpy as np"),
        ("ops", "from girih.front.text import parser"),
        ("front", "import click"),
        ("front", "from girih.interpreter.run import execute"),
        ("addressing.*", "from girih.ir import types"),
        ("addressing.tensor_map", "from girih.addressing import convert"),
        ("back.llvm.lower.*", "from girih.back.llvm.cpu.machine import abi"),
        ("back.llvm.lower.*", "from girih.back.llvm.lower.one_lane import code"),
        ("back.llvm.lower.one_lane.*", "from girih.back.llvm.cpu import coroutine"),
        ("back.llvm.cpu.matrix", "from girih.back.llvm.cpu.tensor import access"),
        ("interpreter.machine", "from girih.interpreter.tile import memory"),
        ("interpreter", "from girih.front.text.parser import parse"),
        ("runtime", "import rich.progress"),
        ("kernels", "from girih import runtime"),
    ],
)
def test_the_table_refuses(room: str, line: str) -> None:
    assert len(violations(imported(ast.parse(line)), room)) == 1


def test_every_folder_with_modules_has_a_row() -> None:
    folders = {
        module.rpartition(".")[0] for module in MODULES if module.count(".") and not module.endswith(".__init__")
    }
    assert {folder for folder in folders if folder not in ROOMS and f"{folder}.*" not in ROOMS} == set()


def test_rooms_import_in_one_direction() -> None:
    """The table itself has no cycle: every room comes after the rooms that it imports."""
    above: set[str] = set()
    for name, room in ROOMS.items():
        if room.girih != ANY:
            later = [one for one in room.girih if not any(seen == one or seen.startswith(f"{one}.") for seen in above)]
            assert later == [], f"girih.{name} may import a room that stands below it in ROOMS"
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
        text = path.read_text(encoding="utf-8")
        if "import_module" not in text:
            continue
        own, file = room_of(module_of(path)), path.relative_to(ROOT / "girih").as_posix()
        for name in named(ast.parse(text)):
            if not is_allowed(name, own, ROOMS[own]):
                around[file] = (*around.get(file, ()), name)
    assert around == BY_NAME


def test_the_package_itself_is_lazy() -> None:
    """At its top level `girih/__init__.py` imports the standard library only, type checkers aside."""
    tree = ast.parse((ROOT / "girih" / "__init__.py").read_text(encoding="utf-8"))
    at_import = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [name for node in at_import for _, name in imported(node)]
    assert [name for name in names if name.split(".")[0] not in sys.stdlib_module_names] == []


SAME_NAME_ON_PURPOSE = frozenset({
    "Module", "Function", "Type", "Matrix", "TensorLayout", "TensorView", "Operand", "Use", "Block", "Loop",
    # Types of kernels in Python are named as users know them; what stands for an expression, as its reader does.
    "Array", "Group", "Number", "Scalar", "TensorMap", "Vector", "Known", "Memory",
})  # fmt: skip
"""Class names that stand in several modules whose names tell them apart, as `ir.Module` and `spirv.Module` may."""


def test_a_class_name_stands_once() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for name in outline_of(path).classes:
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    several = {name: where for name, where in places.items() if len(where) > 1}
    assert set(several) == SAME_NAME_ON_PURPOSE, several
    assert len(places) > 300


MOST_FILES, MOST_LINES = 18, 600
"""A room has at most so many modules beside its face, a module so many lines (tables and generated ones aside)."""


def test_rooms_and_files_stay_small() -> None:
    rooms: dict[str, int] = {}
    for path in FILES:
        if path.name != "__init__.py":
            room = path.parent.relative_to(ROOT).as_posix()
            rooms[room] = rooms.get(room, 0) + 1
    assert {room: count for room, count in rooms.items() if count > MOST_FILES} == {}
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path.name: count for path, count in lines.items() if count > MOST_LINES} == {}
