"""The words of every remark: nothing is wrong, but a launch may not be what was meant, or a kernel not the fastest.

For each decision of a compiler a function says what was done, why, and what would let it do better; the target notes
the words in `Remarks` where it decides. A remark is there only where whoever writes the kernel can change something.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import field

from girih.diagnostics import Diagnostic, plural
from girih.facts.elements import of_array
from girih.ir.core import Op, Order
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, Foreach, ForeachTile
from girih.source import NOWHERE, Span

RUN_REMARKS = {
    "run.untouched": "some elements of an argument that the kernel writes were written by no work-group",
}
"""The codes of the remarks of a launch, each with its meaning."""


CPU_REMARKS = {
    "cpu.amx": "a product is computed by tiles of AMX, which take subnormal numbers as zeros",
    "cpu.amx_unused": "a product of narrow numbers is computed without the tiles of AMX that the processor has",
    "cpu.apart": "elements that a collective instruction goes through are no neighbours in memory, and go one by one",
    "cpu.atomic": "elements are updated one by one, so that each update is atomic",
    "cpu.bounds": "an index is checked in every iteration of a loop, as nothing bounds it before the loop",
    "cpu.call": "an operation without an instruction is a call for every work-item",
    "cpu.copy": "a matrix is copied from memory before it is used, as the memory may change until then",
    "cpu.coroutine": "the subgroups of a work-group take turns at barriers",
    "cpu.cut": "a very long region is cut into functions, between which values go through memory",
    "cpu.divergent": "the work-items of a subgroup leave a loop at different times, and all go on until the last one",
    "cpu.gather": "work-items load or store elements that are no neighbours, one by one",
    "cpu.packing": "the factors of a product are copied before they are multiplied, whatever their size",
    "cpu.stack": "more values are alive at a time than the registers hold",
    "cpu.tensor": "the place of every component is computed by itself, as a tile is no window of the memory",
    "cpu.tf32": "f32 factors are multiplied as they are, although tf32 is permitted",
    "cpu.turned": "a matrix whose lines are no neighbours in memory is turned on its way",
}
"""The codes of what the compiler for the CPU remarks, each with its meaning."""

_DEVICE_REMARKS = {
    "sizes": "the kernel leaves a size open, and gets one that the device has",
    "bounds": CPU_REMARKS["cpu.bounds"],
    "call": CPU_REMARKS["cpu.call"],
    "tf32": CPU_REMARKS["cpu.tf32"],
}

VULKAN_REMARKS = {f"vulkan.{id}": says for id, says in _DEVICE_REMARKS.items()} | {
    "vulkan.matrix": "matrices are arrays of each work-item, as the device has no such matrices",
    "vulkan.gemm": "a collective product goes by loops of all work-items, as the device has no matrices for it",
    "vulkan.lines": "the shader asks whether lines of a matrix begin at multiples of 16 bytes, and has two ways",
}
"""The codes of what the compiler to SPIR-V for Vulkan remarks, each with its meaning."""

CUDA_REMARKS = {f"cuda.{id}": says for id, says in _DEVICE_REMARKS.items()} | {
    "cuda.gather": "a thread loads or stores elements that are no neighbours, one by one",
    "cuda.gemm": "a collective product of large matrices, or of unknown sizes, is computed by one multiprocessor",
    "cuda.resources": "what a kernel takes of a multiprocessor says how many work-groups are there at a time",
    "cuda.flat": "matrices of the work-group that no product takes are in registers, spread evenly",
    "cuda.matrix": "matrices are arrays of each work-item, not fragments in its registers",
    "cuda.components": "components of a matrix go through shared memory into the order of the language",
    "cuda.pipeline": "a kernel is a tile program, in which copies and products run by themselves",
    "cuda.hint": "a hint cannot be followed, and what is nearest to it is taken",
    "cuda.map": "a tile of a tile program has no tensor map: threads copy it instead of the copy engine",
    "cuda.tile": "a kernel with matrices of the work-group is no tile program, and is slower for that",
}
"""The codes of what the compiler to PTX remarks, each with its meaning."""

OPENCL_REMARKS = {f"opencl.{id}": says for id, says in _DEVICE_REMARKS.items()}
"""The codes of what the compiler to SPIR-V for OpenCL remarks, each with its meaning."""


@dataclass(frozen=True, slots=True)
class RemarkWords:
    """What was done and why, and what would make it better; `id` is the code without the target."""

    id: str
    message: str
    hint: str


@dataclass(slots=True)
class Remarks:
    """The remarks of a target on a kernel while it is lowered; a target without a name makes none."""

    target: str = ""
    ops: list[Op] = field(default_factory=list)
    """The instructions that are being lowered, each in a region of the one before."""
    _noted: dict[tuple[object, RemarkWords], Diagnostic] = field(default_factory=dict)

    def note(self, words: RemarkWords, span: Span | None = None, *, once: Op | None = None) -> None:
        """Note a remark at a place, or on the instruction at hand.

        One in the same words is not noted again: neither at its place, nor in an instruction that has it `once`.
        """
        here = span or (self.ops[-1].span if self.ops else NOWHERE)
        if self.target:
            made = Diagnostic(f"{self.target}.{words.id}", words.message, here, "remark", hint=words.hint)
            self._noted.setdefault((once or (here.start, here.end), words), made)

    @property
    def loop(self) -> Op | None:
        """The innermost loop of the program that the instruction at hand stands in; None outside of loops."""
        return next((op for op in self.ops[-2::-1] if isinstance(op, For | Foreach | ForeachTile)), None)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The remarks in source order, at one place in the order of their codes."""
        return tuple(sorted(self._noted.values(), key=lambda d: (d.span.start, d.span.end, d.code, d.message)))


