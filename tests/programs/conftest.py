"""Programs run on every target, as kernels do."""

from __future__ import annotations

from tests.kernels.conftest import pytest_generate_tests, pytest_itemcollected, target

__all__ = ["pytest_generate_tests", "pytest_itemcollected", "target"]
