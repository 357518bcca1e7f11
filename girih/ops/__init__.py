"""The specification, a room for each language: `tile` is the tensor language."""
