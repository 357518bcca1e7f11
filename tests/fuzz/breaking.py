"""Programs in which exactly one rule is broken: an instruction of a valid program, alone, with one thing changed.

Which rules a changed instruction breaks is found by evaluating the rows one by one; the text of the program then has
to get exactly that diagnostic, at the line of the instruction.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from girih.diagnostics import Diagnostic
from girih.ir.build import RegionBuilder
from girih.ir.core import Dictionary, Entry, Function, Module, Op, Parameter, Region, RegionKind, Value
from girih.ir.define import Binding, Body, Integer, Operand, Result
from girih.ir.grid import GridNumber, GridOperation
from girih.ir.surroundings import Subject, Surroundings
from girih.ir.types import (
    I8,
    I32,
    INDEX,
    AddressSpace,
    CoopMatrix,
    GroupType,
    MemRef,
    Number,
    TensorLayoutType,
    TensorViewType,
    Type,
    Use,
)
from girih.ops.tile import TILE_LANGUAGE
from girih.program import analyze
from girih.rules.row import Undetermined
from girih.source import Source
from tests.fuzz.changes import YIELDS, Changed, Fields, changes
from tests.fuzz.properties import Violation, checked

CLOSED = frozenset(
    mnemonic for mnemonic, rows in TILE_LANGUAGE.rules.items() if any(row.id == "closed" for row in rows)
)
"""Instructions whose regions use their arguments and constants only."""

PLACES = ("collective", "parallel", "foreach", "apply")
"""Where the instruction is put: at the top of the function, or in the region of another instruction."""


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction of a valid program, with the constants of that program and what the function asks for."""

    cls: type[Op]
    fields: Fields
    kind: RegionKind
    constants: dict[Value, Any]
    attributes: Dictionary


def sites(module: Module) -> list[Site]:
    """The instructions of a module."""
    found: list[Site] = []
    for function in module.functions:
        constants: dict[Value, Any] = {}
        stack = [function.body]
        while stack:
            region = stack.pop()
            for op in region.ops:
                if op.spec.constant is not None:
                    constants[op.results[0]] = getattr(op, op.spec.constant)
                fields = {name: getattr(op, name) for name in op.spec.roles}
                found.append(Site(type(op), fields, region.kind, constants, function.attributes))
                stack += op.regions
    return found


@dataclass(slots=True)
class Stage:
    """A function around one instruction: it gives values of any type."""

    site: Site
    parameters: list[Parameter] = field(default_factory=list)
    outer: RegionBuilder = field(default_factory=lambda: RegionBuilder(TILE_LANGUAGE))
    inner: RegionBuilder = field(default_factory=lambda: RegionBuilder(TILE_LANGUAGE))
    known: dict[Value, Value] = field(default_factory=dict)

    def value(self, old: Value | Changed) -> Value:
        """A value that stands for one of the program, or one that a change asks for."""
        if isinstance(old, Changed):
            return self.make(old.type, old.constant)
        if old not in self.known:
            self.known[old] = self.make(old.type, self.site.constants.get(old))
        return self.known[old]

    def make(self, type: Type, constant: Any = None) -> Value:
        """A value of a type: a constant, local memory, or a parameter."""
        if constant is not None and not isinstance(type, CoopMatrix):
            return self.inner.add("constant", type, value=constant)[0]
        if isinstance(type, CoopMatrix):
            zero = {"integer": 1, "floating": 1.0, "complex": 1j}[type.component.family]
            return self.inner.add("constant", type, value=zero)[0]
        if isinstance(type, MemRef) and type.space is AddressSpace.LOCAL:
            return self.outer.add("alloca", type)[0]
        if isinstance(type, TensorLayoutType | TensorViewType):
            what = "layout" if isinstance(type, TensorLayoutType) else "view"
            return self.inner.add(f"tensor_{what}_create", type)[0]
        value = Value(f"p{len(self.parameters)}", type)
        self.parameters.append(Parameter(value))
        return value

    def held(self, item: Any) -> Any:
        """A field with its values replaced."""
        if isinstance(item, Value | Changed):
            return self.value(item)
        if isinstance(item, tuple):
            return tuple(self.held(x) for x in item)
        if hasattr(item, "offset") and hasattr(item, "size"):
            return replace(item, offset=self.held(item.offset), size=self.held(item.size))
        return item


