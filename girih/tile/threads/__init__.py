"""How matrices are spread over threads."""
