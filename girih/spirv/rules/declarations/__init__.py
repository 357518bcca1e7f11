"""Rules about entry points, execution modes, annotations and built-ins (SPIR-V 2.16, 3.6, 3.20, 3.21)."""
