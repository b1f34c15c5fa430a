"""``suricate new``: a package with an algorithm or a backend, which passes its conformance kit at once.

It is a copy of an example that comes along (``examples/`` of the checkout), with its names replaced.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from pathlib import Path

import click

import suricate
from suricate import plugins
from suricate.base.errors import ParameterError

EXAMPLES = {"algorithm": "concentration", "backend": "tutorial"}  #: kind -> name of the example to copy
ENDINGS = (".py", ".toml", ".md")
LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)[^)]+\)")  #: to a page of the checkout


@click.command()
@click.argument("kind", type=click.Choice(list(EXAMPLES)))
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write it [default: suricate-NAME].")
def new(kind: str, name: str, folder: Path | None) -> None:
    """Write a package with an algorithm or a backend NAME.

    It has the code, the entry point by which suricate finds it, and a test that passes; it computes, or stores, what an
    example does, until you change it.
    """
    check_name(kind, name)
    target = folder or Path(f"suricate-{name.replace('_', '-')}")
    if target.exists():
        raise ParameterError(f"{target} exists already")
    files = dict(package(kind, name))
    target.mkdir(parents=True)
    for file, text in files.items():
        (target / file).write_text(text, encoding="utf-8")
    click.echo(f"{target}: {', '.join(files)}")
    click.echo(f"Next: cd {target}; pip install -e '.[test]'; pytest --tier=quick")


def check_name(kind: str, name: str) -> None:
    """Raise ``ParameterError`` unless ``name`` can be a module's, and no installed plugin has taken it."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ParameterError(f"NAME must be of small letters, digits and single '_', and no keyword, got {name!r}")
    if name in (plugins.algorithms() if kind == "algorithm" else plugins.backends()):
        raise ParameterError(f"there is {'an' if kind == 'algorithm' else 'a'} {kind} {name!r} already")


def package(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of a package with an algorithm or a backend ``name``."""
    old = EXAMPLES[kind]
    for file in sorted((examples() / f"suricate-{old}").iterdir()):
        if file.suffix in ENDINGS:
            text = LINK.sub(r"\1", file.read_text()) if file.suffix == ".md" else file.read_text()
            yield _renamed(file.name, old, name), _renamed(text, old, name)


def examples() -> Path:
    """Return the folder of examples: in the package, or of the checkout in which it lies."""
    home = Path(suricate.__file__).parent
    return home / "examples" if (home / "examples").is_dir() else home.parent / "examples"


def _renamed(text: str, old: str, name: str) -> str:
    text = text.replace(f"suricate-{old}", f"suricate-{name.replace('_', '-')}")
    return text.replace(old, name).replace(old.capitalize(), "".join(map(str.capitalize, name.split("_"))))
