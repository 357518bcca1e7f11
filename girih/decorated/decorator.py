"""`girih.kernel`: the decorator that makes a kernel of a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, overload

from girih.decorated.definition import defined
from girih.decorated.python_kernel import PythonKernel
from girih.decorated.results import Rule
from girih.decorated.specialise import ArrayPromises
from girih.decorated.tracebacks import without_frames
from girih.decorated.variants import MOST_VARIANTS
from girih.diagnostics import CompileError, nearest
from girih.front.python.facts import KernelOptions
from girih.ir.hints import MACHINE_HINTS
from girih.language.foreign import OPTIONS
from girih.runtime.targets import CHECKS
from girih.tuned.selection import read_table


# Without the two forms, `@girih.kernel` and `@girih.kernel(...)` would both be of the union for a type checker, so that
# it would refuse every call of a decorated function.
@overload
def kernel(function: Callable[..., Any], /) -> PythonKernel: ...
@overload
def kernel(
    *,
    grid: Callable[..., object] | None = None,
    target: str | None = None,
    out: Mapping[str, Rule] | str | None = None,
    definitions: Mapping[str, object] | str | PathLike[str] | None = None,
    subgroup_size: int | None = None,
    work_group_size: tuple[int, ...] | None = None,
    allow: Sequence[str] = (),
    sizes: Mapping[str, Sequence[int | str | None]] | None = None,
    alignment: int | None = None,
    checks: str | None = None,
    most_variants: int = MOST_VARIANTS,
    **hints: Mapping[str, object],
) -> Callable[[Callable[..., Any]], PythonKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    grid: Callable[..., object] | None = None,
    target: str | None = None,
    out: Mapping[str, Rule] | str | None = None,
    definitions: Mapping[str, object] | str | PathLike[str] | None = None,
    subgroup_size: int | None = None,
    work_group_size: tuple[int, ...] | None = None,
    allow: Sequence[str] = (),
    sizes: Mapping[str, Sequence[int | str | None]] | None = None,
    alignment: int | None = None,
    checks: str | None = None,
    most_variants: int = MOST_VARIANTS,
    **hints: Mapping[str, object],
) -> PythonKernel | Callable[[Callable[..., Any]], PythonKernel]:
    """A function as a kernel: `@girih.kernel`, or `@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 256))`.

    The function is read from its text and never called; its parameters are annotated by types of `girih.language`.

    - `grid`: the number of work-groups along x, y and z, from 1 to 3 numbers, as a lambda of parameters.
    - `target`: as for `girih.load`; without it the arrays of a call decide: `cuda` for arrays on a CUDA device,
      for arrays of the host what `GIRIH_TARGET` says, otherwise `cpu`.
    - `out`: results that `kernel.out(...)` allocates: a mapping from parameters to their shapes, each the name of an
      array of the same shape, a lambda of parameters, or sizes.
    - `definitions`: values of parameters that are `gl.constant`, in place of their defaults; or a file of `girih.tune`,
      of which each launch takes the choice that suits its arguments.
    - `subgroup_size`, `work_group_size`, `allow`, and hints such as `hopper={"stages": 4}`: attributes of the function.
    - `sizes`: sizes of arrays that are known when the kernel is compiled, by axes: numbers, names of constants, or None
      for one that may vary. A launch with other sizes is refused.
    - `alignment`: in bytes, of the first element of every array; a launch with others is refused.
    - `checks`: how much compiled code checks, `bounds` or `off`, as for `girih.load`.
    - `most_variants`: so many variants are kept; a warning says when it is exceeded.

    Raises `CompileError` where the function's text cannot be had or a parameter says no type, `ValueError` and
    `TypeError` for wrong options and files, and `OSError` for a file that cannot be read.
    """
    if grid is not None and not callable(grid):
        function = "grid is a function of parameters, such as lambda X: X.shape[0]; numbers stand in brackets"
        raise TypeError(f"{function}: kernel[4](X); got {grid!r}")
    machines = tuple((name, tuple(_hints(name, given).items())) for name, given in hints.items())
    _refuse_wrong_attributes(subgroup_size, work_group_size, allow)
    if checks not in (None, *CHECKS):
        raise ValueError(f"checks is one of {', '.join(map(repr, CHECKS))}; got {checks!r}")
    options = KernelOptions(grid, subgroup_size, work_group_size and tuple(work_group_size), tuple(allow), machines)
    promises = ArrayPromises(dict(sizes or {}), alignment)
    settings = {} if checks is None else {"checks": checks}

    def decorate(plain: Callable[..., Any]) -> PythonKernel:
        tuned = read_table(definitions, plain.__name__, target) if isinstance(definitions, str | PathLike) else None
        chosen = definitions if isinstance(definitions, Mapping) else {}
        try:
            made = defined(plain, options, promises, target, settings, out, chosen, most_variants)
            return PythonKernel(made if tuned is None else made.with_choices(tuned))
        except CompileError as error:
            raise without_frames(error) from None

    return decorate if function is None else decorate(function)


def _refuse_wrong_attributes(subgroup_size: object, work_group_size: object, allow: object) -> None:
    """Raise `TypeError` for attributes of the function that are of a wrong kind; the checker judges their values."""
    if subgroup_size is not None and type(subgroup_size) is not int:
        raise TypeError(f"subgroup_size is a whole number, such as 32; got {subgroup_size!r}")
    if work_group_size is not None and not _is_list_of(work_group_size, int):
        raise TypeError(f"work_group_size is a tuple of whole numbers, such as (128, 1); got {work_group_size!r}")
    if not _is_list_of(allow, str):
        raise TypeError(f"allow is a tuple of permissions, such as ('contract',); got {allow!r}")


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list | tuple) and all(type(one) is kind for one in value)


def _hints(machine: str, given: object) -> Mapping[str, object]:
    """The hints for a machine. Raises `TypeError` for a name that is no machine's, nor an option's."""
    if machine not in MACHINE_HINTS:
        names = (*_OPTIONS, *MACHINE_HINTS)
        close, instead = nearest(machine, names), OPTIONS.get(machine)
        words = f"did you mean {close!r}?" if close else f"it has {', '.join(names)}"
        raise TypeError(f"girih.kernel has no option {machine!r}; {instead or words}")
    if not isinstance(given, Mapping):
        raise TypeError(f"{machine} takes a mapping from hints to values, {{'stages': 4}}; got {given!r}")
    return given


_OPTIONS = (
    "grid", "target", "out", "definitions", "subgroup_size", "work_group_size", "allow", "sizes", "alignment", "checks",
    "most_variants",
)  # fmt: skip
