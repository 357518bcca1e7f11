"""The parameters of a kernel as their annotations declare them."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from typing import Any, Literal, TypeVar

from girih.front.python.codes import PythonFault, fault
from girih.front.python.conversions import element_hint, scalar_type
from girih.front.python.reading import FunctionSource
from girih.ir.core import is_name
from girih.language import types as words
from girih.lazy_dataclass import dataclass
from girih.source import Span

Kind = Literal["scalar", "array", "group", "tensor_map", "constant"]


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter: what it takes, the name of its element type or a variable for it, its rank, its default.

    `default` is `inspect.Parameter.empty` where there is none; `rank` is None of a constant. `mode` is that of a tensor
    map.
    """

    name: str
    kind: Kind
    element: str | TypeVar | None
    rank: int | None
    default: object
    span: Span
    mode: str = "tiled"


def declared_parameters(text: FunctionSource) -> tuple[Declared, ...]:
    """The parameters of a kernel, in order. Raises `PythonFault` for one that is not annotated by a type of kernels."""
    node = text.node
    if isinstance(node, ast.Lambda):
        hint = "give it a name, and annotate its parameters: def kernel(X: gl.Vector[gl.f32]) -> None"
        raise fault("function", "a kernel is a function defined with `def`, found a lambda", text.span(node), hint)
    given = node.args
    for star, what in ((given.vararg, "*"), (given.kwarg, "**")):
        if star is not None:
            raise fault(
                "function", f"a kernel has no `{what}{star.arg}`", text.span(star), "write a parameter for each"
            )
    function = text.function
    defaults = {k: p.default for k, p in inspect.signature(function).parameters.items()}
    listed = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    return tuple(_declared(text, argument, defaults.get(argument.arg)) for argument in listed)


def _declared(text: FunctionSource, argument: ast.arg, default: object) -> Declared:
    span = text.span(argument)
    if argument.annotation is None:
        if argument.arg == "self":
            raise fault("annotation", "a kernel is no method, found the parameter `self`", span,
                        "define it outside of the class, or put @staticmethod above @girih.kernel")  # fmt: skip
        raise fault("annotation", f"the parameter `{argument.arg}` says no type", span,
                    f"write {argument.arg}: gl.f32, gl.Matrix[gl.f32], gl.constant, ...")  # fmt: skip
    value = _evaluated(text, argument)
    kind, element, rank, mode = _meaning(value, text, argument)
    if kind != "constant" and not is_name(argument.arg):
        raise fault("function", f"the name of a parameter is of letters, digits and _, found `{argument.arg}`", span,
                    "begin with a letter, and write it in ASCII: other languages see the name, too")  # fmt: skip
    return Declared(argument.arg, kind, element, rank, default, span, mode)


def _evaluated(text: FunctionSource, argument: ast.arg) -> object:
    """The annotation of a parameter as an object of Python."""
    function = text.function
    assert argument.annotation is not None
    try:
        value = function.__annotations__.get(argument.arg)
    except Exception as error:
        # From Python 3.14 on, annotations are evaluated when they are asked for.
        raise _unreadable(ast.unparse(argument.annotation), error, text.span(argument.annotation)) from None
    if not isinstance(value, str):
        return value
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    local: dict[str, object] = {}
    for name, cell in cells:
        try:
            local[name] = cell.cell_contents
        except ValueError:
            continue
    try:
        # Behind `from __future__ import annotations` a string stands for what is between quotation marks, too.
        first = eval(value, function.__globals__, local)
        return eval(first, function.__globals__, local) if isinstance(first, str) else first
    except Exception as error:
        raise _unreadable(value, error, text.span(argument.annotation)) from None


def _unreadable(annotation: str, error: Exception, span: Span) -> PythonFault:
    hint = _USUAL
    if isinstance(error, NameError):
        hint = "import what it names where the kernel is defined; with `from __future__ import annotations` a name "
        hint += "of an enclosing function is seen only where the body reads it, too"
    return fault("annotation", f"the annotation `{annotation}` cannot be read: {error}", span, hint)


def _meaning(
    value: object, text: FunctionSource, argument: ast.arg
) -> tuple[Kind, str | TypeVar | None, int | None, str]:
    """Kind, element, rank and mode of what an annotation stands for."""
    if value is words.constant or value in (int, bool, str) or value is typing.Any:
        return "constant", None, None, ""
    element = _element(value)
    if element is not None:
        return "scalar", element, 0, ""
    origin = typing.get_origin(value) or value
    arguments = typing.get_args(value)
    if origin is words.Group and len(arguments) == 1:
        kind, inner, rank, _ = _meaning(arguments[0], text, argument)
        if kind == "array":
            return "group", inner, rank, ""
    if isinstance(origin, type) and issubclass(origin, words.Array):
        rank = origin.rank if origin.rank is not None else _rank(arguments)
        inner = _element(arguments[0]) if arguments else None
        if inner == "bool":
            raise fault("annotation", "no array has elements of bool", text.span(argument.annotation or argument),
                        "arrays of truth values are arrays of bytes: gl.i8")  # fmt: skip
        if rank is not None and (inner is not None or not arguments):
            return "array", inner, rank, ""
    if origin in (words.TensorMap, words.Im2colMap) and len(arguments) == 2:
        inner, rank = _element(arguments[0]), _rank(arguments)
        if inner is not None and rank is not None:
            return "tensor_map", inner, rank, "tiled" if origin is words.TensorMap else "im2col"
    raise _unknown(value, text, argument)


