"""The launch of a kernel: arguments are bound, the interpreter runs on private memory, then results are written back.

If anything goes wrong before the end, the caller's arrays stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod

from girih.analysis.accesses import accesses_of
from girih.analysis.sizes import no_subgroup_size, possible_subgroup_sizes
from girih.arguments.arrays import Bound, bind, specifications
from girih.arguments.bound import BoundGroup, BoundMap, BoundMemRef
from girih.diagnostics import Diagnostic, Finding, GirihError, InternalError, KernelError, LaunchError
from girih.facts.elements import in_the_array
from girih.facts.remarks import untouched
from girih.interpreter.machine import numbers
from girih.interpreter.machine.choices import Choices, InTurn, other_orders
from girih.interpreter.machine.machine import LaunchGeometry
from girih.interpreter.machine.values import (
    Array,
    GroupValue,
    MapValue,
    MemRefValue,
    Scatter,
    group_value,
    memref_value,
)
from girih.interpreter.memory import in_bytes, memory_left, shadow_bytes
from girih.interpreter.races.handovers import Item, in_turn
from girih.interpreter.run import DEFAULT_STEPS, Execution, Progress, execute
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.ir.types import GroupType, MemRef
from girih.recursion import recursion_room

__all__ = ["Progress", "geometry_of", "launch", "machine_values"]

_FOLLOWED = 4
"""How many times a launch is run again in an order in which nobody waits."""


def launch(
    function: Function,
    grid: tuple[int, int, int],
    arguments: Sequence[object],
    *,
    limits: DeviceLimits = DEFAULT_LIMITS,
    choices: Choices | None = None,
    max_steps: int | None = None,
    progress: Progress | None = None,
    races: bool = True,
) -> tuple[Diagnostic, ...]:
    """Run a kernel on a grid of work-groups in the interpreter, and return what is to be remarked, warnings first.

    `grid` counts work-groups along x, y and z. Raises `LaunchError` before anything ran, and `KernelError` with the
    findings of the run; either leaves the arrays as they were. What the kernel prints is written to standard output at
    the end, also where findings are raised.
    """
    chosen = (choices or Choices()).again()
    geometry = geometry_of(function, grid, chosen, limits)
    try:
        bound = bind(specifications(function), arguments)
        values, scatters = machine_values(function, bound)
    except MemoryError:
        raise _no_memory(function) from None
    run = Execution(function, geometry, values, chosen, DEFAULT_STEPS if max_steps is None else max_steps, races)
    if races:
        _refuse_shadows(run)
    try:
        findings = _execute(run, progress)
        if not _failed(findings):
            findings = [*findings, *_in_other_orders(run, arguments)]
        if _failed(findings):
            raise KernelError([in_the_array(function, finding) for finding in findings])
        for group, members in scatters:
            for member in members:
                member.write_back(group.elements)
        bound.commit()
    except BaseException as error:
        run.lines.write_behind(error)
        raise
    run.lines.write()
    # Of a buffer of bytes a shader often writes a part.
    partly = () if function.language.counts_bytes else _untouched(bound, grid)
    return (*(finding.as_warning() for finding in findings), *partly)


def _failed(findings: Sequence[Finding]) -> bool:
    """Whether something was found that is not only warned of."""
    return any(finding.severity == "error" for finding in findings)


def _untouched(bound: Bound, grid: tuple[int, int, int]) -> Iterator[Diagnostic]:
    """The remarks on arguments that the kernel writes and that have elements which it did not write.

    There are none on tensor maps, whose memory has bytes that are no elements.
    """
    maps = {number for number, value in enumerate(bound.values, 1) if isinstance(value, BoundMap)}
    claims = [claim for claim in bound.claims if claim.place.position not in maps]
    partly = [(claim, found) for claim in claims if (found := claim.untouched()) is not None]
    for _, members in groupby(partly, lambda pair: pair[0].place.position):
        (claim, (count, first)), *others = members
        place = claim.place
        yield untouched(place.name, place.span, count, first, claim.shape, len(others), grid, place.order)


def _execute(run: Execution, progress: Progress | None) -> Sequence[Finding]:
    """The findings of a run. An exception of the caller's own `progress` goes back to the caller as it is."""
    raised: list[BaseException] = []

    def report(done: int, total: int) -> None:
        try:
            if progress is not None:
                progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        with recursion_room():
            return execute(run, report)
    except Exception as error:
        if isinstance(error, GirihError) or error in raised:
            raise
        if isinstance(error, MemoryError):
            raise _no_memory(run.function) from None
        what = f"the interpreter failed in @{run.function.name}: {type(error).__name__}: {error}"
        raise InternalError(what) from error


