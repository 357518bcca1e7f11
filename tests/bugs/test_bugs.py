"""Every wrong twin of the suite is told what its marks say, and every right twin nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from girih.diagnostics import errors, render_all
from tests.bugs import reader
from tests.bugs.launching import others, places, right, shown, told, wrong
from tests.bugs.reader import Pair
from tests.cases import every_case, long

CLASSES = reader.classes()

SEEDS = (1, 2, 3)
"""Other choices of what the language leaves open."""


LEAST = 15
"""The number of pairs that a class has at least."""

LEAST_OF_ALL = 240
"""The number of pairs in all, at least."""


def test_there_are_enough_kernels_and_every_class_is_explained() -> None:
    counts = {name: len(reader.pairs(name)) for name in CLASSES}
    assert [name for name, count in counts.items() if count < LEAST] == []
    assert sum(counts.values()) >= LEAST_OF_ALL
    assert set(counts) <= set(reader.CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_check(name: str) -> None:
    with every_case() as case:
        for pair in reader.pairs(name):
            with case(pair.name):
                _, accused = right(pair)
                assert not accused, render_all(accused)
                module, said = wrong(pair)
                for severity in ("error", "warning"):
                    accused = [d for d in said if d.severity == severity]
                    assert places(accused) == pair.places(severity), render_all(said)
                runs = pair.places("finds", "finds cpu", "refuses", "other")
                assert not (errors(said) and runs), "a program with errors is not run"
                same = str(module) == str(right(pair)[0]) and pair.vector == pair.wrong_vector
                assert not same or errors(said), "the twins are the same program"


@pytest.mark.parametrize("name", CLASSES)
def test_interpreter(name: str) -> None:
    with every_case() as case:
        for pair in reader.pairs(name):
            with case(pair.name):
                accused = told(pair, right(pair)[0], "interpreter")
                assert not accused, shown(accused)
                module, said = wrong(pair)
                if not errors(said):
                    found = told(pair, module, "interpreter")
                    assert places(found) == pair.places("finds", "refuses"), shown(found)
                    assert others(found) == pair.places("other"), shown(found)


@pytest.mark.parametrize("seed", long(SEEDS))
@pytest.mark.parametrize("name", CLASSES)
def test_interpreter_with_other_choices(name: str, seed: int) -> None:
    """Which of two accesses comes first is open, and so is which of several mistakes hides another.

    Who reads too early may also read what nobody has written yet.
    """
    with every_case() as case:
        for pair in reader.pairs(name):
            with case(pair.name):
                accused = told(pair, right(pair)[0], "interpreter", seed)
                assert not accused, shown(accused)
                module, said = wrong(pair)
                if not errors(said):
                    found = told(pair, module, "interpreter", seed)
                    wanted = pair.places("finds", "refuses", "other")
                    early = {(line, "run.uninitialized") for line, code in wanted if code == "run.race"}
                    assert places(found) | others(found) <= wanted | early, shown(found)
                    assert bool(found) == bool(wanted), shown(found)


def cpu(pair: Pair) -> None:
    """Compiled code finds nothing in the right twin, and in the wrong one what is marked; it stops at the first."""
    accused = told(pair, right(pair)[0], "cpu")
    assert not accused, shown(accused)
    module, said = wrong(pair)
    if not errors(said):
        found = places(told(pair, module, "cpu"))
        refuses, finds = pair.places("refuses"), pair.places("finds cpu")
        assert found == refuses if refuses else found <= finds and bool(found) == bool(finds), found


def test_a_sample_compiled_for_the_cpu() -> None:
    with every_case() as case:
        for name in CLASSES[::3]:
            pair = reader.pairs(name)[0]
            with case(pair.name):
                cpu(pair)


@pytest.mark.parametrize("name", long(CLASSES))
def test_cpu(name: str) -> None:
    with every_case() as case:
        for pair in reader.pairs(name):
            with case(pair.name):
                cpu(pair)


TEXT = """\
; The second element is read
; in place of the first.
; run: f(A=[1.0, 2.0],
;        B=0.0) == B=1.0
func @f(%A: memref<f32x2>, %B: memref<f32>) {
    %x = load %A[0] : f32 ; wrong: %x = load %A[2] : f32 ; finds: run.out_of_bounds ; finds cpu: run.out_of_bounds
    store %x, %B[]
}
"""


def test_a_file_is_read() -> None:
    pair = reader.pair_of(TEXT, Path("bounds/second.tl"))
    assert (pair.name, pair.line) == ("bounds/second", 6)
    assert pair.says == "The second element is read in place of the first."
    assert pair.vector == "f(A=[1.0, 2.0], B=0.0) == B=1.0"
    assert pair.right == TEXT
    assert pair.wrong.splitlines()[5] == "    %x = load %A[2] : f32"
    assert pair.places("finds") == pair.places("finds cpu") == {(6, "run.out_of_bounds")}
    assert pair.found_by_interpreter and pair.found_by_cpu and not pair.found_at_check
    without = reader.pair_of(TEXT.replace("; wrong: %x = load %A[2] : f32 ", "; wrong: "), Path("bounds/second.tl"))
    assert without.wrong.splitlines()[5:7] == ["", "    store %x, %B[]"]


def test_a_file_that_is_written_otherwise_is_refused() -> None:
    spoilt = {
        "no sentence": TEXT.replace("; The second element is read\n; in place of the first.\n", ""),
        "no vector": TEXT.replace("; run:", "; runs:"),
        "no wrong line": TEXT.replace("; wrong:", "; wring:"),
        "two wrong lines": TEXT.replace("%B[]", "%B[] ; wrong: store %x, %A[0]"),
        "no mark": TEXT.replace("; finds", "; fonds"),
        "no code": TEXT.replace("finds: run.out_of_bounds", "finds:"),
        "a right side that nobody reads": TEXT.replace(") == B", ")\n; == B"),
    }
    with every_case() as case:
        for name, text in spoilt.items():
            with case(name), pytest.raises(ValueError, match="bounds/second"):
                reader.pair_of(text, Path("bounds/second.tl"))
