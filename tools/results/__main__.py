"""`python -m tools.results`: all results anew, in parts; resumable."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from nmdp_pin._runs.run_store import code_version
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.data_file import stamped
from tools.results.page_tables import keep_tables, refresh
from tools.results.parts import PARTS, RESULTS, ROOT, Part

_SOURCES = ("nmdp_pin/papers", "tools/results", "benchmarks", "examples")


def pages() -> list[Path]:
    """The README and the pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pages_with(data: str) -> list[str]:
    """The pages that link to a data file."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    return [
        str(page.relative_to(ROOT))
        for page, text in texts.items()
        if re.search(rf"[(/]{re.escape(data)}\.csv\)", text)
    ]


def make(part: Part, out: Path) -> None:
    """Run the command of a part, keep what it made, and bring the pages up to date.

    Raises:
        ExperimentError: the command failed; what it printed is in its log.
    """
    log = out / f"{part.name.replace(' ', '-')}.log"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT)}
    command = [sys.executable, *part.words.split()]
    # Tables are read from standard output alone: a word on progress would end one.
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=file, text=True
        )
        file.write(done.stdout)
    if done.returncode not in part.codes:
        raise ExperimentError(f"'{part.words}' failed with exit code {done.returncode}: see {log}")
    keep_tables(part, done.stdout, RESULTS)
    for name, source in part.copies.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        (RESULTS / name).write_text(stamped(text), encoding="utf-8")
    refresh(pages(), RESULTS)


def fingerprint() -> str:
    """Of the code that results depend on."""
    digest = hashlib.sha256(code_version().encode())
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> int:
    """Make the parts that were not made with the present code; 1 where some failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of parts, or their first words; all unless given")
    parser.add_argument("--out", type=Path, default=ROOT / "out/results", help="logs and marks")
    parser.add_argument("--list", action="store_true", help="print the parts and stop")
    parser.add_argument("--anew", action="store_true", help="also parts that were made already")
    options = parser.parse_args()
    chosen = [p for p in PARTS if not options.names or p.name.startswith(tuple(options.names))]
    if options.list:
        for part in chosen:
            print(f"{part.minutes:5.1f} min  {part.name}: python {part.words}")
            for name in part.tables:
                print(f"           {name}.csv: {', '.join(pages_with(name))}")
        print(f"{sum(part.minutes for part in chosen):5.0f} min of one core in all")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    now, failed = fingerprint(), 0
    for part in chosen:
        mark = options.out / f"{part.name.replace(' ', '-')}.made"
        if not options.anew and mark.exists() and mark.read_text() == now:
            print(f"{part.name}: made already")
            continue
        print(f"{part.name}: {part.minutes:g} min ...", end=" ", flush=True)
        begin = time.monotonic()
        try:
            make(part, options.out)
        except ExperimentError as error:
            failed += 1
            print(error)
            continue
        mark.write_text(now)
        print(f"{(time.monotonic() - begin) / 60.0:.1f} min on the wall", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
