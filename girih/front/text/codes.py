"""All codes that the parser can report, with their meanings; the rules of instructions and types are rows elsewhere.

A test holds that the front end reports no other code, and that each of these can be reported.
"""

from __future__ import annotations

FRONT_CODES: dict[str, str] = {
    "syntax.encoding": "a program is text in UTF-8",
    "syntax.module": "a file that is formatted is a program, not a SPIR-V module, a shader or Python",
    "syntax.size": "a program has at most 8 MB",
    "syntax.nesting": "regions, and brackets in attributes, nest at most 256 deep",
    "syntax.expected": "something else must stand here",
    "syntax.brace": "every `{` that opens a region needs its `}`",
    "syntax.mnemonic": "the instruction must exist",
    "syntax.modifier": "an instruction takes only its own modifiers, in their order, each once",
    "syntax.results": "as many names stand before `=` as the instruction returns values",
    "syntax.attribute": "an attribute without quotes must be one that the language knows",
    "syntax.string_attribute": "an attribute in quotes is kept, and means nothing to girih",
    "syntax.duplicate_attribute": "a dictionary has each key once",
    "syntax.integer_range": "an integer constant lies between -2^63 + 1 and 2^63 - 1",
    "syntax.float_range": "a floating-point constant must not overflow double precision",
    "syntax.complex": "the parts of a complex constant are floating-point constants",
    "name.undefined": "a name must be defined before it is used, in this region or one around it",
    "name.redefined": "a name is defined once, also across nested regions; functions of a file have different names",
    "type.unknown": "the type must exist",
    "type.void": "no value has type void",
    "type.element": "elements and components are numbers",
    "type.size": "a memref has at most 2^63 - 1 elements",
    "type.group": "a group holds memrefs",
    "definition.undefined": "a `$name` must be defined before it is used, or given when the program is loaded",
    "definition.redefined": "a `$name` is defined once in a scope and the scopes inside it",
    "definition.kind": "a `$name` must hold what its place asks for: a constant, a type, an attribute",
    "definition.calculation": "`!calc(...)` must leave one integer in range, in reverse Polish notation",
    "definition.given": "a definition given from outside is a number, or a string as the language writes the value",
    "definition.unused": "a definition given from outside must replace one that the text has or uses",
}
"""The meaning of every code, as a rule."""

FRONT_WARNINGS = frozenset({"syntax.string_attribute"})
"""The codes that refuse nothing; all others are errors."""
