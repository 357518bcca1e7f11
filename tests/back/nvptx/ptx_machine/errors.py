"""What the machine refuses, and what it finds wrong in code that it executes."""

from __future__ import annotations


class PtxError(Exception):
    """Something is wrong with a module, or with a launch of it."""


class PtxSyntaxError(PtxError):
    """The text is not PTX as the machine knows it; the message has the line."""


class UnknownInstruction(PtxError):
    """An opcode, a modifier or a form of operands that the machine does not know; the message names it."""


class Fault(PtxError):
    """An access of memory, or another operation, that PTX leaves undefined or that a GPU ends the launch for.

    `position` is the place of the wrong address among those of the access; the machine makes a thread of it.
    """

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class Deadlock(PtxError):
    """No thread can go on: a GPU would hang."""


class BudgetSpent(PtxError):
    """More instructions were executed than a launch allows."""
