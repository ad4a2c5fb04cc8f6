"""The folder of the compiled kernels: stale code, damage, other users, processes side by side."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import nmdp_pin
from nmdp_pin._kernels.compiler import kernel_cache, processor

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")

CALLEE = "from nmdp_pin._kernels.compiler.jit import jit\n@jit\ndef f(x):\n    return 2.0 * x\n"
CALLER = (
    "from nmdp_pin._kernels.compiler.jit import jit\nfrom nmdp_pin._kernels.callee import f\n"
    "@jit\ndef g(x):\n    return f(x) + 1.0\n"
)
IMPORT = "from nmdp_pin._kernels.caller import g; "
ASK = "print(g(3.0), sum(g.stats.cache_hits.values()))"
NOBODY = 65534  # user of no file of ours

HERE = ("triple", "processor", "features")


def copied(folder):
    """A copy of the package with two kernels of its own, one of which calls the other."""
    source = Path(nmdp_pin.__file__).parent
    package = folder / "nmdp_pin"
    (package / "_kernels").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    shutil.copy(source / "_kernels" / "__init__.py", package / "_kernels")
    shutil.copytree(source / "_kernels" / "compiler", package / "_kernels" / "compiler")
    (package / "_kernels" / "callee.py").write_text(CALLEE)
    (package / "_kernels" / "caller.py").write_text(CALLER)
    return package


@pytest.fixture
def copy(tmp_path):
    """A copy of its own."""
    return copied(tmp_path / "copy")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a process leaves that compiled the kernels of a copy elsewhere."""
    folder = tmp_path_factory.mktemp("made")
    assert answer(start(copied(folder / "copy"), folder / "cache")) == (7.0, 0)
    return folder / "cache"


@pytest.fixture
def filled(made, tmp_path):
    """A cache of its own with these kernels, and nothing else."""
    return shutil.copytree(made, tmp_path / "kept")


def start(package, cache, before="", **variables):
    """Start a process that calls the kernel of the copy, from the folder of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    # Python takes bytecode of another source of this second for its own
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", IMPORT + before + ASK],
        cwd=package.parent,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process):
    """Value and number of kernels read from the cache that a process prints."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    value, hits = out.split()
    return float(value), int(hits)


def kept(cache):
    """The only file below a cache."""
    (file,) = (path for path in cache.glob("nmdp-pin/**/*") if path.is_file())
    return file


def test_installations_share_the_kernels_of_equal_sources_only(copy, filled):
    """A copy reads those of one elsewhere; with other sources it has its own.

    The kernel that calls what changed was compiled, and its own file has not changed.
    """
    assert answer(start(copy, filled)) == (7.0, 1)
    (copy / "_kernels" / "callee.py").write_text(CALLEE.replace("2.0", "4.0"))
    assert answer(start(copy, filled)) == (13.0, 0)


