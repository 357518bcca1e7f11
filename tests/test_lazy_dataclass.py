"""Data classes of girih behave as those of the standard library, whose decorator makes a twin of every class here."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from girih.lazy_dataclass import dataclass


def both(cls: type, **options: Any) -> tuple[Any, Any]:
    """A class as a data class of girih, and as one of the standard library."""
    members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    twin: Any = type(cls.__name__, cls.__bases__, dict(members))
    return dataclass(**options)(cls), dataclasses.dataclass(**options)(twin)


def refusal(error: type[Exception], act: Callable[[Any], object], subject: Any) -> str:
    """The words in which an act is refused."""
    with pytest.raises(error) as caught:
        act(subject)
    return str(caught.value)


class Point:
    """Defaults of all kinds, and a field that is neither printed nor compared."""

    x: int
    y: int = 2
    many: tuple[int, ...] = field(default_factory=tuple)
    note: str = field(default="", repr=False, compare=False)
    inner: int = field(default=7, init=False)


class Loose:
    x: float
    y: float = field(default=1.0, kw_only=True)


class Open:
    x: list[int] = field(default_factory=list)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = sum(self.x)


class Bare:
    x: int


class Empty:
    """No field."""


class Own:
    """Methods of its own stay."""

    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "own"


PAIRS: dict[str, tuple[Any, Any]] = {
    cls.__name__: both(cls, **options)
    for cls, options in (
        (Point, {"frozen": True, "slots": True}),
        (Loose, {"frozen": True}),
        (Open, {"slots": True, "kw_only": True}),
        (Bare, {"frozen": True, "slots": True, "eq": False, "repr": False}),
        (Empty, {"frozen": True, "slots": True}),
        (Own, {"slots": True}),
    )
}
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 3), {"many": (4,), "note": "n"}),
    ("Loose", (float("nan"),), {"y": 2.0}),
    ("Open", (), {"x": [1, 2]}),
    ("Open", (), {}),
    ("Bare", (1,), {}),
    ("Empty", (), {}),
    ("Own", (1,), {}),
]


def answers(cls: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, object]:
    """What a class and an object of it show of themselves."""
    one, other = cls(*arguments, **named), cls(*arguments, **named)
    hashed = None if cls.__hash__ is None else hash(one) == hash(other)
    return {
        "repr": repr(one).partition(" object at ")[0],
        "dict": repr(asdict(one)),
        "equal": (one == one, one == other, one != other, one == 1),
        "hash": hashed,
        "replaced": repr(replace(one)).partition(" object at ")[0],
        "copied": repr(asdict(copy.copy(one))),
        "fields": [(f.name, f.type, f.default is dataclasses.MISSING, f.init, f.repr) for f in fields(cls)],
        "names": (cls.__name__, cls.__doc__ if cls.__doc__ and "(" not in cls.__doc__ else None, cls.__match_args__),
        "signature": str(inspect.signature(cls)),
        "slots": getattr(cls, "__slots__", None),
    }


def test_classes_behave_as_their_twins() -> None:
    for name, arguments, named in CASES:
        ours, standard = PAIRS[name]
        assert answers(ours, arguments, named) == answers(standard, arguments, named), name


def test_wrong_calls_are_refused_in_the_same_words() -> None:
    calls: list[Callable[[Any], object]] = [lambda c: c(), lambda c: c(1, 2, 3, 4, 5), lambda c: c(1, z=2)]
    for call in calls:
        ours, standard = (refusal(TypeError, call, cls) for cls in PAIRS["Point"])
        assert ours == standard


def test_frozen_objects_stay_as_they_are() -> None:
    acts: list[Callable[[Any], object]] = [lambda one: setattr(one, "x", 2), lambda one: delattr(one, "x")]
    for name in ("Point", "Loose"):
        for act in acts:
            ours, standard = (refusal(FrozenInstanceError, act, cls(1)) for cls in PAIRS[name])
            assert ours == standard


@dataclass(frozen=True, slots=True)
class Base:
    x: int
    known: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Derived(Base):
    y: int = 3


class Named(Derived):
    """A class that no decorator has seen uses the constructor of its base."""

    __slots__ = ()


def test_derived_classes_inherit_fields_and_pickle() -> None:
    for cls in (Derived, Named):
        made = cls(1, y=5)
        assert (made.x, made.known, made.y) == (1, {}, 5)
        assert made.known is not cls(1).known
        assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    assert Derived(1) != Named(1)
    assert Base(1).known == {}
    match Named(1, y=2):
        case Base(x, known):
            assert (x, known) == (1, {})
    missing = refusal(TypeError, lambda cls: cls(), Derived)
    assert missing == "Derived.__init__() missing 1 required positional argument: 'x'"
