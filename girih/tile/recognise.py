"""From a kernel to a tile kernel, or the reason why it is none; how shared memory and registers are shared out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from girih.analysis.uniformity import yielded_values
from girih.ir.core import Function, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Add, Cast, Div, Max, Min, Mul, Select, Sub
from girih.ops.tile.builtin import GroupId
from girih.ops.tile.control import For, If
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.budget import (
    BLOCK_SHARES,
    BUSY_SHARES,
    DECODING_SHARES,
    GATHERING_SHARES,
    MOST_SHARED_BYTES,
    ROOMY_SHARES,
    SHARES,
    TIGHT_SHARES,
    consumer_share,
    shared_layout,
)
from girih.tile.form import (
    Copy,
    Gather,
    Issue,
    Multiply,
    Ring,
    Steps,
    Supply,
    TileKernel,
    Verify,
    WarpgroupRole,
    WorkOrder,
    walk,
)
from girih.tile.needed import needed
from girih.tile.products import fragment_of, in_depth_parts
from girih.tile.program import NoTileProgram, SlowerWay, TileProgram, tile_program
from girih.tile.registers import coalesced, most_alive, touched, without_unused
from girih.tile.schedule import scheduled
from girih.tile.stores import STAGING_COLUMNS
from girih.tile.translate import TwoRoles, translated

_MOST_SLOTS = 8
_SLOT_BYTES = 1024
"""What a slot takes at least."""
_GROUP = 8
"""The work-groups along x that are gone through together where factors are shared both ways: 8 x 8 tiles in the L2."""
_FEW_COLUMNS = 64
_OTHER_REGISTERS = 24
"""What a consumer needs of registers beside matrices: addresses, counters, coordinates."""


def tile_kernel(
    function: Function, *, checks: bool = True, maps: bool = True, sent: bool = True, parts: int = 1
) -> TileKernel:
    """The tile kernel of a checked function; without `maps`, every tile is gathered, and stored by consumers.

    Unless results are `sent`, they are stored by consumers, too. Each work-group is executed in so many `parts` of its
    depth.

    Raises `NoTileProgram`: where there are several numbers of consumers, with the reason for the best one.
    """
    program = tile_program(function)
    hints = function.hints("hopper")
    refusal: NoTileProgram | None = None
    for consumers in _candidates(program, hints):
        try:
            made = _for_consumers(program, consumers, hints, checks=checks, maps=maps, sent=sent and maps)
            return made if parts == 1 else in_depth_parts(made, parts)
        except NoTileProgram as reason:
            refusal = refusal or reason
    assert refusal is not None
    raise refusal


def _candidates(program: TileProgram, hints: Mapping[str, object]) -> Iterator[int]:
    """The numbers of consumers that have whole blocks of 64 rows of every matrix, the best first."""
    rows = {
        value.type.rows for op in program.walk() for value in op.results
        if isinstance(value.type, CoopMatrix) and value.type.use.value == "matrix_acc" and value.type.rows > 1
    }  # fmt: skip
    asked = hints.get("consumers")
    # A hint that does not fit is advice that is not followed.
    wanted = [*([asked] if isinstance(asked, int) else []), *(count for count in (2, 3, 1) if count != asked)]
    fitting = [count for count in wanted if rows and all(r % (64 * count) == 0 for r in rows)]
    if not fitting:
        sizes = ", ".join(map(str, sorted(rows))) or "no"
        what = f"matrices have {sizes} rows: {wanted[-1]} groups of 128 work-items need multiples of {64 * wanted[-1]}"
        raise NoTileProgram(what, program.function.span, "take tiles of 64, 128, 192 or 256 rows")
    yield from fitting


def _for_consumers(
    program: TileProgram, consumers: int, hints: Mapping[str, object], *, checks: bool, maps: bool, sent: bool
) -> TileKernel:
    """The tile kernel with some consumers, and with the widest stagings that leave room for the rings.

    Blocks that are decoded come through the copy engine, where there is room for them and for who decodes.
    """
    ways = [(blocks, width) for blocks in (True, False) for width in STAGING_COLUMNS]
    for blocks, width in ways:
        made = translated(program, consumers, checks=checks, maps=maps, sent=sent, blocks=blocks, staging_columns=width)
        if blocks and not made.block_rings:
            continue
        rings = _with_slots(made, consumers, hints)
        kernel = None if rings is None else _kernel(program, made, rings, consumers, hints)
        if kernel is not None:
            return kernel
    need = shared_layout(made.rings, made.stores.stagings, consumers).bytes
    what = f"two tiles of each factor take {need} bytes of shared memory, of {MOST_SHARED_BYTES}"
    raise NoTileProgram(what, program.function.span, "take smaller tiles, or fewer summands at a time")


def _kernel(
    program: TileProgram, made: TwoRoles, rings: tuple[Ring, ...], consumers: int, hints: Mapping[str, object]
) -> TileKernel | None:
    """The kernel of some roles; None where blocks come in rings, and there is no warpgroup to decode them."""
    if not any(isinstance(step, Issue | Multiply) for step in walk(made.consumers)):
        raise NoTileProgram("there is no product of matrices", program.function.span)
    producer = needed(made.producer)
    steps = needed(without_unused(made.consumers))
    steps = coalesced(steps, made.registers)
    steps = scheduled(steps, consumers, _scarce(made))
    multiplied = [step.product for step in walk(steps) if isinstance(step, Multiply)]
    fragment = fragment_of(multiplied, rings, program.function.span)
    alive = most_alive(steps, made.registers, consumers, fragment)
    decoded = [ring for ring in rings if ring.name not in made.block_rings] if made.block_rings else []
    shares = _shares(consumers, hints, producer, alive + _OTHER_REGISTERS, decoded, alone=bool(multiplied))
    if shares is None:
        return None
    producers, mine, theirs = shares
    if alive + _OTHER_REGISTERS > min(theirs, 255):
        what = f"matrices take {alive} registers of a work-item, of {min(theirs, 255)} with {consumers} groups of 128"
        raise NoTileProgram(what, program.function.span, "take smaller tiles, or more rows for more groups")
    used = touched(steps)
    if not isinstance(hints.get("stages"), int):
        filling = producers - 1 if decoded else producers
        fixed = made.block_rings.union(made.asked)
        rings = tuple(ring if ring.name in fixed else _in_turns(ring, filling) for ring in rings)
    return TileKernel(
        function=program.function,
        maps=(*made.maps, *made.stores.maps),
        rings=rings,
        stagings=tuple(made.stores.stagings),
        registers=tuple(one for name, one in made.registers.items() if name in used),
        order=_order(program, made, hints),
        producer=WarpgroupRole(producers, mine, producer),
        consumers=WarpgroupRole(consumers, theirs, steps),
        slower=tuple(SlowerWay(one.reason, one.span, one.hint) for one in made.gathered),
        fragment=fragment,
    )


def _scarce(made: TwoRoles) -> frozenset[str]:
    """The rings whose slots take longer to decode than to multiply: those of tiles that few columns are taken with.

    Decoding takes four instructions a number, of the 128 that a multiprocessor begins in a cycle; a product with eight
    columns takes a cycle for 256 numbers.
    """
    decoded = {
        step.ring for step in walk(made.producer) if isinstance(step, Supply) for copy in step.copies
        if isinstance(copy, Gather) and isinstance(copy.op, CooperativeMatrixLoadTensor) and copy.op.body is not None
    }  # fmt: skip
    products = [one for step in walk(made.consumers) if isinstance(step, Issue) for one in step.products]
    few = (one.right.ring for one in products if made.registers[one.sums].columns <= _FEW_COLUMNS)
    return frozenset(decoded.intersection(few))


def _in_turns(ring: Ring, producers: int) -> Ring:
    """A ring of which each warpgroup of the producer fills as many slots as every other one, if there are enough."""
    return replace(ring, slots=max(1, ring.slots // producers) * producers) if ring.slots >= producers else ring


def _shares(
    consumers: int, hints: Mapping[str, object], producer: Steps, needed: int, decoded: Sequence[Ring], *, alone: bool
) -> tuple[int, int, int] | None:
    """The warpgroups of the producer, the registers of each work-item of it, and those of a consumer's.

    Of rings that are `decoded` from others, each warpgroup that does so has a slot. None where nobody could. Threads of
    consumers that multiply `alone` have no use for the last registers, and of 24 a producer of f64 spills three.
    """
    if decoded:
        most = min(ring.slots for ring in decoded)
        for (producers, count), (mine, theirs) in BLOCK_SHARES.items():
            if count == consumers and needed <= theirs and producers - 1 <= most:
                return producers, mine, theirs
        return None
    gathered = [copy for step in walk(producer) if isinstance(step, Supply) for copy in step.copies]
    sources = [copy.op for copy in gathered if isinstance(copy, Gather)]
    asked = hints.get("producer_registers")
    if isinstance(asked, int):
        return 1, asked, consumer_share(asked, consumers)
    if any(isinstance(op, CooperativeMatrixLoadTensor) and op.body is not None for op in sources):
        for (producers, count), (mine, theirs) in DECODING_SHARES.items():
            if count == consumers and needed <= theirs:
                return producers, mine, theirs
    if sources and consumers in SHARES:
        mine, theirs = GATHERING_SHARES[consumers]
        return 1, *((mine, theirs) if needed <= min(theirs, 255) and not alone else BUSY_SHARES[consumers])
    if consumers in SHARES:
        checks = any(isinstance(step, Verify) for step in walk(producer))
        ways = (TIGHT_SHARES,) if alone else ()
        ways = (ROOMY_SHARES, BUSY_SHARES, TIGHT_SHARES, SHARES) if checks else (*ways, SHARES)
        return 1, *next((way[consumers] for way in ways if min(way[consumers][1], 255) >= needed), SHARES[consumers])
    return 1, 24, consumer_share(24, consumers)


def _with_slots(made: TwoRoles, consumers: int, hints: Mapping[str, object]) -> tuple[Ring, ...] | None:
    """The rings with as many slots as there is room for; those that are filled once for a work-group have one.

    With a hint, of a loop or else of the kernel, they have so many, or the most for which there is room, two at least:
    a consumer has one while it waits for the next. None where there is no room for two.
    """
    asked = hints.get("stages")
    usual = asked if isinstance(asked, int) else _MOST_SLOTS
    most = {
        ring.name: min(max(made.asked.get(ring.name, usual), 2), MOST_SHARED_BYTES // _SLOT_BYTES)
        if ring.slots > 1 else 1
        for ring in made.rings
    }  # fmt: skip
    for slots in range(max([2, *most.values()]), 1, -1):
        sized = tuple(replace(ring, slots=min(slots, most[ring.name])) for ring in made.rings)
        if shared_layout(sized, made.stores.stagings, consumers).bytes <= MOST_SHARED_BYTES:
            return _with_more_blocks(made, sized, consumers)
    return None


def _with_more_blocks(made: TwoRoles, rings: tuple[Ring, ...], consumers: int) -> tuple[Ring, ...]:
    """The rings with more slots of blocks, as far as there is room: they are what comes from far away.

    Those that a loop asks a number for keep it.
    """
    found, growing = rings, made.block_rings.difference(made.asked)
    while True:
        more = tuple(
            replace(ring, slots=ring.slots + 1) if ring.name in growing and ring.slots < _MOST_SLOTS else ring
            for ring in found
        )
        if more == found or shared_layout(more, made.stores.stagings, consumers).bytes > MOST_SHARED_BYTES:
            return found
        found = more


def _order(program: TileProgram, made: TwoRoles, hints: Mapping[str, object]) -> WorkOrder:
    """The order of work-groups: in groups where some factors depend on x only, and some on y only."""
    supplies = [step for step in walk(made.producer) if isinstance(step, Supply)]
    axes = [_axes(program, _places(copy)) for step in supplies for copy in step.copies]
    both = any(0 in one and 1 not in one for one in axes) and any(1 in one and 0 not in one for one in axes)
    asked = hints.get("group")
    group = asked if isinstance(asked, int) else _GROUP if both else 1
    last_first = any(_grows(program, op.stop) for op in program.walk() if isinstance(op, For))
    return WorkOrder(hints.get("persistent") is not False, group, last_first)


def _places(copy: Copy | Gather) -> list[Value]:
    """The scalars that say where a tile lies."""
    return [v for v in copy.at if isinstance(v, Value)] if isinstance(copy, Copy) else list(copy.op.operands)


def _grows(program: TileProgram, end: Value) -> bool:
    """Whether a number is larger for work-groups further along x, as far as its form tells: loops to it take longer."""
    definitions = {value: op for op in program.walk() for value in op.results}

    def grows(value: Value) -> bool:
        match definitions.get(value):
            case GroupId(axis=axis):
                return axis == 0
            case Add(a=a, b=b) | Mul(a=a, b=b) | Min(a=a, b=b) | Max(a=a, b=b) | Select(a=a, b=b):
                return grows(a) or grows(b)
            case Sub(a=a) | Div(a=a) | Cast(a=a):
                return grows(a)
            case If(results=results) as op:
                return any(grows(yielded_values(region)[results.index(value)]) for region in op.regions)
            case _:
                return False

    return grows(end)


def _axes(program: TileProgram, values: list[Value]) -> set[int]:
    """The axes of the grid that some scalars depend on."""
    definitions = {value: op for op in program.walk() for value in op.results}
    pending, seen, axes = list(values), set[Value](), set[int]()
    while pending:
        value = pending.pop()
        op = definitions.get(value)
        if op is None or value in seen:
            continue
        seen.add(value)
        if isinstance(op, GroupId):
            axes.add(op.axis)
        pending += op.operands
    return axes
