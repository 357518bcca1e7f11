"""The rules of SPIR-V as rows, in families of instructions that share them; `book` has them all."""
