"""A test module that cannot be imported fails the run, rather than to be passed over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Command


@pytest.mark.parametrize("cause", ["raise ValueError('no sense')", "import nothing_of_this_name", "this is no Python"])
def test_a_module_that_fails_on_import_is_an_error(
    cause: str, tmp_path: Path, run_command: Command, repository: Path
) -> None:
    broken = tmp_path / "test_broken.py"
    broken.write_text(f"{cause}\n\ndef test_nothing():\n    pass\n")
    pytest_of_its_own = ["-m", "pytest", "-c", "/dev/null", "--import-mode=importlib", "-p", "no:cacheprovider"]
    ended = run_command(
        sys.executable, *pytest_of_its_own, "-p", "tests.conftest", str(broken), cwd=repository, timeout=120
    )
    assert ended.returncode == 2, ended.stdout
    assert "1 error" in ended.stdout
