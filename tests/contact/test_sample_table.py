"""Tables of samples: what is read, and what is refused."""

import numpy as np
import pytest

from nmdp_pin._files.sample_table import read_samples
from nmdp_pin.errors import ContactError

REQUIRED = {"depth": "m", "fz": "N"}
OPTIONAL = {"tx": "N m", "ty": "N m"}
GOOD = "depth [m],fz [N]\n0.1,2\n0.2,3\n"


def read(path):
    return read_samples(path, REQUIRED, OPTIONAL)


def test_csv(tmp_path):
    """Remarks, empty lines, spaces, quotes and a byte order mark do no harm."""
    path = tmp_path / "a.CSV"
    path.write_text('\ufeff# remark\n\n "depth [m]" , fz [ N ]\n# more\n0.1, 2 \n0.2,3e0\n\n')
    found = read(path)
    np.testing.assert_array_equal(found["depth"], [0.1, 0.2])
    np.testing.assert_array_equal(found["fz"], [2.0, 3.0])


def test_npz(tmp_path):
    """Arrays under the same titles, whole numbers too."""
    np.savez(tmp_path / "a.npz", **{"depth [m]": np.array([0.1, 0.2]), "fz [N]": np.array([2, 3])})
    found = read(tmp_path / "a.npz")
    assert found["fz"].dtype == float
    np.testing.assert_array_equal(found["fz"], [2.0, 3.0])


def test_optional_columns(tmp_path):
    """All of a group."""
    path = tmp_path / "a.csv"
    path.write_text("depth [m],fz [N],tx [N m],ty [N m]\n1,2,3,4\n")
    assert set(read(path)) == {"depth", "fz", "tx", "ty"}


BAD = {
    "empty": ("# nothing\n", "empty"),
    "missing": ("depth [m]\n1\n", r"'fz \[N\]' is missing"),
    "part of a group": ("depth [m],fz [N],tx [N m]\n1,2,3\n", r"'ty \[N m\]' is missing"),
    "unknown": ("depth [m],fz [N],colour\n1,2,3\n", "'colour' is not a column"),
    "no unit": ("depth,fz [N]\n1,2\n", r"no unit; write 'depth \[m\]'"),
    "another unit": ("depth [mm],fz [N]\n1,2\n", "in 'mm'; give it in 'm'"),
    "twice": ("depth [m],depth [m],fz [N]\n1,2,3\n", "twice"),
    "short line": ("depth [m],fz [N]\n1,2\n3\n", "number of columns changed from 2 to 1"),
    "text": ("depth [m],fz [N]\n1,two\n", "could not convert string 'two'"),
    "nan": ("depth [m],fz [N]\n1,2\n1,nan\n", "'fz' holds nan in sample 1"),
    "semicolons": ("depth [m];fz [N]\n1;2\n", "could not convert string '1;2'"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_csv(tmp_path, content, message):
    """The error names the file, the place and what is allowed."""
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(ContactError, match=message) as caught:
        read(path)
    assert "bad.csv" in str(caught.value)


BAD_ARRAYS = {
    "shape": ({"depth [m]": np.ones((2, 2)), "fz [N]": np.ones(2)}, r"shape \(n,\)"),
    "length": ({"depth [m]": np.ones(3), "fz [N]": np.ones(2)}, "different length"),
    "text": ({"depth [m]": np.array(["a", "b"]), "fz [N]": np.ones(2)}, "numbers"),
    "infinite": ({"depth [m]": np.array([1.0, np.inf]), "fz [N]": np.ones(2)}, "holds inf"),
    "objects": ({"depth [m]": np.array([None, 1]), "fz [N]": np.ones(2)}, "Object arrays"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_bad_npz(tmp_path, arrays, message):
    """Likewise; objects, which could run code, are not read."""
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ContactError, match=message):
        read(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["none.csv", "none.npz", "none.txt", "none"])
def test_no_such_file(tmp_path, name):
    """Neither a file that is not there, nor one of another kind."""
    with pytest.raises(ContactError, match=r"there is no|are read from"):
        read(tmp_path / name)


def test_not_an_archive(tmp_path):
    """A text that is called npz."""
    (tmp_path / "a.npz").write_text(GOOD)
    with pytest.raises(ContactError, match="not a whole"):
        read(tmp_path / "a.npz")
