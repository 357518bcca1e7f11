"""Random collective instructions on random views of one memory, judged by sets of bytes.

A program is an instruction, and how its operands are views: of an argument, of local memory, of members of a group, or
of two arguments that share memory. Its numbers are constants of the text, or arguments, so that one program is launched
with many of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any

import numpy as np

import girih
from girih.api import Kernel

Ints = tuple[int, ...]

EXTENTS = (6, 3, 3)
"""The shape of all memories."""

STRIDES = ((1, 6, 18), (1, 7, 23), (2, 13, 41))
"""Their strides in elements: without gaps, and with some."""

ROOM = 4096
"""Bytes in which two arguments lie."""

SOURCES = {"axpby": "a", "cumsum": "a", "sum": "a", "gemm": "ab", "gemv": "ab", "ger": "ab", "hadamard": "ab"}
"""The operands besides the result, in order."""


@dataclass(frozen=True, slots=True)
class View:
    """A memref of the text, and where it lies: the address of its first element, shape, strides in elements."""

    name: str
    address: int
    shape: Ints
    strides: Ints
    element: str = "f32"
    space: str = ""

    @property
    def size(self) -> int:
        """The size of an element in bytes."""
        return 8 if self.element == "f64" else 4

    def bytes(self) -> dict[int, Ints]:
        """The addresses of all bytes, each with the index of its element."""
        found = {}
        for index in product(*map(range, self.shape)):
            first = self.address + self.size * sum(i * s for i, s in zip(index, self.strides, strict=True))
            found.update({first + k: index for k in range(self.size)})
        return found

    def is_same(self, other: View) -> bool:
        """Whether another view has the same elements at the same indices."""
        steps = zip(self.shape, self.strides, other.strides, strict=False)
        alike = (self.address, self.shape, self.element) == (other.address, other.shape, other.element)
        return alike and all(s == t for n, s, t in steps if n > 1)


@dataclass(frozen=True, slots=True)
class Overlap:
    """A program, its arguments, and what is to be found: the operand, and the index in the result if it has modes."""

    text: str
    arguments: dict[str, Any]
    expected: tuple[str, Ints | None] | None


@dataclass(slots=True)
class _Text:
    """A program that is being written; `form` draws what its text says, `numbers` the numbers."""

    form: Random
    numbers: Random
    constant: bool
    lines: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)

    def number(self, value: int) -> str:
        """A number as an operand: a literal, or the name of an argument."""
        if self.constant:
            return str(value)
        name = f"n{len(self.arguments)}"
        self.parameters.append(f"%{name}: index")
        self.arguments[name] = value
        return f"%{name}"

    def type(self, element: str, shape: Ints, strides: Ints, space: str = "", *, known: bool = False) -> str:
        """The type of a memref, which says its numbers if they are constants."""
        known = known or self.constant
        sizes = "".join(f"x{n if known else '?'}" for n in shape)
        steps = ",".join(str(n) if known else "?" for n in strides)
        return f"memref<{element}{sizes}{f',strided<{steps}>' if strides else ''}{space}>"

    def define(self, text: str, type: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} : {type}")
        return name

    def view(self, memory: View, shape: Ints) -> View:
        """A view of a memory with three modes, in a shape of up to two."""
        mode = self.form.randrange(3)
        if len(shape) == 2 and shape[0] * shape[1] <= memory.shape[mode] and self.form.random() < 0.7:
            row = self.cut(memory, {mode: shape[0] * shape[1]})
            step = row.strides[0]
            strides = (step, step * shape[0])
            type = self.type(memory.element, shape, strides, memory.space)
            factors = " x ".join(map(self.number, shape))
            return View(self.define(f"expand {row.name}[0 -> {factors}]", type), row.address, shape, strides,
                        memory.element, memory.space)  # fmt: skip
        modes = sorted(self.form.sample(range(3), len(shape)))
        return self.cut(memory, dict(zip(modes, shape, strict=True)))

    def cut(self, memory: View, sizes: dict[int, int]) -> View:
        """A view of a part of a memory: some elements of some modes, one of the others."""
        slices, address = [], memory.address
        for mode, (extent, stride) in enumerate(zip(memory.shape, memory.strides, strict=True)):
            size = sizes.get(mode, 1)
            offset = self.numbers.randrange(extent - size + 1)
            address += offset * stride * memory.size
            first = self.number(offset)
            slices.append(f"{first}:{self.number(size)}" if mode in sizes else first)
        shape, strides = tuple(sizes.values()), tuple(memory.strides[mode] for mode in sizes)
        type = self.type(memory.element, shape, strides, memory.space)
        name = self.define(f"subview {memory.name}[{', '.join(slices)}]", type)
        return View(name, address, shape, strides, memory.element, memory.space)

    # --- memories ------------------------------------------------------------------------

    def argument(self, name: str, room: Any, shift: int, strides: Ints, element: str = "f32") -> View:
        """An argument that begins at a byte of some room."""
        self.parameters.append(f"%{name}: {self.type(element, EXTENTS, strides)}")
        dtype = np.dtype(np.float64 if element == "f64" else np.float32)
        steps = [dtype.itemsize * s for s in strides]
        self.arguments[name] = np.ndarray(EXTENTS, dtype, room, shift, steps)
        return View(f"%{name}", room.ctypes.data + shift, EXTENTS, strides, element)

    def local(self, strides: Ints) -> list[View]:
        """Local memory, all of it written."""
        name = self.define("alloca", self.type("f32", EXTENTS, strides, ",local", known=True))
        bounds = [self.define(f"constant {n}", "index") for n in (0, *EXTENTS)]
        self.lines.append(f"foreach (%i, %j, %k) = ({', '.join([bounds[0]] * 3)}), ({', '.join(bounds[1:])}) {{\n"
                          f"store %one, {name}[%i, %j, %k]\n}}")  # fmt: skip
        return [View(name, 0, EXTENTS, strides, "f32", ",local")]

    def members(self, strides: Ints) -> list[View]:
        """A group of two, and two of its members, perhaps the same one."""
        rooms = [_room(), _room()]
        type = self.type("f32", EXTENTS, strides)
        self.parameters.append(f"%G: group<{type}x2>")
        self.arguments["G"] = [np.ndarray(EXTENTS, np.float32, room, 0, [4 * s for s in strides]) for room in rooms]
        picked = [self.numbers.randrange(2) for _ in range(2)]
        names = [self.define(f"load %G[{self.number(n)}]", type) for n in picked]
        return [View(name, rooms[n].ctypes.data, EXTENTS, strides) for name, n in zip(names, picked, strict=True)]

    def memories(self) -> list[View]:
        """What the operands are views of; elements of the last are as wide as any."""
        strides, others = self.form.choice(STRIDES), self.form.choice(STRIDES)
        kind = self.form.choice(("one", "one", "two", "two types", "local", "group"))
        if kind == "local":
            return self.local(strides)
        if kind == "group":
            return self.members(strides)
        room = _room()
        first = self.argument("M", room, 64, strides)
        if kind == "one":
            return [first]
        element = "f32" if kind == "two" else "f64"
        shift = 8 * self.numbers.randrange(64)
        return [first, self.argument("P", room, shift, others, element)]


def _room() -> Any:
    return np.zeros(ROOM, np.uint8)


def _shapes(form: Random, mnemonic: str) -> tuple[list[Ints], str]:
    """The shapes of the operands of an instruction, the result last, and its modifiers."""
    m, n, k = (form.randint(1, 3) for _ in range(3))
    first, second = form.random() < 0.4, form.random() < 0.4
    turned = ".t" if first else ""
    full: Ints = ((), (m,), (m, n))[form.randrange(3)]
    match mnemonic:
        case "axpby":
            return [full[::-1] if first else full, full], turned
        case "cumsum":
            return [full or (m,)] * 2, ""
        case "sum":
            return ([(n, m) if first else (m, n), (m,)] if full else [(m,), ()]), turned
        case "gemm":
            modifiers = (".t" if first else ".n") + (".t" if second else ".n")
            return [(k, m) if first else (m, k), (n, k) if second else (k, n), (m, n)], modifiers
        case "gemv":
            return [(k, m) if first else (m, k), (k,), (m,)], turned
        case "ger":
            return [(m,), (n,), (m, n)], ""
    return [full or (m,)] * 3, ""


def overlap(form_seed: int, seed: int) -> Overlap:
    """The program of one seed with the numbers of another; where the first is even, they are constants."""
    form = Random(form_seed)
    w = _Text(form, Random(seed), constant=form_seed % 2 == 0)
    mnemonic = form.choice(list(SOURCES))
    shapes, modifiers = _shapes(form, mnemonic)
    memories = w.memories()
    *sources, result = [w.view(form.choice(memories), shape) for shape in shapes]
    if any(source.size > result.size for source in sources):
        result = w.view(memories[-1], shapes[-1])
    if form.random() < 0.3 and (sources[0].shape, sources[0].size) == (result.shape, result.size):
        result = sources[0]
    atomic = ".atomic" if form.random() < 0.2 else ""
    operands = ", ".join(["%one", *(s.name for s in sources), *["0"] * (mnemonic == "cumsum")])
    last = f"{mnemonic}{atomic}{modifiers} {operands}, {form.choice(('%zero', '%one'))}, {result.name}"
    lines = ["%one = constant 1.0 : f32", "%zero = constant 0.0 : f32", *w.lines, last]
    text = f"func @f({', '.join(w.parameters)}) {{\n" + "\n".join(lines) + "\n}\n"
    turns = ".t" in modifiers and len(result.shape) == 2
    in_place = mnemonic == "hadamard" or (mnemonic == "axpby" and not turns)
    return Overlap(text, w.arguments, _expected(mnemonic, sources, result, in_place=in_place))


def _expected(mnemonic: str, sources: list[View], result: View, *, in_place: bool) -> tuple[str, Ints | None] | None:
    mine = result.bytes()
    for name, source in zip(SOURCES[mnemonic], sources, strict=True):
        shared = mine.keys() & source.bytes().keys()
        if shared and not (in_place and source.is_same(result)):
            return name, mine[min(shared)] or None
    return None


@lru_cache(maxsize=4)
def _kernel(text: str, target: str) -> Kernel:
    return girih.loads(text, target=target)["f"]


def judged(form_seed: int, seed: int) -> bool:
    """Whether operands overlap, after both targets said so, with operand and index."""
    made = overlap(form_seed, seed)
    for target in ("interpreter", "cpu"):
        told: Any = None
        try:
            _kernel(made.text, target)(**made.arguments)
        except girih.KernelError as error:
            (finding,) = error.findings
            assert finding.code == "run.aliasing", error
            told = finding.message.split("`")[5], finding.index
        assert told == made.expected, f"{target}: {told}, not {made.expected}\n{made.text}{made.arguments}"
    return made.expected is not None


def overlaps(form_seed: int, launches: int) -> int:
    """In how many of some launches of a program operands overlap; with constants it has one launch."""
    seeds = range(1 if form_seed % 2 == 0 else launches)
    return sum(judged(form_seed, 1000 * form_seed + seed) for seed in seeds)
