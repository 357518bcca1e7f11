"""The words of findings about control flow and private arrays of device functions."""

from __future__ import annotations

from girih.facts.findings import FindingWords


def reached(text: str) -> FindingWords:
    """The words for a place that a program says is never reached; `text` is its own description of the place."""
    return FindingWords("run.undefined_operation", f"a place is reached that never is, as the program says: {text}")


def outside_private_array(name: str) -> FindingWords:
    """The words for an index outside of a private array."""
    called = f"the private array %{name}" if name else "a private array"
    return FindingWords("run.out_of_bounds", f"an access outside {called}")
