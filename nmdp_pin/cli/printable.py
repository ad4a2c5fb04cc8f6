"""Text from files as a terminal may show it."""

from __future__ import annotations


def printable(text: object) -> str:
    """Text with escaped control characters."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in str(text)
    )
