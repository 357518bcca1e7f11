"""A language as a value: its instructions, their rules, its types. Nothing else knows which instructions there are.

A language is put together once, by a `LanguageBuilder`, while the rooms that declare its instructions are imported;
`finish` gives the value, and nothing can be added after that. A language may share instructions of another one under
other rules: executors know an instruction by its class, which both languages then have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from girih.ir.core import Op, RegionKind
from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.rules.row import Row

if TYPE_CHECKING:
    from girih.ir.define import Spec

PSEUDO_MNEMONICS = ("func", "parameter", "type")
"""What has rules in every language without being an instruction: functions, their parameters, and types."""

Family = TypeVar("Family", bound=Op)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Language:
    """A set of instructions with their rules.

    `home` is the name under which it can be imported, `body` the kind of region that bodies of functions are, `types`
    the classes of its types. `subgroup_sizes` are those that its programs may be executed with, empty where the target
    says. `counts_bytes` says that memory is bytes, in which findings count. `ops` has the instructions by mnemonic;
    `words` has, for a word that several share, those that their first modifier tells from the one of that mnemonic.
    `rules` has the rows by mnemonic, and by `func`, `parameter` and `type`.
    """

    name: str
    home: str
    body: RegionKind
    types: frozenset[type[Type]]
    subgroup_sizes: tuple[int, ...]
    counts_bytes: bool
    ops: Mapping[str, type[Op]]
    words: Mapping[str, tuple[Spec, ...]]
    rules: Mapping[str, tuple[Row, ...]]

    def __repr__(self) -> str:
        return f"<language {self.name}: {len(self.ops)} instructions>"

    def __reduce__(self) -> tuple[object, ...]:
        return _imported, (self.home,)

    def has_type(self, type: Type) -> bool:
        """Whether programs of the language may have values of a type."""
        return type.__class__ in self.types

    def family(self, base: type[Family]) -> tuple[type[Family], ...]:
        """The instructions whose class is derived from `base`, the class of a family."""
        return tuple(declared for declared in self.ops.values() if issubclass(declared, base))


def _imported(home: str) -> object:
    """The language that can be imported as `home`, for pickles."""
    module, _, name = home.rpartition(".")
    return getattr(import_module(module), name)


class LanguageBuilder:
    """A language while its instructions are declared.

    `ways` has, for a kind of region, the hint for an instruction that needs it and stands elsewhere. `called` has what
    findings call instructions whose mnemonics no programmer writes, with the article.
    `subgroup_sizes` are the sizes that programs may be executed with, if that is not for the target to say.
    `counts_bytes` says that memory is bytes.
    """

    def __init__(
        self,
        name: str,
        types: Iterable[type[Type]],
        *,
        body: RegionKind = RegionKind.COLLECTIVE,
        ways: Mapping[RegionKind, str] | None = None,
        called: Mapping[str, str] | None = None,
        subgroup_sizes: tuple[int, ...] = (),
        counts_bytes: bool = False,
    ) -> None:
        self.name = name
        self.ways = ways or {}
        self.called = called or {}
        self._types = frozenset(types)
        self._body = body
        self._subgroup_sizes = subgroup_sizes
        self._counts_bytes = counts_bytes
        self._ops: dict[str, type[Op]] = {}
        self._words: dict[str, tuple[Spec, ...]] = {}
        self._rules: dict[str, tuple[Row, ...]] = {}
        self._finished = False

    def enter(self, declared: type[Op], rows: Iterable[Row]) -> None:
        """Add an instruction and its first rows. Raises `ValueError` if its mnemonic is taken."""
        self._must_be_open()
        spec = declared.spec
        if spec.mnemonic in self._ops:
            self._refuse(f"`{spec.mnemonic}` is declared twice")
        self._ops[spec.mnemonic] = declared
        if spec.word != spec.mnemonic:
            self._words[spec.word] = (*self._words.get(spec.word, ()), spec)
        self.rules(declared, *rows)

    def rules(self, target: type[Op] | str, *rows: Row) -> None:
        """Add restrictions to an instruction, or to `func`, `parameter` or `type`."""
        self._must_be_open()
        owner = _owner(target)
        if owner not in self._ops and owner not in PSEUDO_MNEMONICS:
            self._refuse(f"rules of `{owner}`, which is not declared")
        known = {row.id for row in self._rules.get(owner, ())}
        for row in rows:
            if row.id in known:
                self._refuse(f"rule {owner}.{row.id} is declared twice")
            known.add(row.id)
        self._rules[owner] = self._rules.get(owner, ()) + rows

    def share(
        self,
        other: Language,
        *targets: type[Op] | str,
        without: Iterable[str] = (),
        rows: Iterable[Row] = (),
    ) -> None:
        """Take over instructions of another language, or its rules of `func`, `parameter` or `type`.

        The ids in `without` name rules of each target that do not hold here; `rows` hold here in addition. Raises
        `ValueError` for an instruction or a rule that the other language does not have.
        """
        left_out = frozenset(without)
        for target in targets:
            owner = _owner(target)
            theirs = other.rules.get(owner)
            if theirs is None or (not isinstance(target, str) and other.ops.get(owner) is not target):
                self._refuse(f"{other.name} has no `{owner}` to share")
            unknown = left_out - {row.id for row in theirs}
            if unknown:
                self._refuse(f"{other.name} has no rule {', '.join(f'{owner}.{id}' for id in sorted(unknown))}")
            kept = (*(row for row in theirs if row.id not in left_out), *rows)
            if isinstance(target, str):
                self.rules(target, *kept)
            else:
                self.enter(target, kept)

    def finish(self, home: str) -> Language:
        """The finished language, which can be imported as `home`. Nothing can be added after this call."""
        for word in self._words:
            if word not in self._ops:
                self._refuse(f"instructions share the word `{word}`, which is none")
        for pseudo in PSEUDO_MNEMONICS:
            self._rules.setdefault(pseudo, ())
        self._finished = True
        return Language(
            self.name,
            home,
            self._body,
            self._types,
            self._subgroup_sizes,
            self._counts_bytes,
            MappingProxyType(self._ops),
            MappingProxyType(self._words),
            MappingProxyType(self._rules),
        )

    def _must_be_open(self) -> None:
        if self._finished:
            self._refuse("it is finished, nothing can be added")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"the language {self.name}: {what}")


def _owner(target: type[Op] | str) -> str:
    return target if isinstance(target, str) else target.spec.mnemonic
