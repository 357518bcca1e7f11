"""The writer of one function of LLVM IR, instruction by instruction.

Pure instructions are folded if their operands are constants, written once if they repeat, and written before the
outermost loop in which their operands do not change. The text needs no clean-up by LLVM's optimiser: values have no
memory cells, no address arithmetic is redundant, and every loop is a loop of phis.

`Writer` is all of it, with loops and branches in this file; it extends `memory`, `instructions` and `function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field

from girih.back.llvm.emit.memory import MemoryInstructions
from girih.back.llvm.emit.text import Operand, Val, lanes
from girih.lazy_dataclass import dataclass


@dataclass(slots=True)
class Loop:
    """A loop that is being written: its index and the values that go from one iteration to the next.

    Set `following` before the loop is closed; afterwards `results` are the values after the last iteration.
    """

    index: Val
    values: tuple[Val, ...]
    following: Sequence[Val] = ()
    results: tuple[Val, ...] = ()


@dataclass(slots=True)
class Meeting:
    """A place to which several pieces of code go, each with its values: the blocks that they come from, and these."""

    label: str
    arrivals: list[tuple[str, tuple[Val, ...]]] = field(default_factory=list)


@dataclass(slots=True)
class RepeatedCode:
    """A loop that is being written, whose region says at its end whether there is a next iteration.

    `again` is the condition of that, or None where the end is not reached, and `following` are the next values.
    """

    values: tuple[Val, ...]
    following: Sequence[Val] = ()
    again: Val | None = None


class Writer(MemoryInstructions):
    """A function that is being written: all instructions, loops and branches."""

    # --- control -------------------------------------------------------------------------

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: Operand = 1, carried: Sequence[Val] = (), *, saturate: bool = False
    ) -> Iterator[Loop]:
        """A loop of `start`, `start + step`, ... below `stop` (signed, `i64`).

        With `saturate` the sum may exceed the largest number; the loop ends there.
        """
        first, end, distance = self.value(start), self.value(stop), self.value(step)
        with self._open() as (before, head):
            level = self.level
            index = Val(f"%{self.name('i')}", first.type, level)
            values = tuple(Val(f"%{self.name('c')}", c.type, level) for c in carried)
            phis = len(self._out)
            self._out.extend("" for _ in (index, *values))
            body, leave = self.name("body"), self.name("leave")
            inside = self.effect("i1", f"icmp slt {index}, {end.text}")
            self.line(f"br {inside}, label %{body}, label %{leave}")
            self.label(body)
            opened = Loop(index, values)
            yield opened
            if saturate:
                moved = self.saturated(index, distance)
            else:
                moved = self.effect(index.type, f"add {index}, {distance.text}")
            # Unseen by LLVM's reduction of strength, which takes cubic time in loops and gains nothing here.
            moved = self.opaque(moved)
            last = self._block
            self.once_more(head)
            pairs = [(index, first, moved), *zip(values, carried, opened.following, strict=True)]
            for number, (phi, entering, again) in enumerate(pairs):
                self._out[phis + number] = (
                    f"  {phi.text} = phi {phi.type} [ {entering.text}, %{before} ], [ {again.text}, %{last} ]"
                )
        self.label(leave)
        opened.results = values_after(values, self.level)

    def advise(self, unroll: object) -> None:
        """Note the hint `unroll` of the loop around this place, on machines that follow it."""

    def once_more(self, head: str) -> None:
        """End the last block of a loop that counts by going to its first one."""
        self.jump(head)

    def repeat(
        self,
        carried: Sequence[Val],
        condition: Callable[[tuple[Val, ...]], Val],
        body: Callable[[tuple[Val, ...]], Sequence[Val]],
    ) -> tuple[Val, ...]:
        """The last carried values of a loop: while the condition holds for them, the body gives the next ones."""
        with self._open() as (before, head):
            values = tuple(Val(f"%{self.name('c')}", c.type, self.level) for c in carried)
            phis = len(self._out)
            self._out.extend("" for _ in values)
            inside, leave = self.name("body"), self.name("leave")
            going = condition(values)
            self.line(f"br {going}, label %{inside}, label %{leave}")
            self.label(inside)
            following = body(values)
            last = self._block
            self.jump(head)
            for number, (phi, entering, again) in enumerate(zip(values, carried, following, strict=True)):
                self._out[phis + number] = (
                    f"  {phi.text} = phi {phi.type} [ {entering.text}, %{before} ], [ {again.text}, %{last} ]"
                )
        self.label(leave)
        return values_after(values, self.level)

    @contextmanager
    def repetition(self, carried: Sequence[Val], leave: Meeting) -> Iterator[RepeatedCode]:
        """A loop with values, of which the first iteration has `carried`. After the last one it goes to `leave`.

        The context ends with the block closed.
        """
        with self._open() as (before, head):
            values = tuple(Val(f"%{self.name('c')}", c.type, self.level) for c in carried)
            phis = len(self._out)
            self._out.extend("" for _ in values)
            opened = RepeatedCode(values)
            yield opened
            last = self._block
            if opened.again is not None and opened.again.literal is not None:
                self.jump(head)
            elif opened.again is not None:
                self.line(f"br {opened.again}, label %{head}, label %{leave.label}")
            for number, (phi, entering) in enumerate(zip(values, carried, strict=True)):
                pairs = f"[ {entering.text}, %{before} ]"
                if opened.again is not None:
                    pairs += f", [ {opened.following[number].text}, %{last} ]"
                self._out[phis + number] = f"  {phi.text} = phi {phi.type} {pairs}"
        if opened.again is not None and opened.again.literal is None:
            leave.arrivals.append((last, ()))

    def meeting(self) -> Meeting:
        """A place for later code, to which code that comes before it can go."""
        return Meeting(self.name("meet"))

    def arrive(self, meeting: Meeting, values: Sequence[Val] = ()) -> None:
        """End the block by going to a place with values."""
        meeting.arrivals.append((self._block, tuple(values)))
        self.jump(meeting.label)

    def arrive_unless(self, condition: Val, meeting: Meeting, values: Sequence[Val] = ()) -> None:
        """Go to a place with values where a condition does not hold, else continue here."""
        going = self.name("go")
        meeting.arrivals.append((self._block, tuple(values)))
        self.line(f"br {condition}, label %{going}, label %{meeting.label}")
        self.label(going)

    def ways(self, condition: Val) -> tuple[str, str]:
        """End the block by a branch: the labels of the blocks that are to be written for both cases."""
        yes, no = self.name("then"), self.name("else")
        self.line(f"br {condition}, label %{yes}, label %{no}")
        return yes, no

    def behind(self, meeting: Meeting) -> list[Val]:
        """Begin the block of a place that something goes to: the values that come with whoever comes."""
        self.label(meeting.label)
        (first, values), *others = meeting.arrivals
        merged = []
        for number, one in enumerate(values):
            pairs = [(label, given[number].text) for label, given in ((first, values), *others)]
            if all(text == one.text for _, text in pairs):
                merged.append(Val(one.text, one.type, min(one.level, self.level)))
                continue
            held = Val(f"%{self.name()}", one.type, self.level)
            listed = ", ".join(f"[ {text}, %{label} ]" for label, text in pairs)
            self._out.append(f"  {held.text} = phi {held.type} {listed}")
            merged.append(held)
        return merged

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A context for code that is not always executed where the code around it is."""
        with self._scope():
            yield

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        """A context for code that is executed only if a condition holds."""
        inside, after = self.name("then"), self.name("after")
        self.line(f"br {condition}, label %{inside}, label %{after}")
        self.label(inside)
        with self._scope():
            yield
        self.jump(after)
        self.label(after)

    def either(
        self,
        condition: Val,
        then: Callable[[], Sequence[Val]],
        otherwise: Callable[[], Sequence[Val]],
        *,
        rare: bool = False,
    ) -> list[Val]:
        """The values of one of two pieces of code, of which the condition decides which is executed.

        If the second is `rare`, it is laid out far away, and nothing of it is moved before the loops around it.
        """
        yes, no, after = self.name("then"), self.name("else"), self.name("after")
        weights = f", !prof {self._rare_weights()}" if rare else ""
        self.line(f"br {condition}, label %{yes}, label %{no}{weights}")
        self.label(yes)
        with self._scope():
            values = list(then())
            sizes = [_pieces(lanes(v.type)) for v in values]
            first = self._taken_apart(values, sizes)
        end_of_first = self._block
        self.jump(after)
        with self._away() if rare else nullcontext():
            self.label(no)
            with self._scope():
                second = self._taken_apart(list(otherwise()), sizes)
            end_of_second = self._block
            self.jump(after)
        self.label(after)
        merged = []
        for a, b in zip(first, second, strict=True):
            if a.text == b.text:
                merged.append(a)
                continue
            held = Val(f"%{self.name()}", a.type, self.level)
            pairs = f"[ {a.text}, %{end_of_first} ], [ {b.text}, %{end_of_second} ]"
            self._out.append(f"  {held.text} = phi {a.type} {pairs}")
            merged.append(held)
        parts = iter(merged)
        return [self.join([next(parts) for _ in counts]) for counts in sizes]

    def _taken_apart(self, values: Sequence[Val], sizes: Sequence[Sequence[int]]) -> list[Val]:
        """Vectors as pieces that go from block to block in registers: of other lengths, LLVM moves each element."""
        apart: list[Val] = []
        for value, counts in zip(values, sizes, strict=True):
            starts = [sum(counts[:number]) for number in range(len(counts))]
            whole = len(counts) == 1
            apart += [value] if whole else [self.part(value, a, n) for a, n in zip(starts, counts, strict=True)]
        return apart

    def unlikely(self, condition: Val, body: Callable[[], None], *, returns: bool = False) -> None:
        """Execute code that is laid out far away if a condition holds.

        `body` ends its block itself, by `ret` or a branch, unless it `returns` to this place.
        """
        if condition.literal == 0:
            return
        away, after = self.name("cold"), self.name("go")
        self.line(f"br {condition}, label %{away}, label %{after}, !prof {self._rare_weights(first=True)}")
        with self._away():
            self.label(away)
            with self._scope():
                body()
            if returns:
                self.jump(after)
        self.label(after)

    def _rare_weights(self, *, first: bool = False) -> str:
        """The metadata of a branch whose second, or first, way is hardly ever taken."""
        weights = "i32 1, i32 2000" if first else "i32 2000, i32 1"
        if weights not in self._weights:
            self._weights[weights] = self.module.note(f'!{{!"branch_weights", {weights}}}')
        return self._weights[weights]


def _pieces(count: int) -> list[int]:
    """The powers of two that a number of elements consists of, largest first."""
    return [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]


def values_after(values: Sequence[Val], level: int) -> tuple[Val, ...]:
    """The values of a loop, as they are for code after the loop, at depth `level`."""
    return tuple(Val(v.text, v.type, level) for v in values)
