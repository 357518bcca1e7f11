"""The plain golden shaders, run through the public interface: what they write, what is found, what is rejected.

    .venv/bin/python -m tests.spirv.golden_plain [cpu|interpreter] [ID...]

prints each row with what came of it, and how long it took.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

import girih
from girih.api import ShaderKernel
from girih.spirv.module import Module
from girih.spirv.specialise import constants_of
from girih.spirv.types import Bool, Float, Int
from tests.spirv.golden import DATA

Array = NDArray[Any]
Row = Mapping[str, Any]

FOLDER = DATA / "spirv_plain"


@cache
def rows() -> dict[str, Row]:
    """The rows by id."""
    return {row["id"]: row for row in json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))}


@cache
def _arrays() -> Mapping[str, Array]:
    with np.load(FOLDER / "arrays.npz") as file:
        return dict(file)


def module(name: str) -> bytes:
    """The bytes of a module."""
    with ZipFile(FOLDER / "modules.zip") as file:
        return file.read(name)


@dataclass(frozen=True)
class Run:
    """A launch of a row: its buffers by binding, afterwards."""

    row: Row
    buffers: Mapping[int, Array]

    def written(self, binding: int) -> Array:
        """What was written, with the addresses in it set to 0, whose values nobody knows."""
        found = self.buffers[binding].copy()
        for place, offset, _, _ in self.row["addresses"]:
            if place == binding:
                found.view(np.uint8)[offset : offset + 8] = 0
        return found

    def expected(self, binding: int) -> Array:
        """What NumPy expects, or else what the H200 wrote."""
        known = _arrays()
        key = f"{self.row['id']}.e{binding}"
        return known[key if key in known else f"{self.row['id']}.r{binding}"]

    def problems(self) -> list[str]:
        """What the buffers have that they should not."""
        return [
            f"binding {binding}: {problem}"
            for binding, how in self.row["compare"].items()
            if (problem := compared(self.written(int(binding)), self.expected(int(binding)), how)) is not None
        ]


def run(row: Row, target: str, **options: Any) -> Run:
    """Launch a row on its inputs. Raises what the launch raises."""
    data = module(row["spv"])
    program = girih.loads(data, target, definitions(Module.from_bytes(data), row["spec"]), row["spv"])
    arrays = {one["binding"]: _initial(row, one) for one in row["bindings"]}
    buffers = {binding: girih.Buffer(array) for binding, array in arrays.items()}
    push = bytearray.fromhex(row["push"])
    for place, offset, of, extra in row["addresses"]:
        address = (buffers[of].address + extra).to_bytes(8, "little")
        if place == "push":
            push[offset : offset + 8] = address
        else:
            arrays[place].view(np.uint8)[offset : offset + 8] = np.frombuffer(address, np.uint8)
    kernel = program[row["entry"]][tuple(row["workgroups"])]
    used = kernel.options(**options) if options else kernel
    assert isinstance(kernel, ShaderKernel)
    bound = {(0, number): one for number, one in buffers.items() if (0, number) in kernel.shader.interface.declared}
    others = [one for number, one in buffers.items() if (0, number) not in bound]
    used(bound, push_constants=bytes(push) or None, buffers=others)
    return Run(row, arrays)


def _initial(row: Row, binding: Mapping[str, Any]) -> Array:
    key = f"{row['id']}.b{binding['binding']}"
    known = _arrays().get(key)
    if known is None:
        return np.zeros(binding["bytes"], np.uint8).view(binding["dtype"])
    return np.ascontiguousarray(known).copy()


def definitions(module: Module, given: list[tuple[int, int]]) -> dict[int, object]:
    """Values of specialisation constants, of which the rows have the 32 bits."""
    types = {one.spec_id: one.type for one in constants_of(module)}
    return {spec_id: _value(types[spec_id], bits) for spec_id, bits in given}


def _value(type: object, bits: int) -> object:
    match type:
        case Bool():
            return bool(bits)
        case Float(width=32):
            return struct.unpack("<f", bits.to_bytes(4, "little"))[0]
        case Int(width=width, signed=True) if bits >> (width - 1):
            return bits - (1 << width)
    return bits


def compared(found: Array, expected: Array, how: Any) -> str | None:
    """Why a result is not one of those that a row allows; None where it is."""
    if isinstance(how, Mapping):
        near = np.isclose(found, expected, rtol=how["rtol"], atol=how["atol"], equal_nan=True)
        return None if near.all() else _first(found, expected, ~near)
    problem: str | None = _COMPARISONS[how](found, expected)
    return problem


def _first(found: Array, expected: Array, wrong: Array) -> str:
    place = tuple(int(k) for k in np.argwhere(wrong)[0])
    count = int(np.count_nonzero(wrong))
    return f"{count} of {found.size} differ, first at {place}: {found[place]}, expected {expected[place]}"


def _bytes(found: Array, expected: Array) -> str | None:
    found, expected = (np.frombuffer(one.tobytes(), np.uint8) for one in (found, expected))
    return None if np.array_equal(found, expected) else _first(found, expected, found != expected)


def _numbers(found: Array, expected: Array) -> str | None:
    bits = np.dtype(f"u{found.itemsize}")
    wrong = (found != expected) & ((found.view(bits) != expected.view(bits)) | ~np.isnan(expected))
    return _first(found, expected, wrong) if wrong.any() else None


def _fields(found: Array, expected: Array) -> str | None:
    found, expected = (np.frombuffer(one.tobytes(), np.uint8).astype(int) for one in (found, expected))
    apart = np.abs(found - expected)
    wrong = np.minimum(apart, 256 - apart) > 1
    return _first(found, expected, wrong) if wrong.any() else None


def _sorted_tail(found: Array, expected: Array) -> str | None:
    count = int(expected[0])
    sorted_words = [
        np.concatenate([one[:1], np.sort(one[1 : 1 + count]), one[1 + count :]]) for one in (found, expected)
    ]
    return _bytes(*sorted_words)


def _exchange(found: Array, expected: Array) -> str | None:
    right = found[0] == found[1] and 1 <= found[0] <= 64 and int(found[2:].astype(np.int64).sum()) == 64
    return None if right else f"{found[:2]} and a sum of {found[2:].sum()}"


_COMPARISONS: Mapping[str, Callable[[Array, Array], str | None]] = {
    "bytes": _bytes, "numbers": _numbers, "fields": _fields, "sorted_tail": _sorted_tail, "exchange": _exchange,
}  # fmt: skip


def judged(row: Row, target: str) -> str:
    """What came of a row in words: `ok`, or why it does not pass."""
    if row["group"] == "invalid":
        return _rejected(row, target)
    try:
        done = run(row, target)
    except girih.KernelError as error:
        return _found(row, error)
    except girih.GirihError as error:
        told = getattr(error, "diagnostics", None)
        return f"{told[0].code}: {told[0].message}" if told else str(error)
    if row["group"] == "undefined":
        return "no finding" if target == "interpreter" else "ok"
    return "; ".join(done.problems()) or "ok"


def _found(row: Row, error: girih.KernelError) -> str:
    codes = [finding.code for finding in error.findings]
    if row["group"] != "undefined":
        return f"{codes[0]}: {error.findings[0].message}, line {error.findings[0].span.line}"
    if f"run.{row['finding']}" not in codes:
        return f"expected run.{row['finding']}; found: {codes}"
    found = next(one for one in error.findings if one.code == f"run.{row['finding']}")
    lines = {found.span.line} | ({found.other.span.line} if found.other else set())
    wanted = set(row["glsl_lines"])
    right = lines == wanted if row["finding"] == "race" else lines & wanted
    return "ok" if right else f"{found.code} at lines {sorted(lines)}, expected {sorted(wanted)}"


def _rejected(row: Row, target: str) -> str:
    twin = girih.spirv.validate(module(row["twin"]))
    if [one for one in twin if one.severity == "error"]:
        return f"the twin is rejected: {twin[0].code}"
    try:
        girih.loads(module(row["spv"]), target)
    except girih.CompileError as error:
        return "ok" if error.diagnostics[0].code.startswith("spirv.Op") else error.diagnostics[0].code
    return "accepted"


def main(target: str, chosen: list[str]) -> None:
    """Print what came of each row."""
    passed = 0
    listed = [row for name, row in rows().items() if not chosen or any(part in name for part in chosen)]
    for row in listed:
        start = perf_counter()
        try:
            word = judged(row, target)
        except Exception as error:
            word = f"{type(error).__name__}: {str(error)[:300]}"
        passed += word == "ok"
        print(f"{row['id']:<28} {perf_counter() - start:6.2f} s  {word}", flush=True)
    print(f"{passed} of {len(listed)} on {target}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "interpreter", sys.argv[2:])
