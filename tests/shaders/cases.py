"""Compute shaders with what they must compute, or be found to do wrong: comments at the head of each GLSL file say it.

    // 0:0: u32 = arange(64)              what binding 0 of set 0 has before: an expression of NumPy
    // 0:0 fault: u32 = arange(65)        and when the fault is in
    // grid: 2,1,1                        work-groups
    // push: u32:3 f32:0.5                push constants, one after the other
    // spec: 0=16 1=4                     specialisation constants
    // address: push 0 0:1 16             the address of (0, 1), and 16 more, stands at byte 0 of the push constants
    // subgroup: 32                       the subgroup size that the result needs
    // result 0:1: b0 + 1                 what (0, 1) has behind; b0, b1, ... are the initial arrays of set 0
    // close 0:1: 1e-6                    how far from it a number may be, relative and absolute
    // finding: race                      what is found at lines with `// here` when the fault is in
    // warning: out_of_bounds             the same for what does not fail the launch
    // steps: 20000                       the largest number of instructions

A shader that says `#ifdef FAULT` or `#ifndef FAULT` is compiled a second time, with the fault in it. The modules lie in
`modules.zip`, which `python -m tests.shaders.cases GLSLANG` writes anew.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import girih
from tests.shaders import expected

ROOT = Path(__file__).resolve().parent
MODULES = ROOT / "modules.zip"
DTYPES = {"i": "int", "u": "uint", "f": "float"}
NAMES: Mapping[str, Any] = {**{name: getattr(np, name) for name in dir(np)}, "__builtins__": __builtins__,
                            "expected": expected, "sum": sum}  # fmt: skip
Binding = tuple[int, int]


def dtype(word: str) -> np.dtype[Any]:
    """The dtype of a word such as `u32`."""
    return np.dtype(DTYPES[word[0]] + word[1:])


def values(expression: str, names: Mapping[str, Any] | None = None) -> Any:
    """The value of an expression of NumPy."""
    # One dictionary: a comprehension sees no others.
    return eval(expression, {**NAMES, **(names or {})})


def as_type(value: Any, type: np.dtype[Any]) -> Any:
    """Numbers in a type, integers modulo its size."""
    array = np.asarray(value)
    if type.kind in "iu" and array.dtype.kind in "iufb":
        return array.astype(np.int64 if array.dtype != np.uint64 else np.uint64).astype(type)
    return array.astype(type)


@dataclass(frozen=True)
class Shader:
    """A GLSL file, with the fault in it or without."""

    path: Path
    text: str
    fault: bool = False
    heads: dict[str, list[str]] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The name of the case, such as `findings/race_in_shared_memory, fault`."""
        return self.path.relative_to(ROOT).with_suffix("").as_posix() + (", fault" if self.fault else "")

    @property
    def member(self) -> str:
        """The name of the module in the archive."""
        two = self.fault and has_variants(self.text)
        return self.path.relative_to(ROOT).with_suffix("").as_posix() + ("_fault.spv" if two else ".spv")

    @property
    def module(self) -> bytes:
        """The module."""
        return archive()[self.member]

    def head(self, name: str) -> str | None:
        """What a comment at the head says, that for the fault if it is in and there is one."""
        found = (self.heads.get(f"{name} fault") if self.fault else None) or self.heads.get(name)
        return found[0] if found else None

    @property
    def grid(self) -> tuple[int, ...]:
        """The work-groups along x, y and z."""
        return tuple(map(int, (self.head("grid") or "1").split(",")))

    @property
    def definitions(self) -> dict[int | str, object]:
        """The specialisation constants."""
        pairs = (word.split("=") for word in (self.head("spec") or "").split())
        return {int(name): int(value) for name, value in pairs}

    @property
    def buffers(self) -> dict[Binding, Any]:
        """New arrays of all bindings; an array of buffers is a list."""
        made: dict[Binding, Any] = {}
        for name in self.heads:
            if (matched := re.fullmatch(r"(\d+):(\d+)", name)) is not None:
                word, _, expression = (self.head(name) or "").partition(" = ")
                value, type = values(expression), dtype(word)
                key = (int(matched[1]), int(matched[2]))
                made[key] = [as_type(v, type) for v in value] if isinstance(value, list) else as_type(value, type)
        return made

    @property
    def push(self) -> bytes:
        """The push constants, without addresses."""
        made = b""
        for word in (self.head("push") or "").split():
            type, _, numbers = word.partition(":")
            made += np.array(
                [float(n) if type[0] == "f" else int(n) for n in numbers.split(",")], dtype(type)
            ).tobytes()
        return made

    @property
    def addresses(self) -> list[list[str]]:
        """Where addresses stand: `push` or a binding, the byte, the buffer, and what is added."""
        name = "address fault" if self.fault and "address fault" in self.heads else "address"
        return [line.split() for line in self.heads.get(name, []) if line != "none"]

    @property
    def results(self) -> Iterator[tuple[Binding, Any, float]]:
        """What bindings have behind, and how far from it numbers may be."""
        initial = {f"b{b}": array for (_, b), array in self.buffers.items()}
        for name, lines in self.heads.items():
            if name.startswith("result "):
                key = _binding(name.removeprefix("result "))
                close = self.head("close " + name.removeprefix("result "))
                yield key, values(lines[0], initial), float(close or 0)

    @property
    def wanted_lines(self) -> set[int]:
        """The lines at which something is found."""
        return {number for number, line in enumerate(self.text.splitlines(), 1) if "// here" in line}

    def load(self, target: str) -> girih.Program:
        """The program for a target."""
        return girih.loads(self.module, target, definitions=self.definitions)


def _binding(words: str) -> Binding:
    first, second = words.split(":")
    return int(first), int(second)


def has_variants(text: str) -> bool:
    """Whether a shader is compiled twice."""
    return re.search(r"^#ifn?def FAULT", text, re.M) is not None


@cache
def shaders() -> tuple[Shader, ...]:
    """All shaders, those with a fault twice."""
    found = []
    for path in sorted(ROOT.rglob("*.comp")):
        text = path.read_text(encoding="utf-8")
        heads: dict[str, list[str]] = {}
        for line in text.splitlines():
            if (matched := re.match(r"// ([\w: ]*?\w): (.*)", line)) is not None:
                heads.setdefault(matched[1], []).append(matched[2])
        found.append(Shader(path, text, False, heads))
        if "finding" in heads or "warning" in heads:
            found.append(Shader(path, text, True, heads))
    return tuple(found)


@cache
def archive() -> Mapping[str, bytes]:
    """The modules by the names of their files."""
    with zipfile.ZipFile(MODULES) as file:
        return {name: file.read(name) for name in file.namelist()}


def write_archive(glslang: str) -> None:
    """Compile all shaders with a glslang, with lines (`-g`)."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file, tempfile.TemporaryDirectory() as folder:
        for one in shaders():
            if one.fault and not has_variants(one.text):
                continue
            output = Path(folder) / "x.spv"
            source = Path(folder) / one.path.name
            source.write_text(one.text, encoding="utf-8")
            fault = ["-DFAULT=1"] if one.fault else []
            subprocess.run([glslang, "-V", "--quiet", "--target-env", "vulkan1.3", "-g", *fault, source.name,
                            "-o", str(output)], check=True, cwd=folder)  # fmt: skip
            file.writestr(zipfile.ZipInfo(one.member), output.read_bytes(), zipfile.ZIP_DEFLATED)
    MODULES.write_bytes(made.getvalue())


if __name__ == "__main__":
    write_archive(sys.argv[1])
