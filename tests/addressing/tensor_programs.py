"""Random layouts and views as programs: each case of `random_layouts` becomes a kernel in the tensor language.

Numbers stand in the text, or come in as arguments. What a kernel does is held to the loop of `brute_force`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import Kind, TensorLayout, TensorView
from tests.addressing.brute_force import Answer, answers
from tests.addressing.random_layouts import layout_of, view_of

SMALL = 1 << 15
"""Up to which element index a case is executed."""
FIRST = 4
"""The component at which the tensor begins: 16 bytes into the memory."""
ELEMENTS = {"i32": np.int32, "i8": np.int8, "i16": np.int16, "f32": np.float32, "i64": np.int64, "c64": np.complex128}
"""Types of memory. Components are i32, so that some lie in several elements, and several in one."""
STEP = 4
"""Elements of the memory that a decoded block has."""

Step = tuple[str, tuple[Any, ...]]


class Recorded:
    """A layout or view that remembers the calls that made it."""

    def __init__(self, model: Any, steps: tuple[Step, ...] = ()) -> None:
        self.model = model
        self.steps = steps

    def __getattr__(self, name: str) -> Any:
        held = getattr(self.model, name)
        if not callable(held):
            return held
        return lambda *numbers: Recorded(held(*numbers), (*self.steps, (name, numbers)))


@dataclass(frozen=True)
class Program:
    """A case, its text and the numbers that it takes as arguments."""

    text: str
    numbers: tuple[int, ...]
    layout: TensorLayout
    view: TensorView | None
    rows: int
    columns: int
    store: bool
    decode: bool
    element: str


def _recorded_layout(dim: int, mode: Any) -> TensorLayout:
    return cast(TensorLayout, Recorded(TensorLayout(dim, mode)))


def _recorded_view(dim: int, own: bool, order: tuple[int, ...]) -> TensorView:
    return cast(TensorView, Recorded(TensorView(dim, own, order)))


class _Writer:
    """The lines of a kernel."""

    def __init__(self, *, dynamic: bool) -> None:
        self.dynamic = dynamic
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.names = 0

    def number(self, value: int) -> str:
        if not self.dynamic:
            return str(value)
        self.numbers.append(value)
        return f"%n{len(self.numbers) - 1}"

    def name(self) -> str:
        self.names += 1
        return f"%x{self.names}"

    def model(self, recorded: Recorded, kind: str, type: str) -> str:
        held = self.name()
        self.lines.append(f"{held} = {kind}_create : {type}")
        for call, arguments in recorded.steps:
            before, held = held, self.name()
            if call == "set_clamp_value":
                bits = int(np.uint32(arguments[0]).astype(np.int32))
                value = self.name()
                self.lines.append(f"{value} = constant {bits} : i32")
                self.lines.append(f"{held} = {kind}_{call} {before}, {value} : {type}")
                continue
            if call == "set_clip":
                arguments = (arguments[:2], arguments[2:])
            words = (
                ":".join(map(self.number, one)) if isinstance(one, tuple) else self.number(one) for one in arguments
            )
            self.lines.append(f"{held} = {kind}_{call} {before}[{','.join(words)}] : {type}")
        return held


_DECODE = """
    decode (%block: memref<i32x{step}>, {names}) {{
      %c0_ = constant 0 : index
      %v0 = load %block[%c0_] : i32
      {terms}
      yield (%v{last})
    }}"""


def _decode_text(dim: int) -> str:
    """A region whose answer tells the block and every coordinate."""
    names = [f"%k{k}" for k in range(2 * dim)]
    terms = []
    for k, name in enumerate(names):
        terms += [f"%w{k} = constant {_weight(k)} : i32", f"%j{k} = cast {name} : i32",
                  f"%p{k} = mul %j{k}, %w{k} : i32", f"%v{k + 1} = add %v{k}, %p{k} : i32"]  # fmt: skip
    return _DECODE.format(step=STEP, names=",".join(names), terms="\n      ".join(terms), last=2 * dim)


def _weight(k: int) -> int:
    return 1_000_003 * (k + 1) + 17 * k * k


def program_of(draw: random.Random) -> Program:
    """A kernel that loads or stores one matrix, or decodes one."""
    layout = cast(Recorded, layout_of(draw, _recorded_layout))
    view = cast("Recorded | None", view_of(draw, cast(TensorLayout, layout), _recorded_view))
    rows, columns = draw.randint(1, 12), draw.randint(1, 12)
    store = draw.random() < 0.3
    decode = not store and draw.random() < 0.4
    element = "i32" if decode or draw.random() < 0.4 else draw.choice(tuple(ELEMENTS))
    writer = _Writer(dynamic=draw.random() < 0.5)
    mode = layout.clamp_mode
    held = writer.model(layout, "tensor_layout", f"tensor_layout<{layout.dim},{mode}>")
    operands = held
    if view is not None:
        words = [str(view.dim), str(view.has_dimensions).lower(), *map(str, view.order)]
        operands += ", " + writer.model(view, "tensor_view", f"tensor_view<{','.join(words)}>")
    scope = draw.choice(("", "", ",work_group"))
    type = f"coopmatrix<i32x{rows}x{columns},{draw.choice(('matrix_a', 'matrix_b', 'matrix_acc'))}{scope}>"
    region = _decode_text(layout.dim) if decode else ""
    body = [
        f"%matrix = cooperative_matrix_load %M[%zero,%zero] : {type}",
        *writer.lines,
        f"cooperative_matrix_store_tensor %matrix, %A[%first], {operands}"
        if store
        else f"%loaded = cooperative_matrix_load_tensor %matrix, %A[%first], {operands}{region} : {type}",
    ]
    if not store:
        body.append("cooperative_matrix_store %loaded, %M[%zero,%zero]")
    parameters = "".join(f", %n{k}: index" for k in range(len(writer.numbers)))
    lines = "\n    ".join(body)
    first = FIRST * np.dtype(np.int32).itemsize // np.dtype(ELEMENTS[element]).itemsize
    text = (
        f"func @f(%A: memref<{element}x?>, %M: memref<i32x{rows}x{columns}>{parameters}) "
        "attributes{subgroup_size=8,work_group_size=[8,1]} {\n"
        f"  %zero = constant 0 : index\n  %first = constant {first} : index\n  parallel {{\n    {lines}\n  }}\n}}\n"
    )
    seen = None if view is None else view.model
    return Program(text, tuple(writer.numbers), layout.model, seen, rows, columns, store, decode, element)


def check_program(program: Program, target: str) -> bool:
    """Fail unless the kernel does what the loop says; False for a case that is not executed: it would reach too far."""
    p = program
    expected = [one for row in answers(p.layout, p.rows, p.columns, p.view, p.store) for one in row]
    highest = max(one.element for one in expected)
    kernel = girih.loads(p.text, target=target)["f"]
    if highest >= SMALL:
        return False
    step = STEP if p.decode else 1
    # Memory of 16-byte elements ends with a whole one.
    memory = np.arange(1000, 1000 + (FIRST + (highest + 1) * step + 3) // 4 * 4, dtype=np.int32)
    matrix = np.asfortranarray(np.arange(1, p.rows * p.columns + 1, dtype=np.int32).reshape(p.rows, p.columns))
    before, old = memory.copy(), matrix.copy()
    undefined = any(one.kind == Kind.UNDEFINED for one in expected)
    stored = [one.element for one in expected if one.element >= 0] if p.store else []
    aliased = len(set(stored)) < len(stored)
    try:
        kernel(memory.view(ELEMENTS[p.element]), matrix, *p.numbers)
    except girih.KernelError as error:
        codes = {finding.code for finding in error.findings}
        assert codes <= {"run.undefined", "run.aliasing"}, (codes, p)
        assert ("run.undefined" in codes) == undefined, p
        assert ("run.aliasing" in codes) == (aliased and target == "interpreter"), p
        return True
    assert not undefined, p
    assert not aliased or target != "interpreter", p
    if p.store:
        _check_stored(p, expected, memory, before, old)
    else:
        wanted = [_component(p, one, int(was), before) for one, was in zip(expected, old.reshape(-1), strict=True)]
        assert matrix.reshape(-1).tolist() == wanted, p
    return True


def _component(p: Program, one: Answer, was: int, memory: NDArray[np.int32]) -> int:
    if one.kind == Kind.SKIPPED:
        return was
    if one.kind == Kind.FILLED:
        return int(np.uint32(p.layout.clamp_value).astype(np.int32))
    if not p.decode:
        return int(memory[FIRST + one.element])
    value = int(memory[FIRST + one.element * STEP])
    value += sum(_weight(k) * c for k, c in enumerate((*one.block, *one.within)))
    return (value + 2**31) % 2**32 - 2**31


def _check_stored(
    p: Program, expected: list[Answer], memory: NDArray[np.int32], before: NDArray[np.int32], matrix: NDArray[np.int32]
) -> None:
    possible: dict[int, set[int]] = {}
    for one, value in zip(expected, matrix.reshape(-1).tolist(), strict=True):
        if one.element >= 0:
            possible.setdefault(FIRST + one.element, set()).add(value)
    for place, value in enumerate(memory.tolist()):
        assert value in possible.get(place, {int(before[place])}), p
