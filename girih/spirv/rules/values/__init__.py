"""Rules about types, constants, and the instructions that compute values of them."""