def isolated(site: Site, fields: Fields, place: str, attributes: Dictionary) -> Function:
    """A function in which the instruction stands alone at a place; its regions only yield."""
    stage = Stage(site)
    stage.inner = stage.outer if place == "collective" else RegionBuilder(TILE_LANGUAGE, RegionKind.SPMD)
    made: Fields = {}
    for name, role in site.cls.spec.roles.items():
        item = fields[name]
        if isinstance(role, Result):
            made[name] = tuple(_fresh(v) for v in item) if role.many else _fresh(item)
        elif not isinstance(role, Binding | Body):
            made[name] = stage.held(item)
    _bind(site, fields, made)
    for name, role in site.cls.spec.roles.items():
        if isinstance(role, Body):
            made[name] = _body(stage, fields, made, role)
    stage.inner.ops.append(site.cls(**made))
    return _wrapped(stage, place, attributes)


def _fresh(old: Value | Changed) -> Value:
    return Value("", old.type)


def _bind(site: Site, fields: Fields, made: Fields) -> None:
    """New values for what the instruction defines in its regions, with the types that the text gives them."""
    spec = site.cls.spec
    if spec.binding_types is None:
        return
    lists = {name: role for name, role in spec.roles.items() if isinstance(role, Binding)}
    made.update((name, fields[name]) for name in lists)
    lists = {name: role for name, role in lists.items() if fields[name] is not None}
    counts = {name: len(fields[name]) if role.many else 1 for name, role in lists.items()}
    types = spec.binding_types(made, counts)
    for name, role in lists.items():
        found = tuple(Value("", t) for t in types[name])
        made[name] = found if role.many else found[0]


def _body(stage: Stage, fields: Fields, made: Fields, role: Body) -> Region | None:
    """A region that yields what it should, or what a change asks for."""
    change = fields.get(YIELDS + role.name)
    if fields[role.name] is None:
        return None
    builder = RegionBuilder(TILE_LANGUAGE, role.kind or stage.inner.kind)
    result = made.get("result")
    types = [result.type.component] if result is not None and isinstance(result.type, CoopMatrix) else [
        v.type for v in made.get("results", ())
    ]  # fmt: skip
    if change is not None:
        types = change.types(types)
    closed = stage.site.cls.spec.mnemonic in CLOSED and not (change is not None and change.outside)
    outer, stage.inner = stage.inner, builder
    values = tuple(stage.make(t, _one(t) if closed else None) for t in types)
    if change is not None and change.tangled:
        builder.add("barrier")
    stage.inner = outer
    if types or (change is not None and change.always):
        builder.add("yield", values=values)
    if change is not None and change.after:
        builder.add("constant", I32, value=1)
    return builder.region()


def _one(type: Type) -> int | float | complex | bool:
    """A constant of a type."""
    return {"integer": 1, "floating": 1.0, "complex": 1j}[type.family] if isinstance(type, Number) else True


def _wrapped(stage: Stage, place: str, attributes: Dictionary) -> Function:
    body = stage.inner.region()
    match place:
        case "parallel":
            stage.outer.add("parallel", body=body)
        case "foreach":
            (n,) = stage.outer.add("constant", INDEX, value=1)
            stage.outer.add("foreach", variables=(Value("", INDEX),), start=(n,), stop=(n,), body=body)
        case "apply":
            parallel = RegionBuilder(TILE_LANGUAGE, RegionKind.SPMD)
            type = CoopMatrix(I8, 64, 1, Use.ACC)
            (matrix,) = parallel.add("constant", type, value=1)
            (one,) = stage.inner.add("constant", I8, value=1)
            stage.inner.add("yield", values=(one,))
            parallel.add("cooperative_matrix_apply", type, row=Value("", I32), column=Value("", I32),
                         elements=(Value("", I8),), matrices=(matrix,), body=stage.inner.region())  # fmt: skip
            stage.outer.add("parallel", body=parallel.region())
    return stage.outer.function("f", stage.parameters, attributes)


# --- what must be reported -------------------------------------------------------------------


def broken_rows(function: Function) -> list[str]:
    """The codes of all rows that do not hold in a function, each row asked for itself."""
    facts = Surroundings(function)
    found = _failing("func", function, facts)
    seen: set[Type] = set()
    for parameter in function.parameters:
        found += _failing("parameter", parameter, facts) + _types([parameter.value], facts, seen)
    return found + _region(function.body, facts, seen)


def _types(values: list[Value], facts: Surroundings, seen: set[Type]) -> list[str]:
    found: list[str] = []
    for value in values:
        if value.type not in seen:
            seen.add(value.type)
            found += _failing("type", value.type, facts)
    return found


