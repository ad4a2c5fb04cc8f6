"""Plants errors in modules, one at a time, and counts how many their tests notice.

    python tools/mutation.py nmdp_pin/_papers/projection.py --sample 40
    python tools/mutation.py nmdp_pin/_robot/gait.py --tests tests/simulator/test_control.py
    python tools/mutation.py --sample 20            # every module of [tool.mutation]

An error is a changed operator, comparison, constant or sign, a condition turned round, or a
statement left out. The tests of a module are those that [tool.mutation] of pyproject.toml lists.
They run in a copy of the checkout, so the checkout is never changed; those of a kernel run
interpreted, since each error would compile it anew. What survives is printed as
`file:line: old -> new`: a hole in the tests, or an error that changes nothing.
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
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = "nmdp_pin/_kernels/"  # what Numba compiles
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "out", "*.egg-info")
# A test run that takes so many times as long as without the error counts as noticed: it hangs.
PATIENCE, LEAST_PATIENCE = 4.0, 20.0  # [-], [s]

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


def replacements(node: ast.AST) -> Iterator[str]:
    """What may stand in the place of a node, as source."""
    match node:
        case ast.BinOp() if type(node.op) in SWAPS:
            yield f"({ast.unparse(ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))})"
        case ast.BoolOp():
            yield f"({ast.unparse(ast.BoolOp(SWAPS[type(node.op)](), node.values))})"
        case ast.Compare(ops=[op]):
            for swap in (SWAPS, TURNED):
                if type(op) in swap:
                    changed = ast.Compare(node.left, [swap[type(op)]()], node.comparators)
                    yield f"({ast.unparse(changed)})"
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.AugAssign() if type(node.op) in SWAPS:
            yield ast.unparse(ast.AugAssign(node.target, SWAPS[type(node.op)](), node.value))
            yield "pass"
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()):
            yield str(node.value + 1 if node.value + 1 != node.value else 2 * node.value)
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
    found = []
    for node in without_text(ast.parse(text)):
        for new in replacements(node):
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


def passes(copy: Path, module: str, tests: list[str], patience: float | None = None) -> bool:
    """Whether the tests of a module pass; a run without end does not."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:randomly", "-m", "not slow"]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(copy),  # of the programs that tests start
    }
    if module.startswith(KERNELS):
        environment["NUMBA_DISABLE_JIT"] = "1"
        command += ["-W", "ignore::RuntimeWarning"]  # compiled code does not warn of 1 / 0
    process = subprocess.Popen(
        [*command, *tests],
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return process.wait(patience) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        process.kill()
        process.wait()


def survivors(copy: Path, module: str, chosen: list[Mutant], tests: list[str]) -> list[Mutant]:
    """Errors that the tests do not notice."""
    start = time.monotonic()
    if not passes(copy, module, tests):
        sys.exit(f"the tests fail without an error: {' '.join(tests)}")
    patience = max(LEAST_PATIENCE, PATIENCE * (time.monotonic() - start))
    unnoticed = []
    for mutant in chosen:
        path = copy / module
        before = path.read_bytes()
        path.write_text(mutant.source, encoding="utf-8")
        if passes(copy, module, tests, patience):
            unnoticed.append(mutant)
            print(f"survives  {mutant}", flush=True)
        path.write_bytes(before)
    return unnoticed


def main() -> None:
    """Runs the tests once for each planted error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without its tests and its copy
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="paths; none: all of [tool.mutation]")
    parser.add_argument("--tests", nargs="+", help="files of tests, instead of the listed ones")
    parser.add_argument("--sample", type=int, help="plant so many errors a module (all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed: dict[str, list[str]] = project["tool"]["mutation"]
    planted = noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for module in options.modules or listed:
            tests = options.tests or listed.get(module)
            if not tests:
                sys.exit(f"no tests are listed for {module}: add it to [tool.mutation], or --tests")
            chosen = mutants(module)
            if options.sample is not None and options.sample < len(chosen):
                chosen = random.Random(options.seed).sample(chosen, options.sample)
            unnoticed = survivors(copy, module, chosen, tests)
            print(f"{module}: {len(chosen) - len(unnoticed)} of {len(chosen)} noticed", flush=True)
            planted += len(chosen)
            noticed += len(chosen) - len(unnoticed)
    print(f"{noticed} of {planted} noticed: {noticed / max(1, planted):.0%}")


if __name__ == "__main__":
    main()
