"""The variants of a kernel: what it became for what it was specialised on; a bounded number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from girih.diagnostics import warn_user
from girih.front.python.facts import Specialisation
from girih.lazy_dataclass import dataclass
from girih.markup import folded, line

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function

MOST_VARIANTS = 64
"""The number of variants that a kernel keeps; then the one that was not used for longest goes."""

PTX_TARGET = "cuda:sm_90a"
"""The architecture of `Variant.ptx` for variants of other targets."""
SPIRV_TARGET = "vulkan:nvidia-hopper"
"""The kind of device of `Variant.spirv` for variants of other targets."""


class VariantWarning(UserWarning):
    """A kernel has more variants than it keeps, so that some are compiled again and again."""


@dataclass(frozen=True, slots=True)
class VariantKey:
    """What a variant is kept by: what it is specialised on, the target, and what it read from outside.

    `captured` has the names of globals and closures that the function read, with their values; `order` is the order
    in which most arrays are, and go in as they are.
    """

    specialisation: Specialisation
    target: str
    order: str = "C"
    captured: tuple[tuple[str, object], ...] = ()
    kinds: tuple[object, ...] = ()
    """What tells equal constants apart: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variant:
    """A kernel in Python for one specialisation, compiled for one target.

    `kernel` is launched as a kernel of a text is; its parameters are those that are not constants.
    """

    key: VariantKey
    kernel: Kernel
    warnings: tuple[Diagnostic, ...] = ()
    """What the checker says of the function that is no error."""

    @property
    def ir(self) -> Function:
        """The function in the tensor language; `str` of it is its text."""
        return self.kernel.ir

    @property
    def text(self) -> str:
        """The variant in the tensor language: the text of a program that is the same kernel."""
        return str(self.kernel.ir)

    @property
    def ptx(self) -> str:
        """The PTX of the variant: for its own architecture, or sm_90a where it is for another target.

        Raises `CompileError` for a kernel that CUDA's target refuses.
        """
        return self.on(PTX_TARGET, "ptx").ptx

    @property
    def spirv(self) -> bytes:
        """The bytes of the variant's SPIR-V module: for its own target, or a device with all extensions for matrices.

        Raises `CompileError` for a kernel that Vulkan's target refuses.
        """
        return self.on(SPIRV_TARGET, "spirv").spirv

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """What the compiler did, and could not do better, then what the latest launch left."""
        return self.kernel.remarks

    def on(self, target: str, form: str = "") -> Kernel:
        """The variant compiled for another target; its own kernel if that emits `form`. Raises `CompileError`."""
        from girih.api import compile_module
        from girih.ir.core import Module

        if form in self.kernel.resolved.row.emits:
            return self.kernel
        return compile_module(Module((self.kernel.ir,)), target)[self.kernel.name]

    def _repr_html_(self) -> str:
        return line(repr(self)[1:-1]) + folded("program", self.text)

    def __repr__(self) -> str:
        return f"<variant {self.kernel.signature} on {self.key.target}>"


class Forgetful(Protocol):
    """Who keeps variants for itself."""

    def forget(self) -> None:
        """Let all of them go."""


class Variants(Mapping[VariantKey, Variant]):
    """The variants that a kernel has at this time, by what they are kept by; the one used last comes last.

    It is a mapping that only the kernel changes; looking one up counts as no use.
    """

    def __init__(self, name: str, most: int = MOST_VARIANTS) -> None:
        self._name = name
        self._most = most
        self._kept: dict[VariantKey, Variant] = {}
        self._lock = RLock()
        self._told = False
        self.forgetful: WeakSet[Forgetful] = WeakSet()
        """Those that keep variants for themselves, and let them go when room gets scarce."""

    def obtained(self, key: VariantKey, make: Callable[[], Variant]) -> Variant:
        """The variant of a key, made if there is none. Raises what `make` raises."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                found = make()
                self._make_room()
                if 2 * len(self._kept) >= self._most:
                    # From now on the order of uses decides, so that each has to come here.
                    for keeper in list(self.forgetful):
                        keeper.forget()
            self._kept[key] = found
            return found

    def _make_room(self) -> None:
        """Let the variant go that was not used for longest, if there are too many; the first time that is said."""
        if len(self._kept) < self._most:
            return
        oldest = next(iter(self._kept))
        del self._kept[oldest]
        if not self._told:
            self._told = True
            warn_user(
                f"kernel {self._name} has more than {self._most} variants: the one that was not used for longest goes "
                "each time; make a parameter that takes many values a number instead of a gl.constant",
                VariantWarning,
            )

    def __getitem__(self, key: VariantKey) -> Variant:
        return self._kept[key]

    def __iter__(self) -> Iterator[VariantKey]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"<variants of {self._name}: {', '.join(map(repr, self.values())) or 'none yet'}>"
