"""`dataclass`, as the standard library's, for classes that cost little when their module is imported.

The standard library compiles six methods from text for each class: a third of the time from `import girih` to a first
result, most of it for methods that are never called. Here a constructor is compiled for the first object, and the
other methods are put together from functions that exist. Constructors of frozen classes with slots are faster too.

Type checkers see the standard library's decorator, and `fields`, `replace`, `asdict`, `match`, pickling and copying
work as with it. A class may derive from one of the other decorator, in both directions. Not there is what girih does
not use: order, `unsafe_hash` and `InitVar`.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


class _Factory:
    """The default of a parameter whose values are made, one for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


class _Deriving(threading.local):
    """Whether this thread has the standard library make a class of girih's, for which it shall compile nothing."""

    ours = False


_deriving = _Deriving()


class _Parameters:
    """The options of a class, where the standard library looks for those of bases.

    It would compile two methods for a frozen class, and refuses a class of which only the bases are frozen. So, while
    it makes a frozen class of girih's, the bases do not seem to be.
    """

    def __init__(self, others: Any, *, init: bool, repr: bool, eq: bool, frozen: bool) -> None:
        self.init, self.repr, self.eq, self.is_frozen = init, repr, eq, frozen
        self._others = others

    @property
    def frozen(self) -> bool:
        """Whether objects stay as they are, for whom it concerns."""
        return self.is_frozen and not _deriving.ours

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self).get("_others"), name)


class _Documentation:
    """The text of a class that has none of its own: its name and parameters, put together when somebody asks."""

    owner: Any = None

    def __get__(self, instance: object, cls: type | None = None) -> str:
        if self.owner is None:
            # The standard library writes a text, and looks for a constructor, where it finds none.
            return "..."
        import inspect

        text: str = self.owner.__name__ + str(inspect.signature(self.owner)).replace(" -> None", "")
        self.owner.__doc__ = text
        return text


def _dataclass(cls: type | None = None, /, **options: bool) -> Any:
    """The class as a data class; the options are those of `dataclasses.dataclass`."""
    return _decorated(cls, **options) if cls is not None else lambda cls: _decorated(cls, **options)


def _decorated(
    cls: type, *, init: bool = True, repr: bool = True, eq: bool = True, frozen: bool = False, **options: bool
) -> Any:
    own = dict(vars(cls))
    if own.get("__hash__", MISSING) is None and "__eq__" in own:
        # Python wrote that, because the class defines `__eq__`.
        del own["__hash__"]
    documentation: Any = _Documentation()
    if not cls.__doc__:
        cls.__doc__ = documentation
    made = documentation.owner = _made(cls, frozen=frozen, **options)
    made.__dataclass_params__ = _Parameters(made.__dataclass_params__, init=init, repr=repr, eq=eq, frozen=frozen)
    methods: dict[str, object] = {}
    if init:
        methods["__init__"] = _Constructor(made)
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _eq(made)
        methods["__hash__"] = _hash(made) if frozen else None
    if frozen:
        refused = _refusals(made)
        for name in refused.keys() & own.keys():
            raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
        methods |= refused
        if "__slots__" in vars(made):
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _made(cls: type, *, frozen: bool, **options: bool) -> Any:
    """The class with its fields and slots, but no methods, unless a frozen one has bases of the standard library."""
    bases = [base.__dataclass_params__ for base in cls.__mro__[1:] if hasattr(base, "__dataclass_params__")]
    ours = frozen and all(isinstance(base, _Parameters) and base.is_frozen for base in bases)
    make = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen and not ours, **options)
    before, _deriving.ours = _deriving.ours, ours
    try:
        return make(cls)
    finally:
        _deriving.ours = before


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Constructor:
    """The constructor of a class until somebody asks for it, which puts the compiled one in its place."""

    owner: Any

    def __get__(self, instance: object, cls: type | None = None) -> Any:
        self.owner.__init__ = compiled = _compiled(self.owner)
        return compiled.__get__(instance, cls)


def _compiled(cls: Any) -> Any:
    """The constructor of a class."""
    # Other names of fields do not begin with two underscores.
    object_name = "__dataclass_self__" if any(field.name == "self" for field in fields(cls)) else "self"
    scope: dict[str, Any] = {"__factory": _FACTORY, "__set": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines: list[str] = []
    for field in fields(cls):
        name, value = field.name, _value(field, scope)
        if field.init:
            parameters[bool(field.kw_only)].append(name + _default(field, scope))
        if value is None:
            continue
        slot = getattr(cls, name, None)
        if not cls.__dataclass_params__.is_frozen:
            lines.append(f"{object_name}.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):
            scope[f"__set_{name}"] = slot.__set__
            lines.append(f"__set_{name}({object_name}, {value})")
        else:
            lines.append(f"__set({object_name}, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(f"{object_name}.__post_init__()")
    listed = ", ".join([object_name, *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])])
    exec(f"def __init__({listed}):\n " + "\n ".join(lines or ["pass"]), scope)
    made = scope["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {field.name: field.type for field in fields(cls) if field.init} | {"return": None}
    return made


def _default(field: Field[Any], scope: dict[str, Any]) -> str:
    """What follows a parameter's name in the constructor: its default, if it has one."""
    if field.default is not MISSING:
        scope[f"__default_{field.name}"] = field.default
        return f"=__default_{field.name}"
    return "=__factory" if field.default_factory is not MISSING else ""


def _value(field: Field[Any], scope: dict[str, Any]) -> str | None:
    """The expression that the constructor assigns to a field; None where it assigns nothing."""
    name = field.name
    if field.default_factory is not MISSING:
        scope[f"__new_{name}"] = field.default_factory
        return f"__new_{name}() if {name} is __factory else {name}" if field.init else f"__new_{name}()"
    if field.init:
        return name
    return _default(field, scope).removeprefix("=") or None


@recursive_repr()
def _repr(self: Any) -> str:
    listed = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({listed})"


def _values(names: list[str]) -> Callable[[Any], object]:
    """A function for the values of some attributes: a tuple, unless there is one name only."""
    return attrgetter(*names) if names else lambda self: ()


def _eq(cls: Any) -> Callable[[Any, object], Any]:
    values = _values([f.name for f in fields(cls) if f.compare])

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        # In tuples an object is equal to itself, a NaN too.
        return (values(self),) == (values(other),)

    return equal


def _hash(cls: Any) -> Callable[[Any], int]:
    values = _values([f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)])
    return lambda self: hash(values(self))


def _refusals(cls: Any) -> dict[str, object]:
    """The methods of a frozen class for assignments and deletions; classes derived from it may have other names."""

    def is_refused(self: object, name: str) -> bool:
        return type(self) is cls or any(name == f.name for f in fields(cls))

    def refuse_assignment(self: object, name: str, value: object) -> None:
        if is_refused(self, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_deletion(self: object, name: str) -> None:
        if is_refused(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": refuse_assignment, "__delattr__": refuse_deletion}


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
