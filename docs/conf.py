"""How Sphinx builds the documentation; `make docs` calls it. What is our own stands in docs/_ext."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))
PACKAGE = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = PACKAGE["name"]
release = version = PACKAGE["version"]
author = PACKAGE["authors"][0]["name"]
html_title = f"{project} {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "docs._ext.site"]
exclude_patterns = ["_ext", "_static"]
root_doc = "index"
highlight_language = "text"
smartquotes = False

girih_navigation = {
    "Learn": [
        "start",
        "python-kernels",
        "from-cuda",
        "from-triton",
        "tutorial/index",
        "execution",
        "row-major",
        "idioms",
        "glossary",
        "addressing/index",
    ],
    "Use": [
        "functions",
        "kernels/index",
        "spirv/index",
        "targets",
        "tuning",
        "frameworks",
        "speed",
        "remarks",
        "python",
        "commands",
        "editors",
    ],
    "Look up": ["language/index", "errors", "litmus", "bugs", "coverage", "changes"],
    "How it is made": ["design/index"],
}
"""The pages by caption. Below an index.md come the pages of its folder, in the order of its links."""

girih_made_for_users = [
    f"girih.{name}" for name in ("Program", "Kernel", "Launch", "torch.TorchOperator", "jax.FfiFunction")
]
"""Classes whose objects users get and do not make."""

# Headings have the anchors that code hosts give them.
myst_heading_anchors = 4

# Every name in a signature would be a link otherwise, and NumPy's pages are not here.
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]

autodoc_member_order = "bysource"
# Pages are built where these are not installed.
autodoc_mock_imports = ["torch", "jax"]
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["girih.css"]
html_logo = html_favicon = "_static/girih.svg"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_domain_indices = False
pygments_style = "docs._ext.colours.Light"
pygments_dark_style = "docs._ext.colours.Dark"
html_theme_options = {
    # The project's links, when it has a public address.
    "footer_icons": [
        {"name": name, "url": url, "html": name, "class": ""} for name, url in PACKAGE.get("urls", {}).items()
    ],
}

# Of a block `console` the commands are copied, without prompts and output; of other blocks everything.
copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_copy_empty_lines = False
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"
