"""Random shader code that is defined everywhere, and what it is executed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

from girih.back.llvm.emit.text import Val, floating, integer
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderMember,
    ShaderNode,
    ShaderRoutine,
)
from tests.back.spirv.evaluate import Evaluation

ELEMENTS = 16
"""The elements of 8 bytes of each memory; a power of two."""
LOCAL_SIZE, SUBGROUP_SIZE = 8, 4
LARGEST_INDEX = 1 << 28
MEMBERS = {"A_size0": "i64", "A_stride1": "i64", "i": "i64", "n": "i32", "alpha": "float"}
RANGES = {"A_size0": (0, LARGEST_INDEX), "A_stride1": (0, LARGEST_INDEX), "i": (-LARGEST_INDEX, LARGEST_INDEX)}
INTEGERS = ("i64", "i64", "i64", "i32", "i32", "i16", "i8")
EDGES = (0, 0, 1, 1, 2, 3, -1, 7, 8, 15, 16, 31, 32, 63, 127, 1 << 28, (1 << 31) - 1, 1 << 31, -(1 << 31),
         1 - (1 << 31), -(1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 62) - 1, (1 << 63) - 1, -(1 << 63))  # fmt: skip
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


class Generator:
    """What makes a shader of about `size` statements out of a seed."""

    def __init__(self, seed: int, size: int = 60) -> None:
        self.random = Random(seed)
        self.left = size
        self.count = 0
        self.scopes: list[list[Val]] = [[]]
        self.block = ShaderBlock()
        self.memories = [
            ShaderMemory(MemoryKind.BUFFER, "A", 0, types=dict.fromkeys(("i64", "i32", "i16", "float"))),
            ShaderMemory(MemoryKind.BUFFER, "B", 1, types=dict.fromkeys(("i32", "float"))),
            ShaderMemory(MemoryKind.SHARED, "shared", size=8 * ELEMENTS, element="i64", types={"i64": None}),
            ShaderMemory(MemoryKind.PRIVATE, "own", size=8 * ELEMENTS, element="i32", types={"i32": None}),
            ShaderMemory(MemoryKind.ADDRESS, "address", types=dict.fromkeys(("i32", "i64"))),
        ]
        self.code = ShaderCode("random", LOCAL_SIZE, SUBGROUP_SIZE, self.memories)
        self.code.members = [ShaderMember(name, type, 8 * k) for k, (name, type) in enumerate(MEMBERS.items())]

    # --- values --------------------------------------------------------------------------

    def new(self, type: str) -> Val:
        """A value that is not defined yet."""
        self.count += 1
        return Val(f"%v{self.count}", type)

    def write(self, op: str, type: str | None, *operands: Val, details: tuple[object, ...] = ()) -> Val:
        """Write a node; its result."""
        result = self.new(type) if type is not None else None
        self.block.statements.append(ShaderNode(op, operands, result, details, exact=self.random.random() < 0.9))
        if result is None:
            return operands[0]
        self.scopes[-1].append(result)
        return result

    def constant(self, type: str) -> Val:
        """A constant, often at an end of an interval."""
        if type == "float":
            return floating(self.random.choice([0.0, 1.0, -2.5, 0.1]), type)
        return integer(self.random.choice(EDGES), type)

    def pick(self, type: str) -> Val:
        """A value of a type: one that there is, or a constant."""
        there = [v for scope in self.scopes for v in scope if v.type == type]
        recent = there[-6:] if self.random.random() < 0.6 else there
        return self.random.choice(recent) if recent and self.random.random() < 0.85 else self.constant(type)

    def small(self, type: str, most: int) -> Val:
        """A value from 0 to `most`, one less than a power of two."""
        if self.random.random() < 0.3:
            return integer(self.random.randint(0, most), type)
        return self.write("and", type, self.pick(type), integer(most, type))

    # --- nodes ---------------------------------------------------------------------------

    def node(self) -> None:
        """Write some node."""
        often = (self.arithmetic,) * 6 + (self.comparison,) * 2 + (self.conversion,) * 3
        kinds = (*often, self.parameter, self.load, self.store, self.selection, self.real, self.divided, self.moved)
        self.random.choice(kinds)()

    def arithmetic(self) -> None:
        """A sum, product, shift or the like."""
        type = self.random.choice(INTEGERS)
        op = self.random.choice(("add", "add", "sub", "mul", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "smin",
                                 "smax", "umin", "umax", "ctpop"))  # fmt: skip
        if op == "ctpop":
            self.write(op, type, self.pick(type))
        elif op in ("shl", "lshr", "ashr"):
            self.write(op, type, self.pick(type), self.small(type, BITS[type] - 1))
        else:
            self.write(op, type, self.pick(type), self.pick(type))

    def divided(self) -> None:
        """A quotient or a remainder; the divisor is positive."""
        type = self.random.choice(INTEGERS)
        op = self.random.choice(("sdiv", "udiv", "srem", "urem"))
        divisor = integer(self.random.choice((1, 2, 3, 4, 7, 64)), type)
        if self.random.random() < 0.5:
            divisor = self.write("smax", type, self.pick(type), integer(1, type))
        self.write(op, type, self.pick(type), divisor)

    def comparison(self) -> None:
        """A condition."""
        if self.random.random() < 0.2:
            self.write(self.random.choice(("and", "or", "xor")), "i1", self.pick("i1"), self.pick("i1"))
            return
        type = self.random.choice(INTEGERS)
        op = self.random.choice(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))
        self.write(op, "i1", self.pick(type), self.pick(type))

    def conversion(self) -> None:
        """An integer of another type."""
        source, type = self.random.sample(("i1", "i8", "i16", "i32", "i32", "i64", "i64"), 2)
        if source == type:
            return
        op = "trunc" if BITS.get(source, 1) > BITS.get(type, 1) else self.random.choice(("sext", "zext"))
        self.write(op, type, self.pick(source))

    def parameter(self) -> None:
        """A member or a built-in."""
        if self.random.random() < 0.6:
            name, type = self.random.choice(list(MEMBERS.items()))
            self.write("member", type, details=(name,))
            return
        name = self.random.choice(("work_group_id", "num_work_groups", "subgroup_id", "subgroup_local_id"))
        result = self.write("built_in", "i32", details=(name, 0))
        self.write(self.random.choice(("sext", "zext")), "i64", result)

    def element(self, size: int) -> Val:
        """The number of an element of memory with elements of `size` bytes."""
        type = self.random.choice(("i64", "i64", "i32"))
        most = ELEMENTS * 8 // size - 1
        if self.random.random() < 0.5:
            return self.small(type, most)
        # In halves, so that the place is a sum whose parts are not masked where it is used.
        a, b = self.small(type, most // 2), self.small(type, most // 2)
        return self.write("add", type, a, b)

    def place(self) -> tuple[ShaderMemory, str, Val]:
        """A place in memory, and the type of its elements."""
        memory = self.random.choice(self.memories)
        type = self.random.choice(list(memory.types))
        size = {"i64": 8, "i16": 2}.get(type, 4)
        element = self.element(size)
        if memory.kind is MemoryKind.ADDRESS:
            wide = element if element.type == "i64" else self.write("sext", "i64", element)
            element = self.write("mul", "i64", wide, integer(size))
        return memory, type, element

    def load(self) -> None:
        """A load, sometimes of a float that is stored as an integer."""
        memory, type, element = self.place()
        value = self.write("load", type, element, details=(memory, type))
        if type == "i32" and self.random.random() < 0.5:
            self.write("bitcast", "float", value)

    def store(self) -> None:
        """A store or an atomic sum."""
        memory, type, element = self.place()
        value = self.pick(type)
        if type == "i32" and self.random.random() < 0.3:
            value = self.write("bitcast", "i32", self.pick("float"))
        if type in ("i32", "i64") and memory.kind is MemoryKind.BUFFER and self.random.random() < 0.4:
            self.write("atomic", type, element, value, details=(memory, type, "add", "device", ""))
        else:
            self.write("store", None, value, element, details=(memory, type))

    def selection(self) -> None:
        """One of two values."""
        type = self.random.choice((*INTEGERS, "float"))
        self.write("select", type, self.pick("i1"), self.pick(type), self.pick(type))

    def real(self) -> None:
        """A float, or a number as a float."""
        if self.random.random() < 0.5:
            type = self.random.choice(INTEGERS)
            self.write(self.random.choice(("sitofp", "uitofp")), "float", self.pick(type))
        elif self.random.random() < 0.3:
            self.write("fneg", "float", self.pick("float"))
        else:
            self.write(self.random.choice(("fadd", "fmul", "fsub")), "float", self.pick("float"), self.pick("float"))

    def moved(self) -> None:
        """What another work-item of the subgroup has, or all have together, or a routine."""
        type = self.random.choice(("i32", "i64"))
        match self.random.randrange(4):
            case 0:
                self.write("broadcast", type, self.pick(type), integer(0, "i32"))
            case 1:
                operation = self.random.choice(("add", "smin", "smax"))
                self.write("group", type, self.pick(type), details=(operation, "reduce"))
            case 2:
                self.write("shuffle", type, self.pick(type), self.pick("i32"))
            case _ if self.code.routines:
                routine = self.random.choice(self.code.routines)
                operands = [self.pick(p.type) for p in routine.parameters]
                self.write("call", routine.result.type if routine.result else None, *operands, details=(routine,))

    # --- structure -----------------------------------------------------------------------

    @contextmanager
    def inside(self) -> Iterator[ShaderBlock]:
        """A block that is written."""
        outer, self.block = self.block, ShaderBlock()
        self.scopes.append([])
        yield self.block
        self.scopes.pop()
        self.block = outer

    def statements(self, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.random.randint(2, 9)):
            if self.left <= 0:
                return
            self.left -= 1
            if depth < 4 and self.random.random() < 0.2:
                self.random.choice((self.branch, self.branch, self.check, self.loop, self.loop, self.repeat))(depth)
            else:
                self.node()

    def types(self) -> list[str]:
        """The types of what a branch gives, or a loop carries."""
        return self.random.choices(("i64", "i64", "i32", "i16", "i1", "float"), k=self.random.randint(0, 3))

    def branch(self, depth: int) -> None:
        """A branch with results."""
        one = BranchStatement(self.pick("i1"))
        types = self.types()
        with self.inside() as one.then:
            self.statements(depth + 1)
            first = [self.pick(type) for type in types]
        with self.inside() as one.otherwise:
            self.statements(depth + 1)
            second = [self.pick(type) for type in types]
        one.results = [(self.new(a.type), a, b) for a, b in zip(first, second, strict=True)]
        self.block.statements.append(one)
        self.scopes[-1] += [value for value, _, _ in one.results]

    def check(self, depth: int) -> None:
        """A check that writes words and leaves the shader where it fails."""
        type = self.random.choice(("i64", "i32"))
        index, size = self.pick(type), self.pick(type)
        one = BranchStatement(self.write(self.random.choice(("uge", "sge", "sgt")), "i1", index, size))
        with self.inside() as one.then:
            if type == "i64":
                low = self.write("trunc", "i32", index)
                high = self.write("trunc", "i32", self.write("lshr", "i64", index, integer(32)))
                for place, word in enumerate((low, high)):
                    where = (self.memories[1], "i32")
                    self.write("store", None, word, integer(place, "i32"), details=where)
            self.block.statements.append(LeaveStatement())
        self.block.statements.append(one)

    def carry(self) -> tuple[list[CarriedValue], list[str]]:
        """Values that a loop carries, without those of the next iteration."""
        types = self.types()
        carried = [CarriedValue(self.new(type), self.pick(type), Val("", type)) for type in types]
        return carried, types

    def loop(self, depth: int) -> None:
        """A loop over a short range, which may lie at the end of the numbers."""
        type = self.random.choice(("i64", "i64", "i32"))
        start = self.small(type, 7)
        if self.random.random() < 0.3:
            edges = ((1 << 31) - 3, (1 << 31) - 9, -(1 << 31)) if type == "i64" else (-(1 << 31), -5)
            start = integer(self.random.choice(edges), type)
        elif self.random.random() < 0.2:
            start = integer((1 << BITS[type] - 1) - 4, type)
        stop = self.write("add", type, start, self.small(type, 3))
        step = integer(self.random.choice((1, 1, 2, 5)), type)
        carried, types = self.carry()
        one = LoopStatement(self.new(type), start, stop, step, carried)
        with self.inside() as one.body:
            self.scopes[-1] += [one.index, *(c.value for c in carried)]
            self.statements(depth + 1)
            for c, wanted in zip(carried, types, strict=True):
                c.following = self.pick(wanted)
        self.block.statements.append(one)
        self.scopes[-1] += [c.value for c in carried]

    def repeat(self, depth: int) -> None:
        """A loop with a condition, which a counter ends."""
        carried, types = self.carry()
        type = self.random.choice(("i64", "i32"))
        counter = CarriedValue(self.new(type), integer(0, type), Val("", type))
        one = RepeatStatement([counter, *carried])
        with self.inside() as one.head:
            self.scopes[-1] += [c.value for c in one.carried]
            one.condition = self.write("slt", "i1", counter.value, integer(self.random.randint(0, 4), type))
            if self.random.random() < 0.5:
                one.condition = self.write("and", "i1", one.condition, self.pick("i1"))
        with self.inside() as one.body:
            self.scopes[-1] += [c.value for c in one.carried]
            self.statements(depth + 1)
            for c, wanted in zip(carried, types, strict=True):
                c.following = self.pick(wanted)
            counter.following = self.write("add", type, counter.value, integer(1, type))
        self.block.statements.append(one)
        self.scopes[-1] += [c.value for c in one.carried]

    def routine(self) -> None:
        """A routine of some numbers."""
        parameters = [self.new(type) for type in self.random.choices(("i64", "i32"), k=2)]
        one = ShaderRoutine(f"routine{len(self.code.routines)}", parameters)
        outer, self.scopes = self.scopes, [[]]
        with self.inside() as one.body:
            self.scopes[-1] += parameters
            for _ in range(5):
                self.random.choice((self.arithmetic, self.conversion, self.selection, self.comparison))()
            one.result = self.pick(self.random.choice(("i64", "i32")))
        self.scopes = outer
        self.code.routines.append(one)

    def shader(self) -> ShaderCode:
        """The shader, which stores some of what it has in the end."""
        for _ in range(self.random.randint(0, 2)):
            self.routine()
        self.parameter()
        self.parameter()
        while self.left > 0:
            self.statements(0)
        for place in range(4):
            type = self.random.choice(("i64", "i32", "float"))
            where = (self.memories[0], type)
            self.write("store", None, self.pick(type), integer(place), details=where)
        self.code.body = self.block
        return self.code


def random_code(seed: int, size: int = 60) -> ShaderCode:
    """The shader of a seed."""
    return Generator(seed, size).shader()


def executed(code: ShaderCode, seed: int, bounds: Mapping[str, tuple[int, int]] | None = None) -> Evaluation:
    """The evaluation of some work-items one after the other, with parameters and memory of a seed."""
    random = Random(seed)
    memory = {name: bytearray(random.randbytes(8 * ELEMENTS)) for name in ("A", "B", "address")}
    memory |= {name: bytearray(8 * ELEMENTS) for name in ("shared", "own")}
    sizes = (0, 1, 5, 16, 1000, LARGEST_INDEX)
    members: dict[str, int | float] = {
        "A_size0": random.choice(sizes),
        "A_stride1": random.choice(sizes),
        "i": random.choice((*sizes, -1, -LARGEST_INDEX)),
        "n": random.choice((0, -1, 3, -(1 << 31), (1 << 31) - 1)),
        "alpha": random.choice((0.0, 1.5, -3.0)),
    }
    built_ins = {("num_work_groups", 0): random.choice((2, 1 << 20)), ("work_group_id", 0): 0}
    one = Evaluation(code, members, built_ins, memory, bounds or {})
    for item in (0, 5):
        one.built_ins = {
            **built_ins,
            ("work_group_id", 0): random.randrange(built_ins["num_work_groups", 0]),
            ("subgroup_id", 0): item // SUBGROUP_SIZE,
            ("subgroup_local_id", 0): item % SUBGROUP_SIZE,
        }
        memory["own"][:] = bytes(8 * ELEMENTS)
        one.run()
    return one
