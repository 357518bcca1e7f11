"""What is run on a GPU, in parts that are restarted on their own. A part has names of cases, and runs a case by name.

A case raises where something is wrong: `AssertionError` for wrong results, any other exception for what else went
wrong, after which its process ends; `girih.CompileError` where the target refuses it; `LeftOutError` where there is
nothing to be compared.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from girih.api import Kernel
    from tests.bugs.reader import Pair
    from tests.ops import vectors

ROOT = Path(__file__).resolve().parent.parent.parent

CHECKS = ("bounds", "off")

COUNT = 20_000
"""How many random programs are run where nobody asks for another number."""


class LeftOutError(Exception):
    """There is nothing to be compared, for a reason in words."""


@dataclass(frozen=True)
class Part:
    """A part: what it holds, its cases by name, how one is run on a target, and the seconds that one may take.

    `names` is told how many random programs are wanted. `prepare` imports what cases need before the first is timed.
    """

    says: str
    names: Callable[[int], Sequence[str]]
    run: Callable[[str, str], None]
    seconds: float
    prepare: Callable[[], object] = lambda: None


# --- run vectors ---------------------------------------------------------------------------

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget"))
"""What compiled code does not find; see docs/targets.md."""

UNSEEN: Mapping[str, frozenset[str]] = {"cpu": frozenset(), "cuda": frozenset({"run.divergent"})}
"""What a target cannot find; what else such a launch does is open."""


def _vector_names(_: int) -> list[str]:
    from tests.ops import corpus

    return [
        f"{path.parent.name} {name} {checks}"
        for path in corpus.files("run.tl")
        for name in sorted(corpus.functions_run(path))
        for checks in CHECKS
        if checks == "bounds" or name not in corpus.functions_that_find(path)
    ]


def _run_vectors(case: str, target: str) -> None:
    """All vectors of a function; without checks, those of functions that find nothing."""
    from girih.api import compile_module
    from girih.ir.core import Module
    from tests.cases import every_case
    from tests.ops import corpus, vectors

    mnemonic, name, checks = case.split()
    path = corpus.FOLDER / mnemonic / "run.tl"
    file = corpus.read(path)
    function = file.module.function(name)
    assert function is not None, f"there is no @{name}"
    kernel = compile_module(Module((function,)), target, checks=checks)[name]
    ran = 0
    with every_case() as tried:
        for line, text in file.vectors:
            launch = vectors.parse_vector(text)
            if launch.function == name and _can_tell(mnemonic, launch, target):
                ran += 1
                with tried(f"line {line}"):
                    _run_vector(kernel, launch)
    if not ran:
        raise LeftOutError("what its vectors find, only the interpreter does")


def _can_tell(mnemonic: str, launch: vectors.Launch, target: str) -> bool:
    from tests.ops.test_ops import UNSEEN as OF_COMPILED

    wrong = launch.expected.findings - UNCHECKED
    return not wrong or not (wrong & UNSEEN[_kind(target)] or (mnemonic, launch.function) in OF_COMPILED)


def _run_vector(kernel: Kernel, launch: vectors.Launch) -> None:
    import girih
    from tests.ops import vectors

    function = kernel.ir
    arguments = vectors.bind(function, launch.arguments)
    wrong, found = launch.expected.findings - UNCHECKED, set[str]()
    try:
        kernel[launch.grid](*arguments)
    except girih.KernelError as error:
        found = {one.code for one in error.findings}
    assert found == wrong, f"found {sorted(found)}, expected {sorted(wrong)}"
    if wrong:
        return
    vectors.assert_results(function, arguments, launch)


def _kind(target: str) -> str:
    """The target without what stands behind its colon."""
    return target.partition(":")[0]


# --- kernels of the library ----------------------------------------------------------------


def _kernel_names(_: int) -> list[str]:
    from tests.back.one_lane.kernels_with_maps import WITH_MAPS
    from tests.back.one_lane.test_kernels import LAUNCHES

    kernels = [*LAUNCHES, *((name, name) for name in WITH_MAPS)]
    return [f"{name} {function} {checks}" for checks in CHECKS for name, function in kernels]


def _run_kernel(case: str, target: str) -> None:
    """A kernel on small arrays, as the interpreter computes them."""
    import numpy as np

    import girih
    from girih.kernels import texts
    from tests.back.harness import copy_of, same
    from tests.back.one_lane.kernels_with_maps import WITH_MAPS
    from tests.back.one_lane.test_kernels import LAUNCHES

    name, function, checks = case.split()
    text = texts.path(name).read_text(encoding="utf-8")
    if name in WITH_MAPS:
        grid, make = WITH_MAPS[name]
        expected, found = make(), make()
    else:
        grid, arguments = LAUNCHES[name, function]
        expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    girih.loads(text, target="interpreter")[function][grid](*expected)
    girih.loads(text, target=target, checks=checks)[function][grid](*found)
    for mine, wanted in zip(found, expected, strict=True):
        half = isinstance(wanted, np.ndarray) and wanted.dtype == np.float16
        same(mine, wanted, 2e-3 if half else 1e-5)


# --- tests with pytest ---------------------------------------------------------------------


def _suite_names(_: int) -> list[str]:
    folders = (ROOT / "tests" / "kernels", ROOT / "tests" / "programs")
    return [str(path.relative_to(ROOT)) for folder in folders for path in sorted(folder.glob("test_*.py"))]


def _marked_names(_: int) -> list[str]:
    """The files with tests that need a GPU."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if re.search(r"^\s*(@|pytestmark\s*=.*)pytest\.mark\.cuda\b", path.read_text(encoding="utf-8"), re.M):
            found.append(str(path.relative_to(ROOT)))
    return found