def _failing(mnemonic: str, subject: object, facts: Surroundings) -> list[str]:
    """The rows that do not hold; an operand that one of them blames causes no further ones."""
    found: list[str] = []
    wrong: set[str] = set()
    for row in TILE_LANGUAGE.rules[mnemonic]:
        blamed = set(row.blames.split())
        if blamed & wrong:
            continue
        try:
            holds = row.holds.holds(Subject(subject, facts))
        except Undetermined:
            continue
        if not holds:
            found.append(f"{mnemonic}.{row.id}")
            wrong |= blamed if row.severity == "error" else set()
    return found


def _region(region: Region, facts: Surroundings, seen: set[Type]) -> list[str]:
    found: list[str] = []
    outer, last = facts.region, facts.last
    facts.region = region
    for position, op in enumerate(region.ops):
        facts.last = position == len(region.ops) - 1
        if op.spec.constant is not None:
            facts.constants[op.results[0]] = getattr(op, op.spec.constant)
        found += _types(list(op.results), facts, seen) + _failing(op.spec.mnemonic, op, facts)
        facts.parents.append(op)
        for inner in op.regions:
            found += _region(inner, facts, seen)
        facts.parents.pop()
        facts.definitions.update((v, op) for v in op.results)
    facts.region, facts.last = outer, last
    return found


@dataclass(slots=True)
class Broken:
    """Counts of what was tried, and the rows that were broken alone."""

    tried: int = 0
    alone: int = 0
    rows: set[str] = field(default_factory=set)

    def missing(self) -> list[str]:
        """The rows that were never broken alone."""
        return sorted({f"{m}.{row.id}" for m, rows in TILE_LANGUAGE.rules.items() for row in rows} - self.rows)


def _lines(text: str, mnemonic: str) -> set[int]:
    """The lines that an instruction stands on; all lines for what is none."""
    if mnemonic not in TILE_LANGUAGE.ops:
        return set(range(1, text.count("\n") + 2))
    module, _ = analyze(Source(text))
    lines: set[int] = set()
    for function in module.functions:
        for op in function.walk():
            if op.spec.mnemonic == mnemonic:
                ends = [op.span.end_line, *(region.span.end_line for region in op.regions)]
                lines |= set(range(op.span.line, max(ends) + 1))
    return lines


def reported_alone(function: Function, code: str) -> None:
    """The text of a function gets one diagnostic, at the guilty line; raises `Violation`."""
    text = str(Module((function,)))
    diagnostics: list[Diagnostic] = checked(text)
    codes = [d.code for d in diagnostics]
    if set(codes) != {code} or (len(codes) > 1 and not code.startswith("type.")):
        raise Violation("row", f"only {code} is broken; reported: {codes}", text)
    if diagnostics[0].span.line not in _lines(text, code.partition(".")[0]):
        raise Violation("row", f"{code} is reported at line {diagnostics[0].span.line}", text)


def reported_some(function: Function, codes: list[str]) -> None:
    """The text of a function with several broken rows gets some of these diagnostics and no others."""
    text = str(Module((function,)))
    found = {d.code for d in checked(text)}
    if not found or not found <= set(codes):
        raise Violation("row", f"{codes} are broken; reported: {sorted(found)}", text)


def _places(site: Site, source: random.Random) -> Iterator[str]:
    usual = "collective" if site.kind is RegionKind.COLLECTIVE else "parallel"
    yield usual
    yield from (place for place in PLACES if place != usual)


def _representable(fields: Fields, cls: type[Op]) -> bool:
    """Whether the text can say it: pairs have as many names as values, a list is not empty."""
    if cls.spec.mnemonic == "cooperative_matrix_load_tensor" and (fields["body"] is None) != (fields["block"] is None):
        return False
    if cls.spec.mnemonic == "for" and bool(fields["results"]) != bool(fields["carried"]):
        return False
    for word in cls.spec.format:
        names = word.split("=")
        if (
            len(names) == 2
            and all(n in cls.spec.roles for n in names)
            and len(fields[names[0]]) != len(fields[names[1]])
        ):
            return False
    for name, role in cls.spec.roles.items():
        needed = (
            isinstance(role, Binding | Operand | Integer)
            and role.many
            and not (isinstance(role, Operand) and role.literal)
            and not (isinstance(role, Binding) and role.optional and fields["body"] is None)
        )
        optional = cls.spec.mnemonic in ("for", "if")
        if needed and not fields[name] and not optional and name != "indices":
            return False
    return True


