"""The PTX of one tensor copy: the instruction with its operands in order, and a whole kernel around it.

Spellings are those of the PTX ISA 9.0, cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. Loads and stores of both
modes and tiled reductions ran on an NVIDIA H200 and moved the bytes of the model; the text of every other form says
that it was not measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from girih.addressing.errors import RuleReport, rule
from girih.addressing.tensor_map import operands
from girih.addressing.tensor_map.element_type import REDUCTIONS
from girih.addressing.tensor_map.parameters import MapParameters, Mode
from girih.addressing.tensor_map.rules import ARCHITECTURES
from girih.addressing.tensor_map.swizzle import LINE

COPY = rule(
    "tensor_map.copy", "a copy is load, gather4, store, scatter4, or reduce with its operation", "004 5.5, PTX ISA"
)
Direction = Literal["load", "store", "reduce"]

COPIES: tuple[str, ...] = ("load", "gather4", "store", "scatter4", *(f"reduce.{name}" for name in REDUCTIONS))
"""The copies that a map takes part in; a reduction is named with its operation."""
FOUR_ROWS = ("gather4", "scatter4")
"""The copies of four rows of a matrix (004 5.5.3.4)."""

# PTX ISA 9.0, release notes and target notes: the first version that knows an architecture, and those of a family.
_VERSIONS = {
    "sm_90": "8.0", "sm_100": "8.6", "sm_101": "8.6", "sm_103": "8.8", "sm_110": "9.0", "sm_120": "8.7",
    "sm_121": "8.8",
}  # fmt: skip
_FAMILY_VERSION = "8.8"


@dataclass(frozen=True, slots=True)
class CopyInstruction:
    """The instruction of one copy, checked by `instruction_of`.

    - `opcode`: with all its modifiers; `coordinates`: names of the operands in braces, in order, each 32 bits.
    - `offsets`: names of the im2col offsets, each 16 bits; `rows`: the rows of the box.
    - `expected_bytes`: the bytes that a load adds to its barrier, 0 for the other copies.
    - `shared_bytes`, `alignment`: the room of the box in shared memory, and what its address is a multiple of.
    - `is_measured`: whether this form ran on an H200.
    """

    copy: str
    direction: Direction
    opcode: str
    coordinates: tuple[str, ...]
    offsets: tuple[str, ...]
    expected_bytes: int
    shared_bytes: int
    alignment: int
    is_measured: bool

    def written(
        self, shared: str, tensor_map: str, barrier: str, coordinates: Sequence[str], offsets: Sequence[str]
    ) -> str:
        """The instruction with these operands."""
        tensor = f"[{tensor_map}, {{{', '.join(coordinates)}}}]"
        if self.direction != "load":
            return f"{self.opcode} {tensor}, [{shared}];"
        moved = f", {{{', '.join(offsets)}}}" if offsets else ""
        return f"{self.opcode} [{shared}], {tensor}, [{barrier}]{moved};"


def instruction_of(given: MapParameters, copy: str) -> CopyInstruction:
    """The instruction of a copy through a map. Raises `AddressingError` for a copy that the map does not have."""
    report = RuleReport("TensorMap.code")
    if report.word("copy", copy, COPIES, COPY):
        _check(given, copy, report)
    report.done()
    direction: Direction = "load" if copy in ("load", "gather4") else "reduce" if copy.startswith("reduce") else "store"
    is_load, is_four = direction == "load", copy in FOUR_ROWS
    rows = 4 if is_four else given.rows
    return CopyInstruction(
        copy,
        direction,
        _opcode(given, copy),
        coordinates=("column", "row0", "row1", "row2", "row3") if is_four else _names(given),
        offsets=_offsets(given) if is_load else (),
        expected_bytes=given.transaction_bytes * rows // given.rows if is_load else 0,
        shared_bytes=rows * given.row_pitch if is_four else given.image_bytes,
        alignment=max(LINE, given.swizzling.repeat),
        is_measured=_is_measured(given, copy),
    )


def _check(given: MapParameters, copy: str, report: RuleReport) -> None:
    """Note the rules that a copy breaks wherever it starts."""
    if copy in FOUR_ROWS:
        operands.check_gather(given, 0, (0, 0, 0, 0), copy == "scatter4", report)
    if copy.startswith("reduce"):
        operands.check_reduction(given, copy.removeprefix("reduce."), report)
    if copy in ("load", "gather4"):
        operands.check_load(given, report)
    else:
        operands.check_store(given, (), report)
    operands.check_image_size(given, 4 if copy in FOUR_ROWS else given.rows, report)


def _names(given: MapParameters) -> tuple[str, ...]:
    """The coordinates innermost first, by the names of the dimensions in im2col mode (004 5.5.4)."""
    if given.mode == "tiled":
        return tuple(f"c{dimension}" for dimension in range(given.rank))
    pixel = tuple("whd"[: given.rank - 2])
    return (*pixel, "slice", "n") if given.slice_bytes else ("c", *pixel, "n")


def _offsets(given: MapParameters) -> tuple[str, ...]:
    """The im2col offsets of a load (004 5.5.4.1); tiled mode has none."""
    return tuple(f"offset_{letter}" for letter in "whd"[: given.rank - 2]) if given.mode == "im2col" else ()


def _opcode(given: MapParameters, copy: str) -> str:
    own = ARCHITECTURES[given.architecture].capability >= OWN_MEMORY
    return opcode_of(given.rank, given.mode, copy, own_memory=own)


OWN_MEMORY = 10
"""The major compute capability of the architectures for which loads to the memory of the block itself have a form.