def test_kernels_for_other_hosts_have_a_folder_of_their_own(copy, filled):
    """Those for a named processor depend on no feature of this host."""
    named = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert answer(start(copy, filled, **named)) == (7.0, 0)
    assert answer(start(copy, filled, **named)) == (7.0, 1)


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """An empty cache for this process."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


def test_folders_that_were_not_used_for_longest_are_removed(own_cache):
    """A new one takes the place of the oldest; one that is read counts as used."""
    root = kernel_cache.kernel_folder(HERE).parent
    for number in range(kernel_cache.KEPT):
        (root / str(number)).mkdir(parents=True)
        os.utime(root / str(number), (number, number))
    kernel_cache.write(HERE, "kernel", b"code")
    left = {path.name for path in root.iterdir()}
    assert left == {*map(str, range(1, kernel_cache.KEPT)), kernel_cache.kernel_folder(HERE).name}
    os.utime(kernel_cache.kernel_folder(HERE), (0, 0))
    assert kernel_cache.read(HERE, "kernel") == b"code"
    kernel_cache.write(("elsewhere",), "kernel", b"code")
    assert kernel_cache.read(HERE, "kernel") == b"code"


DAMAGE = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "within the digest": lambda content: content[:20],
    "zeroed": lambda content: bytes(len(content)),
    "hole": lambda content: content[:100] + bytes(100) + content[200:],
    "text": lambda content: b"no kernel",
    "longer": lambda content: content + b"\0",
    "bit of the digest": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "last bit": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_not_used(kind, own_cache):
    """Nor is a whole file of another kernel or of another target."""
    kernel_cache.write(HERE, "kernel", b"code" * 100)
    file = kernel_cache.kernel_folder(HERE) / "kernel"
    whole = file.read_bytes()
    assert kernel_cache.read(HERE, "kernel") == b"code" * 100
    file.with_name("other").write_bytes(whole)
    assert kernel_cache.read(HERE, "other") is None
    shutil.copytree(file.parent, kernel_cache.kernel_folder(("elsewhere",)))
    assert kernel_cache.read(("elsewhere",), "kernel") is None
    file.write_bytes(DAMAGE[kind](whole))
    assert kernel_cache.read(HERE, "kernel") is None


PLANT = """
import pathlib, pickle
from nmdp_pin._kernels.compiler import kernel_cache
from nmdp_pin._kernels.compiler.processor import target_of
class Planted:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("ran"),)
target = target_of(g.targetctx.codegen())
(file,) = kernel_cache.kernel_folder(target).iterdir()
kernel_cache.write(target, file.name, pickle.dumps(Planted()))
raise SystemExit
"""
OTHERS = {
    "a file of another user": lambda file: os.chown(file, NOBODY, -1),
    "a folder of another user": lambda file: os.chown(file.parent, NOBODY, -1),
    "a file that the group may write": lambda file: file.chmod(0o660),
    "a folder that the group may write": lambda file: file.parent.chmod(0o770),
    "a folder that all may write": lambda file: file.parent.chmod(0o1777),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", OTHERS)
def test_files_that_others_can_have_written_are_not_read(place, own_cache):
    """Though their digest is right."""
    kernel_cache.write(HERE, "kernel", b"code")
    OTHERS[place](kernel_cache.kernel_folder(HERE) / "kernel")
    assert kernel_cache.read(HERE, "kernel") is None


def test_code_that_others_can_have_written_is_not_run(copy, filled):
    """Neither unpickled nor loaded: it would run as what one has written oneself does."""
    start(copy, filled, PLANT).communicate(timeout=120)
    file, ran = kept(filled), copy.parent / "ran"
    planted = file.read_bytes()
    file.chmod(0o660)
    assert answer(start(copy, filled)) == (7.0, 0)
    assert not ran.exists()
    file.write_bytes(planted)
    file.chmod(0o600)
    start(copy, filled).communicate(timeout=120)
    assert ran.exists()


def test_kernels_of_a_wheel_are_used(copy, made, tmp_path):
    """They belong to whom the sources belong to, and the user's cache stays empty."""
    folder = kept(made).parent
    shutil.copytree(folder, copy / "_kernels" / "compiled" / folder.name)
    assert answer(start(copy, tmp_path / "cache")) == (7.0, 1)
    assert not (tmp_path / "cache").exists()


