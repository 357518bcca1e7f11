"""The checks of a kernel and the messages for their findings, which are a table beside the code."""

from __future__ import annotations

from typing import Any

from girih.lazy_dataclass import dataclass

MOST_VALUES = 28
"""How many numbers, of index and shape together, a finding keeps."""


MEMBER = "{member}"
"""What stands in texts for the number of a group's member that is known only at run time."""


@dataclass(frozen=True, slots=True)
class Site:
    """A check of the kernel, and the words for its finding.

    `span` has the start and end of the instruction in its source, which has the number `source` among those of the
    function (`girih.analysis.sources`). `place` puts index and shape into
    words, as in `Machine.find` of the interpreter. `by_lane` is false for an instruction that a subgroup executes as
    one. If lanes compute components of a matrix, `columns` of these are a row; otherwise `columns` is 0. If the site is
    `numbered`, the check reports one number more, behind index and shape, which stands for `MEMBER` in the texts.
    """

    code: str
    message: str
    span: tuple[int, int]
    argument: str | None = None
    index_count: int = 0
    shape_count: int = 0
    place: str = "index ({}) of shape ({})"
    by_lane: bool = True
    columns: int = 0
    source: int = 0
    numbered: bool = False

    def plain(self) -> list[Any]:
        """The fields as plain values, which files keep."""
        return [getattr(self, name) for name in Site.__slots__]

    @staticmethod
    def of_plain(held: Any) -> Site:
        """The check that `plain` gave. Raises `TypeError` and `ValueError` for other values."""
        code, message, (start, end), *others = held
        return Site(code, message, (start, end), *others)
