"""The innermost function of large matrix products: a panel of one factor times a panel of the other.

The sums of a tile are kept in registers while the depth goes by. They end where they belong: in the target, if its
columns are vectors in memory and its elements are computed with as they are, otherwise in a tile in the first cache.
The function for a target also writes tiles, for what is at the edges of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, quotient
from girih.back.llvm.cpu.collective.microkernel import multiply_add
from girih.back.llvm.cpu.collective.packing_plan import PackingPlan
from girih.back.llvm.cpu.collective.panels import ATTRIBUTES
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import ModuleText, Operand, Val, lanes, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.lazy_dataclass import dataclass

_STEPS = 4
"""How many steps of the depth a round of the loop has."""

_AHEAD = 16
"""How many steps ahead panels are asked for."""


_LINE = 64
"""Bytes of a line of the caches, or of a part of one."""


@dataclass(frozen=True, slots=True)
class PanelProduct:
    """A function that multiplies panels; `end` is how sums reach the target, or None if all go to tiles."""

    sizes: PackingPlan
    end: Scaling | None
    vectors: int
    """How many vectors of the first panel's rows it multiplies: the others do not count."""

    def call(self, w: Writer, end: Scaling, steps: Val, a: Val, b: Val, goal: Val, pitch: Val, adds: Val) -> None:
        """The product of panels `a` and `b` goes to columns `pitch` bytes apart.

        With `adds`, what is there is scaled and kept; without, it is replaced.
        """
        factors = [] if self.end is None else [*(end.alpha or ()), *(end.beta or ())]
        w.run(self._function(w.module), steps, a, b, goal, pitch, adds, *factors)

    def _function(self, module: ModuleText) -> str:
        """The name of the function; written if it is not there."""
        s = self.sizes
        alpha, beta = (None, None) if self.end is None else (self.end.alpha, self.end.beta)
        ends = "tile" if self.end is None else f"{'scaled' if alpha else 'sum'}.{'scaled' if beta else 'sum'}"
        name = f"girih.product.{s.compute}{'.pairs' if s.pairs else ''}.{s.rows}x{s.columns}.{self.vectors}.{ends}"
        factors = (("alpha", alpha), ("beta", beta))
        listed = "".join(f", {held.type} %{n}{k}" for n, parts in factors for k, held in enumerate(parts or ()))
        header = (
            f"define internal void @{name}(i64 %depth, ptr noalias readonly %a, ptr noalias readonly %b, "
            f"ptr noalias %goal, i64 %pitch, i64 %adds{listed}) {ATTRIBUTES}"
        )
        if not any(text.startswith(header) for text in module.functions):
            w = Writer(module, header)
            _PanelCode(Elements(w, s.target, s.compute), self).write()
            w.ret()
            w.finish()
        return name


