"""How tests call the command: in this process, with its exit status and what it printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from girih.cli import main

AXPBY = """func @axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>) {
    axpby %alpha, %A, %beta, %B
}
"""


@dataclass(frozen=True)
class Done:
    """A call that has ended."""

    status: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        return json.loads(self.output)

    @property
    def message(self) -> str:
        """What a wrong call was told."""
        return self.errors.partition("Error: ")[2].strip()


def girih(*arguments: str | Path, stdin: bytes | None = None) -> Done:
    """The command with its arguments; an exception that escapes fails the test."""
    done = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin, prog_name="girih")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def write(folder: Path, text: str, name: str = "kernel.tl") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
