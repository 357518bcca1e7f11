"""Tests compile into a folder of their own, never into the user's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that `GIRIH_CACHE_DIR` names while the tests run."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIRIH_CACHE_DIR", str(folder))
        yield folder
