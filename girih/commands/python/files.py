"""The kernels of a file of Python: the file is executed, as an import would, and its decorated functions are taken."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from types import ModuleType
from typing import TYPE_CHECKING

import click

from girih.commands.parts.calls import refuse_file, unknown
from girih.diagnostics import CompileError

if TYPE_CHECKING:
    from girih.decorated.python_kernel import PythonKernel

ENDING = ".py"


def is_python(path: str) -> bool:
    """Whether a path is, by its ending, one of a file of Python."""
    return path.lower().endswith(ENDING)


def kernels_of(path: str) -> dict[str, PythonKernel]:
    """The kernels that a file defines, by the names that it gives to them; those that it imports are not its own.

    The file is executed under the name that `python` would import it by, so that what stands below
    `if __name__ == "__main__"` is not. It finds what lies beside it, and no arguments in `sys.argv`; what it prints
    goes to standard error.

    Raises `CompileError` for a kernel that cannot be read and for what the file raises, which is shown with its
    traceback where other files are in it, and `click.ClickException` for a file that cannot be read.
    """
    from girih.decorated.python_kernel import PythonKernel

    module = _executed(path)
    found = {name: value for name, value in vars(module).items() if isinstance(value, PythonKernel)}
    return {name: kernel for name, kernel in found.items() if kernel.function.__module__ == module.__name__}


def kernel_of(path: str, name: str | None) -> PythonKernel:
    """The kernel of a name, or the only one. Raises `click.UsageError` where there is none; else as `kernels_of`."""
    kernels = kernels_of(path)
    if name is None:
        if len(kernels) == 1:
            return next(iter(kernels.values()))
        listed = f"name one of its kernels: {', '.join(kernels)}" if kernels else "it defines no kernel"
        raise click.UsageError(f"{path}: {listed}")
    if name not in kernels:
        unknown("kernel", name, kernels)
    return kernels[name]


def _executed(path: str) -> ModuleType:
    """The module of a file, executed. Its code has the path as it was given, which is what diagnostics show."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        refuse_file(path, error)
    import linecache

    linecache.checkcache(path)
    name = os.path.splitext(os.path.basename(path))[0]
    module = ModuleType(name)
    module.__file__ = os.path.abspath(path)
    before, folder, arguments = sys.modules.get(name), os.path.dirname(module.__file__), sys.argv
    sys.modules[name] = module
    sys.path.insert(0, folder)
    sys.argv = [path]
    try:
        # What the command writes to standard output may be read by a program.
        with redirect_stdout(sys.stderr):
            exec(compile(text, path, "exec", dont_inherit=True), vars(module))
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        from girih.decorated.imports import not_imported

        _tell(error, path)
        raise CompileError([not_imported(path, text, error)]) from None
    finally:
        sys.argv = arguments
        if folder in sys.path:
            sys.path.remove(folder)
        if before is not None:
            sys.modules[name] = before
    return module


def _tell(error: BaseException, path: str) -> None:
    """Print the traceback of a file's own error, without the frames of the command above it, if it has other files."""
    import traceback

    frames = error.__traceback__
    own = frames.tb_next if frames is not None else None
    if any(frame.filename != path for frame in traceback.extract_tb(own)):
        click.echo("".join(traceback.format_exception(type(error), error, own)), nl=False, err=True)
