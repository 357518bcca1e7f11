"""What girih adds to specification 003 beside instructions, as rows like those of the specifications' names.

A section is titled by the page that describes its names. Permissions and hints come from `girih.ir.hints`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from girih.ir.hints import LOOP_HINTS, MACHINE_HINTS, PERMISSIONS, Hint
from girih.specifications import SPECIFICATIONS, named
from girih.specifications.name import SpecificationName, row, section, specification

_NO_ARITHMETIC = (
    "It is stored, moved, printed, cast, and multiplied as matrices with sums in f32; arithmetic needs a cast first."
)


def _permissions() -> Iterator[SpecificationName]:
    for name, says in PERMISSIONS.items():
        yield row(name, "permission", f"Every target may change results so: {says}.", spelling=f'`allow=["{name}"]`')


def _hints(owner: str, hints: Mapping[str, Hint], spelling: str) -> Iterator[SpecificationName]:
    for name, hint in hints.items():
        says = f"It says {hint.doc}, as {hint.words}. Results stay as they are."
        yield row(name, f"hint of {owner}", says, spelling=f"`{spelling.format(name)}`")


def _machines() -> Iterator[SpecificationName]:
    for machine, hints in MACHINE_HINTS.items():
        says = (
            f"The hints of a function for {machine.capitalize()} GPUs: {', '.join(hints)}. Other targets ignore them."
        )
        yield row(machine, "attribute", says, ops="func", spelling=f"`{machine}={{...}}`")
        yield from _hints(machine, hints, f"{machine}={{{{{{}}=...}}}}")


ADDITIONS = specification(
    "girih",
    "Additions to the language",
    section(
        "docs/language/functions.md#type",
        "Types.",
        row("f8e4m3", "type", "Floats of 8 bits with 4 of exponent, OCP's float8_e4m3fn: up to 448, NaN, no infinity. "
            + _NO_ARITHMETIC, spelling="`f8e4m3`"),
        row("f8e5m2", "type", "Floats of 8 bits with 5 of exponent, OCP's float8_e5m2: up to 57344, with infinities "
            "and NaN. " + _NO_ARITHMETIC, spelling="`f8e5m2`"),
    ),
    section(
        "docs/language/tensor_map.md",
        "Tensor maps in programs.",
        row("tensor_map", "type", "A parameter that is a tensor map of the hardware, bound to its array: "
            "girih.addressing.TensorMap.bind(array). Copies go through it between the array and local memory.",
            ops="tensor_copy_load tensor_copy_load_im2col tensor_copy_store tensor_copy_reduce", python="TensorMap",
            spelling="`tensor_map<f16,2,tiled>`"),
    ),
    section(
        "docs/execution.md#the-grid-of-a-kernel",
        "How a kernel is called.",
        row("grid", "attribute", "How many work-groups a launch has along x, y and z, from the sizes of its arguments; "
            "kernel[grid](...) overrides it.", ops="func", spelling="`grid=[ceil(size(%C, 0), 32)]`"),
    ),
    section(
        "docs/row-major.md#saying-the-order",
        "The order of arrays.",
        row("order", "attribute", "Whether mode 0 of a memref is the last axis of its array, \"C\" as NumPy and torch "
            "allocate them, or the first, \"F\", which is the default.", ops="func", spelling='`order="C"`'),
    ),
    section(
        "docs/execution.md#permissions-and-hints",
        "What a kernel permits its targets, and what it advises them.",
        row("allow", "attribute", f"What may change the results of a kernel: {', '.join(PERMISSIONS)}."
            " Without one every instruction rounds as its page says.", ops="func", spelling='`allow=["contract"]`'),
        *_permissions(),
        *_machines(),
        *_hints("for", LOOP_HINTS, "for ... {{{}=...}}"),
    ),
)  # fmt: skip
"""The names of additions; instructions that girih adds are in the language itself."""

VOCABULARY = (*SPECIFICATIONS, ADDITIONS)
"""All tables of names that `girih explain` answers for."""


def known_as(name: str, *, loosely: bool = False) -> list[SpecificationName]:
    """The rows of a name, those of the specifications first; `loosely` as in `girih.specifications.named`.

    A name of an addition may be one of a specification without its dot: `tf32` is `.tf32` of PTX too.
    """
    added = [one for one in ADDITIONS if name == one.name or (loosely and name.lower() == one.name)]
    return [*(named(name, loosely=loosely) or (named(name, loosely=True) if added else [])), *added]
