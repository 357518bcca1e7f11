"""Rules of instructions that one extension brings: rays, tensors, graphs, predicated access."""
