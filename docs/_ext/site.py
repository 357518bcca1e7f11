"""The extension of Sphinx for these pages.

- `<a id="gemm.k"></a>` is a place that links lead to, and a link to a place that does not exist is an error;
- a picture leads to itself in full size;
- a page's Markdown is prepared by pages.py, docstrings, which are Markdown too, are translated by docstrings.py;
- the tensor language has colours, from girih.highlighting.
"""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

from docutils import nodes
from docutils.transforms import Transform
from pygments.lexers.special import TextLexer
from sphinx import addnodes

from docs._ext.docstrings import restructured
from docs._ext.pages import prepared
from girih.highlighting.lexer import GirihLexer

ANCHOR = re.compile(r'<a id="([^"]+)">')

WRAPPER = re.compile(r'<span class="(?:pre|w)">([^<?-]*|[^<]{40,})</span>')
"""The elements that Sphinx puts around words of literals and around spaces, up to a quarter of a page. They are of use
only for short words that browsers would break, such as `--to` and `f32x?x?`, which the style sheet keeps on a line."""

Element = TypeVar("Element")


class NDArray(Generic[Element]):
    """The stand-in for NumPy's `NDArray` while signatures are read: that one is shown as all that it abbreviates."""


NDArray.__module__ = "numpy.typing"


class Anchors(Transform):
    """The transform of every `<a id="...">` into a target for links from this page and from others."""

    default_priority = 250  # before MyST resolves the links of a page

    def apply(self, **_: Any) -> None:
        """Put targets where the HTML stands, and enter them beside the headings of the page."""
        environment = self.document.settings.env
        places = environment.metadata[environment.docname].setdefault("myst_slugs", {})
        self.document.myst_slugs = places
        for raw in list(self.document.findall(nodes.raw)):
            found = ANCHOR.fullmatch(raw.astext())
            if found is None:
                continue
            name = found[1]
            if name in places or name in self.document.ids:
                self.document.reporter.warning(f"the place {name!r} is there twice", base_node=raw)
            target = nodes.target("", "", ids=[name])
            places[name] = (raw.line, name, "")
            self.document.ids[name] = target
            # What follows is the end of the element, which the target has of itself.
            raw.parent.remove(raw.next_node(descend=False, siblings=True))
            raw.replace_self(target)


class PicturesWithoutLinks(Transform):
    """A link from a picture to its own file is for code hosts; here every picture gets one, `on_resolved`."""

    default_priority = 250

    def apply(self, **_: Any) -> None:
        """Put the pictures in the place of their links."""
        for link in list(self.document.findall(addnodes.download_reference)):
            pictures = list(link.findall(nodes.image))
            if [picture["uri"] for picture in pictures] == [link["reftarget"]]:
                link.replace_self(pictures)


def on_resolved(app: Any, tree: Any, page: str) -> None:
    """Link every picture to its file."""
    for picture in list(tree.findall(nodes.image)):
        _, name = app.env.images[picture["uri"]]
        link = nodes.reference("", "", refuri=f"{'../' * page.count('/')}_images/{name}")
        picture.replace_self(link)
        link.append(picture)


def on_source_read(app: Any, page: str, content: list[str]) -> None:
    """Prepare a page."""
    content[0] = prepared(page, content[0], app.config.girih_navigation)


def on_docstring(app: Any, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Translate a docstring."""
    lines[:] = restructured("\n".join(lines)).split("\n")


def on_signature(
    app: Any, what: str, name: str, documented: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """The signature, without the constructor of a class whose objects users get and do not make."""
    return ("", None) if name in app.config.girih_made_for_users else (signature, result)


def on_page(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Make pages lighter, and give the start page the whole width: no list of its own headings."""
    context["body"] = WRAPPER.sub(r"\1", context.get("body", ""))
    if page == app.config.root_doc:
        context["furo_hide_toc"] = True


def setup(app: Any) -> dict[str, bool]:
    """The metadata of the extension, whose parts are registered with Sphinx."""
    import numpy.typing

    vars(numpy.typing)["NDArray"] = NDArray
    app.add_config_value("girih_navigation", {}, "env")
    app.add_config_value("girih_made_for_users", [], "env")
    app.add_lexer("tl", GirihLexer)
    app.add_lexer("output", TextLexer)
    app.add_transform(Anchors)
    app.add_transform(PicturesWithoutLinks)
    app.connect("source-read", on_source_read)
    app.connect("doctree-resolved", on_resolved)
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-process-signature", on_signature)
    app.connect("html-page-context", on_page, priority=900)  # after the theme has decided
    return {"parallel_read_safe": True, "parallel_write_safe": True}