class _PanelCode:
    """The function in the making."""

    def __init__(self, e: Elements, product: PanelProduct) -> None:
        self.e, self.w, self.sizes, self.end, self.vectors = e, e.w, product.sizes, product.end, product.vectors
        sizes = self.sizes
        self.unit = "i32" if sizes.pairs else e.part
        self.size = 4 if sizes.pairs else e.part_size
        self.columns = sizes.columns * sizes.parts
        self.strides = sizes.vectors * e.count * self.size, self.columns * self.size
        self.a, self.b, self.goal = (Val(f"%{name}", "ptr") for name in ("a", "b", "goal"))
        self.depth, self.pitch, self.adds = (Val(f"%{name}", "i64") for name in ("depth", "pitch", "adds"))

    def write(self) -> None:
        """The sums over the depth, a few steps in a round, and where they go."""
        w = self.w
        start = [zero(wide(self.e.part, self.e.count))] * (self.vectors * self.columns)
        bulk = w.binary("and", self.depth, -_STEPS)
        with w.loop(0, bulk, _STEPS, start) as loop:
            values = list(loop.values)
            self._ask_goal(quotient(w, loop.index, _STEPS))
            for distance in range(_STEPS):
                self._ask_panels(loop.index, distance)
                # LLVM would load the factors of all steps first, and spill the sums.
                w.fence("acq_rel", "singlethread")
                values = self._step(loop.index, distance, values)
            loop.following = values
        with w.loop(bulk, self.depth, 1, loop.results) as rest:
            rest.following = self._step(rest.index, 0, rest.values)
        self._leave(list(rest.results))

    def _step(self, base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
        """The sums after a step of the depth."""
        w, count, size = self.w, self.e.count, self.size
        row, column = (
            w.at(w.at(panel, w.mul(base, bytes)), distance * bytes)
            for panel, bytes in zip((self.a, self.b), self.strides, strict=True)
        )
        vector = wide(self.unit, count)
        left = [w.load(vector, w.at(row, k * count * size), count * size) for k in range(self.vectors)]
        right = [w.load(self.unit, w.at(column, k * size), size) for k in range(self.columns)]
        return (_pairs if self.sizes.pairs else multiply_add)(w, left, right, values)

    def _ask_panels(self, base: Val, distance: int) -> None:
        """Ask for the lines of both panels that begin in a later step."""
        w = self.w
        for panel, bytes in zip((self.a, self.b), self.strides, strict=True):
            later = w.at(w.at(panel, w.mul(base, bytes)), _AHEAD * bytes)
            for line in range(-(-bytes * distance // _LINE) * _LINE, bytes * (distance + 1), _LINE):
                w.prefetch(w.at(later, line))

    def _ask_goal(self, number: Val) -> None:
        """Ask for a column of the target in each of the first rounds: its lines are needed after the product."""
        w = self.w
        bytes = self.sizes.rows * self.sizes.compute.size
        column = w.at(self.goal, w.mul(w.smaller(number, self.sizes.columns - 1), self.pitch))
        for distance in (*range(0, bytes, _LINE), bytes - 1):
            w.prefetch(w.at(column, distance), write=True)

    def _leave(self, sums: list[Val]) -> None:
        """Bring the sums to their place."""
        w, e = self.w, self.e
        held = _complete(e, self.sizes, sums)

        def write(end: Scaling | None) -> list[Val]:
            for number, sum in enumerate(held):
                column, k = divmod(number, self.vectors)
                place = w.at(w.at(self.goal, w.mul(self.pitch, column)), k * e.count * e.part_size)
                if end is None:
                    w.store(sum, place, e.part_size)
                else:
                    end.write(place, (sum,))
            return []

        if self.end is None:
            write(None)
            return
        alpha, beta = (
            None if factor is None else tuple(Val(f"%{name}{k}", p.type) for k, p in enumerate(factor))
            for name, factor in (("alpha", self.end.alpha), ("beta", self.end.beta))
        )
        end = replace(self.end, elements=e, alpha=alpha, beta=beta, overwrite=False)
        if self.vectors < self.sizes.vectors:
            # Such panels go to tiles, which are never added to.
            write(replace(end, overwrite=True))
            return
        adds = w.compare("ne", self.adds, w.value(0))
        w.either(adds, lambda: write(end), lambda: write(replace(end, overwrite=True)))


def _pairs(w: Writer, a: Sequence[Val], b: Sequence[Val], values: Sequence[Val]) -> list[Val]:
    """values + the products of pairs."""
    bytes = scalar(values[0].type) == "i32"
    count = lanes(a[0].type)
    type = wide("i16" if bytes else "bfloat", 2 * count)
    left = [w.convert("bitcast", x, type) for x in a]
    found = []
    for j, factor in enumerate(b):
        right = w.convert("bitcast", w.splat(factor, count), type)
        for i, one in enumerate(left):
            held = values[j * len(a) + i]
            found.append((_add_products if bytes else _add_rounded)(w, held, one, right))
    return found


def _add_rounded(w: Writer, held: Val, a: Val, b: Val) -> Val:
    """Sums of f32 and the products of pairs of bf16."""
    return w.intrinsic(f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes(held.type)}", held.type, held, a, b)


def _add_products(w: Writer, held: Val, a: Val, b: Val) -> Val:
    """Sums of i32 and the products of pairs of 16 bits: one instruction where there is one, as LLVM knows."""
    name = {16: "avx512.pmaddw.d.512", 8: "avx2.pmadd.wd", 4: "sse2.pmadd.wd"}[lanes(held.type)]
    return w.add(held, w.intrinsic(f"llvm.x86.{name}", held.type, a, b))


def _complete(e: Elements, sizes: PackingPlan, found: list[Val]) -> list[Val]:
    """The vectors of the tile: for complex numbers, products of parts are put together."""
    if sizes.parts == 1:
        return found
    held: list[Val] = []
    for j in range(sizes.columns):
        (rr, ir), (ri, ii) = found[4 * j : 4 * j + 2], found[4 * j + 2 : 4 * j + 4]
        held += [e.w.binary("fsub", rr, ii), e.w.binary("fadd", ri, ir)]
    return held
