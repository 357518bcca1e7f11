"""What a row about a name of a specification is: its meaning in a sentence, and where girih has it, or why not."""

from __future__ import annotations

from collections.abc import Iterator

from girih.lazy_dataclass import dataclass

SPIRV = '`girih.load("shader.spv")`'
"""The spelling of what stands in modules: they are checked, run, and written (`girih.spirv`, `kernel.spirv`)."""
NVIDIA = "NVIDIA GPUs"
"""Planned: kernels are compiled for them."""


def plain(name: str) -> str:
    """A name in lower case, without the dot that it begins with."""
    return name.lower().removeprefix(".")


def mode_word(name: str) -> str:
    """What tells a mode from others: `gather4` of `.tile::gather4`, `tiled` of `Tiled mode`."""
    return plain(name).rpartition("::")[2].removesuffix(" mode")


@dataclass(frozen=True, slots=True)
class SpecificationName:
    """A name that a specification uses.

    - `name`, with the other spellings that mean the same in `also`; `kind`: instruction, enumerant, type and so on.
    - `specification`: `000` to `004`; `section`: the heading where it is defined.
    - `says`: its meaning, in words of this project.
    - `ops`: instructions of the tensor language that are it or do it; `python`: public names in `girih.addressing`.
    - `spelling`: its form in a program or a call, in backquotes, if no instruction or function is it.
    - `planned`: what will have it; `because`: why girih has nothing of its own for it.
    """

    name: str
    kind: str
    says: str
    ops: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    spelling: str = ""
    planned: str = ""
    because: str = ""
    also: tuple[str, ...] = ()
    specification: str = ""
    section: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its other spellings."""
        return (self.name, *self.also)

    def meant(self, asked: str) -> str | None:
        """The name or spelling that is meant: in any case, with or without its dot, or by the word of a mode."""
        same = (name for name in self.names if plain(name) == plain(asked))
        by_word = (name for name in self.names if self.kind == "mode" and mode_word(name) == plain(asked))
        return next(same, None) or next(by_word, None)


@dataclass(frozen=True, slots=True)
class SpecificationSection:
    """A section of a specification: its heading, what it is about, and the names that it defines."""

    title: str
    says: str
    names: tuple[SpecificationName, ...]


@dataclass(frozen=True, slots=True)
class Specification:
    """A specification: its number in this project, its title, its sections in order."""

    number: str
    title: str
    sections: tuple[SpecificationSection, ...]

    def __iter__(self) -> Iterator[SpecificationName]:
        return (name for section in self.sections for name in section.names)


def row(
    name: str,
    kind: str,
    says: str,
    *,
    ops: str = "",
    python: str = "",
    spelling: str = "",
    planned: str = "",
    because: str = "",
    also: str = "",
) -> SpecificationName:
    """A row of a table; `ops`, `python` and `also` are words with blanks between."""
    return SpecificationName(
        name, kind, says, tuple(ops.split()), tuple(python.split()), spelling, planned, because, tuple(also.split())
    )


def grammar(names: str, says: str, *, ops: str = "", spelling: str = "") -> SpecificationName:
    """The row of rules of a grammar that belong together; `names` are words with blanks between."""
    first, *others = names.split()
    because = "a rule of the grammar; the page of each instruction shows its syntax"
    return row(first, "grammar", says, ops=ops, spelling=spelling, because=because, also=" ".join(others))


def word(name: str, kind: str, says: str, *, ops: str = "", spelling: str = "") -> SpecificationName:
    """The row of a word that girih writes as the specification does, or as `spelling` shows."""
    return row(name, kind, says, ops=ops, spelling=spelling or f"`{name}`")


def section(title: str, says: str, *names: SpecificationName) -> SpecificationSection:
    """A section with its rows."""
    return SpecificationSection(title, says, names)


def specification(number: str, title: str, *sections: SpecificationSection) -> Specification:
    """A specification, whose rows know where they stand."""
    placed = (
        SpecificationSection(one.title, one.says, tuple(_placed(name, number, one.title) for name in one.names))
        for one in sections
    )
    return Specification(number, title, tuple(placed))


def _placed(name: SpecificationName, number: str, title: str) -> SpecificationName:
    # `dataclasses.replace` would read every field of every row, and `girih explain` waits for it.
    return SpecificationName(
        name.name, name.kind, name.says, name.ops, name.python, name.spelling, name.planned, name.because, name.also,
        number, title,
    )  # fmt: skip