It came with PTX 8.6; `gather4` has it on every architecture.
"""


def opcode_of(rank: int, mode: Mode, copy: str, *, own_memory: bool) -> str:
    """The opcode of a copy with all its modifiers; `own_memory` says whether loads name the memory of the block itself,
    or that of a cluster, which a block is too."""
    dimensions = f"{rank}d"
    tiled = {"gather4": "tile::gather4", "scatter4": "tile::scatter4"}.get(copy, "tile")
    if copy in ("load", "gather4"):
        target = "cta" if own_memory else "cluster"
        word = "im2col" if mode == "im2col" else tiled
        return f"cp.async.bulk.tensor.{dimensions}.shared::{target}.global.{word}.mbarrier::complete_tx::bytes"
    word = "im2col_no_offs" if mode == "im2col" else tiled
    if copy.startswith("reduce"):
        operation = copy.removeprefix("reduce.")
        return f"cp.reduce.async.bulk.tensor.{dimensions}.global.shared::cta.{operation}.{word}.bulk_group"
    return f"cp.async.bulk.tensor.{dimensions}.global.shared::cta.{word}.bulk_group"


def _is_measured(given: MapParameters, copy: str) -> bool:
    """Whether a form ran on an H200: loads and stores did, and tiled reductions, of what came with Hopper."""
    if ARCHITECTURES[given.architecture].capability >= 10:
        return False
    return copy in ("load", "store") or (copy.startswith("reduce.") and given.mode == "tiled")


def version_of(architecture: str) -> str:
    """The version of PTX that knows an architecture."""
    version = _VERSIONS[architecture.rstrip("af")]
    return max(version, _FAMILY_VERSION) if architecture.endswith("f") else version


# --- the kernel ----------------------------------------------------------------------------------


def ptx(given: MapParameters, instruction: CopyInstruction, name: str, about: Sequence[str]) -> str:
    """A PTX module whose kernel `name_copy` makes one copy; `about` is its comment, line by line.

    The kernel takes the map by value, the coordinates (and offsets), and the global address of the image: a load writes
    the bytes of the box there, as they lie in shared memory, and the other copies read them from there.
    """
    entry = f"{name}_{instruction.copy.replace('.', '_')}"
    lines = [
        *(f"// {line}".rstrip() for line in about),
        f".version {version_of(given.architecture)}",
        f".target {given.architecture}",
        ".address_size 64",
        "",
        f".extern .shared .align {instruction.alignment} .b8 {entry}_box[];",
        "",
        f".visible .entry {entry}(",
        ",\n".join(f"    {parameter}" for parameter in _parameters(instruction)),
        ")",
        "{",
        *(f"    {line}" if line and not line.endswith(":") else line for line in _body(instruction, f"{entry}_box")),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parameters(instruction: CopyInstruction) -> list[str]:
    return [
        ".param .align 64 .b8 tensor_map[128]",
        *(f".param .s32 {name}" for name in instruction.coordinates),
        *(f".param .u16 {name}" for name in instruction.offsets),
        ".param .u64 image",
    ]


def _body(instruction: CopyInstruction, box: str) -> Iterator[str]:
    yield ".reg .pred %other, %there, %more;"
    yield ".reg .b32 %box, %barrier, %thread, %threads, %at, %place, %word;"
    yield ".reg .b64 %map, %image, %address;"
    yield f".reg .b32 %{', %'.join(instruction.coordinates)};"
    if instruction.offsets:
        yield f".reg .b16 %{', %'.join(instruction.offsets)};"
    if instruction.direction == "load":
        yield ".shared .align 8 .b64 mbarrier;"
    yield ""
    yield "mov.u32 %thread, %tid.x;"
    yield "mov.u32 %threads, %ntid.x;"
    yield "setp.ne.u32 %other, %thread, 0;"
    yield f"mov.u32 %box, {box};"
    yield "ld.param.u64 %image, [image];"
    yield "cvta.to.global.u64 %image, %image;"
    yield "mov.b64 %map, tensor_map;"
    yield "cvta.param.u64 %map, %map;"
    yield from (f"ld.param.u32 %{name}, [{name}];" for name in instruction.coordinates)
    yield from (f"ld.param.u16 %{name}, [{name}];" for name in instruction.offsets)
    yield ""
    call = instruction.written(
        "%box",
        "%map",
        "%barrier",
        [f"%{name}" for name in instruction.coordinates],
        [f"%{name}" for name in instruction.offsets],
    )
    yield from _load(instruction, call) if instruction.direction == "load" else _store(instruction, call)


def _load(instruction: CopyInstruction, call: str) -> Iterator[str]:
    yield "mov.u32 %barrier, mbarrier;"
    yield "@%other bra WAIT;"
    yield "mbarrier.init.shared::cta.b64 [%barrier], 1;"
    yield "fence.proxy.async.shared::cta;"
    yield f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], {instruction.expected_bytes};"
    yield call
    yield "WAIT:"
    yield "bar.sync 0;"
    yield "TRY:"
    yield "mbarrier.try_wait.parity.shared::cta.b64 %there, [%barrier], 0;"
    yield "@!%there bra TRY;"
    yield ""
    yield from _each_word(instruction, "ld.shared.u32 %word, [%place];", "st.global.u32 [%address], %word;")
    yield "ret;"


def _store(instruction: CopyInstruction, call: str) -> Iterator[str]:
    yield from _each_word(instruction, "ld.global.u32 %word, [%address];", "st.shared.u32 [%place], %word;")
    yield "fence.proxy.async.shared::cta;"
    yield "bar.sync 0;"
    yield "@%other bra END;"
    yield call
    yield "cp.async.bulk.commit_group;"
    yield "cp.async.bulk.wait_group 0;"
    yield "END:"
    yield "ret;"


def _each_word(instruction: CopyInstruction, read: str, write: str) -> Iterator[str]:
    """The loop in which the threads share the words of the box."""
    yield "shl.b32 %at, %thread, 2;"
    yield "shl.b32 %threads, %threads, 2;"
    yield "NEXT:"
    yield f"setp.ge.u32 %more, %at, {instruction.shared_bytes};"
    yield "@%more bra DONE;"
    yield "add.u32 %place, %box, %at;"
    yield "cvt.u64.u32 %address, %at;"
    yield "add.u64 %address, %image, %address;"
    yield read
    yield write
    yield "add.u32 %at, %at, %threads;"
    yield "bra NEXT;"
    yield "DONE:"
