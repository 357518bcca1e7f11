"""The targets: one row each, and the one place where the string that names a target is resolved.

Everything that names targets reads `TARGETS`: loading, the command line, `girih targets`, error messages and the
documentation. A new target is one row and its own packages. Importing this module loads neither NumPy nor LLVM; the
functions in the rows do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from girih.diagnostics import InternalError, nearest
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.types import Number
    from girih.runtime.device import Executor, ShaderEntry, TargetDevice, WorkGroupTilingDevice

ENVIRONMENT = "GIRIH_TARGET"
"""The environment variable that names the target where a program names none."""

DEFAULT = "cpu"
"""The target where neither the program nor the environment names one."""

CHECKING = "interpreter"
"""The target that `girih run` takes where none is named: the one that checks most."""


@dataclass(frozen=True, slots=True)
class EmittedForm:
    """A form in which a compiled kernel can be looked at."""

    name: str
    """The word for it after `girih emit --as`."""
    says: str
    attribute: str
    """The property of `girih.Kernel` that gives the form."""
    targets: tuple[str, ...] = ()
    """The targets of which `girih emit` takes the first that accepts the kernel, where none is named."""


REMARKS_FORM = "remarks"
"""The form that is not code: what the target did and why not better, as diagnostics."""

FORMS = {
    form.name: form
    for form in (
        EmittedForm("llvm", "LLVM IR", "llvm_ir"),
        EmittedForm("asm", "assembly", "assembly"),
        EmittedForm("ptx", "PTX", "ptx"),
        EmittedForm("sass", "machine code of NVIDIA's GPUs", "sass"),
        EmittedForm("spirv", "SPIR-V", "spirv"),
        EmittedForm(
            "glsl", "GLSL", "glsl", ("vulkan:minimal", "vulkan:lavapipe", "vulkan:khr", "vulkan:nvidia-hopper")
        ),
        EmittedForm(REMARKS_FORM, "remarks of the compiler", "remarks"),
    )
}
"""The forms by name; the row of a target lists those that it emits."""

PROGRAM_FORM = "ir"
"""The form that `girih emit --as` writes without a target: the canonical text of the program."""


class DefaultWord(str):
    """The word of a setting that is taken where nobody names one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """A choice between words that is made when a program is loaded; the first word is the default.

    `refusal` is the message for a word that only other targets have, with `{}` for the word as Python writes it.
    `emitted` is the default of the forms of a kernel, where they have another than launches.
    """

    name: str
    says: str
    words: tuple[str, ...]
    refusal: str = ""
    emitted: str = ""


@dataclass(frozen=True, slots=True)
class LaunchOption:
    """An option of a launch, given by `kernel.options`.

    `accept` turns a user's value into the executor's, and raises `TypeError` or `ValueError` for a wrong one; `default`
    is in words.
    """

    name: str
    says: str
    default: Callable[[], str]
    accept: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class TargetForm:
    """A way to write a target, such as `cpu:NAME`.

    `says` is what it is, `use` what it is for, and `capitals` the meaning of the letters in capitals.
    """

    text: str
    says: str
    use: str
    capitals: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """One row of the table of targets.

    `open` makes the device from the name behind the first colon, which is empty without a colon; it raises `ValueError`
    for a name that names nothing.
    """

    name: str
    forms: tuple[TargetForm, ...]
    open: Callable[[str], TargetDevice]
    settings: tuple[Setting, ...]
    options: tuple[LaunchOption, ...] = ()
    emits: tuple[str, ...] = ()
    limits: DeviceLimits = DEFAULT_LIMITS

    @property
    def takes_more(self) -> bool:
        """Whether a name may follow behind a colon."""
        return any(form.capitals for form in self.forms)

    def form(self, name: str) -> TargetForm:
        """The form in which `name` writes the target."""
        return next(form for form in self.forms if bool(form.capitals) == (":" in name))

    def option(self, name: str) -> LaunchOption | None:
        """The option of a launch with this name; None where the target has none."""
        return next((option for option in self.options if option.name == name), None)


def _interpreter(name: str) -> TargetDevice:
    from girih.runtime.interpreter import InterpreterDevice

    return InterpreterDevice()


