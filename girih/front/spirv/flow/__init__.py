"""What is worked out of a function before any value of it is known: results that are constant, and its plan."""
