"""A folder for each version, ``build/site/0.2``, and beside them what leads from one to another.

``index.html`` leads to the newest, ``versions.html`` lists them, ``versions.json`` is for programs. ``versions.js``
makes a list of the link in the sidebar; it is a script, since a page that is read from a disk may load no JSON. All are
of the newest build, so that older folders, which stay as they are, lead to newer ones, too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

VERSION = re.compile(r"\d+(\.\d+)+")
REDIRECT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>suricate</title>
<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">suricate</a></html>
"""
LIST = """<!doctype html><html lang="en"><meta charset="utf-8"><title>suricate: versions</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body {{ font-family: system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }}</style>
<h1>suricate</h1><p>Versions of this documentation:</p><ul>
{0}</ul></html>
"""
SCRIPT = """// The link of the sidebar becomes a list, which stays on the page where the other version has it.
window.suricateVersions = {0};
document.querySelectorAll(".versions").forEach(function (box) {{
    if (window.suricateVersions.length < 2) return;
    var list = document.createElement("select");
    list.setAttribute("aria-label", "version");
    window.suricateVersions.forEach(function (each) {{
        list.add(new Option("version " + each.version, each.version, false, each.version === box.dataset.version));
    }});
    list.addEventListener("change", function () {{
        var there = window.suricateVersions.find(function (each) {{ return each.version === list.value; }});
        var page = there.pages.indexOf(box.dataset.page) >= 0 ? box.dataset.page : there.start;
        location.href = box.dataset.root + there.version + "/" + page;
    }});
    box.replaceChildren(list);
}});
"""


def described(folder: Path, start: str) -> dict[str, Any]:
    """Return the version of a folder, the page where it begins, and its pages."""
    pages = sorted(str(page.relative_to(folder)) for page in folder.rglob("*.html") if "_modules" not in page.parts)
    return {"version": folder.name, "start": start, "pages": pages}


def write(root: Path, start: str) -> None:
    """Write what is beside the folders of the versions, the newest first."""
    folders = [folder for folder in root.iterdir() if VERSION.fullmatch(folder.name)]
    folders.sort(key=lambda folder: [int(part) for part in folder.name.split(".")], reverse=True)
    found = [described(folder, start) for folder in folders]
    newest = f"{found[0]['version']}/{start}"
    rows = "".join(f'<li><a href="{each["version"]}/{start}">{each["version"]}</a></li>\n' for each in found)
    short = [{"version": each["version"], "url": f"{each['version']}/"} for each in found]
    (root / "index.html").write_text(REDIRECT.format(newest))
    (root / "versions.html").write_text(LIST.format(rows))
    (root / "versions.json").write_text(json.dumps(short, indent=1) + "\n")
    (root / "versions.js").write_text(SCRIPT.format(json.dumps(found)))


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write them, where the folder of a version was built."""
    out = Path(app.outdir)
    if exception is None and app.builder.name == "html" and VERSION.fullmatch(out.name):
        (out / "index.html").write_text(REDIRECT.format(f"{app.config.root_doc}.html"))
        write(out.parent, f"{app.config.root_doc}.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True}