# --- memory ------------------------------------------------------------------------------------


def gather(name: str, distance: int | None) -> RemarkWords:
    """Elements of neighbouring work-items that lie some elements apart, None if that is known at run time only."""
    where = "at a distance that is known only at run time" if distance is None else f"{abs(distance)} elements apart"
    return RemarkWords(
        "gather",
        f"neighbouring work-items access elements of %{name} {where}: they are moved one by one",
        "let neighbouring work-items go along a mode that has stride 1 in the type",
    )


def bounds(name: str, *, computed: bool) -> RemarkWords:
    """Indices that are checked in a loop; `computed` where those that follow from loop variables are not."""
    known = "that ends at the size of the mode is checked once"
    if computed:
        known = "or what is computed from some by add, sub, mul, min or max, is checked once before a short loop"
    return RemarkWords(
        "bounds",
        f"indices of %{name} are checked in every iteration: nothing bounds them before the loop",
        f'a loop variable{"," if computed else ""} {known}; checks="off" leaves out all checks',
    )


def apart(name: str, stride: int | None) -> RemarkWords:
    """Elements of a collective instruction that are no neighbours; the stride is None if it depends on the launch."""
    where = "a stride that is known only at run time" if stride is None else f"a stride of {stride}"
    return RemarkWords(
        "apart",
        f"elements of %{name} have {where} along its first mode: they are computed one by one",
        "with a stride of 1 along mode 0 they are computed as vectors",
    )


def atomic(name: str) -> RemarkWords:
    """A target of a collective instruction that is updated atomically."""
    return RemarkWords(
        "atomic",
        f"elements of %{name} are updated one by one, each atomically",
        "where no other work-group writes these elements, leave `.atomic` out",
    )


# --- products and matrices ---------------------------------------------------------------------


def packing(why: str, hint: str) -> RemarkWords:
    """A product whose factors are copied first, whatever their size."""
    return RemarkWords("packing", f"both factors are copied before they are multiplied, also small ones: {why}", hint)


def amx(factors: Number) -> RemarkWords:
    """A product by tiles of AMX of factors of a type."""
    floats = ", which add up in an order of their own and take subnormal f32 and bf16 as zeros"
    return RemarkWords(
        "amx",
        f"the product goes by tiles of AMX{'' if factors.family == 'integer' else floats}",
        "a target without AMX, such as cpu:icelake-server, keeps to vectors",
    )


def amx_unused(first: Number, second: Number, sums: Number, factors: Collection[Number]) -> RemarkWords:
    """A product of two types with sums in a third one, for which there are no tiles; `factors` have them."""
    known = " and ".join(f"{type} by {type}" for type in sorted(factors, key=str))
    return RemarkWords(
        "amx_unused",
        f"the product goes without tiles of AMX: factors are {first} and {second}, and sums {sums}",
        f"tiles of this processor multiply {known}; floats are summed in f32, integers in i32",
    )