def _cpu(name: str) -> TargetDevice:
    from girih.runtime.cpu.device import CpuDevice

    return CpuDevice.named(name)


def _vulkan(name: str) -> TargetDevice:
    from girih.runtime.vulkan.target import VulkanDevice

    return VulkanDevice.named(name)


def _opencl(name: str) -> TargetDevice:
    from girih.runtime.opencl.target import OpenClTarget

    return OpenClTarget.named(name)


def _cuda(name: str) -> TargetDevice:
    from girih.runtime.cuda.target import CudaTarget

    return CudaTarget.named(name)


def _choices(value: object) -> object:
    from girih.interpreter.machine.choices import Choices

    if not isinstance(value, Choices):
        raise TypeError(f"choices is a girih.Choices; got {value!r}")
    return value


def _max_steps(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"max_steps is an integer; got {value!r}")
    try:
        steps = index(value)
    except TypeError:
        # An array of NumPy has the method, and refuses.
        raise TypeError(f"max_steps is an integer; got {value!r}") from None
    if steps < 1:
        raise ValueError(f"max_steps is at least 1; got {steps}")
    return steps


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"timeout is a number of seconds; got {value!r}")
    if not 0 < value < 1e9:
        raise ValueError(f"timeout is above 0 and below 1e9 seconds; got {value!r}")
    return float(value)


def _repeat(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"repeat is an integer; got {value!r}")
    if value < 1:
        raise ValueError(f"repeat is at least 1; got {value}")
    return value


def _flag(value: object) -> bool:
    return _truth("races", value)


def _synchronous(value: object) -> bool:
    return _truth("synchronous", value)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is True or False; got {value!r}")
    return value


def _progress(value: object) -> object:
    if not callable(value):
        raise TypeError(f"progress is called with two integers; got {value!r}")
    return value


def _default_steps() -> str:
    from girih.interpreter.run import DEFAULT_STEPS

    return str(DEFAULT_STEPS)


CHECKS = ("bounds", "off")
"""The modes of checks of compiled code: every access and whatever would end the process, or only the latter."""

DEFAULT_CHECKS = DefaultWord(CHECKS[0])
"""The mode that programs are loaded with where nobody names one."""

_CHECKS_OF_DRIVERS = Setting(
    "checks", "launches check every access, or only what would end the process; emitted forms have no checks unless "
              "`bounds` is named", CHECKS, emitted="off",
)  # fmt: skip

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "interpreter",
            (
                TargetForm("interpreter", "NumPy, every access checked",
                           "writing kernels: finds wrong accesses, races, reads of unwritten memory, missed barriers"),
            ),
            _interpreter,
            (Setting("checks", "everything is checked", CHECKS[:1],
                     "the interpreter always checks everything; checks={} is for compiled code"),),
            (
                LaunchOption("choices", "a girih.Choices, which varies what the language leaves open",
                             lambda: "the fastest ones", _choices),
                LaunchOption("max_steps", "how many instructions a batch of work-groups may execute",
                             _default_steps, _max_steps),
                LaunchOption("races", "whether races between work-items are looked for", lambda: "True", _flag),
                LaunchOption("progress", "a function of two integers: finished work-groups, and all of them",
                             lambda: "none", _progress),
            ),
        ),
        Target(
            "cpu",
            (
                TargetForm("cpu", "machine code for this processor, on all its cores",
                           "speed, with accesses still checked"),
                TargetForm("cpu:NAME", "machine code for a processor by LLVM's name, such as `cpu:haswell`",
                           "code for other machines, to run there or to read", "a processor by name"),
            ),
            _cpu,
            (Setting("checks", "every access is checked, or only what would end the process", CHECKS),),
            emits=("llvm", "asm", REMARKS_FORM),
        ),
        Target(
            "cuda",
            (
                TargetForm("cuda", "this machine's current NVIDIA GPU, by NVIDIA's driver",
                           "speed on NVIDIA's GPUs, with accesses still checked"),
                TargetForm("cuda:NAME", "a GPU by its number, as `cuda:0`, or an architecture, as `cuda:sm_90a`",
                           "other GPUs of this machine, and PTX to read without one",
                           "a number, or an architecture that `girih targets cuda` lists"),
            ),
            _cuda,
            (Setting("checks", "every access is checked, or only what would break the GPU's context", CHECKS),),
            (
                LaunchOption("synchronous", "whether launches on arrays of the device are waited for, and judged",
                             lambda: "False, or True with GIRIH_SYNCHRONOUS=1", _synchronous),
            ),
            emits=("llvm", "ptx", "sass", REMARKS_FORM),
            limits=replace(DEFAULT_LIMITS, subgroup_sizes=(8, 16, 32), local_memory_bytes=227 * 1024),
        ),
        Target(
            "vulkan",
            (
                TargetForm("vulkan", "the Vulkan driver of this machine, without its loader",
                           "speed on GPUs, and SPIR-V modules as a driver executes them"),
                TargetForm("vulkan:PROFILE", "SPIR-V and GLSL for a kind of device, such as `vulkan:nvidia-hopper`",
                           "modules for other machines", "a kind of device that `girih targets vulkan` lists"),
            ),
            _vulkan,
            (_CHECKS_OF_DRIVERS,),
            (
                LaunchOption("timeout", "how many seconds a launch may take", lambda: "60", _seconds),
                LaunchOption("repeat", "how often the device executes it, to be timed: arrays are copied once",
                             lambda: "1", _repeat),
            ),
            emits=("spirv", "glsl", REMARKS_FORM),
        ),
        Target(
            "opencl",
            (
                TargetForm("opencl", "the OpenCL driver of this machine that takes SPIR-V",
                           "GPUs of Intel, and its runtime for processors"),
                TargetForm("opencl:PROFILE", "SPIR-V for a kind of device, such as `opencl:minimal`",
                           "modules for other machines", "a kind of device that `girih targets opencl` lists"),
            ),
            _opencl,
            (_CHECKS_OF_DRIVERS,),
            emits=("spirv", REMARKS_FORM),
        ),
    )
}  # fmt: skip
"""The rows of the table by the name of the target."""


