"""Which values of definitions make a kernel fast: `girih.tune`."""

from __future__ import annotations

from girih.tuning.result import Trial, Tuning, TuningError
from girih.tuning.search import tune

__all__ = ["Trial", "Tuning", "TuningError", "tune"]
