"""The writer of functions for NVPTX: LLVM's instructions, but for those that its code generator gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from girih.back.llvm.emit.folding import combined_numbers, lane_values
from girih.back.llvm.emit.text import ModuleText, Operand, Val, bits, integer, lanes, poison, scalar, stored_bytes
from girih.back.llvm.emit.writer import Loop, Writer
from girih.back.llvm.numbers.turns import angle_without_turns
from girih.back.llvm.nvptx.machine.narrow import NarrowNumbers, is_narrow
from girih.back.llvm.nvptx.machine.remainder import remainder
from girih.lazy_dataclass import dataclass

MOST_BYTES = 16
"""What a thread loads or stores at once."""

_SYSTEM = {"add": "add.u{}", "min": "min.s{}", "max": "max.s{}", "and": "and.b{}", "or": "or.b{}", "xor": "xor.b{}"}
"""The updates of PTX, with the number of bits (PTX ISA "atom")."""
_REGISTER = {32: "r", 64: "l"}

_UNDER_WAY, _UNDER_WAY_OF_FEW = 16, 8
"""How many loads of a loop a thread has under way at once, where that many fit; of a loop that often has few
iterations, fewer: those that are left are executed one by one."""
_LONGEST_WRITTEN_OUT, _LONGEST_TOGETHER = 384, 1024
"""So many values have all iterations of a loop whose number is known, and those that are written behind each other."""

_MOST_TERMS = 6
"""So many parts has a sum that is taken apart."""
_TOGETHER = "sync"
"""What is in the name of each instruction that threads execute together."""
_NOTED = frozenset({"add", "sub", "mul", "and", "shl"})
"""Instructions of which it is noted what their results are multiples of."""

_CTA_BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
_WARP_BARRIER = "llvm.nvvm.bar.warp.sync"


def _known_trips(first: Val, end: Val, step: int | None) -> int | None:
    """How many iterations a loop has, where that is known."""
    if first.literal is None or end.literal is None or step is None or step < 1:
        return None
    return max(0, -(-(end.literal - first.literal) // step))


@dataclass(slots=True)
class _WrittenLoop:
    """A loop that is being written: the number of its iterations, if that is known, and what was found in it so far."""

    trips: int | None
    before: int
    """The length of the function before it."""
    loads: int = 0
    """The loads in it; one of more than 8 bytes counts twice."""
    alone: bool = True
    """Whether there is no other loop in it, and nothing that threads execute together."""
    ahead: bool = False
    """Whether several loads of it should be under way at once; others are written for the registers there are."""
    few: bool = False
    """Whether it often has few iterations."""
    ways_out: bool = False
    """Whether a check leads out of it."""
    asked: int | None = None
    """So many iterations should be written behind each other, says the program."""
    in_full: bool = False
    """Whether all its iterations are written behind each other."""
    more: int = 0
    """So many values more than there are now has it when loops in it are written out."""


class NvptxWriter(Writer):
    """A function for NVPTX that is being written."""

    def __init__(self, module: ModuleText, header: str) -> None:
        self._wide = False
        """Whether neighbouring elements are known to be accessed at multiples of 16 bytes, or of all of them."""
        self._apart = True
        """Whether something was written since the last barrier that other threads might see, or that branches."""
        self.members: Val | None = None
        """The mask of the threads of a warp that come together at barriers; None where all of the CTA do."""
        self.ahead = False
        """Whether loops that are written here are a work-item's own, which should have several loads under way."""
        self._rare = False
        """Whether the code that is being written is hardly ever executed."""
        self._offsets: dict[str, tuple[Val, Val, int]] = {}
        """The offsets that are sums of what changes in outer loops, what does in the one around them, and a number."""
        self._sums: dict[str, tuple[Val, Val, int]] = {}
        """The i64 that are sums (1) or differences (-1) of two values."""
        self._powers: dict[str, int] = {}
        """The powers of two, up to `MOST_BYTES`, of which integers are known to be multiples."""
        self._loops: list[_WrittenLoop] = []
        """The loops around the code that is being written."""
        self.narrow = NarrowNumbers()
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
            counted = super().loop(start, stop, step, carried, saturate=saturate)
            with self._noted(_known_trips(first, end, distance)), counted as opened:
                yield opened
            return
        last = self.sub(self.sub(end, first), 1)
        count = self.add(self.binary("udiv", last, integer(distance)), 1)
        trips = self.select(self.compare("slt", first, end), count, integer(0))
        with self._noted(_known_trips(first, end, distance)), super().loop(0, trips, 1, carried) as opened:
            opened.index = self.add(first, self.mul(opened.index, distance))
            yield opened

    @contextmanager
    def _noted(self, trips: int | None) -> Iterator[None]:
        """A context for a loop that counts; where all its iterations are written out, what is around it has no loop."""
        around = [outer for outer in self._loops if outer.alone]
        self._mark_together()
        inner = _WrittenLoop(trips, self.length, ahead=self.ahead)
        self._loops.append(inner)
        yield
        self._loops.pop()
        if inner.in_full and around and around[-1] is self._loops[-1]:
            more = (trips or 1) - 1
            outer = around[-1]
            outer.alone = True
            outer.loads += (more + 1) * inner.loads
            outer.more += more * (self.length - inner.before) + (more + 1) * inner.more

    def repeat(
        self,
        carried: Sequence[Val],
        condition: Callable[[tuple[Val, ...]], Val],
        body: Callable[[tuple[Val, ...]], Sequence[Val]],
    ) -> tuple[Val, ...]:
        """The last carried values of a loop: while the condition holds for them, the body gives the next ones."""
        self._mark_together()
        return super().repeat(carried, condition, body)

    @contextmanager
    def _away(self) -> Iterator[None]:
        before, self._rare = self._rare, True
        with super()._away():
            yield
        self._rare = before

    def _mark_together(self) -> None:
        """Note that the loops around this place have more in them than what a thread does by itself, once."""
        for outer in self._loops:
            outer.alone = False

    def note_few(self) -> None:
        """Note that the loop around this place has loads that may be under way at once, and often few iterations."""
        self._loops[-1].ahead = self._loops[-1].few = True

    def advise(self, unroll: object) -> None:
        """Note what the program says of writing the iterations of the loop around this place behind each other.

        It may say that it should be done, as it is in any case where that is worth it, that it should not, or how many.
        """
        if unroll is False:
            self._loops[-1].asked = 1
        elif unroll is not True and isinstance(unroll, int) and unroll >= 1:
            self._loops[-1].asked = unroll

    def once_more(self, head: str) -> None:
        """End a loop that counts, with the number of its iterations that LLVM is to write behind each other.

        All where they are few, so that addresses are known numbers apart; else so many that several loads are under way
        at once. LLVM decides about loops without loads, and with others or with barriers in them.
        """
        loop = self._loops[-1]
        length = max(1, self.length - loop.before + loop.more)
        wanted = ""
        if loop.asked == 1 or (self._rare and loop.ways_out):
            # What is rarely executed should not take the registers of what is there for the usual case.
            wanted = '!{!"llvm.loop.unroll.disable"}'
        elif loop.asked is not None:
            wanted = f'!{{!"llvm.loop.unroll.count", i32 {loop.asked}}}'
        elif loop.ahead and loop.alone and loop.loads and not loop.ways_out and not self._rare:
            if loop.trips is not None and loop.trips * length <= _LONGEST_WRITTEN_OUT:
                wanted, loop.in_full = '!{!"llvm.loop.unroll.full"}', True
            else:
                count = 1
                most = _UNDER_WAY_OF_FEW if loop.few else _UNDER_WAY
                while 2 * count * loop.loads <= most and 2 * count * length <= _LONGEST_TOGETHER:
                    count *= 2
                wanted = f'!{{!"llvm.loop.unroll.count", i32 {count}}}' if count > 1 else ""
        if not wanted:
            self.jump(head)
            return
        # LLVM would have the assembler leave the loop over the rest as it is.
        rest = self.module.note('!{!"girih.rest"}')
        asked = self.module.note(wanted)
        left = self.module.note(f'!{{!"llvm.loop.unroll.followup_remainder", {rest}}}')
        # Its first operand is the node itself, which tells it from those of other loops.
        own = f"!{len(self.module.metadata)}"
        self.module.note(f"distinct !{{{own}, {asked}, {left}}}")
        self.line(f"br label %{head}, !llvm.loop {own}")

    def unknown(self, number: int) -> Val:
        """A number as an index that LLVM does not know: a loop with it as its end is not written out."""
        return self.effect("i64", f'call i64 asm "mov.b64 $0, $1;", "=l,l"(i64 {number})')

    # --- barriers ------------------------------------------------------------------------

    def label(self, name: str) -> None:
        self._apart = True
        super().label(name)

    def line(self, text: str) -> None:
        self._apart = True
        if _TOGETHER in text:
            self._mark_together()
        super().line(text)

    def effect(self, type: str, text: str) -> Val:
        self._apart = True
        if _TOGETHER in text:
            self._mark_together()
        elif self._loops and text.startswith("load "):
            self._loops[-1].loads += 1 if stored_bytes(type) <= 8 else 2
        return super().effect(type, text)

    def unreachable(self) -> None:
        for loop in self._loops:
            loop.ways_out = True
        super().unreachable()

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
        a, b = self.value(a), self.value(b)
        if opcode == "frem":
            return self._each(a, b)
        if a.text[0] != "%" and b.text[0] != "%":
            known = combined_numbers(opcode, a, b)
            if known is not None:
                return known
        found = super().binary(opcode, a, b)
        if opcode == "mul":
            self._note_product(found, a, b)
        if opcode in _NOTED and found.literal is None:
            if opcode in ("add", "sub") and found.type == "i64":
                self._sums[found.text] = a, b, 1 if opcode == "add" else -1
            if lanes(found.type) == 1:
                self._note_power(found, opcode, a, b)
        if is_narrow(found.type):
            self.narrow.note(opcode, a, b, found)
        return found

    def convert(self, opcode: str, a: Val, type: str) -> Val:
        """The value in another type; an integer in one of another width is a multiple of the same powers of two.

        Narrow integers become floats by arithmetic.
        """
        if opcode == "sitofp" and type == "float" and a.literal is None and is_narrow(a.type):
            return self.narrow.as_float(self, a)
        found = super().convert(opcode, a, type)
        if opcode in ("sext", "zext", "trunc") and a.text in self._powers:
            self._powers[found.text] = self._powers[a.text]
        return found

    def _note_power(self, found: Val, opcode: str, a: Val, b: Val) -> None:
        """Note of which power of two a result is a multiple."""
        x, y = self._power(a), self._power(b)
        if opcode == "shl":
            power = x << b.literal if b.literal is not None and 0 <= b.literal < bits(b.type) else x
        else:
            power = {"mul": x * y, "and": max(x, y)}.get(opcode, min(x, y))
        if power > 1:
            self._powers[found.text] = min(power, MOST_BYTES)

    def _power(self, a: Val) -> int:
        """A power of two of which an integer is a multiple, up to `MOST_BYTES`."""
        literal = a.literal
        if literal is None:
            return self._powers.get(a.text, 1)
        return min(literal & -literal or MOST_BYTES, MOST_BYTES)

    def note_offset(self, total: Val, outside: Val, inside: Val, known: int) -> None:
        """Note of which parts an offset is the sum: what changes in outer loops, what does in this one, and a number.

        LLVM would put others together: of each address it would take what changes slowly and what changes often as one,
        and find that anew for each access. So the first part is hidden from it.
        """
        self._offsets[total.text] = outside, inside, known

    def _note_product(self, product: Val, a: Val, b: Val) -> None:
        """Note the parts of an offset in bytes."""
        for offset, size in ((a, b.literal), (b, a.literal)):
            parts = self._offsets.get(offset.text)
            if size is not None and parts is not None and product.text not in self._offsets:
                outside, inside, known = parts
                self.note_offset(
                    product, self._hidden(self.mul(outside, size), size), self.mul(inside, size), known * size
                )

    def _hidden(self, a: Val, size: int) -> Val:
        """The offset of an element of some bytes, of which LLVM knows a power of two in it, if that is more than these.

        So LLVM finds out that accesses of a thread to neighbours begin at multiples of what they are together.
        """
        hidden = self.pure("i64", f'call i64 asm "", "=l,0"({a})', (a,))
        power = self._power(a)
        return super().binary("and", hidden, integer(-power)) if power > size else hidden

    def terms_of(self, a: Val) -> list[tuple[Val, int]]:
        """The values times 1 or -1 whose sum an i64 is; itself where all of these change as often as it does."""
        made = self._sums.get(a.text)
        if made is None or made[0].text == a.text or made[1].text == a.text:
            return [(a, 1)]
        x, y, sign = made
        terms = [*self.terms_of(x), *((term, sign * times) for term, times in self.terms_of(y))]
        changing = sum(term.level >= a.level and term.literal is None for term, _ in terms)
        return terms if changing < 2 and len(terms) <= _MOST_TERMS else [(a, 1)]

    def _each(self, a: Val, b: Val) -> Val:
        count = lanes(a.type)
        if count == 1:
            return remainder(self, a, b)
        parts = [remainder(self, self.extract(a, k), self.extract(b, k)) for k in range(count)]
        return self.join(parts)

    def far_angle(self, name: str, unit: int, known: int, x: Val) -> tuple[Val, Val] | None:
        """The angle of x units without whole turns, computed here: a GPU has no C library."""
        return angle_without_turns(self, name, unit, known, x)

    @property
    def near_power_of_two(self) -> Callable[[Val], Val]:
        """What writes 2^x of a `float` x, within 2 ulp where that is normal (PTX ISA "ex2")."""
        return self._power_of_two

    def _power_of_two(self, x: Val) -> Val:
        name = "llvm.nvvm.ex2.approx.ftz.f"
        return self.join([self.intrinsic(name, "float", self.extract(x, k)) for k in range(lanes(x.type))])

    # --- vectors -------------------------------------------------------------------------

    # There are no vectors in registers: what is said of their elements here, LLVM need not find out.

    def compare(self, predicate: str, a: Operand, b: Operand) -> Val:
        """The condition that `icmp` gives, or `fcmp` for floating types; of vectors, element by element."""
        a, b = self.value(a), self.value(b)
        count = lanes(a.type)
        if count == 1:
            return super().compare(predicate, a, b)
        return self.join(
            [Writer.compare(self, predicate, self.extract(a, k), self.extract(b, k)) for k in range(count)]
        )

    def any(self, mask: Val) -> Val:
        """Whether a condition holds in some lane."""
        found = self.extract(mask, 0)
        for number in range(1, lanes(mask.type)):
            found = self.binary("or", found, self.extract(mask, number))
        return found

    def all(self, mask: Val) -> Val:
        """Whether a condition holds in every lane."""
        found = self.extract(mask, 0)
        for number in range(1, lanes(mask.type)):
            found = self.binary("and", found, self.extract(mask, number))
        return found

    def at(self, pointer: Val, offset: Operand) -> Val:
        """The pointer moved by `offset` bytes; of vectors, element by element: LLVM follows no vectors of pointers."""
        offset = self.value(offset)
        count = max(lanes(pointer.type), lanes(offset.type))
        if count == 1:
            parts = self._offsets.get(offset.text)
            for part in parts if parts is not None else [offset]:
                pointer = super().at(pointer, part)
            return pointer
        return self.join([Writer.at(self, self.extract(pointer, k), self.extract(offset, k)) for k in range(count)])

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

    # LLVM has loads and stores under a mask, at neighbouring or at any addresses; NVPTX has none of them.

    def masked_load(self, type: str, pointer: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """The neighbouring elements for which the mask holds, `otherwise` for the others; one by one."""
        return self._each_loaded(
            type, lambda k: self.at(pointer, k * stored_bytes(scalar(type))), mask, align, otherwise
        )

    def gather(self, type: str, pointers: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """The elements at the addresses for which the mask holds, `otherwise` for the others; one by one."""
        return self._each_loaded(type, lambda k: self.extract(pointers, k), mask, align, otherwise)

    def masked_store(self, held: Val, pointer: Val, mask: Val, align: int) -> None:
        """Store the neighbouring elements for which the mask holds; one by one."""
        self._each_stored(held, lambda k: self.at(pointer, k * stored_bytes(scalar(held.type))), mask, align)

    def scatter(self, held: Val, pointers: Val, mask: Val, align: int) -> None:
        """Store elements at the addresses for which the mask holds; of equal addresses the last lane wins."""
        self._each_stored(held, lambda k: self.extract(pointers, k), mask, align)

    def _each_loaded(self, type: str, place: Callable[[int], Val], mask: Val, align: int, otherwise: Val) -> Val:
        known, found = lane_values(mask), otherwise
        for number in range(lanes(type)):
            if known is not None and not known[number]:
                continue

            def element(at: int = number) -> list[Val]:
                return [Writer.load(self, scalar(type), place(at), align)]

            def blank(at: int = number) -> list[Val]:
                return [self.extract(otherwise, at)]

            (one,) = element() if known is not None else self.either(self.extract(mask, number), element, blank)
            found = self.insert(found, one, number)
        return found

    def _each_stored(self, held: Val, place: Callable[[int], Val], mask: Val, align: int) -> None:
        known = lane_values(mask)
        for number in range(lanes(held.type)):
            if known is None:
                with self.when(self.extract(mask, number)):
                    Writer.store(self, self.extract(held, number), place(number), align)
            elif known[number]:
                Writer.store(self, self.extract(held, number), place(number), align)

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
