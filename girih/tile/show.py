"""A tile kernel as text, for golden tests and for whoever wants to see what became of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.ir.core import Value
from girih.ir.print import INDENT, InstructionPrinter
from girih.tile.budget import layout_of
from girih.tile.form import (
    Assign,
    Await,
    BoxPiece,
    Choose,
    Combine,
    Componentwise,
    Compute,
    Coordinate,
    Copy,
    Deliver,
    Fetch,
    Gather,
    GiveBack,
    Issue,
    MapRecipe,
    Multiply,
    Offer,
    PassTurn,
    Reclaim,
    Repeat,
    Send,
    Settle,
    SharedTile,
    Stage,
    Steps,
    Supply,
    TakeTurn,
    TileFactor,
    TileKernel,
    TileProduct,
    TileStep,
    Unite,
    Verify,
    WarpgroupRole,
)
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Dealt


def show(kernel: TileKernel) -> str:
    """The text of a tile kernel; two that differ in names only have different texts."""
    lines = [f"tile kernel @{kernel.function.name}, {kernel.threads} threads, {layout_of(kernel).bytes} bytes"]
    lines.append(INDENT + _order(kernel))
    if kernel.parts is not None:
        lines.append(f"{INDENT}{kernel.parts.count} parts of the depth: %{kernel.parts.number.name}")
    lines += [f"{INDENT}map {_map(one)}" for one in kernel.maps]
    for ring in kernel.rings:
        lines.append(f"{INDENT}ring {ring.name}: {ring.slots} slots of {ring.slot_bytes} bytes")
        lines += [f"{INDENT * 2}{_tile(tile)}" for tile in ring.tiles]
    lines += [f"{INDENT}staging {one.name}: {_tile(one.tile)} for each consumer" for one in kernel.stagings]
    lines += [
        f"{INDENT}registers {one.name}: {one.component} {one.rows}x{one.columns}, {one.spread.value}"
        for one in kernel.registers
    ]
    if kernel.fragment != PRODUCT_FRAGMENT:
        rows, columns = (f"{_dealt(one)}" for one in (kernel.fragment.rows, kernel.fragment.columns))
        lines.append(f"{INDENT}fragment: rows {rows}, columns {columns}")
    lines += _crew(kernel, "producer", kernel.producer)
    lines += _crew(kernel, f"consumers: {kernel.consumers.warpgroups}", kernel.consumers)
    return "\n".join(lines) + "\n"


class StepWords:
    """The first lines of steps and the names of scalars as `show` has them, for whoever tells of them one by one."""

    def __init__(self, kernel: TileKernel) -> None:
        self._lines: dict[int, str] = {}
        self._printers: list[InstructionPrinter] = []
        for crew in (kernel.producer, kernel.consumers):
            steps = _StepLines(_printer(kernel))
            list(steps.lines(crew.body, ""))
            self._lines.update(steps.first)
            self._printers.append(steps.printer)

    def of(self, step: TileStep) -> str:
        """The first line of a step of the kernel."""
        return self._lines[id(step)].removesuffix(" {")

    def name(self, value: Value) -> str:
        """The name of a scalar."""
        for printer in self._printers:
            if printer.knows(value):
                return printer.name(value)
        return f"%{value.name}"


def _order(kernel: TileKernel) -> str:
    order = kernel.order
    words = ["persistent" if order.persistent else "one work-group each"]
    words += [f"groups of {order.group} along x"] if order.group > 1 else []
    words += ["last along x first"] if order.last_first else []
    return ", ".join(words)


def _map(one: MapRecipe) -> str:
    sizes, strides, box = (" x ".join(map(str, part)) for part in (one.sizes, one.strides, one.box))
    offset = "" if one.offset.literal == 0 else f" from {one.offset}"
    where = f"{one.component} of parameter {one.parameter}{offset}"
    where += ", rounded to tf32" if one.rounded else ""
    return f"{one.name}: {where}, sizes {sizes}, strides {strides}, box {box}{_steps(one)}, swizzle {one.swizzle}"


def _steps(one: MapRecipe) -> str:
    return f" in steps of {' x '.join(map(str, one.steps))}" if one.steps else ""


def _tile(tile: SharedTile) -> str:
    way = "rows" if tile.by_rows else "columns"
    name = f"{tile.name}: {tile.component}"
    return f"{name}, {tile.lines} {way} of {tile.span}, swizzle {tile.swizzle}, at {tile.offset}"


def _crew(kernel: TileKernel, name: str, crew: WarpgroupRole) -> list[str]:
    head = f"{INDENT}{name}, {crew.registers} registers {{"
    return [head, *_StepLines(_printer(kernel)).lines(crew.body, INDENT * 2), INDENT + "}"]


def _printer(kernel: TileKernel) -> InstructionPrinter:
    printer = InstructionPrinter()
    for parameter in kernel.function.parameters:
        printer.define(parameter.value)
    if kernel.parts is not None:
        printer.define(kernel.parts.number)
    return printer


class _StepLines:
    """The lines of the steps of a role; `first` has the first line of each, by its identity."""

    def __init__(self, printer: InstructionPrinter) -> None:
        self.printer = printer
        self.first: dict[int, str] = {}

    def lines(self, steps: Steps, indent: str) -> Iterator[str]:
        for step in steps:
            for line in self._lines_of(step, indent):
                self.first.setdefault(id(step), line.strip().partition("\n")[0])
                yield line

    def _lines_of(self, step: TileStep, indent: str) -> Iterator[str]:
        match step:
            case Repeat():
                yield from self._repeat(step, indent)
            case Choose():
                yield from self._choose(step, indent)
            case Supply():
                yield f"{indent}supply {step.ring}"
                yield from (indent + INDENT + self._copy(copy, indent + INDENT) for copy in step.copies)
            case Issue():
                yield f"{indent}issue"
                yield from (indent + INDENT + _product(product) for product in step.products)
            case _:
                yield indent + self._line(step, indent)

    def _repeat(self, step: Repeat, indent: str) -> Iterator[str]:
        name = self.printer.name
        range_ = f"{name(step.start)}, {name(step.stop)}" + (f", {name(step.step)}" if step.step is not None else "")
        initial = [name(one.initial) for one in step.carried]
        variable = self.printer.define(step.variable)
        carried = [
            f"{self.printer.define(one.value)}={first}" for one, first in zip(step.carried, initial, strict=True)
        ]
        manner = "" if step.overlaps else " one at a time"
        yield f"{indent}repeat {variable} = {range_}{_listed(' carrying ', carried)}{manner} {{"
        yield from self.lines(step.body, indent + INDENT)
        pairs = [f"{self.printer.define(one.result)}={name(one.next)}" for one in step.carried]
        yield f"{indent}}}{_listed(' giving ', pairs)}"

    def _choose(self, step: Choose, indent: str) -> Iterator[str]:
        name = self.printer.name
        yield f"{indent}choose {name(step.condition)} {{"
        yield from self.lines(step.then, indent + INDENT)
        if step.otherwise or step.results:
            yield f"{indent}}} else {{"
            yield from self.lines(step.otherwise, indent + INDENT)
        pairs = [f"{self.printer.define(one.result)}={name(one.then)} or {name(one.otherwise)}" for one in step.results]
        yield f"{indent}}}{_listed(' giving ', pairs)}"

    def _copy(self, copy: Copy | Gather, indent: str) -> str:
        if isinstance(copy, Gather):
            source = "memory" if copy.blocks is None else f"memory or {_factor(copy.blocks)}"
            return f"{copy.tile} := {source} by {self.printer.text(copy.op, indent)}"
        return f"{copy.tile} := {copy.map}{self._place(copy.at)}{_pieces(copy.pieces)}"

    def _place(self, at: Sequence[Coordinate]) -> str:
        return f"[{', '.join(map(self.printer.name, at))}]"

    def _line(self, step: TileStep, indent: str) -> str:
        match step:
            case Compute(op):
                return self.printer.text(op, indent)
            case Verify(op):
                return f"verify {self.printer.text(op, indent)}"
            case Await(ring):
                return f"await {ring}"
            case GiveBack(ring, keep):
                return f"give back {ring}" + (f", keeping {keep}" if keep else "")
            case Multiply(product):
                return f"multiply {_product(product)}"
            case Settle(pending):
                return "settle" + (f" all but {pending}" if pending else "")
            case Reclaim(staging):
                return f"reclaim {staging}"
            case TakeTurn():
                return "take turn"
            case PassTurn():
                return "pass turn"
            case _:
                return self._matrix_line(step, indent)

    def _matrix_line(self, step: TileStep, indent: str) -> str:
        match step:
            case Componentwise(op, result, operands):
                return f"{result} := {', '.join(operands) or 'nothing'} by {self.printer.text(op, indent)}"
            case Combine(op, result, source):
                return f"{result} := rows of {source} by {self.printer.text(op, indent)}"
            case Assign(result, source):
                return f"{result} := {source}"
            case Fetch(result, op):
                return f"{result} := memory by {self.printer.text(op, indent)}"
            case Deliver(source, op):
                return f"memory := {source} by {self.printer.text(op, indent)}"
            case Offer(sums, last):
                return f"{self.printer.define(last)} := offer {', '.join(sums)}"
            case Unite(sums):
                return f"unite {', '.join(sums)}"
            case Stage(staging, source, row, column):
                return f"stage {staging} := {source}[{row}, {column}]"
            case Send(staging, map, at, pieces, apart):
                where = f"{map}{self._place(at)}{_pieces(pieces)}"
                return f"send {staging} to {where}, consumers {_numbers(apart)} apart"
            case _:
                raise TypeError(f"no step: {step!r}")


def _product(product: TileProduct) -> str:
    left, right = _factor(product.left), _factor(product.right)
    return f"{product.sums} {'+=' if product.accumulate else ':='} {left} * {right}"


def _factor(factor: TileFactor | str) -> str:
    if isinstance(factor, str):
        return factor
    return f"{factor.ring}.{factor.tile}" + (f" {factor.behind} behind" if factor.behind else "")


def _pieces(pieces: Sequence[BoxPiece]) -> str:
    return _listed(" in ", [f"{piece.offset}: {_numbers(piece.moved)}" for piece in pieces])


def _dealt(one: Dealt) -> str:
    return f"{one.each} {'side by side' if one.adjacent else 'apart'} for each of {one.lanes} lanes"


def _numbers(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))})"


def _listed(before: str, words: Sequence[str]) -> str:
    return before + ", ".join(words) if words else ""
