"""The cell magic `%%girih`: a cell of a notebook is a text in the tensor language, loaded when it runs.

`%load_ext girih` registers it. The kernels of the text become variables of the notebook. IPython is not imported: what
is used of it is the shell that it passes.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from girih.api import Program, loads
from girih.diagnostics import GirihError

USAGE = "%%girih [PROGRAM] [--target TARGET] [--order C] [--checks bounds] [-D NAME=VALUE ...]"


class Shell(Protocol):
    """What is used of IPython's shell."""

    user_ns: dict[str, Any]
    execution_count: int

    def register_magic_function(self, func: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Make a function a magic of cells."""


class MagicError(GirihError):
    """A line behind `%%girih` that cannot be read; the message says what it takes."""


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MagicError(f"{message}; expected {USAGE}")


def _definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    return name, value


def _options() -> _Options:
    options = _Options("%%girih", add_help=False, allow_abbrev=False)
    options.add_argument("program", nargs="?")
    options.add_argument("--target")
    options.add_argument("--order", default="F", choices=("C", "F"))
    options.add_argument("--checks", default="bounds")
    options.add_argument("-D", dest="definitions", action="append", default=[], type=_definition)
    return options


def register(shell: Shell) -> None:
    """Make `%%girih` known to a shell."""

    def girih(line: str, cell: str) -> Program:
        """Load the text of a cell; its kernels become variables, and its program is what the cell shows."""
        try:
            return _loaded(shell, line, cell)
        except GirihError as error:
            # IPython shows these lines in place of a traceback through files of girih.
            lines = str(error).splitlines()
            vars(error)["_render_traceback_"] = lambda *_: lines
            raise

    shell.register_magic_function(girih, "cell", "girih")


def _loaded(shell: Shell, line: str, cell: str) -> Program:
    given = _read(line)
    if given.program is not None and not given.program.isidentifier():
        raise MagicError(f"{given.program!r} is not a name of Python; expected {USAGE}")
    try:
        program = loads(
            cell,
            given.target,
            dict(given.definitions),
            f"<cell {shell.execution_count}>",
            order=given.order,
            checks=given.checks,
        )
    except ValueError as error:
        raise MagicError(str(error)) from None
    named = {name: kernel for name, kernel in program.items() if name.isidentifier()}
    shell.user_ns.update(named if given.program is None else {given.program: program})
    return program


def _read(line: str) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise MagicError(f"{str(error).lower()}; expected {USAGE}") from None
    return _options().parse_args(words)
