"""Every code of kernels in Python has a meaning, is reported somewhere, and is provoked by a test."""

from __future__ import annotations

import re
from pathlib import Path

from girih.front.python.codes import PYTHON_CODES

ROOT = Path(__file__).resolve().parents[3]
REPORTERS = [
    *sorted((ROOT / "girih" / "front" / "python").rglob("*.py")),
    *sorted((ROOT / "girih" / "decorated").rglob("*.py")),
]
TESTS = [
    *sorted(Path(__file__).parent.glob("test_*.py")),
    *sorted((ROOT / "tests" / "decorated").glob("test_*.py")),
    ROOT / "tests" / "cli" / "test_python_files.py",
]
REPORTED = re.compile(r'(?:fail|fault|Unset)\(\s*"([a-z_]+)"')


def test_what_is_reported_has_a_meaning_and_no_meaning_is_dead() -> None:
    found = {f"python.{rule}" for path in REPORTERS for rule in REPORTED.findall(path.read_text(encoding="utf-8"))}
    assert found == set(PYTHON_CODES)


def test_every_code_is_provoked() -> None:
    asked = {code for path in TESTS for code in re.findall(r"python\.[a-z_]+", path.read_text(encoding="utf-8"))}
    assert set(PYTHON_CODES) - asked == set()