NO_TESTS = 5
"""The exit status of pytest where no test was chosen."""


def _pytest(path: str, *words: str) -> None:
    arguments = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", path, *words]
    # JAX would take most of the GPU's memory at once, which other processes need.
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, NO_TESTS), done.stdout[-3500:] + done.stderr[-500:]
    if done.returncode == NO_TESTS or not re.search(r"\d+ passed", done.stdout):
        raise LeftOutError("no test was run: " + " ".join(done.stdout.split())[-300:])


def _run_suite(case: str, target: str) -> None:
    """The tests of a file of kernels or programs, with this target in place of all others."""
    _pytest(case, "--targets", target)


def _run_marked(case: str, _: str) -> None:
    """The tests of a file that need a GPU."""
    _pytest(case, "-m", "cuda")


# --- random programs -----------------------------------------------------------------------

SEEDS_FROM = 7 * 10**9
"""The first seed, which other runs of random programs do not come to."""

UNCHECKED_EVERY = 4
"""One program of so many is run without checks as well."""

CHANGED_EVERY = 5
"""One program of so many is one of the corpus or a generated one that was changed; the others are generated."""


def _random_names(count: int) -> list[str]:
    return [str(SEEDS_FROM + number) for number in range(count)]


def _run_random(case: str, target: str) -> None:
    """A program that ends as on the interpreter, with results within the roundings that the generator tracked."""
    from tests.back.one_lane.random_programs import work_items
    from tests.fuzz.compiled import LEFT_OUT, agrees, launches_agree, odd_program
    from tests.fuzz.programs import accepted, program
    from tests.fuzz.properties import Violation

    seed, kind = int(case), _kind(target)
    try:
        if seed % CHANGED_EVERY == 0:
            ends = launches_agree(odd_program(seed), seed, target)
            if not set(ends) & {"fine", "findings"}:
                raise LeftOutError(" ".join(sorted(set(ends))) or "not accepted")
            return
        built = work_items(seed) if seed % 2 else program(seed)
        found = agrees(accepted(built), built, target, unchecked=seed % UNCHECKED_EVERY == 0)
    except Violation as violation:
        raise AssertionError(f"{violation.kind}: {violation.detail}\n{violation.text}") from None
    left = found & LEFT_OUT[kind]
    if left:
        raise LeftOutError(" ".join(sorted(left)))


# --- seeded bugs ---------------------------------------------------------------------------


def _bug_names(_: int) -> list[str]:
    from tests.bugs import reader

    return [pair.name for name in reader.classes() for pair in reader.pairs(name)]


@cache
def _pair(name: str) -> Pair:
    from tests.bugs import reader

    return reader.read(reader.FOLDER / f"{name}.tl")


def _run_bug(case: str, target: str) -> None:
    """The right twin is told nothing; the wrong one what is marked, where checks of bounds find it."""
    from girih.diagnostics import errors
    from tests.bugs.launching import places, right, shown, told, wrong

    pair = _pair(case)
    accused = told(pair, right(pair)[0], target)
    assert not accused, f"the right twin: {shown(accused)}"
    module, said = wrong(pair)
    unseen = UNSEEN[_kind(target)]
    finds = {(line, code) for line, code in pair.places("finds cpu") if code not in unseen}
    refuses = pair.places("refuses")
    if errors(said) or not (finds or refuses):
        raise LeftOutError("what is wrong, the checker or the interpreter finds")
    found = places(told(pair, module, target))
    assert found == refuses if refuses else found and found <= finds, f"found {found}, of {refuses or finds}"


