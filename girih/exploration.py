"""Whether the result of a launch is determined, and what that is open explains what a driver wrote.

    launch = program["main"][4].bind({(0, 0): a, (0, 1): b})
    print(girih.explore(launch, {(0, 1): from_driver}))

The interpreter runs the launch in every way of every latitude, and with some seeds (`girih.Choices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.api import Kernel, Launch
from girih.diagnostics import KernelError, plural
from girih.interpreter.executor import InterpreterExecutor
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.latitudes import LATITUDES, OPEN, ORDER, SUBGROUP_SIZE
from girih.lazy_dataclass import dataclass
from girih.markup import line, table
from girih.runtime.spirv.buffer import Buffer
from girih.runtime.targets import resolve

Array = NDArray[Any]
Key = tuple[int, int] | str

_WORDS = {
    ORDER: "the order of work-groups, atomic updates and sums",
    SUBGROUP_SIZE: "the subgroup size",
    **{name: row.words for name, row in LATITUDES.items()},
}


@dataclass(frozen=True, slots=True)
class BufferExploration:
    """What is known of one array: which latitudes change it, and which explain what was expected of it.

    `changed` has latitudes that give other bytes. Of `count` elements `differing` are not as expected. `reproduced` is
    the choice of one latitude with which all are, such as `rounding="toward_zero"`; `covered_by` are latitudes with
    which each lies between results, or is one. Both are empty where nothing was expected or nothing differs, and where
    nothing explains the difference, of which `uncovered` elements are left then.
    """

    key: Key
    changed: tuple[str, ...]
    count: int = 0
    differing: int = 0
    reproduced: str = ""
    covered_by: tuple[str, ...] = ()
    uncovered: int = 0

    @property
    def verdict(self) -> str:
        """What was found, in one line."""
        if not self.differing:
            return "determined" if not self.changed else f"depends on {', '.join(self.changed)}"
        latitudes = " and ".join(f"{name} ({_WORDS[name]})" for name in self.covered_by)
        if self.reproduced:
            return f"covered by {latitudes}: {self.reproduced} gives the same"
        if self.covered_by:
            return f"covered by {latitudes}: what differs lies between what is allowed"
        left = f"{self.uncovered} of the {plural(self.differing, 'differing element')}"
        return f"covered by nothing: {left}: a bug of the driver, or a race"

    def to_json(self) -> dict[str, object]:
        """The exploration as plain values."""
        return {"changed": list(self.changed), "differing": self.differing, "reproduced": self.reproduced or None,
                "covered_by": list(self.covered_by), "uncovered": self.uncovered}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exploration:
    """What is known of the arrays of a launch; `failed` are choices with which something was found (`KernelError`)."""

    buffers: Mapping[Key, BufferExploration]
    failed: tuple[Choices, ...]

    @property
    def determined(self) -> bool:
        """Whether no choice that was tried gives other results, or finds anything."""
        return not self.failed and not any(one.changed for one in self.buffers.values())

    def _repr_html_(self) -> str:
        shown = table(("array", "verdict"), [(_shown(one.key), one.verdict) for one in self.buffers.values()])
        return shown + "".join(line(f"something is found with {choices!r}") for choices in self.failed[:1])

    def __str__(self) -> str:
        lines = [f"{_shown(one.key)}: {one.verdict}" for one in self.buffers.values()]
        return "\n".join([*lines, *(f"something is found with {choices!r}" for choices in self.failed[:1])])


def explore(launch: Launch, expected: Mapping[Any, Array] | None = None, seeds: int = 4) -> Exploration:
    """What is open about the results of a launch, which its arrays then have as before.

    `expected` are arrays that a driver wrote, by the binding or the name of the argument; without it all arrays are
    looked at. `seeds` is how many seeds each latitude gets beside its ways. Raises `KeyError` for what is no array of
    the launch, `ValueError` for an expected array of another size, and what the launch raises without choices.
    """
    return _Explorer(launch, expected, seeds).explored()


@dataclass(slots=True)
class _Outcomes:
    """What one latitude gave, by array: the results of its ways with how they are written, and of its seeds."""

    ways: list[tuple[str, Mapping[Key, Array]]] = field(default_factory=list)
    seeds: list[Mapping[Key, Array]] = field(default_factory=list)

    def of(self, key: Key) -> list[Array]:
        return [results[key] for results in (*(results for _, results in self.ways), *self.seeds)]


class _Explorer:
    """The runs of one launch."""

    def __init__(self, launch: Launch, expected: Mapping[Any, Array] | None, seeds: int) -> None:
        self.launch = launch
        self.kernel = _interpreted(launch.kernel)
        self.seeds = seeds
        arrays = dict(_arrays(launch))
        unknown = [key for key in expected or {} if key not in arrays]
        if unknown:
            raise KeyError(
                f"{_shown(unknown[0])} is no array of the launch; there are {', '.join(map(_shown, arrays))}"
            )
        self.expected = {key: np.asarray(value) for key, value in (expected or {}).items()}
        for key, value in self.expected.items():
            if value.nbytes != arrays[key].nbytes:
                sizes = f"expected: {arrays[key].nbytes} bytes; found: {value.nbytes}"
                raise ValueError(f"what a driver wrote to {_shown(key)} has another size; {sizes}")
        self.arrays = {key: arrays[key] for key in self.expected} or arrays
        self.failed: list[Choices] = []
        self._kept = [(array, array.copy()) for array in _all_arrays(launch) if array.flags.writeable]

    def explored(self) -> Exploration:
        usual = self._run(None)
        found: dict[str, _Outcomes] = {}
        for latitude in OPEN:
            found[latitude] = _Outcomes(list(self._ways(latitude)), list(self._seeded([latitude])))
        together = list(self._seeded(OPEN))
        buffers = {key: self._of(key, usual[key], found, together) for key in self.arrays}
        return Exploration(buffers, tuple(self.failed))

    def _of(
        self, key: Key, usual: Array, found: Mapping[str, _Outcomes], together: Sequence[Mapping[Key, Array]]
    ) -> BufferExploration:
        changed = tuple(
            name for name, outcomes in found.items() if any(_apart(usual, one).any() for one in outcomes.of(key))
        )
        wanted = self.expected.get(key)
        if wanted is None:
            return BufferExploration(key, changed)
        usual, wanted = _seen(usual, wanted), wanted.reshape(-1)
        differs = _apart(usual, wanted)
        made = BufferExploration(key, changed, wanted.size, int(np.count_nonzero(differs)))
        if not made.differing:
            return made
        for name in changed:
            for way, results in found[name].ways:
                if not _apart(_seen(results[key], wanted), wanted).any():
                    return replace(made, reproduced=way, covered_by=(name,))
        left = {name: differs & ~_covered(usual, found[name].of(key), wanted) for name in changed}
        whole = next((name for name in changed if not left[name].any()), None)
        if whole is not None:
            return replace(made, covered_by=(whole,))
        rest, needed = differs, list[str]()
        for name in sorted(left, key=lambda name: int(np.count_nonzero(left[name]))):
            if (rest & ~left[name]).any():
                rest = rest & left[name]
                needed.append(name)
        if rest.any():
            everything = [*(one for name in changed for one in found[name].of(key)), *(one[key] for one in together)]
            rest = rest & ~_covered(usual, everything, wanted)
            needed = list(changed)
        if rest.any():
            return replace(made, uncovered=int(np.count_nonzero(rest)))
        return replace(made, covered_by=tuple(name for name in OPEN if name in needed))

    # --- runs --------------------------------------------------------------------------------

    def _ways(self, latitude: str) -> Iterator[tuple[str, Mapping[Key, Array]]]:
        """What the ways of a latitude give, each with how it is written."""
        if latitude not in LATITUDES:
            return
        for way in LATITUDES[latitude].ways[1:]:
            named: dict[str, Any] = {latitude: way}
            results = self._tried(Choices(**named))
            if results is not None:
                yield f'{latitude}="{way}"', results

    def _seeded(self, latitudes: Iterable[str]) -> Iterator[Mapping[Key, Array]]:
        names = list(latitudes)
        for seed in range(self.seeds):
            results = self._tried(Choices(seed, vary=names))
            if results is not None:
                yield results

    def _tried(self, choices: Choices) -> Mapping[Key, Array] | None:
        """The arrays after a run; None where something is found."""
        try:
            return self._run(choices)
        except KernelError:
            self.failed.append(choices)
            return None

    def _run(self, choices: Choices | None) -> Mapping[Key, Array]:
        try:
            Launch(self.kernel.options(choices=choices), self.launch._values).run()
            return {key: array.copy() for key, array in self.arrays.items()}
        finally:
            for array, before in self._kept:
                array[...] = before


def _interpreted(kernel: Kernel) -> Kernel:
    """The kernel on the interpreter, on the same grid."""
    if kernel.target == "interpreter":
        return kernel
    target = resolve("interpreter")
    executor = InterpreterExecutor(kernel.ir, target.row.limits)
    return replace(kernel, executor=executor, resolved=target, _options={})


def _arrays(launch: Launch) -> Iterator[tuple[Key, Array]]:
    """The arrays of a launch by name, or by the key of their binding."""
    for name, value in launch.arguments.items():
        if isinstance(value, Mapping):
            for key, inner in value.items():
                array = inner.array if isinstance(inner, Buffer) else inner
                if isinstance(array, np.ndarray):
                    yield key, array
        elif isinstance(value, np.ndarray):
            yield name, value


def _all_arrays(value: object) -> Iterator[Array]:
    """All arrays that are anywhere in the arguments of a launch."""
    if isinstance(value, Launch):
        yield from _all_arrays(value.arguments)
    elif isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Buffer):
        yield value.array
    elif isinstance(value, Mapping):
        yield from _all_arrays(list(value.values()))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _all_arrays(inner)


def _shown(key: Key) -> str:
    return key if isinstance(key, str) else f"{key[0]}:{key[1]}"


# --- comparisons -------------------------------------------------------------------------------


def _seen(array: Array, wanted: Array) -> Array:
    """The bytes of an array as elements of what a driver wrote."""
    seen: Array = np.frombuffer(array.tobytes(), wanted.dtype).reshape(-1)
    return seen


def _is_floating(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name.startswith(("float8", "bfloat16"))


def _apart(a: Array, b: Array) -> NDArray[np.bool_]:
    """Where elements differ; floats by value, so that NaN is like NaN and zeros of both signs are equal."""
    if not _is_floating(a):
        return np.asarray(a != b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    apart: NDArray[np.bool_] = (x != y) & ~(np.isnan(x) & np.isnan(y))
    return apart


def _covered(usual: Array, others: Sequence[Array], wanted: Array) -> NDArray[np.bool_]:
    """Where what a driver wrote is one of some results, or, of floats, lies between them.

    Where there are not more than two results, as of one number that is rounded once, nothing between them is allowed.
    """
    results = [usual, *(_seen(one, wanted) for one in others)]
    covered = np.zeros(wanted.shape, np.bool_)
    for one in results:
        covered |= ~_apart(one, wanted)
    if _is_floating(wanted):
        wide = np.sort(np.stack([one.astype(np.float64) for one in results]), axis=0)
        several = np.count_nonzero(np.diff(wide, axis=0) > 0, axis=0) > 1
        value = wanted.astype(np.float64)
        covered |= several & (np.fmin.reduce(wide) <= value) & (value <= np.fmax.reduce(wide))
    return covered
