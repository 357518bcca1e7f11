"""What rules ask of memory: where the parts of types stand, and where pointers come from."""
