"""Kernels in Python: from the syntax tree of a function to a module of the tensor language."""
