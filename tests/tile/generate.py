"""Random tile programs whose results do not depend on the order of sums, as text, with the arguments of a launch.

Matrices are of whole numbers and halves, and it is followed how large they can be: what is summed up, in products or
over rows, is exact in f32. So the results of the interpreter and of every schedule have the same bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i8": np.int8, "f8e4m3": ml_dtypes.float8_e4m3fn, "f32": np.float32,
    "i32": np.int32, "f64": np.float64,
}  # fmt: skip
LARGEST_INPUT = 2
_EXACT = 2.0**24
"""Sums of f32 are exact as long as all are multiples of one power of 2, and below so many times it."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of the program: its name, type, the size that no component exceeds, and what all are multiples of.

    A unit of 0 stands for numbers that nothing is known of: they are not summed up.
    """

    name: str
    component: str
    rows: int
    columns: int
    most: float
    unit: float

    @property
    def type(self) -> str:
        return matrix(self.component, self.rows, self.columns)


def matrix(component: str, rows: int, columns: int, use: str = "acc") -> str:
    """The type of a matrix of the work-group."""
    return f"coopmatrix<{component}x{rows}x{columns},matrix_{use},work_group>"


@dataclass(slots=True)
class TileText:
    """A random program with the arguments of a launch; the arrays in `written` are its results.

    The maps of an `odd` one may be illegal.
    """

    text: str
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    written: tuple[str, ...]
    odd: bool

    def fresh(self) -> list[Any]:
        """The arguments, those that are written copied."""
        return [_fresh(one) if name in self.written else one for name, one in self.arguments.items()]


def _fresh(one: Any) -> Any:
    """An array, or a group of arrays, copied."""
    return [_fresh(member) for member in one] if isinstance(one, list) else one.copy(order="K")


LOOP_HINTS = ("", "", " attributes {stages=3}", "", " attributes {pipeline=false}", "", " attributes {stages=1}")


@dataclass(slots=True)
class Writer:
    """A program in the making."""

    source: random.Random
    lines: list[str] = field(default_factory=list)
    indent: str = "        "
    names: int = 0
    head: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    def chance(self, of: float) -> bool:
        return self.source.random() < of

    def name(self, word: str = "v") -> str:
        self.names += 1
        return f"%{word}{self.names}"

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A context in which lines stand in a region."""
        before = self.indent
        self.indent = before + "    "
        yield
        self.indent = before

    def end_of_loop(self) -> str:
        """The end of a loop, with hints for some; what else is in the program does not depend on them."""
        return "}" + LOOP_HINTS[self.names % len(LOOP_HINTS)]

    def scalar(self, line: str) -> str:
        """A scalar that is computed before `parallel`."""
        name = self.name("s")
        self.head.append(f"    {name} = {line}")
        return name

    def index(self, value: int) -> str:
        return self.scalar(f"constant {value} : index")

    def made(self, line: str, like: Matrix, **changes: Any) -> Matrix:
        """A matrix that an instruction makes, whose operands stand in `line`."""
        found = replace(like, name=self.name(), **changes)
        self.add(f"{found.name} = {line} : {found.type}")
        return found

    def array(self, name: str, type: str, array: Array, *, result: bool = False) -> str:
        """A parameter with its argument."""
        self.parameters.append(f"%{name}: {type}")
        self.arguments[name] = array
        if result:
            self.written.append(name)
        return f"%{name}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The tile of a program, and the sizes of its arrays."""

    rows: int
    columns: int
    depth: int
    m: int
    n: int
    k: int
    batches: int
    type: str
    sum: str
    odd: bool
    grouped: bool = False
    """Whether the matrices of batches are members of groups, each of its own size."""

    @property
    def by_threads(self) -> bool:
        """Whether threads compute the products."""
        return self.type == self.sum


def program(seed: int) -> TileText:
    """The program of a seed."""
    w = Writer(random.Random(seed))
    return _written(w, _sizes(w.source))