REFUSED = {
    "that others may write, unlike the sources": lambda file: file.chmod(0o666),
    "in a folder that others may write": lambda file: file.parent.chmod(0o777),
    "that is damaged": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "of another kernel": lambda file: shutil.copy(file.with_name("other"), file),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_kernel_of_a_wheel_is_not_used(kind, own_cache, monkeypatch, tmp_path):
    """The one in the user's cache is."""
    monkeypatch.setattr(kernel_cache, "SHIPPED", tmp_path / "shipped")
    for name in ("kernel", "other"):
        kernel_cache.write(HERE, name, name.encode())
    folder = kernel_cache.kernel_folder(HERE)
    file = shutil.copytree(folder, tmp_path / "shipped" / folder.name) / "kernel"
    kernel_cache.write(HERE, "kernel", b"own")
    assert kernel_cache.read(HERE, "kernel") == b"kernel"
    REFUSED[kind](file)
    assert kernel_cache.read(HERE, "kernel") == b"own"


class Host:
    """What Numba compiles for on a host with AVX-512."""

    def magic_tuple(self):
        return "x86_64-unknown-linux-gnu", "znver4", "+avx512f"


V3 = dict.fromkeys(("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), True)


@pytest.mark.parametrize(
    ("features", "name"), [(V3, "x86-64-v3"), (V3 | {"fma": False}, "znver4"), ({}, "znver4")]
)
def test_the_processor_that_kernels_are_compiled_for(features, name, monkeypatch):
    """It is x86-64-v3 where the host has all of it, and else the host's."""
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    monkeypatch.setattr(processor.llvm, "get_host_cpu_features", lambda: features)
    target = processor.target_of(Host())
    assert target == ("x86_64-unknown-linux-gnu", name, "" if name == "x86-64-v3" else "+avx512f")


def test_the_processor_that_a_user_names(monkeypatch):
    """NUMBA_CPU_NAME holds for the kernels too."""
    monkeypatch.setattr(processor.llvm, "get_host_cpu_features", lambda: V3)
    monkeypatch.setattr(numba.config, "CPU_NAME", "znver4")
    host = Host()
    assert processor.target_of(host) == host.magic_tuple()


def test_folders_are_the_users_own(copy, tmp_path):
    """All that are made, and the file, whatever the user lets others do with new ones."""
    cache = tmp_path / "not" / "there"
    assert answer(start(copy, cache, "import os; os.umask(0); ")) == (7.0, 0)
    file = kept(cache)
    made = [path for path in file.parents if path.is_relative_to(tmp_path / "not")]
    assert len(made) == 4
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_users_cache_folder(monkeypatch, tmp_path):
    """XDG_CACHE_HOME, where it is an absolute path, as its specification says."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "given"))
    assert kernel_cache.kernel_folder(HERE).parent == tmp_path / "given" / "nmdp-pin" / "kernels"
    for other in ("relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", other)
        found = kernel_cache.kernel_folder(HERE).parent
        assert found == tmp_path / ".cache" / "nmdp-pin" / "kernels"


def test_processes_side_by_side(copy, tmp_path):
    """Several that compile at once leave a cache that the next one reads."""
    together = [start(copy, tmp_path) for _ in range(2)]
    assert {answer(process)[0] for process in together} == {7.0}
    assert answer(start(copy, tmp_path)) == (7.0, 1)


def test_a_folder_that_cannot_be_written(copy, tmp_path):
    """The kernels are compiled nevertheless, and one line says why nothing is kept."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    process = start(copy, blocked)
    out, err = process.communicate(timeout=120)
    assert out.split() == ["7.0", "0"]
    assert err.count("cannot keep kernels in") == 1


def test_sources_that_change_under_a_process(copy, tmp_path):
    """Machine code of earlier sources is not kept as that of the present ones."""
    changed = CALLEE.replace("2.0", "5.0")
    change = f"open('nmdp_pin/_kernels/callee.py', 'w').write({changed!r}); "
    assert answer(start(copy, tmp_path, change)) == (7.0, 0)
    assert not list(tmp_path.glob("nmdp-pin/*"))
    assert answer(start(copy, tmp_path)) == (16.0, 0)


def test_the_digest_depends_on_names_and_contents(tmp_path):
    """A kernel that moves to another file counts as a change."""
    (tmp_path / "a.py").write_text("x")
    first = kernel_cache.digest(tmp_path)
    assert kernel_cache.digest(tmp_path) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert kernel_cache.digest(tmp_path) != first


UNKNOWN = {
    "a member that is missing": "import numba.core.environment as e; del e.lookup_environment",
    "other parameters": "import numba.core.postproc as p; run = p.PostProcessor.run\n"
    "p.PostProcessor.run = lambda self, *args, **options: run(self, *args, **options)",
    "an attribute with another name": "import numba.core.types.functions as f\n"
    "class BaseFunction:\n    pass\n"
    "f.BaseFunction, before = BaseFunction, f.BaseFunction\n"
    "import nmdp_pin._kernels.compiler.jit\nf.BaseFunction = before",
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_kernels_are_compiled_plainly_by_an_unknown_numba(kind, copy, tmp_path):
    """With one line that says so, and without files."""
    (copy / "__init__.py").write_text(UNKNOWN[kind])
    out, err = start(copy, tmp_path).communicate(timeout=120)
    assert out.split() == ["7.0", "0"]
    assert err.count("does not know Numba") == err.count("\n") == 1
    assert not list(tmp_path.glob("nmdp-pin/*"))
