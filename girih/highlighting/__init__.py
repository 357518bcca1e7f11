"""Colours for texts in the tensor language: the grammar of its parts, and a lexer for Pygments."""
