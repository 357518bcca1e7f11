"""The judgement of modules: every row of rules tried on every instruction (SPIR-V 2.16)."""
