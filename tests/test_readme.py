"""The README's snippets run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def snippets() -> list[str]:
    """The blocks of Python in the README."""
    return SNIPPET.findall(README.read_text(encoding="utf-8")) if README.is_file() else []


def test_there_is_a_snippet():
    """The README shows at least one piece of Python."""
    assert snippets()


@pytest.mark.parametrize("number", range(len(snippets())))
def test_snippet_runs(number, tmp_path, monkeypatch):
    """A reader who pastes a snippet into a file gets no error."""
    monkeypatch.chdir(tmp_path)
    code = compile(snippets()[number], f"README.md, snippet {number + 1}", "exec")
    exec(code, {"__name__": "__main__"})
