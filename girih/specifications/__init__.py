"""The names that specifications 000 to 004 use, each with a meaning, its section, and girih's spelling of it.

The tables are written by hand and name instructions and functions of girih only as text, so that nothing else is loaded
with them. docs/coverage.md and `girih explain` are made of them; a test holds that what they name exists.
"""

from __future__ import annotations

from girih.specifications.blocked_layouts import BLOCKED_LAYOUTS
from girih.specifications.cooperative_matrix2 import COOPERATIVE_MATRIX2
from girih.specifications.name import Specification, SpecificationName, plain
from girih.specifications.ptx_tensors import PTX_TENSORS
from girih.specifications.tensor_addressing import TENSOR_ADDRESSING
from girih.specifications.tensor_language import TENSOR_LANGUAGE

SPECIFICATIONS: tuple[Specification, ...] = (
    TENSOR_ADDRESSING,
    COOPERATIVE_MATRIX2,
    BLOCKED_LAYOUTS,
    TENSOR_LANGUAGE,
    PTX_TENSORS,
)
"""The five specifications in the order of their numbers."""


def named(name: str, *, loosely: bool = False) -> list[SpecificationName]:
    """The rows of a name, also under another spelling; it may stand in several specifications.

    With `loosely` a name may be in any case and without the dot that it begins with; or, where no name is meant so, the
    word of a mode: `gather4` for `.tile::gather4`, `tiled` for `Tiled mode`.
    """
    rows = [one for specification in SPECIFICATIONS for one in specification]
    if not loosely:
        return [one for one in rows if name in one.names]
    whole = [one for one in rows if any(plain(name) == plain(known) for known in one.names)]
    return whole or [one for one in rows if one.meant(name) is not None]
