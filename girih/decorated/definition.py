"""A kernel in Python as it was defined: its function, its parameters, the options of its decorator, its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from inspect import Parameter
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar

from girih.arguments.report import ArgumentReport
from girih.arguments.seen import SeenArray
from girih.decorated.arguments import in_order
from girih.decorated.calling import Entrance
from girih.decorated.results import Rule, checked_rules
from girih.decorated.specialise import ArrayPromises, Specialised, look, specialised
from girih.decorated.variants import Variant, VariantKey, Variants
from girih.decorated.watch import Watched, watched
from girih.diagnostics import CompileError, LaunchError, errors, nearest
from girih.front.python.facts import ConstantFacts, KernelOptions, Specialisation
from girih.front.python.signature import Declared, shown
from girih.front.python.translate import KernelDefinition, read, translate
from girih.front.python.words.messages import judged_in_python
from girih.language.foreign import OPTIONS
from girih.lazy_dataclass import dataclass
from girih.program import in_order as module_in_order
from girih.program import judged
from girih.runtime.targets import given_elsewhere, launch_options, resolve
from girih.tuned.file import TuningFileError
from girih.tuned.selection import ChoiceTable

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Module
    from girih.ir.limits import DeviceLimits
    from girih.runtime.targets import ResolvedTarget


@dataclass(frozen=True, slots=True, eq=False)
class DecoratedFunction:
    """A kernel as it was defined, with everything about it that does not depend on a call.

    `target` is None where the arrays of a call decide; `results` are the rules for shapes of arrays that `out`
    allocates.
    """

    function: FunctionType
    source: KernelDefinition
    parameters: tuple[Declared, ...]
    options: KernelOptions
    promises: ArrayPromises
    target: str | None
    settings: Mapping[str, str]
    results: Mapping[str, Rule]
    variants: Variants
    entrance: Entrance
    tuned: ChoiceTable | None = None
    """What was chosen for constants; those that it may set have the default `TUNED`."""
    untuned: Mapping[str, object] = field(default_factory=dict)
    """The defaults that these have where no choice suits a launch."""

    @property
    def runtime(self) -> tuple[int, ...]:
        """The numbers of the parameters that are no constants."""
        return tuple(number for number, p in enumerate(self.parameters) if p.kind != "constant")

    @property
    def arrays(self) -> tuple[int, ...]:
        """The numbers of the parameters that are arrays."""
        return tuple(number for number, p in enumerate(self.parameters) if p.kind == "array")

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.source.name

    @property
    def signature(self) -> str:
        """The name and the parameters as the function has them."""
        return f"{self.name}({', '.join(map(shown, self.parameters))})"

    def parameter(self, name: str) -> Declared:
        """The parameter of a name."""
        return next(p for p in self.parameters if p.name == name)

    def in_order(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        """One argument for each parameter. Raises `LaunchError`."""
        return self.filled(self._in_order(self.parameters, arguments, named))

    def _in_order(
        self, parameters: Sequence[Declared], arguments: Sequence[object], named: Mapping[str, object]
    ) -> tuple[object, ...]:
        made = {name: f"{name} = {self.name}.out(...) makes it from the other arguments" for name in self.results}
        instead = OPTIONS | made | {name: where for name in named if (where := given_elsewhere(name)) is not None}
        head, signature = self.source.span, self.signature
        return in_order(parameters, arguments, named, head=head, signature=signature, instead=instead)

    def inputs(
        self, arguments: Sequence[object], named: Mapping[str, object]
    ) -> tuple[dict[str, object], dict[str, tuple[object, SeenArray]], Mapping[TypeVar, str]]:
        """The arguments that are no results by name, the arrays among them, and what type variables stand for.

        Raises `LaunchError`.
        """
        parameters = [p for p in self.parameters if p.name not in self.results]
        values = self._in_order(parameters, arguments, named)
        report = ArgumentReport()
        arrays, variables = look(parameters, values, report)
        if report.diagnostics:
            raise LaunchError(report.diagnostics)
        by_name = {p.name: self.untuned[p.name] if value is TUNED else value
                   for p, value in zip(parameters, values, strict=True)}  # fmt: skip
        looked = {place.name: (by_name[place.name], array) for place, array in arrays if place.name in by_name}
        return by_name, looked, variables

    # --- choices ---------------------------------------------------------------------------

    def filled(self, arguments: Sequence[object]) -> tuple[object, ...]:
        """One argument for each parameter, with the constants that were chosen for them.

        Raises `LaunchError` where no choice suits and a constant has no default.
        """
        if self.tuned is None or not any(value is TUNED for value in arguments):
            return tuple(arguments)
        given = dict(zip((p.name for p in self.parameters), arguments, strict=True))
        kinds = {p.name: p.kind for p in self.parameters}
        arrays = {name: value for name, value in given.items() if kinds[name] in ("array", "group", "tensor_map")}
        constants = {name: value for name, value in given.items()
                     if kinds[name] == "constant" and name not in self.tuned.names}  # fmt: skip
        choice = self.tuned.for_launch(self.target, resolve().name, arrays, constants)
        chosen = {**self.untuned, **({} if choice is None else choice.definitions)}
        known = {name: chosen[name] if value is TUNED else value for name, value in given.items()}
        missing = [name for name, value in known.items() if value is Parameter.empty]
        if missing:
            plain = with_defaults(self.parameters, self.untuned, self.name)
            return self._in_order(plain, (), {n: v for n, v in known.items() if n not in missing})
        return tuple(known.values())

    def with_choices(self, tuned: ChoiceTable) -> DecoratedFunction:
        """The definition whose constants are what was chosen for the arguments of a launch.

        Raises `TuningFileError` for a choice that sets what is no constant of the kernel.
        """
        known = [p.name for p in self.parameters if p.kind == "constant"]
        unknown = [name for name in tuned.names if name not in known]
        if unknown:
            has = f"the constants of {self.name} are {', '.join(known) or 'none'}"
            raise TuningFileError(f"{tuned.path} sets {unknown[0]!r}, and {has}: it was changed; tune it again")
        untuned = {p.name: p.default for p in self.parameters if p.name in tuned.names}
        parameters = with_defaults(self.parameters, dict.fromkeys(tuned.names, TUNED), self.name)
        return replace(self, parameters=parameters, entrance=Entrance(parameters), tuned=tuned, untuned=untuned)

    # --- variants --------------------------------------------------------------------------

    def variant(self, arguments: Sequence[object]) -> tuple[Specialised, Variant]:
        """The variant for one argument of each parameter, made if there is none. Raises what a launch raises."""
        arguments = self.filled(arguments)
        found = specialised(self.parameters, arguments, self.options, self.promises, alone=self.target is None)
        target = self._resolved(found.device)
        outside = self.watched()
        captured = tuple((f"{w.function}.{w.name}", _hashable(w.value)) for w in outside)
        constants = [f.value for _, f in found.specialisation.parameters if isinstance(f, ConstantFacts)]
        kinds = (*(_kind(value) for value in constants), *(type(w.value) for w in outside))
        key = VariantKey(found.specialisation, target.name, found.order, captured, kinds)
        return found, self.variants.obtained(key, lambda: self._made(key, target))

    def _resolved(self, device: int | None) -> ResolvedTarget:
        """The target for arrays on a device, None for the host. Raises `ValueError` for one that does not exist."""
        wanted = self.target
        if wanted is None and device is not None:
            wanted = f"cuda:{device}" if device else "cuda"
        return resolve(wanted, **self.settings)

    def _made(self, key: VariantKey, target: ResolvedTarget) -> Variant:
        """A new variant. Raises `CompileError`."""
        from girih.api import program_of

        module, problems = self._translated(key.specialisation, key.order, target.row.limits)
        if errors(problems):
            raise CompileError(problems)
        return Variant(key, program_of(module, target, problems)[module.functions[0].name], tuple(problems))

    def module(
        self, arguments: Sequence[object], limits: DeviceLimits | None = None
    ) -> tuple[Module, list[Diagnostic]]:
        """The module for one argument of each parameter, and what is wrong with it; `limits` are a target's.

        Nothing is compiled or kept. Raises `LaunchError` for wrong arguments, and `CompileError` for a function that
        cannot be translated.
        """
        arguments = self.filled(arguments)
        found = specialised(self.parameters, arguments, self.options, self.promises, alone=self.target is None)
        return self._translated(found.specialisation, found.order, limits)

    def _translated(
        self, specialisation: Specialisation, order: str | None, limits: DeviceLimits | None
    ) -> tuple[Module, list[Diagnostic]]:
        module = translate(self.source, specialisation)
        if order == "C":
            module = module_in_order(module, "C")
        return module, judged_in_python(judged(module, (), limits))

    def watched(self) -> tuple[Watched, ...]:
        """What the function, its helpers and its grid read from outside, as it is now."""
        grid = self.options.grid
        more = watched(grid) if isinstance(grid, FunctionType) else ()
        return (*watched(self.function), *more)

    # --- others ----------------------------------------------------------------------------

    def check_options(self, given: Mapping[str, object]) -> None:
        """Raise `TypeError` and `ValueError` for options of a launch that the target does not take."""
        if self.target is not None:
            launch_options(self._resolved(None).row, given)

    def for_target(self, target: str, settings: Mapping[str, str] | None = None) -> DecoratedFunction:
        """The definition with another target, and other settings of it. Raises `ValueError` for what does not exist."""
        settings = self.settings if settings is None else settings
        resolve(target, **settings)
        return replace(self, target=target, settings=settings)

    def with_constants(self, constants: Mapping[str, object]) -> DecoratedFunction:
        """The definition with other defaults of constants. Raises `ValueError`."""
        parameters = with_defaults(self.parameters, constants, self.name)
        return replace(self, parameters=parameters, entrance=Entrance(parameters))


class TunedConstant(Enum):
    """The one value that stands for a constant that is yet to be chosen."""

    TUNED = "chosen by the arguments"

    def __repr__(self) -> str:
        return f"<{self.value}>"


TUNED = TunedConstant.TUNED
"""The default of a constant that a file of `girih.tune` may set; the arguments of a launch decide."""


def with_defaults(parameters: Sequence[Declared], constants: Mapping[str, object], kernel: str) -> tuple[Declared, ...]:
    """The parameters with other defaults of constants. Raises `ValueError` for a name that is none."""
    known = [p.name for p in parameters if p.kind == "constant"]
    for name in constants:
        if name not in known:
            close = nearest(name, known)
            has = f"its constants are {', '.join(known)}" if known else "it has no constants"
            raise ValueError(f"{kernel} has no constant {name!r}; {f'did you mean {close!r}?' if close else has}")
    return tuple(replace(p, default=constants[p.name]) if p.name in constants else p for p in parameters)


def defined(
    function: object,
    options: KernelOptions,
    promises: ArrayPromises,
    target: str | None,
    settings: Mapping[str, str],
    results: Mapping[str, Rule] | str | None,
    constants: Mapping[str, object],
    most: int,
) -> DecoratedFunction:
    """The definition of a kernel. Raises `CompileError` for a function that is none, `ValueError` for wrong options."""
    if most < 1:
        raise ValueError(f"most_variants is {most}; it must be 1 or more")
    source = read(function)
    plain = source.text.function
    assert isinstance(plain, FunctionType)
    if target is not None:
        resolve(target, **settings)
    parameters = with_defaults(source.parameters, constants, source.name)
    _check_sizes(promises.sizes, parameters, source.name)
    return DecoratedFunction(
        plain,
        source,
        parameters,
        options,
        promises,
        target,
        settings,
        checked_rules(results, parameters),
        Variants(source.name, most),
        Entrance(parameters),
    )


def _check_sizes(sizes: Mapping[str, Sequence[int | str | None]], parameters: Sequence[Declared], kernel: str) -> None:
    """Raise `ValueError` for promised sizes that do not suit the parameters."""
    constants = [p.name for p in parameters if p.kind == "constant"]
    ranks = {p.name: p.rank for p in parameters if p.kind in ("array", "group")}
    for name, entries in sizes.items():
        if name not in ranks:
            raise ValueError(f"sizes names {name!r}; the arrays of {kernel} are {', '.join(ranks) or 'none'}")
        if len(entries) != ranks[name]:
            raise ValueError(f"{name} has {ranks[name]} axes, but sizes has {len(entries)} entries for it")
        for entry in entries:
            if isinstance(entry, str) and entry not in constants:
                raise ValueError(f"sizes names the constant {entry!r}; those of {kernel} are {', '.join(constants)}")


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _kind(value: object) -> object:
    """What tells equal constants apart: their types, those of the entries of a tuple, and the signs of zeros."""
    if isinstance(value, tuple):
        return tuple(map(_kind, value))
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, complex):
        return value.real.hex(), value.imag.hex()
    return type(value)
