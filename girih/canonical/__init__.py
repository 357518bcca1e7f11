"""The canonical form of a program: two programs that say the same in another order or with other names have one.

Equal constants are merged, and stand at their first use; so is every other instruction that only computes a value.
Conditions that are constants choose their branch. What nobody uses is gone, and values are numbered. The results of a
launch are those of the program as it was written; only a check that an unused computation would have failed goes with
it. It is for comparing: instructions move into loops that use them, so a program is compiled as it was written.
"""

from __future__ import annotations

from girih.canonical.program import canonical_function, canonical_module

__all__ = ["canonical_function", "canonical_module"]
