"""An AArch64 system in a folder, and Python in it, executed by QEMU's emulator of processes.

The folder holds the C library and Python from Debian's packages for arm64 and, from the Python package index, NumPy,
llvmlite and what the tests import. Nothing is installed: `set_up` only downloads and unpacks, which takes a minute.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["CPUS", "FOLDER", "ROOT", "SetUpError", "command", "environment", "is_ready", "set_up"]

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "aarch64"
_SYSTEM, _PACKAGES, _READY = FOLDER / "system", FOLDER / "packages", FOLDER / "ready"

_DEBIAN = ("python3.11-minimal", "libpython3.11-stdlib", "libstdc++6")
_PYTHON = (
    "numpy",
    "llvmlite==0.50.0",
    "ml_dtypes",
    "click",
    "rich",
    "coverage",
    "hypothesis",
    "pytest",
    "pytest-xdist",
)
_PLATFORMS = ("manylinux_2_17_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64", "manylinux2014_aarch64")

CPUS: Mapping[str, str] = {
    "neon": "cortex-a72",
    "neon-f16": "neoverse-n1",
    "sve128": "max,sve-default-vector-length=16",
    "sve256": "max,sve-default-vector-length=32",
    "sve512": "a64fx",
}
"""QEMU's processors: without floats of 16 bits and the atomics of Armv8.1; with them; with vectors of SVE of a size."""


class SetUpError(Exception):
    """The system cannot be set up; the text says why."""


def _lacking() -> str:
    """What this machine lacks to set the system up, in words; empty if nothing."""
    tools = {"qemu-aarch64": "qemu-user", "apt-get": "apt", "dpkg-deb": "dpkg"}
    missing = [f"{tool} (Debian's package {package})" for tool, package in tools.items() if shutil.which(tool) is None]
    return f"this machine has no {', no '.join(missing)}" if missing else ""


def is_ready() -> bool:
    """Whether the system has been set up, and can be executed."""
    return _READY.exists() and shutil.which("qemu-aarch64") is not None


def set_up() -> None:
    """Download and unpack the system, if that has not been done. Raises `SetUpError`."""
    if reason := _lacking():
        raise SetUpError(reason)
    if _READY.exists():
        return
    try:
        _fetch()
    except OSError as error:
        raise SetUpError(f"the system cannot be unpacked: {error}") from None


def _fetch() -> None:
    downloads = FOLDER / "downloads"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (downloads / folder).mkdir(parents=True, exist_ok=True)
    (downloads / "status").touch()
    # apt as if this were a machine of arm64 on which nothing is installed; what it keeps goes into the folder.
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
        "Dir::State": str(downloads / "state"),
        "Dir::State::status": str(downloads / "status"),
        "Dir::Cache": str(downloads / "cache"),
    }
    apt = ["apt-get", "-qq", "-y", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    _run(*apt, "update")
    _run(*apt, "--no-install-recommends", "--download-only", "install", *_DEBIAN)
    for package in sorted((downloads / "cache" / "archives").glob("*.deb")):
        _run("dpkg-deb", "-x", str(package), str(_SYSTEM))
    platforms = [part for name in _PLATFORMS for part in ("--platform", name)]
    version = ["--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--abi", "abi3", "--abi", "none"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(_PACKAGES)]
    _run(*pip, "--upgrade", "--only-binary=:all:", *version, *platforms, *_PYTHON)
    shutil.rmtree(downloads)
    _READY.touch()


def _run(*arguments: str) -> None:
    done = subprocess.run(arguments, check=False, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        says = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise SetUpError(f"packages cannot be fetched: {Path(arguments[0]).name}: {says[-1]}")


def command(cpu: str, *arguments: str) -> Sequence[str]:
    """A call of Python on one of QEMU's processors."""
    python = str(_SYSTEM / "usr" / "bin" / "python3.11")
    return ["qemu-aarch64", "-cpu", cpu, "-L", str(_SYSTEM), python, "-s", *arguments]


def environment(**variables: str) -> Mapping[str, str]:
    """The variables of such a process, which sees this tree's girih."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "COVERAGE_", "GIRIH_"))}
    paths = os.pathsep.join((str(ROOT), str(_PACKAGES)))
    return {**kept, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "", "PYTHONNOUSERSITE": "1", **variables}
