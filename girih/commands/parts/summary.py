"""The summary of a launch in a few lines: its arguments, and the new values of those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girih.ir.core import Function


def arrays_of(value: object) -> list[Any]:
    """The arrays behind an argument."""
    from girih.arguments.arrays import Group, Uninitialized

    match value:
        case Uninitialized(array):
            return arrays_of(array)
        case Group(arrays):
            return [array for item in arrays for array in arrays_of(item)]
        case None:
            return []
        case _ if hasattr(value, "tensor_map"):
            bound: Any = value
            return [bound.array]
        case _:
            return [value] if hasattr(value, "dtype") else []


class LaunchSummary:
    """A copy of the arrays that a kernel writes, made before the launch to tell afterwards what changed."""

    def __init__(self, function: Function, values: Sequence[object]) -> None:
        self.function = function
        self.values = values
        from girih.analysis.effects import written_parameters

        found = written_parameters(function)
        written = [p.value in found for p in function.parameters]
        self.before = [[array.copy() for array in arrays_of(value)] if is_written else []
                       for value, is_written in zip(values, written, strict=True)]  # fmt: skip

    def to_json(self, grid: Sequence[int], seconds: float) -> dict[str, object]:
        """The summary as plain values."""
        return {
            "kernel": self.function.name,
            "grid": list(grid),
            "seconds": seconds,
            "arguments": [self._argument(k) for k in range(len(self.values))],
        }

    def render(self, grid: Sequence[int], seconds: float) -> str:
        """The summary as text."""
        rows = [_row(self._argument(k)) for k in range(len(self.values))]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows]
        head = f"@{self.function.name} on grid {' x '.join(map(str, grid))} in {seconds:.3g} s"
        return "\n".join([head, *("  " + line.rstrip() for line in lines)])

    def _argument(self, number: int) -> dict[str, object]:
        parameter, value = self.function.parameters[number], self.values[number]
        shown: dict[str, object] = {"name": parameter.name, "type": str(parameter.type)}
        arrays = arrays_of(value)
        if not arrays:
            return shown | {"value": None if value is None else _plain(value)}
        shown["arrays"] = [{"dtype": str(a.dtype), "shape": list(a.shape)} for a in arrays]
        pairs = list(zip(self.before[number], arrays, strict=False))
        shown["changed"] = any(_differ(old, new) for old, new in pairs)
        return shown | (_values(arrays) if shown["changed"] else {})


def _row(argument: dict[str, Any]) -> tuple[str, str, str, str]:
    name, type = argument["name"], argument["type"]
    if "arrays" not in argument:
        return name, type, "null" if argument["value"] is None else str(argument["value"]), ""
    first = argument["arrays"][0]
    shape = "x".join(map(str, first["shape"])) or "0-d"
    many = f"{len(argument['arrays'])} arrays, first " if len(argument["arrays"]) > 1 else ""
    return name, type, f"{many}{first['dtype']} {shape}", _change(argument)


def _change(argument: dict[str, Any]) -> str:
    if not argument["changed"]:
        return "unchanged"
    if "new_value" in argument:
        return f"changed to {argument['new_value']}"
    if "minimum" in argument:
        nan = f", {argument['nan']} nan" if argument["nan"] else ""
        return f"changed: min {argument['minimum']}, max {argument['maximum']}{nan}"
    return "changed"


def _values(arrays: Sequence[Any]) -> dict[str, object]:
    """The only value of some arrays, or the range of all values; complex numbers have no range."""
    import numpy as np

    if len(arrays) == 1 and arrays[0].ndim == 0:
        return {"new_value": _plain(arrays[0][()])}
    parts = [a.astype(np.float64) if a.dtype.kind not in "iub" else a for a in arrays if a.size and a.dtype.kind != "c"]
    if not parts:
        return {}
    nan = sum(int(np.isnan(part).sum()) for part in parts if part.dtype.kind == "f")
    kept = [part[~np.isnan(part)] if part.dtype.kind == "f" else part for part in parts]
    kept = [part for part in kept if part.size]
    if not kept:
        return {"minimum": "nan", "maximum": "nan", "nan": nan}
    return {"minimum": _plain(min(p.min() for p in kept)), "maximum": _plain(max(p.max() for p in kept)), "nan": nan}


def _plain(value: Any) -> object:
    """A number as JSON takes it; complex, infinite and not-a-number values as text."""
    if isinstance(value, bool | int):
        return value
    import numpy as np

    if isinstance(value, np.integer):
        return int(value)
    number = complex(value)
    if number.imag or isinstance(value, complex | np.complexfloating):
        return str(number)
    return float(f"{number.real:.7g}") if np.isfinite(number.real) else str(number.real)


def _differ(old: Any, new: Any) -> bool:
    return bool(old.tobytes() != new.tobytes())
