"""Plants errors in modules, one at a time, and counts how many their tests notice.

    python tools/mutation.py nmdp_pin/papers/methods/projection.py --sample 40
    python tools/mutation.py nmdp_pin/_robot/gait.py --tests tests/simulator/test_control.py
    python tools/mutation.py --sample 20            # every module of mutation.toml
    python tools/mutation.py --draw 200 --seed 7    # among all errors of all modules

An error is a changed operator, comparison, constant or sign, a condition turned round, or a
statement left out. Sizes of arrays and ends of slices become less, since more of them changes
nothing; bounds become strict or open only where a number or a size is compared, since computed
numbers are not equal.
The tests of a module are those that tools/mutation.toml lists for it and its folder,
the quick ones first, the slow ones for what survives them; a test that fails must pass without the
error. They run in a copy of the checkout, so the checkout is never changed. What survives is
printed as `file:line: old -> new`: a hole in the tests, or an error that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KERNELS = "nmdp_pin/_kernels/"  # what Numba compiles
# Tests that run interpreted in a minute; those of other folders take longer than compiling does.
SHORT = ("tests/kernels/", "tests/terrain/", "tests/contact/test_friction")
OUTPUT = "tests.txt"  # of the tests that ran last, in the copy
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "out", "*.egg-info")

SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all"}
NAMES |= {"all": "any", "argmin": "argmax", "argmax": "argmin", "sin": "cos", "cos": "sin"}
SIZES = {"len", "size", "shape", "n"}
LARGE = 100  # numbers that are larger are doubled, smaller ones become 1 more
MAKERS = {"vector", "matrix", "indices", "zero_vector", "zero_matrix", "zeros", "empty", "full"}


@dataclass(frozen=True)
class Mutant:
    """A module with one error.

    Args:
        module: path from the top of the checkout.
        line: of the error.
        old: what stands there.
        new: what the error is.
        source: of the whole module with the error.
    """

    module: str
    line: int
    old: str
    new: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.old} -> {self.new}"


def sizes(tree: ast.AST) -> set[ast.AST]:
    """Constants in sizes of new arrays and in ends of slices."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Slice):
            parts = [node.upper]
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            own = isinstance(node.func, ast.Name)  # a kernel's, all of whose arguments are sizes
            parts = [*(node.args if own else node.args[:1])] if name in MAKERS else []
        for part in filter(None, parts):
            found |= {n for n in ast.walk(part) if isinstance(n, ast.Constant)}
    return found


def counts(node: ast.AST) -> bool:
    """Whether an expression is a number that is written there, or a size."""
    if isinstance(node, ast.UnaryOp):
        return counts(node.operand)
    names = (getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(node))
    return isinstance(node, ast.Constant) or not SIZES.isdisjoint(names)


def replacements(node: ast.AST, less: set[ast.AST]) -> Iterator[str]:
    """What may stand in the place of a node, as source.

    Args:
        node: a node.
        less: constants that become less; others become more.
    """
    match node:
        case ast.BinOp() if type(node.op) in SWAPS:
            yield f"({ast.unparse(ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))})"
        case ast.BoolOp():
            yield f"({ast.unparse(ast.BoolOp(SWAPS[type(node.op)](), node.values))})"
        case ast.Compare(ops=[op]):
            equal = any(counts(side) for side in (node.left, *node.comparators))
            for swap in (SWAPS, TURNED):
                if type(op) in swap and (equal or swap is TURNED or type(op) not in TURNED):
                    changed = ast.Compare(node.left, [swap[type(op)]()], node.comparators)
                    yield f"({ast.unparse(changed)})"
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.AugAssign() if type(node.op) in SWAPS:
            yield ast.unparse(ast.AugAssign(node.target, SWAPS[type(node.op)](), node.value))
            yield "pass"
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int()) if node in less:
            if node.value > 0:
                yield str(node.value - 1)
        case ast.Constant(value=int() | float()):
            yield str(node.value + 1 if abs(node.value) < LARGE else 2 * node.value)
        case ast.Name() if node.id in NAMES:
            yield NAMES[node.id]
        case ast.Attribute() if node.attr in NAMES:
            yield ast.unparse(ast.Attribute(node.value, NAMES[node.attr]))
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield "pass"
        case ast.If() | ast.While() | ast.IfExp():
            pass  # their conditions are nodes of their own


