"""`girih bench`: times a kernel, or the standard set, beside NumPy, torch and libxsmm.

Processes of their own do the measuring (`girih.bench.session`). For a kernel of a file that process runs this module:
arguments are made as by `girih run`, and the result is compared with the interpreter's before anything is timed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from girih.bench.events import CHECK_MODES, Event, MeasuringRequest
from girih.bench.measuring.rows import Measurement
from girih.bench.report import Results, cells, head, remark, tail, title
from girih.commands.parts.array_specifications import Specification, parse_argument
from girih.commands.parts.arrays import ArrayInputError, ArrayMaker
from girih.commands.parts.calls import analyzed, read_program, refuse_file, unknown
from girih.commands.parts.report import coloured, counted, print_items, print_json
from girih.commands.python.files import is_python
from girih.diagnostics import CompileError, GirihError, errors
from girih.ir.core import Function, Module
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from girih.api import Kernel
    from girih.bench.measuring.context import Array, MeasuringContext
    from girih.commands.python.bench import MeasuredPython

CHILD = ("-m", "girih.commands.bench")
PIPE_WIDTH = 180
"""The width of the table in characters if the output is not a terminal."""


@dataclass(frozen=True, slots=True)
class BenchCall:
    """A call of `girih bench`."""

    target: str | None
    function: str | None
    arguments: tuple[str, ...]
    grid: tuple[int, ...]
    definitions: Mapping[str, str]
    groups: tuple[str, ...]
    against: tuple[str, ...]
    threads: int | None
    checks: str
    quick: bool
    validate: bool
    flops: float | None
    seed: int
    plot: str | None
    as_json: bool
    on: str = "cpu"


def bench(call: BenchCall) -> int:
    """Measure and print; 1 if a result is wrong or something does not compile or run, 2 for a wrong call."""
    from girih.bench import plot, session

    request, child = _request(call)
    if call.plot is not None:
        try:
            plot.ready(Path(call.plot))
        except plot.PictureError as error:
            raise click.UsageError(f"--plot {call.plot}: {error}") from None
        if not Path(call.plot).parent.is_dir():
            refuse_file(call.plot, FileNotFoundError())
    results = _measured(session.measure(request, child), call.as_json)
    if results.refusal is not None and results.refusal[0] == 2:
        raise click.UsageError(results.refusal[1])
    if call.as_json:
        print_json(results.to_json())
    else:
        _print_end(results)
    if call.plot is not None and results.rows:
        try:
            plot.draw(results, Path(call.plot))
        except plot.PictureError as error:
            click.echo(f"error: {error}", err=True)
            return 1
        click.echo(f"saved the picture to {click.format_filename(call.plot)}", err=call.as_json)
    return results.status


def _request(call: BenchCall) -> tuple[MeasuringRequest, Sequence[str]]:
    """The request for what the call measures, and the arguments of the process that serves it."""
    from girih.bench.session import CHILD as STANDARD

    _refuse_target(call)
    if call.target is None:
        _refuse_options(call, "the standard set", grid=True, definitions=True, flops=True)
        return _made(call, "standard", threads=_default_threads()), STANDARD
    target, function, arguments = call.target, call.function, call.arguments
    if target == "-":
        raise click.UsageError("girih bench reads a file, not standard input")
    if function is None and not _is_file(target):
        return _library(call, target), STANDARD
    if function is None or ("=" in function and _is_file(target)):
        arguments = arguments if function is None else (function, *arguments)
        function = _only_function(target, call.definitions)
    _refuse_words(call, target, function)
    details = {
        "file": target,
        "function": function.removeprefix("@"),
        "arguments": arguments,
        "grid": call.grid,
        "definitions": dict(call.definitions),
        "seed": call.seed,
        "validate": call.validate,
        "flops": call.flops,
    }
    return _made(call, "own", details=details), CHILD


def _refuse_target(call: BenchCall) -> None:
    """Refuse what nothing is measured on. Raises `click.UsageError`."""
    name, _, number = call.on.partition(":")
    if call.on != "cpu" and (name != "cuda" or not (number.isdecimal() or call.on == "cuda")):
        raise click.UsageError(
            f"--target {call.on}: girih bench measures on cpu, cuda, or a GPU by its number, as cuda:0"
        )
    if call.on != "cpu" and call.target is None:
        raise click.UsageError("the standard set is about the CPU; on a GPU a kernel is measured: girih bench softmax "
                               f"--target {call.on}")  # fmt: skip
    if call.on != "cpu" and call.against:
        raise click.UsageError("--against is for the CPU: these peers compute there")


def _is_file(target: str) -> bool:
    """Whether a target is a file; if the library has a kernel of that name, it is not."""
    from girih.kernels.table import TABLE

    return target not in TABLE and (target.endswith((".tl", ".py")) or os.path.exists(target))


def _only_function(path: str, definitions: Mapping[str, str]) -> str:
    """The name of a file's only function. Raises `click.UsageError` if it has several or none."""
    if is_python(path):
        from girih.commands.python.files import kernels_of

        try:
            return _only(path, list(kernels_of(path)))
        except CompileError as error:
            print_items(error.diagnostics, to_stderr=True)
            raise click.ClickException(f"{path}: {counted(error.diagnostics)}") from None
    module, problems = analyzed(path, definitions)
    names = [] if module is None else [function.name for function in module.functions]
    if len(names) != 1 and errors(problems):
        raise click.ClickException(f"{path}: {counted(problems)}; `girih check {path}` shows them")
    return _only(path, names)


