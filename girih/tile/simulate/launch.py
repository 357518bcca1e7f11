"""The simulation of a launch: numbers by the interpreter's meanings, in an interleaving that hardware allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from girih.arguments.arrays import bind, specifications
from girih.diagnostics import Finding, KernelError
from girih.interpreter.launch import geometry_of, machine_values
from girih.interpreter.machine import numbers
from girih.interpreter.machine.choices import Choices
from girih.ir.limits import DEFAULT_LIMITS
from girih.recursion import recursion_room
from girih.tile.form import TileKernel
from girih.tile.simulate.consumer import ConsumerRun
from girih.tile.simulate.copies import LaunchArguments, encoded
from girih.tile.simulate.engine import Interleaving, RoleSteps, run_roles
from girih.tile.simulate.order import Triple, work_of
from girih.tile.simulate.producer import ProducerRun
from girih.tile.simulate.role import CtaRun, TileLaunch
from girih.tile.simulate.static import check_form

FAIR = Interleaving()


def simulate(
    kernel: TileKernel,
    grid: Triple,
    arguments: Sequence[object],
    interleaving: Interleaving = FAIR,
    *,
    ctas: int = 2,
    told: Callable[[str], object] | None = None,
) -> tuple[Finding, ...]:
    """Execute a tile kernel on a grid of work-groups, by `ctas` CTAs at a time, and write its results to the arrays.

    CTAs have nothing in common but the memory of arguments and the sums of parts of the depth, and are executed one
    after the other, in any order. `told` is called with what happens: the name of the role that goes on, or what kind
    of copy or product ends.
    Raises `LaunchError` for wrong arguments, `IllegalMap` where a map is not legal at this launch, `ScheduleFault` for
    a rule that the schedule breaks, and `KernelError` with what the kernel found; either leaves the arrays as they
    were. The findings that are returned are warnings.
    """
    check_form(kernel)
    choices = Choices()
    geometry = geometry_of(kernel.function, grid, choices, DEFAULT_LIMITS)
    bound = bind(specifications(kernel.function), arguments)
    values, scatters = machine_values(kernel.function, bound)
    maps = encoded(kernel, LaunchArguments(values))
    launch = TileLaunch(kernel, geometry, values, maps, choices)
    orders = list(work_of(kernel.order, grid, ctas, 1 if kernel.parts is None else kernel.parts.count))
    if interleaving.seed:
        Random(interleaving.seed).shuffle(orders)
    with numbers.quiet(), recursion_room():
        for work in orders:
            _run_cta(CtaRun.of(launch, work), interleaving, told)
    found = launch.findings.all()
    if any(finding.severity == "error" for finding in found):
        raise KernelError(found)
    for group, members in scatters:
        for member in members:
            member.write_back(group.elements)
    bound.commit()
    return tuple(found)


def _run_cta(cta: CtaRun, interleaving: Interleaving, told: Callable[[str], object] | None) -> None:
    consumers = [ConsumerRun(cta, number) for number in range(cta.launch.kernel.consumers.warpgroups)]
    roles: dict[str, RoleSteps] = {role.name: role.run() for role in (*ProducerRun.of(cta), *consumers)}
    run_roles(roles, cta.running, interleaving.begin(), told or (lambda what: None))