# --- tensor copies -------------------------------------------------------------------------


def _copy_names(_: int) -> list[str]:
    return [f"{name} {checks}" for name in _copies() for checks in CHECKS]


@cache
def _copies() -> dict[str, dict[str, Any]]:
    """The copies that were measured on an H200, made or refused, by their numbers."""
    from tests.tensor_maps import golden

    return {f"{one['id']}": one for status in ("ok", "illegal_instruction") for one in golden.cases(status)}


def _run_copy(case: str, target: str) -> None:
    """A copy moves the bytes that were measured; one that the instruction refuses is a finding, in all kernels."""
    import girih
    from tests.tensor_maps import golden

    name, checks = case.split()
    one, make = _copies()[name], golden.target(target, checks)
    if one["expect"]["status"] == "ok":
        golden.check(make, one)
        return
    try:
        golden.check(make, one)
    except girih.KernelError as error:
        assert {found.code for found in error.findings} == {"run.tensor_copy"}
        return
    raise AssertionError("an illegal instruction is no finding")


# --- compute-sanitizer ---------------------------------------------------------------------

SANITIZER = "compute-sanitizer"
SLICES = 8
"""How many processes share the kernels of a tool."""

SANITIZED = (("memcheck", "bounds"), ("memcheck", "off"), ("racecheck", "bounds"))
"""The tools, and the checks of the kernels: without checks an access that strays is not girih's to find."""


def _sanitizer_names(_: int) -> list[str]:
    return [f"{tool} {checks} {number}" for tool, checks in SANITIZED for number in range(SLICES)]


def _run_sanitizer(case: str, target: str) -> None:
    """Some kernels of the library under a tool, which must report nothing."""
    tool, checks, number = case.split()
    command = shutil.which(SANITIZER)
    if command is None:
        raise LeftOutError(f"{SANITIZER} is not on the path")
    names = [name for name in _kernel_names(0) if name.endswith(f" {checks}")][int(number) :: SLICES]
    words = [command, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20"]
    script = "import sys; from tests.gpu.parts import sanitized; sanitized(sys.argv[1], sys.argv[2:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*words, sys.executable, "-c", script, target, *names],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "Device not supported" in done.stdout + done.stderr:
        raise LeftOutError(f"{SANITIZER} cannot watch a GPU here: device not supported")
    assert done.returncode == 0, done.stdout[-3500:] + done.stderr[-500:]
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", done.stdout)
    assert summaries, f"the tool gives no summary: {done.stdout[-2000:]}"
    assert all(re.search(r"SUMMARY: 0 (errors|hazards)", line) for line in summaries), done.stdout[-3500:]


def sanitized(target: str, names: Sequence[str]) -> None:
    """Run kernels for a tool that watches. One that is refused is another part's to tell."""
    import girih

    for name in names:
        print(name, flush=True)
        try:
            _run_kernel(name, target)
        except girih.CompileError as error:
            print(f"refused: {error}", flush=True)


# --- all of them ---------------------------------------------------------------------------


def _import(*names: str) -> Callable[[], Any]:
    from importlib import import_module

    return lambda: [import_module(name) for name in names]


PARTS: Mapping[str, Part] = {
    "vectors": Part(
        "every run vector of the corpus, with checks and without", _vector_names, _run_vectors, 60,
        _import("tests.ops.test_ops", "girih.api"),
    ),
    "kernels": Part(
        "every kernel of the library against the interpreter, with checks and without", _kernel_names, _run_kernel,
        120, _import("tests.back.one_lane.test_kernels"),
    ),
    "copies": Part(
        "tensor copies that were measured on an H200, with checks and without", _copy_names, _run_copy, 60,
        _import("tests.tensor_maps.golden"),
    ),
    "suite": Part("the tests of kernels and programs", _suite_names, _run_suite, 400),
    "marked": Part("the tests marked `cuda`", _marked_names, _run_marked, 400),
    "bugs": Part(
        "the seeded bugs that checks of bounds find", _bug_names, _run_bug, 60, _import("tests.bugs.launching")
    ),
    "sanitizer": Part("the kernels of the library under compute-sanitizer", _sanitizer_names, _run_sanitizer, 400),
    "random": Part(
        "random programs against the interpreter", _random_names, _run_random, 60,
        _import("tests.back.one_lane.random_programs", "tests.fuzz.long"),
    ),
}  # fmt: skip
"""The parts, in the order in which they run."""