def tf32() -> RemarkWords:
    """A product of f32 with a permission that is not used."""
    return RemarkWords(
        "tf32",
        "factors of f32 are multiplied as they are: this target has no products of tf32",
        "where 8 bits of precision are enough, factors of bf16 take half the memory",
    )


def copy() -> RemarkWords:
    """A matrix that is copied because memory may change before it is used."""
    return RemarkWords(
        "copy",
        "the matrix is copied when it is loaded: memory may be written before it is used",
        "load it behind the write, right before it is used",
    )


def turned(*, rows: bool) -> RemarkWords:
    """A matrix whose columns are no neighbours in memory; `rows` where its rows are."""
    if not rows:
        what = "neither rows nor columns of the matrix are known to be neighbours in memory: they are moved one by one"
        return RemarkWords("turned", what, "say in the type which mode has stride 1, as in strided<1,?>")
    return RemarkWords(
        "turned",
        "neighbours in memory are in one row of the matrix, whose columns are held together: it is turned on its way",
        "with the array stored the other way it is not turned; or compute with the transpose",
    )


def tensor() -> RemarkWords:
    """A tile of a tensor layout that is no window of the memory."""
    return RemarkWords(
        "tensor",
        "the place of every component is computed by itself: the tile is not known to be a window of the memory",
        "with constant spans, and dimensions and strides of a view, it may be one",
    )


# --- work-items --------------------------------------------------------------------------------


def divergent() -> RemarkWords:
    """A loop that work-items leave at different times."""
    return RemarkWords(
        "divergent",
        "work-items leave this loop at different times: all of them go on under a mask until the last one is through",
        "a loop with one range for all work-items of a subgroup needs no mask",
    )


def call(mnemonic: str, type: str) -> RemarkWords:
    """An operation that is a call for each work-item."""
    return RemarkWords(
        "call",
        f"`{mnemonic}` of {type} is no instruction of the target: it is a function, called for every work-item",
        "where the quotient is small, subtract a multiple of the divisor instead",
    )


def coroutine(subgroups: int, subgroup_size: int) -> RemarkWords:
    """A region in which subgroups take turns."""
    return RemarkWords(
        "coroutine",
        f"the {subgroups} subgroups of a work-group take turns at every barrier, with their values in memory",
        f"a work-group of one subgroup does not wait for others: work_group_size=[{subgroup_size}, 1]",
    )


# --- long kernels ------------------------------------------------------------------------------


def cut(weight: int) -> RemarkWords:
    """A region that is cut into functions."""
    return RemarkWords(
        "cut",
        f"the region has about {plural(weight, 'instruction')}: it is cut into functions, and values between them go "
        "through memory",
        "a loop over what repeats makes it short",
    )


def stack(bytes: int) -> RemarkWords:
    """A kernel whose values do not fit the registers by far."""
    return RemarkWords(
        "stack",
        "far more values are alive at a time than the registers hold: the kernel runs on a stack of its own, "
        f"of {bytes} bytes",
        "smaller or fewer matrices at a time, or shorter regions, stay in registers",
    )


# --- launches ----------------------------------------------------------------------------------


def untouched(
    name: str,
    span: Span,
    count: int,
    first: Sequence[int],
    shape: Sequence[int],
    others: int,
    grid: tuple[int, int, int],
    order: Order,
) -> Diagnostic:
    """The remark on an array of which `count` elements were not written; `first` is one of them.

    `others` counts further members of the same group that were not written everywhere; `order` is that of the axes
    of the array.
    """
    numbers, sizes = (", ".join(map(str, values)) for values in (first, shape))
    which = f"{count} of {plural(math.prod(shape), 'element')}" if shape else "its element"
    place = f", the first at index ({numbers}) of shape ({sizes})" if shape else ""
    if order == "C" and len(shape) > 1:
        place += of_array(first)
    message = f"no work-group wrote {which} of %{name}{place}"
    if others:
        message += f"; likewise in {plural(others, 'other array')} of the group"
    ran = f"{' x '.join(map(str, grid))} work-groups"
    hint = f"if the kernel should write all of it, {ran} are too few, or each writes too little"
    return Diagnostic("run.untouched", message, span, "remark", hint=hint)


# --- devices -----------------------------------------------------------------------------------


