"""Facts that all executors share: the words of findings, the types that sums are kept in.

Each fact is here once, and executors ask for it, so that they cannot differ.
"""