def _only(path: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if not names:
        raise click.UsageError(f"{path}: the file has no kernel")
    raise click.UsageError(f"{path}: say which of its kernels: {', '.join(names)}, as in `girih bench {path} FUNCTION "
                           "NAME=VALUE...`")  # fmt: skip


def _refuse_words(call: BenchCall, target: str, function: str) -> None:
    """Refuse arguments and options that have no meaning for a kernel of a file."""
    from girih.kernels.table import TABLE

    if target in TABLE and not os.path.exists(target):
        given = " ".join((function, *call.arguments))
        raise click.UsageError(
            f"{target} is a kernel of the library, which brings its own arguments: leave out {given}"
        )
    if call.groups:
        raise click.UsageError(f"--group chooses from the standard set; {function} of {target} is one kernel")
    if call.against:
        raise click.UsageError("--against is for the standard set and kernels by name: nothing else does what "
                               f"{function} of {target} does")  # fmt: skip
    if 0 in call.grid:
        shown = ",".join(map(str, call.grid))
        raise click.UsageError(f"--grid {shown}: a grid without work-groups runs nothing that could be timed")


def _library(call: BenchCall, name: str) -> MeasuringRequest:
    from girih.bench.choices import type_of
    from girih.kernels.table import TABLE

    if name not in TABLE:
        unknown("kernel", name, TABLE)
    _refuse_options(call, f"the kernel {name} of the library", grid=True, flops=True, groups=True)
    try:
        type = type_of(name, call.definitions)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return _made(call, "library", name=name, type=type)


def _refuse_options(call: BenchCall, what: str, **asked: bool) -> None:
    """Refuse options that have no meaning for `what` is measured."""
    names = {"grid": "--grid", "definitions": "-D", "flops": "--flops", "groups": "--group"}
    for field in asked:
        if getattr(call, field):
            raise click.UsageError(f"{names[field]} is for a kernel of a file; {what} has sizes of its own")


def _made(call: BenchCall, kind: str, *, threads: int = 1, **given: Any) -> MeasuringRequest:
    groups = call.groups if kind == "standard" else ()
    return MeasuringRequest(
        kind,
        groups,
        target=call.on,
        checks=CHECK_MODES[call.checks],
        threads=call.threads or threads,
        quick=call.quick,
        against=call.against,
        **given,
    )


def _default_threads() -> int:
    from girih.bench.machine import usable_cpus

    return min(2, usable_cpus())


def _measured(events: Iterator[Event], as_json: bool) -> Results:
    """The results of all events; each table is printed as soon as its group is complete."""
    results, shown, headed = Results(), 0, False
    console = None if as_json else _console()
    with _Status() as status:
        for event in events:
            results.take(event)
            if event["event"] == "begin":
                status.show(f"{event['group']}: {event['name']}")
            if console is None:
                continue
            if results.environment and not headed:
                console.print(head(results) + "\n", style="dim", highlight=False, soft_wrap=True)
                headed = True
            group = results.rows[shown].group if shown < len(results.rows) else None
            if event["event"] == "begin" and group is not None and event["group"] != group:
                shown = _print_groups(console, results, shown)
    if console is not None:
        _print_groups(console, results, shown)
    return results


def _print_groups(console: Console, results: Results, shown: int) -> int:
    """The number of rows printed so far, after printing those of complete groups."""
    rest = results.rows[shown:]
    for group in dict.fromkeys(row.group for row in rest):
        console.print(table(group, [row for row in rest if row.group == group]))
    return len(results.rows)


def table(group: str, rows: Sequence[Measurement]) -> Table:
    """The table of a group."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = cells(rows)
    made = Table(title=title(group, rows), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD,
                 pad_edge=False)  # fmt: skip
    made.add_column("", no_wrap=True)
    for name in shown:
        made.add_column(name, justify="right", no_wrap=True)
    remarks = [remark(row) for row in rows]
    if any(remarks):
        made.add_column("", style="dim")
    for number, row in enumerate(rows):
        line = [Text(row.name), *(Text(texts[number]) for texts in shown.values())]
        made.add_row(*line, *([Text(remarks[number])] if any(remarks) else []),
                     style="bold" if row.seconds is None else "")  # fmt: skip
    return made


def _console() -> Console:
    from rich.console import Console

    seen = sys.stdout.isatty()
    return Console(width=None if seen else PIPE_WIDTH, no_color=not coloured(sys.stdout), highlight=False, markup=False)


def _print_end(results: Results) -> None:
    for problem in results.problems:
        group = "" if problem["group"] == "own" else f"{problem['group']}: "
        click.echo(f"error: {group}{problem['name']}: {problem['message']}")
    if results.refusal is not None:
        click.echo(results.refusal[1])
    said = tail(results)
    if said:
        click.echo(said)


class _Status:
    """A line that names what is being measured, on a terminal only."""

    def __init__(self) -> None:
        self._shown: Any = None

    def __enter__(self) -> _Status:
        if sys.stderr.isatty():
            from rich.console import Console

            self._shown = Console(stderr=True).status("starting")
            self._shown.start()
        return self

    def show(self, text: str) -> None:
        if self._shown is not None:
            self._shown.update(text)

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()


def serve_own(request: MeasuringRequest) -> Iterator[Event]:
    """The events for a kernel of a file."""
    from girih.bench.cases.case import Case
    from girih.bench.child import in_words, refused, serve

    try:
        own = _own_kernel(request.details)
        function = own.function
        own.values()
    except click.UsageError as error:
        yield refused(2, error.format_message())
        return
    except click.ClickException as error:
        yield refused(1, f"error: {error.format_message()}")
        return
    except ArrayInputError as error:
        yield refused(1, f"error: {error}")
        return
    except GirihError as error:
        yield refused(1, in_words(error))
        return

    def run(context: MeasuringContext) -> list[Measurement]:
        return [_own_row(context, request.details, own, function)]

    yield from serve(request, [Case("own", f"@{function.name}", run, request.threads)])


def _function(details: Mapping[str, Any]) -> Function:
    from girih.program import compile_source

    module, _ = compile_source(read_program(details["file"]), details["definitions"])
    function = module.function(details["function"])
    if function is None:
        unknown("kernel", details["function"], [f.name for f in module.functions])
    return function


def _given(function: Function, texts: Sequence[str]) -> dict[str, Specification]:
    given: dict[str, Specification] = {}
    known = [p.name for p in function.parameters]
    for text in texts:
        name, value = parse_argument(text)
        if name not in known:
            unknown("argument", name, known)
        if name in given:
            raise click.UsageError(f"the argument {name!r} is given twice")
        given[name] = value
    missing = [f"{p.name} ({p.type})" for p in function.parameters if p.name not in given]
    if missing:
        raise click.UsageError(f"@{function.name} needs {', '.join(missing)}")
    return given


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """A kernel of a text with what its arguments are made of."""

    function: Function
    details: Mapping[str, Any]
    given: Mapping[str, Specification]

    @staticmethod
    def of(details: Mapping[str, Any]) -> MeasuredText:
        """The kernel that a request names. Raises `click.UsageError` for wrong arguments, and `CompileError`."""
        function = _function(details)
        return MeasuredText(function, details, _given(function, details["arguments"]))

    def values(self) -> Sequence[object]:
        """The arguments of a launch; every call makes the same ones."""
        maker = ArrayMaker(int(self.details["seed"]), self.function.order)
        return [maker.value(p, number, self.given[p.name]) for number, p in enumerate(self.function.parameters, 1)]

    def on(self, target: str, checks: str) -> Kernel:
        """The kernel on a target with checks."""
        from girih.api import load

        return load(self.details["file"], target, self.details["definitions"], checks=checks)[self.function.name]


def _own_kernel(details: Mapping[str, Any]) -> MeasuredText | MeasuredPython:
    if not is_python(details["file"]):
        return MeasuredText.of(details)
    from girih.commands.python.bench import MeasuredPython

    return MeasuredPython.of(details)


def _own_row(
    context: MeasuringContext, details: Mapping[str, Any], own: MeasuredText | MeasuredPython, function: Function
) -> Measurement:
    from girih.api import compile_module
    from girih.arguments.brackets import normalized_grid
    from girih.bench.measuring.rows import CHECKS as COST
    from girih.bench.measuring.rows import OF_BANDWIDTH, OF_PEAK
    from girih.bench.measuring.timing import interleaved
    from girih.commands.parts.summary import arrays_of

    made = {mode: own.on(context.target, mode) for mode in context.checks}
    chosen = tuple(details["grid"])
    values = own.values()
    first = next(iter(made.values()))
    grid = normalized_grid(chosen) if chosen else first.grid_for(*values)
    kernels = {mode: kernel[grid] for mode, kernel in made.items()}
    if details["validate"]:
        wanted = own.values()
        compile_module(Module((first.ir,)), "interpreter")[function.name][grid](*wanted)
        for mode, kernel in kernels.items():
            mine = own.values()
            kernel(*mine)
            _compare(function, mine, wanted, mode)
    flops, type = details["flops"], _floating_type(function)
    moved = float(sum(array.nbytes for value in values for array in arrays_of(value)))
    meter = _limit(context, type if flops else None)
    calls = context.launches(kernels, values)
    samples = interleaved(calls | ({"limit": meter.call} if meter else {}), context.effort, context.clock)
    main, *others = context.checks
    figures = {COST: samples.ratio(others[0], main)} if others else {}
    if meter and context.is_gpu:
        figures[OF_BANDWIDTH] = moved / meter.amount * samples.ratio("limit", main)
    elif meter and flops:
        figures[OF_PEAK] = flops / meter.amount / context.threads * samples.ratio("limit", main)
    note = "GB/s: the arguments, each counted once" + ("" if details["validate"] else "; the result was not checked")
    return Measurement(
        "own",
        f"@{function.name} on {' x '.join(map(str, chosen or grid))}",
        samples.median(main),
        context.threads,
        main,
        flops,
        moved,
        type,
        figures=figures,
        note=note,
    )


def _limit(context: MeasuringContext, type: str | None) -> Any:
    """The meter of what limits a kernel: a GPU's bandwidth, the multiply-adds of a type on the CPU, or nothing."""
    from girih.bench.measuring import gpu
    from girih.bench.measuring.peak import peak

    if context.is_gpu:
        return gpu.bandwidth(gpu.device_of_target(context.target))
    return None if type is None else peak(type)


def _floating_type(function: Function) -> str | None:
    """The first floating-point element type among the parameters, whose peak counts; None without one."""
    from girih.ir.types import MemRef

    elements = [p.type.element.name for p in function.parameters if isinstance(p.type, MemRef)]
    peaks = {
        "f64": "f64",
        "bf16": "bf16",
        "c64": "f64",
        **dict.fromkeys(("f32", "f8e4m3", "f8e5m2", "f16", "c32"), "f32"),
    }
    return next((peaks[name] for name in elements if name in peaks), None)


def _compare(function: Function, mine: Sequence[object], wanted: Sequence[object], mode: str) -> None:
    """Compare the arguments after the kernel's run with those after the interpreter's; raises if they differ."""
    import numpy as np

    from girih.bench.measuring.work import compare
    from girih.commands.parts.summary import arrays_of

    for parameter, ours, theirs in zip(function.parameters, mine, wanted, strict=True):
        for a, b in zip(arrays_of(ours), arrays_of(theirs), strict=True):
            both_nan = np.isnan(_wide(a)) & np.isnan(_wide(b)) if a.dtype.kind not in "iu" else np.zeros(a.shape, bool)
            equal = both_nan | (_wide(a) == _wide(b))
            largest = float(np.abs(np.where(np.isfinite(_wide(b)), _wide(b), 0)).max(initial=0.0))
            bound = _tolerance(parameter.type) * largest
            compare(np.where(equal, 0, _wide(a)), np.where(equal, 0, _wide(b)), bound,
                    f"{parameter.name} with checks {mode}", "the interpreter")  # fmt: skip


def _wide(array: Array) -> Array:
    from girih.bench.measuring.context import wide

    return wide(array)


def _tolerance(type: object) -> float:
    from girih.bench.measuring.work import TOLERANCES
    from girih.ir.types import GroupType, MemRef

    memref = type.memref if isinstance(type, GroupType) else type
    return TOLERANCES.get(memref.element.name, 0.0) if isinstance(memref, MemRef) else 0.0


def main() -> None:
    """Serve a request for a kernel of a file."""
    from girih.bench.child import own_output, send

    stream = own_output()
    send(serve_own(MeasuringRequest.from_text(sys.stdin.readline())), stream)


if __name__ == "__main__":
    main()
