"""What pyproject.toml cannot say: the README as a package index shows it, which has neither its pages nor its pictures.

Without an address in ``[project.urls]`` a link becomes its text and a picture goes; with one, ``Source = "https://..."``,
both lead there. What stands between ``<!-- checkout -->`` and ``<!-- /checkout -->`` is for those who have a checkout.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
CHECKOUT = re.compile(r"<!-- checkout -->\n.*?<!-- /checkout -->\n+", re.DOTALL)
LINKS = re.compile(r"\s\((?:\[[^\]]*\]\((?!\w+:)[^)]+\)(?:, )?)+\)")  #: relative ones in brackets, which say no more
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)]+)\)")  #: that is relative


def published(text: str, source: str = "") -> str:
    """Return the README ``text`` without relative links; ``source`` is the address of the repository, "" for none."""

    def absolute(link: re.Match[str]) -> str:
        picture, shown, target = link.groups()
        if not source:
            return "" if picture else shown
        return f"{picture}[{shown}]({source}/{'raw' if picture else 'blob'}/main/{target})"

    text = re.sub(r"<!-- /?checkout -->\n", "", text) if source else LINKS.sub("", CHECKOUT.sub("", text))
    text = text.replace("pip install .`", "pip install suricate`").replace("'.[", "'suricate[")
    return LINK.sub(absolute, text)


if __name__ == "__main__":
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    readme = published((HERE / "README.md").read_text(), project.get("urls", {}).get("Source", ""))
    setup(long_description=readme, long_description_content_type="text/markdown")
