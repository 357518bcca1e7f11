"""The maps of a tile program: made of the arguments of a launch, as the recipes of the kernel say, or why they are not.

What a map covers is part of the argument's memory: the engine checks against the map alone, so that a map that goes
beyond would let it read and write what is another array's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.addressing.errors import AddressingError
from girih.addressing.tensor_map.element_type import FROM_NUMPY
from girih.addressing.tensor_map.model import TensorMap
from girih.arguments.arrays import Accepted, GroupClaim, MapClaim
from girih.arguments.claims import Claim
from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.ir.types import I32
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.copies.lines import LineCopy
from girih.runtime.cuda.tensor_maps import MadeMap
from girih.tile.amounts import Amount
from girih.tile.form import MapRecipe

UNIT_BYTES = 16
"""What bases, strides and rows are multiples of (`tensor_map.stride_multiple`, `tensor_map.address_aligned`)."""
_WORDS = "s32"
_SWIZZLES = {0: "none", 32: "32B", 64: "64B", 128: "128B"}


class IllegalMapError(Exception):
    """The arguments of a launch have no map as a recipe wants it; the message says why."""


@dataclass(frozen=True, slots=True)
class AcceptedNumbers:
    """The numbers that a launch knows (`girih.tile.amounts.LaunchNumbers`), out of its accepted arguments."""

    accepted: Sequence[Accepted]

    def size(self, parameter: int, mode: int) -> int:
        return self._claim(parameter).shape[mode]

    def stride(self, parameter: int, mode: int) -> int:
        return self._claim(parameter).strides[mode]

    def number(self, parameter: int) -> int:
        item = self.accepted[parameter]
        assert not isinstance(item, Claim | GroupClaim | MapClaim), "the amounts of a checked kernel"
        return int(item[0, 0, 0])

    def _claim(self, parameter: int) -> Claim:
        item = self.accepted[parameter]
        assert isinstance(item, Claim), "the amounts of a checked kernel"
        return item


def made_maps(kernel: PtxKernel, accepted: Sequence[Accepted], *, copied: bool = False) -> list[MadeMap]:
    """The maps of a kernel for the arguments of a launch. Raises `IllegalMapError`.

    Where no map has the lines of an array, there may be one of a copy, if they may be `copied`.
    """
    return [_made(place.recipe, place.offset, kernel.architecture, accepted, copied=copied) for place in kernel.recipes]


def integers_of(kernel: PtxKernel) -> frozenset[int]:
    """The parameters of integer types that the maps of a kernel depend on, by their numbers."""
    return frozenset(
        operand
        for place in kernel.recipes
        for amount in (place.recipe.offset, *place.recipe.sizes, *place.recipe.strides)
        for kind, operand in _leaves(amount)
        if kind == "argument"
    )


def _leaves(amount: Amount) -> Iterator[tuple[str, int]]:
    for operand in amount.operands:
        if isinstance(operand, Amount):
            yield from _leaves(operand)
        else:
            yield amount.kind, operand


def _made(recipe: MapRecipe, offset: int, architecture: str, accepted: Sequence[Accepted], *, copied: bool) -> MadeMap:
    numbers, item = AcceptedNumbers(accepted), accepted[recipe.parameter]
    assert isinstance(item, Claim), "a map is of a memref"
    first = recipe.offset.of(numbers)
    sizes = tuple(amount.of(numbers) for amount in recipe.sizes)
    strides = tuple(amount.of(numbers) for amount in recipe.strides)
    _refuse_beyond(recipe, item, first, sizes, strides)
    bytes_of = recipe.component.size
    if sizes[0] > 1 and strides[0] != 1:
        raise IllegalMapError(
            f"{item.place}: elements along the first dimension of map {recipe.name} are no neighbours"
        )
    if recipe.stored and sizes[0] * bytes_of % UNIT_BYTES:
        raise IllegalMapError(f"{item.place}: lines of {sizes[0] * bytes_of} bytes are no multiple of {UNIT_BYTES}")
    # Blocks that a program decodes are bytes, and copied as words.
    dtype = _WORDS if recipe.component == I32 else FROM_NUMPY.get(item.dtype.name)
    if dtype is None:
        raise IllegalMapError(f"{item.place}: maps have no elements of {recipe.component}")
    address = item.start + first * bytes_of
    copy = _copy(recipe, item, first, sizes, strides) if copied and not recipe.stored else None
    if copy is not None:
        pitch = copy.target_pitch // bytes_of
        address, strides = 0, (1, *(pitch, pitch * copy.lines)[: len(sizes) - 1])
    try:
        made = TensorMap.tiled(
            dtype="tf32" if recipe.rounded else dtype,
            global_dim=sizes,
            # A stride that no two elements show may be any.
            global_strides=[
                stride * bytes_of if size > 1 else UNIT_BYTES
                for size, stride in zip(sizes[1:], strides[1:], strict=True)
            ],
            box_dim=recipe.box,
            element_strides=recipe.steps or None,
            swizzle=_SWIZZLES[recipe.swizzle],
            global_address=address,
            architecture=architecture,
        )
    except AddressingError as error:
        words = "; ".join(violation.message for violation in error.violations)
        raise IllegalMapError(f"{item.place}: {words}") from None
    return MadeMap(recipe.name, recipe.parameter, offset, first * bytes_of, made, copy)


def _copy(recipe: MapRecipe, claim: Claim, first: int, sizes: Sequence[int], strides: Sequence[int]) -> LineCopy | None:

    bytes_of = recipe.component.size
    places = [first, *(stride for size, stride in zip(sizes[1:], strides[1:], strict=True) if size > 1)]
    if not (claim.start % UNIT_BYTES or any(place * bytes_of % UNIT_BYTES for place in places)):
        return None
    if len(sizes) > 3:
        raise IllegalMapError(f"{claim.place}: an array of {len(sizes)} dimensions is not copied line by line")
    lines, count = (*sizes[1:], 1, 1)[:2]
    pitch = strides[1] if lines > 1 else sizes[0]
    between, rest = divmod(strides[2], pitch) if count > 1 else (lines, 0)
    if pitch < sizes[0] or between < lines or rest:
        raise IllegalMapError(f"{claim.place}: lines of {sizes[0]} elements overlap, or are not in images of lines")
    return LineCopy(first * bytes_of, sizes[0] * bytes_of, lines, count, pitch * bytes_of, between)


def _refuse_beyond(recipe: MapRecipe, claim: Claim, first: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
    """Raise `IllegalMapError` for a map that covers nothing, or memory that is not the array's."""
    if claim.array is None or min(sizes) < 1:
        raise IllegalMapError(f"{claim.place}: map {recipe.name} of no elements")
    last = first + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    count = claim.extent * claim.dtype.itemsize // recipe.component.size
    if first < 0 or min(strides) < 0 or last >= count:
        raise IllegalMapError(f"{claim.place}: map {recipe.name} covers elements {first} to {last} of {count}")
