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

import girih
import girih.addressing
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


class Undocumented:
    x: int
    y: int = 1


class OfItself:
    """A field may be called `self`."""

    self: int
    other: int = field(default_factory=int)


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
        (Undocumented, {"frozen": True, "slots": True}),
        (OfItself, {"frozen": True}),
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
    ("Undocumented", (1,), {}),
    ("OfItself", (), {"self": 2}),
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
        "names": (cls.__name__, cls.__doc__, one.__doc__, cls.__match_args__),
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


def derived(base: Any, decorator: Callable[..., Any], **options: bool) -> Any:
    """A class with one more field."""
    return decorator(**options)(
        type("More", (base,), {"__annotations__": {"z": "int"}, "z": 9, "__module__": __name__})
    )


def test_either_decorator_derives_from_classes_of_the_other() -> None:
    ours, standard = PAIRS["Undocumented"]
    cases = [(base, by, slots) for base in (ours, standard) for by in (dataclass, dataclasses.dataclass)
             for slots in (False, True)]  # fmt: skip
    acts: list[Callable[[Any], object]] = [lambda one: setattr(one, "z", 2), lambda one: delattr(one, "x")]
    for base, by, slots in cases:
        cls = derived(base, by, frozen=True, slots=slots)
        twin = derived(standard, dataclasses.dataclass, frozen=True, slots=slots)
        assert answers(cls, (1, 2), {"z": 3}) == answers(twin, (1, 2), {"z": 3}), (base, by, slots)
        assert cls.__doc__ == "More(x: 'int', y: 'int' = 1, z: 'int' = 9)"
        match cls(1, 2, 3):
            case cls(x, y, z):
                assert (x, y, z) == (1, 2, 3)
        for act in acts:
            assert refusal(FrozenInstanceError, act, cls(1)) == refusal(FrozenInstanceError, act, twin(1))


def test_frozen_and_other_classes_do_not_mix() -> None:
    for frozen, base in ((False, "Undocumented"), (True, "Open")):
        ours, standard = PAIRS[base]

        def derive(by: Callable[..., Any], base: Any, frozen: bool = frozen) -> str:
            return refusal(TypeError, lambda base: derived(base, by, frozen=frozen, kw_only=True), base)

        expected = derive(dataclasses.dataclass, standard)
        assert "cannot inherit" in expected
        assert {derive(by, base) for by in (dataclass, dataclasses.dataclass) for base in (ours, standard)} == {
            expected
        }


def test_a_frozen_class_defines_no_assignment_of_its_own() -> None:
    def make(by: Any) -> object:
        return by(frozen=True)(type("Own", (), {"__setattr__": object.__setattr__}))

    assert refusal(TypeError, make, dataclass) == refusal(TypeError, make, dataclasses.dataclass)


def test_classes_without_a_decorator_have_attributes_beside_the_fields() -> None:
    for base in PAIRS["Loose"]:
        one = type("Plain", (base,), {})(1.0)
        one.more = 2
        assert one.more == 2
        del one.more
        assert refusal(FrozenInstanceError, lambda one: setattr(one, "x", 2), one) == "cannot assign to field 'x'"
        assert refusal(FrozenInstanceError, lambda one: delattr(one, "y"), one) == "cannot delete field 'y'"


def test_public_classes_can_be_derived_from() -> None:
    """Each frozen data class of the public names, with a field of a user's."""
    names = [getattr(room, name) for room in (girih, girih.addressing) for name in room.__all__]
    public: list[Any] = [one for one in names if isinstance(one, type) and dataclasses.is_dataclass(one)]
    assert {girih.Diagnostic, girih.addressing.TensorMap} <= {*public}
    for base in public:
        made = derived(base, dataclasses.dataclass, frozen=vars(base)["__dataclass_params__"].frozen, kw_only=True)
        assert [f.name for f in fields(made)] == [*(f.name for f in fields(base)), "z"]
        assert inspect.signature(made).parameters["z"].default == 9
        assert issubclass(made, base) and made.__doc__.startswith("More(")
