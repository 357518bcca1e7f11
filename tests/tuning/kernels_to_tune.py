"""A kernel in Python that other processes find by its module."""

from __future__ import annotations

import girih
import girih.language as gl


@girih.kernel(grid=lambda X, tile: gl.cdiv(X.shape[0], tile))
def halve(X: gl.Vector[gl.f32], tile: gl.constant = 8) -> None:
    for i in gl.foreach(tile):
        if gl.group_id(0) * tile + i < X.shape[0]:
            X[gl.group_id(0) * tile + i] *= 0.5
