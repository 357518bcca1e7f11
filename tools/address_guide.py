"""The generated parts of the guide to addressing: its pictures, and all rules, as a page and for `girih explain`.

A page, also one on shaders, names a picture where it shows it: `<!-- picture(model, option=value) -->`, then the image,
a link to itself. The Python blocks of the page above its last picture are run in order, so that names mean what they
mean there. The page of rules is `girih.addressing.RULES`. `tools/draw_pictures.py` writes the files.
"""

from __future__ import annotations

import contextlib
import io
import pkgutil
import re
import runpy
from importlib import import_module
from pathlib import Path

import girih.addressing
from girih import draw
from girih.addressing import RULES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "addressing", ROOT / "docs" / "spirv"]
"""The folders of pages that ask for pictures."""

EXPLAINED = "girih/data/address_rules.json"

PARTS = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^<!-- (?P<call>picture\(.*?\)) -->\s*\[?!\[[^\]]*\]\((?P<file>[^)]+)\)",
    re.M | re.S,
)
"""The parts of a page that count, in order: a block that is run, a picture that is drawn."""


MODELS = (
    ("Strided memory", "strided.md", ("strided",)),
    ("Tensor layouts and views", "tensor-layout.md", ("tensor_layout", "tensor_view", "load_store", "quirks")),
    ("Tensor maps", "tensor-map.md", ("tensor_map", "map_tile")),
    ("Swizzles", "swizzle.md", ("swizzle",)),
    ("Convolutions", "im2col.md", ("convolution",)),
    ("Blocked interleaved matrices", "blocked-interleaved.md", ("blocked_interleaved",)),
    ("Conversion", "four-models.md", ("convert",)),
    ("All models", "index.md", ("access", "matrix", "operand")),
)
"""The headings of the page of rules, the pages that explain them, and the beginnings of their ids."""

ABOUT_RULES = """\
<!-- Written by tools/address_guide.py from girih.addressing.RULES; do not edit. -->

# Every rule

The rules that an `AddressingError` and `lints()` report. A violation has the id of its rule, the numbers that were
given, a fix, and the source: `000` to `004` are the specifications; `PTX ISA` is NVIDIA's manual of the instructions,
`driver` the documentation of the CUDA driver's functions; `measured` is what an H200 did; `girih` is a limit of this
package. What breaks a *lint* is legal, and probably a mistake. `girih explain tensor_map.box_dim` shows what a rule
accepts and rejects, and `girih explain tensor_map` lists those of a model.
"""


def generated() -> dict[str, str]:
    """The text of every picture of the guide, and of the page of rules, by path in the repository."""
    found = {"docs/addressing/rules.md": rules_page(), EXPLAINED: explained_rules()}
    for page in sorted(page for folder in PAGES for page in folder.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "<!-- picture(" in text:
            found |= pictures_of(page, text)
    return found


def rules_page() -> str:
    """The page of all rules, by model. Raises `KeyError` for a rule that belongs under no heading."""
    for module in sorted(pkgutil.iter_modules(girih.addressing.__path__), key=lambda found: found.name):
        import_module(f"girih.addressing.{module.name}")
    place = {first: title for title, _, firsts in MODELS for first in firsts}
    rows: dict[str, list[str]] = {title: [] for title, _, _ in MODELS}
    for rule in sorted(RULES.values(), key=lambda rule: (rule.severity, rule.id)):
        lint = "*lint:* " if rule.severity == "lint" else ""
        name = f'<a id="{rule.id}"></a>`{rule.id}`'
        rows[place[rule.id.split(".")[0]]].append(f"| {name} | {lint}{_plain(rule.says)} | {rule.source} |")
    parts = [ABOUT_RULES]
    for title, page, _ in MODELS:
        about = f"## {title}\n\nExplained in [{page.removesuffix('.md')}]({page}).\n"
        parts.append("\n".join([about, "| rule | what holds | source |", "| --- | --- | --- |", *rows[title], ""]))
    return "\n".join(parts)


def explained_rules() -> str:
    """The file that `girih explain` reads."""
    collect = runpy.run_path(str(ROOT / "tools" / "address_examples.py"))["collect"]
    return str(collect({first: f"docs/addressing/{page}" for _, page, firsts in MODELS for first in firsts}))


def _plain(words: str) -> str:
    """The words with their markup escaped, so that Markdown shows them as they are."""
    return re.sub(r"([*<>|])", r"\\\1", words)


def pictures_of(page: Path, text: str) -> dict[str, str]:
    """The pictures that a page asks for, by path; the page's blocks above the last one are run."""
    found: dict[str, str] = {}
    namespace: dict[str, object] = {"__name__": "__main__", "picture": draw.svg}
    parts = list(PARTS.finditer(text))
    while parts and parts[-1]["code"] is not None:
        parts.pop()
    for part in parts:
        if part["code"] is None:
            path = (page.parent / part["file"]).resolve().relative_to(ROOT).as_posix()
            found[path] = str(eval(part["call"], namespace))
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(part["code"], str(page), "exec"), namespace)
    return found
