"""What tuning found: every trial with its time, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from girih.api import Kernel
from girih.decorated.python_kernel import PythonKernel
from girih.diagnostics import GirihError
from girih.lazy_dataclass import dataclass
from girih.markup import table

Outcome = Literal["timed", "refused", "wrong", "failed", "untried"]


def shown(definitions: Mapping[str, object]) -> str:
    """Definitions in words: `tile=64, stages=3`."""
    return ", ".join(f"{name}={value}" for name, value in definitions.items()) or "no definitions"


@dataclass(frozen=True, slots=True)
class Trial:
    """Definitions that were tried: with `seconds` of a launch where the result was right, else with the reason.

    `outcome` is "refused" for what the language, the target or the launch refuses, "wrong" for a result that is not the
    interpreter's, "failed" for what was found while it ran, and "untried" where the budget was spent before.
    """

    definitions: Mapping[str, object]
    outcome: Outcome
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Tuning:
    """What `girih.tune` found. `kernel` is the kernel with the definitions `best`; `trials` come fastest first."""

    kernel: Kernel | PythonKernel
    best: Mapping[str, object]
    trials: tuple[Trial, ...]

    @property
    def seconds(self) -> float:
        """The seconds of a launch of the best one."""
        return self.trials[0].seconds or 0.0

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (shown(one.definitions), one.outcome, f"{one.seconds * 1e3:.4g} ms" if one.seconds else _first(one.reason))
            for one in self.trials
        ]

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)

    def __repr__(self) -> str:
        return f"<girih tuning of {self.kernel.name}: {shown(self.best)}, {self.seconds * 1e3:.4g} ms>"

    def _repr_html_(self) -> str:
        return table(("definitions", "outcome", "time or reason"), self._rows())


class TuningError(GirihError):
    """No definitions gave a right result; `.trials` has the reason of each."""

    def __init__(self, kernel: str, trials: tuple[Trial, ...]) -> None:
        reasons = "\n\n".join(f"{shown(one.definitions)}: {one.outcome}\n{one.reason}".rstrip() for one in trials[:5])
        more = f"\n\n... and {len(trials) - 5} more" if len(trials) > 5 else ""
        super().__init__(f"none of the {len(trials)} trials of {kernel} gave a right result\n\n{reasons}{more}")
        self.kernel, self.trials = kernel, trials

    def __reduce__(self) -> tuple[object, ...]:
        return TuningError, (self.kernel, self.trials)


def _first(reason: str) -> str:
    return reason.partition("\n")[0]
