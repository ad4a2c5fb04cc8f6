"""Pages of the documentation, and the code on them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    """Text of a page in docs/, or of one whose path begins there."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def code_on(text: str, language: str = "python") -> list[str]:
    """The blocks of code in a language, from the top."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run_code(text: str) -> dict[str, object]:
    """What the Python code of a page leaves, run from the top as a script."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in code_on(text):
        exec(block, names)
    return names