FOR_GPUS = "`cuda` runs on NVIDIA's GPUs, `vulkan` on those of all makers, `opencl` on Intel's"
"""What `girih targets` says of GPUs, and what is said to who looks for a target for one under another name."""

GPU_WORDS = ("gpu", "nvidia", "nvptx", "ptx", "spirv", "spir-v", "hip", "rocm", "metal")
"""Names under which a target for GPUs is looked for."""


class TargetError(ValueError):
    """A target, a device or a setting that does not exist; `blames` is `target`, or the name of the setting."""

    def __init__(self, message: str, blames: str = "target") -> None:
        super().__init__(message)
        self.blames = blames


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """A target under the name that was asked for, with its settings, passed on in place of the string."""

    row: Target
    name: str
    settings: Mapping[str, str] = field(hash=False)
    device: TargetDevice = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickled, perhaps on another machine, `cpu` is the processor there.
        return _resolved_again, (self.name, dict(self.settings))

    def __str__(self) -> str:
        return self.name

    def executor(self, function: Function) -> Executor:
        """The executor of a kernel. Raises `CompileError` for a kernel that the target refuses."""
        return self.device.executor(function, self.settings, self.row.limits)

    def shader_executor(self, entry: ShaderEntry) -> Executor:
        """The executor of an entry point of a module, of its function where the target does not execute modules.

        Raises `CompileError` for one that the target refuses.
        """
        from girih.runtime.device import ShaderDevice

        if isinstance(self.device, ShaderDevice):
            return self.device.shader_executor(entry, self.settings)
        return self.executor(entry.function)

    def product_groups(self) -> int | None:
        """The most work-groups for a product by the instruction `gemm`; None where tiles are at least as fast."""
        from girih.runtime.device import GroupingDevice

        return self.device.product_groups() if isinstance(self.device, GroupingDevice) else None

    def product_tile(self, factors: Number, sums: Number) -> tuple[int, int, int] | None:
        """Rows, columns and depth of tiles of products of a type; None where all suit the device."""
        from girih.runtime.device import TilingDevice

        return self.device.product_tile(factors, sums) if isinstance(self.device, TilingDevice) else None

    def attention_tile(self, type: Number) -> tuple[int, int] | None:
        """Queries and keys of tiles of attention on numbers of a type; None where all suit the device."""
        from girih.runtime.device import TilingDevice

        return self.device.attention_tile(type) if isinstance(self.device, TilingDevice) else None

    @property
    def work_group_tiling(self) -> WorkGroupTilingDevice | None:
        """The device, where matrices of the work-group may be the fastest for a type."""
        from girih.runtime.device import WorkGroupTilingDevice

        return self.device if isinstance(self.device, WorkGroupTilingDevice) else None

    def emit(self, function: Function, form: str) -> str | bytes:
        """The kernel in a form of the row's `emits`.

        Raises `CompileError` for a kernel that the target refuses, and `InternalError` for another form.
        """
        from girih.runtime.device import EmittingDevice

        if form not in self.row.emits or not isinstance(self.device, EmittingDevice):
            raise InternalError(f"the target {self.name!r} was asked for the form {form!r} of @{function.name}")
        return self.device.emit(function, form, self._settings_of_forms, self.row.limits)

    @property
    def _settings_of_forms(self) -> Mapping[str, str]:
        """The settings of emitted forms: their own defaults in place of words that nobody named."""
        own = {one.name: one.emitted for one in self.row.settings if one.emitted}
        return {name: own.get(name, word) if isinstance(word, DefaultWord) else word
                for name, word in self.settings.items()}  # fmt: skip

    def remarks(self, function: Function) -> tuple[Diagnostic, ...]:
        """What the target did with a kernel and why not better; nothing of a target that makes no remarks.

        Raises `CompileError` for a kernel that the target refuses.
        """
        from girih.runtime.device import RemarkingDevice

        if REMARKS_FORM not in self.row.emits or not isinstance(self.device, RemarkingDevice):
            return ()
        return self.device.remarks(function, self.settings, self.row.limits)


