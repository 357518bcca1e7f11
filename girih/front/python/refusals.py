"""What a kernel cannot call, or read from outside, and what to write: functions of Python, of libraries, of girih."""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import sys
import types

from girih.diagnostics import nearest
from girih.front.python.emission import described_value
from girih.front.python.reading import WRAPPED, is_kernel, is_wrapped
from girih.front.python.scopes import LocalFunction
from girih.language.foreign import INSTEAD
from girih.language.words import WORD

Refusal = tuple[str, str]
"""What is wrong, and what to write."""

_TUPLE = "use a tuple of numbers, or names of their own; memory of the work-group is gl.local(shape, dtype)"
_TEXT = 'strings stand in print alone: print("x is", x) shows a text, and values behind it'
_OUTSIDE = "do it outside of the kernel, and pass what it needs as an argument or a gl.constant"
_TYPES = "types are known while translating: compare X.dtype == gl.f32"
_LOOP = "write for i in range(n), and index: X[i]"

MEANINGFUL = ("abs", "len", "max", "min", "print")
"""The functions of Python that have a meaning for values of run time."""

REFUSED_BUILTINS: dict[str, str] = {
    "range": "a range stands in a loop: for i in range(n)",
    "int": "convert to a type: gl.i32(x), or gl.index(x)",
    "float": "convert to a type: gl.f32(x)",
    "bool": "compare: x != 0",
    "complex": "convert to a type: gl.c32(x)",
    "sum": "add in a loop, s += X[i]; rows of a tile gl.sum(m, axis=1); over work-items gl.subgroup_reduce_add(x)",
    "all": "write `and` between conditions",
    "any": "write `or` between conditions",
    "round": "gl.i32(x + 0.5) rounds what is not negative",
    "pow": "write x ** y",
    "divmod": "write a // b and a % b",
    "enumerate": "write for i in range(n), and index: X[i]",
    "zip": "write for i in range(n), and index each: X[i], Y[i]",
    "map": "write a loop, or gl.apply(function, m) for each component of a tile",
    "filter": "write a loop with an `if`",
    "reversed": "count upwards, and compute what counts down: n - 1 - i",
    "sorted": "sort outside, or write out comparisons: gl.minimum(a, b), gl.maximum(a, b)",
    "iter": _LOOP, "next": _LOOP, "aiter": _LOOP, "anext": _LOOP, "slice": "write X[i : i + 32]",
    "list": _TUPLE, "dict": _TUPLE, "set": _TUPLE, "frozenset": _TUPLE, "bytearray": _TUPLE, "memoryview": _TUPLE,
    "object": _TUPLE, "tuple": "write the items: (a, b)",
    "isinstance": _TYPES, "issubclass": _TYPES, "type": _TYPES, "hasattr": _TYPES, "callable": _TYPES,
    "getattr": "write the attribute: X.shape", "setattr": "assign to a name, or to elements: X[i] = ...",
    "delattr": "names end with their function", "vars": _OUTSIDE, "dir": _OUTSIDE, "id": _OUTSIDE, "hash": _OUTSIDE,
    "str": _TEXT, "repr": _TEXT, "format": _TEXT, "ascii": _TEXT, "bytes": _TEXT, "chr": _TEXT, "ord": _TEXT,
    "bin": _TEXT, "hex": _TEXT, "oct": _TEXT,
    "input": _OUTSIDE, "open": _OUTSIDE, "eval": _OUTSIDE, "exec": _OUTSIDE, "compile": _OUTSIDE,
    "globals": _OUTSIDE, "locals": _OUTSIDE,
    "breakpoint": "gl.print shows values; target=\"interpreter\" checks every access",
    "help": _OUTSIDE, "exit": "`return` ends a kernel", "quit": "`return` ends a kernel",
    "copyright": _OUTSIDE, "credits": _OUTSIDE, "license": _OUTSIDE,
    "super": "write a function of its own", "property": "write a function of its own",
    "classmethod": "write a function of its own", "staticmethod": "write a function of its own",
}  # fmt: skip
"""What to write for functions of Python, by name; some of them have a meaning for what is known while translating."""

_NOT_CALLED = "leave the parentheses out, or give the value a name that no function has"

_LIBRARY = os.path.dirname(os.__file__)
"""The folder of Python's own modules, and of installed packages in a folder inside."""

_ARRAYS = ("numpy", "torch", "jax", "jaxlib", "cupy", "scipy", "tensorflow", "ml_dtypes")
"""Libraries whose functions compute with whole arrays."""

_FUNCTIONS = "call it on arrays before or behind the kernel; in a kernel, compute with gl.exp, gl.sum and the like"

_OF_FUNCTIONS = {
    "softmax": "e = gl.exp(row - gl.max(row, axis=1)), and e / gl.sum(e, axis=1), of a tile of whole rows",
    "gelu": "0.5 * x * (1.0 + gl.erf(x * 0.7071067811865476))",
    "matmul": "a @ b of tiles, or gl.gemm(alpha, A, B, beta, C) of the work-group",
    "scan": "gl.cumsum in memory, or gl.subgroup_inclusive_scan_add(x)",
}
"""What to write in a kernel in place of functions of `girih.functions`, where that is short."""