def _in_other_orders(run: Execution, arguments: Sequence[object]) -> Sequence[Finding]:
    """What is found in other orders of execution, on other copies of the arrays, where atomic accesses observe.

    What they observe, and what is done then, may differ from order to order (`docs/design/races.md`).
    """
    if not (run.races and accesses_of(run.function).observes):
        return ()
    groups, known = prod(run.geometry.grid), set(run.hand_overs)
    for choices in other_orders(groups):
        findings, more = _once_more(run, arguments, choices)
        known |= more
        if _failed(findings):
            return findings
    # What is handed over shows who could have gone first; then more may be handed over.
    for _ in range(_FOLLOWED):
        if not known:
            break
        findings, more = _once_more(run, arguments, InTurn(groups, in_turn(frozenset(known))))
        if _failed(findings):
            return findings
        if more <= known:
            break
        known |= more
    return ()


def _once_more(
    run: Execution, arguments: Sequence[object], choices: Choices
) -> tuple[Sequence[Finding], set[tuple[Item, Item]]]:
    """What is found in another run on other copies of the arrays, and who may have waited for whom."""
    bound = bind(specifications(run.function), arguments)
    values, _ = machine_values(run.function, bound)
    again = Execution(run.function, run.geometry, values, choices, run.max_steps)
    return _execute(again, None), again.hand_overs


def _refuse_shadows(run: Execution) -> None:
    """Refuse a launch whose search for races needs more memory than there is."""
    needed, left = shadow_bytes(run), memory_left()
    if left is not None and needed > left:
        name = run.function.called
        message = (
            f"the search for races in {name} needs {in_bytes(needed)} beside the arrays; {in_bytes(left)} are left"
        )
        hint = "leave it out: `kernel.options(races=False)`, or `girih run --no-races`; or launch on smaller arrays"
        raise LaunchError([Diagnostic("bind.memory", message, run.function.span, hint=hint)])


def _no_memory(function: Function) -> LaunchError:
    message = f"there is not enough memory to run {function.called}"
    hint = (
        "the arrays that the kernel writes are copied, each work-group has its own `alloca`, and the search for races, "
        "which `kernel.options(races=False)` leaves out, takes 8 to 24 bytes for each element that is written, and "
        "more where accesses are atomic"
    )
    return LaunchError([Diagnostic("bind.memory", message, function.span, hint=hint)])


def geometry_of(
    function: Function, grid: tuple[int, int, int], choices: Choices, limits: DeviceLimits
) -> LaunchGeometry:
    """The sizes of a launch. Raises `LaunchError` where no subgroup size suits the kernel."""
    possible = possible_subgroup_sizes(function, limits)
    if not possible:
        raise LaunchError([no_subgroup_size(function, limits)])
    wanted = choices.wanted_subgroup_size
    if wanted is not None and wanted not in possible:
        suits = f"{function.called} suits {' or '.join(map(str, possible))}"
        message = f"expected: a subgroup size that suits the kernel; found: {wanted} in the choices"
        raise LaunchError([Diagnostic("bind.subgroup_size", message, function.span, hint=suits)])
    subgroup_size = choices.subgroup_size(possible)
    work_group_size = function.work_group_size or choices.work_group_size(subgroup_size, limits.work_group_items)
    return LaunchGeometry(grid, work_group_size, subgroup_size)


def machine_values(
    function: Function, bound: Bound
) -> tuple[list[Array | MemRefValue | GroupValue | MapValue], list[tuple[GroupValue, list[Scatter]]]]:
    """The machine's values of the bound arguments, and for each group how its memory goes back to its members."""
    values: list[Array | MemRefValue | GroupValue | MapValue] = []
    scatters: list[tuple[GroupValue, list[Scatter]]] = []
    for parameter, argument in zip(function.parameters, bound.values, strict=True):
        match argument:
            case BoundMemRef():
                assert isinstance(parameter.type, MemRef)
                values.append(memref_value(argument, parameter.name, numbers.dtype(parameter.type.element)))
            case BoundGroup():
                type_ = parameter.type
                assert isinstance(type_, GroupType)
                memref = type_.memref
                group, members = group_value(argument, parameter.name, memref.order, numbers.dtype(memref.element))
                values.append(group)
                scatters.append((group, members))
            case BoundMap():
                values.append(MapValue(argument.tensor_map, argument.elements.memory))
            case _:
                values.append(argument)
    return values, scatters
