"""Tile programs for GPUs whose products and copies run by themselves (docs/design/tile.md), for no machine yet."""
