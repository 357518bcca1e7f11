"""`dataclass`, as the standard library's, for classes that cost little when their module is imported.

The standard library compiles six methods from text for each class: a third of the time from `import girih` to a first
result, most of it for methods that are never called. Here a constructor is compiled for the first object, and the
other methods are put together from functions that exist. Constructors of frozen classes with slots are faster too.

Type checkers see the standard library's decorator, and `fields`, `replace`, `asdict`, `match`, pickling and copying
work as with it. Not there is what girih does not use: order, `unsafe_hash`, `InitVar`, and frozen classes
that derive from those of the other decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]


class _Factory:
    """The default of a parameter whose values are made, one for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


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
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    methods: dict[str, object] = {}
    if init:
        methods["__init__"] = _Constructor(made)
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _eq(made)
        methods["__hash__"] = _hash(made) if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
        if "__slots__" in vars(made):
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Constructor:
    """The constructor of a class until somebody asks for it, which puts the compiled one in its place."""

    owner: Any

    def __get__(self, instance: object, cls: type | None = None) -> Any:
        self.owner.__init__ = compiled = _compiled(self.owner)
        return compiled.__get__(instance, cls)


def _compiled(cls: Any) -> Any:
    """The constructor of a class."""
    # Names of fields do not begin with two underscores.
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
        if cls.__setattr__ is not _refuse_assignment:
            lines.append(f"self.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):
            scope[f"__set_{name}"] = slot.__set__
            lines.append(f"__set_{name}(self, {value})")
        else:
            lines.append(f"__set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    listed = ", ".join(["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])])
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


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
