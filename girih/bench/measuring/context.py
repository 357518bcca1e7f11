"""The context that the cases of one process share: kernels for the modes of checks, arrays, and available peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.api import Program, load
from girih.arguments.brackets import Grid
from girih.arguments.scalars import DTYPES
from girih.bench.measuring import gpu
from girih.bench.measuring.timing import QUICK, THOROUGH, Call, Clock, Effort, clock_for, rest_for
from girih.bench.peers import libxsmm
from girih.ir.types import NUMBERS

Array = NDArray[Any]

PEERS = ("numpy", "torch", "libxsmm")
"""What girih can be held against; NumPy is always there."""

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
"""The distance of 1 and the next number."""


class MissingPeerError(Exception):
    """A peer that the user asked for is not installed."""


def text(name: str) -> Path:
    """The file of a kernel of the benchmarks."""
    return Path(str(files("girih.bench").joinpath("texts", f"{name}.tl")))


@dataclass(frozen=True)
class MeasuringContext:
    """The way to measure: modes of checks, of which the first is compared with peers; threads; available peers.

    `target` is `cpu`, or a GPU, on which arrays are before anything is timed.
    """

    checks: tuple[str, ...] = ("off",)
    threads: int = 1
    quick: bool = False
    peers: Mapping[str, Any] = field(default_factory=dict)
    programs: dict[tuple[object, ...], Program] = field(default_factory=dict)
    target: str = "cpu"

    @property
    def effort(self) -> Effort:
        """The length and number of samples."""
        return QUICK if self.quick else THOROUGH

    @property
    def is_gpu(self) -> bool:
        """Whether launches are on a GPU."""
        return gpu.is_gpu(self.target)

    @property
    def clock(self) -> Clock:
        """What times are taken by."""
        return partial(gpu.clock, gpu.device_of_target(self.target)) if self.is_gpu else clock_for(self.threads)

    @property
    def rest(self) -> float:
        """The seconds between two functions that are timed."""
        return 0.0 if self.is_gpu else rest_for(self.threads)

    def program(self, path: Path, checks: str, definitions: Mapping[str, object]) -> Program:
        """The program of a file with some checks and definitions, compiled once."""
        key = (path, checks, *sorted(definitions.items()))
        if key not in self.programs:
            self.programs[key] = load(path, target=self.target, definitions=definitions, checks=checks)
        return self.programs[key]

    def calls(
        self, path: Path, name: str, grid: Grid | None, arguments: Sequence[object], **definitions: object
    ) -> dict[str, Call]:
        """The launches of a kernel on a grid, None for its own, one for each mode of checks."""
        kernels = {checks: self.program(path, checks, definitions)[name] for checks in self.checks}
        launches = {checks: kernel if grid is None else kernel[grid] for checks, kernel in kernels.items()}
        return self.launches(launches, arguments)

    def launches(self, kernels: Mapping[str, Any], arguments: Sequence[object]) -> dict[str, Call]:
        """What launches some kernels on arguments, which are put on the GPU where launches are there."""
        if not self.is_gpu:
            return {checks: partial(kernel, *arguments) for checks, kernel in kernels.items()}
        device = gpu.device_of_target(self.target)
        on_device = [gpu.there(device, value) for value in arguments]
        return {checks: gpu.LaunchToTime.of(kernel, arguments, on_device) for checks, kernel in kernels.items()}


def find_peers(wanted: Sequence[str], threads: int) -> dict[str, Any]:
    """The peers by name: those in `wanted`, or if that is empty all that are installed.

    Raises `MissingPeerError` for a wanted one that is not installed, with what to install.
    """
    peers: dict[str, Any] = {}
    for name in wanted or PEERS:
        peer = _FINDERS[name](threads)
        if peer is not None:
            peers[name] = peer
        elif wanted:
            raise MissingPeerError(f"there is no {name} to compare with; {_REMEDIES[name]}")
    return peers


def _torch(threads: int) -> Any:
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch


def _numpy(_threads: int) -> Any:
    return np


def _libxsmm(_threads: int) -> Any:
    return libxsmm.find()


_FINDERS: Mapping[str, Callable[[int], Any]] = {"numpy": _numpy, "torch": _torch, "libxsmm": _libxsmm}
_REMEDIES = {
    "numpy": "install NumPy",
    "torch": "install it with `pip install torch`, or leave out --against torch",
    "libxsmm": f"install it as a shared library, or let {libxsmm.ENVIRONMENT} name the file (libxsmm.so)",
}


def random(type: str, *shape: int, seed: int = 0) -> Array:
    """An array of numbers from a normal distribution, in the packed layout."""
    drawn = np.random.default_rng([seed, *shape]).standard_normal(shape, np.float64 if type == "f64" else np.float32)
    return np.asfortranarray(drawn.astype(DTYPES[NUMBERS[type]]))


def zeros(type: str, *shape: int) -> Array:
    """An array of zeros in the packed layout, in memory that has been written."""
    made = np.empty(shape, DTYPES[NUMBERS[type]], order="F")
    made[...] = 0
    return made


def wide(array: Array) -> Array:
    """The numbers of an array in the widest type of their kind."""
    return array.astype({"i": np.int64, "c": np.complex128}.get(array.dtype.kind, np.float64))
