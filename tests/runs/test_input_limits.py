"""Sizes of input files, by files with holes, which take no room."""

import os

import pytest

from nmdp_pin._files.input_file import LARGEST, open_input, read_input, read_toml
from nmdp_pin.errors import RecordingError, ScenarioError


@pytest.fixture
def sized(tmp_path):
    """A function that makes a file of zeros."""

    def make(size):
        path = tmp_path / "file"
        path.touch()
        os.truncate(path, size)
        return path

    return make


def test_the_largest_file_is_read(sized):
    """With as many bytes as are allowed, and no more."""
    assert read_input(sized(5), "file", largest=5, error=RecordingError) == bytes(5)
    with pytest.raises(RecordingError, match="has 6 bytes; a log may have at most 5"):
        read_input(sized(6), "log", largest=5, error=RecordingError)


def test_two_gibibytes_unless_it_is_said_otherwise(sized):
    """The limit of files of which none is given."""
    assert LARGEST == 2 * 1024**3
    open_input(sized(LARGEST), "file").close()
    with pytest.raises(RecordingError, match="has 2147483649 bytes"):
        open_input(sized(LARGEST + 1), "file")


def test_settings_have_at_most_16_mebibytes(sized):
    """What is larger is not parsed."""
    with pytest.raises(ScenarioError, match="is not valid TOML"):
        read_toml(sized(16 * 1024**2), "scenario", error=ScenarioError)
    with pytest.raises(ScenarioError, match="may have at most 16777216"):
        read_toml(sized(16 * 1024**2 + 1), "scenario", error=ScenarioError)
