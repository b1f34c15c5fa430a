"""One self-contained page of HTML: pictures and tables, without scripts, and without anything from elsewhere."""

from __future__ import annotations

from pathlib import Path

from suricate.base.visible import visible
from suricate.pages.panels import Story, moment, number
from suricate.pages.pictures import figure_of, style, svg_of

TEMPLATE = Path(__file__).with_name("report.html")


def page_of(story: Story) -> str:
    """Return the page of ``story``; every text in it is escaped by Jinja2."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(visible=visible, number=number, moment=moment)
    pictures = [svg_of(figure_of([panel], story.moments, 1), alone=False) for panel in story.panels]
    parts = [(panel, jinja2.utils.markupsafe.Markup(svg)) for panel, svg in zip(story.panels, pictures, strict=True)]
    css = jinja2.utils.markupsafe.Markup(style())
    return environment.from_string(TEMPLATE.read_text()).render(story=story, parts=parts, style=css)
