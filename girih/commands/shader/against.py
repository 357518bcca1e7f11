"""`girih run --against TARGET`: the same launch on two targets, compared element by element, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from girih.commands.parts.arrays import ArrayInputError
from girih.commands.parts.run_request import RunRequest, refuse_run
from girih.commands.shader.expect import BufferComparison, compared
from girih.diagnostics import CompileError, Finding, KernelError, LaunchError, plural
from girih.lazy_dataclass import dataclass
from girih.runtime.targets import CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

NOTHING_COVERS = "covered by nothing"
"""How the verdict of `girih.explore` begins where no latitude explains a difference."""


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """What two targets gave for the same launch: the names of both, and each array of the first beside the second's.

    `what` is the kernel or shader in words, such as "shader @main".
    """

    what: str
    first: str
    second: str
    arrays: tuple[BufferComparison, ...]
    is_shader: bool = False

    @property
    def agrees(self) -> bool:
        """Whether no array differs by more than is allowed."""
        return all(one.agrees for one in self.arrays)

    @property
    def verdict(self) -> str:
        """What follows, in one sentence."""
        both = f"{self.first} and {self.second}"
        if self.agrees:
            most = max((one.most_ulps for one in self.arrays), default=0)
            within = f", but for {plural(most, 'ulp')}" if most else ""
            return f"{self.what} gives the same on {both} for these arguments{within}"
        differing = [one for one in self.arrays if not one.agrees]
        names = ", ".join(one.name for one in differing)
        differ = f"{self.what} gives other numbers on {self.second} than on {self.first} ({names})"
        if self.first != CHECKING:
            return f"{differ}; with --target {CHECKING} the {self._noun} is checked too, which tells whose fault it is"
        explained = [one.covered for one in differing]
        if not self.is_shader:
            return f"{differ}: {CHECKING} finds nothing wrong in the kernel, so that the fault is the device's or " \
                   "girih's, unless the language leaves it open: the last bits of functions (--ulps), and orders " \
                   "(--choices)"  # fmt: skip
        if not all(explained):
            return f"{differ}; --seeds looks for what Vulkan leaves open that explains it"
        if any(one.startswith(NOTHING_COVERS) for one in explained):
            return f"{differ}: the driver is wrong, or the shader races in a way that these arguments do not show; " \
                   "nothing that Vulkan leaves open gives these numbers"  # fmt: skip
        return f"{differ}: Vulkan leaves both open, so that neither the shader nor the driver is wrong"

    @property
    def _noun(self) -> str:
        return "shader" if self.is_shader else "kernel"

    def lines(self) -> list[str]:
        """The arrays that differ, with the first differences, and the verdict."""
        same = sum(not one.kinds and one.problem is None for one in self.arrays)
        shown = [line for one in self.arrays if one.kinds or one.problem for line in one.lines()]
        equal = [f"equal on {self.first} and {self.second}: {plural(same, 'array')}"] if same else []
        return [*equal, *shown, self.verdict]

    def to_json(self) -> dict[str, object]:
        """The comparison as plain values."""
        return {
            "target": self.second,
            "agrees": self.agrees,
            "verdict": self.verdict,
            "arrays": [one.to_json() for one in self.arrays],
        }


class FoundByOtherTarget(Exception):
    """Findings of the target that is only compared with."""

    def __init__(self, findings: Sequence[Finding], verdict: str) -> None:
        super().__init__(verdict)
        self.findings, self.verdict = tuple(findings), verdict


@contextmanager
def found_by_other(what: str, request: RunRequest) -> Iterator[None]:
    """Turn findings of the other target into `FoundByOtherTarget`."""
    try:
        yield
    except KernelError as error:
        assert request.against is not None
        verdict = finding_verdict(what, request.against, request.target)
        raise FoundByOtherTarget(error.findings, verdict) from None


def finding_verdict(what: str, target: str, other: str) -> str:
    """The sentence for a finding of one of the two targets."""
    return f"{what} is wrong, whatever {other} makes of it: {target} finds it"


def compared_arrays(
    pairs: Iterable[tuple[str, Sequence[Array], Sequence[Array]]], target: str, ulps: int
) -> tuple[BufferComparison, ...]:
    """Each array of an argument, by the argument's name, beside that of the other target."""
    found = []
    for name, mine, theirs in pairs:
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            shown = f"{name}[{number}]" if len(mine) > 1 else name
            found.append(compared(shown, _real(one), target, _real(other), ulps))
    return tuple(found)


def _real(array: Array) -> Array:
    """The array, of complex numbers their parts side by side."""
    import numpy as np

    if array.dtype.kind != "c":
        return array
    return np.ascontiguousarray(array).view(f"f{array.dtype.itemsize // 2}")


def exit_status(run: Callable[[RunRequest], int], request: RunRequest, what: str) -> int:
    """What a run returns; 1 if something is wrong with the program or an argument, or was found, which is printed.

    `what` is what runs, in words, such as "the kernel".
    """
    try:
        return run(request)
    except (CompileError, LaunchError) as error:
        return refuse_run(request, error.diagnostics, [])
    except FoundByOtherTarget as other:
        return refuse_run(request, [], other.findings, verdict=other.verdict)
    except KernelError as error:
        verdict = finding_verdict(what, request.target, request.against) if request.against else None
        return refuse_run(request, [], error.findings, verdict=verdict)
    except ArrayInputError as error:
        return refuse_run(request, [], [], str(error))