def without_text(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute: no annotations, decorators, messages of errors, strict zips."""
    # For reshape() any negative number is the one that is left to it.
    reshaped = isinstance(tree, ast.Call) and getattr(tree.func, "attr", "") == "reshape"
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue
            if isinstance(node, ast.AST) and not isinstance(node, ast.Raise | ast.JoinedStr):
                yield node
                if not (reshaped and isinstance(node, ast.UnaryOp)):
                    yield from without_text(node)


def mutants(module: str) -> list[Mutant]:
    """All errors that are planted in a module."""
    text = (ROOT / module).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree, found = ast.parse(text), []
    less = sizes(tree)
    for node in without_text(tree):
        for new in replacements(node, less):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            source = (text[:begin] + new.encode() + text[end:]).decode()
            old = " ".join(text[begin:end].decode().split())
            found.append(Mutant(module, node.lineno, old, new, source))
    return found


def copied(folder: Path) -> Path:
    """A copy of the checkout that imports itself."""
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
    return copy


@dataclass(frozen=True)
class Round:
    """A run of the tests of a module, one of several that an error meets.

    Args:
        marks: of the tests that run.
        patience: longest time that it takes, in s. A quick run that takes longer has no end, which
            counts as a failure; the others may be slower than that.
        interpreted: whether kernels are not compiled.
    """

    marks: str
    patience: float
    interpreted: bool = False

    def passes(self, copy: Path, tests: list[str], cache: Path, *options: str) -> bool:
        """Whether the tests pass, or there are none."""
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(copy),  # of the programs that tests start
        }
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:randomly", "-m", self.marks]
        if self.interpreted:
            environment["NUMBA_DISABLE_JIT"] = "1"
            command += ["-W", "ignore::RuntimeWarning"]  # compiled code does not warn of 1 / 0
        with open(copy / OUTPUT, "wb") as output:
            process = subprocess.Popen(
                [*command, "-o", f"cache_dir={cache}", *options, *tests],
                cwd=copy,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                return process.wait(self.patience) in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
            except subprocess.TimeoutExpired:
                return self is not QUICK
            finally:
                process.kill()
                process.wait()


QUICK, SLOW = Round("not slow", 900.0), Round("slow", 900.0)
INTERPRETED = Round("not slow", 120.0, interpreted=True)


def rounds(module: str, tests: list[str]) -> Iterator[tuple[Round, list[str]]]:
    """Runs of the tests of a module, cheap ones first.

    Compiling a kernel anew takes a minute; tests of kernels take less interpreted, others more.
    """
    near = [test for test in tests if test.startswith(SHORT)]
    if module.startswith(KERNELS) and near:
        yield INTERPRETED, near
    yield QUICK, tests
    yield SLOW, tests


def survives(copy: Path, mutant: Mutant, tests: list[str]) -> bool:
    """Whether no test fails because of an error."""
    path, right = copy / mutant.module, copy / "right"
    cache = copy / "error" if mutant.module.startswith(KERNELS) else right  # of compiled kernels
    before = path.read_bytes()
    for run, some in rounds(mutant.module, tests):
        path.write_text(mutant.source, encoding="utf-8")
        passed = run.passes(copy, some, cache)
        path.write_bytes(before)
        if not passed:
            failed = cache / "v"  # which pytest keeps there; a run that was stopped keeps nothing
            if cache != right and failed.exists():
                shutil.copytree(failed, right / "v", dirs_exist_ok=True)
            if not run.passes(copy, some, right, "--lf", "--lfnf=none"):
                output = (copy / OUTPUT).read_text(encoding="utf-8", errors="replace")
                sys.exit(f"{output}\n{mutant}\nthe tests fail without an error: {' '.join(some)}")
            return False
    return True


def tests_of(module: str, listed: dict[str, list[str]]) -> list[str]:
    """Tests that are listed for a module, and after them those of its folder; none without any."""
    own = listed.get(module, [])
    return [*own, *listed.get(f"{os.path.dirname(module)}/", [])] if own else []


def main() -> None:
    """Runs the tests once for each planted error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without its tests and its copy
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="paths; none: all of mutation.toml")
    parser.add_argument("--tests", nargs="+", help="files of tests, instead of the listed ones")
    parser.add_argument("--sample", type=int, help="plant so many errors a module (all)")
    parser.add_argument("--draw", type=int, help="plant so many errors in all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    options = parser.parse_args()
    table = ROOT / "tools" / "mutation.toml"
    listed: dict[str, list[str]] = tomllib.loads(table.read_text(encoding="utf-8"))
    modules = options.modules or [name for name in listed if not name.endswith("/")]
    drawn = {module: mutants(module) for module in modules}
    if options.draw is not None:
        whole = [mutant for found in drawn.values() for mutant in found]
        some = set(random.Random(options.seed).sample(whole, min(options.draw, len(whole))))
        drawn = {module: [m for m in found if m in some] for module, found in drawn.items()}
    planted = noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for module, chosen in drawn.items():
            if not chosen:
                continue
            tests = options.tests or tests_of(module, listed)
            if not tests:
                sys.exit(f"no tests are listed for {module}: add it to [tool.mutation], or --tests")
            if options.sample is not None and options.sample < len(chosen):
                chosen = random.Random(options.seed).sample(chosen, options.sample)
            here = 0
            for mutant in chosen:
                if survives(copy, mutant, tests):
                    print(f"survives  {mutant}", flush=True)
                else:
                    here += 1
            print(f"{module}: {here} of {len(chosen)} noticed", flush=True)
            planted += len(chosen)
            noticed += here
    print(f"{noticed} of {planted} noticed: {noticed / max(1, planted):.0%}")


if __name__ == "__main__":
    main()
