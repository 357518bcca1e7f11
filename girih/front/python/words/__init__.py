"""What each word of `girih.language` means: one file for each file of `girih/ops/tile`.

`WORDS` has the lowering of every word by its name; words that are part of a statement are not among them.
"""

from girih.front.python.words import builtin, control, linalg
from girih.front.python.words.table import LOWERINGS

__all__ = ["WORDS", "builtin", "control", "linalg"]

WORDS = LOWERINGS
"""The lowerings by word."""
