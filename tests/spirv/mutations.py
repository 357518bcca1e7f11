"""Modules with random mistakes: whatever stands in one, reading and judging it gives diagnostics, never an exception.

`python -m tests.spirv.mutations --count 100000 --seed 0 --jobs 2` makes many from the golden modules.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from multiprocessing import Pool

from girih.diagnostics import CompileError, Diagnostic, errors
from girih.spirv import Module, validate
from girih.spirv.instruction import RawInstruction
from tests.spirv.golden import golden_modules

Mutation = Callable[[random.Random, list[RawInstruction], int], list[RawInstruction]]


def _word(rng: random.Random, listed: list[RawInstruction], bound: int) -> list[RawInstruction]:
    """Another word in an instruction: an id of the module, a small or a large number, a word of another instruction."""
    at = rng.choice([index for index, raw in enumerate(listed) if raw.words])
    words = list(listed[at].words)
    other = rng.choice(listed).words
    words[rng.randrange(len(words))] = rng.choice([
        rng.randrange(1, bound + 2), rng.randrange(16), rng.getrandbits(32), rng.choice(other) if other else 0,
    ])  # fmt: skip
    listed[at] = RawInstruction(listed[at].opcode, tuple(words))
    return listed


def _missing(rng: random.Random, listed: list[RawInstruction], _: int) -> list[RawInstruction]:
    """One instruction less."""
    del listed[rng.randrange(len(listed))]
    return listed


def _twice(rng: random.Random, listed: list[RawInstruction], _: int) -> list[RawInstruction]:
    """An instruction a second time, somewhere."""
    listed.insert(rng.randrange(len(listed) + 1), rng.choice(listed))
    return listed


def _moved(rng: random.Random, listed: list[RawInstruction], _: int) -> list[RawInstruction]:
    """An instruction elsewhere."""
    listed.insert(rng.randrange(len(listed)), listed.pop(rng.randrange(len(listed))))
    return listed


def _opcode(rng: random.Random, listed: list[RawInstruction], _: int) -> list[RawInstruction]:
    """Another opcode, mostly one that the module has."""
    at = rng.randrange(len(listed))
    opcode = rng.choice(listed).opcode if rng.random() < 0.8 else rng.randrange(7000)
    listed[at] = RawInstruction(opcode, listed[at].words)
    return listed


def _length(rng: random.Random, listed: list[RawInstruction], bound: int) -> list[RawInstruction]:
    """A word more or less in an instruction."""
    at = rng.randrange(len(listed))
    words = list(listed[at].words)
    if words and rng.random() < 0.5:
        del words[rng.randrange(len(words))]
    else:
        words.insert(rng.randrange(len(words) + 1), rng.randrange(1, bound + 2))
    listed[at] = RawInstruction(listed[at].opcode, tuple(words))
    return listed


MUTATIONS: Sequence[tuple[Mutation, int]] = (
    (_word, 10), (_missing, 3), (_twice, 2), (_moved, 2), (_opcode, 4), (_length, 2),
)  # fmt: skip
"""Mistakes, with how often each is made."""


def mutated(module: Module, seed: int) -> bytes:
    """The bytes of a module with one to three mistakes, now and then in the header or in the bytes themselves."""
    rng = random.Random(seed)
    listed = list(module.raw)
    kinds, weights = zip(*MUTATIONS, strict=True)
    for mutation in rng.choices(kinds, weights, k=rng.choice([1, 1, 1, 2, 3])):
        listed = mutation(rng, listed, module.header.bound)
    header = module.header
    if rng.random() < 0.05:
        header = header._replace(version=(1, rng.randrange(9)), bound=rng.randrange(header.bound + 5))
    data = bytearray(replace(module, header=header, raw=tuple(listed)).to_bytes())
    if rng.random() < 0.05:
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.02:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


def judge(data: bytes) -> tuple[str, list[Diagnostic]]:
    """How far a module gets, and its diagnostics: refused, wrong in the declarations, wrong in functions, or right."""
    try:
        module = Module.from_bytes(data)
    except CompileError as error:
        return "refused", list(error.diagnostics)
    found = validate(module)
    for one in found:
        assert one.render()
    wrong = errors(found)
    if not wrong:
        return "right", found
    first = next((index for index, raw in enumerate(module.raw) if raw.opcode == FUNCTION), len(module.raw))
    lines = wrong[0].labels[-1][0].line if wrong[0].labels else 0
    listing = module.to_text().splitlines()
    at = next((number for number, line in enumerate(listing, 1) if " OpFunction " in line), first)
    return ("declarations" if lines < at else "functions"), found


FUNCTION = 54


@cache
def _modules() -> Sequence[Module]:
    return tuple(Module.from_bytes(data, name) for name, data in golden_modules())


def tried(seed: int) -> tuple[int, str, str]:
    """How far the module of a seed gets; and the traceback of an exception, which there should not be."""
    modules = _modules()
    data = mutated(modules[seed % len(modules)], seed)
    try:
        return seed, judge(data)[0], ""
    except Exception:
        return seed, "exception", traceback.format_exc()


def main() -> int:
    """Try many; 1 if one raises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with Pool(given.jobs) as pool:
        for seed, how, trace in pool.imap_unordered(tried, range(given.seed, given.seed + given.count), chunksize=50):
            counts[how] += 1
            if trace and counts[how] <= 20:
                print(f"seed {seed}:\n{trace}", file=sys.stderr)
    print(dict(counts))
    return int(counts["exception"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
