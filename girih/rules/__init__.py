"""Rules as rows of tables: the rows, the predicates that they are made of, and their application to a subject.

A row knows neither the ir nor SPIR-V: a subject may be any object, and the modules that know the object extend the
vocabulary (`girih.ir.terms`, `girih.ir.predicates`).
"""
