"""`girih spirv`: SPIR-V modules described, printed, assembled, judged and specialised."""