def break_rows(site: Site, source: random.Random, done: Broken, tries: int = 400) -> None:
    """Change one thing of an instruction at a time and hold the diagnostics against the rows."""
    candidates: list[tuple[Fields, str, Dictionary]] = []
    usual = next(_places(site, source))
    candidates += [(site.fields, place, site.attributes) for place in _places(site, source)]
    candidates += [
        (fields, usual, site.attributes) for fields in changes(site.cls, site.fields, site.constants, source)
    ]
    candidates += [(site.fields, usual, attributes) for attributes in _headers(source)]
    source.shuffle(candidates)
    for fields, place, attributes in candidates[:tries]:
        _try(site, fields, place, attributes, source, done)


def _try(site: Site, fields: Fields, place: str, attributes: Dictionary, source: random.Random, done: Broken) -> None:
    if not _representable(fields, site.cls) or not _has_room(site.cls, fields):
        return
    function = isolated(site, fields, place, attributes)
    if source.random() < 0.2 and function.parameters:
        function = _promising(function, source)
    try:
        codes = broken_rows(function)
    except Exception:
        raise Violation("traceback", traceback.format_exc(limit=-4), str(Module((function,)))) from None
    done.tried += 1
    if len(codes) == 1:
        if codes[0] in done.rows and source.random() > 0.05:
            return
        reported_alone(function, codes[0])
        done.alone += 1
        done.rows.add(codes[0])
    elif codes and source.random() < 0.03:
        reported_some(function, codes)


def _has_room(cls: type[Op], fields: Fields) -> bool:
    """Whether all local memory that is read has a static size, so that an alloca can stand for it."""
    for item in (fields[name] for name in cls.spec.operands):
        for one in item if isinstance(item, tuple) else (item,):
            type = getattr(one, "type", None)
            if isinstance(type, MemRef) and type.space is AddressSpace.LOCAL and None in type.shape + type.strides:
                return False
    return True


_HEADERS = (
    Entry("subgroup_size", 7), Entry("subgroup_size", True), Entry("subgroup_size", 32), Entry("subgroup_size", 128),
    Entry("subgroup_size", -8), Entry("work_group_size", (64, 1)), Entry("work_group_size", (0, 1)),
    Entry("work_group_size", (64,)), Entry("work_group_size", (12, 1)), Entry("work_group_size", (1024, 2)),
    Entry("work_group_size", 64), Entry("subgroup_size", (8,)), Entry("grid", (GridNumber(-1),)), Entry("grid", ()),
    Entry("grid", (GridOperation("ceil", GridNumber(2), GridNumber(0)),)), Entry("grid", (GridNumber(2**31),)),
)  # fmt: skip


def _headers(source: random.Random) -> list[Dictionary]:
    return [Dictionary((entry,)) for entry in source.sample(_HEADERS, 3)]


_NO_PARAMETERS = (
    CoopMatrix(I8, 8, 8, Use.A),
    MemRef.packed(I8, (4,), AddressSpace.LOCAL),
    TensorLayoutType(2),
    TensorViewType(2, False, (1, 0)),
)


def _promising(function: Function, source: random.Random) -> Function:
    """The function with a promise about a parameter, right or wrong."""
    if source.random() < 0.05:
        extra = Parameter(Value("extra", source.choice(_NO_PARAMETERS)))
        return replace(function, parameters=(*function.parameters, extra))
    number = source.randrange(len(function.parameters))
    old = function.parameters[number]
    type = old.type.memref if isinstance(old.type, GroupType) else old.type
    size = type.element.size if isinstance(type, MemRef) else 1
    entry = source.choice(
        (
            Entry("alignment", size * 4),
            Entry("alignment", size + 1),
            Entry("alignment", 0),
            Entry("alignment", True),
            Entry("shape_gcd", (1,)),
            Entry("shape_gcd", (1, 1, 1, 1, 1)),
            Entry("shape_gcd", (0,)),
            Entry("shape_gcd", (11,)),
            Entry("stride_gcd", (1,)),
            Entry("stride_gcd", (1, 1, 1, 1, 1)),
            Entry("stride_gcd", (-2,)),
            Entry("stride_gcd", (13,)),
            Entry("shape_gcd", 2),
        )
    )
    new = Parameter(old.value, Dictionary((entry,)))
    parameters = (*function.parameters[:number], new, *function.parameters[number + 1 :])
    return replace(function, parameters=parameters)
