"""Who holds which components of a matrix, where some of those who hold it do something that others do not."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from girih.interpreter.machine.values import Array, Mask
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_layout import layout_among


def of_components(mask: Mask, type: CoopMatrix, subgroups: int, lanes: int) -> Mask:
    """The components that the work-items of a mask hold, with the axes [work_group, subgroup, row, column].

    Work-groups have so many `subgroups` of so many `lanes`. A matrix of a work-group has one along the second axis.
    """
    if type.of_work_group:
        whole = np.broadcast_to(mask, (mask.shape[0], subgroups, lanes))
        return _picked(whole.reshape(mask.shape[0], 1, -1), type)
    return mask[..., None] if mask.shape[2] == 1 else _picked(mask, type)


def _picked(mask: Mask, type: CoopMatrix) -> Mask:
    found: Mask = mask[:, :, _holders(type, mask.shape[2])]
    return found


@lru_cache(maxsize=64)
def _holders(type: CoopMatrix, count: int) -> Array:
    """The number of the work-item, of `count`, that holds each component."""
    rows, columns = np.arange(type.rows)[:, None], np.arange(type.columns)[None, :]
    return np.asarray(layout_among(type, count).holder(rows, columns))