def _element(value: object) -> str | TypeVar | None:
    if isinstance(value, TypeVar):
        return value
    type = scalar_type(value)
    return None if type is None else str(type)


def _rank(arguments: tuple[object, ...]) -> int | None:
    """The rank that a literal type says as the second argument: `Literal[3]`."""
    literal = typing.get_args(arguments[1]) if len(arguments) == 2 else ()
    rank = literal[0] if len(literal) == 1 else None
    return rank if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0 else None


def _unknown(value: object, text: FunctionSource, argument: ast.arg) -> PythonFault:
    assert argument.annotation is not None
    span = text.span(argument.annotation)
    return fault("annotation", f"`{ast.unparse(argument.annotation)}` is no type of kernels", span,
                 annotation_hint(value, argument.arg) or _USUAL)  # fmt: skip


_USUAL = "write gl.f32, gl.index, gl.Vector[gl.f32], gl.Array[gl.f32, Literal[3]], gl.constant"


def annotation_hint(value: object, name: str) -> str | None:
    """What to write in place of an annotation that is none of kernels."""
    origin = typing.get_origin(value) or value
    arguments = typing.get_args(value)
    if value is None or origin in (typing.Union, types.UnionType):
        return f"None may be given for an array of any annotation: gl.associated({name}) asks whether there is memory"
    if isinstance(origin, type) and issubclass(origin, words.Array):
        return _array_hint(origin, arguments)
    if origin is words.Group:
        return "say what its arrays are: gl.Group[gl.Vector[gl.f32]]"
    if origin in (words.TensorMap, words.Im2colMap):
        return f"say element type and rank: gl.{origin.__name__}[gl.f32, Literal[2]]"
    if origin is words.Block:
        return "tiles are made in the kernel, by gl.load(X[...]); a parameter is an array: gl.Matrix[gl.f32]"
    if origin in (list, tuple, set, dict):
        return "a list of arrays is a gl.Group[gl.Vector[gl.f32]], and a tuple of numbers a gl.constant"
    if getattr(value, "__name__", "") == "ndarray" or getattr(origin, "__name__", "") == "ndarray":
        return "say type and rank: gl.Matrix[gl.f32], gl.Vector[gl.f32]"
    if origin is typing.Annotated or (callable(value) and not isinstance(value, type)):
        return "a parameter is a number, gl.f32, an array, gl.Vector[gl.f32], or a gl.constant"
    return None if isinstance(value, int) else element_hint(value)


def _array_hint(origin: type[words.Array[Any, Any]], arguments: tuple[object, ...]) -> str | None:
    """What to write in place of an array whose element type or rank is none."""
    if len(arguments) == 2 and isinstance(arguments[1], int):
        element = element_name(arguments[0]) or "gl.f32"
        return f"write the rank as a literal type: gl.Array[{element}, Literal[{arguments[1]}]]"
    first = arguments[0] if arguments else None
    if isinstance(first, typing.ForwardRef):
        first = first.__forward_arg__
    hint = element_hint(first) if first is not None and _element(first) is None else None
    if hint is not None:
        return f"its elements have a type of kernels: {hint}"
    rank = "" if origin.rank is not None else ", Literal[3]"
    return f"say its element type{' and its rank' if rank else ''}: gl.{origin.__name__}[gl.f32{rank}]"


def element_name(value: object) -> str | None:
    """The name of an element type, or of a variable for one."""
    element = _element(value)
    return element.__name__ if isinstance(element, TypeVar) else None if element is None else f"gl.{element}"


_RANKS = {0: "Scalar", 1: "Vector", 2: "Matrix"}


def shown(parameter: Declared) -> str:
    """A parameter as the function has it: `X: gl.Matrix[gl.f32]`, `block: gl.constant = 256`."""
    default = "" if parameter.default is inspect.Parameter.empty else f" = {_value(parameter.default)}"
    return f"{parameter.name}: {annotation(parameter)}{default}"


def _value(default: object) -> str:
    """A default as it is written in Python; an element type by its name."""
    return (
        f"gl.{default.__name__}" if isinstance(default, type) and default in words.SCALARS.values() else repr(default)
    )


def annotation(parameter: Declared) -> str:
    """The annotation of a parameter: `gl.Matrix[gl.f32]`."""
    element = parameter.element
    rank = parameter.rank or 0
    name = element.__name__ if isinstance(element, TypeVar) else f"gl.{'bool_' if element == 'bool' else element}"
    array = f"gl.{_RANKS[rank]}[{name}]" if rank in _RANKS else f"gl.Array[{name}, Literal[{rank}]]"
    if element is None:
        array = f"gl.{_RANKS.get(rank, 'Array')}"
    match parameter.kind:
        case "array":
            return array
        case "group":
            return f"gl.Group[{array}]"
        case "tensor_map":
            kind = "Im2colMap" if parameter.mode == "im2col" else "TensorMap"
            return f"gl.{kind}[{name}, Literal[{rank}]]"
        case "constant":
            return "gl.constant"
        case _:
            return name
