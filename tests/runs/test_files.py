"""File formats: what is read without trust, and what is written whole."""

from __future__ import annotations

import io
import os
import stat
import struct
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin._files import array_cache
from nmdp_pin._files.array_file import read_npy, read_npz, write_npz
from nmdp_pin._files.input_file import DEEPEST, from_json, read_input, toml_value
from nmdp_pin._files.journal import Journal, read_chunks
from nmdp_pin._files.output_file import check_writable, write_whole
from nmdp_pin._files.sample_table import read_samples
from nmdp_pin._runs.state_file import load_state
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import HeightField
from nmdp_pin.errors import ContactError, RecordingError, ScenarioError, TerrainError

SOON = 5.0  # [s] far below what the unpacking or the waiting that is refused would take


def archive_of(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive of these members."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(header: str, content: bytes = b"") -> bytes:
    """An array whose header is this text."""
    text = header.encode("latin-1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def header(shape: str, kind: str = "<f8") -> str:
    return f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"


def test_arrays_come_back(tmp_path: Path) -> None:
    """Floats, whole numbers and texts of either order of bytes and axes, empty ones included."""
    arrays = {
        "floats": np.arange(6.0).reshape(2, 3),
        "single": np.arange(3, dtype=np.float32),
        "foreign": np.arange(3, dtype=">f8"),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "none": np.zeros((4, 0, 3)),
        "text": np.array("meta"),
    }
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **arrays)
    found = read_npz(path, "sample")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable
    assert {found[name].dtype for name in ("floats", "single", "foreign")} == {np.dtype(float)}
    assert read_npz(path, "sample", ("text", "absent")).keys() == {"text"}


@pytest.mark.parametrize(
    "member",
    [
        npy(header("(1000000000000,)")),
        npy(header("(-1,)")),
        npy(header("(3, 2)"), bytes(40)),
        npy(header("(" * 300)),
        npy(header("(" + "1," * 5000 + ")")),
        npy("[" * 3000),
        npy("{}"),
        npy(header("(1,)", "|O"), b"cos\nsystem\n(S'true'\ntR."),
        npy(header("(1,)", "|V8"), bytes(8)),
        b"\x93NUMPY\x03\x00" + bytes(20),
        b"\x93NUM",
        b"",
    ],
)
def test_arrays_that_lie_are_refused(tmp_path: Path, member: bytes) -> None:
    """A header whose shape, type or length does not fit what follows; pickled objects."""
    path = archive_of(tmp_path / "a.npz", {"q.npy": member})
    with pytest.raises(RecordingError, match="damaged"):
        read_npz(path, "sample")
    (tmp_path / "a.npy").write_bytes(member)
    with pytest.raises(TerrainError):
        HeightField(path=str(tmp_path / "a.npy"), spacing=(1.0, 1.0))


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    """Encrypted members and flipped bits."""
    member = npy(header("(3,)"), bytes(24))
    plain = archive_of(tmp_path / "plain.npz", {"q.npy": member}).read_bytes()
    encrypted = bytearray(plain)
    encrypted[plain.index(b"PK\x01\x02") + 8] |= 1
    flipped = bytearray(plain)
    flipped[plain.index(b"q.npy") + 20] ^= 0xFF
    (tmp_path / "encrypted.npz").write_bytes(encrypted)
    (tmp_path / "flipped.npz").write_bytes(flipped)
    for name in ("encrypted", "flipped"):
        with pytest.raises(RecordingError, match="damaged"):
            read_npz(tmp_path / f"{name}.npz", "sample")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size after unpacking is checked before anything is; the error names the limit."""
    bomb = npy(header("(1000000,)"), bytes(8_000_000))
    path = archive_of(tmp_path / "bomb.npz", {"q.npy": bomb})
    assert path.stat().st_size < 50_000
    monkeypatch.setattr("nmdp_pin._files.array_file.LARGEST", len(bomb))
    assert read_npz(path, "sample")["q"].shape == (1_000_000,)
    monkeypatch.setattr("nmdp_pin._files.array_file.LARGEST", 1_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    with pytest.raises(RecordingError, match="at most 1000000 "):
        read_npz(path, "sample")
    monkeypatch.setattr("nmdp_pin._files.array_file.LARGEST", 0)
    with pytest.raises(RecordingError, match=f"at most {100 * path.stat().st_size} "):
        read_npz(path, "sample")


def test_a_size_that_the_directory_understates_is_refused(tmp_path: Path) -> None:
    """A member is read up to the length that was checked, whatever it would unpack to."""
    member = npy(header("(1000,)"), bytes(8000))
    content = bytearray(archive_of(tmp_path / "a.npz", {"q.npy": member}).read_bytes())
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 100)
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(RecordingError, match="damaged"):
        read_npz(tmp_path / "a.npz", "sample")


@pytest.mark.parametrize("depth", [DEEPEST + 1, 100_000])
def test_nested_json_is_refused(depth: int) -> None:
    """Lists in lists, deeper than any file of ours."""
    with pytest.raises(ValueError, match="nested"):
        from_json("[" * depth + "]" * depth)
    assert from_json("[" * DEEPEST + "1" + "]" * DEEPEST)


def test_a_toml_value_is_one_value_or_one_word() -> None:
    """A word needs no quotes; what else would be set beside the value is refused."""
    for text, value in (
        ("0.1", 0.1),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ('"two words"', "two words"),
        ("ne-nmdp", "ne-nmdp"),
        ("~/a_1.urdf", "~/a_1.urdf"),
    ):
        assert toml_value(text) == value
    with pytest.raises(ValueError, match="must hold one value"):
        toml_value("1\nother = 2")
    for text in ("", "two words", "1 +", "ne-nmdp\nother"):
        with pytest.raises(ValueError, match=r"\(at (line|end)"):
            toml_value(text)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """FIFOs, devices, folders and files that are too large are refused at once."""
    fifo, sparse = tmp_path / "a.toml", tmp_path / "sparse.toml"
    os.mkfifo(fifo)
    with sparse.open("wb") as file:
        file.truncate(2**24 + 1)  # takes no room on disk
    (tmp_path / "link.toml").symlink_to("/dev/zero")
    begin = time.monotonic()
    for path in (fifo, tmp_path / "link.toml", Path("/dev/zero"), tmp_path, tmp_path / "no"):
        with pytest.raises(RecordingError):
            read_input(path, "file", 2**31, RecordingError)
        with pytest.raises(RecordingError):
            load_state(path)
    for path in (fifo, tmp_path / "link.toml"):
        with pytest.raises(ScenarioError):
            Scenario.load(path)
    with pytest.raises(ScenarioError, match=f"may have at most {2**24}$"):
        Scenario.load(sparse)
    assert len(read_input(sparse, "file", 2**24 + 1, RecordingError)) == 2**24 + 1
    for most, read in (
        (2**24, lambda path: read_input(path, "file", 2**24, RecordingError)),
        (2**31, lambda path: read_input(path, "file", 2**31, RecordingError)),
        (2**40, load_state),
        (2**28, lambda path: read_samples(path, {"depth": "m"})),
    ):
        path = tmp_path / "sparse.csv"
        with path.open("wb") as file:
            file.truncate(most + 1)
        with pytest.raises((RecordingError, ContactError), match=f"may have at most {most}$"):
            read(path)
    (tmp_path / "b.csv").symlink_to("/dev/zero")
    with pytest.raises(ContactError):
        read_samples(tmp_path / "b.csv", {"depth": "m"})
    assert time.monotonic() - begin < SOON


def test_a_large_grid_is_refused_before_it_is_made() -> None:
    """The number of samples is known from size and spacing; the error names the limit."""
    for size in (1e5, 1e300):
        with pytest.raises(TerrainError, match="at most 4000000 samples"):
            HeightField(roughness=0.1, size=(size, size), spacing=(1e-5, 1.0))


def test_link_to_an_absent_folder(tmp_path: Path) -> None:
    """The message names the folder that the link leads to."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "absent" / "file")
    with pytest.raises(RecordingError, match=r"no folder '.*absent'; create it first"):
        write_whole(link, lambda file: file.write(b"new"))


def test_replaced_files_keep_mode_and_links(tmp_path: Path) -> None:
    """A link stays a link, its target gets the content; new files follow the umask."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write_whole(tmp_path / "fresh", lambda file: file.write(b"new"))
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_nothing_is_replaced_that_must_not_be(tmp_path: Path) -> None:
    """Files that are there already where that is asked for; devices and FIFOs always."""
    path = tmp_path / "a"
    write_whole(path, lambda file: file.write(b"1"), replace=False)
    for attempt in (check_writable, lambda p, **k: write_whole(p, lambda file: None, **k)):
        with pytest.raises(RecordingError, match="--force"):
            attempt(path, replace=False)
        with pytest.raises(RecordingError, match="device"):
            attempt("/dev/null")
    assert path.read_bytes() == b"1"


def test_scraps_of_killed_writers_do_not_matter(tmp_path: Path) -> None:
    """Scratch names are random; what a kill left is removed, what is in use is not."""
    path = tmp_path / "a.npz"
    old = tmp_path / f".a.npz.{'0' * 16}.tmp"
    young = tmp_path / f".a.npz.{'1' * 16}.tmp"
    for scrap in (old, young):
        scrap.write_bytes(b"half")
    os.utime(old, (time.time() - 600.5,) * 2)
    os.utime(young, (time.time() - 590.0,) * 2)
    write_whole(path, lambda file: file.write(b"new"))
    assert sorted(os.listdir(tmp_path)) == sorted([young.name, "a.npz"])


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    """Threads that write one file at once neither fail nor mix what they write."""
    path = tmp_path / "a"
    errors: list[BaseException] = []

    def write(letter: bytes) -> None:
        try:
            for _ in range(50):
                write_whole(path, lambda file: file.write(1000 * letter))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert path.read_bytes() in (1000 * b"a", 1000 * b"b")
    assert os.listdir(tmp_path) == ["a"]


def test_a_cached_array_is_used_only_where_its_digest_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeroed, cut, foreign and unwritable caches are made again; a good one is not."""
    monkeypatch.setattr(array_cache, "cache_folder", lambda: tmp_path / "cache")
    truth, made = np.arange(1.0, 7.0).reshape(2, 3), []

    def make() -> np.ndarray:
        made.append(1)
        return truth

    def cached() -> int:
        before = len(made)
        np.testing.assert_array_equal(array_cache.cached_array("a", "key", make), truth)
        return len(made) - before

    assert [cached(), cached()] == [1, 0]
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    zeroed = whole[:-48] + bytes(48)
    swapped = io.BytesIO()
    np.save(swapped, 2.0 * truth)
    for content in (zeroed, whole[:-1], b"", b"not an array", swapped.getvalue()):
        file.write_bytes(content)
        assert [cached(), cached()] == [1, 0]
    monkeypatch.setattr(array_cache, "cache_folder", lambda: file / "no folder")
    assert [cached(), cached()] == [1, 1]


def test_the_cache_unpickles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of objects is refused, though its digest be right."""
    monkeypatch.setattr(array_cache, "cache_folder", lambda: tmp_path)
    array_cache.cached_array("a", "key", lambda: np.zeros(3))
    (file,) = tmp_path.iterdir()
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    content = stream.getvalue()
    file.write_bytes(array_cache._digest("key", content) + content)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        array_cache.cached_array("a", "key", lambda: np.zeros(3))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        array_cache.cached_array("b", "key", lambda: np.array([{}], dtype=object))


def test_a_version_is_that_of_all_modules(tmp_path: Path) -> None:
    """It changes with any of them, and with nothing else."""
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).write_text("x = 1\n")
    found = [array_cache.sources_version(tmp_path)]
    for name in ("c.txt", "a.py", "b.py"):
        (tmp_path / name).write_text("x = 2\n")
        found.append(array_cache.sources_version(tmp_path))
    assert found[0] == found[1]
    assert len({*found}) == 3


def test_the_cache_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME, where it is an absolute path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert array_cache.cache_folder() == tmp_path / "nmdp-pin"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert array_cache.cache_folder().parent.name == ".cache"
    assert os.path.isabs(array_cache.cache_folder())


def test_an_array_file_comes_back(tmp_path: Path) -> None:
    """One .npy array, whole numbers kept."""
    np.save(tmp_path / "a.npy", np.arange(4))
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy", "sample"), np.arange(4))


def test_arrays_replace_those_of_their_path_unless_told_not_to(tmp_path):
    """A file is written anew by default; with replace=False it stays, and the error names it."""
    path = tmp_path / "a.npz"
    for value in (1.0, 2.0):
        write_npz(path, {"x": np.array([value])}, {})
    with pytest.raises(RecordingError, match=r"a\.npz"):
        write_npz(path, {"x": np.zeros(1)}, {}, replace=False)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        write_npz(path, {"x": np.array([{}], dtype=object)}, {})
    with np.load(path) as kept:
        assert kept["x"] == [2.0]


def test_a_journal_may_be_gone_when_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its user may have been faster. Its beginning is on the disk before its chunks are."""
    synced: list[int] = []
    monkeypatch.setattr("nmdp_pin._files.journal.os.fsync", synced.append)
    Journal(tmp_path / "a").close()
    assert len(synced) == 1
    for faster in (False, True):
        journal = Journal(tmp_path / "a")
        if faster:
            (tmp_path / "a").unlink()
        journal.close(remove=True)
        assert not (tmp_path / "a").exists()


def test_a_chunk_that_is_in_the_file_stays_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that ends the wait for the disk removes nothing; a disk that fails does."""
    journal, ended = Journal(tmp_path / "a"), KeyboardInterrupt()

    def interrupted(file: int) -> None:
        raise ended

    monkeypatch.setattr("nmdp_pin._files.journal.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.append(b"one")
    assert not journal.empty
    ended = OSError(28, "No space left on device")
    with pytest.raises(RecordingError, match="No space left"):
        journal.append(b"two")
    monkeypatch.undo()
    journal.append(b"three")
    journal.close()
    assert read_chunks(tmp_path / "a", "journal") == [b"one", b"three"]
