"""Analyses of what follows from the grammar: ids, needs, order, limits."""
