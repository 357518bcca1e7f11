"""`python -m girih` is the `girih` command."""

from __future__ import annotations

from girih.cli import main

if __name__ == "__main__":
    main(prog_name="girih")
