"""What becomes of a case, and how many cases of a part became what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

RIGHT, LEFT_OUT, REFUSED = "right", "left out", "refused"
DIFFERS, FAILED, HUNG, ENDED = "differs", "failed", "hung", "ended"

FINE = (RIGHT, LEFT_OUT, REFUSED)
"""What is no defect. A case is left out where there is no outcome to compare, and refused where the target says no."""

BAD = (DIFFERS, FAILED, HUNG, ENDED)
"""Other results than those that are due; an exception; no end in time; the end of the process that ran it."""

MOST_WORDS = 4000
"""The letters that are kept of a reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case, and why."""

    case: str
    became: str
    why: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether it shows no defect."""
        return self.became in FINE

    def to_json(self) -> dict[str, str]:
        """As it stands in a file of results."""
        return {"case": self.case, "became": self.became, "why": self.why[-MOST_WORDS:]}

    @staticmethod
    def from_json(words: dict[str, str]) -> Outcome:
        """What `to_json` gave."""
        return Outcome(words["case"], words["became"], words["why"])


def counted(outcomes: Iterable[Outcome], seconds: float) -> dict[str, Any]:
    """The counts of a part, its time, and all that is not right; refusals by their words."""
    every = list(outcomes)
    counts = Counter(one.became for one in every)
    refusals = Counter(one.why for one in every if one.became == REFUSED)
    return {
        "cases": len(every),
        **{name: counts[name] for name in (*FINE, *BAD) if counts[name]},
        "seconds": round(seconds, 1),
        "refusals": dict(sorted(refusals.items())),
        "rows": [one.to_json() for one in every if not one.is_fine],
    }


def shown(name: str, part: dict[str, Any]) -> str:
    """A line on a part."""
    counts = ", ".join(f"{part[became]} {became}" for became in (*FINE, *BAD) if became in part)
    return f"{name}: {part['cases']} cases in {part['seconds']:.0f} s: {counts or 'none'}"
