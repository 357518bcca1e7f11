"""Write editors/girih.tmLanguage.json, the grammar that `girih.highlighting` makes of the language, for editors."""

from __future__ import annotations

from pathlib import Path

from girih.highlighting.grammar import grammar
from girih.ops.tile import TILE_LANGUAGE

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "editors" / "girih.tmLanguage.json"

if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(grammar(TILE_LANGUAGE), encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
