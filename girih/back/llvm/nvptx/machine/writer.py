"""The writer of functions for NVPTX: LLVM's instructions, but for those that its code generator gets wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from girih.back.llvm.emit.text import ModuleText, Operand, Val, bits, integer, lanes, poison, scalar, stored_bytes
from girih.back.llvm.emit.writer import Loop, Writer
from girih.back.llvm.numbers.turns import angle_without_turns
from girih.back.llvm.nvptx.machine.remainder import remainder

MOST_BYTES = 16
"""What a thread loads or stores at once."""

_SYSTEM = {"add": "add.u{}", "min": "min.s{}", "max": "max.s{}", "and": "and.b{}", "or": "or.b{}", "xor": "xor.b{}"}
"""The updates of PTX, with the number of bits (PTX ISA "atom")."""
_REGISTER = {32: "r", 64: "l"}
_CTA_BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
_WARP_BARRIER = "llvm.nvvm.bar.warp.sync"


class NvptxWriter(Writer):
    """A function for NVPTX that is being written."""

    def __init__(self, module: ModuleText, header: str) -> None:
        self._wide = False
        """Whether neighbouring elements are known to be accessed at multiples of 16 bytes, or of all of them."""
        self._apart = True
        """Whether something was written since the last barrier that other threads might see, or that branches."""
        self.members: Val | None = None
        """The mask of the threads of a warp that come together at barriers; None where all of the CTA do."""
        super().__init__(module, header)

    # --- loops ---------------------------------------------------------------------------

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: Operand = 1, carried: Sequence[Val] = (), *, saturate: bool = False
    ) -> Iterator[Loop]:
        """A loop of `start`, `start + step`, ... below `stop`.

        Where a known step might lead beyond the largest number, iterations are counted in front of the loop: LLVM
        knows how to unroll that, so that several loads are under way at once.
        """
        first, end, distance = self.value(start), self.value(stop), self.value(step).literal
        if distance == 1:
            # What is below the end has a successor.
            saturate = False
        if not saturate or distance is None or distance < 1:
            with super().loop(start, stop, step, carried, saturate=saturate) as opened:
                yield opened
            return
        last = self.sub(self.sub(end, first), 1)
        count = self.add(self.binary("udiv", last, integer(distance)), 1)
        trips = self.select(self.compare("slt", first, end), count, integer(0))
        with super().loop(0, trips, 1, carried) as opened:
            opened.index = self.add(first, self.mul(opened.index, distance))
            yield opened

    def unknown(self, number: int) -> Val:
        """A number as an index that LLVM does not know: a loop with it as its end is not written out."""
        return self.effect("i64", f'call i64 asm "mov.b64 $0, $1;", "=l,l"(i64 {number})')

    # --- barriers ------------------------------------------------------------------------

    def label(self, name: str) -> None:
        self._apart = True
        super().label(name)

    def line(self, text: str) -> None:
        self._apart = True
        super().line(text)

    def effect(self, type: str, text: str) -> Val:
        self._apart = True
        return super().effect(type, text)

    def give_away(self, pointer: Val) -> None:
        """Let LLVM take it that others know an address, so that barriers and fences keep what is read in its place.

        Of a parameter that is `noalias` it would think that nobody else writes there, whatever the other threads do.
        """
        self.line(f'call void asm sideeffect "", "l"({pointer})')

    def together(self) -> None:
        """Note that what was written so far needs no barrier behind it."""
        self._apart = False

    @property
    def apart(self) -> bool:
        """Whether anything was written since the last barrier that other threads might see."""
        return self._apart

    def barrier(self) -> None:
        """Wait for all threads of the work-group, where anything was written since they last waited."""
        if not self._apart:
            return
        name = _CTA_BARRIER if self.members is None else _WARP_BARRIER
        self.module.declare(name, "void", ("i32",))
        self.run(name, integer(0, "i32") if self.members is None else self.members)
        self._apart = False

    def end(self) -> None:
        """End the function: a barrier right before its end keeps nothing apart."""
        last = self._out[-1]
        if not self._apart and isinstance(last, str) and (_CTA_BARRIER in last or _WARP_BARRIER in last):
            self._out.pop()
        self.ret()
        self.finish()

    # --- numbers -------------------------------------------------------------------------

    def binary(self, opcode: str, a: Operand, b: Operand) -> Val:
        """The result of an instruction with two operands of one type.

        The remainder of floats is a function of the module: LLVM's quotient is rounded, and its remainders are wrong.
        """
        if opcode == "frem":
            return self._each(self.value(a), self.value(b))
        return super().binary(opcode, a, b)

    def _each(self, a: Val, b: Val) -> Val:
        count = lanes(a.type)
        if count == 1:
            return remainder(self, a, b)
        parts = [remainder(self, self.extract(a, k), self.extract(b, k)) for k in range(count)]
        return self.join(parts)

    def far_angle(self, name: str, unit: int, known: int, x: Val) -> tuple[Val, Val] | None:
        """The angle of x units without whole turns, computed here: a GPU has no C library."""
        return angle_without_turns(self, name, unit, known, x)

    def native_power_of_two(self, x: Val) -> Val | None:
        """2^x of floats, within 2 ulp of a normal number (PTX ISA "ex2")."""
        name = "llvm.nvvm.ex2.approx.ftz.f"
        return self.join([self.intrinsic(name, "float", self.extract(x, k)) for k in range(lanes(x.type))])

    # --- memory --------------------------------------------------------------------------

    @contextmanager
    def wide_accesses(self) -> Iterator[None]:
        """A context for code that accesses neighbouring elements at multiples of 16 bytes, or of all of them."""
        self._wide = True
        yield
        self._wide = False

    def load(self, type: str, pointer: Val, align: int) -> Val:
        """The value at an address; of neighbouring elements in pieces of 16 bytes, where the address allows it."""
        if not _is_split(type, align) or self._wide:
            return super().load(type, pointer, self._alignment(type, align))
        wide = min(MOST_BYTES, stored_bytes(type))
        one, size = scalar(type), bits(type) // 8

        def apart() -> list[Val]:
            held = poison(type)
            for number in range(lanes(type)):
                held = self.insert(held, Writer.load(self, one, self.at(pointer, number * size), align), number)
            return [held]

        (found,) = self.either(
            self._is_aligned(pointer, wide), lambda: [Writer.load(self, type, pointer, wide)], apart, rare=True
        )
        return found

    def store(self, held: Val, pointer: Val, align: int) -> None:
        """Store a value; neighbouring elements in pieces of 16 bytes, where the address allows it."""
        if not _is_split(held.type, align) or self._wide:
            super().store(held, pointer, self._alignment(held.type, align))
            return
        wide, size = min(MOST_BYTES, stored_bytes(held.type)), bits(held.type) // 8

        def together() -> list[Val]:
            Writer.store(self, held, pointer, wide)
            return []

        def apart() -> list[Val]:
            for number in range(lanes(held.type)):
                Writer.store(self, self.extract(held, number), self.at(pointer, number * size), align)
            return []

        self.either(self._is_aligned(pointer, wide), together, apart, rare=True)

    def _alignment(self, type: str, align: int) -> int:
        return min(MOST_BYTES, stored_bytes(type)) if self._wide and lanes(type) > 1 else align

    def _is_aligned(self, pointer: Val, size: int) -> Val:
        low = self.binary("and", self.convert("ptrtoint", pointer, "i64"), integer(size - 1))
        return self.compare("eq", low, integer(0))

    # --- atomic accesses -----------------------------------------------------------------

    def atomic_update(self, opcode: str, pointer: Val, value: Val, align: int, scope: str = "") -> Val:
        """The value at an address before it is replaced by its combination with another one.

        LLVM writes no scope, which is that of the device; that of the system is written here.
        """
        width = bits(value.type)
        if scope or width not in _REGISTER:
            return super().atomic_update(opcode, pointer, value, align, scope)
        register = _REGISTER[width]
        text = f"atom.relaxed.sys.{_SYSTEM[opcode].format(width)} $0, [$1], $2;"
        call = f'call {value.type} asm sideeffect "{text}", "={register},l,{register},~{{memory}}"({pointer}, {value})'
        return self.effect(value.type, call)

    def atomic_sum(self, type: str, pointer: Val, value: Val, scope: str) -> Val | None:
        """The float before a sum with another one; of a system, by exchanges."""
        return super().atomic_update("fadd", pointer, value, bits(type) // 8, scope) if scope else None


def _is_split(type: str, align: int) -> bool:
    """Whether a value is a vector that lies at addresses of which only those of its elements are known."""
    return lanes(type) > 1 and align < min(MOST_BYTES, stored_bytes(type))
