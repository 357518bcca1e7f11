"""What a shader wrote beside what a driver wrote: where the two differ, by how much, and what may explain it.

Vulkan leaves open the bits of a NaN and, without SignedZeroInfNanPreserve, the sign of a zero; results of functions and
of division may be off by some ulps (Vulkan, "Precision and Operation of SPIR-V Instructions").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.diagnostics import plural
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

SHOWN = 5
"""The differences that are shown one by one."""

NAN, ZERO, ULPS, OTHER = "NaN bits", "signed zero", "ulps", "different"
"""What a difference is."""


@dataclass(frozen=True, slots=True)
class ElementDifference:
    """An element that differs: its index, both values, what the difference is, and how many ulps, if that is known."""

    index: tuple[int, ...]
    ours: str
    theirs: str
    kind: str
    ulps: int | None

    def to_json(self) -> dict[str, object]:
        """The difference as plain values."""
        return {"index": list(self.index), "ours": self.ours, "theirs": self.theirs, "kind": self.kind,
                "ulps": self.ulps}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BufferComparison:
    """A buffer compared with a file: how many elements differ and in which way, and the first of them.

    `most_ulps` is the largest distance of two numbers, `allowed` the one that is accepted. `problem` says why nothing
    was compared, None where all was.
    """

    name: str
    path: str
    dtype: str
    count: int
    kinds: dict[str, int]
    most_ulps: int
    allowed: int
    first: tuple[ElementDifference, ...]
    problem: str | None = None
    covered: str = ""
    """What covers a difference, or that nothing does; empty where nobody looked."""

    @property
    def agrees(self) -> bool:
        """Whether there is no difference but those that Vulkan leaves open, and those of as many ulps as allowed."""
        return self.problem is None and not self.kinds.get(OTHER) and self.most_ulps <= self.allowed

    @property
    def verdict(self) -> str:
        """What was found, in one line."""
        if self.problem is not None:
            return f"{self.name}: {self.problem}"
        if not self.kinds:
            return f"{self.name}: equal to {self.path}, {plural(self.count, 'element')}"
        differ = sum(self.kinds.values())
        parts = [f"{number} {kind}" for kind, number in self.kinds.items() if kind in (NAN, ZERO)]
        if self.kinds.get(ULPS):
            within = "within" if self.most_ulps <= self.allowed else "beyond"
            most = plural(self.most_ulps, "ulp")
            parts.append(f"{self.kinds[ULPS]} by up to {most}, {within} the {self.allowed} allowed")
        if self.kinds.get(OTHER):
            parts.append(f"{self.kinds[OTHER]} that nothing explains")
        word = "agrees with" if self.agrees else "differs from"
        of = f"{differ} of {plural(self.count, 'element')} differ"
        return f"{self.name}: {word} {self.path}: {of}: {', '.join(parts)}"

    def lines(self) -> list[str]:
        """The verdict, and the first differences."""
        shown = [
            f"  [{', '.join(map(str, one.index))}] ours {one.ours}, theirs {one.theirs}: {one.kind}"
            + (f", {one.ulps}" if one.kind == ULPS else "")
            for one in self.first
        ]
        more = sum(self.kinds.values()) - len(self.first)
        covered = [f"  {self.covered}"] if self.covered else []
        return [self.verdict, *shown, *([f"  ... and {more} more"] if more > 0 else []), *covered]

    def to_json(self) -> dict[str, object]:
        """The comparison as plain values."""
        return {
            "buffer": self.name,
            "file": self.path,
            "agrees": self.agrees,
            "elements": self.count,
            "dtype": self.dtype,
            "differences": self.kinds,
            "most_ulps": self.most_ulps,
            "allowed_ulps": self.allowed,
            "first": [one.to_json() for one in self.first],
            "problem": self.problem,
            "covered": self.covered or None,
        }


def compared(name: str, ours: Array, path: str, theirs: Array, allowed: int) -> BufferComparison:
    """A buffer compared with what a driver wrote, whose dtype says how the bytes are read."""
    import numpy as np

    if ours.nbytes != theirs.nbytes:
        problem = f"it has {ours.nbytes} bytes, and {path} has {theirs.nbytes}"
        return BufferComparison(name, path, str(theirs.dtype), 0, {}, 0, allowed, (), problem)
    if theirs.dtype.kind == "V" and theirs.dtype.itemsize == ours.dtype.itemsize:
        theirs = theirs.view(ours.dtype)
    mine: Array = np.frombuffer(ours.tobytes(), np.uint8).view(theirs.dtype).reshape(theirs.shape)
    bits = np.dtype(f"u{theirs.dtype.itemsize}") if theirs.dtype.itemsize in (1, 2, 4, 8) else None
    if bits is None:
        mine, theirs = mine.reshape(-1).view(np.uint8), theirs.reshape(-1).view(np.uint8)
        bits = np.dtype(np.uint8)
    if not mine.ndim:
        mine, theirs = mine.reshape(1), theirs.reshape(1)
    unequal = mine.view(bits) != theirs.view(bits)
    places = np.argwhere(unequal)
    kinds, distances = _kinds(mine[unequal], theirs[unequal], bits)
    counts = {kind: int(np.count_nonzero(kinds == number)) for number, kind in enumerate(_ORDER)}
    first = tuple(
        ElementDifference(
            tuple(map(int, place)),
            _shown(mine[tuple(place)]),
            _shown(theirs[tuple(place)]),
            _ORDER[kinds[number]],
            int(distances[number]) if _ORDER[kinds[number]] == ULPS else None,
        )
        for number, place in enumerate(places[:SHOWN])
    )
    most = int(distances[kinds == _ORDER.index(ULPS)].max(initial=0))
    found = {kind: count for kind, count in counts.items() if count}
    return BufferComparison(name, path, str(theirs.dtype), int(theirs.size), found, most, allowed, first)


_ORDER = (NAN, ZERO, ULPS, OTHER)


def _kinds(mine: Array, theirs: Array, bits: Any) -> tuple[Array, Array]:
    """For elements that differ, what the difference is, as a number into `_ORDER`, and how many ulps."""
    import numpy as np

    kinds = np.full(mine.shape, _ORDER.index(OTHER))
    distances = np.zeros(mine.shape, np.uint64)
    if mine.dtype.kind in "iub":
        return kinds, distances
    ours, others = mine.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(ours) & np.isfinite(others)
    kinds[finite] = _ORDER.index(ULPS)
    kinds[(ours == 0) & (others == 0)] = _ORDER.index(ZERO)
    kinds[np.isnan(ours) & np.isnan(others)] = _ORDER.index(NAN)
    # Numbers of one sign are as far apart as their bits, and those of two signs as both from zero.
    magnitude = np.uint64((1 << (8 * bits.itemsize - 1)) - 1)
    a, b = mine.view(bits).astype(np.uint64), theirs.view(bits).astype(np.uint64)
    same = (a > magnitude) == (b > magnitude)
    a, b = a & magnitude, b & magnitude
    distances = np.where(same, np.maximum(a, b) - np.minimum(a, b), a + b)
    return kinds, distances


def _shown(value: Any) -> str:
    """An element in words, with its bits where it is a number that is not one."""
    text = str(value)
    return f"{text} (0x{value.tobytes()[::-1].hex()})" if text == "nan" else text
