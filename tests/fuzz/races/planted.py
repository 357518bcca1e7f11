"""Programs with one bug in them: a barrier removed, an index shifted, an atomic access made plain, a scope narrowed.

Not every such change makes a race; `orders.py` says of which it does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.control import Barrier, Foreach
from girih.ops.tile.coopmatrix import MatrixAccess, MatrixLoad
from girih.ops.tile.memory import AtomicLoad, AtomicStore, AtomicUpdate, Load, Scope, Semantics, Store, Subview
from girih.program import analyze
from girih.source import Source
from tests.fuzz.races.free import free_program
from tests.fuzz.races.kernel import LIMITS, Launch

Change = list[str]
"""What stands in place of a line."""

ATOMIC = AtomicLoad | AtomicStore | AtomicUpdate


@dataclass(frozen=True, slots=True)
class Planted:
    """A program with a bug, and the line of the program without it that was changed."""

    launch: Launch
    kind: str
    line: str


def planted_program(seed: int, kind: str) -> Planted:
    """A program with one bug of a kind; the same seed gives the same one."""
    source = random.Random(f"{kind} {seed}")
    while True:
        launch = free_program(source.randrange(2**40))
        sites = list(KINDS[kind](source, function_of(launch)))
        if sites:
            op, change = source.choice(sites)
            return _changed(launch, kind, op, change)


def function_of(launch: Launch) -> Function:
    """The kernel of a program."""
    module, _ = analyze(Source(launch.text), None, LIMITS)
    return module.functions[0]


def _changed(launch: Launch, kind: str, op: Op, change: Change) -> Planted:
    lines = launch.text.splitlines()
    place = op.span.line - 1
    indent = lines[place].removesuffix(lines[place].lstrip(" "))
    text = "\n".join([*lines[:place], *(indent + line for line in change), *lines[place + 1 :]]) + "\n"
    return Planted(replace(launch, text=text), kind, lines[place].strip())


Site = tuple[Op, Change]


def _line(op: Op) -> str:
    return op.span.source.text.splitlines()[op.span.line - 1].strip()


def _barriers(source: random.Random, function: Function) -> Iterator[Site]:
    """A barrier, or one of its fences, is removed."""
    for op in function.walk():
        if isinstance(op, Barrier) and (op.local_fence or op.global_fence):
            yield op, []
            yield op, ["barrier"]
            if op.local_fence and op.global_fence:
                yield op, ["barrier.local"]
                yield op, ["barrier.global"]


def _indices(source: random.Random, function: Function) -> Iterator[Site]:
    """An index of an access or of a view is another one of the same mode."""
    filling = {op.body.ops[0] for op in function.walk() if isinstance(op, Foreach) and len(op.body.ops) == 1}
    for op in function.walk():
        if op in filling:
            continue
        if isinstance(op, Load | Store | ATOMIC) and isinstance(op.tensor.type, MemRef):
            for position, (index, size) in enumerate(zip(op.indices, op.tensor.type.shape, strict=True)):
                yield from _shifted(source, op, index, position, size or 1)
        elif isinstance(op, Subview) and isinstance(op.tensor.type, MemRef):
            for position, (part, size) in enumerate(zip(op.slices, op.tensor.type.shape, strict=True)):
                taken = part.size if isinstance(part.size, int) and part.size else 1
                yield from _shifted(source, op, part.offset, position, (size or 1) - taken + 1)
        elif isinstance(op, MatrixAccess):
            yield from _shifted_matrix(source, op)


def _shifted_matrix(source: random.Random, op: MatrixAccess) -> Iterator[Site]:
    matrix = op.result if isinstance(op, MatrixLoad) else getattr(op, "matrix", None)
    column, memory = getattr(op, "column", None), getattr(op, "memory", None)
    assert isinstance(matrix, Value) and isinstance(column, Value) and isinstance(memory, Value)
    assert isinstance(matrix.type, CoopMatrix) and isinstance(memory.type, MemRef)
    yield from _shifted(source, op, column, 1, (memory.type.shape[1] or 1) - matrix.type.columns + 1)


def _shifted(source: random.Random, op: Op, index: Value | int, position: int, size: int) -> Iterator[Site]:
    """The index at a position, which is below `size`, is moved, and begins again at 0."""
    if size < 2:
        return
    by = source.randint(1, size - 1)
    head, rest = _line(op).split("[", 1)
    inside, behind = rest.split("]", 1)
    indices = inside.split(", ")
    moved = f"{(index + by) % size}" if isinstance(index, int) else "%moved"
    indices[position] = ":".join([moved, *indices[position].split(":")[1:]])
    line = f"{head}[{', '.join(indices)}]{behind}"
    if isinstance(index, int):
        yield op, [line]
        return
    yield (
        op,
        [
            f"%by = constant {by} : index",
            f"%size = constant {size} : index",
            f"%further = add %{index.name}, %by : index",
            "%moved = rem %further, %size : index",
            line,
        ],
    )


def _plain(source: random.Random, function: Function) -> Iterator[Site]:
    """An atomic access becomes a load, a store, or both."""
    for op in function.walk():
        line = _line(op)
        if isinstance(op, AtomicUpdate):
            operation = op.spec.mnemonic.removeprefix("atomic_")
            place = line[line.index(", ") + 2 :]
            yield (
                op,
                [
                    f"%{op.result.name} = load {place}",
                    f"%changed = {operation} %{op.result.name}, %{op.value.name} : {op.result.type}",
                    f"store %changed, {place[: place.rindex(' : ')]}",
                ],
            )
        elif isinstance(op, AtomicLoad | AtomicStore):
            yield op, [re.sub(r"atomic_(load|store)(\.\w+)*", r"\1", line)]
        elif getattr(op, "atomic", False):
            yield op, [line.replace(".atomic", "", 1)]


def _scopes(source: random.Random, function: Function) -> Iterator[Site]:
    """An atomic access has a scope that covers fewer work-items."""
    for op in function.walk():
        if isinstance(op, ATOMIC):
            for scope in NARROWER[op.scope]:
                yield op, [_line(op).replace(f".{op.scope.value}", f".{scope.value}", 1)]


NARROWER = {
    Scope.CROSS_DEVICE: (Scope.WORK_GROUP, Scope.SUBGROUP),
    Scope.DEVICE: (Scope.WORK_GROUP, Scope.SUBGROUP),
    Scope.WORK_GROUP: (Scope.SUBGROUP,),
    Scope.SUBGROUP: (),
}


def _semantics(source: random.Random, function: Function) -> Iterator[Site]:
    """A release or acquire becomes relaxed."""
    for op in function.walk():
        if isinstance(op, ATOMIC) and op.semantics is not Semantics.RELAXED:
            yield op, [_line(op).replace(f".{op.semantics.value}", ".relaxed", 1)]


KINDS: dict[str, Callable[[random.Random, Function], Iterator[Site]]] = {
    "barrier": _barriers,
    "index": _indices,
    "plain": _plain,
    "scope": _scopes,
    "order": _semantics,
}
"""The bugs, by name."""

REQUIRED = ("barrier", "index", "plain", "scope")
"""The bugs that are tried by default."""
