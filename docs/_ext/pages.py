"""What Sphinx does not do by itself: a first page, lists of pages and foreign links, no page that asks the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

REDIRECT = """<!doctype html><meta charset="utf-8"><title>suricate</title>
<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">suricate</a>
"""
ASKS = re.compile(
    r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>|@import|url\(['\"]?https?:"
)
ABOUT = "Graphs that change, on GPUs and CPUs: edges come and go in batches, and answers are kept current."
LISTED = "foreign-links.txt"
log = logging.getLogger(__name__)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember where outside the page that was read links to."""
    found = {node["refuri"] for node in doctree.findall(nodes.reference) if "refuri" in node}
    kept: dict[str, list[str]] = app.env.__dict__.setdefault("foreign_links", {})  # kept with the environment
    kept[app.env.docname] = sorted(link for link in found if re.match("https?:", link))


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the page at the root and the lists, and look for what pages load from elsewhere."""
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "index.html").write_text(REDIRECT.format(f"{app.config.root_doc}.html"))
    titles = {page: title.astext() for page, title in app.env.titles.items()}
    rows = [f"- [{titles[page]}]({page}.html)\n" for page in sorted(titles)]
    (out / "llms.txt").write_text(f"# suricate\n\n> {ABOUT}\n\n## Pages\n\n{''.join(rows)}")
    links = {(link, page) for page, found in app.env.__dict__["foreign_links"].items() for link in found}
    (out / LISTED).write_text("".join(f"{link}  in {page}\n" for link, page in sorted(links)))
    for file in (*out.rglob("*.html"), *out.rglob("*.css")):
        for found in ASKS.findall(file.read_text()):
            log.warning("%s asks the network: %s", file.relative_to(out), found[:200])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above, and take formulas as they are typed: their usual script comes from elsewhere."""
    app.connect("doctree-read", collect)
    app.connect("build-finished", finish)
    app.add_html_math_renderer("none", *((lambda *_: None, None),) * 2)
    return {"parallel_read_safe": True}