def resolve(name: str | None = None, **settings: str) -> ResolvedTarget:
    """The target of a name, with settings such as `checks="off"`.

    None is the target that `GIRIH_TARGET` names, or the default; where such a target lacks a setting or a word of it,
    it takes its own. Raises `TargetError`, a `ValueError`, for a target, a device or a word that does not exist, and
    `TypeError` for a name that is not a string and for a setting that no target has.
    """
    wanted = (named_by_environment() or DEFAULT) if name is None else name
    _check_settings(settings)
    for what, value in {"target": wanted, **settings}.items():
        if not isinstance(value, str):
            raise TypeError(f"{what} is a string; got {value!r}")
    try:
        row, inner = _row_of(wanted)
        device = row.open(inner)
    except ValueError as error:
        source = f" ({wanted!r} is named by {ENVIRONMENT})" if name is None else ""
        raise TargetError(f"{error}{source}") from None
    chosen = {one.name: _word(one, settings.get(one.name), lenient=name is None) for one in row.settings}
    foreign = [setting for setting in settings if setting not in chosen]
    if foreign and name is not None:
        raise TargetError(f"the target {row.name!r} has no setting {foreign[0]}", foreign[0])
    return ResolvedTarget(row, wanted, chosen, device)


def named_by_environment() -> str | None:
    """The target that `GIRIH_TARGET` names; None where it is not set, or empty."""
    return os.environ.get(ENVIRONMENT) or None


def _check_settings(given: Iterable[str]) -> None:
    """Raise `TypeError` for settings that no row has."""
    known = {one.name: None for row in TARGETS.values() for one in row.settings}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"{listed(unknown)}: no target has such a setting; there is {listed(list(known))}")


def _resolved_again(name: str, settings: Mapping[str, str]) -> ResolvedTarget:
    return resolve(name, **settings)


def _row_of(name: str) -> tuple[Target, str]:
    """The row of a target, and the name behind the colon. Raises `TargetError`."""
    head, colon, inner = name.partition(":")
    row = TARGETS.get(head)
    if row is not None and (not colon or (inner and row.takes_more)):
        return row, inner
    close = nearest(head.lower(), TARGETS, cutoff=0.75) if row is None else None
    meant = f" (did you mean {close!r}?)" if close else ""
    others = f"; {FOR_GPUS}" if head.lower() in GPU_WORDS else ""
    there = listed_forms(TARGETS.values())
    raise TargetError(f"there is no target {name!r}{meant}; the targets are {there}{others}")


