"""Analyses of what a module declares to its surroundings: interfaces, resources, linkage."""
