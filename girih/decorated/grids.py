"""Kernels that ask for the number of their work-group have a grid: one of their own, or one of the launch."""

from __future__ import annotations

from collections.abc import Sequence

from girih.diagnostics import Diagnostic, LaunchError
from girih.front.python.signature import Declared
from girih.ir.core import Function

_OF_A_GRID = ("group_id", "num_groups")


def refuse_no_grid(function: Function, parameters: Sequence[Declared]) -> None:
    """Raise `LaunchError` for a kernel without a grid that asks for its place in one: it would do a part of its work.

    On one work-group that is meant it is launched as `kernel[1](...)`.
    """
    op = next((op for op in function.walk() if op.spec.mnemonic in _OF_A_GRID), None)
    if op is None:
        return
    word = f"gl.{op.spec.mnemonic}"
    array = next((p.name for p in parameters if p.kind == "array" and p.rank), None)
    own = f"lambda {array}: gl.cdiv({array}.shape[0], 256)" if array else "lambda n: gl.cdiv(n, 256)"
    message = f"{function.called} reads {word}, and nothing says how many work-groups there are"
    hint = f"launch it on a grid, {function.called}[64](...), or give it one: @girih.kernel(grid={own}); "
    hint += f"one work-group is {function.called}[1](...)"
    raise LaunchError([Diagnostic("bind.no_grid", message, op.span, hint=hint)])
