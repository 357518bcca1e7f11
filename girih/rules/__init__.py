"""What a rule row is, for whatever has rules: rows, the predicates they are made of, and how they are applied.

A row knows neither the ir nor SPIR-V: what it is applied to is any object, and its vocabulary is extended by those who
know that object (`girih.ir.terms`, `girih.ir.predicates`).
"""
