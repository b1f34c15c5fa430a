"""What Sphinx does not do by itself: lists of pages and links, notebooks to take home, pages that ask no network."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from sphinx.application import Sphinx
from sphinx.util import logging

ASKS = re.compile(
    r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>|@import|url\(['\"]?https?:"
)
ABOUT = "Graphs that change, on GPUs and CPUs: edges come and go in batches, and answers are kept current."
NOTEBOOKS = "docs/tutorials/"
ENDS = {".md": "MyST", ".ipynb": "Jupyter, without outputs"}
UNSEARCHED = ("CHANGELOG",)  #: it names everything once, and explains nothing
LISTED = "foreign-links.txt"
log = logging.getLogger(__name__)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember where outside the page that was read links to, and leave out of the search what helps no search."""
    found = {node["refuri"] for node in doctree.findall(nodes.reference) if "refuri" in node}
    kept: dict[str, list[str]] = app.env.__dict__.setdefault("foreign_links", {})  # kept with the environment
    kept[app.env.docname] = sorted(link for link in found if re.match("https?:", link))
    if app.env.docname in UNSEARCHED:
        app.env.metadata[app.env.docname]["no-search"] = ""


def download(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Offer a notebook below its page, as text and for Jupyter."""
    if not page.startswith(NOTEBOOKS):
        return
    name = page.rpartition("/")[2]
    links = (f'<a download href="{name}{end}">{name}{end}</a> ({what})' for end, what in ENDS.items())
    context["body"] += f'<p class="download">This page as a notebook: {", ".join(links)}</p>'


def write_notebooks(app: Sphinx) -> None:
    """Write the notebooks that pages offer, without outputs."""
    for page in Path(app.srcdir, NOTEBOOKS).glob("*.md"):
        text, there = page.read_text(), Path(app.outdir, NOTEBOOKS, page.name)
        there.write_text(text)
        notebook = read_myst_markdown_notebook(text, MdParserConfig(), add_source_map=False, path=str(page))
        nbformat.write(notebook, there.with_suffix(".ipynb"))


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the lists, and look for what pages load from elsewhere."""
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    titles = {page: title.astext() for page, title in app.env.titles.items()}
    rows = [f"- [{titles[page]}]({page}.html)\n" for page in sorted(titles)]
    (out / "llms.txt").write_text(f"# suricate\n\n> {ABOUT}\n\n## Pages\n\n{''.join(rows)}")
    links = {(link, page) for page, found in app.env.__dict__["foreign_links"].items() for link in found}
    (out / LISTED).write_text("".join(f"{link}  in {page}\n" for link, page in sorted(links)))
    write_notebooks(app)
    shutil.rmtree(out.parent / "jupyter_execute", ignore_errors=True)  # copies, which no page offers
    for file in (*out.rglob("*.html"), *out.rglob("*.css")):
        for found in ASKS.findall(file.read_text()):
            log.warning("%s asks the network: %s", file.relative_to(out), found[:200])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above, and take formulas as they are typed: their usual script comes from elsewhere."""
    app.connect("doctree-read", collect)
    app.connect("html-page-context", download)
    app.connect("build-finished", finish)
    app.add_html_math_renderer("none", *((lambda *_: None, None),) * 2)
    return {"parallel_read_safe": True}
