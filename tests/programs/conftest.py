"""Programs run on every target, as kernels do."""

from __future__ import annotations

from tests.kernels.conftest import loaded_once, pytest_generate_tests, target

__all__ = ["loaded_once", "pytest_generate_tests", "target"]