def refused_callee(function: object, written: str) -> Refusal | None:
    """Why something cannot be called in a kernel; None for what has a meaning, and for functions of the user.

    `written` is how the call names it.
    """
    if hasattr(function, WORD) or isinstance(function, LocalFunction):
        return None
    refused = _refused_kind(function, written)
    if refused is not None:
        return refused
    room = _room(function)
    if room == "girih":
        return _refused_of_girih(function, written)
    if room in _ARRAYS:
        return f"`{written}` computes outside of kernels, with whole arrays", word_for(_name(function)) or _FUNCTIONS
    if isinstance(function, types.FunctionType) and not _is_of_python(function):
        return None
    return _refused_of_python(function, written, room)


def _refused_kind(function: object, written: str) -> Refusal | None:
    """Why something of a kind that no room decides cannot be called."""
    if is_kernel(function):
        return f"`{written}` is a kernel, and a kernel calls no other", _OTHER_KERNEL
    if is_wrapped(function):
        return f"`{written}` is wrapped by a decorator, {WRAPPED}", "call a function without one"
    if isinstance(function, functools.partial):
        return f"`{written}` is a `functools.partial`", "write a function that gives the arguments: lambda x: f(2, x)"
    if isinstance(function, types.MethodType):
        owner = described_value(function.__self__)
        return f"`{written}` is a method of {owner}", "write a function of its own, whose arguments are all it needs"
    if not callable(function):
        return f"`{written}` is {described_value(function)}, which cannot be called", _NOT_CALLED
    return None


def _refused_of_girih(function: object, written: str) -> Refusal:
    if isinstance(function, type):
        hint = "gl.local(shape, dtype) is memory of the work-group, gl.full(shape, value, dtype) a tile"
        return f"`{written}` is a type of girih, which nothing is made of in a kernel", hint
    return f"`{written}` is a function of girih for whole arrays", _in_place_of(_name(function)) or _FUNCTIONS


def _is_of_python(function: types.FunctionType) -> bool:
    file = function.__code__.co_filename
    return file.startswith("<frozen ") or (file.startswith(_LIBRARY) and "-packages" not in file)


def _refused_of_python(function: object, written: str, room: str) -> Refusal:
    name = _name(function)
    if getattr(builtins, name, None) is function:
        return f"`{written}` cannot be called in a kernel", REFUSED_BUILTINS.get(name, _OUTSIDE)
    if isinstance(function, type):
        hint = "use names of their own, or a tuple; types of numbers are gl.f32, gl.i32 and the like"
        return f"`{written}` makes an object of Python, and kernels have none", hint
    if room in sys.stdlib_module_names:
        return f"`{written}` cannot be called in a kernel: it is Python's own", word_for(name) or _OUTSIDE
    return (
        f"`{written}` is {described_value(function)}, and not a function that a kernel can read",
        "a kernel calls functions made by `def`, element types, and words of girih.language",
    )


def _name(function: object) -> str:
    return str(getattr(function, "__name__", ""))


_OTHER_KERNEL = (
    "launch it before or behind this one; what both compute goes into a function without @girih.kernel, which both call"
)


def _room(function: object) -> str:
    """The name of the outermost package that a function, or the type of an object that is called, stands in."""
    own = getattr(function, "__module__", None)
    return str(own if isinstance(own, str) else type(function).__module__).partition(".")[0]


def _in_place_of(name: str) -> str | None:
    instead = _OF_FUNCTIONS.get(name)
    return f"call it on arrays before or behind the kernel; in a kernel write {instead}" if instead else None


def word_for(name: str) -> str | None:
    """The word of a kernel for the name of a function elsewhere."""
    import girih.language

    if callable(getattr(girih.language, name, None)):
        return f"write gl.{name}(...)"
    if name in INSTEAD:
        return f"write {INSTEAD[name]}"
    known = (*girih.language.__all__, *girih.language.NAMED_AS_BUILTINS)
    close = nearest(name, known, cutoff=0.8)
    return f"did you mean gl.{close}?" if close else None


def refused_capture(value: object, name: str) -> Refusal:
    """Why a kernel cannot read a value from outside, and what to write."""
    what = described_value(value)
    if hasattr(value, "dtype") or hasattr(value, "__array_interface__"):
        rank = len(getattr(value, "shape", ()))
        kind = {0: "gl.Scalar[...]", 1: "gl.Vector[...]", 2: "gl.Matrix[...]"}.get(
            rank, f"gl.Array[..., Literal[{rank}]]"
        )
        return f"`{name}` is an array from outside, which a kernel cannot read", f"make it a parameter: {name}: {kind}"
    hints: dict[type, str] = {
        list: "a list may change: make it a tuple, or a parameter that is a gl.constant or a gl.Group",
        dict: f"give what the kernel reads names of their own, outside: value = {name}[...]",
        set: "make it a tuple",
    }
    hint = next((text for kind, text in hints.items() if isinstance(value, kind)), None)
    take = f"take what the kernel reads out of it, outside: value = {name}.value; " if hint is None else ""
    known = "numbers, strings, types, tuples, functions and modules are known"
    return f"`{name}` is {what}, which a kernel cannot read", hint or f"{take}{known}"


def shown_signature(signature: inspect.Signature) -> str:
    """The parameters of a function with their defaults, in parentheses."""
    names = [
        ("*" + p.name if p.kind is p.VAR_POSITIONAL else p.name) + ("" if p.default is p.empty else f"={p.default!r}")
        for p in signature.parameters.values()
    ]
    return "(" + ", ".join(names) + ")"
