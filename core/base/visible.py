"""Text of others (names, paths) made fit to be shown: what would steer a terminal or hide is written out."""

from __future__ import annotations

from typing import Any

JOINERS = "\u200c\u200d"  #: part of words in some languages, though they cannot be seen


def visible(value: Any, most: int | None = None) -> str:
    """Return ``value`` as one line of text that is safe in a terminal, ``most`` characters at most.

    Control characters (ESC, line breaks, changes of direction) are written as Python writes them, and bytes that are
    not UTF-8 become replacement characters. It is no escape for HTML or for the markup of ``rich``.
    """
    text = str(value)
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"


def _shown(character: str) -> str:
    if character.isprintable() or character in JOINERS:
        return character
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character.encode("unicode_escape").decode()
