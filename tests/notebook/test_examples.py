"""The notebooks of examples/notebooks run from top to bottom, and stand there without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_of(notebook: Path) -> list[dict[str, Any]]:
    """Its cells of code."""
    page = json.loads(notebook.read_text(encoding="utf-8"))
    assert (page["nbformat"], page["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in page["cells"]}) == len(page["cells"])
    return [cell for cell in page["cells"] if cell["cell_type"] == "code"]


def run(notebook: Path) -> int:
    """How many of its cells of code were run; the first that fails raises what it raised."""
    shell: Any = InteractiveShell()
    cells = code_of(notebook)
    try:
        for cell in cells:
            shell.run_cell("".join(cell["source"]), store_history=True).raise_error()
    finally:
        shell.history_manager.end_session()
    return len(cells)


def test_they_are_there() -> None:
    assert {notebook.stem for notebook in NOTEBOOKS} == {"addressing", "attention", "first_kernel"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_cleared(notebook: Path) -> None:
    assert [cell for cell in code_of(notebook) if cell["outputs"] or cell["execution_count"] is not None] == []


@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(notebook) > 3


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    page = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "wrong",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    page["cells"] = [cell | {"source": ["assert 1 == 2, 'differs'"]}]
    wrong = tmp_path / "wrong.ipynb"
    wrong.write_text(json.dumps(page), encoding="utf-8")
    with pytest.raises(AssertionError, match="differs"):
        run(wrong)
