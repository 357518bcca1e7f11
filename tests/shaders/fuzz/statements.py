"""Random statements of GLSL: every loop ends, and barriers stand where all work-items come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.shaders.fuzz.expressions import Expressions, Function, Variable
from tests.shaders.fuzz.types import BOOL, FLOAT, INT, UINT, Array, Matrix, Scalar, Struct, Type, Vector, declared

COUNTERS = ("atomicAdd", "atomicMin", "atomicMax", "atomicOr", "atomicAnd", "atomicXor")
"""What is done with a counter, by its number modulo six: one operation each, so that no order shows."""


@dataclass(frozen=True)
class Place:
    """Where a statement stands."""

    depth: int = 0
    loops: int = 0
    uniform: bool = False
    """All work-items come here together."""
    breaks: bool = False
    continues: bool = False
    result: Type | None = None
    function: bool = False


@dataclass
class Statements:
    """What writes statements, one line each, of the expressions that can be made."""

    expressions: Expressions
    types: tuple[Type, ...]
    work_items: int
    atomics: bool = False
    shared: bool = False
    subgroups: bool = False
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def write(self, place: Place, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * (place.depth + 1) + text)

    def name(self) -> str:
        """A new name."""
        self.count += 1
        return f"v{self.count}"

    def body(self, place: Place, most: int) -> None:
        """Some statements, whose variables are out of sight behind."""
        known = len(self.expressions.variables)
        for _ in range(self.expressions.random.randint(1, most)):
            self.statement(place)
        del self.expressions.variables[known:]

    def statement(self, place: Place) -> None:
        """A statement."""
        r = self.expressions.random
        self.expressions.fuel = r.choice((2, 6, 14))
        ways: list[tuple[Callable[[Place], None], float]] = [
            (self.declaration, 3), (self.assignment, 5), (self.note, 3), (self.call, 2), (self.whole, 0.7),
        ]  # fmt: skip
        if place.depth < 5:
            ways += [(self.branch, 3)]
            if place.depth < 4:
                ways += [(self.switch, 1.2)]
            if place.loops < 3 - place.function:
                ways += [(self.loop, 2.2)]
        if place.breaks or place.continues:
            ways += [(self.jump, 1.5)]
        if place.function and place.depth:
            ways += [(self.early_return, 0.8)]
        if self.atomics:
            ways += [(self.atomic, 0.8)]
        if self.shared and place.uniform:
            ways += [(self.exchange, 4)]
        if self.subgroups and not place.function:
            ways += [(self.subgroup, 4)]
        r.choices([way for way, _ in ways], [weight for _, weight in ways])[0](place)

    # --- variables ---------------------------------------------------------------------------
    def declaration(self, place: Place) -> None:
        """A variable with a value."""
        type = self.expressions.random.choice(self.types)
        name = self.name()
        self.write(place, f"{declared(type, name)} = {self.expressions.value(type, 3)};")
        self.expressions.variables.append(Variable(name, type))

    def assignment(self, place: Place) -> None:
        """A change of a scalar, vector, or some components of one."""
        e, r = self.expressions, self.expressions.random
        found = e.place(written=True)
        if found is None:
            return self.declaration(place)
        text, type, _ = found
        if isinstance(type, Vector):
            if r.random() < 0.4:
                count = r.randint(2, type.size)
                letters = "".join(r.sample("xyzw"[: type.size], count))
                self.write(place, f"{text}.{letters} = {e.value(Vector(type.scalar, count), 2)};")
            else:
                self.write(place, f"{text} = {e.value(type, 3)};")
        elif isinstance(type, Scalar) and type.kind in "iu" and r.random() < 0.4:
            if r.random() < 0.3:
                self.write(place, f"{text}{r.choice(('++', '--'))};")
            else:
                self.write(place, f"{text} {r.choice(('+=', '-=', '^=', '*=', '|='))} {e.integer(type, 3)};")
        else:
            self.write(place, f"{text} = {e.value(type, 3)};")
        return None

    def whole(self, place: Place) -> None:
        """An assignment of a whole array, matrix or struct."""
        e = self.expressions
        chosen = [v for v in e.variables if v.written and isinstance(v.type, (Array, Matrix, Struct))]
        if not chosen:
            return self.declaration(place)
        one = e.random.choice(chosen)
        return self.write(place, f"{one.name} = {e.value(one.type, 3)};")

    def note(self, place: Place) -> None:
        """Something that the result depends on, and the order in which it comes."""
        self.write(place, f"put({self.expressions.integer(UINT, 3)});")

    def call(self, place: Place) -> None:
        """A call for its effects."""
        e = self.expressions
        if not e.functions:
            return self.assignment(place)
        text = e.call(e.random.choice(e.functions).result, 3)
        return self.write(place, f"{text};") if text is not None else None

    # --- flow --------------------------------------------------------------------------------
    def condition(self, place: Place) -> tuple[str, bool]:
        """A condition, and whether all work-items come to the same."""
        if place.uniform and self.expressions.random.random() < 0.5:
            return self.expressions.random.choice(("same > 3u", "(same & 1u) == 0u", "same != 7u", "same < 2u")), True
        return self.expressions.boolean(3), False

    def branch(self, place: Place) -> None:
        """`if`, mostly with `else`."""
        condition, same = self.condition(place)
        inner = replace(place, depth=place.depth + 1, uniform=place.uniform and same)
        self.write(place, f"if ({condition}) {{")
        self.body(inner, 3)
        if self.expressions.random.random() < 0.6:
            self.write(place, "} else {")
            self.body(inner, 3)
        self.write(place, "}")

    def loop(self, place: Place) -> None:
        """A loop of at most five turns."""
        e, r = self.expressions, self.expressions.random
        name = self.name()
        inner = replace(place, depth=place.depth + 1, loops=place.loops + 1, breaks=True, continues=True, uniform=False)
        way = r.randrange(4)
        if place.uniform and r.random() < 0.5:
            inner = replace(inner, breaks=False, continues=False, uniform=True)
            self.write(place, f"for (uint {name} = 0u; {name} < (same & 3u) + 1u; ++{name}) {{")
        elif way < 2:
            bound = f"({e.integer(INT, 2)} & 3) + 1" if r.random() < 0.6 else str(r.randint(1, 4))
            self.write(place, f"for (int {name} = 0; {name} < {bound}; {name}++) {{")
        elif way == 2:
            self.write(place, f"int {name} = 0; while ({name}++ < 4 && {e.boolean(2)}) {{")
        else:
            self.write(place, f"int {name} = 0; do {{")
        e.variables.append(Variable(name, UINT if inner.uniform else INT, written=False))
        self.body(inner, 4)
        e.variables.pop()
        self.write(place, f"}} while (++{name} < 4 && {e.boolean(2)});" if way == 3 and not inner.uniform else "}")

    def switch(self, place: Place) -> None:
        """A switch, whose cases may fall through."""
        e, r = self.expressions, self.expressions.random
        inner = replace(place, depth=place.depth + 1, breaks=True, uniform=False)
        sort = r.choice((INT, UINT))
        self.write(place, f"switch ({e.integer(sort, 2)} & {sort}(7)) {{")
        labels = r.sample(range(8), r.randint(1, 6))
        default = r.randint(0, len(labels)) if r.random() < 0.7 else -1
        for number, label in enumerate(labels):
            if number == default:
                self.write(place, "default:")
            self.write(place, f"case {label}{'u' if sort is UINT else ''}:")
            if r.random() < 0.2 and number < len(labels) - 1:
                continue
            self.write(place, "{")
            self.body(inner, 2)
            self.write(place, "}")
            if r.random() < 0.6:
                self.write(inner, "break;")
        if default == len(labels):
            self.write(place, "default:")
            self.write(inner, f"put({e.integer(UINT, 2)});")
        self.write(place, "break; }" if r.random() < 0.3 else "}")
        if self.lines[-1].strip() == "}" and self.lines[-2].strip().startswith("case"):
            self.lines[-1] = "    " * (place.depth + 1) + "break; }"

    def jump(self, place: Place) -> None:
        """`break` or `continue` under a condition."""
        words = ["break"] * place.breaks + ["continue"] * place.continues
        self.write(place, f"if ({self.expressions.boolean(2)}) {self.expressions.random.choice(words)};")

    def early_return(self, place: Place) -> None:
        """A return out of whatever is around."""
        value = "" if place.result is None else " " + self.expressions.value(place.result, 2)
        condition = f"if ({self.expressions.boolean(2)}) " if self.expressions.random.random() < 0.7 else ""
        self.write(place, f"{condition}return{value};")

    # --- together ----------------------------------------------------------------------------
    def atomic(self, place: Place) -> None:
        """An atomic operation without a result, of the kind that its counter has."""
        e, r = self.expressions, self.expressions.random
        number = r.randrange(6)
        memory = "local" if self.shared and r.random() < 0.5 else "global"
        if r.random() < 0.3:
            self.write(
                place, f"atomicAdd({memory}_counters[(({e.integer(UINT, 1)}) % 2u) * 6u], {e.integer(UINT, 2)});"
            )
        else:
            self.write(place, f"{COUNTERS[number]}({memory}_counters[{number}], {e.integer(UINT, 2)});")

    def exchange(self, place: Place) -> None:
        """What another work-item of the work-group has."""
        e, r = self.expressions, self.expressions.random
        name = self.name()
        type = r.choice((UINT, INT, FLOAT))
        memory = {"uint": "local_numbers", "int": "local_structs", "float": "local_floats"}[str(type)]
        member = ".inner[1].number" if type is INT else ""
        self.write(place, f"{memory}[lid]{member} = {e.value(type, 3)};")
        self.write(place, "barrier();")
        self.write(place, f"{declared(type, name)} = {memory}[({e.integer(UINT, 2)}) % {self.work_items}u]{member};")
        self.write(place, "barrier();")
        e.variables.append(Variable(name, type))

    def subgroup(self, place: Place) -> None:
        """What the active work-items of a subgroup have together."""
        e, r = self.expressions, self.expressions.random
        name, sort = self.name(), r.choice((INT, UINT))
        x, flag = e.integer(sort, 2), e.boolean(2)
        among = r.choice(("subgroup", "subgroupInclusive", "subgroupExclusive"))
        operation = r.choice(("Add", "Min", "Max", "And", "Or", "Xor", "Mul"))
        ballot = f"subgroupBallot({flag})"
        type, text = r.choice((
            (sort, f"{among}{operation}({x})"), (BOOL, f"subgroup{r.choice(('All', 'Any'))}({flag})"),
            (BOOL, f"subgroupAllEqual({x} & {sort}(1))"), (sort, f"subgroupBroadcastFirst({x})"),
            (UINT, f"{ballot}.x"), (UINT, f"subgroupBallotBitCount({ballot})"),
            (UINT, f"subgroupBallotExclusiveBitCount({ballot})"), (BOOL, "subgroupElect()"),
            (sort, f"subgroupClusteredAdd({x}, 8)"), (BOOL, f"subgroupInverseBallot({ballot})"),
            (FLOAT, f"norm(subgroup{r.choice(('Add', 'Min', 'Max'))}({e.normal(FLOAT, 2)}))"),
        ))  # fmt: skip
        if place.uniform and r.random() < 0.5:
            type, text = sort, r.choice((
                f"subgroupShuffle({x}, ({e.integer(UINT, 2)}) & 7u)", f"subgroupShuffleXor({x}, {r.randrange(8)}u)",
                f"subgroupBroadcast({x}, {r.randrange(8)}u)", f"subgroupQuadSwapHorizontal({x})",
                f"subgroupQuadBroadcast({x}, {r.randrange(4)}u)",
            ))  # fmt: skip
        self.write(place, f"{declared(type, name)} = {text};")
        self.write(place, f"put(uint({name if type is not FLOAT else f'abs({name})'}));")
        e.variables.append(Variable(name, type))

    def function(self, function: Function) -> list[str]:
        """The lines of a function."""
        e = self.expressions
        known, e.variables = e.variables, list(e.variables)
        self.lines, e.calls = [], 3
        names = [self.name() for _ in function.parameters]
        heads = [
            f"{mode} {declared(type, name)}" for (mode, type), name in zip(function.parameters, names, strict=True)
        ]
        for (mode, type), name in zip(function.parameters, names, strict=True):
            if mode == "out":
                self.write(Place(), f"{name} = {e.value(type, 1)};")
            e.variables.append(Variable(name, type))
        place = Place(function=True, result=function.result)
        self.body(place, 4)
        if function.result is not None:
            self.write(place, f"return {e.value(function.result, 2)};")
        e.variables = known
        returned = function.result if function.result is not None else "void"
        head = f"{returned} {function.name}({', '.join(heads)}) {{"
        return [head, *self.lines, "}"]
