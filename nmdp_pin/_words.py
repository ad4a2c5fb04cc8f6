"""Texts of others in sentences for the user: in one line, and not too long."""

LONGEST = 4000
"""Length of a message [characters]."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, without its middle where it is longer."""
    left = len(text) - longest
    half = longest // 2
    return text if left <= 0 else f"{text[:half]} ... ({left} characters) ... {text[-half:]}"


def one_line(text: object) -> str:
    """A text with single blanks between its words."""
    return " ".join(str(text).split())
