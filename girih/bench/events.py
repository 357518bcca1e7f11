"""The events that the measuring process sends to the one that started it: lines of JSON objects with a key `event`.

    environment   `environment`: see `machine.environment`; `machine`: peaks in 10^9 operations and bytes a second
    begin         `group`, `name`: what is measured next
    row           `row`: see `rows.Row`
    problem       `group`, `name`, `message`: a wrong result, or something that does not compile or run
    refused       `status`, `message`: nothing is measured; the exit status and why
    end           everything was measured

A process that ends without the event `end` has died.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from girih.runtime.targets import CHECKS

Event = Mapping[str, Any]

CHECK_MODES = {**{word: (word,) for word in CHECKS}, "both": tuple(reversed(CHECKS))}
"""The modes of checks by the word for them; the first of several is the one that is compared with peers."""


@dataclass(frozen=True, slots=True)
class MeasuringRequest:
    """A request to measure: the standard set or some of its groups, a kernel of the library, or one of a file.

    `target` is `cpu` or a GPU. `checks` are the modes of checks, the first of which is compared with peers.
    `details` is for a kernel of a file.
    """

    kind: str
    groups: tuple[str, ...] = ()
    name: str = ""
    type: str = ""
    target: str = "cpu"
    checks: tuple[str, ...] = CHECK_MODES[CHECKS[0]]
    threads: int = 1
    quick: bool = False
    against: tuple[str, ...] = ()
    many: bool = False
    """Whether this process measures the cases of the standard set that are about several threads."""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_text(self) -> str:
        """The request as one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> MeasuringRequest:
        """The request that `to_text` wrote as a line."""
        held = json.loads(text)
        lists: Sequence[str] = ("groups", "checks", "against")
        return MeasuringRequest(**{**held, **{name: tuple(held[name]) for name in lists}})
