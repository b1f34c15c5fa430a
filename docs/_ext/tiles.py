"""Two tables of pages that the site shows in another way: how to install, as a selector, and the gallery, as a grid.

The pages keep plain tables, which are read anywhere else. The selector is radio buttons, and works without scripts. The
pictures are sketches, one per notebook, drawn here in the colours of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

WIDTH, HEIGHT = 240, 120


def raw(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def rows(table: nodes.table) -> Iterator[list[nodes.entry]]:
    """Yield the cells of each row of a table, without its head."""
    for row in next(table.findall(nodes.tbody)).findall(nodes.row):
        yield list(row.findall(nodes.entry))


# -- install -----------------------------------------------------------------------------------------------------------


def selector(table: nodes.table) -> list[nodes.Node]:
    """Return radio buttons and panels, from a table of what one has, what that means, and the command."""
    found = list(rows(table))
    buttons = []
    for i, (name, *_) in enumerate(found):
        chosen = " checked" if i == 0 else ""
        buttons.append(f'<input type="radio" name="install" id="install-{i}"{chosen}>')
        buttons.append(f'<label for="install-{i}">{escape(name.astext())}</label>')
    parts: list[nodes.Node] = [raw(f'<div class="install">{"".join(buttons)}')]
    for _, meaning, command in found:
        text = nodes.paragraph("", "", *(child.deepcopy() for child in meaning[0].children))
        block = nodes.literal_block(command.astext(), command.astext(), language="sh")
        parts += [raw('<div class="panel">'), text, block, raw("</div>")]
    return [*parts, raw("</div>")]


# -- gallery -----------------------------------------------------------------------------------------------------------


def dot(x: float, y: float, r: float = 5, accent: bool = False) -> str:
    """Return a vertex."""
    return f'<circle cx="{x}" cy="{y}" r="{r}" fill="currentColor"{CLASS[accent]}/>'


def line(*points: tuple[float, float], accent: bool = False, dashed: bool = False) -> str:
    """Return a line through points."""
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    path = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="2"{dashes}{CLASS[accent]}/>'


def arrow(x0: float, x1: float, y: float, accent: bool = False) -> str:
    """Return a level arrow."""
    back = x1 - 7 if x1 > x0 else x1 + 7
    return line((x0, y), (x1, y), accent=accent) + line((back, y - 5), (x1, y), (back, y + 5), accent=accent)


def box(x: float, y: float, w: float, h: float, accent: bool = False, filled: bool = True) -> str:
    """Return a rectangle."""
    paint = 'fill="currentColor"' if filled else 'fill="none" stroke="currentColor" stroke-width="2"'
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="3" {paint}{CLASS[accent]}/>'


CLASS = {False: "", True: ' class="accent"'}


def payments() -> str:
    """Events on a line, and a window over some of them."""
    times = [20, 34, 42, 61, 70, 82, 100, 108, 121, 133, 139, 158, 166, 188, 196, 209, 221]
    dots = "".join(dot(x, 40 + 17 * (i * 7 % 4), 4, 92 <= x <= 176) for i, x in enumerate(times))
    return dots + box(92, 24, 84, 84, accent=True, filled=False) + arrow(184, 202, 66, accent=True)


def networkx() -> str:
    """A graph that gets an edge."""
    a, b, c, d, e = (60, 30), (120, 90), (180, 30), (40, 90), (200, 90)
    edges = line(a, b) + line(b, c) + line(a, d) + line(d, b) + line(c, e, accent=True, dashed=True)
    return edges + "".join(dot(*each, 7, each in (c, e)) for each in (a, b, c, d, e))


def algorithm() -> str:
    """Two vertices that point to each other, and one that is not answered."""
    there = arrow(62, 116, 51, accent=True) + arrow(116, 62, 69, accent=True)
    return (
        there + line((136, 60), (188, 60), (180, 54)) + dot(50, 60, 9, True) + dot(128, 60, 9, True) + dot(198, 60, 9)
    )


def replay() -> str:
    """Steps down, one of them the event that mattered."""
    before, after = [(20, 25), (60, 25), (60, 45), (110, 45)], [(150, 92), (220, 92)]
    return line(*before) + line((110, 45), (150, 45), (150, 92), accent=True) + line(*after) + dot(150, 68, 6, True)


def backend() -> str:
    """Rows of edges."""
    degrees = (6, 3, 8, 2)
    blocks = [(34 + 22 * j, 22 + 21 * i, 17, 14, (i, j) == (2, 7)) for i, n in enumerate(degrees) for j in range(n)]
    return "".join(box(*each) for each in blocks) + "".join(dot(18, 29 + 21 * i, 5) for i in range(4))


def kernel() -> str:
    """The lanes of warps."""
    return "".join(box(26 + 12 * j, 24 + 20 * i, 9, 14, i == 1) for i in range(4) for j in range(16))


def several_gpus() -> str:
    """A graph that is cut in two."""
    left, right = [(40, 35), (70, 80), (95, 40)], [(145, 45), (170, 90), (205, 40)]
    edges = line(*left) + line(left[0], left[1]) + line(*right) + line(right[0], right[2])
    cut = line((120, 12), (120, 108), accent=True, dashed=True)
    return edges + line(left[2], right[0], accent=True) + cut + "".join(dot(*each, 7) for each in left + right)


def sampling() -> str:
    """A tree of two hops."""
    middle, leaves = [(70, 62), (120, 62), (170, 62)], [(50, 100), (85, 100), (112, 100), (155, 100), (190, 100)]
    edges = "".join(line((120, 24), each, accent=True) for each in middle)
    edges += "".join(line(middle[i], each) for i, each in zip((0, 0, 1, 2, 2), leaves, strict=True))
    return (
        edges + dot(120, 24, 9, True) + "".join(dot(*each, 6) for each in middle) + "".join(dot(*e, 4) for e in leaves)
    )


PICTURES = {picture.__name__.replace("_", "-"): picture for picture in (
    payments, networkx, algorithm, replay, backend, kernel, several_gpus, sampling)}  # fmt: skip


def grid(table: nodes.table) -> nodes.raw:
    """Return the tiles of a table of notebooks, what they show, and where they run."""
    tiles = []
    for name, shows, where in rows(table):
        link = next(name.findall(nodes.reference))["refuri"]
        picture = PICTURES[link.rpartition("/")[2].partition(".")[0]]
        tiles.append(
            f'<a href="{link}"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(picture.__doc__ or "")}">'
            f"{picture()}</svg><b>{escape(name.astext())}</b><span>{escape(shows.astext())}</span>"
            f"<i>{escape(where.astext())}</i></a>"
        )
    return raw(f'<div class="gallery">{"".join(tiles)}</div>')


# -- both --------------------------------------------------------------------------------------------------------------


def replace(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put them in place of the first tables of their pages."""
    if app.builder.format != "html" or page not in ("docs/start", "docs/gallery"):
        return
    table = next(doctree.findall(nodes.table), None)
    if table is None:
        raise ExtensionError(f"{page} has no table to be shown in another way")
    box = table.parent if "table-wrapper" in table.parent.get("classes", ()) else table
    shown = selector(table) if page == "docs/start" else [grid(table)]
    at = box.parent.index(box)
    box.parent[at : at + 1] = shown  # no replace_self(), which hands on classes


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above."""
    app.connect("doctree-resolved", replace)
    return {"parallel_read_safe": True}
