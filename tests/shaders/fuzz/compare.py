"""Random shaders run in every way that there is, and all must leave the same bytes.

python -m tests.shaders.fuzz.compare GLSLANG --seed 0 --count 100     compile, run and compare
python -m tests.shaders.fuzz.compare GLSLANG --write                  write the archive that the test takes
"""

from __future__ import annotations

import argparse
import io
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import girih
from tests.shaders.fuzz.programs import Program, program

MODULES = Path(__file__).resolve().parent / "modules.zip"
KEPT = range(100, 112)
"""The seeds of the archive."""
STEPS = 3_000_000

Bytes = NDArray[np.uint8]


def compiled(one: Program, glslang: str) -> bytes:
    """The module of a shader, with debug information of one kind or the other."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.comp").write_text(one.text, encoding="utf-8")
        debug = "-g" if one.seed % 2 else "-gVS"
        command = [glslang, "-V", "--quiet", "--target-env", "vulkan1.3", debug, "x.comp", "-o", "x.spv"]
        subprocess.run(command, check=True, cwd=folder)
        return (Path(folder) / "x.spv").read_bytes()


def launch(one: Program, module: bytes, target: str, checks: str = "bounds", seed: int | None = None) -> list[Bytes]:
    """The buffers behind a launch. With a seed, the interpreter takes other choices."""
    kernel = girih.loads(module, target, definitions=dict(one.definitions), checks=checks)["main"]
    if target == "interpreter":
        kernel = kernel.options(max_steps=STEPS, choices=girih.Choices(seed))
    buffers = [np.array(buffer) for buffer in one.buffers]
    kernel[one.grid]({(0, number): buffer for number, buffer in enumerate(buffers)}, push_constants=one.push)
    return buffers


def alike(ours: Bytes, theirs: Bytes, *, zeros: bool = False) -> bool:
    """Whether bytes are the same; the signs of zeros may be free."""
    if not zeros:
        return bool(np.array_equal(ours, theirs))
    a, b = ours.view(np.uint32), theirs.view(np.uint32)
    return bool(np.all((a == b) | ((a | b) == 0x80000000)))


def differences(one: Program, module: bytes) -> Iterator[str]:
    """What differs between the interpreter and the others, in words."""
    plain = launch(one, module, "interpreter")
    ways = [("compiled", launch(one, module, "cpu"), False), ("no checks", launch(one, module, "cpu", "off"), False)]
    if not one.subgroups:
        ways.append(("other choices", launch(one, module, "interpreter", seed=one.seed), True))
    for name, buffers, zeros in ways:
        for number, (wanted, came) in enumerate(zip(plain, buffers, strict=True)):
            if not alike(wanted, came, zeros=zeros):
                yield f"seed {one.seed}, {name}: binding {number} differs from the interpreter's"


def write_archive(glslang: str) -> None:
    """Compile the shaders of the archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for seed in KEPT:
            file.writestr(zipfile.ZipInfo(f"{seed}.spv"), compiled(program(seed), glslang), zipfile.ZIP_DEFLATED)
    MODULES.write_bytes(made.getvalue())


def main() -> int:
    """Compare what the command line asks for; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("glslang")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        write_archive(options.glslang)
        return 0
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        one = program(seed)
        try:
            told = list(differences(one, compiled(one, options.glslang)))
        except girih.GirihError as error:
            told = [f"seed {seed}: {error}"]
        wrong += bool(told)
        print(*told, sep="\n", end="\n" if told else "", flush=True)
    print(f"{options.count} shaders, {wrong} with a difference")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
