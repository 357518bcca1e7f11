"""Modules of PTX and their launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np

from girih.addressing import BoundTensorMap
from tests.back.nvptx.ptx_machine.asynchronous import Asynchronous
from tests.back.nvptx.ptx_machine.build import Step
from tests.back.nvptx.ptx_machine.cta import Cta, Group
from tests.back.nvptx.ptx_machine.errors import PtxError
from tests.back.nvptx.ptx_machine.layout import (
    PARAMETER_BEGIN,
    SHARED_BEGIN,
    Layout,
    aligned,
    parameter_bytes,
)
from tests.back.nvptx.ptx_machine.masks import Mask
from tests.back.nvptx.ptx_machine.matrix.in_flight import InFlight, watch_registers
from tests.back.nvptx.ptx_machine.memory import Memory, Region
from tests.back.nvptx.ptx_machine.order.clocks import Clocks
from tests.back.nvptx.ptx_machine.order.shadow import Shadow
from tests.back.nvptx.ptx_machine.parser import parse
from tests.back.nvptx.ptx_machine.schedule import SCHEDULES, RandomSchedule, Schedule
from tests.back.nvptx.ptx_machine.special import special_values
from tests.back.nvptx.ptx_machine.syntax import Function, Syntax
from tests.back.nvptx.ptx_machine.table import ready
from tests.back.nvptx.ptx_machine.types import TYPES, Array

BUDGET = 5_000_000
"""The instructions that a launch executes at most, each counted once for a group of threads."""

_GARBAGE = 0xA5A5A5A5A5A5A5A5
_NOTHING = 0xFF
"""The bytes of shared memory that nobody has written: as floats they are no numbers, which sums tell."""
_MOST_THREADS = 1024
_REGISTERS, _MOST_REGISTERS, _REGISTER_STEP = 1 << 16, 255, 8
"""The registers of a multiprocessor, the most that a thread has, and what their number is a multiple of."""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """What a launch did.

    `executed` counts instructions by their opcodes, each once for a group of threads. `undefined` are the places of
    instructions that read what PTX leaves undefined, of a thread that has ended.
    """

    executed: Counter[str]
    undefined: frozenset[str]

    @property
    def instructions(self) -> int:
        return self.executed.total()

    @property
    def scopes(self) -> set[str]:
        """The scopes of the accesses and fences that were executed, such as `sys`."""
        return {part for one in self.executed for part in one.split(".") if part in ("cta", "cluster", "gpu", "sys")}


@dataclass(slots=True)
class Launch:
    """A launch while it is executed."""

    left: int
    counts: list[int]
    undefined: set[str] = field(default_factory=set)
    place: tuple[int, int, int] = (0, 0, 0)
    maps: Mapping[bytes, BoundTensorMap] = field(default_factory=dict)
    copies: str = "at_once"
    schedule: str = "together"
    seed: int | None = None
    most_registers: int = 0
    """How many registers a thread has at first, 0 where the kernel does not say."""


@dataclass(slots=True)
class PtxModule:
    """A module of PTX, ready to be launched."""

    syntax: Syntax
    layout: Layout
    steps: list[Step]
    products: dict[int, int] = field(default_factory=dict)
    """The registers that `wgmma` has, and those that these are moved to and from: their places by their slots."""

    @staticmethod
    def parse(text: str) -> PtxModule:
        """The module of a text. Raises `PtxSyntaxError` and `UnknownInstruction` for what the machine does not know."""
        syntax = parse(text)
        layout = Layout.of(syntax)
        steps = [ready(one, layout) for one in syntax.code]
        return PtxModule(syntax, layout, steps, watch_registers(steps, layout))

    @property
    def entries(self) -> list[str]:
        """The names of the kernels."""
        return [one.name for one in self.syntax.functions.values() if one.is_entry]

    def launch(
        self,
        entry: str,
        grid: tuple[int, int, int],
        threads: int | tuple[int, int, int],
        parameters: bytes | Array,
        shared_bytes: int = 0,
        memory: Iterable[Array] = (),
        *,
        budget: int = BUDGET,
        most_shared: int = 227 * 1024,
        maps: Mapping[bytes, BoundTensorMap] | None = None,
        copies: str = "at_once",
        schedule: str = "together",
        seed: int | None = None,
    ) -> LaunchRecord:
        """Execute a kernel, one CTA after the other.

        `parameters` are the bytes of its parameters, `shared_bytes` is the size of dynamic shared memory. Only the
        bytes between the ends of the arrays of `memory` may be touched, besides the variables of the module. `maps`
        are the tensor maps by the 128 bytes that stand for them; `copies` says when asynchronous copies are made, one
        of `asynchronous.ORDERS`; `schedule` says which threads are executed before others,
        one of `SCHEDULES`. With a `seed`, both are drawn at random instead.
        Raises `Fault`, `Deadlock` and `BudgetSpent`.
        """
        function = self._entry(entry)
        shape = (threads, 1, 1) if isinstance(threads, int) else threads
        given = np.frombuffer(bytes(parameters), np.uint8) if isinstance(parameters, bytes) else parameters
        self._check(function, shape, given, shared_bytes, most_shared)
        launch = Launch(budget, [0] * len(self.steps), maps=maps or {},
                        copies=copies, schedule=schedule, seed=seed,
                        most_registers=_registers(function, shape))  # fmt: skip
        variables = [(one.name, held, one.space != "const") for one, held in self.layout.storage]
        space = Memory(memory, variables, watch=self.layout.watches)
        with np.errstate(all="ignore"):
            for number in range(grid[0] * grid[1] * grid[2]):
                launch.place = (number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1])
                self._cta(launch, function, grid, shape, given.view(np.uint8), shared_bytes, space).run()
        executed: Counter[str] = Counter()
        for step, count in zip(self.steps, launch.counts, strict=True):
            if count:
                executed[step.instruction.opcode] += count
        return LaunchRecord(executed, frozenset(launch.undefined))

    def _entry(self, name: str) -> Function:
        found = self.syntax.functions.get(name)
        if found is None or not found.is_entry:
            raise PtxError(f"there is no kernel {name}; there are {', '.join(self.entries)}")
        return found

    def _check(
        self, function: Function, shape: tuple[int, int, int], given: Array, shared_bytes: int, most_shared: int
    ) -> None:
        """Raise `PtxError` for a launch that a driver refuses."""
        count = shape[0] * shape[1] * shape[2]
        wanted = parameter_bytes(function)
        if given.nbytes != wanted:
            raise PtxError(f"{function.name} has {wanted} bytes of parameters, found {given.nbytes}")
        required = function.directives.get("reqntid")
        if required is not None and (*required, 1, 1)[:3] != shape:
            raise PtxError(f"{function.name} is for {required} threads, launched with {shape}")
        most = int(np.prod(function.directives.get("maxntid", (_MOST_THREADS,))))
        if not 0 < count <= most:
            raise PtxError(f"{function.name} is for at most {most} threads, launched with {count}")
        end = self.layout.shared_bytes - SHARED_BEGIN + shared_bytes
        if end > most_shared:
            raise PtxError(f"{function.name} needs {end} bytes of shared memory; there are {most_shared}")

    def _cta(
        self,
        launch: Launch,
        function: Function,
        grid: tuple[int, int, int],
        shape: tuple[int, int, int],
        given: Array,
        shared_bytes: int,
        space: Memory,
    ) -> Cta:
        """A CTA before its first instruction."""
        count = shape[0] * shape[1] * shape[2]
        layout = self.layout
        dynamic = max((one.align for one in self.syntax.variables.values() if one.space == "shared" and not one.bytes),
                      default=1)  # fmt: skip
        end = -(-layout.shared_bytes // dynamic) * dynamic + shared_bytes
        size = end - SHARED_BEGIN
        stride = -(-layout.local_bytes // 16) * 16
        parameters = aligned(-(-len(given) // 16) * 16, 64)
        parameters[: len(given)] = given
        clocks = Clocks(count) if layout.asynchronous else None
        random = Random(f"{launch.seed} {launch.place}")
        space.own = {
            "shared": Region(
                SHARED_BEGIN,
                size,
                aligned(size, 1024, _NOTHING),
                "shared memory",
                shadow=None if clocks is None else Shadow(clocks, SHARED_BEGIN, size),
            ),
            "local": Region(0, stride, aligned(stride * count, 16), "local memory", stride=stride),
            "param": Region(PARAMETER_BEGIN, len(given), parameters, "the parameters", writable=False),
        }
        registers = [np.array([_GARBAGE], np.uint64).astype(TYPES[type].held) for type in layout.slot_types()]
        held = special_values(shape, grid, launch.place, (shared_bytes, size))
        for name, slot in layout.specials.items():
            registers[slot] = held.get(name, np.zeros(1, bool))
        calls = [aligned(count * one.bytes, 16).reshape(count, one.bytes) for one in layout.calls]
        everyone = Mask(np.ones(count, bool), count)
        if launch.seed is None:
            schedule, copies = Schedule(SCHEDULES[launch.schedule](np.arange(count))), launch.copies
        else:
            schedule, copies = RandomSchedule.of(count, random), "random"
        names = {one.slot: one.name for one in self.syntax.registers}
        products = InFlight.of(count, self.products, names) if self.products else None
        return Cta(launch, self.steps, registers, space, count, [Group(function.first, (), everyone)], calls,
                   Asynchronous(copies, random), schedule, clocks, products)  # fmt: skip


def _registers(function: Function, shape: tuple[int, int, int]) -> int:
    """How many registers a thread has where a kernel says how many it may have; else 0.

    PTX ISA "setmaxnreg": the kernel is launched with a number that is known, by `.maxnreg`, or by bounds of threads,
    of which an assembler makes as many as there are for each.
    """
    if "maxnreg" in function.directives:
        return function.directives["maxnreg"][0]
    bound = function.directives.get("reqntid", function.directives.get("maxntid"))
    if bound is None:
        return 0
    ctas = function.directives.get("minnctapersm", (1,))[0]
    each = min(_REGISTERS // (ctas * int(np.prod(bound))), _MOST_REGISTERS)
    return each // _REGISTER_STEP * _REGISTER_STEP
