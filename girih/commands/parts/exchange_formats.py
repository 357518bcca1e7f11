"""Diagnostics as other programs read them: workflow commands of GitHub, and SARIF 2.1.0. NumPy is not imported.

Workflow commands: https://docs.github.com/actions/reference/workflow-commands-for-github-actions, "Setting an error
message". SARIF: OASIS Standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", 27 March 2020.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from girih import __version__
from girih.commands.parts.reference import all_codes, describe_code
from girih.diagnostics import Diagnostic
from girih.ops.tile import TILE_LANGUAGE
from girih.rules.codes import Code
from girih.source import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "remark": "note"}
_COMMANDS = _LEVELS | {"remark": "notice"}


def github(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    """The workflow command for each diagnostic, which shows it beside the line in a pull request."""
    for diagnostic in diagnostics:
        span = diagnostic.span
        properties = {"file": span.file, "line": span.line, "endLine": span.end_line, "title": diagnostic.code}
        if span.line == span.end_line:
            # Columns are shown only where a message is about one line. The last one is the last character itself.
            properties |= {"col": span.column, "endColumn": max(span.column, span.end_column - 1)}
        listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
        yield f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(_message(diagnostic))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _message(diagnostic: Diagnostic) -> str:
    """The message, what its labels say, and the hint."""
    labels = [f"line {span.line}: {text}" for span, text in diagnostic.labels if text]
    hint = [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
    return "\n".join([diagnostic.message, *labels, *hint])


def sarif(diagnostics: Sequence[Diagnostic]) -> dict[str, object]:
    """A SARIF log of one run: every rule that was broken with its help, every diagnostic as a result."""
    known = all_codes(TILE_LANGUAGE)
    used = sorted({diagnostic.code for diagnostic in diagnostics})
    numbers = {code: number for number, code in enumerate(used)}
    driver = {
        "name": "girih",
        "semanticVersion": __version__,
        "rules": [_rule(known.get(code) or _of_spirv(code)) for code in used],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, numbers[diagnostic.code]) for diagnostic in diagnostics],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _of_spirv(code: str) -> Code:
    """A code of SPIR-V modules, by itself where it is none."""
    from girih.commands.parts.spirv_codes import code_of

    return (code_of(code) if code.startswith("spirv.") else None) or Code(code, "error", code)


def _rule(code: Code) -> dict[str, object]:
    text = _help(code, "{title}: {text}", "{title}:\n{text}")
    markdown = _help(code, "**{title}**: {text}", "**{title}**:\n\n```text\n{text}\n```")
    return {
        "id": code.code,
        "shortDescription": {"text": code.says},
        "fullDescription": {"text": code.says},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": _LEVELS.get(code.severity, "error")},
    }


def _help(code: Code, line: str, block: str) -> str:
    """The help of a code: what is checked, the section of the specification, and example programs."""
    known = _described(code)
    facts = (("Rule", code.says), ("As checked", code.rule), ("Source", code.source), ("Depends on", code.needs))
    parts = [line.format(title=title, text=text) for title, text in facts if text]
    programs = (("Accepted", known["accepted"]), ("Rejected", known["rejected"]))
    parts += [block.format(title=title, text=str(text).rstrip()) for title, text in programs if text]
    return "\n\n".join(parts)


def _described(code: Code) -> dict[str, Any]:
    if code.code.startswith("spirv."):
        from girih.commands.parts.spirv_codes import described_code

        return described_code(code)
    return describe_code(TILE_LANGUAGE, code)


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, object]:
    related = [_location(span) | {"message": {"text": text or "see here"}} for span, text in diagnostic.labels]
    hint = f"\nhint: {diagnostic.hint}" if diagnostic.hint else ""
    result: dict[str, object] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message + hint},
        "locations": [_location(diagnostic.span)],
    }
    return result | {"relatedLocations": related} if related else result


def _location(span: Span) -> dict[str, object]:
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span.file)}, "region": region}}


def _uri(file: str) -> str:
    """The URI of a file, relative if its path is."""
    if os.path.isabs(file):
        return Path(file).as_uri()
    return quote(file.replace(os.sep, "/"))
