"""The preparation of a page's Markdown before Sphinx reads it: captions above files, navigation, changes.

Nothing here needs Sphinx. The Markdown in docs/ stays plain, so that a code host shows it well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"

NAMED_FENCE = re.compile(r"^```([\w+-]+)[ ]+(\S+)[ ]*$", re.M)
"""A fence with the name of a file, such as "text axpby.tl"."""

PAGE_LINK = re.compile(r"\]\((\w[\w-]*)\.md[)#]")
"""A link to a page in the same folder."""

KINDS = {"breaking": "What you must change", "feature": "New", "fix": "Mended", "docs": "Documentation"}
"""The headings of changes that are not released, by the kind that the name of a fragment ends in."""


def prepared(page: str, text: str, navigation: Mapping[str, Sequence[str]]) -> str:
    """The Markdown that Sphinx reads for a page; pages are named without ending, from docs/."""
    text = text.replace("<!-- changelog.d -->", unreleased(ROOT / "changelog.d"))
    text = text.replace("<!-- CHANGELOG.md -->", released(ROOT / "CHANGELOG.md"))
    trees = (_toctree(page, caption, names) for caption, names in navigation_below(page, navigation))
    return NAMED_FENCE.sub(_captioned, text) + "".join(trees)


def _captioned(fence: re.Match[str]) -> str:
    language, name = fence.groups()
    colours = "tl" if name.endswith(".tl") else language
    return f"```{{code-block}} {colours}\n:caption: {name}\n"


def navigation_below(page: str, navigation: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """The captions below a page, with pages named from its folder; for an index.md the pages of that folder."""
    if page == "index":
        yield from navigation.items()
    elif page.endswith("/index"):
        yield "", [path.stem for path in pages_in_order((DOCS / page).parent)]


def pages_in_order(folder: Path) -> list[Path]:
    """The pages of a folder besides its index.md: first those that it links to, in that order, then the rest."""
    linked = PAGE_LINK.findall((folder / "index.md").read_text(encoding="utf-8"))
    pages = sorted(path for path in folder.glob("*.md") if path.stem != "index")
    return sorted(pages, key=lambda path: linked.index(path.stem) if path.stem in linked else len(linked))


def _toctree(page: str, caption: str, names: Sequence[str]) -> str:
    folder = (DOCS / page).parent
    entries = [f"{short_title(folder / f'{name}.md')} <{name}>" for name in names]
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", "```{toctree}", *options, "", *entries, "```", ""])


def short_title(path: Path) -> str:
    """The title of a page up to its colon, as the navigation shows it."""
    title = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return title.removeprefix("# ").partition(": ")[0].replace("`", "")


def unreleased(folder: Path) -> str:
    """The fragments in changelog.d/ as lists, by kind."""
    lines: list[str] = []
    for kind, heading in KINDS.items():
        fragments = [path.read_text(encoding="utf-8").strip() for path in sorted(folder.glob(f"+*.{kind}.md"))]
        lines += [f"### {heading}", ""] if fragments else []
        lines += ["- " + fragment.replace("\n", "\n  ") + "\n" for fragment in fragments]
    return "\n".join(lines) or "Nothing yet.\n"


def released(changelog: Path) -> str:
    """CHANGELOG.md from its first release on."""
    _, heading, rest = changelog.read_text(encoding="utf-8").partition("\n## ")
    return heading + rest
