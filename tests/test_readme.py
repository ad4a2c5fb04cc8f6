"""The README's snippets run as they stand."""

import pytest
from pages import code_on, page

SNIPPETS = code_on(page("../README.md"))


def test_there_is_a_snippet():
    """The README shows at least one piece of Python."""
    assert SNIPPETS


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(number, tmp_path, monkeypatch):
    """A reader who pastes a snippet into a file gets no error."""
    monkeypatch.chdir(tmp_path)
    code = compile(SNIPPETS[number], f"README.md, snippet {number + 1}", "exec")
    exec(code, {"__name__": "__main__"})
