"""Barriers in shared memory as the hardware has them (PTX ISA, "mbarrier" and "Barrier")."""

from __future__ import annotations

from girih.tile.simulate.faults import ScheduleFault


class PhaseBarrier:
    """An mbarrier: a phase is complete when `count` have arrived and all bytes came that were expected.

    `completed` is the number of phases that are complete. Hardware keeps its last bit only.
    """

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count
        self.pending, self.missing, self.completed = count, 0, 0

    def arrive(self, expected_bytes: int = 0) -> None:
        """Expect bytes, and arrive."""
        self.missing += expected_bytes
        self.pending -= 1
        if self.pending < 0:
            raise ScheduleFault("phase", f"{self.name}: more than {self.count} arrived in one phase")
        self._settle()

    def came(self, bytes: int) -> None:
        """Count bytes that a copy has written."""
        self.missing -= bytes
        self._settle()

    def _settle(self) -> None:
        if self.pending == 0 and self.missing == 0:
            self.completed += 1
            self.pending = self.count

    def passed(self, phase: int) -> bool:
        """Whether a wait for a phase, counted from 0, ends: by its parity, which is all that hardware compares.

        Raises `ScheduleFault` where the parity is that of another phase. A wait for phase -1 ends at once.
        """
        over = self.completed % 2 != phase % 2
        if over != (self.completed > phase) or self.completed > phase + 1:
            raise ScheduleFault(
                "phase", f"{self.name}: {self.completed} phases are over when the end of phase {phase} is waited for"
            )
        return over

    def state(self) -> str:
        """What is missing from the phase that runs, in words."""
        missing = [f"{self.pending} of {self.count} arrivals"] if self.pending else []
        missing += [f"{self.missing} bytes"] if self.missing else []
        return f"{self.name} lacks {' and '.join(missing)} in its phase {self.completed}"


class Turns:
    """The turns of consumers: a barrier for each, at which it arrives itself and whoever passes it the turn."""

    def __init__(self, consumers: int) -> None:
        self.passed = [consumer == 0 for consumer in range(consumers)]
        self.taken = [False] * consumers

    def ask(self, consumer: int) -> None:
        """Let a consumer begin to wait for its turn."""
        if self.taken[consumer]:
            raise ScheduleFault("turn", f"consumer {consumer} takes a turn while it has one")

    def take(self, consumer: int) -> None:
        """Let a consumer begin its turn, which was passed to it."""
        self.passed[consumer], self.taken[consumer] = False, True

    def hand_on(self, consumer: int) -> None:
        """Let the next consumer have its turn."""
        if not self.taken[consumer]:
            raise ScheduleFault("turn", f"consumer {consumer} passes a turn that it has not")
        following = (consumer + 1) % len(self.passed)
        self.taken[consumer], self.passed[following] = False, True