def listed_forms(rows: Iterable[Target]) -> str:
    """The ways to write these targets, in words."""
    forms = [form for row in rows for form in row.forms]
    return listed([f"{form.text} for {form.capitals}" if form.capitals else form.text for form in forms])


def _word(setting: Setting, value: str | None, *, lenient: bool) -> str:
    """The word of a setting for a target; `lenient` takes the default for a word that only other targets have."""
    if value is None:
        return DefaultWord(setting.words[0])
    if value in setting.words:
        return value
    everywhere = {word: None for row in TARGETS.values() for one in row.settings if one.name == setting.name
                  for word in one.words}  # fmt: skip
    if value not in everywhere:
        modes = ", ".join(everywhere)
        raise TargetError(f"there is no mode of {setting.name} {value!r}; the modes are {modes}", setting.name)
    if lenient:
        return DefaultWord(setting.words[0])
    raise TargetError(setting.refusal.format(repr(value)), setting.name)


def launch_options(row: Target, given: Mapping[str, object]) -> dict[str, object]:
    """The given options of a launch, as the executor gets them; None means the default.

    Raises `TypeError` for an option that the target lacks and for a value of another type, and `ValueError` for a value
    out of range.
    """
    chosen: dict[str, object] = {}
    for name, value in given.items():
        option = row.option(name)
        if option is not None and value is not None:
            chosen[name] = option.accept(value)
        elif option is None and (value is not None or not targets_with(name)):
            raise TypeError(_no_option(row, name))
    return chosen


def targets_with(option: str) -> list[str]:
    """The names of the targets that have an option of a launch."""
    return [row.name for row in TARGETS.values() if row.option(option) is not None]


def who_has_it(targets: Sequence[str]) -> str:
    """The sentence that these targets have something: `cpu has it`."""
    return f"{listed(targets)} {'has' if len(targets) == 1 else 'have'} it"


def given_elsewhere(name: str) -> str | None:
    """The words for the right place of a name that may be taken for an argument or an option of a launch; or None."""
    if targets_with(name):
        return f"options are not arguments: kernel.options({name}=...)[grid](...)"
    if name == "grid":
        return "the grid stands in brackets: kernel[grid](...)"
    settings = {setting.name for row in TARGETS.values() for setting in row.settings}
    if name in {"target", "definitions", *settings}:
        return f"{name} is given to girih.load: girih.load(path, {name}=...)"
    return None


def _no_option(row: Target, name: str) -> str:
    """The message for an option that a target lacks: the targets that have it, or the options that exist."""
    own = [one.name for one in row.options]
    others = targets_with(name)
    if others:
        has = f"its options are {listed(own)}" if own else "nor any other"
        return f"the target {row.name!r} has no option {name} of a launch, {has}; {who_has_it(others)}: " \
               f"load the program with target={others[0]!r}"  # fmt: skip
    elsewhere = given_elsewhere(name)
    if elsewhere is not None:
        return f"{name} is no option of a launch: {elsewhere}"
    known = list(dict.fromkeys(one.name for other in TARGETS.values() for one in other.options))
    close = nearest(name, known)
    meant = f" (did you mean {close!r}?)" if close else ""
    there = "; ".join(f"{other.name} has {listed([one.name for one in other.options])}"
                      for other in TARGETS.values() if other.options)  # fmt: skip
    return f"there is no option {name!r} of a launch{meant}; {there}"


def emitters(form: str) -> list[str]:
    """The names of the targets that emit a form."""
    return [row.name for row in TARGETS.values() if form in row.emits]


def no_form(target: str, form: str) -> str:
    """The message for a form that a target does not emit: the targets that do, or the forms that exist."""
    others, says = emitters(form), FORMS[form].says
    if others:
        return f"the target {target!r} emits no {says}; {listed(others)} {'does' if len(others) == 1 else 'do'}"
    there = [f"the canonical text ({PROGRAM_FORM})"]
    there += [f"{one.says} ({one.name})" for one in FORMS.values() if emitters(one.name)]
    return f"{says} is not there yet, no target emits it; there are {listed(there)}"


def listed(words: Sequence[str]) -> str:
    """The words as English lists them: `a, b and c`."""
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])}, and {words[-1]}"