def program_by_threads(seed: int) -> TileText:
    """The program of a seed whose products threads compute: of f64, and of f32 and i32 as they are."""
    w = Writer(random.Random(seed))
    sizes, type = _sizes(w.source), w.source.choice(["f32", "f64", "i32"])
    rows, columns = w.source.choice([(64, 32), (64, 64), (128, 32), (128, 64)])
    depth = w.source.choice([16, 32] if type == "f64" else [32, 64])
    m, n = min(sizes.m, 2 * rows), min(sizes.n, 2 * columns)
    return _written(
        w, replace(sizes, type=type, sum=type, rows=rows, columns=columns, depth=depth, m=m, n=n, k=min(sizes.k, 96))
    )


def program_of_groups(seed: int) -> TileText:
    """The program of a seed whose matrices are members of groups, each of its own size."""
    w = Writer(random.Random(seed))
    return _written(w, replace(_sizes(w.source), batches=w.source.choice([2, 3]), grouped=True, odd=True))


def _written(w: Writer, sizes: Sizes) -> TileText:
    """The program of some sizes."""
    body = (
        _attention
        if w.chance(0.35) and not sizes.grouped and sizes.sum == "f32" and sizes.type in ("bf16", "f16")
        else _products
    )
    body(w, sizes)
    parameters = ", ".join(w.parameters)
    attributes = "attributes {subgroup_size=32, work_group_size=[128, 1]}"
    head = [f"func @f({parameters}) {attributes} {{", "    %zero = constant 0 : index"]
    text = "\n".join([*head, *w.head, "    parallel {", *w.lines, "    }", "}", ""])
    grid = -(-sizes.m // sizes.rows), -(-sizes.n // sizes.columns), sizes.batches
    return TileText(text, grid, w.arguments, tuple(w.written), sizes.odd)


def _sizes(source: random.Random) -> Sizes:
    type, sum = source.choice([("bf16", "f32"), ("bf16", "f32"), ("f16", "f32"), ("i8", "i32"), ("f8e4m3", "f32")])
    rows, columns = source.choice([64, 64, 128, 192]), source.choice([16, 32, 64, 96])
    if source.random() < 0.1:
        # Stores go through stagings in several parts, of 64 rows and up to 128 columns.
        rows, columns = source.choice([(256, 32), (64, 192), (128, 160)])
    depth = source.choice([16, 32, 64]) if type in ("bf16", "f16") else source.choice([32, 64])
    step = 16 if source.random() < 0.85 else 1
    m, n = (
        step * source.randint(1, 2 * tile // step) if source.random() < 0.6 else tile * source.randint(1, 2)
        for tile in (rows, columns)
    )
    k = step * source.randint(0, 160 // step) if source.random() < 0.6 else depth * source.randint(1, 4)
    return Sizes(rows, columns, depth, m, n, k, source.choice([1, 1, 2]), type, sum, step == 1)


def _input(w: Writer, component: str, *shape: int) -> Array:
    numbers = np.random.default_rng(w.source.randrange(2**32)).integers(-LARGEST_INPUT, LARGEST_INPUT + 1, shape)
    return np.asfortranarray(numbers.astype(DTYPES[component]))


# --- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A matrix in memory of which tiles are loaded: the memref, whether it is transposed there, and checks.

    With `layout`, tiles are loaded through tensor layouts that clip, from the memref with all modes as one.
    """

    memref: str
    transposed: bool
    checked: str
    component: str
    layout: tuple[str, str, str] | None = None


def _matrix_argument(
    w: Writer, sizes: Sizes, name: str, component: str, shape: tuple[int, int], *, transposed: bool | None = None,
    result: bool = False,
) -> Source:  # fmt: skip
    """A matrix argument, or one of several matrices, of which a work-group has its own by the z of its place."""
    turned = w.chance(0.5) if transposed is None else transposed
    m, n = shape[::-1] if turned else shape
    checked = ".both_checked" if w.chance(0.85) else ""
    if sizes.batches == 1 or (not result and w.chance(0.3)):
        array = _input(w, component, m, n)
        memref = w.array(name, f"memref<{component}x?x?> {{alignment=16}}", array, result=result)
        layout = None
        if w.chance(0.2):
            inner, outer = (w.scalar(f"size {memref}[{mode}] : index") for mode in (0, 1))
            layout = w.scalar(f"fuse {memref}[0, 1] : memref<{component}x?>"), outer, inner
        return Source(memref, turned, checked, component, layout)
    if sizes.grouped:
        w.parameters.append(f"%{name}: group<memref<{component}x?x?> x ?>")
        w.arguments[name] = [_input(w, component, _member(m, z), _member(n, z)) for z in range(sizes.batches)]
        w.written += [name] if result else []
        z = w.scalar("group_id.z : index")
        memref = w.scalar(f"load %{name}[{z}] : memref<{component}x?x?>")
        return Source(memref, turned, checked, component)
    array = _input(w, component, m, n, sizes.batches)
    whole = w.array(name, f"memref<{component}x?x?x?>", array, result=result)
    rows, columns = w.scalar(f"size {whole}[0] : index"), w.scalar(f"size {whole}[1] : index")
    z = w.scalar("group_id.z : index")
    memref = w.scalar(f"subview {whole}[0:{rows}, 0:{columns}, {z}] : memref<{component}x?x?>")
    return Source(memref, turned, checked, component)


def _member(size: int, z: int) -> int:
    """A size of the member of a group with a number: that of all is the same where that of the first one is."""
    return max(1, size * (5 - 2 * z) // 5 + z) if size and z else size


def _loaded(w: Writer, source: Source, row: str, column: str, shape: tuple[int, int], use: str) -> str:
    """The name of a tile that is loaded."""
    name = w.name("t")
    place = f"[{column}, {row}]" if source.transposed else f"[{row}, {column}]"
    turned = ".t" if source.transposed else ""
    type = matrix(source.component, *shape, use)
    if source.layout is not None:
        empty = w.name("t")
        w.add(f"{empty} = constant {'0' if source.component[0] == 'i' else '0.0'} : {type}")
        w.add(f"{name} = cooperative_matrix_load_tensor {empty}, {_sliced(w, source, row, column, shape)} : {type}")
        return name
    w.add(f"{name} = cooperative_matrix_load{turned}{source.checked} {source.memref}{place} : {type}")
    return name


def _sliced(w: Writer, source: Source, row: str, column: str, shape: tuple[int, int]) -> str:
    """The operands of an access to a tile through a tensor layout."""
    assert source.layout is not None
    memref, outer, inner = source.layout
    names = [w.name("l") for _ in range(3)]
    place = f"[{row}:{shape[0]}, {column}:{shape[1]}]"
    if not source.transposed:
        place = f"[{column}:{shape[1]}, {row}:{shape[0]}]"
    w.add(f"{names[0]} = tensor_layout_create : tensor_layout<2,constant>")
    w.add(f"{names[1]} = tensor_layout_set_dimension {names[0]}[{outer}, {inner}] : tensor_layout<2,constant>")
    w.add(f"{names[2]} = tensor_layout_slice {names[1]}{place} : tensor_layout<2,constant>")
    if source.transposed:
        return f"{memref}[%zero], {names[2]}"
    view = w.name("l")
    w.add(f"{view} = tensor_view_create : tensor_view<2,false,1,0>")
    return f"{memref}[%zero], {names[2]}, {view}"


# --- what is computed of matrices -----------------------------------------------------------------


def _constant(w: Writer, component: str, rows: int, columns: int, value: int) -> Matrix:
    found = Matrix(w.name(), component, rows, columns, abs(value), 1.0)
    literal = str(value) if component[0] == "i" else f"{value}.0"
    w.add(f"{found.name} = constant {literal} : {found.type}")
    return found


def _clamped(w: Writer, one: Matrix, most: int) -> Matrix:
    """A matrix cut off at a size, whole numbers if it has no unit."""
    high, low = (_constant(w, one.component, one.rows, one.columns, value) for value in (most, -most))
    below = w.made(f"min {one.name}, {high.name}", one)
    return w.made(f"max {below.name}, {low.name}", one, most=min(one.most, float(most)))


def _changed(w: Writer, one: Matrix, row: str, column: str) -> Matrix:
    """A matrix of the same type that is computed from another one component by component."""
    if one.most > 1024:
        one = _clamped(w, one, 64)
    integer = one.component[0] == "i"
    match w.source.randrange(6):
        case 0:
            return w.made(f"{w.source.choice(['neg', 'abs'])} {one.name}", one)
        case 1:
            word = w.source.choice(["add", "sub", "max", "min"])
            return w.made(f"{word} {one.name}, {one.name}", one, most=2 * one.most)
        case 2:
            number = w.scalar(f"constant {'3 : i32' if integer else f'0.5 : {one.component}'}")
            unit = one.unit if integer else one.unit / 2
            return w.made(f"cooperative_matrix_scale {number}, {one.name}", one, most=3 * one.most, unit=unit)
        case 3:
            return _masked(w, one, row, column)
        case 4:
            other = _constant(w, one.component, one.rows, one.columns, w.source.randint(-2, 3))
            return w.made(f"add {one.name}, {other.name}", one, most=one.most + 3)
        case _:
            return w.made(f"mul {one.name}, {one.name}", one, most=one.most**2, unit=one.unit**2)


def _masked(w: Writer, one: Matrix, row: str, column: str) -> Matrix:
    """A matrix of which components right of the diagonal of the whole matrix, or beside a column, are others."""
    found = replace(one, name=w.name(), most=max(one.most, 1.0))
    first_row, first_column = (w.name("i") for _ in range(2))
    w.add(f"{first_row} = cast {row} : i32")
    w.add(f"{first_column} = cast {column} : i32")
    w.add(f"{found.name} = cooperative_matrix_apply (%r, %c, %x) = {one.name} -> {found.type} {{")
    with w.inside():
        w.add(f"%y = add {first_row}, %r : i32")
        w.add(f"%z = add {first_column}, %c : i32")
        w.add(f"%k = {w.source.choice(['less_than', 'less_than_equal', 'greater_than'])} %z, %y : bool")
        w.add(f"%o = constant {'1' if one.component[0] == 'i' else '1.0'} : {one.component}")
        w.add(f"%s = select %k, %x, %o : {one.component}")
        w.add("yield (%s)")
    w.add("}")
    return found


def _joined(w: Writer, a: Matrix, b: Matrix) -> Matrix:
    """A matrix from two, of which the second may have one column that stands for all."""
    small = [_clamped(w, one, 256) if one.most > 4096 else one for one in (a, b)]
    a, b = small
    unit = min(a.unit, b.unit)
    if (a.rows, a.columns) == (b.rows, b.columns) and w.chance(0.6):
        word = w.source.choice(["add", "sub", "max"])
        return w.made(f"{word} {a.name}, {b.name}", a, most=a.most + b.most, unit=unit)
    found = replace(a, name=w.name(), most=a.most + b.most, unit=unit)
    w.add(f"{found.name} = cooperative_matrix_apply (%r, %c, %x, %y) = {a.name}, {b.name} -> {found.type} {{")
    with w.inside():
        w.add(f"%z = {w.source.choice(['sub', 'add', 'max', 'min'])} %x, %y : {a.component}")
        w.add("yield (%z)")
    w.add("}")
    return found


def _rows(w: Writer, one: Matrix) -> Matrix:
    """One number for each row of a matrix: the largest, the smallest or the sum."""
    word = w.source.choice(["max", "min", "add"])
    if word == "add" and one.most * one.columns > _EXACT / 16 * one.unit:
        one = _clamped(w, one, 16)
    most = one.most * one.columns if word == "add" else one.most
    if w.chance(0.3) and word != "add":
        found = replace(one, name=w.name(), columns=1, most=most)
        w.add(f"{found.name} = cooperative_matrix_combine.row (%x, %y) = {one.name} -> {found.type} {{")
        with w.inside():
            w.add(f"%z = {word} %x, %y : {one.component}")
            w.add("yield (%z)")
        w.add("}")
        return found
    return w.made(f"cooperative_matrix_reduce_{word}.row {one.name}", one, columns=1, most=most)


def _worked(w: Writer, one: Matrix, row: str, column: str, count: int, *, rows: bool = True) -> Matrix:
    """A matrix of the same type after some steps."""
    for _ in range(w.source.randint(0, count)):
        one = _joined(w, one, _rows(w, one)) if rows and w.chance(0.35) else _changed(w, one, row, column)
    return one


def _chosen(w: Writer, one: Matrix, row: str, column: str, limit: str) -> Matrix:
    """A matrix that a branch, which all take alike, chooses: it was worked on, or it was not."""
    condition = w.name("b")
    w.add(f"{condition} = less_than {row}, {limit} : bool")
    found = replace(one, name=w.name())
    w.add(f"{found.name} = if {condition} -> ({found.type}) {{")
    with w.inside():
        worked = _worked(w, one, row, column, 2)
        w.add(f"yield ({worked.name})")
    w.add("} else {")
    with w.inside():
        other = _changed(w, one, row, column)
        w.add(f"yield ({other.name})")
    w.add("}")
    return replace(found, most=max(worked.most, other.most), unit=min(worked.unit, other.unit))


# --- products -------------------------------------------------------------------------------------


def _fills_registers(sizes: Sizes) -> bool:
    """Whether sums of two products would take all registers: those of 8-bit floats have a third matrix of sums."""
    return sizes.type == "f8e4m3" and sizes.columns >= (96 if sizes.rows == 192 else 160)


def _products(w: Writer, sizes: Sizes) -> None:
    """Products of tiles in a loop or two, then some work on their sums, then stores."""
    narrow = sizes.type in ("i8", "f8e4m3")
    # All right factors that threads read have their neighbours along one mode.
    turned = False if narrow else w.chance(0.5) if sizes.by_threads else None
    left = _matrix_argument(w, sizes, "A", sizes.type, (sizes.m, sizes.k), transposed=True if narrow else None)
    rights = [
        _matrix_argument(w, sizes, name, sizes.type, (sizes.k, sizes.n), transposed=turned)
        for name in w.source.choice([("B",), ("B",), ("B", "D")][: 2 if _fills_registers(sizes) else 3])
    ]
    row, column = _place(w, sizes)
    whole = left.memref if sizes.grouped else "%A"
    size = w.scalar(f"size {whole}[{0 if left.transposed else 1}] : index")
    begin, end = _bounds(w, sizes, row, size)
    sums = [_constant(w, sizes.sum, sizes.rows, sizes.columns, 0) for _ in rights]

    def loop(before: list[Matrix]) -> list[Matrix]:
        return _product_loop(w, sizes, left, rights, before, (row, column), (begin, end))

    for _ in range(2 if w.chance(0.15) else 1):
        way = w.source.choice([_in_a_branch, _in_a_loop, _as_it_is, _as_it_is, _as_it_is])
        sums = way(w, row, sums, loop)
    result = sums[0]
    if len(sums) == 1 and not narrow and not sizes.by_threads and sizes.columns % 16 == 0 and w.chance(0.2):
        result = _chained(w, sizes, result, (row, column))
    for other in sums[1:]:
        result = _joined(w, _worked(w, result, row, column, 1), _worked(w, other, row, column, 1))
    _finish(w, sizes, result, row, column)


def _chained(w: Writer, sizes: Sizes, sums: Matrix, place: tuple[str, str]) -> Matrix:
    """The product of rounded sums with a tile that is the same for all rows."""
    source = _matrix_argument(w, sizes, "W", sizes.type, (sizes.columns, sizes.n))
    sums = _clamped(w, _worked(w, sums, *place, 1), 64)
    left = w.name("p")
    w.add(f"{left} = cast {sums.name} : {matrix(sizes.type, sizes.rows, sizes.columns, 'a')}")
    right = _loaded(w, source, "%zero", place[1], (sizes.columns, sizes.columns), "b")
    none = _constant(w, "f32", sizes.rows, sizes.columns, 0)
    most = sums.most * LARGEST_INPUT * sizes.columns
    return w.made(f"cooperative_matrix_mul_add {left}, {right}, {none.name}", none, most=most, unit=sums.unit)


LoopWriter = Callable[[list[Matrix]], list[Matrix]]


def _as_it_is(w: Writer, row: str, sums: list[Matrix], loop: LoopWriter) -> list[Matrix]:
    return loop(sums)


def _in_a_branch(w: Writer, row: str, sums: list[Matrix], loop: LoopWriter) -> list[Matrix]:
    """Work-groups with small rows go through a loop, others do not."""
    limit, condition = w.index(w.source.choice([0, 1, 64, 128, 1000])), w.name("b")
    results = [replace(one, name=w.name()) for one in sums]
    w.add(f"{condition} = less_than {row}, {limit} : bool")
    names, types = ", ".join(one.name for one in results), ", ".join(one.type for one in results)
    w.add(f"{names} = if {condition} -> ({types}) {{")
    with w.inside():
        made = loop(sums)
        w.add(f"yield ({', '.join(one.name for one in made)})")
    w.add("} else {")
    with w.inside():
        w.add(f"yield ({', '.join(one.name for one in sums)})")
    w.add("}")
    return [replace(one, name=result.name) for one, result in zip(made, results, strict=True)]


def _in_a_loop(w: Writer, row: str, sums: list[Matrix], loop: LoopWriter) -> list[Matrix]:
    """A loop that is executed up to three times."""
    times = w.source.randint(0, 3)
    results, inner = ([replace(one, name=w.name()) for one in sums] for _ in range(2))
    init = ", ".join(f"{a.name}={b.name}" for a, b in zip(inner, sums, strict=True))
    names, types = ", ".join(one.name for one in results), ", ".join(one.type for one in results)
    end, step = w.index(times), w.index(1)
    w.add(f"{names} = for {w.name('o')} = %zero, {end}, {step} init ({init}) -> ({types}) {{")
    with w.inside():
        made = loop(inner)
        w.add(f"yield ({', '.join(one.name for one in made)})")
    w.add(w.end_of_loop())
    most = [before.most + times * (one.most - before.most) for one, before in zip(made, sums, strict=True)]
    return [replace(one, most=number) for one, number in zip(results, most, strict=True)]


def _place(w: Writer, sizes: Sizes) -> tuple[str, str]:
    """Where the tile of a work-group begins."""
    rows, columns = w.index(sizes.rows), w.index(sizes.columns)
    i, j = w.scalar("group_id.x : index"), w.scalar("group_id.y : index")
    return w.scalar(f"mul {i}, {rows} : index"), w.scalar(f"mul {j}, {columns} : index")


def _bounds(w: Writer, sizes: Sizes, row: str, size: str) -> tuple[str, str]:
    """Where loops over the depth begin and end: at its ends, or somewhere between, later for later rows."""
    zero = w.index(0)
    match w.source.randrange(5):
        case 2:
            table = np.array([w.source.randint(0, 200) for _ in range(64)], np.int64)
            held = w.array("T", "memref<index x ?>", table)
            last = w.scalar(f"load {held}[{w.scalar('group_id.x : index')}] : index")
            return zero, w.scalar(f"min {last}, {size} : index")
        case 0:
            return zero, w.scalar(f"min {w.scalar(f'add {row}, {w.index(sizes.depth)} : index')}, {size} : index")
        case 1:
            return w.index(sizes.depth), size
        case _:
            return zero, size


def _product_loop(
    w: Writer, sizes: Sizes, left: Source, rights: Sequence[Source], sums: list[Matrix], place: tuple[str, str],
    bounds: tuple[str, str],
) -> list[Matrix]:  # fmt: skip
    row, column = place
    step, at = w.index(sizes.depth), w.name("at")
    most = 2 * max(sizes.k, 1) * LARGEST_INPUT**2
    results = [replace(one, name=w.name(), most=one.most + most) for one in sums]
    inner = [replace(one, name=w.name()) for one in results]
    init = ", ".join(f"{a.name}={b.name}" for a, b in zip(inner, sums, strict=True))
    types = ", ".join(one.type for one in results)
    names = ", ".join(one.name for one in results)
    w.add(f"{names} = for {at} = {bounds[0]}, {bounds[1]}, {step} init ({init}) -> ({types}) {{")
    with w.inside():
        a = _loaded(w, left, row, at, (sizes.rows, sizes.depth), "a")
        made = []
        for source, before in zip(rights, inner, strict=True):
            b = _loaded(w, source, at, column, (sizes.depth, sizes.columns), "b")
            made.append(w.made(f"cooperative_matrix_mul_add {a}, {b}, {before.name}", before))
        if w.chance(0.15):
            made[0] = w.made(f"cooperative_matrix_mul_add {a}, {b}, {made[0].name}", made[0])
        w.add(f"yield ({', '.join(one.name for one in made)})")
    w.add(w.end_of_loop())
    return results


def _finish(w: Writer, sizes: Sizes, result: Matrix, row: str, column: str) -> None:
    """What is done with the sums, and stores."""
    result = _worked(w, result, row, column, 3)
    if w.chance(0.25):
        result = _chosen(w, result, row, column, w.index(sizes.rows))
    out = w.source.choice(
        ["i32", "i8"] if sizes.sum == "i32" else ["bf16", "f16", "f32"] if sizes.sum == "f32" else ["f64", "f32"]
    )
    target = _matrix_argument(w, sizes, "C", out, (sizes.m, sizes.n), result=True)
    if w.chance(0.25):
        result = _joined(w, result, _one_row(w, sizes, column, result.component))
    if w.chance(0.2):
        added = _matrix_argument(w, sizes, "E", out, (sizes.m, sizes.n))
        more = Matrix(_loaded(w, added, row, column, (sizes.rows, sizes.columns), "acc"), out, sizes.rows,
                      sizes.columns, LARGEST_INPUT, 1.0)  # fmt: skip
        result = _joined(w, result, _cast(w, more, result.component))
    # What is loaded from a member of a group is not stored into one: both could be the same array.
    if not sizes.grouped and w.chance(0.3):
        old = Matrix(_loaded(w, target, row, column, (sizes.rows, sizes.columns), "acc"), out, sizes.rows,
                     sizes.columns, LARGEST_INPUT, 1.0)  # fmt: skip
        result = _joined(w, result, _cast(w, old, result.component))
    if w.chance(0.3):
        rows = _rows(w, result)
        kept = _matrix_argument(w, sizes, "R", rows.component, (sizes.m, sizes.n), transposed=False, result=True)
        _store(w, rows, kept, row, column)
    _store(w, _cast(w, result, out), target, row, column)


def _one_row(w: Writer, sizes: Sizes, column: str, component: str) -> Matrix:
    """A matrix of one row, which stands for all: of numbers in memory, or of their squares."""
    source = _matrix_argument(
        w, replace(sizes, batches=1, grouped=False), "X", component, (1, sizes.n), transposed=False
    )
    name = _loaded(w, source, "%zero", column, (1, sizes.columns), "acc")
    return _worked(w, Matrix(name, component, 1, sizes.columns, LARGEST_INPUT, 1.0), "%zero", column, 1, rows=False)


def _cast(w: Writer, one: Matrix, component: str) -> Matrix:
    return one if one.component == component else w.made(f"cast {one.name}", one, component=component)


def _store(w: Writer, one: Matrix, target: Source, row: str, column: str) -> None:
    if target.layout is not None:
        w.add(f"cooperative_matrix_store_tensor {one.name}, {_sliced(w, target, row, column, (one.rows, one.columns))}")
        return
    place = f"[{column}, {row}]" if target.transposed else f"[{row}, {column}]"
    turned = ".t" if target.transposed else ""
    w.add(f"cooperative_matrix_store{turned}{target.checked} {one.name}, {target.memref}{place}")


# --- two products with rows between them ----------------------------------------------------------


def _attention(w: Writer, sizes: Sizes) -> None:
    """A product whose sums, after some work on their rows, are the left factor of another product, over keys."""
    keys, depth = w.source.choice([16, 32, 64]), sizes.depth
    query = _matrix_argument(w, sizes, "A", sizes.type, (sizes.m, depth))
    first = _matrix_argument(w, sizes, "B", sizes.type, (depth, sizes.k))
    second = _matrix_argument(w, sizes, "V", sizes.type, (sizes.k, sizes.n))
    row, column = _place(w, sizes)
    zero = w.index(0)
    size = w.scalar(f"size %V[{1 if second.transposed else 0}] : index")
    begin, end = _bounds(w, replace(sizes, depth=keys), row, size)
    q = _loaded(w, query, row, zero, (sizes.rows, depth), "a")
    start = [_constant(w, "f32", sizes.rows, columns, 0) for columns in (1, 1, sizes.columns)]
    trips = max(1, -(-sizes.k // keys))
    step, key = w.index(keys), w.name("key")
    top, sum, result = (
        replace(one, name=w.name(), most=most, unit=unit)
        for one, most, unit in zip(
            start, (2.0**20, 16.0 * keys * trips, 16.0 * keys * LARGEST_INPUT * trips), (2.0**-8, 1.0, 1.0), strict=True
        )
    )
    inner = [replace(one, name=w.name()) for one in (top, sum, result)]
    init = ", ".join(f"{a.name}={b.name}" for a, b in zip(inner, start, strict=True))
    types = ", ".join(one.type for one in inner)
    w.add(f"{top.name}, {sum.name}, {result.name} = for {key} = {begin}, {end}, {step} init ({init}) -> ({types}) {{")
    with w.inside():
        made = _iteration(w, sizes, (q, first, second), (row, key, column), (zero, keys), inner)
        w.add(f"yield ({', '.join(made)})")
    w.add(w.end_of_loop())
    wide = _joined(w, result, w.source.choice([top, sum])) if w.chance(0.7) else result
    _finish(w, sizes, wide, row, column)


def _iteration(
    w: Writer, sizes: Sizes, factors: tuple[str, Source, Source], place: tuple[str, str, str],
    known: tuple[str, int], inner: Sequence[Matrix],
) -> list[str]:  # fmt: skip
    (query, first, second), (row, key, column), (zero, keys) = factors, place, known
    none = _constant(w, "f32", sizes.rows, keys, 0)
    b = _loaded(w, first, zero, key, (sizes.depth, keys), "b")
    scores = w.made(
        f"cooperative_matrix_mul_add {query}, {b}, {none.name}", none, most=sizes.depth * LARGEST_INPUT**2 * 1.0
    )
    scores = _clamped(w, _worked(w, scores, row, key, 2), 8)
    most, total, before = inner
    highest = w.made(f"cooperative_matrix_reduce_max.row {scores.name}", scores, columns=1)
    new = w.made(f"max {most.name}, {highest.name}", most)
    weights = _clamped(w, _joined(w, scores, new), 8)
    rounded = w.name("p")
    whole = _whole(w, weights)
    w.add(f"{rounded} = cast {whole.name} : {matrix(sizes.type, sizes.rows, keys, 'a')}")
    more = w.made(f"cooperative_matrix_reduce_add.row {whole.name}", whole, columns=1)
    sum = w.made(f"add {total.name}, {more.name}", total)
    kept = _kept(w, before, most, new) if w.chance(0.7) else before
    v = _loaded(w, second, key, column, (keys, sizes.columns), "b")
    result = w.made(f"cooperative_matrix_mul_add {rounded}, {v}, {kept.name}", before)
    return [new.name, sum.name, result.name]


def _whole(w: Writer, one: Matrix) -> Matrix:
    """A matrix of whole numbers."""
    found = replace(one, name=w.name(), unit=1.0)
    w.add(f"{found.name} = cooperative_matrix_apply (%r, %c, %x) = {one.name} -> {found.type} {{")
    with w.inside():
        w.add("%i = cast %x : i32")
        w.add("%y = cast %i : f32")
        w.add("yield (%y)")
    w.add("}")
    return found


def _kept(w: Writer, result: Matrix, before: Matrix, new: Matrix) -> Matrix:
    """The result so far, of rows whose maximum has not changed; of others nothing."""
    factor = replace(before, name=w.name(), most=1.0, unit=1.0)
    w.add(f"{factor.name} = cooperative_matrix_apply (%r, %c, %x, %y) = {before.name}, {new.name} -> {factor.type} {{")
    with w.inside():
        w.add("%same = equal %x, %y : bool")
        w.add("%one = constant 1.0 : f32")
        w.add("%no = constant 0.0 : f32")
        w.add("%z = select %same, %one, %no : f32")
        w.add("yield (%z)")
    w.add("}")
    found = replace(result, name=w.name())
    w.add(f"{found.name} = cooperative_matrix_apply (%r, %c, %x, %y) = {result.name}, {factor.name} -> {found.type} {{")
    with w.inside():
        w.add("%z = mul %x, %y : f32")
        w.add("yield (%z)")
    w.add("}")
    return found