def sizes(subgroup_size: int, work_group: tuple[int, int]) -> RemarkWords:
    """The sizes that a kernel gets where it leaves one open."""
    return RemarkWords(
        "sizes",
        f"compiled for subgroups of {subgroup_size} and work-groups of {work_group[0]} x {work_group[1]} work-items",
        "`subgroup_size` and `work_group_size` ask for others",
    )


def software_matrices(reason: str) -> RemarkWords:
    """Matrices that are arrays of each work-item; the reason says what the device lacks."""
    return RemarkWords(
        "matrix",
        f"matrices are arrays of each work-item, not the device's: {reason}",
        "matrices of a listed shape and type, in a subgroup or work-group of a listed size, are the device's",
    )


def matrices_in_arrays(reason: str) -> RemarkWords:
    """Matrices of an NVIDIA GPU that are arrays of each work-item; the reason says why they are no fragments."""
    return RemarkWords(
        "matrix",
        f"matrices are arrays of each work-item, which is slow: {reason}",
        "matrices of real numbers that fit the registers of work-items, 32 in each subgroup, are fragments",
    )


def flat_matrices(down: int, across: int, chunk: int) -> RemarkWords:
    """Matrices of the work-group of an NVIDIA GPU, which no product takes, in registers."""
    return RemarkWords(
        "flat",
        f"matrices of the work-group are in registers: {down} work-items share a column, {across} the columns, "
        f"in pieces of {chunk} neighbours",
        "the size of the work-group says how many numbers each work-item has: 16 to 64 hide the way from memory",
    )


def tile_program(parts: str, *, products: bool = True) -> RemarkWords:
    """A kernel that is a tile program on an NVIDIA GPU, what it consists of, and whether nobody waits for products."""
    return RemarkWords(
        "pipeline",
        f"copies {'and products ' if products else ''}run by themselves: {parts}",
        "the sizes of the tiles, and the hints `hopper`, say how much is in flight",
    )


def gathered_tile(reason: str, hint: str) -> RemarkWords:
    """A tile of a tile program that no tensor map has; the reason says why."""
    return RemarkWords(
        "map",
        f"threads copy this tile, not the copy engine: {reason}",
        hint or "a tile that is a box of an array, with neighbours along one of its modes, has a map",
    )


def hint_not_followed(hint: str, taken: str, why: str) -> RemarkWords:
    """A hint to an NVIDIA GPU that cannot be followed, what is done in place of it, and why."""
    return RemarkWords("hint", f"`{hint}` cannot be followed: {why}; {taken}", "leave it out, or say what is taken")


def no_tile_program(reason: str, hint: str) -> RemarkWords:
    """A kernel with matrices of the work-group that is no tile program on an NVIDIA GPU."""
    what = "scalars before one `parallel`, in which matrices of the work-group are loaded, multiplied and stored"
    return RemarkWords("tile", f"the kernel is no tile program: {reason}", hint or f"a tile program has {what}")


def exchanged_components() -> RemarkWords:
    """A component of a matrix by its number, which threads do not hold in that order."""
    return RemarkWords(
        "components",
        "the matrix goes through shared memory, as its threads do not hold the components in this order",
        "`cooperative_matrix_apply` computes with components where they are",
    )


def uneven_lines(names: Sequence[str]) -> RemarkWords:
    """Matrices in memory whose lines begin where only a launch knows; all names are of memrefs."""
    which = " and ".join(f"`{name}`" for name in dict.fromkeys(names))
    return RemarkWords(
        "lines",
        f"the shader asks whether lines of {which} begin at multiples of 16 bytes",
        "strides that are known, or that `stride_gcd` of a parameter promises, need no question, and no second way",
    )


def product_by_loops(reason: str) -> RemarkWords:
    """A collective matrix product that all work-items compute number by number; the reason says why."""
    return RemarkWords(
        "gemm",
        f"the product is computed by loops of all work-items: {reason}",
        "factors of a listed type, with neighbours in memory along a mode, are multiplied by the device's matrices",
    )


def one_work_group() -> RemarkWords:
    """A collective matrix product that is large, or has sizes that only a launch knows."""
    return RemarkWords(
        "gemm",
        "the product is computed by one work-group, on one multiprocessor, in blocks that go through shared memory",
        "a large product wants a grid of work-groups, each with a tile of the result as a matrix of its own; "
        "many small ones want sizes that their types tell",
    )
