"""The declaration of an instruction: one class with its fields, its text format, and its restrictions as rows.

`@op` turns a class into a frozen dataclass, reads the roles of its fields into a `Spec` and enters it in a language.
The parser, the printer, the checker, the reference and `girih explain` all follow from the `Spec`.

The format is a list of words separated by blanks: a field name stands for the field, `<<` and `>>` enclose what may be
left out, `a=b` for two fields is a list of pairs, anything else stands for itself. Modifiers follow the mnemonic in the
order of their fields and are not part of the format.

Roles and specs are compared by identity: each exists once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from enum import Enum
from typing import Any, TypeVar, cast, dataclass_transform

from girih.ir.core import EMPTY, STRING_WORDS, Dictionary, Entry, Op, RegionKind, is_string
from girih.ir.grid import GridExpression
from girih.ir.hints import LOOP_HINTS, MACHINE_HINTS, Hint
from girih.ir.kinds import TypeKind
from girih.ir.language import LanguageBuilder
from girih.ir.predicates import InRegion, IsKind
from girih.ir.surroundings import Subject
from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined


class Where(Enum):
    """The regions that an instruction may stand in (003 "Execution model")."""

    COLLECTIVE = "collective"
    SPMD = "SPMD"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True, eq=False)
class Role:
    """The base of the roles that fields of instructions have; `op` fills in `name`."""

    name: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Modifier(Role):
    """A modifier, `.spelling` after the mnemonic; if left out it has the value `default`, unless it is required."""

    choices: Mapping[str, object] = field(default_factory=dict)
    default: object = None
    required: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Operand(Role):
    """A value that is read; `literal` where an integer may stand for it, `many` for a list.

    It is `shared` where all work-items that execute the instruction together have the same; in an instruction that
    each executes for itself, where matrices come out of it.
    """

    kind: TypeKind | None = None
    many: bool = False
    literal: bool = False
    optional: bool = False
    reads: bool = False
    writes: bool = False
    separator: str = ","
    shared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Slices(Role):
    """The `offset : size` list of a subview."""


@dataclass(frozen=True, slots=True, eq=False)
class Integer(Role):
    """An integer constant; `many` for a list."""

    many: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Role):
    """A constant of any type: the value of the result."""


@dataclass(frozen=True, slots=True, eq=False)
class Text(Role):
    """A string of printable ASCII characters without quotation marks, written between two of these."""


@dataclass(frozen=True, slots=True, eq=False)
class Annotation(Role):
    """The type of a binding, written after it; None if the binding is left out."""


class Expect(Enum):
    """The kinds of values that an entry of a dictionary may be asked to hold."""

    INTEGER = "an integer"
    INTEGERS = "an array of integers"
    STRING = "a string"
    STRINGS = "an array of strings"
    DICTIONARY = "a dictionary"
    BOOLEAN_OR_INTEGER = "true, false or an integer"
    GRID = "an array of expressions"

    @property
    def words(self) -> str:
        """The kind with its article."""
        return self.value

    def accepts(self, value: object) -> bool:
        integer = isinstance(value, int) and not isinstance(value, bool)
        match self:
            case Expect.INTEGER:
                return integer
            case Expect.INTEGERS:
                return isinstance(value, tuple) and all(Expect.INTEGER.accepts(v) for v in value)
            case Expect.STRING:
                return isinstance(value, str)
            case Expect.STRINGS:
                return isinstance(value, tuple) and all(isinstance(v, str) for v in value)
            case Expect.DICTIONARY:
                return isinstance(value, Dictionary)
            case Expect.BOOLEAN_OR_INTEGER:
                return integer or isinstance(value, bool)
            case Expect.GRID:
                return isinstance(value, tuple) and all(isinstance(v, GridExpression) for v in value)


@dataclass(frozen=True, slots=True, eq=False)
class Attributes(Role):
    """A dictionary of named attributes and the keys that mean something here."""

    known: Mapping[str, Expect | Hint] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Binding(Role):
    """A value that the instruction defines for its regions; `many` for a list."""

    many: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Body(Role):
    """A region; without a `kind` it has that of the enclosing region."""

    kind: RegionKind | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Result(Role):
    """A value that the instruction returns; `many` for a list of types in the text."""

    kind: TypeKind | None = None
    many: bool = False


def _field(role: Role, **options: Any) -> Any:
    return field(metadata={"role": role}, **options)


def flag(spelling: str, doc: str = "") -> Any:
    """The field for a modifier `.spelling` that is present or not."""
    return _field(Modifier(doc=doc, choices={spelling: True}, default=False), default=False)


def modifier(choices: Mapping[str, object], default: object = None, *, required: bool = False, doc: str = "") -> Any:
    """The field for a modifier with several spellings; `choices` has the value of each."""
    return _field(Modifier(doc=doc, choices=choices, default=default, required=required))


def operand(
    kind: TypeKind,
    doc: str = "",
    *,
    reads: bool = False,
    writes: bool = False,
    optional: bool = False,
    shared: bool = False,
) -> Any:
    """The field for a value that is read; `reads` and `writes` say what happens to the memory behind it."""
    role = Operand(doc=doc, kind=kind, reads=reads, writes=writes, optional=optional, shared=shared)
    return _field(role, **({"default": None} if optional else {}))


def operands(
    kind: TypeKind, doc: str = "", *, literal: bool = False, separator: str = ",", shared: bool = False
) -> Any:
    """The field for a list of values; with `literal` an integer may stand in place of each."""
    return _field(Operand(doc=doc, kind=kind, many=True, literal=literal, separator=separator, shared=shared))


def slices(doc: str = "") -> Any:
    """The field for a list of `offset : size`."""
    return _field(Slices(doc=doc))


def integer(doc: str = "") -> Any:
    """The field for an integer constant."""
    return _field(Integer(doc=doc))


def integers(doc: str = "") -> Any:
    """The field for a list of integer constants."""
    return _field(Integer(doc=doc, many=True))


def literal(doc: str = "") -> Any:
    """The field for a constant of any type, which is the value of the result."""
    return _field(Literal(doc=doc))


def text(doc: str = "") -> Any:
    """The field for a string."""
    return _field(Text(doc=doc))


def attributes(known: Mapping[str, Expect | Hint], doc: str = "") -> Any:
    """The field for a dictionary attribute; `known` has the keys with a meaning and what each holds."""
    return _field(Attributes(doc=doc, known=known), default=EMPTY)


def binding(doc: str = "", *, many: bool = False, optional: bool = False) -> Any:
    """The field for a value, or a list of values, that the instruction defines for its region.

    An optional one is left out together with the region.
    """
    empty = {"default": () if many else None} if optional else {}
    return _field(Binding(doc=doc, many=many, optional=optional), **empty)


def annotation(doc: str = "") -> Any:
    """The field for the type of a binding."""
    return _field(Annotation(doc=doc), default=None)


def body(kind: RegionKind | None = None, doc: str = "", *, optional: bool = False) -> Any:
    """The field for a region; without a `kind` it has that of the enclosing region."""
    return _field(Body(doc=doc, kind=kind, optional=optional), **({"default": None} if optional else {}))


def result(kind: TypeKind, doc: str = "") -> Any:
    """The field for the value that the instruction returns."""
    return _field(Result(doc=doc, kind=kind))


def results(kind: TypeKind, doc: str = "") -> Any:
    """The field for the list of values that the instruction returns."""
    return _field(Result(doc=doc, kind=kind, many=True))


BindingTypes = Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, tuple[Type, ...]]]
"""From the fields parsed so far and the number of names of each binding to the types of the bindings."""


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """All that the parser, printer, checker and reference know about an instruction.

    `word` is written for the mnemonic; two instructions may share it if modifiers tell them apart. `called` is what
    findings call it: the mnemonic as code, or words where nobody writes the mnemonic. `texts` names the
    fields that are strings, `shared` the operands that are the same for all, `constant` the field with the value of the
    result, if the instruction defines a constant.
    """

    mnemonic: str
    word: str
    called: str
    where: Where
    section: str
    doc: str
    format: tuple[str, ...]
    roles: Mapping[str, Role]
    modifiers: tuple[Modifier, ...]
    operands: tuple[str, ...]
    bindings: tuple[str, ...]
    results: tuple[str, ...]
    regions: tuple[Body, ...]
    binding_types: BindingTypes | None
    texts: tuple[str, ...]
    constant: str | None
    shared: tuple[str, ...]
    tangled: bool
    exchanges: bool
    by_work_group: bool
    terminator: bool

    @property
    def reads(self) -> bool:
        """Whether the instruction itself reads memory; instructions in its regions do not count."""
        return any(isinstance(role, Operand) and role.reads for role in self.roles.values())

    @property
    def writes(self) -> bool:
        """Whether the instruction itself writes memory; instructions in its regions do not count."""
        return any(isinstance(role, Operand) and role.writes for role in self.roles.values())


Declared = TypeVar("Declared", bound=Op)


# A printed form of every class would cost a third of the time that the first parse spends on importing the language.
_OPTIONS: dict[str, bool] = {
    "frozen": True, "slots": True, "eq": False, "kw_only": True, "repr": False, "match_args": False,
}  # fmt: skip


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(
        flag,
        modifier,
        operand,
        operands,
        slices,
        integer,
        integers,
        literal,
        text,
        attributes,
        binding,
        annotation,
        body,
        result,
        results,
    ),
)
def node(cls: type[Declared]) -> type[Declared]:
    """The base of a family of instructions: a frozen dataclass without a mnemonic of its own."""
    return dataclass(**_OPTIONS)(cls)


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(
        flag,
        modifier,
        operand,
        operands,
        slices,
        integer,
        integers,
        literal,
        text,
        attributes,
        binding,
        annotation,
        body,
        result,
        results,
    ),
)
def op(
    language: LanguageBuilder,
    mnemonic: str,
    where: Where,
    section: str,
    format: str,
    *,
    binding_types: BindingTypes | None = None,
    tangled: bool = False,
    exchanges: bool = False,
    by_work_group: bool = False,
    terminator: bool = False,
    word: str | None = None,
) -> Callable[[type[Declared]], type[Declared]]:
    """Declare an instruction of a language.

    `section` names the part of a specification that defines it. `tangled` instructions need all work-items of a
    subgroup or work-group at once and cannot stand in the region of a `cooperative_matrix_apply`; `by_work_group` are
    those that need the work-group, whatever their operands are. One that `exchanges` is executed together by those
    work-items of a subgroup that are active. `word` is what the text writes, where that is not the mnemonic: the
    instruction then shares it with the one of that name, and its first modifier, a required one, tells the two apart.
    """

    def declare(cls: type[Declared]) -> type[Declared]:
        made = cls if "__slots__" in cls.__dict__ else dataclass(**_OPTIONS)(cls)
        roles = {}
        for f in fields(made):
            role = f.metadata.get("role")
            if role is not None:
                # The role is nobody else's yet; a copy of each would be felt when the language is imported.
                object.__setattr__(role, "name", f.name)
                roles[f.name] = role
        names = {kind: tuple(n for n, r in roles.items() if isinstance(r, kind)) for kind in (Binding, Result)}
        made.spec = Spec(
            mnemonic=mnemonic,
            word=word or mnemonic,
            called=language.called.get(mnemonic, f"`{mnemonic}`"),
            where=where,
            section=section,
            doc=(cls.__doc__ or "").strip(),
            format=tuple(format.split()),
            roles=roles,
            modifiers=tuple(r for r in roles.values() if isinstance(r, Modifier)),
            operands=tuple(n for n, r in roles.items() if isinstance(r, Operand | Slices)),
            bindings=names[Binding],
            results=names[Result],
            regions=tuple(r for r in roles.values() if isinstance(r, Body)),
            binding_types=binding_types,
            texts=tuple(n for n, r in roles.items() if isinstance(r, Text)),
            constant=next((n for n, r in roles.items() if isinstance(r, Literal)), None),
            shared=tuple(n for n, r in roles.items() if isinstance(r, Operand) and r.shared),
            tangled=tangled,
            exchanges=exchanges,
            by_work_group=by_work_group or where is Where.COLLECTIVE,
            terminator=terminator,
        )
        language.enter(made, _structural_rows(made.spec, language.ways))
        return made

    return declare


def family(
    language: LanguageBuilder,
    base: type[Declared],
    mnemonic: str,
    doc: str,
    where: Where,
    section: str,
    format: str,
    *,
    tangled: bool = False,
    name: str = "",
) -> type[Declared]:
    """A new instruction that differs from the others of its family only in mnemonic and meaning.

    `base` is the family's class, made by `node`; `section` names the part of a specification that defines it. The
    class has a name of its own or one after the mnemonic; the module of `base` has to have it under that name, so that
    programs with the instruction can be pickled.
    """
    name = name or "".join(word.capitalize() for word in mnemonic.split("_"))
    members = {"__slots__": (), "__doc__": doc, "__module__": base.__module__}
    made = cast(type[Declared], type(name, (base,), members))
    return op(language, mnemonic, where, section, format, tangled=tangled)(made)


def _structural_rows(spec: Spec, ways: Mapping[RegionKind, str]) -> list[Row]:
    """The rules that follow from the regions an instruction may stand in, and from the roles of its fields."""
    rows = []
    if spec.where is not Where.MIXED:
        kind = RegionKind(spec.where.value)
        says = f"it stands in {kind.with_article} region"
        rows.append(Row("region", "", InRegion(kind), says, '003 "Execution model"', ways.get(kind)))
    for name, role in spec.roles.items():
        if isinstance(role, Operand | Result) and role.kind is not None:
            many = role.many
            verb = "are each" if many else "is"
            rows.append(Row(name, name, IsKind(name, role.kind), f"`{name}` {verb} {role.kind.words}", spec.section))
        if isinstance(role, Attributes):
            rows.append(attributes_row(name, role, spec.section))
    return rows + _rows_of_all(spec)


def _rows_of_all(spec: Spec) -> list[Row]:
    """The rules that all come who execute an instruction together, and share what they must.

    They are known to an analysis of the whole function, which reports them.
    """
    rows: list[Row] = []
    executes = "work-group" if spec.by_work_group else "subgroup, or work-group, that executes it together"
    if spec.by_work_group or spec.tangled:
        holds = Holds("no condition or bound around it differs between them", _known_to_an_analysis)
        says = f"all work-items of the {executes} come to it"
        rows.append(Row("divergent", "", holds, says, '003 "Execution model"'))
    if spec.shared:
        named = [f"`{name}`" for name in spec.shared]
        listed = ", ".join(named[:-1]) + f" and {named[-1]}" if len(named) > 1 else named[0]
        together = spec.by_work_group or spec.tangled or spec.exchanges
        where = "" if together else ", where matrices come out of it,"
        verb = "are" if len(named) > 1 else "is"
        says = f"{listed}{where} {verb} the same in all work-items of the {executes}"
        holds = Holds("nothing that it is computed from differs between them", _known_to_an_analysis)
        rows.append(Row("not_uniform", " ".join(spec.shared), holds, says, '003 "Execution model"'))
    return rows


def _known_to_an_analysis(subject: Subject) -> bool:
    raise Undetermined


def attributes_row(name: str, role: Attributes, section: str) -> Row:
    """The rule that a dictionary has only keys with a meaning, and that each holds what it should."""

    def wrong(subject: Subject) -> list[Entry]:
        entries: tuple[Entry, ...] = getattr(subject.op, name).entries
        return [e for e in entries if not (_can_be_written(e) if e.quoted else accepts(e))]

    def accepts(entry: Entry) -> bool:
        return entry.key in role.known and role.known[entry.key].accepts(entry.value)

    def came(subject: Subject) -> str:
        entry = wrong(subject)[0]
        if entry.quoted:
            return f"a string at {entry.key!r} has more than {STRING_WORDS}"
        if entry.key not in role.known:
            return f"`{entry.key}` means nothing here"
        return f"`{entry.key}` is not {role.known[entry.key].words}"

    known = ", ".join(f"{key} ({expect.words})" for key, expect in role.known.items())
    return Row(name, name, Holds(f"the attributes are {known}", lambda s: not wrong(s), came),
               f"the attributes are {known}", section, lambda s: _fixed(wrong(s)[0], role.known),
               at=lambda s: wrong(s)[0].span)  # fmt: skip


def _can_be_written(attribute: object) -> bool:
    """Whether all strings of an attribute, and of what is inside it, can stand in a text."""
    match attribute:
        case str():
            return is_string(attribute)
        case tuple():
            return all(map(_can_be_written, attribute))
        case Dictionary(entries=entries):
            return all(map(_can_be_written, entries))
        case Entry(key=key, value=value):
            return is_string(key) and _can_be_written(value)
        case _:
            return True


def _fixed(entry: Entry, known: Mapping[str, Expect | Hint]) -> str | None:
    """What to write for an entry that is wrong, if that is known: one string as an array, a hint where it belongs."""
    if entry.key in known:
        alone = known[entry.key] is Expect.STRINGS and isinstance(entry.value, str)
        return f'write {entry.key}=["{entry.value}"]' if alone else None
    if entry.key in MACHINE_HINTS:
        return f"hints for {entry.key} are an attribute of the function"
    machine = next((name for name, hints in MACHINE_HINTS.items() if entry.key in hints and name in known), None)
    if machine is not None:
        return f"a hint of a function names its machine: {machine}={{{entry.key}=...}}"
    return f"`{entry.key}` is an attribute of a `for`" if entry.key in LOOP_HINTS else None
