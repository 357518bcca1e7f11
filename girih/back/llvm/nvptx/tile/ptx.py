"""The instructions of Hopper that roles of a tile program work with, as inline PTX.

Addresses in shared memory are `i32`s, as the instructions take them. All of these stay in their order: they read and
write memory for LLVM. Names in docstrings are sections of the PTX ISA.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.lazy_dataclass import dataclass

WARPGROUP = 128
"""The threads that multiply together."""

_TOGETHER = " convergent nounwind"
_ALONE = " nounwind"

_MANY = 16
"""So many results of one instruction have a type with a name: LLVM reads its text for each result otherwise."""


@dataclass(frozen=True, slots=True)
class TilePtx:
    """The instructions, written to one function."""

    w: Writer

    def line(self, text: str, constraints: str = "", *operands: Val, alone: bool = False) -> None:
        """An instruction without results; threads execute it together, unless `alone`."""
        listed = ",".join(part for part in (constraints, "~{memory}") if part)
        attributes = _ALONE if alone else _TOGETHER
        self.w.line(f'call void asm sideeffect "{text}", "{listed}"({", ".join(map(str, operands))}){attributes}')

    def results(
        self, text: str, types: Sequence[str], constraints: Sequence[str], operands: Sequence[Val]
    ) -> list[Val]:
        """The results, of some types, of an instruction that the threads of a warpgroup execute together."""
        result = types[0] if len(types) == 1 else self._together(types)
        listed, where = ", ".join(map(str, operands)), ",".join([*constraints, "~{memory}"])
        held = self.w.effect(result, f'call {result} asm sideeffect "{text}", "{where}"({listed}){_TOGETHER}')
        if len(types) == 1:
            return [held]
        return [self.w.field(held, number, type) for number, type in enumerate(types)]

    def _together(self, types: Sequence[str]) -> str:
        """The type of several results; of many it has a name, as it stands in a line for each of them."""
        written = f"{{ {', '.join(types)} }}"
        if len(types) < _MANY:
            return written
        globals = self.w.module.globals
        name = "%girih." + "".join(f"{len(list(same))}.{type}." for type, same in groupby(types))
        globals.setdefault(name, f"{name} = type {written}")
        return name

    # --- who, and how many registers -----------------------------------------------------

    def same_in_warp(self, a: Val) -> Val:
        """An i32 that all threads of a warp have alike, so that the assembler knows it ("shfl.sync")."""
        text = 'call i32 asm sideeffect "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r"'
        return self.w.effect("i32", f"{text}({a}){_TOGETHER}")

    def give_registers(self, count: int, *, more: bool) -> None:
        """Let the threads of the warpgroup have so many registers, more or fewer than before ("setmaxnreg")."""
        self.line(f"setmaxnreg.{'inc' if more else 'dec'}.sync.aligned.u32 {count};")

    # --- barriers ------------------------------------------------------------------------

    def init_barrier(self, barrier: Val, arrivals: int) -> None:
        """Make an mbarrier for so many arrivals a phase ("mbarrier.init")."""
        self.line(f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", "r", barrier, alone=True)

    def show_barriers(self) -> None:
        """Let the copy engine see mbarriers that this thread has made ("fence")."""
        self.line("fence.mbarrier_init.release.cluster;", alone=True)
        self.line("fence.proxy.async.shared::cta;", alone=True)

    def wait(self, barrier: Val, parity: Val) -> None:
        """Wait until the phase of a parity of an mbarrier is complete ("mbarrier.try_wait")."""
        self.line(
            "{ .reg .pred there; again: mbarrier.try_wait.parity.shared::cta.b64 there, [$0], $1; "
            "@there bra done; bra again; done: }",
            "r,r", barrier, parity,
        )  # fmt: skip

    def expect(self, barrier: Val, bytes: int) -> None:
        """Arrive at an mbarrier, whose phase is complete when so many bytes have come ("mbarrier.arrive")."""
        self.line(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {bytes};", "r", barrier, alone=True)

    def arrive(self, barrier: Val) -> None:
        """Arrive at an mbarrier."""
        self.line("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", barrier, alone=True)

    def meet_warp(self) -> None:
        """Wait for all threads of the warp, and see what they wrote ("bar.warp.sync")."""
        self.line("bar.warp.sync -1;")

    def meet(self, number: Val, threads: int) -> None:
        """Wait at a named barrier for so many threads ("bar")."""
        self.line(f"bar.sync $0, {threads};", "r", number)

    def pass_by(self, number: Val, threads: int) -> None:
        """Arrive at a named barrier without waiting ("bar")."""
        self.line(f"bar.arrive $0, {threads};", "r", number)

    # --- parts of the depth --------------------------------------------------------------

    def store_global(self, place: Val, words: Sequence[Val]) -> None:
        """Store four words in global memory, at a multiple of 16 bytes ("st")."""
        self.line("st.global.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r", place, *words, alone=True)

    def load_global(self, place: Val) -> list[Val]:
        """Four words of global memory that other CTAs wrote, at a multiple of 16 bytes ("ld")."""
        return self.results("ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", ["i32"] * 4, [*["=r"] * 4, "l"], [place])

    def fence_device(self) -> None:
        """Order what was read and written before, in memory of the device, before what follows ("fence.acq_rel")."""
        self.line("fence.acq_rel.gpu;", alone=True)

    def count_around(self, place: Val, most: int) -> Val:
        """The number at an address, which becomes one more, or zero behind the most ("atom.inc")."""
        text = f"atom.acq_rel.gpu.global.inc.u32 $0, [$1], {most};"
        return self.w.effect("i32", f'call i32 asm sideeffect "{text}", "=r,l,~{{memory}}"({place}){_ALONE}')

    def any_of(self, number: Val, threads: int, one: Val) -> Val:
        """Whether a number is not zero for any of so many threads, which wait for each other ("bar.red")."""
        text = (
            "{ .reg .pred mine, any; setp.ne.b32 mine, $2, 0; "
            f"bar.red.or.pred any, $1, {threads}, mine; selp.b32 $0, 1, 0, any; }}"
        )
        (found,) = self.results(text, ["i32"], ["=r", "r", "r"], [number, one])
        return self.w.compare("ne", found, word(0))

    # --- the copy engine -----------------------------------------------------------------

    def prefetch_map(self, map: Val) -> None:
        """Fetch a tensor map ahead of its use ("prefetch")."""
        self.line("prefetch.tensormap [$0];", "l", map, alone=True)

    def load_box(self, place: Val, map: Val, at: Sequence[Val], barrier: Val) -> None:
        """Start to fill shared memory with a box, which an mbarrier counts ("cp.async.bulk.tensor")."""
        rank = len(at)
        numbers = ", ".join(f"${k}" for k in range(3, 3 + rank))
        opcode = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
        constraints = ",".join(["r", "l", "r", *["r"] * rank])
        self.line(f"{opcode} [$0], [$1, {{{numbers}}}], [$2];", constraints, place, map, barrier, *at, alone=True)

    def store_box(self, map: Val, at: Sequence[Val], place: Val) -> None:
        """Start to store a box from shared memory, as part of the thread's next group of stores."""
        rank = len(at)
        numbers = ", ".join(f"${k}" for k in range(2, 2 + rank))
        opcode = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
        constraints = ",".join(["l", "r", *["r"] * rank])
        self.line(f"{opcode} [$0, {{{numbers}}}], [$1];", constraints, map, place, *at, alone=True)

    def commit_stores(self) -> None:
        """End the thread's group of stores ("cp.async.bulk.commit_group")."""
        self.line("cp.async.bulk.commit_group;", alone=True)

    def wait_for_stores(self, pending: int, *, read: bool) -> None:
        """Wait until all but the last `pending` groups of stores have been made, or only read their shared memory."""
        self.line(f"cp.async.bulk.wait_group{'.read' if read else ''} {pending};", alone=True)

    def show_writes(self) -> None:
        """Let the copy engine see what this thread wrote to shared memory ("fence.proxy")."""
        self.line("fence.proxy.async.shared::cta;")

    # --- products ------------------------------------------------------------------------

    def begin_products(self) -> None:
        """Let products see registers that were written ("wgmma.fence")."""
        self.line("wgmma.fence.sync.aligned;")

    def commit_products(self) -> None:
        """End a group of products ("wgmma.commit_group")."""
        self.line("wgmma.commit_group.sync.aligned;")

    def wait_for_products(self, pending: int, through: Sequence[Val], seen: Sequence[Val] = ()) -> list[Val]:
        """Wait until no more than `pending` groups run; the values of registers that go `through` the wait.

        Registers that are `seen` are in use until then ("wgmma.wait_group").
        """
        text = f"wgmma.wait_group.sync.aligned {pending};"
        if not through:
            self.line(text, ",".join(_register(one.type) for one in seen), *seen)
            return []
        types = [one.type for one in through]
        outputs = [f"={_register(type)}" for type in types]
        inputs = [*map(str, range(len(types))), *(_register(one.type) for one in seen)]
        return self.results(text, types, [*outputs, *inputs], [*through, *seen])

    def here(self, a: Val) -> Val:
        """The same value, with which LLVM computes nothing in front of this place."""
        return self.results("", [a.type], [f"={_register(a.type)}", "0"], [a])[0]

    # --- shared memory -------------------------------------------------------------------

    def load_piece(self, place: Val) -> list[Val]:
        """Four words of global memory, at a multiple of 16 bytes ("ld.global.nc")."""
        return self.results("ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", ["i32"] * 4, [*["=r"] * 4, "l"], [place])

    def generic(self, place: Val) -> Val:
        """The generic address of a byte of shared memory, an i64 ("cvta")."""
        return self.results("cvta.shared.u64 $0, $1;", ["i64"], ["=l", "l"], [self.w.convert("zext", place, "i64")])[0]

    def load_word_of(self, address: Val) -> Val:
        """A word at a generic address, an i64 that is a multiple of 4 ("ld")."""
        return self.results("ld.b32 $0, [$1];", ["i32"], ["=r", "l"], [address])[0]

    def load_word(self, place: Val) -> Val:
        """A word of global memory, at a multiple of 4 bytes; what lies around it will be asked for ("ld.global.nc")."""
        return self.results("ld.global.nc.L2::256B.b32 $0, [$1];", ["i32"], ["=r", "l"], [place])[0]

    def load_part(self, place: Val, size: int) -> Val:
        """1, 2 or 4 bytes of global memory, at a multiple of so many, as the low part of a word ("ld.global.nc")."""
        return self.results(f"ld.global.nc.{_PARTS[size]} $0, [$1];", ["i32"], ["=r", "l"], [place])[0]

    def load_part_below(self, place: Val, size: int, number: Val, end: Val) -> Val:
        """The same if a number without sign is below another, else zero."""
        text = (
            "{ .reg .pred there; setp.lt.u32 there, $2, $3; mov.b32 $0, 0; "
            f"@there ld.global.nc.{_PARTS[size]} $0, [$1]; }}"
        )
        return self.results(text, ["i32"], ["=&r", "l", "r", "r"], [place, number, end])[0]

    def joined(self, low: Val, high: Val, bits: Val) -> Val:
        """The word that begins so many bits, fewer than 32, behind the begin of two words ("shf")."""
        return self.results("shf.r.wrap.b32 $0, $1, $2, $3;", ["i32"], ["=r", "r", "r", "r"], [low, high, bits])[0]

    def store_piece(self, place: Val, words: Sequence[Val]) -> None:
        """Store four words in shared memory, at a multiple of 16 bytes ("st")."""
        self.line("st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r", place, *words, alone=True)

    def store_component(self, place: Val, held: Val) -> None:
        """Store a number of 8 to 64 bits in shared memory ("st")."""
        w, bits = self.w, int(held.type[1:])
        letter = {16: "h", 64: "l"}.get(bits, "r")
        value = w.convert("zext", held, "i32") if bits == 8 else held
        self.line(f"st.shared.b{bits} [$0], $1;", f"r,{letter}", place, value, alone=True)

    def store_fragments(self, place: Val, words: Sequence[Val], *, turned: bool) -> None:
        """Store matrices of 8 x 8 numbers of 16 bits, each thread giving the place of a line ("stmatrix")."""
        count = len(words)
        listed = ", ".join(f"${k}" for k in range(1, 1 + count))
        way = ".trans" if turned else ""
        text = f"stmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16 [$0], {{{listed}}};"
        self.line(text, ",".join(["r"] * (1 + count)), place, *words)


_PARTS = {1: "u8", 2: "u16", 4: "b32"}
_REGISTERS = {"float": "f", "double": "d", "i16": "h", "i32": "r", "i64": "l"}


def _register(type: str) -> str:
    """The constraint of a register of a type."""
    return _REGISTERS[type]


def word(value: int) -> Val:
    """An i32."""
    return integer(value, "i32")
